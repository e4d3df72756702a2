//! What documents say of the project, checked: the paths, programs, functions and commands that they name exist, decisions
//! are numbered once, and the command lines of README and docs/operation.md run.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::documented::{command_lines, words};
use metnos_tests::instance::Plan;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

fn text(file: &str) -> String {
    std::fs::read_to_string(root().join(file)).unwrap()
}

/// Every file of the project, relative to the root.
fn files() -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut waiting = vec![root()];
    while let Some(next) = waiting.pop() {
        for entry in std::fs::read_dir(&next).unwrap().flatten() {
            let (path, name) = (entry.path(), entry.file_name().to_string_lossy().into_owned());
            if !entry.file_type().unwrap().is_dir() {
                found.insert(path.strip_prefix(root()).unwrap().to_str().unwrap().to_owned());
            } else if !matches!(name.as_str(), "target" | ".git" | "corpus" | "artifacts" | "__pycache__") {
                waiting.push(path);
            }
        }
    }
    found
}

/// The documents that describe the project as it is; `CHANGELOG.md` also names what it was.
fn documents() -> Vec<String> {
    let is_one = |file: &String| {
        let top = ["README.md", "CONTRIBUTING.md", "SECURITY.md", "bench/README.md"].contains(&file.as_str());
        top || (file.starts_with("docs/") && file.ends_with(".md"))
    };
    files().into_iter().filter(is_one).collect()
}

/// The spans of code outside of blocks; one may be broken at the end of a line.
fn spans(markdown: &str) -> Vec<String> {
    let mut outside = String::new();
    let mut in_block = false;
    for line in markdown.lines() {
        if line.trim_start().starts_with("```") {
            in_block = !in_block;
            outside.push_str("\n\n");
        } else if !in_block {
            outside.push_str(line);
            outside.push('\n');
        }
    }
    let of_paragraph = |paragraph: &str| -> Vec<String> {
        paragraph.split('`').skip(1).step_by(2).map(|span| span.replace('\n', " ")).collect()
    };
    outside.split("\n\n").flat_map(of_paragraph).collect()
}

/// Endings of files of the project. A span that ends so, or begins with a folder of the project, names a path.
const ENDINGS: [&str; 12] =
    [".rs", ".py", ".toml", ".md", ".sql", ".ftl", ".golden", ".service", ".json", ".jsonl", ".txt", ".conf"];

/// What documents name beside the project: files of a backup, of the machine, of an executor in an instance, of a mnestome.
const ELSEWHERE: [&str; 4] = ["MANIFEST.json", "apparmor.service", "profile.json", "traces.json"];

/// The path that a span of code names, if it names one.
fn path_of<'a>(span: &'a str, tops: &BTreeSet<String>) -> Option<&'a str> {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '/' | '.' | '_' | '-');
    // `file.rs::name` and `file.rs:12` name a place in a file.
    let path = span.split("::").next().unwrap_or_default();
    let path = if path.contains(".rs") { path } else { span };
    let in_folder = path.split_once('/').is_some_and(|(top, _)| tops.contains(top));
    let is_path = path.chars().all(plain) && !path.starts_with(['/', '.', '-']) && path.len() > 3;
    // Capitals stand for something.
    let is_form = path.split(['/', '.', '_']).any(|part| matches!(part, "NAME" | "VERSION" | "ROLE" | "FILE" | "PEER"));
    (is_path && !is_form && (in_folder || ENDINGS.iter().any(|end| path.ends_with(end)))).then_some(path)
}

