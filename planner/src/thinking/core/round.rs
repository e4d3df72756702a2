//! One round of a turn: the calls of one reply, what is shown of their results, and what the model learns of them.

use metnos_proto::doc::schedule::ScheduleList;
use metnos_proto::ids::HandleId;
use metnos_proto::json::{self, Limits};
use metnos_proto::msg::common::{CallRef, Integrity, Label, Outcome, Readers, Refusal, RefusalCode};
use metnos_proto::msg::planner::TurnEnd;
use metnos_proto::msg::policyd::MAX_SLOTS;
use metnos_proto::msg::schedule::Order;
use metnos_proto::payload::MAX_PAYLOAD;
use metnos_proto::prompt::{CallResult, Message};
use metnos_reflex::answer::reminders;
use serde_json::Value;

use super::super::calls::{CallEntry, CallRejection, RunResult, State};
use super::super::failure::remedy;
use super::super::reply::{Draft, ResultRequest, ToolAction, ToolCall};
use super::super::schedules::{MAX_ORDERS, SCHEDULE};
use super::super::speech::EndReason;
use super::super::{MAX_SHOWN, MAX_USELESS, SHOWN_READ, SHOWN_UNASKED, data, intent};
use super::{Ask, Entry, MAX_WHY, ModelLoop, Ordered, Settled, Show, Shown, Stage, UndoState};

impl ModelLoop {
    // ---- calls -----------------------------------------------------------

    pub(super) fn take_on(&mut self, wants: Vec<ToolCall>) -> Vec<Ask> {
        let before = self.calls.next();
        let mut later = Vec::new();
        self.round = Vec::with_capacity(wants.len());
        for want in wants {
            let mut entry = Entry {
                id: want.id,
                name: want.name,
                places: Vec::new(),
                shows: Vec::new(),
                said: String::new(),
                failed: false,
                undoes: false,
                order: None,
            };
            let taken = match want.what {
                Err(why) => Err(CallRejection::Say(why)),
                Ok(ToolAction::Missing(wish)) => {
                    if self.wish.text.is_empty() {
                        self.wish = wish;
                    }
                    entry.said = "This is noted for the owner. Tell the person that you cannot do it yet.".to_owned();
                    Ok(())
                }
                Ok(ToolAction::Undo) => self.take_on_undo().map(|()| entry.undoes = true),
                Ok(ToolAction::Schedule(order)) => self.take_on_order().map(|()| entry.order = Some(order)),
                Ok(ToolAction::ResultRequest(look)) => {
                    entry.shows.push(Show { look, state: Shown::Wanted });
                    Ok(())
                }
                Ok(ToolAction::Call(draft)) => self.calls.add(draft).map(|place| entry.places.push(place)),
                Ok(ToolAction::Plan(plan)) => self.take_on_plan(plan.calls, &mut entry).map(|()| {
                    entry.shows = plan.looks.into_iter().map(|look| Show { look, state: Shown::Wanted }).collect();
                    later.extend(plan.later);
                }),
            };
            match taken {
                Ok(()) => {}
                Err(CallRejection::Repeated(why)) => return self.end(TurnEnd::Denied, Some(EndReason::Repeated(why))),
                Err(CallRejection::Bound) => {
                    self.closing = true;
                    (entry.said, entry.failed) = ("no further call can be made in this turn".to_owned(), true);
                }
                Err(CallRejection::Say(why)) => (entry.said, entry.failed) = (why, true),
            }
            self.round.push(entry);
        }
        let is_useless = self.round.iter().all(|entry| entry.failed);
        self.useless = if is_useless { self.useless + 1 } else { 0 };
        if self.useless >= MAX_USELESS {
            return self.end(TurnEnd::Broken, Some(EndReason::Useless));
        }
        self.stage = Stage::Acting;
        if !self.intended && self.calls.next() > before {
            self.intended = true;
            self.stage = Stage::Intending;
            return vec![Ask::Intend(intent::slots(&self.calls, &later, MAX_SLOTS))];
        }
        self.go_on()
    }

