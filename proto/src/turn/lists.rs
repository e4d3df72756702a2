//! Lists, as people call them: "the shopping list", "la lista della spesa", and the files that are one. memoryd looks for
//! such files, the reflex resolves what was said to one, and the policy endorses it: all three by this rule. Pure.

use crate::executor::guests;

/// What stands for a list in both languages.
const NOUNS: &str = "list lista elenco";
/// What may stand before the words for a list in English.
const BEFORE: &str = "the my our your a to on onto in into off from";
/// What joins a list with what it is of.
const OF: &str = "of for called named della del dello dei degli delle dell di per chiamata chiamato";
/// Articles, which say nothing of what a list is of.
const ARTICLES: &str = "the a my our your il lo la i gli le l un una mio mia miei mie nostro nostra nostri nostre";
/// What no list is of: "for me", "per favore".
const NO_NAMES: &str = "me us you favore piacere cortesia noi today tomorrow oggi domani";
/// The longest name of what an English list is of, in words.
const MOST_WORDS: usize = 3;
/// The longest text that is looked at, in bytes.
const MOST_TEXT: usize = 4_096;
/// Names that mean the same list.
const SAME: [(&str, &str); 13] = [
    ("spesa", SHOPPING),
    ("grocery", SHOPPING),
    ("groceries", SHOPPING),
    ("to do", TO_DO),
    ("to dos", TO_DO),
    ("todos", TO_DO),
    ("cose da comprare", SHOPPING),
    ("da comprare", SHOPPING),
    ("things to buy", SHOPPING),
    ("cose da fare", TO_DO),
    ("da fare", TO_DO),
    ("tasks", TO_DO),
    ("task", TO_DO),
];
/// What the list is of that a household means by "the list".
const SHOPPING: &str = "shopping";
/// What says that a list is for the one who speaks alone.
const PRIVATE: &str = "private secret personal privata segreta personale privato segreto";
/// Words by which something is used up, needed or done with: the list that is meant then is the one of the shopping.
const SUPPLIES: &str = "out need needs buy finito finita finiti finite senza serve servono manca mancano comprare spunta spuntare \
    depenna depennare cross tick strike";
const TO_DO: &str = "todo";
/// Endings of files that hold a list.
const ENDINGS: [&str; 2] = ["md", "txt"];

/// What a list is of and whether it is one person's own, so that two names of one list are equal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kind {
    of: String,
    private: bool,
}

impl Kind {
    fn of(words: &[String]) -> Self {
        let mark = |word: &String| is_one_of(word, PRIVATE);
        let said: Vec<&str> = words.iter().filter(|word| !mark(word)).map(String::as_str).collect();
        Self { private: words.iter().any(mark), ..Self::named(&said.join(" ")) }
    }

    fn named(said: &str) -> Self {
        let same = SAME.iter().find(|(name, _)| *name == said).map_or(said, |(_, same)| same);
        Self { of: same.to_owned(), private: false }
    }

    /// Whether it is a list that only the person who speaks sees: "my private list".
    #[must_use]
    pub const fn is_private(&self) -> bool {
        self.private
    }

    /// Whether a file of this path holds the list. A private one lies in a private folder; of any other the folder is not looked at.
    #[must_use]
    pub fn is_in(&self, path: &str) -> bool {
        if self.private && path.split('/').next() != Some(guests::PEOPLE) {
            return false;
        }
        let name = path.rsplit('/').next().unwrap_or(path);
        let Some((stem, ending)) = name.rsplit_once('.') else { return false };
        if !ENDINGS.contains(&ending) || stem.is_empty() || stem.starts_with('.') {
            return false;
        }
        let stem = stem.to_lowercase();
        let parts: Vec<&str> = stem.split(|c: char| !c.is_alphanumeric()).filter(|part| !part.is_empty()).collect();
        let names_list = parts.iter().any(|part| is_one_of(part, NOUNS));
        let said = |part: &&&str| !is_one_of(part, NOUNS) && !is_one_of(part, OF) && !is_one_of(part, ARTICLES);
        let own = Self::named(&parts.into_iter().filter(|part| said(&part)).collect::<Vec<_>>().join(" "));
        match (self.of.as_str(), own.of.as_str()) {
            // "The list" is one that is called so, or the one that every household has.
            ("", "") => names_list,
            ("", SHOPPING) => !self.private,
            (_, "") => false,
            (said, own) => said == own,
        }
    }

    /// The name of a file for a list that is not there yet, in English or Italian.
    #[must_use]
    pub fn file_name(&self, italian: bool) -> String {
        match (self.of.as_str(), italian) {
            ("", true) if self.private => "lista.md".to_owned(),
            ("", false) if self.private => "list.md".to_owned(),
            ("" | SHOPPING, true) => "spesa.md".to_owned(),
            ("", false) => "shopping.md".to_owned(),
            (TO_DO, true) => "cose-da-fare.md".to_owned(),
            (own, _) => format!("{}.md", own.replace(' ', "-")),
        }
    }
}

fn is_one_of(word: &str, words: &str) -> bool {
    words.split_ascii_whitespace().any(|known| known == word)
}

