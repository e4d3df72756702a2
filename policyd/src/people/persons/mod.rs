//! The persons of the household: who is behind the principals, what each may be told, and where each is reached. Pure, but for
//! reading its tables.

pub(crate) mod change;
mod recipients;

use std::collections::BTreeMap;

use metnos_proto::doc::people::{self, PersonList, PersonView};
use metnos_proto::executor::guests;
use metnos_proto::msg::common::{Channel, Level, Refusal, RefusalCode, Role, Standing};
use metnos_proto::msg::people::{Household, MAX_ALSO, MAX_PERSON, MAX_PERSONS, Member};
use metnos_proto::msg::quiet::Quiet;
use metnos_reflex::reminder::others::{self, name_words};
use rusqlite::Connection;

use crate::guard::shown;
use crate::people::principal::ROOT;
use crate::store::{StoreError, unsigned};

/// The tables.
pub(crate) const TABLES: &str = "
    CREATE TABLE IF NOT EXISTS persons (
        name TEXT PRIMARY KEY, role TEXT NOT NULL, also TEXT NOT NULL, since_ms INTEGER NOT NULL
    ) STRICT;
    CREATE TABLE IF NOT EXISTS may_call (person TEXT NOT NULL, executor TEXT NOT NULL, PRIMARY KEY (person, executor)) STRICT;
    CREATE TABLE IF NOT EXISTS quiet_hours (person TEXT PRIMARY KEY, hours TEXT NOT NULL) STRICT;
    CREATE TABLE IF NOT EXISTS told_on (person TEXT PRIMARY KEY, channel TEXT NOT NULL) STRICT;
    CREATE TABLE IF NOT EXISTS speaks_as (principal TEXT PRIMARY KEY, person TEXT NOT NULL) STRICT;";

/// The channels of which a person may choose one.
pub(crate) const CHOICES: [Channel; 3] = [Channel::Telegram, Channel::Cli, Channel::Http];

/// Names that would mislead.
const TAKEN: [&str; 3] = ["owner", "metnos", "household"];

/// A person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Person {
    /// What this person is in the household.
    pub role: Role,
    /// What else the others say.
    pub also: Vec<String>,
    /// When this person is not disturbed by what others send.
    pub quiet: Option<Quiet>,
    /// The preferred channel for reminders and messages: the terminal, the page or Telegram.
    pub channel: Option<Channel>,
    /// The executors that the owner lets a child call without asking; of others, none counts.
    pub may_call: Vec<String>,
    /// Since when, in milliseconds since the epoch.
    pub since_ms: u64,
}

/// All persons by name, and who speaks as whom.
#[derive(Debug, Clone, Default)]
pub struct Persons {
    all: BTreeMap<String, Person>,
    /// The name of the person, by `channel:sender`.
    speaks_as: BTreeMap<String, String>,
    /// The principals at the terminal of the machine, which are the owner's.
    terminal: Vec<String>,
}

/// The name of a role in the store, which is that in documents.
pub(crate) fn role_name(role: Role) -> &'static str {
    people::Role::from(role).name()
}

fn role_of(name: &str) -> Option<Role> {
    [Role::Owner, Role::Adult, Role::Child, Role::Guest].into_iter().find(|role| role_name(*role) == name)
}

/// What a principal of a person with this role is. A child reads and asks as a guest does.
#[must_use]
pub const fn standing_of(role: Role) -> Standing {
    match role {
        Role::Owner => Standing::Owner,
        Role::Adult => Standing::Adult,
        Role::Child | Role::Guest => Standing::Guest,
    }
}

/// How far a principal of this standing goes without asking, where nothing else was set.
#[must_use]
pub const fn level_of(standing: Standing) -> Level {
    match standing {
        Standing::Owner | Standing::Adult => Level::Supervised,
        Standing::Guest | Standing::Stranger => Level::ReadOnly,
    }
}

/// The name of a person's private folder; guests have none.
fn private_name(name: &str, person: &Person) -> Option<String> {
    (person.role != Role::Guest).then(|| guests::folder_name(name))
}

