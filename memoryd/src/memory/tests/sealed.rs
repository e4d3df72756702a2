//! What the owner is shown of what is other persons'.
#![allow(clippy::unwrap_used)]

use metnos_proto::chain::Link;
use metnos_proto::msg::common::{Channel, Lang, Outcome, Standing};
use metnos_proto::msg::memoryd::{
    LinesWanted, ProofWanted, Query, Received, Recollect, SearchMemory, SearchWanted, Tail, Verdict,
};
use metnos_proto::msg::people::{Household, Unsealed};
use metnos_proto::msg::schedule::{
    ChangeSchedules, KeepSchedule, ListSchedules, ScheduleAct, ScheduleChange, ScheduleKind, ShowSchedule, Which,
};
use metnos_proto::role::RoleName;
use serde_json::Value;

use super::super::Memory;
use super::super::testing::{Instance, PEER, asker, decision, ended, no, received, started, trace, turn};
use crate::chronicle::testing::MORNING;

const OTHER: &str = "telegram:2";
const SECRET: &str = "the surgery";

fn household(until_ms: u64) -> Household {
    let unsealed = vec![Unsealed { principal: OTHER.to_owned(), until_ms }];
    Household { people: Vec::new(), owner: vec![PEER.to_owned()], unsealed, accounts: Vec::new() }
}

/// The owner has said one thing, somebody else another, for whom a call was decided and ran.
fn lived(instance: &Instance) -> Memory {
    let mut memory = instance.open();
    memory.say(1, "what is on the list");
    let word =
        Received { channel: Channel::Telegram, principal: OTHER.into(), standing: Standing::Adult, ..received(2) };
    memory.received(asker(RoleName::Gatewayd), &word, format!("note that {SECRET} is on Monday").into_bytes()).unwrap();
    memory.begin(2);
    let mut decided = decision(2, 1, "note_add", Verdict::Allow);
    (decided.principal, decided.channel) = (OTHER.to_owned(), Channel::Telegram);
    let arguments = format!("{{\"text\":\"{SECRET}\"}}").into_bytes();
    decided.arguments = metnos_proto::ids::Blake3::of(&arguments);
    let decided_seq = memory.decision(asker(RoleName::Policyd), &decided, arguments).unwrap().seq;
    let sandboxd = asker(RoleName::Sandboxd);
    let mut start = started(2, 1, "note_add", decided_seq, &[]);
    start.arguments = decided.arguments;
    let begun = Memory::started(&mut memory, sandboxd, &start).unwrap();
    Memory::ended(&mut memory, sandboxd, &ended(2, 1, "note_add", begun.seq, Outcome::Ok)).unwrap();
    memory.answer(2, &format!("Noted: {SECRET}"));
    memory.closed(2, &format!("buy {SECRET}"));
    memory.flush().unwrap();
    memory
}

fn search(text: &str) -> SearchWanted {
    let none = String::new;
    SearchWanted {
        text: text.to_owned(),
        event_type: none(),
        emitter: none(),
        peer: none(),
        turn: none(),
        from_ms: 0,
        until_ms: 0,
        before: 0,
        lines: 100,
    }
}

fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap()
}

/// All that the owner is shown by views of lines.
fn views(memory: &Memory) -> Vec<String> {
    let head = memory.chronicle().head().seq;
    let mut all = vec![text(memory.tail(&Tail { lines: 100, after: 0 }).unwrap().1)];
    let mut queries = vec![Query::Lines(LinesWanted { from: 1, upto: head }), Query::Search(search(""))];
    queries.extend((1..=head).map(|seq| Query::Proof(ProofWanted { seq, size: head })));
    all.extend(queries.iter().map(|query| text(memory.query(query).unwrap().1)));
    all
}

#[test]
fn sealed_lines_hold_not_a_word_and_keep_the_chain() {
    let instance = Instance::new();
    let mut memory = lived(&instance);
    for view in views(&memory) {
        assert!(!view.contains(SECRET) && !view.contains("surgery"), "{view}");
    }
    assert_eq!(memory.query(&Query::Search(search("SURGERY"))).unwrap().0.lines, 0, "nor can it be guessed");
    let shown = text(memory.tail(&Tail { lines: 100, after: 0 }).unwrap().1);
    assert!(shown.contains("what is on the list"), "the own words stand: {shown}");
    let mut before = None;
    let (mut sealed, mut kinds) = (0, Vec::new());
    for line in shown.lines() {
        let link = Link::read(line.as_bytes()).unwrap();
        assert!(before.is_none_or(|before| before == link.prev_hash));
        before = Some(link.hash);
        let document: Value = serde_json::from_str(line).unwrap();
        assert_eq!(link.sealed, document["peer"] == OTHER, "{line}");
        if link.sealed {
            sealed += 1;
            kinds.push((link.event_type.clone(), document["payload"]["sealed"]["shown"].clone()));
            assert!(document["payload"]["sealed"]["bytes"].as_u64().unwrap() > 10);
        }
    }
    assert!(sealed >= 6, "{shown}");
    let of = |kind: &str| kinds.iter().find(|(name, _)| name == kind).unwrap().1.clone();
    assert_eq!(of("policy_decision")["executor"], "note_add");
    assert_eq!(of("policy_decision")["verdict"], "allow");
    assert_eq!(of("run_ended")["outcome"], "ok");
    assert_eq!(of("owner_message"), serde_json::json!({}));
    // The seal is broken, and holds again when the hour is over.
    memory.household(household(MORNING + 1)).unwrap();
    assert!(views(&memory).iter().all(|view| !view.contains("\"sealed\"")));
    assert_ne!(memory.query(&Query::Search(search("SURGERY"))).unwrap().0.lines, 0);
    instance.clock.set(MORNING + 1);
    assert!(views(&memory).iter().all(|view| !view.contains(SECRET)));
}

