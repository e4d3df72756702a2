//! `schema`: what each command prints with `--json`, as JSON Schema (2020-12), made from the types that `commands.rs` names.
//! A test calls every command on a running set and holds what it prints against its schema.

mod commands;

use std::collections::BTreeMap;

use clap::CommandFactory;
use schemars::SchemaGenerator;
use schemars::generate::SchemaSettings;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::command_line::cli::Cli;
use crate::error::{CtlError, Exit};
use crate::schema::commands::Typed;
use crate::screen::Screen;
use crate::screen::escape;

/// The dialect of what is published.
const DIALECT: &str = "https://json-schema.org/draft/2020-12/schema";

type Shapes = Map<String, Value>;

/// What every command prints.
#[derive(Serialize)]
struct All {
    #[serde(rename = "$schema")]
    dialect: &'static str,
    /// By command.
    commands: BTreeMap<&'static str, Output>,
    /// What a command prints that was not done.
    error: Value,
    /// The types that they name.
    #[serde(rename = "$defs")]
    names: Shapes,
}

/// What a command prints.
#[derive(Serialize)]
struct Output {
    each: Each,
    schema: Value,
}

/// What is one document.
#[derive(Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Each {
    /// All that is printed.
    Document,
    /// Each line.
    Line,
}

impl From<bool> for Each {
    fn from(by_line: bool) -> Self {
        if by_line { Self::Line } else { Self::Document }
    }
}

/// All schemas.
fn all() -> All {
    let mut generator = SchemaSettings::draft2020_12().for_serialize().into_generator();
    let output = |typed: &Typed, generator: &mut SchemaGenerator| Output {
        each: typed.by_line.into(),
        schema: (typed.schema)(generator).to_value(),
    };
    let mut commands: BTreeMap<&str, Output> =
        commands::TYPED.iter().map(|typed| (typed.name, output(typed, &mut generator))).collect();
    let error = (commands::ERROR)(&mut generator).to_value();
    let mut names = generator.take_definitions(true);
    commands.values_mut().map(|output| &mut output.schema).chain(names.values_mut()).for_each(open);
    All { dialect: DIALECT, commands, error, names }
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
    let all = all();
    if words.is_empty() {
        screen.document(&all)?;
        return Ok(Exit::Done);
    }
    let name = words.join(" ");
    let Some(Output { each, schema }) = all.commands.get(name.as_str()) else {
        return Err(CtlError::Usage {
            what: format!("no command `{}` prints JSON", escape::line(&name)),
            remedy: "`metnosctl schema` has all of them".to_owned(),
        });
    };
    let mut document = Map::new();
    document.insert("$schema".to_owned(), DIALECT.into());
    document.insert("title".to_owned(), format!("metnosctl --json {name}").into());
    if *each == Each::Line {
        document.insert("description".to_owned(), "Each line of standard output is one such document.".into());
    }
    document.extend(schema.as_object().cloned().unwrap_or_default());
    document.insert("$defs".to_owned(), Value::Object(used([schema], &all.names)));
    screen.document(&Value::Object(document))?;
    Ok(Exit::Done)
}

/// The names that schemas use, and those that these use.
fn used<'a>(schemas: impl IntoIterator<Item = &'a Value>, names: &'a Shapes) -> Shapes {
    let (mut found, mut waiting): (_, Vec<&Value>) = (Map::new(), schemas.into_iter().collect());
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
        let all = all();
        let described: BTreeSet<String> = all.commands.keys().map(|name| (*name).to_owned()).collect();
        assert_eq!(leaves().into_iter().collect::<BTreeSet<_>>(), described, "left: commands; right: schemas");
        // Every name that is used is defined, and every one that is defined is used.
        let schemas = all.commands.values().map(|output| &output.schema).chain([&all.error]);
        let found: BTreeSet<String> = used(schemas, &all.names).keys().cloned().collect();
        assert_eq!(found, all.names.keys().cloned().collect::<BTreeSet<_>>());
        let text = serde_json::to_string(&all).unwrap();
        for part in text.split("#/$defs/").skip(1) {
            let name = part.split('"').next().unwrap();
            assert!(all.names.contains_key(name), "{name} is used and not defined");
        }
    }
}
