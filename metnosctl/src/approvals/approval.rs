//! `approval`: the cards that wait, and the owner's word on them. It shows what policyd says the
//! card is about, and sends back the digest of exactly what it has shown.

use metnos_proto::doc::card::{CardState, CardView, HabitOffer};
use metnos_proto::doc::grant::Target;
use metnos_proto::edges::CtlPolicyd;
use metnos_proto::ids::TraceId;
use metnos_proto::link::BlockingClient;
use metnos_proto::masks::masked;
use metnos_proto::msg::common::Outcome;
use metnos_proto::msg::policyd::{Acted, Answer, Answered, Approvals, CallRun, Decide, ShowApproval};
use metnos_proto::payload::Sealed;
use metnos_texts::{Key, card, say, tell};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use unicode_width::UnicodeWidthStr;

use crate::command_line::cli::ApprovalCommand;
use crate::daemons::connection::{Connection, document, opened};
use crate::error::{CtlError, Exit};
use crate::instance::Instance;
use crate::screen::escape;
use crate::screen::human;
use crate::screen::table::{Table, cell, inked, wrapped};
use crate::screen::{Ink, Screen};
use crate::turns::run;

/// Does what the command says.
///
/// # Errors
/// When policyd refuses or cannot be reached.
pub fn approval(screen: &mut Screen, instance: &Instance, command: &ApprovalCommand) -> Result<Exit, CtlError> {
    let mut policyd = Connection::to(instance)?.open::<CtlPolicyd>()?;
    match command {
        ApprovalCommand::List => {
            let cards = opened(policyd.approvals(TraceId::NONE, Approvals {}, [])?)?;
            if screen.json() {
                screen.masked(&cards)?;
                return Ok(Exit::Done);
            }
            list_cards(screen, &cards.0)
        }
        ApprovalCommand::Show { id } => {
            let card = fetch(&mut policyd, id)?;
            if screen.json() {
                screen.masked(&card)?;
            } else {
                show(screen, &card)?;
            }
            Ok(Exit::Done)
        }
        ApprovalCommand::Approve { id, digest, turn, always } => {
            let card = fetch(&mut policyd, id)?;
            if !screen.json() {
                show(screen, &card)?;
            }
            let answer = match (turn, always) {
                (true, _) => Answer::Turn,
                (false, Some(days)) => Answer::Always(*days),
                (false, None) => Answer::Once,
            };
            let digest = digest.clone().unwrap_or_else(|| card.digest.clone());
            let (answered, [results]) =
                policyd.decide_approval(TraceId::NONE, Decide { id: id.clone(), digest, answer }, [])?;
            done(screen, &card, &answered, &results)
        }
        ApprovalCommand::Deny { id, never } => {
            let card = fetch(&mut policyd, id)?;
            let answer = if *never { Answer::Never } else { Answer::No };
            policyd.decide_approval(TraceId::NONE, Decide { id: id.clone(), digest: card.digest, answer }, [])?;
            if screen.json() {
                screen.document(&CardDenied { ok: true, id: id.clone(), state: CardState::Denied })?;
            } else {
                screen.line(&format!("{id} is denied; nothing was done."))?;
            }
            Ok(Exit::Done)
        }
    }
}

/// Shows what became of an approved card: each act that ran, as `run` shows it.
///
/// # Errors
/// When a result cannot be read, or the output is gone.
pub(crate) fn done(
    screen: &mut Screen,
    card: &CardView,
    answered: &Answered,
    results: &Sealed,
) -> Result<Exit, CtlError> {
    if answered.state == "denied" && !screen.json() {
        screen.line(&say(card.lang.into(), Key::CardDeclined))?;
        return Ok(Exit::Done);
    }
    if card.offer.is_some() && !screen.json() {
        screen.line(&card::settled(card.lang.into(), &answered.state, "", 0))?;
        return Ok(Exit::Done);
    }
    let results = document(results)?;
    let acts = &card.acts;
    let before = usize::try_from(card.begun).unwrap_or(usize::MAX);
    let names = acts.iter().skip(before).map(|act| &act.executor);
    if screen.json() && acts.len() != 1 {
        return all_done(screen, card, answered, &results);
    }
    let mut exit = Exit::Done;
    for ((answer, name), at) in answered.runs.iter().zip(names).zip(0..) {
        let result = serde_json::to_vec(&results[at]).unwrap_or_default();
        let ended = run::show(screen, name, answer, &result)?;
        exit = if exit == Exit::Done { ended } else { exit };
    }
    let left = acts.len().saturating_sub(before).saturating_sub(answered.runs.len());
    if left > 0 {
        let id = &card.id;
        screen.aside(
            Ink::Warn,
            &format!("{left} more on this card were not begun; `metnosctl approval approve {id}` goes on"),
        )?;
        exit = Exit::Failed;
    }
    Ok(exit)
}

