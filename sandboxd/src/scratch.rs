//! Workspaces for birth tests: small, in memory, made from a description and gone with it.
//! A description can make nothing outside its folder, and nothing large.

use std::ffi::OsStr;
use std::os::fd::{AsFd, OwnedFd};

use metnos_proto::executor::Places;
use metnos_proto::executor::forbidden::within_workspace;
use rustix::fs::{CWD, Mode, OFlags};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::confine::mounts;
use crate::plan::{SCRATCH, SCRATCH_OUTSIDE};
use crate::pool::ScratchFolder;

/// The most files of one workspace.
pub const MAX_FILES: usize = 256;
/// The most bytes of one file.
pub const MAX_FILE_BYTES: usize = 21 << 20;

/// One file, as a birth test describes it: exactly one kind.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct FileDescription {
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    times: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    base64: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    link: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    fifo: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    folder: Option<bool>,
}

impl FileDescription {
    /// A file with this text.
    #[must_use]
    pub fn text(text: &str) -> Self {
        Self { text: Some(text.to_owned()), ..Self::default() }
    }

    /// The same text so many times.
    #[must_use]
    pub fn repeated(self, times: usize) -> Self {
        Self { times: Some(times), ..self }
    }

    /// A file with these bytes.
    #[must_use]
    pub fn base64(bytes: &str) -> Self {
        Self { base64: Some(bytes.to_owned()), ..Self::default() }
    }

    /// A symbolic link.
    #[must_use]
    pub fn link(target: &str) -> Self {
        Self { link: Some(target.to_owned()), ..Self::default() }
    }

    /// A pipe.
    #[must_use]
    pub fn fifo() -> Self {
        Self { fifo: Some(true), ..Self::default() }
    }

    /// An empty folder.
    #[must_use]
    pub fn folder() -> Self {
        Self { folder: Some(true), ..Self::default() }
    }
}

/// A workspace of a birth test; removed when dropped.
#[derive(Debug)]
pub struct Scratch {
    path: String,
}

impl ScratchFolder for Scratch {
    fn folder(&self) -> &str {
        &self.path
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        for path in [self.path.clone(), self.outside()] {
            match std::fs::remove_dir_all(&path) {
                Ok(()) => {}
                // Most have nothing outside.
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
                Err(error) => tracing::warn!(%error, path, "a scratch workspace could not be removed"),
            }
        }
    }
}

impl Scratch {
    /// Makes the workspace number `number` with the files that `files`, a JSON object by path, describes.
    ///
    /// # Errors
    /// In a sentence, what cannot be made.
    pub fn make(number: u64, files: &Value) -> Result<Self, String> {
        Self::make_below(SCRATCH, number, files)
    }

    /// As [`Scratch::make`], in another folder than sandboxd's own.
    ///
    /// # Errors
    /// As [`Scratch::make`].
    pub fn make_below(folder: &str, number: u64, files: &Value) -> Result<Self, String> {
        let Value::Object(files) = files else {
            return Err("the files of a case are an object by path".to_owned());
        };
        if files.len() > MAX_FILES {
            return Err(format!("{} files; at most {MAX_FILES} can be made", files.len()));
        }
        let path = format!("{folder}/{number}");
        std::fs::create_dir(&path).map_err(|error| format!("{path}: {error}"))?;
        // From here on it is removed, whatever goes wrong.
        let scratch = Self { path };
        let root = rustix::fs::openat(CWD, scratch.path.as_str(), OFlags::PATH | OFlags::CLOEXEC, Mode::empty());
        let root = root.map_err(|errno| format!("{}: {errno}", scratch.path))?;
        let mut outside = None;
        for (path, description) in files {
            let put = match path.strip_prefix('/') {
                None => put(&root, path, description),
                Some(below) => scratch.root_outside(&mut outside).and_then(|root| put(root, below, description)),
            };
            put.map_err(|why| format!("{path}: {why}"))?;
        }
        Ok(scratch)
    }

