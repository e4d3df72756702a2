//! `hook` and `timer`: what is done without a person. policyd holds what is to be done, in the owner's words; the secret
//! of a hook is made and held by the door, and shown here once.

use metnos_proto::edges::{CtlDoor, CtlPolicyd};
use metnos_proto::ids::TraceId;
use metnos_proto::msg::common::Channel;
use metnos_proto::msg::door::HookSecret;
use metnos_proto::msg::people::{Automation, AutomationAsk};
use serde_json::Value;
use zeroize::Zeroizing;

use crate::command_line::nouns::{HookCommand, TimerCommand};
use crate::daemons::connection::{Connection, document};
use crate::error::{CtlError, Exit};
use crate::instance::Instance;
use crate::screen::Screen;
use crate::screen::human::scalar;
use crate::screen::table::{Table, cell};
use crate::turns::ask::streamed;
use crate::turns::turn::{Interrupt, fired};

/// Does what `hook` says.
///
/// # Errors
/// When policyd or the door refuses or cannot be reached.
pub fn hook(screen: &mut Screen, instance: &Instance, command: &HookCommand) -> Result<Exit, CtlError> {
    match command {
        HookCommand::List => list(screen, instance, Channel::Hook),
        HookCommand::Add { name, words } => {
            let mut added = add(instance, Channel::Hook, name, words)?;
            let secret = secret(instance, HookSecret::Make(name.clone()))?;
            added["secret"] = secret["secret"].clone();
            added["path"] = secret["path"].clone();
            show_secret(screen, &added)
        }
        HookCommand::Rotate { name } => {
            // Only of a hook that there is.
            let all = automation(instance, AutomationAsk::List)?;
            let principal = format!("{}:{name}", Channel::Hook.name());
            if !all.as_array().is_some_and(|all| all.iter().any(|one| one["principal"] == principal.as_str())) {
                let remedy = "`metnosctl hook list` shows those that there are";
                return Err(CtlError::failed(format!("the hook {name}"), "there is none of this name", remedy));
            }
            show_secret(screen, &secret(instance, HookSecret::Make(name.clone()))?)
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
                screen.line(&format!("{} is set up, and reads only. It fires by", scalar(&added["principal"])))?;
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

fn automation(instance: &Instance, ask: AutomationAsk) -> Result<Value, CtlError> {
    let mut policyd = Connection::to(instance)?.open::<CtlPolicyd>()?;
    let (_, [answer]) = policyd.automation(TraceId::NONE, ask, [])?;
    document(&answer)
}

fn secret(instance: &Instance, ask: HookSecret) -> Result<Value, CtlError> {
    let mut door = Connection::to(instance)?.open::<CtlDoor>()?;
    let (_, [answer]) = door.hook_secret(TraceId::NONE, ask, [])?;
    document(&answer)
}

fn add(instance: &Instance, channel: Channel, name: &str, words: &[String]) -> Result<Value, CtlError> {
    let says = words.join(" ");
    automation(instance, AutomationAsk::Add(Automation { channel, name: name.to_owned(), says }))
}

fn remove(screen: &mut Screen, instance: &Instance, channel: Channel, name: &str) -> Result<Exit, CtlError> {
    let principal = format!("{}:{name}", channel.name());
    let answer = automation(instance, AutomationAsk::Remove(principal))?;
    if screen.json() {
        screen.document(&answer)?;
    } else {
        screen.line(&format!("{} fires no more.", scalar(&answer["principal"])))?;
    }
    Ok(Exit::Done)
}

fn show_secret(screen: &mut Screen, made: &Value) -> Result<Exit, CtlError> {
    if screen.json() {
        screen.document(made)?;
        return Ok(Exit::Done);
    }
    let secret = Zeroizing::new(scalar(&made["secret"]));
    screen.line(&format!("POST {}, signed as Standard Webhooks has it, with this secret:", scalar(&made["path"])))?;
    screen.line(&format!("    {}", *secret))?;
    screen.line("It is shown once. `metnosctl hook rotate` makes another.")?;
    Ok(Exit::Done)
}

fn list(screen: &mut Screen, instance: &Instance, channel: Channel) -> Result<Exit, CtlError> {
    let all = automation(instance, AutomationAsk::List)?;
    let prefix = format!("{}:", channel.name());
    let is_ours = |one: &&Value| one["principal"].as_str().is_some_and(|principal| principal.starts_with(&prefix));
    let ours: Vec<Value> = all.as_array().into_iter().flatten().filter(is_ours).cloned().collect();
    if screen.json() {
        screen.document(&Value::Array(ours))?;
        return Ok(Exit::Done);
    }
    if ours.is_empty() {
        screen.line("There are none.")?;
        return Ok(Exit::Done);
    }
    let mut table = Table::new(&["WHO", "LEVEL", "DOES"]);
    for one in &ours {
        table.row(vec![cell(scalar(&one["principal"])), cell(scalar(&one["level"])), cell(scalar(&one["says"]))]);
    }
    table.show(screen, 2)?;
    Ok(Exit::Done)
}
