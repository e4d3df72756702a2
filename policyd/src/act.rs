//! One call, from the ask to the handle: decide, have the decision made durable, have
//! sandboxd run exactly what was decided on, label the result. Nothing runs before its line
//! in the chronicle, and no result is parsed or handed over here.

use std::rc::Rc;

use metnos_policy::rules::Judgement;
use metnos_proto::edge::AskError;
use metnos_proto::edges::PlannerPolicyd;
use metnos_proto::ids::{Blake3, CallId, TraceId, TurnId};
use metnos_proto::json::{self, JsonError, RefSite};
use metnos_proto::link_async::Notes;
use metnos_proto::msg::common::{CallRef, Channel, ExecutorId, Level, Refusal, RefusalCode};
use metnos_proto::msg::memoryd::{self as memory, CostStage, Decision};
use metnos_proto::msg::policyd::{Acted, Ran};
use metnos_proto::msg::sandboxd::{Reference, Resolve, Run, RunReport, SeenFolder};
use metnos_proto::payload::Sealed;

use crate::ahead::Ahead;
use crate::approvals::grants::Question;
use crate::arguments::{Arguments, Resolved};
use crate::budget::Purse;
use crate::cards::Asking;
use crate::decide::{self, Facts, MAX_CALLS_PER_TURN, MAX_NAME_RECORDED, MAX_WHY, State, Verdict, Weighed, decide};
use crate::folders::{GIVEN, everything};
use crate::opening::Opening;
use crate::outcome::{known_digest, labelled, passed_on, values_of, without_values};
use crate::path_locks::PathLock;
use crate::policy::{Policy, Running, head};
use crate::rate::Room;
pub(crate) use crate::refusals::{internal, memory_gone};
use crate::registry::Signed;
use crate::reserved::Reserved;
use crate::shares::Taken;
use crate::turns::{self, Kept};
use crate::undo::{self, WayBack};

/// A call as it was asked for.
#[derive(Debug)]
pub(crate) struct Call {
    pub(crate) turn: TurnId,
    pub(crate) place: CallRef,
    pub(crate) executor: String,
    pub(crate) arguments: Sealed,
    /// The planner's that asks for it; nobody else hears how it goes.
    pub(crate) notes: Option<Notes<PlannerPolicyd>>,
    /// The card on which the owner has approved exactly this.
    pub(crate) approved: Option<String>,
    /// The first line of its turn, where that is still due.
    pub(crate) opening: Rc<Opening>,
    /// policyd counts for the owner's card what an act would touch: whoever asks for the act, the count is not for him.
    pub(crate) counts: bool,
}

/// What was decided about a call, and what is needed to carry it out.
struct Decided {
    verdict: Verdict,
    /// Set exactly when the verdict allows.
    granted: Option<Granted>,
    /// Set when it needs the owner's word.
    asking: Option<Asking>,
    id: ExecutorId,
    trace: TraceId,
    principal: String,
    channel: Channel,
    /// One refusal of a flood was recorded already.
    silent: bool,
}

struct Granted {
    signed: Rc<Signed>,
    reserved: Reserved,
    judgement: Judgement,
    /// How it will be taken back, when it can be.
    back: Option<WayBack>,
    /// What its manifest grants, as it was seen when this was decided.
    folders: Vec<SeenFolder>,
    /// The part of the workspace that is shown, where it is not all that its manifest grants.
    only: Option<Vec<String>>,
    /// sandboxd makes it ready already.
    ahead: Option<Ahead>,
}

impl Decided {
    fn way_back(&self) -> Option<&WayBack> {
        self.granted.as_ref()?.back.as_ref()
    }
}

