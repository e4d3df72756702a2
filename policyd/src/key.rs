//! The instance's Ed25519 key: made at the first start, read only here, and never sent,
//! logged or shown. Its public half is who this instance is.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use ed25519_dalek::{SECRET_KEY_LENGTH, Signer, SigningKey};
use metnos_proto::chain::Anchor;
use metnos_proto::msg::common::ExecutorDigests;
use metnos_proto::parcel::Parcel;
use zeroize::Zeroizing;

/// The key's file, in policyd's own folder.
pub const KEY_FILE: &str = "instance.key";
/// What the name of a file has before its bytes are on the disk.
const NEW: &str = ".new";

/// Bytes that are wiped when dropped.
pub(crate) type SecretBytes = Zeroizing<[u8; SECRET_KEY_LENGTH]>;

/// Why there is no key.
#[derive(Debug, thiserror::Error)]
pub enum KeyError {
    /// The file is not what it must be.
    #[error(
        "{path} {what}; a key of an instance is a regular file of {SECRET_KEY_LENGTH} bytes, mode 0600, owned by policyd's user: restore it from a backup"
    )]
    Unfit {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        what: String,
    },
    /// The kernel said no.
    #[error("{path}: {source}")]
    Io {
        /// The file.
        path: PathBuf,
        /// What it said.
        source: io::Error,
    },
    /// The kernel gave no random numbers.
    #[error("the kernel gives no random numbers: {0}")]
    Random(getrandom::Error),
}

/// The signing key. Wiped from memory when dropped; has no way out but signatures.
pub struct InstanceKey {
    signing: SigningKey,
}

impl std::fmt::Debug for InstanceKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("InstanceKey(..)")
    }
}

impl InstanceKey {
    /// Reads the key in `folder`, or makes one when there is none yet.
    ///
    /// # Errors
    /// When the file has another owner, mode, kind or size, or cannot be read or made durable.
    pub fn open_or_create(folder: &Path) -> Result<Self, KeyError> {
        Ok(Self { signing: SigningKey::from_bytes(&*kept(folder, KEY_FILE)?) })
    }

    /// Who this instance is.
    #[must_use]
    pub fn public(&self) -> [u8; 32] {
        self.signing.verifying_key().to_bytes()
    }

    /// The public key as 64 hexadecimal digits.
    #[must_use]
    pub fn public_hex(&self) -> String {
        metnos_proto::ids::Blake3(self.public()).hex()
    }

    /// Signs an executor (design: executor §2). The same digests always give the same 64 bytes.
    #[must_use]
    pub fn sign(&self, digests: &ExecutorDigests) -> Vec<u8> {
        self.signing.sign(&metnos_proto::executor::signed_bytes(digests)).to_bytes().to_vec()
    }

    /// Signs an executor that leaves for another instance.
    #[must_use]
    pub fn sign_parcel(&self, parcel: &Parcel) -> [u8; 64] {
        self.signing.sign(&parcel.signed_bytes()).to_bytes()
    }

    /// Signs a head of the chronicle (design: memory §1).
    #[must_use]
    pub fn sign_anchor(&self, anchor: &Anchor) -> [u8; 64] {
        self.signing.sign(&anchor.signed_bytes()).to_bytes()
    }
}

/// The bytes that are kept in this file of policyd's folder, for nobody but its user; made at the first time.
///
/// # Errors
/// When the file has another owner, mode, kind or size, or cannot be read or made durable.
pub(crate) fn kept(folder: &Path, name: &str) -> Result<SecretBytes, KeyError> {
    match open(folder, name)? {
        Some(bytes) => Ok(bytes),
        None => create(folder, name),
    }
}

fn open(folder: &Path, name: &str) -> Result<Option<SecretBytes>, KeyError> {
    let path = folder.join(name);
    let io = |source| KeyError::Io { path: path.clone(), source };
    let flags = (rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK).bits();
    let mut file = match OpenOptions::new().read(true).custom_flags(flags.cast_signed()).open(&path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(io(error)),
    };
    let unfit = |what: String| KeyError::Unfit { path: path.clone(), what };
    let meta = file.metadata().map_err(io)?;
    if !meta.is_file() {
        return Err(unfit("is no regular file".to_owned()));
    }
    if meta.permissions().mode() & 0o077 != 0 {
        return Err(unfit(format!("has mode {:04o}: others may read it", meta.permissions().mode() & 0o7777)));
    }
    if meta.uid() != rustix::process::geteuid().as_raw() {
        return Err(unfit(format!("belongs to uid {}", meta.uid())));
    }
    if meta.len() != SECRET_KEY_LENGTH as u64 {
        return Err(unfit(format!("has {} bytes", meta.len())));
    }
    let mut seed = Zeroizing::new([0; SECRET_KEY_LENGTH]);
    file.read_exact(seed.as_mut()).map_err(io)?;
    Ok(Some(seed))
}

