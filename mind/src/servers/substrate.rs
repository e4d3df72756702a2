//! One server of models: is it there, which models has it, and a thought of one of them (design: mind §1). It is asked
//! again only where nothing was produced, after a pause that the server may lengthen within bounds, and never for longer
//! than the thought may take.

use std::cell::{Cell, RefCell};
use std::collections::{HashMap, HashSet};
use std::future::Future;
use std::time::{Duration, Instant, SystemTime};

use metnos_outbound::net::takes_key;
use metnos_outbound::secret_file::{Origin, SecretFile};
use metnos_proto::models::{Dialect, SubstrateLine};
use metnos_proto::msg::sandboxd::MIN_REDACTED_SECRET;
use metnos_proto::prompt::{Prompt, Reply, Stop};
use reqwest::header::{ACCEPT, ACCEPT_ENCODING, AUTHORIZATION, CONTENT_ENCODING, CONTENT_TYPE, HeaderMap, HeaderValue};
use reqwest::{Method, Response};

use crate::answer::{all, innermost, unreachable};
use crate::error::{Class, CompletionError};
use crate::format::accumulator::Counted;
use crate::format::{self, ListedModel, Reader, RequestOptions};
use crate::limits::{exhausted, retry_after};
use crate::servers::fair_queue::FairQueue;
use crate::servers::registry::ModelFeatures;

/// How often a server is asked for one thought.
pub const TRIES: u32 = 3;
/// The first pause before it is asked again, in milliseconds; doubled each time, and up to half of it more by chance.
const PAUSE_MS: u64 = 300;
/// The longest pause that a server may ask for and is given, in milliseconds. Who wants more is not asked again.
pub const MAX_PAUSE_MS: u64 = 20_000;
/// How long a server may take to say which models it has, in milliseconds.
pub const LIST_WITHIN_MS: u64 = 15_000;
/// How long a server may take, in the background, to say what its models take, in milliseconds.
pub const LEARN_WITHIN_MS: u64 = 5_000;
/// The most bytes of an answer that is no stream.
pub const MAX_BODY: usize = 4 << 20;
/// The most bytes of a complaint that are read.
const MAX_COMPLAINT: usize = 64 * 1024;
/// The most bytes of one stream.
pub const MAX_STREAM: usize = 64 << 20;
/// The version of Anthropic's interface that is spoken.
const ANTHROPIC_VERSION: &str = "2023-06-01";

/// How long things may take.
#[derive(Debug, Clone, Copy)]
pub struct Timeouts {
    /// Until a reply begins.
    pub first: Duration,
    /// Between two pieces of it.
    pub between: Duration,
}

/// A server of models.
#[derive(Debug)]
pub struct Substrate {
    /// What the owner wrote.
    pub line: SubstrateLine,
    /// Its places.
    pub places: FairQueue,
    patience: Timeouts,
    client: Result<reqwest::Client, String>,
    key: RefCell<Result<SecretFile, String>>,
    /// Models that it has not, or not any more.
    stale: RefCell<HashSet<String>>,
    /// What it has said that its models take.
    said: RefCell<HashMap<String, ModelFeatures>>,
    /// Whether it answered when last asked.
    reachable: Cell<bool>,
    /// It is being asked what its models take.
    learning: Cell<bool>,
    /// It does not know a schema by name.
    plain_json: Cell<bool>,
    /// Until when it wants to be left alone.
    alone_until: Cell<Option<Instant>>,
}

/// A thought that is asked for.
#[derive(Debug, Clone, Copy)]
pub struct CompletionRequest<'a> {
    /// What the server calls the model.
    pub model: &'a str,
    /// The prompt.
    pub prompt: &'a Prompt,
    /// The most tokens to answer with.
    pub max_tokens: u32,
    /// The context that the owner has named.
    pub context: Option<u32>,
    /// When it must have ended.
    pub until: Instant,
}

/// What came of it.
#[derive(Debug)]
pub struct Completion {
    /// The reply, or why there is none.
    pub reply: Result<Reply, CompletionError>,
    /// Whether anything of a reply had come: then nobody may be asked in its place.
    pub produced: bool,
    /// What the server says was used; `None` when it cannot have used anything.
    pub counted: Option<Counted>,
    /// Everything the model wrote, in bytes.
    pub written: usize,
    /// The bytes that were sent.
    pub sent: Vec<u8>,
}

/// Receives the pieces of a thought.
pub trait StreamListener {
    /// The next piece of the text.
    fn piece(&self, text: &str) -> impl Future<Output = ()>;
    /// Comes to an end when nobody wants the thought any more.
    fn stopped(&self) -> impl Future<Output = ()>;
}

