//! Turns whose door goes away in the middle: which go on, for how long, and what the next door receives.

#![allow(clippy::unwrap_used, clippy::panic)]

use std::time::Duration;

use metnos_proto::edge::RpcError;
use metnos_proto::ids::{TraceId, TurnId};
use metnos_proto::msg::common::Channel;
use metnos_proto::msg::planner::{AttachTurn, CallState, CancelTurn, DetachedTurns, ReleaseTurn, ResumeTurn, TurnEnd};
use metnos_proto::turn_log::{self, Entry, MAX_LOG, NOTE_BYTES};
use serde_json::json;

use super::stage::{Fate, ScriptedThought, Stage, file};
use super::turn_notes::{DETACHED_FOR, DetachedStore, MAX_DETACHED, MAX_LOG_TOTAL, TurnNotes};
use crate::testing::{run, until};

impl Stage {
    async fn kept(&self) -> Vec<TurnId> {
        self.door.detached_turns(TraceId::NONE, DetachedTurns {}, []).await.unwrap().0.turns
    }

    async fn attach_turn(&self, turn: TurnId) -> Result<Vec<Entry>, RpcError> {
        let (_, [told]) = self.door.attach_turn(TraceId::NONE, AttachTurn { turn }, []).await?;
        Ok(turn_log::read(&told).unwrap())
    }
}

fn texts(told: &[Entry]) -> String {
    told.iter().filter_map(|piece| if let Entry::Text(text) = piece { Some(text.as_str()) } else { None }).collect()
}

#[test]
fn turn_is_handed_to_next_door_with_all_notes_and_continues() {
    run(async {
        let thoughts = vec![
            ScriptedThought::Says(vec!["one ", "two "], vec![("fs_read", json!({"path": "notes/a.md"}))]),
            ScriptedThought::Says(vec!["three"], Vec::new()),
        ];
        let mut stage = Stage::thinking(&[("fs_read", Fate::Hangs)], thoughts);
        let turn = TurnId::new();
        stage.open_on(Channel::Http, turn, b"compose something").await.unwrap();
        until(|| !stage.script.asked("act").is_empty()).await;
        stage.another_door(2).await;
        assert_eq!(stage.kept().await, [turn]);
        let told = stage.attach_turn(turn).await.unwrap();
        assert_eq!(texts(&told), "one two ");
        assert!(told.iter().any(|piece| matches!(piece, Entry::Call(1, _, CallState::Started, _))));
        // What he says now still counts, and what follows comes here.
        let stopped = stage.door.cancel_turn(TraceId::NONE, CancelTurn { turn }, []).await.unwrap().0;
        assert!(stopped.was_open);
        let (text, _, done) = stage.listen().await;
        assert_eq!((text.as_str(), done.end), ("", TurnEnd::Cancelled));
    });
}

#[test]
fn notes_and_end_are_kept_without_a_door_until_released() {
    run(async {
        let mut stage = Stage::new(&[("fs_read", file("# Hello"))]);
        let turn = TurnId::new();
        stage.open_on(Channel::Http, turn, b"read notes/welcome.md").await.unwrap();
        stage.another_door(2).await;
        until(|| stage.planner.turns() == 0).await;
        for generation in 3..5 {
            let told = stage.attach_turn(turn).await.unwrap();
            assert_eq!(
                (texts(&told).as_str(), told.last()),
                ("# Hello", Some(&Entry::Done(TurnEnd::Answered, String::new())))
            );
            // A door that dies before it has journalled this is no loss.
            stage.another_door(generation).await;
        }
        stage.door.release_turn(TraceId::NONE, ReleaseTurn { turn }, []).await.unwrap();
        assert!(stage.kept().await.is_empty() && stage.attach_turn(turn).await.is_err());
        assert_eq!(stage.planner.detached.held(), 0);
    });
}

