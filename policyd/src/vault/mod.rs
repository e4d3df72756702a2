//! The vault: what an executor may be given in confidence (design: policy §9). A value is opened for one call that was
//! decided, goes to sandboxd as sealed memory, and is wiped; no answer, record or log ever holds one. Which executor may
//! be given which secret is the owner's word at his machine, for exactly the code that he saw.

pub(crate) mod accounts;
pub mod cipher;
pub(crate) mod guard;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use metnos_proto::doc::vault::{
    SecretGrant, SecretGranted, SecretRemoved, SecretRow, SecretVersion, SecretWithdrawn, VaultAnswer,
};
use metnos_proto::executor::{Capability, Manifest, is_name};
use metnos_proto::ids::Blake3;
use metnos_proto::msg::common::{ExecutorDigests, Refusal, RefusalCode};
use metnos_proto::msg::sandboxd::{MAX_SECRET, MAX_SECRETS, MIN_REDACTED_SECRET};
use metnos_proto::msg::vault_budget::{SecretFor, VaultAsk, VaultPut};
use metnos_proto::payload::Sealed;
use rusqlite::{Connection, params};
use tokio::sync::Mutex;
use zeroize::Zeroizing;

use crate::base::Base;
use crate::decision::Verdict;
use crate::executors::registry::Signed;
use crate::guard::shown;
use crate::key::SecretBytes;
use crate::refusals::internal;
use crate::store::{StoreError, not_durable, signed, unsigned};
use crate::vault::accounts::Accounts;
use crate::vault::cipher::VaultKey;

/// The file of the vault's key, in policyd's own folder.
pub const KEY_FILE: &str = "vault.key";
/// The most secrets that are kept.
pub const MAX_KEPT: usize = 256;
/// The rule that denies a call whose secret is not there.
pub const MISSING: &str = "secret.missing";
/// The rule that denies a call whose executor the owner has not given its secret.
pub const UNGRANTED: &str = "secret.grant";
/// The rule that denies what holds a secret.
pub const TOLD: &str = "guard.secret";

/// Makes the tables where they are missing, and reads what is in them.
pub(crate) fn load(connection: &Connection, key: &SecretBytes) -> Result<(Vault, Accounts), StoreError> {
    connection.execute_batch(TABLES)?;
    connection.execute_batch(accounts::TABLE)?;
    Ok((Vault::load(connection, key)?, Accounts::load(connection)?))
}

/// The tables.
const TABLES: &str = "
    CREATE TABLE IF NOT EXISTS vault (
        name TEXT PRIMARY KEY, version INTEGER NOT NULL, sealed BLOB NOT NULL,
        made_ms INTEGER NOT NULL, changed_ms INTEGER NOT NULL
    ) STRICT;
    CREATE TABLE IF NOT EXISTS vault_grants (
        secret TEXT NOT NULL, executor TEXT NOT NULL, digest BLOB NOT NULL, given_by TEXT NOT NULL,
        since_ms INTEGER NOT NULL, PRIMARY KEY (secret, executor)
    ) STRICT;";

/// A secret as it lies on the disk.
#[derive(Debug, Clone)]
struct Entry {
    version: u64,
    sealed: Vec<u8>,
    made_ms: u64,
    changed_ms: u64,
}

/// Who may be given a secret: the executor whose files have this digest.
#[derive(Debug, Clone, PartialEq, Eq)]
struct SecretHolder {
    digest: Blake3,
    by: String,
    since_ms: u64,
}

/// The vault, closed: values are opened one by one.
#[derive(Debug)]
pub struct Vault {
    key: VaultKey,
    entries: BTreeMap<String, Entry>,
    given: BTreeMap<(String, String), SecretHolder>,
}

impl Default for Vault {
    /// An empty one, whose key nobody has: what is put there is lost with it.
    fn default() -> Self {
        let mut bytes = SecretBytes::new([0; 32]);
        // Without random numbers nothing can be sealed either.
        let _ = getrandom::fill(bytes.as_mut());
        Self { key: VaultKey::new(&bytes), entries: BTreeMap::new(), given: BTreeMap::new() }
    }
}

