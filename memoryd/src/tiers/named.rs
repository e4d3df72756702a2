//! The files and folders that words may mean: by their bare names, by words of their names or of their titles, or as lists:
//! "read welcome.md", "the note about the trip", "the shopping list". Of a file no more is read than its first bytes, and of
//! what stands there no more is handed on than the words that were said themselves.

use std::collections::VecDeque;
use std::ffi::CStr;
use std::os::fd::{AsFd, OwnedFd};

use metnos_proto::envelope::Named;
use metnos_proto::executor::guests;
use metnos_proto::executor::secret_names::is_secret_path;
use metnos_proto::lists::{self, Kind};
use metnos_rank::forms::{Said, is_kind, name_words};
use metnos_rank::lexicon::is_stop;
use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags};

use super::titles::Titles;

/// The most names of one request that are looked for.
pub const MAX_NAMES: usize = 4;
/// The most different words of a request that are looked for.
pub const MAX_WORDS: usize = 48;
/// The most entries of the workspace that are looked at for one request, and as many again of what everybody reads: nobody
/// who may put files there hides those of the owner behind them.
pub const MAX_ENTRIES: usize = 4_096;
/// How many folders deep.
const MAX_DEPTH: usize = 12;
/// The most places that are handed on.
pub const MAX_FOUND: usize = 32;
/// How many of them at most are named by this request rather than by those before it.
pub const MAX_FOUND_NOW: usize = 24;
/// The longest name, and the longest ending of one, in bytes.
const MAX_NAME: usize = 255;
const MAX_ENDING: usize = 8;
/// Where executors lie: a request never means those.
const POOL: &str = "executors";

/// Whose words it is that name things.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// The owner's: he means any file of his.
    Workspace,
    /// Another principal's: he means only what everybody may read, and learns of nothing else.
    Shared,
}

/// The bare names of files in these words: with an ending, and without a folder.
#[must_use]
pub fn names(words: &str) -> Vec<&str> {
    let edge = |c: char| !c.is_alphanumeric() && !matches!(c, '_' | '-' | '~');
    let parts = words.split(|c: char| c.is_whitespace() || matches!(c, '"' | '«' | '»' | '“' | '”' | '`'));
    let mut found: Vec<&str> = Vec::new();
    let bare = parts.filter(|part| !part.contains(['/', '\\', '@', ':']));
    for part in bare.map(|part| part.trim_matches(edge)) {
        let is_ending = |ending: &str| {
            (1..=MAX_ENDING).contains(&ending.len()) && ending.bytes().all(|b| b.is_ascii_alphanumeric())
        };
        let is_name = part.len() <= MAX_NAME
            && part.rsplit_once('.').is_some_and(|(stem, ending)| !stem.is_empty() && is_ending(ending));
        // A number has no ending.
        if is_name && part.chars().any(char::is_alphabetic) && !found.contains(&part) {
            found.push(part);
            if found.len() == MAX_NAMES {
                break;
            }
        }
    }
    found
}

/// What a text asks for.
#[derive(Debug)]
struct Wanted<'a> {
    names: Vec<&'a str>,
    lists: Vec<Kind>,
    said: Said,
}

impl<'a> Wanted<'a> {
    fn of(text: &'a str) -> Self {
        let lists = lists::called(text).into_iter().chain(lists::unnamed(text)).collect();
        Self { names: names(text), lists, said: Said::of(text, MAX_WORDS) }
    }

    fn is_empty(&self) -> bool {
        self.names.is_empty() && self.lists.is_empty() && self.said.is_empty()
    }

    /// How well an entry fits; `None` when nothing of it was said.
    fn fit(&self, entry: &Entry<'_>) -> Option<Fit> {
        let is_called =
            !entry.folder && (self.names.contains(&entry.name) || self.lists.iter().any(|list| list.is_in(entry.path)));
        if is_secret_path(entry.path) {
            // It is found by its very name alone: what may be done with it is policyd's matter.
            return is_called.then_some(Fit { is_called, hits: 0, rest: 0 });
        }
        let name: Vec<&String> = entry.name_words.iter().filter(|word| !is_stop(word)).collect();
        let in_name = name.iter().filter(|word| self.said.has(word)).count();
        let whole_name = in_name == name.len();
        let tells = |word: &&String| self.said.has(word) && (entry.folder || whole_name || !is_kind(word));
        let in_title = entry.title.iter().filter(|word| !is_kind(word) && self.said.has(word)).count();
        let hits = name.iter().filter(|word| tells(word)).count().max(in_title);
        let rest = if in_title > in_name { entry.title.len() - in_title } else { name.len() - in_name };
        (is_called || hits > 0).then_some(Fit { is_called, hits, rest })
    }
}

