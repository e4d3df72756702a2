//! A door that comes after another one, with scripted peers: what it takes back, for whom, and what it does not believe.

#![allow(clippy::unwrap_used, clippy::panic)]

use std::cell::RefCell;
use std::rc::Rc;

use metnos_proto::ids::{TraceId, TurnId};
use metnos_proto::msg::common::{CallRef, Channel, Lang};
use metnos_proto::msg::memoryd::TurnOwner;
use metnos_proto::msg::planner::{CallState, TurnEnd};
use metnos_proto::turn_log::Entry;

use super::super::speaker::{NoteDelivery, NoteSink, TurnNote};
use super::super::stage::Stage;
use crate::testing::{run, until};

/// Writes down what it receives.
#[derive(Default)]
struct Heard(RefCell<Vec<String>>);

impl NoteSink for Rc<Heard> {
    fn deliver(&self, told: TurnNote) -> NoteDelivery<'_> {
        self.0.borrow_mut().push(match told {
            TurnNote::Text(text) => text.text,
            TurnNote::Call(call) => format!("call {}", call.call),
            TurnNote::TurnDone(done) => format!("done {}", done.end.name()),
            TurnNote::Progress(_) | TurnNote::CardWaits(_) | TurnNote::CardSettled(_) => "other".to_owned(),
        });
        Box::pin(std::future::ready(true))
    }

    fn is_open(&self) -> bool {
        true
    }
}

fn is(channel: Channel, is_delivered: bool) -> TurnOwner {
    // As the stage names the caller.
    let principal = "cli:k1".to_owned();
    TurnOwner { trace: TraceId::NONE, channel, principal, lang: Lang::En, is_delivered }
}

fn half() -> Vec<Entry> {
    vec![Entry::Call(1, "fs_read".into(), CallState::Started, "{}".into()), Entry::Text("one ".into())]
}

/// A door that receives turns of the channel HTTP there.
fn after(kept: Vec<(TurnId, TurnOwner, Vec<Entry>)>) -> (Stage, Rc<Heard>) {
    let (stage, heard) = (Stage::after(kept), Rc::new(Heard::default()));
    let sink = Rc::clone(&heard);
    stage.door.adopts(
        Channel::Http,
        Box::new(move |_, speaker| {
            assert_eq!(speaker.sender, "k1");
            Some((7, Rc::new(Rc::clone(&sink)) as Rc<dyn NoteSink>))
        }),
    );
    (stage, heard)
}

#[test]
fn turn_of_previous_door_resumes_and_is_journalled_in_full() {
    run(async {
        let turn = TurnId::new();
        let (stage, heard) = after(vec![(turn, is(Channel::Http, false), half())]);
        until(|| heard.0.borrow().len() == 2).await;
        stage.planner_says(turn, "two").await;
        assert_eq!(stage.door.turns.of(7), [turn], "it is stopped by whoever had opened it");
        stage.planner_ends(turn, TurnEnd::Answered).await;
        until(|| !stage.script.asked("release_turn").is_empty()).await;
        assert_eq!(*heard.0.borrow(), [&format!("call {}", CallRef(1)), "one ", "two", "done answered"]);
        assert_eq!(stage.script.asked("delivered"), ["delivered answered one two"]);
        assert_eq!((stage.door.turns.held(), stage.door.turns.numbers().0), (0, 0));
    });
}

#[test]
fn turn_that_ended_without_a_door_is_journalled_by_the_next_door() {
    run(async {
        let turn = TurnId::new();
        let mut told = half();
        told.push(Entry::Done(TurnEnd::Denied, "no".into()));
        let (stage, heard) = after(vec![(turn, is(Channel::Http, false), told)]);
        until(|| heard.0.borrow().last().is_some_and(|last| last == "done denied")).await;
        assert_eq!(stage.script.asked("delivered"), ["delivered denied one \nno"]);
    });
}

#[test]
fn already_delivered_turn_is_released_without_repeat() {
    run(async {
        let turn = TurnId::new();
        let (stage, heard) = after(vec![(turn, is(Channel::Http, true), half())]);
        until(|| !stage.script.asked("release_turn").is_empty()).await;
        assert!(heard.0.borrow().is_empty() && stage.script.asked("attach_turn").is_empty());
    });
}

#[test]
fn waiting_turn_is_suspended_again_and_continues_with_its_card() {
    run(async {
        let turn = TurnId::new();
        let mut told = half();
        told.push(Entry::Done(TurnEnd::Suspended, "it waits".into()));
        let (stage, heard) = after(vec![(turn, is(Channel::Http, false), told)]);
        until(|| stage.door.turns.parked(turn).is_some()).await;
        assert_eq!(heard.0.borrow().last().unwrap(), "done suspended");
        assert_eq!(stage.script.asked("cards_here"), ["cards_here k1"]);
        assert!(stage.script.asked("delivered").is_empty());
        assert_eq!(stage.door.turns.parked(turn), Some((7, "one ".to_owned())));
    });
}

#[test]
fn turn_of_a_revoked_principal_is_stopped_and_sent_to_no_one() {
    run(async {
        let turn = TurnId::new();
        let whose = TurnOwner { principal: "http:somebody-else".into(), ..is(Channel::Http, false) };
        let (stage, heard) = (Stage::after(vec![(turn, whose, half())]), Rc::new(Heard::default()));
        until(|| !stage.script.asked("cancel_turn").is_empty()).await;
        stage.planner_ends(turn, TurnEnd::Cancelled).await;
        until(|| !stage.script.asked("delivered").is_empty()).await;
        assert!(heard.0.borrow().is_empty());
    });
}

#[test]
fn a_turn_that_the_journal_does_not_know_is_not_taken_back() {
    run(async {
        let turn = TurnId::new();
        let stage = Stage::after(Vec::new());
        stage.script.kept.borrow_mut().insert(turn, half());
        until(|| !stage.script.asked("whose_turn").is_empty()).await;
        stage.door.has_found().await;
        assert!(stage.script.asked("attach_turn").is_empty() && stage.door.turns.numbers().0 == 0);
    });
}
