//! What the door, the planner, policyd, syntd and the owner may ask of mind.

use std::rc::Rc;

use metnos_proto::doc::Doc;
use metnos_proto::doc::models::{ModelList, ModelScan, ModelTest};
use metnos_proto::edge::Served;
use metnos_proto::edges::{
    CtlMind, DoorMind, PlannerMind, PolicydMind, SyntdMind, ctl_mind, door_mind, planner_mind, policyd_mind, syntd_mind,
};
use metnos_proto::executor::beside::thinking::ROLE as EXECUTORS_ROLE;
use metnos_proto::link_async::Cx;
use metnos_proto::msg::common::{Done, Refusal, RefusalCode};
use metnos_proto::msg::mind::{
    Assist, Draft, EndFund, Fund, Funded, Judge, ListModels, MindHealth, MindReport, PutKey, ScanModels, StopThinking,
    TestModel, Think, ThinkingStopped, Thought,
};
use metnos_proto::payload::Sealed;

use crate::assist;
use crate::error::quoted;
use crate::funds::Thinker;
use crate::mind::Mind;
use crate::thinking::delta;

/// The role of drafts.
const DRAFTS_ROLE: &str = "synth";
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
        // What is learned counts from the next time on: nobody waits for a server here.
        self.learn();
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
            // Nothing is suspended for drafts that nobody can write.
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