impl Substrate {
    /// A server of which nothing is known yet.
    #[must_use]
    pub fn new(
        line: SubstrateLine,
        parallel: u32,
        patience: Timeouts,
        client: Result<reqwest::Client, String>,
        key: Result<SecretFile, String>,
    ) -> Self {
        Self {
            places: FairQueue::of_one(parallel),
            line,
            patience,
            client,
            key: RefCell::new(key),
            stale: RefCell::default(),
            said: RefCell::default(),
            reachable: Cell::new(true),
            learning: Cell::new(false),
            plain_json: Cell::new(false),
            alone_until: Cell::new(None),
        }
    }

    /// Where its key comes from, or why it cannot be read.
    ///
    /// # Errors
    /// In a sentence.
    pub fn key_origin(&self) -> Result<Origin, String> {
        self.key.borrow().as_ref().map(SecretFile::origin).map_err(Clone::clone)
    }

    /// Keeps this key from now on; an empty one takes it away.
    ///
    /// # Errors
    /// In a sentence, which never holds the key.
    pub fn put_key(&self, bytes: &[u8]) -> Result<(), String> {
        if !bytes.trim_ascii().is_empty() && !takes_key(&self.line.server) {
            return Err(format!("the way to {} is not encrypted: a key is not sent there", self.line.server.url()));
        }
        match &mut *self.key.borrow_mut() {
            Ok(holder) => holder.put(bytes).map_err(|error| error.to_string()),
            Err(why) => Err(why.clone()),
        }
    }

    /// Whether it answered when last asked.
    #[must_use]
    pub fn reachable(&self) -> bool {
        self.reachable.get() && self.client.is_ok()
    }

    /// Whether it has said that it has not this model.
    #[must_use]
    pub fn is_stale(&self, model: &str) -> bool {
        self.stale.borrow().contains(model)
    }

    /// What it has said that a model takes.
    #[must_use]
    pub fn said(&self, model: &str) -> Option<ModelFeatures> {
        self.said.borrow().get(model).copied()
    }

    /// Whether it is there.
    ///
    /// # Errors
    /// Why not.
    pub async fn health(&self) -> Result<(), CompletionError> {
        self.discover_models().await.map(drop)
    }

    /// The models that it has. Those that it had and has no more are stale from now on.
    ///
    /// # Errors
    /// When it does not say.
    pub async fn discover_models(&self) -> Result<Vec<ListedModel>, CompletionError> {
        let body = self.get(format::models_path(self.line.tongue)).await;
        let models = self.heard(body.and_then(|body| format::listed(self.line.tongue, &body)))?;
        self.note(&models);
        Ok(models)
    }

    /// Keeps what a list says of its models.
    fn note(&self, models: &[ListedModel]) {
        let mut said = self.said.borrow_mut();
        for model in models {
            let ListedModel { name, context, constrained, parameters } = model;
            if context.is_none() && constrained.is_none() && parameters.is_none() {
                continue;
            }
            let known = said.entry(name.clone()).or_default();
            known.context = context.or(known.context);
            known.constrained = constrained.or(known.constrained);
            known.parameters = parameters.or(known.parameters);
        }
    }

    /// Whether nobody knows yet if this server of the owner's own holds replies to a schema.
    #[must_use]
    pub fn is_unknown(&self, model: &str) -> bool {
        let asks = match self.line.tongue {
            Dialect::OpenAi | Dialect::Ollama => !self.line.server.tls,
            Dialect::Anthropic | Dialect::Xai => false,
        };
        asks && !self.learning.get() && self.said(model).is_none_or(|said| said.constrained.is_none())
    }

    /// Asks a server of the owner's own, in the background and within [`LEARN_WITHIN_MS`], what its models take. What it
    /// does not say stays unknown; whether it answered counts for nothing else.
    pub async fn learn(&self, model: &str) {
        if self.learning.replace(true) {
            return;
        }
        let asked = async {
            let list = self.get(format::models_path(self.line.tongue)).await;
            if let Ok(models) = list.and_then(|body| format::listed(self.line.tongue, &body)) {
                self.note(&models);
                if self.line.tongue == Dialect::OpenAi {
                    // A list that is signed by nobody is that of a server that promises nothing.
                    self.said.borrow_mut().entry(model.to_owned()).or_default().constrained.get_or_insert(false);
                }
            }
            if self.line.tongue == Dialect::Ollama
                && let Ok(body) = self.get("/api/version").await
            {
                // One that does not say which version it is is too old, or none.
                let constrained = format::constrains(&body).unwrap_or(false);
                self.said.borrow_mut().entry(model.to_owned()).or_default().constrained = Some(constrained);
            }
        };
        if tokio::time::timeout(Duration::from_millis(LEARN_WITHIN_MS), asked).await.is_err() {
            tracing::info!(substrate = self.line.name, "the server has not said in time what its models take");
        }
        self.learning.set(false);
    }

