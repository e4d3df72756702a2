//! `[[patterns]]`: the forms of the requests that an executor serves, per language, with a slot for each argument.
//!
//! Words stand for themselves; `(a|b c|d)` one of these; `[x]` may be missing; both nest. `{arg:kind}` is a slot for the
//! argument at the JSON pointer `/arg`; without a kind, the schema says what it takes. This module reads the syntax and
//! holds the limits; what a request matches is the reflex's matter.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::example::holds_instant;
use super::{Class, ManifestError};
use crate::lists;
use crate::msg::common::Lang;
use crate::names;

/// The most tables of patterns.
pub const MAX_TABLES: usize = 64;
/// The most lines of one table.
pub const MAX_LINES: usize = 48;
/// The longest line, in characters.
pub const MAX_LINE: usize = 240;
/// How deep groups stand in each other.
pub const MAX_NESTING: usize = 4;
/// The most alternatives of one line when they are written out, which nothing does: a request is held against a line in steps,
/// and those are counted.
pub const MAX_ALTERNATIVES: usize = 4_096;
/// The longest pointer of a slot, in bytes.
const MAX_POINTER: usize = 128;

/// A table of patterns: lines of one language that mean the same.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PatternTable {
    /// The language of its lines.
    #[serde(with = "code")]
    pub lang: Lang,
    /// The lines.
    pub say: Vec<String>,
    /// Arguments that these words mean, beside the slots.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub args: Map<String, Value>,
    /// Lists that these words mean without naming them, by the argument that takes the path: `{ path = "shopping list" }`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub lists: BTreeMap<String, String>,
    /// Who is asked first what the words of a slot mean.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lookup: Option<Lookup>,
}

/// Another executor that is asked first: the words of one slot go to it, and what it finds becomes arguments. It only reads. Where
/// it does not find exactly what is wanted, its own answer is told, and nothing else is done.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lookup {
    /// The slot, by its argument; empty where no words are needed.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub argument: String,
    /// The executor.
    pub by: String,
    /// The argument of that executor that takes the words; empty as `argument` is.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub from: String,
    /// Its other arguments.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub args: Map<String, Value>,
    /// Arguments of this executor, each with the JSON pointer of its value in the result.
    pub gives: BTreeMap<String, String>,
}

/// The most arguments that one lookup gives.
pub const MAX_GIVEN: usize = 4;

impl Lookup {
    /// What is wrong with it, if anything: in a sentence that says what is expected.
    fn fault(&self) -> Option<&'static str> {
        let is_pointer = |pointer: &String| !pointer.is_empty() && crate::json::is_pointer(pointer);
        if !super::is_name(&self.by) {
            return Some("the name of an executor in `by`");
        }
        let no_words = self.argument.is_empty() && self.from.is_empty();
        let words = super::is_name(&self.argument) && super::is_name(&self.from) && !self.args.contains_key(&self.from);
        if !no_words && !words {
            return Some("one argument in `argument`, and one in `from` that `args` does not hold; or neither");
        }
        if !(1..=MAX_GIVEN).contains(&self.gives.len()) || !self.gives.values().all(is_pointer) {
            return Some("1 to 4 arguments in `gives`, each with a JSON pointer");
        }
        None
    }
}

impl PatternTable {
    /// The list that is meant without being named, and the argument for its path.
    #[must_use]
    pub fn unnamed_list(&self) -> Option<(&str, lists::Kind)> {
        let (argument, name) = self.lists.iter().next()?;
        let words: Vec<&str> = name.split(' ').collect();
        let (count, kind) = lists::phrase(&words)?;
        (count == words.len()).then_some((argument, kind))
    }
}

/// A language as it is written in a manifest.
mod code {
    use serde::de::{Deserialize, Deserializer, Error};
    use serde::ser::Serializer;

    use crate::msg::common::Lang;

