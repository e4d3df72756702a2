//! Tells whether a text is one JSON document in canonical form, without building it; it never repairs anything.
//!
//! Canonical here means: no white space, the keys of every object strictly ascending by
//! their code points (so none twice), strings escaped as little as possible and always
//! in the same way, no text after the end. One document then has one spelling, and the
//! digest of its bytes is the digest of its meaning.

use std::borrow::Cow;

/// How deep arrays and objects may nest.
pub const MAX_DEPTH: usize = 64;

/// Where and why bytes are not canonical JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{why} at byte {at}")]
pub struct NotCanonical {
    /// The position in the bytes.
    pub at: usize,
    /// What is wrong there.
    pub why: &'static str,
}

/// Checks that `text` is a canonical JSON object.
///
/// # Errors
/// The first place where it is not.
pub fn check_object(text: &str) -> Result<(), NotCanonical> {
    if !text.starts_with('{') {
        return Err(NotCanonical { at: 0, why: "an object was expected" });
    }
    let mut scan = Scan { text, bytes: text.as_bytes(), at: 0 };
    scan.value(0)?;
    if scan.at == text.len() { Ok(()) } else { scan.wrong("text after the end") }
}

/// Whether `text` is the canonical object with exactly these keys, which must be in order, each with a text.
#[must_use]
pub fn is_object_of_texts(text: &str, keys: &[&str]) -> bool {
    let mut rest = text;
    for (at, key) in keys.iter().enumerate() {
        let opened = rest.strip_prefix(if at == 0 { "{\"" } else { ",\"" }).and_then(|rest| rest.strip_prefix(key));
        let Some(value) = opened.and_then(|rest| rest.strip_prefix("\":")) else { return false };
        let Ok((_, length)) = string(value) else { return false };
        rest = &value[length..];
    }
    !keys.is_empty() && rest == "}"
}

struct Scan<'a> {
    text: &'a str,
    bytes: &'a [u8],
    /// Where the next thing begins: always between two characters.
    at: usize,
}

impl<'a> Scan<'a> {
    fn wrong<T>(&self, why: &'static str) -> Result<T, NotCanonical> {
        Err(NotCanonical { at: self.at, why })
    }

    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn take(&mut self, sign: u8, why: &'static str) -> Result<(), NotCanonical> {
        if self.peek() == Some(sign) {
            self.at += 1;
            Ok(())
        } else {
            self.wrong(why)
        }
    }

    fn value(&mut self, depth: usize) -> Result<(), NotCanonical> {
        match self.peek() {
            Some(b'{') => self.object(depth),
            Some(b'[') => self.array(depth),
            Some(b'"') => self.string().map(|_| ()),
            Some(b't') => self.word(b"true"),
            Some(b'f') => self.word(b"false"),
            Some(b'n') => self.word(b"null"),
            Some(b'-' | b'0'..=b'9') => self.number(),
            _ => self.wrong("a value was expected"),
        }
    }

    fn word(&mut self, word: &[u8]) -> Result<(), NotCanonical> {
        if self.bytes[self.at..].starts_with(word) {
            self.at += word.len();
            Ok(())
        } else {
            self.wrong("a value was expected")
        }
    }

    fn object(&mut self, depth: usize) -> Result<(), NotCanonical> {
        if depth >= MAX_DEPTH {
            return self.wrong("nested too deeply");
        }
        self.at += 1;
        if self.peek() == Some(b'}') {
            self.at += 1;
            return Ok(());
        }
        let mut last: Option<Cow<'a, str>> = None;
        loop {
            let key = self.string()?;
            if last.is_some_and(|last| last.as_ref() >= key.as_ref()) {
                return self.wrong("a key out of order, or twice");
            }
            last = Some(key);
            self.take(b':', "a colon was expected")?;
            self.value(depth + 1)?;
            if self.peek() == Some(b'}') {
                self.at += 1;
                return Ok(());
            }
            self.take(b',', "a comma or the end of the object was expected")?;
        }
    }

    fn array(&mut self, depth: usize) -> Result<(), NotCanonical> {
        if depth >= MAX_DEPTH {
            return self.wrong("nested too deeply");
        }
        self.at += 1;
        if self.peek() == Some(b']') {
            self.at += 1;
            return Ok(());
        }
        loop {
            self.value(depth + 1)?;
            if self.peek() == Some(b']') {
                self.at += 1;
                return Ok(());
            }
            self.take(b',', "a comma or the end of the array was expected")?;
        }
    }

