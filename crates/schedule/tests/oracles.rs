//! Cron expressions and recurrence rules, made at random, against libraries that others have written (design: clock §4):
//! croniter, `systemd-analyze calendar` and python-dateutil.
#![allow(clippy::unwrap_used)]

use std::io::Write as _;
use std::process::{Command, Stdio};

use jiff::civil::{DateTime, date};
use metnos_schedule::Cadence;
use serde_json::{Value, json};

/// How many times of each are compared.
const COUNT: usize = 12;
const DAYS: [&str; 7] = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"];
const RULE_DAYS: [&str; 7] = ["MO", "TU", "WE", "TH", "FR", "SA", "SU"];

/// Chance from a seed: the multiplier and the increment are Knuth's (MMIX).
struct Chance(u64);

impl Chance {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }

    fn between(&mut self, first: u64, last: u64) -> u64 {
        first + self.below(last - first + 1)
    }

    fn one_in(&mut self, many: u64) -> bool {
        self.below(many) == 0
    }

    fn of<'a>(&mut self, all: &[&'a str]) -> &'a str {
        all[usize::try_from(self.below(all.len() as u64)).unwrap()]
    }

    fn moment(&mut self) -> DateTime {
        let (year, month, day) = (self.between(2024, 2029), self.between(1, 12), self.between(1, 28));
        let at = date(i16::try_from(year).unwrap(), i8::try_from(month).unwrap(), i8::try_from(day).unwrap());
        at.at(i8::try_from(self.below(24)).unwrap(), i8::try_from(self.below(60)).unwrap(), 0, 0)
    }

    /// A field of a cron expression as it is written, and the numbers it stands for; none for all of them. One in `some` is not all.
    fn field(&mut self, (first, last): (u64, u64), whole: u64, some: u64) -> (String, Option<Vec<u64>>) {
        if !self.one_in(some) {
            return ("*".to_owned(), None);
        }
        let (a, b) = (self.between(first, last), self.between(first, last));
        let (low, high) = (a.min(b), a.max(b));
        let step = self.between(2, 7);
        let (text, numbers): (String, Vec<u64>) = match self.below(5) {
            0 => (a.to_string(), vec![a]),
            1 => (format!("{low}-{high}"), (low..=high).collect()),
            2 => (format!("{low},{high}"), vec![low, high]),
            3 => (format!("*/{step}"), (first..=whole).step_by(usize::try_from(step).unwrap()).collect()),
            _ => (format!("{low}-{high}/{step}"), (low..=high).step_by(usize::try_from(step).unwrap()).collect()),
        };
        (text, Some(numbers))
    }
}

/// What the libraries say to all of these.
fn told(asks: &[Value]) -> Vec<Value> {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/peers/clock_oracles.py");
    let mut child = Command::new("/usr/bin/python3")
        .args(["-I", "-B", script])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut asked = child.stdin.take().unwrap();
    asked.write_all(Value::from(asks.to_vec()).to_string().as_bytes()).unwrap();
    drop(asked);
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "are python3-croniter and python3-dateutil installed?");
    serde_json::from_slice(&output.stdout).unwrap()
}

/// The times of a cadence, as the libraries write them.
fn times(cadence: &Cadence, after: DateTime) -> Vec<String> {
    let next = |at: &DateTime| cadence.next_after(*at).filter(|at| at.year() < 2060);
    std::iter::successors(next(&after), next).take(COUNT).map(|at| at.to_string()).collect()
}

/// How many times were compared, all of which must be the same as the libraries say.
fn same_times(asks: &[Value], all: &[(Cadence, DateTime)]) -> usize {
    let (mut same, mut differ) = (0, Vec::new());
    for ((ask, said), (cadence, after)) in asks.iter().zip(told(asks)).zip(all) {
        let own = times(cadence, *after);
        if said == json!(own) {
            same += own.len();
        } else {
            differ.push(format!("{ask}\n  {said}\n  {own:?}"));
        }
    }
    let first = differ[..differ.len().min(5)].join("\n");
    assert!(differ.is_empty(), "{} of {} differ:\n{first}", differ.len(), all.len());
    same
}

#[test]
fn cron_is_due_when_croniter_says() {
    let mut chance = Chance(11);
    let (mut asks, mut all) = (Vec::new(), Vec::new());
    for _ in 0..1_500 {
        let ((minute, _), (hour, _)) = (chance.field((0, 59), 59, 1), chance.field((0, 23), 23, 2));
        let ((day, _), (month, _)) = (chance.field((1, 28), 31, 3), chance.field((1, 12), 12, 4));
        let (weekday, _) = chance.field((0, 6), 6, 3);
        // A field that begins with a star restricts nothing here, as with the cron of Vixie, and one that names every day does; croniter
        // has both otherwise.
        if weekday == "0-6" || (day.starts_with("*/") && weekday != "*") || (weekday.starts_with("*/") && day != "*") {
            continue;
        }
        let (cron, after) = (format!("{minute} {hour} {day} {month} {weekday}"), chance.moment());
        asks.push(json!({ "of": "croniter", "cron": cron, "after": after.to_string(), "count": COUNT }));
        all.push((Cadence::Cron(cron), after));
    }
    let same = same_times(&asks, &all);
    assert!(same > 12_000, "{same}");
}