/// What an executor's files are, in one digest.
fn digest_of(digests: &ExecutorDigests) -> Blake3 {
    Blake3::of(&metnos_proto::executor::signed_bytes(digests))
}

/// The secrets that a manifest names, in order, each once.
#[must_use]
pub fn named(manifest: &Manifest) -> Vec<&str> {
    let mut names: Vec<&str> = manifest
        .sandbox
        .capabilities
        .iter()
        .filter_map(|capability| match capability {
            Capability::Secret(names) => Some(names),
            Capability::FsRead(_) | Capability::FsWrite(_) | Capability::Net(_) | Capability::Exec(_) => None,
        })
        .flatten()
        .map(String::as_str)
        .collect();
    names.sort_unstable();
    names.dedup();
    names
}

impl Vault {
    pub(crate) fn load(connection: &Connection, key: &SecretBytes) -> Result<Self, StoreError> {
        let mut statement = connection.prepare("SELECT name, version, sealed, made_ms, changed_ms FROM vault")?;
        let rows = statement.query_map([], |row| {
            let (version, made_ms, changed_ms) = (unsigned(row.get(1)?), unsigned(row.get(3)?), unsigned(row.get(4)?));
            Ok((row.get::<_, String>(0)?, Entry { version, sealed: row.get(2)?, made_ms, changed_ms }))
        })?;
        let entries = rows.collect::<rusqlite::Result<_>>()?;
        let mut statement =
            connection.prepare("SELECT secret, executor, digest, given_by, since_ms FROM vault_grants")?;
        let rows = statement.query_map([], |row| {
            let name = (row.get::<_, String>(0)?, row.get::<_, String>(1)?);
            Ok((name, row.get::<_, Vec<u8>>(2)?, row.get::<_, String>(3)?, unsigned(row.get(4)?)))
        })?;
        let mut given = BTreeMap::new();
        for row in rows {
            let (name, digest, by, since_ms) = row?;
            let digest = <[u8; 32]>::try_from(digest).map_err(|_| StoreError::Damaged(format!("secret {}", name.0)))?;
            given.insert(name, SecretHolder { digest: Blake3(digest), by, since_ms });
        }
        Ok(Self { key: VaultKey::new(key), entries, given })
    }

    /// Seals what policyd itself keeps: under a name that no secret of the owner's can have.
    #[must_use]
    pub(crate) fn seal_own(&self, what: &str, value: &[u8]) -> Option<Vec<u8>> {
        self.key.seal(&format!("={what}"), 0, value)
    }

    /// See [`Vault::seal_own`].
    #[must_use]
    pub(crate) fn open_own(&self, what: &str, sealed: &[u8]) -> Option<Zeroizing<Vec<u8>>> {
        self.key.open(&format!("={what}"), 0, sealed)
    }

    /// See [`VaultKey::digest`].
    #[must_use]
    pub(crate) fn digest(&self, texts: &[&str]) -> String {
        self.key.digest(texts)
    }

    fn value(&self, name: &str) -> Option<Zeroizing<Vec<u8>>> {
        let entry = self.entries.get(name)?;
        self.key.open(name, entry.version, &entry.sealed)
    }

    /// Why this executor is not given what its manifest names; `None` when it is, or names nothing.
    #[must_use]
    pub fn withheld(&self, manifest: &Manifest, digests: &ExecutorDigests) -> Option<Verdict> {
        let executor = &manifest.executor.name;
        let names = named(manifest);
        if names.len() > MAX_SECRETS {
            return Some(Verdict::deny(MISSING, format!("{executor} names more than {MAX_SECRETS} secrets")));
        }
        names.into_iter().find_map(|name| {
            if !self.entries.contains_key(name) {
                let why = format!("{executor} needs the secret `{name}`, which is not in the vault");
                return Some(Verdict::deny(MISSING, why).with_remedy(&format!("`metnosctl secret set {name}`")));
            }
            let given = self.given.get(&(name.to_owned(), executor.clone()));
            let remedy = format!("`metnosctl secret grant {name} {executor}`");
            match given {
                Some(given) if given.digest == digest_of(digests) => None,
                Some(_) => {
                    let why = format!("{executor} is not what it was when the owner gave it the secret `{name}`");
                    Some(Verdict::deny(UNGRANTED, why).with_remedy(&remedy))
                }
                None => {
                    let why = format!("the owner has not given {executor} the secret `{name}`");
                    Some(Verdict::deny(UNGRANTED, why).with_remedy(&remedy))
                }
            }
        })
    }