    /// All calls of a plan, or none.
    fn take_on_plan(&mut self, drafts: Vec<Draft>, entry: &mut Entry) -> Result<(), CallRejection> {
        let mut calls = self.calls.clone();
        entry.places = drafts.into_iter().map(|draft| calls.add(draft)).collect::<Result<_, _>>()?;
        self.calls = calls;
        Ok(())
    }

    /// Once in a turn, and before anything else was done in it: what was done since is no last change of the person's.
    fn take_on_undo(&mut self) -> Result<(), CallRejection> {
        if self.undone.is_some() {
            return Err(CallRejection::Say("`undo` was used in this turn already".to_owned()));
        }
        if self.calls.each().any(|one| one.state != State::Pending) {
            let why = "`undo` comes before every other call of a turn; ask the person to say \"undo\"";
            return Err(CallRejection::Say(why.to_owned()));
        }
        self.undone = Some(UndoState::Asked);
        Ok(())
    }

    /// A few in a turn, in their order.
    fn take_on_order(&self) -> Result<(), CallRejection> {
        let under_way = self.round.iter().filter(|entry| entry.order.is_some()).count();
        if self.orders.len() + under_way >= MAX_ORDERS {
            return Err(CallRejection::Say(format!("`{SCHEDULE}` was used {MAX_ORDERS} times in this turn")));
        }
        Ok(())
    }

    /// Completes the pending order with the result text for the model and the record for the person.
    fn answered(&mut self, failed: bool, told: impl FnOnce(&Order) -> (String, Ordered)) -> Vec<Ask> {
        if let Some(entry) = self.round.iter_mut().find(|entry| entry.order.is_some())
            && let Some(order) = entry.order.take()
        {
            let (said, ordered) = told(&order);
            (entry.said, entry.failed) = (said, failed);
            self.orders.push(ordered);
        }
        self.go_on()
    }

    pub(super) fn has_scheduled(&mut self, list: &ScheduleList) -> Vec<Ask> {
        let (lang, zone, nonce) = (self.frame.lang, self.frame.zone.clone(), self.frame.nonce.clone());
        // A list of schedules is private data of the person, so the context becomes private.
        self.context = self.context.join(Label { integrity: Integrity::Trusted, readers: Readers::Private });
        self.answered(false, |order| {
            let text = reminders::told(lang, order, list, (&zone, 0)).trim_end().to_owned();
            let class = class_of(order).to_owned();
            if class == READ {
                let shown = data::marked(&nonce, SCHEDULE, data::trust(Integrity::Trusted), &text);
                return (shown, Ordered { class, told: String::new(), refused: None });
            }
            (
                format!("{SCHEDULE}: done. The person is shown this below your answer: {text}"),
                Ordered { class, told: text, refused: None },
            )
        })
    }

    pub(super) fn has_not_scheduled(&mut self, no: &Refusal) -> Vec<Ask> {
        let why = data::line(&metnos_texts::refusal(self.frame.lang, no), MAX_WHY);
        self.answered(true, |order| {
            let ordered = Ordered { class: class_of(order).to_owned(), told: String::new(), refused: Some(why) };
            (format!("{SCHEDULE}: nothing was done: {no}"), ordered)
        })
    }

    fn has_undo(&mut self, told: &str, failed: bool) -> Vec<Ask> {
        for entry in self.round.iter_mut().filter(|entry| entry.undoes) {
            (entry.undoes, entry.failed) = (false, failed);
            told.clone_into(&mut entry.said);
        }
        self.go_on()
    }

    pub(super) fn has_undone(&mut self, undone: u32, kept: u32) -> Vec<Ask> {
        if undone == 0 {
            let why = "there was nothing that could be taken back";
            self.undone = Some(UndoState::Not(String::new()));
            return self.has_undo(&format!("undo: {why}"), true);
        }
        self.undone = Some(UndoState::Done);
        let rest = if kept > 0 { "; a part of it could not be taken back" } else { "" };
        self.has_undo(&format!("undo: the last change was taken back{rest}"), false)
    }

