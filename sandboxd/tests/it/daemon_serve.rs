//! sandboxd's service on real channels, between a policyd and a memoryd of the test's making.

use crate::fixture::{Act, Mood, PoolOnDisk, Set, call, flip, read_result, refused, run, settle};
use metnos_proto::edge::RpcError;
use metnos_proto::edges::policyd_sandboxd::Note;
use metnos_proto::ids::{Blake3, TraceId, TurnId};
use metnos_proto::link_async::Closed;
use metnos_proto::msg::common::{CallRef, Outcome, RefusalCode};
use metnos_proto::msg::sandboxd::{Birth, Forget, Install, Kill, Pool, Reference, Resolve, TrustKey};
use metnos_proto::payload::Sealed;
use serde_json::{Value, json};

#[test]
fn call_start_is_recorded_before_run_and_end_before_report() {
    run(async {
        let pool = PoolOnDisk::new();
        let (id, digests) = pool.signed("fs_read");
        let set = Set::trusted(pool).await;
        set.sandbox.then(Act::Return(read_result("Ciao")));
        let arguments = json!({"path": "notes/welcome.md"});
        let word = call(TurnId::new(), 1, &id, &digests, &arguments);
        let (report, result) = set.run(word.clone(), &arguments).await.unwrap();
        assert_eq!(*set.log.borrow(), ["started", "run", "gone", "ended"]);
        assert_eq!((report.outcome, result), (Outcome::Ok, read_result("Ciao")));
        assert_eq!(report.leaves.len(), 6);
        let started = set.memory.started.borrow()[0].clone();
        assert_eq!(
            (started.call, started.place, started.turn, started.trace),
            (word.call, word.place, word.turn, word.trace)
        );
        assert_eq!((started.id, started.arguments, started.profile), (id, word.arguments, digests.profile));
        assert_eq!((started.decision_seq, started.inputs.len()), (17, 0));
        let ended = set.memory.ended.borrow()[0].clone();
        assert_eq!((ended.started_seq, ended.outcome, ended.result), (1, Outcome::Ok, report.result));
        assert_eq!(ended.error_class, "");
        assert_eq!(ended.resources, report.resources);
        let job = set.sandbox.jobs.borrow()[0].clone();
        assert_eq!(job.args, Some(arguments));
        assert_eq!(job.profile, digests.profile);
        assert_eq!(Blake3::of(&job.code), digests.code);
    });
}

#[test]
fn without_a_record_of_the_start_nothing_runs_and_the_place_is_free_again() {
    run(async {
        let pool = PoolOnDisk::new();
        let (id, digests) = pool.signed("fs_read");
        let set = Set::trusted(pool).await;
        let arguments = json!({"path": "a"});
        let turn = TurnId::new();
        for mood in [Mood::Refuses, Mood::Silent, Mood::Breaks] {
            set.memory.on_start.set(mood);
            let refusal = refused(set.run(call(turn, 1, &id, &digests, &arguments), &arguments).await);
            assert_eq!((refusal.code, refusal.rule.as_str()), (RefusalCode::Unavailable, "memory.gone"), "{mood:?}");
            assert!(refusal.why.contains("nothing was run"), "{}", refusal.why);
        }
        // It broke the protocol, so its link is closed: now nobody is there.
        let refusal = refused(set.run(call(turn, 1, &id, &digests, &arguments), &arguments).await);
        assert_eq!(refusal.code, RefusalCode::Unavailable);
        assert!(set.sandbox.jobs.borrow().is_empty());
        assert!(set.memory.ended.borrow().is_empty());
        set.memory.on_start.set(Mood::Willing);
        set.attach_memory();
        set.sandbox.then(Act::Return(read_result("x")));
        set.run(call(turn, 1, &id, &digests, &arguments), &arguments).await.unwrap();
    });
}

