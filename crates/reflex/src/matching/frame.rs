//! Requests that have the very form of an example: its words in their order, its values in their places, and nothing else but
//! politeness. Only a request of this kind may become a call that does more than read; where a word is left over, where a
//! preposition points the other way, where it could be two things, there is no match.

use std::collections::BTreeSet;

use metnos_proto::msg::policyd::Literal;
use serde_json::Value;

use crate::matching::contract::{Slot, Want};
use crate::matching::paths::{bare_path, is_naming};
use crate::matching::slots::{Filled, Words};
use crate::words::grammar::{self, Way};
use crate::words::lexicon::{self, Mark};
use crate::words::lists;
use crate::words::token::{Kind, Token};
use crate::words::when;

/// The most steps of one example.
const MAX_STEPS: usize = 24;

/// A part of an example.
#[derive(Debug, Clone, PartialEq)]
enum Step {
    /// A word that must stand there.
    Word(Mark, String),
    /// A preposition between two values: which way it points.
    Way(Way),
    /// A value of this argument.
    Value(usize),
    /// Words that become this argument.
    Text(usize),
    /// A list by its name, which becomes this argument.
    List(usize),
}

/// An example as a form to hold requests against.
#[derive(Debug, Clone)]
pub struct Form {
    steps: Vec<Step>,
    kind: Option<Kind>,
    /// Whether the executor only reads.
    reads: bool,
}

