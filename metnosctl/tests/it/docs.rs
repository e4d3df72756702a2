//! `docs/cli.md` names every command, option and exit code that there is, and the command lines of documents are understood.

use std::path::Path;

use crate::documented::{Documented, command_lines, words};
use clap::error::ErrorKind;
use clap::{CommandFactory, Parser};
use metnosctl::command_line::cli::Cli;

fn lacking(command: &clap::Command, path: &str, text: &str, lacking: &mut Vec<String>) {
    for sub in command.get_subcommands().filter(|sub| !sub.is_hide_set() && sub.get_name() != "help") {
        let path = format!("{path} {}", sub.get_name());
        if sub.get_subcommands().next().is_none() && !text.contains(&format!("`{path}")) {
            lacking.push(path.clone());
        }
        for arg in sub
            .get_arguments()
            .filter(|arg| !arg.is_hide_set())
            .filter_map(clap::Arg::get_long)
            .filter(|long| *long != "help")
        {
            if !text.contains(&format!("--{arg}")) {
                lacking.push(format!("{path} --{arg}"));
            }
        }
        self::lacking(sub, &path, text, lacking);
    }
}

#[test]
fn every_command_and_option_is_documented() {
    let text = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/cli.md")).unwrap();
    let mut missing = Vec::new();
    lacking(&Cli::command(), "metnosctl", &text, &mut missing);
    assert!(missing.is_empty(), "docs/cli.md does not mention {missing:?}");
    for code in 0..=4 {
        assert!(text.contains(&format!("| {code} |")), "exit code {code}");
    }
}

/// The documents whose command lines must be understood. What `docs/cli.md` names is compared with the commands above.
const DOCUMENTS: [&str; 9] = [
    "README.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    "bench/README.md",
    "docs/architecture.md",
    "docs/developing.md",
    "docs/first-hour.md",
    "docs/operation.md",
    "docs/sandbox.md",
];

/// A word that stands for others: `NAME`, `telegram:ID`, `text=…`.
fn is_placeholder(word: &str) -> bool {
    let last = word.rsplit([':', '=']).next().unwrap_or_default();
    let is_name =
        !last.is_empty() && last.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'/' || byte == b'_');
    is_name || word.contains(['…', '[', '<', '$'])
}

/// Why a documented line is not one that `metnosctl` understands.
#[expect(clippy::wildcard_enum_match_arm, reason = "clap's ErrorKind is not ours")]
fn misunderstood(documented: &Documented) -> Option<String> {
    let all = words(&documented.line);
    // What stands behind an ellipsis or in brackets is left to anyone who reads it.
    let shown: Vec<&String> = all.iter().take_while(|word| !word.starts_with(['…', '['])).collect();
    let error = Cli::try_parse_from(&shown).err()?;
    let is_form = all.iter().any(|word| is_placeholder(word));
    let forgiven = match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => true,
        ErrorKind::MissingRequiredArgument
        | ErrorKind::MissingSubcommand
        | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => !documented.in_block,
        ErrorKind::InvalidValue | ErrorKind::ValueValidation => is_form,
        _ => false,
    };
    (!forgiven).then(|| format!("`{}`: {}", documented.line, error.kind()))
}

#[test]
fn documented_command_lines_are_understood() {
    let mut wrong = Vec::new();
    let mut seen = 0;
    for document in DOCUMENTS {
        let text = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(document)).unwrap();
        for documented in command_lines(&text, "metnosctl") {
            seen += 1;
            // Of the test build alone.
            if documented.line.contains("--daemon ROLE=PATH") {
                continue;
            }
            wrong.extend(misunderstood(&documented).map(|why| format!("{document}: {why}")));
        }
    }
    assert!(seen > 80, "only {seen} command lines were found");
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn command_lines_of_documents_are_read_as_typed() {
    let text = "Say `metnosctl ask \"a b\"`, or `metnosctl\naudit tail`.\n\n```console\n$ x | metnosctl run a path='1 2'  # why\n\
                metnosctl shown\n```\n\n```sh\nmetnosctl man DIR > out; metnosctl down && metnosctl up\n```\n`metnosctl gone`\n";
    let found = command_lines(text, "metnosctl");
    let lines: Vec<&str> = found.iter().map(|one| one.line.as_str()).collect();
    assert_eq!(
        lines,
        [
            "metnosctl ask \"a b\"",
            "metnosctl audit tail",
            "metnosctl run a path='1 2'",
            "metnosctl man DIR",
            "metnosctl down",
            "metnosctl up",
            "metnosctl gone"
        ]
    );
    assert_eq!(words(lines[0]), ["metnosctl", "ask", "a b"]);
    let line = |line: &str, in_block| Documented { line: line.to_owned(), in_block };
    for (line, is_wrong) in [
        (line("metnosctl audit tail -n 4", true), false),
        (line("metnosctl audit tails", false), true),
        (line("metnosctl audit tail --all", false), true),
        (line("metnosctl audit", true), true),
        (line("metnosctl audit", false), false),
        (line("metnosctl daemon restart nobody", false), true),
        (line("metnosctl daemon restart NAME", false), false),
    ] {
        assert_eq!(misunderstood(&line).is_some(), is_wrong, "{line:?}");
    }
}
