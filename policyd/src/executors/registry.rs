//! The executors as this run knows them: what may be called, and why the rest may not. Only
//! what was signed, and found as it was signed, is ever callable; an older version never
//! stands in for a newer one that was quarantined.

use std::collections::BTreeMap;
use std::rc::Rc;

use metnos_policy::call::spec::Spec;
use metnos_proto::doc::executor::{ExecutorRecord, Origin};
use metnos_proto::envelope::Candidate;
use metnos_proto::executor::{
    Class, MAX_CODE_BYTES, MAX_MANIFEST_BYTES, MAX_SCHEMA_BYTES, Manifest, Schema, lint, parse_version,
};
use metnos_proto::ids::Blake3;
use metnos_proto::json::{self, Limits};
use metnos_proto::msg::accounts::AccountKind;
use metnos_proto::msg::common::{ExecutorDigests, ExecutorId};
use metnos_proto::msg::policyd::{ExecutorRow, ExecutorState, GrowthLeft, MAX_EXECUTORS};
use serde_json::Value;

use crate::clock::DAY_MS;
use crate::decision::{ARCHIVED, Callable, Named, QUARANTINED, REVOKED, STAGED, WAITING};
use crate::executors::contract::Input;
use crate::executors::origins::{self, Origins};
use crate::store::{Row, RowState};

/// The most births of synthesised executors in a day (design: executor §2).
pub const MAX_BIRTHS_A_DAY: u8 = 3;
/// The most synthesised executors that are active at once (design: executor §2).
pub const MAX_SYNTHESISED: u8 = 20;
/// The most characters of a sentence in a listing, so that [`MAX_EXECUTORS`] of them fit a frame.
const MAX_LISTED: usize = 120;

/// An executor that was signed: everything a decision needs of it.
#[derive(Debug)]
pub struct Signed {
    /// Its manifest.
    pub manifest: Manifest,
    /// The same, as the rules read it.
    pub spec: Spec,
    /// Its schema.
    pub schema: Rc<Schema>,
    /// The schema of its arguments, ready to check.
    pub input: Input,
    /// What was signed.
    pub digests: ExecutorDigests,
}

impl Signed {
    /// Reads the texts that were, or are about to be, signed.
    ///
    /// # Errors
    /// In a sentence, the first thing that does not hold.
    pub fn read(id: &ExecutorId, manifest: &str, schema: &str, digests: &ExecutorDigests) -> Result<Self, String> {
        if Blake3::of(manifest.as_bytes()) != digests.manifest || Blake3::of(schema.as_bytes()) != digests.schema {
            return Err("the texts of manifest and schema are not those that the digests name".to_owned());
        }
        let parsed = Manifest::parse(manifest.as_bytes()).map_err(|why| why.to_string())?;
        if parsed.id() != *id {
            return Err(format!("its manifest says that it is {}", parsed.id()));
        }
        let schema = Rc::new(Schema::parse(schema.as_bytes()).map_err(|why| why.to_string())?);
        let input = Input::new(Rc::clone(&schema));
        let spec = Spec::of(&parsed);
        Ok(Self { manifest: parsed, spec, schema, input, digests: digests.clone() })
    }

    /// What forbids signing it without the owner, if anything.
    #[must_use]
    pub fn objection(&self) -> Option<String> {
        let synthesised = self.manifest.is_synthesised();
        self.fault().or_else(|| synthesised.then(|| "created_by: only seeds are signed without the owner".to_owned()))
    }

