//! What a text may mean as a path: purely lexical, every reading of every trick of
//! spelling. It opens nothing, and never decides that a text is harmless: it only
//! lists what a reader further down the road could take it for.

/// How often percent signs are decoded before a text counts as obfuscated.
pub const MAX_DECODINGS: usize = 6;

/// The folders that readings are resolved against.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Places {
    /// The instance's directory, absolute.
    pub instance: String,
    /// The workspace, absolute: `<instance>/workspace`.
    pub workspace: String,
    /// The owner's home, absolute: what `~` stands for. Empty where it is not known.
    pub home: String,
}

impl Places {
    /// The places of the instance at `instance`.
    #[must_use]
    pub fn of_instance(instance: &str) -> Self {
        let instance = instance.trim_end_matches('/').to_owned();
        let workspace = format!("{instance}/workspace");
        Self { instance, workspace, home: String::new() }
    }

    /// The same, where the owner's home is known.
    #[must_use]
    pub fn with_home(self, home: &str) -> Self {
        Self { home: home.trim_end_matches('/').to_owned(), ..self }
    }
}

/// A text resolved as a path, without looking at any file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lexical {
    /// Absolute, without `.`, `..`, doubled or trailing slashes.
    pub path: String,
    /// The path began at the root or at a home, not in the workspace.
    pub absolute: bool,
    /// A relative path that left the workspace by `..`, at any moment.
    pub climbs: bool,
    /// Every folder that a `..` stepped out of: what the path passes through.
    pub passed: Vec<String>,
    /// What follows the `..`s of a climbing path, as a path from the root: where its
    /// author wanted to end, however deep the workspace lies.
    pub aim: Option<String>,
}

/// One way to read a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reading {
    /// The text as this reading has it.
    pub text: String,
    /// Whether it is the very text that was given.
    pub literal: bool,
}

/// Every reading of `text`, the literal one first; `None` when it is encoded deeper than
/// [`MAX_DECODINGS`], which nothing honest is.
#[must_use]
pub fn readings(text: &str) -> Option<Vec<Reading>> {
    let mut found = vec![Reading { text: text.to_owned(), literal: true }];
    let mut add = |text: String| {
        if !found.iter().any(|reading| reading.text == text) {
            found.push(Reading { text, literal: false });
        }
    };
    let mut round = text.to_owned();
    for _ in 0..=MAX_DECODINGS {
        add(round.clone());
        let folded = fold(&round);
        add(without_scheme(&folded).to_owned());
        add(without_scheme(&folded.replace('\\', "/")).to_owned());
        add(folded);
        let next = percent_decoded(&round);
        let next = if next == round { percent_decoded(&fold(&round)) } else { next };
        if next == round || next == fold(&round) {
            return Some(found);
        }
        round = next;
    }
    None
}

/// The text with look-alikes of ASCII replaced, invisible characters dropped, and the
/// blanks and dots at the ends of names dropped, as lenient systems do.
fn fold(text: &str) -> String {
    let plain: String = text.chars().filter_map(ascii_of).flat_map(str_of).collect();
    plain.trim().split('/').map(trimmed_name).collect::<Vec<_>>().join("/")
}

/// A name without the trailing dots and blanks; `.` and `..` stay what they are.
fn trimmed_name(name: &str) -> &str {
    let name = name.trim();
    if name == "." || name == ".." {
        return name;
    }
    let bare = name.trim_end_matches(|c: char| c == '.' || c.is_whitespace());
    if bare.is_empty() { name } else { bare }
}

/// What a character is taken for: `None` when it is invisible.
fn ascii_of(c: char) -> Option<char> {
    match c {
        '\u{ff01}'..='\u{ff5e}' => char::from_u32(u32::from(c) - 0xfee0),
        '\u{2044}' | '\u{2215}' | '\u{29f8}' | '\u{2571}' => Some('/'),
        '\u{29f5}' | '\u{fe68}' | '\u{2216}' => Some('\\'),
        '\u{2024}' | '\u{fe52}' => Some('.'),
        '\u{02dc}' | '\u{223c}' => Some('~'),
        '\u{00ad}'
        | '\u{180e}'
        | '\u{200b}'..='\u{200f}'
        | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{2064}'
        | '\u{2066}'..='\u{206f}'
        | '\u{fe00}'..='\u{fe0f}'
        | '\u{feff}' => None,
        c if c.is_control() => None,
        c => Some(c),
    }
}

