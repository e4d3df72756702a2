//! What a person has passed on to others of the household: told at once, or reminded at a time; and what a person wants changed of
//! what is planned. Neither is the planner's to choose: policyd reads the person's words itself, by the same grammar as the reflex,
//! and admits only the order that they are.

use metnos_proto::doc::schedule::ScheduleList;
use metnos_proto::envelope::{Envelope, Recent};
use metnos_proto::ids::{TraceId, TurnId};
use metnos_proto::msg::common::{Lang, Refusal};
use metnos_proto::msg::schedule::{Ask, KeepSchedule, MAX_FROZEN, MAX_OF_TURN, Order, Remind, ScheduleKind, Tell};
use metnos_reflex::dialogue;
use metnos_reflex::reminder::asks;
use metnos_reflex::reminder::borne_out::is_borne_out;

use super::{no, too_many};
use crate::calls::turns::Turn;
use crate::people::persons::Persons;
use crate::people::principal::Principal;
use crate::policy::Policy;

impl Policy {
    /// Has others told what stands in the order, each in a chat of the own.
    ///
    /// # Errors
    /// When nobody of them may be told by this principal or can be reached, or memoryd refuses. What was kept before that stays.
    pub(super) async fn tell(
        &self,
        principal: &Principal,
        in_turn: (TurnId, TraceId),
        tell: &Tell,
        lang: Lang,
    ) -> Result<ScheduleList, Refusal> {
        let remind = Remind { what: tell.what.clone(), when: Vec::new(), early: false, to: tell.to.clone() };
        self.keep_for_others(principal, in_turn, (&remind, true), lang).await
    }

    /// Keeps a reminder or a message for each of those whom it is for.
    pub(super) async fn keep_for_others(
        &self,
        principal: &Principal,
        (turn, trace): (TurnId, TraceId),
        (remind, message): (&Remind, bool),
        lang: Lang,
    ) -> Result<ScheduleList, Refusal> {
        let (from, recipients) = self.people.persons.borrow().recipients(&principal.name, &remind.to)?;
        let urgent = self.proposals.is_emergency(&remind.what.join(" "));
        let mut kept = Vec::new();
        for recipient in recipients {
            let told_in = self.people.lang_of(&recipient.at);
            let keep = KeepSchedule {
                turn,
                trace,
                principal: principal.name.clone(),
                to: recipient.at,
                from: from.clone(),
                kind: if message { ScheduleKind::Message } else { ScheduleKind::Reminder },
                what: remind.what.join(" "),
                when: remind.when.join(" "),
                early: remind.early,
                lang,
                told_in,
                frozen: Vec::new(),
                urgent,
            };
            kept.extend(self.keep_one(trace, keep).await?.0);
        }
        Ok(ScheduleList(kept))
    }
}

impl Turn {
    /// Whether the words of this turn, read here, are this order, or ask for it word by word. Reading them costs more than a
    /// comparison, so a refused order counts towards [`MAX_OF_TURN`] as well.
    ///
    /// # Errors
    /// The refusal when they are not, or too many orders were refused before.
    pub(super) fn bears_out(&mut self, order: &Order, persons: &Persons, now_s: i64) -> Result<(), Refusal> {
        if self.scheduled >= MAX_OF_TURN {
            return Err(too_many());
        }
        if self.says(order, persons, now_s) || self.spells_out(order, persons) {
            return Ok(());
        }
        self.scheduled += 1;
        if matches!(order, Order::Change(_)) {
            let why = "the person's words do not ask for this change of what is planned";
            return Err(no("schedule.words", why, "say what is to become of which reminder"));
        }
        if matches!(order, Order::Quiet(_)) {
            let why = "the person's words do not ask for these quiet hours";
            return Err(no("schedule.words", why, "say between which hours nobody is to disturb you"));
        }
        if matches!(order, Order::Ask(_)) {
            let why = "what is asked and when must stand in the person's own words, and does not";
            return Err(no("schedule.literal", why, "use the person's words as they are"));
        }
        let why = "the person's words do not ask for this to be passed on, as it stands and to whom";
        Err(no("people.words", why, "use the person's words as they are"))
    }

    /// Whether each word of the request is a part of this order, or asks for it: so a model's reading holds as well, and no other.
    fn spells_out(&self, order: &Order, persons: &Persons) -> bool {
        // To a guest nobody is known by name.
        if order.is_for_another() && persons.household().others(&self.principal.name).is_empty() {
            return false;
        }
        let Some(said) = self.flow.own_words().last_typed() else { return false };
        let without_name = called_first(said).and_then(|_| said.split_once(',')).map(|(_, rest)| rest);
        if matches!(order, Order::Ask(ask) if !ask.frozen.is_empty()) {
            return false;
        }
        is_borne_out(order, said) || without_name.is_some_and(|said| is_borne_out(order, said))
    }

    fn says(&self, order: &Order, persons: &Persons, now_s: i64) -> bool {
        let said = self.flow.own_words().last_typed();
        let mut envelope = Envelope::empty(Vec::new(), self.world.lang);
        envelope.home.people = persons.household().others(&self.principal.name);
        envelope.home.now = now_s;
        envelope.recent = self.earlier.last_typed().into_iter().map(|text| Recent::said(0, text)).collect();
        let mut ends = vec![""];
        ends.extend(said.and_then(called_first));
        ends.extend(said.and_then(called_last));
        // The language counts where the words do not show it, and the planner may know it better.
        let reads = |butler: &str, lang: Lang| {
            let mut envelope = envelope.clone();
            butler.clone_into(&mut envelope.home.butler);
            envelope.lang = lang;
            let said = said.unwrap_or_default();
            match order {
                // Which calls it takes is bound by what the words endorse when they are made; a question takes none.
                Order::Ask(ask) if !ask.frozen.is_empty() && !asks::is_order(&ask.what.join(" ")) => false,
                Order::Ask(ask) => {
                    let same = |one: &Ask| (&one.what, &one.when) == (&ask.what, &ask.when);
                    ask.frozen.len() <= MAX_FROZEN && dialogue::asked_at_another_time(said, &envelope).iter().any(same)
                }
                Order::Remind(_)
                | Order::Tell(_)
                | Order::List(_)
                | Order::Find(_)
                | Order::Change(_)
                | Order::Quiet(_) => dialogue::order(said, &envelope).as_ref() == Some(order),
            }
        };
        let other = if envelope.lang == Lang::En { Lang::It } else { Lang::En };
        let langs = [envelope.lang, other];
        ends.into_iter().any(|butler| langs.into_iter().any(|lang| reads(butler, lang)))
    }
}

/// What the butler may be called, which is not known here: a first word that a comma parts from the rest. Without one, "don't" would
/// be as good a name as any.
fn called_first(said: &str) -> Option<&str> {
    let (first, _) = said.trim_start().split_once(',')?;
    first.chars().all(char::is_alphanumeric).then_some(first)
}

/// The same for a last word.
fn called_last(said: &str) -> Option<&str> {
    let (_, last) = said.rsplit_once(',')?;
    let last = last.trim_matches(|c: char| c.is_whitespace() || matches!(c, '.' | '!' | '?'));
    last.chars().all(char::is_alphanumeric).then_some(last)
}