    #[allow(clippy::trivially_copy_pass_by_ref, reason = "as serde calls it")]
    pub fn serialize<S: Serializer>(lang: &Lang, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(match lang {
            Lang::En => "en",
            Lang::It => "it",
        })
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Lang, D::Error> {
        match String::deserialize(deserializer)?.as_str() {
            "en" => Ok(Lang::En),
            "it" => Ok(Lang::It),
            other => Err(D::Error::custom(format!("lang is `{other}`; expected `en` or `it`"))),
        }
    }
}

names! {
    /// What a slot takes.
    pub enum SlotKind {
        /// A file: its path, its name, or what it is about.
        File = "file",
        /// A folder.
        Folder = "folder",
        /// A file or a folder.
        Place = "place",
        /// The path of something that need not exist.
        New = "new",
        /// What a note is to be called, one that is there or not: its path, of a new one where new lists go.
        Note = "note",
        /// A new name for the file of the request: its path beside that one, with the same ending.
        Name = "name",
        /// A list by its name.
        List = "list",
        /// Things, a line for each.
        Items = "items",
        /// Words up to the next part, or a quotation.
        Text = "text",
        /// A few plain words.
        Words = "words",
        /// One word, or a quotation.
        Word = "word",
        /// A quotation.
        Quoted = "quoted",
        /// A number.
        Number = "number",
        /// A day.
        Date = "date",
        /// A time of day.
        Time = "time",
        /// A duration.
        Duration = "duration",
        /// One of the values that the schema lists.
        Choice = "choice",
        /// A web address.
        Url = "url",
        /// A mail address or a host.
        Address = "address",
        /// A place on earth, for its time zone.
        Zone = "zone",
        /// A town by its name, known or not.
        Town = "town",
        /// A stretch of time: a day, a part of one, a week, a month.
        Stretch = "stretch",
        /// When something is to take place: a day, or a time of one.
        Appointment = "appointment",
        /// When something is to take place again and again: "every Tuesday at 18".
        Repeating = "repeating",
        /// What takes place: words that begin with what people make appointments for.
        Event = "event",
        /// A device of the house, or all of a kind: a few words with what people have there. Nothing that leads into the house.
        Device = "device",
        /// What leads into the house or guards it: a few words with a door, a gate, a lock, an alarm.
        Entrance = "entrance",
    }
}

/// A part of a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Part {
    /// A word that stands for itself, as it is written.
    Word(String),
    /// A slot: the JSON pointer of the argument, and what it takes; `None` where the schema says so.
    Slot(String, Option<SlotKind>),
    /// One of these.
    Any(Vec<Vec<Part>>),
    /// One of these, or nothing.
    Maybe(Vec<Vec<Part>>),
}

/// Reads a line.
///
/// # Errors
/// What was expected of it.
pub fn parse(line: &str) -> Result<Vec<Part>, String> {
    if line.chars().count() > MAX_LINE {
        return Err(format!("a line of at most {MAX_LINE} characters"));
    }
    if line.chars().any(char::is_control) {
        return Err("a line without control characters".to_owned());
    }
    let mut reader = Reader { rest: line };
    let mut branches = reader.branches(0)?;
    let parts = match (reader.rest.is_empty(), branches.pop(), branches.is_empty()) {
        (false, ..) => return Err("each closing bracket to have an opening one".to_owned()),
        (true, Some(parts), true) => parts,
        (true, ..) => return Err("`|` only inside of brackets".to_owned()),
    };
    if alternatives(&parts) > MAX_ALTERNATIVES {
        return Err(format!("at most {MAX_ALTERNATIVES} alternatives when written out"));
    }
    pointers(&parts)?;
    if may_be_empty(&parts) {
        return Err("at least one word or slot that cannot be missing".to_owned());
    }
    Ok(parts)
}

struct Reader<'a> {
    rest: &'a str,
}

