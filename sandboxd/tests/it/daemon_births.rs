//! Births, and what the owner asks: on real channels, in a sandbox that follows a script.

use crate::fixture::{Act, PoolOnDisk, Set, call, flip, read_result, refused, run, settle};
use metnos_proto::doc::draft::TriedInput;
use metnos_proto::ids::{Blake3, TraceId, TurnId};
use metnos_proto::msg::common::{ExecutorId, Outcome};
use metnos_proto::msg::drafting::TryTexts;
use metnos_proto::msg::sandboxd::{Birth, Canaries, Install, Kill, SandboxStatus, VerifyExecutor};
use metnos_proto::payload::Sealed;
use serde_json::{Value, json};

#[test]
fn changed_executor_is_quarantined_when_owner_verifies_it() {
    run(async {
        let pool = PoolOnDisk::new();
        let (id, digests) = pool.signed("fs_read");
        let set = Set::trusted(pool).await;
        let ctl = set.ctl();
        let verify = |name: &str| VerifyExecutor { name: name.to_owned() };
        let (found, []) = ctl.verify_executor(TraceId::NONE, verify("fs_read"), []).await.unwrap();
        assert!(found.entries.len() == 1 && found.entries[0].signed && found.entries[0].fault.is_empty());
        flip(&set.pool.file(&id, "main.py"), 100);
        let (found, []) = ctl.verify_executor(TraceId::NONE, verify("fs_read"), []).await.unwrap();
        assert!(
            !found.entries[0].signed && found.entries[0].fault.contains("main.py")
                || found.entries[0].fault.contains("quarantine")
        );
        let arguments = json!({"path": "a"});
        let refusal = refused(set.run(call(TurnId::new(), 1, &id, &digests, &arguments), &arguments).await);
        assert_eq!(refusal.rule, "executor.quarantined");
        for name in ["none", "../fs_read", ""] {
            assert_eq!(refused(ctl.verify_executor(TraceId::NONE, verify(name), []).await).rule, "executor.unknown");
        }
    });
}

#[test]
fn the_owner_sees_what_carries_the_sandbox_and_can_try_it() {
    run(async {
        let set = Set::new(PoolOnDisk::new());
        let ctl = set.ctl();
        let (report, []) = ctl.sandbox_status(TraceId::NONE, SandboxStatus {}, []).await.unwrap();
        assert_eq!((report.running, report.runs_total), (0, 0));
        assert!(report.interpreter.contains("3.11") && report.layers == ["script: test"], "{report:?}");
        let (canaries, []) = ctl.canaries(TraceId::NONE, Canaries {}, []).await.unwrap();
        assert!(canaries.canaries[0].stopped);
        let none = ctl.verify_executor(TraceId::NONE, VerifyExecutor { name: "fs_read".into() }, []).await;
        assert_eq!(refused(none).rule, "trust.none");
    });
}

#[test]
fn a_seed_is_born_in_its_own_sandbox_installed_and_runs() {
    run(async {
        let pool = PoolOnDisk::new();
        let id = pool.seed("fs_read");
        let digests = pool.digests(&id);
        let set = Set::trusted(pool).await;
        let case = |name: &str, expect: Value| json!({"name": name, "files": {"a": {"text": "x"}}, "args": {"path": "a"}, "expect": expect});
        let cases = json!({"ok": true, "cases": [
            case("reads", json!({"ok": true, "values": {"/content": "x"}})),
            case("wrong", json!({"ok": true, "values": {"/content": "y"}})),
            case("missing", json!({"ok": false, "class": "NotFound"})),
        ]});
        set.sandbox
            .then(Act::Return(cases))
            .then(Act::Return(read_result("x")))
            .then(Act::Return(read_result("x")))
            .then(Act::Return(json!({"ok": false, "error": {"class": "NotFound", "message": "m"}})))
            .then(Act::Return(read_result("x")));
        let ask = Birth { id: id.clone(), digests: digests.clone() };
        let (born, [candidate]) = set.policy.birth(TraceId::NONE, ask, []).await.unwrap();
        let held: Vec<bool> = born.cases.iter().map(|case| case.passed).collect();
        assert_eq!(held, [true, false, true]);
        assert!(born.cases[1].detail.contains("\"y\" was expected"), "{:?}", born.cases[1]);
        let candidate: Value = serde_json::from_slice(&candidate.read().unwrap()).unwrap();
        let code = candidate["code"].as_str().unwrap();
        assert_eq!(Blake3::of(code.as_bytes()), digests.code);
        {
            let jobs = set.sandbox.jobs.borrow();
            assert!(jobs[0].grants.is_empty(), "the tests see no workspace: {:?}", jobs[0].grants);
            assert!(jobs[1..].iter().all(|job| job.grants == ["/scratch/1"]), "nor does a case: {jobs:?}");
            assert!(set.memory.started.borrow().is_empty(), "a birth is no call");
        }
        let arguments = json!({"path": "a"});
        let install = Install { id: id.clone(), digests: digests.clone(), signature: set.pool.signature(&digests) };
        set.policy.install(TraceId::NONE, install, []).await.unwrap();
        set.run(call(TurnId::new(), 1, &id, &digests, &arguments), &arguments).await.unwrap();
    });
}

