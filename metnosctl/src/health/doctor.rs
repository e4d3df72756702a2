//! `doctor`: looks at everything, and names the remedy of each problem. It mends nothing.

use metnos_proto::control::{DaemonState, Surveyed};
use metnos_proto::edges::{CtlPolicyd, CtlSandboxd};
use metnos_proto::ids::TraceId;
use metnos_proto::msg::memoryd::VerifyReport;
use metnos_proto::msg::policyd::{PolicyCanaries, PolicyCanary, PolicyStatus};
use metnos_proto::msg::sandboxd::{Canaries, Canary, SandboxStatus};
use schemars::JsonSchema;
use serde::Serialize;

use crate::audit;
use crate::daemons::connection::Connection;
use crate::daemons::survey;
use crate::error::{CtlError, Exit};
use crate::executors::executor::{self, Checked};
use crate::health::host::{self, Finding};
use crate::instance::{Content, Instance};
use crate::screen::escape;
use crate::screen::human::{ago, counted, now_ms};
use crate::screen::{Ink, Screen};

/// The controls that policyd advertises, each of which must be tried.
const CONTROLS: [&str; 6] = ["guard", "schema", "laws", "labels", "approval", "panic"];
/// The most single things that one finding names.
const MAX_NAMED: usize = 8;

/// Checks, reports, and exits with 1 when something is wrong.
///
/// # Errors
/// Only when the output is gone: whatever else is wrong is a finding.
pub fn doctor(screen: &mut Screen, instance: &Instance) -> Result<Exit, CtlError> {
    let mut report = Report { findings: Vec::new() };
    let (guesses, facts): (Vec<_>, Vec<_>) = host::facts(instance).into_iter().partition(host::is_a_guess);
    for finding in facts {
        report.add(screen, finding)?;
    }
    report.add(screen, directory(instance))?;
    report.add(screen, host::disk(instance))?;
    match Connection::to(instance).and_then(|mut reach| reach.survey().map(|survey| (reach, survey))) {
        Err(error) => {
            for guess in guesses {
                report.add(screen, guess)?;
            }
            report.add(screen, unreachable("running", &error))?;
        }
        Ok((mut reach, survey)) => {
            report.add(screen, Finding::good("running", format!("supervisor {}, {} mode", survey.pid, survey.mode)))?;
            for finding in of_survey(&survey) {
                report.add(screen, finding)?;
            }
            let sandbox = canaries(&mut reach);
            for guess in guesses {
                report.add(screen, host::settled(guess, sandbox.ok))?;
            }
            report.add(screen, sandbox)?;
            report.add(screen, limits(&mut reach))?;
            for finding in stopped_or_tried(&mut reach) {
                report.add(screen, finding)?;
            }
            for finding in crate::health::channels::findings(&mut reach) {
                report.add(screen, finding)?;
            }
            report.add(screen, crate::models::finding(&mut reach))?;
            report.add(screen, executors(executor::check(&mut reach, None)))?;
            report.add(screen, chronicle(audit::check(&mut reach, 0).map(|(report, _)| report)))?;
        }
    }
    report.end(screen)
}

/// What `doctor` has found.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Checkup<'a> {
    /// Whether everything is as it should be.
    ok: bool,
    /// Each thing that was checked.
    checks: &'a [Finding],
}

/// What was found so far.
struct Report {
    findings: Vec<Finding>,
}

impl Report {
    /// Shows a finding at once: some of them take a moment.
    fn add(&mut self, screen: &mut Screen, mut finding: Finding) -> Result<(), CtlError> {
        finding.detail = escape::line(&finding.detail);
        if !screen.json() {
            let colour = screen.colour();
            let mark = if finding.ok { Ink::Good.on("ok ", colour) } else { Ink::Bad.on("BAD", colour) };
            screen.line(&format!("{mark}  {:<16} {}", finding.name, finding.detail))?;
            if !finding.remedy.is_empty() {
                screen.line(&format!("     {:<16} → {}", "", finding.remedy))?;
            }
            screen.flush()?;
        }
        self.findings.push(finding);
        Ok(())
    }

    fn end(&self, screen: &mut Screen) -> Result<Exit, CtlError> {
        let bad = self.findings.iter().filter(|finding| !finding.ok).count();
        if screen.json() {
            screen.document(&Checkup { ok: bad == 0, checks: &self.findings })?;
        } else if bad == 0 {
            screen.line("Everything is as it should be.")?;
        } else {
            screen.line(&format!("{} found.", counted(bad as u64, "problem", "problems")))?;
        }
        Ok(if bad == 0 { Exit::Done } else { Exit::Failed })
    }
}

