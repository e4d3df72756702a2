//! A call's way through the daemon, with peers that are honest, die, or are not there.

use crate::peers::memory::Mood;
use crate::peers::sandbox::Lie;
use crate::peers::{OWNER, World, act, denied, ran, run, sealed};
use metnos_proto::edge::RpcError;
use metnos_proto::edges::{planner_policyd, policyd_sandboxd};
use metnos_proto::ids::{HandleId, TraceId};
use metnos_proto::msg::common::{Channel, Integrity, Label, Outcome, Readers, RefusalCode, Standing};
use metnos_proto::msg::policyd::{
    Acted, EndTurn, Executors, Identify, Intent, Literal, PolicyStatus, RegisterPrompt, Release, RunCall, ShowExecutor,
    Slot,
};
use metnos_proto::msg::sandboxd::RunProgress;
use metnos_proto::payload::Sealed;
use serde_json::json;

const NO: TraceId = TraceId::NONE;

fn refusal(error: RpcError) -> (RefusalCode, String) {
    match error {
        RpcError::Refused(refusal) => (refusal.code, refusal.rule),
        other @ (RpcError::Gone(_) | RpcError::Late { .. } | RpcError::Violation(..) | RpcError::Unsendable(_)) => {
            panic!("{other}")
        }
    }
}

#[test]
fn the_decision_is_on_the_disk_before_anything_runs() {
    let folder = tempfile::tempdir().unwrap();
    run(async {
        let world = World::usual(folder.path()).await;
        let turn = world.say("read notes/a.md").await;
        let planner = world.planner(1).await;
        let arguments = json!({"path": "notes/a.md"});
        let (acted, []) = planner.act(NO, act(turn, 1, "fs_read"), [sealed(&arguments)]).await.unwrap();
        let ran = ran(acted);
        assert_eq!(ran.outcome, Outcome::Ok);
        assert_eq!(world.took(), ["decision c1 fs_read allow read.granted cli:uid:1000", "run c1 fs_read"]);
        assert_eq!(world.sandbox.arguments.borrow()[0], arguments.to_string().as_bytes());
        assert_eq!(ran.leaves.len(), 3);
        let status = world.owner(OWNER).await.policy_status(NO, PolicyStatus {}, []).await.unwrap().0;
        assert_eq!((status.turns, status.running, status.decisions_total, status.denials_total), (1, 0, 1, 0));
    });
}

#[test]
fn nothing_runs_when_the_decision_cannot_be_recorded() {
    let folder = tempfile::tempdir().unwrap();
    run(async {
        let world = World::usual(folder.path()).await;
        let planner = world.planner(1).await;
        // A memoryd that says why is quoted; one that is gone is said to be.
        let full = "disk.full";
        for (mood, path, rule) in
            [(Mood::Refuses, "a.md", full), (Mood::Refuses, "/etc/shadow", full), (Mood::Dies, "a.md", "memory.gone")]
        {
            world.memory.mood.set(mood);
            let turn = world.say("read").await;
            let error = planner.act(NO, act(turn, 1, "fs_read"), [sealed(&json!({ "path": path }))]).await.unwrap_err();
            assert_eq!(refusal(error), (RefusalCode::Unavailable, rule.to_owned()));
            assert!(!world.took().iter().any(|line| line.starts_with("run")));
        }
        // What was allowed was made ready meanwhile, and called off.
        while world.sandbox.called_off.get() < 2 {
            tokio::task::yield_now().await;
        }
    });
}

