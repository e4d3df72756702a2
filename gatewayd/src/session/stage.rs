//! The stage of the door's tests: scripted policyd and memoryd, people at terminals, and a planner that
//! says only what the test makes it say.

#![allow(clippy::unwrap_used, clippy::panic)]

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use metnos_proto::doc::Doc;
use metnos_proto::doc::card::CardList;
use metnos_proto::doc::schedule::ScheduleList;
use metnos_proto::doc::undo::UndoReport;
use metnos_proto::edge::{RpcError, ServeError, Served};
use metnos_proto::edges::{
    CtlDoor, DoorMemoryd, DoorMind, DoorPlanner, DoorPolicyd, ctl_door, door_memoryd, door_mind, door_planner,
    door_policyd,
};
use metnos_proto::ids::{Sha256, TraceId, TurnId};
use metnos_proto::link_async::{Client, Closed, Cx, Notes};
use metnos_proto::msg::common::{Done, Lang, Level, Refusal, RefusalCode, Standing};
use metnos_proto::msg::door::{DoorReport, DoorStatus, Say};
use metnos_proto::msg::memoryd::{
    AnswerFound, AnswerOf, Delivered, MarkState, Marked, Received, Recorded, SystemEvent, TurnForgotten, TurnOwner,
    WhoseTurn,
};
use metnos_proto::msg::mind::{MindHealth, MindReport};
use metnos_proto::msg::people::{GroupMembers, KnownSenders, Pair, Paired, WhoseMembers};
use metnos_proto::msg::planner::{
    AttachTurn, CancelTurn, Cancelled, DetachedTurnList, DetachedTurns, OpenTurn, ReleaseTurn, ResumeTurn, Text,
    TurnAttached, TurnDone, TurnEnd, TurnOpened, TurnResumed,
};
use metnos_proto::msg::policyd::{
    AnswerCard, Answered, CallRun, CancelHere, CardsHere, ForgetHere, Identified, Identify, KeepFile, PanicHere,
    Panicked, PromptRegistered, RegisterPrompt, SendFile, UndoHere,
};
use metnos_proto::msg::schedule::{FireAsk, Firing, FiringDue, FiringEnded, FiringTaken, NextFiring, TakeFiring};
use metnos_proto::payload::Sealed;
use metnos_proto::phase::{OpenPhase, Phases};
use metnos_proto::turn_log::{self, Entry};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use super::{Door, Peers, TURN_WITHIN_MS};
use crate::testing::{client, ends, sealed};

/// The peers of the door. The planner opens turns and says nothing by itself: the test speaks for it.
pub(crate) struct Script {
    pub(crate) asked: RefCell<Vec<String>>,
    pub(crate) standing: Cell<Standing>,
    pub(crate) paired: RefCell<Paired>,
    pub(crate) known: RefCell<std::collections::HashMap<String, MarkState>>,
    pub(crate) journals: Cell<bool>,
    pub(crate) answers: RefCell<Option<(Option<TurnEnd>, String)>>,
    pub(crate) opens: Cell<bool>,
    pub(crate) planner: RefCell<Option<Notes<DoorPlanner>>>,
    pub(crate) policyd: RefCell<Option<Notes<DoorPolicyd>>>,
    /// What policyd says before it answers the door's next greeting.
    pub(crate) before: RefCell<Option<door_policyd::Note>>,
    opened: RefCell<Vec<TurnId>>,
    open_phases: Phases<OpenPhase>,
    /// What the journal says of turns of a door before.
    pub(crate) heirs: RefCell<std::collections::HashMap<TurnId, TurnOwner>>,
    /// The reminders that are due, in their order.
    pub(crate) due: RefCell<Vec<Firing>>,
    /// What the planner has kept of them.
    pub(crate) kept: RefCell<std::collections::BTreeMap<TurnId, Vec<Entry>>>,
}

impl Script {
    pub(crate) fn note(&self, what: impl Into<String>) {
        self.asked.borrow_mut().push(what.into());
    }

    pub(crate) fn asked(&self, word: &str) -> Vec<String> {
        self.asked.borrow().iter().filter(|ask| ask.starts_with(word)).cloned().collect()
    }

