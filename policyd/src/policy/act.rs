//! One call, from the ask to the handle: decide, have the decision made durable, have
//! sandboxd run exactly what was decided on, label the result. Nothing runs before its line
//! in the chronicle, and no result is parsed or handed over here.

use std::rc::Rc;

use metnos_policy::rules::Judgement;
use metnos_proto::edge::RpcError;
use metnos_proto::ids::{Blake3, CallId, TraceId, TurnId};
use metnos_proto::json::{self, JsonError, RefSite};
use metnos_proto::msg::common::{CallRef, Channel, ExecutorId, Refusal, RefusalCode};
use metnos_proto::msg::memoryd as memory;
use metnos_proto::msg::memoryd::{CostStage, Decision};
use metnos_proto::msg::policyd::{Acted, Ran};
use metnos_proto::msg::sandboxd::{Reference, Resolve, Run, RunReport, SeenFolder};
use metnos_proto::msg::schedule::frozen_call;
use metnos_proto::payload::Sealed;

use crate::approvals::cards::Asking;
use crate::arguments::{Arguments, Resolved};
use crate::budget::{BudgetGuard, over_rule};
use crate::calls::call::Call;
use crate::calls::files;
use crate::calls::outcome::{known_digest, labelled, passed_on, values_of, without_values};
use crate::calls::path_locks::PathLock;
use crate::calls::rate::Admission;
use crate::calls::reserved;
use crate::calls::running::{Running, RunningSlot};
use crate::calls::speculative::Speculative;
use crate::calls::turns::{self, StoredResult, Turn, Turns};
use crate::decision::{self, Load, MAX_CALLS_PER_TURN, MAX_WHY, Named, Verdict, decide};
use crate::executors::registry::{Registry, Signed};
use crate::perimeter::folders::everything;
use crate::policy::Policy;
use crate::policy::gather::{Arrived, Due, Gathered};
use crate::refusals::internal;
use crate::shares::Taken;
use crate::text::head;
use crate::undo::{self, WayBack};

/// The longest name of an executor that is recorded as it came, in bytes.
const MAX_NAME_RECORDED: usize = 64;

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
    reserved: RunningSlot,
    judgement: Judgement,
    /// How it will be taken back, when it can be.
    back: Option<WayBack>,
    /// What its manifest grants, as it was seen when this was decided.
    folders: Vec<SeenFolder>,
    /// The part of the workspace that is shown, where it is not all that its manifest grants.
    only: Option<Vec<String>>,
    /// The name of the private folder of the person whose turn it is.
    own: Option<String>,
    /// The path in it that the call is about, where it names none.
    own_path: Option<String>,
    /// sandboxd makes it ready already.
    ahead: Option<Speculative>,
}