#[test]
fn a_denied_call_is_recorded_and_does_not_run() {
    let folder = tempfile::tempdir().unwrap();
    run(async {
        let world = World::usual(folder.path()).await;
        let planner = world.planner(1).await;
        let turn = world.say("read /etc/shadow").await;
        for (number, (executor, arguments, rule)) in [
            ("fs_read", json!({"path": "/etc/shadow"}), "guard.path"),
            ("fs_read", json!({"path": "//etc/shadow"}), "guard.spelling"),
            ("fs_read", json!({"path": "../../../etc/passwd"}), "guard.climb"),
            ("fs_read", json!({"path": "a\0"}), "guard.nul"),
            ("fs_read", json!({"path": "x".repeat(10_000)}), "schema.input"),
            ("fs_read", json!({"path": "../elsewhere/x"}), "guard.climb"),
            ("fs_read", json!({"path": "/srv/other"}), "profile.paths"),
            ("fs_write", json!({}), "executor.unknown"),
            ("fs_read", json!([]), "arguments.json"),
            ("fs_read", json!({"path": {"$ref": "c1#/x"}}), "arguments.reference"),
        ]
        .into_iter()
        .enumerate()
        {
            let place = u16::try_from(number).unwrap() + 1;
            let (acted, []) = planner.act(NO, act(turn, place, executor), [sealed(&arguments)]).await.unwrap();
            assert_eq!(denied(acted), rule, "{arguments}");
            assert_eq!(world.took(), [format!("decision c{place} {executor} deny {rule} cli:uid:1000")]);
        }
    });
}

#[test]
fn reading_a_result_raises_the_label_of_the_context_for_good() {
    let folder = tempfile::tempdir().unwrap();
    run(async {
        let world = World::usual(folder.path()).await;
        let planner = world.planner(1).await;
        let (turn, other) = (world.say("read a.md").await, world.say("read b.md").await);
        let first = ran(planner.act(NO, act(turn, 1, "fs_read"), [sealed(&json!({"path": "a.md"}))]).await.unwrap().0);
        let unread = Label { integrity: Integrity::Untrusted, readers: Readers::Private };
        assert_eq!(first.label, unread);
        let foreign = planner.act(NO, act(other, 1, "fs_read"), [sealed(&json!({"path": "b.md"}))]).await.unwrap().0;
        let release = |turn, handle| planner.release(NO, Release { turn, handle }, []);
        assert_eq!(refusal(release(turn, ran(foreign).handle).await.unwrap_err()).1, "handle.unknown");
        assert_eq!(refusal(release(turn, HandleId::new()).await.unwrap_err()).1, "handle.unknown");
        let (released, [bytes]) = release(turn, first.handle).await.unwrap();
        assert_eq!(released.context, unread);
        assert_eq!(bytes.read().unwrap(), br#"{"content":"hello","ok":true,"size":5}"#);
        // Vouched-for atoms of a call made in such a context are no longer vouched for.
        world.sandbox.result.replace(json!({"ok": true, "size": 5}));
        let second = ran(planner.act(NO, act(turn, 2, "fs_read"), [sealed(&json!({"path": "a.md"}))]).await.unwrap().0);
        assert_eq!(second.label, unread);
    });
}

#[test]
fn intent_counts_once_and_only_for_registered_words() {
    let folder = tempfile::tempdir().unwrap();
    run(async {
        let world = World::usual(folder.path()).await;
        let planner = world.planner(1).await;
        let turn = world.say("leggi notes/a.md, per favore").await;
        let literal = |text: &str| Literal { pointer: "/path".to_owned(), json: json!(text).to_string() };
        let slot = Slot {
            executor: "fs_read".to_owned(),
            literals: vec![literal("notes/a.md"), literal("/etc/shadow")],
            open: Vec::new(),
            max: 1,
        };
        let intent = Intent { turn, slots: vec![slot] };
        let (frozen, []) = planner.intent(NO, intent.clone(), []).await.unwrap();
        assert_eq!((frozen.frozen, frozen.ignored), (1, vec!["fs_read /path".to_owned()]));
        assert!(planner.intent(NO, intent, []).await.is_err());
        world.until("event violation").await;
    });
}

#[test]
fn a_number_used_twice_closes_the_channel_and_is_recorded() {
    let folder = tempfile::tempdir().unwrap();
    run(async {
        let world = World::usual(folder.path()).await;
        let planner = world.planner(1).await;
        let turn = world.say("read a.md").await;
        let call = || planner.act(NO, act(turn, 1, "fs_read"), [sealed(&json!({"path": "a.md"}))]);
        call().await.unwrap();
        assert!(matches!(call().await, Err(RpcError::Gone(_))));
        world.until("event violation: the planner broke the protocol").await;
        // Its turn went with the channel.
        world.until("forget").await;
        let again = world.planner(2).await;
        let error = again.act(NO, act(turn, 2, "fs_read"), [sealed(&json!({"path": "a.md"}))]).await.unwrap_err();
        assert_eq!(refusal(error), (RefusalCode::Unknown, "turn.unknown".to_owned()));
    });
}

#[test]
fn long_run_delays_no_other_and_too_many_at_once_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    run(async {
        let world = World::usual(folder.path()).await;
        let planner = world.planner(1).await;
        let (turn, other) = (world.say("read").await, world.say("read").await);
        let gate = world.sandbox.gate.clone();
        gate.forget_permits(1_000);
        let long: Vec<_> = (1..=8)
            .map(|place| {
                let planner = planner.clone();
                tokio::task::spawn_local(async move {
                    planner.act(NO, act(turn, place, "fs_read"), [sealed(&json!({"path": "a.md"}))]).await
                })
            })
            .collect();
        world.until("run c8").await;
        let ninth = planner.act(NO, act(turn, 9, "fs_read"), [sealed(&json!({"path": "a.md"}))]).await.unwrap().0;
        assert_eq!(denied(ninth), "quota.concurrent");
        let elsewhere =
            planner.act(NO, act(other, 1, "fs_read"), [sealed(&json!({"path": "/etc/passwd"}))]).await.unwrap().0;
        assert_eq!(denied(elsewhere), "guard.path");
        gate.add_permits(9);
        for one in long {
            ran(one.await.unwrap().unwrap().0);
        }
        ran(planner.act(NO, act(turn, 10, "fs_read"), [sealed(&json!({"path": "a.md"}))]).await.unwrap().0);
    });
}

