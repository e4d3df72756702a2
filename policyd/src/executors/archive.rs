//! The owner's word on the life of an executor (design: executor §4). What he puts away is neither offered nor callable until he
//! brings it back, with a reason; what he disowns never is again, whatever lies in the pool, is born or is let back later.
//! Nothing of either is deleted. Power is taken away before it is written down, and given back after.

use metnos_proto::doc::executor::{LifecycleAnswer, LifecycleChange, State};
use metnos_proto::edge::RpcError;
use metnos_proto::executor::is_name;
use metnos_proto::ids::TraceId;
use metnos_proto::json;
use metnos_proto::msg::common::{ExecutorId, Refusal, RefusalCode};
use metnos_proto::msg::lifecycle::{LifecycleAsk, LifecycleTarget, MAX_REASON, Revocation, RevokeTexts};
use metnos_proto::msg::sandboxd::{ClearFindings, Pool};
use rusqlite::params;
use serde::Serialize;

use crate::decision::{REVOKED, sandbox_gone};
use crate::executors::Executors;
use crate::executors::lifecycle::MAX_WHY;
use crate::executors::unquarantine::{Found, Way};
use crate::guard::shown;
use crate::people::principal::Principal;
use crate::store::{Row, RowState, Store, StoreError, not_durable, signed};
use crate::text::head;

/// In the database itself: no statement of any later version leaves a revocation by mistake.
pub(crate) const FOR_EVER: &str = "
    CREATE TRIGGER revoked_for_ever BEFORE UPDATE ON executors
        WHEN OLD.state = 'revoked' AND (NEW.state <> 'revoked' OR NEW.name <> OLD.name OR NEW.version <> OLD.version)
        BEGIN SELECT RAISE(ABORT, 'what was revoked stays so'); END;
    CREATE TRIGGER revoked_is_kept BEFORE DELETE ON executors WHEN OLD.state = 'revoked'
        BEGIN SELECT RAISE(ABORT, 'what was revoked stays so'); END;
    CREATE TRIGGER revoked_is_not_replaced BEFORE INSERT ON executors
        WHEN EXISTS (SELECT 1 FROM executors WHERE name = NEW.name AND version = NEW.version AND state = 'revoked')
        BEGIN SELECT RAISE(ABORT, 'what was revoked stays so'); END;";

impl RowState {
    /// How it is called to people.
    const fn shown(self) -> State {
        match self {
            Self::Signed => State::Signed,
            Self::Active => State::Active,
            Self::Quarantined => State::Quarantined,
            Self::Archived { .. } => State::Archived,
            Self::Revoked => State::Revoked,
        }
    }
}

impl Store {
    /// Records that an executor was archived or revoked.
    ///
    /// # Errors
    /// When it could not be made durable.
    pub async fn laid(&self, id: ExecutorId, state: RowState, why: String, now_ms: u64) -> Result<(), StoreError> {
        self.run(move |connection| {
            connection
                .execute(
                    "UPDATE executors SET state = ?3, why = ?4, since_ms = ?5
                     WHERE name = ?1 AND version = ?2 AND state <> 'revoked'",
                    params![id.name, id.version, state.name(), why, signed(now_ms)],
                )
                .map(|_| ())
        })
        .await
    }

    /// Records that an executor has left the archive for this state.
    ///
    /// # Errors
    /// When it could not be made durable.
    pub async fn restored(&self, row: Row) -> Result<(), StoreError> {
        self.run(move |connection| {
            connection
                .execute(
                    "UPDATE executors SET state = ?3, why = ?4, since_ms = ?5
                     WHERE name = ?1 AND version = ?2 AND state IN ('archived', 'archived_quarantined')",
                    params![row.id.name, row.id.version, row.state.name(), row.why, signed(row.since_ms)],
                )
                .map(|_| ())
        })
        .await
    }
}

fn denied(rule: &str, why: String, remedy: &str) -> Refusal {
    Refusal::new(RefusalCode::Denied, rule, why).remedy(remedy)
}

