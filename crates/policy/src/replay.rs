//! A recorded trace, replayed: the same rules, fed with events instead of a running instance.
//! It keeps no state beyond a trace and touches no daemon. The format is the one in
//! `docs/formats.md`; unknown events and fields are ignored, malformed ones are an error.

use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;

use metnos_proto::doc::policy::Verdict;
use metnos_proto::ids::Blake3;
use metnos_proto::json::{self, RefSite};
use metnos_proto::msg::common::{CallRef, Integrity, Lang, Level, Standing};
use metnos_proto::msg::memoryd as memory;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};

use crate::call::arguments::{Arguments, Filled, Resolved};
use crate::call::fields::Files;
use crate::call::paths::Places;
use crate::call::spec::{Spec, is_atom};
use crate::decision::{self, Answers, Callable, Facts, Finding, Flow, Given, Load, Named, Profile};
use crate::evidence::context::{Confirm, Context, Stored, Who, World};
use crate::evidence::intent::{Slot, Wanted};
use crate::evidence::results::{Output, Part};
use crate::rules::{Judgement, Shown};
use crate::text::words::fold;

/// The most parts of a result that are followed one by one.
pub const MAX_PARTS: usize = 20_000;
/// The most calls of one trace that are remembered.
pub const MAX_CALLS: usize = 100_000;
/// The most catalogues that are kept in mind.
pub const MAX_CATALOGUES: usize = 64;
/// Where the instance of a trace is taken to live.
const HOME: &str = "/home/owner/.local/share/metnos";

metnos_proto::names! {
    /// What kind of line it is.
    pub enum LineKind {
        /// What became of a call.
        Verdict = "verdict",
    }
}

metnos_proto::names! {
    /// Where data comes from.
    pub enum IntegrityLetter {
        /// From the owner.
        Trusted = "T",
        /// From a source that the owner vouches for.
        Vouched = "V",
        /// From elsewhere.
        Untrusted = "X",
    }
}

/// What became of a call of a trace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ReplayVerdict {
    /// What kind of line this is.
    #[serde(rename = "type")]
    pub kind: LineKind,
    /// The number of the call.
    pub seq: u64,
    /// What became of it.
    pub verdict: Verdict,
    /// The rule that decides.
    pub rule: String,
    /// What the turn had read before; not there for an executor that the catalogue does not have.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ctx: Option<IntegrityLetter>,
    /// Why.
    pub why: String,
    /// Where each argument comes from.
    pub fields: Vec<ReplayField>,
}

/// Where one argument comes from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ReplayField {
    /// Its pointer.
    pub ptr: String,
    /// How far it can be trusted.
    pub label: IntegrityLetter,
    /// Who stands behind it.
    pub src: String,
}

/// What makes a line no event.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Malformed(pub String);

fn malformed(what: impl Into<String>) -> Malformed {
    Malformed(what.into())
}

/// How a replay was asked for.
#[derive(Debug, Clone, Copy)]
pub struct Options {
    /// Instead of what the trace says.
    pub level: Option<Level>,
    /// See [`Confirm`]; a replay takes [`Confirm::Literal`] when nothing is said.
    pub confirm: Confirm,
    /// The owner's language.
    pub lang: Lang,
}

/// The engine of a replay: `(state, event) → (state, verdict)`.
pub struct Replay<C> {
    options: Options,
    catalogue: C,
    /// Catalogues that were read, by name.
    known: HashMap<String, Rc<HashMap<String, Spec>>>,
    trace: Option<Trace>,
}

impl<C> std::fmt::Debug for Replay<C> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Replay").field("options", &self.options).finish_non_exhaustive()
    }
}

#[derive(Debug)]
struct Trace {
    world: World,
    specs: Rc<HashMap<String, Spec>>,
    contexts: BTreeMap<String, Context>,
    current: String,
    calls: HashMap<u64, Made>,
    stored: Stored,
    waiting: Option<u64>,
}

/// A call that was judged.
#[derive(Debug)]
struct Made {
    context: String,
    spec: Spec,
    judgement: Option<Judgement>,
    carried_out: bool,
    output: Option<Output>,
}

