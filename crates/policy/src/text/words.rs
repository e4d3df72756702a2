//! The owner's registered words, and whether a value stands in them. Only what a person can
//! have typed as a token of its own counts; a part of a path, an address or a number is not
//! that path, address or number (design: policy §7).

use std::cell::OnceCell;
use std::collections::HashSet;

use metnos_proto::executor::Role;
use metnos_proto::ids::Blake3;
use metnos_proto::json;
use metnos_proto::lists;
use metnos_proto::msg::common::Lang;
use serde_json::{Value, json};

use crate::text::boundaries::{begins_token, ends_token, occurrences};
use crate::text::dates::{self, Moment, SpokenDates};
use crate::text::numbers::{self, Decimal};

/// The most words of a prompt that can name a row of a result.
const MAX_NAMING_WORDS: usize = 400;
/// The most words in one name.
const MAX_NAME_WORDS: usize = 5;
/// The shortest name of one word, in characters.
const MIN_NAME: usize = 3;

/// Everything the owner typed in a context.
#[derive(Debug, Clone, Default)]
pub struct Words {
    prompts: Vec<Prompt>,
    /// Digests of what in the words can name a row of a result, once a person has asked.
    names: OnceCell<HashSet<Blake3>>,
}

#[derive(Debug, Clone)]
pub(crate) struct Prompt {
    pub(crate) plain: String,
    folded: String,
    /// The same, without the numbers that only count the items of a list.
    counted: String,
    said: SpokenDates,
}

impl Words {
    /// Adds what was just typed.
    pub fn add(&mut self, words: &str, lang: Lang) {
        let counted = numbers::without_markers(words);
        let prompt =
            Prompt { plain: words.to_owned(), folded: fold(words), counted, said: SpokenDates::read(words, lang) };
        self.prompts.push(prompt);
        self.names = OnceCell::new();
    }

    /// What was typed last.
    #[must_use]
    pub fn last_typed(&self) -> Option<&str> {
        self.prompts.last().map(|prompt| prompt.plain.as_str())
    }

    /// Whether the words contain this value as a token of its own, in a way that a call may use it in
    /// this role. Structures and constants never do.
    #[must_use]
    pub fn contain(&self, value: &Value, role: Role) -> bool {
        self.prompts.iter().any(|prompt| prompt.contains(value, role))
    }

    /// Whether the words contain this text as a token of its own, letter case aside.
    #[must_use]
    pub fn mention(&self, text: &str) -> bool {
        let folded = fold(text);
        !folded.is_empty() && self.prompts.iter().any(|prompt| stands_in(&prompt.folded, &folded))
    }

    /// Whether the words name this file: its name stands in them as a token of its own.
    #[must_use]
    pub fn name_file(&self, path: &str) -> bool {
        let name = path.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
        self.mention(path) || self.mention(name)
    }

    /// Whether the words call this file by its name without the ending, or as a list: "the shopping list" is
    /// `notes/shopping.md`, and so is "la lista della spesa".
    #[must_use]
    pub fn call_file(&self, path: &str) -> bool {
        let name = path.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
        let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
        let spoken = stem.replace(['-', '_'], " ");
        let long = stem.chars().count() >= MIN_NAME && stem.chars().any(char::is_alphabetic) && !is_common(stem);
        let as_list =
            || self.prompts.iter().flat_map(|prompt| lists::called(&prompt.plain)).any(|list| list.is_in(path));
        long && (self.mention(stem) || self.mention(&spoken)) || as_list()
    }

    /// Whether the person has typed this address, or every part of it, see [`crate::text::addresses`].
    #[must_use]
    pub fn spell(&self, url: &str) -> bool {
        self.prompts.iter().any(|prompt| crate::text::addresses::is_address_typed(&prompt.plain, url))
    }

    /// Whether every part of this path of an address stands in the words.
    #[must_use]
    pub fn spell_path(&self, path: &str) -> bool {
        self.prompts.iter().any(|prompt| crate::text::addresses::is_path_typed(&prompt.plain, path))
    }

    /// Whether a part of a result with this digest is called by its name in the words.
    #[must_use]
    pub fn name(&self, digest: &Blake3) -> bool {
        let all = || self.prompts.iter().flat_map(names).collect();
        self.names.get_or_init(all).contains(digest)
    }
}

impl Prompt {
    fn contains(&self, value: &Value, role: Role) -> bool {
        match value {
            Value::String(text) => self.contains_text(text, role),
            Value::Number(number) => {
                let text = number.to_string();
                let digits = text.strip_suffix(".0").unwrap_or(&text);
                if identifies(role) {
                    // Which thing: only where it is called one, or any quantity would do.
                    return self.calls_id(digits);
                }
                Decimal::parse(&text).is_some_and(|wanted| numbers::all(&self.counted).any(|found| found == wanted))
            }
            Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => false,
        }
    }

