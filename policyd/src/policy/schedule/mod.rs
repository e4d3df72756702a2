//! Schedules: who may plan what, and in whose words. A planner makes up neither of what nor when a person is reminded: both must
//! stand in what he said in this turn. He is reminded himself, so a reminder needs no card; others are where his words say so as
//! they are (`others.rs`).

mod habits;
mod messages;
mod others;

use std::rc::Rc;

use metnos_proto::doc::schedule::{DayReview, ScheduleHistory, ScheduleList, ScheduleState, ScheduleView};
use metnos_proto::edge::RpcError;
use metnos_proto::ids::{TraceId, TurnId};
use metnos_proto::msg::common::{Channel, Integrity, Label, Lang, Level, Readers, Refusal, RefusalCode, Standing};
use metnos_proto::msg::people::Fired;
use metnos_proto::msg::schedule::{
    Ask, AskFired, AskedThen, ChangeSchedules, FireAsk, KeepSchedule, ListSchedules, MAX_OF_TURN, MAX_PARTS, Order,
    Remind, ReviewOf, ReviewOrder, ScheduleAct, ScheduleAsk, ScheduleChange, ScheduleKind, ScheduleOrder, ShowSchedule,
    Which,
};

use crate::calls::carried::{self, Firing};
use crate::calls::turns::Turn;
use crate::people::persons::Persons;
use crate::people::principal::{Principal, stranger};
use crate::policy::Policy;
use crate::undo::unreadable;

/// A list of what a principal has planned is his own words; nobody else sees it.
const OWN: Label = Label { integrity: Integrity::Trusted, readers: Readers::Private };

impl Policy {
    /// Does what a planner asks about the schedules of its turn's principal, as far as his words ask for it.
    ///
    /// # Errors
    /// When they do not, or memoryd refuses: nothing is planned or changed then.
    pub(crate) async fn schedule(&self, ask: ScheduleOrder) -> Result<ScheduleList, Refusal> {
        let (principal, trace) = {
            let mut turns = self.calls.turns.borrow_mut();
            let turn = turns.known(ask.turn)?;
            let now_s = i64::try_from(self.base.clock.wall_ms() / 1_000).unwrap_or(0);
            turn.begin_schedule(&ask.order, &self.people.persons.borrow(), now_s)?;
            // What comes back is released by this answer.
            if !matches!(ask.order, Order::Remind(_) | Order::Tell(_) | Order::Ask(_) | Order::Quiet(_)) {
                turn.flow.read(OWN, true);
            }
            (turn.principal.clone(), turn.trace)
        };
        let lang = ask.lang;
        match ask.order {
            Order::Remind(remind) => self.keep(&principal, (ask.turn, trace), &remind, lang).await,
            Order::Tell(tell) => self.tell(&principal, (ask.turn, trace), &tell, lang).await,
            Order::Ask(it) => self.keep_ask(&principal, (ask.turn, trace), &it, lang).await,
            Order::List(when) => self.listed(principal.name, lang, false, (when, None)).await,
            Order::Find(called) => self.listed(principal.name, lang, false, (String::new(), Some(called))).await,
            Order::Change(change) => self.changed(principal.name, change, lang).await,
            Order::Quiet(quiet) => {
                self.people.set_quiet(&principal.name, quiet).await?;
                Ok(ScheduleList(Vec::new()))
            }
        }
    }

