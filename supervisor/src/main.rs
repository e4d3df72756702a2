//! The supervisor's command line. Must never do more than read it and say how it ended.

use std::io::Write;
use std::process::ExitCode;
use std::time::Instant;

use metnos_supervisor::run::{Args, HELP, RunError, run};

fn main() -> ExitCode {
    metnos_proto::log::abort_on_panic();
    let began = Instant::now();
    let words: Vec<_> = std::env::args_os().skip(1).collect();
    match words.first().and_then(|word| word.to_str()) {
        Some("--help" | "-h") => {
            show(HELP);
            return ExitCode::SUCCESS;
        }
        Some("--version" | "-V") => {
            show(concat!("metnos-supervisor ", env!("CARGO_PKG_VERSION"), "\n"));
            return ExitCode::SUCCESS;
        }
        Some(_) | None => {}
    }
    match Args::parse(words).and_then(|args| run(&args, began)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            metnos_proto::log::say(&format!("metnos-supervisor: {error}"));
            ExitCode::from(if matches!(error, RunError::Usage(_)) { 2 } else { 1 })
        }
    }
}

/// Anyone who has closed the other end of the pipe does not want the rest.
fn show(text: &str) {
    let _ = std::io::stdout().write_all(text.as_bytes());
}
