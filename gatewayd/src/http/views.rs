//! What a person may see of the instance, page by page, and webhooks on their way in. policyd says who sees what; here it is
//! only asked for and passed on.

use std::rc::Rc;
use std::time::{SystemTime, UNIX_EPOCH};

use hyper::StatusCode;
use hyper::body::Incoming;
use hyper::header::HeaderMap;
use hyper::http::request::Parts;
use metnos_proto::doc::schedule::ScheduleList;
use metnos_proto::msg::people::{MAX_LOOKED_FOR, MAX_PAGE, ViewRequest, ViewSubject};
use serde::de::DeserializeOwned;

use super::{Caller, Http};
use crate::hooks::signed::{Claim, is_good};
use crate::hooks::{Firing, MAX_DATA};
use crate::http::documents::problem::Problem;
use crate::http::documents::{
    AuditPage, ExecutorsPage, HookTaken, MemoryPage, MnestsPage, SchedulesChanged, SchedulesPage, TurnsPage,
};
use crate::http::request::body;

/// How many lines a page has, when nobody says.
const PAGE: u32 = 50;

/// Which page is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PageRequest {
    /// Where it begins: 0, or what the page before said.
    pub cursor: u64,
    /// How many lines it has at most.
    pub limit: u32,
}

/// Reads `cursor=…&limit=…`, each at most once and written in one way only.
///
/// # Errors
/// When it says anything else.
pub fn page(query: Option<&str>) -> Result<PageRequest, Problem> {
    let mut wanted = (None, None);
    let expected = format!("cursor, as the page before has it, and limit, from 1 to {MAX_PAGE}");
    let odd = |found: &str| Problem::field("the query", found, &expected);
    for part in query.unwrap_or_default().split('&').filter(|_| query.is_some()) {
        let (key, value) = part.split_once('=').ok_or_else(|| odd(part))?;
        let number: u64 = value.parse().map_err(|_| odd(part))?;
        let place = match key {
            "cursor" => &mut wanted.0,
            "limit" if (1..=u64::from(MAX_PAGE)).contains(&number) => &mut wanted.1,
            _ => return Err(odd(part)),
        };
        // A plus, a zero in front, or the same again.
        if number.to_string() != value || place.replace(number).is_some() {
            return Err(odd(part));
        }
    }
    let limit = wanted.1.and_then(|limit| u32::try_from(limit).ok()).unwrap_or(PAGE);
    Ok(PageRequest { cursor: wanted.0.unwrap_or(0), limit })
}

async fn look<T: DeserializeOwned>(
    http: &Http,
    caller: &Caller,
    at: ViewSubject,
    wanted: PageRequest,
) -> Result<(Vec<T>, Option<u64>), Problem> {
    look_for(http, caller, at, (wanted, String::new())).await
}

/// The same with the words that are looked for.
async fn look_for<T: DeserializeOwned>(
    http: &Http,
    caller: &Caller,
    at: ViewSubject,
    (wanted, words): (PageRequest, String),
) -> Result<(Vec<T>, Option<u64>), Problem> {
    let (channel, sender) = (caller.voice.speaker.channel, caller.digest.clone());
    let ask = ViewRequest { channel, sender, at, from: wanted.cursor, lines: wanted.limit, words };
    let (lines, next) = http.door.look(ask).await?;
    Ok((lines, (next != 0).then_some(next)))
}

/// What can be called.
pub(super) async fn executors(http: &Http, caller: &Caller, wanted: PageRequest) -> Result<ExecutorsPage, Problem> {
    let (executors, next) = look(http, caller, ViewSubject::Executors, wanted).await?;
    Ok(ExecutorsPage { executors, next })
}

/// The graph of use.
pub(super) async fn mnests(http: &Http, caller: &Caller, wanted: PageRequest) -> Result<MnestsPage, Problem> {
    let (mnests, next) = look(http, caller, ViewSubject::Mnests, wanted).await?;
    Ok(MnestsPage { mnests, next })
}

/// What happened.
pub(super) async fn audit(http: &Http, caller: &Caller, wanted: PageRequest) -> Result<AuditPage, Problem> {
    let (lines, next) = look(http, caller, ViewSubject::Audit, wanted).await?;
    Ok(AuditPage { lines, next })
}

/// What the caller has said and was answered.
pub(super) async fn turns(http: &Http, caller: &Caller, wanted: PageRequest) -> Result<TurnsPage, Problem> {
    let (turns, next) = look(http, caller, ViewSubject::Exchanges, wanted).await?;
    Ok(TurnsPage { turns, next })
}

/// What the person who calls has said and was answered, on any channel; where words are looked for, only where they stand.
pub(super) async fn memory(http: &Http, caller: &Caller, query: Option<&str>) -> Result<MemoryPage, Problem> {
    let (words, rest) = looked_for(query)?;
    let (turns, next) = look_for(http, caller, ViewSubject::Remembered, (page(rest.as_deref())?, words)).await?;
    Ok(MemoryPage { turns, next })
}

