//! How the fields of a server's documents are read. A field of which a reply is made must be what it should be; one that
//! only describes it is left out where it is something else. No error repeats a word of the server.

use std::marker::PhantomData;

use serde::de::{DeserializeOwned, Error, MapAccess, Visitor, value::MapAccessDeserializer};
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use crate::error::CompletionError;

/// Reads a document, which must be an object.
///
/// # Errors
/// [`Class::Broken`](crate::error::Class::Broken), with the field that is not what it should be.
pub(super) fn read<'a, T: Deserialize<'a>>(value: &'a Value) -> Result<T, CompletionError> {
    if !value.is_object() {
        return Err(CompletionError::broken("a piece of the reply is no object"));
    }
    serde_path_to_error::deserialize(value).map_err(|error| {
        // The path holds nothing but our own names and numbers; the error may hold what the server says.
        CompletionError::broken(format!("`{}` of the server is not what it should be", error.path()))
    })
}

/// A number that counts something; what is none is left out.
pub(super) fn count<'de, D: Deserializer<'de>>(from: D) -> Result<Option<u64>, D::Error> {
    Ok(Value::deserialize(from)?.as_u64())
}

/// A text that must be one where it is there at all.
pub(super) fn text<'de, D: Deserializer<'de>>(from: D) -> Result<String, D::Error> {
    match Value::deserialize(from)? {
        Value::Null => Ok(String::new()),
        Value::String(text) => Ok(text),
        Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => Err(D::Error::custom("no text")),
    }
}

/// A text; what is none is left out.
pub(super) fn any_text<'de, D: Deserializer<'de>>(from: D) -> Result<Option<String>, D::Error> {
    Ok(match Value::deserialize(from)? {
        Value::String(text) => Some(text),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => None,
    })
}

/// Arguments of a call, as text. Some servers hand over the object itself.
pub(super) fn arguments<'de, D: Deserializer<'de>>(from: D) -> Result<String, D::Error> {
    match Value::deserialize(from)? {
        Value::Null => Ok(String::new()),
        Value::String(text) => Ok(text),
        object @ Value::Object(_) => Ok(object.to_string()),
        Value::Bool(_) | Value::Number(_) | Value::Array(_) => Err(D::Error::custom("no arguments")),
    }
}

/// An object that must be one where it is there at all.
pub(super) fn object<'de, D: Deserializer<'de>, T: Deserialize<'de>>(from: D) -> Result<Option<T>, D::Error> {
    from.deserialize_any(Object(PhantomData))
}

/// An object; what is none, or another one, is left out.
pub(super) fn any_object<'de, D: Deserializer<'de>, T: DeserializeOwned>(from: D) -> Result<Option<T>, D::Error> {
    let value = Value::deserialize(from)?;
    Ok(read(&value).ok())
}

/// A list of objects that must be one where it is there at all.
pub(super) fn list<'de, D: Deserializer<'de>, T: Deserialize<'de>>(from: D) -> Result<Vec<T>, D::Error> {
    let list: Option<Vec<Item<T>>> = Option::deserialize(from)?;
    Ok(list.unwrap_or_default().into_iter().map(|item| item.0).collect())
}

/// A list of which nothing but the objects counts that are what they should be; what is no list is left out.
pub(super) fn any_list<'de, D: Deserializer<'de>, T: DeserializeOwned>(from: D) -> Result<Option<Vec<T>>, D::Error> {
    Ok(match Value::deserialize(from)? {
        Value::Array(items) => Some(items.iter().filter_map(|item| read(item).ok()).collect()),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_) => None,
    })
}

/// A list of which only the texts count; what is no list is left out.
pub(super) fn texts<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Vec<String>>, D::Error> {
    Ok(match Value::deserialize(from)? {
        Value::Array(items) => Some(items.iter().filter_map(Value::as_str).map(str::to_owned).collect()),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_) => None,
    })
}

/// Reads an object, or nothing. What serde derives for a struct would also take a list.
struct Object<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for Object<T> {
    type Value = Option<T>;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("an object")
    }

    fn visit_unit<E: Error>(self) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
        T::deserialize(MapAccessDeserializer::new(map)).map(Some)
    }
}

/// An object in a list.
struct Item<T>(T);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Item<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        object(from)?.map(Item).ok_or_else(|| D::Error::custom("no object"))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use serde_json::json;

    use super::*;

    #[derive(Debug, Default, PartialEq, Deserialize)]
    #[serde(default)]
    struct Outer {
        #[serde(deserialize_with = "list")]
        items: Vec<Inner>,
        #[serde(deserialize_with = "any_object")]
        about: Option<Inner>,
    }

    #[derive(Debug, Default, PartialEq, Deserialize)]
    #[serde(default)]
    struct Inner {
        #[serde(deserialize_with = "text")]
        word: String,
        #[serde(deserialize_with = "count")]
        size: Option<u64>,
    }

    #[test]
    fn field_error_names_the_field_and_no_word_of_the_server() {
        let why = |value: Value| read::<Outer>(&value).unwrap_err().why;
        assert_eq!(
            why(json!({"items": [{}, {"word": ["sk-secret"]}]})),
            "`items[1].word` of the server is not what it should be"
        );
        for bad in [json!({"items": "sk-secret"}), json!({"items": ["sk-secret"]}), json!({"items": [["sk-secret"]]})] {
            assert!(why(bad.clone()).starts_with("`items") && !why(bad).contains("sk-secret"));
        }
        assert_eq!(why(json!(["x"])), "a piece of the reply is no object");
    }

    #[test]
    fn describing_field_of_another_kind_is_left_out() {
        let read = |value: Value| read::<Outer>(&value).unwrap();
        assert_eq!(read(json!({"items": null, "about": {"word": 7}, "new": [1]})), Outer::default());
        assert_eq!(read(json!({"about": 7})), Outer::default());
        assert_eq!(read(json!({"about": {"size": -1, "word": null}})).about, Some(Inner::default()));
        assert_eq!(read(json!({"about": {"size": 3}})).about.unwrap().size, Some(3));
    }
}
