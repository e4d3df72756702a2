//! Each rule, by what it lets through and what it asks about.

use std::collections::BTreeMap;

use super::*;
use crate::call::fields::Files;
use crate::call::paths::Places;
use crate::call::spec::Spec;
use crate::evidence::intent::{Intent, Slot, Wanted};
use crate::evidence::results::Output;
use metnos_proto::msg::common::{Integrity, Lang, Readers};
use proptest::prelude::*;
use serde_json::{Value, json};

pub(super) const X: Label = Label { integrity: Integrity::Untrusted, readers: Readers::Private };

/// A turn that is set up step by step.
pub(super) struct Bench {
    pub(super) world: World,
    pub(super) context: Context,
    pub(super) spec: Spec,
}

impl Bench {
    pub(super) fn new(prompt: &str, effect: &str, args: Value) -> Self {
        let mut world = World::new(Level::Supervised, Confirm::Literal, Places::of_instance("/home/owner/metnos"));
        world.owner = ["me".to_owned()].into();
        world.contacts = ["bob".to_owned()].into();
        world.hosts = ["https://ok.example".to_owned()].into();
        world.commands = vec!["date".to_owned()];
        let mut context = Context::new(Who::Owner);
        context.said(prompt, true, Lang::En);
        let spec = Spec::from_catalogue("e", &json!({"effect": effect, "args": args, "reversible": true}));
        Self { world, context, spec }
    }

    pub(super) fn slot(mut self, args: &[(&str, Option<Value>)], max: u8) -> Self {
        let args = args
            .iter()
            .map(|(pointer, value)| ((*pointer).to_owned(), value.clone().map_or(Wanted::Any, Wanted::Literal)))
            .collect();
        let (words, spec) = (self.context.words.clone(), self.spec.clone());
        self.context.intent.freeze(vec![Slot { executor: "e".into(), args, max }], &words, |_| Some(spec.clone()));
        self
    }

    pub(super) fn tainted(mut self) -> Self {
        self.context.read(X, true);
        self
    }

    pub(super) fn judge(&self, args: &Value) -> Judgement {
        judge(
            &self.world,
            &self.context,
            &CallRequest {
                spec: &self.spec,
                args,
                opaque: &BTreeMap::new(),
                claims: Vec::new(),
                files: Files::default(),
            },
        )
    }

    pub(super) fn says(&self, args: Value) -> (Decision, &'static str) {
        let ruling = self.judge(&args).ruling;
        (ruling.decision, ruling.rule)
    }
}

use Decision::{Allow, Ask, Deny};

#[test]
fn private_folders_of_others_do_not_exist_for_anybody() {
    let mut bench = Bench::new("x", "read", json!({"/path": "path", "/to": "dest", "/argv/*": "argv"}));
    bench.context.said("read people/marco/diary.md and delete people", true, Lang::En);
    let rule = |bench: &Bench, args: Value| bench.says(args);
    let closed = [
        "people/marco",
        "people/marco/diary.md",
        "people/Marco/diary.md",
        "./people//marco/a",
        "notes/../people/marco/a",
        "people/anna/../marco/a",
        "people%2fmarco",
        "people\\marco",
        "people/anna2",
        "people/.trash-k-marco",
    ];
    for own in [None, Some("anna".to_owned())] {
        bench.world.own_folder = own.clone();
        for class in ["read", "self_create", "self_modify", "destroy", "shell", "send"] {
            bench.spec.effect = Effect::named(class);
            for path in closed {
                assert_eq!(rule(&bench, json!({"path": path})), (Deny, "people.private"), "{own:?} {class} {path}");
                assert_eq!(rule(&bench, json!({"to": path})), (Deny, "people.private"), "{own:?} {class} {path}");
                assert_eq!(rule(&bench, json!({"argv": ["x", format!("--in={path}")]})).0, Deny, "{class} {path}");
            }
            let whole = rule(&bench, json!({"path": "people"}));
            assert_eq!(whole.1 == "people.private", class != "read", "{class}");
            for open in ["peoples/a.md", "notes/people/marco", "people.md", "shared/people"] {
                assert_ne!(rule(&bench, json!({"path": open})).1, "people.private", "{class} {open}");
            }
            let mine = rule(&bench, json!({"path": "people/anna/diary.md"}));
            assert_eq!(mine.1 == "people.private", own.is_none(), "{class}");
        }
    }
}

