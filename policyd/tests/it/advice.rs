//! Executors that need a model's words, through the whole daemon: asked after the decision is on the disk, funded as a turn's
//! own thoughts are, handed to the one run that was decided on, and where there are none nothing runs.

use std::path::Path;

use crate::peers::mind::Says;
use crate::peers::sandbox::FakeExecutor;
use crate::peers::{BUDGETS, World, act, denied, ran, run, sealed};
use metnos_proto::ids::TraceId;
use metnos_proto::msg::common::Integrity;
use metnos_proto::msg::policyd::{Acted, EndTurn};
use serde_json::json;

const NO: TraceId = TraceId::NONE;
const ME: &str = "cli:uid:1000";
const MIND: &str = "[mind]\nrole = \"fast\"\ninstruction = \"Say it in a line.\"\nmax_tokens = 100\n\n[audit]";

fn adviser(change: impl Fn(String) -> String) -> FakeExecutor {
    let mut adviser = FakeExecutor::reader("llm_say");
    let manifest = adviser.manifest.replace("fs-read-workspace", "pure").replace("{ fs_read = [\"workspace/\"] }", "");
    adviser.manifest = change(manifest.replace("V = [\"/size\"]\n", "").replace("[audit]", MIND));
    adviser
}

/// A world with an executor that needs a model, with so many tokens for a day.
async fn world(folder: &Path, adviser: FakeExecutor, tokens: u32) -> World {
    BUDGETS.with(|set| set.borrow_mut().tokens_per_day = tokens);
    let world = World::settled(folder, vec![adviser.clone()], &[&adviser]).await;
    world.start_mind(1).await;
    world.log.borrow_mut().clear();
    world
}

fn place(log: &[String], beginning: &str) -> usize {
    log.iter().position(|line| line.starts_with(beginning)).unwrap_or_else(|| panic!("no {beginning}: {log:#?}"))
}

#[test]
fn model_advice_follows_decision_within_funds_and_reaches_one_run() {
    let folder = tempfile::tempdir().unwrap();
    run(async {
        let world = world(folder.path(), adviser(|same| same), 100_000).await;
        *world.mind.says.borrow_mut() = Says::Text("a line".to_owned());
        let (planner, turn) = (world.planner(1).await, world.say("say it").await);
        let arguments = json!({"text": "a long text"});
        let (acted, []) = planner.act(NO, act(turn, 1, "llm_say"), [sealed(&arguments)]).await.unwrap();
        assert_eq!(ran(acted).label.integrity, Integrity::Untrusted, "what a model says is nobody's word");
        world.until(&format!("cost actual {ME} 7 120")).await;
        let log = world.took();
        let order = [
            "decision",
            "fill llm_say",
            "cost estimate",
            "fund ",
            "assist fast",
            "asked fake/fake",
            "advised",
            "run c1",
        ];
        let places: Vec<usize> = order.iter().map(|beginning| place(&log, beginning)).collect();
        assert!(places.is_sorted(), "{log:#?}");
        assert!(log[places[4]].ends_with("{\"text\":\"a long text\"}"), "{log:#?}");
        assert!(log[places[6]].contains("\"text\":\"a line\""), "{log:#?}");
        planner.end_turn(NO, EndTurn { turn }, []).await.unwrap();
        world.until("end_fund").await;
    });
}

#[test]
fn advice_without_model_tokens_or_mind_runs_nothing_and_says_why() {
    for (says, tokens, rule) in [
        (Says::NoModel, 100_000, "mind.no_model"),
        (Says::Dies, 100_000, "peer.gone"),
        (Says::Text("a line".to_owned()), 0, "budget.tokens.day"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        run(async {
            let world = world(folder.path(), adviser(|same| same), tokens).await;
            *world.mind.says.borrow_mut() = says.clone();
            let (planner, turn) = (world.planner(1).await, world.say("say it").await);
            let (acted, []) = planner.act(NO, act(turn, 1, "llm_say"), [sealed(&json!({"text": "x"}))]).await.unwrap();
            match &acted {
                Acted::Denied(refusal) => assert!(!refusal.why.is_empty(), "{refusal:?}"),
                Acted::Ran(ran) => panic!("{says:?}: {ran:?}"),
            }
            assert_eq!(denied(acted), rule, "{says:?}");
            let log = world.took();
            assert!(!log.iter().any(|line| line.starts_with("run ")), "{says:?}: {log:#?}");
        });
    }
}

#[test]
fn adviser_that_vouches_or_has_other_capabilities_is_not_signed() {
    for change in [
        (|manifest: String| manifest.replace("default = \"X\"", "default = \"X\"\nV = [\"/size\"]"))
            as fn(String) -> String,
        |manifest| {
            manifest
                .replace("\"pure\"", "\"fs-read-workspace\"")
                .replace("capabilities = [  ]", "capabilities = [ { fs_read = [\"workspace/\"] } ]")
        },
        |manifest| manifest.replace("role = \"fast\"", "role = \"interface\""),
    ] {
        let folder = tempfile::tempdir().unwrap();
        run(async {
            let world = world(folder.path(), adviser(change), 100_000).await;
            let (planner, turn) = (world.planner(1).await, world.say("say it").await);
            let (acted, []) = planner.act(NO, act(turn, 1, "llm_say"), [sealed(&json!({"text": "x"}))]).await.unwrap();
            let rule = denied(acted);
            assert!(rule.starts_with("executor."), "{rule}");
        });
    }
}