impl Policy {
    /// Decides a call, records the decision, and carries it out when it allows.
    ///
    /// # Errors
    /// A refusal when it could not be decided or carried out to its end; what was decided stands in the chronicle.
    pub(crate) async fn mediate(self: &Rc<Self>, mut call: Call) -> Result<Acted, Refusal> {
        if self.calls.running.draining.get() {
            return Err(Refusal::new(RefusalCode::Busy, "policyd.stopping", "policyd is stopping")
                .remedy("try again in a moment"));
        }
        self.anchors.chain_holds().await?;
        self.people.refresh_world(call.turn);
        let id = CallId::new();
        let bytes = call.arguments.read().map_err(|error| internal(&error.to_string()))?;
        let mut digest = Blake3::of(&bytes);
        let arguments = Arguments::parse(&bytes);
        drop(bytes);
        self.base.sandbox_soon().await;
        let (arguments, told) = self.secrets.without_secret(&mut call, &mut digest, arguments)?;
        if let (None, Ok(arguments)) = (&call.file, &arguments) {
            call.file = self.file_of_turn(&call, arguments);
        }
        let resolved = self.resolve(&call, &arguments).await;
        let purse = self.purse_of(&call).await?;
        let decided = self.decided(&call, id, (&arguments, &resolved), told.as_deref(), purse.as_ref())?;
        // What is not carried out spends nothing: others may.
        let purse = purse.filter(|_| decided.granted.is_some());
        let say = |refusal| Ok(Acted::Denied(without_values(refusal, &arguments)));
        if decided.silent {
            return say(decided.verdict.refusal());
        }
        let mut carry = None;
        if let (Some(granted), Ok(arguments)) = (&decided.granted, &arguments) {
            let keep = granted.back.as_ref().map(|back| back.keep.as_str());
            let home = self.home_place(&granted.signed, arguments);
            carry = self.state_for(call.turn, &granted.signed, arguments.value()).await?;
            let seen = carry.as_ref().map(|carry| carry.seen.as_str()).filter(|seen| !seen.is_empty());
            let sets = reserved::Sets { keep, own: granted.own_path.as_deref(), home: home.as_deref(), seen };
            let completed = reserved::completed(arguments, sets);
            if let Some(completed) = completed.map_err(|why| internal(&why))? {
                (call.arguments, digest) = completed;
            }
        }
        let lock = decided.granted.as_ref().map(|granted| self.path_lock(&granted.signed, &arguments, &resolved));
        let lock = lock.transpose()?.flatten();
        // One that waits for another is not made ready meanwhile.
        let free = lock.as_ref().is_none_or(PathLock::is_held);
        let ahead = decided.granted.as_ref().filter(|_| free).and_then(|granted| {
            let run = run_of(&call, id, (digest, 0), (decided.trace, &decided.id), granted);
            Speculative::prepare(&self.base, &granted.signed, decided.trace, run, &call.arguments)
        });
        let seq = self.record(&call, id, digest, &decided).await?;
        let acts = decided.granted.as_ref().is_some_and(|granted| !granted.signed.spec.effect.reads());
        self.anchors.chain_holds_for(acts, &decided.id, call.turn, seq).await?;
        if let Some(asking) = &decided.asking {
            let refusal = self.ask_owner(&call, &decided.principal, &decided.id, &decided.verdict, asking).await;
            return say(refusal);
        }
        let Some(mut granted) = decided.granted else { return say(decided.verdict.refusal()) };
        granted.ahead = ahead;
        let price = purse.as_ref().map_or(0, |purse| purse.price);
        let carried = (call.turn, call.place, decided.trace);
        let (entry, whose) = ((id, call.turn, decided.trace), (decided.principal.as_str(), &decided.id));
        if price > 0 {
            self.budgets.ledger(CostStage::Estimate, entry, whose, price).await?;
        }
        // From here on the ledger knows of it, and others may spend.
        drop(purse);
        let ran = match self.turn_comes(call.turn, &decided.id, lock.as_ref()).await {
            Ok(()) => self.run(call, id, digest, seq, decided.trace, decided.id.clone(), granted).await,
            Err(refusal) => Ok(Acted::Denied(refusal)),
        };
        drop(lock);
        self.anchors.sign_after(acts);
        if price > 0 {
            self.budgets.settle_cost(entry, whose, price, &ran).await;
        }
        let acted = ran?;
        if let Some(carry) = carry {
            self.store_state(carried, carry, &acted).await?;
        }
        match acted {
            Acted::Denied(refusal) => say(refusal),
            Acted::Ran(ran) => Ok(Acted::Ran(ran)),
        }
    }

    /// The file that an earlier call of the turn has given, where this one takes a file and came without.
    fn file_of_turn(&self, call: &Call, arguments: &Arguments) -> Option<Sealed> {
        let signed = self.executors.registry.borrow().callable(&call.executor)?;
        let turns = self.calls.turns.borrow();
        files::of_turn(&signed, arguments.value(), turns.get(call.turn)?)
    }

    /// The values of critical references, from sandboxd, compared with what is known of their results.
    pub(crate) async fn resolve(
        &self,
        call: &Call,
        arguments: &Result<Arguments, JsonError>,
    ) -> Result<Resolved, Refusal> {
        let Some(signed) = self.executors.registry.borrow().callable(&call.executor) else {
            return Ok(Resolved::new());
        };
        let Ok(arguments) = arguments else { return Ok(Resolved::new()) };
        let sites: Vec<RefSite> = arguments.critical(&signed.spec).cloned().collect();
        let (trace, known) = {
            let turns = self.calls.turns.borrow();
            let turn = turns.get(call.turn).ok_or_else(|| turns::unknown(call.turn))?;
            let known =
                |site: &RefSite| turn.result_of(site.call).map(|kept| known_digest(&kept.labels, &site.pointer));
            let Some(known) = sites.iter().map(known).collect::<Option<Vec<Option<Blake3>>>>() else {
                // To what was never run; the decision says so.
                return Ok(Resolved::new());
            };
            (turn.trace, known)
        };
        if sites.is_empty() || !self.base.sandbox_ready() {
            return Ok(Resolved::new());
        }
        let references =
            sites.iter().map(|site| Reference { call: site.call, pointer: site.pointer.clone() }).collect();
        let ask = Resolve { turn: call.turn, references };
        let (answer, [values]) =
            self.base.ask_sandbox(self.base.sandbox.resolve(trace, ask, [])).await.map_err(RpcError::into_refusal)?;
        let values = values_of(&values).map_err(|why| internal(&why))?;
        let digests: Vec<Blake3> = values.iter().map(json::digest).collect();
        let fits = digests == answer.digests
            && digests.len() == known.len()
            && digests.iter().zip(&known).all(|(digest, known)| known.is_none_or(|known| known == *digest));
        if !fits {
            let why = "sandboxd resolved a reference to something else than the result that it reported";
            self.base.event("violation", why, Some(call.turn));
            return Err(internal(why));
        }
        Ok(sites.into_iter().map(|site| site.argument).zip(values).collect())
    }

