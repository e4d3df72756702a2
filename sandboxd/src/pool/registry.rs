//! Which executors may run in this process: those that verify, at this very moment. An executor
//! that once did not is quarantined here until the process ends, whatever its files say later;
//! policyd keeps it quarantined beyond that.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::rc::Rc;

use ed25519_dalek::VerifyingKey;
use metnos_proto::doc::sandbox::ExecutorProfile;
use metnos_proto::executor::{is_name, parse_version};
use metnos_proto::ids::Blake3;
use metnos_proto::msg::common::{ExecutorDigests, ExecutorId, Refusal, RefusalCode};
use metnos_proto::msg::sandboxd::PoolEntry;
use serde_json::Value;

use super::files::{File, FileError, Folder, Version};
use crate::plan::{Installation, canonical, lock_of};
use crate::verify::{ExecutorFiles, Mismatch, Proof, SIGNATURE_BYTES, Texts, Verified, compare};

/// The most executors that are remembered as quarantined; beyond it each one is refused anew.
pub const MAX_QUARANTINED: usize = 1024;
/// The most executors that are remembered as revoked; beyond it the word is refused, and policyd, which holds the list, asks
/// for nothing on that link.
pub const MAX_REVOKED: usize = 1024;
/// The most bytes of a fault in a listing, so that all executors fit one frame.
pub const MAX_FAULT_BYTES: usize = 240;

/// Why an executor may not run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Denial {
    /// It was just found not to be what was signed: to be reported and recorded.
    Found(String),
    /// It is quarantined already.
    Known(String),
    /// It cannot be looked at right now.
    Later(String),
    /// The owner has disowned it.
    Revoked,
    /// Nobody has said whose signature counts.
    Untrusted,
}

impl Denial {
    /// The same, for policyd and for a person.
    #[must_use]
    pub fn refusal(&self, id: &ExecutorId) -> Refusal {
        match self {
            Self::Found(why) | Self::Known(why) => quarantined(id, why),
            Self::Later(why) => {
                Refusal::new(RefusalCode::Unavailable, "executor.unreadable", format!("{id} cannot be verified: {why}"))
                    .remedy("try again in a moment")
            }
            Self::Revoked => revoked(id),
            Self::Untrusted => Refusal::new(
                RefusalCode::Unavailable,
                "trust.none",
                "sandboxd has not been told yet whose signature counts",
            )
            .remedy("policyd does so when it starts; look at `metnosctl status`"),
        }
    }
}

fn quarantined(id: &ExecutorId, why: &str) -> Refusal {
    Refusal::new(RefusalCode::Denied, "executor.quarantined", format!("{id} is in quarantine: {why}"))
        .remedy("when its files are again as they were signed, the owner lets it back: `metnosctl executor lift`")
}

pub(super) fn revoked(id: &ExecutorId) -> Refusal {
    Refusal::new(RefusalCode::Denied, "executor.revoked", format!("the signature of {id} is revoked, for ever"))
        .remedy("a new version can be born; this one is never run again")
}

type Key = (String, String);

fn key_of(id: &ExecutorId) -> Key {
    (id.name.clone(), id.version.clone())
}

/// See the head of this file.
#[derive(Debug)]
pub struct Registry {
    folder: Folder,
    installation: Installation,
    trusted: Option<VerifyingKey>,
    known: BTreeMap<Key, Rc<Verified>>,
    quarantined: BTreeMap<Key, String>,
    /// The texts that never run here again, whatever signature lies beside them.
    revoked: BTreeSet<[Blake3; 3]>,
}

/// What was found when an executor was looked at.
#[derive(Debug)]
pub struct Inspection {
    /// For the listing.
    pub entry: PoolEntry,
    /// Set when this look has set it aside.
    pub quarantined: Option<String>,
}

