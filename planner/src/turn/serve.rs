//! What the door may ask the planner.

use std::cell::Cell;
use std::rc::Rc;

use metnos_proto::edge::{RpcError, ServeError, Served};
use metnos_proto::edges::{DoorPlanner, door_planner};
use metnos_proto::ids::{TraceId, TurnId};
use metnos_proto::link_async::Cx;
use metnos_proto::msg::common::{Done, Refusal, RefusalCode};
use metnos_proto::msg::memoryd::TakeUpTurn;
use metnos_proto::msg::planner::{
    AttachTurn, CancelTurn, Cancelled, DetachedTurnList, DetachedTurns, MAX_DETACHED_TURNS, OpenFired, OpenTurn,
    ReleaseTurn, ResumeTurn, TurnAttached, TurnOpened, TurnResumed,
};
use metnos_proto::payload::Sealed;
use metnos_proto::phase::OpenPhase;
use metnos_proto::request;
use metnos_proto::turn_log;
use tokio::sync::{Notify, mpsc};

use super::suspended::SuspendedTurn;
use super::turn_notes::{TurnNotes, outlives_its_door};
use super::{DeltaQueue, MAX_DELTAS, MAX_TURNS, Open, Planner};

impl door_planner::Serve for Planner {
    fn phase_of(
        &self,
        _: &Cx<DoorPlanner>,
        turn: Option<TurnId>,
        _: &door_planner::Ask,
    ) -> Result<OpenPhase, ServeError> {
        match turn {
            Some(turn) if self.turns.borrow().contains_key(&turn) => Ok(OpenPhase::UnderWay),
            Some(_) | None => Ok(OpenPhase::Absent),
        }
    }

    /// A turn is under way while it stands in the table, where its handler enters it before it waits.
    fn enter(&self, _: &Cx<DoorPlanner>, _: Option<TurnId>, _: Option<OpenPhase>) {}

    async fn open_turn(
        self: Rc<Self>,
        cx: Cx<DoorPlanner>,
        ask: OpenTurn,
        [words]: [Sealed; 1],
    ) -> Served<TurnOpened, 0> {
        let words = request::read(&words)?;
        self.begin(&cx, ask, (words, String::new()))
    }

    async fn open_fired(
        self: Rc<Self>,
        cx: Cx<DoorPlanner>,
        OpenFired { open }: OpenFired,
        [words, data]: [Sealed; 2],
    ) -> Served<TurnOpened, 0> {
        let (words, data) = (request::read(&words)?, request::read(&data)?);
        self.begin(&cx, open, (words, data))
    }

    async fn resume_turn(
        self: Rc<Self>,
        cx: Cx<DoorPlanner>,
        ask: ResumeTurn,
        []: [Sealed; 0],
    ) -> Served<TurnResumed, 1> {
        let busy = |why: String| Refusal::new(RefusalCode::Busy, "planner.turns", why).remedy("ask again in a moment");
        if self.turns.borrow().contains_key(&ask.turn) {
            return Err(busy(format!("turn {} is under way", ask.turn)).into());
        }
        if self.turns() >= MAX_TURNS {
            return Err(busy(format!("{MAX_TURNS} turns are under way already")).into());
        }
        let cancel = Rc::new(Notify::new());
        // Anyone who said yes did not do it for a door: what goes on outlives one.
        let line = TurnNotes::new(ask.turn, true, cx.notes(), &self.detached);
        // Entered before anybody else is asked, so that of two answers only one finds it.
        let pieces = self.enter(ask.turn, &line, &cancel);
        let taken = match self.take_up(ask.turn).await {
            Ok((trace, mut kept)) => {
                for piece in std::mem::take(&mut kept.told) {
                    line.keep(piece);
                }
                turn_log::write(&line.told()).map(|told| (trace, kept, told)).map_err(unreadable)
            }
            Err(no) => Err(no),
        };
        match taken {
            Ok((trace, kept, told)) => {
                self.detached.take(ask.turn);
                let turn = Rc::clone(&self).run_on((ask.turn, trace), kept, ask.acts, (line, cancel, pieces));
                tokio::task::spawn_local(turn);
                Ok((TurnResumed {}, [told]))
            }
            Err(no) => {
                self.turns.borrow_mut().remove(&ask.turn);
                self.count.send_modify(|count| *count = count.saturating_sub(1));
                Err(no.into())
            }
        }
    }

