//! What a candidate executor offers, read from its public contract: its slots by type, the words
//! that call for it, and the texts it can hand on.

use std::collections::BTreeSet;

use metnos_proto::envelope::Candidate;
use metnos_proto::msg::common::Lang;

use crate::matching::contract::{Slot, TextOutput, Want, number_names, slots, text_outputs};
use crate::matching::frame::Form;
use crate::matching::paths::{add_folders, bare_path};
use crate::matching::slots::{Filled, Words, fill};
use crate::words::lexicon::{Grams, Mark};
use crate::words::lists::{self, Places};
use crate::words::token::{Kind, Token, language, tokens};

/// The most examples of one executor that are looked at.
pub const MAX_EXAMPLES: usize = metnos_proto::executor::example::MAX_EXAMPLES;
/// The most words of one executor whose letters are looked at.
pub const MAX_SPELLINGS: usize = 64;

/// Which paths the examples show.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PathKinds {
    /// Some name a file.
    pub file: bool,
    /// Some name a folder.
    pub folder: bool,
}

/// A request that the executor serves, without its values.
#[derive(Debug, Clone)]
pub struct Frame {
    /// What its words mean, grammar left out.
    pub marks: Vec<Mark>,
    /// Whether it gives more arguments than a place: a request that gives none is not of its kind.
    pub gives_more: bool,
}

/// A candidate, as the reflex sees it.
#[derive(Debug)]
pub struct Ability {
    /// The contract it was read from.
    pub candidate: Candidate,
    /// Its examples.
    pub frames: Vec<Frame>,
    /// Its examples, as forms that a request may have.
    pub forms: Vec<Form>,
    /// All the words of its examples, and the names of the numbers it returns.
    vocabulary: Vec<Mark>,
    /// The letters of its words, for finding what comes near.
    pub spellings: Vec<Grams>,
    /// The languages of its examples, as far as they give it away.
    languages: Vec<Option<Lang>>,
    /// Words of its name and summary.
    summary: Vec<Mark>,
    /// Its arguments.
    pub slots: Vec<Slot>,
    /// The texts it returns.
    pub texts: Vec<TextOutput>,
    /// The kinds of path in its examples.
    pub kinds: PathKinds,
    /// Names of folders in its examples.
    pub folders: BTreeSet<String>,
}

impl Ability {
    /// Reads a candidate.
    #[must_use]
    pub fn of(candidate: &Candidate) -> Self {
        let slots = slots(candidate);
        let reads = candidate.class == crate::READ;
        let examples: Vec<Vec<Token<'_>>> =
            candidate.requests().take(MAX_EXAMPLES).map(|text| tokens(text).unwrap_or_default()).collect();
        let takes_path = slots.iter().any(|slot| slot.want == Want::Path);
        let folders = example_folders(&examples, takes_path);
        let mut kinds = PathKinds::default();
        let mut vocabulary = number_names(&candidate.output);
        for tokens in &examples {
            note_kinds(tokens, &folders, &mut kinds);
            // What a list is called says nothing of what is done with it.
            let of_list = list_words(tokens);
            vocabulary.extend(weighty_marks(tokens, |at| of_list[at] || bare_path(tokens, at, &folders).is_some()));
        }
        vocabulary.sort_unstable();
        vocabulary.dedup();
        let words = format!("{} {}", candidate.name.replace('_', " "), candidate.summary);
        let mut ability = Self {
            frames: Vec::new(),
            forms: examples.iter().filter_map(|tokens| Form::of(tokens, &slots, &folders, reads)).collect(),
            vocabulary,
            spellings: spellings(candidate),
            languages: examples.iter().map(|tokens| language(tokens)).collect(),
            summary: tokens(&words).map(|tokens| weighty_marks(&tokens, |_| false)).unwrap_or_default(),
            slots,
            texts: text_outputs(&candidate.output),
            kinds,
            folders,
            candidate: candidate.clone(),
        };
        ability.frames =
            examples.iter().zip(candidate.requests()).map(|(tokens, text)| ability.frame(tokens, text)).collect();
        ability
    }

