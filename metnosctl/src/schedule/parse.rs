//! `schedule parse`: what words about time mean, as whatever sets up a reminder reads them. It asks no daemon and needs no
//! instance.

use metnos_calendar::{Zone, instant, zone};
use metnos_proto::msg::common::Lang;
use metnos_when::{Context, Grain, Kind, Language, Reading};
use schemars::JsonSchema;
use serde::Serialize;

use crate::command_line::nouns::ScheduleParse;
use crate::error::{CtlError, Exit};
use crate::instance::{Instance, WORKSPACE};
use crate::json_constant::ConstTrue;
use crate::screen::Screen;
use crate::screen::escape;
use crate::screen::human::now_ms;

/// What words say about time.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Parsed {
    /// It was done.
    ok: ConstTrue,
    /// What was read.
    #[serde(flatten)]
    time: ParsedTime,
    /// Where the words have two readings: both, and `kind` is `none`.
    readings: Vec<ParsedTime>,
    /// The moment against which they were read.
    at: String,
    /// The zone of that moment.
    zone: String,
    /// The language in which they were read.
    lang: &'static str,
}

/// One reading.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ParsedTime {
    /// `instant`, `interval`, `duration`, `recurrence`, or `none` for what is not wholly understood.
    kind: &'static str,
    /// The first moment, as RFC 3339 writes it; of a recurrence the first one after now.
    start: Option<String>,
    /// The first moment that no longer belongs to an interval.
    end: Option<String>,
    /// How long a duration is, as ISO 8601 writes it.
    length: Option<String>,
    /// The five fields of cron, where they can say the recurrence.
    cron: Option<String>,
    /// The recurrence as RFC 5545 writes it, counted from `start`.
    rrule: Option<String>,
    /// How exact it is: `second`, `minute`, `hour`, `day`, `week`, `month`, `quarter`, `year` or `decade`.
    grain: Option<&'static str>,
    /// The words that it was read from.
    span: String,
    /// Where they stand, in bytes: pairs of the first and of the one behind the last.
    spans: Vec<(usize, usize)>,
    /// What was not said and had to be assumed.
    assumed: Vec<&'static str>,
}

impl ParsedTime {
    fn of(reading: &Reading, text: &str) -> Self {
        let moment = |moment: &Option<metnos_when::Zoned>| {
            moment.as_ref().map(|moment| moment.timestamp().display_with_offset(moment.offset()).to_string())
        };
        let words: Vec<&str> = reading.spans.iter().filter_map(|span| text.get(span.clone())).collect();
        Self {
            kind: match reading.kind {
                Kind::Instant => "instant",
                Kind::Interval => "interval",
                Kind::Duration => "duration",
                Kind::Recurrence => "recurrence",
                Kind::None => "none",
            },
            start: moment(&reading.start),
            end: moment(&reading.end),
            length: reading.length.map(|length| length.to_string()),
            cron: reading.cron.clone(),
            rrule: reading.rrule.clone(),
            grain: reading.grain.map(|grain| match grain {
                Grain::Second => "second",
                Grain::Minute => "minute",
                Grain::Hour => "hour",
                Grain::Day => "day",
                Grain::Week => "week",
                Grain::Month => "month",
                Grain::Quarter => "quarter",
                Grain::Year => "year",
                Grain::Decade => "decade",
            }),
            span: words.join(" … "),
            spans: reading.spans.iter().map(|span| (span.start, span.end)).collect(),
            assumed: reading.assumed.clone(),
        }
    }

    /// What a person reads of it.
    fn lines(&self) -> Vec<String> {
        let facts = [
            ("from", &self.start),
            ("until", &self.end),
            ("for", &self.length),
            ("cron", &self.cron),
            ("rrule", &self.rrule),
        ];
        let mut lines = vec![format!("{}: {}", self.kind, if self.span.is_empty() { "-" } else { &self.span })];
        lines.extend(facts.iter().filter_map(|(name, fact)| Some(format!("  {name}  {}", fact.as_ref()?))));
        lines.extend(self.grain.map(|grain| format!("  to the {grain}")));
        if !self.assumed.is_empty() {
            lines.push(format!("  assumed: {}", self.assumed.join(", ")));
        }
        lines
    }
}

/// Says what words about time mean.
///
/// # Errors
/// When the moment or the zone is none.
pub(super) fn parse(
    screen: &mut Screen,
    place: impl FnOnce() -> Result<Instance, CtlError>,
    asked: &ScheduleParse,
) -> Result<Exit, CtlError> {
    let text = asked.words.join(" ");
    let named = asked.zone.clone().unwrap_or_else(|| of_household(place));
    let zone = zone_of(&named)?;
    let now = match &asked.at {
        None => zone.at(i64::try_from(now_ms() / 1_000).unwrap_or(0)),
        Some(at) => moment(at, &zone),
    };
    let now = now.ok_or_else(|| {
        let at = asked.at.clone().unwrap_or_default();
        usage(format!("--at is `{at}`, which is no moment"), "write it as 2026-11-24T10:00")
    })?;
    let language = match asked.lang {
        Some(Lang::En) => Language::English,
        Some(Lang::It) => Language::Italian,
        None if metnos_reflex::spoken_in(&text) == Some(Lang::It) => Language::Italian,
        None => Language::English,
    };
    let at = now.timestamp().display_with_offset(now.offset()).to_string();
    let reading = metnos_when::read(&text, &Context::new(now, language));
    let parsed = Parsed {
        ok: ConstTrue,
        time: ParsedTime::of(&reading, &text),
        readings: reading.readings.iter().map(|one| ParsedTime::of(one, &text)).collect(),
        at,
        zone: named,
        lang: if language == Language::Italian { "it" } else { "en" },
    };
    show(screen, &parsed)
}

