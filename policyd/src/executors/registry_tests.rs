//! What is known about executors, and what it permits.

use metnos_proto::executor::Manifest;
use serde_json::json;

use super::*;
use crate::store::ReportedState;
use crate::testing;

fn texts() -> (String, String) {
    (
        testing::manifest_text("fs_read", &[("/path", "path")]),
        testing::schema_text(&testing::path_property(), &["path"]),
    )
}

fn digests(manifest: &str, schema: &str) -> ExecutorDigests {
    ExecutorDigests {
        manifest: Blake3::of(manifest.as_bytes()),
        code: Blake3::of(b"code"),
        schema: Blake3::of(schema.as_bytes()),
        profile: Blake3::of(b"profile"),
    }
}

fn id(version: &str) -> ExecutorId {
    ExecutorId { name: "fs_read".into(), version: version.into() }
}

fn row(version: &str, state: RowState) -> Row {
    let (manifest, schema) = texts();
    Row {
        digests: digests(&manifest, &schema),
        manifest,
        schema,
        state,
        told: ReportedState::Born,
        ..Row::for_tests(id(version))
    }
}

fn signed() -> Rc<Signed> {
    let (manifest, schema) = texts();
    Rc::new(Signed::read(&id("1.0.0"), &manifest, &schema, &digests(&manifest, &schema)).unwrap())
}

#[test]
fn nothing_is_callable_before_the_pool_was_looked_at() {
    let mut registry = Registry::new(vec![row("1.0.0", RowState::Active)]);
    assert!(matches!(registry.named("fs_read"), Named::Closed { rule: "executor.waiting", .. }));
    registry.stand(&id("1.0.0"), Standing::Active(signed()));
    assert!(matches!(registry.named("fs_read"), Named::Callable { .. }));
    registry.suspend("sandboxd is gone");
    assert!(registry.callable("fs_read").is_none());
    assert!(matches!(registry.named("fs_write"), Named::Unknown));
}

#[test]
fn quarantine_is_not_left_and_no_older_version_steps_in() {
    let mut registry = Registry::new(vec![row("1.0.0", RowState::Active), row("2.0.0", RowState::Active)]);
    registry.stand(&id("1.0.0"), Standing::Active(signed()));
    registry.stand(&id("2.0.0"), Standing::Quarantined("a bit flipped".into()));
    registry.stand(&id("2.0.0"), Standing::Active(signed()));
    assert!(matches!(registry.named("fs_read"), Named::Closed { rule: "executor.quarantined", .. }));
    assert_eq!(registry.version_of("fs_read"), "2.0.0");
}

#[test]
fn staged_version_does_not_displace_a_signed_one() {
    let mut registry = Registry::new(vec![row("1.0.0", RowState::Active)]);
    registry.stand(&id("1.0.0"), Standing::Active(signed()));
    registry.stand(&id("9.0.0"), Standing::Staged("nobody approved it".into()));
    assert!(registry.callable("fs_read").is_some());
    assert_eq!(registry.list().len(), 2);
    registry.forget_staged();
    assert_eq!(registry.list().len(), 1);
}

#[test]
fn texts_that_the_digests_do_not_name_are_not_read() {
    let (manifest, schema) = texts();
    let right = digests(&manifest, &schema);
    assert!(Signed::read(&id("1.0.0"), &manifest, &schema, &right).is_ok());
    assert!(Signed::read(&id("1.0.1"), &manifest, &schema, &right).is_err());
    assert!(Signed::read(&id("1.0.0"), &format!("{manifest}\n"), &schema, &right).is_err());
    assert!(Signed::read(&id("1.0.0"), &manifest, &format!("{schema} "), &right).is_err());
}

