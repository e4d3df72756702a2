//! What an executor has said, judged: parsed strictly, held against its schema and its declared
//! errors, and handed on only in its canonical form. Whatever happened, exactly one document
//! comes of it, so that a reader never has to guess.

use metnos_proto::ids::Blake3;
use metnos_proto::json::{self, Limits};
use metnos_proto::msg::common::{Leaf, Outcome, Resources};
use metnos_proto::msg::sandboxd::MAX_LEAVES;
use metnos_proto::payload::MAX_PAYLOAD;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::pool::Finished;
use crate::verify::ExecutorFiles;

/// The most characters of an error's message.
pub const MAX_MESSAGE: usize = 1000;
/// The most bytes of leaves in a report, so that it fits a frame.
pub const MAX_LEAF_BYTES: usize = 36 << 10;

/// A result as it is handed on.
#[derive(Debug, Clone, PartialEq)]
pub struct Judged {
    /// How the call ended.
    pub outcome: Outcome,
    /// The class of the error; empty when it succeeded.
    pub error_class: String,
    /// The document.
    pub value: Value,
    /// Its canonical bytes.
    pub bytes: Vec<u8>,
    /// Their digest.
    pub digest: Blake3,
    /// What was used; the size is that of the document.
    pub resources: Resources,
}

/// What a call that has no result of its own answers with.
#[derive(Serialize)]
struct Failure<'a> {
    ok: bool,
    error: FailureError<'a>,
}

#[derive(Serialize)]
struct FailureError<'a> {
    class: &'a str,
    message: String,
}

impl Judged {
    fn new(outcome: Outcome, error_class: String, value: Value, mut resources: Resources) -> Self {
        let bytes = json::canonical(&value);
        let digest = Blake3::of(&bytes);
        resources.output_bytes = bytes.len() as u64;
        Self { outcome, error_class, value, bytes, digest, resources }
    }

    /// The document of a call that has no result of its own.
    #[must_use]
    pub fn without_result(outcome: Outcome, detail: &str, resources: Resources) -> Self {
        let class = class_of(outcome);
        let message = match (meaning(outcome), detail.trim()) {
            (meaning, "") => meaning.to_owned(),
            (meaning, detail) => format!("{meaning}: {detail}"),
        };
        let failure = Failure { ok: false, error: FailureError { class, message: shortened(&message) } };
        let value = serde_json::to_value(failure).unwrap_or_default();
        Self::new(outcome, class.to_owned(), value, resources)
    }

    /// Its leaves, as many as a report has room for; after that the rest is one leaf, "".
    #[must_use]
    pub fn leaves(&self) -> Vec<Leaf> {
        let mut leaves = json::leaves(&self.value, MAX_LEAVES);
        let mut bytes = 0;
        let fitting = leaves.iter().take_while(|leaf| {
            bytes += leaf.pointer.len() + size_of::<Blake3>() + size_of::<u16>();
            bytes <= MAX_LEAF_BYTES
        });
        let fitting = fitting.count();
        if fitting < leaves.len() {
            leaves.truncate(fitting);
            leaves.push(Leaf { pointer: String::new(), digest: self.digest });
        }
        leaves
    }
}

/// Judges how a call of `executor` ended.
#[must_use]
pub fn judge(executor: &ExecutorFiles, finished: Finished) -> Judged {
    let Finished { outcome, result, detail, log: _, alarms: _, resources } = finished;
    match (outcome, result) {
        (Outcome::Ok, Some(bytes)) => judge_result(executor, &bytes, resources),
        (Outcome::Ok, None) => Judged::without_result(Outcome::Crashed, "it ended without a result", resources),
        (outcome, _) => Judged::without_result(outcome, &detail, resources),
    }
}

