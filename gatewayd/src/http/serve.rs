//! One request: who may ask at all, what is asked, who asks it, and then the same path as every other channel. Whatever
//! does not fit is answered with the part that does not.

use std::rc::Rc;

use hyper::body::Incoming;
use hyper::header::{
    ACCEPT, ALLOW, CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderName, HeaderValue, LOCATION,
    REFERRER_POLICY, RETRY_AFTER, SET_COOKIE, WWW_AUTHENTICATE, X_CONTENT_TYPE_OPTIONS,
};
use hyper::http::request::Parts;
use hyper::{Request, Response, StatusCode};
use metnos_proto::ids::TurnId;
use metnos_proto::msg::common::{Channel, Refusal, Standing};
use metnos_proto::msg::door::AnswerHere;
use metnos_proto::msg::people::Paired;
use metnos_proto::msg::planner::TurnEnd;
use metnos_proto::msg::policyd::{Answer, Identified};
use metnos_proto::payload::Sealed;
use serde_json::{Map, Value, json};

use super::body::{Fields, discard, object};
use super::bounds::{MAX_STREAMS_OF_GUEST, MAX_STREAMS_OF_ONE};
use super::guard::{Shown, Token};
use super::problem::Problem;
use super::record::{Heard, Record, Stand};
use super::route::{self, Lost, Route};
use super::stream::{Counted, Listening, Out, Words, document, follow, of_turn};
use super::{Caller, Http, Unheard, chat, describe};
use crate::session::say::{Taken, has_the_form_of_a_code};
use crate::session::voice::Speaker;

/// Where a client that comes back says how far it has heard.
const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");
/// What no other site may do with an answer.
const RESOURCE_POLICY: HeaderName = HeaderName::from_static("cross-origin-resource-policy");
pub(super) const JSON: &str = "application/json";
const EVENTS: &str = "text/event-stream";

type Answered = Result<Response<Out>, Problem>;

