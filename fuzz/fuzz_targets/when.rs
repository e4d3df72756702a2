//! Any text as words about time, in both languages, at any moment, in zones whose clocks change in many ways: it is read or
//! not, and what was read lies within the text.
#![no_main]

use jiff::Timestamp;
use jiff::tz::TimeZone;
use libfuzzer_sys::fuzz_target;
use metnos_when::{Context, Kind, Language, Reading, read};

const ZONES: [&str; 6] = [
    "UTC0",
    "CET-1CEST,M3.5.0,M10.5.0/3",
    "EST5EDT,M3.2.0,M11.1.0",
    "<+1030>-10:30<+11>-11,M10.1.0,M4.1.0",
    "<-02>2<-01>,M3.5.0/-1,M10.5.0/0",
    "<+13>-13",
];
/// Before the changes of clocks, at leap days, and at the edges of the calendar, in seconds.
const MOMENTS: [i64; 11] = [
    1_806_193_800,
    1_792_888_200,
    1_792_890_600,
    1_791_040_500,
    1_775_313_900,
    1_709_164_800,
    951_782_400,
    0,
    -86_400,
    253_402_207_100,
    -377_705_023_201,
];

fn sound(text: &str, reading: &Reading) {
    let mut last = 0;
    for span in &reading.spans {
        assert!(text.get(span.clone()).is_some_and(|words| !words.is_empty()), "{span:?} are words of the text");
        assert!(span.start >= last, "and stand in order");
        last = span.end;
    }
    if let (Some(start), Some(end)) = (&reading.start, &reading.end) {
        assert!(start < end, "{start} is before {end}");
    }
    assert!(reading.readings.is_empty() || reading.kind == Kind::None, "what has readings is none itself");
    assert_eq!(reading.kind == Kind::Recurrence, reading.rrule.is_some());
    assert_eq!(reading.kind == Kind::Duration, reading.length.is_some());
    assert!(reading.outside(text).len() <= text.len() + reading.spans.len());
    for one in &reading.readings {
        assert!(one.readings.is_empty() && one.kind != Kind::None);
        sound(text, one);
    }
}

fuzz_target!(|input: (&str, u32)| {
    let (text, at) = input;
    let which = at as usize;
    let day_first = [None, Some(true), Some(false)][which % 3];
    for rule in ZONES {
        let zone = TimeZone::posix(rule).expect("a rule");
        for second in [i64::from(at), MOMENTS[which % MOMENTS.len()]] {
            let now = Timestamp::from_second(second).expect("within the calendar").to_zoned(zone.clone());
            for language in [Language::English, Language::Italian] {
                sound(text, &read(text, &Context { day_first, ..Context::new(now.clone(), language) }));
            }
        }
    }
});
