//! Whom a person may have told or reminded: members of the household each other, nobody from outside anybody.

use metnos_proto::msg::common::{Refusal, RefusalCode, Role};
use metnos_proto::msg::schedule::EVERYBODY;

use super::{Persons, unknown};
use crate::guard::shown;

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
    /// Where this principal is reminded: the chat of the person that can be sent to, else where the principal will come by.
    #[must_use]
    pub fn reminded_at(&self, principal: &str) -> String {
        let chat = self.of(principal).and_then(|(name, _)| self.reached_at(name));
        let is_chat = |at: &String| at.starts_with("telegram:");
        chat.filter(|at| is_chat(at) && !principal.starts_with("telegram:")).unwrap_or_else(|| principal.to_owned())
    }

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
    fn one_is_reminded_where_a_message_arrives() {
        let all = household().joined("telegram:8", Some("Anna"));
        assert_eq!(all.reminded_at("cli:uid:1000"), "telegram:8");
        assert_eq!(all.reminded_at("telegram:5"), "telegram:5");
        assert_eq!(all.reminded_at("http:a"), "telegram:5");
        assert_eq!(all.reminded_at("http:b"), "http:b");
        assert_eq!(all.reminded_at("telegram:77"), "telegram:77");
    }
}
