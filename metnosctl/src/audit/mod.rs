//! `audit`: the chronicle as memoryd reads it out, and its verification. Nothing here opens
//! the chronicle's files.

pub mod proof;
pub mod search;
pub mod witness;

use metnos_proto::chain::SALT_KEY;
use metnos_proto::doc::chronicle::EventLine;
use metnos_proto::edges::CtlMemoryd;
use metnos_proto::ids::TraceId;
use metnos_proto::msg::memoryd::{Finding, Tail, Verify, VerifyReport};
use metnos_proto::payload::Sealed;
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::command_line::cli::AuditCommand;
use crate::daemons::connection::Connection;
use crate::error::{CtlError, Exit};
use crate::instance::Instance;
use crate::screen::escape;
use crate::screen::human::{counted, scalar, shortened};
use crate::screen::table::{Table, cell, inked};
use crate::screen::{Ink, Screen};

/// The most characters of an event's content in the list for people.
pub const MAX_SHOWN: usize = 100;

/// `audit …`.
///
/// # Errors
/// When memoryd refuses or cannot be reached.
pub fn audit(screen: &mut Screen, instance: &Instance, command: &AuditCommand) -> Result<Exit, CtlError> {
    // A proof is checked without anybody's help.
    if let AuditCommand::Prove { check: Some(file), .. } = command {
        return proof::check(screen, file);
    }
    let mut reach = Connection::to(instance)?;
    match command {
        AuditCommand::Tail { lines } => tail(screen, &mut reach, *lines),
        AuditCommand::Search(search) => search::search(screen, &mut reach, search),
        AuditCommand::Show { seq } => search::show(screen, &mut reach, *seq),
        AuditCommand::Verify { since } => verify(screen, &mut reach, *since),
        AuditCommand::Export { from, to, file } => proof::export(screen, &mut reach, *from, *to, file.as_deref()),
        AuditCommand::Anchors => proof::anchors(screen, &mut reach),
        AuditCommand::Prove { seq, .. } => proof::prove(screen, &mut reach, seq.unwrap_or(0)),
        AuditCommand::Scan => search::scan(screen, &mut reach),
        AuditCommand::Redact { seq, why, confirm } => proof::redact(screen, &mut reach, *seq, why, *confirm),
    }
}

fn tail(screen: &mut Screen, reach: &mut Connection, lines: u32) -> Result<Exit, CtlError> {
    let (_, [text]) = reach.open::<CtlMemoryd>()?.tail(TraceId::NONE, Tail { lines, after: 0 }, [])?;
    let unreadable = |why: String| CtlError::failed("the chronicle's lines", why, "check it: `metnosctl audit verify`");
    let bytes = text.read().map_err(|error| unreadable(error.to_string()))?;
    let events: Vec<EventLine> = documents(&bytes).map_err(unreadable)?;
    if screen.json() {
        screen.document(&events)?;
        return Ok(Exit::Done);
    }
    list(screen, &events)?;
    Ok(Exit::Done)
}

/// Documents that stand one a line.
pub(crate) fn documents<T: DeserializeOwned>(bytes: &[u8]) -> Result<Vec<T>, String> {
    bytes
        .split(|byte| *byte == b'\n')
        .filter(|line| !line.is_empty())
        .map(|line| serde_json::from_slice(line).map_err(|error| error.to_string()))
        .collect()
}

/// Lines for people, one a row.
pub(crate) fn list(screen: &mut Screen, events: &[EventLine]) -> Result<(), CtlError> {
    let mut table = Table::new(&["SEQ", "TIME (UTC)", "BY", "WHAT", "TURN", ""]);
    for event in events {
        table.row(vec![
            cell(event.seq.to_string()),
            inked(&event.ts, Ink::Dim),
            cell(&event.emitter),
            cell(&event.event_type),
            inked(tail_of(event.turn_id.as_deref().unwrap_or_default()), Ink::Dim),
            cell(gist(&event.payload)),
        ]);
    }
    table.show(screen, 0)
}

/// The last characters of an id: they differ where the first ones are the time's.
fn tail_of(id: &str) -> String {
    let skip = id.chars().count().saturating_sub(6);
    id.chars().skip(skip).collect()
}