impl Policy {
    /// Decides a call, records the decision, and carries it out when it allows.
    ///
    /// # Errors
    /// A refusal when it could not be decided or carried out to its end; what was decided stands in the chronicle.
    pub(crate) async fn mediate(self: &Rc<Self>, mut call: Call) -> Result<Acted, Refusal> {
        if self.draining.get() {
            return Err(Refusal::new(RefusalCode::Busy, "policyd.stopping", "policyd is stopping")
                .remedy("try again in a moment"));
        }
        self.chain_holds().await?;
        self.refresh_world(call.turn);
        let id = CallId::new();
        let bytes = call.arguments.read().map_err(|error| internal(&error.to_string()))?;
        let mut digest = Blake3::of(&bytes);
        let arguments = Arguments::parse(&bytes);
        drop(bytes);
        self.sandbox_soon().await;
        let (arguments, told) = self.without_secret(&mut call, &mut digest, arguments)?;
        let resolved = self.resolve(&call, &arguments).await;
        let purse = self.purse_of(&call).await?;
        let decided = self.decided(&call, id, (&arguments, &resolved), told.as_deref(), purse.as_ref())?;
        // What is not carried out spends nothing: others may.
        let purse = purse.filter(|_| decided.granted.is_some());
        let say = |refusal| Ok(Acted::Denied(without_values(refusal, &arguments)));
        if decided.silent {
            return say(decided.verdict.refusal());
        }
        if let (Some(back), Ok(arguments)) = (decided.way_back(), &arguments) {
            (call.arguments, digest) = back.kept_with(arguments).map_err(|why| internal(&why))?;
        }
        let lock = decided.granted.as_ref().map(|granted| self.path_lock(&granted.signed, &arguments, &resolved));
        let lock = lock.transpose()?.flatten();
        // One that waits for another is not made ready meanwhile.
        let free = lock.as_ref().is_none_or(PathLock::is_held);
        let ahead = decided.granted.as_ref().filter(|_| free).and_then(|granted| {
            let run = run_of(&call, id, (digest, 0), (decided.trace, &decided.id), granted);
            self.hand_ahead(&granted.signed, decided.trace, run, &call.arguments)
        });
        let seq = self.record(&call, id, digest, &decided).await?;
        let acts = decided.granted.as_ref().is_some_and(|granted| !granted.signed.spec.effect.reads());
        self.chain_holds_for(acts, &decided.id, call.turn, seq).await?;
        if let Some(asking) = &decided.asking {
            let refusal = self.ask_owner(&call, &decided.principal, &decided.id, &decided.verdict, asking).await;
            return say(refusal);
        }
        let Some(mut granted) = decided.granted else { return say(decided.verdict.refusal()) };
        granted.ahead = ahead;
        let price = purse.as_ref().map_or(0, |purse| purse.price);
        let (entry, whose) = ((id, call.turn, decided.trace), (decided.principal.as_str(), &decided.id));
        if price > 0 {
            self.ledger(CostStage::Estimate, entry, whose, price).await?;
        }
        // From here on the ledger knows of it, and others may spend.
        drop(purse);
        let ran = match self.turn_comes(call.turn, &decided.id, lock.as_ref()).await {
            Ok(()) => self.run(call, id, digest, seq, decided.trace, decided.id.clone(), granted).await,
            Err(refusal) => Ok(Acted::Denied(refusal)),
        };
        drop(lock);
        self.sign_after(acts);
        if price > 0 {
            self.settle_cost(entry, whose, price, &ran).await;
        }
        let acted = ran?;
        match acted {
            Acted::Denied(refusal) => say(refusal),
            Acted::Ran(ran) => Ok(Acted::Ran(ran)),
        }
    }

    /// The values of critical references, from sandboxd, compared with what is known of their results.
    async fn resolve(
        self: &Rc<Self>,
        call: &Call,
        arguments: &Result<Arguments, JsonError>,
    ) -> Result<Resolved, Refusal> {
        let Some(signed) = self.registry.borrow().callable(&call.executor) else { return Ok(Resolved::new()) };
        let Ok(arguments) = arguments else { return Ok(Resolved::new()) };
        let sites: Vec<RefSite> = arguments.critical(&signed.manifest).cloned().collect();
        let (trace, known) = {
            let turns = self.turns.borrow();
            let turn = turns.get(call.turn).ok_or_else(|| turns::unknown(call.turn))?;
            let known =
                |site: &RefSite| turn.result_of(site.call).map(|kept| known_digest(&kept.labels, &site.pointer));
            let Some(known) = sites.iter().map(known).collect::<Option<Vec<Option<Blake3>>>>() else {
                // To what was never run; the decision says so.
                return Ok(Resolved::new());
            };
            (turn.trace, known)
        };
        if sites.is_empty() || !self.sandbox_ready() {
            return Ok(Resolved::new());
        }
        let references =
            sites.iter().map(|site| Reference { call: site.call, pointer: site.pointer.clone() }).collect();
        let ask = Resolve { turn: call.turn, references };
        let (answer, [values]) =
            self.ask_sandbox(self.sandbox.resolve(trace, ask, [])).await.map_err(AskError::into_refusal)?;
        let values = values_of(&values).map_err(|why| internal(&why))?;
        let digests: Vec<Blake3> = values.iter().map(json::digest).collect();
        let fits = digests == answer.digests
            && digests.len() == known.len()
            && digests.iter().zip(&known).all(|(digest, known)| known.is_none_or(|known| known == *digest));
        if !fits {
            let why = "sandboxd resolved a reference to something else than the result that it reported";
            self.event("violation", why, Some(call.turn));
            return Err(internal(why));
        }
        Ok(sites.into_iter().map(|site| site.argument).zip(values).collect())
    }

