//! One executor's record as people read it: what it does, what it takes and gives, what it may
//! touch. `--json` shows all of it; nothing is decided by what is shown here.

use metnos_proto::doc::executor::ExecutorRecord;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use crate::error::CtlError;
use crate::executors::fitness::{Standing, Standings};
use crate::screen::human::{ago, counted, scalar, show_pairs};
use crate::screen::table::{Table, cell};
use crate::screen::{Ink, Screen};

/// Everything about an executor.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ExecutorShown {
    /// As policyd has it.
    #[serde(flatten)]
    record: ExecutorRecord,
    /// How useful it has been; null where memoryd does not say.
    fitness: Option<Standing>,
}

impl ExecutorShown {
    pub(super) fn of(mut record: ExecutorRecord, standings: &Standings) -> Self {
        let ExecutorRecord { name, version, state, why, .. } = &mut record;
        let fitness = standings.judge((name, version), state, why);
        Self { record, fitness }
    }
}

/// Shows the record.
///
/// # Errors
/// When the output is gone.
pub(super) fn show(screen: &mut Screen, shown: &ExecutorShown, now_ms: u64) -> Result<(), CtlError> {
    let record = &shown.record;
    let part = |of: &Option<Value>, pointer: &str| of.as_ref().and_then(|of| of.pointer(pointer)).cloned();
    let manifest = |pointer: &str| part(&record.manifest, pointer).unwrap_or_default();
    let schema = |pointer: &str| part(&record.schema, pointer).unwrap_or_default();
    let text = |text: &str| Value::from(text);
    let born = record.born_ms.map(|then| format!("{} ago", ago(then, now_ms)));
    let facts = [
        ("name", text(&record.name)),
        ("version", text(&record.version)),
        ("state", text(record.state.name())),
        ("why", text(&record.why)),
        ("fitness", shown.fitness.as_ref().map(Standing::words).into()),
        ("does", manifest("/executor/summary")),
        ("class", manifest("/effects/class")),
        ("granted", words(&manifest("/sandbox/capabilities"))),
        ("limits", words(&manifest("/sandbox/quotas"))),
        ("errors", words(&manifest("/contract/error_classes"))),
        ("made by", manifest("/executor/created_by")),
        ("signed", born.into()),
    ];
    let told: Vec<(&str, &Value)> =
        facts.iter().filter(|(_, value)| is_shown(value)).map(|(key, value)| (*key, value)).collect();
    show_pairs(screen, &told, 0)?;
    fields(screen, "takes", &schema("/definitions/Input"))?;
    fields(screen, "gives", &schema("/definitions/Output"))?;
    if let Value::Array(examples) = manifest("/executor/examples") {
        heading(screen, "serves requests such as")?;
        for example in &examples {
            screen.line(&format!("  {}", scalar(example.get("say").unwrap_or(example))))?;
        }
    }
    if let Some(digests) = &record.digests {
        let digests = serde_json::to_value(digests).unwrap_or_default();
        show_pairs(screen, &[("digests", &digests)], 0)?;
    }
    Ok(())
}

fn is_shown(value: &Value) -> bool {
    !value.is_null() && value.as_str() != Some("")
}

fn heading(screen: &mut Screen, text: &str) -> Result<(), CtlError> {
    let text = Ink::Bold.on(text, screen.colour());
    screen.line(&text)
}

/// Lists and flat objects in words: `fs_read: workspace/`, `cpu_s 2, wall_s 2`.
fn words(value: &Value) -> Value {
    let plain = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    match value {
        Value::Null => Value::Null,
        Value::Array(items) if items.is_empty() => "nothing".into(),
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(|item| plain(&words(item))).collect();
            items.join(", ").into()
        }
        Value::Object(object) => {
            let pairs: Vec<String> =
                object.iter().map(|(key, value)| format!("{key} {}", plain(&words(value)))).collect();
            pairs.join(", ").into()
        }
        other @ (Value::Bool(_) | Value::Number(_) | Value::String(_)) => other.clone(),
    }
}

/// The fields of a definition: what they are called, what they must be, what they mean.
fn fields(screen: &mut Screen, title: &str, definition: &Value) -> Result<(), CtlError> {
    let Some(properties) = definition.get("properties").and_then(Value::as_object) else {
        return Ok(());
    };
    let required = definition.get("required").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let mut table = Table::new(&["FIELD", "TYPE", "", "MEANS"]);
    for (name, field) in properties.iter().filter(|(name, _)| *name != "ok") {
        let text = |key: &str| {
            field.get(key).map_or_else(String::new, |value| words(value).as_str().unwrap_or_default().to_owned())
        };
        let needed = required.iter().any(|known| known == name);
        table.row(vec![
            cell(name),
            cell(text("type")),
            cell(if needed { "" } else { "optional" }),
            cell(text("description")),
        ]);
    }
    if table.is_empty() {
        return Ok(());
    }
    heading(screen, &format!("{title} {}", counted(table.len() as u64, "field", "fields")))?;
    table.show(screen, 2)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::screen::testing::screen;

    fn shown(record: Value) -> ExecutorShown {
        ExecutorShown { record: serde_json::from_value(record).unwrap(), fitness: None }
    }

    #[test]
    fn executor_record_shows_contract_and_access_escaped() {
        let record = serde_json::json!({
            "name": "fs_read", "version": "1.0.0", "versions": ["1.0.0"], "state": "active", "why": "", "born_ms": 1000,
            "manifest": {
                "executor": { "summary": "Read a file.\u{1b}[2J", "examples": ["read notes/a.md"], "created_by": "seed" },
                "effects": { "class": "read" },
                "sandbox": { "capabilities": [{ "fs_read": ["workspace/", "~/Pictures/"] }], "quotas": { "cpu_s": 2, "wall_s": 3 } },
                "contract": { "error_classes": ["NotFound", "TooLarge"] },
            },
            "schema": { "definitions": {
                "Input": { "required": ["path"], "properties": { "path": { "type": "string", "description": "The file" } } },
                "Output": { "properties": { "ok": {}, "size": { "type": ["integer", "null"] } } },
            } },
        });
        let (mut paper, out, _) = screen(false, [true, true], false);
        show(&mut paper, &shown(record), 61_000).unwrap();
        let text = out.text();
        for part in [
            "does     Read a file.\\x1b[2J\n",
            "granted  fs_read workspace/, ~/Pictures/\n",
            "limits   cpu_s 2, wall_s 3\n",
            "errors   NotFound, TooLarge\n",
            "signed   1 min ago\n",
            "takes 1 field\n  FIELD  TYPE      MEANS\n  path   string    The file\n",
            "  size   integer, null  optional\n",
            "serves requests such as\n  read notes/a.md\n",
        ] {
            assert!(text.contains(part), "{part:?} is missing in\n{text}");
        }
        assert!(!text.contains("why"), "{text}");
    }

    #[test]
    fn a_record_that_lacks_everything_is_shown_as_far_as_it_goes() {
        let (mut paper, out, _) = screen(false, [false, false], false);
        let record = serde_json::json!({
            "name": "x", "version": "1.0.0", "versions": ["1.0.0"], "state": "staged", "why": "not signed yet",
        });
        show(&mut paper, &shown(record), 0).unwrap();
        assert_eq!(out.text(), "name     x\nversion  1.0.0\nstate    staged\nwhy      not signed yet\n");
    }
}
