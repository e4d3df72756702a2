//! Reminders through the whole set, without a model: planned in words, listed, cancelled, taken back, and given once: at the
//! terminal, in a chat, and over the loss of the daemons on the way.

use std::time::{Duration, Instant};

use metnos_tests::http::{Web, said};
use metnos_tests::instance::{Instance, Plan};
use metnos_tests::telegram::{Emulator, Fault};
use metnos_tests::terminal::Terminal;
use metnos_tests::until;
use serde_json::json;

const OWNER: i64 = 5_101;
const GUEST: i64 = 5_102;
/// How long something that is to come is waited for.
const WITHIN: Duration = Duration::from_secs(60);

fn with_chats() -> (Instance, Emulator) {
    let server = Emulator::start();
    let set = Plan::new().config(&server.config()).start();
    server.serves(&set);
    server.settled();
    server.knows(&set, OWNER, "owner");
    server.told(OWNER, "The code was good");
    (set, server)
}

/// Asks until the answer has this in it.
fn asked_until(set: &Instance, words: &str, part: &str) -> String {
    let begun = Instant::now();
    loop {
        let told = set.ask(words);
        if told.contains(part) {
            return told;
        }
        assert!(begun.elapsed() < WITHIN, "never: {part}; {told}");
        std::thread::sleep(Duration::from_millis(100));
    }
}

/// What is said of words that are not done.
fn refused(set: &Instance, words: &str) -> String {
    let told = set.ctl(&["ask", words]);
    assert!(!told.status.success(), "{words}: {told:?}");
    String::from_utf8_lossy(&told.stderr).into_owned()
}

fn kill(set: &Instance, name: &str) {
    let pid = set.pids()[name];
    rustix::process::kill_process(
        rustix::process::Pid::from_raw(i32::try_from(pid).unwrap()).unwrap(),
        rustix::process::Signal::KILL,
    )
    .unwrap();
    set.wait_back(name, pid);
}

#[test]
fn reminder_at_the_terminal_stands_before_the_next_answer_once() {
    let set = Instance::start();
    let told = set.ask("remind me in 1 second to stretch");
    assert!(told.contains("I will remind you") && told.contains("stretch"), "{told}");
    assert!(told.contains("or when you next say something"), "it says how he is reached: {told}");
    let told = asked_until(&set, "hello", "Reminder: Stretch.");
    assert!(told.contains("Hello"), "the answer follows: {told}");
    assert!(!set.ask("hello").contains("Reminder"), "it was given once");
    assert_eq!(set.ask("what is planned?"), "Nothing is planned.\n");
    let (_, all) = set.json(&["schedule", "list", "--all"]);
    assert_eq!((&all[0]["state"], &all[0]["what"]), (&json!("completed"), &json!("stretch")));
    let (_, history) = set.json(&["schedule", "show", "1"]);
    assert_eq!(history["firings"][0]["state"], "delivered");
    set.verify();
}

#[test]
fn reminders_are_listed_cancelled_and_taken_back_in_words() {
    let set = Instance::start();
    let told = set.ask("remind me tomorrow at 9 to call the dentist");
    assert!(told.contains("tomorrow at 9:00") && told.contains("call the dentist"), "{told}");
    let told = set.ask("ricordami ogni lunedì alle 7:30 di portare fuori la spazzatura");
    assert!(told.contains("ogni lunedì alle 7:30") && told.contains("Le prossime volte"), "{told}");
    let told = set.ask("what is planned");
    let lines: Vec<&str> = told.lines().collect();
    assert_eq!(lines.len(), 2, "{told}");
    assert!(lines.iter().any(|line| line.ends_with("tomorrow at 9:00: call the dentist")), "{told}");
    let bins = lines.iter().position(|line| line.contains("spazzatura")).unwrap() + 1;
    let ordinal = ["first", "second"][bins - 1];
    let told = set.ask(&format!("cancel the {ordinal} one"));
    assert!(told.contains("portare fuori la spazzatura"), "{told}");
    assert_eq!(set.ask("cosa c'è in programma?"), "1. domani alle 9:00: call the dentist\n");
    let told = set.ask("annulla");
    assert!(told.contains("call the dentist"), "{told}");
    assert_eq!(set.ask("what is planned?"), "Nothing is planned.\n");
    assert!(refused(&set, "cancel the dentist reminder").contains("no reminder like that"));
    // No calendar is connected, so what is called by its name is the reminder.
    assert!(set.ask("remind me tomorrow at 9 of the dentist").contains("9:00"));
    assert!(set.ask("move the dentist to 10:30").contains("10:30"));
    assert!(set.ask("cancel the dentist reminder").contains("dentist"));
    // What is not wholly clear is asked for, and the answer completes it.
    assert!(set.ask("remind me to water the plants").contains("When shall I remind you"));
    assert!(set.ask("tomorrow at 18:00").contains("water the plants"));
    assert!(refused(&set, "remind me yesterday at 9 to call").contains("is over"));
    let (code, added) = set.json(&["schedule", "add", "buy", "flowers", "--when", "tomorrow at 10:00"]);
    assert_eq!((code, &added[0]["what"]), (0, &json!("buy flowers")));
    let number = added[0]["number"].to_string();
    assert_eq!(set.json(&["schedule", "pause", &number]).1[0]["state"], "paused");
    assert!(set.ask("what is planned?").contains("buy flowers (paused)"));
    assert_eq!(set.json(&["schedule", "resume", &number]).1[0]["state"], "active");
    assert_eq!(set.json(&["schedule", "cancel", &number]).1[0]["state"], "cancelled");
    assert_eq!(set.json(&["schedule", "cancel", &number]).0, 1, "it is over");
    set.verify();
}