#[test]
fn tests_that_describe_no_cases_or_too_few_are_no_birth() {
    run(async {
        let pool = PoolOnDisk::new();
        let id = pool.seed("fs_read");
        let digests = pool.digests(&id);
        let set = Set::trusted(pool).await;
        let case =
            |name: &str| json!({"name": name, "files": {}, "args": {}, "expect": {"ok": false, "class": "NotFound"}});
        for act in [
            Act::End(Outcome::Crashed),
            Act::Return(json!({"ok": true, "cases": []})),
            Act::Return(json!({"ok": true, "cases": [case("a"), case("b")]})),
            Act::Return(json!({"ok": true, "cases": [case("a"), case("b"), case("b")]})),
            Act::Return(json!({"ok": true, "cases": [case("a"), case("b"), {"name": "c"}]})),
        ] {
            set.sandbox.then(act);
            let ask = Birth { id: id.clone(), digests: digests.clone() };
            assert_eq!(refused(set.policy.birth(TraceId::NONE, ask, []).await).rule, "birth.tests");
        }
        assert_eq!(set.sandbox.jobs.borrow().len(), 5);
    });
}

#[test]
fn a_birth_can_be_stopped_between_its_cases_and_in_one() {
    run(async {
        let pool = PoolOnDisk::new();
        let id = pool.seed("fs_read");
        let digests = pool.digests(&id);
        let set = Set::trusted(pool).await;
        let case =
            |name: &str| json!({"name": name, "files": {}, "args": {}, "expect": {"ok": false, "class": "NotFound"}});
        set.sandbox
            .then(Act::Return(json!({"ok": true, "cases": [case("a"), case("b"), case("c")]})))
            .then(Act::UntilKilled);
        let birth = set.policy.birth(TraceId::NONE, Birth { id: id.clone(), digests: digests.clone() }, []);
        let killing = async {
            while set.sandbox.jobs.borrow().len() < 2 {
                settle().await;
            }
            // A turn's kill is not for it.
            let (count, []) = set.policy.kill(TraceId::NONE, Kill { turn: Some(TurnId::new()) }, []).await.unwrap();
            assert_eq!(count.killed, 0);
            let (count, []) = set.policy.kill(TraceId::NONE, Kill { turn: None }, []).await.unwrap();
            assert_eq!(count.killed, 1);
        };
        let (birth, ()) = tokio::join!(birth, killing);
        assert!(refused(birth.map(|_| ())).why.contains("stopped"));
        assert_eq!(set.sandbox.jobs.borrow().len(), 2, "the third case was not begun");
    });
}

#[test]
fn a_case_that_ran_out_of_time_is_tried_again_and_not_for_ever() {
    use metnos_sandboxd::verify::birth::BIRTH;
    run(async {
        let pool = PoolOnDisk::new();
        let id = pool.seed("fs_read");
        let digests = pool.digests(&id);
        let set = Set::trusted(pool).await;
        let case = |name: &str| json!({"name": name, "files": {}, "args": {"path": "a"}, "expect": {"ok": true, "values": {"/content": "x"}}});
        let cases = json!({"ok": true, "cases": [case("busy"), case("endless"), case("broken")]});
        set.sandbox.then(Act::Return(cases));
        set.sandbox.then(Act::End(Outcome::Timeout)).then(Act::Return(read_result("x")));
        for _ in 0..BIRTH.tries {
            set.sandbox.then(Act::End(Outcome::Timeout));
        }
        // What did not run out of time is not tried again.
        set.sandbox.then(Act::End(Outcome::Crashed));
        let (born, [_]) = set.policy.birth(TraceId::NONE, Birth { id, digests }, []).await.unwrap();
        let held: Vec<bool> = born.cases.iter().map(|case| case.passed).collect();
        assert_eq!(held, [true, false, false]);
        assert!(set.sandbox.acts.borrow().is_empty());
    });
}

/// A draft with these inputs, as policyd hands it on: the files of fs_read, which lie nowhere.
fn trial(pool: &PoolOnDisk, inputs: &Value) -> (ExecutorId, Sealed) {
    let id = pool.seed("fs_read");
    let text = |name: &str| std::fs::read_to_string(pool.file(&id, name)).unwrap();
    let names = ["manifest.toml", "main.py", "schema.json", "tests/birth.py"];
    let mut files: serde_json::Map<String, Value> =
        names.into_iter().map(|name| (name.to_owned(), json!(text(name)))).collect();
    let manifest = text("manifest.toml").replacen("name = \"fs_read\"", "name = \"drafted\"", 1);
    files["manifest.toml"] = json!(manifest.replace("executor.fs_read", "executor.drafted"));
    let document = json!({"files": files, "inputs": inputs, "all": false});
    let version = id.version;
    (ExecutorId { name: "drafted".to_owned(), version }, Sealed::new(document.to_string().as_bytes()).unwrap())
}