    /// Decides, and takes a place among the running calls in the same breath.
    fn decided(
        self: &Rc<Self>,
        call: &Call,
        call_id: CallId,
        (arguments, resolved): (&Result<Arguments, JsonError>, &Result<Resolved, Refusal>),
        told: Option<&str>,
        purse: Option<&Purse<'_>>,
    ) -> Result<Decided, Refusal> {
        let now = self.clock.monotonic_ms();
        let registry = self.registry.borrow();
        let turns = self.turns.borrow();
        let turn = turns.get(call.turn).ok_or_else(|| turns::unknown(call.turn))?;
        let room = self.rate.borrow_mut().admit(&turn.principal.name, turn.principal.standing, now);
        let reserved = self.reserved.get();
        let files = self.looked_at(registry.callable(&call.executor).as_deref(), (arguments, resolved));
        let world = if call.counts { everything(&turn.world) } else { Rc::clone(&turn.world) };
        let facts = Facts {
            files: &files,
            name: &call.executor,
            executor: self.named_for(call, turn, &registry),
            arguments: arguments.as_ref(),
            resolved: resolved.as_ref(),
            world: &world,
        };
        let results = turn.results();
        let state = State {
            flow: &turn.flow,
            results: &results,
            calls: turn.calls,
            running_in_turn: turn.running,
            standing: turn.principal.standing,
            running: Taken { all: reserved, ..turns.taken(&turn.principal.name, |turn| turn.running) },
            handles: turns.taken(&turn.principal.name, |turn| turn.handles() + turn.running),
            kept_bytes: turns.taken(&turn.principal.name, turns::Turn::kept_bytes),
            within_rate: room == Room::Yes,
            calls_per_minute: self.rate.borrow().per_minute(),
            by_planner: call.notes.is_some(),
            sandbox_ready: self.sandbox_ready(),
        };
        let Weighed { mut verdict, judgement, step: _ } = decide(&facts, &state);
        let callable = registry.callable(&call.executor);
        if turn.stopped {
            verdict =
                Verdict::deny("turn.stopped", "this turn has put more questions than a turn may, and was stopped")
                    .with_remedy("say anew what is still to be done");
        }
        let running = self.running_of(&turn.principal.name);
        if let (false, Some(signed)) = (verdict.decision == memory::Verdict::Deny, &callable) {
            let withheld = || self.house().vault.borrow().withheld(&signed.manifest, &signed.digests);
            verdict =
                self.over_budget(&turn.principal.name, running, signed, purse).or_else(withheld).unwrap_or(verdict);
        }
        if let Some(name) = told {
            let why = format!("an argument holds the secret `{name}`; the arguments are not recorded");
            verdict = Verdict::deny(crate::vault::TOLD, why)
                .with_remedy("an executor that needs it asks for it in its manifest, and is given it by policyd");
        }
        let not_shown = || self.not_there(&verdict, callable.as_deref()?, (arguments, resolved));
        // Whatever else holds: what the owner has switched off is off, and what is used up is used up.
        if let Some(no) = self.barred(&call.executor, callable.as_deref()).or_else(not_shown) {
            verdict = no;
        }
        if let (memory::Verdict::Ask, Some(card)) = (&verdict.decision, &call.approved) {
            verdict = Verdict::allow(GIVEN, format!("the owner has approved the card {card}: {}", verdict.why));
        }
        if let (memory::Verdict::Ask, Some(signed)) = (&verdict.decision, &callable) {
            let said = self.word_on(call.turn, turn, &verdict, signed, (arguments, resolved));
            verdict = said.unwrap_or(verdict);
        }
        let costly = |turn: &turns::Turn| (turn.principal.level != Level::Full).then(|| self.costly(&call.executor));
        if verdict.is_allow()
            && call.approved.is_none()
            && judgement.is_some()
            && let Some(ask) = costly(turn).flatten()
        {
            verdict = ask;
        }
        let missing = |signed: &Rc<Signed>| undo::missing(&signed.manifest, |name| registry.callable(name).is_some());
        if verdict.is_allow()
            && call.approved.is_none()
            && let Some(why) = callable.as_ref().and_then(missing)
        {
            verdict = Verdict { decision: memory::Verdict::Ask, ..Verdict::deny("undo.missing", why) };
        }
        let asks = verdict.decision == memory::Verdict::Ask;
        let signed = callable.clone().filter(|_| verdict.is_allow());
        if verdict.is_allow() && signed.is_none() {
            verdict = Verdict::deny("executor.unknown", "what was decided on is not there");
        }
        let silent = !verdict.is_allow() && (room == Room::Still || turn.calls > MAX_CALLS_PER_TURN + 1);
        let id =
            ExecutorId { name: head(&call.executor, MAX_NAME_RECORDED), version: registry.version_of(&call.executor) };
        let (trace, principal, channel) = (turn.trace, turn.principal.name.clone(), turn.principal.channel);
        if let (Some(signed), true) = (&signed, judgement.is_some()) {
            self.use_up(&turn.principal.name, running, signed, purse);
            let given = crate::vault::named(&signed.manifest);
            if !given.is_empty() {
                verdict.why = head(&format!("{}; it is given the secrets {}", verdict.why, given.join(", ")), MAX_WHY);
            }
        }
        drop(turns);
        self.decisions.set(self.decisions.get() + 1);
        self.denials.set(self.denials.get() + u64::from(!verdict.is_allow()));
        let filled = match (arguments, resolved, &callable) {
            (Ok(arguments), Ok(resolved), Some(signed)) if asks => arguments.fill(&signed.manifest, resolved),
            _ => None,
        };
        if let (true, Some(judgement), Some(turn)) = (asks, &judgement, self.turns.borrow_mut().get_mut(call.turn)) {
            turn.flow.asked();
            turn.flow.dropped(judgement);
        }
        let (judgement, asking) = match (filled, callable, judgement) {
            (Some(filled), Some(signed), Some(judgement)) => (None, Some(Asking { signed, judgement, filled })),
            (_, _, judgement) => (judgement, None),
        };
        let back = match (&signed, arguments, resolved) {
            (Some(signed), Ok(arguments), Ok(resolved)) => undo::way_back(signed, arguments, resolved, call_id),
            _ => None,
        };
        let granted = signed.zip(judgement).map(|(signed, judgement)| {
            let only = self.shown_to(call.turn, &signed, &verdict.rule).filter(|_| !call.counts);
            if let Some(turn) = self.turns.borrow_mut().get_mut(call.turn) {
                turn.flow.carried_out(&judgement);
            }
            self.will_write(&signed.manifest);
            let (folders, reserved) = (self.seen(&signed, only.as_deref()), Reserved::take(self, call.turn));
            Granted { folders, only, signed, reserved, judgement, back, ahead: None }
        });
        Ok(Decided { verdict, granted, asking, id, trace, principal, channel, silent })
    }

