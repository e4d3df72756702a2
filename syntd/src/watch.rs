//! What syntd knows of the need for growth: the gaps that memoryd has counted and the births that
//! policyd still allows, asked for once per link and kept; and what the ager proposes, which is
//! carried to policyd's sieve, each once.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use metnos_proto::edge::RpcError;
use metnos_proto::edges::{SyntdMemoryd, SyntdPolicyd};
use metnos_proto::ids::TraceId;
use metnos_proto::link_async::Client;
use metnos_proto::msg::common::Refusal;
use metnos_proto::msg::memoryd::{AgerProposals, Gap, Gaps};
use metnos_proto::msg::policyd::{GrowthLeft, GrowthQuota};

use crate::proposal;

/// The most proposals that are carried to policyd at once (it takes no more than two hundred a day).
pub const MOST_AT_ONCE: usize = 200;
/// How long after policyd has refused to receive proposals they are brought again.
pub const AGAIN_AFTER: Duration = Duration::from_secs(3_600);

/// The need for growth, as last received.
#[derive(Debug, Default)]
pub struct Watch {
    quota: RefCell<Option<GrowthLeft>>,
    gaps: RefCell<Vec<Gap>>,
    /// The last of the ager's proposals that policyd has received: its line and its name.
    carried: RefCell<(u64, String)>,
    memoryd: Rc<Client<SyntdMemoryd>>,
}

impl Watch {
    /// Asks policyd and memoryd now, and again whenever one of them was restarted. Must run inside a
    /// [`tokio::task::LocalSet`].
    pub fn start(policyd: Rc<Client<SyntdPolicyd>>, memoryd: Rc<Client<SyntdMemoryd>>) -> Rc<Self> {
        let watch = Rc::new(Self { memoryd: Rc::clone(&memoryd), ..Self::default() });
        tokio::task::spawn_local(Rc::clone(&watch).follow_policyd(Rc::clone(&policyd)));
        tokio::task::spawn_local(Rc::clone(&watch).follow_memoryd(Rc::clone(&memoryd)));
        tokio::task::spawn_local(Rc::clone(&watch).follow_ager(memoryd, policyd));
        watch
    }

    /// How much growth is allowed; `None` when policyd has not answered.
    #[must_use]
    pub fn quota(&self) -> Option<GrowthLeft> {
        self.quota.borrow().clone()
    }

    /// What was wished for, most wished for first, as last received.
    #[must_use]
    pub fn gaps(&self) -> Vec<Gap> {
        self.gaps.borrow().clone()
    }

    /// What was wished for until now, most wished for first.
    ///
    /// # Errors
    /// When memoryd refuses or cannot be reached.
    pub async fn gaps_now(&self) -> Result<Vec<Gap>, Refusal> {
        let asked = self.memoryd.gaps(TraceId::NONE, Gaps {}, []).await;
        let (list, []) = asked.map_err(RpcError::into_refusal)?;
        self.gaps.borrow_mut().clone_from(&list.gaps);
        Ok(list.gaps)
    }

    async fn follow_policyd(self: Rc<Self>, policyd: Rc<Client<SyntdPolicyd>>) {
        let mut generations = policyd.generations();
        loop {
            if *generations.borrow_and_update() != 0 {
                let left = match policyd.growth_quota(TraceId::NONE, GrowthQuota {}, []).await {
                    Ok((left, [])) => Some(left),
                    Err(error) => {
                        tracing::warn!(%error, "policyd did not say how much growth is allowed");
                        None
                    }
                };
                if let Some(left) = &left {
                    tracing::info!(births_today = left.births_today, active = left.active, "growth allowed");
                }
                // No answer means none is allowed.
                *self.quota.borrow_mut() = left;
            }
            if generations.changed().await.is_err() {
                return;
            }
        }
    }

