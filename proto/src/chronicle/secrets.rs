//! What looks like a secret in a text: found by its own form, and replaced by its digest before anything is appended.
//! It never guesses from meaning: a form is listed here or it is none, so that words of people stay as they were said.

use crate::ids::Blake3;
use crate::masks;

/// A form that secrets have.
struct Form {
    kind: &'static str,
    /// How it begins.
    prefix: &'static str,
    /// How many characters of `body` follow, at least.
    least: usize,
    body: fn(u8) -> bool,
}

fn base62(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
}

fn url_safe(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_'
}

fn upper(byte: u8) -> bool {
    byte.is_ascii_uppercase() || byte.is_ascii_digit()
}

/// The forms, longest prefix first where one begins with another. Each as its issuer documents it.
const FORMS: [Form; 20] = [
    Form { kind: "anthropic key", prefix: "sk-ant-", least: 24, body: url_safe },
    Form { kind: "openai key", prefix: "sk-proj-", least: 24, body: url_safe },
    Form { kind: "openrouter key", prefix: "sk-or-v1-", least: 32, body: base62 },
    Form { kind: "stripe key", prefix: "sk_live_", least: 16, body: base62 },
    Form { kind: "stripe key", prefix: "rk_live_", least: 16, body: base62 },
    Form { kind: "openai key", prefix: "sk-", least: 40, body: base62 },
    Form { kind: "github token", prefix: "github_pat_", least: 36, body: url_safe },
    Form { kind: "github token", prefix: "ghp_", least: 36, body: base62 },
    Form { kind: "github token", prefix: "gho_", least: 36, body: base62 },
    Form { kind: "github token", prefix: "ghs_", least: 36, body: base62 },
    Form { kind: "github token", prefix: "ghu_", least: 36, body: base62 },
    Form { kind: "gitlab token", prefix: "glpat-", least: 20, body: url_safe },
    Form { kind: "slack token", prefix: "xoxb-", least: 20, body: url_safe },
    Form { kind: "slack token", prefix: "xoxp-", least: 20, body: url_safe },
    Form { kind: "aws key", prefix: "AKIA", least: 16, body: upper },
    Form { kind: "aws key", prefix: "ASIA", least: 16, body: upper },
    Form { kind: "google key", prefix: "AIza", least: 35, body: url_safe },
    Form { kind: "npm token", prefix: "npm_", least: 36, body: base62 },
    Form { kind: "hugging face token", prefix: "hf_", least: 30, body: base62 },
    Form { kind: "age key", prefix: "AGE-SECRET-KEY-1", least: 50, body: upper },
];

/// Whether something that is looked for may begin with this byte: few do, so that most places are passed over at once.
const BEGINS: [bool; 256] = {
    let mut begins = [false; 256];
    let mut at = 0;
    while at < FORMS.len() {
        begins[FORMS[at].prefix.as_bytes()[0] as usize] = true;
        at += 1;
    }
    begins[PEM.as_bytes()[0] as usize] = true;
    begins[JWT[0] as usize] = true;
    let mut digit = b'0';
    while digit <= b'9' {
        begins[digit as usize] = true;
        digit += 1;
    }
    begins
};

/// How a private key in PEM begins.
const PEM: &str = "-----BEGIN ";
/// How the parts of a JSON web token begin.
const JWT: &[u8] = b"eyJ";

/// A secret in a text, by bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Secret {
    /// What it looks like.
    pub kind: &'static str,
    /// Its first byte.
    pub from: usize,
    /// The byte after its last.
    pub to: usize,
}

/// Everything in a text that has the form of a secret, in order, none overlapping.
#[must_use]
pub fn find(text: &str) -> Vec<Secret> {
    let bytes = text.as_bytes();
    let mut found: Vec<Secret> = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let begins = at == 0 || !url_safe(bytes[at - 1]);
        let secret = if BEGINS[usize::from(bytes[at])] {
            private_key(text, at).or_else(|| begins.then(|| token(bytes, at)).flatten())
        } else {
            None
        };
        match secret {
            Some(secret) => {
                at = secret.to;
                found.push(secret);
            }
            None => at += 1,
        }
    }
    with_addresses(found, text)
}

/// These, and credentials in an address: `https://ada:…@host/?token=…`. What overlaps is one.
fn with_addresses(mut found: Vec<Secret>, text: &str) -> Vec<Secret> {
    found.extend(masks::spans(text).into_iter().map(|(from, to)| Secret { kind: "address key", from, to }));
    found.sort_by_key(|secret| secret.from);
    found.dedup_by(|next, before| {
        let overlaps = next.from < before.to;
        if overlaps {
            before.to = before.to.max(next.to);
        }
        overlaps
    });
    found
}

fn token(bytes: &[u8], at: usize) -> Option<Secret> {
    let run = |from: usize, body: fn(u8) -> bool| bytes[from..].iter().take_while(|byte| body(**byte)).count();
    for form in &FORMS {
        if bytes[at..].starts_with(form.prefix.as_bytes()) {
            let from = at + form.prefix.len();
            let length = run(from, form.body);
            if length >= form.least {
                return Some(Secret { kind: form.kind, from: at, to: from + length });
            }
        }
    }
    json_web_token(bytes, at).or_else(|| telegram_token(bytes, at))
}

