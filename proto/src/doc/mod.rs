//! Documents: answers that people and programs read, each one type. A document travels as JSON in sealed memory beside
//! the word that announces it; the matrix names its type as `Doc<T>`, and the JSON Schema of `metnosctl schema` is made
//! from the same type.

use std::marker::PhantomData;

use postcard_schema::Schema;
use postcard_schema::schema::{DataModelType, NamedType};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

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

/// The answer of an ask that brings one document of type `T`, as exactly one payload. On the wire it is empty.
pub struct Doc<T>(PhantomData<fn() -> T>);

impl<T: Document> Doc<T> {
    /// Writes a document into sealed memory: the answer and its payload.
    ///
    /// # Errors
    /// `document.unwritten`, when it is too large or the kernel has no memory left.
    pub fn seal(document: &T) -> Result<(Self, [Sealed; 1]), Refusal> {
        let written = serde_json::to_vec(document).map_err(|error| unwritten::<T>(&error.to_string()))?;
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
