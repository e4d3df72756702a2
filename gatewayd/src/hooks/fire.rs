//! A webhook fires: what was set up for it is done, once for each name of a firing.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use metnos_proto::edge::RpcError;
use metnos_proto::ids::{TraceId, TurnId};
use metnos_proto::msg::common::{Channel, Refusal};
use metnos_proto::msg::memoryd::{MarkState, Marked};
use metnos_proto::msg::planner::CancelTurn;
use metnos_proto::payload::Sealed;

use super::registry::{Hook, Hooks, unavailable};
use crate::http::limits::rate::Bucket;
use crate::session::Door;
use crate::session::speaker::{NoteDelivery, NoteSink, Speaker, SpeakerSession, TurnNote};

/// How often one webhook may fire in a minute.
pub const PER_MINUTE: u32 = 60;
/// The most of what comes with a webhook, in bytes: as much as words have.
pub const MAX_DATA: usize = 64 * 1024;

/// Nobody listens to a webhook's turn: its answer is in the journal, and its cards wait at the machine.
struct NoListener;

impl NoteSink for NoListener {
    fn deliver(&self, _: TurnNote) -> NoteDelivery<'_> {
        Box::pin(std::future::ready(true))
    }

    fn is_open(&self) -> bool {
        true
    }
}

/// What became of a firing.
#[derive(Debug, PartialEq, Eq)]
pub enum Firing {
    /// It has opened a turn.
    Opened(TurnId),
    /// It was heard before.
    Known,
    /// Too many of this hook; again in so many seconds.
    TooMany(u64),
}

impl Hooks {
    /// A request with a good signature has come: what was set up is done, once for each name of a firing. The journal
    /// remembers them, so that no restart makes an old one fresh; one that was journalled and never begun, because the
    /// door was lost over it, is done when its sender comes again.
    ///
    /// # Errors
    /// When the hook is gone, or a peer that is needed refuses. Nothing was done then.
    pub async fn fire(&self, door: &Rc<Door>, name: &str, mark: &str, data: &[u8]) -> Result<Firing, Refusal> {
        let speaker = Speaker { channel: Channel::Hook, sender: name.to_owned(), lang: None };
        let hook = {
            let mut hooks = self.hooks.borrow_mut();
            Rc::clone(hooks.entry(name.to_owned()).or_insert_with(|| {
                let voice = SpeakerSession::new(speaker, door.number(), Rc::new(NoListener));
                let (bucket, taking) = (Bucket::new(PER_MINUTE), RefCell::default());
                Rc::new(Hook { voice, bucket, taking, fired: Cell::new(0) })
            }))
        };
        if let Err(again) = hook.bucket.take() {
            return Ok(Firing::TooMany(again));
        }
        let data = (!data.is_empty()).then(|| Sealed::new(data).map_err(|error| unavailable(&error.to_string())));
        let data = data.transpose()?;
        if !hook.taking.borrow_mut().insert(mark.to_owned()) {
            return Ok(Firing::Known);
        }
        let fired = hook.take(door, mark, data).await;
        hook.taking.borrow_mut().remove(mark);
        fired
    }
}

impl Hook {
    async fn take(&self, door: &Rc<Door>, mark: &str, data: Option<Sealed>) -> Result<Firing, Refusal> {
        if self.was_begun(door, mark).await? {
            return Ok(Firing::Known);
        }
        let turn = door.fire(&self.voice.clone().with_mark(mark.to_owned()), data).await?;
        self.fired.set(self.fired.get() + 1);
        Ok(Firing::Opened(turn))
    }

    /// Whether a firing of this name was begun, here or at a door before. That it was journalled is not enough: a door may
    /// have been lost between that and the opening of the turn, and then its sender was not notified.
    async fn was_begun(&self, door: &Rc<Door>, mark: &str) -> Result<bool, Refusal> {
        let known = self.known(door, mark).await?;
        let Some(turn) = known.turn else { return Ok(false) };
        if is_settled(&known) {
            return Ok(true);
        }
        // It goes on, perhaps at the planner since the door before this one.
        door.has_found().await;
        if door.has_turn(turn) {
            return Ok(true);
        }
        // Should the planner have it all the same, it goes no further than it is.
        let stopped = door.peers().planner.cancel_turn(known.trace, CancelTurn { turn }, []).await;
        stopped.map_err(RpcError::into_refusal)?;
        Ok(is_settled(&self.known(door, mark).await?))
    }

