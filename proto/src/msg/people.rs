//! Who may speak to this instance, and how far he goes without asking: what the door and the owner ask policyd about
//! that.

use crate::envelope::PersonNamed;
use crate::ids::{TraceId, TurnId};
use crate::msg::common::{Channel, Lang, Level, Role, Standing};
use crate::msg::quiet::Quiet;
use crate::words;

/// The longest name of a hook or a timer, in bytes.
pub const MAX_NAME: usize = 32;
/// The longest name of a person, in characters.
pub const MAX_PERSON: usize = 40;
/// The most executors that a child calls without asking.
pub const MAX_MAY_CALL: usize = 32;
/// The most paired senders that are looked for in a group.
pub const MAX_MEMBERS: usize = 64;
/// The most persons.
pub const MAX_PERSONS: usize = 32;
/// The most other names of a person.
pub const MAX_ALSO: usize = 8;
/// The longest instruction of a hook or a timer, in bytes.
pub const MAX_SAYS: usize = 2_048;
/// The most hooks and timers together.
pub const MAX_AUTOMATIONS: usize = 32;
/// How long a broken seal stays open, in milliseconds.
pub const SEAL_BROKEN_MS: u64 = 60 * 60 * 1_000;
/// The longest reason for breaking a seal, in bytes.
pub const MAX_REASON: usize = 200;
/// The most lines of a page.
pub const MAX_PAGE: u32 = 100;
/// The longest words that are looked for in what is remembered, in bytes.
pub const MAX_LOOKED_FOR: usize = 200;

/// Whether a hook or a timer may be called so.
#[must_use]
pub fn is_name(name: &str) -> bool {
    let fits = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
    !name.is_empty() && name.len() <= MAX_NAME && name.bytes().all(fits)
}

