//! What was foreseen while the planner had read nothing but the owner's words: slots, each a
//! kind of call with what was known of its arguments. A slot never endorses a value that the
//! registered words do not contain (design: policy §7).

use metnos_proto::msg::policyd::{MAX_PER_SLOT, MAX_SLOTS};
use serde_json::Value;

use crate::call::spec::Spec;
use crate::text::words::{Words, same};

/// The most arguments in one slot.
pub const MAX_ARGUMENTS: usize = 64;
/// The longest pointer, name or literal looked at, in bytes.
pub const MAX_LITERAL_BYTES: usize = 4096;

/// What a slot says of one argument.
#[derive(Debug, Clone, PartialEq)]
pub enum Wanted {
    /// Exactly this value, up to letter case and white space.
    Literal(Value),
    /// Whatever turns up.
    Any,
}

/// A kind of call that was foreseen, as the planner gave it.
#[derive(Debug, Clone, PartialEq)]
pub struct Slot {
    /// The executor.
    pub executor: String,
    /// Arguments by JSON pointer.
    pub args: Vec<(String, Wanted)>,
    /// How many such calls.
    pub max: u8,
}

/// A slot, and what the words bear out of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Frozen {
    slot: Slot,
    /// For each argument: its literal stands in the owner's words.
    verified: Vec<bool>,
    used: u8,
}

/// The slots of a context.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Intent {
    slots: Vec<Frozen>,
    /// It is one call that the owner has typed himself.
    typed: bool,
}

/// How a call meets the slots.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fit {
    /// The slot of this number foresees it and has a use left.
    Slot(usize),
    /// A slot foresaw it, and is used up.
    Spent,
    /// None foresees it.
    None,
}

impl Intent {
    /// Freezes `slots`, as far as there is room for them: at most [`MAX_SLOTS`] in a context. What it
    /// returns are the literals that were not found, as `executor pointer`.
    pub fn freeze(&mut self, slots: Vec<Slot>, words: &Words, spec: impl Fn(&str) -> Option<Spec>) -> Vec<String> {
        let mut ignored = Vec::new();
        for mut slot in slots {
            if self.slots.len() >= MAX_SLOTS || slot.args.len() > MAX_ARGUMENTS {
                ignored.push(format!("{} (no room for this slot)", slot.executor));
                continue;
            }
            slot.max = slot.max.min(MAX_PER_SLOT);
            let known = spec(&slot.executor);
            let verified = slot.args.iter().map(|(pointer, wanted)| match wanted {
                Wanted::Any => false,
                Wanted::Literal(value) => {
                    let role = known.as_ref().map(|spec| spec.role(pointer)).unwrap_or_default();
                    let found = words.contain(value, role);
                    if !found {
                        ignored.push(format!("{} {pointer}", slot.executor));
                    }
                    found
                }
            });
            let verified = verified.collect();
            self.slots.push(Frozen { slot, verified, used: 0 });
        }
        ignored
    }

    /// The intent of one call that the owner has typed himself, argument by argument.
    #[must_use]
    pub fn typed(slot: Slot) -> Self {
        let verified = slot.args.iter().map(|(_, wanted)| matches!(wanted, Wanted::Literal(_))).collect();
        Self { slots: vec![Frozen { slot, verified, used: 0 }], typed: true }
    }

    /// Whether it is one call that the owner has typed himself.
    #[must_use]
    pub const fn is_typed(&self) -> bool {
        self.typed
    }

    /// How many literals were found.
    #[must_use]
    pub fn found(&self) -> u16 {
        let found = self.slots.iter().flat_map(|slot| &slot.verified).filter(|verified| **verified).count();
        u16::try_from(found).unwrap_or(u16::MAX)
    }

    /// Whether nothing was foreseen.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// The slot that foresees a call with these leaves: of several, the one that freezes most of it.
    #[must_use]
    pub fn fit(&self, executor: &str, leaves: &[(String, Option<&Value>)]) -> Fit {
        let fitting = self.slots.iter().enumerate().filter(|(_, frozen)| frozen.fits(executor, leaves));
        let (left, spent): (Vec<_>, Vec<_>) = fitting.partition(|(_, frozen)| frozen.used < frozen.slot.max);
        let most = left.iter().max_by_key(|(at, frozen)| {
            (frozen.verified.iter().filter(|verified| **verified).count(), std::cmp::Reverse(*at))
        });
        match most {
            Some((at, _)) => Fit::Slot(*at),
            None if !spent.is_empty() => Fit::Spent,
            None => Fit::None,
        }
    }

    /// Whether slot `at` freezes the argument at `pointer` on exactly what the owner typed.
    #[must_use]
    pub fn freezes(&self, at: usize, pointer: &str) -> bool {
        self.slots.get(at).is_some_and(|frozen| {
            frozen.slot.args.iter().zip(&frozen.verified).any(|((name, _), verified)| *verified && name == pointer)
        })
    }