    fn string(&mut self) -> Result<Cow<'a, str>, NotCanonical> {
        let Some(rest) = self.text.get(self.at..) else { return self.wrong("a string was expected") };
        let (text, length) = string(rest).map_err(|error| NotCanonical { at: self.at + error.at, why: error.why })?;
        self.at += length;
        Ok(text)
    }

    fn number(&mut self) -> Result<(), NotCanonical> {
        if self.peek() == Some(b'-') {
            self.at += 1;
        }
        if self.peek() == Some(b'0') {
            self.at += 1;
        } else {
            self.digits()?;
        }
        if self.peek() == Some(b'.') {
            self.at += 1;
            self.digits()?;
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            self.at += 1;
            if matches!(self.peek(), Some(b'+' | b'-')) {
                self.at += 1;
            }
            self.digits()?;
        }
        Ok(())
    }

    fn digits(&mut self) -> Result<(), NotCanonical> {
        let start = self.at;
        while matches!(self.peek(), Some(b'0'..=b'9')) {
            self.at += 1;
        }
        if self.at > start { Ok(()) } else { self.wrong("a digit was expected") }
    }
}

/// Reads the JSON string that `text` begins with, if it is escaped canonically: what it says,
/// and how many bytes it takes with its quotes.
///
/// # Errors
/// When there is none, or it could be spelled otherwise.
pub fn string(text: &str) -> Result<(Cow<'_, str>, usize), NotCanonical> {
    let wrong = |at, why| Err(NotCanonical { at, why });
    let bytes = text.as_bytes();
    if bytes.first() != Some(&b'"') {
        return wrong(0, "a string was expected");
    }
    let mut escaped = false;
    let mut at = 1;
    loop {
        at += plain(&bytes[at.min(bytes.len())..]);
        match bytes.get(at) {
            None => return wrong(at, "the string has no end"),
            Some(b'"') => break,
            Some(b'\\') => {
                escaped = true;
                at += 2;
            }
            Some(0..=0x1f) => return wrong(at, "a control character"),
            Some(_) => at += 1,
        }
    }
    // Both ends are quotation marks, so neither cut is inside a character.
    let (Some(inside), Some(whole)) = (text.get(1..at), text.get(..=at)) else {
        return wrong(0, "the text is not UTF-8");
    };
    if !escaped {
        return Ok((Cow::Borrowed(inside), whole.len()));
    }
    let Ok(read) = serde_json::from_str::<String>(whole) else {
        return wrong(0, "an escape that means nothing");
    };
    if serde_json::to_string(&read).is_ok_and(|spelled| spelled == whole) {
        Ok((Cow::Owned(read), whole.len()))
    } else {
        wrong(0, "a string that is escaped more than it must be")
    }
}

