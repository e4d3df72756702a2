//! The schedules of the memoryd that notes what it is told: it keeps whatever it is given, and knows no time.

use std::cell::RefCell;
use std::collections::BTreeMap;

use metnos_proto::doc::schedule::{DayLine, DayReview, ScheduleHistory, ScheduleList, ScheduleState, ScheduleView};
use metnos_proto::ids::Blake3;
use metnos_proto::msg::common::{Lang, Refusal, RefusalCode};
use metnos_proto::msg::schedule::{
    AskFired, AskedThen, ChangeSchedules, KeepSchedule, ListSchedules, ReviewOf, ScheduleAct, ShowSchedule, Which,
};

/// What is planned.
#[derive(Default)]
pub struct FakeSchedules {
    pub kept: RefCell<Vec<ScheduleView>>,
    /// The frozen calls of each, by its number.
    pub frozen: RefCell<BTreeMap<u64, Vec<Blake3>>>,
    /// When the next one is made, in milliseconds since the epoch.
    pub made_ms: std::cell::Cell<u64>,
}

impl FakeSchedules {
    pub fn keep(&self, ask: &KeepSchedule) -> ScheduleList {
        let one = ScheduleView {
            number: self.kept.borrow().len() as u64 + 1,
            principal: ask.principal.clone(),
            to: ask.to.clone(),
            person: ask.from.clone(),
            kind: ask.kind,
            what: ask.what.clone(),
            when: ask.when.clone(),
            told: ask.when.clone(),
            assumed: Vec::new(),
            next: Vec::new(),
            zone: "UTC".into(),
            state: ScheduleState::Active,
            moved_ms: 0,
            held: String::new(),
            made_ms: self.made_ms.get(),
            in_chat: false,
            sealed: false,
            already: false,
        };
        self.frozen.borrow_mut().insert(one.number, ask.frozen.clone());
        self.kept.borrow_mut().push(one.clone());
        ScheduleList(vec![one])
    }

    pub fn list(&self, ask: &ListSchedules) -> ScheduleList {
        let own = |one: &&ScheduleView| {
            (ask.principal.is_empty() || one.principal == ask.principal) && one.state == ScheduleState::Active
        };
        ScheduleList(self.kept.borrow().iter().filter(own).cloned().collect())
    }

    pub fn change(&self, ask: &ChangeSchedules) -> Result<ScheduleList, Refusal> {
        let mut kept = self.kept.borrow_mut();
        let meant = |one: &&mut ScheduleView| {
            let named = match &ask.change.which {
                Which::Number(number) => one.number == *number,
                Which::Called(text) => one.what.contains(text.as_str()),
                Which::Only
                | Which::Timer
                | Which::Timers
                | Which::Alarms
                | Which::Last
                | Which::All
                | Which::Given
                | Which::Place(_) => true,
            };
            named && (ask.principal.is_empty() || one.principal == ask.principal)
        };
        let changed = kept.iter_mut().filter(meant).map(|one| {
            one.state = match ask.change.act {
                ScheduleAct::Cancel => ScheduleState::Cancelled,
                ScheduleAct::Pause => ScheduleState::Paused,
                ScheduleAct::Resume | ScheduleAct::RunNow | ScheduleAct::Move(_) | ScheduleAct::Earlier(_) => {
                    ScheduleState::Active
                }
            };
            one.clone()
        });
        let changed: Vec<ScheduleView> = changed.collect();
        if changed.is_empty() {
            return Err(Refusal::new(RefusalCode::Unknown, "schedule.unknown", "no reminder like this is planned"));
        }
        Ok(ScheduleList(changed))
    }

    /// A day on which nothing happened but that it was asked about.
    pub fn review(&self, ask: &ReviewOf) -> DayReview {
        DayReview {
            requests: 1,
            done: vec![DayLine { at: "2026-11-24T09:00:00Z".into(), what: format!("{} {}", ask.principal, ask.when) }],
            all_done: 1,
            ..DayReview::default()
        }
    }

    pub fn fired(&self, ask: &AskFired) -> Result<AskedThen, Refusal> {
        let found = self.kept.borrow().iter().find(|one| one.number == ask.number).cloned();
        let found = found.filter(|one| one.kind.opens_turn() && one.state == ScheduleState::Active);
        let unknown = || Refusal::new(RefusalCode::Unknown, "schedule.firing", "it asks nothing now");
        let ScheduleView { principal, to, what, number, .. } = found.ok_or_else(unknown)?;
        let frozen = self.frozen.borrow().get(&number).cloned().unwrap_or_default();
        Ok(AskedThen { principal, to, what, lang: Lang::En, frozen })
    }

    pub fn show(&self, ask: &ShowSchedule) -> Result<ScheduleHistory, Refusal> {
        let found = self.kept.borrow().iter().find(|one| one.number == ask.number).cloned();
        let unknown = || Refusal::new(RefusalCode::Unknown, "schedule.unknown", "there is none");
        Ok(ScheduleHistory { schedule: found.ok_or_else(unknown)?, firings: Vec::new() })
    }
}
