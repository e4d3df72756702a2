//! Properties of the whole decision, over random facts.

use std::collections::BTreeMap;

use metnos_proto::executor::{Capability, Class};
use metnos_proto::msg::common::Integrity;
use metnos_proto::msg::common::{CallRef, Label, Level, Readers, Standing};
use metnos_proto::msg::memoryd as memory;
use metnos_proto::msg::schedule::frozen_call;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::call::arguments::{Arguments, Filled, Resolved};
use crate::call::fields::Files;
use crate::call::paths::Places;
use crate::call::spec::{Effect, Spec};
use crate::evidence::context::{Confirm, Context, Who, World};
use crate::evidence::results::Output;
use crate::shares::Taken;

/// What a random call and state are made of; every fact that is looked at can be good, bad, asking or missing.
#[derive(Debug, Clone)]
struct Drawn {
    effect: &'static str,
    reversible: bool,
    path: String,
    who: Who,
    level: Level,
    tainted: bool,
    named: u8,
    findings: [u8; 7],
    load: u8,
    card: bool,
    stored: u8,
    planner: bool,
    offered: bool,
    ready: bool,
    fault: bool,
}

fn drawn() -> impl Strategy<Value = Drawn> {
    let effect =
        prop::sample::select(vec!["read", "self_create", "self_modify", "destroy", "send", "net_read", "money"]);
    let path =
        prop::sample::select(vec!["notes/a.md", "USER.md", ".env", "/etc/shadow", "../../x", "/srv/other", "shared/a"]);
    let who = prop::sample::select(vec![Who::Owner, Who::Guest, Who::Unpaired]);
    let level = prop::sample::select(vec![Level::ReadOnly, Level::Supervised, Level::Full]);
    let flags = (any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>(), prop::bool::weighted(0.1));
    // Mostly clear, so that late steps are reached.
    let finding = prop_oneof![12 => Just(0u8), 1 => Just(1u8), 1 => Just(2u8), 1 => Just(3u8)];
    let findings = prop::array::uniform7(finding);
    let rest =
        (0u8..6, prop::bool::weighted(0.3), 0u8..3, prop::bool::weighted(0.9), prop::bool::weighted(0.9), 0u8..8);
    (effect, path, who, level, flags, findings, rest).prop_map(|(effect, path, who, level, flags, findings, rest)| {
        let (reversible, tainted, planner, _, fault) = flags;
        let (load, card, stored, offered, ready, named) = rest;
        let path = path.to_owned();
        Drawn {
            effect,
            reversible,
            path,
            who,
            level,
            tainted,
            named,
            findings,
            load,
            card,
            stored,
            planner,
            offered,
            ready,
            fault,
        }
    })
}

/// Everything that facts borrow from.
struct Owned {
    spec: Spec,
    capabilities: Vec<Capability>,
    parsed: Arguments,
    filled: Filled,
    resolved: Resolved,
    world: World,
    context: Context,
    output: Output,
    files: Files,
    deny: Verdict,
    ask: Verdict,
}

impl Owned {
    fn of(drawn: &Drawn) -> Self {
        let spec = json!({"effect": drawn.effect, "reversible": drawn.reversible, "args": {"path": "path"}});
        let value = json!({ "path": drawn.path });
        let mut context = Context::new(drawn.who);
        context.said("write notes/a.md", true, metnos_proto::msg::common::Lang::En);
        if drawn.tainted {
            context.read(Label { integrity: Integrity::Untrusted, readers: Readers::Private }, true);
        }
        Self {
            spec: Spec::from_catalogue("e", &spec),
            capabilities: vec![Capability::FsWrite(vec!["workspace/".to_owned()])],
            parsed: Arguments::resolved(value.clone(), Vec::new()),
            filled: Filled { value, opaque: Vec::new() },
            resolved: Resolved::new(),
            world: World::new(drawn.level, Confirm::Card, Places::of_instance("/srv/metnos")),
            context,
            output: Output::failed(Readers::Private),
            files: Files::default(),
            deny: Verdict::deny("test.deny", "it may not"),
            ask: Verdict::ask("test.ask", "somebody must say so"),
        }
    }