    /// Does what the owner asks about schedules at the machine.
    ///
    /// # Errors
    /// When memoryd refuses.
    pub(crate) async fn schedules(&self, principal: &Principal, ask: ScheduleAsk) -> Result<ScheduleList, Refusal> {
        match ask {
            ScheduleAsk::List(ended) => {
                self.listed(String::new(), self.base.setting.lang, ended, (String::new(), None)).await
            }
            ScheduleAsk::Change(change) => {
                let spoken = match &change.act {
                    ScheduleAct::Move(when) | ScheduleAct::Earlier(when) => metnos_reflex::spoken_in(&when.join(" ")),
                    ScheduleAct::Pause | ScheduleAct::Resume | ScheduleAct::Cancel | ScheduleAct::RunNow => None,
                };
                self.changed(String::new(), change, spoken.unwrap_or(self.base.setting.lang)).await
            }
            ScheduleAsk::Add(add) => {
                if add.asks {
                    let it = Ask { what: vec![add.what], when: vec![add.when], frozen: Vec::new() };
                    return self.keep_ask(principal, (TurnId::NONE, TraceId::NONE), &it, add.lang).await;
                }
                let remind = Remind { what: vec![add.what], when: vec![add.when], early: false, to: add.to };
                self.keep(principal, (TurnId::NONE, TraceId::NONE), &remind, add.lang).await
            }
        }
    }

    /// Cancels what this principal has planned, by its number.
    ///
    /// # Errors
    /// When nothing of this number is planned for it, or memoryd does not answer.
    pub(crate) async fn cancel(&self, principal: &Principal, number: u64) -> Result<ScheduleList, Refusal> {
        let change = ScheduleChange { which: Which::Number(number), act: ScheduleAct::Cancel };
        self.changed(principal.name.clone(), change, self.people.lang_of(&principal.name)).await
    }

    /// A schedule with its firings, for the owner at the machine.
    ///
    /// # Errors
    /// When there is none of this number, or memoryd does not answer.
    pub(crate) async fn show_schedule(&self, ask: ShowSchedule) -> Result<ScheduleHistory, Refusal> {
        let (doc, shown) =
            self.base.memory.show_schedule(TraceId::NONE, ask, []).await.map_err(RpcError::into_refusal)?;
        doc.open(shown)
    }

    async fn keep(
        &self,
        principal: &Principal,
        (turn, trace): (TurnId, TraceId),
        remind: &Remind,
        lang: Lang,
    ) -> Result<ScheduleList, Refusal> {
        if !remind.to.is_empty() && !self.people.persons.borrow().is_self(&principal.name, &remind.to) {
            return self.keep_for_others(principal, (turn, trace), (remind, false), lang).await;
        }
        let (what, when) = (remind.what.join(" "), remind.when.join(" "));
        let keep = KeepSchedule { what, when, early: remind.early, ..self.own(principal, (turn, trace), lang) };
        self.keep_one(trace, keep).await
    }

    /// Keeps a request of the principal, to be answered to the same person.
    async fn keep_ask(
        &self,
        principal: &Principal,
        (turn, trace): (TurnId, TraceId),
        ask: &Ask,
        lang: Lang,
    ) -> Result<ScheduleList, Refusal> {
        let (what, when) = (ask.what.join(" "), ask.when.join(" "));
        if !ask.frozen.is_empty() && principal.level < Level::Supervised {
            // Each change would need an approval then, and nobody is asked.
            let why = "what this person changes needs an approval each time, so it is not done by itself";
            return Err(no("schedule.level", why, "ask for it each time"));
        }
        let (kind, frozen) =
            (if ask.frozen.is_empty() { ScheduleKind::Ask } else { ScheduleKind::Do }, ask.frozen.clone());
        let keep = KeepSchedule { kind, what, when, frozen, ..self.own(principal, (turn, trace), lang) };
        self.keep_one(trace, keep).await
    }

    /// A reminder of the principal's own, of nothing and at no time yet.
    fn own(&self, principal: &Principal, (turn, trace): (TurnId, TraceId), lang: Lang) -> KeepSchedule {
        KeepSchedule {
            turn,
            trace,
            principal: principal.name.clone(),
            to: principal.name.clone(),
            from: String::new(),
            kind: ScheduleKind::Reminder,
            what: String::new(),
            when: String::new(),
            early: false,
            lang,
            told_in: lang,
            frozen: Vec::new(),
            urgent: false,
        }
    }

