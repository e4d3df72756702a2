//! The channel of Telegram: whole sets of daemons, and a server of the Bot API that does everything which the real one does
//! to its bots.

use std::io::Write;
use std::process::{Command, Output, Stdio};

use metnos_tests::chronicle::{Line, count};
use metnos_tests::instance::{Instance, Plan};
use metnos_tests::telegram::{Emulator, Fault, TOKEN, message_update};
use serde_json::{Value, json};

const OWNER: i64 = 5_001;
const GUEST: i64 = 5_002;
const STRANGER: i64 = 5_003;

/// With it a note costs more than is spent without asking: a card that its asker may answer.
const DEAR: &str = "[budget]\nprices = [\"note_add 200000\"]\n";

fn piped(set: &Instance, words: &[&str], input: &str) -> Output {
    let mut command = set.command("metnosctl");
    command.args(words).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    child.wait_with_output().unwrap()
}

/// A set whose door serves a bot, and the server.
fn served(config: &str) -> (Instance, Emulator) {
    let server = Emulator::start();
    let set = Plan::new().config(&format!("{}{config}", server.config())).start();
    set.is_grown();
    server.serves(&set);
    server.settled();
    (set, server)
}

/// A person becomes known by an invitation.
fn paired(set: &Instance, server: &Emulator, who: i64, standing: &str) {
    server.knows(set, who, standing);
    server.told(who, "The code was good");
}

fn with_owner(config: &str) -> (Instance, Emulator) {
    let (set, server) = served(config);
    paired(&set, &server, OWNER, "owner");
    (set, server)
}

fn kill_door(set: &Instance) -> u32 {
    let pid = set.pids()["gatewayd"];
    let process = rustix::process::Pid::from_raw(i32::try_from(pid).unwrap()).unwrap();
    rustix::process::kill_process(process, rustix::process::Signal::KILL).unwrap();
    pid
}

fn said(lines: &[Line], text: &str) -> usize {
    lines.iter().filter(|line| line.kind() == "owner_message" && line.payload("text") == text).count()
}

#[test]
fn stranger_is_paired_by_code_or_invitation_and_revoked_at_once() {
    let (set, server) = served("");
    for text in ["read notes/welcome.md", "hello?", "K7-DELTA-19"] {
        server.say(STRANGER, text);
    }
    let line = server.told(STRANGER, "metnosctl pairing approve telegram ");
    server.settled();
    assert_eq!(server.chat(STRANGER).len(), 1, "a stranger is told once a minute");
    assert_eq!(count(&set.chronicle(), "owner_message"), 0);
    let code = line.text.rsplit(' ').next().unwrap();
    let (exit, known) = set.json(&["pairing", "approve", "telegram", code]);
    assert_eq!((exit, known["principal"].as_str()), (0, Some("telegram:5003")), "{known:#}");
    std::fs::write(set.workspace("shared/list.md"), "latte\n").unwrap();
    server.say(STRANGER, "read shared/list.md");
    server.told(STRANGER, "latte");
    // A link of the bot carries the code.
    let (_, invited) = set.json(&["pairing", "invite", "telegram", "--as", "guest"]);
    server.say(GUEST, &format!("/start {}", invited["code"].as_str().unwrap()));
    server.told(GUEST, "you are known here");
    assert_eq!(set.json(&["pairing", "revoke", "telegram:5003"]).0, 0);
    let before = server.chat(STRANGER).len();
    server.say(STRANGER, "read shared/list.md");
    server.settled();
    assert!(server.chat(STRANGER).len() <= before + 1 && said(&set.chronicle(), "read shared/list.md") == 1);
    set.verify();
}

#[test]
fn long_answer_reaches_its_chat_with_markup_escaped() {
    let (set, server) = with_owner("");
    let text: String = (0..900).map(|n| format!("line {n} <b>&amp; \u{1f980}</b>\n")).collect();
    std::fs::write(set.workspace("notes/long.md"), &text).unwrap();
    server.say(OWNER, "read notes/long.md");
    server.told(OWNER, "line 899");
    server.settled();
    let pieces: Vec<String> = server.chat(OWNER).into_iter().skip(1).map(|message| message.text).collect();
    assert!(pieces.len() > 3 && pieces.iter().all(|piece| piece.encode_utf16().count() <= 4_096));
    assert_eq!(pieces.join("\n"), text.trim_end());
    // Longer than a person reads in a chat: the first of it, and a file.
    let text = "word ".repeat(20_000);
    std::fs::write(set.workspace("notes/vast.md"), &text).unwrap();
    server.say(OWNER, "read notes/vast.md");
    let file = server.told(OWNER, "The whole answer").file.unwrap();
    assert_eq!((file.0.as_str(), file.1.len()), ("answer.txt", text.len()));
    let (_, status) = set.json(&["telegram", "status"]);
    assert_eq!(status["state"], "@metnos_test_bot listens");
    set.verify();
}

