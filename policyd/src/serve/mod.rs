//! Who may ask policyd what: the planner, syntd and the owner. Each handler checks
//! the form of the ask, moves the state, and leaves the deciding to the cores.

pub(crate) mod door;

use std::rc::Rc;

use metnos_proto::doc::Doc;
use metnos_proto::doc::automation::AutomationAnswer;
use metnos_proto::doc::budget::BudgetAnswer;
use metnos_proto::doc::card::{CardList, CardView};
use metnos_proto::doc::executor::{ExecutorImported, ExecutorRecord, LifecycleAnswer, QuarantineReport};
use metnos_proto::doc::grant::GrantList;
use metnos_proto::doc::people::{AutonomyAnswer, BrokenSeals, PairingAnswer, PersonsAnswer};
use metnos_proto::doc::policy::PolicyCheck;
use metnos_proto::doc::schedule::{DayReview, ScheduleHistory, ScheduleList};
use metnos_proto::doc::undo::{ActList, UndoReport};
use metnos_proto::doc::vaglio::{ConstitutionReport, VaglioAnswer};
use metnos_proto::doc::vault::{AccountAnswer, AccountKept, SecretVersion, VaultAnswer};
use metnos_proto::edge::{ServeError, Served};
use metnos_proto::edges::{CtlPolicyd, PlannerPolicyd, SyntdPolicyd, ctl_policyd, planner_policyd, syntd_policyd};
use metnos_proto::ids::{TraceId, TurnId};
use metnos_proto::link_async::Cx;
use metnos_proto::msg::accounts::{AccountAsk, AccountPut};
use metnos_proto::msg::common::{Channel, Done, Integrity, Refusal, RefusalCode, Standing};
use metnos_proto::msg::drafting::{DraftTried, OfferDraft, TryDraft};
use metnos_proto::msg::lifecycle::{ExportExecutor, ImportExecutor, LifecycleAsk};
use metnos_proto::msg::memoryd::{CleanTurn, MAX_WHY, Redact};
use metnos_proto::msg::people::{AutomationAsk, AutonomyAsk, PairingAsk, PersonsAsk, SealAsk};
use metnos_proto::msg::policyd::{
    Act, Acted, AnchorList, Anchors, Answered, Approvals, CallRun, CheckPolicy, CodesConfirm, CodesEnrol,
    CodesEnrolled, CodesRemove, CopyRegistry, Decide, DraftsFunded, EndDrafts, EndTurn, ExecutorList, Executors,
    FundDrafts, FundTurn, Grants, GrowthLeft, GrowthQuota, Intent, IntentFrozen, LiftQuarantine, MAX_ANCHORS, Panic,
    Panicked, PolicyCanaried, PolicyCanaries, PolicyReport, PolicyStatus, RedactPayload, Redacted, Release, Released,
    Resume, RevokeGrant, RunCall, ShowApproval, ShowExecutor, SwitchExecutor, Switched, TurnFunded, Undo, UndoLast,
    Undoable, UndoneLast,
};
use metnos_proto::msg::schedule::{HabitOffered, OfferHabit, ReviewOrder, ScheduleAsk, ScheduleOrder, ShowSchedule};
use metnos_proto::msg::vaglio::{Propose, Proposed, Rite, VaglioAsk};
use metnos_proto::msg::vault_budget::{BudgetAsk, VaultAsk, VaultPut};
use metnos_proto::payload::Sealed;
use metnos_proto::phase::TurnPhase;

use crate::approvals::AnswerPath;
use crate::calls::call::Call;
use crate::calls::intent;
use crate::calls::turns::Turn;
use crate::guard::shown;
use crate::people::principal::{Principal, identify, stranger};
use crate::policy::Policy;
use crate::policy::direct::By;
use crate::refusals::{internal, memory_gone};
use crate::text::head;

/// The most bytes a person may say at once.
pub const MAX_WORDS: usize = 64 * 1024;

