//! What comes into the pool without a release, and what leaves it for another instance (design: executor §4). Nothing that comes is
//! trusted: it is staged, tried in the tightest sandbox, shown to the owner whole, and only on his yes to exactly that tested in its own
//! sandbox and signed, by the key of this instance. A parcel's own signature says who sent it, and counts for nothing else.

use ed25519_dalek::{Signature, VerifyingKey};
use metnos_proto::doc::executor::{Candidate, CaseReport, Digests, ExecutorImported, Origin, SignReport, State};
use metnos_proto::edge::RpcError;
use metnos_proto::executor::{Manifest, is_name, parse_version};
use metnos_proto::ids::{Blake3, TraceId};
use metnos_proto::json::{self, Limits};
use metnos_proto::msg::common::{ExecutorDigests, ExecutorId, Refusal, RefusalCode};
use metnos_proto::msg::lifecycle::{SignRequest, Stage, TextsOf, TryBirth};
use metnos_proto::msg::sandboxd::{Birth, BirthCase, Born, Pool, PoolEntry};
use metnos_proto::parcel::{MAX_CAME_THROUGH, MAX_PARCEL_BYTES, Parcel, Texts};
use metnos_proto::payload::Sealed;
use serde::Serialize;

use crate::decision::sandbox_gone;
use crate::executors::Executors;
use crate::executors::origins::{self, MAX_ORIGINS};
use crate::executors::promises;
use crate::executors::registry::{Signed, Standing, Tested};
use crate::guard::shown;
use crate::people::principal::Principal;
use crate::refusals::internal;
use crate::store::{RowState, not_durable};

fn denied(rule: &str, why: String, remedy: &str) -> Refusal {
    Refusal::new(RefusalCode::Denied, rule, why).remedy(remedy)
}

fn invalid(rule: &str, why: String) -> Refusal {
    Refusal::new(RefusalCode::Invalid, rule, why)
}

/// Something that nobody has signed, as it lies in the pool.
struct Staged {
    id: ExecutorId,
    digests: ExecutorDigests,
    /// Where it comes from, as far as that is known of exactly these files.
    origin: Origin,
}

/// What the owner confirms before something is signed: the digest of this stands for it.
#[derive(Debug, Serialize)]
struct SignMatter<'a> {
    sign: String,
    #[serde(flatten)]
    digests: Digests,
    origin: &'a Origin,
}

impl Executors {
    /// An executor as it is, for another instance.
    ///
    /// # Errors
    /// When it is not in use, or its files are not those that were signed.
    pub(crate) async fn export(&self, principal: &Principal, name: &str) -> Result<Sealed, Refusal> {
        let row = self.ever_signed(name)?;
        if row.state != RowState::Active {
            let why = format!("{} is not active, and only what may be called here is handed on", row.id);
            return Err(denied("export.inactive", why, "`metnosctl executor list` says how it stands"));
        }
        let ask = TextsOf { id: row.id.clone(), digests: row.digests.clone() };
        self.base.sandbox_soon().await;
        let asked = self.base.ask_sandbox(self.base.sandbox.texts(TraceId::NONE, ask, [])).await;
        let (_, [texts]) = asked.map_err(RpcError::into_refusal)?;
        let unfit = |why: String| invalid("export.unfit", format!("{} is not handed on: {why}", row.id));
        let bytes = texts.read().map_err(|why| unfit(why.to_string()))?;
        let limits = Limits { max_bytes: MAX_PARCEL_BYTES, max_depth: 1 };
        let texts = Texts::read(json::parse_object(&bytes, limits).map_err(|why| unfit(why.to_string()))?);
        let texts = texts.map_err(unfit)?;
        let of = |text: &str| Blake3::of(text.as_bytes());
        if (of(&texts.manifest), of(&texts.code), of(&texts.schema))
            != (row.digests.manifest, row.digests.code, row.digests.schema)
        {
            return Err(unfit("its files are not those that were signed".to_owned()));
        }
        let parcel = Parcel {
            id: row.id.clone(),
            texts,
            exporter: Blake3(self.key.public()),
            exported_ms: self.base.clock.wall_ms(),
            born_ms: row.born_ms,
            came_through: self.came_through(&row.id),
        };
        let bytes = parcel.write(&self.key.sign_parcel(&parcel));
        let digest = Blake3::of(&bytes);
        let text = format!("{} exports {}: the parcel {digest}", principal.name, row.id);
        self.base.chronicled("executor_exported", &text).await?;
        Sealed::new(&bytes).map_err(|error| internal(&error.to_string()))
    }

