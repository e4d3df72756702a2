//! Whole turns as the peers tell them: what is recorded, refused, derived and shown.
#![allow(clippy::unwrap_used)]

use metnos_proto::edges::planner_memoryd::Ask;
use metnos_proto::envelope::Candidate;
use metnos_proto::ids::Blake3;
use metnos_proto::msg::common::{ExecutorDigests, ExecutorId, Outcome, Standing};
use metnos_proto::msg::memoryd::{
    BeginTurn, CloseTurn, ExecutorBorn, ExecutorLost, MAX_EVENT_TEXT, SystemEvent, Tail, TakeUpTurn, Verdict,
    WishedSignature,
};
use metnos_proto::msg::planner::TurnEnd;
use metnos_proto::role::RoleName;

use crate::chronicle::testing::{MORNING, kinds};
use crate::chronicle::time::DAY_MS;
use crate::faults::{Fault, Step};
use crate::memory::Memory;
use crate::memory::journal::MAX_EVENT_KIND;
use crate::memory::testing::{Instance, PEER, asker, candidate, decision, ended, id, no, received, started, turn};
use crate::mnestome::graph::Mnest;

const ENOSPC: i32 = 28;

fn clean(memory: &Memory) {
    assert_eq!(kinds(memory.chronicle()), Vec::<String>::new());
}

#[test]
fn a_turn_without_a_name_is_refused_and_leaves_no_line() {
    let instance = Instance::new();
    let mut memory = instance.open();
    assert_eq!(no(memory.received(asker(RoleName::Gatewayd), &received(0), b"words".to_vec())), "turn.none");
    assert!(memory.chronicle().index().rows_from(1, 10).unwrap().is_empty());
}

#[test]
fn a_chain_of_two_makes_one_mnest_and_asking_again_strengthens_it() {
    let instance = Instance::new();
    let mut memory = instance.open();
    assert_eq!(memory.count_words(1).mnests, 1);
    let first = memory.mnestome().list().unwrap();
    assert_eq!(first.len(), 1);
    assert_eq!((first[0].src_executor.as_str(), first[0].dst_executor.as_str()), ("fs_read", "text_stats"));
    assert_eq!((first[0].uses, first[0].state.as_str()), (1, "active"));
    assert_eq!(memory.count_words(2).mnests, 1);
    let again = memory.mnestome().list().unwrap();
    assert_eq!((again.len(), again[0].uses), (1, 2));
    assert_eq!(again[0].id, first[0].id);
    // Two calls of fifty lie between the two uses: 0.15·e^(−0.018·2/50) + 0.15.
    assert!((again[0].weight - 0.299_892_04).abs() < 1e-6, "{}", again[0].weight);
    assert_eq!(memory.status().unwrap().use_time_milli, 80);
    clean(&memory);
}

#[test]
fn every_line_of_a_turn_names_its_turn_its_teller_and_its_cause() {
    let instance = Instance::new();
    let mut memory = instance.open();
    memory.count_words(1);
    let rows = memory.chronicle().index().rows_from(1, 100).unwrap();
    let told: Vec<(String, &str, Option<u64>)> = rows
        .iter()
        .map(|row| memory.chronicle().read(row).unwrap())
        .inspect(|event| {
            assert_eq!((event.turn_id, event.peer.as_str()), (Some(turn(1)), PEER));
            assert!(event.session_key().starts_with(&format!("metnos:{}:", event.emitter.text())));
        })
        .map(|event| (event.kind.name().to_owned(), event.emitter.text(), event.parent))
        .collect();
    let expected = [
        ("owner_message", "gatewayd", None),
        ("turn_open", "planner", Some(1)),
        ("policy_decision", "policyd", Some(2)),
        ("run_started", "sandboxd", Some(3)),
        ("run_ended", "sandboxd", Some(4)),
        ("policy_decision", "policyd", Some(2)),
        ("run_started", "sandboxd", Some(6)),
        ("run_ended", "sandboxd", Some(7)),
        ("assistant_message", "gatewayd", Some(1)),
        ("turn_close", "planner", Some(2)),
    ];
    assert_eq!(told, expected.map(|(kind, role, parent)| (kind.to_owned(), role, parent)));
}

