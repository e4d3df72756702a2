//! Unsigned executors: put into the pool, read out of it, and tried in the tightest sandbox there is, whatever it asks
//! for. Nothing here makes anything callable.

use metnos_proto::executor::{Quotas, SYNTH};
use metnos_proto::msg::common::{ExecutorDigests, ExecutorId, Refusal, RefusalCode};
use metnos_proto::msg::policyd::MAX_EXECUTORS;
use metnos_proto::parcel;

use crate::pool::files::{File, FileError};
use crate::pool::registry::{Registry, revoked};
use crate::verify::{ExecutorFiles, Texts};

fn invalid(id: &ExecutorId, why: &dyn std::fmt::Display) -> Refusal {
    Refusal::new(RefusalCode::Invalid, "stage.unfit", format!("{id}: {why}"))
}

impl Registry {
    /// Puts an executor into the pool, under a name and version that are not there yet.
    ///
    /// # Errors
    /// The refusal; nothing of that version is in the pool then.
    pub fn stage(&self, id: &ExecutorId, texts: &parcel::Texts) -> Result<(), Refusal> {
        self.trusted().map_err(|denial| denial.refusal(id))?;
        if self.ids().map_err(|error| invalid(id, &error))?.len() >= MAX_EXECUTORS {
            let why = format!("the pool holds {MAX_EXECUTORS} executors, which is the limit");
            return Err(
                Refusal::new(RefusalCode::Busy, "stage.full", why).remedy("move some out of workspace/executors")
            );
        }
        self.formed(id, texts)?;
        let files = [
            (File::Manifest, texts.manifest.as_bytes()),
            (File::Code, texts.code.as_bytes()),
            (File::Schema, texts.schema.as_bytes()),
            (File::Birth, texts.tests.as_bytes()),
        ];
        self.folder().stage(id, &files).map_err(|error| match error {
            FileError::Taken(_) => {
                let why = format!("{id} is in the pool already, and nothing in it is written over");
                Refusal::new(RefusalCode::Denied, "stage.taken", why)
                    .remedy("another version can come beside it; an executor is never changed in place")
            }
            other @ (FileError::Missing(_)
            | FileError::NotPlain(_)
            | FileError::TooLong { .. }
            | FileError::Unreadable { .. }
            | FileError::Later { .. }
            | FileError::TooMany { .. }) => {
                Refusal::new(RefusalCode::Unavailable, "stage.write", format!("{id} is not put in place: {other}"))
                    .remedy(
                        "sandboxd's user must be able to write below workspace/executors, and the disk must have room",
                    )
            }
        })
    }

    /// The texts that these digests name, and the birth tests beside them.
    ///
    /// # Errors
    /// The refusal.
    pub fn texts(&self, id: &ExecutorId, digests: &ExecutorDigests) -> Result<parcel::Texts, Refusal> {
        let (_, texts, tests) = self.for_birth(id, digests)?;
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).map_err(|error| invalid(id, &error));
        Ok(parcel::Texts {
            manifest: text(texts.manifest)?,
            code: text(texts.code)?,
            schema: text(texts.schema)?,
            tests: text(tests)?,
        })
    }

    /// A candidate as for a birth, in a sandbox that grants nothing.
    ///
    /// # Errors
    /// The refusal.
    pub fn for_trial(
        &self,
        id: &ExecutorId,
        digests: &ExecutorDigests,
    ) -> Result<(ExecutorFiles, Texts, Vec<u8>), Refusal> {
        let (mut formed, texts, tests) = self.for_birth(id, digests)?;
        self.tighten(&mut formed)?;
        Ok((formed, texts, tests))
    }

    /// A draft, which lies nowhere, in a sandbox that grants nothing.
    ///
    /// # Errors
    /// The refusal.
    pub fn for_draft(&self, id: &ExecutorId, texts: &parcel::Texts) -> Result<ExecutorFiles, Refusal> {
        self.trusted().map_err(|denial| denial.refusal(id))?;
        let mut formed = self.formed(id, texts)?;
        if self.is_revoked(&formed.digests) {
            return Err(revoked(id));
        }
        self.tighten(&mut formed)?;
        Ok(formed)
    }

    /// Makes an executor of texts that do not lie in the pool, and checks its contract.
    fn formed(&self, id: &ExecutorId, texts: &parcel::Texts) -> Result<ExecutorFiles, Refusal> {
        let read = Texts {
            manifest: texts.manifest.clone().into_bytes(),
            code: texts.code.clone().into_bytes(),
            schema: texts.schema.clone().into_bytes(),
        };
        let formed = ExecutorFiles::of(id, read, self.installation()).map_err(|why| invalid(id, &why))?;
        formed.contract.check().map_err(|why| invalid(id, &why))?;
        Ok(formed)
    }

    /// Replaces the sandbox of an unsigned executor by the profile [`SYNTH`], whatever its manifest asks for.
    fn tighten(&self, formed: &mut ExecutorFiles) -> Result<(), Refusal> {
        let (asked, cap) = (formed.manifest.sandbox.quotas, Quotas::SYNTH_CAP);
        let quotas = Quotas {
            wall_s: asked.wall_s.min(cap.wall_s),
            cpu_s: asked.cpu_s.min(cap.cpu_s),
            ram_mb: asked.ram_mb.min(cap.ram_mb),
            output_mb: asked.output_mb.min(cap.output_mb),
            writes_per_day: 0,
            bytes_per_day: 0,
        };
        let plan = self.installation().pure_plan(SYNTH, &quotas);
        formed.plan = plan.map_err(|error| invalid(&formed.id, &error))?;
        Ok(())
    }
}
