//! Lists in a request: where one is called by its name, which file that is, and the things that are put on it.

use metnos_proto::envelope::Named;
use metnos_proto::lists::{self, Kind};

use crate::words::lexicon::Mark;
use crate::words::said;
use crate::words::token::{self, Token};

/// The most things that are put on a list at once.
const MAX_ITEMS: usize = 32;
/// The folder of new lists where nobody has said which.
const USUAL: &str = "notes";
/// What lists are called that may be made under their right names, also where they were mistyped.
const USUAL_NAMES: [&str; 4] = ["shopping", "grocery", "spesa", "packing"];
/// What stands before a thing without saying which.
const ARTICLES: &str = "the a an some il lo la i gli le l un uno una del dello della dei degli delle dell";
/// What says how much there is of a thing: an article before it is said with it, as in "a pair of boots", "un chilo di pane".
const MEASURES: &str = "pair couple few dozen bit lot litre liter kilo gram pound pint gallon ounce bottle can tin box bag pack packet \
    jar carton loaf bunch piece slice cup spoonful handful tube roll quarter paio po litro mezzo chilo etto grammo quintale bottiglia \
    lattina scatola sacchetto sacco pacco pacchetto confezione barattolo vasetto mazzo pezzo fetta manciata dozzina cassa rotolo tubetto \
    quarto";

/// Behind "the shopping" these name another thing: "in the shopping bag".
const NO_SHOPPING: &str = "bag bags basket cart centre center mall street trip trolley";

/// The lists of the caller.
#[derive(Debug, Clone, Copy)]
pub struct Places<'a> {
    /// Files that the words may call.
    pub there: &'a [Named],
    /// Where a new one goes.
    pub folder: &'a str,
    /// Where a private one goes; empty for who has no private folder.
    pub private: &'a str,
    /// Whether the words are Italian.
    pub italian: bool,
}

impl Places<'_> {
    /// Where a new one goes, and a new note.
    #[must_use]
    pub fn folder(&self) -> &str {
        if self.folder.is_empty() { USUAL } else { self.folder }
    }

    /// The file of a list that is called so in `text`; one that is to be made only where that is wanted. `None` where there is
    /// none, or more than one may be meant.
    #[must_use]
    pub fn place(&self, kind: &Kind, text: &str, makes: bool) -> Option<String> {
        let folder = if kind.is_private() { self.private } else { self.folder() };
        let makes = makes && !folder.is_empty();
        let files = self.there.iter().filter(|one| !one.folder).map(|one| &one.path);
        let fitting: Vec<&String> = files.filter(|path| kind.is_in(path)).collect();
        let text = text.to_lowercase();
        // Of several: the one that has the very name, then the one in the folder of lists.
        let named = |path: &str| {
            let name = path.rsplit('/').next().unwrap_or(path);
            let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem).to_lowercase();
            text.contains(&stem.replace(['-', '_'], " "))
        };
        let own = |path: &str| path.rsplit_once('/').is_some_and(|(parent, _)| parent == folder);
        let only = |fits: &dyn Fn(&str) -> bool| {
            let mut fitting = fitting.iter().filter(|path| fits(path));
            fitting.next().filter(|_| fitting.next().is_none()).map(|path| (*path).clone())
        };
        if fitting.is_empty() {
            return match self.mistyped(kind) {
                Some(meant) => self.place(&meant, &text, makes),
                None => makes.then(|| format!("{folder}/{}", kind.file_name(self.italian))),
            };
        }
        only(&|_| true)
            .or_else(|| only(&|path| named(path) && own(path)))
            .or_else(|| only(&named))
            .or_else(|| only(&own))
            // A household of two languages has a list in each: the one in the language of the words.
            .or_else(|| only(&|path| path.rsplit('/').next() == Some(kind.file_name(self.italian).as_str())))
    }

    /// The list whose name comes nearest to that of one which is not there, when it may be a slip: of those that there are, or of
    /// those that every household has.
    fn mistyped(&self, kind: &Kind) -> Option<Kind> {
        let own = kind.file_name(self.italian);
        let own = own.strip_suffix(".md")?;
        let stems = self.there.iter().filter(|one| !one.folder).filter_map(|one| {
            let name = one.path.rsplit('/').next()?;
            Some(name.rsplit_once('.')?.0.to_lowercase())
        });
        let all = stems.chain(USUAL_NAMES.iter().map(|name| (*name).to_owned()));
        let mut near: Vec<Kind> = Vec::new();
        for meant in all.filter(|stem| said::is_slip(own, stem)) {
            let named = lists::called(&format!("the {meant} list"));
            near.extend(named.into_iter().filter(|kind| !near.contains(kind)).collect::<Vec<_>>());
        }
        near.pop().filter(|_| near.is_empty())
    }
}

