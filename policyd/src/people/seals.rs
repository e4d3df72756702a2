//! What is kept of a person other than the owner is sealed: the owner is shown who, when and which executor, and not a word. The owner
//! may break a seal for an hour, at the machine, by a rite that the person hears of on each of the own channels before anything is
//! shown. A broken seal is not kept over a restart.

use std::collections::BTreeMap;

use metnos_proto::doc::people::{BrokenSeal, BrokenSeals};
use metnos_proto::ids::{TraceId, TurnId};
use metnos_proto::msg::common::{Channel, Refusal, RefusalCode, Standing};
use metnos_proto::msg::people::{BreakSeal, MAX_PERSONS, MAX_REASON, SEAL_BROKEN_MS, SealAsk, Unsealed};
use metnos_proto::msg::schedule::{KeepSchedule, ScheduleKind};
use metnos_texts::{Key, tell};

use super::Principals;
use super::pairing::can_pair;
use super::persons::Persons;
use super::persons::unknown;
use crate::guard::shown;
use crate::refusals::memory_gone;
use crate::vault::accounts::OWNER;

/// The broken seals, by whose they are.
#[derive(Debug, Default)]
pub(crate) struct Seals(BTreeMap<String, BrokenSeal>);

impl Seals {
    /// Those that are open at this moment.
    fn open(&self, now_ms: u64) -> impl Iterator<Item = &BrokenSeal> {
        self.0.values().filter(move |one| now_ms < one.until_ms)
    }

    /// As memoryd is told of them.
    pub(super) fn unsealed(&self, now_ms: u64) -> Vec<Unsealed> {
        let each = |seal: &BrokenSeal| {
            let until_ms = seal.until_ms;
            seal.principals.iter().cloned().map(move |principal| Unsealed { principal, until_ms }).collect::<Vec<_>>()
        };
        self.open(now_ms).flat_map(each).collect()
    }
}

impl Principals {
    /// Does what the owner says about seals.
    ///
    /// # Errors
    /// When nobody is known by that name or nobody could be told, or it could not be recorded: the seal holds then.
    pub(crate) async fn seals(&self, by: &str, ask: SealAsk) -> Result<BrokenSeals, Refusal> {
        let _one = self.change.one.lock().await;
        match ask {
            SealAsk::List => {}
            SealAsk::Break(ask) => self.break_seal(by, ask).await?,
            SealAsk::Close(who) => self.close_seal(by, &who).await?,
        }
        Ok(BrokenSeals(self.change.seals.borrow().open(self.base.clock.wall_ms()).cloned().collect()))
    }

    async fn break_seal(&self, by: &str, ask: BreakSeal) -> Result<(), Refusal> {
        let why = ask.why.trim().to_owned();
        if why.is_empty() || why.len() > MAX_REASON || why.contains(char::is_control) {
            let form = format!("the reason is 1 to {MAX_REASON} bytes on one line: the person is told it");
            return Err(Refusal::new(RefusalCode::Invalid, "seal.reason", form));
        }
        let (who, principals) = self.sealed_as(&ask.who)?;
        let (now, is_new) = {
            let (seals, now) = (self.change.seals.borrow(), self.base.clock.wall_ms());
            (now, !seals.0.contains_key(&who))
        };
        if is_new && self.change.seals.borrow().open(now).count() >= MAX_PERSONS {
            let why = format!("{MAX_PERSONS} seals are broken, which is the limit");
            return Err(Refusal::new(RefusalCode::Busy, "seal.full", why).remedy("close one of them"));
        }
        self.base.chronicled("seal_broken", &format!("{by} reads for an hour what is kept of {who}: {why}")).await?;
        for principal in &principals {
            self.tell_of_seal(principal, &why).await?;
        }
        let until_ms = now.saturating_add(SEAL_BROKEN_MS);
        let seal = BrokenSeal { who: who.clone(), principals, why, until_ms };
        self.change.seals.borrow_mut().0.insert(who.clone(), seal);
        let persons = self.persons.borrow().clone();
        let told = self.household_told(&persons).await;
        if told.is_err() {
            self.change.seals.borrow_mut().0.remove(&who);
        }
        told
    }

