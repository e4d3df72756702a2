//! Patterns of a manifest, compiled: a request matches one only when each of its words is a word of the pattern, a slot's, an
//! article, or politeness. What a hostile manifest can cost is bounded in steps.

mod kinds;
mod request;
mod run;

use metnos_proto::envelope::Candidate;
use metnos_proto::executor::pattern::{Lookup, Part, begins_with_word, parse};
use metnos_proto::lists::Kind;
use metnos_proto::msg::common::Lang;
use serde_json::{Map, Value};

pub use kinds::Takes;
pub use request::{Request, Vocabulary};
pub use run::{Chain, Found, LookedUp, MAX_STEPS, best};

use crate::words::said;

/// A step of a line.
#[derive(Debug)]
enum Node {
    /// The word of this number must stand there; then this node.
    Word(u16, usize),
    /// A value for this slot; then this node.
    Slot(usize, usize),
    /// One of these nodes.
    Split(Vec<usize>),
    /// Nothing may be left.
    End,
}

/// A place of a line that an argument is taken from.
#[derive(Debug)]
struct LineSlot {
    /// The JSON pointer of the argument.
    pointer: String,
    takes: Takes,
    /// Whether a word of the pattern, or a list, always stands before it.
    marked: bool,
    /// Whether a request may end behind it.
    ends: bool,
}

/// A line of a pattern.
#[derive(Debug)]
struct Line {
    nodes: Vec<Node>,
    start: usize,
    slots: Vec<LineSlot>,
    /// Of each of these, one word at least stands in every request of the line.
    needs: Vec<Vec<u16>>,
    lang: Lang,
    /// Its table, for the arguments that its words mean.
    table: usize,
    /// Whether its executor does more than read.
    changes: bool,
}

/// What the words of a table mean beside its slots.
#[derive(Debug)]
struct Table {
    args: Map<String, Value>,
    /// A list that they do not name, for this argument.
    list: Option<(String, Kind)>,
    /// Who is asked first what the words of a slot mean.
    lookup: Option<Lookup>,
}

/// The patterns of one executor.
#[derive(Debug, Default)]
pub struct Patterns {
    lines: Vec<Line>,
    tables: Vec<Table>,
    /// By language the lines that need a word, by its number; and the lines that need none.
    by_word: [Vec<(u16, usize)>; 2],
    free: Vec<usize>,
    /// The keys of the words of its lines and their numbers, by language, sorted.
    keys: [Vec<(u64, u16)>; 2],
    /// The spellings of these words, by language.
    spellings: [Vec<String>; 2],
}

const fn place(lang: Lang) -> usize {
    match lang {
        Lang::En => 0,
        Lang::It => 1,
    }
}

