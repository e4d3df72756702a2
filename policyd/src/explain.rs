//! What would become of a call, in words, step by step: the very decision, made on facts that
//! are made up for the question. Nothing of it is recorded, used up or run.

use std::collections::BTreeMap;

use metnos_policy::context::Context;
use metnos_policy::intent::Intent;
use metnos_policy::rules::Judgement;
use metnos_proto::msg::common::{Channel, Integrity, Level, Refusal, RefusalCode, Standing};
use metnos_proto::msg::memoryd as memory;
use metnos_proto::msg::policyd::CheckPolicy;
use serde_json::{Value, json};

use crate::arguments::{Arguments, Resolved};
use crate::decide::{Facts, Named, State, Step, Weighed, decide};
use crate::guard::shown;
use crate::intent;
use crate::policy::Policy;
use crate::principal::Principal;
use crate::shares::Taken;

impl Policy {
    /// Decides on a call that nobody makes, and explains it.
    ///
    /// # Errors
    /// When the principal is none.
    pub(crate) fn explain(&self, ask: &CheckPolicy, arguments: &[u8]) -> Result<Value, Refusal> {
        let principal = self.named_principal(&ask.principal)?;
        let world = self.world(&principal);
        let arguments = Arguments::parse(arguments);
        let mut flow = Context::new(principal.standing.into());
        flow.said("", true, world.lang);
        if let Ok(arguments) = &arguments {
            flow.intent = Intent::typed(intent::typed(&ask.executor, arguments.value()));
        }
        let registry = self.registry.borrow();
        let (resolved, results) = (Resolved::new(), BTreeMap::new());
        let files = self.looked_at(registry.callable(&ask.executor).as_deref(), (&arguments, &Ok(resolved.clone())));
        let facts = Facts {
            files: &files,
            name: &ask.executor,
            executor: if flow.reads_everything()
                || world.shows_everything()
                || self.is_for_guests(&registry, &ask.executor)
            {
                registry.named(&ask.executor)
            } else {
                Named::Unknown
            },
            arguments: arguments.as_ref(),
            resolved: Ok(&resolved),
            world: &world,
        };
        let state = State {
            flow: &flow,
            results: &results,
            calls: 1,
            running_in_turn: 0,
            standing: principal.standing,
            running: Taken { all: self.reserved.get(), ..Taken::default() },
            handles: Taken::default(),
            kept_bytes: Taken::default(),
            within_rate: true,
            calls_per_minute: self.rate.borrow().per_minute(),
            by_planner: false,
            sandbox_ready: self.sandbox_ready(),
        };
        let weighed = decide(&facts, &state);
        let until = self.house().levels.borrow().raised_until(&principal.name, self.clock.wall_ms());
        let mut explained = document(&principal, &ask.executor, &weighed);
        self.beside(&mut explained, &principal, &ask.executor, weighed.verdict.decision != memory::Verdict::Deny);
        if let Value::Object(map) = &mut explained {
            map.insert("raised_until_ms".into(), json!(until));
        }
        Ok(explained)
    }

    /// What holds beside the decision: budgets, secrets, and above all what is switched off or used up.
    fn beside(&self, explained: &mut Value, principal: &Principal, executor: &str, may: bool) {
        let found = self.registry.borrow().callable(executor).filter(|_| may);
        let room = found.as_ref().and_then(|found| self.has_no_room(&principal.name, found));
        let withheld = |found: &std::rc::Rc<crate::registry::Signed>| {
            self.house().vault.borrow().withheld(&found.manifest, &found.digests)
        };
        let withheld = found.as_ref().and_then(withheld);
        let no = self.barred(executor, found.as_deref()).or_else(|| room.clone()).or_else(|| withheld.clone());
        for (step, passed, verdict) in [
            ("budgets", "there is room for it; what it costs is looked at when it is called", room),
            ("secrets", "it needs none, or the owner has given it what it needs", withheld),
            ("day", "it may still write today, or never writes", found.as_ref().and_then(|found| self.used_up(found))),
            ("switches", "the owner has switched nothing off that it needs", self.switched_off(executor)),
        ] {
            let tried = found.is_some() || step == "switches" && verdict.is_some();
            if !tried {
                continue;
            }
            let (outcome, why) = verdict.as_ref().map_or(("passed", passed), |no| ("deny", no.why.as_str()));
            let said = json!({"step": step, "outcome": outcome, "why": why});
            if let Some(steps) = explained["steps"].as_array_mut() {
                steps.push(said);
            }
        }
        if let Some(no) = no {
            explained["verdict"] = json!("deny");
            (explained["rule"], explained["why"], explained["remedy"]) =
                (json!(no.rule), json!(no.why), json!(no.remedy));
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

/// The steps of a decision, in order, with what each of them looks at.
const STEPS: [(Step, &str, &str); 6] = [
    (Step::Executor, "executor", "it exists, was signed and may be called"),
    (Step::Arguments, "arguments", "they are strict JSON and fit its schema"),
    (Step::Guard, "guard", "nothing in them names a core forbidden path, in any spelling"),
    (Step::Profile, "profile", "what they name lies within what its signed profile grants"),
    (Step::Quotas, "quotas", "rate, running calls and kept results have room for it"),
    (Step::Rules, "rules", ""),
];

fn document(principal: &Principal, executor: &str, weighed: &Weighed) -> Value {
    let verdict = &weighed.verdict;
    let steps: Vec<Value> = STEPS
        .iter()
        .take_while(|(step, _, _)| *step <= weighed.step)
        .map(|(step, name, passed)| {
            let (outcome, why) = if *step == weighed.step {
                (verdict.decision.name(), verdict.why.as_str())
            } else {
                ("passed", *passed)
            };
            json!({"step": name, "outcome": outcome, "why": why})
        })
        .collect();
    json!({
        "principal": principal.name, "standing": standing(principal.standing), "level": level(principal.level),
        "without_asking": without_asking(principal.level), "executor": executor,
        "verdict": verdict.decision.name(), "rule": verdict.rule, "why": verdict.why, "remedy": verdict.remedy,
        "steps": steps, "arguments": weighed.judgement.as_ref().map(arguments).unwrap_or_default(),
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
