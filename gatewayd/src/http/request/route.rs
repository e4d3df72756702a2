//! Which address means what. Addresses are compared byte by byte and nothing in them is decoded, so there is one way to
//! write each; what is not listed here does not exist.

use hyper::Method;
use metnos_proto::ids::TurnId;
use metnos_proto::msg::people::is_name;

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
    /// `GET /v1/status`.
    Status,
    /// `POST /v1/turns`.
    Say,
    /// `GET /v1/turns/{turn}`.
    Turn(TurnId),
    /// `DELETE /v1/turns/{turn}`.
    Stop(TurnId),
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
    /// `POST /hooks/{hook}`.
    Hook(String),
    /// `GET /v1/models`.
    Models,
    /// `POST /v1/chat/completions`.
    Chat,
}

impl Route {
    /// Whether a part of it can be asked for, by a query.
    #[must_use]
    pub const fn takes_a_page(&self) -> bool {
        matches!(self, Self::Executors | Self::Mnests | Self::Audit | Self::Schedules)
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
        "/v1/pair" => only(Method::POST, "POST", Route::Pair),
        "/v1/status" => only(Method::GET, "GET", Route::Status),
        "/v1/turns" => only(Method::POST, "POST", Route::Say),
        "/v1/approvals" => only(Method::GET, "GET", Route::Cards),
        "/v1/ws" => only(Method::GET, "GET", Route::Socket),
        "/v1/executors" => only(Method::GET, "GET", Route::Executors),
        "/v1/mnests" => only(Method::GET, "GET", Route::Mnests),
        "/v1/audit" => only(Method::GET, "GET", Route::Audit),
        "/v1/schedules" => only(Method::GET, "GET", Route::Schedules),
        "/v1/models" => only(Method::GET, "GET", Route::Models),
        "/v1/chat/completions" => only(Method::POST, "POST", Route::Chat),
        _ => match (path.strip_prefix("/v1/turns/"), path.strip_prefix("/v1/approvals/")) {
            (Some(name), _) => match (turn(name).ok_or(NoRoute::Path)?, method) {
                (turn, &Method::GET) => Ok(Route::Turn(turn)),
                (turn, &Method::DELETE) => Ok(Route::Stop(turn)),
                _ => Err(NoRoute::Method("GET, DELETE")),
            },
            (None, Some(name)) if is_card(name) => only(Method::POST, "POST", Route::Answer(name.to_owned())),
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
            ("GET", format!("/v1/turns/{turn}"), Route::Turn(turn)),
            ("DELETE", format!("/v1/turns/{turn}"), Route::Stop(turn)),
            ("GET", "/v1/approvals".to_owned(), Route::Cards),
            ("GET", "/v1/ws".to_owned(), Route::Socket),
            ("GET", "/v1/audit".to_owned(), Route::Audit),
            ("POST", "/hooks/mail-2".to_owned(), Route::Hook("mail-2".into())),
            ("POST", "/v1/approvals/k7-abc".to_owned(), Route::Answer("k7-abc".into())),
        ];
        for (method, path, route) in &all {
            assert_eq!(find(&method.parse().unwrap(), path).as_ref(), Ok(route));
        }
        assert_eq!(find(&Method::PUT, "/v1/turns"), Err(NoRoute::Method("POST")));
        assert_eq!(find(&Method::OPTIONS, "/v1/status"), Err(NoRoute::Method("GET")));
        assert_eq!(find(&Method::HEAD, "/healthz"), Err(NoRoute::Method("GET")));
    }

    #[test]
    fn tricks_with_addresses_lead_nowhere() {
        let turn = TurnId::new().to_string();
        for path in [
            "/",
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
            "/openapi.json\\",
            "/hooks/",
            "/hooks/Mail",
            "/hooks/a/b",
            "/hooks/..",
            "/hooks/a%20b",
            &format!("/v1/turns/{}", turn.to_lowercase()),
            &format!("/v1/turns/{turn}/"),
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
