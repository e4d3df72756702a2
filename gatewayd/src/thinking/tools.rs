//! The tools that a model is shown: executors by their public contract, and three of the planner's own, which have
//! no effect on the world. Their order and their bytes depend on nothing but the contracts, for caches of prompts.

use std::collections::BTreeSet;

use metnos_proto::envelope::Candidate;
use metnos_proto::prompt::{MAX_TOOL_NAME, MAX_TOOLS, Tool};
use serde_json::{Map, Value, json};

use super::data::line;

/// Shows a result, or a part of one.
pub const LOOK: &str = "look";
/// Several calls at once, made without asking again.
pub const PLAN: &str = "plan";
/// Says which tool would be needed and does not exist.
pub const MISSING: &str = "missing";

/// The most places of a result that are named in a tool's description.
const MAX_PLACES: usize = 16;
/// How deep the places of a result are named.
const MAX_PLACE_DEPTH: usize = 4;
/// How many examples are shown of one tool, and how long each may be, in characters: a second one says little more.
const MAX_EXAMPLES: usize = 1;
const MAX_EXAMPLE: usize = 120;
/// The largest limit of a number that a model is told; nobody comes near larger ones.
const MAX_TOLD: u64 = 1_000_000;

/// The tools for these candidates, in an order that does not depend on how well they fit.
#[must_use]
pub fn of(candidates: &[Candidate]) -> Vec<Tool> {
    let mut tools: Vec<Tool> = candidates.iter().filter(|one| is_name(&one.name)).map(tool).collect();
    tools.sort_by(|a, b| a.name.cmp(&b.name));
    tools.dedup_by(|a, b| a.name == b.name);
    tools.truncate(MAX_TOOLS - 3);
    let mut all = own();
    all.extend(tools);
    all
}

/// Whether an executor's name can be a tool's.
fn is_name(name: &str) -> bool {
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    !name.is_empty() && name.len() <= MAX_TOOL_NAME && name.chars().all(fits) && ![LOOK, PLAN, MISSING].contains(&name)
}

fn tool(candidate: &Candidate) -> Tool {
    let mut description = format!("{} (effect: {})", line(&candidate.summary, 400), line(&candidate.class, 32));
    let places = places(&candidate.output);
    if !places.is_empty() {
        description.push_str("\nResult: ");
        description.push_str(&places.join(", "));
    }
    for example in candidate.examples.iter().take(MAX_EXAMPLES) {
        description.push_str("\nFor example: ");
        description.push_str(&line(example, MAX_EXAMPLE));
    }
    Tool { name: candidate.name.clone(), description, input: lean(&root(&candidate.input)) }
}

/// A schema whose root is what it is about, and no pointer to it: some providers take no other.
#[must_use]
pub fn root(document: &Value) -> Value {
    let mut found = document;
    for _ in 0..4 {
        let target = found.get("$ref").and_then(Value::as_str).and_then(|text| text.strip_prefix('#'));
        match target.and_then(|pointer| document.pointer(pointer)) {
            Some(next) => found = next,
            None => break,
        }
    }
    let mut schema = match found {
        Value::Object(map) => map.clone(),
        _ => Map::new(),
    };
    for name in ["$schema", "definitions", "$defs"] {
        schema.remove(name);
    }
    schema.entry("type").or_insert_with(|| json!("object"));
    // Only those definitions that something refers to: a contract's own result is none of them.
    let mut wanted = references(&Value::Object(schema.clone()));
    while let Some((list, name)) = wanted.pop_first() {
        let Some(definition) = document.get(&list).and_then(|all| all.get(&name)) else { continue };
        let found = schema.entry(list).or_insert_with(|| json!({}));
        if let Some(found) = found.as_object_mut()
            && found.insert(name, definition.clone()).is_none()
        {
            wanted.extend(references(definition));
        }
    }
    Value::Object(schema)
}

/// The definitions that a schema refers to: the list each stands in, and its name.
fn references(schema: &Value) -> BTreeSet<(String, String)> {
    let own = schema.get("$ref").and_then(Value::as_str).and_then(|text| text.strip_prefix("#/"));
    let own = own.and_then(|text| text.split_once('/')).map(|(list, name)| (list.to_owned(), name.to_owned()));
    let below: Vec<&Value> = match schema {
        Value::Object(map) => map.values().collect(),
        Value::Array(items) => items.iter().collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Vec::new(),
    };
    own.into_iter().chain(below.into_iter().flat_map(references)).collect()
}