    async fn follow_memoryd(self: Rc<Self>, memoryd: Rc<Client<SyntdMemoryd>>) {
        let mut generations = memoryd.generations();
        loop {
            if *generations.borrow_and_update() != 0 {
                match memoryd.gaps(TraceId::NONE, Gaps {}, []).await {
                    Ok((list, [])) => {
                        tracing::info!(gaps = list.gaps.len(), "wishes that nothing serves");
                        *self.gaps.borrow_mut() = list.gaps;
                    }
                    Err(error) => tracing::warn!(%error, "memoryd did not say what is missing"),
                }
            }
            if generations.changed().await.is_err() {
                return;
            }
        }
    }
}

impl Watch {
    /// Carries what the ager proposes to policyd: when both can be reached, when the ager has come, and again after a
    /// while when policyd would not receive it. A policyd or memoryd that was restarted gets everything again: the one
    /// recognises what it knows, and the other may have lost what it derived.
    async fn follow_ager(self: Rc<Self>, memoryd: Rc<Client<SyntdMemoryd>>, policyd: Rc<Client<SyntdPolicyd>>) {
        let Some(mut notes) = memoryd.take_notes() else { return };
        let (mut memoryds, mut policyds) = (memoryd.generations(), policyd.generations());
        let mut of = (0, 0);
        loop {
            let now = (*memoryds.borrow_and_update(), *policyds.borrow_and_update());
            if std::mem::replace(&mut of, now) != now {
                *self.carried.borrow_mut() = (0, String::new());
            }
            let left = now.0 != 0 && now.1 != 0 && !self.carry(&memoryd, &policyd).await;
            tokio::select! {
                changed = memoryds.changed() => if changed.is_err() { return },
                changed = policyds.changed() => if changed.is_err() { return },
                note = notes.recv() => if note.is_none() { return },
                () = tokio::time::sleep(AGAIN_AFTER), if left => {}
            }
            // Notes that came meanwhile say the same.
            while notes.try_recv().is_ok() {}
        }
    }