impl Registry {
    /// A registry of the pool at `path`.
    ///
    /// # Errors
    /// When there is no such folder.
    pub fn open(path: &Path, installation: Installation) -> Result<Self, FileError> {
        Ok(Self {
            folder: Folder::open(path)?,
            installation,
            trusted: None,
            known: BTreeMap::new(),
            quarantined: BTreeMap::new(),
            revoked: BTreeSet::new(),
        })
    }

    /// Whose signature counts. The same key again changes nothing.
    ///
    /// # Errors
    /// When it is no key, or another than before: whose signature counts is not changed in a running process.
    pub fn trust(&mut self, key: &[u8; 32]) -> Result<(), Refusal> {
        let key = VerifyingKey::from_bytes(key)
            .ok()
            .filter(|key| !key.is_weak())
            .ok_or_else(|| Refusal::new(RefusalCode::Invalid, "trust.key", "the instance's key is no Ed25519 key"))?;
        match &self.trusted {
            Some(known) if *known != key => {
                let why = "the instance's key is another than when sandboxd started";
                Err(Refusal::new(RefusalCode::Denied, "trust.other", why)
                    .remedy("if that is intended, `metnosctl daemon restart sandboxd`"))
            }
            Some(_) => Ok(()),
            None => {
                self.trusted = Some(key);
                Ok(())
            }
        }
    }

    /// Nothing of these texts is run, tested, installed or let back in this process from now on.
    ///
    /// # Errors
    /// When no more can be remembered.
    pub fn revoke_texts(&mut self, id: &ExecutorId, digests: &ExecutorDigests) -> Result<(), Refusal> {
        self.trusted().map_err(|denial| denial.refusal(id))?;
        let texts = texts_of(digests);
        if !self.revoked.contains(&texts) && self.revoked.len() >= MAX_REVOKED {
            let why = format!("{MAX_REVOKED} executors are remembered as revoked, which is the limit");
            return Err(Refusal::new(RefusalCode::Busy, "executor.revoked", why));
        }
        self.revoked.insert(texts);
        self.known.remove(&key_of(id));
        Ok(())
    }

    /// Whether its texts were disowned.
    pub(super) fn is_revoked(&self, digests: &ExecutorDigests) -> bool {
        self.revoked.contains(&texts_of(digests))
    }

    /// The pool itself.
    pub(super) const fn folder(&self) -> &Folder {
        &self.folder
    }

    /// What plans are made from.
    #[must_use]
    pub const fn installation(&self) -> &Installation {
        &self.installation
    }

    /// Everything in the pool.
    ///
    /// # Errors
    /// When there is too much of it, or it cannot be read.
    pub fn ids(&self) -> Result<Vec<ExecutorId>, FileError> {
        self.folder.ids()
    }

    /// Every version of one executor in the pool.
    ///
    /// # Errors
    /// When its folder cannot be read.
    pub fn versions(&self, name: &str) -> Result<Vec<ExecutorId>, FileError> {
        self.folder.versions(name)
    }

    /// Whether the key of the instance is known.
    ///
    /// # Errors
    /// [`Denial::Untrusted`].
    pub fn trusted(&self) -> Result<&VerifyingKey, Denial> {
        self.trusted.as_ref().ok_or(Denial::Untrusted)
    }

    /// Looks at an executor as it is now. What was verified in this process before and no longer is, is quarantined.
    ///
    /// # Errors
    /// When nothing can be said right now: that is no fault of the executor.
    pub fn inspect(&mut self, id: &ExecutorId) -> Result<Inspection, FileError> {
        let found = self.folder.version(id).map_err(Mismatch::from).and_then(|version| self.found(id, &version));
        let (mut entry, fits) = match found {
            Ok(found) => found,
            Err(misfit) => (entry(id, nothing(), misfit.to_string(), false), Err(misfit)),
        };
        let key = key_of(id);
        let lost = match &fits {
            Err(Mismatch::Later(error)) => return Err(error.clone()),
            Err(Mismatch::Different(why)) if self.known.contains_key(&key) => Some(why.clone()),
            Err(Mismatch::Different(_)) | Ok(_) => None,
        };
        let quarantined = lost.filter(|why| self.quarantine(id, why.clone()));
        if self.is_revoked(&entry.digests) {
            entry.fault = "its signature is revoked".to_owned();
            entry.signed = false;
        } else if let Some(why) = self.quarantined.get(&key) {
            entry.fault = shortened(&format!("in quarantine: {why}"));
            entry.signed = false;
        } else if let Ok(verified) = fits {
            self.known.insert(key, Rc::new(verified));
        }
        Ok(Inspection { entry, quarantined })
    }

