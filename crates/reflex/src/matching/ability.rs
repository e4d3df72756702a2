//! What a candidate executor offers, read from its public contract: its slots by type, the words
//! that call for it, and the texts it can hand on.

use std::collections::BTreeSet;

use metnos_proto::envelope::Candidate;
use metnos_proto::msg::common::Lang;
use serde_json::Value;

use crate::matching::frame::Form;
use crate::matching::slots::{Filled, Words, fill, is_naming};
use crate::words::lexicon::{self, Grams, Mark};
use crate::words::lists::{self, Places};
use crate::words::token::{Kind, Token, tokens};

/// The most examples of one executor that are looked at.
pub const MAX_EXAMPLES: usize = 16;
/// The most arguments of one executor that are looked at.
pub const MAX_SLOTS: usize = 32;

/// The most words of one executor whose letters are looked at.
pub const MAX_SPELLINGS: usize = 64;

/// What an argument wants to be filled with.
#[derive(Debug, Clone, PartialEq)]
pub enum Want {
    /// The path of a file or folder.
    Path,
    /// An address with a scheme.
    Url,
    /// A mail address or a host.
    Address,
    /// Text; with its media type when it may come from another executor.
    Text(Option<String>),
    /// A number; whether it must be whole.
    Number(bool),
    /// One of these words.
    Choice(Vec<String>),
    /// A day.
    Date,
    /// A time of day.
    Time,
    /// A duration.
    Duration,
    /// Yes or no.
    Flag,
    /// Something that the reflex does not fill.
    Other,
}

/// An argument of an executor.
#[derive(Debug, Clone)]
pub struct Slot {
    /// Its name in the object of arguments.
    pub name: String,
    /// Whether a call without it is invalid.
    pub required: bool,
    /// What it wants.
    pub want: Want,
    /// The words of its name.
    pub marks: Vec<Mark>,
    /// Whether it only switches something: words of a request never become one.
    pub is_switch: bool,
}

impl Slot {
    /// The JSON pointer of the argument.
    #[must_use]
    pub fn pointer(&self) -> String {
        pointer(&self.name)
    }
}

