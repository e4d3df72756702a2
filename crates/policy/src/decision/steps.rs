//! Each step of the decision, in a function of its own.

use metnos_proto::executor::{Capability, PathGrant, Role};
use metnos_proto::json::{self, JsonError, RefSite};
use metnos_proto::msg::common::RefusalCode;
use metnos_proto::msg::memoryd as memory;
use metnos_proto::msg::schedule::frozen_call;

use super::{Callable, Facts, Finding, Flow, Found, Given, Load, Named, Profile, Step, Stored, Verdict};
use crate::call::arguments::{self, Arguments, Filled, field};
use crate::call::fields::{CallRequest, Claim};
use crate::call::paths::{self, Places};
use crate::call::spec::{Effect, Spec};
use crate::rules::guard::{self, shown};
use crate::rules::{self, Decision as RuleDecision, Judgement};
use crate::shares::{HANDLES, KEPT_BYTES, RUNNING, Share};
use crate::text::words::Words;
use metnos_proto::executor::Class;
use serde_json::Value;

/// The most calls of one turn, whatever becomes of them.
pub const MAX_CALLS_PER_TURN: u32 = 64;
/// The most calls of one turn that run at once.
pub const MAX_RUNNING_PER_TURN: usize = 8;
/// The most calls of the instance that run at once.
pub const MAX_RUNNING: usize = RUNNING.all;
/// The most results kept for all turns together: each is a descriptor.
pub const MAX_HANDLES: usize = HANDLES.all;
/// The most bytes of results kept for all turns together, when another call begins.
pub const MAX_KEPT_BYTES: usize = KEPT_BYTES.all;

pub use metnos_proto::executor::{HOME, KEEP, OWN, SEEN};

/// The rule that denies a quarantined executor.
pub const QUARANTINED: &str = "executor.quarantined";
/// The rule that denies an executor that was never signed.
pub const STAGED: &str = "executor.staged";
/// The rule that denies an archived executor.
pub const ARCHIVED: &str = "executor.archived";
/// The rule that denies a revoked executor.
pub const REVOKED: &str = "executor.revoked";
/// The rule that denies a planner what no planner is offered.
pub const NOT_OFFERED: &str = "executor.not_offered";
/// The rule that denies what was signed and is not callable now.
pub const WAITING: &str = "executor.waiting";
/// The rule that denies what changes something in a turn that only reads.
pub const READS_ONLY: &str = "schedule.reads";
/// The rule that denies a call that needs an approval in such a turn.
pub const UNASKED: &str = "schedule.unasked";
/// The rule by which the owner has approved a card.
pub const GIVEN: &str = "approval.given";
/// The rule by which the owner has said "always".
pub const STORED: &str = "grant.given";
/// The rule by which the owner has said "never".
pub const NEVER: &str = "grant.never";

/// The rules whose question a stored "always" may answer; every other question is put each time (design: policy §4).
const ANSWERABLE: [&str; 7] = [
    "net_read.url",
    "self_modify.selector",
    "self_create.dest",
    "self_create.place",
    "destroy.selector",
    "level.readonly",
    "guest.write",
];

/// Whether "always" can be said to a question of this rule: the act is at home and can be undone, or is the very same request.
#[must_use]
pub fn can_be_stored(rule: &str, spec: &Spec) -> bool {
    let at_home = matches!(spec.effect, Effect::Of(Class::SelfCreate | Class::SelfModify | Class::Destroy));
    let same_request = spec.effect == Effect::Of(Class::NetRead) && rule == "net_read.url";
    (at_home && spec.reversible || same_request) && ANSWERABLE.contains(&rule)
}

/// The denial while sandboxd is not connected, or does not trust this instance's key yet.
#[must_use]
pub fn sandbox_gone() -> Verdict {
    Verdict::deny("sandbox.gone", "sandboxd, which runs executors, is not there")
        .with_remedy("it is restarted by itself; try again in a moment, or look at `metnosctl status`")
        .with_code(RefusalCode::Unavailable)
}

