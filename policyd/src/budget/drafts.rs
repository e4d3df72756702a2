//! Tokens and money for what syntd has drafted. A run of drafts is Metnos's own, nobody's turn: it has the budgets of a
//! principal, stands in the ledger under its name, and nothing can be called, asked or remembered in it. policyd names it, so
//! that nobody who speaks in turns can know it; it ends when syntd says so, is gone, was too long about it, or everything is
//! stopped.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use metnos_proto::ids::{TraceId, TurnId};
use metnos_proto::msg::common::{Refusal, RefusalCode};

/// Who drafts are charged to.
pub(crate) const SYNTH: &str = "metnos:synth";
/// The most runs that are open at once.
pub const MAX_RUNS: usize = 4;
/// The most runs that are opened within an hour: each leaves lines in the chronicle.
pub const MAX_OPENED: usize = 30;
/// An hour.
const HOUR_MS: u64 = 3_600_000;
/// The most trials in one run: drafts, their repairs, and the changed copies that their tests must notice.
pub const MAX_TRIALS: u32 = 400;
/// How long a run may be open.
pub const RUN_WITHIN: Duration = Duration::from_secs(1_800);

/// One run.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Run {
    pub(crate) trace: TraceId,
    /// The link of the syntd that has opened it.
    pub(super) link: u32,
    /// How many trials it had.
    trials: u32,
}

/// The runs that are open.
#[derive(Debug, Default)]
pub struct Runs {
    pub(super) open: BTreeMap<TurnId, Run>,
    /// When those of the last hour were opened.
    opened_ms: VecDeque<u64>,
}

impl Runs {
    /// Whether this one is open.
    pub(crate) fn has(&self, run: TurnId) -> bool {
        self.open.contains_key(&run)
    }

    /// All are over.
    pub(crate) fn clear(&mut self) {
        self.open.clear();
    }

    /// The run that was meant; whether it was opened just now.
    pub(crate) fn find_or_open(&mut self, run: TurnId, link: u32) -> Result<(TurnId, Run, bool), Refusal> {
        if run != TurnId::NONE {
            return self.of(run, link).map(|known| (run, known, false));
        }
        if self.open.len() >= MAX_RUNS {
            let why = format!("{MAX_RUNS} runs of drafts are open already");
            return Err(Refusal::new(RefusalCode::Busy, "drafts.many", why).remedy("end one of them"));
        }
        let (id, run) = (TurnId::new(), Run { trace: TraceId::new(), link, trials: 0 });
        self.open.insert(id, run);
        Ok((id, run, true))
    }

    /// One more that is opened, if there were not too many.
    pub(super) fn count(&mut self, now_ms: u64) -> Result<(), Refusal> {
        while self.opened_ms.front().is_some_and(|at| at.saturating_add(HOUR_MS) <= now_ms) {
            self.opened_ms.pop_front();
        }
        if self.opened_ms.len() >= MAX_OPENED {
            let why = format!("{MAX_OPENED} runs of drafts were opened within an hour");
            return Err(Refusal::new(RefusalCode::Busy, "drafts.often", why).remedy("have more drafted in one of them"));
        }
        self.opened_ms.push_back(now_ms);
        Ok(())
    }

    /// One more trial in a run, if there were not too many.
    ///
    /// # Errors
    /// When it is not open on this link, or has had [`MAX_TRIALS`].
    pub(crate) fn count_trial(&mut self, run: TurnId, link: u32) -> Result<TraceId, Refusal> {
        self.of(run, link)?;
        match self.open.get_mut(&run) {
            Some(open) if open.trials < MAX_TRIALS => {
                open.trials += 1;
                Ok(open.trace)
            }
            Some(_) | None => {
                let why = format!("a run of drafts has at most {MAX_TRIALS} trials");
                Err(Refusal::new(RefusalCode::Busy, "drafts.trials", why).remedy("end it, and open another one"))
            }
        }
    }

    pub(super) fn of(&self, run: TurnId, link: u32) -> Result<Run, Refusal> {
        let known = self.open.get(&run).filter(|known| known.link == link).copied();
        known.ok_or_else(|| {
            Refusal::new(RefusalCode::Unknown, "drafts.unknown", "no such run of drafts is open".to_owned())
                .remedy("open another one")
        })
    }
}
