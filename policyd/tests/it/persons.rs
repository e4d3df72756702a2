//! Persons through the whole daemon: who is whom, what each may, and what is passed on from one to another.

use std::rc::Rc;

use metnos_proto::edge::RpcError;
use metnos_proto::edges::{CtlPolicyd, DoorPolicyd};
use metnos_proto::ids::{TraceId, TurnId};
use metnos_proto::link_async::Client;
use metnos_proto::msg::common::{Channel, Lang, Level, Refusal, Role, Standing};
use metnos_proto::msg::people::{
    AddPerson, BreakSeal, ChangePerson, Invite, JoinPerson, Pair, Paired, PairingAsk, PersonsAsk, SealAsk,
};
use metnos_proto::msg::policyd::{Identify, RegisterPrompt};
use metnos_proto::msg::quiet::Quiet;
use metnos_proto::msg::schedule::{EVERYBODY, MAX_OF_TURN, Order, Remind, ScheduleOrder, Tell};
use metnos_proto::payload::Sealed;
use serde_json::Value;

use crate::peers::memory::Mood;
use crate::peers::{OWNER, World, run};

const NO: TraceId = TraceId::NONE;

/// A household: Anna is the owner, Marco an adult, Luca a child and Rosa a guest, all but Anna on Telegram.
pub(crate) struct House {
    pub(crate) world: World,
    pub(crate) owner: Rc<Client<CtlPolicyd>>,
    pub(crate) door: Rc<Client<DoorPolicyd>>,
    folder: tempfile::TempDir,
}

impl House {
    async fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let world = World::usual(folder.path()).await;
        Self::of(folder, world).await
    }

    pub(crate) async fn of(folder: tempfile::TempDir, world: World) -> Self {
        let (owner, door) = (world.owner(OWNER).await, world.door().await);
        let house = Self { world, owner, door, folder };
        house.add("Anna", Role::Owner, &["mum"]).await.unwrap();
        house.add("Marco", Role::Adult, &[]).await.unwrap();
        house.add("Luca", Role::Child, &[]).await.unwrap();
        house.add("Rosa", Role::Guest, &[]).await.unwrap();
        for (name, sender) in [("Marco", "2"), ("Luca", "3"), ("Rosa", "4")] {
            house.joins(name, sender).await;
        }
        house
    }

    /// Where the instance lies.
    pub(crate) fn folder(&self) -> &std::path::Path {
        self.folder.path()
    }

    async fn persons(&self, ask: PersonsAsk) -> Result<Value, Refusal> {
        let (_, [document]) = self.owner.persons(NO, ask, []).await.map_err(RpcError::into_refusal)?;
        Ok(serde_json::from_slice(&document.read().unwrap()).unwrap())
    }

    async fn add(&self, name: &str, role: Role, also: &[&str]) -> Result<Value, Refusal> {
        let also = also.iter().map(|one| (*one).to_owned()).collect();
        self.persons(PersonsAsk::Add(AddPerson { name: name.to_owned(), role, also })).await
    }

    /// Has somebody of Telegram become this person.
    pub(crate) async fn joins(&self, name: &str, sender: &str) {
        let ask = Invite { channel: Channel::Telegram, standing: Standing::Guest, person: name.to_owned() };
        let (_, [document]) = self.owner.pairing(NO, PairingAsk::Invite(ask), []).await.unwrap();
        let invited: Value = serde_json::from_slice(&document.read().unwrap()).unwrap();
        let code = invited["code"].as_str().unwrap().to_owned();
        let ask = Pair { channel: Channel::Telegram, sender: sender.to_owned(), code };
        assert_eq!(self.door.pair(NO, ask, []).await.unwrap().0, Paired::Known, "{name}");
    }

    async fn standing(&self, sender: &str) -> (Standing, Level) {
        let ask = Identify { channel: Channel::Telegram, sender: sender.into(), lang: None, spoke: None };
        let who = self.door.identify(NO, ask, []).await.unwrap().0;
        (who.standing, who.level)
    }

    pub(crate) async fn says(&self, sender: &str, words: &str) -> TurnId {
        let ask = RegisterPrompt { channel: Channel::Telegram, sender: sender.to_owned() };
        let said = Sealed::new(words.as_bytes()).unwrap();
        self.door.register_prompt(NO, ask, [said]).await.unwrap().0.turn
    }

    /// What a planner gets for this order in a turn of these words.
    async fn orders(&self, sender: &str, words: &str, order: Order) -> Result<Value, String> {
        let turn = self.says(sender, words).await;
        let planner = self.world.planner(1).await;
        match planner.schedule(NO, ScheduleOrder { turn, lang: Lang::En, order }, []).await {
            Ok((doc, list)) => Ok(serde_json::to_value(doc.open(list).unwrap()).unwrap()),
            Err(RpcError::Refused(refusal)) => Err(refusal.rule),
            Err(other) => panic!("{other}"),
        }
    }
}

