//! JSON that means the same to everybody who reads it: one strict reader, one canonical
//! form, and the references between results. It must never accept a document that two
//! readers could understand differently.
//!
//! **Canonical form** ([`canonical`]): no white space; object keys in ascending order of
//! their UTF-8 bytes; strings and numbers as `serde_json` writes them (shortest escapes,
//! shortest digits that read back as the same number). Digests of values are digests of
//! these bytes. An integer outside 64 bits is read as the nearest double, so anyone who passes
//! a value on passes on its canonical form, never the bytes it was read from.

use std::fmt::{self, Debug};

use serde::Serialize;
use serde::de::{DeserializeSeed, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

use crate::ids::Blake3;
use crate::msg::common::Leaf;

mod reference;

pub use reference::{REF_KEY, RefSite, parse_reference, references, substitute};

/// How large and how deep a document may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// The most bytes of text.
    pub max_bytes: usize,
    /// The deepest nesting: a scalar has depth 0, `[]` has 1. At most [`MAX_DEPTH`].
    pub max_depth: u8,
}

/// The deepest nesting any reader of Metnos accepts; below the recursion limit of the parser.
pub const MAX_DEPTH: u8 = 64;
/// The most bytes a pointer may have.
pub const MAX_POINTER_BYTES: usize = 1024;

impl Limits {
    /// For arguments of a call: 1 MiB, 32 deep.
    pub const ARGUMENTS: Self = Self { max_bytes: 1 << 20, max_depth: 32 };

    /// For a result of at most `max_bytes`, 32 deep.
    #[must_use]
    pub const fn result(max_bytes: usize) -> Self {
        Self { max_bytes, max_depth: 32 }
    }
}

/// Why a text is not a document.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum JsonError {
    /// It is longer than allowed.
    #[error("the document has {bytes} bytes; at most {max} are accepted")]
    TooLong {
        /// Its length.
        bytes: usize,
        /// The limit.
        max: usize,
    },
    /// It is nested deeper than allowed.
    #[error("the document is nested more than {max} deep")]
    TooDeep {
        /// The limit.
        max: u8,
    },
    /// An object names the same key twice.
    #[error("the key `{key}` appears twice in one object")]
    DuplicateKey {
        /// The key, shortened.
        key: String,
    },
    /// It is not UTF-8.
    #[error("the document is not UTF-8 (byte {at})")]
    NotUtf8 {
        /// The first byte that does not fit.
        at: usize,
    },
    /// It is not JSON, or has something behind its end, or a number that is not finite.
    #[error("the document is not JSON: {what}")]
    Syntax {
        /// What the parser says, with line and column.
        what: String,
    },
    /// It is JSON, but not the kind that was expected.
    #[error("expected a JSON object, found {found}")]
    NotAnObject {
        /// What it is.
        found: &'static str,
    },
    /// A `$ref` that is no reference.
    #[error("the reference at `{at}` is malformed: {what}")]
    BadReference {
        /// Where it stands in the arguments.
        at: String,
        /// What is wrong with it.
        what: String,
    },
    /// More references than allowed.
    #[error("the arguments hold more than {max} references")]
    TooManyReferences {
        /// The limit.
        max: usize,
    },
}

/// Reads one document: UTF-8, no key twice, nothing behind it, no deeper and no longer than
/// `limits`, every number finite, every escape a whole character.
///
/// # Errors
/// A [`JsonError`] that says which of these does not hold.
pub fn parse_strict(bytes: &[u8], limits: Limits) -> Result<Value, JsonError> {
    if bytes.len() > limits.max_bytes {
        return Err(JsonError::TooLong { bytes: bytes.len(), max: limits.max_bytes });
    }
    let text = std::str::from_utf8(bytes).map_err(|error| JsonError::NotUtf8 { at: error.valid_up_to() })?;
    let fault = std::cell::RefCell::new(None);
    let max = limits.max_depth.min(MAX_DEPTH);
    let mut parser = serde_json::Deserializer::from_str(text);
    let seed = Strict { left: max, max, fault: &fault };
    seed.deserialize(&mut parser)
        .and_then(|value| parser.end().map(|()| value))
        .map_err(|error| fault.take().unwrap_or_else(|| JsonError::Syntax { what: error.to_string() }))
}

