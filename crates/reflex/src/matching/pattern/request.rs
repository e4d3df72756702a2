//! A request as patterns are held against it: its words in their plain forms, where it begins and ends without politeness,
//! and the things that its words call.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashSet};

use metnos_proto::envelope::Named;
use metnos_proto::msg::common::Lang;

use super::{Patterns, place};
use crate::matching::names::{PlaceWant, Resolution, resolve};
use crate::matching::slots::Words;
use crate::words::grammar;
use crate::words::lexicon;
use crate::words::said::{self, Said};

/// The most places of one request that are looked up by their names.
const MAX_LOOKED_UP: usize = 256;

/// The words of all patterns, for finding those that were mistyped.
#[derive(Debug, Default)]
pub struct Vocabulary {
    known: HashSet<u64>,
    /// By first and last letter.
    words: BTreeMap<(char, char), Vec<(String, Lang)>>,
}

impl Vocabulary {
    /// Of these executors.
    #[must_use]
    pub fn of<'a>(all: impl Iterator<Item = &'a Patterns>) -> Self {
        let mut seen: BTreeSet<(String, usize)> = BTreeSet::new();
        let mut made = Self::default();
        for patterns in all {
            for lang in [Lang::En, Lang::It] {
                for word in patterns.spellings(lang) {
                    made.known.insert(said::key(said::form(word, lang)));
                    let ends = (word.chars().next(), word.chars().next_back());
                    if let (Some(first), Some(last)) = ends
                        && seen.insert((word.to_owned(), place(lang)))
                    {
                        made.words.entry((first, last)).or_default().push((word.to_owned(), lang));
                    }
                }
            }
        }
        made
    }

    /// The known word of this language that `typed` is with one typing error; none when it is a word by itself, or could be
    /// two.
    fn meant(&self, typed: &str, lang: Lang) -> Option<&str> {
        if typed.len() < 5 || said::is_other_word(typed) || lexicon::knows(typed) {
            return None;
        }
        if [Lang::En, Lang::It].iter().any(|lang| self.known.contains(&said::key(said::form(typed, *lang)))) {
            return None;
        }
        let ends = (typed.chars().next()?, typed.chars().next_back()?);
        let near = self.words.get(&ends)?.iter().filter(|(word, of)| *of == lang && said::is_slip(typed, word));
        let mut near = near.map(|(word, _)| word.as_str());
        near.next().filter(|_| near.next().is_none())
    }
}

/// A request.
pub struct Request<'a> {
    /// Its tokens, and what is known.
    pub words: &'a Words<'a>,
    pub(super) said: Vec<Said>,
    /// The keys of each word, and of the one that it may be mistyped for, by language.
    keys: [Vec<(u64, Option<u64>)>; 2],
    articles: [Vec<bool>; 2],
    /// Where it may begin, and whether a question before that asks for a deed.
    pub(super) begins: Vec<(usize, bool)>,
    /// Where it may end.
    pub(super) ends: Vec<usize>,
    /// Where a text that stands last ends, without what is only politeness.
    pub(super) text_end: usize,
    /// Whether it is a question.
    pub(super) asks: bool,
    resolved: RefCell<BTreeMap<(usize, usize, u8), Option<String>>>,
}

impl<'a> Request<'a> {
    /// Reads a request; `butler` is what Metnos is called.
    #[must_use]
    pub fn of(words: &'a Words<'a>, vocabulary: &Vocabulary, butler: &str) -> Self {
        let said = said::said(words.text, words.tokens);
        let of_lang = |lang: Lang| {
            let keys = said.iter().map(|one| {
                let own = said::key(said::form(&one.plain, lang));
                let meant = one.is_word.then(|| vocabulary.meant(&one.plain, lang)).flatten();
                (own, meant.map(|word| said::key(said::form(word, lang))))
            });
            keys.collect::<Vec<_>>()
        };
        let keys = [of_lang(Lang::En), of_lang(Lang::It)];
        let articles = [Lang::En, Lang::It]
            .map(|lang| said.iter().map(|one| one.is_word && said::is_article(&one.plain, lang)).collect());
        let at = |token: usize| said.iter().position(|one| one.token >= token).unwrap_or(said.len());
        let begins = grammar::begins(words.tokens, butler).into_iter().map(|(token, asks)| (at(token), asks)).collect();
        let (ends, text_end) = grammar::ends(words.tokens, butler);
        let (ends, text_end) = (ends.into_iter().map(at).collect(), at(text_end));
        let asks = words.text.trim_end().trim_end_matches(|c: char| !c.is_alphanumeric() && c != '?').ends_with('?');
        Self { words, said, keys, articles, begins, ends, text_end, asks, resolved: RefCell::default() }
    }

    /// How many words it has.
    pub(super) fn len(&self) -> usize {
        self.said.len()
    }

    /// The numbers that each word has in these patterns, as it stands and without a typing error.
    pub(super) fn numbers(&self, patterns: &Patterns, lang: Lang) -> Vec<[Option<u16>; 2]> {
        let of = |(own, meant): &(u64, Option<u64>)| {
            [patterns.find(*own, lang), meant.and_then(|key| patterns.find(key, lang))]
        };
        let words = self.keys[place(lang)].iter().zip(&self.said);
        words.map(|(keys, one)| if one.is_word { of(keys) } else { [None, None] }).collect()
    }

