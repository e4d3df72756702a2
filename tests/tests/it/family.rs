//! What a family says every day, without a model: lists by their names, taking back in words, and times as people tell them.

use metnos_tests::http::{Web, said};
use metnos_tests::instance::{Instance, Plan};

fn text(set: &Instance, path: &str) -> String {
    std::fs::read_to_string(set.workspace(path)).unwrap_or_default()
}

fn waiting(set: &Instance) -> usize {
    set.json(&["approval", "list"]).1.as_array().unwrap().len()
}

#[test]
fn a_list_is_added_to_by_its_name_read_and_taken_back_in_words() {
    let set = Instance::start();
    set.is_grown();
    let before = text(&set, "notes/shopping.md");
    assert!(before.contains("- pane"), "{before}");
    let told = set.ask("add eggs, milk and the bread to the shopping list");
    assert!(told.contains("Added eggs, milk and bread to the shopping list."), "{told}");
    assert_eq!(text(&set, "notes/shopping.md"), format!("{before}- eggs\n- milk\n- bread\n"));
    let told = set.ask("aggiungi le uova alla lista della spesa");
    assert!(told.contains("Ho aggiunto uova alla lista della spesa."), "{told}");
    assert!(set.ask("cosa c'è sulla lista della spesa?").contains("- bread\n- uova\n"));
    // One after the other, the last first, each once.
    let told = set.ask("annulla l'ultima cosa");
    assert_eq!(told, "Ciò che era stato aggiunto alla lista della spesa non c'è più.\n");
    assert_eq!(text(&set, "notes/shopping.md"), format!("{before}- eggs\n- milk\n- bread\n"));
    assert_eq!(set.ask("undo that, please"), "What was added to the shopping list is out of it again.\n");
    assert_eq!(text(&set, "notes/shopping.md"), before);
    assert_eq!(set.ask("undo"), "There is nothing of yours to take back.\n");
    // What is only told is offered, and done when it is agreed to.
    assert!(set.ask("we're out of butter").contains("say “yes” or “add butter to the shopping list”"));
    assert_eq!(text(&set, "notes/shopping.md"), before);
    assert!(set.ask("yes").contains("Added butter to the shopping list."));
    assert!(set.ask("I bought the butter").contains("say “yes” or “take butter off the shopping list”"));
    assert!(set.ask("yes").contains("I took butter off the shopping list."));
    assert!(set.ask("Anna's number is 333 1234567").contains("say “yes” or “remember that Anna's number"));
    let kept = set.ask("yes");
    assert!(kept.contains("333 1234567"), "{kept}");
    assert!(set.ask("what is Anna's number?").contains("333 1234567"));
    assert_eq!(text(&set, "notes/shopping.md"), before);
    assert!(set.ask("è finito il tè").contains("di’ «sì» oppure «aggiungi tè alla lista della spesa»"));
    assert!(set.ask("sì").contains("Ho aggiunto tè alla lista della spesa."));
    assert_eq!(set.ask("annulla"), "Ciò che era stato aggiunto alla lista della spesa non c'è più.\n");
    assert_eq!(text(&set, "notes/shopping.md"), before);
    // A list that is not there is made where lists are, with a name in the language of the words.
    let _ = set.ask("aggiungi pagare il bollo alla lista delle cose da fare");
    assert_eq!(text(&set, "notes/cose-da-fare.md"), "- pagare il bollo\n");
    assert_eq!(waiting(&set), 0, "none of it needs a word");
    set.verify();
}

#[test]
fn a_guest_is_led_to_the_shared_list_and_takes_back_nothing_of_others() {
    let set = Plan::new().config("[http]\nlisten = \"127.0.0.1:0\"\n").start();
    set.is_grown();
    let guest = Web::of(&set).paired(&set, "guest");
    let ask = |words: &str| said(&guest.say(words).until("done"));
    let before = text(&set, "notes/shopping.md");
    // What a guest writes is the owner's to decide, as long as the owner has not let him.
    let _ = ask("add eggs to the shopping list");
    let (_, cards) = set.json(&["approval", "list"]);
    assert!(cards[0].to_string().contains("shared/shopping.md"), "{cards:#}");
    assert_eq!((waiting(&set), set.workspace("shared/shopping.md").exists()), (1, false));
    // The owner's own list is not there for him; the shared one is.
    assert!(!ask("what is on the shopping list?").contains("pane"));
    assert!(set.ask("add butter to shared/spesa.md").contains("shared/spesa.md"));
    assert_eq!(ask("what is on the shopping list?"), "butter\n");
    assert_eq!(ask("annulla"), "Non c'è niente di tuo da annullare.\n");
    assert_eq!((text(&set, "shared/spesa.md").as_str(), text(&set, "notes/shopping.md")), ("butter\n", before));
    // Whose it is takes it back.
    assert!(set.ask("annulla").contains("alla lista della spesa in comune"));
    set.verify();
}