    fn finding(&self, kind: u8) -> Finding<'_> {
        match kind {
            0 => Finding::Clear,
            1 => Finding::Against(&self.deny),
            2 => Finding::Against(&self.ask),
            _ => Finding::Unknown,
        }
    }

    fn facts<'a>(&'a self, drawn: &Drawn, results: &'a BTreeMap<CallRef, &'a Output>) -> Facts<'a> {
        let [switches, turn, secrets, budgets, listed, cost, way_back] = drawn.findings.map(|kind| self.finding(kind));
        let callable = Callable {
            spec: &self.spec,
            profile: Profile::Signed(&self.capabilities),
            offered: drawn.offered,
            undoable: false,
            personal: false,
            at_home: false,
            carries: false,
        };
        let mut load = Load::idle(Standing::Owner);
        match drawn.load {
            1 => load.within_rate = false,
            2 => load.running = Taken { all: MAX_RUNNING, others: 0, own: 0 },
            _ => {}
        }
        Facts {
            name: "e",
            executor: match drawn.named {
                0 => Named::Unknown,
                1 => Named::Closed { rule: QUARANTINED, why: "it failed" },
                _ => Named::Callable(callable),
            },
            by_planner: drawn.planner,
            switches,
            turn,
            given: Some(Given {
                parsed: Ok(&self.parsed),
                resolved: Ok(&self.resolved),
                filled: Some(&self.filled),
                fault: drawn.fault.then_some("`path` is no path"),
                withheld: false,
            }),
            secrets,
            load: Some(load),
            budgets,
            listed,
            flow: Some(Flow { world: &self.world, context: &self.context, results, files: &self.files }),
            answers: Answers {
                card: drawn.card.then_some("card"),
                stored: match drawn.stored {
                    1 => Stored::Never("card"),
                    2 => Stored::Always("card"),
                    _ => Stored::None,
                },
            },
            cost,
            way_back,
            sandbox_ready: drawn.ready,
        }
    }
}

/// Takes one fact away.
fn without<'a>(facts: &Facts<'a>, which: u8) -> Facts<'a> {
    let mut less = *facts;
    match which {
        0 => less.executor = Named::Unknown,
        1 => less.switches = Finding::Unknown,
        2 => less.turn = Finding::Unknown,
        3 => less.given = None,
        4 => less.secrets = Finding::Unknown,
        5 => less.load = None,
        6 => less.budgets = Finding::Unknown,
        7 => less.listed = Finding::Unknown,
        8 => less.flow = None,
        9 => less.answers.card = None,
        10 => less.answers.stored = Stored::None,
        11 => less.cost = Finding::Unknown,
        12 => less.way_back = Finding::Unknown,
        13 => less.sandbox_ready = false,
        14 => less.given = less.given.map(|given| Given { filled: None, ..given }),
        _ => less.given = None,
    }
    less
}