/// The denial where a fact that the decision needs was not gathered.
pub(super) fn not_gathered(what: &str) -> Verdict {
    Verdict::deny("facts.missing", format!("it is not known {what}, so the call is denied"))
        .with_remedy("this is a fault of Metnos: `metnosctl doctor` shows what else is wrong")
        .with_code(RefusalCode::Internal)
}

/// The denial of a call that needs an approval, in an unattended turn.
fn unasked(question: &Verdict) -> Verdict {
    let why = format!("an unattended turn asks for no approval: {}", question.why);
    Verdict::deny(UNASKED, why).with_remedy("ask for it yourself")
}

fn invalid(rule: &str, why: String) -> Verdict {
    Verdict::deny(rule, why).with_code(RefusalCode::Invalid)
}

/// A decision that is being made: the facts, and what earlier steps have found in them.
pub(super) struct Case<'a> {
    facts: &'a Facts<'a>,
    callable: Option<Callable<'a>>,
    judgement: Option<Judgement>,
}

impl<'a> Case<'a> {
    pub(super) const fn new(facts: &'a Facts<'a>) -> Self {
        Self { facts, callable: None, judgement: None }
    }

    pub(super) fn into_judgement(self) -> Option<Judgement> {
        self.judgement
    }

    /// Takes one step; `question` is what the owner would be asked by the steps before.
    pub(super) fn take(&mut self, step: Step, question: Option<&Verdict>) -> Found {
        let facts = self.facts;
        match step {
            Step::Known => self.known(),
            Step::Halted => finding(facts.switches, "whether the owner has switched it off"),
            Step::TurnOpen => self.turn_open(),
            Step::Schema => self.schema(),
            Step::Guard => self.guard(),
            Step::Secrets => finding(facts.secrets, "whether secrets are kept"),
            Step::Budgets => over_quota(facts.load.as_ref())
                .map_or_else(|| finding(facts.budgets, "whether there is room for it"), Found::Denies),
            Step::Profile => self.profile(),
            Step::Flow => self.flow(),
            Step::Autonomy => self.autonomy(),
            Step::Answered => self.answered(question),
            Step::Cost => self.unless_asked(question, facts.cost, "what it costs"),
            Step::WayBack => self.unless_asked(question, facts.way_back, "whether it can be undone"),
            Step::Ready if facts.sandbox_ready => Found::Passed,
            Step::Ready => Found::Denies(sandbox_gone()),
        }
    }

    fn known(&mut self) -> Found {
        let facts = self.facts;
        match facts.executor {
            Named::Unknown => Found::Denies(unknown(facts.name)),
            Named::Closed { rule: WAITING, .. } if !facts.sandbox_ready => Found::Denies(sandbox_gone()),
            Named::Closed { rule, why } => Found::Denies(closed(facts.name, rule, why)),
            Named::Callable(callable) if facts.by_planner && !callable.offered => {
                Found::Denies(not_offered(facts.name))
            }
            Named::Callable(callable) => {
                self.callable = Some(callable);
                Found::Passed
            }
        }
    }

    fn turn_open(&self) -> Found {
        let reads = self.callable.is_some_and(|callable| callable.spec.effect.reads());
        if self.reads_only() && !reads && !self.is_frozen() {
            let why = "a request that is carried out by itself changes nothing but what was fixed when it was made";
            let verdict = Verdict::deny(READS_ONLY, why).with_remedy("ask for it yourself");
            return Found::Denies(verdict);
        }
        finding(self.facts.turn, "whether the turn goes on")
    }

    /// Whether nobody is there who could be asked, and nothing may be changed.
    fn reads_only(&self) -> bool {
        self.facts.flow.is_some_and(|flow| flow.context.reads_only)
    }

