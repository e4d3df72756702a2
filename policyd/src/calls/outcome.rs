//! What may be said of a result that nobody here reads: its labels, and the digests of its parts.

use metnos_policy::call::spec::Spec;
use metnos_policy::evidence::results::{Output, Part};
use metnos_policy::rules::Judgement;
use metnos_proto::ids::Blake3;
use metnos_proto::json::{self, JsonError, Limits};
use metnos_proto::msg::common::{Leaf, Outcome, Refusal};
use metnos_proto::msg::policyd::Acted;
use metnos_proto::msg::sandboxd::RunReport;
use metnos_proto::payload::Sealed;
use serde_json::Value;

use crate::arguments::Arguments;
use crate::guard::shown;

/// The most bytes of leaves that are passed on, so that the answer fits a frame.
const MAX_LEAF_BYTES: usize = 48 * 1024;
/// What a leaf weighs beside its pointer.
const LEAF_BYTES: usize = 40;

/// The labels of a result: from the manifest, from what went in, and never from the bytes. Only a success speaks with
/// the manifest's voice: the text of an error is anybody's.
pub(crate) fn labelled(spec: &Spec, judgement: &Judgement, report: &RunReport) -> Output {
    if report.outcome != Outcome::Ok {
        return Output::failed(spec.output.readers);
    }
    // sandboxd has held the result against the schema, and what a manifest vouches for is linted to be an atom.
    let part = |leaf: &Leaf| Part {
        pointer: leaf.pointer.clone(),
        digest: leaf.digest,
        atom: !leaf.pointer.is_empty() && spec.output.vouches(&leaf.pointer),
    };
    let parts = report.leaves.iter().map(part).collect();
    Output::of(&spec.output, parts, &judgement.inputs, None, |_| None, |_| false)
}

/// The digest of exactly this part, if it is known.
pub(crate) fn known_digest(labels: &Output, pointer: &str) -> Option<Blake3> {
    labels.at(pointer).filter(|_| !pointer.is_empty()).map(|found| found.part.digest)
}

/// The leaves as they are passed on: as many as fit, and then one for the rest.
pub(crate) fn passed_on(mut leaves: Vec<Leaf>, whole: Blake3) -> Vec<Leaf> {
    let mut bytes = 0;
    let fitting = leaves.iter().take_while(|leaf| {
        bytes += leaf.pointer.len() + LEAF_BYTES;
        bytes <= MAX_LEAF_BYTES
    });
    let fitting = fitting.count();
    if fitting < leaves.len() {
        leaves.truncate(fitting);
        leaves.push(Leaf { pointer: String::new(), digest: whole });
    }
    leaves
}

/// How a turn ended that consisted of one call.
#[must_use]
pub(crate) fn end_of(acted: &Result<Acted, Refusal>) -> metnos_proto::msg::planner::TurnEnd {
    use metnos_proto::msg::planner::TurnEnd;
    match acted {
        Ok(Acted::Ran(ran)) if ran.outcome == Outcome::Ok => TurnEnd::Answered,
        Ok(Acted::Ran(_)) => TurnEnd::Unsuccessful,
        Ok(Acted::Denied(_)) => TurnEnd::Denied,
        Err(_) => TurnEnd::Broken,
    }
}

/// What a refusal tells the planner when an argument came by reference: which rule, and no value. A refusal is no
/// release; why it was refused stands in the chronicle.
pub(crate) fn without_values(refusal: Refusal, arguments: &Result<Arguments, JsonError>) -> Refusal {
    // These are about the instance, whatever the arguments are.
    const ABOUT_OTHERS: [&str; 8] =
        ["budget.", "executor.", "memory.", "policyd.", "quota.", "sandbox.", "sandboxd.", "secret."];
    let Ok(arguments) = arguments else { return refusal };
    let Some(site) = arguments.references().first() else { return refusal };
    if ABOUT_OTHERS.iter().any(|family| refusal.rule.starts_with(family)) {
        return refusal;
    }
    let why = format!(
        "{} was filled in from the result {} at {}, and so the arguments are refused by {}; the value was not released",
        shown(&site.argument),
        site.call,
        shown(&site.pointer),
        refusal.rule
    );
    Refusal { why, ..refusal }
}

/// The resolved values: a JSON array, read as strictly as arguments are.
pub(crate) fn values_of(sealed: &Sealed) -> Result<Vec<Value>, String> {
    let bytes = sealed.read().map_err(|error| error.to_string())?;
    match json::parse_strict(&bytes, Limits::ARGUMENTS) {
        Ok(Value::Array(values)) => Ok(values),
        Ok(other) => Err(format!("sandboxd resolved references to a {} instead of a list", json::kind(&other))),
        Err(why) => Err(format!("sandboxd resolved references to what is no JSON: {why}")),
    }
}