#[test]
fn unasked_and_foreign_calls_are_not_decided() {
    let instance = Instance::new();
    let mut memory = instance.open();
    let policyd = asker(RoleName::Policyd);
    let allowed = decision(1, 1, "fs_read", Verdict::Allow);
    assert_eq!(no(memory.decision(policyd, &allowed, b"{}".to_vec())), "turn.unknown");
    memory.say(1, "read it");
    let mut other = allowed.clone();
    other.principal = "cli:uid:1001".to_owned();
    assert_eq!(no(memory.decision(policyd, &other, b"{}".to_vec())), "violation");
    assert_eq!(no(memory.decision(policyd, &allowed, b"{ }".to_vec())), "violation", "other bytes than decided on");
    let recorded = memory.decide(&allowed);
    memory.flush().unwrap();
    assert_eq!(memory.decide(&allowed), recorded, "the same again is the same line");
    let mut otherwise = allowed.clone();
    otherwise.verdict = Verdict::Deny;
    assert_eq!(no(memory.decision(policyd, &otherwise, b"{}".to_vec())), "record.twice");
    memory.begin(1);
    memory.closed(1, "");
    assert_eq!(no(memory.decision(policyd, &decision(1, 2, "fs_read", Verdict::Allow), b"{}".to_vec())), "turn.closed");
    memory.flush().unwrap();
    clean(&memory);
}

#[test]
fn a_question_may_be_followed_by_its_answer() {
    let instance = Instance::new();
    let mut memory = instance.open();
    memory.say(1, "send it");
    let asked = memory.decide(&decision(1, 1, "smtp_send", Verdict::Ask));
    let allowed = memory.decide(&decision(1, 1, "smtp_send", Verdict::Allow));
    assert_ne!(asked, allowed);
    let sandboxd = asker(RoleName::Sandboxd);
    assert_eq!(no(memory.started(sandboxd, &started(1, 1, "smtp_send", asked.seq, &[]))), "violation");
    memory.started(sandboxd, &started(1, 1, "smtp_send", allowed.seq, &[])).unwrap();
    memory.flush().unwrap();
    clean(&memory);
}

#[test]
fn start_is_recorded_only_for_matching_decision_and_only_once() {
    let instance = Instance::new();
    let mut memory = instance.open();
    memory.say(1, "read it");
    memory.say(2, "and this");
    let allowed = memory.decide(&decision(1, 1, "fs_read", Verdict::Allow));
    let denied = memory.decide(&decision(1, 2, "fs_read", Verdict::Deny));
    let sandboxd = asker(RoleName::Sandboxd);
    let good = started(1, 1, "fs_read", allowed.seq, &[]);
    let changed = |change: fn(&mut metnos_proto::msg::memoryd::Started)| {
        let mut word = good.clone();
        change(&mut word);
        word
    };
    for word in [
        changed(|word| word.decision_seq = 1),
        changed(|word| word.decision_seq = 99),
        changed(|word| word.id = id("fs_list")),
        changed(|word| word.id.version = "2.0.0".to_owned()),
        changed(|word| word.arguments = metnos_proto::ids::Blake3::of(b"{\"path\":\"/etc/shadow\"}")),
        changed(|word| word.trace = crate::memory::testing::trace(2)),
        changed(|word| word.turn = turn(2)),
        changed(|word| word.place = metnos_proto::msg::common::CallRef(7)),
        changed(|word| word.call = crate::memory::testing::call(1, 2)),
        started(1, 2, "fs_read", denied.seq, &[]),
    ] {
        assert_eq!(no(memory.started(sandboxd, &word)), "violation", "{word:?}");
    }
    let begun = memory.started(sandboxd, &good).unwrap();
    assert_eq!(no(memory.started(sandboxd, &good)), "record.twice", "also before the flush");
    memory.flush().unwrap();
    assert_eq!(no(memory.started(sandboxd, &good)), "record.twice");
    let end = ended(1, 1, "fs_read", begun.seq, Outcome::Ok);
    assert_eq!(no(memory.ended(sandboxd, &ended(1, 1, "fs_read", begun.seq + 1, Outcome::Ok))), "violation");
    assert_eq!(no(memory.ended(sandboxd, &ended(1, 2, "fs_read", begun.seq, Outcome::Ok))), "violation");
    let recorded = memory.ended(sandboxd, &end).unwrap();
    assert_eq!(memory.ended(sandboxd, &end).unwrap(), recorded, "told again after a lost answer");
    let otherwise = ended(1, 1, "fs_read", begun.seq, Outcome::Crashed);
    assert_eq!(no(memory.ended(sandboxd, &otherwise)), "record.twice");
    memory.flush().unwrap();
    clean(&memory);
}

