//! The decisions alone: no channel, no disk, no sandbox. The very function that policyd decides with, on
//! the manifests of the seed executors.

use std::collections::BTreeMap;
use std::path::Path;

use metnos_policy::call::arguments::{Arguments, Resolved};
use metnos_policy::call::fields::Files;
use metnos_policy::decision::{Callable, Facts, Finding, Flow, Given, Load, Named, decide};
use metnos_policy::evidence::context::{Confirm, Context, Who, World};
use metnos_policy::evidence::intent::Intent;
use metnos_policyd::calls::intent;
use metnos_policyd::executors::registry::Signed;
use metnos_policyd::paths::Places;
use metnos_proto::ids::Blake3;
use metnos_proto::msg::common::{ExecutorDigests, ExecutorId, Lang, Level, Standing};
use metnos_proto::msg::memoryd::Verdict;

use crate::stats::{Table, Times, on_one_processor};

/// Decisions of each kind.
const DECISIONS: usize = 20_000;

/// What is decided on, and what must come of it.
const CASES: [(&str, &str, &str, Verdict); 5] = [
    ("allow, it reads", "fs_read", r#"{"path":"notes/welcome.md"}"#, Verdict::Allow),
    ("allow, foreseen and undoable", "fs_write", r#"{"path":"notes/a.md","content":"words"}"#, Verdict::Allow),
    ("ask, it may be many", "fs_delete", r#"{"path":"notes","folder":true}"#, Verdict::Ask),
    ("deny, a core path in a spelling", "fs_read", r#"{"path":"notes/..//../../etc/./shadow"}"#, Verdict::Deny),
    ("deny, against the schema", "fs_read", r#"{"path":7}"#, Verdict::Deny),
];

/// Measures decisions of each kind, and all of them together.
pub fn measure(table: &mut Table) {
    on_one_processor(|| {
        let mut all = std::time::Duration::ZERO;
        for (what, executor, arguments, expected) in CASES {
            let times = kind(executor, arguments, &expected);
            all += times.median();
            table.times(&format!("a decision: {what}"), &times, String::new(), "");
        }
        let cases = u32::try_from(CASES.len()).unwrap_or(1);
        let a_second = 1.0 / (all / cases).as_secs_f64();
        let beside = format!("{cases} kinds in equal parts, with parsing, by their medians");
        table.row("decisions on one processor", format!("{a_second:.0} a second"), beside, "≥ 10,000 a second");
    });
}

fn kind(executor: &str, text: &str, expected: &Verdict) -> Times {
    let signed = signed(executor);
    let mut world = World::new(Level::Supervised, Confirm::Card, Places::of_instance("/srv/metnos"));
    world.lang = Lang::En;
    let (resolved, results, files) = (Resolved::new(), BTreeMap::new(), Files::default());
    let mut times = Times::default();
    for _ in 0..DECISIONS {
        times.time(|| {
            let arguments = Arguments::parse(text.as_bytes());
            let mut flow = Context::new(Who::Owner);
            flow.said("", true, world.lang);
            if let Ok(arguments) = &arguments {
                flow.intent = Intent::typed(intent::typed(executor, arguments.value()));
            }
            let filled = arguments.as_ref().ok().and_then(|arguments| arguments.fill(&signed.spec, &resolved));
            let fault = filled.as_ref().and_then(|filled| signed.input.fault(filled));
            let facts = Facts {
                name: executor,
                executor: Named::Callable(Callable::of(&signed.manifest, &signed.spec)),
                by_planner: true,
                switches: Finding::Clear,
                turn: Finding::Clear,
                given: Some(Given {
                    parsed: arguments.as_ref(),
                    resolved: Ok(&resolved),
                    filled: filled.as_ref(),
                    fault: fault.as_deref(),
                    withheld: false,
                }),
                secrets: Finding::Clear,
                load: Some(Load::idle(Standing::Owner)),
                budgets: Finding::Clear,
                listed: Finding::Clear,
                flow: Some(Flow { world: &world, context: &flow, results: &results, files: &files }),
                cost: Finding::Clear,
                way_back: Finding::Clear,
                sandbox_ready: true,
                ..Facts::default()
            };
            let weighed = decide(&facts);
            assert_eq!(&weighed.verdict.decision, expected, "{executor} {text}: {:?}", weighed.verdict);
        });
    }
    times
}

/// A seed executor as policyd holds it.
fn signed(name: &str) -> Signed {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../executors").join(name);
    let read = |file: &str| std::fs::read_to_string(folder.join(file)).unwrap();
    let (manifest, schema) = (read("manifest.toml"), read("schema.json"));
    let of = |text: &str| Blake3::of(text.as_bytes());
    let digests = ExecutorDigests { manifest: of(&manifest), code: of(""), schema: of(&schema), profile: of("") };
    let id = ExecutorId { name: name.to_owned(), version: "1.0.0".to_owned() };
    Signed::read(&id, &manifest, &schema, &digests).unwrap()
}
