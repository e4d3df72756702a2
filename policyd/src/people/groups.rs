//! Chats of several people. A group is a principal of its own, and may know what its least trusted member may (design: people
//! §2): the channel says who is in it, and where it does not, a group is a guest.

use std::collections::BTreeMap;

use metnos_proto::msg::common::{Channel, Level, Refusal, RefusalCode, Standing};
use metnos_proto::msg::people::{GroupMembers, KnownSenders, MAX_MEMBERS};

use crate::guard::shown;
use crate::people::Principals;
use crate::people::persons::level_of;
use crate::people::principal::Principal;

/// How the name of a group begins: Telegram's groups have the negative numbers (Bot API, `Chat`).
const GROUPS: &str = "telegram:-";
/// How long is believed who is in a group, in milliseconds.
pub const BELIEVED_MS: u64 = 900_000;
/// The most groups of which that is remembered; the others are guests.
pub const MAX_GROUPS: usize = 64;

/// Whether this principal is a chat of several people.
#[must_use]
pub fn is_group(principal: &str) -> bool {
    principal
        .strip_prefix(GROUPS)
        .is_some_and(|digits| !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()))
}

/// Groups in which everybody is a grown-up of the household, and until when that is believed, on the monotonic clock.
#[derive(Debug, Default)]
pub(crate) struct Groups(BTreeMap<String, u64>);

impl Groups {
    /// What the least trusted member of this group is.
    pub(crate) fn least(&self, group: &str, now_ms: u64) -> Standing {
        match self.0.get(group) {
            Some(until) if now_ms < *until => Standing::Adult,
            Some(_) | None => Standing::Guest,
        }
    }

    /// It was said who is in this group now.
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

/// The less trusted of two, of which one is no owner.
const fn less(paired: Standing, least: Standing) -> Standing {
    match (paired, least) {
        (Standing::Stranger, _) | (_, Standing::Stranger) => Standing::Stranger,
        (Standing::Guest, _) | (_, Standing::Guest) => Standing::Guest,
        (Standing::Owner | Standing::Adult, Standing::Owner | Standing::Adult) => Standing::Adult,
    }
}

impl Principals {
    /// What a principal that was paired as this is now: a group no more than its least trusted member.
    pub(crate) fn in_company(&self, principal: &str, paired: Standing) -> Standing {
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

    /// Whom the channel is asked about.
    pub(crate) fn members_to_look_for(&self, channel: Channel) -> KnownSenders {
        let paired = self.paired.borrow();
        let senders = paired.names().filter(|name| !is_group(name)).filter_map(|name| {
            name.split_once(':')
                .filter(|(on, _)| Channel::named(on) == Some(channel))
                .map(|(_, sender)| sender.to_owned())
        });
        KnownSenders { senders: senders.take(MAX_MEMBERS).collect() }
    }

    /// The channel has said who is in a group; who the group is now.
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

/// A group is nobody, and no owner.
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
        "pair it with `--as adult` for the household's own group, or with `--as guest`; have somebody write there for another code",
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
