//! Whether the door answers as its own description says: every answer that a test is given goes through here.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::{Value, json};

use crate::http::{Reply, Web};

/// Descriptions by the door's address: each process asks each door once.
static KNOWN: Mutex<Option<HashMap<String, Arc<Value>>>> = Mutex::new(None);

fn described(web: &Web) -> Arc<Value> {
    let known = || KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(found) = known().get_or_insert_default().get(&web.address) {
        return Arc::clone(found);
    }
    let request = format!("GET /openapi.json HTTP/1.1\r\nHost: {}\r\n\r\n", web.address);
    let described = Arc::new(web.raw(request.as_bytes()).json());
    known().get_or_insert_default().insert(web.address.clone(), Arc::clone(&described));
    described
}

/// Whether this path is that template's.
fn fits(template: &str, path: &str) -> bool {
    let (template, path): (Vec<_>, Vec<_>) = (template.split('/').collect(), path.split('/').collect());
    template.len() == path.len()
        && template.iter().zip(&path).all(|(part, given)| part == given || part.starts_with('{') && !given.is_empty())
}

/// Compares an answer with what the description says of it. Addresses and methods that are not described are passed over:
/// tests ask for many that there are not.
///
/// # Panics
/// When it is not as described.
pub fn check(web: &Web, method: &str, path: &str, reply: &Reply) {
    if reply.status == 0 {
        return;
    }
    let described = described(web);
    let path = path.split('?').next().unwrap_or_default();
    let Some(paths) = described["paths"].as_object() else { panic!("{described:#}") };
    let operation = paths.iter().find(|(template, _)| fits(template, path)).map(|(_, methods)| methods);
    let Some(operation) = operation.and_then(|methods| methods.get(method.to_ascii_lowercase())) else { return };
    let responses = &operation["responses"];
    let status = reply.status.to_string();
    let response = responses.get(&status).filter(|_| reply.status < 400).unwrap_or(&responses["default"]);
    assert!(reply.status >= 400 || responses.get(&status).is_some(), "{method} {path}: {status} is not described");
    let kind = reply.header("content-type").unwrap_or_default().split(';').next().unwrap_or_default();
    if reply.body.is_empty() {
        return;
    }
    let content = response["content"].as_object().unwrap_or_else(|| panic!("{method} {path}: {reply:?}"));
    let media = content.get(kind).unwrap_or_else(|| panic!("{method} {path}: {kind} is not described: {reply:?}"));
    if let Some(schema) = media.get("schema") {
        let whole = json!({"$ref": schema["$ref"], "components": described["components"]});
        let validator = jsonschema::validator_for(&whole).unwrap_or_else(|error| panic!("{method} {path}: {error}"));
        let document = reply.json();
        let wrong: Vec<String> = validator.iter_errors(&document).map(|error| error.to_string()).collect();
        assert!(wrong.is_empty(), "{method} {path}: {wrong:?} in {document:#}");
    }
}