    pub(super) fn has_not_undone(&mut self, no: &Refusal) -> Vec<Ask> {
        let why = metnos_texts::refusal(self.frame.lang, no);
        self.undone = Some(UndoState::Not(data::line(&why, MAX_WHY)));
        self.has_undo(&format!("undo: nothing was taken back: {no}"), true)
    }

    /// Starts what can be started, has released what is to be shown, and ends the round when nothing is left.
    pub(super) fn go_on(&mut self) -> Vec<Ask> {
        if self.round.iter().any(|entry| entry.undoes) {
            // Nothing else begins before it is known what became of that.
            return vec![Ask::Undo];
        }
        // Nor before it is known what became of each of these.
        if let Some(order) = self.round.iter().find_map(|entry| entry.order.clone()) {
            return vec![Ask::Schedule(order)];
        }
        let mut asks: Vec<Ask> = self.calls.start().into_iter().map(Ask::Act).collect();
        for (place, handle) in self.releases() {
            asks.push(Ask::Release(place, handle));
        }
        let is_settled = |place: &CallRef| self.calls.get(*place).is_none_or(CallEntry::is_settled);
        let all_settled = self.round.iter().all(|entry| entry.places.iter().all(is_settled));
        let all_shown = |round: &[Entry]| {
            round.iter().flat_map(|entry| &entry.shows).all(|show| matches!(show.state, Shown::Is(_)))
        };
        if !all_settled || !all_shown(&self.round) {
            return asks;
        }
        // Only now, when every act of this reply was decided: reading raises the label.
        self.show_short();
        for (place, handle) in self.releases() {
            asks.push(Ask::Release(place, handle));
        }
        if !all_shown(&self.round) {
            return asks;
        }
        if self.waiting().next().is_some() {
            self.stage = Stage::Suspended;
            asks.push(Ask::Suspend);
            return asks;
        }
        asks.extend(self.finish_round());
        asks
    }

    /// Which results are to be asked for; what cannot be shown gets its sentence.
    fn releases(&mut self) -> Vec<(CallRef, HandleId)> {
        let mut wanted: Vec<(CallRef, HandleId)> = Vec::new();
        for entry in &mut self.round {
            for show in entry.shows.iter_mut().filter(|show| show.state == Shown::Wanted) {
                let of = show.look.of;
                show.state = match self.calls.get(of).map(|one| &one.state) {
                    Some(State::Pending | State::Running) => continue,
                    Some(State::Ran(left)) if left.handle != HandleId::NONE => {
                        if !wanted.iter().any(|(place, _)| *place == of) {
                            wanted.push((of, left.handle));
                        }
                        Shown::Asked
                    }
                    Some(State::Waits(_)) => {
                        Shown::Is(format!("{of} waits for the person's word: it has no result yet"))
                    }
                    Some(State::Ran(_) | State::Denied(_) | State::Skipped(_)) => {
                        Shown::Is(format!("{of} has left no result"))
                    }
                    None => Shown::Is(format!("there is no call {of} in this turn")),
                };
            }
        }
        wanted
    }

    /// A small result whose reading changes nothing is shown at once.
    pub(super) fn show_unasked(&mut self, place: CallRef, left: &RunResult) {
        let is_free = self.context.join(left.label) == self.context && left.bytes <= SHOWN_UNASKED;
        let Some(entry) = self.round.iter_mut().find(|entry| entry.places.contains(&place)) else { return };
        let is_asked = entry.shows.iter().any(|show| show.look.of == place);
        if is_free && !is_asked && left.handle != HandleId::NONE {
            let look = ResultRequest { of: place, pointer: String::new(), from: 0 };
            entry.shows.push(Show { look, state: Shown::Wanted });
        }
    }

