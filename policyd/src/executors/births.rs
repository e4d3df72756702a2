//! From the pool to what may be called: trust, comparison, births, quarantine. Each step is
//! made durable before the next begins, so that an end at any moment is caught up with; a
//! signature exists in the registry before it exists anywhere else.

use std::rc::Rc;
use std::time::Duration;

use metnos_proto::edge::RpcError;
use metnos_proto::edges::policyd_sandboxd::Note;
use metnos_proto::ids::TraceId;
use metnos_proto::msg::common::{ExecutorDigests, ExecutorId, Refusal, RefusalCode};
use metnos_proto::msg::memoryd::{ExecutorBorn, ExecutorLost};
use metnos_proto::msg::policyd::NoticeKind;
use metnos_proto::msg::sandboxd::{Birth, Born, Install, Pool, TrustKey};
use metnos_proto::payload::Sealed;
use tokio::task::{JoinError, JoinSet};

use crate::executors::Executors;
use crate::executors::archive::told_why;
use crate::executors::lifecycle::{MAX_WHY, Step, reconcile};
use crate::executors::promises;
use crate::executors::registry::{Signed, Standing, Tested};
use crate::store::{ReportedState, Row, RowState};
use crate::text::head;

/// How long to wait before what was left unfinished is tried again, in milliseconds: doubling.
const RETRY_FIRST_MS: u64 = 200;
const RETRY_LAST_MS: u64 = 30_000;
/// How many births are under way at once: each runs its tests one after the other.
const BIRTHS_AT_ONCE: usize = 3;
/// The most notes about executors that nobody knows that are recorded.
const MAX_STRANGE_NOTES: u32 = 16;

/// Whether a birth has to be tried again.
fn is_unfinished(born: Result<Progress, JoinError>) -> bool {
    !matches!(born, Ok(Progress::Done))
}

/// Whether something is done, or has to be tried again when a peer is back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Progress {
    Done,
    Later,
}

impl Executors {
    /// Keeps the pool and the registry in step with every sandboxd that comes, until the daemon ends.
    pub async fn keep_sandbox(self: Rc<Self>) {
        let mut generations = self.base.sandbox.generations();
        loop {
            let generation = match generations.wait_for(|generation| *generation != 0).await {
                Ok(generation) => *generation,
                Err(_) => return,
            };
            // What was begun on a link that is gone is begun anew on the next; looked at first, so that
            // nothing of it reaches the next link before the key does.
            tokio::select! {
                biased;
                changed = generations.wait_for(|now| *now != generation) => {
                    if changed.is_err() {
                        return;
                    }
                }
                () = self.establish(generation) => {}
            }
            if *generations.borrow() == generation && generations.wait_for(|now| *now != generation).await.is_err() {
                return;
            }
            self.base.established.send_replace(0);
            self.registry.borrow_mut().suspend("sandboxd, which verifies it, is not there");
        }
    }

    /// Trust first, then look until nothing is left to do on this link.
    async fn establish(self: &Rc<Self>, generation: u32) {
        let key = TrustKey { public_key: self.key.public() };
        if let Err(error) = self.base.sandbox.trust(TraceId::NONE, key, []).await {
            tracing::error!(%error, "sandboxd does not take the key of this instance");
            return;
        }
        if !self.tell_disowned().await {
            return;
        }
        let mut wait_ms = RETRY_FIRST_MS;
        let mut memory = self.base.memory.generations();
        loop {
            memory.mark_unchanged();
            match self.look(generation).await {
                Ok(Progress::Done) => {
                    self.settled.send_replace(true);
                    return;
                }
                Ok(Progress::Later) => {}
                Err(why) => self.base.event("pool", &format!("the pool cannot be compared: {why}"), None),
            }
            tokio::select! {
                _ = memory.changed() => {}
                () = tokio::time::sleep(Duration::from_millis(wait_ms)) => {}
            }
            wait_ms = (wait_ms * 2).min(RETRY_LAST_MS);
        }
    }

