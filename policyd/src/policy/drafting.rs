//! What syntd asks about a draft: whether it may be asked at all, before the executors look at the draft itself.

use metnos_proto::doc::draft::DraftTrial;
use metnos_proto::msg::common::{Refusal, RefusalCode};
use metnos_proto::msg::drafting::{DraftTried, OfferDraft, TryDraft};
use metnos_proto::parcel::Texts;
use metnos_proto::payload::Sealed;

use crate::policy::Policy;

impl Policy {
    /// Has a draft tried in the tightest sandbox there is.
    ///
    /// # Errors
    /// When everything is stopped, its run is not open on this link or had too many, or it is no draft.
    pub(crate) async fn try_draft(
        &self,
        link: u32,
        ask: TryDraft,
        trial: Sealed,
    ) -> Result<(DraftTried, [Sealed; 1]), Refusal> {
        if let Some(off) = self.executors.everything_stopped() {
            return Err(off.refusal());
        }
        self.thinking.drafts.borrow_mut().count_trial(ask.run, link)?;
        let form = |why: String| Refusal::new(RefusalCode::Invalid, "draft.form", why);
        let texts = Texts::read(DraftTrial::read(&trial).map_err(form)?.files).map_err(form)?;
        self.executors.check_draft(ask.run, &ask.id, &texts)?;
        self.executors.try_texts(&ask.id, trial).await
    }

    /// Puts a draft into the pool for the owner to look at, once it passes its tests here and now.
    ///
    /// # Errors
    /// As [`Policy::try_draft`]; when drafts are only shown; when a test fails, whatever syntd has said of it.
    pub(crate) async fn offer_draft(&self, link: u32, ask: OfferDraft, files: &Sealed) -> Result<(), Refusal> {
        self.anchors.chain_holds().await?;
        self.proposals.constitution_holds()?;
        if let Some(off) = self.executors.everything_stopped() {
            return Err(off.refusal());
        }
        self.thinking.drafts.borrow_mut().count_trial(ask.run, link)?;
        self.executors.offer_draft(ask, files).await
    }
}
