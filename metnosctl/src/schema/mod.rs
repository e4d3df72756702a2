//! `schema`: what each command prints with `--json`, as JSON Schema (2020-12). `commands.rs` names the type of what a
//! command prints, and the schema is made from that type; the shapes of the others stand in `shapes.txt`. A test calls
//! every command on a running set and holds what it prints against its schema.

mod commands;
mod shape;

use clap::CommandFactory;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

use crate::command_line::cli::Cli;
use crate::error::{CtlError, Exit};
use crate::screen::Screen;
use crate::screen::escape;

/// The dialect of what is published.
const DIALECT: &str = "https://json-schema.org/draft/2020-12/schema";
/// The name of the shape that every error has.
const ERROR: &str = "Error";

type Shapes = Map<String, Value>;

/// All shapes: those of commands, and the names that they use.
fn all() -> Result<(Shapes, Shapes), CtlError> {
    let broken = |why| CtlError::failed("the schemas of this release cannot be read", why, "install Metnos anew");
    let (mut commands, mut names) = (Shapes::new(), Shapes::new());
    for one in shape::definitions(include_str!("shapes.txt")).map_err(broken)? {
        if one.name.starts_with(|c: char| c.is_ascii_uppercase()) {
            names.insert(one.name, one.schema);
        } else {
            let each = if one.by_line { "line" } else { "document" };
            commands.insert(one.name, json!({ "each": each, "schema": one.schema }));
        }
    }
    let mut generator = SchemaSettings::draft2020_12().for_serialize().into_generator();
    for typed in commands::TYPED {
        let each = if typed.by_line { "line" } else { "document" };
        let schema = (typed.schema)(&mut generator).to_value();
        commands.insert(typed.name.to_owned(), json!({ "each": each, "schema": schema }));
    }
    (commands::ERROR)(&mut generator);
    names.extend(generator.take_definitions(true));
    commands.values_mut().chain(names.values_mut()).for_each(open);
    Ok((commands, names))
}

/// A document may get further keys in a later release: a client that checks must not refuse them.
fn open(schema: &mut Value) {
    match schema {
        Value::Object(map) => {
            if map.contains_key("properties") && map.get("additionalProperties") == Some(&Value::Bool(false)) {
                map.remove("additionalProperties");
            }
            map.values_mut().for_each(open);
        }
        Value::Array(items) => items.iter_mut().for_each(open),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Prints the schema of one command, or of all.
///
/// # Errors
/// When there is no such command, or the output is gone.
pub fn schema(screen: &mut Screen, words: &[String]) -> Result<Exit, CtlError> {
    let (commands, names) = all()?;
    if words.is_empty() {
        let error = json!({ "$ref": format!("#/$defs/{ERROR}") });
        screen.document(&json!({ "$schema": DIALECT, "commands": commands, "error": error, "$defs": names }))?;
        return Ok(Exit::Done);
    }
    let name = words.join(" ");
    let Some(command) = commands.get(&name) else {
        return Err(CtlError::Usage {
            what: format!("no command `{}` prints JSON", escape::line(&name)),
            remedy: "`metnosctl schema` has all of them".to_owned(),
        });
    };
    let mut document = Map::new();
    document.insert("$schema".to_owned(), DIALECT.into());
    document.insert("title".to_owned(), format!("metnosctl --json {name}").into());
    if command["each"] == "line" {
        document.insert("description".to_owned(), "Each line of standard output is one such document.".into());
    }
    document.extend(command["schema"].as_object().cloned().unwrap_or_default());
    document.insert("$defs".to_owned(), Value::Object(used(&command["schema"], &names)));
    screen.document(&Value::Object(document))?;
    Ok(Exit::Done)
}

/// The names that a schema uses, and those that these use.
fn used(schema: &Value, names: &Shapes) -> Shapes {
    let (mut found, mut waiting) = (Map::new(), vec![schema]);
    while let Some(next) = waiting.pop() {
        match next {
            Value::Object(map) => {
                let name = map.get("$ref").and_then(Value::as_str).and_then(|path| path.strip_prefix("#/$defs/"));
                if let Some((name, schema)) = name.and_then(|name| names.get_key_value(name))
                    && !found.contains_key(name)
                {
                    found.insert(name.clone(), schema.clone());
                    waiting.push(schema);
                }
                waiting.extend(map.values());
            }
            Value::Array(items) => waiting.extend(items),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
    found
}

/// The name of every command that does something.
#[must_use]
pub fn leaves() -> Vec<String> {
    fn below(command: &clap::Command, path: &str, found: &mut Vec<String>) {
        for sub in command.get_subcommands().filter(|sub| !sub.is_hide_set() && sub.get_name() != "help") {
            let path = if path.is_empty() { sub.get_name().to_owned() } else { format!("{path} {}", sub.get_name()) };
            if !sub.is_subcommand_required_set() {
                found.push(path.clone());
            }
            below(sub, &path, found);
        }
    }
    let mut found = Vec::new();
    below(&Cli::command(), "", &mut found);
    found
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_command_has_a_schema_and_every_schema_a_command() {
        let (commands, names) = all().unwrap();
        let described: BTreeSet<String> = commands.keys().cloned().collect();
        assert_eq!(leaves().into_iter().collect::<BTreeSet<_>>(), described, "left: commands; right: schemas");
        // Every name that is used is defined, and every one that is defined is used.
        let whole = Value::Object(commands);
        let mut found: BTreeSet<String> = used(&whole, &names).keys().cloned().collect();
        found.extend(used(&names[ERROR], &names).keys().cloned());
        found.insert(ERROR.to_owned());
        assert_eq!(found, names.keys().cloned().collect::<BTreeSet<_>>());
        let text = format!("{whole}{}", Value::Object(names.clone()));
        for part in text.split("#/$defs/").skip(1) {
            let name = part.split('"').next().unwrap();
            assert!(names.contains_key(name), "{name} is used and not defined");
        }
    }
}
