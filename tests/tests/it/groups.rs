//! Group chats: a group has the rights of its least trusted member, whichever member writes.

use std::time::{Duration, Instant};

use metnos_tests::instance::{Instance, Plan};
use metnos_tests::telegram::{Emulator, Fault, Message};

use crate::private::{HTTP, House};

const MARTA: i64 = 5_100;
const MARCO: i64 = 5_201;
const ROSA: i64 = 5_203;
const UNKNOWN: i64 = 6_666;
const GROUP: i64 = -900;
/// What the household's list holds, and what only Marta's own one does.
const ASKS_LIST: &str = "@metnos_test_bot what is on the shopping list?";
/// The answer where a member is not an adult of the household.
const OTHER_MEMBERS: &str = "is not an adult of the household";
const PRIVATE: &str = "heliotrope";

/// A household whose grown-ups have chats, and a group of theirs that is not known yet.
fn household(config: &str) -> (House, Emulator) {
    let server = Emulator::start();
    let set = Plan::new().config(&format!("{HTTP}{}{config}", server.config())).start();
    server.serves(&set);
    server.settled();
    let house = House::of(set);
    for (name, chat) in [("marta", MARTA), ("marco", MARCO), ("rosa", ROSA)] {
        server.knows(&house.set, chat, "guest");
        server.told(chat, "The code was good");
        assert_eq!(house.set.json(&["people", "join", name, &format!("telegram:{chat}")]).0, 0);
    }
    let _ = house.set.ask("add apples to the shopping list");
    let _ = house.set.ask(&format!("add {PRIVATE} to my private list"));
    server.group(GROUP, &[MARTA, MARCO], None);
    (house, server)
}

/// Has the owner let the group in as this.
fn let_in(set: &Instance, server: &Emulator, standing: &str) {
    server.say_in(GROUP, MARCO, ASKS_LIST);
    let told = server.told(GROUP, "I do not know this group").text;
    let code = told.split("minutes: ").nth(1).and_then(|rest| rest.split('.').next()).unwrap();
    let (failed, told) = set.json(&["pairing", "approve", "telegram", code, "--as", standing]);
    assert_eq!(failed, 0, "{told:#}");
}

/// Says something in the group, and gives what is answered there.
fn asks(server: &Emulator, who: i64, words: &str) -> Message {
    let before = server.chat(GROUP).len();
    server.say_in(GROUP, who, words);
    server.until(words, |state| state.messages.iter().filter(|one| one.chat == GROUP).nth(before).cloned());
    server.settled();
    server.chat(GROUP).pop().unwrap()
}

#[test]
fn a_group_reads_and_does_what_its_least_trusted_member_may() {
    let (house, server) = household("");
    let set = &house.set;
    // Before it is known, nobody is answered; who is a stranger himself is not even told so.
    server.say_in(GROUP, UNKNOWN, ASKS_LIST);
    server.say_in(GROUP, MARCO, "what is on the shopping list?");
    server.settled();
    assert!(server.chat(GROUP).is_empty(), "{:?}", server.chat(GROUP));
    let_in(set, &server, "adult");
    let told = asks(&server, MARCO, ASKS_LIST).text;
    assert!(told.contains("apples"), "{told}");
    let told = asks(&server, MARTA, "add bread to the shopping list @metnos_test_bot").text;
    assert!(told.contains("bread"), "{told}");
    // The owner in a group is not the owner: what is hers alone is not there, nor what was said elsewhere.
    for words in
        ["what is on my private list?", "what did I say today?", "what is planned?", "read people/marta/list.md"]
    {
        let told = asks(&server, MARTA, &format!("@metnos_test_bot {words}")).text;
        assert!(!told.contains(PRIVATE), "{words}: {told}");
    }
    // A guest joins: every request is refused, also one for earlier answers, and whichever member asks.
    server.group(GROUP, &[MARTA, MARCO, ROSA], Some(ROSA));
    server.settled();
    for who in [ROSA, MARCO, MARTA] {
        for words in [ASKS_LIST, "@metnos_test_bot what did you tell us about the shopping list?"] {
            let told = asks(&server, who, words).text;
            assert!(told.contains(OTHER_MEMBERS) && !told.contains("apples"), "{who}: {told}");
        }
    }
    let told = asks(&server, MARTA, "@metnos_test_bot add poison to the shopping list").text;
    assert!(told.contains(OTHER_MEMBERS) && !set_text(set).contains("poison"), "{told}");
    // She leaves; and somebody whom nobody knows comes in without a word of it.
    server.group(GROUP, &[MARTA, MARCO], None);
    assert!(asks(&server, MARCO, ASKS_LIST).text.contains("apples"));
    server.group(GROUP, &[MARTA, MARCO, UNKNOWN], None);
    let told = asks(&server, MARCO, ASKS_LIST).text;
    assert!(told.contains(OTHER_MEMBERS) && !told.contains("apples"), "{told}");
    set.verify();
}