#[test]
fn only_what_reads_and_came_with_the_release_is_signed_without_the_owner() {
    let (manifest, schema) = texts();
    let objection = |manifest: &str| {
        Signed::read(&id("1.0.0"), manifest, &schema, &digests(manifest, &schema)).unwrap().objection()
    };
    assert_eq!(objection(&manifest), None);
    let sender =
        manifest.replace("class = \"read\"", "class = \"send\"").replace("side_effects = false", "side_effects = true");
    assert!(objection(&sender).unwrap().contains("effects.unsupported"));
    let shell = include_str!("../../../executors/shell_run/manifest.toml");
    let writes = shell.replace("fs_read =", "fs_write =").replace("side_effects = false", "side_effects = true");
    let said = |manifest: &str| {
        let schema = include_str!("../../../executors/shell_run/schema.json");
        let id = Manifest::parse(manifest.as_bytes()).unwrap().id();
        Signed::read(&id, manifest, schema, &digests(manifest, schema)).unwrap().objection()
    };
    assert_eq!(said(shell), None);
    assert!(said(&writes).unwrap().contains("effects.unsupported"), "what programs write cannot be undone");
    assert!(objection(&manifest.replace("\"seed\"", "\"synt:1\"")).unwrap().contains("created_by"));
    assert!(objection(&manifest.replace("\"/size\"", "\"/content\"")).unwrap().contains("lint.vouched"));
}

#[test]
fn a_tested_candidate_is_taken_only_as_it_was_looked_at() {
    let (manifest, schema) = texts();
    let right = digests(&manifest, &schema);
    let candidate = |code: &str| json!({"manifest": manifest, "code": code, "schema": schema});
    let read = |value: &Value| Tested::read(value.to_string().as_bytes(), &right);
    assert_eq!(read(&candidate("code")).unwrap().code, "code");
    assert!(read(&candidate("other code")).is_err());
    assert!(read(&json!({"manifest": manifest, "code": "code"})).is_err());
    assert!(read(&json!({"manifest": manifest, "code": "code", "schema": schema, "extra": ""})).is_err());
    assert!(read(&json!({"manifest": manifest, "code": ["code"], "schema": schema})).is_err());
    assert!(read(&json!([])).is_err());
}

#[test]
fn the_contract_shown_to_the_planner_is_the_signed_one() {
    let candidate = signed().candidate();
    assert_eq!((candidate.name.as_str(), candidate.class.as_str()), ("fs_read", "read"));
    assert_eq!(candidate.roles, [("/path".to_owned(), "path".to_owned())]);
    assert!(candidate.input.pointer("/properties/path").is_some());
    assert!(candidate.output.pointer("/properties/content/contentMediaType").is_some());
    assert_eq!(signed().spec.output.readers, metnos_proto::msg::common::Readers::Private);
}

#[test]
fn offered_flag_is_in_contract_and_default_keeps_the_digest() {
    let (manifest, schema) = texts();
    let hidden = manifest.replace("side_effects = false", "side_effects = false\noffered = false");
    let hidden = Signed::read(&id("1.0.0"), &hidden, &schema, &digests(&hidden, &schema)).unwrap().candidate();
    let offered = signed().candidate();
    assert!(offered.offered && !hidden.offered && hidden.contract != offered.contract);
    let told = serde_json::to_value(&offered).unwrap();
    assert!(told.get("offered").is_none(), "a contract of before reads the same: {told}");
    assert!(serde_json::from_value::<Candidate>(told).unwrap().offered);
}

#[test]
fn a_shown_schema_brings_the_definitions_it_refers_to() {
    let (manifest, schema) = texts();
    let schema = schema.replace("{\"Input\"", "{\"Name\":{\"type\":\"string\",\"maxLength\":9},\"Input\"");
    let schema = schema
        .replace("\"properties\":{\"path\"", "\"properties\":{\"name\":{\"$ref\":\"#/definitions/Name\"},\"path\"");
    let signed = Signed::read(&id("1.0.0"), &manifest, &schema, &digests(&manifest, &schema)).unwrap();
    assert!(signed.candidate().input.pointer("/definitions/Name").is_some(), "{schema}");
}

#[test]
fn growth_counts_what_was_synthesised_and_not_the_seeds() {
    let synthesised = |version: &str, born_ms| {
        let mut row = row(version, RowState::Active);
        row.manifest = row.manifest.replace("\"seed\"", "\"synt:1\"");
        row.born_ms = born_ms;
        row
    };
    let registry = Registry::new(vec![
        row("1.0.0", RowState::Active),
        synthesised("2.0.0", DAY_MS * 7 - 1),
        synthesised("3.0.0", DAY_MS * 7),
    ]);
    let left = registry.growth_left(DAY_MS * 7 + 5);
    assert_eq!((left.births_today, left.active), (MAX_BIRTHS_A_DAY - 1, MAX_SYNTHESISED - 2));
    let many = (1..=30).map(|major| synthesised(&format!("{major}.0.0"), DAY_MS)).collect();
    let left = Registry::new(many).growth_left(DAY_MS);
    assert_eq!((left.births_today, left.active), (0, 0));
}