    /// The listing's line, and the executor when it is signed.
    fn found(&self, id: &ExecutorId, version: &Version) -> Result<(PoolEntry, Result<Verified, Mismatch>), Mismatch> {
        let texts = Texts::read(version)?;
        let [manifest, code, schema] = texts.digests();
        let digests = ExecutorDigests { manifest, code, schema, profile: nothing().profile };
        let formed = match ExecutorFiles::of(id, texts, &self.installation) {
            Ok(formed) => formed,
            Err(why) => return Ok((entry(id, digests, why.clone(), false), Err(Mismatch::Different(why)))),
        };
        let digests = formed.digests.clone();
        let proof = match Proof::read(version) {
            Ok(proof) => proof,
            // A candidate; whether it should be one is not known here.
            Err(misfit) => {
                return Ok(match formed.contract.check() {
                    Ok(()) => (entry(id, digests, String::new(), false), Err(misfit)),
                    Err(why) => (entry(id, digests, why.clone(), false), Err(Mismatch::Different(why))),
                });
            }
        };
        let signed = match &self.trusted {
            Some(key) => proof.signs(&digests, key).is_ok(),
            None => false,
        };
        // Installed here, and the lock changed since: that is no candidate.
        let fault = match proof.locks(&digests.profile) {
            Err(misfit) if signed => misfit.to_string(),
            Err(_) | Ok(()) => String::new(),
        };
        let verified = match &self.trusted {
            Some(key) => Verified::new(formed, proof, key),
            None => Err(Mismatch::Different("nobody has said whose signature counts".to_owned())),
        };
        let signed = signed && fault.is_empty();
        Ok((entry(id, digests, fault, signed), verified))
    }

    /// The executor that `digests` name, verified now.
    ///
    /// # Errors
    /// A [`Denial`]; after [`Denial::Found`] it is quarantined.
    pub fn for_run(&mut self, id: &ExecutorId, digests: &ExecutorDigests) -> Result<Rc<Verified>, Denial> {
        self.trusted()?;
        if self.is_revoked(digests) {
            return Err(Denial::Revoked);
        }
        let key = key_of(id);
        if let Some(why) = self.quarantined.get(&key) {
            return Err(Denial::Known(why.clone()));
        }
        match self.verify(id, digests) {
            Ok(verified) => Ok(verified),
            Err(Mismatch::Later(error)) => Err(Denial::Later(error.to_string())),
            Err(Mismatch::Different(why)) => {
                self.quarantine(id, why.clone());
                Err(Denial::Found(why))
            }
        }
    }

    fn verify(&mut self, id: &ExecutorId, digests: &ExecutorDigests) -> Result<Rc<Verified>, Mismatch> {
        let version = self.folder.version(id)?;
        if let Some(known) = self.known.get(&key_of(id))
            && known.executor.digests == *digests
        {
            known.still(&version)?;
            return Ok(Rc::clone(known));
        }
        let texts = Texts::read(&version)?;
        compare(&texts.digests(), digests)?;
        let formed = ExecutorFiles::of(id, texts, &self.installation).map_err(Mismatch::Different)?;
        if formed.digests.profile != digests.profile {
            let (now, then) = (formed.digests.profile, digests.profile);
            let why =
                format!("the sandbox it would run in is not what was signed: its digest is {now}, signed was {then}");
            return Err(Mismatch::Different(why));
        }
        let Some(key) = &self.trusted else {
            return Err(Mismatch::Different("nobody has said whose signature counts".to_owned()));
        };
        let verified = Rc::new(Verified::new(formed, Proof::read(&version)?, key)?);
        self.known.insert(key_of(id), Rc::clone(&verified));
        Ok(verified)
    }

