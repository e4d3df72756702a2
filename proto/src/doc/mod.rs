//! Documents: answers that people and programs read, each one type. A document travels as JSON in sealed memory beside
//! the word that announces it; the matrix names its type as `Doc<T>`, and the JSON Schema of `metnosctl schema` is made
//! from the same type.

pub mod automation;
pub mod budget;
pub mod card;
pub mod chronicle;
pub mod draft;
pub mod executor;
pub mod grant;
pub mod memory;
pub mod mnestome;
pub mod models;
pub mod people;
pub mod policy;
pub mod sandbox;
pub mod schedule;
pub mod undo;
pub mod vaglio;
pub mod vault;

use std::marker::PhantomData;

use postcard_schema::Schema;
use postcard_schema::schema::{DataModelType, NamedType};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use zeroize::Zeroizing;

use crate::msg::common::{Refusal, RefusalCode};
use crate::payload::Sealed;

/// A document that an answer can bring.
pub trait Document: Serialize + DeserializeOwned + JsonSchema + 'static {
    /// The type's name, as the matrix and the schema show it.
    const NAME: &'static str;
}

/// Declares that a type is a document: `document!(CardList)`.
#[macro_export]
macro_rules! document {
    ($($name:ident),+ $(,)?) => {
        $(impl $crate::doc::Document for $name {
            const NAME: &'static str = stringify!($name);
        })+
    };
}

/// Reads a field that may be null but must be present: `#[serde(deserialize_with = "nullable")]`. Without it serde takes a
/// missing field for null.
///
/// # Errors
/// When the value is neither null nor a `T`.
pub fn nullable<'de, T: Deserialize<'de>, D: Deserializer<'de>>(deserializer: D) -> Result<Option<T>, D::Error> {
    Option::deserialize(deserializer)
}

/// The answer of an ask that brings one document of type `T`, as exactly one payload. On the wire it is empty.
pub struct Doc<T>(PhantomData<fn() -> T>);

impl<T: Document> Doc<T> {
    /// Writes a document into sealed memory: the answer and its payload.
    ///
    /// # Errors
    /// `document.unwritten`, when it is too large or the kernel has no memory left.
    pub fn seal(document: &T) -> Result<(Self, [Sealed; 1]), Refusal> {
        // Some documents hold a secret: the copy outside of sealed memory is wiped.
        let written = Zeroizing::new(serde_json::to_vec(document).map_err(|error| unwritten::<T>(&error.to_string()))?);
        let sealed = Sealed::new(&written).map_err(|error| unwritten::<T>(&error.to_string()))?;
        Ok((Self(PhantomData), [sealed]))
    }

    /// Reads the document that came with this answer.
    ///
    /// # Errors
    /// `document.unreadable`, when the payload is not a `T`.
    pub fn open(self, [sealed]: [Sealed; 1]) -> Result<T, Refusal> {
        let bytes = sealed.read().map_err(|error| unreadable::<T>(&error.to_string()))?;
        serde_json::from_slice(&bytes).map_err(|error| unreadable::<T>(&error.to_string()))
    }
}

fn unwritten<T: Document>(why: &str) -> Refusal {
    Refusal::new(RefusalCode::Internal, "document.unwritten", format!("{} cannot be written: {why}", T::NAME))
}

fn unreadable<T: Document>(why: &str) -> Refusal {
    Refusal::new(RefusalCode::Internal, "document.unreadable", format!("{} cannot be read: {why}", T::NAME))
        .remedy("look whether all parts of Metnos are of one release: `metnosctl status`")
}

impl<T> Clone for Doc<T> {
    fn clone(&self) -> Self {
        Self(PhantomData)
    }
}

impl<T> PartialEq for Doc<T> {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl<T> Eq for Doc<T> {}

impl<T: Document> std::fmt::Debug for Doc<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Doc<{}>", T::NAME)
    }
}

impl<T> Serialize for Doc<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_unit_struct("Doc")
    }
}

impl<'de, T> Deserialize<'de> for Doc<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        <()>::deserialize(deserializer).map(|()| Self(PhantomData))
    }
}

impl<T: Document> Schema for Doc<T> {
    const SCHEMA: &'static NamedType = &NamedType { name: T::NAME, ty: &DataModelType::UnitStruct };
}

#[cfg(test)]
pub(crate) mod testing {
    #![allow(clippy::unwrap_used)]
    use super::*;

    /// Reads each of these texts as a `T`, writes it, and compares the two: no key is lost, renamed or added. Then each
    /// key of each object is left out in turn: what is read without it must have been written without it.
    pub fn round_trip<T: Serialize + DeserializeOwned>(texts: &[&str]) {
        for text in texts {
            let value: serde_json::Value = serde_json::from_str(text).unwrap();
            let read: T = serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"));
            assert_eq!(serde_json::to_value(&read).unwrap(), value);
            let mut other = value.clone();
            if let Some(map) = other.as_object_mut() {
                map.insert("another".to_owned(), serde_json::Value::Null);
                assert!(serde_json::from_value::<T>(other).is_err(), "an unknown key is read: {text}");
            }
            for key in value.as_object().into_iter().flat_map(|map| map.keys()) {
                let mut without = value.clone();
                without.as_object_mut().unwrap().remove(key);
                if let Ok(read) = serde_json::from_value::<T>(without.clone()) {
                    assert_eq!(serde_json::to_value(&read).unwrap(), without, "{key} was filled in: {text}");
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[derive(Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
    struct Inventory {
        eggs: u32,
    }
    document!(Inventory);

    #[test]
    fn document_is_read_as_it_was_written() {
        let (doc, payload) = Doc::seal(&Inventory { eggs: 6 }).unwrap();
        assert_eq!(postcard::to_stdvec(&doc).unwrap(), Vec::<u8>::new());
        assert_eq!(doc.open(payload).unwrap(), Inventory { eggs: 6 });
    }

    #[test]
    fn payload_of_another_shape_is_refused_with_the_name_of_the_document() {
        let (doc, _) = Doc::seal(&Inventory { eggs: 6 }).unwrap();
        let refusal = doc.open([Sealed::new(b"{\"eggs\":-1}").unwrap()]).unwrap_err();
        assert_eq!(refusal.rule, "document.unreadable");
        assert!(refusal.why.contains("Inventory"), "{refusal}");
    }
}