    fn recorded(&self) -> Result<Recorded, Refusal> {
        if self.journals.get() {
            Ok(Recorded { seq: 1, hash: Sha256([0; 32]) })
        } else {
            Err(Refusal::new(RefusalCode::Unavailable, "disk.full", "the disk is full"))
        }
    }
}

fn text(words: &Sealed) -> String {
    String::from_utf8(words.read().unwrap()).unwrap()
}

impl door_policyd::Serve for Script {
    async fn fire(
        self: Rc<Self>,
        _: Cx<DoorPolicyd>,
        ask: metnos_proto::msg::people::Fire,
        []: [Sealed; 0],
    ) -> Served<metnos_proto::msg::people::Fired, 1> {
        self.note(format!("fire {}:{} {}", ask.channel.name(), ask.sender, ask.has_data));
        let principal = format!("{}:{}", ask.channel.name(), ask.sender);
        let fired =
            metnos_proto::msg::people::Fired { turn: TurnId::new(), trace: TraceId::new(), principal, lang: Lang::En };
        Ok((fired, [sealed(b"read notes/a.md")]))
    }

    async fn fire_ask(
        self: Rc<Self>,
        _: Cx<DoorPolicyd>,
        ask: FireAsk,
        []: [Sealed; 0],
    ) -> Served<metnos_proto::msg::people::Fired, 1> {
        self.note(format!("fire_ask {} {}", ask.number, ask.key));
        if self.standing.get() == Standing::Stranger {
            return Err(Refusal::new(RefusalCode::Denied, "principal.unpaired", "not known").into());
        }
        let principal = "telegram:7".to_owned();
        let fired =
            metnos_proto::msg::people::Fired { turn: TurnId::new(), trace: TraceId::new(), principal, lang: Lang::En };
        Ok((fired, [sealed(b"what is planned")]))
    }

    async fn view(
        self: Rc<Self>,
        _: Cx<DoorPolicyd>,
        ask: metnos_proto::msg::people::ViewRequest,
        []: [Sealed; 0],
    ) -> Served<metnos_proto::msg::memoryd::QueryResult, 1> {
        self.note(format!("view {:?} {} {}", ask.at, ask.from, ask.lines));
        let exchange = r#"{"turn":"01KPMC1D6G0000000000000000","channel":"http","at_ms":1,"said":"a secret","answer":"Yes.","end":"answered","redacted":false}"#;
        let line = if matches!(
            ask.at,
            metnos_proto::msg::people::ViewSubject::Exchanges | metnos_proto::msg::people::ViewSubject::Remembered
        ) {
            exchange
        } else {
            r#"{"name":"x"}"#
        };
        Ok((metnos_proto::msg::memoryd::QueryResult { lines: 1, next: 7 }, [sealed(format!("{line}\n").as_bytes())]))
    }

    async fn identify(self: Rc<Self>, cx: Cx<DoorPolicyd>, ask: Identify, []: [Sealed; 0]) -> Served<Identified, 0> {
        let before = self.before.borrow_mut().take();
        if let Some(note) = before {
            cx.notes().send(note).await.unwrap();
        }
        // As which the door itself has policyd know where cards go.
        if ask.sender != "uid:0" {
            self.note(format!("identify {}", ask.sender));
        }
        let principal = format!("cli:{}", ask.sender);
        let standing = self.standing.get();
        Ok((Identified { principal, standing, level: Level::Supervised, lang: Lang::En, person: String::new() }, []))
    }

    async fn register_prompt(
        self: Rc<Self>,
        cx: Cx<DoorPolicyd>,
        ask: RegisterPrompt,
        [words]: [Sealed; 1],
    ) -> Served<PromptRegistered, 0> {
        self.note(format!("register_prompt {} {}", ask.sender, text(&words)));
        *self.policyd.borrow_mut() = Some(cx.notes());
        Ok((PromptRegistered { turn: TurnId::new(), trace: TraceId::new(), unborn: 0 }, []))
    }