/// Answers one request, whatever it is.
pub async fn serve(http: Rc<Http>, request: Request<Incoming>, unheard: Rc<Unheard>) -> Response<Out> {
    let (head, mut body) = request.into_parts();
    let mut response = match answer(&http, &head, &mut body, &unheard).await {
        Ok(response) => response,
        Err(problem) => {
            discard(&mut body).await;
            refused(&problem, head.uri.path())
        }
    };
    *http.answered.borrow_mut().entry(response.status().as_u16()).or_default() += 1;
    let headers = response.headers_mut();
    // There is no page among the answers: nothing in one may be executed, embedded, kept or read by another site.
    for (name, value) in [
        (CONTENT_SECURITY_POLICY, "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (REFERRER_POLICY, "no-referrer"),
        (CACHE_CONTROL, "no-store"),
        (RESOURCE_POLICY, "same-origin"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    response
}

fn refused(problem: &Problem, path: &str) -> Response<Out> {
    let is_chat = path == "/v1/chat/completions" || path == "/v1/models";
    let (kind, value) =
        if is_chat { (JSON, chat::problem(problem)) } else { ("application/problem+json", problem.document()) };
    let mut response = of(problem.status, kind, document(&value));
    let headers = response.headers_mut();
    if problem.status == StatusCode::UNAUTHORIZED {
        headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer realm=\"metnos\""));
    }
    if let Some(seconds) = problem.again_s {
        headers.insert(RETRY_AFTER, HeaderValue::from(seconds));
    }
    if let Some(allow) = problem.allow {
        headers.insert(ALLOW, HeaderValue::from_static(allow));
    }
    response
}

fn of(status: StatusCode, kind: &'static str, out: Out) -> Response<Out> {
    let mut response = Response::new(out);
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    response
}

fn ok(value: &Value) -> Answered {
    Ok(of(StatusCode::OK, JSON, document(value)))
}

async fn answer(http: &Rc<Http>, head: &Parts, body: &mut Incoming, unheard: &Unheard) -> Answered {
    http.names.host(&head.uri, &head.headers)?;
    let from_page = http.names.origin(&head.headers)?;
    if let Some(query) = head.uri.query() {
        return Err(Problem::field("the query", query, "none: everything stands in the path or the body"));
    }
    let route = route::find(&head.method, head.uri.path()).map_err(lost)?;
    match route {
        Route::Health => return Ok(of(StatusCode::OK, "text/plain; charset=utf-8", Out::whole("ok\n"))),
        Route::Metrics => return Ok(of(StatusCode::OK, describe::METRICS, Out::whole(describe::metrics(http)))),
        Route::OpenApi => return ok(&describe::openapi()),
        Route::Pair => {
            let body = object(head, body).await?;
            return pair(http, from_page, &body).await;
        }
        Route::Status
        | Route::Say
        | Route::Turn(_)
        | Route::Stop(_)
        | Route::Cards
        | Route::Answer(_)
        | Route::Models
        | Route::Chat => {}
    }
    let (caller, who) = known(http, head, from_page).await?;
    unheard.is_heard();
    match route {
        Route::Health | Route::Metrics | Route::OpenApi | Route::Pair => Err(Problem::nothing_here()),
        Route::Status => ok(&status(http, &who)),
        Route::Say => {
            let body = object(head, body).await?;
            say(http, head, &caller, &body).await
        }
        Route::Turn(turn) => show(http, head, &caller, turn).await,
        Route::Stop(turn) => stop(http, &caller, turn).await,
        Route::Cards => ok(&json!({"cards": http.door.cards_of(&caller.voice.speaker).await?})),
        Route::Answer(card) => {
            let body = object(head, body).await?;
            settle(http, &caller, card, &body).await
        }
        Route::Models => ok(&chat::models()),
        Route::Chat => {
            let body = object(head, body).await?;
            complete(http, &caller, &body).await
        }
    }
}

fn lost(lost: Lost) -> Problem {
    match lost {
        Lost::Path => Problem::nothing_here(),
        Lost::Method(allow) => {
            let why = format!("this address knows only {allow}");
            let problem = Problem::new(StatusCode::METHOD_NOT_ALLOWED, "http.method", why);
            Problem { allow: Some(allow), ..problem }
        }
    }
}

/// Who asks: policyd says so, each time.
async fn known(http: &Http, head: &Parts, from_page: bool) -> Result<(Rc<Caller>, Identified), Problem> {
    let token = match http.names.shown(&head.method, &head.headers, from_page)? {
        Shown::Nothing => return Err(Problem::stranger()),
        Shown::Bearer(token) | Shown::Cookie(token) => token,
    };
    let digest = token.digest();
    // Before policyd is asked: whoever asks too often makes no work for it.
    let known = http.callers.borrow().get(&digest).cloned();
    match &known {
        Some(caller) => caller.bucket.take().map_err(|again| Problem::too_often("http.rate", again))?,
        None => http.unknown.take().map_err(|again| Problem::too_often("http.unknown", again))?,
    }
    let who = http.door.identify(&speaker(&digest)).await?;
    let most_streams = match who.standing {
        Standing::Owner => MAX_STREAMS_OF_ONE,
        Standing::Guest => MAX_STREAMS_OF_GUEST,
        Standing::Stranger => {
            http.forget(&who.principal);
            return Err(Problem::stranger());
        }
    };
    let full = || Problem::new(StatusCode::SERVICE_UNAVAILABLE, "http.callers", "too many clients are known here");
    let caller = http.caller(&digest, &who.principal).ok_or_else(full)?;
    caller.most_streams.set(most_streams);
    Ok((caller, who))
}

fn speaker(digest: &str) -> Speaker {
    Speaker { channel: Channel::Http, sender: digest.to_owned() }
}

async fn pair(http: &Rc<Http>, from_page: bool, body: &Map<String, Value>) -> Answered {
    let mut fields = Fields::of(body);
    let form = "a code such as K7-DELTA-19, from `metnosctl pairing invite http`";
    let (code, cookie) = (fields.text("code", form)?, fields.flag("cookie")?);
    fields.no_more()?;
    if !has_the_form_of_a_code(code) {
        return Err(Problem::field("code", "something else", form));
    }
    if cookie && !from_page {
        let why = "a cookie is given to a page of this door only";
        return Err(Problem::new(StatusCode::FORBIDDEN, "http.csrf", why));
    }
    http.pairings.take().map_err(|again| Problem::too_often("http.pairing", again))?;
    let mut random = [0; 32];
    getrandom::fill(&mut random)
        .map_err(|error| Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "http.random", error.to_string()))?;
    let token = Token::of(random);
    let speaker = speaker(&token.digest());
    match http.door.pair(&speaker, code).await? {
        Paired::Known => {}
        // Which of them it was nobody is told.
        Paired::Code(_) | Paired::Silence => {
            return Err(Problem::new(
                StatusCode::FORBIDDEN,
                "door.pairing",
                "no invitation that is open has this code",
            )
            .remedy("a code is good once, for ten minutes; `metnosctl pairing invite http` makes another"));
        }
    }
    let who = http.door.identify(&speaker).await?;
    let mut answer = json!({"principal": who.principal, "standing": standing(&who)});
    if !cookie {
        answer["token"] = json!(token.show());
    }
    let mut response = of(StatusCode::CREATED, JSON, document(&answer));
    if cookie && let Ok(value) = HeaderValue::try_from(http.names.set_cookie(&token)) {
        response.headers_mut().insert(SET_COOKIE, value);
    }
    Ok(response)
}

