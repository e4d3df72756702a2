//! What the door says of its HTTP channel: numbers for those that watch machines, and the description of every address
//! for those that write clients. No word of a person is in either.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use metnos_proto::msg::people::MAX_PAGE;
use schemars::JsonSchema;
use schemars::generate::{SchemaGenerator, SchemaSettings};
use serde_json::{Map, Value};

use crate::http::Http;
use crate::http::documents;
use crate::http::documents::media::{EVENTS, JSON, PROBLEM};
use crate::http::documents::openapi::{
    Components, Content, Info, MediaType, OpenApi, OperationObject, ParameterObject, ParameterSchema, RequestBody,
    ResponseObject, SecurityScheme,
};
use crate::http::limits::bounds::MAX_BODY;

/// The type of the numbers.
pub const METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// The name under which the description says how a client shows who it is.
const TOKEN: &str = "token";

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
    let away = [(String::new(), http.numbers.turned_away.get())];
    counter("http_turned_away", "Connections that were closed unheard.", &away);
    let answered = http.numbers.answered.borrow();
    let by_status: Vec<_> =
        answered.iter().map(|(status, count)| (format!("{{status=\"{status}\"}}"), *count)).collect();
    counter("http_answers", "Answers by status.", &by_status);
    text.push_str("# EOF\n");
    text
}

/// Where the schema of a document comes from: its type.
type Schema = fn(&mut Schemas) -> Value;

/// The schemas of what is read, and of what is written.
struct Schemas {
    read: SchemaGenerator,
    written: SchemaGenerator,
}

impl Schemas {
    fn new() -> Self {
        let settings = || {
            let mut settings = SchemaSettings::draft2020_12();
            settings.definitions_path = "/components/schemas".into();
            settings
        };
        Self { read: settings().into_generator(), written: settings().for_serialize().into_generator() }
    }

    fn definitions(mut self) -> Map<String, Value> {
        let mut all = self.read.take_definitions(true);
        all.extend(self.written.take_definitions(true));
        all
    }
}

fn asked<T: JsonSchema>(schemas: &mut Schemas) -> Value {
    schemas.read.subschema_for::<T>().to_value()
}

fn told<T: JsonSchema>(schemas: &mut Schemas) -> Value {
    schemas.written.subschema_for::<T>().to_value()
}

/// What may be given beside the path: a name, where it stands, and its schema.
type Parameter = (&'static str, &'static str, ParameterSchema);

/// One address: its method, what it is for, whether one must be known, the body it takes, and what it answers.
struct Operation {
    path: &'static str,
    method: &'static str,
    summary: &'static str,
    is_open: bool,
    takes: Option<Schema>,
    with: &'static [Parameter],
    answers: &'static [(u16, &'static str, Option<Schema>)],
}

/// An address for anyone who is known, without a body.
const CLOSED: Operation =
    Operation { path: "", method: "get", summary: "", is_open: false, takes: None, with: &[], answers: &[] };

const LAST_EVENT: Parameter =
    ("Last-Event-ID", "header", ParameterSchema::pattern(r"^(0|[1-9][0-9]{0,15})\.(0|[1-9][0-9]{0,15})$"));

const PAGE: &[Parameter] = &[
    ("cursor", "query", ParameterSchema::number(0, u64::MAX)),
    ("limit", "query", ParameterSchema::number(1, MAX_PAGE as u64)),
];

const MEMORY: &[Parameter] = &[
    ("words", "query", ParameterSchema::TEXT),
    ("cursor", "query", ParameterSchema::number(0, u64::MAX)),
    ("limit", "query", ParameterSchema::number(1, MAX_PAGE as u64)),
];

const SIGNED: &[Parameter] = &[
    ("webhook-id", "header", ParameterSchema::TEXT),
    ("webhook-timestamp", "header", ParameterSchema::TEXT),
    ("webhook-signature", "header", ParameterSchema::TEXT),
];