    async fn pair(self: Rc<Self>, _cx: Cx<DoorPolicyd>, ask: Pair, []: [Sealed; 0]) -> Served<Paired, 0> {
        self.note(format!("pair {} {}", ask.sender, ask.code));
        Ok((self.paired.borrow().clone(), []))
    }

    async fn members_to_look_for(
        self: Rc<Self>,
        _: Cx<DoorPolicyd>,
        _: WhoseMembers,
        []: [Sealed; 0],
    ) -> Served<KnownSenders, 0> {
        Ok((KnownSenders { senders: vec!["7".to_owned()] }, []))
    }

    async fn group_members(
        self: Rc<Self>,
        _: Cx<DoorPolicyd>,
        ask: GroupMembers,
        []: [Sealed; 0],
    ) -> Served<Identified, 0> {
        self.note(format!("group_members {} {} {}", ask.group, ask.members.join(","), ask.are_all));
        let (principal, standing) = (format!("telegram:{}", ask.group), self.standing.get());
        Ok((Identified { principal, standing, level: Level::Supervised, lang: Lang::En, person: String::new() }, []))
    }

    async fn answer_card(
        self: Rc<Self>,
        _cx: Cx<DoorPolicyd>,
        ask: AnswerCard,
        []: [Sealed; 0],
    ) -> Served<Answered, 1> {
        self.note(format!("answer_card {} {} {} {:?}", ask.sender, ask.id, ask.digest, ask.answer));
        Ok((Answered { state: "approved".into(), runs: Vec::new() }, [sealed(b"[]")]))
    }

    async fn cards_here(
        self: Rc<Self>,
        _: Cx<DoorPolicyd>,
        ask: CardsHere,
        []: [Sealed; 0],
    ) -> Served<Doc<CardList>, 1> {
        self.note(format!("cards_here {}", ask.sender));
        Ok(Doc::seal(&CardList(Vec::new()))?)
    }

    async fn keep_file(self: Rc<Self>, _: Cx<DoorPolicyd>, ask: KeepFile, _: [Sealed; 1]) -> Served<CallRun, 1> {
        self.note(format!("keep_file {} {}", ask.sender, ask.name));
        Err(Refusal::new(RefusalCode::Denied, "test", "no").into())
    }

    async fn send_file(self: Rc<Self>, _: Cx<DoorPolicyd>, ask: SendFile, []: [Sealed; 0]) -> Served<CallRun, 2> {
        self.note(format!("send_file {} {}", ask.sender, ask.path));
        Err(Refusal::new(RefusalCode::Denied, "test", "no").into())
    }

    async fn undo_here(
        self: Rc<Self>,
        _: Cx<DoorPolicyd>,
        ask: UndoHere,
        []: [Sealed; 0],
    ) -> Served<Doc<UndoReport>, 1> {
        self.note(format!("undo_here {} {}", ask.sender, ask.thing).trim_end().to_owned());
        Ok(Doc::seal(&UndoReport { turn: String::new(), acts: Vec::new(), undone: 1, kept: 0, left: 0, already: 0 })?)
    }

    async fn cancel_here(
        self: Rc<Self>,
        _: Cx<DoorPolicyd>,
        ask: CancelHere,
        []: [Sealed; 0],
    ) -> Served<Doc<ScheduleList>, 1> {
        self.note(format!("cancel_here {} {}", ask.sender, ask.number));
        Ok(Doc::seal(&ScheduleList(Vec::new()))?)
    }

    async fn forget_here(
        self: Rc<Self>,
        _: Cx<DoorPolicyd>,
        ask: ForgetHere,
        []: [Sealed; 0],
    ) -> Served<TurnForgotten, 0> {
        self.note(format!("forget_here {}", ask.sender));
        Ok((TurnForgotten { lines: 2 }, []))
    }

    async fn panic_here(self: Rc<Self>, _: Cx<DoorPolicyd>, ask: PanicHere, []: [Sealed; 0]) -> Served<Panicked, 0> {
        self.note(format!("panic_here {}", ask.sender));
        Ok((Panicked { killed: 0 }, []))
    }
}

