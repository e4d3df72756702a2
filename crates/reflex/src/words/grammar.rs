//! The small words of English and Italian that decide whether a request asks for something to be done, now, and with what: which way a
//! preposition points, what is only politeness, what begins a schedule. It knows languages, never executors.

use crate::words::lexicon::Mark;
use crate::words::token::{Kind, Token};

/// Which way a preposition points.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// Into, onto, to.
    To,
    /// From.
    From,
    /// With.
    With,
}

const TO: &str = "to into in inside onto on at as a ad al allo alla ai agli alle in nel nello nella nei negli nelle nell dentro su sul \
    sullo sulla come per";
const FROM: &str = "from da dal dallo dalla dai dagli dalle";
const WITH: &str = "with containing saying con contenente by";
/// What may stand anywhere in a request and changes nothing.
const FILLERS: &str = "the an my our me us for about of please il lo la i gli le l un uno una del dello della dei degli delle dell di d mio \
    mia miei mie nostro nostra mi ci";
/// What may stand there besides, where nothing is changed.
const READING_FILLERS: &str = "a is are it there was does do has have s am now today right so currently è e' c'è c'e c sono ora adesso oggi \
    attualmente ho ha si ne";
/// What makes a request polite; several words of one line belong together.
const LEADS: &[&str] = &[
    "please",
    "pls",
    "kindly",
    "now",
    "just",
    "ok",
    "okay",
    "metnos",
    "hey",
    "hi",
    "hello",
    "i want to",
    "i want you to",
    "i would like to",
    "i would like you to",
    "i d like to",
    "i'd like to",
    "i'd like you to",
    "i need to",
    "i need you to",
    "let s",
    "let's",
    "per favore",
    "per piacere",
    "ti prego",
    "vorrei",
    "voglio",
    "vorrei che",
    "ciao",
    "ehi",
    "ora",
    "adesso",
    "subito",
    "allora",
    "dai",
    "devi",
    "mi serve che tu",
];
/// Those that ask for a deed in the form of a question.
const ASKING_LEADS: &[&str] = &[
    "can you",
    "could you",
    "would you",
    "will you",
    "puoi",
    "potresti",
    "mi puoi",
    "mi potresti",
    "può",
    "potrebbe",
    "riesci a",
    "sapresti",
    "can u",
];
/// What may follow a request and changes nothing.
const TAILS: &[&str] = &[
    "please",
    "thanks",
    "thank you",
    "now",
    "for me",
    "by the way",
    "btw",
    "pls",
    "thx",
    "a proposito",
    "per favore",
    "per piacere",
    "grazie",
    "grazie mille",
    "adesso",
    "ora",
    "subito",
    "metnos",
];
/// Those that may as well belong to what is said.
const TIMELY_TAILS: &[&str] = &["now", "adesso", "ora", "subito"];
/// The most words of a name.
const MAX_NAME_WORDS: usize = 4;
/// What a text of several words follows.
const INTRODUCES: &str = "that che";
/// What makes a request one for later, or for more than once.
const LATER: &[&str] = &[
    "every day",
    "every morning",
    "every evening",
    "every night",
    "every week",
    "every month",
    "every hour",
    "every year",
    "every weekday",
    "every monday",
    "every tuesday",
    "every wednesday",
    "every thursday",
    "every friday",
    "every saturday",
    "every sunday",
    "each day",
    "each morning",
    "each week",
    "each month",
    "each evening",
    "daily",
    "weekly",
    "monthly",
    "hourly",
    "tomorrow",
    "tonight",
    "next week",
    "next month",
    "on monday",
    "on tuesday",
    "on wednesday",
    "on thursday",
    "on friday",
    "on saturday",
    "on sunday",
    "remind me",
    "schedule",
    "later",
    "ogni giorno",
    "ogni mattina",
    "ogni mattino",
    "ogni sera",
    "ogni notte",
    "ogni settimana",
    "ogni mese",
    "ogni ora",
    "ogni anno",
    "ogni lunedì",
    "ogni martedì",
    "ogni mercoledì",
    "ogni giovedì",
    "ogni venerdì",
    "ogni sabato",
    "ogni domenica",
    "tutti i giorni",
    "tutte le mattine",
    "tutte le sere",
    "tutte le settimane",
    "domani",
    "dopodomani",
    "stasera",
    "stanotte",
    "più tardi",
    "ricordami",
    "ricordaci",
    "programma",
    "pianifica",
    "la prossima settimana",
    "il mese prossimo",
];
/// What stands before a time of day.
const BEFORE_TIME: &str = "at alle all' dalle by entro ore";
/// What stands before a duration that lies ahead.
const AHEAD: &str = "in after every fra tra dopo ogni each";

