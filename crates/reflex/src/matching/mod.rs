//! Says whether an executor is what a request asks for, and how surely. Every word that carries
//! weight must be explained, and every value taken up: what is left over means that something else
//! was asked.

pub mod ability;
pub mod contract;
pub mod frame;
pub mod names;
pub mod paths;
pub mod pattern;
pub mod slots;
pub mod spoken;

use std::rc::Rc;

use metnos_proto::envelope::Known;
use metnos_proto::msg::common::Lang;
use metnos_proto::msg::policyd::Literal;

use crate::matching::ability::{Ability, weighty_marks};
use crate::matching::contract::Want;
use crate::matching::pattern::{Chain, Found, LookedUp, Request};
use crate::matching::slots::{Filled, Words, fill};
use crate::words::lexicon::{self, Mark};
use crate::words::token::{Kind, Token};

/// The least likeness to an example with which a request is understood.
pub const THRESHOLD: f32 = 0.6;
/// How much better than the second the first must be.
pub const MARGIN: f32 = 0.05;
/// From this likeness on, a word is explained.
const EXPLAINED: f32 = 0.7;
/// What a path of another kind than in the examples takes from the likeness.
const OTHER_KIND: f32 = 0.8;

/// An executor that can serve the request, with its arguments.
#[derive(Clone)]
pub struct Match {
    /// The executor: its place among the abilities.
    pub ability: usize,
    /// Its arguments.
    pub filled: Filled,
    /// The executor whose text becomes an argument.
    pub producer: Option<Producer>,
    /// The words of the request that carry weight.
    pub asked: Vec<Mark>,
    /// How sure it is, in [0, 1].
    pub score: f32,
    /// The language of the pattern, where one was matched.
    pub lang: Option<Lang>,
    /// The tokens of a text at the end of the request that nothing but a word marks.
    pub open_text: Option<(usize, usize)>,
}

/// What the patterns say of a request.
pub enum Covered {
    /// This is asked for.
    One(Box<Match>),
    /// Different calls are meant as much as each other: of these executors.
    Several(Vec<usize>),
    /// No pattern covers it.
    None,
}

/// The call that the patterns make of a request: the one with the most words of a pattern, then with the fewest words in
/// texts.
#[must_use]
pub fn covered(abilities: &[Rc<Ability>], mnests: &[Known], request: &Request<'_>) -> Covered {
    let mut best: Vec<(usize, Found)> = Vec::new();
    for (at, ability) in abilities.iter().enumerate() {
        for mut found in pattern::best(&ability.patterns, request) {
            if lacks(ability, &found) {
                continue;
            }
            let at = suited(abilities, at, &mut found.filled);
            let order = best.first().map_or(std::cmp::Ordering::Greater, |(_, first)| {
                (found.literals, first.loose).cmp(&(first.literals, found.loose))
            });
            match order {
                std::cmp::Ordering::Greater => best = vec![(at, found)],
                std::cmp::Ordering::Equal => best.push((at, found)),
                std::cmp::Ordering::Less => {}
            }
        }
    }
    let Some((at, found)) = best.first().cloned() else { return Covered::None };
    let same = |(other, more): &(usize, Found)| {
        *other == at
            && more.filled.arguments == found.filled.arguments
            && more.chain == found.chain
            && more.lookup == found.lookup
    };
    if !best.iter().all(same) || best.iter().any(|(_, found)| found.tied) {
        return Covered::Several(best.into_iter().map(|(at, _)| at).collect());
    }
    let first = match (&found.chain, &found.lookup) {
        (None, None) => Some(None),
        (Some(chain), _) => reader(abilities, mnests, at, chain).map(Some),
        (None, Some(lookup)) => finder(abilities, lookup).map(Some),
    };
    let Some(producer) = first else { return Covered::None };
    let asked = weighty_marks(request.words.tokens, |_| false);
    let Found { filled, lang, open_text, .. } = found;
    Covered::One(Box::new(Match { ability: at, filled, producer, asked, score: 1.0, lang: Some(lang), open_text }))
}

