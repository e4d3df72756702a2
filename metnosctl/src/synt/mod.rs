//! `synt`: what Metnos lacks, and executors that it drafts. syntd makes a draft; nothing of it may be called before the owner
//! has signed it by `executor sign`, which is policyd's to show and to do.

pub mod order;

use metnos_proto::doc::draft::{DraftEnd, DraftLang, DraftOrder, DraftReport, GrowthReport};
use metnos_proto::doc::executor::Origin;
use metnos_proto::doc::vaglio::{Proposal, VaglioAnswer};
use metnos_proto::edges::{CtlPolicyd, CtlSyntd};
use metnos_proto::ids::TraceId;
use metnos_proto::msg::common::Lang;
use metnos_proto::msg::drafting::{GrowthStatus, ShowDraft};
use metnos_proto::msg::policyd::ShowExecutor;
use metnos_proto::msg::vaglio::VaglioAsk;
use metnos_proto::role::RoleName;
use schemars::JsonSchema;
use serde::Serialize;
use toml_edit::value;

use crate::birth::plan::with_key;
use crate::command_line::nouns::{Switch, SyntCommand, SyntRun};
use crate::daemons::connection::{Connection, opened};
use crate::error::{CtlError, Exit};
use crate::executors::archive;
use crate::instance::atomic_file;
use crate::instance::{CONFIG, Instance, MAX_CONFIG};
use crate::policy::vaglio::{self, GROWTH};
use crate::screen::table::{Table, cell, inked};
use crate::screen::{Ink, Screen, escape, human};

/// The most characters of a wish or a reason in a list.
const MAX_SHOWN: usize = 70;

/// Does what `synt` says.
///
/// # Errors
/// When syntd or policyd refuses or cannot be reached, or the configuration cannot be written.
pub fn synt(screen: &mut Screen, instance: &Instance, command: &SyntCommand) -> Result<Exit, CtlError> {
    match command {
        SyntCommand::Gaps => gaps(screen, instance),
        SyntCommand::Proposals => proposals(screen, instance),
        SyntCommand::Run(asked) => run(screen, instance, asked),
        SyntCommand::Show { name } => show(screen, instance, name.as_deref()),
        SyntCommand::Withdraw { name, reason } => withdraw(screen, instance, name, reason),
        SyntCommand::DryRun { switch } => dry_run(screen, instance, *switch),
    }
}

fn growth(instance: &Instance) -> Result<GrowthReport, CtlError> {
    let mut syntd = Connection::to(instance)?.open::<CtlSyntd>()?;
    opened(syntd.growth(TraceId::NONE, GrowthStatus {}, [])?)
}

fn gaps(screen: &mut Screen, instance: &Instance) -> Result<Exit, CtlError> {
    let report = growth(instance)?;
    if screen.json() {
        screen.document(&report)?;
        return Ok(Exit::Done);
    }
    if report.gaps.is_empty() {
        screen.line("Nothing was wished for that is not there.")?;
    } else {
        let mut table = Table::new(&["WISHED FOR", "TIMES", "WHY NOTHING IS DRAFTED YET"]);
        for gap in &report.gaps {
            let wish = human::shortened(&escape::line(&gap.wish), MAX_SHOWN);
            table.row(vec![cell(wish), cell(gap.times.to_string()), cell(escape::line(&gap.why_not_yet))]);
        }
        table.show(screen, 0)?;
    }
    if !report.drafts.is_empty() {
        let mut table = Table::new(&["DRAFT", "STATE", "WISHED FOR", "WHY"]);
        for draft in &report.drafts {
            let text = |text: &str| cell(human::shortened(&escape::line(text), MAX_SHOWN));
            let state = inked(draft.end.name(), ink(draft.end));
            table.row(vec![cell(escape::line(&draft.name)), state, text(&draft.wish), text(&draft.why)]);
        }
        table.show(screen, 0)?;
    }
    let shown = if report.dry_run { "; drafts are only shown (`metnosctl synt dry-run off`)" } else { "" };
    screen.line(&format!("{} may be born today, {} more be active{shown}.", report.births_today, report.active))?;
    Ok(Exit::Done)
}

