//! Tests of `lock`: what nursery and helpers can still do, and what they could without it.
#![allow(clippy::unwrap_used, clippy::expect_used)]
use std::net::{Ipv4Addr, SocketAddr, TcpListener};

use landlock::{CompatLevel, Compatible};
use rustix::net::{AddressFamily, SocketType};
use rustix::process::{WaitOptions, WaitStatus};

use super::*;
use crate::sys::{self, Forked};

/// Ends with this code when the act was refused by an error.
const REFUSED: i32 = 3;

/// How a process ended that first did `before` and then tried `act`.
fn tried(before: impl FnOnce() -> Result<(), String>, act: impl FnOnce() -> rustix::io::Result<()>) -> WaitStatus {
    match sys::fork().unwrap() {
        Forked::Child => {
            if before().is_err() {
                sys::exit_now(9);
            }
            sys::exit_now(if act().is_ok() { 0 } else { REFUSED })
        }
        Forked::Parent => {
            // Every call of this process waits for its own child: each test is a process.
            let (_, status) = rustix::process::wait(WaitOptions::empty()).unwrap().unwrap();
            status
        }
    }
}

fn nursery() -> Result<(), String> {
    apply(Stage::Nursery { resolv_conf: Path::new("/etc/resolv.conf") }, true)
}

fn helper(ports: &[u16]) -> Result<(), String> {
    nursery()?;
    apply(Stage::Helper { ports: ports.iter().copied().collect() }, true)
}

fn open(path: &str) -> rustix::io::Result<()> {
    rustix::fs::openat(rustix::fs::CWD, path, rustix::fs::OFlags::RDONLY, rustix::fs::Mode::empty()).map(drop)
}

fn socket_of(family: AddressFamily, kind: SocketType) -> rustix::io::Result<()> {
    rustix::net::socket(family, kind, None).map(drop)
}

fn connect(to: SocketAddr) -> rustix::io::Result<()> {
    let socket = rustix::net::socket(AddressFamily::INET, SocketType::STREAM, None)?;
    rustix::net::connect(&socket, &to)
}

fn killed(status: WaitStatus) -> bool {
    status.terminating_signal() == Some(libc::SIGSYS)
}

#[test]
fn the_nursery_reads_where_the_servers_of_names_are_and_nothing_elsewhere() {
    let folder = std::env::temp_dir().join(format!("metnos-egress-{}", std::process::id()));
    std::fs::write(&folder, "x").unwrap();
    let path = folder.to_str().unwrap().to_owned();
    assert_eq!(tried(nursery, || open("/etc/hostname")).exit_status(), Some(0));
    assert_eq!(tried(nursery, || open(&path)).exit_status(), Some(REFUSED), "Landlock");
    assert_eq!(tried(|| Ok(()), || open(&path)).exit_status(), Some(0), "without it");
    std::fs::remove_file(folder).unwrap();
}

#[test]
fn a_helper_has_no_files_and_no_processes() {
    let helper = || helper(&[]);
    assert!(killed(tried(helper, || open("/etc/hostname"))), "seccomp");
    assert!(killed(tried(helper, || sys::fork().map(drop).map_err(|_| rustix::io::Errno::PERM))));
    // The other layer alone holds as well.
    let fence_only = || fence(true, helper_fence(&BTreeSet::new()));
    let fenced = || {
        give_up().map_err(|errno| errno.to_string())?;
        fence_only()
    };
    assert_eq!(tried(fenced, || open("/etc/hostname")).exit_status(), Some(REFUSED), "Landlock");
}

#[test]
fn neither_has_a_local_socket_nor_one_of_the_kernels_own() {
    for family in [AddressFamily::UNIX, AddressFamily::NETLINK, AddressFamily::PACKET] {
        assert!(killed(tried(nursery, || socket_of(family, SocketType::DGRAM))), "{family:?}");
    }
    assert!(killed(tried(nursery, || socket_of(AddressFamily::INET, SocketType::RAW))));
    for family in [AddressFamily::INET, AddressFamily::INET6] {
        assert_eq!(tried(nursery, || socket_of(family, SocketType::STREAM)).exit_status(), Some(0));
    }
    assert_eq!(tried(|| Ok(()), || socket_of(AddressFamily::UNIX, SocketType::DGRAM)).exit_status(), Some(0));
}

#[test]
fn a_helper_reaches_its_own_ports_only() {
    let granted = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let other = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    granted.set_nonblocking(true).unwrap();
    let (to, beyond) = (granted.local_addr().unwrap(), other.local_addr().unwrap());
    let ports = [to.port()];
    assert_eq!(tried(|| helper(&ports), || connect(to)).exit_status(), Some(0));
    let hard = Ruleset::default().set_compatibility(CompatLevel::HardRequirement);
    let knows_ports = hard.handle_access(AccessNet::ConnectTcp).and_then(Ruleset::create).is_ok();
    if knows_ports {
        assert_eq!(tried(|| helper(&ports), || connect(beyond)).exit_status(), Some(REFUSED));
    } else {
        eprintln!("skipped: this kernel's Landlock does not know ports");
    }
    assert_eq!(tried(nursery, || connect(beyond)).exit_status(), Some(0), "without that fence");
}

#[test]
fn memory_never_becomes_code() {
    let map = || {
        let size = 4096;
        let flags = rustix::mm::ProtFlags::READ | rustix::mm::ProtFlags::EXEC;
        sys::map(size, flags)
    };
    assert!(killed(tried(nursery, map)));
    assert_eq!(tried(|| Ok(()), map).exit_status(), Some(0));
}

#[test]
fn helper_syscalls_are_a_subset_and_each_is_listed_once_with_reason() {
    let all = allowed().unwrap();
    for number in taken_from_helpers().unwrap().keys() {
        assert!(all.contains_key(number), "{number}");
    }
    let unique: BTreeSet<_> = CALLS.iter().map(|(number, _)| number).collect();
    assert_eq!(unique.len(), CALLS.len());
    assert!(CALLS.iter().all(|(_, why)| !why.is_empty()));
}
