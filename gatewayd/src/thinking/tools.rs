//! The tools that a model is shown: executors by their public contract, and three of the planner's own, which have
//! no effect on the world. Their order and their bytes depend on nothing but the contracts, for caches of prompts.

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
/// How many examples are shown of one tool, and how long each may be, in characters.
const MAX_EXAMPLES: usize = 2;
const MAX_EXAMPLE: usize = 120;

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
    Tool { name: candidate.name.clone(), description, input: root(&candidate.input) }
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
    schema.remove("$schema");
    schema.entry("type").or_insert_with(|| json!("object"));
    if refers(&Value::Object(schema.clone())) {
        for name in ["definitions", "$defs"] {
            if let Some(definitions) = document.get(name) {
                schema.insert(name.to_owned(), definitions.clone());
            }
        }
    }
    Value::Object(schema)
}

fn refers(value: &Value) -> bool {
    match value {
        Value::Object(map) => map.contains_key("$ref") || map.values().any(refers),
        Value::Array(items) => items.iter().any(refers),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
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
        found.push(format!("{} ({})", line(&at, 80), line(kind, 16)));
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
        assert!(read.description.contains("/content (string)"), "{}", read.description);
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