    /// Where what lies outside the workspace is, by its whole path.
    fn outside(&self) -> String {
        format!("{}{SCRATCH_OUTSIDE}", self.path)
    }

    fn root_outside<'a>(&self, opened: &'a mut Option<OwnedFd>) -> Result<&'a OwnedFd, String> {
        if opened.is_none() {
            let path = self.outside();
            std::fs::create_dir(&path).map_err(|error| format!("{path}: {error}"))?;
            let root = rustix::fs::openat(CWD, path.as_str(), OFlags::PATH | OFlags::CLOEXEC, Mode::empty());
            *opened = Some(root.map_err(|errno| format!("{path}: {errno}"))?);
        }
        opened.as_ref().ok_or_else(|| "it is not there".to_owned())
    }
}

/// The mode of a file of the owner: what may be written may be changed.
const OWNERS: u32 = 0o640;

fn put(root: &OwnedFd, path: &str, description: &Value) -> Result<(), String> {
    let plain = within_workspace(path, &Places::default()).filter(|plain| plain == path && !plain.is_empty());
    let Some(path) = plain.filter(|path| !path.contains('\0')) else {
        return Err("is no plain path below the workspace".to_owned());
    };
    let unknown = || "is described neither by text, base64, link, fifo nor folder".to_owned();
    let file: FileDescription = serde_json::from_value(description.clone()).map_err(|_| unknown())?;
    let (folder, name) = path.rsplit_once('/').unwrap_or(("", &path));
    let folder = if folder.is_empty() {
        root.try_clone().map_err(|error| error.to_string())?
    } else {
        mounts::make_place(root.as_fd(), folder, true).map_err(|errno| errno.to_string())?
    };
    let made = match file {
        FileDescription { link: None, fifo: None, folder: None, .. } => {
            mounts::write_file(folder.as_fd(), name, &content_of(file)?, OWNERS)
        }
        FileDescription { link: Some(link), text: None, times: None, base64: None, fifo: None, folder: None } => {
            rustix::fs::symlinkat(link.as_str(), &folder, OsStr::new(name))
        }
        FileDescription { fifo: Some(true), text: None, times: None, base64: None, link: None, folder: None } => {
            rustix::fs::mkfifoat(&folder, OsStr::new(name), Mode::from_raw_mode(0o600))
        }
        FileDescription { folder: Some(true), text: None, times: None, base64: None, link: None, fifo: None } => {
            // It may be there already, because of a file in it.
            mounts::make_place(folder.as_fd(), name, true).map(drop)
        }
        FileDescription { .. } => return Err(unknown()),
    };
    made.map_err(|errno| errno.to_string())
}

/// The bytes of a file that a case describes by `text` or `base64`.
///
/// # Errors
/// In a sentence, why it describes none.
pub fn content(description: &Value) -> Result<Vec<u8>, String> {
    let file: Result<FileDescription, _> = serde_json::from_value(description.clone());
    content_of(file.map_err(|_| "is described neither by text nor by base64".to_owned())?)
}

fn content_of(file: FileDescription) -> Result<Vec<u8>, String> {
    match file {
        FileDescription { text: Some(text), times, base64: None, link: None, fifo: None, folder: None } => {
            let times = times.unwrap_or(1);
            let length = text.len().checked_mul(times).filter(|length| *length <= MAX_FILE_BYTES);
            length.ok_or_else(|| format!("has more than {MAX_FILE_BYTES} bytes"))?;
            Ok(text.repeat(times).into_bytes())
        }
        FileDescription { base64: Some(base64), text: None, times: None, link: None, fifo: None, folder: None } => {
            decode(&base64).ok_or_else(|| "is not base64".to_owned())
        }
        FileDescription { .. } => Err("is described neither by text, base64, link, fifo nor folder".to_owned()),
    }
}