#[test]
fn envelope_is_given_once_per_received_turn_and_not_after_close() {
    let instance = Instance::new();
    let mut memory = instance.open();
    let planner = asker(RoleName::Planner);
    let begin = BeginTurn { turn: turn(1) };
    assert_eq!(no(memory.begin_turn(planner, &begin)), "turn.unknown");
    memory.say(1, "hello");
    let close =
        CloseTurn { turn: turn(1), end: TurnEnd::Answered, wish: String::new(), signature: WishedSignature::default() };
    assert_eq!(no(memory.admit(&Ask::CloseTurn(close.clone()))), "violation", "before it began");
    memory.begin(1);
    assert_eq!(no(memory.admit(&Ask::BeginTurn(begin.clone()))), "violation", "a second time");
    memory.close_turn(planner, &close).unwrap();
    assert_eq!(no(memory.admit(&Ask::BeginTurn(begin))), "turn.closed");
    memory.admit(&Ask::CloseTurn(close.clone())).unwrap();
    assert_eq!(memory.close_turn(planner, &close).unwrap().mnests, 0, "told again after a lost answer");
    memory.direct(2, "fs_read");
    assert_eq!(no(memory.admit(&Ask::BeginTurn(BeginTurn { turn: turn(2) }))), "violation");
    assert_eq!(no(memory.admit(&Ask::CloseTurn(CloseTurn { turn: turn(2), ..close }))), "violation");
    memory.admit(&Ask::TakeUpTurn(TakeUpTurn { turn: turn(2) })).unwrap();
    // The card of such a call is answered like any other, and the planner is asked whether a turn goes on with it.
    assert_eq!(no(memory.take_up_turn(&TakeUpTurn { turn: turn(2) })), "turn.not_suspended");
    memory.flush().unwrap();
    clean(&memory);
}

#[test]
fn envelope_holds_principals_words_live_executors_and_their_mnests() {
    let instance = Instance::new();
    std::fs::write(instance.dir.path().join("workspace/USER.md"), "Roberto").unwrap();
    let mut memory = instance.open();
    for (name, example) in [("fs_read", "read notes"), ("fs_list", "list notes"), ("text_stats", "how many words")] {
        memory.born(&candidate(name, &[example])).unwrap();
    }
    memory
        .executor_lost(asker(RoleName::Policyd), &ExecutorLost { id: id("fs_list"), why: "a flipped bit".into() })
        .unwrap();
    memory.count_words(1);
    let mut stranger = received(2);
    stranger.principal = "cli:uid:1001".to_owned();
    memory.received(asker(RoleName::Gatewayd), &stranger, b"not his words".to_vec()).unwrap();
    memory.say(3, &"long ".repeat(1000));
    memory.say(4, "how many words are there");
    let envelope = memory.begin(4);
    assert_eq!(envelope.candidates.iter().map(|one| one.name.as_str()).collect::<Vec<_>>(), ["text_stats", "fs_read"]);
    assert_eq!(envelope.candidates[1], candidate("fs_read", &["read notes"]), "the contract as it was born");
    assert_eq!(envelope.mnests.len(), 1);
    assert!((envelope.mnests[0].weight - 0.15).abs() < 1e-9);
    let recent: Vec<&str> = envelope.recent.iter().map(|words| words.text.as_str()).collect();
    assert_eq!(recent[0], "how many words are in notes/welcome.md");
    assert_eq!(recent[1].chars().count(), crate::tiers::envelope::MAX_RECENT_CHARS);
    assert_eq!(recent.len(), 2, "neither another's words nor those of this turn");
    assert_eq!((envelope.principal.as_str(), envelope.lang), (PEER, metnos_proto::msg::common::Lang::It));
    assert_eq!(envelope.identity.len(), 64);
    assert_ne!(memory.begin(3).nonce, envelope.nonce);
}

