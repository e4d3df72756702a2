//! The head of the chain, which policyd signs: when it is due, and whether the one that was signed last still stands.
//! memoryd never keeps what would prove its own honesty.

use metnos_proto::chain::{ANCHOR_EVERY, ANCHOR_WITHIN_MS};
use metnos_proto::ids::Sha256;
use metnos_proto::msg::common::RefusalCode;
use metnos_proto::msg::memoryd::{Anchored, ChainHead, VERIFYING};

use super::journal::{Answer, refused};
use crate::chronicle::Chronicle;
use crate::chronicle::store::Head;
use crate::chronicle::verify::Verify;
use crate::error::{Error, Result};

/// How much of the files is read before an ask for the whole is refused as busy.
const AT_ONCE_BYTES: u64 = 4 * 1024 * 1024;

/// How far the whole of the files was read.
#[derive(Debug, Default)]
enum Reading {
    /// It was not begun, or its outcome was answered.
    #[default]
    Not,
    /// It is being read.
    Under {
        /// What reads it.
        verify: Box<Verify>,
        /// How many bytes were read.
        done: u64,
        /// Of how many.
        of: u64,
    },
    /// It was read, and its outcome was not answered yet.
    Done,
}

/// Which head policyd knows, and how far the chronicle was verified.
#[derive(Debug, Default)]
pub(super) struct ChainHeads {
    /// The last line that policyd was notified of.
    notified: u64,
    /// Since when there are later ones, in milliseconds; `None` when there are none.
    waiting_ms: Option<u64>,
    /// How far the files were read, before anything may be decided on them.
    reading: Reading,
}

/// The head as policyd gets it; `None` while the index is behind the log.
pub(super) fn chain_head(chronicle: &Chronicle) -> Option<ChainHead> {
    let Head { seq, hash, .. } = chronicle.head();
    let (size, root) = chronicle.index().root();
    (size == seq).then_some(ChainHead { seq, hash, root, opened: chronicle.opened(), closed: false })
}

/// The last head, when no line will follow it.
pub(super) fn last_head(chronicle: &Chronicle) -> Option<ChainHead> {
    chronicle.altered().is_none().then(|| chain_head(chronicle))?.map(|head| ChainHead { closed: true, ..head })
}

impl ChainHeads {
    /// The head, when it is time to notify policyd: enough lines are new, or the first of them has waited long enough.
    pub(super) fn due(&mut self, chronicle: &Chronicle) -> Option<ChainHead> {
        let (now, head) = (chronicle.now_ms(), chronicle.head().seq);
        if head <= self.notified {
            self.waiting_ms = None;
            return None;
        }
        // A clock that was set back begins the wait anew, so that it never lasts longer.
        let since = self.waiting_ms.filter(|since| *since <= now).unwrap_or(now);
        self.waiting_ms = Some(since);
        let due = head - self.notified >= ANCHOR_EVERY || now - since >= ANCHOR_WITHIN_MS;
        if due { chain_head(chronicle) } else { None }
    }

    /// Notes that policyd knows a head.
    pub(super) const fn notified(&mut self, head: &ChainHead) {
        (self.notified, self.waiting_ms) = (head.seq, None);
    }

    /// Notes that policyd could not be notified: tried again when as much time has passed as lines may wait.
    pub(super) const fn not_notified(&mut self, now_ms: u64) {
        self.waiting_ms = Some(now_ms);
    }

    /// In how many milliseconds [`ChainHeads::due`] must be asked again; `None` while no line waits.
    pub(super) fn wait_ms(&self, now_ms: u64) -> Option<u64> {
        let since = self.waiting_ms?;
        Some((since + ANCHOR_WITHIN_MS).saturating_sub(now_ms).min(ANCHOR_WITHIN_MS))
    }

