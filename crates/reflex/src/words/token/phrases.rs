//! What several tokens say together: phrases that mean one thing, and the language of the whole.

use metnos_proto::msg::common::Lang;

use super::{Kind, Token};
use crate::words::lexicon::{Mark, language_of_word};

/// Several words that mean one thing.
const PHRASES: &[(&[&str], &str)] = &[
    (&["how", "many"], "count"),
    (&["thank", "you"], "thanks"),
    (&["thank", "you", "very", "much"], "thanks"),
    (&["thanks", "a", "lot"], "thanks"),
    (&["grazie", "mille"], "thanks"),
    (&["molte", "grazie"], "thanks"),
    (&["fammi", "vedere"], "show"),
    (&["let", "me", "see"], "show"),
    (&["good", "morning"], "greeting"),
    (&["good", "afternoon"], "greeting"),
    (&["good", "evening"], "greeting"),
    (&["buon", "giorno"], "greeting"),
    (&["buona", "sera"], "greeting"),
    (&["how", "are", "you"], "greeting"),
    (&["come", "stai"], "greeting"),
    (&["area", "di", "lavoro"], "root"),
    (&["spazio", "di", "lavoro"], "root"),
    (&["working", "directory"], "root"),
    (&["what", "can", "you", "do"], "help"),
    (&["what", "can", "i", "do"], "help"),
    (&["what", "can", "i", "ask"], "help"),
    (&["what", "do", "you", "do"], "help"),
    (&["che", "cosa", "sai", "fare"], "help"),
    (&["che", "cosa", "puoi", "fare"], "help"),
    (&["cosa", "sai", "fare"], "help"),
    (&["cosa", "puoi", "fare"], "help"),
    (&["che", "sai", "fare"], "help"),
    (&["cosa", "posso", "chiedere"], "help"),
    (&["cosa", "posso", "chiederti"], "help"),
    (&["come", "funzioni"], "help"),
    (&["mi", "puoi", "aiutare"], "help"),
    (&["mi", "aiuti"], "help"),
    (&["puoi", "aiutarmi"], "help"),
    (&["you", "are", "great"], "thanks"),
    (&["you", "re", "great"], "thanks"),
    (&["you", "are", "the", "best"], "thanks"),
    (&["you", "re", "the", "best"], "thanks"),
    (&["you", "re", "welcome"], "thanks"),
    (&["you", "are", "welcome"], "thanks"),
    (&["sei", "forte"], "thanks"),
    (&["sei", "grande"], "thanks"),
    (&["sei", "bravo"], "thanks"),
    (&["sei", "bravissimo"], "thanks"),
    (&["sei", "il", "migliore"], "thanks"),
];

/// The language of the words, as far as they give it away.
#[must_use]
pub fn language(tokens: &[Token<'_>]) -> Option<Lang> {
    let (mut english, mut italian) = (0_u32, 0_u32);
    for token in tokens.iter().filter(|token| token.kind == Kind::Word) {
        match language_of_word(token.text) {
            Some(Lang::En) => english += 1,
            Some(Lang::It) => italian += 1,
            None => {}
        }
    }
    match english.cmp(&italian) {
        std::cmp::Ordering::Greater => Some(Lang::En),
        std::cmp::Ordering::Less => Some(Lang::It),
        std::cmp::Ordering::Equal => None,
    }
}

/// Gives groups of words their common meaning.
pub fn join_phrases(tokens: &mut [Token<'_>]) {
    for at in 0..tokens.len() {
        let longest = PHRASES
            .iter()
            .filter(|(words, _)| {
                tokens.len() - at >= words.len()
                    && tokens[at..]
                        .iter()
                        .zip(*words)
                        .all(|(token, word)| token.kind == Kind::Word && token.text.eq_ignore_ascii_case(word))
            })
            .max_by_key(|(words, _)| words.len());
        if let Some((words, concept)) = longest {
            for token in &mut tokens[at..at + words.len()] {
                token.mark = Mark::Free;
            }
            tokens[at].mark = Mark::Concept(concept);
        }
        // Files that are counted are the matter of the request, not the kind of a path.
        if at > 0
            && tokens[at].mark.is_path_noun()
            && tokens[..at]
                .iter()
                .rev()
                .find(|t| t.mark != Mark::Free)
                .is_some_and(|t| t.mark == Mark::Concept("count"))
        {
            tokens[at].mark = Mark::Concept("counted file");
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::super::tokens;
    use super::*;

    #[test]
    fn the_language_shows_in_the_small_words() {
        let language = |words| language(&tokens(words).unwrap());
        assert_eq!(language("what is in the folder notes?"), Some(Lang::En));
        assert_eq!(language("cosa c'è in notes"), Some(Lang::It));
        assert_eq!(language("leggi il file notes/welcome.md"), Some(Lang::It));
        assert_eq!(language("notes/welcome.md"), None);
    }

    #[test]
    fn phrases_take_the_meaning_of_the_whole() {
        let marks = |words| tokens(words).unwrap().into_iter().map(|t| t.mark).collect::<Vec<_>>();
        assert_eq!(marks("how many words")[0], Mark::Concept("count"));
        assert_eq!(marks("how many files")[2], Mark::Concept("counted file"));
        assert_eq!(marks("what can you do")[0], Mark::Concept("help"));
        assert_eq!(marks("fammi vedere x")[0], Mark::Concept("show"));
    }
}
