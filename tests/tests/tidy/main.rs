//! The shape of the project, checked: which crate may know which, where `unsafe` may stand, that files form no circles, that
//! documents lead somewhere. It looks at files only and starts nothing.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod circles;
mod lexer;
mod reference;
mod shape;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// The crates that are daemons, or start them: none may depend on another.
const DAEMONS: [&str; 9] = [
    "metnos-supervisor",
    "metnos-gatewayd",
    "metnos-planner",
    "metnos-mind",
    "metnos-policyd",
    "metnos-sandboxd",
    "metnos-memoryd",
    "metnos-syntd",
    "metnosctl",
];

/// Where `unsafe` may stand, and for which system calls.
const UNSAFE_ALLOWED: [(&str, &str); 7] = [
    ("egress/src/sys.rs", "forks a helper, and closes what the nursery has inherited"),
    ("crates/jail/src/sys/acts.rs", "test builds only: the forbidden acts as raw calls"),
    ("crates/jail/src/sys/mod.rs", "asks the kernel which Landlock it has, and whether a filter can kill"),
    ("proto/src/sys.rs", "an owned descriptor on tokio's reactor; SO_PASSRIGHTS"),
    ("sandboxd/seal/system.rs", "system calls and CPython's interface for the seal, which stands on no library"),
    ("sandboxd/src/sys.rs", "what the last steps before an executor need between fork and exec"),
    ("supervisor/src/process/sys.rs", "executes a daemon by its descriptor"),
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

/// Every file of the project below `folder` with one of these endings, relative to the root.
fn files(folder: &str, endings: &[&str]) -> Vec<String> {
    let mut found = Vec::new();
    let mut waiting = vec![root().join(folder)];
    while let Some(next) = waiting.pop() {
        for entry in std::fs::read_dir(&next).unwrap().flatten() {
            let path = entry.path();
            let name = entry.file_name().to_string_lossy().into_owned();
            if entry.file_type().unwrap().is_dir() {
                if !matches!(name.as_str(), "target" | ".git" | "corpus" | "artifacts" | "__pycache__") {
                    waiting.push(path);
                }
            } else if endings.iter().any(|ending| name.ends_with(ending)) {
                found.push(path.strip_prefix(root()).unwrap().to_str().unwrap().to_owned());
            }
        }
    }
    found.sort();
    found
}

fn text(file: &str) -> String {
    std::fs::read_to_string(root().join(file)).unwrap()
}

/// What cargo knows of the crates of the workspace.
fn packages() -> Vec<Value> {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--offline", "--locked", "--no-deps"])
        .current_dir(root())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    metadata["packages"].as_array().unwrap().clone()
}

fn name(value: &Value) -> String {
    value["name"].as_str().unwrap().to_owned()
}

/// Crate name → the root files of its library, its programs and its tests.
fn targets() -> BTreeMap<String, Vec<PathBuf>> {
    let files = |package: &Value| {
        let targets = package["targets"].as_array().unwrap().iter();
        let code = targets.filter(|target| target["kind"][0] != "custom-build");
        code.map(|target| PathBuf::from(target["src_path"].as_str().unwrap())).collect()
    };
    packages().iter().map(|package| (name(package), files(package))).collect()
}

/// Crate name → names of the workspace's crates it depends on in any way, tests included.
fn inner_dependencies() -> BTreeMap<String, BTreeSet<String>> {
    let packages = packages();
    let ours: BTreeSet<String> = packages.iter().map(name).collect();
    packages
        .iter()
        .map(|package| {
            let dependencies = package["dependencies"].as_array().unwrap().iter().map(name);
            (name(package), dependencies.filter(|dependency| ours.contains(dependency)).collect())
        })
        .collect()
}

/// Whether a crate of ours depends on another in its tests alone.
fn only_in_tests(of: &str, on: &str) -> bool {
    let packages = packages();
    let found = packages.iter().find(|package| name(package) == of).expect("it is a crate of the workspace");
    let dependencies = found["dependencies"].as_array().unwrap();
    dependencies.iter().filter(|dependency| name(dependency) == on).all(|dependency| dependency["kind"] == "dev")
}

#[test]
fn no_daemon_depends_on_a_daemon() {
    let dependencies = inner_dependencies();
    for daemon in DAEMONS {
        let known = dependencies.get(daemon).unwrap_or_else(|| panic!("{daemon} is no crate of the workspace"));
        let allowed = BTreeSet::from(
            [
                "metnos-proto",
                "metnos-calendar",
                "metnos-jail",
                "metnos-daemon",
                "metnos-policy",
                "metnos-egress",
                "metnos-rank",
                "metnos-reflex",
                "metnos-texts",
                "metnos-outbound",
                "metnos-when",
                "metnos-schedule",
                "metnos-soul",
            ]
            .map(str::to_owned),
        );
        // The tests of memoryd hold recall to the sets that the benches measure; no program of it links them.
        let of_benches = |name: &&String| {
            *name == "metnos-quality"
                && (daemon == "metnosctl" || daemon == "metnos-memoryd" && only_in_tests(daemon, name))
        };
        let foreign: Vec<_> = known.difference(&allowed).filter(|name| !of_benches(name)).collect();
        assert!(foreign.is_empty(), "{daemon} depends on {foreign:?}");
    }
}

#[test]
fn the_rules_know_the_words_and_nothing_else() {
    let dependencies = inner_dependencies();
    assert_eq!(dependencies["metnos-policy"], BTreeSet::from(["metnos-calendar", "metnos-proto"].map(str::to_owned)));
    for wanted in ["metnos-policyd", "metnosctl"] {
        assert!(dependencies[wanted].contains("metnos-policy"), "{wanted} decides with rules of its own");
    }
    for file in files("crates/policy/src", &[".rs"]) {
        // The reader of a trace's catalogues is handed in, and tests may do as they like.
        let own = text(&file).split("#[cfg(test)]").next().unwrap_or_default().to_owned();
        for word in ["std::fs", "std::net", "std::time", "std::process", "std::env"] {
            assert!(!own.contains(word), "{file} uses {word}");
        }
    }
}

#[test]
fn proto_depends_on_the_calendar_alone_and_jail_on_nothing() {
    let dependencies = inner_dependencies();
    for low in ["metnos-calendar", "metnos-jail"] {
        assert_eq!(dependencies[low], BTreeSet::new(), "{low}");
    }
    assert_eq!(dependencies["metnos-proto"], BTreeSet::from(["metnos-calendar".to_owned()]));
}

#[test]
fn every_crate_takes_the_lints_of_the_workspace_and_ends_on_panic() {
    for manifest in files("", &["Cargo.toml"]).iter().filter(|file| *file != "Cargo.toml" && !file.starts_with("fuzz/"))
    {
        let manifest_text: toml::Table = text(manifest).parse().unwrap();
        let lints = manifest_text.get("lints").and_then(|lints| lints.get("workspace"));
        assert_eq!(lints.and_then(toml::Value::as_bool), Some(true), "{manifest} has no [lints] workspace = true");
    }
    let workspace: toml::Table = text("Cargo.toml").parse().unwrap();
    for profile in ["dev", "release"] {
        assert_eq!(workspace["profile"][profile]["panic"].as_str(), Some("abort"), "profile {profile}");
    }
    assert_eq!(workspace["workspace"]["lints"]["rust"]["unsafe_code"].as_str(), Some("deny"));
}

/// A line of Rust without its comment and its texts, as far as looking for a word needs it.
fn code_of(line: &str) -> String {
    let mut code = String::new();
    let mut quoted = false;
    let mut escaped = false;
    for (at, c) in line.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' if quoted => escaped = true,
            '"' => quoted = !quoted,
            '/' if !quoted && line[at..].starts_with("//") => break,
            c if !quoted => code.push(c),
            _ => {}
        }
    }
    code
}

