//! One turn over the door's edge: the words go in, notes come back until it is done. Shared
//! by `ask` and `chat`. What the notes say is others' text: it is shown, never acted upon.

use std::time::{Duration, Instant};

use metnos_proto::doc::card::CardView;
use metnos_proto::edges::CtlDoor;
use metnos_proto::edges::ctl_door::Note;
use metnos_proto::ids::{TraceId, TurnId};
use metnos_proto::link::BlockingClient;
use metnos_proto::masks::mask;
use metnos_proto::msg::common::Lang;
use metnos_proto::msg::door::{FireTimer, Greet, Say, Stop};
use metnos_proto::msg::planner::{Call, CallState, Progress, TurnDone, TurnEnd};
use metnos_proto::msg::policyd::{CardSettled, CardWaits};
use metnos_proto::payload::Sealed;
use metnos_texts::{Key, say as lingua, tell};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use crate::approvals::cards::{self, settled_line};
use crate::daemons::connection::Connection;
use crate::error::{CtlError, ErrorDocument, Exit};
use crate::instance::Instance;
use crate::screen::{Ink, Screen};
use crate::turns::interrupt::Interrupt;

/// How long nothing may be heard of a turn, in milliseconds: longer than any single step may take.
pub const SILENCE_MS: u64 = 330_000;
/// How long a cancelled turn has to end, in milliseconds.
pub const CANCEL_WITHIN_MS: u64 = 5_000;
/// How often to look up while waiting, in milliseconds.
const LOOK_UP_MS: u64 = 200;
/// The longest bar, in columns; a shorter one than the other is none.
const MAX_BAR: usize = 40;
const MIN_BAR: usize = 5;

metnos_proto::names! {
    /// Where a call stands, in an event.
    pub enum CallStateName {
        /// policyd is deciding, or it runs.
        Started = "started",
        /// It succeeded.
        Succeeded = "succeeded",
        /// It ran and did not succeed.
        Unsuccessful = "unsuccessful",
        /// policyd refused it.
        Denied = "denied",
        /// It waits for the answer to a card.
        Waits = "waits",
    }
}

impl CallStateName {
    const fn of(state: &CallState) -> Self {
        match state {
            CallState::Started => Self::Started,
            CallState::Succeeded => Self::Succeeded,
            CallState::Unsuccessful => Self::Unsuccessful,
            CallState::Denied => Self::Denied,
            CallState::Waits => Self::Waits,
        }
    }
}

/// What happens in a turn, for a program: one event a line.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum TurnEvent<'a> {
    /// It has begun.
    Turn {
        /// Its name.
        turn: String,
    },
    /// A piece of the answer.
    Text {
        /// The piece.
        text: &'a str,
    },
    /// A call changed its state.
    Call {
        /// Which call of the turn.
        call: String,
        /// The executor's name.
        executor: &'a str,
        /// Where it stands.
        state: CallStateName,
        /// For a person: why it was refused, what went wrong, or its arguments in short.
        detail: &'a str,
    },
    /// How far a long call is.
    Progress {
        /// Which call of the turn.
        call: String,
        /// Steps done.
        done: u64,
        /// Steps in all; 0 when unknown.
        total: u64,
    },
    /// A card waits for an answer.
    Card {
        /// Its name.
        id: &'a str,
        /// What an answer quotes.
        digest: &'a str,
        /// The card.
        #[schemars(with = "Option<CardView>")]
        card: Value,
    },
    /// A card was answered.
    CardSettled {
        /// Its name.
        id: &'a str,
        /// How it stands now.
        state: &'a str,
        /// Who answered.
        by: &'a str,
        /// How many of its calls have run.
        ran: u32,
    },
    /// The turn has ended.
    Done {
        /// Its name.
        turn: String,
        /// How.
        end: &'static str,
        /// Why, when it was not answered.
        why: &'a str,
    },
    /// It was not done.
    Error {
        /// Why.
        error: ErrorDocument,
    },
}

/// The door's end, which has said in which language the person who sits here is spoken to.
///
/// # Errors
/// When the door cannot be reached.
pub(crate) fn greeted(screen: &mut Screen, instance: &Instance) -> Result<BlockingClient<CtlDoor>, CtlError> {
    let mut door = Connection::to(instance)?.open::<CtlDoor>()?;
    let (greeted, []) = door.greet(TraceId::NONE, Greet {}, [])?;
    screen.speak(greeted.lang);
    Ok(door)
}

