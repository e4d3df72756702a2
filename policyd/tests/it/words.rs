//! What the owner says on a card, through the whole daemon: once, for a turn, always, never; over a channel,
//! at the machine, or with a one-time code; and that each act of a card is done at most once.

use crate::peers::{FakeExecutor, World, act, denied, ran, run, sealed};
use metnos_policyd::approvals::totp;
use metnos_proto::edge::RpcError;
use metnos_proto::edges::CtlPolicyd;
use metnos_proto::ids::{TraceId, TurnId};
use metnos_proto::link_async::Client;
use metnos_proto::msg::common::Channel;
use metnos_proto::msg::policyd::{
    Acted, Answer, AnswerCard, Approvals, CodesConfirm, CodesEnrol, Decide, Grants, Release, RevokeGrant,
};
use serde_json::{Value, json};

const NO: TraceId = TraceId::NONE;
const OWNER: u32 = crate::peers::OWNER;

/// An executor that removes what a path names, and can be undone.
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

async fn world(folder: &std::path::Path) -> World {
    let (remover, reader) = (remover(), FakeExecutor::reader("fs_read"));
    let world = World::settled(folder, vec![remover.clone(), reader.clone()], &[&remover, &reader]).await;
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

async fn cards(owner: &Client<CtlPolicyd>) -> Vec<Value> {
    let (_, [list]) = owner.approvals(NO, Approvals {}, []).await.unwrap();
    serde_json::from_slice(&list.read().unwrap()).unwrap()
}

async fn decide(owner: &Client<CtlPolicyd>, card: &Value, answer: Answer) -> Result<Vec<Acted>, String> {
    let text = |name: &str| card[name].as_str().unwrap().to_owned();
    let answered = owner.decide_approval(NO, Decide { id: text("id"), digest: text("digest"), answer }, []).await;
    answered.map(|(answered, _)| answered.runs.into_iter().map(|run| run.acted).collect()).map_err(rule)
}

fn runs(world: &World) -> usize {
    let log = world.log.borrow();
    log.iter().filter(|line| line.starts_with("run") && line.ends_with("fs_delete")).count()
}

/// A planner's act of deleting; its rule when it is denied.
async fn delete(world: &World, turn: TurnId, place: u16, path: &str) -> Result<(), String> {
    let planner = world.planner(1).await;
    match planner.act(NO, act(turn, place, "fs_delete"), [sealed(&json!({ "path": path }))]).await.unwrap().0 {
        Acted::Ran(_) => Ok(()),
        Acted::Denied(refusal) => Err(refusal.rule),
    }
}

/// Questions of one turn of the planner's: three files that the owner's words do not name.
async fn three_questions(world: &World) -> TurnId {
    let turn = world.say("metti in ordine").await;
    for (place, path) in [(1, "notes/a.md"), (2, "notes/b.md"), (3, "notes/c.md")] {
        assert_eq!(delete(world, turn, place, path).await.unwrap_err(), "approval.waiting");
    }
    turn
}

#[test]
fn consecutive_questions_share_one_card_and_each_act_on_it_is_done_once() {
    let folder = tempfile::tempdir().unwrap();
    run(async {
        let world = world(folder.path()).await;
        let owner = world.owner(OWNER).await;
        three_questions(&world).await;
        let card = cards(&owner).await.remove(0);
        let paths: Vec<&str> =
            card["acts"].as_array().unwrap().iter().map(|act| act["arguments"]["path"].as_str().unwrap()).collect();
        assert_eq!(paths, ["notes/a.md", "notes/b.md", "notes/c.md"]);
        // The first act fails: the others are not begun, and can be gone on with.
        *world.sandbox.result.borrow_mut() = json!({"ok": false, "error": {"class": "NotFound", "message": "no"}});
        assert_eq!(decide(&owner, &card, Answer::Once).await.unwrap().len(), 1);
        let half = cards(&owner).await.remove(0);
        let seen = (half["state"].as_str(), half["begun"].as_u64());
        assert_eq!(seen, (Some("approved"), Some(1)), "half-done is visible");
        assert_eq!(decide(&owner, &half, Answer::No).await.unwrap_err(), "approvals.answered");
        *world.sandbox.result.borrow_mut() = json!({"ok": true});
        let both = tokio::join!(decide(&owner, &half, Answer::Once), decide(&owner, &half, Answer::Once));
        let went = |answer: &Result<Vec<Acted>, String>| answer.as_ref().map_or(0, Vec::len);
        assert_eq!(went(&both.0) + went(&both.1), 2, "{both:?}");
        assert_eq!(decide(&owner, &half, Answer::Once).await.unwrap_err(), "approvals.answered");
        let done = world.sandbox.arguments.borrow();
        let mut deleted: Vec<Value> =
            done.iter().map(|bytes| serde_json::from_slice::<Value>(bytes).unwrap()["path"].clone()).collect();
        deleted.sort_by_key(ToString::to_string);
        assert_eq!(deleted, paths, "each once");
    });
}

#[test]
fn a_card_that_was_added_to_is_not_answered_by_what_was_shown_before() {
    let folder = tempfile::tempdir().unwrap();
    run(async {
        let world = world(folder.path()).await;
        let owner = world.owner(OWNER).await;
        let turn = world.say("metti in ordine").await;
        delete(&world, turn, 1, "notes/a.md").await.unwrap_err();
        let before = cards(&owner).await.remove(0);
        delete(&world, turn, 2, "notes/b.md").await.unwrap_err();
        assert_eq!(decide(&owner, &before, Answer::Once).await.unwrap_err(), "approvals.altered");
        assert_eq!(runs(&world), 0);
    });
}

#[test]
fn always_is_remembered_for_one_folder_and_taken_back_and_never_is_a_no() {
    let folder = tempfile::tempdir().unwrap();
    let pool = run(async {
        let world = world(folder.path()).await;
        let owner = world.owner(OWNER).await;
        three_questions(&world).await;
        let card = cards(&owner).await.remove(0);
        assert_eq!(card["acts"][0]["always"][0]["within"], format!("{}/workspace/notes", crate::peers::INSTANCE));
        assert_eq!(decide(&owner, &card, Answer::Always(366)).await.unwrap_err(), "grants.days");
        assert_eq!(decide(&owner, &card, Answer::Always(30)).await.unwrap().len(), 3);
        world.sandbox.executors.borrow().clone()
    });
    run(async {
        let world = World::settled(folder.path(), pool, &[]).await;
        let owner = world.owner(OWNER).await;
        let turn = world.say("metti in ordine").await;
        delete(&world, turn, 1, "notes/z.md").await.unwrap();
        assert_eq!(delete(&world, turn, 2, "other/z.md").await.unwrap_err(), "approval.waiting");
        assert_eq!(delete(&world, turn, 3, "notes/../SOUL.md").await.unwrap_err(), "law.constitution");
        // After something untrusted was read, nothing that is stored speaks.
        let planner = world.planner(1).await;
        let read = planner.act(NO, act(turn, 4, "fs_read"), [sealed(&json!({"path": "notes/a.md"}))]).await.unwrap().0;
        planner.release(NO, Release { turn, handle: ran(read).handle }, []).await.unwrap();
        assert_eq!(delete(&world, turn, 5, "notes/y.md").await.unwrap_err(), "approval.waiting");
        let (_, [grants]) = owner.grants(NO, Grants {}, []).await.unwrap();
        let grants: Vec<Value> = serde_json::from_slice(&grants.read().unwrap()).unwrap();
        assert_eq!(grants.len(), 3);
        for grant in &grants {
            owner.revoke_grant(NO, RevokeGrant { id: grant["id"].as_str().unwrap().into() }, []).await.unwrap();
        }
        let unknown = owner.revoke_grant(NO, RevokeGrant { id: "x".into() }, []).await.map_err(rule).unwrap_err();
        assert_eq!(unknown, "grants.unknown");
        let turn = world.say("metti in ordine").await;
        assert_eq!(delete(&world, turn, 1, "notes/z.md").await.unwrap_err(), "approval.waiting");
        let card = cards(&owner).await.into_iter().find(|card| card["turn"] == turn.to_string()).unwrap();
        assert!(decide(&owner, &card, Answer::Never).await.unwrap().is_empty());
        assert_eq!(delete(&world, turn, 2, "notes/x.md").await.unwrap_err(), "grant.never");
    });
}

#[test]
fn for_this_turn_is_for_this_turn() {
    let folder = tempfile::tempdir().unwrap();
    run(async {
        let world = world(folder.path()).await;
        let owner = world.owner(OWNER).await;
        let turn = world.say("metti in ordine").await;
        delete(&world, turn, 1, "notes/a.md").await.unwrap_err();
        let card = cards(&owner).await.remove(0);
        decide(&owner, &card, Answer::Turn).await.unwrap();
        delete(&world, turn, 2, "notes/b.md").await.unwrap();
        let other = world.say("metti in ordine").await;
        assert_eq!(delete(&world, other, 1, "notes/c.md").await.unwrap_err(), "approval.waiting");
    });
}

#[test]
fn approval_asked_each_time_is_not_stored_as_grant() {
    let folder = tempfile::tempdir().unwrap();
    run(async {
        let world = world(folder.path()).await;
        let owner = world.owner(OWNER).await;
        let turn = world.say("cancella old").await;
        let planner = world.planner(1).await;
        let whole = json!({"path": "old", "folder": true});
        denied(planner.act(NO, act(turn, 1, "fs_delete"), [sealed(&whole)]).await.unwrap().0);
        let card = cards(&owner).await.remove(0);
        for answer in [Answer::Always(1), Answer::Turn] {
            assert_eq!(decide(&owner, &card, answer).await.unwrap_err(), "grants.each_time");
        }
        assert_eq!(runs(&world), 0);
        assert_eq!(cards(&owner).await[0]["state"], "waiting", "what did not count has answered nothing");
    });
}

/// An answer over the door, as a channel brings it.
async fn over_the_door(world: &World, sender: u32, card: &Value, answer: Answer, code: &str) -> Result<usize, String> {
    let door = world.door().await;
    let text = |name: &str| card[name].as_str().unwrap().to_owned();
    let ask = AnswerCard {
        channel: Channel::Cli,
        sender: format!("uid:{sender}"),
        id: text("id"),
        digest: text("digest"),
        answer,
        code: code.to_owned(),
    };
    door.answer_card(NO, ask, []).await.map(|(answered, _)| answered.runs.len()).map_err(rule)
}

#[test]
fn over_the_channel_counts_only_who_asked_and_nothing_that_lasts() {
    let folder = tempfile::tempdir().unwrap();
    run(async {
        let world = world(folder.path()).await;
        let owner = world.owner(OWNER).await;
        three_questions(&world).await;
        let card = cards(&owner).await.remove(0);
        // Root is an owner too, and another principal: another principal's button does nothing.
        assert_eq!(over_the_door(&world, 0, &card, Answer::Once, "").await.unwrap_err(), "approvals.unknown");
        assert_eq!(over_the_door(&world, 4242, &card, Answer::Once, "").await.unwrap_err(), "principal.unpaired");
        for lasting in [Answer::Always(30), Answer::Never] {
            assert_eq!(over_the_door(&world, OWNER, &card, lasting, "").await.unwrap_err(), "approvals.hard");
        }
        let mut altered = card.clone();
        altered["digest"] = json!(card["digest"].as_str().unwrap().replace("blake3:", "blake3:0"));
        assert_eq!(over_the_door(&world, OWNER, &altered, Answer::Once, "").await.unwrap_err(), "approvals.altered");
        assert_eq!(runs(&world), 0);
        assert_eq!(over_the_door(&world, OWNER, &card, Answer::Once, "").await.unwrap(), 3);
        assert_eq!(over_the_door(&world, OWNER, &card, Answer::Once, "").await.unwrap_err(), "approvals.answered");
        assert_eq!(runs(&world), 3);
    });
}

#[test]
fn door_receives_cards_and_their_outcome_from_policyd() {
    let folder = tempfile::tempdir().unwrap();
    run(async {
        use metnos_proto::edges::door_policyd::Note;
        use metnos_proto::msg::policyd::RegisterPrompt;
        let world = world(folder.path()).await;
        let owner = world.owner(OWNER).await;
        let door = world.door().await;
        let mut notes = door.take_notes().unwrap();
        let ask = RegisterPrompt { channel: Channel::Cli, sender: format!("uid:{OWNER}") };
        let words = metnos_proto::payload::Sealed::new(b"metti in ordine").unwrap();
        let turn = door.register_prompt(NO, ask, [words]).await.unwrap().0.turn;
        delete(&world, turn, 1, "notes/a.md").await.unwrap_err();
        let Some(Note::CardWaits(waits)) = notes.recv().await else { panic!("no card") };
        let card = cards(&owner).await.remove(0);
        assert_eq!((waits.turn, card["digest"].as_str()), (turn, Some(waits.digest.as_str())));
        assert_eq!(serde_json::from_str::<Value>(&waits.shown).unwrap()["acts"], card["acts"]);
        decide(&owner, &card, Answer::Once).await.unwrap();
        let Some(Note::CardSettled(settled)) = notes.recv().await else { panic!("not settled") };
        assert_eq!((settled.turn, settled.state.as_str(), settled.ran), (turn, "approved", 1));
    });
}

#[test]
fn codes_are_enrolled_at_the_machine_and_confirmed_by_one_of_them() {
    let folder = tempfile::tempdir().unwrap();
    run(async {
        let world = world(folder.path()).await;
        let owner = world.owner(OWNER).await;
        let stranger = world.owner(OWNER + 1).await;
        assert_eq!(stranger.codes_enrol(NO, CodesEnrol {}, []).await.map_err(rule).unwrap_err(), "principal.unpaired");
        let (made, []) = owner.codes_enrol(NO, CodesEnrol {}, []).await.unwrap();
        assert!(made.secret.len() == 32 && made.uri.contains(&made.secret));
        let confirm =
            async |code: &str| owner.codes_confirm(NO, CodesConfirm { code: code.into() }, []).await.map_err(rule);
        assert_eq!(confirm("garbage").await.unwrap_err(), "approvals.code");
        let step = 1_770_000_000 / totp::STEP_S;
        let code = totp::code(&unbase32(&made.secret), step, totp::DIGITS);
        confirm(&code).await.unwrap();
        assert_eq!(confirm(&code).await.unwrap_err(), "approvals.code", "it is confirmed, and a code counts once");
    });
}

/// RFC 4648, backwards.
fn unbase32(text: &str) -> Vec<u8> {
    let value = |letter: u8| match letter {
        b'A'..=b'Z' => u64::from(letter - b'A'),
        other => u64::from(other - b'2' + 26),
    };
    let mut bytes = Vec::new();
    for chunk in text.as_bytes().chunks(8) {
        let bits = chunk.iter().fold(0_u64, |bits, letter| bits << 5 | value(*letter));
        bytes.extend(&bits.to_be_bytes()[3..]);
    }
    bytes
}
