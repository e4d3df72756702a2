//! One daemon as the main loop receives it: what it reports over its control line, and its end. Must never act on what
//! it receives, only pass it on, in order, and the end last.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::rc::Rc;

use metnos_proto::control::{self, ControlError, Report};
use metnos_proto::role::RoleName;
use metnos_proto::socket;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::sync::mpsc;

use crate::event::Event;
use crate::set::launcher::Process;

/// How many reports are read after a daemon's end.
const MAX_LAST_REPORTS: usize = 64;

/// Passes on what one daemon says, until its end. Returns early when nobody listens any more.
pub async fn listen(
    role: RoleName,
    incarnation: u32,
    line: Rc<AsyncFd<OwnedFd>>,
    process: Process,
    events: mpsc::Sender<Event>,
) {
    let mut buffer = socket::buffer();
    loop {
        tokio::select! {
            heard = receive_report(&line, &mut buffer) => {
                let (event, goes_on) = match heard {
                    Ok(report) => (Event::Reported { role, incarnation, report }, true),
                    Err(ControlError::Gone) => (Event::Closed { role, incarnation }, false),
                    Err(error) => (Event::Broke { role, incarnation, why: error.to_string() }, false),
                };
                if events.send(event).await.is_err() {
                    return;
                }
                if !goes_on {
                    break;
                }
            }
            over = process.over() => {
                note(role, over);
                last_words(role, incarnation, &line, &mut buffer, &events).await;
                let _ = events.send(Event::Ended { role, incarnation }).await;
                return;
            }
        }
    }
    note(role, process.over().await);
    let _ = events.send(Event::Ended { role, incarnation }).await;
}

async fn receive_report(line: &AsyncFd<OwnedFd>, buffer: &mut [u8]) -> Result<Report, ControlError> {
    line.async_io(Interest::READABLE, |fd| match control::receive::<Report>(fd.as_fd(), buffer) {
        Ok(Some((report, _))) => Ok(Ok(report)),
        Ok(None) => Err(io::ErrorKind::WouldBlock.into()),
        Err(error) => Ok(Err(error)),
    })
    .await?
}

/// What it still said before it ended: above all, why.
async fn last_words(
    role: RoleName,
    incarnation: u32,
    line: &AsyncFd<OwnedFd>,
    buffer: &mut [u8],
    events: &mpsc::Sender<Event>,
) {
    for _ in 0..MAX_LAST_REPORTS {
        match control::receive::<Report>(line.get_ref().as_fd(), buffer) {
            Ok(Some((report, _))) => {
                if events.send(Event::Reported { role, incarnation, report }).await.is_err() {
                    return;
                }
            }
            Ok(None) | Err(_) => return,
        }
    }
}

fn note(role: RoleName, over: io::Result<()>) {
    if let Err(error) = over {
        tracing::error!(%role, %error, "the kernel does not watch this daemon any more");
    }
}
