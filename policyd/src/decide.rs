//! May this happen? A pure, total function of facts and state, in the order of the design
//! (architecture §3): executor → arguments → guard → profile → quotas → labels → autonomy.
//! It touches nothing, and whatever it does not understand is denied.

use std::collections::BTreeMap;

use metnos_policy::context::{Context, World};
use metnos_policy::fields::{Asked, Claim, Files};
use metnos_policy::results::Output;
use metnos_policy::rules::{self, Decision, Judgement, Ruling};
use metnos_policy::spec::Spec;
use metnos_proto::executor::{Capability, Manifest, PathGrant};
use metnos_proto::json::{JsonError, RefSite};
use metnos_proto::msg::common::{CallRef, Refusal, RefusalCode, Standing};
use metnos_proto::msg::memoryd as memory;

use crate::arguments::{self, Arguments, Filled, Resolved, field};
use crate::contract::Input;
use crate::guard::{self, shown};
use crate::paths::{self, Places};
use crate::shares::{HANDLES, KEPT_BYTES, RUNNING, Share, Taken};
use crate::undo::KEEP;

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

/// The longest name of an executor that is recorded as it came, in bytes.
pub const MAX_NAME_RECORDED: usize = 64;
/// The most bytes of a reason: it stands in the chronicle and in a frame.
pub const MAX_WHY: usize = 2_000;

/// The rule that denies what was set aside.
pub const QUARANTINED: &str = "executor.quarantined";
/// The rule that denies what was never signed.
pub const STAGED: &str = "executor.staged";
/// The rule that denies what the owner has put away.
pub const ARCHIVED: &str = "executor.archived";
/// The rule that denies what the owner has disowned.
pub const REVOKED: &str = "executor.revoked";
/// The rule that denies a planner what no planner is offered.
pub const NOT_OFFERED: &str = "executor.not_offered";
/// The rule that denies what was signed and is not callable now.
pub const WAITING: &str = "executor.waiting";

/// What was decided, by which rule, and why, for a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verdict {
    /// Allow, deny or ask.
    pub decision: memory::Verdict,
    /// The rule that fired, as in the documentation.
    pub rule: String,
    /// Why.
    pub why: String,
    /// What to do about it; empty when nothing can be done.
    pub remedy: String,
    /// What kind of no it is, for a verdict that does not allow.
    pub code: RefusalCode,
}

impl Verdict {
    /// It may happen.
    #[must_use]
    pub fn allow(rule: &str, why: impl Into<String>) -> Self {
        Self { decision: memory::Verdict::Allow, ..Self::deny(rule, why) }
    }

    /// It may not.
    #[must_use]
    pub fn deny(rule: &str, why: impl Into<String>) -> Self {
        Self {
            decision: memory::Verdict::Deny,
            rule: rule.to_owned(),
            why: shorten(why.into()),
            remedy: String::new(),
            code: RefusalCode::Denied,
        }
    }

    /// The same, saying what to do.
    #[must_use]
    pub fn with_remedy(mut self, remedy: &str) -> Self {
        remedy.clone_into(&mut self.remedy);
        self
    }

    /// The same, as another kind of no.
    #[must_use]
    pub fn with_code(mut self, code: RefusalCode) -> Self {
        self.code = code;
        self
    }

    /// Whether it may happen, now and without asking.
    #[must_use]
    pub fn is_allow(&self) -> bool {
        match self.decision {
            memory::Verdict::Allow => true,
            memory::Verdict::Deny | memory::Verdict::Ask => false,
        }
    }

    /// The verdict as the planner and the owner hear it.
    #[must_use]
    pub fn refusal(&self) -> Refusal {
        Refusal::new(self.code, &self.rule, self.why.clone()).remedy(self.remedy.clone())
    }
}

fn shorten(mut why: String) -> String {
    let mut end = MAX_WHY.min(why.len());
    while !why.is_char_boundary(end) {
        end -= 1;
    }
    why.truncate(end);
    why
}

/// The executor that a call names, as the registry knows it.
#[derive(Debug, Clone, Copy)]
pub enum Named<'a> {
    /// There is none of this name.
    Unknown,
    /// There is one, which may not be called.
    Closed {
        /// The rule: `executor.staged`, `executor.quarantined`, …
        rule: &'static str,
        /// Why.
        why: &'a str,
    },
    /// It may be called.
    Callable {
        /// Its signed manifest.
        manifest: &'a Manifest,
        /// The same, as the rules read it.
        spec: &'a Spec,
        /// Its compiled schema.
        input: &'a Input,
    },
}