    /// What goes to sandboxd with one call of this executor: an object of texts; `None` when its manifest names nothing.
    ///
    /// # Errors
    /// Without any value, when something cannot be opened now, and how that is mended.
    pub(crate) fn open_for(&self, manifest: &Manifest) -> Result<Option<Sealed>, Refusal> {
        let names = named(manifest);
        if names.is_empty() {
            return Ok(None);
        }
        let mut document = Zeroizing::new(vec![b'{']);
        for (at, name) in names.into_iter().enumerate() {
            let value = self.value(name).ok_or_else(|| unopened(name))?;
            let text = std::str::from_utf8(&value).map_err(|_| unopened(name))?;
            let text = Zeroizing::new(serde_json::to_vec(text).map_err(|_| unopened(name))?);
            document.extend_from_slice(if at > 0 { b",\"" } else { b"\"" });
            document.extend_from_slice(name.as_bytes());
            document.extend_from_slice(b"\":");
            document.extend_from_slice(&text);
        }
        document.push(b'}');
        Sealed::new(&document).map(Some).map_err(|error| internal(&error.to_string()))
    }

    /// The name of a secret whose value stands in one of these texts.
    #[must_use]
    pub fn told_in<'a>(&self, texts: impl Iterator<Item = &'a str> + Clone) -> Option<&str> {
        self.entries.keys().map(String::as_str).find(|name| {
            let Some(value) = self.value(name) else { return false };
            let Ok(value) = std::str::from_utf8(&value) else { return false };
            value.len() >= MIN_REDACTED_SECRET && texts.clone().any(|text| text.contains(value))
        })
    }

    /// Whether there is nothing that could be told.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    fn list(&self) -> Vec<SecretRow> {
        let one = |(name, entry): (&String, &Entry)| {
            let given = self.given.iter().filter(|((secret, _), _)| secret == name).map(|((_, executor), given)| {
                let (files, by) = (given.digest.to_string(), given.by.clone());
                SecretGrant { executor: executor.clone(), files, by, since_ms: given.since_ms }
            });
            SecretRow {
                name: name.clone(),
                version: entry.version,
                made_ms: entry.made_ms,
                changed_ms: entry.changed_ms,
                given: given.collect(),
            }
        };
        self.entries.iter().map(one).collect()
    }
}

fn unknown(name: &str) -> Refusal {
    let why = format!("there is no secret named {}", shown(name));
    Refusal::new(RefusalCode::Unknown, "secret.unknown", why)
        .remedy("`metnosctl secret list` shows those that there are")
}

/// What is said where a value is there and the key does not open it.
fn unopened(name: &str) -> Refusal {
    let why =
        format!("the secret `{name}` cannot be opened: it was sealed under another key, or was changed on the disk");
    Refusal::new(RefusalCode::Unavailable, MISSING, why).remedy(format!(
        "put `.policy/{KEY_FILE}` back from a backup, or give it its value again: `metnosctl secret rotate {name}`"
    ))
}

/// The value, if it is one: a text of bearable length. What is said of it never quotes it.
fn value_of(sealed: &Sealed) -> Result<Zeroizing<Vec<u8>>, Refusal> {
    let no = |why: String| Refusal::new(RefusalCode::Invalid, "secret.form", why);
    if sealed.is_empty() || sealed.len() > MAX_SECRET {
        return Err(no(format!("a secret has 1 to {MAX_SECRET} bytes; this one has {}", sealed.len())));
    }
    let value = Zeroizing::new(sealed.read().map_err(|error| no(error.to_string()))?);
    match std::str::from_utf8(&value) {
        Ok(text) if !text.contains('\0') => Ok(value),
        Ok(_) | Err(_) => Err(no("a secret is a text without NUL".to_owned())),
    }
}