#[test]
fn path_reference_is_decided_by_value_and_payload_is_not_read() {
    let folder = tempfile::tempdir().unwrap();
    run(async {
        let world = World::usual(folder.path()).await;
        let planner = world.planner(1).await;
        let turn = world.say("read").await;
        world.sandbox.result.replace(json!({"ok": true, "content": "/etc/shadow"}));
        ran(planner.act(NO, act(turn, 1, "fs_read"), [sealed(&json!({"path": "a.md"}))]).await.unwrap().0);
        world.took();
        let by_path = json!({"path": {"$ref": "c1#/content"}});
        let acted = planner.act(NO, act(turn, 2, "fs_read"), [sealed(&by_path)]).await.unwrap().0;
        assert_eq!(denied(acted), "guard.path");
        assert_eq!(world.took(), ["resolve", "decision c2 fs_read deny guard.path cli:uid:1000"]);
        let by_payload = json!({"text": {"$ref": "c1#/content"}});
        ran(planner.act(NO, act(turn, 3, "fs_read"), [sealed(&by_payload)]).await.unwrap().0);
        assert_eq!(world.took(), ["decision c3 fs_read allow read.granted cli:uid:1000", "run c3 fs_read"]);
        assert_eq!(world.sandbox.arguments.borrow()[1], by_payload.to_string().as_bytes());
    });
}