/// The words a person said, if they are words.
pub(crate) fn words(sealed: &Sealed) -> Result<String, Refusal> {
    let invalid = |why: String| Refusal::new(RefusalCode::Invalid, "prompt.form", why);
    if sealed.len() > MAX_WORDS {
        return Err(invalid(format!("{} bytes were said at once; the limit is {MAX_WORDS}", sealed.len())));
    }
    let bytes = sealed.read().map_err(|error| Refusal::new(RefusalCode::Internal, "prompt.form", error.to_string()))?;
    let text = String::from_utf8(bytes).map_err(|_| invalid("what was said is not UTF-8".to_owned()))?;
    if text.contains('\0') {
        return Err(invalid("what was said contains a NUL character".to_owned()));
    }
    if text.trim().is_empty() {
        return Err(invalid("nothing was said".to_owned()));
    }
    Ok(text)
}

impl planner_policyd::Serve for Policy {
    fn phase_of(
        &self,
        cx: &Cx<PlannerPolicyd>,
        turn: TurnId,
        ask: &planner_policyd::Ask,
    ) -> Result<TurnPhase, ServeError> {
        self.calls.turns.borrow().phase_of(turn, ask, cx.generation)
    }

    fn enter(&self, cx: &Cx<PlannerPolicyd>, turn: TurnId, next: Option<TurnPhase>) {
        self.calls.turns.borrow_mut().enter(turn, cx.generation, self.base.clock.monotonic_ms(), next);
    }

    async fn intent(self: Rc<Self>, _: Cx<PlannerPolicyd>, ask: Intent, []: [Sealed; 0]) -> Served<IntentFrozen, 0> {
        let mut turns = self.calls.turns.borrow_mut();
        let turn = turns.known(ask.turn)?;
        if !turn.flow.who.is_of_household() {
            // A guest's words foresee nothing: what he asks for is judged as if nobody had said it before.
            let ignored = ask.slots.iter().map(|slot| format!("{} (a guest)", slot.executor)).collect();
            return Ok((IntentFrozen { frozen: 0, ignored: intent::listed(ignored) }, []));
        }
        if turn.flow.label.integrity != Integrity::Trusted {
            return Err(intent::tainted().into());
        }
        let slots = intent::read(&ask.slots)?;
        let (registry, words) = (self.executors.registry.borrow(), turn.flow.words.clone());
        let spec = |name: &str| registry.callable(name).map(|signed| signed.spec.clone());
        let ignored = turn.flow.intent.freeze(slots, &words, spec);
        Ok((IntentFrozen { frozen: turn.flow.intent.found(), ignored: intent::listed(ignored) }, []))
    }

    async fn act(self: Rc<Self>, cx: Cx<PlannerPolicyd>, ask: Act, [arguments]: [Sealed; 1]) -> Served<Acted, 0> {
        self.calls.turns.borrow_mut().known(ask.turn)?.count_call();
        let notes = Some(cx.notes());
        let call = Call {
            turn: ask.turn,
            place: ask.call,
            executor: ask.executor,
            arguments,
            file: None,
            notes,
            approved: None,
            opening: Rc::default(),
            counts: false,
        };
        Ok((self.mediate(call).await?, []))
    }

    async fn release(self: Rc<Self>, _: Cx<PlannerPolicyd>, ask: Release, []: [Sealed; 0]) -> Served<Released, 1> {
        let mut turns = self.calls.turns.borrow_mut();
        let turn = turns.known(ask.turn)?;
        let bytes = self.show(turn, ask.handle)?;
        Ok((Released { context: turn.flow.label }, [bytes]))
    }

    async fn fund_turn(self: Rc<Self>, _: Cx<PlannerPolicyd>, ask: FundTurn, []: [Sealed; 0]) -> Served<TurnFunded, 0> {
        Ok((self.fund(ask).await?, []))
    }

    async fn undo_last(self: Rc<Self>, _: Cx<PlannerPolicyd>, ask: UndoLast, []: [Sealed; 0]) -> Served<UndoneLast, 0> {
        let principal = {
            let mut turns = self.calls.turns.borrow_mut();
            let turn = turns.known(ask.turn)?;
            turn.begin_undo()?;
            turn.principal.clone()
        };
        let UndoReport { undone, kept, .. } = Policy::undo(&self, &principal, None).await?;
        Ok((UndoneLast { undone, kept }, []))
    }

