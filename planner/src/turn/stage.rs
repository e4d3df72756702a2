//! The stage of the planner's tests: scripted peers at the ends of real channels.

#![allow(clippy::unwrap_used, clippy::panic)]

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;

use metnos_proto::doc::Doc;
use metnos_proto::doc::schedule::{DayReview, ScheduleList};
use metnos_proto::edge::{RpcError, ServeError, Served};
use metnos_proto::edges::{
    DoorPlanner, PlannerMemoryd, PlannerMind, PlannerPolicyd, door_planner, planner_memoryd, planner_mind,
    planner_policyd,
};
use metnos_proto::ids::Sha256;
use metnos_proto::ids::{CallId, HandleId, TraceId, TurnId};
use metnos_proto::link_async::{Client, Cx};
use metnos_proto::msg::common::{Channel, Done, Label, Lang, Outcome, Refusal, RefusalCode, Resources};
use metnos_proto::msg::memoryd::{
    BeginTurn, CloseTurn, ModelAsked, Recorded, SuspendTurn, TakeUpTurn, TurnBegun, TurnClosed, TurnTakenUp,
};
use metnos_proto::msg::mind::{
    MindHealth, MindReport, RoleModel, StopThinking, Think, ThinkingStopped, Thought, ThoughtDelta, Usage,
};
use metnos_proto::msg::planner::{CallState, MAX_TEXT, OpenTurn, TurnDone};
use metnos_proto::msg::policyd::{
    Act, Acted, CallProgress, EndTurn, FundTurn, Intent, IntentFrozen, Ran, Release, Released, TurnFunded, UndoLast,
    UndoneLast,
};
use metnos_proto::msg::schedule::{HabitOffered, OfferHabit, ReviewOrder, ScheduleOrder};
use metnos_proto::payload::Sealed;
use metnos_proto::phase::{Phases, RecallPhase, TurnPhase};
use metnos_proto::prompt::{ModelCall, Prompt, Reply, Stop};
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use super::{Planner, TURN_WITHIN_MS};
use crate::testing::{candidates, client, ends, envelope, sealed};

/// What policyd makes of a call of an executor.
#[derive(Clone)]
pub(super) enum Fate {
    Ok(Value),
    Error(&'static str),
    Ends(Outcome),
    Denied,
    Asks,
    Hangs,
}

/// policyd, memoryd and mind, as the test wants them; they write down what they were asked.
pub(super) struct Script {
    pub(super) fates: RefCell<HashMap<&'static str, Fate>>,
    pub(super) asked: RefCell<Vec<String>>,
    pub(super) results: RefCell<HashMap<HandleId, Value>>,
    pub(super) envelope: RefCell<Vec<u8>>,
    acting: Phases<TurnPhase>,
    recalling: Phases<RecallPhase>,
    pub(super) closes: Cell<bool>,
    pub(super) reason: RefCell<String>,
    /// What was suspended.
    pub(super) aside: RefCell<HashMap<TurnId, Vec<u8>>>,
    /// The model, when there is one.
    pub(super) model: RefCell<Option<Model>>,
    /// What is planned after an order; none when it is refused.
    pub(super) planned: RefCell<Option<ScheduleList>>,
}

/// A scripted model: each thought in turn. What it writes comes in its pieces, and as a whole at the end.
pub(super) struct Model {
    pub(super) tools: bool,
    pub(super) constrained: bool,
    pub(super) thoughts: std::collections::VecDeque<ScriptedThought>,
    /// Every prompt that it was shown.
    pub(super) prompts: Vec<Prompt>,
}

/// One thought.
#[derive(Clone)]
pub(super) enum ScriptedThought {
    /// These pieces, these calls.
    Says(Vec<&'static str>, Vec<(&'static str, Value)>),
    /// Pieces that the reply does not bear out.
    Lies(Vec<&'static str>, &'static str),
    /// Bytes that are no reply.
    Raw(Vec<u8>),
    Refuses,
    Hangs,
}

impl Script {
    pub(super) fn note(&self, what: impl Into<String>) {
        self.asked.borrow_mut().push(what.into());
    }

    pub(super) fn asked(&self, word: &str) -> Vec<String> {
        self.asked.borrow().iter().filter(|ask| ask.starts_with(word)).cloned().collect()
    }
}

