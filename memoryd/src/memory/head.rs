//! The head of the chain, which policyd signs: when it is due, and whether the one that was signed last still stands.
//! memoryd never keeps what would prove its own honesty; it only tells.

use metnos_proto::chain::{ANCHOR_EVERY, ANCHOR_WITHIN_MS};
use metnos_proto::ids::Blake3;
use metnos_proto::msg::common::RefusalCode;
use metnos_proto::msg::memoryd::{Anchored, ChainHead, ConstitutionModified, MAX_WHY, Recorded, Redact, VERIFYING};

use super::record::{clean, refused};
use super::{Memory, Teller, Told};
use crate::chronicle::event::EventType;
use crate::chronicle::payload;
use crate::chronicle::store::Head;
use crate::chronicle::store::redact;
use crate::chronicle::verify::Verify;
use crate::error::{Error, Result};

/// How much of the files is read before whoever asks for the whole is told to wait.
const AT_ONCE_BYTES: u64 = 4 * 1024 * 1024;

/// How far the whole of the files was read.
#[derive(Debug, Default)]
pub(super) enum Reading {
    /// It was not begun, or what came of it was told.
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
    /// It was read, and nobody was told yet.
    Done,
}

/// What policyd was told of.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct ToldHead {
    /// The last line.
    seq: u64,
    /// Since when there are later ones, in milliseconds; `None` when there are none.
    waiting_ms: Option<u64>,
}

impl Memory {
    /// The head as it is told to policyd; `None` while the index is behind the log.
    #[must_use]
    pub fn chain_head(&self) -> Option<ChainHead> {
        let Head { seq, hash, .. } = self.chronicle.head();
        let (size, root) = self.chronicle.index().root();
        (size == seq).then_some(ChainHead { seq, hash, root, opened: self.chronicle.opened(), closed: false })
    }

    /// The last head, after [`Memory::settle`]: no line follows it.
    #[must_use]
    pub fn last_head(&self) -> Option<ChainHead> {
        self.chronicle.altered().is_none().then(|| self.chain_head())?.map(|head| ChainHead { closed: true, ..head })
    }

    /// The head, when it is time to tell policyd: enough lines are new, or the first of them has waited long enough.
    pub fn head_due(&mut self) -> Option<ChainHead> {
        let (now, head) = (self.chronicle.now_ms(), self.chronicle.head().seq);
        if head <= self.told_head.seq {
            self.told_head.waiting_ms = None;
            return None;
        }
        // A clock that was set back begins the wait anew, so that it never lasts longer.
        let since = self.told_head.waiting_ms.filter(|since| *since <= now).unwrap_or(now);
        self.told_head.waiting_ms = Some(since);
        let due = head - self.told_head.seq >= ANCHOR_EVERY || now - since >= ANCHOR_WITHIN_MS;
        if due { self.chain_head() } else { None }
    }

    /// Notes that policyd was told of a head.
    pub const fn head_told(&mut self, head: &ChainHead) {
        self.told_head = ToldHead { seq: head.seq, waiting_ms: None };
    }

    /// Notes that there was nobody to tell: tried again when as much time has passed as lines may wait.
    pub fn head_untold(&mut self) {
        self.told_head.waiting_ms = Some(self.chronicle.now_ms());
    }

    /// How long the loop may sleep before [`Memory::head_due`] must be asked again; `None` for as long as it likes.
    #[must_use]
    pub fn head_wait_ms(&self) -> Option<u64> {
        let since = self.told_head.waiting_ms?;
        Some((since + ANCHOR_WITHIN_MS).saturating_sub(self.chronicle.now_ms()).min(ANCHOR_WITHIN_MS))
    }

    /// policyd: does the line that was signed last still stand, and does all that follows it hold? When it asks for the whole,
    /// every line of the files is read before it is answered. A chronicle that is not what was signed records nothing from
    /// then on.
    ///
    /// # Errors
    /// When it does not, or cannot be read; or by [`VERIFYING`] while it is being read.
    pub fn anchored(&mut self, word: &Anchored) -> Told<ChainHead> {
        self.flush()?;
        self.chronicle.fit()?;
        if word.whole {
            self.verified_whole()?;
        }
        let opened = self.chronicle.opened();
        if word.closed && opened > word.seq {
            let first = word.seq + 1;
            let lines =
                if first == opened { format!("line {first} was") } else { format!("lines {first} to {opened} were") };
            let why = format!("{lines} added after Metnos was stopped at line {} and its end was signed", word.seq);
            self.chronicle.distrust(why.clone());
            return Err(Error::Altered(why).into());
        }
        if word.seq > 0 {
            let anchor = (word.seq, word.hash);
            if let Err(why) = self.stands(anchor) {
                self.chronicle.distrust(why.clone());
                return Err(Error::Altered(why).into());
            }
            // The lines alone: witnesses that disagree are an alarm of `audit verify`, and no reason to stop for good.
            let verify = Verify::since(&self.chronicle, word.seq, Vec::new())?.without_witnesses();
            let report = verify.run(&self.chronicle)?;
            if let Some(first) = report.findings.first() {
                let why = format!("after the last signed head, line {}: {}", first.seq, first.detail);
                self.chronicle.distrust(why.clone());
                return Err(Error::Altered(why).into());
            }
        }
        let head = self.chain_head().ok_or_else(|| {
            refused(
                RefusalCode::Unavailable,
                "memory.index",
                "the index is behind the log; it is caught up with the next event",
            )
        })?;
        self.head_told(&head);
        Ok(head)
    }

