//! What a person asks day after day at about the same hour, and the words that would have it answered unasked. Pure: nothing is
//! planned here. The planner looks whether there is a habit to ask policyd about; policyd looks again, at times that it has from
//! memoryd, and makes the offer.

use std::collections::BTreeSet;

use metnos_calendar::zone::Zone;
use metnos_proto::envelope::Envelope;
use metnos_proto::msg::common::Lang;
use metnos_when::Zoned;

use super::now_of;

/// On how many days something must have been asked, the last of them today.
pub const DAYS: usize = 5;
/// Within how many days.
const WITHIN_DAYS: i64 = 30;
/// How far from each other the hours may be, in minutes.
const NEAR: i64 = 30;
/// A time is offered in whole steps of so many minutes.
const STEP: i64 = 5;
const DAY: i64 = 24 * 60;
const WEEKDAYS: [(&str, &str); 7] = [
    ("Monday", "lunedì"),
    ("Tuesday", "martedì"),
    ("Wednesday", "mercoledì"),
    ("Thursday", "giovedì"),
    ("Friday", "venerdì"),
    ("Saturday", "sabato"),
    ("Sunday", "domenica"),
];

/// A habit that shows today for the first time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Habit {
    /// What is asked, as it stands in the middle of a sentence: "what is on the shopping list".
    pub what: String,
    /// When it would be answered, in words of the same language: "every day at 7:30".
    pub when: String,
    /// The time of day, as a clock shows it.
    pub time: String,
}

impl Habit {
    /// The words that would have it answered unasked: "every day at 7:30 what is on the shopping list".
    #[must_use]
    pub fn words(&self) -> String {
        format!("{} {}", self.when, self.what)
    }
}

fn minute(at: &Zoned) -> i64 {
    i64::from(at.hour()) * 60 + i64::from(at.minute())
}

/// How far one minute of a day is behind another, the short way round.
const fn behind(one: i64, other: i64) -> i64 {
    (one - other + DAY / 2).rem_euclid(DAY) - DAY / 2
}

/// The habit that these words show, which were said before at the times of the envelope: on the fifth day at about this hour, and
/// neither before nor after.
#[must_use]
pub fn of(text: &str, lang: Lang, envelope: &Envelope) -> Option<Habit> {
    let now = now_of(envelope)?;
    let zone = Zone::read(&envelope.home.zone).unwrap_or_default();
    let all = envelope.same.iter().filter_map(|at| zone.at(*at));
    let here: Vec<Zoned> = all.filter(|at| *at < now && behind(minute(at), minute(&now)).abs() <= NEAR).collect();
    let days: BTreeSet<_> = here.iter().map(Zoned::date).collect();
    let is_recent = days
        .first()
        .is_some_and(|first| first.until(now.date()).is_ok_and(|ago| i64::from(ago.get_days()) <= WITHIN_DAYS));
    if days.len() + 1 != DAYS || days.contains(&now.date()) || !is_recent {
        return None;
    }
    let mut distances: Vec<i64> = here.iter().map(|at| behind(minute(at), minute(&now))).collect();
    distances.push(0);
    distances.sort_unstable();
    let median = distances.get(distances.len() / 2)?;
    let at = ((minute(&now) + median + STEP / 2) / STEP * STEP).rem_euclid(DAY);
    let time = format!("{}:{:02}", at / 60, at % 60);
    let weekdays: BTreeSet<usize> = days
        .iter()
        .chain([&now.date()])
        .filter_map(|day| usize::try_from(day.weekday().to_monday_zero_offset()).ok())
        .collect();
    let only = weekdays.first().filter(|_| weekdays.len() == 1).and_then(|day| WEEKDAYS.get(*day));
    let no_weekend = weekdays.iter().all(|day| *day < 5) && weekdays.len() == DAYS;
    let when = match (lang, only) {
        (Lang::En, Some((day, _))) => format!("every {day} at {time}"),
        (Lang::It, Some((_, day))) => format!("ogni {day} alle {time}"),
        (Lang::En, None) if no_weekend => format!("every weekday at {time}"),
        (Lang::En, None) => format!("every day at {time}"),
        // "Ogni giorno feriale" is said by nobody.
        (Lang::It, None) => format!("ogni giorno alle {time}"),
    };
    Some(Habit { what: bare(text), when, time })
}