impl planner_policyd::Serve for Script {
    fn phase_of(
        &self,
        _: &Cx<PlannerPolicyd>,
        turn: TurnId,
        _: &planner_policyd::Ask,
    ) -> Result<TurnPhase, ServeError> {
        Ok(self.acting.of(turn))
    }

    fn enter(&self, _: &Cx<PlannerPolicyd>, turn: TurnId, next: Option<TurnPhase>) {
        self.acting.enter(turn, next);
    }

    async fn intent(self: Rc<Self>, _cx: Cx<PlannerPolicyd>, ask: Intent, []: [Sealed; 0]) -> Served<IntentFrozen, 0> {
        for slot in &ask.slots {
            let literals: Vec<String> = slot.literals.iter().map(|l| format!("{}={}", l.pointer, l.json)).collect();
            self.note(format!("intent {} {}", slot.executor, literals.join(" ")));
        }
        Ok((IntentFrozen { frozen: 0, ignored: Vec::new() }, []))
    }

    async fn act(self: Rc<Self>, cx: Cx<PlannerPolicyd>, ask: Act, [arguments]: [Sealed; 1]) -> Served<Acted, 0> {
        let arguments = String::from_utf8(arguments.read().unwrap()).unwrap();
        self.note(format!("act {} {} {arguments}", ask.call, ask.executor));
        let progress = CallProgress { turn: ask.turn, call: ask.call, done: 1, total: 2 };
        cx.notes().send(planner_policyd::Note::CallProgress(progress)).await.unwrap();
        let fate = self.fates.borrow().get(ask.executor.as_str()).cloned();
        let (outcome, result) = match fate {
            Some(Fate::Ok(result)) => (Outcome::Ok, result),
            Some(Fate::Error(message)) => {
                (Outcome::Error, json!({"ok": false, "error": {"class": "NotFound", "message": message}}))
            }
            Some(Fate::Ends(outcome)) => (outcome, Value::Null),
            Some(Fate::Hangs) => std::future::pending().await,
            Some(Fate::Asks) => {
                let refusal = Refusal::new(RefusalCode::Denied, "approval.waiting", "it waits for the owner's word");
                return Ok((Acted::Denied(refusal), []));
            }
            Some(Fate::Denied) | None => {
                let refusal =
                    Refusal::new(RefusalCode::Denied, "guard.path", "that path is forbidden").remedy("use another");
                let reason = self.reason.borrow().clone();
                let refusal = if reason.is_empty() { refusal } else { Refusal::new(RefusalCode::Denied, "x", reason) };
                return Ok((Acted::Denied(refusal), []));
            }
        };
        let handle = HandleId::new();
        self.results.borrow_mut().insert(handle, result);
        let resources = Resources { wall_us: 1, cpu_us: 1, peak_kib: 1, output_bytes: 1, ..Resources::NONE };
        let ran =
            Ran { call: CallId::new(), handle, outcome, label: Label::CLEAN, leaves: Vec::new(), line: 1, resources };
        Ok((Acted::Ran(ran), []))
    }

    async fn release(self: Rc<Self>, _cx: Cx<PlannerPolicyd>, ask: Release, []: [Sealed; 0]) -> Served<Released, 1> {
        let result = self.results.borrow().get(&ask.handle).cloned().unwrap();
        self.note(format!("release {}", result["ok"]));
        Ok((Released { context: Label::CLEAN }, [sealed(result.to_string().as_bytes())]))
    }

    async fn fund_turn(
        self: Rc<Self>,
        _cx: Cx<PlannerPolicyd>,
        ask: FundTurn,
        []: [Sealed; 0],
    ) -> Served<TurnFunded, 0> {
        self.note("fund_turn");
        Ok((TurnFunded { tokens: ask.tokens }, []))
    }

    async fn undo_last(
        self: Rc<Self>,
        _cx: Cx<PlannerPolicyd>,
        _ask: UndoLast,
        []: [Sealed; 0],
    ) -> Served<UndoneLast, 0> {
        self.note("undo_last");
        Ok((UndoneLast { undone: 1, kept: 0 }, []))
    }

