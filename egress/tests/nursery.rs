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
fn orders_that_are_none_harm_nobody() {
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