    /// Whether this very call was fixed when the schedule was made: it makes or changes something that can be taken back.
    fn is_frozen(&self) -> bool {
        let (Some(callable), Some(flow), Some(given)) = (self.callable, self.facts.flow, self.facts.given) else {
            return false;
        };
        let is_mild = matches!(callable.spec.effect, Effect::Of(Class::SelfCreate | Class::SelfModify));
        let fixed = |given: &Arguments| {
            flow.context.frozen.contains(&frozen_call(self.facts.name, given.value()))
                && says_no_more(given.value(), "", callable.spec, flow.context.own_words())
        };
        is_mild && callable.spec.reversible && given.parsed.is_ok_and(fixed)
    }

    fn schema(&self) -> Found {
        let (Some(callable), Some(given)) = (self.callable, self.facts.given) else {
            return Found::Denies(not_gathered("what its arguments are"));
        };
        if given.withheld {
            return Found::Passed;
        }
        unfit(self.facts, callable, &given).map_or(Found::Passed, Found::Denies)
    }

    /// The arguments as they are decided on.
    fn filled(&self) -> Option<(Callable<'a>, &'a Filled)> {
        Some((self.callable?, self.facts.given?.filled?))
    }

    fn world(&self) -> Option<&'a crate::evidence::context::World> {
        Some(self.facts.flow?.world)
    }

    fn guard(&self) -> Found {
        if self.facts.given.is_some_and(|given| given.withheld) {
            return Found::Passed;
        }
        let (Some((callable, filled)), Some(world)) = (self.filled(), self.world()) else {
            return Found::Denies(not_gathered("which files it names"));
        };
        arguments::guarded(callable.spec, &filled.value)
            .into_iter()
            .find_map(|(pointer, text)| guard::check(&field(&pointer), text, &world.places))
            .map_or(Found::Passed, |found| {
                Found::Denies(Verdict::deny(found.rule, found.why).with_remedy(found.remedy))
            })
    }

    fn profile(&self) -> Found {
        let (Some((callable, filled)), Some(world)) = (self.filled(), self.world()) else {
            return Found::Denies(not_gathered("which files it names"));
        };
        match outside_profile(callable, filled, &world.places) {
            Some(verdict) => Found::Denies(verdict),
            None => finding(self.facts.listed, "whether what it needs is listed"),
        }
    }

    fn flow(&mut self) -> Found {
        let (Some((callable, filled)), Some(flow), Some(given)) = (self.filled(), self.facts.flow, self.facts.given)
        else {
            return Found::Denies(not_gathered("where its arguments came from"));
        };
        let judgement = judged(&flow, &given, callable.spec, filled);
        let found = if rules::is_about_autonomy(judgement.ruling.rule) {
            Found::Passed
        } else {
            ruled(&judgement, callable.profile.capabilities())
        };
        self.judgement = Some(judgement);
        found
    }

    fn autonomy(&self) -> Found {
        match (&self.judgement, self.callable) {
            (Some(judgement), Some(callable)) if rules::is_about_autonomy(judgement.ruling.rule) => {
                ruled(judgement, callable.profile.capabilities())
            }
            (Some(_), Some(_)) => Found::Passed,
            (None, _) | (_, None) => Found::Denies(not_gathered("what this principal may do")),
        }
    }

    fn answered(&self, question: Option<&Verdict>) -> Found {
        let Some(question) = question else { return Found::Passed };
        if let Some(card) = self.facts.answers.card {
            let why = format!("the owner has approved the card {card}: {}", question.why);
            return Found::Answers(Verdict::allow(GIVEN, why));
        }
        let storable = self.callable.is_some_and(|callable| can_be_stored(&question.rule, callable.spec));
        match self.facts.answers.stored {
            Stored::Never(id) => {
                let why = format!("the owner has said never to this, on the card {id}");
                let remedy = format!("`metnosctl grant revoke {id}` takes that back; then it is asked again");
                Found::Denies(Verdict::deny(NEVER, why).with_remedy(&remedy))
            }
            Stored::Always(id) if storable => {
                let why = format!("the owner has said so for longer than once, on the card {id}");
                Found::Answers(Verdict::allow(STORED, why))
            }
            Stored::Always(_) | Stored::None if self.reads_only() => Found::Denies(unasked(question)),
            Stored::Always(_) | Stored::None => Found::Passed,
        }
    }

    /// A finding that asks only where the owner is not asked already, and has not approved exactly this on a card.
    fn unless_asked(&self, question: Option<&Verdict>, found: Finding<'_>, what: &str) -> Found {
        match finding(found, what) {
            Found::Asks(_) if question.is_some() || self.facts.answers.card.is_some() => Found::Passed,
            Found::Asks(verdict) if self.reads_only() => Found::Denies(unasked(&verdict)),
            found @ (Found::Passed | Found::Allows(_) | Found::Asks(_) | Found::Answers(_) | Found::Denies(_)) => found,
        }
    }
}