#[test]
fn a_turn_ends_when_no_door_comes_in_time_and_one_of_a_terminal_at_once() {
    run(async {
        for (channel, within) in [(Channel::Cli, Duration::ZERO), (Channel::Http, DETACHED_FOR)] {
            let mut stage = Stage::thinking(&[], vec![ScriptedThought::Hangs]);
            let turn = TurnId::new();
            stage.open_on(channel, turn, b"compose something").await.unwrap();
            until(|| !stage.script.asked("think").is_empty()).await;
            let before = tokio::time::Instant::now();
            stage.link.abort();
            until(|| stage.planner.turns() == 0).await;
            let took = before.elapsed();
            assert!(took >= within && took < within + Duration::from_secs(1), "{channel:?} {took:?}");
            assert_eq!(stage.script.asked("close_turn"), ["close_turn cancelled "]);
            stage.another_door(2).await;
            let kept = stage.attach_turn(turn).await.ok().and_then(|told| told.last().cloned());
            let ended = matches!(kept, Some(Entry::Done(TurnEnd::Cancelled, _)));
            assert_eq!(ended, channel == Channel::Http, "{kept:?}");
        }
    });
}

#[test]
fn waiting_turn_is_replayed_whole_by_a_restarted_planner() {
    run(async {
        let thoughts = vec![
            ScriptedThought::Says(vec!["I tidy up. "], vec![("fs_read", json!({"path": "notes/a.md"}))]),
            ScriptedThought::Says(vec!["all done"], Vec::new()),
        ];
        let mut stage = Stage::thinking(&[("fs_read", Fate::Asks)], thoughts);
        let turn = TurnId::new();
        stage.open_on(Channel::Http, turn, b"compose something").await.unwrap();
        let (text, _, done) = stage.listen().await;
        assert_eq!((text.as_str(), done.end), ("I tidy up. ", TurnEnd::Suspended));
        assert_eq!(stage.kept().await, [turn]);
        let mut stage = Stage::of(std::rc::Rc::clone(&stage.script));
        until(|| stage.planner.model.borrow().is_some()).await;
        let resumed = stage.door.resume_turn(TraceId::NONE, ResumeTurn { turn, acts: Vec::new() }, []).await.unwrap();
        let told = turn_log::read(&resumed.1[0]).unwrap();
        assert_eq!(texts(&told), "I tidy up. ");
        assert!(matches!(told.last(), Some(Entry::Done(TurnEnd::Suspended, _))));
        let (text, _, _) = stage.listen().await;
        let (said, below) = text.trim().split_once("\n\n").unwrap();
        assert_eq!(said, "all done");
        assert!(below.starts_with("Not done: reading a file") && below.ends_with("nothing was changed in this turn."));
    });
}

#[test]
fn turn_beyond_note_limits_does_not_outlive_its_door() {
    run(async {
        let stage = Stage::new(&[("fs_read", Fate::Hangs)]);
        stage.open_on(Channel::Http, TurnId::new(), b"read notes/a.md").await.unwrap();
        let notes = stage.planner.turns.borrow().values().next().unwrap().line.door();
        let detached = std::rc::Rc::<DetachedStore>::default();
        let line = || TurnNotes::new(TurnId::new(), true, notes.clone(), &detached);
        let text = |bytes: usize| Entry::Text("x".repeat(bytes - NOTE_BYTES));
        let one = line();
        one.keep(text(MAX_LOG));
        assert!(one.outlives() && detached.held() == MAX_LOG);
        one.keep(text(NOTE_BYTES));
        assert!(!one.outlives() && detached.held() == 0 && one.told().is_empty());
        // Those that have ended make room for those that are under way, and these for nobody.
        let open: Vec<_> = (0..MAX_LOG_TOTAL / MAX_LOG - 1).map(|_| line()).collect();
        open.iter().for_each(|line| line.keep(text(MAX_LOG)));
        let ended = line();
        ended.keep(text(MAX_LOG));
        detached.put(&ended);
        drop(ended);
        assert_eq!(detached.held(), MAX_LOG_TOTAL);
        let another = line();
        another.keep(text(MAX_LOG));
        assert!(another.outlives() && detached.turns().is_empty() && detached.held() == MAX_LOG_TOTAL);
        let last = line();
        last.keep(text(NOTE_BYTES));
        assert!(!last.outlives() && open.iter().all(|line| line.outlives()));
        drop((open, another));
        assert_eq!(detached.held(), 0);
        (0..=MAX_DETACHED).for_each(|_| detached.put(&line()));
        assert_eq!(detached.turns().len(), MAX_DETACHED);
    });
}
