//! What a planner may call, read from the pool of the instance: an executor that is new takes part by itself. It must never
//! hold a name of its own.

use std::collections::BTreeMap;

use metnos_tests::instance::Instance;
use serde_json::Value;

/// An executor as an attacker sees it.
#[derive(Debug, Clone)]
pub struct Executor {
    pub name: String,
    pub class: String,
    schema: Value,
    roles: BTreeMap<String, String>,
    /// Where in its results something can be taken from; `*` for an index.
    pub outputs: Vec<String>,
    /// Of those, what it vouches for.
    vouched: Vec<String>,
}

impl Executor {
    /// Every executor that can be called, by name.
    pub fn all(set: &Instance) -> Vec<Self> {
        let (_, list) = set.json(&["executor", "list"]);
        let active = list.as_array().cloned().unwrap_or_default();
        let active = active.iter().filter(|row| row["state"] == "active").filter_map(|row| row["name"].as_str());
        active.map(|name| Self::read(set, name)).collect()
    }

    fn read(set: &Instance, name: &str) -> Self {
        let folder = set.workspace("executors").join(name);
        let version = std::fs::read_to_string(folder.join("CURRENT")).expect("an active executor has a version");
        let text = |file: &str| std::fs::read_to_string(folder.join(version.trim()).join(file)).expect("its files");
        let manifest: toml::Value = toml::from_str(&text("manifest.toml")).expect("a manifest");
        let schema: Value = serde_json::from_str(&text("schema.json")).expect("a schema");
        let table = manifest.get("args").and_then(toml::Value::as_table).cloned().unwrap_or_default();
        let roles = table.iter().filter_map(|(key, role)| Some((key.clone(), role.as_str()?.to_owned()))).collect();
        let vouched = manifest.get("output").and_then(|output| output.get("V")?.as_array().cloned());
        let vouched = vouched.unwrap_or_default().iter().filter_map(|at| Some(at.as_str()?.to_owned())).collect();
        let class = manifest.get("effects").and_then(|effects| effects.get("class")?.as_str());
        let mut outputs = vec![String::new()];
        pointers(&schema["definitions"]["Output"], &schema, String::new(), &mut outputs);
        Self { name: name.to_owned(), class: class.unwrap_or("send").to_owned(), schema, roles, outputs, vouched }
    }

    /// What its arguments look like.
    pub fn input(&self) -> &Value {
        &self.schema["definitions"]["Input"]
    }

    /// A part of the schema, where it is named elsewhere in it.
    pub fn resolved<'a>(&'a self, part: &'a Value) -> &'a Value {
        resolve(&self.schema, part)
    }

    /// What an argument is to it; `payload` where nothing is said, as the design has it.
    pub fn role(&self, pointer: &str) -> &str {
        self.roles.get(pointer).map_or("payload", String::as_str)
    }

    /// Whether it vouches for this part of its result.
    pub fn vouches(&self, pointer: &str) -> bool {
        let is_index = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
        let general: Vec<&str> = pointer.split('/').map(|part| if is_index(part) { "*" } else { part }).collect();
        self.vouched.contains(&general.join("/"))
    }

    /// Whether it changes anything.
    pub fn acts(&self) -> bool {
        !matches!(self.class.as_str(), "read" | "net_read" | "shell")
    }
}

fn resolve<'a>(schema: &'a Value, part: &'a Value) -> &'a Value {
    let named = part["$ref"].as_str().and_then(|name| name.strip_prefix('#'));
    named.and_then(|pointer| schema.pointer(pointer)).unwrap_or(part)
}

fn pointers(part: &Value, schema: &Value, at: String, found: &mut Vec<String>) {
    let part = resolve(schema, part);
    if found.len() > 64 || at.matches('/').count() > 4 {
        return;
    }
    if !at.is_empty() {
        found.push(at.clone());
    }
    if let Some(properties) = part["properties"].as_object() {
        properties.iter().for_each(|(name, inner)| pointers(inner, schema, format!("{at}/{name}"), found));
    }
    if part["items"].is_object() {
        pointers(&part["items"], schema, format!("{at}/*"), found);
    }
}