    async fn schedule(
        self: Rc<Self>,
        _: Cx<PlannerPolicyd>,
        ask: ScheduleOrder,
        []: [Sealed; 0],
    ) -> Served<Doc<ScheduleList>, 1> {
        Ok(Doc::seal(&Policy::schedule(&self, ask).await?)?)
    }

    async fn review(
        self: Rc<Self>,
        _: Cx<PlannerPolicyd>,
        ask: ReviewOrder,
        []: [Sealed; 0],
    ) -> Served<Doc<DayReview>, 1> {
        Ok(Doc::seal(&Policy::review(&self, ask).await?)?)
    }

    async fn offer_habit(
        self: Rc<Self>,
        _: Cx<PlannerPolicyd>,
        ask: OfferHabit,
        []: [Sealed; 0],
    ) -> Served<HabitOffered, 0> {
        Ok((Policy::offer_habit(&self, ask).await?, []))
    }

    async fn end_turn(self: Rc<Self>, _: Cx<PlannerPolicyd>, ask: EndTurn, []: [Sealed; 0]) -> Served<Done, 0> {
        let ended = self.calls.turns.borrow_mut().end(ask.turn);
        self.approvals.cards.stays_over(ask.turn);
        self.forget(ask.turn);
        if let Some(turn) = ended.filter(Turn::is_clean_talk) {
            let clean = CleanTurn { turn: ask.turn, principal: turn.principal.name };
            // Without it, the answer is withheld from later turns.
            if let Err(error) = self.base.memory.clean_turn(turn.trace, clean, []).await {
                tracing::info!(turn = %ask.turn, %error, "memoryd does not know that the turn was clean");
            }
        }
        Ok((Done {}, []))
    }
}

impl syntd_policyd::Serve for Policy {
    async fn growth_quota(
        self: Rc<Self>,
        _: Cx<SyntdPolicyd>,
        _: GrowthQuota,
        []: [Sealed; 0],
    ) -> Served<GrowthLeft, 0> {
        Ok((self.executors.growth_left(), []))
    }

    async fn propose(self: Rc<Self>, _: Cx<SyntdPolicyd>, ask: Propose, []: [Sealed; 0]) -> Served<Proposed, 0> {
        Ok((self.proposals.propose(ask).await?, []))
    }

    async fn fund_drafts(
        self: Rc<Self>,
        cx: Cx<SyntdPolicyd>,
        ask: FundDrafts,
        []: [Sealed; 0],
    ) -> Served<DraftsFunded, 0> {
        Ok((Policy::fund_drafts(&self, cx.generation, ask).await?, []))
    }

    async fn end_drafts(self: Rc<Self>, cx: Cx<SyntdPolicyd>, ask: EndDrafts, []: [Sealed; 0]) -> Served<Done, 0> {
        self.thinking.end_drafts(cx.generation, ask.run)?;
        Ok((Done {}, []))
    }

    async fn try_draft(
        self: Rc<Self>,
        cx: Cx<SyntdPolicyd>,
        ask: TryDraft,
        [trial]: [Sealed; 1],
    ) -> Served<DraftTried, 1> {
        Ok(Policy::try_draft(&self, cx.generation, ask, trial).await?)
    }

    async fn offer_draft(
        self: Rc<Self>,
        cx: Cx<SyntdPolicyd>,
        ask: OfferDraft,
        [files]: [Sealed; 1],
    ) -> Served<Done, 0> {
        Policy::offer_draft(&self, cx.generation, ask, &files).await?;
        Ok((Done {}, []))
    }
}

impl ctl_policyd::Serve for Policy {
    async fn run_call(
        self: Rc<Self>,
        cx: Cx<CtlPolicyd>,
        ask: RunCall,
        [arguments]: [Sealed; 1],
    ) -> Served<CallRun, 1> {
        let principal = self.at_the_machine(&cx)?;
        Ok(self.direct(principal, ask.executor, arguments, By::Typed).await.map(|(run, result)| (run, [result]))?)
    }

    async fn executors(self: Rc<Self>, _: Cx<CtlPolicyd>, _: Executors, []: [Sealed; 0]) -> Served<ExecutorList, 0> {
        Ok((ExecutorList { rows: self.executors.registry.borrow().list() }, []))
    }

