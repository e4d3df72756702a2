//! The unit of action as data: an executor's manifest, its quotas and what its signature covers (design: executor §2). Nothing here
//! reads a file, runs anything or decides whether a call may happen; an unknown field, name or role is an error, never a default.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::ids::Blake3;
use crate::json;
use crate::msg::accounts::AccountKind;
use crate::msg::common::{ExecutorDigests, ExecutorId, Integrity};

pub mod answer;
pub mod beside;
pub mod capability;
pub mod commands;
pub mod example;
pub mod forbidden;
pub mod grant;
pub mod guests;
pub mod lint;
pub mod names;
pub mod outside;
pub mod pattern;
pub mod schema;
pub mod secret_names;

#[cfg(test)]
mod tests;

pub use beside::{FileTransfer, MessageArguments, Thinking};
pub use capability::Capability;
pub use example::Example;
pub use forbidden::{Forbidden, Places};
pub use grant::{NetGrant, PathGrant, Quotas, SYNTH, is_address_literal, is_host_name, is_mail_address};
pub use lint::{LintFinding, lint};
pub use names::{Class, Role};
pub use pattern::PatternTable;
pub use schema::{Schema, SchemaError};

/// The longest manifest accepted, in bytes.
pub const MAX_MANIFEST_BYTES: usize = 64 << 10;
/// The longest code accepted, in bytes.
pub const MAX_CODE_BYTES: usize = 256 << 10;
/// The longest schema accepted, in bytes.
pub const MAX_SCHEMA_BYTES: usize = 64 << 10;
/// The longest birth tests accepted, in bytes.
pub const MAX_BIRTH_BYTES: usize = 64 << 10;
/// The longest name of an executor, in characters.
pub const MAX_NAME: usize = 48;
/// The longest summary, in characters.
pub const MAX_SUMMARY: usize = 200;
/// The most error classes, and the longest name of one.
pub const MAX_ERROR_CLASSES: usize = 16;
/// The most capabilities, and the most entries of each.
pub const MAX_CAPABILITIES: usize = 16;
/// The most pointers in `[args]` and in `[output]`.
pub const MAX_POINTERS: usize = 64;

/// Why a text is not a manifest.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ManifestError {
    /// It is longer than [`MAX_MANIFEST_BYTES`].
    #[error("the manifest has {bytes} bytes; at most {MAX_MANIFEST_BYTES} are accepted")]
    TooLong {
        /// Its length.
        bytes: usize,
    },
    /// It is not UTF-8.
    #[error("the manifest is not UTF-8")]
    NotUtf8,
    /// It is not TOML of the expected shape.
    #[error("the manifest does not parse: {what}")]
    Syntax {
        /// What the parser says.
        what: String,
    },
    /// A field holds what it may not.
    #[error("`{field}` is {found}; expected {expected}")]
    Field {
        /// Which, as a dotted path.
        field: String,
        /// What stands there, shortened.
        found: String,
        /// What may stand there.
        expected: String,
    },
}

impl ManifestError {
    pub(crate) fn field(field: impl Into<String>, found: impl fmt::Display, expected: impl Into<String>) -> Self {
        let found: String = found.to_string().chars().take(80).collect();
        Self::Field { field: field.into(), found: format!("`{found}`"), expected: expected.into() }
    }
}

/// `manifest.toml`: identity and contract of an executor (design: executor §2).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    /// Who it is.
    pub executor: Identity,
    /// What it promises.
    pub contract: Contract,
    /// What it may touch and use.
    pub sandbox: Sandbox,
    /// What it does to the world. Missing means the worst.
    #[serde(default)]
    pub effects: Effects,
    /// The role of each argument by JSON pointer; `*` stands for any one token. Missing means payload.
    #[serde(default)]
    pub args: BTreeMap<String, Role>,
    /// The integrity of each part of the output.
    #[serde(default)]
    pub output: Output,
    /// What a model thinks about its arguments before it runs. Missing means that none does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mind: Option<Thinking>,
    /// A file that comes with a call, or out of one, beside the arguments and the result. Missing means none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<FileTransfer>,
    /// What a call of it has a person told. Missing means that it tells nobody anything.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<MessageArguments>,
    /// How its results are shown to people. Missing means by the schema.
    #[serde(default, skip_serializing_if = "answer::Answer::is_empty")]
    pub answer: answer::Answer,
    /// The forms of the requests it serves. Missing means that no words alone become a call of it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub patterns: Vec<PatternTable>,
    /// How it is recorded.
    pub audit: Audit,
}

/// `[executor]`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Identity {
    /// Immutable for life: `[a-z][a-z0-9_]*`.
    pub name: String,
    /// Three numbers; any change of code or contract raises the first.
    pub version: String,
    /// When it was made, with its offset from UTC.
    pub created_at: toml::value::Datetime,
    /// `seed`, or `synt:<run id>`.
    pub created_by: String,
    /// What it does, in a line.
    pub summary: String,
    /// Requests it serves, in English and Italian.
    pub examples: Vec<Example>,
}