impl Form {
    /// Reads an example; `None` when something in it is nobody's argument, as in a request for a chain.
    #[must_use]
    pub fn of(tokens: &[Token<'_>], slots: &[Slot], folders: &BTreeSet<String>, reads: bool) -> Option<Self> {
        let mut form = Self { steps: Vec::new(), kind: None, reads };
        let mut taken = vec![false; slots.len()];
        let mut way = None;
        let mut at = 0;
        while let Some(token) = tokens.get(at) {
            let bare = bare_path(tokens, at, folders);
            let list = lists::called_at(tokens, at);
            let place = (0..slots.len()).find(|slot| !taken[*slot] && slots[*slot].want == Want::Path);
            if let (Some((count, _)), Some(slot)) = (list, place) {
                form.place(Step::List(slot), way.take());
                taken[slot] = true;
                at += count - 1;
            } else if token.is_value() || bare.is_some() {
                let slot = value_slot(tokens, at, slots, &taken)?;
                if slots[slot].want == Want::Path {
                    form.kind = form.kind.or(bare).or(Some(token.path_kind()));
                }
                form.place(Step::Value(slot), way.take());
                taken[slot] = true;
            } else if let Some(slot) = form.text_slot(tokens, at, slots, &taken) {
                form.place(Step::Text(slot), way.take());
                taken[slot] = true;
                while tokens
                    .get(at + 1)
                    .is_some_and(|_| !begins_value(tokens, at + 1) && !lists::begins(tokens, at + 1))
                {
                    at += 1;
                }
            } else if let Some(found) = grammar::way(token.text) {
                way = Some(found);
            } else if token.mark.weight() > 0.0 && !token.mark.is_path_noun() && !is_naming(token.text) {
                form.steps.push(Step::Word(token.mark.clone(), token.text.to_lowercase()));
                way = None;
            }
            at += 1;
        }
        let asks = form.steps.iter().any(|step| match step {
            Step::Word(mark, _) => mark.weight() >= 0.9,
            Step::List(_) => true,
            Step::Way(_) | Step::Value(_) | Step::Text(_) => false,
        });
        // Where a place could be named and none is, words alone are no form: "show the workspace" is not "show".
        let bare = form.steps.iter().all(|step| matches!(step, Step::Word(..)));
        let leaves_open = bare && slots.iter().any(|slot| slot.want == Want::Path);
        (asks && !leaves_open && form.steps.len() <= MAX_STEPS).then_some(form)
    }

    fn place(&mut self, step: Step, way: Option<Way>) {
        let has_value = self.steps.iter().any(|step| matches!(step, Step::Value(_) | Step::Text(_) | Step::List(_)));
        if let (true, Some(way)) = (has_value, way) {
            self.steps.push(Step::Way(way));
        }
        self.steps.push(step);
    }

    /// The argument that the word at `at` of an example begins, when it is one of those that stand there as they would be said.
    fn text_slot(&self, tokens: &[Token<'_>], at: usize, slots: &[Slot], taken: &[bool]) -> Option<usize> {
        let token = tokens.get(at)?;
        let grammar = matches!(token.mark, Mark::Free | Mark::And) || token.mark.is_path_noun();
        if grammar || grammar::way(token.text).is_some() || tokens[at..].iter().any(|token| token.kind == Kind::Quoted)
        {
            return None;
        }
        let text = |required: bool| {
            (0..slots.len()).find(|slot| !taken[*slot] && slots[*slot].required == required && is_text(&slots[*slot]))
        };
        if at.checked_sub(1).and_then(|before| tokens.get(before)).is_some_and(|before| is_naming(before.text)) {
            return text(true).or_else(|| text(false));
        }
        if !self.steps.iter().any(|step| matches!(step, Step::Word(..))) || tokens[at..].iter().any(|token| token.colon)
        {
            return None;
        }
        let is_name = token.text.starts_with(char::is_uppercase) && matches!(token.mark, Mark::Stem(_));
        text(true).or_else(|| is_name.then(|| text(false)).flatten())
    }

    /// The arguments, when the request has this form.
    fn matches(&self, slots: &[Slot], request: &Request<'_>) -> Option<Filled> {
        let mut found = Vec::new();
        self.go(0, request.begin, slots, request, &mut found).then(|| {
            if self.steps.iter().any(|step| matches!(step, Step::List(_))) {
                found.iter_mut().for_each(|one| one.becomes_items(request));
            }
            filled(slots, request, found)
        })
    }

    fn go(&self, step: usize, at: usize, slots: &[Slot], request: &Request<'_>, found: &mut Vec<Found>) -> bool {
        let reads = self.reads;
        let Some(wanted) = self.steps.get(step) else {
            return request.next(at, reads).is_none_or(|next| next >= request.end);
        };
        if let Step::Text(slot) = wanted {
            return self.text(step, at, *slot, slots, request, found);
        }
        let Some(next) = request.next(at, reads).filter(|next| *next < request.end) else { return false };
        // "the note of yesterday" and "delete it?" ask for nothing: what changes something begins with its word.
        if step == 0 && !reads && (next != request.begin || request.asks) {
            return false;
        }
        let token = &request.words.tokens[next];
        match wanted {
            Step::Word(mark, text) => {
                token.kind == Kind::Word
                    && grammar::is_same_word(token, mark, text)
                    && self.go(step + 1, next + 1, slots, request, found)
            }
            Step::Way(way) => {
                grammar::way(token.text) == Some(*way) && self.go(step + 1, next + 1, slots, request, found)
            }
            Step::Value(slot) => {
                // "in" before the first value says nothing where nothing is changed.
                let next = if reads && grammar::way(token.text).is_some() { next + 1 } else { next };
                let Some((value, kind)) = request.value(next, &slots[*slot]) else { return false };
                let misfit = kind == Some(Kind::Folder) && self.kind == Some(Kind::File);
                if misfit {
                    return false;
                }
                found.push(Found { slot: *slot, value, kind, words: None });
                self.go(step + 1, next + 1, slots, request, found) || {
                    found.pop();
                    false
                }
            }
            Step::List(slot) => {
                // "Add to the list …": what stands before the first value.
                let passes = grammar::way(token.text).is_some_and(|way| reads || way == Way::To);
                let Some(next) = request.next(next + usize::from(passes), reads) else { return false };
                let Some((count, kind)) = lists::called_at(&request.words.tokens[..request.end], next) else {
                    return false;
                };
                // One that only "the list" calls is not made: nobody knows what it is of.
                let makes = !reads && count > 1;
                let Some(path) = request.words.lists.place(&kind, request.words.text, makes) else { return false };
                found.push(Found { slot: *slot, value: path.into(), kind: Some(Kind::File), words: None });
                self.go(step + 1, next + count, slots, request, found) || {
                    found.pop();
                    false
                }
            }
            Step::Text(_) => false,
        }
    }

    /// Words that become an argument: a quotation, or what stands between its marks.
    fn text(
        &self,
        step: usize,
        at: usize,
        slot: usize,
        slots: &[Slot],
        request: &Request<'_>,
        found: &mut Vec<Found>,
    ) -> bool {
        let tokens = request.words.tokens;
        let is_last = step + 1 == self.steps.len();
        let reads = self.reads;
        let after_way =
            matches!(step.checked_sub(1).map(|before| &self.steps[before]), Some(Step::Way(_) | Step::List(_)));
        let mut begin = at;
        // What a text of several words follows at the end of a request: a colon, "that", a preposition.
        let mut marked = after_way || at > 0 && tokens.get(at - 1).is_some_and(|token| token.colon);
        if let Some(next) = request.next_or_way(at)
            && reads
            && grammar::way(tokens[next].text).is_some()
        {
            (begin, marked) = (next + 1, true);
        }
        if !marked
            && tokens.get(begin).is_some_and(|token| {
                grammar::introduces(token.text, tokens.get(begin + 1).map_or("", |next| next.text))
            })
        {
            (begin, marked) = (begin + 1, true);
        }
        let quoted = request.next(begin, reads).filter(|next| tokens[*next].kind == Kind::Quoted);
        if let Some(next) = quoted {
            found.push(Found {
                slot,
                value: Value::from(tokens[next].text),
                kind: None,
                words: Some((next, next + 1)),
            });
            return self.go(step + 1, next + 1, slots, request, found) || {
                found.pop();
                false
            };
        }
        let Some(first) = tokens.get(begin).filter(|_| begin < request.end) else { return false };
        if lexicon::points_at_something(first.text) {
            return false;
        }
        let ends: Vec<usize> = if is_last {
            if marked { vec![tokens.len()] } else { Vec::new() }
        } else {
            (begin + 1..request.end).rev().collect()
        };
        for end in ends {
            let inside = &tokens[begin..end];
            let foreign =
                |token: &Token<'_>| !is_last && (token.is_path() || matches!(token.kind, Kind::Quoted | Kind::Url));
            if inside.iter().any(foreign) || reads && inside.len() > 4 {
                continue;
            }
            let Some(text) = request.between(begin, end) else { continue };
            found.push(Found { slot, value: Value::from(text), kind: None, words: Some((begin, end)) });
            if is_last || self.go(step + 1, end, slots, request, found) {
                return true;
            }
            found.pop();
        }
        false
    }
}

fn is_text(slot: &Slot) -> bool {
    matches!(slot.want, Want::Text(_)) && !slot.is_switch
}

/// The argument that takes a value of an example.
fn value_slot(tokens: &[Token<'_>], at: usize, slots: &[Slot], taken: &[bool]) -> Option<usize> {
    let token = &tokens[at];
    let first = |fits: &dyn Fn(&Slot) -> bool| (0..slots.len()).find(|slot| !taken[*slot] && fits(&slots[*slot]));
    let text = || first(&|slot| slot.required && is_text(slot)).or_else(|| first(&is_text));
    let path = || first(&|slot| slot.want == Want::Path);
    match token.kind {
        Kind::File | Kind::Folder | Kind::Path | Kind::Word => path(),
        Kind::Quoted => text().or_else(path),
        Kind::Pattern => text(),
        Kind::Url => first(&|slot| slot.want == Want::Url),
        Kind::Address => first(&|slot| slot.want == Want::Address),
        Kind::Number => first(&|slot| matches!(slot.want, Want::Number(_))),
        Kind::Date => first(&|slot| slot.want == Want::Date),
        Kind::Time => first(&|slot| slot.want == Want::Time),
    }
}

/// Whether what follows is a value, or a preposition and articles in front of one.
fn begins_value(tokens: &[Token<'_>], at: usize) -> bool {
    let Some(token) = tokens.get(at) else { return false };
    let rest =
        || tokens[at + 1..].iter().find(|token| !grammar::is_filler(token.text, true) && !token.mark.is_path_noun());
    token.is_value() || grammar::way(token.text).is_some() && rest().is_some_and(Token::is_value)
}

struct Found {
    slot: usize,
    value: Value,
    kind: Option<Kind>,
    /// The tokens that a text was made of.
    words: Option<(usize, usize)>,
}

impl Found {
    /// What is put on a list is a line for each thing.
    fn becomes_items(&mut self, request: &Request<'_>) {
        if let Some((begin, end)) = self.words {
            let end = end.min(request.end);
            self.value = lists::items(request.words.text, &request.words.tokens[begin.min(end)..end]).into();
        }
    }
}

fn filled(slots: &[Slot], request: &Request<'_>, found: Vec<Found>) -> Filled {
    let mut filled = Filled::default();
    for one in found {
        let slot = &slots[one.slot];
        // A list's path, and several things of it, stand in the words in another form.
        if one.value.as_str().is_none_or(|text| request.words.text.contains(text)) {
            filled.literals.push(Literal { pointer: slot.pointer(), json: one.value.to_string() });
        }
        if let (Some(kind), Some(path)) = (one.kind, one.value.as_str()) {
            filled.path = filled.path.or_else(|| Some((path.to_owned(), kind)));
        }
        filled.arguments.insert(slot.name.clone(), one.value);
    }
    let given = |slot: &Slot| filled.arguments.contains_key(&slot.name);
    filled.missing = (0..slots.len()).filter(|at| slots[*at].required && !given(&slots[*at])).collect();
    debug_assert!(request.begin <= request.end);
    filled
}

/// A request without the politeness around it.
pub struct Request<'a> {
    words: &'a Words<'a>,
    begin: usize,
    end: usize,
    /// Whether it only asks, and asks nobody to do anything.
    asks: bool,
}

impl<'a> Request<'a> {
    /// Reads a request, once for all executors; `None` where nothing but politeness is left.
    #[must_use]
    pub fn of(words: &'a Words<'a>) -> Option<Self> {
        let (begin, polite) = grammar::lead(words.tokens);
        let end = grammar::tail(words.tokens, begin);
        let asks = words.text.trim_end().ends_with('?') && !polite;
        (begin < end).then_some(Self { words, begin, end, asks })
    }

    /// The next token that says something.
    fn next(&self, from: usize, reads: bool) -> Option<usize> {
        let says = |token: &Token<'_>| {
            token.is_value()
                || !(grammar::is_filler(token.text, reads) || token.mark.is_path_noun() || is_naming(token.text))
        };
        (from..self.words.tokens.len()).find(|at| says(&self.words.tokens[*at]))
    }

    /// As [`Self::next`] where nothing is changed, and no preposition is passed over: "a" may be one.
    fn next_or_way(&self, from: usize) -> Option<usize> {
        let next = self.next(from, true)?;
        (from..next).find(|at| grammar::way(self.words.tokens[*at].text).is_some()).or(Some(next))
    }

    /// The value that stands there, for this argument.
    fn value(&self, at: usize, slot: &Slot) -> Option<(Value, Option<Kind>)> {
        let token = self.words.tokens.get(at).filter(|_| at < self.end)?;
        let text = || Value::from(token.text);
        match (&slot.want, token.kind) {
            (Want::Path, Kind::File | Kind::Folder | Kind::Path) => Some((text(), Some(token.path_kind()))),
            (Want::Path, Kind::Quoted) if token.is_path() => Some((text(), Some(token.path_kind()))),
            (Want::Path, Kind::Word) => {
                bare_path(self.words.tokens, at, self.words.known).map(|kind| (text(), Some(kind)))
            }
            (Want::Text(_), Kind::Quoted | Kind::Pattern) | (Want::Url, Kind::Url) | (Want::Address, Kind::Address) => {
                Some((text(), None))
            }
            (Want::Date, Kind::Date) => when::date(token.text, self.words.lang).map(|day| (Value::from(day), None)),
            (Want::Time, Kind::Time) => when::time(token.text).map(|time| (Value::from(time), None)),
            (Want::Number(_), Kind::Number) => when::whole(token.text).map(|number| (Value::from(number), None)),
            (_, _) => None,
        }
    }

    /// What was typed from one token up to another, as it was typed.
    fn between(&self, begin: usize, end: usize) -> Option<&'a str> {
        let (first, last) = (self.words.tokens.get(begin)?, self.words.tokens.get(end.checked_sub(1)?)?);
        let text = self.words.text.get(first.start..last.start + last.text.len())?;
        // A quotation that ends the text keeps its closing mark out; whole texts only.
        (!text.trim().is_empty() && last.kind != Kind::Quoted && first.kind != Kind::Quoted).then(|| text.trim())
    }
}

/// The form among those of one executor that the request has, the one that says most: how many words it says, and the
/// arguments; `None` when there is none, or an argument is missing.
#[must_use]
pub fn best(forms: &[Form], slots: &[Slot], request: &Request<'_>) -> Option<(usize, Filled)> {
    let fits = forms.iter().filter_map(|form| {
        let filled = form.matches(slots, request).filter(|filled| filled.missing.is_empty())?;
        Some((form.steps.iter().filter(|step| matches!(step, Step::Word(..))).count(), filled))
    });
    fits.max_by_key(|(words, _)| *words)
}
