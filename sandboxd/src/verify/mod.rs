//! Is what lies in the pool what was signed? Asked at start and at every call (design: executor
//! §3). The answer rests on the bytes alone: no time stamp, no inode, no size is believed, and
//! what was verified is held and run, never a file that is read again later.

pub mod birth;
pub mod contract;
pub mod output;
pub mod scan;

use ed25519_dalek::{Signature, VerifyingKey};
use metnos_proto::executor::{Manifest, Schema, profile_lock_text, signed_bytes};
use metnos_proto::ids::Blake3;
use metnos_proto::msg::common::{ExecutorDigests, ExecutorId};

use crate::plan::{Installation, Plan};
use crate::pool::files::{File, FileError, Version};
use crate::verify::contract::Contract;

/// Bytes of a signature.
pub const SIGNATURE_BYTES: usize = 64;

/// Why something is not what was signed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Mismatch {
    /// It is not, and this is how.
    #[error("{0}")]
    Different(String),
    /// Nothing can be said right now.
    #[error(transparent)]
    Later(FileError),
}

impl From<FileError> for Mismatch {
    fn from(error: FileError) -> Self {
        match error {
            FileError::Later { .. } => Self::Later(error),
            FileError::Missing(_)
            | FileError::NotPlain(_)
            | FileError::TooLong { .. }
            | FileError::Unreadable { .. }
            | FileError::Taken(_)
            | FileError::TooMany { .. } => Self::Different(error.to_string()),
        }
    }
}

fn different(why: impl Into<String>) -> Mismatch {
    Mismatch::Different(why.into())
}

/// The files that make an executor, as they are now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Texts {
    /// `manifest.toml`.
    pub manifest: Vec<u8>,
    /// `main.py`.
    pub code: Vec<u8>,
    /// `schema.json`.
    pub schema: Vec<u8>,
}

impl Texts {
    /// Reads them.
    ///
    /// # Errors
    /// The first that cannot be read.
    pub fn read(version: &Version) -> Result<Self, Mismatch> {
        Ok(Self {
            manifest: version.read(File::Manifest)?,
            code: version.read(File::Code)?,
            schema: version.read(File::Schema)?,
        })
    }

    /// Their digests, in the order of [`PARTS`].
    #[must_use]
    pub fn digests(&self) -> [Blake3; 3] {
        [Blake3::of(&self.manifest), Blake3::of(&self.code), Blake3::of(&self.schema)]
    }
}

/// The files that [`Texts`] holds.
pub const PARTS: [File; 3] = [File::Manifest, File::Code, File::Schema];

/// What proves that the owner's instance has signed: `profile.lock` and `manifest.sig`, as they are now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proof {
    lock: Vec<u8>,
    signature: Vec<u8>,
}

impl Proof {
    /// Reads it.
    ///
    /// # Errors
    /// The first file that cannot be read.
    pub fn read(version: &Version) -> Result<Self, Mismatch> {
        Ok(Self { lock: version.read(File::Lock)?, signature: version.read(File::Signature)? })
    }

    /// What [`signature_text`] and the lock of these digests make of a signature.
    #[must_use]
    pub fn of(digests: &ExecutorDigests, signature: &[u8; SIGNATURE_BYTES]) -> Self {
        Self {
            lock: profile_lock_text(&digests.profile).into_bytes(),
            signature: signature_text(signature).into_bytes(),
        }
    }

    /// `profile.lock`.
    #[must_use]
    pub fn lock(&self) -> &[u8] {
        &self.lock
    }

    /// `manifest.sig`.
    #[must_use]
    pub fn signature(&self) -> &[u8] {
        &self.signature
    }

    /// Whether `manifest.sig` covers exactly these digests.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn signs(&self, digests: &ExecutorDigests, key: &VerifyingKey) -> Result<(), Mismatch> {
        let signature = signature_of(&self.signature).ok_or_else(|| {
            different("manifest.sig is no signature: it must be 128 hexadecimal digits and a line end")
        })?;
        key.verify_strict(&signed_bytes(digests), &Signature::from_bytes(&signature))
            .map_err(|_| different("manifest.sig is not this instance's signature of these files"))
    }

    /// Whether `profile.lock` names exactly this sandbox.
    ///
    /// # Errors
    /// When it does not.
    pub fn locks(&self, profile: &Blake3) -> Result<(), Mismatch> {
        if self.lock == profile_lock_text(profile).as_bytes() {
            return Ok(());
        }
        Err(different(format!("profile.lock does not name the sandbox that would be applied, {profile}")))
    }
}

/// The content of `manifest.sig`.
#[must_use]
pub fn signature_text(signature: &[u8; SIGNATURE_BYTES]) -> String {
    let mut text: String = signature.iter().map(|byte| format!("{byte:02x}")).collect();
    text.push('\n');
    text
}

