//! What the end of a turn says was wished for: the name under which a proto-mnest counts it.
//!
//! The words of a person become the verb and the object that they wish for ([`metnos_rank::wish`]), or nothing when they
//! were talk. So wishes are merged by meaning in both languages, and a proto-mnest holds no word of anybody:
//! the words themselves stay in the chronicle, with the line that says so. What a planner's model says is missing is a
//! description already, and keeps its words when the lexicon has none for it.

use std::collections::BTreeSet;

use metnos_proto::msg::planner::TurnEnd;
use metnos_rank::lexicon;
use metnos_rank::wish::{Meaning, meaning};
use metnos_rank::words::{Language, stemmed, words};

use crate::chronicle::payload::TurnClose;

/// The longest wish that is kept, in bytes; a longer one is cut.
pub const MAX_WISH_BYTES: usize = 512;
/// How many of the ways in which a wish was said are kept with it.
const MAX_EXAMPLES: usize = 2;

/// A wish as it is counted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wished {
    /// The same for all that wish for it.
    pub name: String,
    /// The lexicon's words by which it was said; empty for a description.
    pub example: String,
}

/// What a turn that ended so wished for; `None` when it wished for nothing.
#[must_use]
pub fn wished(close: &TurnClose) -> Option<Wished> {
    let described = !close.signature.is_empty() || TurnEnd::named(&close.end) == Some(TurnEnd::Answered);
    // A description begins with any verb: `Turn a PDF into text` turns nothing on.
    let known = meaning(&close.wish).filter(|meaning| !described || meaning.sure);
    let of = |meaning: Meaning| Wished { name: meaning.name(), example: meaning.example() };
    known.map(of).or_else(|| {
        let name = one_line(&close.wish);
        (described && !name.is_empty()).then(|| Wished { name, example: String::new() })
    })
}

/// A description as it is compared with others: one line, small letters, not longer than it may be.
fn one_line(wish: &str) -> String {
    let mut text = wish.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase();
    text.truncate(text.floor_char_boundary(MAX_WISH_BYTES));
    text
}

/// Whether two descriptions say the same but for small words and endings.
pub(super) fn same(one: &str, other: &str) -> bool {
    let of = |text: &str| -> BTreeSet<String> {
        let heard = words(text);
        heard.iter().filter(|word| !lexicon::is_stop(word)).map(|word| stemmed(word, Language::English)).collect()
    };
    one == other || of(one) == of(other)
}

/// The ways in which a wish was said, with one more, at most [`MAX_EXAMPLES`].
pub(super) fn with_example(known: &str, example: &str) -> String {
    let mut all: Vec<&str> = known.split("; ").filter(|one| !one.is_empty()).collect();
    if !example.is_empty() && all.len() < MAX_EXAMPLES && !all.contains(&example) {
        all.push(example);
    }
    all.join("; ")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn close(end: TurnEnd, wish: &str, signature: &str) -> TurnClose {
        TurnClose { end: end.name().to_owned(), wish: wish.to_owned(), signature: signature.to_owned() }
    }

    #[test]
    fn requests_of_one_meaning_have_one_name_and_talk_has_none() {
        let name = |words: &str| wished(&close(TurnEnd::NotUnderstood, words, "")).map(|one| one.name);
        for words in ["Send a mail to Anna", "can you email Bob?", "manda una mail a Piero"] {
            assert_eq!(name(words).as_deref(), Some("send mail"), "{words}");
        }
        for words in ["thanks a lot", "who invented the telephone?", "la vita è dura", "", "xyzzy"] {
            assert_eq!(name(words), None, "{words}");
        }
    }

    #[test]
    fn words_of_a_person_are_not_part_of_the_wish() {
        let one = wished(&close(TurnEnd::NotUnderstood, "email Dr. Rossi about my secret illness", "")).unwrap();
        assert_eq!((one.name.as_str(), one.example.as_str()), ("send mail", "email"));
    }

    #[test]
    fn description_of_a_model_keeps_its_words_unless_the_lexicon_has_them() {
        let described = |words: &str| wished(&close(TurnEnd::Answered, words, "")).map(|one| one.name);
        assert_eq!(described("Turn a PDF  into text").as_deref(), Some("turn a pdf into text"));
        assert_eq!(described("Send an email to a contact").as_deref(), Some("send mail"));
        assert_eq!(wished(&close(TurnEnd::Unsuccessful, "Paint a fence", "{}")).unwrap().name, "paint a fence");
        assert_eq!(described(" \n"), None);
    }

    #[test]
    fn description_is_one_line_cut_at_a_whole_character() {
        assert_eq!(one_line(&"w".repeat(MAX_WISH_BYTES)).len(), MAX_WISH_BYTES);
        assert_eq!(one_line(&"w".repeat(MAX_WISH_BYTES + 1)).len(), MAX_WISH_BYTES);
        assert_eq!(one_line(&("w".to_owned() + &"è".repeat(MAX_WISH_BYTES))).len(), MAX_WISH_BYTES - 1);
    }

    #[test]
    fn descriptions_are_the_same_but_for_small_words_and_endings() {
        assert!(same("paint a fence", "paint the fences") && !same("paint a fence", "paint a wall"));
    }

    #[test]
    fn a_wish_keeps_two_ways_of_saying_it() {
        let one = with_example("", "email");
        let two = with_example(&with_example(&one, "email"), "manda mail");
        assert_eq!(two, "email; manda mail");
        assert_eq!(with_example(&two, "send mail"), two);
    }
}