/// Three parts of base 64, the first two of them objects: `eyJ….eyJ….…`.
fn json_web_token(bytes: &[u8], at: usize) -> Option<Secret> {
    let run = |from: usize| bytes[from..].iter().take_while(|byte| url_safe(**byte)).count();
    let head = run(at);
    let body = at + head + 1;
    if head < 16 || !bytes[at..].starts_with(JWT) || bytes.get(at + head) != Some(&b'.') || body >= bytes.len() {
        return None;
    }
    let claims = run(body);
    let signature = body + claims + 1;
    if claims < 8
        || !bytes[body..].starts_with(JWT)
        || bytes.get(body + claims) != Some(&b'.')
        || signature > bytes.len()
    {
        return None;
    }
    let signed = run(signature);
    (signed >= 16).then_some(Secret { kind: "json web token", from: at, to: signature + signed })
}

/// A bot's number, a colon and 35 characters.
fn telegram_token(bytes: &[u8], at: usize) -> Option<Secret> {
    let digits = bytes[at..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    if !(8..=10).contains(&digits) || bytes.get(at + digits) != Some(&b':') {
        return None;
    }
    let from = at + digits + 1;
    let length = bytes[from..].iter().take_while(|byte| url_safe(**byte)).count();
    (length == 35).then_some(Secret { kind: "telegram token", from: at, to: from + length })
}

/// A private key in PEM, to its end or to the end of the text.
fn private_key(text: &str, at: usize) -> Option<Secret> {
    const END: &str = "PRIVATE KEY-----";
    let rest = text[at..].strip_prefix(PEM)?;
    let label = rest.find("-----")?;
    if !rest[..label + 5].ends_with(END) {
        return None;
    }
    let from = at + PEM.len() + label + 5;
    let to = text[from..].find(END).map_or(text.len(), |end| from + end + END.len());
    Some(Secret { kind: "private key", from: at, to })
}

/// The text with each secret replaced by what it looks like and the beginning of its digest; `None` when it holds none.
#[must_use]
pub fn cleaned(text: &str) -> Option<String> {
    let found = find(text);
    if found.is_empty() {
        return None;
    }
    let mut clean = String::with_capacity(text.len());
    let mut at = 0;
    for secret in found {
        let digest = Blake3::of(&text.as_bytes()[secret.from..secret.to]).hex();
        clean.push_str(&text[at..secret.from]);
        clean.push_str(&format!("[{} blake3:{}]", secret.kind, &digest[..DIGITS]));
        at = secret.to;
    }
    clean.push_str(&text[at..]);
    Some(clean)
}

/// How many digits of a secret's digest are kept: enough to recognise it, and its own length hides it.
const DIGITS: usize = 16;

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use proptest::prelude::*;

    /// Put together, so that no scanner of sources takes this file for a leak.
    fn examples() -> Vec<String> {
        let body = |n: usize| "a1B2c3D4e5".repeat(8)[..n].to_owned();
        let upper = |n: usize| "A1B2C3D4E5".repeat(8)[..n].to_owned();
        let mut all: Vec<String> = FORMS
            .iter()
            .map(|form| {
                format!("{}{}", form.prefix, if (form.body)(b'a') { body(form.least) } else { upper(form.least) })
            })
            .collect();
        all.push(format!("eyJ{}.eyJ{}.{}", body(20), body(20), body(20)));
        all.push(format!("123456789:{}", body(35)));
        all.push(format!("-----BEGIN {0}-----\nabc\n-----END {0}-----", "RSA PRIVATE KEY"));
        all
    }

    #[test]
    fn every_form_is_found_wherever_it_stands_and_goes_whole() {
        for secret in examples() {
            for text in [secret.clone(), format!("è {secret} è"), format!("\"{secret}\",")] {
                let found = find(&text);
                assert_eq!(found.len(), 1, "{text}");
                assert_eq!(&text[found[0].from..found[0].to], secret, "{text}");
                let clean = cleaned(&text).unwrap();
                assert!(!clean.contains(&secret) && clean.contains(found[0].kind) && find(&clean).is_empty());
            }
        }
    }

    #[test]
    fn credential_in_an_address_is_found() {
        let text = r#"{"url":"https://ada:pw@host/?q=rome&token=abc"}"#;
        let clean = cleaned(text).unwrap();
        assert!(!clean.contains("ada:pw") && !clean.contains("abc") && clean.contains("q=rome"), "{clean}");
        assert!(find(&clean).is_empty(), "{clean}");
    }

    #[test]
    fn ordinary_text_is_not_taken_for_a_secret() {
        for text in [
            "my password is swordfish",
            "sk-short",
            "ask-",
            "123456789:3",
            "task-a1B2c3D4e5a1B2c3D4e5a1B2c3D4e5a1B2c3D4e5",
            "-----BEGIN CERTIFICATE-----\nabc\n-----END CERTIFICATE-----",
            "AKIA",
            "eyJhbGciOi.",
            "",
            "è",
        ] {
            assert_eq!(cleaned(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_searched_and_cleaning_leaves_nothing_to_find(text in "[ -~è\n]{0,200}", at in 0_usize..23) {
            let _ = find(&text);
            let all = examples();
            let mixed = format!("{text} {} {text}", all[at % all.len()]);
            let clean = cleaned(&mixed).unwrap();
            prop_assert!(find(&clean).is_empty());
        }
    }
}