fn all_done(screen: &mut Screen, card: &CardView, answered: &Answered, results: &Value) -> Result<Exit, CtlError> {
    let runs: Vec<CardRun> = answered.runs.iter().zip(0..).map(|(run, at)| CardRun::of(run, &results[at])).collect();
    let begun = usize::try_from(card.begun).unwrap_or(usize::MAX);
    let ok = runs.iter().all(|run| run.ok) && begun.saturating_add(runs.len()) == card.acts.len();
    screen.document(&CardRuns { ok, id: card.id.clone(), state: answered.state.clone(), runs })?;
    Ok(if ok { Exit::Done } else { Exit::Failed })
}

/// What became of an approved card: of one act as `run` shows it, of more each in a list.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum Approved {
    /// One act.
    One(Box<run::RunReport>),
    /// More acts.
    More(CardRuns),
}

/// What became of the acts of an approved card.
#[derive(Debug, Serialize, JsonSchema)]
pub struct CardRuns {
    /// Whether all of them did what was asked.
    ok: bool,
    /// The card.
    id: String,
    /// How it stands.
    state: String,
    /// Those that were begun now.
    runs: Vec<CardRun>,
}

/// What became of one act of a card.
#[derive(Debug, Serialize, JsonSchema)]
pub struct CardRun {
    /// Its turn.
    turn: String,
    /// Its name; null when it did not run.
    call: Option<String>,
    /// How it ended.
    outcome: String,
    /// Whether it did what was asked.
    ok: bool,
    /// What the executor returned.
    result: Value,
    /// The rule that denied it; empty when it ran.
    rule: String,
    /// Why it was denied; empty when it ran.
    why: String,
}

impl CardRun {
    fn of(run: &CallRun, result: &Value) -> Self {
        let turn = run.turn.to_string();
        match &run.acted {
            Acted::Ran(ran) => Self {
                turn,
                call: Some(ran.call.to_string()),
                outcome: ran.outcome.name().to_owned(),
                ok: ran.outcome == Outcome::Ok,
                result: result.clone(),
                rule: String::new(),
                why: String::new(),
            },
            Acted::Denied(refusal) => Self {
                turn,
                call: None,
                outcome: "denied".to_owned(),
                ok: false,
                result: Value::Null,
                rule: refusal.rule.clone(),
                why: refusal.why.clone(),
            },
        }
    }
}

/// A card was denied.
#[derive(Debug, Serialize, JsonSchema)]
pub struct CardDenied {
    /// It was.
    ok: bool,
    /// The card.
    id: String,
    /// How it stands.
    state: CardState,
}

fn fetch(policyd: &mut BlockingClient<CtlPolicyd>, id: &str) -> Result<CardView, CtlError> {
    opened(policyd.show_approval(TraceId::NONE, ShowApproval { id: id.to_owned() }, [])?)
}

