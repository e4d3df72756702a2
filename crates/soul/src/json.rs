//! R02: JSON without duplicate keys, not deeper and not longer than allowed.

use std::fmt;

use serde::de::{self, DeserializeSeed, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

use crate::verdict::{Code, Objection, refuse};

/// The longest block, in bytes.
pub const MAX_BYTES: usize = 16 * 1024;
/// How deep its values may lie in each other.
pub const MAX_DEPTH: usize = 5;

/// Reads a block.
///
/// # Errors
/// What is wrong with it.
pub fn read(text: &str) -> Result<Value, Objection> {
    if text.len() > MAX_BYTES {
        return refuse(Code::R02, format!("the block has {} bytes, {MAX_BYTES} is the limit", text.len()));
    }
    let mut reader = serde_json::Deserializer::from_str(text);
    let read = Strict { depth: MAX_DEPTH }.deserialize(&mut reader).and_then(|value| reader.end().map(|()| value));
    read.or_else(|error| refuse(Code::R02, format!("the block is no such JSON: {error}")))
}

/// One value, at most so many levels deep.
#[derive(Clone, Copy)]
struct Strict {
    depth: usize,
}

impl Strict {
    fn deeper<E: de::Error>(self) -> Result<Self, E> {
        let depth = self.depth.checked_sub(1).ok_or_else(|| E::custom(format!("it is deeper than {MAX_DEPTH}")))?;
        Ok(Self { depth })
    }
}

impl<'de> DeserializeSeed<'de> for Strict {
    type Value = Value;

    fn deserialize<D: de::Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Strict {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
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
        Ok(Value::String(value.to_owned()))
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Value, A::Error> {
        let inner = self.deeper()?;
        let mut all = Vec::new();
        while let Some(value) = seq.next_element_seed(inner)? {
            all.push(value);
        }
        Ok(Value::Array(all))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        let inner = self.deeper()?;
        let mut all = Map::new();
        while let Some(key) = map.next_key::<String>()? {
            let value = map.next_value_seed(inner)?;
            if all.insert(key.clone(), value).is_some() {
                return Err(de::Error::custom(format!("the key `{key}` stands there twice")));
            }
        }
        Ok(Value::Object(all))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    #[test]
    fn only_strict_json_is_read() {
        assert_eq!(read(r#" {"a":[1,2.5,"x",null,true]} "#).unwrap(), json!({"a": [1, 2.5, "x", null, true]}));
        assert!(read("[[[[[1]]]]]").is_ok());
        for text in [
            "[[[[[[1]]]]]]",
            r#"{"a":1,"a":2}"#,
            r#"{"a":{"b":1,"b":1}}"#,
            "{} {}",
            "{'a':1}",
            "{\"a\":1,}",
            "NaN",
            "",
            "// c\n{}",
        ] {
            assert!(read(text).is_err(), "{text}");
        }
        assert!(read(&format!("\"{}\"", "x".repeat(MAX_BYTES))).is_err());
    }

    proptest! {
        #[test]
        fn what_is_read_is_what_serde_reads(text in "[\\[\\]{}:,\"a1. ]{0,40}") {
            if let Ok(value) = read(&text) {
                prop_assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), value);
            }
        }
    }
}
