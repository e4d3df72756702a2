//! What others ask for and the owner decides, at his open chat: told beside the line that he types, and answered behind
//! `/approvals`.

use std::collections::BTreeSet;
use std::time::Duration;

use metnos_proto::edges::CtlPolicyd;
use metnos_proto::ids::TraceId;
use metnos_proto::link::BlockingClient;
use metnos_proto::msg::common::Lang;
use metnos_proto::msg::policyd::{Answer, Approvals, Decide};
use metnos_texts::{Key, card, say, tell};
use rustyline::ExternalPrinter;
use serde_json::Value;

use crate::approvals::approval;
use crate::daemons::connection::Connection;
use crate::error::CtlError;
use crate::instance::Instance;
use crate::screen::escape;
use crate::screen::{Ink, Screen};

/// How often policyd is asked what waits.
const LOOK_EVERY: Duration = Duration::from_secs(2);
/// The most cards that are remembered as told.
const MAX_TOLD: usize = 1_024;

/// The cards that wait, as policyd lists them for the owner.
///
/// # Errors
/// When policyd cannot be reached, or who asks is not the owner.
pub(crate) fn cards(policyd: &mut BlockingClient<CtlPolicyd>) -> Result<Vec<Value>, CtlError> {
    let (_, [cards]) = policyd.approvals(TraceId::NONE, Approvals {}, [])?;
    let cards = match approval::document(&cards)? {
        Value::Array(cards) => cards,
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_) => Vec::new(),
    };
    Ok(cards.into_iter().filter(|card| card["state"] == "waiting").collect())
}

/// Whether someone else asks for this.
pub(crate) fn is_others(card: &Value) -> bool {
    card["others"] == true
}

/// Tells of others' cards as they come, each once, until the process ends. Who is not the owner is told nothing.
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
                        let digest = one["digest"].as_str().unwrap_or_default().to_owned();
                        if told.len() < MAX_TOLD && told.insert(digest) && printer.print(text(one, lang)).is_err() {
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
fn text(shown: &Value, lang: Lang) -> String {
    let face = card::face(shown, shown["id"].as_str().unwrap_or_default(), lang);
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
    card: &Value,
    typed: impl FnOnce(&str) -> Option<String>,
) -> Result<(), CtlError> {
    let id = card["id"].as_str().unwrap_or_default().to_owned();
    screen.flush()?;
    let answer = match typed(&say(screen.lang(), Key::CardYesOrNo)).map(|line| line.trim().to_lowercase()).as_deref() {
        Some("y" | "yes" | "s" | "sì" | "si") => Answer::Once,
        Some("n" | "no") => Answer::No,
        _ => return screen.aside(Ink::Dim, &tell(screen.lang(), Key::CardLater, &[("card", (&id).into())])),
    };
    let denied = matches!(answer, Answer::No);
    let digest = card["digest"].as_str().unwrap_or_default().to_owned();
    match policyd.decide_approval(TraceId::NONE, Decide { id, digest, answer }, []) {
        Ok((answered, [results])) if !denied => approval::done(screen, card, &answered, &results).map(|_| ()),
        Ok(_) => {
            let values = [("by", "owner".into())];
            screen.aside(Ink::Plain, &tell(screen.lang(), Key::CardDenied, &values))
        }
        Err(error) => screen.error(&error.into()),
    }
}
