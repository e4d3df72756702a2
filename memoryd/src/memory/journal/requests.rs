//! Requests and their ends: what a person said, what was answered, and turns that open and close.

use metnos_proto::ids::{Blake3, TurnId};
use metnos_proto::msg::common::{Channel, Lang, RefusalCode, Standing, Trust};
use metnos_proto::msg::memoryd::{
    AnswerFound, AnswerOf, Delivered, DirectTurn, MAX_MARK, MarkState, ModelAsked, Received, Recorded, TurnClosed,
    TurnOwner,
};
use metnos_proto::msg::mind::MAX_PROMPT;
use metnos_proto::msg::planner::TurnEnd;

use super::turns::fresh_facts;
use super::{Answer, Asker, Journal, clean, named, records, refused, twice, unknown_turn};
use crate::chronicle::event::EventType;
use crate::chronicle::index::{IndexRow, TurnFacts};
use crate::chronicle::payload::{self, PolicyDecision};
use crate::mnestome::derive::fed;
use crate::mnestome::wish::wished;

/// The most thoughts of one turn of which it is kept what was sent: more than a planner that keeps to its bounds has.
pub const MAX_ASKED: usize = 64;
/// The most bytes of what was sent for one thought that are kept: a prompt, as its provider has it.
pub const MAX_SENT: usize = MAX_PROMPT + (1 << 20);
/// The longest name of a model that is kept, in bytes.
const MAX_MODEL: usize = 256;

/// A request that may be recorded: checked, and cleaned of what has the form of a secret.
pub(in crate::memory) struct Request {
    payload: String,
    trust: Trust,
}

const fn lang_name(lang: Lang) -> &'static str {
    match lang {
        Lang::En => "en",
        Lang::It => "it",
    }
}

impl Request {
    /// Checks what a person said.
    ///
    /// # Errors
    /// When the words are no text, or the person is a stranger.
    pub(in crate::memory) fn of(word: &Received, words: Vec<u8>) -> Answer<Self> {
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
            Standing::Adult => ("adult", Trust::Owner),
            Standing::Guest => ("guest", Trust::Guest),
            Standing::Stranger => {
                let why = format!("{} is a stranger, and what a stranger says is not kept", word.principal);
                return Err(refused(RefusalCode::Denied, "words.stranger", why));
            }
        };
        let lang = lang_name(word.lang).to_owned();
        let payload =
            payload::OwnerMessage { lang, mark: word.mark.clone(), standing: standing.to_owned(), text }.encode();
        Ok(Self { payload, trust })
    }
}

impl Journal {
    /// Stages a request, unless it was recorded before. The index must be up to date about its turn.
    ///
    /// # Errors
    /// When the turn was begun with other words.
    pub(in crate::memory) fn received(&mut self, asker: Asker, word: &Received, request: Request) -> Answer<Recorded> {
        let Request { payload, trust } = request;
        if let Some(known) = self.chronicle.index().turn(word.turn)? {
            let same = known.peer == word.principal && known.trace == word.trace && known.channel == word.channel;
            return match self.again(known.said.filter(|_| same), &payload)? {
                Some(recorded) => Ok(recorded),
                None => Err(twice(&format!("turn {} was begun before", word.turn))),
            };
        }
        let facts = fresh_facts(word.trace, word.channel, &word.principal, trust);
        self.stage_in(asker, word.turn, &facts, None, (EventType::OwnerMessage, trust, payload))
    }

    /// Stages the answer that reached the person, unless it was recorded before.
    ///
    /// # Errors
    /// When another answer was delivered in the turn.
    pub(in crate::memory) fn delivered(
        &mut self,
        asker: Asker,
        word: &Delivered,
        facts: &TurnFacts,
        text: String,
    ) -> Answer<Recorded> {
        let text = clean(text);
        let payload = payload::AssistantMessage { end: word.end.name().to_owned(), text }.encode();
        if let Some(recorded) = self.again(facts.delivered, &payload)? {
            return Ok(recorded);
        }
        // What an answer says may come from anything that was read in the turn.
        self.stage_in(asker, word.turn, facts, facts.said, (EventType::AssistantMessage, Trust::Tool, payload))
    }

