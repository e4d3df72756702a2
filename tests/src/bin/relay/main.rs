//! Stands in for the planner and does, on its real channel ends, exactly what a test orders over a Unix socket beside the
//! instance: one JSON object a line in each direction. It is not locked: what the lock keeps from a planner other tests
//! show, and this one only says what the words of the matrix let it say.

use std::cell::RefCell;
use std::collections::HashMap;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::ExitCode;
use std::rc::Rc;

use metnos_proto::boot::{Boot, Daemon};
use metnos_proto::edge::{RpcError, ServeError, Served};
use metnos_proto::edges::{DoorPlanner, PlannerMemoryd, PlannerMind, PlannerPolicyd, door_planner};
use metnos_proto::ids::{HandleId, TraceId, TurnId};
use metnos_proto::link_async::{Client, Cx, Notes};
use metnos_proto::msg::common::{CallRef, Done, Lang};
use metnos_proto::msg::memoryd::{BeginTurn, CloseTurn, WishedSignature};
use metnos_proto::msg::planner::{
    AttachTurn, CancelTurn, Cancelled, DetachedTurnList, DetachedTurns, OpenFired, OpenTurn, ReleaseTurn, ResumeTurn,
    Text, TurnAttached, TurnDone, TurnEnd, TurnOpened, TurnResumed,
};
use metnos_proto::msg::policyd::{Act, Acted, EndTurn, Intent, Literal, Ran, Release, Slot, UndoLast};
use metnos_proto::msg::schedule::{Ask, Order, Remind, ScheduleAct, ScheduleChange, ScheduleOrder, Tell, Which};
use metnos_proto::payload::Sealed;
use metnos_proto::phase::OpenPhase;
use metnos_proto::role::Planner;
use serde_json::{Value, json};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::task::LocalSet;

/// A turn that goes on ends a moment after the door has heard that it does.
const AFTER_THE_ANSWER: std::time::Duration = std::time::Duration::from_millis(5);

type Failure = Box<dyn std::error::Error>;

/// A turn that the door has opened.
struct Turn {
    trace: TraceId,
    door: Notes<DoorPlanner>,
}

struct Relay {
    policyd: Rc<Client<PlannerPolicyd>>,
    memoryd: Rc<Client<PlannerMemoryd>>,
    /// Held, because the end belongs to the planner; nothing is thought here.
    _mind: Rc<Client<PlannerMind>>,
    turns: RefCell<HashMap<TurnId, Turn>>,
    stage: RefCell<UnixStream>,
}

fn main() -> ExitCode {
    match live() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("relay: {error}");
            ExitCode::FAILURE
        }
    }
}

fn live() -> Result<(), Failure> {
    metnos_jail::die_with_parent()?;
    let boot = Boot::<Planner>::receive()?;
    let stage = UnixStream::connect(metnos_tests::relay::stage_of(Path::new(&boot.start.instance)))?;
    let (send, orders) = unbounded_channel();
    let reader = BufReader::new(stage.try_clone()?);
    std::thread::spawn(move || {
        for line in reader.lines().map_while(Result::ok) {
            let order = serde_json::from_str::<Value>(&line).unwrap_or_default();
            if send.send(order).is_err() {
                return;
            }
        }
    });
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().enable_time().build()?;
    LocalSet::new().block_on(&runtime, async {
        let mut daemon: Daemon<Planner> = boot.into_daemon()?;
        let relay = Rc::new(Relay {
            policyd: daemon.asks()?,
            memoryd: daemon.asks()?,
            _mind: daemon.asks()?,
            turns: RefCell::default(),
            stage: RefCell::new(stage),
        });
        let served = Rc::clone(&relay);
        daemon.answers::<DoorPlanner, _, _>(move |end| door_planner::serve(end, Rc::clone(&served)))?;
        tokio::task::spawn_local(relay.obey(orders));
        daemon.ready(Vec::new(), Vec::new())?;
        daemon.control(|| 0).await?;
        daemon.drained();
        Ok(())
    })
}

fn sealed(text: &str) -> Result<Sealed, RpcError> {
    Sealed::new(text.as_bytes()).map_err(|error| RpcError::Unsendable(error.to_string()))
}

fn text_of(sealed: &Sealed) -> String {
    String::from_utf8_lossy(&sealed.read().unwrap_or_default()).into_owned()
}

fn nothing() -> Result<Sealed, ServeError> {
    Sealed::new(b"[]").map_err(|error| ServeError::Violation(error.to_string()))
}

/// A text in an order; empty when there is none.
fn word<'a>(order: &'a Value, name: &str) -> &'a str {
    order[name].as_str().unwrap_or_default()
}

fn slot(slot: &Value) -> Slot {
    let list = |name: &str| slot[name].as_array().cloned().unwrap_or_default();
    let literal =
        |pair: &Value| Literal { pointer: pair[0].as_str().unwrap_or_default().to_owned(), json: pair[1].to_string() };
    Slot {
        executor: word(slot, "executor").to_owned(),
        literals: list("literals").iter().map(literal).collect(),
        open: list("open").iter().filter_map(|open| Some(open.as_str()?.to_owned())).collect(),
        max: slot["max"].as_u64().and_then(|max| u8::try_from(max).ok()).unwrap_or(1),
    }
}