#[test]
fn without_a_record_of_the_end_there_is_no_result() {
    run(async {
        let pool = PoolOnDisk::new();
        let (id, digests) = pool.signed("fs_read");
        let set = Set::trusted(pool).await;
        set.memory.on_end.set(Mood::Refuses);
        set.sandbox.then(Act::Return(read_result("x")));
        let arguments = json!({"path": "a"});
        let turn = TurnId::new();
        let refusal = refused(set.run(call(turn, 1, &id, &digests, &arguments), &arguments).await);
        assert!(refusal.why.contains("withheld"), "{}", refusal.why);
        let reference = Reference { call: CallRef(1), pointer: "/content".into() };
        let ask = Resolve { turn, references: vec![reference] };
        assert_eq!(refused(set.policy.resolve(TraceId::NONE, ask, []).await).rule, "reference.unknown");
    });
}

#[test]
fn end_of_run_is_reported_again_to_restarted_memoryd() {
    run(async {
        let pool = PoolOnDisk::new();
        let (id, digests) = pool.signed("fs_read");
        let set = Set::trusted(pool).await;
        set.memory.on_end.set(Mood::Silent);
        set.sandbox.then(Act::Return(read_result("x")));
        let arguments = json!({"path": "a"});
        let word = call(TurnId::new(), 1, &id, &digests, &arguments);
        let asking = set.run(word, &arguments);
        let restarting = async {
            while set.memory.ended.borrow().is_empty() {
                settle().await;
            }
            set.memory.on_end.set(Mood::Willing);
            set.attach_memory();
        };
        let (answer, ()) = tokio::join!(asking, restarting);
        answer.unwrap();
        let ended = set.memory.ended.borrow();
        assert_eq!(ended.len(), 2);
        assert_eq!(ended[0], ended[1]);
        assert_eq!(set.sandbox.jobs.borrow().len(), 1, "it ran once");
    });
}

#[test]
fn a_call_runs_at_most_once() {
    run(async {
        let pool = PoolOnDisk::new();
        let (id, digests) = pool.signed("fs_read");
        let set = Set::trusted(pool).await;
        set.sandbox.then(Act::Return(read_result("x")));
        let arguments = json!({"path": "a"});
        let word = call(TurnId::new(), 1, &id, &digests, &arguments);
        set.run(word.clone(), &arguments).await.unwrap();
        let mut again = word;
        again.place = CallRef(2);
        assert_eq!(refused(set.run(again.clone(), &arguments).await).rule, "call.twice");
        // Nor does another call take its place.
        let other = call(again.turn, 1, &id, &digests, &arguments);
        assert_eq!(refused(set.run(other, &arguments).await).rule, "call.twice");
        assert_eq!(set.sandbox.jobs.borrow().len(), 1);
        assert_eq!(set.memory.started.borrow().len(), 1);
    });
}

#[test]
fn arguments_other_than_those_decided_on_are_a_breach_and_not_a_call() {
    run(async {
        let pool = PoolOnDisk::new();
        let (id, digests) = pool.signed("fs_read");
        let set = Set::trusted(pool).await;
        let word = call(TurnId::new(), 1, &id, &digests, &json!({"path": "a"}));
        let other = Sealed::new(json!({"path": "b"}).to_string().as_bytes()).unwrap();
        assert!(matches!(set.policy.run(TraceId::NONE, word, [other]).await, Err(RpcError::Gone(_))));
        assert!(matches!(set.serving.await.unwrap(), Closed::Violation(_)));
        assert!(set.sandbox.jobs.borrow().is_empty() && set.memory.started.borrow().is_empty());
        settle().await;
        assert_eq!(set.memory.events.borrow().len(), 1);
        assert_eq!(set.memory.events.borrow()[0].kind, "violation");
    });
}

