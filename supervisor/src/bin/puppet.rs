//! A daemon that the tests put in the place of a real one. It holds its ends, says to the log what it sees, and
//! behaves as a file of the instance (`puppet/<role>`) says. Must never be part of a build that people run.

use std::collections::BTreeMap;
use std::os::fd::{AsFd, OwnedFd};
use std::process::ExitCode;
use std::time::Duration;

use metnos_proto::control::{self, Drained, Fault, Order, Pong, Ready, Report, Start, Violation};
use metnos_proto::edge::{RawEnd, Side};
use metnos_proto::edges::EdgeId;
use metnos_proto::socket;
use rustix::event::{PollFd, PollFlags};

/// What it was ordered to do.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Act {
    Behave,
    /// Announce the end and exit before being ready.
    Fail,
    /// Never become ready.
    Hang,
    /// Become ready, then exit at once.
    FailReady,
    /// Go on after being ordered to finish.
    Stubborn,
    /// Accuse the peer on each first channel of a breach.
    Accuse,
    /// Say something that nobody asked for.
    Babble,
}

fn act(start: &Start) -> Act {
    let path = format!("{}/puppet/{}", start.instance, start.role);
    match std::fs::read_to_string(path).unwrap_or_default().trim() {
        "fail" => Act::Fail,
        "hang" => Act::Hang,
        "fail-ready" => Act::FailReady,
        "stubborn" => Act::Stubborn,
        "accuse" => Act::Accuse,
        "babble" => Act::Babble,
        _ => Act::Behave,
    }
}

struct Puppet {
    control: OwnedFd,
    start: Start,
    act: Act,
    ends: BTreeMap<(EdgeId, bool), RawEnd>,
    helper: Option<OwnedFd>,
}

fn main() -> ExitCode {
    match play() {
        Ok(code) => code,
        Err(why) => {
            eprintln!("puppet: {why}");
            ExitCode::from(9)
        }
    }
}

fn text(error: impl std::fmt::Display) -> String {
    error.to_string()
}

fn play() -> Result<ExitCode, String> {
    metnos_jail::die_with_parent().map_err(text)?;
    let control = std::io::stdin().as_fd().try_clone_to_owned().map_err(text)?;
    let mut buffer = socket::buffer();
    if std::env::args().nth(1).as_deref() == Some("egress") {
        // What sandboxd's helper does here: it ends with its line.
        let mut polls = [PollFd::from_borrowed_fd(control.as_fd(), PollFlags::IN)];
        rustix::event::poll(&mut polls, None).map_err(text)?;
        return Ok(ExitCode::SUCCESS);
    }
    let first = control::receive_within::<Order>(control.as_fd(), &mut buffer, Duration::from_secs(5)).map_err(text)?;
    let Some((Order::Start(start), None)) = first else { return Err(format!("first came {first:?}")) };
    let act = act(&start);
    let mut puppet = Puppet { control, start, act, ends: BTreeMap::new(), helper: None };
    let environment = std::env::vars_os().count();
    let descriptors = std::fs::read_dir("/proc/self/fd").map_err(text)?.count();
    puppet.say(&format!("born environment={environment} descriptors={descriptors}"));
    loop {
        puppet.wait()?;
        match control::receive::<Order>(puppet.control.as_fd(), &mut buffer) {
            Ok(Some((order, fd))) => {
                if let Some(code) = puppet.obey(order, fd)? {
                    return Ok(code);
                }
            }
            Ok(None) => {}
            Err(error) => return Err(error.to_string()),
        }
        puppet.listen(&mut buffer);
    }
}

impl Puppet {
    fn say(&self, what: &str) {
        let pid = std::process::id();
        let line = format!("puppet {} {pid} {what}\n", self.start.role);
        // In one write: others write to the same log.
        std::io::Write::write_all(&mut std::io::stderr(), line.as_bytes()).unwrap_or_default();
    }