/// A word of a text as lists are called by it; several where it has hyphens.
fn plain(word: &str) -> Vec<String> {
    let lower = word.to_lowercase();
    lower.split(|c: char| !c.is_alphanumeric()).filter(|part| !part.is_empty()).map(str::to_owned).collect()
}

/// The list that the first of these words call, and how many of them do: "shopping list", "lista della spesa", "list".
#[must_use]
pub fn phrase(words: &[&str]) -> Option<(usize, Kind)> {
    let noun = words.iter().take(MOST_WORDS + 1).position(|word| is_one_of(&word.to_lowercase(), NOUNS))?;
    // "A new list called camping" is of camping.
    let is_new = |word: &String| word == "new";
    let before: Vec<String> = words[..noun].iter().flat_map(|word| plain(word)).skip_while(is_new).collect();
    if before.iter().any(|word| word != "to" && (is_one_of(word, BEFORE) || is_one_of(word, OF))) {
        return None;
    }
    let is_english = words[noun].eq_ignore_ascii_case("list");
    if !before.is_empty() {
        return is_english.then(|| (noun + 1, Kind::of(&before)));
    }
    // One word, and what is joined to it: "lista dei regali di Natale".
    let (mut end, mut of) = (noun + 1, Vec::new());
    loop {
        let joins = |word: &&&str| {
            let word = word.to_lowercase();
            is_one_of(&word, OF) || !of.is_empty() && word == "da"
        };
        let joined = words.get(end).filter(joins);
        let named = joined
            .map(|_| words[end + 1..].iter().take_while(|word| is_one_of(&word.to_lowercase(), ARTICLES)).count());
        // "Lista spesa", as it is said in a hurry.
        let bare = !is_english
            && words.get(end).is_some_and(|word| {
                of.is_empty() && Kind::of(&plain(word)).of == SHOPPING || is_one_of(&word.to_lowercase(), PRIVATE)
            });
        let at = match (joined, named) {
            (Some(_), Some(articles)) => end + 1 + articles,
            (None, _) | (_, None) if bare => end,
            (_, _) => break,
        };
        let Some(word) = words.get(at).filter(|word| !is_one_of(&word.to_lowercase(), NO_NAMES)) else { break };
        if joined.is_some_and(|word| word.eq_ignore_ascii_case("da")) {
            of.push("da".to_owned());
        }
        of.extend(plain(word));
        end = at + 1;
        let is_mark = of.last().is_some_and(|word| is_one_of(word, PRIVATE));
        if bare && joined.is_none() && !is_mark || of.len() > 2 * MOST_WORDS {
            break;
        }
    }
    Some((end, Kind::of(&of)))
}

/// The list that a household means without naming one, where the words are of what is used up, needed or done with. It names no
/// file: what changes it is asked for.
#[must_use]
pub fn unnamed(text: &str) -> Option<Kind> {
    let text = &text[..text.floor_char_boundary(MOST_TEXT)];
    let is_of_supplies = |word: &str| is_one_of(&word.to_lowercase(), SUPPLIES);
    text.split(|c: char| !c.is_alphanumeric()).any(is_of_supplies).then(|| Kind::named(SHOPPING))
}

/// The list that the first of these words call without the noun, and how many of them do: "dalla spesa", "to the shopping", "alle cose da
/// fare", "to my todos". `before` are the words before them, with the preposition that makes a place of it.
#[must_use]
pub fn bare(words: &[&str], before: &[&str]) -> Option<(usize, Kind)> {
    let before = |back: usize, words: &str| {
        let at = before.len().checked_sub(back);
        at.is_some_and(|at| is_one_of(&before[at].to_lowercase(), words))
    };
    let english = || before(1, "the my our") && before(2, "to on onto in into off from");
    let italian = || {
        before(1, "alle nelle dalle sulle")
            || before(1, "le") && before(2, "tra fra")
            || before(1, "mie") && before(2, "alle nelle dalle")
    };
    let first: Vec<String> = words.iter().take(3).map(|word| word.to_lowercase()).collect();
    let (count, of, is_place) = match first.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["spesa", ..] => (1, SHOPPING, before(1, "alla nella dalla sulla")),
        ["shopping" | "groceries", ..] => (1, SHOPPING, english()),
        ["todos" | "to-dos" | "tasks", ..] => (1, TO_DO, english()),
        ["cose", "da", "fare"] => (3, TO_DO, italian()),
        ["cose", "da", "comprare" | "prendere"] => (3, SHOPPING, italian()),
        _ => return None,
    };
    is_place.then(|| (count, Kind::named(of)))
}

