//! What memory is told: each word becomes one event, if the records there are admit it. It believes no claim that it can check.

use metnos_proto::edge::ServeError;
use metnos_proto::envelope::Candidate;
use metnos_proto::ids::{Blake3, CallId, TurnId};
use metnos_proto::msg::common::{Lang, Refusal, RefusalCode, Standing, Trust};
use metnos_proto::msg::memoryd::{
    CloseTurn, Decision, Delivered, DirectTurn, DirectTurnDone, Ended, ExecutorBorn, ExecutorLost, MAX_EVENT_TEXT,
    MAX_MARK, Received, Recorded, Started, SystemEvent, TurnClosed,
};

use super::wished::closing;
use super::{Memory, Teller, Told, fresh_facts, named, records};
use crate::chronicle::event::{Draft, EventType, channel_named, sha256};
use crate::chronicle::index::{IndexRow, TurnFacts};
use crate::chronicle::{payload, secrets};
use crate::mnestome::derive::fed;

/// The longest kind of a system event, in bytes.
pub const MAX_EVENT_KIND: usize = 64;

pub(super) fn refused(code: RefusalCode, rule: &str, why: impl Into<String>) -> ServeError {
    Refusal::new(code, rule, why).into()
}

/// What has the form of a secret does not enter the chronicle.
pub(super) fn clean(text: String) -> String {
    secrets::cleaned(&text).unwrap_or(text)
}

const fn lang_name(lang: Lang) -> &'static str {
    match lang {
        Lang::En => "en",
        Lang::It => "it",
    }
}

impl Memory {
    /// Stages an event of a turn.
    pub(super) fn stage_in(
        &mut self,
        teller: Teller,
        turn: TurnId,
        facts: &TurnFacts,
        parent: Option<u64>,
        (kind, trust, payload): (EventType, Trust, String),
    ) -> Told<Recorded> {
        Ok(self.chronicle.stage(Draft {
            parent,
            emitter: teller.role,
            session: teller.session,
            turn_id: Some(turn),
            trace_id: Some(facts.trace),
            kind,
            channel: Some(facts.channel),
            peer: facts.peer.clone(),
            trust,
            payload,
        })?)
    }

    /// What was told already: the same again is answered as it was, anything else is refused.
    fn again(&self, seq: Option<u64>, payload: &str) -> Told<Option<Recorded>> {
        let Some(seq) = seq else { return Ok(None) };
        let Some(row) = self.chronicle.index().row(seq)? else { return Ok(None) };
        same_again(&row, payload).map(Some)
    }