    async fn schedule(
        self: Rc<Self>,
        _cx: Cx<PlannerPolicyd>,
        ask: ScheduleOrder,
        []: [Sealed; 0],
    ) -> Served<Doc<ScheduleList>, 1> {
        self.note(format!("schedule {:?}", ask.order));
        let planned = self.planned.borrow().clone();
        match planned {
            Some(list) => Ok(Doc::seal(&list)?),
            None => Err(Refusal::new(RefusalCode::Invalid, "schedule.past", "it is over").into()),
        }
    }

    async fn review(
        self: Rc<Self>,
        _cx: Cx<PlannerPolicyd>,
        ask: ReviewOrder,
        []: [Sealed; 0],
    ) -> Served<Doc<DayReview>, 1> {
        self.note(format!("review {:?}", ask.when));
        Err(Refusal::new(RefusalCode::Invalid, "schedule.time", "no time").into())
    }

    async fn offer_habit(
        self: Rc<Self>,
        _cx: Cx<PlannerPolicyd>,
        _ask: OfferHabit,
        []: [Sealed; 0],
    ) -> Served<HabitOffered, 0> {
        self.note("offer_habit");
        Ok((HabitOffered { offered: true }, []))
    }

    async fn end_turn(self: Rc<Self>, _cx: Cx<PlannerPolicyd>, _ask: EndTurn, []: [Sealed; 0]) -> Served<Done, 0> {
        self.note("end_turn");
        Ok((Done {}, []))
    }
}

impl planner_memoryd::Serve for Script {
    fn phase_of(
        &self,
        _: &Cx<PlannerMemoryd>,
        turn: TurnId,
        _: &planner_memoryd::Ask,
    ) -> Result<RecallPhase, ServeError> {
        Ok(self.recalling.of(turn))
    }

    fn enter(&self, _: &Cx<PlannerMemoryd>, turn: TurnId, next: Option<RecallPhase>) {
        self.recalling.enter(turn, next);
    }

    async fn begin_turn(
        self: Rc<Self>,
        _cx: Cx<PlannerMemoryd>,
        _ask: BeginTurn,
        []: [Sealed; 0],
    ) -> Served<TurnBegun, 1> {
        self.note("begin_turn");
        Ok((TurnBegun { nonce: 1 }, [sealed(&self.envelope.borrow())]))
    }

    async fn model_asked(
        self: Rc<Self>,
        _cx: Cx<PlannerMemoryd>,
        ask: ModelAsked,
        [sent]: [Sealed; 1],
    ) -> Served<Recorded, 0> {
        assert!(!sent.is_empty());
        self.note(format!("asked {} {}", ask.thought, ask.model));
        Ok((Recorded { seq: 1, hash: Sha256([0; 32]) }, []))
    }

    async fn suspend_turn(
        self: Rc<Self>,
        _cx: Cx<PlannerMemoryd>,
        ask: SuspendTurn,
        [state]: [Sealed; 1],
    ) -> Served<Done, 0> {
        self.note("suspend_turn");
        self.aside.borrow_mut().insert(ask.turn, state.read().unwrap());
        Ok((Done {}, []))
    }

    async fn take_up_turn(
        self: Rc<Self>,
        _cx: Cx<PlannerMemoryd>,
        ask: TakeUpTurn,
        []: [Sealed; 0],
    ) -> Served<TurnTakenUp, 1> {
        self.note("take_up_turn");
        let no = || Refusal::new(RefusalCode::Unknown, "turn.not_suspended", "nothing is put aside");
        let state = self.aside.borrow_mut().remove(&ask.turn).ok_or_else(no)?;
        Ok((TurnTakenUp { trace: TraceId::NONE }, [sealed(&state)]))
    }

    async fn close_turn(
        self: Rc<Self>,
        _cx: Cx<PlannerMemoryd>,
        ask: CloseTurn,
        []: [Sealed; 0],
    ) -> Served<TurnClosed, 0> {
        if !self.closes.get() {
            std::future::pending::<()>().await;
        }
        let fields = |fields: &[metnos_proto::msg::memoryd::WishedField]| -> String {
            fields.iter().map(|field| format!(" {}:{}", field.name, field.kind)).collect()
        };
        let takes = fields(&ask.signature.inputs);
        self.note(format!("close_turn {} {}{takes}", ask.end.name(), ask.wish));
        Ok((TurnClosed { mnests: 0 }, []))
    }
}