#[test]
fn reborn_executor_is_callable_and_shown_in_last_version() {
    let instance = Instance::new();
    let mut memory = instance.open();
    let one = candidate("fs_read", &[]);
    let first = memory.born(&one).unwrap();
    assert_eq!(memory.born(&one).unwrap(), first, "the same again is the same line");
    memory.executor_lost(asker(RoleName::Policyd), &ExecutorLost { id: id("fs_read"), why: "x".into() }).unwrap();
    assert_ne!(memory.born(&one).unwrap(), first);
    let mut next = one.clone();
    next.version = "2.0.0".to_owned();
    let word = ExecutorBorn {
        id: metnos_proto::msg::common::ExecutorId { name: "fs_read".into(), version: "2.0.0".into() },
        digests: metnos_proto::msg::common::ExecutorDigests {
            manifest: metnos_proto::ids::Blake3([1; 32]),
            code: metnos_proto::ids::Blake3([2; 32]),
            schema: metnos_proto::ids::Blake3([3; 32]),
            profile: metnos_proto::ids::Blake3([4; 32]),
        },
    };
    let policyd = asker(RoleName::Policyd);
    assert_eq!(no(memory.executor_born(policyd, &word, &serde_json::to_vec(&one).unwrap())), "executor.contract");
    assert_eq!(no(memory.executor_born(policyd, &word, b"{}")), "executor.contract");
    memory.executor_born(policyd, &word, &serde_json::to_vec(&next).unwrap()).unwrap();
    memory.say(1, "read");
    let envelope = memory.begin(1);
    assert_eq!(envelope.candidates.iter().map(|one| one.version.as_str()).collect::<Vec<_>>(), ["2.0.0"]);
}

#[test]
fn words_are_kept_once_and_never_a_strangers() {
    let instance = Instance::new();
    let mut memory = instance.open();
    let door = asker(RoleName::Gatewayd);
    let first = memory.say(1, "hello");
    assert_eq!(memory.say(1, "hello"), first, "told again after a lost answer");
    assert_eq!(no(memory.received(door, &received(1), b"other words".to_vec())), "record.twice");
    let mut other = received(1);
    other.principal = "cli:uid:0".to_owned();
    assert_eq!(no(memory.received(door, &other, b"hello".to_vec())), "record.twice");
    assert_eq!(no(memory.received(door, &received(2), vec![0xff])), "words.text");
    let mut stranger = received(2);
    stranger.standing = Standing::Stranger;
    assert_eq!(no(memory.received(door, &stranger, b"let me in".to_vec())), "words.stranger");
    memory.flush().unwrap();
    assert_eq!(memory.chronicle().head().seq, 1);
}

#[test]
fn a_wish_becomes_a_proto_mnest_and_a_gap() {
    let instance = Instance::new();
    let mut memory = instance.open();
    for (n, wish) in [(1, "Translate   this"), (2, "translate this"), (3, "play music")] {
        memory.say(n, wish);
        memory.begin(n);
        assert_eq!(memory.closed(n, wish).mnests, 1);
        memory.flush().unwrap();
    }
    memory.say(4, "read it and play music");
    memory.begin(4);
    memory.run(4, 1, "fs_read", &[], Outcome::Ok);
    memory.closed(4, "play music");
    memory.flush().unwrap();
    let gaps: Vec<(String, u32)> = memory.gaps().unwrap().gaps.into_iter().map(|gap| (gap.wish, gap.times)).collect();
    assert_eq!(gaps, [("play music".to_owned(), 2), ("translate".to_owned(), 2)]);
    let protos: Vec<Mnest> = memory.mnestome().list().unwrap();
    assert_eq!(protos.len(), 3);
    assert!(protos.iter().all(|one| one.state == "proto" && one.dst_version.is_none() && one.why.is_some()));
    assert!(protos.iter().any(|one| one.src_executor == "fs_read" && one.dst_executor == "play music"));
}

#[test]
fn executor_view_lists_direct_calls_including_denied_ones() {
    let instance = Instance::new();
    let mut memory = instance.open();
    memory.direct(1, "fs_read");
    let mut denied = decision(1, 1, "fs_read", Verdict::Deny);
    denied.rule = "guard.path".to_owned();
    memory.decide(&denied);
    memory.direct_done(1);
    memory.count_words(2);
    memory.direct(3, "fs_read");
    let allowed = memory.decide(&decision(3, 1, "fs_read", Verdict::Allow));
    memory.started(asker(RoleName::Sandboxd), &started(3, 1, "fs_read", allowed.seq, &[])).unwrap();
    memory.direct_done(3);
    memory.flush().unwrap();
    let path = instance.dir.path().join(".audit/executors/2026-04-25.jsonl");
    let view = || std::fs::read_to_string(&path).unwrap();
    let seen: Vec<(String, String, String)> = view()
        .lines()
        .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap())
        .map(|line| {
            let text = |pointer: &str| line.pointer(pointer).unwrap().as_str().unwrap().to_owned();
            (text("/executor"), text("/caller/kind"), text("/exit"))
        })
        .collect();
    let expected = [
        ("fs_read", "direct", "denied"),
        ("fs_read", "planner", "ok"),
        ("text_stats", "planner", "ok"),
        ("fs_read", "direct", "interrupted"),
    ];
    assert_eq!(seen, expected.map(|(a, b, c)| (a.to_owned(), b.to_owned(), c.to_owned())));
    // It can be derived anew, byte for byte.
    let before = view();
    drop(memory);
    std::fs::remove_file(instance.dir.path().join(".audit/index.sqlite")).unwrap();
    std::fs::write(&path, "rubbish").unwrap();
    clean(&instance.open());
    assert_eq!(view(), before);
}