/// The executor that reads this kind of file, in the place of one that reads any text: "read the bill" is the same wish, whether
/// the bill is a note or a PDF. Its arguments become those of the other.
fn suited(abilities: &[Rc<Ability>], at: usize, filled: &mut Filled) -> usize {
    let is_reader = |ability: &Ability| ability.candidate.class == crate::READ && !ability.texts.is_empty();
    let path_of = |ability: &Rc<Ability>| {
        let mut required = ability.slots.iter().filter(|slot| slot.required);
        let place = required.next().filter(|slot| slot.want == Want::Path && is_reader(ability))?;
        required.next().is_none().then(|| (place.name.clone(), place.of_kind.clone()))
    };
    let Some(kind) = filled.path.as_ref().and_then(|(path, _)| contract::kind_of_file(path)) else { return at };
    let (Some((name, None)), 1) = (abilities.get(at).and_then(path_of), filled.arguments.len()) else { return at };
    let mut others = abilities.iter().enumerate().filter_map(|(other, ability)| Some((other, path_of(ability)?)));
    let fits = |(_, (_, of_kind)): &(usize, (String, Option<String>))| of_kind.as_deref() == Some(kind);
    let Some((other, (argument, _))) = others.find(fits) else { return at };
    if let Some(path) = filled.arguments.remove(&name) {
        filled.arguments.insert(argument.clone(), path);
    }
    for literal in &mut filled.literals {
        if literal.pointer == contract::pointer(&name) {
            literal.pointer = contract::pointer(&argument);
        }
    }
    other
}

/// Whether a required argument is missing that nobody but the words gives.
fn lacks(ability: &Ability, found: &Found) -> bool {
    let given = |name: &str| {
        found.filled.arguments.contains_key(name)
            || found.chain.as_ref().is_some_and(|chain| chain.argument == name)
            || found.lookup.as_ref().is_some_and(|lookup| lookup.gives.iter().any(|(argument, _)| argument == name))
            || matches!(name, "zone" | "offset")
    };
    ability.slots.iter().any(|slot| slot.required && !given(&slot.name))
}

/// The executor that reads the file of a chain: the only one that takes a file and gives such a text, or the one that a mnest
/// prefers.
fn reader(abilities: &[Rc<Ability>], mnests: &[Known], consumer: usize, chain: &Chain) -> Option<Producer> {
    let name = |at: usize| abilities.get(at).map_or("", |ability| ability.candidate.name.as_str());
    let mut found: Vec<(f64, usize, &str, &str)> = Vec::new();
    for (at, ability) in abilities.iter().enumerate() {
        let Some(output) = ability.texts.iter().find(|text| contract::serves(&text.media, &chain.media)) else {
            continue;
        };
        let mut required = ability.slots.iter().filter(|slot| slot.required);
        let (Some(place), None) = (required.next(), required.next()) else { continue };
        let reads = at != consumer && ability.candidate.class == crate::READ && place.want == Want::Path;
        let of_kind = place.of_kind.as_deref() == contract::kind_of_file(&chain.path);
        if !reads || !of_kind || !ability.takes_file(&place.pointer()) {
            continue;
        }
        let known = mnests.iter().filter(|mnest| mnest.from == name(at) && mnest.to == name(consumer));
        found.push((known.map(|mnest| mnest.weight).fold(0.0, f64::max), at, &place.name, &output.pointer));
    }
    found.sort_by(|a, b| b.0.total_cmp(&a.0));
    let (weight, ability, place, pointer) = *found.first()?;
    if found.get(1).is_some_and(|(second, ..)| *second >= weight) {
        return None;
    }
    let mut filled = Filled { path: Some((chain.path.clone(), Kind::File)), ..Filled::default() };
    filled.arguments.insert(place.to_owned(), chain.path.as_str().into());
    if chain.typed {
        let json = serde_json::Value::from(chain.path.as_str()).to_string();
        filled.literals.push(Literal { pointer: contract::pointer(place), json });
    }
    Some(Producer { ability, filled, gives: vec![(chain.argument.clone(), pointer.to_owned())] })
}

/// The executor that a pattern has asked first, if it is there and only reads.
fn finder(abilities: &[Rc<Ability>], lookup: &LookedUp) -> Option<Producer> {
    let is_it = |ability: &Rc<Ability>| ability.candidate.name == lookup.by && ability.candidate.class == crate::READ;
    let ability = abilities.iter().position(is_it)?;
    Some(Producer { ability, filled: lookup.filled.clone(), gives: lookup.gives.clone() })
}

/// The first link of a chain.
#[derive(Clone)]
pub struct Producer {
    /// The executor: its place among the abilities.
    pub ability: usize,
    /// Its arguments.
    pub filled: Filled,
    /// The arguments of the consumer that its result gives, each with the pointer of its value there.
    pub gives: Vec<(String, String)>,
}

