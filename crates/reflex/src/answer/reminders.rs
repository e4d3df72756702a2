//! What is said about reminders, in English and Italian: what was planned, what is planned, and what is missing.

use metnos_calendar::Zone;
use metnos_proto::doc::schedule::{ScheduleList, ScheduleState, ScheduleView};
use metnos_proto::msg::common::{Channel, Lang};
use metnos_proto::msg::schedule::{Order, SOON_S, ScheduleAct, ScheduleKind};
use metnos_texts::{Key, say, tell};

use crate::answer::visible;
use crate::words::when;

/// It was not said of what somebody is to be reminded.
#[must_use]
pub fn of_what(lang: Lang) -> String {
    say(lang, Key::ReminderOfWhat) + "\n"
}

/// It was not said, or not understood, when somebody is to be reminded: the person who asks, or the one of this name.
#[must_use]
pub fn when(lang: Lang, what: &str, to: &str) -> String {
    tell(lang, Key::ReminderWhen, &[("what", (&visible(what)).into()), ("who", whom(to).into())]) + "\n"
}

/// A person as the texts have it.
fn whom(to: &str) -> &str {
    if to.is_empty() { "none" } else { to }
}

/// Nobody is called so; these are.
#[must_use]
pub fn nobody(lang: Lang, called: &str, known: &[&str]) -> String {
    let (called, known) = (visible(called), known.join(", "));
    let values = [("name", (&called).into()), ("names", (&known).into())];
    tell(lang, Key::PersonUnknown, &values) + "\n"
}

/// A time of day may be one of two.
#[must_use]
pub fn which(lang: Lang, one: &str, other: &str) -> String {
    tell(lang, Key::ReminderWhich, &[("one", one.into()), ("other", other.into())]) + "\n"
}

/// What became of an order: `schedules` are those that it was about. With the household's zone, and the moment in seconds since 1970.
#[must_use]
pub fn told(lang: Lang, order: &Order, schedules: &ScheduleList, (zone, now_s): (&str, i64)) -> String {
    let ScheduleList(all) = schedules;
    let text = match order {
        Order::Remind(_) => all.iter().map(|one| made(lang, one, zone)).collect::<Vec<_>>().join("\n"),
        Order::Tell(_) => sent(lang, all, zone),
        Order::Ask(_) => all.iter().map(|one| made(lang, one, zone)).collect::<Vec<_>>().join("\n"),
        Order::List(when) => listed(lang, when, all),
        Order::Find(called) => found(lang, called, all, now_s),
        Order::Quiet(Some(quiet)) => {
            let (from, upto) =
                quiet.to_string().split_once('-').map(|(a, b)| (a.to_owned(), b.to_owned())).unwrap_or_default();
            tell(lang, Key::QuietSet, &[("from", (&from).into()), ("upto", (&upto).into())])
        }
        Order::Quiet(None) => say(lang, Key::QuietNone),
        Order::Change(change) => all.iter().map(|one| changed(lang, &change.act, one)).collect::<Vec<_>>().join("\n"),
    };
    text + "\n"
}

fn made(lang: Lang, one: &ScheduleView, zone: &str) -> String {
    let place = zone.split(" (").next().unwrap_or_default();
    let place = if place.is_empty() { "UTC" } else { place };
    let who = whom(&one.person).to_owned();
    let values = [("what", visible(&one.what)), ("when", one.told.clone()), ("zone", place.to_owned()), ("who", who)];
    let values: Vec<_> = values.iter().map(|(name, value)| (*name, value.into())).collect();
    let (key, of) = match one.kind {
        ScheduleKind::Ask => (Key::AskMade, &values[..3]),
        ScheduleKind::Do => (Key::DoMade, &values[..3]),
        ScheduleKind::Reminder | ScheduleKind::Message => (Key::ReminderMade, &values[..]),
    };
    // Said once more, it stays one; there is nothing to take back then.
    let mut lines =
        vec![if one.already { tell(lang, Key::ReminderAlready, &values[..3]) } else { tell(lang, key, of) }];
    if one.next.len() > 1 {
        let home = Zone::read(zone).unwrap_or_default();
        let next: Vec<String> = one.next.iter().filter_map(|at| when::moment(at, &home, lang)).collect();
        lines.push(tell(lang, Key::ReminderNext, &[("times", (&next.join("; ")).into())]));
    }
    lines.extend(where_reached(lang, one));
    lines.extend(held(lang, one, &Zone::read(zone).unwrap_or_default()));
    lines.join(" ")
}

/// That the one who gets it is not disturbed before a time.
fn held(lang: Lang, one: &ScheduleView, house: &Zone) -> Option<String> {
    let until = when::time_of(&one.held, house)?;
    Some(tell(lang, Key::MessageHeld, &[("who", (&one.person).into()), ("until", (&until).into())]))
}

/// Where the person is reached, where that is not in the chat in which it was asked for.
fn where_reached(lang: Lang, one: &ScheduleView) -> Option<String> {
    let channel = |name: &str| name.split(':').next().and_then(Channel::named);
    let in_chat = channel(&one.to) == Some(Channel::Telegram);
    if one.in_chat && !in_chat {
        return one.person.is_empty().then(|| say(lang, Key::ReminderElsewhere));
    }
    match (in_chat, one.person.is_empty()) {
        (true, true) if one.to == one.principal => None,
        (true, true) => Some(say(lang, Key::ReminderInChat)),
        (true, false) => None,
        (false, true) => Some(say(lang, Key::ReminderHere)),
        (false, false) => Some(tell(lang, Key::ReminderThere, &[("who", (&one.person).into())])),
    }
}