#[test]
fn progress_reaches_the_planner() {
    let folder = tempfile::tempdir().unwrap();
    run(async {
        let world = World::usual(folder.path()).await;
        let planner = world.planner(1).await;
        let mut notes = planner.take_notes().unwrap();
        let turn = world.say("read").await;
        world.sandbox.gate.forget_permits(1_000);
        let asked = planner.clone();
        let running = tokio::task::spawn_local(async move {
            asked.act(NO, act(turn, 1, "fs_read"), [sealed(&json!({"path": "a.md"}))]).await
        });
        world.until("run c1").await;
        let call = world.sandbox.calls.borrow()[0];
        world.sandbox.tell(policyd_sandboxd::Note::RunProgress(RunProgress { call, done: 3, total: 7 })).await;
        let planner_policyd::Note::CallProgress(progress) = notes.recv().await.unwrap();
        assert_eq!((progress.turn, progress.done, progress.total), (turn, 3, 7));
        world.sandbox.gate.add_permits(1);
        ran(running.await.unwrap().unwrap().0);
    });
}

#[test]
fn an_ended_turn_is_gone_with_its_results() {
    let folder = tempfile::tempdir().unwrap();
    run(async {
        let world = World::usual(folder.path()).await;
        let planner = world.planner(1).await;
        let turn = world.say("read").await;
        let done = ran(planner.act(NO, act(turn, 1, "fs_read"), [sealed(&json!({"path": "a.md"}))]).await.unwrap().0);
        planner.end_turn(NO, EndTurn { turn }, []).await.unwrap();
        world.until("forget").await;
        let error = planner.release(NO, Release { turn, handle: done.handle }, []).await.unwrap_err();
        assert_eq!(refusal(error), (RefusalCode::Unknown, "turn.unknown".to_owned()));
    });
}

#[test]
fn memoryd_learns_of_a_clean_turn_only_when_nothing_was_read() {
    let folder = tempfile::tempdir().unwrap();
    run(async {
        let world = World::usual(folder.path()).await;
        let planner = world.planner(1).await;
        let (kept, read) = (world.say("read a.md").await, world.say("read a.md").await);
        for turn in [kept, read] {
            let act = planner.act(NO, act(turn, 1, "fs_read"), [sealed(&json!({"path": "a.md"}))]);
            let done = ran(act.await.unwrap().0);
            if turn == read {
                planner.release(NO, Release { turn, handle: done.handle }, []).await.unwrap();
            }
            planner.end_turn(NO, EndTurn { turn }, []).await.unwrap();
        }
        assert_eq!(*world.memory.clean.borrow(), [kept]);
    });
}

#[test]
fn strangers_are_not_heard_and_words_must_be_words() {
    let folder = tempfile::tempdir().unwrap();
    run(async {
        let world = World::usual(folder.path()).await;
        let door = world.door().await;
        let identify =
            |sender: &str| Identify { channel: Channel::Cli, sender: sender.to_owned(), lang: None, spoke: None };
        assert_eq!(door.identify(NO, identify("uid:1000"), []).await.unwrap().0.standing, Standing::Owner);
        assert_eq!(door.identify(NO, identify("uid:1001"), []).await.unwrap().0.standing, Standing::Stranger);
        let register = |sender: &str, words: &[u8]| {
            let ask = RegisterPrompt { channel: Channel::Cli, sender: sender.to_owned() };
            door.register_prompt(NO, ask, [Sealed::new(words).unwrap()])
        };
        assert_eq!(refusal(register("uid:1001", b"hello").await.unwrap_err()).1, "principal.unpaired");
        assert!(register("uid:1000", &vec![b'a'; 64 * 1024]).await.is_ok());
        for words in [vec![b'a'; 64 * 1024 + 1], b"a\0b".to_vec(), vec![0xff], b" \n".to_vec()] {
            assert_eq!(refusal(register("uid:1000", &words).await.unwrap_err()).1, "prompt.form");
        }
    });
}

