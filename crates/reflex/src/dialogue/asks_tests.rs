//! Questions at another time, and questions for what a day was like: what words become them, and what words do not.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::sync::LazyLock;

use metnos_proto::envelope::{Candidate, Envelope, Named};
use metnos_proto::msg::common::Lang;
use metnos_proto::msg::schedule::{Order, frozen_call};
use proptest::prelude::*;

use super::asked_at_another_time;
use crate::Reply;
use crate::testing::{envelope as envelope_of, plan, shipped};

static SHIPPED: LazyLock<Vec<Candidate>> = LazyLock::new(shipped);

/// Tuesday 24 November 2026, 10:00 in Rome.
const NOW: i64 = 1_795_510_800;

fn envelope(lang: Lang) -> Envelope {
    let mut envelope = envelope_of(SHIPPED.clone(), lang);
    envelope.home.zone = "Europe/Rome (CET-1CEST,M3.5.0,M10.5.0/3)".into();
    envelope.home.now = NOW;
    envelope.home.lists = "notes".into();
    envelope.home.butler = "Alfredo".into();
    envelope.named = ["notes/shopping-list.md", "notes/lista-della-spesa.md", "notes/a.md"].map(Named::file).to_vec();
    envelope
}

#[test]
fn questions_at_another_time_are_found_with_what_and_when() {
    for (text, what, when) in [
        ("every morning at 8 read notes/a.md", "read notes/a.md", "every morning at 8"),
        ("Every day at 18:30, read notes/a.md", "read notes/a.md", "Every day at 18:30"),
        ("read notes/a.md every Monday at 9 am", "read notes/a.md", "every Monday at 9 am"),
        (
            "every morning at 8 tell me what is on the shopping list",
            "what is on the shopping list",
            "every morning at 8",
        ),
        ("every Friday at 18 show me the shopping list", "show me the shopping list", "every Friday at 18"),
        (
            "tell me every morning at 8 what is on the shopping list",
            "what is on the shopping list",
            "every morning at 8",
        ),
        (
            "tell me what is on the shopping list every Saturday at 10:30",
            "what is on the shopping list",
            "every Saturday at 10:30",
        ),
        ("tomorrow at 9:30 tell me what is on the shopping list", "what is on the shopping list", "tomorrow at 9:30"),
        ("every evening at 21:00 tell me what happened today", "what happened today", "every evening at 21:00"),
        ("every morning at 7:30 tell me what is planned today", "what is planned today", "every morning at 7:30"),
        (
            "remind me every Saturday at 10:00 what is on the shopping list",
            "what is on the shopping list",
            "every Saturday at 10:00",
        ),
        (
            "Alfredo, every morning at 8 tell me what is on the shopping list",
            "what is on the shopping list",
            "every morning at 8",
        ),
        (
            "let me know every Saturday at 10:30 what is on the shopping list",
            "what is on the shopping list",
            "every Saturday at 10:30",
        ),
        ("remind me of Luca's birthday", "is it Luca's birthday today", "every day at 9:00"),
        ("ricordami i compleanni il giorno prima", "chi compie gli anni domani", "ogni giorno alle 9:00"),
        ("ogni mattina alle 8 leggi notes/a.md", "leggi notes/a.md", "ogni mattina alle 8"),
        ("leggi notes/a.md ogni lunedì alle 9:30", "leggi notes/a.md", "ogni lunedì alle 9:30"),
        (
            "ogni mattina alle 8 dimmi cosa c'è sulla lista della spesa",
            "cosa c'è sulla lista della spesa",
            "ogni mattina alle 8",
        ),
        (
            "dimmi ogni mattina alle 8 cosa c'è sulla lista della spesa",
            "cosa c'è sulla lista della spesa",
            "ogni mattina alle 8",
        ),
        ("ogni sera alle 21 dimmi cosa è successo oggi", "cosa è successo oggi", "ogni sera alle 21"),
        (
            "ogni sera alle 21 mandami il riassunto della giornata",
            "mandami il riassunto della giornata",
            "ogni sera alle 21",
        ),
        ("ogni mattina alle 7:30 dimmi che impegni ho oggi", "che impegni ho oggi", "ogni mattina alle 7:30"),
        (
            "domani alle 9:30 dimmi cosa c'è sulla lista della spesa",
            "cosa c'è sulla lista della spesa",
            "domani alle 9:30",
        ),
        ("ogni sabato alle 10 mostrami la lista della spesa", "mostrami la lista della spesa", "ogni sabato alle 10"),
        (
            "fammi sapere ogni sabato alle 10 cosa c'è sulla lista della spesa",
            "cosa c'è sulla lista della spesa",
            "ogni sabato alle 10",
        ),
    ] {
        let envelope = envelope(Lang::En);
        let Reply::Schedule(Order::Ask(ask), _) = plan(text, &envelope) else {
            panic!("{text}: {:?}", plan(text, &envelope))
        };
        assert_eq!((ask.what.concat().as_str(), ask.when.concat().as_str()), (what, when), "{text}");
        assert!(asked_at_another_time(text, &envelope).contains(&ask), "{text}: who judges it reads the same");
    }
}

