//! Rules about files that are what they are called: the six that say what Metnos is, and those that hold secrets (design:
//! policy §2, §7).

use metnos_proto::executor::secret_names::{is_path_shaped, is_secret_path};
use metnos_proto::executor::{Class, Role};
use metnos_proto::msg::common::Readers;
use serde_json::Value;

use crate::call::fields::Field;
use crate::call::paths::{self, Places};
use crate::call::spec::Effect;
use crate::evidence::context::Who;
use crate::evidence::intent::Fit;
use crate::rules::{Case, Ruling, name};

/// The files that say what Metnos is: nobody writes them on the word of something that was read.
pub const CORE_FILES: [&str; 6] = ["identity.md", "user.md", "memory.md", "agents.md", "soul.md", "telos.md"];
/// The one that only its owner's hand changes.
const SOUL: [&str; 1] = ["soul.md"];

/// A secret goes only where the owner's own hand has pointed, and to no model.
pub(crate) fn secret_sink(case: &Case<'_>) -> Option<Ruling> {
    let secret = case.fields.all.iter().find(|field| field.label.readers == Readers::Secret)?;
    let spec = case.asked.spec;
    if spec.thinks {
        let why = format!("{} is a secret, and a model would be shown it", name(secret));
        return Some(Ruling::deny("secret.sink", why));
    }
    if spec.effect == Effect::Of(Class::Read) {
        return None;
    }
    let sinks = [Role::Dest, Role::Url, Role::Entity, Role::Path, Role::Selector];
    let by_hand = case.fields.of_roles(&sinks).all(Field::is_frozen) && case.fields.of_roles(&sinks).next().is_some();
    (!by_hand).then(|| {
        let why = format!("{} is a secret, and where it would go was not typed by the owner", name(secret));
        Ruling::deny("secret.sink", why)
    })
}

/// The six files: their words are in every later prompt, so the owner's own words are what may be written there.
pub(crate) fn workspace_core(case: &Case<'_>) -> Option<Ruling> {
    if case.asked.spec.effect.reads() {
        return None;
    }
    let roles = [Role::Path, Role::Selector, Role::Dest];
    let places = &case.world.places;
    let names = |field: &Field<'_>, wanted: &[&str]| {
        field.value.and_then(Value::as_str).is_some_and(|text| is_core_file(text, wanted, places))
    };
    let mut named = case.fields.of_roles(&roles).filter(|field| names(field, &CORE_FILES)).peekable();
    let first = name(named.peek()?);
    let mut named: Vec<&Field<'_>> = named.collect();
    if named.iter().any(|field| names(field, &SOUL)) {
        let why = format!("{first} holds the Laws: they are changed by hand, at the machine, and by nothing else");
        return Some(Ruling::deny("law.constitution", why));
    }
    if !case.context.is_clean() {
        let why =
            format!("{first} is one of the files that say what Metnos is, and untrusted data was read in this turn");
        return Some(Ruling::deny("workspace.core", why));
    }
    if case.context.who == Who::Adult {
        let why = format!("{first} is one of the files that say what Metnos is: the owner decides what stands there");
        return Some(Ruling::ask("adult.core", why));
    }
    if is_typed(case) {
        return None;
    }
    named.retain(|field| {
        !(field.is_frozen() || field.value.and_then(Value::as_str).is_some_and(|it| case.context.words.name_file(it)))
    });
    let mut texts = case.fields.all.iter().filter(|field| !roles.contains(&field.role) && !is_flag(field)).peekable();
    let holds_the_text = texts.peek().is_some() && texts.all(Field::is_frozen);
    (!named.is_empty() || !holds_the_text).then(|| {
        let why = format!(
            "{first} is one of the files that say what Metnos is, and the owner's words do not hold both its name and the text"
        );
        Ruling::ask("workspace.core", why)
    })
}

/// The owner has typed this very call himself, every argument of it.
fn is_typed(case: &Case<'_>) -> bool {
    case.context.intent.is_typed()
        && matches!(case.fields.fit, Fit::Slot(_))
        && case.fields.all.iter().all(Field::is_frozen)
}

fn is_flag(field: &Field<'_>) -> bool {
    matches!(field.value, Some(Value::Bool(_)))
}

/// Whether any reading of `text` is one of the files `wanted` in the root of the workspace.
pub(crate) fn is_core_file(text: &str, wanted: &[&str], places: &Places) -> bool {
    let Some(readings) = paths::readings(text) else { return true };
    readings.iter().any(|reading| {
        let path = paths::resolve(&reading.text, places).path.to_lowercase();
        let (folder, file) = path.rsplit_once('/').unwrap_or_default();
        wanted.contains(&file) && (folder == places.workspace.to_lowercase() || folder.ends_with("/workspace"))
    })
}

/// A file of secrets is opened when the owner's own words name it; else he is asked, and nobody else is.
pub(crate) fn secret_file(case: &Case<'_>) -> Option<Ruling> {
    let by_owner = case.context.who == Who::Owner && case.context.attended;
    let told = |field: &Field<'_>| {
        let text = field.value.and_then(Value::as_str).unwrap_or_default();
        by_owner && (field.is_frozen() || case.context.words.name_file(text))
    };
    let field = secrets(case).find(|field| !told(field))?;
    let why = format!("{} names a file that holds secrets", name(field));
    Some(if by_owner {
        Ruling::ask("secret.file", format!("{why}, and the owner's words do not name it"))
    } else {
        Ruling::deny("secret.file", format!("{why}: only its owner has it opened, and only by its name"))
    })
}

/// Whether what it puts out comes from a file of secrets.
pub(crate) fn opens_secret(case: &Case<'_>) -> bool {
    let effect = case.asked.spec.effect;
    (effect.reads() || effect == Effect::Of(Class::Shell)) && secrets(case).next().is_some()
}

/// The arguments that name a file of secrets. One that is only made with such a name opens none.
fn secrets<'b, 'a>(case: &'b Case<'a>) -> impl Iterator<Item = &'b Field<'a>> {
    let makes = case.asked.spec.effect == Effect::Of(Class::SelfCreate);
    let files = &case.asked.files;
    case.fields.all.iter().filter(move |field| {
        let Some(text) = field.value.and_then(Value::as_str) else { return false };
        let may_name = match field.role {
            Role::Path => true,
            Role::Selector | Role::Query | Role::Argv => is_path_shaped(text),
            Role::Dest
            | Role::Payload
            | Role::Amount
            | Role::Time
            | Role::Secret
            | Role::Entity
            | Role::Url
            | Role::Flag => false,
        };
        let there = !makes || files.there.contains(&field.pointer);
        may_name && there && (files.secret.contains(&field.pointer) || is_secret(text, &case.world.places))
    })
}

/// Whether any reading of a path names a secret, in itself or in a folder on the way.
fn is_secret(text: &str, places: &Places) -> bool {
    let Some(readings) = paths::readings(text) else { return true };
    readings.iter().any(|reading| {
        // `--file=.env` names it too.
        let parts = reading.text.split(['=', ',']).chain([reading.text.as_str()]);
        parts.filter(|part| !part.is_empty()).any(|part| {
            let path = paths::resolve(part, places).path;
            is_secret_path(path.strip_prefix(&places.workspace).unwrap_or(&path))
        })
    })
}
