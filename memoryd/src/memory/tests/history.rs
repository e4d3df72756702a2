//! Histories at random, with restarts and kills: the mnestome is what the chronicle says, once.
#![allow(clippy::unwrap_used)]

use metnos_proto::msg::common::Outcome;
use metnos_proto::msg::memoryd::{OwnersAct, SystemEvent, TurnJudged, UNDONE, Verdict};
use metnos_proto::role::RoleName;
use proptest::prelude::*;

use crate::chronicle::testing::kinds;
use crate::chronicle::time::DAY_MS;
use crate::faults::{Fault, Step};
use crate::memory::Memory;
use crate::memory::testing::{Instance, asker, decision, started, turn};

const ENOSPC: i32 = 28;

fn clean(memory: &Memory) {
    assert_eq!(kinds(memory.chronicle()), Vec::<String>::new());
}

/// A turn at random: which executors, fed by whom, with what outcome, and what was wished.
#[derive(Debug, Clone)]
struct Story {
    calls: Vec<(u8, Option<u8>, bool, bool)>,
    wish: bool,
    closed: bool,
    days: u8,
    said: Option<(u8, u8)>,
}

fn stories() -> impl Strategy<Value = Vec<Story>> {
    let call = (0_u8..4, prop::option::of(0_u8..4), any::<bool>(), prop::bool::weighted(0.9));
    let said = prop::option::of((1_u8..8, 0_u8..3));
    let story =
        (prop::collection::vec(call, 0..5), prop::bool::weighted(0.2), prop::bool::weighted(0.9), 0_u8..3, said)
            .prop_map(|(calls, wish, closed, days, said)| Story { calls, wish, closed, days, said });
    prop::collection::vec(story, 1..8)
}

fn taken_back(memory: &mut Memory, of: u8) {
    let word = SystemEvent { kind: UNDONE.to_owned(), text: "one act".to_owned(), turn: Some(turn(of)) };
    memory.system_event(asker(RoleName::Policyd), &word).unwrap();
}

fn live(instance: &Instance, memory: &mut Memory, n: u8, story: &Story) {
    const NAMES: [&str; 4] = ["fs_read", "fs_list", "text_stats", "csv_query"];
    instance.clock.advance(u64::from(story.days) * DAY_MS + 1000);
    memory.say(n, "do something");
    memory.begin(n);
    for (at, (which, fed_by, ok, ends)) in story.calls.iter().enumerate() {
        let place = at as u16 + 1;
        let name = NAMES[usize::from(*which)];
        let inputs: Vec<u16> = fed_by.iter().map(|from| u16::from(*from) + 1).collect();
        if *ends {
            let outcome = if *ok { Outcome::Ok } else { Outcome::Error };
            memory.run(n, place, name, &inputs, outcome);
        } else {
            let decided = memory.decide(&decision(n, place, name, Verdict::Allow));
            memory.started(asker(RoleName::Sandboxd), &started(n, place, name, decided.seq, &inputs)).unwrap();
        }
    }
    if story.closed {
        memory.closed(n, if story.wish { "fly" } else { "" });
    }
    memory.flush().unwrap();
    // The owner says something of an earlier turn, or of this one, or of none.
    match story.said {
        Some((of, 2)) => taken_back(memory, of.min(n)),
        Some((of, word)) => {
            let judged = OwnersAct::Judge(TurnJudged { turn: turn(of), good: word == 1 });
            let _ = memory.owner_decides(asker(RoleName::Ctl), &judged);
        }
        None => {}
    }
    memory.flush().unwrap();
}

