//! One request: who may ask at all, what is asked, who asks it, and then the same path as every other channel. Whatever
//! does not fit is answered with the part that does not.

use std::rc::Rc;

use hyper::body::Incoming;
use hyper::header::{
    ACCEPT, ACCEPT_LANGUAGE, ALLOW, CACHE_CONTROL, CONTENT_LANGUAGE, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderMap,
    HeaderName, HeaderValue, LOCATION, REFERRER_POLICY, RETRY_AFTER, SEC_WEBSOCKET_VERSION, SET_COOKIE, UPGRADE,
    WWW_AUTHENTICATE, X_CONTENT_TYPE_OPTIONS,
};
use hyper::http::request::Parts;
use hyper::upgrade::OnUpgrade;
use hyper::{Method, Request, Response, StatusCode};
use metnos_proto::ids::TurnId;
use metnos_proto::msg::common::{Channel, Lang, Standing};
use metnos_proto::msg::people;
use metnos_proto::msg::policyd::Identified;
use serde::Serialize;
use serde_json::{Map, Value};

use super::{Caller, Http, Unauthenticated, chat, views, ws};
use crate::http::documents::describe;
use crate::http::documents::media::{EVENTS, JSON, PROBLEM};
use crate::http::documents::problem::Problem;
use crate::http::documents::{Answer, DoorNumbers, Pair, Paired, Say, State, Status, Turn};
use crate::http::limits::bounds::{MAX_STREAMS_OF_GUEST, MAX_STREAMS_OF_ONE};
use crate::http::limits::rate::Source;
use crate::http::request::body::{discard, object, read};
use crate::http::request::guard::{Credentials, Token};
use crate::http::request::route::{self, NoRoute, Route};
use crate::http::turns::record::{ReadPosition, TurnStanding};
use crate::http::turns::stream::{Out, Words, document, follow, of_turn};
use crate::http::turns::{
    cards, forget, found, has_room, journalled, listening, open, read_position, resume_stream, settle, stop,
};
use crate::session::say::has_the_form_of_a_code;
use crate::session::speaker::Speaker;

/// Where a client that comes back says how far it has heard.
const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");
/// What no other site may do with an answer.
const RESOURCE_POLICY: HeaderName = HeaderName::from_static("cross-origin-resource-policy");

type Answered = Result<Response<Out>, Problem>;

/// Answers one request, whatever it is.
pub async fn serve(http: Rc<Http>, mut request: Request<Incoming>, unheard: Rc<Unauthenticated>) -> Response<Out> {
    let upgrade = hyper::upgrade::on(&mut request);
    let (head, mut body) = request.into_parts();
    let mut response = match answer(&http, &head, &mut body, (&unheard, upgrade)).await {
        Ok(response) => response,
        Err(problem) => {
            discard(&mut body).await;
            let lang = spoken(&head.headers).unwrap_or(Lang::En);
            refused(&problem.said_in(lang), lang, head.uri.path())
        }
    };
    *http.numbers.answered.borrow_mut().entry(response.status().as_u16()).or_default() += 1;
    let headers = response.headers_mut();
    for (name, value) in
        [(X_CONTENT_TYPE_OPTIONS, "nosniff"), (REFERRER_POLICY, "no-referrer"), (RESOURCE_POLICY, "same-origin")]
    {
        headers.insert(name, HeaderValue::from_static(value));
    }
    // But for the page's own files, nothing in an answer may be executed, embedded or kept.
    for (name, value) in [
        (CONTENT_SECURITY_POLICY, "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"),
        (CACHE_CONTROL, "no-store"),
    ] {
        headers.entry(name).or_insert(HeaderValue::from_static(value));
    }
    response
}

/// The language that a client asks for.
fn spoken(headers: &HeaderMap) -> Option<Lang> {
    headers.get(ACCEPT_LANGUAGE).and_then(|tags| metnos_texts::of_tag(tags.to_str().ok()?))
}

