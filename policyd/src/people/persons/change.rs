//! What the owner says about persons, at the machine. memoryd is told before a change holds: it must never take two persons for
//! one.

use metnos_proto::doc::people::{PersonRemoved, PersonsAnswer};
use metnos_proto::executor::is_name;
use metnos_proto::msg::common::{Refusal, RefusalCode, Role};
use metnos_proto::msg::people::{AddPerson, ChangePerson, JoinPerson, MAX_MAY_CALL, PersonsAsk};
use metnos_proto::msg::quiet::Quiet;
use rusqlite::params;

use super::{CHOICES, Person, Persons, role_name, unknown};
use crate::guard::shown;
use crate::people::Principals;
use crate::people::pairing::Forget;
use crate::store::{not_durable, signed};

/// Whether what is said of a person goes together.
fn fits(name: &str, person: &Person) -> Result<(), Refusal> {
    if person.role != Role::Child && !person.may_call.is_empty() {
        let why = format!("{} is no child: only of a child it is said what is done without asking", shown(name));
        return Err(Refusal::new(RefusalCode::Invalid, "people.may", why));
    }
    if let Some(channel) = person.channel.filter(|channel| !CHOICES.contains(channel)) {
        let why = format!("nobody is told things on the channel {}", channel.name());
        return Err(Refusal::new(RefusalCode::Invalid, "people.form", why).remedy("choose telegram, cli or http"));
    }
    Ok(())
}

/// The names of executors, each once and in their order.
fn sound(mut names: Vec<String>) -> Result<Vec<String>, Refusal> {
    if let Some(odd) = names.iter().find(|name| !is_name(name)) {
        let why = format!("{} is no name of an executor: `metnosctl executor list` shows them", shown(odd));
        return Err(Refusal::new(RefusalCode::Invalid, "people.may", why));
    }
    names.sort();
    names.dedup();
    if names.len() > MAX_MAY_CALL {
        let why = format!("a child calls at most {MAX_MAY_CALL} executors without asking, not {}", names.len());
        return Err(Refusal::new(RefusalCode::Invalid, "people.may", why));
    }
    Ok(names)
}

impl Principals {
    /// Does what the owner says about persons.
    ///
    /// # Errors
    /// When a name does not fit or is unknown, or it could not be recorded: nothing has changed then.
    pub(crate) async fn persons(
        &self,
        by: &str,
        ask: PersonsAsk,
        forget: Forget<'_>,
    ) -> Result<PersonsAnswer, Refusal> {
        // Two changes at once would each begin from what the other is about to replace.
        let _one = self.change.one.lock().await;
        let name = match ask {
            PersonsAsk::List => return Ok(PersonsAnswer::Persons(self.persons.borrow().list())),
            PersonsAsk::Show(name) => self.exact(&name)?,
            PersonsAsk::Add(add) => self.add_person(by, add).await?,
            PersonsAsk::Change(change) => self.change_person(by, change, forget).await?,
            PersonsAsk::Join(join) => self.join_person(by, join, forget).await?,
            PersonsAsk::Remove(name) => return self.remove_person(by, &name, forget).await.map(PersonsAnswer::Removed),
        };
        self.persons.borrow().view(&name).map(PersonsAnswer::Person).ok_or_else(|| unknown(&name))
    }

    /// The name of the person who is called so.
    fn exact(&self, called: &str) -> Result<String, Refusal> {
        self.persons.borrow().called(called).map(|(name, _)| name.to_owned()).ok_or_else(|| unknown(called))
    }

    async fn add_person(&self, by: &str, add: AddPerson) -> Result<String, Refusal> {
        if let Some((known, _)) = self.persons.borrow().called(&add.name) {
            let why = format!("somebody is called {} already", shown(known));
            return Err(
                Refusal::new(RefusalCode::Invalid, "people.known", why).remedy("`metnosctl people change` changes one")
            );
        }
        let AddPerson { name, role, also } = add;
        let line = format!("{by}: {name} is known as {} from now on", role_name(role));
        let person = Person {
            role,
            also,
            quiet: None,
            channel: None,
            may_call: Vec::new(),
            since_ms: self.base.clock.wall_ms(),
        };
        let more = self.persons.borrow().with(&name, person)?;
        self.persons_are(more, &line).await?;
        if role == Role::Owner {
            self.secrets.adopt_accounts(&name).await?;
            self.tell_household().await;
        }
        Ok(name)
    }

