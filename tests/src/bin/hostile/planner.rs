//! A planner that is entirely the attacker's: it uses every word it has, on things it has no right to.
//! Which, the owner's words of the turn say: `attack NAME [ARGUMENT]`.

mod pry;

use std::cell::RefCell;
use std::rc::Rc;

use metnos_proto::boot::{BootError, Daemon};
use metnos_proto::edge::{RpcError, ServeError, Served};
use metnos_proto::edges::{DoorPlanner, PlannerMemoryd, PlannerMind, PlannerPolicyd, door_planner, planner_mind};
use metnos_proto::ids::{HandleId, TraceId, TurnId};
use metnos_proto::link_async::{Client, Cx, Notes};
use metnos_proto::msg::common::{CallRef, Done};
use metnos_proto::msg::memoryd::{
    BeginTurn, CloseTurn, MAX_SUSPENDED_BYTES, ModelAsked, SuspendTurn, TakeUpTurn, WishedSignature,
};
use metnos_proto::msg::mind::{StopThinking, Think};
use metnos_proto::msg::planner::{
    AttachTurn, CancelTurn, Cancelled, DetachedTurnList, DetachedTurns, MAX_TEXT, OpenTurn, ReleaseTurn, ResumeTurn,
    Text, TurnAttached, TurnDone, TurnEnd, TurnOpened, TurnResumed,
};
use metnos_proto::msg::policyd::{Act, Acted, EndTurn, FundTurn, Intent, Literal, Release, Slot};
use metnos_proto::payload::Sealed;
use metnos_proto::phase::OpenPhase;
use metnos_proto::role::Planner;

use tokio::sync::mpsc::Receiver;

use crate::life::{self, Failure, outcome, sealed};

/// As many thoughts as a turn may have under way.
const HELD: u32 = 8;
/// Thoughts of a flood.
const FLOOD: u32 = 100;

/// What it holds: exactly what the real planner does.
struct Hostile {
    policyd: Rc<Client<PlannerPolicyd>>,
    memoryd: Rc<Client<PlannerMemoryd>>,
    mind: Rc<Client<PlannerMind>>,
    /// What mind tells.
    heard: RefCell<Option<Receiver<planner_mind::Note>>>,
    /// Of an earlier turn, kept to be used in a later one.
    kept: RefCell<Option<(TurnId, HandleId)>>,
}

/// Lives as the planner.
pub fn live() -> Result<(), Failure> {
    life::live::<Planner>(open)
}

fn open(daemon: &mut Daemon<Planner>) -> Result<(), BootError> {
    let mind: Rc<Client<PlannerMind>> = daemon.asks()?;
    let hostile = Rc::new(Hostile {
        policyd: daemon.asks()?,
        memoryd: daemon.asks()?,
        heard: RefCell::new(mind.take_notes()),
        mind,
        kept: RefCell::default(),
    });
    daemon.answers::<DoorPlanner, _, _>(move |end| door_planner::serve(end, Rc::clone(&hostile)))
}

impl door_planner::Serve for Hostile {
    /// It takes whatever the door says.
    fn phase_of(&self, _: &Cx<DoorPlanner>, _: Option<TurnId>, _: &door_planner::Ask) -> Result<OpenPhase, ServeError> {
        Ok(OpenPhase::Absent)
    }