/// A key has its name only when its bytes are on the disk, and never replaces another.
fn create(folder: &Path, name: &str) -> Result<SecretBytes, KeyError> {
    let (fresh, path) = (folder.join(format!("{name}{NEW}")), folder.join(name));
    let io = |source| KeyError::Io { path: path.clone(), source };
    match fs::remove_file(&fresh) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(io(error)),
    }
    let mut seed = Zeroizing::new([0; SECRET_KEY_LENGTH]);
    getrandom::fill(seed.as_mut()).map_err(KeyError::Random)?;
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&fresh).map_err(io)?;
    file.write_all(seed.as_ref()).map_err(io)?;
    file.sync_all().map_err(io)?;
    let cwd = rustix::fs::CWD;
    rustix::fs::renameat_with(cwd, &fresh, cwd, &path, rustix::fs::RenameFlags::NOREPLACE)
        .map_err(|error| io(error.into()))?;
    File::open(folder).and_then(|folder| folder.sync_all()).map_err(io)?;
    Ok(seed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ed25519_dalek::{Signature, VerifyingKey};
    use metnos_proto::ids::Blake3;

    fn digests() -> ExecutorDigests {
        ExecutorDigests {
            manifest: Blake3::of(b"m"),
            code: Blake3::of(b"c"),
            schema: Blake3::of(b"s"),
            profile: Blake3::of(b"p"),
        }
    }

    #[test]
    fn a_key_is_made_once_and_is_the_same_afterwards() {
        let folder = tempfile::tempdir().unwrap();
        let key = InstanceKey::open_or_create(folder.path()).unwrap();
        let again = InstanceKey::open_or_create(folder.path()).unwrap();
        assert_eq!(key.public(), again.public());
        assert_eq!(key.sign(&digests()), again.sign(&digests()));
        assert_eq!(key.public_hex().len(), 64);
        let mode = fs::metadata(folder.path().join(KEY_FILE)).unwrap().permissions().mode();
        assert_eq!(mode & 0o7777, 0o600);
        assert!(!folder.path().join(format!("{KEY_FILE}{NEW}")).exists());
    }

    #[test]
    fn a_signature_covers_the_four_digests_in_their_order() {
        let folder = tempfile::tempdir().unwrap();
        let key = InstanceKey::open_or_create(folder.path()).unwrap();
        let signature = Signature::from_slice(&key.sign(&digests())).unwrap();
        let verifying = VerifyingKey::from_bytes(&key.public()).unwrap();
        let message = [b"m", b"c", b"s", b"p"].map(|part| Blake3::of(part).0).concat();
        assert!(verifying.verify_strict(&message, &signature).is_ok());
    }

    #[test]
    fn a_half_written_key_of_an_interrupted_start_is_made_anew() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join(format!("{KEY_FILE}{NEW}")), b"half").unwrap();
        assert!(InstanceKey::open_or_create(folder.path()).is_ok());
    }

    #[test]
    fn a_key_that_others_may_read_or_that_is_no_plain_file_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(KEY_FILE);
        InstanceKey::open_or_create(folder.path()).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        assert!(matches!(InstanceKey::open_or_create(folder.path()), Err(KeyError::Unfit { .. })));
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        fs::write(&path, [0; SECRET_KEY_LENGTH + 1]).unwrap();
        assert!(matches!(InstanceKey::open_or_create(folder.path()), Err(KeyError::Unfit { .. })));
        fs::remove_file(&path).unwrap();
        std::os::unix::fs::symlink("elsewhere", &path).unwrap();
        assert!(InstanceKey::open_or_create(folder.path()).is_err());
        fs::remove_file(&path).unwrap();
        fs::create_dir(&path).unwrap();
        assert!(InstanceKey::open_or_create(folder.path()).is_err());
    }

    #[test]
    fn a_key_does_not_show_itself() {
        let folder = tempfile::tempdir().unwrap();
        let key = InstanceKey::open_or_create(folder.path()).unwrap();
        assert_eq!(format!("{key:?}"), "InstanceKey(..)");
    }
}
