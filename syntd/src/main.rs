//! Syntd's process: it must never install, sign or start anything.

use std::process::ExitCode;

use metnos_proto::boot::{BootError, Daemon};
use metnos_proto::edges::SyntdMind;
use metnos_proto::role::Syntd;
use metnos_syntd::daemon;
use metnos_syntd::watch::Watch;

fn main() -> ExitCode {
    // It holds nothing that would have to end.
    daemon::live::<Syntd, _, _>(open, |()| async {})
}

fn open(daemon: &mut Daemon<Syntd>) -> Result<(), BootError> {
    // Nothing is drafted as long as mind has no model; the channel is there for when it has.
    let mind = daemon.asks::<SyntdMind>()?;
    Watch::start(daemon.asks()?, daemon.asks()?, mind);
    Ok(())
}
