//! R02 and R03: the operations of a block.

use serde_json::{Map, Value};

use crate::verdict::{Code, Objection, refuse};

/// The most nodes that one block adds, reinforces, contradicts, and the most edges.
pub const MOST: [(&str, usize); 4] = [("add", 8), ("reinforce", 16), ("contradict", 8), ("edges", 16)];
/// The most nodes that are added in one scope on one day.
pub const MOST_A_DAY: usize = 64;
/// The longest name of a node or a reference, in bytes.
const MAX_NAME: usize = 64;
/// The most events that one operation cites.
const MAX_EVIDENCE: usize = 16;
/// The dimensions of a weight; only `valence` may be below 0.
pub const WEIGHTS: [&str; 6] = ["salience", "valence", "arousal", "commitment", "uncertainty", "resonance"];
/// What an edge can say.
pub const RELATIONS: [&str; 6] = ["supports", "contradicts", "refines", "depends_on", "related_to", "caused_by"];

/// A node that is proposed.
#[derive(Debug, Clone, PartialEq)]
pub struct Add {
    /// What the block calls it.
    pub name: String,
    /// What would be held true.
    pub premise: String,
    /// Of which type.
    pub node_type: String,
    /// The events that are to witness it.
    pub evidence: Vec<u64>,
    /// What the model would weigh it.
    pub weights: Vec<(String, f64)>,
}

/// A node that is reinforced or contradicted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Touch {
    /// Which.
    pub node: String,
    /// The events that are to witness it.
    pub evidence: Vec<u64>,
}

/// An edge that is proposed.
#[derive(Debug, Clone, PartialEq)]
pub struct Edge {
    /// From which node.
    pub source: String,
    /// To which node.
    pub target: String,
    /// What it says.
    pub relation: String,
    /// How strongly, if that is said.
    pub strength: Option<f64>,
}

/// What one block proposes.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Proposal {
    /// New nodes.
    pub add: Vec<Add>,
    /// Nodes that something speaks for.
    pub reinforce: Vec<Touch>,
    /// Nodes that something speaks against.
    pub contradict: Vec<Touch>,
    /// New edges.
    pub edges: Vec<Edge>,
}

type Read<T> = Result<T, Objection>;

/// Reads the operations.
///
/// # Errors
/// What is of another shape, and what is too much.
pub fn read(block: &Value) -> Read<Proposal> {
    let all = object(block, "the block", &["add", "reinforce", "contradict", "edges"])?;
    for (name, most) in MOST {
        let count = list(all, name)?.len();
        if count > most {
            return refuse(Code::R03, format!("`{name}` has {count} operations, {most} is the limit"));
        }
    }
    Ok(Proposal {
        add: list(all, "add")?.iter().enumerate().map(|(at, one)| add(one, at)).collect::<Read<_>>()?,
        reinforce: list(all, "reinforce")?.iter().map(touch).collect::<Read<_>>()?,
        contradict: list(all, "contradict")?.iter().map(touch).collect::<Read<_>>()?,
        edges: list(all, "edges")?.iter().map(edge).collect::<Read<_>>()?,
    })
}

fn wrong<T>(what: &str, expected: &str) -> Read<T> {
    refuse(Code::R02, format!("{what} is not {expected}"))
}

/// An object with no other keys than these.
fn object<'a>(value: &'a Value, what: &str, known: &[&str]) -> Read<&'a Map<String, Value>> {
    let Some(object) = value.as_object() else { return wrong(what, "an object") };
    match object.keys().find(|key| !known.contains(&key.as_str())) {
        Some(key) => refuse(Code::R02, format!("{what} has the unknown key `{key}`")),
        None => Ok(object),
    }
}

fn list<'a>(object: &'a Map<String, Value>, name: &str) -> Read<&'a [Value]> {
    match object.get(name) {
        None => Ok(&[]),
        Some(Value::Array(all)) => Ok(all),
        Some(_) => wrong(&format!("`{name}`"), "a list"),
    }
}

/// The value of the one of these keys that is there: the first is the key of the format, the others are taken for it.
fn one_of<'a>(object: &'a Map<String, Value>, names: &[&str]) -> Read<Option<&'a Value>> {
    let mut found = names.iter().filter_map(|name| object.get(*name));
    let first = found.next();
    if found.next().is_some() {
        return refuse(Code::R02, format!("`{}` is said twice, under two names", names[0]));
    }
    Ok(first)
}

fn name(value: Option<&Value>, what: &str) -> Read<String> {
    match value.and_then(Value::as_str) {
        Some(text) if !text.is_empty() && text.len() <= MAX_NAME && text.chars().all(is_name) => Ok(text.to_owned()),
        _ => wrong(&format!("`{what}`"), "a name of letters, digits, `-`, `_`, `.` and `:`"),
    }
}

const fn is_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | ':')
}

fn text(value: Option<&Value>, what: &str) -> Read<String> {
    value.and_then(Value::as_str).map_or_else(|| wrong(&format!("`{what}`"), "a text"), |text| Ok(text.to_owned()))
}