    async fn change_person(&self, by: &str, change: ChangePerson, forget: Forget<'_>) -> Result<String, Refusal> {
        let name = self.exact(&change.name)?;
        let before = self.persons.borrow().all.get(&name).cloned().ok_or_else(|| unknown(&name))?;
        let person = Person {
            role: change.role.unwrap_or(before.role),
            also: change.also.unwrap_or(before.also),
            quiet: change.quiet.unwrap_or(before.quiet),
            channel: change.channel.unwrap_or(before.channel),
            may_call: match change.may_call {
                Some(names) => sound(names)?,
                // What was said of the child ends with the childhood.
                None if change.role.is_some_and(|role| role != Role::Child) => Vec::new(),
                None => before.may_call,
            },
            since_ms: before.since_ms,
        };
        fits(&name, &person)?;
        let is_owner = person.role == Role::Owner;
        let mut line = format!("{by}: {name} is {} from now on", role_name(person.role));
        if !person.may_call.is_empty() {
            line.push_str(&format!(", and may call {} without asking", person.may_call.join(", ")));
        }
        if let Some(channel) = person.channel {
            line.push_str(&format!(", and is told things on {}", channel.name()));
        }
        let changed = self.persons.borrow().with(&name, person)?;
        self.persons_are(changed, &line).await?;
        if is_owner {
            self.secrets.adopt_accounts(&name).await?;
            self.tell_household().await;
        }
        let spoken: Vec<String> = self.persons.borrow().speaks_as_of(&name);
        for principal in spoken {
            self.end_turns(&principal, forget).await;
        }
        Ok(name)
    }

    /// The person who speaks as this principal is not disturbed by what others send between these hours; with none, at any hour.
    ///
    /// # Errors
    /// When no person is known there, or it could not be recorded.
    pub(crate) async fn set_quiet(&self, principal: &str, quiet: Option<Quiet>) -> Result<(), Refusal> {
        let found = self.persons.borrow().of(principal).map(|(name, person)| (name.to_owned(), person.clone()));
        let Some((name, person)) = found else {
            let why = "nobody is known by name here, so there is nobody to keep quiet hours for";
            return Err(Refusal::new(RefusalCode::Denied, "people.self", why)
                .remedy("the owner does that with `metnosctl people add NAME` and `metnosctl people join`"));
        };
        let line = quiet.map_or_else(
            || format!("{principal}: {name} has no quiet hours from now on"),
            |quiet| format!("{principal}: {name} has quiet hours from now on: {quiet}"),
        );
        let changed = self.persons.borrow().with(&name, Person { quiet, ..person })?;
        self.persons_are(changed, &line).await
    }

    async fn join_person(&self, by: &str, join: JoinPerson, forget: Forget<'_>) -> Result<String, Refusal> {
        let name = self.exact(&join.person)?;
        if self.paired.borrow().standing(&join.principal).is_none() {
            let why = format!("{} is not paired", shown(&join.principal));
            return Err(Refusal::new(RefusalCode::Unknown, "pairing.unknown", why)
                .remedy("`metnosctl pairing list` shows who is; the terminal of this machine is the owner's"));
        }
        self.joins(by, &join.principal, &name).await?;
        self.end_turns(&join.principal, forget).await;
        Ok(name)
    }

    /// Whoever speaks as this principal is that person.
    pub(crate) async fn joins(&self, by: &str, principal: &str, name: &str) -> Result<(), Refusal> {
        let joined = self.persons.borrow().joined(principal, Some(name));
        self.persons_are(joined, &format!("{by}: {principal} is {name} from now on")).await
    }

