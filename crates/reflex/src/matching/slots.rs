//! Fills an executor's arguments from the words, by type. A value is passed on exactly as it was
//! typed; nothing is made up, and nothing is cleaned.

use std::collections::BTreeSet;

use metnos_proto::msg::common::Lang;
use metnos_proto::msg::policyd::Literal;
use serde_json::{Map, Value};

use crate::matching::contract::{Slot, Want};
use crate::matching::paths::{bare_path, is_naming};
use crate::words::grammar;
use crate::words::lexicon::Mark;
use crate::words::lists::Places;
use crate::words::token::{Kind, Token};
use crate::words::when;

/// What is known when arguments are filled.
pub struct Words<'a> {
    /// The request as it was typed.
    pub text: &'a str,
    /// The request.
    pub tokens: &'a [Token<'a>],
    /// Names of folders that were seen before.
    pub known: &'a BTreeSet<String>,
    /// The language of the request.
    pub lang: Lang,
    /// The lists that it may call.
    pub lists: Places<'a>,
    /// The time of the request in seconds since 1970 (0 if unknown), and the household's zone.
    pub now: (i64, &'a str),
}

/// The arguments of one call, as far as the words give them.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Filled {
    /// By name.
    pub arguments: Map<String, Value>,
    /// Those that stand in the words.
    pub literals: Vec<Literal>,
    /// The path among them and its kind.
    pub path: Option<(String, Kind)>,
    /// Required arguments that the words do not give: their places among its slots.
    pub missing: Vec<usize>,
    /// Quoted text that became an argument.
    pub quoted: bool,
}

impl Filled {
    /// Whether there is an argument beside a place.
    #[must_use]
    pub fn gives_more(&self) -> bool {
        self.arguments.len() > usize::from(self.path.is_some())
    }
}

/// Fills what it can and marks the tokens that it used in `used`.
#[must_use]
pub fn fill(slots: &[Slot], words: &Words<'_>, used: &mut [bool]) -> Filled {
    let mut filled = Filled::default();
    // What is typed most strictly takes first, so that text takes only what is left.
    for pass in 0..4 {
        for (at, slot) in slots.iter().enumerate() {
            if pass_of(slot) != pass {
                continue;
            }
            match take(slots, slot, words, used) {
                Some(Taken { value, literal, path }) => {
                    if literal {
                        filled.literals.push(Literal { pointer: slot.pointer(), json: value.to_string() });
                    }
                    filled.quoted |= matches!(slot.want, Want::Text(_));
                    filled.path = filled.path.or(path);
                    filled.arguments.insert(slot.name.clone(), value);
                }
                None if slot.required => filled.missing.push(at),
                None => {}
            }
        }
    }
    filled
}

const fn pass_of(slot: &Slot) -> u8 {
    match slot.want {
        Want::Path | Want::Url | Want::Address | Want::Date | Want::Time | Want::Duration => 0,
        Want::Number(_) | Want::Choice(_) | Want::Flag => 1,
        Want::Text(_) if slot.required => 2,
        Want::Text(_) | Want::Other => 3,
    }
}

struct Taken {
    value: Value,
    /// Whether the value stands in the words.
    literal: bool,
    path: Option<(String, Kind)>,
}

impl Taken {
    fn literal(value: impl Into<Value>) -> Self {
        Self { value: value.into(), literal: true, path: None }
    }
}

fn take(slots: &[Slot], slot: &Slot, words: &Words<'_>, used: &mut [bool]) -> Option<Taken> {
    match &slot.want {
        Want::Path => take_path(slots, slot, words, used),
        Want::Url => take_first(words, used, |token| (token.kind == Kind::Url).then(|| token.text.to_owned())),
        Want::Address => take_first(words, used, |token| (token.kind == Kind::Address).then(|| token.text.to_owned())),
        Want::Date => {
            take_first(
                words,
                used,
                |token| {
                    if token.kind == Kind::Date { when::date(token.text, words.lang) } else { None }
                },
            )
        }
        Want::Time => {
            take_first(words, used, |token| if token.kind == Kind::Time { when::time(token.text) } else { None })
        }
        Want::Text(_) => take_text(slots, slot, words, used),
        Want::Duration => take_duration(words, used),
        Want::Number(whole) => take_number(slot, *whole, words, used),
        Want::Choice(choices) => take_choice(choices, words, used),
        Want::Flag => take_flag(slot, words, used),
        Want::Other => None,
    }
}

fn free<'a>(words: &'a Words<'a>, used: &'a [bool]) -> impl Iterator<Item = (usize, &'a Token<'a>)> {
    words.tokens.iter().enumerate().filter(|(at, _)| !used.get(*at).copied().unwrap_or(true))
}

fn take_first(words: &Words<'_>, used: &mut [bool], read: impl Fn(&Token<'_>) -> Option<String>) -> Option<Taken> {
    let (at, text) = free(words, used).find_map(|(at, token)| Some((at, read(token)?)))?;
    used[at] = true;
    Some(Taken::literal(text))
}

