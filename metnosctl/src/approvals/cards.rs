//! Cards that a turn has left: shown as policyd says they are, and answered in place by a person who sits at
//! a terminal; for everybody else they wait. An answer names the digest of exactly what was shown.

use std::collections::BTreeSet;
use std::io::{BufRead, IsTerminal};
use std::time::Duration;

use metnos_proto::doc::card::CardView;
use metnos_proto::edge::RpcError;
use metnos_proto::edges::CtlDoor;
use metnos_proto::edges::ctl_door::Note;
use metnos_proto::ids::TraceId;
use metnos_proto::link::BlockingClient;
use metnos_proto::msg::common::Lang;
use metnos_proto::msg::door::AnswerHere;
use metnos_proto::msg::policyd::{Answer, CardSettled, CardWaits};
use metnos_texts::{Key, card, say, tell};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::approvals::approval;
use crate::error::{CtlError, Exit};
use crate::screen::{Ink, Screen, escape};
use crate::turns::interrupt::Interrupt;

/// How long to look for a typed line before looking for what the door says, in milliseconds, and the other way round.
const LOOK_MS: u64 = 100;

/// Shows the cards of a turn and has them answered, if a person is there who can; how many were, here or elsewhere.
///
/// # Errors
/// When the output is gone, or the door.
pub fn answered(
    screen: &mut Screen,
    door: &mut BlockingClient<CtlDoor>,
    interrupt: &Interrupt,
    cards: Vec<CardWaits>,
) -> Result<(Exit, usize), CtlError> {
    if !(std::io::stdin().is_terminal() && screen.watched() && screen.out_is_terminal()) {
        // Nobody is there who could be asked: it is said where it can be answered.
        let mut waits = Exit::Done;
        for card in cards {
            let shown = card.card();
            let lang = card::lang(shown.as_ref());
            if shown.as_ref().is_some_and(|shown| shown.offer.is_some()) {
                offered_elsewhere(screen, shown.as_ref(), &card.id)?;
                continue;
            }
            waits = Exit::Waiting;
            screen.aside(Ink::Plain, &tell(lang, Key::CardAtTheMachine, &[("card", (&card.id).into())]))?;
        }
        return Ok((waits, 0));
    }
    let (mut exit, mut given) = (Exit::Done, 0);
    let mut settled = BTreeSet::new();
    for card in cards {
        if settled.contains(&card.id) {
            given += 1;
            continue;
        }
        let shown = card.card();
        approval::show_face(screen, shown.as_ref(), &card.id)?;
        let Some(shown) = shown.filter(|shown| !shown.hard) else {
            // What it says is who may answer it, and that is nobody here.
            exit = Exit::Waiting;
            continue;
        };
        let is_offer = shown.offer.is_some();
        let word = put(screen, door, interrupt, (&card.id, is_offer), &mut settled);
        interrupt.disarm();
        let answer = match word? {
            Decision::Said(answer) => answer,
            // An offer is passed over, and nothing waits for it.
            Decision::NotNow if is_offer => continue,
            Decision::Settled => {
                given += 1;
                continue;
            }
            Decision::NotNow => {
                exit = Exit::Waiting;
                screen.aside(Ink::Dim, &tell(screen.lang(), Key::CardLater, &[("card", (&card.id).into())]))?;
                continue;
            }
        };
        let ask = AnswerHere { id: card.id.clone(), digest: card.digest.clone(), answer, code: String::new() };
        match door.answer(TraceId::NONE, ask, []) {
            Ok((answered, [results])) => {
                given += 1;
                let ended = approval::done(screen, &shown, &answered, &results)?;
                exit = if exit == Exit::Done { ended } else { exit };
            }
            Err(RpcError::Refused(refusal)) => {
                screen.error(&CtlError::Refused(refusal))?;
                exit = Exit::Failed;
            }
            Err(error) => return Err(error.into()),
        }
    }
    Ok((exit, given))
}