    /// Compares the pool with the registry once and does what follows.
    pub(crate) async fn look(self: &Rc<Self>, generation: u32) -> Result<Progress, String> {
        let (listing, []) =
            self.base.sandbox.pool(TraceId::NONE, Pool {}, []).await.map_err(|error| error.to_string())?;
        let rows = self.registry.borrow().rows();
        let steps = reconcile(&listing.entries, &rows, self.base.setting.seeds)?;
        self.registry.borrow_mut().forget_staged();
        let mut progress = Progress::Done;
        let mut births = Vec::new();
        for step in steps {
            match step {
                Step::Load(id) => self.load(&id).await,
                Step::Stay(_) => {}
                Step::Missing(id) => {
                    let why = "its files are gone from the pool".to_owned();
                    self.registry.borrow_mut().stand(&id, Standing::Waiting(why));
                }
                Step::Leave(id, why) => self.registry.borrow_mut().stand(&id, Standing::Staged(why)),
                Step::Quarantine(id, why) => self.quarantine(&id, &why).await,
                Step::Finish(id) => births.push((id, None)),
                Step::Birth(id, digests) => births.push((id, Some(digests))),
            }
        }
        self.base.established.send_replace(generation);
        self.unborn.set(births.len());
        let mut under_way = JoinSet::new();
        for (id, unsigned) in births {
            if under_way.len() >= BIRTHS_AT_ONCE && under_way.join_next().await.is_some_and(is_unfinished) {
                progress = Progress::Later;
            }
            let executors = Rc::clone(self);
            under_way.spawn_local(async move {
                let progress = match unsigned {
                    Some(digests) => executors.birth(&id, digests).await,
                    None => executors.finish(&id).await,
                };
                if progress == Progress::Done {
                    executors.unborn.set(executors.unborn.get().saturating_sub(1));
                }
                progress
            });
        }
        while let Some(born) = under_way.join_next().await {
            if is_unfinished(born) {
                progress = Progress::Later;
            }
        }
        if self.tell_losses().await == Progress::Later {
            progress = Progress::Later;
        }
        Ok(progress)
    }

    /// An executor that is what was signed: it may be called.
    async fn load(&self, id: &ExecutorId) {
        let read = self.registry.borrow().row(id).map(|row| Signed::read(id, &row.manifest, &row.schema, &row.digests));
        match read {
            Some(Ok(signed)) => self.registry.borrow_mut().stand(id, Standing::Active(Rc::new(signed))),
            Some(Err(why)) => self.quarantine(id, &format!("the registry's copy does not hold: {why}")).await,
            None => {}
        }
    }

    /// Tests a seed, and signs it when everything holds.
    pub(crate) async fn birth(&self, id: &ExecutorId, digests: ExecutorDigests) -> Progress {
        let ask = Birth { id: id.clone(), digests: digests.clone() };
        let stillborn = |why: String| {
            self.base.event("stillbirth", &format!("{id} was not signed: {why}"), None);
            self.registry.borrow_mut().stand(id, Standing::Staged(head(&why, MAX_WHY)));
            Progress::Done
        };
        let (born, [candidate]) = match self.base.sandbox.birth(TraceId::NONE, ask, []).await {
            Ok(born) => born,
            Err(RpcError::Refused(refusal)) => return stillborn(format!("sandboxd says: {}", refusal.why)),
            Err(error) => return self.later(id, &error),
        };
        let row = match self.sign(id, digests, &born, &candidate, false) {
            Ok(row) => row,
            Err(why) => return stillborn(why),
        };
        if let Err(error) = self.base.store.signed(row.clone()).await {
            self.base.event("registry", &format!("{id} cannot be recorded: {error}"), None);
            return Progress::Later;
        }
        self.registry.borrow_mut().signed(row);
        self.finish(id).await
    }

    /// Looks at what was tested, and signs exactly that: what only the owner may want, when he has said yes to it.
    pub(crate) fn sign(
        &self,
        id: &ExecutorId,
        digests: ExecutorDigests,
        born: &Born,
        candidate: &Sealed,
        approved: bool,
    ) -> Result<Row, String> {
        if born.cases.is_empty() {
            return Err("it has no birth tests".to_owned());
        }
        if let Some(case) = born.cases.iter().find(|case| !case.passed) {
            return Err(format!("its birth test `{}` does not hold: {}", case.name, case.detail));
        }
        let bytes = candidate.read().map_err(|why| why.to_string())?;
        let tested = Tested::read(&bytes, &digests)?;
        let signed = Signed::read(id, &tested.manifest, &tested.schema, &digests)?;
        let objection = if approved { signed.fault() } else { signed.objection() };
        let objection = objection.or_else(|| promises::broken(&signed, &self.registry.borrow()));
        if let Some(objection) = objection.or_else(|| self.disowned_code(&digests)) {
            return Err(objection);
        }
        let now = self.base.clock.wall_ms();
        Ok(Row {
            id: id.clone(),
            signature: self.key.sign(&digests),
            digests,
            manifest: tested.manifest,
            schema: tested.schema,
            state: RowState::Signed,
            why: String::new(),
            since_ms: now,
            born_ms: now,
            told: ReportedState::Nothing,
        })
    }