    /// What the owner has said for longer than once about such a question.
    fn word_on(
        &self,
        id: TurnId,
        turn: &turns::Turn,
        verdict: &Verdict,
        signed: &Signed,
        (arguments, resolved): (&Result<Arguments, JsonError>, &Result<Resolved, Refusal>),
    ) -> Option<Verdict> {
        let filled = arguments.as_ref().ok()?.fill(&signed.manifest, resolved.as_ref().ok()?)?;
        self.stored_word(&Question {
            principal: &turn.principal.name,
            turn: id,
            rule: &verdict.rule,
            executor: &signed.manifest.id(),
            digests: &signed.digests,
            spec: &signed.spec,
            value: &filled.value,
            places: &self.setting.places,
            now_ms: self.clock.wall_ms(),
        })
    }

    /// Has the decision made durable; its line's number.
    async fn record(&self, call: &Call, id: CallId, arguments: Blake3, decided: &Decided) -> Result<u64, Refusal> {
        let word = Decision {
            turn: call.turn,
            trace: decided.trace,
            call: id,
            place: call.place,
            principal: decided.principal.clone(),
            channel: decided.channel,
            id: decided.id.clone(),
            arguments,
            verdict: decided.verdict.decision.clone(),
            rule: decided.verdict.rule.clone(),
            why: decided.verdict.why.clone(),
        };
        let copy = call.arguments.share().map_err(|error| internal(&error.to_string()))?;
        Ok(self.open_and_decide(&call.opening, decided.trace, word, copy).await?.seq)
    }