    /// What forbids signing it at all, if anything (design: policy §7, linter).
    #[must_use]
    pub fn fault(&self) -> Option<String> {
        if let Err(why) = self.input.check() {
            return Some(why);
        }
        if let Some(finding) = lint(&self.manifest, &self.schema).into_iter().next() {
            return Some(format!("{}: {}", finding.rule, finding.what));
        }
        let class = self.manifest.effects.class;
        let at_home = matches!(class, Class::SelfCreate | Class::SelfModify | Class::Destroy);
        // What only runs programs on what it can only read has nothing to undo; the linter has held it to saying so.
        let prints = class == Class::Shell && !self.manifest.contract.side_effects;
        let reads = prints || matches!(class, Class::Read | Class::NetRead);
        let tells = class == Class::Send && (self.manifest.message.is_some() || self.manifest.sends_mail());
        // What opens a house cannot be undone, and is asked about each time.
        let opens = class == Class::Destroy && self.manifest.account() == Some(AccountKind::Home);
        if !(reads || tells || opens || at_home && self.manifest.effects.reversible) {
            return Some(format!(
                "effects.unsupported: this version signs only what reads, what changes the workspace and can be undone, what tells the household something by [message], what sends mail from an account of the person, or what opens a house of the person; its class is `{class}`"
            ));
        }
        None
    }

    /// Its public contract, as memoryd shows it to the planner.
    #[must_use]
    pub fn candidate(&self) -> Candidate {
        Candidate::of(&self.manifest, &self.schema).with_digest()
    }
}

/// What sandboxd has tested: the texts, exactly as they were.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tested {
    /// Of `manifest.toml`.
    pub manifest: String,
    /// Of `main.py`.
    pub code: String,
    /// Of `schema.json`.
    pub schema: String,
}

impl Tested {
    /// Reads the candidate that comes back from a birth, and compares it with what was looked at.
    ///
    /// # Errors
    /// In a sentence, what is not as it should be.
    pub fn read(bytes: &[u8], digests: &ExecutorDigests) -> Result<Self, String> {
        // Escapes can make every byte of a text six.
        let max_bytes = 6 * (MAX_MANIFEST_BYTES + MAX_CODE_BYTES + MAX_SCHEMA_BYTES) + 1024;
        let mut object =
            json::parse_object(bytes, Limits { max_bytes, max_depth: 1 }).map_err(|why| why.to_string())?;
        let mut text = |name: &str| match object.remove(name) {
            Some(Value::String(text)) => Ok(text),
            Some(_) | None => Err(format!("`{name}` is no text in the tested candidate")),
        };
        let tested = Self { manifest: text("manifest")?, code: text("code")?, schema: text("schema")? };
        if let Some(extra) = object.keys().next() {
            return Err(format!("the tested candidate has a part `{}` that nobody asked for", extra.escape_debug()));
        }
        for (name, text, digest) in [
            ("manifest.toml", &tested.manifest, digests.manifest),
            ("main.py", &tested.code, digests.code),
            ("schema.json", &tested.schema, digests.schema),
        ] {
            if Blake3::of(text.as_bytes()) != digest {
                return Err(format!("the {name} that was tested is not the one that was looked at"));
            }
        }
        Ok(tested)
    }
}

/// Where an executor stands in this run.
#[derive(Debug, Clone)]
pub enum Standing {
    /// Callable.
    Active(Rc<Signed>),
    /// Signed, but not callable now.
    Waiting(String),
    /// Not callable until the owner approves it again.
    Quarantined(String),
    /// Not callable until the owner brings it back.
    Archived(String),
    /// Never callable again.
    Revoked(String),
    /// In the pool, never signed.
    Staged(String),
}

#[derive(Debug)]
struct Entry {
    standing: Standing,
    row: Option<Row>,
}

/// All executors, by name and version.
#[derive(Debug, Default)]
pub struct Registry {
    entries: BTreeMap<String, BTreeMap<(u32, u32, u32), Entry>>,
    /// Of those that are no seeds.
    origins: Origins,
}

impl Registry {
    /// The registry as it was left: nothing is callable before the pool was looked at.
    #[must_use]
    pub fn new(rows: Vec<Row>) -> Self {
        let mut registry = Self::default();
        for row in rows {
            let standing = match row.state {
                RowState::Signed | RowState::Active => Standing::Waiting("the pool was not looked at yet".to_owned()),
                RowState::Quarantined => Standing::Quarantined(row.why.clone()),
                RowState::Archived { .. } => Standing::Archived(row.why.clone()),
                RowState::Revoked => Standing::Revoked(row.why.clone()),
            };
            registry.put(&row.id.clone(), standing, Some(row));
        }
        registry
    }

