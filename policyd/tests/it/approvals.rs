//! What waits for the owner's word, through the whole daemon: which words count, and that nothing
//! happens by any other.

use crate::peers::{FakeExecutor, World, act, denied, ran, run, sealed};
use metnos_policyd::shares::CARDS;
use metnos_proto::edge::RpcError;
use metnos_proto::edges::CtlPolicyd;
use metnos_proto::ids::TraceId;
use metnos_proto::link_async::Client;
use metnos_proto::msg::common::{Channel, Level, Refusal, Standing};
use metnos_proto::msg::people::{ApprovePairing, AutonomyAsk, Pair, Paired, PairingAsk, SetLevel};
use metnos_proto::msg::policyd::{
    Acted, Answer, AnswerCard, Approvals, CardsHere, Decide, EndTurn, RegisterPrompt, Release, RunCall, ShowApproval,
};
use metnos_proto::payload::Sealed;
use serde_json::{Value, json};

const NO: TraceId = TraceId::NONE;
const OWNER: u32 = crate::peers::OWNER;

/// An executor that removes what a path names.
fn remover() -> FakeExecutor {
    let properties = json!({"path": {"type": "string", "maxLength": 4096}, "folder": {"type": "boolean"}});
    let manifest = crate::peers::testing::manifest_text("fs_delete", &[("/path", "path"), ("/folder", "flag")])
        .replace("class = \"read\"", "class = \"destroy\"")
        .replace("side_effects = false", "side_effects = true")
        .replace("fs-read-workspace", "fs-write-workspace")
        .replace("fs_read = [", "fs_write = [")
        .replace("[effects]", "quotas = { writes_per_day = 1000, bytes_per_day = 1000000 }\n\n[effects]");
    FakeExecutor {
        manifest,
        schema: crate::peers::testing::schema_text(&properties, &["path"]),
        ..FakeExecutor::reader("fs_delete")
    }
}

/// What counts for a card: all of it, also what is hidden.
fn counter() -> FakeExecutor {
    let properties = json!({"path": {"type": "string", "minLength": 1, "maxLength": 4096}, "all": {"type": "boolean"}});
    FakeExecutor {
        manifest: crate::peers::testing::manifest_text("fs_count", &[("/path", "path"), ("/all", "flag")]),
        schema: crate::peers::testing::schema_text(&properties, &["path", "all"]),
        ..FakeExecutor::reader("fs_count")
    }
}

pub(crate) async fn world(folder: &std::path::Path) -> World {
    let (remover, counter, reader) = (remover(), counter(), FakeExecutor::reader("fs_read"));
    let all = vec![remover.clone(), counter.clone(), reader.clone()];
    let world = World::settled(folder, all, &[&remover, &counter, &reader]).await;
    *world.sandbox.result.borrow_mut() = json!({"ok": true, "files": 681, "folders": 3, "bytes": 9, "covered": 0});
    world.log.borrow_mut().clear();
    world
}

fn rule(error: RpcError) -> String {
    match error {
        RpcError::Refused(refusal) => refusal.rule,
        other @ (RpcError::Gone(_) | RpcError::Late { .. } | RpcError::Violation(..) | RpcError::Unsendable(_)) => {
            panic!("{other}")
        }
    }
}

async fn delete(owner: &Client<CtlPolicyd>, arguments: &Value) -> Acted {
    let ask = RunCall { executor: "fs_delete".into() };
    owner.run_call(NO, ask, [sealed(arguments)]).await.unwrap().0.acted
}

pub(crate) async fn cards(owner: &Client<CtlPolicyd>) -> Vec<Value> {
    let (_, [list]) = owner.approvals(NO, Approvals {}, []).await.unwrap();
    serde_json::from_slice(&list.read().unwrap()).unwrap()
}