impl<C: FnMut(&str) -> Result<Value, String>> Replay<C> {
    /// A replay that has `catalogue` read the catalogues that traces name.
    pub fn new(options: Options, catalogue: C) -> Self {
        Self { options, catalogue, known: HashMap::new(), trace: None }
    }

    /// Takes one line; for a call, what is to be printed.
    ///
    /// # Errors
    /// [`Malformed`] when the line is no event, or misses what its kind must have.
    pub fn line(&mut self, line: &str) -> Result<Option<ReplayVerdict>, Malformed> {
        if line.trim().is_empty() {
            return Ok(None);
        }
        let event: Value = serde_json::from_str(line).map_err(|why| malformed(why.to_string()))?;
        if !event.is_object() {
            return Err(malformed("an event is an object"));
        }
        let kind = text(&event, "type")?;
        if kind == "header" {
            self.trace = Some(self.begin(&event)?);
            return Ok(None);
        }
        if !matches!(kind, "turn" | "intent" | "call" | "human" | "result" | "end") {
            return Ok(None);
        }
        let trace = self.trace.as_mut().ok_or_else(|| malformed(format!("`{kind}` comes before the header")))?;
        match kind {
            "turn" => trace.turn(&event)?,
            "intent" => trace.intent(&event)?,
            "call" => return trace.call(&event).map(Some),
            "human" => trace.human(&event)?,
            "result" => trace.result(&event)?,
            // The end of a trace; the next header begins another.
            _ => {}
        }
        Ok(None)
    }

    fn begin(&mut self, event: &Value) -> Result<Trace, Malformed> {
        let level = match (self.options.level, event.get("autonomy").and_then(Value::as_str)) {
            (Some(level), _) => level,
            (None, None | Some("supervised")) => Level::Supervised,
            (None, Some("full")) => Level::Full,
            (None, Some("readonly")) => Level::ReadOnly,
            (None, Some(other)) => return Err(malformed(format!("`autonomy` is {other:?}"))),
        };
        let specs = match event.get("catalog").and_then(Value::as_str) {
            None => Rc::default(),
            Some(name) => self.specs(name)?,
        };
        let list = |key: &str| {
            let items = event.get(key).and_then(Value::as_array).into_iter().flatten();
            items.filter_map(Value::as_str).map(fold).collect()
        };
        let mut world = World::new(level, self.options.confirm, Places::of_instance(HOME));
        world.lang = self.options.lang;
        (world.owner, world.contacts) = (list("owner"), list("contacts"));
        let hosts: std::collections::BTreeSet<String> = list("url_allow");
        world.hosts = hosts.iter().map(|host| host.trim_end_matches('/').to_owned()).collect();
        Ok(Trace {
            world,
            specs,
            contexts: BTreeMap::new(),
            current: String::new(),
            calls: HashMap::new(),
            stored: Stored::default(),
            waiting: None,
        })
    }
}

impl<C: FnMut(&str) -> Result<Value, String>> Replay<C> {
    /// The catalogue of this name, read once.
    fn specs(&mut self, name: &str) -> Result<Rc<HashMap<String, Spec>>, Malformed> {
        if let Some(specs) = self.known.get(name) {
            return Ok(Rc::clone(specs));
        }
        let catalogue = (self.catalogue)(name).map_err(malformed)?;
        let entries = catalogue.as_object().ok_or_else(|| malformed(format!("{name} is no catalogue")))?;
        let spec = |(name, entry): (&String, &Value)| (name.clone(), Spec::from_catalogue(name, entry));
        let specs: Rc<HashMap<String, Spec>> = Rc::new(entries.iter().map(spec).collect());
        if self.known.len() < MAX_CATALOGUES {
            self.known.insert(name.to_owned(), Rc::clone(&specs));
        }
        Ok(specs)
    }
}

fn text<'a>(event: &'a Value, key: &str) -> Result<&'a str, Malformed> {
    event.get(key).and_then(Value::as_str).ok_or_else(|| malformed(format!("`{key}` must be a text")))
}

fn number(event: &Value, key: &str) -> Result<u64, Malformed> {
    event.get(key).and_then(Value::as_u64).ok_or_else(|| malformed(format!("`{key}` must be a number")))
}

