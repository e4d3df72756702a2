//! Who is speaking: a channel and a sender, judged without looking at a single word of what
//! was said (design: policy §2, §3). Anyone who is not known is a stranger.

use metnos_proto::msg::common::{Channel, Level, Refusal, RefusalCode, Standing};

use crate::guard::shown;

/// The machine's root, at the terminal.
pub(crate) const ROOT: &str = "cli:uid:0";
/// The longest name of a sender, in bytes.
pub const MAX_SENDER: usize = 128;

/// A person who speaks to this instance.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Principal {
    /// `channel:sender`.
    pub name: String,
    /// Where the words come in.
    pub channel: Channel,
    /// What it is to this instance.
    pub standing: Standing,
    /// Its level of autonomy.
    pub level: Level,
}

/// Identifies a sender. The owner is who owns the instance, and the machine's root, at the terminal.
///
/// # Errors
/// When the sender's name is not one.
pub fn identify(channel: Channel, sender: &str, owner_uid: u32) -> Result<Principal, Refusal> {
    let fits = !sender.is_empty()
        && sender.len() <= MAX_SENDER
        && !sender.chars().any(|c| c.is_control() || c.is_whitespace());
    if !fits {
        let why = format!("a sender is named by 1 to {MAX_SENDER} bytes without blanks, this one by {}", sender.len());
        return Err(Refusal::new(RefusalCode::Invalid, "principal.sender", why));
    }
    let known = match channel {
        Channel::Cli => uid_of(sender).is_some_and(|uid| uid == owner_uid || uid == 0),
        // Known by pairing only.
        Channel::Http | Channel::Telegram | Channel::Scheduler | Channel::Hook | Channel::Timer | Channel::Metnos => {
            false
        }
    };
    let (standing, level) =
        if known { (Standing::Owner, Level::Supervised) } else { (Standing::Stranger, Level::ReadOnly) };
    Ok(Principal { name: format!("{}:{sender}", channel.name()), channel, standing, level })
}

/// The uid in `uid:1000`, written as the door writes it and in no other way.
fn uid_of(sender: &str) -> Option<u32> {
    let uid: u32 = sender.strip_prefix("uid:")?.parse().ok()?;
    (format!("uid:{uid}") == sender).then_some(uid)
}

/// To a person who is not known here.
pub(crate) fn stranger(principal: &Principal) -> Refusal {
    let why = format!("{} is not known to this instance, so what it says is not heard", shown(&principal.name));
    Refusal::new(RefusalCode::Denied, "principal.unpaired", why)
        .remedy("speak as the owner of the instance, at its own terminal")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn standing(channel: Channel, sender: &str) -> Standing {
        identify(channel, sender, 1000).unwrap().standing
    }

    #[test]
    fn the_owner_and_root_are_known_at_the_terminal_and_nowhere_else() {
        assert_eq!(standing(Channel::Cli, "uid:1000"), Standing::Owner);
        assert_eq!(standing(Channel::Cli, "uid:0"), Standing::Owner);
        for channel in Channel::ALL.into_iter().filter(|channel| *channel != Channel::Cli) {
            assert_eq!(standing(channel, "uid:1000"), Standing::Stranger);
        }
        let owner = identify(Channel::Cli, "uid:1000", 1000).unwrap();
        assert_eq!((owner.name.as_str(), owner.level), ("cli:uid:1000", Level::Supervised));
    }

    #[test]
    fn other_spellings_of_the_uid_are_strangers() {
        for sender in ["uid:01000", "uid:+1000", "uid:1001", "1000", "UID:1000", "uid:", "uid:4294968296", "uid:-0"] {
            assert_eq!(standing(Channel::Cli, sender), Standing::Stranger, "{sender}");
        }
    }

    #[test]
    fn a_name_that_is_none_is_refused_at_its_limits() {
        assert!(identify(Channel::Cli, &"x".repeat(MAX_SENDER), 1).is_ok());
        for sender in [&"x".repeat(MAX_SENDER + 1), "", "a b", "a\nb", "a\0"] {
            assert!(identify(Channel::Cli, sender, 1).is_err(), "{sender:?}");
        }
    }

    proptest! {
        #[test]
        fn only_uids_of_owner_and_root_are_identified_as_owner(sender in "(uid:)?\\PC{0,12}") {
            if let Ok(principal) = identify(Channel::Cli, &sender, 1000) {
                prop_assert_eq!(principal.standing == Standing::Owner, sender == "uid:1000" || sender == "uid:0");
            }
        }
    }
}