#[test]
fn guest_gets_one_answer_about_anything_he_may_not_read() {
    let mut bench = Bench::new("x", "read", json!({"/path": "path"}));
    bench.world.guest_folders = vec!["house/rules".into(), "shared".into()];
    let said = |bench: &Bench, path: &str| {
        let ruling = bench.judge(&json!({"path": path})).ruling;
        (ruling.decision, ruling.rule, ruling.why)
    };
    let owners = said(&bench, "MEMORY.md");
    assert_eq!((owners.0, owners.1), (Allow, "read.granted"));
    bench.context.who = Who::Guest;
    for level in [Level::ReadOnly, Level::Supervised, Level::Full] {
        bench.world.level = level;
        for fine in ["", ".", "shared", "shared/a.md", "./shared/../shared/b", "house", "house/rules/1.md"] {
            assert_eq!(said(&bench, fine).1, "read.granted", "{fine}");
        }
        let hidden = ["MEMORY.md", "notes", "none-such", "shared/../MEMORY.md", "house/money", "sharedx", ".env"];
        let answers: Vec<_> = hidden.iter().map(|path| said(&bench, path)).collect();
        assert!(answers.iter().all(|answer| answer.0 == Deny && answer.1 == "guest.read"), "{answers:?}");
        assert!(answers.windows(2).all(|two| two[0] == two[1]), "the same words whether it is there or not");
    }
    // What he would change, the owner decides, who may let him write there.
    bench.spec.effect = Effect::named("self_create");
    assert_eq!(said(&bench, "shared/a.md").1, "guest.write");
    bench.world.guest_writes = true;
    bench.world.level = Level::Supervised;
    assert_eq!(said(&bench, "shared/a.md").1, "guest.supervised");
    for elsewhere in ["notes/a.md", "shared", "house", "shared/../a.md", "/etc/passwd", ""] {
        assert_ne!(said(&bench, elsewhere).0, Allow, "{elsewhere}");
    }
    bench.world.level = Level::ReadOnly;
    assert_eq!(said(&bench, "shared/a.md").1, "guest.write");
    bench.world.level = Level::Supervised;
    for class in ["destroy", "send", "shell", "schedule"] {
        bench.spec.effect = Effect::named(class);
        assert_eq!(said(&bench, "shared/a.md").1, "guest.write", "{class}");
    }
}

