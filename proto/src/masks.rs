//! Tokens in addresses: what stands before an `@`, and the values of parameters that are called like keys, are shown to
//! nobody. What is decided on and its digest keep the whole; this is for texts that people and logs see.

use serde_json::Value;

/// What is shown in the place of a hidden value.
pub const HIDDEN: &str = "***";

/// What parameters of addresses are called whose values grant access. A name that holds one of these counts.
const NAMES: &[&str] = &[
    "token",
    "key",
    "sig",
    "signature",
    "secret",
    "password",
    "passwd",
    "pwd",
    "pass",
    "auth",
    "session",
    "sid",
    "code",
    "jwt",
    "credential",
    "bearer",
    "otp",
    "pin",
    "hash",
    "hmac",
];

/// `text` with every value of an address in it that looks like a key hidden: `https://ada:x@host/?token=y&q=z` is
/// `https://***@host/?token=***&q=z`.
#[must_use]
pub fn masked(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    for (from, to) in spans(text) {
        out.push_str(&text[at..from]);
        out.push_str(HIDDEN);
        at = to;
    }
    out.push_str(&text[at..]);
    out
}

/// The same for every text in a document, at any depth: its keys, too.
pub fn mask(document: &mut Value) {
    match document {
        Value::String(text) => *text = masked(text),
        Value::Array(list) => list.iter_mut().for_each(mask),
        Value::Object(map) => {
            map.values_mut().for_each(mask);
            if map.keys().any(|key| !spans(key).is_empty()) {
                *map = std::mem::take(map).into_iter().map(|(key, value)| (masked(&key), value)).collect();
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Where in `text` such values stand: from and to, in bytes, ascending.
#[must_use]
pub fn spans(text: &str) -> Vec<(usize, usize)> {
    let mut found = Vec::new();
    let mut at = 0;
    for piece in text.split_inclusive(is_edge) {
        let bare = piece.trim_end_matches(is_edge);
        if bare.contains("//") || bare.contains(['?', '&']) && bare.contains('=') {
            in_address(bare, at, &mut found);
        }
        at += piece.len();
    }
    found
}

/// What no address goes over.
fn is_edge(c: char) -> bool {
    c.is_whitespace() || "\"'`<>\\".contains(c)
}

fn in_address(piece: &str, at: usize, found: &mut Vec<(usize, usize)>) {
    let mut rest = 0;
    if let Some(begin) = piece.find("//").map(|slashes| slashes + 2) {
        let end = piece[begin..].find(['/', '?', '#']).map_or(piece.len(), |end| begin + end);
        rest = begin;
        if let Some(sign) = piece[begin..end].rfind('@').filter(|sign| *sign > 0) {
            found.push((at + begin, at + begin + sign));
            rest = begin + sign;
        }
    }
    for part in piece[rest..].split_inclusive(['?', '&', ';', '#']) {
        let body = part.trim_end_matches(['?', '&', ';', '#']);
        if let Some((name, value)) = body.split_once('=')
            && is_key(name)
            && !value.is_empty()
            // What was hidden already is no key any more.
            && !value.starts_with(['*', '['])
        {
            let from = at + rest + name.len() + 1;
            found.push((from, from + value.len()));
        }
        rest += part.len();
    }
}

/// Whether a parameter of this name grants access.
fn is_key(name: &str) -> bool {
    let name = name.to_ascii_lowercase().replace("%5f", "_").replace("%2d", "-");
    NAMES.iter().any(|word| {
        name.split(|c: char| !c.is_ascii_alphanumeric()).any(|part| part == *word)
            || word.len() > 3 && name.contains(word)
    }) || ["apikey", "appkey", "accesskey"].iter().any(|word| name.contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn credentials_are_masked_and_other_text_is_not() {
        for (text, shown) in [
            ("https://ada:pw@host/x", "https://***@host/x"),
            ("https://host/?token=abc&q=rome", "https://host/?token=***&q=rome"),
            ("see `https://host/a?X-Amz-Signature=abc`, now", "see `https://host/a?X-Amz-Signature=***`, now"),
            ("https://host/?access_token=abc#key=d", "https://host/?access_token=***#key=***"),
            (r#"{"url":"https://host/?token=abc","n":1}"#, r#"{"url":"https://host/?token=***","n":1}"#),
            ("https://host/?api-key=a;sig=b", "https://host/?api-key=***;sig=***"),
            ("/path?password=x y=z", "/path?password=*** y=z"),
            ("https://host/?q=key&monkey2=1", "https://host/?q=key&monkey2=1"),
            ("notes/a.md", "notes/a.md"),
            ("write to ada@home.example", "write to ada@home.example"),
        ] {
            assert_eq!(masked(text), shown);
        }
    }

    #[test]
    fn a_document_is_masked_at_every_depth_and_otherwise_left_as_it_is() {
        let mut document = serde_json::json!({
            "acts": [{"arguments": {"url": "https://h/?token=abc", "n": 1, "flag": true, "none": null}}],
            "https://u:p@h/": ["see https://h/?key=abc#x", "plain"],
        });
        mask(&mut document);
        let wanted = serde_json::json!({
            "acts": [{"arguments": {"url": "https://h/?token=***", "n": 1, "flag": true, "none": null}}],
            "https://***@h/": ["see https://h/?key=***#x", "plain"],
        });
        assert_eq!(document, wanted);
    }

    proptest! {
        #[test]
        fn no_key_is_left_in_an_address(secret in "[A-Z0-9]{8,20}", name in proptest::sample::select(NAMES.to_vec()), upper in any::<bool>()) {
            let name = if upper { name.to_uppercase() } else { name.to_owned() };
            for text in [format!("https://h/?{name}={secret}"), format!("get https://h/a?b=c&{name}={secret}#x now"), format!("https://u:{secret}@h/")] {
                prop_assert!(!masked(&text).contains(&secret), "{}", masked(&text));
            }
        }

        #[test]
        fn garbage_never_panics(text in "\\PC{0,80}|[a-z:/?&=#@%; ]{0,60}") {
            let _ = masked(&text);
        }
    }
}
