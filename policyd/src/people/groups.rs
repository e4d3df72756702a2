//! Chats of several people. A group is a principal of its own, and may know what its least trusted member may (design: people
//! §2): the door says who its members are, and where it does not, the group is a guest. What was said in a group of adults must not
//! be repeated to others, so such a group is refused while it has another member.

use std::collections::BTreeMap;

use metnos_proto::msg::common::{Channel, Level, Refusal, RefusalCode, Standing};
use metnos_proto::msg::people::{GroupMembers, KnownSenders, MAX_MEMBERS};

use crate::guard::shown;
use crate::people::Principals;
use crate::people::persons::level_of;
use crate::people::principal::Principal;

/// How the name of a group begins: Telegram's groups have the negative numbers (Bot API, `Chat`).
const GROUPS: &str = "telegram:-";
/// How long a statement about the members of a group holds, in milliseconds.
pub const BELIEVED_MS: u64 = 900_000;
/// The most groups of which the members are remembered; all others are guests.
pub const MAX_GROUPS: usize = 64;

/// Whether this principal is a chat of several people.
#[must_use]
pub fn is_group(principal: &str) -> bool {
    principal
        .strip_prefix(GROUPS)
        .is_some_and(|digits| !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()))
}

/// Groups whose members are all adults of the household, and until when that holds, on the monotonic clock.
#[derive(Debug, Default)]
pub(crate) struct Groups(BTreeMap<String, u64>);

impl Groups {
    /// The standing of the least trusted member of this group.
    pub(crate) fn least(&self, group: &str, now_ms: u64) -> Standing {
        match self.0.get(group) {
            Some(until) if now_ms < *until => Standing::Adult,
            Some(_) | None => Standing::Guest,
        }
    }

    /// Forgets all members: who is paired, or a role, has changed.
    pub(crate) fn forget(&mut self) {
        self.0.clear();
    }

    /// Stores the standing of the least trusted member of this group.
    fn told(&mut self, group: &str, least: Standing, now_ms: u64) {
        self.0.retain(|_, until| now_ms < *until);
        match least {
            Standing::Owner | Standing::Adult if self.0.len() < MAX_GROUPS || self.0.contains_key(group) => {
                self.0.insert(group.to_owned(), now_ms.saturating_add(BELIEVED_MS));
            }
            Standing::Owner | Standing::Adult | Standing::Guest | Standing::Stranger => {
                self.0.remove(group);
            }
        }
    }
}

/// The less trusted of two standings; two owners make an adult, because a group is never the owner.
const fn less(paired: Standing, least: Standing) -> Standing {
    match (paired, least) {
        (Standing::Stranger, _) | (_, Standing::Stranger) => Standing::Stranger,
        (Standing::Guest, _) | (_, Standing::Guest) => Standing::Guest,
        (Standing::Owner | Standing::Adult, Standing::Owner | Standing::Adult) => Standing::Adult,
    }
}

impl Principals {
    /// The current standing of a principal that was paired with this one: a group has at most that of its least trusted member.
    pub(crate) fn standing_with_members(&self, principal: &str, paired: Standing) -> Standing {
        if !is_group(principal) {
            return paired;
        }
        less(paired, self.change.groups.borrow().least(principal, self.base.clock.monotonic_ms()))
    }

    /// The same for its level: no group goes further than a member would.
    pub(crate) fn group_level(&self, it: &mut Principal) {
        if is_group(&it.name) {
            it.level = it.level.min(level_of(it.standing)).min(Level::Supervised);
        }
    }

    /// Refuses a group that was approved for adults while it has another member: what was said there before would be repeated to
    /// that member.
    ///
    /// # Errors
    /// When a member is not an adult of the household, or the members are unknown.
    pub(crate) fn check_members(&self, it: &Principal) -> Result<(), Refusal> {
        let was_adults = is_group(&it.name) && self.paired.borrow().standing(&it.name) == Some(Standing::Adult);
        match it.standing {
            Standing::Guest | Standing::Stranger if was_adults => {
                let why = "a member of this group is not an adult of the household, or its members are unknown";
                Err(Refusal::new(RefusalCode::Denied, "principal.members", why).remedy(
                    "ask in a private chat; the owner approves a group of others with `metnosctl pairing approve … --as guest`",
                ))
            }
            Standing::Owner | Standing::Adult | Standing::Guest | Standing::Stranger => Ok(()),
        }
    }

