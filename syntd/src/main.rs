//! Syntd's process: it must never install, sign or start anything.

use std::process::ExitCode;
use std::rc::Rc;

use metnos_daemon::{Daemon, Fatal, Opened, Served, Service};
use metnos_proto::boot::Boot;
use metnos_proto::edges::{CtlSyntd, SyntdMind, SyntdPolicyd, ctl_syntd};
use metnos_proto::role::Syntd;
use metnos_syntd::order::Orders;
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
        let (policyd, mind) = (daemon.asks::<SyntdPolicyd>()?, daemon.asks::<SyntdMind>()?);
        let watch = Watch::start(Rc::clone(&policyd), daemon.asks()?);
        let orders = Rc::new(Orders::new(watch, policyd, mind));
        daemon.answers::<CtlSyntd, _, _>(move |end| ctl_syntd::serve(end, Rc::clone(&orders)))?;
        Ok(Watching)
    }
}

struct Watching;

impl Service<Syntd> for Watching {
    /// It holds nothing that would have to end.
    async fn drain(&self) {}
}