    /// What is short and only read is shown with the answer to its call, and so is why reading failed; not what was passed on
    /// unread.
    fn show_short(&mut self) {
        for at in 0..self.round.len() {
            for place in self.round[at].places.clone() {
                let Some(one) = self.calls.get(place) else { continue };
                let State::Ran(left) = &one.state else { continue };
                let reads = self.frame.classes.get(&one.executor).is_some_and(|class| class == READ);
                let is_free = reads && left.bytes <= SHOWN_READ && left.handle != HandleId::NONE;
                let is_asked = self.round.iter().flat_map(|entry| &entry.shows).any(|show| show.look.of == place);
                if is_free && !is_asked && !self.calls.is_passed_on(place) {
                    let look = ResultRequest { of: place, pointer: String::new(), from: 0 };
                    self.round[at].shows.push(Show { look, state: Shown::Wanted });
                }
            }
        }
    }

    pub(super) fn released(&mut self, place: CallRef, bytes: &[u8]) {
        let nonce = self.frame.nonce.clone();
        let (name, trust) = match self.calls.get(place) {
            Some(one) => match &one.state {
                State::Ran(left) => (one.executor.clone(), data::trust(left.label.integrity)),
                State::Pending | State::Running | State::Denied(_) | State::Waits(_) | State::Skipped(_) => return,
            },
            None => return,
        };
        self.calls.saw(place);
        let value = json::parse_strict(bytes, Limits::result(MAX_PAYLOAD));
        self.is_shown(place, |look| match &value {
            Ok(value) => part(value, look).map_or_else(
                || format!("{place} has nothing at `{}`", data::line(&look.pointer, 80)),
                |text| data::marked(&nonce, &format!("{name} {place}{}", at(look)), trust, &text),
            ),
            Err(error) => format!("the result cannot be read: {error}"),
        });
    }

    pub(super) fn is_shown(&mut self, place: CallRef, text: impl Fn(&ResultRequest) -> String) {
        let shows = self.round.iter_mut().flat_map(|entry| &mut entry.shows);
        for show in shows.filter(|show| show.look.of == place && show.state == Shown::Asked) {
            show.state = Shown::Is(text(&show.look));
        }
    }

    /// Tells the model what became of its calls, and asks on.
    pub(super) fn finish_round(&mut self) -> Vec<Ask> {
        self.stage = Stage::Acting;
        let next = self.calls.next();
        let mut results: Vec<CallResult> = Vec::new();
        for entry in std::mem::take(&mut self.round) {
            let is_shown = |place: &CallRef| entry.shows.iter().any(|show| show.look.of == *place);
            let mut parts: Vec<String> =
                entry.places.iter().filter_map(|place| self.told(*place, is_shown(place))).collect();
            let mut failed = entry.failed;
            failed |= !entry.places.is_empty() && entry.places.iter().all(|place| !self.succeeded(*place));
            if !entry.said.is_empty() {
                parts.push(entry.said);
            }
            parts.extend(entry.shows.into_iter().map(|show| match show.state {
                Shown::Is(text) => text,
                Shown::Wanted | Shown::Asked => format!("{} was not shown", show.look.of),
            }));
            results.push(CallResult { id: entry.id, name: entry.name, text: parts.join("\n"), failed });
        }
        if let Some(last) = results.last_mut() {
            last.text.push_str(&format!("\n(The next call is {next}.)"));
        }
        if self.frame.native {
            self.messages.push(Message::Results { results });
        } else {
            let texts: Vec<String> =
                results.into_iter().map(|result| format!("{}: {}", result.name, result.text)).collect();
            self.messages.push(Message::User { text: texts.join("\n\n") });
        }
        self.think()
    }

    fn succeeded(&self, place: CallRef) -> bool {
        let state = self.calls.get(place).map(|one| &one.state);
        matches!(state, Some(State::Ran(left)) if left.outcome == Outcome::Ok)
    }