fn tell(to: &str, what: &str) -> Order {
    Order::Tell(Tell { to: to.to_owned(), what: vec![what.to_owned()] })
}

fn remind(to: &str, what: &str, when: &str) -> Order {
    Order::Remind(Remind { what: vec![what.to_owned()], when: vec![when.to_owned()], early: false, to: to.to_owned() })
}

#[test]
fn persons_role_decides_what_their_principals_are() {
    run(async {
        let house = House::new().await;
        assert_eq!(house.standing("2").await, (Standing::Adult, Level::Supervised));
        assert_eq!(house.standing("3").await, (Standing::Guest, Level::ReadOnly));
        assert_eq!(house.standing("4").await, (Standing::Guest, Level::ReadOnly));
        let change = |name: &str, role| {
            PersonsAsk::Change(ChangePerson {
                name: name.to_owned(),
                role: Some(role),
                also: None,
                quiet: None,
                channel: None,
                may_call: None,
            })
        };
        let open = house.says("3", "hello").await;
        house.persons(change("luca", Role::Adult)).await.unwrap();
        assert_eq!(house.standing("3").await.0, Standing::Adult);
        let planner = house.world.planner(1).await;
        let order = ScheduleOrder { turn: open, lang: Lang::En, order: Order::List(String::new()) };
        assert!(planner.schedule(NO, order, []).await.is_err(), "a turn of the child's is over");
        assert_eq!(house.persons(change("Luca", Role::Owner)).await.unwrap_err().rule, "people.form");
        let night = Quiet::read("22:00-7:00");
        let quiet = |quiet| {
            let (name, may_call) = ("luca".into(), None);
            PersonsAsk::Change(ChangePerson { name, role: None, also: None, quiet, channel: None, may_call })
        };
        assert_eq!(house.persons(quiet(Some(night))).await.unwrap()["quiet"], "22:00-7:00");
        let told = || house.world.memory.household.borrow().people.iter().find(|one| one.name == "Luca").unwrap().quiet;
        assert_eq!(told(), night, "memoryd knows");
        assert_eq!(house.persons(quiet(None)).await.unwrap()["quiet"], "22:00-7:00", "as before");
        assert_eq!(house.persons(quiet(Some(None))).await.unwrap()["quiet"], Value::Null);
        let told_on = |channel| {
            let (name, may_call) = ("luca".into(), None);
            PersonsAsk::Change(ChangePerson {
                name,
                role: None,
                also: None,
                quiet: None,
                channel: Some(channel),
                may_call,
            })
        };
        assert_eq!(house.persons(told_on(Some(Channel::Telegram))).await.unwrap()["channel"], "telegram");
        let wrong = house.persons(told_on(Some(Channel::Hook))).await.unwrap_err();
        assert_eq!(wrong.rule, "people.form");
        assert_eq!(house.persons(PersonsAsk::Show("Luca".into())).await.unwrap()["channel"], "telegram", "as before");
        assert_eq!(house.persons(told_on(None)).await.unwrap()["channel"], Value::Null);
        house.persons(PersonsAsk::Remove("Marco".into())).await.unwrap();
        assert_eq!(house.standing("2").await.0, Standing::Stranger);
        let household = house.world.memory.household.borrow();
        assert!(household.people.iter().all(|one| one.name != "Marco"), "{household:?}");
    });
}