    /// The instances that an executor of this one came through, the last one last.
    fn came_through(&self, id: &ExecutorId) -> Vec<Blake3> {
        let registry = self.registry.borrow();
        let Some(Origin::Imported(import)) = registry.origin(id) else { return Vec::new() };
        let all: Vec<Blake3> =
            import.came_through.iter().chain([&import.exporter]).filter_map(|key| hex_key(key)).collect();
        // The nearest ones are what can still be asked about.
        all[all.len().saturating_sub(MAX_CAME_THROUGH)..].to_vec()
    }

    /// Puts a parcel of another instance into the pool, signed by nobody.
    ///
    /// # Errors
    /// Why it is not; then nothing of it is there.
    pub(crate) async fn import(&self, principal: &Principal, parcel: &Sealed) -> Result<ExecutorImported, Refusal> {
        if parcel.len() > MAX_PARCEL_BYTES {
            let why = format!("it has {} bytes; a parcel has at most {MAX_PARCEL_BYTES}", parcel.len());
            return Err(invalid("import.form", why));
        }
        let bytes = parcel.read().map_err(|why| invalid("import.form", why.to_string()))?;
        let form = |why: String| invalid("import.form", format!("this is no parcel of an executor: {why}"));
        let (parcel, signature) = Parcel::read(&bytes).map_err(form)?;
        let id = parcel.id.clone();
        let key = VerifyingKey::from_bytes(&parcel.exporter.0).ok().filter(|key| !key.is_weak());
        let holds = key
            .is_some_and(|key| key.verify_strict(&parcel.signed_bytes(), &Signature::from_bytes(&signature)).is_ok());
        if !holds {
            let why = format!("the parcel of {id} is not what its exporter has signed");
            return Err(denied("import.signature", why, "have it exported and sent anew"));
        }
        let digests = ExecutorDigests {
            manifest: Blake3::of(parcel.texts.manifest.as_bytes()),
            code: Blake3::of(parcel.texts.code.as_bytes()),
            schema: Blake3::of(parcel.texts.schema.as_bytes()),
            profile: Blake3([0; 32]),
        };
        let signed = Signed::read(&id, &parcel.texts.manifest, &parcel.texts.schema, &digests);
        let signed = signed.map_err(|why| form(format!("{id}: {why}")))?;
        self.may_come(&id, &digests)?;
        if let Some(fault) = signed.fault() {
            return Err(denied(
                "import.fault",
                format!("{id} could not be signed here: {fault}"),
                "nothing was imported",
            ));
        }
        if self.registry.borrow().origins_known() >= MAX_ORIGINS {
            let why =
                format!("{MAX_ORIGINS} executors that are no seeds have come into this house, which is the limit");
            return Err(Refusal::new(RefusalCode::Busy, "import.full", why));
        }
        self.base.sandbox_soon().await;
        if !self.base.sandbox_ready() {
            return Err(sandbox_gone().refusal());
        }
        let origin = origins::imported(&parcel, &principal.name, self.base.clock.wall_ms());
        let text = format!("{} imports {id}, which {} has exported", principal.name, parcel.exporter.hex());
        self.base.chronicled("executor_imported", &text).await?;
        let texts = Sealed::new(parcel.texts.document().to_string().as_bytes());
        let texts = texts.map_err(|error| internal(&error.to_string()))?;
        let staged =
            self.base.ask_sandbox(self.base.sandbox.stage(TraceId::NONE, Stage { id: id.clone() }, [texts])).await;
        staged.map_err(RpcError::into_refusal)?;
        self.remember(&id, &origin).await?;
        let why = "it was imported, and nobody has approved it".to_owned();
        self.registry.borrow_mut().stand(&id, Standing::Staged(why));
        Ok(ExecutorImported { name: id.name, version: id.version, state: State::Staged, origin })
    }