/// What tells an event's story, in this order; what is not named here comes after it.
const STORY: [&str; 13] = [
    "text",
    "words",
    "executor",
    "verdict",
    "rule",
    "outcome",
    "error_class",
    "end",
    "act",
    "kind",
    "why",
    "wish",
    "arguments",
];

/// What an event holds, short: its story first; digests, ids and what is empty are left out.
fn gist(payload: &Value) -> String {
    let Value::Object(object) = payload else {
        return shortened(&scalar(payload), MAX_SHOWN);
    };
    if let Some(Value::Object(sealed)) = object.get("sealed") {
        let bytes = sealed.get("bytes").and_then(Value::as_u64).unwrap_or(0);
        let shown = gist(sealed.get("shown").unwrap_or(&Value::Null));
        return format!("sealed, {bytes} bytes {shown}").trim_end().to_owned();
    }
    let place = |key: &str| STORY.iter().position(|known| *known == key).unwrap_or(STORY.len());
    let mut fields: Vec<(&String, &Value)> =
        object.iter().filter(|(key, value)| *key != SALT_KEY && is_informative(value)).collect();
    fields.sort_by_key(|(key, _)| place(key));
    let shown: Vec<String> = fields.iter().map(|(key, value)| format!("{key}={}", scalar(value))).collect();
    shortened(&shown.join(" "), MAX_SHOWN)
}

fn is_informative(value: &Value) -> bool {
    match value {
        Value::Null | Value::Object(_) | Value::Array(_) => false,
        Value::Bool(_) | Value::Number(_) => true,
        Value::String(text) => {
            let is_id = text.len() == 26 && text.chars().all(|c| c.is_ascii_digit() || c.is_ascii_uppercase());
            let is_digest = text.len() == 64 && text.chars().all(|c| c.is_ascii_hexdigit());
            !text.is_empty() && !is_id && !is_digest && !text.starts_with("blake3:") && !text.starts_with("sha256:")
        }
    }
}

/// What came of a verification.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Verification {
    /// Whether all of it holds.
    ok: bool,
    /// How many lines were checked.
    lines: u64,
    /// The last of them.
    head: Head,
    /// What does not hold, the first ones.
    findings: Vec<VerifyFinding>,
    /// How many findings there are.
    findings_total: u64,
    /// How many signed heads were met.
    anchors: usize,
}

/// The last line of the chronicle.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Head {
    /// Its number.
    seq: u64,
    /// Its hash.
    hash: String,
}

/// Something that does not hold.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Finding")]
pub struct VerifyFinding {
    /// At which line; 0 when at none.
    seq: u64,
    /// What kind of thing.
    kind: String,
    /// What does not hold.
    detail: String,
}

impl Verification {
    fn of(report: &VerifyReport, anchors: usize) -> Self {
        let finding =
            |one: &Finding| VerifyFinding { seq: one.seq, kind: one.kind.clone(), detail: one.detail.clone() };
        Self {
            ok: report.findings_total == 0 && report.findings.is_empty(),
            lines: report.lines,
            head: Head { seq: report.head.seq, hash: report.head.hash.to_string() },
            findings: report.findings.iter().map(finding).collect(),
            findings_total: report.findings_total,
            anchors,
        }
    }
}

/// Has memoryd check everything after line `since`, against the heads that policyd has signed; the report, and how
/// many heads those were.
///
/// # Errors
/// When either refuses or cannot be reached.
pub fn check(reach: &mut Connection, since: u64) -> Result<(VerifyReport, usize), CtlError> {
    let heads = proof::signed_heads(reach)?;
    let mut text = String::new();
    for head in &heads.signed {
        text.push_str(&head.anchor.to_line(&head.signature));
        text.push('\n');
    }
    let sealed = Sealed::new(text.as_bytes())
        .map_err(|error| CtlError::failed("the signed heads", error, "try again in a moment"))?;
    let (mut report, []) = reach.open::<CtlMemoryd>()?.verify(TraceId::NONE, Verify { since }, [sealed])?;
    for finding in heads.findings() {
        report.findings_total += 1;
        report.findings.push(finding);
    }
    Ok((report, heads.signed.len()))
}

fn verify(screen: &mut Screen, reach: &mut Connection, since: u64) -> Result<Exit, CtlError> {
    let (report, heads) = check(reach, since)?;
    show(screen, &report, heads)
}

