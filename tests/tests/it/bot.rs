//! The bot as people meet it: answers that stream, cards that were taken away, servers of few words, two languages, and a
//! token from systemd. Before whole sets of daemons, and the server of the Bot API that `telegram` has, too.

use std::io::Write;
use std::sync::{Arc, Condvar, Mutex};

use metnos_tests::chronicle::count;
use metnos_tests::instance::{Instance, Plan};
use metnos_tests::minds::{Liar, STREAM, piece, plain, say};
use metnos_tests::telegram::{Emulator, Fault, TOKEN, message_update};
use serde_json::json;

const OWNER: i64 = 5_001;

/// With it a note costs more than is spent without asking: a card that its asker may answer.
const DEAR: &str = "[budget]\nprices = [\"note_add 200000\"]\n";

fn with_owner(config: &str) -> (Instance, Emulator) {
    let server = Emulator::start();
    let set = Plan::new().config(&format!("{}{config}", server.config())).start();
    set.is_grown();
    server.serves(&set);
    server.settled();
    server.knows(&set, OWNER, "owner");
    server.told(OWNER, "The code was good");
    (set, server)
}

#[test]
fn an_answer_streams_by_edits_of_one_message_while_a_model_takes_its_time() {
    // Each part of the answer waits until the one before stands in the chat.
    let gate: Arc<(Mutex<usize>, Condvar)> = Arc::default();
    let inside = Arc::clone(&gate);
    let model = Liar::start(move |_, request, stream| {
        if request.starts_with("GET ") {
            let models = json!({ "object": "list", "data": [{ "id": "m", "object": "model" }] });
            return say(stream, &plain("200 OK", "", &models.to_string()));
        }
        let _ = stream.write_all(STREAM.as_bytes());
        for (number, part) in ["The sea ", "goes out, ", "and comes in."].iter().enumerate() {
            let (open, changed) = &*inside;
            drop(changed.wait_while(open.lock().unwrap(), |open| *open < number).unwrap());
            let _ = stream.write_all(piece(part).as_bytes());
        }
        let end = json!({ "choices": [{ "index": 0, "delta": {}, "finish_reason": "stop" }] });
        let usage =
            json!({ "choices": [], "usage": { "prompt_tokens": 9, "completion_tokens": 5, "total_tokens": 14 } });
        say(stream, &format!("data: {end}\n\ndata: {usage}\n\ndata: [DONE]\n\n"));
    });
    let (set, server) = with_owner(&format!(
        "[models]\nsubstrates = [\"there openai http://127.0.0.1:{}/v1\"]\ninterface = [\"there/m\"]\n",
        model.port
    ));
    let open = |upto: usize| {
        *gate.0.lock().unwrap() = upto;
        gate.1.notify_all();
    };
    server.say(OWNER, "compose a sonnet about the sea, with a moon in it");
    let first = server.told(OWNER, "The sea");
    // An edit that is asked to wait is made later, and none is lost.
    server.fail("editMessageText", Fault::RetryAfter(1));
    open(1);
    let second = server.told(OWNER, "The sea goes out,");
    assert!(!second.text.contains("comes in"));
    open(2);
    let last = server.told(OWNER, "The sea goes out, and comes in.");
    assert_eq!((first.id, second.id), (last.id, last.id), "it is one message");
    assert!(last.edits >= 2 && first.edits < last.edits, "{first:?} {last:?}");
    server.settled();
    assert_eq!(server.chat(OWNER).iter().filter(|one| one.text.contains("sea")).count(), 1);
    set.verify();
}

#[test]
fn a_message_that_is_gone_when_it_is_to_be_edited_is_written_anew() {
    let (set, server) = with_owner(DEAR);
    server.say(OWNER, "note: call the dentist");
    let card = server.told(OWNER, "May this be done?");
    server.with(|state| state.messages.retain(|one| one.id != card.id));
    let (_, cards) = set.json(&["approval", "list"]);
    assert_eq!(set.json(&["approval", "approve", cards[0]["id"].as_str().unwrap()]).0, 0);
    let told = server.told(OWNER, "Approved by cli:uid:");
    assert!(told.id != card.id && told.text.contains("call the dentist"));
    set.verify();
}

