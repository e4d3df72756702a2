//! What is the same on every channel. The order is the point: who it is, then what he said, then the journal, and only
//! then the planner. It must never take a word of a stranger, nor acknowledge one that is not durable.

use std::cell::Cell;
use std::rc::Rc;

use metnos_proto::doc::schedule::ScheduleList;
use metnos_proto::edge::RpcError;
use metnos_proto::ids::{Blake3, TraceId, TurnId};
use metnos_proto::msg::common::{Lang, Refusal, RefusalCode, Standing};
use metnos_proto::msg::door::AnswerHere;
use metnos_proto::msg::memoryd::{AnswerOf, MAX_EVENT_TEXT, Received, SystemEvent, TurnForgotten};
use metnos_proto::msg::people::{Fire, Fired, Pair, Paired, ViewRequest};
use metnos_proto::msg::planner::{CancelTurn, Cancelled, OpenFired, OpenTurn, TurnEnd};
use metnos_proto::msg::policyd::{
    AnswerCard, Answered, CancelHere, ForgetHere, Identified, Identify, PromptRegistered, RegisterPrompt,
};
use metnos_proto::payload::Sealed;
use metnos_proto::request;
use metnos_reflex::answer::speech;
use serde::de::DeserializeOwned;
use tokio::sync::watch;

use super::relay::Relay;
use super::speaker::{Speaker, SpeakerSession};
use super::{Door, MAX_TURNS_PER_SESSION, phrases};

/// The longest text that can be a code, in bytes.
const MAX_CODE: usize = 16;

/// Whether this may be a code, such as `K7-DELTA-19`: policyd says whether it is one.
#[must_use]
pub fn has_the_form_of_a_code(said: &str) -> bool {
    let said = said.trim();
    said.len() <= MAX_CODE
        && said.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-')
        && said.bytes().filter(|b| *b == b'-').count() == 2
}

/// What became of words at the door.
#[derive(Debug)]
pub enum Taken {
    /// They have opened a turn.
    Opened(TurnId),
    /// They came from a stranger: nothing of them was taken but what has the form of a code.
    Stranger(Paired),
}

/// A turn that is about to be opened.
struct Opening<'a>(&'a Cell<usize>);

impl Drop for Opening<'_> {
    fn drop(&mut self) {
        self.0.set(self.0.get().saturating_sub(1));
    }
}

impl Door {
    /// A number for a new session.
    pub fn number(&self) -> u64 {
        self.sessions.number()
    }

    /// Takes what a person says: from here on his turn is durable, and its notes go to his sink.
    ///
    /// # Errors
    /// When there is no room, the words are none, or a peer that is needed refuses. Nothing was taken then.
    pub async fn say(self: &Rc<Self>, voice: &SpeakerSession, words: Sealed) -> Result<Taken, Refusal> {
        let opening = self.take_room(voice)?;
        // Checked before anybody else is asked; the words themselves are not looked at here.
        let said = request::read(&words)?;
        let own = super::undo::asked(&said);
        let spoken = own.as_ref().map(|(lang, _)| *lang).or_else(|| metnos_reflex::spoken_in(&said));
        let who = self.identify_by(&voice.speaker, spoken).await?;
        match who.standing {
            Standing::Owner | Standing::Adult | Standing::Guest => {}
            Standing::Stranger => return Ok(Taken::Stranger(self.pair(&voice.speaker, &said).await?)),
        }
        drop(said);
        let (registered, words) = self.register((&voice.speaker, &voice.mark), &who, words).await?;
        drop(opening);
        voice.sink.opens(registered.turn);
        match own {
            Some((_, request)) => self.done_as_turn(voice, who.lang, &registered, request),
            None => {
                let said = self.give_here(voice, &who, registered.turn).await;
                self.open(voice, (who.lang, said), &registered, words, None).await;
            }
        }
        Ok(Taken::Opened(registered.turn))
    }