/// Reads what [`signature_text`] writes, and nothing else.
#[must_use]
pub fn signature_of(text: &[u8]) -> Option<[u8; SIGNATURE_BYTES]> {
    let digits = text.strip_suffix(b"\n")?;
    let value = |digit: u8| match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        _ => None,
    };
    let bytes: Option<Vec<u8>> =
        digits.chunks(2).map(|pair| Some(value(*pair.first()?)? << 4 | value(*pair.get(1)?)?)).collect();
    bytes?.try_into().ok()
}

/// An executor whose files form one: nothing is said about who approved it.
#[derive(Debug)]
pub struct ExecutorFiles {
    /// Which.
    pub id: ExecutorId,
    /// Of the texts, and of the plan.
    pub digests: ExecutorDigests,
    /// Its manifest.
    pub manifest: Manifest,
    /// The very bytes that run.
    pub code: Vec<u8>,
    /// Its schema.
    pub contract: Contract,
    /// Its sandbox.
    pub plan: Plan,
}

impl ExecutorFiles {
    /// Makes an executor of the texts.
    ///
    /// # Errors
    /// In a sentence, why they form none.
    pub fn of(id: &ExecutorId, texts: Texts, installation: &Installation) -> Result<Self, String> {
        let [manifest_digest, code_digest, schema_digest] = texts.digests();
        let manifest = Manifest::parse(&texts.manifest).map_err(|error| format!("manifest.toml: {error}"))?;
        if manifest.id() != *id {
            return Err(format!("manifest.toml says that it is {}", manifest.id()));
        }
        if let Err(error) = std::str::from_utf8(&texts.code) {
            return Err(format!("main.py is not UTF-8 (byte {})", error.valid_up_to()));
        }
        let schema = Schema::parse(&texts.schema).map_err(|error| error.to_string())?;
        let plan = installation.plan(&manifest).map_err(|error| error.to_string())?;
        let digests = ExecutorDigests {
            manifest: manifest_digest,
            code: code_digest,
            schema: schema_digest,
            profile: plan.hash(),
        };
        if manifest.sandbox.hash.as_ref().is_some_and(|said| *said != plan.hash().to_string()) {
            return Err(format!(
                "manifest.toml names another sandbox than the one that would be applied, {}",
                plan.hash()
            ));
        }
        let contract = Contract::new(schema);
        Ok(Self { id: id.clone(), digests, manifest, code: texts.code, contract, plan })
    }
}

/// An executor that is what was signed, held in memory as it was when that was found.
#[derive(Debug)]
pub struct Verified {
    /// It.
    pub executor: ExecutorFiles,
    proof: Proof,
}

impl Verified {
    /// Takes an executor for verified.
    ///
    /// # Errors
    /// When its lock or its signature does not fit.
    pub fn new(executor: ExecutorFiles, proof: Proof, key: &VerifyingKey) -> Result<Self, Mismatch> {
        proof.locks(&executor.plan.hash())?;
        proof.signs(&executor.digests, key)?;
        Ok(Self { executor, proof })
    }

    /// Whether the files are still, byte for byte, what was verified. This is all that an unchanged
    /// executor costs: its files are read and hashed.
    ///
    /// # Errors
    /// The first file that is not.
    pub fn still(&self, version: &Version) -> Result<(), Mismatch> {
        compare(&Texts::read(version)?.digests(), &self.executor.digests)?;
        let now = Proof::read(version)?;
        now.locks(&self.executor.digests.profile)?;
        if now.signature != self.proof.signature {
            return Err(different("manifest.sig is not the signature that was verified"));
        }
        Ok(())
    }
}

/// Whether these texts are the ones that `wanted` names.
///
/// # Errors
/// The first file that is not.
pub fn compare(found: &[Blake3; 3], wanted: &ExecutorDigests) -> Result<(), Mismatch> {
    let wanted = [wanted.manifest, wanted.code, wanted.schema];
    for ((file, found), wanted) in PARTS.iter().zip(found).zip(wanted) {
        if *found != wanted {
            let name = file.name();
            return Err(different(format!(
                "{name} is not what was signed: its digest is {found}, signed was {wanted}"
            )));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_signature_is_read_back_as_written_and_any_other_spelling_is_none(
            bytes in prop::collection::vec(any::<u8>(), SIGNATURE_BYTES), at in 0usize..129, other in any::<u8>(),
        ) {
            let signature: [u8; SIGNATURE_BYTES] = bytes.try_into().unwrap();
            let mut text = signature_text(&signature).into_bytes();
            prop_assert_eq!(signature_of(&text), Some(signature));
            let same = text[at] == other;
            text[at] = other;
            prop_assert!(same || signature_of(&text) != Some(signature));
            text.push(b'\n');
            prop_assert_eq!(signature_of(&text), None);
        }

        #[test]
        fn any_bytes_are_a_signature_or_none(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = signature_of(&bytes);
        }
    }
}
