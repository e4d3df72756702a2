//! What a turn is shown of longer ago, what the owner finds, and that nobody finds another's.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;

use metnos_proto::envelope::{Envelope, MAX_SHOWN};
use metnos_proto::msg::common::{Channel, Lang, Role, Standing};
use metnos_proto::msg::memoryd::{
    BeginTurn, CloseTurn, Delivered, Received, Recollect, Rehearse, SearchMemory, WishedSignature,
};
use metnos_proto::msg::people::Member;
use metnos_proto::msg::planner::TurnEnd;
use metnos_proto::msg::schedule::SaidBefore;
use metnos_proto::role::RoleName;
use serde_json::Value;

use crate::memory::Memory;
use crate::memory::testing::{Instance, PEER, asker, candidate, household_of, received, trace, turn, unsealed};
use crate::tiers::envelope::MAX_RECENT;

const GUEST: &str = "telegram:7";

/// One whole turn: words, envelope, answer.
/// What the names of the owner's other conversations begin with.
const OWNERS_CHAT: &str = "telegram:owner-";

fn say(memory: &mut Memory, n: u8, peer: &str, words: &str, answer: &str) -> Envelope {
    let owners = peer == PEER || peer.starts_with(OWNERS_CHAT);
    let standing = if owners { Standing::Owner } else { Standing::Guest };
    let channel = if peer == PEER { Channel::Cli } else { Channel::Telegram };
    let word = Received {
        turn: turn(n),
        trace: trace(n),
        channel,
        principal: peer.to_owned(),
        standing,
        lang: Lang::En,
        mark: String::new(),
    };
    memory.received(asker(RoleName::Gatewayd), &word, words.as_bytes().to_vec()).unwrap();
    let (_, envelope) = memory.begin_turn(asker(RoleName::Planner), &BeginTurn { turn: turn(n) }).unwrap();
    let delivered = Delivered { turn: turn(n), end: TurnEnd::Answered };
    memory.delivered(asker(RoleName::Gatewayd), &delivered, answer.as_bytes().to_vec()).unwrap();
    let close =
        CloseTurn { turn: turn(n), end: TurnEnd::Answered, wish: String::new(), signature: WishedSignature::default() };
    memory.close_turn(asker(RoleName::Planner), &close).unwrap();
    memory.flush().unwrap();
    serde_json::from_slice(&envelope).unwrap()
}

fn search(memory: &mut Memory, peer: &str, words: &str) -> Vec<Value> {
    let ask = Recollect::Search(SearchMemory { peer: peer.to_owned(), limit: 5 });
    let (_, found) = memory.recollect(&ask, words.as_bytes()).unwrap();
    serde_json::from_slice(&found).unwrap()
}

/// A conversation long enough that its beginning is no longer recent.
fn lived() -> (Instance, Memory) {
    let instance = Instance::new();
    let mut memory = instance.open();
    say(&mut memory, 1, PEER, "the plumber Rossi mended the valve under the sink", "Noted, the plumber was Rossi.");
    say(&mut memory, 2, GUEST, "the plumber must not find the spare key behind the clock", "I shall not tell.");
    for n in 3..=u8::try_from(MAX_RECENT).unwrap() + 4 {
        say(&mut memory, n, PEER, &format!("list notes number {n}"), "done");
    }
    (instance, memory)
}

#[test]
fn envelope_says_when_its_person_said_the_same_also_after_a_restart() {
    const DAY_MS: u64 = 86_400_000;
    let instance = Instance::new();
    let mut memory = instance.open();
    let asked = "What's on the shopping list?";
    for n in 1..=4 {
        let envelope = say(&mut memory, n, PEER, asked, "bread");
        assert_eq!(envelope.same.len(), usize::from(n) - 1);
        let said = memory.said_before(&SaidBefore { turn: turn(n) }).unwrap();
        assert_eq!((said.times, said.zone), (envelope.same, envelope.home.zone), "policyd learns the same");
        say(&mut memory, n + 20, GUEST, asked, "I may not say");
        say(&mut memory, n + 40, PEER, "good morning", "hello");
        instance.clock.advance(DAY_MS);
    }
    let fifth = say(&mut memory, 5, PEER, "what's on the shopping list", "bread");
    assert_eq!(fifth.same.len(), 4, "however it is written");
    assert!(fifth.same.windows(2).all(|pair| pair[1] - pair[0] == i64::try_from(DAY_MS / 1_000).unwrap()));
    assert_eq!(say(&mut memory, 6, PEER, "thanks", "").same, Vec::<i64>::new(), "one word is no request");
    drop(memory);
    let mut memory = instance.open();
    assert_eq!(say(&mut memory, 7, PEER, asked, "bread").same.len(), 5);
    assert_eq!(say(&mut memory, 8, PEER, "what's on the list", "bread").same, Vec::<i64>::new());
}