    /// Stages the end of a turn, unless it was recorded before; counts the mnests that follow from it.
    ///
    /// # Errors
    /// When the turn was closed otherwise.
    pub(in crate::memory) fn close(
        &mut self,
        asker: Asker,
        turn: TurnId,
        facts: &TurnFacts,
        close: &payload::TurnClose,
    ) -> Answer<TurnClosed> {
        let payload = close.encode();
        let before = match self.again(facts.closed, &payload)? {
            Some(recorded) => recorded.seq,
            None => {
                let event = (EventType::TurnClose, Trust::System, payload);
                self.stage_in(asker, turn, facts, facts.root(), event)?.seq
            }
        };
        let mut edges: Vec<_> = fed(&records(&self.chronicle, turn, before)?)
            .into_iter()
            .map(|fed| (fed.src.to_string(), fed.dst.to_string()))
            .collect();
        edges.sort();
        edges.dedup();
        let wishes = usize::from(wished(close).is_some());
        Ok(TurnClosed { mnests: u16::try_from(edges.len() + wishes).unwrap_or(u16::MAX) })
    }

    /// Stages that the owner calls an executor without the planner. The index must be up to date about the turn.
    ///
    /// # Errors
    /// When the turn exists.
    pub(in crate::memory) fn direct_turn(
        &mut self,
        asker: Asker,
        word: &DirectTurn,
        channel: Channel,
    ) -> Answer<Recorded> {
        let payload = payload::TurnOpen {
            candidates: Vec::new(),
            direct: true,
            executor: word.executor.clone(),
            identity: String::new(),
            nonce: String::new(),
            shown: Vec::new(),
        }
        .encode();
        if let Some(known) = self.chronicle.index().turn(word.turn)? {
            let same = known.direct && known.peer == word.principal && known.trace == word.trace;
            return match self.again(known.opened.filter(|_| same), &payload)? {
                Some(recorded) => Ok(recorded),
                None => Err(twice(&format!("turn {} was begun before", word.turn))),
            };
        }
        let facts = fresh_facts(word.trace, channel, &word.principal, Trust::Owner);
        self.stage_in(asker, word.turn, &facts, None, (EventType::TurnOpen, Trust::Owner, payload))
    }

    /// Stages the line that opens a planner's turn.
    ///
    /// # Errors
    /// When it cannot be recorded.
    pub(in crate::memory) fn opened(
        &mut self,
        asker: Asker,
        turn: TurnId,
        facts: &TurnFacts,
        open: &payload::TurnOpen,
    ) -> Answer<Recorded> {
        self.stage_in(asker, turn, facts, facts.said, (EventType::TurnOpen, Trust::System, open.encode()))
    }

    /// What was answered in a turn. Nothing, as long as it is open, or when the door went away before it was. It only reads,
    /// and to anybody but the principal who opened it the turn is unknown.
    ///
    /// # Errors
    /// When it is not a turn of this principal, or the chronicle cannot be read.
    pub(in crate::memory) fn answer_of(&self, ask: &AnswerOf, facts: &TurnFacts) -> Answer<(AnswerFound, Vec<u8>)> {
        if facts.peer != ask.principal || facts.direct {
            return Err(unknown_turn(ask.turn));
        }
        let unreadable = |error: payload::PayloadError| refused(RefusalCode::Internal, "answer", error.to_string());
        let row = |seq: Option<u64>| -> Answer<Option<IndexRow>> {
            seq.map_or(Ok(None), |seq| Ok(self.chronicle.index().row(seq)?))
        };
        if let Some(delivered) = row(facts.delivered)? {
            let event = self.chronicle.read(&delivered)?;
            if event.is_redacted() {
                return Ok((AnswerFound { end: Some(TurnEnd::Answered) }, Vec::new()));
            }
            let answer = payload::AssistantMessage::decode(&event.payload).map_err(unreadable)?;
            let end = TurnEnd::named(&answer.end).unwrap_or(TurnEnd::Broken);
            return Ok((AnswerFound { end: Some(end) }, answer.text.into_bytes()));
        }
        // Closed, and nothing was delivered: the door was away when the answer came.
        let end = facts.closed.map(|_| TurnEnd::Broken);
        Ok((AnswerFound { end }, Vec::new()))
    }