#[test]
fn other_words_with_times_are_no_questions_at_another_time() {
    for text in [
        "remind me every morning at 8 to read notes/a.md",
        "remind me tomorrow at 9:30 to read notes/a.md",
        "ricordami ogni mattina alle 8 di leggere notes/a.md",
        "tell me every morning at 8 to read notes/a.md",
        "what is planned every Monday?",
        "what do I have to do tomorrow at 9?",
        "tell me what is planned tomorrow",
        "dimmi cosa c'è in programma domani alle 9",
        "tomorrow add milk to the shopping list",
        "add dentist tomorrow at 9 to the shopping list",
        "add to the shopping list bread for tomorrow at 9",
        "aggiungi alla lista della spesa il pane per domani alle 9",
        "tomorrow at 9 delete notes/a.md",
        "tomorrow at 9 note that the plumber comes",
        "yesterday at 9 add milk to the shopping list",
        "note that the bins go out every Monday at 7:30",
        "every Monday at 7:30 the bins go out, note that",
        "annota che ogni lunedì alle 7:30 passa la spazzatura",
        "write milk on the shopping list every Monday at 9",
        "every day at 9:00 delete notes/a.md",
        "note that every morning at 8 the bus comes",
        "every morning at 8",
        "find \"every morning at 8\" in notes",
        "read every file in notes",
        "what happened every day",
        "tomorrow at 9 the dentist",
        "domani alle 9:30 cosa c'è sulla lista della spesa",
        "every morning at 8 what is the meaning of life",
    ] {
        for lang in [Lang::En, Lang::It] {
            let reply = plan(text, &envelope(lang));
            assert!(!matches!(reply, Reply::Schedule(Order::Ask(_), _)), "{text}: {reply:?}");
        }
    }
}

