//! Routes the planner's notes. The planner reads what the world wrote and is presumed hijacked: a
//! note about a turn that is not open reaches nobody and is recorded.

use std::rc::Rc;

use metnos_proto::edges::door_planner::Note;
use metnos_proto::ids::{TraceId, TurnId};
use metnos_proto::msg::memoryd::SystemEvent;
use metnos_proto::msg::mind::MindHealth;
use metnos_proto::msg::planner::MAX_TEXT;

use super::health::Models;
use super::relay::{Item, MAX_ANSWER};
use super::{Door, phrases};

/// The most stray notes of one planner that are recorded; further ones are only dropped.
pub const MAX_STRAYS: u32 = 8;

impl Door {
    /// Routes notes for as long as the daemon lives, and ends the turns of a planner that went away.
    pub(super) async fn route(self: Rc<Self>) {
        let Some(mut notes) = self.peers.planner.take_notes() else { return };
        let mut generations = self.peers.planner.generations();
        let mut strays = 0;
        loop {
            tokio::select! {
                // What a planner said before it went away still counts.
                biased;
                Some(note) = notes.recv() => {
                    if let Some(turn) = self.dispatch(note) {
                        strays += 1;
                        self.record_stray(turn, strays);
                    }
                }
                changed = generations.changed() => {
                    if changed.is_err() {
                        return;
                    }
                    strays = 0;
                    self.turns.cut_those_of_other_planners(*generations.borrow_and_update());
                }
            }
        }
    }

    /// Queues a note for its session; gives the turn back when it is nobody's.
    fn dispatch(&self, note: Note) -> Option<TurnId> {
        let (turn, said_bytes) = match &note {
            Note::Text(text) => (text.turn, text.text.len()),
            Note::Call(call) => (call.turn, 0),
            Note::Progress(progress) => (progress.turn, 0),
            Note::TurnDone(done) => (done.turn, 0),
        };
        let item = match note {
            Note::Text(text) => Item::Text(text),
            Note::Call(call) => Item::Call(call),
            Note::Progress(progress) => Item::Progress(progress),
            Note::TurnDone(done) => Item::Done(done),
        };
        let is_open = self.turns.with(turn, |handle| {
            if said_bytes > MAX_TEXT || handle.said.get() + said_bytes > MAX_ANSWER {
                handle.cut(phrases::too_much(handle.lang));
            } else {
                self.turns.queue(handle, said_bytes, item);
            }
        });
        (!is_open).then_some(turn)
    }

    fn record_stray(self: &Rc<Self>, turn: TurnId, strays: u32) {
        tracing::warn!(%turn, "the planner spoke about a turn that is not open; it was dropped");
        if strays > MAX_STRAYS {
            return;
        }
        let door = Rc::clone(self);
        tokio::task::spawn_local(async move {
            let text = format!("the planner spoke about turn {turn}, which is not open at the door");
            let event = SystemEvent { kind: "stray_note".to_owned(), text, turn: None };
            if let Err(error) = door.peers.memoryd.system_event(TraceId::NONE, event, []).await {
                tracing::warn!(%error, "a stray note could not be recorded");
            }
        });
    }

    /// Asks mind once per link which models can be called.
    pub(super) async fn ask_for_health(self: Rc<Self>) {
        let mut generations = self.peers.mind.generations();
        loop {
            let models = if *generations.borrow_and_update() == 0 {
                Models::Gone
            } else {
                match self.peers.mind.health(TraceId::NONE, MindHealth {}, []).await {
                    Ok((report, [])) => Models::Heard(report),
                    Err(error) => Models::Unsaid(error.into_refusal()),
                }
            };
            self.health.models_are(models);
            if generations.changed().await.is_err() {
                return;
            }
        }
    }
}
