//! `people`: who lives in the household, and who speaks as whom.

use metnos_proto::doc::people::{PersonList, PersonView, PersonsAnswer};
use metnos_proto::doc::vault::AccountAnswer;
use metnos_proto::edges::CtlPolicyd;
use metnos_proto::ids::TraceId;
use metnos_proto::link::BlockingClient;
use metnos_proto::msg::accounts::AccountAsk;
use metnos_proto::msg::people::{AddPerson, ChangePerson, JoinPerson, PersonsAsk};

use crate::command_line::nouns::{PeopleCommand, PersonToAdd};
use crate::daemons::connection::{Connection, opened};
use crate::error::{CtlError, Exit};
use crate::instance::Instance;
use crate::screen::Screen;
use crate::screen::table::{Table, cell};

/// Does what `people` says.
///
/// # Errors
/// When policyd refuses or cannot be reached.
pub fn persons(screen: &mut Screen, instance: &Instance, command: &PeopleCommand) -> Result<Exit, CtlError> {
    let mut policyd = Connection::to(instance)?.open::<CtlPolicyd>()?;
    if let PeopleCommand::Merge { name, into } = command {
        let merged = merge(&mut policyd, name, into)?;
        if screen.json() {
            screen.document(&merged)?;
            return Ok(Exit::Done);
        }
        person(screen, &merged)?;
        return screen.line(&format!("{name} is known no more.")).map(|()| Exit::Done);
    }
    let ask = match command {
        PeopleCommand::List => PersonsAsk::List,
        PeopleCommand::Show { name } => PersonsAsk::Show(name.clone()),
        PeopleCommand::Add(person) => PersonsAsk::Add(asked(person)),
        PeopleCommand::Change(change) => PersonsAsk::Change(ChangePerson {
            name: change.name.clone(),
            quiet: change.quiet.map(|quiet| quiet.0),
            channel: change.channel.map(|choice| choice.0),
            role: change.role,
            also: Some(change.also.clone()).filter(|also| !also.is_empty()),
            may_call: may_call(&change.may_call),
        }),
        PeopleCommand::Join { name, principal } => {
            PersonsAsk::Join(JoinPerson { person: name.clone(), principal: principal.clone() })
        }
        // It takes several words.
        PeopleCommand::Merge { .. } => return Ok(Exit::Done),
        PeopleCommand::Remove { name } => PersonsAsk::Remove(name.clone()),
    };
    let answer = opened(policyd.persons(TraceId::NONE, ask, [])?)?;
    if screen.json() {
        screen.document(&answer)?;
        return Ok(Exit::Done);
    }
    match answer {
        PersonsAnswer::Persons(list) => all(screen, &list)?,
        PersonsAnswer::Person(one) => person(screen, &one)?,
        PersonsAnswer::Removed(gone) => {
            let (count, ended) = (gone.revoked.len(), gone.turns_ended);
            screen.line(&format!(
                "{} is known no more: {count} principals are strangers again, {ended} turns were ended.\n\
                 What was said stays in the chronicle; reminders for this person end when they are due.",
                gone.name
            ))?;
        }
    }
    Ok(Exit::Done)
}