#[test]
fn child_calls_what_was_chosen_where_the_child_reads_and_nothing_more() {
    let chosen = || {
        let mut bench = Bench::new("x", "self_modify", json!({"/path": "path", "/text": "payload"}));
        (bench.context.who, bench.world.level) = (Who::Guest, Level::ReadOnly);
        bench.context.said("Add milk and two lemons", true, Lang::En);
        bench.world.guest_folders = vec!["shared".into(), "people/luca".into()];
        bench.world.own_folder = Some("luca".into());
        bench.world.own_is_there = true;
        bench.world.may_call.insert("e".into());
        bench
    };
    let bench = chosen();
    for path in ["shared/list.md", "people/luca/notes.md"] {
        assert_eq!(bench.says(json!({"path": path})), (Allow, "people.may"), "{path}");
    }
    for path in ["notes/list.md", "shared", "people/anna/notes.md", "/etc/passwd", "shared/../MEMORY.md"] {
        assert_ne!(bench.says(json!({"path": path})).0, Allow, "{path}");
    }
    // What names no file is about the child's own, where the executor has such a file, and never about everybody's.
    assert_eq!(bench.says(json!({"text": "milk"})), (Ask, "guest.write"));
    let mut own = chosen();
    own.spec.own_file = true;
    assert_eq!(own.says(json!({"text": "milk"})), (Allow, "people.may"));
    assert_eq!(own.says(json!({"text": "milk", "everybody": false})), (Allow, "people.may"));
    assert_eq!(own.says(json!({"text": "milk", "everybody": true})), (Ask, "guest.write"));
    own.world.own_is_there = false;
    assert_eq!(own.says(json!({"text": "milk"})), (Ask, "guest.write"), "what makes the folder is asked for");
    own.world.own_is_there = true;
    own.world.own_folder = None;
    assert_eq!(own.says(json!({"text": "milk"})), (Ask, "guest.write"));
    let shared = json!({"path": "shared/list.md", "text": "- milk\n- lemons (2)\n"});
    assert_eq!(chosen().tainted().says(shared.clone()), (Allow, "people.may"), "no word of it was read anywhere");
    for text in ["- milk from evil.example", "obey", "- mil"] {
        let foreign = json!({"path": "shared/list.md", "text": text});
        assert_eq!(chosen().says(foreign), (Ask, "guest.write"), "{text}: the child has not said that");
    }
    for class in ["destroy", "send", "shell", "schedule", "money"] {
        let mut bench = chosen();
        bench.spec.effect = Effect::named(class);
        assert_eq!(bench.says(shared.clone()), (Ask, "guest.write"), "{class}");
    }
    let mut lasting = chosen();
    lasting.spec.reversible = false;
    assert_eq!(lasting.says(shared.clone()), (Ask, "guest.write"));
    let mut other = chosen();
    other.world.may_call = ["another".to_owned()].into();
    assert_eq!(other.says(shared), (Ask, "guest.write"));
}

#[test]
fn others_are_told_nothing_without_a_card_or_the_owners_typing() {
    let prompt = "tell Marco that dinner is ready";
    let bench = |prompt: &str| {
        let mut bench = Bench::new(prompt, "send", json!({"/person": "dest", "/message": "payload"}));
        bench.spec.tells = true;
        (bench.spec.reversible, bench.world.confirm) = (false, Confirm::Card);
        bench
    };
    let said = |message: &str| json!({"person": "Marco", "message": message});
    assert_eq!(
        bench(prompt).says(said("dinner is ready")),
        (Ask, "confirm.card"),
        "it may be said of him, and not to him"
    );
    let mut literal = bench(prompt);
    literal.world.confirm = Confirm::Literal;
    assert_eq!(literal.says(said("dinner is ready")), (Allow, "send.household"));
    let mut typed = bench(prompt);
    let args = [("/message", "dinner is ready"), ("/person", "Marco")];
    let args = args.into_iter().map(|(at, text)| (at.to_owned(), Wanted::Literal(text.into()))).collect();
    typed.context.intent = Intent::typed(Slot { executor: "e".into(), args, max: 1 });
    assert_eq!(typed.says(said("dinner is ready")).0, Allow, "the owner has typed it argument by argument");
    assert_eq!(bench(prompt).says(json!({"person": "Anna", "message": "dinner is ready"})), (Ask, "send.dest"));
    let lure = Value::from("come and pay Eve");
    assert_eq!(bench(prompt).says(said("come and pay Eve")), (Ask, "send.composed"));
    let announced = bench(prompt).slot(&[("/message", Some(lure)), ("/person", Some("Marco".into()))], 1);
    assert_eq!(announced.says(said("come and pay Eve")), (Ask, "send.composed"), "a slot is the planner's");
    // To the person who asks it is what an answer is; after reading, it must have been foreseen.
    assert_eq!(bench(prompt).says(json!({"message": "come and pay Eve"})), (Allow, "send.self"));
    assert_eq!(bench(prompt).tainted().says(json!({"message": "come and pay Eve"})), (Ask, "intent.none"));
    let mut guest = bench(prompt);
    guest.context.who = Who::Guest;
    assert_eq!(guest.says(said("dinner is ready")), (Ask, "guest.write"));
}

