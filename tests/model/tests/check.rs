//! The protocol of a call, every order of it: a planner that says whatever it likes, an owner at the machine, messages
//! that overtake each other, and every daemon crashing at any moment. Each promise is then seen to break when the one
//! rule that keeps it is taken away.
#![allow(clippy::unwrap_used, missing_docs)]

use metnos_model::{Book, Breach, Line, Verdict};
use stateright::{Checker, HasDiscoveries, Model, Property};

/// How many calls, crashes and words the planner has. Small enough to try everything.
const CALLS: u8 = 2;
const CRASHES: u8 = 2;

/// The rules that keep the promises. All of them hold in the code; a test takes each away in turn.
#[derive(Debug, Clone, Copy)]
struct Rules {
    /// A decision is durable before sandboxd learns of it.
    decision_first: bool,
    /// sandboxd carries out a decision once, and memoryd takes a second start of it for no start.
    once: bool,
    /// An answer to a card is taken by one durable statement.
    card_once: bool,
    /// Cards are answered on the admin edge only.
    admin_only: bool,
    /// The label rises before the bytes are handed over.
    label_first: bool,
    /// sandboxd runs the bytes whose digest was decided on.
    same_bytes: bool,
}

const ALL: Rules =
    Rules { decision_first: true, once: true, card_once: true, admin_only: true, label_first: true, same_bytes: true };

/// Act 0 is allowed by the rules; act 1 needs a card.
type Act = u8;

#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Message {
    /// planner → policyd.
    Asked { call: u8, act: Act },
    /// policyd → memoryd.
    Record { call: u8, act: Act, card: Option<(u8, bool)>, allow: bool },
    /// memoryd → policyd: the line is on the disk.
    Recorded { call: u8, act: Act, seq: u64, allow: bool },
    /// policyd → sandboxd, which may come twice when a peer was restarted.
    Run { call: u8, act: Act, seq: u64 },
    /// owner or liar → policyd: yes to a card.
    Yes { card: u8, admin: bool },
}

