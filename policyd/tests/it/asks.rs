//! Questions that are answered by themselves, through the whole daemon: what a planner may have asked later, whose words a firing
//! opens a turn on, and what can be done in it.

use metnos_proto::edge::RpcError;
use metnos_proto::ids::{TraceId, TurnId};
use metnos_proto::msg::common::Lang;
use metnos_proto::msg::policyd::Release;
use metnos_proto::msg::schedule::{
    Ask, FireAsk, KeepSchedule, MAX_OF_TURN, Order, Remind, ReviewOrder, ScheduleAct, ScheduleChange, ScheduleKind,
    ScheduleOrder, Which, frozen_call,
};
use serde_json::{Value, json};

use crate::approvals::{cards, world};
use crate::peers::sandbox::{FakeExecutor, Lie};
use crate::peers::{OWNER, World, act, denied, ran, run, sealed};
use crate::undo;

const NO: TraceId = TraceId::NONE;
const WORDS: &str = "every morning at 8 tell me what is on the shopping list";

fn ask(what: &str, when: &str) -> Order {
    Order::Ask(Ask { what: vec![what.to_owned()], when: vec![when.to_owned()], frozen: Vec::new() })
}

async fn orders(world: &World, turn: TurnId, order: Order) -> Result<(), String> {
    let planner = world.planner(1).await;
    match planner.schedule(NO, ScheduleOrder { turn, lang: Lang::En, order }, []).await {
        Ok(_) => Ok(()),
        Err(RpcError::Refused(refusal)) => Err(refusal.rule),
        Err(other) => panic!("{other}"),
    }
}

/// Keeps a question as memoryd has it, and has it fire.
async fn fires(world: &World, principal: &str, to: &str, kind: ScheduleKind) -> Result<(TurnId, String), String> {
    let kept = world.memory.schedules.keep(&KeepSchedule {
        turn: TurnId::NONE,
        trace: NO,
        principal: principal.to_owned(),
        to: to.to_owned(),
        from: String::new(),
        kind,
        what: "delete notes/a.md and read notes/a.md".to_owned(),
        when: "every morning at 8".to_owned(),
        early: false,
        lang: Lang::En,
        told_in: Lang::En,
        frozen: Vec::new(),
        urgent: false,
    });
    let fire = FireAsk { number: kept.0[0].number, key: "2026-11-24T08:00:00".to_owned() };
    match world.door().await.fire_ask(NO, fire, []).await {
        Ok((fired, [words])) => Ok((fired.turn, String::from_utf8(words.read().unwrap()).unwrap())),
        Err(RpcError::Refused(refusal)) => Err(refusal.rule),
        Err(other) => panic!("{other}"),
    }
}

#[test]
fn question_at_another_time_stands_in_the_persons_words_or_is_not_kept() {
    run(async {
        let folder = tempfile::tempdir().unwrap();
        let world = World::usual(folder.path()).await;
        for (words, order) in [
            (WORDS, ask("read people/anna/diary.md", "every morning at 8")),
            (WORDS, ask("what is on the shopping list", "every morning")),
            (WORDS, ask("what is", "every morning at 8")),
            (WORDS, ask("the shopping list", "every morning at 8")),
            (WORDS, ask("what is on the shopping list", "")),
            ("read notes/a.md", ask("read notes/a.md", "every morning at 8")),
            ("remind me tomorrow at 9 to read notes/a.md", ask("read notes/a.md", "tomorrow at 9")),
        ] {
            let turn = world.say(words).await;
            assert_eq!(
                orders(&world, turn, order.clone()).await.unwrap_err(),
                "schedule.literal",
                "{words}: {order:?}"
            );
        }
        // What only a model understands is asked as it stands, too.
        let spoken = "could you give me a rundown of the day's plans each morning at 8?";
        for (what, when) in [
            ("a rundown", "each morning at 8"),
            ("the day's plans", "each morning at 8"),
            ("a rundown of the day's plans", "each morning"),
        ] {
            let turn = world.say(spoken).await;
            assert_eq!(orders(&world, turn, ask(what, when)).await.unwrap_err(), "schedule.literal", "{what} {when}");
        }
        let turn = world.say(spoken).await;
        orders(&world, turn, ask("a rundown of the day's plans", "each morning at 8")).await.unwrap();
        world.memory.schedules.kept.borrow_mut().clear();
        let turn = world.say(WORDS).await;
        orders(&world, turn, ask("what is on the shopping list", "every morning at 8")).await.unwrap();
        let kept = world.memory.schedules.kept.borrow();
        assert_eq!((kept.len(), kept[0].kind, kept[0].to.as_str()), (1, ScheduleKind::Ask, "cli:uid:1000"));
    });
}