/// Finds an executor that may be called.
pub(crate) type Callable<'a> = &'a dyn Fn(&str) -> Option<Rc<Signed>>;

/// The vault as the owner changes it and calls use it.
#[derive(Debug)]
pub(crate) struct Secrets {
    base: Rc<Base>,
    pub(crate) vault: RefCell<Vault>,
    pub(crate) accounts: RefCell<Accounts>,
    /// Held by anyone who changes the vault.
    keeping: Mutex<()>,
}

impl Secrets {
    pub(crate) fn new(base: &Rc<Base>, (vault, accounts): (Vault, Accounts)) -> Rc<Self> {
        Rc::new(Self {
            base: Rc::clone(base),
            vault: RefCell::new(vault),
            accounts: RefCell::new(accounts),
            keeping: Mutex::default(),
        })
    }

    /// The owner looks after the vault.
    ///
    /// # Errors
    /// When there is no such secret or executor, or it could not be recorded.
    pub(crate) async fn vault(&self, by: &str, ask: VaultAsk, callable: Callable<'_>) -> Result<VaultAnswer, Refusal> {
        match ask {
            VaultAsk::List => Ok(VaultAnswer::Secrets(self.vault.borrow().list())),
            VaultAsk::Remove(name) => self.remove_secret(by, name).await.map(VaultAnswer::Removed),
            VaultAsk::Grant(ask) => self.grant_secret(by, ask, callable).await.map(VaultAnswer::Granted),
            VaultAsk::Withdraw(ask) => self.withdraw_secret(by, ask).await.map(VaultAnswer::Withdrawn),
        }
    }

    /// A new secret, or another value for one that is there. Who may be given it stays as it was.
    ///
    /// # Errors
    /// When it is there already, or not yet, is no text, or could not be made durable: then nothing has changed.
    pub(crate) async fn put_secret(&self, by: &str, ask: VaultPut, sealed: &Sealed) -> Result<SecretVersion, Refusal> {
        if !is_name(&ask.name) {
            let why = "a secret is named like an executor: small letters, digits and `_`, a letter first";
            return Err(Refusal::new(RefusalCode::Invalid, "secret.name", why));
        }
        let value = value_of(sealed)?;
        let _one = self.keeping.lock().await;
        let now = self.base.clock.wall_ms();
        let entry = {
            let vault = self.vault.borrow();
            let (version, made_ms) = match (vault.entries.get(&ask.name), ask.rotate) {
                (Some(before), true) => (before.version.saturating_add(1), before.made_ms),
                (None, false) if vault.entries.len() >= MAX_KEPT => {
                    let why = format!("{MAX_KEPT} secrets are kept, which is the limit");
                    return Err(Refusal::new(RefusalCode::Busy, "secret.full", why));
                }
                (None, false) => (1, now),
                (None, true) => return Err(unknown(&ask.name)),
                (Some(_), false) => {
                    let why = format!("there is a secret named `{}` already", ask.name);
                    return Err(Refusal::new(RefusalCode::Denied, "secret.there", why)
                        .remedy(format!("`metnosctl secret rotate {}` gives it another value", ask.name)));
                }
            };
            let no_random = || Refusal::new(RefusalCode::Unavailable, "policyd.random", "nothing can be sealed now");
            let sealed = vault.key.seal(&ask.name, version, &value).ok_or_else(no_random)?;
            Entry { version, sealed, made_ms, changed_ms: now }
        };
        let (kind, did) = if ask.rotate { ("secret_rotated", "rotated") } else { ("secret_set", "set") };
        self.base
            .chronicled(kind, &format!("{by} has {did} the secret {}, version {}", ask.name, entry.version))
            .await?;
        let (row, kept) = (ask.name.clone(), entry.clone());
        self.base
            .store
            .run(move |connection| {
                let values =
                    params![row, signed(kept.version), kept.sealed, signed(kept.made_ms), signed(kept.changed_ms)];
                connection.execute("INSERT OR REPLACE INTO vault VALUES (?1, ?2, ?3, ?4, ?5)", values).map(|_| ())
            })
            .await
            .map_err(|error| not_durable(&error))?;
        let version = entry.version;
        self.vault.borrow_mut().entries.insert(ask.name.clone(), entry);
        Ok(SecretVersion { name: ask.name, version })
    }

