//! What the reflex knows of English and Italian: which words carry no weight, which mean the same,
//! and how words resemble each other. It knows languages, never executors.

use std::collections::HashMap;
use std::sync::LazyLock;

use metnos_proto::msg::common::Lang;

/// What a word means to the reflex.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mark {
    /// It belongs to the grammar or to politeness.
    Free,
    /// It joins clauses.
    And,
    /// It stands for one of the concepts that both languages share.
    Concept(&'static str),
    /// Any other word, by its stem.
    Stem(String),
}

impl Mark {
    /// The mark of whatever needs no explanation.
    pub const FREE: Self = Self::Free;

    /// How much it counts when two requests are compared; 0 for grammar.
    #[must_use]
    pub fn weight(&self) -> f32 {
        match self {
            Self::Free | Self::And => 0.0,
            Self::Concept("what") => 0.5,
            Self::Concept("in" | "file" | "folder" | "root") => 0.3,
            Self::Concept("have") => 0.1,
            Self::Concept("greeting" | "thanks") => 0.0,
            Self::Concept("status") => 0.9,
            Self::Concept(_) | Self::Stem(_) => 1.0,
        }
    }

    /// Whether it only says what kind of thing a path is.
    #[must_use]
    pub fn is_path_noun(&self) -> bool {
        matches!(self, Self::Concept("file" | "folder" | "root"))
    }

    /// How well a word of a contract (`other`) explains this word of a request, in [0, 1].
    #[must_use]
    pub fn likeness(&self, other: &Self) -> f32 {
        match (self, other) {
            // Anyone who says "show" may mean either; anyone who says "list" does not mean "read".
            (Self::Concept("show"), Self::Concept("read" | "list")) => 0.85,
            (Self::Concept(a), Self::Concept(b)) if a == b => 1.0,
            (Self::Stem(a), Self::Stem(b)) if a == b => 1.0,
            (Self::Stem(a), Self::Stem(b)) if may_be_a_slip(a, b) => {
                let likeness = likeness(a, b);
                if likeness >= FUZZY { likeness } else { 0.0 }
            }
            (Self::Free | Self::And | Self::Concept(_) | Self::Stem(_), _) => 0.0,
        }
    }
}

/// Words shorter than this are never taken for a misspelling of another.
const MIN_FUZZY: usize = 6;
/// From this likeness on, a word is taken for a misspelling of another.
const FUZZY: f32 = 0.7;

/// Grammar and politeness, in English.
const FREE_EN: &str = "a an the this that these those my your our me i you we us it its is are be there here to for \
    from please pls can could would will want wanna need of at on do does tell give let s re ll d kindly now just \
    metnos like called named into";
/// Grammar and politeness, in Italian.
const FREE_IT: &str = "il lo la i gli le l un uno una del dello della dei degli delle dell di al allo alla ai agli \
    alle all da dal dalla dallo dai mi me ti ci c è c'è c'e sono per favore piacere puoi potresti vorrei \
    voglio devi dimmi dici dammi su sul sulla a ad adesso ora subito questo questa questi queste quello quella quel mio mia \
    miei mie tuo tua nostro nostra metnos chiamato chiamata cos com dov ne si";
/// Joins clauses.
const AND: &[(&str, Lang)] =
    &[("and", Lang::En), ("then", Lang::En), ("e", Lang::It), ("ed", Lang::It), ("poi", Lang::It)];

/// A concept, and the words for it in English and in Italian.
const CONCEPTS: &[(&str, &str, &str)] = &[
    ("read", "read cat say says written", "leggi leggere leggimi legga leggermi dice scritto"),
    (
        "show",
        "show display open view see print content contents contain contains",
        "mostra mostrare mostrami mostri vedi vedere visualizza apri aprire aprimi stampa contenuto contenuti contiene \
         contengono",
    ),
    ("list", "list ls enumerate listing", "elenca elencare elencami elenco lista"),
    ("count", "count number", "conta contare contami quanti quante numero"),
    ("word", "word words", "parola parole"),
    ("line", "line lines", "riga righe linea linee"),
    ("character", "character characters char chars", "carattere caratteri"),
    ("file", "file files document documents", "documento documenti"),
    ("folder", "folder folders directory directories dir subfolder", "cartella cartelle sottocartella"),
    ("root", "workspace", "workspace"),
    ("what", "what which what's", "cosa che cos'è cos'e quale quali"),
    ("in", "in inside within", "in nel nello nella nei negli nelle nell dentro"),
    ("have", "have has", "ha hanno"),
    ("greeting", "hello hi hey hiya greetings", "ciao salve buongiorno buonasera ehi"),
    ("thanks", "thanks thx cheers", "grazie"),
    ("help", "help", "aiuto aiutami"),
    ("status", "status", "stato"),
    ("delete", "delete remove erase", "cancella cancellare elimina eliminare rimuovi rimuovere"),
    ("add", "add append", "aggiungi aggiungere accoda accodare appendi"),
    ("rename", "rename move", "rinomina rinominare sposta spostare"),
    ("find", "find search look", "trova trovare trovami cerca cercare cercami"),
];

