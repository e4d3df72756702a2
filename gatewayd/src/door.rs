//! The door's process: the only one that channels lead to. It must never choose a call, nor open a file.

use std::path::Path;
use std::process::ExitCode;
use std::rc::Rc;

use metnos_gatewayd::daemon::{self, Opened};
use metnos_gatewayd::hooks::Hooks;
use metnos_gatewayd::hooks::kept::Kept;
use metnos_gatewayd::http::{self, Http};
use metnos_gatewayd::session::{Door, Peers, TURN_WITHIN_MS};
use metnos_gatewayd::telegram;
use metnos_proto::boot::{BootError, Daemon};
use metnos_proto::control::HttpSettings;
use metnos_proto::edges::CtlDoor;
use metnos_proto::role::Gatewayd;

fn main() -> ExitCode {
    daemon::live::<Gatewayd, _, _>(open, |door| async move { door.drain().await })
}

fn open(daemon: &mut Daemon<Gatewayd>) -> Result<Opened<Rc<Door>>, BootError> {
    let peers =
        Peers { policyd: daemon.asks()?, memoryd: daemon.asks()?, planner: daemon.asks()?, mind: daemon.asks()? };
    let door = Door::new(peers, TURN_WITHIN_MS);
    door.belongs_to(daemon.start.settings.owner_uid);
    let sessions = Rc::clone(&door);
    daemon.answers::<CtlDoor, _, _>(move |end| sessions.session(end))?;
    door.start();
    let folder = Path::new(&daemon.start.instance).join(telegram::FOLDER);
    door.keeps_hooks(Hooks::new(Kept::open(&folder).map_err(|error| error.to_string())));
    listen(&door, &daemon.start.settings.http);
    let ports = telegram::open(&daemon.start, &door);
    let spared: &[&str] = if ports.is_empty() { &["socket", "connect"] } else { &[] };
    Ok(Opened { service: door, ports, spared })
}

/// Takes the door's place on the loopback, before the lock. A place that cannot be had leaves the other channels as they
/// are: `status` says why there is no HTTP.
fn listen(door: &Rc<Door>, settings: &HttpSettings) {
    let listen = &settings.listen;
    if listen.is_empty() {
        return;
    }
    let bound = listen.parse().map_err(std::io::Error::other).and_then(|address| {
        let listener = http::bind(address)?;
        Ok((listener.local_addr()?, listener))
    });
    match bound {
        Ok((address, listener)) => {
            door.listens(address.to_string());
            let http = Http::new(door, address.port(), settings.per_minute);
            tokio::task::spawn_local(http.listen(listener));
        }
        Err(error) => {
            tracing::warn!(%error, "the door does not listen on {listen}: there is no HTTP");
            door.listens(format!("not on {listen}: {error}"));
        }
    }
}
