//! Drafts as a syntd brings them that has been taken over: it names what it wants, and says of it what it wants.

use std::rc::Rc;

use crate::minds::world;
use crate::peers::mind::Says;
use crate::peers::{DRY_RUN, OWNER, World, document, run, sealed};
use metnos_policyd::budget::drafts::MAX_TRIALS;
use metnos_proto::edge::RpcError;
use metnos_proto::edges::SyntdPolicyd;
use metnos_proto::ids::{TraceId, TurnId};
use metnos_proto::link_async::Client;
use metnos_proto::msg::common::ExecutorId;
use metnos_proto::msg::drafting::{OfferDraft, TryDraft};
use metnos_proto::msg::lifecycle::{LifecycleAsk, SignRequest};
use metnos_proto::msg::policyd::{EndDrafts, FundDrafts, GrowthQuota, Panic};
use serde_json::{Value, json};

const NO: TraceId = TraceId::NONE;

fn manifest(name: &str, run: &str) -> String {
    format!(
        "[executor]\nname = \"{name}\"\nversion = \"1.0.0\"\ncreated_at = 2026-11-30T00:00:00Z\ncreated_by = \"synt:{run}\"\n\
         summary = \"Doubles.\"\nexamples = [\"double it\"]\n[contract]\ninput_schema = \"schema.json#/definitions/Input\"\n\
         output_schema = \"schema.json#/definitions/Output\"\nerror_classes = [\"BadInput\"]\nidempotent = true\nside_effects = false\n\
         [sandbox]\nprofile = \"pure\"\ncapabilities = []\n[effects]\nclass = \"read\"\nreversible = true\n[args]\n\
         [output]\ndefault = \"X\"\nV = []\n[audit]\ntrace_topic = \"executor.{name}\"\n"
    )
}

fn files(manifest: &str, code: &str) -> Value {
    let number = json!({"type": "integer"});
    let schema = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "definitions": {
            "Input": {"type": "object", "additionalProperties": false, "properties": {"n": number, "path": {"type": "string", "maxLength": 9}}},
            "Output": {"type": "object", "additionalProperties": false, "properties": {"ok": {"const": true}, "twice": number}},
        },
    });
    json!({"manifest.toml": manifest, "main.py": code, "schema.json": schema.to_string(), "tests/birth.py": "def cases(): ..."})
}

fn id(name: &str) -> ExecutorId {
    ExecutorId { name: name.to_owned(), version: "1.0.0".to_owned() }
}

/// The rule under which something was refused; empty where it was done.
fn rule<T>(asked: Result<T, RpcError>) -> String {
    match asked {
        Ok(_) => String::new(),
        Err(RpcError::Refused(refusal)) => refusal.rule,
        Err(other) => panic!("{other}"),
    }
}

/// A syntd with a run that is open.
struct Drafter {
    syntd: Rc<Client<SyntdPolicyd>>,
    run: TurnId,
}

impl Drafter {
    async fn of(world: &World) -> Self {
        *world.mind.says.borrow_mut() = Says::Nothing;
        let syntd = world.syntd().await;
        let (funded, []) = syntd.fund_drafts(NO, FundDrafts { run: TurnId::NONE, tokens: 100 }, []).await.unwrap();
        world.took();
        Self { syntd, run: funded.run }
    }

    async fn tries(&self, run: TurnId, name: &str, files: &Value) -> String {
        let trial = sealed(&json!({"files": files, "inputs": [{"n": 1}], "all": true}));
        rule(self.syntd.try_draft(NO, TryDraft { run, id: id(name) }, [trial]).await)
    }

    async fn offers(&self, run: TurnId, name: &str, files: &Value) -> String {
        let ask = OfferDraft { run, id: id(name), wish: "double a number".into(), model: "there/m".into() };
        rule(self.syntd.offer_draft(NO, ask, [sealed(files)]).await)
    }
}

#[test]
fn draft_that_asks_for_a_grant_is_never_tried_nor_offered() {
    let folder = tempfile::tempdir().unwrap();
    DRY_RUN.set(false);
    run(async {
        let world = world(folder.path(), 10_000, 5_000).await;
        let it = Drafter::of(&world).await;
        let own = manifest("doubler", &it.run.to_string());
        let more = |old: &str, new: &str| own.replacen(old, new, 1);
        let granted = |profile: &str, capability: &str| {
            more(
                "profile = \"pure\"\ncapabilities = []",
                &format!("profile = \"{profile}\"\ncapabilities = [{capability}]"),
            )
        };
        for (what, text) in [
            ("a file", granted("fs-read-workspace", "{ fs_read = [\"workspace/\"] }")),
            (
                "the network",
                granted("net", "{ net = [\"example.org\"] }").replace("class = \"read\"", "class = \"net_read\""),
            ),
            ("an account", granted("net", "{ net = [\"account mail\"] }")),
            ("another class", more("class = \"read\"", "class = \"shell\"")),
            (
                "a model's words",
                more("[args]", "[mind]\nrole = \"executors\"\ninstruction = \"x\"\nmax_tokens = 9\n[args]"),
            ),
            ("a vouched number", more("V = []", "V = [\"/twice\"]")),
            ("a seed's making", more(&format!("synt:{}", it.run), "seed")),
            ("another run", more(&it.run.to_string(), &TurnId::new().to_string())),
            ("a private file", more("side_effects = false", "side_effects = false\nown_file = \"notes.md\"")),
            ("the home", more("side_effects = false", "side_effects = false\nhome_place = true")),
            (
                "another name",
                more("name = \"doubler\"", "name = \"other\"").replace("executor.doubler", "executor.other"),
            ),
        ] {
            let files = files(&text, "def run(args, ctx): ...");
            assert_eq!(it.tries(it.run, "doubler", &files).await, "draft.unfit", "{what}: {text}");
            assert_eq!(it.offers(it.run, "doubler", &files).await, "draft.unfit", "{what}: {text}");
        }
        // The name of an executor of the release is no draft's.
        let seed = files(&manifest("fs_read", &it.run.to_string()), "def run(args, ctx): ...");
        assert_eq!(it.tries(it.run, "fs_read", &seed).await, "birth.seed");
        let took = world.took();
        assert!(!took.iter().any(|line| line.contains("try_texts") || line.contains("stage")), "{took:?}");
    });
}

