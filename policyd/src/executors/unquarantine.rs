//! The way out of quarantine: the owner, at the machine, learns why an executor was quarantined and what differs now, and says
//! yes to exactly that (design: executor §4, sandbox §3). What was signed must be there again, byte for byte. Only the sandbox
//! may be another, as after an upgrade: then its birth tests are run in that one, and it is signed again. Nothing else ever
//! leaves quarantine.

use std::collections::BTreeMap;

use metnos_proto::doc::executor::{QuarantineReport, QuarantinedExecutor, WayOut};
use metnos_proto::edge::RpcError;
use metnos_proto::ids::{Blake3, TraceId};
use metnos_proto::json;
use metnos_proto::msg::common::{ExecutorDigests, ExecutorId, Refusal, RefusalCode};
use metnos_proto::msg::policyd::LiftQuarantine;
use metnos_proto::msg::sandboxd::{Birth, ClearFindings, Pool, PoolEntry};
use rusqlite::params;

use crate::decision::sandbox_gone;
use crate::executors::Executors;
use crate::executors::registry::Tested;
use crate::guard::shown;
use crate::people::principal::Principal;
use crate::store::{Row, RowState, Store, StoreError};

/// What can be done about one that is quarantined.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Way {
    /// All is again as it was signed.
    Lift,
    /// Its files are; the sandbox of this installation is another.
    Relock,
    /// Its files are not, and this is how.
    None(String),
}

/// One that is quarantined, as it is now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    row: Row,
    now: ExecutorDigests,
    way: Way,
}

impl Found {
    /// Compares what was signed with what lies in the pool.
    #[must_use]
    pub fn of(row: Row, entry: Option<&PoolEntry>) -> Self {
        let Some(entry) = entry else {
            let now = row.digests.clone();
            return Self { row, now, way: Way::None("its files are gone from the pool".to_owned()) };
        };
        let (now, then) = (&entry.digests, &row.digests);
        let parts = [
            ("manifest.toml", now.manifest, then.manifest),
            ("main.py", now.code, then.code),
            ("schema.json", now.schema, then.schema),
        ];
        let other = parts.into_iter().find(|(_, now, then)| now != then);
        let way = match other {
            Some((part, ..)) => Way::None(format!("{part} is not what was signed: restore it from a backup")),
            None if now.profile == then.profile => Way::Lift,
            // Without a digest there is no sandbox; the listing says why.
            None if now.profile == Blake3([0; 32]) => Way::None(entry.fault.clone()),
            None => Way::Relock,
        };
        Self { now: now.clone(), way, row }
    }

    /// What can be done about it.
    pub(crate) const fn way(&self) -> &Way {
        &self.way
    }

    /// Whether it is one of those that were asked about.
    fn fits(&self, relock: bool) -> bool {
        match self.way {
            Way::Lift => !relock,
            Way::Relock => relock,
            Way::None(_) => false,
        }
    }

    /// Everything that the owner is shown, and that his word is about.
    fn document(&self) -> QuarantinedExecutor {
        let (way, fault) = match &self.way {
            Way::Lift => (WayOut::Lift, ""),
            Way::Relock => (WayOut::Relock, ""),
            Way::None(fault) => (WayOut::None, fault.as_str()),
        };
        QuarantinedExecutor {
            name: self.row.id.name.clone(),
            version: self.row.id.version.clone(),
            why: self.row.why.clone(),
            since_ms: self.row.since_ms,
            way,
            fault: fault.to_owned(),
            signed: self.row.digests.profile.to_string(),
            now: self.now.profile.to_string(),
            done: None,
            error: None,
        }
    }
}

impl Store {
    /// Records that an executor has left quarantine, with what is signed of it now; its birth is to be finished.
    ///
    /// # Errors
    /// When it could not be made durable.
    pub async fn readmitted(&self, row: Row) -> Result<(), StoreError> {
        self.run(move |connection| {
            connection
                .execute(
                    "UPDATE executors SET state = 'signed', why = '', since_ms = ?3, profile_digest = ?4, signature = ?5
                     WHERE name = ?1 AND version = ?2 AND state = 'quarantined'",
                    params![
                        row.id.name,
                        row.id.version,
                        i64::try_from(row.since_ms).unwrap_or(i64::MAX),
                        row.digests.profile.0.as_slice(),
                        row.signature
                    ],
                )
                .map(|_| ())
        })
        .await
    }
}

