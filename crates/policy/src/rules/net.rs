//! Requests that leave the machine: whatever is in them goes out. A clean context endorses nothing here, because the planner
//! may be the attacker's in a clean turn as well, and its prompt holds private things (design: policy §7, `net_read`).

use metnos_proto::executor::Role;
use metnos_proto::msg::common::{Integrity, Readers};
use serde_json::Value;

use crate::call::fields::{Field, Source};
use crate::rules::{Case, Ruling, name};
use crate::text::addresses;

/// Allows what the person has typed himself or the owner has listed, and asks about everything else.
pub(crate) fn net_read(case: &Case<'_>) -> Ruling {
    match case.fields.all.iter().find(|field| !may_leave(case, field)) {
        None => {
            Ruling::allow("net_read.literal", "all that it sends was typed by who asks, or its host is on the list")
        }
        Some(field) => {
            let why = match field.source {
                Source::Result | Source::Designated => "was taken from a result",
                Source::Intent
                | Source::Prompt
                | Source::Slot
                | Source::Owner
                | Source::Called
                | Source::Contact
                | Source::Ctx => "was composed and not typed",
            };
            Ruling::ask("net_read.url", format!("{} {why}, and a request carries out whatever is in it", name(field)))
        }
    }
}

/// Whether sending this value says nothing that was not typed.
fn may_leave(case: &Case<'_>, field: &Field<'_>) -> bool {
    // What nobody here has seen may be anything.
    let Some(value) = field.value else { return false };
    let words = case.context.own_words();
    if field.is_frozen() || words.contain(value, field.role) {
        return true;
    }
    match value {
        Value::Bool(_) => field.source != Source::Result,
        Value::String(text) if field.role == Role::Url => words.spell(text) || is_listed(case, field, text),
        Value::String(_) | Value::Number(_) | Value::Null | Value::Array(_) | Value::Object(_) => false,
    }
}

/// Whether an address has exactly a host on the owner's list, and a path that was typed or is vouched for.
fn is_listed(case: &Case<'_>, field: &Field<'_>, url: &str) -> bool {
    let Some((origin, rest)) = addresses::origin(url) else { return false };
    let vouched = matches!(field.source, Source::Result | Source::Designated)
        && field.label.integrity != Integrity::Untrusted
        && field.label.readers == Readers::Public;
    case.world.hosts.contains(&origin) && (vouched || case.context.own_words().spell_path(&rest))
}