    /// What the day of this turn's principal was like. It is the person's own, and read as such.
    ///
    /// # Errors
    /// When the turn is not open or has asked enough, the words name no time, or memoryd does not answer.
    pub(crate) async fn review(&self, ask: ReviewOrder) -> Result<DayReview, Refusal> {
        let principal = {
            let mut turns = self.calls.turns.borrow_mut();
            let turn = turns.known(ask.turn)?;
            // It costs memoryd more than a list does.
            turn.count_order()?;
            turn.flow.read(OWN, true);
            turn.principal.clone()
        };
        let asked = ReviewOf { principal: principal.name.clone(), lang: ask.lang, when: ask.when };
        let (doc, review) = self.base.memory.review(TraceId::NONE, asked, []).await.map_err(RpcError::into_refusal)?;
        let mut review = doc.open(review)?;
        let waiting = self.approvals.cards.cards_of(&principal).0.len();
        review.waiting = u32::try_from(waiting).unwrap_or(u32::MAX);
        Ok(review)
    }

    /// A request fires: a turn is open on it, of the person who has asked, in which nothing changes but by the frozen calls and
    /// nobody is asked. With its words, as memoryd has kept them: the door says only which.
    ///
    /// # Errors
    /// When the firing was not begun, the person is not known any more or reached by another one's name, or there is no room.
    pub(crate) async fn fire_ask(self: &Rc<Self>, ask: FireAsk) -> Result<(Fired, String), Refusal> {
        let FireAsk { number, key } = ask;
        let of = self.base.store.run(move |db| carried::of_which(db, number)).await;
        let firing = Firing { number: of.map_err(|error| unreadable(&error))?, key: key.clone() };
        let asked = self.base.memory.ask_fired(TraceId::NONE, AskFired { number, key }, []).await;
        let (AskedThen { principal, to, what, lang, frozen }, []) = asked.map_err(RpcError::into_refusal)?;
        let mut principal = self.people.named_principal(&principal)?;
        let is_one_person = principal.name == to || self.people.persons.borrow().are_one(&principal.name, &to);
        if principal.standing == Standing::Stranger || !is_one_person {
            return Err(stranger(&principal));
        }
        self.people.check_members(&principal)?;
        let most = if frozen.is_empty() { Level::ReadOnly } else { Level::Supervised };
        (principal.channel, principal.level) = (Channel::Scheduler, principal.level.min(most));
        let (turn, trace, name) = (TurnId::new(), TraceId::new(), principal.name.clone());
        let (now, world) = (self.base.clock.monotonic_ms(), self.people.world(&principal));
        let mut opened = Turn::new(trace, principal, world, &what, now);
        opened.flow.attended = false;
        opened.firing = Some(firing);
        opened.flow.reads_only = true;
        opened.flow.frozen = frozen.into_iter().collect();
        let evicted = self.calls.turns.borrow_mut().open(turn, opened, now)?;
        if let Some(evicted) = evicted {
            self.forget(evicted);
        }
        Ok((Fired { turn, trace, principal: name, lang }, what))
    }

    /// Has memoryd keep one; the list of it alone.
    pub(super) async fn keep_one(&self, trace: TraceId, keep: KeepSchedule) -> Result<ScheduleList, Refusal> {
        let (doc, kept) = self.base.memory.keep_schedule(trace, keep, []).await.map_err(RpcError::into_refusal)?;
        doc.open(kept)
    }

    async fn listed(
        &self,
        principal: String,
        lang: Lang,
        ended: bool,
        (when, called): (String, Option<String>),
    ) -> Result<ScheduleList, Refusal> {
        let ask = ListSchedules { principal, lang, ended, when, called, shown: true };
        let asked = self.base.memory.list_schedules(TraceId::NONE, ask, []).await;
        let (doc, listed) = asked.map_err(RpcError::into_refusal)?;
        doc.open(listed)
    }