    async fn show_executor(
        self: Rc<Self>,
        _: Cx<CtlPolicyd>,
        ask: ShowExecutor,
        []: [Sealed; 0],
    ) -> Served<Doc<ExecutorRecord>, 1> {
        let record = self.executors.registry.borrow().show(&ask.name).ok_or_else(|| {
            Refusal::new(
                RefusalCode::Unknown,
                "executor.unknown",
                format!("there is no executor named {}", shown(&ask.name)),
            )
            .remedy("`metnosctl executor list` shows those that there are")
        })?;
        Ok(Doc::seal(&record)?)
    }

    async fn approvals(self: Rc<Self>, cx: Cx<CtlPolicyd>, _: Approvals, []: [Sealed; 0]) -> Served<Doc<CardList>, 1> {
        self.at_the_machine(&cx)?;
        Ok(Doc::seal(&self.approvals.cards.cards())?)
    }

    async fn show_approval(
        self: Rc<Self>,
        cx: Cx<CtlPolicyd>,
        ask: ShowApproval,
        []: [Sealed; 0],
    ) -> Served<Doc<CardView>, 1> {
        self.at_the_machine(&cx)?;
        Ok(Doc::seal(&self.approvals.cards.show_card(&ask.id)?)?)
    }

    async fn decide_approval(self: Rc<Self>, cx: Cx<CtlPolicyd>, ask: Decide, []: [Sealed; 0]) -> Served<Answered, 1> {
        let principal = self.at_the_machine(&cx)?;
        let (answered, results) =
            Policy::answer(&self, principal, AnswerPath::Hard, (&ask.id, &ask.digest), &ask.answer, "").await?;
        Ok((answered, [results]))
    }

    async fn grants(self: Rc<Self>, cx: Cx<CtlPolicyd>, _: Grants, []: [Sealed; 0]) -> Served<Doc<GrantList>, 1> {
        self.at_the_machine(&cx)?;
        Ok(Doc::seal(&self.approvals.grants.grants())?)
    }

    async fn revoke_grant(self: Rc<Self>, cx: Cx<CtlPolicyd>, ask: RevokeGrant, []: [Sealed; 0]) -> Served<Done, 0> {
        let principal = self.at_the_machine(&cx)?;
        self.approvals.grants.revoke(&principal, &ask.id).await?;
        Ok((Done {}, []))
    }

    async fn codes_enrol(
        self: Rc<Self>,
        cx: Cx<CtlPolicyd>,
        _: CodesEnrol,
        []: [Sealed; 0],
    ) -> Served<CodesEnrolled, 0> {
        let principal = self.at_the_machine(&cx)?;
        Ok((self.approvals.codes.enrol_codes(&principal).await?, []))
    }

    async fn codes_confirm(self: Rc<Self>, cx: Cx<CtlPolicyd>, ask: CodesConfirm, []: [Sealed; 0]) -> Served<Done, 0> {
        let principal = self.at_the_machine(&cx)?;
        self.approvals.codes.confirm_codes(&principal, &ask.code).await?;
        Ok((Done {}, []))
    }

    async fn codes_remove(self: Rc<Self>, cx: Cx<CtlPolicyd>, _: CodesRemove, []: [Sealed; 0]) -> Served<Done, 0> {
        let principal = self.at_the_machine(&cx)?;
        self.approvals.codes.remove_codes(&principal).await?;
        Ok((Done {}, []))
    }

    async fn undo(self: Rc<Self>, cx: Cx<CtlPolicyd>, ask: Undo, []: [Sealed; 0]) -> Served<Doc<UndoReport>, 1> {
        let principal = self.at_the_machine(&cx)?;
        Ok(Doc::seal(&Policy::undo(&self, &principal, ask.turn).await?)?)
    }

    async fn undoable(self: Rc<Self>, cx: Cx<CtlPolicyd>, _: Undoable, []: [Sealed; 0]) -> Served<Doc<ActList>, 1> {
        self.at_the_machine(&cx)?;
        let mut acts = self.calls.undo.undoable().await?;
        for act in acts.0.iter_mut().filter(|act| self.people.is_sealed(&act.principal)) {
            act.arguments = serde_json::Value::Object(serde_json::Map::new());
        }
        Ok(Doc::seal(&acts)?)
    }