/// The lists that a text calls.
#[must_use]
pub fn called(text: &str) -> Vec<Kind> {
    let text = &text[..text.floor_char_boundary(MOST_TEXT)];
    let words: Vec<&str> = text
        .split(|c: char| c.is_whitespace() || matches!(c, '\'' | '’'))
        .map(|word| word.trim_matches(|c: char| !c.is_alphanumeric()))
        .filter(|word| !word.is_empty())
        .collect();
    let mut found = Vec::new();
    for at in 0..words.len() {
        let follows = at.checked_sub(1).is_some_and(|before| is_one_of(&words[before].to_lowercase(), BEFORE));
        let italian = !words[at].eq_ignore_ascii_case("list") && is_one_of(&words[at].to_lowercase(), NOUNS);
        let by_noun = phrase(&words[at..]).filter(|_| follows || italian).map(|(_, kind)| kind);
        if let Some(kind) = by_noun.or_else(|| bare(&words[at..], &words[..at]).map(|(_, kind)| kind))
            && !found.contains(&kind)
        {
            found.push(kind);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(text: &str) -> Vec<String> {
        called(text).into_iter().map(|kind| kind.of).collect()
    }

    #[test]
    fn a_list_is_known_by_what_it_is_of_in_both_languages() {
        for (text, of) in [
            ("add eggs to the shopping list", "shopping"),
            ("aggiungi le uova alla lista della spesa", "shopping"),
            ("metti il latte nella lista", ""),
            ("write bread on the list, please", ""),
            ("add eggs to the list for me", ""),
            ("metti il pane nella lista per favore", ""),
            ("put stamps on my to-do list", "todo"),
            ("aggiungi pagare il bollo alla lista delle cose da fare", "todo"),
            ("aggiungi una bambola alla lista dei regali di Natale", "regali natale"),
            ("add a doll to the list of presents", "presents"),
            ("scrivi pane sulla lista spesa", "shopping"),
            ("what is on our Packing List?", "packing"),
            ("make a list called packing", "packing"),
            ("make a new list called packing", "packing"),
            ("togli latte e caffè dalla spesa", "shopping"),
            ("put eggs on the shopping", "shopping"),
            ("crea una lista chiamata valigia", "valigia"),
        ] {
            assert_eq!(kind(text), [of], "{text}");
        }
        for text in [
            "list notes",
            "please list the files",
            "listen to me",
            "",
            "list",
            "la spesa è cara",
            "go shopping",
            "the shopping is done",
        ] {
            assert_eq!(kind(text), Vec::<String>::new(), "{text}");
        }
    }

    #[test]
    fn a_file_holds_a_list_when_its_name_says_so() {
        let is_in = |text: &str, path: &str| called(text).iter().any(|kind| kind.is_in(path));
        let shopping =
            ["notes/shopping.md", "shopping-list.md", "notes/lista-della-spesa.md", "spesa.txt", "Lista_Spesa.md"];
        for path in shopping {
            for text in ["on the shopping list", "sulla lista della spesa"] {
                assert!(is_in(text, path), "{path} {text}");
            }
        }
        for path in ["notes/list.md", "lista.md", "notes/shopping.md", "spesa.md"] {
            assert!(is_in("on the list", path), "{path}");
        }
        for path in
            ["notes/journal.md", "data/spese.csv", "shopping.csv", ".shopping.md", "la.md", "notes/list.md", "shopping"]
        {
            assert!(!is_in("on the shopping list", path), "{path}");
        }
        assert!(is_in("lista dei regali di Natale", "regali-natale.md") && !is_in("on the list", "regali.md"));
    }

    #[test]
    fn a_private_list_lies_in_a_private_folder_and_nowhere_else() {
        for (text, name, italian) in [
            ("add perfume to my private list", "list.md", false),
            ("what is on my secret gift list?", "gift.md", false),
            ("put a book on my personal shopping list", "shopping.md", false),
            ("aggiungi un profumo alla mia lista privata", "lista.md", true),
            ("metti un libro nella mia lista segreta dei regali", "regali.md", true),
            ("cosa c'è nella lista personale della spesa", "spesa.md", true),
            ("aggiungi un libro alla mia lista dei regali privata", "regali.md", true),
        ] {
            let kinds = called(text);
            assert!(kinds.len() == 1 && kinds[0].is_private(), "{text}: {kinds:?}");
            assert_eq!(kinds[0].file_name(italian), name, "{text}");
            assert!(kinds[0].is_in(&format!("people/anna/{name}")), "{text}");
            assert!(!kinds[0].is_in(&format!("notes/{name}")), "{text}");
        }
        for text in ["add milk to the shopping list", "aggiungi il latte alla lista della spesa", "on the list"] {
            assert!(called(text).iter().all(|kind| !kind.is_private()), "{text}");
        }
    }

    #[test]
    fn a_list_that_is_not_there_has_a_name_in_the_language_of_the_words() {
        let name = |text: &str, italian: bool| called(text)[0].file_name(italian);
        assert_eq!(name("to the shopping list", false), "shopping.md");
        assert_eq!(name("alla lista della spesa", true), "spesa.md");
        assert_eq!(name("to the list", false), "shopping.md");
        assert_eq!(name("alla lista delle cose da fare", true), "cose-da-fare.md");
        assert_eq!(name("to the to-do list", false), "todo.md");
        for (text, italian) in
            [("to the shopping list", false), ("nella lista", true), ("alla lista dei regali di Natale", true)]
        {
            assert!(called(text)[0].is_in(&name(text, italian)), "{text}");
        }
    }
}
