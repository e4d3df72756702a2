//! The owner at syntd: what is missing, and a draft that he orders. One run is open at a time; it ends when he goes away. The
//! reports of the last runs stay until syntd ends: what matters lies in the pool, and in the chronicle.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use metnos_calendar::Day;
use metnos_proto::doc::Doc;
use metnos_proto::doc::draft::{DraftListed, DraftOrder, DraftReport, GapReport, GrowthReport};
use metnos_proto::edge::{RpcError, Served};
use metnos_proto::edges::{CtlSyntd, SyntdMind, SyntdPolicyd, ctl_syntd};
use metnos_proto::ids::{TraceId, TurnId};
use metnos_proto::json::{self, Limits};
use metnos_proto::link_async::{Client, Cx, Notes};
use metnos_proto::msg::common::{Refusal, RefusalCode};
use metnos_proto::msg::drafting::{DraftEnded, DraftExecutor, DraftStarted, GrowthStatus, MAX_DRAFT_ORDER, ShowDraft};
use metnos_proto::msg::memoryd::Gap;
use metnos_proto::msg::policyd::{EndDrafts, GrowthLeft, GrowthQuota};
use metnos_proto::payload::Sealed;
use serde_json::Value;

use crate::draft::spec;
use crate::run::{Peers, Run};
use crate::watch::Watch;

/// How many reports are kept.
pub const MAX_REPORTS: usize = 16;
/// How often a wish recurs before the ager proposes to serve it (design: memory §2).
const PROPOSED_FROM: u32 = 3;

/// The owner's orders.
#[derive(Debug)]
pub struct Orders {
    watch: Rc<Watch>,
    peers: Peers,
    /// The last one first.
    reports: RefCell<VecDeque<DraftReport>>,
    busy: Cell<bool>,
}

impl Orders {
    /// Without any report.
    #[must_use]
    pub fn new(watch: Rc<Watch>, policyd: Rc<Client<SyntdPolicyd>>, mind: Rc<Client<SyntdMind>>) -> Self {
        Self { watch, peers: Peers { policyd, mind }, reports: RefCell::default(), busy: Cell::new(false) }
    }

    async fn growth_left(&self) -> Result<GrowthLeft, Refusal> {
        let asked = self.peers.policyd.growth_quota(TraceId::NONE, GrowthQuota {}, []).await;
        asked.map(|(left, [])| left).map_err(RpcError::into_refusal)
    }

    /// Has a run funded for an order; it goes on by itself, for as long as the owner is there.
    async fn start(self: &Rc<Self>, cx: &Cx<CtlSyntd>, order: DraftOrder) -> Result<TurnId, Refusal> {
        let alone = Alone::of(self)?;
        let left = self.growth_left().await?;
        let id = Run::fund(&self.peers).await?;
        let (orders, notes) = (Rc::clone(self), cx.notes());
        tokio::task::spawn_local(async move {
            let _alone = alone;
            orders.follow(id, notes, &order, left.dry_run).await;
        });
        Ok(id)
    }

    async fn follow(&self, id: TurnId, notes: Notes<CtlSyntd>, order: &DraftOrder, dry_run: bool) {
        let began = Instant::now();
        let run = Run::new(&self.peers, id, notes.clone(), order, today());
        let report = tokio::select! {
            report = run.draft(order, dry_run) => Some(report),
            () = notes.closed() => None,
        };
        // A run that policyd does not know any more has ended by itself.
        let _ended = self.peers.policyd.end_drafts(TraceId::NONE, EndDrafts { run: id }, []).await;
        let Some(mut report) = report else {
            tracing::info!(run = %id, "the owner has gone away, which ends a run of drafts");
            return;
        };
        report.took_ms = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
        tracing::info!(name = %report.name, end = %report.end, took_ms = report.took_ms, "a run of drafts has ended");
        {
            let mut reports = self.reports.borrow_mut();
            reports.truncate(MAX_REPORTS - 1);
            reports.push_front(report);
        }
        // An owner who has gone away meanwhile finds the report when he comes back.
        let _unseen = notes.send(ctl_syntd::Note::DraftEnded(DraftEnded { run: id })).await;
    }
}

/// Keeps every other order out, and lets the next one in, however this one ends.
struct Alone(Rc<Orders>);

