//! Strict reading of a server's JSON: one value, no key twice, no deeper than [`MAX_DEPTH`], nothing behind it. Two
//! readers of a key that stands twice may each see another value, so such a text is none.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

use crate::bad::Bad;

/// How deep values may be nested.
pub const MAX_DEPTH: usize = 32;

/// The value of a whole text.
///
/// # Errors
/// [`Class::Broken`](crate::bad::Class::Broken), without the text.
pub fn parse(text: &[u8]) -> Result<Value, Bad> {
    let mut reader = serde_json::Deserializer::from_slice(text);
    let value = Strict { left: MAX_DEPTH }.deserialize(&mut reader);
    // The position says enough; the text itself may be anything.
    let refused =
        |error: serde_json::Error| Bad::broken(format!("JSON of the server is not sound: {}", reason(&error)));
    let value = value.map_err(refused)?;
    reader.end().map_err(refused)?;
    Ok(value)
}

fn reason(error: &serde_json::Error) -> String {
    let kind = match error.classify() {
        serde_json::error::Category::Eof => "it ends in the middle",
        serde_json::error::Category::Data => "a key twice, or nested too deep",
        serde_json::error::Category::Syntax | serde_json::error::Category::Io => "it is none",
    };
    format!("{kind}, at its byte {}", error.column())
}

#[derive(Clone, Copy)]
struct Strict {
    left: usize,
}

impl Strict {
    fn deeper<E: Error>(self) -> Result<Self, E> {
        self.left.checked_sub(1).map(|left| Self { left }).ok_or_else(|| E::custom("nested too deep"))
    }
}

impl<'de> DeserializeSeed<'de> for Strict {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Strict {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let inner = self.deeper()?;
        let mut list = Vec::new();
        while let Some(item) = items.next_element_seed(inner)? {
            list.push(item);
        }
        Ok(list.into())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let inner = self.deeper()?;
        let mut map = Map::new();
        while let Some(key) = entries.next_key::<String>()? {
            let value = entries.next_value_seed(inner)?;
            if map.insert(key, value).is_some() {
                return Err(A::Error::custom("a key twice"));
            }
        }
        Ok(map.into())
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
        let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        assert!(parse(nested(MAX_DEPTH).as_bytes()).is_ok());
        assert!(parse(nested(MAX_DEPTH + 1).as_bytes()).is_err());
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_without_a_panic_and_what_is_read_is_what_others_read(bytes: Vec<u8>) {
            if let Ok(value) = parse(&bytes) {
                prop_assert_eq!(value, serde_json::from_slice::<Value>(&bytes).unwrap());
            }
        }
    }
}
