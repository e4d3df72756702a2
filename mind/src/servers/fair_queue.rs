//! Places for thoughts: each asker has a lane of its own, here and at each substrate, so that nobody waits behind
//! another's flood. Within a lane who comes first thinks first.

use std::sync::Arc;

use metnos_proto::msg::common::{Refusal, RefusalCode};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Whose thought it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lane {
    /// The planner's.
    Planner,
    /// policyd's judge.
    Judge,
    /// syntd's drafts.
    Synth,
    /// Executors'.
    Executor,
    /// The owner's tests.
    Owner,
}

impl Lane {
    /// The most thoughts of this lane under way at once, 160 in all: the planner's are as many as it ever asks for.
    #[must_use]
    pub const fn places(self) -> usize {
        match self {
            Self::Planner => 120,
            Self::Judge => 8,
            Self::Synth => 12,
            Self::Executor => 16,
            Self::Owner => 4,
        }
    }

    /// Of those, at one substrate, where the planner may have `parallel`.
    #[must_use]
    pub const fn places_there(self, parallel: usize) -> usize {
        match self {
            Self::Planner => parallel,
            Self::Judge | Self::Synth => 2,
            Self::Executor => 4,
            Self::Owner => 1,
        }
    }

    /// The most that wait in this lane.
    #[must_use]
    pub const fn waiting(self) -> usize {
        match self {
            Self::Planner => 128,
            Self::Executor => 64,
            Self::Judge | Self::Synth | Self::Owner => 16,
        }
    }

    const fn at(self) -> usize {
        match self {
            Self::Planner => 0,
            Self::Judge => 1,
            Self::Synth => 2,
            Self::Executor => 3,
            Self::Owner => 4,
        }
    }

    const ALL: [Self; 5] = [Self::Planner, Self::Judge, Self::Synth, Self::Executor, Self::Owner];
}

/// The places of the whole, or of one substrate.
#[derive(Debug)]
pub struct FairQueue {
    lanes: [Arc<Semaphore>; 5],
    /// Who is in the lane at all, thinking or waiting.
    queues: [Arc<Semaphore>; 5],
}

/// A place, free again when it is dropped.
#[derive(Debug)]
pub struct Slot {
    _thinking: OwnedSemaphorePermit,
    _inside: OwnedSemaphorePermit,
}

impl FairQueue {
    /// Those of the whole.
    #[must_use]
    pub fn of_all() -> Self {
        Self::new(Lane::places)
    }

    /// Those of one substrate.
    #[must_use]
    pub fn of_one(parallel: u32) -> Self {
        Self::new(|lane| lane.places_there(usize::try_from(parallel).unwrap_or(usize::MAX)))
    }

    fn new(places: impl Fn(Lane) -> usize) -> Self {
        Self {
            lanes: Lane::ALL.map(|lane| Arc::new(Semaphore::new(places(lane)))),
            queues: Lane::ALL.map(|lane| Arc::new(Semaphore::new(places(lane).saturating_add(lane.waiting())))),
        }
    }

    /// A place, as soon as there is one.
    ///
    /// # Errors
    /// When too many wait already.
    pub async fn take(&self, lane: Lane) -> Result<Slot, Refusal> {
        let busy = || {
            let why = format!("{} thoughts wait for a place already", lane.waiting());
            Refusal::new(RefusalCode::Busy, "mind.queue", why).remedy("try again in a moment")
        };
        let inside = Arc::clone(&self.queues[lane.at()]).try_acquire_owned().map_err(|_| busy())?;
        let thinking = Arc::clone(&self.lanes[lane.at()]).acquire_owned().await.map_err(|_| busy())?;
        Ok(Slot { _thinking: thinking, _inside: inside })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[tokio::test]
    async fn full_lane_delays_no_other_and_its_queue_is_bounded() {
        assert_eq!(Lane::ALL.into_iter().map(Lane::places).sum::<usize>(), 160);
        let places = Arc::new(FairQueue::of_one(2));
        let mut taken = vec![places.take(Lane::Planner).await.unwrap(), places.take(Lane::Planner).await.unwrap()];
        let waiting: Vec<_> = (0..Lane::Planner.waiting())
            .map(|_| {
                let places = Arc::clone(&places);
                tokio::spawn(async move { places.take(Lane::Planner).await.map(drop) })
            })
            .collect();
        for _ in 0..1_000 {
            tokio::task::yield_now().await;
        }
        assert_eq!(places.take(Lane::Planner).await.unwrap_err().rule, "mind.queue");
        // The judge does not see any of it.
        let judge = places.take(Lane::Judge).await.unwrap();
        taken.clear();
        for one in waiting {
            one.await.unwrap().unwrap();
        }
        drop(judge);
    }
}
