//! Chats of several people: which messages are for the bot, and who reads its answers. A group is a principal of its own, and policyd
//! gives it the rights of its least trusted member; this file tells policyd who the members are, before each request. A member that
//! cannot be determined counts as a stranger.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::time::Duration;

use metnos_proto::edge::RpcError;
use metnos_proto::ids::TraceId;
use metnos_proto::msg::common::{Channel, Refusal, Standing};
use metnos_proto::msg::people::{GroupMembers, WhoseMembers};
use metnos_proto::msg::policyd::Identified;
use tokio::time::Instant;

use super::api::{Api, ApiError};
use crate::session::Door;
use crate::session::speaker::Speaker;

/// How long the members of a group are not asked for again while their number stays the same.
pub const LOOK_AFTER: Duration = Duration::from_secs(300);
/// The same for a group with other members: a member who writes without end must not use up what Telegram allows the bot.
pub const LOOK_AGAIN_AFTER: Duration = Duration::from_secs(10);

/// The rule that refuses a group of adults while it has another member.
pub const OTHER_MEMBERS: &str = "principal.members";

/// What the bot knows of groups.
#[derive(Debug, Default)]
pub struct Groups {
    /// The bot's name, once Telegram has told it.
    pub name: RefCell<String>,
    /// What was found when the members of a group were asked for.
    looked: RefCell<BTreeMap<i64, Found>>,
    /// Looks that are under way.
    looking: Cell<usize>,
}

/// What was found about a group.
#[derive(Debug, Clone, Copy)]
struct Found {
    /// How many members it had, with the bot.
    count: u64,
    /// Whether all of them are paired.
    are_all: bool,
    /// When that was.
    at: Instant,
}

impl Found {
    /// Whether it still holds for a group of so many members.
    fn holds(&self, count: u64) -> bool {
        let within = if self.are_all { LOOK_AFTER } else { LOOK_AGAIN_AFTER };
        self.count == count && count > 0 && self.at.elapsed() < within
    }
}

/// Whether a chat is one of several people: those have the negative numbers (Bot API, `Chat`).
#[must_use]
pub const fn is_group(chat: i64) -> bool {
    chat < 0
}

/// The words of a message in a group that are for the bot: that name it, answer one of its messages, or are a command.
#[must_use]
pub fn words_for_bot(text: &str, name: &str, answers_it: bool) -> Option<String> {
    let is_name = |word: &str| {
        let bare = word.trim_end_matches([',', ':', '.', '!', '?', ';']);
        !name.is_empty() && bare.strip_prefix('@').is_some_and(|bare| bare.eq_ignore_ascii_case(name))
    };
    let words: Vec<&str> = text.split_whitespace().collect();
    let named = words.iter().any(|word| is_name(word));
    let command = text.trim_start().starts_with('/');
    // A command that names a bot is for that one alone.
    let of_another = words.first().is_some_and(|word| {
        command && word.split_once('@').is_some_and(|(_, bot)| name.is_empty() || !bot.eq_ignore_ascii_case(name))
    });
    if !(named || answers_it || command) || of_another {
        return None;
    }
    Some(words.into_iter().filter(|word| !is_name(word)).collect::<Vec<_>>().join(" "))
}

impl Groups {
    /// Tells policyd who the members of a group are, and gives the group with its new standing.
    ///
    /// # Errors
    /// When nothing may be said there now ([`OTHER_MEMBERS`]), or policyd does not answer.
    pub async fn look_at(&self, door: &Door, api: &Api, chat: i64) -> Result<Identified, Refusal> {
        let count = api.member_count(chat).await.unwrap_or(0);
        let found = self.looked.borrow().get(&chat).copied().filter(|found| found.holds(count));
        if let Some(found) = found {
            if !found.are_all {
                return tell_members(door, chat, Vec::new(), false).await;
            }
            let group = Speaker { channel: Channel::Telegram, sender: chat.to_string(), lang: None };
            // After a restart of policyd, or a change of who is paired, the members are asked for again.
            let known = door.identify(&group).await?;
            if known.standing == Standing::Adult {
                return Ok(known);
            }
        }
        let _one = Looking::begin(&self.looking);
        let (members, are_all) = match self.members(door, api, chat, count).await {
            Ok(members) => {
                // The bot is one of them.
                let are_all = u64::try_from(members.len()).is_ok_and(|found| found + 1 == count);
                self.note(chat, Found { count, are_all, at: Instant::now() });
                (members, are_all)
            }
            Err(fault) => {
                tracing::warn!(%fault, "the members of a group are unknown: it is a guest");
                (Vec::new(), false)
            }
        };
        tell_members(door, chat, members, are_all).await
    }