/// All executors that can serve the request, best first.
#[must_use]
pub fn matches(abilities: &[Rc<Ability>], mnests: &[Known], words: &Words<'_>) -> Vec<Match> {
    let mut found: Vec<Match> = (0..abilities.len()).filter_map(|at| evaluate(abilities, mnests, words, at)).collect();
    found.sort_by(|a, b| b.score.total_cmp(&a.score));
    found
}

/// The abilities of which an example has the very form of the request, each once; those whose example says most.
#[must_use]
pub fn same_form(abilities: &[Rc<Ability>], words: &Words<'_>) -> Vec<(usize, Filled)> {
    let Some(request) = frame::Request::of(words) else { return Vec::new() };
    let best = |(at, one): (usize, &Rc<Ability>)| Some((at, frame::best(&one.forms, &one.slots, &request)?));
    let found: Vec<(usize, (usize, Filled))> = abilities.iter().enumerate().filter_map(best).collect();
    let most = found.iter().map(|(_, (words, _))| *words).max().unwrap_or(0);
    found.into_iter().filter(|(_, (words, _))| *words == most).map(|(at, (_, filled))| (at, filled)).collect()
}

fn evaluate(abilities: &[Rc<Ability>], mnests: &[Known], words: &Words<'_>, at: usize) -> Option<Match> {
    let ability = abilities.get(at)?;
    // Cheap first: an executor with which no word is shared needs no further look.
    if !words.tokens.iter().any(|token| ability.explains(&token.mark) > 0.0) {
        return None;
    }
    let mut used = vec![false; words.tokens.len()];
    let filled = fill(&ability.slots, words, &mut used);
    let producer = match filled.missing.as_slice() {
        [] => None,
        [missing] => Some(producer(abilities, mnests, words, at, *missing, &mut used)?),
        _ => return None,
    };
    if words.tokens.iter().zip(&used).any(|(token, used)| token.is_value() && !used) {
        return None;
    }
    let marks = weighty_marks(words.tokens, |at| used.get(at).copied().unwrap_or(false));
    let helper = producer.as_ref().and_then(|producer| abilities.get(producer.ability)).map(Rc::as_ref);
    if !marks.iter().all(|mark| is_explained(mark, &marks, ability, helper)) {
        return None;
    }
    let leaves_open = filled.path.is_none() && (ability.needs_path() || filled.literals.is_empty());
    if ability.takes_path() && leaves_open && !means_all(words.tokens, &marks) && !ability.finds(&filled) {
        return None;
    }
    let (likeness, acts) = likeness(ability, &marks, filled.gives_more())?;
    let reader = helper.unwrap_or(ability);
    let path = producer.as_ref().map_or(&filled.path, |producer| &producer.filled.path);
    let kind = kind_factor(reader, path.as_ref().map(|(_, kind)| *kind), acts)?;
    let score = likeness * kind;
    let found = Match { ability: at, filled, producer, asked: marks, score, lang: None, open_text: None };
    (score >= THRESHOLD).then_some(found)
}

fn is_explained(mark: &Mark, all: &[Mark], ability: &Ability, helper: Option<&Ability>) -> bool {
    let takes_path = ability.takes_path() || helper.is_some_and(Ability::takes_path);
    if *mark == Mark::Concept("have") {
        return all.iter().any(|mark| matches!(mark, Mark::Concept("count" | "what")));
    }
    takes_path && (mark.is_path_noun() || *mark == Mark::Concept("in"))
        || ability.explains(mark) >= EXPLAINED
        || helper.is_some_and(|helper| helper.explains(mark) >= EXPLAINED)
}

