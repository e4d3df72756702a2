//! Requests for again and again: "every morning at 8 …", "… ogni lunedì alle 9:30". It reads when, in the words of cron, and
//! what is asked for then; it sets nothing up and knows no clock.

use crate::words::token::{Kind, Token};
use crate::words::when;

/// What is asked for again and again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recurrence {
    /// Minute, hour, day, month and weekday, as cron has them, by the machine's own time.
    pub cron: String,
    /// When, in the person's words.
    pub when: String,
    /// What, in the person's words.
    pub request: String,
}

/// How often.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Interval {
    /// Every so many minutes.
    Minutes(u32),
    /// Every so many hours.
    Hours(u32),
    /// Once on these days, at this hour when no other is named: day of the month, weekdays.
    Days(&'static str, &'static str, u32),
}

/// What stands behind "every" and behind "ogni", and "daily" and the like by themselves.
const OFTEN: &[(&str, Interval)] = &[
    ("hour ora hourly", Interval::Hours(1)),
    ("minute minuto", Interval::Minutes(1)),
    ("day giorno daily giornalmente quotidianamente", Interval::Days("*", "*", 8)),
    ("morning mattina mattino", Interval::Days("*", "*", 8)),
    ("afternoon pomeriggio", Interval::Days("*", "*", 15)),
    ("evening sera", Interval::Days("*", "*", 20)),
    ("night notte", Interval::Days("*", "*", 22)),
    ("weekday", Interval::Days("*", "1-5", 8)),
    ("week settimana weekly settimanalmente monday lunedì lunedi", Interval::Days("*", "1", 8)),
    ("tuesday martedì martedi", Interval::Days("*", "2", 8)),
    ("wednesday mercoledì mercoledi", Interval::Days("*", "3", 8)),
    ("thursday giovedì giovedi", Interval::Days("*", "4", 8)),
    ("friday venerdì venerdi", Interval::Days("*", "5", 8)),
    ("saturday sabato", Interval::Days("*", "6", 8)),
    ("sunday domenica", Interval::Days("*", "0", 8)),
    ("month mese monthly mensilmente", Interval::Days("1", "*", 8)),
];
/// Those of them that need no "every" before them.
const ALONE: &str = "hourly daily giornalmente quotidianamente weekly settimanalmente monthly mensilmente";
/// What stands before a time of day.
const AT: &str = "at alle all'";

fn is_one_of(token: Option<&Token<'_>>, words: &str) -> bool {
    let word = token.filter(|token| token.kind == Kind::Word).map(|token| token.text.to_lowercase().replace('’', "'"));
    word.is_some_and(|word| words.split(' ').any(|known| known == word))
}