/// A reason as it is kept.
///
/// # Errors
/// When it is too long, holds what is no text, or is missing where there must be one.
fn reason_of(text: &str, needed: bool) -> Result<String, Refusal> {
    let invalid = |why: String| Refusal::new(RefusalCode::Invalid, "executor.reason", why);
    let text = text.trim();
    if text.len() > MAX_REASON {
        return Err(invalid(format!("the reason has {} bytes; the limit is {MAX_REASON}", text.len())));
    }
    if text.chars().any(char::is_control) {
        return Err(invalid("the reason holds control characters".to_owned()));
    }
    if needed && text.is_empty() {
        return Err(invalid("this needs a reason".to_owned()).remedy("say why with `--reason`"));
    }
    Ok(text.to_owned())
}

/// What memoryd is told about one that is out of use.
pub(crate) fn told_why(row: &Row) -> String {
    match row.state {
        RowState::Archived { .. } => format!("put away: {}", row.why),
        RowState::Revoked => format!("revoked: {}", row.why),
        RowState::Signed | RowState::Active | RowState::Quarantined => row.why.clone(),
    }
}

/// What is said of what was done.
fn outcome(row: &Row, state: State, why: &str, changed: bool) -> LifecycleChange {
    let ExecutorId { name, version } = row.id.clone();
    LifecycleChange { name, version, state, why: why.to_owned(), digest: String::new(), changed }
}

/// What the owner confirms before a signature is revoked: the digest of this stands for it.
#[derive(Debug, Serialize)]
struct RevokeMatter<'a> {
    revoke: String,
    reason: &'a str,
    manifest: String,
    code: String,
    schema: String,
}

impl Executors {
    /// See [`LifecycleAsk`].
    ///
    /// # Errors
    /// Why it is not done; then nothing is.
    pub(crate) async fn owners_word(
        &self,
        principal: &Principal,
        ask: LifecycleAsk,
    ) -> Result<LifecycleAnswer, Refusal> {
        let changed = match ask {
            LifecycleAsk::Archive(word) => self.archive(principal, word).await?,
            LifecycleAsk::Restore(word) => self.restore(principal, word).await?,
            LifecycleAsk::Revoke(word) => self.revoke_signature(principal, word).await?,
            LifecycleAsk::Sign(word) => {
                return Ok(LifecycleAnswer::Signed(Box::new(self.sign_staged(principal, word).await?)));
            }
        };
        Ok(LifecycleAnswer::Changed(changed))
    }

    /// The version that a name means, if it was ever signed.
    pub(crate) fn ever_signed(&self, name: &str) -> Result<Row, Refusal> {
        let row = if is_name(name) { self.registry.borrow().row_of(name).cloned() } else { None };
        row.ok_or_else(|| {
            let why = format!("no executor named {} was ever signed", shown(name));
            Refusal::new(RefusalCode::Unknown, "executor.unknown", why)
                .remedy("`metnosctl executor list` shows those that there are")
        })
    }

    async fn archive(&self, principal: &Principal, word: LifecycleTarget) -> Result<LifecycleChange, Refusal> {
        let reason = reason_of(&word.reason, false)?;
        let row = self.ever_signed(&word.name)?;
        let from_quarantine = match row.state {
            RowState::Signed | RowState::Active => false,
            RowState::Quarantined => true,
            RowState::Archived { .. } => return Ok(outcome(&row, State::Archived, &row.why, false)),
            RowState::Revoked => return Err(revoked(&row)),
        };
        let reason = if reason.is_empty() { "the owner wished it".to_owned() } else { reason };
        let why = match from_quarantine {
            true => format!("{reason}; before that it was in quarantine: {}", row.why),
            false => reason.clone(),
        };
        let state = RowState::Archived { from_quarantine };
        self.lay(&row, state, &head(&why, MAX_WHY)).await?;
        self.base.event("executor_archived", &format!("{} puts {} away: {reason}", principal.name, row.id), None);
        self.tell_losses().await;
        Ok(outcome(&row, State::Archived, &why, true))
    }