async fn decide(
    owner: &Client<CtlPolicyd>,
    card: &Value,
    digest: Option<&str>,
    answer: Answer,
) -> Result<Vec<Acted>, String> {
    let digest = digest.unwrap_or_else(|| card["digest"].as_str().unwrap()).to_owned();
    let ask = Decide { id: card["id"].as_str().unwrap().to_owned(), digest, answer };
    let answered = owner.decide_approval(NO, ask, []).await;
    answered.map(|(answered, _)| answered.runs.into_iter().map(|run| run.acted).collect()).map_err(rule)
}

async fn approve(owner: &Client<CtlPolicyd>, card: &Value, digest: Option<&str>) -> Result<Acted, String> {
    decide(owner, card, digest, Answer::Once).await.map(|mut acted| acted.remove(0))
}

fn runs(world: &World) -> usize {
    world.took().iter().filter(|line| line.starts_with("run") && line.ends_with("fs_delete")).count()
}

#[test]
fn undoable_named_file_is_deleted_and_folder_needs_approval() {
    let folder = tempfile::tempdir().unwrap();
    run(async {
        let world = world(folder.path()).await;
        let owner = world.owner(OWNER).await;
        ran(delete(&owner, &json!({"path": "notes/a.md"})).await);
        assert_eq!(runs(&world), 1);
        let Acted::Denied(Refusal { rule, why, remedy, .. }) =
            delete(&owner, &json!({"path": "old", "folder": true})).await
        else {
            panic!("it ran");
        };
        assert_eq!(rule, "approval.waiting");
        assert!(why.contains("681 files") && remedy.contains("approval approve"), "{why} {remedy}");
        let took = world.took();
        assert!(took.iter().any(|line| line.ends_with("fs_count")), "{took:?}");
        assert!(!took.iter().any(|line| line.starts_with("run") && line.ends_with("fs_delete")), "{took:?}");
        let cards = cards(&owner).await;
        assert_eq!(cards.len(), 1);
        let act = &cards[0]["acts"][0];
        assert_eq!((act["rule"].as_str(), cards[0]["state"].as_str()), (Some("destroy.many"), Some("waiting")));
        assert_eq!(act["count"], json!({"files": 681, "folders": 3, "bytes": 9, "covered": 0}));
        assert_eq!(act["arguments"], json!({"path": "old", "folder": true}));
        assert_eq!(act["always"], Value::Null, "a whole folder is asked for each time");
    });
}

#[test]
fn a_word_counts_once_and_only_for_exactly_what_was_shown() {
    let folder = tempfile::tempdir().unwrap();
    run(async {
        let world = world(folder.path()).await;
        let owner = world.owner(OWNER).await;
        denied(delete(&owner, &json!({"path": "old", "folder": true})).await);
        let card = cards(&owner).await.remove(0);
        let digest = card["digest"].as_str().unwrap();
        let flipped = if digest.ends_with('0') { "1" } else { "0" };
        let altered = format!("{}{flipped}", &digest[..digest.len() - 1]);
        assert_eq!(approve(&owner, &card, Some(&altered)).await.unwrap_err(), "approvals.altered");
        assert_eq!(
            approve(&owner, &json!({"id": "none", "digest": "x"}), None).await.unwrap_err(),
            "approvals.unknown"
        );
        let stranger = world.owner(OWNER + 1).await;
        assert_eq!(approve(&stranger, &card, None).await.unwrap_err(), "principal.unpaired");
        assert_eq!(stranger.approvals(NO, Approvals {}, []).await.map_err(rule).unwrap_err(), "principal.unpaired");
        assert_eq!(runs(&world), 0, "none of these did anything");
        let both = tokio::join!(approve(&owner, &card, None), approve(&owner, &card, None));
        assert_eq!(usize::from(both.0.is_ok()) + usize::from(both.1.is_ok()), 1, "{both:?}");
        assert_eq!(approve(&owner, &card, None).await.unwrap_err(), "approvals.answered");
        assert_eq!(runs(&world), 1);
        let arguments = world.sandbox.arguments.borrow().last().cloned().unwrap();
        assert_eq!(serde_json::from_slice::<Value>(&arguments).unwrap(), card["acts"][0]["arguments"]);
    });
}