/// Whether every payload text consists of words of the request: the planner that froze the call could add none of its own.
fn says_no_more(value: &Value, pointer: &str, spec: &Spec, words: &Words) -> bool {
    match value {
        Value::String(text) if spec.role(pointer) == Role::Payload => {
            let mut said = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).peekable();
            said.peek().is_some() && said.all(|word| words.mention(word))
        }
        Value::Array(all) => {
            let at = |index: usize| json::child(pointer, &index.to_string());
            all.iter().enumerate().all(|(index, one)| says_no_more(one, &at(index), spec, words))
        }
        Value::Object(all) => all.iter().all(|(name, one)| says_no_more(one, &json::child(pointer, name), spec, words)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => true,
    }
}

fn finding(finding: Finding<'_>, what: &str) -> Found {
    match finding {
        Finding::Clear => Found::Passed,
        Finding::Unknown => Found::Denies(not_gathered(what)),
        Finding::Against(verdict) => match verdict.decision {
            memory::Verdict::Ask => Found::Asks(verdict.clone()),
            memory::Verdict::Deny => Found::Denies(verdict.clone()),
            // An objection that allows is none of ours.
            memory::Verdict::Allow => Found::Denies(not_gathered(what)),
        },
    }
}

fn unknown(name: &str) -> Verdict {
    Verdict::deny("executor.unknown", format!("there is no executor named {}", shown(name)))
        .with_remedy("`metnosctl executor list` shows those that there are")
        .with_code(RefusalCode::Unknown)
}

fn closed(name: &str, rule: &str, why: &str) -> Verdict {
    let (remedy, state) = match rule {
        QUARANTINED => (
            "`metnosctl executor lift` says why and whether it can be let back; after an upgrade of Metnos it is `metnosctl executor relock --all`",
            "",
        ),
        ARCHIVED => ("`metnosctl executor restore` brings it back, with a reason", "it is in the archive: "),
        REVOKED => {
            ("nothing brings this version back; `metnosctl executor show` still shows it", "its signature is revoked: ")
        }
        STAGED => ("`metnosctl executor sign` shows what nobody has approved, and asks for your yes", ""),
        _ => ("`metnosctl executor verify` says what lies in the pool", ""),
    };
    Verdict::deny(rule, format!("{} may not be called: {state}{why}", shown(name))).with_remedy(remedy)
}

fn not_offered(name: &str) -> Verdict {
    let why = format!(
        "{} is not for planners: Metnos calls it itself for a person who has asked for just that, or the owner does by its name",
        shown(name)
    );
    Verdict::deny(NOT_OFFERED, why).with_remedy("`metnosctl run` calls it by its name")
}

