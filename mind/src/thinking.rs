//! One thought, from its ask to its end: is it funded, is there a place, which model answers, what did it take. Whatever
//! happens to it, what it held is given back and what it used is reported.

use std::rc::Rc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use metnos_proto::edge::Edge;
use metnos_proto::ids::{Blake3, TurnId};
use metnos_proto::link_async::Notes;
use metnos_proto::models::ModelName;
use metnos_proto::msg::common::{Refusal, RefusalCode};
use metnos_proto::msg::mind::{MAX_DELTA, MAX_PROMPT, MAX_REPLY, Thought, ThoughtDelta, ThoughtUsed, Usage};
use metnos_proto::payload::Sealed;
use metnos_proto::prompt::{MAX_CALLS, MAX_MESSAGES, MAX_TOOL_NAME, MAX_TOOLS, Message, Prompt, Reply};
use tokio::sync::watch;

use crate::error::{Class, CompletionError, quoted};
use crate::funds::{FundLimit, Thinker};
use crate::mind::{Mind, ThoughtKey};
use crate::servers::fair_queue::Lane;
use crate::servers::registry::{self, together, tokens_of};
use crate::servers::substrate::{Completion, CompletionRequest, StreamListener, empty_reply};

/// How long a thought of the planner or of syntd may take in all, in milliseconds: a little less than its asker waits.
pub const THINK_WITHIN_MS: u64 = 290_000;
/// The same for a judgement.
pub const JUDGE_WITHIN_MS: u64 = 55_000;
/// The same for a thought for an executor.
pub const ASSIST_WITHIN_MS: u64 = 55_000;
/// The most tokens that may be asked for in one reply.
pub const MAX_TOKENS: u32 = 1_000_000;

/// What is to be thought.
#[derive(Debug)]
pub struct Plan<'a> {
    /// Whose.
    pub lane: Lane,
    /// Which role's model.
    pub role: &'a str,
    /// The most tokens to answer with.
    pub max_tokens: u32,
    /// The prompt.
    pub prompt: &'a Prompt,
    /// When it must have ended.
    pub until: Instant,
}

/// What came of a plan.
#[derive(Debug)]
pub struct Outcome {
    /// The reply, or why there is none.
    pub reply: Result<Reply, CompletionError>,
    /// The model that was asked last.
    pub model: String,
    /// What all tries took together.
    pub usage: Usage,
    /// What was sent last.
    pub sent: Vec<u8>,
    /// Whether something of a reply had come: then nobody is asked in its place.
    pub produced_something: bool,
}

/// Passes a thought's pieces on to who asked for it, and notices when he does not want it any more.
pub struct Listener<E: Edge, F> {
    /// The way back.
    pub notes: Notes<E>,
    /// Makes a note of a piece; `None` where pieces are not passed on.
    pub note: F,
    /// Told to stop.
    pub stop: watch::Receiver<bool>,
}

impl<E: Edge, F: Fn(String) -> Option<E::Note>> StreamListener for Listener<E, F> {
    async fn piece(&self, text: &str) {
        let mut rest = text;
        while !rest.is_empty() {
            let (piece, more) = rest.split_at(rest.floor_char_boundary(MAX_DELTA));
            rest = more;
            if let Some(note) = (self.note)(piece.to_owned()) {
                // Who is gone is noticed by `stopped`.
                let _ = self.notes.send(note).await;
            }
        }
    }

    async fn stopped(&self) {
        let mut stop = self.stop.clone();
        tokio::select! {
            // Its sender lives as long as the thought does.
            _ = stop.wait_for(|stop| *stop) => {}
            () = self.notes.closed() => {}
        }
    }
}

/// The piece of a thought of the planner.
pub fn delta(turn: TurnId, thought: u32, text: String) -> ThoughtDelta {
    ThoughtDelta { turn, thought, text }
}

