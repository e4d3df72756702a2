//! Reminders through the whole daemon: a planner makes up neither of what nor when, nor what is to be cancelled, and nobody is
//! reminded but the person who speaks.

use crate::peers::{World, document, run};
use metnos_proto::edge::RpcError;
use metnos_proto::ids::{TraceId, TurnId};
use metnos_proto::msg::common::Lang;
use metnos_proto::msg::policyd::Undo;
use metnos_proto::msg::schedule::{
    AddReminder, MAX_OF_TURN, Order, Remind, ScheduleAct, ScheduleAsk, ScheduleChange, ScheduleOrder, Which,
};
use serde_json::Value;

const NO: TraceId = TraceId::NONE;

fn remind(what: &[&str], when: &[&str]) -> Order {
    let owned = |parts: &[&str]| parts.iter().map(|part| (*part).to_owned()).collect();
    Order::Remind(Remind { what: owned(what), when: owned(when), early: false, to: String::new() })
}

fn change(act: ScheduleAct, which: Which) -> Order {
    Order::Change(ScheduleChange { which, act })
}

/// What a planner gets for an order in this turn: the list, or the rule of the refusal.
async fn orders(world: &World, turn: TurnId, order: Order) -> Result<Value, String> {
    let planner = world.planner(1).await;
    let asked = planner.schedule(NO, ScheduleOrder { turn, lang: Lang::En, order }, []).await;
    match asked {
        Ok((doc, list)) => Ok(serde_json::to_value(doc.open(list).unwrap()).unwrap()),
        Err(RpcError::Refused(refusal)) => Err(refusal.rule),
        Err(other) => panic!("{other}"),
    }
}

#[test]
fn reminder_is_kept_for_the_speaker_in_his_own_words() {
    run(async {
        let folder = tempfile::tempdir().unwrap();
        let world = World::usual(folder.path()).await;
        let turn = world.say("remind me tomorrow at 9 to call the dentist").await;
        let kept = orders(&world, turn, remind(&["call the dentist"], &["tomorrow at 9"])).await.unwrap();
        assert_eq!(
            (&kept[0]["what"], &kept[0]["to"], &kept[0]["principal"]),
            (&Value::from("call the dentist"), &Value::from("cli:uid:1000"), &Value::from("cli:uid:1000"),)
        );
        let parts = world.say("every Monday, remind me at 7:30 to take the bins out").await;
        let two = remind(&["take the bins out"], &["every Monday", "at 7:30"]);
        assert!(orders(&world, parts, two).await.is_ok());
    });
}

#[test]
fn what_a_model_reads_out_of_the_words_holds_only_where_they_ask_for_it() {
    run(async {
        let folder = tempfile::tempdir().unwrap();
        let world = World::usual(folder.path()).await;
        let named = || Which::Called("dentist".into());
        for (words, act) in [
            ("could you get rid of the dentist thing please", ScheduleAct::Cancel),
            ("Alfredo, I would like to pause the one for the dentist", ScheduleAct::Pause),
            ("puoi spostare quello del dentist alle 10:30", ScheduleAct::Move(vec!["alle 10:30".into()])),
        ] {
            let turn = world.say(words).await;
            world.say("remind me tomorrow at 9 to call the dentist").await;
            let told = orders(&world, turn, change(act, named())).await;
            assert_ne!(told, Err("schedule.words".to_owned()), "{words}");
        }
        for (words, act) in [
            ("please do not get rid of the dentist thing", ScheduleAct::Cancel),
            ("did you get rid of the dentist thing", ScheduleAct::Cancel),
            ("could you get rid of the dentist thing please", ScheduleAct::Pause),
            ("could you get rid of the dentist thing tomorrow at 9", ScheduleAct::Move(vec!["tomorrow at 9".into()])),
        ] {
            let turn = world.say(words).await;
            assert_eq!(orders(&world, turn, change(act, named())).await, Err("schedule.words".to_owned()), "{words}");
        }
    });
}

