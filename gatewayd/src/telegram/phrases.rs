//! What the bot itself says, in both languages (design: interfaces §8). It must never say anything of a stranger's.

use metnos_proto::msg::common::Lang;
use metnos_proto::msg::policyd::{Notice, NoticeKind};
use metnos_texts::{Key, say, tell};

/// The commands, with what each does.
#[must_use]
pub fn commands(lang: Lang) -> [(&'static str, String); 6] {
    [
        ("help", Key::CommandHelp),
        ("status", Key::CommandStatus),
        ("undo", Key::CommandUndo),
        ("approvals", Key::CommandApprovals),
        ("file", Key::CommandFile),
        ("pause", Key::CommandPause),
    ]
    .map(|(name, key)| (name, say(lang, key)))
}

/// The buttons of a card: yes, yes for the turn, no.
#[must_use]
pub fn buttons(lang: Lang) -> [String; 3] {
    [Key::CardYes, Key::CardYesTurn, Key::CardNo].map(|key| say(lang, key))
}

/// The buttons of an offer: yes, no.
#[must_use]
pub fn offer_buttons(lang: Lang) -> [String; 2] {
    [Key::OfferYes, Key::OfferNo].map(|key| say(lang, key))
}

/// The line of a stranger: his code, and what the owner does with it.
#[must_use]
pub fn stranger(lang: Lang, code: &str, seconds: u32) -> String {
    let minutes = u64::from(seconds.div_ceil(60));
    tell(lang, Key::ChatStranger, &[("minutes", minutes.into()), ("code", code.into())])
}

/// Everything was stopped.
#[must_use]
pub fn stopped(lang: Lang, killed: u32) -> String {
    tell(lang, Key::ChatStopped, &[("killed", u64::from(killed).into())])
}

/// What the owner must know of an executor.
#[must_use]
pub fn notice(lang: Lang, notice: &Notice) -> String {
    let key = match notice.kind {
        NoticeKind::SetAside => Key::OwnerSetAside,
        NoticeKind::Alarm => Key::OwnerAlarm,
    };
    let executor = notice.id.to_string();
    let why = notice.why.trim_end_matches('.').to_owned();
    tell(lang, key, &[("executor", (&executor).into()), ("name", (&notice.id.name).into()), ("why", (&why).into())])
}

/// How Metnos is.
#[must_use]
pub fn status(lang: Lang, turns: u32, waiting: usize, models: Option<&str>) -> String {
    let waiting = u64::try_from(waiting).unwrap_or(u64::MAX);
    let first = tell(lang, Key::ChatStatus, &[("turns", u64::from(turns).into()), ("waiting", waiting.into())]);
    models.map_or_else(|| first.clone(), |models| format!("{first}\n{models}"))
}

/// Above the commands.
#[must_use]
pub fn help(lang: Lang) -> String {
    say(lang, Key::ChatHelp)
}

/// A press that counts for nothing.
#[must_use]
pub fn stale(lang: Lang) -> String {
    say(lang, Key::CardStale)
}

/// A press that was heard.
#[must_use]
pub fn noted(lang: Lang) -> String {
    say(lang, Key::CardHeard)
}

/// No card waits.
#[must_use]
pub fn nothing_waits(lang: Lang) -> String {
    say(lang, Key::CardNone)
}

/// A code was good.
#[must_use]
pub fn known(lang: Lang) -> String {
    say(lang, Key::ChatKnown)
}

/// The line of a group that is not known: its code, and what the owner does with it.
#[must_use]
pub fn unknown_group(lang: Lang, code: &str, seconds: u32) -> String {
    let minutes = u64::from(seconds.div_ceil(60));
    tell(lang, Key::ChatUnknownGroup, &[("minutes", minutes.into()), ("code", code.into())])
}

/// Below a card in a group.
#[must_use]
pub fn group_card(lang: Lang) -> String {
    say(lang, Key::ChatGroupCard)
}

/// What is not done in a group.
#[must_use]
pub fn private_only(lang: Lang) -> String {
    say(lang, Key::ChatPrivateOnly)
}

/// Text that someone else wrote.
#[must_use]
pub fn passed_on(lang: Lang) -> String {
    say(lang, Key::ChatPassedOn)
}

/// Something attached.
#[must_use]
pub fn no_files(lang: Lang) -> String {
    say(lang, Key::ChatNoFiles)
}

/// More messages than are kept.
#[must_use]
pub fn too_many(lang: Lang) -> String {
    say(lang, Key::ChatTooMany)
}

/// A turn that broke off with the door.
#[must_use]
pub fn interrupted(lang: Lang) -> String {
    say(lang, Key::ChatInterrupted)
}

/// An answer silently.
#[must_use]
pub fn done_silently(lang: Lang) -> String {
    say(lang, Key::ChatNothingSaid)
}

/// Above a document that holds an answer.
#[must_use]
pub fn as_a_file(lang: Lang) -> String {
    say(lang, Key::ChatAsAFile)
}

/// A turn is under way, and nothing was said yet.
#[must_use]
pub fn working(lang: Lang) -> String {
    say(lang, Key::ChatWorking)
}

/// A guest's own turns were stopped.
#[must_use]
pub fn own_stopped(lang: Lang) -> String {
    say(lang, Key::ChatOwnStopped)
}
