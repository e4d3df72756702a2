//! The door's process: the only one that channels lead to. It must never choose a call, nor open a file.

use std::process::ExitCode;
use std::rc::Rc;

use metnos_gatewayd::daemon;
use metnos_gatewayd::session::{Door, Peers, TURN_WITHIN_MS};
use metnos_proto::boot::{BootError, Daemon};
use metnos_proto::edges::CtlDoor;
use metnos_proto::role::Gatewayd;

fn main() -> ExitCode {
    daemon::live::<Gatewayd, _, _>(open, |door| async move { door.drain().await })
}

fn open(daemon: &mut Daemon<Gatewayd>) -> Result<Rc<Door>, BootError> {
    let peers =
        Peers { policyd: daemon.asks()?, memoryd: daemon.asks()?, planner: daemon.asks()?, mind: daemon.asks()? };
    let door = Door::new(peers, TURN_WITHIN_MS);
    door.belongs_to(daemon.start.settings.owner_uid);
    let sessions = Rc::clone(&door);
    daemon.answers::<CtlDoor, _, _>(move |end| sessions.session(end))?;
    door.start();
    Ok(door)
}