    /// Takes it out of use: first for every decision from now on, then for good.
    async fn lay(&self, row: &Row, state: RowState, why: &str) -> Result<(), Refusal> {
        let now = self.base.clock.wall_ms();
        self.registry.borrow_mut().lay(&row.id, state, why, now);
        let written = self.base.store.laid(row.id.clone(), state, why.to_owned(), now).await;
        written.map_err(|error| {
            let why = format!("{} is out of use only until policyd ends: {error}", row.id);
            Refusal::new(RefusalCode::Internal, "policyd.internal", why).remedy("look at the disk, then say it again")
        })
    }

    async fn restore(&self, principal: &Principal, word: LifecycleTarget) -> Result<LifecycleChange, Refusal> {
        let reason = reason_of(&word.reason, true)?;
        let row = self.ever_signed(&word.name)?;
        let from_quarantine = match row.state {
            RowState::Archived { from_quarantine } => from_quarantine,
            RowState::Signed | RowState::Active => return Ok(outcome(&row, State::Active, "", false)),
            RowState::Quarantined => {
                let why = format!("{} is not in the archive, but in quarantine: {}", row.id, row.why);
                return Err(denied(
                    "restore.quarantined",
                    why,
                    "`metnosctl executor lift` says whether it can be let back",
                ));
            }
            RowState::Revoked => return Err(revoked(&row)),
        };
        let says = format!("{} brings {} back out of the archive: {reason}", principal.name, row.id);
        if from_quarantine {
            return self.back_to_quarantine(row.clone(), &says, &row.why).await;
        }
        self.has_room_for(&row)?;
        let found = self.found(&row).await?;
        match found.way() {
            Way::Lift => {}
            Way::Relock => {
                let why = "its sandbox is another than the one that was signed, since it was put away";
                return self.back_to_quarantine(row, &says, why).await;
            }
            Way::None(fault) => {
                let why = format!("{} stays in the archive: {fault}", row.id);
                return Err(denied("restore.altered", why, "put its files back as they were signed, from a backup"));
            }
        }
        let clear_findings = ClearFindings { id: row.id.clone(), digests: row.digests.clone() };
        self.base
            .ask_sandbox(self.base.sandbox.clear_findings(TraceId::NONE, clear_findings, []))
            .await
            .map_err(RpcError::into_refusal)?;
        // Without its line it stays where it is.
        self.base.chronicled("executor_restored", &says).await?;
        let back = Row { state: RowState::Signed, why: String::new(), ..row };
        self.take_out(back.clone()).await?;
        self.finish_birth(&back.id).await?;
        Ok(outcome(&back, State::Active, "", true))
    }

    /// Out of the archive, and no further: what stood against it still does.
    async fn back_to_quarantine(&self, row: Row, says: &str, why: &str) -> Result<LifecycleChange, Refusal> {
        self.base.chronicled("executor_restored", &format!("{says}; it is in quarantine: {why}")).await?;
        let back = Row { state: RowState::Quarantined, why: head(why, MAX_WHY), ..row };
        self.take_out(back.clone()).await?;
        Ok(outcome(&back, State::Quarantined, why, true))
    }

    /// It leaves the archive; another word may have been said about it meanwhile, which counts then.
    async fn take_out(&self, back: Row) -> Result<(), Refusal> {
        let since_ms = self.base.clock.wall_ms();
        let back = Row { since_ms, ..back };
        let archived = |row: &Row| matches!(row.state, RowState::Archived { .. });
        let altered = || {
            let why = format!("{} has changed in the registry in this very moment; nothing was done", back.id);
            denied("restore.altered", why, "look again")
        };
        if !self.registry.borrow().row(&back.id).is_some_and(archived) {
            return Err(altered());
        }
        self.base.store.restored(back.clone()).await.map_err(|error| not_durable(&error))?;
        let mut registry = self.registry.borrow_mut();
        if !registry.row(&back.id).is_some_and(archived) {
            return Err(altered());
        }
        registry.out_of_the_archive(back);
        Ok(())
    }

    /// Whether one more executor that is no seed may be active.
    fn has_room_for(&self, row: &Row) -> Result<(), Refusal> {
        let registry = self.registry.borrow();
        if registry.is_grown(row) && registry.growth_left(self.base.clock.wall_ms()).active == 0 {
            let why = format!("{} stays in the archive: as many that are no seeds are active as may be", row.id);
            return Err(denied("growth.full", why, "put another one away first: `metnosctl executor archive`"));
        }
        Ok(())
    }