#[test]
fn failed_round_names_every_sender_to_notify() {
    let instance = Instance::new();
    let mut memory = instance.open();
    instance.script.add(Step::Write, 0, Fault::Errno(ENOSPC));
    let round = memory.round();
    memory.say(1, "hello");
    assert!(memory.flush().is_err());
    assert_eq!(memory.failure(round).unwrap().rule, "chronicle.disk_full");
    assert!(memory.failure(memory.round()).is_none());
    memory.answered();
    assert!(memory.failure(round).is_none());
    memory.say(1, "hello");
    memory.flush().unwrap();
    assert_eq!(memory.chronicle().head().seq, 1);
}

#[test]
fn a_system_event_is_a_word_and_a_bounded_text() {
    let instance = Instance::new();
    let mut memory = instance.open();
    let event = |kind: &str, text: String| SystemEvent { kind: kind.to_owned(), text, turn: None };
    let policyd = asker(RoleName::Policyd);
    memory.system_event(policyd, &event(&"k".repeat(MAX_EVENT_KIND), "t".repeat(MAX_EVENT_TEXT))).unwrap();
    for bad in [
        event(&"k".repeat(MAX_EVENT_KIND + 1), String::new()),
        event("", String::new()),
        event("Two words", String::new()),
        event("k", "t".repeat(MAX_EVENT_TEXT + 1)),
    ] {
        assert_eq!(no(memory.system_event(policyd, &bad)), "event.format");
    }
    let mut of_turn = event("quarantine", "x".to_owned());
    of_turn.turn = Some(turn(1));
    assert_eq!(no(memory.system_event(policyd, &of_turn)), "turn.unknown");
    memory.say(1, "hello");
    memory.system_event(policyd, &of_turn).unwrap();
    memory.flush().unwrap();
    clean(&memory);
}

#[test]
fn the_tail_gives_the_lines_of_the_files() {
    let instance = Instance::new();
    let mut memory = instance.open();
    memory.count_words(1);
    instance.clock.set(MORNING + DAY_MS);
    memory.count_words(2);
    let (tailed, bytes) = memory.tail(&Tail { lines: 12, after: 0 }).unwrap();
    assert_eq!((tailed.lines, tailed.last_seq), (12, 20));
    let all = [instance.day_lines("2026-04-25"), instance.day_lines("2026-04-26")].concat().concat();
    assert!(all.ends_with(std::str::from_utf8(&bytes).unwrap()));
    let (tailed, bytes) = memory.tail(&Tail { lines: u32::MAX, after: 18 }).unwrap();
    assert_eq!(tailed.lines, 2);
    assert_eq!(bytes.iter().filter(|byte| **byte == b'\n').count(), 2);
    assert_eq!(memory.tail(&Tail { lines: 5, after: 20 }).unwrap().0.lines, 0);
}

#[test]
fn the_tail_gives_the_newest_lines_that_fit_and_at_least_one() {
    let instance = Instance::new();
    let mut memory = instance.open();
    for n in 1..=3 {
        memory.say(n, &"x".repeat(crate::memory::views::MAX_PAGE_BYTES / 2 - 2000));
    }
    memory.say(4, &"x".repeat(crate::memory::views::MAX_PAGE_BYTES + 1));
    memory.flush().unwrap();
    let lines = |lines, after| memory.tail(&Tail { lines, after }).unwrap().0.lines;
    assert_eq!(lines(10, 0), 1, "the newest, though it is larger than the limit");
    drop(memory);
    let instance = Instance::new();
    let mut memory = instance.open();
    for n in 1..=3 {
        memory.say(n, &"x".repeat(crate::memory::views::MAX_PAGE_BYTES / 2 - 2000));
    }
    memory.flush().unwrap();
    assert_eq!(memory.tail(&Tail { lines: 10, after: 0 }).unwrap().0.lines, 2);
}