#[test]
fn telegram_card_is_answered_once_and_only_by_its_asker() {
    let (set, server) = with_owner(DEAR);
    paired(&set, &server, GUEST, "guest");
    server.say(OWNER, "note: call the dentist");
    let card = server.told(OWNER, "May this be done?");
    let yes = card.button(":y").unwrap();
    assert!(card.button(":n").is_some() && card.button(":t").is_some() && yes.len() <= 64);
    let stale = "does not wait for your word";
    let refused = |who: i64, chat: i64, message: i64, data: &str| {
        let query = server.press(who, chat, message, data);
        let text = server.until("an acknowledgement", |state| {
            state.acknowledged.iter().find(|(name, _)| *name == query).map(|(_, text)| text.clone())
        });
        assert!(text.contains(stale) || text.is_empty(), "{who} in {chat}: {text}");
    };
    // Forwarded to a guest, to a stranger, into a group; with another digest, another card, another word.
    refused(GUEST, GUEST, 1, &yes);
    refused(STRANGER, STRANGER, 1, &yes);
    refused(OWNER, -77, card.id, &yes);
    refused(GUEST, OWNER, card.id, &yes);
    let other = yes.replace(&yes[yes.len() - 10..yes.len() - 2], "00000000");
    for data in [other.as_str(), "card:none-such:0123456789abcdef:y", "anything"] {
        refused(OWNER, OWNER, 1, data);
    }
    assert!(
        !set.workspace("notes/journal.md").exists()
            || !std::fs::read_to_string(set.workspace("notes/journal.md")).unwrap().contains("dentist")
    );
    assert!(set.chronicle().iter().all(|line| line.kind() != "run_started"));
    server.press(OWNER, OWNER, card.id, &yes);
    let settled = server.told(OWNER, "Approved by telegram:5001; 1 done.");
    assert_eq!((settled.id, settled.button(":y")), (card.id, None), "the card itself is edited");
    refused(OWNER, OWNER, card.id, &yes);
    let runs = |set: &Instance| set.chronicle().iter().filter(|line| line.kind() == "run_started").count();
    assert_eq!(runs(&set), 1);

    // One that is decided at the machine is edited, too.
    server.say(OWNER, "note: buy milk");
    let second = server.until("a second card", |state| {
        state.messages.iter().rfind(|one| one.text.contains("May this be done?") && one.id != card.id).cloned()
    });
    let id = second.button(":y").unwrap().split(':').nth(1).unwrap().to_owned();
    let (code, _) = set.json(&["approval", "deny", &id]);
    assert_eq!(code, 0);
    let edited = server.told(OWNER, "Denied by cli:uid:");
    assert_eq!((edited.id, edited.button(":y")), (second.id, None));
    assert_eq!(runs(&set), 1);
    set.verify();
}

#[test]
fn owners_card_has_no_button_for_guest_and_forged_press_is_ignored() {
    let (set, server) = served("");
    paired(&set, &server, GUEST, "guest");
    server.say(GUEST, "note: call the dentist");
    let card = server.told(GUEST, "metnosctl approval show ");
    assert_eq!(card.button(":y"), None);
    let (_, cards) = set.json(&["approval", "list"]);
    let (id, digest) = (cards[0]["id"].as_str().unwrap(), cards[0]["digest"].as_str().unwrap());
    server.press(GUEST, GUEST, card.id, &format!("card:{id}:{}:y", &digest[digest.len() - 16..]));
    server.until("a refusal", |state| {
        let about = |one: &&metnos_tests::telegram::Message| one.chat == GUEST && one.id > card.id;
        state.messages.iter().find(about).cloned()
    });
    assert!(set.chronicle().iter().all(|line| line.kind() != "run_started"));
    assert_eq!(set.json(&["approval", "list"]).1[0]["state"], "waiting");
    // /approvals shows him his own, and what he may not stop he does not.
    server.say(GUEST, "/pause");
    server.told(GUEST, "What was under way for you is stopped");
    assert_eq!(set.json(&["status"]).1["policy"]["stopped_ms"], 0);
    set.verify();
}