/// A file or folder beside the words.
struct Entry<'a> {
    path: &'a str,
    name: &'a str,
    folder: bool,
    name_words: Vec<String>,
    title: &'a [String],
}

/// How well an entry fits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Fit {
    /// Whether its very name was said, or the list that it is.
    is_called: bool,
    /// How many of its words were said.
    hits: usize,
    /// How many were not.
    rest: usize,
}

/// Finds what words name; it keeps the titles that it has read.
#[derive(Debug, Default)]
pub struct Finder {
    titles: Titles,
}

impl Finder {
    /// The files and folders that the words of this request may mean, best first, then those that only the words before it may:
    /// at most [`MAX_FOUND`]. Nothing hidden, no private folder but the one called `own`, and no link is followed.
    pub fn find(&mut self, workspace: &OwnedFd, reach: Reach, own: &str, now: &str, before: &str) -> Vec<Named> {
        let wanted = [Wanted::of(now), Wanted::of(before)];
        if wanted.iter().all(Wanted::is_empty) {
            return Vec::new();
        }
        self.titles.begin();
        let mut found = Vec::new();
        if reach == Reach::Workspace {
            self.walk(workspace, "", &wanted, &mut found);
        }
        self.walk(workspace, guests::SHARED, &wanted, &mut found);
        if !own.is_empty() {
            self.walk(workspace, &guests::private(own), &wanted, &mut found);
        }
        found.sort_by(|a, b| a.order().cmp(&b.order()));
        let mut at_once = 0;
        found.retain(|one| {
            at_once += usize::from(one.class == 0);
            one.class > 0 || at_once <= MAX_FOUND_NOW
        });
        found.truncate(MAX_FOUND);
        found.into_iter().map(|one| one.named).collect()
    }

    /// Looks at everything below a folder, those above first. What everybody reads and the private folders are passed over in a
    /// walk of all.
    fn walk(&mut self, workspace: &OwnedFd, below: &str, wanted: &[Wanted<'_>; 2], found: &mut Vec<Found>) {
        let (mut folders, mut seen) = (VecDeque::from([(below.to_owned(), 0)]), 0);
        while let Some((folder, depth)) = folders.pop_front() {
            let Some(opened) = open_folder(workspace, &folder) else { continue };
            let Ok(entries) = Dir::read_from(&opened) else { continue };
            for entry in entries.flatten() {
                seen += 1;
                if seen > MAX_ENTRIES {
                    return;
                }
                let Ok(name) = entry.file_name().to_str() else { continue };
                if name.starts_with('.') || name.chars().any(char::is_control) {
                    continue;
                }
                let path = if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") };
                let is_folder = match kind(&opened, entry.file_name(), entry.file_type()) {
                    FileType::RegularFile => false,
                    FileType::Directory if path != POOL => true,
                    FileType::Directory
                    | FileType::Symlink
                    | FileType::Fifo
                    | FileType::Socket
                    | FileType::CharacterDevice
                    | FileType::BlockDevice
                    | FileType::Unknown => continue,
                };
                found.extend(self.fitting(&opened, entry.file_name(), (&path, is_folder), wanted));
                if is_folder && depth < MAX_DEPTH && path != guests::SHARED && path != guests::PEOPLE {
                    folders.push_back((path, depth + 1));
                }
            }
        }
    }

    /// An entry, when something of it was said.
    fn fitting(
        &mut self,
        opened: &OwnedFd,
        name: &CStr,
        (path, folder): (&str, bool),
        wanted: &[Wanted<'_>; 2],
    ) -> Option<Found> {
        let readable = !folder && !is_secret_path(path);
        let title = if readable { self.titles.words_of(opened, name) } else { &[] };
        let name = path.rsplit('/').next().unwrap_or(path);
        let entry = Entry { path, name, folder, name_words: name_words(name), title };
        let (class, fit) = wanted.iter().enumerate().find_map(|(class, wanted)| Some((class, wanted.fit(&entry)?)))?;
        let is_said = |word: &&String| wanted.iter().any(|wanted| wanted.said.has(word));
        let said: Vec<&str> = title.iter().filter(is_said).map(String::as_str).collect();
        let unsaid = u16::try_from(title.len() - said.len()).unwrap_or(u16::MAX);
        let named = if said.is_empty() {
            Named { path: path.to_owned(), folder, ..Named::default() }
        } else {
            Named { path: path.to_owned(), folder, title: said.join(" "), unsaid }
        };
        Some(Found { class, fit, named })
    }
}

/// Something that was found, and how well it fits.
struct Found {
    /// 0 for this request, 1 for those before it.
    class: usize,
    fit: Fit,
    named: Named,
}

impl Found {
    fn order(&self) -> impl Ord + '_ {
        let fit = self.fit;
        let depth = self.named.path.matches('/').count();
        (self.class, !fit.is_called, usize::MAX - fit.hits, fit.rest, depth, &self.named.path)
    }
}

/// Opens a folder of the workspace, link by link of its path, so that none that has become a link meanwhile is followed.
fn open_folder(workspace: &OwnedFd, folder: &str) -> Option<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut opened = rustix::fs::openat(workspace, ".", flags, Mode::empty()).ok()?;
    for name in folder.split('/').filter(|name| !name.is_empty()) {
        opened = rustix::fs::openat(&opened, name, flags, Mode::empty()).ok()?;
    }
    Some(opened)
}

