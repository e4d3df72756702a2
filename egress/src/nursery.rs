//! The parent of the helpers. It listens to sandboxd and nobody else, never touches a byte of an executor or of the net,
//! and forks a helper for each order.

use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use metnos_proto::socket::{self, Packet};
use rustix::process::{Signal, WaitOptions};

use crate::dial;
use crate::lock::{self, Stage};
use crate::order::{MAX_ORDER, Order};
use crate::serve;
use crate::sys::{self, Forked};

/// The helpers at once. Orders beyond are dropped: their connections close unused.
pub const MAX_HELPERS: usize = 32;
/// Where the system says which servers of names there are.
const RESOLV_CONF: &str = "/etc/resolv.conf";
/// The longest such text that is read, in bytes.
const MAX_RESOLV_CONF: u64 = 16 * 1024;

/// Starts the nursery and returns the end over which it is ordered. Must be called by a process of one thread, before
/// it locks itself or leaves its view.
///
/// # Errors
/// When no process can be made, or the nursery cannot lock itself.
pub fn start(without_landlock: bool) -> io::Result<OwnedFd> {
    let (ours, theirs) = socket::pair()?;
    match sys::fork()? {
        Forked::Parent => {
            drop(theirs);
            ready(&ours)?;
            Ok(ours)
        }
        Forked::Child => {
            drop(ours);
            live(theirs, without_landlock)
        }
    }
}

/// The first word to one that was started as a process of its own: whether Landlock may be missing.
const WAIVED: &[u8] = b"waived";
const WHOLE: &[u8] = b"whole";
/// How long it waits for that word.
const FIRST_WORD_WITHIN: Duration = Duration::from_secs(10);

/// Takes up the nursery at the other end of `line`, which has a user of its own: see [`main`].
///
/// # Errors
/// When it has ended, or cannot lock itself.
pub fn adopt(line: OwnedFd, without_landlock: bool) -> io::Result<OwnedFd> {
    socket::send(line.as_fd(), if without_landlock { WAIVED } else { WHOLE }, &[])?;
    ready(&line)?;
    Ok(line)
}

/// The life of a nursery that the supervisor has started as a user of its own, with its end of the line as descriptor 0.
#[must_use]
pub fn main() -> ExitCode {
    metnos_proto::log::abort_on_panic();
    if rustix::process::geteuid().is_root() || rustix::process::getuid().is_root() {
        metnos_proto::log::say("metnos-egress: it never runs as root");
        return ExitCode::FAILURE;
    }
    let told = || -> io::Result<(OwnedFd, bool)> {
        let line = io::stdin().as_fd().try_clone_to_owned()?;
        socket::set_bound(&line, FIRST_WORD_WITHIN)?;
        let mut word = [0; 16];
        let length = socket::receive_within_bound(line.as_fd(), &mut word)?.map_or(0, |packet| packet.len);
        match word.get(..length) {
            Some(WAIVED) => Ok((line, true)),
            Some(WHOLE) => Ok((line, false)),
            _ => Err(io::Error::other("the first word is none")),
        }
    };
    match told() {
        Ok((line, without_landlock)) => live(line, without_landlock),
        Err(error) => {
            metnos_proto::log::say(&format!("metnos-egress: {error}"));
            ExitCode::FAILURE
        }
    }
}

/// Waits until it says that it is locked, or why it is not.
fn ready(nursery: &OwnedFd) -> io::Result<()> {
    let mut buffer = [0; 512];
    socket::set_bound(nursery, Duration::from_secs(5))?;
    let said = socket::receive_within_bound(nursery.as_fd(), &mut buffer)?;
    socket::set_nonblocking(nursery)?;
    let gone = || io::Error::other("the egress helper ended at its start");
    let said = buffer.get(..said.ok_or_else(gone)?.len).unwrap_or_default();
    match said {
        b"+" => Ok(()),
        why => Err(io::Error::other(String::from_utf8_lossy(why).into_owned())),
    }
}

fn live(sandboxd: OwnedFd, without_landlock: bool) -> ! {
    let resolv_conf = std::fs::canonicalize(RESOLV_CONF).unwrap_or_else(|_| PathBuf::from(RESOLV_CONF));
    match settle(&sandboxd, &resolv_conf, without_landlock) {
        Ok(()) => {
            let _ = socket::send(sandboxd.as_fd(), b"+", &[]);
            serve_orders(&sandboxd, without_landlock);
            sys::exit_now(0)
        }
        Err(why) => {
            let why: String = why.chars().take(400).collect();
            let _ = socket::send(sandboxd.as_fd(), why.as_bytes(), &[]);
            sys::exit_now(1)
        }
    }
}