/// Why the arguments cannot be decided on.
fn unfit(facts: &Facts<'_>, callable: Callable<'_>, given: &Given<'_>) -> Option<Verdict> {
    let parsed = match given.parsed {
        Ok(parsed) => parsed,
        Err(why) => return Some(malformed(why)),
    };
    let results = facts.flow.map(|flow| flow.results);
    let is_kept = |site: &&RefSite| results.is_some_and(|results| results.contains_key(&site.call));
    if let Some(site) = parsed.references().iter().find(|site| !is_kept(site)) {
        let why = format!("{} refers to {}, which has left no result in this turn", field(&site.argument), site.call);
        return Some(invalid("arguments.reference", why));
    }
    if callable.undoable && parsed.value().get(KEEP).is_some() {
        let why = format!("`{KEEP}` is set by policyd alone: under that name an act keeps what takes it back");
        return Some(invalid("arguments.reserved", why).with_remedy("leave it out"));
    }
    if callable.personal && parsed.value().get(OWN).is_some() {
        let why = format!("`{OWN}` is set by policyd alone: it is a file in the private folder of the person who asks");
        return Some(invalid("arguments.reserved", why).with_remedy("leave it out"));
    }
    if callable.at_home && parsed.value().get(HOME).is_some() {
        let why = format!("`{HOME}` is set by policyd alone: it is the place that the owner has written into USER.md");
        return Some(invalid("arguments.reserved", why).with_remedy("leave it out, or name a place"));
    }
    if callable.carries && parsed.value().get(SEEN).is_some() {
        let why = format!("`{SEEN}` is set by policyd alone: it is the state of a scheduled call");
        return Some(invalid("arguments.reserved", why).with_remedy("leave it out"));
    }
    if let Err(refusal) = given.resolved {
        return Some(Verdict {
            code: refusal.code,
            remedy: refusal.remedy.clone(),
            ..Verdict::deny("arguments.reference", format!("a reference has no value: {}", refusal.why))
        });
    }
    // Values of references come from sandboxd.
    if given.filled.is_none() && !facts.sandbox_ready {
        return Some(sandbox_gone());
    }
    if given.filled.is_none() {
        return Some(invalid("arguments.reference", "a reference that must be known has no value".to_owned()));
    }
    let fault = given.fault?;
    Some(
        invalid("schema.input", fault.to_owned())
            .with_remedy("`metnosctl executor show` prints the arguments that an executor takes"),
    )
}

fn malformed(why: &JsonError) -> Verdict {
    let rule = match why {
        JsonError::BadReference { .. } | JsonError::TooManyReferences { .. } => "arguments.reference",
        JsonError::TooLong { .. }
        | JsonError::TooDeep { .. }
        | JsonError::DuplicateKey { .. }
        | JsonError::NotUtf8 { .. }
        | JsonError::Syntax { .. }
        | JsonError::NotAnObject { .. } => "arguments.json",
    };
    invalid(rule, format!("the arguments do not hold: {why}"))
}

/// Why shared places have no room for another call.
fn over_quota(load: Option<&Load>) -> Option<Verdict> {
    let Some(load) = load else { return Some(not_gathered("how many calls run")) };
    let busy = |rule: &str, why: String| Some(Verdict::deny(rule, why).with_code(RefusalCode::Busy));
    if !load.within_rate {
        let why = format!("{} calls were decided within a minute, which is the limit", load.calls_per_minute);
        return busy("quota.rate", why).map(|verdict| verdict.with_remedy("wait a moment"));
    }
    if load.calls > MAX_CALLS_PER_TURN {
        let why = format!("this turn has made {MAX_CALLS_PER_TURN} calls, which is the limit of one turn");
        return busy("quota.turn", why);
    }
    if load.running_in_turn >= MAX_RUNNING_PER_TURN {
        let why = format!("{MAX_RUNNING_PER_TURN} calls of this turn are running, which is the limit");
        return busy("quota.concurrent", why);
    }
    let full = |share: Share, taken| share.full(load.standing, taken);
    if let Some(bound) = full(RUNNING, load.running) {
        return busy("quota.concurrent", format!("{bound} calls are running, which is the limit"));
    }
    if let Some(bound) = full(HANDLES, load.handles) {
        return busy("quota.results", format!("{bound} results are kept for open turns, which is the limit"));
    }
    if let Some(bound) = full(KEPT_BYTES, load.kept_bytes) {
        return busy("quota.results", format!("results of {bound} bytes are kept for open turns, which is the limit"));
    }
    None
}

