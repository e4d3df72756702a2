//! Habits through the whole daemon: what was asked on five days is offered once, to that person alone, in words that no planner has
//! made, and a yes plans just that.

use metnos_proto::edge::RpcError;
use metnos_proto::ids::{TraceId, TurnId};
use metnos_proto::msg::common::Channel;
use metnos_proto::msg::policyd::{Answer, AnswerCard, Approvals, CardsHere, Decide, ForgetHere};
use metnos_proto::msg::schedule::OfferHabit;
use metnos_proto::msg::vaglio::VaglioAsk;
use serde_json::{Value, json};

use crate::peers::memory::Mood;
use crate::peers::run;
use crate::persons::House;
use crate::vaglio::{house, vaglio, write};

const NO: TraceId = TraceId::NONE;
const DAY_S: i64 = 86_400;
/// What the clock of these tests begins at.
const START_S: i64 = 1_770_000_000;
/// Wednesday, the 4th of February 2026, at 7:36.
const NOW_S: i64 = 1_770_190_560;
const WORDS: &str = "What's on the shopping list?";
const MARCO: &str = "2";

/// A household with a telos, where what is said was said on so many days before, at this hour.
async fn household(days: i64) -> House {
    let folder = tempfile::tempdir().unwrap();
    let world = house(folder.path()).await;
    let house = House::of(folder, world).await;
    at(&house, NOW_S, days);
    house
}

/// It is this moment, and what is said was said on so many days before, at this hour.
fn at(house: &House, now_s: i64, days: i64) {
    house.world.clock.set(u64::try_from((now_s - START_S) * 1_000).unwrap());
    *house.world.memory.said_before.borrow_mut() = (1..=days).rev().map(|day| now_s - day * DAY_S).collect();
}

async fn offered(house: &House, turn: TurnId) -> Result<bool, String> {
    let planner = house.world.planner(1).await;
    match planner.offer_habit(NO, OfferHabit { turn }, []).await {
        Ok((offered, [])) => Ok(offered.offered),
        Err(RpcError::Refused(refusal)) => Err(refusal.rule),
        Err(other) => panic!("{other}"),
    }
}

/// The cards that somebody of Telegram sees.
async fn cards(house: &House, sender: &str) -> Vec<Value> {
    let ask = CardsHere { channel: Channel::Telegram, sender: sender.to_owned() };
    let (_, [list]) = house.door.cards_here(NO, ask, []).await.unwrap();
    serde_json::from_slice(&list.read().unwrap()).unwrap()
}

async fn answers(house: &House, sender: &str, card: &Value, answer: Answer) -> Result<String, String> {
    let text = |key: &str| card[key].as_str().unwrap().to_owned();
    let (id, digest, sender) = (text("id"), text("digest"), sender.to_owned());
    let ask = AnswerCard { channel: Channel::Telegram, sender, id, digest, answer, code: String::new() };
    match house.door.answer_card(NO, ask, []).await {
        Ok((answered, _)) => Ok(answered.state),
        Err(RpcError::Refused(refusal)) => Err(refusal.rule),
        Err(other) => panic!("{other}"),
    }
}

fn planned(house: &House) -> Vec<(String, String, String)> {
    let kept = house.world.memory.schedules.kept.borrow();
    kept.iter().map(|one| (one.principal.clone(), one.what.clone(), one.when.clone())).collect()
}

#[test]
fn habit_is_offered_on_the_fifth_day_and_one_yes_plans_it() {
    run(async {
        let house = household(4).await;
        let turn = house.says(MARCO, WORDS).await;
        assert_eq!(offered(&house, turn).await, Ok(true));
        let seen = cards(&house, MARCO).await;
        let offer = json!({
            "what": "what's on the shopping list", "when": "every day at 7:35", "time": "7:35", "days": 5, "lang": "en",
        });
        assert_eq!((seen.len(), &seen[0]["offer"], &seen[0]["acts"]), (1, &offer, &json!([])));
        assert!(planned(&house).is_empty(), "nothing is planned without a yes");
        for wrong in [Answer::Turn, Answer::Always(30), Answer::Never] {
            assert_eq!(answers(&house, MARCO, &seen[0], wrong).await, Err("approvals.offer".into()));
        }
        assert_eq!(answers(&house, MARCO, &seen[0], Answer::Once).await, Ok("planned".into()));
        let own = ("telegram:2".to_owned(), "what's on the shopping list".to_owned(), "every day at 7:35".to_owned());
        assert_eq!(planned(&house), [own]);
        assert_eq!(answers(&house, MARCO, &seen[0], Answer::Once).await, Err("approvals.answered".into()));
        assert_eq!(planned(&house).len(), 1);
    });
}

