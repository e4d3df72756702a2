//! The heads of the chronicle, signed and kept: anyone who rewrites it, memoryd included, is caught by them (design:
//! memory §1). A head is signed at every start and stop, with every effect (before it, and again when it has ended), and every
//! so many lines or so long. Nothing is decided before the memoryd at hand has read its files whole and proven that they are
//! what was signed.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use metnos_proto::chain::{Anchor, GENESIS};
use metnos_proto::edge::RpcError;
use metnos_proto::edges::policyd_memoryd::Note;
use metnos_proto::ids::{TraceId, TurnId};
use metnos_proto::msg::common::{ExecutorId, Refusal, RefusalCode};
use metnos_proto::msg::memoryd::{Anchored, ChainHead, VERIFYING};
use metnos_proto::role::RoleName;
use tokio::sync::{Mutex, watch};
use tokio::time::timeout;

use crate::base::Base;
use crate::chronicle::heads::{End, Last};
use crate::key::InstanceKey;
use crate::refusals::memory_gone;
use crate::store::{StoreError, full_or};

/// How long to wait before a memoryd that could not say is asked again.
const ASK_AGAIN: Duration = Duration::from_secs(1);
/// How long to wait before one that is reading its files is asked again.
const READING_AGAIN: Duration = Duration::from_millis(30);
/// How long a decision waits for a memoryd that is being restarted. With [`PROVEN_WITHIN`] it is less than the shortest time
/// in which an ask that decides is answered (`fund_turn` in proto's edges).
const HERE_WITHIN: Duration = Duration::from_secs(3);
/// How long a decision waits for the proof of the memoryd that has come.
const PROVEN_WITHIN: Duration = Duration::from_secs(5);
/// How long the signature of the last head is waited for when policyd alone is stopped.
const SIGNED_WITHIN: Duration = Duration::from_millis(500);
/// How long the last head may still be on its way when memoryd has ended.
const LAST_HEAD_WITHIN: Duration = Duration::from_millis(200);
/// What is said while nobody knows.
const UNPROVEN: &str = "memoryd has not shown yet that the chronicle is what policyd has signed, so nothing is decided";
/// The rule under which memoryd says that its chronicle was altered.
const ALTERED: &str = "chronicle.altered";

/// What is known of the chronicle.
#[derive(Debug, Default)]
pub struct Chain {
    /// The head that was signed last.
    pub last: Option<Anchor>,
    /// What may follow it.
    end: Option<End>,
    /// How many lines followed it when the chronicle was opened last.
    pub unsigned: u64,
    /// Why the chronicle is not what was signed; `None` while nothing speaks against it.
    pub broken: Option<String>,
    /// Why the last signed head is none; nothing that memoryd says puts that right.
    forged: Option<String>,
    /// The link over which memoryd has said whether its chronicle is what was signed; 0 while it has to. Sent anew with all that
    /// is learned of it, also that it could not say.
    proven: watch::Sender<u32>,
    /// Over which link memoryd could not say so, and why.
    hindered: Option<(u32, Refusal)>,
    /// Whether memoryd's last head before a stop was signed.
    closed: watch::Sender<bool>,
}

/// See the module.
#[derive(Debug)]
pub(crate) struct Anchors {
    base: Rc<Base>,
    key: Rc<InstanceKey>,
    /// What is known of the chronicle's head.
    pub(crate) chain: RefCell<Chain>,
    /// Held by anyone who has a head of the chronicle signed.
    signing: Mutex<()>,
}

impl Anchors {
    /// With what was signed before this start.
    pub(crate) fn new(base: &Rc<Base>, key: &Rc<InstanceKey>, last: Option<Last>) -> Rc<Self> {
        let mut chain =
            Chain { last: last.map(|last| last.anchor), end: last.map(|last| last.end), ..Chain::default() };
        if last.is_some_and(|last| key.sign_anchor(&last.anchor) != last.signature) {
            chain.forged = Some("the last head in policy.sqlite does not bear this instance's signature".to_owned());
        }
        Rc::new(Self {
            base: Rc::clone(base),
            key: Rc::clone(key),
            chain: RefCell::new(chain),
            signing: Mutex::default(),
        })
    }

