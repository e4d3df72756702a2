//! Answers the edges: each ask is handed to memory together with who asks. It decides nothing itself.

use metnos_proto::chain::Anchor;
use metnos_proto::doc::Doc;
use metnos_proto::doc::schedule::{DayReview, ScheduleHistory, ScheduleList};
use metnos_proto::edge::{ServeError, Served};
use metnos_proto::edges::{
    CtlMemoryd, DoorMemoryd, PlannerMemoryd, PolicydMemoryd, SandboxdMemoryd, SyntdMemoryd, ctl_memoryd, door_memoryd,
    planner_memoryd, policyd_memoryd, sandboxd_memoryd, syntd_memoryd,
};
use metnos_proto::ids::{SessionId, TraceId, TurnId};
use metnos_proto::link::BlockingServer;
use metnos_proto::msg::common::{Done, Refusal, RefusalCode};
use metnos_proto::msg::memoryd::{
    AgerProposalList, AgerProposals, Anchored, AnswerFound, AnswerOf, BeforeFound, BeforeOf, BeginTurn, ChainHead,
    CleanTurn, CloseTurn, ConstitutionModified, Cost, Decision, Delivered, DirectTurn, DirectTurnDone, Ended,
    ExecutorBorn, ExecutorLost, ForgetTurn, GapList, Gaps, KeepBefore, MarkState, Marked, MemoryReport, MemoryStatus,
    MnestCount, Mnests, ModelAsked, OwnersAct, PageQuery, Query, QueryResult, Received, Recollect, Recollected,
    Recorded, Redact, Rehearse, Spending, Spent, Started, SuspendTurn, SystemEvent, Tail, Tailed, TakeUpTurn,
    TurnBegun, TurnClosed, TurnForgotten, TurnOwner, TurnTakenUp, Verify, VerifyReport, WhoseTurn,
};
use metnos_proto::msg::people::Household;
use metnos_proto::msg::schedule::{
    AskFired, AskedThen, ChangeSchedules, FiringDue, FiringEnded, FiringTaken, KeepSchedule, ListSchedules, NextFiring,
    ReviewOf, SaidBefore, SaidTimes, ShowSchedule, TakeFiring,
};
use metnos_proto::payload::{PayloadError, Sealed};
use metnos_proto::phase::{RecallPhase, VerifyPhase};
use metnos_proto::role::RoleName;

use crate::chronicle::verify;
use crate::error::Error;
use crate::memory::{Asker, Memory};

/// Memory for the time of one ask.
#[derive(Debug)]
pub struct Service<'a> {
    /// Memory.
    pub memory: &'a mut Memory,
    /// Which run of the asker.
    pub session: SessionId,
    /// What its link is busy with.
    pub verify: VerifyPhase,
}

impl Service<'_> {
    const fn asker(&self, role: RoleName) -> Asker {
        Asker { role, session: self.session }
    }
}

fn unreadable(error: &PayloadError) -> ServeError {
    Refusal::new(RefusalCode::Internal, "payload", error.to_string()).into()
}

fn open(sealed: &Sealed) -> Result<Vec<u8>, ServeError> {
    sealed.read().map_err(|error| unreadable(&error))
}

fn seal(bytes: &[u8]) -> Result<Sealed, ServeError> {
    Sealed::new(bytes).map_err(|error| unreadable(&error))
}

/// The most bytes of anchors that a verification is given.
const MAX_ANCHOR_BYTES: usize = 64 * 1024 * 1024;

