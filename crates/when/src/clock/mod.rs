//! Times of day: "5pm", "half past three", "le otto meno un quarto", "17:00", and two of them as a range.

pub(crate) mod part;

use crate::dates::date::{self, goes_on};
use crate::number;
use crate::parser::{Found, Parser, longest};
use crate::token::Kind;
use crate::words::{Part, ZONES};
use crate::{Grain, duration};

/// What is assumed of minutes in digits in Italian, and of seconds in both languages.
const AS_WRITTEN: &str = "24-hour";

/// A time of day as it was said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Clock {
    pub(crate) hour: i8,
    pub(crate) minute: i8,
    pub(crate) second: i8,
    pub(crate) grain: Grain,
    /// Whether it may as well be the other half of the day.
    pub(crate) either: bool,
    /// Whether it was written with minutes in digits.
    pub(crate) written: bool,
    /// Whether the form itself says that it is a time of day.
    pub(crate) clear: bool,
    pub(crate) midnight: bool,
    /// Whether "am" or "pm" stands with it.
    pub(crate) half: bool,
    pub(crate) assumed: Option<&'static str>,
}

impl Clock {
    fn new(hour: i64, minute: i64) -> Option<Self> {
        let valid = (0..=24).contains(&hour) && (0..60).contains(&minute) && (hour < 24 || minute == 0);
        let midnight = hour == 24;
        let hour = i8::try_from(hour % 24).ok().filter(|_| valid)?;
        let minute = i8::try_from(minute).ok()?;
        let grain = if minute == 0 { Grain::Hour } else { Grain::Minute };
        let either = (1..=12).contains(&hour);
        let plain = Self {
            hour,
            minute,
            second: 0,
            grain,
            either,
            written: false,
            clear: false,
            midnight,
            half: false,
            assumed: None,
        };
        Some(plain)
    }

    fn clear(mut self) -> Self {
        self.clear = true;
        self
    }

    pub(crate) fn certain(mut self) -> Self {
        (self.either, self.clear) = (false, true);
        self
    }

    /// The same in the half of the day that "am" or "pm" names.
    pub(crate) fn in_half(mut self, afternoon: bool) -> Option<Self> {
        self.hour = match (self.hour, afternoon) {
            (12, false) => 0,
            (hour @ 1..=11, true) => hour + 12,
            (hour @ 0..=12, _) => hour,
            (hour, true) => hour,
            (_, false) => return None,
        };
        Some(Self { assumed: None, half: true, ..self.certain() })
    }

    /// The same where another word says the half of the day.
    pub(crate) fn halved(self) -> Self {
        if self.assumed == Some(AS_WRITTEN) { Self { either: true, assumed: None, ..self } } else { self }
    }

    /// The same in the half of the day that a part of it names.
    fn within(self, part: Part) -> Option<Self> {
        let hours = part::hours(self, Some(part), true);
        let hour = hours.first().filter(|hour| hour.days == 0)?.hour;
        Some(Self { hour, ..self.certain() })
    }

    /// A number of minutes before the hour.
    fn before(self, minutes: i64) -> Option<Self> {
        let total = (i64::from(self.hour) * 60 + i64::from(self.minute) - minutes).rem_euclid(24 * 60);
        let hour = if self.either && total / 60 == 0 { 12 } else { total / 60 };
        let earlier = Self::new(hour, total % 60)?;
        Some(Self { either: self.either && (1..=12).contains(&hour), clear: self.clear, ..earlier })
    }
}

/// A time of day with what stands before it: "at 5pm", "alle 8", "around noon".
pub(crate) fn clock(p: &Parser<'_>, at: usize) -> Found<Clock> {
    let about = p.skip(at, p.words.about);
    let start = p.skip(about, if p.english() { &[] } else { &["a", "alla", "le", "l", "per", "di"] });
    let behind = |at: usize| p.one_of(at, p.words.at).map(|next| (p.skip(next, p.words.about), true));
    // "around 4" says as much as "at 4".
    let marked = behind(about).or_else(|| behind(at)).or_else(|| p.phrase(at, "around").map(|next| (next, true)));
    let plain = (start, false);
    let all = at == 0 && p.any(at, &["le", "l"]);
    let read = |(next, marked): (usize, bool)| {
        let whole = all.then(|| core(p, next, true)).flatten().filter(|(_, next)| *next == p.tokens.len());
        let (clock, next) = whole.or_else(|| core(p, next, marked))?;
        let next = p.skip(next, p.words.exactly);
        let day = p.meaning(next, p.words.days).and_then(|(_, next)| p.meaning(next, p.words.parts));
        let parted = part::qualifying(p, next).is_some() || day.is_some();
        let marked = marked || (all && next == p.tokens.len());
        (clock.clear || marked || parted).then_some((clock, next))
    };
    let found = longest([marked.and_then(read), read(plain), read((about, false))]);
    let (mut clock, next) = found?;
    if about > at && clock.assumed.is_none() {
        clock.assumed = Some("approximate");
    }
    Some((clock, next))
}