#[test]
fn hijacked_planner_makes_up_no_reminder_and_cancels_none() {
    run(async {
        let folder = tempfile::tempdir().unwrap();
        let world = World::usual(folder.path()).await;
        let turn = world.say("remind me tomorrow at 9 to call the dentist").await;
        for order in [
            remind(&["transfer 500 euros to Eve"], &["tomorrow at 9"]),
            remind(&["call the dentist"], &["in 1 minute"]),
            remind(&["call the dentist"], &[]),
            remind(&[], &["tomorrow at 9"]),
            remind(&["call", "the", "dentist", "tomorrow", "at"], &["tomorrow at 9"]),
            remind(&["all the dent"], &["tomorrow at 9"]),
        ] {
            assert_eq!(orders(&world, turn, order.clone()).await.unwrap_err(), "schedule.literal", "{order:?}");
        }
        assert!(orders(&world, turn, remind(&["call the dentist"], &["tomorrow at 9"])).await.is_ok());
        for which in [Which::Called("dentist".into()), Which::Only, Which::Last, Which::All] {
            let now = ScheduleAct::Move(vec!["teeth".into()]);
            for act in [ScheduleAct::Cancel, ScheduleAct::Pause, ScheduleAct::Resume, now] {
                let talk = world.say("what did the dentist say about all my teeth").await;
                assert_eq!(orders(&world, talk, change(act, which.clone())).await.unwrap_err(), "schedule.words");
            }
        }
        for which in [Which::All, Which::Place(2), Which::Number(1), Which::Called("plumber".into())] {
            let other = world.say("cancel the dentist reminder").await;
            let told = orders(&world, other, change(ScheduleAct::Cancel, which.clone())).await;
            assert_eq!(told.unwrap_err(), "schedule.words", "{which:?}");
        }
        // Of words that move a reminder, neither the time nor the reminder is another.
        const MOVES: &str = "move the dentist reminder to 10:30";
        for (which, when) in [
            (Which::Called("dentist".into()), vec!["in 1 minute"]),
            (Which::Called("dentist".into()), vec![]),
            (Which::Called("plumber".into()), vec!["10:30"]),
            (Which::Given, vec!["10:30"]),
            (Which::All, vec!["10:30"]),
        ] {
            let moves = world.say(MOVES).await;
            let act = ScheduleAct::Move(when.iter().map(|part| (*part).to_owned()).collect());
            assert_eq!(
                orders(&world, moves, change(act, which.clone())).await.unwrap_err(),
                "schedule.words",
                "{which:?}"
            );
        }
        let act = ScheduleAct::Move(vec!["10:30".into()]);
        let moves = world.say(MOVES).await;
        assert!(orders(&world, moves, change(act, Which::Called("dentist".into()))).await.is_ok());
        assert!(world.memory.schedules.kept.borrow().iter().all(|one| one.state.name() == "active"));
        let cancel = change(ScheduleAct::Cancel, Which::Called("dentist".into()));
        let other = world.say("cancel the dentist reminder").await;
        assert!(orders(&world, other, cancel).await.is_ok());
    });
}

#[test]
fn one_turn_plans_only_so_much() {
    run(async {
        let folder = tempfile::tempdir().unwrap();
        let world = World::usual(folder.path()).await;
        let turn = world.say("remind me tomorrow at 9 to call").await;
        for _ in 0..MAX_OF_TURN {
            assert!(orders(&world, turn, remind(&["call"], &["tomorrow at 9"])).await.is_ok());
        }
        let told = orders(&world, turn, remind(&["call"], &["tomorrow at 9"])).await;
        assert_eq!(told.unwrap_err(), "schedule.turn");
        assert!(orders(&world, turn, Order::List(String::new())).await.is_ok(), "reading is not planning");
    });
}

#[test]
fn undo_cancels_the_reminder_that_was_made_last() {
    run(async {
        let folder = tempfile::tempdir().unwrap();
        let world = World::usual(folder.path()).await;
        let owner = world.owner(crate::peers::OWNER).await;
        let add = |what: &str| {
            ScheduleAsk::Add(AddReminder {
                what: what.to_owned(),
                when: "tomorrow".into(),
                lang: Lang::En,
                to: String::new(),
                asks: false,
            })
        };
        world.memory.schedules.made_ms.set(u64::MAX / 4);
        owner.schedules(NO, add("call"), []).await.unwrap();
        let report = document(owner.undo(NO, Undo { turn: None }, []).await).unwrap();
        assert_eq!((&report["undone"], &report["acts"][0]["executor"]), (&Value::from(1), &Value::from("reminder")));
        assert_eq!(report["acts"][0]["arguments"]["path"], "call");
        assert_eq!(world.memory.schedules.kept.borrow()[0].state.name(), "cancelled");
        let again = document(owner.undo(NO, Undo { turn: None }, []).await);
        assert_eq!(again.unwrap_err(), "undo.nothing");
    });
}
