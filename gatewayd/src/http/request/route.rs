//! Which address means what. Addresses are compared byte by byte and nothing in them is decoded, so there is one way to
//! write each; what is not listed here does not exist.

use hyper::Method;
use metnos_proto::ids::TurnId;
use metnos_proto::msg::people::is_name;

use crate::http::page::{self, PageFile};

/// The longest name of a card.
const MAX_CARD: usize = 64;

/// What is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Route {
    /// `GET /healthz`.
    Health,
    /// `GET /metrics`.
    Metrics,
    /// `GET /openapi.json`.
    OpenApi,
    /// `POST /v1/pair`.
    Pair,
    /// `DELETE /v1/pair`.
    Leave,
    /// `GET /v1/status`.
    Status,
    /// A file of the page.
    Page(&'static PageFile),
    /// `POST /v1/turns`.
    Say,
    /// `GET /v1/turns`.
    Turns,
    /// `GET /v1/turns/{turn}`.
    Turn(TurnId),
    /// `DELETE /v1/turns/{turn}`.
    Stop(TurnId),
    /// `DELETE /v1/turns/{turn}/words`.
    Forget(TurnId),
    /// `GET /v1/approvals`.
    Cards,
    /// `POST /v1/approvals/{card}`.
    Answer(String),
    /// `GET /v1/ws`.
    Socket,
    /// `GET /v1/executors`.
    Executors,
    /// `GET /v1/mnests`.
    Mnests,
    /// `GET /v1/audit`.
    Audit,
    /// `GET /v1/schedules`.
    Schedules,
    /// `DELETE /v1/schedules/{number}`.
    Cancel(u64),
    /// `POST /hooks/{hook}`.
    Hook(String),
    /// `GET /v1/models`.
    Models,
    /// `GET /v1/memory`.
    Memory,
    /// `POST /v1/chat/completions`.
    Chat,
}

impl Route {
    /// Whether a part of it can be asked for, by a query.
    #[must_use]
    pub const fn takes_a_page(&self) -> bool {
        matches!(self, Self::Executors | Self::Mnests | Self::Audit | Self::Schedules | Self::Turns | Self::Memory)
    }
}

/// Why there is no route.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoRoute {
    /// Nothing is at that address.
    Path,
    /// Something is, for these methods.
    Method(&'static str),
}

/// What a method and an address mean.
///
/// # Errors
/// When they mean nothing.
pub fn find(method: &Method, path: &str) -> Result<Route, NoRoute> {
    let only = |wanted: Method, allow: &'static str, route: Route| {
        if *method == wanted { Ok(route) } else { Err(NoRoute::Method(allow)) }
    };
    match path {
        "/healthz" => only(Method::GET, "GET", Route::Health),
        "/metrics" => only(Method::GET, "GET", Route::Metrics),
        "/openapi.json" => only(Method::GET, "GET", Route::OpenApi),
        "/v1/pair" if *method == Method::DELETE => Ok(Route::Leave),
        "/v1/pair" => only(Method::POST, "DELETE, POST", Route::Pair),
        "/v1/status" => only(Method::GET, "GET", Route::Status),
        "/v1/turns" if *method == Method::GET => Ok(Route::Turns),
        "/v1/turns" => only(Method::POST, "GET, POST", Route::Say),
        "/v1/approvals" => only(Method::GET, "GET", Route::Cards),
        "/v1/ws" => only(Method::GET, "GET", Route::Socket),
        "/v1/executors" => only(Method::GET, "GET", Route::Executors),
        "/v1/mnests" => only(Method::GET, "GET", Route::Mnests),
        "/v1/audit" => only(Method::GET, "GET", Route::Audit),
        "/v1/schedules" => only(Method::GET, "GET", Route::Schedules),
        "/v1/memory" => only(Method::GET, "GET", Route::Memory),
        "/v1/models" => only(Method::GET, "GET", Route::Models),
        "/v1/chat/completions" => only(Method::POST, "POST", Route::Chat),
        _ => match (path.strip_prefix("/v1/turns/"), path.strip_prefix("/v1/approvals/")) {
            (None, None) if let Some(file) = page::file(path) => only(Method::GET, "GET", Route::Page(file)),
            (Some(name), _) if let Some(name) = name.strip_suffix("/words") => {
                let turn = turn(name).ok_or(NoRoute::Path)?;
                only(Method::DELETE, "DELETE", Route::Forget(turn))
            }
            (Some(name), _) => match (turn(name).ok_or(NoRoute::Path)?, method) {
                (turn, &Method::GET) => Ok(Route::Turn(turn)),
                (turn, &Method::DELETE) => Ok(Route::Stop(turn)),
                _ => Err(NoRoute::Method("GET, DELETE")),
            },
            (None, Some(name)) if is_card(name) => only(Method::POST, "POST", Route::Answer(name.to_owned())),
            (None, None) if let Some(number) = path.strip_prefix("/v1/schedules/").and_then(number) => {
                only(Method::DELETE, "DELETE", Route::Cancel(number))
            }
            (None, _) => match path.strip_prefix("/hooks/") {
                Some(name) if is_name(name) => only(Method::POST, "POST", Route::Hook(name.to_owned())),
                _ => Err(NoRoute::Path),
            },
        },
    }
}

