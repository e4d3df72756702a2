//! Whom a person may have told or reminded: members of the household each other, nobody from outside anybody.

use metnos_proto::msg::common::{Channel, Refusal, RefusalCode, Role};
use metnos_proto::msg::schedule::EVERYBODY;

use super::{Persons, unknown};
use crate::guard::shown;
use crate::people::pairing::can_pair;

/// Somebody who is to get something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recipient {
    /// The person.
    pub name: String,
    /// Where, as `channel:sender`.
    pub at: String,
}

fn no(rule: &str, why: &str) -> Refusal {
    Refusal::new(RefusalCode::Denied, rule, why)
}

impl Persons {
    /// Who gets what this principal has said for `called`.
    ///
    /// # Errors
    /// When the principal may tell others nothing, nobody is called so, or the one who is cannot be reached.
    pub fn recipients(&self, principal: &str, called: &str) -> Result<(String, Vec<Recipient>), Refusal> {
        let Some((sender, by)) = self.of(principal) else {
            let why = "who speaks here is nobody by name, so nothing is passed on in that name";
            return Err(
                no("people.nobody", why).remedy("`metnosctl people add` and `people join` give a principal a name")
            );
        };
        if by.role == Role::Guest {
            return Err(no("people.guest", "a guest has nothing passed on to others"));
        }
        let reached = |name: &str| self.reached_at(name).map(|at| Recipient { name: name.to_owned(), at });
        if called == EVERYBODY {
            let members = self.names().filter(|(name, person)| *name != sender && person.role != Role::Guest);
            let all: Vec<Recipient> = members.filter_map(|(name, _)| reached(name)).collect();
            if all.is_empty() {
                return Err(no("people.alone", "nobody else of the household can be reached"));
            }
            return Ok((sender.to_owned(), all));
        }
        let (name, person) = self.called(called).ok_or_else(|| unknown(called))?;
        if name == sender {
            return Err(no("people.self", "that is whoever says so"));
        }
        if by.role == Role::Child && person.role == Role::Guest {
            return Err(no("people.child", "a child has nothing passed on outside the household"));
        }
        let one = reached(name).ok_or_else(|| {
            let why = format!("{} speaks on no channel yet", shown(name));
            no("people.unreachable", &why)
                .remedy("`metnosctl pairing invite telegram --person NAME` makes a code for one")
        })?;
        Ok((sender.to_owned(), vec![one]))
    }

    /// Who is told something by a call, and by whom; nobody's name where that is the person whose turn it is.
    ///
    /// # Errors
    /// As [`Self::recipients`]; when more than one is meant, or the one does not speak on the only channel that is admitted.
    pub fn one_told(
        &self,
        principal: &str,
        called: &str,
        only: Option<Channel>,
    ) -> Result<(String, Recipient), Refusal> {
        let (from, one) = if called.is_empty() || self.is_self(principal, called) {
            (String::new(), self.who_asks(principal)?)
        } else if called == EVERYBODY {
            return Err(no("people.one", "a message is for one person").remedy("say for whom it is"));
        } else {
            let (from, mut all) = self.recipients(principal, called)?;
            (from, all.pop().ok_or_else(|| unknown(called))?)
        };
        let Some(channel) = only else { return Ok((from, one)) };
        let on_it = |at: &String| at.split(':').next() == Some(channel.name());
        let mut places = std::iter::once(one.at.clone()).chain(self.principals(&one.name));
        let at = places.find(on_it).ok_or_else(|| {
            let why = format!("who is meant does not speak on {}", channel.name());
            no("people.unreachable", &why)
                .remedy("`metnosctl pairing invite telegram --person NAME` makes a code for one")
        })?;
        Ok((from, Recipient { at, ..one }))
    }

    /// Whoever speaks as this principal, there; of what has no person behind it, such as a timer, the owner.
    fn who_asks(&self, principal: &str) -> Result<Recipient, Refusal> {
        if principal.split(':').next().and_then(Channel::named).is_some_and(can_pair) || self.of(principal).is_some() {
            let name = self.of(principal).map(|(name, _)| name.to_owned()).unwrap_or_default();
            return Ok(Recipient { name, at: principal.to_owned() });
        }
        let owner = self.owner().map(|(name, _)| name.to_owned());
        let at = owner.as_deref().and_then(|name| self.reached_at(name)).or_else(|| self.terminal.first().cloned());
        let at = at.ok_or_else(|| no("people.unreachable", "the owner speaks on no channel yet"))?;
        Ok(Recipient { name: owner.unwrap_or_default(), at })
    }

