//! The planner's process. It opens nothing; it must never hold more than its ends.

use std::process::ExitCode;
use std::rc::Rc;

use metnos_daemon::{Daemon, Fatal, Opened, Served, Service};
use metnos_planner::turn::{Planner as Turns, TURN_WITHIN_MS};
use metnos_proto::boot::Boot;
use metnos_proto::edges::{DoorPlanner, door_planner};
use metnos_proto::role::Planner;

fn main() -> ExitCode {
    metnos_daemon::run::<Nothing>()
}

/// What it opens before its lock.
struct Nothing;

impl Opened for Nothing {
    type Role = Planner;

    fn open(_: &mut Boot<Planner>) -> Result<Self, Fatal> {
        Ok(Self)
    }
}

impl Served for Nothing {
    type Service = Serving;

    async fn serve(self, daemon: &mut Daemon<Planner>) -> Result<Serving, Fatal> {
        let turns = Turns::new(daemon.asks()?, daemon.asks()?, daemon.asks()?, TURN_WITHIN_MS);
        let service = Rc::clone(&turns);
        daemon.answers::<DoorPlanner, _, _>(move |end| door_planner::serve(end, Rc::clone(&service)))?;
        turns.start();
        Ok(Serving(turns))
    }
}

struct Serving(Rc<Turns>);

impl Service<Planner> for Serving {
    async fn drain(&self) {
        self.0.idle().await;
    }
}
