//! The vault through the whole daemon: what is handed to sandboxd, to whom and when; and where a value never turns up.

use crate::peers::{FakeExecutor, OWNER, World, act, denied, document, ran, run, sealed};
use metnos_proto::edge::RpcError;
use metnos_proto::edges::CtlPolicyd;
use metnos_proto::ids::{TraceId, TurnId};
use metnos_proto::link_async::Client;
use metnos_proto::msg::common::Channel;
use metnos_proto::msg::policyd::{Acted, CodesConfirm, CodesEnrol, RegisterPrompt, RunCall};
use metnos_proto::msg::vault_budget::{SecretFor, VaultAsk, VaultPut};
use metnos_proto::payload::Sealed;
use serde_json::{Value, json};

const NO: TraceId = TraceId::NONE;
const VALUE: &str = "hunter22-of-the-house";

fn keyed() -> FakeExecutor {
    let plain = FakeExecutor::reader("fetch_mail");
    let manifest = plain
        .manifest
        .replace("fs-read-workspace", "net-mail")
        .replace("{ fs_read = [\"workspace/\"] }", "{ secret = [\"imap\"] }")
        .replace("class = \"read\"", "class = \"net_read\"")
        .replace("\"/path\" = \"path\"", "\"/path\" = \"flag\"");
    FakeExecutor { manifest, ..plain }
}

async fn world(folder: &std::path::Path, again: bool) -> World {
    let mail = FakeExecutor { signed: again, ..keyed() };
    let reader = FakeExecutor { signed: again, ..FakeExecutor::reader("fs_read") };
    World::settled(folder, vec![mail.clone(), reader.clone()], &[&mail, &reader]).await
}

async fn put(owner: &Client<CtlPolicyd>, name: &str, value: &str, rotate: bool) -> Result<Value, String> {
    let ask = VaultPut { name: name.into(), rotate };
    document(owner.vault_put(NO, ask, [Sealed::new(value.as_bytes()).unwrap()]).await)
}

async fn vault(owner: &Client<CtlPolicyd>, ask: VaultAsk) -> Result<Value, String> {
    document(owner.vault(NO, ask, []).await)
}

fn mail() -> SecretFor {
    SecretFor { secret: "imap".into(), executor: "fetch_mail".into() }
}

async fn call(owner: &Client<CtlPolicyd>, executor: &str, arguments: Value) -> Acted {
    owner.run_call(NO, RunCall { executor: executor.into() }, [sealed(&arguments)]).await.unwrap().0.acted
}

/// What sandboxd was handed with its calls, in order.
fn handed(world: &World) -> Vec<String> {
    world.took().into_iter().filter(|line| line.starts_with("keyed ") || line.starts_with("run ")).collect()
}

#[test]
fn granted_secret_goes_only_with_the_decided_call() {
    let folder = tempfile::tempdir().unwrap();
    run(async {
        let world = world(folder.path(), false).await;
        let owner = world.owner(OWNER).await;
        world.took();
        assert_eq!(denied(call(&owner, "fetch_mail", json!({})).await), "secret.missing");
        assert_eq!(vault(&owner, VaultAsk::Grant(mail())).await, Err("secret.unknown".into()));
        put(&owner, "imap", VALUE, false).await.unwrap();
        assert_eq!(put(&owner, "imap", VALUE, false).await, Err("secret.there".into()));
        assert_eq!(denied(call(&owner, "fetch_mail", json!({})).await), "secret.grant");
        vault(&owner, VaultAsk::Grant(mail())).await.unwrap();
        let other = SecretFor { executor: "fs_read".into(), ..mail() };
        assert_eq!(vault(&owner, VaultAsk::Grant(other)).await, Err("secret.grant".into()), "it does not ask for it");
        assert!(handed(&world).is_empty(), "nothing has run so far");
        ran(call(&owner, "fetch_mail", json!({})).await);
        ran(call(&owner, "fs_read", json!({"path": "a"})).await);
        assert_eq!(
            handed(&world),
            [format!("keyed {{\"imap\":\"{VALUE}\"}}"), "run c1 fetch_mail".into(), "run c1 fs_read".into()]
        );
        put(&owner, "imap", "another-value", true).await.unwrap();
        ran(call(&owner, "fetch_mail", json!({})).await);
        assert_eq!(handed(&world)[0], "keyed {\"imap\":\"another-value\"}");
        vault(&owner, VaultAsk::Withdraw(mail())).await.unwrap();
        assert_eq!(denied(call(&owner, "fetch_mail", json!({})).await), "secret.grant");
        vault(&owner, VaultAsk::Grant(mail())).await.unwrap();
    });
    run(async {
        let world = world(folder.path(), true).await;
        let owner = world.owner(OWNER).await;
        world.took();
        ran(call(&owner, "fetch_mail", json!({})).await);
        assert_eq!(handed(&world)[0], "keyed {\"imap\":\"another-value\"}", "it outlives policyd");
        vault(&owner, VaultAsk::Remove("imap".into())).await.unwrap();
        assert_eq!(denied(call(&owner, "fetch_mail", json!({})).await), "secret.missing");
        put(&owner, "imap", VALUE, false).await.unwrap();
        assert_eq!(denied(call(&owner, "fetch_mail", json!({})).await), "secret.grant", "a new one is nobody's");
    });
}