/// A time of day without what stands before it; a bare number only where `marked`.
pub(crate) fn core(p: &Parser<'_>, at: usize, marked: bool) -> Found<Clock> {
    let found = longest([
        named(p, at),
        relative(p, at),
        written(p, at, marked),
        with_minutes(p, at, marked),
        together(p, at, marked),
        bare(p, at),
    ]);
    let (clock, next) = found?;
    half(p, clock, next)
}

/// Adds "am", "pm" and "o'clock".
fn half(p: &Parser<'_>, clock: Clock, at: usize) -> Found<Clock> {
    let oclock = p.phrase(at, "oclock").filter(|_| p.english() && clock.minute == 0 && clock.hour <= 12);
    let (clock, at) = oclock.map_or((clock, at), |next| (clock.clear(), next));
    let afternoon = match p.text(at) {
        "am" => false,
        "pm" => true,
        "a" | "p" if is_letter_of_half(p, at, clock.written) => p.is(at, "p"),
        _ => return Some((clock, at)),
    };
    Some((clock.in_half(afternoon)?, at + 1))
}

/// Whether the letter behind an hour is the half of the day: "3:15p", "at 7a", "from 9a to 5p". "Flat 7a" is no time.
fn is_letter_of_half(p: &Parser<'_>, at: usize, written: bool) -> bool {
    const BEFORE: &[&str] = &["at", "@", "from", "to", "until", "till", "by", "between", "and", "-", "around", "about"];
    let told = written || at >= 2 && p.any(at - 2, BEFORE) || at == 1 && p.tokens.len() == 2;
    p.english() && p.any(at, &["a", "p"]) && p.glued(at) && !p.glued(at + 1) && told
}

/// Noon and midnight, and what Italian adds to them.
fn named(p: &Parser<'_>, at: usize) -> Found<Clock> {
    let noon = p.one_of(at, p.words.noon).map(|next| (12, next));
    let midnight = p.one_of(at, p.words.midnight).map(|next| (24, next));
    let (hour, next) = longest([noon, midnight])?;
    let clock = Clock::new(hour, 0)?.certain();
    if let Some((minutes, next)) = italian_before(p, next) {
        return Some((clock.before(minutes)?.certain(), next));
    }
    match italian_minutes(p, next) {
        Some((minute, next)) => {
            Some((Clock { midnight: hour == 24, ..Clock::new(hour % 24, minute)?.certain() }, next))
        }
        None => Some((clock, next)),
    }
}

/// An hour from one to twelve, or to twenty-four, in digits or words.
fn hour(p: &Parser<'_>, at: usize) -> Found<Clock> {
    let (number, next) =
        longest([number::cardinal(p, at), p.phrase(at, "una").filter(|_| !p.english()).map(|next| (1, next))])?;
    let short = p.digits(at).is_none_or(|(_, length)| length <= 2);
    let zero = p.token(at).is_some_and(|token| token.text.len() == 2 && token.text.starts_with('0'));
    let clock = Clock::new(number, 0).filter(|_| short)?;
    Some((Clock { either: clock.either && !zero, ..clock }, next))
}