    /// What an example says beside its values.
    fn frame(&self, tokens: &[Token<'_>], text: &str) -> Frame {
        let lists = Places { there: &[], folder: "", italian: false };
        let lang = language(tokens).unwrap_or(Lang::En);
        let words = Words { text, tokens, known: &self.folders, lang, lists };
        let mut used = vec![false; tokens.len()];
        // What the example says of its values is in them.
        let of_list = list_words(tokens);
        let gives_more = fill(&self.slots, &words, &mut used).gives_more();
        let marks =
            weighty_marks(tokens, |at| used[at] || of_list[at] || bare_path(tokens, at, &self.folders).is_some());
        Frame { marks, gives_more }
    }

    /// Whether it takes a path.
    #[must_use]
    pub fn takes_path(&self) -> bool {
        self.slots.iter().any(|slot| slot.want == Want::Path)
    }

    /// Whether a call without a path is invalid.
    #[must_use]
    pub fn needs_path(&self) -> bool {
        self.slots.iter().any(|slot| slot.want == Want::Path && slot.required)
    }

    /// Whether these arguments say what is looked for, where a place need not be named.
    #[must_use]
    pub fn finds(&self, filled: &Filled) -> bool {
        !self.needs_path() && filled.arguments.len() > 1
    }

    /// How well the contract explains a word by itself, in [0, 1].
    #[must_use]
    pub fn explains(&self, mark: &Mark) -> f32 {
        if self.summary.contains(mark) || self.vocabulary.contains(mark) {
            return 1.0;
        }
        self.vocabulary.iter().map(|known| mark.likeness(known)).fold(0.0, f32::max)
    }

    /// Requests it serves, those in `lang` first.
    #[must_use]
    pub fn examples(&self, lang: Lang) -> Vec<&str> {
        let mut examples: Vec<(u8, &str)> = self
            .candidate
            .requests()
            .zip(&self.languages)
            .map(|(example, spoken)| match spoken {
                Some(spoken) if *spoken == lang => (0, example),
                None => (1, example),
                Some(_) => (2, example),
            })
            .collect();
        examples.sort_by_key(|(rank, _)| *rank);
        examples.into_iter().map(|(_, example)| example).collect()
    }
}

/// Which of the words of an example call a list.
fn list_words(tokens: &[Token<'_>]) -> Vec<bool> {
    let mut found = vec![false; tokens.len()];
    for at in 0..tokens.len() {
        if let Some((count, _)) = lists::called_at(tokens, at) {
            found[at..at + count].fill(true);
        }
    }
    found
}

/// The letters of the words that stand in a contract.
fn spellings(candidate: &Candidate) -> Vec<Grams> {
    let texts = candidate.requests().take(MAX_EXAMPLES).chain([candidate.summary.as_str()]);
    let words: BTreeSet<String> = texts
        .flat_map(|text| text.split(|c: char| !c.is_alphanumeric()))
        .filter(|word| word.len() > 3)
        .map(str::to_lowercase)
        .take(MAX_SPELLINGS)
        .collect();
    words.iter().map(|word| Grams::of(word)).collect()
}

fn example_folders(examples: &[Vec<Token<'_>>], takes_path: bool) -> BTreeSet<String> {
    let mut folders = BTreeSet::new();
    for tokens in examples {
        add_folders(tokens, &mut folders);
        if takes_path && !tokens.iter().any(Token::is_path) && !list_words(tokens).contains(&true) {
            folders.extend(shown_folder(tokens));
        }
    }
    folders
}

/// The bare word that an example uses as a path: its last one, right after what is done with it.
fn shown_folder(tokens: &[Token<'_>]) -> Option<String> {
    let at = tokens.iter().rposition(|token| token.mark.weight() > 0.0)?;
    let before = &tokens[..at].last()?.mark;
    let introduced = matches!(before, Mark::Concept("list" | "show" | "read" | "in" | "folder"));
    let word = &tokens[at];
    (introduced && matches!(word.mark, Mark::Stem(_))).then(|| word.text.to_lowercase())
}

fn note_kinds(tokens: &[Token<'_>], known: &BTreeSet<String>, kinds: &mut PathKinds) {
    for (at, token) in tokens.iter().enumerate() {
        let kind = if token.is_path() { Some(token.path_kind()) } else { bare_path(tokens, at, known) };
        match kind {
            Some(Kind::File) => kinds.file = true,
            Some(Kind::Folder | Kind::Path) => kinds.folder = true,
            Some(
                Kind::Word
                | Kind::Url
                | Kind::Address
                | Kind::Number
                | Kind::Date
                | Kind::Time
                | Kind::Quoted
                | Kind::Pattern,
            )
            | None => {}
        }
    }
}

/// What the words mean that carry weight and were not taken up as a value.
#[must_use]
pub fn weighty_marks(tokens: &[Token<'_>], taken: impl Fn(usize) -> bool) -> Vec<Mark> {
    let mut marks: Vec<Mark> = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        if token.kind == Kind::Word && token.mark.weight() > 0.0 && !taken(at) && !marks.contains(&token.mark) {
            marks.push(token.mark.clone());
        }
    }
    marks
}
