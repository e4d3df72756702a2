//! How many files are under way at once, and how many wait: one of each person, two of all guests, and one of the owner whatever
//! the guests do. A person who sends more than may wait receives so at once, and no message waits for it.

use std::cell::Cell;

use metnos_proto::msg::common::Standing;
use tokio::sync::{Mutex, MutexGuard, Semaphore, SemaphorePermit};

/// The most files of one person that wait or are under way: an album has ten.
pub const MAX_OF_ONE: usize = 12;
/// The most of all guests: of the updates that are dealt with at once ([`super::sequence::MAX_OPEN`]) most stay for others.
pub const MAX_OF_GUESTS: usize = 24;
/// How many of all guests are under way at once.
const GUESTS: usize = 2;

/// One person's files.
#[derive(Debug, Default)]
pub struct PersonFiles {
    one: Mutex<()>,
    waiting: Cell<usize>,
}

/// See the module.
#[derive(Debug)]
pub struct FileQueue {
    owner: Semaphore,
    guests: Semaphore,
    guests_waiting: Cell<usize>,
}

/// A file that is under way, until it is dropped.
#[derive(Debug)]
pub struct FileSlot<'a> {
    _place: SemaphorePermit<'a>,
    _one: MutexGuard<'a, ()>,
    _counted: [CountGuard<'a>; 2],
}

/// One more, until it is dropped.
#[derive(Debug)]
struct CountGuard<'a>(&'a Cell<usize>, usize);

impl<'a> CountGuard<'a> {
    fn new(count: &'a Cell<usize>, by: usize) -> Self {
        count.set(count.get().saturating_add(by));
        Self(count, by)
    }
}

impl Drop for CountGuard<'_> {
    fn drop(&mut self) {
        self.0.set(self.0.get().saturating_sub(self.1));
    }
}

impl Default for FileQueue {
    fn default() -> Self {
        Self { owner: Semaphore::new(1), guests: Semaphore::new(GUESTS), guests_waiting: Cell::new(0) }
    }
}

impl FileQueue {
    /// Waits until a file of this person may be under way; `None` when too many wait.
    pub async fn enter<'a>(&'a self, own: &'a PersonFiles, standing: Standing) -> Option<FileSlot<'a>> {
        let is_owner = standing == Standing::Owner;
        if own.waiting.get() >= MAX_OF_ONE || (!is_owner && self.guests_waiting.get() >= MAX_OF_GUESTS) {
            return None;
        }
        let counted = [CountGuard::new(&own.waiting, 1), CountGuard::new(&self.guests_waiting, usize::from(!is_owner))];
        let one = own.one.lock().await;
        let places = if is_owner { &self.owner } else { &self.guests };
        let place = places.acquire().await.ok()?;
        Some(FileSlot { _place: place, _one: one, _counted: counted })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use futures_util::FutureExt;

    use super::*;

    #[test]
    fn downloads_are_limited_to_one_per_person_and_two_for_guests() {
        let lanes = FileQueue::default();
        let people: Vec<PersonFiles> = (0..4).map(|_| PersonFiles::default()).collect();
        let first = lanes.enter(&people[0], Standing::Guest).now_or_never().flatten().unwrap();
        assert!(lanes.enter(&people[0], Standing::Guest).now_or_never().is_none(), "his second waits");
        let _second = lanes.enter(&people[1], Standing::Guest).now_or_never().flatten().unwrap();
        assert!(lanes.enter(&people[2], Standing::Guest).now_or_never().is_none(), "a third guest waits");
        let _owners = lanes.enter(&people[3], Standing::Owner).now_or_never().flatten().unwrap();
        drop(first);
        assert!(lanes.enter(&people[2], Standing::Guest).now_or_never().flatten().is_some());
    }

    #[test]
    fn a_flood_of_files_is_refused_at_once_and_the_owner_is_not() {
        let lanes = FileQueue::default();
        let people: Vec<PersonFiles> = (0..3).map(|_| PersonFiles::default()).collect();
        let mut waiting = Vec::new();
        for own in &people[..2] {
            for _ in 0..MAX_OF_ONE {
                let mut entering = Box::pin(lanes.enter(own, Standing::Guest));
                waiting.push(entering.as_mut().now_or_never().map_or_else(|| Err(entering), |lane| Ok(lane.unwrap())));
            }
            assert!(matches!(lanes.enter(own, Standing::Guest).now_or_never(), Some(None)), "he has his share");
        }
        assert!(matches!(lanes.enter(&people[2], Standing::Guest).now_or_never(), Some(None)), "they have theirs");
        assert!(lanes.enter(&people[2], Standing::Owner).now_or_never().flatten().is_some());
        drop(waiting);
        assert!(lanes.enter(&people[2], Standing::Guest).now_or_never().flatten().is_some());
        assert_eq!((lanes.guests_waiting.get(), people[0].waiting.get()), (0, 0));
    }
}