impl Reader<'_> {
    /// Reads alternatives up to a closing bracket or the end; none of them is empty.
    fn branches(&mut self, depth: usize) -> Result<Vec<Vec<Part>>, String> {
        if depth > MAX_NESTING {
            return Err(format!("groups nested at most {MAX_NESTING} deep"));
        }
        let mut branches = vec![Vec::new()];
        loop {
            self.rest = self.rest.trim_start();
            let Some(first) = self.rest.chars().next() else { break };
            let part = match first {
                ')' | ']' => break,
                '|' => {
                    self.rest = &self.rest[1..];
                    branches.push(Vec::new());
                    continue;
                }
                '(' => Part::Any(self.group(')', depth)?),
                '[' => Part::Maybe(self.group(']', depth)?),
                '{' => self.slot()?,
                '}' => return Err("each closing bracket to have an opening one".to_owned()),
                _ => self.word(),
            };
            if let Some(last) = branches.last_mut() {
                last.push(part);
            }
        }
        if branches.iter().any(Vec::is_empty) {
            return Err("words or slots in each alternative".to_owned());
        }
        Ok(branches)
    }

    fn group(&mut self, close: char, depth: usize) -> Result<Vec<Vec<Part>>, String> {
        self.rest = &self.rest[1..];
        let branches = self.branches(depth + 1)?;
        let rest = self.rest.strip_prefix(close).ok_or_else(|| format!("`{close}` to close the group"))?;
        self.rest = rest;
        Ok(branches)
    }

    fn slot(&mut self) -> Result<Part, String> {
        let (inside, rest) = self.rest[1..].split_once('}').ok_or("`}` to close the slot")?;
        self.rest = rest;
        let (name, kind) = inside.split_once(':').map_or((inside, None), |(name, kind)| (name, Some(kind)));
        let is_token = |token: &str| {
            !token.is_empty() && token.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-'))
        };
        if name.len() > MAX_POINTER || !name.split('/').all(is_token) {
            return Err("slots such as `{path:file}` or `{aggregate/0/column:word}`".to_owned());
        }
        let kind = match kind {
            None => None,
            Some(kind) => Some(SlotKind::named(kind).ok_or_else(|| {
                let all: Vec<&str> = SlotKind::ALL.iter().map(|kind| kind.name()).collect();
                format!("a kind of slot: one of {}", all.join(", "))
            })?),
        };
        Ok(Part::Slot(format!("/{name}"), kind))
    }

    fn word(&mut self) -> Part {
        let ends = |c: char| c.is_whitespace() || matches!(c, '(' | ')' | '[' | ']' | '{' | '}' | '|');
        let (word, rest) = self.rest.split_at(self.rest.find(ends).unwrap_or(self.rest.len()));
        self.rest = rest;
        Part::Word(word.to_owned())
    }
}

/// How many lines these parts are when all alternatives are written out.
fn alternatives(parts: &[Part]) -> usize {
    let sum = |branches: &[Vec<Part>]| branches.iter().fold(0_usize, |sum, one| sum.saturating_add(alternatives(one)));
    parts.iter().fold(1_usize, |product, part| {
        product.saturating_mul(match part {
            Part::Word(_) | Part::Slot(..) => 1,
            Part::Any(branches) => sum(branches),
            Part::Maybe(branches) => sum(branches).saturating_add(1),
        })
    })
}

/// The arguments that these parts fill; no two of one request the same, nor one inside of the other.
fn pointers(parts: &[Part]) -> Result<Vec<&str>, String> {
    let mut all: Vec<&str> = Vec::new();
    for part in parts {
        let own = match part {
            Part::Word(_) => Vec::new(),
            Part::Slot(pointer, _) => vec![pointer.as_str()],
            Part::Any(branches) | Part::Maybe(branches) => {
                branches.iter().map(|one| pointers(one)).collect::<Result<Vec<_>, _>>()?.concat()
            }
        };
        let inside = |one: &str, other: &str| other.strip_prefix(one).is_some_and(|rest| rest.starts_with('/'));
        let clash = |one: &&str| all.iter().any(|other| other == one || inside(one, other) || inside(other, one));
        if let Some(pointer) = own.iter().find(|one| clash(one)) {
            return Err(format!("one slot for the argument `{pointer}`"));
        }
        all.extend(own);
    }
    Ok(all)
}