    async fn schedules(
        self: Rc<Self>,
        cx: Cx<CtlPolicyd>,
        ask: ScheduleAsk,
        []: [Sealed; 0],
    ) -> Served<Doc<ScheduleList>, 1> {
        let principal = self.at_the_machine(&cx)?;
        Ok(Doc::seal(&Policy::schedules(&self, &principal, ask).await?)?)
    }

    async fn show_schedule(
        self: Rc<Self>,
        cx: Cx<CtlPolicyd>,
        ask: ShowSchedule,
        []: [Sealed; 0],
    ) -> Served<Doc<ScheduleHistory>, 1> {
        self.at_the_machine(&cx)?;
        Ok(Doc::seal(&Policy::show_schedule(&self, ask).await?)?)
    }

    async fn panic(self: Rc<Self>, cx: Cx<CtlPolicyd>, _: Panic, []: [Sealed; 0]) -> Served<Panicked, 0> {
        let principal = self.at_the_machine(&cx)?;
        Ok((Panicked { killed: self.stop_all(&principal).await? }, []))
    }

    async fn resume(self: Rc<Self>, cx: Cx<CtlPolicyd>, _: Resume, []: [Sealed; 0]) -> Served<Switched, 0> {
        let principal = self.at_the_machine(&cx)?;
        Ok((Switched { changed: self.executors.resume(&principal).await? }, []))
    }

    async fn switch_executor(
        self: Rc<Self>,
        cx: Cx<CtlPolicyd>,
        ask: SwitchExecutor,
        []: [Sealed; 0],
    ) -> Served<Switched, 0> {
        let principal = self.at_the_machine(&cx)?;
        Ok((Switched { changed: self.executors.set_executor(&principal, &ask.name, ask.on).await? }, []))
    }

    async fn lift_quarantine(
        self: Rc<Self>,
        cx: Cx<CtlPolicyd>,
        ask: LiftQuarantine,
        []: [Sealed; 0],
    ) -> Served<Doc<QuarantineReport>, 1> {
        let principal = self.at_the_machine(&cx)?;
        Ok(Doc::seal(&self.executors.lift_quarantine(&principal, ask).await?)?)
    }

    async fn life(
        self: Rc<Self>,
        cx: Cx<CtlPolicyd>,
        ask: LifecycleAsk,
        []: [Sealed; 0],
    ) -> Served<Doc<LifecycleAnswer>, 1> {
        let principal = self.at_the_machine(&cx)?;
        Ok(Doc::seal(&self.executors.owners_word(&principal, ask).await?)?)
    }

    async fn export_executor(
        self: Rc<Self>,
        cx: Cx<CtlPolicyd>,
        ask: ExportExecutor,
        []: [Sealed; 0],
    ) -> Served<Done, 1> {
        let principal = self.at_the_machine(&cx)?;
        Ok((Done {}, [self.executors.export(&principal, &ask.name).await?]))
    }

    async fn import_executor(
        self: Rc<Self>,
        cx: Cx<CtlPolicyd>,
        _: ImportExecutor,
        [parcel]: [Sealed; 1],
    ) -> Served<Doc<ExecutorImported>, 1> {
        let principal = self.at_the_machine(&cx)?;
        Ok(Doc::seal(&self.executors.import(&principal, &parcel).await?)?)
    }

    async fn check_policy(
        self: Rc<Self>,
        _: Cx<CtlPolicyd>,
        ask: CheckPolicy,
        [arguments]: [Sealed; 1],
    ) -> Served<Doc<PolicyCheck>, 1> {
        let bytes = arguments.read().map_err(|error| internal(&error.to_string()))?;
        Ok(Doc::seal(&self.explain(&ask, &bytes).await?)?)
    }

    async fn policy_canaries(
        self: Rc<Self>,
        cx: Cx<CtlPolicyd>,
        _: PolicyCanaries,
        []: [Sealed; 0],
    ) -> Served<PolicyCanaried, 0> {
        let principal = self.at_the_machine(&cx)?;
        Ok((PolicyCanaried { canaries: self.canaries(&principal).await }, []))
    }

    async fn policy_status(
        self: Rc<Self>,
        _: Cx<CtlPolicyd>,
        _: PolicyStatus,
        []: [Sealed; 0],
    ) -> Served<PolicyReport, 0> {
        Ok((self.report(), []))
    }