#[test]
fn a_card_expires_and_a_no_is_final() {
    let folder = tempfile::tempdir().unwrap();
    run(async {
        let world = world(folder.path()).await;
        let owner = world.owner(OWNER).await;
        denied(delete(&owner, &json!({"path": "old", "folder": true})).await);
        denied(delete(&owner, &json!({"path": "old", "folder": true})).await);
        assert_eq!(cards(&owner).await.len(), 1, "the same act has one card");
        let card = cards(&owner).await.remove(0);
        world.clock.set(metnos_policyd::approvals::CALL_EXPIRES_MS);
        assert_eq!(approve(&owner, &card, None).await.unwrap_err(), "approvals.expired");
        assert_eq!(cards(&owner).await[0]["state"], "expired");
        denied(delete(&owner, &json!({"path": "old", "folder": true})).await);
        let card = cards(&owner).await.into_iter().find(|card| card["state"] == "waiting").unwrap();
        let id = card["id"].as_str().unwrap().to_owned();
        assert!(decide(&owner, &card, None, Answer::No).await.unwrap().is_empty());
        assert_eq!(approve(&owner, &card, None).await.unwrap_err(), "approvals.answered");
        assert_eq!(decide(&owner, &card, None, Answer::No).await.unwrap_err(), "approvals.answered");
        let (_, [shown]) = owner.show_approval(NO, ShowApproval { id }, []).await.unwrap();
        let shown: Value = serde_json::from_slice(&shown.read().unwrap()).unwrap();
        assert_eq!((shown["state"].as_str(), shown["answered_by"].as_str()), (Some("denied"), Some("cli:uid:1000")));
        assert_eq!(runs(&world), 0);
    });
}

#[test]
fn a_card_survives_a_restart_and_so_does_its_answer() {
    let folder = tempfile::tempdir().unwrap();
    let pool = run(async {
        let world = world(folder.path()).await;
        denied(delete(&*world.owner(OWNER).await, &json!({"path": "old", "folder": true})).await);
        world.sandbox.executors.borrow().clone()
    });
    for waits in [true, false] {
        run(async {
            let world = World::settled(folder.path(), pool.clone(), &[]).await;
            let owner = world.owner(OWNER).await;
            let card = cards(&owner).await.remove(0);
            let answer = approve(&owner, &card, None).await;
            if waits {
                ran(answer.unwrap());
            } else {
                assert_eq!(answer.unwrap_err(), "approvals.answered");
            }
            assert_eq!(runs(&world), usize::from(waits));
        });
    }
}

#[test]
fn a_hijacked_planner_gets_a_card_and_no_effect() {
    let folder = tempfile::tempdir().unwrap();
    run(async {
        let world = world(folder.path()).await;
        let planner = world.planner(1).await;
        let turn = world.say("leggi notes/a.md").await;
        let read = planner.act(NO, act(turn, 1, "fs_read"), [sealed(&json!({"path": "notes/a.md"}))]).await.unwrap().0;
        let handle = ran(read).handle;
        planner.release(NO, Release { turn, handle }, []).await.unwrap();
        let ask = async |place, arguments: Value| {
            planner.act(NO, act(turn, place, "fs_delete"), [sealed(&arguments)]).await.unwrap().0
        };
        assert_eq!(denied(ask(2, json!({"path": "notes/a.md"})).await), "approval.waiting");
        assert_eq!(denied(ask(3, json!({"path": "SOUL.md"})).await), "law.constitution");
        assert_eq!(denied(ask(4, json!({"path": "MEMORY.md"})).await), "workspace.core");
        assert_eq!(denied(ask(5, json!({"path": "/etc/passwd"})).await), "guard.path");
        for place in 6..11 {
            assert_eq!(denied(ask(place, json!({"path": format!("notes/{place}.md")})).await), "approval.waiting");
        }
        assert_eq!(denied(ask(11, json!({"path": "notes/11.md"})).await), "turn.questions");
        assert_eq!(denied(ask(12, json!({"path": "notes/x.md"})).await), "turn.stopped");
        let read = planner.act(NO, act(turn, 13, "fs_read"), [sealed(&json!({"path": "notes/a.md"}))]).await.unwrap().0;
        assert_eq!(denied(read), "turn.stopped", "the turn is over, and not only its questions");
        let owner = world.owner(OWNER).await;
        let cards = cards(&owner).await;
        assert_eq!(cards.len(), 1, "consecutive questions share one card");
        let acts = cards[0]["acts"].as_array().unwrap();
        assert_eq!(acts.len(), metnos_policy_questions(), "a turn puts so many questions and no more");
        assert!(acts.iter().all(|act| act["rule"] == "intent.none" && act["fields"][0]["label"] == "untrusted"));
        assert!(acts.iter().all(|act| act["always"] == Value::Null), "under taint every question is put each time");
        assert_eq!(runs(&world), 0);
    });
}

