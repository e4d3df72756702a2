//! The vaglio in the daemon: what syntd proposes is sifted, kept and written into the chronicle before anybody learns of
//! it; what the owner answers teaches the weights. The sieve itself is `metnos_policy::vaglio`.

pub mod constitution;
mod habits;
mod model;
pub mod record;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use metnos_policy::vaglio::bother::{Day, WINDOW_MS};
use metnos_policy::vaglio::sieve::{self, Disposition, Proposal, Sifted, Standard};
use metnos_policy::vaglio::telos::{self, Telos};
use metnos_policy::vaglio::weigh::{self, Answer};
use metnos_proto::doc::vaglio as doc;
use metnos_proto::doc::vaglio::{TelosEnd, TelosReport, VaglioAnswer};
use metnos_proto::msg::common::{Refusal, RefusalCode};
use metnos_proto::msg::vaglio::{ProposalWay, Propose, Proposed, VaglioAsk};
use rusqlite::{Connection, params};
use tokio::sync::Mutex;

use crate::approvals::name_of;
use crate::base::Base;
use crate::budget::Budgets;
use crate::budget::escalate::Raise;
use crate::executors::Executors;
use crate::guard::shown;
use crate::random::random;
use crate::refusals::internal;
use crate::store::{StoreError, not_durable, signed};
use crate::vaglio::constitution::Constitution;
pub(crate) use crate::vaglio::habits::HabitProposal;
use crate::vaglio::record::{EXPIRES_MS, KEPT_MS, ProposalRecord};

/// The most proposals that are kept; the oldest make room.
pub const MAX_KEPT: usize = 1_000;
/// The most proposals that are taken in a day, whatever becomes of them.
pub const MAX_A_DAY: usize = 200;
/// The most proposals in a listing.
const MAX_LISTED: usize = 200;

/// The tables.
pub(crate) const TABLES: &str = "
    CREATE TABLE IF NOT EXISTS constitution (
        one INTEGER PRIMARY KEY CHECK (one = 1), text BLOB NOT NULL, since_ms INTEGER NOT NULL
    ) STRICT;
    CREATE TABLE IF NOT EXISTS telos_learned (slug TEXT PRIMARY KEY, factor REAL NOT NULL) STRICT;
    CREATE TABLE IF NOT EXISTS proposals (id TEXT PRIMARY KEY, made_ms INTEGER NOT NULL, document TEXT NOT NULL) STRICT;";

/// What is known of the owner's ends, and of what was proposed.
#[derive(Debug, Default)]
pub struct Vaglio {
    /// The last telos that could be read.
    ends: Vec<Telos>,
    /// What is wrong with the file as it is now; empty when nothing is.
    fault: String,
    /// The owner's hours.
    day: Day,
    /// What answers have made of each weight, by slug; 1 where nothing was learned.
    learned: BTreeMap<String, f64>,
    /// What was proposed, by name.
    kept: BTreeMap<String, ProposalRecord>,
}

impl Vaglio {
    pub(crate) fn load(connection: &Connection) -> Result<Self, StoreError> {
        let mut statement = connection.prepare("SELECT slug, factor FROM telos_learned")?;
        let learned = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?.collect::<Result<_, _>>()?;
        let mut statement = connection.prepare("SELECT id, document FROM proposals ORDER BY made_ms")?;
        let rows = statement.query_map([], |row| Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?)))?;
        let mut kept = BTreeMap::new();
        for row in rows {
            let (id, text) = row?;
            kept.insert(id.clone(), ProposalRecord::parse(&text).ok_or(StoreError::Damaged(format!("proposal {id}")))?);
        }
        Ok(Self { learned, kept, ..Self::default() })
    }

    fn factors(&self) -> Vec<f64> {
        self.ends.iter().map(|end| self.learned.get(&end.slug).copied().unwrap_or(1.0)).collect()
    }

    /// When what is answered in one place was heard lately: what was offered to this principal, or what the owner answers by
    /// `metnosctl vaglio`, which has an empty name.
    fn heard_ms(&self, to: &str, now_ms: u64) -> Vec<u64> {
        let recent = |kept: &&ProposalRecord| {
            kept.to == to && kept.is_heard() && kept.made_ms.saturating_add(WINDOW_MS) > now_ms
        };
        let mut heard: Vec<u64> = self.kept.values().filter(recent).map(|kept| kept.made_ms).collect();
        heard.sort_unstable();
        heard
    }

    /// The same words as an earlier proposal, unless that one was never heard and a day has passed.
    fn known(&self, proposal: &Proposal, raise: Option<&Raise>, now_ms: u64) -> Option<&ProposalRecord> {
        let digest = ProposalRecord::digest_of(proposal);
        let stale = |kept: &ProposalRecord| {
            kept.way == Disposition::Unasked && kept.made_ms.saturating_add(WINDOW_MS) <= now_ms
        };
        let same =
            |kept: &ProposalRecord| ProposalRecord::digest_of(&kept.proposal) == digest && kept.raise.as_ref() == raise;
        self.kept.values().find(|kept| same(kept) && !stale(kept))
    }
}