/// Takes `words=…` out of a query, which stands there at most once; and the rest of it.
///
/// # Errors
/// When it stands there twice, or the words are longer than [`MAX_LOOKED_FOR`] bytes.
pub fn looked_for(query: Option<&str>) -> Result<(String, Option<String>), Problem> {
    let Some(query) = query else { return Ok((String::new(), None)) };
    let is_words = |part: &&str| part.split('=').next() == Some("words");
    let expected = format!("words, at most once and of at most {MAX_LOOKED_FOR} bytes");
    let mut found = query.split('&').filter(is_words);
    let words = found.next().map(|part| form_urlencoded::parse(part.as_bytes()).map(|(_, value)| value).collect());
    let words: String = words.unwrap_or_default();
    if found.next().is_some() || words.len() > MAX_LOOKED_FOR {
        return Err(Problem::field("the query", query, &expected));
    }
    let rest: Vec<&str> = query.split('&').filter(|part| !is_words(part)).collect();
    Ok((words, (!rest.is_empty()).then(|| rest.join("&"))))
}

/// What is planned for the caller.
pub(super) async fn schedules(http: &Http, caller: &Caller, wanted: PageRequest) -> Result<SchedulesPage, Problem> {
    let (schedules, next) = look(http, caller, ViewSubject::Schedules, wanted).await?;
    Ok(SchedulesPage { schedules, next })
}

/// Cancels what the caller has planned.
pub(super) async fn cancel(http: &Http, caller: &Caller, number: u64) -> Result<SchedulesChanged, Problem> {
    let ScheduleList(schedules) = http.door.cancel_schedule(&caller.voice.speaker, number).await?;
    Ok(SchedulesChanged { schedules })
}

/// A webhook: anyone who holds its secret has what was set up done. An unknown hook and a wrong signature look the same.
pub(super) async fn hook(
    http: &Rc<Http>,
    head: &Parts,
    incoming: &mut Incoming,
    name: &str,
    unheard: &super::Unauthenticated,
) -> Result<HookTaken, Problem> {
    let data = body::within(incoming, MAX_DATA).await?;
    let header = |name: &str| one(&head.headers, name).unwrap_or_default();
    let claim = Claim {
        id: header("webhook-id"),
        timestamp: header("webhook-timestamp"),
        signature: header("webhook-signature"),
    };
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let hooks = http.door.hooks();
    // Judged also where there is no such hook, so that the time that takes says nothing.
    let secret = hooks.secret(name);
    let good = is_good(secret.as_ref().map_or(&[0; 32], |secret| secret.bytes()), claim, &data, now);
    if secret.is_none() || !good {
        http.rates.hooks_wrong.take().map_err(|again| Problem::too_often("hook.rate", again))?;
        let why = "no hook of this name knows this signature, or its time is not now";
        return Err(Problem::new(StatusCode::UNAUTHORIZED, "hook.signature", why)
            .remedy("sign as Standard Webhooks has it, with the secret that `metnosctl hook add` has shown"));
    }
    unheard.is_authenticated();
    if std::str::from_utf8(&data).is_err() {
        return Err(Problem::field("the body", "something else", "a text in UTF-8"));
    }
    match hooks.fire(&http.door, name, claim.id, &data).await? {
        Firing::Opened(turn) => Ok(HookTaken { turn: turn.to_string() }),
        Firing::TooMany(again) => Err(Problem::too_often("hook.rate", again)),
        Firing::Known => {
            let why = "a firing of this name was heard before; nothing was done";
            Err(Problem::new(StatusCode::CONFLICT, "hook.replay", why))
        }
    }
}

/// A line of a head that is there once.
fn one<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    let mut values = headers.get_all(name).iter();
    match (values.next(), values.next()) {
        (Some(value), None) => value.to_str().ok(),
        (None, _) | (Some(_), Some(_)) => None,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_page_is_named_in_one_way_only() {
        assert_eq!(page(None).unwrap(), PageRequest { cursor: 0, limit: PAGE });
        assert_eq!(page(Some("limit=1&cursor=7")).unwrap(), PageRequest { cursor: 7, limit: 1 });
        for odd in [
            "",
            "limit=0",
            "limit=101",
            "limit=+1",
            "limit=01",
            "limit=1&limit=2",
            "more=1",
            "cursor",
            "cursor=",
            "a=1&",
            "limit=1%30",
        ] {
            assert!(page(Some(odd)).is_err(), "{odd}");
        }
    }

    #[test]
    fn words_are_taken_out_of_a_query_and_the_rest_is_a_page() {
        let rest = |rest: &str| Some(rest.to_owned());
        assert_eq!(looked_for(None).unwrap(), (String::new(), None));
        assert_eq!(looked_for(Some("words=blue+heron%3F")).unwrap(), ("blue heron?".to_owned(), None));
        assert_eq!(
            looked_for(Some("limit=3&words=a%26b&cursor=7")).unwrap(),
            ("a&b".to_owned(), rest("limit=3&cursor=7"))
        );
        assert_eq!(looked_for(Some("words=&word=b")).unwrap(), (String::new(), rest("word=b")));
        assert!(looked_for(Some("words=a&words=b")).is_err());
        assert!(looked_for(Some(&format!("words={}", "x".repeat(MAX_LOOKED_FOR + 1)))).is_err());
    }

    proptest! {
        #[test]
        fn no_query_stops_the_door(query in "[ -~]{0,40}") {
            if let Ok((words, _)) = looked_for(Some(&query)) {
                prop_assert!(words.len() <= MAX_LOOKED_FOR);
            }
            if let Ok(wanted) = page(Some(&query)) {
                prop_assert!((1..=MAX_PAGE).contains(&wanted.limit));
            }
        }
    }
}
