//! The door's place on the loopback. Its socket is made before the lock; when someone else has the place, it is taken once
//! it is free: another program ends, or the door before this one has gone at last.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::os::fd::OwnedFd;
use std::time::Duration;

use rustix::net::{AddressFamily, SocketFlags, SocketType, sockopt};

use crate::chance::{self, Chance};

/// Connections that wait to be taken.
const BACKLOG: i32 = 128;
/// The first pause between two tries, in milliseconds, and the longest; each is twice the one before.
const FIRST_PAUSE_MS: u64 = 500;
const LONGEST_PAUSE_MS: u64 = 30_000;

/// See the module.
pub struct PendingBind {
    socket: Option<OwnedFd>,
    address: SocketAddr,
    /// Whether the address is the socket's already, and only listening at it failed.
    is_bound: bool,
    chance: Box<Chance>,
}

/// How long until try number `tried` + 1.
fn pause(tried: u32, chance: &Chance) -> Duration {
    let doubled = FIRST_PAUSE_MS.saturating_mul(1_u64 << tried.min(16)).min(LONGEST_PAUSE_MS);
    Duration::from_millis(doubled / 2 + chance(doubled / 2 + 1))
}

impl PendingBind {
    /// A socket for this address, which has no place yet. Port 0 takes any that is free.
    ///
    /// # Errors
    /// When the kernel gives none.
    pub fn new(address: SocketAddr) -> io::Result<Self> {
        let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let socket = rustix::net::socket_with(family, SocketType::STREAM, flags, None)?;
        // A door that was restarted finds connections of the one before it.
        sockopt::set_socket_reuseaddr(&socket, true)?;
        // Connections have it from here: each event goes at once.
        sockopt::set_tcp_nodelay(&socket, true)?;
        Ok(Self { socket: Some(socket), address, is_bound: false, chance: Box::new(chance::draw) })
    }

    /// Where it is to be.
    #[must_use]
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// What `status` says as long as someone else has it.
    #[must_use]
    pub fn not_yet(&self, error: &io::Error) -> String {
        format!("not on {}: {error}; it is tried again", self.address)
    }

    /// Takes the place, if it is free.
    ///
    /// # Errors
    /// When it is not, or was taken before.
    pub fn take(&mut self) -> io::Result<TcpListener> {
        let Some(socket) = &self.socket else { return Err(io::ErrorKind::AlreadyExists.into()) };
        if !self.is_bound {
            rustix::net::bind(socket, &self.address)?;
            self.is_bound = true;
        }
        rustix::net::listen(socket, BACKLOG)?;
        self.socket.take().map(TcpListener::from).ok_or_else(|| io::ErrorKind::AlreadyExists.into())
    }

    /// Takes it once it is free, however long that takes.
    pub async fn taken(mut self, not_yet: impl Fn(String)) -> TcpListener {
        let mut tried = 0_u32;
        loop {
            tokio::time::sleep(pause(tried, &*self.chance)).await;
            match self.take() {
                Ok(listener) => return listener,
                Err(error) => not_yet(self.not_yet(&error)),
            }
            tried = tried.saturating_add(1);
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::cell::RefCell;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn occupied_address_is_bound_once_it_is_free() {
        let theirs = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = theirs.local_addr().unwrap();
        let mut place = PendingBind::new(address).unwrap();
        assert_eq!(place.take().unwrap_err().kind(), io::ErrorKind::AddrInUse);
        let said = RefCell::new(Vec::new());
        let theirs = RefCell::new(Some(theirs));
        let listener = place
            .taken(|why| {
                said.borrow_mut().push(why);
                if said.borrow().len() == 20 {
                    theirs.borrow_mut().take();
                }
            })
            .await;
        assert_eq!(listener.local_addr().unwrap(), address);
        assert!(said.borrow().len() == 20 && said.borrow().iter().all(|why| why.contains("tried again")), "{said:?}");
        TcpListener::bind(address).unwrap_err();
    }

    #[test]
    fn pauses_between_tries_double_to_a_bound() {
        let ms = |tried| u64::try_from(pause(tried, &|_| 0).as_millis()).unwrap_or(u64::MAX);
        assert_eq!([0, 1, 2, 10, u32::MAX].map(ms), [250, 500, 1_000, 15_000, 15_000]);
    }
}
