//! The tools that a model is shown: executors by their public contract, and five of the planner's own. Of those only `undo`
//! and `schedule` have an effect, which policyd allows where the person's words ask for it. Their order and their bytes depend on nothing but the contracts, for caches of prompts.

use std::collections::BTreeSet;

use metnos_proto::envelope::Candidate;
use metnos_proto::prompt::{MAX_TOOL_NAME, MAX_TOOLS, Tool};
use serde_json::{Map, Value};

use super::data::line;
use super::schedules::{self, SCHEDULE};
use super::schema::Schema;

/// Shows a result, or a part of one.
pub const LOOK: &str = "look";
/// Several calls at once, made without asking again.
pub const PLAN: &str = "plan";
/// Says which tool would be needed and does not exist.
pub const MISSING: &str = "missing";

/// Takes back the last change, when the person asks for that.
pub const UNDO: &str = "undo";
/// The planner's own.
pub const OWN: [&str; 5] = [LOOK, MISSING, PLAN, SCHEDULE, UNDO];

/// How a reference is written, for an argument that takes a text which nobody need have read.
const TAKES_REFERENCE: &str = "(or a $ref)";
/// The role of such arguments.
const PAYLOAD: &str = "payload";

/// Numbers of a result that tell how much was looked at: nobody passes them on.
const BOOKKEEPING: [&str; 6] = ["covered", "failed", "omitted", "returned", "searched", "skipped"];
/// The most places of a result that are named in a tool's description.
const MAX_PLACES: usize = 16;
/// How deep the places of a result are named.
const MAX_PLACE_DEPTH: usize = 4;
/// The most bytes of names, descriptions and schemas of the tools for candidates: with the planner's own and the rules, what is said
/// first in a new house stays near the 4,000 tokens of the goal (design: architecture §7).
const MOST_OF_TOOLS: usize = 12_000;
/// Where a schema has its definitions.
const DEFINITIONS: [&str; 2] = ["definitions", "$defs"];
/// A definition of so few bytes is no longer than a pointer to it.
const SHORT: usize = 40;
/// The largest limit of a number that a model is shown; nobody comes near larger ones.
const MAX_LOG: u64 = 1_000_000;

/// The tools for these candidates, the best of which stands first; in an order that does not depend on how well they fit. Where they
/// are too large together, the largest of the half that fits worse is left out first: one more executor makes no longer prompt.
#[must_use]
pub fn of(candidates: &[Candidate]) -> Vec<Tool> {
    let mut tools: Vec<Tool> = candidates.iter().filter(|one| is_name(&one.name)).map(tool).collect();
    let size = |tool: &Tool| tool.name.len() + tool.description.len() + tool.input.to_string().len();
    while tools.len() > 1 && tools.iter().map(size).sum::<usize>() > MOST_OF_TOOLS {
        let worse = tools.len().div_ceil(2)..tools.len();
        let largest = worse.max_by_key(|at| size(&tools[*at])).unwrap_or(tools.len() - 1);
        tools.remove(largest);
    }
    tools.sort_by(|a, b| a.name.cmp(&b.name));
    tools.dedup_by(|a, b| a.name == b.name);
    tools.truncate(MAX_TOOLS - OWN.len());
    let mut all = own();
    all.extend(tools);
    all
}

/// Whether an executor works with an account of the person who asks.
#[must_use]
pub fn takes_account(input: &Value) -> bool {
    root(input).pointer("/properties/account").is_some()
}

/// Whether an executor's name can be a tool's.
fn is_name(name: &str) -> bool {
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    !name.is_empty() && name.len() <= MAX_TOOL_NAME && name.chars().all(fits) && !OWN.contains(&name)
}

fn tool(candidate: &Candidate) -> Tool {
    let mut description = line(&candidate.summary, 400);
    // That it only reads is said once, for all.
    if candidate.class != "read" {
        description.push_str(&format!(" (effect: {})", line(&candidate.class, 32)));
    }
    let places = places(&candidate.output);
    if !places.is_empty() {
        description.push_str("\nResult: ");
        description.push_str(&places.join(", "));
    }
    // Examples are what an executor was found by; anyone who reads its summary needs none.
    let mut input = inlined(lean(&root(&candidate.input)));
    // Metnos gives it itself: no model need know of it.
    if metnos_reflex::takes_offset(&candidate.input)
        && let Some(properties) = input.get_mut("properties").and_then(Value::as_object_mut)
    {
        properties.remove("offset");
    }
    for (pointer, _) in candidate.roles.iter().filter(|(_, role)| role == PAYLOAD) {
        takes_reference(&mut input, pointer);
    }
    Tool { name: candidate.name.clone(), description, input }
}