    /// The door: a person said this.
    ///
    /// # Errors
    /// When the words are no text, the person is a stranger, or the turn was begun with other words.
    pub fn received(&mut self, teller: Teller, word: &Received, words: Vec<u8>) -> Told<Recorded> {
        named(word.turn)?;
        let Ok(text) = String::from_utf8(words) else {
            return Err(refused(RefusalCode::Invalid, "words.text", "the words are not UTF-8"));
        };
        if word.mark.len() > MAX_MARK || !word.mark.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(refused(RefusalCode::Invalid, "words.mark", "the mark of the words is none"));
        }
        let text = clean(text);
        let (standing, trust) = match word.standing {
            Standing::Owner => ("owner", Trust::Owner),
            Standing::Guest => ("guest", Trust::Guest),
            Standing::Stranger => {
                let why = format!("{} is a stranger, and what a stranger says is not kept", word.principal);
                return Err(refused(RefusalCode::Denied, "words.stranger", why));
            }
        };
        let lang = lang_name(word.lang).to_owned();
        let payload =
            payload::OwnerMessage { lang, mark: word.mark.clone(), standing: standing.to_owned(), text }.encode();
        self.room_for_more()?;
        self.settle_turn(word.turn)?;
        if let Some(known) = self.chronicle.index().turn(word.turn)? {
            let same = known.peer == word.principal && known.trace == word.trace && known.channel == word.channel;
            return match self.again(known.said.filter(|_| same), &payload)? {
                Some(recorded) => Ok(recorded),
                None => Err(twice(&format!("turn {} was begun before", word.turn))),
            };
        }
        let facts = fresh_facts(word.trace, word.channel, &word.principal, trust);
        self.stage_in(teller, word.turn, &facts, None, (EventType::OwnerMessage, trust, payload))
    }

    /// The door: the answer reached the person.
    ///
    /// # Errors
    /// When the turn is unknown, or another answer was delivered in it.
    pub fn delivered(&mut self, teller: Teller, word: &Delivered, text: Vec<u8>) -> Told<Recorded> {
        let Ok(text) = String::from_utf8(text) else {
            return Err(refused(RefusalCode::Invalid, "words.text", "the answer is not UTF-8"));
        };
        let text = clean(text);
        let facts = self.turn(word.turn)?;
        let payload = payload::AssistantMessage { end: word.end.name().to_owned(), text }.encode();
        if let Some(recorded) = self.again(facts.delivered, &payload)? {
            return Ok(recorded);
        }
        // What an answer says may come from anything that was read in the turn.
        self.stage_in(teller, word.turn, &facts, facts.said, (EventType::AssistantMessage, Trust::Tool, payload))
    }

    /// The planner: the turn is over.
    ///
    /// # Errors
    /// When the turn is unknown, or was closed otherwise.
    pub fn close_turn(&mut self, teller: Teller, word: &CloseTurn) -> Told<TurnClosed> {
        let facts = self.turn(word.turn)?;
        if facts.closed.is_none() {
            self.aside.forget(word.turn)?;
        }
        let payload = closing(word);
        self.close(teller, word.turn, &facts, &payload)
    }

    /// policyd: the owner's direct call is over.
    ///
    /// # Errors
    /// When the turn is unknown, was closed otherwise, or is no direct one.
    pub fn direct_turn_done(&mut self, teller: Teller, word: &DirectTurnDone) -> Told<TurnClosed> {
        let facts = self.turn_of_call(word.turn)?;
        if !facts.direct {
            return Err(ServeError::Violation(format!("turn {} is the planner's to close", word.turn)));
        }
        let payload =
            payload::TurnClose { end: word.end.name().to_owned(), signature: String::new(), wish: String::new() };
        self.close(teller, word.turn, &facts, &payload)
    }

    fn close(
        &mut self,
        teller: Teller,
        turn: TurnId,
        facts: &TurnFacts,
        close: &payload::TurnClose,
    ) -> Told<TurnClosed> {
        let payload = close.encode();
        let before = match self.again(facts.closed, &payload)? {
            Some(recorded) => recorded.seq,
            None => {
                let event = (EventType::TurnClose, Trust::System, payload);
                self.stage_in(teller, turn, facts, facts.root(), event)?.seq
            }
        };
        let mut edges: Vec<_> = fed(&records(&self.chronicle, turn, before)?)
            .into_iter()
            .map(|fed| (fed.src.to_string(), fed.dst.to_string()))
            .collect();
        edges.sort();
        edges.dedup();
        let wishes = usize::from(!close.wish.trim().is_empty());
        Ok(TurnClosed { mnests: u16::try_from(edges.len() + wishes).unwrap_or(u16::MAX) })
    }

    /// policyd: the owner calls an executor without the planner.
    ///
    /// # Errors
    /// When the turn exists, or the principal names no channel.
    pub fn direct_turn(&mut self, teller: Teller, word: &DirectTurn) -> Told<Recorded> {
        named(word.turn)?;
        let channel = word.principal.split(':').next().and_then(channel_named).ok_or_else(|| {
            refused(RefusalCode::Invalid, "turn.principal", format!("`{}` names no channel", word.principal))
        })?;
        let payload = payload::TurnOpen {
            candidates: Vec::new(),
            direct: true,
            executor: word.executor.clone(),
            identity: String::new(),
            nonce: String::new(),
            shown: Vec::new(),
        }
        .encode();
        self.room_for_more()?;
        self.settle_turn(word.turn)?;
        if let Some(known) = self.chronicle.index().turn(word.turn)? {
            let same = known.direct && known.peer == word.principal && known.trace == word.trace;
            return match self.again(known.opened.filter(|_| same), &payload)? {
                Some(recorded) => Ok(recorded),
                None => Err(twice(&format!("turn {} was begun before", word.turn))),
            };
        }
        let facts = fresh_facts(word.trace, channel, &word.principal, Trust::Owner);
        self.stage_in(teller, word.turn, &facts, None, (EventType::TurnOpen, Trust::Owner, payload))
    }

    /// policyd: a call was decided. Awaited before any effect.
    ///
    /// # Errors
    /// When nobody spoke in that turn, it is closed, or the call was decided otherwise; a
    /// violation when what it says of the turn or of the arguments is not true.
    pub fn decision(&mut self, teller: Teller, word: &Decision, arguments: Vec<u8>) -> Told<Recorded> {
        self.room_for(&word.verdict)?;
        let facts = self.turn_of_call(word.turn)?;
        open_turn(word.turn, &facts)?;
        if (facts.trace, facts.channel, &facts.peer) != (word.trace, word.channel, &word.principal) {
            return Err(ServeError::Violation(format!(
                "a decision for {} in turn {} of {}",
                word.principal, word.turn, facts.peer
            )));
        }
        if Blake3::of(&arguments) != word.arguments {
            return Err(ServeError::Violation(format!("the arguments of call {} are not those decided on", word.call)));
        }
        let (arguments, arguments_encoding) = payload::PolicyDecision::spell_arguments(arguments);
        let payload = payload::PolicyDecision {
            arguments,
            arguments_digest: word.arguments.to_string(),
            arguments_encoding,
            call: word.call.to_string(),
            executor: word.id.name.clone(),
            place: word.place.to_string(),
            rule: word.rule.clone(),
            verdict: word.verdict.name().to_owned(),
            version: word.id.version.clone(),
            why: word.why.clone(),
        }
        .encode();
        if let Some(row) = self.of_call(word.call, EventType::PolicyDecision)? {
            let asked = payload::PolicyDecision::decode(&self.chronicle.read(&row)?.payload)
                .is_ok_and(|known| known.verdict == "ask");
            // A question may be followed by its answer; any other decision stands.
            if !asked || row.payload == sha256(payload.as_bytes()) {
                return same_again(&row, &payload);
            }
        }
        self.stage_in(teller, word.turn, &facts, facts.root(), (EventType::PolicyDecision, Trust::System, payload))
    }

    /// sandboxd: an executor is about to run. Awaited: no effect without it.
    ///
    /// # Errors
    /// When the call was started before; a violation when no decision allows exactly this.
    pub fn started(&mut self, teller: Teller, word: &Started) -> Told<Recorded> {
        let facts = self.turn_of_call(word.turn)?;
        if let Some(row) = self.of_call(word.call, EventType::RunStarted)? {
            return Err(twice(&format!("call {} was started in line {}", word.call, row.seq)));
        }
        self.decided(word)?;
        let input = |input: &metnos_proto::msg::common::InputRef| payload::Input {
            argument: input.argument.clone(),
            from: input.from.to_string(),
            pointer: input.pointer.clone(),
        };
        let payload = payload::RunStarted {
            arguments_digest: word.arguments.to_string(),
            call: word.call.to_string(),
            decision_seq: word.decision_seq,
            executor: word.id.name.clone(),
            inputs: word.inputs.iter().map(input).collect(),
            place: word.place.to_string(),
            profile: word.profile.to_string(),
            version: word.id.version.clone(),
        }
        .encode();
        let event = (EventType::RunStarted, Trust::System, payload);
        self.stage_in(teller, word.turn, &facts, Some(word.decision_seq), event)
    }

    /// Is there a decision that allows exactly this run?
    fn decided(&self, word: &Started) -> Told<()> {
        let undecided =
            |why: &str| Err(ServeError::Violation(format!("a run of {} as call {}: {why}", word.id, word.call)));
        let row = self.line(word.decision_seq)?;
        let Some(row) = row.filter(|row| row.kind == Some(EventType::PolicyDecision) && row.call == Some(word.call))
        else {
            return undecided(&format!("line {} is no decision about it", word.decision_seq));
        };
        let event = self.chronicle.read(&row)?;
        let Ok(decision) = payload::PolicyDecision::decode(&event.payload) else {
            return undecided("its decision cannot be read");
        };
        if decision.verdict != "allow" {
            return undecided("its decision does not allow it");
        }
        if event.turn_id != Some(word.turn) || event.trace_id != Some(word.trace) {
            return undecided("it was decided in another turn");
        }
        if decision.id() != word.id || decision.place != word.place.to_string() {
            return undecided("another call was decided");
        }
        if payload::digest_of(&decision.arguments_digest) != Some(word.arguments) {
            return undecided("other arguments were decided on");
        }
        Ok(())
    }

    /// sandboxd: it has ended.
    ///
    /// # Errors
    /// When it had ended otherwise; a violation when it was never started.
    pub fn ended(&mut self, teller: Teller, word: &Ended) -> Told<Recorded> {
        let facts = self.turn_of_call(word.turn)?;
        let start = self.start_of(word.call)?;
        let fits = start.as_ref().is_some_and(|(row, started)| {
            row.seq == word.started_seq && row.turn == Some(word.turn) && started.id() == word.id
        });
        if !fits || facts.trace != word.trace {
            return Err(ServeError::Violation(format!("the end of call {}, which was not started so", word.call)));
        }
        let payload = payload::RunEnded {
            call: word.call.to_string(),
            carrier: word.resources.carrier.name().to_owned(),
            cpu_us: word.resources.cpu_us,
            error_class: word.error_class.clone(),
            executor: word.id.name.clone(),
            outcome: word.outcome.name().to_owned(),
            output_bytes: word.resources.output_bytes,
            peak_kib: word.resources.peak_kib,
            result: word.result.to_string(),
            started_seq: word.started_seq,
            version: word.id.version.clone(),
            visits: word.resources.visits.iter().map(payload::Visit::of).collect(),
            wall_us: word.resources.wall_us,
            written_bytes: word.resources.written_bytes,
        }
        .encode();
        if let Some(row) = self.of_call(word.call, EventType::RunEnded)? {
            return same_again(&row, &payload);
        }
        let event = (EventType::RunEnded, Trust::Tool, payload);
        self.stage_in(teller, word.turn, &facts, Some(word.started_seq), event)
    }

    fn start_of(&self, call: CallId) -> Told<Option<(IndexRow, payload::RunStarted)>> {
        let Some(row) = self.of_call(call, EventType::RunStarted)? else { return Ok(None) };
        let started = payload::RunStarted::decode(&self.chronicle.read(&row)?.payload).ok();
        Ok(started.map(|started| (row, started)))
    }

    /// policyd: an executor was signed.
    ///
    /// # Errors
    /// When its contract is not one, or another's.
    pub fn executor_born(&mut self, teller: Teller, word: &ExecutorBorn, candidate: &[u8]) -> Told<Recorded> {
        let invalid = |why: String| refused(RefusalCode::Invalid, "executor.contract", why);
        let contract: Candidate = serde_json::from_slice(candidate)
            .map_err(|error| invalid(format!("the contract of {} cannot be read: {error}", word.id)))?;
        if (&contract.name, &contract.version) != (&word.id.name, &word.id.version) {
            return Err(invalid(format!(
                "the contract of {} is that of {} {}",
                word.id, contract.name, contract.version
            )));
        }
        let candidate = serde_json::to_value(&contract)
            .map_err(|error| invalid(format!("the contract of {} cannot be written: {error}", word.id)))?;
        let digests = [word.digests.manifest, word.digests.code, word.digests.schema, word.digests.profile];
        self.evolve(
            teller,
            payload::Evolution {
                act: "born".to_owned(),
                candidate,
                digests: digests.iter().map(ToString::to_string).collect(),
                executor: word.id.name.clone(),
                version: word.id.version.clone(),
                why: String::new(),
            },
        )
    }

    /// policyd: an executor may no longer be called.
    ///
    /// # Errors
    /// When it cannot be recorded.
    pub fn executor_lost(&mut self, teller: Teller, word: &ExecutorLost) -> Told<Recorded> {
        self.evolve(
            teller,
            payload::Evolution {
                act: "lost".to_owned(),
                candidate: serde_json::Value::Null,
                digests: Vec::new(),
                executor: word.id.name.clone(),
                version: word.id.version.clone(),
                why: word.why.clone(),
            },
        )
    }

    fn evolve(&mut self, teller: Teller, change: payload::Evolution) -> Told<Recorded> {
        self.chronicle.fit()?;
        if self.chronicle.has_staged() {
            self.flush()?;
        }
        let known = self.chronicle.index().executor(&change.executor, &change.version)?;
        let payload = change.encode();
        if let Some((_, seq)) = known
            && let Some(row) = self.chronicle.index().row(seq)?
            && row.payload == sha256(payload.as_bytes())
        {
            return Ok(Recorded { seq: row.seq, hash: row.hash });
        }
        self.stage_alone(teller, EventType::Evolution, payload)
    }

    /// Any of them: something happened to a daemon.
    ///
    /// # Errors
    /// When the kind is no word or the text too long.
    pub fn system_event(&mut self, teller: Teller, word: &SystemEvent) -> Told<Recorded> {
        let kind_fits = (1..=MAX_EVENT_KIND).contains(&word.kind.len())
            && word.kind.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_');
        if !kind_fits || word.text.len() > MAX_EVENT_TEXT {
            let why = format!(
                "a kind is a word of at most {MAX_EVENT_KIND} small letters, a text has at most {MAX_EVENT_TEXT} bytes"
            );
            return Err(refused(RefusalCode::Invalid, "event.format", why));
        }
        let payload = payload::SystemEvent { kind: word.kind.clone(), text: clean(word.text.clone()) }.encode();
        let Some(turn) = word.turn else {
            return self.stage_alone(teller, EventType::SystemEvent, payload);
        };
        let facts = self.turn(turn)?;
        self.stage_in(teller, turn, &facts, facts.root(), (EventType::SystemEvent, Trust::System, payload))
    }

    pub(super) fn stage_alone(&mut self, teller: Teller, kind: EventType, payload: String) -> Told<Recorded> {
        Ok(self.chronicle.stage(Draft {
            parent: None,
            emitter: teller.role,
            session: teller.session,
            turn_id: None,
            trace_id: None,
            kind,
            channel: None,
            peer: String::new(),
            trust: Trust::System,
            payload,
        })?)
    }

    /// The loop: a peer broke the protocol.
    pub fn violated(&mut self, peer: &str, what: &str) {
        let text = format!("{peer}: {what}").chars().take(MAX_EVENT_TEXT / 4).collect();
        self.chronicle.tell("violation", text);
        self.chronicle.stage_told();
    }

    /// Stages the line that opens a planner's turn.
    pub(super) fn stage_open(
        &mut self,
        teller: Teller,
        turn: TurnId,
        facts: &TurnFacts,
        open: &payload::TurnOpen,
    ) -> Told<Recorded> {
        self.stage_in(teller, turn, facts, facts.said, (EventType::TurnOpen, Trust::System, open.encode()))
    }
}

/// Refuses a turn that is closed.
pub(super) fn open_turn(turn: TurnId, facts: &TurnFacts) -> Told<()> {
    match facts.closed {
        Some(seq) => Err(refused(RefusalCode::Unknown, "turn.closed", format!("turn {turn} was closed in line {seq}"))),
        None => Ok(()),
    }
}

fn twice(why: &str) -> ServeError {
    refused(RefusalCode::Denied, "record.twice", why)
}

fn same_again(row: &IndexRow, payload: &str) -> Told<Recorded> {
    if row.payload == sha256(payload.as_bytes()) {
        Ok(Recorded { seq: row.seq, hash: row.hash })
    } else {
        Err(twice(&format!("line {} says otherwise", row.seq)))
    }
}