    /// A hook or a timer fires: what the owner has set up for it is done, with what came from outside beside it. The
    /// journal has his words, and of the rest the digest and the beginning.
    ///
    /// # Errors
    /// When it was not set up, there is no room, or a peer that is needed refuses. Nothing was done then.
    pub async fn fire(self: &Rc<Self>, voice: &SpeakerSession, data: Option<Sealed>) -> Result<TurnId, Refusal> {
        let opening = self.take_room(voice)?;
        let Speaker { channel, sender, .. } = voice.speaker.clone();
        let fire = Fire { channel, sender, has_data: data.is_some() };
        let asked = self.peers.policyd.fire(TraceId::NONE, fire, []).await;
        let (fired, [words]) = asked.map_err(RpcError::into_refusal)?;
        let internal = |why: String| Refusal::new(RefusalCode::Internal, "words.share", why);
        let received = Received {
            turn: fired.turn,
            trace: fired.trace,
            channel,
            principal: fired.principal.clone(),
            standing: Standing::Guest,
            lang: fired.lang,
            mark: voice.mark.clone(),
        };
        let share = words.share().map_err(|error| internal(error.to_string()))?;
        let journalled = self.peers.memoryd.received(fired.trace, received, [share]).await;
        journalled.map_err(RpcError::into_refusal)?;
        if let Some(data) = &data {
            self.journal_data(&fired, data).await?;
        }
        drop(opening);
        voice.sink.opens(fired.turn);
        let registered = PromptRegistered { turn: fired.turn, trace: fired.trace, unborn: 0 };
        self.open(voice, (fired.lang, String::new()), &registered, words, data).await;
        Ok(fired.turn)
    }

    /// What came from outside: all of it by digest, and its beginning.
    async fn journal_data(&self, fired: &Fired, data: &Sealed) -> Result<(), Refusal> {
        let internal = |why: String| Refusal::new(RefusalCode::Internal, "words.share", why);
        let bytes = data.read().map_err(|error| internal(error.to_string()))?;
        let (digest, text) = (Blake3::of(&bytes), String::from_utf8_lossy(&bytes));
        let text = format!("with {} came {} bytes, {digest}: {text}", fired.principal, bytes.len());
        let text = metnos_reflex::answer::shorten(&text, MAX_EVENT_TEXT).to_owned();
        let event = SystemEvent { kind: "hook_data".to_owned(), text, turn: Some(fired.turn) };
        let told = self.peers.memoryd.system_event(fired.trace, event, []).await;
        told.map(|_| ()).map_err(RpcError::into_refusal)
    }

    /// Stops a turn of this session. Another principal's turn looks exactly like one that does not exist.
    ///
    /// # Errors
    /// When the planner cannot be reached.
    pub async fn stop(&self, number: u64, turn: TurnId) -> Result<Cancelled, Refusal> {
        if !self.turns.of(number).contains(&turn) {
            return Ok(Cancelled { was_open: false });
        }
        let stopped = self.peers.planner.cancel_turn(TraceId::NONE, CancelTurn { turn }, []).await;
        stopped.map(|(cancelled, [])| cancelled).map_err(RpcError::into_refusal)
    }

    /// Hands on what a person answers to a card, under his own name: policyd says whether it counts.
    ///
    /// # Errors
    /// When it does not count.
    pub async fn answer(&self, speaker: &Speaker, ask: AnswerHere) -> Result<(Answered, [Sealed; 1]), Refusal> {
        let Speaker { channel, sender, .. } = speaker.clone();
        let AnswerHere { id, digest, answer, code } = ask;
        let answer = AnswerCard { channel, sender, id, digest, answer, code };
        self.peers.policyd.answer_card(TraceId::NONE, answer, []).await.map_err(RpcError::into_refusal)
    }

    /// Who a person is: only policyd knows, and it is asked each time.
    ///
    /// # Errors
    /// When policyd does not say.
    pub async fn identify(&self, speaker: &Speaker) -> Result<Identified, Refusal> {
        self.identify_by(speaker, None).await
    }