#[test]
fn envelope_recalls_older_words_of_same_principal_and_counts_them() {
    let (_instance, mut memory) = lived();
    let envelope = say(&mut memory, 90, PEER, "what was the name of the plumber who came for the sink?", "Rossi.");
    assert_eq!(envelope.recalled.len(), 1, "{:?}", envelope.recalled);
    assert_eq!(envelope.recalled[0].text, "the plumber Rossi mended the valve under the sink");
    // Neither the answers, which may come from anything, nor what another said.
    assert!(!envelope.recalled.iter().any(|one| one.text.contains("Noted") || one.text.contains("clock")));
    assert!(envelope.recent.iter().all(|one| one.seq != envelope.recalled[0].seq));
    let opened = memory.chronicle().index().turn(turn(90)).unwrap().unwrap().opened.unwrap();
    let row = memory.chronicle().index().row(opened).unwrap().unwrap();
    let payload: Value = serde_json::from_str(&memory.chronicle().read(&row).unwrap().payload).unwrap();
    assert!(payload["shown"].as_array().unwrap().contains(&envelope.recalled[0].seq.into()));
    assert_eq!(payload["nonce"], format!("{:016x}", envelope.nonce));
}

#[test]
fn a_guest_is_shown_and_finds_nothing_of_the_owner() {
    let (_instance, mut memory) = lived();
    let envelope = say(&mut memory, 91, GUEST, "who is the plumber, and what about the sink and the valve?", "?");
    assert!(envelope.recalled.iter().chain([]).all(|one| !one.text.contains("Rossi")));
    memory.household(unsealed(GUEST)).unwrap();
    let texts: Vec<String> =
        search(&mut memory, GUEST, "plumber Rossi valve").iter().map(|item| item["text"].to_string()).collect();
    assert!(!texts.is_empty() && !texts.iter().any(|text| text.contains("Rossi")), "{texts:?}");
    assert!(
        !search(&mut memory, PEER, "spare key clock").iter().any(|item| item["text"].to_string().contains("clock"))
    );
}

#[test]
fn owner_finds_a_turn_with_its_reason_and_place() {
    let (_instance, mut memory) = lived();
    let found = search(&mut memory, PEER, "Who mended the valve?");
    let best = &found[0];
    assert_eq!(
        (best["speaker"].as_str(), best["trust"].as_str(), best["score"].as_f64()),
        (Some("owner"), Some("owner"), Some(1.0))
    );
    assert!(best["parts"]["words"].as_f64().unwrap() > 0.9);
    // What Metnos answered is found, too, and stands behind.
    assert!(found.iter().skip(1).any(|item| item["speaker"] == "metnos" && item["trust"] == "tool"));
    let answer = found.iter().find(|item| item["speaker"] == "metnos").unwrap()["seq"].as_u64().unwrap();
    let (_, explained) = memory.recollect(&Recollect::Explain(answer), b"").unwrap();
    let explained: Value = serde_json::from_slice(&explained).unwrap();
    assert_eq!(explained["holds"], true);
    assert_eq!(explained["causes"][0]["event_type"], "owner_message");
    assert_eq!(explained["path"][0]["seq"].as_u64(), Some(answer));
    assert!(memory.recollect(&Recollect::Explain(99_999), b"").is_err());
    assert!(memory.recollect(&Recollect::Search(SearchMemory { peer: PEER.to_owned(), limit: 5 }), &[0xff]).is_err());
}