#[test]
fn bot_works_with_terse_server_and_unknown_fields() {
    let server = Emulator::start();
    server.with(|state| state.is_terse = true);
    let set = Plan::new().config(&server.config()).start();
    set.is_grown();
    server.serves(&set);
    let (_, invited) = set.json(&["pairing", "invite", "telegram", "--as", "owner"]);
    let bare = |text: &str| {
        let text = text.to_owned();
        server.push(move |id| {
            json!({"update_id": id, "something_new": {"deep": [1, {"x": null}]}, "message": {
                "message_id": id, "chat": {"id": OWNER}, "from": {"id": OWNER, "vibe": "blue"}, "text": text, "new": 1.5,
            }})
        })
    };
    bare(invited["code"].as_str().unwrap());
    server.told(OWNER, "The code was good");
    for odd in
        [json!({"poll": {}}), json!({"message": {}}), json!({"message": 3}), json!({"business_message": {"text": "x"}})]
    {
        server.push(|id| {
            let mut odd = odd.clone();
            odd["update_id"] = json!(id);
            odd
        });
    }
    bare("read notes/shopping.md");
    server.told(OWNER, "latte");
    // It is not asked over and over, although it does not wait.
    let polls = |state: &mut metnos_tests::telegram::State| {
        state.calls.iter().filter(|(method, _)| method == "getUpdates").count()
    };
    let before = server.with(polls);
    server.say(OWNER, "/help");
    server.told(OWNER, "/approvals");
    assert!(server.with(polls) < before + 200);
    let lines = set.chronicle();
    assert_eq!(lines.iter().filter(|line| line.payload("text") == "read notes/shopping.md").count(), 1);
    set.verify();
}

#[test]
fn italian_speaker_gets_italian_replies_on_english_instance() {
    let (set, server) = with_owner(DEAR);
    const PERSON: i64 = 5_009;
    let says = |text: &str| {
        let text = text.to_owned();
        server.push(move |id| {
            let mut update = message_update(id, PERSON, PERSON, "private", &text);
            update["message"]["from"]["language_code"] = json!("it");
            update
        })
    };
    says("buongiorno");
    let line = server.told(PERSON, "Non ti conosco");
    let code = line.text.rsplit(' ').next().unwrap();
    assert_eq!(set.json(&["pairing", "approve", "telegram", code, "--as", "owner"]).0, 0);
    says("/help");
    server.told(PERSON, "cosa aspetta la tua parola");
    says("leggi notes/shopping.md");
    server.told(PERSON, "latte");
    says("annota: chiamare il dentista");
    let card = server.told(PERSON, "Si può fare?");
    for part in [
        "Cosa: scrive una nota (note_add 5.0.0)",
        "Ritorno: Si può annullare: di’ «annulla».",
        "Costo: 0.20",
        "costa più di quanto",
    ] {
        assert!(card.text.contains(part), "{part}: {}", card.text);
    }
    let yes = card.markup["inline_keyboard"][0][0]["text"].as_str().unwrap().to_owned();
    assert_eq!(yes, "Sì, una volta");
    server.press(PERSON, PERSON, card.id, &card.button(":y").unwrap());
    let settled = server.until("the card edited", |state| {
        state.messages.iter().find(|one| one.id == card.id && one.text.contains("Approvata da telegram:5009")).cloned()
    });
    assert!(!settled.text.contains("May this"));
    says("/undo");
    server.told(PERSON, "La nota non c'è più.");
    says("/status");
    let how = server.told(PERSON, "Metnos è in funzione");
    assert!(how.text.contains("nessun modello linguistico"), "{}", how.text);
    // The other one speaks English, as before; and the owner's word on a language counts.
    server.say(OWNER, "/help");
    server.told(OWNER, "what waits for your word");
    assert_eq!(set.json(&["pairing", "language", "telegram:5009", "en"]).0, 0);
    says("/status");
    server.told(PERSON, "Metnos is up");
    set.verify();
}