/// What is ordered about reminders: a list, where nothing else is said.
fn planned(order: &Value) -> Order {
    let parts = |name: &str| {
        let all = order[name].as_array().cloned().unwrap_or_default();
        all.iter().filter_map(|part| Some(part.as_str()?.to_owned())).collect::<Vec<_>>()
    };
    let to = word(order, "to").to_owned();
    if order.get("asks").is_some() {
        return Order::Ask(Ask { what: parts("what"), when: parts("when"), frozen: Vec::new() });
    }
    if order.get("what").is_some() && order.get("when").is_none() {
        return Order::Tell(Tell { to, what: parts("what") });
    }
    if order.get("what").is_some() {
        return Order::Remind(Remind { what: parts("what"), when: parts("when"), early: false, to });
    }
    let act = match word(order, "act") {
        "cancel" => ScheduleAct::Cancel,
        "pause" => ScheduleAct::Pause,
        "resume" => ScheduleAct::Resume,
        "move" => ScheduleAct::Move(parts("when")),
        "earlier" => ScheduleAct::Earlier(parts("when")),
        _ => return Order::List(String::new()),
    };
    let which = match word(order, "which") {
        "only" => Which::Only,
        "timer" => Which::Timer,
        "timers" => Which::Timers,
        "alarms" => Which::Alarms,
        "last" => Which::Last,
        "all" => Which::All,
        "given" => Which::Given,
        "first" => Which::Place(1),
        "number" => Which::Number(1),
        called => Which::Called(called.to_owned()),
    };
    Order::Change(ScheduleChange { which, act })
}

fn ran(ran: &Ran) -> Value {
    let leaves: Vec<&str> = ran.leaves.iter().map(|leaf| leaf.pointer.as_str()).collect();
    json!({ "ran": {
        "handle": ran.handle.to_string(), "outcome": ran.outcome.name(), "bytes": ran.resources.output_bytes,
        "label": format!("{:?} {:?}", ran.label.integrity, ran.label.readers), "leaves": leaves,
    }})
}

fn failure(error: RpcError) -> Value {
    match error {
        RpcError::Refused(refusal) => {
            json!({ "refused": { "rule": refusal.rule, "why": refusal.why, "remedy": refusal.remedy } })
        }
        other @ (RpcError::Gone(_) | RpcError::Late { .. } | RpcError::Violation(..) | RpcError::Unsendable(_)) => {
            json!({ "broken": format!("{other:?}") })
        }
    }
}

impl Relay {
    fn tell(&self, said: &Value) {
        // A test that is gone ends the set as well.
        let _gone = self.stage.borrow_mut().write_all(format!("{said}\n").as_bytes());
    }

    async fn obey(self: Rc<Self>, mut orders: UnboundedReceiver<Value>) {
        while let Some(order) = orders.recv().await {
            let relay = Rc::clone(&self);
            tokio::task::spawn_local(async move {
                let mut answer = relay.follow(&order).await.unwrap_or_else(failure);
                answer["id"] = order["id"].clone();
                relay.tell(&answer);
            });
        }
    }

    async fn follow(&self, order: &Value) -> Result<Value, RpcError> {
        let turn = word(order, "turn").parse().unwrap_or(TurnId::NONE);
        let trace = self.turns.borrow().get(&turn).map_or(TraceId::NONE, |turn| turn.trace);
        match word(order, "order") {
            "begin" => {
                let (_, [envelope]) = self.memoryd.begin_turn(trace, BeginTurn { turn }, []).await?;
                Ok(json!({ "text": text_of(&envelope) }))
            }
            "intent" => {
                let slots = order["slots"].as_array().map(|all| all.iter().map(slot).collect()).unwrap_or_default();
                let (frozen, []) = self.policyd.intent(trace, Intent { turn, slots }, []).await?;
                Ok(json!({ "frozen": frozen.frozen, "ignored": frozen.ignored }))
            }
            "act" => {
                let number = order["call"].as_u64().and_then(|call| u16::try_from(call).ok()).unwrap_or(0);
                let act = Act { turn, call: CallRef(number), executor: word(order, "executor").to_owned() };
                let (acted, []) = self.policyd.act(trace, act, [sealed(word(order, "arguments"))?]).await?;
                Ok(match acted {
                    Acted::Ran(done) => ran(&done),
                    Acted::Denied(no) => json!({ "denied": { "rule": no.rule, "why": no.why, "remedy": no.remedy } }),
                })
            }
            "release" => {
                let handle = word(order, "handle").parse().unwrap_or(HandleId::NONE);
                let (released, [bytes]) = self.policyd.release(trace, Release { turn, handle }, []).await?;
                Ok(json!({ "text": text_of(&bytes), "context": format!("{:?}", released.context.integrity) }))
            }
            "undo" => {
                let (was, []) = self.policyd.undo_last(trace, UndoLast { turn }, []).await?;
                Ok(json!({ "undone": was.undone, "kept": was.kept }))
            }
            "schedule" => {
                let ask = ScheduleOrder { turn, lang: Lang::En, order: planned(order) };
                let (doc, list) = self.policyd.schedule(trace, ask, []).await?;
                match doc.open(list) {
                    Ok(list) => Ok(json!({ "planned": list })),
                    Err(refusal) => Ok(json!({ "broken": refusal.to_string() })),
                }
            }
            "finish" => {
                self.finish(turn, trace, word(order, "text")).await;
                Ok(json!({}))
            }
            other => Ok(json!({ "broken": format!("no order is named `{other}`") })),
        }
    }

