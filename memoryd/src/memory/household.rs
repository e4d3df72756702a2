//! Who is who, as policyd has said last: which principals are one person, and what others call that person. As long as it has said
//! nothing, each principal is somebody of its own.

use std::collections::{BTreeMap, BTreeSet};

use metnos_proto::envelope::PersonNamed;
use metnos_proto::executor::guests;
use metnos_proto::msg::common::{Channel, RefusalCode, Role};
use metnos_proto::msg::people::{Household, MAX_PERSONS, Member};
use metnos_proto::msg::quiet::Quiet;

use super::Memory;
use super::journal::{Answer, refused};
use crate::schedules::can_be_sent_to;

/// See the module.
#[derive(Debug)]
pub(super) struct WhoIsWho(Household);

impl Default for WhoIsWho {
    fn default() -> Self {
        Self(Household { people: Vec::new(), owner: Vec::new(), unsealed: Vec::new(), accounts: Vec::new() })
    }
}

impl WhoIsWho {
    /// The name of the person who speaks as this principal.
    pub(super) fn name_of(&self, principal: &str) -> Option<&str> {
        self.0.member(principal).map(|member| member.name.as_str())
    }

    /// All principals of the same person, this one first.
    pub(super) fn principals_with<'a>(&'a self, principal: &'a str) -> Vec<&'a str> {
        let others =
            self.0.member(principal).into_iter().flat_map(|member| member.principals.iter().map(String::as_str));
        std::iter::once(principal).chain(others.filter(|other| *other != principal)).collect()
    }

    /// The name of `other`, where that is another person than `principal`; empty otherwise.
    pub(super) fn other_name(&self, principal: &str, other: &str) -> String {
        let (own, other) = (self.name_of(principal), self.name_of(other));
        other.filter(|_| own != other).unwrap_or_default().to_owned()
    }

    /// The name of the private folder of this principal's person; empty for a guest or a principal without a person.
    pub(super) fn folder_of(&self, principal: &str) -> String {
        let member = self.0.member(principal).filter(|member| member.role != Role::Guest);
        member.map(|member| guests::folder_name(&member.name)).unwrap_or_default()
    }

    /// Whether the owner may not read what this principal said or what was done for it: it is another person's, and the seal is
    /// not broken. As long as nobody has said who the owner is, everybody's is sealed. What hooks, timers and Metnos itself do is
    /// the owner's.
    pub(super) fn is_sealed(&self, principal: &str, now_ms: u64) -> bool {
        let is_open = || self.0.unsealed.iter().any(|one| one.principal == principal && now_ms < one.until_ms);
        self.is_anothers(principal) && !is_open()
    }

    /// Whether this principal is another person's than the owner's, whatever seals are broken.
    pub(super) fn is_anothers(&self, principal: &str) -> bool {
        let channel = principal.split(':').next().and_then(Channel::named);
        let of_nobody = principal.is_empty()
            || matches!(channel, Some(Channel::Hook | Channel::Timer | Channel::Scheduler | Channel::Metnos));
        !of_nobody && !self.0.owner.iter().any(|own| own == principal)
    }

    /// When this principal is not disturbed by what others send; empty where nothing is held.
    pub(super) fn quiet_of(&self, principal: &str) -> String {
        self.quiet().get(principal).map(Quiet::to_string).unwrap_or_default()
    }

    /// When each principal is not disturbed by what others send.
    fn quiet(&self) -> BTreeMap<String, Quiet> {
        let mut all = BTreeMap::new();
        for member in &self.0.people {
            let hours = member.quiet.into_iter();
            all.extend(hours.flat_map(|quiet| member.principals.iter().map(move |one| (one.clone(), quiet))));
        }
        all
    }

    /// The principals of those who want to be told things in their chat at once.
    fn chat_first(&self) -> BTreeSet<String> {
        let in_chat = self.0.people.iter().filter(|member| member.channel == Some(Channel::Telegram));
        in_chat.flat_map(|member| member.principals.iter().cloned()).collect()
    }