impl Alone {
    fn of(orders: &Rc<Orders>) -> Result<Self, Refusal> {
        if orders.busy.replace(true) {
            let why = "another draft is being made, and one is made at a time";
            return Err(Refusal::new(RefusalCode::Busy, "draft.busy", why).remedy("try again when it has ended"));
        }
        Ok(Self(Rc::clone(orders)))
    }
}

impl Drop for Alone {
    fn drop(&mut self) {
        self.0.busy.set(false);
    }
}

impl ctl_syntd::Serve for Orders {
    async fn growth(
        self: Rc<Self>,
        _: Cx<CtlSyntd>,
        GrowthStatus {}: GrowthStatus,
        []: [Sealed; 0],
    ) -> Served<Doc<GrowthReport>, 1> {
        let left = self.growth_left().await?;
        let gaps = self.watch.gaps_now().await?;
        let listed = |report: &DraftReport| DraftListed {
            name: report.name.clone(),
            wish: report.wish.clone(),
            end: report.end,
            why: report.why.clone(),
        };
        let drafts = self.reports.borrow().iter().map(listed).collect();
        let gaps = gaps.into_iter().map(|gap| gap_report(gap, &left)).collect();
        let GrowthLeft { births_today, active, dry_run } = left;
        Ok(Doc::seal(&GrowthReport { dry_run, births_today, active, gaps, drafts })?)
    }

    async fn draft(
        self: Rc<Self>,
        cx: Cx<CtlSyntd>,
        DraftExecutor {}: DraftExecutor,
        [order]: [Sealed; 1],
    ) -> Served<DraftStarted, 0> {
        let order = read(&order)?;
        Ok((DraftStarted { run: self.start(&cx, order).await? }, []))
    }

    async fn show_draft(
        self: Rc<Self>,
        _: Cx<CtlSyntd>,
        ShowDraft { name }: ShowDraft,
        []: [Sealed; 0],
    ) -> Served<Doc<DraftReport>, 1> {
        let reports = self.reports.borrow();
        let is_meant = |report: &&DraftReport| name.is_empty() || report.name == name || report.run == name;
        let found = reports.iter().find(is_meant);
        let found = found.ok_or_else(|| {
            let why = if name.is_empty() {
                "nothing was drafted since syntd has started".to_owned()
            } else {
                format!("no draft is named {}", name.escape_debug())
            };
            Refusal::new(RefusalCode::Unknown, "draft.unknown", why).remedy("`metnosctl synt gaps` lists the drafts")
        })?;
        Ok(Doc::seal(found)?)
    }
}

fn read(sealed: &Sealed) -> Result<DraftOrder, Refusal> {
    let wrong =
        |why: String| Refusal::new(RefusalCode::Invalid, "draft.order", why).remedy("`metnosctl synt run --help`");
    if sealed.len() > MAX_DRAFT_ORDER {
        return Err(wrong(format!("the order has {} bytes; at most {MAX_DRAFT_ORDER} are taken", sealed.len())));
    }
    let bytes = sealed.read().map_err(|error| wrong(error.to_string()))?;
    let object = json::parse_object(&bytes, Limits { max_bytes: MAX_DRAFT_ORDER, max_depth: 32 });
    let object = object.map_err(|error| wrong(error.to_string()))?;
    let order: DraftOrder = serde_json::from_value(Value::Object(object)).map_err(|error| wrong(error.to_string()))?;
    spec::check(&order).map_err(wrong)?;
    Ok(order)
}

fn gap_report(gap: Gap, left: &GrowthLeft) -> GapReport {
    let why_not_yet = if gap.times < PROPOSED_FROM {
        format!("it is proposed when it was wished for {PROPOSED_FROM} times")
    } else if left.births_today == 0 {
        "no more executors are born today".to_owned()
    } else if left.active == 0 {
        "the pool has room for no more: put one away first".to_owned()
    } else if left.dry_run {
        "drafts are only shown: `metnosctl synt dry-run off`".to_owned()
    } else {
        "it waits for your order: `metnosctl synt run`".to_owned()
    };
    GapReport { wish: gap.wish, times: gap.times, why_not_yet }
}

/// This day in UTC, as a manifest has it.
fn today() -> String {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis());
    Day::of(u64::try_from(since).unwrap_or(0)).to_string()
}