#[test]
fn offered_draft_is_tested_anew_and_waits_unsigned_for_the_owner() {
    let folder = tempfile::tempdir().unwrap();
    DRY_RUN.set(false);
    run(async {
        let world = world(folder.path(), 10_000, 5_000).await;
        let it = Drafter::of(&world).await;
        let text = manifest("doubler", &it.run.to_string());
        // A syntd that lies about its tests is found out.
        assert_eq!(it.offers(it.run, "doubler", &files(&text, "WRONG")).await, "draft.unfit");
        assert!(!world.took().iter().any(|line| line.starts_with("stage")));
        let good = files(&text, "def run(args, ctx): ...");
        assert_eq!(it.tries(it.run, "doubler", &good).await, "");
        assert_eq!(it.offers(it.run, "doubler", &good).await, "");
        let took = world.took();
        let at = |what: &str| {
            took.iter().position(|line| line.starts_with(what)).unwrap_or_else(|| panic!("{what}: {took:?}"))
        };
        assert!(
            at("try_texts doubler 1.0.0 0") < at("event executor_drafted")
                && at("event executor_drafted") < at("stage doubler"),
            "{took:?}"
        );
        assert!(
            !took.iter().any(|line| line.starts_with("install") || line.starts_with("birth")),
            "nothing is signed: {took:?}"
        );
        // Only the owner asks for a signature, and of what lies in the pool.
        let ask = LifecycleAsk::Sign(SignRequest { name: "doubler".into(), confirm: String::new() });
        assert_eq!(document(world.owner(OWNER).await.life(NO, ask, []).await).unwrap_err(), "executor.unknown");
    });
}

#[test]
fn second_trial_waits_for_the_first_and_a_third_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    DRY_RUN.set(false);
    run(async {
        let world = world(folder.path(), 10_000, 5_000).await;
        let it = Rc::new(Drafter::of(&world).await);
        let good = files(&manifest("doubler", &it.run.to_string()), "def run(args, ctx): ...");
        let begin = || {
            let (it, same) = (Rc::clone(&it), good.clone());
            tokio::task::spawn_local(async move { it.tries(it.run, "doubler", &same).await })
        };
        for stopped in [false, true] {
            world.sandbox.gate.forget_permits(1_000);
            let first = begin();
            while !world.took().iter().any(|line| line.starts_with("try_texts")) {
                tokio::task::yield_now().await;
            }
            let second = begin();
            tokio::task::yield_now().await;
            for _ in 0..64 {
                assert_eq!(it.tries(it.run, "doubler", &good).await, "drafts.busy");
            }
            assert_eq!(it.offers(it.run, "doubler", &good).await, "drafts.busy");
            assert!(!world.took().iter().any(|line| line.starts_with("try_texts")), "only one has reached sandboxd");
            if stopped {
                let _stopped = world.owner(OWNER).await.panic(NO, Panic {}, []).await.unwrap();
            }
            world.sandbox.gate.add_permits(1_000);
            assert_eq!(first.await.unwrap(), "");
            assert_eq!(second.await.unwrap(), if stopped { "panic.stopped" } else { "" });
            world.took();
        }
    });
}

#[test]
fn drafts_need_a_run_a_limit_and_no_panic_and_dry_runs_offer_none() {
    let folder = tempfile::tempdir().unwrap();
    DRY_RUN.set(true);
    run(async {
        let world = world(folder.path(), 10_000, 5_000).await;
        let it = Drafter::of(&world).await;
        assert!(it.syntd.growth_quota(NO, GrowthQuota {}, []).await.unwrap().0.dry_run);
        let good = files(&manifest("doubler", &it.run.to_string()), "def run(args, ctx): ...");
        assert_eq!(it.offers(it.run, "doubler", &good).await, "synt.dry_run");
        assert_eq!(it.tries(TurnId::new(), "doubler", &good).await, "drafts.unknown");
        assert_eq!(it.offers(TurnId::new(), "doubler", &good).await, "drafts.unknown");
        let other = Drafter { syntd: world.syntd_on(2).await, run: it.run };
        assert_eq!(other.tries(it.run, "doubler", &good).await, "drafts.unknown", "a run is its link's alone");
        assert_eq!(
            rule(it.syntd.try_draft(NO, TryDraft { run: it.run, id: id("doubler") }, [sealed(&json!([]))]).await),
            "draft.form"
        );
        let mut tried = 0;
        while it.tries(it.run, "doubler", &good).await.is_empty() {
            tried += 1;
        }
        assert!(tried < MAX_TRIALS, "{tried}");
        assert_eq!(it.tries(it.run, "doubler", &good).await, "drafts.trials");
        let _ended = it.syntd.end_drafts(NO, EndDrafts { run: it.run }, []).await.unwrap();
        let again = Drafter::of(&world).await;
        let owner = world.owner(OWNER).await;
        let _stopped = owner.panic(NO, Panic {}, []).await.unwrap();
        let good = files(&manifest("doubler", &again.run.to_string()), "def run(args, ctx): ...");
        assert_eq!(again.tries(again.run, "doubler", &good).await, "panic.stopped");
    });
}