    /// A seal holds again at once.
    async fn close_seal(&self, by: &str, who: &str) -> Result<(), Refusal> {
        let name = self.persons.borrow().called(who).map_or(who, |(name, _)| name).to_owned();
        let Some(seal) = self.change.seals.borrow_mut().0.remove(&name) else {
            let why = format!("the seal of {} is not broken", shown(&name));
            return Err(Refusal::new(RefusalCode::Unknown, "seal.unknown", why));
        };
        let persons = self.persons.borrow().clone();
        if let Err(refusal) = self.household_told(&persons).await {
            self.change.seals.borrow_mut().0.insert(name, seal);
            return Err(refusal);
        }
        self.base.chronicled("seal_closed", &format!("{by} has closed the seal of {name}")).await.map(|_| ())
    }

    /// Whose seal is meant, and where that person is told.
    fn sealed_as(&self, who: &str) -> Result<(String, Vec<String>), Refusal> {
        let persons = self.persons.borrow();
        let (name, principals) = match persons.called(who) {
            Some((name, _)) => (name.to_owned(), persons.principals(name)),
            None if persons.of(who).is_none() && self.paired_as(who).is_some() => {
                (who.to_owned(), vec![who.to_owned()])
            }
            None => return Err(unknown(who)),
        };
        if principals.iter().any(|one| self.is_owners(one)) {
            let why = format!("what is kept of {} is not sealed: that is the owner", shown(&name));
            return Err(Refusal::new(RefusalCode::Invalid, "seal.owner", why));
        }
        if principals.is_empty() {
            let why = format!("{} speaks nowhere, so nobody could be told", shown(&name));
            return Err(Refusal::new(RefusalCode::Denied, "seal.untold", why)
                .remedy("a seal is broken only when the person hears of it: pair a channel with that person"));
        }
        Ok((name, principals))
    }

    /// Whether the owner is shown only that this principal has done something, and not what.
    pub(crate) fn is_sealed(&self, principal: &str) -> bool {
        let channel = principal.split(':').next().and_then(Channel::named);
        let of_person = channel.is_none_or(can_pair);
        let seals = self.change.seals.borrow();
        let is_open = || seals.unsealed(self.base.clock.wall_ms()).iter().any(|one| one.principal == principal);
        of_person && !self.is_owners(principal) && !is_open()
    }

    /// Has whoever speaks there told that the owner reads.
    async fn tell_of_seal(&self, principal: &str, why: &str) -> Result<(), Refusal> {
        let lang = self.lang_of(principal);
        let keep = KeepSchedule {
            turn: TurnId::NONE,
            trace: TraceId::NONE,
            principal: principal.to_owned(),
            to: principal.to_owned(),
            from: String::new(),
            kind: ScheduleKind::Message,
            what: tell(lang, Key::SealBroken, &[("why", why.into())]),
            when: String::new(),
            early: false,
            lang,
            told_in: lang,
            frozen: Vec::new(),
            urgent: false,
        };
        let kept = self.base.memory.keep_schedule(TraceId::NONE, keep, []).await;
        kept.map(|_| ()).map_err(metnos_proto::edge::RpcError::into_refusal)
    }

    /// Tells memoryd who is who, who the owner is, and which seals are broken.
    pub(super) async fn household_told(&self, persons: &Persons) -> Result<(), Refusal> {
        let mut household = persons.household();
        let paired = self.paired.borrow().names().map(str::to_owned).collect::<Vec<_>>();
        let is_owners = |name: &String| self.standing_among(persons, name) == Some(Standing::Owner);
        household.owner.extend(paired.into_iter().filter(is_owners));
        household.owner.sort();
        household.owner.dedup();
        household.unsealed = self.change.seals.borrow().unsealed(self.base.clock.wall_ms());
        household.accounts = self.secrets.kinds_of(OWNER);
        for member in &mut household.people {
            let holder = member.principals.first().and_then(|one| self.holder_among(persons, one));
            member.accounts = holder.map(|holder| self.secrets.kinds_of(&holder)).unwrap_or_default();
        }
        let told = self.base.memory.household(TraceId::NONE, household, []).await;
        told.map(|_| ()).map_err(|error| memory_gone(&error))
    }
}