/// The steps of a decision, in their order (design: architecture §3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Step {
    /// It exists and is callable.
    Executor,
    /// The arguments are strict JSON and fit the schema.
    Arguments,
    /// Core forbidden paths and Laws.
    Guard,
    /// The manifest's profile covers what the arguments name.
    Profile,
    /// Quotas and rate.
    Quotas,
    /// Labels, intent and autonomy.
    Rules,
}

/// What was decided, at which step, and what the rules had to say.
#[derive(Debug)]
pub struct Weighed {
    /// The verdict.
    pub verdict: Verdict,
    /// Where it fell.
    pub step: Step,
    /// What the rules found, when it came to them.
    pub judgement: Option<Judgement>,
}

/// Everything that is known about one call.
#[derive(Debug, Clone, Copy)]
pub struct Facts<'a> {
    /// The name as the planner gave it.
    pub name: &'a str,
    /// What it names.
    pub executor: Named<'a>,
    /// The arguments, or why they are none.
    pub arguments: Result<&'a Arguments, &'a JsonError>,
    /// The values of critical references, or why they could not be had.
    pub resolved: Result<&'a Resolved, &'a Refusal>,
    /// What is known of the files that it names.
    pub files: &'a Files,
    /// What holds for every decision of this turn.
    pub world: &'a World,
}

/// Everything that depends on what happened before.
#[derive(Debug, Clone, Copy)]
pub struct State<'a> {
    /// What was said, foreseen and read in this turn.
    pub flow: &'a Context,
    /// The calls of the turn whose results are kept, and where those came from.
    pub results: &'a BTreeMap<CallRef, &'a Output>,
    /// Calls of this turn so far, this one included.
    pub calls: u32,
    /// Calls of this turn that run now.
    pub running_in_turn: usize,
    /// Who asks.
    pub standing: Standing,
    /// Calls that run now.
    pub running: Taken,
    /// Results kept now, and those that running calls will add.
    pub handles: Taken,
    /// Bytes of results kept now.
    pub kept_bytes: Taken,
    /// Whether the principal's rate has room for this call.
    pub within_rate: bool,
    /// Calls a principal may have decided in a minute.
    pub calls_per_minute: u32,
    /// Whether a planner asks, and not the owner himself or Metnos for him.
    pub by_planner: bool,
    /// Whether sandboxd is there and trusts this instance's key.
    pub sandbox_ready: bool,
}

/// Decides. Total: every path that is not the last line of it denies.
#[must_use]
pub fn decide(facts: &Facts<'_>, state: &State<'_>) -> Weighed {
    let early = |step, verdict| Weighed { verdict, step, judgement: None };
    let (manifest, spec, input) = match callable(facts, state) {
        Ok(callable) => callable,
        Err(verdict) => return early(Step::Executor, verdict),
    };
    let filled = match fit(facts, state, manifest, input) {
        Ok(filled) => filled,
        Err(verdict) => return early(Step::Arguments, verdict),
    };
    if let Some(verdict) = guarded(facts, manifest, &filled) {
        return early(Step::Guard, verdict);
    }
    if let Some(verdict) = profiled(facts, manifest, &filled) {
        return early(Step::Profile, verdict);
    }
    if let Some(verdict) = over_quota(state) {
        return early(Step::Quotas, verdict);
    }
    ruled(facts, state, manifest, spec, &filled)
}