    fn contains_text(&self, text: &str, role: Role) -> bool {
        if text.is_empty() || text.trim() != text {
            return false;
        }
        if text.bytes().all(|byte| byte.is_ascii_digit()) {
            return self.calls_id(text);
        }
        if identifies(role) && is_no_name(text, role) {
            return numbers::is_short(text) && self.calls_id(text);
        }
        // What is used to the letter must have been typed to the letter.
        let exact = matches!(role, Role::Path | Role::Secret | Role::Url | Role::Argv);
        let found = if exact { stands_in(&self.plain, text) } else { stands_in(&self.folded, &fold(text)) };
        let is_time =
            role == Role::Time && dates::time_of_day(text).is_some_and(|time| self.said.times.contains(&time));
        found || is_time || Moment::parse(text).is_some_and(|moment| self.said.contains(moment))
    }
}

impl Prompt {
    /// Whether these digits are called an id somewhere.
    fn calls_id(&self, digits: &str) -> bool {
        occurrences(&self.counted, digits).any(|(before, after)| numbers::is_id(before, after))
    }
}

/// Whether a value of this role says which thing is meant, and not how much, when or what.
const fn identifies(role: Role) -> bool {
    match role {
        Role::Selector | Role::Dest | Role::Entity | Role::Path | Role::Url | Role::Secret => true,
        Role::Payload | Role::Amount | Role::Time | Role::Query | Role::Argv | Role::Flag => false,
    }
}

/// Whether a text may stand in anybody's words without naming anything: a mark of a list, a bare number, or, where it
/// picks from many, a word that any sentence has.
fn is_no_name(text: &str, role: Role) -> bool {
    let picks = matches!(role, Role::Selector | Role::Path);
    !text.chars().any(char::is_alphanumeric) || numbers::is_short(text) || picks && is_common(text)
}

/// Letter case, kinds of apostrophes and runs of white space taken away.
#[must_use]
pub fn fold(text: &str) -> String {
    let mut folded = String::with_capacity(text.len());
    for word in text.split_whitespace() {
        if !folded.is_empty() {
            folded.push(' ');
        }
        folded.extend(word.chars().flat_map(char::to_lowercase).map(|c| if matches!(c, '’' | '‘') { '\'' } else { c }));
    }
    folded
}

/// Whether two values are the same to anyone who typed one of them: numbers by value, texts letter case
/// and white space aside.
#[must_use]
pub fn same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::String(one), Value::String(other)) => one == other || fold(one) == fold(other),
        (Value::Number(one), Value::Number(other)) => {
            one == other
                || matches!(
                    (Decimal::parse(&one.to_string()), Decimal::parse(&other.to_string())),
                    (Some(one), Some(other)) if one == other
                )
        }
        _ => one == other,
    }
}

fn stands_in(words: &str, text: &str) -> bool {
    occurrences(words, text).any(|(before, after)| begins_token(before, text) && ends_token(after))
}

/// Digests of everything in a prompt that can be the name of something: runs of words, in the cases
/// that people and programs write them, days, and amounts with a fraction.
fn names(prompt: &Prompt) -> HashSet<Blake3> {
    let mut found: HashSet<Blake3> = HashSet::new();
    let mut add = |value: Value| {
        found.insert(json::digest(&value));
    };
    let words: Vec<&str> = prompt.plain.split_whitespace().take(MAX_NAMING_WORDS).map(trimmed).collect();
    for start in 0..words.len() {
        for count in 1..=MAX_NAME_WORDS.min(words.len() - start) {
            let name = words[start..start + count].join(" ");
            let name = trimmed(&name);
            let bare = name.strip_suffix("'s").or_else(|| name.strip_suffix("’s")).unwrap_or(name);
            for name in [name, bare] {
                let long = name.chars().count() >= MIN_NAME && name.chars().any(char::is_alphabetic);
                if long && !(count == 1 && is_common(name)) {
                    cased(name).into_iter().for_each(|name| add(json!(name)));
                }
            }
        }
    }
    prompt.said.days.iter().filter_map(|day| day.iso()).for_each(|day| add(json!(day)));
    for token in numbers::tokens(&prompt.counted).filter(|token| token.contains(['.', ','])) {
        if let Ok(number) = token.replace(',', ".").parse::<f64>() {
            add(json!(number));
        }
    }
    found
}

fn trimmed(word: &str) -> &str {
    word.trim_matches(|c: char| ".,;:!?\"'`’‘“”()[]{}«»".contains(c))
}

/// As it stands, in small letters, in capitals, and with a capital at the beginning.
fn cased(name: &str) -> [String; 4] {
    let lower = name.to_lowercase();
    let mut rest = lower.chars();
    let capital = rest.next().map(|first| first.to_uppercase().chain(rest).collect()).unwrap_or_default();
    [name.to_owned(), name.to_uppercase(), lower, capital]
}

