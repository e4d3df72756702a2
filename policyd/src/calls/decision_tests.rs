//! What is decided, and by which rule.

use std::collections::BTreeMap;
use std::rc::Rc;

use metnos_policy::call::fields::Files;
use metnos_policy::call::spec::Spec;
use metnos_policy::evidence::context::{Confirm, Context, Who, World};
use metnos_policy::evidence::results::Output;
use metnos_proto::executor::{Class, Manifest};
use metnos_proto::msg::common::{CallRef, Level, Readers, RefusalCode, Standing};
use metnos_proto::msg::memoryd as memory;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::arguments::{Arguments, Resolved};
use crate::decision::{
    Callable, Facts, Finding, Flow, Given, Load, MAX_CALLS_PER_TURN, MAX_HANDLES, MAX_KEPT_BYTES, MAX_RUNNING,
    MAX_RUNNING_PER_TURN, MAX_WHY, NOT_OFFERED, Named, Verdict, WAITING, decide,
};
use crate::executors::contract::Input;
use crate::paths::{self, Places};
use crate::shares::{RUNNING, Taken};
use crate::testing;

struct Bench {
    manifest: Manifest,
    input: Input,
    spec: Spec,
    world: World,
    flow: Context,
    output: Output,
}

/// Nothing runs, and the owner asks.
fn idle() -> Load {
    Load::idle(Standing::Owner)
}

impl Bench {
    fn new(roles: &[(&str, &str)], properties: &Value) -> Self {
        Self {
            manifest: testing::manifest("fs_read", roles),
            spec: Spec::of(&testing::manifest("fs_read", roles)),
            input: Input::new(Rc::new(testing::schema(properties, &[]))),
            world: testing::world().as_ref().clone(),
            flow: Context::new(Who::Owner),
            output: Output::failed(Readers::Private),
        }
    }

    fn reader() -> Self {
        Self::new(&[("/path", "path")], &testing::path_property())
    }