    /// Says of one model whether it is among those that the server lists.
    pub fn compare(&self, models: &[ListedModel], model: &str) {
        // Ollama lists a model under its full name, and knows it by the short one too.
        let there = models.iter().any(|one| one.name == model || one.name.strip_suffix(":latest") == Some(model));
        if there {
            self.stale.borrow_mut().remove(model);
        } else {
            self.stale.borrow_mut().insert(model.to_owned());
        }
    }

    /// Asks the server what a model takes, where servers of its kind say so.
    pub async fn describe(&self, model: &str) {
        if self.line.tongue != Dialect::Ollama {
            return;
        }
        let body = format::show_request(model);
        let answer = self.small(Method::POST, "/api/show", Some(body)).await;
        if let Ok((context, tools)) = answer.and_then(|body| format::shown(&body)) {
            let mut said = self.said.borrow_mut();
            let known = said.entry(model.to_owned()).or_default();
            (known.context, known.tools) = (context.or(known.context), tools.or(known.tools));
        }
    }

    /// A thought of one of its models.
    pub async fn invoke(&self, wanted: CompletionRequest<'_>, listener: &impl StreamListener) -> Completion {
        let mut tries = 0;
        loop {
            tries += 1;
            let mut came = self.once(wanted, listener).await;
            let Err(bad) = &came.reply else {
                self.heard::<()>(Ok(())).ok();
                self.stale.borrow_mut().remove(wanted.model);
                return came;
            };
            if bad.class == Class::Stale {
                self.stale.borrow_mut().insert(wanted.model.to_owned());
            }
            let schema = wanted.prompt.schema.is_some() && matches!(self.line.tongue, Dialect::OpenAi | Dialect::Xai);
            // A server that does not know schemas by name is asked once more, in the older way.
            if bad.class == Class::Rejected && schema && !self.plain_json.replace(true) && !came.produced {
                continue;
            }
            let again = bad.class.passes() && !came.produced && tries < TRIES;
            let pause = if again { self.pause(bad, tries) } else { None };
            let left = wanted.until.saturating_duration_since(Instant::now());
            match pause.filter(|pause| *pause < left) {
                None => {
                    let result = self.heard::<()>(Err(bad.clone()));
                    came.reply =
                        came.reply.and(result.map(|()| Reply { text: String::new(), calls: vec![], stop: Stop::End }));
                    return came;
                }
                Some(pause) => tokio::select! {
                    () = tokio::time::sleep(pause) => {}
                    () = listener.stopped() => return Completion { reply: Ok(empty_reply()), ..came },
                },
            }
        }
    }

    /// How long to wait before the next try; `None`: not at all, do not try.
    fn pause(&self, bad: &CompletionError, tries: u32) -> Option<Duration> {
        let doubled = PAUSE_MS << (tries - 1).min(8);
        let chance = getrandom::u64().unwrap_or(0) % (doubled / 2 + 1);
        let own = Duration::from_millis(doubled + chance);
        match bad.after {
            Some(after) if after > Duration::from_millis(MAX_PAUSE_MS) => None,
            Some(after) => Some(after.max(own)),
            None => Some(own),
        }
    }

    async fn once(&self, wanted: CompletionRequest<'_>, listener: &impl StreamListener) -> Completion {
        let asked = RequestOptions {
            model: wanted.model,
            max_tokens: wanted.max_tokens,
            context: wanted.context,
            original: crate::servers::registry::is_original(&self.line),
            plain_json: self.plain_json.get(),
        };
        let sent = format::request(self.line.tongue, wanted.prompt, asked);
        let mut reader = Reader::new(self.line.tongue, wanted.max_tokens, wanted.prompt.schema.is_some());
        let mut began = false;
        let ended = tokio::select! {
            biased;
            () = listener.stopped() => Ok(()),
            ended = self.stream(&sent, &mut reader, &mut began, listener) => ended,
            () = tokio::time::sleep_until(wanted.until.into()) => Err(CompletionError::new(Class::Late, "the thought took longer than it may")),
        };
        // The response is dropped by now, and its connection with it unless all of it was read.
        let (produced, written, counted) = (reader.produced(), reader.written(), reader.counted());
        let late = matches!(&ended, Err(bad) if bad.class == Class::Late);
        let counted = (began || late || ended.is_ok()).then_some(counted);
        Completion { reply: ended.map(|()| reader.reply(Stop::Stopped)), produced, counted, written, sent }
    }