const fn ink(end: DraftEnd) -> Ink {
    match end {
        DraftEnd::Shown => Ink::Plain,
        DraftEnd::Offered => Ink::Warn,
        DraftEnd::Failed => Ink::Bad,
    }
}

fn proposals(screen: &mut Screen, instance: &Instance) -> Result<Exit, CtlError> {
    let mut policyd = Connection::to(instance)?.open::<CtlPolicyd>()?;
    let VaglioAnswer::Proposals(all) = opened(policyd.vaglio(TraceId::NONE, VaglioAsk::Digest, [])?)? else {
        return Err(archive::unasked());
    };
    let growth: Vec<Proposal> = all.into_iter().filter(|one| GROWTH.contains(&one.kind.as_str())).collect();
    if screen.json() {
        screen.document(&growth)?;
    } else {
        vaglio::list(screen, &growth, "Nothing is proposed.")?;
    }
    Ok(Exit::Done)
}

fn run(screen: &mut Screen, instance: &Instance, asked: &SyntRun) -> Result<Exit, CtlError> {
    let mut examples = asked.example.iter().map(|text| order::example(text)).collect::<Result<Vec<_>, _>>()?;
    if let Some(file) = &asked.examples {
        examples.extend(order::examples(file)?);
    }
    let order = DraftOrder {
        wish: asked.wish.join(" "),
        lang: DraftLang::from(asked.lang.unwrap_or(Lang::En)),
        name: asked.name.clone().unwrap_or_default(),
        examples,
        inputs: Vec::new(),
    };
    let mut syntd = Connection::to(instance)?.open::<CtlSyntd>()?;
    // Ctrl-C ends this program, and the run with it.
    let report = order::follow(&mut syntd, &order, || false, |text| screen.progress(text))?;
    let exit = if report.end == DraftEnd::Failed { Exit::Failed } else { Exit::Done };
    print_report(screen, &report)?;
    Ok(exit)
}

fn show(screen: &mut Screen, instance: &Instance, name: Option<&str>) -> Result<Exit, CtlError> {
    let mut syntd = Connection::to(instance)?.open::<CtlSyntd>()?;
    let ask = ShowDraft { name: name.unwrap_or_default().to_owned() };
    let report = opened(syntd.show_draft(TraceId::NONE, ask, [])?)?;
    print_report(screen, &report)?;
    Ok(Exit::Done)
}

/// Everything in it was written by a model or is an owner's word: each is shown as one line that no terminal takes for an order.
fn print_report(screen: &mut Screen, report: &DraftReport) -> Result<(), CtlError> {
    if screen.json() {
        return screen.document(report);
    }
    lines(report).iter().try_for_each(|line| screen.line(line))
}

fn lines(report: &DraftReport) -> Vec<String> {
    let name = escape::line(&report.name);
    let mut lines = match report.end {
        DraftEnd::Offered => vec![format!("{name} is drafted. It waits in the pool, and may not be called.")],
        DraftEnd::Shown => vec![format!("{name} is drafted, and only shown: {}.", escape::line(&report.why))],
        DraftEnd::Failed => vec![format!("Nothing was drafted: {}.", escape::line(&report.why))],
    };
    if report.files.is_empty() {
        return lines;
    }
    lines.push(format!("  does: {}", escape::line(&report.summary)));
    lines.push("  may use: nothing but its arguments".to_owned());
    for case in &report.cases {
        lines.push(format!("  {}: {}", escape::line(&case.name), if case.passed { "holds" } else { "does not hold" }));
    }
    lines.push(format!("  its tests notice {} changed copies of the code", report.mutants));
    lines.extend(report.weaknesses.iter().map(|one| format!("  mind: {}", escape::line(one))));
    let took = human::counted(report.took_ms / 1_000, "second", "seconds");
    let model = escape::line(&report.model);
    lines.push(format!("  written by {model}, with {} tokens in {took}", report.tokens));
    if let Some(code) = report.files.get("main.py").and_then(serde_json::Value::as_str) {
        lines.extend(code.lines().enumerate().map(|(at, line)| format!("  {:>5} {}", at + 1, escape::line(line))));
    }
    if report.end == DraftEnd::Offered {
        lines.push(format!("  → metnosctl executor sign {name}: tests it once more, shows it, and asks for your yes"));
    }
    lines
}