#[test]
fn documents_name_existing_paths() {
    let all = files();
    let tops: BTreeSet<String> = all.iter().filter_map(|file| Some(file.split_once('/')?.0.to_owned())).collect();
    let exists = |path: &str| {
        let path = path.trim_end_matches('/');
        let ends = |file: &String| file == path || file.ends_with(&format!("/{path}"));
        let below = |file: &String| file.starts_with(&format!("{path}/")) || file.contains(&format!("/{path}/"));
        all.iter().any(|file| ends(file) || below(file))
    };
    let (mut missing, mut seen, mut elsewhere) = (Vec::new(), 0, BTreeSet::new());
    for document in documents() {
        for span in spans(&text(&document)) {
            let Some(path) = path_of(&span, &tops) else { continue };
            seen += 1;
            if ELSEWHERE.contains(&path) {
                elsewhere.insert(path.to_owned());
            } else if !exists(path) {
                missing.push(format!("{document}: {path}"));
            }
        }
    }
    assert!(seen > 300, "only {seen} paths were found");
    assert!(missing.is_empty(), "no such file or folder: {missing:#?}");
    let stale: Vec<_> = ELSEWHERE.iter().filter(|path| !elsewhere.contains(**path)).collect();
    assert!(stale.is_empty(), "no document names these any more: {stale:?}");
}

