//! The facts of a decision, gathered: what the registry, the switches, the budgets, the vault, the owner's lists and the disk
//! say about one call. Gathering changes nothing and decides nothing; [`metnos_policy::decision`] does.

use std::collections::BTreeMap;
use std::rc::Rc;

use metnos_policy::call::fields::Files;
use metnos_policy::evidence::context::{Context, World};
use metnos_policy::evidence::results::Output;
use metnos_proto::ids::TurnId;
use metnos_proto::json::JsonError;
use metnos_proto::msg::common::{CallRef, Level, Refusal};

use crate::approvals::grants::Question;
use crate::arguments::{Arguments, Filled, Resolved};
use crate::budget::count::Over;
use crate::budget::{BudgetGuard, no_room};
use crate::calls::call::Call;
use crate::decision::{Answers, Facts, Finding, Flow, Given, Load, Named, Stored, Verdict};
use crate::executors::registry::{Registry, Signed};
use crate::people::principal::Principal;
use crate::policy::Policy;
use crate::undo;
use crate::vault::accounts;

/// The arguments of a call, and the values of its critical references.
pub(crate) type Arrived<'a> = (&'a Result<Arguments, JsonError>, &'a Result<Resolved, Refusal>);

/// A call that a decision is due on.
pub(crate) struct Due<'a> {
    /// The call; `None` for a question about one that nobody makes.
    pub(crate) call: Option<&'a Call>,
    /// The executor, as the caller named it.
    pub(crate) name: &'a str,
    /// Who asks.
    pub(crate) principal: &'a Principal,
    /// In which turn; [`TurnId::NONE`] for a question about a call that nobody makes.
    pub(crate) turn: TurnId,
    /// The arguments.
    pub(crate) arrived: Arrived<'a>,
    /// The secret whose value stood in the arguments, which were replaced by an empty object.
    pub(crate) told: Option<&'a str>,
    /// The turn has put more questions than a turn may.
    pub(crate) stopped: bool,
    /// What there is to spend for it; `None` when it costs nothing.
    pub(crate) purse: Option<&'a BudgetGuard<'a>>,
    /// Whose accounts it may be given.
    pub(crate) holder: Option<&'a str>,
    /// Calls of the principal that run now.
    pub(crate) running: u64,
}

/// What was found out.
pub(crate) struct Gathered {
    /// The executor, where it may be called.
    pub(crate) signed: Option<Rc<Signed>>,
    /// The arguments with the values of critical references.
    pub(crate) filled: Option<Filled>,
    /// The budget that has no room.
    pub(crate) over: Option<Over>,
    /// The stored answer that fits: its card, and whether it says always.
    stored: Option<(String, bool)>,
    fault: Option<String>,
    files: Files,
    findings: Findings,
    sandbox_ready: bool,
}

/// What speaks against the call, by who says so.
struct Findings {
    switches: Option<Verdict>,
    turn: Option<Verdict>,
    secrets: Option<Verdict>,
    budgets: Option<Verdict>,
    listed: Option<Verdict>,
    cost: Option<Verdict>,
    way_back: Option<Verdict>,
}