fn withdraw(screen: &mut Screen, instance: &Instance, name: &str, reason: &str) -> Result<Exit, CtlError> {
    let mut reach = Connection::to(instance)?;
    let ask = ShowExecutor { name: name.to_owned() };
    let record = opened(reach.open::<CtlPolicyd>()?.show_executor(TraceId::NONE, ask, [])?)?;
    if !matches!(record.origin, Some(Origin::Drafted(_))) {
        let what = format!("{} was not drafted and signed here", escape::line(name));
        return Err(CtlError::failed("synt withdraw", what, "`metnosctl executor archive` archives any executor"));
    }
    archive::archive(screen, &mut reach, name, Some(reason))
}

/// Whether drafts are only shown.
#[derive(Debug, Serialize, JsonSchema)]
pub struct DryRun {
    /// Whether they are.
    dry_run: bool,
    /// Whether this command has changed it.
    changed: bool,
}

fn dry_run(screen: &mut Screen, instance: &Instance, switch: Option<Switch>) -> Result<Exit, CtlError> {
    let before = growth(instance)?.dry_run;
    let wanted = switch.map_or(before, |switch| switch == Switch::On);
    let changed = wanted != before;
    if changed {
        let path = instance.directory().join(CONFIG);
        write_dry_run(&path, wanted).map_err(|why| CtlError::failed("metnos.toml", why, "nothing was changed"))?;
        Connection::to(instance)?.restart(RoleName::Policyd)?;
    }
    if screen.json() {
        screen.document(&DryRun { dry_run: wanted, changed })?;
    } else if wanted {
        screen.line("Drafts are only shown.")?;
    } else {
        screen.line("A draft that passes its tests is put into the pool, where it waits for your signature.")?;
    }
    Ok(Exit::Done)
}

fn write_dry_run(path: &std::path::Path, wanted: bool) -> Result<(), String> {
    let text = atomic_file::read(path, MAX_CONFIG).map_err(|error| error.to_string())?.unwrap_or_default();
    let changed = with_key(&text, "synt.dry_run", value(wanted))?;
    atomic_file::replace(path, &changed, 0o600).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use serde_json::json;

    fn report(end: DraftEnd, files: serde_json::Value) -> DraftReport {
        let document = json!({
            "name": "count_words", "version": "1.0.0", "run": "r", "wish": "count the words", "end": end, "why": "a\u{1b}[2J", "model": "m",
            "summary": "Counts.", "candidates": 1, "repairs": 0, "cases": [{"name": "one", "passed": true, "detail": ""}],
            "mutants": {"made": 3, "killed": 2}, "weaknesses": ["it crashes on \u{1b}[31mnothing"], "outputs": [], "tokens": 9, "micro": 0,
            "took_ms": 1000, "files": files,
        });
        serde_json::from_value(document).unwrap()
    }

    #[test]
    fn report_says_what_follows_and_writes_no_orders_to_the_terminal() {
        let code = json!({"main.py": "def solve(a):\n    return \"\u{1b}[2J\"\n"});
        let offered = lines(&report(DraftEnd::Offered, code)).join("\n");
        for part in [
            "may not be called",
            "may use: nothing",
            "2 of 3",
            "mind: it crashes",
            "1 def solve(a):",
            "executor sign count_words",
        ] {
            assert!(offered.contains(part), "{part}: {offered}");
        }
        assert!(!offered.contains('\u{1b}'));
        let failed = lines(&report(DraftEnd::Failed, json!({})));
        assert_eq!((failed.len(), failed[0].contains('\u{1b}')), (1, false), "{failed:?}");
    }

    #[test]
    fn switching_dry_run_changes_one_line_of_the_configuration() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(CONFIG);
        std::fs::write(&path, "# mine\n[instance]\nlang = \"it\"\n").unwrap();
        write_dry_run(&path, false).unwrap();
        assert_eq!(
            std::fs::read_to_string(&path).unwrap(),
            "# mine\n[instance]\nlang = \"it\"\n\n[synt]\ndry_run = false\n"
        );
    }
}
