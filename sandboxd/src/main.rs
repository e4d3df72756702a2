//! sandboxd's process: it must never serve a word before its view, its lock and its canaries hold.

use std::process::ExitCode;

use metnos_sandboxd::daemon;
use metnos_sandboxd::kernel::Kernel;
use metnos_sandboxd::view::POOL;

fn main() -> ExitCode {
    daemon::live(POOL, Kernel::prepare)
}