/// Every address there is. A test compares it with the routes.
const OPERATIONS: &[Operation] = &[
    Operation {
        path: "/healthz",
        summary: "Whether the door serves.",
        is_open: true,
        answers: &[(200, "text/plain", None)],
        ..CLOSED
    },
    Operation {
        path: "/metrics",
        summary: "The door's own numbers, as OpenMetrics.",
        is_open: true,
        answers: &[(200, "application/openmetrics-text", None)],
        ..CLOSED
    },
    Operation {
        path: "/openapi.json",
        summary: "This description.",
        is_open: true,
        answers: &[(200, JSON, None)],
        ..CLOSED
    },
    Operation {
        path: "/v1/pair",
        method: "post",
        summary: "Shows a code of `metnosctl pairing invite http`; gives the token that is shown from then on.",
        is_open: true,
        takes: Some(asked::<documents::Pair>),
        answers: &[(201, JSON, Some(told::<documents::Paired>))],
        ..CLOSED
    },
    Operation {
        path: "/v1/pair",
        method: "delete",
        summary: "Takes the cookie away from the browser that asks: it is not known here any more.",
        answers: &[(204, "", None)],
        ..CLOSED
    },
    Operation {
        path: "/v1/status",
        summary: "Who asks; how the door is, for the owner.",
        answers: &[(200, JSON, Some(told::<documents::Status>))],
        ..CLOSED
    },
    Operation {
        path: "/v1/turns",
        method: "post",
        summary: "Says something. The turn is sent as events, or only named with `Accept: application/json`.",
        takes: Some(asked::<documents::Say>),
        answers: &[(200, EVENTS, None), (202, JSON, Some(told::<documents::Turn>))],
        ..CLOSED
    },
    Operation {
        path: "/v1/turns",
        summary: "What the caller has said and was answered, newest first.",
        with: PAGE,
        answers: &[(200, JSON, Some(told::<documents::TurnsPage>))],
        ..CLOSED
    },
    Operation {
        path: "/v1/memory",
        summary: "What the person who calls has said and was answered, on any channel, newest first; with `words` only where \
                  they stand.",
        with: MEMORY,
        answers: &[(200, JSON, Some(told::<documents::MemoryPage>))],
        ..CLOSED
    },
    Operation {
        path: "/v1/turns/{turn}",
        summary: "How a turn stands; with `Accept: text/event-stream` its events, after `Last-Event-ID` where that is \
                  given.",
        with: &[LAST_EVENT],
        answers: &[(200, JSON, Some(told::<documents::Turn>)), (200, EVENTS, None), (204, "", None)],
        ..CLOSED
    },
    Operation {
        path: "/v1/turns/{turn}",
        method: "delete",
        summary: "Stops a turn.",
        answers: &[(200, JSON, Some(told::<documents::Stopped>))],
        ..CLOSED
    },
    Operation {
        path: "/v1/turns/{turn}/words",
        method: "delete",
        summary: "Has the words of a turn of this client, or of the same person elsewhere, forgotten; what was decided and run stays.",
        answers: &[(200, JSON, Some(told::<documents::Forgotten>))],
        ..CLOSED
    },
    Operation {
        path: "/v1/approvals",
        summary: "The cards of this client that wait for an answer.",
        answers: &[(200, JSON, Some(told::<documents::Cards>))],
        ..CLOSED
    },
    Operation {
        path: "/v1/approvals/{card}",
        method: "post",
        summary: "Answers a card that a turn of this client has shown.",
        takes: Some(asked::<documents::Answer>),
        answers: &[(200, JSON, Some(told::<documents::Settled>))],
        ..CLOSED
    },
    Operation {
        path: "/v1/ws",
        summary: "The same over a WebSocket: `Do` is what a client says, `Tell` what it receives, one object a message.",
        answers: &[(101, "", None)],
        ..CLOSED
    },
    Operation {
        path: "/v1/executors",
        summary: "What can be called: all of it for the owner, the seeds at work for a guest.",
        with: PAGE,
        answers: &[(200, JSON, Some(told::<documents::ExecutorsPage>))],
        ..CLOSED
    },
    Operation {
        path: "/v1/mnests",
        summary: "What the instance has learnt from use, heaviest first. The owner's only.",
        with: PAGE,
        answers: &[(200, JSON, Some(told::<documents::MnestsPage>))],
        ..CLOSED
    },
    Operation {
        path: "/v1/audit",
        summary: "What happened, newest first, without its content: for a guest, what he has caused.",
        with: PAGE,
        answers: &[(200, JSON, Some(told::<documents::AuditPage>))],
        ..CLOSED
    },
    Operation {
        path: "/v1/schedules",
        summary: "What is planned for the caller: reminders, with their next times.",
        with: PAGE,
        answers: &[(200, JSON, Some(told::<documents::SchedulesPage>))],
        ..CLOSED
    },
    Operation {
        path: "/v1/schedules/{number}",
        method: "delete",
        summary: "Cancels what is planned for the caller.",
        answers: &[(200, JSON, Some(told::<documents::SchedulesChanged>))],
        ..CLOSED
    },
    Operation {
        path: "/hooks/{hook}",
        method: "post",
        summary: "Fires a webhook, signed as Standard Webhooks has it (`webhook-id`, `webhook-timestamp`, \
                  `webhook-signature`). The body is any text of at most 64 KiB.",
        is_open: true,
        with: SIGNED,
        answers: &[(202, JSON, Some(told::<documents::HookTaken>))],
        ..CLOSED
    },
    Operation {
        path: "/v1/models",
        summary: "The one model, for clients of chat completions.",
        answers: &[(200, JSON, Some(told::<documents::Models>))],
        ..CLOSED
    },
    Operation {
        path: "/v1/chat/completions",
        method: "post",
        summary: "A turn in the words of chat completions.",
        takes: Some(asked::<documents::Chat>),
        answers: &[(200, JSON, Some(told::<documents::Completion>)), (200, EVENTS, None)],
        ..CLOSED
    },
];

