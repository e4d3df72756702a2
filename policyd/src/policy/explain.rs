//! `policy check`: the decision on a call that nobody makes, with its trace. Nothing of it is recorded, used up or run.

use std::collections::BTreeMap;

use metnos_policy::evidence::context::Context;
use metnos_policy::evidence::intent::Intent;
use metnos_policy::rules::{self, Judgement};
use metnos_proto::doc::policy::{ArgumentSource, PolicyCheck, StepOutcome, StepTaken, Verdict};
use metnos_proto::ids::{TraceId, TurnId};
use metnos_proto::msg::common::{Integrity, Level, Refusal};
use metnos_proto::msg::memoryd;
use metnos_proto::msg::policyd::CheckPolicy;

use crate::arguments::{Arguments, Resolved};
use crate::calls::intent;
use crate::decision::{self, Load, Named, decide};
use crate::people::principal::Principal;
use crate::policy::Policy;
use crate::policy::gather::Due;
use crate::shares::Taken;

impl Policy {
    /// Decides on a call that nobody makes, as if this principal had typed it, and explains the decision step by step.
    ///
    /// # Errors
    /// When there is no such principal, or the ledger cannot be read.
    pub(crate) async fn explain(&self, ask: &CheckPolicy, arguments: &[u8]) -> Result<PolicyCheck, Refusal> {
        let principal = self.people.named_principal(&ask.principal)?;
        let world = self.people.world(&principal);
        let (parsed, told) = self.secrets.told_in_question(Arguments::parse(arguments), arguments);
        let purse = self.budgets.purse_for(TurnId::NONE, TraceId::NONE, &principal.name, &ask.executor).await?;
        let mut context = Context::new(principal.standing.into());
        context.said("", true, world.lang);
        if let Ok(parsed) = &parsed {
            context.intent = Intent::typed(intent::typed(&ask.executor, parsed.value()));
        }
        let registry = self.executors.registry.borrow();
        let resolved = Ok(Resolved::new());
        let due = Due {
            call: None,
            name: &ask.executor,
            principal: &principal,
            turn: TurnId::NONE,
            arrived: (&parsed, &resolved),
            told: told.as_deref(),
            stopped: false,
            purse: purse.as_ref(),
            holder: world.account_holder.as_deref(),
            running: self.budgets.running_of(&principal.name),
        };
        let gathered = self.gather(&registry, &due);
        let knows = context.reads_everything()
            || world.shows_everything()
            || self.base.perimeter.is_for_guests(&registry, &ask.executor);
        let named = if knows { registry.named(&ask.executor) } else { Named::Unknown };
        let results = BTreeMap::new();
        let facts = gathered.facts(&due, named, self.idle_load(&principal), (&world, &context, &results));
        let decision = decide(&facts);
        let until = self.people.levels.borrow().raised_until(&principal.name, self.base.clock.wall_ms());
        Ok(document(&principal, &ask.executor, &decision, until))
    }

    /// What is taken of the shared places, for a principal who has no turn open.
    fn idle_load(&self, principal: &Principal) -> Load {
        Load {
            running: Taken { all: self.calls.running.reserved.get(), ..Taken::default() },
            calls_per_minute: self.calls.rate.borrow().per_minute(),
            ..Load::idle(principal.standing)
        }
    }
}

fn document(
    principal: &Principal,
    executor: &str,
    decision: &decision::Decision,
    raised_until_ms: Option<u64>,
) -> PolicyCheck {
    let verdict = &decision.verdict;
    PolicyCheck {
        principal: principal.name.clone(),
        standing: principal.standing.into(),
        level: principal.level.into(),
        without_asking: without_asking(principal.level).to_owned(),
        executor: executor.to_owned(),
        verdict: match verdict.decision {
            memoryd::Verdict::Allow => Verdict::Allow,
            memoryd::Verdict::Ask => Verdict::Ask,
            memoryd::Verdict::Deny => Verdict::Deny,
        },
        rule: verdict.rule.clone(),
        why: verdict.why.clone(),
        remedy: verdict.remedy.clone(),
        steps: decision.trace.iter().map(step).collect(),
        arguments: decision.judgement.as_ref().map(arguments).unwrap_or_default(),
        raised_until_ms,
    }
}

fn step(stage: &decision::Stage) -> StepTaken {
    let why = if stage.why.is_empty() { stage.step.holds() } else { stage.why.as_str() };
    let outcome = match stage.outcome {
        decision::Outcome::Passed => StepOutcome::Passed,
        decision::Outcome::Asks => StepOutcome::Asks,
        decision::Outcome::Denies => StepOutcome::Denies,
    };
    StepTaken { step: stage.step.name().to_owned(), outcome, why: why.to_owned() }
}

/// Where each argument would come from: as if the owner had typed it.
fn arguments(judgement: &Judgement) -> Vec<ArgumentSource> {
    let integrity = |integrity| match integrity {
        Integrity::Trusted => "trusted",
        Integrity::Vouched => "vouched",
        Integrity::Untrusted => "untrusted",
    };
    let one = |field: &rules::Shown| ArgumentSource {
        pointer: field.pointer.clone(),
        role: field.role.name().to_owned(),
        label: integrity(field.label.integrity).to_owned(),
        source: field.source.name().to_owned(),
    };
    judgement.fields.iter().map(one).collect()
}

/// The table of levels, in words (design: policy §2).
const fn without_asking(level: Level) -> &'static str {
    match level {
        Level::ReadOnly => "reading the workspace, models and searches; every effect asks",
        Level::Supervised => {
            "reading, and writing in the workspace what was foreseen; what reaches others, costs or cannot be undone asks"
        }
        Level::Full => "almost everything at home; what cannot be repeated without harm asks; core paths are denied",
    }
}