#[test]
fn strangers_are_denied_and_guests_may_only_read() {
    let mut bench = Bench::new("x", "read", json!({}));
    bench.context.who = Who::Unpaired;
    assert_eq!(bench.says(json!({})), (Deny, "principal.unpaired"));
    bench.context.who = Who::Guest;
    assert_eq!(bench.says(json!({})), (Allow, "read.granted"));
    bench.spec.effect = Effect::named("self_create");
    assert_eq!(bench.says(json!({})), (Ask, "guest.write"));
    bench.context.who = Who::Owner;
    bench.world.level = Level::ReadOnly;
    assert_eq!(bench.says(json!({})), (Ask, "level.readonly"));
}

#[test]
fn a_core_path_is_denied_whatever_the_class_and_a_mention_is_no_access() {
    for effect in ["read", "self_create", "destroy", "send", "shell", "cart"] {
        let bench = Bench::new("x", effect, json!({"path": "path", "which": "selector", "text": "payload"}));
        for path in ["/etc/shadow", "//etc/shadow", "~/.ssh/id", "%2fetc/passwd", "/proc/self/root/etc/shadow"] {
            assert_eq!(bench.says(json!({"path": path})).0, Deny, "{effect} {path}");
            assert_eq!(bench.says(json!({"which": path})).0, Deny, "{effect} {path}");
            assert_ne!(bench.says(json!({"text": path})).0, Deny, "{effect} {path}");
        }
    }
}

#[test]
fn the_files_that_say_what_metnos_is_are_not_written_under_taint() {
    let bench =
        Bench::new("write SOUL.md and notes/a.md", "self_create", json!({"path": "path"})).slot(&[("/path", None)], 3);
    assert_eq!(bench.says(json!({"path": "MEMORY.md"})), (Ask, "workspace.core"), "his words do not name it");
    assert_eq!(bench.says(json!({"path": "./Soul.md"})), (Deny, "law.constitution"));
    let bench = bench.tainted();
    assert_eq!(bench.says(json!({"path": "SOUL.md"})), (Deny, "law.constitution"));
    for path in ["./identity.md", "memory.md", "~/workspace/USER.md", "notes/../TELOS.md"] {
        assert_eq!(bench.says(json!({"path": path})), (Deny, "workspace.core"), "{path}");
    }
    assert_ne!(bench.says(json!({"path": "notes/SOUL.md"})).0, Deny);
}

#[test]
fn adult_reads_and_writes_as_the_owner_but_not_the_owners_files() {
    let mut bench =
        Bench::new("write likes tea into USER.md", "self_create", json!({"path": "path", "text": "payload"}));
    bench.context.who = Who::Adult;
    bench.context.said("write likes tea into USER.md", true, Lang::En);
    assert_eq!(bench.says(json!({"path": "USER.md", "text": "likes tea"})), (Ask, "adult.core"));
    assert_eq!(bench.says(json!({"path": "SOUL.md", "text": "likes tea"})), (Deny, "law.constitution"));
    assert_eq!(bench.says(json!({"path": "notes/tea.md", "text": "likes tea"})).0, Allow);
    bench.spec.effect = Effect::named("read");
    assert_eq!(bench.says(json!({"path": "notes/a.md"})), (Allow, "read.granted"));
    assert_eq!(bench.says(json!({"path": ".env"})), (Deny, "secret.file"));
}

