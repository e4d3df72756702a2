//! What is said of something that happens again: "every Monday at 7:30", "il 5 di ogni mese", "daily until Friday".

mod head;
pub(crate) mod rule;

use jiff::civil::DateTime;

use self::head::{head, month_days, of_month, on_date, on_feast, placed_day, weekdays};
use self::rule::{At, Rule};
use crate::clock::part::{self, Hour};
use crate::clock::{self, Clock};
use crate::dates::Sort;
use crate::dates::date;
use crate::dates::holiday;
use crate::dates::weekday;
use crate::duration;
use crate::moment::{self, Meaning, Slots};
use crate::number;
use crate::parser::{Found, Parser, longest};
use crate::words::{Part, Sort as PartSort};
use crate::{Grain, civil};

/// A rule with the times of day as they were said.
#[derive(Debug, Clone)]
pub(crate) struct Said {
    pub(crate) rule: Rule,
    pub(crate) clocks: Vec<Clock>,
    pub(crate) part: Option<Part>,
    /// When it ends each time, where that was said: "from 9 to 10".
    pub(crate) ends: Option<Clock>,
    /// Whether it may as well be meant once: "the first Monday of the month".
    pub(crate) once: bool,
    /// How long it goes on, where that was said as a duration.
    lasting: Option<duration::Duration>,
}

impl Said {
    fn new(rule: Rule) -> Self {
        Self { rule, clocks: Vec::new(), part: None, ends: None, once: false, lasting: None }
    }

    /// Adds a time of day that was said elsewhere in the sentence.
    pub(crate) fn at(&self, slots: &Slots) -> Option<Self> {
        let free = self.clocks.is_empty() && slots.is_time_only() && slots.zone.is_none();
        let part = self.part.or(slots.part);
        free.then(|| Self { clocks: slots.clock.into_iter().collect(), part, ..self.clone() })
    }

    /// Adds the end that was said elsewhere in the sentence: "until March".
    pub(crate) fn until(&self, meaning: &Meaning) -> Option<Self> {
        let free = self.rule.until.is_none() && self.rule.count.is_none() && meaning.start.is_none();
        let end = meaning.end.filter(|_| free)?;
        let day = meaning.grain >= Grain::Day;
        let last = if day { civil::add_seconds(civil::add(*end, meaning.grain, 1)?, -1)? } else { *end };
        Some(Self { rule: Rule { until: Some(last), ..self.rule.clone() }, ..self.clone() })
    }

    /// Adds the beginning that was said elsewhere: "starting tomorrow, ...".
    pub(crate) fn starting(&self, meaning: &Meaning) -> Option<Self> {
        let free = self.rule.from.is_none() && meaning.end.is_none() && meaning.grain >= Grain::Day;
        let from = meaning.start.filter(|_| free)?;
        Some(Self { rule: Rule { from: Some(*from), ..self.rule.clone() }, ..self.clone() })
    }

    /// The rules that it can mean, with what was assumed: two where the half of the day is not said.
    pub(crate) fn rules(&self, p: &Parser<'_>) -> Vec<(Rule, Vec<&'static str>)> {
        let rule = self.rule.clone();
        if matches!(rule.every, Grain::Minute | Grain::Hour) {
            let timed = !self.clocks.is_empty() || self.part.is_some();
            return if timed { Vec::new() } else { self.bounded(p, rule, Vec::new()).into_iter().collect() };
        }
        let Some(part) = self.part.filter(|_| self.clocks.is_empty()) else {
            return self.at_clocks(p, rule);
        };
        let hour = usual_hour(part);
        let rule = Rule { times: vec![At { hour, minute: 0 }], ..rule };
        self.bounded(p, rule, vec!["usual-hour"]).into_iter().collect()
    }