/// Milliseconds since the epoch.
#[must_use]
pub fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// The refusal that a failure becomes for who asked.
#[must_use]
pub fn refusal(bad: &CompletionError, role: &str, model: &str) -> Refusal {
    let code = match bad.class {
        Class::Rejected | Class::TooMuch => RefusalCode::Invalid,
        Class::Limited => RefusalCode::Busy,
        Class::Unreachable | Class::Late | Class::Overloaded | Class::Key | Class::Stale | Class::Broken => {
            RefusalCode::Unavailable
        }
    };
    let substrate = model.split('/').next().unwrap_or_default();
    let remedy = match bad.class {
        Class::Key => format!("`metnosctl models key {substrate}`"),
        Class::Stale => format!(
            "`metnosctl models scan` lists what there is, `metnosctl models set {role} SUBSTRATE/MODEL` chooses another"
        ),
        Class::Unreachable | Class::Late => format!("`metnosctl models test {role}` once it is there again"),
        Class::Limited | Class::Overloaded => {
            "try again later, or name a second model for the role in metnos.toml".to_owned()
        }
        Class::Rejected | Class::TooMuch | Class::Broken => {
            format!("`metnosctl models test {model}`; perhaps another model: `metnosctl models set {role} …`")
        }
    };
    Refusal::new(code, &format!("mind.{}", bad.class.name()), bad.why.clone()).remedy(remedy)
}

/// A prompt as it came, if it is one.
///
/// # Errors
/// What is wrong with it.
pub fn read_prompt(sealed: &Sealed) -> Result<(Prompt, usize), Refusal> {
    let invalid = |why: String| Refusal::new(RefusalCode::Invalid, "mind.prompt", why);
    let bytes = sealed.read().map_err(|error| invalid(error.to_string()))?;
    if bytes.len() > MAX_PROMPT {
        return Err(invalid(format!("the prompt is larger than {MAX_PROMPT} bytes")));
    }
    let prompt: Prompt = serde_json::from_slice(&bytes).map_err(|error| invalid(format!("the prompt: {error}")))?;
    sound(&prompt).map_err(invalid)?;
    Ok((prompt, bytes.len()))
}

fn sound(prompt: &Prompt) -> Result<(), String> {
    let plain = |name: &str| {
        (1..=MAX_TOOL_NAME).contains(&name.len())
            && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
    };
    if prompt.messages.is_empty() || prompt.messages.len() > MAX_MESSAGES || prompt.tools.len() > MAX_TOOLS {
        return Err(format!("a prompt has 1 to {MAX_MESSAGES} messages and at most {MAX_TOOLS} tools"));
    }
    if let Some(tool) = prompt.tools.iter().find(|tool| !plain(&tool.name) || !tool.input.is_object()) {
        return Err(format!("`{}` is no tool that can be offered to a model", quoted(&tool.name)));
    }
    let too_many = |message: &Message| match message {
        Message::User { .. } => false,
        Message::Assistant { calls, .. } => calls.len() > MAX_CALLS,
        Message::Results { results } => results.len() > MAX_CALLS,
    };
    if prompt.messages.iter().any(too_many) {
        return Err(format!("a message has at most {MAX_CALLS} calls"));
    }
    if matches!(prompt.messages.last(), Some(Message::Assistant { .. })) {
        return Err("the last message of a prompt is never the model's".to_owned());
    }
    Ok(())
}

impl Mind {
    /// The models of a role.
    ///
    /// # Errors
    /// When it has none: it is never served by the model of another.
    pub fn models_of(&self, role: &str) -> Result<&[ModelName], Refusal> {
        let models = self.registry.roles.get(role).map(Vec::as_slice);
        models.ok_or_else(|| {
            let why = format!("no language model is configured for role `{}`", quoted(role));
            Refusal::new(RefusalCode::Unavailable, "mind.no_model", why).remedy(format!(
                "Metnos works without one, by its reflex; `metnosctl models set {} SUBSTRATE/MODEL` gives the role one",
                quoted(role)
            ))
        })
    }