/// The most questions of one turn.
fn metnos_policy_questions() -> usize {
    usize::try_from(metnos_policy::evidence::context::MAX_QUESTIONS).unwrap()
}

#[test]
fn approved_act_is_not_done_when_its_target_changed() {
    let folder = tempfile::tempdir().unwrap();
    run(async {
        let world = world(folder.path()).await;
        let owner = world.owner(OWNER).await;
        denied(delete(&owner, &json!({"path": "old", "folder": true})).await);
        let card = cards(&owner).await.remove(0);
        let set_aside = metnos_proto::msg::sandboxd::Quarantined { id: remover().id(), why: "a bit flipped".into() };
        world.sandbox.tell(metnos_proto::edges::policyd_sandboxd::Note::Quarantined(set_aside)).await;
        world.until("lost").await;
        assert_eq!(approve(&owner, &card, None).await.unwrap_err(), "approvals.changed");
        assert_eq!(runs(&world), 0);
    });
}

/// Pairs a person as a guest, and has him ask for so many acts that need the owner's word; the rules of the refusals.
async fn guest_asks(world: &World, sender: &str, planner: u32, acts: u16) -> Vec<String> {
    let (door, owner) = (world.door().await, world.owner(OWNER).await);
    let ask = Pair { channel: Channel::Telegram, sender: sender.to_owned(), code: String::new() };
    let (Paired::Code(code), []) = door.pair(NO, ask, []).await.unwrap() else { panic!("no code") };
    let approve = ApprovePairing {
        channel: Channel::Telegram,
        code: code.code,
        standing: Standing::Guest,
        person: String::new(),
    };
    owner.pairing(NO, PairingAsk::Approve(approve), []).await.unwrap();
    let planner = world.planner(planner).await;
    let mut rules = Vec::new();
    for n in 0..acts {
        let ask = RegisterPrompt { channel: Channel::Telegram, sender: sender.to_owned() };
        let turn = match door.register_prompt(NO, ask, [Sealed::new(b"away with it").unwrap()]).await {
            Ok((registered, [])) => registered.turn,
            Err(error) => {
                rules.push(rule(error));
                continue;
            }
        };
        let path = json!({"path": format!("notes/{sender}-{n}.md")});
        let (acted, []) = planner.act(NO, act(turn, 1, "fs_delete"), [sealed(&path)]).await.unwrap();
        rules.push(denied(acted));
        planner.end_turn(NO, EndTurn { turn }, []).await.unwrap();
    }
    rules
}

