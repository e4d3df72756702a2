//! What others ask for and the owner decides, at his open chat: shown beside the line that he types, and answered behind
//! `/approvals`.

use std::collections::BTreeSet;
use std::time::Duration;

use metnos_proto::doc::card::{CardState, CardView};
use metnos_proto::edges::CtlPolicyd;
use metnos_proto::ids::TraceId;
use metnos_proto::link::BlockingClient;
use metnos_proto::msg::common::Lang;
use metnos_proto::msg::policyd::{Answer, Approvals, Decide};
use metnos_texts::{Key, card, say, tell};
use rustyline::ExternalPrinter;

use crate::approvals::approval;
use crate::daemons::connection::{Connection, opened};
use crate::error::CtlError;
use crate::instance::Instance;
use crate::screen::escape;
use crate::screen::{Ink, Screen};

/// How often policyd is asked what waits.
const LOOK_EVERY: Duration = Duration::from_secs(2);
/// The most cards that are remembered as shown.
const MAX_TOLD: usize = 1_024;

/// The cards that wait, as policyd lists them for the owner.
///
/// # Errors
/// When policyd cannot be reached, or who asks is not the owner.
pub(crate) fn cards(policyd: &mut BlockingClient<CtlPolicyd>) -> Result<Vec<CardView>, CtlError> {
    let cards = opened(policyd.approvals(TraceId::NONE, Approvals {}, [])?)?.0;
    Ok(cards.into_iter().filter(|card| card.state == CardState::Waiting).collect())
}

/// Whether somebody else asks for this.
pub(crate) fn is_others(card: &CardView) -> bool {
    card.others == Some(true)
}

/// Shows others' cards as they come, each once, until the process ends. Who is not the owner is shown nothing.
pub(crate) fn watch(instance: Instance, lang: Lang, mut printer: impl ExternalPrinter + Send + 'static) {
    let watching = std::thread::Builder::new().name("approvals".to_owned());
    let started = watching.spawn(move || {
        let mut told: BTreeSet<String> = BTreeSet::new();
        let mut policyd = None;
        loop {
            let found = match policyd.take() {
                Some(policyd) => Ok(policyd),
                None => Connection::to(&instance).and_then(|mut reach| reach.open::<CtlPolicyd>()),
            };
            let found = found.and_then(|mut client| Ok((cards(&mut client)?, client)));
            match found {
                Ok((waiting, client)) => {
                    policyd = Some(client);
                    for one in waiting.iter().filter(|card| is_others(card)) {
                        if told.len() < MAX_TOLD
                            && told.insert(one.digest.clone())
                            && printer.print(text(one, lang)).is_err()
                        {
                            return;
                        }
                    }
                }
                Err(CtlError::Refused(_)) => return,
                // policyd is there again in a moment.
                Err(_) => {}
            }
            std::thread::sleep(LOOK_EVERY);
        }
    });
    // Without it `/approvals` still shows what waits.
    drop(started);
}

/// A card as lines beside the prompt: nothing in it is taken by a terminal for an order.
fn text(shown: &CardView, lang: Lang) -> String {
    let face = card::face(Some(shown), &shown.id, lang);
    let mut lines = vec![format!("{}  {}", face.asks, escape::line(&face.id))];
    if face.parts.is_empty() {
        lines.push(format!("  {}", face.too_long));
    }
    lines.extend(face.parts.iter().map(|part| format!("  {}: {}", part.label, escape::line(&part.text))));
    lines.push(say(lang, Key::CardDecideHere));
    format!("{}\n", lines.join("\n"))
}

/// Asks the owner, who sits at a terminal, about one card of another principal's.
///
/// # Errors
/// When the output is gone.
pub(crate) fn decide(
    screen: &mut Screen,
    policyd: &mut BlockingClient<CtlPolicyd>,
    card: &CardView,
    typed: impl FnOnce(&str) -> Option<String>,
) -> Result<(), CtlError> {
    let id = card.id.clone();
    screen.flush()?;
    let answer = match typed(&say(screen.lang(), Key::CardYesOrNo)).map(|line| line.trim().to_lowercase()).as_deref() {
        Some("y" | "yes" | "s" | "sì" | "si") => Answer::Once,
        Some("n" | "no") => Answer::No,
        _ => return screen.aside(Ink::Dim, &tell(screen.lang(), Key::CardLater, &[("card", (&id).into())])),
    };
    let denied = matches!(answer, Answer::No);
    match policyd.decide_approval(TraceId::NONE, Decide { id, digest: card.digest.clone(), answer }, []) {
        Ok((answered, [results])) if !denied => approval::done(screen, card, &answered, &results).map(|_| ()),
        Ok(_) => {
            let values = [("by", "owner".into())];
            screen.aside(Ink::Plain, &tell(screen.lang(), Key::CardDenied, &values))
        }
        Err(error) => screen.error(&error.into()),
    }
}