/// A character as the text that it stands for.
fn str_of(c: char) -> impl Iterator<Item = char> {
    let (text, single) = match c {
        '\u{2025}' => ("..", None),
        '\u{2026}' => ("...", None),
        c => ("", Some(c)),
    };
    text.chars().chain(single)
}

/// One round of percent decoding; what is no percent sequence, or would be no UTF-8, stays.
fn percent_decoded(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut decoded = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let pair = bytes.get(at + 1).zip(bytes.get(at + 2));
        match pair.and_then(|(high, low)| Some(hex_value(*high)? << 4 | hex_value(*low)?)) {
            Some(value) if byte == b'%' => {
                decoded.push(value);
                at += 3;
            }
            _ => {
                decoded.push(byte);
                at += 1;
            }
        }
    }
    String::from_utf8(decoded).unwrap_or_else(|broken| String::from_utf8_lossy(broken.as_bytes()).into_owned())
}

fn hex_value(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16).and_then(|value| u8::try_from(value).ok())
}

/// The text without a leading `file:` and its host.
fn without_scheme(text: &str) -> &str {
    let Some(rest) = text.get(..5).filter(|scheme| scheme.eq_ignore_ascii_case("file:")).map(|_| &text[5..]) else {
        return text;
    };
    let Some(after) = rest.strip_prefix("//") else { return rest };
    match after.find('/') {
        Some(slash) => &after[slash..],
        None => rest,
    }
}

/// Resolves a reading against the workspace; `~`, `~name`, `$HOME` and `${HOME}` begin at a home.
#[must_use]
pub fn resolve(text: &str, places: &Places) -> Lexical {
    let (base, rest, absolute) = begin(text, places);
    let mut names: Vec<&str> = base.split('/').filter(|name| !name.is_empty()).collect();
    let floor = names.len();
    let mut lexical = Lexical { path: String::new(), absolute, climbs: false, passed: Vec::new(), aim: None };
    let mut aim: Vec<&str> = Vec::new();
    for name in rest.split('/') {
        match name {
            "" | "." => {}
            ".." => {
                lexical.climbs |= !absolute && names.len() <= floor;
                lexical.passed.push(joined(&names));
                names.pop();
                aim.pop();
            }
            name => {
                names.push(name);
                aim.push(name);
            }
        }
    }
    lexical.path = joined(&names);
    lexical.aim = lexical.climbs.then(|| joined(&aim));
    lexical
}

/// Where a reading begins, what follows, and whether that is outside the workspace's own names.
fn begin<'a>(text: &'a str, places: &'a Places) -> (String, &'a str, bool) {
    if text.starts_with('/') {
        return (String::new(), text, true);
    }
    for home in ["${HOME}", "$HOME", "$PWD/~", "~"] {
        let Some(rest) = text.strip_prefix(home) else { continue };
        let (user, rest) = match rest.find('/') {
            Some(slash) => (&rest[..slash], &rest[slash..]),
            None => (rest, ""),
        };
        return match user {
            "root" => ("/root".to_owned(), rest, true),
            "" if !places.home.is_empty() => (places.home.clone(), rest, true),
            // No user has such a name; a shell leaves it as it is, a reader lenient may take it for any home.
            "" | "." | ".." => (format!("/home/{ANY_HOME}"), rest, true),
            user => (format!("/home/{user}"), rest, true),
        };
    }
    (places.workspace.clone(), text, false)
}

/// Stands for a home whose owner's name is not known.
const ANY_HOME: &str = "~";

fn joined(names: &[&str]) -> String {
    if names.is_empty() { "/".to_owned() } else { names.iter().flat_map(|name| ["/", name]).collect() }
}