#[test]
fn habit_that_was_declined_or_passed_over_is_never_offered_again() {
    run(async {
        for declines in [true, false] {
            let house = household(4).await;
            let turn = house.says(MARCO, WORDS).await;
            assert_eq!(offered(&house, turn).await, Ok(true));
            if declines {
                let card = cards(&house, MARCO).await.remove(0);
                assert_eq!(answers(&house, MARCO, &card, Answer::No).await, Ok("declined".into()));
            }
            // At another hour, and long after what proposals are kept for.
            for (later, days) in [(NOW_S + 3 * 3_600, 4), (NOW_S + 200 * DAY_S, 4)] {
                at(&house, later, days);
                let again = house.says(MARCO, WORDS).await;
                assert_eq!(offered(&house, again).await, Ok(false), "declined: {declines}");
            }
            assert!(planned(&house).is_empty());
            // Nor to the same person elsewhere.
            house.joins("Marco", "22").await;
            let elsewhere = house.says("22", WORDS).await;
            assert_eq!(offered(&house, elsewhere).await, Ok(false), "declined: {declines}");
            // Another habit, of the same person.
            let other = house.says(MARCO, "What is planned today?").await;
            assert_eq!(offered(&house, other).await, Ok(true));
        }
    });
}

#[test]
fn yes_that_was_cut_off_is_gone_on_with_and_is_no_no() {
    run(async {
        let house = household(4).await;
        let turn = house.says(MARCO, WORDS).await;
        assert_eq!(offered(&house, turn).await, Ok(true));
        let card = cards(&house, MARCO).await.remove(0);
        house.world.memory.mood.set(Mood::Refuses);
        assert!(answers(&house, MARCO, &card, Answer::Once).await.is_err());
        house.world.memory.mood.set(Mood::Honest);
        assert!(planned(&house).is_empty());
        assert_eq!(answers(&house, MARCO, &card, Answer::No).await, Err("approvals.answered".into()));
        assert_eq!(answers(&house, MARCO, &card, Answer::Once).await, Ok("planned".into()));
        assert_eq!(answers(&house, MARCO, &card, Answer::Once).await, Err("approvals.answered".into()));
        assert_eq!(planned(&house).len(), 1);
    });
}

#[test]
fn forgotten_words_stand_on_no_card_any_more() {
    run(async {
        let house = household(4).await;
        let (turn, other) = (house.says(MARCO, WORDS).await, house.says(MARCO, "What is planned?").await);
        assert_eq!((offered(&house, turn).await, offered(&house, other).await), (Ok(true), Ok(true)));
        let before = cards(&house, MARCO).await;
        let forget = |sender: &str| ForgetHere { channel: Channel::Telegram, sender: sender.to_owned(), turn };
        // What another person has forgotten of it changes nothing.
        house.door.forget_here(NO, forget("3"), []).await.unwrap();
        assert_eq!(cards(&house, MARCO).await.len(), 2);
        house.door.forget_here(NO, forget(MARCO), []).await.unwrap();
        let after = cards(&house, MARCO).await;
        assert_eq!((after.len(), &after[0]["offer"]["what"]), (1, &json!("what is planned")));
        let gone = before.iter().find(|card| card["id"] != after[0]["id"]).unwrap();
        assert_eq!(answers(&house, MARCO, gone, Answer::Once).await, Err("approvals.unknown".into()));
        assert!(planned(&house).is_empty());
    });
}

#[test]
fn offers_that_wait_are_few_and_take_no_place_from_requests() {
    run(async {
        let house = household(4).await;
        let mut told = Vec::new();
        for day in 0..6 {
            at(&house, NOW_S + day * DAY_S, 4);
            let turn = house.says(MARCO, &format!("what is on list number {day}")).await;
            told.push(offered(&house, turn).await == Ok(true));
        }
        assert_eq!(told, [true, true, true, false, false, false]);
        // What could not be shown was not used up: it is offered once there is room.
        let card = cards(&house, MARCO).await.remove(0);
        assert_eq!(answers(&house, MARCO, &card, Answer::No).await, Ok("declined".into()));
        let turn = house.says(MARCO, "what is on list number 5").await;
        assert_eq!(offered(&house, turn).await, Ok(true));
    });
}