#[test]
fn memory_of_others_is_not_asked_by_the_owner() {
    let instance = Instance::new();
    let mut memory = lived(&instance);
    let of = |peer: &str| SearchMemory { peer: peer.to_owned(), limit: 5 };
    assert_eq!(no(memory.recollect(&Recollect::Search(of(OTHER)), SECRET.as_bytes())), "people.sealed");
    assert_eq!(no(memory.recollect(&Recollect::Late(of(OTHER)), b"")), "people.sealed");
    let head = memory.chronicle().head().seq;
    let explained: Vec<String> = (1..=head)
        .filter_map(|seq| memory.recollect(&Recollect::Explain(seq), b"").ok().map(|(_, bytes)| text(bytes)))
        .collect();
    assert!(!explained.is_empty() && explained.iter().all(|one| !one.contains("surgery")), "{explained:?}");
    assert!(memory.recollect(&Recollect::Late(of(PEER)), b"").is_ok());
    memory.household(household(MORNING + 1)).unwrap();
    assert!(text(memory.recollect(&Recollect::Late(of(OTHER)), b"").unwrap().1).contains(SECRET));
}

fn keep(principal: &str, to: &str, what: &str, message: bool) -> KeepSchedule {
    KeepSchedule {
        turn: turn(9),
        trace: trace(9),
        principal: principal.to_owned(),
        to: to.to_owned(),
        from: String::new(),
        kind: if message { ScheduleKind::Message } else { ScheduleKind::Reminder },
        what: what.to_owned(),
        when: if message { String::new() } else { "tomorrow at 9".to_owned() },
        early: false,
        lang: Lang::En,
        told_in: Lang::En,
        frozen: Vec::new(),
        urgent: false,
    }
}

#[test]
fn reminders_between_others_are_shown_to_the_owner_without_their_words() {
    let instance = Instance::new();
    let mut memory = instance.open();
    let policyd = || asker(RoleName::Policyd);
    for word in [
        keep(OTHER, OTHER, SECRET, false),
        keep(PEER, OTHER, "take out the bins", false),
        keep(OTHER, PEER, "call back", false),
        keep(OTHER, OTHER, "the owner reads along", true),
    ] {
        memory.keep_schedule(policyd(), &word).unwrap();
    }
    let list = |principal: &str| ListSchedules {
        principal: principal.into(),
        lang: Lang::En,
        ended: false,
        when: String::new(),
        called: None,
        shown: false,
    };
    let all = memory.list_schedules(&list("")).unwrap().0;
    let seen = |what: &str| all.iter().find(|one| one.what == what).is_some_and(|one| !one.sealed);
    assert!(seen("take out the bins") && seen("call back"), "{all:?}");
    let sealed: Vec<_> = all.iter().filter(|one| one.sealed).collect();
    assert_eq!(sealed.len(), 2);
    assert!(sealed.iter().all(|one| one.what.is_empty() && one.when.is_empty()), "{sealed:?}");
    let own = memory.list_schedules(&list(OTHER)).unwrap().0;
    assert!(own.iter().any(|one| one.what == SECRET), "whose it is reads it: {own:?}");
    let number = own.iter().find(|one| one.what == SECRET).unwrap().number;
    let shown = memory.show_schedule(&ShowSchedule { number, lang: Lang::En }).unwrap();
    assert!(shown.schedule.sealed && shown.schedule.what.is_empty());
    let change = |which: Which| ChangeSchedules {
        principal: String::new(),
        change: ScheduleChange { which, act: ScheduleAct::Cancel },
        lang: Lang::En,
    };
    let called = memory.change_schedules(policyd(), &change(Which::Called("surgery".into())));
    assert_eq!(no(called), "schedule.number", "nor can it be guessed");
    let message = own.iter().find(|one| one.kind == ScheduleKind::Message).unwrap().number;
    memory.household(household(u64::MAX)).unwrap();
    assert_eq!(no(memory.change_schedules(policyd(), &change(Which::Number(message)))), "schedule.message");
    memory.household(household(0)).unwrap();
    assert_eq!(no(memory.change_schedules(policyd(), &change(Which::Number(message)))), "schedule.message");
    let cancelled = memory.change_schedules(policyd(), &change(Which::Number(number))).unwrap().0;
    assert!(cancelled[0].sealed && cancelled[0].what.is_empty(), "the owner may stop it all the same");
}
