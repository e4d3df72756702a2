//! Holds a request against lines: all ways in which it may be read are weighed, each position of each step once.

use std::rc::Rc;

use metnos_proto::executor::pattern::Lookup;
use metnos_proto::msg::common::Lang;
use metnos_proto::msg::policyd::Literal;
use serde_json::Value;

use super::kinds::{self, Took};
use super::{Line, Node, Patterns, Request, Takes, place};
use crate::matching::contract;
use crate::matching::slots::Filled;
use crate::words::lists;
use crate::words::token::Kind;

/// The most steps that the patterns of one executor may cost for one request.
pub const MAX_STEPS: usize = 40_000;

/// A request that a line matches.
#[derive(Debug, Clone)]
pub struct Found {
    /// How many of its words are words of the pattern; a quotation that the pattern asks for is one.
    pub literals: usize,
    /// How many are in texts.
    pub loose: usize,
    /// The arguments.
    pub filled: Filled,
    /// The file of which the text becomes an argument, and that argument.
    pub chain: Option<Chain>,
    /// Who is asked first what words of it mean.
    pub lookup: Option<LookedUp>,
    /// Whether it could be read in two ways that differ.
    pub tied: bool,
    /// The language of the line.
    pub lang: Lang,
    /// The tokens of a text at the end that nothing but a word marks.
    pub open_text: Option<(usize, usize)>,
}

/// The first link of a chain, as the words name it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chain {
    /// The file.
    pub path: String,
    /// Whether it stands in the words as it is.
    pub typed: bool,
    /// The argument that its text becomes.
    pub argument: String,
    /// The media type of that.
    pub media: String,
}

/// A call that is made first, because words of the request mean what it finds.
#[derive(Debug, Clone, PartialEq)]
pub struct LookedUp {
    /// The executor.
    pub by: String,
    /// Its arguments.
    pub filled: Filled,
    /// The arguments that it gives, each with the pointer of its value in the result.
    pub gives: Vec<(String, String)>,
}

/// A value that was taken for a slot, and those taken behind it.
#[derive(Debug)]
struct Capture {
    slot: usize,
    begin: usize,
    took: Took,
    next: Option<Rc<Capture>>,
}

impl PartialEq for Capture {
    /// Whether the same arguments come of both, whatever the words for them are.
    fn eq(&self, other: &Self) -> bool {
        let place = |one: &Self| one.took.value.is_none().then_some((one.begin, one.took.end));
        self.slot == other.slot
            && self.took.value == other.took.value
            && place(self) == place(other)
            && self.next == other.next
    }
}

/// The best way to read the rest of a request.
#[derive(Debug, Clone)]
struct Best {
    literals: usize,
    loose: usize,
    captures: Option<Rc<Capture>>,
    tied: bool,
}

impl Best {
    /// Of two ways the one that says more in words of the pattern, then in fewer words of texts.
    fn or(self, other: Self) -> Self {
        let order = (self.literals, other.loose).cmp(&(other.literals, self.loose));
        match order {
            std::cmp::Ordering::Greater => self,
            std::cmp::Ordering::Less => other,
            std::cmp::Ordering::Equal => {
                let tied = self.tied || other.tied || !say_the_same(self.captures.as_ref(), other.captures.as_ref());
                Self { tied, ..self }
            }
        }
    }
}

/// Whether two ways give the same arguments: "the list" and "list" may both name one file.
fn say_the_same(mut one: Option<&Rc<Capture>>, mut other: Option<&Rc<Capture>>) -> bool {
    while let (Some(a), Some(b)) = (one, other) {
        let equal = a.slot == b.slot
            && a.took.value == b.took.value
            && (a.took.value.is_some() || (a.begin, a.took.end) == (b.begin, b.took.end));
        if !equal {
            return false;
        }
        (one, other) = (a.next.as_ref(), b.next.as_ref());
    }
    one.is_none() && other.is_none()
}

fn either(one: Option<Best>, other: Option<Best>) -> Option<Best> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.or(other)),
        (one, other) => one.or(other),
    }
}

/// The best readings of a request by the patterns of one executor, one for each line that matches.
#[must_use]
pub fn best(patterns: &Patterns, request: &Request<'_>) -> Vec<Found> {
    if request.len() == 0 {
        return Vec::new();
    }
    let numbers = [Lang::En, Lang::It].map(|lang| request.numbers(patterns, lang));
    let mut steps = 0;
    let mut found = Vec::new();
    for line in patterns.possible(&numbers) {
        let lang = place(line.lang);
        let memo = vec![None; line.nodes.len() * (request.len() + 1)];
        let mut run = Run { line, request, numbers: &numbers[lang], memo, steps };
        let read = run.line();
        steps = run.steps;
        if steps > MAX_STEPS {
            return Vec::new();
        }
        found.extend(read.and_then(|best| whole(line, patterns, request, best)));
    }
    found
}

struct Run<'a> {
    line: &'a Line,
    request: &'a Request<'a>,
    numbers: &'a [[Option<u16>; 2]],
    /// What is known of each step at each position.
    memo: Vec<Option<Option<Best>>>,
    steps: usize,
}

