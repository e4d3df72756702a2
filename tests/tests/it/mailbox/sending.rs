//! Mail that is sent, in a running set: nothing goes out before a yes to the whole of it, what went out lies in the folder of sent
//! mail, and it goes out once.

use std::time::Duration;

use metnos_tests::http::Web;
use metnos_tests::instance::Instance;
use metnos_tests::until;
use serde_json::{Value, json};

use super::{ANNA, BRUNO, Post, add, member};

/// `account add mail` for Anna's mailbox with the server that sends at this port.
fn connect(set: &Instance, post: &Post, smtp: u16) -> (i32, String) {
    let (imaps, smtp) = (post.imaps.to_string(), format!("mail.example:{smtp}"));
    let words = ["--host", "mail.example", "--port", &imaps, "--user", "anna", "--smtp", &smtp];
    add(set, &[&words[..], &["--address", "anna@mail.example"]].concat(), ANNA)
}

fn sent(post: &mut Post) -> Vec<Value> {
    post.ask(&json!({ "sent": true })).as_array().unwrap().clone()
}

/// Asks for what is done only after a yes; the card.
fn asked(set: &Instance, words: &str) -> Value {
    let output = set.ctl(&["ask", words]);
    let text = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    assert_eq!(output.status.code(), Some(4), "{words}: {text}");
    let (_, cards) = set.json(&["approval", "list"]);
    let waiting = cards.as_array().unwrap().iter().find(|card| card["state"] == "waiting");
    waiting.unwrap_or_else(|| panic!("{words}: {text}")).clone()
}

/// Says yes to a card; what came of it.
fn yes(set: &Instance, card: &Value) -> Value {
    let (code, done) = set.json(&["approval", "approve", card["id"].as_str().unwrap()]);
    assert_eq!(code == 0, done["error"].is_null(), "{done:#}");
    done
}

fn heard(set: &Instance, words: &str) -> String {
    let output = set.ctl(&["ask", words]);
    String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned()
}

#[test]
fn a_mail_is_sent_after_a_yes_to_the_whole_of_it_and_once() {
    let mut post = Post::start();
    let mut set = post.plan().start();
    set.is_grown();
    let none = heard(&set, "send an email to bea@example.org: hello");
    assert!(none.contains("No mail account is connected yet"), "{none}");
    let imaps = post.imaps.to_string();
    let reads = add(&set, &["--host", "mail.example", "--port", &imaps, "--user", "anna", "--name", "reads"], ANNA);
    assert!(reads.0 == 0 && reads.1.contains("read there, and not sent"), "{reads:?}");
    let none = heard(&set, "send an email to bea@example.org: hello");
    assert!(none.contains("no server that takes mail to be sent"), "{none}");
    let (code, told) = connect(&set, &post, post.smtps);
    assert!(code == 0 && told.contains("Mail can be sent from it. Nothing was sent now."), "{code} {told}");

    let words = "send an email to bea@example.org with the subject \"Dinner\": are you coming at eight? Bring the \u{201c}caff\u{e8}\u{201d}.\n.\nA.";
    let card = asked(&set, words);
    let act = &card["acts"][0];
    assert_eq!(act["arguments"]["recipient"], "bea@example.org");
    assert_eq!(
        act["arguments"]["body"], "are you coming at eight? Bring the \u{201c}caff\u{e8}\u{201d}.\n.\nA.",
        "{act:#}"
    );
    assert!(sent(&mut post).is_empty(), "nothing goes out before the yes");
    let done = yes(&set, &card).to_string();
    assert!(done.contains("identifier"), "{done}");
    let all = sent(&mut post);
    let [mail] = all.as_slice() else { panic!("{all:#?}") };
    assert_eq!((mail[0].as_str(), &mail[1]), (Some("anna@mail.example"), &json!(["bea@example.org"])));
    let text = mail[2].as_str().unwrap();
    for line in ["Subject: Dinner", "From: anna@mail.example", "To: bea@example.org", "Message-ID: <"] {
        assert!(text.contains(line), "{line}: {text}");
    }
    assert!(text.contains("caff=C3=A8") && text.contains("\r\n.\r\nA."), "{text}");
    let whole = post.ask(&json!({ "box": "anna" }));
    assert_eq!(whole["Sent"], json!([["Subject: Dinner", "\\Seen"]]), "{whole:#}");

    // The same once more, also after a restart: it is not sent, and the person learns why.
    assert!(yes(&set, &asked(&set, words)).to_string().contains("Already"));
    assert!(set.ctl(&["down"]).status.success());
    set.up();
    set.is_grown();
    assert!(yes(&set, &asked(&set, words)).to_string().contains("Already"));
    assert_eq!(sent(&mut post).len(), 1);
    // A no sends nothing.
    let card = asked(&set, "manda una mail a bea@example.org: ci vediamo");
    assert_eq!(set.json(&["approval", "deny", card["id"].as_str().unwrap()]).0, 0);
    assert_eq!(sent(&mut post).len(), 1);
    let everywhere = format!("{}{:?}", set.logs(), set.chronicle());
    assert!(!everywhere.contains(ANNA), "a password was told");
    set.verify();
}