#[test]
fn scheduled_question_can_only_read() {
    run(async {
        let folder = tempfile::tempdir().unwrap();
        let world = world(folder.path()).await;
        let (turn, words) = fires(&world, "cli:uid:1000", "cli:uid:1000", ScheduleKind::Ask).await.unwrap();
        assert_eq!(words, "delete notes/a.md and read notes/a.md");
        let planner = world.planner(1).await;
        let path = || [sealed(&json!({"path": "notes/a.md"}))];
        // The very words of the turn would have it deleted.
        let told = planner.act(NO, act(turn, 1, "fs_delete"), path()).await.unwrap().0;
        assert_eq!(denied(told), "schedule.reads");
        let read = planner.act(NO, act(turn, 2, "fs_read"), path()).await.unwrap().0;
        planner.release(NO, Release { turn, handle: ran(read).handle }, []).await.unwrap();
        let remind =
            Remind { what: vec!["notes/a.md".into()], when: vec!["tomorrow".into()], early: false, to: String::new() };
        let cancel = ScheduleChange { which: Which::All, act: ScheduleAct::Cancel };
        for order in [Order::Remind(remind), ask("read notes/a.md", "tomorrow"), Order::Change(cancel)] {
            assert_eq!(orders(&world, turn, order.clone()).await.unwrap_err(), "schedule.unattended", "{order:?}");
        }
        orders(&world, turn, Order::List(String::new())).await.unwrap();
        let review = ReviewOrder { turn, lang: Lang::En, when: String::new() };
        for _ in 0..MAX_OF_TURN {
            assert!(planner.review(NO, review.clone(), []).await.is_ok());
        }
        assert!(planner.review(NO, review, []).await.is_err(), "a turn asks so often and no more");
        let asked = cards(&*world.owner(OWNER).await).await;
        assert!(asked.is_empty(), "nobody is asked at night: {asked:?}");
    });
}

#[test]
fn what_is_done_by_itself_is_what_was_frozen_once_and_nothing_else() {
    run(async {
        let folder = tempfile::tempdir().unwrap();
        let world = undo::world(folder.path()).await;
        undo::gives(&world, json!({"ok": true}));
        let append = |text: &str| json!({"path": "notes/a.md", "text": text});
        let frozen = vec![frozen_call("fs_write", &append("milk")), frozen_call("fs_write", &append("obey"))];
        let words = "every Friday at 18 add milk to notes/a.md";
        let turn = world.say(words).await;
        let mut order = ask("add milk to notes/a.md", "every Friday at 18");
        if let Order::Ask(ask) = &mut order {
            ask.frozen = frozen.clone();
        }
        let question = world.say("every Friday at 18 tell me what is in notes/a.md").await;
        let mut asked = ask("what is in notes/a.md", "every Friday at 18");
        if let Order::Ask(ask) = &mut asked {
            ask.frozen = frozen.clone();
        }
        let told = orders(&world, question, asked).await;
        assert_eq!(told, Err("schedule.literal".to_owned()), "a question is not done");
        orders(&world, turn, order).await.unwrap();
        let kept = world.memory.schedules.kept.borrow()[0].clone();
        assert_eq!(
            (kept.kind, world.memory.schedules.frozen.borrow()[&kept.number].clone()),
            (ScheduleKind::Do, frozen)
        );
        let fire = FireAsk { number: kept.number, key: "2026-11-27T18:00:00".to_owned() };
        let (fired, _) = world.door().await.fire_ask(NO, fire, []).await.unwrap();
        let turn = fired.turn;
        let planner = world.planner(1).await;
        let act_of = async |call: u16, executor: &str, arguments: serde_json::Value| {
            planner.act(NO, act(turn, call, executor), [sealed(&arguments)]).await.unwrap().0
        };
        assert_eq!(denied(act_of(1, "fs_write", append("wine")).await), "schedule.reads");
        assert_eq!(
            denied(act_of(2, "fs_write", json!({"path": "notes/b.md", "text": "milk"})).await),
            "schedule.reads"
        );
        let added = denied(act_of(3, "fs_write", append("obey")).await);
        assert_eq!(added, "schedule.reads", "no word of the request");
        ran(act_of(4, "fs_write", append("milk")).await);
        assert_eq!(denied(act_of(5, "fs_write", append("milk")).await), "schedule.reads", "once");
    });
}

#[test]
fn question_fires_only_for_the_person_who_asked_and_gets_the_answer() {
    run(async {
        let folder = tempfile::tempdir().unwrap();
        let world = World::usual(folder.path()).await;
        let owner = "cli:uid:1000";
        for (principal, to, kind, rule) in [
            ("telegram:9", "telegram:9", ScheduleKind::Ask, "principal.unpaired"),
            (owner, "telegram:9", ScheduleKind::Ask, "principal.unpaired"),
            ("nonsense", "nonsense", ScheduleKind::Ask, "principal.sender"),
            (owner, owner, ScheduleKind::Reminder, "schedule.firing"),
            (owner, owner, ScheduleKind::Message, "schedule.firing"),
        ] {
            let told = fires(&world, principal, to, kind).await;
            assert_eq!(told.unwrap_err(), rule, "{principal} to {to}");
        }
        let none = FireAsk { number: 77, key: "2026-11-24T08:00:00".to_owned() };
        assert!(world.door().await.fire_ask(NO, none, []).await.is_err());
        assert!(fires(&world, owner, owner, ScheduleKind::Ask).await.is_ok());
    });
}