/// Words that stand in any sentence and therefore name nothing.
fn is_common(word: &str) -> bool {
    const COMMON: &[&str] = &[
        "about",
        "account",
        "address",
        "all",
        "also",
        "and",
        "any",
        "are",
        "bill",
        "can",
        "che",
        "con",
        "could",
        "date",
        "del",
        "della",
        "delete",
        "file",
        "for",
        "from",
        "get",
        "has",
        "have",
        "how",
        "id",
        "information",
        "into",
        "its",
        "just",
        "last",
        "mail",
        "make",
        "message",
        "mia",
        "mio",
        "month",
        "more",
        "most",
        "name",
        "new",
        "next",
        "not",
        "note",
        "one",
        "our",
        "out",
        "pay",
        "payment",
        "per",
        "please",
        "read",
        "send",
        "set",
        "some",
        "subject",
        "sure",
        "tell",
        "that",
        "the",
        "their",
        "them",
        "then",
        "there",
        "they",
        "this",
        "time",
        "to",
        "too",
        "two",
        "una",
        "uno",
        "update",
        "was",
        "what",
        "when",
        "where",
        "which",
        "who",
        "will",
        "with",
        "year",
        "you",
        "your",
    ];
    COMMON.contains(&word.to_lowercase().as_str())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn contain(words: &str, value: Value, role: Role) -> bool {
        let mut said = Words::default();
        said.add(words, Lang::En);
        said.contain(&value, role)
    }

    fn stands(words: &str, value: Value) -> bool {
        contain(words, value, Role::Payload)
    }

    #[test]
    fn a_text_stands_in_the_words_only_as_a_token_of_its_own() {
        for (words, text) in [
            ("read notes/welcome.md, please", "notes/welcome.md"),
            ("mail (ada@home.example).", "ada@home.example"),
            ("tell giulia: cena alle 20", "giulia"),
            ("send giulia the vet's name", "vet"),
            ("to:ada@home.example now", "ada@home.example"),
            ("the IPHONE  subscription", "iPhone Subscription"),
        ] {
            assert!(stands(words, json!(text)), "{text} in {words}");
        }
        for (words, text) in [
            ("read notes/welcome.md", "welcome.md"),
            ("mail ada@home.example.evil.net", "ada@home.example"),
            ("mail xada@home.example", "ada@home.example"),
            ("https://host/a", "/host/a"),
            ("read a.md", "a"),
        ] {
            assert!(!stands(words, json!(text)), "{text} in {words}");
        }
    }

    #[test]
    fn a_path_or_a_secret_must_have_been_typed_to_the_letter() {
        assert!(contain("read Notes/A.md", json!("Notes/A.md"), Role::Path));
        assert!(!contain("read Notes/A.md", json!("notes/a.md"), Role::Path));
        assert!(!contain("set it to 'aB1'", json!("ab1"), Role::Secret));
    }

    #[test]
    fn numbers_are_compared_as_numbers() {
        assert!(stands("pay 5 euros", json!(5)));
        assert!(stands("pay 5,00 €", json!(5)));
        assert!(stands("it is -3.50 outside", json!(-3.5)));
        assert!(!stands("pay 15", json!(5)));
        assert!(!stands("pay 5x", json!(5)));
        assert!(!stands("pay 1.000", json!(1)));
        assert!(!stands("pay 1.000", json!(1000)));
    }

    #[test]
    fn digits_are_an_id_only_where_they_are_called_one() {
        for words in ["cancel id 42", "cancel no. 42", "cancel #42", "annulla n. 42", "cancel ID: 42!", "with id '42'"]
        {
            assert!(stands(words, json!("42")), "{words}");
            assert!(contain(words, json!(42), Role::Selector), "{words}");
        }
        for words in ["wait 42 minutes", "id 142", "id 42a", "valid 42"] {
            assert!(!stands(words, json!("42")), "{words}");
            assert!(!contain(words, json!(42), Role::Selector), "{words}");
        }
        assert!(contain("pay 42", json!(42), Role::Amount));
    }

    #[test]
    fn structures_and_constants_are_never_found() {
        for value in [json!(true), json!(null), json!(["a"]), json!({"a": "a"}), json!(""), json!(" a")] {
            assert!(!stands("true null a [\"a\"] {}", value.clone()), "{value}");
        }
    }

    #[test]
    fn a_day_counts_however_it_was_written() {
        assert!(contain("book it for May 15th, 2024", json!("2024-05-15"), Role::Time));
        assert!(!contain("book it for May 15th, 2024", json!("2024-05-16"), Role::Time));
    }

    #[test]
    fn a_row_is_named_by_words_and_not_by_what_any_sentence_has() {
        let mut said = Words::default();
        said.add("cancel the rent, the 'Team Meeting' and what cost 10.50; the vet's too", Lang::En);
        for name in [json!("Rent"), json!("rent"), json!("Team Meeting"), json!(10.5), json!("vet")] {
            assert!(said.name(&json::digest(&name)), "{name}");
        }
        for name in [json!("the"), json!("ren"), json!(10), json!("Meeting room")] {
            assert!(!said.name(&json::digest(&name)), "{name}");
        }
    }

    proptest! {
        #[test]
        fn nothing_is_found_that_does_not_occur(words in "\\PC{0,80}", text in "[^0-9]{1,12}") {
            if stands(&words, json!(text)) {
                prop_assert!(fold(&words).contains(&fold(&text)));
            }
        }

        #[test]
        fn garbage_never_panics(words in "\\PC{0,200}", text in "\\PC{0,40}", number in any::<f64>()) {
            let _ = stands(&words, json!(text));
            let _ = stands(&words, json!(number));
        }
    }
}