impl door_memoryd::Serve for Script {
    async fn received(
        self: Rc<Self>,
        _cx: Cx<DoorMemoryd>,
        ask: Received,
        [words]: [Sealed; 1],
    ) -> Served<Recorded, 0> {
        self.note(format!("received {} {}", ask.principal, text(&words)));
        Ok((self.recorded()?, []))
    }

    async fn marked(self: Rc<Self>, _: Cx<DoorMemoryd>, ask: Marked, []: [Sealed; 0]) -> Served<MarkState, 1> {
        self.note(format!("marked {} {}", ask.principal, ask.mark));
        let unknown = MarkState { turn: None, trace: TraceId::NONE, acted: false, aside: false, delivered: false };
        Ok((self.known.borrow().get(&ask.mark).cloned().unwrap_or(unknown), [sealed(b"")]))
    }

    async fn delivered(
        self: Rc<Self>,
        _cx: Cx<DoorMemoryd>,
        ask: Delivered,
        [said]: [Sealed; 1],
    ) -> Served<Recorded, 0> {
        let head: String = text(&said).chars().take(100).collect();
        self.note(format!("delivered {} {head}", ask.end.name()));
        Ok((self.recorded()?, []))
    }

    async fn answer_of(self: Rc<Self>, _cx: Cx<DoorMemoryd>, ask: AnswerOf, []: [Sealed; 0]) -> Served<AnswerFound, 1> {
        self.note(format!("answer_of {} {}", ask.turn, ask.principal));
        let found = self.answers.borrow().clone();
        let (end, text) =
            found.ok_or_else(|| Refusal::new(RefusalCode::Unknown, "turn.unknown", "nobody said anything in it"))?;
        Ok((AnswerFound { end }, [sealed(text.as_bytes())]))
    }

    async fn whose_turn(self: Rc<Self>, _: Cx<DoorMemoryd>, ask: WhoseTurn, []: [Sealed; 0]) -> Served<TurnOwner, 0> {
        self.note(format!("whose_turn {}", ask.turn));
        let found = self.heirs.borrow().get(&ask.turn).cloned();
        let unknown = || Refusal::new(RefusalCode::Unknown, "turn.unknown", "nobody said anything in it");
        Ok((found.ok_or_else(unknown)?, []))
    }

    async fn system_event(
        self: Rc<Self>,
        _cx: Cx<DoorMemoryd>,
        ask: SystemEvent,
        []: [Sealed; 0],
    ) -> Served<Recorded, 0> {
        self.note(format!("system_event {}", ask.kind));
        Ok((self.recorded()?, []))
    }

    async fn next_firing(self: Rc<Self>, _: Cx<DoorMemoryd>, _: NextFiring, []: [Sealed; 0]) -> Served<FiringDue, 0> {
        let waits = self.due.borrow().iter().any(|one| one.to.starts_with("telegram:"));
        Ok((FiringDue { at_ms: waits.then_some(1) }, []))
    }

    async fn take_firing(
        self: Rc<Self>,
        _: Cx<DoorMemoryd>,
        ask: TakeFiring,
        []: [Sealed; 0],
    ) -> Served<FiringTaken, 0> {
        let mut due = self.due.borrow_mut();
        let fits = |one: &Firing| if ask.to.is_empty() { one.to.starts_with("telegram:") } else { one.to == ask.to };
        let at = due.iter().position(fits);
        Ok((FiringTaken { firing: at.map(|at| due.remove(at)) }, []))
    }

    async fn firing_ended(
        self: Rc<Self>,
        _: Cx<DoorMemoryd>,
        ask: FiringEnded,
        []: [Sealed; 0],
    ) -> Served<Recorded, 0> {
        self.note(format!("firing_ended {} {:?}", ask.number, ask.end));
        Ok((self.recorded()?, []))
    }
}

impl door_planner::Serve for Script {
    fn phase_of(
        &self,
        _: &Cx<DoorPlanner>,
        turn: Option<TurnId>,
        _: &door_planner::Ask,
    ) -> Result<OpenPhase, ServeError> {
        Ok(self.open_phases.of(turn))
    }

    fn enter(&self, _: &Cx<DoorPlanner>, turn: Option<TurnId>, next: Option<OpenPhase>) {
        self.open_phases.enter(turn, next);
    }

