//! Things by their names: which file or folder of the workspace is meant by some words of a request. A name that could mean
//! several things means none of them by itself.

use metnos_proto::envelope::Named;
use metnos_rank::forms::{are_forms, is_kind, name_words};
use metnos_rank::lexicon::is_stop;
use metnos_rank::words::words as folded;

/// What a place may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlaceWant {
    /// A file.
    File,
    /// A folder.
    Folder,
    /// Either.
    Any,
}

/// What words mean among the things that there are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Resolution {
    /// This path.
    One(String),
    /// Any of these paths, in the order of their names.
    Several(Vec<String>),
    /// Nothing that there is.
    None,
}

/// The most words that name one thing.
const MAX_WORDS: usize = 12;
/// Words that join what a thing is with what it is about, or with its name.
const JOINING: &str = "called named titled entitled regarding concerning chiamato chiamata chiamati chiamate intitolato \
    intitolata riguardo riguardante";
/// Words that say that a folder is meant.
const FOLDERS: &str = "folder folders directory directories cartella cartelle";
/// Words that say how the name of a file ends.
const ENDINGS: [&str; 11] = ["csv", "docx", "json", "md", "ods", "odt", "pdf", "pptx", "txt", "xlsx", "zip"];

/// What `words` (as typed, or in small letters) mean among `named`: the bare name of a file; words of its name, in any of their
/// forms; or words of its title. The nearest meaning wins: a whole name, then a part of one or a whole title, then parts of both.
#[must_use]
pub fn resolve(named: &[Named], words: &[&str], want: PlaceWant) -> Resolution {
    let fits = |one: &&Named| match want {
        PlaceWant::File => !one.folder,
        PlaceWant::Folder => one.folder,
        PlaceWant::Any => true,
    };
    let candidates: Vec<&Named> = named.iter().filter(fits).collect();
    if let [word] = words
        && word.contains(['.', '/'])
    {
        return among(candidates.iter().filter_map(|one| Some((typed(one, word)?, *one))).collect());
    }
    let Some(said) = Said::of(words, want) else { return Resolution::None };
    among(candidates.iter().filter_map(|one| Some((said.nearness(one)?, *one))).collect())
}

/// The nearest ones.
fn among(found: Vec<(u8, &Named)>) -> Resolution {
    let nearest = found.iter().map(|(nearness, _)| *nearness).min();
    let nearest = found.into_iter().filter(|(nearness, _)| Some(*nearness) == nearest);
    let mut paths: Vec<String> = nearest.map(|(_, one)| one.path.clone()).collect();
    paths.sort();
    paths.dedup();
    if paths.len() > 1 {
        return Resolution::Several(paths);
    }
    paths.pop().map_or(Resolution::None, Resolution::One)
}

/// How near a name is that was typed with its ending or its folder.
fn typed(one: &Named, word: &str) -> Option<u8> {
    let word = word.trim_end_matches('/');
    let name = one.path.rsplit('/').next().unwrap_or(&one.path);
    if one.path == word {
        Some(0)
    } else if name == word {
        Some(1)
    } else {
        name.eq_ignore_ascii_case(word).then_some(2)
    }
}

/// What was said of a thing, without what says nothing of which one it is.
struct Said {
    words: Vec<String>,
    ending: Option<&'static str>,
    /// Nothing but a folder is meant.
    folder: bool,
}

impl Said {
    fn of(words: &[&str], want: PlaceWant) -> Option<Self> {
        let is_one_of = |word: &str, all: &str| all.split_ascii_whitespace().any(|known| known == word);
        let all: Vec<String> = words.iter().take(MAX_WORDS + 1).flat_map(|word| folded(word)).collect();
        let tells = |word: &&String| !is_stop(word) && !is_one_of(word, JOINING);
        let all: Vec<String> = all.iter().filter(tells).cloned().collect();
        if words.len() > MAX_WORDS || all.len() > MAX_WORDS {
            return None;
        }
        let of_kind = |word: &str| if want == PlaceWant::Folder { is_one_of(word, FOLDERS) } else { is_kind(word) };
        let ending = ENDINGS.into_iter().find(|ending| all.len() > 1 && all.iter().any(|word| word == ending));
        let own: Vec<String> = all.iter().filter(|word| !of_kind(word)).cloned().collect();
        // "The notes" may be what a file is called, and "the documents folder" a folder.
        let is_folder = own.is_empty() && all.iter().any(|word| is_one_of(word, FOLDERS));
        let named = || all.iter().filter(|word| !is_one_of(word, FOLDERS)).cloned().collect::<Vec<String>>();
        let words = if own.is_empty() { Some(named()).filter(|some| !some.is_empty()).unwrap_or(all) } else { own };
        (!words.is_empty()).then_some(Self { words, ending, folder: is_folder })
    }

