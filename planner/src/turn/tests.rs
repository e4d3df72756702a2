//! The planner on real channels, with a scripted policyd and memoryd at their ends.

#![allow(clippy::unwrap_used, clippy::panic)]

use metnos_proto::edge::RpcError;
use metnos_proto::ids::{TraceId, TurnId};
use metnos_proto::msg::common::{Lang, Outcome, RefusalCode};
use metnos_proto::msg::planner::{CallState, CancelTurn, TurnEnd};
use serde_json::json;

use super::{CLOSE_WITHIN_MS, HEALTH_AGAIN_MS, MAX_TURNS, MAX_WHY, MAX_WISH, TURN_WITHIN_MS};
use crate::testing::{candidates, envelope, run, until};

use super::stage::{Fate, Stage, file, stats};

#[test]
fn a_turn_goes_through_every_door_in_order_and_answers_byte_for_byte() {
    run(async {
        let mut stage = Stage::new(&[("fs_read", file("# Hello\nno newline"))]);
        let (text, calls, done) = stage.ask("read notes/welcome.md").await;
        assert_eq!(text, "# Hello\nno newline");
        assert_eq!(calls, [(1, CallState::Started), (1, CallState::Succeeded)]);
        assert_eq!((done.end, done.why.as_str()), (TurnEnd::Answered, ""));
        let mut asked = stage.script.asked.borrow().clone();
        asked.retain(|ask| ask != "health");
        // The last two are reported side by side.
        asked[4..].sort();
        assert_eq!(
            asked,
            [
                "begin_turn",
                "intent fs_read /path=\"notes/welcome.md\"",
                "act c1 fs_read {\"path\":\"notes/welcome.md\"}",
                "release true",
                "close_turn answered ",
                "end_turn",
            ]
        );
        assert_eq!(stage.planner.turns(), 0);
    });
}

#[test]
fn a_chain_runs_by_reference_and_only_its_last_result_is_released() {
    run(async {
        let mut stage = Stage::new(&[("fs_read", file("secret")), ("text_stats", stats())]);
        let (text, _, done) = stage.ask("how many words are in notes/welcome.md").await;
        assert_eq!(text, "notes/welcome.md has 120 words in 20 lines, 800 characters in all.\n");
        assert_eq!(done.end, TurnEnd::Answered);
        assert_eq!(stage.script.asked("release").len(), 1);
        assert_eq!(stage.script.asked("act")[1], "act c2 text_stats {\"text\":{\"$ref\":\"c1#/content\"}}");
    });
}

#[test]
fn policyd_is_asked_about_a_habit_on_the_fifth_day_alone() {
    run(async {
        const DAY: i64 = 86_400;
        // Tuesday 24 November 2026, 09:00 UTC.
        const NOW: i64 = 1_795_510_800;
        let mut stage = Stage::new(&[("fs_read", file("Hello\n"))]);
        for (days, offers) in [(4, true), (3, false), (5, false)] {
            let mut shown = envelope(candidates(), Lang::En);
            shown.home.now = NOW;
            shown.same = (1..=days).rev().map(|day| NOW - day * DAY).collect();
            *stage.script.envelope.borrow_mut() = serde_json::to_vec(&shown).unwrap();
            let (text, _, done) = stage.ask("read notes/welcome.md").await;
            assert_eq!((text.as_str(), &done.end), ("Hello\n", &TurnEnd::Answered), "the planner says nothing of it");
            let asked = std::mem::take(&mut *stage.script.asked.borrow_mut());
            assert_eq!(asked.iter().filter(|one| *one == "offer_habit").count(), usize::from(offers), "{days}");
        }
        // Nothing is planned by the offer.
        assert!(stage.script.asked("schedule").is_empty());
    });
}

