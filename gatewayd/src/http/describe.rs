//! What the door says of its HTTP channel: numbers for those that watch machines, and the description of every address
//! for those that write clients. No word of a person is in either.

use std::fmt::Write as _;

use serde_json::{Map, Value, json};

use super::Http;
use super::bounds::MAX_BODY;

/// The type of the numbers.
pub const METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// The door's own numbers.
#[must_use]
pub fn metrics(http: &Http) -> String {
    let report = http.door.report();
    let streams: usize = http.callers.borrow().values().map(|caller| caller.streams.get()).sum();
    let mut text = String::new();
    let mut gauge = |name: &str, help: &str, value: u64| {
        let _ = writeln!(text, "# TYPE metnos_{name} gauge\n# HELP metnos_{name} {help}\nmetnos_{name} {value}");
    };
    gauge("door_sessions", "Sessions at the terminal.", report.sessions.into());
    gauge("door_turns", "Turns under way.", report.turns.into());
    gauge("http_connections", "Connections.", http.connections.get() as u64);
    gauge("http_streams", "Streams that follow a turn.", streams as u64);
    gauge("http_kept_bytes", "Events that are kept for clients that come back.", http.kept.get() as u64);
    let mut counter = |name: &str, help: &str, values: &[(String, u64)]| {
        let _ = writeln!(text, "# TYPE metnos_{name} counter\n# HELP metnos_{name} {help}");
        for (label, value) in values {
            let _ = writeln!(text, "metnos_{name}_total{label} {value}");
        }
    };
    counter("door_turns_opened", "Turns since the door was started.", &[(String::new(), report.turns_total)]);
    let away = [(String::new(), http.turned_away.get())];
    counter("http_turned_away", "Connections that were closed unheard.", &away);
    let answered = http.answered.borrow();
    let by_status: Vec<_> =
        answered.iter().map(|(status, count)| (format!("{{status=\"{status}\"}}"), *count)).collect();
    counter("http_answers", "Answers by status.", &by_status);
    text.push_str("# EOF\n");
    text
}

/// One address: its method, what it is for, whether one must be known, the body it takes, and what it answers.
struct Operation {
    path: &'static str,
    method: &'static str,
    summary: &'static str,
    is_open: bool,
    takes: Option<&'static str>,
    answers: &'static [(u16, &'static str, &'static str)],
}

const JSON: &str = "application/json";
const EVENTS: &str = "text/event-stream";

/// Every address there is. A test compares it with the routes.
const OPERATIONS: &[Operation] = &[
    Operation {
        path: "/healthz",
        method: "get",
        summary: "Whether the door serves.",
        is_open: true,
        takes: None,
        answers: &[(200, "text/plain", "")],
    },
    Operation {
        path: "/metrics",
        method: "get",
        summary: "The door's own numbers, as OpenMetrics.",
        is_open: true,
        takes: None,
        answers: &[(200, "application/openmetrics-text", "")],
    },
    Operation {
        path: "/openapi.json",
        method: "get",
        summary: "This description.",
        is_open: true,
        takes: None,
        answers: &[(200, JSON, "")],
    },
    Operation {
        path: "/v1/pair",
        method: "post",
        summary: "Shows an invitation's code; gives a token, once.",
        is_open: true,
        takes: Some("Pair"),
        answers: &[(201, JSON, "Paired")],
    },
    Operation {
        path: "/v1/status",
        method: "get",
        summary: "Who asks; how the door is, for the owner.",
        is_open: false,
        takes: None,
        answers: &[(200, JSON, "Status")],
    },
    Operation {
        path: "/v1/turns",
        method: "post",
        summary: "Says something. The turn is told as events, or only named with `Accept: application/json`.",
        is_open: false,
        takes: Some("Say"),
        answers: &[(200, EVENTS, ""), (202, JSON, "Turn")],
    },
    Operation {
        path: "/v1/turns/{turn}",
        method: "get",
        summary: "How a turn stands; with `Accept: text/event-stream` its events, after `Last-Event-ID` where that is \
                  given.",
        is_open: false,
        takes: None,
        answers: &[(200, JSON, "Turn"), (204, "", "")],
    },
    Operation {
        path: "/v1/turns/{turn}",
        method: "delete",
        summary: "Stops a turn.",
        is_open: false,
        takes: None,
        answers: &[(200, JSON, "Stopped")],
    },
    Operation {
        path: "/v1/approvals",
        method: "get",
        summary: "The cards of this client that wait for an answer.",
        is_open: false,
        takes: None,
        answers: &[(200, JSON, "Cards")],
    },
    Operation {
        path: "/v1/approvals/{card}",
        method: "post",
        summary: "Answers a card that a turn of this client has shown.",
        is_open: false,
        takes: Some("Answer"),
        answers: &[(200, JSON, "Settled")],
    },
    Operation {
        path: "/v1/models",
        method: "get",
        summary: "The one model, for clients of chat completions.",
        is_open: false,
        takes: None,
        answers: &[(200, JSON, "")],
    },
    Operation {
        path: "/v1/chat/completions",
        method: "post",
        summary: "A turn in the words of chat completions.",
        is_open: false,
        takes: Some("Chat"),
        answers: &[(200, JSON, "")],
    },
];

