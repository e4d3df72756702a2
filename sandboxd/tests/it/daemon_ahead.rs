//! Calls that come while their decision is still being recorded, on real channels, between a policyd and a memoryd of the
//! test's making: all may be ready, nothing runs before the word.

use std::pin::pin;

use crate::fixture::{Act, PoolOnDisk, Set, call, read_result, refused, run, settle};
use metnos_proto::edge::RpcError;
use metnos_proto::ids::{CallId, TraceId, TurnId};
use metnos_proto::msg::common::RefusalCode;
use metnos_proto::msg::sandboxd::{Decided, Run, RunReport, RunSpeculative, SandboxStatus};
use metnos_proto::payload::Sealed;
use serde_json::{Value, json};

async fn ahead(set: &Set, run: Run, arguments: &Value) -> Result<RunReport, RpcError> {
    let sealed = Sealed::new(arguments.to_string().as_bytes()).unwrap();
    set.policy.run_speculative(run.trace, RunSpeculative { run }, [sealed]).await.map(|(report, [_])| report)
}

async fn tell(set: &Set, call: CallId, decision_seq: Option<u64>) {
    set.policy.decided(TraceId::NONE, Decided { call, decision_seq }, []).await.unwrap();
}

async fn until_running(set: &Set, count: u32) {
    let ctl = set.ctl();
    while ctl.sandbox_status(TraceId::NONE, SandboxStatus {}, []).await.unwrap().0.running != count {
        settle().await;
    }
}

#[test]
fn prepared_call_is_recorded_as_started_with_the_confirmed_line() {
    run(async {
        let pool = PoolOnDisk::new();
        let (id, digests) = pool.signed("fs_read");
        let set = Set::trusted(pool).await;
        set.sandbox.then(Act::Return(read_result("Ciao")));
        let arguments = json!({"path": "notes/welcome.md"});
        let word = call(TurnId::new(), 1, &id, &digests, &arguments);
        let number = word.call;
        let mut asking = pin!(ahead(&set, word, &arguments));
        for _ in 0..50 {
            tokio::select! { biased; _ = &mut asking => panic!("it answered before the word"), () = settle() => {} }
        }
        assert!(set.log.borrow().is_empty() && set.memory.started.borrow().is_empty());
        // Of another call, and of none that there is.
        tell(&set, CallId::new(), Some(5)).await;
        let (answer, ()) = tokio::join!(asking, tell(&set, number, Some(23)));
        answer.unwrap();
        assert_eq!(*set.log.borrow(), ["started", "run", "gone", "ended"]);
        assert_eq!(set.memory.started.borrow()[0].decision_seq, 23);
        // It was the word for this call, once.
        tell(&set, number, Some(24)).await;
        assert_eq!(set.memory.started.borrow().len(), 1);
    });
}

#[test]
fn cancelled_prepared_call_never_runs_and_frees_its_place() {
    run(async {
        let pool = PoolOnDisk::new();
        let (id, digests) = pool.signed("fs_read");
        let set = Set::trusted(pool).await;
        let arguments = json!({"path": "a"});
        let turn = TurnId::new();
        let word = call(turn, 1, &id, &digests, &arguments);
        let number = word.call;
        let (answer, ()) = tokio::join!(ahead(&set, word.clone(), &arguments), tell(&set, number, None));
        let refusal = refused(answer);
        assert_eq!((refusal.code, refusal.rule.as_str()), (RefusalCode::Unavailable, "decision.unrecorded"));
        assert!(set.log.borrow().is_empty() && set.sandbox.jobs.borrow().is_empty());
        // The very same call does not come twice; another one has its place.
        assert_eq!(refused(ahead(&set, word, &arguments).await).rule, "call.twice");
        set.sandbox.then(Act::Return(read_result("x")));
        set.run(call(turn, 1, &id, &digests, &arguments), &arguments).await.unwrap();
    });
}

#[test]
fn when_policyd_goes_away_nothing_that_waited_for_its_word_runs() {
    run(async {
        let pool = PoolOnDisk::new();
        let (id, digests) = pool.signed("fs_read");
        let mut set = Set::trusted(pool).await;
        let arguments = json!({"path": "a"});
        let word = call(TurnId::new(), 1, &id, &digests, &arguments);
        let (number, before) = (word.call, std::rc::Rc::clone(&set.policy));
        let sealed = Sealed::new(arguments.to_string().as_bytes()).unwrap();
        let asking = tokio::task::spawn_local(async move {
            before.run_speculative(word.trace, RunSpeculative { run: word }, [sealed]).await
        });
        until_running(&set, 1).await;
        set.new_policyd();
        set.trust().await.unwrap();
        asking.await.unwrap().unwrap_err();
        // The new one knows the number, and it helps nobody.
        tell(&set, number, Some(23)).await;
        until_running(&set, 0).await;
        assert!(set.log.borrow().is_empty() && set.memory.started.borrow().is_empty());
    });
}

#[test]
fn unscannable_workspace_or_full_pool_refuses_before_recording() {
    run(async {
        let pool = PoolOnDisk::new();
        let (id, digests) = pool.signed("fs_read");
        let set = Set::trusted(pool).await;
        let arguments = json!({"path": "keys/id_rsa"});
        let turn = TurnId::new();
        set.sandbox.too_large.set(true);
        let refusal = refused(set.run(call(turn, 1, &id, &digests, &arguments), &arguments).await);
        assert_eq!((refusal.code, refusal.rule.as_str()), (RefusalCode::Unavailable, "sandbox.look_through"));
        assert!(refusal.why.contains("notes holds more than"), "{}", refusal.why);
        set.sandbox.too_large.set(false);
        set.sandbox.full.set(true);
        let refusal = refused(set.run(call(turn, 1, &id, &digests, &arguments), &arguments).await);
        assert_eq!((refusal.code, refusal.rule.as_str()), (RefusalCode::Unavailable, "sandbox.disk_full"));
        assert!(set.memory.started.borrow().is_empty() && set.sandbox.jobs.borrow().is_empty());
        set.sandbox.full.set(false);
        set.sandbox.then(Act::Return(read_result("x")));
        set.run(call(turn, 1, &id, &digests, &arguments), &arguments).await.unwrap();
        // What it names itself is left to it.
        assert_eq!(set.sandbox.named.borrow().last(), Some(&vec!["/workspace/keys/id_rsa".to_owned()]));
    });
}
