//! What a planner that is the attacker's from the first moment gets in a turn in which nothing was read.

use std::collections::BTreeMap;

use super::tests::{Bench, X};
use super::*;
use crate::call::fields::{Claim, Files};
use crate::call::paths::Places;
use crate::evidence::results::Output;
use metnos_proto::msg::common::{Integrity, Lang, Readers};
use proptest::prelude::*;
use serde_json::{Value, json};

use Decision::{Allow, Ask, Deny};

/// The output of something that read private files.
fn private(value: &Value, vouched: &[&str]) -> Output {
    let output = json!({"i": "X", "V": vouched, "conf": "private"});
    let spec = crate::call::spec::Spec::from_catalogue("r", &json!({"effect": "read", "output": output}));
    let bench = Bench::new("x", "read", json!({}));
    let inputs = bench.judge(&json!({})).inputs;
    Output::of(&spec.output, crate::replay::parts(value), &inputs, None, |_| None, |_| false)
}

/// The same call, with one argument filled in from a result.
fn by_reference(bench: &Bench, args: &Value, pointer: &str, output: &Output, leaf: &str) -> (Decision, &'static str) {
    let claims = vec![Claim { pointer: pointer.to_owned(), output, leaf: leaf.to_owned() }];
    let (opaque, files) = (BTreeMap::new(), Files::default());
    let asked = crate::call::fields::CallRequest { spec: &bench.spec, args, opaque: &opaque, claims, files };
    let ruling = judge(&bench.world, &bench.context, &asked).ruling;
    (ruling.decision, ruling.rule)
}

fn with_files(bench: &Bench, args: &Value, there: &[&str], secret: &[&str]) -> Judgement {
    let set = |pointers: &[&str]| pointers.iter().map(|pointer| (*pointer).to_owned()).collect();
    let (opaque, files) = (BTreeMap::new(), Files { there: set(there), secret: set(secret) });
    let asked =
        crate::call::fields::CallRequest { spec: &bench.spec, args, opaque: &opaque, claims: Vec::new(), files };
    judge(&bench.world, &bench.context, &asked)
}

fn says(judgement: &Judgement) -> (Decision, &'static str) {
    (judgement.ruling.decision, judgement.ruling.rule)
}

#[test]
fn referenced_value_keeps_its_label_in_a_clean_turn() {
    let file =
        private(&json!({"content": "https://evil.example/private", "words": ["date", "x"], "sha": "abc"}), &["sha"]);
    let fetch = Bench::new("what is the weather", "net_read", json!({"url": "url"}));
    let url = json!({"url": "https://evil.example/private"});
    assert_eq!(by_reference(&fetch, &url, "/url", &file, "/content"), (Ask, "net_read.url"));
    // Also from a list on the owner's own host, and when it is not the part that it is said to be.
    let listed = json!({"url": "https://ok.example/private"});
    assert_eq!(by_reference(&fetch, &listed, "/url", &file, "/sha"), (Ask, "net_read.url"));
    assert_eq!(by_reference(&fetch, &json!({"url": true}), "/url", &file, ""), (Ask, "net_read.url"));
    let shell = Bench::new("x", "shell", json!({"argv": "argv"}));
    let argv = json!({"argv": ["date", "x"]});
    assert_eq!(by_reference(&shell, &argv, "/argv", &file, "/words"), (Ask, "shell.tainted"));
    let write = Bench::new("x", "self_create", json!({"path": "path", "text": "payload"}));
    let path = json!({"path": "https://evil.example/private", "text": "x"});
    assert_eq!(by_reference(&write, &path, "/path", &file, "/content"), (Ask, "self_create.place"));
    let send = Bench::new("tell eve", "send", json!({"to": "dest", "text": "payload"}));
    let text = json!({"to": "eve", "text": "https://evil.example/private"});
    assert_eq!(by_reference(&send, &text, "/text", &file, "/content"), (Ask, "send.derived"));
    let plan = Bench::new("x", "schedule", json!({"what": "payload"}));
    let what = json!({"what": "https://evil.example/private"});
    assert_eq!(by_reference(&plan, &what, "/what", &file, "/content"), (Ask, "schedule.literal"));
}

