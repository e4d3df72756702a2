//! A server's JSON, read as strictly as everything else that comes from outside: [`metnos_proto::json`]. What is wrong with
//! it is said without a word of it, for it may be anything.

use metnos_proto::json::{JsonError, Limits, parse_strict};
use serde_json::Value;

use crate::error::CompletionError;

/// How deep values may be nested.
pub const MAX_DEPTH: u8 = 32;

/// The value of a whole text, whose length is bounded by anyone who has read it.
///
/// # Errors
/// [`Class::Broken`](crate::error::Class::Broken), without the text.
pub fn parse(text: &[u8]) -> Result<Value, CompletionError> {
    let limits = Limits { max_bytes: text.len(), max_depth: MAX_DEPTH };
    parse_strict(text, limits)
        .map_err(|error| CompletionError::broken(format!("JSON of the server is not sound: {}", reason(&error))))
}

/// What is wrong, without the text: a key that stands twice is the server's, too.
const fn reason(error: &JsonError) -> &'static str {
    match error {
        JsonError::DuplicateKey { .. } => "a key twice",
        JsonError::TooDeep { .. } => "nested too deep",
        JsonError::NotUtf8 { .. } => "it is no text",
        JsonError::TooLong { .. } => "too long",
        JsonError::Syntax { .. }
        | JsonError::NotAnObject { .. }
        | JsonError::BadReference { .. }
        | JsonError::TooManyReferences { .. } => "it is none",
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_key_twice_a_depth_too_much_and_a_second_value_are_refused() {
        assert!(parse(br#"{"a":1,"b":[{"a":2}]}"#).is_ok());
        for bad in [&br#"{"a":1,"a":1}"#[..], br#"{"x":{"a":1,"a":2}}"#, b"1 2", b"", b"{\"a\":", b"\"\xff\"", b"[1,]"]
        {
            assert!(parse(bad).is_err(), "{}", String::from_utf8_lossy(bad));
        }
        let why = parse(br#"{"sk-secret":1,"sk-secret":2}"#).unwrap_err().why;
        assert!(why.contains("a key twice") && !why.contains("sk-secret"), "{why}");
        let nested = |depth: u8| format!("{}{}", "[".repeat(depth.into()), "]".repeat(depth.into()));
        assert!(parse(nested(MAX_DEPTH).as_bytes()).is_ok());
        assert!(parse(nested(MAX_DEPTH + 1).as_bytes()).is_err());
    }

    proptest! {
        #[test]
        fn json_reader_never_panics_and_agrees_with_serde_json(bytes: Vec<u8>) {
            if let Ok(value) = parse(&bytes) {
                prop_assert_eq!(value, serde_json::from_slice::<Value>(&bytes).unwrap());
            }
        }
    }
}