impl Trace {
    fn turn(&mut self, event: &Value) -> Result<(), Malformed> {
        let principal = event.get("principal").ok_or_else(|| malformed("a turn has a `principal`"))?;
        let paired = principal.get("paired").and_then(Value::as_bool).unwrap_or(false);
        let who = match principal.get("role").and_then(Value::as_str) {
            Some("owner" | "scheduler") if paired => Who::Owner,
            Some("adult") if paired => Who::Adult,
            Some("guest") if paired => Who::Guest,
            Some(_) | None => Who::Unpaired,
        };
        let prompt = text(event, "prompt")?;
        let name = event.get("context").and_then(Value::as_str).unwrap_or_default();
        let registered = event.get("registered").is_none_or(|registered| registered == &Value::Bool(true));
        name.clone_into(&mut self.current);
        let context = self.contexts.entry(name.to_owned()).or_insert_with(|| Context::new(who));
        context.who = who;
        context.attended = principal.get("role").and_then(Value::as_str) != Some("scheduler");
        context.said(prompt, registered, self.world.lang);
        if let Some(before) = event.get("before").filter(|_| registered) {
            let before = before.as_str().ok_or_else(|| malformed("`before` must be a text"))?;
            context.follows(before, prompt, self.world.lang);
        }
        if let Some(offered) = event.get("agreed").filter(|_| registered) {
            let offered = offered.as_str().ok_or_else(|| malformed("`agreed` must be a text"))?;
            context.agrees_to(offered, self.world.lang);
        }
        Ok(())
    }

    fn context(&mut self) -> Result<&mut Context, Malformed> {
        self.contexts.get_mut(&self.current).ok_or_else(|| malformed("nothing was said yet"))
    }

    fn intent(&mut self, event: &Value) -> Result<(), Malformed> {
        let slots = event.get("slots").and_then(Value::as_array).ok_or_else(|| malformed("an intent has `slots`"))?;
        let slots = slots.iter().map(slot).collect::<Result<Vec<_>, _>>()?;
        let specs = Rc::clone(&self.specs);
        let context = self.context()?;
        // Only words of the household bear an intent out, and only before anything else was read.
        if context.is_clean() && context.who.is_of_household() {
            let words = context.words.clone();
            context.intent.freeze(slots, &words, |name| specs.get(name).cloned());
        }
        Ok(())
    }

    fn call(&mut self, event: &Value) -> Result<ReplayVerdict, Malformed> {
        let (seq, executor) = (number(event, "seq")?, text(event, "executor")?);
        let args =
            event.get("args").filter(|args| args.is_object()).ok_or_else(|| malformed("`args` must be an object"))?;
        if self.calls.len() >= MAX_CALLS {
            return Err(malformed(format!("a trace has at most {MAX_CALLS} calls")));
        }
        self.context()?;
        self.waiting = None;
        let Some(spec) = self.specs.get(executor).cloned() else {
            let why = format!("the catalogue has no executor {executor:?}");
            let rule = "executor.unknown".to_owned();
            let kind = LineKind::Verdict;
            return Ok(ReplayVerdict { kind, seq, verdict: Verdict::Deny, rule, ctx: None, why, fields: Vec::new() });
        };
        let (decided, label) = {
            let context = self.contexts.get(&self.current).ok_or_else(|| malformed("nothing was said yet"))?;
            (self.decide(executor, &spec, args, event, context), context.label.integrity)
        };
        let line = verdict(seq, &decided, label);
        let (decision, judgement) = (decided.verdict.decision, decided.judgement);
        if !spec.effect.reads() {
            self.remember(args, label);
        }
        let context = self.context()?;
        match (&decision, &judgement) {
            (memory::Verdict::Allow, Some(judgement)) => context.carried_out(judgement),
            (memory::Verdict::Ask, Some(_)) => {
                context.asked();
                context.dropped(spec.effect);
            }
            (memory::Verdict::Deny, _) | (_, None) => context.dropped(spec.effect),
        }
        self.waiting = (decision == memory::Verdict::Ask).then_some(seq);
        let carried_out = decision == memory::Verdict::Allow;
        let context = self.current.clone();
        self.calls.insert(seq, Made { context, spec, judgement, carried_out, output: None });
        Ok(line)
    }