/// Begins the verification that the owner asked for.
///
/// # Errors
/// When the anchors are none, or the chronicle cannot be read.
pub fn verification(memory: &Memory, ask: &Verify, anchors: &Sealed) -> Result<verify::Verify, ServeError> {
    let invalid = |why: &str| ServeError::from(Refusal::new(RefusalCode::Invalid, "audit.anchors", why));
    if anchors.len() > MAX_ANCHOR_BYTES {
        return Err(invalid("more anchors than can be read at once"));
    }
    let bytes = open(anchors)?;
    let lines = bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    let anchors = lines
        .map(|line| Some(Anchor::from_json(&serde_json::from_slice(line).ok()?)?.0))
        .collect::<Option<Vec<_>>>()
        .ok_or_else(|| invalid("what came beside the ask are no anchors"))?;
    Ok(verify::Verify::since(memory.chronicle(), ask.since, anchors)?)
}

impl door_memoryd::ServeBlocking for Service<'_> {
    fn received(
        &mut self,
        _: &BlockingServer<DoorMemoryd>,
        _: TraceId,
        ask: Received,
        [words]: [Sealed; 1],
    ) -> Served<Recorded, 0> {
        Ok((self.memory.received(self.asker(RoleName::Gatewayd), &ask, open(&words)?)?, []))
    }

    fn marked(
        &mut self,
        _: &BlockingServer<DoorMemoryd>,
        _: TraceId,
        ask: Marked,
        []: [Sealed; 0],
    ) -> Served<MarkState, 1> {
        let (known, answer) = self.memory.marked(&ask)?;
        Ok((known, [seal(answer.as_bytes())?]))
    }

    fn delivered(
        &mut self,
        _: &BlockingServer<DoorMemoryd>,
        _: TraceId,
        ask: Delivered,
        [text]: [Sealed; 1],
    ) -> Served<Recorded, 0> {
        Ok((self.memory.delivered(self.asker(RoleName::Gatewayd), &ask, open(&text)?)?, []))
    }

    fn answer_of(
        &mut self,
        _: &BlockingServer<DoorMemoryd>,
        _: TraceId,
        ask: AnswerOf,
        []: [Sealed; 0],
    ) -> Served<AnswerFound, 1> {
        let (found, text) = self.memory.answer_of(&ask)?;
        Ok((found, [seal(&text)?]))
    }

    fn whose_turn(
        &mut self,
        _: &BlockingServer<DoorMemoryd>,
        _: TraceId,
        ask: WhoseTurn,
        []: [Sealed; 0],
    ) -> Served<TurnOwner, 0> {
        Ok((self.memory.whose_turn(&ask)?, []))
    }

    fn system_event(
        &mut self,
        _: &BlockingServer<DoorMemoryd>,
        _: TraceId,
        ask: SystemEvent,
        []: [Sealed; 0],
    ) -> Served<Recorded, 0> {
        Ok((self.memory.system_event(self.asker(RoleName::Gatewayd), &ask)?, []))
    }

    fn next_firing(
        &mut self,
        _: &BlockingServer<DoorMemoryd>,
        _: TraceId,
        ask: NextFiring,
        []: [Sealed; 0],
    ) -> Served<FiringDue, 0> {
        Ok((self.memory.next_firing(self.asker(RoleName::Gatewayd), &ask)?, []))
    }

    fn take_firing(
        &mut self,
        _: &BlockingServer<DoorMemoryd>,
        _: TraceId,
        ask: TakeFiring,
        []: [Sealed; 0],
    ) -> Served<FiringTaken, 0> {
        Ok((self.memory.take_firing(self.asker(RoleName::Gatewayd), &ask)?, []))
    }

    fn firing_ended(
        &mut self,
        _: &BlockingServer<DoorMemoryd>,
        _: TraceId,
        ask: FiringEnded,
        []: [Sealed; 0],
    ) -> Served<Recorded, 0> {
        Ok((self.memory.firing_ended(self.asker(RoleName::Gatewayd), &ask)?, []))
    }
}