impl Run<'_> {
    fn line(&mut self) -> Option<Best> {
        let mut best = None;
        for (begin, asked) in self.request.begins.clone() {
            // "Did you delete it?" and "the note of yesterday" ask for no deed. "Email Anna: are you coming?" does: Anna is asked.
            let asks = self.request.asks && !asked;
            if self.line.changes && self.request.is_article(begin, self.line.lang) {
                continue;
            }
            let read = self.go(self.line.start, begin);
            best = either(best, read.filter(|read| !self.line.changes || !asks || self.asks_in_text(read)));
        }
        best
    }

    /// Whether the question is the text that is passed on, and not the request.
    fn asks_in_text(&self, read: &Best) -> bool {
        let mut last = read.captures.as_ref();
        while let Some(next) = last.and_then(|capture| capture.next.as_ref()) {
            last = Some(next);
        }
        last.is_some_and(|last| {
            let is_text = self.line.slots[last.slot].takes == Takes::Text && last.took.value.is_none();
            is_text && self.request.quotes(last.begin)
        })
    }

    fn go(&mut self, node: usize, at: usize) -> Option<Best> {
        self.steps += 1;
        if self.steps > MAX_STEPS {
            return None;
        }
        let place = node * (self.request.len() + 1) + at;
        if let Some(known) = &self.memo[place] {
            return known.clone();
        }
        let line = self.line;
        let best = match &line.nodes[node] {
            Node::End => {
                let ends = self.request.ends.contains(&at);
                ends.then_some(Best { literals: 0, loose: 0, captures: None, tied: false })
            }
            Node::Split(begins) => begins.iter().fold(None, |best, begin| either(best, self.go(*begin, at))),
            Node::Word(word, next) => either(self.word(*word, *next, at), self.behind_article(node, at)),
            Node::Slot(slot, next) => {
                let skipped =
                    if line.slots[*slot].takes.keeps_articles() { None } else { self.behind_article(node, at) };
                either(self.slot(*slot, *next, at), skipped)
            }
        };
        self.memo[place] = Some(best.clone());
        best
    }

    fn behind_article(&mut self, node: usize, at: usize) -> Option<Best> {
        self.request.is_article(at, self.line.lang).then(|| self.go(node, at + 1)).flatten()
    }

    fn word(&mut self, word: u16, next: usize, at: usize) -> Option<Best> {
        let stands = self.numbers.get(at).is_some_and(|numbers| numbers.contains(&Some(word)));
        let rest = stands.then(|| self.go(next, at + 1)).flatten()?;
        Some(Best { literals: rest.literals + 1, ..rest })
    }

    fn slot(&mut self, slot: usize, next: usize, at: usize) -> Option<Best> {
        if at >= self.request.len() || !self.request.is_edge(at) {
            return None;
        }
        let line = self.line;
        let mut best = None;
        for took in line.slots[slot].takes.options(self.request, at, line.lang, line.changes) {
            if !self.may_take(slot, at, &took) {
                continue;
            }
            let Some(rest) = self.go(next, took.end) else { continue };
            let loose = rest.loose + took.loose;
            // A quotation that the pattern asks for says as much as one of its words.
            let literals = rest.literals + usize::from(line.slots[slot].takes == Takes::Quoted);
            let captures = Some(Rc::new(Capture { slot, begin: at, took, next: rest.captures }));
            best = either(best, Some(Best { literals, loose, captures, ..rest }));
        }
        best
    }

    /// Whether a text at the end of the request may be one here.
    fn may_take(&self, slot: usize, at: usize, took: &Took) -> bool {
        let (request, slot) = (self.request, &self.line.slots[slot]);
        if !slot.ends || took.value.is_some() || !request.ends.contains(&took.end) {
            return true;
        }
        let colon = request.after_colon(at);
        let firm = slot.marked || colon;
        if self.line.changes && !firm {
            return false;
        }
        match slot.takes {
            // After a colon the text is everything that was typed.
            Takes::Text if colon => took.end == request.len(),
            Takes::Text | Takes::Items => took.end == request.text_end,
            Takes::File(_)
            | Takes::FileOf(_)
            | Takes::Folder
            | Takes::Place(_)
            | Takes::New
            | Takes::Note
            | Takes::Name
            | Takes::List
            | Takes::Words
            | Takes::Word
            | Takes::Quoted
            | Takes::Number { .. }
            | Takes::Date
            | Takes::Time
            | Takes::Duration
            | Takes::Choice(_)
            | Takes::Url
            | Takes::Address
            | Takes::Zone
            | Takes::Town
            | Takes::Stretch
            | Takes::Appointment
            | Takes::Repeating
            | Takes::Event
            | Takes::Device
            | Takes::Entrance => true,
        }
    }
}