/// `[contract]`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Contract {
    /// Always [`INPUT_SCHEMA`].
    pub input_schema: String,
    /// Always [`OUTPUT_SCHEMA`].
    pub output_schema: String,
    /// The errors it may report.
    pub error_classes: Vec<String>,
    /// Whether a second identical call changes nothing more.
    pub idempotent: bool,
    /// Whether a call changes anything at all.
    pub side_effects: bool,
    /// The executor that reverses its effect.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub undo: Option<String>,
    /// Whether planners are offered it, and may call it; else Metnos itself calls it, or the owner by its name. Missing means yes.
    #[serde(default = "yes", skip_serializing_if = "is_yes")]
    pub offered: bool,
    /// The file of a person's private folder that a call without a path is about: policyd sets [`OWN`] to its path.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub own_file: Option<String>,
    /// Whether a call without a `place` is about the place of the household: policyd sets [`HOME`] to it.
    #[serde(default, skip_serializing_if = "is_no")]
    pub home_place: bool,
    /// Whether a scheduled call continues where the previous one stopped: policyd stores the text at [`SEEN`] of its result, and sets
    /// [`SEEN`] of the next call of the same schedule to it.
    #[serde(default, skip_serializing_if = "is_no")]
    pub carries: bool,
    /// Pointers of paths that are only read by an executor that makes something new of them: that something is there does not
    /// mean that it is replaced.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reads: Vec<String>,
    /// Whether it keeps what it is about to change with memoryd, so that its inverse can put it back: what it changes stands
    /// where it has no room of its own.
    #[serde(default, skip_serializing_if = "is_no")]
    pub keeps: bool,
    /// Whether it is such an inverse, and is given what the call had kept that it takes back.
    #[serde(default, skip_serializing_if = "is_no")]
    pub restores: bool,
}

impl Contract {
    /// Whether an argument is one that policyd alone sets, and nobody else is told of.
    #[must_use]
    pub fn is_reserved(&self, argument: &str) -> bool {
        self.undo.is_some() && argument == KEEP
            || self.own_file.is_some() && argument == OWN
            || self.home_place && argument == HOME
            || self.carries && argument == SEEN
    }
}

/// The argument for the place of the household, of [`Contract::home_place`].
pub const HOME: &str = "home";
/// The argument that names another place than [`HOME`].
pub const PLACE: &str = "place";

/// The argument for the path of [`Contract::own_file`] in the private folder of the person.
pub const OWN: &str = "own";
/// The argument that, when true, says that a call without a path is about the file of the household.
pub const EVERYBODY: &str = "everybody";

/// The argument, and the part of a result, of [`Contract::carries`].
pub const SEEN: &str = "seen";

/// The argument for policyd's own copy of what an executor replaces, where it says how it is undone: nobody else sets it.
pub const KEEP: &str = "keep";

const fn yes() -> bool {
    true
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "as serde calls it")]
const fn is_yes(yes: &bool) -> bool {
    *yes
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "as serde calls it")]
const fn is_no(yes: &bool) -> bool {
    !*yes
}

/// Where the schema of the arguments stands.
pub const INPUT_SCHEMA: &str = "schema.json#/definitions/Input";
/// Where the schema of the result stands.
pub const OUTPUT_SCHEMA: &str = "schema.json#/definitions/Output";

/// `[sandbox]`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sandbox {
    /// Which profile (design: sandbox §5).
    pub profile: String,
    /// The profile lock the author saw, `blake3:…`. It belongs to one installation; where it stands, it must be the one in force.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hash: Option<String>,
    /// What is granted. What is not named here does not exist for it.
    #[serde(default)]
    pub capabilities: Vec<Capability>,
    /// Limits of one call, and of a day.
    #[serde(default)]
    pub quotas: Quotas,
}

/// `[effects]` (design: policy §7).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Effects {
    /// What kind of effect it has. Missing means [`Class::Send`].
    #[serde(default)]
    pub class: Class,
    /// Whether it can be undone. Missing means that it cannot.
    #[serde(default)]
    pub reversible: bool,
    /// Whether a second identical call changes nothing more; where it stands, it agrees with the contract.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idempotent: Option<bool>,
}

impl Default for Effects {
    fn default() -> Self {
        Self { class: Class::Send, reversible: false, idempotent: None }
    }
}

/// `[output]`: integrity by JSON pointer (design: policy §7).
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Output {
    /// What holds for every part that is not named: `X`, always.
    #[serde(default)]
    pub default: OutputDefault,
    /// Parts that are vouched for: bounded atoms only.
    #[serde(default, rename = "V")]
    pub vouched: Vec<String>,
}