impl Patterns {
    /// Compiles the patterns of a candidate. A line that cannot be read matches nothing.
    #[must_use]
    pub fn of(candidate: &Candidate) -> Self {
        let mut patterns = Self::default();
        for table in &candidate.patterns {
            let list = table.unnamed_list().map(|(argument, kind)| (argument.to_owned(), kind));
            patterns.tables.push(Table { args: table.args.clone(), list, lookup: table.lookup.clone() });
            for parts in table.say.iter().filter_map(|line| parse(line).ok()) {
                patterns.add(&parts, table.lang, candidate);
            }
        }
        patterns
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    /// How the words of its lines are spelt.
    pub fn spellings(&self, lang: Lang) -> impl Iterator<Item = &str> {
        self.spellings[place(lang)].iter().map(String::as_str)
    }

    /// Whether a line has a file, or any place, for the argument at `pointer`.
    #[must_use]
    pub fn takes_file(&self, pointer: &str) -> bool {
        let is_file = |slot: &LineSlot| matches!(slot.takes, Takes::File(_) | Takes::FileOf(_) | Takes::Place(_));
        let takes = |slot: &LineSlot| slot.pointer == pointer && is_file(slot);
        self.lines.iter().any(|line| line.slots.iter().any(takes))
    }

    fn add(&mut self, parts: &[Part], lang: Lang, candidate: &Candidate) {
        let changes = !crate::only_reads(&candidate.class);
        // No manifest that is signed has such a line: what changes something begins with its word.
        if changes && !begins_with_word(parts) {
            return;
        }
        let mut line = Compiler { words: self, candidate, lang, nodes: vec![Node::End], slots: Vec::new() };
        let Some(start) = line.sequence(parts, 0) else { return };
        let needs = parts.iter().flat_map(|part| line.needed(part)).collect();
        let Compiler { nodes, mut slots, .. } = line;
        mark(&nodes, start, &mut slots);
        self.lines.push(Line { nodes, start, slots, needs, lang, table: self.tables.len() - 1, changes });
        self.enter();
    }

    /// The number of a word; a new one for a new word.
    fn number(&mut self, plain: &str, lang: Lang) -> u16 {
        let keys = &mut self.keys[place(lang)];
        let key = said::key(said::form(plain, lang));
        let next = u16::try_from(keys.len()).unwrap_or(u16::MAX);
        let number = match keys.binary_search_by_key(&key, |(key, _)| *key) {
            Ok(at) => keys[at].1,
            Err(at) => {
                keys.insert(at, (key, next));
                next
            }
        };
        let spellings = &mut self.spellings[place(lang)];
        if !spellings.iter().any(|known| known == plain) {
            spellings.push(plain.to_owned());
        }
        number
    }

    /// The lines of which every needed word stands among these, in their order. Most executors share no such word with a request,
    /// so that a line is not even looked at unless one does.
    fn possible(&self, numbers: &[Vec<[Option<u16>; 2]>; 2]) -> impl Iterator<Item = &Line> {
        let present = [0, 1].map(|lang| numbers[lang].iter().flatten().flatten().copied().collect::<Vec<u16>>());
        let mut lines = self.free.clone();
        for (present, begins) in present.iter().zip(&self.by_word) {
            for word in present {
                let first = begins.partition_point(|(known, _)| known < word);
                lines.extend(begins[first..].iter().take_while(|(known, _)| known == word).map(|(_, line)| *line));
            }
        }
        lines.sort_unstable();
        lines.dedup();
        let stands = move |line: &&Line| {
            let present = &present[place(line.lang)];
            line.needs.iter().all(|need| need.iter().any(|word| present.contains(word)))
        };
        lines.into_iter().filter_map(|at| self.lines.get(at)).filter(stands)
    }

    /// Enters the last line under the words of which one must stand: the fewest of them.
    fn enter(&mut self) {
        let Some((at, line)) = self.lines.iter().enumerate().next_back() else { return };
        let Some(words) = line.needs.iter().min_by_key(|need| need.len()) else { return self.free.push(at) };
        let begins = &mut self.by_word[place(line.lang)];
        for word in words {
            let place = begins.partition_point(|known| *known < (*word, at));
            begins.insert(place, (*word, at));
        }
    }

    fn find(&self, key: u64, lang: Lang) -> Option<u16> {
        let keys = &self.keys[place(lang)];
        keys.binary_search_by_key(&key, |(key, _)| *key).ok().map(|at| keys[at].1)
    }
}

struct Compiler<'a> {
    words: &'a mut Patterns,
    candidate: &'a Candidate,
    lang: Lang,
    nodes: Vec<Node>,
    slots: Vec<LineSlot>,
}