    async fn cancel_turn(
        self: Rc<Self>,
        _cx: Cx<DoorPlanner>,
        ask: CancelTurn,
        []: [Sealed; 0],
    ) -> Served<Cancelled, 0> {
        let turns = self.turns.borrow();
        let open = turns.get(&ask.turn);
        if let Some(open) = open {
            open.cancel.notify_one();
        }
        Ok((Cancelled { was_open: open.is_some() }, []))
    }

    async fn detached_turns(
        self: Rc<Self>,
        _: Cx<DoorPlanner>,
        _: DetachedTurns,
        []: [Sealed; 0],
    ) -> Served<DetachedTurnList, 0> {
        let mut turns = self.detached.turns();
        turns.extend(self.turns.borrow().iter().filter(|(_, open)| open.line.outlives()).map(|(turn, _)| *turn));
        turns.sort();
        turns.dedup();
        turns.truncate(MAX_DETACHED_TURNS);
        Ok((DetachedTurnList { turns }, []))
    }

    async fn attach_turn(
        self: Rc<Self>,
        cx: Cx<DoorPlanner>,
        ask: AttachTurn,
        []: [Sealed; 0],
    ) -> Served<TurnAttached, 1> {
        let line = self.line(ask.turn).filter(|line| line.outlives()).ok_or_else(|| {
            let why = format!("of turn {} nothing is kept", ask.turn);
            Refusal::new(RefusalCode::Unknown, "planner.turns", why)
        })?;
        let told = turn_log::write(&line.told()).map_err(unreadable)?;
        line.leads_to(cx.notes());
        Ok((TurnAttached {}, [told]))
    }

    async fn release_turn(self: Rc<Self>, _: Cx<DoorPlanner>, ask: ReleaseTurn, []: [Sealed; 0]) -> Served<Done, 0> {
        if let Some(line) = self.line(ask.turn) {
            line.give_up();
        }
        self.detached.take(ask.turn);
        Ok((Done {}, []))
    }
}

fn unreadable(why: String) -> Refusal {
    Refusal::new(RefusalCode::Internal, "turn.kept", format!("what was kept of the turn cannot be read: {why}"))
}

impl Planner {
    /// Begins a turn on these words, and on what came with them from outside.
    fn begin(self: Rc<Self>, cx: &Cx<DoorPlanner>, ask: OpenTurn, said: (String, String)) -> Served<TurnOpened, 0> {
        if self.turns() >= MAX_TURNS {
            let why = format!("{MAX_TURNS} turns are under way already");
            return Err(Refusal::new(RefusalCode::Busy, "planner.turns", why).remedy("ask again in a moment").into());
        }
        let cancel = Rc::new(Notify::new());
        let line = TurnNotes::new(ask.turn, outlives_its_door(ask.channel), cx.notes(), &self.detached);
        let pieces = self.enter(ask.turn, &line, &cancel);
        tokio::task::spawn_local(Rc::clone(&self).run(ask, said, (line, cancel, pieces)));
        Ok((TurnOpened {}, []))
    }

    /// Counts a turn as under way; what its thoughts will say comes there.
    fn enter(&self, turn: TurnId, line: &Rc<TurnNotes>, cancel: &Rc<Notify>) -> DeltaQueue {
        let (deltas, pieces) = mpsc::channel(MAX_DELTAS);
        let lost_in = Rc::new(Cell::new(0));
        let open = Open { cancel: Rc::clone(cancel), line: Rc::clone(line), deltas, lost_in: Rc::clone(&lost_in) };
        self.turns.borrow_mut().insert(turn, open);
        self.count.send_modify(|count| *count += 1);
        (pieces, lost_in)
    }

    /// The way of a turn, under way or not.
    fn line(&self, turn: TurnId) -> Option<Rc<TurnNotes>> {
        let open = self.turns.borrow().get(&turn).map(|open| Rc::clone(&open.line));
        open.or_else(|| self.detached.get(turn))
    }

    /// What memoryd has kept of a turn, which keeps it no longer.
    async fn take_up(&self, turn: TurnId) -> Result<(TraceId, SuspendedTurn), Refusal> {
        let taken = self.memoryd.take_up_turn(TraceId::NONE, TakeUpTurn { turn }, []).await;
        let (taken, [state]) = taken.map_err(RpcError::into_refusal)?;
        let state = state.read().map_err(|error| unreadable(error.to_string()))?;
        Ok((taken.trace, serde_json::from_slice(&state).map_err(|error| unreadable(error.to_string()))?))
    }
}