#[test]
fn systemd_credential_token_reaches_only_the_bot() {
    let server = Emulator::start();
    let mut set = Plan::new().config(&server.config()).prepare();
    let folder = set.home().parent().unwrap().join("credentials");
    std::fs::create_dir(&folder).unwrap();
    std::fs::write(folder.join("telegram.token"), TOKEN).unwrap();
    use std::os::unix::fs::PermissionsExt;
    for (path, mode) in [(folder.clone(), 0o755), (folder.join("telegram.token"), 0o444)] {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    }
    set.give("CREDENTIALS_DIRECTORY", folder.to_str().unwrap());
    set.up();
    set.is_grown();
    server.settled();
    assert_eq!(set.json(&["telegram", "status"]).1["state"], "@metnos_test_bot listens");
    server.knows(&set, OWNER, "owner");
    server.told(OWNER, "The code was good");
    server.say(OWNER, "read notes/shopping.md");
    server.told(OWNER, "latte");
    for (name, pid) in set.pids() {
        let environment = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        let told = String::from_utf8_lossy(&environment).contains("CREDENTIALS_DIRECTORY");
        assert_eq!(told, matches!(name.as_str(), "gatewayd" | "mind"), "{name}");
    }
    let own = std::fs::read(set.home().join(".gateway/telegram.token")).unwrap();
    assert!(own.is_empty(), "nothing of it is copied");
    set.verify();
}

#[test]
fn received_file_is_stored_below_inbox_only() {
    let (set, server) = with_owner(DEAR);
    let bytes: Vec<u8> = (0..=255).cycle().take(70_000).collect();
    server.send_file(OWNER, "../../.ssh/report \u{202e}\u{1f980}.pdf", &bytes, "", Some(bytes.len()));
    let kept = server.told(OWNER, "Kept as inbox/");
    assert!(kept.text.contains("inbox/report \u{1f980}.pdf (70000 bytes)"), "{}", kept.text);
    assert_eq!(std::fs::read(set.workspace("inbox/report \u{1f980}.pdf")).unwrap(), bytes);
    // It was decided, run in a sandbox and recorded, as every act.
    let lines = set.chronicle();
    let of_it = |kind: &str| {
        lines.iter().filter(|line| line.kind() == kind && line.payload("executor").starts_with("inbox_add")).count()
    };
    assert_eq!((of_it("policy_decision"), of_it("run_started"), of_it("run_ended")), (1, 1, 1));
    assert_eq!(count(&lines, "owner_message"), 0, "a file is no word");
    // It can be taken back, and sent again.
    server.say(OWNER, "/undo");
    server.told(OWNER, "is taken out of the inbox again");
    assert!(!set.workspace("inbox/report \u{1f980}.pdf").exists());
    server.send_file(OWNER, "report \u{1f980}.pdf", &bytes, "", None);
    server.until("kept again", |state| {
        (state.messages.iter().filter(|one| one.text.contains("Kept as inbox/report")).count() == 2).then_some(())
    });
    // The same once more is there once; another of that name gets a number; words below it are received.
    server.send_file(OWNER, "report \u{1f980}.pdf", &bytes, "", None);
    server.told(OWNER, "The very same file");
    server.send_file(OWNER, "report \u{1f980}.pdf", b"other", "read notes/shopping.md", None);
    server.told(OWNER, "inbox/report \u{1f980} (2).pdf (5 bytes)");
    server.told(OWNER, "latte");
    // One that is not there.
    server.push(|id| {
        let mut update = message_update(id, OWNER, OWNER, "private", "");
        update["message"]["document"] = json!({"file_id": "file-nowhere", "file_name": "x"});
        update
    });
    server.told(OWNER, "could not be fetched");
    // What someone else wrote below it is not taken for his words.
    server.push(|id| {
        let mut update = message_update(id, OWNER, OWNER, "private", "");
        update["message"]["caption"] = json!("note: call the dentist");
        update["message"]["forward_origin"] = json!({"type": "hidden_user", "sender_user_name": "x"});
        update["message"]["photo"] = json!([{"file_id": "file-sent-0", "width": 9, "height": 9}]);
        update
    });
    server.told(OWNER, "inbox/photo-");
    server.settled();
    assert_eq!(count(&set.chronicle(), "owner_message"), 2, "the undo, and the words below a file");
    set.verify();
}

#[test]
fn a_guests_file_waits_for_the_owner_and_a_strangers_is_not_even_fetched() {
    let (set, server) = with_owner("");
    server.knows(&set, 5_002, "guest");
    server.told(5_002, "The code was good");
    server.send_file(5_002, "song.mp3", b"la la", "", None);
    server.told(5_002, "The file was not kept");
    assert!(!set.workspace("inbox/song.mp3").exists());
    let (_, cards) = set.json(&["approval", "list"]);
    assert_eq!(
        (cards[0]["hard"].as_bool(), cards[0]["principal"].as_str()),
        (Some(true), Some("telegram:5002")),
        "{cards:#}"
    );
    assert_eq!(set.json(&["approval", "approve", cards[0]["id"].as_str().unwrap()]).0, 0);
    assert_eq!(std::fs::read(set.workspace("inbox/song.mp3")).unwrap(), b"la la");
    let asked = |state: &mut metnos_tests::telegram::State| {
        state.calls.iter().filter(|(method, _)| method == "getFile").count()
    };
    let before = server.with(asked);
    server.send_file(5_003, "virus.exe", b"x", "open me", None);
    server.settled();
    assert_eq!(server.with(asked), before);
    set.verify();
}