fn show(screen: &mut Screen, report: &VerifyReport, heads: usize) -> Result<Exit, CtlError> {
    let verification = Verification::of(report, heads);
    let ok = verification.ok;
    if screen.json() {
        screen.document(&verification)?;
    } else {
        let lines = counted(report.lines, "line", "lines");
        let head = format!("head {} {}", report.head.seq, report.head.hash);
        if ok {
            let heads = counted(heads as u64, "signed head", "signed heads");
            screen.line(&format!("The chronicle holds: {lines}, {head}, {heads} met."))?;
        } else {
            let findings = counted(report.findings_total, "finding", "findings");
            screen.line(
                &Ink::Bad.on(&format!("The chronicle does not hold: {findings} in {lines}, {head}."), screen.colour()),
            )?;
            for finding in &report.findings {
                let place = if finding.seq == 0 { String::new() } else { format!("line {}: ", finding.seq) };
                screen.line(&format!("  {place}{}: {}", escape::line(&finding.kind), escape::line(&finding.detail)))?;
            }
            screen.aside(
                Ink::Plain,
                "  → stop Metnos, copy .audit away as evidence, and find out who could write there",
            )?;
        }
    }
    Ok(if ok { Exit::Done } else { Exit::Failed })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::screen::testing::screen;
    use metnos_proto::ids::Sha256;
    use metnos_proto::msg::memoryd::Recorded;
    use serde_json::json;

    fn report(findings: Vec<Finding>, total: u64) -> VerifyReport {
        VerifyReport { lines: 3, head: Recorded { seq: 3, hash: Sha256([7; 32]) }, findings, findings_total: total }
    }

    #[test]
    fn a_chronicle_with_a_finding_exits_with_one_and_names_it() {
        let finding = Finding { seq: 2, kind: "chain".into(), detail: "prev_hash\u{1b}[2J".into() };
        let (mut paper, out, _) = screen(false, [true, true], false);
        assert_eq!(show(&mut paper, &report(vec![finding], 9), 0).unwrap(), Exit::Failed);
        assert!(out.text().contains("line 2: chain: prev_hash\\x1b[2J"), "{}", out.text());
        assert!(out.text().contains("9 findings"));
        let (mut paper, out, _) = screen(true, [false, false], false);
        assert_eq!(show(&mut paper, &report(Vec::new(), 0), 2).unwrap(), Exit::Done);
        assert_eq!(serde_json::from_str::<Value>(&out.text()).unwrap()["ok"], true);
    }

    #[test]
    fn findings_that_were_not_listed_still_count() {
        let (mut paper, _, _) = screen(true, [false, false], false);
        assert_eq!(show(&mut paper, &report(Vec::new(), 1), 0).unwrap(), Exit::Failed);
    }

    #[test]
    fn a_gist_is_one_short_line() {
        let long = "x".repeat(500);
        let gist = gist(&json!({ "a": "one\ntwo", "b": null, "c": {"d": 1}, "e": long }));
        assert!(gist.starts_with("a=one\\ntwo e=xxx"));
        assert_eq!(gist.chars().count(), MAX_SHOWN + 1);
        assert_eq!(super::gist(&json!({ "_": "qWu7JseMx_c6p", "a": 1 })), "a=1", "the salt says nothing");
    }

    #[test]
    fn gist_of_a_sealed_line_says_what_is_shown_of_it() {
        let sealed = json!({ "sealed": { "bytes": 7, "shown": { "executor": "note_add", "verdict": "allow" } } });
        assert_eq!(gist(&sealed), "sealed, 7 bytes executor=note_add verdict=allow");
        assert_eq!(gist(&json!({ "sealed": { "bytes": 7, "shown": {} } })), "sealed, 7 bytes");
    }

    #[test]
    fn a_gist_begins_with_what_was_decided_and_leaves_digests_out() {
        let decision = json!({
            "arguments": "{}", "arguments_digest": "blake3:00", "call": "01M8098DFW670CSAPF7ZKTG9TC", "rule": "guard.path",
            "executor": "fs_read", "verdict": "deny", "wish": "",
        });
        assert_eq!(gist(&decision), "executor=fs_read verdict=deny rule=guard.path arguments={}");
    }
}
