//! THE MATRIX: who may ask whom, in which words, with how many descriptors, and for how long.
//!
//! Nothing else creates a channel: no bus, no broadcast, no path-based socket between
//! daemons (design: architecture §2). What is absent here cannot happen: above all, nobody
//! but policyd can address sandboxd, and nobody at all can make memoryd or mind ask.

/// Every word of every edge, by its bare name.
mod vocabulary {
    pub use crate::doc::Doc;
    pub use crate::doc::automation::{AutomationAnswer, HookAnswer};
    pub use crate::doc::budget::BudgetAnswer;
    pub use crate::doc::card::{CardList, CardView};
    pub use crate::doc::draft::{DraftReport, GrowthReport};
    pub use crate::doc::executor::{ExecutorImported, ExecutorRecord, LifecycleAnswer, QuarantineReport};
    pub use crate::doc::grant::GrantList;
    pub use crate::doc::models::{ModelList, ModelScan, ModelTest};
    pub use crate::doc::people::{AutonomyAnswer, BrokenSeals, PairingAnswer, PersonsAnswer};
    pub use crate::doc::policy::PolicyCheck;
    pub use crate::doc::schedule::{DayReview, ScheduleHistory, ScheduleList};
    pub use crate::doc::undo::{ActList, UndoReport};
    pub use crate::doc::vaglio::{ConstitutionReport, VaglioAnswer};
    pub use crate::doc::vault::{AccountAnswer, AccountKept, SecretVersion, VaultAnswer};
    pub use crate::msg::accounts::*;
    pub use crate::msg::common::*;
    pub use crate::msg::door::*;
    pub use crate::msg::drafting::*;
    pub use crate::msg::lifecycle::*;
    pub use crate::msg::memoryd::*;
    pub use crate::msg::mind::*;
    pub use crate::msg::people::*;
    pub use crate::msg::planner::*;
    pub use crate::msg::policyd::*;
    pub use crate::msg::sandboxd::*;
    pub use crate::msg::schedule::*;
    pub use crate::msg::vaglio::*;
    pub use crate::msg::vault_budget::*;
}

