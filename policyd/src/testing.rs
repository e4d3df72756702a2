//! Executors made up for the tests of this crate.

use std::rc::Rc;

use metnos_policy::call::paths::Places;
use metnos_policy::evidence::context::{Confirm, World};
use metnos_proto::executor::{Manifest, Schema};
use metnos_proto::msg::common::Level;
use serde_json::{Value, json};

/// The text of a manifest named `name` that reads the workspace, with these argument roles.
pub fn manifest_text(name: &str, roles: &[(&str, &str)]) -> String {
    let roles: String = roles.iter().map(|(pointer, role)| format!("\"{pointer}\" = \"{role}\"\n")).collect();
    format!(
        r#"
[executor]
name = "{name}"
version = "1.0.0"
created_at = 2026-04-25T08:12:00Z
created_by = "seed"
summary = "Reads."
examples = ["read it"]

[contract]
input_schema = "schema.json#/definitions/Input"
output_schema = "schema.json#/definitions/Output"
error_classes = ["NotFound"]
idempotent = true
side_effects = false

[sandbox]
profile = "fs-read-workspace"
capabilities = [ {{ fs_read = ["workspace/"] }} ]

[effects]
class = "read"
reversible = true

[args]
{roles}
[output]
default = "X"
V = ["/size"]

[audit]
trace_topic = "executor.{name}"
"#
    )
}

/// The same, parsed.
pub fn manifest(name: &str, roles: &[(&str, &str)]) -> Manifest {
    Manifest::parse(manifest_text(name, roles).as_bytes()).unwrap()
}

/// The text of a schema with these properties of the arguments.
pub fn schema_text(properties: &Value, required: &[&str]) -> String {
    json!({
        "$schema": metnos_proto::executor::schema::DIALECT,
        "definitions": {
            "Input": {"type": "object", "properties": properties, "required": required, "additionalProperties": false},
            "Output": {
                "type": "object",
                "properties": {"ok": {"const": true}, "size": {"type": "integer"}, "content": {"type": "string", "contentMediaType": "text/plain"}},
                "required": ["ok"],
                "additionalProperties": false
            }
        }
    })
    .to_string()
}

/// The same, parsed.
pub fn schema(properties: &Value, required: &[&str]) -> Schema {
    Schema::parse(schema_text(properties, required).as_bytes()).unwrap()
}

/// The arguments of `fs_read`.
pub fn path_property() -> Value {
    json!({"path": {"type": "string", "minLength": 1, "maxLength": 4096}})
}

/// An instance about which nothing is known.
pub fn world() -> Rc<World> {
    Rc::new(World::new(Level::Supervised, Confirm::Card, Places::of_instance("/root/.local/share/metnos")))
}
