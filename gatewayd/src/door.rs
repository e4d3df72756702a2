//! The door's process: the only one that channels lead to. It must never choose a call, nor open a file.

use std::path::Path;
use std::process::ExitCode;
use std::rc::Rc;

use metnos_gatewayd::daemon::{self, Opened};
use metnos_gatewayd::hooks::Hooks;
use metnos_gatewayd::hooks::kept::Kept;
use metnos_gatewayd::http::Http;
use metnos_gatewayd::http::place::Place;
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
    let listens = listen(&door, &daemon.start.settings.http);
    let ports = telegram::open(&daemon.start, &door);
    let mut spared = Vec::new();
    if ports.is_empty() {
        spared.extend(["socket", "connect"]);
    }
    if listens.is_none() {
        spared.extend(["bind", "listen"]);
    }
    Ok(Opened { service: door, ports, spared, listens })
}

/// Takes the door's place on the loopback, before the lock. One that somebody else has leaves the other channels as they are:
/// it is tried again until it is free, and `status` says so. Gives the port of a place that is still to be taken.
fn listen(door: &Rc<Door>, settings: &HttpSettings) -> Option<u16> {
    let listen = &settings.listen;
    if listen.is_empty() {
        return None;
    }
    let place = listen.parse().map_err(std::io::Error::other).and_then(Place::new);
    let mut place = match place {
        Ok(place) => place,
        Err(error) => {
            door.listens(format!("not on {listen}: {error}"));
            return None;
        }
    };
    let per_minute = settings.per_minute;
    match place.take() {
        Ok(listener) => {
            serve(door, listener, per_minute);
            None
        }
        Err(error) => {
            tracing::warn!(%error, "the door does not listen on {listen}: there is no HTTP until it is free");
            door.listens(place.not_yet(&error));
            let (port, door) = (place.address().port(), Rc::clone(door));
            tokio::task::spawn_local(async move {
                let listener = place.taken(|why| door.listens(why)).await;
                serve(&door, listener, per_minute);
            });
            Some(port)
        }
    }
}

fn serve(door: &Rc<Door>, listener: std::net::TcpListener, per_minute: u32) {
    let begun = listener.local_addr().and_then(|address| Ok((address, tokio::net::TcpListener::from_std(listener)?)));
    match begun {
        Ok((address, listener)) => {
            tracing::info!("the door listens on {address}");
            door.listens(address.to_string());
            tokio::task::spawn_local(Http::new(door, address.port(), per_minute).listen(listener));
        }
        Err(error) => door.listens(format!("not listening: {error}")),
    }
}