    fn report(&self, report: &Report) -> Result<(), String> {
        control::send(self.control.as_fd(), report, None).map_err(text)
    }

    fn wait(&self) -> Result<(), String> {
        let fds = std::iter::once(self.control.as_fd()).chain(self.ends.values().map(|end| end.fd.as_fd()));
        let mut polls: Vec<PollFd<'_>> = fds.map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)).collect();
        rustix::event::poll(&mut polls, None).map(drop).map_err(text)
    }

    fn obey(&mut self, order: Order, fd: Option<OwnedFd>) -> Result<Option<ExitCode>, String> {
        match (order, fd) {
            (Order::Edge(end), Some(fd)) => self.take(end.with(fd))?,
            // Kept, as sandboxd does: the other end ends when this one is closed.
            (Order::Helper(_), Some(line)) => self.helper = Some(line),
            // A folder is nothing to it.
            (Order::Folder(_) | Order::Key(_), Some(_)) => {}
            // It has no use for them.
            (Order::Groups(_), _) => {}
            (Order::Go(_), None) => return self.go(),
            (Order::Ping(ping), None) => self.report(&Report::Pong(Pong { number: ping.number, pss_kib: 1234 }))?,
            (Order::Drain(_) | Order::DrainAll(_), None) => {
                self.say("drain");
                if self.act != Act::Stubborn {
                    self.report(&Report::Drained(Drained {}))?;
                    return Ok(Some(ExitCode::SUCCESS));
                }
            }
            (other, _) => return Err(format!("out of order: {other:?}")),
        }
        Ok(None)
    }

    fn take(&mut self, end: RawEnd) -> Result<(), String> {
        self.say(&format!("end {:?} {:?} {} peer={:?}", end.edge, end.side, end.generation, end.peer));
        if end.side == Side::Asker {
            let word = format!("from {} {}", self.start.role, end.generation);
            if let Err(error) = socket::send(end.fd.as_fd(), word.as_bytes(), &[]) {
                self.say(&format!("unheard {:?} {} {error}", end.edge, end.generation));
            }
        }
        if self.act == Act::Accuse && !end.edge.is_admin() && end.generation < 3 {
            self.report(&Report::Violation(Violation { edge: end.edge, what: "it lies".to_owned() }))?;
        }
        self.ends.insert((end.edge, end.side == Side::Asker), end);
        Ok(())
    }

    fn go(&mut self) -> Result<Option<ExitCode>, String> {
        match self.act {
            Act::Fail => {
                self.report(&Report::Fault(Fault { why: "the lock does not close".to_owned() }))?;
                return Ok(Some(ExitCode::from(3)));
            }
            Act::Hang => return Ok(None),
            Act::Behave | Act::FailReady | Act::Stubborn | Act::Accuse | Act::Babble => {}
        }
        self.report(&Report::Ready(Ready { lock: vec!["a puppet has none".to_owned()], waived: vec![] }))?;
        match self.act {
            Act::FailReady => return Ok(Some(ExitCode::from(4))),
            Act::Babble => self.report(&Report::Pong(Pong { number: 99, pss_kib: 0 }))?,
            Act::Behave | Act::Fail | Act::Hang | Act::Stubborn | Act::Accuse => {}
        }
        Ok(None)
    }

    /// Says what came over the channels, and forgets those whose other end is gone.
    fn listen(&mut self, buffer: &mut [u8]) {
        let mut said = Vec::new();
        self.ends.retain(|_, end| {
            loop {
                match socket::receive(end.fd.as_fd(), buffer) {
                    Ok(Some(packet)) => {
                        said.push(format!("heard {:?} {}", end.edge, buffer[..packet.len].escape_ascii()));
                    }
                    Ok(None) => {
                        said.push(format!("gone {:?} {}", end.edge, end.generation));
                        return false;
                    }
                    Err(_) => return true,
                }
            }
        });
        said.iter().for_each(|what| self.say(what));
    }
}
