//! References between results: where in a call's arguments the result of an earlier call of
//! the same turn belongs. Found here and nowhere else, so that the one who decides and the one who
//! executes see the same ones; nothing may be a reference to one and a value to the other.

use serde_json::{Map, Value};

use super::{JsonError, child, is_pointer, kind};
use crate::msg::common::CallRef;

/// A place in the arguments where the result of an earlier call of the same turn belongs,
/// written `{"$ref": "c1#/content"}`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefSite {
    /// Where it stands: JSON pointer in the arguments.
    pub argument: String,
    /// Which call's result.
    pub call: CallRef,
    /// What of it: JSON pointer in that result; empty for the whole.
    pub pointer: String,
}

/// The key that makes an object a reference.
pub const REF_KEY: &str = "$ref";

/// Reads the text of a reference, `c1#/content`.
#[must_use]
pub fn parse_reference(text: &str) -> Option<(CallRef, String)> {
    let (call, pointer) = text.split_once('#')?;
    let call = call.parse().ok()?;
    is_pointer(pointer).then(|| (call, pointer.to_owned()))
}

/// All references in `arguments`, in canonical order. An object with the key `$ref` must have
/// no other key, and its value must be a reference; so nothing is a reference to one reader
/// and a value to another.
///
/// # Errors
/// [`JsonError::BadReference`], [`JsonError::TooManyReferences`].
pub fn references(arguments: &Value, max: usize) -> Result<Vec<RefSite>, JsonError> {
    let mut sites = Vec::new();
    collect_references(arguments, String::new(), max, &mut sites)?;
    Ok(sites)
}

fn collect_references(value: &Value, at: String, max: usize, sites: &mut Vec<RefSite>) -> Result<(), JsonError> {
    match value {
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                collect_references(item, child(&at, &index.to_string()), max, sites)?;
            }
        }
        Value::Object(map) => {
            if let Some(target) = map.get(REF_KEY) {
                let (call, pointer) =
                    read_reference(map, target).map_err(|what| JsonError::BadReference { at: at.clone(), what })?;
                if sites.len() >= max {
                    return Err(JsonError::TooManyReferences { max });
                }
                sites.push(RefSite { argument: at, call, pointer });
                return Ok(());
            }
            let mut entries: Vec<_> = map.iter().collect();
            entries.sort_unstable_by(|a, b| a.0.as_bytes().cmp(b.0.as_bytes()));
            for (key, item) in entries {
                collect_references(item, child(&at, key), max, sites)?;
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
    Ok(())
}

fn read_reference(map: &Map<String, Value>, target: &Value) -> Result<(CallRef, String), String> {
    if map.len() != 1 {
        return Err("an object with `$ref` may hold nothing else".to_owned());
    }
    let Value::String(text) = target else {
        return Err(format!("`$ref` must be a text such as `c1#/content`, found {}", kind(target)));
    };
    parse_reference(text).ok_or_else(|| {
        let shown: String = text.chars().take(80).collect();
        format!("`{shown}` must name a call and a JSON pointer, such as `c1#/content`")
    })
}

/// Puts `value` where the reference at `site` stands. `false` when there is no such place.
#[must_use]
pub fn substitute(arguments: &mut Value, site: &RefSite, value: Value) -> bool {
    match arguments.pointer_mut(&site.argument) {
        Some(place) => {
            *place = value;
            true
        }
        None => false,
    }
}