/// A text that the executor returns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextOutput {
    /// Its name in the result.
    pub name: String,
    /// Its JSON pointer in the result.
    pub pointer: String,
    /// Its media type.
    pub media: String,
}

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
        let examples: Vec<Vec<Token<'_>>> =
            candidate.examples.iter().take(MAX_EXAMPLES).map(|text| tokens(text).unwrap_or_default()).collect();
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
            forms: examples.iter().filter_map(|tokens| Form::of(tokens, &slots, &folders)).collect(),
            vocabulary,
            spellings: spellings(candidate),
            languages: examples.iter().map(|tokens| lexicon::language(tokens)).collect(),
            summary: tokens(&words).map(|tokens| weighty_marks(&tokens, |_| false)).unwrap_or_default(),
            slots,
            texts: text_outputs(&candidate.output),
            kinds,
            folders,
            candidate: candidate.clone(),
        };
        ability.frames =
            examples.iter().zip(&candidate.examples).map(|(tokens, text)| ability.frame(tokens, text)).collect();
        ability
    }

    /// What an example says beside its values.
    fn frame(&self, tokens: &[Token<'_>], text: &str) -> Frame {
        let lists = Places { there: &[], folder: "", italian: false };
        let lang = lexicon::language(tokens).unwrap_or(Lang::En);
        let words = Words { text, tokens, known: &self.folders, lang, lists };
        let mut used = vec![false; tokens.len()];
        // What the example says of its values is in them.
        let of_list = list_words(tokens);
        let gives_more = fill(self, &words, &mut used).gives_more();
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
            .examples
            .iter()
            .zip(&self.languages)
            .map(|(example, spoken)| match spoken {
                Some(spoken) if *spoken == lang => (0, example.as_str()),
                None => (1, example.as_str()),
                Some(_) => (2, example.as_str()),
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
    let texts = candidate.examples.iter().take(MAX_EXAMPLES).chain([&candidate.summary]);
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

/// Adds the names of folders that stand in the paths of a text: what lets a bare word be taken for a path.
pub fn add_folders(tokens: &[Token<'_>], known: &mut BTreeSet<String>) {
    for token in tokens.iter().filter(|token| token.is_path() && !token.text.starts_with(['/', '~'])) {
        let text = token.text.trim_end_matches('/');
        let folders = if token.path_kind() == Kind::Folder { text } else { text.rsplit_once('/').map_or("", |p| p.0) };
        let first = folders.split('/').next().unwrap_or_default();
        if !first.is_empty() && !first.starts_with('.') {
            known.insert(first.to_lowercase());
        }
    }
}

/// The bare word that an example uses as a path: its last one, right after what is done with it.
fn shown_folder(tokens: &[Token<'_>]) -> Option<String> {
    let at = tokens.iter().rposition(|token| token.mark.weight() > 0.0)?;
    let before = &tokens[..at].last()?.mark;
    let introduced = matches!(before, Mark::Concept("list" | "show" | "read" | "in" | "folder"));
    let word = &tokens[at];
    (introduced && matches!(word.mark, Mark::Stem(_))).then(|| word.text.to_lowercase())
}

/// Whether the word at `at` may be taken for a path, and for which kind: the word after "folder" or
/// "file", or the known name of a folder.
#[must_use]
pub fn bare_path(tokens: &[Token<'_>], at: usize, known: &BTreeSet<String>) -> Option<Kind> {
    let word = tokens.get(at).filter(|token| token.kind == Kind::Word)?;
    if !matches!(word.mark, Mark::Stem(_)) {
        return None;
    }
    let mut before = tokens[..at].iter().rev();
    let mut noun = before.next();
    if noun.is_some_and(|token| is_naming(token.text)) {
        noun = before.next();
    }
    let is_last = !tokens[at + 1..].iter().any(|token| token.mark.weight() > 0.0 || token.is_value());
    match noun.map(|token| &token.mark) {
        Some(Mark::Concept("folder")) if is_last && !is_no_name(word.text) => Some(Kind::Folder),
        Some(Mark::Concept("file")) if is_last && looks_like_name(word.text) => Some(Kind::File),
        Some(Mark::Free | Mark::And | Mark::Concept(_) | Mark::Stem(_)) | None => {
            known.contains(&word.text.to_lowercase()).then_some(Kind::Folder)
        }
    }
}

/// Words that stand beside "folder" without naming one.
fn is_no_name(word: &str) -> bool {
    const WORDS: &str = "again today tomorrow yesterday later recursively size structure tree only ancora oggi domani \
        ieri dopo condivisa intera dimensione struttura corrente principale";
    WORDS.split_whitespace().any(|known| word.eq_ignore_ascii_case(known))
}

/// Whether a word is rather a name than a word of the language: `README`, `todo_list`, `plan9`.
fn looks_like_name(word: &str) -> bool {
    word.chars().skip(1).any(|c| c.is_uppercase() || c.is_ascii_digit() || matches!(c, '_' | '-'))
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

/// The part of a schema that describes the value itself: a schema may be a document that only points at
/// one of its definitions.
fn described(schema: &Value) -> &Value {
    let target = schema.get("$ref").and_then(Value::as_str).and_then(|reference| reference.strip_prefix('#'));
    target.and_then(|pointer| schema.pointer(pointer)).unwrap_or(schema)
}

fn properties(schema: &Value) -> impl Iterator<Item = (&String, &Value)> {
    described(schema).get("properties").and_then(Value::as_object).into_iter().flatten().take(MAX_SLOTS)
}

fn slots(candidate: &Candidate) -> Vec<Slot> {
    let required = |name: &str| {
        let list = described(&candidate.input).get("required").and_then(Value::as_array);
        list.is_some_and(|list| list.iter().any(|item| item.as_str() == Some(name)))
    };
    properties(&candidate.input)
        .map(|(name, schema)| {
            let pointer = pointer(name);
            let role = candidate.roles.iter().find(|(at, _)| *at == pointer).map(|(_, role)| role.as_str());
            Slot {
                name: name.clone(),
                required: required(name),
                want: want(schema, role),
                marks: name_marks(name),
                is_switch: role == Some("flag"),
            }
        })
        .collect()
}

fn want(schema: &Value, role: Option<&str>) -> Want {
    let text = |key: &str| schema.get(key).and_then(Value::as_str);
    let choices = schema.get("enum").and_then(Value::as_array);
    match (text("type"), role) {
        (Some("integer"), _) => Want::Number(true),
        (Some("number"), _) => Want::Number(false),
        (Some("boolean"), _) => Want::Flag,
        (Some("string"), Some("path")) => Want::Path,
        (Some("string"), Some("url")) => Want::Url,
        (Some("string"), Some("dest")) => Want::Address,
        (Some("string"), Some("secret" | "argv")) => Want::Other,
        (Some("string"), _) => match (choices, text("format")) {
            (Some(choices), _) => Want::Choice(choices.iter().filter_map(Value::as_str).map(str::to_owned).collect()),
            (None, Some("date")) => Want::Date,
            (None, Some("time")) => Want::Time,
            (None, Some("duration")) => Want::Duration,
            (None, Some("uri")) => Want::Url,
            (None, Some("email" | "hostname")) => Want::Address,
            (None, Some("date-time")) => Want::Other,
            (None, _) => Want::Text(text("contentMediaType").map(str::to_owned)),
        },
        (_, _) => Want::Other,
    }
}

/// The texts of a result that say what media type they have, by its schema.
#[must_use]
pub fn text_outputs(schema: &Value) -> Vec<TextOutput> {
    properties(schema)
        .filter_map(|(name, schema)| {
            let media = schema.get("contentMediaType").and_then(Value::as_str)?;
            let is_text = schema.get("type").and_then(Value::as_str) == Some("string");
            is_text.then(|| TextOutput { name: name.clone(), pointer: pointer(name), media: media.to_owned() })
        })
        .collect()
}

fn number_names(schema: &Value) -> Vec<Mark> {
    properties(schema)
        .filter(|(_, schema)| matches!(schema.get("type").and_then(Value::as_str), Some("integer" | "number")))
        .flat_map(|(name, _)| name_marks(name))
        .collect()
}

fn name_marks(name: &str) -> Vec<Mark> {
    name.split(['_', '-']).filter(|part| !part.is_empty()).map(lexicon::mark).collect()
}

/// The JSON pointer of a property of the top object (RFC 6901).
#[must_use]
pub fn pointer(name: &str) -> String {
    format!("/{}", name.replace('~', "~0").replace('/', "~1"))
}
