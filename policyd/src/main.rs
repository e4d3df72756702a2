//! policyd's process: it must never read a word before its key, its registry and its lock hold.

use std::process::ExitCode;

fn main() -> ExitCode {
    metnos_daemon::run::<metnos_policyd::daemon::Open>()
}
