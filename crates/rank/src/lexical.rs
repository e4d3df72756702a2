//! How well words fit contracts. Each word that says something is looked for in the fields of each contract: as the same stem, as the
//! English for an Italian word, as a word that is spelt alike, as one of the same field of life; it counts the more, the fewer contracts have it. On top come
//! how much of the contract's name was meant, how near its nearest example is, and the letters shared in runs of three, so that what
//! no word finds still counts.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::words::{Language, stemmed, words};
use super::{bridge, lexicon, topics};

/// What a word is worth in each field (found on `bench/data/route-tuned.jsonl`).
const NAME: f64 = 1.0;
const SUMMARY: f64 = 0.8;
const EXAMPLE: f64 = 0.8;
const ARGUMENT: f64 = 0.35;
/// How soon more of a word stops counting.
const SATURATION: f64 = 0.6;
/// What a word that is English for the one that was asked counts beside the word itself.
const TRANSLATED: f64 = 0.8;
/// What a synonym counts.
const RELATED: f64 = 0.4;
/// What a word of the same field counts.
const FIELD: f64 = 0.3;
/// What a field is worth in a contract.
const FIELD_WORTH: f64 = 1.0;
/// What a word that is spelt alike counts at most, and from which likeness on.
const ALIKE: f64 = 0.4;
const LEAST_ALIKE: f64 = 0.62;
/// What a word that says little counts.
const LIGHT: f64 = 0.4;
/// What a word counts with which requests of every kind are made.
const FRAME: f64 = 0.5;
/// What the parts of a score are worth: the words that were asked, the name, the nearest example, the letters.
const ASKED: f64 = 1.0;
const MEANT: f64 = 0.15;
const NEAREST: f64 = 0.9;
const LETTERS: f64 = 0.5;

/// The most words of a request that are looked up.
pub const MAX_ASKED: usize = 64;
/// The most words of one contract that are read.
pub const MAX_READ: usize = 2_000;
/// Words that are shorter are never taken for others.
const MIN_ALIKE: usize = 4;

/// A contract as ranking reads it.
#[derive(Debug, Clone, Copy)]
pub struct Fields<'a> {
    /// Its name.
    pub name: &'a str,
    /// What it does.
    pub summary: &'a str,
    /// Requests it serves.
    pub examples: &'a [&'a str],
    /// Names, descriptions and choices of its arguments.
    pub arguments: &'a str,
}

/// Runs of three letters, each word with a space at both ends, and how much each counts.
type Letters = HashMap<[char; 3], f64>;

#[derive(Debug)]
struct Entry {
    /// Terms by number: what each is worth.
    terms: HashMap<usize, f64>,
    /// The terms of each word of the name.
    name: Vec<Vec<usize>>,
    /// The terms of each word of each example.
    examples: Vec<Vec<Vec<usize>>>,
    /// Normalised to length 1.
    letters: Letters,
}

/// Contracts, read once, to be held against many requests.
#[derive(Debug, Default)]
pub struct Catalogue {
    entries: Vec<Entry>,
    numbers: HashMap<String, usize>,
    /// By number.
    terms: Vec<String>,
    /// In how many contracts each term stands.
    with: Vec<usize>,
    /// Terms by their first three letters.
    heads: HashMap<[char; 3], Vec<usize>>,
    /// How much each run of three letters weighs.
    rarity: HashMap<[char; 3], f64>,
}

/// The words that say something; all of them when none does.
fn telling(heard: &[String]) -> Vec<&String> {
    let meant: Vec<&String> = heard.iter().filter(|word| !lexicon::is_stop(word)).collect();
    if meant.is_empty() { heard.iter().collect() } else { meant }
}

/// The stems of a word, each once; in both languages when the language is unknown.
fn stems(word: &str, language: Option<Language>) -> Vec<String> {
    if let Some(language) = language {
        return vec![stemmed(word, language)];
    }
    let (english, italian) = (stemmed(word, Language::English), stemmed(word, Language::Italian));
    if english == italian { vec![english] } else { vec![english, italian] }
}

/// The language of a text, as far as its small words give it away: a name or a few nouns may be in either.
fn language(heard: &[String]) -> Option<Language> {
    let count = |is: fn(&str) -> bool| heard.iter().filter(|word| is(word)).count();
    match count(lexicon::only_english).cmp(&count(lexicon::only_italian)) {
        std::cmp::Ordering::Greater => Some(Language::English),
        std::cmp::Ordering::Less => Some(Language::Italian),
        std::cmp::Ordering::Equal => None,
    }
}

/// `getStockInfo` as `get Stock Info`.
#[must_use]
pub fn spaced(name: &str) -> String {
    let mut spaced = String::new();
    let mut small = false;
    for c in name.chars() {
        if small && c.is_uppercase() {
            spaced.push(' ');
        }
        small = c.is_lowercase() || c.is_numeric();
        spaced.push(c);
    }
    spaced
}

/// The term of a field: no word is written like it.
fn term_of(field: &str) -> String {
    format!("#{field}")
}