    async fn known(&self, door: &Rc<Door>, mark: &str) -> Result<MarkState, Refusal> {
        let principal = format!("{}:{}", Channel::Hook.name(), self.voice.speaker.sender);
        let asked = door.peers().memoryd.marked(TraceId::NONE, Marked { principal, mark: mark.to_owned() }, []).await;
        asked.map(|(known, [_answer])| known).map_err(RpcError::into_refusal)
    }
}

/// Whether something came of it that must not come twice.
const fn is_settled(known: &MarkState) -> bool {
    known.acted || known.aside || known.delivered
}

#[cfg(test)]
mod tests {
    use metnos_proto::msg::planner::{TurnDone, TurnEnd};

    use super::*;
    use crate::hooks::secret_store::HookSecrets;
    use crate::session::stage::Stage;
    use crate::testing::{run, until};

    fn hooks() -> (tempfile::TempDir, Hooks) {
        let folder = tempfile::tempdir().unwrap();
        let kept = HookSecrets::open(folder.path()).unwrap();
        (folder, Hooks::new(Ok(kept)))
    }

    /// What the journal says of a firing: its turn, and whether a call was decided, it waits, it was answered.
    fn journalled(stage: &Stage, mark: &str, [acted, aside, delivered]: [bool; 3]) -> TurnId {
        let turn = TurnId::new();
        let known = MarkState { turn: Some(turn), trace: TraceId::NONE, acted, aside, delivered };
        stage.script.known.borrow_mut().insert(mark.to_owned(), known);
        turn
    }

    #[test]
    fn journalled_firing_that_never_began_runs_on_retry() {
        run(async {
            let (stage, (_folder, hooks)) = (Stage::new(), hooks());
            let lost = journalled(&stage, "lost", [false; 3]);
            let fired = hooks.fire(&stage.door, "post", "lost", b"").await.unwrap();
            assert!(matches!(fired, Firing::Opened(turn) if turn != lost), "{fired:?}");
            assert_eq!(stage.script.asked("cancel_turn"), [format!("cancel_turn {lost}")], "whatever is left of it");
            assert_eq!(stage.script.asked("fire").len(), 1);
        });
    }

    #[test]
    fn a_firing_of_which_something_came_is_not_done_again() {
        run(async {
            let (stage, (_folder, hooks)) = (Stage::new(), hooks());
            for (mark, came) in
                [("acted", [true, false, false]), ("aside", [false, true, false]), ("delivered", [false, false, true])]
            {
                journalled(&stage, mark, came);
                assert_eq!(hooks.fire(&stage.door, "post", mark, b"").await.unwrap(), Firing::Known, "{mark}");
            }
            assert!(stage.script.asked("fire").is_empty() && stage.script.asked("cancel_turn").is_empty());
        });
    }

    #[test]
    fn firing_under_way_is_left_running() {
        run(async {
            let (stage, (_folder, hooks)) = (Stage::new(), hooks());
            let Firing::Opened(turn) = hooks.fire(&stage.door, "post", "one", b"x").await.unwrap() else { panic!() };
            let known =
                MarkState { turn: Some(turn), trace: TraceId::NONE, acted: false, aside: false, delivered: false };
            stage.script.known.borrow_mut().insert("one".to_owned(), known);
            assert_eq!(hooks.fire(&stage.door, "post", "one", b"x").await.unwrap(), Firing::Known);
            assert!(stage.script.asked("cancel_turn").is_empty() && stage.script.asked("fire").len() == 1);
            let done = TurnDone { turn, end: TurnEnd::Answered, why: String::new() };
            stage.planner().send(metnos_proto::edges::door_planner::Note::TurnDone(done)).await.unwrap();
            until(|| !stage.door.has_turn(turn)).await;
        });
    }
}