#[test]
fn reminder_in_a_chat_comes_by_itself_and_to_its_own_person() {
    let (set, server) = with_chats();
    server.knows(&set, GUEST, "guest");
    server.told(GUEST, "The code was good");
    server.say(GUEST, "ricordami fra 2 secondi di togliere il pane dal forno");
    server.told(GUEST, "Te lo ricorderò");
    let reminder = server.told(GUEST, "Promemoria: Togliere il pane dal forno.");
    assert!(!server.chat(OWNER).iter().any(|one| one.text.contains("pane")), "it is nobody else's");
    server.settled();
    assert_eq!(server.chat(GUEST).iter().filter(|one| one.text == reminder.text).count(), 1);
    // A guest sees and changes what is his own.
    server.say(GUEST, "ricordami domani alle 9 di chiamare la scuola");
    server.told(GUEST, "chiamare la scuola");
    assert_eq!(set.ask("what is planned?"), "Nothing is planned.\n");
    assert!(refused(&set, "cancel the scuola reminder").contains("no reminder like that"));
    server.say(GUEST, "cosa c'è in programma?");
    server.told(GUEST, "1. domani alle 9:00: chiamare la scuola");
    set.verify();
}

#[test]
fn reminder_is_given_once_over_the_loss_of_the_daemons() {
    let (set, server) = with_chats();
    server.say(OWNER, "remind me in 6 seconds to turn the oven off");
    server.told(OWNER, "I will remind you");
    kill(&set, "memoryd");
    kill(&set, "gatewayd");
    server.told(OWNER, "Reminder: Turn the oven off.");
    kill(&set, "gatewayd");
    server.say(OWNER, "what is planned?");
    server.told(OWNER, "Nothing is planned.");
    let given = server.chat(OWNER).iter().filter(|one| one.text.contains("Turn the oven off")).count();
    assert_eq!(given, 1);
    set.verify();
}

/// Waits until the first firing of the first reminder stands so.
fn stands(set: &Instance, state: &str) {
    stands_of(set, "1", state);
}

