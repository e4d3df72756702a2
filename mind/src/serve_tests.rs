//! What mind answers over real links, without a server to ask: the servers stand in the tests of the whole set.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::future::Future;
use std::time::Duration;

use metnos_proto::control::{ModelSettings, RoleSetting};
use metnos_proto::edge::{Edge, RpcError};
use metnos_proto::ids::{TraceId, TurnId};
use metnos_proto::link_async::Client;
use metnos_proto::prompt::{Message, Prompt};
use tokio::task::LocalSet;

use super::*;
use crate::servers::registry::Registry;
use crate::servers::substrate::{Substrate, Timeouts};

fn run(test: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    LocalSet::new().block_on(&runtime, test);
}

fn client<E: Edge>(end: metnos_proto::edge::AskerEnd<E>) -> Rc<Client<E>> {
    let client = Rc::new(Client::<E>::default());
    client.attach(end).unwrap();
    client
}

fn prompt() -> Sealed {
    let prompt = Prompt { messages: vec![Message::User { text: "hello".into() }], ..Prompt::default() };
    Sealed::new(&serde_json::to_vec(&prompt).unwrap()).unwrap()
}

fn rule<T: std::fmt::Debug>(answer: Result<T, RpcError>) -> (String, Refusal) {
    let Err(RpcError::Refused(refusal)) = answer else { panic!("{answer:?}") };
    (refusal.rule.clone(), refusal)
}

/// A mind whose one substrate has no client.
fn mind() -> Rc<Mind> {
    let settings = ModelSettings {
        substrates: vec!["a openai http://127.0.0.1:9/v1".into()],
        roles: vec![RoleSetting { role: "interface".into(), models: vec!["a/m".into()] }],
        ..ModelSettings::default()
    };
    let registry = Registry::read(&settings).unwrap();
    let second = Duration::from_secs(1);
    let line = registry.substrates[0].clone();
    let patience = Timeouts { first: second, between: second };
    let one = Substrate::new(line, 2, patience, Err("no client".into()), Err("no key".into()));
    Rc::new(Mind::new(registry, vec![one]))
}

fn think(turn: TurnId, thought: u32, role: &str) -> Think {
    Think { turn, thought, role: role.into(), max_tokens: 10 }
}

#[test]
fn without_a_model_it_says_so_and_refuses_to_think_judge_and_draft() {
    run(async {
        let mind = Rc::new(Mind::new(Registry::default(), Vec::new()));
        let (asker, answerer) = metnos_proto::edge::pair(1, None).unwrap();
        tokio::task::spawn_local(planner_mind::serve(answerer, Rc::clone(&mind)));
        let planner = client::<PlannerMind>(asker);
        let (report, []) = planner.health(TraceId::NONE, MindHealth {}, []).await.unwrap();
        assert!(report.roles.is_empty() && report.says.contains("no language model is configured"), "{report:?}");
        let asked = think(TurnId::new(), 1, "interface");
        let (name, refusal) = rule(planner.think(TraceId::NONE, asked, [prompt()]).await);
        assert!(name == "mind.no_model" && refusal.why.contains("interface") && !refusal.remedy.is_empty());

        let (asker, answerer) = metnos_proto::edge::pair(1, None).unwrap();
        tokio::task::spawn_local(policyd_mind::serve(answerer, Rc::clone(&mind)));
        let judge = Judge { max_tokens: 1 };
        assert_eq!(rule(client::<PolicydMind>(asker).judge(TraceId::NONE, judge, [prompt()]).await).0, "mind.no_model");

        let (asker, answerer) = metnos_proto::edge::pair(1, None).unwrap();
        tokio::task::spawn_local(syntd_mind::serve(answerer, Rc::clone(&mind)));
        let draft = Draft { turn: TurnId::new(), thought: 1, max_tokens: 1 };
        assert_eq!(rule(client::<SyntdMind>(asker).draft(TraceId::NONE, draft, [prompt()]).await).0, "mind.no_model");
    });
}

