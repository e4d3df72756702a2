//! One-time codes (RFC 6238, HMAC-SHA-1, six digits, thirty seconds), with which the owner answers a hard
//! card from where he is. Only policyd knows the secret; a code counts once, for the digest that it was
//! given with, and after too many wrong ones none counts for a while (design: policy §4).

use hmac::{Hmac, KeyInit, Mac};
use sha1::Sha1;

/// How long a code lasts, in seconds (RFC 6238, 4.1).
pub const STEP_S: u64 = 30;
/// How many digits it has.
pub const DIGITS: u32 = 6;
/// Bytes of a secret (RFC 4226, 4: at least 128 bits, 160 recommended).
pub const SECRET_BYTES: usize = 20;
/// Wrong codes until none counts any more.
pub const MAX_WRONG: u32 = 5;
/// For how long then, in milliseconds.
pub const LOCKED_MS: u64 = 15 * 60_000;
/// By how many steps the owner's clock may be behind or ahead.
const DRIFT: u64 = 1;

/// What policyd keeps of the owner's codes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Enrolled {
    /// The secret.
    pub secret: Vec<u8>,
    /// Whether the owner has shown that he has it.
    pub confirmed: bool,
    /// The last step whose code was used; no earlier one counts.
    pub last_step: u64,
    /// Wrong codes since the last right one.
    pub wrong: u32,
    /// Until when none counts, in milliseconds since the epoch.
    pub locked_until_ms: u64,
}

/// What became of a code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// It counts, and will not again.
    Right,
    /// It does not.
    Wrong,
    /// None does now.
    Locked,
}

/// The code of a step (RFC 4226, 5.3).
#[must_use]
pub fn code(secret: &[u8], step: u64, digits: u32) -> String {
    // HMAC takes keys of every length.
    let Ok(mut mac) = Hmac::<Sha1>::new_from_slice(secret) else { return String::new() };
    mac.update(&step.to_be_bytes());
    let hash = mac.finalize().into_bytes();
    let at = usize::from(hash.last().copied().unwrap_or(0) & 0x0f);
    let four = hash.get(at..at + 4).unwrap_or(&[0; 4]);
    let number = four.iter().fold(0_u32, |number, byte| number << 8 | u32::from(*byte)) & 0x7fff_ffff;
    let width = usize::try_from(digits).unwrap_or(6);
    format!("{:0width$}", u64::from(number) % 10_u64.pow(digits))
}

/// Compares without saying by its time where the difference lies.
fn same(one: &[u8], other: &[u8]) -> bool {
    one.len() == other.len() && one.iter().zip(other).fold(0_u8, |all, (a, b)| all | (a ^ b)) == 0
}

impl Enrolled {
    /// A new secret that the owner has not shown to have yet.
    #[must_use]
    pub const fn new(secret: Vec<u8>) -> Self {
        Self { secret, confirmed: false, last_step: 0, wrong: 0, locked_until_ms: 0 }
    }

    /// Judges a code at `now_ms` (since the epoch), and moves on: the new state is to be kept, whatever it says.
    pub fn judge(&mut self, given: &str, now_ms: u64) -> Verdict {
        if now_ms < self.locked_until_ms {
            return Verdict::Locked;
        }
        if self.wrong >= MAX_WRONG {
            self.wrong = 0;
        }
        let now = now_ms / 1000 / STEP_S;
        let mut found = None;
        // All are looked at, so that the time says nothing.
        for step in now.saturating_sub(DRIFT)..=now.saturating_add(DRIFT) {
            if step > self.last_step && same(code(&self.secret, step, DIGITS).as_bytes(), given.as_bytes()) {
                found = Some(step);
            }
        }
        match found {
            Some(step) => {
                (self.last_step, self.wrong) = (step, 0);
                Verdict::Right
            }
            None => {
                self.wrong += 1;
                if self.wrong >= MAX_WRONG {
                    self.locked_until_ms = now_ms.saturating_add(LOCKED_MS);
                }
                Verdict::Wrong
            }
        }
    }
}

