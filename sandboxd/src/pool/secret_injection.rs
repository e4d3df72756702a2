//! What a call is given besides its arguments: secrets, a model's words, a file. Each comes exactly where the signed manifest
//! asks for it.

use std::cell::RefCell;
use std::rc::Rc;

use metnos_proto::executor::FileTransfer;
use metnos_proto::ids::Blake3;
use metnos_proto::json::{self, Limits};
use metnos_proto::msg::common::{ExecutorId, Refusal, RefusalCode};
use metnos_proto::payload::{Filling, Sealed};
use serde_json::Value;

use super::{JobFile, Secrets};
use crate::pool::secrets::AccountParts;
use crate::verify::Verified;

/// What comes with the arguments of a call, sealed.
#[derive(Debug)]
pub enum SealedInput {
    /// Nothing.
    Nothing,
    /// The secrets that its executor was granted.
    Secrets(Sealed),
    /// What a model has said about the arguments.
    Thought(Sealed),
    /// The file that its executor takes, and its digest as policyd has it.
    File(Sealed, Blake3),
    /// Nothing, and a file is to come out.
    Gives,
    /// An account, and a file is to come out.
    GivesFrom(Sealed),
}

/// The same, read.
pub(crate) struct CallInput {
    pub(crate) secrets: Secrets,
    pub(crate) thought: Option<Vec<u8>>,
    pub(crate) file: Option<JobFile>,
}

/// The most bytes of what a model has said.
const MAX_THOUGHT: usize = metnos_proto::msg::mind::MAX_REPLY;

impl CallInput {
    /// Exactly what the manifest asks for, no more and no less.
    pub(crate) fn read(comes: SealedInput, verified: &Verified, id: &ExecutorId) -> Result<Self, Refusal> {
        let executor = &verified.executor;
        let (mut secrets, mut thought, mut file) = (None, None, None);
        match comes {
            SealedInput::Nothing => {}
            SealedInput::Secrets(sealed) => secrets = Some(sealed),
            SealedInput::Thought(sealed) => thought = Some(sealed),
            SealedInput::File(sealed, digest) => file = Some(Some((sealed, digest))),
            SealedInput::Gives => file = Some(None),
            SealedInput::GivesFrom(account) => (secrets, file) = (Some(account), Some(None)),
        }
        let file = Self::read_file(file, executor.manifest.file, id)?;
        let plan = &executor.plan;
        let secrets = Secrets::read(secrets, &plan.spec().secrets, AccountParts::of(plan)).map_err(|why| {
            Refusal::new(RefusalCode::Denied, "secret.other", format!("{id} does not run: {why}"))
                .remedy("`metnosctl secret list` shows what is kept, and for whom")
        })?;
        let other =
            |why: String| Refusal::new(RefusalCode::Denied, "thought.other", format!("{id} does not run: {why}"));
        if thought.is_some() != executor.manifest.mind.is_some() {
            return Err(other("a model's words come exactly where its manifest has [mind]".to_owned()));
        }
        let read = |sealed: Sealed| {
            let bytes = sealed.read().map_err(|error| other(error.to_string()))?;
            let limits = Limits { max_bytes: MAX_THOUGHT, max_depth: 4 };
            let object =
                json::parse_object(&bytes, limits).map_err(|error| other(format!("the model's words: {error}")))?;
            Ok(json::canonical(&Value::Object(object)))
        };
        Ok(Self { secrets, thought: thought.map(read).transpose()?, file })
    }

    /// A file comes exactly where the manifest takes one, and goes out exactly where it gives one.
    fn read_file(
        comes: Option<Option<(Sealed, Blake3)>>,
        way: Option<FileTransfer>,
        id: &ExecutorId,
    ) -> Result<Option<JobFile>, Refusal> {
        let other = |why: &str| Refusal::new(RefusalCode::Denied, "file.other", format!("{id} does not run: {why}"));
        let (takes, gives) = (way.and_then(|way| way.takes()), way.and_then(|way| way.gives()));
        match (comes, takes, gives) {
            (None, None, None) => Ok(None),
            (Some(Some((file, digest))), Some(most), None) => {
                if file.len() > most {
                    return Err(other(&format!("a file of {} bytes comes, and it takes at most {most}", file.len())));
                }
                if file.digest().map_err(|error| other(&error.to_string()))? != digest {
                    return Err(other("the file that comes is not the one that was decided on"));
                }
                Ok(Some(JobFile::Takes(file)))
            }
            (Some(None), None, Some(most)) => {
                let into = Filling::new(most).map_err(|error| other(&error.to_string()))?;
                Ok(Some(JobFile::Gives(Rc::new(RefCell::new(into)))))
            }
            (Some(_) | None, _, _) => Err(other("a file comes or goes exactly where its manifest has [file]")),
        }
    }
}
