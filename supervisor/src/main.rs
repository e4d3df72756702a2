//! The supervisor's command line. Must never do more than read it and say how it ended.

use std::process::ExitCode;
use std::time::Instant;

use metnos_supervisor::run::{Args, HELP, RunError, run};

fn main() -> ExitCode {
    let began = Instant::now();
    let words: Vec<_> = std::env::args_os().skip(1).collect();
    match words.first().and_then(|word| word.to_str()) {
        Some("--help" | "-h") => {
            print!("{HELP}");
            return ExitCode::SUCCESS;
        }
        Some("--version" | "-V") => {
            println!("metnos-supervisor {}", env!("CARGO_PKG_VERSION"));
            return ExitCode::SUCCESS;
        }
        Some(_) | None => {}
    }
    match Args::parse(words).and_then(|args| run(&args, began)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("metnos-supervisor: {error}");
            ExitCode::from(if matches!(error, RunError::Usage(_)) { 2 } else { 1 })
        }
    }
}