#[test]
fn a_secret_withdrawn_while_the_decision_is_written_is_not_handed_over() {
    let folder = tempfile::tempdir().unwrap();
    run(async {
        let world = world(folder.path(), false).await;
        let owner = world.owner(OWNER).await;
        put(&owner, "imap", VALUE, false).await.unwrap();
        vault(&owner, VaultAsk::Grant(mail())).await.unwrap();
        world.took();
        let permits = world.memory.gate.available_permits();
        world.memory.gate.forget_permits(permits);
        let calling = tokio::task::spawn_local({
            let owner = world.owner(OWNER).await;
            async move { call(&owner, "fetch_mail", json!({})).await }
        });
        world.until("direct_turn").await;
        // Until the decision waits for its line.
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
        vault(&owner, VaultAsk::Withdraw(mail())).await.unwrap();
        world.memory.gate.add_permits(permits);
        assert_eq!(denied(calling.await.unwrap()), "secret.grant");
        let took = world.took();
        assert!(took.iter().any(|line| line.starts_with("decision c1 fetch_mail allow")), "{took:?}");
        assert!(!took.iter().any(|line| line.starts_with("keyed ") || line.starts_with("run ")));
    });
}

#[test]
fn a_value_is_in_no_record_no_file_no_answer_and_no_prompt() {
    let folder = tempfile::tempdir().unwrap();
    run(async {
        let world = world(folder.path(), false).await;
        let owner = world.owner(OWNER).await;
        put(&owner, "imap", VALUE, false).await.unwrap();
        vault(&owner, VaultAsk::Grant(mail())).await.unwrap();
        let listed = vault(&owner, VaultAsk::List).await.unwrap().to_string();
        assert!(listed.contains("imap") && !listed.contains(VALUE), "{listed}");
        // Not as an argument, in whatever way it is written there.
        let escaped: String = VALUE.chars().map(|c| format!("\\u{:04x}", c as u32)).collect();
        for text in [
            json!({"text": format!("x{VALUE}x")}).to_string(),
            json!({"path": VALUE}).to_string(),
            json!({VALUE: 1}).to_string(),
            format!("{{\"text\":\"{escaped}\"}}"),
            format!("no json {VALUE}"),
        ] {
            let ask = RunCall { executor: "fs_read".into() };
            let acted = owner.run_call(NO, ask, [Sealed::new(text.as_bytes()).unwrap()]).await.unwrap().0.acted;
            assert_eq!(denied(acted), "guard.secret", "{text}");
        }
        let ask = RunCall { executor: VALUE.into() };
        assert!(
            matches!(owner.run_call(NO, ask, [sealed(&json!({}))]).await, Err(RpcError::Refused(it)) if it.rule == "guard.secret")
        );
        // Nor as words.
        let door = world.door().await;
        let prompt = RegisterPrompt { channel: Channel::Cli, sender: format!("uid:{OWNER}") };
        let said = Sealed::new(format!("my password is {VALUE}").as_bytes()).unwrap();
        match door.register_prompt(NO, prompt, [said]).await {
            Err(RpcError::Refused(refusal)) => assert!(refusal.rule == "guard.secret" && !refusal.why.contains(VALUE)),
            other => panic!("{other:?}"),
        }
        ran(call(&owner, "fetch_mail", json!({})).await);
        let records: Vec<String> = world.took().into_iter().filter(|line| !line.starts_with("keyed ")).collect();
        assert!(records.iter().any(|line| line.contains("guard.secret")), "{records:?}");
        assert!(!records.iter().any(|line| line.contains(VALUE)), "{records:?}");
        for name in ["policy.sqlite", "policy.sqlite-wal"] {
            let bytes = std::fs::read(folder.path().join(name)).unwrap_or_default();
            assert!(!bytes.windows(VALUE.len()).any(|window| window == VALUE.as_bytes()), "{name}");
        }
    });
}

