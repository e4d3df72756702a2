//! Whether words point back at what was said before: "add rice to it", "toglilo". Such words may mean what the words before them
//! have named, and any others may not.

/// Words that stand for something said before, in both languages.
const POINTERS: &str = "it them that those this these one ones same again quello quella quelli quelle questo questa questi queste stesso \
    stessa lo la li le ci ne ancora anche also too";
/// What hangs on an Italian verb and stands for something.
const CLITICS: [&str; 6] = ["lo", "la", "li", "le", "ci", "ne"];
/// What such a verb ends with before it: "metti-lo", "togliere" without its last letter.
const VERB_ENDS: [&str; 4] = ["i", "r", "a", "e"];
/// The fewest letters of such a verb.
const MIN_VERB: usize = 3;
/// The longest text in which something is pointed at, in words: who says more says what he means.
const MOST_WORDS: usize = 16;

/// Whether these words may point back.
#[must_use]
pub fn points_back(text: &str) -> bool {
    let words = || text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    let points = |word: &str| {
        let word = word.to_lowercase();
        POINTERS.split_ascii_whitespace().any(|known| known == word) || hangs(&word)
    };
    words().count() <= MOST_WORDS && words().any(points)
}

/// Whether a pronoun hangs on this word.
fn hangs(word: &str) -> bool {
    CLITICS
        .iter()
        .filter_map(|clitic| word.strip_suffix(clitic))
        .any(|verb| verb.chars().count() >= MIN_VERB && VERB_ENDS.iter().any(|end| verb.ends_with(end)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_words_that_stand_for_something_point_back() {
        for text in
            ["add rice to it", "actually no, take them off again", "toglilo", "aggiungici le candeline", "and that too"]
        {
            assert!(points_back(text), "{text}");
        }
        for text in [
            "good morning",
            "thanks a lot",
            "buongiorno",
            "grazie mille",
            "what time is it in Rome and what will be \
            the weather like tomorrow in the hills over there",
        ] {
            assert!(!points_back(text), "{text}");
        }
    }
}