    /// The same for a person whose words are in this language, as far as they tell: he is answered in it, and a card
    /// that they lead to is shown in it.
    async fn identify_by(&self, speaker: &Speaker, spoke: Option<Lang>) -> Result<Identified, Refusal> {
        let Speaker { channel, sender, lang } = speaker.clone();
        let asked = self.peers.policyd.identify(TraceId::NONE, Identify { channel, sender, lang, spoke }, []).await;
        asked.map(|(who, [])| who).map_err(RpcError::into_refusal)
    }

    /// What was answered in a turn of this principal, as the journal has it, and how the turn ended; no end as long as
    /// it is open.
    ///
    /// # Errors
    /// When he has opened no such turn, or the journal cannot be asked.
    pub async fn answer_of(&self, turn: TurnId, principal: &str) -> Result<(Option<TurnEnd>, String), Refusal> {
        let ask = AnswerOf { turn, principal: principal.to_owned() };
        let asked = self.peers.memoryd.answer_of(TraceId::NONE, ask, []).await;
        let (found, [text]) = asked.map_err(RpcError::into_refusal)?;
        let internal = |why: String| Refusal::new(RefusalCode::Internal, "door.answer", why);
        let text = text.read().map_err(|error| internal(error.to_string()))?;
        Ok((found.end, String::from_utf8(text).map_err(|error| internal(error.to_string()))?))
    }

    /// A page of what a person may see of the instance, and where the next begins; policyd says what that is.
    ///
    /// # Errors
    /// When it is not for him, or a peer that is needed does not answer.
    pub async fn look<T: DeserializeOwned>(&self, ask: ViewRequest) -> Result<(Vec<T>, u64), Refusal> {
        let asked = self.peers.policyd.view(TraceId::NONE, ask, []).await;
        let (looked, [page]) = asked.map_err(RpcError::into_refusal)?;
        let internal = |why: String| Refusal::new(RefusalCode::Internal, "door.look", why);
        let bytes = page.read().map_err(|error| internal(error.to_string()))?;
        let lines = bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
        let documents = lines.map(serde_json::from_slice).collect::<Result<_, _>>();
        Ok((documents.map_err(|error| internal(error.to_string()))?, looked.next))
    }

    /// Has something cancelled that this person has planned; how it stands then.
    ///
    /// # Errors
    /// When nothing of this number is planned for the person, or policyd does not answer.
    pub async fn cancel_schedule(&self, speaker: &Speaker, number: u64) -> Result<ScheduleList, Refusal> {
        let ask = CancelHere { channel: speaker.channel, sender: speaker.sender.clone(), number };
        let (answer, document) =
            self.peers.policyd.cancel_here(TraceId::NONE, ask, []).await.map_err(RpcError::into_refusal)?;
        answer.open(document)
    }

    /// Has the words of a turn of this person forgotten.
    ///
    /// # Errors
    /// When the person has said nothing in such a turn, it is under way, or a peer does not answer.
    pub async fn forget_turn(&self, speaker: &Speaker, turn: TurnId) -> Result<TurnForgotten, Refusal> {
        let ask = ForgetHere { channel: speaker.channel, sender: speaker.sender.clone(), turn };
        let asked = self.peers.policyd.forget_here(TraceId::NONE, ask, []).await;
        asked.map(|(forgotten, [])| forgotten).map_err(RpcError::into_refusal)
    }

    /// Every change of the link to policyd: what was said of a person counts no longer than that.
    pub fn policyd_generations(&self) -> watch::Receiver<u32> {
        self.peers.policyd.generations()
    }

    /// A stranger said something: of it only a code goes on.
    ///
    /// # Errors
    /// When policyd does not answer.
    pub async fn pair(&self, speaker: &Speaker, said: &str) -> Result<Paired, Refusal> {
        let code = if has_the_form_of_a_code(said) { said.trim().to_owned() } else { String::new() };
        let Speaker { channel, sender, .. } = speaker.clone();
        let asked = self.peers.policyd.pair(TraceId::NONE, Pair { channel, sender, code }, []).await;
        asked.map(|(paired, [])| paired).map_err(RpcError::into_refusal)
    }