    fn put(&mut self, id: &ExecutorId, standing: Standing, row: Option<Row>) {
        // What has no version cannot be named; the pool's listing was checked for it.
        if let Some(version) = parse_version(&id.version) {
            self.entries.entry(id.name.clone()).or_default().insert(version, Entry { standing, row });
        }
    }

    fn entry_mut(&mut self, id: &ExecutorId) -> Option<&mut Entry> {
        self.entries.get_mut(&id.name)?.get_mut(&parse_version(&id.version)?)
    }

    /// The row of an executor that was signed.
    #[must_use]
    pub fn row(&self, id: &ExecutorId) -> Option<&Row> {
        self.entries.get(&id.name)?.get(&parse_version(&id.version)?)?.row.as_ref()
    }

    /// Every row.
    #[must_use]
    pub fn rows(&self) -> Vec<Row> {
        self.entries.values().flat_map(BTreeMap::values).filter_map(|entry| entry.row.clone()).collect()
    }

    /// A new row, signed and not yet callable.
    pub fn signed(&mut self, row: Row) {
        let waiting = Standing::Waiting("its birth is not finished".to_owned());
        self.put(&row.id.clone(), waiting, Some(row));
    }

    /// Says where a known executor stands. Quarantine, the archive and a revocation are never left by this.
    pub fn stand(&mut self, id: &ExecutorId, standing: Standing) {
        match self.entry_mut(id) {
            Some(Entry {
                standing: Standing::Quarantined(_) | Standing::Archived(_) | Standing::Revoked(_), ..
            }) => {}
            Some(entry) => entry.standing = standing,
            None => self.put(id, standing, None),
        }
    }

    /// The owner has put an executor away or revoked it. A revocation is never left.
    pub fn lay(&mut self, id: &ExecutorId, state: RowState, why: &str, now_ms: u64) {
        let standing = match state {
            RowState::Archived { .. } => Standing::Archived(why.to_owned()),
            RowState::Revoked => Standing::Revoked(why.to_owned()),
            RowState::Signed | RowState::Active | RowState::Quarantined => return,
        };
        let Some(entry) = self.entry_mut(id) else { return };
        if let Some(row) = entry.row.as_mut()
            && row.state != RowState::Revoked
        {
            (row.state, row.why, row.since_ms) = (state, why.to_owned(), now_ms);
            entry.standing = standing;
        }
    }

    /// What the owner brings back: signed and not yet callable, or in quarantine.
    pub fn out_of_the_archive(&mut self, row: Row) {
        if row.state == RowState::Quarantined {
            let standing = Standing::Quarantined(row.why.clone());
            self.put(&row.id.clone(), standing, Some(row));
        } else {
            self.signed(row);
        }
    }

    /// Takes over what is known of where executors come from.
    pub fn know_origins(&mut self, origins: Origins) {
        self.origins.extend(origins);
    }

    /// Where an executor comes from, if it is no seed and that is known.
    #[must_use]
    pub fn origin(&self, id: &ExecutorId) -> Option<&Origin> {
        self.origins.get(&origins::key(id))
    }

    /// How many origins are known.
    #[must_use]
    pub fn origins_known(&self) -> usize {
        self.origins.len()
    }

    /// Whether it came into this instance after the release: made by syntd, imported, or by the owner's own hand.
    pub(crate) fn is_grown(&self, row: &Row) -> bool {
        let synthesised = || Manifest::parse(row.manifest.as_bytes()).is_ok_and(|manifest| manifest.is_synthesised());
        self.origins.contains_key(&origins::key(&row.id)) || synthesised()
    }

    /// The row of the version that a name means; `None` when none was ever signed.
    #[must_use]
    pub fn row_of(&self, name: &str) -> Option<&Row> {
        self.current(name)?.row.as_ref()
    }

    /// The manifest of this version, as it was signed; `None` where it never was, or cannot be read any more.
    #[must_use]
    pub fn manifest(&self, id: &ExecutorId) -> Option<Manifest> {
        manifest_of(self.entries.get(&id.name)?.get(&parse_version(&id.version)?)?)
    }