#[test]
fn before_the_key_every_word_is_a_breach_and_a_second_key_is_one_too() {
    run(async {
        let pool = PoolOnDisk::new();
        let (id, digests) = pool.signed("fs_read");
        let mut set = Set::new(pool);
        let none = TraceId::NONE;
        let turn = TurnId::new();
        let sealed = || Sealed::new(b"{}").unwrap();
        for word in 0..8 {
            let link = std::rc::Rc::clone(&set.policy);
            let answer = match word {
                0 => link.pool(none, Pool {}, []).await.map(|_| ()),
                1 => link.birth(none, Birth { id: id.clone(), digests: digests.clone() }, []).await.map(|_| ()),
                2 => {
                    let ask = Install { id: id.clone(), digests: digests.clone(), signature: vec![0; 64] };
                    link.install(none, ask, []).await.map(|_| ())
                }
                3 => link.resolve(none, Resolve { turn, references: Vec::new() }, []).await.map(|_| ()),
                4 => link.run(none, call(turn, 1, &id, &digests, &json!({})), [sealed()]).await.map(|_| ()),
                5 => link.kill(none, Kill { turn: None }, []).await.map(|_| ()),
                6 => link.forget(none, Forget { turn }, []).await.map(|_| ()),
                _ => {
                    set.trust().await.unwrap();
                    set.trust().await
                }
            };
            assert!(matches!(answer, Err(RpcError::Gone(_))), "word {word}: {answer:?}");
            let closed =
                std::mem::replace(&mut set.serving, tokio::task::spawn_local(async { Closed::Gone })).await.unwrap();
            assert!(matches!(closed, Closed::Violation(_)), "word {word}: {closed:?}");
            set.new_policyd();
        }
        assert!(set.sandbox.jobs.borrow().is_empty());
        assert_eq!(set.events("violation").len(), 8);
    });
}

#[test]
fn different_trust_key_is_refused_and_link_stays_untrusted() {
    run(async {
        let pool = PoolOnDisk::new();
        pool.signed("fs_read");
        let mut set = Set::trusted(pool).await;
        set.new_policyd();
        let other = ed25519_dalek::SigningKey::from_bytes(&[9; 32]).verifying_key().to_bytes();
        let answer = set.policy.trust(TraceId::NONE, TrustKey { public_key: other }, []).await;
        assert_eq!(refused(answer).rule, "trust.other");
        assert!(matches!(set.policy.pool(TraceId::NONE, Pool {}, []).await, Err(RpcError::Gone(_))));
    });
}

#[test]
fn flipped_bit_refuses_next_call_and_notifies_policyd_and_chronicle() {
    run(async {
        for (number, file) in
            ["manifest.toml", "main.py", "schema.json", "profile.lock", "manifest.sig"].into_iter().enumerate()
        {
            let pool = PoolOnDisk::new();
            let (id, digests) = pool.signed("fs_read");
            let set = Set::trusted(pool).await;
            let mut notes = set.policy.take_notes().unwrap();
            let arguments = json!({"path": "a"});
            set.sandbox.then(Act::Return(read_result("x"))).then(Act::Return(read_result("x")));
            set.run(call(TurnId::new(), 1, &id, &digests, &arguments), &arguments).await.unwrap();
            flip(&set.pool.file(&id, file), 30 + number);
            let refusal = refused(set.run(call(TurnId::new(), 1, &id, &digests, &arguments), &arguments).await);
            assert_eq!((refusal.code, refusal.rule.as_str()), (RefusalCode::Denied, "executor.quarantined"));
            assert!(refusal.why.contains(file), "{}", refusal.why);
            let Some(Note::Quarantined(note)) = notes.recv().await else { panic!() };
            assert!(note.id == id && note.why.contains(file));
            flip(&set.pool.file(&id, file), 30 + number);
            refused(set.run(call(TurnId::new(), 1, &id, &digests, &arguments), &arguments).await);
            assert_eq!(set.events("quarantine").len(), 1, "told once");
            assert_eq!(set.sandbox.jobs.borrow().len(), 1);
            assert_eq!(set.memory.started.borrow().len(), 1);
            let (listing, []) = set.policy.pool(TraceId::NONE, Pool {}, []).await.unwrap();
            assert!(listing.entries[0].fault.contains("quarantine"), "{listing:?}");
        }
    });
}