impl Policy {
    /// Gathers what a decision on this call needs.
    pub(crate) fn gather(&self, registry: &Registry, due: &Due<'_>) -> Gathered {
        let signed = registry.callable(due.name);
        let filled = match (&signed, due.arrived) {
            (Some(signed), (Ok(arguments), Ok(resolved))) => arguments.fill(&signed.spec, resolved),
            _ => None,
        };
        let signed = signed.as_deref();
        let principal = &due.principal.name;
        let over = signed.and_then(|signed| self.budgets.over_budget(principal, due.running, signed, due.purse));
        let told = due.told.map(|name| {
            let why = format!("an argument holds the secret `{name}`; the arguments are not recorded");
            Verdict::deny(crate::vault::TOLD, why)
                .with_remedy("an executor that needs it asks for it in its manifest, and is given it by policyd")
        });
        let withheld =
            || signed.and_then(|signed| self.secrets.vault.borrow().withheld(&signed.manifest, &signed.digests));
        let accountless = || self.accountless(due, signed?, filled.as_ref());
        let used_up = || signed.and_then(|signed| self.budgets.used_up(signed));
        let unfit = || crate::calls::files::unfit(signed, due.call.and_then(|call| call.file.as_ref()));
        let stopped = || {
            Verdict::deny("turn.stopped", "this turn has put more questions than a turn may, and was stopped")
                .with_remedy("say anew what is still to be done")
        };
        Gathered {
            stored: signed.zip(filled.as_ref()).and_then(|(signed, filled)| self.stored_answer(due, signed, filled)),
            fault: signed.zip(filled.as_ref()).and_then(|(signed, filled)| signed.input.fault(filled)),
            files: signed
                .zip(filled.as_ref())
                .map(|(signed, filled)| self.base.perimeter.looked_at(signed, filled))
                .unwrap_or_default(),
            findings: Findings {
                listed: signed
                    .zip(filled.as_ref())
                    .and_then(|(signed, filled)| self.base.perimeter.not_there(signed, filled))
                    .or_else(unfit),
                switches: self.executors.switched_off(due.name),
                turn: due.stopped.then(stopped),
                secrets: told.or_else(withheld).or_else(accountless),
                budgets: used_up().or_else(|| over.map(|over| no_room(over, principal))),
                cost: (due.principal.level != Level::Full).then(|| self.budgets.costly(due.name)).flatten(),
                way_back: signed
                    .and_then(|signed| undo::missing(&signed.manifest, |name| registry.callable(name).is_some()))
                    .map(|why| Verdict::ask("undo.missing", why)),
            },
            sandbox_ready: self.base.sandbox_ready(),
            signed: registry.callable(due.name),
            filled,
            over,
        }
    }

    /// Why a call that is given an account of its person cannot have one, if it cannot.
    fn accountless(&self, due: &Due<'_>, signed: &Signed, filled: Option<&Filled>) -> Option<Verdict> {
        let kind = signed.manifest.account()?;
        let named = filled.and_then(|filled| accounts::named_in(&filled.value));
        let wanted = accounts::Wanted { kind, named, sends: signed.manifest.sends_mail() };
        self.secrets.accounts.borrow().withheld(due.holder, wanted)
    }

    /// What the owner has answered for longer than once to a call with these targets.
    fn stored_answer(&self, due: &Due<'_>, signed: &Signed, filled: &Filled) -> Option<(String, bool)> {
        self.approvals.grants.stored_word(&Question {
            principal: &due.principal.name,
            turn: due.turn,
            executor: &signed.manifest.id(),
            digests: &signed.digests,
            spec: &signed.spec,
            value: &filled.value,
            places: &self.base.setting.places,
            now_ms: self.base.clock.wall_ms(),
        })
    }
}

impl Gathered {
    /// The same as facts, beside what the turn knows.
    pub(crate) fn facts<'a>(
        &'a self,
        due: &Due<'a>,
        named: Named<'a>,
        load: Load,
        (world, context, results): (&'a World, &'a Context, &'a BTreeMap<CallRef, &'a Output>),
    ) -> Facts<'a> {
        let (parsed, resolved) = due.arrived;
        Facts {
            name: due.name,
            executor: named,
            by_planner: due.call.is_some_and(|call| call.notes.is_some()),
            switches: Finding::of(self.findings.switches.as_ref()),
            turn: Finding::of(self.findings.turn.as_ref()),
            given: Some(Given {
                parsed: parsed.as_ref(),
                resolved: resolved.as_ref(),
                filled: self.filled.as_ref(),
                fault: self.fault.as_deref(),
                withheld: due.told.is_some(),
            }),
            secrets: Finding::of(self.findings.secrets.as_ref()),
            load: Some(load),
            budgets: Finding::of(self.findings.budgets.as_ref()),
            listed: Finding::of(self.findings.listed.as_ref()),
            flow: Some(Flow { world, context, results, files: &self.files }),
            answers: Answers {
                card: due.call.and_then(|call| call.approved.as_deref()),
                stored: match &self.stored {
                    None => Stored::None,
                    Some((id, true)) => Stored::Always(id),
                    Some((id, false)) => Stored::Never(id),
                },
            },
            cost: Finding::of(self.findings.cost.as_ref()),
            way_back: Finding::of(self.findings.way_back.as_ref()),
            sandbox_ready: self.sandbox_ready,
        }
    }

    /// The card of the stored answer that this decision rests on, if it does.
    pub(crate) fn answered_by(&self, rule: &str) -> Option<&str> {
        let (id, _) = self.stored.as_ref()?;
        matches!(rule, crate::decision::STORED | crate::decision::NEVER).then_some(id.as_str())
    }
}
