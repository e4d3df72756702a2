//! Syntd's process: it must never install, sign or start anything.

use std::process::ExitCode;

use metnos_daemon::{Daemon, Fatal, Opened, Served, Service};
use metnos_proto::boot::Boot;
use metnos_proto::edges::SyntdMind;
use metnos_proto::role::Syntd;
use metnos_syntd::watch::Watch;

fn main() -> ExitCode {
    metnos_daemon::run::<Nothing>()
}

/// What it opens before its lock.
struct Nothing;

impl Opened for Nothing {
    type Role = Syntd;

    fn open(_: &mut Boot<Syntd>) -> Result<Self, Fatal> {
        Ok(Self)
    }
}

impl Served for Nothing {
    type Service = Watching;

    async fn serve(self, daemon: &mut Daemon<Syntd>) -> Result<Watching, Fatal> {
        // Nothing is drafted as long as mind has no model; the channel is there for when it has.
        let mind = daemon.asks::<SyntdMind>()?;
        Watch::start(daemon.asks()?, daemon.asks()?, mind);
        Ok(Watching)
    }
}

struct Watching;

impl Service<Syntd> for Watching {
    /// It holds nothing that would have to end.
    async fn drain(&self) {}
}