    /// One row, compared with the pool as it is.
    pub(crate) async fn found(&self, row: &Row) -> Result<Found, Refusal> {
        self.base.sandbox_soon().await;
        if !self.base.sandbox_ready() {
            return Err(sandbox_gone().refusal());
        }
        let listing = self.base.ask_sandbox(self.base.sandbox.pool(TraceId::NONE, Pool {}, [])).await;
        let (listing, []) = listing.map_err(RpcError::into_refusal)?;
        let entry = listing.entries.iter().find(|entry| entry.id == row.id);
        Ok(Found::of(row.clone(), entry))
    }

    async fn revoke_signature(&self, principal: &Principal, word: Revocation) -> Result<LifecycleChange, Refusal> {
        let reason = reason_of(&word.reason, true)?;
        let row = self.ever_signed(&word.name)?;
        if row.state == RowState::Revoked {
            return Ok(outcome(&row, State::Revoked, &row.why, false));
        }
        let about = RevokeMatter {
            revoke: row.id.to_string(),
            reason: &reason,
            manifest: row.digests.manifest.to_string(),
            code: row.digests.code.to_string(),
            schema: row.digests.schema.to_string(),
        };
        let digest = json::digest_of(&about).to_string();
        if word.confirm.is_empty() {
            return Ok(LifecycleChange { digest, ..outcome(&row, row.state.shown(), &row.why, false) });
        }
        if word.confirm != digest {
            let why =
                "what was confirmed is not what there is now, or not for this reason; nothing was done".to_owned();
            return Err(denied("revoke.altered", why, "look again, without --confirm"));
        }
        let turns = self.running.turns_running(&row.id.name);
        let laid = self.lay(&row, RowState::Revoked, &reason).await;
        let text = format!("{} revokes the signature of {}, for ever: {reason}", principal.name, row.id);
        self.base.event("executor_revoked", &text, None);
        self.revoke_texts(&row).await;
        // What has begun with it ends; a sandboxd that cannot be reached ends it when it is restarted.
        let (_, deaf) = self.end_calls(turns.into_iter().map(Some)).await;
        self.tell_losses().await;
        laid?;
        if let Some(error) = deaf {
            let why = format!("{} is revoked, but sandboxd did not end what runs: {error}", row.id);
            return Err(Refusal::new(RefusalCode::Unavailable, "sandbox.gone", why)
                .remedy("`metnosctl daemon restart sandboxd` ends it"));
        }
        Ok(outcome(&row, State::Revoked, &reason, true))
    }

    /// Tells sandboxd of one that was revoked while it runs; the next one learns of all when it comes.
    async fn revoke_texts(&self, row: &Row) {
        let ask = RevokeTexts { id: row.id.clone(), digests: row.digests.clone() };
        if let Err(error) = self.base.ask_sandbox(self.base.sandbox.revoke_texts(TraceId::NONE, ask, [])).await {
            tracing::warn!(id = %row.id, %error, "sandboxd does not know yet that an executor is revoked");
        }
    }

    /// Tells a new sandboxd of everything that was ever revoked, before it is asked for anything. Without that nothing is
    /// loaded.
    pub(crate) async fn tell_disowned(&self) -> bool {
        let rows = self.registry.borrow().rows();
        for row in rows.into_iter().filter(|row| row.state == RowState::Revoked) {
            let ask = RevokeTexts { id: row.id.clone(), digests: row.digests };
            if let Err(error) = self.base.sandbox.revoke_texts(TraceId::NONE, ask, []).await {
                tracing::error!(id = %row.id, %error, "sandboxd does not take that an executor is revoked");
                return false;
            }
        }
        true
    }
}