#[test]
fn envelope_omits_executors_not_offered_to_planners() {
    let instance = Instance::new();
    let mut memory = instance.open();
    for name in ["fs_restore", "fs_read"] {
        memory.born(&candidate(name, &["take back notes"])).unwrap();
    }
    let shown = |memory: &mut Memory, n| -> Vec<String> {
        memory.say(n, "fs restore: take back notes");
        memory.begin(n).candidates.into_iter().map(|one| one.name).collect()
    };
    assert_eq!(shown(&mut memory, 1), ["fs_restore", "fs_read"]);
    // Its next version is for nobody but Metnos and the owner: neither the best nor there to fill a place.
    let hidden = Candidate { version: "2.0.0".into(), offered: false, ..candidate("fs_restore", &["take back notes"]) };
    let digest = Blake3::of(b"2.0.0");
    let digests = ExecutorDigests { manifest: digest, code: digest, schema: digest, profile: digest };
    let word = ExecutorBorn { id: ExecutorId { name: "fs_restore".into(), version: "2.0.0".into() }, digests };
    memory.executor_born(asker(RoleName::Policyd), &word, &serde_json::to_vec(&hidden).unwrap()).unwrap();
    assert_eq!(shown(&mut memory, 2), ["fs_read"]);
}

#[test]
fn an_envelope_shows_no_more_than_its_limits() {
    use crate::tiers::envelope::{MAX_CANDIDATES, MAX_RECENT};
    let instance = Instance::new();
    let mut memory = instance.open();
    for n in 0..=MAX_CANDIDATES {
        memory.born(&candidate(&format!("tool_{n}"), &[])).unwrap();
    }
    let last = u8::try_from(MAX_RECENT).unwrap() + 2;
    for n in 1..=last {
        memory.say(n, &format!("words {n}"));
    }
    let envelope = memory.begin(last);
    assert_eq!((envelope.candidates.len(), envelope.recent.len()), (MAX_CANDIDATES, MAX_RECENT as usize));
    assert_eq!(envelope.recent.last().unwrap().text, format!("words {}", last - 1), "oldest first");
    assert_eq!(memory.begin(MAX_RECENT as u8 + 1).recent.len(), MAX_RECENT as usize);
    assert_eq!(memory.begin(MAX_RECENT as u8).recent.len(), MAX_RECENT as usize - 1);
}

#[test]
fn a_mnestome_that_is_damaged_or_ahead_of_the_chronicle_is_derived_anew() {
    let instance = Instance::new();
    let mut memory = instance.open();
    memory.count_words(1);
    drop(memory);
    let path = instance.dir.path().join(".mnestome/mnest.sqlite");
    rusqlite::Connection::open(&path).unwrap().execute("UPDATE progress SET applied_seq = 1000", []).unwrap();
    let memory = instance.open();
    assert_eq!(memory.mnestome().list().unwrap()[0].uses, 1);
    drop(memory);
    std::fs::write(&path, [0x5a; 8192]).unwrap();
    let memory = instance.open();
    assert_eq!(memory.mnestome().list().unwrap()[0].uses, 1);
    assert!(instance.dir.path().join(".mnestome/mnest.sqlite.damaged-2").exists());
    clean(&memory);
}

#[test]
fn the_databases_own_constraints_refuse_what_no_mnest_may_be() {
    let instance = Instance::new();
    let mut memory = instance.open();
    memory.count_words(1);
    drop(memory);
    let db = rusqlite::Connection::open(instance.dir.path().join(".mnestome/mnest.sqlite")).unwrap();
    for sql in [
        "UPDATE mnests SET uses = 0",
        "UPDATE mnests SET weight = 1.01",
        "UPDATE mnests SET weight = 0",
        "UPDATE mnests SET ts_first = ts_last + 1",
        "UPDATE mnests SET dst_version = NULL",
        "UPDATE mnests SET dst_version = ''",
        "UPDATE mnests SET state = 'proto'",
        "UPDATE mnests SET state = 'dormant'",
        "UPDATE mnests SET src_executor = ''",
        "UPDATE mnests SET id = 'x'",
        "UPDATE mnests SET tags = '{}'",
        "UPDATE mnests SET why = 'x'",
        "INSERT INTO mnests SELECT replace(id, 'mnest_0', 'mnest_1'), src_executor, src_version, dst_executor, dst_version,
         weight, uses, ts_first, ts_last, decay_lambda, tags, state, desired_signature, why, last_event_seq, used_at, lw, t_cross FROM mnests",
    ] {
        assert!(db.execute(sql, []).is_err(), "{sql}");
    }
}