impl planner_memoryd::ServeBlocking for Service<'_> {
    fn phase_of(
        &mut self,
        _: &BlockingServer<PlannerMemoryd>,
        turn: TurnId,
        ask: &planner_memoryd::Ask,
    ) -> Result<RecallPhase, ServeError> {
        self.memory.phase_of(turn, ask)
    }

    /// The chronicle says in which phase a turn is: each handler records what it has done.
    fn enter(&mut self, _: &BlockingServer<PlannerMemoryd>, _: TurnId, _: Option<RecallPhase>) {}

    fn begin_turn(
        &mut self,
        _: &BlockingServer<PlannerMemoryd>,
        _: TraceId,
        ask: BeginTurn,
        []: [Sealed; 0],
    ) -> Served<TurnBegun, 1> {
        let (begun, envelope) = self.memory.begin_turn(self.asker(RoleName::Planner), &ask)?;
        Ok((begun, [seal(&envelope)?]))
    }

    fn model_asked(
        &mut self,
        _: &BlockingServer<PlannerMemoryd>,
        _: TraceId,
        ask: ModelAsked,
        [sent]: [Sealed; 1],
    ) -> Served<Recorded, 0> {
        Ok((self.memory.model_asked(self.asker(RoleName::Planner), &ask, open(&sent)?)?, []))
    }

    fn suspend_turn(
        &mut self,
        _: &BlockingServer<PlannerMemoryd>,
        _: TraceId,
        ask: SuspendTurn,
        [state]: [Sealed; 1],
    ) -> Served<Done, 0> {
        self.memory.suspend_turn(&ask, &open(&state)?)?;
        Ok((Done {}, []))
    }

    fn take_up_turn(
        &mut self,
        _: &BlockingServer<PlannerMemoryd>,
        _: TraceId,
        ask: TakeUpTurn,
        []: [Sealed; 0],
    ) -> Served<TurnTakenUp, 1> {
        let (taken, state) = self.memory.take_up_turn(&ask)?;
        Ok((taken, [seal(&state)?]))
    }

    fn close_turn(
        &mut self,
        _: &BlockingServer<PlannerMemoryd>,
        _: TraceId,
        ask: CloseTurn,
        []: [Sealed; 0],
    ) -> Served<TurnClosed, 0> {
        Ok((self.memory.close_turn(self.asker(RoleName::Planner), &ask)?, []))
    }
}

impl syntd_memoryd::ServeBlocking for Service<'_> {
    fn gaps(&mut self, _: &BlockingServer<SyntdMemoryd>, _: TraceId, _: Gaps, []: [Sealed; 0]) -> Served<GapList, 0> {
        Ok((self.memory.gaps()?, []))
    }

    fn ager_proposals(
        &mut self,
        _: &BlockingServer<SyntdMemoryd>,
        _: TraceId,
        ask: AgerProposals,
        []: [Sealed; 0],
    ) -> Served<AgerProposalList, 0> {
        Ok((self.memory.ager_proposals(&ask)?, []))
    }
}