    fn note(&self, chat: i64, found: Found) {
        let mut looked = self.looked.borrow_mut();
        looked.retain(|_, found| found.holds(found.count));
        if looked.len() < MAX_LOOKED {
            looked.insert(chat, found);
        }
    }

    /// The paired people among the members of a group of so many.
    async fn members(&self, door: &Door, api: &Api, chat: i64, count: u64) -> Result<Vec<String>, ApiError> {
        let asked = WhoseMembers { channel: Channel::Telegram };
        let Ok((known, [])) = door.peers().policyd.members_to_look_for(TraceId::NONE, asked, []).await else {
            return Ok(Vec::new());
        };
        // More than who is known cannot be all known.
        let most = u64::try_from(known.senders.len()).unwrap_or(u64::MAX).saturating_add(1);
        if count > most || self.looking.get() > MAX_LOOKING {
            return Ok(Vec::new());
        }
        let mut members = Vec::new();
        for sender in known.senders {
            // As the door writes it, so that no person is counted twice.
            let Some(user) = sender.parse::<i64>().ok().filter(|user| user.to_string() == sender) else { continue };
            if api.is_member(chat, user).await? {
                members.push(sender);
            }
        }
        Ok(members)
    }

    /// A member has joined or left: the group is a guest until its members are asked for again.
    pub async fn changed(&self, door: &Door, chat: i64) {
        self.looked.borrow_mut().remove(&chat);
        if let Err(refusal) = tell_members(door, chat, Vec::new(), false).await {
            tracing::debug!(%refusal, "who is in a group is asked when something is said there");
        }
    }
}

async fn tell_members(door: &Door, chat: i64, members: Vec<String>, are_all: bool) -> Result<Identified, Refusal> {
    let ask = GroupMembers { channel: Channel::Telegram, group: chat.to_string(), members, are_all };
    let told = door.peers().policyd.group_members(TraceId::NONE, ask, []).await;
    told.map(|(who, [])| who).map_err(RpcError::into_refusal)
}

/// The most groups of which is remembered who is in them.
const MAX_LOOKED: usize = 64;
/// The most groups that are looked at at once; more of them are guests for the moment.
const MAX_LOOKING: usize = 4;

/// A look that is under way.
struct Looking<'a>(&'a Cell<usize>);

impl<'a> Looking<'a> {
    fn begin(looking: &'a Cell<usize>) -> Self {
        looking.set(looking.get() + 1);
        Self(looking)
    }
}

impl Drop for Looking<'_> {
    fn drop(&mut self) {
        self.0.set(self.0.get().saturating_sub(1));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_in_a_group_are_the_bots_when_they_name_or_answer_it() {
        for (said, wanted) in [
            ("@Metnos_Bot add milk", Some("add milk")),
            ("add milk, @metnos_bot!", Some("add milk,")),
            ("/undo@metnos_bot", Some("/undo@metnos_bot")),
            ("/help", Some("/help")),
            ("@metnos_bot", Some("")),
            ("/help@other_bot", None),
            ("add milk", None),
            ("mail a@metnos_bot", None),
            ("@metnos_bottle hello", None),
            ("", None),
        ] {
            assert_eq!(words_for_bot(said, "metnos_bot", false).as_deref(), wanted, "{said}");
        }
        assert_eq!(words_for_bot("yes", "metnos_bot", true).as_deref(), Some("yes"));
        assert_eq!(words_for_bot("@ hello", "", false), None);
        assert_eq!(words_for_bot("/help@x", "", false), None);
    }
}
