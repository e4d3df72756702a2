//! The intent: what the first reply of a turn foresees, when nothing but the person's words and trusted memory has
//! been read. Literals are passed on as they are; which of them stand in the words policyd finds out.

use metnos_proto::json::{self, REF_KEY};
use metnos_proto::msg::policyd::{Literal, MAX_PER_SLOT, Slot};
use serde_json::Value;

use super::calls::Calls;
use super::reply::Draft;

/// The most arguments of a slot, as policyd has it.
const MAX_ARGUMENTS: usize = 64;
/// The longest literal, in bytes, as policyd has it.
const MAX_LITERAL: usize = 4096;

/// The slots: the calls that are to be made now, and those that will be wanted later, as many as an intent has.
#[must_use]
pub fn slots(calls: &Calls, later: &[Draft], most: usize) -> Vec<Slot> {
    let now = calls.each().map(|one| slot(&one.executor, &one.arguments));
    let later = later.iter().map(|draft| slot(&draft.executor, &draft.arguments));
    let mut slots: Vec<Slot> = Vec::new();
    for slot in now.chain(later) {
        // The same again is one slot for more calls.
        let same = slots.iter().position(|known| {
            let is_same = known.executor == slot.executor && known.literals == slot.literals && known.open == slot.open;
            is_same && known.max < MAX_PER_SLOT
        });
        match same {
            Some(at) => slots[at].max += 1,
            None if slots.len() < most => slots.push(slot),
            None => break,
        }
    }
    slots
}

/// A call as a slot: its literals, and the places of what will turn up.
fn slot(executor: &str, arguments: &Value) -> Slot {
    let mut slot = Slot { executor: executor.to_owned(), literals: Vec::new(), open: Vec::new(), max: 1 };
    leaves(arguments, String::new(), &mut slot);
    slot
}

fn leaves(value: &Value, pointer: String, slot: &mut Slot) {
    if slot.literals.len() + slot.open.len() >= MAX_ARGUMENTS || pointer.len() > MAX_LITERAL {
        return;
    }
    match value {
        Value::Object(map) if map.contains_key(REF_KEY) => slot.open.push(pointer),
        Value::Object(map) => map.iter().for_each(|(name, item)| leaves(item, json::child(&pointer, name), slot)),
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                leaves(item, json::child(&pointer, &index.to_string()), slot);
            }
        }
        Value::Null => slot.open.push(pointer),
        Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            let json = value.to_string();
            if json.len() <= MAX_LITERAL {
                slot.literals.push(Literal { pointer, json });
            } else {
                slot.open.push(pointer);
            }
        }
    }
}