    /// Installs what is signed, tells memoryd, and only then lets it be called.
    async fn finish(&self, id: &ExecutorId) -> Progress {
        let Some(row) = self.registry.borrow().row(id).cloned() else { return Progress::Done };
        let signed = match Signed::read(id, &row.manifest, &row.schema, &row.digests) {
            Ok(signed) => signed,
            Err(why) => {
                self.quarantine(id, &format!("the registry's copy does not hold: {why}")).await;
                return Progress::Done;
            }
        };
        let install = Install { id: id.clone(), digests: row.digests.clone(), signature: row.signature.clone() };
        match self.base.sandbox.install(TraceId::NONE, install, []).await {
            Ok(_) => {}
            Err(RpcError::Refused(refusal)) => {
                let why = format!("sandboxd does not install it: {}", refusal.why);
                self.base.event("stillbirth", &format!("{id}: {why}"), None);
                self.registry.borrow_mut().stand(id, Standing::Waiting(head(&why, MAX_WHY)));
                return Progress::Done;
            }
            Err(error) => return self.later(id, &error),
        }
        let contract = serde_json::to_vec(&signed.candidate()).map_err(|why| why.to_string());
        let contract = match contract.and_then(|bytes| Sealed::new(&bytes).map_err(|why| why.to_string())) {
            Ok(contract) => contract,
            Err(why) => {
                self.base.event("registry", &format!("the contract of {id} cannot be handed on: {why}"), None);
                return Progress::Later;
            }
        };
        let born = ExecutorBorn { id: id.clone(), digests: row.digests };
        if let Err(error) = self.base.memory.executor_born(TraceId::NONE, born, [contract]).await {
            return self.later(id, &error);
        }
        let now = self.base.clock.wall_ms();
        if let Err(error) = self.base.store.born(id.clone(), now).await {
            self.base.event("registry", &format!("{id} cannot be recorded: {error}"), None);
            return Progress::Later;
        }
        let mut set_aside = false;
        {
            let mut registry = self.registry.borrow_mut();
            registry.change_row(id, |row| {
                row.told = ReportedState::Born;
                match row.state {
                    RowState::Signed => (row.state, row.since_ms) = (RowState::Active, now),
                    RowState::Active => {}
                    RowState::Quarantined | RowState::Archived { .. } | RowState::Revoked => set_aside = true,
                }
            });
            registry.stand(id, Standing::Active(Rc::new(signed)));
        }
        // Set aside while memoryd was told of its birth: it learns of the loss as well.
        if set_aside && let Err(error) = self.base.store.set_reported(id.clone(), ReportedState::Born).await {
            self.base.event("registry", &format!("{id} cannot be recorded: {error}"), None);
        }
        Progress::Done
    }

    /// Finishes what the owner has let back, which is tried again with the next look when a peer is gone.
    ///
    /// # Errors
    /// Why it cannot be called yet.
    pub(crate) async fn finish_birth(&self, id: &ExecutorId) -> Result<(), Refusal> {
        let progress = self.finish(id).await;
        let registry = self.registry.borrow();
        let row = registry.row(id);
        let why = match (progress, row.map(|row| row.state)) {
            (Progress::Done, Some(RowState::Active)) => return Ok(()),
            (Progress::Done, Some(RowState::Quarantined)) => row.map(|row| row.why.clone()).unwrap_or_default(),
            (Progress::Done, _) => "sandboxd does not install it; its log says why".to_owned(),
            (Progress::Later, _) => {
                "memoryd or sandboxd went away meanwhile; it is finished when sandboxd starts anew".to_owned()
            }
        };
        Err(Refusal::new(RefusalCode::Unavailable, "readmit.unfinished", format!("{id} cannot be called yet: {why}"))
            .remedy("look at `metnosctl status`"))
    }