#[test]
fn several_texts_are_distinguished() {
    run(async {
        let mut stage = Stage::new(&[("fs_read", file("x"))]);
        let (text, _, done) = stage.ask("read notes/a.md and notes/b.md").await;
        assert_eq!(text, "==> notes/a.md <==\nx\n==> notes/b.md <==\nx\n");
        assert_eq!(done.end, TurnEnd::Answered);
    });
}

#[test]
fn a_denied_call_ends_the_turn_with_the_reason_and_the_remedy() {
    run(async {
        let mut stage = Stage::new(&[("fs_read", Fate::Denied)]);
        let (text, calls, done) = stage.ask("read /etc/shadow").await;
        assert!(text.is_empty());
        assert_eq!(calls.last().unwrap().1, CallState::Denied);
        assert_eq!(done.end, TurnEnd::Denied);
        assert!(done.why.starts_with("That place is closed to me"), "{}", done.why);
        assert!(done.why.ends_with("Copy what you need into the workspace, and name it there."), "{}", done.why);
        assert!(stage.script.asked("release").is_empty());
        assert_eq!(stage.script.asked("close_turn"), ["close_turn denied "]);
    });
}

#[test]
fn a_denied_call_is_asked_once_though_the_words_ask_twice() {
    run(async {
        let mut stage = Stage::new(&[("fs_read", Fate::Denied)]);
        let (_, _, done) = stage.ask("read /etc/shadow and /etc/shadow").await;
        assert_eq!(done.end, TurnEnd::Denied);
        assert_eq!(stage.script.asked("act").len(), 1);
    });
}

#[test]
fn error_is_reported_and_dependent_calls_do_not_run() {
    run(async {
        let mut stage = Stage::new(&[("fs_read", Fate::Error("notes/x.md does not exist")), ("text_stats", stats())]);
        let (text, _, done) = stage.ask("how many words are in notes/x.md").await;
        assert!(text.is_empty());
        assert_eq!((done.end, done.why.as_str()), (TurnEnd::Unsuccessful, "I cannot find notes/x.md."));
        assert_eq!(stage.script.asked("act").len(), 1);
    });
}

#[test]
fn run_without_result_is_reported_without_release() {
    run(async {
        let mut stage = Stage::new(&[("fs_read", Fate::Ends(Outcome::Timeout))]);
        let (_, _, done) = stage.ask("read notes/x.md").await;
        assert_eq!(
            (done.end, done.why.as_str()),
            (
                TurnEnd::Unsuccessful,
                "That took too long, so it was stopped. Ask for a smaller part, or try again later."
            )
        );
        assert!(stage.script.asked("release").is_empty());
    });
}

#[test]
fn what_is_not_understood_while_executors_are_tested_is_no_wish() {
    run(async {
        let mut stage = Stage::new(&[]);
        stage.unborn = 3;
        let (text, calls, done) = stage.ask("paint the fence").await;
        assert!(text.is_empty() && calls.is_empty());
        assert_eq!(done.end, TurnEnd::Unsuccessful);
        assert!(done.why.contains("still trying out 3 of my abilities"), "{}", done.why);
        assert_eq!(stage.script.asked("close_turn"), ["close_turn unsuccessful "]);
        // What is understood is answered all the same.
        let (text, _, done) = stage.ask("hello").await;
        assert_eq!(done.end, TurnEnd::Answered, "{}", done.why);
        assert!(!text.is_empty());
    });
}

#[test]
fn words_that_are_not_understood_cause_no_call_and_become_a_wish() {
    run(async {
        let mut stage = Stage::new(&[("fs_read", file("x"))]);
        let (text, calls, done) = stage.ask("paint the fence").await;
        assert!(text.is_empty() && calls.is_empty());
        assert_eq!(done.end, TurnEnd::NotUnderstood);
        assert!(done.why.contains("No language model is configured"), "{}", done.why);
        assert_eq!(stage.script.asked("close_turn"), ["close_turn not_understood paint the fence"]);
        assert!(stage.script.asked("intent").is_empty());
    });
}

