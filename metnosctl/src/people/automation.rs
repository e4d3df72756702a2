//! `hook` and `timer`: what is done without a person. policyd holds what is to be done, in the owner's words; the secret
//! of a hook is made and held by the door, and shown here once.

use metnos_proto::doc::automation::{Automatic, AutomationAdded, AutomationAnswer, HookAnswer, HookMade};
use metnos_proto::edges::{CtlDoor, CtlPolicyd};
use metnos_proto::ids::TraceId;
use metnos_proto::msg::common::Channel;
use metnos_proto::msg::door::HookSecret;
use metnos_proto::msg::people::{Automation, AutomationAsk};
use schemars::JsonSchema;
use serde::Serialize;
use zeroize::Zeroizing;

use crate::command_line::nouns::{HookCommand, TimerCommand};
use crate::daemons::connection::{Connection, opened};
use crate::error::{CtlError, Exit};
use crate::instance::Instance;
use crate::screen::Screen;
use crate::screen::escape;
use crate::screen::table::{Table, cell};
use crate::turns::ask::streamed;
use crate::turns::interrupt::Interrupt;
use crate::turns::turn::fired;

/// Does what `hook` says.
///
/// # Errors
/// When policyd or the door refuses or cannot be reached.
pub fn hook(screen: &mut Screen, instance: &Instance, command: &HookCommand) -> Result<Exit, CtlError> {
    match command {
        HookCommand::List => list(screen, instance, Channel::Hook),
        HookCommand::Add { name, words } => {
            let AutomationAdded { principal, says, level } = add(instance, Channel::Hook, name, words)?;
            let HookMade { secret, path, .. } = make_secret(instance, name)?;
            let added = HookAdded { principal, says, level, secret, path };
            show_secret(screen, &added, &added.secret, &added.path)
        }
        HookCommand::Rotate { name } => {
            // Only of a hook that there is.
            let principal = format!("{}:{name}", Channel::Hook.name());
            if !all(instance)?.iter().any(|one| one.principal == principal) {
                let remedy = "`metnosctl hook list` shows those that there are";
                return Err(CtlError::failed(format!("the hook {name}"), "there is none of this name", remedy));
            }
            let made = make_secret(instance, name)?;
            show_secret(screen, &made, &made.secret, &made.path)
        }
        HookCommand::Remove { name } => {
            let removed = remove(screen, instance, Channel::Hook, name);
            // The door forgets it at policyd's word; asked for here, too, it is also gone where policyd knew of none.
            secret(instance, HookSecret::Remove(name.clone()))?;
            removed
        }
    }
}

/// Does what `timer` says.
///
/// # Errors
/// When policyd or the door refuses or cannot be reached.
pub fn timer(screen: &mut Screen, instance: &Instance, command: &TimerCommand) -> Result<Exit, CtlError> {
    match command {
        TimerCommand::List => list(screen, instance, Channel::Timer),
        TimerCommand::Add { name, words } => {
            let added = add(instance, Channel::Timer, name, words)?;
            if screen.json() {
                screen.document(&added)?;
            } else {
                screen.line(&format!("{} is set up, and reads only. It fires by", escape::line(&added.principal)))?;
                screen.line(&format!("    metnosctl timer fire {name}"))?;
            }
            Ok(Exit::Done)
        }
        TimerCommand::Fire { name } => streamed(screen, |screen| {
            let interrupt = Interrupt::take_over()?;
            let mut door = Connection::to(instance)?.open::<CtlDoor>()?;
            fired(screen, &mut door, &interrupt, name)
        }),
        TimerCommand::Remove { name } => remove(screen, instance, Channel::Timer, name),
    }
}

/// A new webhook, with its secret, which is shown once.
#[derive(Debug, Serialize, JsonSchema)]
pub struct HookAdded {
    /// `hook:NAME`.
    principal: String,
    /// What is to be done when it fires, in the words of the owner.
    says: String,
    /// How far it goes without asking.
    level: String,
    /// The secret, as Standard Webhooks writes it.
    secret: String,
    /// The path to which it is posted.
    path: String,
}

fn automation(instance: &Instance, ask: AutomationAsk) -> Result<AutomationAnswer, CtlError> {
    opened(Connection::to(instance)?.open::<CtlPolicyd>()?.automation(TraceId::NONE, ask, [])?)
}

fn secret(instance: &Instance, ask: HookSecret) -> Result<HookAnswer, CtlError> {
    opened(Connection::to(instance)?.open::<CtlDoor>()?.hook_secret(TraceId::NONE, ask, [])?)
}

/// The answer was made for another ask.
fn out_of_place(who: &str) -> CtlError {
    CtlError::failed(format!("what {who} says"), "it does not answer what was asked", "look at `metnosctl doctor`")
}

fn all(instance: &Instance) -> Result<Vec<Automatic>, CtlError> {
    match automation(instance, AutomationAsk::List)? {
        AutomationAnswer::All(all) => Ok(all),
        AutomationAnswer::Added(_) | AutomationAnswer::Removed(_) => Err(out_of_place("policyd")),
    }
}

fn add(instance: &Instance, channel: Channel, name: &str, words: &[String]) -> Result<AutomationAdded, CtlError> {
    let says = words.join(" ");
    match automation(instance, AutomationAsk::Add(Automation { channel, name: name.to_owned(), says }))? {
        AutomationAnswer::Added(added) => Ok(added),
        AutomationAnswer::All(_) | AutomationAnswer::Removed(_) => Err(out_of_place("policyd")),
    }
}

fn make_secret(instance: &Instance, name: &str) -> Result<HookMade, CtlError> {
    match secret(instance, HookSecret::Make(name.to_owned()))? {
        HookAnswer::Made(made) => Ok(made),
        HookAnswer::All(_) | HookAnswer::Removed(_) => Err(out_of_place("the door")),
    }
}

fn remove(screen: &mut Screen, instance: &Instance, channel: Channel, name: &str) -> Result<Exit, CtlError> {
    let principal = format!("{}:{name}", channel.name());
    let AutomationAnswer::Removed(gone) = automation(instance, AutomationAsk::Remove(principal))? else {
        return Err(out_of_place("policyd"));
    };
    if screen.json() {
        screen.document(&gone)?;
    } else {
        screen.line(&format!("{} fires no more.", escape::line(&gone.principal)))?;
    }
    Ok(Exit::Done)
}

fn show_secret(screen: &mut Screen, made: &impl Serialize, secret: &str, path: &str) -> Result<Exit, CtlError> {
    if screen.json() {
        screen.document(made)?;
        return Ok(Exit::Done);
    }
    let secret = Zeroizing::new(escape::line(secret));
    screen.line(&format!("POST {}, signed as Standard Webhooks has it, with this secret:", escape::line(path)))?;
    screen.line(&format!("    {}", *secret))?;
    screen.line("It is shown once. `metnosctl hook rotate` makes another.")?;
    Ok(Exit::Done)
}

fn list(screen: &mut Screen, instance: &Instance, channel: Channel) -> Result<Exit, CtlError> {
    let prefix = format!("{}:", channel.name());
    let mut ours = all(instance)?;
    ours.retain(|one| one.principal.starts_with(&prefix));
    if screen.json() {
        screen.document(&ours)?;
        return Ok(Exit::Done);
    }
    if ours.is_empty() {
        screen.line("There are none.")?;
        return Ok(Exit::Done);
    }
    let mut table = Table::new(&["WHO", "LEVEL", "DOES"]);
    for one in &ours {
        table.row(vec![cell(&one.principal), cell(&one.level), cell(&one.says)]);
    }
    table.show(screen, 2)?;
    Ok(Exit::Done)
}
