//! The owner's word on a card, and what follows: each act at most once, through the path of every other
//! call. An answer counts when it names the digest of what was shown, in time, from whom the rule names:
//! over the channel that asked, for what its principal could be allowed there; else at the machine, or with
//! a one-time code (design: policy §4).

use std::rc::Rc;

use metnos_proto::doc::grant::GrantList;
use metnos_proto::edges::door_policyd;
use metnos_proto::msg::common::{Refusal, RefusalCode};
use metnos_proto::msg::policyd::{Acted, Answer, Answered, CardSettled, CodesEnrolled};
use metnos_proto::payload::Sealed;
use serde_json::Value;

use crate::approvals::cards::not_durable;
use crate::approvals::grants::{DAYS, Grant, MAX_DAYS, MAX_GRANTS};
use crate::approvals::totp::{self, Enrolled, SECRET_BYTES};
use crate::approvals::{self, CALL_EXPIRES_MS, Card, CardState};
use crate::calls::direct::By;
use crate::clock::DAY_MS;
use crate::executors::registry::Signed;
use crate::people::principal::Principal;
use crate::policy::Policy;

/// How an answer reached policyd.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    /// At the machine, on the admin channel.
    Hard,
    /// Over the channel of a principal.
    Soft,
}

/// What the vault seals the secret of the one-time codes as.
const CODES: &str = "codes";

/// The name of the owner to others who hear what he has decided.
const OWNER: &str = "owner";

fn no(rule: &str, why: String) -> Refusal {
    Refusal::new(RefusalCode::Denied, rule, why)
}

impl Policy {
    /// Takes an answer, once, and does what it says: exactly the acts of the card, or nothing.
    ///
    /// # Errors
    /// When the answer does not count: nothing was done then.
    pub(crate) async fn answer(
        self: &Rc<Self>,
        principal: Principal,
        way: Way,
        (id, digest): (&str, &str),
        answer: &Answer,
        code: &str,
    ) -> Result<(Answered, Sealed), Refusal> {
        // What the card is about is compared with the registry, which is not there yet right after a restart.
        self.sandbox_soon().await;
        let card = self.cards.borrow().get(id).cloned().ok_or_else(|| approvals::unknown(id))?;
        self.may_answer(&principal, way, &card, answer)?;
        card.admits(digest, self.clock.wall_ms())?;
        if way == Way::Soft && card.is_hard() && !self.decides_for(&principal, &card) {
            // Only now: what would not count anyway costs no code.
            self.code_counts(code, &card).await?;
        }
        self.unchanged(&card)?;
        let settled = match answer {
            Answer::No | Answer::Never => {
                if card.state != CardState::Waiting {
                    return Err(no("approvals.answered", format!("the card {id} was approved already")));
                }
                if matches!(answer, Answer::Never) {
                    self.store_words(&card, false, None, DAYS).await?;
                }
                self.take(&card, CardState::Denied, &principal).await?;
                self.event("approval_denied", &format!("{} has denied the card {id}", principal.name), Some(card.turn));
                (Answered { state: "denied".to_owned(), runs: Vec::new() }, results(&[])?)
            }
            Answer::Once | Answer::Turn | Answer::Always(_) => {
                match answer {
                    Answer::Turn => self.store_words(&card, true, Some(card.turn), DAYS).await?,
                    Answer::Always(days) => self.store_words(&card, true, None, *days).await?,
                    Answer::Once | Answer::No | Answer::Never => {}
                }
                if card.state == CardState::Waiting {
                    self.take(&card, CardState::Approved, &principal).await?;
                }
                if way == Way::Soft {
                    // The owner's digest lists these: a channel could have forged them.
                    let where_he_is = if card.principal == principal.name { "that asked" } else { "where he is" };
                    let text = format!("{} has approved the card {id} over the channel {where_he_is}", principal.name);
                    self.event("approval_soft", &text, Some(card.turn));
                }
                self.carry_out(principal.clone(), &card).await?
            }
        };
        self.settle(&card, &settled.0, &principal).await;
        Ok(settled)
    }