fn revoked(row: &Row) -> Refusal {
    let why = format!("the signature of {} is revoked, for ever: {}", row.id, row.why);
    denied(REVOKED, why, "a new version can be born; this one cannot be brought back")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use metnos_proto::ids::Blake3;

    use super::*;
    use crate::opened::Opened;
    use crate::store::{ReportedState, STORE_FILE};

    fn id() -> ExecutorId {
        ExecutorId { name: "a".into(), version: "1.0.0".into() }
    }

    fn reopened(folder: &std::path::Path) -> Vec<Row> {
        loop {
            // The thread releases the file a moment later.
            match Opened::open(folder, &[1; 32]) {
                Ok(opened) => return opened.kept.executors.rows,
                Err(_) => std::thread::yield_now(),
            }
        }
    }

    #[tokio::test(flavor = "current_thread")]
    async fn the_database_itself_keeps_a_revocation_whatever_is_written() {
        let folder = tempfile::tempdir().unwrap();
        let store = Opened::open(folder.path(), &[1; 32]).unwrap().start().unwrap();
        store.signed(Row::for_tests(id())).await.unwrap();
        store.laid(id(), RowState::Revoked, "bad".into(), 5).await.unwrap();
        store.laid(id(), RowState::Archived { from_quarantine: false }, "x".into(), 6).await.unwrap();
        store.born(id(), 7).await.unwrap();
        store.quarantined(id(), "x".into(), 8).await.unwrap();
        store.readmitted(Row::for_tests(id())).await.unwrap();
        store.restored(Row::for_tests(id())).await.unwrap();
        assert!(store.signed(Row::for_tests(id())).await.is_err(), "the same version is not signed again");
        store.set_reported(id(), ReportedState::Lost).await.unwrap();
        drop(store);
        let rows = reopened(folder.path());
        assert_eq!((rows[0].state, rows[0].why.as_str(), rows[0].since_ms), (RowState::Revoked, "bad", 5));
        let direct = rusqlite::Connection::open(folder.path().join(STORE_FILE)).unwrap();
        for statement in [
            "UPDATE executors SET state = 'active'",
            "UPDATE executors SET version = '2.0.0'",
            "DELETE FROM executors",
            "INSERT OR REPLACE INTO executors SELECT name, version, manifest_digest, code_digest, schema_digest, \
             profile_digest, signature, manifest, schema, 'active', why, since_ms, born_ms, told FROM executors",
        ] {
            let _ = direct.execute_batch(statement);
        }
        drop(direct);
        assert_eq!(reopened(folder.path())[0].state, RowState::Revoked);
    }

    #[tokio::test(flavor = "current_thread")]
    async fn archived_state_and_its_origin_survive_restart() {
        for from_quarantine in [false, true] {
            let folder = tempfile::tempdir().unwrap();
            let store = Opened::open(folder.path(), &[1; 32]).unwrap().start().unwrap();
            store.signed(Row::for_tests(id())).await.unwrap();
            store.laid(id(), RowState::Archived { from_quarantine }, "rest".into(), 5).await.unwrap();
            store.born(id(), 7).await.unwrap();
            store.quarantined(id(), "x".into(), 8).await.unwrap();
            drop(store);
            let rows = reopened(folder.path());
            assert_eq!((rows[0].state, rows[0].why.as_str()), (RowState::Archived { from_quarantine }, "rest"));
        }
    }

    #[test]
    fn digest_of_a_revocation_never_changes() {
        let [manifest, code, schema] = ["m", "c", "s"].map(str::to_owned);
        let about = RevokeMatter { revoke: "a 1.0.0".to_owned(), reason: "bad", manifest, code, schema };
        let bytes = r#"{"code":"c","manifest":"m","reason":"bad","revoke":"a 1.0.0","schema":"s"}"#;
        assert_eq!(json::digest_of(&about), Blake3::of(bytes.as_bytes()));
    }

    #[test]
    fn a_reason_is_a_line_of_bounded_length() {
        assert_eq!(reason_of("  too loud ", true).unwrap(), "too loud");
        assert_eq!(reason_of("", false).unwrap(), "");
        assert!(reason_of(" ", true).is_err() && reason_of("a\nb", false).is_err());
        assert!(reason_of(&"x".repeat(MAX_REASON), true).is_ok());
        assert!(reason_of(&"x".repeat(MAX_REASON + 1), true).is_err());
    }
}