    /// The senders that the door looks for in a group.
    pub(crate) fn members_to_look_for(&self, channel: Channel) -> KnownSenders {
        let paired = self.paired.borrow();
        let senders = paired.names().filter(|name| !is_group(name)).filter_map(|name| {
            name.split_once(':')
                .filter(|(on, _)| Channel::named(on) == Some(channel))
                .map(|(_, sender)| sender.to_owned())
        });
        KnownSenders { senders: senders.take(MAX_MEMBERS).collect() }
    }

    /// Takes what the door says about the members of a group; gives the group with its new standing.
    ///
    /// # Errors
    /// When it is no group, or more members are named than were asked about.
    pub(crate) fn group_is(&self, ask: &GroupMembers) -> Result<Principal, Refusal> {
        let group = self.who(ask.channel, &ask.group)?;
        if !is_group(&group.name) || ask.members.len() > MAX_MEMBERS {
            let why = format!("{} is no group of at most {MAX_MEMBERS} known members", shown(&group.name));
            return Err(Refusal::new(RefusalCode::Invalid, "principal.group", why));
        }
        let mut least = if ask.are_all && !ask.members.is_empty() { Standing::Adult } else { Standing::Guest };
        for member in &ask.members {
            least = less(least, self.who(ask.channel, member)?.standing);
        }
        self.change.groups.borrow_mut().told(&group.name, least, self.base.clock.monotonic_ms());
        self.who(ask.channel, &ask.group)
    }
}

/// Refuses to pair a group as a person or as the owner.
///
/// # Errors
/// When it would be one of them.
pub(crate) fn fits_a_group(principal: &str, standing: Standing, person: Option<&str>) -> Result<(), Refusal> {
    let nobody = person.is_none() && standing != Standing::Owner;
    if nobody || !is_group(principal) {
        return Ok(());
    }
    let why = format!("{} is a group, which is no person and no owner", shown(principal));
    Err(Refusal::new(RefusalCode::Invalid, "pairing.group", why).remedy(
        "pair it with `--as adult` for the household's own group, or with `--as guest`; the next message there gives another code",
    ))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const ALL: [Standing; 4] = [Standing::Owner, Standing::Adult, Standing::Guest, Standing::Stranger];

    #[test]
    fn negative_numbers_of_telegram_are_groups_and_nothing_else() {
        assert!(is_group("telegram:-100123") && is_group("telegram:-5"));
        for no in ["telegram:5", "telegram:-", "telegram:-5x", "telegram:--5", "http:-5", "cli:uid:-5", "-5", ""] {
            assert!(!is_group(no), "{no}");
        }
    }

    #[test]
    fn what_was_said_of_a_group_is_believed_for_its_time() {
        let mut groups = Groups::default();
        assert_eq!(groups.least("telegram:-1", 0), Standing::Guest);
        groups.told("telegram:-1", Standing::Adult, 10);
        assert_eq!(groups.least("telegram:-1", 10 + BELIEVED_MS - 1), Standing::Adult);
        assert_eq!(groups.least("telegram:-1", 10 + BELIEVED_MS), Standing::Guest);
        groups.told("telegram:-1", Standing::Guest, 20);
        assert_eq!(groups.least("telegram:-1", 20), Standing::Guest);
    }

    #[test]
    fn no_more_groups_than_the_bound_are_more_than_guests() {
        let mut groups = Groups::default();
        for number in 0..=MAX_GROUPS {
            groups.told(&format!("telegram:-{number}"), Standing::Adult, 0);
        }
        let trusted =
            (0..=MAX_GROUPS).filter(|number| groups.least(&format!("telegram:-{number}"), 0) == Standing::Adult);
        assert_eq!(trusted.count(), MAX_GROUPS);
    }

    proptest! {
        #[test]
        fn a_group_is_never_more_than_any_of_its_members(paired in 0usize..4, members in prop::collection::vec(0usize..4, 1..6)) {
            let rank = |one: Standing| ALL.iter().position(|known| *known == one);
            let least = members.iter().fold(Standing::Adult, |least, member| less(least, ALL[*member]));
            let group = less(ALL[paired], least);
            prop_assert!(group != Standing::Owner);
            for one in members.iter().chain([&paired]) {
                prop_assert!(rank(group) >= rank(ALL[*one]));
            }
        }
    }
}