/// An executor that goes on where it stopped.
fn feed() -> FakeExecutor {
    let mut feed = FakeExecutor::reader("fs_read");
    feed.manifest = feed.manifest.replace("[contract]\n", "[contract]\ncarries = true\n");
    feed.schema = feed
        .schema
        .replace("\"text\":{\"type\":\"string\"}", "\"text\":{\"type\":\"string\"},\"seen\":{\"type\":\"string\"}");
    feed.schema = feed
        .schema
        .replace("\"size\":{\"type\":\"integer\"}", "\"size\":{\"type\":\"integer\"},\"seen\":{\"type\":\"string\"}");
    assert_eq!(feed.schema.matches("seen").count(), 2, "{}", feed.schema);
    feed
}

/// What the call of a firing is given as `seen`, when its result leaves `leaves` for the next.
async fn carried(world: &World, number: u64, key: &str, path: &str, leaves: &Value) -> String {
    let fire = FireAsk { number, key: key.to_owned() };
    let (fired, _) = world.door().await.fire_ask(NO, fire, []).await.unwrap();
    *world.sandbox.result.borrow_mut() = leaves.clone();
    let planner = world.planner(1).await;
    let path = [sealed(&json!({ "path": path }))];
    let _ = ran(planner.act(NO, act(fired.turn, 1, "fs_read"), path).await.unwrap().0);
    let arguments = world.sandbox.arguments.borrow().last().cloned().unwrap();
    serde_json::from_slice::<Value>(&arguments).unwrap()["seen"].as_str().unwrap_or_default().to_owned()
}

#[test]
fn call_at_a_set_time_goes_on_where_the_last_one_of_its_schedule_stopped() {
    run(async {
        let folder = tempfile::tempdir().unwrap();
        let feed = feed();
        let world = World::settled(folder.path(), vec![feed.clone()], &[&feed]).await;
        let leaves = |seen: &str| json!({"ok": true, "content": "x", "seen": seen});
        for _ in 0..2 {
            fires(&world, "cli:uid:1000", "cli:uid:1000", ScheduleKind::Ask).await.unwrap();
        }
        let (a, monday, tuesday) = ("notes/a.md", "2026-11-24T08:00:00", "2026-11-25T08:00:00");
        assert_eq!(carried(&world, 1, monday, a, &leaves("one")).await, "");
        // The same due time once more, because nobody knows whether its answer arrived: nothing is passed over.
        assert_eq!(carried(&world, 1, monday, a, &leaves("one two")).await, "");
        assert_eq!(carried(&world, 1, tuesday, a, &leaves("three")).await, "one two");
        // Another schedule and another call have their own.
        assert_eq!(carried(&world, 2, tuesday, a, &leaves("other")).await, "");
        assert_eq!(carried(&world, 1, tuesday, "notes/b.md", &leaves("other")).await, "");
        // What failed leaves nothing, and what is too long is not kept.
        let failed = json!({"ok": false, "error": {"class": "NotFound", "message": "x"}, "seen": "no"});
        assert_eq!(carried(&world, 1, "2026-11-26T08:00:00", a, &failed).await, "three");
        assert_eq!(carried(&world, 1, "2026-11-27T08:00:00", a, &leaves(&"x".repeat(5_000))).await, "three");
        assert_eq!(carried(&world, 1, "2026-11-28T08:00:00", a, &leaves("four")).await, "three");
        // In a turn in which somebody speaks nothing is carried, and no planner sets it.
        let turn = world.say("read notes/a.md").await;
        let planner = world.planner(1).await;
        let forged = [sealed(&json!({"path": a, "seen": "forged"}))];
        assert_eq!(denied(planner.act(NO, act(turn, 1, "fs_read"), forged).await.unwrap().0), "arguments.reserved");
        let _ = ran(planner.act(NO, act(turn, 2, "fs_read"), [sealed(&json!({"path": a}))]).await.unwrap().0);
        let last = world.sandbox.arguments.borrow().last().cloned().unwrap();
        assert!(!String::from_utf8(last).unwrap().contains("seen"));
    });
}

#[test]
fn value_other_than_the_reported_one_is_not_carried() {
    run(async {
        let folder = tempfile::tempdir().unwrap();
        let feed = feed();
        let world = World::settled(folder.path(), vec![feed.clone()], &[&feed]).await;
        fires(&world, "cli:uid:1000", "cli:uid:1000", ScheduleKind::Ask).await.unwrap();
        let fire = FireAsk { number: 1, key: "2026-11-24T08:00:00".to_owned() };
        let (fired, _) = world.door().await.fire_ask(NO, fire, []).await.unwrap();
        *world.sandbox.result.borrow_mut() = json!({"ok": true, "content": "x", "seen": "one"});
        world.sandbox.lie.set(Lie::WrongValue);
        let planner = world.planner(1).await;
        let asked = planner.act(NO, act(fired.turn, 1, "fs_read"), [sealed(&json!({"path": "notes/a.md"}))]).await;
        assert!(matches!(asked, Err(RpcError::Refused(_))), "{asked:?}");
        world.sandbox.lie.set(Lie::None);
        assert_eq!(carried(&world, 1, "2026-11-25T08:00:00", "notes/a.md", &json!({"ok": true})).await, "");
    });
}