/// Says the words and shows what comes of it. The exit tells whether the request was answered.
///
/// # Errors
/// When the door refuses, is gone, or is silent for too long; or the output is gone.
pub fn turn(
    screen: &mut Screen,
    door: &mut BlockingClient<CtlDoor>,
    interrupt: &Interrupt,
    words: &str,
) -> Result<Exit, CtlError> {
    // Anyone who speaks Italian is answered in it, also by the terminal itself.
    screen.speak(metnos_reflex::language_of(words, screen.lang()));
    follow(screen, door, interrupt, |screen, door| say(screen, door, words))
}

/// Has a timer fire, and shows what comes of it.
///
/// # Errors
/// As [`turn`].
pub fn fired(
    screen: &mut Screen,
    door: &mut BlockingClient<CtlDoor>,
    interrupt: &Interrupt,
    name: &str,
) -> Result<Exit, CtlError> {
    follow(screen, door, interrupt, |screen, door| {
        let (said, []) = door.fire_timer(TraceId::NONE, FireTimer { name: name.to_owned() }, [])?;
        print_turn_name(screen, said.turn)
    })
}

fn follow(
    screen: &mut Screen,
    door: &mut BlockingClient<CtlDoor>,
    interrupt: &Interrupt,
    open: impl FnOnce(&mut Screen, &mut BlockingClient<CtlDoor>) -> Result<TurnId, CtlError>,
) -> Result<Exit, CtlError> {
    interrupt.arm();
    let ended = open(screen, door).and_then(|turn| Ok((turn, listen(screen, door, interrupt, turn, false)?)));
    interrupt.disarm();
    let (turn, (mut exit, mut cards)) = ended?;
    // A turn that waits goes on as soon as its cards are answered; further ones may follow.
    while !cards.is_empty() && !screen.json() {
        let waits = exit == Exit::Waiting;
        let shown = cards.len();
        let (answered, given) = cards::answered(screen, door, interrupt, cards)?;
        if !waits || given < shown {
            return Ok(answered);
        }
        interrupt.arm();
        let ended = listen(screen, door, interrupt, turn, true);
        interrupt.disarm();
        (exit, cards) = ended?;
    }
    Ok(exit)
}

fn say(screen: &mut Screen, door: &mut BlockingClient<CtlDoor>, words: &str) -> Result<TurnId, CtlError> {
    let sealed = Sealed::new(words.as_bytes()).map_err(|error| CtlError::Usage {
        what: tell(screen.lang(), Key::TermTooManyWords, &[("why", (&error.to_string()).into())]),
        remedy: lingua(screen.lang(), Key::TermTooManyWordsRemedy),
    })?;
    let (said, []) = door.say(TraceId::NONE, Say {}, [sealed])?;
    print_turn_name(screen, said.turn)
}

fn print_turn_name(screen: &mut Screen, turn: TurnId) -> Result<TurnId, CtlError> {
    if screen.json() {
        screen.json_line(&TurnEvent::Turn { turn: turn.to_string() })?;
    }
    Ok(turn)
}

fn listen(
    screen: &mut Screen,
    door: &mut BlockingClient<CtlDoor>,
    interrupt: &Interrupt,
    turn: TurnId,
    again: bool,
) -> Result<(Exit, Vec<CardWaits>), CtlError> {
    let mut view = View { screen, turn, open_line: false, cards: Vec::new(), again, doing: String::new() };
    let mut bound = Instant::now() + Duration::from_millis(SILENCE_MS);
    let mut cancelling = false;
    loop {
        if interrupt.was_pressed() && !cancelling {
            cancelling = true;
            // A second Ctrl-C does not wait for anybody.
            interrupt.disarm();
            let cancelling = lingua(view.screen.lang(), Key::TermCancelling);
            view.screen.aside(Ink::Dim, &cancelling)?;
            let (_, []) = door.stop(TraceId::NONE, Stop { turn }, [])?;
            bound = Instant::now() + Duration::from_millis(CANCEL_WITHIN_MS);
        }
        match door.next_note(Duration::from_millis(LOOK_UP_MS))? {
            Some(note) => {
                if let Some(exit) = view.note(note)? {
                    return Ok((exit, view.cards));
                }
                if !cancelling {
                    bound = Instant::now() + Duration::from_millis(SILENCE_MS);
                }
            }
            None if Instant::now() >= bound => return Err(silent(view.screen.lang(), turn, cancelling)),
            None => {}
        }
    }
}

