//! A request, or a line of a pattern, as the words that it says: without capitals, accents and apostrophes, with contractions
//! written out, each Italian preposition without the article in it. Two spellings of one word are equal here. It knows
//! languages, never executors.

use std::hash::{DefaultHasher, Hash, Hasher};

use metnos_proto::msg::common::Lang;

use crate::words::token::{Kind, Token};

/// A word of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Said {
    /// Its plain spelling.
    pub plain: String,
    /// The token that it stands in.
    pub token: usize,
    /// Whether it is the first of that token.
    pub first: bool,
    /// Whether it is a word, and not a value such as a path.
    pub is_word: bool,
}

/// What a contraction stands for.
const CONTRACTIONS: &[(&str, &[&str])] = &[
    ("what's", &["what", "is"]),
    ("cos'e", &["cosa", "e"]),
    ("c'e", &["c", "e"]),
    ("can't", &["can", "not"]),
    ("won't", &["will", "not"]),
];
/// What is often typed without its apostrophe, and is no other word.
const UNMARKED: &[(&str, &[&str])] = &[
    ("ce", &["c", "e"]),
    ("whats", &["what", "is"]),
    ("wheres", &["where", "is"]),
    ("whens", &["when", "is"]),
    ("whos", &["who", "is"]),
    ("hows", &["how", "is"]),
    ("theres", &["there", "is"]),
    ("thats", &["that", "is"]),
    ("dont", &["do", "not"]),
    ("doesnt", &["does", "not"]),
    ("didnt", &["did", "not"]),
    ("cant", &["can", "not"]),
    ("im", &["i", "am"]),
    ("ive", &["i", "have"]),
    ("weve", &["we", "have"]),
    ("youre", &["you", "are"]),
];
/// What the first part of an Italian contraction is without it.
const CUT: &[(&str, &str)] = &[
    ("dov", "dove"),
    ("cos", "cosa"),
    ("com", "come"),
    ("quand", "quando"),
    ("quant", "quanto"),
    ("quest", "questo"),
    ("quell", "quello"),
];
/// What the part of an English contraction behind the apostrophe stands for, and behind which words.
const BEHIND: &[(&str, &str, &str)] = &[
    ("s", "is", "what who where how when why it that there here"),
    ("re", "are", "what who where how when why they you we"),
    ("m", "am", "i"),
    ("ll", "will", "i you he she it we they that there"),
    ("d", "would", "i you he she it we they"),
    ("ve", "have", "i you we they"),
];
/// Articles, possessives and what points at what is in front of the speaker, in English: they may stand before any part.
const ARTICLES_EN: &str = "the a an my our this these";
/// The same in Italian.
const ARTICLES_IT: &str =
    "il lo la i gli le l un uno una mio mia miei mie nostro nostra nostri nostre questo questa questi queste";
/// Italian prepositions, each with the article in it.
const PREPOSITIONS: &[(&str, &str)] = &[
    ("a", "a ad al allo alla ai agli alle all"),
    ("di", "di d del dello della dei degli delle dell"),
    ("da", "da dal dallo dalla dai dagli dalle dall"),
    ("in", "in nel nello nella nei negli nelle nell"),
    ("su", "su sul sullo sulla sui sugli sulle sull"),
    ("con", "con col coi"),
];
/// From how many letters on a word may have a typing error.
const MIN_SLIP: usize = 5;
/// Words that are no slips of others, though they come near to words that requests begin with.
const OTHERS: &str = "white wrote whole quite remote removed there these those where count county mount month fined hound sound \
    server sever clean clear close opens spell shall skate stake trade grade reads ready lists lost least finds fires files filed \
    moved mover deleted added notes noted votes creata cerco cerchi trovo mostro mostri contro canto conte porto corta carta \
    sposto scritto legge letto lista posta penna panna canna ricordami ricordaci porta pasta pista malls mains maids \
    train brain drain grain venti vanto metto grandi grado fredda fredde wendy window storie store stony hears wears pieve prove \
    degree gelato gelata piace neves event evento diary dairy";

fn is_one_of(word: &str, words: &str) -> bool {
    words.split_ascii_whitespace().any(|known| known == word)
}

/// A letter without its accent.
const fn bare(c: char) -> char {
    match c {
        'à' | 'á' | 'â' | 'ä' | 'ã' | 'å' => 'a',
        'è' | 'é' | 'ê' | 'ë' => 'e',
        'ì' | 'í' | 'î' | 'ï' => 'i',
        'ò' | 'ó' | 'ô' | 'ö' | 'õ' => 'o',
        'ù' | 'ú' | 'û' | 'ü' => 'u',
        'ç' => 'c',
        'ñ' => 'n',
        '’' | '‘' | 'ʼ' => '\'',
        other => other,
    }
}

/// The plain spelling of a text: lower case, no accents, the plain apostrophe.
#[must_use]
pub fn plain(text: &str) -> String {
    if text.bytes().all(|b| b.is_ascii_lowercase()) {
        return text.to_owned();
    }
    text.chars().flat_map(char::to_lowercase).map(bare).collect()
}