#[test]
fn supervised_guest_writes_shared_files_and_undoes_his_own_act() {
    let set = Plan::new().config("[http]\nlisten = \"127.0.0.1:0\"\n").start();
    set.is_grown();
    let guest = Web::of(&set).paired(&set, "guest");
    let ask = |words: &str| said(&guest.say(words).until("done"));
    let (_, paired) = set.json(&["pairing", "list"]);
    let principal = paired["known"].as_array().unwrap().iter().find_map(|one| {
        let name = one["principal"].as_str()?;
        name.starts_with("http:").then(|| name.to_owned())
    });
    let principal = principal.unwrap_or_else(|| panic!("{paired:#}"));
    assert_eq!(set.json(&["autonomy", "set", &principal, "supervised"]).0, 0);
    let shared = set.workspace("shared/shopping.md");
    for (words, holds) in
        [("add eggs to the shopping list", "- eggs\n"), ("add milk to the shopping list", "- eggs\n- milk\n")]
    {
        let told = ask(words);
        assert_eq!(std::fs::read_to_string(&shared).unwrap_or_else(|error| panic!("{error}: {told}")), holds);
    }
    assert_eq!(waiting(&set), 0, "none of it needs an answer of the owner's");
    let told = ask("undo that");
    assert_eq!(std::fs::read_to_string(&shared).unwrap(), "- eggs\n", "{told}");
    // What he does outside of the shared folders is still asked for, and leaves nothing.
    let _ = ask("write notes/mine.md: hello");
    assert!(!set.workspace("notes/mine.md").exists());
    set.verify();
}

#[test]
fn child_does_without_asking_what_the_owner_chose_and_nothing_else() {
    let set = Plan::new().config("[http]\nlisten = \"127.0.0.1:0\"\n").start();
    set.is_grown();
    let child = Web::of(&set).paired(&set, "guest");
    let ask = |words: &str| said(&child.say(words).until("done"));
    let (_, paired) = set.json(&["pairing", "list"]);
    let mut known = paired["known"].as_array().unwrap().iter().filter_map(|one| one["principal"].as_str());
    let principal = known.rfind(|name| name.starts_with("http:")).unwrap().to_owned();
    assert_eq!(set.json(&["people", "add", "Luca", "--role", "child"]).0, 0);
    assert_eq!(set.json(&["people", "join", "Luca", &principal]).0, 0);
    let _ = ask("add eggs to the shopping list");
    assert_eq!(waiting(&set), 1, "what a child changes waits for an adult");
    let odd = set.ctl(&["people", "change", "Luca", "--may-call", "Fs Append"]);
    assert!(!odd.status.success(), "{odd:?}");
    let change = ["people", "change", "Luca", "--may-call", "fs_append", "--may-call", "note_add"];
    let (code, luca) = set.json(&change);
    assert_eq!((code, &luca["may_call"]), (0, &serde_json::json!(["fs_append", "note_add"])), "{luca:#}");
    let told = ask("add milk to the shopping list");
    let shared = set.workspace("shared/shopping.md");
    assert_eq!(std::fs::read_to_string(&shared).unwrap_or_else(|error| panic!("{error}: {told}")), "- milk\n");
    // The first note makes the own folder, and an adult allows that.
    let _ = ask("note that the dog likes ham");
    let (_, cards) = set.json(&["approval", "list"]);
    let note = cards.as_array().unwrap().iter().find(|card| card.to_string().contains("note_add")).unwrap();
    assert_eq!(set.json(&["approval", "approve", note["id"].as_str().unwrap()]).0, 0);
    assert!(text(&set, "people/luca/notes.md").contains("ham"));
    let _ = ask("note that the cat likes tuna");
    assert!(text(&set, "people/luca/notes.md").contains("tuna"));
    assert_eq!(waiting(&set), 2, "the eggs and the first note, and nothing else");
    let _ = ask("write notes/mine.md: hello");
    assert!(!set.workspace("notes/mine.md").exists());
    // Of a grown-up nothing of the kind is said, and a list does not outlive the childhood.
    let (code, luca) = set.json(&["people", "change", "Luca", "--role", "guest"]);
    assert_eq!((code, &luca["may_call"]), (0, &serde_json::json!([])), "{luca:#}");
    assert_ne!(set.json(&["people", "change", "Luca", "--may-call", "fs_append"]).0, 0);
    set.verify();
}

#[test]
fn times_are_shown_on_the_instance_clock() {
    let set = Instance::start();
    set.is_grown();
    std::fs::write(set.workspace("USER.md"), "# User\n\n- Time zone: Kiritimati\n").unwrap();
    // Fourteen hours ahead of UTC: the hour when it was asked, or when it was answered.
    let hour = || {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs();
        format!(" {:02}:", (now / 3_600 + 14) % 24)
    };
    for words in ["what time is it", "che ore sono"] {
        let (before, told, after) = (hour(), set.ask(words), hour());
        assert!(told.contains(&before) || told.contains(&after), "{told}");
    }
    assert!(set.ask("che ore sono").starts_with(|first: char| first.is_uppercase()));
    let _ = set.ask("note: call the dentist");
    let note = text(&set, "notes/notes.md");
    assert!(note.starts_with("## 20") && !note.contains("UTC"), "{note}");
}
