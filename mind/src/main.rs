//! Mind's process: it must never ask another daemon anything, open a file after its lock, or connect to a port that
//! the configuration does not name.

use std::process::ExitCode;
use std::rc::Rc;

use metnos_daemon::{Confinement, Daemon, Fatal, Opened, Served, Service};
use metnos_jail::Places;
use metnos_mind::mind::Mind as Models;
use metnos_mind::servers::Servers;
use metnos_proto::boot::Boot;
use metnos_proto::edges::{
    CtlMind, DoorMind, PlannerMind, PolicydMind, SyntdMind, ctl_mind, door_mind, planner_mind, policyd_mind, syntd_mind,
};
use metnos_proto::role::Mind;

fn main() -> ExitCode {
    metnos_daemon::run::<Open>()
}

/// The models' servers with their keys.
struct Open(Servers);

impl Opened for Open {
    type Role = Mind;

    fn open(boot: &mut Boot<Mind>) -> Result<Self, Fatal> {
        Ok(Self(Servers::open(&boot.start)?))
    }

    fn confinement(&self) -> Confinement {
        Confinement { places: Places::new().with_ports(&self.0.ports), unused_calls: Vec::new() }
    }
}

impl Served for Open {
    type Service = Serving;

    async fn serve(self, daemon: &mut Daemon<Mind>) -> Result<Serving, Fatal> {
        let mind = Rc::new(self.0.mind);
        let [owner, door, planner, policyd, syntd] = [0; 5].map(|_| Rc::clone(&mind));
        daemon.answers::<CtlMind, _, _>(move |end| ctl_mind::serve(end, Rc::clone(&owner)))?;
        daemon.answers::<DoorMind, _, _>(move |end| door_mind::serve(end, Rc::clone(&door)))?;
        daemon.answers::<PlannerMind, _, _>(move |end| planner_mind::serve(end, Rc::clone(&planner)))?;
        daemon.answers::<PolicydMind, _, _>(move |end| policyd_mind::serve(end, Rc::clone(&policyd)))?;
        daemon.answers::<SyntdMind, _, _>(move |end| syntd_mind::serve(end, Rc::clone(&syntd)))?;
        tracing::info!("{}", mind.report().says);
        Ok(Serving(mind))
    }
}

struct Serving(Rc<Models>);

impl Service<Mind> for Serving {
    async fn drain(&self) {
        self.0.drain().await;
    }
}