/// Reads base64 (RFC 4648, with padding); `None` for anything else.
fn decode(text: &str) -> Option<Vec<u8>> {
    let digit = |byte: u8| match byte {
        b'A'..=b'Z' => Some(byte - b'A'),
        b'a'..=b'z' => Some(byte - b'a' + 26),
        b'0'..=b'9' => Some(byte - b'0' + 52),
        b'+' => Some(62),
        b'/' => Some(63),
        _ => None,
    };
    let bytes = text.as_bytes();
    if !bytes.len().is_multiple_of(4) {
        return None;
    }
    let mut out = Vec::with_capacity(bytes.len() / 4 * 3);
    for (index, group) in bytes.chunks_exact(4).enumerate() {
        let last = (index + 1) * 4 == bytes.len();
        let padding = group.iter().rev().take_while(|byte| **byte == b'=').count();
        if padding > 2 || (padding > 0 && !last) {
            return None;
        }
        let digits = group.iter().take(4 - padding).map(|byte| digit(*byte)).collect::<Option<Vec<u8>>>()?;
        let sum = digits.iter().fold(0_u32, |sum, digit| sum << 6 | u32::from(*digit)) << (6 * padding);
        let [_, a, b, c] = sum.to_be_bytes();
        out.extend_from_slice([a, b, c].get(..3 - padding)?);
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn make(files: &Value) -> (tempfile::TempDir, Result<Scratch, String>) {
        let folder = tempfile::tempdir().unwrap();
        let made = Scratch::make_below(folder.path().to_str().unwrap(), 1, files);
        (folder, made)
    }

    #[test]
    fn every_kind_of_file_is_made_and_all_are_gone_afterwards() {
        let (folder, made) = make(&json!({
            "a/b/text": {"text": "ab", "times": 3}, "bytes": {"base64": "/wA="}, "link": {"link": "/etc/passwd"},
            "pipe": {"fifo": true}, "empty": {"folder": true},
        }));
        let scratch = made.unwrap();
        let at = |path: &str| std::path::Path::new(scratch.folder()).join(path);
        assert_eq!(std::fs::read(at("a/b/text")).unwrap(), b"ababab");
        assert_eq!(std::fs::read(at("bytes")).unwrap(), [0xff, 0]);
        assert_eq!(std::fs::read_link(at("link")).unwrap().to_str(), Some("/etc/passwd"));
        assert!(at("empty").is_dir() && at("pipe").symlink_metadata().is_ok());
        drop(scratch);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn nothing_is_made_outside_nor_through_a_link() {
        for path in ["../x", "/../x", "//x", "/", "a/../b", "", "a//b", "./a", "~/x"] {
            assert!(make(&json!({path: {"text": "x"}})).1.is_err(), "{path}");
        }
        let target = tempfile::tempdir().unwrap();
        let through = json!({"a": {"link": target.path()}, "a/b": {"text": "x"}});
        assert!(make(&through).1.is_err());
        assert_eq!(std::fs::read_dir(target.path()).unwrap().count(), 0);
    }

    #[test]
    fn oversized_or_malformed_scratch_is_refused_without_trace() {
        let most = json!({"a": {"text": "x", "times": MAX_FILE_BYTES}});
        assert!(make(&most).1.is_ok());
        for bad in [
            json!({"a": {"text": "x", "times": MAX_FILE_BYTES + 1}}),
            json!({"a": {"text": "xx", "times": usize::MAX}}),
            json!({"a": {"base64": "===="}}),
            json!({"a": {"device": true}}),
            json!({"a": {"fifo": false}}),
            json!({"a": {}}),
            json!({"a": {"text": "x", "link": "y"}}),
            json!([]),
        ] {
            let (folder, made) = make(&bad);
            assert!(made.is_err(), "{bad}");
            assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
        }
    }

    proptest! {
        #[test]
        fn any_text_is_base64_or_nothing_and_never_a_panic(text in "[A-Za-z0-9+/=]{0,24}") {
            if let Some(bytes) = decode(&text) {
                prop_assert!(bytes.len() <= text.len() / 4 * 3);
            }
        }
    }
}