fn verdict_of(drawn: &Drawn, change: impl FnOnce(&mut Facts<'_>)) -> Decision {
    let owned = Owned::of(drawn);
    let results = BTreeMap::from([(CallRef(1), &owned.output)]);
    let mut facts = owned.facts(drawn, &results);
    change(&mut facts);
    decide(&facts)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4_000))]

    #[test]
    fn missing_fact_never_turns_a_deny_into_an_allow(drawn in drawn(), which in 0u8..15) {
        let owned = Owned::of(&drawn);
        let results = BTreeMap::from([(CallRef(1), &owned.output)]);
        let facts = owned.facts(&drawn, &results);
        let (with, less) = (decide(&facts), decide(&without(&facts, which)));
        if with.verdict.decision == memory::Verdict::Deny {
            prop_assert!(!less.verdict.is_allow(), "{:?} without {which}: {:?}", with.verdict, less.verdict);
        }
    }

    #[test]
    fn deny_of_a_step_is_the_last_of_the_trace(drawn in drawn()) {
        let decision = verdict_of(&drawn, |_| {});
        for (at, stage) in decision.trace.iter().enumerate() {
            prop_assert_eq!(stage.step, STEPS[at], "the steps come in their order");
            if stage.outcome == Outcome::Denies {
                prop_assert_eq!(at + 1, decision.trace.len(), "nothing is looked at behind a denial");
                prop_assert_eq!(&decision.verdict.decision, &memory::Verdict::Deny);
            }
        }
        let denied = decision.trace.last().is_some_and(|stage| stage.outcome == Outcome::Denies);
        prop_assert_eq!(denied, decision.verdict.decision == memory::Verdict::Deny);
        prop_assert!(denied || decision.trace.len() == STEPS.len());
    }

    #[test]
    fn later_facts_never_lift_the_deny_of_an_earlier_step(drawn in drawn()) {
        let decision = verdict_of(&drawn, |_| {});
        if decision.verdict.decision != memory::Verdict::Deny {
            return Ok(());
        }
        let at = decision.last().unwrap();
        // The best that every later step could find.
        let better = verdict_of(&drawn, |facts| {
            if at < Step::Budgets { facts.load = Some(Load::idle(Standing::Owner)); }
            if at < Step::Budgets { facts.budgets = Finding::Clear; }
            if at < Step::Profile { facts.listed = Finding::Clear; }
            if at < Step::Answered { facts.answers = Answers { card: Some("card"), stored: Stored::Always("card") }; }
            if at < Step::Cost { facts.cost = Finding::Clear; }
            if at < Step::WayBack { facts.way_back = Finding::Clear; }
            if at < Step::Ready && at != Step::Schema && at != Step::Known { facts.sandbox_ready = true; }
        });
        prop_assert_eq!(decision.verdict, better.verdict);
    }

    #[test]
    fn answer_lifts_a_question_and_nothing_else(drawn in drawn()) {
        let silent = verdict_of(&drawn, |facts| facts.answers = Answers::default()).verdict;
        for answers in [
            Answers { card: Some("card"), stored: Stored::None },
            Answers { card: None, stored: Stored::Always("card") },
        ] {
            let answered = verdict_of(&drawn, |facts| facts.answers = answers).verdict;
            match silent.decision {
                memory::Verdict::Deny => prop_assert_eq!(&answered, &silent),
                memory::Verdict::Allow => prop_assert!(answered.is_allow()),
                memory::Verdict::Ask => prop_assert!(answered.decision != memory::Verdict::Deny),
            }
        }
    }

    #[test]
    fn turn_that_only_reads_changes_nothing_and_asks_nobody(drawn in drawn()) {
        let mut owned = Owned::of(&drawn);
        owned.context.reads_only = true;
        let results = BTreeMap::from([(CallRef(1), &owned.output)]);
        let verdict = decide(&owned.facts(&drawn, &results)).verdict;
        prop_assert!(verdict.decision != memory::Verdict::Ask, "{:?}", verdict);
        prop_assert!(!verdict.is_allow() || owned.spec.effect.reads(), "{:?}", verdict);
        // Another call than this one that was fixed changes nothing of that.
        owned.context.frozen = [frozen_call("e", &json!({"another": true}))].into();
        prop_assert_eq!(decide(&owned.facts(&drawn, &results)).verdict, verdict);
    }

    #[test]
    fn frozen_call_is_decided_as_ever_and_asks_nobody(drawn in drawn()) {
        let mut owned = Owned::of(&drawn);
        let results = BTreeMap::from([(CallRef(1), &owned.output)]);
        let attended = decide(&owned.facts(&drawn, &results)).verdict;
        drop(results);
        owned.context.reads_only = true;
        owned.context.frozen = [frozen_call("e", owned.parsed.value())].into();
        let results = BTreeMap::from([(CallRef(1), &owned.output)]);
        let verdict = decide(&owned.facts(&drawn, &results)).verdict;
        let is_mild = matches!(owned.spec.effect, Effect::Of(Class::SelfCreate | Class::SelfModify)) && owned.spec.reversible;
        if attended.is_allow() && (is_mild || owned.spec.effect.reads()) {
            prop_assert!(verdict.is_allow(), "{:?}", verdict);
        } else {
            prop_assert_eq!(verdict.decision, memory::Verdict::Deny);
        }
    }

    #[test]
    fn question_stands_until_it_is_answered(drawn in drawn()) {
        let decision = verdict_of(&drawn, |facts| facts.answers = Answers::default());
        let asks = decision.trace.iter().any(|stage| stage.outcome == Outcome::Asks);
        prop_assert!(!asks || !decision.verdict.is_allow(), "{:?}", decision);
    }

    #[test]
    fn allow_needs_every_step_to_pass(drawn in drawn()) {
        let decision = verdict_of(&drawn, |_| {});
        if decision.verdict.is_allow() {
            let [switches, turn, secrets, budgets, listed, _, _] = drawn.findings;
            // Clear, or a question that the card answers.
            prop_assert!([switches, turn, secrets, budgets, listed].iter().all(|kind| *kind == 0 || *kind == 2 && drawn.card));
            prop_assert!(drawn.named >= 2 && drawn.ready && !drawn.fault);
            prop_assert!(drawn.offered || !drawn.planner);
        }
    }
}

#[test]
fn missing_facts_deny() {
    let decision = decide(&Facts::default());
    assert_eq!(decision.verdict.decision, memory::Verdict::Deny);
    assert_eq!(decision.last(), Some(Step::Known));
}

#[test]
fn stored_answer_is_silent_on_what_must_be_asked_each_time() {
    let spec = |value: Value| Spec::from_catalogue("x", &value);
    let at_home = spec(json!({"effect": "self_modify", "reversible": true}));
    assert!(can_be_stored("self_modify.selector", &at_home));
    for rule in [
        "destroy.many",
        "destroy.irreversible",
        "intent.none",
        "intent.spent",
        "confirm.card",
        "turn.questions",
        "money.payee",
        "shell.unlisted",
        "undo.missing",
    ] {
        assert!(!can_be_stored(rule, &at_home), "{rule}");
    }
    assert!(!can_be_stored("guest.write", &spec(json!({"effect": "send", "reversible": true}))));
    assert!(!can_be_stored("guest.write", &spec(json!({"effect": "self_modify", "reversible": false}))));
    assert!(can_be_stored("net_read.url", &spec(json!({"effect": "net_read"}))));
}

#[test]
fn document_of_the_order_is_the_order() {
    let document = include_str!("../../../../docs/policy.md");
    let table: Vec<&str> = document.lines().filter(|line| line.starts_with("| `")).collect();
    let generated: Vec<String> = STEPS.iter().map(|step| format!("| `{}` | {} |", step.name(), step.holds())).collect();
    assert_eq!(table, generated, "docs/policy.md: the table of steps");
}