/// Words as they stand in the middle of a sentence.
fn bare(text: &str) -> String {
    let text = text.trim().trim_end_matches(['?', '!', '.', ' ']);
    let mut chars = text.chars();
    match (chars.next(), chars.clone().next()) {
        (Some(first), Some(second)) if first.is_uppercase() && second.is_lowercase() => {
            first.to_lowercase().chain(chars).collect()
        }
        (Some(_) | None, _) => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    const ROME: &str = "Europe/Rome (CET-1CEST,M3.5.0,M10.5.0/3)";

    /// An envelope at a time in Rome, with what was said before at others.
    fn envelope(now: &str, before: &[&str]) -> Envelope {
        let zone = Zone::read(ROME).unwrap();
        let at = |text: &str| zone.civil(text).unwrap().timestamp().as_second();
        let mut envelope = Envelope::empty(Vec::new(), Lang::En);
        envelope.home.zone = ROME.into();
        envelope.home.now = at(now);
        envelope.same = before.iter().map(|one| at(one)).collect();
        envelope
    }

    fn words(now: &str, before: &[&str]) -> Option<String> {
        of("What's on the shopping list?", Lang::En, &envelope(now, before)).map(|habit| habit.words())
    }

    #[test]
    fn a_habit_shows_on_the_fifth_day_at_its_hour_and_only_then() {
        let days = ["2026-11-18T07:31", "2026-11-20T07:40", "2026-11-21T07:20", "2026-11-22T07:33", "2026-11-24T07:35"];
        let offered = Some("every day at 7:35 what's on the shopping list".to_owned());
        assert_eq!(words("2026-11-25T07:36", &days[..4]), offered);
        assert_eq!(words("2026-11-25T07:36", &days[..3]), None, "four days are none");
        assert_eq!(words("2026-11-25T07:36", &days), None, "it was offered yesterday");
        let again = [&days[..4], &["2026-11-25T07:10"]].concat();
        assert_eq!(words("2026-11-25T07:36", &again), None, "it was offered half an hour ago");
        assert_eq!(words("2026-11-25T12:00", &days[..4]), None, "another hour");
        let more = [&days[..4], &["2026-11-19T18:00", "2026-11-25T02:00"]].concat();
        assert_eq!(words("2026-11-25T07:36", &more), offered, "what was asked at other hours changes nothing");
        assert_eq!(words("2027-01-25T07:36", &days[..4]), None, "not within a month");
        assert_eq!(words("2026-11-25T07:36", &[]), None);
    }

    #[test]
    fn a_habit_is_of_every_day_of_working_days_or_of_one_day() {
        let mondays = ["2026-11-02T20:00", "2026-11-09T20:10", "2026-11-16T19:50", "2026-11-23T20:00"];
        assert_eq!(words("2026-11-30T20:05", &mondays).unwrap(), "every Monday at 20:00 what's on the shopping list");
        let work = ["2026-11-23T08:00", "2026-11-24T08:00", "2026-11-25T08:00", "2026-11-26T08:00"];
        assert_eq!(words("2026-11-27T08:00", &work).unwrap(), "every weekday at 8:00 what's on the shopping list");
        let italian = of("Che c'è in lista?", Lang::It, &envelope("2026-11-27T08:00", &work)).unwrap();
        assert_eq!(
            (italian.words().as_str(), italian.time.as_str()),
            ("ogni giorno alle 8:00 che c'è in lista", "8:00")
        );
    }

    #[test]
    fn midnight_and_the_change_of_the_clocks_part_no_habit() {
        let nights = ["2026-11-20T23:50", "2026-11-22T00:05", "2026-11-23T23:55", "2026-11-25T00:10"];
        assert_eq!(words("2026-11-27T00:02", &nights).unwrap(), "every day at 0:00 what's on the shopping list");
        let october = ["2026-10-22T07:30", "2026-10-23T07:30", "2026-10-24T07:30", "2026-10-25T07:30"];
        assert_eq!(words("2026-10-26T07:30", &october).unwrap(), "every day at 7:30 what's on the shopping list");
    }

    #[test]
    fn what_is_offered_is_understood_and_asks_for_the_same() {
        use crate::testing::shipped;
        use crate::{Repertoire, Reply};
        use metnos_proto::envelope::Named;
        use metnos_proto::msg::schedule::Order;
        let days = ["2026-11-20T07:30", "2026-11-21T07:30", "2026-11-22T07:30", "2026-11-24T07:30"];
        let mut seen = Repertoire::default();
        for (text, offered) in [
            ("What's on the shopping list?", Some("every day at 7:30 what's on the shopping list")),
            ("che c'è da comprare?", Some("ogni giorno alle 7:30 che c'è da comprare")),
            ("what is planned?", Some("every day at 7:30 what is planned")),
            ("good morning", None),
            ("yes please", None),
            ("undo that", None),
            ("remind me tomorrow at 9 to call the dentist", None),
            ("lovely weather we have", None),
        ] {
            let named = vec![Named::file("notes/shopping.md")];
            let envelope = Envelope { candidates: shipped(), named, ..envelope("2026-11-25T07:30", &days) };
            let offer = seen.habit(text, &envelope);
            match offered {
                None => assert_eq!(offer, None, "{text}"),
                Some(words) => {
                    assert_eq!(offer.map(|offer| offer.words()).as_deref(), Some(words), "{text}");
                    let Reply::Schedule(Order::Ask(ask), _) = seen.plan(words, &envelope) else { panic!("{words}") };
                    assert_eq!(ask.what.concat(), text.trim_end_matches('?').replacen("What", "what", 1), "{words}");
                }
            }
        }
    }
}