    /// Stages that a model was asked, and what was sent to it.
    ///
    /// # Errors
    /// When there is too much to be kept.
    pub(in crate::memory) fn model_asked(
        &mut self,
        asker: Asker,
        word: &ModelAsked,
        facts: &TurnFacts,
        sent: Vec<u8>,
    ) -> Answer<Recorded> {
        if word.model.len() > MAX_MODEL {
            let why = format!("the name of a model has at most {MAX_MODEL} bytes");
            return Err(refused(RefusalCode::Invalid, "thought.model", why));
        }
        // The planner is presumed hijacked: what it may have written down is bounded.
        if sent.len() > MAX_SENT {
            let why = format!("{} bytes were sent for one thought; at most {MAX_SENT} are kept", sent.len());
            return Err(refused(RefusalCode::Invalid, "thought.size", why));
        }
        let is_thought = |row: &IndexRow| row.kind == Some(EventType::Thought);
        let before = self.chronicle.index().of_turn(word.turn, u64::MAX)?;
        if before.iter().filter(|row| is_thought(row)).count() >= MAX_ASKED {
            let why = format!("of one turn the prompts of {MAX_ASKED} thoughts are kept, and these are there");
            return Err(refused(RefusalCode::Busy, "thought.count", why));
        }
        let digest = Blake3::of(&sent).to_string();
        let (sent, encoding) = PolicyDecision::encode_arguments(sent);
        let model = clean(word.model.clone());
        let payload = payload::Thought { digest, encoding, model, sent, thought: word.thought }.encode();
        self.stage_in(asker, word.turn, facts, facts.root(), (EventType::Thought, Trust::System, payload))
    }

    /// Who has opened a turn. It is asked here and not of the planner, so that no person receives another's answer.
    ///
    /// # Errors
    /// When it is the owner's direct call.
    pub(in crate::memory) fn whose_turn(turn: TurnId, facts: TurnFacts) -> Answer<TurnOwner> {
        if facts.direct {
            return Err(unknown_turn(turn));
        }
        Ok(TurnOwner {
            trace: facts.trace,
            channel: facts.channel,
            lang: if facts.lang == "it" { Lang::It } else { Lang::En },
            is_delivered: facts.delivered.is_some(),
            principal: facts.peer,
        })
    }

    /// What became of words that a channel has marked, and the answer to them: `turn` is that in which they were said.
    ///
    /// # Errors
    /// When the chronicle cannot be read.
    pub(in crate::memory) fn mark_state(
        &self,
        turn: TurnId,
        facts: &TurnFacts,
        suspended: bool,
    ) -> Answer<(MarkState, String)> {
        let known = MarkState {
            turn: Some(turn),
            trace: facts.trace,
            acted: self.chronicle.index().has_decision(turn)?,
            aside: suspended,
            delivered: facts.delivered.is_some(),
        };
        let row = facts.delivered.map(|seq| self.chronicle.index().row(seq)).transpose()?.flatten();
        let event = row.map(|row| self.chronicle.read(&row)).transpose()?;
        let answer = event.and_then(|event| payload::AssistantMessage::decode(&event.payload).ok());
        Ok((known, answer.map_or_else(String::new, |answer| answer.text)))
    }
}
