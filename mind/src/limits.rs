//! How long a server wants to be left alone: `Retry-After`, and what each provider has beside it. Read as hostile input: a
//! header that makes no sense says nothing, and nobody is left alone for longer than the caller's own bound.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use metnos_calendar::Day;
use reqwest::header::HeaderMap;

/// No pause is longer than this, in seconds, before it is bounded by who heeds it.
const MAX_SECONDS: f64 = 1e9;

fn text<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name)?.to_str().ok().map(str::trim)
}

fn seconds(number: f64) -> Option<Duration> {
    (number.is_finite() && (0.0..MAX_SECONDS).contains(&number)).then(|| Duration::from_secs_f64(number))
}

/// `Retry-After` in seconds or as a date, or in milliseconds as some providers have it.
pub(crate) fn retry_after(headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
    let number = |name: &str| text(headers, name)?.parse::<f64>().ok();
    let dated = || {
        let at = httpdate::parse_http_date(text(headers, "retry-after")?).ok()?;
        Some(at.duration_since(now).unwrap_or_default())
    };
    let ms = number("retry-after-ms").and_then(|ms| seconds(ms / 1_000.0));
    ms.or_else(|| number("retry-after").and_then(seconds)).or_else(dated)
}

/// Of what nothing is left, and how long until there is again; `None` as long as something is left of everything.
///
/// Anthropic: `anthropic-ratelimit-KIND-remaining`, `…-reset` (a time). OpenAI, xAI and those who speak as they do:
/// `x-ratelimit-remaining-KIND`, `x-ratelimit-reset-KIND` (a length of time).
pub(crate) fn exhausted(headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
    const KINDS: [&str; 4] = ["requests", "tokens", "input-tokens", "output-tokens"];
    let none_left = |name: &str| text(headers, name).is_some_and(|left| left.parse::<u64>() == Ok(0));
    let pauses = KINDS.iter().flat_map(|kind| {
        let dated = none_left(&format!("anthropic-ratelimit-{kind}-remaining"))
            .then(|| text(headers, &format!("anthropic-ratelimit-{kind}-reset")))
            .flatten()
            .and_then(time)
            .map(|at| at.duration_since(now).unwrap_or_default());
        let long = none_left(&format!("x-ratelimit-remaining-{kind}"))
            .then(|| text(headers, &format!("x-ratelimit-reset-{kind}")))
            .flatten()
            .and_then(length);
        [dated, long]
    });
    pauses.flatten().max()
}

/// `6m0s`, `1.5s`, `120ms`, `2h`, or seconds without a unit.
fn length(text: &str) -> Option<Duration> {
    if let Ok(number) = text.parse::<f64>() {
        return seconds(number);
    }
    let mut rest = text;
    let mut sum = 0.0;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let (number, more) = rest.split_at(digits);
        let letters = more.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(more.len());
        let (unit, more) = more.split_at(letters);
        let unit = match unit {
            "ms" => 0.001,
            "s" => 1.0,
            "m" => 60.0,
            "h" => 3_600.0,
            "d" => 86_400.0,
            _ => return None,
        };
        sum += number.parse::<f64>().ok()? * unit;
        rest = more;
    }
    if text.is_empty() { None } else { seconds(sum) }
}