fn head(term: &str) -> Option<[char; 3]> {
    let mut letters = term.chars();
    Some([letters.next()?, letters.next()?, letters.next()?])
}

/// How alike two words are spelt, in [0, 1]: by how far they begin alike.
#[allow(clippy::cast_precision_loss, reason = "numbers of letters")]
fn alike(one: &str, other: &str) -> f64 {
    let shared = one.chars().zip(other.chars()).take_while(|(a, b)| a == b).count();
    2.0 * shared as f64 / (one.chars().count() + other.chars().count()).max(1) as f64
}

#[allow(clippy::cast_precision_loss, reason = "numbers of contracts")]
fn rarity(all: usize, with: usize) -> f64 {
    (1.0 + (all as f64 - with as f64 + 0.5) / (with as f64 + 0.5)).ln()
}

fn letters<'a>(heard: impl Iterator<Item = &'a String>) -> Letters {
    let mut found = Letters::new();
    for word in heard {
        let padded: Vec<char> = [' '].into_iter().chain(word.chars()).chain([' ']).collect();
        for three in padded.windows(3) {
            *found.entry([three[0], three[1], three[2]]).or_default() += 1.0;
        }
    }
    found
}

fn normalise(letters: &mut Letters) {
    let length = letters.values().map(|weight| weight * weight).sum::<f64>().sqrt();
    if length > 0.0 {
        letters.values_mut().for_each(|weight| *weight /= length);
    }
}

impl Catalogue {
    /// Reads contracts.
    #[must_use]
    pub fn of(contracts: &[Fields<'_>]) -> Self {
        let mut catalogue = Self::default();
        let mut runs: HashMap<[char; 3], usize> = HashMap::new();
        for contract in contracts {
            let entry = catalogue.read(contract);
            for term in entry.terms.keys() {
                catalogue.with[*term] += 1;
            }
            for run in entry.letters.keys() {
                *runs.entry(*run).or_default() += 1;
            }
            catalogue.entries.push(entry);
        }
        let all = contracts.len();
        catalogue.rarity = runs.into_iter().map(|(run, with)| (run, rarity(all, with))).collect();
        for entry in &mut catalogue.entries {
            for (run, weight) in &mut entry.letters {
                *weight = (1.0 + weight.ln()) * catalogue.rarity.get(run).copied().unwrap_or(0.0);
            }
            normalise(&mut entry.letters);
        }
        catalogue
    }

    /// How many contracts there are.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there is none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    fn number(&mut self, term: String) -> usize {
        if let Some(number) = self.numbers.get(&term) {
            return *number;
        }
        let number = self.terms.len();
        if let Some(head) = head(&term) {
            self.heads.entry(head).or_default().push(number);
        }
        self.terms.push(term.clone());
        self.with.push(0);
        self.numbers.insert(term, number);
        number
    }

    /// The terms of the fields that words are about, each once.
    fn fields(&mut self, heard: &[String]) -> Vec<usize> {
        let stems = telling(heard).into_iter().flat_map(|word| stems(word, None));
        let fields: BTreeSet<&str> = stems.flat_map(|stem| topics::fields(&stem)).copied().collect();
        fields.into_iter().map(|field| self.number(term_of(field))).collect()
    }

    /// The terms of each word that says something.
    fn numbers(&mut self, heard: &[String]) -> Vec<Vec<usize>> {
        let language = language(heard);
        let words: Vec<Vec<String>> = telling(heard).into_iter().map(|word| stems(word, language)).collect();
        words.into_iter().map(|stems| stems.into_iter().map(|stem| self.number(stem)).collect()).collect()
    }

    fn read(&mut self, contract: &Fields<'_>) -> Entry {
        let of = |text: &str| {
            let mut heard = words(text);
            heard.truncate(MAX_READ);
            heard
        };
        let (name, summary, arguments) =
            (of(&spaced(contract.name)), of(contract.summary), of(&spaced(contract.arguments)));
        let examples: Vec<Vec<String>> = contract.examples.iter().take(64).map(|example| of(example)).collect();
        let mut terms: HashMap<usize, f64> = HashMap::new();
        let mut add = |numbers: &[Vec<usize>], worth: f64| {
            for number in numbers.iter().flatten().copied().collect::<BTreeSet<_>>() {
                *terms.entry(number).or_default() += worth;
            }
        };
        let name_numbers = self.numbers(&name);
        add(&name_numbers, NAME);
        add(&self.numbers(&summary), SUMMARY);
        add(&self.numbers(&arguments), ARGUMENT);
        let said: Vec<String> = name.iter().chain(&summary).chain(examples.iter().flatten()).cloned().collect();
        add(&[self.fields(&said)], FIELD_WORTH);
        let examples_numbers: Vec<Vec<Vec<usize>>> = examples.iter().map(|example| self.numbers(example)).collect();
        let all: Vec<Vec<usize>> = examples_numbers.iter().flatten().cloned().collect();
        add(&all, EXAMPLE);
        let heard = name.iter().chain(&summary).chain(examples.iter().flatten());
        Entry { terms, name: name_numbers, examples: examples_numbers, letters: letters(heard) }
    }

