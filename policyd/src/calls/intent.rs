//! The intent as it comes over the wire, checked against its limits before the rules see it. It
//! endorses nothing by itself: which literals stand in the owner's words the rules find out.

use metnos_policy::evidence::intent::{MAX_ARGUMENTS, MAX_LITERAL_BYTES, Slot as Foreseen, Wanted};
use metnos_proto::json;
use metnos_proto::msg::common::{Refusal, RefusalCode};
use metnos_proto::msg::policyd::{MAX_PER_SLOT, MAX_SLOTS, Slot};
use serde_json::Value;

use crate::text::head;

/// Reads the slots of an intent.
///
/// # Errors
/// A refusal when the intent is larger than the limits or not made of JSON; nothing is frozen then.
pub fn read(slots: &[Slot]) -> Result<Vec<Foreseen>, Refusal> {
    if slots.len() > MAX_SLOTS {
        return Err(invalid(format!("an intent has at most {MAX_SLOTS} slots, this one has {}", slots.len())));
    }
    slots.iter().map(slot).collect()
}

fn slot(slot: &Slot) -> Result<Foreseen, Refusal> {
    if slot.max == 0 || slot.max > MAX_PER_SLOT {
        return Err(invalid(format!("a slot foresees 1 to {MAX_PER_SLOT} calls, this one {}", slot.max)));
    }
    let count = slot.literals.len() + slot.open.len();
    if count > MAX_ARGUMENTS || slot.executor.len() > MAX_LITERAL_BYTES {
        return Err(invalid(format!("a slot has at most {MAX_ARGUMENTS} arguments, this one {count}")));
    }
    let mut args = Vec::with_capacity(count);
    for literal in &slot.literals {
        if literal.json.len() > MAX_LITERAL_BYTES || literal.pointer.len() > MAX_LITERAL_BYTES {
            return Err(invalid(format!("a literal has at most {MAX_LITERAL_BYTES} bytes")));
        }
        let value = json::parse_strict(literal.json.as_bytes(), json::Limits::ARGUMENTS)
            .map_err(|why| invalid(format!("a literal is no JSON: {why}")))?;
        args.push((literal.pointer.clone(), Wanted::Literal(value)));
    }
    if slot.open.iter().any(|pointer| pointer.len() > MAX_LITERAL_BYTES) {
        return Err(invalid(format!("a pointer has at most {MAX_LITERAL_BYTES} bytes")));
    }
    args.extend(slot.open.iter().map(|pointer| (pointer.clone(), Wanted::Any)));
    Ok(Foreseen { executor: slot.executor.clone(), args, max: slot.max })
}

/// One call whose arguments the owner has typed himself.
#[must_use]
pub fn typed(executor: &str, arguments: &Value) -> Foreseen {
    let mut args = Vec::new();
    leaves(arguments, String::new(), &mut args);
    Foreseen { executor: executor.to_owned(), args, max: 1 }
}

fn leaves(value: &Value, pointer: String, found: &mut Vec<(String, Wanted)>) {
    match value {
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                leaves(item, json::child(&pointer, &index.to_string()), found);
            }
        }
        Value::Object(map) => map.iter().for_each(|(name, item)| leaves(item, json::child(&pointer, name), found)),
        scalar @ (Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_)) => {
            found.push((pointer, Wanted::Literal(scalar.clone())))
        }
    }
}

/// What is said to an intent that comes too late.
pub(crate) fn tainted() -> Refusal {
    let why = "something else than the owner's words was read before";
    Refusal::new(RefusalCode::Denied, "intent.tainted", why)
}

fn invalid(why: String) -> Refusal {
    Refusal::new(RefusalCode::Invalid, "intent.form", why)
}

/// As many of the ignored literals as fit an answer.
pub(crate) fn listed(ignored: Vec<String>) -> Vec<String> {
    const MAX_IGNORED_BYTES: usize = 32 * 1024;
    let mut bytes = 0;
    ignored
        .into_iter()
        .map(|line| head(&line, 256))
        .take_while(|line| {
            bytes += line.len() + 4;
            bytes <= MAX_IGNORED_BYTES
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use metnos_proto::msg::policyd::Literal;
    use proptest::prelude::*;

    fn slot_of(literals: Vec<Literal>) -> Slot {
        Slot { executor: "e".into(), literals, open: Vec::new(), max: 1 }
    }

    #[test]
    fn the_limits_hold_at_their_edges() {
        assert!(read(&vec![slot_of(Vec::new()); MAX_SLOTS]).is_ok());
        assert!(read(&vec![slot_of(Vec::new()); MAX_SLOTS + 1]).is_err());
        for (max, fine) in [(0, false), (1, true), (MAX_PER_SLOT, true), (MAX_PER_SLOT + 1, false)] {
            assert_eq!(read(&[Slot { max, ..slot_of(Vec::new()) }]).is_ok(), fine, "{max}");
        }
        let literals = |count| vec![Literal { pointer: "/a".into(), json: "1".into() }; count];
        assert!(read(&[slot_of(literals(MAX_ARGUMENTS))]).is_ok());
        assert!(read(&[slot_of(literals(MAX_ARGUMENTS + 1))]).is_err());
        assert!(read(&[Slot { open: vec!["/b".into()], ..slot_of(literals(MAX_ARGUMENTS)) }]).is_err());
        let long =
            |bytes: usize| vec![Literal { pointer: "/a".into(), json: format!("\"{}\"", "a".repeat(bytes - 2)) }];
        assert!(read(&[slot_of(long(MAX_LITERAL_BYTES))]).is_ok());
        assert!(read(&[slot_of(long(MAX_LITERAL_BYTES + 1))]).is_err());
    }

    #[test]
    fn typed_arguments_become_intent_leaf_by_leaf() {
        let foreseen = typed("e", &serde_json::json!({"a": ["x"], "b": 1}));
        let pointers: Vec<&str> = foreseen.args.iter().map(|(pointer, _)| pointer.as_str()).collect();
        assert_eq!(pointers, ["/a/0", "/b"]);
    }

    proptest! {
        #[test]
        fn garbage_never_panics(text in "\\PC{0,40}", max in any::<u8>()) {
            let literals = vec![Literal { pointer: text.clone(), json: text.clone() }];
            let _ = read(&[Slot { executor: text.clone(), literals, open: vec![text], max }]);
        }
    }
}