/// Bytes in base 32 (RFC 4648), as programs that make codes read them.
#[must_use]
pub fn base32(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 32] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
    let mut text = String::new();
    for chunk in bytes.chunks(5) {
        let bits = (0..5).fold(0_u64, |bits, at| bits << 8 | u64::from(chunk.get(at).copied().unwrap_or(0)));
        for letter in 0..(chunk.len() * 8).div_ceil(5) {
            let index = usize::try_from(bits >> (35 - 5 * letter) & 31).unwrap_or(0);
            text.push(char::from(LETTERS[index]));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SECRET: &[u8] = b"12345678901234567890";

    #[test]
    fn the_codes_are_those_of_rfc_6238_and_rfc_4226() {
        // RFC 6238, appendix B, the rows of SHA-1.
        for (seconds, expected) in [
            (59, "94287082"),
            (1_111_111_109, "07081804"),
            (1_111_111_111, "14050471"),
            (1_234_567_890, "89005924"),
            (2_000_000_000, "69279037"),
            (20_000_000_000, "65353130"),
        ] {
            assert_eq!(code(SECRET, seconds / STEP_S, 8), expected, "{seconds}");
        }
        // RFC 4226, appendix D.
        let six = ["755224", "287082", "359152", "969429", "338314", "254676", "287922", "162583", "399871", "520489"];
        for (count, expected) in (0..).zip(six) {
            assert_eq!(code(SECRET, count, DIGITS), expected, "{count}");
        }
    }

    #[test]
    fn a_secret_is_written_as_rfc_4648_has_it() {
        for (bytes, text) in [("f", "MY"), ("fo", "MZXQ"), ("foo", "MZXW6"), ("foob", "MZXW6YQ"), ("fooba", "MZXW6YTB")]
        {
            assert_eq!(base32(bytes.as_bytes()), text);
        }
        assert_eq!(base32(SECRET).len(), 32);
    }

    #[test]
    fn a_code_counts_once_and_an_earlier_one_never_again() {
        let mut owner = Enrolled::new(SECRET.to_vec());
        let now = 100 * STEP_S * 1000;
        let (before, this, next) = (code(SECRET, 99, 6), code(SECRET, 100, 6), code(SECRET, 101, 6));
        assert_eq!(owner.judge(&this, now), Verdict::Right);
        assert_eq!(owner.judge(&this, now), Verdict::Wrong, "twice");
        assert_eq!(owner.judge(&before, now), Verdict::Wrong, "earlier");
        assert_eq!(owner.judge(&next, now), Verdict::Right, "a clock that is ahead");
        assert_eq!(owner.judge(&code(SECRET, 103, 6), now), Verdict::Wrong, "too far ahead");
    }

    #[test]
    fn after_five_wrong_ones_not_even_the_right_one_counts_for_a_while() {
        let mut owner = Enrolled::new(SECRET.to_vec());
        let now = 100 * STEP_S * 1000;
        for _ in 0..MAX_WRONG {
            assert_eq!(owner.judge("000000", now), Verdict::Wrong);
        }
        assert_eq!(owner.judge(&code(SECRET, 100, 6), now), Verdict::Locked);
        assert_eq!(owner.judge(&code(SECRET, 100, 6), now + LOCKED_MS - 1), Verdict::Locked);
        let later = now + LOCKED_MS;
        assert_eq!(owner.judge(&code(SECRET, later / 1000 / STEP_S, 6), later), Verdict::Right);
    }

    proptest! {
        #[test]
        fn garbage_is_wrong_and_never_panics(given in "\\PC{0,12}", now_ms in any::<u64>()) {
            let mut owner = Enrolled::new(SECRET.to_vec());
            let now = now_ms / 1000 / STEP_S;
            let right = (now.saturating_sub(1)..=now.saturating_add(1)).any(|step| code(SECRET, step, 6) == given);
            prop_assert_eq!(owner.judge(&given, now_ms) == Verdict::Right, right && now > 0);
        }
    }
}