/// A name as it is compared: in small letters, without what stands before it.
fn compared(name: &str) -> String {
    name_words(name).join(" ")
}

fn invalid(why: String) -> Refusal {
    Refusal::new(RefusalCode::Invalid, "people.form", why)
}

pub(crate) fn unknown(name: &str) -> Refusal {
    let why = format!("nobody is called {} here", shown(name));
    Refusal::new(RefusalCode::Unknown, "people.unknown", why).remedy("`metnosctl people list` shows who is known")
}

impl Persons {
    pub(crate) fn load(connection: &Connection) -> Result<Self, StoreError> {
        let mut persons = Self::default();
        let mut rows = connection.prepare("SELECT name, role, also, since_ms FROM persons")?;
        let rows = rows.query_map([], |row| {
            let also = row.get::<_, String>(2)?.lines().map(str::to_owned).collect::<Vec<_>>();
            Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?, also, unsigned(row.get(3)?)))
        })?;
        for row in rows {
            let (name, role, also, since_ms) = row?;
            let role = role_of(&role).ok_or_else(|| StoreError::Damaged(format!("person {name}")))?;
            persons.all.insert(name, Person { role, also, quiet: None, channel: None, may_call: Vec::new(), since_ms });
        }
        let mut rows = connection.prepare("SELECT person, hours FROM quiet_hours")?;
        for row in rows.query_map([], |row| Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?)))? {
            let (name, hours) = row?;
            let quiet = Quiet::read(&hours).zip(persons.all.get_mut(&name));
            let (hours, person) = quiet.ok_or_else(|| StoreError::Damaged(format!("the quiet hours of {name}")))?;
            person.quiet = Some(hours);
        }
        let mut rows = connection.prepare("SELECT person, channel FROM told_on")?;
        for row in rows.query_map([], |row| Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?)))? {
            let (name, channel) = row?;
            let chosen = CHOICES.into_iter().find(|one| one.name() == channel).zip(persons.all.get_mut(&name));
            let (channel, person) = chosen.ok_or_else(|| StoreError::Damaged(format!("the channel of {name}")))?;
            person.channel = Some(channel);
        }
        let mut rows = connection.prepare("SELECT person, executor FROM may_call ORDER BY person, executor")?;
        for row in rows.query_map([], |row| Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?)))? {
            let (name, executor) = row?;
            let person = persons.all.get_mut(&name);
            let person = person.ok_or_else(|| StoreError::Damaged(format!("what {name} may call")))?;
            person.may_call.push(executor);
        }
        let mut rows = connection.prepare("SELECT principal, person FROM speaks_as")?;
        for row in rows.query_map([], |row| Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?)))? {
            let (principal, person) = row?;
            if !persons.all.contains_key(&person) {
                return Err(StoreError::Damaged(format!("the person of {principal}")));
            }
            persons.speaks_as.insert(principal, person);
        }
        Ok(persons)
    }

    /// The same with the owner speaking at the terminal of the machine, under this user id and as root, which may be the same.
    #[must_use]
    pub(crate) fn at_terminal(self, owner_uid: u32) -> Self {
        let mut terminal = vec![format!("cli:uid:{owner_uid}"), ROOT.to_owned()];
        terminal.dedup();
        Self { terminal, ..self }
    }

    /// The person who speaks as this principal, with the name.
    #[must_use]
    pub fn of(&self, principal: &str) -> Option<(&str, &Person)> {
        if self.is_at_terminal(principal) {
            return self.owner();
        }
        let (name, person) = self.all.get_key_value(self.speaks_as.get(principal)?)?;
        Some((name, person))
    }

    /// Whether the owner is one of them.
    pub(crate) fn have_owner(&self) -> bool {
        self.owner().is_some()
    }

    /// Whether this is the owner of the instance at the machine's terminal.
    pub(crate) fn is_at_terminal(&self, principal: &str) -> bool {
        self.terminal.iter().any(|own| own == principal)
    }

    /// The child who speaks as this principal.
    pub(crate) fn child(&self, principal: &str) -> Option<&Person> {
        self.of(principal).map(|(_, person)| person).filter(|person| person.role == Role::Child)
    }

    /// Who this principal, which was paired, speaks as.
    #[must_use]
    pub fn spoken_as(&self, principal: &str) -> Option<&str> {
        self.speaks_as.get(principal).map(String::as_str)
    }

    fn owner(&self) -> Option<(&str, &Person)> {
        self.all.iter().find(|(_, person)| person.role == Role::Owner).map(|(name, person)| (name.as_str(), person))
    }

    /// The person whom somebody calls so: by name, or as the others say, also with "my" before it.
    #[must_use]
    pub fn called(&self, name: &str) -> Option<(&str, &Person)> {
        let called = compared(name);
        let is = |(own, person): &(&String, &Person)| {
            compared(own) == called || person.also.iter().any(|other| compared(other) == called)
        };
        self.all.iter().find(is).map(|(name, person)| (name.as_str(), person))
    }

    /// Where this person speaks, the terminal of the machine first.
    #[must_use]
    pub fn principals(&self, name: &str) -> Vec<String> {
        let is_owner = self.all.get(name).is_some_and(|person| person.role == Role::Owner);
        let at_terminal = self.terminal.iter().filter(|_| is_owner).cloned();
        let spoken =
            self.speaks_as.iter().filter(|(_, person)| *person == name).map(|(principal, _)| principal.clone());
        at_terminal.chain(spoken).collect()
    }

    /// Where this person gets what others send: on the chosen channel, else in a chat that can be sent to, else where the person
    /// will come by.
    #[must_use]
    pub fn reached_at(&self, name: &str) -> Option<String> {
        let all = self.principals(name);
        let on = |channel: Channel| all.iter().find(|one| one.split(':').next() == Some(channel.name()));
        let chosen = self.all.get(name).and_then(|person| person.channel);
        chosen.into_iter().chain(CHOICES).find_map(on).cloned()
    }

    /// Everybody's name.
    pub fn names(&self) -> impl Iterator<Item = (&str, &Person)> {
        self.all.iter().map(|(name, person)| (name.as_str(), person))
    }

    /// The name of the private folder of this principal's person; `None` for a guest or a principal without a person.
    #[must_use]
    pub fn folder_of(&self, principal: &str) -> Option<String> {
        let (name, person) = self.of(principal)?;
        private_name(name, person)
    }

    /// As a document.
    pub(crate) fn list(&self) -> PersonList {
        PersonList(self.all.keys().filter_map(|name| self.view(name)).collect())
    }

    /// One of them, as a document.
    pub(crate) fn view(&self, name: &str) -> Option<PersonView> {
        let person = self.all.get(name)?;
        Some(PersonView {
            name: name.to_owned(),
            role: person.role.into(),
            also: person.also.clone(),
            principals: self.principals(name),
            reached_at: self.reached_at(name),
            quiet: person.quiet.map(|quiet| quiet.to_string()),
            channel: person.channel.map(|channel| channel.name().to_owned()),
            may_call: person.may_call.clone(),
            folder: private_name(name, person).map(|folder| guests::private(&folder)),
            since_ms: person.since_ms,
        })
    }

    /// As memoryd is told of them; of the owner's principals, only those at the terminal.
    pub(crate) fn household(&self) -> Household {
        let one = |(name, person): (&String, &Person)| Member {
            name: name.clone(),
            role: person.role,
            also: person.also.clone(),
            quiet: person.quiet,
            channel: person.channel,
            principals: self.principals(name),
            accounts: Vec::new(),
        };
        let owner = self.terminal.clone();
        Household { people: self.all.iter().map(one).collect(), owner, unsealed: Vec::new(), accounts: Vec::new() }
    }

    /// Whether a person may be called so, beside `but`, which is the same person's.
    fn may_be_called(&self, name: &str, but: &str) -> Result<(), Refusal> {
        let begins = name.chars().next().is_some_and(char::is_alphabetic);
        let plain = |c: char| c.is_alphanumeric() || matches!(c, ' ' | '\'' | '’' | '-' | '.');
        if name.trim() != name || !begins || name.chars().count() > MAX_PERSON || !name.chars().all(plain) {
            let form = format!("a name is 1 to {MAX_PERSON} letters, digits, blanks, hyphens, dots and apostrophes");
            return Err(invalid(format!("{} is no name: {form}, and begins with a letter", shown(name))));
        }
        if TAKEN.contains(&compared(name).as_str()) || others::is_taken(name) {
            return Err(invalid(format!("{} means somebody else in a request", shown(name))));
        }
        let folder = guests::folder_name(name);
        if let Some(other) = self.all.keys().find(|other| *other != but && guests::folder_name(other) == folder) {
            return Err(invalid(format!("{} and {} would have the same private folder", shown(other), shown(name))));
        }
        match self.called(name) {
            Some((other, _)) if other != but => {
                Err(invalid(format!("{} is called {} already", shown(other), shown(name))))
            }
            Some(_) | None => Ok(()),
        }
    }

    /// The same with this person added, or changed where one of the name is there.
    ///
    /// # Errors
    /// When a name does not fit or is another one's, there are too many, or there would be two owners.
    pub fn with(&self, name: &str, person: Person) -> Result<Self, Refusal> {
        let is_new = !self.all.contains_key(name);
        if is_new && self.all.len() >= MAX_PERSONS {
            let why = format!("{MAX_PERSONS} persons are known, which is the limit");
            return Err(Refusal::new(RefusalCode::Busy, "people.full", why).remedy("remove one"));
        }
        if person.also.len() > MAX_ALSO {
            return Err(invalid(format!("a person has at most {MAX_ALSO} other names, not {}", person.also.len())));
        }
        for called in std::iter::once(name).chain(person.also.iter().map(String::as_str)) {
            self.may_be_called(called, name)?;
        }
        if let Some((owner, _)) = self.owner().filter(|(owner, _)| person.role == Role::Owner && *owner != name) {
            let why =
                format!("the owner is {}: there is one, and the others who may do as much are adults", shown(owner));
            return Err(invalid(why));
        }
        let mut all = self.all.clone();
        all.insert(name.to_owned(), person);
        Ok(Self { all, ..self.clone() })
    }

    /// The same without this person; nobody speaks as the one any more.
    #[must_use]
    pub fn without(&self, name: &str) -> Self {
        let mut rest = self.clone();
        rest.all.remove(name);
        rest.speaks_as.retain(|_, person| person != name);
        rest
    }

    /// The same with this principal speaking as a person; with none, as nobody by name.
    #[must_use]
    pub fn joined(&self, principal: &str, person: Option<&str>) -> Self {
        let mut joined = self.clone();
        match person {
            Some(person) => joined.speaks_as.insert(principal.to_owned(), person.to_owned()),
            None => joined.speaks_as.remove(principal),
        };
        joined
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use proptest::prelude::*;

    pub(super) fn person(role: Role, also: &[&str]) -> Person {
        Person {
            role,
            also: also.iter().map(|one| (*one).to_owned()).collect(),
            quiet: None,
            channel: None,
            may_call: Vec::new(),
            since_ms: 1,
        }
    }

    pub(super) fn household() -> Persons {
        let none = Persons { terminal: vec!["cli:uid:1000".into(), "cli:uid:0".into()], ..Persons::default() };
        let all = none.with("Anna", person(Role::Owner, &["mum", "mamma"])).unwrap();
        let all = all.with("Marco", person(Role::Adult, &["dad", "papà"])).unwrap();
        let all = all.with("Luca", person(Role::Child, &[])).unwrap();
        let all = all.with("Rosa Bianchi", person(Role::Guest, &["nanny"])).unwrap();
        all.joined("telegram:5", Some("Marco")).joined("http:a", Some("Marco")).joined("http:b", Some("Luca"))
    }

    #[test]
    fn persons_are_called_by_their_names_and_by_what_others_say() {
        let all = household();
        for (said, who) in [
            ("anna", "Anna"),
            ("my mum", "Anna"),
            ("la mamma", "Anna"),
            ("MARCO", "Marco"),
            ("papa", "Marco"),
            ("mio papà", "Marco"),
            ("rosa bianchi", "Rosa Bianchi"),
            ("the nanny", "Rosa Bianchi"),
        ] {
            assert_eq!(all.called(said).map(|(name, _)| name), Some(who), "{said}");
        }
        for nobody in ["", "the", "ann", "anna marco", "rosa", "my"] {
            assert_eq!(all.called(nobody), None, "{nobody}");
        }
    }

    #[test]
    fn names_that_mislead_are_refused() {
        let all = household();
        for name in
            ["", " Eva", "Eva\n", "3d", "me", "Everybody", "tutti", "anna", "Mum", "la mamma", "x".repeat(41).as_str()]
        {
            assert!(all.with(name, person(Role::Child, &[])).is_err(), "{name:?}");
        }
        assert!(all.with("Eva", person(Role::Child, &["dad"])).is_err(), "Marco's");
        assert!(all.with("Eva", person(Role::Owner, &[])).is_err(), "one owner");
        assert!(all.with("Eva", person(Role::Adult, &["a", "b", "c", "d", "e", "f", "g", "h", "i"])).is_err());
        assert!(all.with("Anna", person(Role::Owner, &["mother"])).is_ok(), "her own");
    }

    #[test]
    fn people_are_reached_where_a_message_arrives() {
        let all = household();
        assert_eq!(all.reached_at("Marco").as_deref(), Some("telegram:5"));
        assert_eq!(all.reached_at("Anna").as_deref(), Some("cli:uid:1000"));
        assert_eq!(all.reached_at("Luca").as_deref(), Some("http:b"));
        assert_eq!(all.reached_at("Rosa Bianchi"), None);
        let wants = |channel| Person { channel: Some(channel), ..person(Role::Adult, &[]) };
        let at = |channel| all.with("Marco", wants(channel)).unwrap().reached_at("Marco");
        assert_eq!(at(Channel::Http).as_deref(), Some("http:a"));
        assert_eq!(at(Channel::Cli).as_deref(), Some("telegram:5"), "he speaks at no terminal");
        assert_eq!(all.of("cli:uid:0").map(|(name, _)| name), Some("Anna"));
        assert_eq!(all.without("Marco").of("telegram:5"), None);
        assert_eq!(all.joined("telegram:5", None).reached_at("Marco").as_deref(), Some("http:a"));
    }

    #[test]
    fn owner_who_is_root_speaks_as_one_principal() {
        let all = Persons::default().with("Anna", person(Role::Owner, &[])).unwrap();
        assert_eq!(all.clone().at_terminal(0).principals("Anna"), ["cli:uid:0"]);
        assert_eq!(all.at_terminal(7).principals("Anna"), ["cli:uid:7", "cli:uid:0"]);
    }

    proptest! {
        #[test]
        fn no_two_persons_are_ever_called_the_same(
            names in proptest::collection::vec(("(the |my |)[aA]?[bB](\'| |)[cC]?", "[ab]{0,2}"), 0..6)
        ) {
            let mut all = Persons::default();
            for (name, other) in &names {
                let also: Vec<&str> = Some(other.as_str()).filter(|other| !other.is_empty()).into_iter().collect();
                if let Ok(more) = all.with(name, person(Role::Adult, &also)) {
                    all = more;
                }
            }
            let said: Vec<String> = all.all.iter().flat_map(|(name, one)| {
                let mut called: Vec<String> = std::iter::once(name).chain(&one.also).map(|it| compared(it)).collect();
                called.dedup();
                called.sort();
                called.dedup();
                called
            }).collect();
            let mut distinct = said.clone();
            distinct.sort();
            distinct.dedup();
            prop_assert_eq!(said.len(), distinct.len());
        }
    }
}