#[test]
fn a_door_that_is_killed_over_a_file_keeps_it_once_and_says_so_once() {
    let (set, server) = with_owner("");
    server.fail("sendMessage", Fault::Hang);
    server.send_file(OWNER, "a.txt", b"milk", "", None);
    server.until("a line that hangs", |state| (state.hanging > 0).then_some(()));
    let old = set.pids()["gatewayd"];
    let door = rustix::process::Pid::from_raw(i32::try_from(old).unwrap()).unwrap();
    rustix::process::kill_process(door, rustix::process::Signal::KILL).unwrap();
    server.release();
    set.wait_back("gatewayd", old);
    server.told(OWNER, "inbox/a.txt");
    server.settled();
    assert_eq!(server.chat(OWNER).iter().filter(|one| one.text.contains("inbox/a")).count(), 1);
    let names: Vec<_> =
        std::fs::read_dir(set.workspace("inbox")).unwrap().map(|one| one.unwrap().file_name()).collect();
    assert_eq!(names, ["a.txt"]);
    set.verify();
}

#[test]
fn workspace_file_is_sent_only_to_people_who_may_read_it() {
    const PERSON: i64 = 5_010;
    let (set, server) = with_owner("");
    let bytes: Vec<u8> = (0..=255).rev().cycle().take(2_000_000).collect();
    let give = |path: &str, bytes: &[u8]| {
        let file = set.workspace(path);
        std::fs::write(&file, bytes).unwrap();
        std::os::unix::fs::chown(&file, Some(set.owner()), Some(set.owner())).unwrap();
    };
    give("shared/a \"plan\".pdf", &bytes);
    give("shared/empty", b"");
    give("shared/huge", &vec![0; (20 << 20) + 1]);
    server.knows(&set, PERSON, "guest");
    server.told(PERSON, "you are known here");
    for who in [OWNER, PERSON] {
        server.say(who, "/file shared/a \"plan\".pdf");
        let sent = server.told(who, "shared/a \"plan\".pdf");
        let (name, came) = sent.file.unwrap();
        assert_eq!((name.as_str(), came == bytes), ("a _plan_.pdf", true));
        for (words, says) in [
            ("/file", "Which file?"),
            ("/file shared/empty", "nothing in shared/empty"),
            ("/file shared/huge", "shared/huge has 20.1 MiB, and at most 20 MiB are sent here"),
            ("/file shared/none.pdf", "there is no shared/none.pdf"),
            ("/file ../metnos.toml", "not sent"),
            ("/file /etc/passwd", "not sent"),
            ("/file .ssh/id_ed25519", "not sent"),
        ] {
            let before = server.chat(who).len();
            server.say(who, words);
            let told =
                server.until(words, |state| state.messages.iter().filter(|one| one.chat == who).nth(before).cloned());
            assert!(told.text.contains(says) && told.file.is_none(), "{words}: {told:?}");
        }
    }
    // What guests do not read is not sent to one, whether it is there or not.
    for path in ["notes/welcome.md", "notes/none.md", "MEMORY.md"] {
        let before = server.chat(PERSON).len();
        server.say(PERSON, &format!("/file {path}"));
        let told =
            server.until(path, |state| state.messages.iter().filter(|one| one.chat == PERSON).nth(before).cloned());
        assert!(told.text.contains("not sent") && told.file.is_none(), "{path}: {told:?}");
    }
    // It was decided, run in a sandbox and recorded, as every act, and a stranger's wish is none.
    let of_it = |kind: &str| {
        set.chronicle()
            .iter()
            .filter(|line| line.kind() == kind && line.payload("executor").starts_with("file_get"))
            .count()
    };
    let (decided, ran) = (of_it("policy_decision"), of_it("run_ended"));
    assert!(decided >= 2 * 6 && ran >= 2 * 4, "{decided} {ran}");
    server.say(5_077, "/file shared/empty");
    server.settled();
    assert_eq!(of_it("policy_decision"), decided);
    set.verify();
}
