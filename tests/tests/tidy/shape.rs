//! How large the parts are: a daemon's beginning, structs that do everything, JSON without a type, folders without an order.
//! Each list of exceptions may only become shorter.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use crate::circles::Graph;
use crate::lexer::{Token, end_of_attribute, tokens, without_tests};
use crate::{DAEMONS, files, root, targets, text};

/// The most lines of a daemon's `main.rs`: what it opens and what it serves, and no more.
const MAX_MAIN_LINES: usize = 80;
/// Daemons whose `main.rs` is longer still.
const LONG_MAIN: [&str; 0] = [];

/// A struct with more fields whose methods are in more files does too much.
const MAX_FIELDS: usize = 12;
const MAX_METHOD_FILES: usize = 3;
/// Structs that do too much still, by crate and name.
const GOD_OBJECTS: &[(&str, &str)] = &[];

/// The most Rust files that stand side by side.
const MAX_FILES: usize = 16;
/// Folders that hold more, each with its reason.
const WIDE_FOLDERS: &[(&str, &str)] = &[
    ("fuzz/fuzz_targets", "one file a target, as cargo-fuzz wants it"),
    ("policyd/tests/it", "one file a subject"),
    ("tests/src", "one file a part of a set"),
    ("tests/tests/it", "one file a subject"),
];

/// The longest name of a test: a failing line of continuous integration shows it whole.
const MAX_TEST_NAME: usize = 70;

/// The code of a file, without its tests.
fn code(file: &Path) -> Vec<Token> {
    without_tests(&tokens(&std::fs::read_to_string(file).unwrap()))
}

/// The files of a crate, but those of its tests.
fn sources(targets: &[PathBuf]) -> BTreeSet<PathBuf> {
    let own = targets.iter().filter(|file| file.components().any(|part| part.as_os_str() == "src"));
    own.flat_map(|file| Graph::read(file).modules.into_keys()).collect()
}

#[test]
fn main_of_a_daemon_is_short() {
    let mut long = BTreeSet::new();
    for file in files("", &["main.rs"]).into_iter().filter(|file| file.matches('/').count() == 2) {
        if file.ends_with("/src/main.rs") && text(&file).lines().count() > MAX_MAIN_LINES {
            long.insert(file);
        }
    }
    assert_eq!(
        long,
        LONG_MAIN.map(str::to_owned).into(),
        "left: longer than {MAX_MAIN_LINES} lines; right: the exceptions"
    );
}

#[test]
fn structs_of_daemons_do_not_do_everything() {
    let mut found = BTreeSet::new();
    for (package, targets) in targets().into_iter().filter(|(package, _)| DAEMONS.contains(&package.as_str())) {
        let (mut fields, mut methods): (BTreeMap<String, usize>, BTreeMap<String, usize>) = Default::default();
        for file in sources(&targets) {
            let code = code(&file);
            fields.extend(structs(&code));
            for name in with_methods(&code) {
                *methods.entry(name).or_default() += 1;
            }
        }
        let large = fields.into_iter().filter(|(name, count)| {
            *count > MAX_FIELDS && methods.get(name).is_some_and(|files| *files > MAX_METHOD_FILES)
        });
        found.extend(large.map(|(name, _)| (package.clone(), name)));
    }
    let allowed: BTreeSet<_> =
        GOD_OBJECTS.iter().map(|(crate_, name)| ((*crate_).to_owned(), (*name).to_owned())).collect();
    assert_eq!(
        found, allowed,
        "left: more than {MAX_FIELDS} fields and methods in more than {MAX_METHOD_FILES} files; right: the exceptions"
    );
}