/// A word of syntd's as a proposal; numbers above one are one.
fn proposal(ask: Propose) -> Proposal {
    let share = |milli: u16| f64::from(milli.min(1_000)) / 1_000.0;
    Proposal {
        kind: ask.kind,
        subject: ask.subject,
        title: ask.title,
        effect: ask.effect,
        touches: ask.touches,
        reversible: ask.reversible,
        urgency: share(ask.urgency_milli),
        confidence: share(ask.confidence_milli),
    }
}

/// The constitution in force, and what was proposed.
#[derive(Debug)]
pub(crate) struct Proposals {
    base: Rc<Base>,
    budgets: Rc<Budgets>,
    executors: Rc<Executors>,
    constitution: RefCell<Constitution>,
    vaglio: RefCell<Vaglio>,
    /// Held by anyone who has a proposal judged.
    judging: Mutex<()>,
}

impl Proposals {
    pub(crate) fn new(
        base: &Rc<Base>,
        budgets: &Rc<Budgets>,
        executors: &Rc<Executors>,
        (constitution, vaglio): (Constitution, Vaglio),
    ) -> Rc<Self> {
        Rc::new(Self {
            base: Rc::clone(base),
            budgets: Rc::clone(budgets),
            executors: Rc::clone(executors),
            constitution: RefCell::new(constitution),
            vaglio: RefCell::new(vaglio),
            judging: Mutex::default(),
        })
    }

    /// Looks at `TELOS.md` and `USER.md` as they are now. A malformed telos changes nothing but what is said of it.
    pub(crate) fn look_at_telos(&self) {
        let files = &self.base.perimeter.files;
        let text = |name: &str| match files.read(name) {
            Ok(Some(bytes)) => String::from_utf8(bytes).map_err(|_| format!("workspace/{name} is not UTF-8")),
            Ok(None) => Err(format!("workspace/{name} is not there")),
            Err(why) => Err(why),
        };
        let read = text("TELOS.md").and_then(|text| telos::parse(&text).map_err(|error| error.to_string()));
        let day = text("USER.md").map_or_else(
            |_| Day::parse("", &self.base.setting.zone),
            |text| Day::parse(&text, &self.base.setting.zone),
        );
        let mut vaglio = self.vaglio.borrow_mut();
        vaglio.day = day;
        match read {
            Ok(ends) => {
                vaglio.ends = ends;
                vaglio.fault.clear();
            }
            Err(why) if vaglio.fault == why => {}
            Err(why) => {
                vaglio.fault.clone_from(&why);
                drop(vaglio);
                self.base.event("telos_malformed", &format!("{why}; the last good one stays in force"), None);
            }
        }
    }

    /// Whether a message speaks of what the owner's telos calls an emergency, as it stands now.
    pub(crate) fn is_emergency(&self, message: &str) -> bool {
        self.look_at_telos();
        telos::is_emergency(&self.vaglio.borrow().ends, message)
    }

    /// Takes a proposal: the guard first, then the judge; what becomes of it is durable before it is answered.
    ///
    /// # Errors
    /// While the constitution is pending, when too much is proposed, and when it could not be recorded.
    pub(crate) async fn propose(self: &Rc<Self>, ask: Propose) -> Result<Proposed, Refusal> {
        self.sifted(proposal(ask), None).await
    }

