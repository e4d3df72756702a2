//! What the door, the planner, policyd and syntd may ask of mind.

use std::rc::Rc;

use metnos_proto::edge::{No, Served};
use metnos_proto::edges::{
    CtlMind, DoorMind, PlannerMind, PolicydMind, SyntdMind, ctl_mind, door_mind, planner_mind, policyd_mind, syntd_mind,
};
use metnos_proto::link_async::Cx;
use metnos_proto::msg::common::Done;
use metnos_proto::msg::common::{Refusal, RefusalCode};
use metnos_proto::msg::mind::{
    Draft, EndFund, Fund, Funded, Judge, ListModels, MindHealth, MindReport, PutKey, RoleModel, ScanModels,
    StopThinking, TestModel, Think, ThinkingStopped, Thought,
};
use metnos_proto::payload::Sealed;

/// Mind: which model serves which role.
#[derive(Debug)]
pub struct Mind {
    roles: Vec<RoleModel>,
}

impl Mind {
    /// A mind with these models.
    #[must_use]
    pub const fn new(roles: Vec<RoleModel>) -> Self {
        Self { roles }
    }

    /// Which models can be called, and the same in a sentence.
    #[must_use]
    pub fn report(&self) -> MindReport {
        let says = if self.roles.is_empty() {
            "no language model is configured; the reflex answers what it understands, without a model".to_owned()
        } else {
            let named: Vec<String> = self
                .roles
                .iter()
                .map(|role| {
                    let state = if role.reachable { "" } else { " (does not answer)" };
                    format!("{}: {}{state}", role.role, role.model)
                })
                .collect();
            named.join(", ")
        };
        MindReport { roles: self.roles.clone(), says }
    }

    /// The refusal of whatever needs a model of this role. A role without one is never served by another.
    fn no_model(&self, role: &str) -> No {
        let why = match self.roles.iter().find(|known| known.role == role) {
            Some(known) => format!("the model {} of role `{role}` cannot be called", known.model),
            None => format!("no language model is configured for role `{role}`"),
        };
        Refusal::new(RefusalCode::Unavailable, "mind.no_model", why)
            .remedy("Metnos works without one, by its reflex; `metnosctl status` shows which roles have a model")
            .into()
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

    async fn list_models(self: Rc<Self>, _cx: Cx<CtlMind>, _ask: ListModels, []: [Sealed; 0]) -> Served<Done, 1> {
        Err(self.no_model("interface"))
    }

    async fn scan_models(self: Rc<Self>, _cx: Cx<CtlMind>, _ask: ScanModels, []: [Sealed; 0]) -> Served<Done, 1> {
        Err(self.no_model("interface"))
    }

    async fn test_model(self: Rc<Self>, _cx: Cx<CtlMind>, ask: TestModel, []: [Sealed; 0]) -> Served<Done, 1> {
        Err(self.no_model(&ask.model))
    }

    async fn put_key(self: Rc<Self>, _cx: Cx<CtlMind>, _ask: PutKey, [_key]: [Sealed; 1]) -> Served<Done, 0> {
        Err(self.no_model("interface"))
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

    async fn think(self: Rc<Self>, _cx: Cx<PlannerMind>, ask: Think, [_prompt]: [Sealed; 1]) -> Served<Thought, 2> {
        Err(self.no_model(&ask.role))
    }

    async fn stop_thinking(
        self: Rc<Self>,
        _cx: Cx<PlannerMind>,
        _ask: StopThinking,
        []: [Sealed; 0],
    ) -> Served<ThinkingStopped, 0> {
        Ok((ThinkingStopped { was_open: false }, []))
    }
}

impl policyd_mind::Serve for Mind {
    async fn judge(self: Rc<Self>, _cx: Cx<PolicydMind>, _ask: Judge, [_proposal]: [Sealed; 1]) -> Served<Thought, 2> {
        Err(self.no_model("judge"))
    }

    async fn fund(self: Rc<Self>, _cx: Cx<PolicydMind>, _ask: Fund, []: [Sealed; 0]) -> Served<Funded, 0> {
        Ok((Funded { tokens: 0, micro: 0 }, []))
    }

    async fn end_fund(self: Rc<Self>, _cx: Cx<PolicydMind>, _ask: EndFund, []: [Sealed; 0]) -> Served<Funded, 0> {
        Ok((Funded { tokens: 0, micro: 0 }, []))
    }
}

impl syntd_mind::Serve for Mind {
    async fn draft(self: Rc<Self>, _cx: Cx<SyntdMind>, _ask: Draft, [_spec]: [Sealed; 1]) -> Served<Thought, 2> {
        Err(self.no_model("synth"))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic)]
    use std::future::Future;
    use std::os::fd::OwnedFd;

    use metnos_proto::edge::{AnswererEnd, AskError, AskerEnd, Edge, RawEnd, Side};
    use metnos_proto::ids::{TraceId, TurnId};
    use metnos_proto::link_async::Client;
    use tokio::task::LocalSet;

    use super::*;

    fn ends<E: Edge>() -> (AskerEnd<E>, AnswererEnd<E>) {
        let (a, b) = metnos_proto::socket::pair().unwrap();
        let raw = |side, fd: OwnedFd| RawEnd { edge: E::ID, side, generation: 1, peer: None, fd };
        (AskerEnd::new(raw(Side::Asker, a)).unwrap(), AnswererEnd::new(raw(Side::Answerer, b)).unwrap())
    }

    fn run(test: impl Future<Output = ()>) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        LocalSet::new().block_on(&runtime, test);
    }

