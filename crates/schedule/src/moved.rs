//! A cadence that is put to another time: "move it to 10", "to Friday", "by an hour". What the words leave out stays as it was.

use jiff::Zoned;
use jiff::civil::{DateTime, Time};
use metnos_when::{Grain, Kind, Reading};

use crate::cadence::Cadence;
use crate::due;
use crate::reading::{Assumed, Unfit};

/// What `metnos-when` assumes of a time of day without a day.
const NO_DAY: &str = "next-future";

impl Cadence {
    /// This cadence at the time that words mean, with what was assumed; `read` reads the words as they are meant at a moment.
    /// - What is due once is due at the time of day that the words name, on the day that they name; where they name only one of
    ///   the two, the other stays. A duration is added to the time for which it was planned.
    /// - Of two readings ("at 8") that in the same half of the day is meant, where it is one.
    /// - A cron of one time of day gets another time of day, or becomes the recurrence that the words name.
    ///
    /// # Errors
    /// Why there is no such cadence; [`Unfit::Repeats`] where words about one time would end a recurrence.
    pub fn moved(&self, read: impl Fn(&Zoned) -> Reading, now: &Zoned) -> Result<(Self, Vec<Assumed>), Unfit> {
        let hour = self.next_after(now.datetime()).map(|at| at.hour());
        let read = |at: &Zoned| of_the_same_half(read(at), hour);
        let reading = read(now);
        if reading.kind == Kind::Interval {
            return Err(Unfit::Vague);
        }
        match self {
            Self::Once(at) => once_moved(*at, &reading, read, now),
            Self::Cron(_) | Self::Rule { .. } if reading.kind == Kind::Recurrence => Self::of_reading(&reading, now),
            Self::Cron(fields) => {
                let hour = time_of_day(&reading, now)?.ok_or(Unfit::Repeats)?;
                let cron = cron_at(fields, hour).ok_or(Unfit::Repeats)?;
                Ok((Self::Cron(cron), Vec::new()))
            }
            Self::Rule { .. } => Err(Unfit::Repeats),
        }
    }
}

impl Cadence {
    /// This cadence earlier by the duration that words mean: what is due once, or by a cron of one time of day, which stays on its day.
    ///
    /// # Errors
    /// Why there is no such cadence: the words mean no duration, that time is over, or it would be another day.
    pub fn earlier(&self, reading: &Reading, now: &Zoned) -> Result<Self, Unfit> {
        if reading.kind != Kind::Duration {
            return Err(Unfit::None);
        }
        let zoned = |at: DateTime| due::instant(now.time_zone(), at).map(|at| at.to_zoned(now.time_zone().clone()));
        let at = self.next_after(now.datetime()).and_then(zoned).ok_or(Unfit::Past)?;
        let Self::Once(later) = Self::of_reading(reading, &at)?.0 else { return Err(Unfit::None) };
        let by = later.duration_since(at.datetime());
        let sooner = at.datetime().checked_sub(by).map_err(|_| Unfit::Past)?;
        match self {
            Self::Once(_) if zoned(sooner).is_some_and(|sooner| sooner > *now) => Ok(Self::Once(sooner)),
            Self::Once(_) => Err(Unfit::Past),
            Self::Cron(fields) if sooner.date() == at.date() => {
                cron_at(fields, sooner.time()).map(Self::Cron).ok_or(Unfit::Repeats)
            }
            Self::Cron(_) | Self::Rule { .. } => Err(Unfit::Repeats),
        }
    }
}

fn once_moved(
    at: DateTime,
    reading: &Reading,
    read: impl Fn(&Zoned) -> Reading,
    now: &Zoned,
) -> Result<(Cadence, Vec<Assumed>), Unfit> {
    let zoned = |at: DateTime| due::instant(now.time_zone(), at).map(|at| at.to_zoned(now.time_zone().clone()));
    let is_ahead =
        |cadence: &Cadence| matches!(cadence, Cadence::Once(key) if zoned(*key).is_some_and(|key| key > *now));
    let ahead = |found: (Cadence, Vec<Assumed>)| if is_ahead(&found.0) { Ok(found) } else { Err(Unfit::Past) };
    if reading.kind == Kind::Duration {
        return ahead(Cadence::of_reading(reading, &zoned(at).ok_or(Unfit::Past)?)?);
    }
    if reading.kind == Kind::Instant && reading.grain == Some(Grain::Day) {
        let day = reading.start.as_ref().ok_or(Unfit::None)?.with_time_zone(now.time_zone().clone()).date();
        return ahead((Cadence::Once(day.to_datetime(at.time())), Vec::new()));
    }
    if names_no_day(reading) {
        let day = zoned(at.date().to_datetime(Time::midnight())).ok_or(Unfit::Past)?;
        let that_day = Cadence::of_reading(&read(&day), &day);
        if let Some(found) = that_day.ok().filter(|(cadence, _)| is_ahead(cadence)) {
            return Ok(found);
        }
    }
    Cadence::of_reading(reading, now)
}

/// Of two readings the one in the half of the day in which it was planned.
fn of_the_same_half(mut reading: Reading, hour: Option<i8>) -> Reading {
    let Some(hour) = hour.filter(|_| reading.kind == Kind::None) else { return reading };
    let fits = |one: &&Reading| one.start.as_ref().is_some_and(|start| (start.hour() < 12) == (hour < 12));
    if reading.readings.iter().filter(fits).count() != 1 {
        return reading;
    }
    match reading.readings.iter().position(|one| fits(&one)) {
        Some(at) => reading.readings.swap_remove(at),
        None => reading,
    }
}

