//! Says cadences and moments in English.

use jiff::civil::{Date, Time};

use super::near::Near;
use super::pattern::{End, Pattern, Repeats};
use super::text::{self, name};

const DAYS: [&str; 7] = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];
const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];
const NUMBERS: [&str; 9] = ["two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"];
const PLACES: [&str; 5] = ["first", "second", "third", "fourth", "fifth"];

/// "tomorrow at 9:00", "on 3 March at 9:00".
pub(super) fn moment(day: Near, time: Time) -> String {
    let day = match day {
        Near::Yesterday => "yesterday".to_owned(),
        Near::Today => "today".to_owned(),
        Near::Tomorrow => "tomorrow".to_owned(),
        Near::Weekday(day) => format!("on {}", name(&DAYS, (day + 6) % 7)),
        Near::OfYear(_) | Near::Far(_) => format!("on {}", date(day)),
    };
    format!("{day} at {}", text::clock(time))
}

/// "every Monday at 7:30", "every month on the 1st at 9:00, until 3 March".
pub(super) fn every(pattern: &Pattern, today: Date) -> String {
    let mut said = repeats(&pattern.repeats);
    if !pattern.times.is_empty() {
        let times: Vec<String> = pattern.times.iter().map(|time| text::clock(*time)).collect();
        said = format!("{said} at {}", text::listed(&times, "and"));
    }
    if let Some(from) = pattern.from {
        said = format!("{said}, from {}", date(Near::date(from, today)));
    }
    match pattern.end {
        Some(End::Count(1)) => said + ", once",
        Some(End::Count(count)) => format!("{said}, {count} times"),
        Some(End::Until(day, None)) => format!("{said}, until {}", date(Near::date(day, today))),
        Some(End::Until(day, Some(time))) => {
            format!("{said}, until {} at {}", date(Near::date(day, today)), text::clock(time))
        }
        None => said,
    }
}

/// What cannot be said otherwise.
pub(super) fn by_rule(rule: &str) -> String {
    format!("by the rule {rule}")
}

fn repeats(repeats: &Repeats) -> String {
    let days = |days: &[usize]| {
        let names: Vec<String> = days.iter().map(|day| name(&DAYS, *day).to_owned()).collect();
        text::listed(&names, "and")
    };
    match repeats {
        Repeats::Minutes(1) => "every minute".to_owned(),
        Repeats::Minutes(count) => format!("every {count} minutes"),
        Repeats::Hours(1) => "every hour".to_owned(),
        Repeats::Hours(count) => format!("every {count} hours"),
        Repeats::PastHour(1) => "every hour at 1 minute past".to_owned(),
        Repeats::PastHour(minute) => format!("every hour at {minute} minutes past"),
        Repeats::Days(count) => units(*count, "day"),
        Repeats::Weeks(1, week) if week.len() == 7 => "every day".to_owned(),
        Repeats::Weeks(1, week) if *week == text::WORKDAYS => "every weekday".to_owned(),
        Repeats::Weeks(1, week) => format!("every {}", days(week)),
        Repeats::Weeks(count, week) if *week == text::WORKDAYS => {
            format!("{} from Monday to Friday", units(*count, "week"))
        }
        Repeats::Weeks(count, week) => format!("{} on {}", units(*count, "week"), days(week)),
        Repeats::Months(count, all) => {
            let all: Vec<String> = all.iter().map(|day| of_month(*day)).collect();
            format!("{} on the {}", units(*count, "month"), text::listed(&all, "and"))
        }
        Repeats::PlacedMonths(count, all) => {
            let all: Vec<String> = all.iter().map(|day| placed(*day)).collect();
            format!("{} on the {}", units(*count, "month"), text::listed(&all, "and"))
        }
        Repeats::Years(count, all) => {
            let all: Vec<String> = all.iter().map(|(month, day)| format!("{day} {}", name(&MONTHS, *month))).collect();
            format!("{} on {}", units(*count, "year"), text::listed(&all, "and"))
        }
        Repeats::PlacedYears(count, month, day) => {
            format!("{} on the {} of {}", units(*count, "year"), placed(*day), name(&MONTHS, *month))
        }
    }
}

/// "every day", "every two days", "every 12 days".
fn units(count: i64, unit: &str) -> String {
    if count == 1 { format!("every {unit}") } else { format!("every {} {unit}s", text::number(&NUMBERS, count)) }
}

/// "1st", "22nd", "last day".
fn of_month(day: i8) -> String {
    let end = match day {
        -1 => return "last day".to_owned(),
        1 | 21 | 31 => "st",
        2 | 22 => "nd",
        3 | 23 => "rd",
        _ => "th",
    };
    format!("{day}{end}")
}

/// "first Monday", "last Friday".
fn placed((nth, day): (i8, usize)) -> String {
    let place = usize::try_from(nth).map_or("last", |nth| name(&PLACES, nth.saturating_sub(1)));
    format!("{place} {}", name(&DAYS, day))
}

/// "3 March", "3 March 2027".
fn date(day: Near) -> String {
    match day {
        Near::OfYear(day) => format!("{} {}", day.day(), name(&MONTHS, text::month(day))),
        Near::Far(day) => format!("{} {} {}", day.day(), name(&MONTHS, text::month(day)), day.year()),
        Near::Yesterday | Near::Today | Near::Tomorrow | Near::Weekday(_) => String::new(),
    }
}