    /// Whether the line that was signed last still stands, and all that follows it holds; the head then. When the whole is
    /// asked for, every line of the files is read first. A chronicle that is not what was signed records nothing from then on.
    ///
    /// # Errors
    /// When it does not, or cannot be read; or by [`VERIFYING`] while it is being read.
    pub(super) fn anchored(&mut self, chronicle: &mut Chronicle, word: &Anchored) -> Answer<ChainHead> {
        if word.whole {
            self.verified_whole(chronicle)?;
        }
        let opened = chronicle.opened();
        if word.closed && opened > word.seq {
            let first = word.seq + 1;
            let lines =
                if first == opened { format!("line {first} was") } else { format!("lines {first} to {opened} were") };
            let why = format!("{lines} added after Metnos was stopped at line {} and its end was signed", word.seq);
            chronicle.distrust(why.clone());
            return Err(Error::Altered(why).into());
        }
        if word.seq > 0 {
            let anchor = (word.seq, word.hash);
            if let Err(why) = check_signed_line(chronicle, anchor) {
                chronicle.distrust(why.clone());
                return Err(Error::Altered(why).into());
            }
            // The lines alone: witnesses that disagree are an alarm of `audit verify`, and no reason to stop for good.
            let verify = Verify::since(chronicle, word.seq, Vec::new())?.without_witnesses();
            let report = verify.run(chronicle)?;
            if let Some(first) = report.findings.first() {
                let why = format!("after the last signed head, line {}: {}", first.seq, first.detail);
                chronicle.distrust(why.clone());
                return Err(Error::Altered(why).into());
            }
        }
        let head = chain_head(chronicle).ok_or_else(|| {
            refused(
                RefusalCode::Unavailable,
                "memory.index",
                "the index is behind the log; it is caught up with the next event",
            )
        })?;
        self.notified(&head);
        Ok(head)
    }

    /// Reads on in the files, at most so many bytes; `true` while there is more to read.
    ///
    /// # Errors
    /// When a file or the index cannot be read.
    pub(super) fn verify_on(&mut self, chronicle: &mut Chronicle, bytes: u64) -> Result<bool> {
        let Reading::Under { verify, done, .. } = &mut self.reading else { return Ok(false) };
        let report = match verify.step(chronicle, bytes) {
            Ok(Some(report)) => report,
            Ok(None) => {
                *done = done.saturating_add(bytes);
                return Ok(true);
            }
            Err(error) => {
                // The next ask begins it anew.
                self.reading = Reading::Not;
                return Err(error);
            }
        };
        self.reading = Reading::Done;
        if let Some(first) = report.findings.first()
            && chronicle.altered().is_none()
        {
            let more = match report.findings_total {
                0 | 1 => String::new(),
                2 => " (and 1 more finding)".to_owned(),
                total => format!(" (and {} more findings)", total - 1),
            };
            chronicle.distrust(format!("line {}: {}: {}{more}", first.seq, first.kind, first.detail));
        }
        Ok(false)
    }

    /// Begins to read every line of the files.
    pub(super) fn verify_anew(&mut self, chronicle: &Chronicle) -> Result<()> {
        // The lines and the index beside them: witnesses that disagree are an alarm of `audit verify`, and no reason to stop
        // for good.
        let verify = Verify::new(chronicle)?.without_witnesses();
        self.reading = Reading::Under { verify: Box::new(verify), done: 0, of: chronicle.log().bytes()? };
        Ok(())
    }

    /// Whether every line was read since the files were opened, or since this was answered last.
    fn verified_whole(&mut self, chronicle: &mut Chronicle) -> Answer<()> {
        if matches!(self.reading, Reading::Not) {
            self.verify_anew(chronicle)?;
        }
        // What ordinary instances have is read at once.
        if self.verify_on(chronicle, AT_ONCE_BYTES)?
            && let Reading::Under { done, of, .. } = &self.reading
        {
            let percent = done.saturating_mul(100).checked_div(*of).unwrap_or(0).min(99);
            let why = format!(
                "memoryd is reading the whole chronicle before anything is decided: {percent} % of it is verified"
            );
            return Err(refused(RefusalCode::Busy, VERIFYING, why));
        }
        chronicle.ensure_writable()?;
        self.reading = Reading::Not;
        Ok(())
    }

    /// Refuses while the files are being read: a line whose payload goes meanwhile would look changed.
    ///
    /// # Errors
    /// By [`VERIFYING`] then, or when a file cannot be read.
    pub(super) fn not_reading(&mut self, chronicle: &mut Chronicle) -> Answer<()> {
        if self.verify_on(chronicle, AT_ONCE_BYTES)? {
            let why = "the whole chronicle is being read; try again in a moment";
            return Err(refused(RefusalCode::Busy, VERIFYING, why));
        }
        Ok(())
    }
}

/// Whether the line of this number has this hash: in the index, in the log, and by calculation.
fn check_signed_line(chronicle: &Chronicle, (seq, hash): (u64, Sha256)) -> Result<(), String> {
    let row = chronicle.index().row(seq).map_err(|error| error.to_string())?;
    let Some(row) = row else {
        let head = chronicle.head().seq;
        return Err(format!("policyd has signed line {seq}, and the chronicle ends at line {head}"));
    };
    let event = chronicle.log().read(row.place).map_err(|error| error.to_string())?;
    if row.hash == hash && event.hash == hash && event.computed_hash() == hash && event.seq == seq {
        Ok(())
    } else {
        Err(format!("line {seq} had hash {hash} when policyd signed it, and has {} now", event.hash))
    }
}