/// What was passed on to others.
fn sent(lang: Lang, all: &[ScheduleView], zone: &str) -> String {
    let Some(first) = all.first() else { return say(lang, Key::MessageNobody) };
    let names: Vec<&str> = all.iter().map(|one| one.person.as_str()).collect();
    let (what, names) = (visible(&first.what), names.join(", "));
    let values = [("what", (&what).into()), ("who", (&names).into())];
    let mut lines = vec![tell(lang, Key::MessageSent, &values)];
    lines.extend(all.iter().filter_map(|one| where_reached(lang, one)));
    let house = Zone::read(zone).unwrap_or_default();
    lines.extend(all.iter().filter_map(|one| held(lang, one, &house)));
    lines.join(" ")
}

/// What is planned, at the time that was asked for where one was.
fn listed(lang: Lang, when: &str, all: &[ScheduleView]) -> String {
    match (all.is_empty(), when) {
        (true, "") => return say(lang, Key::ReminderNone),
        (true, when) => {
            let when = sentence_begin(&visible(when));
            return tell(lang, Key::ReminderNoneThen, &[("when", (&when).into())]);
        }
        (false, _) => {}
    }
    let line = |(at, one): (usize, &ScheduleView)| {
        let state = if one.state == ScheduleState::Paused { "paused" } else { "active" };
        let (what, number) = (planned(lang, one), u64::try_from(at + 1).unwrap_or(u64::MAX));
        let values = [
            ("when", (&one.told).into()),
            ("what", (&what).into()),
            ("state", state.into()),
            ("who", whom(&one.person).into()),
        ];
        tell(lang, Key::ReminderLine, &[&values[..], &[("number", number.into())]].concat())
    };
    let mut lines: Vec<String> = all.iter().enumerate().map(line).collect();
    lines.extend((!when.is_empty()).then(|| say(lang, Key::ReminderOnly)));
    lines.join("\n")
}

/// What is planned, said behind what stands in the calendar at the same time.
#[must_use]
pub fn beside_calendar(lang: Lang, ScheduleList(all): &ScheduleList) -> String {
    if all.is_empty() {
        return say(lang, Key::ReminderNoneBeside) + "\n";
    }
    format!("{}\n{}\n", say(lang, Key::ReminderBeside), listed(lang, "", all))
}

/// What was looked for by its words, and how long it is until then.
fn found(lang: Lang, called: &str, all: &[ScheduleView], now_s: i64) -> String {
    if all.is_empty() {
        return match called {
            "" => say(lang, Key::TimerNone),
            called => tell(lang, Key::ReminderNotFound, &[("called", (&visible(called)).into())]),
        };
    }
    let line = |one: &ScheduleView| {
        let next = one.next.first().and_then(|at| metnos_calendar::instant::instant(at)).map(|(at, _)| at);
        let left = next.and_then(|at| left(lang, at.saturating_sub(now_s)));
        let (what, left) = (sentence_begin(&planned(lang, one)), left.unwrap_or_else(|| "none".to_owned()));
        tell(
            lang,
            Key::ReminderFound,
            &[("what", (&what).into()), ("when", (&one.told).into()), ("left", (&left).into())],
        )
    };
    all.iter().map(line).collect::<Vec<_>>().join("\n")
}

/// How long so many seconds are, where that is no more than a day.
fn left(lang: Lang, seconds: i64) -> Option<String> {
    let minutes = u64::try_from(seconds).ok().filter(|seconds| *seconds <= SOON_S)?.div_ceil(60);
    Some(tell(lang, Key::Left, &[("hours", (minutes / 60).into()), ("minutes", (minutes % 60).into())]))
}

/// What is planned, as a line names it.
fn planned(lang: Lang, one: &ScheduleView) -> String {
    let what = visible(&one.what);
    match one.kind {
        ScheduleKind::Ask => tell(lang, Key::AskNamed, &[("what", (&what).into())]),
        ScheduleKind::Do => tell(lang, Key::DoNamed, &[("what", (&what).into())]),
        ScheduleKind::Reminder | ScheduleKind::Message => what,
    }
}

/// The same with a capital at its beginning.
pub(super) fn sentence_begin(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map(|first| first.to_uppercase().collect::<String>() + chars.as_str()).unwrap_or_default()
}

fn changed(lang: Lang, act: &ScheduleAct, one: &ScheduleView) -> String {
    let what = visible(&one.what);
    let values = [
        ("act", act.name().into()),
        ("what", (&what).into()),
        ("when", (&one.told).into()),
        ("who", whom(&one.person).into()),
    ];
    match one.kind {
        ScheduleKind::Ask => tell(lang, Key::AskChanged, &values[..3]),
        ScheduleKind::Do => tell(lang, Key::DoChanged, &values[..3]),
        ScheduleKind::Reminder | ScheduleKind::Message => tell(lang, Key::ReminderChanged, &values),
    }
}