    /// A funded thought: the planner's, syntd's, or an executor's.
    ///
    /// # Errors
    /// Why it did not begin, or has no reply.
    pub async fn funded<E: Edge, F: Fn(String) -> Option<E::Note>>(
        self: &Rc<Self>,
        which: ThoughtKey,
        plan: (&str, u32),
        sealed: &Sealed,
        back: (Notes<E>, F),
    ) -> Result<(Thought, [Sealed; 2]), Refusal> {
        let ((role, max_tokens), (thinker, turn, thought)) = (plan, which);
        let lane = match thinker {
            Thinker::Planner => Lane::Planner,
            Thinker::Syntd => Lane::Synth,
            Thinker::Executor => Lane::Executor,
        };
        let within = if thinker == Thinker::Executor { ASSIST_WITHIN_MS } else { THINK_WITHIN_MS };
        let until = Instant::now() + Duration::from_millis(within);
        let models = self.models_of(role)?;
        let (prompt, bytes) = self.admitted(max_tokens, sealed).await?;
        let tokens = tokens_of(bytes).saturating_add(max_tokens.into());
        let dearest =
            models.iter().map(|model| self.registry.cost(model, now_ms(), tokens_of(bytes), 0, max_tokens.into()));
        let most = FundLimit { tokens, micro: dearest.max().unwrap_or(0) };
        self.funds.borrow_mut().begin(turn, thinker, thought, most)?;
        let (stop, stopped) = watch::channel(false);
        self.open.borrow_mut().insert(which, stop);
        let listener = Listener { notes: back.0, note: back.1, stop: stopped };
        let outcome = self.outcome(Plan { lane, role, max_tokens, prompt: &prompt, until }, &listener).await;
        self.open.borrow_mut().remove(&which);
        let (outcome, refused) = match outcome {
            Ok(outcome) => (outcome, None),
            Err(refusal) => (never_began(), Some(refusal)),
        };
        self.funds.borrow_mut().settle(turn, most, &outcome.usage);
        let failed = match (&refused, &outcome.reply) {
            (Some(refusal), _) => refusal.rule.clone(),
            (None, Err(bad)) => bad.class.name().to_owned(),
            (None, Ok(_)) => String::new(),
        };
        self.report_usage(ThoughtUsed {
            turn,
            thought,
            role: role.to_owned(),
            model: outcome.model.clone(),
            usage: outcome.usage.clone(),
            sent: Blake3::of(&outcome.sent),
            failed,
        })
        .await;
        match refused {
            Some(refusal) => Err(refusal),
            None => answer(outcome, role),
        }
    }

    /// A judgement: not funded by a turn, in a lane of its own.
    ///
    /// # Errors
    /// As [`Mind::funded`].
    pub async fn judged<E: Edge>(
        &self,
        max_tokens: u32,
        sealed: &Sealed,
        notes: Notes<E>,
    ) -> Result<(Thought, [Sealed; 2]), Refusal> {
        const ROLE: &str = "judge";
        let until = Instant::now() + Duration::from_millis(JUDGE_WITHIN_MS);
        self.models_of(ROLE)?;
        let (prompt, _) = self.admitted(max_tokens, sealed).await?;
        let (_stop, stopped) = watch::channel(false);
        let listener = Listener { notes, note: |_| None, stop: stopped };
        let plan = Plan { lane: Lane::Judge, role: ROLE, max_tokens, prompt: &prompt, until };
        answer(self.outcome(plan, &listener).await?, ROLE)
    }

    /// Refuses a prompt in which one of the keys stands, wherever its writer has it from: it is sent to nobody.
    fn holds_no_key(&self, sealed: &Sealed) -> Result<(), Refusal> {
        let bytes =
            sealed.read().map_err(|error| Refusal::new(RefusalCode::Invalid, "mind.prompt", error.to_string()))?;
        let text = String::from_utf8_lossy(&bytes);
        let Some(name) = self.substrates.iter().find(|(_, one)| one.key_in(&text)).map(|(name, _)| name) else {
            return Ok(());
        };
        let why = format!("the prompt holds the key of `{name}`, so it was not sent");
        Err(Refusal::new(RefusalCode::Denied, "mind.told", why).remedy(format!(
            "take it out of what was said or read; `metnosctl models key {name}` gives it another one"
        )))
    }

    /// Reads a prompt. One at a time, so that a flood of large ones never keeps others from being heard.
    async fn admitted(&self, max_tokens: u32, sealed: &Sealed) -> Result<(Prompt, usize), Refusal> {
        if !(1..=MAX_TOKENS).contains(&max_tokens) {
            let why = format!("a reply has 1 to {MAX_TOKENS} tokens");
            return Err(Refusal::new(RefusalCode::Invalid, "mind.tokens", why));
        }
        let _turn = self.reading.acquire().await;
        tokio::task::yield_now().await;
        let read = read_prompt(sealed)?;
        self.holds_no_key(sealed)?;
        Ok(read)
    }