/// Whether a request that names no path is about the whole workspace, rather than about something
/// that the words leave open: "list the files", but not "show it" or "open the folder".
fn means_all(tokens: &[Token<'_>], marks: &[Mark]) -> bool {
    let says = |concept: &'static str| marks.contains(&Mark::Concept(concept));
    let files = || tokens.iter().any(|token| lexicon::is_plural_of_file(token.text));
    if says("root") {
        return true;
    }
    if tokens.iter().any(|token| lexicon::points_at_something(token.text)) {
        return false;
    }
    says("list") && !says("folder") || says("file") && (says("what") || files())
}

/// How like the nearest example the request is (the cosine of their weighted words), and whether a
/// word of action or matter is shared, not only the form of a question. `None` without an anchor.
fn likeness(ability: &Ability, marks: &[Mark], gives_more: bool) -> Option<(f32, bool)> {
    let mut best: Option<(f32, bool)> = None;
    for frame in ability.frames.iter().filter(|frame| gives_more || !frame.gives_more) {
        let (mut dot, mut acts, mut asks_what, mut asks_in) = (0.0, false, false, false);
        for mark in marks {
            let Some((likeness, weight)) = frame
                .marks
                .iter()
                .map(|known| (mark.likeness(known), known.weight()))
                .max_by(|a, b| a.0.total_cmp(&b.0))
                .filter(|(likeness, _)| *likeness > 0.0)
            else {
                continue;
            };
            dot += likeness * mark.weight() * weight;
            acts |= mark.weight() >= 0.9 && weight >= 0.9;
            asks_what |= *mark == Mark::Concept("what");
            asks_in |= *mark == Mark::Concept("in");
        }
        let length = length(marks) * length(&frame.marks);
        if length > 0.0 && (acts || asks_what && asks_in) {
            let cosine = dot / length;
            if best.is_none_or(|(known, _)| cosine > known) {
                best = Some((cosine, acts));
            }
        }
    }
    best
}

fn length(marks: &[Mark]) -> f32 {
    marks.iter().map(|mark| mark.weight().powi(2)).sum::<f32>().sqrt()
}

/// How well the kind of the path fits the kinds in the examples; `None` when it cannot be meant.
fn kind_factor(ability: &Ability, kind: Option<Kind>, acts: bool) -> Option<f32> {
    let kinds = ability.kinds;
    let Some(kind) = kind.filter(|_| kinds.file || kinds.folder) else { return Some(1.0) };
    match kind {
        Kind::Folder => kinds.folder.then_some(1.0),
        Kind::File if kinds.file => Some(1.0),
        Kind::File => acts.then_some(OTHER_KIND),
        Kind::Word
        | Kind::Path
        | Kind::Url
        | Kind::Address
        | Kind::Number
        | Kind::Date
        | Kind::Time
        | Kind::Quoted
        | Kind::Pattern => Some(1.0),
    }
}

/// The executor whose text can become the missing argument, filled from the words that are left.
/// A mnest between the two decides; without one, it must be the only one.
fn producer(
    abilities: &[Rc<Ability>],
    mnests: &[Known],
    words: &Words<'_>,
    consumer: usize,
    missing: usize,
    used: &mut [bool],
) -> Option<Producer> {
    let slot = abilities.get(consumer)?.slots.get(missing)?;
    let Want::Text(Some(media)) = &slot.want else { return None };
    let name = |at: usize| abilities.get(at).map_or("", |ability| ability.candidate.name.as_str());
    let mut found: Vec<(f64, Producer, Vec<bool>)> = Vec::new();
    for (at, ability) in abilities.iter().enumerate() {
        let Some(output) = ability.texts.iter().find(|text| contract::serves(&text.media, media)) else { continue };
        if at == consumer || ability.candidate.class != super::READ {
            continue;
        }
        let mut after = used.to_vec();
        let filled = fill(&ability.slots, words, &mut after);
        // It must take a value up, and at its kind: else it has nothing to do with the words.
        let took_value = words.tokens.iter().enumerate().any(|(at, _)| after[at] && !used[at]);
        if !filled.missing.is_empty() || !took_value || filled.quoted {
            continue;
        }
        if kind_factor(ability, filled.path.as_ref().map(|(_, kind)| *kind), false).is_none() {
            continue;
        }
        if filled.path.as_ref().is_some_and(|(path, _)| !contract::may_hold(path, media, |_| false)) {
            continue;
        }
        let known = mnests.iter().filter(|mnest| mnest.from == name(at) && mnest.to == name(consumer));
        let weight = known.map(|mnest| mnest.weight).fold(0.0, f64::max);
        let pointer = output.pointer.clone();
        found.push((weight, Producer { ability: at, filled, gives: vec![(slot.name.clone(), pointer)] }, after));
    }
    found.sort_by(|a, b| b.0.total_cmp(&a.0));
    let mut found = found.into_iter();
    let (weight, producer, after) = found.next()?;
    if found.next().is_some_and(|(second, ..)| second >= weight) {
        return None;
    }
    used.copy_from_slice(&after);
    Some(producer)
}