    /// Whether this is somebody whose answer counts for this card.
    fn may_answer(&self, principal: &Principal, way: Way, card: &Card, answer: &Answer) -> Result<(), Refusal> {
        if way == Way::Hard {
            return Ok(());
        }
        if card.principal != principal.name && !self.decides_for(principal, card) {
            // Somebody else's card looks exactly like one that there is not.
            return Err(approvals::unknown(&card.id));
        }
        match answer {
            Answer::Once | Answer::Turn | Answer::No => Ok(()),
            Answer::Always(_) | Answer::Never => {
                let why = "a word for longer than this turn is taken at the machine only; nothing was done".to_owned();
                Err(no("approvals.hard", why).remedy(format!("`metnosctl approval approve {} --always`", card.id)))
            }
        }
    }

    /// Everything on the card is still what it was when the card was made.
    fn unchanged(&self, card: &Card) -> Result<(), Refusal> {
        let registry = self.registry.borrow();
        for act in card.acts.iter().skip(card.begun) {
            let same = |signed: Rc<Signed>| signed.digests == act.digests;
            if !registry.callable(&act.executor.name).is_some_and(same) {
                let why = format!("{} is not what it was when the card was made; nothing was done", act.executor);
                return Err(no("approvals.changed", why).remedy("ask for it again"));
            }
        }
        Ok(())
    }

    /// Does what was approved: one act after the other, each begun once, and no further than the first that
    /// does not run.
    async fn carry_out(self: &Rc<Self>, principal: Principal, card: &Card) -> Result<(Answered, Sealed), Refusal> {
        let (mut runs, mut outs) = (Vec::new(), Vec::new());
        for (at, act) in card.acts.iter().enumerate().skip(card.begun) {
            let begins = self.store.begin_of_card(card.id.clone(), at).await;
            if !begins.map_err(|error| not_durable(&error.to_string()))? {
                break;
            }
            if let Some(card) = self.cards.borrow_mut().get_mut(&card.id) {
                card.begun = at + 1;
            }
            let arguments = Sealed::new(act.arguments.as_bytes()).map_err(|error| not_durable(&error.to_string()))?;
            let with = (arguments, self.files.of_card(&card.id, &act.arguments));
            let by = By::Card(card.id.clone());
            let (mut run, out, _) = self.direct_with(principal.clone(), act.executor.name.clone(), with, by).await?;
            let ran = match &mut run.acted {
                Acted::Ran(ran) => {
                    ran.leaves = Vec::new();
                    ran.outcome == metnos_proto::msg::common::Outcome::Ok
                }
                Acted::Denied(_) => false,
            };
            runs.push(run);
            outs.push(out);
            if !ran {
                break;
            }
        }
        Ok((Answered { state: "approved".to_owned(), runs }, results(&outs)?))
    }

    /// Makes an answer durable; of two, one.
    async fn take(&self, card: &Card, state: CardState, principal: &Principal) -> Result<(), Refusal> {
        let (by, digest) = (principal.name.clone(), card.digest().to_string());
        let counts = self.store.answer_card(card.id.clone(), digest, state, by.clone(), self.clock.wall_ms()).await;
        if !counts.map_err(|error| not_durable(&error.to_string()))? {
            let why = format!("the card {} was answered or has changed in this very moment; nothing was done", card.id);
            return Err(no("approvals.answered", why));
        }
        if let Some(card) = self.cards.borrow_mut().get_mut(&card.id) {
            (card.state, card.answered_by) = (state, by);
        }
        Ok(())
    }

    /// Stores a word for longer than once, for each act of a card.
    async fn store_words(
        self: &Rc<Self>,
        card: &Card,
        allows: bool,
        turn: Option<metnos_proto::ids::TurnId>,
        days: u16,
    ) -> Result<(), Refusal> {
        let now = self.clock.wall_ms();
        if days == 0 || days > MAX_DAYS {
            return Err(Refusal::new(
                RefusalCode::Invalid,
                "grants.days",
                format!("1 to {MAX_DAYS} days are possible"),
            ));
        }
        self.grants.borrow_mut().retain(|_, grant| now < grant.expires_ms);
        if self.grants.borrow().len() + card.acts.len() > MAX_GRANTS {
            let why = format!("{MAX_GRANTS} words are stored, which is the limit; nothing was done");
            return Err(no("grants.full", why).remedy("`metnosctl grant revoke` takes one back"));
        }
        let lasts = if turn.is_some() { CALL_EXPIRES_MS } else { u64::from(days) * DAY_MS };
        let mut words = Vec::new();
        for (at, act) in card.acts.iter().enumerate() {
            let scope = match (&act.always, allows) {
                (Some(scope), _) => scope.clone(),
                (None, false) => self.scope_of(act).ok_or_else(|| approvals::unknown(&card.id))?,
                (None, true) => {
                    let why = format!("{} is asked for each time ({}); nothing was done", act.executor, act.rule);
                    return Err(no("grants.each_time", why).remedy("approve it once"));
                }
            };
            words.push(Grant {
                id: if at == 0 { card.id.clone() } else { format!("{}-{}", card.id, at + 1) },
                principal: card.principal.clone(),
                executor: act.executor.clone(),
                digests: act.digests.clone(),
                scope,
                allows,
                turn,
                made_ms: now,
                expires_ms: now.saturating_add(lasts),
                uses: 0,
            });
        }
        for word in words {
            if turn.is_none() {
                self.store.grant(word.clone(), now).await.map_err(|error| not_durable(&error.to_string()))?;
                let says = if allows { "always" } else { "never" };
                self.event(
                    "grant",
                    &format!("the owner has said {says} on the card {}: {}", word.id, word.executor),
                    None,
                );
            }
            self.grants.borrow_mut().insert(word.id.clone(), word);
        }
        Ok(())
    }