/// Minutes in words before and after the hour in English: "half past three", "ten to six"; in Italian "un quarto alle tre".
fn relative(p: &Parser<'_>, at: usize) -> Found<Clock> {
    let quarters: &[(&str, i64)] = if p.english() {
        &[("quarter", 15), ("a quarter", 15), ("half", 30)]
    } else {
        &[("un quarto", 15), ("tre quarti", 45), ("mezz ora", 30)]
    };
    let quarter = longest(quarters.iter().map(|(phrase, minutes)| p.phrase(at, phrase).map(|next| (*minutes, next))));
    let counted = number::cardinal(p, at).filter(|(minutes, _)| (1..=59).contains(minutes));
    let (minutes, next) = longest([quarter, counted])?;
    let unit: &[&str] = if p.english() { &["minutes", "minute", "mins"] } else { &["minuti", "minuto", "min"] };
    let next = p.skip(next, unit);
    let (past, to): (&[&str], &[&str]) =
        if p.english() { (&["past", "after"], &["to", "till", "before"]) } else { (&[], &["alle", "all", "alla"]) };
    let of = p.phrase(next, "of").filter(|_| quarter.is_some() && minutes == 15).map(|next| (false, next));
    let direct = (minutes == 30 && p.is(at, "half")).then_some((true, next));
    let side = longest([p.one_of(next, past).map(|n| (true, n)), p.one_of(next, to).map(|n| (false, n)), direct, of]);
    let (after, next) = side?;
    // "2 to 4 pm" is a range; "10 to 6" is a time only behind "at".
    let bare = p.english() && p.digits(at).is_some() && p.digits(next).is_some() && next == at + 2 && !after;
    let told = at > 0 && p.any(at - 1, &["at", "@", "around", "about", "by", "until", "before", "after"]);
    // "two to four people" are no minutes, "ten to four" are.
    let spelled = p.english() && !after && p.digits(at).is_none() && !matches!(minutes, 5 | 10) && next == at + 2;
    if (bare || spelled) && minutes <= 12 && !told {
        return None;
    }
    let (whole, next) = longest([hour(p, next), named(p, next)]).filter(|(clock, _)| clock.minute == 0)?;
    let behind = p.any(next, &[":", "."]) && p.glued(next);
    // In Italian "dieci alle sei" has its minutes in words: "5 alle 6" is two numbers.
    let sound = !behind && (p.english() || quarter.is_some() || p.digits(at).is_none() || next > at + 3);
    let clock = if after {
        Clock { either: whole.either, midnight: false, ..Clock::new(i64::from(whole.hour), minutes)? }
    } else {
        whole.before(minutes)?
    };
    // "9 to 5" may be a score as well as a time.
    let told = p.digits(at).is_none() || next > at + 3;
    sound.then(|| (if told { clock.clear() } else { clock }, next))
}

/// More hours than this with minutes are hardly a length of time: "11h45" is before noon.
const LONG_HOURS: i64 = 9;

/// "17:00", "7:30:15", "17.30", "17h30", "17h".
fn written(p: &Parser<'_>, at: usize, marked: bool) -> Found<Clock> {
    let (hour, length) = p.digits(at)?;
    let separator = p.text(at + 1);
    if length > 2 || !p.glued(at + 1) {
        return None;
    }
    let minutes = p.digits(at + 2).filter(|(_, length)| *length == 2 && p.glued(at + 2));
    // "2h" and "2h30" by themselves are lengths of time.
    let told = marked
        || p.meaning(at + if minutes.is_some() { 3 } else { 2 }, ZONES).is_some()
        || minutes.is_some() && hour > LONG_HOURS;
    if separator == "h" && !told && hour <= 12 {
        return None;
    }
    if separator == "h" && minutes.is_none() {
        return Some((Clock::new(hour, 0)?.certain(), at + 2));
    }
    let (minute, _) = minutes?;
    let pm = p.any(at + 3, &["am", "pm"]);
    let sound = match separator {
        ":" | "h" => true,
        "." | "," => {
            (marked || pm || (at == 0 && p.tokens.len() == 3 && separator == "." && !p.english()))
                && !goes_on(p, at + 3)
                && (separator == "." || !p.english())
        }
        _ => false,
    };
    let clock = Clock::new(hour, minute).filter(|_| sound)?;
    let seconds =
        p.digits(at + 4).filter(|(_, length)| *length == 2 && p.is(at + 3, ":") && p.glued(at + 3) && p.glued(at + 4));
    let zero = p.token(at).is_some_and(|token| token.text.starts_with('0'));
    let as_written = !p.english() || zero || separator == "h" || seconds.is_some();
    let assumed = (clock.either && as_written && !zero).then_some(AS_WRITTEN);
    let either = clock.either && !as_written;
    let clock = Clock { grain: Grain::Minute, written: true, either, assumed, ..clock }.clear();
    match seconds {
        Some((second, _)) if second < 60 => {
            Some((Clock { second: i8::try_from(second).ok()?, grain: Grain::Second, ..clock }, fraction(p, at + 5)))
        }
        Some(_) => None,
        None => (!goes_on(p, at + 3) || p.any(at + 3, &["-", "+"])).then_some((clock, at + 3)),
    }
}

/// The position behind fractions of a second.
fn fraction(p: &Parser<'_>, at: usize) -> usize {
    let digits = p.token(at + 1).is_some_and(|token| token.kind == Kind::Number && token.glued);
    if p.is(at, ".") && p.glued(at) && digits { at + 2 } else { at }
}