    /// Gathers the facts, decides, and takes a place among the running calls without letting anything happen in between.
    fn decided(
        self: &Rc<Self>,
        call: &Call,
        call_id: CallId,
        arrived: Arrived<'_>,
        told: Option<&str>,
        purse: Option<&BudgetGuard<'_>>,
    ) -> Result<Decided, Refusal> {
        let now = self.base.clock.monotonic_ms();
        let registry = self.executors.registry.borrow();
        let turns = self.calls.turns.borrow();
        let turn = turns.get(call.turn).ok_or_else(|| turns::unknown(call.turn))?;
        let room = self.calls.rate.borrow_mut().admit(&turn.principal.name, turn.principal.standing, now);
        let world = if call.counts { everything(&turn.world) } else { Rc::clone(&turn.world) };
        let due = Due {
            call: Some(call),
            name: &call.executor,
            principal: &turn.principal,
            turn: call.turn,
            arrived,
            told,
            stopped: turn.stopped,
            purse,
            holder: turn.world.account_holder.as_deref(),
            running: self.budgets.running_of(&turn.principal.name),
        };
        let gathered = self.gather(&registry, &due);
        let results = turn.results();
        let named = self.named_for(call, turn, &registry);
        let load = self.turn_load(&turns, turn, room == Admission::Yes);
        let facts = gathered.facts(&due, named, load, (&world, &turn.flow, &results));
        let decision::Decision { mut verdict, judgement, trace: _ } = decide(&facts);
        self.note_answers(&gathered, &verdict, &turn.principal.name);
        let signed = gathered.signed.clone().filter(|_| verdict.is_allow());
        let silent = !verdict.is_allow() && (room == Admission::Still || turn.calls > MAX_CALLS_PER_TURN + 1);
        let id =
            ExecutorId { name: head(&call.executor, MAX_NAME_RECORDED), version: registry.version_of(&call.executor) };
        let (trace, principal, channel) = (turn.trace, turn.principal.name.clone(), turn.principal.channel);
        if let Some(signed) = &signed {
            self.budgets.use_up(&principal, due.running, signed, purse);
            let given = crate::vault::named(&signed.manifest);
            if !given.is_empty() {
                verdict.why = head(&format!("{}; it is given the secrets {}", verdict.why, given.join(", ")), MAX_WHY);
            }
        }
        drop(turns);
        self.calls.decisions.set(self.calls.decisions.get() + 1);
        self.calls.denials.set(self.calls.denials.get() + u64::from(!verdict.is_allow()));
        let (mut granted, mut asking) = (None, None);
        match (&verdict.decision, judgement, gathered.signed, gathered.filled) {
            (memory::Verdict::Allow, Some(judgement), Some(signed), _) => {
                if let (Some(turn), Ok(arguments)) = (self.calls.turns.borrow_mut().get_mut(call.turn), arrived.0) {
                    turn.flow.frozen.remove(&frozen_call(&call.executor, arguments.value()));
                }
                granted = Some(self.grant(call, call_id, signed, judgement, arrived, &verdict.rule));
            }
            (memory::Verdict::Ask, Some(judgement), Some(signed), Some(filled)) => {
                if let Some(turn) = self.calls.turns.borrow_mut().get_mut(call.turn) {
                    turn.flow.asked();
                    turn.flow.dropped(judgement.effect);
                }
                asking = Some(Asking { signed, judgement, filled });
            }
            _ => {}
        }
        Ok(Decided { verdict, granted, asking, id, trace, principal, channel, silent })
    }

