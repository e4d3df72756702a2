//! What a known client may do with its turns and cards, by a request or over a WebSocket.

pub(super) mod owners;
pub mod record;
pub mod stream;

use std::rc::Rc;

use hyper::StatusCode;
use metnos_proto::ids::TurnId;
use metnos_proto::msg::common::Refusal;
use metnos_proto::msg::door::AnswerHere;
use metnos_proto::msg::planner::TurnEnd;
use metnos_proto::msg::policyd;
use metnos_proto::payload::Sealed;

use crate::http::documents::problem::Problem;
use crate::http::documents::{CardShown, Cards, Choice, Forgotten, Settled, Stopped, WORDS};
use crate::http::turns::record::{ReadPosition, Record, TurnStanding};
use crate::http::turns::stream::{CountGuard, Subscription, Words};
use crate::http::{Caller, Http};
use crate::session::say::Taken;

/// Takes words and opens a turn; its record.
pub(in crate::http) async fn open(
    http: &Rc<Http>,
    caller: &Caller,
    words: &str,
) -> Result<(TurnId, Rc<Record>), Problem> {
    if words.trim().is_empty() {
        return Err(Problem::field("text", "empty", WORDS));
    }
    has_room(caller)?;
    let sealed = Sealed::new(words.as_bytes())
        .map_err(|error| Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "words.seal", error.to_string()))?;
    let record = Record::new(caller.digest.clone(), caller.voice.number, Rc::clone(&http.kept));
    let voice = caller.voice.with_sink(Rc::new(Rc::clone(&record)));
    match http.door.say(&voice, sealed).await? {
        Taken::Opened(turn) => {
            http.keep(turn, &record);
            Ok((turn, record))
        }
        Taken::Stranger(_) => Err(Problem::stranger()),
    }
}

/// Whether the client may open one more stream.
pub(in crate::http) fn has_room(caller: &Caller) -> Result<(), Problem> {
    let most = caller.most_streams.get();
    if caller.streams.get() < most {
        return Ok(());
    }
    let why = format!("{most} streams of this client are open already");
    Err(Problem::new(StatusCode::TOO_MANY_REQUESTS, "http.streams", why))
}

/// One more stream of the client, which follows this turn.
pub(in crate::http) fn listening(caller: &Caller, turn: TurnId, heard: ReadPosition, words: Words) -> Subscription {
    let gone = caller.gone.borrow().subscribe();
    let streams = CountGuard::new(&caller.streams);
    Subscription { turn, principal: caller.principal.clone(), heard, words, gone, streams }
}

/// What was kept of a turn of this client, also when another door had opened it.
pub(in crate::http) async fn found(http: &Rc<Http>, turn: TurnId, caller: &Rc<Caller>) -> Option<Rc<Record>> {
    if let Some(record) = http.record(turn, caller) {
        return Some(record);
    }
    http.door.has_found().await;
    http.record(turn, caller)
}

/// How far a client says that it has heard, in this field.
pub(in crate::http) fn read_position(field: &str, id: &str) -> Result<ReadPosition, Problem> {
    let expected = "the id of an event of this turn, such as 12.345";
    ReadPosition::parse(id).ok_or_else(|| Problem::field(field, "something else", expected))
}

/// What was kept of a turn for a client that comes back to it; `None` when it has heard all of it.
pub(in crate::http) async fn resume_stream(
    http: &Rc<Http>,
    caller: &Rc<Caller>,
    turn: TurnId,
    heard: ReadPosition,
) -> Result<Option<Option<Rc<Record>>>, Problem> {
    has_room(caller)?;
    let record = found(http, turn, caller).await;
    let is_told = match &record {
        Some(record) => matches!(record.stand(), TurnStanding::Done(_)) && !record.is_torn() && !record.has_more(heard),
        None => {
            // Asked here, so that a turn that there is not is one at once.
            let (end, text) = journalled(http, turn, &caller.principal).await?;
            end.is_some() && heard.event > 1 && heard.said >= text.len()
        }
    };
    Ok((!is_told).then_some(record))
}

/// What the journal has of a turn of this principal.
pub(in crate::http) async fn journalled(
    http: &Http,
    turn: TurnId,
    principal: &str,
) -> Result<(Option<TurnEnd>, String), Refusal> {
    http.door.answer_of(turn, principal).await
}

/// Stops a turn of this client.
pub(in crate::http) async fn stop(http: &Rc<Http>, caller: &Rc<Caller>, turn: TurnId) -> Result<Stopped, Problem> {
    let number = found(http, turn, caller).await.map_or(caller.voice.number, |record| record.number);
    let stopped = http.door.stop(number, turn).await?;
    Ok(Stopped { turn: turn.to_string(), was_open: stopped.was_open })
}

/// Has the words of a turn of this client forgotten, here as well.
pub(in crate::http) async fn forget(http: &Rc<Http>, caller: &Rc<Caller>, turn: TurnId) -> Result<Forgotten, Problem> {
    let forgotten = http.door.forget_turn(&caller.voice.speaker, turn).await?;
    http.drop_record(turn, caller);
    Ok(Forgotten { turn: turn.to_string(), lines: forgotten.lines })
}

/// The cards of this client that wait.
pub(in crate::http) async fn cards(http: &Rc<Http>, caller: &Rc<Caller>) -> Result<Cards, Problem> {
    let cards = http.door.cards_of(&caller.voice.speaker).await?;
    Ok(Cards { cards: cards.iter().map(CardShown::of).collect() })
}

/// Hands on what this client says to a card.
pub(in crate::http) async fn settle(
    http: &Rc<Http>,
    caller: &Rc<Caller>,
    id: String,
    digest: String,
    choice: Choice,
    code: String,
) -> Result<Settled, Problem> {
    let answer = match choice {
        Choice::Once => policyd::Answer::Once,
        Choice::Turn => policyd::Answer::Turn,
        Choice::No => policyd::Answer::No,
    };
    let ask = AnswerHere { id: id.clone(), digest, answer, code };
    let (answered, [_results]) = http.door.answer(&caller.voice.speaker, ask).await?;
    Ok(Settled { card: id, state: answered.state, runs: answered.runs.len() })
}