crate::edges! {
    /// A person at the terminal speaks. The supervisor vouches for who it is.
    CtlDoor in ctl_door = 1: Ctl => Gatewayd, phase none(
        "each word stands alone: the supervisor vouches for the user, and a turn is looked up by its number"
    ) {
        ask greet(Greet, 0) -> (Greeted, 0) within 5_000;
        ask say(Say, 1) -> (Said, 0) within 15_000;
        ask stop(Stop, 0) -> (Cancelled, 0) within 5_000;
        ask answer(AnswerHere, 0) -> (Answered, 1) within 115_000;
        ask door_status(DoorStatus, 0) -> (DoorReport, 0) within 5_000;
        ask put_token(PutToken, 1) -> (Done, 0) within 5_000;
        ask hook_secret(HookSecret, 0) -> (Doc<HookAnswer>, 1) within 5_000;
        ask fire_timer(FireTimer, 0) -> (Said, 0) within 15_000;
        ask remind_me(RemindMe, 0) -> (Reminded, 0) within 90_000;
        note Text;
        note Call;
        note Progress;
        note TurnDone;
        note CardWaits;
        note CardSettled;
    }

    /// The door opens turns at the planner and learns how they go.
    DoorPlanner in door_planner = 2: Gatewayd => Planner, phase OpenPhase {
        ask open_turn(OpenTurn, 1) -> (TurnOpened, 0) within 10_000;
        ask open_fired(OpenFired, 2) -> (TurnOpened, 0) within 10_000;
        ask cancel_turn(CancelTurn, 0) -> (Cancelled, 0) within 5_000;
        ask resume_turn(ResumeTurn, 0) -> (TurnResumed, 1) within 15_000;
        ask detached_turns(DetachedTurns, 0) -> (DetachedTurnList, 0) within 5_000;
        ask attach_turn(AttachTurn, 0) -> (TurnAttached, 1) within 5_000;
        ask release_turn(ReleaseTurn, 0) -> (Done, 0) within 5_000;
        note Text;
        note Call;
        note Progress;
        note TurnDone;
    }

    /// The door has senders identified, and what they said registered, before any model reads it.
    DoorPolicyd in door_policyd = 3: Gatewayd => Policyd, phase none(
        "each word names its sender, who is identified anew: a card or a turn is looked up by its number"
    ) {
        ask identify(Identify, 0) -> (Identified, 0) within 5_000;
        ask register_prompt(RegisterPrompt, 1) -> (PromptRegistered, 0) within 5_000;
        ask fire(Fire, 0) -> (Fired, 1) within 5_000;
        ask fire_ask(FireAsk, 0) -> (Fired, 1) within 10_000;
        ask view(ViewRequest, 0) -> (QueryResult, 1) within 15_000;
        ask pair(Pair, 0) -> (Paired, 0) within 10_000;
        ask members_to_look_for(WhoseMembers, 0) -> (KnownSenders, 0) within 5_000;
        ask group_members(GroupMembers, 0) -> (Identified, 0) within 5_000;
        ask answer_card(AnswerCard, 0) -> (Answered, 1) within 110_000;
        ask cards_here(CardsHere, 0) -> (Doc<CardList>, 1) within 5_000;
        ask keep_file(KeepFile, 1) -> (CallRun, 1) within 110_000;
        ask send_file(SendFile, 0) -> (CallRun, 2) within 110_000;
        ask undo_here(UndoHere, 0) -> (Doc<UndoReport>, 1) within 110_000;
        ask cancel_here(CancelHere, 0) -> (Doc<ScheduleList>, 1) within 10_000;
        ask forget_here(ForgetHere, 0) -> (TurnForgotten, 0) within 60_000;
        ask panic_here(PanicHere, 0) -> (Panicked, 0) within 10_000;
        note CardWaits;
        note CardSettled;
        note Revoked;
        note OwnerNotice;
        note OwnersCard;
    }

    /// The door asks which models can be called, for `status` and its greeting.
    DoorMind in door_mind = 4: Gatewayd => Mind, phase none("its only word reads a status and changes nothing") {
        ask health(MindHealth, 0) -> (MindReport, 0) within 5_000;
    }

    /// The door journals what came in and what went out.
    DoorMemoryd in door_memoryd = 5: Gatewayd => Memoryd, phase none(
        "an unknown turn is refused, and a known one may be older than the door, which may have been restarted"
    ) {
        ask received(Received, 1) -> (Recorded, 0) within 10_000;
        ask marked(Marked, 0) -> (MarkState, 1) within 10_000;
        ask delivered(Delivered, 1) -> (Recorded, 0) within 10_000;
        ask answer_of(AnswerOf, 0) -> (AnswerFound, 1) within 10_000;
        ask whose_turn(WhoseTurn, 0) -> (TurnOwner, 0) within 10_000;
        ask system_event(SystemEvent, 0) -> (Recorded, 0) within 10_000;
        ask next_firing(NextFiring, 0) -> (FiringDue, 0) within 10_000;
        ask take_firing(TakeFiring, 0) -> (FiringTaken, 0) within 10_000;
        ask firing_ended(FiringEnded, 0) -> (Recorded, 0) within 10_000;
        note FiringDue;
    }

    /// The planner asks for everything that has an effect. It decides nothing.
    PlannerPolicyd in planner_policyd = 6: Planner => Policyd, phase TurnPhase {
        ask intent(Intent, 0) -> (IntentFrozen, 0) within 5_000;
        ask act(Act, 1) -> (Acted, 0) within 120_000;
        ask release(Release, 0) -> (Released, 1) within 10_000;
        ask fund_turn(FundTurn, 0) -> (TurnFunded, 0) within 10_000;
        ask undo_last(UndoLast, 0) -> (UndoneLast, 0) within 120_000;
        ask schedule(ScheduleOrder, 0) -> (Doc<ScheduleList>, 1) within 15_000;
        ask review(ReviewOrder, 0) -> (Doc<DayReview>, 1) within 15_000;
        ask offer_habit(OfferHabit, 0) -> (HabitOffered, 0) within 30_000;
        ask end_turn(EndTurn, 0) -> (Done, 0) within 5_000;
        note CallProgress;
    }

    /// The planner thinks.
    PlannerMind in planner_mind = 7: Planner => Mind, phase none(
        "each thought stands alone: the fund of its turn refuses it when there is none or its number was used"
    ) {
        ask health(MindHealth, 0) -> (MindReport, 0) within 5_000;
        ask think(Think, 1) -> (Thought, 2) within 300_000;
        ask stop_thinking(StopThinking, 0) -> (ThinkingStopped, 0) within 5_000;
        note ThoughtDelta;
    }

    /// The planner learns what is remembered, and says when a turn is over.
    PlannerMemoryd in planner_memoryd = 8: Planner => Memoryd, phase RecallPhase {
        ask begin_turn(BeginTurn, 0) -> (TurnBegun, 1) within 10_000;
        ask model_asked(ModelAsked, 1) -> (Recorded, 0) within 10_000;
        ask suspend_turn(SuspendTurn, 1) -> (Done, 0) within 10_000;
        ask take_up_turn(TakeUpTurn, 0) -> (TurnTakenUp, 1) within 10_000;
        ask close_turn(CloseTurn, 0) -> (TurnClosed, 0) within 10_000;
    }

    /// syntd asks what it may propose, and how much may be thought for what it drafts.
    SyntdPolicyd in syntd_policyd = 9: Syntd => Policyd, phase none(
        "each word stands alone: a run of drafts that is not open on this link is refused"
    ) {
        ask growth_quota(GrowthQuota, 0) -> (GrowthLeft, 0) within 5_000;
        ask propose(Propose, 0) -> (Proposed, 0) within 90_000;
        ask fund_drafts(FundDrafts, 0) -> (DraftsFunded, 0) within 10_000;
        ask end_drafts(EndDrafts, 0) -> (Done, 0) within 5_000;
        ask try_draft(TryDraft, 1) -> (DraftTried, 1) within 125_000;
        ask offer_draft(OfferDraft, 1) -> (Done, 0) within 60_000;
    }

    /// syntd has things drafted.
    SyntdMind in syntd_mind = 10: Syntd => Mind, phase none(
        "one word: the fund of its run refuses a draft when there is none or its number was used"
    ) {
        ask draft(Draft, 1) -> (Thought, 2) within 300_000;
    }

    /// syntd learns what was missing.
    SyntdMemoryd in syntd_memoryd = 11: Syntd => Memoryd, phase none("both words only read what memoryd has derived") {
        ask gaps(Gaps, 0) -> (GapList, 0) within 10_000;
        ask ager_proposals(AgerProposals, 0) -> (AgerProposalList, 0) within 10_000;
        note AgerProposed;
    }

    /// The only way to have anything executed.
    PolicydSandboxd in policyd_sandboxd = 12: Policyd => Sandboxd, phase TrustPhase {
        // Asked while sandboxd still builds its view; how long that may take is for the supervisor, who ends it before this is over.
        ask trust(TrustKey, 0) -> (Done, 0) within 30_000;
        ask pool(Pool, 0) -> (PoolListing, 0) within 30_000;
        ask birth(Birth, 0) -> (Born, 1) within 120_000;
        ask install(Install, 0) -> (Done, 0) within 10_000;
        ask clear_findings(ClearFindings, 0) -> (Done, 0) within 10_000;
        ask revoke_texts(RevokeTexts, 0) -> (Done, 0) within 10_000;
        ask try_birth(TryBirth, 0) -> (Born, 1) within 120_000;
        ask try_texts(TryTexts, 1) -> (DraftTried, 1) within 120_000;
        ask stage(Stage, 1) -> (Done, 0) within 10_000;
        ask texts(TextsOf, 0) -> (Done, 1) within 10_000;
        ask resolve(Resolve, 0) -> (Resolved, 1) within 5_000;
        ask fill(Fill, 1) -> (Done, 1) within 5_000;
        ask run(Run, 1) -> (RunReport, 1) within 110_000;
        ask run_with_secrets(RunWithSecrets, 2) -> (RunReport, 1) within 110_000;
        ask run_with_advice(RunWithAdvice, 2) -> (RunReport, 1) within 110_000;
        ask run_with_input_file(RunWithInputFile, 2) -> (RunReport, 1) within 110_000;
        ask run_with_output_file(RunWithOutputFile, 1) -> (RunReport, 2) within 110_000;
        ask run_with_account_file(RunWithAccountFile, 2) -> (RunReport, 2) within 110_000;
        ask run_speculative(RunSpeculative, 1) -> (RunReport, 1) within 110_000;
        ask decided(Decided, 0) -> (Done, 0) within 5_000;
        ask kill(Kill, 0) -> (KilledCount, 0) within 5_000;
        ask forget(Forget, 0) -> (Done, 0) within 5_000;
        note Quarantined;
        note RunProgress;
        note Alarmed;
    }

    /// policyd has spontaneous proposals judged, where their author cannot receive it, has thought about the arguments of
    /// calls whose executors need that, says how much others may think, and learns what it took.
    PolicydMind in policyd_mind = 13: Policyd => Mind, phase none(
        "a fund may be raised, used and ended in any order: a missing one counts as empty"
    ) {
        ask judge(Judge, 1) -> (Thought, 2) within 60_000;
        ask assist(Assist, 1) -> (Thought, 2) within 60_000;
        ask fund(Fund, 0) -> (Funded, 0) within 5_000;
        ask end_fund(EndFund, 0) -> (Funded, 0) within 5_000;
        note ThoughtUsed;
    }

    /// policyd's decisions, durable before any effect.
    PolicydMemoryd in policyd_memoryd = 14: Policyd => Memoryd, phase none(
        "each word is compared with the lines of its turn and call, and repeated after a lost answer"
    ) {
        ask decision(Decision, 1) -> (Recorded, 0) within 10_000;
        ask direct_turn(DirectTurn, 0) -> (Recorded, 0) within 10_000;
        ask direct_turn_done(DirectTurnDone, 0) -> (TurnClosed, 0) within 10_000;
        ask executor_born(ExecutorBorn, 1) -> (Recorded, 0) within 10_000;
        ask executor_lost(ExecutorLost, 0) -> (Recorded, 0) within 10_000;
        ask system_event(SystemEvent, 0) -> (Recorded, 0) within 10_000;
        ask anchored(Anchored, 0) -> (ChainHead, 0) within 60_000;
        ask redact(Redact, 0) -> (Recorded, 0) within 60_000;
        ask forget_turn(ForgetTurn, 0) -> (TurnForgotten, 0) within 60_000;
        ask constitution(ConstitutionModified, 0) -> (Recorded, 0) within 10_000;
        ask model_asked(ModelAsked, 1) -> (Recorded, 0) within 10_000;
        ask cost(Cost, 0) -> (Recorded, 0) within 10_000;
        ask spending(Spending, 0) -> (Spent, 0) within 10_000;
        ask clean_turn(CleanTurn, 0) -> (Done, 0) within 10_000;
        ask query_page(PageQuery, 0) -> (QueryResult, 1) within 10_000;
        ask keep_schedule(KeepSchedule, 0) -> (Doc<ScheduleList>, 1) within 10_000;
        ask list_schedules(ListSchedules, 0) -> (Doc<ScheduleList>, 1) within 10_000;
        ask change_schedules(ChangeSchedules, 0) -> (Doc<ScheduleList>, 1) within 10_000;
        ask show_schedule(ShowSchedule, 0) -> (Doc<ScheduleHistory>, 1) within 10_000;
        ask review(ReviewOf, 0) -> (Doc<DayReview>, 1) within 10_000;
        ask said_before(SaidBefore, 0) -> (SaidTimes, 0) within 10_000;
        ask ask_fired(AskFired, 0) -> (AskedThen, 0) within 10_000;
        ask household(Household, 0) -> (Done, 0) within 10_000;
        note ChainHead;
    }

    /// sandboxd's own record of what ran.
    SandboxdMemoryd in sandboxd_memoryd = 15: Sandboxd => Memoryd, phase none(
        "each word quotes the line it follows: a start that of its decision, an end that of its start"
    ) {
        ask started(Started, 0) -> (Recorded, 0) within 10_000;
        ask ended(Ended, 0) -> (Recorded, 0) within 10_000;
        ask keep_before(KeepBefore, 0) -> (Recorded, 0) within 10_000;
        ask before_of(BeforeOf, 0) -> (BeforeFound, 0) within 10_000;
        ask system_event(SystemEvent, 0) -> (Recorded, 0) within 10_000;
    }

    /// The owner at policyd: calls of his own, and the registry.
    CtlPolicyd in ctl_policyd = 16: Ctl => Policyd, phase none(
        "each command stands alone: what it depends on, such as a card or enrolled codes, is looked up in the store"
    ) {
        ask run_call(RunCall, 1) -> (CallRun, 1) within 120_000;
        ask executors(Executors, 0) -> (ExecutorList, 0) within 5_000;
        ask show_executor(ShowExecutor, 0) -> (Doc<ExecutorRecord>, 1) within 5_000;
        ask policy_status(PolicyStatus, 0) -> (PolicyReport, 0) within 5_000;
        ask check_policy(CheckPolicy, 1) -> (Doc<PolicyCheck>, 1) within 5_000;
        ask vaglio(VaglioAsk, 0) -> (Doc<VaglioAnswer>, 1) within 10_000;
        ask rite(Rite, 0) -> (Doc<ConstitutionReport>, 1) within 15_000;
        ask pairing(PairingAsk, 0) -> (Doc<PairingAnswer>, 1) within 15_000;
        ask persons(PersonsAsk, 0) -> (Doc<PersonsAnswer>, 1) within 15_000;
        ask autonomy(AutonomyAsk, 0) -> (Doc<AutonomyAnswer>, 1) within 15_000;
        ask automation(AutomationAsk, 0) -> (Doc<AutomationAnswer>, 1) within 15_000;
        ask vault(VaultAsk, 0) -> (Doc<VaultAnswer>, 1) within 15_000;
        ask vault_put(VaultPut, 1) -> (Doc<SecretVersion>, 1) within 15_000;
        ask accounts(AccountAsk, 0) -> (Doc<AccountAnswer>, 1) within 15_000;
        ask account_put(AccountPut, 1) -> (Doc<AccountKept>, 1) within 15_000;
        ask budget(BudgetAsk, 0) -> (Doc<BudgetAnswer>, 1) within 15_000;
        ask approvals(Approvals, 0) -> (Doc<CardList>, 1) within 5_000;
        ask show_approval(ShowApproval, 0) -> (Doc<CardView>, 1) within 5_000;
        ask decide_approval(Decide, 0) -> (Answered, 1) within 120_000;
        ask grants(Grants, 0) -> (Doc<GrantList>, 1) within 5_000;
        ask revoke_grant(RevokeGrant, 0) -> (Done, 0) within 5_000;
        ask codes_enrol(CodesEnrol, 0) -> (CodesEnrolled, 0) within 5_000;
        ask codes_confirm(CodesConfirm, 0) -> (Done, 0) within 5_000;
        ask codes_remove(CodesRemove, 0) -> (Done, 0) within 5_000;
        ask undo(Undo, 0) -> (Doc<UndoReport>, 1) within 120_000;
        ask undoable(Undoable, 0) -> (Doc<ActList>, 1) within 5_000;
        ask schedules(ScheduleAsk, 0) -> (Doc<ScheduleList>, 1) within 15_000;
        ask show_schedule(ShowSchedule, 0) -> (Doc<ScheduleHistory>, 1) within 15_000;
        ask policy_canaries(PolicyCanaries, 0) -> (PolicyCanaried, 0) within 30_000;
        ask panic(Panic, 0) -> (Panicked, 0) within 10_000;
        ask resume(Resume, 0) -> (Switched, 0) within 10_000;
        ask switch_executor(SwitchExecutor, 0) -> (Switched, 0) within 10_000;
        ask lift_quarantine(LiftQuarantine, 0) -> (Doc<QuarantineReport>, 1) within 300_000;
        ask life(LifecycleAsk, 0) -> (Doc<LifecycleAnswer>, 1) within 300_000;
        ask export_executor(ExportExecutor, 0) -> (Done, 1) within 300_000;
        ask import_executor(ImportExecutor, 1) -> (Doc<ExecutorImported>, 1) within 30_000;
        ask anchors(Anchors, 0) -> (AnchorList, 1) within 30_000;
        ask redact(RedactPayload, 0) -> (Redacted, 0) within 60_000;
        ask seals(SealAsk, 0) -> (Doc<BrokenSeals>, 1) within 60_000;
        ask copy_registry(CopyRegistry, 0) -> (Done, 1) within 60_000;
    }

    /// The owner at sandboxd: is what lies in the pool what was signed, and does the sandbox hold?
    CtlSandboxd in ctl_sandboxd = 17: Ctl => Sandboxd, phase none(
        "each word stands alone: it only reads, or tests a sandbox that no call uses"
    ) {
        ask verify_executor(VerifyExecutor, 0) -> (Verified, 0) within 30_000;
        ask canaries(Canaries, 0) -> (CanaryReport, 0) within 30_000;
        ask selftest(Selftest, 0) -> (Selftested, 1) within 300_000;
        ask sandbox_status(SandboxStatus, 0) -> (SandboxReport, 0) within 5_000;
        ask profiles(ProfilesOf, 0) -> (Profiled, 1) within 30_000;
    }

    /// The owner at mind.
    CtlMind in ctl_mind = 18: Ctl => Mind, phase none(
        "each word stands alone: it reads, tests a model, or replaces a key, and none depends on another"
    ) {
        ask health(MindHealth, 0) -> (MindReport, 0) within 5_000;
        ask list_models(ListModels, 0) -> (Doc<ModelList>, 1) within 5_000;
        ask scan_models(ScanModels, 0) -> (Doc<ModelScan>, 1) within 60_000;
        ask test_model(TestModel, 0) -> (Doc<ModelTest>, 1) within 120_000;
        ask put_key(PutKey, 1) -> (Done, 0) within 5_000;
    }

    /// The owner at memoryd: read and verify, and decide about what was derived. The chronicle is only appended to.
    CtlMemoryd in ctl_memoryd = 19: Ctl => Memoryd, phase VerifyPhase {
        ask tail(Tail, 0) -> (Tailed, 1) within 30_000;
        ask verify(Verify, 1) -> (VerifyReport, 0) within 600_000;
        ask query(Query, 0) -> (QueryResult, 1) within 60_000;
        ask decide(OwnersAct, 0) -> (Recorded, 0) within 60_000;
        ask mnests(Mnests, 0) -> (MnestCount, 1) within 30_000;
        ask recollect(Recollect, 1) -> (Recollected, 1) within 30_000;
        ask rehearse(Rehearse, 1) -> (Recollected, 1) within 60_000;
        ask memory_status(MemoryStatus, 0) -> (MemoryReport, 0) within 5_000;
    }

    /// The owner at syntd: what is missing, and an executor that he wants drafted.
    CtlSyntd in ctl_syntd = 20: Ctl => Syntd, phase none(
        "each word stands alone: one run is open at a time, and a report is looked up by its name"
    ) {
        ask growth(GrowthStatus, 0) -> (Doc<GrowthReport>, 1) within 15_000;
        ask draft(DraftExecutor, 1) -> (DraftStarted, 0) within 30_000;
        ask show_draft(ShowDraft, 0) -> (Doc<DraftReport>, 1) within 5_000;
        note DraftStep;
        note DraftEnded;
    }
}

impl EdgeId {
    /// The edge of this number, if there is one.
    #[must_use]
    pub fn from_number(number: u16) -> Option<Self> {
        Self::ALL.iter().copied().find(|edge| edge.number() == number)
    }

    /// Whether it leads from `metnosctl`: made on demand, not at start.
    #[must_use]
    pub fn is_admin(self) -> bool {
        self.asker() == crate::role::RoleName::Ctl
    }

    /// The edge over which `metnosctl` speaks to that daemon, if it may.
    #[must_use]
    pub fn admin_of(role: crate::role::RoleName) -> Option<Self> {
        Self::ALL.iter().copied().find(|edge| edge.is_admin() && edge.answerer() == role)
    }
}