impl policyd_memoryd::ServeBlocking for Service<'_> {
    fn query_page(
        &mut self,
        _: &BlockingServer<PolicydMemoryd>,
        _: TraceId,
        ask: PageQuery,
        []: [Sealed; 0],
    ) -> Served<QueryResult, 1> {
        let (looked, page) = self.memory.query_page(&ask)?;
        Ok((looked, [seal(&page)?]))
    }

    fn model_asked(
        &mut self,
        _: &BlockingServer<PolicydMemoryd>,
        _: TraceId,
        ask: ModelAsked,
        [sent]: [Sealed; 1],
    ) -> Served<Recorded, 0> {
        Ok((self.memory.model_asked(self.asker(RoleName::Policyd), &ask, open(&sent)?)?, []))
    }

    fn decision(
        &mut self,
        _: &BlockingServer<PolicydMemoryd>,
        _: TraceId,
        ask: Decision,
        [arguments]: [Sealed; 1],
    ) -> Served<Recorded, 0> {
        Ok((self.memory.decision(self.asker(RoleName::Policyd), &ask, open(&arguments)?)?, []))
    }

    fn direct_turn(
        &mut self,
        _: &BlockingServer<PolicydMemoryd>,
        _: TraceId,
        ask: DirectTurn,
        []: [Sealed; 0],
    ) -> Served<Recorded, 0> {
        Ok((self.memory.direct_turn(self.asker(RoleName::Policyd), &ask)?, []))
    }

    fn direct_turn_done(
        &mut self,
        _: &BlockingServer<PolicydMemoryd>,
        _: TraceId,
        ask: DirectTurnDone,
        []: [Sealed; 0],
    ) -> Served<TurnClosed, 0> {
        Ok((self.memory.direct_turn_done(self.asker(RoleName::Policyd), &ask)?, []))
    }

    fn executor_born(
        &mut self,
        _: &BlockingServer<PolicydMemoryd>,
        _: TraceId,
        ask: ExecutorBorn,
        [candidate]: [Sealed; 1],
    ) -> Served<Recorded, 0> {
        Ok((self.memory.executor_born(self.asker(RoleName::Policyd), &ask, &open(&candidate)?)?, []))
    }

    fn executor_lost(
        &mut self,
        _: &BlockingServer<PolicydMemoryd>,
        _: TraceId,
        ask: ExecutorLost,
        []: [Sealed; 0],
    ) -> Served<Recorded, 0> {
        Ok((self.memory.executor_lost(self.asker(RoleName::Policyd), &ask)?, []))
    }

    fn anchored(
        &mut self,
        _: &BlockingServer<PolicydMemoryd>,
        _: TraceId,
        ask: Anchored,
        []: [Sealed; 0],
    ) -> Served<ChainHead, 0> {
        Ok((self.memory.anchored(&ask)?, []))
    }

    fn cost(
        &mut self,
        _: &BlockingServer<PolicydMemoryd>,
        _: TraceId,
        ask: Cost,
        []: [Sealed; 0],
    ) -> Served<Recorded, 0> {
        Ok((self.memory.cost(self.asker(RoleName::Policyd), &ask)?, []))
    }

    fn spending(
        &mut self,
        _: &BlockingServer<PolicydMemoryd>,
        _: TraceId,
        ask: Spending,
        []: [Sealed; 0],
    ) -> Served<Spent, 0> {
        Ok((self.memory.spending(&ask)?, []))
    }

    fn redact(
        &mut self,
        _: &BlockingServer<PolicydMemoryd>,
        _: TraceId,
        ask: Redact,
        []: [Sealed; 0],
    ) -> Served<Recorded, 0> {
        Ok((self.memory.redact(self.asker(RoleName::Policyd), &ask)?, []))
    }

    fn forget_turn(
        &mut self,
        _: &BlockingServer<PolicydMemoryd>,
        _: TraceId,
        ask: ForgetTurn,
        []: [Sealed; 0],
    ) -> Served<TurnForgotten, 0> {
        Ok((self.memory.forget_turn(self.asker(RoleName::Policyd), &ask)?, []))
    }

    fn constitution(
        &mut self,
        _: &BlockingServer<PolicydMemoryd>,
        _: TraceId,
        ask: ConstitutionModified,
        []: [Sealed; 0],
    ) -> Served<Recorded, 0> {
        Ok((self.memory.constitution(self.asker(RoleName::Policyd), &ask)?, []))
    }

    fn clean_turn(
        &mut self,
        _: &BlockingServer<PolicydMemoryd>,
        _: TraceId,
        ask: CleanTurn,
        []: [Sealed; 0],
    ) -> Served<Done, 0> {
        self.memory.clean_turn(&ask);
        Ok((Done {}, []))
    }

    fn system_event(
        &mut self,
        _: &BlockingServer<PolicydMemoryd>,
        _: TraceId,
        ask: SystemEvent,
        []: [Sealed; 0],
    ) -> Served<Recorded, 0> {
        Ok((self.memory.system_event(self.asker(RoleName::Policyd), &ask)?, []))
    }

    fn household(
        &mut self,
        _: &BlockingServer<PolicydMemoryd>,
        _: TraceId,
        ask: Household,
        []: [Sealed; 0],
    ) -> Served<Done, 0> {
        self.memory.household(ask)?;
        Ok((Done {}, []))
    }

    fn keep_schedule(
        &mut self,
        _: &BlockingServer<PolicydMemoryd>,
        _: TraceId,
        ask: KeepSchedule,
        []: [Sealed; 0],
    ) -> Served<Doc<ScheduleList>, 1> {
        Ok(Doc::seal(&self.memory.keep_schedule(self.asker(RoleName::Policyd), &ask)?)?)
    }

    fn list_schedules(
        &mut self,
        _: &BlockingServer<PolicydMemoryd>,
        _: TraceId,
        ask: ListSchedules,
        []: [Sealed; 0],
    ) -> Served<Doc<ScheduleList>, 1> {
        Ok(Doc::seal(&self.memory.list_schedules(&ask)?)?)
    }

    fn change_schedules(
        &mut self,
        _: &BlockingServer<PolicydMemoryd>,
        _: TraceId,
        ask: ChangeSchedules,
        []: [Sealed; 0],
    ) -> Served<Doc<ScheduleList>, 1> {
        Ok(Doc::seal(&self.memory.change_schedules(self.asker(RoleName::Policyd), &ask)?)?)
    }

    fn show_schedule(
        &mut self,
        _: &BlockingServer<PolicydMemoryd>,
        _: TraceId,
        ask: ShowSchedule,
        []: [Sealed; 0],
    ) -> Served<Doc<ScheduleHistory>, 1> {
        Ok(Doc::seal(&self.memory.show_schedule(&ask)?)?)
    }

    fn review(
        &mut self,
        _: &BlockingServer<PolicydMemoryd>,
        _: TraceId,
        ask: ReviewOf,
        []: [Sealed; 0],
    ) -> Served<Doc<DayReview>, 1> {
        Ok(Doc::seal(&self.memory.day_review(&ask)?)?)
    }

    fn said_before(
        &mut self,
        _: &BlockingServer<PolicydMemoryd>,
        _: TraceId,
        ask: SaidBefore,
        []: [Sealed; 0],
    ) -> Served<SaidTimes, 0> {
        Ok((self.memory.said_before(&ask)?, []))
    }

    fn ask_fired(
        &mut self,
        _: &BlockingServer<PolicydMemoryd>,
        _: TraceId,
        ask: AskFired,
        []: [Sealed; 0],
    ) -> Served<AskedThen, 0> {
        Ok((self.memory.ask_fired(self.asker(RoleName::Policyd), &ask)?, []))
    }
}