    async fn remove_person(&self, by: &str, called: &str, forget: Forget<'_>) -> Result<PersonRemoved, Refusal> {
        let name = self.exact(called)?;
        let spoken = self.persons.borrow().speaks_as_of(&name);
        let (mut revoked, mut ended) = (Vec::new(), 0);
        for principal in spoken {
            match self.unpair(by, &principal, forget).await {
                Ok(gone) => ended += gone.turns_ended,
                // Revoked before, or an older pairing: nobody is heard there.
                Err(refusal) if refusal.code == RefusalCode::Unknown => {}
                Err(refusal) => return Err(refusal),
            }
            revoked.push(principal);
        }
        // Before the name is free: whoever bears it next has none of them.
        self.secrets.forget_accounts(&name).await?;
        let rest = self.persons.borrow().without(&name);
        self.persons_are(rest, &format!("{by}: {name} is known no more")).await?;
        Ok(PersonRemoved { name, revoked, turns_ended: ended })
    }

    /// The persons are these from now on, as soon as that is recorded, memoryd knows, and it is written down.
    pub(crate) async fn persons_are(&self, persons: Persons, line: &str) -> Result<(), Refusal> {
        self.base.chronicled("person", line).await?;
        self.household_told(&persons).await?;
        let rows: Vec<(String, &'static str, String, u64)> = persons
            .all
            .iter()
            .map(|(name, one)| (name.clone(), role_name(one.role), one.also.join("\n"), one.since_ms))
            .collect();
        let quiet: Vec<(String, String)> =
            persons.all.iter().filter_map(|(name, one)| Some((name.clone(), one.quiet?.to_string()))).collect();
        let told_on: Vec<(String, &str)> =
            persons.all.iter().filter_map(|(name, one)| Some((name.clone(), one.channel?.name()))).collect();
        let may_call: Vec<(String, String)> = persons
            .all
            .iter()
            .flat_map(|(name, one)| one.may_call.iter().map(move |executor| (name.clone(), executor.clone())))
            .collect();
        let speaks_as = persons.speaks_as.clone();
        let written = self
            .base
            .store
            .run(move |connection| {
                let transaction = connection.transaction()?;
                transaction.execute_batch(
                    "DELETE FROM persons; DELETE FROM quiet_hours; DELETE FROM may_call; DELETE FROM told_on; DELETE FROM speaks_as",
                )?;
                for (name, role, also, since_ms) in &rows {
                    let values = params![name, role, also, signed(*since_ms)];
                    transaction.execute("INSERT INTO persons VALUES (?1, ?2, ?3, ?4)", values)?;
                }
                for (name, hours) in &quiet {
                    transaction.execute("INSERT INTO quiet_hours VALUES (?1, ?2)", params![name, hours])?;
                }
                for (name, channel) in &told_on {
                    transaction.execute("INSERT INTO told_on VALUES (?1, ?2)", params![name, channel])?;
                }
                for (name, executor) in &may_call {
                    transaction.execute("INSERT INTO may_call VALUES (?1, ?2)", params![name, executor])?;
                }
                for (principal, person) in &speaks_as {
                    transaction.execute("INSERT INTO speaks_as VALUES (?1, ?2)", params![principal, person])?;
                }
                transaction.commit()
            })
            .await;
        if let Err(error) = written {
            self.tell_household().await;
            return Err(not_durable(&error));
        }
        *self.persons.borrow_mut() = persons;
        // The members of groups were judged by the previous roles.
        self.change.groups.borrow_mut().forget();
        Ok(())
    }

    /// Tells memoryd who is who.
    pub(crate) async fn tell_household(&self) {
        let persons = self.persons.borrow().clone();
        if let Err(refusal) = self.household_told(&persons).await {
            tracing::warn!(%refusal, "memoryd does not know who is who: each channel has a memory of its own");
        }
    }
}

impl Persons {
    /// The principals of this person that were paired.
    fn speaks_as_of(&self, name: &str) -> Vec<String> {
        self.speaks_as.iter().filter(|(_, person)| *person == name).map(|(principal, _)| principal.clone()).collect()
    }
}