/// What follows an hour in Italian: "e mezza", "e un quarto", "e venti", in minutes.
fn italian_minutes(p: &Parser<'_>, at: usize) -> Found<i64> {
    if p.english() {
        return None;
    }
    let next = p.phrase(at, "e")?;
    let named = longest([
        p.one_of(next, &["mezza", "mezzo"]).map(|next| (30, next)),
        p.one_of(next, &["un quarto", "quarto"]).map(|next| (15, next)),
        p.phrase(next, "tre quarti").map(|next| (45, next)),
    ]);
    let counted = number::cardinal(p, next).filter(|(minutes, _)| (1..=59).contains(minutes));
    let (minutes, next) = longest([named, counted])?;
    Some((minutes, p.skip(next, &["minuti", "minuto"])))
}

/// An hour and minutes in words: "seven thirty", "five oh five", "le otto e venti", "le tre meno dieci".
fn with_minutes(p: &Parser<'_>, at: usize, marked: bool) -> Found<Clock> {
    let (whole, next) = hour(p, at)?;
    let of = |minute: i64| Some(Clock { either: whole.either, ..Clock::new(i64::from(whole.hour), minute)? });
    if p.english() {
        let zero =
            p.one_of(next, &["oh", "o", "zero"]).and_then(|next| number::spelled(p, next)).filter(|(n, _)| *n < 10);
        let tens = number::spelled(p, next).filter(|(minutes, _)| (10..=59).contains(minutes));
        let (minute, next) = longest([zero, tens])?;
        let told = marked || p.any(next, &["am", "pm"]) || part::introduced(p, next).is_some();
        // "twelve oh three" is nothing else.
        let told = told || zero.is_some_and(|(_, after)| after == next) && p.any(next - 2, &["oh", "zero"]);
        let sound = p.digits(at).is_none() && told;
        return sound.then(|| Some((of(minute)?, next)))?;
    }
    if let Some((minute, next)) = italian_minutes(p, next) {
        // "alle 8 e 20" has digits only where something says that it is a time.
        let half = p.any(next - 1, &["mezza", "mezzo", "quarto", "quarti"]);
        let clock = of(minute)?;
        let told = marked || half || part::introduced(p, next).is_some();
        return told.then_some((if half { clock.clear() } else { clock }, next));
    }
    let (minutes, next) = italian_before(p, next)?;
    Some((whole.before(minutes)?.clear(), next))
}

/// What is taken from an hour in Italian: "meno un quarto", "meno dieci", in minutes.
fn italian_before(p: &Parser<'_>, at: usize) -> Found<i64> {
    let next = p.phrase(at, "meno").filter(|_| !p.english())?;
    let quarter = p.one_of(next, &["un quarto", "quarto"]).map(|next| (15, next));
    let counted = number::cardinal(p, next).filter(|(minutes, _)| (1..=59).contains(minutes));
    let (minutes, next) = longest([quarter, counted])?;
    Some((minutes, p.skip(next, &["minuti"])))
}

/// "1730", "0730": four digits where something says that it is a time.
fn together(p: &Parser<'_>, at: usize, marked: bool) -> Found<Clock> {
    let (number, length) = p.digits(at)?;
    let hours = p.any(at + 1, &["hours", "hrs"]);
    let half = p.any(at + 1, &["am", "pm"]);
    // "330 pm", and not "at 330 euros".
    let short = length == 3 && (half || marked && part::introduced(p, at + 1).is_some());
    if short && !goes_on(p, at + 1) {
        let clock = Clock::new(number / 100, number % 100)?;
        return Some((Clock { grain: Grain::Minute, ..clock }.clear(), at + 1));
    }
    if length != 4 || !(marked || hours || half) || goes_on(p, at + 1) {
        return None;
    }
    let clock = Clock::new(number / 100, number % 100)?;
    let clock = Clock { grain: Grain::Minute, either: false, ..clock }.clear();
    Some((clock, if hours { at + 2 } else { at + 1 }))
}

/// Words behind a number that make it a count of something.
const COUNTED: &[&str] = &[
    "%", "€", "$", "£", "euro", "euros", "dollars", "degrees", "gradi", "km", "kg", "people", "persone", "percent",
    "percento", "cento", "times", "volte", "x", "g", "ml", "cm", "mm", "°", "o", "watt", "metri", "metres", "meters",
    "miles", "street", "pages", "pagine",
];

/// An hour alone.
fn bare(p: &Parser<'_>, at: usize) -> Found<Clock> {
    let (clock, next) = hour(p, at)?;
    let counted = p.any(next, COUNTED) || goes_on(p, next) || p.is(next, "'");
    let measured = duration::unit(p, next).is_some() && p.meaning(next, ZONES).is_none();
    let ordinal = p.glued(next)
        && p.any(next, &["st", "nd", "rd", "th", "h", "d", "w", "m", "s", "a"])
        && !is_letter_of_half(p, next, false);
    (!counted && !measured && !ordinal).then_some((clock, next))
}

