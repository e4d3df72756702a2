//! What policyd says: decisions, direct calls, executors, costs, rites, and the heads it has signed.

use metnos_proto::edge::ServeError;
use metnos_proto::msg::common::RefusalCode;
use metnos_proto::msg::memoryd::{
    Anchored, ChainHead, CleanTurn, ConstitutionModified, Cost, Decision, DirectTurn, DirectTurnDone, ExecutorBorn,
    ExecutorLost, ForgetTurn, MAX_WHY, PageQuery, QueryResult, Recorded, Redact, Spending, Spent, TurnClosed,
    TurnForgotten,
};
use metnos_proto::msg::schedule::{SaidBefore, SaidTimes};

use super::super::Memory;
use super::super::journal::{Answer, Asker, born, lost, named, refused, unknown_turn};
use super::super::owner_files::is_automatic;
use super::super::recollection::words_of;
use super::super::views::{exchanges, outlines};
use crate::chronicle::event::{Event, EventType, channel_named};
use crate::chronicle::payload;
use crate::chronicle::store::redact;
use crate::tiers::envelope::MAX_RECENT;

/// Why such a payload was taken out.
const FORGOTTEN: &str = "redacted at the request of the principal who said it";

impl Memory {
    /// A call was decided. Awaited before any effect.
    ///
    /// # Errors
    /// When the turn is unknown, it is closed, or the call was decided otherwise; a
    /// violation when what it says of the turn or of the arguments is not true.
    pub fn decision(&mut self, asker: Asker, word: &Decision, arguments: Vec<u8>) -> Answer<Recorded> {
        self.journal.room_for(&word.verdict)?;
        let facts = self.turn_of_call(word.turn)?;
        self.journal.decision(asker, word, &facts, arguments)
    }

    /// When the words of a turn were said before, by the same principal. Not of a turn that no person has opened.
    ///
    /// # Errors
    /// When the turn is unknown, or the chronicle cannot be read.
    pub fn said_before(&mut self, word: &SaidBefore) -> Answer<SaidTimes> {
        let facts = self.turn(word.turn)?;
        let chronicle = &self.journal.chronicle;
        let zone = self.files.home_for(&facts, chronicle.now_ms()).zone;
        let said = facts.said.unwrap_or(0);
        let row = chronicle.index().row(said)?.filter(|_| !is_automatic(facts.channel));
        let Some(row) = row else { return Ok(SaidTimes { times: Vec::new(), zone }) };
        let words = words_of(chronicle, &row)?;
        let rows = chronicle.index().said_by(&facts.peer, said, MAX_RECENT)?;
        let times = self.recollection.again.times(chronicle, (&facts.peer, said), &words, &rows)?;
        Ok(SaidTimes { times, zone })
    }

    /// The owner calls an executor without the planner.
    ///
    /// # Errors
    /// When the turn exists, or the principal names no channel.
    pub fn direct_turn(&mut self, asker: Asker, word: &DirectTurn) -> Answer<Recorded> {
        named(word.turn)?;
        let channel = word.principal.split(':').next().and_then(channel_named).ok_or_else(|| {
            refused(RefusalCode::Invalid, "turn.principal", format!("`{}` names no channel", word.principal))
        })?;
        self.journal.room_for_more()?;
        self.settle_turn(word.turn)?;
        self.journal.direct_turn(asker, word, channel)
    }

    /// The owner's direct call is over.
    ///
    /// # Errors
    /// When the turn is unknown, was closed otherwise, or is no direct one.
    pub fn direct_turn_done(&mut self, asker: Asker, word: &DirectTurnDone) -> Answer<TurnClosed> {
        let facts = self.turn_of_call(word.turn)?;
        if !facts.direct {
            return Err(ServeError::Violation(format!("turn {} is the planner's to close", word.turn)));
        }
        let close =
            payload::TurnClose { end: word.end.name().to_owned(), signature: String::new(), wish: String::new() };
        self.journal.close(asker, word.turn, &facts, &close)
    }

    /// An executor was signed.
    ///
    /// # Errors
    /// When its contract is not one, or another's.
    pub fn executor_born(&mut self, asker: Asker, word: &ExecutorBorn, candidate: &[u8]) -> Answer<Recorded> {
        let born = born(word, candidate)?;
        self.evolved(asker, &born)
    }

    /// An executor may no longer be called.
    ///
    /// # Errors
    /// When it cannot be recorded.
    pub fn executor_lost(&mut self, asker: Asker, word: &ExecutorLost) -> Answer<Recorded> {
        self.evolved(asker, &lost(word))
    }

    fn evolved(&mut self, asker: Asker, change: &payload::Evolution) -> Answer<Recorded> {
        self.journal.chronicle.ensure_writable()?;
        if self.chronicle().has_staged() {
            self.flush()?;
        }
        self.journal.evolved(asker, change)
    }

    /// Does the line that was signed last still stand, and does all that follows it hold?
    ///
    /// # Errors
    /// When it does not, or cannot be read; or while the whole is being read.
    pub fn anchored(&mut self, word: &Anchored) -> Answer<ChainHead> {
        self.flush()?;
        self.journal.chronicle.ensure_writable()?;
        self.heads.anchored(&mut self.journal.chronicle, word)
    }