    /// What of the shared places is taken, for the principal of a turn.
    fn turn_load(&self, turns: &Turns, turn: &Turn, within_rate: bool) -> Load {
        let taken = |count: &dyn Fn(&Turn) -> usize| turns.taken(&turn.principal.name, count);
        Load {
            standing: turn.principal.standing,
            calls: turn.calls,
            running_in_turn: turn.running,
            running: Taken { all: self.calls.running.reserved.get(), ..taken(&|turn| turn.running) },
            handles: taken(&|turn| turn.handles() + turn.running),
            kept_bytes: taken(&Turn::kept_bytes),
            within_rate,
            calls_per_minute: self.calls.rate.borrow().per_minute(),
        }
    }

    /// What follows on a decision for those who count: a stored answer was used, a budget has run out.
    fn note_answers(&self, gathered: &Gathered, verdict: &Verdict, principal: &str) {
        if let Some(id) = gathered.answered_by(&verdict.rule)
            && let Some(grant) = self.approvals.grants.all.borrow_mut().get_mut(id)
        {
            grant.uses = grant.uses.saturating_add(1);
        }
        if let Some(over) = gathered.over
            && verdict.rule == over_rule(over)
        {
            self.thinking.escalate(over, principal);
        }
    }

    /// Takes a place for an allowed call, and settles what it is shown.
    fn grant(
        self: &Rc<Self>,
        call: &Call,
        id: CallId,
        signed: Rc<Signed>,
        judgement: Judgement,
        arrived: Arrived<'_>,
        rule: &str,
    ) -> Granted {
        let (own, for_all) = self.own_folder(call.turn);
        let own_path = match (arrived.0, own.as_deref()) {
            (Ok(arguments), Some(own)) => reserved::own_path(&signed.manifest.contract, own, arguments, for_all),
            _ => None,
        };
        let back = match arrived {
            (Ok(arguments), Ok(resolved)) => {
                undo::way_back(&signed, arguments, resolved, id, own_path.as_deref()).map(|back| {
                    let inverse = self.executors.registry.borrow().callable(&back.inverse);
                    back.taken_by(inverse.as_deref())
                })
            }
            _ => None,
        };
        let only = self.shown_to(call.turn, &signed, rule).filter(|_| !call.counts);
        if let Some(turn) = self.calls.turns.borrow_mut().get_mut(call.turn) {
            turn.flow.carried_out(&judgement);
        }
        self.budgets.will_write(&signed.manifest);
        let (folders, reserved) =
            (self.base.perimeter.seen(&signed, only.as_deref()), self.calls.running.take(call.turn));
        Granted { folders, only, signed, reserved, judgement, back, own, own_path, ahead: None }
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
        Ok(call.opening.record_with(&self.base.memory, decided.trace, word, copy).await?.seq)
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
        let Granted { signed, reserved, judgement, back, folders: _, only: _, own: _, own_path: _, ahead } = granted;
        if self.calls.turns.borrow().get(call.turn).is_none() {
            return Err(turns::unknown(call.turn));
        }
        if !self.base.sandbox_ready() {
            return Ok(Acted::Denied(decision::sandbox_gone().refusal()));
        }
        // It may have been quarantined while the decision was being written.
        let same = |now: Rc<Signed>| now.digests == signed.digests;
        if !self.executors.registry.borrow().callable(&call.executor).is_some_and(same) {
            let why = format!("{executor} was set aside in this very moment");
            return Ok(Acted::Denied(Verdict::deny(decision::QUARANTINED, why).refusal()));
        }
        let principal =
            self.calls.turns.borrow().get(call.turn).map(|turn| turn.principal.name.clone()).unwrap_or_default();
        self.budgets.keep_used(&principal, &executor.name).await?;
        self.budgets.keep_written(&signed.manifest).await?;
        if let Some(back) = &back {
            self.calls.undo.note_act(call.turn, id, &executor, back).await?;
        }
        let running =
            Running { turn: call.turn, place: call.place, notes: call.notes, executor: call.executor.clone() };
        self.calls.running.calls.borrow_mut().insert(id, running);
        // It may have been switched off while the decision was being written; from here to the ask nothing else happens.
        let ahead = ahead.filter(|ahead| !ahead.is_lost());
        let answer = match (self.executors.switched_off(&call.executor), ahead) {
            (Some(off), _) => Err(RpcError::Refused(off.refusal())),
            (None, Some(ahead)) => ahead.decided(seq).await,
            (None, None) => self.hand_over(&signed, trace, run, call.arguments, call.file).await,
        };
        self.calls.running.calls.borrow_mut().remove(&id);
        if back.is_some() {
            self.calls.undo.act_ended(id, &answer).await;
        }
        let (report, [result]) = match answer {
            Ok(answer) => answer,
            // Nothing ran: sandboxd has looked for itself. The decision's line says "allow", so this one says why not.
            Err(RpcError::Refused(refusal)) => {
                let why = format!("{executor} was allowed and did not run: {}: {}", refusal.rule, refusal.why);
                self.base.event("refused", &why, Some(call.turn));
                return Ok(Acted::Denied(refusal));
            }
            Err(error) => return Err(self.interrupted(call.turn, &executor, &error)),
        };
        if let Err(why) = self.fitting(call.turn, &report, &result) {
            self.base.event(
                "violation",
                &format!("sandboxd's report on {executor} does not hold: {why}"),
                Some(call.turn),
            );
            return Err(internal(&format!("{executor} ran, but sandboxd's report on it does not hold: {why}")));
        }
        self.budgets.account(&signed, &report).await;
        let acted = self.kept((call.turn, call.place, id, seq), &signed, &judgement, report, result);
        drop(reserved);
        acted
    }