/// Says of a text among the arguments that it may be a reference. Its type stays: servers that constrain a model's output
/// by the schema do not all take a choice of types, nor a property of this name.
fn takes_reference(input: &mut Value, pointer: &str) {
    let path = pointer.trim_start_matches('/').replace('/', "/properties/");
    let Some(property) = input.pointer_mut(&format!("/properties/{path}")).and_then(Value::as_object_mut) else {
        return;
    };
    if property.get("type").and_then(Value::as_str) != Some("string") {
        return;
    }
    let said = property.get("description").and_then(Value::as_str).map_or("", str::trim);
    let text = if said.is_empty() { TAKES_REFERENCE.to_owned() } else { format!("{said} {TAKES_REFERENCE}") };
    property.insert("description".to_owned(), Value::from(text));
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
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => Map::new(),
    };
    for name in ["$schema", "definitions", "$defs"] {
        schema.remove(name);
    }
    schema.entry("type").or_insert_with(|| Value::from("object"));
    // Only those definitions that something refers to: a contract's own result is none of them.
    let mut wanted = references(&Value::Object(schema.clone()));
    while let Some((list, name)) = wanted.pop_first() {
        let Some(definition) = document.get(&list).and_then(|all| all.get(&name)) else { continue };
        let found = schema.entry(list).or_insert_with(|| Value::Object(Map::new()));
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

/// A schema in which each definition stands where it is meant, if only one place means it or it is no longer than a pointer.
#[must_use]
pub fn inlined(mut schema: Value) -> Value {
    while let Some((list, name)) = placeable(&schema) {
        let all = schema.get_mut(&list).and_then(Value::as_object_mut);
        let Some(definition) = all.and_then(|all| all.remove(&name)) else { break };
        place(&mut schema, &format!("#/{list}/{name}"), &definition);
    }
    if let Some(root) = schema.as_object_mut() {
        root.retain(|key, value| {
            !DEFINITIONS.contains(&key.as_str()) || value.as_object().is_none_or(|all| !all.is_empty())
        });
    }
    schema
}

/// A definition that refers to no other one, so that what refers to itself is never unfolded.
fn placeable(schema: &Value) -> Option<(String, String)> {
    let lists = DEFINITIONS.iter().filter_map(|list| Some((list, schema.get(list)?.as_object()?)));
    let mut all = lists.flat_map(|(list, all)| all.iter().map(move |(name, one)| (*list, name, one)));
    let found = all.find(|(list, name, one)| {
        let pointer = format!("#/{list}/{name}");
        let (whole, into) = uses(schema, &pointer);
        references(one).is_empty() && into == 0 && (whole == 1 || one.to_string().len() <= SHORT)
    });
    found.map(|(list, name, _)| (list.to_owned(), name.clone()))
}

/// How many places refer to this, and how many to something in it.
fn uses(schema: &Value, pointer: &str) -> (usize, usize) {
    let below: Vec<&Value> = match schema {
        Value::Object(map) => map.values().collect(),
        Value::Array(items) => items.iter().collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Vec::new(),
    };
    let rest = schema.get("$ref").and_then(Value::as_str).and_then(|text| text.strip_prefix(pointer));
    let own = (usize::from(rest == Some("")), usize::from(rest.is_some_and(|rest| rest.starts_with('/'))));
    below.into_iter().map(|one| uses(one, pointer)).fold(own, |sum, one| (sum.0 + one.0, sum.1 + one.1))
}

/// Puts the definition where something refers to it; what is said there of that place stays.
fn place(schema: &mut Value, pointer: &str, definition: &Value) {
    match schema {
        Value::Object(map) => {
            if map.get("$ref").and_then(Value::as_str) == Some(pointer) {
                map.remove("$ref");
                for (key, value) in definition.as_object().into_iter().flatten() {
                    map.entry(key.clone()).or_insert_with(|| value.clone());
                }
            }
            map.values_mut().for_each(|one| place(one, pointer, definition));
        }
        Value::Array(items) => items.iter_mut().for_each(|one| place(one, pointer, definition)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// A schema without what is only of use to anyone who checks arguments, which is done whatever a model was shown: how
/// long texts and lists may be, that numbers are not negative, that nothing else is an argument, and how a text is written
/// whose format has a name. Nor with what is so anyway: that what is not said is not so.
#[must_use]
pub fn lean(schema: &Value) -> Value {
    let Value::Object(map) = schema else { return schema.clone() };
    let named = |all: &Value| match all {
        Value::Object(all) => Value::Object(all.iter().map(|(name, one)| (name.clone(), lean(one))).collect()),
        other @ (Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_)) => other.clone(),
    };
    let mut leaner = Map::new();
    for (key, value) in map {
        let kept = match key.as_str() {
            "default" | "additionalProperties" if *value == Value::Bool(false) => continue,
            "minimum" if value.as_u64().is_some_and(|least| least <= 1) => continue,
            "properties" | "definitions" | "$defs" => named(value),
            "anyOf" | "oneOf" | "allOf" => match value {
                Value::Array(all) => Value::Array(all.iter().map(lean).collect()),
                other @ (Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_)) => {
                    other.clone()
                }
            },
            "items" | "additionalProperties" => lean(value),
            "maxLength" | "minLength" | "maxItems" | "minItems" | "contentMediaType" | "contentEncoding" => continue,
            "pattern" if map.contains_key("format") => continue,
            "maximum" if value.as_u64().is_none_or(|most| most > MAX_LOG) => continue,
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
    // Nobody passes on whether something is so.
    if !at.is_empty() && kind != "boolean" && !BOOKKEEPING.contains(&at.trim_start_matches('/')) {
        found.push(line(&at, 80));
    }
}

fn own() -> Vec<Tool> {
    let reference = "A call, c1, or a part of its result, c1#/content";
    let call = Schema::object(2, [("tool", Schema::text()), ("arguments", Schema::any_object())]);
    let (calls, texts) = (Schema::list(call), Schema::list(Schema::text()));
    let tool = |name: &str, description: &str, input: Schema| Tool {
        name: name.to_owned(),
        description: description.to_owned(),
        input: input.document(),
    };
    let from = Schema::number_from(0).described("The first character to show, of a long result");
    vec![
        tool(
            LOOK,
            "Shows the result of a call, or a part of it.",
            Schema::object(1, [("of", Schema::text().described(reference)), ("from", from)]),
        ),
        tool(
            MISSING,
            "Notes for the owner which tool would be needed and does not exist.",
            Schema::object(
                1,
                [
                    ("summary", Schema::text().described("What the tool would do, in a line")),
                    ("inputs", Schema::map(Schema::text()).described("Name and type of each argument")),
                    ("outputs", Schema::map(Schema::text()).described("Name and type of each part of the result")),
                    ("errors", texts.clone()),
                ],
            ),
        ),
        tool(
            PLAN,
            "Makes several calls in their order, without asking you in between; they are numbered on from your last call. `look` \
             names the results to show at the end. `later` lists calls that you will make after reading results, with every \
             argument that the person has named, and null for the others.",
            Schema::object(1, [("calls", calls.clone()), ("look", texts), ("later", calls)]),
        ),
        schedules::tool(),
        tool(
            UNDO,
            "Takes back the last change made for this person: only when the person asks for that, and before any other call. \
             (effect: undo)",
            Schema::any_object(),
        ),
    ]
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use serde_json::json;

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
        assert!(tools.windows(2).skip(OWN.len()).all(|pair| pair[0].name < pair[1].name));
    }

    #[test]
    fn the_order_in_which_candidates_come_changes_no_byte() {
        let mut reversed = candidates();
        reversed.reverse();
        assert_eq!(of(&candidates()), of(&reversed));
    }

    #[test]
    fn argument_that_takes_a_reference_says_how_to_write_one() {
        let tools = of(&candidates());
        let stats = tools.iter().find(|tool| tool.name == "text_stats").unwrap();
        let text = stats.input["properties"]["text"]["description"].as_str().unwrap();
        assert!(text.ends_with("(or a $ref)"), "{text}");
        let read = tools.iter().find(|tool| tool.name == "fs_read").unwrap();
        assert!(!read.input.to_string().contains("$ref"), "a path is no text to pass on: {}", read.input);
    }

    #[test]
    fn the_places_of_a_result_come_from_its_contract() {
        let tools = of(&candidates());
        let read = tools.iter().find(|tool| tool.name == "fs_read").unwrap();
        assert!(read.description.contains("\nResult: /content, "), "{}", read.description);
        assert!(read.description.ends_with("/size"), "{}", read.description);
    }

    #[test]
    fn model_sees_arguments_but_no_validation_only_keywords() {
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
            "type": "object", "required": ["pattern"],
            "properties": {
                "pattern": { "type": "string", "pattern": "^x" },
                "day": { "type": "string", "format": "date" },
                "list": { "type": "array", "items": {
                    "type": "object", "properties": { "two": { "type": "string", "enum": ["a", "b"] } }
                } },
                "size": { "type": "integer" },
                "limit": { "type": "integer", "maximum": 1000 }
            }
        });
        assert_eq!(told, wanted);
    }

    #[test]
    fn schema_definitions_are_inlined_unless_long_shared_or_recursive() {
        let long = json!({ "type": "string", "description": "a long word on what this is for, and what not" });
        let schema = json!({
            "type": "object",
            "properties": {
                "a": { "$ref": "#/definitions/Long" }, "b": { "$ref": "#/definitions/Long" },
                "c": { "$ref": "#/definitions/Short", "description": "here" }, "d": { "$ref": "#/definitions/Short" },
                "e": { "$ref": "#/definitions/Node" }, "f": { "$ref": "#/definitions/In/properties/x" }
            },
            "definitions": {
                "Long": long, "Short": { "type": "string" }, "In": { "properties": { "x": { "type": "null" } } },
                "Node": { "properties": { "next": { "$ref": "#/definitions/Node" } } }
            }
        });
        let placed = inlined(schema.clone());
        assert_eq!(placed["properties"]["c"], json!({ "type": "string", "description": "here" }));
        assert_eq!(placed["properties"]["d"], json!({ "type": "string" }));
        for name in ["a", "b", "e", "f"] {
            assert_eq!(placed["properties"][name], schema["properties"][name], "{name}");
        }
        let left: Vec<&String> = placed["definitions"].as_object().unwrap().keys().collect();
        assert_eq!(left, ["In", "Long", "Node"]);
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