    async fn open_fired(
        self: Rc<Self>,
        cx: Cx<DoorPlanner>,
        ask: metnos_proto::msg::planner::OpenFired,
        [words, _data]: [Sealed; 2],
    ) -> Served<TurnOpened, 0> {
        self.open_turn(cx, ask.open, [words]).await
    }

    async fn open_turn(
        self: Rc<Self>,
        cx: Cx<DoorPlanner>,
        ask: OpenTurn,
        [words]: [Sealed; 1],
    ) -> Served<TurnOpened, 0> {
        self.note(format!("open_turn {}", text(&words)));
        if !self.opens.get() {
            return Err(Refusal::new(RefusalCode::Busy, "planner.turns", "too many turns").into());
        }
        *self.planner.borrow_mut() = Some(cx.notes());
        self.opened.borrow_mut().push(ask.turn);
        Ok((TurnOpened {}, []))
    }

    async fn resume_turn(
        self: Rc<Self>,
        cx: Cx<DoorPlanner>,
        ask: ResumeTurn,
        []: [Sealed; 0],
    ) -> Served<TurnResumed, 1> {
        self.note(format!("resume_turn {} {}", ask.turn, ask.acts.len()));
        *self.planner.borrow_mut() = Some(cx.notes());
        let told = self.kept.borrow().get(&ask.turn).cloned().unwrap_or_default();
        Ok((TurnResumed {}, [turn_log::write(&told).unwrap()]))
    }

    async fn detached_turns(
        self: Rc<Self>,
        cx: Cx<DoorPlanner>,
        _: DetachedTurns,
        []: [Sealed; 0],
    ) -> Served<DetachedTurnList, 0> {
        *self.planner.borrow_mut() = Some(cx.notes());
        Ok((DetachedTurnList { turns: self.kept.borrow().keys().copied().collect() }, []))
    }

    async fn attach_turn(
        self: Rc<Self>,
        _: Cx<DoorPlanner>,
        ask: AttachTurn,
        []: [Sealed; 0],
    ) -> Served<TurnAttached, 1> {
        self.note(format!("attach_turn {}", ask.turn));
        let told = self.kept.borrow().get(&ask.turn).cloned().unwrap();
        Ok((TurnAttached {}, [turn_log::write(&told).unwrap()]))
    }

    async fn release_turn(self: Rc<Self>, _: Cx<DoorPlanner>, ask: ReleaseTurn, []: [Sealed; 0]) -> Served<Done, 0> {
        self.note(format!("release_turn {}", ask.turn));
        Ok((Done {}, []))
    }

    async fn cancel_turn(
        self: Rc<Self>,
        _cx: Cx<DoorPlanner>,
        ask: CancelTurn,
        []: [Sealed; 0],
    ) -> Served<Cancelled, 0> {
        self.note(format!("cancel_turn {}", ask.turn));
        Ok((Cancelled { was_open: true }, []))
    }
}

impl door_mind::Serve for Script {
    async fn health(self: Rc<Self>, _cx: Cx<DoorMind>, _ask: MindHealth, []: [Sealed; 0]) -> Served<MindReport, 0> {
        Ok((MindReport { roles: Vec::new(), says: "no model".into() }, []))
    }
}

/// A person at the terminal.
pub(crate) struct Person {
    pub(crate) door: Rc<Client<CtlDoor>>,
    pub(crate) notes: mpsc::Receiver<ctl_door::Note>,
    pub(crate) link: JoinHandle<Closed>,
}

impl Person {
    pub(crate) async fn say(&self, words: &[u8]) -> Result<TurnId, RpcError> {
        self.door.say(TraceId::NONE, Say {}, [sealed(words)]).await.map(|(said, [])| said.turn)
    }

    pub(crate) async fn listen(&mut self) -> (String, TurnDone) {
        let mut said = String::new();
        loop {
            match self.notes.recv().await.unwrap() {
                ctl_door::Note::Text(note) => said.push_str(&note.text),
                ctl_door::Note::Call(_)
                | ctl_door::Note::Progress(_)
                | ctl_door::Note::CardWaits(_)
                | ctl_door::Note::CardSettled(_) => {}
                ctl_door::Note::TurnDone(done) => return (said, done),
            }
        }
    }