fn text(about: &str) -> Value {
    json!({"type": "string", "description": about})
}

/// The documents by name.
fn schemas() -> Value {
    let object = |required: &[&str], properties: Value| json!({"type": "object", "required": required, "properties": properties, "additionalProperties": false});
    let whole = json!({"type": "integer", "minimum": 0});
    json!({
        "Problem": {
            "type": "object", "required": ["type", "title", "status", "detail", "rule"],
            "properties": {
                "type": {"type": "string"}, "title": {"type": "string"}, "status": {"type": "integer"},
                "detail": text("Why, for a person."), "rule": text("Which rule or limit said no."),
                "remedy": text("What to do about it."), "field": text("Which part of the request does not fit."),
                "value": text("What stood there."), "expected": text("What was expected."),
            },
        },
        "Pair": object(&["code"], json!({
            "code": {"type": "string", "maxLength": 32, "description": "As `K7-DELTA-19`."},
            "cookie": {"type": "boolean", "description": "Give a cookie in the place of a token: pages of the door only."},
        })),
        "Paired": object(&["principal", "standing"], json!({
            "principal": text("As the chronicle names this client."), "standing": {"enum": ["owner", "guest"]},
            "token": text("To be shown as `Authorization: Bearer` from now on. It is kept nowhere else."),
        })),
        "Status": object(&["principal", "standing", "level", "lang"], json!({
            "principal": {"type": "string"}, "standing": {"enum": ["owner", "guest"]},
            "level": {"enum": ["readonly", "supervised", "full"]}, "lang": {"enum": ["en", "it"]},
            "door": object(&["sessions", "turns", "turns_total", "models", "connections"], json!({
                "sessions": whole, "turns": whole, "turns_total": whole, "models": {"type": "string"}, "connections": whole,
            })),
        })),
        "Say": object(&["text"], json!({"text": {"type": "string", "minLength": 1, "description": "At most 64 KiB."}})),
        "Turn": object(&["turn", "state"], json!({
            "turn": {"type": "string"}, "state": {"enum": ["open", "suspended", "done"]}, "text": {"type": "string"},
            "end": {"enum": ["answered", "not_understood", "denied", "unsuccessful", "cancelled", "broken"]},
            "why": {"type": "string"},
        })),
        "Stopped": object(&["turn", "was_open"], json!({"turn": {"type": "string"}, "was_open": {"type": "boolean"}})),
        "Cards": object(&["cards"], json!({"cards": {"type": "array", "items": {"type": "object"}}})),
        "Answer": object(&["digest", "answer"], json!({
            "digest": text("As the card was shown with."), "answer": {"enum": ["once", "turn", "no"]},
            "code": text("A one-time code, for a card that needs one."),
        })),
        "Settled": object(&["card", "state", "runs"], json!({
            "card": {"type": "string"}, "state": {"enum": ["approved", "denied"]}, "runs": whole,
        })),
        "Chat": {
            "type": "object", "required": ["model", "messages"],
            "properties": {
                "model": {"const": "metnos"}, "stream": {"type": ["boolean", "null"]},
                "messages": {"type": "array", "minItems": 1, "items": {
                    "type": "object", "required": ["role", "content"],
                    "properties": {"role": {"type": "string"}, "content": {"type": ["string", "array"]}},
                }},
            },
        },
    })
}