/// Becomes what it will be: own name, dies with sandboxd, nothing inherited, locked.
fn settle(sandboxd: &OwnedFd, resolv_conf: &Path, without_landlock: bool) -> Result<(), String> {
    let said = |step: &'static str| move |error: rustix::io::Errno| format!("{step}: {error}");
    rustix::thread::set_name(c"metnos-egress").map_err(said("naming itself"))?;
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL)).map_err(said("tying itself to sandboxd"))?;
    close_others(sandboxd)?;
    // Far beyond any pause between two calls; a wait that ends without an order begins again.
    socket::set_bound(sandboxd, Duration::from_secs(3600)).map_err(|error| error.to_string())?;
    lock::apply(Stage::Nursery { resolv_conf }, without_landlock)
}

/// Closes what it has inherited but its own end and the log.
fn close_others(keep: &OwnedFd) -> Result<(), String> {
    const STDERR: i32 = 2;
    let folder = std::fs::read_dir("/proc/self/fd").map_err(|error| format!("/proc/self/fd: {error}"))?;
    let open: Vec<i32> = folder.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok()).collect();
    for fd in open {
        if fd != keep.as_raw_fd() && fd != STDERR {
            sys::close(fd);
        }
    }
    Ok(())
}

#[expect(clippy::wildcard_enum_match_arm, reason = "io::ErrorKind grows with the standard library")]
fn serve_orders(sandboxd: &OwnedFd, without_landlock: bool) {
    let mut buffer = vec![0; MAX_ORDER];
    let mut alive = 0_usize;
    loop {
        let Packet { len, fds } = match socket::receive_handed(sandboxd.as_fd(), &mut buffer) {
            Ok(Some(packet)) => packet,
            Ok(None) => return,
            Err(error) => match error.kind() {
                // The last one: an order that did not fit, and what came of it is closed.
                io::ErrorKind::Interrupted | io::ErrorKind::WouldBlock | io::ErrorKind::InvalidData => continue,
                _ => return,
            },
        };
        while matches!(rustix::process::wait(WaitOptions::NOHANG), Ok(Some(_))) {
            alive = alive.saturating_sub(1);
        }
        let Some(order) = buffer.get(..len).and_then(Order::read) else { continue };
        if alive >= MAX_HELPERS {
            continue;
        }
        let resolvers = if order.resolvers.is_empty() { system_resolvers() } else { order.resolvers.clone() };
        match sys::fork() {
            Ok(Forked::Parent) => alive += 1,
            Ok(Forked::Child) => {
                // A helper learns what its executor and the net say, and must not receive the orders of others.
                sys::close(sandboxd.as_raw_fd());
                help(order, resolvers, fds, without_landlock)
            }
            Err(_) => {}
        }
    }
}

/// Read at each call, because it changes with the network.
fn system_resolvers() -> Vec<SocketAddr> {
    use std::io::Read;
    let mut text = String::new();
    let read = std::fs::File::open(RESOLV_CONF).and_then(|file| file.take(MAX_RESOLV_CONF).read_to_string(&mut text));
    read.map(|_| dial::servers(&text)).unwrap_or_default()
}

/// The life of a helper.
fn help(order: Order, resolvers: Vec<SocketAddr>, mut fds: Vec<OwnedFd>, without_landlock: bool) -> ! {
    let ports = order.rules.iter().map(|rule| rule.port).chain(resolvers.iter().map(SocketAddr::port)).collect();
    let run = || -> Result<(), String> {
        rustix::process::set_parent_process_death_signal(Some(Signal::KILL)).map_err(|error| error.to_string())?;
        if fds.is_empty() {
            return Err("an order without a report".to_owned());
        }
        let report = fds.remove(0);
        // The reactor opens descriptors, so it comes before the lock.
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| error.to_string())?;
        lock::apply(Stage::Helper { ports }, without_landlock)?;
        let _inside = runtime.enter();
        let connections: Result<Vec<_>, io::Error> = fds
            .into_iter()
            .map(|fd| {
                let stream = std::os::unix::net::UnixStream::from(fd);
                stream.set_nonblocking(true)?;
                tokio::net::UnixStream::from_std(stream)
            })
            .collect();
        let connections = connections.map_err(|error| error.to_string())?;
        runtime.block_on(serve::serve(order, resolvers, connections, report));
        Ok(())
    };
    match run() {
        Ok(()) => sys::exit_now(0),
        Err(why) => {
            metnos_proto::log::say(&format!("metnos-egress: {why}"));
            sys::exit_now(1)
        }
    }
}
