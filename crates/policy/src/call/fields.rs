//! The arguments of a call one by one: where each value came from, and who endorses it.
//! Whatever nobody endorses has the label of the context (design: policy §7, endorsement).

use std::collections::{BTreeMap, BTreeSet, HashMap};

use metnos_proto::executor::Role;
use metnos_proto::ids::Blake3;
use metnos_proto::json;
use metnos_proto::msg::common::{Integrity, Label, Readers};
use serde_json::Value;

use crate::call::spec::Spec;
use crate::evidence::context::{Context, World};
use crate::evidence::intent::Fit;
use crate::evidence::results::{Inputs, Output, within};

/// The planner's word that an argument was taken from a result. It counts only as far as the digests
/// bear it out.
#[derive(Debug, Clone)]
pub struct Claim<'a> {
    /// The argument.
    pub pointer: String,
    /// The result.
    pub output: &'a Output,
    /// Where in it.
    pub leaf: String,
}

/// What is known of the files that a call names, on the word of anyone who has looked at them, by pointer of the argument.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Files {
    /// Something is there already, or nobody can say that nothing is.
    pub there: BTreeSet<String>,
    /// What is there begins like a file that holds a secret.
    pub secret: BTreeSet<String>,
}

/// A call as it is asked for.
#[derive(Debug, Clone)]
pub struct CallRequest<'a> {
    /// The executor.
    pub spec: &'a Spec,
    /// Its arguments; critical references are replaced by their values.
    pub args: &'a Value,
    /// Arguments that nobody here looks at, by pointer, with the label of what they refer to.
    pub opaque: &'a BTreeMap<String, Label>,
    /// Where arguments are said to come from.
    pub claims: Vec<Claim<'a>>,
    /// What is known of the files that it names.
    pub files: Files,
}

impl CallRequest<'_> {
    /// What is claimed of the argument at `pointer`, or of something it lies in: the output, and where in it.
    fn claimed<'b>(&'b self, pointer: &'b str) -> impl Iterator<Item = (&'b Output, &'b str, String)> {
        self.claims.iter().filter(|claim| within(pointer, &claim.pointer)).map(|claim| {
            let rest = pointer.get(claim.pointer.len()..).unwrap_or_default();
            (claim.output, claim.leaf.as_str(), format!("{}{rest}", claim.leaf))
        })
    }
}

/// Who stands behind a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// Frozen at this very argument, in words that the owner typed.
    Intent,
    /// Typed by the owner, and nothing untrusted was read since.
    Prompt,
    /// Fixed in the intent, but not found in the words.
    Slot,
    /// The owner's own id.
    Owner,
    /// Designated by the answer to a literal query.
    Designated,
    /// A file that the owner has called by its name without the ending, and nothing untrusted was read since.
    Called,
    /// A person the owner has paired or written to.
    Contact,
    /// A part of a result, digest compared.
    Result,
    /// Nobody: composed in the context.
    Ctx,
}

impl Source {
    /// The name used in a verdict.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Intent => "intent",
            Self::Prompt => "prompt",
            Self::Slot => "slot",
            Self::Owner => "owner",
            Self::Designated => "designated",
            Self::Called => "called",
            Self::Contact => "contact",
            Self::Result => "result",
            Self::Ctx => "ctx",
        }
    }
}

/// One argument.
#[derive(Debug, Clone)]
pub struct Field<'a> {
    /// Its pointer.
    pub pointer: String,
    /// What it is to the call.
    pub role: Role,
    /// Its value; none when it is opaque.
    pub value: Option<&'a Value>,
    /// Where it came from.
    pub label: Label,
    /// Who stands behind it.
    pub source: Source,
}

impl Field<'_> {
    /// The owner's own words, frozen at this place or typed in a clean context.
    #[must_use]
    pub const fn is_frozen(&self) -> bool {
        matches!(self.source, Source::Intent | Source::Prompt)
    }

    /// Endorsed in any of the ways that a destination or a selector can be; a contact is not among
    /// them, because it depends on what is sent.
    #[must_use]
    pub const fn is_endorsed(&self) -> bool {
        matches!(self.source, Source::Intent | Source::Prompt | Source::Owner | Source::Designated)
    }

    /// Fixed before anything untrusted was read: nothing that was read has had a say in it.
    #[must_use]
    pub const fn is_literal(&self) -> bool {
        matches!(self.source, Source::Intent | Source::Prompt | Source::Slot | Source::Owner)
    }

    /// It comes from what nobody vouches for, whatever the turn has read.
    #[must_use]
    pub fn is_untrusted(&self) -> bool {
        self.label.integrity == Integrity::Untrusted
    }

    /// What is used up when this endorsement is: the owner's words are bounded by their slot instead.
    #[must_use]
    pub fn key(&self, executor: &str) -> Option<Blake3> {
        match self.source {
            Source::Designated | Source::Contact => Some(key(executor, &self.pointer, self.value)),
            Source::Intent
            | Source::Prompt
            | Source::Slot
            | Source::Owner
            | Source::Called
            | Source::Result
            | Source::Ctx => None,
        }
    }
}

fn key(executor: &str, pointer: &str, value: Option<&Value>) -> Blake3 {
    json::digest(&serde_json::json!([executor, pointer, value]))
}