    /// Whether slot `at` fixed the argument at `pointer` before anything else was read, found in the
    /// words or not.
    #[must_use]
    pub fn fixes(&self, at: usize, pointer: &str) -> bool {
        let fixed = |(name, wanted): &(String, Wanted)| name == pointer && matches!(wanted, Wanted::Literal(_));
        self.slots.get(at).is_some_and(|frozen| frozen.slot.args.iter().any(fixed))
    }

    /// Uses up one call of slot `at`.
    pub fn spend(&mut self, at: usize) {
        if let Some(frozen) = self.slots.get_mut(at) {
            frozen.used = frozen.used.saturating_add(1);
        }
    }
}

impl Frozen {
    /// Same executor; every leaf has a pointer in the slot; every literal stands at its place.
    fn fits(&self, executor: &str, leaves: &[(String, Option<&Value>)]) -> bool {
        let wanted = |pointer: &str| self.slot.args.iter().find(|(name, _)| name == pointer).map(|(_, wanted)| wanted);
        self.slot.executor == executor
            && leaves.iter().all(|(pointer, value)| match (wanted(pointer), value) {
                (Some(Wanted::Any), _) => true,
                (Some(Wanted::Literal(literal)), Some(value)) => same(literal, value),
                (Some(Wanted::Literal(_)), None) | (None, _) => false,
            })
            && self.slot.args.iter().all(|(name, wanted)| match wanted {
                Wanted::Any => true,
                Wanted::Literal(_) => leaves.iter().any(|(pointer, _)| pointer == name),
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use metnos_proto::msg::common::Lang;
    use serde_json::json;

    fn words(text: &str) -> Words {
        let mut words = Words::default();
        words.add(text, Lang::En);
        words
    }

    fn slot(args: &[(&str, Option<Value>)], max: u8) -> Slot {
        let wanted = |value: &Option<Value>| value.clone().map_or(Wanted::Any, Wanted::Literal);
        let args = args.iter().map(|(pointer, value)| ((*pointer).to_owned(), wanted(value))).collect();
        Slot { executor: "e".into(), args, max }
    }

    fn frozen(text: &str, slots: &[Slot]) -> Intent {
        let mut intent = Intent::default();
        intent.freeze(slots.to_vec(), &words(text), |_| None);
        intent
    }

    fn fit(intent: &Intent, leaves: &[(&str, Value)]) -> Fit {
        let leaves: Vec<_> = leaves.iter().map(|(pointer, value)| ((*pointer).to_owned(), Some(value))).collect();
        intent.fit("e", &leaves)
    }

    #[test]
    fn a_literal_that_stands_in_the_words_is_frozen_and_another_only_fixed() {
        let mut intent = Intent::default();
        let slots = vec![slot(&[("/a", Some(json!("Ada"))), ("/b", Some(json!("Eve"))), ("/c", None)], 1)];
        assert_eq!(intent.freeze(slots, &words("write to ada"), |_| None), ["e /b"]);
        assert_eq!(intent.found(), 1);
        assert!(intent.freezes(0, "/a") && !intent.freezes(0, "/b") && !intent.freezes(0, "/c"));
        assert!(intent.fixes(0, "/b") && !intent.fixes(0, "/c") && !intent.fixes(1, "/a"));
    }

    #[test]
    fn call_fits_intent_when_every_argument_matches_its_slot() {
        let intent = frozen("x", &[slot(&[("/a", Some(json!("x"))), ("/b", None)], 1)]);
        assert_eq!(fit(&intent, &[("/a", json!("X"))]), Fit::Slot(0));
        assert_eq!(fit(&intent, &[("/a", json!("x")), ("/b", json!(7))]), Fit::Slot(0));
        assert_eq!(fit(&intent, &[("/b", json!(7))]), Fit::None);
        assert_eq!(fit(&intent, &[("/a", json!("y"))]), Fit::None);
        assert_eq!(fit(&intent, &[("/a", json!("x")), ("/c", json!(1))]), Fit::None);
        assert_eq!(intent.fit("f", &[]), Fit::None);
    }

    #[test]
    fn a_slot_is_used_up_and_no_slot_foresees_more_than_the_limit() {
        let mut intent = frozen("x", &[slot(&[("/a", None)], 200)]);
        for _ in 0..MAX_PER_SLOT {
            assert_eq!(fit(&intent, &[]), Fit::Slot(0));
            intent.spend(0);
        }
        assert_eq!(fit(&intent, &[]), Fit::Spent);
    }

    #[test]
    fn there_is_room_for_so_many_slots_and_no_more() {
        let intent = frozen("", &vec![slot(&[], 1); MAX_SLOTS + 4]);
        assert_eq!(intent.slots.len(), MAX_SLOTS);
    }

    #[test]
    fn slot_with_more_frozen_arguments_is_preferred() {
        let intent = frozen("pay 10.00", &[slot(&[("/n", None)], 1), slot(&[("/n", Some(json!(10)))], 1)]);
        assert_eq!(fit(&intent, &[("/n", json!(10.0))]), Fit::Slot(1));
        assert_eq!(fit(&intent, &[("/n", json!(11))]), Fit::Slot(0));
    }
}