fn may_be_empty(parts: &[Part]) -> bool {
    parts.iter().all(|part| match part {
        Part::Word(_) | Part::Slot(..) => false,
        Part::Any(branches) => branches.iter().any(|one| may_be_empty(one)),
        Part::Maybe(_) => true,
    })
}

/// Whether every request that these parts describe begins with a word of theirs.
#[must_use]
pub fn begins_with_word(parts: &[Part]) -> bool {
    let all = |branches: &[Vec<Part>]| branches.iter().all(|one| begins_with_word(one));
    match parts.split_first() {
        Some((Part::Word(_), _)) => true,
        Some((Part::Any(branches), _)) => all(branches),
        Some((Part::Maybe(branches), rest)) => all(branches) && begins_with_word(rest),
        Some((Part::Slot(..), _)) | None => false,
    }
}

/// Whether arguments leave room for a value at a pointer: what stands on the way to it holds others, and nothing stands there.
fn has_room(args: &Map<String, Value>, pointer: &str) -> bool {
    let mut steps = pointer.split('/').skip(1);
    let mut here = steps.next().and_then(|name| args.get(name));
    for step in steps {
        here = match here {
            None => return true,
            Some(Value::Object(map)) => map.get(step),
            Some(Value::Array(items)) => match step.parse::<usize>() {
                Ok(at) if at <= items.len() => items.get(at),
                Ok(_) | Err(_) => return false,
            },
            Some(Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_)) => return false,
        };
    }
    here.is_none()
}

