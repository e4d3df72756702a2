//! Drafts of executors, as syntd brings them: what a draft may be at all, and its way into the pool, signed by nobody. A draft
//! is granted nothing and only computes; anything else that an executor can do is never drafted (design: growth §1).

use std::time::Duration;

use metnos_proto::doc::draft::DraftTrial;
use metnos_proto::doc::executor::{Drafting, Origin};
use metnos_proto::edge::RpcError;
use metnos_proto::executor::{Class, Manifest};
use metnos_proto::ids::{Blake3, TraceId, TurnId};
use metnos_proto::json::{self, Limits};
use metnos_proto::msg::common::{ExecutorDigests, ExecutorId, Refusal, RefusalCode};
use metnos_proto::msg::drafting::{DraftTried, MAX_WISH, OfferDraft, TryTexts};
use metnos_proto::msg::lifecycle::Stage;
use metnos_proto::msg::policyd::GrowthLeft;
use metnos_proto::parcel::{MAX_PARCEL_BYTES, Texts};
use metnos_proto::payload::Sealed;
use serde_json::Value;

use crate::decision::sandbox_gone;
use crate::executors::Executors;
use crate::executors::origins::MAX_ORIGINS;
use crate::executors::registry::{Signed, Standing};
use crate::refusals::internal;
use crate::text::head;

/// The longest name of a model that is kept, in bytes.
const MAX_MODEL: usize = 200;
/// Trials of drafts that have a place: one that runs, and one that waits for it.
pub(crate) const MAX_TRIALS_AT_ONCE: usize = 2;
/// How long a trial waits for the one before it.
const TRIAL_WAIT: Duration = Duration::from_secs(60);

fn unfit(id: &ExecutorId, why: &str) -> Refusal {
    Refusal::new(RefusalCode::Invalid, "draft.unfit", format!("{id} is no draft that can be tried: {why}"))
}

/// What a draft has that it may not have, if anything.
fn beyond(manifest: &Manifest, run: TurnId) -> Option<&'static str> {
    let contract = &manifest.contract;
    let granted = manifest.sandbox.profile != "pure" || !manifest.sandbox.capabilities.is_empty();
    let served = manifest.mind.is_some() || manifest.file.is_some() || manifest.message.is_some();
    let special = contract.undo.is_some()
        || contract.own_file.is_some()
        || contract.home_place
        || contract.keeps
        || contract.carries
        || contract.restores
        || !contract.reads.is_empty();
    if manifest.executor.created_by != format!("synt:{run}") {
        Some("created_by does not name its run")
    } else if granted {
        Some("it asks to be granted something; a draft has the profile `pure` and no capability")
    } else if manifest.effects.class != Class::Read || contract.side_effects {
        Some("its class is not `read`, or it has side effects")
    } else if served || special {
        Some("it asks for more than its arguments")
    } else if !manifest.output.vouched.is_empty() {
        Some("it vouches for what comes out of it")
    } else {
        None
    }
}

impl Executors {
    /// How much growth is still allowed.
    pub(crate) fn growth_left(&self) -> GrowthLeft {
        let left = self.registry.borrow().growth_left(self.base.clock.wall_ms());
        GrowthLeft { dry_run: self.base.setting.dry_run, ..left }
    }

    /// Looks at a draft before anything is done with it. What its examples take from the other executors takes seconds to find
    /// out, and is looked at when the owner wants it signed.
    ///
    /// # Errors
    /// What keeps it from being one.
    pub(crate) fn check_draft(&self, run: TurnId, id: &ExecutorId, texts: &Texts) -> Result<ExecutorDigests, Refusal> {
        let digests = ExecutorDigests {
            manifest: Blake3::of(texts.manifest.as_bytes()),
            code: Blake3::of(texts.code.as_bytes()),
            schema: Blake3::of(texts.schema.as_bytes()),
            profile: Blake3([0; 32]),
        };
        let signed = Signed::read(id, &texts.manifest, &texts.schema, &digests).map_err(|why| unfit(id, &why))?;
        if let Some(why) = beyond(&signed.manifest, run) {
            return Err(unfit(id, why));
        }
        if let Some(fault) = signed.fault() {
            return Err(unfit(id, &fault));
        }
        self.may_come(id, &digests)?;
        Ok(digests)
    }