/// The household's list, as it stands in its file.
fn set_text(set: &Instance) -> String {
    std::fs::read_to_string(set.workspace("lists/shopping.md")).unwrap_or_default()
}

#[test]
fn group_whose_members_cannot_be_found_out_is_not_heard() {
    let (house, server) = household("");
    let_in(&house.set, &server, "adult");
    server.fail("getChatMember", Fault::Unauthorized);
    let told = asks(&server, MARCO, ASKS_LIST).text;
    assert!(told.contains(OTHER_MEMBERS) && !told.contains("apples"), "{told}");
    assert!(asks(&server, MARCO, ASKS_LIST).text.contains("apples"), "they are asked about again");
    // After a restart of policyd the door tells it the members again.
    assert!(house.set.ctl(&["daemon", "restart", "policyd"]).status.success());
    assert!(asks(&server, MARCO, ASKS_LIST).text.contains("apples"));
    house.set.verify();
}

#[test]
fn group_with_a_member_who_was_revoked_is_refused_at_once() {
    let (house, server) = household("");
    let_in(&house.set, &server, "adult");
    assert!(asks(&server, MARCO, ASKS_LIST).text.contains("apples"));
    assert_eq!(house.set.json(&["pairing", "revoke", &format!("telegram:{MARCO}")]).0, 0);
    let told = asks(&server, MARTA, ASKS_LIST).text;
    assert!(told.contains(OTHER_MEMBERS) && !told.contains("apples"), "{told}");
    house.set.verify();
}

#[test]
fn reminder_of_a_group_waits_while_somebody_else_reads_there() {
    let (house, server) = household("");
    let_in(&house.set, &server, "adult");
    let told = asks(&server, MARCO, "@metnos_test_bot remind us in 10 seconds to wrap the heliotrope").text;
    assert!(told.contains("heliotrope"), "{told}");
    let looks = |state: &mut metnos_tests::telegram::State| {
        state.calls.iter().filter(|(method, _)| method == "getChatMemberCount").count()
    };
    let (before, looked) = (server.chat(GROUP).len(), server.with(looks));
    server.group(GROUP, &[MARTA, MARCO, ROSA], Some(ROSA));
    server.until("the bot asks who is there", |state| (looks(state) > looked).then_some(()));
    let end = Instant::now() + Duration::from_secs(30);
    let told = || house.set.json(&["schedule", "history", "1"]).1.to_string();
    while !told().contains("unsure") {
        assert!(Instant::now() < end, "{}", told());
        std::thread::sleep(Duration::from_millis(50));
    }
    assert_eq!(server.chat(GROUP).len(), before, "{:?}", server.chat(GROUP));
    house.set.verify();
}

#[test]
fn group_that_was_let_in_as_a_guest_stays_one() {
    let (house, server) = household("");
    let set = &house.set;
    let_in(set, &server, "guest");
    let told = asks(&server, MARTA, ASKS_LIST).text;
    assert!(!told.contains("apples"), "{told}");
    // Revoked, it is not answered any more.
    assert_eq!(set.json(&["pairing", "revoke", &format!("telegram:{GROUP}")]).0, 0);
    let before = server.chat(GROUP).len();
    server.say_in(GROUP, UNKNOWN, ASKS_LIST);
    server.settled();
    assert_eq!(server.chat(GROUP).len(), before);
    set.verify();
}

/// With it a note costs more than is spent without asking: a card that a grown-up may answer alone.
const DEAR: &str = "[budget]\nprices = [\"note_add 200000\"]\n";

#[test]
fn card_of_a_group_is_answered_by_the_owner_elsewhere() {
    let (house, server) = household(DEAR);
    let set = &house.set;
    let_in(set, &server, "adult");
    server.say_in(GROUP, MARCO, "@metnos_test_bot note that the plumber comes on Monday");
    let card = server.told(GROUP, "The owner answers this");
    assert!(card.text.contains("plumber"), "{card:?}");
    server.told(GROUP, "This waits for a yes");
    server.settled();
    assert_eq!(card.button("y"), None, "{card:?}");
    let owners = server.until("the owner's card", |state| {
        state.messages.iter().find(|one| one.chat == MARTA && one.button("y").is_some()).cloned()
    });
    // Its button, pressed in the group or by another one, is nothing.
    let data = owners.button("y").unwrap();
    for (who, chat, message) in [(MARCO, GROUP, card.id), (MARTA, GROUP, card.id), (MARCO, MARTA, owners.id)] {
        server.press(who, chat, message, &data);
        server.settled();
    }
    let noted = || std::fs::read_to_string(set.workspace("notes/notes.md")).unwrap_or_default().contains("plumber");
    assert!(!noted());
    for words in ["/approvals", "/pause", "/file"] {
        let told = asks(&server, MARTA, &format!("{words}@metnos_test_bot")).text;
        assert!(told.contains("private chat"), "{words}: {told}");
    }
    server.press(MARTA, MARTA, owners.id, &data);
    server.until("the note", |_| noted().then_some(()));
    set.verify();
}