#[test]
fn a_reference_takes_a_part_of_an_earlier_result_and_the_record_says_so() {
    run(async {
        let pool = PoolOnDisk::new();
        let (read, read_digests) = pool.signed("fs_read");
        let (stats, stats_digests) = pool.signed("text_stats");
        let set = Set::trusted(pool).await;
        let text = "one {\"$ref\": \"c9#/x\"}\nthree";
        let counted = json!({"ok": true, "lines": 2, "words": 4, "characters": 28});
        set.sandbox.then(Act::Return(read_result(text))).then(Act::Return(counted));
        let turn = TurnId::new();
        let arguments = json!({"path": "a"});
        let first = call(turn, 1, &read, &read_digests, &arguments);
        set.run(first.clone(), &arguments).await.unwrap();
        let arguments = json!({"text": {"$ref": "c1#/content"}});
        let second = call(turn, 2, &stats, &stats_digests, &arguments);
        let (report, _) = set.run(second.clone(), &arguments).await.unwrap();
        assert_eq!(set.sandbox.jobs.borrow()[1].args, Some(json!({"text": text})));
        let input = &report.inputs[0];
        assert_eq!((input.from, input.pointer.as_str(), input.argument.as_str()), (first.call, "/content", "/text"));
        let started = set.memory.started.borrow()[1].clone();
        assert_eq!(started.inputs, report.inputs);
        assert_eq!(started.arguments, second.arguments, "as decided, references unresolved");
        // Of another turn, or of a call that was never made.
        for (turn, place) in [(TurnId::new(), 1), (turn, 9)] {
            let arguments = json!({"text": {"$ref": format!("c{place}#/content")}});
            let answer = set.run(call(turn, 3, &stats, &stats_digests, &arguments), &arguments).await;
            assert_eq!(refused(answer).rule, "reference.unknown");
        }
        // What a reference brings is held against the schema here, where it is seen.
        let arguments = json!({"text": {"$ref": "c1#/size"}});
        let answer = set.run(call(turn, 3, &stats, &stats_digests, &arguments), &arguments).await;
        assert_eq!(refused(answer).rule, "schema.input");
        assert_eq!(set.sandbox.jobs.borrow().len(), 2);
    });
}

#[test]
fn policyd_gets_the_values_of_references_until_it_forgets_the_turn() {
    run(async {
        let pool = PoolOnDisk::new();
        let (id, digests) = pool.signed("fs_read");
        let set = Set::trusted(pool).await;
        set.sandbox.then(Act::Return(read_result("x")));
        let turn = TurnId::new();
        let arguments = json!({"path": "a"});
        set.run(call(turn, 1, &id, &digests, &arguments), &arguments).await.unwrap();
        let reference = |pointer: &str| Reference { call: CallRef(1), pointer: pointer.to_owned() };
        let ask = Resolve { turn, references: vec![reference("/size"), reference("/content")] };
        let (resolved, [values]) = set.policy.resolve(TraceId::NONE, ask.clone(), []).await.unwrap();
        let values: Value = serde_json::from_slice(&values.read().unwrap()).unwrap();
        assert_eq!(values, json!([1, "x"]));
        assert_eq!(resolved.digests, [Blake3::of(b"1"), Blake3::of(b"\"x\"")]);
        set.policy.forget(TraceId::NONE, Forget { turn }, []).await.unwrap();
        assert_eq!(refused(set.policy.resolve(TraceId::NONE, ask, []).await).rule, "reference.unknown");
    });
}

#[test]
fn a_kill_reaches_the_calls_of_its_turn_and_their_end_is_recorded() {
    run(async {
        let pool = PoolOnDisk::new();
        let (id, digests) = pool.signed("fs_read");
        let set = Set::trusted(pool).await;
        set.sandbox.then(Act::UntilKilled).then(Act::UntilKilled);
        let (one, two) = (TurnId::new(), TurnId::new());
        let arguments = json!({"path": "a"});
        let first = set.run(call(one, 1, &id, &digests, &arguments), &arguments);
        let second = set.run(call(two, 1, &id, &digests, &arguments), &arguments);
        let killing = async {
            while set.sandbox.jobs.borrow().len() < 2 {
                settle().await;
            }
            let (count, []) = set.policy.kill(TraceId::NONE, Kill { turn: Some(one) }, []).await.unwrap();
            assert_eq!(count.killed, 1);
            settle().await;
            assert_eq!(set.memory.ended.borrow().len(), 1);
            let (count, []) = set.policy.kill(TraceId::NONE, Kill { turn: None }, []).await.unwrap();
            assert_eq!(count.killed, 1);
        };
        let (first, second, ()) = tokio::join!(first, second, killing);
        for (report, result) in [first.unwrap(), second.unwrap()] {
            assert_eq!(report.outcome, Outcome::Killed);
            assert_eq!(result.pointer("/error/class"), Some(&json!("Killed")));
        }
        assert!(
            set.memory
                .ended
                .borrow()
                .iter()
                .all(|ended| ended.outcome == Outcome::Killed && ended.error_class == "Killed")
        );
    });
}

