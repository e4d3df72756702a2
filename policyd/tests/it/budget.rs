//! Budgets through the whole daemon: refused before anything runs, counted in the same breath, kept over restarts, raised
//! by the owner alone.

use crate::peers::{BUDGETS, FakeExecutor, OWNER, World, denied, document, ran, run, sealed};
use metnos_proto::control::BudgetSettings;
use metnos_proto::edges::CtlPolicyd;
use metnos_proto::ids::TraceId;
use metnos_proto::link_async::Client;
use metnos_proto::msg::common::Refusal;
use metnos_proto::msg::policyd::{Acted, CheckPolicy, RunCall};
use metnos_proto::msg::vault_budget::{BudgetAsk, BudgetOf, RaiseBudget};
use serde_json::{Value, json};

const NO: TraceId = TraceId::NONE;

fn set(change: impl FnOnce(&mut BudgetSettings)) {
    BUDGETS.with(|set| {
        *set.borrow_mut() = BudgetSettings::default();
        change(&mut set.borrow_mut());
    });
}

async fn world(folder: &std::path::Path) -> World {
    let signed = folder.join("signed").exists();
    std::fs::write(folder.join("signed"), "").unwrap();
    let reader = FakeExecutor { signed, ..FakeExecutor::reader("fs_read") };
    let world = World::settled(folder, vec![reader.clone()], &[&reader]).await;
    world.took();
    world
}

async fn read(owner: &Client<CtlPolicyd>) -> Acted {
    let ask = RunCall { executor: "fs_read".into() };
    owner.run_call(NO, ask, [sealed(&json!({"path": "notes/a.md"}))]).await.unwrap().0.acted
}

fn refusal(acted: Acted) -> Refusal {
    match acted {
        Acted::Denied(refusal) => refusal,
        Acted::Ran(_) => panic!("it ran"),
    }
}

async fn budget(owner: &Client<CtlPolicyd>, ask: BudgetAsk) -> Result<Value, String> {
    document(owner.budget(NO, ask, []).await)
}

fn raise(principal: &str, budget: &str, limit: u64) -> BudgetAsk {
    let of = BudgetOf { principal: principal.into(), budget: budget.into() };
    BudgetAsk::Raise(RaiseBudget { of, limit, seconds: 3_600 })
}

async fn shown(owner: &Client<CtlPolicyd>, name: &str) -> (u64, u64) {
    let all = budget(owner, BudgetAsk::Show("owner".into())).await.unwrap();
    let row = all["budgets"].as_array().unwrap().iter().find(|row| row["budget"] == name).unwrap().clone();
    (row["used"].as_u64().unwrap(), row["limit"].as_u64().unwrap())
}

#[test]
fn daily_call_limit_warns_once_then_refuses_naming_the_command() {
    let folder = tempfile::tempdir().unwrap();
    set(|set| set.calls_per_day = 10);
    run(async {
        let world = world(folder.path()).await;
        let owner = world.owner(OWNER).await;
        for _ in 0..10 {
            ran(read(&owner).await);
        }
        let no = refusal(read(&owner).await);
        assert_eq!(no.rule, "budget.calls.day");
        assert_eq!(no.remedy, format!("`metnosctl budget raise cli:uid:{OWNER} calls.day 11 --for 1d`"));
        assert!(no.why.contains("`calls.day`") && no.why.contains("10"), "{}", no.why);
        let check = CheckPolicy { principal: "owner".into(), executor: "fs_read".into() };
        let (_, [told]) = owner.check_policy(NO, check, [sealed(&json!({"path": "notes/a.md"}))]).await.unwrap();
        let told: Value = serde_json::from_slice(&told.read().unwrap()).unwrap();
        assert_eq!(
            (told["verdict"].as_str(), told["rule"].as_str()),
            (Some("deny"), Some("budget.calls.day")),
            "{told:#}"
        );
        let took = world.took();
        assert_eq!(took.iter().filter(|line| line.starts_with("run ")).count(), 10);
        let warnings: Vec<&String> =
            took.iter().filter(|line| line.contains("of the budget calls.day is used")).collect();
        assert_eq!(warnings.len(), 1, "{took:?}");
        budget(&owner, raise("owner", "calls.day", 12)).await.unwrap();
        ran(read(&owner).await);
        assert_eq!(shown(&owner, "calls.day").await, (11, 12));
        let of = BudgetOf { principal: "owner".into(), budget: "calls.day".into() };
        budget(&owner, BudgetAsk::Restore(of.clone())).await.unwrap();
        assert_eq!(denied(read(&owner).await), "budget.calls.day");
        assert_eq!(budget(&owner, BudgetAsk::Restore(of)).await, Err("budget.unknown".into()));
        world.clock.set(world.clock.get() + 86_400_000);
        ran(read(&owner).await);
    });
}