    /// The same for what policyd itself proposes, with what the owner's yes would change.
    pub(crate) async fn sifted(self: &Rc<Self>, proposal: Proposal, raise: Option<Raise>) -> Result<Proposed, Refusal> {
        self.constitution_holds()?;
        // One at a time: a judge may take a while, and nothing is to slip in beside what is being counted.
        let _alone = self.judging.lock().await;
        self.look_at_telos();
        let now = self.base.clock.wall_ms();
        self.settle_silence(now).await?;
        if let Some(kept) = self.vaglio.borrow().known(&proposal, raise.as_ref(), now) {
            return Ok(Proposed { id: kept.id.clone(), way: ProposalWay::Known });
        }
        self.room_for_proposals(now)?;
        let (ends, learned, heard, day) = {
            let vaglio = self.vaglio.borrow();
            (vaglio.ends.clone(), vaglio.factors(), vaglio.heard_ms("", now), vaglio.day.clone())
        };
        let places = &self.base.setting.places;
        let standard = Standard { places, ends: &ends, learned: &learned, heard_ms: &heard, day, now_ms: now };
        let sifted = sieve::sift(&proposal, &standard, &model::ModelJudge::new(self)).await;
        let slugs: Vec<String> = ends.into_iter().map(|end| end.slug).collect();
        self.keep(proposal, (raise, ""), &sifted, &slugs, now).await
    }

    fn room_for_proposals(&self, now: u64) -> Result<(), Refusal> {
        let vaglio = self.vaglio.borrow();
        let today = vaglio.kept.values().filter(|kept| kept.made_ms.saturating_add(WINDOW_MS) > now).count();
        if today >= MAX_A_DAY {
            let why = format!("{MAX_A_DAY} proposals were made within a day, which is the limit");
            return Err(Refusal::new(RefusalCode::Busy, "vaglio.flood", why));
        }
        Ok(())
    }

    /// Keeps a sifted proposal, with what a yes would change and whom it is offered to.
    async fn keep(
        &self,
        proposal: Proposal,
        (raise, to): (Option<Raise>, &str),
        sifted: &Sifted,
        slugs: &[String],
        now: u64,
    ) -> Result<Proposed, Refusal> {
        let fits = slugs.iter().cloned().zip(sifted.ends.iter().map(|end| end.fit)).collect();
        let (id, weighed) = (name_of(random()?), record::weighed(sifted, slugs));
        // What the guard has against it may quote it; the text itself is not kept when it was not fit for a screen.
        let proposal = if sifted.rule == "guard.text" { unsaid(proposal) } else { proposal };
        let kept = ProposalRecord {
            id,
            proposal,
            way: sifted.way,
            answer: None,
            fits,
            weighed,
            made_ms: now,
            due_ms: sifted.due_ms,
            raise,
            told_ms: 0,
            to: to.to_owned(),
            card: String::new(),
        };
        let judged = match (sifted.judge, sifted.estimate) {
            ("", _) => "no judge was asked".to_owned(),
            (judge, true) => format!("judge {judge}, an estimate"),
            (judge, false) => format!("judge {judge}"),
        };
        let line = format!(
            "{} {} {}: {} [{}] alignment {:.3}, brake {:.3}; {judged}",
            kept.id,
            shown(&kept.proposal.kind),
            shown(&kept.proposal.title),
            sifted.way.name(),
            sifted.rule,
            sifted.alignment,
            sifted.brake
        );
        self.base.chronicled("proposal", &line).await?;
        self.store_proposal(&kept).await?;
        let answer = Proposed { id: kept.id.clone(), way: told(kept.way) };
        let mut vaglio = self.vaglio.borrow_mut();
        let digest = ProposalRecord::digest_of(&kept.proposal);
        vaglio.kept.retain(|_, old| {
            // What was once offered to a person is never offered again, however long ago it was.
            let is_kept = !old.to.is_empty() || old.made_ms.saturating_add(KEPT_MS) > now;
            is_kept && ProposalRecord::digest_of(&old.proposal) != digest
        });
        while vaglio.kept.len() >= MAX_KEPT {
            let age = |kept: &&ProposalRecord| (!kept.to.is_empty(), kept.made_ms);
            let oldest = vaglio.kept.values().min_by_key(age).map(|kept| kept.id.clone());
            let Some(oldest) = oldest else { break };
            vaglio.kept.remove(&oldest);
        }
        vaglio.kept.insert(kept.id.clone(), kept);
        Ok(answer)
    }

    async fn store_proposal(&self, kept: &ProposalRecord) -> Result<(), Refusal> {
        let (id, made, document) = (kept.id.clone(), kept.made_ms, stored(kept)?);
        self.base
            .store
            .run(move |connection| {
                connection.execute(
                    "DELETE FROM proposals WHERE made_ms < ?1 AND coalesce(json_extract(document, '$.to'), '') = ''",
                    [signed(made.saturating_sub(KEPT_MS))],
                )?;
                connection
                    .execute(
                        "INSERT OR REPLACE INTO proposals VALUES (?1, ?2, ?3)",
                        params![id, signed(made), document],
                    )
                    .map(|_| ())
            })
            .await
            .map_err(|error| not_durable(&error))
    }

