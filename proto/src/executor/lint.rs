//! What can be said about a manifest and its schema before anybody signs them (design:
//! policy §7, linter). It finds promises that cannot be kept; it never weakens a rule, and
//! anyone who signs refuses as long as there is a finding.

use serde_json::Value;

use super::commands;
use super::pattern::{self, Part, SlotKind};
use super::{Capability, Class, HOME, Manifest, OWN, PLACE, Role, SEEN, Schema};

/// The longest text that counts as an atom, in characters (design: policy §7).
pub const MAX_ATOM: u64 = 64;

/// Something in a manifest that does not hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LintFinding {
    /// The rule, such as `lint.vouched`.
    pub rule: &'static str,
    /// What, for a person.
    pub what: String,
}

/// Everything that is wrong with a manifest, read beside its schema.
#[must_use]
pub fn lint(manifest: &Manifest, schema: &Schema) -> Vec<LintFinding> {
    let mut findings = Vec::new();
    let mut find = |rule, what| findings.push(LintFinding { rule, what });
    for pointer in &manifest.output.vouched {
        match schema.part(schema.output(), pointer) {
            None => {
                find("lint.pointer", format!("[output] V names `{pointer}`, which the output's schema does not have"))
            }
            Some(part) => {
                if let Err(why) = bounded_atom(part, manifest.is_synthesised()) {
                    find("lint.vouched", format!("[output] V vouches for `{pointer}`, but {why}"));
                }
            }
        }
    }
    for (pointer, role) in &manifest.args {
        match schema.part(schema.input(), pointer) {
            None => find("lint.pointer", format!("[args] names `{pointer}`, which the input's schema does not have")),
            Some(part) if matches!(role, Role::Path | Role::Url | Role::Dest) && !is_type(part, "string") => {
                find("lint.role", format!("[args] gives `{pointer}` the role {role}, which only a text can have"));
            }
            Some(part) if *role == Role::Path && part.get("maxLength").and_then(Value::as_u64).is_none() => {
                find("lint.role", format!("`{pointer}` is a path and needs a `maxLength`"));
            }
            Some(_) => {}
        }
    }
    for (rule, what) in class_findings(manifest) {
        find(rule, what);
    }
    for what in pattern_findings(manifest, schema) {
        find("lint.pattern", what);
    }
    if manifest.contract.home_place
        && ![PLACE, HOME].iter().all(|name| {
            schema.part(schema.input(), &crate::json::child("", name)).is_some_and(|part| is_type(part, "string"))
        })
    {
        find("lint.home", format!("`home_place` needs the arguments `{PLACE}` and `{HOME}`, both texts"));
    }
    if manifest.contract.carries
        && ![schema.input(), schema.output()]
            .iter()
            .all(|side| schema.part(side, &crate::json::child("", SEEN)).is_some_and(|part| is_type(part, "string")))
    {
        find("lint.carries", format!("`carries` needs the argument `{SEEN}` and the same in the result, both texts"));
    }
    let is_path = |pointer: &String| manifest.args.get(pointer) == Some(&Role::Path);
    if manifest.contract.keeps && manifest.contract.undo.is_none() {
        find(
            "lint.keeps",
            "`keeps` is for what can be undone: `undo` names the executor that takes it back".to_owned(),
        );
    }
    if manifest.contract.restores && (manifest.contract.offered || !manifest.contract.side_effects) {
        find(
            "lint.restores",
            "`restores` is for an inverse: it has side effects, and is not offered to planners".to_owned(),
        );
    }
    if !manifest.contract.reads.is_empty()
        && (manifest.effects.class != Class::SelfCreate || !manifest.contract.reads.iter().all(is_path))
    {
        let what = "`reads` names arguments with the role path, of an executor that makes something new (self_create)";
        find("lint.reads", what.to_owned());
    }
    if let Some(what) = manifest.contract.own_file.as_deref().and_then(|file| own_file_finding(file, manifest)) {
        find("lint.own", what);
    }
    findings
}

/// Why `own_file` cannot name a file of a private folder, or its path would reach the executor nowhere.
fn own_file_finding(file: &str, manifest: &Manifest) -> Option<String> {
    let is_plain = |name: &str| !name.is_empty() && !name.starts_with('.') && !name.contains(['\\', '~']);
    if file.len() > 64 || file.split('/').count() > 2 || !file.split('/').all(is_plain) {
        let what = "is the plain name of a file, such as `notes.md`, at most with one folder before it";
        return Some(format!("`own_file` {what}, and not {file:?}"));
    }
    let has = |name: &str| manifest.args.get(&crate::json::child("", name)) == Some(&Role::Path);
    let other = manifest.args.contains_key("/path") && !has("path");
    (other || !has(OWN))
        .then(|| format!("`own_file` needs the argument `{OWN}` with the role path, as `path` has where it is one"))
}