fn names_no_day(reading: &Reading) -> bool {
    reading.assumed.contains(&NO_DAY)
}

/// The time of day that was named, where no day was.
fn time_of_day(reading: &Reading, now: &Zoned) -> Result<Option<Time>, Unfit> {
    let (cadence, _) = Cadence::of_reading(reading, now)?;
    Ok(match cadence {
        Cadence::Once(at) if names_no_day(reading) => Some(at.time()),
        Cadence::Once(_) | Cadence::Cron(_) | Cadence::Rule { .. } => None,
    })
}

/// The same fields of cron at another time of day, where they have one.
fn cron_at(fields: &str, time: Time) -> Option<String> {
    let (minute, rest) = fields.split_once(' ')?;
    let (hour, days) = rest.split_once(' ')?;
    let is_one = |field: &str| !field.is_empty() && field.bytes().all(|byte| byte.is_ascii_digit());
    let whole = time.second() == 0 && is_one(minute) && is_one(hour);
    whole.then(|| format!("{} {} {days}", time.minute(), time.hour()))
}

#[cfg(test)]
mod tests {
    use jiff::civil::date;
    use jiff::tz::TimeZone;
    use metnos_when::{Context, Language};

    use super::*;

    fn now() -> Zoned {
        // A Friday.
        date(2026, 11, 27).at(11, 0, 0, 0).to_zoned(TimeZone::fixed(jiff::tz::offset(1))).unwrap()
    }

    fn moved(cadence: &Cadence, words: &str, language: Language) -> Result<Cadence, Unfit> {
        cadence
            .moved(|at| metnos_when::read(words, &Context::new(at.clone(), language)), &now())
            .map(|(found, _)| found)
    }

    #[test]
    fn what_the_words_leave_out_stays_as_it_was() {
        let monday = Cadence::Once(date(2026, 11, 30).at(9, 30, 0, 0));
        let at = |day: i8, hour: i8, minute: i8| {
            let (month, day) = if day > 30 { (12, day - 30) } else { (11, day) };
            Ok(Cadence::Once(date(2026, month, day).at(hour, minute, 0, 0)))
        };
        for (words, language, found) in [
            ("at 10:15", Language::English, at(30, 10, 15)),
            ("at 8", Language::English, at(30, 8, 0)),
            ("alle 18", Language::Italian, at(30, 18, 0)),
            ("Tuesday", Language::English, at(31, 9, 30)),
            ("martedì", Language::Italian, at(31, 9, 30)),
            ("tomorrow", Language::English, at(28, 9, 30)),
            ("tomorrow at 8 in the morning", Language::English, at(28, 8, 0)),
            ("an hour", Language::English, at(30, 10, 30)),
            ("30 minuti", Language::Italian, at(30, 10, 0)),
            ("in 20 minutes", Language::English, at(27, 11, 20)),
        ] {
            assert_eq!(moved(&monday, words, language), found, "{words}");
        }
        // Its own day is nearly over: then it is the next time of day.
        let today = Cadence::Once(date(2026, 11, 27).at(12, 0, 0, 0));
        assert_eq!(moved(&today, "alle 10:30", Language::Italian), at(28, 10, 30));
        assert_eq!(moved(&today, "yesterday", Language::English), Err(Unfit::Past));
    }

    #[test]
    fn what_comes_earlier_stays_ahead_and_on_its_day_where_it_repeats() {
        let earlier = |cadence: &Cadence, words: &str, language: Language| {
            cadence.earlier(&metnos_when::read(words, &Context::new(now(), language)), &now())
        };
        let monday = Cadence::Once(date(2026, 11, 30).at(9, 30, 0, 0));
        let once = |day: i8, hour: i8, minute: i8| Ok(Cadence::Once(date(2026, 11, day).at(hour, minute, 0, 0)));
        assert_eq!(earlier(&monday, "an hour", Language::English), once(30, 8, 30));
        assert_eq!(earlier(&monday, "mezz'ora", Language::Italian), once(30, 9, 0));
        assert_eq!(earlier(&monday, "two days", Language::English), once(28, 9, 30));
        assert_eq!(earlier(&monday, "a week", Language::English), Err(Unfit::Past));
        assert_eq!(earlier(&monday, "tomorrow", Language::English), Err(Unfit::None));
        let daily = Cadence::Cron("30 7 * * *".to_owned());
        assert_eq!(earlier(&daily, "an hour", Language::English), Ok(Cadence::Cron("30 6 * * *".to_owned())));
        assert_eq!(earlier(&daily, "8 hours", Language::English), Err(Unfit::Repeats));
    }

    #[test]
    fn a_recurrence_gets_another_time_of_day_and_does_not_end() {
        let weekly = Cadence::Cron("30 7 * * 1".to_owned());
        let cron = |text: &str| Ok(Cadence::Cron(text.to_owned()));
        assert_eq!(moved(&weekly, "alle 8:15", Language::Italian), cron("15 8 * * 1"));
        assert_eq!(moved(&weekly, "every Tuesday at 18:00", Language::English), cron("0 18 * * 2"));
        for words in ["tomorrow", "tomorrow at 10", "in 20 minutes"] {
            assert_eq!(moved(&weekly, words, Language::English), Err(Unfit::Repeats), "{words}");
        }
        let often = Cadence::Cron("*/5 7 * * 1".to_owned());
        assert_eq!(moved(&often, "at 18:00", Language::English), Err(Unfit::Repeats));
    }
}