/// The words of one token; most have one.
fn of_token(text: &str) -> Vec<String> {
    let lower = plain(text);
    let trimmed = lower.trim_matches(|c: char| !c.is_alphanumeric());
    if trimmed.bytes().all(|b| b.is_ascii_alphanumeric()) {
        let whole = CUT.iter().find(|(cut, _)| *cut == trimmed).map_or(trimmed, |(_, whole)| *whole);
        let unmarked = UNMARKED.iter().find(|(known, _)| *known == whole).map(|(_, words)| *words);
        return unmarked.unwrap_or(&[whole]).iter().map(|word| (*word).to_owned()).collect();
    }
    if let Some((_, words)) = CONTRACTIONS.iter().find(|(known, _)| *known == trimmed) {
        return words.iter().map(|word| (*word).to_owned()).collect();
    }
    if let Some(verb) = trimmed.strip_suffix("n't").filter(|verb| !verb.is_empty()) {
        return vec![verb.to_owned(), "not".to_owned()];
    }
    let parts = trimmed.split(['\'', '-', '/']).filter(|part| !part.is_empty());
    let whole = |part: &str| CUT.iter().find(|(cut, _)| *cut == part).map_or(part, |(_, whole)| *whole).to_owned();
    parts.map(whole).collect()
}

/// The words that these tokens of `text` say. A value is one word.
#[must_use]
pub fn said(text: &str, tokens: &[Token<'_>]) -> Vec<Said> {
    let mut all: Vec<Said> = Vec::with_capacity(tokens.len() + 4);
    for (at, token) in tokens.iter().enumerate() {
        let is_word =
            matches!(token.kind, Kind::Word | Kind::Number) && !token.text.starts_with(|c: char| c.is_ascii_digit());
        if !is_word {
            all.push(Said { plain: plain(token.text), token: at, first: true, is_word: false });
            continue;
        }
        let mut words = of_token(token.text);
        if let ([word], Some(before)) = (words.as_mut_slice(), at.checked_sub(1).map(|before| &tokens[before]))
            && is_behind_apostrophe(text, before, token)
            && let Some((_, full, _)) = BEHIND
                .iter()
                .find(|(part, _, after)| part == word && all.last().is_some_and(|last| is_one_of(&last.plain, after)))
        {
            *word = (*full).to_owned();
        }
        let of = |(nth, plain)| Said { plain, token: at, first: nth == 0, is_word: true };
        all.extend(words.into_iter().enumerate().map(of));
    }
    all
}

/// Whether nothing but an apostrophe stands between two tokens.
fn is_behind_apostrophe(text: &str, before: &Token<'_>, token: &Token<'_>) -> bool {
    matches!(text.get(before.start + before.text.len()..token.start), Some("'" | "’"))
}

/// The words of a line of a pattern, each as it must be said.
#[must_use]
pub fn of_pattern(word: &str) -> Vec<String> {
    of_token(word)
}

/// Whether a word is only an article.
#[must_use]
pub fn is_bare_article(plain: &str, lang: Lang) -> bool {
    match lang {
        Lang::En => is_one_of(plain, "the a an"),
        Lang::It => is_one_of(plain, "il lo la i gli le l un uno una"),
    }
}

/// What all forms of a word share in which a request may have it: an Italian verb in the forms of asking, an Italian
/// preposition with and without an article.
#[must_use]
pub fn form(plain: &str, lang: Lang) -> &str {
    match lang {
        Lang::En => plain,
        Lang::It => {
            let preposition = PREPOSITIONS.iter().find(|(_, forms)| is_one_of(plain, forms));
            preposition.map_or_else(|| asking_base(plain), |(bare, _)| *bare)
        }
    }
}

/// What imperative, infinitive and polite form of an Italian verb share, with the person for whom it is done left out.
fn asking_base(word: &str) -> &str {
    const LEAST: usize = 4;
    if word.len() <= LEAST || !word.is_ascii() {
        return word;
    }
    let long = |base: &&str| base.len() >= LEAST;
    let own = ["mi", "ci"].iter().find_map(|clitic| word.strip_suffix(clitic)).filter(long).unwrap_or(word);
    let base = own.strip_suffix("re").or_else(|| own.strip_suffix('r')).filter(long).unwrap_or(own);
    // "Cerca" and "cerchi", "paga" and "paghi" are one verb.
    let base = base.strip_suffix("hi").filter(|base| base.len() >= LEAST && base.ends_with(['c', 'g'])).unwrap_or(base);
    base.strip_suffix(['a', 'e', 'i']).filter(long).unwrap_or(base)
}

/// A number for a form, so that it is compared only once.
#[must_use]
pub fn key(form: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    form.hash(&mut hasher);
    hasher.finish()
}

/// Whether a word may stand before any part of a request without saying anything.
#[must_use]
pub fn is_article(plain: &str, lang: Lang) -> bool {
    match lang {
        Lang::En => is_one_of(plain, ARTICLES_EN),
        Lang::It => is_one_of(plain, ARTICLES_IT),
    }
}

/// Whether a word only points at what was said before, or asks: no text begins with it alone.
#[must_use]
pub fn is_pronoun(plain: &str) -> bool {
    const WORDS: &str = "it this that these those them he she him her they who what which where when why how everything anything \
        something nothing questo questa questi queste quello quella quelli quelle quel cio lo li ne che chi cosa quale quali dove \
        quando perche come tutto qualcosa niente nulla";
    is_one_of(plain, WORDS)
}

/// Whether a word is a known one by itself, however near it comes to another.
#[must_use]
pub fn is_other_word(plain: &str) -> bool {
    is_one_of(plain, OTHERS)
}

/// Whether `typed` is `known` with one typing error: a letter too many, too few, another, or two in the wrong order; never
/// the first or the last one, which make another word or another form of it.
#[must_use]
pub fn is_slip(typed: &str, known: &str) -> bool {
    let (a, b): (Vec<char>, Vec<char>) = (typed.chars().collect(), known.chars().collect());
    if a.len() < MIN_SLIP || b.len() < MIN_SLIP || a.len().abs_diff(b.len()) > 1 {
        return false;
    }
    if a.first() != b.first() || a.last() != b.last() || a == b {
        return false;
    }
    let same = a.iter().zip(&b).take_while(|(a, b)| a == b).count();
    let (a, b) = (&a[same..], &b[same..]);
    match a.len().cmp(&b.len()) {
        std::cmp::Ordering::Greater => a[1..] == *b,
        std::cmp::Ordering::Less => *a == b[1..],
        std::cmp::Ordering::Equal => {
            a[1..] == b[1..] || a.len() > 1 && a[0] == b[1] && a[1] == b[0] && a[2..] == b[2..]
        }
    }
}

/// Whether a token is nothing but a picture.
#[must_use]
pub fn is_emoji(token: &Token<'_>) -> bool {
    const FIRST: char = '\u{2190}';
    token.kind == Kind::Word
        && !token.text.is_empty()
        && token.text.chars().all(|c| c >= FIRST && !c.is_alphanumeric() || is_joiner(c))
}

/// What joins pictures to one, or says how one is drawn.
const fn is_joiner(c: char) -> bool {
    matches!(c, '\u{200d}' | '\u{fe0f}' | '\u{fe0e}' | '\u{20e3}')
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::words::token::tokens;

    fn words(text: &str) -> String {
        said(text, &tokens(text).unwrap()).into_iter().map(|one| one.plain).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn spellings_of_one_word_are_equal() {
        for (text, wanted) in [
            ("What's in IT?", "what is in it"),
            ("what’s", "what is"),
            ("who's there", "who is there"),
            ("where’s it", "where is it"),
            ("my friend's", "my friend s"),
            ("I'm, don't, isn't, can't", "i am do not is not can not"),
            ("Cos'è, cosa c’è, dov'è", "cosa e cosa c e dove e"),
            ("cosa ce", "cosa c e"),
            ("perché l'elenco dell’olio", "perche l elenco dell olio"),
            ("to-do list", "to do list"),
        ] {
            assert_eq!(words(text), wanted, "{text}");
        }
    }

    #[test]
    fn italian_forms_of_asking_and_contracted_prepositions_are_one() {
        let same = |a: &str, b: &str| form(a, Lang::It) == form(b, Lang::It);
        for (a, b) in [
            ("aggiungi", "aggiungere"),
            ("aggiungi", "aggiungimi"),
            ("aggiungi", "aggiunga"),
            ("cerca", "cercami"),
            ("cerca", "cercare"),
            ("cerca", "cerchi"),
            ("mostra", "mostrami"),
            ("alla", "a"),
            ("nei", "in"),
            ("dell", "di"),
            ("sugli", "su"),
        ] {
            assert!(same(a, b), "{a} {b}");
        }
        for (a, b) in [("archiviato", "archivia"), ("archivio", "archivia"), ("cancellalo", "cancella"), ("sul", "a")] {
            assert!(!same(a, b), "{a} {b}");
        }
        assert_eq!(form("alla", Lang::En), "alla");
    }

    #[test]
    fn one_typing_error_is_forgiven_in_long_words_but_no_other_form() {
        for (typed, known) in [
            ("delte", "delete"),
            ("delette", "delete"),
            ("serach", "search"),
            ("shoping", "shopping"),
            ("remuve", "remove"),
        ] {
            assert!(is_slip(typed, known), "{typed} {known}");
        }
        for (typed, known) in [
            ("deleted", "delete"),
            ("lits", "list"),
            ("notte", "note"),
            ("delete", "delete"),
            ("dlt", "delete"),
            ("aggiungo", "aggiungi"),
        ] {
            assert!(!is_slip(typed, known), "{typed} {known}");
        }
    }

    #[test]
    fn pictures_are_no_words() {
        let emoji = |text: &str| is_emoji(&tokens(text).unwrap()[0]);
        assert!(emoji("🛒") && emoji("👨‍👩‍👧") && emoji("❤️") && !emoji("a") && !emoji("&") && !emoji("日"));
    }
}