/// # Errors
/// The first table or line that is not as it must be.
pub(super) fn validate(tables: &[PatternTable], class: Class) -> Result<(), ManifestError> {
    if tables.len() > MAX_TABLES {
        return Err(ManifestError::field("patterns", tables.len(), format!("at most {MAX_TABLES} tables")));
    }
    for (at, table) in tables.iter().enumerate() {
        let field = format!("patterns[{at}].say");
        if table.say.is_empty() || table.say.len() > MAX_LINES {
            return Err(ManifestError::field(field, table.say.len(), format!("1 to {MAX_LINES} lines")));
        }
        for line in &table.say {
            let parts = parse(line).map_err(|expected| ManifestError::field(&field, line, expected))?;
            if class != Class::Read && !begins_with_word(&parts) {
                let expected = "a line that begins with a word: its executor does more than read";
                return Err(ManifestError::field(&field, line, expected));
            }
            let twice = |pointer: &&str| !has_room(&table.args, pointer);
            let filled = pointers(&parts).unwrap_or_default();
            if let Some(pointer) = filled.iter().find(|pointer| twice(pointer)) {
                let expected = format!("either a slot or a value for the argument `{pointer}`, not both");
                return Err(ManifestError::field(&field, line, expected));
            }
        }
        if let Some(name) = table.lists.values().next() {
            let is_taken = |argument: &str| {
                let slots = table.say.iter().filter_map(|line| parse(line).ok());
                let mut filled = slots.flat_map(|parts| {
                    pointers(&parts).unwrap_or_default().into_iter().map(str::to_owned).collect::<Vec<_>>()
                });
                table.args.contains_key(argument) || filled.any(|pointer| pointer == format!("/{argument}"))
            };
            let free = table.unnamed_list().is_some_and(|(argument, _)| !is_taken(argument));
            if table.lists.len() > 1 || !free {
                let expected =
                    "one list by its name, such as `shopping list`, for an argument without a slot or a value";
                return Err(ManifestError::field(format!("patterns[{at}].lists"), name, expected));
            }
        }
        if let Some(lookup) = &table.lookup {
            let slot = format!("/{}", lookup.argument);
            let has_slot = |line: &String| {
                parse(line).is_ok_and(|parts| pointers(&parts).unwrap_or_default().contains(&slot.as_str()))
            };
            let everywhere = lookup.argument.is_empty() || table.say.iter().all(has_slot);
            let fault = lookup.fault().or_else(|| (!everywhere).then_some("a slot for its `argument` in each line"));
            if let Some(expected) = fault {
                return Err(ManifestError::field(format!("patterns[{at}].lookup"), &lookup.by, expected));
            }
        }
        if let Some((key, value)) = table.args.iter().find(|(_, value)| holds_instant(value)) {
            let expected = "dates and times as texts in quotation marks";
            return Err(ManifestError::field(format!("patterns[{at}].args.{key}"), value, expected));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use serde_json::json;

    #[test]
    fn a_slot_goes_into_arguments_that_have_room_for_it() {
        let args = json!({"limit": 5, "aggregate": [{"op": "sum"}], "where": [{"column": "*"}]});
        let args = args.as_object().unwrap();
        for fits in ["/text", "/aggregate/0/column", "/aggregate/1/op", "/where/0/value", "/other/0/x"] {
            assert!(has_room(args, fits), "{fits}");
        }
        for full in [
            "/limit",
            "/limit/0",
            "/aggregate",
            "/aggregate/0/op",
            "/aggregate/2/op",
            "/aggregate/x",
            "/where/0/column/x",
        ] {
            assert!(!has_room(args, full), "{full}");
        }
    }

    #[test]
    fn a_list_that_is_not_named_is_one_list_for_a_free_argument() {
        let table = |text: &str| -> Result<(), ManifestError> {
            let table: PatternTable = toml::from_str(text).unwrap();
            validate(&[table], Class::Read)
        };
        let good = "lang = \"en\"\nsay = [\"what do we need\"]\nlists = { path = \"shopping list\" }";
        table(good).unwrap();
        table(&good.replace("shopping list", "lista della spesa")).unwrap();
        for (from, to) in [
            ("\"shopping list\"", "\"shopping\""),
            ("\"shopping list\"", "\"shopping list of mine\""),
            ("{ path = \"shopping list\" }", "{ a = \"shopping list\", b = \"shopping list\" }"),
            ("need\"]", "need in {path:file}\"]"),
            ("lists =", "args = { path = \"x\" }\nlists ="),
        ] {
            assert!(table(&good.replace(from, to)).is_err(), "{from} {to}");
        }
    }

    #[test]
    fn lookup_names_a_slot_an_executor_and_what_it_gives() {
        let table = |lookup: serde_json::Value| PatternTable {
            lang: Lang::En,
            say: vec!["write to {to:words} {text}".to_owned()],
            args: Map::new(),
            lists: BTreeMap::new(),
            lookup: Some(serde_json::from_value(lookup).unwrap()),
        };
        let good = json!({"argument": "to", "by": "contact_find", "from": "name", "gives": {"to": "/mail"}});
        assert!(validate(&[table(good.clone())], Class::Send).is_ok());
        for (field, value) in [
            ("argument", json!("whom")),
            ("argument", json!("/to")),
            ("by", json!("Contact find")),
            ("from", json!("")),
            ("args", json!({"name": "Eve"})),
            ("gives", json!({})),
            ("gives", json!({"to": ""})),
            ("gives", json!({"to": "mail"})),
            ("gives", json!({"a": "/a", "b": "/b", "c": "/c", "d": "/d", "e": "/e"})),
        ] {
            let mut bad = good.clone();
            bad[field] = value.clone();
            assert!(validate(&[table(bad)], Class::Send).is_err(), "{field} {value}");
        }
        let more = json!({"argument": "to", "by": "x", "from": "y", "gives": {"to": "/mail"}, "then": 1});
        assert!(serde_json::from_value::<Lookup>(more).is_err());
    }
}