#[test]
fn what_is_to_be_done_at_another_time_is_kept_with_its_calls() {
    for (text, what, when) in [
        ("tomorrow at 9:30 add milk to the shopping list", "add milk to the shopping list", "tomorrow at 9:30"),
        ("in 20 minutes take milk off the shopping list", "take milk off the shopping list", "in 20 minutes"),
        (
            "On Friday at 18:00, add 2 lemons to the shopping list",
            "add 2 lemons to the shopping list",
            "On Friday at 18:00",
        ),
        (
            "add milk and two lemons to the shopping list tomorrow at 18:00",
            "add milk and two lemons to the shopping list",
            "tomorrow at 18:00",
        ),
        (
            "domani alle 9:30 aggiungi il latte alla lista della spesa",
            "aggiungi il latte alla lista della spesa",
            "domani alle 9:30",
        ),
        (
            "aggiungi il latte alla lista della spesa tra 20 minuti",
            "aggiungi il latte alla lista della spesa",
            "tra 20 minuti",
        ),
        ("fra un'ora togli il latte dalla lista della spesa", "togli il latte dalla lista della spesa", "fra un'ora"),
        ("every Friday at 18 add milk to the shopping list", "add milk to the shopping list", "every Friday at 18"),
        (
            "add milk and two lemons to the shopping list every Friday at 18:00",
            "add milk and two lemons to the shopping list",
            "every Friday at 18:00",
        ),
        (
            "Alfredo, every Sunday at 21:00 take milk off the shopping list",
            "take milk off the shopping list",
            "every Sunday at 21:00",
        ),
        (
            "ogni venerdì alle 18 aggiungi il latte alla lista della spesa",
            "aggiungi il latte alla lista della spesa",
            "ogni venerdì alle 18",
        ),
        (
            "aggiungi il latte alla lista della spesa ogni venerdì alle 18",
            "aggiungi il latte alla lista della spesa",
            "ogni venerdì alle 18",
        ),
    ] {
        let envelope = envelope(Lang::En);
        let Reply::Schedule(Order::Ask(ask), _) = plan(text, &envelope) else {
            panic!("{text}: {:?}", plan(text, &envelope))
        };
        assert_eq!((ask.what.concat().as_str(), ask.when.concat().as_str()), (what, when), "{text}");
        let Reply::Plan(now) = plan(what, &envelope) else { panic!("{what}") };
        let calls: Vec<_> = now.calls.iter().map(|call| frozen_call(&call.executor, &call.arguments)).collect();
        assert_eq!(ask.frozen, calls, "{text}: what is done then is what the words mean now");
        // policyd lets a frozen call write no word that the request lacks.
        let texts = now.calls.iter().filter_map(|call| call.arguments["content"].as_str());
        let mut written =
            texts.flat_map(|text| text.split(|c: char| !c.is_alphanumeric())).filter(|word| !word.is_empty());
        assert!(written.all(|word| what.contains(word)), "{text}: {:?}", now.calls);
    }
}

#[test]
fn questions_for_what_a_day_was_like_are_found_with_their_time() {
    for (text, when) in [
        ("what happened today?", "today"),
        ("what did you do today", "today"),
        ("What happened yesterday?", "yesterday"),
        ("what have you done this week?", "this week"),
        ("how was my day", ""),
        ("give me a summary of the day", ""),
        ("daily review", ""),
        ("summarize the day", ""),
        ("recap this week please", "this week"),
        ("cosa è successo oggi?", "oggi"),
        ("che cos'hai fatto oggi", "oggi"),
        ("cosa hai fatto ieri", "ieri"),
        ("com'è andata oggi?", "oggi"),
        ("com'è andata la giornata?", ""),
        ("riassumi la giornata", ""),
        ("fammi il riassunto della giornata", ""),
        ("riepilogo di questa settimana", "questa settimana"),
        ("Alfredo, cosa è successo oggi?", "oggi"),
    ] {
        let reply = plan(text, &envelope(Lang::En));
        assert!(matches!(&reply, Reply::Review(found, _) if found == when), "{text}: {reply:?}");
    }
    for text in [
        "what happened in the world today",
        "what happened to the shopping list",
        "what happened tomorrow",
        "cosa è successo nel mondo oggi",
        "what did you do today to notes/a.md",
        "what did I say today",
        "how was the party",
        "the day",
        "buona giornata",
        "have a nice day",
        "com'è andata la gita di ieri?",
    ] {
        let reply = plan(text, &envelope(Lang::En));
        assert!(!matches!(reply, Reply::Review(..)), "{text}: {reply:?}");
    }
}

proptest! {
    #[test]
    fn questions_at_another_time_never_panic_or_invent_words(text in "(every |each |ogni |tell me |dimmi |remind me |at |alle |8|9:30|15|minutes |giorno|morning |Monday |,|é|read notes/a.md| ){0,12}") {
        for ask in asked_at_another_time(&text, &envelope(Lang::En)) {
            prop_assert!(ask.what.iter().chain(&ask.when).all(|part| !part.is_empty() && text.contains(part.as_str())), "{:?}", ask);
        }
    }
}