fn unreachable(name: &'static str, error: &CtlError) -> Finding {
    Finding::bad(name, error.to_string(), error.remedy())
}

fn directory(instance: &Instance) -> Finding {
    const NAME: &str = "instance";
    let shown = instance.directory().display().to_string();
    let create = format!("`metnosctl --instance {shown} up` creates one");
    match instance.content() {
        Ok(Content::Instance) => Finding::good(NAME, shown),
        Ok(Content::Nothing) => Finding::bad(NAME, format!("there is none in {shown}"), create),
        Ok(Content::Other(names)) => {
            let what = format!("{shown} holds other things ({})", names.join(", "));
            Finding::bad(NAME, what, "name the right directory: `metnosctl --instance DIR doctor`")
        }
        Err(error) => Finding::bad(NAME, format!("{shown}: {error}"), "become its owner, or name another directory"),
    }
}

/// Everything the supervisor knows, as findings.
fn of_survey(survey: &Surveyed) -> Vec<Finding> {
    let mut findings: Vec<Finding> = Vec::new();
    for row in &survey.daemons {
        let name = row.role.text();
        let state = row.state.name();
        let remedy = match row.state {
            DaemonState::Ready if row.lock.is_empty() => {
                "it runs without a lock: stop Metnos, and report this".to_owned()
            }
            DaemonState::Ready => String::new(),
            DaemonState::Starting | DaemonState::Waiting | DaemonState::Stopping => {
                "look again in a moment; it is started anew by itself".to_owned()
            }
            DaemonState::Degraded => {
                format!("it fails again and again: see run/supervisor.log, then `metnosctl daemon restart {name}`")
            }
        };
        let restarts = match row.restarts {
            0 => String::new(),
            times => format!(", started anew {}", counted(times.into(), "time", "times")),
        };
        let last = if row.last_exit.is_empty() { String::new() } else { format!(" (last: {})", row.last_exit) };
        if remedy.is_empty() {
            findings.push(Finding::good(name, format!("{state}, locked{restarts}{last}")));
        } else {
            findings.push(Finding::bad(name, format!("{state}{restarts}{last}"), remedy));
        }
        if !row.waived.is_empty() {
            findings.push(Finding::bad(
                name,
                format!("runs without {}", row.waived.join(", ")),
                "the configuration waives it, and the kernel lacks it: boot a kernel that has it, and remove it from \
                 `[jail]` `waive` in metnos.toml",
            ));
        }
    }
    let down: Vec<String> = survey.edges.iter().filter(|row| !row.up).map(|row| format!("{:?}", row.edge)).collect();
    findings.push(if down.is_empty() {
        Finding::good("edges", format!("all {} are up", survey.edges.len()))
    } else {
        Finding::bad(
            "edges",
            format!("down: {}", down.join(", ")),
            "look again in a moment; they come back with their daemons",
        )
    });
    let separation = survey::uid_statement(survey).unwrap_or_else(|| "each daemon has one of its own".to_owned());
    findings.push(Finding::good("uids", separation));
    findings
}

fn canaries(reach: &mut Connection) -> Finding {
    let asked =
        reach.open::<CtlSandboxd>().and_then(|mut sandboxd| Ok(sandboxd.canaries(TraceId::NONE, Canaries {}, [])?.0));
    match asked {
        Ok(report) => of_canaries(&report.canaries),
        Err(error) => unreachable("sandbox", &error),
    }
}

/// What bounds a call on this machine. That there is no control group is nothing wrong: the other limits are always there.
fn limits(reach: &mut Connection) -> Finding {
    const NAME: &str = "limits";
    let asked = reach
        .open::<CtlSandboxd>()
        .and_then(|mut sandboxd| Ok(sandboxd.sandbox_status(TraceId::NONE, SandboxStatus {}, [])?.0));
    match asked {
        Ok(status) => {
            let told = status.layers.iter().find_map(|layer| layer.strip_prefix("limits: "));
            Finding::good(NAME, told.unwrap_or("sandboxd does not tell them"))
        }
        Err(error) => unreachable(NAME, &error),
    }
}