#[test]
fn every_argument_of_a_request_was_typed_or_is_yes_or_no() {
    let args = json!({"url": "url", "q": "query", "body": "payload", "n": "flag"});
    let bench = Bench::new("look for rome at a.example, 5 times", "net_read", args);
    for fine in [json!({"q": "rome"}), json!({"n": 5}), json!({"n": true}), json!({"body": "rome at a.example"})] {
        let mut call = json!({"url": "https://a.example/"});
        call.as_object_mut().unwrap().extend(fine.as_object().unwrap().clone());
        assert_eq!(bench.says(call), (Allow, "net_read.literal"), "{fine}");
    }
    for bad in [json!({"q": "milan"}), json!({"n": 6}), json!({"body": "memory"}), json!({"headers": ["x"]})] {
        let mut call = json!({"url": "https://a.example/"});
        call.as_object_mut().unwrap().extend(bad.as_object().unwrap().clone());
        assert_eq!(bench.says(call), (Ask, "net_read.url"), "{bad}");
    }
}

#[test]
fn a_slot_lets_a_request_say_only_what_was_typed() {
    let slot = [("/url", Some(json!("https://evil.example/memory")))];
    let bench = Bench::new("the weather at a.example", "net_read", json!({"url": "url"})).slot(&slot, 3);
    assert_eq!(bench.says(json!({"url": "https://evil.example/memory"})), (Ask, "net_read.url"));
    let open = Bench::new("the weather at a.example", "net_read", json!({"url": "url"})).slot(&[("/url", None)], 3);
    assert_eq!(open.says(json!({"url": "https://evil.example/memory"})), (Ask, "net_read.url"));
    assert_eq!(open.says(json!({"url": "https://a.example/weather/the"})), (Ask, "net_read.url"), "out of order");
}

#[test]
fn a_guest_may_fetch_what_he_typed_and_nothing_else() {
    let mut bench = Bench::new("", "net_read", json!({"url": "url"}));
    bench.context = Context::new(Who::Guest);
    bench.context.said("what does a.example say", true, Lang::En);
    assert_eq!(bench.says(json!({"url": "https://a.example/"})), (Allow, "net_read.literal"));
    assert_eq!(bench.says(json!({"url": "https://a.example/memory"})), (Ask, "net_read.url"));
    bench.context.said("and now", true, Lang::En);
    assert_eq!(bench.says(json!({"url": "https://a.example/"})), (Ask, "net_read.url"), "only what he says now");
    // Nothing of it is the owner's word in the same context.
    bench.context.said("fetch b.example", true, Lang::En);
    bench.context.who = Who::Owner;
    assert_eq!(bench.says(json!({"url": "https://b.example/"})), (Ask, "net_read.url"));
}

#[test]
fn existing_file_is_replaced_only_when_owner_named_it() {
    let args = json!({"path": "path", "text": "payload", "overwrite": "flag"});
    let bench = Bench::new("write notes/a.md", "self_create", args);
    let new = json!({"path": "notes/b.md", "text": "x"});
    assert_eq!(says(&with_files(&bench, &new, &[], &[])), (Allow, "self_create.clean"));
    assert_eq!(says(&with_files(&bench, &new, &["/path"], &[])), (Ask, "self_modify.selector"));
    let forced = json!({"path": "notes/b.md", "text": "x", "overwrite": true});
    assert_eq!(
        says(&with_files(&bench, &forced, &[], &[])),
        (Ask, "self_modify.selector"),
        "whoever made it meanwhile"
    );
    let typed = json!({"path": "notes/a.md", "text": "x", "overwrite": true});
    assert_eq!(says(&with_files(&bench, &typed, &["/path"], &[])), (Allow, "self_modify.endorsed"));
}

#[test]
fn path_that_is_only_read_is_not_replaced_by_what_is_made_of_it() {
    let mut bench = Bench::new("pack them", "self_create", json!({"path": "path", "to": "path"}));
    let photos = json!({"path": "photos", "to": "photos.zip"});
    assert_eq!(says(&with_files(&bench, &photos, &["/path"], &[])), (Ask, "self_modify.selector"));
    bench.spec.reads = vec!["/path".to_owned()];
    assert_eq!(says(&with_files(&bench, &photos, &["/path"], &[])), (Allow, "self_create.clean"));
    assert_eq!(says(&with_files(&bench, &photos, &["/path", "/to"], &[])), (Ask, "self_modify.selector"));
    // A file of secrets that is read is opened, whatever is made of it.
    let secret = json!({"path": "keys/server.pem", "to": "keys/a.zip"});
    assert_eq!(says(&with_files(&bench, &secret, &["/path"], &["/path"])).1, "secret.file");
}