/// The documents of streams and sockets, which no answer names by itself.
const STREAMED: &[Schema] = &[
    told::<documents::TextEvent>,
    told::<documents::CallEvent>,
    told::<documents::ProgressEvent>,
    told::<documents::CardEvent>,
    told::<documents::DoneEvent>,
    told::<documents::Chunk>,
    told::<documents::Tell>,
    told::<documents::Listened>,
    told::<documents::AgainEvent>,
    told::<documents::ReminderEvent>,
    asked::<documents::Do>,
];

/// OpenAPI 3.1.
#[must_use]
pub fn openapi() -> OpenApi {
    let mut schemas = Schemas::new();
    let mut paths: BTreeMap<_, BTreeMap<_, _>> = BTreeMap::new();
    for operation in OPERATIONS {
        let described = described(operation, &mut schemas);
        paths.entry(operation.path).or_default().insert(operation.method, described);
    }
    for schema in STREAMED {
        schema(&mut schemas);
    }
    let description = format!(
        "The door's channel for programs and pages of this machine. A connection carries one request. A body has at \
         most {MAX_BODY} bytes. The events of a stream are `text`, `call`, `progress`, `card` and `done`, each with \
         the document of that name (`TextEvent`, …)."
    );
    OpenApi {
        openapi: "3.1.0",
        info: Info { title: "Metnos", version: env!("CARGO_PKG_VERSION"), description },
        paths,
        components: Components {
            schemas: schemas.definitions(),
            security_schemes: BTreeMap::from([(TOKEN, SecurityScheme { r#type: "http", scheme: "bearer" })]),
        },
    }
}

/// What a name in a path looks like.
fn named(name: &str) -> ParameterSchema {
    ParameterSchema::pattern(match name {
        "turn" => "^[0-7][0-9A-HJKMNP-TV-Z]{25}$",
        "hook" => "^[a-z0-9-]{1,32}$",
        "number" => "^(0|[1-9][0-9]{0,18})$",
        _ => "^[A-Za-z0-9-]{1,64}$",
    })
}

fn described(operation: &Operation, schemas: &mut Schemas) -> OperationObject {
    let mut schema_of = |schema: Schema| MediaType { schema: Some(schema(schemas)) };
    let is_chat = operation.path.starts_with("/v1/chat") || operation.path == "/v1/models";
    let (kind, problem): (_, Schema) =
        if is_chat { (JSON, told::<documents::ChatProblem>) } else { (PROBLEM, told::<documents::Problem>) };
    let mut responses: BTreeMap<_, ResponseObject> = BTreeMap::new();
    for (status, kind, schema) in operation.answers {
        let response = responses.entry(status.to_string()).or_default();
        response.description = "Done.";
        if !kind.is_empty() {
            response.content.insert(*kind, schema.map_or(MediaType { schema: None }, &mut schema_of));
        }
    }
    let content = Content::from([(kind, schema_of(problem))]);
    responses.insert("default".to_owned(), ResponseObject { description: "Not done, and why.", content });
    let in_path = operation.path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'));
    let in_path = in_path.map(|name| ParameterObject { name, r#in: "path", required: true, schema: named(name) });
    let beside = operation.with.iter();
    let beside = beside.map(|(name, r#in, schema)| ParameterObject { name, r#in, required: false, schema: *schema });
    OperationObject {
        summary: operation.summary,
        responses,
        security: if operation.is_open { Vec::new() } else { vec![BTreeMap::from([(TOKEN, [])])] },
        request_body: operation
            .takes
            .map(|schema| RequestBody { required: true, content: Content::from([(JSON, schema_of(schema))]) }),
        parameters: in_path.chain(beside).collect(),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use hyper::Method;
    use metnos_proto::ids::TurnId;

    use super::*;
    use crate::http::request::route::{NoRoute, find};

    #[test]
    fn described_operations_match_the_routes() {
        let turn = TurnId::new().to_string();
        let methods = [Method::GET, Method::POST, Method::DELETE, Method::PUT, Method::PATCH, Method::HEAD];
        for operation in OPERATIONS {
            let path = operation.path.replace("{turn}", &turn).replace("{card}", "abc").replace("{hook}", "abc");
            let path = path.replace("{number}", "1");
            for method in &methods {
                let described = OPERATIONS
                    .iter()
                    .any(|one| one.path == operation.path && one.method.eq_ignore_ascii_case(method.as_str()));
                let found = find(method, &path);
                assert_eq!(found.is_ok(), described, "{method} {path}");
                if let Err(lost) = found {
                    assert!(matches!(lost, NoRoute::Method(_)), "{method} {path}");
                }
            }
        }
        // As many as there are routes: who adds one describes it.
        assert_eq!(OPERATIONS.len(), 23);
    }

    #[test]
    fn every_document_that_is_named_is_described() {
        let openapi = serde_json::to_value(openapi()).unwrap();
        let text = openapi.to_string();
        for part in text.split("#/components/schemas/").skip(1) {
            let name = part.split('"').next().unwrap();
            assert!(openapi["components"]["schemas"][name].is_object(), "{name}");
        }
    }
}