/// As [`parse_strict`], for documents that must be objects: arguments and results.
///
/// # Errors
/// As [`parse_strict`], and [`JsonError::NotAnObject`].
pub fn parse_object(bytes: &[u8], limits: Limits) -> Result<Map<String, Value>, JsonError> {
    match parse_strict(bytes, limits)? {
        Value::Object(map) => Ok(map),
        other @ (Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_)) => {
            Err(JsonError::NotAnObject { found: kind(&other) })
        }
    }
}

/// The name of a value's kind, as JSON Schema calls it.
#[must_use]
pub const fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// Reads one value, counting depth down; what it finds wrong is left in `fault`, because the
/// parser's own errors carry text only.
struct Strict<'a> {
    left: u8,
    max: u8,
    fault: &'a std::cell::RefCell<Option<JsonError>>,
}

impl Strict<'_> {
    fn deeper<E: serde::de::Error>(&self) -> Result<Self, E> {
        match self.left.checked_sub(1) {
            Some(left) => Ok(Self { left, max: self.max, fault: self.fault }),
            None => {
                self.fault.replace(Some(JsonError::TooDeep { max: self.max }));
                Err(E::custom("too deep"))
            }
        }
    }

    const fn same(&self) -> Self {
        Self { left: self.left, max: self.max, fault: self.fault }
    }
}

impl<'de> DeserializeSeed<'de> for Strict<'_> {
    type Value = Value;

    fn deserialize<D: serde::Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Strict<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<Value, E> {
        Number::from_f64(value).map(Value::Number).ok_or_else(|| E::custom("a number that is not finite"))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::String(value.to_owned()))
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(Value::String(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let inner = self.deeper()?;
        let mut array = Vec::new();
        while let Some(item) = items.next_element_seed(inner.same())? {
            array.push(item);
        }
        Ok(Value::Array(array))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let inner = self.deeper()?;
        let mut map = Map::new();
        while let Some(key) = entries.next_key::<String>()? {
            if map.contains_key(&key) {
                let shortened = key.chars().take(64).collect();
                inner.fault.replace(Some(JsonError::DuplicateKey { key: shortened }));
                return Err(A::Error::custom("a key twice"));
            }
            map.insert(key, entries.next_value_seed(inner.same())?);
        }
        Ok(Value::Object(map))
    }
}

/// The canonical bytes of a value; see the head of this file.
#[must_use]
pub fn canonical(value: &Value) -> Vec<u8> {
    let mut bytes = Vec::new();
    write_canonical(value, &mut bytes);
    bytes
}

/// The canonical bytes of a document that has a type.
#[must_use]
pub fn canonical_of<T: serde::Serialize + ?Sized>(document: &T) -> Vec<u8> {
    canonical(&serde_json::to_value(document).unwrap_or_default())
}

/// The digest of a value: BLAKE3 of its canonical bytes.
#[must_use]
pub fn digest(value: &Value) -> Blake3 {
    Blake3::of(&canonical(value))
}

/// The digest of everything that a document says. Documents are objects with texts as keys, so writing one does not fail; if it
/// did, its `Debug` form would stand for it, so that no two documents ever share a digest.
#[must_use]
pub fn digest_of<T: Serialize + Debug>(document: &T) -> Blake3 {
    match serde_json::to_value(document) {
        Ok(value) => digest(&value),
        Err(error) => Blake3::of(format!("{error}: {document:?}").as_bytes()),
    }
}

fn write_canonical(value: &Value, out: &mut Vec<u8>) {
    match value {
        Value::Null => out.extend_from_slice(b"null"),
        Value::Bool(true) => out.extend_from_slice(b"true"),
        Value::Bool(false) => out.extend_from_slice(b"false"),
        Value::Number(number) => out.extend_from_slice(number.to_string().as_bytes()),
        Value::String(text) => write_string(text, out),
        Value::Array(items) => {
            out.push(b'[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push(b',');
                }
                write_canonical(item, out);
            }
            out.push(b']');
        }
        Value::Object(map) => {
            out.push(b'{');
            // The map's own order depends on a feature of `serde_json` that any crate may switch on.
            let mut entries: Vec<_> = map.iter().collect();
            entries.sort_unstable_by(|a, b| a.0.as_bytes().cmp(b.0.as_bytes()));
            for (index, (key, item)) in entries.into_iter().enumerate() {
                if index > 0 {
                    out.push(b',');
                }
                write_string(key, out);
                out.push(b':');
                write_canonical(item, out);
            }
            out.push(b'}');
        }
    }
}

