//! What policyd itself proposes to a person of the household: that a habit is answered unasked. It passes the same sieve as all
//! proposals, with a bother budget of that person's own, and is answered by that person alone, on a card.

use std::rc::Rc;
use std::time::Duration;

use metnos_policy::vaglio::bother::Day;
use metnos_policy::vaglio::sieve::{self, Proposal, Standard};
use metnos_policy::vaglio::telos::Telos;
use metnos_policy::vaglio::weigh::Answer;
use metnos_proto::msg::common::Refusal;
use metnos_proto::msg::vaglio::ProposalWay;
use rusqlite::params;

use crate::store::not_durable;
use crate::vaglio::record::ProposalRecord;
use crate::vaglio::{Proposals, model, stored, unknown};

/// How long a model has to judge: the person's turn waits for it.
const JUDGED_WITHIN: Duration = Duration::from_secs(10);

/// A habit as a proposal.
#[derive(Debug)]
pub(crate) struct HabitProposal {
    /// As the judge is shown it, with the words.
    pub(crate) judged: Proposal,
    /// As it is kept and the owner can read it, without them.
    pub(crate) kept: Proposal,
}

impl Proposals {
    /// Sifts a habit of this principal, once: the name of the proposal where it may be offered now.
    ///
    /// # Errors
    /// While the constitution is pending, when too much is proposed, and when it could not be recorded.
    pub(crate) async fn habit(self: &Rc<Self>, to: &str, habit: HabitProposal) -> Result<Option<String>, Refusal> {
        self.constitution_holds()?;
        let _alone = self.judging.lock().await;
        self.look_at_telos();
        let now = self.base.clock.wall_ms();
        self.settle_silence(now).await?;
        let same = |kept: &ProposalRecord| !kept.to.is_empty() && kept.proposal.subject == habit.kept.subject;
        if self.vaglio.borrow().kept.values().any(same) {
            return Ok(None);
        }
        self.room_for_proposals(now)?;
        let (ends, learned, heard) = {
            let vaglio = self.vaglio.borrow();
            // The person speaks at this moment: no hour is too quiet for an answer.
            let waking = |end: &Telos| Telos { quiet: None, ..end.clone() };
            (vaglio.ends.iter().map(waking).collect::<Vec<_>>(), vaglio.factors(), vaglio.heard_ms(to, now))
        };
        let places = &self.base.setting.places;
        let day = Day::default();
        let standard = Standard { places, ends: &ends, learned: &learned, heard_ms: &heard, day, now_ms: now };
        let judge = model::ModelJudge::new(self).within(JUDGED_WITHIN);
        let sifted = sieve::sift(&habit.judged, &standard, &judge).await;
        let slugs: Vec<String> = ends.into_iter().map(|end| end.slug).collect();
        let proposed = self.keep(habit.kept, (None, to), &sifted, &slugs, now).await?;
        Ok(matches!(proposed.way, ProposalWay::Now | ProposalWay::Digest).then_some(proposed.id))
    }

    /// Records by which card a proposal is offered.
    ///
    /// # Errors
    /// When it could not be made durable.
    pub(crate) async fn offered_by(&self, id: &str, card: &str) -> Result<(), Refusal> {
        let kept = {
            let mut vaglio = self.vaglio.borrow_mut();
            let kept = vaglio.kept.get_mut(id).ok_or_else(|| unknown(id))?;
            (kept.card, kept.told_ms) = (card.to_owned(), self.base.clock.wall_ms());
            kept.clone()
        };
        let (id, document) = (kept.id.clone(), stored(&kept)?);
        self.base
            .store
            .run(move |connection| {
                connection
                    .execute("UPDATE proposals SET document = ?2 WHERE id = ?1", params![id, document])
                    .map(|_| ())
            })
            .await
            .map_err(|error| not_durable(&error))
    }

    /// The person has answered the card of a proposal: recorded, and the weights learn from it.
    ///
    /// # Errors
    /// When it could not be recorded.
    pub(crate) async fn habit_answered(&self, card: &str, by: &str, accepts: bool) -> Result<(), Refusal> {
        let open = |kept: &&ProposalRecord| kept.card == card && kept.answer.is_none();
        let Some(id) = self.vaglio.borrow().kept.values().find(open).map(|kept| kept.id.clone()) else { return Ok(()) };
        let said = if accepts { Answer::Accepted } else { Answer::Refused };
        self.base.chronicled("proposal_answered", &format!("{by} has {} {id}", said.name())).await?;
        self.teach(&id, said).await.map(|_| ())
    }
}