    /// Nothing is decided on a chronicle that is not what was signed, nor before the memoryd at hand has proven that it is:
    /// waits a moment for that.
    ///
    /// # Errors
    /// What speaks against the chronicle, or hinders memoryd from proving it.
    pub(crate) async fn chain_holds(&self) -> Result<(), Refusal> {
        if let Some(said) = self.said_of_chain() {
            return said;
        }
        let here = async { self.base.memory.generations().wait_for(|generation| *generation != 0).await.is_ok() };
        if !timeout(HERE_WITHIN, here).await.unwrap_or(false) {
            return self.said_of_chain().unwrap_or_else(|| Err(memory_gone(&RpcError::Gone(RoleName::Memoryd))));
        }
        let mut news = self.chain.borrow().proven.subscribe();
        let said = async {
            loop {
                if let Some(said) = self.said_of_chain() {
                    return Some(said);
                }
                news.changed().await.ok()?;
            }
        };
        timeout(PROVEN_WITHIN, said).await.ok().flatten().unwrap_or_else(|| {
            Err(Refusal::new(RefusalCode::Unavailable, "chronicle.unproven", self.unproven())
                .remedy("try again in a moment, or look at `metnosctl status`"))
        })
    }

    /// Why nothing is decided now; empty when the chronicle is what was signed.
    pub(crate) fn undecided(&self) -> String {
        match self.said_of_chain() {
            Some(Ok(())) => String::new(),
            Some(Err(refusal)) => refusal.why,
            None => self.unproven(),
        }
    }

    /// What is said while memoryd has to prove itself: how far it has come, when it has told.
    fn unproven(&self) -> String {
        let chain = self.chain.borrow();
        let reading = chain.hindered.as_ref().filter(|(_, refusal)| refusal.rule == VERIFYING);
        reading.map_or_else(|| UNPROVEN.to_owned(), |(_, refusal)| refusal.why.clone())
    }

    /// What is known of the chronicle of the memoryd at hand; `None` while it has to prove itself.
    fn said_of_chain(&self) -> Option<Result<(), Refusal>> {
        let chain = self.chain.borrow();
        if let Some(why) = chain.forged.as_ref().or(chain.broken.as_ref()) {
            let why = format!("the chronicle is not what policyd has signed, so nothing is decided: {why}");
            return Some(Err(Refusal::new(RefusalCode::Unavailable, "chronicle.anchor", why).remedy(
                "`metnosctl audit verify` shows where; restore the instance from a backup: `metnosctl restore`",
            )));
        }
        let here = Some(*self.base.memory.generations().borrow()).filter(|generation| *generation != 0)?;
        if *chain.proven.borrow() == here {
            return Some(Ok(()));
        }
        // One that is reading its files is waited for.
        let waits_for_nothing = |(link, refusal): &(u32, Refusal)| *link == here && refusal.rule != VERIFYING;
        chain.hindered.clone().filter(waits_for_nothing).map(|(_, refusal)| Err(refusal))
    }

    /// Has every memoryd that comes prove itself by the head that was signed last, then signs what it tells, until the
    /// daemon ends.
    pub async fn keep_chain(self: Rc<Self>) {
        let Some(mut notes) = self.base.memory.take_notes() else { return };
        let mut generations = self.base.memory.generations();
        loop {
            let here = *generations.borrow_and_update();
            let (proven, broken) = self.chain_stands();
            let unproven = here != 0 && here != proven;
            if unproven && self.prove(here).await {
                continue;
            }
            tokio::select! {
                changed = generations.changed() => if changed.is_err() { return },
                note = notes.recv() => match note {
                    // One told before memoryd's proof may be read only after it; one that has lost lines tells the same. Nothing
                    // is decided until it has proven itself anew.
                    Some(Note::ChainHead(head)) if !unproven && !broken => {
                        if !self.told_head(&head).await {
                            self.chain_is(0, None);
                        }
                    }
                    // Of one that has yet to prove itself, did not, or has gone.
                    Some(Note::ChainHead(_)) => {}
                    None => return,
                },
                () = tokio::time::sleep(self.ask_again()), if unproven => {}
            }
        }
    }