fn judge_result(executor: &ExecutorFiles, bytes: &[u8], resources: Resources) -> Judged {
    let bad = |why: &str, resources| Judged::without_result(Outcome::BadOutput, why, resources);
    let most = executor.manifest.sandbox.quotas.output_bytes().min(MAX_PAYLOAD);
    let object = match json::parse_object(bytes, Limits::result(most)) {
        Ok(object) => object,
        Err(json::JsonError::TooLong { bytes, max }) => {
            let why = format!("{bytes} bytes, {max} are granted");
            return Judged::without_result(Outcome::OutputTooLarge, &why, resources);
        }
        Err(error) => return bad(&error.to_string(), resources),
    };
    let judged = match object.get("ok") {
        Some(Value::Bool(true)) => {
            let value = Value::Object(object);
            if let Some(fault) = executor.contract.output_fault(&value) {
                return bad(&fault, resources);
            }
            Judged::new(Outcome::Ok, String::new(), value, resources)
        }
        Some(Value::Bool(false)) => match declared_error(&object, &executor.manifest.contract.error_classes) {
            Ok(class) => Judged::new(Outcome::Error, class, Value::Object(object), resources),
            Err(why) => return bad(&why, resources),
        },
        Some(_) | None => return bad("`ok` must be true or false", resources),
    };
    // Numbers can be longer in their canonical form.
    if judged.bytes.len() > most {
        let why = format!("{} bytes in canonical form, {most} are granted", judged.bytes.len());
        return Judged::without_result(Outcome::OutputTooLarge, &why, judged.resources);
    }
    judged
}

/// The class of an error that has exactly the shape of one.
fn declared_error(object: &Map<String, Value>, classes: &[String]) -> Result<String, String> {
    let shape = "an error must be {\"ok\": false, \"error\": {\"class\", \"message\"}} and nothing else";
    let error = object.get("error").and_then(Value::as_object).filter(|error| object.len() == 2 && error.len() == 2);
    let error = error.ok_or(shape)?;
    let text = |name: &str| error.get(name).and_then(Value::as_str).ok_or(shape);
    let (class, message) = (text("class")?, text("message")?);
    if message.chars().count() > MAX_MESSAGE {
        return Err(format!("the message of an error has at most {MAX_MESSAGE} characters"));
    }
    if !classes.iter().any(|known| known == class) {
        let class: String = class.escape_debug().take(64).collect();
        return Err(format!("it reports an error of the class `{class}`, which its manifest does not declare"));
    }
    Ok(class.to_owned())
}

/// The class of an error that is not the executor's own.
#[must_use]
pub const fn class_of(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Ok => "Ok",
        Outcome::Error => "Error",
        Outcome::Crashed => "Crashed",
        Outcome::BadOutput => "BadOutput",
        Outcome::CpuExceeded => "CpuExceeded",
        Outcome::MemoryExceeded => "MemoryExceeded",
        Outcome::Timeout => "Timeout",
        Outcome::OutputTooLarge => "OutputTooLarge",
        Outcome::ProcessesExceeded => "ProcessesExceeded",
        Outcome::Killed => "Killed",
        Outcome::Interrupted => "Interrupted",
        Outcome::SandboxFailed => "SandboxFailed",
        Outcome::DiskExceeded => "DiskExceeded",
        Outcome::DiskFull => "DiskFull",
        Outcome::Failed => "Failed",
    }
}

const fn meaning(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Ok => "it succeeded",
        Outcome::Error => "it reported an error",
        Outcome::Crashed => "the executor ended without a result",
        Outcome::BadOutput => "what the executor returned does not fit its contract",
        Outcome::CpuExceeded => "the executor used more processor time than granted",
        Outcome::MemoryExceeded => "the executor used more memory than granted",
        Outcome::Timeout => "the executor took more time than granted",
        Outcome::OutputTooLarge => "the executor returned more than granted",
        Outcome::ProcessesExceeded => "the executor started more processes than granted",
        Outcome::Killed => "the executor was stopped",
        Outcome::Interrupted => "sandboxd stopped in the middle",
        Outcome::SandboxFailed => "the sandbox could not be built, so the executor did not run",
        Outcome::DiskExceeded => "the executor wrote more to the disk than granted",
        Outcome::DiskFull => "the disk is nearly full, so the executor was stopped",
        Outcome::Failed => "the machine refused the executor something that it needed",
    }
}

fn shortened(text: &str) -> String {
    text.chars().take(MAX_MESSAGE).collect()
}

#[cfg(test)]
#[path = "output_tests.rs"]
mod tests;