#[test]
fn quiet_hours_are_the_speakers_own_and_only_as_the_words_have_them() {
    run(async {
        let house = House::new().await;
        const WORDS: &str = "don't disturb me between 22 and 7";
        let night = Quiet::read("22:00-7:00");
        let told = |name: &str| {
            house.world.memory.household.borrow().people.iter().find(|one| one.name == name).unwrap().quiet
        };
        // A planner that was taken over makes up neither that nor which hours.
        for (words, order) in [
            ("what is planned?", night),
            (WORDS, Quiet::read("7:00-6:00")),
            (WORDS, None),
            ("no more quiet hours, said Anna", None),
            ("tell Luca don't disturb me between 22 and 7", night),
        ] {
            let refused = house.orders("2", words, Order::Quiet(order)).await;
            assert_eq!(refused, Err("schedule.words".to_owned()), "{words}: {order:?}");
        }
        assert_eq!(told("Marco"), None);
        assert!(house.orders("2", WORDS, Order::Quiet(night)).await.is_ok());
        assert!(
            house.orders("3", "non disturbarmi di notte", Order::Quiet(night)).await.is_ok(),
            "a child has a night, too"
        );
        assert_eq!((told("Marco"), told("Luca"), told("Rosa")), (night, night, None));
        assert!(house.orders("2", "you can disturb me again", Order::Quiet(None)).await.is_ok());
        assert_eq!((told("Marco"), told("Luca")), (None, night));
        assert!(house.world.took().iter().any(|line| line.contains("Luca has quiet hours from now on: 22:00-7:00")));
        // Unlike a changed role, changed quiet hours end no turn.
        let turn = house.says("2", WORDS).await;
        let planner = house.world.planner(1).await;
        for order in [Order::Quiet(night), Order::List(String::new())] {
            let ask = ScheduleOrder { turn, lang: Lang::En, order };
            assert!(planner.schedule(NO, ask, []).await.is_ok());
        }
        // A principal that is no person has none.
        house.persons(PersonsAsk::Remove("Anna".into())).await.unwrap();
        let ask = ScheduleOrder { turn: house.world.say(WORDS).await, lang: Lang::En, order: Order::Quiet(night) };
        let refused = planner.schedule(NO, ask, []).await.map(|_| ()).map_err(RpcError::into_refusal);
        assert_eq!(refused.map_err(|no| no.rule), Err("people.self".to_owned()));
    });
}

#[test]
fn nobody_is_a_person_before_memory_knows_or_after_a_new_pairing() {
    run(async {
        let house = House::new().await;
        house.world.memory.mood.set(Mood::Refuses);
        assert!(house.add("Eva", Role::Adult, &[]).await.is_err());
        house.world.memory.mood.set(Mood::Honest);
        let all = house.persons(PersonsAsk::List).await.unwrap();
        assert!(all.as_array().unwrap().iter().all(|one| one["name"] != "Eva"), "{all}");
        let join = PersonsAsk::Join(JoinPerson { person: "Marco".into(), principal: "telegram:99".into() });
        assert_eq!(house.persons(join).await.unwrap_err().rule, "pairing.unknown");
        let revoke = PairingAsk::Revoke("telegram:2".into());
        house.owner.pairing(NO, revoke, []).await.unwrap();
        let marco = house.persons(PersonsAsk::Show("marco".into())).await.unwrap();
        assert_eq!(marco["principals"], Value::Array(Vec::new()));
        // The same chat, as somebody else.
        house.joins("Luca", "2").await;
        assert_eq!(house.standing("2").await.0, Standing::Guest);
        let household = house.world.memory.household.borrow();
        let speaks = |name: &str| household.people.iter().find(|one| one.name == name).unwrap().principals.clone();
        assert_eq!(
            (speaks("Marco").len(), speaks("Luca")),
            (0, vec!["telegram:2".to_owned(), "telegram:3".to_owned()])
        );
    });
}