#[test]
fn call_stopped_before_start_does_not_run_and_end_is_recorded() {
    run(async {
        let pool = PoolOnDisk::new();
        let (id, digests) = pool.signed("fs_read");
        let set = Set::trusted(pool).await;
        set.memory.on_start.set(Mood::Silent);
        let arguments = json!({"path": "a"});
        let turn = TurnId::new();
        let word = call(turn, 1, &id, &digests, &arguments);
        let running = set.run(word, &arguments);
        let killing = async {
            while set.memory.started.borrow().is_empty() {
                settle().await;
            }
            let (count, []) = set.policy.kill(TraceId::NONE, Kill { turn: Some(turn) }, []).await.unwrap();
            assert_eq!(count.killed, 1);
        };
        let (answer, ()) = tokio::join!(running, killing);
        // The start was never confirmed: nothing ran, nothing ended.
        assert_eq!(refused(answer).rule, "memory.gone");
        assert!(set.sandbox.jobs.borrow().is_empty() && set.memory.ended.borrow().is_empty());
    });
}

#[test]
fn when_policyd_goes_away_what_ran_for_it_is_stopped_and_its_end_recorded() {
    run(async {
        let pool = PoolOnDisk::new();
        let (id, digests) = pool.signed("fs_read");
        let mut set = Set::trusted(pool).await;
        set.sandbox.then(Act::UntilKilled).then(Act::Return(read_result("x")));
        let arguments = json!({"path": "a"});
        let turn = TurnId::new();
        let word = call(turn, 1, &id, &digests, &arguments);
        let policy = std::rc::Rc::clone(&set.policy);
        let sealed = Sealed::new(arguments.to_string().as_bytes()).unwrap();
        let asking =
            tokio::task::spawn_local(async move { policy.run(TraceId::NONE, word, [sealed]).await.map(|_| ()) });
        while set.sandbox.jobs.borrow().is_empty() {
            settle().await;
        }
        set.new_policyd();
        asking.abort();
        let _ = asking.await;
        set.trust().await.unwrap();
        while set.memory.ended.borrow().is_empty() {
            settle().await;
        }
        assert_eq!(set.memory.ended.borrow()[0].outcome, Outcome::Killed);
        // The next one starts with nothing of the one before, and works.
        let reference = Reference { call: CallRef(1), pointer: String::new() };
        let ask = Resolve { turn, references: vec![reference] };
        assert_eq!(refused(set.policy.resolve(TraceId::NONE, ask, []).await).rule, "reference.unknown");
        set.run(call(TurnId::new(), 1, &id, &digests, &arguments), &arguments).await.unwrap();
    });
}

#[test]
fn progress_reaches_policyd() {
    run(async {
        let pool = PoolOnDisk::new();
        let (id, digests) = pool.signed("fs_read");
        let set = Set::trusted(pool).await;
        let mut notes = set.policy.take_notes().unwrap();
        set.sandbox.then(Act::Progress(vec![(1, 3)], read_result("x")));
        let arguments = json!({"path": "a"});
        let word = call(TurnId::new(), 1, &id, &digests, &arguments);
        let expected = word.call;
        set.run(word, &arguments).await.unwrap();
        let Some(Note::RunProgress(progress)) = notes.recv().await else { panic!() };
        assert_eq!((progress.call, progress.done, progress.total), (expected, 1, 3));
    });
}