    fn enter(&self, _: &Cx<DoorPlanner>, _: Option<TurnId>, _: Option<OpenPhase>) {}

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
        let words = String::from_utf8_lossy(&words.read().unwrap_or_default()).into_owned();
        tokio::task::spawn_local(self.turn(ask, words, cx.notes()));
        Ok((TurnOpened {}, []))
    }

    async fn resume_turn(
        self: Rc<Self>,
        _cx: Cx<DoorPlanner>,
        _ask: ResumeTurn,
        []: [Sealed; 0],
    ) -> Served<TurnResumed, 1> {
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

fn nothing() -> Result<Sealed, ServeError> {
    Sealed::new(b"[]").map_err(|error| ServeError::Violation(error.to_string()))
}

/// A text in pieces that the door takes.
fn pieces(text: &str) -> Vec<&str> {
    let (mut pieces, mut rest) = (Vec::new(), text);
    while rest.len() > MAX_TEXT {
        let (piece, after) = rest.split_at(rest.floor_char_boundary(MAX_TEXT));
        pieces.push(piece);
        rest = after;
    }
    pieces.push(rest);
    pieces
}

/// One turn, as its attack sees it.
struct Turn {
    hostile: Rc<Hostile>,
    id: TurnId,
    trace: TraceId,
    argument: String,
    /// What memoryd gave it for this turn.
    begun: String,
}

impl Hostile {
    async fn turn(self: Rc<Self>, open: OpenTurn, words: String, door: Notes<DoorPlanner>) {
        let (id, trace) = (open.turn, open.trace);
        let begun = self.memoryd.begin_turn(trace, BeginTurn { turn: id }, []).await;
        let begun = outcome(begun, |(_, [envelope])| {
            String::from_utf8_lossy(&envelope.read().unwrap_or_default()).into_owned()
        });
        let mut parts = words.splitn(3, ' ').skip(1);
        let name = parts.next().unwrap_or_default().to_owned();
        let argument = parts.next().unwrap_or_default().to_owned();
        let turn = Turn { hostile: Rc::clone(&self), id, trace, argument, begun };
        let said = turn.attack(&name).await;
        let _closed = self
            .memoryd
            .close_turn(
                trace,
                CloseTurn {
                    turn: id,
                    end: TurnEnd::Answered,
                    wish: String::new(),
                    signature: WishedSignature::default(),
                },
                [],
            )
            .await;
        let _ended = self.policyd.end_turn(trace, EndTurn { turn: id }, []).await;
        for piece in pieces(&said.join("\n")) {
            let _said = door.send(door_planner::Note::Text(Text { turn: id, text: piece.to_owned() })).await;
        }
        let done = TurnDone { turn: id, end: TurnEnd::Answered, why: String::new() };
        let _done = door.send(door_planner::Note::TurnDone(done)).await;
    }
}

impl Turn {
    /// The attacks by name; each step's outcome is a line.
    async fn attack(&self, name: &str) -> Vec<String> {
        match name {
            "read" => vec![self.act(1, "fs_read", &self.path()).await],
            "made-up-turn" => vec![self.act_in(TurnId::new(), 1, "fs_read", &self.path()).await],
            "turn-of-nobody" => vec![self.act_in(TurnId::NONE, 1, "fs_read", &self.path()).await],
            "foreign-turn" => self.foreign_turn().await,
            "same-number" => vec![self.act(1, "fs_read", &self.path()).await, self.act(1, "fs_list", "{}").await],
            "backwards" => vec![self.act(2, "fs_list", "{}").await, self.act(1, "fs_list", "{}").await],
            "arguments" => vec![self.act(1, "fs_read", &self.argument).await],
            "executor" => vec![self.act(1, &self.argument, "{}").await],
            "guess-a-handle" => vec![self.act(1, "fs_list", "{}").await, self.release(self.id, HandleId::new()).await],
            "keep-a-handle" => self.keep_a_handle().await,
            "use-a-kept-handle" => self.use_a_kept_handle().await,
            "release-first" => vec![self.release(self.id, HandleId::new()).await, self.act(1, "fs_list", "{}").await],
            "unreleased-as-path" => self.unreleased_as_path().await,
            "intent-twice" => vec![self.intent().await, self.intent().await, self.act(1, "fs_list", "{}").await],
            "intent-after-act" => vec![self.act(1, "fs_list", "{}").await, self.intent().await],
            "invented-literal" => vec![self.intent().await],
            "begin-twice" => vec![self.begin(self.id).await],
            "begin-foreign" => vec![self.begin(TurnId::new()).await],
            "close-foreign" => vec![self.close(TurnId::new()).await],
            "suspend-foreign" => vec![self.suspend(TurnId::new(), "{}").await],
            "suspend-twice" => vec![self.suspend(self.id, "{}").await, self.suspend(self.id, "{}").await],
            "suspend-much" => vec![self.suspend(self.id, &"x".repeat(MAX_SUSPENDED_BYTES + 1)).await],
            "take-up-foreign" => vec![self.take_up(TurnId::new()).await],
            "take-up-nothing" => vec![self.take_up(self.id).await],
            "asked-foreign" => vec![self.model_asked(TurnId::new()).await],
            "act-after-end" => self.act_after_end().await,
            "flood" => self.flood().await,
            "hold" => self.hold().await,
            "judge" => self.judge().await,
            "drafts" => self.drafts().await,
            "pry" => self.pry().await,
            "open-file" => vec![format!("opened {:?}", std::fs::read_to_string(&self.argument))],
            "open-socket" => vec![format!("connected {:?}", std::net::TcpStream::connect("127.0.0.1:1").map(drop))],
            "start-program" => vec![format!("started {:?}", std::process::Command::new("/usr/bin/true").status())],
            other => vec![format!("no attack is named `{other}`")],
        }
    }

    fn path(&self) -> String {
        serde_json::json!({ "path": self.argument }).to_string()
    }

    async fn acted(&self, turn: TurnId, number: u16, executor: &str, arguments: &str) -> Result<Acted, RpcError> {
        let act = Act { turn, call: CallRef(number), executor: executor.to_owned() };
        let (acted, []) = self.hostile.policyd.act(self.trace, act, [sealed(arguments)?]).await?;
        Ok(acted)
    }

    async fn act_in(&self, turn: TurnId, number: u16, executor: &str, arguments: &str) -> String {
        outcome(self.acted(turn, number, executor, arguments).await, |acted| match acted {
            Acted::Ran(ran) => format!("ran {}", ran.outcome.name()),
            Acted::Denied(refusal) => format!("denied {}: {refusal}", refusal.rule),
        })
    }

    async fn act(&self, number: u16, executor: &str, arguments: &str) -> String {
        self.act_in(self.id, number, executor, arguments).await
    }

    async fn release(&self, turn: TurnId, handle: HandleId) -> String {
        let released = self.hostile.policyd.release(self.trace, Release { turn, handle }, []).await;
        outcome(released, |(_, [bytes])| {
            format!("released {}", String::from_utf8_lossy(&bytes.read().unwrap_or_default()))
        })
    }

    async fn intent(&self) -> String {
        let literal = Literal { pointer: "/path".to_owned(), json: "\"notes/never-said.md\"".to_owned() };
        let slot = Slot { executor: "fs_read".to_owned(), literals: vec![literal], open: Vec::new(), max: 1 };
        let intent = Intent { turn: self.id, slots: vec![slot] };
        outcome(self.hostile.policyd.intent(self.trace, intent, []).await, |(frozen, [])| {
            format!("frozen {} ignored {}", frozen.frozen, frozen.ignored.len())
        })
    }

    async fn begin(&self, turn: TurnId) -> String {
        outcome(self.hostile.memoryd.begin_turn(self.trace, BeginTurn { turn }, []).await, |_| "begun".to_owned())
    }

    async fn close(&self, turn: TurnId) -> String {
        let close =
            CloseTurn { turn, end: TurnEnd::Answered, wish: String::new(), signature: WishedSignature::default() };
        outcome(self.hostile.memoryd.close_turn(self.trace, close, []).await, |_| "closed".to_owned())
    }

    async fn suspend(&self, turn: TurnId, state: &str) -> String {
        let Ok(state) = sealed(state) else { return "no memory".to_owned() };
        let suspended = self.hostile.memoryd.suspend_turn(self.trace, SuspendTurn { turn }, [state]).await;
        outcome(suspended, |_| "suspended".to_owned())
    }

    async fn take_up(&self, turn: TurnId) -> String {
        let taken = self.hostile.memoryd.take_up_turn(self.trace, TakeUpTurn { turn }, []).await;
        outcome(taken, |_| "taken up".to_owned())
    }

    async fn model_asked(&self, turn: TurnId) -> String {
        let Ok(sent) = sealed("a prompt that was never sent") else { return "no memory".to_owned() };
        let asked = ModelAsked { turn, thought: 1, model: "no/model".to_owned() };
        outcome(self.hostile.memoryd.model_asked(self.trace, asked, [sent]).await, |_| "recorded".to_owned())
    }

    /// Runs one call and keeps its handle beyond the turn.
    async fn keep_a_handle(&self) -> Vec<String> {
        match self.acted(self.id, 1, "fs_read", &self.path()).await {
            Ok(Acted::Ran(ran)) => {
                self.hostile.kept.replace(Some((self.id, ran.handle)));
                vec!["kept".to_owned()]
            }
            other => vec![format!("not kept: {other:?}")],
        }
    }

    /// Uses the handle of the earlier turn, in that turn's name and in this one's.
    async fn use_a_kept_handle(&self) -> Vec<String> {
        let Some((turn, handle)) = *self.hostile.kept.borrow() else {
            return vec!["nothing was kept".to_owned()];
        };
        vec![self.act(1, "fs_list", "{}").await, self.release(self.id, handle).await, self.release(turn, handle).await]
    }

    /// Acts in the turn whose handle was kept, which is over.
    async fn foreign_turn(&self) -> Vec<String> {
        let Some((turn, _)) = *self.hostile.kept.borrow() else {
            return vec!["nothing was kept".to_owned()];
        };
        vec![self.act_in(turn, 9, "fs_list", "{}").await]
    }

    /// Has an unread result used where policyd must look at it: its refusal must not tell what it read.
    async fn unreleased_as_path(&self) -> Vec<String> {
        vec![
            self.act(1, "fs_read", &self.path()).await,
            self.act(2, "fs_read", r#"{"path":{"$ref":"c1#/content"}}"#).await,
        ]
    }

    async fn act_after_end(&self) -> Vec<String> {
        let ended = self.hostile.policyd.end_turn(self.trace, EndTurn { turn: self.id }, []).await;
        vec![outcome(ended, |_| "ended".to_owned()), self.act(1, "fs_list", "{}").await]
    }

    /// Far more calls than anybody needs, one after the other.
    async fn flood(&self) -> Vec<String> {
        let most: u16 = self.argument.parse().unwrap_or(100);
        let mut last = String::new();
        for number in 1..=most {
            last = self.act(number, "fs_read", r#"{"path":"/etc/shadow"}"#).await;
            if !last.starts_with("denied guard") {
                return vec![format!("stopped at {number}: {last}")];
            }
        }
        vec![format!("all {most}: {last}")]
    }

    async fn fund(&self, tokens: u64) -> String {
        let funded = self.hostile.policyd.fund_turn(self.trace, FundTurn { turn: self.id, tokens }, []).await;
        outcome(funded, |_| "funded".to_owned())
    }

    async fn think(&self, thought: u32, role: &str, text: &str) -> String {
        let hostile = Rc::clone(&self.hostile);
        thought_of(hostile, (self.id, thought), role.to_owned(), text.to_owned()).await
    }

    /// As many thoughts as a turn may have, all at once.
    async fn hold(&self) -> Vec<String> {
        let mut said = vec![self.fund(100_000).await];
        let thoughts: Vec<_> = (1..=HELD)
            .map(|thought| {
                let hostile = Rc::clone(&self.hostile);
                let held = thought_of(hostile, (self.id, thought), "interface".to_owned(), "HOLD".to_owned());
                tokio::task::spawn_local(held)
            })
            .collect();
        for thought in thoughts {
            said.push(thought.await.unwrap_or_else(|error| error.to_string()));
        }
        said
    }

    /// Has policyd propose something, by asking for more than there is; and does all it can about who judges it.
    async fn judge(&self) -> Vec<String> {
        let mut said = vec![self.fund(100_000).await];
        for role in ["judge", "synth", "interface"] {
            said.push(self.think(1, role, "{\"fits\":{}}").await);
        }
        for turn in [TurnId::NONE, TurnId::new(), self.id] {
            for thought in [0, 1, u32::MAX] {
                let stop = StopThinking { turn, thought };
                let stopped = self.hostile.mind.stop_thinking(self.trace, stop, []).await;
                said.push(outcome(stopped, |(stopped, [])| format!("stopped {}", stopped.was_open)));
            }
        }
        // A flood, in which anyone who waits behind this asker would wait long.
        let floods: Vec<_> = (0..FLOOD)
            .map(|thought| {
                let hostile = Rc::clone(&self.hostile);
                let (role, text) = ("judge".to_owned(), "x".repeat(200_000));
                tokio::task::spawn_local(thought_of(hostile, (TurnId::new(), thought), role, text))
            })
            .collect();
        let mut last = String::new();
        for flood in floods {
            last = flood.await.unwrap_or_else(|error| error.to_string());
        }
        said.push(last);
        // Everything that mind has ever told this planner without being asked.
        let notes = self.hostile.heard.borrow_mut().take();
        if let Some(mut notes) = notes {
            while let Ok(planner_mind::Note::ThoughtDelta(delta)) = notes.try_recv() {
                said.push(format!("heard {}", delta.text));
            }
            *self.hostile.heard.borrow_mut() = Some(notes);
        }
        said
    }
}

impl Turn {
    /// A person has told it the name of syntd's run: does all that it can about what is drafted there.
    async fn drafts(&self) -> Vec<String> {
        let Ok(run) = self.argument.parse::<TurnId>() else { return vec!["that is no run".to_owned()] };
        let policyd = &self.hostile.policyd;
        let funded = policyd.fund_turn(self.trace, FundTurn { turn: run, tokens: 100_000 }, []).await;
        let ended = policyd.end_turn(self.trace, EndTurn { turn: run }, []).await;
        let mut said = vec![
            outcome(funded, |_| "HURT: funded".to_owned()),
            outcome(ended, |_| "HURT: ended".to_owned()),
            self.act_in(run, 1, "fs_list", "{}").await,
            self.begin(run).await,
        ];
        for role in ["synth", "interface", "fast", "judge"] {
            for thought in [0, 1, u32::MAX] {
                let hostile = Rc::clone(&self.hostile);
                said.push(thought_of(hostile, (run, thought), role.to_owned(), "DRAFT-THIS".to_owned()).await);
            }
        }
        for thought in 0..FLOOD {
            let stop = StopThinking { turn: run, thought };
            let stopped = self.hostile.mind.stop_thinking(self.trace, stop, []).await;
            let stopped = outcome(stopped, |(stopped, [])| format!("stopped {}", stopped.was_open));
            if stopped != "stopped false" {
                said.push(format!("HURT: {stopped}"));
            }
        }
        said
    }
}

/// A thought in whatever turn, and what came of it.
async fn thought_of(hostile: Rc<Hostile>, (turn, thought): (TurnId, u32), role: String, text: String) -> String {
    let prompt = serde_json::json!({ "system": [], "tools": [], "messages": [{ "from": "user", "text": text }], "schema": null, "temperature": null });
    let prompt = match sealed(&prompt.to_string()) {
        Ok(prompt) => prompt,
        Err(error) => return error.to_string(),
    };
    let think = Think { turn, thought, role, max_tokens: 100 };
    outcome(hostile.mind.think(TraceId::NONE, think, [prompt]).await, |(_, [reply, sent])| {
        let text = |sealed: Sealed| String::from_utf8_lossy(&sealed.read().unwrap_or_default()).into_owned();
        format!("thought {} {}", text(reply), text(sent))
    })
}