    /// Counts the turn from here on, so that many asks at once open no more turns than one after the other.
    fn take_room<'a>(&self, voice: &'a SpeakerSession) -> Result<Opening<'a>, Refusal> {
        let busy = |rule, why: String| Refusal::new(RefusalCode::Busy, rule, why);
        if self.turns.is_draining() {
            return Err(busy("door.draining", "Metnos is stopping".to_owned()));
        }
        if voice.opening.get() + self.turns.of(voice.number).len() >= MAX_TURNS_PER_SESSION {
            let why = format!("this session has {MAX_TURNS_PER_SESSION} turns under way already");
            return Err(busy("door.turns", why).remedy("wait for one to end, or stop it"));
        }
        voice.opening.set(voice.opening.get() + 1);
        Ok(Opening(&voice.opening))
    }

    /// Fixes the words with policyd, and has them journalled; what is acknowledged later is durable now.
    ///
    /// # Errors
    /// When a peer that is needed refuses.
    pub(crate) async fn register(
        &self,
        (speaker, mark): (&Speaker, &str),
        who: &Identified,
        words: Sealed,
    ) -> Result<(PromptRegistered, Sealed), Refusal> {
        let share = |words: &Sealed| {
            let no = |error| Refusal::new(RefusalCode::Internal, "words.share", format!("{error}"));
            words.share().map_err(no)
        };
        let Speaker { channel, sender, .. } = speaker.clone();
        let (registered, []) = self
            .peers
            .policyd
            .register_prompt(TraceId::NONE, RegisterPrompt { channel, sender }, [share(&words)?])
            .await
            .map_err(RpcError::into_refusal)?;
        let received = Received {
            turn: registered.turn,
            trace: registered.trace,
            channel,
            principal: who.principal.clone(),
            standing: who.standing,
            lang: who.lang,
            mark: mark.to_owned(),
        };
        let journalled = self.peers.memoryd.received(registered.trace, received, [share(&words)?]).await;
        journalled.map_err(RpcError::into_refusal)?;
        Ok((registered, words))
    }

    /// Opens the turn at the planner. The words are registered and journalled, so from here on a failure is
    /// the end of the turn, sent and journalled like any other. `said` was given to the person already.
    pub(super) async fn open(
        self: &Rc<Self>,
        voice: &SpeakerSession,
        (lang, said): (Lang, String),
        registered: &PromptRegistered,
        words: Sealed,
        data: Option<Sealed>,
    ) {
        let PromptRegistered { turn, trace, unborn } = *registered;
        let sink = Some(Rc::clone(&voice.sink));
        let (relay, handle) = Relay::new(self, voice.number, (turn, trace, lang), sink, said);
        self.turns.enter(turn, handle);
        tokio::task::spawn_local(relay.run());
        let planner = &self.peers.planner;
        let generation = || *planner.generations().borrow();
        let before = generation();
        let open = OpenTurn { turn, trace, channel: voice.speaker.channel, lang, unborn };
        let opened = match data {
            None => planner.open_turn(trace, open, [words]).await,
            Some(data) => planner.open_fired(trace, OpenFired { open }, [words, data]).await,
        };
        let now = if before == 0 { generation() } else { before };
        self.turns.set_generation(turn, now);
        let why = match opened {
            Ok(_) if generation() == now => None,
            Ok(_) => Some(phrases::planner_gone(lang).to_owned()),
            Err(error) => Some(speech::broken(&error, lang)),
        };
        if let Some(why) = why {
            self.turns.cut(turn, why);
        }
        // He may have gone while this was under way: nobody else would cancel the turn then.
        if !voice.sink.is_open() {
            self.cancel(turn);
        }
    }
}
