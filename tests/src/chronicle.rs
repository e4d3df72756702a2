//! The lines of the chronicle as they lie in the files, read without memoryd's help: their payloads are opened with a copy of the
//! keys. It must never write there.

use std::path::Path;

use metnos_memoryd::at_rest::{KEYS_FILE, Keys, read_key};
use serde_json::Value;

/// One line.
#[derive(Debug, Clone)]
pub struct Line(pub Value);

impl Line {
    /// Its number.
    #[must_use]
    pub fn seq(&self) -> u64 {
        self.0["seq"].as_u64().unwrap_or(0)
    }

    /// Its `event_type`.
    #[must_use]
    pub fn kind(&self) -> &str {
        self.text("event_type")
    }

    /// A field of the line; empty when it is none or no text.
    #[must_use]
    pub fn text(&self, name: &str) -> &str {
        self.0[name].as_str().unwrap_or("")
    }

    /// The whole line, as JSON.
    #[must_use]
    pub fn to_text(&self) -> String {
        self.0.to_string()
    }

    /// A field of the payload; empty when it is none or no text.
    #[must_use]
    pub fn payload(&self, name: &str) -> &str {
        self.0["payload"][name].as_str().unwrap_or("")
    }
}

/// The whole chronicle of an instance, oldest line first.
///
/// # Panics
/// When a line is no JSON: a torn line belongs in quarantine, not here.
#[must_use]
pub fn read(instance: &Path) -> Vec<Line> {
    let Ok(folder) = std::fs::read_dir(instance.join(".audit")) else {
        return Vec::new();
    };
    let mut days: Vec<_> = folder.filter_map(|entry| Some(entry.ok()?.path())).collect();
    days.retain(|path| {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or("");
        name.len() == "2026-01-01.jsonl".len() && name.ends_with(".jsonl")
    });
    days.sort();
    let keys = keys(instance);
    let texts = days.iter().map(|day| std::fs::read_to_string(day).expect("the chronicle is readable"));
    texts
        .flat_map(|text| {
            // The last line may be in the middle of being written.
            let whole = text.rfind('\n').map_or(0, |end| end + 1);
            text[..whole]
                .lines()
                .map(|line| opened(&keys, serde_json::from_str(line).expect("a line is JSON")))
                .collect::<Vec<_>>()
        })
        .collect()
}

/// The keys of an instance, read from copies: opening the file itself would mend it.
fn keys(instance: &Path) -> Keys {
    let Ok(vault) = std::fs::File::open(instance.join(".policy/vault.key")) else { return Keys::none() };
    let folder = tempfile::tempdir().expect("a folder");
    if std::fs::copy(instance.join(".audit").join(KEYS_FILE), folder.path().join(KEYS_FILE)).is_err() {
        return Keys::none();
    }
    Keys::open(folder.path(), &read_key(vault.into()).expect("32 bytes")).expect("the keys open")
}

/// The line with its payload as it was before it was encrypted.
fn opened(keys: &Keys, mut line: Value) -> Line {
    let payload = line["payload"].to_string();
    let (seq, peer) = (line["seq"].as_u64().unwrap_or(0), line["peer"].as_str().unwrap_or(""));
    if let Ok(opened) = keys.from_file(seq, peer, &payload) {
        line["payload"] = serde_json::from_str(&opened).expect("a payload is JSON");
    }
    Line(line)
}

/// These lines of an instance's files, opened.
///
/// # Panics
/// When one is no JSON.
#[must_use]
pub fn opened_lines(instance: &Path, lines: &[&str]) -> Vec<Line> {
    if lines.is_empty() {
        return Vec::new();
    }
    let keys = keys(instance);
    lines.iter().map(|line| opened(&keys, serde_json::from_str(line).expect("a line is JSON"))).collect()
}

/// The lines after this number.
#[must_use]
pub fn after(instance: &Path, seq: u64) -> Vec<Line> {
    read(instance).into_iter().filter(|line| line.seq() > seq).collect()
}

/// The last number.
#[must_use]
pub fn last(instance: &Path) -> u64 {
    read(instance).last().map_or(0, Line::seq)
}

/// How many lines are of this type.
#[must_use]
pub fn count(lines: &[Line], kind: &str) -> usize {
    lines.iter().filter(|line| line.kind() == kind).count()
}