    /// Whether something that is no seed may come under this name and version.
    pub(super) fn may_come(&self, id: &ExecutorId, digests: &ExecutorDigests) -> Result<(), Refusal> {
        if self.base.setting.seeds.iter().any(|seed| seed.name == id.name) {
            let why = format!("{} is the name of an executor of this release", shown(&id.name));
            return Err(denied("birth.seed", why, "give it another name, where it was made"));
        }
        let registry = self.registry.borrow();
        if registry.row(id).is_some() {
            let why = format!("{id} was signed here already, and nothing is ever signed over");
            return Err(denied("birth.version", why, "any change of code or contract is a new version"));
        }
        if let Some(row) = registry.row_of(&id.name)
            && parse_version(&row.id.version) >= parse_version(&id.version)
        {
            let why =
                format!("{} was signed here, which is newer than {id}: an older one would never be called", row.id);
            return Err(denied("birth.version", why, "import a newer version"));
        }
        drop(registry);
        match self.disowned_code(digests) {
            Some(why) => Err(denied("birth.revoked", format!("{id}: {why}"), "what was revoked stays so")),
            None => Ok(()),
        }
    }

    /// Why this code is not signed, under whatever name and version: the owner has revoked it.
    pub(crate) fn disowned_code(&self, digests: &ExecutorDigests) -> Option<String> {
        let same = |row: &crate::store::Row| row.state == RowState::Revoked && row.digests.code == digests.code;
        let rows = self.registry.borrow().rows();
        let row = rows.into_iter().find(same)?;
        Some(format!("its main.py is that of {}, whose signature is revoked", row.id))
    }

    pub(super) async fn remember(&self, id: &ExecutorId, origin: &Origin) -> Result<(), Refusal> {
        self.base.store.originates(id.clone(), origin).await.map_err(|error| not_durable(&error))?;
        self.registry.borrow_mut().know_origins([(origins::key(id), origin.clone())].into());
        Ok(())
    }

    /// The newest version of this name that nobody has signed.
    async fn staged(&self, name: &str) -> Result<Staged, Refusal> {
        self.base.sandbox_soon().await;
        if !self.base.sandbox_ready() {
            return Err(sandbox_gone().refusal());
        }
        let listing = self.base.ask_sandbox(self.base.sandbox.pool(TraceId::NONE, Pool {}, [])).await;
        let (listing, []) = listing.map_err(RpcError::into_refusal)?;
        let registry = self.registry.borrow();
        let unsigned = |entry: &&PoolEntry| entry.id.name == name && registry.row(&entry.id).is_none();
        let newest = listing.entries.iter().filter(unsigned).max_by_key(|entry| parse_version(&entry.id.version));
        let entry = newest.filter(|_| is_name(name)).ok_or_else(|| {
            let why = format!("nothing named {} waits in the pool for a signature", shown(name));
            Refusal::new(RefusalCode::Unknown, "executor.unknown", why)
                .remedy("`metnosctl executor list` shows what there is")
        })?;
        if !entry.fault.is_empty() {
            let why = format!("the files of {} form no executor: {}", entry.id, entry.fault);
            return Err(denied("birth.fault", why, "mend them where they were made, as a new version"));
        }
        let known = registry.origin(&entry.id).filter(|origin| origins::fits(origin, &entry.digests));
        let origin = known.cloned().unwrap_or_else(origins::own);
        Ok(Staged { id: entry.id.clone(), digests: entry.digests.clone(), origin })
    }

    /// Shows what nobody has signed; with the digest of exactly that, signs it.
    ///
    /// # Errors
    /// Why it is not signed.
    pub(crate) async fn sign_staged(&self, principal: &Principal, ask: SignRequest) -> Result<SignReport, Refusal> {
        let staged = self.staged(&ask.name).await?;
        let Staged { id, digests, origin } = &staged;
        self.may_come(id, digests)?;
        let left = self.registry.borrow().growth_left(self.base.clock.wall_ms());
        if left.births_today == 0 || left.active == 0 {
            let why = format!(
                "{id} is not signed: {} births are left today, and room for {} more",
                left.births_today, left.active
            );
            return Err(denied(
                "growth.full",
                why,
                "try tomorrow, or put another one away: `metnosctl executor archive`",
            ));
        }
        let about = SignMatter { sign: id.to_string(), digests: digests.into(), origin };
        let digest = json::digest_of(&about).to_string();
        if ask.confirm.is_empty() {
            let card = Some(self.look_at(&staged).await?);
            let (name, version) = (id.name.clone(), id.version.clone());
            return Ok(SignReport { name, version, state: State::Staged, digest, changed: false, card });
        }
        if ask.confirm != digest {
            let why = "what was confirmed is not what lies in the pool now; nothing was done".to_owned();
            return Err(denied("sign.altered", why, "look again, without --confirm"));
        }
        self.sign_approved(principal, staged).await
    }

