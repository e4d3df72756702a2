//! The intent of a turn, frozen while the planner has read nothing but the owner's words
//! (design: policy §7). A claim of the planner counts only as far as the registered words
//! themselves bear it out: it never endorses what cannot be found in them.

use metnos_proto::json;
use metnos_proto::msg::common::{Refusal, RefusalCode};
use metnos_proto::msg::policyd::{MAX_PER_SLOT, MAX_SLOTS, Slot};
use serde_json::Value;

/// The most literals in one slot.
pub const MAX_LITERALS: usize = 32;
/// The longest pointer, name or literal looked at, in bytes.
pub const MAX_LITERAL_BYTES: usize = 4096;

/// What of a planner's intent the words bear out.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Frozen {
    slots: Vec<FrozenSlot>,
    /// What was not found, as `executor pointer`.
    pub ignored: Vec<String>,
}

/// One foreseen kind of call.
#[derive(Debug, Clone, PartialEq)]
struct FrozenSlot {
    executor: String,
    literals: Vec<(String, Value)>,
    left: u8,
}

impl Frozen {
    /// How many literals were found.
    #[must_use]
    pub fn found(&self) -> u16 {
        let literals: usize = self.slots.iter().map(|slot| slot.literals.len()).sum();
        u16::try_from(literals).unwrap_or(u16::MAX)
    }

    /// Whether some slot still foresees such a call: same executor, uses left, and every
    /// frozen literal stands at its place in the arguments.
    #[must_use]
    pub fn foresees(&self, executor: &str, arguments: &Value) -> bool {
        self.slots.iter().any(|slot| slot.fits(executor, arguments))
    }

    /// Uses up one call of the first slot that foresees it; each use is good once.
    pub fn spend(&mut self, executor: &str, arguments: &Value) {
        if let Some(slot) = self.slots.iter_mut().find(|slot| slot.fits(executor, arguments)) {
            slot.left -= 1;
        }
    }
}

impl FrozenSlot {
    fn fits(&self, executor: &str, arguments: &Value) -> bool {
        self.left > 0
            && self.executor == executor
            && self.literals.iter().all(|(pointer, value)| arguments.pointer(pointer) == Some(value))
    }
}

/// Re-finds every literal of `slots` in `words`, the registered prompt.
///
/// # Errors
/// A refusal when the intent is larger than the limits or not made of JSON; nothing is frozen then.
pub fn freeze(words: &str, slots: &[Slot]) -> Result<Frozen, Refusal> {
    if slots.len() > MAX_SLOTS {
        return Err(invalid(format!("an intent has at most {MAX_SLOTS} slots, this one has {}", slots.len())));
    }
    let mut frozen = Frozen::default();
    for slot in slots {
        if slot.max == 0 || slot.max > MAX_PER_SLOT {
            return Err(invalid(format!("a slot foresees 1 to {MAX_PER_SLOT} calls, this one {}", slot.max)));
        }
        if slot.literals.len() > MAX_LITERALS || slot.executor.len() > MAX_LITERAL_BYTES {
            return Err(invalid(format!(
                "a slot has at most {MAX_LITERALS} literals, this one {}",
                slot.literals.len()
            )));
        }
        let mut literals = Vec::new();
        for literal in &slot.literals {
            if literal.json.len() > MAX_LITERAL_BYTES || literal.pointer.len() > MAX_LITERAL_BYTES {
                return Err(invalid(format!("a literal has at most {MAX_LITERAL_BYTES} bytes")));
            }
            let value = json::parse_strict(literal.json.as_bytes(), json::Limits::ARGUMENTS)
                .map_err(|why| invalid(format!("a literal is no JSON: {why}")))?;
            if stands_in(words, &value) {
                literals.push((literal.pointer.clone(), value));
            } else {
                frozen.ignored.push(format!("{} {}", slot.executor, literal.pointer));
            }
        }
        frozen.slots.push(FrozenSlot { executor: slot.executor.clone(), literals, left: slot.max });
    }
    Ok(frozen)
}

fn invalid(why: String) -> Refusal {
    Refusal::new(RefusalCode::Invalid, "intent.form", why)
}

/// Whether the words contain this value as a token of its own. Structures and constants
/// never do: only what somebody can have typed.
fn stands_in(words: &str, value: &Value) -> bool {
    match value {
        Value::String(text) if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) => {
            occurrences(words, text).any(|(before, after)| numeric_id(before, after))
        }
        Value::String(text) => {
            !text.is_empty()
                && text.trim() == text
                && occurrences(words, text).any(|(before, after)| begins_token(before) && ends_token(after))
        }
        Value::Number(number) => {
            let Some(wanted) = Decimal::parse(&number.to_string()) else { return false };
            numbers(words).any(|found| found == wanted)
        }
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => false,
    }
}