/// A card: durable, in policyd's store.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Card {
    act: Act,
    open: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct State {
    /// In flight, in no order.
    wire: Vec<Message>,
    /// memoryd, durable: how many lines, and what follows from them.
    lines: u64,
    book: Book<u8, Act, u8>,
    /// The first line that could not be.
    breach: Option<Breach>,
    /// policyd, durable.
    cards: Vec<Card>,
    /// policyd, gone with a crash: the turn is open, its label is X, it keeps an unread result.
    turn: Option<Turn>,
    /// sandboxd: which decisions it has carried out since it started; durable in the chronicle as started lines.
    carried: Vec<u64>,
    /// The planner: how many calls it has numbered, whether it has read what is untrusted in this very turn.
    calls: u8,
    read: bool,
    crashes: u8,
    yeses: u8,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Turn {
    tainted: bool,
    result: bool,
    /// Handing over takes two steps: with the rule, the first one raises the label.
    handing: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Step {
    /// The planner asks for an act.
    Ask(Act),
    /// The door or the planner lies: a yes to a card that nobody gave.
    Forge(u8),
    /// The owner says yes at the machine; impatient owners say it twice.
    Say(u8),
    /// A message arrives.
    Deliver(usize),
    /// A message is repeated: its sender did not learn that it had arrived.
    Repeat(usize),
    /// The planner asks for a result, then gets the bytes.
    Release,
    HandOver,
    CrashPolicyd,
    CrashSandboxd,
    CrashPlanner,
    CrashMemoryd,
}

struct Protocol(Rules);

impl Protocol {
    fn append(state: &mut State, line: &Line<u8, Act, u8>) {
        state.lines += 1;
        if let Err(breach) = state.book.read(line) {
            state.breach.get_or_insert(breach);
        }
    }

    /// What a daemon does with a message. What it does not expect it drops.
    fn arrive(&self, state: &mut State, message: Message) {
        match message {
            Message::Asked { call, act } => {
                if state.turn.is_none() {
                    return;
                }
                let allow = act == 0;
                if !allow {
                    let open = state.cards.iter().any(|card| card.act == act && card.open);
                    if !open && state.cards.is_empty() {
                        state.cards.push(Card { act, open: true });
                    }
                }
                state.wire.push(Message::Record { call, act, card: None, allow });
                if allow && !self.0.decision_first {
                    let seq = state.lines + 1;
                    state.wire.push(Message::Run { call, act, seq });
                }
            }
            Message::Yes { card, admin } => self.answered(state, card, admin),
            Message::Record { call, act, card, allow } => {
                let seq = state.lines + 1;
                let verdict = match (allow, card) {
                    (false, _) => Verdict::No,
                    (true, None) => Verdict::Allow,
                    (true, Some((card, admin))) => Verdict::Approved { card, admin },
                };
                Self::append(state, &Line::Decided { seq, call, act, verdict });
                state.wire.push(Message::Recorded { call, act, seq, allow });
            }
            Message::Recorded { call, act, seq, allow } => {
                // Nobody waits for it any more after a crash: the turn is gone, or it is another one.
                if allow && state.turn.is_some() && self.0.decision_first {
                    state.wire.push(Message::Run { call, act, seq });
                }
            }
            Message::Run { call, act, seq } => {
                let seen = state.carried.contains(&seq);
                if self.0.once && seen {
                    return;
                }
                let act = if self.0.same_bytes { act } else { 1 - act };
                state.carried.push(seq);
                Self::append(state, &Line::Started { call, act, decision: seq });
                Self::append(state, &Line::Ended { call });
                if let Some(turn) = &mut state.turn {
                    turn.result = true;
                }
            }
        }
    }

    fn answered(&self, state: &mut State, card: u8, admin: bool) {
        if self.0.admin_only && !admin {
            return;
        }
        let Some(kept) = state.cards.get_mut(usize::from(card)) else { return };
        if self.0.card_once && !std::mem::replace(&mut kept.open, false) {
            return;
        }
        kept.open = false;
        let act = kept.act;
        // The act is a turn of its own, with a call of its own.
        state.turn.get_or_insert(Turn { tainted: false, result: false, handing: false });
        state.calls += 1;
        let call = state.calls;
        state.wire.push(Message::Record { call, act, card: Some((card, admin)), allow: true });
    }
}

impl Model for Protocol {
    type State = State;
    type Action = Step;

    fn init_states(&self) -> Vec<State> {
        vec![State {
            wire: Vec::new(),
            lines: 0,
            book: Book::default(),
            breach: None,
            cards: Vec::new(),
            turn: Some(Turn { tainted: false, result: false, handing: false }),
            carried: Vec::new(),
            calls: 0,
            read: false,
            crashes: 0,
            yeses: 0,
        }]
    }

    fn actions(&self, state: &State, steps: &mut Vec<Step>) {
        if state.calls < CALLS {
            steps.extend([Step::Ask(0), Step::Ask(1)]);
        }
        for card in 0..state.cards.len() {
            let card = u8::try_from(card).unwrap();
            if state.yeses < 2 {
                steps.extend([Step::Forge(card), Step::Say(card)]);
            }
        }
        steps.extend((0..state.wire.len()).map(Step::Deliver));
        // Only sandboxd's word is repeated: every other ask ends as gone, and is not said again.
        let repeatable = |at: &usize| matches!(state.wire[*at], Message::Run { .. }) && state.wire.len() < 4;
        steps.extend((0..state.wire.len()).filter(repeatable).map(Step::Repeat));
        if let Some(turn) = &state.turn {
            if turn.result && !turn.handing {
                steps.push(Step::Release);
            }
            if turn.handing {
                steps.push(Step::HandOver);
            }
        }
        if state.crashes < CRASHES {
            steps.extend([Step::CrashPolicyd, Step::CrashSandboxd, Step::CrashPlanner, Step::CrashMemoryd]);
        }
    }

    fn next_state(&self, before: &State, step: Step) -> Option<State> {
        let mut state = before.clone();
        match step {
            Step::Ask(act) => {
                state.calls += 1;
                let call = state.calls;
                state.wire.push(Message::Asked { call, act });
            }
            Step::Forge(card) => {
                state.yeses += 1;
                state.wire.push(Message::Yes { card, admin: false });
            }
            Step::Say(card) => {
                state.yeses += 1;
                state.wire.push(Message::Yes { card, admin: true });
            }
            Step::Deliver(at) => {
                let message = state.wire.remove(at);
                self.arrive(&mut state, message);
            }
            Step::Repeat(at) => {
                let message = state.wire[at].clone();
                state.wire.push(message);
            }
            Step::Release => {
                let turn = state.turn.as_mut()?;
                turn.handing = true;
                turn.tainted |= self.0.label_first;
            }
            Step::HandOver => {
                state.read = true;
                state.turn.as_mut()?.handing = false;
            }
            Step::CrashPolicyd => {
                state.crashes += 1;
                // What was on its way to it or from it is gone; the store stays. The door opens another turn.
                state.wire.retain(|message| matches!(message, Message::Record { .. } | Message::Run { .. }));
                state.turn = Some(Turn { tainted: false, result: false, handing: false });
                state.read = false;
            }
            Step::CrashSandboxd => {
                state.crashes += 1;
                state.wire.retain(|message| !matches!(message, Message::Run { .. }));
            }
            Step::CrashPlanner => {
                state.crashes += 1;
                state.turn = None;
                state.read = false;
                state.wire.retain(|message| !matches!(message, Message::Asked { .. }));
            }
            Step::CrashMemoryd => {
                state.crashes += 1;
                state.wire.retain(|message| !matches!(message, Message::Record { .. } | Message::Recorded { .. }));
            }
        }
        state.wire.sort();
        Some(state)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        fn never(state: &State, breach: Breach) -> bool {
            state.breach != Some(breach)
        }
        vec![
            Property::always("no effect without a durable decision on exactly that act", |_, state: &State| {
                never(state, Breach::Undecided)
            }),
            Property::always("no decision executed twice", |_, state: &State| never(state, Breach::Twice)),
            Property::always("no call decided twice", |_, state: &State| never(state, Breach::Redecided)),
            Property::always("no hard approval outside the admin edge", |_, state: &State| {
                never(state, Breach::NotAtTheMachine)
            }),
            Property::always("no approval used twice", |_, state: &State| never(state, Breach::CardTwice)),
            Property::always("no release without its label", |_, state: &State| {
                !state.read || state.turn.as_ref().is_none_or(|turn| turn.tainted)
            }),
            Property::sometimes("something is done by the rules", |_, state: &State| {
                state.book.started() > 0 && state.book.approved() == 0
            }),
            Property::sometimes("something is done by the owner's word", |_, state: &State| {
                state.book.started() > 0 && state.book.approved() > 0
            }),
            Property::sometimes("something untrusted is read", |_, state: &State| state.read),
        ]
    }
}

/// Whether the promise is broken somewhere, looked for until it is, or everything was tried.
fn is_broken(rules: Rules, promise: &'static str) -> bool {
    let until = HasDiscoveries::AnyOf(std::iter::once(promise).collect());
    Protocol(rules).checker().threads(2).finish_when(until).spawn_bfs().join().discovery(promise).is_some()
}

#[test]
fn every_order_of_events_keeps_every_promise() {
    let checker = Protocol(ALL).checker().threads(2).spawn_bfs().join();
    checker.assert_properties();
    assert!(checker.is_done(), "not everything was tried");
    println!("{} states", checker.unique_state_count());
    assert!(checker.unique_state_count() > 10_000, "only {} states", checker.unique_state_count());
}

#[test]
fn each_promise_breaks_without_the_rule_that_keeps_it() {
    for (rules, promise) in [
        (Rules { decision_first: false, ..ALL }, "no effect without a durable decision on exactly that act"),
        (Rules { same_bytes: false, ..ALL }, "no effect without a durable decision on exactly that act"),
        (Rules { once: false, ..ALL }, "no decision executed twice"),
        (Rules { card_once: false, ..ALL }, "no approval used twice"),
        (Rules { admin_only: false, ..ALL }, "no hard approval outside the admin edge"),
        (Rules { label_first: false, ..ALL }, "no release without its label"),
    ] {
        assert!(is_broken(rules, promise), "{rules:?} keeps `{promise}`");
    }
}
