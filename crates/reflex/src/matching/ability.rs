//! What a candidate executor offers, read from its public contract: its slots by type, the words
//! that call for it, and the texts it can hand on.

use std::collections::BTreeSet;

use metnos_proto::envelope::Candidate;
use metnos_proto::msg::common::Lang;

use crate::impossible;
use crate::matching::contract::{Slot, TextOutput, Want, number_names, slots, text_outputs};
use crate::matching::frame::Form;
use crate::matching::paths::{add_folders, bare_path};
use crate::matching::pattern::Patterns;
use crate::matching::slots::{Filled, Words, fill};
use crate::words::lexicon::Mark;
use crate::words::lists::{self, Places};
use crate::words::phrase::Phrase;
use crate::words::token::{Kind, Token, language, tokens};

/// The most examples of one executor that are looked at.
pub const MAX_EXAMPLES: usize = metnos_proto::executor::example::MAX_EXAMPLES;

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
    /// Its patterns.
    pub patterns: Patterns,
    /// What the words of each example mean, for finding those that come near.
    pub meanings: Vec<Vec<Mark>>,
    /// Its examples.
    pub frames: Vec<Frame>,
    /// Its examples, as forms that a request may have.
    pub forms: Vec<Form>,
    /// All the words of its examples, and the names of the numbers it returns.
    vocabulary: Vec<Mark>,
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
    /// The kinds of things of which an example asks for one, among those that nobody usually does here.
    pub asks_for: Vec<impossible::Kind>,
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
        // What promises its arguments leaves nothing to guess.
        let guesses = takes_path && candidate.patterns.is_empty();
        let folders = example_folders(&examples, guesses);
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
        let patterns = Patterns::of(candidate);
        // Whatever has patterns is matched by them alone.
        let of_form =
            |tokens: &Vec<Token<'_>>| Form::of(tokens, &slots, &folders, reads).filter(|_| patterns.is_empty());
        let forms = examples.iter().filter_map(of_form).collect();
        let kind = |say: &str| Phrase::of(say, Lang::En).and_then(|example| impossible::kind_of(&example.plain()));
        let asks_for = candidate.examples.iter().filter_map(|example| kind(example.say())).collect();
        let mut ability = Self {
            asks_for,
            patterns,
            meanings: examples.iter().map(|tokens| meanings(tokens)).collect(),
            frames: Vec::new(),
            forms,
            vocabulary,
            languages: examples.iter().map(|tokens| language(tokens)).collect(),
            summary: tokens(&words).map(|tokens| weighty_marks(&tokens, |_| false)).unwrap_or_default(),
            slots,
            texts: text_outputs(&candidate.output),
            kinds,
            folders,
            candidate: candidate.clone(),
        };
        if !ability.patterns.is_empty() {
            return ability;
        }
        ability.frames =
            examples.iter().zip(candidate.requests()).map(|(tokens, text)| ability.frame(tokens, text)).collect();
        ability
    }

    /// What an example says beside its values.
    fn frame(&self, tokens: &[Token<'_>], text: &str) -> Frame {
        let lists = Places { there: &[], folder: "", private: "", italian: false };
        let lang = language(tokens).unwrap_or(Lang::En);
        let words = Words { text, tokens, known: &self.folders, lang, lists, now: (0, "") };
        let mut used = vec![false; tokens.len()];
        // What the example says of its values is in them.
        let of_list = list_words(tokens);
        let gives_more = fill(&self.slots, &words, &mut used).gives_more();
        let marks =
            weighty_marks(tokens, |at| used[at] || of_list[at] || bare_path(tokens, at, &self.folders).is_some());
        Frame { marks, gives_more }
    }

    /// Whether it takes a file as the argument at `pointer`.
    #[must_use]
    pub fn takes_file(&self, pointer: &str) -> bool {
        if self.patterns.is_empty() { self.kinds.file } else { self.patterns.takes_file(pointer) }
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

    /// Requests it serves, those in `lang` first, each with what its words mean; those in another language only where there is
    /// none in this one.
    #[must_use]
    pub fn examples(&self, lang: Lang) -> Vec<(&str, &[Mark])> {
        let mut examples: Vec<(u8, (&str, &[Mark]))> = self
            .candidate
            .requests()
            .zip(&self.meanings)
            .map(|(text, meanings)| (text, meanings.as_slice()))
            .zip(&self.languages)
            .map(|(example, spoken)| match spoken {
                Some(spoken) if *spoken == lang => (0, example),
                None => (1, example),
                Some(_) => (2, example),
            })
            .collect();
        examples.sort_by_key(|(rank, _)| *rank);
        // Nobody is shown another language where there is something in his own.
        if examples.first().is_some_and(|(rank, _)| *rank == 0) {
            examples.retain(|(rank, _)| *rank < 2);
        }
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

fn example_folders(examples: &[Vec<Token<'_>>], guesses: bool) -> BTreeSet<String> {
    let mut folders = BTreeSet::new();
    for tokens in examples {
        add_folders(tokens, &mut folders);
        if guesses && !tokens.iter().any(Token::is_path) && !list_words(tokens).contains(&true) {
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

/// What the words mean by which a request is known: verbs and things, not what kind of place a path is.
#[must_use]
pub fn meanings(tokens: &[Token<'_>]) -> Vec<Mark> {
    let mut marks = weighty_marks(tokens, |_| false);
    marks.retain(|mark| mark.weight() >= 0.9);
    marks
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