    /// Has sandboxd try a draft that was checked. A trial waits for the one before it, which may be that of a run whose syntd
    /// has been restarted since.
    ///
    /// # Errors
    /// `drafts.busy` while one trial runs and another waits, or after [`TRIAL_WAIT`]; when everything was stopped meanwhile; as
    /// sandboxd refuses it.
    pub(crate) async fn try_texts(&self, id: &ExecutorId, trial: Sealed) -> Result<(DraftTried, [Sealed; 1]), Refusal> {
        let busy = || {
            let why = "other drafts are being tried, one at a time".to_owned();
            Refusal::new(RefusalCode::Busy, "drafts.busy", why).remedy("try again when they have ended")
        };
        let _place = self.trials.try_acquire().map_err(|_| busy())?;
        let Ok(Ok(_alone)) = tokio::time::timeout(TRIAL_WAIT, self.trial.acquire()).await else { return Err(busy()) };
        if let Some(off) = self.everything_stopped() {
            return Err(off.refusal());
        }
        self.base.sandbox_soon().await;
        if !self.base.sandbox_ready() {
            return Err(sandbox_gone().refusal());
        }
        let ask = TryTexts { id: id.clone() };
        let tried = self.base.ask_sandbox(self.base.sandbox.try_texts(TraceId::NONE, ask, [trial])).await;
        tried.map_err(RpcError::into_refusal)
    }

    /// Whether a draft passes its tests here and now, whatever syntd has said of it.
    async fn passes(&self, id: &ExecutorId, texts: &Texts) -> Result<(), Refusal> {
        let Value::Object(files) = texts.document() else { return Err(internal("the files of a draft are no object")) };
        let trial = serde_json::to_vec(&DraftTrial { files, inputs: Vec::new(), all: false });
        let trial = trial.map_err(|error| internal(&error.to_string()))?;
        let trial = Sealed::new(&trial).map_err(|error| internal(&error.to_string()))?;
        let (tried, _) = self.try_texts(id, trial).await?;
        if tried.cases.is_empty() {
            return Err(unfit(id, "it has no birth tests"));
        }
        match tried.cases.iter().find(|case| !case.passed) {
            Some(case) => Err(unfit(id, &format!("its birth test `{}` does not hold: {}", case.name, case.detail))),
            None => Ok(()),
        }
    }

    /// Puts a draft that passes its tests into the pool, signed by nobody.
    ///
    /// # Errors
    /// Why it is not; then nothing of it is there.
    pub(crate) async fn offer_draft(&self, ask: OfferDraft, files: &Sealed) -> Result<(), Refusal> {
        let OfferDraft { run, id, wish, model } = ask;
        let left = self.growth_left();
        if left.dry_run {
            let why = format!("{id} is only shown: `dry_run` of [synt] in metnos.toml is true");
            return Err(Refusal::new(RefusalCode::Denied, "synt.dry_run", why).remedy("`metnosctl synt dry-run off`"));
        }
        if left.births_today == 0 || left.active == 0 {
            let why = format!("{} births are left today, and room for {} more", left.births_today, left.active);
            return Err(Refusal::new(RefusalCode::Busy, "growth.full", why)
                .remedy("try tomorrow, or put another one away: `metnosctl executor archive`"));
        }
        if self.registry.borrow().origins_known() >= MAX_ORIGINS {
            let why =
                format!("{MAX_ORIGINS} executors that are no seeds have come into this house, which is the limit");
            return Err(Refusal::new(RefusalCode::Busy, "import.full", why));
        }
        let texts = read_files(&id, files)?;
        let digests = self.check_draft(run, &id, &texts)?;
        self.passes(&id, &texts).await?;
        let text = format!("{id} is drafted in the run {run}: main.py {}", digests.code);
        self.base.chronicled("executor_drafted", &text).await?;
        let sealed = Sealed::new(texts.document().to_string().as_bytes());
        let sealed = sealed.map_err(|error| internal(&error.to_string()))?;
        let staged = self.base.sandbox.stage(TraceId::NONE, Stage { id: id.clone() }, [sealed]);
        self.base.ask_sandbox(staged).await.map_err(RpcError::into_refusal)?;
        let origin = Origin::Drafted(Box::new(Drafting {
            run: run.to_string(),
            wish: head(&wish, MAX_WISH),
            model: head(&model, MAX_MODEL),
            at_ms: self.base.clock.wall_ms(),
            manifest: digests.manifest.to_string(),
            code: digests.code.to_string(),
            schema: digests.schema.to_string(),
            calls: 0,
            approved_by: None,
            approved_ms: None,
        }));
        self.remember(&id, &origin).await?;
        self.registry.borrow_mut().stand(&id, Standing::Staged("it was drafted, and is not signed".to_owned()));
        Ok(())
    }
}

/// The four files of a draft.
fn read_files(id: &ExecutorId, files: &Sealed) -> Result<Texts, Refusal> {
    let form = |why: String| unfit(id, &why);
    if files.len() > MAX_PARCEL_BYTES {
        return Err(form(format!("{} bytes; at most {MAX_PARCEL_BYTES} are accepted", files.len())));
    }
    let bytes = files.read().map_err(|error| form(error.to_string()))?;
    let limits = Limits { max_bytes: MAX_PARCEL_BYTES, max_depth: 1 };
    let object = json::parse_object(&bytes, limits).map_err(|error| form(error.to_string()))?;
    Texts::read(object).map_err(form)
}
