//! `run`: one call of one executor through the whole path (decide, sandbox, record), without
//! the planner. It decides nothing itself: what policyd refuses is shown as policyd says it.

use metnos_proto::edges::CtlPolicyd;
use metnos_proto::ids::TraceId;
use metnos_proto::link::BlockingClient;
use metnos_proto::msg::common::{Integrity, Label, Outcome, Readers, Refusal, Resources};
use metnos_proto::msg::policyd::{Acted, CallRun, Ran, RunCall, ShowExecutor};
use metnos_proto::payload::Sealed;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use crate::command_line::cli::Run;
use crate::daemons::connection::{Connection, opened};
use crate::error::{CtlError, ErrorDocument, Exit, exit_of};
use crate::instance::Instance;
use crate::screen::human;
use crate::screen::{Ink, Screen};
use crate::turns::input::stdin_text;
use crate::turns::values;

/// What became of a call.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Ran")]
pub struct RunReport {
    /// Whether it did what was asked.
    ok: bool,
    /// Its turn.
    turn: String,
    /// Its name; null when it did not run.
    call: Option<String>,
    /// How it ended.
    outcome: String,
    /// What the executor returned, as its schema says.
    result: Value,
    /// Why it did not.
    error: Option<ErrorDocument>,
    /// Where its result comes from, and who may read it.
    label: Option<LabelReport>,
    /// What it used.
    resources: Option<ResourceReport>,
}

/// Where a result comes from, and who may read it.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Label")]
pub struct LabelReport {
    /// Where it comes from.
    integrity: IntegrityName,
    /// Who may read it.
    readers: ReadersName,
}

/// Where a result comes from.
#[derive(Debug, Clone, Copy, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "Integrity")]
pub enum IntegrityName {
    /// From the owner.
    Trusted,
    /// From a source that the owner vouches for.
    Vouched,
    /// From elsewhere.
    Untrusted,
}

/// Who may read a result.
#[derive(Debug, Clone, Copy, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "Readers")]
pub enum ReadersName {
    /// Anyone.
    Public,
    /// The owner and those the owner shows it to.
    Private,
    /// Only the owner.
    Secret,
}

/// What a call used.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Resources")]
pub struct ResourceReport {
    /// Time in microseconds.
    wall_us: u64,
    /// Processor time in microseconds.
    cpu_us: u64,
    /// Memory in KiB.
    peak_kib: u64,
    /// The size of its result.
    output_bytes: u64,
    /// What it wrote to disks.
    written_bytes: u64,
    /// The step of the sandbox that carried it.
    carrier: String,
}

/// Has the call decided and, when allowed, run; shows its result.
///
/// # Errors
/// When the arguments are none, or policyd cannot be reached.
pub fn run(screen: &mut Screen, instance: &Instance, run: &Run) -> Result<Exit, CtlError> {
    let typed = match &run.args {
        Some(text) => Typed::Object(object_text(text)?),
        None => Typed::Pairs(values::pairs(&run.pairs)?),
    };
    let mut policyd = Connection::to(instance)?.open::<CtlPolicyd>()?;
    let arguments = match typed {
        Typed::Object(text) => text.into_bytes(),
        Typed::Pairs(pairs) => {
            let input = if values::need_schema(&pairs) { input_schema(&mut policyd, &run.executor)? } else { None };
            Value::Object(values::arguments(pairs, input.as_ref())).to_string().into_bytes()
        }
    };
    let sealed =
        Sealed::new(&arguments).map_err(|error| CtlError::failed("the arguments cannot be sent", error, ""))?;
    let (answer, [result]) = policyd.run_call(TraceId::NONE, RunCall { executor: run.executor.clone() }, [sealed])?;
    let result = result.read().map_err(|error| CtlError::failed("the result cannot be read", error, ""))?;
    show(screen, &run.executor, &answer, &result)
}

enum Typed {
    Object(String),
    Pairs(Vec<values::Pair>),
}

fn object_text(text: &str) -> Result<String, CtlError> {
    let text = if text == "-" { stdin_text("the arguments")? } else { text.to_owned() };
    values::check_object(&text)?;
    Ok(text)
}