    pub(super) fn is_article(&self, at: usize, lang: Lang) -> bool {
        self.articles[place(lang)].get(at).copied().unwrap_or(false)
    }

    /// Whether a value may begin, or end, before the word at `at`: tokens are not cut in two.
    pub(super) fn is_edge(&self, at: usize) -> bool {
        self.said.get(at).is_none_or(|one| one.first)
    }

    /// The token that the word at `at` is the beginning of.
    pub(super) fn token(&self, at: usize) -> usize {
        self.said.get(at).map_or(self.words.tokens.len(), |one| one.token)
    }

    /// The word that begins the token at `token`.
    pub(super) fn at_token(&self, token: usize) -> usize {
        self.said.iter().position(|one| one.token >= token).unwrap_or(self.said.len())
    }

    /// Whether a colon stands before the word at `at`.
    pub(super) fn after_colon(&self, at: usize) -> bool {
        self.token(at).checked_sub(1).is_some_and(|before| self.words.tokens[before].colon)
    }

    /// Whether the word before `at` is "that" or "saying": the text after it is content, not a request.
    pub(super) fn introduced(&self, at: usize) -> bool {
        let before = at.checked_sub(1).and_then(|before| self.said.get(before));
        before.is_some_and(|one| matches!(one.plain.as_str(), "that" | "che" | "saying" | "says" | "scritto"))
    }

    /// Whether what begins at `at` is what somebody is to be told, and no question stands before it: behind a colon, or "saying".
    pub(super) fn quotes(&self, at: usize) -> bool {
        let before = at.checked_sub(1).and_then(|before| self.said.get(before));
        let says = before.is_some_and(|one| matches!(one.plain.as_str(), "saying" | "dicendo" | "scritto"));
        let start = self.words.tokens.get(self.token(at)).map_or(0, |token| token.start);
        let asked = self.words.text.get(..start).is_some_and(|before| before.contains('?'));
        (says || self.after_colon(at)) && !asked
    }

    /// Whether the thing that the words from `begin` to `end` name is called a `noun`: in them, just behind them, or just
    /// before them ("the table of the expenses").
    pub(super) fn is_called(&self, begin: usize, end: usize, noun: &str) -> bool {
        let is = |at: usize| self.said.get(at).is_some_and(|one| one.is_word && one.plain == noun);
        let links = |one: &&Said| {
            let article = [Lang::En, Lang::It].iter().any(|lang| said::is_article(&one.plain, *lang));
            article || matches!(one.plain.as_str(), "of" | "di" | "called")
        };
        let before = self.said[..begin].iter().rev().take_while(links).count();
        (begin..=end).any(is) || begin.checked_sub(before + 1).is_some_and(is)
    }

    /// The one thing that the words from `begin` to `end` call.
    pub(super) fn resolved(&self, begin: usize, end: usize, want: PlaceWant) -> Option<String> {
        let named: &[Named] = self.words.lists.there;
        if named.is_empty() {
            return None;
        }
        let key = (begin, end, want as u8);
        if let Some(known) = self.resolved.borrow().get(&key) {
            return known.clone();
        }
        let words: Vec<&str> =
            self.words.tokens[self.token(begin)..self.token(end)].iter().map(|token| token.text).collect();
        let found = match resolve(named, &words, want) {
            Resolution::One(path) => Some(path),
            Resolution::Several(_) | Resolution::None => None,
        };
        let mut resolved = self.resolved.borrow_mut();
        if resolved.len() < MAX_LOOKED_UP {
            resolved.insert(key, found.clone());
        }
        found
    }

    /// What was typed from one word up to the end, with the sign that asks or exclaims there; the full stop stays where there are
    /// several sentences.
    pub(super) fn to_its_end(&self, begin: usize) -> Option<&'a str> {
        let plain = self.between(begin, self.len())?;
        let start = self.words.text.rfind(plain)?;
        let whole = self.words.text.get(start..)?.trim_end();
        let signs = whole.get(plain.len()..)?;
        let several = plain.contains(". ") || plain.contains("? ") || plain.contains("! ");
        let is_kept = |sign: char| matches!(sign, '?' | '!' | '…') || sign == '.' && several;
        (!signs.is_empty() && signs.chars().all(is_kept)).then_some(whole).or(Some(plain))
    }

    /// What was typed from one word up to another, as it was typed; a quotation keeps its marks.
    pub(super) fn between(&self, begin: usize, end: usize) -> Option<&'a str> {
        let (text, tokens) = (self.words.text, self.words.tokens);
        let (first, last) = (tokens.get(self.token(begin))?, tokens.get(self.token(end).checked_sub(1)?)?);
        let (mut from, mut upto) = (first.start, last.start + last.text.len());
        if first.kind == crate::words::token::Kind::Quoted {
            from -= text.get(..from)?.chars().next_back()?.len_utf8();
        }
        if last.kind == crate::words::token::Kind::Quoted {
            upto += text.get(upto..)?.chars().next()?.len_utf8();
        }
        text.get(from..upto).map(str::trim).filter(|text| !text.is_empty())
    }
}