/// Whether `path` is `folder` or lies in it; both absolute and resolved.
#[must_use]
pub fn within(path: &str, folder: &str) -> bool {
    let folder = folder.trim_end_matches('/');
    path.strip_prefix(folder).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn places() -> Places {
        Places::of_instance("/srv/home/metnos/")
    }

    fn path(text: &str) -> String {
        resolve(text, &places()).path
    }

    #[test]
    fn dots_and_slashes_are_resolved_without_looking() {
        assert_eq!(path("notes/./a//b/../welcome.md/"), "/srv/home/metnos/workspace/notes/a/welcome.md");
        assert_eq!(path("//etc///shadow"), "/etc/shadow");
        assert_eq!(path("/../../.."), "/");
        assert_eq!(path("~/.ssh/id"), "/home/~/.ssh/id");
        assert_eq!(path("~root/x"), "/root/x");
        assert_eq!(path("~ada"), "/home/ada");
        assert_eq!(path("${HOME}/.ssh"), "/home/~/.ssh");
    }

    #[test]
    fn a_home_that_is_known_is_what_stands_at_its_sign() {
        let known = places().with_home("/people/ada/");
        for text in ["~/Pictures/a.jpg", "$HOME/Pictures/a.jpg", "${HOME}/x/../Pictures/a.jpg"] {
            assert_eq!(resolve(text, &known).path, "/people/ada/Pictures/a.jpg", "{text}");
        }
        assert_eq!(resolve("~bob/x", &known).path, "/home/bob/x");
        assert_eq!(resolve("~/../../etc/passwd", &known).path, "/etc/passwd");
    }

    #[test]
    fn leaving_the_workspace_is_seen_even_when_the_path_comes_back() {
        assert!(!resolve("a/../b", &places()).climbs);
        assert!(resolve("../workspace/b", &places()).climbs);
        assert!(resolve("a/../../b", &places()).climbs);
        assert!(!resolve("/a/../../b", &places()).climbs);
        assert_eq!(resolve("x/../../../../etc/passwd", &places()).aim.as_deref(), Some("/etc/passwd"));
    }

    #[test]
    fn path_resolution_records_folders_passed_through() {
        assert_eq!(resolve("/proc/self/../../srv", &places()).passed, ["/proc/self", "/proc"]);
    }

    #[test]
    fn the_readings_hold_what_each_trick_hides() {
        for (text, hidden) in [
            ("%2fetc%2fshadow", "/etc/shadow"),
            ("%252fetc%252fshadow", "/etc/shadow"),
            ("／etc／shadow", "/etc/shadow"),
            ("file:///etc/shadow", "/etc/shadow"),
            ("FILE://localhost/etc/shadow", "/etc/shadow"),
            ("\\etc\\shadow", "/etc/shadow"),
            ("/etc/sha\u{200b}dow", "/etc/shadow"),
            (" /etc./shadow. ", "/etc/shadow"),
            ("‥／‥/etc", "../../etc"),
            ("%EF%BC%8Fetc", "/etc"),
            ("％2fetc", "/etc"),
        ] {
            let all = readings(text).unwrap();
            assert!(all.iter().any(|reading| reading.text == hidden), "{text}: {all:?}");
        }
    }

    #[test]
    fn a_plain_path_has_one_reading() {
        assert_eq!(readings("notes/welcome.md").unwrap().len(), 1);
    }

    #[test]
    fn encoding_at_the_limit_is_read_and_beyond_it_is_given_up() {
        let wrap = |layers: usize| format!("%{}2fetc", "25".repeat(layers));
        let deepest = readings(&wrap(MAX_DECODINGS - 1)).unwrap();
        assert!(deepest.iter().any(|reading| reading.text == "/etc"));
        assert_eq!(readings(&wrap(MAX_DECODINGS)), None);
    }

    #[test]
    fn a_home_of_nobody_is_a_home_all_the_same() {
        assert_eq!(path("~."), "/home/~");
        assert_eq!(path("~../etc"), "/home/~/etc");
    }

    #[test]
    fn being_within_goes_by_whole_names() {
        assert!(within("/a/b", "/a"));
        assert!(within("/a", "/a"));
        assert!(!within("/ab", "/a"));
        assert!(within("/anything", "/"));
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic_and_every_result_is_resolved(text in "\\PC{0,60}|[./~%a-f0-9\\\\ $HOME{}]{0,60}") {
            for reading in readings(&text).unwrap_or_default() {
                let lexical = resolve(&reading.text, &places());
                prop_assert!(lexical.path.starts_with('/'));
                prop_assert!(!lexical.path.split('/').any(|name| name == "." || name == ".."));
                prop_assert!(!lexical.path.contains("//"));
            }
        }
    }
}