    async fn remove_secret(&self, by: &str, name: String) -> Result<SecretRemoved, Refusal> {
        let _one = self.keeping.lock().await;
        // Gone for every call from now on, whatever becomes of the record.
        if self.vault.borrow_mut().entries.remove(&name).is_none() {
            return Err(unknown(&name));
        }
        self.vault.borrow_mut().given.retain(|(secret, _), _| *secret != name);
        let row = name.clone();
        self.base
            .store
            .run(move |connection| {
                connection.execute("DELETE FROM vault_grants WHERE secret = ?1", [&row])?;
                connection.execute("DELETE FROM vault WHERE name = ?1", [&row]).map(|_| ())
            })
            .await
            .map_err(|error| not_durable(&error))?;
        self.base.chronicled("secret_removed", &format!("{by} has removed the secret {name}")).await?;
        Ok(SecretRemoved { name, removed: true })
    }

    /// A hard approval of its own: only at the machine, for the code as it is now (design: policy §4).
    async fn grant_secret(&self, by: &str, ask: SecretFor, callable: Callable<'_>) -> Result<SecretGranted, Refusal> {
        let found = callable(&ask.executor);
        let Some(found) = found else {
            let why = format!("there is no callable executor named {}", shown(&ask.executor));
            return Err(Refusal::new(RefusalCode::Unknown, "executor.unknown", why)
                .remedy("`metnosctl executor list` shows those that there are"));
        };
        if !named(&found.manifest).contains(&ask.secret.as_str()) {
            let why = format!("the manifest of {} does not ask for the secret {}", ask.executor, shown(&ask.secret));
            return Err(Refusal::new(RefusalCode::Invalid, UNGRANTED, why));
        }
        let _one = self.keeping.lock().await;
        if !self.vault.borrow().entries.contains_key(&ask.secret) {
            return Err(unknown(&ask.secret).remedy(format!("`metnosctl secret set {}`", ask.secret)));
        }
        let given =
            SecretHolder { digest: digest_of(&found.digests), by: by.to_owned(), since_ms: self.base.clock.wall_ms() };
        let id = found.manifest.id();
        let line = format!("{by} gives {id} the secret {}, as its files are now: {}", ask.secret, given.digest);
        self.base.chronicled("secret_granted", &line).await?;
        let (row, kept) = ((ask.secret.clone(), ask.executor.clone()), given.clone());
        self.base
            .store
            .run(move |connection| {
                let values = params![row.0, row.1, kept.digest.0.as_slice(), kept.by, signed(kept.since_ms)];
                connection
                    .execute("INSERT OR REPLACE INTO vault_grants VALUES (?1, ?2, ?3, ?4, ?5)", values)
                    .map(|_| ())
            })
            .await
            .map_err(|error| not_durable(&error))?;
        let files = given.digest.to_string();
        self.vault.borrow_mut().given.insert((ask.secret.clone(), ask.executor.clone()), given);
        Ok(SecretGranted { name: ask.secret, executor: id.to_string(), files })
    }