#[test]
fn the_owners_own_call_goes_the_same_way_as_a_turn_of_its_own() {
    let folder = tempfile::tempdir().unwrap();
    run(async {
        let world = World::usual(folder.path()).await;
        let owner = world.owner(OWNER).await;
        let call = |path: &str| {
            owner.run_call(NO, RunCall { executor: "fs_read".to_owned() }, [sealed(&json!({ "path": path }))])
        };
        let (run_, [result]) = call("a.md").await.unwrap();
        assert!(matches!(run_.acted, Acted::Ran(_)));
        assert_eq!(result.read().unwrap(), br#"{"content":"hello","ok":true,"size":5}"#);
        world.until("forget").await;
        let took: Vec<String> = world.took().into_iter().filter(|line| line != "forget").collect();
        assert_eq!(
            took,
            [
                "direct_turn fs_read cli:uid:1000",
                "decision c1 fs_read allow read.granted cli:uid:1000",
                "run c1 fs_read",
                "direct_turn_done answered"
            ]
        );
        let (run_, [result]) = call("/etc/shadow").await.unwrap();
        assert_eq!((denied(run_.acted).as_str(), result.read().unwrap().as_slice()), ("guard.path", b"{}".as_slice()));
        world.until("direct_turn_done denied").await;
        let stranger = world.owner(OWNER + 1).await;
        let ask = RunCall { executor: "fs_read".to_owned() };
        let error = stranger.run_call(NO, ask, [sealed(&json!({"path": "a.md"}))]).await.unwrap_err();
        assert_eq!(refusal(error).1, "principal.unpaired");
        assert_eq!(owner.policy_status(NO, PolicyStatus {}, []).await.unwrap().0.turns, 0);
    });
}

#[test]
fn the_owner_sees_the_registry() {
    let folder = tempfile::tempdir().unwrap();
    run(async {
        let world = World::usual(folder.path()).await;
        let owner = world.owner(0).await;
        let rows = owner.executors(NO, Executors {}, []).await.unwrap().0.rows;
        assert_eq!((rows.len(), rows[0].class.as_str(), rows[0].state.name()), (1, "read", "active"));
        let ([record], ()) = owner
            .show_executor(NO, ShowExecutor { name: "fs_read".into() }, [])
            .await
            .map(|(_, fds)| (fds, ()))
            .unwrap();
        let record: serde_json::Value = serde_json::from_slice(&record.read().unwrap()).unwrap();
        assert_eq!(record["state"], json!("active"));
        let error = owner.show_executor(NO, ShowExecutor { name: "x".into() }, []).await.unwrap_err();
        assert_eq!(refusal(error).1, "executor.unknown");
    });
}

#[test]
fn a_flood_of_calls_is_refused_without_flooding_the_chronicle() {
    let folder = tempfile::tempdir().unwrap();
    run(async {
        let world = World::usual(folder.path()).await;
        let planner = world.planner(1).await;
        let turn = world.say("read").await;
        let mut rules = Vec::new();
        for place in 1..=70 {
            let acted = planner.act(NO, act(turn, place, "nothing"), [sealed(&json!({}))]).await.unwrap().0;
            rules.push(denied(acted));
        }
        assert!(rules[..70].iter().all(|rule| rule == "executor.unknown"));
        let recorded = world.took().iter().filter(|line| line.starts_with("decision")).count();
        assert_eq!(recorded, 65, "64 calls of a turn, and the first one beyond");
    });
}

#[test]
fn a_sandbox_that_went_away_ends_the_call_and_the_next_one_runs() {
    let folder = tempfile::tempdir().unwrap();
    run(async {
        let world = World::usual(folder.path()).await;
        let planner = world.planner(1).await;
        let turn = world.say("read").await;
        world.sandbox.lie.set(Lie::Dies);
        let call = |place| planner.act(NO, act(turn, place, "fs_read"), [sealed(&json!({"path": "a.md"}))]);
        assert_eq!(refusal(call(1).await.unwrap_err()), (RefusalCode::Unavailable, "interrupted".to_owned()));
        world.until("event interrupted").await;
        world.sandbox.lie.set(Lie::None);
        world.took();
        world.start_sandbox(2);
        ran(call(2).await.unwrap().0);
        assert_eq!(
            world.took(),
            ["trust", "pool", "decision c2 fs_read allow read.granted cli:uid:1000", "run c2 fs_read"]
        );
    });
}

#[test]
fn sandboxd_replaced_during_decision_receives_the_key_first() {
    let folder = tempfile::tempdir().unwrap();
    run(async {
        let world = World::usual(folder.path()).await;
        let planner = world.planner(1).await;
        let gate = world.memory.gate.clone();
        for generation in 2..12 {
            let turn = world.say("read").await;
            gate.forget_permits(1_000);
            let asked = planner.clone();
            let call = tokio::task::spawn_local(async move {
                asked.act(NO, act(turn, 1, "fs_read"), [sealed(&json!({"path": "a.md"}))]).await
            });
            for _ in 0..20 {
                tokio::task::yield_now().await;
            }
            gate.add_permits(1);
            for _ in 0..generation {
                tokio::task::yield_now().await;
            }
            world.start_sandbox(generation);
            assert!(!world.policy.sandbox_ready(), "nobody has given this one the key yet");
            // It ran before, or it did not; it never comes before the key.
            let _ = call.await.unwrap();
            gate.add_permits(1_000);
            world.until("trust").await;
            let took = world.took();
            assert!(!took.iter().any(|line| line.starts_with("BEFORE")), "{took:?}");
        }
    });
}

#[test]
fn without_a_sandbox_every_call_is_denied() {
    let folder = tempfile::tempdir().unwrap();
    run(async {
        let world = World::usual(folder.path()).await;
        let planner = world.planner(1).await;
        let turn = world.say("read").await;
        world.sandbox.lie.set(Lie::Dies);
        let call = |place| planner.act(NO, act(turn, place, "fs_read"), [sealed(&json!({"path": "a.md"}))]);
        call(1).await.unwrap_err();
        world.took();
        tokio::time::pause();
        assert_eq!(denied(call(2).await.unwrap().0), "sandbox.gone");
        let took = world.took();
        assert!(took.contains(&"decision c2 fs_read deny sandbox.gone cli:uid:1000".to_owned()), "{took:?}");
        assert!(!took.iter().any(|line| line.starts_with("run")));
    });
}

#[test]
fn a_check_is_the_decision_in_words_and_leaves_no_trace() {
    let folder = tempfile::tempdir().unwrap();
    run(async {
        let world = World::usual(folder.path()).await;
        let owner = world.owner(0).await;
        let check = async |principal: &str, arguments: &str| {
            let ask =
                metnos_proto::msg::policyd::CheckPolicy { principal: principal.into(), executor: "fs_read".into() };
            let arguments = metnos_proto::payload::Sealed::new(arguments.as_bytes()).unwrap();
            let (_, [explained]) = owner.check_policy(NO, ask, [arguments]).await?;
            Ok::<_, RpcError>(serde_json::from_slice::<serde_json::Value>(&explained.read().unwrap()).unwrap())
        };
        let fine = check("owner", "{\"path\": \"notes/a.md\"}").await.unwrap();
        assert_eq!((fine["verdict"].as_str(), fine["rule"].as_str()), (Some("allow"), Some("read.granted")));
        assert_eq!(fine["arguments"][0]["source"], "intent");
        let core = check("owner", "{\"path\": \"/etc/shadow\"}").await.unwrap();
        assert_eq!((core["verdict"].as_str(), core["rule"].as_str()), (Some("deny"), Some("guard.path")));
        let last = core["steps"].as_array().unwrap().last().unwrap().clone();
        assert_eq!((&last["step"], &last["outcome"]), (&"guard".into(), &"deny".into()));
        let stranger = check("telegram:4711", "{\"path\": \"notes/a.md\"}").await.unwrap();
        assert_eq!(stranger["rule"], "principal.unpaired");
        assert!(check("nobody", "{}").await.is_err());
    });
}