const fn standing(who: &Identified) -> &'static str {
    match who.standing {
        Standing::Owner => "owner",
        Standing::Guest => "guest",
        Standing::Stranger => "stranger",
    }
}

/// Who asks; how the door is, only the owner hears.
fn status(http: &Http, who: &Identified) -> Value {
    use metnos_proto::msg::common::{Lang, Level};
    let level = match who.level {
        Level::ReadOnly => "readonly",
        Level::Supervised => "supervised",
        Level::Full => "full",
    };
    let lang = match who.lang {
        Lang::En => "en",
        Lang::It => "it",
    };
    let mut status = json!({"principal": who.principal, "standing": standing(who), "level": level, "lang": lang});
    match who.standing {
        Standing::Owner => {
            let report = http.door.report();
            status["door"] = json!({
                "sessions": report.sessions, "turns": report.turns, "turns_total": report.turns_total,
                "models": report.models, "connections": http.connections.get(),
            });
        }
        Standing::Guest | Standing::Stranger => {}
    }
    status
}

/// Takes words and opens a turn; its record.
async fn open(http: &Rc<Http>, caller: &Caller, words: &str) -> Result<(TurnId, Rc<Record>), Problem> {
    let sealed = Sealed::new(words.as_bytes())
        .map_err(|error| Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "words.seal", error.to_string()))?;
    let record = Record::new(caller.digest.clone(), caller.voice.number, Rc::clone(&http.kept));
    let voice = caller.voice.with_ear(Rc::new(Rc::clone(&record)));
    match http.door.say(&voice, sealed).await? {
        Taken::Opened(turn) => {
            http.keep(turn, &record);
            Ok((turn, record))
        }
        Taken::Stranger(_) => Err(Problem::stranger()),
    }
}

async fn say(http: &Rc<Http>, head: &Parts, caller: &Rc<Caller>, body: &Map<String, Value>) -> Answered {
    let mut fields = Fields::of(body);
    let words = fields.text("text", "what you say, as a text")?;
    fields.no_more()?;
    if words.trim().is_empty() {
        return Err(Problem::field("text", "empty", "what you say, as a text"));
    }
    let wants_events = accepts(head, EVENTS) || !accepts(head, JSON);
    if wants_events {
        has_room(caller)?;
    }
    let (turn, record) = open(http, caller, words).await?;
    let mut response = if wants_events {
        let out = follow(http, Some(record), listening(caller, turn, Heard::default(), Words::Events));
        of(StatusCode::OK, EVENTS, out)
    } else {
        let value = json!({"turn": turn.to_string(), "state": "open"});
        of(StatusCode::ACCEPTED, JSON, document(&value))
    };
    if let Ok(place) = HeaderValue::try_from(format!("/v1/turns/{turn}")) {
        response.headers_mut().insert(LOCATION, place);
    }
    Ok(response)
}

fn accepts(head: &Parts, kind: &str) -> bool {
    let values = head.headers.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok());
    values.flat_map(|value| value.split(',')).any(|one| one.split(';').next().is_some_and(|one| one.trim() == kind))
}

fn has_room(caller: &Caller) -> Result<(), Problem> {
    let most = caller.most_streams.get();
    if caller.streams.get() < most {
        return Ok(());
    }
    let why = format!("{most} streams of this client are open already");
    Err(Problem::new(StatusCode::TOO_MANY_REQUESTS, "http.streams", why))
}

fn listening(caller: &Caller, turn: TurnId, heard: Heard, words: Words) -> Listening {
    let gone = caller.gone.borrow().subscribe();
    let streams = Counted::new(&caller.streams);
    Listening { turn, principal: caller.principal.clone(), heard, words, gone, streams }
}