/// What the patterns promise to fill that the schema does not have, or has otherwise.
fn pattern_findings(manifest: &Manifest, schema: &Schema) -> Vec<String> {
    let mut findings = Vec::new();
    let own = |pointer: &str| pointer.strip_prefix('/').is_some_and(|name| manifest.contract.is_reserved(name));
    for table in &manifest.patterns {
        for key in table.args.keys() {
            let pointer = crate::json::child("", key);
            if own(&pointer) || schema.part(schema.input(), &pointer).is_none() {
                findings.push(format!("[[patterns]] gives `{key}`, which the input's schema does not have"));
            }
        }
        for line in &table.say {
            for (pointer, kind) in pattern::parse(line).iter().flat_map(|parts| slots(parts)) {
                let part = schema.part(schema.input(), &pointer).filter(|_| !own(&pointer));
                let why = match part {
                    None => Some("which the input's schema does not have"),
                    Some(part) => unfit(part, kind),
                };
                if let Some(why) = why {
                    findings.push(format!("[[patterns]] fills `{pointer}` in \"{line}\", {why}"));
                }
            }
        }
    }
    findings
}

fn slots(parts: &[Part]) -> Vec<(String, Option<SlotKind>)> {
    let inner = |part: &Part| match part {
        Part::Word(_) => Vec::new(),
        Part::Slot(pointer, kind) => vec![(pointer.clone(), *kind)],
        Part::Any(branches) | Part::Maybe(branches) => branches.iter().flat_map(|branch| slots(branch)).collect(),
    };
    parts.iter().flat_map(inner).collect()
}

/// Why a slot of this kind cannot fill an argument of this schema, if it cannot.
fn unfit(part: &Value, kind: Option<SlotKind>) -> Option<&'static str> {
    let one_of = |name: &str| {
        let listed = part.get("type").and_then(Value::as_array);
        is_type(part, name) || listed.is_some_and(|all| all.iter().any(|one| one.as_str() == Some(name)))
    };
    let is_number = one_of("integer") || one_of("number");
    let is_text = one_of("string") || part.get("enum").is_some_and(Value::is_array);
    match kind {
        None if is_number || is_text => None,
        None => Some("which is neither a text nor a number: no slot fills it without a kind"),
        Some(SlotKind::Number) => (!is_number).then_some("which is no number"),
        Some(SlotKind::Choice) => part.get("enum").is_none().then_some("of which the schema does not list the values"),
        Some(
            SlotKind::File
            | SlotKind::Folder
            | SlotKind::Place
            | SlotKind::New
            | SlotKind::Note
            | SlotKind::Name
            | SlotKind::List
            | SlotKind::Items
            | SlotKind::Text
            | SlotKind::Words
            | SlotKind::Word
            | SlotKind::Quoted
            | SlotKind::Date
            | SlotKind::Time
            | SlotKind::Duration
            | SlotKind::Url
            | SlotKind::Address
            | SlotKind::Zone
            | SlotKind::Town
            | SlotKind::Stretch
            | SlotKind::Appointment
            | SlotKind::Repeating
            | SlotKind::Event
            | SlotKind::Device
            | SlotKind::Entrance,
        ) => (!is_text).then_some("which is no text"),
    }
}

/// What the class of effects promises and the rest of the manifest does not keep.
fn class_findings(manifest: &Manifest) -> Vec<(&'static str, String)> {
    let mut findings = Vec::new();
    let class = manifest.effects.class;
    let has = |name: &str| manifest.sandbox.capabilities.iter().any(|capability| capability.name() == name);
    let told_a_path = manifest.args.values().any(|role| *role == Role::Path);
    let reads = matches!(class, Class::Read | Class::NetRead);
    for capability in &manifest.sandbox.capabilities {
        let Capability::Net(rules) = capability else { continue };
        for pointer in rules.iter().filter_map(|rule| rule.strip_prefix("argument ")) {
            if manifest.args.get(pointer) != Some(&Role::Url) {
                let what = format!("the network follows the argument `{pointer}`, which [args] must give the role url");
                findings.push(("lint.role", what));
            }
        }
    }
    // What is asked of an account goes to its server alone, which holds what the person has there already.
    if class == Class::Read && has("net") && manifest.account().is_none() {
        findings.push(("lint.class", "what has network may not be of class `read`".to_owned()));
    }
    // A planner must have no way to the server that sends, but one that is judged as sending.
    if manifest.sends_mail() && class != Class::Send && manifest.contract.offered {
        let what =
            "what reaches the server that sends mail is of class `send`, or is not offered to planners".to_owned();
        findings.push(("lint.class", what));
    }
    if reads && has("fs_write") {
        let what = if told_a_path { "what writes to a path it is told" } else { "what may write" };
        findings.push(("lint.class", format!("{what} may not be of class `{class}`")));
    }
    if reads && has("exec") && !runs_its_own(manifest) {
        let what = "what is told the words of a command, or runs whatever the owner lists, may not be of class";
        findings.push(("lint.class", format!("{what} `{class}`")));
    }
    if reads && manifest.contract.side_effects {
        findings.push(("lint.class", format!("an executor with side effects may not be of class `{class}`")));
    }
    // A program on what it can only read, without a net, changes nothing: what it prints is its result.
    let only_prints = class == Class::Shell && !has("fs_write") && !has("net");
    if !reads && !only_prints && !manifest.contract.side_effects {
        findings.push((
            "lint.class",
            format!("an executor of class `{class}` has side effects; contract.side_effects denies it"),
        ));
    }
    if only_prints && manifest.contract.side_effects {
        let what =
            "what runs programs on what it can only read has no side effects; contract.side_effects says that it has";
        findings.push(("lint.class", what.to_owned()));
    }
    let quotas = &manifest.sandbox.quotas;
    if !has("fs_write") && (quotas.writes_per_day > 0 || quotas.bytes_per_day > 0) {
        findings.push(("lint.quota", "a daily allowance to write needs the capability fs_write".to_owned()));
    }
    if manifest.contract.undo.is_some() && !manifest.effects.reversible {
        findings.push(("lint.undo", "contract.undo names how it is undone; effects.reversible denies it".to_owned()));
    }
    if manifest.mind.is_some() {
        if class != Class::Read || !manifest.sandbox.capabilities.is_empty() {
            let what = "what is given a model's words may be granted nothing else, and is of class `read`".to_owned();
            findings.push(("lint.mind", what));
        }
        if !manifest.output.vouched.is_empty() {
            findings.push(("lint.mind", "[output] V vouches for what a model has said".to_owned()));
        }
    }
    let secrets = manifest.sandbox.capabilities.iter().any(|capability| matches!(capability, Capability::Secret(_)));
    if secrets && class == Class::Read {
        findings.push(("lint.class", "what receives a secret may not be of class `read`".to_owned()));
    }
    findings
}

