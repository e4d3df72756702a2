//! The arguments of a call, parsed strictly, and the role of each. Payloads given by reference stay unread; the values of
//! critical references are put in before a decision.

use std::collections::BTreeMap;

use metnos_proto::executor::Role;
use metnos_proto::json::{self, JsonError, Limits, RefSite};
use metnos_proto::msg::sandboxd::MAX_REFERENCES;
use serde_json::Value;

use crate::call::spec::{self, Spec};
use crate::rules::guard::shown;

/// The arguments as they came.
#[derive(Debug, Clone, PartialEq)]
pub struct Arguments {
    value: Value,
    references: Vec<RefSite>,
}

/// The arguments with every critical reference replaced by its value.
#[derive(Debug, Clone, PartialEq)]
pub struct Filled {
    /// What is decided on.
    pub value: Value,
    /// Where payloads stand that are not looked at: pointers of references left in place.
    pub opaque: Vec<String>,
}

/// The values of critical references, by the pointer of the argument.
pub type Resolved = BTreeMap<String, Value>;

impl Arguments {
    /// Reads arguments: one JSON object within the limits, its references well-formed.
    ///
    /// # Errors
    /// What is wrong with the text.
    pub fn parse(bytes: &[u8]) -> Result<Self, JsonError> {
        let value = Value::Object(json::parse_object(bytes, Limits::ARGUMENTS)?);
        let references = json::references(&value, MAX_REFERENCES)?;
        if let Some(whole) = references.iter().find(|site| site.argument.is_empty()) {
            let what = "the arguments as a whole cannot be a reference, only single ones".to_owned();
            return Err(JsonError::BadReference { at: whole.argument.clone(), what });
        }
        Ok(Self { value, references })
    }

    /// Arguments whose references are replaced already; `references` says where the values came from.
    #[must_use]
    pub const fn resolved(value: Value, references: Vec<RefSite>) -> Self {
        Self { value, references }
    }

    /// The arguments as they came, references and all.
    #[must_use]
    pub const fn value(&self) -> &Value {
        &self.value
    }

    /// Every reference in them.
    #[must_use]
    pub fn references(&self) -> &[RefSite] {
        &self.references
    }

    /// The references whose values must be known before a decision.
    pub fn critical<'a>(&'a self, executor: &'a Spec) -> impl Iterator<Item = &'a RefSite> {
        self.references.iter().filter(|site| touches(executor, &site.argument, is_critical))
    }

    /// The arguments as they are decided on. `None` when a critical reference has no value in `resolved`.
    #[must_use]
    pub fn fill(&self, executor: &Spec, resolved: &Resolved) -> Option<Filled> {
        let mut value = self.value.clone();
        let mut opaque = Vec::new();
        for site in &self.references {
            if touches(executor, &site.argument, is_critical) {
                let known = resolved.get(&site.argument)?.clone();
                if !json::substitute(&mut value, site, known) {
                    return None;
                }
            } else {
                opaque.push(site.argument.clone());
            }
        }
        Some(Filled { value, opaque })
    }
}

/// Whether an argument of this role is decided on by its value (design: policy §7): what the rules ask
/// about, and the words of a command, which are judged one by one.
const fn is_critical(role: Role) -> bool {
    spec::is_critical(role) || matches!(role, Role::Argv)
}

/// Whether an argument of this role can name a file.
const fn is_guarded(role: Role) -> bool {
    match role {
        Role::Path | Role::Selector | Role::Dest | Role::Url | Role::Argv => true,
        Role::Payload | Role::Query | Role::Flag | Role::Amount | Role::Time | Role::Secret | Role::Entity => false,
    }
}

/// Whether a role that `wanted` accepts is declared for `pointer`, for something it lies in, or
/// for something that lies in it.
fn touches(executor: &Spec, pointer: &str, wanted: impl Fn(Role) -> bool) -> bool {
    executor.roles.iter().any(|(pattern, role)| wanted(*role) && overlaps(pattern, pointer))
}

/// Whether pattern and pointer are the same as far as the shorter one goes.
fn overlaps(pattern: &str, pointer: &str) -> bool {
    pattern.split('/').zip(pointer.split('/')).all(|(wanted, found)| wanted == "*" || wanted == found)
}

/// Whether the pattern stands for `pointer` or for something it lies in.
fn covers(pattern: &str, pointer: &str) -> bool {
    overlaps(pattern, pointer) && pattern.split('/').count() <= pointer.split('/').count()
}

/// Every text that can name a file, with its pointer: also the names of members, which an
/// executor may read as well.
#[must_use]
pub fn guarded<'a>(executor: &Spec, value: &'a Value) -> Vec<(String, &'a str)> {
    named(executor, value, is_guarded)
}

