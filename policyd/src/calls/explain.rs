//! `policy check`: the decision on a call that nobody makes, with its trace. Nothing of it is recorded, used up or run.

use std::collections::BTreeMap;

use metnos_policy::evidence::context::Context;
use metnos_policy::evidence::intent::Intent;
use metnos_policy::rules::Judgement;
use metnos_proto::ids::{TraceId, TurnId};
use metnos_proto::msg::common::{Channel, Integrity, Level, Refusal, RefusalCode, Standing};
use metnos_proto::msg::policyd::CheckPolicy;
use serde_json::{Value, json};

use crate::arguments::{Arguments, Resolved};
use crate::calls::gather::Due;
use crate::calls::intent;
use crate::decision::{self, Load, Named, decide};
use crate::guard::shown;
use crate::people::principal::Principal;
use crate::policy::Policy;
use crate::shares::Taken;

impl Policy {
    /// Decides on a call that nobody makes, as if this principal had typed it, and explains the decision step by step.
    ///
    /// # Errors
    /// When there is no such principal, or the ledger cannot be read.
    pub(crate) async fn explain(&self, ask: &CheckPolicy, arguments: &[u8]) -> Result<Value, Refusal> {
        let principal = self.named_principal(&ask.principal)?;
        let world = self.world(&principal);
        let (parsed, told) = self.told_in_question(Arguments::parse(arguments), arguments);
        let purse = self.purse_for(TurnId::NONE, TraceId::NONE, &principal.name, &ask.executor).await?;
        let mut context = Context::new(principal.standing.into());
        context.said("", true, world.lang);
        if let Ok(parsed) = &parsed {
            context.intent = Intent::typed(intent::typed(&ask.executor, parsed.value()));
        }
        let registry = self.registry.borrow();
        let resolved = Ok(Resolved::new());
        let due = Due {
            name: &ask.executor,
            principal: &principal,
            turn: TurnId::NONE,
            arrived: (&parsed, &resolved),
            file: None,
            told: told.as_deref(),
            by_planner: false,
            stopped: false,
            card: None,
            purse: purse.as_ref(),
            running: self.running_of(&principal.name),
        };
        let gathered = self.gather(&registry, &due);
        let knows =
            context.reads_everything() || world.shows_everything() || self.is_for_guests(&registry, &ask.executor);
        let named = if knows { registry.named(&ask.executor) } else { Named::Unknown };
        let results = BTreeMap::new();
        let facts = gathered.facts(&due, named, self.idle_load(&principal), (&world, &context, &results));
        let decision = decide(&facts);
        let until = self.house().levels.borrow().raised_until(&principal.name, self.clock.wall_ms());
        Ok(document(&principal, &ask.executor, &decision, until))
    }

    /// What is taken of the shared places, for a principal who has no turn open.
    fn idle_load(&self, principal: &Principal) -> Load {
        Load {
            running: Taken { all: self.reserved.get(), ..Taken::default() },
            calls_per_minute: self.rate.borrow().per_minute(),
            ..Load::idle(principal.standing)
        }
    }

    /// `owner`, or a channel and a sender.
    pub(crate) fn named_principal(&self, text: &str) -> Result<Principal, Refusal> {
        let owner = format!("cli:uid:{}", self.setting.owner_uid);
        let text = if text == "owner" { &owner } else { text };
        let named =
            text.split_once(':').and_then(|(channel, sender)| Channel::named(channel).map(|channel| (channel, sender)));
        let Some((channel, sender)) = named else {
            let why = format!("{} is no principal: it is written as channel and sender", shown(text));
            return Err(Refusal::new(RefusalCode::Invalid, "principal.sender", why)
                .remedy("write `owner`, or for example `cli:uid:1000` or `telegram:4711`"));
        };
        self.who(channel, sender)
    }
}

fn document(
    principal: &Principal,
    executor: &str,
    decision: &decision::Decision,
    raised_until_ms: Option<u64>,
) -> Value {
    let verdict = &decision.verdict;
    let step = |stage: &decision::Stage| {
        let why = if stage.why.is_empty() { stage.step.holds() } else { stage.why.as_str() };
        json!({"step": stage.step.name(), "outcome": stage.outcome.name(), "why": why})
    };
    let steps: Vec<Value> = decision.trace.iter().map(step).collect();
    json!({
        "principal": principal.name, "standing": standing(principal.standing), "level": level(principal.level),
        "without_asking": without_asking(principal.level), "executor": executor,
        "verdict": verdict.decision.name(), "rule": verdict.rule, "why": verdict.why, "remedy": verdict.remedy,
        "steps": steps, "arguments": decision.judgement.as_ref().map(arguments).unwrap_or_default(),
        "raised_until_ms": raised_until_ms,
    })
}

/// Where each argument would come from: as if the owner had typed it.
fn arguments(judgement: &Judgement) -> Vec<Value> {
    let integrity = |integrity| match integrity {
        Integrity::Trusted => "trusted",
        Integrity::Vouched => "vouched",
        Integrity::Untrusted => "untrusted",
    };
    let one = |field: &metnos_policy::rules::Shown| {
        json!({
            "pointer": field.pointer, "role": field.role.name(), "label": integrity(field.label.integrity),
            "source": field.source.name(),
        })
    };
    judgement.fields.iter().map(one).collect()
}

const fn standing(standing: Standing) -> &'static str {
    match standing {
        Standing::Owner => "owner",
        Standing::Guest => "guest",
        Standing::Stranger => "stranger",
    }
}

/// The name of a level in documents.
#[must_use]
pub const fn level(level: Level) -> &'static str {
    match level {
        Level::ReadOnly => "readonly",
        Level::Supervised => "supervised",
        Level::Full => "full",
    }
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
