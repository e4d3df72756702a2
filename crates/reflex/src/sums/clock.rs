//! Sums with times of day: "what time will it be in 3 hours", "quanto manca alle 18", "how long is it from 9:30 to 17:15", "what is the
//! time difference between Rome and Tokyo", "when it is 15:00 in Rome, what time is it in New York". Answered only where every word
//! belongs to it. Pure.

use metnos_calendar::Zone;
use metnos_calendar::zone::of_place;
use metnos_proto::envelope::Envelope;
use metnos_proto::msg::common::Lang;
use metnos_texts::{Key, tell};
use metnos_when::{Grain, Kind, Zoned};

use crate::answer::visible;
use crate::reminder::forms::{begins, is_whole};
use crate::reminder::{languages, now_of, read};
use crate::words::phrase::Phrase;
use crate::words::places;

/// The most words of such a question.
const MAX_WORDS: usize = 24;
/// Questions for the time at another moment, which stands behind them.
const THEN: &str = "
    what time will it be
    what time is|was it
    what will the time be
    what was the time
    che ora|ore sara|saranno
    che ora|ore e|sono
    che ora|ore era|erano";
/// Questions for how long it is until a time, which stands behind them.
const UNTIL: &str = "
    how long [is] [it] [left] until|till|before|to
    how much time [is] [there|it|left] until|till|before|to
    how many hours|minutes [are] [there|left] until|till|before|to
    quanto [tempo] manca|resta
    quante ore mancano|restano
    quanti minuti mancano|restano";
/// Questions for how long it is between two times.
const BETWEEN: &str = "
    how long is [it] from|between
    how much time is [it|there] from|between
    how many hours|minutes are|is [there|it] from|between
    how many hours|minutes from|between
    quanto [tempo] passa
    quanto [tempo] c e
    quante ore ci sono|passano
    quanti minuti ci sono|passano";
/// What parts the two times.
const AND: [&str; 8] = ["to", "and", "until", "till", "alle", "all", "e", "a"];
/// Questions for how far two clocks are from each other.
const DIFFERENCE: &str = "
    [what] [is|s] [the] time difference between
    che differenza di fuso|orario|ore c e tra|fra
    che differenza di fuso orario c e tra|fra
    quante ore di differenza ci sono tra|fra
    [la] differenza di fuso|orario tra|fra
    [la] differenza di fuso orario tra|fra";
/// What stands before a time in one place.
const WHERE: &str = "
    when|if it is|s
    when|if its
    quando|se sono le
    quando|se e l|la
    quando|se e";
/// The question for the time in another one, which stands behind it.
const ELSEWHERE: &str = "
    what time is it|that in
    what is the time in
    che ora|ore e|sono|sara|saranno a|ad|in";
/// What says when something begins, how long it lasts, and asks when it ends.
const STARTS: [&str; 6] = ["starts", "begins", "comincia", "inizia", "parte", "start"];
const LASTS: &str = "
    and|e [it] lasts|takes|dura
    lasts|takes|dura";
const ENDS: &str = "
    when does|will it end|finish
    when is|will it [be] over
    [at] what time does|will it end|finish
    quando finisce|termina|finira
    [a] che ora|ore finisce|termina|finira";
/// Questions for the age of somebody who was born in a year, which stands behind them.
const BORN: &str = "
    how old is|are someone|somebody|anyone|people|you born in
    how old is a person|man|woman born in
    how old is|would [be] somebody|someone who was born in
    quanti anni ha chi|uno|una [che] [e] nato|nata nel
    quanti anni ha una persona [che] [e] nata nel";
/// Questions whether a year is a leap year: what stands before it, and behind.
const LEAP: [(&str, &str); 5] = [
    ("is|was|will", "[be] a leap year"),
    ("is|was", "a leap year"),
    ("il", "e|era|sara [un] [anno] bisestile"),
    ("e|era|sara bisestile il", ""),
    ("l anno", "e|era|sara [un] [anno] bisestile"),
];
/// The oldest age that is reckoned.
const MAX_AGE: i64 = 130;
const DAY_MINUTES: i64 = 24 * 60;