/// What a daemon answers has a type in `proto/src/doc/`.
#[test]
fn json_of_daemons_has_types() {
    let mut wrong = Vec::new();
    for (package, targets) in targets().into_iter().filter(|(package, _)| DAEMONS.contains(&package.as_str())) {
        let untyped: usize = sources(&targets).iter().map(|file| calls_of(&code(file), "json")).sum();
        if untyped > 0 {
            wrong.push(format!("{package}: `json!` stands there {untyped} times"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn test_names_are_short() {
    let mut long = Vec::new();
    for file in files("", &[".rs"]) {
        let names = test_names(&tokens(&text(&file))).into_iter().filter(|name| name.len() > MAX_TEST_NAME);
        long.extend(names.map(|name| format!("{file}: {name}")));
    }
    assert!(long.is_empty(), "longer than {MAX_TEST_NAME} characters: {long:#?}");
}

#[test]
fn folders_hold_few_files_side_by_side() {
    let mut folders: BTreeMap<String, usize> = BTreeMap::new();
    for file in files("", &[".rs"]) {
        let folder = Path::new(&file).parent().unwrap().display().to_string();
        *folders.entry(folder).or_default() += 1;
    }
    let wide: BTreeSet<_> =
        folders.iter().filter(|(_, count)| **count > MAX_FILES).map(|(folder, _)| folder.as_str()).collect();
    let allowed: BTreeSet<_> = WIDE_FOLDERS.iter().map(|(folder, _)| *folder).collect();
    assert_eq!(wide, allowed, "left: more than {MAX_FILES} files; right: the exceptions");
    assert!(root().exists());
}

/// The structs with named fields, and how many each has.
fn structs(code: &[Token]) -> BTreeMap<String, usize> {
    let mut found = BTreeMap::new();
    for (at, token) in code.iter().enumerate().filter(|(_, token)| token.text == "struct") {
        let Some(name) = code.get(at + 1).filter(|_| token.is_word()) else { continue };
        let Some(open) = (at..code.len()).find(|here| matches!(code[*here].text.as_str(), "{" | ";" | "(")) else {
            continue;
        };
        if code[open].text == "{" {
            found.insert(name.text.clone(), fields(code, open + 1));
        }
    }
    found
}

/// How many fields a body has that begins here.
fn fields(code: &[Token], open: usize) -> usize {
    let (mut at, mut depth, mut count) = (open, 0_usize, 0);
    while let Some(token) = code.get(at) {
        if let Some(end) = end_of_attribute(code, at) {
            at = end;
            continue;
        }
        match token.text.as_str() {
            "{" | "(" | "[" => depth += 1,
            "}" if depth == 0 => break,
            "}" | ")" | "]" => depth -= 1,
            ":" if depth == 0 => count += 1,
            _ => {}
        }
        at += 1;
    }
    count
}

/// The types that have methods of their own here.
fn with_methods(code: &[Token]) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for (at, _) in code.iter().enumerate().filter(|(_, token)| token.text == "impl") {
        let begins = at
            .checked_sub(1)
            .is_none_or(|before| matches!(code[before].text.as_str(), "}" | ";" | "]" | "{" | "unsafe"));
        let Some(open) = (at..code.len()).find(|here| code[*here].text == "{").filter(|_| begins) else { continue };
        let head = &code[at + 1..open];
        if !head.iter().any(|token| token.text == "for") {
            found.extend(last_name(head));
        }
    }
    found
}

/// The name of the type in the head of an `impl`, which has no trait.
fn last_name(head: &[Token]) -> Option<String> {
    let mut depth = 0_usize;
    let mut name = None;
    for token in head {
        match token.text.as_str() {
            "<" => depth += 1,
            ">" => depth = depth.saturating_sub(1),
            "where" => break,
            _ if depth == 0 && token.is_word() => name = Some(token.text.clone()),
            _ => {}
        }
    }
    name
}

/// The functions with an attribute `#[test]`, also one of another crate (`#[tokio::test]`).
fn test_names(code: &[Token]) -> Vec<String> {
    let mut found = Vec::new();
    let (mut at, mut is_test) = (0, false);
    while let Some(token) = code.get(at) {
        if let Some(end) = end_of_attribute(code, at) {
            let words = code[at..end].iter().take_while(|token| token.text != "(");
            is_test |= words.filter(|token| token.is_word()).last().is_some_and(|last| last.text == "test");
            at = end;
            continue;
        }
        match token.text.as_str() {
            "fn" if is_test => {
                found.extend(code.get(at + 1).map(|name| name.text.clone()));
                is_test = false;
            }
            "{" | "}" | ";" => is_test = false,
            _ => {}
        }
        at += 1;
    }
    found
}

fn calls_of(code: &[Token], name: &str) -> usize {
    code.windows(2).filter(|pair| pair[0].text == name && pair[1].text == "!").count()
}

#[test]
fn shapes_are_read_from_code() {
    let code =
        tokens("#[d] pub struct A<T> { #[a(b: c)] pub a: B<C::D>, b: [u8; 3], c: fn(x: u8) } struct E(u8); struct F;");
    assert_eq!(structs(&code), BTreeMap::from([("A".to_owned(), 3)]));
    let code = tokens("impl<T: X> a::B<T> where T: Y {} impl C for D {} fn f() -> impl E { g() } impl F {}");
    assert_eq!(with_methods(&code), BTreeSet::from(["B".to_owned(), "F".to_owned()]));
    let code =
        tokens("#[test] #[ignore] fn a() {} fn b() {} #[tokio::test(x = 1)] async fn c() {} #[cfg(test)] mod d {}");
    assert_eq!(test_names(&code), ["a", "c"]);
    assert_eq!(calls_of(&tokens("json!({}) json(\"json!\") serde_json::json!()"), "json"), 2);
}