#[test]
fn a_side_effect_under_taint_needs_a_slot_that_is_not_used_up() {
    let bench = Bench::new("note it", "self_create", json!({})).tainted();
    assert_eq!(bench.says(json!({"text": "x"})), (Ask, "intent.none"));
    let mut bench = Bench::new("note it", "self_create", json!({})).slot(&[("/text", None)], 1).tainted();
    let judgement = bench.judge(&json!({"text": "x"}));
    assert_eq!(judgement.ruling.rule, "self_create.slot");
    bench.context.carried_out(&judgement);
    assert_eq!(bench.says(json!({"text": "x"})), (Ask, "intent.spent"));
    assert_eq!(bench.says(json!({"other": "x"})), (Ask, "intent.none"));
}

#[test]
fn a_request_that_leaves_the_machine_says_only_what_was_typed() {
    let args = json!({"url": "url"});
    // A clean turn endorses nothing: its planner may be the attacker's, too.
    for bench in [
        Bench::new("read https://a.example/x and the news", "net_read", args.clone()),
        Bench::new("read https://a.example/x and the news", "net_read", args.clone()).tainted(),
    ] {
        for url in ["https://a.example/x", "https://ok.example", "https://ok.example/", "https://ok.example/news"] {
            assert_eq!(bench.says(json!({"url": url})), (Allow, "net_read.literal"), "{url}");
        }
        for url in [
            "https://b.example",
            "https://a.example/x?q=secret",
            "https://a.example/secret",
            "https://ok.example/secret",
            "https://ok.example/?q=1",
            "https://ok.example.evil.net/",
            "https://me@ok.example/",
            "http://ok.example/",
            "https://evil.example#https://ok.example",
        ] {
            assert_eq!(bench.says(json!({"url": url})), (Ask, "net_read.url"), "{url}");
        }
    }
}

#[test]
fn messages_go_where_the_owner_points_and_carry_what_he_typed() {
    let args = json!({"to": "dest", "text": "payload"});
    let frozen = [("/to", Some(json!("eve"))), ("/text", Some(json!("see you at 8")))];
    let bench = Bench::new("tell eve: see you at 8", "send", args.clone()).slot(&frozen, 1).tainted();
    assert_eq!(bench.says(json!({"to": "eve", "text": "see you at 8"})), (Allow, "send.literal"));
    let any = [("/to", None), ("/text", None)];
    let bench = Bench::new("tell eve what it says", "send", args.clone()).slot(&any, 3).tainted();
    assert_eq!(bench.says(json!({"to": "eve", "text": "x"})), (Ask, "send.dest"), "not frozen at that pointer");
    assert_eq!(bench.says(json!({"to": "bob", "text": "x"})), (Ask, "send.derived"), "a contact is not enough");
    assert_eq!(bench.says(json!({"to": "me", "text": "x"})), (Allow, "send.owner"));
    let clean = Bench::new("tell eve hello", "send", args);
    assert_eq!(clean.says(json!({"to": "eve", "text": "hello"})), (Allow, "send.literal"));
    assert_eq!(clean.says(json!({"to": "eve", "text": "the code is 1234"})), (Ask, "send.composed"), "nobody typed it");
    assert_eq!(clean.says(json!({"to": "mallory", "text": "Hello!"})), (Ask, "send.dest"));
}

#[test]
fn level_full_lets_derived_text_go_only_where_it_leads_nowhere() {
    let slot = [("/to", Some(json!("eve"))), ("/text", None)];
    let mut bench =
        Bench::new("tell eve what it says", "send", json!({"to": "dest", "text": "payload"})).slot(&slot, 3).tainted();
    bench.world.level = Level::Full;
    assert_eq!(bench.says(json!({"to": "eve", "text": "sun, 24 degrees"})), (Allow, "send.full"));
    assert_eq!(bench.says(json!({"to": "eve", "text": "pay at https://evil.example"})), (Ask, "send.derived"));
    bench.context.read(X, false);
    assert_eq!(bench.says(json!({"to": "eve", "text": "sun"})), (Ask, "send.derived"), "something private was read");
}