    /// Sets an executor aside; `false` when it was already, or when no more can be remembered.
    fn quarantine(&mut self, id: &ExecutorId, why: String) -> bool {
        let key = key_of(id);
        self.known.remove(&key);
        let plain = is_name(&id.name) && parse_version(&id.version).is_some();
        if !plain || self.quarantined.contains_key(&key) || self.quarantined.len() >= MAX_QUARANTINED {
            return false;
        }
        self.quarantined.insert(key, why);
        true
    }

    /// A candidate for birth: exactly the files that `digests` name, and its birth tests.
    ///
    /// # Errors
    /// The refusal.
    pub fn for_birth(
        &self,
        id: &ExecutorId,
        digests: &ExecutorDigests,
    ) -> Result<(ExecutorFiles, Texts, Vec<u8>), Refusal> {
        self.trusted().map_err(|denial| denial.refusal(id))?;
        if let Some(why) = self.quarantined.get(&key_of(id)) {
            return Err(quarantined(id, why));
        }
        let (formed, texts, version) = self.candidate(id, digests)?;
        let tests = version.read(File::Birth).map_err(|error| unfit(id, &error.to_string()))?;
        Ok((formed, texts, tests))
    }

    fn candidate(
        &self,
        id: &ExecutorId,
        digests: &ExecutorDigests,
    ) -> Result<(ExecutorFiles, Texts, Version), Refusal> {
        if self.is_revoked(digests) {
            return Err(revoked(id));
        }
        let version = self.folder.version(id).map_err(|error| {
            Refusal::new(RefusalCode::Unknown, "executor.unknown", format!("{id} is not in the pool: {error}"))
        })?;
        let texts = Texts::read(&version).map_err(|misfit| unfit(id, &misfit.to_string()))?;
        let formed = ExecutorFiles::of(id, texts.clone(), &self.installation).map_err(|why| unfit(id, &why))?;
        formed.contract.check().map_err(|why| unfit(id, &why))?;
        if formed.digests != *digests {
            let why = format!("the files of {id} are not those that were looked at; they changed in between");
            return Err(Refusal::new(RefusalCode::Denied, "birth.changed", why).remedy("have them looked at again"));
        }
        Ok((formed, texts, version))
    }

    /// Forgets that an executor was quarantined, because the owner lets it back; only while its files and its sandbox are
    /// exactly what he was shown. Whether it is signed is looked at when it is installed, and at every call.
    ///
    /// # Errors
    /// The refusal; it stays quarantined then.
    pub fn clear_findings(&mut self, id: &ExecutorId, digests: &ExecutorDigests) -> Result<(), Refusal> {
        self.trusted().map_err(|denial| denial.refusal(id))?;
        self.candidate(id, digests)?;
        self.quarantined.remove(&key_of(id));
        Ok(())
    }

