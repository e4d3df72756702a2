//! The manifests of a release: what their examples promise is what their patterns make, among all of them.

#![allow(clippy::unwrap_used)]

use metnos_proto::executor::{Manifest, Schema};

use crate::testing::envelope as envelope_of;
use crate::*;

/// Every executor that comes with a release and is offered to planners.
fn release() -> Vec<Candidate> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../executors");
    let mut places: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    places.retain(|place| place.join("manifest.toml").is_file());
    places.sort();
    let read = |place: &std::path::Path, file: &str| std::fs::read(place.join(file)).unwrap();
    let of = |place: &std::path::PathBuf| {
        let manifest = Manifest::parse(&read(place, "manifest.toml")).unwrap_or_else(|why| panic!("{place:?}: {why}"));
        Candidate::of(&manifest, &Schema::parse(&read(place, "schema.json")).unwrap()).with_digest()
    };
    places.iter().map(of).filter(|one| one.offered).collect()
}

#[test]
fn every_example_of_every_shipped_manifest_gives_its_arguments() {
    let all = release();
    let broken: Vec<String> =
        all.iter().flat_map(|one| examples::broken(&all, one)).map(|broken| broken.to_string()).collect();
    assert!(broken.is_empty(), "{} are broken: {broken:#?}", broken.len());
}

/// At its birth an executor may be the first one that there is.
#[test]
fn every_example_of_every_shipped_manifest_holds_without_the_others() {
    let all = release();
    let broken: Vec<String> = all
        .iter()
        .flat_map(|one| examples::broken(std::slice::from_ref(one), one))
        .map(|broken| broken.to_string())
        .collect();
    assert!(broken.is_empty(), "{} are broken: {broken:#?}", broken.len());
}

#[test]
fn envelope_of_all_shipped_executors_is_small() {
    let envelope = envelope_of(release(), Lang::En);
    let bytes = serde_json::to_vec(&envelope).unwrap();
    assert!(bytes.len() < 576 << 10, "{} bytes", bytes.len());
}

/// What a pattern asks first is there, only reads, takes the words, and gives what is taken from it.
#[test]
fn every_lookup_asks_for_what_the_other_executor_has() {
    let all = release();
    let mut lookups = 0;
    for candidate in &all {
        for lookup in candidate.patterns.iter().filter_map(|table| table.lookup.as_ref()) {
            lookups += 1;
            let by = all.iter().find(|one| one.name == lookup.by).unwrap();
            assert_eq!(by.class, READ, "{}", by.name);
            let takes = by.input["properties"].as_object().unwrap();
            for argument in lookup.args.keys().chain([&lookup.from].into_iter().filter(|from| !from.is_empty())) {
                assert!(takes.contains_key(argument), "{} does not take {argument}", by.name);
            }
            let output = by.output.to_string();
            for (argument, pointer) in &lookup.gives {
                assert!(
                    candidate.input["properties"].get(argument).is_some(),
                    "{} does not take {argument}",
                    candidate.name
                );
                for name in pointer.split('/').filter(|name| !name.is_empty() && name.parse::<u32>().is_err()) {
                    assert!(output.contains(&format!("\"{name}\":")), "{} does not give {name}", by.name);
                }
            }
        }
    }
    assert!(lookups >= 4, "{lookups}");
}

/// The first executor that these words call among all of a release; nothing where none is.
fn called(repertoire: &mut Repertoire, all: &[Candidate], words: &str) -> String {
    let mut envelope = envelope_of(all.to_vec(), Lang::En);
    envelope.home.lists = "notes".into();
    envelope.named = vec![metnos_proto::envelope::Named::file("notes/shopping-list.md")];
    match repertoire.plan(words, &envelope) {
        Reply::Plan(plan) => plan.calls.first().map(|call| call.executor.clone()).unwrap_or_default(),
        Reply::Say(_) | Reply::Cannot(_) | Reply::NotUnderstood(_) | Reply::Schedule(..) | Reply::Review(..) => {
            String::new()
        }
    }
}

#[test]
fn words_of_the_house_call_its_executors_and_other_words_do_not() {
    let (all, mut repertoire) = (release(), Repertoire::default());
    for (words, wanted) in [
        ("turn on the lights in the living room", "home_act"),
        ("switch off the heating please", "home_act"),
        ("close the shutters", "home_act"),
        ("set the radiator in the bathroom to 22 degrees", "home_act"),
        ("spegni le luci del bagno", "home_act"),
        ("chiudi le persiane", "home_act"),
        ("porta il riscaldamento a 19 gradi", "home_act"),
        ("close the gate", "home_secure"),
        ("lock the back door", "home_secure"),
        ("apri il portone", "home_secure"),
        ("inserisci l'antifurto", "home_secure"),
        ("are the lights in the kitchen on?", "home_state"),
        ("did I lock the front door?", "home_state"),
        ("la porta del garage \u{e8} aperta?", "home_state"),
        ("ho spento la stufa?", "home_state"),
        ("which lights are on?", "home_list"),
        ("che luci sono accese?", "home_list"),
    ] {
        assert_eq!(called(&mut repertoire, &all, words), wanted, "{words}");
    }
    for words in [
        "open the shopping list",
        "turn on the music",
        "is the pharmacy open?",
        "put lamps on the shopping list",
        "close the conversation",
        "what is the temperature in Milan",
        "accendi la musica",
        "apri la lista della spesa",
        "remind me to turn off the heating at 10",
        "note that the garage is open on Sunday",
        "delete the note about the lights",
        "did Anna close the deal?",
    ] {
        assert!(!called(&mut repertoire, &all, words).starts_with("home_"), "{words}");
    }
}