    /// Changes the row of an executor, as the store has it now.
    pub fn change_row(&mut self, id: &ExecutorId, change: impl FnOnce(&mut Row)) {
        if let Some(row) = self.entry_mut(id).and_then(|entry| entry.row.as_mut()) {
            change(row);
        }
    }

    /// Forgets what was only ever seen in the pool: the next look tells.
    pub fn forget_staged(&mut self) {
        for versions in self.entries.values_mut() {
            versions.retain(|_, entry| entry.row.is_some());
        }
        self.entries.retain(|_, versions| !versions.is_empty());
    }

    /// Nothing is callable any more, for this reason.
    pub fn suspend(&mut self, why: &str) {
        for entry in self.entries.values_mut().flat_map(BTreeMap::values_mut) {
            if matches!(entry.standing, Standing::Active(_)) {
                entry.standing = Standing::Waiting(why.to_owned());
            }
        }
    }

    /// The version that a name means: the newest that was signed, whatever became of it; a staged one
    /// when none was.
    fn current(&self, name: &str) -> Option<&Entry> {
        let versions = self.entries.get(name)?;
        versions.values().rev().find(|entry| entry.row.is_some()).or_else(|| versions.values().next_back())
    }

    /// What a name means to a decision.
    #[must_use]
    pub fn named<'a>(&'a self, name: &str) -> Named<'a> {
        match self.current(name).map(|entry| &entry.standing) {
            None => Named::Unknown,
            Some(Standing::Active(signed)) => callable(signed),
            Some(Standing::Waiting(why)) => Named::Closed { rule: WAITING, why },
            Some(Standing::Quarantined(why)) => Named::Closed { rule: QUARANTINED, why },
            Some(Standing::Archived(why)) => Named::Closed { rule: ARCHIVED, why },
            Some(Standing::Revoked(why)) => Named::Closed { rule: REVOKED, why },
            Some(Standing::Staged(why)) => Named::Closed { rule: STAGED, why },
        }
    }

    /// What planners are offered: the public contracts of all that is callable.
    #[must_use]
    pub fn offered(&self) -> Vec<Candidate> {
        let all = self.entries.keys().filter_map(|name| self.callable(name));
        all.filter(|signed| signed.manifest.contract.offered).map(|signed| signed.candidate()).collect()
    }

    /// The executor that a name means, if it is callable.
    #[must_use]
    pub fn callable(&self, name: &str) -> Option<Rc<Signed>> {
        match &self.current(name)?.standing {
            Standing::Active(signed) => Some(Rc::clone(signed)),
            Standing::Waiting(_)
            | Standing::Quarantined(_)
            | Standing::Archived(_)
            | Standing::Revoked(_)
            | Standing::Staged(_) => None,
        }
    }

    /// Whether this executor is known, and not out of use already.
    #[must_use]
    pub fn may_be_set_aside(&self, id: &ExecutorId) -> bool {
        self.row(id).is_some_and(|row| row.state.is_good())
    }

    /// The version that a call of this name would use, empty when there is none.
    #[must_use]
    pub fn version_of(&self, name: &str) -> String {
        let versions = self.entries.get(name);
        let current = versions.and_then(|versions| {
            versions.iter().rev().find(|(_, entry)| entry.row.is_some()).or_else(|| versions.iter().next_back())
        });
        current.map(|((major, minor, patch), _)| format!("{major}.{minor}.{patch}")).unwrap_or_default()
    }

    /// The listing for people; at most [`MAX_EXECUTORS`].
    #[must_use]
    pub fn list(&self) -> Vec<ExecutorRow> {
        let all = self.entries.iter().flat_map(|(name, versions)| versions.iter().map(move |entry| (name, entry)));
        all.take(MAX_EXECUTORS)
            .map(|(name, ((major, minor, patch), entry))| {
                let manifest = manifest_of(entry);
                let (state, why) = described(&entry.standing);
                ExecutorRow {
                    id: ExecutorId { name: name.clone(), version: format!("{major}.{minor}.{patch}") },
                    state,
                    why: why.chars().take(MAX_LISTED).collect(),
                    summary: manifest
                        .as_ref()
                        .map(|it| it.executor.summary.chars().take(MAX_LISTED).collect())
                        .unwrap_or_default(),
                    class: manifest.map(|it| it.effects.class.name().to_owned()).unwrap_or_default(),
                }
            })
            .collect()
    }

    /// Everything about the version that a name means, and the names of its other versions.
    #[must_use]
    pub fn show(&self, name: &str) -> Option<ExecutorRecord> {
        let entry = self.current(name)?;
        let (state, why) = described(&entry.standing);
        let versions = self.entries.get(name)?.keys().map(|(major, minor, patch)| format!("{major}.{minor}.{patch}"));
        let row = entry.row.as_ref();
        let origin = |row: &Row| self.origin(&row.id).cloned().unwrap_or(Origin::Seed {});
        Some(ExecutorRecord {
            name: name.to_owned(),
            version: self.version_of(name),
            versions: versions.collect(),
            state: (&state).into(),
            why: why.to_owned(),
            origin: row.map(origin),
            since_ms: row.map(|row| row.since_ms),
            born_ms: row.map(|row| row.born_ms),
            signature: row.map(|row| hex(&row.signature)),
            digests: row.map(|row| (&row.digests).into()),
            manifest: row.and_then(|_| manifest_of(entry)).map(|manifest| shown_manifest(&manifest)),
            schema: row.and_then(|row| serde_json::from_str(&row.schema).ok()),
        })
    }

    /// How much growth is still allowed (design: executor §2), counted over all that are no seeds. Whether drafts are only
    /// shown is not for the registry to know.
    #[must_use]
    pub fn growth_left(&self, now_ms: u64) -> GrowthLeft {
        let rows = self.entries.values().flat_map(BTreeMap::values).filter_map(|entry| entry.row.as_ref());
        let synthesised: Vec<&Row> = rows.filter(|row| self.is_grown(row)).collect();
        let today = synthesised.iter().filter(|row| row.born_ms / DAY_MS == now_ms / DAY_MS).count();
        let active = synthesised.iter().filter(|row| row.state == RowState::Active).count();
        let left = |limit: u8, used: usize| limit.saturating_sub(u8::try_from(used).unwrap_or(u8::MAX));
        GrowthLeft { births_today: left(MAX_BIRTHS_A_DAY, today), active: left(MAX_SYNTHESISED, active), dry_run: true }
    }
}

