//! Running inverses: each is decided, recorded and run like any other call, in a turn of its own, and
//! what became of it is said as it was. Nothing is taken back twice.

use std::rc::Rc;

use metnos_proto::doc::undo::{ActState, ActTakenBack, UndoReport};
use metnos_proto::ids::{Blake3, TurnId};
use metnos_proto::json;
use metnos_proto::msg::common::{Outcome, Refusal, RefusalCode};
use metnos_proto::msg::memoryd::UNDONE;
use metnos_proto::msg::policyd::{Acted, Ran};
use metnos_proto::payload::Sealed;
use serde_json::Value;

use crate::people::principal::Principal;
use crate::policy::Policy;
use crate::policy::direct::By;
use crate::text::head;
use crate::undo::things::{self, Touch};
use crate::undo::{Act, order, unreadable};

/// Where an inverse says what it has done.
const WHAT: &str = "/what";
/// It has brought something back.
const RESTORED: &str = "restored";
/// There was nothing to bring back.
const NOTHING: &str = "nothing";
/// The most bytes of an inverse's own words that are passed on.
const MAX_TOLD: usize = 4096;
/// What stands in the place of an executor where a reminder was cancelled.
const REMINDER: &str = "reminder";
/// How many acts are looked at for one that touched a thing.
const MAX_LOOKED_AT: u32 = 256;
/// The states out of which an act may be taken back.
const CAN: [ActState; 3] = [ActState::Done, ActState::Unknown, ActState::Undoing];

/// What became of one inverse.
struct Taken {
    now: ActState,
    why: String,
    rule: String,
    /// What the inverse itself has put out, as it came; nobody here reads it.
    told: String,
}

impl Taken {
    fn document(self, act: Act) -> ActTakenBack {
        ActTakenBack {
            call: act.call.to_string(),
            executor: act.executor,
            arguments: serde_json::from_str(&act.arguments).unwrap_or_default(),
            was: act.state,
            state: self.now,
            why: self.why,
            rule: self.rule,
            told: self.told,
        }
    }
}

impl Policy {
    /// Takes back the last act of this principal that touched the thing that was called so, and no other one.
    ///
    /// # Errors
    /// When there is none, or what was called is one of several things that it put somewhere.
    pub(crate) async fn undo_thing(
        self: &Rc<Self>,
        principal: &Principal,
        called: &str,
    ) -> Result<UndoReport, Refusal> {
        let _one_at_a_time = self.calls.undo.undoing.lock().await;
        let acts = self.base.store.undoable_of(principal.name.clone(), MAX_LOOKED_AT).await;
        let acts = acts.map_err(|error| unreadable(&error))?;
        let found = acts.into_iter().find_map(|act| things::touch(&act, called).map(|touch| (act, touch)));
        let (act, touch) = found.ok_or_else(|| {
            let why = "nothing that you did to this can be taken back; nothing was done now";
            Refusal::new(RefusalCode::Unknown, "undo.thing", why).remedy("`metnosctl undo list` shows what there is")
        })?;
        if touch == Touch::Among {
            let why = "this was put there together with other things; nothing was done now";
            return Err(Refusal::new(RefusalCode::Invalid, "undo.several", why)
                .remedy("name the list, or take it off by its name"));
        }
        let turn = act.turn;
        let taken = self.take_back(principal, &act).await?;
        let undone = u32::from(taken.now == ActState::Undone);
        let kept = u32::from(!matches!(taken.now, ActState::Undone | ActState::Nothing));
        let told = vec![taken.document(act)];
        let all = self.base.store.acts_of(turn).await.map_err(|error| unreadable(&error))?;
        let (left, already) = (order(all.clone()).len() as u64, told_nothing(&all) as u64);
        self.base.event(
            if undone > 0 { UNDONE } else { "undo" },
            &format!("{} has taken back {undone} acts, {left} are left as they were", principal.name),
            Some(turn),
        );
        Ok(UndoReport { turn: turn.to_string(), acts: told, undone, kept, left, already })
    }