    /// Decides with the function that policyd decides with. What a trace does not record (switches, budgets, secrets, lists,
    /// profiles) speaks against nothing.
    fn decide(
        &self,
        executor: &str,
        spec: &Spec,
        args: &Value,
        event: &Value,
        context: &Context,
    ) -> decision::Decision {
        let (sites, results) = self.claims(event);
        let parsed = Arguments::resolved(args.clone(), sites);
        let filled = Filled { value: args.clone(), opaque: Vec::new() };
        let (resolved, files) = (Resolved::new(), Files::default());
        let callable = Callable {
            spec,
            profile: Profile::Unrecorded,
            offered: true,
            undoable: false,
            personal: false,
            at_home: false,
            carries: false,
        };
        decision::decide(&Facts {
            name: executor,
            executor: Named::Callable(callable),
            by_planner: true,
            switches: Finding::Clear,
            turn: Finding::Clear,
            given: Some(Given {
                parsed: Ok(&parsed),
                resolved: Ok(&resolved),
                filled: Some(&filled),
                fault: None,
                withheld: false,
            }),
            secrets: Finding::Clear,
            load: Some(Load::idle(Standing::Owner)),
            budgets: Finding::Clear,
            listed: Finding::Clear,
            flow: Some(Flow { world: &self.world, context, results: &results, files: &files }),
            answers: Answers::default(),
            cost: Finding::Clear,
            way_back: Finding::Clear,
            sandbox_ready: true,
        })
    }

    /// What a call would write keeps the label of the context it was written in.
    fn remember(&mut self, args: &Value, label: Integrity) {
        if label == Integrity::Untrusted {
            let texts = parts(args).into_iter().filter(|part| !part.atom);
            texts.for_each(|part| self.stored.wrote(part.digest, label));
        }
    }

    /// Where the arguments of a call came from, as the trace says, and the outputs that it names.
    fn claims(&self, event: &Value) -> (Vec<RefSite>, BTreeMap<CallRef, &Output>) {
        let (mut sites, mut outputs) = (Vec::new(), BTreeMap::new());
        for (pointer, from) in event.get("refs").and_then(Value::as_object).into_iter().flatten() {
            for one in from.as_array().into_iter().flatten() {
                let seq = one.get("seq").and_then(Value::as_u64);
                let leaf = one.get("ptr").and_then(Value::as_str);
                let output = seq.and_then(|seq| self.calls.get(&seq)).and_then(|made| made.output.as_ref());
                let call = u16::try_from(outputs.len()).ok().and_then(|count| count.checked_add(1)).map(CallRef);
                if let (Some(output), Some(leaf), Some(call)) = (output, leaf, call) {
                    outputs.insert(call, output);
                    sites.push(RefSite { argument: pointer.clone(), call, pointer: leaf.to_owned() });
                }
            }
        }
        (sites, outputs)
    }

    fn human(&mut self, event: &Value) -> Result<(), Malformed> {
        let (seq, answer) = (number(event, "seq")?, text(event, "answer")?);
        if self.waiting != Some(seq) {
            return Ok(());
        }
        self.waiting = None;
        let Some(made) = self.calls.get_mut(&seq) else { return Ok(()) };
        let Some(context) = self.contexts.get_mut(&made.context) else { return Ok(()) };
        match answer {
            "approve" => {
                made.carried_out = true;
                if let Some(judgement) = &made.judgement {
                    context.carried_out(judgement);
                }
            }
            _ => context.dropped(made.spec.effect),
        }
        Ok(())
    }