/// Why a path lies outside of what the signed profile grants.
fn outside_profile(callable: Callable<'_>, filled: &Filled, places: &Places) -> Option<Verdict> {
    let Profile::Signed(capabilities) = callable.profile else { return None };
    let granted = granted_folders(capabilities, places);
    arguments::paths(callable.spec, &filled.value).into_iter().find_map(|(pointer, text)| {
        let lexical = paths::resolve(text, places);
        let what = if lexical.climbs {
            "leaves the workspace by `..`".to_owned()
        } else if granted.iter().any(|folder| paths::within(&lexical.path, folder)) {
            return None;
        } else {
            format!("names {}, outside of what {} may see", shown(&lexical.path), callable.spec.name)
        };
        let folders = folders_in_words(capabilities);
        let why = format!("{} is {}: it {what}: {folders}", field(&pointer), shown(text));
        Some(Verdict::deny("profile.paths", why).with_remedy("copy what you need into the workspace"))
    })
}

/// The folders that a profile grants, absolute.
fn granted_folders(capabilities: &[Capability], places: &Places) -> Vec<String> {
    let entries = capabilities.iter().filter_map(|capability| match capability {
        Capability::FsRead(entries) | Capability::FsWrite(entries) => Some(entries),
        Capability::Net(_) | Capability::Exec(_) | Capability::Secret(_) => None,
    });
    entries
        .flatten()
        .filter_map(|entry| PathGrant::parse(entry))
        .map(|grant| match grant {
            PathGrant::Workspace(rest) => paths::resolve(&rest, places).path,
            PathGrant::Home(rest) => paths::resolve(&format!("~/{rest}"), places).path,
            PathGrant::Absolute(path) => path,
        })
        .collect()
}

/// What a profile grants of files, in words.
fn folders_in_words(capabilities: &[Capability]) -> String {
    let entries: Vec<&str> = capabilities
        .iter()
        .filter(|capability| matches!(capability, Capability::FsRead(_) | Capability::FsWrite(_)))
        .flat_map(|capability| capability.entries().iter().map(String::as_str))
        .collect();
    if entries.is_empty() {
        "it may see no files".to_owned()
    } else {
        format!("expected a path below {}", entries.join(", "))
    }
}

/// Labels and intent (policy §7), then autonomy (policy §2).
fn judged(flow: &Flow<'_>, given: &Given<'_>, spec: &Spec, filled: &Filled) -> Judgement {
    let sites = given.parsed.map(Arguments::references).unwrap_or_default();
    let output = |site: &RefSite| flow.results.get(&site.call).copied();
    let opaque = filled.opaque.iter().map(|pointer| {
        let site = sites.iter().find(|site| site.argument == *pointer);
        let label = site.and_then(|site| Some(output(site)?.below(&site.pointer)));
        (pointer.clone(), label.unwrap_or(flow.context.label))
    });
    let claims = sites.iter().filter_map(|site| {
        Some(Claim { pointer: site.argument.clone(), output: output(site)?, leaf: site.pointer.clone() })
    });
    let (opaque, claims) = (opaque.collect(), claims.collect());
    let asked = CallRequest { spec, args: &filled.value, opaque: &opaque, claims, files: flow.files.clone() };
    rules::judge(flow.world, flow.context, &asked)
}

fn ruled(judgement: &Judgement, capabilities: &[Capability]) -> Found {
    let ruling = &judgement.ruling;
    match ruling.decision {
        RuleDecision::Allow => {
            let why = format!("{}; within {}", ruling.why, grants_in_words(capabilities));
            Found::Allows(Verdict::allow(ruling.rule, why))
        }
        RuleDecision::Deny => Found::Denies(Verdict::deny(ruling.rule, ruling.why.clone())),
        RuleDecision::Ask => Found::Asks(Verdict::ask(ruling.rule, ruling.why.clone())),
    }
}

/// What an allowed call is granted, for the chronicle.
fn grants_in_words(capabilities: &[Capability]) -> String {
    let entries: Vec<&str> =
        capabilities.iter().flat_map(|capability| capability.entries().iter().map(String::as_str)).collect();
    if entries.is_empty() { "its arguments".to_owned() } else { entries.join(", ") }
}
