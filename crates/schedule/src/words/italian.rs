//! Says cadences and moments in Italian.

use jiff::civil::{Date, Time};

use super::near::Near;
use super::pattern::{End, Pattern, Repeats};
use super::text::{self, name};

const DAYS: [&str; 7] = ["lunedì", "martedì", "mercoledì", "giovedì", "venerdì", "sabato", "domenica"];
const MONTHS: [&str; 12] = [
    "gennaio",
    "febbraio",
    "marzo",
    "aprile",
    "maggio",
    "giugno",
    "luglio",
    "agosto",
    "settembre",
    "ottobre",
    "novembre",
    "dicembre",
];
const NUMBERS: [&str; 9] = ["due", "tre", "quattro", "cinque", "sei", "sette", "otto", "nove", "dieci"];
/// Places of weekdays in a month, without the last letter, which is that of the weekday's gender.
const PLACES: [&str; 5] = ["prim", "second", "terz", "quart", "quint"];
const SUNDAY: usize = 6;

/// "domani alle 9:00", "il 3 marzo alle 9:00".
pub(super) fn moment(day: Near, time: Time) -> String {
    let day = match day {
        Near::Yesterday => "ieri".to_owned(),
        Near::Today => "oggi".to_owned(),
        Near::Tomorrow => "domani".to_owned(),
        Near::Weekday(day) => name(&DAYS, (day + 6) % 7).to_owned(),
        Near::OfYear(_) | Near::Far(_) => date("il", day),
    };
    format!("{day} {}", at(time))
}

/// "ogni lunedì alle 7:30", "ogni mese il primo alle 9:00, fino al 3 marzo".
pub(super) fn every(pattern: &Pattern, today: Date) -> String {
    let mut said = repeats(&pattern.repeats);
    if !pattern.times.is_empty() {
        let times: Vec<String> = pattern.times.iter().map(|time| at(*time)).collect();
        said = format!("{said} {}", text::listed(&times, "e"));
    }
    if let Some(from) = pattern.from {
        said = format!("{said}, {}", date("dal", Near::date(from, today)));
    }
    match pattern.end {
        Some(End::Count(1)) => said + ", una volta",
        Some(End::Count(count)) => format!("{said}, {count} volte"),
        Some(End::Until(day, None)) => format!("{said}, fino {}", date("al", Near::date(day, today))),
        Some(End::Until(day, Some(time))) => {
            format!("{said}, fino {} {}", date("al", Near::date(day, today)), at(time))
        }
        None => said,
    }
}

/// What cannot be said otherwise.
pub(super) fn by_rule(rule: &str) -> String {
    format!("secondo la regola {rule}")
}

/// "alle 9:00", "all'1:00".
fn at(time: Time) -> String {
    let clock = text::clock(time);
    if time.hour() == 1 { format!("all'{clock}") } else { format!("alle {clock}") }
}

fn repeats(repeats: &Repeats) -> String {
    let days = |days: &[usize], article: bool| {
        let one = |day: &usize| match article {
            true => format!("{} {}", if *day == SUNDAY { "la" } else { "il" }, name(&DAYS, *day)),
            false => name(&DAYS, *day).to_owned(),
        };
        text::listed(&days.iter().map(one).collect::<Vec<_>>(), "e")
    };
    match repeats {
        Repeats::Minutes(1) => "ogni minuto".to_owned(),
        Repeats::Minutes(count) => format!("ogni {count} minuti"),
        Repeats::Hours(1) => "ogni ora".to_owned(),
        Repeats::Hours(count) => format!("ogni {count} ore"),
        Repeats::PastHour(minute) => format!("ogni ora al minuto {minute}"),
        Repeats::Days(count) => units(*count, "giorno", "giorni"),
        Repeats::Weeks(1, week) if week.len() == 7 => "ogni giorno".to_owned(),
        Repeats::Weeks(1, week) if *week == text::WORKDAYS => "dal lunedì al venerdì".to_owned(),
        Repeats::Weeks(1, week) => format!("ogni {}", days(week, false)),
        Repeats::Weeks(count, week) if *week == text::WORKDAYS => {
            format!("{} dal lunedì al venerdì", units(*count, "settimana", "settimane"))
        }
        Repeats::Weeks(count, week) => {
            format!("{} {}", units(*count, "settimana", "settimane"), days(week, true))
        }
        Repeats::Months(count, all) => {
            let one = |day: &i8| if *day < 0 { "l'ultimo giorno".to_owned() } else { of_month("il", *day) };
            let all: Vec<String> = all.iter().map(one).collect();
            format!("{} {}", units(*count, "mese", "mesi"), text::listed(&all, "e"))
        }
        Repeats::PlacedMonths(count, all) => {
            let all: Vec<String> = all.iter().map(|day| placed(*day)).collect();
            format!("{} {}", units(*count, "mese", "mesi"), text::listed(&all, "e"))
        }
        Repeats::Years(count, all) => {
            let one = |(month, day): &(usize, i8)| format!("{} {}", of_month("il", *day), name(&MONTHS, *month));
            let all: Vec<String> = all.iter().map(one).collect();
            format!("{} {}", units(*count, "anno", "anni"), text::listed(&all, "e"))
        }
        Repeats::PlacedYears(count, month, day) => {
            format!("{} {} di {}", units(*count, "anno", "anni"), placed(*day), name(&MONTHS, *month))
        }
    }
}

/// "ogni giorno", "ogni due giorni", "ogni 12 giorni".
fn units(count: i64, one: &str, many: &str) -> String {
    if count == 1 { format!("ogni {one}") } else { format!("ogni {} {many}", text::number(&NUMBERS, count)) }
}

/// A day of the month behind "il", "al" or "dal": "il primo", "l'8", "all'11", "dal 3".
fn of_month(article: &str, day: i8) -> String {
    match day {
        1 => format!("{article} primo"),
        8 | 11 => match article {
            "il" => format!("l'{day}"),
            _ => format!("{article}l'{day}"),
        },
        _ => format!("{article} {day}"),
    }
}

/// "il primo lunedì", "la prima domenica", "l'ultimo venerdì".
fn placed((nth, day): (i8, usize)) -> String {
    let (article, end) = if day == SUNDAY { ("la", "a") } else { ("il", "o") };
    match usize::try_from(nth) {
        Ok(nth) => format!("{article} {}{end} {}", name(&PLACES, nth.saturating_sub(1)), name(&DAYS, day)),
        Err(_) => format!("l'ultim{end} {}", name(&DAYS, day)),
    }
}

/// "il 3 marzo", "al primo marzo 2027".
fn date(article: &str, day: Near) -> String {
    let of_year = |day: Date| format!("{} {}", of_month(article, day.day()), name(&MONTHS, text::month(day)));
    match day {
        Near::OfYear(day) => of_year(day),
        Near::Far(day) => format!("{} {}", of_year(day), day.year()),
        Near::Yesterday | Near::Today | Near::Tomorrow | Near::Weekday(_) => String::new(),
    }
}
