//! `people`: who lives in the household, and who speaks as whom.

use metnos_proto::doc::people::{PersonList, PersonView, PersonsAnswer};
use metnos_proto::edges::CtlPolicyd;
use metnos_proto::ids::TraceId;
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