    /// Everything that the owner is to see, after its tests were run where nothing is granted.
    async fn look_at(&self, staged: &Staged) -> Result<Candidate, Refusal> {
        let Staged { id, digests, origin } = staged;
        let ask = TryBirth { id: id.clone(), digests: digests.clone() };
        let tried = self.base.ask_sandbox(self.base.sandbox.try_birth(TraceId::NONE, ask, [])).await;
        let (born, [candidate]) = tried.map_err(RpcError::into_refusal)?;
        let fault =
            |why: String| denied("birth.fault", format!("{id} cannot be signed: {why}"), "mend it where it was made");
        let bytes = candidate.read().map_err(|why| fault(why.to_string()))?;
        let tested = Tested::read(&bytes, digests).map_err(fault)?;
        let signed = Signed::read(id, &tested.manifest, &tested.schema, digests).map_err(fault)?;
        if let Some(why) = signed.fault().or_else(|| promises::broken(&signed, &self.registry.borrow())) {
            return Err(fault(why));
        }
        let Manifest { executor, effects, sandbox, .. } = signed.manifest;
        Ok(Candidate {
            summary: executor.summary,
            class: effects.class.name().to_owned(),
            reversible: effects.reversible,
            profile: sandbox.profile,
            capabilities: serde_json::to_value(&sandbox.capabilities).map_err(|why| fault(why.to_string()))?,
            quotas: serde_json::to_value(sandbox.quotas).map_err(|why| fault(why.to_string()))?,
            origin: origin.clone(),
            created_by: executor.created_by,
            cases: cases(&born),
            manifest: tested.manifest,
            code: tested.code,
            schema: tested.schema,
            digests: digests.into(),
        })
    }

    /// The owner has said yes to exactly this: only now it is tested in its own sandbox, and signed when all holds.
    async fn sign_approved(&self, principal: &Principal, staged: Staged) -> Result<SignReport, Refusal> {
        let Staged { id, digests, origin } = staged;
        let ask = Birth { id: id.clone(), digests: digests.clone() };
        let born = self.base.ask_sandbox(self.base.sandbox.birth(TraceId::NONE, ask, [])).await;
        let (born, [candidate]) = born.map_err(RpcError::into_refusal)?;
        let row = self.sign(&id, digests, &born, &candidate, true).map_err(|why| {
            denied("birth.tests", format!("{id} is not signed: {why}"), "mend it where it was made, as a new version")
        })?;
        let code = row.digests.code;
        self.base
            .chronicled("executor_approved", &format!("{} approves {id}, whose main.py is {code}", principal.name))
            .await?;
        let origin = origins::approved(origin, &principal.name, self.base.clock.wall_ms());
        self.remember(&id, &origin).await?;
        self.base.store.signed(row.clone()).await.map_err(|error| not_durable(&error))?;
        self.registry.borrow_mut().signed(row);
        self.finish_birth(&id).await?;
        let ExecutorId { name, version } = id;
        Ok(SignReport { name, version, state: State::Active, digest: String::new(), changed: true, card: None })
    }
}

fn cases(born: &Born) -> Vec<CaseReport> {
    let report =
        |case: &BirthCase| CaseReport { name: case.name.clone(), passed: case.passed, detail: case.detail.clone() };
    born.cases.iter().map(report).collect()
}

fn hex_key(text: &str) -> Option<Blake3> {
    Blake3::parse(&format!("blake3:{text}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digest_of_what_is_signed_never_changes() {
        let [manifest, code, schema, profile] = ["m", "c", "s", "p"].map(str::to_owned);
        let digests = Digests { manifest, code, schema, profile };
        let about = SignMatter { sign: "a 1.0.0".to_owned(), digests, origin: &origins::own() };
        let bytes =
            r#"{"code":"c","manifest":"m","origin":{"kind":"own"},"profile":"p","schema":"s","sign":"a 1.0.0"}"#;
        assert_eq!(json::digest_of(&about), Blake3::of(bytes.as_bytes()));
    }
}