    fn at_clocks(&self, p: &Parser<'_>, rule: Rule) -> Vec<(Rule, Vec<&'static str>)> {
        let parted = self.part.is_some();
        let clocks: Vec<Clock> = self.clocks.iter().map(|c| if parted { c.halved() } else { *c }).collect();
        let hours: Vec<Vec<Hour>> = clocks.iter().map(|clock| part::hours(*clock, self.part, true)).collect();
        let choices = hours.iter().map(Vec::len).max().unwrap_or(1);
        let alternatives = if hours.len() == 1 { choices } else { 1 };
        if hours.iter().any(Vec::is_empty) || (hours.len() > 1 && choices > 1) {
            return Vec::new();
        }
        (0..alternatives)
            .filter_map(|choice| {
                let mut assumed: Vec<&'static str> = clocks.iter().filter_map(|clock| clock.assumed).collect();
                let mut times = Vec::new();
                for (clock, hours) in clocks.iter().zip(&hours) {
                    let hour = *hours.get(choice)?;
                    assumed.extend(hour.assumed);
                    times.push(At::new(hour, clock.minute));
                }
                assumed.dedup();
                let ends = self.ends.and_then(|last| Some(end_of(*times.first()?, last)));
                self.bounded(p, Rule { times, ends, ..rule.clone() }, assumed)
            })
            .collect()
    }

    /// The rule with the end that a duration sets: a count of its own unit, or the moment so long after the first time.
    fn bounded(&self, p: &Parser<'_>, rule: Rule, assumed: Vec<&'static str>) -> Option<(Rule, Vec<&'static str>)> {
        let mut rule = rule.completed();
        if let Some(far) = self.lasting {
            let single = rule.times.len() <= 1 && rule.weekdays.len() <= 1 && rule.month_days.len() <= 1;
            match far.count.filter(|_| single && far.grain == rule.every) {
                Some(count) => rule.count = Some(count / rule.interval.max(1)).filter(|count| *count > 0),
                None => {
                    let last = far.from(p.wall, rule.first(p)?, true)?;
                    rule.until = civil::add_seconds(*last, -1);
                }
            }
        }
        Some((rule, assumed))
    }
}

/// When a range that begins at a time of day ends: the next hour that its last clock can mean.
fn end_of(first: At, last: Clock) -> At {
    let at = |hour: i8| At { hour, minute: last.minute };
    let late = at((last.hour + 12) % 24);
    if last.either && at(last.hour) <= first && late > first { late } else { at(last.hour) }
}

/// The hour that a part of the day stands for.
fn usual_hour(part: Part) -> i8 {
    match part.sort {
        PartSort::Morning => 8,
        PartSort::Midday => 13,
        PartSort::Afternoon => 15,
        PartSort::Evening => 20,
        PartSort::Night | PartSort::SmallHours => 22,
    }
}

/// A recurrence: its head, and what is added before and behind.
pub(crate) fn recurrence(p: &Parser<'_>, at: usize) -> Found<Said> {
    let range = clock::range(p, at).map(|((first, last), next)| ((vec![first], Some(last)), next));
    let times = clocks(p, at).map(|(clocks, next)| ((clocks, None), next));
    let ((clocks, ends), start) = longest([range, times]).unwrap_or(((Vec::new(), None), at));
    let start = if start > at && p.is(start, ",") { start + 1 } else { start };
    // "alle 8 di sabato" is one Saturday.
    let (mut said, mut next) = head(p, start, start > at).filter(|_| start == at || !p.is(start, "di"))?;
    (said.clocks, said.ends) = (clocks, ends);
    for _ in 0..6 {
        let after_comma = if p.is(next, ",") { next + 1 } else { next };
        let Some(after) = modifier(p, after_comma, &mut said) else { break };
        next = after;
    }
    Some((said, next))
}

/// Times of day one after the other: "at 8 and at 20".
fn clocks(p: &Parser<'_>, at: usize) -> Found<Vec<Clock>> {
    let (first, mut next) = clock::clock(p, at)?;
    let mut all = vec![first];
    for _ in 0..5 {
        let joint = if p.is(next, ",") { next + 1 } else { next };
        let joint = p.skip(joint, p.words.and);
        if joint == next {
            break;
        }
        let bare = clock::core(p, joint, true).filter(|_| p.digits(joint).is_some());
        let Some((clock, after)) = longest([clock::clock(p, joint), bare]) else { break };
        all.push(clock);
        next = after;
    }
    Some((all, next))
}

/// Reads one thing that is said besides, and adds it; the position behind it.
fn modifier(p: &Parser<'_>, at: usize, said: &mut Said) -> Option<usize> {
    if said.clocks.is_empty() {
        let range = clock::range(p, at).map(|((first, last), next)| ((vec![first], Some(last)), next));
        let times = clocks(p, at).map(|(clocks, next)| ((clocks, None), next));
        if let Some(((clocks, ends), next)) = longest([range, times]) {
            (said.clocks, said.ends) = (clocks, ends);
            return Some(next);
        }
    }
    if said.part.is_none()
        && let Some((part, next)) = longest([part::introduced(p, at), p.meaning(at, p.words.parts)])
    {
        said.part = Some(part);
        return Some(next);
    }
    bound(p, at, said).or_else(|| on_days(p, at, said))
}

