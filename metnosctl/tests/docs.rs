//! `docs/cli.md` names every command, option and exit code that there is.
#![allow(clippy::unwrap_used, missing_docs)]

use std::path::Path;

use clap::CommandFactory;
use metnosctl::cli::Cli;

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