async fn show(http: &Rc<Http>, head: &Parts, caller: &Rc<Caller>, turn: TurnId) -> Answered {
    let record = http.record(turn, caller);
    if !accepts(head, EVENTS) {
        return match &record {
            Some(record) if !record.is_torn() => ok(&of_turn(turn, &record.stand(), &record.text(), &record.why())),
            Some(_) | None => {
                let (end, text) = journalled(http, turn, &caller.principal).await?;
                ok(&of_turn(turn, &end.map_or(Stand::Open, Stand::Done), &text, ""))
            }
        };
    }
    let heard = match head.headers.get(LAST_EVENT_ID) {
        None => Heard::default(),
        Some(id) => id.to_str().ok().and_then(Heard::parse).ok_or_else(|| {
            Problem::field("Last-Event-ID", "something else", "the id of an event of this turn, such as 12.345")
        })?,
    };
    has_room(caller)?;
    let is_told = match &record {
        Some(record) => matches!(record.stand(), Stand::Done(_)) && !record.is_torn() && record.after(heard).is_none(),
        None => {
            // Asked here, so that a turn that there is not is one at once.
            let (end, text) = journalled(http, turn, &caller.principal).await?;
            end.is_some() && heard.event > 1 && heard.said >= text.len()
        }
    };
    if is_told {
        // What browsers take for: do not come back.
        return Ok(of(StatusCode::NO_CONTENT, EVENTS, Out::Whole(None)));
    }
    let out = follow(http, record, listening(caller, turn, heard, Words::Events));
    Ok(of(StatusCode::OK, EVENTS, out))
}

/// What the journal has of a turn of this principal.
pub async fn journalled(http: &Http, turn: TurnId, principal: &str) -> Result<(Option<TurnEnd>, String), Refusal> {
    http.door.answer_of(turn, principal).await
}

async fn stop(http: &Rc<Http>, caller: &Rc<Caller>, turn: TurnId) -> Answered {
    let number = http.record(turn, caller).map_or(caller.voice.number, |record| record.number);
    let stopped = http.door.stop(number, turn).await?;
    ok(&json!({"turn": turn.to_string(), "was_open": stopped.was_open}))
}

async fn settle(http: &Rc<Http>, caller: &Rc<Caller>, id: String, body: &Map<String, Value>) -> Answered {
    let mut fields = Fields::of(body);
    let expected = "once, turn or no: what lasts longer is said at the machine";
    let digest = fields.text("digest", "the digest that the card was shown with")?.to_owned();
    let answer = match fields.text("answer", expected)? {
        "once" => Answer::Once,
        "turn" => Answer::Turn,
        "no" => Answer::No,
        other => return Err(Problem::field("answer", other, expected)),
    };
    let code = fields.maybe_text("code", "a one-time code")?.unwrap_or_default().to_owned();
    fields.no_more()?;
    let ask = AnswerHere { id: id.clone(), digest, answer, code };
    let (answered, [_results]) = http.door.answer(&caller.voice.speaker, ask).await?;
    ok(&json!({"card": id, "state": answered.state, "runs": answered.runs.len()}))
}

async fn complete(http: &Rc<Http>, caller: &Rc<Caller>, body: &Map<String, Value>) -> Answered {
    let asked = chat::read(body)?;
    has_room(caller)?;
    let (turn, record) = open(http, caller, &asked.words).await?;
    let id = chat::name(&turn.to_string());
    if asked.stream {
        let out = follow(http, Some(record), listening(caller, turn, Heard::default(), Words::Chunks(id)));
        return Ok(of(StatusCode::OK, EVENTS, out));
    }
    let listening = listening(caller, turn, Heard::default(), Words::Chunks(id.clone()));
    let mut gone = listening.gone.clone();
    let mut changes = record.changes();
    let ended = async {
        loop {
            changes.mark_unchanged();
            match record.stand() {
                Stand::Done(_) | Stand::Suspended => return,
                Stand::Open => {}
            }
            if changes.changed().await.is_err() {
                return;
            }
        }
    };
    tokio::select! {
        biased;
        _ = gone.wait_for(|gone| *gone) => return Err(Problem::stranger()),
        () = ended => {}
    }
    drop(listening);
    let text = if record.is_torn() {
        journalled(http, turn, &caller.principal).await?.1
    } else {
        chat::ended(&record.text(), &record.why())
    };
    ok(&chat::completion(&id, &text))
}