/// The input schema, where policyd has one; a name that it does not know is refused by the call itself.
pub(crate) fn input_schema(policyd: &mut BlockingClient<CtlPolicyd>, name: &str) -> Result<Option<Value>, CtlError> {
    match policyd.show_executor(TraceId::NONE, ShowExecutor { name: name.to_owned() }, []) {
        Ok(answer) => {
            let schema = opened(answer)?.schema;
            Ok(schema.and_then(|schema| schema.pointer("/definitions/Input").cloned()))
        }
        Err(metnos_proto::edge::RpcError::Refused(_)) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Shows what became of a call.
pub(crate) fn show(screen: &mut Screen, executor: &str, answer: &CallRun, result: &[u8]) -> Result<Exit, CtlError> {
    match &answer.acted {
        Acted::Denied(refusal) => denied(screen, answer, refusal),
        Acted::Ran(ran) => ended(screen, executor, answer, ran, result),
    }
}

fn denied(screen: &mut Screen, answer: &CallRun, refusal: &Refusal) -> Result<Exit, CtlError> {
    let error = CtlError::Refused(refusal.clone());
    if screen.json() {
        screen.document(&RunReport {
            ok: false,
            turn: answer.turn.to_string(),
            call: None,
            outcome: "denied".to_owned(),
            result: Value::Null,
            error: Some(error.document()),
            label: None,
            resources: None,
        })?;
    } else {
        screen.error(&error)?;
    }
    Ok(exit_of(refusal))
}

fn ended(screen: &mut Screen, executor: &str, answer: &CallRun, ran: &Ran, result: &[u8]) -> Result<Exit, CtlError> {
    let result = if result.is_empty() {
        Value::Null
    } else {
        serde_json::from_slice(result)
            .map_err(|error| CtlError::failed("the result is not JSON", error, "look at `metnosctl doctor`"))?
    };
    let trouble = trouble(ran.outcome, &result);
    if screen.json() {
        let error = trouble.as_ref().map(|(class, why, remedy)| ErrorDocument {
            code: ran.outcome.name().to_owned(),
            rule: class.clone(),
            why: why.clone(),
            remedy: remedy.clone(),
        });
        screen.document(&RunReport {
            ok: trouble.is_none(),
            turn: answer.turn.to_string(),
            call: Some(ran.call.to_string()),
            outcome: ran.outcome.name().to_owned(),
            result,
            error,
            label: Some(label(ran.label)),
            resources: Some(used(&ran.resources)),
        })?;
    } else if let Some((class, why, remedy)) = &trouble {
        screen.complaint(&format!("{executor}: {why}"), class, remedy)?;
    } else if let Value::Object(document) = &result {
        let shown = document.iter().filter(|(key, _)| *key != "ok").map(|(key, value)| (key.clone(), value.clone()));
        human::show_object(screen, &shown.collect(), 0)?;
        if screen.watched() {
            let used = &ran.resources;
            let wall = human::ms(used.wall_us);
            screen.aside(
                Ink::Dim,
                &format!(
                    "{wall}, {} at most, {}; turn {}",
                    human::mib(used.peak_kib),
                    used.carrier.name(),
                    answer.turn
                ),
            )?;
        }
    } else {
        screen.line(&human::scalar(&result))?;
    }
    Ok(if trouble.is_none() { Exit::Done } else { Exit::Failed })
}

/// Class, reason and remedy, when the call did not succeed.
fn trouble(outcome: Outcome, result: &Value) -> Option<(String, String, String)> {
    let said = |key: &str| result.pointer(&format!("/error/{key}")).and_then(Value::as_str).map(str::to_owned);
    let (why, remedy) = match outcome {
        Outcome::Ok => return None,
        Outcome::Error => ("it reported an error", ""),
        Outcome::Crashed => ("it ended without a result", "its own fault: `metnosctl audit tail` has the record"),
        Outcome::BadOutput => {
            ("its result does not fit its schema", "its own fault: it is not to be trusted with this")
        }
        Outcome::CpuExceeded => ("it used more processor time than it was granted", "ask for less at once"),
        Outcome::MemoryExceeded => ("it used more memory than it was granted", "ask for less at once"),
        Outcome::Timeout => ("it took longer than it was granted", "ask for less at once, or try again"),
        Outcome::OutputTooLarge => ("its result is larger than it was granted", "ask for less at once"),
        Outcome::ProcessesExceeded => ("it started more processes than it was granted", ""),
        Outcome::Killed => ("it was killed by the owner's word", ""),
        Outcome::Interrupted => ("it was interrupted: the sandbox's daemon stopped in the middle", "try again"),
        Outcome::SandboxFailed => ("the sandbox could not be built, so it did not run", "look at `metnosctl doctor`"),
        Outcome::DiskExceeded => ("it wrote more to the disk than it was granted", "ask for less at once"),
        Outcome::DiskFull => ("the disk is nearly full, so it was stopped", "make room on the disk, then try again"),
        Outcome::Failed => {
            ("the machine refused something that it needed", "its message says what; `metnosctl doctor`")
        }
    };
    Some((said("class").unwrap_or_default(), said("message").unwrap_or_else(|| why.to_owned()), remedy.to_owned()))
}

const fn label(label: Label) -> LabelReport {
    let integrity = match label.integrity {
        Integrity::Trusted => IntegrityName::Trusted,
        Integrity::Vouched => IntegrityName::Vouched,
        Integrity::Untrusted => IntegrityName::Untrusted,
    };
    let readers = match label.readers {
        Readers::Public => ReadersName::Public,
        Readers::Private => ReadersName::Private,
        Readers::Secret => ReadersName::Secret,
    };
    LabelReport { integrity, readers }
}

fn used(resources: &Resources) -> ResourceReport {
    ResourceReport {
        wall_us: resources.wall_us,
        cpu_us: resources.cpu_us,
        peak_kib: resources.peak_kib,
        output_bytes: resources.output_bytes,
        written_bytes: resources.written_bytes,
        carrier: resources.carrier.name().to_owned(),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use serde_json::json;

    use super::*;
    use crate::screen::testing::screen;
    use metnos_proto::ids::{CallId, HandleId, TurnId};
    use metnos_proto::msg::common::{RefusalCode, Resources};

    fn ran(outcome: Outcome) -> CallRun {
        CallRun {
            turn: TurnId::new(),
            acted: Acted::Ran(Ran {
                call: CallId::new(),
                handle: HandleId::new(),
                outcome,
                label: Label { integrity: Integrity::Untrusted, readers: Readers::Private },
                leaves: Vec::new(),
                line: 1,
                resources: Resources {
                    wall_us: 1500,
                    cpu_us: 900,
                    peak_kib: 9000,
                    output_bytes: 20,
                    ..Resources::NONE
                },
            }),
        }
    }

    fn outcomes() -> [Outcome; 15] {
        [
            Outcome::Ok,
            Outcome::Error,
            Outcome::Crashed,
            Outcome::BadOutput,
            Outcome::CpuExceeded,
            Outcome::MemoryExceeded,
            Outcome::Timeout,
            Outcome::OutputTooLarge,
            Outcome::ProcessesExceeded,
            Outcome::Killed,
            Outcome::Interrupted,
            Outcome::SandboxFailed,
            Outcome::DiskExceeded,
            Outcome::DiskFull,
            Outcome::Failed,
        ]
    }

    #[test]
    fn exit_code_is_zero_only_on_success_and_outcomes_have_own_sentences() {
        let mut sentences = std::collections::HashSet::new();
        for outcome in outcomes() {
            let (mut paper, _, err) = screen(false, [false, false], false);
            let exit = show(&mut paper, "x", &ran(outcome), b"").unwrap();
            assert_eq!(exit == Exit::Done, outcome == Outcome::Ok, "{outcome:?}");
            assert!(sentences.insert(err.text()), "{outcome:?}");
        }
    }

    #[test]
    fn an_executors_error_is_shown_by_message_and_verbosely_by_class() {
        let (mut paper, out, err) = screen(false, [false, false], false);
        let document = br#"{"ok":false,"error":{"class":"NotFound","message":"there is no a.md"}}"#;
        assert_eq!(show(&mut paper, "fs_read", &ran(Outcome::Error), document).unwrap(), Exit::Failed);
        assert_eq!((out.text().as_str(), err.text().as_str()), ("", "fs_read: there is no a.md\n"));
        let (paper, _, err) = screen(false, [false, false], false);
        show(&mut paper.verbose(true), "fs_read", &ran(Outcome::Error), document).unwrap();
        assert_eq!(err.text(), "fs_read: there is no a.md [NotFound]\n");
    }

    #[test]
    fn a_denial_names_reason_and_remedy_and_verbosely_the_rule() {
        let refusal =
            Refusal::new(RefusalCode::Denied, "guard.path", "`/etc/shadow` is forbidden").remedy("stay inside");
        let answer = CallRun { turn: TurnId::new(), acted: Acted::Denied(refusal) };
        let (mut paper, _, err) = screen(false, [false, false], false);
        assert_eq!(show(&mut paper, "fs_read", &answer, b"").unwrap(), Exit::Failed);
        assert_eq!(err.text(), "`/etc/shadow` is forbidden\n  → stay inside\n");
        let (paper, _, err) = screen(false, [false, false], false);
        show(&mut paper.verbose(true), "fs_read", &answer, b"").unwrap();
        assert_eq!(err.text(), "`/etc/shadow` is forbidden [guard.path]\n  → stay inside\n");
        let (mut paper, out, _) = screen(true, [false, false], false);
        show(&mut paper, "fs_read", &answer, b"").unwrap();
        let document: Value = serde_json::from_str(&out.text()).unwrap();
        assert_eq!((&document["outcome"], &document["error"]["rule"]), (&json!("denied"), &json!("guard.path")));
    }

    #[test]
    fn the_document_has_the_same_keys_whatever_came_of_the_call() {
        let keys = |answer: &CallRun, result: &[u8]| {
            let (mut paper, out, _) = screen(true, [false, false], false);
            show(&mut paper, "x", answer, result).unwrap();
            let document: Value = serde_json::from_str(&out.text()).unwrap();
            let mut keys: Vec<String> = document.as_object().unwrap().keys().cloned().collect();
            keys.sort();
            keys
        };
        let denied = CallRun { turn: TurnId::new(), acted: Acted::Denied(Refusal::new(RefusalCode::Denied, "r", "w")) };
        let of_success = keys(&ran(Outcome::Ok), br#"{"ok":true}"#);
        assert_eq!(of_success, keys(&denied, b""));
        assert_eq!(of_success, keys(&ran(Outcome::Timeout), b""));
    }

    #[test]
    fn a_result_is_shown_without_the_flag_that_says_it_is_one() {
        let (mut paper, out, _) = screen(false, [false, false], false);
        show(&mut paper, "x", &ran(Outcome::Ok), br#"{"ok":true,"size":3,"content":"a\nb"}"#).unwrap();
        assert_eq!(out.text(), "size     3\ncontent\n  a\n  b\n");
    }
}
