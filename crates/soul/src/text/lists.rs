//! Words and phrases that the rules know, in English and Italian: one phrase a line in `../words/`, folded, `*` for any ending.

use std::sync::LazyLock;

use super::token::Token;

macro_rules! lists {
    ($($(#[$doc:meta])* $name:ident = $file:literal;)*) => {$(
        $(#[$doc])*
        pub static $name: LazyLock<Phrases> = LazyLock::new(|| Phrases::of(include_str!(concat!("../words/", $file))));
    )*};
}

lists! {
    /// Words that open a new clause.
    BREAKS = "breaks.txt";
    /// Words that deny.
    NEGATIONS = "negations.txt";
    /// What says that something holds always, for all, or alone.
    UNIVERSALS = "universals.txt";
    /// What says that something is wished, guessed, planned or past, and not so.
    HEDGES = "hedges.txt";
    /// What says that somebody else said it, or that it is a play.
    REPORTS = "reports.txt";
    /// Where the order of two things says which is meant.
    ORDERED = "ordered.txt";
    /// What compares two things, or passes one from one person to another.
    COMPARES = "compares.txt";
    /// Who speaks of himself.
    FIRST_PERSON = "first-person.txt";
    /// Who speaks of himself, in words that mean nothing else.
    OWN = "own.txt";
    /// Who is spoken of before he was named.
    THIRD_PERSON = "third-person.txt";
    /// Names for the person who spoke, or for all of the house: they need no ground.
    SPEAKER = "speaker.txt";
    /// Who may be spoken to politely, in Italian.
    POLITE = "polite.txt";
    /// With what a question begins.
    ASKS = "asks.txt";
    /// What only says how much or where in the talk.
    INTENSIFIERS = "intensifiers.txt";
    /// What joins two statements.
    JOINS = "joins.txt";
    /// Verbs that say little by themselves, and what points.
    HELPERS = "helpers.txt";
    /// How a person begins before he says something.
    OPENERS = "openers.txt";
    /// Who is spoken to.
    SECOND_PERSON = "second-person.txt";
    /// What the butler is called.
    BUTLER = "butler.txt";
    /// What the owner is called.
    OWNER = "owner.txt";
    /// Orders to a model, wherever they stand.
    ORDERS = "orders.txt";
    /// Verbs that make an order of a sentence that they open, and hardly open any other.
    COMMANDS = "commands.txt";
    /// Verbs that may make an order of a sentence that they open.
    MAYBE_COMMANDS = "maybe-commands.txt";
    /// What gives power, or takes a check away.
    AUTHORITY = "authority.txt";
    /// What may be a matter of authority.
    MAYBE_AUTHORITY = "maybe-authority.txt";
    /// What secrets are called.
    SECRETS = "secrets.txt";
    /// What a name is put to a secret with.
    IS = "is.txt";
    /// Pairs of words of which one says the contrary of the other, one pair a line.
    OPPOSITES = "opposites.txt";
    /// Words for numbers, each followed by what it is in digits.
    NUMBERS = "numbers.txt";
}

/// Phrases, each as its words.
pub struct Phrases {
    all: Vec<Vec<&'static str>>,
}

impl Phrases {
    fn of(text: &'static str) -> Self {
        let lines = text.lines().filter(|line| !line.starts_with('#'));
        Self {
            all: lines.map(|line| line.split_whitespace().collect::<Vec<_>>()).filter(|one| !one.is_empty()).collect(),
        }
    }

    /// Whether this one word is a phrase of the list.
    #[must_use]
    pub fn has_word(&self, word: &str) -> bool {
        self.all.iter().any(|phrase| phrase.len() == 1 && is(word, phrase[0]))
    }

    /// The first phrase of the list that stands among these words.
    #[must_use]
    pub fn found(&self, tokens: &[Token]) -> Option<String> {
        (0..tokens.len()).find_map(|at| self.opens(&tokens[at..]))
    }

    /// The phrase of the list with which these words begin.
    #[must_use]
    pub fn opens(&self, tokens: &[Token]) -> Option<String> {
        let fits = |phrase: &&Vec<&str>| {
            phrase.len() <= tokens.len() && phrase.iter().zip(tokens).all(|(word, token)| is(&token.word, word))
        };
        self.all.iter().find(fits).map(|phrase| phrase.join(" "))
    }

    /// The lines, as words.
    #[must_use]
    pub fn lines(&self) -> &[Vec<&'static str>] {
        &self.all
    }
}

/// Whether a word is meant by one of a phrase.
pub(crate) fn is(word: &str, meant: &str) -> bool {
    meant.strip_suffix('*').map_or(word == meant, |begin| word.starts_with(begin))
}

#[cfg(test)]
mod tests {
    use super::super::reader::tokens;
    use super::*;

    #[test]
    fn every_line_is_folded_as_texts_are() {
        let all = [
            &BREAKS,
            &NEGATIONS,
            &UNIVERSALS,
            &HEDGES,
            &REPORTS,
            &ORDERED,
            &COMPARES,
            &FIRST_PERSON,
            &SECOND_PERSON,
            &BUTLER,
            &OWNER,
            &OWN,
            &THIRD_PERSON,
            &SPEAKER,
            &OPENERS,
            &HELPERS,
            &POLITE,
            &ASKS,
            &INTENSIFIERS,
            &JOINS,
            &ORDERS,
            &COMMANDS,
            &MAYBE_COMMANDS,
            &AUTHORITY,
            &MAYBE_AUTHORITY,
            &SECRETS,
            &IS,
            &OPPOSITES,
            &NUMBERS,
        ];
        for list in all {
            assert!(!list.lines().is_empty());
            for word in list.lines().iter().flatten() {
                let bare = word.trim_end_matches('*');
                let folded: Vec<String> = tokens(bare).into_iter().map(|token| token.word).collect();
                assert_eq!(folded, [bare], "{word}");
            }
        }
        assert!(OPPOSITES.lines().iter().chain(NUMBERS.lines()).all(|line| line.len() == 2));
    }

    #[test]
    fn phrase_is_found_where_all_its_words_follow_each_other() {
        let found = |text: &str| ORDERS.found(&tokens(text));
        assert!(found("From now on, dinner is at 8").is_some());
        assert!(found("from Monday on").is_none());
    }
}