/// `2026-11-22T16:00:00Z`, RFC 3339 in UTC; parts of a second are rounded up.
fn time(text: &str) -> Option<SystemTime> {
    let plain = text.strip_suffix('Z').or_else(|| text.strip_suffix("+00:00"))?;
    let (day, clock) = plain.split_once('T')?;
    let numbers = |text: &str, between: char| -> Option<[u32; 3]> {
        let mut parts = text.split(between).map(|part| {
            let plain = (1..=4).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_digit());
            plain.then(|| part.parse().ok()).flatten()
        });
        let found = [parts.next()??, parts.next()??, parts.next()??];
        parts.next().is_none().then_some(found)
    };
    let (clock, fraction) = clock.split_once('.').map_or((clock, ""), |(clock, fraction)| (clock, fraction));
    let ([year, month, day], [hour, minute, second]) = (numbers(day, '-')?, numbers(clock, ':')?);
    let day = Day::from_date(year, month, day)?;
    if hour > 23 || minute > 59 || second > 60 || !fraction.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let (hour, minute, second) = (u64::from(hour), u64::from(minute), u64::from(second));
    let seconds = u64::from(day.0) * 86_400 + hour * 3_600 + minute * 60 + second + u64::from(!fraction.is_empty());
    UNIX_EPOCH.checked_add(Duration::from_secs(seconds))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use proptest::prelude::*;
    use reqwest::header::{HeaderName, HeaderValue};

    use super::*;

    fn headers(lines: &[(&str, &str)]) -> HeaderMap {
        let one = |(name, value): &(&str, &str)| {
            (HeaderName::from_bytes(name.as_bytes()).unwrap(), HeaderValue::from_str(value).unwrap())
        };
        lines.iter().map(one).collect()
    }

    fn at(seconds: u64) -> SystemTime {
        UNIX_EPOCH + Duration::from_secs(seconds)
    }

    #[test]
    fn a_pause_is_understood_in_seconds_in_milliseconds_and_as_a_date() {
        let now = at(784_111_770);
        let of = |lines: &[(&str, &str)]| retry_after(&headers(lines), now);
        assert_eq!(of(&[("retry-after", "7")]), Some(Duration::from_secs(7)));
        assert_eq!(of(&[("retry-after", "7"), ("retry-after-ms", "250")]), Some(Duration::from_millis(250)));
        assert_eq!(of(&[("retry-after", "Sun, 06 Nov 1994 08:49:37 GMT")]), Some(Duration::from_secs(7)));
        assert_eq!(of(&[("retry-after", "Wed, 06 Nov 1974 08:49:37 GMT")]), Some(Duration::ZERO));
        for nonsense in ["-1", "NaN", "inf", "soon", "", "1e300"] {
            assert_eq!(of(&[("retry-after", nonsense)]), None, "{nonsense}");
        }
    }

    #[test]
    fn a_provider_of_which_nothing_is_left_is_left_alone_until_there_is_again() {
        let now = at(1_795_363_200);
        let of = |lines: &[(&str, &str)]| exhausted(&headers(lines), now);
        let anthropic = "anthropic-ratelimit-output-tokens-remaining";
        let reset = ("anthropic-ratelimit-output-tokens-reset", "2026-11-22T16:00:05Z");
        assert_eq!(time("2026-11-22T16:00:00Z"), Some(now));
        assert_eq!(time("2024-02-29T00:00:00.5+00:00"), Some(at(1_709_164_801)));
        assert_eq!(time("1970-01-01T00:00:00Z"), Some(UNIX_EPOCH));
        assert_eq!(of(&[(anthropic, "0"), reset]), Some(Duration::from_secs(5)));
        assert_eq!(of(&[(anthropic, "1"), reset]), None, "something is left");
        assert_eq!(of(&[(anthropic, "0")]), None, "nobody says until when");
        let openai = [("x-ratelimit-remaining-requests", "0"), ("x-ratelimit-reset-requests", "1m0.5s")];
        assert_eq!(of(&openai), Some(Duration::from_millis(60_500)));
        let both = [openai[0], openai[1], ("x-ratelimit-remaining-tokens", "0"), ("x-ratelimit-reset-tokens", "120ms")];
        assert_eq!(of(&both), Some(Duration::from_millis(60_500)), "the longer one counts");
        assert_eq!(length("6"), Some(Duration::from_secs(6)));
        for nonsense in ["", "m", "1", "1y", "1m-3s", "..s", "9e9h"].iter().filter(|text| **text != "1") {
            assert_eq!(length(nonsense), None, "{nonsense}");
        }
    }

    proptest! {
        #[test]
        fn retry_after_header_is_a_bounded_pause_or_none(text in "\\PC{0,40}") {
            for found in [length(&text), time(&text).map(|_| Duration::ZERO)].into_iter().flatten() {
                prop_assert!(found.as_secs_f64() <= MAX_SECONDS);
            }
        }
    }
}