    /// Asks the models of the role in the owner's order, until one answers.
    ///
    /// # Errors
    /// When there is no place.
    pub async fn outcome(&self, plan: Plan<'_>, listener: &impl StreamListener) -> Result<Outcome, Refusal> {
        let models = self.models_of(plan.role)?;
        let mut all = never_began();
        let place = tokio::select! {
            biased;
            () = listener.stopped() => None,
            place = self.places.take(plan.lane) => Some(place?),
        };
        let Some(_place) = place else { return Ok(Outcome { reply: Ok(empty_reply()), ..all }) };
        let mut whys: Vec<String> = Vec::new();
        for model in models {
            let outcome = self.one(model, &plan, listener).await?;
            let usage = together(&all.usage, &outcome.usage);
            let Err(bad) = &outcome.reply else { return Ok(Outcome { usage, ..outcome }) };
            whys.push(bad.why.clone());
            // What was wrong with the request is wrong with it everywhere.
            let last = matches!(bad.class, Class::Rejected | Class::TooMuch) || outcome.produced_something;
            all = Outcome {
                reply: Err(CompletionError { why: whys.join("; then "), ..bad.clone() }),
                usage,
                model: outcome.model,
                sent: outcome.sent,
                produced_something: false,
            };
            if last {
                break;
            }
        }
        Ok(all)
    }

    async fn one(
        &self,
        model: &ModelName,
        plan: &Plan<'_>,
        listener: &impl StreamListener,
    ) -> Result<Outcome, Refusal> {
        let named = |reply| Ok(Outcome { reply, model: model.to_string(), ..never_began() });
        let failed = |class, why: String| named(Err(CompletionError::new(class, why)));
        let Some(substrate) = self.substrates.get(&model.substrate) else {
            return failed(Class::Unreachable, format!("there is no substrate {}", model.substrate));
        };
        if substrate.is_stale(&model.model) {
            return failed(Class::Stale, format!("{} has no model {} any more", model.substrate, model.model));
        }
        let place = tokio::select! {
            biased;
            () = listener.stopped() => None,
            place = substrate.places.take(plan.lane) => Some(place?),
            () = tokio::time::sleep_until(plan.until.into()) => None,
        };
        let Some(_place) = place else { return named(Ok(empty_reply())) };
        let context = self.registry.context(model).map(|line| line.tokens);
        let wanted = CompletionRequest {
            model: &model.model,
            prompt: plan.prompt,
            max_tokens: plan.max_tokens,
            context,
            until: plan.until,
        };
        let Completion { reply, produced, counted, written, sent } = substrate.invoke(wanted, listener).await;
        let usage = match counted {
            Some(counted) => self.registry.usage(model, now_ms(), counted, sent.len(), written),
            None => registry::nothing(),
        };
        Ok(Outcome { reply, model: model.to_string(), usage, sent, produced_something: produced })
    }
}

fn never_began() -> Outcome {
    let reply = Err(CompletionError::new(Class::Unreachable, "no server was asked"));
    Outcome { reply, model: String::new(), usage: registry::nothing(), sent: Vec::new(), produced_something: false }
}

fn answer(outcome: Outcome, role: &str) -> Result<(Thought, [Sealed; 2]), Refusal> {
    let reply = outcome.reply.map_err(|bad| refusal(&bad, role, &outcome.model))?;
    let internal = |why: String| Refusal::new(RefusalCode::Internal, "mind.reply", why);
    let bytes = serde_json::to_vec(&reply).map_err(|error| internal(error.to_string()))?;
    if bytes.len() > MAX_REPLY {
        return Err(refusal(&CompletionError::too_much("the reply", MAX_REPLY), role, &outcome.model));
    }
    let seal = |bytes: &[u8]| Sealed::new(bytes).map_err(|error| internal(error.to_string()));
    Ok((Thought { model: outcome.model, usage: outcome.usage }, [seal(&bytes)?, seal(&outcome.sent)?]))
}
