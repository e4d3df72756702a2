//! Where the channel listens, from before the lock: the address is taken there, or a socket is kept that takes it once it
//! is free.

use std::net::{SocketAddr, TcpListener};
use std::rc::Rc;

use metnos_proto::control::HttpSettings;

use super::Http;
use super::late_bind::PendingBind;
use crate::session::Door;

/// See the module.
pub struct HttpListener {
    place: Taken,
    per_minute: u32,
}

enum Taken {
    /// The configuration has no address.
    Off,
    /// There can be none, and why.
    Never(String),
    /// The address is taken.
    Yes(SocketAddr, TcpListener),
    /// Another process has the address; what `status` says of that.
    NotYet(PendingBind, String),
}

impl HttpListener {
    /// Takes the address. Without it the other channels are served all the same, and `status` says why.
    #[must_use]
    pub fn open(settings: &HttpSettings) -> Self {
        Self { place: take(&settings.listen), per_minute: settings.per_minute }
    }

    /// Whether an address is configured and can be listened at.
    #[must_use]
    pub const fn is_open(&self) -> bool {
        matches!(self.place, Taken::Yes(..) | Taken::NotYet(..))
    }

    /// The port of an address that is still to be taken.
    #[must_use]
    pub const fn waits_for(&self) -> Option<u16> {
        match &self.place {
            Taken::NotYet(place, _) => Some(place.address().port()),
            Taken::Off | Taken::Never(_) | Taken::Yes(..) => None,
        }
    }

    /// Serves there, or as soon as the address is free.
    pub fn begin(self, door: &Rc<Door>) {
        let per_minute = self.per_minute;
        match self.place {
            Taken::Off => {}
            Taken::Never(why) => door.listens(why),
            Taken::Yes(address, listener) => serve(door, address, listener, per_minute),
            Taken::NotYet(place, why) => {
                door.listens(why);
                let (address, door) = (place.address(), Rc::clone(door));
                tokio::task::spawn_local(async move {
                    let listener = place.taken(|why| door.listens(why)).await;
                    serve(&door, address, listener, per_minute);
                });
            }
        }
    }
}

fn take(listen: &str) -> Taken {
    if listen.is_empty() {
        return Taken::Off;
    }
    let mut place = match listen.parse().map_err(std::io::Error::other).and_then(PendingBind::new) {
        Ok(place) => place,
        Err(error) => return Taken::Never(format!("not on {listen}: {error}")),
    };
    let taken = place.take().and_then(|listener| Ok((listener.local_addr()?, listener)));
    match taken {
        Ok((address, listener)) => Taken::Yes(address, listener),
        Err(error) => {
            tracing::warn!(%error, "the door does not listen on {listen}: there is no HTTP until it is free");
            let why = place.not_yet(&error);
            Taken::NotYet(place, why)
        }
    }
}

fn serve(door: &Rc<Door>, address: SocketAddr, listener: TcpListener, per_minute: u32) {
    match tokio::net::TcpListener::from_std(listener) {
        Ok(listener) => {
            tracing::info!("the door listens on {address}");
            door.listens(address.to_string());
            tokio::task::spawn_local(Http::new(door, address.port(), per_minute).listen(listener));
        }
        Err(error) => door.listens(format!("not listening: {error}")),
    }
}