    /// What was heard and not answered in time teaches a little, once.
    async fn settle_silence(&self, now: u64) -> Result<(), Refusal> {
        let over = |kept: &&ProposalRecord| {
            kept.is_heard() && kept.answer.is_none() && now >= kept.made_ms.saturating_add(EXPIRES_MS)
        };
        let silent: Vec<String> = self.vaglio.borrow().kept.values().filter(over).map(|kept| kept.id.clone()).collect();
        for id in silent {
            self.teach(&id, Answer::Silent).await?;
        }
        Ok(())
    }

    /// Records an answer and what it teaches: both or neither.
    async fn teach(&self, id: &str, answer: Answer) -> Result<ProposalRecord, Refusal> {
        let (kept, learned) = {
            let vaglio = self.vaglio.borrow();
            let mut kept = vaglio.kept.get(id).cloned().ok_or_else(|| unknown(id))?;
            kept.answer = Some(answer);
            let taught = |(slug, fit): &(String, f64)| {
                let before = vaglio.learned.get(slug).copied().unwrap_or(1.0);
                (slug.clone(), weigh::taught(before, *fit, answer))
            };
            let learned: Vec<(String, f64)> = kept.fits.iter().map(taught).collect();
            (kept, learned)
        };
        let (rows, id, document) = (learned.clone(), kept.id.clone(), stored(&kept)?);
        self.base
            .store
            .run(move |connection| {
                let change = connection.transaction()?;
                for (slug, factor) in rows {
                    change.execute("INSERT OR REPLACE INTO telos_learned VALUES (?1, ?2)", params![slug, factor])?;
                }
                change.execute("UPDATE proposals SET document = ?2 WHERE id = ?1", params![id, document])?;
                change.commit()
            })
            .await
            .map_err(|error| not_durable(&error))?;
        let mut vaglio = self.vaglio.borrow_mut();
        vaglio.learned.extend(learned);
        vaglio.kept.insert(kept.id.clone(), kept.clone());
        Ok(kept)
    }

    /// What the owner asks of the vaglio.
    ///
    /// # Errors
    /// When there is no such proposal, or it is not to be answered.
    pub(crate) async fn vaglio(&self, by: &str, ask: VaglioAsk) -> Result<VaglioAnswer, Refusal> {
        self.look_at_telos();
        let now = self.base.clock.wall_ms();
        self.settle_silence(now).await?;
        match ask {
            VaglioAsk::Explain(id) => {
                let vaglio = self.vaglio.borrow();
                let kept = vaglio.kept.get(&id).ok_or_else(|| unknown(&id))?;
                Ok(VaglioAnswer::Proposal(Box::new(kept.document(now))))
            }
            VaglioAsk::Unasked => Ok(VaglioAnswer::Proposals(self.listed(now, |kept| !kept.is_heard()))),
            VaglioAsk::Digest => Ok(VaglioAnswer::Proposals(self.listed(now, |kept| kept.is_owners(now)))),
            VaglioAsk::Due => self.tell_due(by, now).await.map(VaglioAnswer::Proposals),
            VaglioAsk::Telos => Ok(VaglioAnswer::Telos(self.telos())),
            VaglioAsk::Answer(answer) => {
                let of = |kept: &ProposalRecord| (kept.is_owners(now), kept.raise.clone());
                let found = self.vaglio.borrow().kept.get(&answer.id).map(of);
                let (open, raise) = found.ok_or_else(|| unknown(&answer.id))?;
                if !open {
                    let why = format!("the proposal {} does not wait for an answer", answer.id);
                    return Err(Refusal::new(RefusalCode::Denied, "vaglio.answered", why));
                }
                let said = if answer.accept { Answer::Accepted } else { Answer::Refused };
                self.base.chronicled("proposal_answered", &format!("{by} has {} {}", said.name(), answer.id)).await?;
                if let (Some(raise), true) = (&raise, answer.accept) {
                    self.budgets.raise_as_proposed(by, raise).await?;
                }
                let taught = self.teach(&answer.id, said).await?;
                Ok(VaglioAnswer::Proposal(Box::new(taught.document(now))))
            }
        }
    }