    /// Takes back what a turn has done, or the last turn of this principal that can be: the last act first,
    /// and no further than the first that cannot be taken back.
    ///
    /// # Errors
    /// When there is nothing of the kind.
    pub(crate) async fn undo(
        self: &Rc<Self>,
        principal: &Principal,
        turn: Option<TurnId>,
    ) -> Result<UndoReport, Refusal> {
        let _one_at_a_time = self.calls.undo.undoing.lock().await;
        if turn.is_none()
            && let Some(what) = self.cancel_last(principal).await?
        {
            return Ok(cancelled(&what));
        }
        let last = match turn {
            Some(turn) => Some(turn),
            None => self.base.store.last_turn(principal.name.clone()).await.map_err(|error| unreadable(&error))?,
        };
        let none = |why: &str| {
            Refusal::new(RefusalCode::Unknown, "undo.nothing", why).remedy("`metnosctl undo list` shows what there is")
        };
        let turn = last.ok_or_else(|| none("nothing that was done can be taken back; nothing was done now"))?;
        let all = self.base.store.acts_of(turn).await.map_err(|error| unreadable(&error))?;
        if all.is_empty() {
            return Err(none("that turn has done nothing that could be taken back"));
        }
        let mut told = Vec::new();
        let (mut undone, mut kept) = (0_u32, 0_u32);
        for act in order(all.clone()) {
            let taken = self.take_back(principal, &act).await?;
            let back = matches!(taken.now, ActState::Undone | ActState::Nothing);
            undone += u32::from(taken.now == ActState::Undone);
            kept += u32::from(!back);
            told.push(taken.document(act));
            if !back {
                break;
            }
        }
        let waiting = order(self.base.store.acts_of(turn).await.map_err(|error| unreadable(&error))?).len();
        // By the first, memoryd knows that what was done was of no use to the owner.
        self.base.event(
            if undone > 0 { UNDONE } else { "undo" },
            &format!("{} has taken back {undone} acts, {waiting} are left as they were", principal.name),
            Some(turn),
        );
        let (left, already) = (waiting as u64, told_nothing(&all) as u64);
        Ok(UndoReport { turn: turn.to_string(), acts: told, undone, kept, left, already })
    }

    /// Runs one inverse.
    async fn take_back(self: &Rc<Self>, principal: &Principal, act: &Act) -> Result<Taken, Refusal> {
        let begun = self.base.store.move_act(act.call, &CAN, ActState::Undoing).await;
        if !begun.map_err(|error| unreadable(&error))? {
            return Ok(taken(ActState::Undone, "it was taken back in this very moment"));
        }
        let arguments = Sealed::new(act.arguments.as_bytes())
            .map_err(|error| Refusal::new(RefusalCode::Internal, "policyd.internal", error.to_string()))?;
        let ran = self.direct(principal.clone(), act.inverse.clone(), arguments, By::Typed).await;
        let taken = match ran {
            Ok((run, result)) => match run.acted {
                Acted::Ran(ran) => judged(&ran, &result, act.state),
                Acted::Denied(refusal) => refused(refusal, act.state),
            },
            // It may have run: the next try finds out.
            Err(refusal) => refused(refusal, ActState::Undoing),
        };
        self.base
            .store
            .move_act(act.call, &[ActState::Undoing], taken.now)
            .await
            .map_err(|error| unreadable(&error))?;
        Ok(taken)
    }
}

/// What is said of a reminder that was cancelled as the last thing that was done.
fn cancelled(what: &str) -> UndoReport {
    let act = ActTakenBack {
        call: String::new(),
        executor: REMINDER.to_owned(),
        arguments: Value::from(
            std::iter::once(("path".to_owned(), Value::from(what))).collect::<serde_json::Map<_, _>>(),
        ),
        was: ActState::Done,
        state: ActState::Undone,
        why: "the reminder was cancelled".to_owned(),
        rule: String::new(),
        told: String::new(),
    };
    UndoReport { turn: String::new(), acts: vec![act], undone: 1, kept: 0, left: 0, already: 0 }
}

/// How many acts of a turn were taken back before.
fn told_nothing(all: &[Act]) -> usize {
    all.iter().filter(|act| matches!(act.state, ActState::Undone | ActState::Nothing)).count()
}

/// What an inverse's end means. Its words are compared by digest and not read.
fn judged(ran: &Ran, result: &Sealed, before: ActState) -> Taken {
    let says = |word: &str| {
        let digest: Blake3 = json::digest(&Value::from(word));
        ran.leaves.iter().any(|leaf| leaf.pointer == WHAT && leaf.digest == digest)
    };
    let told = result.read().map(|bytes| head(&String::from_utf8_lossy(&bytes), MAX_TOLD)).unwrap_or_default();
    let (now, why) = match ran.outcome {
        Outcome::Ok if says(RESTORED) => (ActState::Undone, "it was taken back"),
        Outcome::Ok if says(NOTHING) => (ActState::Nothing, "there was nothing to take back"),
        Outcome::Ok => (ActState::Undoing, "the inverse ran, and does not say what it has done"),
        Outcome::Error => (before, "it could not be taken back; what is there was left as it is"),
        Outcome::Crashed
        | Outcome::BadOutput
        | Outcome::CpuExceeded
        | Outcome::MemoryExceeded
        | Outcome::Timeout
        | Outcome::OutputTooLarge
        | Outcome::ProcessesExceeded
        | Outcome::Killed
        | Outcome::Interrupted
        | Outcome::SandboxFailed
        | Outcome::DiskExceeded
        | Outcome::DiskFull
        | Outcome::Failed => (ActState::Undoing, "the inverse broke off; try again, it goes on where it stopped"),
    };
    Taken { now, why: why.to_owned(), rule: String::new(), told }
}

fn refused(refusal: Refusal, now: ActState) -> Taken {
    Taken { now, why: refusal.why, rule: refusal.rule, told: String::new() }
}

fn taken(now: ActState, why: &str) -> Taken {
    Taken { now, why: why.to_owned(), rule: String::new(), told: String::new() }
}