/// The answer to such a question; `None` for everything else.
#[must_use]
pub fn answer(text: &str, envelope: &Envelope) -> Option<String> {
    let now = now_of(envelope)?;
    let phrase = Phrase::of(text, envelope.lang).filter(|phrase| phrase.len() <= MAX_WORDS)?;
    languages(&phrase).find_map(|lang| {
        let question = Question { phrase: &phrase, said: phrase.plain(), lang, now: &now };
        question
            .then()
            .or_else(|| question.until())
            .or_else(|| question.between())
            .or_else(|| question.difference())
            .or_else(|| question.elsewhere())
            .or_else(|| question.ends())
            .or_else(|| question.born())
            .or_else(|| question.leap())
    })
}

/// A question, as one language reads it.
struct Question<'a> {
    phrase: &'a Phrase<'a>,
    said: Vec<&'a str>,
    lang: Lang,
    now: &'a Zoned,
}

/// A time as a clock shows it.
fn shown(at: &Zoned) -> String {
    format!("{}:{:02}", at.hour(), at.minute())
}

/// On which day the second moment is, seen from that of the first: each on its own clock.
fn day_from(first: &Zoned, second: &Zoned) -> Option<&'static str> {
    Some(match second.date().since(first.date()).ok()?.get_days() {
        0 => "same",
        1 => "next",
        -1 => "before",
        2.. => "later",
        _ => "earlier",
    })
}

fn minute_of(at: &Zoned) -> i64 {
    i64::from(at.hour()) * 60 + i64::from(at.minute())
}