#[test]
fn a_long_answer_comes_in_pieces_that_make_it_up_exactly() {
    run(async {
        let content = "è€𝄞x".repeat(30_000);
        let mut stage = Stage::new(&[("fs_read", file(&content))]);
        let (text, _, _) = stage.ask("read notes/long.md").await;
        assert!(text == content);
    });
}

#[test]
fn a_result_that_lies_about_its_form_is_not_shown() {
    run(async {
        let mut stage = Stage::new(&[("fs_read", Fate::Ok(json!({"ok": "maybe"})))]);
        let (text, _, done) = stage.ask("read notes/x.md").await;
        assert!(text.is_empty());
        assert_eq!(
            (done.end, done.why.as_str()),
            (TurnEnd::Unsuccessful, "I could not read what came back, so I have no answer. Ask again.")
        );
    });
}

#[test]
fn policyd_gone_in_the_middle_breaks_the_turn_with_a_clear_sentence() {
    run(async {
        let mut stage = Stage::new(&[("fs_read", Fate::Hangs)]);
        stage.open(TurnId::new(), b"read notes/x.md").await.unwrap();
        until(|| !stage.script.asked("act").is_empty()).await;
        stage.policyd.abort();
        let (_, _, done) = stage.listen().await;
        assert_eq!(done.end, TurnEnd::Broken);
        assert!(done.why.contains("stopped in the middle") && done.why.contains("ask again"), "{}", done.why);
        assert_eq!(stage.planner.turns(), 0);
    });
}

#[test]
fn a_turn_that_takes_too_long_is_broken_off() {
    run(async {
        let mut stage = Stage::new(&[("fs_read", Fate::Hangs)]);
        let before = tokio::time::Instant::now();
        let (_, _, done) = stage.ask("read notes/x.md").await;
        assert_eq!(done.end, TurnEnd::Broken);
        assert_eq!(before.elapsed().as_secs(), TURN_WITHIN_MS / 1000);
        assert_eq!(stage.script.asked("end_turn").len(), 1);
    });
}

#[test]
fn a_cancelled_turn_ends_and_starts_no_further_call() {
    run(async {
        let mut stage = Stage::new(&[("fs_read", Fate::Hangs), ("text_stats", stats())]);
        let turn = TurnId::new();
        stage.open(turn, b"how many words are in notes/x.md").await.unwrap();
        until(|| !stage.script.asked("act").is_empty()).await;
        let (cancelled, []) = stage.door.cancel_turn(TraceId::NONE, CancelTurn { turn }, []).await.unwrap();
        assert!(cancelled.was_open);
        let (_, _, done) = stage.listen().await;
        assert_eq!(done.end, TurnEnd::Cancelled);
        assert_eq!(stage.script.asked("act").len(), 1);
        assert_eq!(stage.script.asked("close_turn"), ["close_turn cancelled "]);
        let (cancelled, []) = stage.door.cancel_turn(TraceId::NONE, CancelTurn { turn }, []).await.unwrap();
        assert!(!cancelled.was_open);
    });
}

#[test]
fn a_turn_whose_door_went_away_is_closed_all_the_same() {
    run(async {
        let stage = Stage::new(&[("fs_read", Fate::Hangs)]);
        stage.open(TurnId::new(), b"read notes/x.md").await.unwrap();
        until(|| !stage.script.asked("act").is_empty()).await;
        stage.link.abort();
        until(|| stage.planner.turns() == 0).await;
        assert_eq!(stage.script.asked("close_turn"), ["close_turn cancelled "]);
    });
}

#[test]
fn an_envelope_that_cannot_be_read_breaks_the_turn() {
    run(async {
        let mut other = envelope(candidates(), Lang::En);
        other.nonce = 7;
        for bytes in [b"{}".to_vec(), b"\xff".to_vec(), serde_json::to_vec(&other).unwrap()] {
            let mut stage = Stage::new(&[("fs_read", file("x"))]);
            *stage.script.envelope.borrow_mut() = bytes;
            let (text, _, done) = stage.ask("read notes/x.md").await;
            assert!(text.is_empty());
            assert_eq!(done.end, TurnEnd::Broken);
            assert!(stage.script.asked("act").is_empty());
        }
    });
}