impl Executors {
    /// Says what is in quarantine, why, and what can be done; with the digest of exactly that, does it.
    ///
    /// # Errors
    /// When nothing of that name is in quarantine, or what was confirmed is not what there is.
    pub(crate) async fn lift_quarantine(
        &self,
        principal: &Principal,
        ask: LiftQuarantine,
    ) -> Result<QuarantineReport, Refusal> {
        let found = self.set_aside(ask.name.as_deref()).await?;
        let fitting: Vec<&Found> = found.iter().filter(|one| one.fits(ask.relock)).collect();
        let digest = json::digest_of(&fitting.iter().map(|one| one.document()).collect::<Vec<_>>()).to_string();
        let mut let_back = BTreeMap::new();
        if !ask.confirm.is_empty() {
            if fitting.is_empty() || ask.confirm != digest {
                let why = "what was confirmed is not what there is now; nothing was done";
                return Err(Refusal::new(RefusalCode::Denied, "readmit.altered", why)
                    .remedy("look again, without --confirm, at what is in quarantine"));
            }
            for one in fitting {
                let ended = self.let_back(principal, one).await.map_err(|refusal| refusal.why);
                let_back.insert(one.row.id.to_string(), ended);
            }
        }
        let executors = found.iter().map(|one| told(one, &let_back)).collect();
        let confirmed = !ask.confirm.is_empty();
        let done = confirmed && let_back.values().all(Result::is_ok);
        let digest = if found.iter().any(|one| one.fits(ask.relock)) { digest } else { String::new() };
        Ok(QuarantineReport { executors, digest, confirmed, done })
    }

    /// Everything of this name, or at all, that is in quarantine, compared with the pool as it is.
    async fn set_aside(&self, name: Option<&str>) -> Result<Vec<Found>, Refusal> {
        let rows: Vec<Row> = self.registry.borrow().rows();
        let of_name = |row: &&Row| name.is_none_or(|name| row.id.name == name);
        if let (Some(name), None) = (name, rows.iter().find(of_name)) {
            let why = format!("no executor named {} was ever signed", shown(name));
            return Err(Refusal::new(RefusalCode::Unknown, "executor.unknown", why)
                .remedy("`metnosctl executor list` shows those that there are"));
        }
        self.base.sandbox_soon().await;
        if !self.base.sandbox_ready() {
            return Err(sandbox_gone().refusal());
        }
        let listing = self.base.ask_sandbox(self.base.sandbox.pool(TraceId::NONE, Pool {}, [])).await;
        let (listing, []) = listing.map_err(RpcError::into_refusal)?;
        let entry = |id: &ExecutorId| listing.entries.iter().find(|entry| entry.id == *id);
        let quarantined = rows.iter().filter(of_name).filter(|row| row.state == RowState::Quarantined);
        Ok(quarantined.map(|row| Found::of(row.clone(), entry(&row.id))).collect())
    }

    /// One executor that the owner lets back. It is in quarantine until all of it is done.
    async fn let_back(&self, principal: &Principal, one: &Found) -> Result<(), Refusal> {
        let id = &one.row.id;
        let clear_findings = ClearFindings { id: id.clone(), digests: one.now.clone() };
        self.base
            .ask_sandbox(self.base.sandbox.clear_findings(TraceId::NONE, clear_findings, []))
            .await
            .map_err(RpcError::into_refusal)?;
        let signature = match one.way {
            Way::Relock => self.signed_anew(one).await?,
            Way::Lift | Way::None(_) => one.row.signature.clone(),
        };
        let how = match one.way {
            Way::Relock => {
                format!("; its sandbox is {} now, signed before was {}", one.now.profile, one.row.digests.profile)
            }
            Way::Lift | Way::None(_) => String::new(),
        };
        let text = format!("{} lets {id} back, which was set aside because {}{how}", principal.name, one.row.why);
        // Without its line it stays in quarantine.
        self.base.chronicled("readmitted", &text).await?;
        // It may have been quarantined once more meanwhile, or let back by another word.
        let same = self.registry.borrow().row(id).is_some_and(|row| *row == one.row);
        if !same {
            let why = format!("{id} has changed in the registry in this very moment; nothing was done");
            return Err(Refusal::new(RefusalCode::Denied, "readmit.altered", why).remedy("look again"));
        }
        let row = Row {
            digests: one.now.clone(),
            signature,
            state: RowState::Signed,
            why: String::new(),
            since_ms: self.base.clock.wall_ms(),
            ..one.row.clone()
        };
        let unwritten = |error: StoreError| {
            Refusal::new(RefusalCode::Internal, "policyd.internal", format!("{id} stays in quarantine: {error}"))
        };
        self.base.store.readmitted(row.clone()).await.map_err(unwritten)?;
        self.registry.borrow_mut().signed(row);
        self.strikes.borrow_mut().forget(&id.name);
        self.base.store.forget_strikes(id.name.clone()).await.map_err(unwritten)?;
        self.finish_birth(id).await
    }