#[test]
fn the_commands_do_what_they_say_under_the_name_of_who_says_them() {
    let (set, server) = with_owner(DEAR);
    let commands = server.with(|state| state.commands.clone());
    let names = |set: &Value| -> Vec<String> {
        set.as_array().unwrap().iter().map(|one| one["command"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(names(&commands[""]), ["help", "status", "undo", "approvals", "file", "pause"]);
    assert!(commands["it"][2]["description"].as_str().unwrap().contains("annulla"));
    server.say(OWNER, "/help");
    server.told(OWNER, "/approvals");
    server.say(OWNER, "/approvals");
    server.told(OWNER, "Nothing waits");
    server.say(OWNER, "note: buy milk");
    let card = server.told(OWNER, "May this be done?");
    server.say(OWNER, "/approvals");
    let again = server.until("the card once more", |state| {
        state.messages.iter().find(|one| one.text.contains("May this be done?") && one.id != card.id).cloned()
    });
    assert_eq!(again.button(":y"), card.button(":y"));
    server.say(OWNER, "/status");
    server.told(OWNER, "Waiting for your word: 1");
    server.say(OWNER, "/pause");
    server.told(OWNER, "Everything is stopped");
    assert_ne!(set.json(&["status"]).1["policy"]["stopped_ms"], 0);
    set.verify();
}

#[test]
fn telegram_undo_works_once_and_second_one_says_so() {
    let (set, server) = with_owner("");
    let journal = |set: &Instance| -> String {
        let read = |entry: std::fs::DirEntry| std::fs::read_to_string(entry.path()).unwrap_or_default();
        let hidden = |entry: &std::fs::DirEntry| entry.file_name().to_string_lossy().starts_with('.');
        let all = std::fs::read_dir(set.workspace("notes")).unwrap().map_while(Result::ok);
        all.filter(|entry| !hidden(entry)).map(read).collect()
    };
    server.say(OWNER, "note: call the dentist");
    server.settled();
    assert!(journal(&set).contains("call the dentist"), "{:#?}", server.chat(OWNER));
    server.say(OWNER, "/undo");
    server.told(OWNER, "The note is taken out again.");
    assert!(!journal(&set).contains("call the dentist"), "{}\n{:#?}", journal(&set), server.chat(OWNER));
    // In words it is the same.
    server.say(OWNER, "undo that");
    server.told(OWNER, "There is nothing of yours to take back.");
    let lines = set.chronicle();
    assert_eq!((said(&lines, "/undo"), said(&lines, "undo that")), (1, 1), "what has an effect is recorded");
    set.verify();
}

#[test]
fn updates_that_come_twice_or_out_of_order_are_each_answered_once() {
    let (set, server) = with_owner("");
    server.with(|state| {
        let texts = [(4_003, "list notes"), (4_001, "read notes/shopping.md"), (4_002, "leggi notes/shopping.md")];
        for (id, text) in texts.into_iter().chain(texts) {
            state.pending.push((id, message_update(id, OWNER, OWNER, "private", text)));
        }
        state.count_from(4_004);
    });
    server.settled();
    // The bot had polled from there on only afterwards: a server that says old ones again is not listened to.
    server.with(|state| state.pending.push((4_002, message_update(4_002, OWNER, OWNER, "private", "list notes"))));
    server.say(OWNER, "/help");
    server.told(OWNER, "/approvals");
    let lines = set.chronicle();
    for text in ["read notes/shopping.md", "leggi notes/shopping.md", "list notes"] {
        assert_eq!(said(&lines, text), 1, "{text}");
    }
    assert_eq!(server.chat(OWNER).iter().filter(|one| one.text.contains("latte")).count(), 2);
    set.verify();
}

#[test]
fn telegram_errors_are_retried_and_retry_after_is_obeyed() {
    let (set, server) = with_owner("");
    for fault in [Fault::RetryAfter(1), Fault::ServerError, Fault::LostBefore] {
        server.fail("sendMessage", fault);
    }
    server.fail("getUpdates", Fault::ServerError);
    server.say(OWNER, "read notes/shopping.md");
    server.told(OWNER, "latte");
    server.settled();
    assert_eq!(server.chat(OWNER).iter().filter(|one| one.text.contains("latte")).count(), 1);
    assert_eq!(said(&set.chronicle(), "read notes/shopping.md"), 1);
    // The net is gone, and comes back.
    server.is_down(true);
    metnos_tests::until("the door says so", metnos_tests::telegram::WITHIN, || {
        let (_, status) = set.json(&["telegram", "status"]);
        status["state"].as_str().unwrap().contains("does not listen").then_some(())
    });
    server.say(OWNER, "leggi notes/shopping.md");
    server.is_down(false);
    server.until("the answer", |state| {
        (state.messages.iter().filter(|one| one.chat == OWNER && one.text.contains("latte")).count() == 2).then_some(())
    });
    server.settled();
    // Another program listens to the bot, too.
    server.with(|state| state.pending.clear());
    let url = format!("http://127.0.0.1:{}/bot{TOKEN}/getUpdates?timeout=0", server.port);
    let asked = Command::new("python3")
        .args(["-c", &format!("import urllib.request as u; u.urlopen({url:?}).read()")])
        .status();
    assert!(asked.unwrap().success());
    server.settled();
    set.verify();
}

#[test]
fn door_killed_before_answering_telegram_answers_once() {
    let (set, server) = with_owner("");
    // Killed while the answer waits to be taken: it was recorded, and nobody was told.
    server.fail("sendMessage", Fault::Hang);
    server.say(OWNER, "read notes/shopping.md");
    server.until("an answer that hangs", |state| (state.hanging > 0).then_some(()));
    let old = kill_door(&set);
    server.release();
    set.wait_back("gatewayd", old);
    server.told(OWNER, "latte");
    server.settled();
    assert_eq!(server.chat(OWNER).iter().filter(|one| one.text.contains("latte")).count(), 1);
    let lines = set.chronicle();
    assert_eq!((said(&lines, "read notes/shopping.md"), count(&lines, "run_started")), (1, 1));

    // Killed right after the answer was taken: it is confirmed late, and not said again.
    server.fail("getUpdates", Fault::LostBefore);
    server.say(OWNER, "leggi notes/shopping.md");
    server.until("a second answer", |state| {
        (state.messages.iter().filter(|one| one.chat == OWNER && one.text.contains("latte")).count() == 2).then_some(())
    });
    let old = kill_door(&set);
    set.wait_back("gatewayd", old);
    server.settled();
    server.say(OWNER, "/help");
    server.told(OWNER, "/approvals");
    assert_eq!(server.chat(OWNER).iter().filter(|one| one.text.contains("latte")).count(), 2);
    assert_eq!(count(&set.chronicle(), "run_started"), 2);
    set.verify();
}

#[test]
fn a_card_outlives_the_door_that_showed_it() {
    let (set, server) = with_owner(DEAR);
    server.say(OWNER, "note: call the dentist");
    let card = server.told(OWNER, "May this be done?");
    server.settled();
    let old = kill_door(&set);
    set.wait_back("gatewayd", old);
    server.press(OWNER, OWNER, card.id, &card.button(":y").unwrap());
    let settled = server.told(OWNER, "Approved by telegram:5001; 1 done.");
    assert_eq!(settled.id, card.id);
    assert_eq!(count(&set.chronicle(), "run_started"), 1);
    set.verify();
}

#[test]
fn flooding_stranger_gets_one_reply_and_delays_no_one() {
    let (set, server) = with_owner("");
    let before = set.chronicle().len();
    server.with(|state| {
        for n in 0..500_u64 {
            let id = 10_000 + n;
            let text = if n % 3 == 0 { format!("A{}-ECHO-{:02}", n % 10, n % 100) } else { format!("let me in {n}") };
            state.pending.push((id, message_update(id, STRANGER, STRANGER, "private", &text)));
        }
        state.pending.push((10_500, message_update(10_500, OWNER, OWNER, "private", "read notes/shopping.md")));
        state.count_from(10_501);
    });
    server.told(OWNER, "latte");
    server.settled();
    assert!(server.chat(STRANGER).len() <= 1, "{:#?}", server.chat(STRANGER));
    let lines = set.chronicle();
    assert!(lines[before..].iter().all(|line| !line.to_text().contains("let me in")));
    assert_eq!(count(&lines[before..], "owner_message"), 1);
    set.verify();
}

#[test]
fn only_private_text_typed_by_paired_sender_is_a_request() {
    let (set, server) = with_owner("");
    for key in ["forward_origin", "via_bot"] {
        server.push(|id| {
            let mut update = message_update(id, OWNER, OWNER, "private", "note: call the dentist");
            update["message"][key] = json!({"type": "hidden_user", "sender_user_name": "x", "id": 9});
            update
        });
    }
    server.told(OWNER, "someone else's text");
    server.push(|id| {
        let mut update = message_update(id, OWNER, OWNER, "private", "");
        update["message"]["location"] = json!({"latitude": 1.5, "longitude": 2.5});
        update
    });
    server.told(OWNER, "a message of this kind");
    for _ in 0..3 {
        server.push(|id| message_update(id, OWNER, -77, "group", "@metnos_test_bot note: call the dentist"));
        server.push(|id| message_update(id, OWNER, -79, "group", "note: call the dentist"));
        server.push(|id| message_update(id, STRANGER, -78, "supergroup", "note: call the dentist"));
    }
    server.told(-77, "I do not know this group");
    server.push(
        |id| json!({"update_id": id, "edited_message": {"text": "note: x"}, "channel_post": {"chat": {"id": -9}}}),
    );
    server.settled();
    assert_eq!([-77, -78, -79].map(|group| server.chat(group).len()), [1, 0, 0]);
    assert_eq!(count(&set.chronicle(), "owner_message"), 0);
    set.verify();
}

#[test]
fn the_token_is_in_its_file_and_nowhere_else() {
    let (mut set, server) = with_owner("");
    for fault in [Fault::LostBefore, Fault::RetryAfter(1), Fault::LostAfter] {
        server.fail("sendMessage", fault);
    }
    server.say(OWNER, "read notes/shopping.md");
    server.told(OWNER, "latte");
    server.is_down(true);
    metnos_tests::until("the door says so", metnos_tests::telegram::WITHIN, || {
        let (_, status) = set.json(&["telegram", "status"]);
        status["state"].as_str().unwrap().contains("does not listen").then_some(())
    });
    let secret = TOKEN.split(':').nth(1).unwrap();
    for (name, pid) in set.pids() {
        for file in ["environ", "cmdline"] {
            let bytes = std::fs::read(format!("/proc/{pid}/{file}")).unwrap_or_default();
            assert!(!String::from_utf8_lossy(&bytes).contains(secret), "{name}: {file}");
        }
    }
    for words in [&["status"][..], &["telegram", "status"], &["audit", "tail"], &["doctor"]] {
        let output = set.ctl(words);
        assert!(!String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).contains(secret), "{words:?}");
    }
    let bad = piped(&set, &["telegram", "token"], "12345:not a/token?at=all");
    assert_eq!(bad.status.code(), Some(1), "{bad:?}");
    set.down();
    assert!(!set.logs().contains(secret));
    let mut holders = Vec::new();
    let mut folders = vec![set.home().to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap().map_while(Result::ok) {
            let kind = entry.file_type().unwrap();
            if kind.is_dir() {
                folders.push(entry.path());
            } else if kind.is_file() && String::from_utf8_lossy(&std::fs::read(entry.path()).unwrap()).contains(secret)
            {
                holders.push(entry.path().strip_prefix(set.home()).unwrap().display().to_string());
            }
        }
    }
    assert_eq!(holders, [".gateway/telegram.token"]);
}

#[test]
fn door_connects_only_to_telegram_port_and_only_with_a_token() {
    let connects = |set: &Instance| -> String {
        let rows = set.daemons().unwrap();
        let door = rows.iter().find(|row| row["name"] == "gatewayd").unwrap();
        let line = |line: &&str| line.starts_with("connects ");
        door["lock"].as_array().unwrap().iter().filter_map(Value::as_str).find(line).unwrap().to_owned()
    };
    let (set, server) = served("");
    assert_eq!(connects(&set), format!("connects {}", server.port));
    let (_, status) = set.json(&["status"]);
    assert_eq!(status["door"]["telegram"], "@metnos_test_bot listens");
    // An empty one takes it away.
    assert!(piped(&set, &["telegram", "token"], "\n").status.success());
    assert_eq!(connects(&set), "connects none");
    assert_eq!(set.json(&["telegram", "status"]).1["configured"], false);
    let before = server.with(|state| state.calls.len());
    assert!(!set.ask("read notes/shopping.md").is_empty());
    assert_eq!(server.with(|state| state.calls.len()), before);
}

#[test]
fn the_server_of_these_tests_is_what_another_client_takes_for_telegram() {
    let target = std::path::PathBuf::from(
        std::env::var_os("CARGO_TARGET_DIR")
            .unwrap_or_else(|| concat!(env!("CARGO_MANIFEST_DIR"), "/../target").into()),
    );
    let library = target.join("peers/telegram");
    assert!(library.join("telegram").is_dir(), "{} is missing: ./metnos test installs it", library.display());
    let server = Emulator::start();
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/peers/telegram/check.py");
    let output = Command::new("python3")
        .arg(script)
        .arg(format!("http://127.0.0.1:{}", server.port))
        .arg(TOKEN)
        .env("PYTHONPATH", &library)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    server.say(OWNER, "first \u{1f980}");
    server.until("the client has said something", |state| state.messages.first().map(|_| ()));
    let message = server.chat(OWNER)[0].id;
    server.press(OWNER, OWNER, message, "pressed");
    server.fail("sendMessage", Fault::RetryAfter(7));
    let output = output.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && said.contains("all as it should be"), "{said}");
}