/// Two times of day with what joins them: "from 3 to 5pm", "9:30 - 11", "dalle 9 alle 18".
pub(crate) fn range(p: &Parser<'_>, at: usize) -> Found<(Clock, Clock)> {
    let from = p.one_of(at, p.words.from).map(|next| (next, p.words.to, true));
    let and: &[&str] = if p.english() { &["and"] } else { &["e le", "e l", "e", "e all", "e alle"] };
    let between = p.one_of(at, p.words.between).map(|next| (next, and, true));
    // "at five to nine" is no range: only "from" and "between" introduce a bare number. "delle 15 alle 16" does in Italian.
    let marked = p.one_of(at, p.words.at).map(|next| (next, p.words.to, !p.english()));
    let plain = Some((at, p.words.to, false));
    longest([from, between, marked, plain].into_iter().flatten().map(|(start, joints, introduced)| {
        let (first, joint) = before_joint(p, p.skip(start, &["le", "l"]), joints)?;
        let (second, next) = core(p, p.skip(joint, &["le", "l"]), true)?;
        let next = p.skip(next, p.words.exactly);
        let dash = p.is(joint - 1, "-");
        let halved = start == at && second.clear && first.either && p.digits(start).is_some();
        let clear = introduced || first.clear || (second.clear && dash) || halved;
        // "at 9 to 10 people": a bare number at the end needs more than a bare number at the beginning.
        let year =
            |at: usize| p.digits(at).is_some_and(|(number, length)| length == 4 && (1_900..2_100).contains(&number));
        // "alle 15 fino al 15 dicembre" ends on a day.
        let dated = p.any(joint - 1, &["al", "il"]) || date::month_name(p, next).is_some();
        // "11-2016" is a month.
        let number =
            |at: usize| p.digits(at).is_some_and(|(_, length)| length <= 2) && !p.any(at + 1, &[":", "h", "."]);
        let month = year(start) && number(joint) || number(start) && year(joint);
        // "il 5 alle 4" is a day.
        let dated = dated || start > 0 && p.is(start - 1, "il");
        let month = month || year(start) && year(joint);
        let clear = clear && !dated && !month;
        let sound = clear && !(p.any(joint - 1, &["to", "a"]) && !introduced && !first.clear && !halved);
        sound.then(|| Some((agreed(first, second)?, next)))?
    }))
}

/// The first time of a range and the position behind the joint: "9 to 5" is no five minutes before five here.
fn before_joint(p: &Parser<'_>, at: usize, joints: &[&str]) -> Found<Clock> {
    longest([core(p, at, true), plain(p, at)].into_iter().map(|found| {
        let (clock, next) = found?;
        let next = p.skip(next, p.words.exactly);
        let parted = part::qualifying(p, next).and_then(|(part, next)| Some((clock.within(part)?, next)));
        let (clock, next) = parted.unwrap_or((clock, next));
        Some((clock, p.one_of(next, joints)?))
    }))
}

/// An hour by itself with what tells its half.
fn plain(p: &Parser<'_>, at: usize) -> Found<Clock> {
    let (clock, next) = hour(p, at)?;
    half(p, clock, next)
}

/// The two ends of a range in the halves of the day that they leave each other.
fn agreed(first: Clock, second: Clock) -> Option<(Clock, Clock)> {
    let minutes = |clock: Clock| i32::from(clock.hour) * 60 + i32::from(clock.minute);
    let written = first.written || second.written;
    // "dalle 1:30 pm alle 3:30" ends in the same half of the day.
    let second = if first.half && minutes(second) <= minutes(first) { second.halved() } else { second };
    match (first.either, second.either) {
        (true, false) => {
            let morning = if first.hour == 12 { first.certain() } else { Clock { either: false, ..first } };
            let afternoon = first.in_half(true)?;
            let late = minutes(afternoon) < minutes(second) || second.midnight;
            // What ends after noon by the clock of 24 hours begins by it as well: "dalle 9 alle 18", but "3 to 5pm".
            let by_half = second.clear && (!second.written || second.half) && second.hour > 12 && late;
            Some((if by_half { afternoon } else { morning }, second))
        }
        (true, true) if written => agreed(first.certain(), second),
        (false, true) => {
            let early = Clock { either: false, ..second };
            let late = second.in_half(true)?;
            // "from 11 pm to 3" ends in the night.
            let next_day = minutes(late) <= minutes(first);
            Some((first, if next_day || minutes(early) > minutes(first) { early } else { late }))
        }
        (true | false, true | false) => Some((first, second)),
    }
}