    /// Puts lock and signature beside the files they cover, and verifies the whole from the disk.
    ///
    /// # Errors
    /// The refusal; the executor is not loaded then.
    pub fn install(&mut self, id: &ExecutorId, digests: &ExecutorDigests, signature: &[u8]) -> Result<(), Refusal> {
        let key = *self.trusted().map_err(|denial| denial.refusal(id))?;
        if let Some(why) = self.quarantined.get(&key_of(id)) {
            return Err(quarantined(id, why));
        }
        let (formed, _, version) = self.candidate(id, digests)?;
        let signature: [u8; SIGNATURE_BYTES] = signature.try_into().map_err(|_| {
            let why = format!("a signature has {SIGNATURE_BYTES} bytes, that of {id} has {}", signature.len());
            Refusal::new(RefusalCode::Invalid, "install.signature", why)
        })?;
        let proof = Proof::of(digests, &signature);
        let bad = |misfit: Mismatch| {
            Refusal::new(RefusalCode::Denied, "install.signature", format!("{id} is not installed: {misfit}"))
        };
        proof.signs(digests, &key).map_err(bad)?;
        let written = version
            .put(File::Lock, proof.lock())
            .and_then(|()| version.put(File::Profile, &canonical(formed.plan.spec())))
            .and_then(|()| version.put(File::Signature, proof.signature()))
            .and_then(|()| self.promote(id));
        written.map_err(|error| {
            Refusal::new(
                RefusalCode::Unavailable,
                "install.write",
                format!("the signature of {id} is not put in place: {error}"),
            )
            .remedy("sandboxd's user must be able to write below workspace/executors, and the disk must have room")
        })?;
        self.verify(id, digests).map(|_| ()).map_err(|misfit| unfit(id, &misfit.to_string()))
    }

    /// The sandbox of one version as it would be now, and as it was locked.
    ///
    /// # Errors
    /// When its files form no executor.
    pub fn profile(&self, id: &ExecutorId) -> Result<ExecutorProfile, Refusal> {
        let unfit = |why: &dyn std::fmt::Display| unfit(id, &why.to_string());
        let version = self.folder.version(id).map_err(|error| unfit(&error))?;
        let texts = Texts::read(&version).map_err(|misfit| unfit(&misfit))?;
        let plan = ExecutorFiles::of(id, texts, &self.installation).map_err(|why| unfit(&why))?.plan;
        let text = |file| version.read(file).ok().and_then(|bytes| String::from_utf8(bytes).ok());
        let locked = text(File::Lock).map(|lock| lock.trim_end().to_owned());
        // Believed when it is what the lock locks; the lock is what was signed.
        let kept = version.read(File::Profile).ok().filter(|bytes| Some(lock_of(bytes).to_string()) == locked);
        let kept = kept.and_then(|bytes| serde_json::from_slice::<Value>(&bytes).ok());
        Ok(ExecutorProfile {
            version: id.version.clone(),
            lock: plan.hash().to_string(),
            locked,
            plan: serde_json::to_value(plan.spec()).unwrap_or_default(),
            locked_plan: kept.unwrap_or_default(),
        })
    }

    /// `CURRENT` never goes back to an older version.
    fn promote(&self, id: &ExecutorId) -> Result<(), FileError> {
        let current = self.folder.current(&id.name);
        if current.as_deref().and_then(parse_version) >= parse_version(&id.version) {
            return Ok(());
        }
        self.folder.set_current(id)
    }
}

fn unfit(id: &ExecutorId, why: &str) -> Refusal {
    Refusal::new(RefusalCode::Invalid, "executor.unfit", format!("the files of {id} form no executor: {why}"))
}

/// What a revocation is about: no other sandbox makes the same texts good.
const fn texts_of(digests: &ExecutorDigests) -> [Blake3; 3] {
    [digests.manifest, digests.code, digests.schema]
}

/// What stands for the digests of what could not be read.
const fn nothing() -> ExecutorDigests {
    let none = Blake3([0; 32]);
    ExecutorDigests { manifest: none, code: none, schema: none, profile: none }
}

fn entry(id: &ExecutorId, digests: ExecutorDigests, fault: String, signed: bool) -> PoolEntry {
    PoolEntry { id: id.clone(), digests, fault: shortened(&fault), signed }
}

fn shortened(text: &str) -> String {
    if text.len() <= MAX_FAULT_BYTES {
        return text.to_owned();
    }
    let mut cut = text.floor_char_boundary(MAX_FAULT_BYTES - '…'.len_utf8());
    // Half a digest says nothing.
    if let Some(space) = text.get(..cut).and_then(|head| head.rfind(' ')) {
        cut = space;
    }
    format!("{}…", text.get(..cut).unwrap_or_default())
}