fn words(code: &str) -> impl Iterator<Item = &str> {
    code.split(|c: char| !c.is_alphanumeric() && c != '_')
}

#[test]
fn unsafe_stands_only_where_a_system_call_needs_it() {
    let with_unsafe: BTreeSet<String> = files("", &[".rs"])
        .into_iter()
        .filter(|file| text(file).lines().any(|line| words(&code_of(line)).any(|word| word == "unsafe")))
        .collect();
    let allowed: BTreeSet<String> = UNSAFE_ALLOWED.iter().map(|(file, _)| (*file).to_owned()).collect();
    assert_eq!(with_unsafe, allowed, "left: where it stands; right: where it may");
    for file in &with_unsafe {
        assert!(text(file).contains("SAFETY"), "{file} does not say why it is safe");
    }
}

#[test]
fn apparmor_profile_allows_user_namespaces_only_to_units_sandboxd() {
    let (unit, profile) = (text("systemd/metnos.service"), text("systemd/apparmor.d/metnos-sandboxd"));
    let folder = unit.lines().find_map(|line| line.strip_prefix("ExecStart=")?.split("/metnos-supervisor").next());
    let head = format!("profile metnos-sandboxd {}/metnos-sandboxd flags=(unconfined) {{", folder.unwrap());
    assert!(profile.contains(&head), "{head}");
    let rules: Vec<&str> = profile
        .lines()
        .map(str::trim)
        .filter(|line| line.ends_with(',') && !line.starts_with(['#']) && !line.starts_with("abi"))
        .collect();
    assert_eq!(rules, ["userns,"]);
}

