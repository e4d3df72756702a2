//! What the door, the planner, policyd, syntd and the owner may ask of mind.

use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;
use std::time::Duration;

use metnos_proto::doc::Doc;
use metnos_proto::doc::models::{ModelList, ModelScan, ModelTest};
use metnos_proto::edge::Served;
use metnos_proto::edges::{
    CtlMind, DoorMind, PlannerMind, PolicydMind, SyntdMind, ctl_mind, door_mind, planner_mind, policyd_mind, syntd_mind,
};
use metnos_proto::executor::thinking::ROLE as EXECUTORS_ROLE;
use metnos_proto::link_async::{Cx, Notes};
use metnos_proto::msg::common::{Done, Refusal, RefusalCode};
use metnos_proto::msg::mind::{
    Assist, Draft, EndFund, Fund, Funded, Judge, ListModels, MAX_KEY, MindHealth, MindReport, PutKey, ScanModels,
    StopThinking, TestModel, Think, ThinkingStopped, Thought, ThoughtUsed,
};
use metnos_proto::payload::Sealed;
use tokio::sync::Semaphore;
use zeroize::Zeroizing;

use crate::assist;
use crate::bad::quoted;
use crate::funds::{Funds, Thinker};
use crate::servers::lanes::Places;
use crate::servers::registry::Registry;
use crate::servers::substrate::Substrate;
use crate::thinking::{Open, delta};

/// The most notes that wait for a policyd that is being started anew. Older ones are logged and lost.
pub const MAX_OWED: usize = 1_024;
/// The role of drafts.
const DRAFTS_ROLE: &str = "synth";
/// How long thoughts may take to end when the daemon is stopped, in milliseconds.
const STOP_WITHIN_MS: u64 = 2_000;

/// policyd, as far as it is told things.
#[derive(Debug, Default)]
struct Teller {
    generation: u32,
    notes: Option<Notes<PolicydMind>>,
    owed: VecDeque<ThoughtUsed>,
}

/// Mind: which model serves which role, and what is thought at this moment.
#[derive(Debug)]
pub struct Mind {
    pub(crate) registry: Registry,
    pub(crate) substrates: BTreeMap<String, Substrate>,
    pub(crate) places: Places,
    pub(crate) funds: RefCell<Funds>,
    pub(crate) open: RefCell<Open>,
    pub(crate) reading: Semaphore,
    teller: RefCell<Teller>,
}

impl Mind {
    /// A mind with these models.
    #[must_use]
    pub fn new(registry: Registry, substrates: Vec<Substrate>) -> Self {
        Self {
            registry,
            substrates: substrates.into_iter().map(|one| (one.line.name.clone(), one)).collect(),
            places: Places::of_all(),
            funds: RefCell::default(),
            open: RefCell::default(),
            reading: Semaphore::new(1),
            teller: RefCell::default(),
        }
    }

    /// Tells policyd what a thought took, or keeps it until there is one.
    pub(crate) async fn tell(&self, note: ThoughtUsed) {
        let notes = self.teller.borrow().notes.clone();
        let sent = match notes {
            Some(notes) => notes.send(policyd_mind::Note::ThoughtUsed(note.clone())).await.is_ok(),
            None => false,
        };
        if !sent {
            let owed = &mut self.teller.borrow_mut().owed;
            if owed.len() >= MAX_OWED
                && let Some(lost) = owed.pop_front()
            {
                tracing::error!(turn = %lost.turn, micro = lost.usage.micro, "policyd is not there; what a thought took is lost");
            }
            owed.push_back(note);
        }
    }

    /// policyd speaks. A new one knows nothing of what was funded before it, so nothing is.
    async fn heard(&self, cx: &Cx<PolicydMind>) {
        let fresh = self.teller.borrow().generation != cx.generation || self.teller.borrow().notes.is_none();
        if !fresh {
            return;
        }
        let owed = {
            let mut teller = self.teller.borrow_mut();
            (teller.generation, teller.notes) = (cx.generation, Some(cx.notes()));
            std::mem::take(&mut teller.owed)
        };
        self.funds.borrow_mut().clear();
        self.stop(|_| true);
        for note in owed {
            self.tell(note).await;
        }
    }

    /// Stops thoughts; how many.
    fn stop(&self, which: impl Fn(&crate::thinking::Which) -> bool) -> usize {
        let open = self.open.borrow();
        open.iter()
            .filter(|(key, _)| which(key))
            .map(|(_, stop)| stop.send_replace(true))
            .filter(|before| !before)
            .count()
    }