impl Question<'_> {
    /// The words from one to another, as they were typed.
    fn typed(&self, from: usize, upto: usize) -> Option<&str> {
        let (first, last) = (self.phrase.words.get(from)?, self.phrase.words.get(upto.checked_sub(1)?)?);
        self.phrase.text.get(first.start..last.end)
    }

    /// The moments that these words name, of which none is coarser than an hour: two where the half of the day is open.
    fn moments(&self, text: &str) -> Vec<Zoned> {
        let reading = read(text, self.lang, self.now);
        let is_whole = |spans: &[std::ops::Range<usize>]| matches!(spans, [span] if *span == (0..text.len()));
        let all = if reading.readings.is_empty() { std::slice::from_ref(&reading) } else { &reading.readings[..] };
        let fine =
            all.iter().filter(|one| one.kind == Kind::Instant && one.grain.is_some_and(|grain| grain <= Grain::Hour));
        if is_whole(&reading.spans) { fine.filter_map(|one| one.start.clone()).collect() } else { Vec::new() }
    }

    /// A time of day: of two readings, the one that is written.
    fn time(&self, text: &str) -> Option<i64> {
        let joint = match self.lang {
            Lang::En => "at",
            Lang::It => "alle",
        };
        let all = [text.to_owned(), format!("{joint} {text}")];
        let found = all.iter().map(|text| self.moments(text)).find(|moments| !moments.is_empty())?;
        found.iter().map(minute_of).min()
    }

    /// "What time will it be in 3 hours": the distance is said with the word that makes it one.
    fn then(&self) -> Option<String> {
        let at = begins(THEN, &self.said).filter(|at| *at < self.said.len())?;
        let (first, last) = (self.said[at], self.said.last()?);
        let is_later = matches!(first, "in" | "tra" | "fra");
        if !is_later && !matches!(*last, "ago" | "fa") {
            return None;
        }
        let moments = self.moments(self.typed(at, self.said.len())?);
        let [then] = &moments[..] else { return None };
        let key = if is_later { Key::ClockThen } else { Key::ClockThenPast };
        let (time, day) = (shown(then), day_from(self.now, then)?);
        Some(tell(self.lang, key, &[("time", (&time).into()), ("day", day.into())]))
    }

    /// "How long until 18:00", where the time is still to come.
    fn until(&self) -> Option<String> {
        let at = begins(UNTIL, &self.said).filter(|at| *at < self.said.len())?;
        let text = self.typed(at, self.said.len())?;
        let has_joint = matches!(self.said[at], "at" | "alle" | "all" | "a");
        let moments = match self.moments(text) {
            found if found.is_empty() && !has_joint && self.lang == Lang::En => self.moments(&format!("at {text}")),
            found => found,
        };
        let then = moments.into_iter().filter(|then| then > self.now).min()?;
        let minutes = (then.timestamp().as_second() - self.now.timestamp().as_second()).div_euclid(60);
        // What is further off is a question for a day.
        (minutes <= DAY_MINUTES).then(|| self.length(Key::ClockUntil, minutes, &shown(&then)))
    }

    /// "How long is it from 9:30 to 17:15": the second time is the next one behind the first.
    fn between(&self) -> Option<String> {
        let at = begins(BETWEEN, &self.said)?;
        let at = at + begins("dalle\ndall\ntra|fra [le|l]\nda", self.said.get(at..)?).unwrap_or(0);
        let middle = (at + 1..self.said.len()).find(|middle| AND.contains(&self.said[*middle]))?;
        let second =
            middle + 1 + usize::from(self.said.get(middle + 1).is_some_and(|word| matches!(*word, "le" | "l")));
        let (from, upto) = (self.time(self.typed(at, middle)?)?, self.time(self.typed(second, self.said.len())?)?);
        let minutes = (upto - from).rem_euclid(DAY_MINUTES);
        (minutes > 0).then(|| self.length(Key::ClockBetween, minutes, "") + ".")
    }

    /// "If the film starts at 20:15 and lasts 2 hours, when does it end": a beginning with two readings is the written one.
    fn ends(&self) -> Option<String> {
        let said = &self.said[..];
        let begun = said.iter().position(|word| STARTS.contains(word))? + 1;
        let (lasts, long) = (begun + 1..said.len()).find_map(|at| Some((at, at + begins(LASTS, said.get(at..)?)?)))?;
        let asked = (long + 1..said.len()).find(|at| is_whole(ENDS, &said[*at..]))?;
        let from = self.time(self.typed(begun, lasts)?)?;
        let joint = match self.lang {
            Lang::En => "in",
            Lang::It => "tra",
        };
        let [then] = &self.moments(&format!("{joint} {}", self.typed(long, asked)?))[..] else { return None };
        let minutes = (then.timestamp().as_second() - self.now.timestamp().as_second()).div_euclid(60);
        let end = from.checked_add(minutes).filter(|end| (from + 1..2 * DAY_MINUTES).contains(end))?;
        let day = if end < DAY_MINUTES { "same" } else { "next" };
        let time = format!("{}:{:02}", end % DAY_MINUTES / 60, end % 60);
        Some(tell(self.lang, Key::ClockEnds, &[("time", (&time).into()), ("day", day.into())]))
    }

    /// "How old is somebody born in 1980".
    fn born(&self) -> Option<String> {
        let at = begins(BORN, &self.said)?;
        let [year] = self.said.get(at..)? else { return None };
        let year: i64 = year.parse().ok().filter(|_| year.len() == 4)?;
        let after = i64::from(self.now.year()) - year;
        let number = |age: i64| age.to_string();
        (1..=MAX_AGE).contains(&after).then(|| {
            let (year, before, after) = (number(year), number(after - 1), number(after));
            tell(
                self.lang,
                Key::ClockBorn,
                &[("year", (&year).into()), ("before", (&before).into()), ("after", (&after).into())],
            )
        })
    }

    /// "Is 2028 a leap year", by the rule of the Gregorian calendar.
    fn leap(&self) -> Option<String> {
        let at = self.said.iter().position(|word| word.len() == 4 && word.bytes().all(|byte| byte.is_ascii_digit()))?;
        let (before, behind) = (self.said.get(..at)?, self.said.get(at + 1..)?);
        let fits = |forms: &str, said: &[&str]| if forms.is_empty() { said.is_empty() } else { is_whole(forms, said) };
        LEAP.iter().find(|(first, last)| fits(first, before) && fits(last, behind))?;
        let year = self.said[at];
        let number: u32 = year.parse().ok().filter(|number| *number > 1_582)?;
        let is_leap = number.is_multiple_of(4) && (!number.is_multiple_of(100) || number.is_multiple_of(400));
        let is = if is_leap { "yes" } else { "no" };
        Some(tell(self.lang, Key::ClockLeap, &[("year", year.into()), ("is", is.into())]))
    }

    fn length(&self, key: Key, minutes: i64, time: &str) -> String {
        let part = |number: i64| u64::try_from(number).unwrap_or_default();
        let (hours, minutes) = (part(minutes / 60), part(minutes % 60));
        let hours_said = tell(self.lang, Key::ClockHours, &[("count", hours.into())]);
        let minutes_said = tell(self.lang, Key::ClockMinutes, &[("count", minutes.into())]);
        let and = match self.lang {
            Lang::En => " and ",
            Lang::It => " e ",
        };
        let long = match (hours, minutes) {
            (0, _) => minutes_said,
            (_, 0) => hours_said,
            _ => [hours_said, minutes_said].join(and),
        };
        tell(self.lang, key, &[("long", (&long).into()), ("time", time.into())][..if time.is_empty() { 1 } else { 2 }])
    }

    /// The zone of a place, and what it is called.
    fn place(&self, from: usize, upto: usize) -> Option<(Zone, String)> {
        let zone = Zone::read(&of_place(places::zone(self.said.get(from..upto)?)?)?)?;
        Some((zone, visible(self.typed(from, upto)?)))
    }

    /// "The time difference between Rome and Tokyo", as it is now.
    fn difference(&self) -> Option<String> {
        let at = begins(DIFFERENCE, &self.said)?;
        let middle = (at + 1..self.said.len()).find(|middle| matches!(self.said[*middle], "and" | "e"))?;
        let ((one, here), (other, there)) = (self.place(at, middle)?, self.place(middle + 1, self.said.len())?);
        let now = self.now.timestamp().as_second();
        let minutes = (other.ahead(now) - one.ahead(now)).div_euclid(60);
        let way = match minutes {
            0 => "same",
            1.. => "later",
            _ => "earlier",
        };
        let long = self.length(Key::ClockBetween, minutes.abs(), "");
        let values =
            [("here", (&here).into()), ("there", (&there).into()), ("way", way.into()), ("long", (&long).into())];
        Some(tell(self.lang, Key::ClockDifference, &values))
    }

    /// "When it is 15:00 in Rome, what time is it in New York".
    fn elsewhere(&self) -> Option<String> {
        let (asked, question) =
            (1..self.said.len()).find_map(|at| Some((at, begins(ELSEWHERE, self.said.get(at..)?)?)))?;
        let (other, there) = self.place(asked + question, self.said.len())?;
        let before = self.said.get(..asked)?;
        let (minute, zone) = self.time_and_place(before)?;
        let at = self.now.with().hour(0).minute(0).second(0).subsec_nanosecond(0).build().ok()?;
        let (hour, minute) = (i8::try_from(minute / 60).ok()?, i8::try_from(minute % 60).ok()?);
        let then = match zone {
            Some(zone) => zone.civil(&format!("{}T{hour:02}:{minute:02}", at.date()))?,
            None => at.with().hour(hour).minute(minute).build().ok()?,
        };
        let seen = other.at(then.timestamp().as_second())?;
        let (time, day) = (shown(&seen), day_from(&then, &seen)?);
        let values = [("there", (&there).into()), ("time", (&time).into()), ("day", day.into())];
        Some(tell(self.lang, Key::ClockElsewhere, &values))
    }

    /// The minute of the day that is named, with the zone of the place that it is named for: "it is 15:00 in Rome", "a Roma sono le 15".
    fn time_and_place(&self, before: &[&str]) -> Option<(i64, Option<Zone>)> {
        if let Some(at) = begins(WHERE, before) {
            let place =
                (at + 1..before.len()).find(|middle| matches!(before[*middle], "in" | "a" | "ad" | "here" | "qui"));
            let Some(middle) = place else { return Some((self.time(self.typed(at, before.len())?)?, None)) };
            let minute = self.time(self.typed(at, middle)?)?;
            let is_here = matches!(before[middle], "here" | "qui") && middle + 1 == before.len();
            return Some((minute, if is_here { None } else { Some(self.place(middle + 1, before.len())?.0) }));
        }
        let at = begins("quando|se qui\nquando|se a|ad|in", before)?;
        let middle = (at..before.len())
            .find(|middle| is_whole("sono le\ne l|la\ne", before.get(*middle..*middle + 2).unwrap_or_default()))?;
        let minute = self.time(self.typed(middle + 2, before.len())?)?;
        let zone = if middle == at { None } else { Some(self.place(at, middle)?.0) };
        Some((minute, zone))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use proptest::prelude::*;

    use super::*;

    const ROME: &str = "Europe/Rome (CET-1CEST,M3.5.0,M10.5.0/3)";

    fn at(clock: &str, text: &str) -> Option<String> {
        let mut envelope = Envelope::empty(Vec::new(), Lang::En);
        envelope.home.zone = ROME.into();
        envelope.home.now = Zone::read(ROME).unwrap().civil(clock).map_or(1, |at| at.timestamp().as_second());
        answer(text, &envelope)
    }

    #[test]
    fn clock_is_reckoned_in_both_languages() {
        for (text, told) in [
            ("what time will it be in 3 hours", "It will be 17:20."),
            ("What time will it be in 90 minutes?", "It will be 15:50."),
            ("what time is it in 12 hours", "It will be 2:20, tomorrow."),
            ("what time was it 2 hours ago", "It was 12:20."),
            ("che ore saranno tra 3 ore", "Saranno le 17:20."),
            ("che ora era 20 minuti fa?", "Erano le 14:00."),
            ("how long until 18:00", "3 hours and 40 minutes until 18:00."),
            ("how many minutes until 3 pm?", "40 minutes until 15:00."),
            ("if the film starts at 20:15 and lasts 2 hours and 10 minutes when does it end?", "It ends at 22:25."),
            ("The concert begins at 21:30 and takes 3 hours, when is it over?", "It ends at 0:30, on the next day."),
            ("se il film inizia alle 20:15 e dura 2 ore e 10 minuti a che ora finisce", "Finisce alle 22:25."),
            ("lo spettacolo comincia alle 21 e dura 90 minuti: quando finisce?", "Finisce alle 22:30."),
            ("is 2028 a leap year?", "Yes, 2028 has 366 days."),
            ("was 1900 a leap year", "No, 1900 has 365 days."),
            ("il 2000 è bisestile?", "Sì, il 2000 ha 366 giorni."),
            ("how old is somebody born in 1980", "Somebody born in 1980 is 45, and 46 from this year’s birthday on."),
            (
                "quanti anni ha chi è nato nel 1980?",
                "Chi è nato nel 1980 ha 45 anni, e 46 dal compleanno di quest’anno.",
            ),
            ("quanto manca alle 18", "Mancano 3 ore e 40 minuti alle 18:00."),
            ("quanto manca a mezzanotte", "Mancano 9 ore e 40 minuti alle 0:00."),
            ("how long is it from 9:30 to 17:15", "7 hours and 45 minutes."),
            ("how many hours are there between 22:00 and 6:30", "8 hours and 30 minutes."),
            ("quanto tempo passa dalle 9:30 alle 17:15", "7 ore e 45 minuti."),
            ("quante ore ci sono tra le 9 e le 18", "9 ore."),
            ("what's the time difference between Rome and Tokyo?", "In Tokyo the clock is 8 hours ahead of Rome."),
            ("time difference between Rome and New York", "In New York the clock is 6 hours behind Rome."),
            ("time difference between Rome and Paris", "Rome and Paris have the same time."),
            ("che differenza di fuso c'è tra Roma e Tokyo?", "A Tokyo l’orologio è avanti di 8 ore rispetto a Roma."),
            ("when it is 15:00 in Rome what time is it in New York?", "In New York it is 9:00 then."),
            ("if it's 20:00 here, what time is it in Tokyo", "In Tokyo it is 4:00 then, on the next day."),
            ("quando a Roma sono le 15 che ore sono a New York", "A New York sono le 9:00."),
            ("se qui sono le 20 che ore sono a Tokyo?", "A Tokyo sono le 4:00 del giorno dopo."),
        ] {
            assert_eq!(at("2026-11-24T14:20", text).as_deref(), Some(told), "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_words_about_the_clock_are_answered_or_left(
            words in proptest::collection::vec("(what|time|is|it|in|from|to|when|quando|che|ore|sono|a|le|tra|e|9:30|25:99|15|Rome|Tokyo|pm|ago|fa|\\PC{0,6})", 0..14),
            hour in 0..24_u8,
        ) {
            let _ = at(&format!("2026-03-29T{hour:02}:30"), &words.join(" "));
        }
    }

    #[test]
    fn what_is_no_sum_with_a_clock_is_left_to_others() {
        for text in [
            "what time is it",
            "what time is it in Tokyo",
            "che ore sono a New York",
            "what time is it in 3 hours in Tokyo and what is planned",
            "remind me in 3 hours to call",
            "how long until Christmas",
            "how long until the pasta is done",
            "quanto manca alla pasta",
            "quanto manca a Natale",
            "how long is it from Rome to Milan",
            "what is the difference between 7 and 3",
            "time difference between Rome and Nowhereland",
            "what time is dinner in 3 hours",
            "when is it 15:00",
            "",
        ] {
            assert_eq!(at("2026-11-24T14:20", text), None, "{text}");
        }
    }
}