fn silent(lang: Lang, turn: TurnId, cancelling: bool) -> CtlError {
    let ms = if cancelling { CANCEL_WITHIN_MS } else { SILENCE_MS };
    let (turn, seconds) = (turn.to_string(), ms / 1000);
    CtlError::Unreachable {
        who: "the door".to_owned(),
        why: tell(lang, Key::TermSilent, &[("turn", (&turn).into()), ("seconds", seconds.into())]),
        remedy: lingua(lang, Key::TermSilentRemedy),
    }
}

/// Shows one turn.
struct View<'a> {
    screen: &'a mut Screen,
    turn: TurnId,
    /// Whether the text so far ends inside a line.
    open_line: bool,
    /// Cards of this turn that wait, each as it was shown last.
    cards: Vec<CardWaits>,
    /// Whether it goes on with a turn that waited.
    again: bool,
    /// The executor that was called last.
    doing: String,
}

impl View<'_> {
    /// Shows a note; the exit when the turn is done. Notes of other turns are none of ours.
    fn note(&mut self, note: Note) -> Result<Option<Exit>, CtlError> {
        match note {
            Note::Text(text) if text.turn == self.turn => self.text(&text.text)?,
            Note::Call(call) if call.turn == self.turn => self.call(&call)?,
            Note::Progress(progress) if progress.turn == self.turn => self.progress(&progress)?,
            Note::TurnDone(done) if done.turn == self.turn => return self.done(&done).map(Some),
            Note::CardWaits(card) if card.turn == self.turn => self.card(card)?,
            // Also of a turn before this one: the door tells only anyone who had asked.
            Note::CardSettled(settled) => self.settled(&settled)?,
            Note::Text(_) | Note::Call(_) | Note::Progress(_) | Note::CardWaits(_) | Note::TurnDone(_) => {}
        }
        Ok(None)
    }

    fn card(&mut self, card: CardWaits) -> Result<(), CtlError> {
        if self.screen.json() {
            let mut shown = serde_json::to_value(card.card()).unwrap_or_default();
            mask(&mut shown);
            self.screen.json_line(&TurnEvent::Card { id: &card.id, digest: &card.digest, card: shown })?;
        }
        self.cards.retain(|before| before.id != card.id);
        self.cards.push(card);
        Ok(())
    }

    fn settled(&mut self, settled: &CardSettled) -> Result<(), CtlError> {
        self.cards.retain(|card| card.id != settled.id);
        if self.again && settled.turn == self.turn {
            // Answered right here, and shown then.
            return Ok(());
        }
        let CardSettled { id, state, by, ran, .. } = settled;
        if self.screen.json() {
            return self.screen.json_line(&TurnEvent::CardSettled { id, state, by, ran: *ran });
        }
        self.end_line()?;
        self.screen.aside(Ink::Dim, &settled_line(self.screen.lang(), id, state, by, *ran))
    }

    fn text(&mut self, text: &str) -> Result<(), CtlError> {
        if self.screen.json() {
            return self.screen.json_line(&TurnEvent::Text { text });
        }
        if !text.is_empty() {
            self.open_line = !text.ends_with('\n');
        }
        self.screen.text(text)
    }

    fn call(&mut self, call: &Call) -> Result<(), CtlError> {
        if self.screen.json() {
            let Call { executor, state, detail, .. } = call;
            let event =
                TurnEvent::Call { call: call.call.to_string(), executor, state: CallStateName::of(state), detail };
            return self.screen.json_line(&event);
        }
        if !self.screen.watched() {
            return Ok(());
        }
        call.executor.clone_into(&mut self.doing);
        // The reason of what did not succeed is shown once, at the end of the turn.
        let (sign, ink, detail) = match call.state {
            CallState::Started => ("·", Ink::Dim, crate::screen::escape::line(&call.detail)),
            CallState::Succeeded => return Ok(()),
            CallState::Unsuccessful => ("✗", Ink::Warn, lingua(self.screen.lang(), Key::TermUnsuccessful)),
            CallState::Denied => ("✗", Ink::Warn, lingua(self.screen.lang(), Key::TermDenied)),
            // The card itself is shown in a moment.
            CallState::Waits => return Ok(()),
        };
        let text = format!("{sign} {} {} {detail}", call.call, crate::screen::escape::line(&call.executor));
        self.end_line()?;
        self.screen.aside(ink, text.trim_end())
    }

    fn progress(&mut self, progress: &Progress) -> Result<(), CtlError> {
        let Progress { call, done, total, .. } = progress;
        if self.screen.json() {
            let event = TurnEvent::Progress { call: call.to_string(), done: *done, total: *total };
            return self.screen.json_line(&event);
        }
        let steps = tell(self.screen.lang(), Key::TermSteps, &[("count", (*done).into())]);
        let head = format!("{call} {}", crate::screen::escape::line(&self.doing));
        self.screen.progress(&bar(head.trim_end(), *done, *total, &steps, self.screen.width()))
    }

    /// On a terminal, whatever follows begins on a line of its own.
    fn end_line(&mut self) -> Result<(), CtlError> {
        let complete = self.open_line && self.screen.out_is_terminal();
        self.open_line = self.open_line && !complete;
        self.screen.end_text(complete)
    }

    fn done(&mut self, done: &TurnDone) -> Result<Exit, CtlError> {
        let exit = match done.end {
            TurnEnd::Answered => Exit::Done,
            TurnEnd::Suspended => Exit::Waiting,
            TurnEnd::NotUnderstood | TurnEnd::Denied | TurnEnd::Unsuccessful | TurnEnd::Cancelled | TurnEnd::Broken => {
                Exit::Failed
            }
        };
        if self.screen.json() {
            let event = TurnEvent::Done { turn: self.turn.to_string(), end: done.end.name(), why: &done.why };
            self.screen.json_line(&event)?;
            // Nothing waits for the answer to an offer.
            let is_offer = |card: &CardWaits| card.card().is_some_and(|card| card.offer.is_some());
            return Ok(if self.cards.iter().all(is_offer) { exit } else { Exit::Waiting });
        }
        self.end_line()?;
        // What waits for a word was not denied: the card says what it is about, and is shown next.
        if done.end == TurnEnd::Denied && !self.cards.is_empty() {
            return Ok(exit);
        }
        let why = if done.why.is_empty() { end_sentence(self.screen.lang(), &done.end) } else { done.why.clone() };
        let ink = match done.end {
            TurnEnd::Answered => return Ok(exit),
            TurnEnd::NotUnderstood | TurnEnd::Cancelled | TurnEnd::Suspended => Ink::Plain,
            TurnEnd::Denied | TurnEnd::Unsuccessful | TurnEnd::Broken => Ink::Bad,
        };
        self.screen.aside(ink, &why)?;
        Ok(exit)
    }
}