/// OpenAPI 3.1.
#[must_use]
pub fn openapi() -> Value {
    let mut paths = Map::new();
    for operation in OPERATIONS {
        let at = paths.entry(operation.path).or_insert_with(|| json!({}));
        at[operation.method] = described(operation);
    }
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Metnos", "version": env!("CARGO_PKG_VERSION"),
            "description": format!(
                "The door's channel for programs and pages of this machine. A connection carries one request. A body \
                 has at most {MAX_BODY} bytes; no address takes a query."
            ),
        },
        "paths": paths,
        "components": {
            "schemas": schemas(),
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    })
}

fn described(operation: &Operation) -> Value {
    let schema = |name: &str| json!({"$ref": format!("#/components/schemas/{name}")});
    let mut responses = Map::new();
    for (status, kind, name) in operation.answers {
        let mut content = Map::new();
        if !kind.is_empty() {
            let media = if name.is_empty() { json!({}) } else { json!({"schema": schema(name)}) };
            content.insert((*kind).to_owned(), media);
        }
        responses.insert(status.to_string(), json!({"description": "Done.", "content": content}));
    }
    let problem = json!({
        "description": "Not done, and why.",
        "content": {"application/problem+json": {"schema": schema("Problem")}, JSON: {}},
    });
    responses.insert("default".to_owned(), problem);
    let mut described = json!({"summary": operation.summary, "responses": responses});
    if !operation.is_open {
        described["security"] = json!([{"token": []}]);
    }
    if let Some(name) = operation.takes {
        described["requestBody"] = json!({"required": true, "content": {JSON: {"schema": schema(name)}}});
    }
    let named = operation.path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'));
    let parameters: Vec<Value> =
        named.map(|name| json!({"name": name, "in": "path", "required": true, "schema": {"type": "string"}})).collect();
    if !parameters.is_empty() {
        described["parameters"] = json!(parameters);
    }
    described
}

#[cfg(test)]
mod tests {
    use hyper::Method;
    use metnos_proto::ids::TurnId;

    use super::*;
    use crate::http::route::{Lost, find};

    #[test]
    fn what_is_described_is_what_there_is() {
        let turn = TurnId::new().to_string();
        let methods = [Method::GET, Method::POST, Method::DELETE, Method::PUT, Method::PATCH, Method::HEAD];
        for operation in OPERATIONS {
            let path = operation.path.replace("{turn}", &turn).replace("{card}", "abc");
            for method in &methods {
                let described = OPERATIONS
                    .iter()
                    .any(|one| one.path == operation.path && one.method.eq_ignore_ascii_case(method.as_str()));
                let found = find(method, &path);
                assert_eq!(found.is_ok(), described, "{method} {path}");
                if let Err(lost) = found {
                    assert!(matches!(lost, Lost::Method(_)), "{method} {path}");
                }
            }
        }
        // As many as there are routes: who adds one describes it.
        assert_eq!(OPERATIONS.len(), 12);
    }

    #[test]
    fn every_document_that_is_named_is_described() {
        let openapi = openapi();
        let text = openapi.to_string();
        for part in text.split("#/components/schemas/").skip(1) {
            let name = part.split('"').next().unwrap();
            assert!(openapi["components"]["schemas"][name].is_object(), "{name}");
        }
    }
}