    /// Over which link memoryd has proven itself, and whether the chronicle is not what was signed.
    fn chain_stands(&self) -> (u32, bool) {
        let chain = self.chain.borrow();
        let proven = *chain.proven.borrow();
        (proven, chain.broken.is_some() || chain.forged.is_some())
    }

    /// How long to wait before memoryd is asked again whether its chronicle is what was signed.
    fn ask_again(&self) -> Duration {
        let chain = self.chain.borrow();
        let reading = chain.hindered.as_ref().is_some_and(|(_, refusal)| refusal.rule == VERIFYING);
        if reading { READING_AGAIN } else { ASK_AGAIN }
    }

    /// Tells anyone who waits for it over which link memoryd has proven itself, or could not.
    fn chain_is(&self, proven: u32, hindered: Option<(u32, Refusal)>) {
        let mut chain = self.chain.borrow_mut();
        chain.hindered = hindered;
        chain.proven.send_replace(proven);
    }

    /// Asks memoryd over link `here` whether its files are what was signed, to the last head and from there to their end;
    /// whether it has answered.
    async fn prove(&self, here: u32) -> bool {
        let _signing = self.signing.lock().await;
        let (last, end) = {
            let chain = self.chain.borrow();
            (chain.last, chain.end.unwrap_or(End::Open))
        };
        let (seq, hash) = last.map_or((0, GENESIS), |last| (last.seq, last.hash));
        // A memoryd that was restarted since the stop has written lines that nobody has signed.
        let closed = end == End::Added || (end == End::Closed && here == 1);
        let ask = Anchored { seq, hash, whole: true, closed };
        let mut generations = self.base.memory.generations();
        let answer = tokio::select! {
            biased;
            // Another one is asked something else: lines that this one has written after a stop are none that were added.
            _ = generations.wait_for(|now| *now != here) => {
                self.chain_is(0, None);
                return false;
            }
            answer = self.base.memory.anchored(TraceId::NONE, ask, []) => answer,
        };
        match answer {
            Ok((head, [])) => {
                self.count_unsigned(last, &head);
                self.chain.borrow_mut().broken = None;
                match self.reopened(end, &head).await {
                    Ok(true) => {}
                    Ok(false) => {
                        let told = head.seq;
                        self.distrust(format!("line {seq} was signed, and memoryd tells that line {told} is the last"));
                    }
                    Err(error) => {
                        tracing::error!(%error, "a head of the chronicle could not be kept");
                        self.chain_is(0, Some((here, unkept(&error))));
                        return false;
                    }
                }
            }
            Err(RpcError::Refused(refusal)) if refusal.rule == ALTERED => {
                if closed && let Err(error) = self.base.store.ends(End::Added).await {
                    tracing::error!(%error, "that the chronicle was altered could not be kept");
                }
                self.distrust(refusal.why);
            }
            Err(error) => {
                // One that is there and cannot say is not waited for; one that has gone is.
                let hindered = match error {
                    RpcError::Refused(refusal) if refusal.rule == VERIFYING => Some((here, refusal)),
                    RpcError::Refused(refusal) => {
                        tracing::warn!(%refusal, "memoryd cannot say whether the chronicle is what was signed");
                        let why = format!(
                            "memoryd cannot show that the chronicle is what was signed, so nothing is decided: {}",
                            refusal.why
                        );
                        Some((here, Refusal { why, ..refusal }))
                    }
                    error @ (RpcError::Gone(_)
                    | RpcError::Late { .. }
                    | RpcError::Violation(..)
                    | RpcError::Unsendable(_)) => {
                        tracing::warn!(%error, "memoryd has not said whether the chronicle is what was signed");
                        None
                    }
                };
                self.chain_is(0, hindered);
                return false;
            }
        }
        self.chain_is(here, None);
        true
    }