    /// Stops everything and waits until it has ended and was told.
    pub async fn drain(&self) {
        self.stop(|_| true);
        let until = tokio::time::Instant::now() + Duration::from_millis(STOP_WITHIN_MS);
        while !self.open.borrow().is_empty() && tokio::time::Instant::now() < until {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    fn put(&self, substrate: &str, key: &Sealed) -> Result<(), Refusal> {
        let no = |code, why: String| Refusal::new(code, "mind.key", why);
        let Some(known) = self.substrates.get(substrate) else {
            let why = format!("there is no substrate `{}` in metnos.toml", quoted(substrate));
            return Err(no(RefusalCode::Unknown, why).remedy("`metnosctl models list` shows which there are"));
        };
        let bytes = Zeroizing::new(key.read().map_err(|error| no(RefusalCode::Invalid, error.to_string()))?);
        if bytes.len() > MAX_KEY {
            return Err(no(RefusalCode::Invalid, format!("a key has at most {MAX_KEY} bytes")));
        }
        known.put_key(&bytes).map_err(|why| no(RefusalCode::Invalid, why))
    }
}

impl ctl_mind::Serve for Mind {
    async fn health(
        self: Rc<Self>,
        _cx: Cx<CtlMind>,
        MindHealth {}: MindHealth,
        []: [Sealed; 0],
    ) -> Served<MindReport, 0> {
        Ok((self.report(), []))
    }

    async fn list_models(
        self: Rc<Self>,
        _cx: Cx<CtlMind>,
        ListModels {}: ListModels,
        []: [Sealed; 0],
    ) -> Served<Doc<ModelList>, 1> {
        Ok(Doc::seal(&self.list())?)
    }

    async fn scan_models(
        self: Rc<Self>,
        _cx: Cx<CtlMind>,
        ScanModels {}: ScanModels,
        []: [Sealed; 0],
    ) -> Served<Doc<ModelScan>, 1> {
        Ok(Doc::seal(&self.scan().await)?)
    }

    async fn test_model(self: Rc<Self>, cx: Cx<CtlMind>, ask: TestModel, []: [Sealed; 0]) -> Served<Doc<ModelTest>, 1> {
        Ok(Doc::seal(&self.test(&ask.model, cx.notes()).await?)?)
    }

    async fn put_key(self: Rc<Self>, _cx: Cx<CtlMind>, ask: PutKey, [key]: [Sealed; 1]) -> Served<Done, 0> {
        self.put(&ask.substrate, &key)?;
        tracing::info!(substrate = ask.substrate, "its key was changed");
        Ok((Done {}, []))
    }
}

impl door_mind::Serve for Mind {
    async fn health(
        self: Rc<Self>,
        _cx: Cx<DoorMind>,
        MindHealth {}: MindHealth,
        []: [Sealed; 0],
    ) -> Served<MindReport, 0> {
        Ok((self.report(), []))
    }
}

impl planner_mind::Serve for Mind {
    async fn health(
        self: Rc<Self>,
        _cx: Cx<PlannerMind>,
        MindHealth {}: MindHealth,
        []: [Sealed; 0],
    ) -> Served<MindReport, 0> {
        Ok((self.report(), []))
    }

    async fn think(self: Rc<Self>, cx: Cx<PlannerMind>, ask: Think, [prompt]: [Sealed; 1]) -> Served<Thought, 2> {
        let Think { turn, thought, role, max_tokens } = ask;
        assist::not_assisted(thought)?;
        if matches!(role.as_str(), "judge" | "synth") {
            let why = format!("the role `{role}` is not the planner's");
            return Err(Refusal::new(RefusalCode::Denied, "mind.role", why).into());
        }
        let note = |text| Some(planner_mind::Note::ThoughtDelta(delta(turn, thought, text)));
        let which = (Thinker::Planner, turn, thought);
        Ok(self.funded(which, (&role, max_tokens), &prompt, (cx.notes(), note)).await?)
    }

    async fn stop_thinking(
        self: Rc<Self>,
        _cx: Cx<PlannerMind>,
        StopThinking { turn, thought }: StopThinking,
        []: [Sealed; 0],
    ) -> Served<ThinkingStopped, 0> {
        let was_open = self.stop(|which| *which == (Thinker::Planner, turn, thought)) > 0;
        Ok((ThinkingStopped { was_open }, []))
    }
}

impl policyd_mind::Serve for Mind {
    async fn judge(
        self: Rc<Self>,
        cx: Cx<PolicydMind>,
        Judge { max_tokens }: Judge,
        [prompt]: [Sealed; 1],
    ) -> Served<Thought, 2> {
        self.heard(&cx).await;
        Ok(self.judged(max_tokens, &prompt, cx.notes()).await?)
    }

    async fn assist(self: Rc<Self>, cx: Cx<PolicydMind>, ask: Assist, [arguments]: [Sealed; 1]) -> Served<Thought, 2> {
        self.heard(&cx).await;
        let Assist { turn, thought, role, instruction, max_tokens } = ask;
        if role != EXECUTORS_ROLE {
            let why = format!("the role `{}` is not that of executors, `{EXECUTORS_ROLE}`", quoted(&role));
            return Err(Refusal::new(RefusalCode::Denied, "mind.role", why).into());
        }
        self.models_of(&role)?;
        let prompt = assist::prompt(&instruction, &arguments)?;
        drop(arguments);
        let which = (Thinker::Executor, turn, thought);
        Ok(self.funded(which, (&role, max_tokens), &prompt, (cx.notes(), |_| None)).await?)
    }

    async fn fund(self: Rc<Self>, cx: Cx<PolicydMind>, ask: Fund, []: [Sealed; 0]) -> Served<Funded, 0> {
        self.heard(&cx).await;
        if ask.drafts {
            // Nothing is set aside for drafts that nobody can write.
            self.models_of(DRAFTS_ROLE)?;
        }
        Ok((self.funds.borrow_mut().fund(&ask)?, []))
    }

    async fn end_fund(
        self: Rc<Self>,
        cx: Cx<PolicydMind>,
        EndFund { turn }: EndFund,
        []: [Sealed; 0],
    ) -> Served<Funded, 0> {
        self.heard(&cx).await;
        self.stop(|(_, of, _)| *of == turn);
        Ok((self.funds.borrow_mut().end(turn), []))
    }
}

impl syntd_mind::Serve for Mind {
    async fn draft(self: Rc<Self>, cx: Cx<SyntdMind>, ask: Draft, [prompt]: [Sealed; 1]) -> Served<Thought, 2> {
        assist::not_assisted(ask.thought)?;
        let which = (Thinker::Syntd, ask.turn, ask.thought);
        Ok(self.funded(which, (DRAFTS_ROLE, ask.max_tokens), &prompt, (cx.notes(), |_| None)).await?)
    }
}

#[cfg(test)]
#[path = "serve_tests.rs"]
mod tests;
