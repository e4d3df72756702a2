//! Redaction of the words of a turn, at the request of the principal who said them. memoryd redacts; here is the daily limit per
//! principal, so that a hijacked door cannot empty a conversation.

use std::cell::RefCell;
use std::collections::HashMap;

use metnos_proto::edge::RpcError;
use metnos_proto::ids::{TraceId, TurnId};
use metnos_proto::msg::common::{Refusal, RefusalCode};
use metnos_proto::msg::memoryd::{ForgetTurn, TurnForgotten};

use crate::people::principal::Principal;
use crate::policy::Policy;

/// The most turns that a principal may have forgotten in a day.
pub const MAX_A_DAY: u32 = 100;
/// The most principals that are counted: policyd knows no more.
const MAX_COUNTED: usize = 256;
const DAY_MS: u64 = 24 * 60 * 60 * 1_000;

/// How many turns were forgotten today, for each principal.
#[derive(Debug, Default)]
pub struct Forgotten(RefCell<HashMap<String, (u64, u32)>>);

impl Forgotten {
    /// Counts one more.
    fn count(&self, principal: &str, wall_ms: u64) -> Result<(), Refusal> {
        let today = wall_ms / DAY_MS;
        let mut counted = self.0.borrow_mut();
        if counted.len() >= MAX_COUNTED && !counted.contains_key(principal) {
            counted.retain(|_, (day, _)| *day == today);
        }
        let (day, count) = counted.get(principal).copied().filter(|(day, _)| *day == today).unwrap_or((today, 0));
        let is_one_more = counted.len() >= MAX_COUNTED && !counted.contains_key(principal);
        if count >= MAX_A_DAY || is_one_more {
            let why = format!("{MAX_A_DAY} turns of this client were forgotten today");
            return Err(Refusal::new(RefusalCode::Busy, "forget.today", why)
                .remedy("the owner takes more out at the machine: `metnosctl audit redact`"));
        }
        counted.insert(principal.to_owned(), (day, count + 1));
        Ok(())
    }

    /// Nothing was forgotten after all.
    fn give_back(&self, principal: &str) {
        if let Some((_, count)) = self.0.borrow_mut().get_mut(principal) {
            *count = count.saturating_sub(1);
        }
    }
}

impl Policy {
    /// Has the words of a turn forgotten which this principal has said, or the same person on another channel.
    ///
    /// # Errors
    /// When it has said nothing in such a turn, had enough forgotten today, or memoryd does not answer.
    pub(crate) async fn forget_words(&self, principal: &Principal, turn: TurnId) -> Result<TurnForgotten, Refusal> {
        self.anchors.chain_holds().await?;
        self.forgotten.count(&principal.name, self.base.clock.wall_ms())?;
        let forgotten = self.forget_words_of(&self.own_principals(&principal.name), turn).await;
        forgotten.inspect_err(|_| self.forgotten.give_back(&principal.name))
    }

    /// All principals of the person who speaks as this one, this one first.
    fn own_principals(&self, principal: &str) -> Vec<String> {
        let persons = self.people.persons.borrow();
        let of_person = persons.of(principal).map(|(name, _)| persons.principals(name)).unwrap_or_default();
        let others = of_person.into_iter().filter(|other| other != principal);
        std::iter::once(principal.to_owned()).chain(others).collect()
    }

    /// The same for the first of these principals who has said something in this turn.
    async fn forget_words_of(&self, own: &[String], turn: TurnId) -> Result<TurnForgotten, Refusal> {
        let mut refused = None;
        for name in own {
            let ask = ForgetTurn { turn, principal: name.clone() };
            match self.base.memory.forget_turn(TraceId::NONE, ask, []).await.map_err(RpcError::into_refusal) {
                Ok((forgotten, [])) => {
                    // They may be the words that the next ones point back at.
                    self.calls.turns.borrow_mut().forget_words(name);
                    self.approvals.cards.forget_of(turn, name).await?;
                    return Ok(forgotten);
                }
                // Another principal's turn looks like one that there is not.
                Err(refusal) if refusal.code == RefusalCode::Unknown => refused = refused.or(Some(refusal)),
                Err(refusal) => return Err(refusal),
            }
        }
        Err(refused.unwrap_or_else(|| Refusal::new(RefusalCode::Unknown, "turn.unknown", "nobody speaks here")))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_day_has_room_for_so_many_and_each_principal_has_its_own() {
        let forgotten = Forgotten::default();
        for _ in 0..MAX_A_DAY {
            forgotten.count("http:a", DAY_MS).unwrap();
        }
        assert_eq!(forgotten.count("http:a", DAY_MS + 1).unwrap_err().rule, "forget.today");
        forgotten.count("http:b", DAY_MS).unwrap();
        forgotten.count("http:a", 2 * DAY_MS).unwrap();
        // What was counted before today leaves first, so that nobody is kept out by others.
        for n in 0..2 * MAX_COUNTED {
            let _ = forgotten.count(&format!("http:{n}"), 2 * DAY_MS);
        }
        assert!(forgotten.0.borrow().len() <= MAX_COUNTED);
        forgotten.count("http:b", 4 * DAY_MS).unwrap();
        forgotten.give_back("http:b");
        assert_eq!(forgotten.0.borrow()["http:b"].1, 0, "what failed is not counted");
        forgotten.count("http:new", 3 * DAY_MS).unwrap();
    }
}