/// Step 1: the executor exists and is callable.
fn callable<'a>(facts: &Facts<'a>, state: &State<'_>) -> Result<(&'a Manifest, &'a Spec, &'a Input), Verdict> {
    match facts.executor {
        Named::Unknown => {
            Err(Verdict::deny("executor.unknown", format!("there is no executor named {}", shown(facts.name)))
                .with_remedy("`metnosctl executor list` shows those that there are")
                .with_code(RefusalCode::Unknown))
        }
        Named::Closed { rule: WAITING, .. } if !state.sandbox_ready => Err(sandbox_gone()),
        Named::Closed { rule, why } => {
            let (remedy, so) = match rule {
                QUARANTINED => (
                    "`metnosctl executor lift` says why and whether it can be let back; after an upgrade of Metnos it is `metnosctl executor relock --all`",
                    "",
                ),
                ARCHIVED => ("`metnosctl executor restore` brings it back, with a reason", "it is in the archive: "),
                REVOKED => (
                    "nothing brings this version back; `metnosctl executor show` still shows it",
                    "its signature is revoked: ",
                ),
                STAGED => ("`metnosctl executor sign` shows what nobody has approved, and asks for your yes", ""),
                _ => ("`metnosctl executor verify` says what lies in the pool", ""),
            };
            let why = format!("{} may not be called: {so}{why}", shown(facts.name));
            Err(Verdict::deny(rule, why).with_remedy(remedy))
        }
        Named::Callable { manifest, .. } if state.by_planner && !manifest.contract.offered => {
            let why = format!(
                "{} is not for planners: Metnos calls it itself for somebody who has asked for just that, or the owner does by its name",
                shown(facts.name)
            );
            Err(Verdict::deny(NOT_OFFERED, why).with_remedy("`metnosctl run` calls it by its name"))
        }
        Named::Callable { .. } if !state.sandbox_ready => Err(sandbox_gone()),
        Named::Callable { manifest, spec, input } => Ok((manifest, spec, input)),
    }
}

/// What is said when sandboxd is not there, or does not trust this instance's key yet.
#[must_use]
pub fn sandbox_gone() -> Verdict {
    Verdict::deny("sandbox.gone", "sandboxd, which runs executors, is not there")
        .with_remedy("it is restarted by itself; try again in a moment, or look at `metnosctl status`")
        .with_code(RefusalCode::Unavailable)
}

/// Step 2: the arguments are strict JSON and fit the schema.
fn fit(facts: &Facts<'_>, state: &State<'_>, manifest: &Manifest, input: &Input) -> Result<Filled, Verdict> {
    let invalid = |rule: &str, why: String| Verdict::deny(rule, why).with_code(RefusalCode::Invalid);
    let arguments = facts.arguments.map_err(|why| match why {
        JsonError::BadReference { .. } | JsonError::TooManyReferences { .. } => {
            invalid("arguments.reference", format!("the arguments do not hold: {why}"))
        }
        JsonError::TooLong { .. }
        | JsonError::TooDeep { .. }
        | JsonError::DuplicateKey { .. }
        | JsonError::NotUtf8 { .. }
        | JsonError::Syntax { .. }
        | JsonError::NotAnObject { .. } => invalid("arguments.json", format!("the arguments do not hold: {why}")),
    })?;
    if let Some(site) = arguments.references().iter().find(|site| !state.results.contains_key(&site.call)) {
        let why = format!("{} refers to {}, which has left no result in this turn", field(&site.argument), site.call);
        return Err(invalid("arguments.reference", why));
    }
    if manifest.contract.undo.is_some() && arguments.value().get(KEEP).is_some() {
        let why = format!("`{KEEP}` is set by policyd alone: under that name an act keeps what takes it back");
        return Err(invalid("arguments.reserved", why).with_remedy("leave it out"));
    }
    let resolved = facts.resolved.map_err(|refusal| Verdict {
        code: refusal.code,
        remedy: refusal.remedy.clone(),
        ..Verdict::deny("arguments.reference", format!("a reference has no value: {}", refusal.why))
    })?;
    let filled = arguments
        .fill(manifest, resolved)
        .ok_or_else(|| invalid("arguments.reference", "a reference that must be known has no value".to_owned()))?;
    match input.fault(&filled) {
        None => Ok(filled),
        Some(fault) => Err(invalid("schema.input", fault)
            .with_remedy("`metnosctl executor show` prints the arguments that an executor takes")),
    }
}

/// Step 3: the guard, on everything that can name a file.
fn guarded(facts: &Facts<'_>, manifest: &Manifest, filled: &Filled) -> Option<Verdict> {
    arguments::guarded(manifest, &filled.value)
        .into_iter()
        .find_map(|(pointer, text)| guard::check(&field(&pointer), text, &facts.world.places))
        .map(|found| Verdict::deny(found.rule, found.why).with_remedy(found.remedy))
}

