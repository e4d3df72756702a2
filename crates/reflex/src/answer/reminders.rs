//! What is said about reminders, in English and Italian: what was planned, what is planned, and what is missing.

use metnos_calendar::Zone;
use metnos_proto::doc::schedule::{ScheduleList, ScheduleState, ScheduleView};
use metnos_proto::msg::common::{Channel, Lang};
use metnos_proto::msg::schedule::{Order, ScheduleAct};
use metnos_texts::{Key, say, tell};

use crate::answer::visible;
use crate::words::when;

/// It was not said of what somebody is to be reminded.
#[must_use]
pub fn of_what(lang: Lang) -> String {
    say(lang, Key::ReminderOfWhat) + "\n"
}

/// It was not said, or not understood, when somebody is to be reminded.
#[must_use]
pub fn when(lang: Lang, what: &str) -> String {
    tell(lang, Key::ReminderWhen, &[("what", (&visible(what)).into())]) + "\n"
}

/// A time of day may be one of two.
#[must_use]
pub fn which(lang: Lang, one: &str, other: &str) -> String {
    tell(lang, Key::ReminderWhich, &[("one", one.into()), ("other", other.into())]) + "\n"
}

/// What became of an order: `schedules` are those that it was about. `zone` is the household's.
#[must_use]
pub fn told(lang: Lang, order: &Order, schedules: &ScheduleList, zone: &str) -> String {
    let ScheduleList(all) = schedules;
    let text = match order {
        Order::Remind(_) => all.iter().map(|one| made(lang, one, zone)).collect::<Vec<_>>().join("\n"),
        Order::List => listed(lang, all),
        Order::Change(change) => all.iter().map(|one| changed(lang, &change.act, one)).collect::<Vec<_>>().join("\n"),
    };
    text + "\n"
}

fn made(lang: Lang, one: &ScheduleView, zone: &str) -> String {
    let place = zone.split(" (").next().unwrap_or_default();
    let place = if place.is_empty() { "UTC" } else { place };
    let values = [("what", visible(&one.what)), ("when", one.told.clone()), ("zone", place.to_owned())];
    let values: Vec<_> = values.iter().map(|(name, value)| (*name, value.into())).collect();
    let mut lines = vec![tell(lang, Key::ReminderMade, &values)];
    if one.next.len() > 1 {
        let home = Zone::read(zone).unwrap_or_default();
        let next: Vec<String> = one.next.iter().filter_map(|at| when::moment(at, &home, lang)).collect();
        lines.push(tell(lang, Key::ReminderNext, &[("times", (&next.join("; ")).into())]));
    }
    let channel = |name: &str| name.split(':').next().and_then(Channel::named);
    if channel(&one.to) != Some(Channel::Telegram) {
        lines.push(say(lang, Key::ReminderHere));
    }
    lines.join(" ")
}

fn listed(lang: Lang, all: &[ScheduleView]) -> String {
    if all.is_empty() {
        return say(lang, Key::ReminderNone);
    }
    let line = |(at, one): (usize, &ScheduleView)| {
        let state = if one.state == ScheduleState::Paused { "paused" } else { "active" };
        let (what, number) = (visible(&one.what), u64::try_from(at + 1).unwrap_or(u64::MAX));
        let values = [("when", (&one.told).into()), ("what", (&what).into()), ("state", state.into())];
        tell(lang, Key::ReminderLine, &[&values[..], &[("number", number.into())]].concat())
    };
    all.iter().enumerate().map(line).collect::<Vec<_>>().join("\n")
}

fn changed(lang: Lang, act: &ScheduleAct, one: &ScheduleView) -> String {
    let what = visible(&one.what);
    let values = [("act", act.name().into()), ("what", (&what).into()), ("when", (&one.told).into())];
    tell(lang, Key::ReminderChanged, &values)
}
