//! Any text as a one-time code: it counts exactly when it is one of the codes of this very time, and then once.
#![no_main]

use libfuzzer_sys::fuzz_target;
use metnos_policyd::approvals::totp::{self, Enrolled, Verdict};

fuzz_target!(|input: (&str, u32)| {
    let (text, at) = input;
    let secret = b"12345678901234567890".to_vec();
    let now_ms = u64::from(at) * 1_000;
    let mut codes = Enrolled::new(secret.clone());
    let step = now_ms / 30_000;
    let good = (step.saturating_sub(2)..=step + 2).any(|step| totp::code(&secret, step, 6) == text.trim());
    let verdict = codes.judge(text, now_ms);
    assert!(verdict != Verdict::Right || good, "{text:?} is no code of this time");
    if verdict == Verdict::Right {
        assert!(codes.judge(text, now_ms) != Verdict::Right, "and each is good once");
    }
});
