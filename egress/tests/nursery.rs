//! The real processes: a nursery that locks itself, and the helpers it forks.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::io::{Read, Write};
use std::net::TcpListener;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use metnos_egress::nursery;
use metnos_egress::order::{MAX_CONNECTIONS, MAX_REPORT, Order, Rule, Visit};
use metnos_proto::socket;

fn order(host: &str, port: u16) -> Order {
    Order {
        rules: vec![Rule { host: host.to_owned(), below: false, port }],
        private: Vec::new(),
        // Nobody listens there: a port that was just free.
        resolvers: vec![TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap()],
        bytes: 1 << 20,
        life_ms: 30_000,
    }
}

/// The executor's ends and the end of the report.
fn ordered(nursery: &OwnedFd, order: &Order) -> (Vec<UnixStream>, OwnedFd) {
    let (ours, report) = socket::pair().unwrap();
    let (executor, helper): (Vec<_>, Vec<_>) = (0..MAX_CONNECTIONS).map(|_| UnixStream::pair().unwrap()).unzip();
    let fds: Vec<_> = [report.as_fd()].into_iter().chain(helper.iter().map(AsFd::as_fd)).collect();
    socket::send(nursery.as_fd(), &order.write().unwrap(), &fds).unwrap();
    (executor, ours)
}

#[test]
fn a_locked_helper_serves_every_connection_of_its_call_and_ends_with_them() {
    let nursery = nursery::start(false).expect("the nursery locks itself");
    let (mut executor, report) = ordered(&nursery, &order("site.example", 443));
    for connection in &mut executor[..2] {
        connection.write_all(b"other.example 443\n").unwrap();
        let mut said = String::new();
        connection.read_to_string(&mut said).unwrap();
        assert!(said.starts_with("-forbidden: other.example port 443"), "{said}");
    }
    // The servers of names are asked from inside the lock, in vain.
    executor[2].write_all(b"site.example 443\n").unwrap();
    let mut said = String::new();
    executor[2].read_to_string(&mut said).unwrap();
    assert!(said.starts_with("-name: "), "{said}");
    drop(executor);
    socket::set_bound(&report, Duration::from_secs(20)).unwrap();
    let mut buffer = vec![0; MAX_REPORT];
    let mut visits = Vec::new();
    while let Some(packet) = socket::receive_within_bound(report.as_fd(), &mut buffer).unwrap() {
        visits.push(Visit::read(&buffer[..packet.len]).unwrap());
    }
    assert_eq!(visits.len(), 3, "one for each that was used, and then the end: {visits:?}");
}

#[test]
fn invalid_orders_do_no_harm() {
    let nursery = nursery::start(false).unwrap();
    socket::send(nursery.as_fd(), b"nonsense", &[]).unwrap();
    let order_without_report = order("site.example", 443).write().unwrap();
    socket::send(nursery.as_fd(), &order_without_report, &[]).unwrap();
    let (mut executor, _report) = ordered(&nursery, &order("site.example", 443));
    executor[0].write_all(b"other.example 443\n").unwrap();
    let mut said = String::new();
    executor[0].read_to_string(&mut said).unwrap();
    assert!(said.starts_with("-forbidden"), "{said}");
}

/// Reads the descriptors of processes that are not dumpable, which only root may.
mod as_root {
    use std::collections::BTreeSet;

    use super::*;

    /// The children of a process.
    fn children(parent: u32) -> Vec<u32> {
        let processes = std::fs::read_dir("/proc").unwrap().flatten();
        let pids = processes.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
        pids.filter(|pid| {
            let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
            let after_name = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
            after_name.split_whitespace().nth(1) == Some(&parent.to_string())
        })
        .collect()
    }

    fn sockets(pid: u32) -> BTreeSet<String> {
        let open = std::fs::read_dir(format!("/proc/{pid}/fd")).unwrap().flatten();
        let links = open.filter_map(|entry| Some(std::fs::read_link(entry.path()).ok()?.to_str()?.to_owned()));
        links.filter(|link| link.starts_with("socket:")).collect()
    }

    #[test]
    fn helper_does_not_receive_orders_of_others() {
        let nursery = nursery::start(false).unwrap();
        let (mut executor, _report) = ordered(&nursery, &order("site.example", 443));
        // It has answered, so it is there.
        executor[0].write_all(b"other.example 443\n").unwrap();
        executor[0].read_to_string(&mut String::new()).unwrap();
        let parent = children(std::process::id())[0];
        let helper = children(parent)[0];
        let line = sockets(parent);
        assert_eq!(line.len(), 1, "the nursery has its line and no connection of a call");
        assert!(line.is_disjoint(&sockets(helper)), "a helper has the nursery's line");
    }
}