    /// Cancels the reminder that this principal has made last, where nothing else was done since then that can be taken back:
    /// its text. `None` where there is none of the kind.
    ///
    /// # Errors
    /// When the last was a message, which others have by now; when memoryd does not answer, or the acts cannot be read.
    pub(super) async fn cancel_last(&self, principal: &Principal) -> Result<Option<String>, Refusal> {
        let lang = self.base.setting.lang;
        let ask = ListSchedules {
            principal: principal.name.clone(),
            lang,
            ended: true,
            when: String::new(),
            called: None,
            shown: false,
        };
        let asked = self.base.memory.list_schedules(TraceId::NONE, ask, []).await;
        let (doc, listed) = asked.map_err(RpcError::into_refusal)?;
        let may_be = |one: &ScheduleView| {
            one.principal == principal.name
                && (one.kind == ScheduleKind::Message
                    || matches!(one.state, ScheduleState::Active | ScheduleState::Paused))
        };
        let all = doc.open(listed)?.0;
        let own = all.iter().filter(|one| one.principal == principal.name);
        let moved_ms = own.map(|one| one.moved_ms).max().unwrap_or(0);
        let last = all.into_iter().filter(may_be).max_by_key(|one| one.number);
        let acts = self.base.store.undoable_of(principal.name.clone(), 1).await;
        let done_ms = acts.map_err(|error| unreadable(&error))?.first().map_or(0, |act| act.at_ms);
        if moved_ms > done_ms.max(last.as_ref().map_or(0, |last| last.made_ms)) {
            let why = "a reminder that was put to another time is not put back by itself";
            return Err(no("schedule.moved", why, "say at which time it is to come"));
        }
        let Some(last) = last.filter(|last| last.made_ms > done_ms) else { return Ok(None) };
        if last.kind == ScheduleKind::Message {
            let why = "what was passed on to somebody else cannot be taken back";
            return Err(no("schedule.sent", why, "tell that person what has changed"));
        }
        let change = ScheduleChange { which: Which::Number(last.number), act: ScheduleAct::Cancel };
        self.changed(principal.name.clone(), change, lang).await?;
        Ok(Some(last.what))
    }

    /// Changes schedules of a principal; with an empty name, of anybody.
    async fn changed(&self, principal: String, change: ScheduleChange, lang: Lang) -> Result<ScheduleList, Refusal> {
        let again = match (&change.act, &change.which) {
            (ScheduleAct::RunNow, Which::Number(of)) => Some(*of),
            _ => None,
        };
        let ask = ChangeSchedules { principal, change, lang };
        let asked = self.base.memory.change_schedules(TraceId::NONE, ask, []).await;
        let (doc, changed) = asked.map_err(RpcError::into_refusal)?;
        let changed: ScheduleList = doc.open(changed)?;
        if let (Some(of), [now]) = (again, changed.0.as_slice())
            && now.kind.opens_turn()
        {
            // Without this row the firing starts without carried state and may repeat items; it loses none.
            let number = now.number;
            let kept = self.base.store.run(move |db| carried::fires_again(db, number, of)).await;
            kept.unwrap_or_else(|error| tracing::warn!(%error, "firing {number} begins anew"));
        }
        Ok(changed)
    }
}

pub(super) fn no(rule: &str, why: &str, remedy: &str) -> Refusal {
    Refusal::new(RefusalCode::Denied, rule, why).remedy(remedy)
}

/// The refusal of an order beyond [`MAX_OF_TURN`].
pub(super) fn too_many() -> Refusal {
    let why = "this turn has planned or changed as much as a turn may";
    no("schedule.turn", why, "say anew what is still to be done")
}