    /// The Telegram chat of each other principal of the same person, but for those who want to be told things elsewhere. The owner's principals without a person count as one person only
    /// if exactly one of them is a chat: two chats may belong to two people.
    fn chats(&self) -> BTreeMap<String, String> {
        let mut all = BTreeMap::new();
        let nameless: Vec<String> = self.0.owner.iter().filter(|own| self.0.member(own).is_none()).cloned().collect();
        let is_one = nameless.iter().filter(|one| can_be_sent_to(one)).count() == 1;
        let elsewhere = |member: &&Member| matches!(member.channel, Some(Channel::Cli | Channel::Http));
        let persons = self.0.people.iter().filter(|member| !elsewhere(member)).map(|member| &member.principals);
        for principals in persons.chain(is_one.then_some(&nameless)) {
            let (chats, others): (Vec<&String>, Vec<&String>) = principals.iter().partition(|one| can_be_sent_to(one));
            if let Some(chat) = chats.first() {
                all.extend(others.into_iter().map(|other| (other.clone(), (*chat).clone())));
            }
        }
        all
    }

    /// Which kinds of accounts the person has who speaks as this principal.
    pub(super) fn accounts_of(&self, principal: &str) -> Vec<String> {
        match self.0.member(principal) {
            Some(member) => member.accounts.clone(),
            None if self.0.owner.iter().any(|own| own == principal) => self.0.accounts.clone(),
            None => Vec::new(),
        }
    }

    /// See [`Household::others`].
    pub(super) fn others_of(&self, principal: &str) -> Vec<PersonNamed> {
        self.0.others(principal)
    }
}

impl Memory {
    /// From now on these persons are known, and no others.
    ///
    /// # Errors
    /// When there are too many, or a principal would be two persons.
    pub fn household(&mut self, word: Household) -> Answer<()> {
        let mut principals: Vec<&String> = word.people.iter().flat_map(|member| &member.principals).collect();
        let all = principals.len();
        principals.sort();
        principals.dedup();
        if principals.len() != all || word.people.len() > MAX_PERSONS {
            let why = format!("at most {MAX_PERSONS} persons are known, and no principal is two of them");
            return Err(refused(RefusalCode::Invalid, "people.form", why));
        }
        self.who_is_who = WhoIsWho(word);
        self.derive()?;
        self.schedules.catch_up(&self.journal.chronicle)?;
        self.schedules.chats_are(self.who_is_who.chats(), self.who_is_who.chat_first())?;
        Ok(self.schedules.quiet_are(self.who_is_who.quiet())?)
    }
}

#[cfg(test)]
mod tests {
    use metnos_proto::msg::people::Unsealed;

    use super::*;

    fn member(name: &str, role: Role, principals: &[&str]) -> Member {
        let principals = principals.iter().map(|one| (*one).to_owned()).collect();
        Member {
            name: name.to_owned(),
            role,
            quiet: None,
            channel: None,
            also: vec![format!("{name}'s alias")],
            principals,
            accounts: Vec::new(),
        }
    }

    fn known() -> WhoIsWho {
        let people = vec![
            member("Anna", Role::Owner, &["cli:uid:1000", "telegram:1"]),
            member("Luca", Role::Child, &["telegram:2"]),
            member("Rosa", Role::Guest, &["telegram:3"]),
        ];
        let owner = vec!["cli:uid:1000".to_owned(), "telegram:1".to_owned()];
        let unsealed = vec![Unsealed { principal: "telegram:3".to_owned(), until_ms: 1_000 }];
        WhoIsWho(Household { people, owner, unsealed, accounts: Vec::new() })
    }