#[test]
fn cron_is_due_when_systemd_says() {
    let mut chance = Chance(12);
    let (mut asks, mut all) = (Vec::new(), Vec::new());
    while all.len() < 250 {
        let (minute, hour) = (chance.field((0, 59), 59, 1), chance.field((0, 23), 23, 2));
        let (day, month, weekday) =
            (chance.field((1, 28), 31, 3), chance.field((1, 12), 12, 4), chance.field((0, 6), 6, 3));
        // With systemd both sorts of days must fit; with cron that is so where one begins with a star.
        if day.1.is_some() && weekday.1.is_some() && !day.0.starts_with("*/") && !weekday.0.starts_with("*/") {
            continue;
        }
        let list = |numbers: &Option<Vec<u64>>| match numbers {
            Some(numbers) => numbers.iter().map(u64::to_string).collect::<Vec<_>>().join(","),
            None => "*".to_owned(),
        };
        let days = weekday
            .1
            .as_ref()
            .map(|all| all.iter().map(|day| DAYS[usize::try_from(*day).unwrap()]).collect::<Vec<_>>());
        let days = days.map(|days| days.join(",") + " ").unwrap_or_default();
        let (day_of_month, month_of_year) = (list(&day.1), list(&month.1));
        let calendar = format!("{days}*-{month_of_year}-{day_of_month} {}:{}:00 UTC", list(&hour.1), list(&minute.1));
        let cron = format!("{} {} {} {} {}", minute.0, hour.0, day.0, month.0, weekday.0);
        let after = chance.moment();
        asks.push(json!({ "of": "systemd", "calendar": calendar, "after": after.to_string(), "count": COUNT }));
        all.push((Cadence::Cron(cron), after));
    }
    let same = same_times(&asks, &all);
    assert!(same > 2_500, "{same}");
}

/// A rule as people's programs write them.
fn rule(chance: &mut Chance, start: DateTime) -> String {
    let every = chance.of(&["HOURLY", "DAILY", "DAILY", "WEEKLY", "WEEKLY", "MONTHLY", "MONTHLY", "YEARLY"]);
    let mut parts = vec![format!("FREQ={every}")];
    if chance.one_in(2) {
        parts.push(format!("INTERVAL={}", chance.between(1, 5)));
    }
    if chance.one_in(3) {
        parts.push(format!("BYMONTH={},{}", chance.between(1, 6), chance.between(7, 12)));
    }
    if chance.one_in(2) {
        let numbered = matches!(every, "MONTHLY" | "YEARLY") && chance.one_in(2);
        let number = if numbered { chance.of(&["1", "2", "3", "-1", "-2"]) } else { "" };
        let (first, second) = (chance.of(&RULE_DAYS[..3]), chance.of(&RULE_DAYS[3..]));
        parts.push(format!("BYDAY={number}{first},{number}{second}"));
    } else if every != "WEEKLY" && chance.one_in(2) {
        parts.push(format!("BYMONTHDAY={},{}", chance.between(1, 15), chance.between(16, 31)));
    }
    if chance.one_in(4) && every != "HOURLY" {
        parts.push(format!("BYHOUR={},{}", chance.between(0, 11), chance.between(12, 23)));
    }
    if chance.one_in(4) {
        parts.push(format!("BYMINUTE={},{}", chance.between(0, 29), chance.between(30, 59)));
    }
    match chance.below(3) {
        0 => parts.push(format!("COUNT={}", chance.between(1, 40))),
        1 => parts.push(format!("UNTIL={}0615T120000", start.year() + 2)),
        _ => {}
    }
    parts.join(";")
}

#[test]
fn recurrence_rules_are_due_when_dateutil_says() {
    let mut chance = Chance(13);
    let (mut asks, mut all, mut refused) = (Vec::new(), Vec::new(), 0);
    for _ in 0..1_500 {
        let start = chance.moment();
        let text = rule(&mut chance, start);
        let after = if chance.one_in(2) { start } else { chance.moment() };
        let cadence = Cadence::Rule { start, rrule: text.clone() };
        if cadence.validate().is_err() {
            refused += 1;
            continue;
        }
        asks.push(json!({ "of": "dateutil", "rule": text, "start": start.to_string(), "after": after.to_string(), "count": COUNT }));
        all.push((cadence, after));
    }
    let same = same_times(&asks, &all);
    assert!(same > 8_000 && refused < 300, "{same}, {refused} were refused");
}