/// A schema without what is only of use to whoever checks arguments, which is done whatever a model has been told: how
/// long texts and lists may be, and how a text is written whose format has a name.
fn lean(schema: &Value) -> Value {
    let Value::Object(map) = schema else { return schema.clone() };
    let named = |all: &Value| match all {
        Value::Object(all) => Value::Object(all.iter().map(|(name, one)| (name.clone(), lean(one))).collect()),
        other => other.clone(),
    };
    let mut leaner = Map::new();
    for (key, value) in map {
        let kept = match key.as_str() {
            "properties" | "definitions" | "$defs" => named(value),
            "items" | "additionalProperties" => lean(value),
            "anyOf" | "oneOf" | "allOf" => match value {
                Value::Array(all) => Value::Array(all.iter().map(lean).collect()),
                other => other.clone(),
            },
            "maxLength" | "minLength" | "maxItems" | "contentMediaType" | "contentEncoding" => continue,
            "pattern" if map.contains_key("format") => continue,
            "maximum" if value.as_u64().is_none_or(|most| most > MAX_TOLD) => continue,
            _ => value.clone(),
        };
        leaner.insert(key.clone(), kept);
    }
    Value::Object(leaner)
}

/// What a result holds, by its contract alone: nothing here was read from a result.
fn places(output: &Value) -> Vec<String> {
    let mut found = Vec::new();
    walk(&root(output), String::new(), 0, &mut found);
    found
}

fn walk(schema: &Value, at: String, depth: usize, found: &mut Vec<String>) {
    if found.len() >= MAX_PLACES || depth > MAX_PLACE_DEPTH {
        return;
    }
    if let Some(properties) = schema.get("properties").and_then(Value::as_object) {
        for (name, property) in properties {
            walk(property, metnos_proto::json::child(&at, name), depth + 1, found);
        }
        return;
    }
    if let Some(items) = schema.get("items") {
        walk(items, format!("{at}/0"), depth + 1, found);
        return;
    }
    let kind = schema.get("type").and_then(Value::as_str).unwrap_or("value");
    if !at.is_empty() && at != "/ok" {
        let at = line(&at, 80);
        // Most are texts.
        found.push(if kind == "string" { at } else { format!("{at} ({})", line(kind, 16)) });
    }
}