    /// How near this thing is to what was said, the nearest 0; `None` when something was said that is not of it.
    fn nearness(&self, one: &Named) -> Option<u8> {
        if self.folder && !one.folder {
            return None;
        }
        if self.ending.is_some_and(|ending| !one.path.to_lowercase().ends_with(&format!(".{ending}"))) {
            return None;
        }
        let name: Vec<String> = name_words(&one.path).into_iter().filter(|word| !is_stop(word)).collect();
        let title: Vec<&str> = one.title.split_ascii_whitespace().collect();
        let in_name = |word: &String| name.iter().any(|own| are_forms(own, word));
        let in_title = |word: &String| title.iter().any(|own| are_forms(own, word));
        let is_said = |own: &String| self.words.iter().any(|word| are_forms(own, word));
        let whole_name = name.iter().all(|own| is_kind(own) && !one.folder || is_said(own));
        let exactly = self.words.iter().all(|word| name.contains(word));
        if self.words.iter().all(in_name) {
            return Some(match (whole_name, exactly) {
                (true, true) => 0,
                (true, false) => 1,
                (false, true) => 2,
                (false, false) => 3,
            });
        }
        if self.words.iter().all(in_title) {
            return Some(if one.unsaid == 0 { 2 } else { 3 });
        }
        // "The pancake recipe" lies in the folder of the recipes.
        let folder = one.path.rsplit_once('/').map_or("", |(folder, _)| folder);
        let folders: Vec<String> = folder.split('/').flat_map(folded).collect();
        let in_folder = |word: &String| folders.iter().any(|own| are_forms(own, word));
        if self.words.iter().any(in_name) && self.words.iter().all(|word| in_name(word) || in_folder(word)) {
            return Some(if whole_name { 2 } else { 3 });
        }
        self.words.iter().all(|word| in_name(word) || in_title(word)).then_some(4)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn titled(path: &str, title: &str, unsaid: u16) -> Named {
        Named { title: title.into(), unsaid, ..Named::file(path) }
    }

    fn one(path: &str) -> Resolution {
        Resolution::One(path.to_owned())
    }

    #[test]
    fn a_thing_is_meant_by_its_name_by_words_of_it_or_by_its_title() {
        let named = [
            Named::file("notes/trip-plan.md"),
            titled("notes/casa.md", "our house", 0),
            Named::folder("notes"),
            Named::file("notes/Città_del-mare.md"),
            Named::file("data/expenses.csv"),
            Named::file("welcome.md"),
        ];
        for (words, path) in [
            ("Trip plan", "notes/trip-plan.md"),
            ("the note about the trip", "notes/trip-plan.md"),
            ("the plans of our trips", "notes/trip-plan.md"),
            ("our house", "notes/casa.md"),
            ("la nota della casa", "notes/casa.md"),
            ("la nota sulla citta", "notes/Città_del-mare.md"),
            ("the expenses csv", "data/expenses.csv"),
            ("the expense table", "data/expenses.csv"),
            ("welcome", "welcome.md"),
            ("WELCOME.md", "welcome.md"),
            ("the file called welcome", "welcome.md"),
        ] {
            let words: Vec<&str> = words.split(' ').collect();
            assert_eq!(resolve(&named, &words, PlaceWant::File), one(path), "{words:?}");
        }
        let kept = [Named::file("recipes/pancakes.md"), Named::file("recipes/apple-pie.md"), Named::folder("recipes")];
        let meant = |words: &str| resolve(&kept, &words.split(' ').collect::<Vec<_>>(), PlaceWant::File);
        assert_eq!(meant("the pancake recipe"), one("recipes/pancakes.md"));
        assert_eq!(meant("the recipe for the apple pie"), one("recipes/apple-pie.md"));
        assert_eq!(meant("the recipe"), Resolution::None);
        for words in ["notes", "the notes folder", "notes/"] {
            let words: Vec<&str> = words.split(' ').collect();
            assert_eq!(resolve(&named, &words, PlaceWant::Folder), one("notes"), "{words:?}");
        }
        for words in ["", "the", "tripod", "the note about the boat", "trip boat", "expenses md", "the sea house trip"]
        {
            let words: Vec<&str> = words.split(' ').collect();
            assert_eq!(resolve(&named, &words, PlaceWant::File), Resolution::None, "{words:?}");
        }
    }

    #[test]
    fn several_things_of_a_name_are_all_told_and_the_nearest_name_wins() {
        let named = [
            Named::file("notes/trip-2026.md"),
            Named::file("notes/trip-2025.md"),
            titled("x.md", "trip", 3),
            Named::file("b/list.md"),
            Named::file("a/list.md"),
        ];
        let paths = |all: &[&str]| Resolution::Several(all.iter().map(|path| (*path).to_owned()).collect());
        let file = |words: &[&str]| resolve(&named, words, PlaceWant::File);
        assert_eq!(file(&["the", "trip", "note"]), paths(&["notes/trip-2025.md", "notes/trip-2026.md"]));
        assert_eq!(file(&["trip", "2026"]), one("notes/trip-2026.md"));
        assert_eq!(file(&["list.md"]), paths(&["a/list.md", "b/list.md"]));
        assert_eq!(file(&["b/list.md"]), one("b/list.md"));
        let with_whole = [&named[..], &[Named::file("trip.md")]].concat();
        assert_eq!(resolve(&with_whole, &["the", "trip"], PlaceWant::File), one("trip.md"));
        // A title that somebody has planted asks at most; it never takes a name's place.
        let planted = [Named::file("trip.md"), titled("shared/x.md", "trip", 0)];
        assert_eq!(resolve(&planted, &["the", "trip"], PlaceWant::File), one("trip.md"));
        let planted = [Named::file("trip-2026.md"), titled("shared/x.md", "trip", 0)];
        let both = paths(&["shared/x.md", "trip-2026.md"]);
        assert_eq!(resolve(&planted, &["the", "trip"], PlaceWant::File), both);
    }

    #[test]
    fn names_of_more_words_than_the_bound_mean_nothing() {
        let name = vec!["trip"; MAX_WORDS];
        let named = [Named::file("trip.md")];
        assert_eq!(resolve(&named, &name, PlaceWant::File), one("trip.md"));
        assert_eq!(resolve(&named, &[&name[..], &["trip"]].concat(), PlaceWant::File), Resolution::None);
    }
}