/// A quotation; for an optional argument a pattern, or the word that is named as a name.
fn take_text(slots: &[Slot], slot: &Slot, words: &Words<'_>, used: &mut [bool]) -> Option<Taken> {
    let needed = slots.iter().any(|slot| slot.required && matches!(slot.want, Want::Text(_)));
    if slot.is_switch {
        return None;
    }
    if slot.required || !needed {
        let quoted = take_first(words, used, |token| (token.kind == Kind::Quoted).then(|| token.text.to_owned()));
        if quoted.is_some() || slot.required {
            return quoted;
        }
    }
    // Names and patterns are for the argument that is called so.
    if !slot.marks.iter().any(|mark| matches!(mark, Mark::Stem(stem) if stem == "name")) {
        return None;
    }
    let named = |at: usize| {
        at.checked_sub(1).and_then(|before| words.tokens.get(before)).is_some_and(|before| is_naming(before.text))
    };
    let (at, text) = free(words, used)
        .find(|(at, token)| {
            token.kind == Kind::Pattern
                || named(*at)
                    && matches!(token.kind, Kind::Word | Kind::Quoted | Kind::File)
                    && !matches!(token.mark, Mark::And)
        })
        .map(|(at, token)| (at, token.text.to_owned()))?;
    used[at] = true;
    Some(Taken::literal(text))
}

fn take_path(slots: &[Slot], slot: &Slot, words: &Words<'_>, used: &mut [bool]) -> Option<Taken> {
    let has_text_slot = slots.iter().any(|slot| matches!(slot.want, Want::Text(_)));
    let quoted_fits = |at: usize, token: &Token<'_>| {
        let noun = at.checked_sub(1).and_then(|before| words.tokens.get(before));
        token.kind == Kind::Quoted && (!has_text_slot || noun.is_some_and(|noun| noun.mark.is_path_noun()))
    };
    let typed = free(words, used).find(|(at, token)| token.is_path() || quoted_fits(*at, token));
    let found = typed.map(|(at, token)| (at, token.path_kind())).or_else(|| {
        free(words, used).find_map(|(at, _)| bare_path(words.tokens, at, words.known).map(|kind| (at, kind)))
    });
    if let Some((at, kind)) = found {
        used[at] = true;
        let text = words.tokens.get(at)?.text;
        return Some(Taken { path: Some((text.to_owned(), kind)), ..Taken::literal(text) });
    }
    // "the workspace" is the folder that all paths start from.
    let names_root = words.tokens.iter().any(|token| token.mark == Mark::Concept("root"));
    (names_root && slot.required).then(|| Taken {
        value: Value::from("."),
        literal: false,
        path: Some((".".to_owned(), Kind::Folder)),
    })
}

/// A number belongs to a required argument when it is the only one, to an optional argument when
/// the argument's name stands beside it.
fn take_number(slot: &Slot, whole: bool, words: &Words<'_>, used: &mut [bool]) -> Option<Taken> {
    let numbers: Vec<usize> = free(words, used).filter(|(_, t)| t.kind == Kind::Number).map(|(at, _)| at).collect();
    let named = |at: usize| -> Option<usize> {
        [at.checked_sub(1), at.checked_add(1)].into_iter().flatten().find(|beside| {
            words.tokens.get(*beside).is_some_and(|t| t.kind == Kind::Word && slot.marks.contains(&t.mark))
        })
    };
    // "the three longest", "the first 5": how many there are to be.
    let counts = slot.marks.iter().any(grammar::is_limit);
    let (at, name) = numbers.iter().find_map(|at| named(*at).map(|name| (*at, Some(name)))).or_else(|| {
        let said = |at: usize| words.tokens.get(at + 1).is_some_and(|after| after.kind == Kind::Word);
        (numbers.len() == 1 && (slot.required || counts && said(numbers[0]))).then(|| (numbers[0], None))
    })?;
    let text = words.tokens.get(at)?.text.replace(',', ".");
    let value = if whole {
        Value::from(when::whole(&text)?)
    } else {
        Value::Number(serde_json::Number::from_f64(text.parse().ok()?)?)
    };
    used[at] = true;
    if let Some(name) = name {
        used[name] = true;
    }
    Some(Taken::literal(value))
}

fn take_duration(words: &Words<'_>, used: &mut [bool]) -> Option<Taken> {
    let (at, text) = free(words, used).find_map(|(at, token)| {
        let unit = words.tokens.get(at + 1)?;
        (token.kind == Kind::Number).then(|| when::duration(token.text, unit.text)).flatten().map(|text| (at, text))
    })?;
    used[at] = true;
    used[at + 1] = true;
    Some(Taken { value: text.into(), literal: false, path: None })
}

fn take_choice(choices: &[String], words: &Words<'_>, used: &mut [bool]) -> Option<Taken> {
    let means = |at: usize, token: &Token<'_>| {
        let before = at.checked_sub(1).and_then(|before| words.tokens.get(before)).map(|token| token.text);
        let order = grammar::superlative(before, token.text);
        let is_meant = |choice: &&String| {
            choice.eq_ignore_ascii_case(token.text)
                || order == Some(choice.as_str())
                || matches!(token.mark, Mark::Concept(concept @ ("file" | "folder")) if concept == choice.as_str())
        };
        choices.iter().find(is_meant)
    };
    let (at, choice) = free(words, used)
        .filter(|(_, token)| token.kind == Kind::Word)
        .find_map(|(at, token)| Some((at, means(at, token)?)))?;
    used[at] = true;
    if let Some(before) = at.checked_sub(1).filter(|before| grammar::is_before_superlative(words.tokens[*before].text))
    {
        used[before] = true;
    }
    // A word of either language for it is no literal of the request.
    let literal = choice.eq_ignore_ascii_case(words.tokens[at].text);
    Some(Taken { value: Value::from(choice.as_str()), literal, path: None })
}

fn take_flag(slot: &Slot, words: &Words<'_>, used: &mut [bool]) -> Option<Taken> {
    let (at, _) = free(words, used).find(|(_, token)| {
        token.kind == Kind::Word && matches!(token.mark, Mark::Stem(_)) && slot.marks.contains(&token.mark)
    })?;
    used[at] = true;
    Some(Taken { value: Value::Bool(true), literal: false, path: None })
}
