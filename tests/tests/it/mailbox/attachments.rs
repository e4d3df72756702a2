//! What is attached to a mail, fetched from Dovecot and kept in the inbox of the person: by who sent it, by the file's name, of the
//! newest; a name leads nowhere, and "undo" takes it back.

use metnos_tests::http::{Web, said};
use metnos_tests::instance::Instance;
use serde_json::json;

use super::{ANNA, BRUNO, Post, add, base64, member, server};

/// A mail with files: the name as it stands in its head, and the content.
fn mail(from: &str, subject: &str, files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut text = format!(
        "From: {from}\r\nSubject: {subject}\r\nMIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=x\r\n\r\n--x\r\n\
         Content-Type: text/plain\r\n\r\nSee what is attached.\r\n--x\r\nContent-Type: image/png; name=\"logo.png\"\r\n\
         Content-ID: <logo>\r\nContent-Disposition: inline; filename=\"logo.png\"\r\nContent-Transfer-Encoding: base64\r\n\r\nbG9nbw==\r\n"
    );
    for (name, content) in files {
        let lines: Vec<String> =
            base64(content).as_bytes().chunks(76).map(|line| String::from_utf8_lossy(line).into_owned()).collect();
        text.push_str("--x\r\nContent-Type: application/pdf\r\n");
        text.push_str(&format!(
            "Content-Disposition: attachment; filename={name}\r\nContent-Transfer-Encoding: base64\r\n\r\n"
        ));
        text.push_str(&lines.join("\r\n"));
        text.push_str("\r\n");
    }
    text.push_str("--x--\r\n");
    text.into_bytes()
}

fn heard(set: &Instance, words: &str) -> String {
    let output = set.ctl(&["ask", words]);
    String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned()
}

#[test]
fn attachments_are_kept_in_the_inbox_and_taken_back() {
    let mut post = Post::start();
    let set = post.plan().start();
    set.is_grown();
    let port = post.imaps.to_string();
    assert_eq!(add(&set, &server(&port, "anna"), ANNA).0, 0);
    let large: Vec<u8> = (0..3_000_000_u32).map(|n| u8::try_from(n * 7919 % 251).unwrap()).collect();
    post.deliver("anna", &mail("Scuola <school@example.org>", "Circolare", &[("\"circolare.pdf\"", &large)]));
    post.deliver("anna", &mail("x@evil.example", "Look", &[("\"../../executors/.evil.py\"", b"import os")]));
    post.deliver(
        "anna",
        &mail(
            "Bruno <bruno@example.org>",
            "The bill",
            &[("\"invoice.pdf\"", b"%PDF bill"), ("\"terms.pdf\"", b"%PDF terms")],
        ),
    );
    post.deliver("anna", b"From: Carla <c@example.org>\r\nSubject: nothing attached\r\n\r\nx\r\n");
    let told = heard(&set, "save the attachment of the mail from the school");
    assert!(told.contains("Kept as inbox/circolare.pdf (3 MB)"), "{told}");
    assert_eq!(std::fs::read(set.workspace("inbox/circolare.pdf")).unwrap(), large);
    let told = heard(&set, "undo");
    assert!(told.contains("The attachment is taken out of the inbox again"), "{told}");
    assert!(!set.workspace("inbox/circolare.pdf").exists());
    for (words, wanted) in [
        ("scarica l'allegato della mail della scuola", "Conservato come inbox/circolare.pdf"),
        ("salva l'allegato della mail della scuola", "Lo stesso identico file"),
        (
            "save the attachment from Bruno",
            "Several files are attached to the mail from Bruno: invoice.pdf and terms.pdf",
        ),
        ("salva l'allegato dell'ultima mail", "invoice.pdf e terms.pdf"),
        ("save the attachment called terms", "Kept as inbox/terms.pdf"),
        ("save the attachment of the mail from Carla", "No mail that fits has a file attached"),
        ("save the attachment called evil", "Kept as inbox/evil.py"),
        (
            "what is attached to the mail from the school",
            "circolare.pdf, 3 MB, is attached to the mail from Scuola: Circolare.",
        ),
    ] {
        let told = heard(&set, words);
        assert!(told.contains(wanted), "{words}: {told}");
    }
    assert_eq!(std::fs::read(set.workspace("inbox/evil.py")).unwrap(), b"import os");
    let inbox: Vec<_> =
        std::fs::read_dir(set.workspace("inbox")).unwrap().map(|one| one.unwrap().file_name()).collect();
    assert_eq!(inbox.iter().filter(|name| !name.to_string_lossy().starts_with('.')).count(), 3, "{inbox:?}");
    // It stays unread, and the executor that keeps has nothing to keep by itself.
    let flags = post.ask(&json!({ "of": "anna" })).to_string();
    assert!(!flags.contains("Seen"), "{flags}");
    let (code, refused) = set.run("attachment_add", &["name=x"]);
    assert!(code != 0 && refused["error"]["rule"] == "file.missing", "{refused:#}");
    let (code, fetched) = set.run("imap_attachment", &["name=terms"]);
    assert!(code == 0 && fetched["result"]["size"] == 10 && !fetched.to_string().contains("%PDF"), "{fetched:#}");
    set.verify();
}

#[test]
fn an_attachment_goes_to_the_private_inbox_of_its_person() {
    let mut post = Post::start();
    let set = post.plan().start();
    set.is_grown();
    assert_eq!(set.json(&["people", "add", "Anna", "--role", "owner"]).0, 0);
    let web = Web::of(&set);
    let bruno = member(&set, &web, "Bruno", "adult");
    let port = post.imaps.to_string();
    let (code, told) = add(&set, &[&server(&port, "bruno")[..], &["--person", "Bruno"]].concat(), BRUNO);
    assert_eq!(code, 0, "{told}");
    post.deliver("bruno", &mail("Clinic <c@example.org>", "Results", &[("\"results.pdf\"", b"canary of Bruno")]));
    let told = said(&bruno.say("save the attachment of the last mail").until("done"));
    assert!(told.contains("Kept as people/bruno/inbox/results.pdf"), "{told}");
    assert_eq!(std::fs::read(set.workspace("people/bruno/inbox/results.pdf")).unwrap(), b"canary of Bruno");
    assert!(!set.workspace("inbox").exists());
    let told = heard(&set, "read people/bruno/inbox/results.pdf");
    assert!(!told.contains("canary"), "{told}");
    let told = said(&bruno.say("undo").until("done"));
    assert!(told.contains("taken out of the inbox"), "{told}");
    assert!(!set.workspace("people/bruno/inbox/results.pdf").exists());
    set.verify();
}
