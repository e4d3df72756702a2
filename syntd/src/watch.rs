//! What syntd knows of the need for growth: the gaps that memoryd has counted and the births that
//! policyd still allows, asked for once per link and kept.

use std::cell::RefCell;
use std::rc::Rc;

use metnos_proto::edges::{SyntdMemoryd, SyntdMind, SyntdPolicyd};
use metnos_proto::ids::TraceId;
use metnos_proto::link_async::Client;
use metnos_proto::msg::memoryd::{Gap, Gaps};
use metnos_proto::msg::policyd::{GrowthLeft, GrowthQuota};

/// The need for growth, as last heard.
#[derive(Debug, Default)]
pub struct Watch {
    quota: RefCell<Option<GrowthLeft>>,
    gaps: RefCell<Vec<Gap>>,
    /// The way to drafts, held open for as long as the daemon lives.
    mind: RefCell<Option<Rc<Client<SyntdMind>>>>,
}

impl Watch {
    /// Asks policyd and memoryd now, and again whenever one of them was started anew. Must run inside a
    /// [`tokio::task::LocalSet`].
    pub fn start(
        policyd: Rc<Client<SyntdPolicyd>>,
        memoryd: Rc<Client<SyntdMemoryd>>,
        mind: Rc<Client<SyntdMind>>,
    ) -> Rc<Self> {
        let watch = Rc::new(Self::default());
        *watch.mind.borrow_mut() = Some(mind);
        tokio::task::spawn_local(Rc::clone(&watch).follow_policyd(policyd));
        tokio::task::spawn_local(Rc::clone(&watch).follow_memoryd(memoryd));
        watch
    }

    /// How much growth is allowed; `None` when policyd was not heard.
    #[must_use]
    pub fn quota(&self) -> Option<GrowthLeft> {
        self.quota.borrow().clone()
    }

    /// What was wished for, most wished for first.
    #[must_use]
    pub fn gaps(&self) -> Vec<Gap> {
        self.gaps.borrow().clone()
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
                // Not heard means none is allowed.
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

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::cell::Cell;
    use std::os::fd::OwnedFd;

    use metnos_proto::edge::{AnswererEnd, AskerEnd, Edge, RawEnd, Served, Side};
    use metnos_proto::edges::{syntd_memoryd, syntd_policyd};
    use metnos_proto::link_async::Cx;
    use metnos_proto::msg::memoryd::GapList;
    use metnos_proto::payload::Sealed;
    use tokio::task::LocalSet;

    use super::*;

    struct Peer {
        asked: Cell<u8>,
    }

    impl syntd_policyd::Serve for Peer {
        async fn growth_quota(
            self: Rc<Self>,
            _cx: Cx<SyntdPolicyd>,
            GrowthQuota {}: GrowthQuota,
            []: [Sealed; 0],
        ) -> Served<GrowthLeft, 0> {
            self.asked.set(self.asked.get() + 1);
            Ok((GrowthLeft { births_today: self.asked.get(), active: 20 }, []))
        }

        async fn propose(
            self: Rc<Self>,
            _cx: Cx<SyntdPolicyd>,
            _: metnos_proto::msg::vaglio::Propose,
            []: [Sealed; 0],
        ) -> Served<metnos_proto::msg::vaglio::Proposed, 0> {
            panic!("nothing is proposed here")
        }
    }

    impl syntd_memoryd::Serve for Peer {
        async fn gaps(self: Rc<Self>, _cx: Cx<SyntdMemoryd>, Gaps {}: Gaps, []: [Sealed; 0]) -> Served<GapList, 0> {
            Ok((GapList { gaps: vec![Gap { wish: "fly".into(), times: 2 }] }, []))
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
    fn it_asks_when_a_link_is_made_and_again_when_the_peer_was_started_anew() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        LocalSet::new().block_on(&runtime, async {
            let peer = Rc::new(Peer { asked: Cell::new(0) });
            let policyd = Rc::new(Client::<SyntdPolicyd>::default());
            let memoryd = Rc::new(Client::<SyntdMemoryd>::default());
            let watch = Watch::start(Rc::clone(&policyd), Rc::clone(&memoryd), Rc::default());
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
}
