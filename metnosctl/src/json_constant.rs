//! Keys of documents that always have one value: `"ok": true` where a command was done, `"ok": false` in an error.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Serialize, Serializer};

/// Is always true.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConstTrue;

/// Is always false.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConstFalse;

macro_rules! constant {
    ($Type:ident, $value:literal) => {
        impl Serialize for $Type {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_bool($value)
            }
        }

        impl JsonSchema for $Type {
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> Cow<'static, str> {
                stringify!($Type).into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!({ "const": $value })
            }
        }
    };
}

constant!(ConstTrue, true);
constant!(ConstFalse, false);