fn end_sentence(lang: Lang, end: &TurnEnd) -> String {
    let key = match end {
        TurnEnd::Answered => return String::new(),
        TurnEnd::NotUnderstood => Key::TermEndNotUnderstood,
        TurnEnd::Denied => Key::TermEndDenied,
        TurnEnd::Unsuccessful => Key::TermEndUnsuccessful,
        TurnEnd::Cancelled => Key::TermEndCancelled,
        TurnEnd::Suspended => Key::TermEndSuspended,
        TurnEnd::Broken => Key::TermEndBroken,
    };
    lingua(lang, key)
}

/// How far something is, in a line that fits the terminal: a bar where the end is known, else the steps so far.
fn bar(head: &str, done: u64, total: u64, steps: &str, columns: Option<usize>) -> String {
    let most = columns.unwrap_or(80).saturating_sub(1);
    let Some(percent) = done.min(total).saturating_mul(100).checked_div(total) else {
        return crate::screen::human::shortened(&format!("  {head} {steps}"), most);
    };
    let counts = format!("{percent:>3} %  {done}/{total}");
    let room = most.saturating_sub(head.chars().count() + counts.chars().count() + 6).min(MAX_BAR);
    if room < MIN_BAR {
        return crate::screen::human::shortened(&format!("  {head} {counts}"), most);
    }
    let full = usize::try_from(percent).unwrap_or(100) * room / 100;
    format!("  {head} [{}{}] {counts}", "█".repeat(full), "░".repeat(room - full))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::screen::testing::screen;
    use metnos_proto::msg::common::CallRef;
    use metnos_proto::msg::planner::Text;

    fn notes(turn: TurnId, end: TurnEnd) -> Vec<Note> {
        let call = |state| {
            Note::Call(Call { turn, call: CallRef(1), executor: "fs_read".into(), state, detail: "a\nb".into() })
        };
        let text = |turn, text: &str| Note::Text(Text { turn, text: text.into() });
        vec![
            call(CallState::Started),
            call(CallState::Denied),
            Note::Progress(Progress { turn, call: CallRef(1), done: 1, total: 4 }),
            text(TurnId::new(), "not ours"),
            text(turn, "one\n"),
            text(turn, "two"),
            Note::TurnDone(TurnDone { turn, end, why: "because".into() }),
        ]
    }

    fn shown(json: bool, terminals: [bool; 2], end: TurnEnd) -> (String, String, Exit) {
        let (mut paper, out, err) = screen(json, terminals, false);
        let turn = TurnId::from_bytes([1; 16]);
        let mut view =
            View { screen: &mut paper, turn, open_line: false, cards: Vec::new(), again: false, doing: String::new() };
        let exits: Vec<Exit> = notes(turn, end).into_iter().filter_map(|note| view.note(note).unwrap()).collect();
        assert_eq!(exits.len(), 1);
        (out.text(), err.text(), exits[0])
    }

    #[test]
    fn into_a_pipe_goes_the_answer_byte_for_byte_and_nothing_else() {
        assert_eq!(shown(false, [false, false], TurnEnd::Answered), ("one\ntwo".into(), String::new(), Exit::Done));
    }

    #[test]
    fn a_turn_without_answer_fails_and_says_why_on_standard_error() {
        for end in [TurnEnd::Denied, TurnEnd::Unsuccessful, TurnEnd::NotUnderstood, TurnEnd::Cancelled, TurnEnd::Broken]
        {
            let (out, err, exit) = shown(false, [false, false], end);
            assert_eq!((out.as_str(), err.as_str(), exit), ("one\ntwo", "because\n", Exit::Failed));
        }
    }

    #[test]
    fn a_person_at_a_terminal_sees_calls_and_progress_and_whole_lines() {
        let (out, err, _) = shown(false, [true, true], TurnEnd::Answered);
        assert_eq!(out, "one\ntwo\n");
        assert_eq!(
            err,
            "· c1 fs_read a\\nb\n✗ c1 fs_read was denied\n\r\x1b[K  c1 fs_read [██████████░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░]  25 %  1/4\r\x1b[K"
        );
    }

    #[test]
    fn a_bar_fits_the_terminal_and_is_never_fuller_than_full() {
        for columns in [None, Some(10), Some(30), Some(80), Some(300)] {
            for (done, total) in [(0, 9), (3, 9), (9, 9), (20, 9), (5, 0), (u64::MAX, u64::MAX)] {
                let line = bar("c1 fs_find", done, total, "5 steps", columns);
                assert!(line.chars().count() <= columns.unwrap_or(80), "{line}");
            }
        }
        assert_eq!(bar("c1 fs_find", 5, 0, "5 steps", Some(80)), "  c1 fs_find 5 steps");
        assert!(bar("c1 fs_find", 20, 9, "", Some(80)).contains("] 100 %"));
    }

    #[test]
    fn a_program_gets_one_document_a_line() {
        let (out, err, _) = shown(true, [false, false], TurnEnd::Answered);
        let events: Vec<serde_json::Value> = out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let names: Vec<&str> = events.iter().map(|event| event["event"].as_str().unwrap()).collect();
        assert_eq!(names, ["call", "call", "progress", "text", "text", "done"]);
        assert_eq!(events[5]["end"], "answered");
        assert_eq!(err, "");
    }
}