#[test]
fn every_run_yields_one_document_and_one_end() {
    run(async {
        let pool = PoolOnDisk::new();
        let (id, digests) = pool.signed("fs_read");
        let set = Set::trusted(pool).await;
        let arguments = json!({"path": "a"});
        let error = |class: &str| json!({"ok": false, "error": {"class": class, "message": "m"}});
        let cases = [
            (Act::Return(error("NotFound")), Outcome::Error, "NotFound"),
            (Act::Return(error("Undeclared")), Outcome::BadOutput, "BadOutput"),
            (Act::Return(json!({"ok": true})), Outcome::BadOutput, "BadOutput"),
            (Act::Bytes(b"{\"ok\":true,\"ok\":true}".to_vec()), Outcome::BadOutput, "BadOutput"),
            (Act::Bytes(b"NaN".to_vec()), Outcome::BadOutput, "BadOutput"),
            (Act::Bytes(vec![b'['; 100_000]), Outcome::BadOutput, "BadOutput"),
            (Act::Bytes(vec![b' '; 5 << 20]), Outcome::OutputTooLarge, "OutputTooLarge"),
            (Act::End(Outcome::Timeout), Outcome::Timeout, "Timeout"),
            (Act::End(Outcome::MemoryExceeded), Outcome::MemoryExceeded, "MemoryExceeded"),
            (Act::End(Outcome::SandboxFailed), Outcome::SandboxFailed, "SandboxFailed"),
            // It says that it succeeded and shows nothing.
            (Act::End(Outcome::Ok), Outcome::Crashed, "Crashed"),
        ];
        for (number, (act, outcome, class)) in cases.into_iter().enumerate() {
            set.sandbox.then(act);
            let (report, result) =
                set.run(call(TurnId::new(), 1, &id, &digests, &arguments), &arguments).await.unwrap();
            assert_eq!((report.outcome, result.pointer("/error/class")), (outcome, Some(&json!(class))), "{number}");
            assert_eq!(result["ok"], json!(false));
            let ended = set.memory.ended.borrow()[number].clone();
            assert_eq!((ended.outcome, ended.error_class.as_str(), ended.result), (outcome, class, report.result));
        }
    });
}

#[test]
fn a_drain_lets_what_runs_end_stops_the_rest_and_takes_nothing_new() {
    run(async {
        let pool = PoolOnDisk::new();
        let (id, digests) = pool.signed("fs_read");
        let set = Set::trusted(pool).await;
        set.sandbox.then(Act::UntilKilled);
        let arguments = json!({"path": "a"});
        let running = set.run(call(TurnId::new(), 1, &id, &digests, &arguments), &arguments);
        let draining = async {
            while set.sandbox.jobs.borrow().is_empty() {
                settle().await;
            }
            set.service.drain(std::time::Duration::from_millis(1)).await;
            assert_eq!(set.memory.ended.borrow().len(), 1);
        };
        let (answer, ()) = tokio::join!(running, draining);
        assert_eq!(answer.unwrap().0.outcome, Outcome::Killed);
        let refusal = refused(set.run(call(TurnId::new(), 1, &id, &digests, &arguments), &arguments).await);
        assert_eq!(refusal.rule, "sandboxd.stopping");
        let ask = Birth { id, digests };
        assert_eq!(refused(set.policy.birth(TraceId::NONE, ask, []).await).rule, "sandboxd.stopping");
    });
}

#[test]
fn suspicious_python_audit_event_is_recorded_with_its_call() {
    run(async {
        let pool = PoolOnDisk::new();
        let (id, digests) = pool.signed("fs_read");
        let set = Set::trusted(pool).await;
        let arguments = json!({"path": "a"});
        set.sandbox.then(Act::Return(read_result("x")));
        set.sandbox.then(Act::Alarm("open /etc/shadow".to_owned(), read_result("x")));
        let turn = TurnId::new();
        set.run(call(turn, 1, &id, &digests, &arguments), &arguments).await.unwrap();
        assert!(set.events("alarm").is_empty());
        let word = call(turn, 2, &id, &digests, &arguments);
        let (report, _) = set.run(word.clone(), &arguments).await.unwrap();
        // It stops nothing: the kernel has.
        assert_eq!(report.outcome, Outcome::Ok);
        let told = set.events("alarm");
        assert_eq!((told.len(), told[0].turn), (1, Some(turn)));
        for part in ["fs_read", &word.call.to_string(), "open /etc/shadow"] {
            assert!(told[0].text.contains(part), "{part}: {}", told[0].text);
        }
    });
}