#[test]
fn turn_beyond_the_limit_is_refused() {
    run(async {
        let stage = Stage::new(&[("fs_read", Fate::Hangs)]);
        for _ in 0..MAX_TURNS {
            stage.open(TurnId::new(), b"read notes/x.md").await.unwrap();
        }
        let refused = stage.open(TurnId::new(), b"read notes/x.md").await;
        assert!(matches!(refused, Err(RpcError::Refused(refusal)) if refusal.code == RefusalCode::Busy));
    });
}

#[test]
fn words_beyond_the_limit_or_of_no_text_are_refused() {
    run(async {
        let mut stage = Stage::new(&[]);
        for words in [vec![b'x'; metnos_reflex::MAX_WORDS + 1], b"\xff\xfe".to_vec()] {
            let refused = stage.open(TurnId::new(), &words).await;
            assert!(matches!(refused, Err(RpcError::Refused(refusal)) if refusal.code == RefusalCode::Invalid));
        }
        stage.open(TurnId::new(), &vec![b'x'; metnos_reflex::MAX_WORDS]).await.unwrap();
        assert_eq!(stage.listen().await.2.end, TurnEnd::NotUnderstood);
    });
}

#[test]
fn the_same_turn_opened_twice_is_a_breach_of_protocol() {
    run(async {
        let stage = Stage::new(&[("fs_read", Fate::Hangs)]);
        let turn = TurnId::new();
        stage.open(turn, b"read notes/x.md").await.unwrap();
        assert!(matches!(stage.open(turn, b"read notes/x.md").await, Err(RpcError::Gone(_))));
    });
}

#[test]
fn mind_is_asked_for_its_health_twice_per_link() {
    run(async {
        let mut stage = Stage::new(&[("fs_read", file("x"))]);
        stage.ask("read notes/a.md").await;
        assert_eq!(stage.script.asked("health").len(), 1);
        tokio::time::sleep(std::time::Duration::from_millis(HEALTH_AGAIN_MS + 1)).await;
        stage.ask("read notes/b.md").await;
        assert_eq!(stage.script.asked("health").len(), 2);
    });
}

#[test]
fn a_wish_is_cut_to_its_limit() {
    run(async {
        for bytes in [MAX_WISH, MAX_WISH + 1] {
            let mut stage = Stage::new(&[]);
            stage.ask(&"x".repeat(bytes)).await;
            let closed = stage.script.asked("close_turn not_understood ");
            assert_eq!(closed[0].len(), "close_turn not_understood ".len() + MAX_WISH);
        }
    });
}

#[test]
fn a_reason_is_cut_to_its_limit() {
    run(async {
        let mut stage = Stage::new(&[("fs_read", Fate::Denied)]);
        for (bytes, kept) in [(MAX_WHY, MAX_WHY), (MAX_WHY + 1, MAX_WHY)] {
            stage.script.reason.replace("x".repeat(bytes));
            let (_, _, done) = stage.ask("read notes/x.md").await;
            assert_eq!(done.why.len(), kept);
        }
    });
}

#[test]
fn a_turn_that_cannot_be_closed_in_time_ends_all_the_same() {
    run(async {
        let mut stage = Stage::new(&[("fs_read", file("x"))]);
        stage.script.closes.set(false);
        let before = tokio::time::Instant::now();
        let (text, _, done) = stage.ask("read notes/x.md").await;
        assert_eq!((text.as_str(), done.end), ("x", TurnEnd::Answered));
        assert!(before.elapsed() <= std::time::Duration::from_millis(CLOSE_WITHIN_MS + 50));
    });
}