#[test]
fn a_guest_who_fills_his_places_for_cards_leaves_the_owner_his() {
    let folder = tempfile::tempdir().unwrap();
    run(async {
        let world = world(folder.path()).await;
        let waits = |rules: &[String]| rules.iter().filter(|rule| *rule == "approval.waiting").count();
        let first = guest_asks(&world, "101", 11, 12).await;
        assert_eq!((waits(&first), first.last().map(String::as_str)), (CARDS.one, Some("approvals.full")), "{first:?}");
        let mut all = waits(&first);
        for (guest, link) in [("102", 12), ("103", 13), ("104", 14), ("105", 15)] {
            all += waits(&guest_asks(&world, guest, link, 12).await);
        }
        assert_eq!(all, CARDS.others, "all guests together have no more than that");
        let owner = world.owner(OWNER).await;
        for n in 0..CARDS.all - CARDS.others {
            let rule = denied(delete(&owner, &json!({"path": format!("old{n}"), "folder": true})).await);
            assert_eq!(rule, "approval.waiting", "the owner is served");
        }
        assert_eq!(cards(&owner).await.iter().filter(|card| card["state"] == "waiting").count(), CARDS.all);
    });
}

#[test]
fn the_owner_decides_a_guests_card_where_he_is_and_a_guest_nobodys() {
    let folder = tempfile::tempdir().unwrap();
    run(async {
        let world = world(folder.path()).await;
        guest_asks(&world, "101", 11, 1).await;
        guest_asks(&world, "102", 12, 1).await;
        let (door, owner) = (world.door().await, world.owner(OWNER).await);
        let here = |channel, sender: &str| CardsHere { channel, sender: sender.to_owned() };
        let seen = async |ask: CardsHere| -> Vec<Value> {
            let (_, [list]) = door.cards_here(NO, ask, []).await.unwrap();
            serde_json::from_slice(&list.read().unwrap()).unwrap()
        };
        let own = seen(here(Channel::Telegram, "101")).await;
        assert_eq!(own.len(), 1, "a guest sees his own");
        assert_eq!((&own[0]["hard"], &own[0]["acts"][0]["count"]), (&json!(true), &Value::Null));
        let terminal = format!("uid:{OWNER}");
        let owners = seen(here(Channel::Cli, &terminal)).await;
        assert_eq!(owners.len(), 2);
        assert!(owners.iter().all(|card| card["hard"] == false && card["here"] == true), "{owners:#?}");
        let card = owners.iter().find(|card| card["principal"] == "telegram:101").unwrap();
        assert_eq!(card["acts"][0]["count"]["files"], 681);
        let answer = async |channel, sender: &str, answer| {
            let (id, digest) = (card["id"].as_str().unwrap().into(), card["digest"].as_str().unwrap().into());
            let ask = AnswerCard { channel, sender: sender.to_owned(), id, digest, answer, code: String::new() };
            door.answer_card(NO, ask, []).await.map(|(answered, _)| answered.state).map_err(rule)
        };
        // Neither who asks nor another guest, nor an owner who may only read here.
        assert_eq!(answer(Channel::Telegram, "101", Answer::Once).await, Err("approvals.hard".into()));
        assert_eq!(answer(Channel::Telegram, "102", Answer::Once).await, Err("approvals.unknown".into()));
        let set = |level| SetLevel { principal: "owner".into(), level, seconds: 0 };
        owner.autonomy(NO, AutonomyAsk::Set(set(Level::ReadOnly)), []).await.unwrap();
        assert!(answer(Channel::Cli, &terminal, Answer::Once).await.is_err());
        owner.autonomy(NO, AutonomyAsk::Set(set(Level::Supervised)), []).await.unwrap();
        assert_eq!(
            answer(Channel::Cli, &terminal, Answer::Never).await,
            Err("approvals.hard".into()),
            "at the machine"
        );
        assert_eq!(runs(&world), 0);
        assert_eq!(answer(Channel::Cli, &terminal, Answer::Once).await, Ok("approved".into()));
        assert_eq!(runs(&world), 1);
        assert_eq!(answer(Channel::Cli, &terminal, Answer::Once).await, Err("approvals.answered".into()), "once");
    });
}