/// The integrity of what an output does not name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum OutputDefault {
    /// Untrusted.
    #[default]
    X,
}

impl Output {
    /// The integrity of the part at `pointer`.
    #[must_use]
    pub fn integrity(&self, pointer: &str) -> Integrity {
        if self.vouched.iter().any(|pattern| json::pointer_fits(pattern, pointer)) {
            Integrity::Vouched
        } else {
            Integrity::Untrusted
        }
    }
}

/// `[audit]`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Audit {
    /// `executor.<name>`.
    pub trace_topic: String,
}

impl Manifest {
    /// Reads and validates a manifest.
    ///
    /// # Errors
    /// A [`ManifestError`] that names the first field that does not hold.
    pub fn parse(bytes: &[u8]) -> Result<Self, ManifestError> {
        if bytes.len() > MAX_MANIFEST_BYTES {
            return Err(ManifestError::TooLong { bytes: bytes.len() });
        }
        let text = std::str::from_utf8(bytes).map_err(|_| ManifestError::NotUtf8)?;
        let manifest: Self = toml::from_str(text)
            .map_err(|error| ManifestError::Syntax { what: error.to_string().trim().to_owned() })?;
        manifest.validate()?;
        Ok(manifest)
    }

    /// Name and version.
    #[must_use]
    pub fn id(&self) -> ExecutorId {
        ExecutorId { name: self.executor.name.clone(), version: self.executor.version.clone() }
    }

    /// The role of the argument at `pointer`: the first pattern that fits, else payload.
    #[must_use]
    pub fn role(&self, pointer: &str) -> Role {
        if let Some(role) = self.args.get(pointer) {
            return *role;
        }
        let fitting = self.args.iter().find(|(pattern, _)| json::pointer_fits(pattern, pointer));
        fitting.map_or(Role::Payload, |(_, role)| *role)
    }

    /// Whether it was made by syntd and not by hand.
    #[must_use]
    pub fn is_synthesised(&self) -> bool {
        self.executor.created_by != "seed"
    }

    /// The account of the person whose turn it is that a call is given.
    #[must_use]
    pub fn account(&self) -> Option<AccountKind> {
        self.net_grants().find_map(|grant| grant.account())
    }

    /// Whether a call reaches the server that takes mail to be sent from that account.
    #[must_use]
    pub fn sends_mail(&self) -> bool {
        self.net_grants().any(|grant| grant == NetGrant::Sending)
    }

    fn net_grants(&self) -> impl Iterator<Item = NetGrant> {
        let entries = self.sandbox.capabilities.iter().flat_map(Capability::entries);
        entries.filter_map(|entry| NetGrant::parse(entry))
    }

    fn validate(&self) -> Result<(), ManifestError> {
        self.validate_identity()?;
        self.validate_contract()?;
        grant::validate_sandbox(&self.sandbox)?;
        let cap = if self.sandbox.profile == SYNTH { Quotas::SYNTH_CAP } else { Quotas::CAP };
        self.sandbox.quotas.validate(&cap)?;
        self.mind.as_ref().map_or(Ok(()), Thinking::validate)?;
        self.file.map_or(Ok(()), |file| file.validate(self))?;
        self.message.as_ref().map_or(Ok(()), |message| message.validate(self))?;
        let takes = self.file.is_some_and(|file| file.takes().is_some());
        if let Some(kind) = self.account().filter(|_| self.mind.is_some() || takes) {
            return Err(ManifestError::field(
                "sandbox.capabilities",
                kind.name(),
                "an account without [mind], and without a file that is taken",
            ));
        }
        self.answer.validate()?;
        pattern::validate(&self.patterns, self.effects.class)?;
        if self.args.len() > MAX_POINTERS || self.output.vouched.len() > MAX_POINTERS {
            let found = self.args.len().max(self.output.vouched.len());
            return Err(ManifestError::field("args, output.V", found, format!("at most {MAX_POINTERS} pointers")));
        }
        let pointers = self.args.keys().map(|pointer| ("args", pointer));
        for (table, pointer) in pointers.chain(self.output.vouched.iter().map(|pointer| ("output.V", pointer))) {
            if pointer.is_empty() || !json::is_pointer(pointer) {
                return Err(ManifestError::field(table, pointer, "JSON pointers such as `/path` or `/to/*`"));
            }
        }
        if self.effects.idempotent.is_some_and(|said| said != self.contract.idempotent) {
            return Err(ManifestError::field(
                "effects.idempotent",
                !self.contract.idempotent,
                "the same as contract.idempotent",
            ));
        }
        let topic = format!("executor.{}", self.executor.name);
        if self.audit.trace_topic != topic {
            return Err(ManifestError::field("audit.trace_topic", &self.audit.trace_topic, format!("`{topic}`")));
        }
        Ok(())
    }