fn write_string(text: &str, out: &mut Vec<u8>) {
    out.reserve(text.len() + 2);
    out.push(b'"');
    let bytes = text.as_bytes();
    let mut written = 0;
    for (index, byte) in bytes.iter().enumerate() {
        if *byte >= b' ' && *byte != b'"' && *byte != b'\\' {
            continue;
        }
        out.extend_from_slice(&bytes[written..index]);
        written = index + 1;
        match byte {
            b'"' => out.extend_from_slice(b"\\\""),
            b'\\' => out.extend_from_slice(b"\\\\"),
            0x08 => out.extend_from_slice(b"\\b"),
            b'\t' => out.extend_from_slice(b"\\t"),
            b'\n' => out.extend_from_slice(b"\\n"),
            0x0c => out.extend_from_slice(b"\\f"),
            b'\r' => out.extend_from_slice(b"\\r"),
            control => out.extend_from_slice(format!("\\u{control:04x}").as_bytes()),
        }
    }
    out.extend_from_slice(&bytes[written..]);
    out.push(b'"');
}

/// Whether a text is a JSON pointer (RFC 6901): empty, or `/` and tokens with `~` only in `~0`, `~1`.
#[must_use]
pub fn is_pointer(text: &str) -> bool {
    if text.len() > MAX_POINTER_BYTES {
        return false;
    }
    let escapes_hold = text.split('~').skip(1).all(|rest| rest.starts_with(['0', '1']));
    (text.is_empty() || text.starts_with('/')) && escapes_hold && !text.contains('\0')
}

/// The pointer of the member `token` of what `pointer` points at.
#[must_use]
pub fn child(pointer: &str, token: &str) -> String {
    let mut text = String::with_capacity(pointer.len() + token.len() + 1);
    text.push_str(pointer);
    text.push('/');
    for character in token.chars() {
        match character {
            '~' => text.push_str("~0"),
            '/' => text.push_str("~1"),
            other => text.push(other),
        }
    }
    text
}

/// Whether `pattern`, a pointer in which a token `*` stands for any one token, fits `pointer`.
#[must_use]
pub fn pointer_fits(pattern: &str, pointer: &str) -> bool {
    let mut wanted = pattern.split('/');
    let mut found = pointer.split('/');
    loop {
        match (wanted.next(), found.next()) {
            (None, None) => return true,
            (Some("*"), Some(token)) if !token.is_empty() => {}
            (Some(a), Some(b)) if a == b => {}
            (Some(_) | None, Some(_) | None) => return false,
        }
    }
}

/// The leaves of a value, in canonical order: each scalar and each empty container, by pointer
/// and digest. When there are more than `max`, or one that no pointer can name, the last entry has the pointer `""` and the
/// digest of the whole value, and stands for all that are not listed.
#[must_use]
pub fn leaves(value: &Value, max: usize) -> Vec<Leaf> {
    let mut found = Vec::new();
    let whole = collect_leaves(value, String::new(), max, &mut found);
    if !whole {
        found.truncate(max.saturating_sub(1));
        found.push(Leaf { pointer: String::new(), digest: digest(value) });
    }
    found
}

/// Adds the leaves below `value`; `false` when there was no room for all.
fn collect_leaves(value: &Value, pointer: String, max: usize, found: &mut Vec<Leaf>) -> bool {
    match value {
        Value::Array(items) if !items.is_empty() => items
            .iter()
            .enumerate()
            .all(|(index, item)| collect_leaves(item, child(&pointer, &index.to_string()), max, found)),
        Value::Object(map) if !map.is_empty() => {
            let mut entries: Vec<_> = map.iter().collect();
            entries.sort_unstable_by(|a, b| a.0.as_bytes().cmp(b.0.as_bytes()));
            entries.into_iter().all(|(key, item)| collect_leaves(item, child(&pointer, key), max, found))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) | Value::Object(_) => {
            // Also what no pointer can name: an executor chooses the keys of its result.
            if found.len() >= max || !is_pointer(&pointer) {
                return false;
            }
            found.push(Leaf { pointer, digest: digest(value) });
            true
        }
    }
}

/// Whether two values are the same, numbers by what they count: 30 and 30.0 are one number.
#[must_use]
pub fn same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => one == other || one.as_f64() == other.as_f64(),
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| same(one, other))
        }
        (Value::Object(one), Value::Object(other)) => {
            one.len() == other.len()
                && one.iter().all(|(key, value)| other.get(key).is_some_and(|found| same(value, found)))
        }
        _ => one == other,
    }
}

#[cfg(test)]
mod tests;