#[test]
fn an_index_that_is_gone_or_ahead_is_made_anew_and_finds_the_same() {
    let (instance, mut memory) = lived();
    let before = search(&mut memory, PEER, "plumber sink");
    drop(memory);
    let path = instance.dir.path().join(".runtime/recall.sqlite");
    std::fs::remove_file(&path).unwrap();
    let mut memory = instance.open();
    assert_eq!(search(&mut memory, PEER, "plumber sink"), before);
    drop(memory);
    std::fs::write(
        &path,
        b"no database, whatever its name says; it is long enough to have a header of a hundred bytes, though",
    )
    .unwrap();
    for suffix in ["-wal", "-shm"] {
        let _none = std::fs::remove_file(instance.dir.path().join(format!(".runtime/recall.sqlite{suffix}")));
    }
    let mut memory = instance.open();
    assert_eq!(search(&mut memory, PEER, "plumber sink"), before);
}

#[test]
fn rehearsal_is_refused_on_used_instance_and_leaves_no_trace() {
    let (_instance, mut memory) = lived();
    assert!(memory.rehearse(&Rehearse::Anew, b"").is_err());
    let fresh = Instance::new();
    let mut memory = fresh.open();
    let line = br#"{"id":"a","session":1,"time":"2023-05-08","speaker":"Anna","text":"the boiler needs water"}"#;
    memory.rehearse(&Rehearse::Turns, line).unwrap();
    let (items, found) = memory.rehearse(&Rehearse::Question(5), b"what does the boiler need?").unwrap();
    assert_eq!((items.items, serde_json::from_slice::<Value>(&found).unwrap()["ids"][0].as_str()), (1, Some("a")));
    memory.household(unsealed("rehearsal")).unwrap();
    assert!(search(&mut memory, "rehearsal", "boiler").is_empty());
    memory.rehearse(&Rehearse::Anew, b"").unwrap();
    assert_eq!(memory.rehearse(&Rehearse::Question(5), b"boiler").unwrap().0.items, 0);
}

#[test]
fn exploration_slot_is_stable_for_a_day_and_varies_by_conversation() {
    let instance = Instance::new();
    let mut memory = instance.open();
    let beaten = 6;
    for n in 0..MAX_SHOWN + beaten {
        memory.born(&candidate(&format!("tool_{n:02}"), &[])).unwrap();
    }
    let shown = |envelope: Envelope| -> Vec<String> {
        envelope.candidates.into_iter().take(MAX_SHOWN).map(|one| one.name).collect()
    };
    let first = shown(say(&mut memory, 1, PEER, "compose a sonnet", "Done."));
    assert_eq!(first.len(), MAX_SHOWN);
    // Equals stand by their names; the last place is drawn among all that are left.
    let best: Vec<String> = (0..MAX_SHOWN - 1).map(|n| format!("tool_{n:02}")).collect();
    assert_eq!(first[..MAX_SHOWN - 1], best);
    assert_eq!(shown(say(&mut memory, 2, PEER, "compose another one", "Done.")), first);
    drop(memory);
    let mut memory = instance.open();
    assert_eq!(shown(say(&mut memory, 3, PEER, "and a third one", "Done.")), first, "also after a restart");
    let drawn: BTreeSet<String> = (4..24)
        .map(|n| shown(say(&mut memory, n, &format!("{OWNERS_CHAT}{n}"), "compose a sonnet", "Done.")).pop().unwrap())
        .collect();
    assert!(drawn.len() > 3 && drawn.iter().all(|name| !best.contains(name)), "{drawn:?}");
}