#[test]
fn every_rust_file_says_first_what_it_is_for() {
    let first = |file: &String| text(file).lines().next().unwrap_or("").to_owned();
    // A doc test takes a program in whose lines it is no longer the first.
    let begin = |file: &str| if file.contains("/compile_fail/") { "// " } else { "//! " };
    let silent: Vec<String> = files("", &[".rs"])
        .into_iter()
        .filter(|file| !first(file).starts_with(begin(file)) || first(file).len() <= 20)
        .collect();
    assert!(silent.is_empty(), "these begin with something else: {silent:#?}");
}

#[test]
fn the_project_speaks_only_of_itself() {
    // Put together here, so that this file does not contain them.
    let forbidden = [
        concat!("TO", "DO"),
        concat!("FIX", "ME"),
        concat!("XX", "X:"),
        concat!("unimplemented", "!("),
        concat!("todo", "!("),
        concat!("/wo", "rk/"),
        concat!("/ro", "ot/.cargo"),
        concat!("/ro", "ot/.pyenv"),
        concat!("/tmp", "/t/"),
        concat!("not imple", "mented"),
    ];
    let endings = [".rs", ".py", ".md", ".toml", ".sh", ".service", "metnos", "run"];
    let mut found = Vec::new();
    for file in files("", &endings) {
        let Ok(content) = std::fs::read_to_string(root().join(&file)) else { continue };
        for (number, line) in content.lines().enumerate() {
            let place = format!("{file}:{}", number + 1);
            found
                .extend(forbidden.iter().filter(|word| line.contains(**word)).map(|word| format!("{place}: `{word}`")));
            if names_an_entry_of_a_tracker(line) {
                found.push(format!("{place}: {line}"));
            }
        }
    }
    assert!(found.is_empty(), "{found:#?}");
}

/// Whether the line holds the number of an entry of some tracker.
fn names_an_entry_of_a_tracker(line: &str) -> bool {
    line.to_lowercase().split(concat!("iss", "ue")).skip(1).any(|rest| {
        let rest = rest.trim_start_matches([' ', '#']);
        rest.starts_with(|c: char| c.is_ascii_digit())
    })
}

/// The anchor that a heading of Markdown gets.
fn anchor(heading: &str) -> String {
    let kept = heading.trim().to_lowercase();
    let kept = kept.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.map(|c| if c == ' ' { '-' } else { c }).collect()
}

fn anchors(markdown: &str) -> BTreeSet<String> {
    let mut fenced = false;
    let mut found = BTreeSet::new();
    for line in markdown.lines() {
        if line.starts_with("```") {
            fenced = !fenced;
        } else if !fenced && line.starts_with('#') {
            found.insert(anchor(line.trim_start_matches('#')));
        }
    }
    found
}

/// Every `](target)` outside fenced blocks.
fn links(markdown: &str) -> Vec<String> {
    let mut fenced = false;
    let mut found = Vec::new();
    for line in markdown.lines() {
        if line.starts_with("```") {
            fenced = !fenced;
        }
        if !fenced {
            let targets = line.split("](").skip(1).filter_map(|rest| rest.split_once(')'));
            found.extend(targets.map(|(target, _)| target.to_owned()));
        }
    }
    found
}

#[test]
fn every_link_of_a_document_leads_somewhere() {
    for file in files("", &[".md"]) {
        let content = text(&file);
        for link in links(&content).iter().filter(|link| !link.contains("://")) {
            let (path, fragment) = link.split_once('#').unwrap_or((link, ""));
            let target =
                if path.is_empty() { root().join(&file) } else { root().join(&file).parent().unwrap().join(path) };
            assert!(target.exists(), "{file} links to {link}, which does not exist");
            if !fragment.is_empty() {
                let target_text = std::fs::read_to_string(&target).unwrap();
                assert!(anchors(&target_text).contains(fragment), "{file} links to {link}, which has no such heading");
            }
        }
    }
}

#[test]
fn every_path_that_the_map_names_exists() {
    let map = text("docs/architecture.md");
    let all = files("", &[".rs", ".py", ".toml", ".md"]);
    let mut missing = Vec::new();
    let named = map.split('`').skip(1).step_by(2).filter(|code| code.ends_with(".rs") || code.ends_with(".toml"));
    for path in named.filter(|path| !path.contains('*') && *path != "metnos.toml") {
        // The name of a file, or the end of its path, as the section it stands in makes clear.
        if !all.iter().any(|file| file == path || file.ends_with(&format!("/{path}"))) {
            missing.push(path);
        }
    }
    assert!(missing.is_empty(), "docs/architecture.md names {missing:?}");
}