#[test]
fn words_for_another_are_passed_on_as_they_stand_to_whom_they_name() {
    run(async {
        let house = House::new().await;
        let words = "tell my mum that dinner is ready";
        let sent = house.orders("3", words, tell("Anna", "dinner is ready")).await.unwrap();
        let message = ("cli:uid:1000".into(), "message".into());
        assert_eq!((&sent[0]["to"], &sent[0]["kind"]), (&message.0, &message.1));
        let words = "Alfred, tell everybody that dinner is ready";
        let sent = house.orders("2", words, tell(EVERYBODY, "dinner is ready")).await.unwrap();
        assert_eq!(sent.as_array().unwrap().len(), 2, "{sent}");
        let words = "remind Marco to fetch Luca tomorrow at 16:00";
        let order = remind("Marco", "fetch Luca", "tomorrow at 16:00");
        let kept = house.orders("3", words, order).await.unwrap();
        assert_eq!((&kept[0]["to"], &kept[0]["principal"]), (&"telegram:2".into(), &"telegram:3".into()));
        // Asked for in two turns.
        house.says("2", "remind Luca to tidy up").await;
        let order = remind("Luca", "tidy up", "tomorrow at 9");
        assert!(house.orders("2", "tomorrow at 9", order).await.is_ok());
    });
}

#[test]
fn hijacked_planner_passes_nothing_on_that_the_words_do_not() {
    run(async {
        let house = House::new().await;
        let secret = "don't tell Anna that I bought her a ring";
        let others = [
            (secret, tell("Anna", "I bought her a ring")),
            ("never tell Anna that I am ill", tell("Anna", "I am ill")),
            ("what did I tell Anna: I am ill", tell("Anna", "I am ill")),
            ("I bought Anna a ring, tell nobody", tell("Anna", "I bought Anna a ring")),
            ("tell Anna that dinner is ready", tell("Luca", "dinner is ready")),
            ("tell Anna that dinner is ready", tell(EVERYBODY, "dinner is ready")),
            ("tell Anna that dinner is ready", tell("Anna", "dinner")),
            ("tell Anna that dinner is ready", tell("Anna", "come at once")),
            ("what is planned?", tell("Anna", "what is planned")),
            ("remind me to tell Anna that I am ill tomorrow at 9", tell("Anna", "I am ill")),
            ("remind me tomorrow at 9 to buy a ring", remind("Anna", "buy a ring", "tomorrow at 9")),
            ("remind Anna tomorrow at 9 to call", remind("Anna", "call", "9")),
        ];
        for (words, order) in others {
            assert_eq!(
                house.orders("2", words, order.clone()).await.unwrap_err(),
                "people.words",
                "{words}: {order:?}"
            );
        }
        assert_eq!(house.world.memory.schedules.kept.borrow().len(), 0);
    });
}

#[test]
fn refused_orders_for_others_are_bounded_per_turn() {
    run(async {
        let house = House::new().await;
        let turn = house.says("2", "tell Anna that dinner is ready").await;
        let planner = house.world.planner(1).await;
        let rule = async |order: Order| {
            let asked = planner.schedule(NO, ScheduleOrder { turn, lang: Lang::En, order }, []).await;
            asked.map(|_| ()).map_err(|error| error.into_refusal().rule)
        };
        for _ in 0..MAX_OF_TURN {
            assert_eq!(rule(tell("Anna", "come at once")).await, Err("people.words".to_owned()));
        }
        assert_eq!(rule(tell("Anna", "come at once")).await, Err("schedule.turn".to_owned()));
        assert_eq!(rule(tell("Anna", "dinner is ready")).await, Err("schedule.turn".to_owned()));
    });
}

