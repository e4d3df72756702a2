//! What a session may ask the door. The order is the point: who it is, then what he said, then the
//! journal, and only then the planner.

use std::cell::Cell;
use std::rc::Rc;

use metnos_proto::edge::{AskError, No, Served};
use metnos_proto::edges::{CtlDoor, ctl_door};
use metnos_proto::ids::TraceId;
use metnos_proto::link_async::Cx;
use metnos_proto::msg::common::{Channel, Refusal, RefusalCode, Standing};
use metnos_proto::msg::door::{AnswerHere, DoorReport, DoorStatus, Said, Say, Stop};
use metnos_proto::msg::memoryd::Received;
use metnos_proto::msg::people::{Pair, Paired, StrangersCode};
use metnos_proto::msg::planner::{CancelTurn, Cancelled, OpenTurn};
use metnos_proto::msg::policyd::{AnswerCard, Answered, Identified, Identify, PromptRegistered, RegisterPrompt};
use metnos_proto::payload::Sealed;

use super::relay::Relay;
use super::{MAX_SESSIONS, MAX_TURNS_PER_SESSION, Session};
use crate::reflex::speech;
use crate::turn::serve::read_words;

impl ctl_door::Serve for Session {
    async fn say(self: Rc<Self>, cx: Cx<CtlDoor>, Say {}: Say, [words]: [Sealed; 1]) -> Served<Said, 0> {
        let opening = self.take_room()?;
        // Checked before anybody else is asked; the words themselves are not looked at here.
        let said = read_words(&words)?;
        let sender = match cx.peer {
            Some(peer) => format!("uid:{}", peer.uid),
            None => return Err(No::Violation("a session without a vouched-for user".to_owned())),
        };
        let who = self.identify(&sender, &said).await?;
        drop(said);
        let (registered, words) = self.register(sender, &who, words).await?;
        drop(opening);
        self.open(&cx, &who, &registered, words).await;
        Ok((Said { turn: registered.turn }, []))
    }

    async fn stop(self: Rc<Self>, _cx: Cx<CtlDoor>, Stop { turn }: Stop, []: [Sealed; 0]) -> Served<Cancelled, 0> {
        // Somebody else's turn looks exactly like one that does not exist.
        if !self.door.turns_of(self.number).contains(&turn) {
            return Ok((Cancelled { was_open: false }, []));
        }
        let cancel = CancelTurn { turn };
        self.door
            .peers
            .planner
            .cancel_turn(TraceId::NONE, cancel, [])
            .await
            .map_err(|error| error.into_refusal().into())
    }

    async fn answer(self: Rc<Self>, cx: Cx<CtlDoor>, ask: AnswerHere, []: [Sealed; 0]) -> Served<Answered, 1> {
        let sender = match cx.peer {
            Some(peer) => format!("uid:{}", peer.uid),
            None => return Err(No::Violation("a session without a vouched-for user".to_owned())),
        };
        let AnswerHere { id, digest, answer, code } = ask;
        let answer = AnswerCard { channel: Channel::Cli, sender, id, digest, answer, code };
        let answered = self.door.peers.policyd.answer_card(TraceId::NONE, answer, []).await;
        Ok(answered.map_err(AskError::into_refusal)?)
    }

    async fn door_status(
        self: Rc<Self>,
        cx: Cx<CtlDoor>,
        DoorStatus {}: DoorStatus,
        []: [Sealed; 0],
    ) -> Served<DoorReport, 0> {
        let mine = |uid| uid == 0 || self.door.owner_uid.get().is_none_or(|owner| owner == uid);
        if !cx.peer.is_some_and(|peer| mine(peer.uid)) {
            let why = "how the door is, only the owner hears";
            return Err(Refusal::new(RefusalCode::Denied, "door.owner", why).into());
        }
        let report = DoorReport {
            sessions: self.door.sessions.get(),
            turns: u32::try_from(self.door.turns.borrow().len()).unwrap_or(u32::MAX),
            turns_total: self.door.turns_total.get(),
            models: self.door.models.borrow().clone(),
        };
        Ok((report, []))
    }
}

/// The longest text that can be a code, in bytes.
const MAX_CODE: usize = 16;

/// Whether this may be a code, such as `K7-DELTA-19`: policyd says whether it is one.
fn has_the_form_of_a_code(said: &str) -> bool {
    let said = said.trim();
    said.len() <= MAX_CODE
        && said.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-')
        && said.bytes().filter(|b| *b == b'-').count() == 2
}

/// A turn that is about to be opened.
struct Opening<'a>(&'a Cell<usize>);

impl Drop for Opening<'_> {
    fn drop(&mut self) {
        self.0.set(self.0.get().saturating_sub(1));
    }
}