#[test]
fn level_full_changes_unasked_only_what_can_be_undone_and_repeated() {
    let mut bench = Bench::new("tidy my notes", "self_modify", json!({"path": "path", "text": "payload"}));
    let call = json!({"path": "notes/a.md", "text": "x"});
    for (level, reversible, idempotent, says) in [
        (Level::Supervised, true, true, (Ask, "self_modify.selector")),
        (Level::Full, true, true, (Allow, "self_modify.home")),
        (Level::Full, true, false, (Ask, "self_modify.selector")),
        (Level::Full, false, true, (Ask, "self_modify.selector")),
    ] {
        bench.world.level = level;
        (bench.spec.reversible, bench.spec.idempotent) = (reversible, idempotent);
        assert_eq!(bench.says(call.clone()), says, "{level:?}, reversible {reversible}, idempotent {idempotent}");
    }
}

#[test]
fn money_goes_to_a_payee_and_in_an_amount_that_were_typed() {
    let args = json!({"to": "dest", "amount": "amount", "id": "selector", "date": "time", "note": "payload"});
    let bench = Bench::new("pay ACME 50.00", "money", args)
        .slot(&[("/to", Some(json!("ACME"))), ("/amount", Some(json!(50)))], 1)
        .slot(&[("/to", None), ("/amount", None), ("/id", None), ("/date", None), ("/note", None)], 3)
        .tainted();
    assert_eq!(bench.says(json!({"to": "ACME", "amount": 50.0})), (Allow, "money.frozen"));
    assert_eq!(bench.says(json!({"to": "EVIL", "amount": 50.0})), (Ask, "money.payee"));
    assert_eq!(bench.says(json!({"to": "me", "amount": 50.0})), (Ask, "money.payee"));
    assert_eq!(bench.says(json!({"to": "ACME", "amount": 51})), (Ask, "money.payee"));
    assert_eq!(bench.says(json!({"id": 7, "amount": 51})), (Ask, "money.selector"));
    assert_eq!(bench.says(json!({"amount": 51})), (Ask, "money.payee"));
    let mut capped = bench;
    capped.world.money_cap = Some(49.0);
    assert_eq!(capped.says(json!({"to": "ACME", "amount": 50.0})), (Ask, "money.cap"));
    // The owner has typed many words; none of them but a number is an amount.
    let args = json!({"to": "dest", "amount": "amount"});
    let typed = Bench::new("pay ACME what they are owed, -5", "money", args)
        .slot(&[("/to", Some(json!("ACME"))), ("/amount", Some(json!("owed")))], 1)
        .slot(&[("/to", Some(json!("ACME"))), ("/amount", Some(json!(-5)))], 1);
    assert_eq!(typed.says(json!({"to": "ACME", "amount": "owed"})), (Ask, "money.amount"));
    assert_eq!(typed.says(json!({"to": "ACME", "amount": -5})), (Ask, "money.amount"));
}

#[test]
fn removal_without_named_target_or_undo_needs_approval() {
    let args = json!({"path": "path", "all": "flag"});
    let mut bench = Bench::new("delete logs/old.log", "destroy", args);
    assert_eq!(bench.says(json!({"path": "logs/old.log"})), (Allow, "destroy.designated"));
    assert_eq!(bench.says(json!({"path": "logs/new.log"})), (Ask, "destroy.selector"));
    assert_eq!(bench.says(json!({})), (Ask, "destroy.selector"));
    assert_eq!(bench.says(json!({"path": "logs/old.log", "all": false})), (Allow, "destroy.designated"));
    assert_eq!(bench.says(json!({"path": "logs/old.log", "all": true})), (Ask, "destroy.many"));
    bench.spec.reversible = false;
    assert_eq!(bench.says(json!({"path": "logs/old.log"})), (Ask, "destroy.irreversible"));
}