    async fn anchors(self: Rc<Self>, _: Cx<CtlPolicyd>, ask: Anchors, []: [Sealed; 0]) -> Served<AnchorList, 1> {
        let mut kept = self.base.store.anchors(ask.after).await.map_err(|error| internal(&error.to_string()))?;
        let more = kept.len() > MAX_ANCHORS as usize;
        kept.truncate(MAX_ANCHORS as usize);
        let next = if more { kept.last().map_or(0, |(anchor, _)| anchor.seq) } else { 0 };
        let text: String = kept.iter().map(|(anchor, signature)| anchor.to_line(signature) + "\n").collect();
        let text = Sealed::new(text.as_bytes()).map_err(|error| internal(&error.to_string()))?;
        let broken = self.anchors.chain.borrow().broken.clone().unwrap_or_default();
        let anchors = u32::try_from(kept.len()).unwrap_or(MAX_ANCHORS);
        Ok((AnchorList { anchors, next, broken: head(&broken, MAX_WHY) }, [text]))
    }

    async fn copy_registry(self: Rc<Self>, _: Cx<CtlPolicyd>, _: CopyRegistry, []: [Sealed; 0]) -> Served<Done, 1> {
        let copy = self.base.store.copy().await.map_err(|error| internal(&error.to_string()))?;
        Ok((Done {}, [Sealed::new(&copy).map_err(|error| internal(&error.to_string()))?]))
    }

    /// A hard approval of its own: only here, where the kernel has said who asks (design: policy §4).
    async fn redact(self: Rc<Self>, cx: Cx<CtlPolicyd>, ask: RedactPayload, []: [Sealed; 0]) -> Served<Redacted, 0> {
        let peer = cx.peer.ok_or_else(|| ServeError::Violation("an admin channel that is nobody's".to_owned()))?;
        let principal = identify(Channel::Cli, &format!("uid:{}", peer.uid), self.base.setting.owner_uid)?;
        match principal.standing {
            Standing::Owner => {}
            Standing::Adult | Standing::Guest | Standing::Stranger => {
                let why = "only the owner has something taken out of the chronicle";
                return Err(Refusal::new(RefusalCode::Denied, "rite.owner", why).into());
            }
        }
        self.anchors.chain_holds().await?;
        let word = Redact { seq: ask.seq, why: ask.why };
        let (recorded, []) =
            self.base.memory.redact(TraceId::NONE, word, []).await.map_err(|error| memory_gone(&error))?;
        Ok((Redacted { seq: recorded.seq }, []))
    }

    async fn seals(self: Rc<Self>, cx: Cx<CtlPolicyd>, ask: SealAsk, []: [Sealed; 0]) -> Served<Doc<BrokenSeals>, 1> {
        let by = self.at_the_machine(&cx)?.name;
        self.anchors.chain_holds().await?;
        Ok(Doc::seal(&self.people.seals(&by, ask).await?)?)
    }

    async fn vaglio(
        self: Rc<Self>,
        cx: Cx<CtlPolicyd>,
        ask: VaglioAsk,
        []: [Sealed; 0],
    ) -> Served<Doc<VaglioAnswer>, 1> {
        let by = self.at_the_machine(&cx)?.name;
        Ok(Doc::seal(&self.proposals.vaglio(&by, ask).await?)?)
    }

    async fn rite(
        self: Rc<Self>,
        cx: Cx<CtlPolicyd>,
        ask: Rite,
        []: [Sealed; 0],
    ) -> Served<Doc<ConstitutionReport>, 1> {
        let by = self.at_the_machine(&cx)?.name;
        Ok(Doc::seal(&self.proposals.rite(&by, ask).await?)?)
    }

    async fn pairing(
        self: Rc<Self>,
        cx: Cx<CtlPolicyd>,
        ask: PairingAsk,
        []: [Sealed; 0],
    ) -> Served<Doc<PairingAnswer>, 1> {
        let by = self.at_the_machine(&cx)?.name;
        Ok(Doc::seal(&self.people.pairing(&by, ask, &|turn| self.forget(turn)).await?)?)
    }