/// How often, when such words stand at `at`, and where they end.
fn often(tokens: &[Token<'_>], at: usize) -> Option<(Interval, usize)> {
    let named = |at: usize| OFTEN.iter().find(|(words, _)| is_one_of(tokens.get(at), words)).map(|(_, often)| *often);
    if is_one_of(tokens.get(at), ALONE) {
        return named(at).map(|often| (often, at + 1));
    }
    if !is_one_of(tokens.get(at), "every each ogni") {
        return None;
    }
    let count =
        tokens.get(at + 1).and_then(|token| when::whole(token.text)).and_then(|count| u32::try_from(count).ok());
    let Some(count) = count else {
        return named(at + 1).filter(|_| !is_one_of(tokens.get(at + 1), ALONE)).map(|often| (often, at + 2));
    };
    // cron begins again with each hour and each day: only what divides them evenly is what was asked for.
    let even = |count: u32, of: u32| count > 0 && of.is_multiple_of(count);
    if is_one_of(tokens.get(at + 2), "minutes minuti") && even(count, 60) {
        return Some((if count == 60 { Interval::Hours(1) } else { Interval::Minutes(count) }, at + 3));
    }
    if is_one_of(tokens.get(at + 2), "hours ore") && even(count, 24) {
        return Some((if count == 24 { Interval::Days("*", "*", 0) } else { Interval::Hours(count) }, at + 3));
    }
    None
}

/// A time of day at `at`, "at 8", "alle 8:30", "at 6 pm": hour and minute, and where it ends.
fn hour(tokens: &[Token<'_>], at: usize) -> Option<((u32, u32), usize)> {
    if !is_one_of(tokens.get(at), AT) {
        return None;
    }
    let token = tokens.get(at + 1)?;
    let (hour, minute) = match token.kind {
        Kind::Time => {
            let time = when::time(token.text)?;
            (time.get(0..2)?.parse().ok()?, time.get(3..5)?.parse().ok()?)
        }
        Kind::Number | Kind::Word => (u32::try_from(when::whole(token.text)?).ok()?, 0),
        Kind::File
        | Kind::Folder
        | Kind::Path
        | Kind::Url
        | Kind::Address
        | Kind::Date
        | Kind::Quoted
        | Kind::Pattern => return None,
    };
    let (hour, end) = match hour {
        1..=11 if is_one_of(tokens.get(at + 2), "pm") => (hour + 12, at + 3),
        1..=12 if is_one_of(tokens.get(at + 2), "am") => (hour % 12, at + 3),
        12 if is_one_of(tokens.get(at + 2), "pm") => (12, at + 3),
        _ => (hour, at + 2),
    };
    (hour < 24).then_some(((hour, minute), end))
}

/// What the words ask for again and again, when they say so before `until`: a text that is quoted there is no schedule.
#[must_use]
pub fn again(text: &str, tokens: &[Token<'_>], until: Option<usize>) -> Option<Recurrence> {
    let looked = until.unwrap_or(tokens.len()).min(tokens.len());
    let (begin, (often, mut end)) = (0..looked).find_map(|at| Some((at, often(tokens, at)?)))?;
    let mut begin = begin;
    let mut at_hour = None;
    if let Some((found, after)) = hour(tokens, end) {
        (at_hour, end) = (Some(found), after);
    } else if let Some((from, found)) = (begin.saturating_sub(3)..begin)
        .find_map(|from| hour(tokens, from).filter(|(_, end)| *end == begin).map(|(found, _)| (from, found)))
    {
        (at_hour, begin) = (Some(found), from);
    }
    let cron = match (often, at_hour) {
        (Interval::Minutes(1), None) => "* * * * *".to_owned(),
        (Interval::Minutes(count), None) => format!("*/{count} * * * *"),
        (Interval::Hours(1), None) => "0 * * * *".to_owned(),
        (Interval::Hours(count), None) => format!("0 */{count} * * *"),
        (Interval::Days(day, weekday, usual), at) => {
            let (hour, minute) = at.unwrap_or((usual, 0));
            format!("{minute} {hour} {day} * {weekday}")
        }
        (Interval::Minutes(_) | Interval::Hours(_), Some(_)) => return None,
    };
    let (first, last) = (tokens.get(begin)?, tokens.get(end.checked_sub(1)?)?);
    let edge = |c: char| c.is_whitespace() || matches!(c, ',' | ';' | ':');
    let before = text.get(..first.start)?.trim_matches(edge);
    let after = text.get(last.start + last.text.len()..)?.trim_matches(edge);
    let request = [before, after].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ");
    let when = text.get(first.start..last.start + last.text.len())?.to_owned();
    (!request.is_empty()).then_some(Recurrence { cron, when, request })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use proptest::prelude::*;

    use super::*;
    use crate::words::grammar;
    use crate::words::token;

    fn heard(text: &str) -> Option<Recurrence> {
        let tokens = token::tokens(text)?;
        again(text, &tokens, grammar::quoted_from(&tokens))
    }

    #[test]
    fn schedule_and_request_are_parsed_in_both_languages() {
        for (text, cron, when, request) in [
            ("every morning at 8 read notes/a.md", "0 8 * * *", "every morning at 8", "read notes/a.md"),
            ("Every day at 18:30, read notes/a.md", "30 18 * * *", "Every day at 18:30", "read notes/a.md"),
            ("read notes/a.md every Monday at 9 am", "0 9 * * 1", "every Monday at 9 am", "read notes/a.md"),
            ("read notes/a.md at 6 pm every weekday", "0 18 * * 1-5", "at 6 pm every weekday", "read notes/a.md"),
            ("count the files in notes daily", "0 8 * * *", "daily", "count the files in notes"),
            ("every 15 minutes read notes/a.md", "*/15 * * * *", "every 15 minutes", "read notes/a.md"),
            ("every six hours read notes/a.md", "0 */6 * * *", "every six hours", "read notes/a.md"),
            ("ogni mattina alle 8 leggi notes/a.md", "0 8 * * *", "ogni mattina alle 8", "leggi notes/a.md"),
            ("leggi notes/a.md ogni lunedì alle 9:30", "30 9 * * 1", "ogni lunedì alle 9:30", "leggi notes/a.md"),
            ("ogni sera: leggi notes/a.md", "0 20 * * *", "ogni sera", "leggi notes/a.md"),
            ("ogni ora leggi notes/a.md", "0 * * * *", "ogni ora", "leggi notes/a.md"),
            ("ogni mese conta i file in notes", "0 8 1 * *", "ogni mese", "conta i file in notes"),
        ] {
            let found = heard(text).unwrap_or_else(|| panic!("{text}"));
            assert_eq!(
                (found.cron.as_str(), found.when.as_str(), found.request.as_str()),
                (cron, when, request),
                "{text}"
            );
        }
    }

    #[test]
    fn schedule_without_cron_form_is_none() {
        for text in [
            "every 7 minutes read notes/a.md",
            "every 0 minutes read notes/a.md",
            "every 15 minutes at 8 read notes/a.md",
            "read notes/a.md tomorrow at 8",
            "read every file",
            "ogni tanto leggi notes/a.md",
            "note that every morning at 8 the bus comes",
            "every morning at 8",
            "find \"every morning at 8\" in notes",
        ] {
            assert_eq!(heard(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn schedule_parser_never_panics_or_invents_text(text in "(every|ogni|each|at|alle|8|9:30|15|minutes|giorno|Monday|,|é|read|notes/a.md| ){0,12}") {
            if let Some(found) = heard(&text) {
                prop_assert!(text.contains(&found.when));
                prop_assert_eq!(found.cron.split(' ').count(), 5);
            }
        }
    }
}