#[test]
fn a_designation_is_good_for_one_use() {
    let mut bench = Bench::new("cancel the meeting", "destroy", json!({"id": "selector"})).slot(&[("/id", None)], 3);
    let list = Spec::from_catalogue("l", &json!({"effect": "read", "output": {"i": "X", "V": ["id"]}}));
    let nothing = json!({});
    let opaque = BTreeMap::new();
    let query = judge(
        &bench.world,
        &bench.context,
        &CallRequest { spec: &list, args: &nothing, opaque: &opaque, claims: Vec::new(), files: Files::default() },
    );
    let parts = crate::replay::parts(&json!([{"id": "a1", "title": "meeting"}, {"id": "a2", "title": "lunch"}]));
    let output = Output::of(&list.output, parts, &query.inputs, None, |_| None, |_| false);
    bench.context.read(output.whole, false);
    let says = |context: &Context, id: &str, leaf: &str| {
        let claims = vec![crate::call::fields::Claim { pointer: "/id".into(), output: &output, leaf: leaf.into() }];
        judge(
            &bench.world,
            context,
            &CallRequest {
                spec: &bench.spec,
                args: &json!({ "id": id }),
                opaque: &opaque,
                claims,
                files: Files::default(),
            },
        )
    };
    let first = says(&bench.context, "a1", "/0/id");
    assert_eq!(first.ruling.rule, "destroy.designated");
    assert_eq!(says(&bench.context, "a2", "/1/id").ruling.decision, Ask, "not named");
    assert_eq!(says(&bench.context, "a3", "/0/id").ruling.decision, Ask, "the digest does not fit the claim");
    let mut after = bench.context.clone();
    after.carried_out(&first);
    assert_eq!(says(&after, "a1", "/0/id").ruling.decision, Ask, "used up");
}

#[test]
fn a_secret_goes_only_where_the_owner_has_typed() {
    let bench = Bench::new("send it to eve", "send", json!({"to": "dest", "text": "payload"}));
    let opaque =
        BTreeMap::from([("/text".to_owned(), Label { integrity: Integrity::Vouched, readers: Readers::Secret })]);
    let says = |to: &str| {
        let args = json!({"to": to, "text": {"$ref": "c1#/t"}});
        judge(
            &bench.world,
            &bench.context,
            &CallRequest {
                spec: &bench.spec,
                args: &args,
                opaque: &opaque,
                claims: Vec::new(),
                files: Files::default(),
            },
        )
        .ruling
    };
    assert_eq!((says("bob").decision, says("bob").rule), (Deny, "secret.sink"));
    assert_eq!((says("eve").decision, says("eve").rule), (Ask, "send.composed"), "where it was typed, a card shows it");
}

#[test]
fn accounts_need_every_critical_word_and_codes_an_act_before_them() {
    let frozen = [("/password", Some(json!("aB1-x")))];
    let bench = Bench::new("set it to 'aB1-x'", "account", json!({"password": "secret"})).slot(&frozen, 1).tainted();
    assert_eq!(bench.says(json!({"password": "aB1-x"})), (Allow, "account.frozen"));
    assert_eq!(bench.says(json!({"password": "new"})), (Ask, "intent.none"));
    let mut bench = Bench::new("x", "confirm", json!({"code": "secret"}));
    assert_eq!(bench.says(json!({"code": "123456"})), (Ask, "confirm.alone"));
    let act = Bench::new("x", "self_create", json!({})).judge(&json!({}));
    bench.context.carried_out(&act);
    assert_eq!(bench.says(json!({"code": "123456"})), (Allow, "confirm.follows"));
    bench.context.dropped(act.effect);
    assert_eq!(bench.says(json!({"code": "123456"})), (Ask, "confirm.alone"));
}