/// Shows an offer where no answer can be typed, with the command that takes it.
fn offered_elsewhere(screen: &mut Screen, shown: Option<&CardView>, id: &str) -> Result<(), CtlError> {
    let lang = card::lang(shown);
    let face = card::face(shown, id, lang);
    for text in std::iter::once(&face.asks).chain(face.parts.iter().map(|part| &part.text)) {
        screen.aside(Ink::Dim, &escape::line(text))?;
    }
    screen.aside(Ink::Dim, &tell(lang, Key::CardLater, &[("card", id.into())]))
}

/// What became of a question.
enum Decision {
    /// It was answered here.
    Said(Answer),
    /// It was answered elsewhere.
    Settled,
    /// Not now.
    NotNow,
}

/// Prints the question and waits for its answer. Ctrl-C is armed before the question is printed, so that from then on it means
/// "not now" and never ends the conversation. The caller disarms it.
fn put(
    screen: &mut Screen,
    door: &mut BlockingClient<CtlDoor>,
    interrupt: &Interrupt,
    (id, is_offer): (&str, bool),
    settled: &mut BTreeSet<String>,
) -> Result<Decision, CtlError> {
    interrupt.arm();
    let prompt = if is_offer { Key::OfferPrompt } else { Key::CardPrompt };
    screen.aside(Ink::Warn, &say(screen.lang(), prompt))?;
    screen.flush()?;
    asked(screen, door, interrupt, id, settled)
}

/// Waits for a typed line, and receives meanwhile when the card is answered elsewhere.
fn asked(
    screen: &mut Screen,
    door: &mut BlockingClient<CtlDoor>,
    interrupt: &Interrupt,
    id: &str,
    settled: &mut BTreeSet<String>,
) -> Result<Decision, CtlError> {
    loop {
        if interrupt.was_pressed() {
            return Ok(Decision::NotNow);
        }
        if is_typed()? {
            let mut line = String::new();
            let read = std::io::stdin().lock().read_line(&mut line);
            read.map_err(|error| CtlError::failed("standard input cannot be read", error, ""))?;
            return Ok(answer(&line).map_or(Decision::NotNow, Decision::Said));
        }
        if let Some(Note::CardSettled(told)) = door.next_note(Duration::from_millis(LOOK_MS))? {
            let CardSettled { id: which, state, by, ran, .. } = &told;
            screen.aside(Ink::Dim, &settled_line(screen.lang(), which, state, by, *ran))?;
            settled.insert(which.clone());
            if which == id {
                return Ok(Decision::Settled);
            }
        }
    }
}

/// What became of a card, in a line that names it.
pub(crate) fn settled_line(lang: Lang, id: &str, state: &str, by: &str, ran: u32) -> String {
    let what = card::settled(lang, state, by, ran);
    tell(lang, Key::TermSettled, &[("card", id.into()), ("what", (&what).into())])
}

/// Whether a line waits at the terminal, or comes in a moment.
fn is_typed() -> Result<bool, CtlError> {
    let stdin = std::io::stdin();
    let mut polled = [PollFd::new(&stdin, PollFlags::IN)];
    let moment = Timespec { tv_sec: 0, tv_nsec: i64::try_from(LOOK_MS).unwrap_or(100) * 1_000_000 };
    match poll(&mut polled, Some(&moment)) {
        Ok(ready) => Ok(ready > 0),
        // Ctrl-C: the caller looks at that first.
        Err(rustix::io::Errno::INTR) => Ok(false),
        Err(error) => Err(CtlError::failed("standard input cannot be waited for", error, "")),
    }
}

/// What a person has typed; nothing for everything that is no clear answer.
fn answer(line: &str) -> Option<Answer> {
    match line.trim().to_lowercase().as_str() {
        "y" | "yes" | "s" | "sì" | "si" => Some(Answer::Once),
        "t" => Some(Answer::Turn),
        "n" | "no" => Some(Answer::No),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_clear_word_is_an_answer() {
        assert!(matches!(answer("y\n"), Some(Answer::Once)));
        assert!(matches!(answer(" SÌ "), Some(Answer::Once)));
        assert!(matches!(answer("t"), Some(Answer::Turn)));
        assert!(matches!(answer("No"), Some(Answer::No)));
        for line in ["", "\n", "yes please", "ok", "yn", "1"] {
            assert!(answer(line).is_none(), "{line:?}");
        }
    }
}