    /// Whether one person speaks as both principals.
    #[must_use]
    pub fn are_one(&self, principal: &str, other: &str) -> bool {
        let name = |principal: &str| self.of(principal).map(|(name, _)| name);
        name(principal).is_some_and(|own| name(other) == Some(own))
    }

    /// Whether the person called so is the one who speaks as this principal.
    #[must_use]
    pub fn is_self(&self, principal: &str, called: &str) -> bool {
        let own = self.of(principal).map(|(name, _)| name);
        own.is_some() && own == self.called(called).map(|(name, _)| name)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::super::tests::household;
    use super::*;

    fn names(principal: &str, called: &str) -> Result<Vec<String>, String> {
        let found = household().recipients(principal, called);
        found
            .map(|(_, all)| all.into_iter().map(|one| format!("{} {}", one.name, one.at)).collect())
            .map_err(|no| no.rule)
    }

    #[test]
    fn members_tell_each_other_and_nobody_else_anything() {
        assert_eq!(names("cli:uid:0", "marco"), Ok(vec!["Marco telegram:5".into()]));
        assert_eq!(names("http:b", "mamma"), Ok(vec!["Anna cli:uid:1000".into()]));
        assert_eq!(names("telegram:5", EVERYBODY), Ok(vec!["Anna cli:uid:1000".into(), "Luca http:b".into()]));
        assert_eq!(names("telegram:5", "marco"), Err("people.self".into()));
        assert_eq!(names("telegram:5", "giulia"), Err("people.unknown".into()));
        assert_eq!(names("telegram:6", "anna"), Err("people.nobody".into()));
        assert_eq!(names("cli:uid:1000", "the nanny"), Err("people.unreachable".into()));
    }

    #[test]
    fn guests_pass_nothing_on_and_children_nothing_outside() {
        let all = household().joined("telegram:9", Some("Rosa Bianchi"));
        let rule = |principal: &str, called: &str| all.recipients(principal, called).map_err(|no| no.rule).err();
        assert_eq!(rule("telegram:9", "anna").as_deref(), Some("people.guest"));
        assert_eq!(rule("telegram:9", EVERYBODY).as_deref(), Some("people.guest"));
        assert_eq!(rule("http:b", "nanny").as_deref(), Some("people.child"));
        assert_eq!(rule("telegram:5", "nanny"), None);
        let (_, everybody) = all.recipients("telegram:5", EVERYBODY).unwrap();
        assert!(everybody.iter().all(|one| one.name != "Rosa Bianchi"));
    }

    #[test]
    fn call_tells_one_person_and_only_where_it_may() {
        let all = household().joined("telegram:8", Some("Anna"));
        let told = |principal: &str, called: &str, only: Option<Channel>| {
            all.one_told(principal, called, only).map(|(from, one)| (from, one.name, one.at)).map_err(|no| no.rule)
        };
        let telegram = Some(Channel::Telegram);
        let of = |from: &str, name: &str, at: &str| Ok((from.to_owned(), name.to_owned(), at.to_owned()));
        assert_eq!(told("telegram:5", "", None), of("", "Marco", "telegram:5"));
        assert_eq!(told("http:a", "", None), of("", "Marco", "http:a"));
        assert_eq!(told("http:a", "marco", telegram), of("", "Marco", "telegram:5"));
        assert_eq!(told("telegram:5", "anna", telegram), of("Marco", "Anna", "telegram:8"));
        assert_eq!(told("http:b", "", telegram), Err("people.unreachable".to_owned()));
        assert_eq!(told("telegram:5", EVERYBODY, None), Err("people.one".to_owned()));
        assert_eq!(told("telegram:5", "Nobody", None), Err("people.unknown".to_owned()));
        assert_eq!(told("telegram:77", "anna", None), Err("people.nobody".to_owned()), "a stranger tells nobody");
        assert_eq!(told("telegram:77", "", None), of("", "", "telegram:77"));
        assert_eq!(told("timer:morning", "", None), of("", "Anna", "telegram:8"));
        assert_eq!(told("timer:morning", "marco", None), Err("people.nobody".to_owned()));
        let nobody = Persons { terminal: vec!["cli:uid:1000".into()], ..Persons::default() };
        let (_, one) = nobody.one_told("timer:morning", "", None).unwrap();
        assert_eq!(one.at, "cli:uid:1000");
    }
}