    /// The chronicle is what was signed, and goes on: lines may follow from here on.
    async fn reopened(&self, end: End, head: &ChainHead) -> Result<bool, StoreError> {
        if end != End::Open {
            self.base.store.ends(End::Open).await?;
            self.chain.borrow_mut().end = Some(End::Open);
        }
        self.anchor(head, true).await
    }

    /// Lines that nobody had signed when the chronicle was opened: a crash leaves some. They are reported, and signed now.
    fn count_unsigned(&self, last: Option<Anchor>, head: &ChainHead) {
        let Some(last) = last else { return };
        let unsigned = head.opened.saturating_sub(last.seq);
        if unsigned > 0 && self.chain.borrow().unsigned != unsigned {
            let lines = if unsigned == 1 { "line" } else { "lines" };
            let text = format!(
                "{unsigned} {lines} after the last signature (line {}): Metnos ended without a stop. They follow from the signed \
                 ones and are signed from now on. Whether lines behind them were cut off cannot be known; no decision that allowed \
                 an effect can be among those",
                last.seq
            );
            self.base.event("chronicle_unsigned", &text, None);
        }
        self.chain.borrow_mut().unsigned = unsigned;
    }

    /// Signs a head that memoryd has told of, and keeps it; `false` when it is one from before the last.
    async fn told_head(&self, head: &ChainHead) -> bool {
        let _signing = self.signing.lock().await;
        match self.anchor(head, true).await {
            Ok(fits) => {
                if fits && head.closed {
                    self.close(head).await;
                }
                fits
            }
            Err(error) => {
                tracing::error!(%error, "a head of the chronicle could not be kept");
                true
            }
        }
    }

    /// memoryd has ended, and this was its last line.
    async fn close(&self, head: &ChainHead) {
        if self.chain.borrow().last.is_none_or(|last| last.seq != head.seq) {
            return;
        }
        match self.base.store.ends(End::Closed).await {
            Ok(()) => {
                let mut chain = self.chain.borrow_mut();
                // Only a memoryd of another start is asked for it: this policyd may outlive the one that has ended.
                chain.end = Some(End::Open);
                chain.closed.send_replace(true);
            }
            Err(error) => tracing::error!(%error, "that the chronicle was closed could not be kept"),
        }
    }

    /// Signs a head and keeps it. Another one at the line that was signed last is an alarm; one before it says nothing by
    /// itself: `false`. Anyone who calls it holds `signing`.
    async fn anchor(&self, head: &ChainHead, listed: bool) -> Result<bool, StoreError> {
        let last = self.chain.borrow().last;
        if let Some(last) = last.filter(|last| head.seq <= last.seq) {
            if head.seq == last.seq && head.hash != last.hash {
                self.distrust(format!("line {} was signed, and memoryd tells of another one there", last.seq));
            }
            return Ok(head.seq == last.seq);
        }
        if head.seq == 0 {
            return Ok(true);
        }
        let anchor = Anchor { seq: head.seq, hash: head.hash, root: head.root, ts_ms: self.base.clock.wall_ms() };
        self.base.store.anchored(anchor, self.key.sign_anchor(&anchor), listed, End::Open).await?;
        self.chain.borrow_mut().last = Some(anchor);
        Ok(true)
    }

    /// Has the head signed, up to line `seq` at least, which memoryd has recorded before. Calls that come together share a
    /// signature.
    ///
    /// # Errors
    /// When memoryd cannot show that its chronicle is what was signed, or the signature cannot be kept.
    pub(crate) async fn signed_up_to(&self, seq: u64) -> Result<(), Refusal> {
        let _signing = self.signing.lock().await;
        let last = self.chain.borrow().last;
        if last.is_some_and(|last| last.seq >= seq) {
            return Ok(());
        }
        let head = self.head_after(last).await?;
        if head.seq < seq {
            self.distrust(format!("memoryd has recorded line {seq}, and tells that line {} is the last", head.seq));
            return self.said_of_chain().unwrap_or(Ok(()));
        }
        self.anchor(&head, false).await.map(drop).map_err(|error| unkept(&error))
    }