#[test]
fn one_time_code_secret_is_stored_sealed_and_valid_after_restart() {
    let folder = tempfile::tempdir().unwrap();
    let secret = run(async {
        let world = world(folder.path(), false).await;
        let owner = world.owner(OWNER).await;
        let (made, []) = owner.codes_enrol(NO, CodesEnrol {}, []).await.unwrap();
        unbase32(&made.secret)
    });
    for name in ["policy.sqlite", "policy.sqlite-wal"] {
        let bytes = std::fs::read(folder.path().join(name)).unwrap_or_default();
        assert!(!bytes.windows(secret.len()).any(|window| window == secret), "{name}");
    }
    run(async {
        let world = world(folder.path(), true).await;
        let owner = world.owner(OWNER).await;
        let step = 1_770_000_000 / metnos_policyd::approvals::totp::STEP_S;
        let code = metnos_policyd::approvals::totp::code(&secret, step, metnos_policyd::approvals::totp::DIGITS);
        owner.codes_confirm(NO, CodesConfirm { code }, []).await.unwrap();
    });
    // Another key opens nothing: no code counts, and policyd serves all the same.
    std::fs::write(folder.path().join("vault.key"), [7; 32]).unwrap();
    run(async {
        let world = world(folder.path(), true).await;
        let owner = world.owner(OWNER).await;
        let step = 1_770_000_000 / metnos_policyd::approvals::totp::STEP_S + 1;
        let code = metnos_policyd::approvals::totp::code(&secret, step, metnos_policyd::approvals::totp::DIGITS);
        assert!(owner.codes_confirm(NO, CodesConfirm { code }, []).await.is_err());
    });
}

#[test]
fn vault_is_reachable_only_by_local_owner_and_rejects_malformed_secret() {
    let folder = tempfile::tempdir().unwrap();
    run(async {
        let world = world(folder.path(), false).await;
        let stranger = world.owner(OWNER + 1).await;
        assert_eq!(put(&stranger, "imap", VALUE, false).await, Err("principal.unpaired".into()));
        assert_eq!(vault(&stranger, VaultAsk::List).await, Err("principal.unpaired".into()));
        let owner = world.owner(OWNER).await;
        let long = "x".repeat(metnos_proto::msg::sandboxd::MAX_SECRET + 1);
        for (name, value, rule) in [
            ("", "x", "secret.name"),
            ("=codes", "x", "secret.name"),
            ("A", "x", "secret.name"),
            ("a", "", "secret.form"),
            ("a", "x\0", "secret.form"),
            ("a", long.as_str(), "secret.form"),
        ] {
            assert_eq!(put(&owner, name, value, false).await, Err(rule.into()), "{name}");
        }
        assert_eq!(put(&owner, "a", "x", true).await, Err("secret.unknown".into()));
        let turn: TurnId = world.say("fetch my mail").await;
        put(&owner, "imap", VALUE, false).await.unwrap();
        let planner = world.planner(1).await;
        let acted = planner.act(NO, act(turn, 1, "fetch_mail"), [sealed(&json!({}))]).await.unwrap().0;
        assert_eq!(denied(acted), "secret.grant", "no planner gets around the owner's word");
    });
}

/// Base 32 (RFC 4648) read back.
fn unbase32(text: &str) -> Vec<u8> {
    let mut bits = 0_u64;
    let (mut have, mut bytes) = (0, Vec::new());
    for letter in text.bytes() {
        let value = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567".iter().position(|it| *it == letter).unwrap();
        bits = bits << 5 | value as u64;
        have += 5;
        if have >= 8 {
            have -= 8;
            bytes.push(u8::try_from(bits >> have & 0xff).unwrap());
        }
    }
    bytes
}
