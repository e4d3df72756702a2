//! `examples`: requests that an executor serves. With arguments, an example is a promise: the reflex makes exactly these
//! arguments of these words. A plain string only helps to find the executor and promises nothing.

use std::fmt;

use serde::de::value::MapAccessDeserializer;
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};

use super::{ManifestError, is_line, is_name};

/// The most examples.
pub const MAX_EXAMPLES: usize = 64;
/// The longest example, in characters.
pub const MAX_EXAMPLE: usize = 200;
/// The most files that lie in the workspace of one example, and the longest path of one, in characters.
pub const MAX_FILES: usize = 16;
const MAX_FILE: usize = 200;

/// A request, and what is made of it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Example {
    say: String,
    args: Option<Map<String, Value>>,
    files: Vec<String>,
    from: Option<Source>,
}

/// The call whose result becomes an argument of an example.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Source {
    /// The executor that is called first.
    pub executor: String,
    /// Its arguments.
    pub args: Map<String, Value>,
}

/// The table that an example with a promise is written as.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Promise {
    say: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    args: Option<Map<String, Value>>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    files: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    from: Option<Source>,
}

impl Example {
    /// A request that promises nothing.
    #[must_use]
    pub fn plain(say: impl Into<String>) -> Self {
        Self { say: say.into(), ..Self::default() }
    }

    /// A request that becomes exactly these arguments.
    #[must_use]
    pub fn promise(say: impl Into<String>, args: Map<String, Value>) -> Self {
        Self { say: say.into(), args: Some(args), ..Self::default() }
    }

    /// The same in other words.
    #[must_use]
    pub fn with_words(mut self, say: impl Into<String>) -> Self {
        self.say = say.into();
        self
    }

    /// Its words.
    #[must_use]
    pub fn say(&self) -> &str {
        &self.say
    }

    /// The arguments that it promises; `None` when it promises nothing.
    #[must_use]
    pub const fn args(&self) -> Option<&Map<String, Value>> {
        self.args.as_ref()
    }

    /// The files that lie in the workspace, for names that the words use; a folder ends in `/`.
    #[must_use]
    pub fn files(&self) -> &[String] {
        &self.files
    }

    /// The call that comes first, when an argument is its result.
    #[must_use]
    pub const fn from(&self) -> Option<&Source> {
        self.from.as_ref()
    }

    /// # Errors
    /// When a part of it is not as it must be; `at` is its place among the examples.
    pub(super) fn validate(&self, at: usize) -> Result<(), ManifestError> {
        let field = |name: &str| format!("executor.examples[{at}]{name}");
        if !is_line(&self.say, MAX_EXAMPLE) {
            let expected = format!("a line of 1 to {MAX_EXAMPLE} characters");
            return Err(ManifestError::field(field(""), &self.say, expected));
        }
        if self.files.len() > MAX_FILES {
            let expected = format!("at most {MAX_FILES} paths");
            return Err(ManifestError::field(field(".files"), self.files.len(), expected));
        }
        if let Some(bad) = self.files.iter().find(|path| !is_place(path)) {
            return Err(ManifestError::field(
                field(".files"),
                bad,
                "paths below the workspace such as `notes/trip.md`",
            ));
        }
        if self.args.is_none() && (self.from.is_some() || !self.files.is_empty()) {
            return Err(ManifestError::field(field(".args"), "missing", "the arguments that the words become"));
        }
        if let Some(from) = self.from.as_ref().filter(|from| !is_name(&from.executor)) {
            return Err(ManifestError::field(field(".from"), &from.executor, "the name of an executor"));
        }
        let all = self.args.iter().chain(self.from.as_ref().map(|from| &from.args));
        match all.flat_map(|args| args.values()).find(|value| holds_instant(value)) {
            Some(bad) => Err(ManifestError::field(field(".args"), bad, "dates and times as texts in quotation marks")),
            None => Ok(()),
        }
    }
}

fn is_place(path: &str) -> bool {
    let inside = path.strip_suffix('/').unwrap_or(path);
    is_line(path, MAX_FILE) && inside.split('/').all(|part| !part.is_empty() && part != "." && part != "..")
}

/// Whether a value holds an instant of TOML, which JSON has no type for.
pub(super) fn holds_instant(value: &Value) -> bool {
    match value {
        Value::Object(map) => map.iter().any(|(key, value)| key.starts_with("$__toml") || holds_instant(value)),
        Value::Array(items) => items.iter().any(holds_instant),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

impl From<&str> for Example {
    fn from(say: &str) -> Self {
        Self::plain(say)
    }
}

impl From<String> for Example {
    fn from(say: String) -> Self {
        Self::plain(say)
    }
}

impl Serialize for Example {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.args.is_none() && self.files.is_empty() && self.from.is_none() {
            return serializer.serialize_str(&self.say);
        }
        let Self { say, args, files, from } = self.clone();
        Promise { say, args, files, from }.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Example {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either;
        impl<'de> Visitor<'de> for Either {
            type Value = Example;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a text, or a table with `say` and `args`")
            }

            fn visit_str<E: serde::de::Error>(self, say: &str) -> Result<Example, E> {
                Ok(Example::plain(say))
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Example, A::Error> {
                let Promise { say, args, files, from } = Promise::deserialize(MapAccessDeserializer::new(map))?;
                Ok(Example { say, args, files, from })
            }
        }
        deserializer.deserialize_any(Either)
    }
}