#[test]
fn thought_needs_funded_turn_own_role_and_valid_prompt() {
    run(async {
        let mind = mind();
        let (asker, answerer) = metnos_proto::edge::pair(1, None).unwrap();
        tokio::task::spawn_local(planner_mind::serve(answerer, Rc::clone(&mind)));
        let planner = client::<PlannerMind>(asker);
        let turn = TurnId::new();
        let ask = async |thought, role: &str, sealed| {
            rule(planner.think(TraceId::NONE, think(turn, thought, role), [sealed]).await).0
        };
        assert_eq!(ask(1, "interface", prompt()).await, "mind.fund");
        assert_eq!(ask(1, "judge", prompt()).await, "mind.role");
        assert_eq!(ask(1, "fast", prompt()).await, "mind.no_model");

        let (asker, answerer) = metnos_proto::edge::pair(1, None).unwrap();
        tokio::task::spawn_local(policyd_mind::serve(answerer, Rc::clone(&mind)));
        let policyd = client::<PolicydMind>(asker);
        let mut notes = policyd.take_notes().unwrap();
        let (funded, []) =
            policyd.fund(TraceId::NONE, Fund { turn, tokens: 1_000, micro: 0, drafts: false }, []).await.unwrap();
        assert_eq!(funded, Funded { tokens: 0, micro: 0 });
        for bad in
            ["{}", "{\"system\":[],\"tools\":[],\"messages\":[],\"schema\":null,\"temperature\":null}", "no json"]
        {
            assert_eq!(ask(1, "interface", Sealed::new(bad.as_bytes()).unwrap()).await, "mind.prompt", "{bad}");
        }
        assert_eq!(ask(2, "interface", prompt()).await, "mind.unreachable");
        let policyd_mind::Note::ThoughtUsed(note) = notes.recv().await.unwrap();
        assert_eq!(
            (note.turn, note.thought, note.role.as_str(), note.failed.as_str()),
            (turn, 2, "interface", "unreachable")
        );
        assert_eq!(note.usage.tokens(), 0);
        assert_eq!(ask(2, "interface", prompt()).await, "mind.thought");
        let _over = policyd.end_fund(TraceId::NONE, EndFund { turn }, []).await.unwrap();
        assert_eq!(ask(3, "interface", prompt()).await, "mind.fund");
    });
}

#[test]
fn usage_without_policyd_is_reported_to_the_next_which_must_fund_anew() {
    run(async {
        let mind = mind();
        let (asker, answerer) = metnos_proto::edge::pair(1, None).unwrap();
        tokio::task::spawn_local(planner_mind::serve(answerer, Rc::clone(&mind)));
        let planner = client::<PlannerMind>(asker);
        let turn = TurnId::new();
        let (asker, answerer) = metnos_proto::edge::pair(1, None).unwrap();
        let serving = tokio::task::spawn_local(policyd_mind::serve(answerer, Rc::clone(&mind)));
        let policyd = client::<PolicydMind>(asker);
        let fund = Fund { turn, tokens: 1_000, micro: 0, drafts: false };
        let _funded = policyd.fund(TraceId::NONE, fund.clone(), []).await.unwrap();
        drop(policyd);
        serving.abort();
        let _ended = serving.await;
        let asked = planner.think(TraceId::NONE, think(turn, 1, "interface"), [prompt()]).await;
        assert_eq!(rule(asked).0, "mind.unreachable");

        let (asker, answerer) = metnos_proto::edge::pair(2, None).unwrap();
        tokio::task::spawn_local(policyd_mind::serve(answerer, Rc::clone(&mind)));
        let policyd = client::<PolicydMind>(asker);
        let mut notes = policyd.take_notes().unwrap();
        let other = Fund { turn: TurnId::new(), ..fund };
        let _funded = policyd.fund(TraceId::NONE, other, []).await.unwrap();
        let policyd_mind::Note::ThoughtUsed(note) = notes.recv().await.unwrap();
        assert_eq!((note.turn, note.thought), (turn, 1));
        let asked = planner.think(TraceId::NONE, think(turn, 2, "interface"), [prompt()]).await;
        assert_eq!(rule(asked).0, "mind.fund");
    });
}

#[test]
fn a_key_of_no_substrate_is_refused_and_never_repeated() {
    run(async {
        let mind = mind();
        let key = Sealed::new(b"sk-secret-secret").unwrap();
        let refusal = mind.put("b", &key).unwrap_err();
        assert!(refusal.rule == "mind.key" && !format!("{refusal:?}").contains("sk-secret"), "{refusal:?}");
        assert!(mind.put("a", &key).unwrap_err().why.contains("no key"));
        assert!(!format!("{mind:?}").contains("sk-secret"));
    });
}
