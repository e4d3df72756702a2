//! Cards at the door: from policyd to the session that asked, and what becomes of the turn that waits for one.
#![allow(clippy::unwrap_used, clippy::panic)]

use metnos_proto::edges::{ctl_door, door_policyd};
use metnos_proto::ids::{TraceId, TurnId};
use metnos_proto::msg::door::AnswerHere;
use metnos_proto::msg::planner::TurnEnd;
use metnos_proto::msg::policyd::{Answer, CardSettled, CardWaits};

use super::super::stage::Stage;
use crate::testing::{run, until};

#[test]
fn card_reaches_asking_session_and_answer_carries_its_sender() {
    run(async {
        let stage = Stage::new();
        let (mut asking, other) = (stage.person(1000), stage.person(1001));
        let turn = asking.say(b"tidy up").await.unwrap();
        let mut foreign = other;
        foreign.say(b"something else").await.unwrap();
        let policyd = stage.script.policyd.borrow().clone().unwrap();
        let waits = |turn| CardWaits { turn, id: "ab".into(), digest: "blake3:1".into(), shown: "{}".into() };
        policyd.send(door_policyd::Note::CardWaits(waits(TurnId::new()))).await.unwrap();
        policyd.send(door_policyd::Note::CardWaits(waits(turn))).await.unwrap();
        let Some(ctl_door::Note::CardWaits(card)) = asking.notes.recv().await else { panic!("no card") };
        assert_eq!((card.turn, card.id.as_str()), (turn, "ab"));
        let answer = AnswerHere { id: card.id, digest: card.digest, answer: Answer::Once, code: String::new() };
        asking.door.answer(TraceId::NONE, answer, []).await.unwrap();
        assert_eq!(stage.script.asked("answer_card"), ["answer_card uid:1000 ab blake3:1 Once"]);
        let settled =
            CardSettled { turn, id: "ab".into(), state: "approved".into(), by: "me".into(), ran: 1, acts: Vec::new() };
        policyd.send(door_policyd::Note::CardSettled(settled)).await.unwrap();
        let Some(ctl_door::Note::CardSettled(settled)) = asking.notes.recv().await else { panic!("not settled") };
        assert_eq!(settled.ran, 1);
        assert!(foreign.notes.try_recv().is_err(), "nobody else hears of it");
    });
}

#[test]
fn suspended_turn_resumes_on_card_answer_and_is_journalled_once() {
    run(async {
        let stage = Stage::new();
        let mut person = stage.person(1000);
        let turn = person.say(b"tidy up").await.unwrap();
        stage.planner_says(turn, "one\n").await;
        stage.planner_ends(turn, TurnEnd::Suspended).await;
        assert_eq!(person.listen().await.1.end, TurnEnd::Suspended);
        assert!(stage.script.asked("delivered").is_empty());
        let policyd = stage.script.policyd.borrow().clone().unwrap();
        let settled =
            CardSettled { turn, id: "ab".into(), state: "approved".into(), by: "me".into(), ran: 0, acts: Vec::new() };
        policyd.send(door_policyd::Note::CardSettled(settled)).await.unwrap();
        until(|| !stage.script.asked("resume_turn").is_empty()).await;
        stage.planner_says(turn, "two\n").await;
        stage.planner_ends(turn, TurnEnd::Answered).await;
        let (said, done) = person.listen().await;
        assert_eq!((said.as_str(), done.end), ("two\n", TurnEnd::Answered));
        assert_eq!(stage.script.asked("delivered"), ["delivered answered one\ntwo\n"]);
    });
}

#[test]
fn answer_before_the_turn_is_suspended_is_not_lost() {
    run(async {
        let stage = Stage::new();
        let mut person = stage.person(1000);
        let turn = person.say(b"tidy up").await.unwrap();
        let policyd = stage.script.policyd.borrow().clone().unwrap();
        let settled =
            CardSettled { turn, id: "ab".into(), state: "denied".into(), by: "me".into(), ran: 0, acts: Vec::new() };
        policyd.send(door_policyd::Note::CardSettled(settled)).await.unwrap();
        until(|| stage.door.turns.early() != 0).await;
        stage.planner_ends(turn, TurnEnd::Suspended).await;
        until(|| !stage.script.asked("resume_turn").is_empty()).await;
        stage.planner_ends(turn, TurnEnd::Answered).await;
        assert_eq!(person.listen().await.1.end, TurnEnd::Suspended);
        assert_eq!(person.listen().await.1.end, TurnEnd::Answered);
    });
}

#[test]
fn late_card_is_shown_before_the_end_of_its_turn() {
    // A plan waits for the card; what needs no plan ends with it.
    for end in [TurnEnd::Suspended, TurnEnd::Denied] {
        run(async {
            let stage = Stage::new();
            let mut person = stage.person(1000);
            let turn = person.say(b"tidy up").await.unwrap();
            let card = CardWaits { turn, id: "ab".into(), digest: "blake3:1".into(), shown: "{}".into() };
            *stage.script.before.borrow_mut() = Some(door_policyd::Note::CardWaits(card));
            stage.planner_ends(turn, end.clone()).await;
            let first = person.notes.recv().await.unwrap();
            assert!(matches!(&first, ctl_door::Note::CardWaits(card) if card.id == "ab"), "{first:?}");
            assert_eq!(person.listen().await.1.end, end);
            assert!(stage.door.is_shown("ab"));
        });
    }
}