/// How many bytes at the beginning need no second look: no quotation mark, no backslash, no control character. Eight at a
/// time; of the last seven it says nothing.
#[inline]
fn plain(bytes: &[u8]) -> usize {
    const ONES: u64 = u64::MAX / 255;
    const HIGHS: u64 = ONES << 7;
    // The highest bit of each byte of `word` that is below `limit`, which is at most 128, and maybe of bytes after the
    // first that is: so the first one is right.
    let below = |word: u64, limit: u64| word.wrapping_sub(ONES * limit) & !word & HIGHS;
    let mut at = 0;
    for eight in bytes.chunks_exact(8) {
        let Ok(eight) = <[u8; 8]>::try_from(eight) else { break };
        let word = u64::from_le_bytes(eight);
        let quote = below(word ^ (ONES * u64::from(b'"')), 1);
        let slash = below(word ^ (ONES * u64::from(b'\\')), 1);
        let found = below(word, 0x20) | quote | slash;
        if found != 0 {
            return at + found.trailing_zeros() as usize / 8;
        }
        at += 8;
    }
    at
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn non_canonical_json_is_refused() {
        for text in [
            "",
            "1",
            "[]",
            "{",
            "{} ",
            " {}",
            "{ }",
            r#"{"a":1,}"#,
            r#"{"b":1,"a":2}"#,
            r#"{"a":1,"a":1}"#,
            r#"{"a":"\u0041"}"#,
            r#"{"a":"\/"}"#,
            r#"{"a":"\u000A"}"#,
            r#"{"a":01}"#,
            r#"{"a":+1}"#,
            r#"{"a":.5}"#,
            r#"{"a":NaN}"#,
            r#"{"a":tru}"#,
            "{\"a\":\"\n\"}",
            r#"{"a":"\ud800"}"#,
            r#"{"a":"x"#,
            r#"{"a":1}{}"#,
            r#"{"a" :1}"#,
            r#"{"\u0061":1}"#,
        ] {
            assert!(check_object(text).is_err(), "{text}");
        }
        assert!(check_object("{\"a\":\"\\").is_err());
        // A backslash before a character of several bytes.
        assert!(check_object("{\"a\":\"\\è\"}").is_err());
    }

    #[test]
    fn canonical_json_is_accepted() {
        for text in ["{}", r#"{"a":[1,-0.5e+7,true,false,null,{"b":"\n\u0001\"è"}],"b":{}}"#, r#"{"":[]}"#] {
            assert_eq!(check_object(text), Ok(()), "{text}");
        }
    }

    #[test]
    fn an_object_of_texts_has_exactly_its_keys_in_order_and_nothing_else() {
        let keys = ["a", "b"];
        assert!(is_object_of_texts(r#"{"a":"1","b":"è\"}"}"#, &keys));
        for text in [
            r#"{"a":"1"}"#,
            r#"{"a":"1","b":2}"#,
            r#"{"b":"1","a":"2"}"#,
            r#"{"a":"1","b":"2","c":"3"}"#,
            r#"{"a":"1","b":"2"} "#,
            r#"{"a":"1","b":"2""#,
            r#"{"a":"1","b":"\u0041"}"#,
            r#"{"ab":"1","b":"2"}"#,
            "{}",
        ] {
            assert!(!is_object_of_texts(text, &keys), "{text}");
        }
    }

    #[test]
    fn nesting_is_bounded() {
        let nested = |depth: usize| format!("{{\"a\":{}{}}}", "[".repeat(depth), "]".repeat(depth));
        assert_eq!(check_object(&nested(MAX_DEPTH - 1)), Ok(()));
        assert!(check_object(&nested(MAX_DEPTH)).is_err());
        assert!(check_object(&nested(1_000_000)).is_err());
    }

    fn any_json() -> impl Strategy<Value = serde_json::Value> {
        let leaf = prop_oneof![
            Just(serde_json::Value::Null),
            any::<bool>().prop_map(Into::into),
            any::<i64>().prop_map(Into::into),
            any::<f64>().prop_map(Into::into),
            ".{0,8}".prop_map(Into::into),
        ];
        leaf.prop_recursive(4, 32, 5, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..5).prop_map(Into::into),
                prop::collection::btree_map(".{0,4}", inner, 0..5)
                    .prop_map(|map| serde_json::Value::Object(map.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn sorted_compact_json_is_canonical(value in any_json()) {
            let text = serde_json::json!({ "v": value }).to_string();
            prop_assert_eq!(check_object(&text), Ok(()));
        }

        #[test]
        fn accepted_json_equals_its_canonical_form(text in "[]{}\\[\",:\\\\ab01e.nuè -]{0,24}") {
            if check_object(&text).is_ok() {
                prop_assert!(serde_json::from_str::<serde_json::Value>(&text).is_ok());
            }
        }

        #[test]
        fn bytes_skipped_eight_at_a_time_need_no_escape(bytes in prop::collection::vec(any::<u8>(), 0..40)) {
            let needs = |byte: &u8| *byte < 0x20 || matches!(*byte, b'"' | b'\\');
            let passed = plain(&bytes);
            prop_assert!(!bytes[..passed].iter().any(needs));
            prop_assert!(passed >= bytes.len() / 8 * 8 || needs(&bytes[passed]));
            let harmless: Vec<u8> = bytes.iter().map(|byte| if needs(byte) { b'a' } else { *byte }).collect();
            prop_assert_eq!(plain(&harmless), harmless.len() / 8 * 8);
        }

        #[test]
        fn any_text_is_judged_without_a_panic(text in "\\PC{0,32}|.{0,64}|[{\"\\\\è:]{0,32}") {
            let _ = check_object(&text);
        }
    }
}
