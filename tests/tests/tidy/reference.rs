//! The reference of the executors in `docs/executors.md`: made from their manifests and schemas, and compared with what stands there.

use std::fmt::Write;
use std::path::Path;

use metnos_proto::executor::{Class, Manifest, Schema};
use serde_json::Value;

use crate::root;

const DOCUMENT: &str = "docs/executors.md";
/// Behind this line everything is generated.
const MARK: &str = "<!-- Generated from executors/: `UPDATE_GOLDEN=1 ./metnos test reference` writes it anew. -->";
/// How many examples are shown of those that come first, and of those that come last.
const EXAMPLES: usize = 2;
/// The chapters: a title, and how the names of its executors begin.
const CHAPTERS: [(&str, &[&str]); 10] = [
    ("Files", &["fs_", "text_", "inbox_", "file_", "archive_", "image_"]),
    ("Notes and lists", &["note_", "list_"]),
    ("Tables", &["csv_", "json_", "table_"]),
    ("Documents", &["pdf_", "ocr_", "doc_"]),
    ("Mail", &["imap_", "attachment_", "smtp_"]),
    ("Calendar and time", &["calendar_", "clock_"]),
    ("The house", &["home_"]),
    ("Web, news, prices and weather", &["web_", "feed_", "price_", "weather_"]),
    ("People", &["contact_", "notify", "telegram_"]),
    ("Programs and models", &["shell_", "llm_"]),
];

/// An executor of the repository.
struct Shipped {
    manifest: Manifest,
    schema: Schema,
}

fn shipped() -> Vec<Shipped> {
    let mut folders: Vec<_> =
        std::fs::read_dir(root().join("executors")).unwrap().map(|entry| entry.unwrap().path()).collect();
    folders.retain(|folder| folder.join("manifest.toml").is_file());
    folders.sort();
    let read = |folder: &Path, file: &str| std::fs::read(folder.join(file)).unwrap();
    let of = |folder: &std::path::PathBuf| Shipped {
        manifest: Manifest::parse(&read(folder, "manifest.toml")).unwrap(),
        schema: Schema::parse(&read(folder, "schema.json")).unwrap(),
    };
    folders.iter().map(of).collect()
}

/// What a call does, in one line.
fn effect(manifest: &Manifest) -> String {
    let class = manifest.effects.class;
    let what = match class {
        Class::Read => "only reads",
        Class::NetRead => "reads from the net",
        Class::SelfCreate => "makes something new",
        Class::SelfModify => "changes something",
        Class::Destroy => "removes something",
        Class::Send => "tells somebody something",
        Class::Shell => "runs programs",
        Class::Share
        | Class::Publish
        | Class::Acl
        | Class::Money
        | Class::Account
        | Class::Book
        | Class::Schedule
        | Class::Confirm => "acts",
    };
    let undo = match (&manifest.contract.undo, matches!(class, Class::Read | Class::NetRead)) {
        (Some(inverse), _) => format!(", undone by `{inverse}`"),
        (None, true) => String::new(),
        (None, false) if manifest.effects.reversible => ", can be undone".to_owned(),
        (None, false) => ", cannot be undone".to_owned(),
    };
    let offered = if manifest.contract.offered { "" } else { "; no planner is offered it" };
    format!("`{class}`: {what}{undo}{offered}")
}

fn reaches(manifest: &Manifest) -> String {
    let one = |capability: &metnos_proto::executor::Capability| {
        let entries: Vec<String> = capability.entries().iter().map(|entry| format!("`{entry}`")).collect();
        format!("{} {}", capability.name(), entries.join(", "))
    };
    let all: Vec<String> = manifest.sandbox.capabilities.iter().map(one).collect();
    if all.is_empty() { "nothing but its arguments".to_owned() } else { all.join("; ") }
}

fn arguments(one: &Shipped) -> String {
    let Some(all) = one.schema.input()["properties"].as_object().filter(|all| !all.is_empty()) else {
        return "\nIt takes no arguments.\n".to_owned();
    };
    let required = one.schema.input()["required"].as_array();
    let mut table = "\n| argument | role | what it is |\n|---|---|---|\n".to_owned();
    for (name, part) in all {
        let is_required = required.is_some_and(|all| all.iter().any(|one| one == name));
        let text = |value: Option<&Value>| value.and_then(Value::as_str).unwrap_or_default().replace('|', "\\|");
        let pointer = format!("/{name}");
        let many = format!("/{name}/*");
        let role = match one.manifest.args.get(&pointer).or_else(|| one.manifest.args.get(&many)) {
            Some(role) => role.to_string(),
            None => one.manifest.role(&pointer).to_string(),
        };
        let must = if is_required { " (required)" } else { "" };
        let _ = writeln!(table, "| `{name}`{must} | {role} | {} |", text(part.get("description")));
    }
    table
}

/// The first and the last examples: manifests have the English ones first.
fn examples(manifest: &Manifest) -> String {
    let all: Vec<&str> = manifest.executor.examples.iter().map(metnos_proto::executor::Example::say).collect();
    let last = all.len().saturating_sub(EXAMPLES).max(EXAMPLES.min(all.len()));
    let shown = all.iter().take(EXAMPLES).chain(&all[last..]).map(|say| format!("“{say}”"));
    shown.collect::<Vec<_>>().join(", ")
}

fn section(one: &Shipped) -> String {
    let it = &one.manifest.executor;
    let mut text = format!("### `{}` {}\n{}\n\n", it.name, it.version, it.summary);
    let _ = writeln!(text, "- Effect: {}", effect(&one.manifest));
    let _ = writeln!(text, "- Reaches: {}", reaches(&one.manifest));
    let classes: Vec<String> = one.manifest.contract.error_classes.iter().map(|name| format!("`{name}`")).collect();
    if !classes.is_empty() {
        let _ = writeln!(text, "- Fails with: {}", classes.join(", "));
    }
    let _ = writeln!(text, "- Examples: {}", examples(&one.manifest));
    text + &arguments(one)
}

fn generated() -> String {
    let all = shipped();
    let mut text = String::new();
    let mut told = 0;
    for (title, begins) in CHAPTERS {
        let _ = writeln!(text, "\n## {title}");
        for one in all.iter().filter(|one| begins.iter().any(|begin| one.manifest.executor.name.starts_with(begin))) {
            told += 1;
            let _ = write!(text, "\n{}", section(one));
        }
    }
    assert_eq!(told, all.len(), "each executor has one chapter");
    text
}

#[test]
fn reference_of_the_executors_is_the_one_of_their_manifests() {
    let path = root().join(DOCUMENT);
    let there = std::fs::read_to_string(&path).unwrap();
    let (head, tail) = there.split_once(MARK).expect("the mark behind which everything is generated");
    let wanted = format!("\n{}", generated());
    if std::env::var_os("UPDATE_GOLDEN").is_some_and(|value| value == "1") {
        std::fs::write(&path, format!("{head}{MARK}{wanted}")).unwrap();
        return;
    }
    assert!(tail == wanted, "{DOCUMENT} is not what the manifests say: `UPDATE_GOLDEN=1 ./metnos test reference`");
}