/// What policyd must stop, tried; while everything is stopped, that is what stops the canaries too, so none is tried.
fn stopped_or_tried(reach: &mut Connection) -> Vec<Finding> {
    let asked = reach
        .open::<CtlPolicyd>()
        .and_then(|mut policyd| Ok(policyd.policy_status(TraceId::NONE, PolicyStatus {}, [])?.0));
    match asked {
        Ok(policy) if policy.stopped_ms != 0 => of_stop(&policy.stopped_by, &ago(policy.stopped_ms, now_ms())),
        Ok(_) => controls(reach),
        Err(error) => vec![unreachable("controls", &error)],
    }
}

/// Everything is stopped, by the owner's own word most likely: one thing to know, and no alarm for each control.
fn of_stop(by: &str, since: &str) -> Vec<Finding> {
    let what = format!("everything is stopped since {since}, by {by}: nothing is allowed");
    let stopped = Finding::bad("stopped", what, "when you want it to go on: `metnosctl resume`");
    let untried =
        |name: &&'static str| Finding::good(name, "not tried: everything is stopped, and that would stop the canary");
    std::iter::once(stopped).chain(CONTROLS.iter().map(untried)).collect()
}

/// What policyd must stop, tried on the running set: which layer stopped it, by which rule.
fn controls(reach: &mut Connection) -> Vec<Finding> {
    let asked = reach
        .open::<CtlPolicyd>()
        .and_then(|mut policyd| Ok(policyd.policy_canaries(TraceId::NONE, PolicyCanaries {}, [])?.0));
    match asked {
        Ok(report) => of_controls(&report.canaries),
        Err(error) => vec![unreachable("controls", &error)],
    }
}

fn of_controls(canaries: &[PolicyCanary]) -> Vec<Finding> {
    let untried = |name: &&&str| canaries.iter().all(|canary| canary.control != **name);
    let missing = CONTROLS.iter().filter(untried).map(|name| {
        let remedy = if **name == *"panic" {
            "calls were running, which it would have ended: try again when none does"
        } else {
            "look at `metnosctl executor list`: a canary needs fs_read and fs_write"
        };
        Finding::bad(name, "it was not tried", remedy)
    });
    let tried = CONTROLS.iter().flat_map(|name| {
        canaries.iter().filter(move |canary| canary.control == **name).map(|canary| {
            let PolicyCanary { attempt, stopped, by, detail, .. } = canary;
            if *stopped {
                Finding::good(name, format!("{attempt}: stopped by policyd, rule {by}"))
            } else {
                let by = if by.is_empty() { "by nothing".to_owned() } else { format!("only by {by}") };
                Finding::bad(
                    name,
                    format!("{attempt}: stopped {by}: {detail}"),
                    "stop Metnos (`metnosctl down`) and look at `metnosctl audit tail`: a control does not hold",
                )
            }
        })
    });
    tried.chain(missing).collect()
}

fn of_canaries(canaries: &[Canary]) -> Finding {
    let escaped: Vec<String> = canaries
        .iter()
        .filter(|canary| !canary.stopped)
        .take(MAX_NAMED)
        .map(|canary| format!("{} ({})", canary.attempt, canary.detail))
        .collect();
    if canaries.is_empty() {
        Finding::bad("sandbox", "no canary was tried", "report this: an untried sandbox is none")
    } else if escaped.is_empty() {
        Finding::good(
            "sandbox",
            format!("all of {} were stopped", counted(canaries.len() as u64, "canary", "canaries")),
        )
    } else {
        let what = format!("not stopped: {}", escaped.join(", "));
        Finding::bad("sandbox", what, "stop Metnos (`metnosctl down`): executors could do this on this machine")
    }
}

fn executors(checked: Result<Vec<Checked>, CtlError>) -> Finding {
    const NAME: &str = "executors";
    let checked = match checked {
        Ok(checked) => checked,
        Err(error) => return unreachable(NAME, &error),
    };
    let bad: Vec<String> = checked
        .iter()
        .filter(|one| !one.holds() && !one.is_inactive())
        .take(MAX_NAMED)
        .map(|one| format!("{}: {}", one.entry.id, one.why()))
        .collect();
    if checked.is_empty() {
        Finding::bad(NAME, "there are none", "create an instance anew, or restore workspace/executors from a backup")
    } else if bad.is_empty() {
        let whole = checked.iter().filter(|one| one.holds()).count() as u64;
        let aside = checked.len() as u64 - whole;
        let aside = if aside == 0 { String::new() } else { format!(", {aside} archived or revoked") };
        Finding::good(NAME, format!("{} whole, signed and active{aside}", counted(whole, "is", "are")))
    } else {
        let remedy = "nothing calls it any more. After an upgrade of Metnos `metnosctl executor relock --all` shows what \
                      is different; else find out who changed its files, put them back, and `metnosctl executor lift NAME`";
        Finding::bad(NAME, bad.join("; "), remedy)
    }
}