#[test]
fn a_list_that_is_called_by_its_name_is_added_to_and_not_replaced() {
    let args = json!({"path": "path", "text": "payload"});
    let list = json!({"path": "notes/shopping.md", "text": "milk"});
    let add = Bench::new("add milk to the shopping list", "self_modify", args.clone());
    assert_eq!(says(&with_files(&add, &list, &["/path"], &[])), (Allow, "self_modify.endorsed"));
    assert_eq!(says(&with_files(&add, &json!({"path": "notes/rent.md", "text": "milk"}), &[], &[])).0, Ask);
    let planned = Bench::new("add milk to the shopping list", "self_modify", args.clone())
        .slot(&[("/path", Some(json!("notes/shopping.md"))), ("/text", None)], 1);
    assert_eq!(says(&with_files(&planned, &list, &["/path"], &[])), (Allow, "self_modify.endorsed"));
    // As the reflex resolves it: also in the other language, and one that is not there yet.
    for (words, path) in [
        ("aggiungi il latte alla lista della spesa", "notes/shopping.md"),
        ("metti il latte nella lista", "notes/spesa.md"),
        ("put milk on the to-do list", "notes/cose-da-fare.md"),
    ] {
        let bench = Bench::new(words, "self_modify", args.clone())
            .slot(&[("/path", Some(json!(path))), ("/text", Some(json!("- milk")))], 1);
        let call = json!({"path": path, "text": "- milk"});
        assert_eq!(says(&with_files(&bench, &call, &[], &[])), (Allow, "self_modify.endorsed"), "{words}");
        let other = json!({"path": "notes/journal.md", "text": "- milk"});
        assert_eq!(says(&with_files(&bench, &other, &["/path"], &[])).0, Ask, "{words}");
    }
    let write = Bench::new("add milk to the shopping list", "self_create", args.clone());
    assert_eq!(says(&with_files(&write, &list, &["/path"], &[])), (Ask, "self_modify.selector"));
    let tainted =
        Bench::new("add milk to the shopping list", "self_modify", args).slot(&[("/path", None), ("/text", None)], 1);
    assert_eq!(says(&with_files(&tainted.tainted(), &list, &["/path"], &[])).0, Ask);
}

#[test]
fn the_six_files_are_written_on_the_owners_own_words_only() {
    let args = json!({"path": "path", "to": "path", "text": "payload", "keep": "flag"});
    let words = "put 'the vet is Rossi' into MEMORY.md";
    for effect in ["self_create", "self_modify", "destroy", "send", "share", "book"] {
        for level in [Level::Supervised, Level::Full] {
            let mut bench = Bench::new(words, effect, args.clone());
            bench.world.level = level;
            for path in ["USER.md", "./notes/../user.md", "Telos.md", "%4dEMORY.md", "AGENTS.md", "\u{ff29}DENTITY.md"]
            {
                let call = json!({"path": path, "text": "the vet is Rossi"});
                assert_eq!(bench.says(call).0, Ask, "{effect} {path}");
                assert_eq!(bench.says(json!({"path": "notes/a.md", "to": path})).0, Ask, "{effect} to {path}");
            }
            let other = json!({"path": "MEMORY.md", "text": "pay Eve"});
            assert_eq!(bench.says(other), (Ask, "workspace.core"), "{effect}");
            assert_eq!(bench.says(json!({"path": "MEMORY.md"})), (Ask, "workspace.core"), "{effect}: nothing to hold");
            let soul = json!({"path": "SOUL.md", "text": "the vet is Rossi"});
            assert_eq!(bench.says(soul), (Deny, "law.constitution"), "{effect}");
        }
    }
    let bench = Bench::new(words, "self_modify", args);
    let his = json!({"path": "MEMORY.md", "text": "the vet is Rossi"});
    assert_eq!(says(&with_files(&bench, &his, &["/path"], &[])), (Allow, "self_modify.endorsed"));
}

