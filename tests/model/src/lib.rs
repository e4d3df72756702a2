//! What must be true of every chronicle, no matter who crashed, lied or was slow: [`Book`] takes its lines one by one and
//! names the first that cannot be. The same book stands in the model of the protocol (`tests/check.rs`), where every
//! order of events is tried, and reads the recorded chronicles of the real daemons.

#![cfg_attr(test, allow(clippy::unwrap_used))]

use std::collections::BTreeMap;

/// One line of the chronicle, as far as the protocol of a call goes. `C` names a call, `A` the exact act: executor,
/// version and digest of the arguments; `K` names a card.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Line<C, A, K> {
    /// policyd has decided.
    Decided {
        /// The line's own number.
        seq: u64,
        /// The call.
        call: C,
        /// The act.
        act: A,
        /// What was decided.
        verdict: Verdict<K>,
    },
    /// sandboxd begins.
    Started {
        /// The call.
        call: C,
        /// The act.
        act: A,
        /// The line of the decision that this carries out.
        decision: u64,
    },
    /// sandboxd has ended.
    Ended {
        /// The call.
        call: C,
    },
}

/// What policyd decided.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Verdict<K> {
    /// It may happen, by the rules.
    Allow,
    /// It may happen, because the owner has approved this card at the machine.
    Approved {
        /// The card.
        card: K,
        /// Whether the word came over the admin edge.
        admin: bool,
    },
    /// It may not, or not yet.
    No,
}

impl<K> Verdict<K> {
    const fn allows(&self) -> bool {
        match self {
            Self::Allow | Self::Approved { .. } => true,
            Self::No => false,
        }
    }
}

/// Why a line cannot be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
pub enum Breach {
    /// Something was begun without an earlier decision that allows exactly this act.
    #[error("an effect without a durable decision on exactly that act")]
    Undecided,
    /// A decision was carried out a second time.
    #[error("a decision executed twice")]
    Twice,
    /// One call was decided twice.
    #[error("a call decided twice")]
    Redecided,
    /// A card allowed a second act.
    #[error("an approval used twice")]
    CardTwice,
    /// A card was approved from elsewhere than the admin edge.
    #[error("a hard approval outside the admin edge")]
    NotAtTheMachine,
    /// Something ended that had not begun, or ended twice.
    #[error("an end without a beginning")]
    Unbegun,
}

/// A decision that was read.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Decision<C, A> {
    call: C,
    act: A,
    allows: bool,
    used: bool,
}

/// The chronicle so far.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Book<C, A, K> {
    decisions: BTreeMap<u64, Decision<C, A>>,
    cards: Vec<K>,
    running: Vec<C>,
    started: u64,
}

impl<C, A, K> Default for Book<C, A, K> {
    fn default() -> Self {
        Self { decisions: BTreeMap::new(), cards: Vec::new(), running: Vec::new(), started: 0 }
    }
}

impl<C: Clone + PartialEq, A: Clone + PartialEq, K: Clone + PartialEq> Book<C, A, K> {
    /// Takes the next line.
    ///
    /// # Errors
    /// Why it cannot be.
    pub fn read(&mut self, line: &Line<C, A, K>) -> Result<(), Breach> {
        match line {
            Line::Decided { seq, call, act, verdict } => self.decided(*seq, call, act, verdict),
            Line::Started { call, act, decision } => self.begun(call, act, *decision),
            Line::Ended { call } => {
                let at = self.running.iter().position(|running| running == call).ok_or(Breach::Unbegun)?;
                self.running.remove(at);
                Ok(())
            }
        }
    }

    fn decided(&mut self, seq: u64, call: &C, act: &A, verdict: &Verdict<K>) -> Result<(), Breach> {
        if self.decisions.values().any(|earlier| earlier.call == *call) {
            return Err(Breach::Redecided);
        }
        if let Verdict::Approved { card, admin } = verdict {
            if !admin {
                return Err(Breach::NotAtTheMachine);
            }
            if self.cards.contains(card) {
                return Err(Breach::CardTwice);
            }
            self.cards.push(card.clone());
        }
        let decision = Decision { call: call.clone(), act: act.clone(), allows: verdict.allows(), used: false };
        self.decisions.insert(seq, decision);
        Ok(())
    }

    fn begun(&mut self, call: &C, act: &A, decision: u64) -> Result<(), Breach> {
        let decided = self.decisions.get_mut(&decision).ok_or(Breach::Undecided)?;
        if !decided.allows || decided.call != *call || decided.act != *act {
            return Err(Breach::Undecided);
        }
        if std::mem::replace(&mut decided.used, true) {
            return Err(Breach::Twice);
        }
        self.running.push(call.clone());
        self.started += 1;
        Ok(())
    }

    /// How many executions were begun.
    #[must_use]
    pub const fn started(&self) -> u64 {
        self.started
    }

    /// How many acts were allowed by a card.
    #[must_use]
    pub fn approved(&self) -> usize {
        self.cards.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Plain = Book<u8, u8, u8>;

    fn decided(seq: u64, call: u8, act: u8, verdict: Verdict<u8>) -> Line<u8, u8, u8> {
        Line::Decided { seq, call, act, verdict }
    }

    fn read(lines: &[Line<u8, u8, u8>]) -> Result<(), Breach> {
        let mut book = Plain::default();
        lines.iter().try_for_each(|line| book.read(line))
    }

    #[test]
    fn a_decided_act_may_begin_once_and_end_once() {
        let (allow, begin) = (decided(1, 1, 7, Verdict::Allow), Line::Started { call: 1, act: 7, decision: 1 });
        assert_eq!(read(&[allow.clone(), begin.clone(), Line::Ended { call: 1 }]), Ok(()));
        assert_eq!(read(&[allow.clone(), begin.clone(), begin.clone()]), Err(Breach::Twice));
        assert_eq!(read(&[begin.clone(), allow.clone()]), Err(Breach::Undecided), "the decision comes first");
        assert_eq!(read(&[allow.clone(), Line::Started { call: 1, act: 8, decision: 1 }]), Err(Breach::Undecided));
        assert_eq!(read(&[allow.clone(), Line::Started { call: 2, act: 7, decision: 1 }]), Err(Breach::Undecided));
        assert_eq!(read(&[decided(1, 1, 7, Verdict::No), begin]), Err(Breach::Undecided));
        assert_eq!(read(&[allow.clone(), Line::Ended { call: 1 }]), Err(Breach::Unbegun));
        assert_eq!(read(&[allow.clone(), decided(2, 1, 7, Verdict::No)]), Err(Breach::Redecided));
    }

    #[test]
    fn a_card_allows_once_and_only_from_the_machine() {
        let by = |seq, call, admin| decided(seq, call, 7, Verdict::Approved { card: 3, admin });
        assert_eq!(read(&[by(1, 1, true)]), Ok(()));
        assert_eq!(read(&[by(1, 1, true), by(2, 2, true)]), Err(Breach::CardTwice));
        assert_eq!(read(&[by(1, 1, false)]), Err(Breach::NotAtTheMachine));
    }
}