/// Every test of the project, as `file::name`: the file without its ending, and the folder
/// of a `main.rs`, `mod.rs` or `tests.rs`.
fn all_tests() -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for file in files("", &[".rs"]) {
        let path = Path::new(&file);
        let folder = path.parent().and_then(Path::file_name).unwrap_or_default();
        let names = [path.file_stem().unwrap(), folder].map(|name| name.to_str().unwrap());
        let names = if matches!(names[0], "main" | "mod" | "tests") { &names[..] } else { &names[..1] };
        for line in text(&file).lines() {
            if let Some(rest) = line.trim().strip_prefix("fn ")
                && let Some((name, _)) = rest.split_once('(')
            {
                found.extend(names.iter().map(|stem| format!("{stem}::{name}")));
            }
        }
    }
    found
}

#[test]
fn every_test_that_the_threat_model_names_exists() {
    let tests = all_tests();
    let model = text("docs/threat-model.md");
    let named: Vec<&str> = model.split('`').skip(1).step_by(2).filter(|code| code.contains("::")).collect();
    assert!(named.len() > 20, "the threat model names only {} tests", named.len());
    for name in named {
        assert!(tests.contains(name), "docs/threat-model.md names `{name}`, which is no test");
    }
}

/// Which rules say no to people on a channel, by their first word. All others say no to the owner at the machine, whose
/// commands are English, or to a program.
const SAID_TO_PEOPLE: [&str; 40] = [
    "approval",
    "approvals",
    "arguments",
    "call",
    "calls",
    "chronicle",
    "door",
    "effects",
    "executor",
    "file",
    "grant",
    "guard",
    "handle",
    "hook",
    "http",
    "inbox",
    "intent",
    "law",
    "level",
    "memory",
    "mind",
    "money",
    "panic",
    "path",
    "peer",
    "planner",
    "policyd",
    "pool",
    "profile",
    "prompt",
    "quota",
    "reference",
    "sandbox",
    "sandboxd",
    "schema",
    "thought",
    "tokens",
    "turn",
    "words",
    "ws",
];
/// Among them: what allows, what asks (a card has its reason), and names that are no rules.
const SAID_TO_NOBODY: [&str; 27] = [
    "approval.given",
    "chronicle.format",
    "door.token",
    "grant.given",
    "intent.none",
    "intent.spent",
    "level.supervised",
    "memory.events",
    "memory.format",
    "memory.line",
    "memory.max",
    "memory.md",
    "mind.instruction",
    "mind.max_tokens",
    "money.amount",
    "money.argument",
    "money.cap",
    "money.frozen",
    "money.payee",
    "money.payload",
    "money.selector",
    "profile.json",
    "profile.lock",
    "sandbox.capabilities",
    "sandbox.hash",
    "sandbox.profile",
    "schema.json",
];

#[test]
fn every_rule_of_a_refusal_has_an_italian_text() {
    let italian = text("crates/texts/texts/it.ftl");
    let told = italian.split("\nrefusal = ").nth(1).unwrap().split("\n}").next().unwrap();
    let mut silent = BTreeSet::new();
    let mut found = 0;
    for folder in [
        "crates/policy/src",
        "policyd/src",
        "gatewayd/src",
        "planner/src",
        "memoryd/src",
        "sandboxd/src",
        "mind/src",
        "proto/src",
    ] {
        for file in
            files(folder, &[".rs"]).iter().filter(|file| !file.ends_with("tests.rs") && !file.ends_with("stage.rs"))
        {
            let own = text(file).split("#[cfg(test)]").next().unwrap_or_default().to_owned();
            for rule in own.split('"').filter(|rule| !SAID_TO_NOBODY.contains(rule)) {
                let Some((family, name)) = rule.split_once('.') else { continue };
                let plain = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_');
                if !plain || !SAID_TO_PEOPLE.contains(&family) {
                    continue;
                }
                found += 1;
                // A budget that is used up has its name behind that of all budgets.
                let rule = rule.replace('.', "-");
                let named = |rule: &str| told.contains(&format!("[{rule}] "));
                if !named(&rule) && !named(&format!("budget-{rule}")) {
                    silent.insert(rule);
                }
            }
        }
    }
    assert!(found > 150, "the rules were not found: {found}");
    assert!(silent.is_empty(), "crates/texts/texts/it.ftl has no words for {silent:?}");
}

#[test]
fn each_kind_of_text_is_read_as_it_is_meant() {
    assert_eq!(code_of("let a = \"word // b\"; // word"), "let a = ; ");
    assert!(words(&code_of("pub(crate) fn a(b: C) {}")).any(|word| word == "crate"));
    assert!(names_an_entry_of_a_tracker(concat!("see iss", "ue #12")) && !names_an_entry_of_a_tracker("tissue paper"));
    assert_eq!(anchor(" 1. The daemons, and `why`"), "1-the-daemons-and-why");
    assert_eq!(links("a [b](c.md#d) e [f](g)\n```\n[x](y)\n```"), ["c.md#d", "g"]);
    assert!(anchors("# A b\n```\n# no\n```\n## C").is_superset(&BTreeSet::from(["a-b".to_owned(), "c".to_owned()])));
}