    fn decide_bytes(&self, bytes: &[u8], resolved: &Resolved, change: impl Fn(&mut Facts<'_>)) -> Verdict {
        let parsed = Arguments::parse(bytes);
        let filled = parsed.as_ref().ok().and_then(|parsed| parsed.fill(&self.spec, resolved));
        let fault = filled.as_ref().and_then(|filled| self.input.fault(filled));
        let results = BTreeMap::from([(CallRef(1), &self.output)]);
        let files = Files::default();
        let mut facts = Facts {
            name: "fs_read",
            executor: Named::Callable(Callable::of(&self.manifest, &self.spec)),
            by_planner: false,
            switches: Finding::Clear,
            turn: Finding::Clear,
            given: Some(Given {
                parsed: parsed.as_ref(),
                resolved: Ok(resolved),
                filled: filled.as_ref(),
                fault: fault.as_deref(),
                withheld: false,
            }),
            secrets: Finding::Clear,
            load: Some(idle()),
            budgets: Finding::Clear,
            listed: Finding::Clear,
            flow: Some(Flow { world: &self.world, context: &self.flow, results: &results, files: &files }),
            cost: Finding::Clear,
            way_back: Finding::Clear,
            sandbox_ready: true,
            ..Facts::default()
        };
        change(&mut facts);
        decide(&facts).verdict
    }

    fn decide(&self, arguments: &Value) -> Verdict {
        self.decide_bytes(arguments.to_string().as_bytes(), &Resolved::new(), |_| {})
    }

    fn rule(&self, arguments: &Value) -> String {
        let verdict = self.decide(arguments);
        assert!(!verdict.is_allow(), "{arguments}: {verdict:?}");
        verdict.rule
    }
}

#[test]
fn reading_in_the_workspace_is_allowed() {
    let bench = Bench::reader();
    for path in ["notes/welcome.md", "./notes//a.md", "notes/../a.md", "100%25.txt", "perché no.md"] {
        let verdict = bench.decide(&json!({ "path": path }));
        assert!(verdict.is_allow(), "{path}: {verdict:?}");
        assert_eq!(verdict.rule, "read.granted");
    }
    assert!(bench.decide(&json!({"path": "/root/.local/share/metnos/workspace/notes/a.md"})).is_allow());
}

#[test]
fn each_bad_path_has_a_rule_of_its_own() {
    let bench = Bench::reader();
    for (path, rule) in [
        ("/etc/shadow", "guard.path"),
        ("//etc/shadow", "guard.spelling"),
        ("../../../etc/passwd", "guard.climb"),
        ("../outside.txt", "guard.climb"),
        ("/proc/self/../../srv/x", "guard.passage"),
        ("a\0b", "guard.nul"),
        ("/srv/other/file", "profile.paths"),
        ("notes/../../workspace/a.md", "profile.paths"),
        ("", "schema.input"),
    ] {
        let found = bench.rule(&json!({ "path": path }));
        // `..` out of this workspace lands in the instance's own state.
        assert_eq!(found, rule, "{path}");
    }
    assert_eq!(bench.rule(&json!({"path": "x".repeat(10_000)})), "schema.input");
    let elsewhere = Bench {
        world: World::new(Level::Supervised, Confirm::Card, Places::of_instance("/srv/metnos")),
        ..Bench::reader()
    };
    assert_eq!(elsewhere.rule(&json!({"path": "../../outside.txt"})), "profile.paths");
}

#[test]
fn sentences_name_the_field_the_value_and_what_was_expected() {
    let bench = Bench::new(
        &[("/path", "path")],
        &json!({"path": {"type": "string", "maxLength": 4096}, "n": {"type": "integer", "maximum": 3}, "e": {"enum": ["a", "b"]}}),
    );
    for (arguments, parts) in [
        (json!({"path": "x".repeat(10_000)}), ["`path`", "xxx` (10000 characters)", "at most 4096 characters"]),
        (json!({"path": 7}), ["`path`", "`7`", "a text"]),
        (json!({"path": "a", "n": 9}), ["`n`", "`9`", "at most 3"]),
        (json!({"path": "a", "e": "c"}), ["`e`", "`c`", "one of [\"a\",\"b\"]"]),
        (json!({"path": "/etc/shadow"}), ["`path`", "`/etc/shadow`", "/etc"]),
        (json!({"path": "/srv/x"}), ["`path`", "`/srv/x`", "below workspace/"]),
        (json!({"path": "a", "q": 1}), ["`q`", "no argument", "knows"]),
    ] {
        let why = bench.decide(&arguments).why;
        for part in parts {
            assert!(why.contains(part), "{part} in: {why}");
        }
    }
}

#[test]
fn a_missing_argument_is_named() {
    let bench =
        Bench { input: Input::new(Rc::new(testing::schema(&testing::path_property(), &["path"]))), ..Bench::reader() };
    assert_eq!(bench.decide(&json!({})).why, "`path` is missing");
}

#[test]
fn a_text_that_mentions_a_core_path_is_no_access() {
    let bench = Bench::new(&[("/path", "path")], &json!({"text": {"type": "string"}}));
    assert!(bench.decide(&json!({"text": "/etc/shadow and ~/.ssh"})).is_allow());
}

#[test]
fn only_what_is_callable_is_called() {
    let bench = Bench::reader();
    let with = |executor: Option<Named<'static>>, sandbox_ready| {
        let changed = bench.decide_bytes(b"{}", &Resolved::new(), |facts| {
            facts.executor = executor.unwrap_or(facts.executor);
            facts.sandbox_ready = sandbox_ready;
        });
        changed.rule
    };
    assert_eq!(with(Some(Named::Unknown), true), "executor.unknown");
    let closed = Named::Closed { rule: "executor.quarantined", why: "a bit flipped" };
    assert_eq!(with(Some(closed), true), "executor.quarantined");
    let waiting = Named::Closed { rule: WAITING, why: "its files are gone" };
    assert_eq!(with(Some(waiting), true), WAITING);
    assert_eq!(with(Some(waiting), false), "sandbox.gone");
    assert_eq!(with(None, false), "sandbox.gone");
    assert_eq!(with(None, true), "read.granted");
}

#[test]
fn a_planner_is_denied_what_none_is_offered_and_others_are_not() {
    let mut bench = Bench::reader();
    let decided = |bench: &Bench, by_planner, sandbox_ready| {
        bench.decide_bytes(b"{\"path\":\"a\"}", &Resolved::new(), |facts| {
            (facts.by_planner, facts.sandbox_ready) = (by_planner, sandbox_ready);
        })
    };
    assert_eq!(decided(&bench, true, true).rule, "read.granted");
    bench.manifest.contract.offered = false;
    assert_eq!(decided(&bench, true, true).rule, NOT_OFFERED);
    assert_eq!(decided(&bench, false, true).rule, "read.granted");
    // Also while nothing can be run: that it is not for planners stays so.
    let denied = decided(&bench, true, false);
    assert_eq!((denied.rule.as_str(), denied.code), (NOT_OFFERED, RefusalCode::Denied));
    assert!(!denied.remedy.is_empty());
}