fn show(screen: &mut Screen, parsed: &Parsed) -> Result<Exit, CtlError> {
    if screen.json() {
        screen.document(parsed)?;
        return Ok(Exit::Done);
    }
    for one in std::iter::once(&parsed.time).filter(|_| parsed.readings.is_empty()).chain(&parsed.readings) {
        for line in one.lines() {
            screen.line(&escape::line(&line))?;
        }
    }
    if !parsed.readings.is_empty() {
        screen.line("These words have more than one reading: say which.")?;
    }
    Ok(Exit::Done)
}

/// The household's time zone from `USER.md`, with its rule; `UTC` if there is none.
fn of_household(place: impl FnOnce() -> Result<Instance, CtlError>) -> String {
    let user = place()
        .ok()
        .and_then(|instance| std::fs::read_to_string(instance.directory().join(WORKSPACE).join("USER.md")).ok());
    zone::of_user(&user.unwrap_or_default(), "UTC")
}

/// The zone of a name such as `Europe/Rome`, of a large city, of an offset, or of either with its rule.
fn zone_of(named: &str) -> Result<Zone, CtlError> {
    let ruled = || zone::of_place(named).and_then(|text| Zone::read(&text));
    Zone::read(named).or_else(ruled).ok_or_else(|| {
        usage(
            format!("--zone is `{named}`, which is no time zone that is known here"),
            "write Europe/Rome, UTC or +02:00",
        )
    })
}

fn usage(what: String, remedy: &str) -> CtlError {
    CtlError::Usage { what, remedy: remedy.to_owned() }
}

/// The moment that is written: by the clock of the zone, or with the distance from UTC behind it.
fn moment(at: &str, zone: &Zone) -> Option<metnos_when::Zoned> {
    zone.civil(at).or_else(|| zone.at(instant::instant(at)?.0))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use serde_json::{Value, json};

    use super::*;
    use crate::screen::testing::screen;

    fn parsed(words: &str, at: &str, zone: &str, lang: Option<Lang>) -> Value {
        let (mut screen, out, _) = screen(true, [false; 2], false);
        let words = vec![words.to_owned()];
        let asked = ScheduleParse { words, at: Some(at.to_owned()), zone: Some(zone.to_owned()), lang };
        parse(&mut screen, || Err(usage("no instance is looked for".to_owned(), "")), &asked).unwrap();
        serde_json::from_str(&out.text()).unwrap()
    }

    #[test]
    fn words_about_time_are_read_by_the_clock_of_the_zone() {
        let one = parsed("remind me tomorrow at 9 to call", "2026-11-24T10:00", "Europe/Rome", Some(Lang::En));
        assert_eq!((&one["kind"], &one["start"]), (&json!("instant"), &json!("2026-11-25T09:00:00+01:00")));
        assert_eq!((&one["span"], &one["spans"]), (&json!("tomorrow at 9"), &json!([[10, 23]])));
        let one = parsed("ogni lunedì alle 7:30", "2026-11-24T10:00", "Roma", None);
        assert_eq!(
            (&one["kind"], &one["cron"], &one["lang"]),
            (&json!("recurrence"), &json!("30 7 * * 1"), &json!("it"))
        );
        let one = parsed("in 20 minutes", "2026-11-24T10:00:00-05:00", "UTC", Some(Lang::En));
        assert_eq!(one["start"], "2026-11-24T15:20:00+00:00");
    }

    #[test]
    fn what_has_two_readings_or_none_is_not_guessed() {
        let one = parsed("at 8", "2026-11-24T07:00", "Europe/Rome", Some(Lang::En));
        assert_eq!(one["kind"], "none");
        assert_eq!(one["readings"].as_array().unwrap().len(), 2);
        let one = parsed("the second one", "2026-11-24T07:00", "Europe/Rome", Some(Lang::En));
        assert_eq!((&one["kind"], &one["span"], &one["readings"]), (&json!("none"), &json!(""), &json!([])));
    }

    #[test]
    fn a_moment_or_a_zone_that_is_none_is_named() {
        assert!(zone_of("Atlantis/Deep").unwrap_err().to_string().contains("Atlantis/Deep"));
        let rome = zone_of("Europe/Rome").unwrap();
        assert!(moment("2026-02-30T10:00", &rome).is_none() && moment("soon", &rome).is_none());
        assert_eq!(moment("2026-07-01", &rome).unwrap().timestamp().as_second(), 1_782_856_800);
    }
}