fn own() -> Vec<Tool> {
    let reference = "A call by its number, and where in its result: `c1`, or `c1#/content`.";
    let calls = json!({
        "type": "array",
        "minItems": 1,
        "items": {
            "type": "object",
            "required": ["tool", "arguments"],
            "properties": { "tool": { "type": "string" }, "arguments": { "type": "object" } }
        }
    });
    let mut later = calls.clone();
    later["minItems"] = json!(0);
    vec![
        Tool {
            name: LOOK.to_owned(),
            description:
                "Shows you the result of a call, or a part of it. Results are kept, not shown: look only at what \
                          you must read, and only at the part that you need. What you pass on unread goes by \
                          {\"$ref\":\"c1#/content\"} in place of any argument."
                    .to_owned(),
            input: json!({
                "type": "object",
                "additionalProperties": false,
                "required": ["of"],
                "properties": {
                    "of": { "type": "string", "description": reference },
                    "from": { "type": "integer", "minimum": 0, "description": "The first character to show, for what is long" }
                }
            }),
        },
        Tool {
            name: MISSING.to_owned(),
            description: "Says which tool would be needed for the request and does not exist, so that it can be made. \
                          Then do without, or tell the person that it cannot be done."
                .to_owned(),
            input: json!({
                "type": "object",
                "additionalProperties": false,
                "required": ["summary"],
                "properties": {
                    "summary": { "type": "string", "description": "What it would do, in a line" },
                    "inputs": { "type": "object", "additionalProperties": { "type": "string" }, "description": "Name and type of each argument" },
                    "outputs": { "type": "object", "additionalProperties": { "type": "string" }, "description": "Name and type of each part of the result" },
                    "errors": { "type": "array", "items": { "type": "string" } }
                }
            }),
        },
        Tool {
            name: PLAN.to_owned(),
            description:
                "Makes several calls without asking you in between. They are numbered on from the last call, in \
                          their order; an argument may be {\"$ref\":\"c1#/content\"} for a part of an earlier result. \
                          `look` names results to be shown to you at the end. `later` names calls that you will make \
                          after having read results, with every argument that the person has named, and null for those \
                          that will turn up: what was foreseen in your first reply need not be asked again."
                    .to_owned(),
            input: json!({
                "type": "object",
                "additionalProperties": false,
                "required": ["calls"],
                "properties": {
                    "calls": calls,
                    "look": { "type": "array", "items": { "type": "string", "description": reference } },
                    "later": later
                }
            }),
        },
    ]
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::testing::candidates;

    #[test]
    fn every_tool_has_an_object_for_a_root_and_a_name_that_providers_take() {
        let tools = of(&candidates());
        assert!(tools.len() > 5);
        for tool in &tools {
            assert_eq!(tool.input["type"], "object", "{}", tool.name);
            assert!(tool.name.len() <= MAX_TOOL_NAME);
        }
        assert!(tools.windows(2).skip(3).all(|pair| pair[0].name < pair[1].name));
    }

    #[test]
    fn the_order_in_which_candidates_come_changes_no_byte() {
        let mut reversed = candidates();
        reversed.reverse();
        assert_eq!(of(&candidates()), of(&reversed));
    }

    #[test]
    fn the_places_of_a_result_come_from_its_contract() {
        let tools = of(&candidates());
        let read = tools.iter().find(|tool| tool.name == "fs_read").unwrap();
        assert!(read.description.contains("\nResult: /content, "), "{}", read.description);
        assert!(read.description.contains("/size (integer)"), "{}", read.description);
    }

    #[test]
    fn a_model_is_told_of_arguments_and_of_nothing_that_is_only_checked() {
        let input = json!({
            "$ref": "#/definitions/Input",
            "definitions": {
                "Input": {
                    "type": "object", "required": ["pattern"], "additionalProperties": false,
                    "properties": {
                        "pattern": { "type": "string", "minLength": 1, "maxLength": 9, "pattern": "^x" },
                        "day": { "type": "string", "format": "date", "pattern": "^[0-9-]+$" },
                        "list": { "type": "array", "maxItems": 3, "items": { "$ref": "#/definitions/One" } },
                        "size": { "type": "integer", "minimum": 0, "maximum": 1_125_899_906_842_624_u64 },
                        "limit": { "type": "integer", "maximum": 1000 }
                    }
                },
                "One": { "type": "object", "properties": { "two": { "$ref": "#/definitions/Two" } } },
                "Two": { "type": "string", "maxLength": 5, "enum": ["a", "b"] },
                "Output": { "type": "object" }
            }
        });
        let told = tool(&Candidate { input, ..candidates()[0].clone() }).input;
        let wanted = json!({
            "type": "object", "required": ["pattern"], "additionalProperties": false,
            "properties": {
                "pattern": { "type": "string", "pattern": "^x" },
                "day": { "type": "string", "format": "date" },
                "list": { "type": "array", "items": { "$ref": "#/definitions/One" } },
                "size": { "type": "integer", "minimum": 0 },
                "limit": { "type": "integer", "maximum": 1000 }
            },
            "definitions": {
                "One": { "type": "object", "properties": { "two": { "$ref": "#/definitions/Two" } } },
                "Two": { "type": "string", "enum": ["a", "b"] }
            }
        });
        assert_eq!(told, wanted);
    }

    #[test]
    fn definitions_that_refer_to_each_other_come_to_an_end() {
        let input = json!({
            "type": "object", "properties": { "next": { "$ref": "#/definitions/Node" } },
            "definitions": { "Node": { "type": "object", "properties": { "next": { "$ref": "#/definitions/Node" } } } }
        });
        assert!(root(&input)["definitions"]["Node"].is_object());
        assert!(root(&json!({ "$ref": "#/definitions/Nobody" }))["type"] == "object");
    }

    #[test]
    fn an_executor_cannot_take_the_place_of_the_planners_own_tools() {
        let mut all = candidates();
        all[0].name = PLAN.to_owned();
        all[1].name = "näme with spaces".to_owned();
        let tools = of(&all);
        assert_eq!(tools.iter().filter(|tool| tool.name == PLAN).count(), 1);
        assert!(tools.iter().all(|tool| tool.name.is_ascii()));
    }
}