/// What stands before and after each place where `text` occurs.
fn occurrences<'a>(words: &'a str, text: &'a str) -> impl Iterator<Item = (&'a str, &'a str)> {
    words.match_indices(text).map(move |(at, found)| (&words[..at], &words[at + found.len()..]))
}

/// Characters that belong to the token they stand next to: a part of a path, an address or
/// a name is not that path, address or name.
fn joins(c: char) -> bool {
    c.is_alphanumeric() || "_-/\\.@~%+=:&?$*".contains(c)
}

fn begins_token(before: &str) -> bool {
    before.chars().next_back().is_none_or(|c| !joins(c))
}

/// Sentence punctuation ends a token when nothing of the token follows it.
fn ends_token(after: &str) -> bool {
    let rest = after.trim_start_matches(['.', ',', ';', ':', '!', '?']);
    match rest.chars().next() {
        None => true,
        Some(c) if rest.len() == after.len() => !joins(c),
        Some(c) => c.is_whitespace() || "\"'`)]}»”’".contains(c),
    }
}

/// A string of digits counts only where it is named as an id.
fn numeric_id(before: &str, after: &str) -> bool {
    if !ends_token(after) {
        return false;
    }
    if before.ends_with('#') {
        return true;
    }
    let named = before.trim_end_matches([' ', ':']);
    let word = named.rsplit(|c: char| c.is_whitespace()).next().unwrap_or_default().to_lowercase();
    named.len() < before.len() && matches!(word.as_str(), "id" | "no." | "n." | "#")
}

/// A decimal number by value: `5`, `5.0` and `5,00` are one.
#[derive(Debug, PartialEq, Eq)]
struct Decimal {
    negative: bool,
    whole: String,
    fraction: String,
}

impl Decimal {
    /// Reads digits with at most one decimal point or comma; exponents and groups of thousands are
    /// not understood, so that nothing is taken for something else.
    fn parse(text: &str) -> Option<Self> {
        let (negative, digits) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        let (whole, fraction) = digits.split_once(['.', ',']).unwrap_or((digits, ""));
        let plain = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
        if whole.is_empty() || !plain(whole) || !plain(fraction) {
            return None;
        }
        let whole = whole.trim_start_matches('0').to_owned();
        let fraction = fraction.trim_end_matches('0').to_owned();
        let zero = whole.is_empty() && fraction.is_empty();
        Some(Self { negative: negative && !zero, whole, fraction })
    }
}

/// The numbers that stand in `words` as tokens.
fn numbers(words: &str) -> impl Iterator<Item = Decimal> {
    words
        .split(|c: char| c.is_whitespace() || "\"'`()[]{}€$£%".contains(c))
        .map(|token| token.trim_end_matches(['.', ',', ';', ':', '!', '?']))
        // "1.000" is a thousand to some and one to others: nobody's word for either.
        .filter(|token| {
            !token
                .split_once(['.', ','])
                .is_some_and(|(whole, rest)| rest.len() == 3 && whole.len() < 4 && !whole.starts_with('0'))
        })
        .filter_map(Decimal::parse)
}

#[cfg(test)]
mod tests {
    use super::*;
    use metnos_proto::msg::policyd::Literal;
    use proptest::prelude::*;
    use serde_json::json;

    fn slot(executor: &str, literals: &[(&str, Value)]) -> Slot {
        Slot {
            executor: executor.to_owned(),
            literals: literals
                .iter()
                .map(|(pointer, value)| Literal { pointer: (*pointer).to_owned(), json: value.to_string() })
                .collect(),
            max: 1,
        }
    }

    #[test]
    fn a_literal_that_stands_in_the_words_is_frozen_and_another_is_not() {
        let slots = [
            slot("fs_read", &[("/path", json!("notes/welcome.md"))]),
            slot("fs_read", &[("/path", json!("secret.md"))]),
        ];
        let frozen = freeze("read notes/welcome.md, please", &slots).unwrap();
        assert_eq!(frozen.found(), 1);
        assert_eq!(frozen.ignored, ["fs_read /path"]);
    }