    async fn stream(
        &self,
        sent: &[u8],
        reader: &mut Reader,
        began: &mut bool,
        listener: &impl StreamListener,
    ) -> Result<(), CompletionError> {
        self.left_alone()?;
        let tongue = self.line.tongue;
        let path = format::think_path(tongue);
        let first = Instant::now() + self.patience.first;
        let late = |what: &str, within: Duration| {
            CompletionError::new(Class::Late, format!("{what} within {} s", within.as_secs_f32()))
        };
        let request = self.request(Method::POST, path, Some(sent.to_vec()), format::stream_type(tongue))?;
        let no_first = || late("the server has not begun to reply", self.patience.first);
        let response = tokio::time::timeout_at(first.into(), request.send()).await.map_err(|_| no_first())?;
        let mut response = response.map_err(|error| unreachable(&error))?;
        if let Some(after) = exhausted(response.headers(), SystemTime::now()) {
            self.leave_alone(after);
        }
        self.admissible(&mut response, format::stream_type(tongue)).await?;
        *began = true;
        let (mut read, mut told) = (0_usize, 0_usize);
        let mut until = first;
        loop {
            let next = tokio::time::timeout_at(until.into(), response.chunk()).await;
            let next = next.map_err(|_| {
                if read == 0 { no_first() } else { late("the server has said nothing more", self.patience.between) }
            })?;
            let Some(piece) =
                next.map_err(|error| CompletionError::broken(format!("the connection broke: {}", innermost(&error))))?
            else {
                return reader.end();
            };
            read = read.saturating_add(piece.len());
            if read > MAX_STREAM {
                return Err(CompletionError::too_much("the stream", MAX_STREAM));
            }
            let over = reader.push(&piece)?;
            let said = reader.said();
            if said.len() > told {
                listener.piece(&said[told..]).await;
                told = said.len();
            }
            if over {
                // The end of an honest body is read, so that the connection can be used again; nothing else is.
                let _ = tokio::time::timeout(Duration::from_millis(50), response.chunk()).await;
                return Ok(());
            }
            until = Instant::now() + self.patience.between;
        }
    }

    /// Nobody asks it for so long; for at most [`MAX_PAUSE_MS`], whatever it says.
    fn leave_alone(&self, after: Duration) {
        let until = Instant::now().checked_add(after.min(Duration::from_millis(MAX_PAUSE_MS)));
        self.alone_until.set(until.max(self.alone_until.get()));
    }

    fn left_alone(&self) -> Result<(), CompletionError> {
        let left = self.alone_until.get().map(|until| until.saturating_duration_since(Instant::now()));
        match left.filter(|left| !left.is_zero()) {
            None => Ok(()),
            Some(left) => {
                let why = format!("the server wants to be left alone for {} s more", left.as_secs() + 1);
                Err(CompletionError { after: Some(left), ..CompletionError::new(Class::Limited, why) })
            }
        }
    }

    /// Whether a response is one that can be read.
    async fn admissible(&self, response: &mut Response, wanted: &str) -> Result<(), CompletionError> {
        let status = response.status().as_u16();
        if status != 200 {
            let spent = || exhausted(response.headers(), SystemTime::now()).filter(|_| status == 429);
            let after = retry_after(response.headers(), SystemTime::now()).or_else(spent);
            if let (429, Some(after)) = (status, after) {
                self.leave_alone(after);
            }
            if (300..400).contains(&status) {
                return Err(CompletionError::new(
                    Class::Rejected,
                    format!("the server sends elsewhere ({status}), which is not followed: correct its address"),
                ));
            }
            let body = all(response, MAX_COMPLAINT, Duration::from_secs(5)).await.unwrap_or_default();
            let value = crate::format::json::parse(&body).unwrap_or(serde_json::Value::Null);
            let mut bad = self.scrubbed(format::complaint(Some(status), &value));
            bad.after = after;
            return Err(bad);
        }
        let header =
            |name| response.headers().get(name).and_then(|value: &HeaderValue| value.to_str().ok()).unwrap_or("");
        let encoding = header(CONTENT_ENCODING);
        if !encoding.is_empty() && !encoding.eq_ignore_ascii_case("identity") {
            return Err(CompletionError::broken("the server compresses what was asked for as it is"));
        }
        let kind = header(CONTENT_TYPE).split(';').next().unwrap_or("").trim().to_ascii_lowercase();
        // Some servers announce lines of JSON as JSON.
        let fits = kind == wanted
            || wanted == "application/x-ndjson"
                && matches!(kind.as_str(), "application/json" | "application/ndjson" | "application/jsonl");
        if fits {
            Ok(())
        } else {
            Err(CompletionError::broken(format!(
                "the server announces `{}` instead of `{wanted}`",
                crate::error::quoted(&kind)
            )))
        }
    }