    /// Closes the session: a client releases its end when it is given another.
    pub(crate) fn hang_up(self) {
        self.door.attach(ends::<CtlDoor>(2, None).0).unwrap();
    }

    pub(crate) async fn status(&self) -> DoorReport {
        self.door.door_status(TraceId::NONE, DoorStatus {}, []).await.unwrap().0
    }
}

pub(crate) fn refusal<T: std::fmt::Debug>(answer: Result<T, RpcError>) -> Refusal {
    match answer {
        Err(RpcError::Refused(refusal)) => refusal,
        other => panic!("{other:?}"),
    }
}

pub(crate) struct Stage {
    pub(crate) door: Rc<Door>,
    pub(crate) script: Rc<Script>,
    pub(crate) planner: Rc<Client<DoorPlanner>>,
    pub(crate) planner_link: JoinHandle<Closed>,
    pub(crate) memoryd_link: JoinHandle<Closed>,
}

impl Stage {
    pub(crate) fn new() -> Self {
        Self::after(Vec::new())
    }

    /// A door behind another one, of which the planner has kept these turns.
    pub(crate) fn after(kept: Vec<(TurnId, TurnOwner, Vec<Entry>)>) -> Self {
        let script = Rc::new(Script {
            asked: RefCell::default(),
            standing: Cell::new(Standing::Owner),
            paired: RefCell::new(Paired::Silence),
            known: RefCell::default(),
            journals: Cell::new(true),
            answers: RefCell::default(),
            opens: Cell::new(true),
            planner: RefCell::default(),
            policyd: RefCell::default(),
            before: RefCell::default(),
            opened: RefCell::default(),
            open_phases: Phases::default(),
            heirs: RefCell::default(),
            due: RefCell::default(),
            kept: RefCell::default(),
        });
        for (turn, is, told) in kept {
            script.heirs.borrow_mut().insert(turn, is);
            script.kept.borrow_mut().insert(turn, told);
        }
        let (policyd, end) = ends::<DoorPolicyd>(1, None);
        tokio::task::spawn_local(door_policyd::serve(end, Rc::clone(&script)));
        let (memoryd, end) = ends::<DoorMemoryd>(1, None);
        let memoryd_link = tokio::task::spawn_local(door_memoryd::serve(end, Rc::clone(&script)));
        let (mind, end) = ends::<DoorMind>(1, None);
        tokio::task::spawn_local(door_mind::serve(end, Rc::clone(&script)));
        let (planner, end) = ends::<DoorPlanner>(1, None);
        let planner_link = tokio::task::spawn_local(door_planner::serve(end, Rc::clone(&script)));
        let planner = client(planner);
        let peers = Peers {
            policyd: client(policyd),
            memoryd: client(memoryd),
            planner: Rc::clone(&planner),
            mind: client(mind),
        };
        let door = Door::new(peers, TURN_WITHIN_MS);
        door.start();
        Self { door, script, planner, planner_link, memoryd_link }
    }

    pub(crate) fn person(&self, uid: u32) -> Person {
        let (asker, end) = ends::<CtlDoor>(1, Some(uid));
        let link = tokio::task::spawn_local(self.door.session(end));
        let door = client(asker);
        let notes = door.take_notes().unwrap();
        Person { door, notes, link }
    }

    /// The turns that were opened, in order.
    pub(crate) fn opened(&self) -> Vec<TurnId> {
        self.script.opened.borrow().clone()
    }

    pub(crate) fn planner(&self) -> Notes<DoorPlanner> {
        self.script.planner.borrow().clone().unwrap()
    }

    pub(crate) async fn planner_says(&self, turn: TurnId, text: &str) {
        let text = Text { turn, text: text.to_owned() };
        self.planner().send(door_planner::Note::Text(text)).await.unwrap();
    }

    pub(crate) async fn planner_ends(&self, turn: TurnId, end: TurnEnd) {
        let done = TurnDone { turn, end, why: String::new() };
        self.planner().send(door_planner::Note::TurnDone(done)).await.unwrap();
    }
}