#[test]
fn guests_strangers_and_children_reach_only_whom_they_may() {
    run(async {
        let house = House::new().await;
        let words = "tell Anna that dinner is ready";
        // For a guest nobody is known by name, so the words ask for nothing.
        assert_eq!(house.orders("4", words, tell("Anna", "dinner is ready")).await.unwrap_err(), "people.words");
        let words = "tell Rosa that dinner is ready";
        assert_eq!(house.orders("3", words, tell("Rosa", "dinner is ready")).await.unwrap_err(), "people.child");
        assert!(house.orders("2", words, tell("Rosa", "dinner is ready")).await.is_ok());
        house.add("Eva", Role::Adult, &[]).await.unwrap();
        let words = "tell Eva that dinner is ready";
        assert_eq!(house.orders("2", words, tell("Eva", "dinner is ready")).await.unwrap_err(), "people.unreachable");
    });
}

#[test]
fn seal_is_broken_only_after_the_person_was_told() {
    run(async {
        let house = House::new().await;
        let seals = async |ask: SealAsk| match house.owner.seals(NO, ask, []).await {
            Ok((doc, list)) => Ok(serde_json::to_value(doc.open(list).unwrap()).unwrap()),
            Err(RpcError::Refused(refusal)) => Err(refusal.rule),
            Err(other) => panic!("{other}"),
        };
        let break_of = |who: &str, why: &str| SealAsk::Break(BreakSeal { who: who.into(), why: why.into() });
        let memory = &house.world.memory;
        assert!(memory.household.borrow().owner.contains(&format!("cli:uid:{OWNER}")), "{:?}", memory.household);
        assert!(memory.household.borrow().owner.iter().all(|one| one.starts_with("cli:")));
        house.add("Carla", Role::Child, &[]).await.unwrap();
        for (ask, rule) in [
            (break_of("Luca", " "), "seal.reason"),
            (break_of("Luca", &"x".repeat(201)), "seal.reason"),
            (break_of("Luca", "two\nlines"), "seal.reason"),
            (break_of("Anna", "why not"), "seal.owner"),
            (break_of("mum", "why not"), "seal.owner"),
            (break_of("Carla", "why not"), "seal.untold"),
            (break_of("Nobody", "why not"), "people.unknown"),
            (break_of("telegram:77", "why not"), "people.unknown"),
            (SealAsk::Close("Luca".into()), "seal.unknown"),
        ] {
            assert_eq!(seals(ask).await.unwrap_err(), rule);
        }
        assert!(memory.schedules.kept.borrow().is_empty(), "nobody was told anything");
        // Nothing can be recorded: nobody is read.
        memory.mood.set(Mood::Refuses);
        assert!(seals(break_of("Luca", "he is missing")).await.is_err());
        memory.mood.set(Mood::Honest);
        assert_eq!(seals(SealAsk::List).await.unwrap(), serde_json::json!([]));
        house.joins("Luca", "33").await;
        let broken = seals(break_of("luca", "he is missing")).await.unwrap();
        assert_eq!(
            (&broken[0]["who"], &broken[0]["principals"]),
            (&"Luca".into(), &serde_json::json!(["telegram:3", "telegram:33"]))
        );
        let told: Vec<(String, bool)> = memory
            .schedules
            .kept
            .borrow()
            .iter()
            .map(|one| {
                (
                    one.to.clone(),
                    one.kind == metnos_proto::msg::schedule::ScheduleKind::Message
                        && one.what.contains("he is missing"),
                )
            })
            .collect();
        assert_eq!(told, [("telegram:3".to_owned(), true), ("telegram:33".to_owned(), true)]);
        let unsealed: Vec<String> =
            memory.household.borrow().unsealed.iter().map(|one| one.principal.clone()).collect();
        assert_eq!(unsealed, ["telegram:3", "telegram:33"]);
        assert_eq!(seals(SealAsk::Close("Luca".into())).await.unwrap(), serde_json::json!([]));
        assert!(memory.household.borrow().unsealed.is_empty());
    });
}