/// The list that the words from `at` on call, and how many tokens do.
#[must_use]
pub fn called_at(tokens: &[Token<'_>], at: usize) -> Option<(usize, Kind)> {
    const MOST: usize = 12;
    let rest = tokens.get(at..)?;
    let count = rest.iter().take(MOST).take_while(|token| token.kind == token::Kind::Word).count();
    // Nothing of a list's name stands behind a comma.
    let count = rest[..count].iter().position(|token| token.ends_clause).map_or(count, |last| last + 1);
    let words: Vec<&str> = rest[..count].iter().map(|token| token.text).collect();
    let is_english = words.iter().position(|word| word.eq_ignore_ascii_case("list"));
    // "List notes" calls no list: only what is preceded by an article or a preposition does.
    if is_english == Some(0)
        && at.checked_sub(1).is_none_or(|before| tokens[before].mark != Mark::Free && !is_way(tokens, before))
    {
        return None;
    }
    lists::phrase(&words).or_else(|| {
        let before: Vec<&str> = tokens[at.saturating_sub(2)..at].iter().map(|token| token.text).collect();
        let (count, kind) = lists::bare(&words, &before)?;
        words.get(count).is_none_or(|next| !is_one_of(next, NO_SHOPPING)).then_some((count, kind))
    })
}

/// The words of a text that call a list, the first ones that do.
#[must_use]
pub fn called_in(text: &str) -> Option<&str> {
    let tokens = token::tokens(text)?;
    let (at, (count, _)) = (0..tokens.len()).find_map(|at| Some((at, called_at(&tokens, at)?)))?;
    let (first, last) = (tokens.get(at)?, tokens.get((at + count).checked_sub(1)?)?);
    text.get(first.start..last.start + last.text.len())
}

fn is_way(tokens: &[Token<'_>], at: usize) -> bool {
    crate::words::grammar::way(tokens[at].text).is_some()
}

/// Whether a list is called here, or behind a preposition and articles that stand here.
#[must_use]
pub fn begins(tokens: &[Token<'_>], at: usize) -> bool {
    let Some(token) = tokens.get(at) else { return false };
    let first = if crate::words::grammar::way(token.text).is_some() { at + 1 } else { at };
    let next = (first..tokens.len()).find(|at| !crate::words::grammar::is_filler(tokens[*at].text, true));
    (first > at || next == Some(at)) && next.is_some_and(|next| called_at(tokens, next).is_some())
}

/// The things that these tokens of `text` name, a line for each.
#[must_use]
pub fn items(text: &str, tokens: &[Token<'_>]) -> String {
    let mut things: Vec<&[Token<'_>]> = Vec::new();
    let mut begin = 0;
    for (at, token) in tokens.iter().enumerate() {
        let joins = token.mark == Mark::And && !matches!(token.text, "then" | "poi");
        if joins {
            things.push(&tokens[begin..at]);
            begin = at + 1;
        } else if token.ends_clause {
            things.push(&tokens[begin..=at]);
            begin = at + 1;
        }
    }
    things.push(&tokens[begin..]);
    let named = things.into_iter().filter_map(|thing| {
        // "The Leopard" is a title with its article.
        let is_great = |at: usize| {
            let shouts = |text: &str| text.chars().skip(1).any(char::is_uppercase);
            thing.get(at).is_some_and(|token| token.text.starts_with(char::is_uppercase) && !shouts(token.text))
        };
        let titled = thing.first().is_some_and(|first| first.start > 0) && is_great(0) && is_great(1);
        let said = thing.iter().position(|token| titled || !is_article(token.text)).unwrap_or(0);
        let counts = |token: &Token<'_>| is_one_of(token.text, MEASURES);
        let said =
            said - usize::from(said > 0 && counts(&thing[said]) && is_one_of(thing[said - 1].text, "a an un una"));
        let (first, last) = (thing.get(said)?, thing.last()?);
        text.get(first.start..last.start + last.text.len()).map(str::trim).filter(|text| !text.is_empty())
    });
    let lines: Vec<String> = named.take(MAX_ITEMS).map(|thing| format!("- {thing}")).collect();
    lines.join("\n")
}

fn is_article(word: &str) -> bool {
    is_one_of(word, ARTICLES)
}

fn is_one_of(word: &str, words: &str) -> bool {
    words.split_ascii_whitespace().any(|known| known.eq_ignore_ascii_case(word))
}

/// Whether words are Italian, as far as they show it; else whether that is the language of the caller.
#[must_use]
pub fn is_italian(tokens: &[Token<'_>], usual: metnos_proto::msg::common::Lang) -> bool {
    token::language(tokens).unwrap_or(usual) == metnos_proto::msg::common::Lang::It
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn listed(text: &str) -> String {
        items(text, &token::tokens(text).unwrap())
    }

    #[test]
    fn things_are_distinguished_and_articles_left_out() {
        for (text, lines) in [
            ("eggs", "- eggs"),
            ("eggs, milk and bread", "- eggs\n- milk\n- bread"),
            ("le uova, il latte e del pane", "- uova\n- latte\n- pane"),
            ("l'olio e 2 limoni", "- olio\n- 2 limoni"),
            ("1,5 l of milk and the \"mac and cheese\"", "- 1,5 l of milk\n- mac and cheese"),
            ("some bread from the bakery", "- bread from the bakery"),
            ("a tent, a pair of boots and a few eggs", "- tent\n- a pair of boots\n- a few eggs"),
            ("un chilo di pane, un libro e del sale", "- un chilo di pane\n- libro\n- sale"),
            ("add The Leopard", "- add The Leopard"),
            ("eggs, The Leopard and the milk", "- eggs\n- The Leopard\n- milk"),
            ("the", "- the"),
        ] {
            assert_eq!(listed(text), lines, "{text}");
        }
    }

    #[test]
    fn a_list_is_the_file_that_is_there_or_a_new_one_in_its_folder() {
        let text = "add eggs to the shopping list";
        let kind = &metnos_proto::lists::called(text)[0];
        let place = |there: &[&str], folder: &str, makes: bool| {
            let there: Vec<Named> = there.iter().map(|path| Named::file(*path)).collect();
            Places { there: &there, folder, private: "people/anna", italian: false }.place(kind, text, makes)
        };
        assert_eq!(place(&[], "", true).unwrap(), "notes/shopping.md");
        assert_eq!(place(&[], "shared", true).unwrap(), "shared/shopping.md");
        assert_eq!(place(&[], "notes", false), None);
        assert_eq!(place(&["house/spesa.md", "notes/journal.md"], "notes", false).unwrap(), "house/spesa.md");
        assert_eq!(place(&["house/spesa.md", "notes/shopping.md"], "notes", false).unwrap(), "notes/shopping.md");
        assert_eq!(place(&["house/spesa.md", "x/spesa.md"], "notes", true), None, "either may be meant");
    }

    #[test]
    fn a_private_list_is_the_speakers_own_and_never_the_households() {
        let place = |text: &str, there: &[&str], private: &str| {
            let kind = &metnos_proto::lists::called(text)[0];
            let there: Vec<Named> = there.iter().map(|path| Named::file(*path)).collect();
            Places { there: &there, folder: "notes", private, italian: false }.place(kind, text, true)
        };
        let text = "add perfume to my private gift list";
        assert_eq!(place(text, &["notes/gift.md"], "people/anna").unwrap(), "people/anna/gift.md");
        assert_eq!(place(text, &["people/anna/lists/gift.md"], "people/anna").unwrap(), "people/anna/lists/gift.md");
        assert_eq!(place(text, &["notes/gift.md"], ""), None, "who has no name has no private list");
        let both = ["people/anna/shopping.md", "notes/shopping.md"];
        assert_eq!(place("add milk to the shopping list", &both, "people/anna").unwrap(), "notes/shopping.md");
    }

    #[test]
    fn a_mistyped_list_is_the_one_that_is_meant_and_no_new_one() {
        let place = |text: &str, there: &[&str]| {
            let kind = &metnos_proto::lists::called(text)[0];
            let there: Vec<Named> = there.iter().map(|path| Named::file(*path)).collect();
            Places { there: &there, folder: "notes", private: "", italian: false }.place(kind, text, true)
        };
        assert_eq!(place("add eggs to the shoping list", &["notes/shopping.md"]).unwrap(), "notes/shopping.md");
        assert_eq!(place("add eggs to the shoping list", &[]).unwrap(), "notes/shopping.md");
        assert_eq!(place("add a tent to the campng list", &["notes/camping.md"]).unwrap(), "notes/camping.md");
        assert_eq!(place("add a tent to the hiking list", &["notes/biking.md"]).unwrap(), "notes/hiking.md");
    }
}