impl planner_mind::Serve for Script {
    async fn health(self: Rc<Self>, _cx: Cx<PlannerMind>, _ask: MindHealth, []: [Sealed; 0]) -> Served<MindReport, 0> {
        self.note("health");
        let role = |model: &Model| RoleModel {
            role: "interface".into(),
            model: "test/scripted".into(),
            reachable: true,
            tools: model.tools,
            context: 200_000,
            constrained: model.constrained,
        };
        let roles = self.model.borrow().iter().map(role).collect();
        Ok((MindReport { roles, says: "none".into() }, []))
    }

    async fn think(self: Rc<Self>, cx: Cx<PlannerMind>, ask: Think, [prompt]: [Sealed; 1]) -> Served<Thought, 2> {
        self.note(format!("think {} {}", ask.thought, ask.role));
        let prompt = prompt.read().unwrap();
        let step = {
            let mut model = self.model.borrow_mut();
            let model = model.as_mut().expect("the reflex never thinks");
            model.prompts.push(serde_json::from_slice(&prompt).unwrap());
            model.thoughts.pop_front().unwrap_or(ScriptedThought::Says(vec!["that is all"], Vec::new()))
        };
        let piece = |text: &str| {
            let delta = ThoughtDelta { turn: ask.turn, thought: ask.thought, text: text.to_owned() };
            planner_mind::Note::ThoughtDelta(delta)
        };
        let (pieces, text, calls) = match step {
            ScriptedThought::Says(pieces, calls) => (pieces.clone(), pieces.concat(), calls),
            ScriptedThought::Lies(pieces, text) => (pieces, text.to_owned(), Vec::new()),
            ScriptedThought::Raw(bytes) => {
                let usage = Usage { tokens_in: 1, tokens_cached: 0, tokens_out: 1, micro: 0, counted: true };
                return Ok((Thought { model: "test/scripted".into(), usage }, [sealed(&bytes), sealed(&prompt)]));
            }
            ScriptedThought::Refuses => {
                return Err(Refusal::new(RefusalCode::Unavailable, "mind.gone", "no server").into());
            }
            ScriptedThought::Hangs => std::future::pending().await,
        };
        for text in pieces {
            cx.notes().send(piece(text)).await.unwrap();
        }
        let stop = if calls.is_empty() { Stop::End } else { Stop::Calls };
        let call = |(at, (name, arguments)): (usize, &(&str, Value))| ModelCall {
            id: format!("k{at}"),
            name: (*name).to_owned(),
            arguments: arguments.to_string(),
        };
        let reply = Reply { text, calls: calls.iter().enumerate().map(call).collect(), stop };
        let usage = Usage { tokens_in: 90, tokens_cached: 0, tokens_out: 10, micro: 5, counted: true };
        let reply = sealed(&serde_json::to_vec(&reply).unwrap());
        Ok((Thought { model: "test/scripted".into(), usage }, [reply, sealed(&prompt)]))
    }

    async fn stop_thinking(
        self: Rc<Self>,
        _cx: Cx<PlannerMind>,
        ask: StopThinking,
        []: [Sealed; 0],
    ) -> Served<ThinkingStopped, 0> {
        self.note(format!("stop_thinking {}", ask.thought));
        Ok((ThinkingStopped { was_open: true }, []))
    }
}

/// A planner between a door that the test plays and the script.
pub(super) struct Stage {
    pub(super) planner: Rc<Planner>,
    pub(super) script: Rc<Script>,
    pub(super) door: Rc<Client<DoorPlanner>>,
    pub(super) notes: mpsc::Receiver<door_planner::Note>,
    pub(super) policyd: JoinHandle<metnos_proto::link_async::Closed>,
    pub(super) link: JoinHandle<metnos_proto::link_async::Closed>,
    /// What the door says of executors that are still being tested.
    pub(super) unborn: u32,
}