    fn result(&mut self, event: &Value) -> Result<(), Malformed> {
        let seq = number(event, "seq")?;
        let Some(made) = self.calls.get_mut(&seq).filter(|made| made.carried_out) else { return Ok(()) };
        let Some(judgement) = &made.judgement else { return Ok(()) };
        let value = event.get("output").unwrap_or(&Value::Null);
        let stored = match event.get("label").and_then(Value::as_str) {
            Some("T") => Some(Integrity::Trusted),
            Some("V") => Some(Integrity::Vouched),
            Some(_) => Some(Integrity::Untrusted),
            None => None,
        };
        let failed = event.get("error").is_some_and(|error| !error.is_null());
        let (stored_labels, world) = (&self.stored, &self.world);
        let of_owner = |text: &&str| world.is_owner(text);
        let owners: Vec<Blake3> =
            texts(value).into_iter().filter(of_owner).map(|text| json::digest(&json!(text))).collect();
        let output = if failed {
            Output::failed(made.spec.output.readers)
        } else {
            Output::of(
                &made.spec.output,
                parts(value),
                &judgement.inputs,
                stored,
                |digest| stored_labels.label(digest),
                |digest| owners.contains(digest),
            )
        };
        let full = event.get("release").and_then(Value::as_str).is_none_or(|release| release != "handle");
        if full && let Some(context) = self.contexts.get_mut(&made.context) {
            context.read(output.whole, judgement.foreseen);
        }
        made.output = Some(output);
        Ok(())
    }
}

fn slot(value: &Value) -> Result<Slot, Malformed> {
    let executor = text(value, "executor")?.to_owned();
    let args = value.get("args").and_then(Value::as_object).into_iter().flatten();
    let args = args
        .map(|(pointer, wanted)| {
            let literal = wanted.get("lit").cloned().map(Wanted::Literal);
            (pointer.clone(), literal.unwrap_or(Wanted::Any))
        })
        .collect();
    let max = value.get("max").and_then(Value::as_u64).unwrap_or(1);
    Ok(Slot { executor, args, max: u8::try_from(max).unwrap_or(u8::MAX) })
}

/// The scalar parts of a document in order, at most [`MAX_PARTS`]; what does not fit is one part.
#[must_use]
pub fn parts(value: &Value) -> Vec<Part> {
    let mut found = Vec::new();
    walk(value, String::new(), &mut found);
    if found.len() > MAX_PARTS {
        return vec![Part { pointer: String::new(), digest: json::digest(value), atom: false }];
    }
    found
}

fn walk(value: &Value, pointer: String, found: &mut Vec<Part>) {
    if found.len() > MAX_PARTS {
        return;
    }
    match value {
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                walk(item, json::child(&pointer, &index.to_string()), found);
            }
        }
        Value::Object(map) => {
            for (name, item) in map {
                walk(item, json::child(&pointer, name), found);
            }
        }
        scalar @ (Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_)) => {
            found.push(Part { pointer, digest: json::digest(scalar), atom: is_atom(scalar) })
        }
    }
}

/// The texts of a document.
fn texts(value: &Value) -> Vec<&str> {
    match value {
        Value::Array(items) => items.iter().flat_map(texts).collect(),
        Value::Object(map) => map.values().flat_map(texts).collect(),
        Value::String(text) => vec![text.as_str()],
        Value::Null | Value::Bool(_) | Value::Number(_) => Vec::new(),
    }
}

const fn letter(integrity: Integrity) -> IntegrityLetter {
    match integrity {
        Integrity::Trusted => IntegrityLetter::Trusted,
        Integrity::Vouched => IntegrityLetter::Vouched,
        Integrity::Untrusted => IntegrityLetter::Untrusted,
    }
}

/// The line that is printed for a call.
fn verdict(seq: u64, decided: &decision::Decision, context: Integrity) -> ReplayVerdict {
    let field = |field: &Shown| ReplayField {
        ptr: field.pointer.clone(),
        label: letter(field.label.integrity),
        src: field.source.name().to_owned(),
    };
    // The ruling's own words, without what the profile of this replay would grant.
    let ruling = decided.judgement.as_ref().map(|judgement| &judgement.ruling);
    let why =
        ruling.filter(|ruling| ruling.rule == decided.verdict.rule).map_or(&decided.verdict.why, |ruling| &ruling.why);
    ReplayVerdict {
        kind: LineKind::Verdict,
        seq,
        verdict: match decided.verdict.decision {
            memory::Verdict::Allow => Verdict::Allow,
            memory::Verdict::Ask => Verdict::Ask,
            memory::Verdict::Deny => Verdict::Deny,
        },
        rule: decided.verdict.rule.clone(),
        ctx: Some(letter(context)),
        why: why.clone(),
        fields: decided.judgement.iter().flat_map(|judgement| &judgement.fields).map(field).collect(),
    }
}