    /// Labels a result, keeps it for its turn, and says what the planner may know of it.
    pub(crate) fn kept(
        &self,
        (turn, place, call, line): (TurnId, CallRef, CallId, u64),
        signed: &Signed,
        judgement: &Judgement,
        report: RunReport,
        result: Sealed,
    ) -> Result<Acted, Refusal> {
        let labels = labelled(&signed.spec, judgement, &report);
        let label = labels.whole;
        let mut turns = self.calls.turns.borrow_mut();
        let open = turns.get_mut(turn).ok_or_else(|| turns::unknown(turn))?;
        let handle =
            open.keep(place, StoredResult { call, result: Rc::new(result), labels, foreseen: judgement.foreseen });
        let RunReport { outcome, result, leaves, inputs: _, resources } = report;
        let leaves = passed_on(leaves, result);
        Ok(Acted::Ran(Ran { call, handle, outcome, label, leaves, line, resources }))
    }

    /// The place of the household, for a call that is about it; `None` where `USER.md` names none.
    fn home_place(&self, signed: &Signed, arguments: &Arguments) -> Option<String> {
        let contract = &signed.manifest.contract;
        let user = self.base.perimeter.files.read("USER.md").ok().flatten().filter(|_| contract.home_place)?;
        reserved::home_place(contract, &String::from_utf8_lossy(&user), arguments)
    }

    /// The name of the private folder of the person whose turn this is, and whether the words may ask for something for everybody:
    /// what the owner has typed argument by argument, or allowed as it stands on a card, says so itself.
    fn own_folder(&self, turn: TurnId) -> (Option<String>, bool) {
        let turns = self.calls.turns.borrow();
        let Some(turn) = turns.get(turn) else { return (None, false) };
        let for_all = turn.flow.intent.is_typed() || reserved::is_for_all(turn.flow.own_words());
        (turn.world.own_folder.clone(), for_all)
    }

    /// What a call in this turn is shown of the workspace; nothing when the turn is gone.
    pub(crate) fn shown_to(&self, turn: TurnId, signed: &Signed, rule: &str) -> Option<Vec<String>> {
        match self.calls.turns.borrow().get(turn) {
            Some(turn) => self.base.perimeter.only(&turn.flow, &turn.world, &signed.spec, rule),
            None => Some(Vec::new()),
        }
    }

    /// What the name of a call means to the caller in its turn. What was made for this instance may say what the instance is
    /// about: for guests there is what comes with Metnos, and whatever else they name is unknown.
    pub(crate) fn named_for<'a>(&self, call: &Call, turn: &Turn, registry: &'a Registry) -> Named<'a> {
        let everything = call.counts || turn.flow.reads_everything() || turn.world.shows_everything();
        if everything || self.base.perimeter.is_for_guests(registry, &call.executor) {
            return registry.named(&call.executor);
        }
        Named::Unknown
    }

    /// What may be spent for a call that costs something; memoryd counts only in a turn that it knows.
    ///
    /// # Errors
    /// When the turn could not be opened, or memoryd cannot say.
    pub(crate) async fn purse_of(&self, call: &Call) -> Result<Option<BudgetGuard<'_>>, Refusal> {
        if self.budgets.price_of(&call.executor) > 0 {
            call.opening.record(&self.base.memory).await?;
        }
        self.budgets.purse(call.turn, &call.executor).await
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
        own: granted.own.clone().unwrap_or_default(),
    }
}