    /// Reads on in the files, at most so many bytes; `true` while there is more to read.
    ///
    /// # Errors
    /// When a file or the index cannot be read.
    pub fn verify_on(&mut self, bytes: u64) -> Result<bool> {
        let Reading::Under { verify, done, .. } = &mut self.reading else { return Ok(false) };
        let report = match verify.step(&self.chronicle, bytes) {
            Ok(Some(report)) => report,
            Ok(None) => {
                *done = done.saturating_add(bytes);
                return Ok(true);
            }
            Err(error) => {
                // Whoever asks for it has it begun anew.
                self.reading = Reading::Not;
                return Err(error);
            }
        };
        self.reading = Reading::Done;
        if let Some(first) = report.findings.first()
            && self.chronicle.altered().is_none()
        {
            let more = match report.findings_total {
                0 | 1 => String::new(),
                2 => " (and 1 more finding)".to_owned(),
                total => format!(" (and {} more findings)", total - 1),
            };
            self.chronicle.distrust(format!("line {}: {}: {}{more}", first.seq, first.kind, first.detail));
        }
        Ok(false)
    }

    /// Begins to read every line of the files.
    pub(super) fn verify_anew(&mut self) -> Result<()> {
        // The lines and the index beside them: witnesses that disagree are an alarm of `audit verify`, and no reason to stop
        // for good.
        let verify = Verify::new(&self.chronicle)?.without_witnesses();
        self.reading = Reading::Under { verify: Box::new(verify), done: 0, of: self.chronicle.log().bytes()? };
        Ok(())
    }

    /// Whether every line was read since the files were opened, or since this was answered last.
    fn verified_whole(&mut self) -> Told<()> {
        if matches!(self.reading, Reading::Not) {
            self.verify_anew()?;
        }
        // What ordinary instances have is read at once.
        if self.verify_on(AT_ONCE_BYTES)?
            && let Reading::Under { done, of, .. } = &self.reading
        {
            let percent = done.saturating_mul(100).checked_div(*of).unwrap_or(0).min(99);
            let why = format!(
                "memoryd is reading the whole chronicle before anything is decided: {percent} % of it is verified"
            );
            return Err(refused(RefusalCode::Busy, VERIFYING, why));
        }
        self.chronicle.fit()?;
        self.reading = Reading::Not;
        Ok(())
    }

    /// Whether the line of this number has this hash: in the index, in the log, and by calculation.
    fn stands(&self, (seq, hash): (u64, metnos_proto::ids::Sha256)) -> Result<(), String> {
        let row = self.chronicle.index().row(seq).map_err(|error| error.to_string())?;
        let Some(row) = row else {
            let head = self.chronicle.head().seq;
            return Err(format!("policyd has signed line {seq}, and the chronicle ends at line {head}"));
        };
        let event = self.chronicle.log().read(row.place).map_err(|error| error.to_string())?;
        if row.hash == hash && event.hash == hash && event.computed_hash() == hash && event.seq == seq {
            Ok(())
        } else {
            Err(format!("line {seq} had hash {hash} when policyd signed it, and has {} now", event.hash))
        }
    }

    /// The Laws are others from now on, by the owner's rite.
    ///
    /// # Errors
    /// When a digest is none, or the reason is too long; or the line cannot be written.
    pub fn constitution(&mut self, teller: Teller, word: &ConstitutionModified) -> Told<Recorded> {
        let digest = |text: &str| Blake3::parse(text).is_some();
        if !(digest(&word.to) && (word.from.is_empty() || digest(&word.from))) || word.why.len() > MAX_WHY {
            let why = format!("two digests of BLAKE3 and a reason of at most {MAX_WHY} bytes are needed");
            return Err(refused(RefusalCode::Invalid, "constitution.format", why));
        }
        let (from, to) = (word.from.clone(), word.to.clone());
        let payload = payload::ConstitutionModified { from, to, why: clean(word.why.clone()) }.encode();
        self.stage_alone(teller, EventType::ConstitutionModified, payload)
    }

    /// policyd, after the owner's rite: a payload is taken out. The line that says so is durable before the payload goes.
    ///
    /// # Errors
    /// When there is no such line, its payload may not go, or nothing can be recorded.
    pub fn redact(&mut self, teller: Teller, word: &Redact) -> Told<Recorded> {
        if word.why.trim().is_empty() || word.why.len() > MAX_WHY {
            let why = format!("a reason of at most {MAX_WHY} bytes is needed");
            return Err(refused(RefusalCode::Invalid, "redact.why", why));
        }
        self.flush()?;
        self.chronicle.fit()?;
        // A line whose payload goes while it is read would look as if somebody had changed it.
        if self.verify_on(AT_ONCE_BYTES)? {
            return Err(refused(
                RefusalCode::Busy,
                VERIFYING,
                "the whole chronicle is being read; try again in a moment",
            ));
        }
        let unknown = || refused(RefusalCode::Unknown, "audit.line", format!("there is no line {}", word.seq));
        let row = self.chronicle.index().row(word.seq)?.ok_or_else(unknown)?;
        let event = self.chronicle.read(&row)?;
        redact::check(&event)?;
        let payload = payload::PayloadRedacted {
            payload_sha256: event.payload_sha256.to_string(),
            seq: word.seq,
            why: word.why.clone(),
        };
        let recorded = self.stage_alone(teller, EventType::PayloadRedacted, payload.encode())?;
        self.flush()?;
        self.catch_up_medium()?;
        if event.kind == EventType::TurnClose {
            self.derive_anew()?;
        }
        Ok(recorded)
    }
}
