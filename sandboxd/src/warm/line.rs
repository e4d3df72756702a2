//! A line to a helper of sandboxd's own: one word, one answer, in turn. An answer that was not waited for to its end could
//! be taken for that of a later word, which would be a wrong mount or a wrong process; so a line on which that has
//! happened is out of step for good, and never asked again.

use std::cell::Cell;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use metnos_proto::socket::{self, Packet};
use metnos_proto::sys::watch;
use tokio::io::unix::AsyncFd;
use tokio::sync::Mutex;

/// How long an answer is waited for. A helper needs a millisecond; a machine that swaps may need more.
pub const ANSWER_WITHIN: Duration = Duration::from_secs(10);

/// Why there is no answer. After any of these the line is out of step.
#[derive(Debug, thiserror::Error)]
pub enum LineError {
    /// An earlier word was not answered to its end.
    #[error("an earlier answer was not waited for, so nothing more is asked")]
    OutOfStep,
    /// No answer came.
    #[error("it has not answered within {} s", ANSWER_WITHIN.as_secs())]
    Late,
    /// The helper has ended.
    #[error("it is gone")]
    Gone,
    /// The kernel.
    #[error(transparent)]
    Kernel(#[from] io::Error),
}

/// See the head of this file.
#[derive(Debug)]
pub struct BrokerLine {
    fd: Mutex<AsyncFd<OwnedFd>>,
    in_step: Cell<bool>,
}

/// An ask that was sent. Dropping it before its answer came leaves the line out of step.
struct PendingReply<'a> {
    in_step: &'a Cell<bool>,
    answered: bool,
}

impl Drop for PendingReply<'_> {
    fn drop(&mut self) {
        self.in_step.set(self.answered);
    }
}

impl BrokerLine {
    /// A line over this end of a pair of packets.
    ///
    /// # Errors
    /// When it cannot be watched.
    pub fn new(fd: OwnedFd) -> io::Result<Self> {
        Ok(Self { fd: Mutex::new(watch(fd)?), in_step: Cell::new(true) })
    }

    /// Whether it can still be asked. A word that is being answered right now does not count against it.
    pub const fn in_step(&self) -> bool {
        self.in_step.get()
    }

    /// Says a word of one or more packets, descriptors with the first, and waits for its answer.
    ///
    /// # Errors
    /// A [`LineError`]; this line is then of no more use.
    pub async fn ask(
        &self,
        word: &[&[u8]],
        mut fds: &[BorrowedFd<'_>],
        answer: &mut [u8],
    ) -> Result<Packet, LineError> {
        let line = self.fd.lock().await;
        if !self.in_step.get() {
            return Err(LineError::OutOfStep);
        }
        let mut said = PendingReply { in_step: &self.in_step, answered: false };
        for packet in word {
            socket::send(line.get_ref().as_fd(), packet, fds)?;
            fds = &[];
        }
        let packet =
            tokio::time::timeout(ANSWER_WITHIN, receive(&line, answer)).await.map_err(|_| LineError::Late)??;
        said.answered = true;
        Ok(packet)
    }
}

async fn receive(line: &AsyncFd<OwnedFd>, answer: &mut [u8]) -> Result<Packet, LineError> {
    loop {
        let mut ready = line.readable().await?;
        match socket::receive(line.get_ref().as_fd(), answer) {
            Ok(Some(packet)) => return Ok(packet),
            Ok(None) => return Err(LineError::Gone),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => ready.clear_ready(),
            Err(error) => return Err(error.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn pair() -> (BrokerLine, OwnedFd) {
        let (ours, theirs) = socket::pair().unwrap();
        (BrokerLine::new(ours).unwrap(), theirs)
    }

    #[tokio::test]
    async fn an_answer_that_was_not_waited_for_is_never_taken_for_another() {
        let (line, helper) = pair();
        let mut answer = [0; 8];
        // Given up before it is answered, as when the call it was for is stopped.
        let given_up = tokio::time::timeout(Duration::from_millis(1), line.ask(&[b"first"], &[], &mut answer)).await;
        assert!(given_up.is_err() && !line.in_step());
        socket::send(helper.as_fd(), b"of first", &[helper.as_fd()]).unwrap();
        let next = line.ask(&[b"second"], &[], &mut answer).await;
        assert!(matches!(next, Err(LineError::OutOfStep)), "{next:?}");
        // The second word was not even said.
        let mut heard = [0; 16];
        assert_eq!(socket::receive(helper.as_fd(), &mut heard).unwrap().unwrap().len, 5);
        assert!(socket::receive(helper.as_fd(), &mut heard).is_err());
    }

    #[tokio::test]
    async fn ask_queued_behind_a_cancelled_one_is_refused() {
        let (line, _helper) = pair();
        let (mut one, mut two) = ([0; 8], [0; 8]);
        let mut first = Box::pin(line.ask(&[b"first"], &[], &mut one));
        let mut second = Box::pin(line.ask(&[b"second"], &[], &mut two));
        tokio::select! {
            biased;
            came = &mut first => panic!("{came:?}"),
            came = &mut second => panic!("{came:?}"),
            () = tokio::time::sleep(Duration::from_millis(1)) => {}
        }
        assert!(line.in_step.get(), "a word that is being answered does not count");
        drop(first);
        assert!(matches!(second.await, Err(LineError::OutOfStep)));
    }

    #[tokio::test]
    async fn answers_come_in_turn_with_their_descriptors() {
        let (line, helper) = pair();
        for word in [b"one", b"two"] {
            socket::send(helper.as_fd(), word, &[helper.as_fd()]).unwrap();
            let mut answer = [0; 8];
            let packet = line.ask(&[word], &[helper.as_fd()], &mut answer).await.unwrap();
            assert_eq!((&answer[..packet.len], packet.fds.len()), (&word[..], 1));
        }
        assert!(line.in_step());
    }

    #[tokio::test(start_paused = true)]
    async fn silence_ends_the_wait_and_the_line() {
        let (line, helper) = pair();
        let mut answer = [0; 8];
        assert!(matches!(line.ask(&[b"word"], &[], &mut answer).await, Err(LineError::Late)));
        assert!(!line.in_step());
        drop(helper);
        let (line, helper) = pair();
        drop(helper);
        assert!(line.ask(&[b"word"], &[], &mut answer).await.is_err());
        assert!(!line.in_step());
    }
}