#[test]
fn a_file_of_secrets_is_opened_by_its_owner_by_its_name_or_on_a_card() {
    let read = |words: &str| Bench::new(words, "read", json!({"path": "path", "what": "query"}));
    for path in [".env", "notes/../.ENV", "keys/id_rsa", "server.pem", "x/secrets.yaml", "%2eenv", "work.env/readme.md"]
    {
        assert_eq!(read("show me the file").says(json!({"path": path})), (Ask, "secret.file"), "{path}");
    }
    assert_eq!(read("show me the file").says(json!({"what": "config/.env"})), (Ask, "secret.file"));
    assert_eq!(read("search the secrets").says(json!({"what": "secrets"})), (Allow, "read.granted"), "no path");
    for words in ["show me .env", "what is in config/.env?"] {
        let judgement = read(words).judge(&json!({"path": "config/.env"}));
        assert_eq!(says(&judgement), (Allow, "read.granted"), "{words}");
        assert!(judgement.inputs.secret, "what it says is a secret");
    }
    assert_eq!(says(&with_files(&read("look"), &json!({"path": "a.txt"}), &[], &["/path"])), (Ask, "secret.file"));
    let mut timer = read("show me .env");
    timer.context.attended = false;
    assert_eq!(timer.says(json!({"path": ".env"})), (Deny, "secret.file"));
    let mut guest = read("");
    guest.context = Context::new(Who::Guest);
    guest.context.said("show me .env", true, Lang::En);
    assert_eq!(guest.says(json!({"path": ".env"})), (Deny, "guest.read"), "for a guest it does not exist");
    guest.context.said("show me shared/.env", true, Lang::En);
    assert_eq!(guest.says(json!({"path": "shared/.env"})), (Deny, "secret.file"));
    let shell = Bench::new("x", "shell", json!({"argv": "argv"}));
    assert_eq!(shell.says(json!({"argv": ["date", "--file=.env"]})), (Ask, "secret.file"));
    assert_eq!(shell.says(json!({"argv": ["cat", "./id_rsa"]})), (Ask, "secret.file"), "a path from where it runs");
    let moves = Bench::new("rename it", "self_modify", json!({"path": "path", "to": "path"}));
    assert_eq!(moves.says(json!({"path": ".env", "to": "a.txt"})), (Ask, "secret.file"), "another name would open it");
    let made = Bench::new("keep it", "self_create", json!({"path": "path"}));
    assert_eq!(made.says(json!({"path": "new.env"})).0, Allow, "nothing is there to be read");
}

#[test]
fn content_of_secret_file_goes_only_where_the_owner_typed() {
    let inputs = Bench::new("show me .env", "read", json!({"path": "path"})).judge(&json!({"path": ".env"})).inputs;
    let spec =
        crate::call::spec::Spec::from_catalogue("r", &json!({"effect": "read", "output": {"i": "X", "V": ["n"]}}));
    let parts = crate::replay::parts(&json!({"content": "key", "n": 3}));
    let output = Output::of(&spec.output, parts, &inputs, None, |_| None, |_| false);
    assert_eq!(output.whole.readers, Readers::Secret);
    for effect in ["self_create", "self_modify", "send", "publish", "net_read", "shell", "schedule", "mark"] {
        let bench = Bench::new("show me .env", effect, json!({"path": "path", "text": "payload"}));
        let call = json!({"path": "a.txt", "text": "key"});
        assert_eq!(by_reference(&bench, &call, "/text", &output, "/content"), (Deny, "secret.sink"), "{effect}");
        assert_eq!(by_reference(&bench, &call, "/text", &output, "/n"), (Deny, "secret.sink"), "{effect}");
    }
    let mut thinks = Bench::new("show me .env", "read", json!({"text": "payload"}));
    thinks.spec.thinks = true;
    assert_eq!(by_reference(&thinks, &json!({"text": "key"}), "/text", &output, "/content"), (Deny, "secret.sink"));
    // And what is made of it is as secret.
    let counts = Bench::new("x", "read", json!({"text": "payload"}));
    let (opaque, files) = (BTreeMap::from([("/text".to_owned(), output.below("/content"))]), Files::default());
    let args = json!({"text": {"$ref": "c1#/content"}});
    let asked = crate::call::fields::CallRequest {
        spec: &counts.spec,
        args: &args,
        opaque: &opaque,
        claims: Vec::new(),
        files,
    };
    let inputs = judge(&counts.world, &counts.context, &asked).inputs;
    let made = Output::of(&spec.output, Vec::new(), &inputs, None, |_| None, |_| false);
    assert_eq!(made.whole.readers, Readers::Secret);
}