    fn later(&self, id: &ExecutorId, error: &RpcError) -> Progress {
        tracing::warn!(%id, %error, "a birth is not finished");
        Progress::Later
    }

    /// Sets an executor aside, at once and for good.
    pub(crate) async fn quarantine(&self, id: &ExecutorId, why: &str) {
        let why = head(why, MAX_WHY);
        let now = self.base.clock.wall_ms();
        {
            let mut registry = self.registry.borrow_mut();
            registry.stand(id, Standing::Quarantined(why.clone()));
            registry.change_row(id, |row| {
                if row.state.is_good() {
                    (row.state, row.why, row.since_ms) = (RowState::Quarantined, why.clone(), now);
                }
            });
        }
        self.people.tell_owner(NoticeKind::SetAside, id, &why).await;
        // What memoryd has heard of is recorded as lost; the rest it would otherwise never learn of.
        if self.registry.borrow().row(id).is_none_or(|row| row.told != ReportedState::Born) {
            self.base.event("quarantine", &format!("{id} is in quarantine: {why}"), None);
        }
        if let Err(error) = self.base.store.quarantined(id.clone(), why, now).await {
            self.base.event("registry", &format!("the quarantine of {id} cannot be recorded: {error}"), None);
        }
    }

    /// Tells memoryd of every executor that is lost and that it still offers.
    pub(crate) async fn tell_losses(&self) -> Progress {
        // One at a time, or a loss would be told twice.
        let _telling = self.telling.lock().await;
        let lost = |row: &Row| !row.state.is_good() && row.told == ReportedState::Born;
        let rows: Vec<Row> = self.registry.borrow().rows().into_iter().filter(lost).collect();
        for row in rows {
            let word = ExecutorLost { id: row.id.clone(), why: head(&told_why(&row), MAX_WHY) };
            if let Err(error) = self.base.memory.executor_lost(TraceId::NONE, word, []).await {
                tracing::warn!(id = %row.id, %error, "memoryd does not know yet that an executor is lost");
                return Progress::Later;
            }
            if let Err(error) = self.base.store.set_reported(row.id.clone(), ReportedState::Lost).await {
                tracing::error!(id = %row.id, %error, "what memoryd was told cannot be recorded");
                return Progress::Later;
            }
            self.registry.borrow_mut().change_row(&row.id, |row| row.told = ReportedState::Lost);
        }
        Progress::Done
    }

    /// Tells every memoryd that comes what the one before may have missed.
    pub async fn keep_memory(self: Rc<Self>) {
        let mut generations = self.base.memory.generations();
        loop {
            let generation = match generations.wait_for(|generation| *generation != 0).await {
                Ok(generation) => *generation,
                Err(_) => return,
            };
            self.people.tell_household().await;
            self.tell_losses().await;
            if generations.wait_for(|now| *now != generation).await.is_err() {
                return;
            }
        }
    }

    /// Receives what sandboxd tells unasked, until the daemon ends.
    pub async fn hear_sandbox(self: Rc<Self>) {
        let Some(mut notes) = self.base.sandbox.take_notes() else { return };
        let mut strange = 0;
        while let Some(note) = notes.recv().await {
            match note {
                Note::Quarantined(note) if self.registry.borrow().may_be_set_aside(&note.id) => {
                    self.quarantine(&note.id, &note.why).await;
                    self.tell_losses().await;
                }
                // Already quarantined, or only ever staged, or made up.
                Note::Quarantined(note) => {
                    strange += 1;
                    if strange <= MAX_STRANGE_NOTES && self.registry.borrow().row(&note.id).is_none() {
                        let name: String = note.id.name.escape_debug().take(80).collect();
                        self.base.event(
                            "violation",
                            &format!("sandboxd sets aside `{name}`, which was never signed"),
                            None,
                        );
                    }
                }
                Note::RunProgress(progress) => self.running.progress(progress).await,
                // Of one that was signed; another does not run.
                Note::Alarmed(note) if self.registry.borrow().row(&note.id).is_some() => {
                    self.people.tell_owner(NoticeKind::Alarm, &note.id, &note.why).await;
                }
                Note::Alarmed(_) => {}
            }
        }
    }
}