    async fn persons(
        self: Rc<Self>,
        cx: Cx<CtlPolicyd>,
        ask: PersonsAsk,
        []: [Sealed; 0],
    ) -> Served<Doc<PersonsAnswer>, 1> {
        let by = self.at_the_machine(&cx)?.name;
        Ok(Doc::seal(&self.people.persons(&by, ask, &|turn| self.forget(turn)).await?)?)
    }

    async fn vault(self: Rc<Self>, cx: Cx<CtlPolicyd>, ask: VaultAsk, []: [Sealed; 0]) -> Served<Doc<VaultAnswer>, 1> {
        let by = self.at_the_machine(&cx)?.name;
        Ok(Doc::seal(&self.secrets.vault(&by, ask, &|name| self.executors.registry.borrow().callable(name)).await?)?)
    }

    async fn vault_put(
        self: Rc<Self>,
        cx: Cx<CtlPolicyd>,
        ask: VaultPut,
        [value]: [Sealed; 1],
    ) -> Served<Doc<SecretVersion>, 1> {
        let by = self.at_the_machine(&cx)?.name;
        Ok(Doc::seal(&self.secrets.put_secret(&by, ask, &value).await?)?)
    }

    async fn accounts(
        self: Rc<Self>,
        cx: Cx<CtlPolicyd>,
        ask: AccountAsk,
        []: [Sealed; 0],
    ) -> Served<Doc<AccountAnswer>, 1> {
        let by = self.at_the_machine(&cx)?.name;
        let answer = self.secrets.accounts(&by, ask, |person| self.people.account_holder(&by, person)).await?;
        if matches!(answer, AccountAnswer::Removed(_)) {
            self.people.tell_household().await;
        }
        Ok(Doc::seal(&answer)?)
    }

    async fn account_put(
        self: Rc<Self>,
        cx: Cx<CtlPolicyd>,
        ask: AccountPut,
        [password]: [Sealed; 1],
    ) -> Served<Doc<AccountKept>, 1> {
        let by = self.at_the_machine(&cx)?.name;
        let named = |person: &str| self.people.account_holder(&by, person);
        let kept = self.secrets.put_account(&by, ask, &password, named).await?;
        self.people.tell_household().await;
        Ok(Doc::seal(&kept)?)
    }

    async fn budget(
        self: Rc<Self>,
        cx: Cx<CtlPolicyd>,
        ask: BudgetAsk,
        []: [Sealed; 0],
    ) -> Served<Doc<BudgetAnswer>, 1> {
        let by = self.at_the_machine(&cx)?.name;
        Ok(Doc::seal(&self.budgets.budget(&by, ask).await?)?)
    }

    async fn autonomy(
        self: Rc<Self>,
        cx: Cx<CtlPolicyd>,
        ask: AutonomyAsk,
        []: [Sealed; 0],
    ) -> Served<Doc<AutonomyAnswer>, 1> {
        let by = self.at_the_machine(&cx)?.name;
        Ok(Doc::seal(&self.people.autonomy(&by, ask).await?)?)
    }

    async fn automation(
        self: Rc<Self>,
        cx: Cx<CtlPolicyd>,
        ask: AutomationAsk,
        []: [Sealed; 0],
    ) -> Served<Doc<AutomationAnswer>, 1> {
        let by = self.at_the_machine(&cx)?.name;
        Ok(Doc::seal(&self.people.automation(&by, ask, &|turn| self.forget(turn)).await?)?)
    }
}

impl Policy {
    /// Whose admin channel this is: the owner's, on the supervisor's word.
    pub(crate) fn at_the_machine(&self, cx: &Cx<CtlPolicyd>) -> Result<Principal, ServeError> {
        let peer = cx.peer.ok_or_else(|| {
            ServeError::Violation("an admin channel without the supervisor's word on whose it is".to_owned())
        })?;
        let principal = identify(Channel::Cli, &format!("uid:{}", peer.uid), self.base.setting.owner_uid)?;
        match principal.standing {
            // His own user by the kernel's word, and the level that he has given himself.
            Standing::Owner => Ok(self.people.who(Channel::Cli, &format!("uid:{}", peer.uid))?),
            Standing::Adult | Standing::Guest | Standing::Stranger => Err(stranger(&principal).into()),
        }
    }
}