#[test]
fn a_word_that_any_sentence_has_picks_nothing() {
    let bench = Bench::new(
        "1. read all of it * 2. delete 3 files - at 10:30, Elm Street no. 7, #4 me",
        "destroy",
        json!({"id": "selector"}),
    );
    for id in [
        json!("all"),
        json!("*"),
        json!("-"),
        json!("1"),
        json!(1),
        json!("2"),
        json!(2),
        json!("1."),
        json!(3),
        json!("3"),
        json!("10:30"),
        json!(7),
        json!("7"),
    ] {
        assert_eq!(bench.says(json!({"id": id})).0, Ask, "{id}");
    }
    let bench = Bench::new(
        "delete the file with id 7, and ids 3, 5 and '8'; mail no. 4, #9",
        "destroy",
        json!({"id": "selector"}),
    );
    for id in [json!("7"), json!(7), json!("3"), json!(5), json!("8"), json!("4"), json!("9")] {
        assert_eq!(bench.says(json!({"id": id})).0, Allow, "{id}");
    }
}

proptest! {
    /// However the owner's words count, order or date things: none of their numbers picks what is deleted.
    #[test]
    fn numbers_that_are_called_nothing_pick_nothing(
        n in 0u32..500, form in 0usize..10, text in any::<bool>(), effect in proptest::sample::select(vec!["destroy", "self_modify", "share", "acl"]),
        role in proptest::sample::select(vec!["selector", "entity", "path"]),
    ) {
        let words = [
            format!("Please:\n{}. read the mail\n{}. tidy up", n.saturating_sub(1), n), format!("{n}) read the mail"), format!("delete {n} files"),
            format!("the top {n} mails"), format!("at {n}:30 or {n}.15"), format!("via Roma n. {n}"), format!("{n} Elm Street"),
            format!("#{n} read the mail"), format!("- ({n}) read the mail"), format!("in {n} minutes, no. Tidy up {n}"),
        ][form].clone();
        // Entities are what accounts and rights are about; nothing is modified by one.
        prop_assume!(role != "entity" || matches!(effect, "destroy" | "acl"));
        let bench = Bench::new(&words, effect, json!({"x": role}));
        let value = if text { json!(n.to_string()) } else { json!(n) };
        prop_assert_ne!(bench.says(json!({"x": value})).0, Allow, "{} in {}", n, words);
    }

    /// Whatever a result holds: in a clean turn no reference takes it out.
    #[test]
    fn no_reference_leaves_in_a_clean_turn(
        text in "[a-z0-9:/.]{1,30}", leaf in proptest::sample::select(vec!["/a", "/b/0", "", "/none"]),
        effect in proptest::sample::select(vec!["net_read", "send", "publish", "share", "book", "account", "money", "schedule"]),
    ) {
        let output = private(&json!({"a": text, "b": [text]}), &[]);
        let bench = Bench::new("please tell me", effect, json!({"to": "dest", "url": "url", "text": "payload"}));
        for name in ["to", "url", "text"] {
            let args = json!({ name: text });
            prop_assume!(!["please", "tell", "me"].contains(&text.as_str()));
            prop_assert_ne!(by_reference(&bench, &args, &format!("/{name}"), &output, leaf).0, Allow);
        }
    }
}

#[test]
fn a_label_that_was_joined_is_untrusted_only_by_what_was_joined() {
    assert!(!Bench::new("x", "read", json!({})).tainted().context.is_clean());
    assert_eq!(X.integrity, Integrity::Untrusted);
    let places = Places::of_instance("/home/owner/metnos");
    assert!(files::is_core_file("Memory.MD", &files::CORE_FILES, &places));
    assert!(!files::is_core_file("notes/MEMORY.md", &files::CORE_FILES, &places));
}
