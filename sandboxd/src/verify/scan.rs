//! Unsigned code is statically scanned before it runs: its syntax tree is walked by `scan.py`, in a sandbox that
//! grants nothing (design: executor §2 and §4). What it finds is said to the owner in the place of a card.

use metnos_proto::executor::{Capability, Manifest, Quotas};
use metnos_proto::json::{self, Limits};
use metnos_proto::msg::common::Outcome;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::sync::oneshot;

use crate::confine::approved::Approved;
use crate::pool::{Entry, Job, Sandbox, Secrets};

/// The scanner: an executor that no registry knows.
const SCANNER: &[u8] = include_bytes!("scan.py");
/// What reading the longest code may take.
const QUOTAS: Quotas = Quotas { wall_s: 20, cpu_s: 10, ram_mb: 512, output_mb: 1, writes_per_day: 0, bytes_per_day: 0 };
/// The most bytes of what it says.
const MAX_REPORT: usize = 64 << 10;
/// The most findings that are reported.
const MAX_TOLD: usize = 8;

/// What is found.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Report {
    ok: bool,
    total: usize,
    found: Vec<String>,
}

/// What the scanner is given.
#[derive(Serialize)]
struct ScanRequest<'a> {
    code: &'a str,
    programs: bool,
    network: bool,
}

/// Scans the code of an executor statically: not a line of it runs.
///
/// # Errors
/// In a sentence, what it must not do and does; or why that is not known, which is as bad.
pub async fn run<S: Sandbox>(
    sandbox: &S,
    manifest: &Manifest,
    code: &[u8],
    kill: oneshot::Receiver<()>,
) -> Result<(), String> {
    let code = std::str::from_utf8(code).map_err(|error| format!("main.py is no text: {error}"))?;
    let has = |which: fn(&Capability) -> bool| manifest.sandbox.capabilities.iter().any(which);
    let ask = ScanRequest {
        code,
        programs: has(|capability| matches!(capability, Capability::Exec(_))),
        network: has(|capability| matches!(capability, Capability::Net(_))),
    };
    let plan = sandbox.installation().pure_plan("scan", &QUOTAS).map_err(|error| error.to_string())?;
    let job = Job {
        turn: None,
        plan: &plan,
        code: SCANNER,
        entry: Entry::Call { args: json::canonical_of(&ask), thought: None },
        secrets: &Secrets::none(),
        progress: &|_, _| {},
        approved: Approved::ANY,
        covers: None,
        opens: &[],
        kill,
        begin: None,
        keeper: None,
    };
    let finished = sandbox.run(job).await;
    let unread = |why: &str| format!("main.py could not be looked at ({}): {why}", finished.outcome.name());
    let (Outcome::Ok, Some(bytes)) = (finished.outcome, &finished.result) else {
        return Err(unread(&finished.detail));
    };
    let limits = Limits { max_bytes: MAX_REPORT, max_depth: 3 };
    let object = json::parse_object(bytes, limits).map_err(|error| unread(&error.to_string()))?;
    let report: Report = serde_json::from_value(Value::Object(object)).map_err(|error| unread(&error.to_string()))?;
    judged(&report)
}

fn judged(report: &Report) -> Result<(), String> {
    if report.ok && report.total == 0 && report.found.is_empty() {
        return Ok(());
    }
    let told = report.found.iter().take(MAX_TOLD).map(String::as_str).collect::<Vec<_>>().join("; ");
    let more = report.total.saturating_sub(MAX_TOLD);
    let more = if more > 0 { format!("; and {more} more") } else { String::new() };
    Err(format!("main.py does what no executor may: {told}{more}"))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn only_a_report_of_nothing_is_good() {
        let report = |total: usize, found: &[&str]| Report {
            ok: true,
            total,
            found: found.iter().map(|&one| one.to_owned()).collect(),
        };
        assert_eq!(judged(&report(0, &[])), Ok(()));
        assert!(judged(&Report { ok: false, ..report(0, &[]) }).is_err());
        assert!(judged(&report(1, &[])).is_err() && judged(&report(0, &["line 1 uses eval"])).is_err());
        let many = vec!["line 1 uses eval"; 20];
        assert!(judged(&report(100, &many)).unwrap_err().ends_with("; and 92 more"));
    }
}