/// Whether the manifest names each program that its code runs, and nobody tells it a word of a command: what runs is then a part
/// of it, as its code is, and on what it can only read it changes nothing.
fn runs_its_own(manifest: &Manifest) -> bool {
    let named = !commands::declared(manifest).iter().any(|entry| entry == commands::ALL_LISTED);
    named && !manifest.args.values().any(|role| *role == Role::Argv)
}

fn is_type(schema: &Value, name: &str) -> bool {
    schema.get("type").and_then(Value::as_str) == Some(name)
}

/// Whether a schema admits nothing but bounded atoms: numbers, booleans, enumerations, dates,
/// tokens of at most [`MAX_ATOM`] characters without spaces.
fn bounded_atom(schema: &Value, synthesised: bool) -> Result<(), String> {
    if let Some(Value::Array(items)) = schema.get("enum") {
        let small = |item: &Value| match item {
            Value::String(text) => text.chars().count() as u64 <= MAX_ATOM && !text.chars().any(char::is_whitespace),
            Value::Null | Value::Bool(_) | Value::Number(_) => true,
            Value::Array(_) | Value::Object(_) => false,
        };
        return items
            .iter()
            .all(small)
            .then_some(())
            .ok_or_else(|| "its enumeration has an entry that is no atom".to_owned());
    }
    if is_type(schema, "boolean") || is_type(schema, "integer") || is_type(schema, "number") {
        return Ok(());
    }
    if !is_type(schema, "string") {
        return Err("it is neither a number, a boolean, an enumeration nor a bounded text".to_owned());
    }
    if synthesised {
        return Err("a synthesised executor may not vouch for text".to_owned());
    }
    let text = |key: &str| schema.get(key).and_then(Value::as_str);
    if matches!(text("format"), Some("date" | "date-time")) && text("pattern").is_some_and(is_token_pattern) {
        return Ok(());
    }
    match schema.get("maxLength").and_then(Value::as_u64) {
        Some(length) if length <= MAX_ATOM => {}
        Some(_) | None => return Err(format!("its text has no `maxLength` of at most {MAX_ATOM}")),
    }
    if text("pattern").is_some_and(is_token_pattern) {
        return Ok(());
    }
    Err("its `pattern` does not say that it is one token: anchored, made of named characters only, without spaces"
        .to_owned())
}

/// Whether a pattern admits only texts of plainly named characters: anchored at both ends, made
/// of classes and literals of `[A-Za-z0-9:._+-]` and of counts; nothing that could admit a space.
fn is_token_pattern(pattern: &str) -> bool {
    let Some(inner) = pattern.strip_prefix('^').and_then(|rest| rest.strip_suffix('$')) else {
        return false;
    };
    let mut in_class = false;
    for character in inner.chars() {
        match character {
            '[' if !in_class => in_class = true,
            ']' if in_class => in_class = false,
            // A dot outside a class admits anything.
            '.' if !in_class => return false,
            'A'..='Z' | 'a'..='z' | '0'..='9' | ':' | '.' | '_' | '+' | '-' => {}
            '{' | '}' | ',' | '?' | '*' if !in_class => {}
            _ => return false,
        }
    }
    !in_class && !inner.is_empty()
}