    #[test]
    fn others_are_sealed_unless_their_seal_is_broken_and_only_so_long() {
        let all = known();
        for (principal, now_ms, sealed) in [
            ("", 0, false),
            ("cli:uid:1000", 0, false),
            ("telegram:1", 0, false),
            ("hook:door", 0, false),
            ("timer:nightly", 0, false),
            ("metnos:synth", 0, false),
            ("telegram:2", 0, true),
            ("telegram:3", 999, false),
            ("telegram:3", 1_000, true),
            ("telegram:9", 0, true),
            ("cli:uid:1001", 0, true),
            ("nonsense", 0, true),
        ] {
            assert_eq!(all.is_sealed(principal, now_ms), sealed, "{principal}");
        }
        assert!(WhoIsWho::default().is_sealed("cli:uid:1000", 0), "nobody has said who the owner is");
    }

    #[test]
    fn principals_of_one_person_belong_together_and_no_others() {
        let all = known();
        assert_eq!(all.principals_with("telegram:1"), ["telegram:1", "cli:uid:1000"]);
        assert_eq!(all.principals_with("telegram:9"), ["telegram:9"]);
        assert_eq!(all.other_name("telegram:1", "cli:uid:1000"), "");
        assert_eq!(all.other_name("telegram:2", "cli:uid:1000"), "Anna");
        assert_eq!(all.other_name("telegram:9", "telegram:2"), "Luca");
        assert_eq!(all.other_name("telegram:2", "telegram:9"), "");
    }

    #[test]
    fn guests_and_unknown_principals_are_told_no_names() {
        let all = known();
        let names = |principal: &str| all.others_of(principal).into_iter().map(|one| one.name).collect::<Vec<_>>();
        assert_eq!(names("telegram:2"), ["Anna", "Rosa"]);
        assert!(names("telegram:3").is_empty() && names("telegram:9").is_empty());
        let folders =
            ["telegram:1", "telegram:2", "telegram:3", "telegram:9"].map(|principal| all.folder_of(principal));
        assert_eq!(folders, ["anna", "luca", "", ""]);
    }

    #[test]
    fn kinds_of_accounts_are_those_of_the_person_who_speaks() {
        let mut all = known().0;
        all.accounts = vec!["mail".to_owned()];
        all.owner.push("http:own".to_owned());
        all.people[1].accounts = vec!["calendar".to_owned()];
        let all = WhoIsWho(all);
        let of = |principal: &str| all.accounts_of(principal).join(" ");
        assert_eq!((of("telegram:2"), of("http:own")), ("calendar".to_owned(), "mail".to_owned()));
        // A person has the own ones, and whoever is nobody has none.
        assert_eq!([of("telegram:1"), of("telegram:3"), of("telegram:9")], [""; 3]);
    }

    #[test]
    fn chat_of_a_person_stands_for_the_persons_other_principals_alone() {
        let (anna, marco) = (["cli:uid:0", "telegram:1", "http:a"], ["telegram:2", "http:m", "telegram:3"]);
        let people = vec![member("Anna", Role::Owner, &anna), member("Marco", Role::Adult, &marco)];
        let names = |all: &[&str]| all.iter().map(|one| (*one).to_owned()).collect::<Vec<_>>();
        let told = |people: Vec<Member>, owner: &[&str]| {
            let chats =
                WhoIsWho(Household { people, owner: names(owner), unsealed: Vec::new(), accounts: Vec::new() }).chats();
            chats.into_iter().map(|(own, chat)| format!("{own} {chat}")).collect::<Vec<_>>()
        };
        let named = ["cli:uid:0 telegram:1", "http:a telegram:1", "http:m telegram:2"];
        assert_eq!(told(people.clone(), &["cli:uid:0", "telegram:1", "http:x"]), named, "http:x has no chat");
        let elsewhere: Vec<Member> =
            people.into_iter().map(|one| Member { channel: Some(Channel::Http), ..one }).collect();
        assert_eq!(told(elsewhere, &["cli:uid:0", "telegram:1"]), [""; 0], "they want it on the page");
        assert_eq!(told(Vec::new(), &["cli:uid:0", "telegram:1"]), ["cli:uid:0 telegram:1"]);
        assert_eq!(told(Vec::new(), &["cli:uid:0", "telegram:1", "telegram:9"]), [""; 0], "they may be two persons");
    }
}