    #[test]
    fn a_part_of_a_token_is_not_the_token() {
        for (words, text) in [
            ("read /etc/shadow", "etc/shadow"),
            ("read notes/a.md.bak", "notes/a.md"),
            ("read notes/a.md", "notes/a"),
            ("write to ada@example.org", "ada"),
            ("foo-bar", "foo"),
            ("what is this", "is is"),
        ] {
            assert!(!stands_in(words, &json!(text)), "{text} in {words}");
        }
    }

    #[test]
    fn sentence_punctuation_and_quotes_bound_a_token() {
        for words in
            ["leggi notes/a.md.", "\"notes/a.md\"?", "l'altro: 'notes/a.md', ora", "(notes/a.md)", "notes/a.md"]
        {
            assert!(stands_in(words, &json!("notes/a.md")), "{words}");
        }
    }

    #[test]
    fn numbers_are_compared_as_numbers() {
        assert!(stands_in("pay 5 euros", &json!(5)));
        assert!(stands_in("pay 5,00 €", &json!(5)));
        assert!(stands_in("it is -3.50 outside", &json!(-3.5)));
        assert!(!stands_in("pay 15", &json!(5)));
        assert!(!stands_in("pay 5x", &json!(5)));
        assert!(!stands_in("pay 1.000", &json!(1)));
        assert!(!stands_in("pay 1.000", &json!(1000)));
    }

    #[test]
    fn digits_are_an_id_only_where_they_are_called_one() {
        for words in ["cancel id 42", "cancel no. 42", "cancel #42", "annulla n. 42", "cancel ID: 42!"] {
            assert!(stands_in(words, &json!("42")), "{words}");
        }
        for words in ["wait 42 minutes", "id 142", "id 42a", "valid 42"] {
            assert!(!stands_in(words, &json!("42")), "{words}");
        }
    }

    #[test]
    fn structures_and_constants_are_never_found() {
        for value in [json!(true), json!(null), json!(["a"]), json!({"a": "a"}), json!(""), json!(" a")] {
            assert!(!stands_in("true null a [\"a\"] {}", &value), "{value}");
        }
    }

    #[test]
    fn the_limits_hold_at_their_edges() {
        let slots = |count: usize| vec![slot("e", &[]); count];
        assert!(freeze("", &slots(MAX_SLOTS)).is_ok());
        assert!(freeze("", &slots(MAX_SLOTS + 1)).is_err());
        for (max, fine) in [(0, false), (1, true), (MAX_PER_SLOT, true), (MAX_PER_SLOT + 1, false)] {
            assert_eq!(freeze("", &[Slot { max, ..slot("e", &[]) }]).is_ok(), fine, "{max}");
        }
        let literals = |count| vec![Literal { pointer: "/a".into(), json: "1".into() }; count];
        assert!(freeze("", &[Slot { literals: literals(MAX_LITERALS), ..slot("e", &[]) }]).is_ok());
        assert!(freeze("", &[Slot { literals: literals(MAX_LITERALS + 1), ..slot("e", &[]) }]).is_err());
        let long = |bytes: usize| Slot {
            literals: vec![Literal { pointer: "/a".into(), json: format!("\"{}\"", "a".repeat(bytes - 2)) }],
            ..slot("e", &[])
        };
        assert!(freeze("", &[long(MAX_LITERAL_BYTES)]).is_ok());
        assert!(freeze("", &[long(MAX_LITERAL_BYTES + 1)]).is_err());
    }

    #[test]
    fn a_slot_is_used_up() {
        let arguments = json!({"path": "a.md"});
        let mut frozen = freeze("read a.md", &[slot("fs_read", &[("/path", json!("a.md"))])]).unwrap();
        assert!(!frozen.foresees("fs_list", &arguments));
        assert!(!frozen.foresees("fs_read", &json!({"path": "b.md"})));
        assert!(frozen.foresees("fs_read", &arguments));
        frozen.spend("fs_read", &arguments);
        assert!(!frozen.foresees("fs_read", &arguments));
        frozen.spend("fs_read", &arguments);
    }

    proptest! {
        #[test]
        fn nothing_is_frozen_that_does_not_occur_in_the_words(words in "\\PC{0,80}", text in "\\PC{1,12}") {
            if stands_in(&words, &json!(text)) {
                prop_assert!(words.contains(&text));
            }
        }

        #[test]
        fn garbage_never_panics(words in "\\PC{0,80}", literal in "\\PC{0,40}", max in any::<u8>()) {
            let slots = [Slot { executor: words.clone(), literals: vec![Literal { pointer: literal.clone(), json: literal }], max }];
            let _ = freeze(&words, &slots);
        }
    }
}