impl Stage {
    pub(super) fn new(fates: &[(&'static str, Fate)]) -> Self {
        Self::with_model(fates, None)
    }

    /// With a model that thinks so.
    pub(super) fn thinking(fates: &[(&'static str, Fate)], thoughts: Vec<ScriptedThought>) -> Self {
        Self::with_model(
            fates,
            Some(Model { tools: true, constrained: false, thoughts: thoughts.into(), prompts: Vec::new() }),
        )
    }

    pub(super) fn with_model(fates: &[(&'static str, Fate)], model: Option<Model>) -> Self {
        let script = Rc::new(Script {
            fates: RefCell::new(fates.iter().cloned().collect()),
            asked: RefCell::default(),
            results: RefCell::default(),
            envelope: RefCell::new(serde_json::to_vec(&envelope(candidates(), Lang::En)).unwrap()),
            acting: Phases::default(),
            recalling: Phases::default(),
            closes: Cell::new(true),
            reason: RefCell::default(),
            aside: RefCell::default(),
            model: RefCell::new(model),
            planned: RefCell::default(),
        });
        Self::of(script)
    }

    /// A fresh planner among the peers of another.
    pub(super) fn of(script: Rc<Script>) -> Self {
        let (policyd, end) = ends::<PlannerPolicyd>(1, None);
        let served = tokio::task::spawn_local(planner_policyd::serve(end, Rc::clone(&script)));
        let (memoryd, end) = ends::<PlannerMemoryd>(1, None);
        tokio::task::spawn_local(planner_memoryd::serve(end, Rc::clone(&script)));
        let (mind, end) = ends::<PlannerMind>(1, None);
        tokio::task::spawn_local(planner_mind::serve(end, Rc::clone(&script)));
        let planner = Planner::new(client(policyd), client(memoryd), client(mind), TURN_WITHIN_MS);
        planner.start();
        let (door, end) = ends::<DoorPlanner>(1, None);
        let link = tokio::task::spawn_local(door_planner::serve(end, Rc::clone(&planner)));
        let door = client(door);
        let notes = door.take_notes().unwrap();
        Self { planner, script, door, notes, policyd: served, link, unborn: 0 }
    }

    pub(super) async fn open(&self, turn: TurnId, words: &[u8]) -> Result<(), RpcError> {
        self.open_on(Channel::Cli, turn, words).await
    }

    /// The door goes away, and another one comes.
    pub(super) async fn another_door(&mut self, generation: u32) {
        self.link.abort();
        let (door, end) = ends::<DoorPlanner>(generation, None);
        self.link = tokio::task::spawn_local(door_planner::serve(end, Rc::clone(&self.planner)));
        self.door = client(door);
        self.notes = self.door.take_notes().unwrap();
    }

    pub(super) async fn open_on(&self, channel: Channel, turn: TurnId, words: &[u8]) -> Result<(), RpcError> {
        let open = OpenTurn { turn, trace: TraceId::new(), channel, lang: Lang::En, unborn: self.unborn };
        self.door.open_turn(TraceId::new(), open, [sealed(words)]).await.map(|_| ())
    }

    /// Says words and listens until the turn is done: the text, the states of calls, the end.
    pub(super) async fn ask(&mut self, words: &str) -> (String, Vec<(u16, CallState)>, TurnDone) {
        self.open(TurnId::new(), words.as_bytes()).await.unwrap();
        self.listen().await
    }

    pub(super) async fn listen(&mut self) -> (String, Vec<(u16, CallState)>, TurnDone) {
        let (mut text, mut calls) = (String::new(), Vec::new());
        loop {
            match self.notes.recv().await.unwrap() {
                door_planner::Note::Text(note) => {
                    assert!(note.text.len() <= MAX_TEXT);
                    text.push_str(&note.text);
                }
                door_planner::Note::Call(call) => calls.push((call.call.0, call.state)),
                door_planner::Note::Progress(progress) => assert_eq!((progress.done, progress.total), (1, 2)),
                door_planner::Note::TurnDone(done) => return (text, calls, done),
            }
        }
    }
}

pub(super) fn file(content: &str) -> Fate {
    Fate::Ok(json!({"ok": true, "path": "p", "content": content, "size": 1, "lines": 1, "sha": "x"}))
}

pub(super) fn stats() -> Fate {
    Fate::Ok(json!({"ok": true, "words": 120, "lines": 20, "characters": 800}))
}