fn chronicle(report: Result<VerifyReport, CtlError>) -> Finding {
    const NAME: &str = "chronicle";
    match report {
        Err(error) => unreachable(NAME, &error),
        Ok(report) if report.findings_total == 0 && report.findings.is_empty() => {
            Finding::good(NAME, format!("{}, and the witnesses agree", counted(report.lines, "line", "lines")))
        }
        Ok(report) => {
            let first =
                report.findings.first().map(|one| format!("; first, line {}: {}: {}", one.seq, one.kind, one.detail));
            let findings = counted(report.findings_total, "finding", "findings");
            let remedy = "see all: `metnosctl audit verify`; keep a copy of .audit as evidence";
            Finding::bad(NAME, format!("{findings}{}", first.unwrap_or_default()), remedy)
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::daemons::survey::testing::well;
    use crate::screen::testing::screen;

    fn bad(findings: &[Finding]) -> Vec<&Finding> {
        findings.iter().filter(|finding| !finding.ok).collect()
    }

    #[test]
    fn a_set_that_is_well_has_no_problem() {
        assert!(bad(&of_survey(&well())).is_empty());
    }

    #[test]
    fn every_problem_of_the_set_has_a_remedy() {
        let mut survey = well();
        survey.daemons[0].state = DaemonState::Degraded;
        survey.daemons[1].lock.clear();
        survey.daemons[2].waived = vec!["landlock".into()];
        survey.edges[3].up = false;
        let findings = of_survey(&survey);
        assert_eq!(bad(&findings).len(), 4);
        assert!(bad(&findings).iter().all(|finding| !finding.remedy.is_empty()));
    }

    #[test]
    fn a_canary_that_flew_and_no_canary_at_all_are_problems() {
        let canary = |stopped| Canary { attempt: "open /etc/passwd".into(), stopped, detail: "EACCES".into() };
        assert!(of_canaries(&[canary(true)]).ok);
        assert!(!of_canaries(&[canary(true), canary(false)]).ok);
        assert!(!of_canaries(&[]).ok);
    }

    #[test]
    fn a_control_that_was_not_tried_or_did_not_stop_its_canary_is_a_problem() {
        let canary = |control: &str, stopped| PolicyCanary {
            control: control.into(),
            attempt: "x".into(),
            stopped,
            by: "rule".into(),
            detail: "why".into(),
        };
        let all = ["guard", "schema", "laws", "labels", "approval", "panic"];
        let well: Vec<PolicyCanary> = all.iter().map(|name| canary(name, true)).collect();
        assert!(bad(&of_controls(&well)).is_empty());
        for at in 0..all.len() {
            let mut flew = well.clone();
            flew[at].stopped = false;
            assert_eq!(bad(&of_controls(&flew)).len(), 1);
            let mut untried = well.clone();
            untried.remove(at);
            assert_eq!(bad(&of_controls(&untried)).len(), 1);
        }
    }

    #[test]
    fn a_stop_is_one_problem_that_names_resume_and_no_control_is_accused() {
        let findings = of_stop("cli:uid:1000", "2 min");
        let problems = bad(&findings);
        assert_eq!(problems.len(), 1);
        assert!(problems[0].detail.contains("cli:uid:1000") && problems[0].remedy.contains("`metnosctl resume`"));
        assert!(findings.iter().skip(1).all(|one| one.detail.starts_with("not tried")));
        assert_eq!(findings.len(), CONTROLS.len() + 1);
    }

    #[test]
    fn doctor_exits_one_on_a_single_problem() {
        let (mut paper, out, _) = screen(true, [false, false], false);
        let mut report = Report { findings: Vec::new() };
        report.add(&mut paper, Finding::good("sandbox", "held")).unwrap();
        assert_eq!(report.end(&mut paper).unwrap(), Exit::Done);
        report.add(&mut paper, Finding::bad("user namespaces", "AppArmor restricts them", "a profile")).unwrap();
        assert_eq!(report.end(&mut paper).unwrap(), Exit::Failed);
        assert!(out.text().contains("\"ok\": false"));
    }
}