fn manifest_of(entry: &Entry) -> Option<Manifest> {
    match &entry.standing {
        Standing::Active(signed) => Some(signed.manifest.clone()),
        Standing::Waiting(_)
        | Standing::Quarantined(_)
        | Standing::Archived(_)
        | Standing::Revoked(_)
        | Standing::Staged(_) => entry.row.as_ref().and_then(|row| Manifest::parse(row.manifest.as_bytes()).ok()),
    }
}

fn described(standing: &Standing) -> (ExecutorState, &str) {
    match standing {
        Standing::Active(_) => (ExecutorState::Active, ""),
        // To people: signed once, not loaded now.
        Standing::Waiting(why) | Standing::Staged(why) => (ExecutorState::Staged, why),
        Standing::Quarantined(why) => (ExecutorState::Quarantined, why),
        Standing::Archived(why) => (ExecutorState::Archived, why),
        Standing::Revoked(why) => (ExecutorState::Revoked, why),
    }
}

/// A manifest as JSON; its date as it is written, which TOML alone has a type for.
fn shown_manifest(manifest: &Manifest) -> Value {
    let mut shown = serde_json::to_value(manifest).unwrap_or_default();
    if let Some(created) = shown.pointer_mut("/executor/created_at") {
        *created = Value::String(manifest.executor.created_at.to_string());
    }
    shown
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// An executor as the decision sees it.
fn callable(signed: &Signed) -> Named<'_> {
    Named::Callable(Callable::of(&signed.manifest, &signed.spec))
}

#[cfg(test)]
#[path = "registry_tests.rs"]
mod tests;