    fn validate_identity(&self) -> Result<(), ManifestError> {
        let it = &self.executor;
        if !is_name(&it.name) {
            let expected = format!("a lower-case letter, then letters, digits and `_`, at most {MAX_NAME}");
            return Err(ManifestError::field("executor.name", &it.name, expected));
        }
        if parse_version(&it.version).is_none() {
            return Err(ManifestError::field("executor.version", &it.version, "three numbers such as `1.0.0`"));
        }
        if it.created_at.date.is_none() || it.created_at.time.is_none() || it.created_at.offset.is_none() {
            let expected = "a date, a time and an offset, such as 2026-04-25T08:12:00Z";
            return Err(ManifestError::field("executor.created_at", it.created_at, expected));
        }
        let run_id = it.created_by.strip_prefix("synt:");
        let made_by_synt =
            run_id.is_some_and(|id| !id.is_empty() && id.len() <= 64 && id.bytes().all(|b| b.is_ascii_alphanumeric()));
        if it.created_by != "seed" && !made_by_synt {
            return Err(ManifestError::field("executor.created_by", &it.created_by, "`seed` or `synt:<run id>`"));
        }
        is_line(&it.summary, MAX_SUMMARY).then_some(()).ok_or_else(|| {
            ManifestError::field("executor.summary", &it.summary, format!("one line of 1 to {MAX_SUMMARY} characters"))
        })?;
        if it.examples.is_empty() || it.examples.len() > example::MAX_EXAMPLES {
            let expected = format!("1 to {} entries", example::MAX_EXAMPLES);
            return Err(ManifestError::field("executor.examples", it.examples.len(), expected));
        }
        it.examples.iter().enumerate().try_for_each(|(at, example)| example.validate(at))
    }

    fn validate_contract(&self) -> Result<(), ManifestError> {
        let it = &self.contract;
        for (field, found, expected) in [
            ("contract.input_schema", &it.input_schema, INPUT_SCHEMA),
            ("contract.output_schema", &it.output_schema, OUTPUT_SCHEMA),
        ] {
            if found != expected {
                return Err(ManifestError::field(field, found, format!("`{expected}`")));
            }
        }
        if it.error_classes.len() > MAX_ERROR_CLASSES {
            let expected = format!("at most {MAX_ERROR_CLASSES} entries");
            return Err(ManifestError::field("contract.error_classes", it.error_classes.len(), expected));
        }
        for (index, class) in it.error_classes.iter().enumerate() {
            if !is_error_class(class) {
                return Err(ManifestError::field("contract.error_classes", class, "names such as `NotFound`"));
            }
            if it.error_classes[..index].contains(class) {
                return Err(ManifestError::field("contract.error_classes", class, "each name once"));
            }
        }
        match &it.undo {
            Some(undo) if !is_name(undo) => Err(ManifestError::field("contract.undo", undo, "the name of an executor")),
            Some(_) | None => Ok(()),
        }
    }
}

/// Whether a text is a name an executor may have.
#[must_use]
pub fn is_name(text: &str) -> bool {
    let mut bytes = text.bytes();
    text.len() <= MAX_NAME
        && bytes.next().is_some_and(|first| first.is_ascii_lowercase())
        && bytes.all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_')
}

/// Reads a version of three numbers without leading zeros; the result orders as versions do.
#[must_use]
pub fn parse_version(text: &str) -> Option<(u32, u32, u32)> {
    let mut parts = text.split('.').map(|part| {
        let plain = part.bytes().all(|byte| byte.is_ascii_digit()) && (part == "0" || !part.starts_with('0'));
        plain.then(|| part.parse::<u32>().ok()).flatten()
    });
    let version = (parts.next()??, parts.next()??, parts.next()??);
    parts.next().is_none().then_some(version)
}

/// Whether a text may name an error class: a capital letter, then letters and digits, at most 48.
#[must_use]
pub fn is_error_class(text: &str) -> bool {
    text.len() <= MAX_NAME
        && text.starts_with(|first: char| first.is_ascii_uppercase())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

fn is_line(text: &str, most: usize) -> bool {
    !text.trim().is_empty() && text.chars().count() <= most && !text.chars().any(char::is_control)
}

/// What an executor's signature covers: the four digests, one behind the other.
#[must_use]
pub fn signed_bytes(digests: &ExecutorDigests) -> [u8; 128] {
    let mut bytes = [0; 128];
    let parts = [&digests.manifest, &digests.code, &digests.schema, &digests.profile];
    for (place, part) in bytes.chunks_exact_mut(32).zip(parts) {
        place.copy_from_slice(&part.0);
    }
    bytes
}

/// The content of a `profile.lock`.
#[must_use]
pub fn profile_lock_text(profile: &Blake3) -> String {
    format!("{profile}\n")
}