    /// The terms that a word may mean, and how surely.
    fn meant(&self, word: &str) -> BTreeMap<usize, f64> {
        let mut found: BTreeMap<usize, f64> = BTreeMap::new();
        let mut note = |number: usize, how: f64| {
            let known = found.entry(number).or_default();
            *known = known.max(how);
        };
        let own = stems(word, None);
        for stem in &own {
            if let Some(number) = self.numbers.get(stem) {
                note(*number, 1.0);
            }
            let likes = head(stem).and_then(|head| self.heads.get(&head)).into_iter().flatten();
            for number in likes {
                let other = &self.terms[*number];
                if stem.len() >= MIN_ALIKE && other.len() >= MIN_ALIKE {
                    let how = alike(stem, other);
                    if how >= LEAST_ALIKE {
                        note(*number, ALIKE * how);
                    }
                }
            }
        }
        for english in bridge::english_of(&stemmed(word, Language::Italian)) {
            if let Some(number) = self.numbers.get(english) {
                note(*number, TRANSLATED);
            }
        }
        for field in own.iter().flat_map(|stem| topics::fields(stem)) {
            if let Some(number) = self.numbers.get(&term_of(field)) {
                note(*number, FIELD);
            }
        }
        for related in lexicon::related(word) {
            if let Some(number) = self.numbers.get(&stemmed(related, Language::English)) {
                note(*number, RELATED);
            }
        }
        found
    }

    /// How well each contract fits the words, at least 0; the best of a request that fits well is above 1.
    #[must_use]
    pub fn scores(&self, asked: &str) -> Vec<f64> {
        let mut heard = words(asked);
        heard.truncate(MAX_ASKED);
        let asked: Vec<QueryTerm> = telling(&heard).into_iter().map(|word| self.asked(word)).collect();
        let mut runs = letters(telling(&heard).into_iter().filter(|word| !lexicon::is_frame(word)));
        for (run, weight) in &mut runs {
            *weight = (1.0 + weight.ln()) * self.rarity.get(run).copied().unwrap_or_else(|| rarity(self.len(), 0));
        }
        normalise(&mut runs);
        let all: f64 = asked.iter().map(|word| word.weight).sum::<f64>().max(f64::MIN_POSITIVE);
        self.entries.iter().map(|entry| self.score(entry, &asked, all, &runs)).collect()
    }

    fn asked(&self, word: &str) -> QueryTerm {
        let meant = self.meant(word);
        let best = meant.values().copied().fold(0.0, f64::max);
        let sure: Vec<usize> = meant.iter().filter(|(_, how)| **how >= 0.6 * best).map(|(number, _)| *number).collect();
        let with =
            self.entries.iter().filter(|entry| sure.iter().any(|number| entry.terms.contains_key(number))).count();
        let light = if lexicon::is_frame(word) {
            FRAME
        } else if lexicon::is_light(word) {
            LIGHT
        } else {
            1.0
        };
        QueryTerm { meant, weight: light * rarity(self.len(), with) }
    }

    fn score(&self, entry: &Entry, asked: &[QueryTerm], all: f64, runs: &Letters) -> f64 {
        let mut found = 0.0;
        for word in asked {
            let worth = word.meant.iter().filter_map(|(number, how)| Some(how * entry.terms.get(number)?));
            let best = worth.fold(0.0, f64::max);
            found += word.weight * best / (SATURATION + best);
        }
        let nearest = entry.examples.iter().map(|example| self.covered(example, asked, Some(all))).fold(0.0, f64::max);
        let shared: f64 = runs.iter().filter_map(|(run, weight)| Some(weight * entry.letters.get(run)?)).sum();
        ASKED * (1.0 + SATURATION) * found / all
            + MEANT * self.covered(&entry.name, asked, None)
            + NEAREST * nearest
            + LETTERS * shared
    }

    /// How much of some words of a contract was asked for; with `all`, relative to what was asked as well.
    fn covered(&self, words: &[Vec<usize>], asked: &[QueryTerm], all: Option<f64>) -> f64 {
        let (mut mass, mut shared) = (0.0, 0.0);
        for terms in words {
            let with = terms.iter().map(|number| self.with[*number]).max().unwrap_or(0);
            let weight = rarity(self.len(), with);
            let how = asked.iter().flat_map(|word| terms.iter().filter_map(|number| word.meant.get(number))).copied();
            mass += weight;
            shared += weight * how.fold(0.0, f64::max);
        }
        let whole = all.map_or(mass, |all| (mass * all).sqrt());
        if whole > 0.0 { shared / whole } else { 0.0 }
    }
}

/// A word that was asked, as a catalogue reads it.
struct QueryTerm {
    /// The terms it may mean, and how surely.
    meant: BTreeMap<usize, f64>,
    /// How much it weighs.
    weight: f64,
}
