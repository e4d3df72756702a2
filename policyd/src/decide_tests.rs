//! What is decided, and by which rule.

use super::*;
use crate::paths::Places;
use crate::testing;
use metnos_policy::context::{Confirm, Who};
use metnos_proto::executor::Class;
use metnos_proto::msg::common::{Level, Readers};
use proptest::prelude::*;
use serde_json::{Value, json};

struct Bench {
    manifest: Manifest,
    input: Input,
    spec: Spec,
    world: World,
    flow: Context,
    output: Output,
}

impl Bench {
    fn new(roles: &[(&str, &str)], properties: &Value) -> Self {
        Self {
            manifest: testing::manifest("fs_read", roles),
            spec: Spec::of(&testing::manifest("fs_read", roles)),
            input: Input::compile(&testing::schema(properties, &[])).unwrap(),
            world: testing::world().as_ref().clone(),
            flow: Context::new(Who::Owner),
            output: Output::failed(Readers::Private),
        }
    }

    fn reader() -> Self {
        Self::new(&[("/path", "path")], &testing::path_property())
    }

    fn results(&self) -> BTreeMap<CallRef, &Output> {
        [(CallRef(1), &self.output)].into()
    }

    fn state<'a>(&'a self, results: &'a BTreeMap<CallRef, &'a Output>) -> State<'a> {
        State {
            flow: &self.flow,
            results,
            calls: 1,
            running_in_turn: 0,
            standing: Standing::Owner,
            running: Taken::default(),
            handles: Taken::default(),
            kept_bytes: Taken::default(),
            within_rate: true,
            calls_per_minute: 60,
            by_planner: false,
            sandbox_ready: true,
        }
    }

    fn decide_bytes(&self, bytes: &[u8], resolved: &Resolved, change: impl Fn(&mut State<'_>)) -> Verdict {
        let arguments = Arguments::parse(bytes);
        let files = Files::default();
        let facts = Facts {
            files: &files,
            name: "fs_read",
            executor: Named::Callable { manifest: &self.manifest, spec: &self.spec, input: &self.input },
            arguments: arguments.as_ref(),
            resolved: Ok(resolved),
            world: &self.world,
        };
        let results = self.results();
        let mut state = self.state(&results);
        change(&mut state);
        decide(&facts, &state).verdict
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
    let bench = Bench {
        input: Input::compile(&testing::schema(&testing::path_property(), &["path"])).unwrap(),
        ..Bench::reader()
    };
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
    let arguments = Arguments::parse(b"{}").unwrap();
    let resolved = Resolved::new();
    let results = bench.results();
    let with = |executor, state: &State<'_>| {
        let files = Files::default();
        let facts = Facts {
            files: &files,
            name: "fs_read",
            executor,
            arguments: Ok(&arguments),
            resolved: Ok(&resolved),
            world: &bench.world,
        };
        decide(&facts, state).verdict.rule
    };
    assert_eq!(with(Named::Unknown, &bench.state(&results)), "executor.unknown");
    let closed = Named::Closed { rule: "executor.quarantined", why: "a bit flipped" };
    assert_eq!(with(closed, &bench.state(&results)), "executor.quarantined");
    let waiting = Named::Closed { rule: WAITING, why: "its files are gone" };
    assert_eq!(with(waiting, &bench.state(&results)), WAITING);
    assert_eq!(with(waiting, &State { sandbox_ready: false, ..bench.state(&results) }), "sandbox.gone");
    let callable = Named::Callable { manifest: &bench.manifest, spec: &bench.spec, input: &bench.input };
    assert_eq!(with(callable, &State { sandbox_ready: false, ..bench.state(&results) }), "sandbox.gone");
    assert_eq!(with(callable, &bench.state(&results)), "read.granted");
}

#[test]
fn a_planner_is_denied_what_none_is_offered_and_others_are_not() {
    let mut bench = Bench::reader();
    let rule = |bench: &Bench, by_planner| {
        bench.decide_bytes(b"{\"path\":\"a\"}", &Resolved::new(), |state| state.by_planner = by_planner).rule
    };
    assert_eq!(rule(&bench, true), "read.granted");
    bench.manifest.contract.offered = false;
    assert_eq!(rule(&bench, true), NOT_OFFERED);
    assert_eq!(rule(&bench, false), "read.granted");
    // Also while nothing can be run: that it is not for planners stays so.
    let results = bench.results();
    let state = State { by_planner: true, sandbox_ready: false, ..bench.state(&results) };
    let (arguments, resolved) = (Arguments::parse(b"{}").unwrap(), Resolved::new());
    let files = Files::default();
    let facts = Facts {
        files: &files,
        name: "fs_read",
        executor: Named::Callable { manifest: &bench.manifest, spec: &bench.spec, input: &bench.input },
        arguments: Ok(&arguments),
        resolved: Ok(&resolved),
        world: &bench.world,
    };
    let denied = decide(&facts, &state).verdict;
    assert_eq!((denied.rule.as_str(), denied.code), (NOT_OFFERED, RefusalCode::Denied));
    assert!(!denied.remedy.is_empty());
}