/// Has everybody who speaks as `name` be `into`, then removes `name`; gives the person that stays. A merge that was cut off in the
/// middle is completed by the same words.
///
/// # Errors
/// When either is not known, `name` has something that would be lost, or policyd refuses: nothing of it is lost then.
fn merge(policyd: &mut BlockingClient<CtlPolicyd>, name: &str, into: &str) -> Result<PersonView, CtlError> {
    let mut ask =
        |ask: PersonsAsk| -> Result<PersonsAnswer, CtlError> { opened(policyd.persons(TraceId::NONE, ask, [])?) };
    let mut shown = |called: &str| match ask(PersonsAsk::Show(called.to_owned()))? {
        PersonsAnswer::Person(one) => Ok(one),
        PersonsAnswer::Persons(_) | PersonsAnswer::Removed(_) => {
            Err(CtlError::failed("people merge", "policyd did not answer with a person", "try again"))
        }
    };
    let (gone, stays) = (shown(name)?, shown(into)?);
    if gone.name == stays.name {
        let what = format!("{} cannot be merged into itself", gone.name);
        return Err(CtlError::failed("people merge", what, "name two persons of `metnosctl people list`"));
    }
    let AccountAnswer::Accounts(accounts) = opened(policyd.accounts(TraceId::NONE, AccountAsk::List, [])?)? else {
        return Err(CtlError::failed("people merge", "policyd did not list the accounts", "try again"));
    };
    if let Some(one) = accounts.iter().find(|one| one.person == gone.name) {
        let what = format!("{} has the {} account {}, whose password would be lost", gone.name, one.kind, one.name);
        let add = format!("`metnosctl account add {} --person \"{}\"`, then `account remove`", one.kind, stays.name);
        return Err(CtlError::failed("people merge", what, add));
    }
    let mut ask =
        |ask: PersonsAsk| -> Result<PersonsAnswer, CtlError> { opened(policyd.persons(TraceId::NONE, ask, [])?) };
    for principal in gone.principals {
        ask(PersonsAsk::Join(JoinPerson { person: stays.name.clone(), principal }))?;
    }
    ask(PersonsAsk::Remove(gone.name))?;
    match ask(PersonsAsk::Show(stays.name))? {
        PersonsAnswer::Person(one) => Ok(one),
        PersonsAnswer::Persons(_) | PersonsAnswer::Removed(_) => {
            Err(CtlError::failed("people merge", "policyd did not answer with a person", "`metnosctl people list`"))
        }
    }
}

fn asked(person: &PersonToAdd) -> AddPerson {
    AddPerson { name: person.name.clone(), role: person.role, also: person.also.clone() }
}

/// What a child may call from now on; `None` for as before.
fn may_call(named: &[String]) -> Option<Vec<String>> {
    if named == ["none"] { Some(Vec::new()) } else { Some(named.to_vec()).filter(|named| !named.is_empty()) }
}

fn all(screen: &mut Screen, PersonList(all): &PersonList) -> Result<(), CtlError> {
    if all.is_empty() {
        return screen.line("Nobody is known by name. `metnosctl people add NAME --role owner` begins with you.");
    }
    let mut table = Table::new(&["NAME", "ROLE", "ALSO", "SPEAKS AS"]);
    for one in all {
        table.row(vec![cell(&one.name), cell(one.role.name()), cell(listed(&one.also)), cell(listed(&one.principals))]);
    }
    table.show(screen, 0)
}

fn listed(all: &[String]) -> String {
    if all.is_empty() { "-".to_owned() } else { all.join(", ") }
}

fn person(screen: &mut Screen, one: &PersonView) -> Result<(), CtlError> {
    screen.line(&format!("{} is known here, as {}.", one.name, one.role.name()))?;
    if !one.also.is_empty() {
        screen.line(&format!("Others also say: {}.", listed(&one.also)))?;
    }
    if let Some(quiet) = &one.quiet {
        screen.line(&format!("Not disturbed by what others send: {quiet}."))?;
    }
    if let Some(channel) = &one.channel {
        screen.line(&format!("Preferred channel: {channel}."))?;
    }
    if !one.may_call.is_empty() {
        let calls = listed(&one.may_call);
        screen.line(&format!("Calls {calls} without asking, in the folders that {} reads.", one.name))?;
    }
    if let Some(folder) = &one.folder {
        screen.line(&format!("What lies in {folder}/ of the workspace is shown to {} alone.", one.name))?;
    }
    match &one.reached_at {
        Some(at) => screen.line(&format!("Speaks as {}; messages go to {at}.", listed(&one.principals))),
        None => screen.line(&format!(
            "Speaks nowhere yet: `metnosctl pairing invite telegram --person \"{}\"` makes a code to say to the bot.",
            one.name
        )),
    }
}
