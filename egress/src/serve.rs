//! One helper: it serves the connections of one call until they are closed or its time is over.

use std::cell::Cell;
use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, OwnedFd};
use std::rc::Rc;
use std::time::Duration;

use metnos_proto::socket;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpStream, UnixStream};
use tokio::task::{JoinSet, LocalSet};

use crate::dial::{self, Class, Refused};
use crate::hello::{self, First};
use crate::order::{MAX_LINE, MAX_REPORT, Order, Visit, destination};

/// How much is passed on at once, in bytes.
const PIECE: usize = 32 * 1024;
/// Ports on which a connection must begin with TLS (IANA's service names).
const TLS_PORTS: [u16; 10] = [443, 465, 563, 636, 853, 990, 993, 995, 5061, 8443];

/// What the connections of a call share.
#[derive(Debug)]
struct Call {
    order: Order,
    resolvers: Vec<SocketAddr>,
    /// Bytes that may still pass.
    left: Cell<u64>,
}

/// Serves to the end. Each connection that was used is reported over `report`, one packet each.
pub async fn serve(order: Order, resolvers: Vec<SocketAddr>, connections: Vec<UnixStream>, report: OwnedFd) {
    let life = Duration::from_millis(order.life_ms);
    let call = Rc::new(Call { left: Cell::new(order.bytes), order, resolvers });
    let served = LocalSet::new();
    let work = served.run_until(async {
        let mut all = JoinSet::new();
        for inner in connections {
            all.spawn_local(connection(Rc::clone(&call), inner));
        }
        while let Some(ended) = all.join_next().await {
            if let Ok(Some(visit)) = ended {
                send_report(&report, &visit);
            }
        }
    });
    // What is still open when the time is over is not reported; sandboxd ends a call no later than that.
    let _ = tokio::time::timeout(life, work).await;
}

fn send_report(report: &OwnedFd, visit: &Visit) {
    if let Some(bytes) = postcard::to_allocvec(visit).ok().filter(|bytes| bytes.len() <= MAX_REPORT) {
        // sandboxd that does not read any more does not want to know.
        let _ = socket::send(report.as_fd(), &bytes, &[]);
    }
}

/// One connection from its line to its end; `None` for one that was never used.
async fn connection(call: Rc<Call>, mut inner: UnixStream) -> Option<Visit> {
    let line = match line(&mut inner).await {
        Ok(Some(line)) => line,
        Ok(None) => return None,
        Err(_) => Vec::new(),
    };
    let (host, port) = destination(&line).unwrap_or_default();
    let mut visit =
        Visit { host: host.to_owned(), port, address: String::new(), sent: 0, received: 0, refused: String::new() };
    let dialled = if host.is_empty() {
        Err(Refused::new(Class::Forbidden, "what it wrote is no name and port"))
    } else {
        dial::dial(&call.order, &call.resolvers, host, port).await
    };
    match dialled {
        Ok(outer) => {
            visit.address = outer.peer_addr().map(|address| address.ip().to_string()).unwrap_or_default();
            if inner.write_all(b"+\n").await.is_ok()
                && let Err(refused) = pass(&call, inner, outer, &mut visit).await
            {
                visit.refused = refused.to_string();
            }
        }
        Err(refused) => {
            let _ = inner.write_all(format!("-{}\n", refused.to_string().replace('\n', " ")).as_bytes()).await;
            visit.refused = refused.to_string();
        }
    }
    Some(visit)
}

/// The first line, without its end; `None` when nothing comes. Byte by byte, because what follows is not ours.
async fn line(inner: &mut UnixStream) -> io::Result<Option<Vec<u8>>> {
    let mut line = Vec::new();
    loop {
        match inner.read_u8().await {
            Ok(b'\n') => return Ok(Some(line)),
            Ok(byte) if line.len() < MAX_LINE => line.push(byte),
            Ok(_) => return Err(io::ErrorKind::InvalidData.into()),
            Err(_) if line.is_empty() => return Ok(None),
            Err(error) => return Err(error),
        }
    }
}

/// Passes bytes both ways until the executor closes its end, which it can only close as a whole, or a rule is broken.
async fn pass(call: &Call, inner: UnixStream, outer: TcpStream, visit: &mut Visit) -> Result<(), Refused> {
    let (mut from_inner, mut to_inner) = inner.into_split();
    let (mut from_outer, mut to_outer) = outer.into_split();
    let (host, port) = (visit.host.clone(), visit.port);
    let (sent, received) = (&mut visit.sent, &mut visit.received);
    let up = async {
        let first = first(&mut from_inner, &host, port).await?;
        spend(call, first.len())?;
        *sent = count(first.len());
        if to_outer.write_all(&first).await.is_ok() {
            copy(call, &mut from_inner, &mut to_outer, sent).await?;
        }
        Ok(())
    };
    let down = async {
        copy(call, &mut from_outer, &mut to_inner, received).await?;
        let _ = to_inner.shutdown().await;
        // The server is done; the executor may still be reading.
        std::future::pending().await
    };
    tokio::select! {
        biased;
        ended = down => ended,
        ended = up => ended,
    }
}

/// The first bytes of the executor, held back until it is known that they may leave.
async fn first(inner: &mut (impl AsyncReadExt + Unpin), host: &str, port: u16) -> Result<Vec<u8>, Refused> {
    let forbidden = |why: String| Err(Refused::new(Class::Forbidden, why));
    let mut held = Vec::new();
    let mut piece = vec![0; hello::MAX_RECORD];
    loop {
        match hello::read(&held) {
            First::Named(name) if name.eq_ignore_ascii_case(host) => return Ok(held),
            First::Named(name) => {
                let name: String = name.chars().filter(|c| !c.is_control()).take(80).collect();
                return forbidden(format!("TLS for the server `{name}` over a connection to {host}"));
            }
            First::Refused(why) => return forbidden(format!("TLS to {host}: {why}")),
            First::Plain if TLS_PORTS.contains(&port) => return forbidden(format!("port {port} without TLS")),
            First::Plain => return Ok(held),
            First::More => {}
        }
        match inner.read(&mut piece).await {
            Ok(count) if count > 0 => held.extend(piece.get(..count).unwrap_or_default()),
            // It has nothing to say; half a record is not let through.
            Ok(_) | Err(_) => return Ok(Vec::new()),
        }
    }
}

async fn copy(
    call: &Call,
    from: &mut (impl AsyncReadExt + Unpin),
    to: &mut (impl AsyncWriteExt + Unpin),
    passed: &mut u64,
) -> Result<(), Refused> {
    let mut piece = vec![0; PIECE];
    loop {
        let Ok(length) = from.read(&mut piece).await else { return Ok(()) };
        let Some(bytes) = piece.get(..length).filter(|bytes| !bytes.is_empty()) else { return Ok(()) };
        spend(call, length)?;
        *passed = passed.saturating_add(count(length));
        if to.write_all(bytes).await.is_err() {
            return Ok(());
        }
    }
}

fn spend(call: &Call, bytes: usize) -> Result<(), Refused> {
    match call.left.get().checked_sub(count(bytes)) {
        Some(left) => {
            call.left.set(left);
            Ok(())
        }
        None => Err(Refused::new(Class::Quota, format!("more than {} bytes", call.order.bytes))),
    }
}

fn count(bytes: usize) -> u64 {
    u64::try_from(bytes).unwrap_or(u64::MAX)
}

#[cfg(test)]
#[path = "serve_tests.rs"]
mod tests;