#[test]
fn hijacked_planner_has_no_habit_offered_that_there_is_not() {
    run(async {
        let house = household(3).await;
        for sender in [MARCO, "3"] {
            let turn = house.says(sender, WORDS).await;
            assert_eq!(offered(&house, turn).await, Ok(false), "three days are none");
        }
        at(&house, NOW_S, 4);
        // A guest has nothing but the talk; a child has habits.
        let guest = house.says("4", WORDS).await;
        assert_eq!(offered(&house, guest).await, Ok(false));
        let child = house.says("3", WORDS).await;
        assert_eq!(offered(&house, child).await, Ok(true));
        assert_eq!(offered(&house, TurnId::new()).await, Err("turn.unknown".into()));
        // One turn offers once, however often its planner asks.
        let turn = house.says(MARCO, WORDS).await;
        let mut told = Vec::new();
        for _ in 0..6 {
            told.push(offered(&house, turn).await);
        }
        assert_eq!(told.iter().filter(|one| **one == Ok(true)).count(), 1, "{told:?}");
        assert_eq!(told.last(), Some(&Err("schedule.turn".into())));
    });
}

#[test]
fn offer_to_another_person_is_neither_seen_nor_answered_nor_told() {
    run(async {
        let house = household(4).await;
        let turn = house.says(MARCO, WORDS).await;
        assert_eq!(offered(&house, turn).await, Ok(true));
        let card = cards(&house, MARCO).await.remove(0);
        for sender in ["3", "4"] {
            assert!(cards(&house, sender).await.is_empty());
            assert_eq!(answers(&house, sender, &card, Answer::Once).await, Err("approvals.unknown".into()));
        }
        let (_, [list]) = house.owner.approvals(NO, Approvals {}, []).await.unwrap();
        assert_eq!(serde_json::from_slice::<Value>(&list.read().unwrap()).unwrap(), json!([]));
        let text = |key: &str| card[key].as_str().unwrap().to_owned();
        let ask = Decide { id: text("id"), digest: text("digest"), answer: Answer::Once };
        let refused = house.owner.decide_approval(NO, ask, []).await.map(|_| ()).map_err(RpcError::into_refusal);
        assert_eq!(refused.map_err(|no| no.rule), Err("approvals.unknown".to_owned()));
        assert!(planned(&house).is_empty());
        // The owner reads that there was one, and nothing of what Marco has asked.
        assert_eq!(vaglio(&house.owner, VaglioAsk::Digest).await.unwrap(), json!([]));
        assert_eq!(vaglio(&house.owner, VaglioAsk::Due).await.unwrap(), json!([]));
        let lines = house.world.took();
        let line = lines.iter().find(|line| line.contains("[vaglio.")).unwrap();
        assert!(line.contains("What Marco has asked on 5 days at about 7:35"), "{line}");
        assert!(!lines.iter().any(|line| line.contains("shopping")), "{lines:#?}");
    });
}

#[test]
fn vaglio_without_an_end_that_a_habit_serves_offers_nothing() {
    run(async {
        let house = household(4).await;
        let folder = house.folder();
        let end =
            |n: u8| format!("## t.e{n} — grow tomatoes in pots\nweight: 0.5\nthreshold: 0.5\nnote: Water and sun.\n\n");
        write(folder, "TELOS.md", &format!("# Telos\n\n{}{}{}", end(1), end(2), end(3)));
        let turn = house.says(MARCO, WORDS).await;
        assert_eq!(offered(&house, turn).await, Ok(false));
        assert!(cards(&house, MARCO).await.is_empty());
        let unasked = vaglio(&house.owner, VaglioAsk::Unasked).await.unwrap();
        assert_eq!((&unasked[0]["state"], &unasked[0]["to"]), (&json!("unasked"), &json!("telegram:2")));
        assert!(!unasked.to_string().contains("shopping"), "{unasked}");
    });
}