    fn client<E: Edge>(end: AskerEnd<E>) -> Rc<Client<E>> {
        let client = Rc::new(Client::<E>::default());
        client.attach(end).unwrap();
        client
    }

    fn sealed() -> Sealed {
        Sealed::new(b"words").unwrap()
    }

    fn check<T: std::fmt::Debug>(answer: Result<T, AskError>, role: &str) {
        let Err(AskError::Refused(refusal)) = answer else { panic!("{answer:?}") };
        assert_eq!(refusal.code, RefusalCode::Unavailable);
        assert!(refusal.why.contains(role) && !refusal.remedy.is_empty(), "{refusal:?}");
    }

    #[test]
    fn without_a_model_it_says_so_and_refuses_to_think_judge_and_draft() {
        run(async {
            let mind = Rc::new(Mind::new(Vec::new()));
            let (asker, answerer) = ends();
            tokio::task::spawn_local(planner_mind::serve(answerer, Rc::clone(&mind)));
            let planner = client::<PlannerMind>(asker);
            let (report, []) = planner.health(TraceId::NONE, MindHealth {}, []).await.unwrap();
            assert!(report.roles.is_empty() && report.says.contains("no language model is configured"), "{report:?}");
            let think = Think { turn: TurnId::NONE, thought: 1, role: "interface".into(), max_tokens: 1 };
            check(planner.think(TraceId::NONE, think, [sealed()]).await, "interface");

            let (asker, answerer) = ends();
            tokio::task::spawn_local(policyd_mind::serve(answerer, Rc::clone(&mind)));
            let judge = Judge { max_tokens: 1 };
            check(client::<PolicydMind>(asker).judge(TraceId::NONE, judge, [sealed()]).await, "judge");

            let (asker, answerer) = ends();
            tokio::task::spawn_local(syntd_mind::serve(answerer, Rc::clone(&mind)));
            let draft = Draft { turn: TurnId::NONE, thought: 1, max_tokens: 1 };
            check(client::<SyntdMind>(asker).draft(TraceId::NONE, draft, [sealed()]).await, "synth");
        });
    }

    #[test]
    fn a_role_is_never_served_by_the_model_of_another() {
        let role = RoleModel { role: "fast".into(), model: "x/y".into(), reachable: false, tools: true, context: 8192 };
        let mind = Mind::new(vec![role]);
        assert!(mind.report().says.contains("fast: x/y (does not answer)"));
        let No::Refused(refusal) = mind.no_model("interface") else { panic!() };
        assert!(refusal.why.contains("interface") && !refusal.why.contains("x/y"));
    }
}