fn is_one_of(word: &str, words: &str) -> bool {
    words.split_ascii_whitespace().any(|known| known.len() == word.len() && known.eq_ignore_ascii_case(word))
}

/// Which way this word points, if it is a preposition.
#[must_use]
pub fn way(word: &str) -> Option<Way> {
    if is_one_of(word, TO) {
        Some(Way::To)
    } else if is_one_of(word, FROM) {
        Some(Way::From)
    } else if is_one_of(word, WITH) {
        Some(Way::With)
    } else {
        None
    }
}

/// Whether a word may stand in a request without saying anything.
#[must_use]
pub fn is_filler(word: &str, reads: bool) -> bool {
    is_one_of(word, FILLERS) || reads && is_one_of(word, READING_FILLERS)
}

/// Whether a text of several words follows this one: "che …", "di comprare …".
#[must_use]
pub fn introduces(word: &str, next: &str) -> bool {
    let infinitive = ["are", "ere", "ire"].iter().any(|ending| next.len() > 4 && next.ends_with(ending));
    is_one_of(word, INTRODUCES) || word.eq_ignore_ascii_case("di") && infinitive
}

/// Whether the words from `at` on are these.
fn says(tokens: &[Token<'_>], at: usize, phrase: &str) -> Option<usize> {
    let mut next = at;
    for word in phrase.split(' ') {
        let token = tokens.get(next)?;
        if token.kind != Kind::Word || token.text.to_lowercase().replace('’', "'") != word {
            return None;
        }
        next += 1;
    }
    Some(next)
}

/// Where the request itself begins, and whether a question before it asks for a deed.
#[must_use]
pub fn lead(tokens: &[Token<'_>]) -> (usize, bool) {
    let (mut at, mut asks) = (0, false);
    loop {
        let longest = |phrases: &[&str]| phrases.iter().filter_map(|phrase| says(tokens, at, phrase)).max();
        match (longest(LEADS), longest(ASKING_LEADS)) {
            (_, Some(next)) => (at, asks) = (next, true),
            (Some(next), None) => at = next,
            (None, None) => return (at, asks),
        }
    }
}

/// Where the request ends that begins at `begin`: before what is only politeness.
#[must_use]
pub fn tail(tokens: &[Token<'_>], begin: usize) -> usize {
    let mut end = tokens.len();
    'again: loop {
        for phrase in TAILS {
            let start = end.saturating_sub(phrase.split(' ').count());
            if start > begin && says(&tokens[..end], start, phrase) == Some(end) {
                end = start;
                continue 'again;
            }
        }
        return end;
    }
}

/// All the places where a request may begin: at its first word, and behind each politeness before it; each with whether a
/// question before it asks for a deed. `butler` is what Metnos is called.
#[must_use]
pub fn begins(tokens: &[Token<'_>], butler: &str) -> Vec<(usize, bool)> {
    let mut all = vec![(0, false)];
    loop {
        let (at, asked) = all.last().copied().unwrap_or_default();
        let longest = |phrases: &[&str]| phrases.iter().filter_map(|phrase| says(tokens, at, phrase)).max();
        let named = calls(tokens, at, butler);
        match (longest(LEADS).max(named), longest(ASKING_LEADS)) {
            (_, Some(next)) => all.push((next, true)),
            (Some(next), None) => all.push((next, asked)),
            (None, None) => return all,
        }
    }
}

/// All the places where a request may end: behind its last word, and before each politeness behind it; and where a text that
/// stands last ends: before what can only be politeness.
#[must_use]
pub fn ends(tokens: &[Token<'_>], butler: &str) -> (Vec<usize>, usize) {
    let mut all = vec![tokens.len()];
    let (mut end, mut text_end, mut only_polite) = (tokens.len(), tokens.len(), true);
    loop {
        let before = |phrase: &&&str| {
            let start = end.saturating_sub(phrase.split(' ').count());
            start > 0 && says(&tokens[..end], start, phrase) == Some(end)
        };
        let named =
            (1..end).rev().take(MAX_NAME_WORDS).find(|start| calls(&tokens[..end], *start, butler) == Some(end));
        let phrase = TAILS.iter().filter(before).max_by_key(|phrase| phrase.split(' ').count());
        let Some(start) = phrase.map(|phrase| end - phrase.split(' ').count()).or(named) else {
            return (all, text_end);
        };
        only_polite &= phrase.is_none_or(|phrase| !TIMELY_TAILS.contains(phrase));
        end = start;
        all.push(end);
        if only_polite {
            text_end = end;
        }
    }
}

/// Where the name of the butler ends that stands at `at`.
fn calls(tokens: &[Token<'_>], at: usize, butler: &str) -> Option<usize> {
    let name = butler.trim().to_lowercase();
    (!name.is_empty()).then(|| says(tokens, at, &name)).flatten()
}

/// Whether a word of a request is the word of an example: the same, another of the same concept, or the Italian verb in another form
/// of asking (`cancella`, `cancellare`, `cancellami`).
#[must_use]
pub fn is_same_word(token: &Token<'_>, mark: &Mark, text: &str) -> bool {
    let word = token.text.to_lowercase();
    matches!(mark, Mark::Concept(_)) && token.mark == *mark || word == text || asking_base(&word) == asking_base(text)
}

/// What the imperative and the infinitive of an Italian verb share, with whom it is done for left out.
fn asking_base(word: &str) -> &str {
    if word.len() < 5 || !word.is_ascii() {
        return word;
    }
    let mut base = word;
    for clitic in ["melo", "mela", "mi", "ci"] {
        if let Some(shorter) = base.strip_suffix(clitic).filter(|shorter| shorter.len() >= 4) {
            base = shorter;
            break;
        }
    }
    base =
        base.strip_suffix("re").or_else(|| base.strip_suffix('r')).filter(|shorter| shorter.len() >= 4).unwrap_or(base);
    base.strip_suffix(['a', 'e', 'i']).filter(|shorter| shorter.len() >= 4).unwrap_or(base)
}

/// Whether the words ask for something at another time than now, or again and again: outside of quotations, and of a text that
/// begins at `text`, if one does.
#[must_use]
pub fn is_for_later(tokens: &[Token<'_>], text: Option<usize>) -> bool {
    let end = text.unwrap_or(tokens.len()).min(tokens.len());
    let tokens = &tokens[..end];
    let beside = |at: usize, words: &str| {
        at.checked_sub(1)
            .is_some_and(|before| tokens[before].kind == Kind::Word && is_one_of(tokens[before].text, words))
    };
    (0..tokens.len()).any(|at| {
        LATER.iter().any(|phrase| says(tokens, at, phrase).is_some())
            || tokens[at].kind == Kind::Time && beside(at, BEFORE_TIME)
            || tokens[at].kind == Kind::Number
                && (beside(at, AHEAD)
                    && tokens
                        .get(at + 1)
                        .is_some_and(|unit| crate::words::when::duration(tokens[at].text, unit.text).is_some())
                    || beside(at, "alle dalle"))
    })
}

/// Words that begin a question which is answered now, also about another time.
const ASK_NOW: &str =
    "what which who whose why how should cosa che quale quali chi come perche perché quanto quanta quanti quante";

/// Whether words ask for something to be told now.
#[must_use]
pub fn asks_now(tokens: &[Token<'_>]) -> bool {
    tokens.first().is_some_and(|first| first.kind == Kind::Word && is_one_of(first.text, ASK_NOW))
}

/// Where the quoted text of a request begins: behind the first colon, or behind "that".
#[must_use]
pub fn quoted_from(tokens: &[Token<'_>]) -> Option<usize> {
    let begins = |at: &usize| {
        tokens[*at].colon
            || matches!(tokens[*at].text, "that" | "che")
                && *at > 0
                && tokens[..*at].iter().all(|token| token.kind == Kind::Word)
    };
    (0..tokens.len()).find(begins).map(|at| at + 1)
}

/// The concept of a word that orders things, with the word before it where the language needs one: "largest", "più grandi".
#[must_use]
pub fn superlative(before: Option<&str>, word: &str) -> Option<&'static str> {
    const ENGLISH: &[(&str, &str)] = &[
        ("largest", "largest biggest heaviest"),
        ("smallest", "smallest tiniest"),
        ("longest", "longest"),
        ("shortest", "shortest"),
        ("newest", "newest latest"),
        ("oldest", "oldest"),
    ];
    const ITALIAN: &[(&str, &str)] = &[
        ("largest", "grande grandi grosso grossi grossa grosse pesante pesanti"),
        ("smallest", "piccolo piccoli piccola piccole leggeri"),
        ("longest", "lungo lunghi lunga lunghe"),
        ("shortest", "corto corti corta corte breve brevi"),
        ("newest", "nuovo nuovi nuova nuove recente recenti"),
        ("oldest", "vecchio vecchi vecchia vecchie"),
    ];
    let of = |table: &'static [(&'static str, &'static str)]| {
        table.iter().find(|(_, words)| is_one_of(word, words)).map(|(name, _)| *name)
    };
    of(ENGLISH).or_else(|| before.filter(|before| is_one_of(before, "più piu")).and_then(|_| of(ITALIAN))).or_else(
        || {
            (before.is_some_and(|before| before.eq_ignore_ascii_case("most")) && word.eq_ignore_ascii_case("recent"))
                .then_some("newest")
        },
    )
}

/// Whether a word is only there to say that an order follows.
#[must_use]
pub fn is_before_superlative(word: &str) -> bool {
    is_one_of(word, "più piu most")
}

/// Whether the lexicon's word for a limit.
#[must_use]
pub fn is_limit(mark: &Mark) -> bool {
    matches!(mark, Mark::Stem(stem) if matches!(stem.as_str(), "limit" | "top" | "max"))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::words::lexicon;
    use crate::words::token::tokens;

    #[test]
    fn politeness_is_neither_the_begin_nor_the_end_of_a_request() {
        let bare = |words: &str| {
            let tokens = tokens(words).unwrap();
            let (begin, asks) = lead(&tokens);
            (tokens[begin].text.to_owned(), tokens[tail(&tokens, begin) - 1].text.to_owned(), asks)
        };
        assert_eq!(bare("could you please delete notes/a.md, thanks?"), ("delete".into(), "notes/a.md".into(), true));
        assert_eq!(
            bare("per favore potresti cancellare notes/a.md adesso"),
            ("cancellare".into(), "notes/a.md".into(), true)
        );
        assert_eq!(bare("did you delete notes/a.md"), ("did".into(), "notes/a.md".into(), false));
    }

    #[test]
    fn a_verb_is_the_same_in_the_forms_of_asking_and_in_no_other() {
        let same = |word: &str, known: &str| is_same_word(&tokens(word).unwrap()[0], &lexicon::mark(known), known);
        for (word, known) in
            [("archiviare", "archivia"), ("archiviami", "archivia"), ("scrivermi", "scrivi"), ("Archivia", "archivia")]
        {
            assert!(same(word, known), "{word} {known}");
        }
        for (word, known) in
            [("archiviato", "archivia"), ("archivio", "archivia"), ("deleted", "delete"), ("sent", "send")]
        {
            assert!(!same(word, known), "{word} {known}");
        }
    }

    #[test]
    fn request_for_later_is_recognised_but_not_text_about_it() {
        for later in [
            "every morning at 8 read notes/a.md",
            "read notes/a.md at 8:30",
            "in 10 minutes read notes/a.md",
            "ogni mattina alle 8 leggi notes/a.md",
            "leggi notes/a.md domani",
            "fra 5 minuti leggi notes/a.md",
            "tutti i giorni leggi notes/a.md",
        ] {
            let tokens = tokens(later).unwrap();
            assert!(is_for_later(&tokens, quoted_from(&tokens)), "{later}");
        }
        for now in [
            "read notes/a.md",
            "note that the bus leaves every day at 8:30",
            "nota: domani piove",
            "find files changed in the last 7 days",
        ] {
            let tokens = tokens(now).unwrap();
            assert!(!is_for_later(&tokens, quoted_from(&tokens)), "{now}");
        }
    }

    #[test]
    fn an_order_is_heard_in_both_languages() {
        assert_eq!(superlative(None, "largest"), Some("largest"));
        assert_eq!(superlative(Some("più"), "lunghe"), Some("longest"));
        assert_eq!(superlative(Some("most"), "recent"), Some("newest"));
        assert_eq!(superlative(None, "lunghe"), None);
    }
}