    /// Has sandboxd run what was decided, and keeps the result.
    #[allow(clippy::too_many_arguments, reason = "the parts of one decision, used once")]
    async fn run(
        self: &Rc<Self>,
        call: Call,
        id: CallId,
        digest: Blake3,
        seq: u64,
        trace: TraceId,
        executor: ExecutorId,
        granted: Granted,
    ) -> Result<Acted, Refusal> {
        let run = run_of(&call, id, (digest, seq), (trace, &executor), &granted);
        let Granted { signed, reserved, judgement, back, folders: _, only: _, ahead } = granted;
        if self.turns.borrow().get(call.turn).is_none() {
            return Err(turns::unknown(call.turn));
        }
        if !self.sandbox_ready() {
            return Ok(Acted::Denied(decide::sandbox_gone().refusal()));
        }
        // It may have been set aside while the decision was being written.
        let same = |now: Rc<Signed>| now.digests == signed.digests;
        if !self.registry.borrow().callable(&call.executor).is_some_and(same) {
            let why = format!("{executor} was set aside in this very moment");
            return Ok(Acted::Denied(Verdict::deny(decide::QUARANTINED, why).refusal()));
        }
        let principal = self.turns.borrow().get(call.turn).map(|turn| turn.principal.name.clone()).unwrap_or_default();
        self.keep_used(&principal, &executor.name).await?;
        self.keep_written(&signed.manifest).await?;
        if let Some(back) = &back {
            self.note_act(call.turn, id, &executor, back).await?;
        }
        let running =
            Running { turn: call.turn, place: call.place, notes: call.notes, executor: call.executor.clone() };
        self.running.borrow_mut().insert(id, running);
        // It may have been switched off while the decision was being written; from here to the ask nothing else happens.
        let ahead = ahead.filter(|ahead| !ahead.is_lost());
        let answer = match (self.switched_off(&call.executor), ahead) {
            (Some(off), _) => Err(AskError::Refused(off.refusal())),
            (None, Some(ahead)) => ahead.decided(seq).await,
            (None, None) => self.hand_over(&signed, trace, run, call.arguments).await,
        };
        self.running.borrow_mut().remove(&id);
        if back.is_some() {
            self.act_ended(id, &answer).await;
        }
        let (report, [result]) = match answer {
            Ok(answer) => answer,
            // Nothing ran: sandboxd has looked for itself. The decision's line says "allow", so this one says why not.
            Err(AskError::Refused(refusal)) => {
                let why = format!("{executor} was allowed and did not run: {}: {}", refusal.rule, refusal.why);
                self.event("refused", &why, Some(call.turn));
                return Ok(Acted::Denied(refusal));
            }
            Err(error) => return Err(self.interrupted(call.turn, &executor, &error)),
        };
        if let Err(why) = self.fitting(call.turn, &report, &result) {
            self.event("violation", &format!("sandboxd's report on {executor} does not hold: {why}"), Some(call.turn));
            return Err(internal(&format!("{executor} ran, but sandboxd's report on it does not hold: {why}")));
        }
        self.account(&signed, &report).await;
        let acted = self.kept(call.turn, call.place, id, &signed, &judgement, report, result);
        drop(reserved);
        acted
    }

    /// Labels a result, keeps it for its turn, and says what the planner may know of it.
    #[allow(clippy::too_many_arguments, reason = "the parts of one result, used once")]
    fn kept(
        &self,
        turn: TurnId,
        place: CallRef,
        call: CallId,
        signed: &Signed,
        judgement: &Judgement,
        report: RunReport,
        result: Sealed,
    ) -> Result<Acted, Refusal> {
        let labels = labelled(&signed.spec, judgement, &report);
        let label = labels.whole;
        let mut turns = self.turns.borrow_mut();
        let open = turns.get_mut(turn).ok_or_else(|| turns::unknown(turn))?;
        let handle = open.keep(place, Kept { call, result: Rc::new(result), labels, foreseen: judgement.foreseen });
        let RunReport { outcome, result, leaves, inputs: _, resources } = report;
        let leaves = passed_on(leaves, result);
        Ok(Acted::Ran(Ran { call, handle, outcome, label, leaves, resources }))
    }
}

/// What sandboxd is handed of a call that was allowed.
fn run_of(call: &Call, id: CallId, line: (Blake3, u64), whose: (TraceId, &ExecutorId), granted: &Granted) -> Run {
    let ((arguments, decision_seq), (trace, executor)) = (line, whose);
    Run {
        call: id,
        place: call.place,
        turn: call.turn,
        trace,
        id: executor.clone(),
        digests: granted.signed.digests.clone(),
        arguments,
        decision_seq,
        folders: granted.folders.clone(),
        only: granted.only.clone(),
    }
}