impl Turn {
    /// Whether the words of this turn ask for that.
    ///
    /// # Errors
    /// The refusal when they do not, nobody speaks in it, or it has planned enough.
    pub(crate) fn begin_schedule(&mut self, order: &Order, persons: &Persons, now_s: i64) -> Result<(), Refusal> {
        if matches!(order, Order::List(_) | Order::Find(_)) {
            return Ok(());
        }
        if !self.flow.attended {
            let why = "nobody speaks in this turn, so nothing is planned in it";
            return Err(no("schedule.unattended", why, "ask for it yourself"));
        }
        match order {
            Order::List(_) | Order::Find(_) => {}
            Order::Remind(remind) => {
                // "Remind me to call." "When?" "Tomorrow at nine."
                let said = |part: &String| self.flow.own_words().mention(part) || self.earlier.mention(part);
                let says = |parts: &[String]| (1..=MAX_PARTS).contains(&parts.len()) && parts.iter().all(said);
                if !says(&remind.what) || !says(&remind.when) {
                    let why = "of what and when somebody is reminded must stand in his own words, and does not";
                    return Err(no("schedule.literal", why, "use the person's words as they are"));
                }
            }
            Order::Tell(_) | Order::Ask(_) | Order::Change(_) | Order::Quiet(_) => {}
        }
        if order.is_for_another() || matches!(order, Order::Ask(_) | Order::Change(_) | Order::Quiet(_)) {
            self.bears_out(order, persons, now_s)?;
        }
        // The words are one request, so they ask for one change.
        if matches!(order, Order::Change(_)) && std::mem::replace(&mut self.changed, true) {
            return Err(too_many());
        }
        self.count_order()
    }