impl Session {
    /// Counts the turn from here on, so that many asks at once open no more turns than one after the other.
    fn take_room(&self) -> Result<Opening<'_>, Refusal> {
        let busy = |rule, why: String| Refusal::new(RefusalCode::Busy, rule, why);
        if self.is_turned_away {
            let why = format!("{MAX_SESSIONS} sessions are open already");
            return Err(busy("door.sessions", why).remedy("close one, or ask again in a moment"));
        }
        if self.door.is_draining.get() {
            return Err(busy("door.draining", "Metnos is stopping".to_owned()));
        }
        if self.opening.get() + self.door.turns_of(self.number).len() >= MAX_TURNS_PER_SESSION {
            let why = format!("this session has {MAX_TURNS_PER_SESSION} turns under way already");
            return Err(busy("door.turns", why).remedy("wait for one to end, or stop it"));
        }
        self.opening.set(self.opening.get() + 1);
        Ok(Opening(&self.opening))
    }

    async fn identify(&self, sender: &str, said: &str) -> Result<Identified, Refusal> {
        let identify = Identify { channel: Channel::Cli, sender: sender.to_owned() };
        let (who, []) =
            self.door.peers.policyd.identify(TraceId::NONE, identify, []).await.map_err(AskError::into_refusal)?;
        match who.standing {
            Standing::Owner | Standing::Guest => Ok(who),
            Standing::Stranger => Err(self.stranger(sender, said).await?),
        }
    }

    /// What a stranger hears: a code for the owner, or that his own was good. Nothing else that he says goes anywhere.
    async fn stranger(&self, sender: &str, said: &str) -> Result<Refusal, Refusal> {
        let code = if has_the_form_of_a_code(said) { said.trim().to_owned() } else { String::new() };
        let pair = Pair { channel: Channel::Cli, sender: sender.to_owned(), code };
        let (paired, []) =
            self.door.peers.policyd.pair(TraceId::NONE, pair, []).await.map_err(AskError::into_refusal)?;
        let why = format!("{sender} is not known to this instance, so nothing that it says is taken");
        let denied = |rule, why: String| Refusal::new(RefusalCode::Denied, rule, why);
        Ok(match paired {
            Paired::Known => denied("door.paired", format!("the code was good: {sender} is known here from now on"))
                .remedy("say what you wish"),
            Paired::Silence => denied("door.stranger", why).remedy("ask the owner of the instance"),
            Paired::Code(StrangersCode { code, seconds }) => denied("door.stranger", why).remedy(format!(
                "have the owner type, within {} minutes: metnosctl pairing approve cli {code}",
                seconds.div_ceil(60)
            )),
        })
    }

    /// Fixes the words with policyd, and has them journalled; what is acknowledged later is durable now.
    async fn register(
        &self,
        sender: String,
        who: &Identified,
        words: Sealed,
    ) -> Result<(PromptRegistered, Sealed), Refusal> {
        let share = |words: &Sealed| {
            let no = |error| Refusal::new(RefusalCode::Internal, "words.share", format!("{error}"));
            words.share().map_err(no)
        };
        let peers = &self.door.peers;
        let prompt = RegisterPrompt { channel: Channel::Cli, sender };
        let (registered, []) = peers
            .policyd
            .register_prompt(TraceId::NONE, prompt, [share(&words)?])
            .await
            .map_err(AskError::into_refusal)?;
        let received = Received {
            turn: registered.turn,
            trace: registered.trace,
            channel: Channel::Cli,
            principal: who.principal.clone(),
            standing: who.standing,
            lang: who.lang,
        };
        peers.memoryd.received(registered.trace, received, [share(&words)?]).await.map_err(AskError::into_refusal)?;
        Ok((registered, words))
    }

    /// Opens the turn at the planner. The words are registered and journalled, so from here on a failure is
    /// the end of the turn, told and journalled like any other.
    async fn open(&self, cx: &Cx<CtlDoor>, who: &Identified, registered: &PromptRegistered, words: Sealed) {
        let PromptRegistered { turn, trace } = *registered;
        let (relay, handle) =
            Relay::new(&self.door, self.number, (turn, trace, who.lang), Some(cx.notes()), String::new());
        self.door.enter(turn, handle);
        tokio::task::spawn_local(relay.run());
        let planner = &self.door.peers.planner;
        let generation = || *planner.generations().borrow();
        let before = generation();
        let open = OpenTurn { turn, trace, channel: Channel::Cli, lang: who.lang };
        let opened = planner.open_turn(trace, open, [words]).await;
        let now = if before == 0 { generation() } else { before };
        self.door.set_generation(turn, now);
        let why = match opened {
            Ok(_) if generation() == now => None,
            Ok(_) => Some(super::says::planner_gone(who.lang).to_owned()),
            Err(error) => Some(speech::broken(&error, who.lang)),
        };
        if let (Some(why), Some(handle)) = (why, self.door.turns.borrow().get(&turn)) {
            handle.cut(why);
        }
        // The session may have gone while this was under way: nobody else would cancel the turn then.
        if !cx.notes().is_open() {
            self.door.cancel(turn);
        }
    }
}