/// Step 4: what the arguments name is granted by the profile.
fn profiled(facts: &Facts<'_>, manifest: &Manifest, filled: &Filled) -> Option<Verdict> {
    arguments::paths(manifest, &filled.value).into_iter().find_map(|(pointer, text)| {
        let lexical = paths::resolve(text, &facts.world.places);
        let granted = granted_folders(manifest, &facts.world.places);
        let outside = !granted.iter().any(|folder| paths::within(&lexical.path, folder));
        let what = if lexical.climbs {
            "leaves the workspace by `..`".to_owned()
        } else if outside {
            format!("names {}, outside of what {} may see", shown(&lexical.path), manifest.executor.name)
        } else {
            return None;
        };
        let why = format!("{} is {}: it {what}: {}", field(&pointer), shown(text), folders(manifest));
        Some(Verdict::deny("profile.paths", why).with_remedy("copy what you need into the workspace"))
    })
}

/// The folders that the manifest grants, absolute.
fn granted_folders(manifest: &Manifest, places: &Places) -> Vec<String> {
    let entries = manifest.sandbox.capabilities.iter().filter_map(|capability| match capability {
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

/// What the manifest grants, in words.
fn folders(manifest: &Manifest) -> String {
    let entries: Vec<&str> = manifest
        .sandbox
        .capabilities
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

/// Step 5: quotas and rate.
fn over_quota(state: &State<'_>) -> Option<Verdict> {
    let busy = |rule: &str, why: String| Some(Verdict::deny(rule, why).with_code(RefusalCode::Busy));
    if !state.within_rate {
        return busy(
            "quota.rate",
            format!("{} calls were decided within a minute, which is the limit", state.calls_per_minute),
        )
        .map(|verdict| verdict.with_remedy("wait a moment"));
    }
    if state.calls > MAX_CALLS_PER_TURN {
        return busy(
            "quota.turn",
            format!("this turn has made {MAX_CALLS_PER_TURN} calls, which is the limit of one turn"),
        );
    }
    if state.running_in_turn >= MAX_RUNNING_PER_TURN {
        return busy(
            "quota.concurrent",
            format!("{MAX_RUNNING_PER_TURN} calls of this turn are running, which is the limit"),
        );
    }
    let full = |share: Share, taken| share.full(state.standing, taken);
    if let Some(bound) = full(RUNNING, state.running) {
        return busy("quota.concurrent", format!("{bound} calls are running, which is the limit"));
    }
    if let Some(bound) = full(HANDLES, state.handles) {
        return busy("quota.results", format!("{bound} results are kept for open turns, which is the limit"));
    }
    if let Some(bound) = full(KEPT_BYTES, state.kept_bytes) {
        return busy("quota.results", format!("results of {bound} bytes are kept for open turns, which is the limit"));
    }
    None
}

/// Steps 6 and 7: labels and intent (policy §7), then autonomy (policy §2).
fn ruled(facts: &Facts<'_>, state: &State<'_>, manifest: &Manifest, spec: &Spec, filled: &Filled) -> Weighed {
    let sites = facts.arguments.map(Arguments::references).unwrap_or_default();
    let output = |site: &RefSite| state.results.get(&site.call).copied();
    let opaque = filled.opaque.iter().map(|pointer| {
        let site = sites.iter().find(|site| site.argument == *pointer);
        let label = site.and_then(|site| Some(output(site)?.below(&site.pointer)));
        (pointer.clone(), label.unwrap_or(state.flow.label))
    });
    let claims = sites.iter().filter_map(|site| {
        Some(Claim { pointer: site.argument.clone(), output: output(site)?, leaf: site.pointer.clone() })
    });
    let (opaque, claims) = (opaque.collect(), claims.collect());
    let asked = Asked { spec, args: &filled.value, opaque: &opaque, claims, files: facts.files.clone() };
    let judgement = rules::judge(facts.world, state.flow, &asked);
    let Ruling { decision, rule, why } = &judgement.ruling;
    let verdict = match decision {
        Decision::Allow => Verdict::allow(rule, format!("{why}; within {}", granted_words(manifest))),
        Decision::Deny => Verdict::deny(rule, why.clone()),
        Decision::Ask => Verdict { decision: memory::Verdict::Ask, ..Verdict::deny(rule, why.clone()) },
    };
    Weighed { verdict, step: Step::Rules, judgement: Some(judgement) }
}

/// What an allowed call may see, for the chronicle.
fn granted_words(manifest: &Manifest) -> String {
    let entries: Vec<&str> = manifest
        .sandbox
        .capabilities
        .iter()
        .flat_map(|capability| capability.entries().iter().map(String::as_str))
        .collect();
    if entries.is_empty() { "its arguments".to_owned() } else { entries.join(", ") }
}

#[cfg(test)]
#[path = "decide_tests.rs"]
mod tests;