/// The same of the one of this number.
fn stands_of(set: &Instance, number: &str, state: &str) {
    let begun = Instant::now();
    while set.json(&["schedule", "show", number]).1["firings"][0]["state"] != json!(state) {
        assert!(begun.elapsed() < WITHIN, "it never was {state}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn reminder_whose_answer_is_lost_is_unsure_and_not_sent_twice_at_once() {
    let (set, server) = with_chats();
    server.say(OWNER, "remind me in 3 seconds to feed the cat");
    server.told(OWNER, "I will remind you");
    server.settled();
    server.fail("sendMessage", Fault::LostAfter);
    stands(&set, "unsure");
    assert_eq!(server.chat(OWNER).iter().filter(|one| one.text.contains("Feed the cat.")).count(), 1);
    assert_eq!(set.json(&["schedule", "list"]).1[0]["state"], "active", "it is tried again later");
    set.verify();
}

#[test]
fn reminder_of_a_door_that_died_is_given_again_and_says_so() {
    let (set, server) = with_chats();
    server.say(OWNER, "remind me in 3 seconds to feed the cat");
    server.told(OWNER, "I will remind you");
    server.settled();
    server.fail("sendMessage", Fault::Hang);
    stands(&set, "begun");
    kill(&set, "gatewayd");
    server.release();
    let told = server.told(OWNER, "Feed the cat.");
    assert!(told.text.contains("I may have told you this before"), "{told:?}");
    stands(&set, "delivered");
    set.verify();
}

#[test]
fn reminder_appears_in_an_open_chat_as_soon_as_it_is_due() {
    let set = Instance::start();
    let mut terminal = Terminal::of(&set, &["chat"], 120, &[]);
    terminal.until("› ");
    terminal.says("remind me in 2 seconds to stretch");
    terminal.until("I will remind you");
    terminal.until("Reminder: Stretch.");
    stands(&set, "delivered");
    assert!(!set.ask("hello").contains("Reminder"), "it was given once");
    drop(terminal);
    set.verify();
}

#[test]
fn schedules_over_http_are_the_callers_own() {
    let set = Plan::new().config("[http]\nlisten = \"127.0.0.1:0\"\n").start();
    let (owner, guest) = (Web::of(&set).paired(&set, "owner"), Web::of(&set).paired(&set, "guest"));
    let told = said(&guest.say("remind me tomorrow at 9 to bring the book back").until("done"));
    assert!(told.contains("bring the book back"), "{told}");
    let page = guest.get("/v1/schedules").json();
    assert_eq!(page["schedules"][0]["what"], "bring the book back");
    assert_eq!((page["schedules"].as_array().unwrap().len(), &page["next"]), (1, &json!(null)));
    assert_eq!(owner.get("/v1/schedules").json()["schedules"], json!([]));
    set.verify();
}

#[test]
fn question_is_answered_before_what_is_said_next_and_once() {
    let set = Instance::start();
    assert!(set.ask("add milk to the shopping list").contains("milk"));
    assert!(refused(&set, "every 5 minutes tell me what is on the shopping list").contains("every 15 minutes"));
    // Whatever is asked from here on may be what the answer stands before.
    let told = set.ask("in 1 second tell me what is on the shopping list");
    assert!(told.contains("I will answer “what is on the shopping list”"), "{told}");
    let told = asked_until(&set, "hello", "“what is on the shopping list”, as you asked:");
    assert!(told.contains("milk") && told.contains("Hello"), "{told}");
    assert!(!set.ask("hello").contains(", as you asked:"), "it was given once");
    let (_, all) = set.json(&["schedule", "list", "--all"]);
    assert_eq!((&all[0]["kind"], &all[0]["state"]), (&json!("ask"), &json!("completed")));
    // What it has asked is nobody's last words.
    assert!(!refused(&set, "again").contains("milk"));
    let told = set.ask("ogni sera alle 21 dimmi che cosa è successo oggi");
    assert!(told.contains("Risponderò a «che cosa è successo oggi» ogni giorno alle 21:00"), "{told}");
    assert!(set.ask("what is planned?").contains("the answer to “che cosa è successo oggi”"));
    assert!(set.ask("annulla").contains("che cosa è successo oggi"), "it is taken back");
    assert_eq!(set.ask("what is planned?"), "Nothing is planned.\n");
    let (code, added) = set.json(&["schedule", "add", "--ask", "what is planned today", "--when", "every day at 8:00"]);
    assert_eq!((code, &added[0]["kind"]), (0, &json!("ask")));
    set.verify();
}

#[test]
fn what_is_asked_for_every_week_is_done_then_told_and_taken_back() {
    let set = Instance::start();
    assert!(set.ask("add tea to the shopping list").contains("tea"));
    let told = set.ask("every Friday at 18 add milk to the shopping list");
    assert!(told.contains("I will do this every Friday at 18:00") && told.contains("I ask nobody then"), "{told}");
    assert!(!set.ask("what is on the shopping list").contains("milk"), "nothing is done now");
    assert!(refused(&set, "every 5 minutes add milk to the shopping list").contains("every 15 minutes"));
    assert_eq!(set.json(&["schedule", "run-now", "1"]).0, 0);
    let told = asked_until(&set, "hello", "“add milk to the shopping list”, as planned:");
    assert!(told.contains("milk"), "{told}");
    assert_eq!(set.ask("what is on the shopping list").matches("milk").count(), 1);
    assert!(set.ask("undo").contains("shopping"), "what was done by itself is taken back as ever");
    assert!(!set.ask("what is on the shopping list").contains("milk"));
    assert!(set.ask("what is planned?").contains("done by itself: “add milk to the shopping list”"));
    let told = set.ask("ogni domenica alle 21 svuota la lista della spesa");
    assert!(told.contains("Lo farò ogni domenica alle 21:00"), "{told}");
    assert!(set.ask("annulla").contains("svuota la lista della spesa"));
    // What cannot be taken back, or would have to be asked for, is not done by itself.
    for words in ["every Friday at 18 delete notes/welcome.md", "every Friday at 18 run ls"] {
        assert!(!set.ctl(&["ask", words]).status.success(), "{words}");
    }
    let (_, all) = set.json(&["schedule", "list"]);
    assert_eq!((all.as_array().unwrap().len(), &all[0]["kind"]), (1, &json!("do")));
    set.verify();
}

#[test]
fn what_is_done_by_itself_is_done_once_whatever_daemon_dies() {
    let (set, server) = with_chats();
    server.say(OWNER, "every Friday at 18 add milk to the shopping list");
    server.told(OWNER, "I will do this every Friday");
    for (round, daemon) in ["planner", "policyd", "memoryd", "gatewayd", "sandboxd"].into_iter().enumerate() {
        let before = server.chat(OWNER).len();
        assert_eq!(set.json(&["schedule", "run-now", "1"]).0, 0);
        kill(&set, daemon);
        // It says that it was done, or that nobody knows.
        let ended = |text: &str| text.contains(", as planned:") || text.contains("I do not know whether it was done");
        until(daemon, WITHIN, || server.chat(OWNER)[before..].iter().any(|one| ended(&one.text)).then_some(()));
        let (_, tail) = set.json(&["audit", "tail", "-n", "2000"]);
        let lines = tail.as_array().unwrap().iter().map(ToString::to_string);
        let ran = lines.filter(|line| line.contains("run_started") && line.contains("fs_append")).count();
        assert!(ran <= round + 1, "{daemon}: {ran} times");
    }
    set.verify();
}

#[test]
fn question_in_a_chat_is_answered_there_over_the_loss_of_the_daemons() {
    let (set, server) = with_chats();
    server.knows(&set, GUEST, "guest");
    server.told(GUEST, "The code was good");
    server.say(GUEST, "remind me tomorrow at 9 to bring the book");
    server.told(GUEST, "bring the book");
    server.say(GUEST, "fra 6 secondi dimmi che impegni ho domani");
    server.told(GUEST, "Risponderò a «che impegni ho domani»");
    for daemon in ["planner", "memoryd", "policyd", "gatewayd"] {
        kill(&set, daemon);
    }
    let told = server.told(GUEST, "«che impegni ho domani», come mi hai chiesto:");
    assert!(told.text.contains("bring the book"), "{told:?}");
    stands_of(&set, "2", "delivered");
    assert!(!server.chat(OWNER).iter().any(|one| one.text.contains("bring the book")), "it is nobody else's");
    assert_eq!(server.chat(GUEST).iter().filter(|one| one.text.contains(", come mi hai chiesto:")).count(), 1);
    set.verify();
}

#[test]
fn day_is_reviewed_in_words_of_its_own_person() {
    let (set, server) = with_chats();
    assert!(set.ask("add milk to the shopping list").contains("milk"));
    assert!(!set.ctl(&["ask", "send a mail to Anna"]).status.success());
    assert!(set.ask("remind me in 3 hours to call the dentist").contains("dentist"));
    let told = set.ask("what happened today?");
    for part in
        ["Today: you asked me for", "Done:", "add milk to the shopping list", "beyond me:", "send a mail to Anna"]
    {
        assert!(told.contains(part), "{part}: {told}");
    }
    let told = set.ask("set a timer for 10 minutes");
    assert!(told.contains("timer"), "{told}");
    assert!(set.ask("how much time is left on the timer?").contains("in 10 minutes."));
    // Late in the evening, in three hours is tomorrow.
    let is_planned =
        |told: &str| ["today", "tomorrow"].iter().any(|day| told.starts_with(&format!("Call the dentist: {day} at")));
    assert!(is_planned(&set.ask("when do I have to call the dentist?")));
    assert!(set.ask("cancel all timers").contains("timer"));
    assert!(is_planned(&set.ask("how much time is left on the timer?")));
    let told = set.ask("com'è andata la giornata?");
    assert!(told.starts_with("Oggi: mi hai chiesto") && told.contains("Fatto:"), "{told}");
    server.knows(&set, GUEST, "guest");
    server.told(GUEST, "The code was good");
    server.say(GUEST, "cosa è successo oggi?");
    let told = server.told(GUEST, "Oggi: mi hai chiesto");
    assert!(!told.text.contains("milk") && !told.text.contains("dentist"), "it is another's day: {told:?}");
    set.verify();
}

#[test]
fn timers_that_may_be_meant_are_listed_and_one_is_chosen() {
    let set = Instance::start();
    assert!(set.ask("set a timer for 40 minutes for the tea").contains("the tea"));
    assert!(set.ask("set a timer for 30 minutes for the eggs").contains("the eggs"));
    let told = refused(&set, "cancel the timer");
    assert!(told.contains("1. ") && told.find("the eggs") < told.find("the tea"), "{told}");
    let told = set.ask("cancel the first one");
    assert!(told.contains("the eggs") && !told.contains("the tea"), "{told}");
    let told = set.ask("cancel the timer");
    assert!(told.contains("the tea"), "{told}");
    set.verify();
}

#[test]
fn message_waits_for_the_end_of_quiet_hours_and_says_so() {
    let (set, server) = with_chats();
    for (name, role) in [("Anna", "owner"), ("Marco", "adult")] {
        assert_eq!(set.json(&["people", "add", name, "--role", role]).0, 0);
    }
    server.knows(&set, GUEST, "guest");
    server.told(GUEST, "The code was good");
    assert_eq!(set.json(&["people", "join", "Marco", &format!("telegram:{GUEST}")]).0, 0);
    let (_, soon) = set.json(&["schedule", "add", "x", "--when", "in 5 minutes"]);
    let hour: u32 = soon[0]["next"][0].as_str().unwrap()[11..13].parse().unwrap();
    let quiet = format!("{}:00-{}:00", (hour + 23) % 24, (hour + 3) % 24);
    let wrong = set.ctl(&["people", "change", "Marco", "--quiet", "22-7"]);
    assert!(!wrong.status.success() && String::from_utf8_lossy(&wrong.stderr).contains("22:00-7:00"), "{wrong:?}");
    let (code, marco) = set.json(&["people", "change", "Marco", "--quiet", &quiet]);
    assert_eq!((code, &marco["quiet"]), (0, &json!(quiet)), "{marco}");
    let told = set.ask("tell Marco that dinner is ready");
    assert!(told.contains("I pass it on to Marco") && told.contains("I do not disturb Marco now"), "{told}");
    // What the owner's telos calls an emergency waits for no morning.
    let told = set.ask("tell Marco that there is a gas leak");
    assert!(told.contains("I do not disturb Marco now"), "the telos names nothing yet: {told}");
    let telos = set.home().join("workspace/TELOS.md");
    let named =
        std::fs::read_to_string(&telos).unwrap().replace("weight: 0.35\n", "weight: 0.35\nemergency: fire, gas leak\n");
    std::fs::write(&telos, named).unwrap();
    let told = set.ask("tell Marco that there is a gas leak in the kitchen");
    assert!(told.contains("I pass it on to Marco") && !told.contains("I do not disturb"), "{told}");
    server.told(GUEST, "Anna says: There is a gas leak in the kitchen.");
    kill(&set, "memoryd");
    // What Marco has asked for himself comes meanwhile.
    server.say(GUEST, "remind me in 1 second to stretch");
    server.told(GUEST, "Reminder: Stretch.");
    assert!(!server.chat(GUEST).iter().any(|one| one.text.contains("inner is ready")), "it is quiet");
    let (code, marco) = set.json(&["people", "change", "Marco", "--quiet", "none"]);
    assert_eq!((code, &marco["quiet"]), (0, &json!(null)), "{marco}");
    server.told(GUEST, "Anna says: Dinner is ready.");
    // In the person's own words, too.
    for (said, answered, kept) in [
        ("don't disturb me from 22:30 to 6:45", "From 22:30 to 6:45", json!("22:30-6:45")),
        ("non disturbarmi di notte", "Dalle 22:00 alle 7:00", json!("22:00-7:00")),
        ("togli le ore di silenzio", "a qualsiasi ora", json!(null)),
    ] {
        server.say(GUEST, said);
        server.told(GUEST, answered);
        assert_eq!(set.json(&["people", "show", "Marco"]).1["quiet"], kept, "{said}");
        if kept == json!("22:30-6:45") {
            server.say(GUEST, "what are my quiet hours?");
            server.told(GUEST, "From 22:30 to 6:45 I hold what others send you.");
        }
    }
    set.verify();
}

#[test]
fn what_is_due_at_the_terminal_goes_to_the_chat_unless_somebody_is_there() {
    let (set, server) = with_chats();
    let told = set.ask("in 2 seconds add milk to the shopping list");
    assert!(told.contains("I will do this") && told.contains("I write to you on Telegram"), "{told}");
    server.told(OWNER, "“add milk to the shopping list”, as planned:");
    assert_eq!(set.ask("what is on the shopping list").matches("milk").count(), 1);
    stands(&set, "delivered");
    let mut terminal = Terminal::of(&set, &["chat"], 120, &[]);
    terminal.until("› ");
    terminal.says("remind me in 1 second to stretch");
    terminal.until("Reminder: Stretch.");
    stands_of(&set, "2", "delivered");
    drop(terminal);
    server.settled();
    assert!(!server.chat(OWNER).iter().any(|one| one.text.contains("Stretch")), "it was taken at the terminal");
    set.verify();
}

#[test]
fn what_is_due_comes_on_the_channel_that_the_person_chose() {
    let (set, server) = with_chats();
    assert_eq!(set.json(&["people", "add", "Anna", "--role", "owner"]).0, 0);
    assert_eq!(set.json(&["people", "join", "Anna", &format!("telegram:{OWNER}")]).0, 0);
    let (code, anna) = set.json(&["people", "change", "Anna", "--channel", "cli"]);
    assert_eq!((code, &anna["channel"]), (0, &json!("cli")), "{anna}");
    assert!(anna["reached_at"].as_str().unwrap().starts_with("cli:"), "{anna}");
    let told = set.ask("remind me in 1 second to bake");
    assert!(!told.contains("I write to you on Telegram"), "{told}");
    assert!(asked_until(&set, "what time is it", "Bake.").contains("Reminder"));
    // It is planned at the terminal, and sent to the chat at once.
    let (code, anna) = set.json(&["people", "change", "Anna", "--channel", "telegram"]);
    assert_eq!((code, &anna["channel"]), (0, &json!("telegram")), "{anna}");
    let told = set.ask("remind me in 2 seconds to stretch");
    assert!(told.contains("I write to you on Telegram"), "{told}");
    server.told(OWNER, "Reminder: Stretch.");
    assert!(!server.chat(OWNER).iter().any(|one| one.text.contains("Bake")), "it was for the terminal");
    set.verify();
}

#[test]
fn message_of_a_call_reaches_its_person_where_that_person_is() {
    let (set, server) = with_chats();
    for (name, role) in [("Anna", "owner"), ("Marco", "adult"), ("Rosa", "adult")] {
        assert_eq!(set.json(&["people", "add", name, "--role", role]).0, 0);
    }
    server.knows(&set, GUEST, "guest");
    server.told(GUEST, "The code was good");
    assert_eq!(set.json(&["people", "join", "Marco", &format!("telegram:{GUEST}")]).0, 0);
    assert_eq!(set.json(&["people", "join", "Anna", &format!("telegram:{OWNER}")]).0, 0);
    let run = |words: &[&str]| set.json(&[&["run"], words].concat());
    let (code, sent) = run(&["notify", "message=dinner is at 8\nbring bread", "person=Marco"]);
    assert_eq!(code, 0, "{sent:#}");
    server.told(GUEST, "Anna says: Dinner is at 8\nbring bread");
    let (code, sent) = run(&["telegram_send", "message=the oven is on", "person=marco"]);
    assert_eq!(code, 0, "{sent:#}");
    server.told(GUEST, "Anna says: The oven is on");
    // To oneself it is said as it stands.
    assert_eq!(run(&["notify", "message=the parcel is at the door"]).0, 0);
    assert_eq!(server.told(OWNER, "parcel").text, "the parcel is at the door");
    for (words, rule) in [
        (&["notify", "message=x", "person=Rosa"][..], "people.unreachable"),
        (&["notify", "message=x", "person=Nobody"], "people.unknown"),
        (&["notify", "message=x", "person=*"], "people.one"),
        (&["telegram_send", "message=x", "person=Rosa"], "people.unreachable"),
    ] {
        let (code, no) = run(words);
        assert!(code != 0 && no.to_string().contains(rule), "{words:?}: {no:#}");
    }
    let (_, all) = set.json(&["schedule", "list", "--all"]);
    let kinds: Vec<&str> = all.as_array().unwrap().iter().filter_map(|one| one["kind"].as_str()).collect();
    assert_eq!(kinds, ["message"; 3], "{all:#}");
    assert!(all.as_array().unwrap().iter().all(|one| one["state"] == "completed"), "each was received: {all:#}");
    set.verify();
}