/// Some file systems do not say with its name what an entry is.
fn kind(folder: impl AsFd, name: &std::ffi::CStr, said: FileType) -> FileType {
    if said != FileType::Unknown {
        return said;
    }
    rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW)
        .map_or(FileType::Unknown, |stat| FileType::from_raw_mode(stat.st_mode))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    struct Place {
        dir: tempfile::TempDir,
        opened: OwnedFd,
        finder: Finder,
    }

    impl Place {
        fn with(files: &[(&str, &str)]) -> Self {
            let dir = tempfile::tempdir().unwrap();
            for (path, text) in files {
                let path = dir.path().join(path);
                std::fs::create_dir_all(path.parent().unwrap()).unwrap();
                std::fs::write(path, text).unwrap();
            }
            let opened = std::fs::File::open(dir.path()).unwrap().into();
            Self { dir, opened, finder: Finder::default() }
        }

        fn paths(&mut self, reach: Reach, words: &str) -> Vec<String> {
            let mut found: Vec<String> =
                self.finder.find(&self.opened, reach, "anna", words, "").into_iter().map(|one| one.path).collect();
            found.sort();
            found
        }

        fn owner(&mut self, words: &str) -> Vec<String> {
            self.paths(Reach::Workspace, words)
        }

        fn guest(&mut self, words: &str) -> Vec<String> {
            self.paths(Reach::Shared, words)
        }
    }

    const NONE: [&str; 0] = [];

    #[test]
    fn a_bare_name_has_an_ending_and_no_folder() {
        for (words, wanted) in [
            ("read welcome.md", vec!["welcome.md"]),
            ("quante parole ci sono in \"lista spesa.txt\"?", vec!["spesa.txt"]),
            ("read «a.md», b.tar.gz and c.md.", vec!["a.md", "b.tar.gz", "c.md"]),
            ("read notes/welcome.md", vec![]),
            ("it costs 3.50, see https://example.org or write to a@b.it at 8.30", vec![]),
            ("read .ssh and ../x.md and x.", vec![]),
            ("a.md a.md b.md c.md d.md e.md", vec!["a.md", "b.md", "c.md", "d.md"]),
        ] {
            assert_eq!(names(words), wanted, "{words}");
        }
    }

    #[test]
    fn files_are_found_by_name_except_hidden_linked_and_executor_files() {
        let files = ["a.md", "notes/a.md", "notes/deep/b.md", ".trash/b.md", "executors/x/b.md", "notes/.b/b.md"];
        let mut place = Place::with(&files.map(|path| (path, "x")));
        std::fs::create_dir(place.dir.path().join("notes/c.md")).unwrap();
        std::os::unix::fs::symlink("a.md", place.dir.path().join("d.md")).unwrap();
        std::os::unix::fs::symlink("/", place.dir.path().join("root")).unwrap();
        assert_eq!(place.owner("a.md"), ["a.md", "notes/a.md"]);
        assert_eq!(place.owner("b.md, d.md"), ["notes/deep/b.md"]);
        assert_eq!(place.owner("the root, passwd, the executors"), NONE);
        assert_eq!(place.owner(""), NONE);
        assert_eq!(place.owner("read the"), NONE);
    }

    #[test]
    fn a_table_of_what_was_spent_is_found_by_what_was_paid_bought_or_spent() {
        let mut place = Place::with(&[("data/spese.csv", "x"), ("data/expenses.csv", "x"), ("notes/a.md", "x")]);
        for words in ["qual è stata la spesa più grossa", "chi ha pagato la benzina", "cosa ha comprato Anna"] {
            assert_eq!(place.owner(words), ["data/spese.csv"], "{words}");
        }
        assert_eq!(place.owner("what did Anna buy"), ["data/expenses.csv"]);
        assert_eq!(place.owner("che tempo fa"), NONE);
    }

    #[test]
    fn private_folders_of_others_are_out_of_reach() {
        let mut place =
            Place::with(&["people/anna/gift.md", "people/marco/gift.md", "people/gift.md"].map(|path| (path, "x")));
        assert_eq!(place.owner("gift.md"), ["people/anna/gift.md"]);
        assert_eq!(place.guest("gift.md"), ["people/anna/gift.md"]);
        let found = place.finder.find(&place.opened, Reach::Workspace, "", "gift.md", "");
        assert!(found.is_empty(), "{found:?}");
    }

    #[test]
    fn files_and_folders_are_found_by_words_of_their_names_in_both_languages() {
        let files = ["notes/trip-2026.md", "notes/welcome.md", "casa/lettere.txt", "viaggi/mare.md", "data/x.csv"];
        let mut place = Place::with(&files.map(|path| (path, "- nothing")));
        for (words, found) in [
            ("read the trip note", vec!["notes", "notes/trip-2026.md"]),
            ("read the note about the trips", vec!["notes", "notes/trip-2026.md"]),
            ("show me welcome", vec!["notes/welcome.md"]),
            ("leggi la lettera", vec!["casa/lettere.txt"]),
            ("elenca la cartella dei viaggi", vec!["viaggi"]),
            ("cosa c'è nella CASÀ?", vec!["casa"]),
            ("what was in 2026", vec!["notes/trip-2026.md"]),
            ("sell the tripod", vec![]),
        ] {
            assert_eq!(place.owner(words), found, "{words}");
        }
    }

    #[test]
    fn a_title_gives_away_only_the_words_that_were_said() {
        let files = [("notes/a.md", "# Trip to Tuscany, secret surprise for Anna\n"), ("notes/b.md", "- trip\n")];
        let mut place = Place::with(&files);
        let found = place.finder.find(&place.opened, Reach::Workspace, "", "read what I wrote about Tuscany", "");
        let wanted = Named { path: "notes/a.md".into(), folder: false, title: "tuscany".into(), unsaid: 4 };
        assert_eq!(found, [wanted]);
        assert_eq!(place.owner("the trip"), ["notes/a.md"], "an item of a list is no title");
        assert!(place.finder.find(&place.opened, Reach::Workspace, "", "read", "the trip")[0].title == "trip");
    }

    #[test]
    fn others_than_the_owner_find_only_what_everybody_reads() {
        let files = [
            ("notes/trip.md", "# Trip"),
            ("shared/recipes.md", "# Recipes of grandmother"),
            ("notes/recipes.md", "# Recipes"),
            ("shared/list.md", "- x"),
            ("sharedx/trip.md", "# Trip"),
        ];
        let mut place = Place::with(&files);
        std::os::unix::fs::symlink("../notes", place.dir.path().join("shared/trip")).unwrap();
        // The owner was here before: what was read for him must not be named to another.
        assert_eq!(place.owner("the trip"), ["notes/trip.md", "sharedx/trip.md"]);
        assert_eq!(place.guest("the trip, trip.md, notes, sharedx, ../notes/trip.md, notes/trip.md"), NONE);
        assert_eq!(place.guest("the recipes"), ["shared/recipes.md"]);
        assert_eq!(place.guest("recipes.md and the list"), ["shared/list.md", "shared/recipes.md"]);
        assert!(place.finder.find(&place.opened, Reach::Shared, "", "read it", "the trip").is_empty());
    }

    #[test]
    fn a_shared_folder_that_is_a_link_names_nothing() {
        let mut place = Place::with(&[("notes/trip.md", "# Trip"), ("notes/in/trip.md", "# Trip")]);
        std::os::unix::fs::symlink("notes", place.dir.path().join("shared")).unwrap();
        assert_eq!(place.guest("the trip"), NONE);
        assert!(open_folder(&place.opened, "shared").is_none() && open_folder(&place.opened, "shared/in").is_none());
        assert!(open_folder(&place.opened, "notes/in").is_some() && open_folder(&place.opened, "../x").is_none());
    }

    #[test]
    fn secrets_are_found_by_their_very_name_alone_and_never_read() {
        let files = [("notes/passwords.txt", "# Trip"), ("secrets/x.md", "# Trip"), ("notes/.env.md", "# Trip")];
        let mut place = Place::with(&files);
        assert_eq!(place.owner("the passwords of the trip, the secrets"), NONE);
        assert_eq!(place.owner("passwords.txt"), ["notes/passwords.txt"]);
    }

    #[test]
    fn lists_are_found_by_what_they_are_of() {
        let files = ["notes/shopping.md", "shared/spesa.md", "notes/journal.md", "data/shopping.csv"];
        let mut place = Place::with(&files.map(|path| (path, "x")));
        let found = |place: &mut Place, reach, words: &str| {
            let found = place.finder.find(&place.opened, reach, "", words, "");
            found.into_iter().take(2).map(|one| one.path).collect::<Vec<_>>()
        };
        let words = "add eggs to the shopping list";
        assert_eq!(found(&mut place, Reach::Workspace, words), ["notes/shopping.md", "shared/spesa.md"]);
        assert_eq!(found(&mut place, Reach::Shared, "cosa c'è sulla lista della spesa?"), ["shared/spesa.md"]);
    }

    #[test]
    fn the_best_come_first_and_words_of_this_request_before_earlier_ones() {
        let files = ["a/trip.md", "trip-2026.md", "trip-2025-sea.md", "boiler.md"];
        let mut place = Place::with(&files.map(|path| (path, "x y.")));
        let found = place.finder.find(&place.opened, Reach::Workspace, "", "the trip of 2026", "read the boiler note");
        let paths: Vec<&str> = found.iter().map(|one| one.path.as_str()).collect();
        assert_eq!(paths, ["trip-2026.md", "a/trip.md", "trip-2025-sea.md", "boiler.md"]);
    }

    #[test]
    fn finding_is_bounded_in_entries_and_places() {
        let mut place = Place::with(&[("shared/trip.md", "x")]);
        for n in 0..=MAX_FOUND {
            std::fs::write(place.dir.path().join(format!("trip-{n}.md")), "x").unwrap();
            std::fs::write(place.dir.path().join(format!("sea-{n}.md")), "x").unwrap();
        }
        let found =
            |place: &mut Place, now, before| place.finder.find(&place.opened, Reach::Workspace, "", now, before).len();
        assert_eq!(found(&mut place, "trip", ""), MAX_FOUND_NOW);
        assert_eq!(found(&mut place, "trip", "sea"), MAX_FOUND);
        let crowd = place.dir.path().join("crowd");
        std::fs::create_dir(&crowd).unwrap();
        for n in 0..MAX_ENTRIES {
            std::fs::write(crowd.join(format!("{n}.txt")), "").unwrap();
        }
        std::fs::create_dir_all(place.dir.path().join("crowd/deep")).unwrap();
        std::fs::write(place.dir.path().join("crowd/deep/boiler.md"), "x").unwrap();
        assert_eq!(place.owner("boiler"), NONE, "what lies behind the bound is not found");
        assert!(
            place.owner("trip.md").contains(&"shared/trip.md".to_owned()),
            "nobody hides what is shared, or the reverse"
        );
    }
}