#[test]
fn a_full_listing_fits_a_frame() {
    let long = "x".repeat(2_000);
    let rows = (0..=MAX_EXECUTORS).map(|n| {
        let name = format!("{}{n:03}", "n".repeat(45));
        Row {
            id: ExecutorId { name, version: "4294967295.4294967295.4294967295".into() },
            why: long.clone(),
            ..row("1.0.0", RowState::Quarantined)
        }
    });
    let list = Registry::new(rows.collect()).list();
    assert_eq!(list.len(), MAX_EXECUTORS);
    let words = metnos_proto::msg::policyd::ExecutorList { rows: list };
    let header = metnos_proto::frame::Header {
        edge: 1,
        kind: metnos_proto::frame::Kind::Answer,
        fds: 0,
        request: 1,
        trace: metnos_proto::ids::TraceId::NONE,
    };
    assert!(metnos_proto::frame::encode(header, &words).is_ok());
}

#[test]
fn executor_show_reports_what_was_signed() {
    let mut registry = Registry::new(vec![row("1.0.0", RowState::Active)]);
    registry.stand(&id("1.0.0"), Standing::Active(signed()));
    let shown = serde_json::to_value(registry.show("fs_read").unwrap()).unwrap();
    assert_eq!(shown.pointer("/state"), Some(&json!("active")));
    assert_eq!(shown.pointer("/manifest/effects/class"), Some(&json!("read")));
    assert_eq!(shown.pointer("/manifest/executor/created_at"), Some(&json!("2026-04-25T08:12:00Z")));
    assert!(shown.pointer("/schema/definitions/Input/properties/path").is_some());
    assert_eq!(shown.pointer("/signature").and_then(Value::as_str).map(str::len), Some(128));
    assert!(registry.show("nothing").is_none());
}

#[test]
fn executor_whose_examples_do_not_hold_is_not_signed() {
    let pattern = "[[patterns]]\nlang = \"en\"\nsay = [\"peruse {path:file}\"]\n\n[args]";
    let written = |name: &str, by: &str, path: &str| {
        let promise = format!("{{ say = \"peruse a.md\", args = {{ path = \"{path}\" }} }}");
        let (manifest, schema) = texts();
        let manifest = manifest.replace("\"read it\"", &promise).replacen("[args]", pattern, 1);
        let manifest = manifest.replace("fs_read\"", &format!("{name}\"")).replace("\"seed\"", &format!("\"{by}\""));
        let id = ExecutorId { name: name.into(), version: "1.0.0".into() };
        Signed::read(&id, &manifest, &schema, &digests(&manifest, &schema)).unwrap()
    };
    let broken = |signed: &Signed, registry: &Registry| crate::executors::promises::broken(signed, registry);
    let mut registry = Registry::new(Vec::new());
    assert_eq!(broken(&written("fs_read", "seed", "a.md"), &registry), None);
    let told = broken(&written("fs_read", "seed", "b.md"), &registry).unwrap();
    assert!(told.contains("examples.broken") && told.contains("peruse a.md") && told.contains("b.md"), "{told}");
    // What another executor answers already.
    let own = Rc::new(written("fs_read", "seed", "a.md"));
    registry.stand(&id("1.0.0"), Standing::Active(Rc::clone(&own)));
    let rival = written("fs_peruse", "synt:1", "a.md");
    assert!(broken(&rival, &registry).unwrap().contains("as much one as another of"));
    assert_eq!(broken(&written("fs_peruse", "seed", "a.md"), &registry), None, "a release is judged by itself");
    // One without promises that would take the words of another.
    let (manifest, schema) = texts();
    let thief =
        manifest.replacen("[args]", pattern, 1).replace("fs_read\"", "fs_thief\"").replace("\"seed\"", "\"synt:1\"");
    let thief_id = ExecutorId { name: "fs_thief".into(), version: "1.0.0".into() };
    let thief = Signed::read(&thief_id, &thief, &schema, &digests(&thief, &schema)).unwrap();
    assert!(broken(&thief, &registry).unwrap().contains("of fs_read promises"));
}