words! {
    /// An unknown sender has written. His text is passed on only where it has the form of a pairing code.
    pub struct Pair {
        /// The channel he came by.
        pub channel: Channel,
        /// As the channel names him.
        pub sender: String,
        /// The code that he has shown; empty when he has shown none.
        pub code: String,
    }

    /// What the door may answer him, and nothing else.
    pub enum Paired {
        /// A code of his own, which the owner can approve for so many seconds.
        Code(StrangersCode),
        /// His invitation was valid: he is paired from now on.
        Known,
        /// No answer: he got a code a moment ago, or tried too often.
        Silence,
    }

    /// Which senders of a channel may be members of a group there?
    pub struct WhoseMembers {
        /// The channel.
        pub channel: Channel,
    }

    /// The senders of a channel that are paired, without its groups.
    pub struct KnownSenders {
        /// As the channel names them; [`MAX_MEMBERS`] at most.
        pub senders: Vec<String>,
    }

    /// Who is in a group, as the channel says. The group is answered with who it is now: no more than its least trusted member.
    pub struct GroupMembers {
        /// The channel.
        pub channel: Channel,
        /// The group, as the channel names it.
        pub group: String,
        /// The paired senders among its members; [`MAX_MEMBERS`] at most.
        pub members: Vec<String>,
        /// Whether these are all, beside Metnos itself.
        pub are_all: bool,
    }

    /// Note to the door: a person is a stranger again from now on, so nothing more is shown to him.
    pub struct Revoked {
        /// `channel:sender`.
        pub principal: String,
    }

    /// See [`Paired::Code`].
    pub struct StrangersCode {
        /// As `K7-DELTA-19`.
        pub code: String,
        /// How long it can be approved, in seconds.
        pub seconds: u32,
    }

    /// The owner manages who is paired. The answer is a document.
    pub enum PairingAsk {
        /// List paired principals, waiting strangers and open invitations.
        List,
        /// Approve the stranger who has this code.
        Approve(ApprovePairing),
        /// Create an invitation code: its first bearer on that channel is paired.
        Invite(Invite),
        /// Revoke a principal, `channel:sender`: he is a stranger again at once.
        Revoke(String),
        /// Set the language in which a principal is answered, whatever his channel says.
        Speaks(Speaks),
    }

    /// See [`PairingAsk::Speaks`].
    pub struct Speaks {
        /// `channel:sender`, or `owner`.
        pub principal: String,
        /// The language.
        pub lang: Lang,
    }

    /// See [`PairingAsk::Approve`].
    pub struct ApprovePairing {
        /// The channel on which the code was given out.
        pub channel: Channel,
        /// The code.
        pub code: String,
        /// What he becomes without a person; never a stranger.
        pub standing: Standing,
        /// The person who he is; empty when nobody says so. The role of that person counts then.
        pub person: String,
    }

    /// See [`PairingAsk::Invite`].
    pub struct Invite {
        /// The channel on which the code counts.
        pub channel: Channel,
        /// What its bearer becomes without a person; never a stranger.
        pub standing: Standing,
        /// As in [`ApprovePairing::person`].
        pub person: String,
    }

    /// The owner manages persons. The answer is a document.
    pub enum PersonsAsk {
        /// List them.
        List,
        /// Show the one of this name.
        Show(String),
        /// Add one.
        Add(AddPerson),
        /// Change what one is, and what else the one is called.
        Change(ChangePerson),
        /// Whoever speaks as this principal, who is paired, is this person from now on.
        Join(JoinPerson),
        /// Remove the one of this name: nobody who has spoken as this person is heard any more.
        Remove(String),
    }

    /// See [`PersonsAsk::Add`].
    pub struct AddPerson {
        /// What everybody calls this person: at most [`MAX_PERSON`] characters.
        pub name: String,
        /// What this person is.
        pub role: Role,
        /// What else the others say; at most [`MAX_ALSO`].
        pub also: Vec<String>,
    }

    /// See [`PersonsAsk::Change`].
    pub struct ChangePerson {
        /// Who, by name.
        pub name: String,
        /// When this person is not disturbed by what others send: none for as before, an inner none for never.
        pub quiet: Option<Option<Quiet>>,
        /// Where this person is told things first ([`Member::channel`]): none for as before, an inner none for no choice.
        pub channel: Option<Option<Channel>>,
        /// What this person is from now on; none for as before.
        pub role: Option<Role>,
        /// What else the others say from now on; none for as before.
        pub also: Option<Vec<String>>,
        /// The executors that this person, a child, calls without asking from now on; none for as before. At most
        /// [`MAX_MAY_CALL`].
        pub may_call: Option<Vec<String>>,
    }

    /// See [`PersonsAsk::Join`].
    pub struct JoinPerson {
        /// Who, by name.
        pub person: String,
        /// `channel:sender`.
        pub principal: String,
    }

    /// policyd to memoryd: who is who, all of them. What was said before counts no longer.
    pub struct Household {
        /// The persons; at most [`MAX_PERSONS`].
        pub people: Vec<Member>,
        /// Every principal of the owner, at the terminal and elsewhere.
        pub owner: Vec<String>,
        /// Whose records the owner may read for a while.
        pub unsealed: Vec<Unsealed>,
        /// Which kinds of accounts the owner has as long as the owner is no person: `mail`, `calendar`.
        pub accounts: Vec<String>,
    }

    /// See [`Household::unsealed`].
    pub struct Unsealed {
        /// `channel:sender`.
        pub principal: String,
        /// Until when, in milliseconds since the epoch.
        pub until_ms: u64,
    }

    /// The owner's rite about what is kept of other persons. The answer is the list of broken seals.
    pub enum SealAsk {
        /// List them.
        List,
        /// Break one for [`SEAL_BROKEN_MS`]. The person is told on each of the own channels.
        Break(BreakSeal),
        /// Close one before its time.
        Close(String),
    }

    /// See [`SealAsk::Break`].
    pub struct BreakSeal {
        /// Whose: a person's name, or a paired `channel:sender` that belongs to no person.
        pub who: String,
        /// Why, in words that the person is told. At most [`MAX_REASON`] bytes.
        pub why: String,
    }

    /// See [`Household`].
    pub struct Member {
        /// What everybody calls this person.
        pub name: String,
        /// When this person is not disturbed by what others send.
        pub quiet: Option<Quiet>,
        /// Where this person wants to be told things: in the Telegram chat at once, or at the terminal or on the page and
        /// never in the chat. Without a choice, where something was planned, and in the chat when it is not taken there.
        pub channel: Option<Channel>,
        /// What this person is.
        pub role: Role,
        /// What else the others say.
        pub also: Vec<String>,
        /// Where this person speaks, each as `channel:sender`.
        pub principals: Vec<String>,
        /// Which kinds of accounts this person has: `mail`, `calendar`.
        pub accounts: Vec<String>,
    }

    /// The owner manages webhooks and timers. The answer is a document.
    pub enum AutomationAsk {
        /// List them.
        List,
        /// Add one. It is a principal of its own from now on, and reads only.
        Add(Automation),
        /// Remove one at once: `hook:NAME` or `timer:NAME`.
        Remove(String),
    }

    /// See [`AutomationAsk::Add`].
    pub struct Automation {
        /// What fires it: a hook or a timer.
        pub channel: Channel,
        /// Its name: at most [`MAX_NAME`] small letters, digits and hyphens.
        pub name: String,
        /// What is to be done then, in the owner's words. At most [`MAX_SAYS`] bytes.
        pub says: String,
    }

    /// The door: a webhook came whose signature was good, or a timer fired. What was set up for it comes beside the answer.
    pub struct Fire {
        /// A hook or a timer.
        pub channel: Channel,
        /// Its name.
        pub sender: String,
        /// Whether something from outside came with it.
        pub has_data: bool,
    }

    /// A turn is open on the owner's words.
    pub struct Fired {
        /// The turn.
        pub turn: TurnId,
        /// Its trace.
        pub trace: TraceId,
        /// `channel:name`.
        pub principal: String,
        /// The language it is spoken to in.
        pub lang: Lang,
    }

    /// A page of what a person may see of the instance, on his channel. Documents come beside the answer, one a line.
    pub struct ViewRequest {
        /// As in [`crate::msg::policyd::Identify`].
        pub channel: Channel,
        /// As in [`crate::msg::policyd::Identify`].
        pub sender: String,
        /// At what.
        pub at: ViewSubject,
        /// Where the page begins: 0, or what the page before said.
        pub from: u64,
        /// How many at most; capped at [`MAX_PAGE`].
        pub lines: u32,
        /// Of what is remembered only that in which these words stand; empty for all. At most [`MAX_LOOKED_FOR`] bytes.
        pub words: String,
    }

    /// See [`ViewRequest`].
    pub enum ViewSubject {
        /// The executors: all of them for the owner, else only active ones.
        Executors,
        /// The mnests; the owner's only.
        Mnests,
        /// What happened, newest first: all of it for the owner, else only one's own. Never what was said or done in it.
        Audit,
        /// What is planned for oneself.
        Schedules,
        /// What oneself has said and was answered on this channel, newest first.
        Exchanges,
        /// What the same person has said and was answered on any channel, newest first.
        Remembered,
    }

    /// The owner shows or sets levels of autonomy. The answer is a document.
    pub enum AutonomyAsk {
        /// Every principal with a level of its own.
        Show,
        /// From now on.
        Set(SetLevel),
    }

    /// See [`AutonomyAsk::Set`].
    pub struct SetLevel {
        /// `channel:sender`, or `owner`.
        pub principal: String,
        /// The level.
        pub level: Level,
        /// For so many seconds, after which the level is what it was; 0 for good.
        pub seconds: u32,
    }
}

impl Household {
    /// The person who speaks as this principal.
    #[must_use]
    pub fn member(&self, principal: &str) -> Option<&Member> {
        self.people.iter().find(|member| member.principals.iter().any(|own| own == principal))
    }

    /// The others whom this principal may name in a message or a reminder; none for a guest or an unknown principal. An owner
    /// without a name may name all of them: policyd passes nothing on in no name, and says how to get one.
    #[must_use]
    pub fn others(&self, principal: &str) -> Vec<PersonNamed> {
        let own = match self.member(principal) {
            Some(own) if own.role != Role::Guest => own.name.as_str(),
            None if self.owner.iter().any(|own| own == principal) => "",
            Some(_) | None => return Vec::new(),
        };
        let others = self.people.iter().filter(|member| member.name != own);
        others.map(|member| PersonNamed { name: member.name.clone(), also: member.also.clone() }).collect()
    }
}