/// Every text whose role is `path`, with its pointer.
#[must_use]
pub fn paths<'a>(executor: &Spec, value: &'a Value) -> Vec<(String, &'a str)> {
    named(executor, value, |role| role == Role::Path)
}

/// Every text of a role that `wanted` accepts, with its pointer.
#[must_use]
pub fn named<'a>(executor: &Spec, value: &'a Value, wanted: impl Fn(Role) -> bool) -> Vec<(String, &'a str)> {
    let mut found = Vec::new();
    texts(value, String::new(), &mut |pointer, text| {
        if executor.roles.iter().any(|(pattern, role)| wanted(*role) && covers(pattern, pointer)) {
            found.push((pointer.to_owned(), text));
        }
    });
    found
}

/// Calls `visit` for every text in `value`, names of members included; the depth is bounded by the reader.
fn texts<'a>(value: &'a Value, pointer: String, visit: &mut impl FnMut(&str, &'a str)) {
    match value {
        Value::String(text) => visit(&pointer, text),
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                texts(item, json::child(&pointer, &index.to_string()), visit);
            }
        }
        Value::Object(map) => {
            for (key, item) in map {
                let below = json::child(&pointer, key);
                // The members of the arguments themselves are named by the schema, not by the caller.
                if !pointer.is_empty() {
                    visit(&below, key);
                }
                texts(item, below, visit);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// A pointer as a person names the argument: `path`, `to/0`.
#[must_use]
pub fn field(pointer: &str) -> String {
    match pointer.strip_prefix('/') {
        Some(name) => shown(&name.replace("~1", "/").replace("~0", "~")),
        None => "the arguments".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn spec(roles: &[(&str, &str)]) -> Spec {
        let roles: serde_json::Map<String, Value> =
            roles.iter().map(|(at, role)| ((*at).to_owned(), json!(role))).collect();
        Spec::from_catalogue("e", &json!({ "args": roles }))
    }

    fn parsed(value: &Value) -> Arguments {
        Arguments::parse(value.to_string().as_bytes()).unwrap()
    }

    #[test]
    fn a_payload_by_reference_stays_opaque_and_a_path_by_reference_does_not() {
        let executor = spec(&[("/path", "path"), ("/to/*", "dest")]);
        let arguments = parsed(&json!({"path": {"$ref": "c1#/p"}, "text": {"$ref": "c1#/t"}, "to": {"$ref": "c2#"}}));
        let critical: Vec<_> = arguments.critical(&executor).map(|site| site.argument.as_str()).collect();
        assert_eq!(critical, ["/path", "/to"]);
        assert_eq!(arguments.fill(&executor, &Resolved::new()), None, "a value is missing");
        let resolved = Resolved::from([("/path".to_owned(), json!("a.md")), ("/to".to_owned(), json!(["x"]))]);
        let filled = arguments.fill(&executor, &resolved).unwrap();
        assert_eq!(filled.value, json!({"path": "a.md", "text": {"$ref": "c1#/t"}, "to": ["x"]}));
        assert_eq!(filled.opaque, ["/text"]);
    }

    #[test]
    fn values_nested_in_a_path_argument_are_guarded() {
        let executor = spec(&[("/paths", "path"), ("/pick/*", "selector")]);
        let value = json!({"paths": ["a", {"b": "c"}], "pick": {"d": "e"}, "text": "f"});
        let found: Vec<_> = guarded(&executor, &value).into_iter().map(|(_, text)| text).collect();
        assert_eq!(found, ["a", "b", "c", "d", "e"]);
        assert_eq!(paths(&executor, &value).len(), 3);
    }

    #[test]
    fn arguments_must_be_one_object_and_not_a_reference() {
        for text in ["[]", "1", "{\"a\":1,\"a\":2}", "{} {}", "{\"$ref\":\"c1#\"}", "{\"a\":{\"$ref\":\"c1\"}}", ""] {
            assert!(Arguments::parse(text.as_bytes()).is_err(), "{text}");
        }
    }

    #[test]
    fn references_are_bounded() {
        let with = |count: usize| json!({"a": vec![json!({"$ref": "c1#"}); count]}).to_string();
        assert!(Arguments::parse(with(MAX_REFERENCES).as_bytes()).is_ok());
        assert!(Arguments::parse(with(MAX_REFERENCES + 1).as_bytes()).is_err());
    }

    proptest! {
        #[test]
        fn garbage_never_panics(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = Arguments::parse(&bytes);
        }
    }
}