fn add(value: &Value, at: usize) -> Read<Add> {
    let known = ["ref", "id", "premise", "node_type", "type", "evidence", "weight", "weights"];
    let one = object(value, "a node to add", &known)?;
    let named = one_of(one, &["ref", "id"])?;
    Ok(Add {
        name: if named.is_none() { (at + 1).to_string() } else { name(named, "ref")? },
        premise: text(one.get("premise"), "premise")?,
        node_type: text(one_of(one, &["node_type", "type"])?, "node_type")?,
        evidence: evidence(one.get("evidence"))?,
        weights: weights(one_of(one, &["weight", "weights"])?)?,
    })
}

/// A node by its number alone cites nothing.
fn touch(value: &Value) -> Read<Touch> {
    if value.is_string() {
        return Ok(Touch { node: name(Some(value), "node_id")?, evidence: Vec::new() });
    }
    let one = object(value, "a node to reinforce or contradict", &["node_id", "node", "id", "evidence"])?;
    Ok(Touch {
        node: name(one_of(one, &["node_id", "node", "id"])?, "node_id")?,
        evidence: evidence(one.get("evidence"))?,
    })
}

fn edge(value: &Value) -> Read<Edge> {
    let one = object(value, "an edge", &["source", "target", "relation", "strength"])?;
    let strength = one.get("strength").map(|value| value.as_f64().map_or_else(|| wrong("`strength`", "a number"), Ok));
    Ok(Edge {
        source: name(one.get("source"), "source")?,
        target: name(one.get("target"), "target")?,
        relation: name(one.get("relation"), "relation")?,
        strength: strength.transpose()?,
    })
}

/// Numbers of events, alone or as `{"seq": 7}`.
fn evidence(value: Option<&Value>) -> Read<Vec<u64>> {
    let Some(value) = value else { return Ok(Vec::new()) };
    let Some(all) = value.as_array() else { return wrong("`evidence`", "a list") };
    if all.len() > MAX_EVIDENCE {
        return refuse(Code::R03, format!("{} events are cited, {MAX_EVIDENCE} is the limit", all.len()));
    }
    let one = |value: &Value| -> Read<u64> {
        let number = match value {
            Value::Object(_) => {
                let cited = object(value, "a cited event", &["seq", "event_seq", "link"])?;
                one_of(cited, &["seq", "event_seq"])?.and_then(Value::as_u64)
            }
            Value::Number(number) => number.as_u64(),
            Value::Null | Value::Bool(_) | Value::String(_) | Value::Array(_) => None,
        };
        number.map_or_else(|| wrong("a cited event", "the number of an event"), Ok)
    };
    all.iter().map(one).collect()
}

fn weights(value: Option<&Value>) -> Read<Vec<(String, f64)>> {
    let Some(value) = value else { return Ok(Vec::new()) };
    let one = |(name, value): (&String, &Value)| {
        value.as_f64().map_or_else(|| wrong(&format!("`{name}`"), "a number"), |value| Ok((name.clone(), value)))
    };
    object(value, "`weight`", &WEIGHTS)?.iter().map(one).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use serde_json::json;

    #[test]
    fn all_forms_of_an_operation_are_read() {
        let block = json!({
            "add": [{"ref": "a", "premise": "Anna likes tea", "node_type": "preference", "evidence": [1, {"seq": 2}],
                     "weight": {"salience": 0.4}}, {"premise": "x", "type": "premise"}],
            "reinforce": ["n1", {"node_id": "n2", "evidence": [1]}],
            "contradict": [{"node": "n3", "evidence": [{"event_seq": 4, "link": "contradicts"}]}],
            "edges": [{"source": "a", "target": "n1", "relation": "supports", "strength": 0.5}],
        });
        let read = read(&block).unwrap();
        assert_eq!((read.add[0].name.as_str(), &read.add[0].evidence[..]), ("a", &[1, 2][..]));
        assert_eq!((read.add[1].name.as_str(), read.add[1].node_type.as_str()), ("2", "premise"));
        assert_eq!((read.reinforce[1].node.as_str(), &read.contradict[0].evidence[..]), ("n2", &[4][..]));
        assert_eq!(read.edges[0].strength, Some(0.5));
    }

    #[test]
    fn other_shapes_and_too_many_operations_are_refused() {
        let refused = |block: Value| read(&block).unwrap_err().code;
        for block in [
            json!([]),
            json!({"adds": []}),
            json!({"add": {}}),
            json!({"add": [{"ref": "a b", "premise": "x", "node_type": "premise"}]}),
            json!({"add": [{"premise": "x", "node_type": "premise", "pinned": true}]}),
            json!({"add": [{"premise": "x", "node_type": "premise", "type": "premise"}]}),
            json!({"add": [{"premise": 7, "node_type": "premise"}]}),
            json!({"add": [{"premise": "x", "node_type": "premise", "weight": {"salience": "high"}}]}),
            json!({"add": [{"premise": "x", "node_type": "premise", "weight": {"power": 1}}]}),
            json!({"reinforce": [7]}),
            json!({"reinforce": [{"node_id": "n", "evidence": [-1]}]}),
            json!({"edges": [{"source": "a", "target": "b"}]}),
        ] {
            assert_eq!(refused(block.clone()), Code::R02, "{block}");
        }
        for (name, most) in MOST {
            assert_eq!(refused(json!({ name: vec![0; most + 1] })), Code::R03, "{name}");
        }
    }
}