    async fn withdraw_secret(&self, by: &str, ask: SecretFor) -> Result<SecretWithdrawn, Refusal> {
        let _one = self.keeping.lock().await;
        if self.vault.borrow_mut().given.remove(&(ask.secret.clone(), ask.executor.clone())).is_none() {
            let why = format!("{} was not given the secret {}", shown(&ask.executor), shown(&ask.secret));
            return Err(Refusal::new(RefusalCode::Unknown, "secret.unknown", why));
        }
        let row = (ask.secret.clone(), ask.executor.clone());
        self.base
            .store
            .run(move |connection| {
                let gone = "DELETE FROM vault_grants WHERE secret = ?1 AND executor = ?2";
                connection.execute(gone, params![row.0, row.1]).map(|_| ())
            })
            .await
            .map_err(|error| not_durable(&error))?;
        let line = format!("{by} gives {} the secret {} no more", ask.executor, ask.secret);
        self.base.chronicled("secret_withdrawn", &line).await?;
        Ok(SecretWithdrawn { name: ask.secret, executor: ask.executor })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use serde_json::{Value, json};

    use super::*;
    use crate::testing::manifest_text;

    fn digests(byte: u8) -> ExecutorDigests {
        let of = |n: u8| Blake3::of(&[byte, n]);
        ExecutorDigests { manifest: of(1), code: of(2), schema: of(3), profile: of(4) }
    }

    fn keyed(names: &str) -> Manifest {
        let text = manifest_text("fetch_mail", &[])
            .replace("fs-read-workspace", "net-mail")
            .replace("{ fs_read = [\"workspace/\"] }", &format!("{{ secret = [{names}] }}"));
        Manifest::parse(text.as_bytes()).unwrap()
    }

    fn vault(values: &[(&str, &str)]) -> Vault {
        let mut vault = Vault::default();
        for (name, value) in values {
            let sealed = vault.key.seal(name, 1, value.as_bytes()).unwrap();
            vault.entries.insert((*name).to_owned(), Entry { version: 1, sealed, made_ms: 1, changed_ms: 1 });
        }
        vault
    }

    fn give(vault: &mut Vault, secret: &str, byte: u8) {
        let given = SecretHolder { digest: digest_of(&digests(byte)), by: "me".into(), since_ms: 1 };
        vault.given.insert((secret.into(), "fetch_mail".into()), given);
    }

    #[test]
    fn a_secret_goes_to_the_very_code_that_the_owner_gave_it_to() {
        let manifest = keyed("\"imap\", \"smtp\"");
        let rule = |vault: &Vault, byte| vault.withheld(&manifest, &digests(byte)).map(|verdict| verdict.rule);
        let mut it = vault(&[("imap", "hunter22")]);
        assert_eq!(rule(&it, 1).as_deref(), Some(UNGRANTED));
        give(&mut it, "imap", 1);
        assert_eq!(rule(&it, 1).as_deref(), Some(MISSING), "the other one");
        let mut it = vault(&[("imap", "hunter22"), ("smtp", "s3cret\"quoted")]);
        give(&mut it, "imap", 1);
        give(&mut it, "smtp", 1);
        assert_eq!(rule(&it, 1), None);
        assert_eq!(rule(&it, 2).as_deref(), Some(UNGRANTED), "another code of the same name");
        let document: Value =
            serde_json::from_slice(&it.open_for(&manifest).unwrap().unwrap().read().unwrap()).unwrap();
        assert_eq!(document, json!({"imap": "hunter22", "smtp": "s3cret\"quoted"}));
        let shut = it.open_for(&keyed("\"other\"")).unwrap_err();
        assert!(shut.remedy.contains("`metnosctl secret rotate other`"));
        assert!(it.open_for(&crate::testing::manifest("fs_read", &[])).unwrap().is_none());
    }

    #[test]
    fn a_value_is_found_wherever_it_stands_and_short_ones_are_not_looked_for() {
        let it = vault(&[("imap", "hunter22"), ("pin", "1234")]);
        assert_eq!(it.told_in(["a", "so hunter22!"].into_iter()), Some("imap"));
        assert_eq!(it.told_in(["hunter2", "1234"].into_iter()), None);
        assert_eq!(it.told_in([].into_iter()), None);
    }

    #[test]
    fn vault_listing_contains_no_secret_value() {
        let mut it = vault(&[("imap", "hunter22")]);
        give(&mut it, "imap", 1);
        for text in [serde_json::to_string(&it.list()).unwrap(), format!("{it:?}")] {
            assert!(!text.contains("hunter22"), "{text}");
        }
        assert_eq!(it.list()[0].given[0].executor, "fetch_mail");
    }

    #[test]
    fn internal_vault_entry_has_a_name_no_secret_can_take() {
        let it = Vault::default();
        let sealed = it.seal_own("codes", b"seed").unwrap();
        assert_eq!(it.open_own("codes", &sealed).unwrap().as_slice(), b"seed");
        assert!(it.open_own("other", &sealed).is_none());
        assert!(!is_name("=codes"));
    }
}