    fn scope_of(&self, act: &approvals::Asked) -> Option<approvals::grants::Scope> {
        let signed = self.registry.borrow().callable(&act.executor.name)?;
        let value: Value = serde_json::from_str(&act.arguments).ok()?;
        Some(approvals::grants::Scope::of(&signed.spec, &value, &self.setting.places))
    }

    /// The stored words, newest first.
    pub(crate) fn grants(&self) -> GrantList {
        let now = self.clock.wall_ms();
        let mut grants: Vec<Grant> =
            self.grants.borrow().values().filter(|grant| now < grant.expires_ms).cloned().collect();
        grants.sort_by_key(|grant| std::cmp::Reverse(grant.made_ms));
        GrantList(grants.iter().map(Grant::document).collect())
    }

    /// Takes a stored word back.
    ///
    /// # Errors
    /// When there is none of this name.
    pub(crate) async fn revoke(self: &Rc<Self>, principal: &Principal, id: &str) -> Result<(), Refusal> {
        let stored = self.store.revoke(id.to_owned()).await.map_err(|error| not_durable(&error.to_string()))?;
        let held = self.grants.borrow_mut().remove(id).is_some();
        if !stored && !held {
            let why = format!("there is no stored word {}", crate::guard::shown(id));
            return Err(Refusal::new(RefusalCode::Unknown, "grants.unknown", why)
                .remedy("`metnosctl grant list` shows those that there are"));
        }
        self.event("grant_revoked", &format!("{} has taken back the word {id}", principal.name), None);
        Ok(())
    }

    /// Has the door tell whoever asked what became of a card.
    async fn settle(self: &Rc<Self>, card: &Card, answered: &Answered, by: &Principal) {
        let ran = answered.runs.iter().filter(|run| matches!(run.acted, Acted::Ran(_))).count();
        self.open_anew(card);
        self.files.forget(&card.id);
        let acts = self.settled_acts(card, answered);
        let note = CardSettled {
            acts,
            turn: card.turn,
            id: card.id.clone(),
            state: answered.state.clone(),
            // Who the owner is on another channel is nothing for whoever has asked.
            by: if self.decides_for(by, card) { OWNER.to_owned() } else { by.name.clone() },
            ran: u32::try_from(ran).unwrap_or(u32::MAX),
        };
        self.note_to_door(door_policyd::Note::CardSettled(note)).await;
    }

    // ---- one-time codes --------------------------------------------------

    /// Whether this code counts for this card: once, and not for another.
    async fn code_counts(self: &Rc<Self>, code: &str, card: &Card) -> Result<(), Refusal> {
        let hard = || {
            let why = "this card is answered at the machine, or with a one-time code; nothing was done".to_owned();
            no("approvals.hard", why).remedy(format!("`metnosctl approval approve {}`", card.id))
        };
        if code.is_empty() {
            return Err(hard());
        }
        match self.judge_code(code, true).await? {
            totp::Verdict::Right => {
                self.event("approval_code", &format!("a one-time code was used for the card {}", card.id), None);
                Ok(())
            }
            totp::Verdict::Wrong => {
                self.event("approval_code_wrong", &format!("a wrong one-time code for the card {}", card.id), None);
                Err(no("approvals.code", "that code does not count; nothing was done".to_owned()))
            }
            totp::Verdict::Locked => {
                let why = "too many wrong codes: none counts for a while; nothing was done".to_owned();
                Err(no("approvals.code_locked", why).remedy(format!("`metnosctl approval approve {}`", card.id)))
            }
        }
    }