impl Compiler<'_> {
    /// Adds parts before the node `next`; where they begin. `None` when a slot has no argument.
    fn sequence(&mut self, parts: &[Part], next: usize) -> Option<usize> {
        parts.iter().rev().try_fold(next, |next, part| self.part(part, next))
    }

    fn part(&mut self, part: &Part, next: usize) -> Option<usize> {
        match part {
            Part::Word(word) => {
                Some(self.plain(word).into_iter().rev().fold(next, |next, number| self.node(Node::Word(number, next))))
            }
            Part::Slot(pointer, kind) => {
                let takes = Takes::of(pointer, *kind, self.candidate)?;
                // In two alternatives it is the same slot.
                let same = |slot: &LineSlot| slot.pointer == *pointer && slot.takes == takes;
                let at = self.slots.iter().position(same).unwrap_or(self.slots.len());
                if at == self.slots.len() {
                    self.slots.push(LineSlot { pointer: pointer.clone(), takes, marked: false, ends: false });
                }
                Some(self.node(Node::Slot(at, next)))
            }
            Part::Any(branches) => self.split(branches, next, None),
            Part::Maybe(branches) => self.split(branches, next, Some(next)),
        }
    }

    fn split(&mut self, branches: &[Vec<Part>], next: usize, without: Option<usize>) -> Option<usize> {
        let begins = branches.iter().map(|branch| self.sequence(branch, next)).collect::<Option<Vec<_>>>()?;
        Some(self.node(Node::Split(begins.into_iter().chain(without).collect())))
    }

    fn node(&mut self, node: Node) -> usize {
        self.nodes.push(node);
        self.nodes.len() - 1
    }

    /// The numbers of the words that stand here; articles are the same with and without.
    fn plain(&mut self, word: &str) -> Vec<u16> {
        let lang = self.lang;
        let words = said::of_pattern(word).into_iter().filter(|word| !said::is_bare_article(word, lang));
        words.map(|word| self.words.number(&word, lang)).collect()
    }

    /// Words of which one stands in every request with this part; several sets for several words.
    fn needed(&mut self, part: &Part) -> Vec<Vec<u16>> {
        match part {
            Part::Word(word) => self.plain(word).into_iter().map(|number| vec![number]).collect(),
            Part::Slot(..) | Part::Maybe(_) => Vec::new(),
            Part::Any(branches) => {
                let first = |branch: &Vec<Part>| {
                    branch.iter().find_map(|part| self.needed(part).into_iter().next()).unwrap_or_default()
                };
                let firsts: Vec<Vec<u16>> = branches.iter().map(first).collect();
                if firsts.iter().any(Vec::is_empty) { Vec::new() } else { vec![firsts.concat()] }
            }
        }
    }
}

/// The nodes that take something up among those that `from` leads to, and whether the end is one.
fn reached(nodes: &[Node], from: usize) -> (Vec<usize>, bool) {
    match &nodes[from] {
        Node::End => (Vec::new(), true),
        Node::Word(..) | Node::Slot(..) => (vec![from], false),
        Node::Split(begins) => begins.iter().map(|begin| reached(nodes, *begin)).fold(
            (Vec::new(), false),
            |(mut all, ends), (more, end)| {
                all.extend(more);
                (all, ends || end)
            },
        ),
    }
}

/// Says of each slot what may stand before and behind it.
fn mark(nodes: &[Node], start: usize, slots: &mut [LineSlot]) {
    let mut unmarked: Vec<usize> = Vec::new();
    let mut note = |from: usize, firm: bool| {
        let (after, _) = reached(nodes, from);
        unmarked.extend(after.into_iter().filter(|_| !firm));
    };
    note(start, false);
    for node in nodes {
        match node {
            Node::Word(_, next) => note(*next, true),
            Node::Slot(slot, next) => note(*next, slots[*slot].takes == Takes::List),
            Node::Split(_) | Node::End => {}
        }
    }
    for (at, slot) in slots.iter_mut().enumerate() {
        let mut own = nodes.iter().enumerate().filter(|(_, node)| matches!(node, Node::Slot(slot, _) if *slot == at));
        slot.marked = own.clone().all(|(node, _)| !unmarked.contains(&node));
        slot.ends = own.any(|(_, node)| matches!(node, Node::Slot(_, next) if reached(nodes, *next).1));
    }
}

#[cfg(test)]
mod tests;