/// A turn's name in the one way in which it is written.
#[must_use]
pub fn turn(name: &str) -> Option<TurnId> {
    name.parse::<TurnId>().ok().filter(|turn| turn.to_string() == name)
}

/// A number of a schedule in the one way in which it is written.
fn number(text: &str) -> Option<u64> {
    text.parse::<u64>().ok().filter(|number| number.to_string() == text)
}

fn is_card(name: &str) -> bool {
    !name.is_empty() && name.len() <= MAX_CARD && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn each_address_is_found_with_its_method_and_with_no_other() {
        let turn = TurnId::new();
        let all = [
            ("GET", "/healthz".to_owned(), Route::Health),
            ("POST", "/v1/turns".to_owned(), Route::Say),
            ("GET", "/v1/turns".to_owned(), Route::Turns),
            ("DELETE", "/v1/pair".to_owned(), Route::Leave),
            ("GET", format!("/v1/turns/{turn}"), Route::Turn(turn)),
            ("DELETE", format!("/v1/turns/{turn}"), Route::Stop(turn)),
            ("DELETE", format!("/v1/turns/{turn}/words"), Route::Forget(turn)),
            ("GET", "/v1/approvals".to_owned(), Route::Cards),
            ("GET", "/v1/ws".to_owned(), Route::Socket),
            ("GET", "/v1/audit".to_owned(), Route::Audit),
            ("GET", "/v1/memory".to_owned(), Route::Memory),
            ("DELETE", "/v1/schedules/12".to_owned(), Route::Cancel(12)),
            ("POST", "/hooks/mail-2".to_owned(), Route::Hook("mail-2".into())),
            ("POST", "/v1/approvals/k7-abc".to_owned(), Route::Answer("k7-abc".into())),
        ];
        for (method, path, route) in &all {
            assert_eq!(find(&method.parse().unwrap(), path).as_ref(), Ok(route));
        }
        assert_eq!(find(&Method::PUT, "/v1/turns"), Err(NoRoute::Method("GET, POST")));
        assert_eq!(find(&Method::POST, "/"), Err(NoRoute::Method("GET")));
        assert_eq!(find(&Method::OPTIONS, "/v1/status"), Err(NoRoute::Method("GET")));
        assert_eq!(find(&Method::HEAD, "/healthz"), Err(NoRoute::Method("GET")));
    }

    #[test]
    fn tricks_with_addresses_lead_nowhere() {
        let turn = TurnId::new().to_string();
        for path in [
            "//",
            "/index.html",
            "/app.js/",
            "/../app.js",
            "//v1/status",
            "/v1/status/",
            "/v1//status",
            "/v1/../v1/status",
            "/v1/./status",
            "/V1/status",
            "/v1/%73tatus",
            "/v1/status%00",
            "/v1/status;x",
            "/v1/turns/",
            "/v1/turns/..",
            "/v1/approvals/../status",
            "/v1/approvals/a%2fb",
            "/v1/schedules/012",
            "/v1/schedules/+1",
            "/v1/schedules/",
            "/openapi.json\\",
            "/hooks/",
            "/hooks/Mail",
            "/hooks/a/b",
            "/hooks/..",
            "/hooks/a%20b",
            &format!("/v1/turns/{}", turn.to_lowercase()),
            &format!("/v1/turns/{turn}/"),
            &format!("/v1/turns/{turn}/word"),
            "/v1/turns//words",
            "/v1/turns/words",
        ] {
            assert_eq!(find(&Method::GET, path), Err(NoRoute::Path), "{path}");
        }
    }

    proptest! {
        #[test]
        fn no_address_stops_the_search_and_a_turn_is_written_in_one_way(path in "[ -~]{0,64}") {
            let _ = find(&Method::GET, &path);
            if let Some(turn) = turn(&path) {
                prop_assert_eq!(turn.to_string(), path);
            }
        }
    }
}