#[test]
fn strangers_are_denied_and_effects_are_weighed() {
    let decided = |class: Option<Class>, who| {
        let mut bench = Bench::reader();
        bench.flow = Context::new(who);
        if let Some(class) = class {
            bench.manifest.effects.class = class;
            bench.spec = Spec::of(&bench.manifest);
        }
        bench.decide_bytes(b"{}", &Resolved::new(), |_| {})
    };
    assert_eq!(decided(None, Who::Unpaired).rule, "principal.unpaired");
    for class in Class::ALL.iter().copied().filter(|class| !matches!(class, Class::Read | Class::NetRead)) {
        assert_eq!(decided(Some(class), Who::Unpaired).decision, memory::Verdict::Deny, "{class}");
        assert_eq!(decided(Some(class), Who::Guest).decision, memory::Verdict::Ask, "{class}");
    }
}

#[test]
fn every_quota_holds_at_its_edge() {
    let bench = Bench::reader();
    let rule = |change: &dyn Fn(&mut Load)| {
        let verdict = bench.decide_bytes(b"{\"path\":\"a\"}", &Resolved::new(), |facts| {
            let mut load = idle();
            change(&mut load);
            facts.load = Some(load);
        });
        if verdict.is_allow() { "allow".to_owned() } else { verdict.rule }
    };
    assert_eq!(rule(&|load| load.calls = MAX_CALLS_PER_TURN), "allow");
    assert_eq!(rule(&|load| load.calls = MAX_CALLS_PER_TURN + 1), "quota.turn");
    assert_eq!(rule(&|load| load.running_in_turn = MAX_RUNNING_PER_TURN - 1), "allow");
    assert_eq!(rule(&|load| load.running_in_turn = MAX_RUNNING_PER_TURN), "quota.concurrent");
    assert_eq!(rule(&|load| load.running.all = MAX_RUNNING - 1), "allow");
    assert_eq!(rule(&|load| load.running.all = MAX_RUNNING), "quota.concurrent");
    assert_eq!(rule(&|load| load.handles.all = MAX_HANDLES - 1), "allow");
    assert_eq!(rule(&|load| load.handles.all = MAX_HANDLES), "quota.results");
    assert_eq!(rule(&|load| load.kept_bytes.all = MAX_KEPT_BYTES - 1), "allow");
    assert_eq!(rule(&|load| load.kept_bytes.all = MAX_KEPT_BYTES), "quota.results");
    // A guest is full at his share, whatever is left for the owner.
    let guests = |load: &mut Load, taken: Taken| (load.standing, load.running) = (Standing::Guest, taken);
    let own = Taken { all: RUNNING.one, others: RUNNING.one, own: RUNNING.one };
    assert_eq!(rule(&|load| guests(load, own)), "quota.concurrent");
    let others = Taken { all: RUNNING.others, others: RUNNING.others, own: 0 };
    assert_eq!(rule(&|load| guests(load, others)), "quota.concurrent");
    assert_eq!(rule(&|load| load.running = others), "allow", "the owner has his reserve");
    assert_eq!(rule(&|load| load.within_rate = false), "quota.rate");
}

#[test]
fn references_are_decided_on_by_their_values() {
    let bench = Bench::reader();
    let arguments = json!({"path": {"$ref": "c1#/p"}}).to_string();
    let decide = |value: Value| {
        let resolved = Resolved::from([("/path".to_owned(), value)]);
        bench.decide_bytes(arguments.as_bytes(), &resolved, |_| {})
    };
    assert!(decide(json!("notes/a.md")).is_allow());
    assert_eq!(decide(json!("/etc/shadow")).rule, "guard.path");
    assert_eq!(decide(json!(5)).rule, "schema.input");
    assert_eq!(decide(json!({"$ref": "c1#/p"})).rule, "schema.input");
    assert_eq!(bench.rule(&json!({"path": {"$ref": "c1#/p"}})), "arguments.reference");
    assert_eq!(bench.rule(&json!({"path": {"$ref": "c9#/p"}})), "arguments.reference");
}

