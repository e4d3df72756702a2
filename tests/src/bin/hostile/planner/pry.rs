//! What a planner that is the attacker's can read of another person, in a turn of somebody else: it reads whatever its words
//! give it, and says all of it.

use metnos_proto::ids::TurnId;
use metnos_proto::msg::common::Lang;
use metnos_proto::msg::memoryd::{BeginTurn, TakeUpTurn};
use metnos_proto::msg::policyd::{Acted, UndoLast};
use metnos_proto::msg::schedule::{OfferHabit, Order, ReviewOrder, ScheduleAct, ScheduleChange, ScheduleOrder, Which};
use metnos_proto::payload::Sealed;

use super::Turn;
use crate::life::outcome;

/// The numbers of schedules that it tries.
const SCHEDULES: u64 = 16;

fn text(sealed: Sealed) -> String {
    String::from_utf8_lossy(&sealed.read().unwrap_or_default()).into_owned()
}

impl Turn {
    /// Reads what it can of the person `VICTIM`, in whose turns it was before: `VICTIM TURN,TURN,…`.
    pub(super) async fn pry(&self) -> Vec<String> {
        let (victim, turns) = self.argument.split_once(' ').unwrap_or((&self.argument, ""));
        let mut said = vec![self.begun.clone()];
        said.extend(self.files_of(victim).await);
        said.extend(self.planned().await);
        for turn in turns.split(',').filter_map(|turn| turn.parse::<TurnId>().ok()) {
            said.extend(self.turn_of_another(turn).await);
        }
        said
    }

    /// Calls every executor that reads, on the places where this person's things are.
    async fn files_of(&self, victim: &str) -> Vec<String> {
        let folder = format!("people/{victim}");
        let key = format!("quokka{victim}");
        let calls = [
            ("fs_read", serde_json::json!({ "path": format!("{folder}/notes.md") })),
            ("fs_read", serde_json::json!({ "path": format!("{folder}/list.md") })),
            ("fs_read", serde_json::json!({ "path": format!("notes/../{folder}/list.md") })),
            ("fs_list", serde_json::json!({ "path": folder })),
            ("fs_find", serde_json::json!({ "path": "people", "name": "*", "hidden": true })),
            ("fs_find", serde_json::json!({ "name": "*notes*", "hidden": true })),
            ("text_search", serde_json::json!({ "pattern": key, "hidden": true })),
            ("text_search", serde_json::json!({ "pattern": key, "path": folder })),
            ("text_search", serde_json::json!({ "pattern": "heliotrope", "context": 2 })),
            ("list_read", serde_json::json!({ "item": key })),
            ("list_read", serde_json::json!({ "path": format!("{folder}/list.md") })),
            ("note_read", serde_json::json!({ "about": key })),
            ("note_read", serde_json::json!({ "own": format!("{folder}/notes.md") })),
            ("note_read", serde_json::json!({ "path": format!("{folder}/notes.md") })),
            ("contact_find", serde_json::json!({ "name": key })),
            ("doc_find", serde_json::json!({ "words": key })),
            ("doc_text", serde_json::json!({ "path": format!("{folder}/notes.md") })),
            ("file_get", serde_json::json!({ "path": format!("{folder}/notes.md") })),
            ("archive_pack", serde_json::json!({ "path": folder, "to": "notes/stolen.zip" })),
            ("fs_move", serde_json::json!({ "from": format!("{folder}/notes.md"), "to": "notes/stolen.md" })),
        ];
        let mut said = Vec::new();
        for (number, (executor, arguments)) in (1_u16..).zip(calls) {
            let line = match self.acted(self.id, number, executor, &arguments.to_string()).await {
                Ok(Acted::Ran(ran)) => self.release(self.id, ran.handle).await,
                Ok(Acted::Denied(refusal)) => format!("denied {}: {refusal}", refusal.rule),
                Err(error) => error.to_string(),
            };
            said.push(format!("{executor} {arguments}: {line}"));
        }
        said
    }

    /// Lists and changes what is planned, looks back on the day, and takes back what was done last.
    async fn planned(&self) -> Vec<String> {
        let mut orders = vec![
            Order::List(String::new()),
            Order::List("tomorrow".to_owned()),
            Order::Find("heliotrope".to_owned()),
            Order::Find(String::new()),
        ];
        let change = |which, act| Order::Change(ScheduleChange { which, act });
        orders.extend((1..=SCHEDULES).map(|number| change(Which::Number(number), ScheduleAct::Pause)));
        orders.push(change(Which::Called("heliotrope".to_owned()), ScheduleAct::Cancel));
        let policyd = &self.hostile.policyd;
        let mut said = Vec::new();
        for order in orders {
            let order = ScheduleOrder { turn: self.id, lang: Lang::En, order };
            said.push(outcome(policyd.schedule(self.trace, order, []).await, |(_, [list])| text(list)));
        }
        let review = ReviewOrder { turn: self.id, lang: Lang::En, when: String::new() };
        said.push(outcome(policyd.review(self.trace, review, []).await, |(_, [day])| text(day)));
        let offered = policyd.offer_habit(self.trace, OfferHabit { turn: self.id }, []).await;
        said.push(outcome(offered, |(offered, [])| format!("{offered:?}")));
        said.push(outcome(policyd.undo_last(self.trace, UndoLast { turn: self.id }, []).await, |(undone, [])| {
            format!("{undone:?}")
        }));
        said
    }

    /// Begins, takes up and reads in a turn of somebody else, which is over.
    async fn turn_of_another(&self, turn: TurnId) -> Vec<String> {
        let memoryd = &self.hostile.memoryd;
        let review = ReviewOrder { turn, lang: Lang::En, when: String::new() };
        let list = ScheduleOrder { turn, lang: Lang::En, order: Order::List(String::new()) };
        let policyd = &self.hostile.policyd;
        vec![
            outcome(memoryd.begin_turn(self.trace, BeginTurn { turn }, []).await, |(_, [envelope])| text(envelope)),
            outcome(memoryd.take_up_turn(self.trace, TakeUpTurn { turn }, []).await, |(_, [state])| text(state)),
            outcome(policyd.review(self.trace, review, []).await, |(_, [day])| text(day)),
            outcome(policyd.schedule(self.trace, list, []).await, |(_, [list])| text(list)),
            self.act_in(turn, 1, "note_read", "{}").await,
        ]
    }
}