/// The names of programs and crates of the workspace.
fn programs() -> BTreeSet<String> {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--offline", "--locked", "--no-deps"])
        .current_dir(root())
        .output()
        .unwrap();
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let packages = metadata["packages"].as_array().unwrap();
    let targets = packages.iter().flat_map(|package| package["targets"].as_array().unwrap());
    packages.iter().chain(targets).map(|one| one["name"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn documents_name_existing_programs() {
    let mut known = programs();
    // The users of the daemons.
    let users = text("systemd/sysusers.d/metnos.conf");
    known.extend(users.split_whitespace().filter(|word| word.starts_with("metnos-")).map(str::to_owned));
    // A unit of the reader's, and the names that are hashed or signed with a document.
    known.extend(["metnos-morning", "metnos-executor-1", "metnos-chronicle-v1", "metnos-anchor-v1"].map(str::to_owned));
    let mut missing = Vec::new();
    for document in documents() {
        let content = text(&document);
        let is_part = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        for word in content.split(|c: char| !is_part(c)).filter(|word| word.starts_with("metnos-")) {
            let word = word.trim_end_matches('-');
            if word != "metnos" && !known.contains(word) {
                missing.push(format!("{document}: {word}"));
            }
        }
    }
    assert!(missing.is_empty(), "no such program, crate or user: {missing:#?}");
}

#[test]
fn decisions_are_numbered_once_dated_and_listed() {
    let all = files();
    let pages: Vec<&str> = all
        .iter()
        .filter_map(|file| file.strip_prefix("docs/decisions/"))
        .filter(|page| *page != "README.md" && page.ends_with(".md"))
        .collect();
    let index = text("docs/decisions/README.md");
    for (at, page) in pages.iter().enumerate() {
        let number = format!("{:03}", at + 1);
        let content = text(&format!("docs/decisions/{page}"));
        assert!(page.starts_with(&format!("{number}-")), "{page} should have the number {number}");
        assert!(content.starts_with(&format!("# {number}. ")), "the heading of {page} has another number");
        let date =
            content.lines().find_map(|line| line.strip_prefix("Date: ")).unwrap_or_else(|| panic!("{page}: no date"));
        let form: Vec<usize> = date.split('-').map(str::len).collect();
        assert!(form == [4, 2, 2] && date.bytes().all(|b| b.is_ascii_digit() || b == b'-'), "{page}: {date}");
        let row = format!("| [{number}]({page}) | {date} | ");
        assert!(index.contains(&row), "docs/decisions/README.md has no row `{row}…`");
    }
    assert_eq!(index.matches("\n| [").count(), pages.len(), "docs/decisions/README.md lists a page that is not there");
}

/// A section of a document, without its heading.
fn section(document: &str, heading: &str) -> String {
    let content = text(document);
    let (_, rest) = content.split_once(&format!("\n{heading}\n")).unwrap_or_else(|| panic!("{document}: {heading}"));
    let level = heading.split(' ').next().unwrap().len();
    let is_next = |line: &str| line.starts_with('#') && line.split(' ').next().unwrap_or_default().len() <= level;
    rest.lines().take_while(|line| !is_next(line)).collect::<Vec<_>>().join("\n")
}

/// Each `function` in `file` of a section, as pairs.
fn functions(section: &str) -> Vec<(String, String)> {
    let flat = section.replace('\n', " ");
    let parts: Vec<&str> = flat.split('`').collect();
    let named =
        parts.windows(4).filter(|four| four[1].ends_with("()") && four[2].trim() == "in" && !four[3].contains(' '));
    named.map(|four| (four[1].trim_end_matches("()").to_owned(), four[3].to_owned())).collect()
}

#[test]
fn walk_of_an_ask_names_existing_functions() {
    let walk = functions(&section("docs/architecture.md", "## One request, from end to end"));
    let walked: BTreeSet<&String> = walk.iter().map(|(_, file)| file).collect();
    assert!(walk.len() >= 12, "{walk:?}");
    assert!(walked.len() <= 15, "a walk through {} files is too long: {walked:?}", walked.len());
    let recipes = functions(&section("docs/architecture.md", "## Where a change begins"));
    assert!(recipes.len() >= 5, "{recipes:?}");
    for (function, file) in walk.iter().chain(&recipes) {
        let content =
            std::fs::read_to_string(root().join(file)).unwrap_or_else(|_| panic!("docs/architecture.md: {file}"));
        let name = function.rsplit("::").next().unwrap();
        let is_there = [format!("fn {name}("), format!("fn {name}<"), format!("macro_rules! {name} ")];
        assert!(is_there.iter().any(|one| content.contains(one)), "{file} has no function {name}");
    }
}

#[test]
fn commands_of_the_script_in_documents_exist() {
    let usage = text("metnos");
    let (_, usage) = usage.split_once("usage: ").unwrap();
    let (usage, _) = usage.split_once("\nTEXT").unwrap();
    let all = files();
    let tests: BTreeSet<String> = all
        .iter()
        .filter(|file| file.ends_with(".rs"))
        .flat_map(|file| {
            text(file).split("fn ").skip(1).map(|rest| rest.split('(').next().unwrap().to_owned()).collect::<Vec<_>>()
        })
        .collect();
    let names_tests = |filter: &str| {
        let crates = ["", "crates/", "tests/"].iter().any(|at| all.contains(&format!("{at}{filter}/Cargo.toml")));
        // As `filter_of` of the script looks for them.
        let places = ["it/NAME.rs", "it/NAME/mod.rs", "NAME.rs", "NAME/main.rs"];
        let file = places
            .iter()
            .map(|place| format!("/tests/{}", place.replace("NAME", filter)))
            .any(|place| all.iter().any(|file| file.ends_with(&place)));
        crates || file || tests.iter().any(|test| test.contains(filter))
    };
    let mut seen = 0;
    for document in documents() {
        for one in command_lines(&text(&document), "./metnos") {
            seen += 1;
            let all: Vec<String> = words(&one.line);
            let known = |word: &str| usage.contains(&format!("./metnos {word}"));
            assert!(known(&all[1]), "{document}: `{}` is no command of ./metnos", one.line);
            for word in all.iter().skip(2) {
                let fits = match (all[1].as_str(), word.as_str()) {
                    (_, option) if option.starts_with("--") => usage.contains(option),
                    ("test", filter) => filter == "FILTER" || names_tests(filter),
                    _ => true,
                };
                assert!(fits, "{document}: `{}` has {word}, which selects nothing", one.line);
            }
        }
    }
    assert!(seen > 40, "only {seen} commands were found");
}

/// How a documented command line is known to work.
enum How {
    /// It is typed as it stands, and exits with this.
    Typed(i32),
    /// It is typed so, with the instance's directory for `HOME`, and exits with this.
    As(&'static str, i32),
    /// The test in this file runs it, with these words in it.
    By(&'static str, &'static str),
    /// It is not run, for this reason.
    Not(&'static str),
}
use How::{As, By, Not, Typed};

/// Every command line of README.md and docs/operation.md, in the order in which they are tried on one set.
const COMMANDS: &[(&str, How)] = &[
    (
        "./metnos run",
        Not("builds and starts an instance of this machine; `Instance` starts sets by the same `metnosctl up`"),
    ),
    ("./metnos build", Not("builds what this test was started with")),
    ("./metnos test", Not("this test is part of it")),
    ("./metnos test --full", Not("it takes hours")),
    ("metnosctl up", Typed(0)),
    ("metnosctl up --detach", Typed(0)),
    ("metnosctl birth", By("tests/tests/it/birth.rs", "birth")),
    ("metnosctl --instance /var/lib/metnos birth", By("tests/tests/it/install.rs", "### Installing the service")),
    ("metnosctl man /usr/share/man/man1", By("tests/tests/it/install.rs", "### Installing the service")),
    ("metnosctl completions bash", Typed(0)),
    ("metnosctl man", As("metnosctl man pages", 0)),
    ("metnosctl chat", Typed(0)),
    ("metnosctl ask \"read notes/welcome.md\"", Typed(0)),
    ("metnosctl ask", As("metnosctl ask \"delete notes/welcome.md\"", 0)),
    ("metnosctl undo", Typed(0)),
    ("metnosctl run fs_read path=notes/welcome.md", Typed(0)),
    ("metnosctl run fs_read path=../../../etc/passwd", Typed(1)),
    ("metnosctl run fs_read path=notes/link", Typed(1)),
    ("metnosctl run llm_summarise text=…", By("tests/tests/it/planning.rs", "set.run(\"llm_summarise\"")),
    ("metnosctl status", Typed(0)),
    ("metnosctl status --json", Typed(0)),
    ("metnosctl doctor", By("tests/tests/it/shapes.rs", "[\"doctor\"]")),
    ("metnosctl audit tail", Typed(0)),
    ("metnosctl audit tail -n 4", Typed(0)),
    ("metnosctl audit verify", Typed(0)),
    ("metnosctl audit search", As("metnosctl audit search fs_read", 0)),
    ("metnosctl executor list", Typed(0)),
    ("metnosctl mnest list", Typed(0)),
    ("metnosctl approvals list", Typed(0)),
    ("metnosctl vaglio digest", Typed(0)),
    ("metnosctl vaglio unasked", Typed(0)),
    ("metnosctl budget show", Typed(0)),
    ("metnosctl budget show metnos:synth", Typed(0)),
    ("metnosctl secret set NAME", As("metnosctl secret set imap", 0)),
    (
        "metnosctl account add mail --host imap.example.org --user anna@example.org --person Anna",
        By("tests/tests/it/mailbox.rs", "[\"account\", \"add\", \"mail\"]"),
    ),
    ("metnosctl account test mail", By("tests/tests/it/mailbox.rs", "[\"account\", \"test\", \"mail\"]")),
    (
        "metnosctl account add calendar --host cloud.example.org --user anna --person Anna",
        By("tests/tests/it/calendars.rs", "[\"account\", \"add\", \"calendar\""),
    ),
    ("metnosctl account test calendar", By("tests/tests/it/calendars.rs", "[\"account\", \"test\", \"calendar\"]")),
    ("metnosctl executor diff shell_run", Typed(0)),
    ("metnosctl executor relock --all", Typed(0)),
    ("metnosctl executor lift NAME", By("tests/tests/it/upgrade.rs", "[\"executor\", \"lift\"")),
    ("metnosctl executor sign NAME", By("tests/tests/it/parcels.rs", "[\"executor\", \"sign\"")),
    ("metnosctl executor disable NAME", As("metnosctl executor disable json_query", 0)),
    ("metnosctl executor archive NAME", As("metnosctl executor archive json_query", 0)),
    ("metnosctl pairing list", Typed(0)),
    ("metnosctl pairing invite http --as owner", Typed(0)),
    ("metnosctl pairing invite telegram --as owner", Typed(0)),
    ("metnosctl people add Anna --role owner --also mum", Typed(0)),
    ("metnosctl people add Marco --role adult", Typed(0)),
    ("metnosctl pairing invite telegram --person Marco", Typed(0)),
    ("metnosctl pairing revoke http:DIGEST", Typed(1)),
    ("metnosctl web", Typed(0)),
    ("metnosctl web --print", Typed(0)),
    ("metnosctl web --person Marco", Typed(0)),
    (
        "metnosctl seal break Luca --reason \"he has not come home\"",
        By("tests/tests/it/private.rs", "[\"seal\", \"break\""),
    ),
    ("metnosctl people change Anna --channel telegram", Typed(0)),
    ("metnosctl people change Marco --quiet 22:00-7:00", Typed(0)),
    (
        "metnosctl people change Luca --may-call fs_append --may-call note_add",
        By("tests/tests/it/family.rs", "\"--may-call\", \"fs_append\", \"--may-call\", \"note_add\""),
    ),
    ("metnosctl people join", By("tests/tests/it/shapes.rs", "[\"people\", \"join\"")),
    ("metnosctl people join Marco telegram:5100", By("tests/tests/it/shapes.rs", "[\"people\", \"join\"")),
    ("metnosctl pairing approve telegram CODE", By("tests/tests/it/bot.rs", "[\"pairing\", \"approve\", \"telegram\"")),
    (
        "metnosctl pairing approve telegram CODE --as adult",
        By("tests/tests/it/groups.rs", "[\"pairing\", \"approve\", \"telegram\""),
    ),
    ("metnosctl pairing approve cli CODE", By("tests/tests/it/people.rs", "[\"pairing\", \"approve\", \"cli\"")),
    ("metnosctl --instance DIR ask hello", As("metnosctl --instance HOME ask hello", 0)),
    ("metnosctl hook add post \"read shared/README.md\"", Typed(0)),
    ("metnosctl schedule add --ask \"what is planned today\" --when \"every day at 8:00\"", Typed(0)),
    ("metnosctl schedule list", Typed(0)),
    ("metnosctl schedule history NUMBER", As("metnosctl schedule history 1", 0)),
    (
        "metnosctl run notify message=\"dinner is at 8\" person=Marco",
        By("tests/tests/it/reminders.rs", "\"notify\", \"message=dinner is at 8"),
    ),
    ("metnosctl timer add morning \"count the files in notes\"", Typed(0)),
    ("metnosctl timer fire NAME", As("metnosctl timer fire morning", 0)),
    ("metnosctl autonomy set timer:NAME supervised", As("metnosctl autonomy set timer:morning supervised", 0)),
    ("metnosctl autonomy set telegram:ID supervised", As("metnosctl autonomy set telegram:4711 supervised", 1)),
    ("metnosctl models list", By("tests/tests/it/models.rs", "[\"models\", \"list\"")),
    ("metnosctl models key claude", By("tests/tests/it/models.rs", "[\"models\", \"key\"")),
    ("metnosctl models scan", By("tests/tests/it/models.rs", "[\"models\", \"scan\"")),
    ("metnosctl models set interface claude/claude-sonnet-4-5", By("tests/tests/it/models.rs", "[\"models\", \"set\"")),
    ("metnosctl models set fast …", By("tests/tests/it/models.rs", "[\"models\", \"set\"")),
    ("metnosctl bench ask FILE --model configured", By("tests/tests/it/bench.rs", "\"configured\"")),
    ("metnosctl models test", By("tests/tests/it/models.rs", "[\"models\", \"test\"")),
    ("metnosctl models set synth SERVER/MODEL", By("tests/tests/it/shapes.rs", "[\"models\", \"set\", \"synth\"")),
    (
        "metnosctl synt run \"find the invoice number in the text of an invoice\" --examples invoices.jsonl",
        By("tests/tests/it/growth.rs", "[\"synt\", \"run\""),
    ),
    ("metnosctl synt gaps", Typed(0)),
    ("metnosctl synt proposals", Typed(0)),
    ("metnosctl synt show", Typed(1)),
    ("metnosctl synt dry-run off", Typed(0)),
    ("metnosctl synt withdraw NAME --reason …", By("tests/tests/it/growth.rs", "[\"synt\", \"withdraw\"")),
    ("metnosctl executor restore NAME --reason …", By("tests/tests/it/growth.rs", "[\"executor\", \"restore\"")),
    ("metnosctl executor revoke NAME --reason …", By("tests/tests/it/lifecycle.rs", "[\"executor\", \"revoke\"")),
    ("metnosctl bench synt FILE", By("tests/tests/it/shapes.rs", "[\"bench\", \"synt\"")),
    ("metnosctl daemon restart policyd", Typed(0)),
    (
        "metnosctl account add home --host 192.168.1.10 --devices 'light.*,cover.*,climate.living_room,scene.*,switch.reading_lamp,lock.front_door'",
        By("tests/tests/it/house.rs", "[\"account\", \"add\", \"home\""),
    ),
    (
        "metnosctl account add search --host searx.example.org",
        By("tests/tests/it/search.rs", "[\"account\", \"add\", \"search\""),
    ),
    ("metnosctl account test search", As("metnosctl account test search", 1)),
    ("metnosctl telegram token", By("tests/tests/it/shapes.rs", "[\"telegram\", \"token\"")),
    ("metnosctl telegram status", Typed(0)),
    ("metnosctl daemon restart memoryd", Typed(0)),
    ("metnosctl daemon restart mind", Typed(0)),
    ("metnosctl daemon restart sandboxd", Typed(0)),
    ("metnosctl panic", Typed(0)),
    ("metnosctl backup FOLDER", As("metnosctl backup kept", 0)),
    ("metnosctl --instance DIR restore FOLDER", As("metnosctl --instance again restore kept", 0)),
    ("metnosctl down", Typed(0)),
];

#[test]
fn commands_of_readme_and_operation_run_on_a_set() {
    let documented: BTreeSet<String> = ["README.md", "docs/operation.md"]
        .iter()
        .flat_map(|document| ["metnosctl", "./metnos"].map(|program| command_lines(&text(document), program)))
        .flatten()
        .map(|one| one.line)
        .collect();
    let listed: BTreeSet<String> = COMMANDS.iter().map(|(line, _)| (*line).to_owned()).collect();
    assert_eq!(documented, listed, "left: in README.md and docs/operation.md; right: in COMMANDS");
    for (line, how) in COMMANDS {
        match how {
            By(file, needle) => assert!(text(file).contains(needle), "{file} does not run `{line}`: no {needle} in it"),
            Not(reason) => assert!(!reason.is_empty(), "{line}"),
            Typed(_) | As(..) => {}
        }
    }
    let mut set = Plan::new().config("[http]\nlisten = \"127.0.0.1:0\"\n").start();
    set.is_grown();
    std::os::unix::fs::symlink("/etc/passwd", set.workspace("notes/link")).unwrap();
    let mut wrong = BTreeMap::new();
    for (line, how) in COMMANDS {
        let (typed, wanted) = match how {
            Typed(code) => (*line, *code),
            As(typed, code) => (*typed, *code),
            By(..) | Not(_) => continue,
        };
        let home = set.home().to_str().unwrap().to_owned();
        let all = words(&typed.replace("HOME", &home));
        let mut command = set.command("metnosctl");
        command.args(&all[1..]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        // What is said to `chat`, and what is put into the vault.
        let _ = child.stdin.take().unwrap().write_all(b"what is in notes\n");
        let output = child.wait_with_output().unwrap();
        if output.status.code() != Some(wanted) {
            wrong.insert(line, format!("exits with {}, not {wanted}: {output:?}", output.status));
        }
    }
    // The last of them has stopped it.
    let _ = set.ended();
    assert!(wrong.is_empty(), "{wrong:#?}");
}