impl sandboxd_memoryd::ServeBlocking for Service<'_> {
    fn started(
        &mut self,
        _: &BlockingServer<SandboxdMemoryd>,
        _: TraceId,
        ask: Started,
        []: [Sealed; 0],
    ) -> Served<Recorded, 0> {
        Ok((self.memory.started(self.asker(RoleName::Sandboxd), &ask)?, []))
    }

    fn ended(
        &mut self,
        _: &BlockingServer<SandboxdMemoryd>,
        _: TraceId,
        ask: Ended,
        []: [Sealed; 0],
    ) -> Served<Recorded, 0> {
        Ok((self.memory.ended(self.asker(RoleName::Sandboxd), &ask)?, []))
    }

    fn keep_before(
        &mut self,
        _: &BlockingServer<SandboxdMemoryd>,
        _: TraceId,
        ask: KeepBefore,
        []: [Sealed; 0],
    ) -> Served<Recorded, 0> {
        Ok((self.memory.keep_before(self.asker(RoleName::Sandboxd), &ask)?, []))
    }

    fn before_of(
        &mut self,
        _: &BlockingServer<SandboxdMemoryd>,
        _: TraceId,
        ask: BeforeOf,
        []: [Sealed; 0],
    ) -> Served<BeforeFound, 0> {
        Ok((BeforeFound { before: self.memory.before_of(&ask)? }, []))
    }

    fn system_event(
        &mut self,
        _: &BlockingServer<SandboxdMemoryd>,
        _: TraceId,
        ask: SystemEvent,
        []: [Sealed; 0],
    ) -> Served<Recorded, 0> {
        Ok((self.memory.system_event(self.asker(RoleName::Sandboxd), &ask)?, []))
    }
}