    /// Judges a code and keeps what follows before anybody hears of it.
    async fn judge_code(&self, code: &str, confirmed: bool) -> Result<totp::Verdict, Refusal> {
        let _one = self.coding.lock().await;
        let known = self.codes.borrow().clone().filter(|codes| codes.confirmed == confirmed);
        let Some(mut codes) = known else { return Ok(totp::Verdict::Wrong) };
        let verdict = codes.judge(code, self.clock.wall_ms());
        if verdict == totp::Verdict::Right {
            codes.confirmed = true;
        }
        self.keep_codes(&codes).await?;
        *self.codes.borrow_mut() = Some(codes);
        Ok(verdict)
    }

    /// Keeps the codes, their secret sealed as the vault seals.
    async fn keep_codes(&self, codes: &Enrolled) -> Result<(), Refusal> {
        let sealed = self.house().vault.borrow().seal_own(CODES, &codes.secret);
        let secret = sealed.ok_or_else(|| not_durable("the kernel gives no random numbers"))?;
        let codes = Enrolled { secret, ..codes.clone() };
        self.store.codes(Some(codes)).await.map_err(|error| not_durable(&error.to_string()))
    }

    /// The codes as they were kept, opened.
    pub(crate) fn opened(&self, codes: Enrolled) -> Option<Enrolled> {
        let secret = self.house().vault.borrow().open_own(CODES, &codes.secret).map(|secret| secret.to_vec());
        if secret.is_none() {
            tracing::error!("the vault's key does not open the secret of the one-time codes, so no code counts");
        }
        secret.map(|secret| Enrolled { secret, ..codes })
    }

    /// Makes a new secret; the one before counts no more.
    ///
    /// # Errors
    /// When it could not be kept.
    pub(crate) async fn enrol_codes(self: &Rc<Self>, principal: &Principal) -> Result<CodesEnrolled, Refusal> {
        let _one = self.coding.lock().await;
        let mut secret = vec![0; SECRET_BYTES];
        getrandom::fill(&mut secret).map_err(|error| not_durable(&error.to_string()))?;
        let codes = Enrolled::new(secret);
        self.keep_codes(&codes).await?;
        let text = totp::base32(&codes.secret);
        *self.codes.borrow_mut() = Some(codes);
        self.event("codes", &format!("{} has begun to enrol one-time codes", principal.name), None);
        let uri = format!("otpauth://totp/Metnos?secret={text}&issuer=Metnos&algorithm=SHA1&digits=6&period=30");
        Ok(CodesEnrolled { secret: text, uri })
    }

    /// The owner shows that he has the secret; codes count from then on.
    ///
    /// # Errors
    /// When the code is not one of it.
    pub(crate) async fn confirm_codes(self: &Rc<Self>, principal: &Principal, code: &str) -> Result<(), Refusal> {
        match self.judge_code(code, false).await? {
            totp::Verdict::Right => {
                self.event("codes", &format!("{} has enrolled one-time codes", principal.name), None);
                Ok(())
            }
            totp::Verdict::Wrong | totp::Verdict::Locked => {
                let why = "that is no code of the secret that was made last".to_owned();
                Err(no("approvals.code", why).remedy("check the clock of the other device, and type the newest code"))
            }
        }
    }

    /// No code counts any more.
    ///
    /// # Errors
    /// When that could not be kept.
    pub(crate) async fn remove_codes(self: &Rc<Self>, principal: &Principal) -> Result<(), Refusal> {
        let _one = self.coding.lock().await;
        self.store.codes(None).await.map_err(|error| not_durable(&error.to_string()))?;
        *self.codes.borrow_mut() = None;
        self.event("codes", &format!("{} has removed the one-time codes", principal.name), None);
        Ok(())
    }
}

/// The results of several acts in one list. Each is a document that sandboxd has checked; none is read here.
fn results(outs: &[Sealed]) -> Result<Sealed, Refusal> {
    let mut list = vec![b'['];
    for (at, out) in outs.iter().enumerate() {
        if at > 0 {
            list.push(b',');
        }
        list.extend(out.read().map_err(|error| not_durable(&error.to_string()))?);
    }
    list.push(b']');
    Sealed::new(&list).map_err(|error| not_durable(&error.to_string()))
}