/// The database, row by row, as text.
fn dump(instance: &Instance) -> String {
    let db = rusqlite::Connection::open(instance.dir.path().join(".mnestome/mnest.sqlite")).unwrap();
    let mut text = String::new();
    for table in ["mnests ORDER BY id", "fitness ORDER BY name, version", "judged_turns ORDER BY n", "progress"] {
        let mut all = db.prepare(&format!("SELECT * FROM {table}")).unwrap();
        let columns = all.column_count();
        let mut rows = all.query([]).unwrap();
        while let Some(row) = rows.next().unwrap() {
            for column in 0..columns {
                text += &format!("{:?}|", row.get_ref(column).unwrap());
            }
            text += "\n";
        }
    }
    text
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn replaying_the_chronicle_from_empty_gives_the_same_mnestome(stories in stories(), restarts in any::<u8>()) {
        let instance = Instance::new();
        let mut memory = instance.open();
        for (n, story) in stories.iter().enumerate() {
            if restarts & (1 << (n % 8)) != 0 {
                memory.settle().unwrap();
                drop(memory);
                memory = instance.open();
            }
            live(&instance, &mut memory, n as u8 + 1, story);
        }
        clean(&memory);
        memory.settle().unwrap();
        drop(memory);
        let before = dump(&instance);
        std::fs::remove_file(instance.dir.path().join(".mnestome/mnest.sqlite")).unwrap();
        std::fs::remove_file(instance.dir.path().join(".audit/index.sqlite")).unwrap();
        let mut again = instance.open();
        // The rebuilt index was told of, in a line that the mnestome has no interest in.
        again.settle().unwrap();
        drop(again);
        let strip = |dump: &str| dump.trim_end().rsplit_once('\n').map_or(String::new(), |(rows, _)| rows.to_owned());
        prop_assert_eq!(strip(&before), strip(&dump(&instance)));
        let clock = |dump: &str| dump.lines().last().unwrap().split('|').skip(2).map(str::to_owned).collect::<Vec<_>>();
        prop_assert_eq!(clock(&before), clock(&dump(&instance)));
    }

    #[test]
    fn random_histories_keep_the_invariants(stories in stories()) {
        let instance = Instance::new();
        let mut memory = instance.open();
        for (n, story) in stories.iter().enumerate() {
            live(&instance, &mut memory, n as u8 + 1, story);
        }
        clean(&memory);
        let mnests = memory.mnestome().list().unwrap();
        let mut edges = std::collections::HashSet::new();
        for one in &mnests {
            prop_assert!(edges.insert((&one.src_executor, &one.src_version, &one.dst_executor, &one.dst_version)));
            prop_assert_eq!(one.dst_version.is_none(), one.state == "proto");
            prop_assert!(one.ts_first <= one.ts_last && one.uses >= 1);
            prop_assert!((0.0..=1.0).contains(&one.weight));
        }
        prop_assert!(mnests.windows(2).all(|two| two[0].weight >= two[1].weight - 1e-12), "ordered by weight now");
        let runs = stories.iter().map(|story| story.calls.len() as u64).sum::<u64>();
        prop_assert!(memory.status().unwrap().use_time_milli <= runs * 20);
    }

    #[test]
    fn every_turn_is_derived_once_after_kills_between_index_and_mnestome(
        stories in stories(),
        step in prop::sample::select(vec![Step::Index, Step::Mnestome]),
        skip in 0_usize..5,
        fault in prop::sample::select(vec![Fault::KilledBefore, Fault::KilledAfter, Fault::Errno(ENOSPC)]),
    ) {
        let undisturbed = Instance::new();
        let disturbed = Instance::new();
        let mut expected = undisturbed.open();
        disturbed.script.add(step, skip, fault);
        let mut current = disturbed;
        let mut memory = current.open();
        for (n, story) in stories.iter().enumerate() {
            let n = n as u8 + 1;
            live(&undisturbed, &mut expected, n, story);
            let lived = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| live(&current, &mut memory, n, story)));
            if lived.is_err() {
                // The process was killed in the middle of the turn: what the peers know is gone, too.
                current = current.after_kill();
                let memory = current.open();
                clean(&memory);
                let found = (memory.mnestome().list().unwrap(), memory.mnestome().fitness().unwrap());
                drop(memory);
                std::fs::remove_file(current.dir.path().join(".mnestome/mnest.sqlite")).unwrap();
                let again = current.open();
                prop_assert_eq!(found, (again.mnestome().list().unwrap(), again.mnestome().fitness().unwrap()));
                return Ok(());
            }
        }
        // An index that could not be written at the very end is caught up with before the next event, not sooner.
        memory.journal.chronicle.ensure_writable().unwrap();
        clean(&memory);
        expected.settle().unwrap();
        memory.settle().unwrap();
        let edges = |memory: &Memory| memory.mnestome().list().unwrap().into_iter()
            .map(|one| (one.src_executor, one.dst_executor, one.uses)).collect::<std::collections::BTreeSet<_>>();
        let again = { drop(memory); current.open() };
        prop_assert_eq!(edges(&again), edges(&expected));
        prop_assert_eq!(again.mnestome().fitness().unwrap(), expected.mnestome().fitness().unwrap());
    }
}