#[test]
fn draft_is_scanned_and_runs_where_nothing_is_granted() {
    run(async {
        let pool = PoolOnDisk::new();
        let (id, sealed) = trial(&pool, &json!([{"path": "a"}, {"path": "b"}]));
        let set = Set::trusted(pool).await;
        let case = |name: &str| json!({"name": name, "files": {}, "args": {"path": "a"}, "expect": {"ok": true, "values": {"/content": "x"}}});
        let cases = json!({"ok": true, "cases": [case("one"), case("two"), case("three")]});
        let clean = || Act::Return(json!({"ok": true, "total": 0, "found": []}));
        set.sandbox.then(clean()).then(Act::Return(cases.clone()));
        set.sandbox.then(Act::Return(read_result("x"))).then(Act::End(Outcome::Timeout));
        let (tried, [came]) = set.policy.try_texts(TraceId::NONE, TryTexts { id: id.clone() }, [sealed]).await.unwrap();
        let held: Vec<bool> = tried.cases.iter().map(|case| case.passed).collect();
        assert_eq!((held.as_slice(), came.read().unwrap().as_slice()), (&[true, false][..], &b"[]"[..]));
        assert!(set.sandbox.acts.borrow().is_empty(), "nothing is tried again, and no input is run");
        assert!(set.sandbox.jobs.borrow().iter().all(|job| job.grants.is_empty()), "whatever its manifest asks for");

        let (_, sealed) = trial(&set.pool, &json!([{"path": "a"}, {"path": "b"}]));
        set.sandbox.then(clean()).then(Act::Return(cases));
        for _ in 0..4 {
            set.sandbox.then(Act::Return(read_result("x")));
        }
        set.sandbox.then(Act::End(Outcome::Crashed));
        let (tried, [came]) = set.policy.try_texts(TraceId::NONE, TryTexts { id: id.clone() }, [sealed]).await.unwrap();
        assert!(tried.cases.len() == 3 && tried.cases.iter().all(|case| case.passed));
        let came: Vec<TriedInput> = serde_json::from_slice(&came.read().unwrap()).unwrap();
        assert_eq!(came.iter().map(|one| one.outcome.as_str()).collect::<Vec<_>>(), ["ok", "crashed"]);

        // What the scan finds is not run.
        let (_, sealed) = trial(&set.pool, &json!([]));
        set.sandbox.then(Act::Return(json!({"ok": true, "total": 1, "found": ["line 1 uses eval"]})));
        let refusal = refused(set.policy.try_texts(TraceId::NONE, TryTexts { id: id.clone() }, [sealed]).await);
        assert!(refusal.rule == "birth.scan" && refusal.why.contains("eval"), "{refusal}");
        assert!(set.sandbox.acts.borrow().is_empty());
        assert!(!set.pool.file(&id, "main.py").exists(), "nothing of a draft lies in the pool");
    });
}

#[test]
fn trial_that_is_no_trial_is_refused_before_anything_runs() {
    run(async {
        let set = Set::trusted(PoolOnDisk::new()).await;
        let (id, good) = trial(&set.pool, &json!([]));
        let many = json!(vec![json!({"path": "a"}); 65]);
        for (bad, what) in [
            (b"no JSON".to_vec(), "a word of JSON"),
            (b"{\"files\": {}, \"inputs\": [], \"all\": true}".to_vec(), "manifest.toml"),
            (trial(&set.pool, &many).1.read().unwrap(), "65 inputs"),
        ] {
            let sealed = Sealed::new(&bad).unwrap();
            let refusal = refused(set.policy.try_texts(TraceId::NONE, TryTexts { id: id.clone() }, [sealed]).await);
            assert_eq!(refusal.rule, "draft.form", "{what}: {refusal}");
        }
        let other = ExecutorId { name: "other".to_owned(), ..id };
        let refusal = refused(set.policy.try_texts(TraceId::NONE, TryTexts { id: other }, [good]).await);
        assert_eq!(refusal.rule, "stage.unfit", "{refusal}");
        assert!(set.sandbox.jobs.borrow().is_empty());
    });
}

#[test]
fn every_executor_of_the_release_is_born_in_the_tests_of_the_sandbox() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../executors");
    let there = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut there: Vec<String> = there
        .filter(|path| path.join("manifest.toml").exists())
        .map(|path| path.file_name().unwrap().to_string_lossy().into_owned())
        .collect();
    there.sort();
    let named: Vec<&str> = crate::seeds::SEEDS.iter().map(|(name, _)| *name).collect();
    assert_eq!(named, there);
}