#[test]
fn an_opaque_payload_may_be_anything_but_the_rest_must_fit() {
    let bench = Bench::new(
        &[("/path", "path")],
        &json!({"text": {"type": "string", "minLength": 3}, "n": {"type": "integer"}}),
    );
    assert!(bench.decide(&json!({"text": {"$ref": "c1#/t"}})).is_allow());
    assert_eq!(bench.rule(&json!({"text": {"$ref": "c1#/t"}, "n": "x"})), "schema.input");
    assert_eq!(bench.rule(&json!({"unknown": {"$ref": "c1#/t"}})), "schema.input");
}

#[test]
fn a_reason_is_bounded_however_long_the_names_are() {
    let bench = Bench::new(&[], &json!({}));
    let long = "k".repeat(100_000);
    for arguments in [json!({ &long: 1 }), json!({ &long: {"$ref": "c1"} }), json!({ &long: {"$ref": "c9#/a"} })] {
        let verdict = bench.decide(&arguments);
        assert!(!verdict.is_allow());
        assert!(verdict.why.len() <= MAX_WHY, "{}", verdict.why.len());
    }
}

/// Spellings of a core path: each step wraps the text in one more trick.
fn spellings() -> impl Strategy<Value = String> {
    let cores = prop::sample::select(vec![
        "/etc/shadow",
        "/etc/passwd",
        "~/.ssh",
        "~/.ssh/id_ed25519",
        "/root/.ssh/id_rsa",
        "/home/ada/.ssh/config",
        "$HOME/.ssh",
        "${HOME}/.ssh",
        "~root/.ssh",
        "/proc/self/root/etc/shadow",
        "/proc/1/environ",
        "/dev/mem",
        "../../../../../../../etc/shadow",
        "x/../../../../../../../etc/shadow",
        "/home/../etc/shadow",
        "/root/.local/share/metnos/.policy/instance.key",
        "../.policy/instance.key",
        "../.audit/index.sqlite",
    ]);
    let tricks = prop::collection::vec(0usize..12, 0..4);
    (cores, tricks).prop_map(|(core, tricks)| tricks.into_iter().fold(core.to_owned(), twist))
}

fn twist(text: String, trick: usize) -> String {
    let home = text.starts_with('~') || text.starts_with('$');
    match trick {
        0 => text.replace('/', "//"),
        1 => text.replace('/', "/./"),
        2 => format!("{text}/"),
        3 => format!("{text}/."),
        4 if text.is_ascii() && !home => text.to_uppercase(),
        5 => text.replace('/', "%2f"),
        6 => text.replace('%', "%25"),
        7 => text.replace('/', "\u{ff0f}"),
        8 => text.replace('s', "s\u{200b}"),
        9 if text.starts_with('/') => format!("file://{text}"),
        10 if text.starts_with('/') => format!("/srv/..{text}"),
        11 => text.replace("shadow", "shadow. ").replace(".ssh", ".ssh/x/.."),
        _ => text,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn no_spelling_of_a_core_path_is_allowed(path in spellings()) {
        let bench = Bench::new(&[("/path", "path")], &json!({"path": {"type": "string"}}));
        let verdict = bench.decide(&json!({ "path": path }));
        prop_assert!(!verdict.is_allow(), "{}: {:?}", path, verdict);
        prop_assert!(verdict.rule.starts_with("guard."), "{}: {:?}", path, verdict);
    }

    #[test]
    fn no_spelling_is_allowed_to_a_selector_either(path in spellings()) {
        let bench = Bench::new(&[("/pick/*", "selector")], &json!({"pick": {"type": "array", "items": {"type": "string"}}}));
        let verdict = bench.decide(&json!({ "pick": ["harmless", path] }));
        prop_assert!(!verdict.is_allow(), "{:?}", verdict);
    }

    #[test]
    fn garbage_is_never_allowed_and_never_panics(bytes in prop::collection::vec(any::<u8>(), 0..80)) {
        let bench = Bench::reader();
        let verdict = bench.decide_bytes(&bytes, &Resolved::new(), |_| {});
        prop_assert!(!verdict.is_allow() || serde_json::from_slice::<Value>(&bytes).is_ok());
    }

    #[test]
    fn allowed_paths_lie_in_the_workspace(path in "(\\.\\.|[a-z~%2fE.$]{1,4}|/){0,8}") {
        let bench = Bench::reader();
        if bench.decide(&json!({ "path": path })).is_allow() {
            let lexical = paths::resolve(&path, &bench.world.places);
            prop_assert!(paths::within(&lexical.path, &bench.world.places.workspace) && !lexical.climbs);
        }
    }
}