    /// Whether its key stands in these bytes: then they are sent to nobody.
    #[must_use]
    pub fn key_in(&self, prompt: &str) -> bool {
        let holder = self.key.borrow();
        let key = holder.as_ref().ok().and_then(SecretFile::key);
        key.is_some_and(|key| key.reveal().len() >= MIN_REDACTED_SECRET && prompt.contains(key.reveal()))
    }

    /// A server can repeat the key that it was sent: then its words are not passed on.
    fn scrubbed(&self, bad: CompletionError) -> CompletionError {
        let holder = self.key.borrow();
        let key = holder.as_ref().ok().and_then(SecretFile::key);
        // Also a part of it that is long enough to be one.
        let told = key.is_some_and(|key| {
            let key = key.reveal().as_bytes();
            let part = key.len().min(12);
            key.windows(part).any(|part| bad.why.as_bytes().windows(part.len()).any(|said| said == part))
        });
        if told {
            CompletionError {
                why: "the server refuses, and repeats the key in its answer, which is left out".to_owned(),
                ..bad
            }
        } else {
            bad
        }
    }

    async fn get(&self, path: &str) -> Result<Vec<u8>, CompletionError> {
        self.small(Method::GET, path, None).await
    }

    async fn small(&self, method: Method, path: &str, body: Option<Vec<u8>>) -> Result<Vec<u8>, CompletionError> {
        const JSON: &str = "application/json";
        let within = Duration::from_millis(LIST_WITHIN_MS);
        let asked = async {
            let request = self.request(method, path, body, JSON)?;
            let mut response = request.send().await.map_err(|error| unreachable(&error))?;
            self.admissible(&mut response, JSON).await?;
            all(&mut response, MAX_BODY, within).await
        };
        tokio::time::timeout(within, asked)
            .await
            .unwrap_or_else(|_| Err(CompletionError::new(Class::Late, format!("no answer within {LIST_WITHIN_MS} ms"))))
    }

    fn request(
        &self,
        method: Method,
        path: &str,
        body: Option<Vec<u8>>,
        accept: &'static str,
    ) -> Result<reqwest::RequestBuilder, CompletionError> {
        let client = self.client.as_ref().map_err(|why| CompletionError::new(Class::Unreachable, why.clone()))?;
        let url = format!("{}{path}", self.line.server.url());
        let mut headers = HeaderMap::new();
        headers.insert(ACCEPT, HeaderValue::from_static(accept));
        headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
        if self.line.tongue == Dialect::Anthropic {
            headers.insert("anthropic-version", HeaderValue::from_static(ANTHROPIC_VERSION));
        }
        let holder = self.key.borrow();
        if let Some(key) = holder.as_ref().ok().and_then(SecretFile::key).filter(|_| takes_key(&self.line.server)) {
            let bearer = self.line.tongue != Dialect::Anthropic;
            let text = zeroize::Zeroizing::new(if bearer {
                format!("Bearer {}", key.reveal())
            } else {
                key.reveal().to_owned()
            });
            let mut value = HeaderValue::from_str(&text)
                .map_err(|_| CompletionError::new(Class::Key, "the key cannot be a header"))?;
            value.set_sensitive(true);
            headers.insert(
                if bearer { AUTHORIZATION } else { reqwest::header::HeaderName::from_static("x-api-key") },
                value,
            );
        }
        let mut request = client.request(method, url).headers(headers);
        if let Some(body) = body {
            request = request.header(CONTENT_TYPE, "application/json").body(body);
        }
        Ok(request)
    }

    fn heard<T>(&self, result: Result<T, CompletionError>) -> Result<T, CompletionError> {
        let there = !matches!(&result, Err(bad) if matches!(bad.class, Class::Unreachable | Class::Late | Class::Key));
        self.reachable.set(there);
        result.map_err(|bad| {
            let remedy = if bad.class == Class::Key {
                format!("; its key: `metnosctl models key {}`", self.line.name)
            } else {
                String::new()
            };
            CompletionError { why: format!("{}: {}{remedy}", self.line.name, bad.why), ..bad }
        })
    }
}

/// A reply of which nothing has come.
#[must_use]
pub fn empty_reply() -> Reply {
    Reply { text: String::new(), calls: Vec::new(), stop: Stop::Stopped }
}
