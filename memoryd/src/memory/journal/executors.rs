//! Executors that are born and lost, what something costs, and the constitution: lines that belong to no turn of their own.

use metnos_proto::envelope::Candidate;
use metnos_proto::ids::{Blake3, TurnId};
use metnos_proto::msg::common::{RefusalCode, Trust};
use metnos_proto::msg::memoryd::{ConstitutionModified, Cost, ExecutorBorn, ExecutorLost, MAX_WHY, Recorded};

use super::{Answer, Asker, Journal, clean, refused};
use crate::chronicle::event::{Draft, EventType};
use crate::chronicle::line::MAX_FIELD_BYTES;
use crate::chronicle::payload::{self, CostEntry};

/// The most that one entry may cost, in millionths: so that no sum of a lifetime's entries overflows.
pub const MAX_MICRO: u64 = 1_000_000_000_000;

/// What is recorded of an executor that was signed.
///
/// # Errors
/// When its contract is not one, or another's.
pub(in crate::memory) fn born(word: &ExecutorBorn, candidate: &[u8]) -> Answer<payload::Evolution> {
    let invalid = |why: String| refused(RefusalCode::Invalid, "executor.contract", why);
    let contract: Candidate = serde_json::from_slice(candidate)
        .map_err(|error| invalid(format!("the contract of {} cannot be read: {error}", word.id)))?;
    if (&contract.name, &contract.version) != (&word.id.name, &word.id.version) {
        return Err(invalid(format!("the contract of {} is that of {} {}", word.id, contract.name, contract.version)));
    }
    let candidate = serde_json::to_value(&contract)
        .map_err(|error| invalid(format!("the contract of {} cannot be written: {error}", word.id)))?;
    let digests = [word.digests.manifest, word.digests.code, word.digests.schema, word.digests.profile];
    Ok(payload::Evolution {
        act: "born".to_owned(),
        candidate,
        digests: digests.iter().map(ToString::to_string).collect(),
        executor: word.id.name.clone(),
        version: word.id.version.clone(),
        why: String::new(),
    })
}

/// What is recorded of an executor that may no longer be called.
pub(in crate::memory) fn lost(word: &ExecutorLost) -> payload::Evolution {
    payload::Evolution {
        act: "lost".to_owned(),
        candidate: serde_json::Value::Null,
        digests: Vec::new(),
        executor: word.id.name.clone(),
        version: word.id.version.clone(),
        why: word.why.clone(),
    }
}

impl Journal {
    /// Stages a change of the registry, unless it is what was recorded last. Nothing may be staged before it.
    ///
    /// # Errors
    /// When it cannot be recorded.
    pub(in crate::memory) fn evolved(&mut self, asker: Asker, change: &payload::Evolution) -> Answer<Recorded> {
        let known = self.chronicle.index().executor(&change.executor, &change.version)?;
        let payload = change.encode();
        if let Some((_, seq)) = known
            && let Some(row) = self.chronicle.index().row(seq)?
            && self.chronicle.says(&row, &payload)
        {
            return Ok(Recorded { seq: row.seq, hash: row.hash });
        }
        self.stage_alone(asker, EventType::Evolution, payload)
    }

    /// Stages that something is expected to cost something, did, or was never settled.
    ///
    /// # Errors
    /// When the entry makes no sense, or nothing can be recorded.
    pub(in crate::memory) fn cost(&mut self, asker: Asker, word: &Cost) -> Answer<Recorded> {
        let fits = word.micro <= MAX_MICRO
            && !(word.role.is_empty() && word.executor.is_empty())
            && [&word.role, &word.executor, &word.principal].iter().all(|text| text.len() <= MAX_FIELD_BYTES);
        if !fits {
            let why = format!(
                "an entry is about a role, an executor, or a role that worked for one, and of at most {MAX_MICRO} millionths"
            );
            return Err(refused(RefusalCode::Invalid, "cost.format", why));
        }
        let payload = CostEntry {
            entry: word.entry.to_string(),
            executor: word.executor.clone(),
            micro: word.micro,
            role: word.role.clone(),
            sent: word.sent.map(|digest| digest.to_string()).unwrap_or_default(),
            stage: word.stage.name().to_owned(),
            tokens_in: word.tokens_in,
            tokens_out: word.tokens_out,
        };
        Ok(self.chronicle.stage(Draft {
            parent: None,
            emitter: asker.role,
            session: asker.session,
            turn_id: Some(word.turn).filter(|turn| *turn != TurnId::NONE),
            trace_id: None,
            kind: EventType::CostEntry,
            channel: None,
            peer: word.principal.clone(),
            trust: Trust::System,
            payload: payload.encode(),
        })?)
    }

    /// Stages that the owner has replaced the Laws, by a rite.
    ///
    /// # Errors
    /// When a digest is none, or the reason is too long; or the line cannot be written.
    pub(in crate::memory) fn constitution(&mut self, asker: Asker, word: &ConstitutionModified) -> Answer<Recorded> {
        let digest = |text: &str| Blake3::parse(text).is_some();
        if !(digest(&word.to) && (word.from.is_empty() || digest(&word.from))) || word.why.len() > MAX_WHY {
            let why = format!("two digests of BLAKE3 and a reason of at most {MAX_WHY} bytes are needed");
            return Err(refused(RefusalCode::Invalid, "constitution.format", why));
        }
        let (from, to) = (word.from.clone(), word.to.clone());
        let payload = payload::ConstitutionModified { from, to, why: clean(word.why.clone()) }.encode();
        self.stage_alone(asker, EventType::ConstitutionModified, payload)
    }
}