    /// Something is expected to cost something, did, or was never settled.
    ///
    /// # Errors
    /// When the entry makes no sense, or nothing can be recorded.
    pub fn cost(&mut self, asker: Asker, word: &Cost) -> Answer<Recorded> {
        self.journal.cost(asker, word)
    }

    /// What was spent, everything that was recorded until now included?
    ///
    /// # Errors
    /// When the ledger cannot be read, or is behind: a cap that cannot be checked is not known to be kept.
    pub fn spending(&mut self, word: &Spending) -> Answer<Spent> {
        self.flush()?;
        self.journal.chronicle.ensure_writable()?;
        self.spending.catch_up(&self.journal.chronicle)?;
        self.spending.spent(word, self.chronicle().now_ms())
    }

    /// A turn is over in which nothing of lower trust was read.
    pub fn clean_turn(&mut self, word: &CleanTurn) {
        self.clean.note(word.turn, &word.principal);
    }

    /// The owner has replaced the Laws, by a rite.
    ///
    /// # Errors
    /// When a digest is none, or the reason is too long; or the line cannot be written.
    pub fn constitution(&mut self, asker: Asker, word: &ConstitutionModified) -> Answer<Recorded> {
        self.journal.constitution(asker, word)
    }

    /// After the owner's rite: a payload is taken out. The line that says so is durable before the payload goes.
    ///
    /// # Errors
    /// When there is no such line, its payload may not go, or nothing can be recorded.
    pub fn redact(&mut self, asker: Asker, word: &Redact) -> Answer<Recorded> {
        if word.why.trim().is_empty() || word.why.len() > MAX_WHY {
            let why = format!("a reason of at most {MAX_WHY} bytes is needed");
            return Err(refused(RefusalCode::Invalid, "redact.why", why));
        }
        self.flush()?;
        self.journal.chronicle.ensure_writable()?;
        self.heads.not_reading(&mut self.journal.chronicle)?;
        let unknown = || refused(RefusalCode::Unknown, "audit.line", format!("there is no line {}", word.seq));
        let row = self.chronicle().index().row(word.seq)?.ok_or_else(unknown)?;
        let event = self.chronicle().read(&row)?;
        redact::check(&event)?;
        self.recollection.again.clear();
        let payload = payload::PayloadRedacted {
            payload_sha256: event.payload_sha256.to_string(),
            seq: word.seq,
            why: word.why.clone(),
        };
        let recorded = self.journal.stage_alone(asker, EventType::PayloadRedacted, payload.encode())?;
        self.flush()?;
        self.medium.catch_up(&self.journal.chronicle)?;
        if event.kind == EventType::TurnClose {
            self.usage.derive_anew(&mut self.journal.chronicle)?;
        }
        Ok(recorded)
    }

    /// A principal wants its words of a turn forgotten, and what it was answered. Each payload goes as by the owner's rite, with a
    /// line that says so.
    ///
    /// # Errors
    /// When it has said nothing in such a turn, the turn is under way, or nothing can be recorded.
    pub fn forget_turn(&mut self, asker: Asker, word: &ForgetTurn) -> Answer<TurnForgotten> {
        let facts = self.turn(word.turn)?;
        // Another principal's looks like one that there is not.
        if facts.peer != word.principal || facts.direct {
            return Err(unknown_turn(word.turn));
        }
        if facts.delivered.is_none() && facts.closed.is_none() {
            let why = format!("turn {} is not over yet", word.turn);
            return Err(refused(RefusalCode::Busy, "forget.open", why));
        }
        self.flush()?;
        let rows = self.chronicle().index().of_turn(word.turn, u64::MAX)?;
        let mut lines = 0;
        for row in &rows {
            let event = self.chronicle().read(row)?;
            if holds_words(&event) && redact::check(&event).is_ok() {
                let _ = self.redact(asker, &Redact { seq: row.seq, why: FORGOTTEN.to_owned() })?;
                lines += 1;
            }
        }
        Ok(TurnForgotten { lines })
    }

    /// A page for a person on a channel.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn query_page(&mut self, wanted: &PageQuery) -> Answer<(QueryResult, Vec<u8>)> {
        let page = match wanted {
            PageQuery::Audit(wanted) => {
                self.flush()?;
                outlines::page(self.chronicle(), wanted)?
            }
            PageQuery::Exchanges(wanted) => {
                self.flush()?;
                exchanges::page(self.chronicle(), wanted)?
            }
            PageQuery::Remembered(wanted) => {
                self.flush()?;
                let own = self.who_is_who.principals_with(&wanted.page.principal);
                exchanges::remembered(self.chronicle(), wanted, &own)?
            }
            PageQuery::Mnests(wanted) => self.usage.page(wanted)?,
            PageQuery::Schedules(wanted) => self.schedules_page(wanted)?,
        };
        Ok(page.answer())
    }
}

/// What a person may have forgotten by itself: what was said, in whatever form, and what was wished for in those words. What was
/// decided stands against the daemons, and goes by the owner's rite alone.
fn holds_words(event: &Event) -> bool {
    let wishes = |payload: &str| payload::TurnClose::decode(payload).is_ok_and(|close| !close.wish.is_empty());
    matches!(event.kind, EventType::OwnerMessage | EventType::AssistantMessage | EventType::Thought)
        || event.kind == EventType::TurnClose && wishes(&event.payload)
}