/// The arguments of a request that was read to its end.
fn whole(line: &Line, patterns: &Patterns, request: &Request<'_>, best: Best) -> Option<Found> {
    let mut filled = Filled::default();
    let table = patterns.tables.get(line.table)?;
    let mut arguments = Value::Object(table.args.clone());
    let (mut chain, mut open_text) = (None, None);
    if let Some((argument, kind)) = &table.list {
        let lists = lists::Places { italian: line.lang == Lang::It, ..request.words.lists };
        let path = lists.place(kind, request.words.text, line.changes)?;
        filled.path = Some((path.clone(), Kind::File));
        put(&mut arguments, &format!("/{argument}"), path.into())?;
    }
    let mut next = best.captures.as_ref();
    while let Some(capture) = next {
        let slot = &line.slots[capture.slot];
        let (begin, end) = (capture.begin, capture.took.end);
        let (from, upto) = (request.token(begin), request.token(end));
        let firm = request.after_colon(begin) || request.introduced(begin);
        if capture.took.value.is_none() && request.ends.contains(&end) && !firm {
            open_text = Some((from, upto));
        }
        let value = match (&capture.took.value, &slot.takes) {
            // The file stands before its new name.
            (_, Takes::Name) => kinds::renamed(&filled.path.as_ref()?.0, request.between(begin, end)?)?.into(),
            (_, Takes::Items) => lists::items(request.words.text, &request.words.tokens[from..upto]).into(),
            (Some(value), _) => value.clone(),
            (None, Takes::Text) if end == request.len() && request.quotes(begin) => request.to_its_end(begin)?.into(),
            (None, _) => request.between(begin, end)?.into(),
        };
        // A list's path, and several things of it, stand in the words in another form.
        let typed = value.as_str().is_none_or(|text| request.words.text.contains(text));
        if let (Some(kind), Some(path)) = (capture.took.path, value.as_str()) {
            filled.path = filled.path.or_else(|| Some((path.to_owned(), kind)));
        }
        match (&slot.takes, value.as_str()) {
            (Takes::File(Some(media)) | Takes::Place(Some(media)), Some(path)) => {
                if !contract::may_hold(path, media, |noun| request.is_called(begin, end, noun)) {
                    return None;
                }
                let argument = slot.pointer.trim_start_matches('/').to_owned();
                chain = Some(Chain { path: path.to_owned(), typed, argument, media: media.clone() });
            }
            (_, _) => {
                if typed {
                    filled.literals.push(literal(&slot.pointer, &value));
                }
                put(&mut arguments, &slot.pointer, value)?;
            }
        }
        next = capture.next.as_ref();
    }
    if let Value::Object(arguments) = arguments {
        filled.arguments = arguments;
    }
    let lookup = match &table.lookup {
        None => None,
        Some(lookup) => Some(looked_up(lookup, &mut filled)?),
    };
    let (literals, loose, tied) = (best.literals, best.loose, best.tied);
    Some(Found { literals, loose, filled, chain, lookup, tied, lang: line.lang, open_text })
}

/// The call that is made first, with the words that it is about: they are no argument of the request any more.
fn looked_up(lookup: &Lookup, filled: &mut Filled) -> Option<LookedUp> {
    let gives = lookup.gives.iter().map(|(argument, pointer)| (argument.clone(), pointer.clone())).collect();
    let mut first = Filled { arguments: lookup.args.clone(), ..Filled::default() };
    if lookup.argument.is_empty() {
        return Some(LookedUp { by: lookup.by.clone(), filled: first, gives });
    }
    let words = filled.arguments.remove(&lookup.argument)?;
    let slot = contract::pointer(&lookup.argument);
    let of = contract::pointer(&lookup.from);
    let (own, others) = std::mem::take(&mut filled.literals).into_iter().partition(|literal| literal.pointer == slot);
    filled.literals = others;
    let own: Vec<Literal> = own;
    first.literals.extend(own.into_iter().map(|literal| Literal { pointer: of.clone(), ..literal }));
    first.arguments.insert(lookup.from.clone(), words);
    Some(LookedUp { by: lookup.by.clone(), filled: first, gives })
}

fn literal(pointer: &str, value: &Value) -> Literal {
    Literal { pointer: pointer.to_owned(), json: value.to_string() }
}

/// Puts a value where the pointer says; `None` when something else is there.
fn put(root: &mut Value, pointer: &str, value: Value) -> Option<()> {
    let mut tokens = pointer.split('/').skip(1).peekable();
    let mut at = root;
    while let Some(token) = tokens.next() {
        let (is_last, is_index) =
            tokens.peek().map_or((true, false), |next| (false, next.bytes().all(|b| b.is_ascii_digit())));
        let inner = || if is_index { Value::Array(Vec::new()) } else { Value::Object(serde_json::Map::new()) };
        at = match at {
            Value::Object(map) if is_last => return map.insert(token.to_owned(), value).is_none().then_some(()),
            Value::Object(map) => map.entry(token).or_insert_with(inner),
            Value::Array(items) => {
                let index: usize = token.parse().ok()?;
                if index == items.len() {
                    items.push(if is_last { Value::Null } else { inner() });
                }
                let item = items.get_mut(index)?;
                if is_last {
                    *item = value;
                    return Some(());
                }
                item
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => return None,
        };
    }
    None
}