/// "until Friday", "for 10 days", "5 times", "starting tomorrow".
fn bound(p: &Parser<'_>, at: usize, said: &mut Said) -> Option<usize> {
    if let Some(next) = p.one_of(at, p.words.until) {
        let (slots, next) = moment::slots(p, next)?;
        said.rule.until = Some(last_moment(p, &slots)?);
        return Some(next);
    }
    let counted = p.one_of(at, p.words.lasting).and_then(|next| number::cardinal(p, next));
    if let Some((count, next)) = counted
        && let Some(next) = p.one_of(next, &["times", "volte", "occurrences"])
    {
        said.rule.count = Some(count).filter(|count| (1..=9_999).contains(count));
        return said.rule.count.map(|_| next);
    }
    if let Some(next) = p.one_of(at, p.words.lasting)
        && let Some((far, next)) = duration::duration(p, next)
    {
        said.lasting = Some(far).filter(|far| far.grain >= Grain::Day);
        return said.lasting.map(|_| next);
    }
    let next = p.one_of(at, p.words.after)?;
    let (mut slots, next) = moment::slots(p, next).filter(|(slots, _)| slots.day.is_some())?;
    if let Some(clock) = slots.clock.take() {
        if !said.clocks.is_empty() {
            return None;
        }
        said.clocks.push(clock);
    }
    let meanings = moment::meanings(p, &slots);
    let [meaning] = meanings.as_slice() else { return None };
    said.rule.from = Some(*meaning.start.filter(|_| !meaning.interval && meaning.grain >= Grain::Day)?);
    Some(next)
}

/// The last moment of what slots mean: the end of a day belongs to it.
fn last_moment(p: &Parser<'_>, slots: &Slots) -> Option<DateTime> {
    let meanings = moment::meanings(p, slots);
    let [meaning] = meanings.as_slice() else { return None };
    match meaning.end {
        Some(end) => civil::add_seconds(*end, -1),
        None if meaning.grain >= Grain::Day => civil::add_seconds(civil::add(*meaning.start?, meaning.grain, 1)?, -1),
        None => meaning.start.map(|start| *start),
    }
}

/// The days of a rule that has none: "weekly on Friday", "every month on the 15th", "every year on March 3".
fn on_days(p: &Parser<'_>, at: usize, said: &mut Said) -> Option<usize> {
    let free = said.rule.weekdays.is_empty() && said.rule.month_days.is_empty();
    let start = p.skip(
        at,
        if p.english() {
            &["on the", "on", "at", "every"]
        } else {
            &["il giorno", "il", "la", "l", "di", "ogni", "nel", "a"]
        },
    );
    if !free || start == at {
        return None;
    }
    let rule = &mut said.rule;
    match rule.every {
        Grain::Week => {
            let (days, next) = weekdays(p, start)?;
            rule.weekdays = days.into_iter().map(|day| (0, day)).collect();
            Some(next)
        }
        Grain::Month => {
            let placed = weekday::place(p, start).and_then(|(nth, next)| placed_day(p, nth, next));
            let dated = month_days(p, start)
                .map(|(days, next)| (Rule { month_days: days, ..Rule::new(Grain::Month, 1) }, next));
            let (found, next) = longest([placed, dated])?;
            (rule.weekdays, rule.month_days) = (found.weekdays, found.month_days);
            Some(of_month(p, next).unwrap_or(next))
        }
        Grain::Year => {
            let dated = date::date(p, start).filter(|(day, _)| day.sort == Sort::Date(false));
            let dated = dated.map(|(day, next)| (on_date(day.start.month(), day.start.day()), next));
            let feast = holiday::name(p, start).and_then(|(feast, next)| Some((on_feast(feast)?, next)));
            let (found, next) = longest([dated, feast])?;
            (rule.months, rule.month_days, rule.weekdays) = (found.months, found.month_days, found.weekdays);
            Some(next)
        }
        Grain::Second | Grain::Minute | Grain::Hour | Grain::Day | Grain::Quarter | Grain::Decade => None,
    }
}