    /// Carries what has not been carried yet; whether that is all of it.
    async fn carry(&self, memoryd: &Client<SyntdMemoryd>, policyd: &Client<SyntdPolicyd>) -> bool {
        let mut carried = 0;
        loop {
            let (after_seq, after_id) = self.carried.borrow().clone();
            let list = match memoryd.ager_proposals(TraceId::NONE, AgerProposals { after_seq, after_id }, []).await {
                Ok((list, [])) => list,
                Err(error) => {
                    tracing::warn!(%error, "memoryd did not say what the ager proposes");
                    return false;
                }
            };
            for seen in list.proposals {
                if let Some(ask) = proposal::of(&seen) {
                    match policyd.propose(TraceId::NONE, ask, []).await {
                        Ok((became, [])) => {
                            tracing::info!(id = %seen.id, way = ?became.way, "a proposal of the ager's")
                        }
                        Err(RpcError::Refused(refusal)) => {
                            tracing::info!(id = %seen.id, %refusal, "policyd takes no proposal now");
                            return false;
                        }
                        Err(error) => {
                            tracing::warn!(%error, "a proposal of the ager's did not reach policyd");
                            return false;
                        }
                    }
                }
                *self.carried.borrow_mut() = (seen.seq, seen.id);
                carried += 1;
            }
            if !list.more {
                return true;
            }
            if carried >= MOST_AT_ONCE {
                return false;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::cell::Cell;
    use std::os::fd::OwnedFd;

    use metnos_proto::edge::{AnswererEnd, AskerEnd, Edge, RawEnd, Served, Side};
    use metnos_proto::edges::{syntd_memoryd, syntd_policyd};
    use metnos_proto::link_async::Cx;
    use metnos_proto::msg::common::{Done, RefusalCode};
    use metnos_proto::msg::drafting::{DraftTried, OfferDraft, TryDraft};
    use metnos_proto::msg::memoryd::{AgerProposal, AgerProposalList, AgerProposed, GapList};
    use metnos_proto::msg::policyd::{DraftsFunded, EndDrafts, FundDrafts};
    use metnos_proto::msg::vaglio::{ProposalWay, Propose, Proposed};
    use metnos_proto::payload::Sealed;
    use tokio::task::LocalSet;

    use super::*;

    #[derive(Default)]
    struct Peer {
        asked: Cell<u8>,
        /// What the ager has proposed, in pages of two.
        seen: RefCell<Vec<AgerProposal>>,
        /// What reached policyd.
        heard: RefCell<Vec<Propose>>,
        /// Whether policyd learns nothing.
        deaf: Cell<bool>,
        notes: RefCell<Option<metnos_proto::link_async::Notes<SyntdMemoryd>>>,
    }

    impl Peer {
        fn ager_sees(&self, seq: u64, id: &str) {
            let text = |text: &str| text.to_owned();
            let seen = AgerProposal {
                seq,
                id: text(id),
                kind: text("synthesis"),
                mnest: text("mnest_1"),
                src: String::new(),
                dst: format!("play {id}"),
                why: String::new(),
            };
            self.seen.borrow_mut().push(seen);
        }
    }

    impl syntd_policyd::Serve for Peer {
        async fn growth_quota(
            self: Rc<Self>,
            _cx: Cx<SyntdPolicyd>,
            GrowthQuota {}: GrowthQuota,
            []: [Sealed; 0],
        ) -> Served<GrowthLeft, 0> {
            self.asked.set(self.asked.get() + 1);
            Ok((GrowthLeft { births_today: self.asked.get(), active: 20, dry_run: true }, []))
        }

        async fn propose(self: Rc<Self>, _cx: Cx<SyntdPolicyd>, ask: Propose, []: [Sealed; 0]) -> Served<Proposed, 0> {
            if self.deaf.get() {
                return Err(Refusal::new(RefusalCode::Denied, "constitution.pending", "not now").into());
            }
            self.heard.borrow_mut().push(ask);
            Ok((Proposed { id: "p".into(), way: ProposalWay::Digest }, []))
        }

        async fn fund_drafts(
            self: Rc<Self>,
            _cx: Cx<SyntdPolicyd>,
            _ask: FundDrafts,
            []: [Sealed; 0],
        ) -> Served<DraftsFunded, 0> {
            Err(Refusal::new(RefusalCode::Busy, "budget.tokens.day", "nothing is left").into())
        }

        async fn end_drafts(
            self: Rc<Self>,
            _cx: Cx<SyntdPolicyd>,
            _ask: EndDrafts,
            []: [Sealed; 0],
        ) -> Served<Done, 0> {
            Err(Refusal::new(RefusalCode::Unknown, "drafts.unknown", "none is open").into())
        }

        async fn try_draft(
            self: Rc<Self>,
            _cx: Cx<SyntdPolicyd>,
            _ask: TryDraft,
            [_]: [Sealed; 1],
        ) -> Served<DraftTried, 1> {
            Err(Refusal::new(RefusalCode::Unknown, "drafts.unknown", "none is open").into())
        }

        async fn offer_draft(
            self: Rc<Self>,
            _cx: Cx<SyntdPolicyd>,
            _ask: OfferDraft,
            [_]: [Sealed; 1],
        ) -> Served<Done, 0> {
            Err(Refusal::new(RefusalCode::Unknown, "drafts.unknown", "none is open").into())
        }
    }

    impl syntd_memoryd::Serve for Peer {
        async fn gaps(self: Rc<Self>, _cx: Cx<SyntdMemoryd>, Gaps {}: Gaps, []: [Sealed; 0]) -> Served<GapList, 0> {
            Ok((GapList { gaps: vec![Gap { wish: "fly".into(), times: 2 }] }, []))
        }

        async fn ager_proposals(
            self: Rc<Self>,
            cx: Cx<SyntdMemoryd>,
            ask: AgerProposals,
            []: [Sealed; 0],
        ) -> Served<AgerProposalList, 0> {
            *self.notes.borrow_mut() = Some(cx.notes());
            let after = (ask.after_seq, ask.after_id);
            let open: Vec<AgerProposal> =
                self.seen.borrow().iter().filter(|one| (one.seq, one.id.clone()) > after).cloned().collect();
            let more = open.len() > 2;
            Ok((AgerProposalList { proposals: open.into_iter().take(2).collect(), more }, []))
        }
    }

    fn ends<E: Edge>(generation: u32) -> (AskerEnd<E>, AnswererEnd<E>) {
        let (a, b) = metnos_proto::socket::pair().unwrap();
        let raw = |side, fd: OwnedFd| RawEnd { edge: E::ID, side, generation, peer: None, fd };
        (AskerEnd::new(raw(Side::Asker, a)).unwrap(), AnswererEnd::new(raw(Side::Answerer, b)).unwrap())
    }

    async fn until(done: impl Fn() -> bool) {
        while !done() {
            tokio::task::yield_now().await;
        }
    }

    #[test]
    fn watcher_asks_on_each_new_link() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        LocalSet::new().block_on(&runtime, async {
            let peer = Rc::new(Peer::default());
            let policyd = Rc::new(Client::<SyntdPolicyd>::default());
            let memoryd = Rc::new(Client::<SyntdMemoryd>::default());
            let watch = Watch::start(Rc::clone(&policyd), Rc::clone(&memoryd));
            assert!(watch.quota().is_none() && watch.gaps().is_empty());

            let (asker, answerer) = ends(1);
            let first = tokio::task::spawn_local(syntd_policyd::serve(answerer, Rc::clone(&peer)));
            policyd.attach(asker).unwrap();
            let (asker, answerer) = ends(1);
            tokio::task::spawn_local(syntd_memoryd::serve(answerer, Rc::clone(&peer)));
            memoryd.attach(asker).unwrap();
            until(|| watch.quota().is_some() && !watch.gaps().is_empty()).await;
            assert_eq!(watch.quota().unwrap().births_today, 1);

            first.abort();
            let (asker, answerer) = ends(2);
            tokio::task::spawn_local(syntd_policyd::serve(answerer, Rc::clone(&peer)));
            policyd.attach(asker).unwrap();
            until(|| watch.quota().is_some_and(|left| left.births_today == 2)).await;
        });
    }

    #[test]
    fn ager_proposals_reach_policyd_once_and_again_after_its_restart() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
        LocalSet::new().block_on(&runtime, async {
            let peer = Rc::new(Peer::default());
            for (seq, id) in [(7, "a"), (7, "b"), (9, "c")] {
                peer.ager_sees(seq, id);
            }
            let policyd = Rc::new(Client::<SyntdPolicyd>::default());
            let memoryd = Rc::new(Client::<SyntdMemoryd>::default());
            let _watch = Watch::start(Rc::clone(&policyd), Rc::clone(&memoryd));
            let heard = |peer: &Peer| peer.heard.borrow().iter().map(|one| one.title.clone()).collect::<Vec<_>>();

            let (asker, answerer) = ends(1);
            tokio::task::spawn_local(syntd_memoryd::serve(answerer, Rc::clone(&peer)));
            memoryd.attach(asker).unwrap();
            let (asker, answerer) = ends(1);
            let first = tokio::task::spawn_local(syntd_policyd::serve(answerer, Rc::clone(&peer)));
            policyd.attach(asker).unwrap();
            until(|| peer.heard.borrow().len() == 3).await;
            assert!(heard(&peer)[2].ends_with("play c"), "{:?}", heard(&peer));

            // Nobody asks again before the ager has come.
            peer.ager_sees(12, "d");
            let notes = peer.notes.borrow().clone().unwrap();
            notes.send(syntd_memoryd::Note::AgerProposed(AgerProposed {})).await.unwrap();
            until(|| peer.heard.borrow().len() == 4).await;

            // A policyd that will not receive it gets it later; the clock of this test goes on by itself.
            peer.deaf.set(true);
            peer.ager_sees(13, "e");
            notes.send(syntd_memoryd::Note::AgerProposed(AgerProposed {})).await.unwrap();
            tokio::time::sleep(AGAIN_AFTER / 2).await;
            peer.deaf.set(false);
            assert_eq!(peer.heard.borrow().len(), 4);
            tokio::time::sleep(AGAIN_AFTER).await;
            assert_eq!(peer.heard.borrow().len(), 5);

            first.abort();
            let (asker, answerer) = ends(2);
            tokio::task::spawn_local(syntd_policyd::serve(answerer, Rc::clone(&peer)));
            policyd.attach(asker).unwrap();
            until(|| peer.heard.borrow().len() == 10).await;
        });
    }
}