#[test]
fn strangers_are_denied_and_effects_are_weighed() {
    let bench = Bench::reader();
    let arguments = Arguments::parse(b"{}").unwrap();
    let (resolved, results) = (Resolved::new(), bench.results());
    let decided = |manifest: &Manifest, who| {
        let spec = Spec::of(manifest);
        let files = Files::default();
        let facts = Facts {
            files: &files,
            name: "fs_read",
            executor: Named::Callable { manifest, spec: &spec, input: &bench.input },
            arguments: Ok(&arguments),
            resolved: Ok(&resolved),
            world: &bench.world,
        };
        let flow = Context::new(who);
        decide(&facts, &State { flow: &flow, ..bench.state(&results) }).verdict
    };
    assert_eq!(decided(&bench.manifest, Who::Unpaired).rule, "principal.unpaired");
    for class in Class::ALL.iter().copied().filter(|class| !matches!(class, Class::Read | Class::NetRead)) {
        let mut manifest = bench.manifest.clone();
        manifest.effects.class = class;
        assert_eq!(decided(&manifest, Who::Unpaired).decision, memory::Verdict::Deny, "{class}");
        assert_eq!(decided(&manifest, Who::Guest).decision, memory::Verdict::Ask, "{class}");
    }
}

#[test]
fn every_quota_holds_at_its_edge() {
    let bench = Bench::reader();
    let rule = |change: &dyn Fn(&mut State<'_>)| {
        let verdict = bench.decide_bytes(b"{\"path\":\"a\"}", &Resolved::new(), change);
        if verdict.is_allow() { "allow".to_owned() } else { verdict.rule }
    };
    assert_eq!(rule(&|state| state.calls = MAX_CALLS_PER_TURN), "allow");
    assert_eq!(rule(&|state| state.calls = MAX_CALLS_PER_TURN + 1), "quota.turn");
    assert_eq!(rule(&|state| state.running_in_turn = MAX_RUNNING_PER_TURN - 1), "allow");
    assert_eq!(rule(&|state| state.running_in_turn = MAX_RUNNING_PER_TURN), "quota.concurrent");
    assert_eq!(rule(&|state| state.running.all = MAX_RUNNING - 1), "allow");
    assert_eq!(rule(&|state| state.running.all = MAX_RUNNING), "quota.concurrent");
    assert_eq!(rule(&|state| state.handles.all = MAX_HANDLES - 1), "allow");
    assert_eq!(rule(&|state| state.handles.all = MAX_HANDLES), "quota.results");
    assert_eq!(rule(&|state| state.kept_bytes.all = MAX_KEPT_BYTES - 1), "allow");
    assert_eq!(rule(&|state| state.kept_bytes.all = MAX_KEPT_BYTES), "quota.results");
    // A guest is full at his share, whatever is left for the owner.
    let guests = |state: &mut State<'_>, taken: Taken| (state.standing, state.running) = (Standing::Guest, taken);
    let own = Taken { all: RUNNING.one, others: RUNNING.one, own: RUNNING.one };
    assert_eq!(rule(&|state| guests(state, own)), "quota.concurrent");
    let others = Taken { all: RUNNING.others, others: RUNNING.others, own: 0 };
    assert_eq!(rule(&|state| guests(state, others)), "quota.concurrent");
    assert_eq!(rule(&|state| state.running = others), "allow", "the owner has his reserve");
    assert_eq!(rule(&|state| state.within_rate = false), "quota.rate");
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
    fn whatever_is_allowed_lies_in_the_workspace(path in "(\\.\\.|[a-z~%2fE.$]{1,4}|/){0,8}") {
        let bench = Bench::reader();
        if bench.decide(&json!({ "path": path })).is_allow() {
            let lexical = paths::resolve(&path, &bench.world.places);
            prop_assert!(paths::within(&lexical.path, &bench.world.places.workspace) && !lexical.climbs);
        }
    }
}