    /// Has the head signed as it is now. Nothing need have been recorded since it was signed last.
    async fn sign_head(&self) -> Result<(), Refusal> {
        let _signing = self.signing.lock().await;
        let last = self.chain.borrow().last;
        let head = self.head_after(last).await?;
        if !self.anchor(&head, false).await.map_err(|error| unkept(&error))? {
            let signed = last.map_or(0, |last| last.seq);
            self.distrust(format!("line {signed} was signed, and memoryd tells that line {} is the last", head.seq));
        }
        self.said_of_chain().unwrap_or(Ok(()))
    }

    /// memoryd's head, with its word that the last signed one still stands below it. Anyone who calls it holds `signing`.
    async fn head_after(&self, last: Option<Anchor>) -> Result<ChainHead, Refusal> {
        let (seq, hash) = last.map_or((0, GENESIS), |last| (last.seq, last.hash));
        let ask = Anchored { seq, hash, whole: false, closed: false };
        match self.base.memory.anchored(TraceId::NONE, ask, []).await {
            Ok((head, [])) => Ok(head),
            Err(RpcError::Refused(refusal)) if refusal.rule == ALTERED => {
                self.distrust(refusal.why.clone());
                Err(self.said_of_chain().and_then(Result::err).unwrap_or(refusal))
            }
            Err(error) => Err(memory_gone(&error)),
        }
    }

    /// The chronicle still holds after line `seq`, which may have been recorded by a memoryd that came meanwhile. No effect
    /// without a signature over the line that allows it: anyone who cuts the chronicle later cannot hide it. A read needs none.
    ///
    /// # Errors
    /// When it does not hold, or cannot be signed; that nothing ran is recorded.
    pub(crate) async fn chain_holds_for(
        &self,
        acts: bool,
        id: &ExecutorId,
        turn: TurnId,
        seq: u64,
    ) -> Result<(), Refusal> {
        self.chain_holds().await?;
        if !acts {
            return Ok(());
        }
        self.signed_up_to(seq).await.inspect_err(|refusal| {
            let why = format!("{id} was allowed and did not run: {}: {}", refusal.rule, refusal.why);
            self.base.event("refused", &why, Some(turn));
        })
    }

    /// An effect has ended: what was recorded of it is signed, and nobody waits for that.
    pub(crate) fn sign_after(self: &Rc<Self>, acts: bool) {
        if !acts {
            return;
        }
        let anchors = Rc::clone(self);
        tokio::task::spawn_local(async move {
            if let Err(refusal) = anchors.sign_head().await {
                tracing::warn!(%refusal, "what an effect has left in the chronicle is signed later");
            }
        });
    }

    /// policyd alone is stopped: the head is signed once more.
    pub async fn sign_at_stop(&self) {
        if !matches!(self.said_of_chain(), Some(Ok(()))) {
            return;
        }
        if let Ok(Err(refusal)) = timeout(SIGNED_WITHIN, self.sign_head()).await {
            tracing::debug!(%refusal, "nothing more was signed");
        }
    }

    /// All daemons are stopped: returns when memoryd has told its last head and it is signed, or memoryd is gone.
    pub async fn chain_closed(&self) {
        let mut closed = self.chain.borrow().closed.subscribe();
        let mut here = self.base.memory.generations();
        tokio::select! {
            _ = closed.wait_for(|closed| *closed) => return,
            _ = here.wait_for(|generation| *generation == 0) => {}
        }
        let _ = timeout(LAST_HEAD_WITHIN, closed.wait_for(|closed| *closed)).await;
    }

    fn distrust(&self, why: String) {
        tracing::error!(%why, "the chronicle is not what was signed: nothing is decided any more");
        self.chain.borrow_mut().broken = Some(why.clone());
        self.base.event("chronicle_broken", &why, None);
    }
}

/// The signed head could not be kept.
fn unkept(error: &StoreError) -> Refusal {
    let why = format!("the signature of the chronicle's head cannot be kept, so nothing with an effect runs: {error}");
    full_or(error, "chronicle.unsigned", why)
}