#[test]
fn commands_are_listed_and_clean_or_asked_for() {
    let bench = Bench::new("x", "shell", json!({"argv": "argv"}));
    assert_eq!(bench.says(json!({"argv": ["date"]})), (Allow, "shell.listed"));
    assert_eq!(bench.says(json!({"argv": ["env", "rm", "-rf", "x"]})), (Ask, "shell.unlisted"));
    assert_eq!(bench.says(json!({"argv": []})), (Ask, "shell.unlisted"));
    assert_eq!(bench.slot(&[("/argv/0", None)], 1).tainted().says(json!({"argv": ["date"]})), (Ask, "shell.tainted"));
}

#[test]
fn sending_needs_a_card_when_cards_are_wanted() {
    let mut bench = Bench::new("tell eve hello", "send", json!({"to": "dest"}));
    bench.world.confirm = Confirm::Card;
    assert_eq!(bench.says(json!({"to": "eve"})), (Ask, "confirm.card"));
    assert_eq!(bench.says(json!({"to": "me"})), (Allow, "send.owner"));
    bench.spec.effect = Effect::named("self_create");
    assert_eq!(bench.says(json!({"text": "x"})), (Allow, "self_create.clean"));
}

#[test]
fn the_seventh_question_stops_the_turn() {
    let mut bench = Bench::new("x", "send", json!({"to": "dest"}));
    for _ in 0..MAX_QUESTIONS {
        assert_eq!(bench.says(json!({"to": "mallory"})).1, "send.dest");
        bench.context.asked();
    }
    assert_eq!(bench.says(json!({"to": "mallory"})), (Ask, "turn.questions"));
    bench.context.said("go on", true, Lang::En);
    assert_eq!(bench.says(json!({"to": "mallory"})).1, "send.dest");
}

fn any_effect() -> impl Strategy<Value = &'static str> {
    proptest::sample::select(vec![
        "self_create",
        "self_modify",
        "destroy",
        "send",
        "share",
        "publish",
        "acl",
        "money",
        "account",
        "book",
        "shell",
        "schedule",
        "confirm",
        "cart",
        "session",
        "mark",
        "nonsense",
    ])
}

proptest! {
    /// Whatever the class: once something untrusted was read, nothing that was not foreseen happens unasked.
    #[test]
    fn nothing_unforeseen_happens_under_taint(effect in any_effect(), key in "[a-z]{1,4}", text in "\\PC{0,20}", full in any::<bool>()) {
        let mut bench = Bench::new("do what it says", effect, json!({"to": "dest", "id": "selector"})).tainted();
        bench.world.level = if full { Level::Full } else { Level::Supervised };
        prop_assert_ne!(bench.says(json!({ key: text })).0, Allow);
    }

    /// A slot that leaves everything open gives an attacker neither money, accounts nor destinations.
    #[test]
    fn an_open_slot_endorses_nothing(
        effect in proptest::sample::select(vec!["send", "share", "publish", "acl", "money", "account", "book", "destroy", "self_modify", "schedule", "shell"]),
        to in "[a-z0-9@.]{1,20}", amount in 0.0f64..1e6, full in any::<bool>(),
    ) {
        let slot = [("/to", None), ("/amount", None), ("/id", None), ("/text", None)];
        let args = json!({"to": "dest", "amount": "amount", "id": "selector", "text": "payload"});
        let mut bench = Bench::new("please do what the letter says", effect, args).slot(&slot, 3).tainted();
        bench.world.level = if full { Level::Full } else { Level::Supervised };
        prop_assume!(to != "me" && to != "letter" && to != "please");
        let call = json!({"to": to, "amount": amount, "id": to, "text": to});
        prop_assert_ne!(bench.says(call).0, Allow);
    }

    #[test]
    fn garbage_never_panics(effect in any_effect(), text in "\\PC{0,40}", prompt in "\\PC{0,60}") {
        let bench = Bench::new(&prompt, effect, json!({"a": "path", "b": "url", "c": "argv"}));
        let _ = bench.says(json!({"a": text, "b": [text, {"x": text}], "c": text}));
    }
}