#[test]
fn a_guests_turn_names_only_files_that_everybody_reads() {
    let instance = Instance::new();
    let put = |path: &str, text: &str| {
        let path = instance.dir.path().join("workspace").join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    put("notes/divorce.md", "# Divorce from Anna");
    put("shared/recipes.md", "# Recipes");
    let mut memory = instance.open();
    let words = "read divorce.md, the note about the divorce, notes/divorce.md and the recipes";
    let owners = say(&mut memory, 1, PEER, words, "…");
    let paths = |envelope: &Envelope| envelope.named.iter().map(|one| one.path.clone()).collect::<Vec<_>>();
    assert_eq!(paths(&owners), ["notes/divorce.md", "notes", "shared/recipes.md"]);
    let guests = say(&mut memory, 2, GUEST, words, "…");
    assert_eq!(paths(&guests), ["shared/recipes.md"]);
    // The same words again, and what points back to them, name nothing more.
    for (n, words) in [(3, words), (4, "read it again")] {
        let envelope = say(&mut memory, n, GUEST, words, "…");
        assert_eq!(paths(&envelope), ["shared/recipes.md"]);
        let own: Vec<String> = envelope.named.iter().map(|one| one.title.clone()).collect();
        assert_eq!(own, ["recipes"]);
    }
}

#[test]
fn a_guest_is_shown_the_laws_what_comes_with_metnos_and_nothing_else() {
    let instance = Instance::new();
    for (name, text) in crate::tiers::workspace::FILES.map(|name| (name, format!("canary of {name}"))) {
        std::fs::write(instance.dir.path().join("workspace").join(name), text).unwrap();
    }
    let mut memory = instance.open();
    for name in ["fs_read", "divorce_lawyer"] {
        memory.born(&candidate(name, &["read notes"])).unwrap();
    }
    let mut shown = |n: u8, standing: Standing, channel: Channel| {
        let principal = format!("{}:{n}", channel.name());
        let word = Received { standing, channel, principal, ..received(n) };
        memory.received(asker(RoleName::Gatewayd), &word, b"read notes".to_vec()).unwrap();
        let envelope = memory.begin(n);
        let names: Vec<String> = envelope.candidates.iter().map(|one| one.name.clone()).collect();
        let files: Vec<String> = envelope.files.iter().map(|file| file.name.clone()).collect();
        (files, names.contains(&"divorce_lawyer".to_owned()), serde_json::to_string(&envelope).unwrap())
    };
    let (files, own, _) = shown(1, Standing::Owner, Channel::Cli);
    assert_eq!((files.len(), own), (6, true), "the owner is shown all");
    let (files, own, envelope) = shown(2, Standing::Guest, Channel::Telegram);
    assert_eq!((files, own), (vec!["SOUL.md".to_owned()], false));
    for name in ["IDENTITY.md", "USER.md", "MEMORY.md", "AGENTS.md", "TELOS.md"] {
        assert!(!envelope.contains(&format!("canary of {name}")), "{name}");
    }
    // What fires by itself the owner has set up, and he hears what comes of it.
    let (files, own, _) = shown(3, Standing::Guest, Channel::Timer);
    assert_eq!((files, own), (["IDENTITY.md", "AGENTS.md", "SOUL.md"].map(str::to_owned).to_vec(), true));
}

#[test]
fn person_is_recalled_own_words_of_all_channels_and_nobody_elses() {
    let (_instance, mut memory) = lived();
    let member = |name: &str, role, principals: &[&str]| Member {
        quiet: None,
        channel: None,
        name: name.to_owned(),
        role,
        also: vec![format!("{name}ina")],
        principals: principals.iter().map(|one| (*one).to_owned()).collect(),
        accounts: Vec::new(),
    };
    let asks = "what was the name of the plumber who came for the sink?";
    let chat = "telegram:owner-1";
    assert!(say(&mut memory, 90, chat, asks, "-").recalled.is_empty(), "a channel of its own so far");
    let people = vec![
        member("Anna", Role::Owner, &[PEER, chat]),
        member("Luca", Role::Child, &[GUEST]),
        member("Rosa", Role::Guest, &["telegram:9"]),
    ];
    memory.household(household_of(people)).unwrap();
    let hers = say(&mut memory, 91, chat, asks, "-");
    assert!(hers.recalled.iter().any(|one| one.text.contains("Rossi")), "{:?}", hers.recalled);
    assert!(hers.recalled.iter().all(|one| !one.text.contains("spare key")));
    assert_eq!(hers.home.person, "Anna");
    let named = |envelope: &Envelope| envelope.home.people.iter().map(|one| one.name.clone()).collect::<Vec<_>>();
    assert_eq!(named(&hers), ["Luca", "Rosa"]);
    for (n, other) in [(92, GUEST), (93, "telegram:9"), (94, "telegram:8")] {
        let told = say(&mut memory, n, other, asks, "-");
        assert!(told.recalled.iter().all(|one| !one.text.contains("Rossi")), "{other}: {:?}", told.recalled);
        assert_eq!(
            named(&told).is_empty(),
            other != GUEST,
            "{other}: who lives here is nothing for a stranger to know"
        );
    }
    // As soon as they are not one person any more, neither is what they said.
    memory.household(household_of(vec![member("Anna", Role::Owner, &[PEER])])).unwrap();
    assert!(say(&mut memory, 95, chat, asks, "-").recalled.iter().all(|one| !one.text.contains("Rossi")));
}