fn refused(problem: &Problem, lang: Lang, path: &str) -> Response<Out> {
    let is_chat = path == "/v1/chat/completions" || path == "/v1/models";
    let mut response = if is_chat {
        of(problem.status, JSON, document(&chat::problem(problem)))
    } else {
        of(problem.status, PROBLEM, document(&problem.document()))
    };
    let headers = response.headers_mut();
    headers.insert(CONTENT_LANGUAGE, HeaderValue::from_static(if lang == Lang::It { "it" } else { "en" }));
    if problem.status == StatusCode::UNAUTHORIZED {
        headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer realm=\"metnos\""));
    }
    if let Some(seconds) = problem.again_s {
        headers.insert(RETRY_AFTER, HeaderValue::from(seconds));
    }
    if problem.status == StatusCode::UPGRADE_REQUIRED {
        headers.insert(UPGRADE, HeaderValue::from_static("websocket"));
        headers.insert(SEC_WEBSOCKET_VERSION, HeaderValue::from_static("13"));
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

fn ok(answer: &impl Serialize) -> Answered {
    Ok(of(StatusCode::OK, JSON, document(answer)))
}

async fn answer(
    http: &Rc<Http>,
    head: &Parts,
    body: &mut Incoming,
    (unheard, upgrade): (&Unauthenticated, OnUpgrade),
) -> Answered {
    http.names.host(&head.uri, &head.headers)?;
    let route = route::find(&head.method, head.uri.path()).map_err(lost);
    // The page is the same for everybody and is shown in no frame, so that a link to it may stand anywhere.
    if let Ok(Route::Page(file)) = &route
        && head.uri.query().is_none()
    {
        return Ok(file.response(&head.headers));
    }
    let from_page = http.names.origin(&head.headers)?;
    let route = route?;
    let query = head.uri.query();
    if let (Some(query), false) = (query, route.takes_a_page()) {
        return Err(Problem::field("the query", query, "none: everything stands in the path or the body"));
    }
    match &route {
        Route::Health => return Ok(of(StatusCode::OK, "text/plain; charset=utf-8", Out::whole("ok\n"))),
        Route::Metrics => return Ok(of(StatusCode::OK, describe::METRICS, Out::whole(describe::metrics(http)))),
        Route::OpenApi => return ok(&describe::openapi()),
        Route::Pair => {
            let source = head.extensions.get::<Source>().copied().flatten();
            return pair(http, (from_page, source), read(&object(head, body).await?)?).await;
        }
        Route::Hook(name) => {
            let taken = views::hook(http, head, body, name, unheard).await?;
            return Ok(of(StatusCode::ACCEPTED, JSON, document(&taken)));
        }
        Route::Page(_)
        | Route::Status
        | Route::Leave
        | Route::Turns
        | Route::Memory
        | Route::Executors
        | Route::Mnests
        | Route::Audit
        | Route::Schedules
        | Route::Cancel(_)
        | Route::Say
        | Route::Turn(_)
        | Route::Stop(_)
        | Route::Forget(_)
        | Route::Cards
        | Route::Answer(_)
        | Route::Socket
        | Route::Models
        | Route::Chat => {}
    }
    let (caller, who) = known(http, head, from_page).await?;
    unheard.is_authenticated();
    match route {
        Route::Health | Route::Metrics | Route::OpenApi | Route::Page(_) | Route::Pair | Route::Hook(_) => {
            Err(Problem::nothing_here())
        }
        Route::Status => ok(&status(http, &who)),
        Route::Leave => Ok(leave(http)),
        Route::Executors => ok(&views::executors(http, &caller, views::page(query)?).await?),
        Route::Mnests => ok(&views::mnests(http, &caller, views::page(query)?).await?),
        Route::Audit => ok(&views::audit(http, &caller, views::page(query)?).await?),
        Route::Turns => ok(&views::turns(http, &caller, views::page(query)?).await?),
        Route::Memory => ok(&views::memory(http, &caller, query).await?),
        Route::Schedules => ok(&views::schedules(http, &caller, views::page(query)?).await?),
        Route::Cancel(number) => ok(&views::cancel(http, &caller, number).await?),
        Route::Say => say(http, head, &caller, read(&object(head, body).await?)?).await,
        Route::Turn(turn) => show(http, head, &caller, turn).await,
        Route::Forget(turn) => ok(&forget(http, &caller, turn).await?),
        Route::Stop(turn) => ok(&stop(http, &caller, turn).await?),
        Route::Cards => ok(&cards(http, &caller).await?),
        Route::Answer(card) => {
            let Answer { digest, answer, code } = read(&object(head, body).await?)?;
            ok(&settle(http, &caller, card, digest, answer, code).await?)
        }
        Route::Socket => {
            let accept = ws::asks(head.version, &head.headers)?;
            has_room(&caller)?;
            Ok(ws::open(http, &caller, accept, upgrade))
        }
        Route::Models => ok(&chat::models()),
        Route::Chat => {
            let body = object(head, body).await?;
            complete(http, &caller, &body).await
        }
    }
}

fn lost(lost: NoRoute) -> Problem {
    match lost {
        NoRoute::Path => Problem::nothing_here(),
        NoRoute::Method(allow) => {
            let why = format!("this address knows only {allow}");
            let problem = Problem::new(StatusCode::METHOD_NOT_ALLOWED, "http.method", why);
            Problem { allow: Some(allow), ..problem }
        }
    }
}

/// Who asks: policyd says so, each time.
async fn known(http: &Http, head: &Parts, from_page: bool) -> Result<(Rc<Caller>, Identified), Problem> {
    // A socket can change something, and a browser opens one for any page: a cookie alone does not open it.
    let is_socket = head.uri.path() == "/v1/ws";
    let method = if is_socket { &Method::POST } else { &head.method };
    let token = match http.names.shown(method, &head.headers, from_page)? {
        Credentials::Nothing => return Err(Problem::stranger()),
        Credentials::Bearer(token) | Credentials::Cookie(token) => token,
    };
    let digest = token.digest();
    // Before policyd is asked: anyone who asks too often makes no work for it.
    let known = http.callers.borrow().get(&digest).cloned();
    match &known {
        Some(caller) => caller.bucket.take().map_err(|again| Problem::too_often("http.rate", again))?,
        None => http.rates.unknown.take().map_err(|again| Problem::too_often("http.unknown", again))?,
    }
    let speaks = spoken(&head.headers);
    let who = http.door.identify(&Speaker { lang: speaks, ..speaker(&digest) }).await?;
    let most_streams = match who.standing {
        Standing::Owner | Standing::Adult => MAX_STREAMS_OF_ONE,
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
    Speaker { channel: Channel::Http, sender: digest.to_owned(), lang: None }
}

async fn pair(http: &Rc<Http>, (from_page, source): (bool, Source), Pair { code, cookie }: Pair) -> Answered {
    if !has_the_form_of_a_code(&code) {
        let form = "a code such as K7-DELTA-19, from `metnosctl pairing invite http`";
        return Err(Problem::field("code", "something else", form));
    }
    if cookie && !from_page {
        let why = "a cookie is given to a page of this door only";
        return Err(Problem::new(StatusCode::FORBIDDEN, "http.csrf", why));
    }
    http.rates.pairings.take(source).map_err(|again| Problem::too_often("http.pairing", again))?;
    let mut random = [0; 32];
    getrandom::fill(&mut random)
        .map_err(|error| Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "http.random", error.to_string()))?;
    let token = Token::of(random);
    let speaker = speaker(&token.digest());
    match http.door.pair(&speaker, &code).await? {
        people::Paired::Known => {}
        // Which of them it was is not disclosed.
        people::Paired::Code(_) | people::Paired::Silence => {
            return Err(Problem::new(
                StatusCode::FORBIDDEN,
                "door.pairing",
                "no invitation that is open has this code",
            )
            .remedy("a code is good once, for ten minutes; `metnosctl pairing invite http` makes another"));
        }
    }
    let who = http.door.identify(&speaker).await?;
    let shown = (!cookie).then(|| token.show().to_owned());
    let answer = Paired { principal: who.principal, standing: who.standing.into(), token: shown };
    let mut response = of(StatusCode::CREATED, JSON, document(&answer));
    if cookie && let Ok(value) = HeaderValue::try_from(http.names.set_cookie(&token)) {
        response.headers_mut().insert(SET_COOKIE, value);
    }
    Ok(response)
}

/// The browser is to have no cookie any more: its token was kept nowhere else.
fn leave(http: &Http) -> Response<Out> {
    let mut response = of(StatusCode::NO_CONTENT, JSON, Out::Whole(None));
    if let Ok(value) = HeaderValue::try_from(http.names.forget_cookie()) {
        response.headers_mut().insert(SET_COOKIE, value);
    }
    response
}

/// Who asks; how the door is, only the owner learns.
fn status(http: &Http, who: &Identified) -> Status {
    let door = match who.standing {
        Standing::Owner => {
            let report = http.door.report();
            Some(DoorNumbers {
                sessions: report.sessions,
                turns: report.turns,
                turns_total: report.turns_total,
                models: report.models,
                connections: http.connections.get(),
            })
        }
        Standing::Adult | Standing::Guest | Standing::Stranger => None,
    };
    let (standing, level, lang) = (who.standing.into(), who.level.into(), who.lang.into());
    Status { principal: who.principal.clone(), person: who.person.clone(), standing, level, lang, door }
}

async fn say(http: &Rc<Http>, head: &Parts, caller: &Rc<Caller>, Say { text }: Say) -> Answered {
    let wants_events = accepts(head, EVENTS) || !accepts(head, JSON);
    let (turn, record) = open(http, caller, &text).await?;
    let mut response = if wants_events {
        let out = follow(http, Some(record), listening(caller, turn, ReadPosition::default(), Words::Events));
        of(StatusCode::OK, EVENTS, out)
    } else {
        let opened = Turn { turn: turn.to_string(), state: State::Open, text: None, end: None, why: None };
        of(StatusCode::ACCEPTED, JSON, document(&opened))
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

async fn show(http: &Rc<Http>, head: &Parts, caller: &Rc<Caller>, turn: TurnId) -> Answered {
    let record = found(http, turn, caller).await;
    if !accepts(head, EVENTS) {
        return match &record {
            Some(record) if !record.is_torn() => ok(&of_turn(turn, &record.stand(), record.text(), record.why())),
            Some(_) | None => {
                let (end, text) = journalled(http, turn, &caller.principal).await?;
                ok(&of_turn(turn, &end.map_or(TurnStanding::Open, TurnStanding::Done), text, String::new()))
            }
        };
    }
    let heard = match head.headers.get(LAST_EVENT_ID) {
        None => ReadPosition::default(),
        Some(id) => read_position("Last-Event-ID", id.to_str().unwrap_or_default())?,
    };
    match resume_stream(http, caller, turn, heard).await? {
        // What browsers take for: do not come back.
        None => Ok(of(StatusCode::NO_CONTENT, EVENTS, Out::Whole(None))),
        Some(record) => {
            let out = follow(http, record, listening(caller, turn, heard, Words::Events));
            Ok(of(StatusCode::OK, EVENTS, out))
        }
    }
}

async fn complete(http: &Rc<Http>, caller: &Rc<Caller>, body: &Map<String, Value>) -> Answered {
    let asked = chat::read(body)?;
    let (turn, record) = open(http, caller, &asked.words).await?;
    let id = chat::name(&turn.to_string());
    if asked.stream {
        let out = follow(http, Some(record), listening(caller, turn, ReadPosition::default(), Words::Chunks(id)));
        return Ok(of(StatusCode::OK, EVENTS, out));
    }
    let listening = listening(caller, turn, ReadPosition::default(), Words::Chunks(id.clone()));
    let mut gone = listening.gone.clone();
    let mut changes = record.changes();
    let ended = async {
        loop {
            changes.mark_unchanged();
            match record.stand() {
                TurnStanding::Done(_) | TurnStanding::Suspended => return,
                TurnStanding::Open => {}
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
        let cards = record.cards().iter().map(chat::card).collect::<Vec<_>>().join("\n");
        chat::ended(&chat::ended(&record.text(), &record.why()), &cards)
    };
    ok(&chat::completion(&id, &text))
}