fn list_cards(screen: &mut Screen, cards: &[CardView]) -> Result<Exit, CtlError> {
    if cards.is_empty() {
        screen.line("No card waits, and none was answered lately.")?;
        return Ok(Exit::Done);
    }
    let mut table = Table::new(&["CARD", "STATE", "WOULD DO", "FOR", "WHY"]);
    for card in cards {
        let ink = match card.state {
            CardState::Waiting => Ink::Warn,
            CardState::Approved | CardState::Denied | CardState::Expired => Ink::Dim,
        };
        let more = if card.acts.len() > 1 { format!(", and {} more", card.acts.len() - 1) } else { String::new() };
        let offered = |offer: &HabitOffer| {
            (format!("{} {}", offer.when, human::both_ends(&offer.what, 50)), format!("asked on {} days", offer.days))
        };
        let offered = card.offer.as_ref().map(offered).unwrap_or_default();
        let (does, why) = card.acts.first().map_or(offered, |act| {
            let arguments = human::both_ends(&masked(&act.arguments.to_string()), 50);
            (format!("{} {arguments}{more}", act.executor), human::shortened(&act.why, 60))
        });
        table.row(vec![cell(&card.id), inked(card.state.name(), ink), cell(does), cell(&card.principal), cell(why)]);
    }
    table.show(screen, 0)?;
    Ok(Exit::Done)
}

/// Seconds of a day.
const DAY_S: u64 = 86_400;

/// The card as it is shown on every channel, and behind it what only a person at the machine asks for: together, everything
/// that the card's digest covers.
///
/// # Errors
/// When the output is gone.
pub(crate) fn show(screen: &mut Screen, card: &CardView) -> Result<(), CtlError> {
    show_face(screen, Some(card), &card.id)?;
    for act in &card.acts {
        let always: Vec<String> = act.always.iter().flatten().map(target).collect();
        if !always.is_empty() {
            screen.line(&format!("  always: {} with {}", act.executor, escape::line(&always.join(", "))))?;
        }
        let signed = Value::from(act.signed.clone());
        screen.line(&format!("  rule {}, signed {signed}", escape::line(&act.rule)))?;
    }
    let left = card.expires_ms.saturating_sub(human::now_ms()) / 1_000;
    let left = if left < 2 * DAY_S { format!("{left} s") } else { format!("{} days", left / DAY_S) };
    screen.line(&format!("  turn {}; it can be answered for {left} more", card.turn))?;
    screen.line(&format!("  digest {}", card.digest))
}

/// The card as it is shown on every channel.
///
/// # Errors
/// When the output is gone.
pub(crate) fn show_face(screen: &mut Screen, shown: Option<&CardView>, id: &str) -> Result<(), CtlError> {
    let lang = card::lang(shown);
    let face = card::face(shown, id, lang);
    let colour = screen.colour();
    let state = if face.state.is_empty() { String::new() } else { format!(" ({})", face.state) };
    screen.line(&format!("{}  {}{state}", Ink::Bold.on(&face.asks, colour), escape::line(&face.id)))?;
    if face.parts.is_empty() {
        return screen.line(&format!("  {}", face.too_long));
    }
    let wide = face.parts.iter().map(|part| part.label.width()).max().unwrap_or(0);
    let room = screen.width().map_or(usize::MAX, |width| width.saturating_sub(wide + 4));
    let mut act = 0;
    for part in &face.parts {
        if part.act != act && face.acts > 1 && part.act != 0 {
            let (number, total) = (part.act as u64, face.acts as u64);
            let of = tell(lang, Key::CardOneOf, &[("number", number.into()), ("total", total.into())]);
            screen.line(&format!("  {}", Ink::Dim.on(&of, colour)))?;
        }
        act = part.act;
        let blanks = wide - part.label.width();
        let mut label = format!("  {}{:blanks$}  ", Ink::Dim.on(&part.label, colour), "");
        for line in wrapped(&escape::line(&part.text), room) {
            screen.line(&format!("{label}{line}"))?;
            label = format!("{:1$}", "", wide + 4);
        }
    }
    Ok(())
}

/// One argument of a stored word, in words.
pub(crate) fn target(target: &Target) -> String {
    match target {
        Target::Within(one) => format!("{} inside {}", one.pointer.trim_start_matches('/'), one.within),
        Target::Is(one) => masked(&format!("{} = {}", one.pointer.trim_start_matches('/'), one.is)),
    }
}
