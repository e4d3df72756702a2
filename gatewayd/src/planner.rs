//! The planner's process: it reads what the world wrote, so it is presumed hijacked. It must never hold
//! more than its ends.

use std::process::ExitCode;
use std::rc::Rc;

use metnos_gatewayd::daemon::{self, Opened};
use metnos_gatewayd::turn::{Planner as Turns, TURN_WITHIN_MS};
use metnos_proto::boot::{BootError, Daemon};
use metnos_proto::edges::{DoorPlanner, door_planner};
use metnos_proto::role::Planner;

fn main() -> ExitCode {
    daemon::live::<Planner, _, _>(open, |turns| async move { turns.idle().await })
}

fn open(daemon: &mut Daemon<Planner>) -> Result<Opened<Rc<Turns>>, BootError> {
    let turns = Turns::new(daemon.asks()?, daemon.asks()?, daemon.asks()?, TURN_WITHIN_MS);
    let service = Rc::clone(&turns);
    daemon.answers::<DoorPlanner, _, _>(move |end| door_planner::serve(end, Rc::clone(&service)))?;
    turns.start();
    Ok(Opened::inward(turns))
}