#[test]
fn a_restart_gives_nothing_back() {
    let folder = tempfile::tempdir().unwrap();
    set(|set| set.calls_per_day = 40);
    run(async {
        let world = world(folder.path()).await;
        let owner = world.owner(OWNER).await;
        for _ in 0..20 {
            ran(read(&owner).await);
        }
        budget(&owner, raise("owner", "writes.day", 7)).await.unwrap();
    });
    // It was killed: what was written down ahead of the calls counts as made.
    run(async {
        let world = world(folder.path()).await;
        let owner = world.owner(OWNER).await;
        let (used, limit) = shown(&owner, "calls.day").await;
        assert!((20..40).contains(&used) && limit == 40, "{used}");
        assert_eq!(shown(&owner, "writes.day").await.1, 7);
        for _ in used..40 {
            ran(read(&owner).await);
            world.policy.keep_all_used().await;
        }
        assert_eq!(denied(read(&owner).await), "budget.calls.day");
    });
}

#[test]
fn an_orderly_end_gives_back_what_was_only_written_down_ahead() {
    let folder = tempfile::tempdir().unwrap();
    set(|_| {});
    run(async {
        let world = world(folder.path()).await;
        let owner = world.owner(OWNER).await;
        for _ in 0..5 {
            ran(read(&owner).await);
        }
        world.policy.drain(std::time::Duration::from_secs(1)).await;
        world.policy.keep_all_used().await;
    });
    run(async {
        let world = world(folder.path()).await;
        let owner = world.owner(OWNER).await;
        assert_eq!(shown(&owner, "calls.day").await.0, 5);
    });
}

#[test]
fn money_is_reserved_before_settled_after_and_refused_at_the_cap() {
    let folder = tempfile::tempdir().unwrap();
    set(|set| {
        set.prices = vec!["fs_read 30000".into()];
        set.day_micro = 70_000;
    });
    run(async {
        let world = world(folder.path()).await;
        let owner = world.owner(OWNER).await;
        ran(read(&owner).await);
        let took = world.took();
        let costs: Vec<&String> =
            took.iter().filter(|line| line.starts_with("cost ") || line.starts_with("run ")).collect();
        let mine = |stage: &str| format!("cost {stage} cli:uid:{OWNER} 30000");
        assert_eq!(costs, [&mine("estimate"), &"run c1 fs_read".to_owned(), &mine("actual")]);
        ran(read(&owner).await);
        let no = refusal(read(&owner).await);
        assert_eq!(no.rule, "budget.money.day");
        assert!(no.why.contains("0.090000") && no.why.contains("0.070000"), "{}", no.why);
        assert!(no.remedy.contains("budget raise cli:uid:1000 money.day 90000"), "{}", no.remedy);
        assert_eq!(shown(&owner, "money.day").await, (60_000, 70_000));
    });
}

#[test]
fn many_at_once_cannot_spend_the_same_money() {
    let folder = tempfile::tempdir().unwrap();
    set(|set| {
        set.prices = vec!["fs_read 30000".into()];
        set.day_micro = 70_000;
    });
    run(async {
        let world = world(folder.path()).await;
        let mut calls = tokio::task::JoinSet::new();
        for _ in 0..8 {
            let owner = world.owner(OWNER).await;
            calls.spawn_local(async move { read(&owner).await });
        }
        let all = calls.join_all().await;
        assert_eq!(all.iter().filter(|acted| matches!(acted, Acted::Ran(_))).count(), 2);
    });
}

#[test]
fn expensive_call_needs_approval_and_paid_call_needs_the_ledger() {
    let folder = tempfile::tempdir().unwrap();
    set(|set| set.prices = vec!["fs_read 200000".into()]);
    run(async {
        let world = world(folder.path()).await;
        let owner = world.owner(OWNER).await;
        let no = refusal(read(&owner).await);
        assert_eq!(no.rule, "approval.waiting");
        assert!(no.why.contains("0.200000"), "{}", no.why);
        assert!(!world.took().iter().any(|line| line.starts_with("run ") || line.starts_with("cost ")));
    });
}

#[test]
fn only_owner_changes_limits_and_never_those_of_a_manifest() {
    let folder = tempfile::tempdir().unwrap();
    set(|_| {});
    run(async {
        let world = world(folder.path()).await;
        let stranger = world.owner(OWNER + 1).await;
        assert_eq!(budget(&stranger, raise("owner", "calls.day", 99)).await, Err("principal.unpaired".into()));
        let owner = world.owner(OWNER).await;
        for (principal, name) in
            [("owner", "executor.writes"), ("owner", "no.such"), ("house", "calls.day"), ("owner", "money.house_day")]
        {
            assert_eq!(budget(&owner, raise(principal, name, 9)).await, Err("budget.unknown".into()), "{name}");
        }
        budget(&owner, raise("house", "money.house_day", 9)).await.unwrap();
        assert_eq!(budget(&owner, raise("nobody", "calls.day", 9)).await, Err("principal.sender".into()));
    });
}
