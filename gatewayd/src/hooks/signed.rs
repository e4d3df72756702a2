//! Whether a request was made by anyone who holds the secret, as Standard Webhooks has it: HMAC-SHA256 over the name of the
//! firing, its time and its body. Pure.

use data_encoding::BASE64;
use hmac::{Hmac, KeyInit, Mac};
use metnos_proto::msg::memoryd::MAX_MARK;
use sha2::Sha256;

/// How far the clock of the sender may be off, either way, in seconds.
pub const WINDOW_S: u64 = 300;
/// The most signatures of one request: while a secret is being changed, a sender gives two.
const MAX_SIGNATURES: usize = 8;

/// What a request says of itself.
#[derive(Debug, Clone, Copy)]
pub struct Claim<'a> {
    /// `webhook-id`: the name of this firing, the same when it is sent again.
    pub id: &'a str,
    /// `webhook-timestamp`: seconds since the epoch.
    pub timestamp: &'a str,
    /// `webhook-signature`: `v1,` and base64, several between blanks.
    pub signature: &'a str,
}

/// Whether the secret's holder has sent this, now. What exactly is wrong is not disclosed.
#[must_use]
pub fn is_good(secret: &[u8], claim: Claim<'_>, body: &[u8], now_s: u64) -> bool {
    let is_id = !claim.id.is_empty() && claim.id.len() <= MAX_MARK && claim.id.bytes().all(|b| b.is_ascii_graphic());
    let Some(sent) = claim.timestamp.parse::<u64>().ok().filter(|sent| sent.to_string() == claim.timestamp) else {
        return false;
    };
    let Ok(mac) = Hmac::<Sha256>::new_from_slice(secret) else { return false };
    let mac = [claim.id.as_bytes(), b".", claim.timestamp.as_bytes(), b".", body]
        .into_iter()
        .fold(mac, |mac, part| mac.chain_update(part));
    let signatures = claim.signature.split(' ').take(MAX_SIGNATURES);
    let good = signatures
        .filter_map(|one| BASE64.decode(one.strip_prefix("v1,")?.as_bytes()).ok())
        // Compared in constant time.
        .fold(false, |good, one| mac.clone().verify_slice(&one).is_ok() | good);
    good & is_id & (sent.abs_diff(now_s) <= WINDOW_S)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const NOW: u64 = 1_674_087_231;

    /// The example of the specification's own libraries.
    const ID: &str = "msg_p5jXN8AQM9LWM0D4loKWxJek";
    const SIGNED: &str = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=";
    const BODY: &[u8] = b"{\"test\": 2432232314}";

    fn example(claim: Claim<'_>, body: &[u8], now: u64) -> bool {
        let secret = BASE64.decode(b"MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw").unwrap();
        is_good(&secret, claim, body, now)
    }

    const CLAIM: Claim<'static> = Claim { id: ID, timestamp: "1614265330", signature: SIGNED };
    const THEN: u64 = 1_614_265_330;

    #[test]
    fn webhook_signature_of_specification_is_valid_for_five_minutes() {
        assert!(example(CLAIM, BODY, THEN));
        assert!(example(CLAIM, BODY, THEN + WINDOW_S) && example(CLAIM, BODY, THEN - WINDOW_S));
        assert!(!example(CLAIM, BODY, THEN + WINDOW_S + 1) && !example(CLAIM, BODY, THEN - WINDOW_S - 1));
        let two = format!("v2,AAAA v1,AAAA {SIGNED}");
        assert!(example(Claim { signature: &two, ..CLAIM }, BODY, THEN));
    }

    #[test]
    fn any_change_to_a_signed_hook_is_detected() {
        for claim in [
            Claim { id: "msg_other", ..CLAIM },
            Claim { id: "", ..CLAIM },
            Claim { timestamp: "1614265331", ..CLAIM },
            Claim { timestamp: "01614265330", ..CLAIM },
            Claim { timestamp: "+1614265330", ..CLAIM },
            Claim { timestamp: "", ..CLAIM },
            Claim { signature: "", ..CLAIM },
            Claim { signature: "v1,", ..CLAIM },
            Claim { signature: &SIGNED[3..], ..CLAIM },
            Claim { signature: &SIGNED[..40], ..CLAIM },
        ] {
            assert!(!example(claim, BODY, THEN), "{claim:?}");
        }
        assert!(!example(CLAIM, b"{\"test\": 2432232315}", THEN));
        assert!(!is_good(b"another secret", CLAIM, BODY, THEN));
        assert!(!is_good(b"", CLAIM, BODY, NOW));
    }

    proptest! {
        #[test]
        fn signature_with_another_secret_is_invalid(id in "\\PC{0,20}", timestamp in "[0-9]{0,12}", signature in "(v1,)?[A-Za-z0-9+/= ,]{0,60}", body: Vec<u8>) {
            let claim = Claim { id: &id, timestamp: &timestamp, signature: &signature };
            prop_assert!(!is_good(b"0123456789abcdef0123456789abcdef", claim, &body, NOW));
        }
    }
}