    /// What a model learns of a call without having its result released: nothing of that stands here.
    fn told(&self, place: CallRef, is_shown: bool) -> Option<String> {
        let one = self.calls.get(place)?;
        let name = &one.executor;
        let changes = self.frame.classes.get(name).is_some_and(|class| class != READ);
        Some(match &one.state {
            State::Ran(left) if left.outcome == Outcome::Ok => {
                let record =
                    if changes && left.line > 0 { format!(" (recorded in line {})", left.line) } else { String::new() };
                let result = match (left.handle, is_shown) {
                    (HandleId::NONE, _) => ", with the person's word; its result is not here".to_owned(),
                    (_, true) => String::new(),
                    (_, false) => format!("; its result has {} bytes, and `look` shows it", left.bytes),
                };
                format!("{place} {name}: done{record}{result}")
            }
            State::Ran(left) => {
                let class = if left.class.is_empty() { left.outcome.name() } else { &left.class };
                format!("{place} {name}: failed ({class}). {}", remedy(left.outcome, class))
            }
            State::Denied(why) => format!("{place} {name}: refused: {why}. Do not make the same call again"),
            State::Waits(why) => format!("{place} {name}: {why}. It has not been done; go on without it"),
            State::Skipped(why) => format!("{place} {name}: not made, because {why}"),
            State::Pending | State::Running => format!("{place} {name}: not made"),
        })
    }

    // ---- waiting ---------------------------------------------------------

    pub(super) fn settled(&mut self, acts: Vec<Settled>) -> Vec<Ask> {
        let waiting: Vec<(CallRef, String)> = self
            .calls
            .each()
            .filter(|one| matches!(one.state, State::Waits(_)))
            .map(|one| (one.place, one.executor.clone()))
            .collect();
        let mut acts: Vec<Option<Settled>> = acts.into_iter().map(Some).collect();
        self.stage = Stage::Acting;
        for (place, executor) in waiting {
            let act = acts.iter_mut().find(|act| act.as_ref().is_some_and(|act| act.executor == executor));
            match act.and_then(Option::take).and_then(|act| act.left) {
                Some(left) => {
                    self.calls.ran(place, left.clone());
                    self.show_unasked(place, &left);
                }
                None => {
                    let why = "the person did not allow it, or it did not come to it";
                    let no = Refusal::new(RefusalCode::Denied, "approval.denied", why);
                    self.calls.denied(place, &no);
                }
            }
        }
        self.go_on()
    }
}

/// The class of effects that only reads.
const READ: &str = "read";

/// The effect class of an order: a list reads, an order for another person sends, any other modifies.
fn class_of(order: &Order) -> &'static str {
    match order {
        Order::List(_) | Order::Find(_) => READ,
        Order::Remind(_) | Order::Tell(_) if order.is_for_another() => "send",
        Order::Remind(_) | Order::Tell(_) | Order::Ask(_) | Order::Change(_) | Order::Quiet(_) => "self_modify",
    }
}

/// Where in a result, for the mark.
fn at(look: &ResultRequest) -> String {
    if look.pointer.is_empty() {
        String::new()
    } else {
        format!("#{}", data::line(&look.pointer, 80).replace('"', "'"))
    }
}

/// The part of a result that is to be shown: a text as it is, anything else as JSON.
fn part(value: &Value, look: &ResultRequest) -> Option<String> {
    let part = value.pointer(&look.pointer)?;
    let text = match part {
        Value::String(text) => text.clone(),
        other @ (Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_)) => {
            other.to_string()
        }
    };
    let shown: String = text.chars().skip(look.from).take(MAX_SHOWN).collect();
    let (seen, all) = (look.from.saturating_add(shown.chars().count()), text.chars().count());
    Some(if seen < all { format!("{shown}\n[{all} characters in all; go on with \"from\": {seen}]") } else { shown })
}