impl ctl_memoryd::ServeBlocking for Service<'_> {
    fn phase_of(
        &mut self,
        _: &BlockingServer<CtlMemoryd>,
        (): (),
        _: &ctl_memoryd::Ask,
    ) -> Result<VerifyPhase, ServeError> {
        Ok(self.verify)
    }

    /// The link holds the verification itself.
    fn enter(&mut self, _: &BlockingServer<CtlMemoryd>, (): (), _: Option<VerifyPhase>) {}

    fn tail(&mut self, _: &BlockingServer<CtlMemoryd>, _: TraceId, ask: Tail, []: [Sealed; 0]) -> Served<Tailed, 1> {
        let (tailed, lines) = self.memory.tail(&ask)?;
        Ok((tailed, [seal(&lines)?]))
    }

    /// At once and to the end; the loop takes this ask out beforehand and works on it in slices.
    fn verify(
        &mut self,
        _: &BlockingServer<CtlMemoryd>,
        _: TraceId,
        ask: Verify,
        [anchors]: [Sealed; 1],
    ) -> Served<VerifyReport, 0> {
        let verify = verification(self.memory, &ask, &anchors)?;
        Ok((verify.run(self.memory.chronicle()).map_err(|error: Error| ServeError::from(error))?, []))
    }

    fn query(
        &mut self,
        _: &BlockingServer<CtlMemoryd>,
        _: TraceId,
        ask: Query,
        []: [Sealed; 0],
    ) -> Served<QueryResult, 1> {
        let (looked, text) = self.memory.query(&ask)?;
        Ok((looked, [seal(&text)?]))
    }

    fn decide(
        &mut self,
        _: &BlockingServer<CtlMemoryd>,
        _: TraceId,
        ask: OwnersAct,
        []: [Sealed; 0],
    ) -> Served<Recorded, 0> {
        Ok((self.memory.owner_decides(self.asker(RoleName::Ctl), &ask)?, []))
    }

    fn mnests(
        &mut self,
        _: &BlockingServer<CtlMemoryd>,
        _: TraceId,
        _: Mnests,
        []: [Sealed; 0],
    ) -> Served<MnestCount, 1> {
        let (count, list) = self.memory.mnests()?;
        Ok((count, [seal(&list)?]))
    }

    fn recollect(
        &mut self,
        _: &BlockingServer<CtlMemoryd>,
        _: TraceId,
        ask: Recollect,
        [words]: [Sealed; 1],
    ) -> Served<Recollected, 1> {
        let (recollected, found) = self.memory.recollect(&ask, &open(&words)?)?;
        Ok((recollected, [seal(&found)?]))
    }

    fn rehearse(
        &mut self,
        _: &BlockingServer<CtlMemoryd>,
        _: TraceId,
        ask: Rehearse,
        [beside]: [Sealed; 1],
    ) -> Served<Recollected, 1> {
        let (recollected, found) = self.memory.rehearse(&ask, &open(&beside)?)?;
        Ok((recollected, [seal(&found)?]))
    }

    fn memory_status(
        &mut self,
        _: &BlockingServer<CtlMemoryd>,
        _: TraceId,
        _: MemoryStatus,
        []: [Sealed; 0],
    ) -> Served<MemoryReport, 0> {
        Ok((self.memory.status()?, []))
    }
}