    async fn finish(&self, turn: TurnId, trace: TraceId, text: &str) {
        let (wish, signature) = (String::new(), WishedSignature::default());
        let close = CloseTurn { turn, end: TurnEnd::Answered, wish, signature };
        let _closed = self.memoryd.close_turn(trace, close, []).await;
        let _ended = self.policyd.end_turn(trace, EndTurn { turn }, []).await;
        let Some(Turn { door, .. }) = self.turns.borrow_mut().remove(&turn) else { return };
        let _said = door.send(door_planner::Note::Text(Text { turn, text: text.to_owned() })).await;
        let done = TurnDone { turn, end: TurnEnd::Answered, why: String::new() };
        let _done = door.send(door_planner::Note::TurnDone(done)).await;
    }

    fn opened(&self, ask: &OpenTurn, words: &Sealed, data: &str, door: Notes<DoorPlanner>) {
        self.turns.borrow_mut().insert(ask.turn, Turn { trace: ask.trace, door });
        self.tell(&json!({
            "turn": ask.turn.to_string(), "channel": ask.channel.name(), "words": text_of(words), "data": data,
        }));
    }
}

impl door_planner::Serve for Relay {
    fn phase_of(
        &self,
        _: &Cx<DoorPlanner>,
        turn: Option<TurnId>,
        _: &door_planner::Ask,
    ) -> Result<OpenPhase, ServeError> {
        match turn {
            Some(turn) if self.turns.borrow().contains_key(&turn) => Ok(OpenPhase::UnderWay),
            Some(_) | None => Ok(OpenPhase::Absent),
        }
    }

    fn enter(&self, _: &Cx<DoorPlanner>, _: Option<TurnId>, _: Option<OpenPhase>) {}

    async fn open_fired(
        self: Rc<Self>,
        cx: Cx<DoorPlanner>,
        ask: OpenFired,
        [words, data]: [Sealed; 2],
    ) -> Served<TurnOpened, 0> {
        self.opened(&ask.open, &words, &text_of(&data), cx.notes());
        Ok((TurnOpened {}, []))
    }

    async fn open_turn(
        self: Rc<Self>,
        cx: Cx<DoorPlanner>,
        ask: OpenTurn,
        [words]: [Sealed; 1],
    ) -> Served<TurnOpened, 0> {
        self.opened(&ask, &words, "", cx.notes());
        Ok((TurnOpened {}, []))
    }

    async fn resume_turn(
        self: Rc<Self>,
        cx: Cx<DoorPlanner>,
        ask: ResumeTurn,
        []: [Sealed; 0],
    ) -> Served<TurnResumed, 1> {
        // Its card was answered; nothing more is done in it.
        let door = cx.notes();
        tokio::task::spawn_local(async move {
            tokio::time::sleep(AFTER_THE_ANSWER).await;
            let done = TurnDone { turn: ask.turn, end: TurnEnd::Answered, why: String::new() };
            let _done = door.send(door_planner::Note::TurnDone(done)).await;
        });
        Ok((TurnResumed {}, [nothing()?]))
    }

    async fn detached_turns(
        self: Rc<Self>,
        _: Cx<DoorPlanner>,
        _: DetachedTurns,
        []: [Sealed; 0],
    ) -> Served<DetachedTurnList, 0> {
        Ok((DetachedTurnList { turns: Vec::new() }, []))
    }

    async fn attach_turn(
        self: Rc<Self>,
        _: Cx<DoorPlanner>,
        _: AttachTurn,
        []: [Sealed; 0],
    ) -> Served<TurnAttached, 1> {
        Ok((TurnAttached {}, [nothing()?]))
    }

    async fn release_turn(self: Rc<Self>, _: Cx<DoorPlanner>, _: ReleaseTurn, []: [Sealed; 0]) -> Served<Done, 0> {
        Ok((Done {}, []))
    }

    async fn cancel_turn(
        self: Rc<Self>,
        _cx: Cx<DoorPlanner>,
        _ask: CancelTurn,
        []: [Sealed; 0],
    ) -> Served<Cancelled, 0> {
        Ok((Cancelled { was_open: false }, []))
    }
}
