//! Any bytes as the files of the owner that policyd reads: `TELOS.md`, `SOUL.md` and `USER.md`. What is read can be
//! reckoned with; everything else is refused, and nothing stops the reading.
#![no_main]

use libfuzzer_sys::fuzz_target;
use metnos_policy::soul;
use metnos_policy::vaglio::bother::{DAY_MINUTES, Day};
use metnos_policy::vaglio::telos::{self, MAX_SECTIONS, MIN_SECTIONS};

fuzz_target!(|bytes: &[u8]| {
    if let Ok(soul) = soul::parse(bytes) {
        assert!(soul.laws.iter().all(|law| !law.name.is_empty() && !law.text.is_empty()));
    }
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    if let Ok(ends) = telos::parse(text) {
        assert!((MIN_SECTIONS..=MAX_SECTIONS).contains(&ends.len()));
        assert!((ends.iter().map(|end| end.weight).sum::<f64>() - 1.0).abs() < 1e-6);
        assert!(ends.iter().all(|end| end.weight > 0.0 && (0.0..=1.0).contains(&end.threshold)));
    }
    let day = Day::parse(text, "UTC");
    for now in [0, 1_770_000_000_000, u64::MAX] {
        assert!(day.minute(now) < DAY_MINUTES);
    }
    let _ = day.evening(&[], 1_770_000_000_000);
});