    /// Counts an order towards [`MAX_OF_TURN`].
    pub(super) fn count_order(&mut self) -> Result<(), Refusal> {
        if self.scheduled >= MAX_OF_TURN {
            return Err(too_many());
        }
        self.scheduled += 1;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use metnos_proto::ids::TraceId;
    use metnos_proto::msg::common::Channel;
    use proptest::prelude::*;

    use super::*;
    use crate::people::principal::identify;
    use crate::testing::world;

    /// A moment of 2026, in seconds since the epoch.
    const NOW_S: i64 = 1_777_100_000;

    fn said(words: &str) -> Turn {
        Turn::new(TraceId::new(), identify(Channel::Cli, "uid:0", 0).unwrap(), world(), words, 0)
    }

    fn order() -> impl Strategy<Value = Order> {
        let word = "(call|the dentist|tomorrow|at 9|in 1 minute|send money|dentist tomorrow|9 to|remind|all|two|)";
        let parts = move || proptest::collection::vec(word, 0..6);
        let which = prop_oneof![
            (0..12_u64).prop_map(Which::Number),
            (0..12_u32).prop_map(Which::Place),
            word.prop_map(Which::Called),
            Just(Which::Only),
            Just(Which::Timer),
            Just(Which::Timers),
            Just(Which::Alarms),
            Just(Which::Last),
            Just(Which::All),
            Just(Which::Given),
        ];
        let act = prop_oneof![
            Just(ScheduleAct::Cancel),
            Just(ScheduleAct::Pause),
            Just(ScheduleAct::Resume),
            Just(ScheduleAct::RunNow),
            parts().prop_map(ScheduleAct::Move),
            parts().prop_map(ScheduleAct::Earlier),
        ];
        prop_oneof![
            (parts(), parts(), any::<bool>())
                .prop_map(|(what, when, early)| { Order::Remind(Remind { what, when, early, to: String::new() }) }),
            (which, act).prop_map(|(which, act)| Order::Change(ScheduleChange { which, act })),
        ]
    }

    const SAID: &str = "(remind me tomorrow at 9 to call the dentist|good morning|what did the dentist say|cancel reminder 2|stop|\
        delete notes/all.md|remove two lemons from all lists)";

    proptest! {
        #[test]
        fn orders_about_reminders_are_admitted_only_in_the_persons_words(order in order(), words in SAID) {
            let mut turn = said(&words);
            if turn.begin_schedule(&order, &Persons::default(), NOW_S).is_ok() {
                match &order {
                    Order::Remind(remind) => {
                        let mut all = remind.what.iter().chain(&remind.when);
                        prop_assert!(!remind.what.is_empty() && !remind.when.is_empty());
                        prop_assert!(all.all(|part| !part.is_empty() && words.contains(part.as_str())), "{:?}", order);
                    }
                    Order::Change(change) => {
                        let cancel = ScheduleChange { which: Which::Place(2), act: ScheduleAct::Cancel };
                        prop_assert!(words.starts_with("cancel") && *change == cancel, "{:?} in {}", order, words);
                    }
                    Order::List(_) | Order::Find(_) | Order::Tell(_) | Order::Ask(_) | Order::Quiet(_) => {}
                }
            }
        }
    }

    #[test]
    fn nobody_is_reminded_by_a_turn_without_a_person() {
        let mut turn = said("remind me tomorrow to call");
        turn.flow.attended = false;
        let order = Order::Remind(Remind {
            what: vec!["call".into()],
            when: vec!["tomorrow".into()],
            early: false,
            to: String::new(),
        });
        assert_eq!(
            turn.begin_schedule(&order, &Persons::default(), NOW_S).map_err(|no| no.rule),
            Err("schedule.unattended".to_owned())
        );
        // What was asked to be answered by itself may ask what is planned.
        assert!(turn.begin_schedule(&Order::List(String::new()), &Persons::default(), NOW_S).is_ok());
        let ask = Ask { what: vec!["call".into()], when: vec!["tomorrow".into()], frozen: Vec::new() };
        assert!(turn.begin_schedule(&Order::Ask(ask), &Persons::default(), NOW_S).is_err());
    }

    #[test]
    fn request_in_two_turns_takes_its_words_from_both() {
        let mut turn = said("tomorrow at 9");
        let order = Order::Remind(Remind {
            what: vec!["call".into()],
            when: vec!["tomorrow at 9".into()],
            early: false,
            to: String::new(),
        });
        assert!(turn.begin_schedule(&order, &Persons::default(), NOW_S).is_err());
        turn.earlier.add("remind me to call", Lang::En);
        assert!(turn.begin_schedule(&order, &Persons::default(), NOW_S).is_ok());
    }

    #[test]
    fn change_is_admitted_once_and_only_as_the_words_have_it() {
        let change =
            |which: &Which, act: &ScheduleAct| Order::Change(ScheduleChange { which: which.clone(), act: act.clone() });
        let called = |text: &str| Which::Called(text.to_owned());
        let to = |when: &str| ScheduleAct::Move(vec![when.to_owned()]);
        for (words, before, which, act) in [
            ("cancel the dentist reminder", "", called("dentist"), ScheduleAct::Cancel),
            ("Alfredo, cancella il promemoria del dentista", "", called("dentista"), ScheduleAct::Cancel),
            ("snooze for 10 minutes", "", Which::Given, to("for 10 minutes")),
            ("move the dentist reminder to 10:30", "", called("dentist"), to("10:30")),
            ("cancel the second one", "what do I have to do tomorrow?", Which::Place(2), ScheduleAct::Cancel),
            ("annulla il secondo", "che impegni ho domani mattina", Which::Place(2), ScheduleAct::Cancel),
        ] {
            let turn = || {
                let mut turn = said(words);
                if !before.is_empty() {
                    turn.earlier.add(before, Lang::En);
                }
                turn
            };
            let admits = |turn: &mut Turn, which: &Which, act: &ScheduleAct| {
                turn.begin_schedule(&change(which, act), &Persons::default(), NOW_S).is_ok()
            };
            let mut honest = turn();
            assert!(admits(&mut honest, &which, &act), "{words}");
            assert!(!admits(&mut honest, &which, &act), "{words}: twice");
            let others =
                [Which::Only, Which::Last, Which::All, Which::Given, Which::Place(1), Which::Number(2), called("bins")];
            for other in others.iter().filter(|other| **other != which) {
                assert!(!admits(&mut turn(), other, &act), "{words}: {other:?}");
            }
            for other in [ScheduleAct::Pause, ScheduleAct::Resume, to("tomorrow"), to("10"), ScheduleAct::Cancel] {
                assert!(other == act || !admits(&mut turn(), &which, &other), "{words}: {other:?}");
            }
        }
    }
}
