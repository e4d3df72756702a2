//! `[file]`: an executor that takes a file or gives one. Its bytes travel beside the arguments or the result, sealed, and pass
//! through the executor in pieces (`ctx.file_size`, `ctx.read_file()`, `ctx.give_file()`): no JSON holds them, and no record.

use serde::{Deserialize, Serialize};

use crate::executor::{Capability, Manifest, ManifestError};
use crate::payload::MAX_FILE;

/// The largest file, in MiB.
pub const MAX_FILE_MB: u32 = (MAX_FILE >> 20) as u32;

/// `[file]`: exactly one of the two.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FileTransfer {
    /// The largest file that it takes, in MiB.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub takes_mb: Option<u32>,
    /// The largest file that it gives, in MiB.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gives_mb: Option<u32>,
}

impl FileTransfer {
    /// The most bytes that it takes; `None` when it takes no file.
    #[must_use]
    pub fn takes(&self) -> Option<usize> {
        self.takes_mb.map(bytes)
    }

    /// The most bytes that it gives; `None` when it gives no file.
    #[must_use]
    pub fn gives(&self) -> Option<usize> {
        self.gives_mb.map(bytes)
    }

    pub(in crate::executor) fn validate(self, manifest: &Manifest) -> Result<(), ManifestError> {
        let expected = format!("1 to {MAX_FILE_MB} MiB, as `takes_mb` or as `gives_mb`");
        let mb = match (self.takes_mb, self.gives_mb) {
            (Some(mb), None) | (None, Some(mb)) => mb,
            (None, None) => return Err(ManifestError::field("file", "empty", expected)),
            (Some(_), Some(_)) => return Err(ManifestError::field("file", "both", expected)),
        };
        if !(1..=MAX_FILE_MB).contains(&mb) {
            return Err(ManifestError::field("file", mb, expected));
        }
        // Nobody looks into a file on its way: neither may it hold a secret that was given, nor go out to the net or to a model.
        // One that comes from the server of an account may be given: sandboxd looks whether the password stands in it.
        let from_account = self.gives_mb.is_some() && manifest.account().is_some() && !manifest.sends_mail();
        let others = |capability: &&Capability| match capability {
            Capability::FsRead(_) | Capability::FsWrite(_) => false,
            Capability::Net(_) => !from_account,
            Capability::Exec(_) | Capability::Secret(_) => true,
        };
        if let Some(other) = manifest.sandbox.capabilities.iter().find(others) {
            return Err(ManifestError::field(
                "file",
                other.name(),
                "no other capability than `fs_read` and `fs_write`, or the server of an account where it gives one",
            ));
        }
        if manifest.mind.is_some() {
            return Err(ManifestError::field("file", "[mind]", "no [mind] beside it"));
        }
        Ok(())
    }
}

/// In MiB, as bytes.
const fn bytes(mb: u32) -> usize {
    // At most 20 MiB by validation; a cast cannot truncate.
    (mb as usize) << 20
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn parse(file: &str, capabilities: &str) -> Result<Manifest, ManifestError> {
        let text = include_str!("../../../../executors/file_get/manifest.toml");
        let text = text.replace("gives_mb = 20", file).replace("{ fs_read = [\"workspace/\"] }", capabilities);
        Manifest::parse(text.as_bytes())
    }

    const READS: &str = "{ fs_read = [\"workspace/\"] }";

    #[test]
    fn a_manifest_takes_a_file_or_gives_one_and_no_larger_than_any_payload() {
        assert_eq!(parse("gives_mb = 20", READS).unwrap().file.unwrap().gives(), Some(20 << 20));
        assert_eq!(parse("takes_mb = 1", READS).unwrap().file.unwrap().takes(), Some(1 << 20));
        assert_eq!(parse("takes_mb = 1", READS).unwrap().file.unwrap().gives(), None);
        for bad in ["", "gives_mb = 0", "gives_mb = 21", "takes_mb = 1\ngives_mb = 1", "other_mb = 1"] {
            assert!(parse(bad, READS).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_file_may_come_from_the_server_of_an_account_and_go_to_none() {
        let fetch = include_str!("../../../../executors/imap_fetch/manifest.toml");
        let send = include_str!("../../../../executors/smtp_send/manifest.toml");
        let filed = |text: &str, file: &str| {
            Manifest::parse(text.replace("[effects]", &format!("[file]\n{file}\n\n[effects]")).as_bytes())
        };
        assert!(filed(fetch, "gives_mb = 1").is_ok());
        assert!(filed(fetch, "takes_mb = 1").is_err());
        assert!(filed(send, "gives_mb = 1").is_err() && filed(send, "takes_mb = 1").is_err());
    }

    #[test]
    fn a_file_goes_neither_to_the_net_nor_to_a_model() {
        let others = [
            include_str!("../../../../executors/web_fetch/manifest.toml"),
            include_str!("../../../../executors/llm_summarise/manifest.toml"),
        ];
        for other in others {
            assert!(Manifest::parse(other.as_bytes()).is_ok());
            let filed = other.replace("[effects]", "[file]\ngives_mb = 1\n\n[effects]");
            let error = Manifest::parse(filed.as_bytes()).unwrap_err();
            assert!(matches!(&error, ManifestError::Field { field, .. } if field == "file"), "{error}");
        }
    }
}