    /// Has it tested in the sandbox that it would get from now on, and signs that.
    async fn signed_anew(&self, one: &Found) -> Result<Vec<u8>, Refusal> {
        let id = &one.row.id;
        let ask = Birth { id: id.clone(), digests: one.now.clone() };
        let born = self.base.ask_sandbox(self.base.sandbox.birth(TraceId::NONE, ask, [])).await;
        let (born, [candidate]) = born.map_err(RpcError::into_refusal)?;
        let unborn = |why: String| {
            Refusal::new(RefusalCode::Denied, "readmit.tests", format!("{id} stays in quarantine: {why}"))
                .remedy("`metnosctl executor diff` shows what is different in its sandbox")
        };
        if born.cases.is_empty() {
            return Err(unborn("it has no birth tests".to_owned()));
        }
        if let Some(case) = born.cases.iter().find(|case| !case.passed) {
            return Err(unborn(format!("its birth test `{}` does not hold: {}", case.name, case.detail)));
        }
        let bytes = candidate.read().map_err(|why| unborn(why.to_string()))?;
        // Compares every text with its digest, and those are the ones that were signed before.
        Tested::read(&bytes, &one.now).map_err(unborn)?;
        Ok(self.key.sign(&one.now))
    }
}

/// What there is to say about one, and what came of it where something was done.
fn told(one: &Found, let_back: &BTreeMap<String, Result<(), String>>) -> QuarantinedExecutor {
    match let_back.get(&one.row.id.to_string()) {
        Some(ended) => QuarantinedExecutor { done: Some(ended.is_ok()), error: ended.clone().err(), ..one.document() },
        None => one.document(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row() -> Row {
        let id = ExecutorId { name: "a".into(), version: "1.0.0".into() };
        let of = |text: &str| Blake3::of(text.as_bytes());
        let digests = ExecutorDigests { manifest: of("m"), code: of("c"), schema: of("s"), profile: of("p") };
        Row { state: RowState::Quarantined, digests, ..Row::for_tests(id) }
    }

    fn way(digests: ExecutorDigests) -> Way {
        let entry = PoolEntry { id: row().id, digests, fault: "no plan".into(), signed: false };
        Found::of(row(), Some(&entry)).way
    }

    #[test]
    fn digest_of_what_is_let_out_never_changes() {
        let entry = PoolEntry { id: row().id, digests: row().digests, fault: String::new(), signed: true };
        let found = Found::of(Row { why: "w".into(), since_ms: 7, ..row() }, Some(&entry));
        let profile = row().digests.profile;
        let bytes = format!(
            r#"[{{"fault":"","name":"a","now":"{profile}","signed":"{profile}","since_ms":7,"version":"1.0.0","way":"lift","why":"w"}}]"#
        );
        assert_eq!(json::digest_of(&[found.document()]), Blake3::of(bytes.as_bytes()));
    }

    #[test]
    fn only_what_was_signed_can_come_back_and_only_its_sandbox_may_be_another() {
        let signed = row().digests;
        let other = Blake3::of(b"other");
        assert_eq!(way(signed.clone()), Way::Lift);
        assert_eq!(way(ExecutorDigests { profile: other, ..signed.clone() }), Way::Relock);
        let nothing = ExecutorDigests { profile: Blake3([0; 32]), ..signed.clone() };
        assert_eq!(way(nothing), Way::None("no plan".into()));
        for digests in [
            ExecutorDigests { manifest: other, ..signed.clone() },
            ExecutorDigests { code: other, ..signed.clone() },
            ExecutorDigests { schema: other, ..signed.clone() },
            ExecutorDigests { code: other, profile: other, ..signed },
        ] {
            assert!(matches!(way(digests), Way::None(why) if why.contains("is not what was signed")));
        }
        assert!(matches!(Found::of(row(), None).way, Way::None(why) if why.contains("gone")));
    }
}