/// The arguments of a call, and how they meet the intent.
#[derive(Debug)]
pub struct Fields<'a> {
    /// All scalar leaves that are not null, and what is opaque.
    pub all: Vec<Field<'a>>,
    /// How the call meets the slots.
    pub fit: Fit,
}

impl<'a> Fields<'a> {
    /// Looks at every argument of `asked`.
    #[must_use]
    pub fn of(world: &World, context: &Context, asked: &CallRequest<'a>) -> Self {
        let mut leaves = Vec::new();
        collect(asked.args, String::new(), asked.opaque, &mut leaves);
        let fit = context.intent.fit(&asked.spec.name, &leaves);
        let all = leaves
            .into_iter()
            .map(|(pointer, value)| {
                let role = asked.spec.role(&pointer);
                let (source, label) = match value {
                    Some(value) => source(world, context, asked, fit, &pointer, role, value),
                    None => (Source::Result, asked.opaque.get(&pointer).copied().unwrap_or(context.label)),
                };
                Field { pointer, role, value, label, source }
            })
            .collect();
        Self { all, fit }
    }

    /// The arguments of these roles.
    pub fn of_roles<'b>(&'b self, roles: &'b [Role]) -> impl Iterator<Item = &'b Field<'a>> {
        self.all.iter().filter(|field| roles.contains(&field.role))
    }

    /// What the output of this call inherits.
    #[must_use]
    pub fn inputs(&self, context: &Context) -> Inputs {
        let is_switch = |field: &Field<'_>| matches!(field.value, Some(Value::Bool(_)));
        let digest = |field: &Field<'_>| field.value.map(|value| (json::digest(value), field.label.integrity));
        Inputs {
            join: self.all.iter().map(|field| field.label).reduce(Label::join).unwrap_or(Label::CLEAN),
            context: context.label,
            leaves: self.all.iter().filter_map(digest).collect::<HashMap<_, _>>(),
            secret: false,
            literal: self.all.iter().all(|field| field.is_frozen() || is_switch(field)),
            given: self.all.iter().any(|field| field.is_frozen() && !is_switch(field)),
        }
    }
}

/// Every scalar leaf that is not null, with its pointer; what is opaque as one leaf without a value.
fn collect<'a>(
    value: &'a Value,
    pointer: String,
    opaque: &BTreeMap<String, Label>,
    leaves: &mut Vec<(String, Option<&'a Value>)>,
) {
    if opaque.contains_key(&pointer) {
        leaves.push((pointer, None));
        return;
    }
    match value {
        Value::Null => {}
        Value::Bool(_) | Value::Number(_) | Value::String(_) => leaves.push((pointer, Some(value))),
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                collect(item, json::child(&pointer, &index.to_string()), opaque, leaves);
            }
        }
        Value::Object(map) => {
            for (name, item) in map {
                collect(item, json::child(&pointer, name), opaque, leaves);
            }
        }
    }
}

/// Who stands behind one value, and the label that follows.
fn source(
    world: &World,
    context: &Context,
    asked: &CallRequest<'_>,
    fit: Fit,
    pointer: &str,
    role: Role,
    value: &Value,
) -> (Source, Label) {
    // Whatever stands behind a value: what was handed on by reference stays as secret as it is.
    let secret = asked.claimed(pointer).any(|(output, leaf, _)| output.below(leaf).readers == Readers::Secret);
    let readers = if secret { Readers::Secret } else { Readers::Public };
    let trusted = Label { integrity: Integrity::Trusted, readers };
    if let Fit::Slot(at) = fit
        && context.intent.freezes(at, pointer)
    {
        return (Source::Intent, trusted);
    }
    if context.is_clean() && context.words.contain(value, role) {
        return (Source::Prompt, trusted);
    }
    if value.as_str().is_some_and(|text| world.is_owner(text)) {
        return (Source::Owner, trusted);
    }
    let called = || value.as_str().is_some_and(|path| context.calls_file(path));
    if context.is_clean() && role == Role::Path && asked.claimed(pointer).next().is_none() && called() {
        return (Source::Called, context.label);
    }
    if let Fit::Slot(at) = fit
        && context.intent.fixes(at, pointer)
    {
        return (Source::Slot, trusted);
    }
    let digest = json::digest(value);
    let unused = !context.used.contains(&key(&asked.spec.name, pointer, Some(value)));
    let mut found: Option<Label> = None;
    for (output, whole, leaf) in asked.claimed(pointer) {
        let label = match output.at(&leaf).filter(|part| part.part.digest == digest) {
            Some(_) if unused && output.designates(&leaf, &context.words) => {
                return (Source::Designated, output.at(&leaf).map_or(context.label, |part| part.label));
            }
            Some(part) => part.label,
            // It is not the part that it is said to be: then it may be anything that lies there.
            None => context.label.join(output.below(whole)),
        };
        found = Some(found.map_or(label, |found| found.join(label)));
    }
    if unused && value.as_str().is_some_and(|text| world.is_contact(text)) {
        return (Source::Contact, found.map_or(context.label, |found| context.label.join(found)));
    }
    if let Some(label) = found {
        return (Source::Result, label);
    }
    (Source::Ctx, context.label)
}