/// What a label of a result is called, one and many, in English and in Italian; in the order in
/// which numbers are distinguished.
const LABELS: &[(&str, [&str; 4])] = &[
    ("word", ["word", "words", "parola", "parole"]),
    ("line", ["line", "lines", "riga", "righe"]),
    ("character", ["character", "characters", "carattere", "caratteri"]),
    ("byte", ["byte", "bytes", "byte", "byte"]),
    ("file", ["file", "files", "file", "file"]),
    ("folder", ["folder", "folders", "cartella", "cartelle"]),
    ("page", ["page", "pages", "pagina", "pagine"]),
    ("total", ["in all", "in all", "in tutto", "in tutto"]),
    ("returned", ["shown", "shown", "mostrato", "mostrati"]),
    ("failed", ["failed", "failed", "non riuscito", "non riusciti"]),
    ("size", ["byte", "bytes", "byte", "byte"]),
];

struct Entry {
    mark: Mark,
    /// The language the word gives away; `None` when it is one of both.
    lang: Option<Lang>,
}

static WORDS: LazyLock<HashMap<&'static str, Entry>> = LazyLock::new(|| {
    let mut words: HashMap<&'static str, Entry> = HashMap::new();
    let mut add = |word: &'static str, mark: Mark, lang: Lang| {
        words
            .entry(word)
            .and_modify(|entry| {
                if entry.lang != Some(lang) {
                    entry.lang = None;
                }
            })
            .or_insert(Entry { mark, lang: Some(lang) });
    };
    for (word, lang) in AND {
        add(word, Mark::And, *lang);
    }
    for (concept, english, italian) in CONCEPTS {
        for word in english.split_whitespace() {
            add(word, Mark::Concept(concept), Lang::En);
        }
        for word in italian.split_whitespace() {
            add(word, Mark::Concept(concept), Lang::It);
        }
    }
    for word in FREE_EN.split_whitespace() {
        add(word, Mark::Free, Lang::En);
    }
    for word in FREE_IT.split_whitespace() {
        add(word, Mark::Free, Lang::It);
    }
    words
});

/// In lower case, with the plain apostrophe.
fn plain(word: &str) -> String {
    let lower = word.to_lowercase();
    if lower.contains('’') { lower.replace('’', "'") } else { lower }
}

/// Whether the lexicon has this word.
#[must_use]
pub fn knows(plain: &str) -> bool {
    WORDS.contains_key(plain)
}

/// What the lexicon says of a word, whatever its case.
#[must_use]
pub fn mark(word: &str) -> Mark {
    let lower = plain(word);
    match WORDS.get(lower.as_str()) {
        Some(entry) => entry.mark.clone(),
        None => Mark::Stem(stem(&lower)),
    }
}

/// The mark of a word that may be misspelt: a long unknown word counts as the known one that it
/// resembles most.
#[must_use]
pub fn forgiving_mark(word: &str) -> Option<Mark> {
    let lower = word.to_lowercase();
    WORDS
        .iter()
        .filter(|(known, _)| may_be_a_slip(&lower, known))
        .map(|(known, entry)| (likeness(&lower, known), *known, entry))
        .filter(|(likeness, ..)| *likeness >= FUZZY)
        .max_by(|a, b| a.0.total_cmp(&b.0).then(b.1.cmp(a.1)))
        .map(|(_, _, entry)| entry.mark.clone())
}

/// The language that a word gives away, if it is one of only one.
#[must_use]
pub fn language_of_word(word: &str) -> Option<Lang> {
    let lower = word.to_lowercase();
    // English, or what an apostrophe leaves of "alla".
    if lower == "all" {
        return None;
    }
    if let Some(entry) = WORDS.get(lower.as_str()) {
        return entry.lang;
    }
    if lower.contains(['à', 'è', 'é', 'ì', 'ò', 'ù']) { Some(Lang::It) } else { None }
}

/// Cuts `l'elenco` and `what's` in two; leaves `don't` and words that the lexicon knows whole.
#[must_use]
pub fn split_apostrophes(word: &str) -> Vec<&str> {
    if !word.contains(['\'', '’']) {
        return vec![word];
    }
    let lower = plain(word);
    if WORDS.contains_key(lower.as_str()) || lower.ends_with("n't") {
        return vec![word];
    }
    word.split(['\'', '’']).filter(|part| !part.is_empty()).collect()
}

/// Whether a word points at something that was said before, or stands in front of the speaker.
#[must_use]
pub fn points_at_something(word: &str) -> bool {
    is_one_of(word, "it this that these those them questo questa questi queste quello quella quel lo")
}

/// Whether a word speaks of files in general.
#[must_use]
pub fn is_plural_of_file(word: &str) -> bool {
    is_one_of(word, "files documents documenti")
}

fn is_one_of(word: &str, words: &str) -> bool {
    words.split_ascii_whitespace().any(|known| known.len() == word.len() && known.eq_ignore_ascii_case(word))
}