    /// What is due, and has not been said: marked as said in the breath in which it is looked up, and durably before it
    /// is handed over, so that no two receive it and no restart says it again. It stays in the digest until it is answered.
    async fn tell_due(&self, by: &str, now: u64) -> Result<Vec<doc::Proposal>, Refusal> {
        let due: Vec<ProposalRecord> = {
            let mut vaglio = self.vaglio.borrow_mut();
            let quiet: Vec<_> = vaglio.ends.iter().filter_map(|end| end.quiet).collect();
            let quiet = vaglio.day.is_quiet(&quiet, now);
            let fits = |kept: &ProposalRecord| {
                kept.told_ms == 0
                    && kept.is_owners(now)
                    && kept.due_ms <= now
                    && (kept.way == Disposition::Now || !quiet)
            };
            let due = vaglio.kept.values_mut().filter(|kept| fits(kept)).take(MAX_LISTED);
            due.map(|kept| {
                kept.told_ms = now;
                kept.clone()
            })
            .collect()
        };
        if due.is_empty() {
            return Ok(Vec::new());
        }
        let told = self.record_told(by, &due).await;
        if let Err(refusal) = told {
            // Nobody has heard of it.
            let mut vaglio = self.vaglio.borrow_mut();
            for kept in &due {
                if let Some(kept) = vaglio.kept.get_mut(&kept.id).filter(|kept| kept.told_ms == now) {
                    kept.told_ms = 0;
                }
            }
            return Err(refusal);
        }
        Ok(due.iter().map(|kept| kept.document(now)).collect())
    }

    /// Records durably that the owner was notified of these.
    async fn record_told(&self, by: &str, due: &[ProposalRecord]) -> Result<(), Refusal> {
        let rows = due.iter().map(|kept| Ok((kept.id.clone(), stored(kept)?))).collect::<Result<Vec<_>, Refusal>>()?;
        let names: Vec<&str> = due.iter().map(|kept| kept.id.as_str()).collect();
        let line = format!("{by} is told of {} proposals: {}", due.len(), names.join(", "));
        self.base.chronicled("digest", &line).await?;
        self.base
            .store
            .run(move |connection| {
                let change = connection.transaction()?;
                for (id, document) in rows {
                    change.execute("UPDATE proposals SET document = ?2 WHERE id = ?1", params![id, document])?;
                }
                change.commit()
            })
            .await
            .map_err(|error| not_durable(&error))
    }

    fn listed(&self, now: u64, wanted: impl Fn(&ProposalRecord) -> bool) -> Vec<doc::Proposal> {
        let vaglio = self.vaglio.borrow();
        let mut found: Vec<&ProposalRecord> = vaglio.kept.values().filter(|kept| wanted(kept)).collect();
        found.sort_by_key(|kept| std::cmp::Reverse(kept.made_ms));
        found.into_iter().take(MAX_LISTED).map(|kept| kept.document(now)).collect()
    }

    fn telos(&self) -> TelosReport {
        let vaglio = self.vaglio.borrow();
        let now = self.base.clock.wall_ms();
        let ends = vaglio.ends.iter().zip(vaglio.factors()).map(|(end, learned)| TelosEnd {
            slug: end.slug.clone(),
            phrase: end.phrase.clone(),
            declared: end.weight,
            learned,
            weight: weigh::effective(end, learned),
            threshold: end.threshold,
            note: end.note.clone(),
        });
        TelosReport {
            ends: ends.collect(),
            fault: vaglio.fault.clone(),
            brake: metnos_policy::vaglio::bother::brake(&vaglio.heard_ms("", now), now),
            quiet: vaglio.day.is_quiet(&vaglio.ends.iter().filter_map(|end| end.quiet).collect::<Vec<_>>(), now),
        }
    }
}

/// A proposal as it is stored.
fn stored(kept: &ProposalRecord) -> Result<String, Refusal> {
    kept.stored().map_err(|error| internal(&error.to_string()))
}

fn unsaid(proposal: Proposal) -> Proposal {
    let subject = ProposalRecord::digest_of(&proposal).to_string();
    Proposal { subject, title: "unreadable".into(), effect: String::new(), ..proposal }
}

fn unknown(id: &str) -> Refusal {
    Refusal::new(RefusalCode::Unknown, "vaglio.unknown", format!("there is no proposal {}", shown(id)))
        .remedy("`metnosctl vaglio digest` and `metnosctl vaglio unasked` show those that there are")
}

const fn told(way: Disposition) -> ProposalWay {
    match way {
        Disposition::Blocked => ProposalWay::Blocked,
        Disposition::Unasked => ProposalWay::Unasked,
        Disposition::Digest => ProposalWay::Digest,
        Disposition::Now => ProposalWay::Now,
    }
}