#[test]
fn what_became_of_a_mail_is_told_as_the_server_says_it() {
    let mut post = Post::start();
    let set = post.plan().start();
    set.is_grown();
    assert_eq!(connect(&set, &post, post.submission).0, 0, "after STARTTLS");
    let send = |to: &str| yes(&set, &asked(&set, &format!("send an email to {to}: the box is here"))).to_string();
    assert!(send("nobody@example.org").contains("NoSuchAddress"));
    assert!(send("full@example.org").contains("NotTaken"));
    assert!(sent(&mut post).is_empty());
    assert!(send("vanish@example.org").contains("Unsure"));
    assert_eq!(sent(&mut post).len(), 1);
    // A server that puts the copy there itself has one copy afterwards, and not two.
    assert_eq!(post.ask(&json!({ "copies": true })), "ok");
    assert!(send("bea@example.org").contains("\"kept\":true"), "a copy lies there");
    assert_eq!(post.ask(&json!({ "box": "anna" }))["Sent"].as_array().unwrap().len(), 1);
    // No word of the password goes to a server without TLS, or where the password is wrong.
    let (_, told) = connect(&set, &post, post.open);
    assert!(told.contains("offers no TLS"), "{told}");
    assert!(send("carla@example.org").contains("TlsError"));
    let words =
        ["--host", "mail.example", "--port", &post.imaps.to_string(), "--user", "anna", "--smtp", "liar.example:1"];
    assert_eq!(add(&set, &[&words[..], &["--address", "anna@mail.example", "--json"]].concat(), ANNA).0, 0);
    let told = heard_of(&set, &["account", "test", "mail", "--sending"]);
    assert!(told.contains("liar.example port 1"), "{told}");
    assert_eq!(sent(&mut post).len(), 2);
    set.verify();
}

fn heard_of(set: &Instance, words: &[&str]) -> String {
    let output = set.ctl(words);
    String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned()
}

#[test]
fn a_mail_goes_to_a_contact_or_answers_and_never_elsewhere() {
    let mut post = Post::start();
    let set = post.plan().start();
    set.is_grown();
    assert_eq!(connect(&set, &post, post.smtps).0, 0);
    let file = set.workspace("notes/contacts.md");
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    let contacts = "- Bea Rossi: bea@example.org\n- Carla: carla@one.example, carla@two.example\n- Dino: 333 1234567\n\
        - Elena Verdi: elena@example.org\n- Elena Bruni: bruni@example.org\n";
    std::fs::write(&file, contacts).unwrap();
    let card = asked(&set, "send an email to Bea saying I am late");
    let act = card["acts"].as_array().unwrap().last().unwrap().clone();
    assert_eq!(act["executor"].as_str().map(|id| id.starts_with("smtp_send")), Some(true), "{act:#}");
    assert!(act.to_string().contains("bea@example.org"), "the card shows where it goes: {act:#}");
    yes(&set, &card);
    assert_eq!(sent(&mut post)[0][1], json!(["bea@example.org"]));
    // Whoever has no address, or two, or may be two persons, gets no mail, and the person learns what is known.
    for (words, wanted) in [
        ("send an email to Dino saying hello", "mail for Dino"),
        ("send an email to Carla saying hello", "carla@one.example"),
        ("send an email to Elena saying hello", "Elena Bruni"),
        ("manda una mail a Zeno: ciao", "Zeno"),
    ] {
        let told = heard(&set, words);
        assert!(told.contains(wanted), "{words}: {told}");
    }
    assert_eq!(sent(&mut post).len(), 1);
    // An answer goes to whom the mail is from, as one of the same talk.
    post.deliver(
        "anna",
        b"From: School <school@example.org>\r\nReply-To: evil@evil.example\r\nSubject: Trip\r\nMessage-ID: <trip.1@example.org>\r\n\
        References: <a@example.org> <b@example.org>\r\n\r\nAre you coming?\r\n",
    );
    yes(&set, &asked(&set, "reply to the mail from the school: we are coming"));
    let all = sent(&mut post);
    assert_eq!(all[1][1], json!(["school@example.org"]));
    let text = all[1][2].as_str().unwrap();
    for line in [
        "Subject: Re: Trip",
        "In-Reply-To: <trip.1@example.org>",
        "References: <a@example.org> <b@example.org> <trip.1@example.org>",
    ] {
        assert!(text.contains(line), "{line}: {text}");
    }
    set.verify();
}

#[test]
fn nobody_sends_from_the_account_of_another_person() {
    let mut post = Post::start();
    let set = post.plan().start();
    set.is_grown();
    assert_eq!(connect(&set, &post, post.smtps).0, 0);
    let bruno = member(&set, &Web::of(&set), "Bruno", "adult");
    let told = format!("{:?}", bruno.say("send an email to bea@example.org: hello").until("done"));
    assert!(told.to_lowercase().contains("no mail account"), "{told}");
    let (imaps, smtp) = (post.imaps.to_string(), format!("mail.example:{}", post.smtps));
    let words = ["--host", "mail.example", "--port", &imaps, "--user", "bruno", "--smtp", &smtp, "--person", "Bruno"];
    assert_eq!(add(&set, &[&words[..], &["--address", "anna@mail.example", "--json"]].concat(), BRUNO).0, 0);
    // It is his turn and his card; and a server that knows who logs in takes nothing in the name of somebody else.
    let mut listening = bruno.say("send an email to bea@example.org: hello");
    let card = std::iter::from_fn(|| listening.next_event()).find(|event| event.name == "card").expect("a card");
    assert!(card.data["parts"].to_string().contains("bea@example.org"), "{card:?}");
    let path = format!("/v1/approvals/{}", card.data["card"].as_str().unwrap());
    let answered = bruno.post(&path, &json!({ "digest": card.data["digest"], "answer": "once" }));
    assert_eq!(answered.status, 200, "{answered:?}");
    until("the server's no", Duration::from_secs(60), || {
        (post.ask(&json!({ "turned_away": true })) == json!([["bruno", "anna@mail.example"]])).then_some(())
    });
    assert!(sent(&mut post).is_empty());
    set.verify();
}
