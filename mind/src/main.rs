//! Mind's process: it must never ask anybody, nor read a file after its lock.

use std::process::ExitCode;
use std::rc::Rc;

use metnos_mind::daemon;
use metnos_mind::serve::Mind as Service;
use metnos_proto::boot::{BootError, Daemon};
use metnos_proto::edges::{
    CtlMind, DoorMind, PlannerMind, PolicydMind, SyntdMind, ctl_mind, door_mind, planner_mind, policyd_mind, syntd_mind,
};
use metnos_proto::role::Mind;

fn main() -> ExitCode {
    // Every answer is given at once, so nothing is left to end.
    daemon::live::<Mind, _, _>(open, |()| async {})
}

fn open(daemon: &mut Daemon<Mind>) -> Result<(), BootError> {
    let mind = Rc::new(Service::new(Vec::new()));
    let [owner, door, planner, policyd, syntd] = [0; 5].map(|_| Rc::clone(&mind));
    daemon.answers::<CtlMind, _, _>(move |end| ctl_mind::serve(end, Rc::clone(&owner)))?;
    daemon.answers::<DoorMind, _, _>(move |end| door_mind::serve(end, Rc::clone(&door)))?;
    daemon.answers::<PlannerMind, _, _>(move |end| planner_mind::serve(end, Rc::clone(&planner)))?;
    daemon.answers::<PolicydMind, _, _>(move |end| policyd_mind::serve(end, Rc::clone(&policyd)))?;
    daemon.answers::<SyntdMind, _, _>(move |end| syntd_mind::serve(end, Rc::clone(&syntd)))?;
    tracing::info!("no model is configured");
    Ok(())
}