/// Whether a text with a slash is an idiom and no path.
#[must_use]
pub fn is_slashed_word(text: &str) -> bool {
    ["and/or", "e/o", "he/she", "yes/no", "si/no", "sì/no", "on/off", "w/o", "n/a", "24/7"]
        .iter()
        .any(|idiom| text.eq_ignore_ascii_case(idiom))
}

/// What a number of this name is called, and its place among others; `None` when the lexicon does
/// not know the name.
#[must_use]
pub fn label(name: &str, count_is_one: bool, lang: Lang) -> Option<(usize, &'static str)> {
    let mark = mark(name);
    let matches = |label: &str| match &mark {
        Mark::Concept(concept) => *concept == label,
        Mark::Stem(stem) => stem == label,
        Mark::Free | Mark::And => false,
    };
    let place = LABELS.iter().position(|(label, _)| matches(label))?;
    let forms = LABELS[place].1;
    let form = match (lang, count_is_one) {
        (Lang::En, true) => forms[0],
        (Lang::En, false) => forms[1],
        (Lang::It, true) => forms[2],
        (Lang::It, false) => forms[3],
    };
    Some((place, form))
}

/// Slips happen inside a long word; another ending is another word, and so is one much longer. Cheap, so
/// that few pairs are compared letter by letter.
fn may_be_a_slip(a: &str, b: &str) -> bool {
    a.len() >= MIN_FUZZY
        && b.len() >= MIN_FUZZY
        && a.len().abs_diff(b.len()) <= 2
        && a.chars().next() == b.chars().next()
        && a.chars().next_back() == b.chars().next_back()
}

/// The part of a word that its forms share, roughly.
fn stem(lower: &str) -> String {
    let folded: String = lower.chars().map(fold).collect();
    let mut stem = folded.as_str();
    if stem.len() > 3 && !stem.ends_with("ss") {
        stem = stem.strip_suffix('s').unwrap_or(stem);
    }
    if stem.len() > 5 {
        stem = stem.strip_suffix(['a', 'e', 'i', 'o']).unwrap_or(stem);
    }
    stem.to_owned()
}

/// A small letter without the accent that Italian writes.
pub(crate) const fn fold(c: char) -> char {
    match c {
        'à' | 'á' => 'a',
        'è' | 'é' => 'e',
        'ì' | 'í' => 'i',
        'ò' | 'ó' => 'o',
        'ù' | 'ú' => 'u',
        other => other,
    }
}

/// How many groups of three letters two texts share, as Dice's coefficient in [0, 1].
#[must_use]
pub fn likeness(a: &str, b: &str) -> f32 {
    Grams::of(a).likeness(&Grams::of(b))
}

/// The groups of three letters of a text, which begins and ends with a mark of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grams(Vec<[char; 3]>);

impl Grams {
    /// Those of the first 64 letters.
    #[must_use]
    pub fn of(text: &str) -> Self {
        let padded: Vec<char> = std::iter::once('^').chain(text.chars().take(64)).chain(std::iter::once('$')).collect();
        let mut groups: Vec<[char; 3]> = padded.windows(3).map(|w| [w[0], w[1], w[2]]).collect();
        groups.sort_unstable();
        Self(groups)
    }

    /// Dice's coefficient with another text, in [0, 1].
    #[must_use]
    pub fn likeness(&self, other: &Self) -> f32 {
        let (mut i, mut j, mut shared) = (0, 0, 0_u16);
        while let (Some(left), Some(right)) = (self.0.get(i), other.0.get(j)) {
            match left.cmp(right) {
                std::cmp::Ordering::Less => i += 1,
                std::cmp::Ordering::Greater => j += 1,
                std::cmp::Ordering::Equal => {
                    shared = shared.saturating_add(1);
                    i += 1;
                    j += 1;
                }
            }
        }
        let total = u16::try_from(self.0.len() + other.0.len()).unwrap_or(u16::MAX).max(1);
        2.0 * f32::from(shared) / f32::from(total)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn words_of_both_languages_share_a_concept() {
        for (english, italian) in [("read", "Leggi"), ("list", "elenca"), ("words", "parole"), ("folder", "cartella")] {
            assert_eq!(mark(english), mark(italian));
            assert!(matches!(mark(english), Mark::Concept(_)));
        }
    }

    #[test]
    fn a_misspelt_word_is_recognised_and_a_different_one_is_not() {
        assert_eq!(forgiving_mark("directoy"), Some(Mark::Concept("folder")));
        assert_eq!(forgiving_mark("caratteeri"), Some(Mark::Concept("character")));
        for other in ["listen", "ready", "counter", "worldwide", "mostro", "leggero", "reader"] {
            assert_eq!(forgiving_mark(other), None, "{other}");
        }
    }

    #[test]
    fn a_denial_is_never_grammar() {
        for word in ["not", "don't", "non", "never", "mai", "without", "senza", "no", "except"] {
            assert!(mark(word).weight() > 0.9, "{word}");
        }
    }

    #[test]
    fn numbers_are_told_in_the_persons_language() {
        assert_eq!(label("words", false, Lang::It).unwrap().1, "parole");
        assert_eq!(label("lines", true, Lang::En).unwrap().1, "line");
        assert_eq!(label("entropy", true, Lang::En), None);
    }
}
