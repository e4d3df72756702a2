//! `status`: everything on one screen. A daemon that cannot be asked leaves its line empty and
//! is named; it never keeps the others from being shown.

use metnos_proto::control::{Alarm, Surveyed};
use metnos_proto::disk::Room;
use metnos_proto::doc::people::{AutonomyAnswer, Level, PrincipalLevel, Standing};
use metnos_proto::edges::{CtlDoor, CtlMemoryd, CtlMind, CtlPolicyd, CtlSandboxd};
use metnos_proto::ids::TraceId;
use metnos_proto::msg::door::{DoorReport, DoorStatus};
use metnos_proto::msg::memoryd::{MemoryReport, MemoryStatus};
use metnos_proto::msg::mind::{MindHealth, MindReport, RoleModel};
use metnos_proto::msg::people::AutonomyAsk;
use metnos_proto::msg::policyd::{
    ExecutorRow, ExecutorState, Executors, Notice, NoticeKind, PolicyReport, PolicyStatus,
};
use metnos_proto::msg::sandboxd::{SandboxReport, SandboxStatus};
use metnos_proto::role::RoleName;
use schemars::JsonSchema;
use serde::Serialize;

use crate::daemons::connection::{Connection, opened};
use crate::daemons::survey::{self, DaemonReport, EdgeReport};
use crate::error::{CtlError, Exit};
use crate::health::host;
use crate::instance::Instance;
use crate::screen::escape;
use crate::screen::human::{ago, counted, mib, now_ms};
use crate::screen::{Ink, Screen};

/// What is known of everything.
#[derive(Debug)]
pub struct FullStatus {
    survey: Surveyed,
    door: Option<DoorReport>,
    policy: Option<PolicyReport>,
    /// How far each principal goes without asking; nothing when that could not be heard.
    levels: Vec<PrincipalLevel>,
    executors: Option<Vec<ExecutorRow>>,
    sandbox: Option<SandboxReport>,
    mind: Option<MindReport>,
    memory: Option<MemoryReport>,
    disk: Option<Room>,
    unreachable: Vec<(RoleName, String)>,
}

/// Asks everybody, and shows it.
///
/// # Errors
/// When the supervisor refuses or cannot be reached.
pub fn status(screen: &mut Screen, instance: &Instance) -> Result<Exit, CtlError> {
    let mut whole = ask(&mut Connection::to(instance)?)?;
    whole.disk = Room::at(instance.directory()).ok();
    if screen.json() {
        screen.document(&document(&whole))?;
    } else {
        show(screen, &whole, now_ms())?;
    }
    Ok(Exit::Done)
}

/// Notes a daemon that did not answer, and goes on.
fn heard<T>(role: RoleName, answer: Result<T, CtlError>, unreachable: &mut Vec<(RoleName, String)>) -> Option<T> {
    answer
        .map_err(|error| {
            if unreachable.iter().all(|(known, _)| *known != role) {
                unreachable.push((role, error.to_string()));
            }
        })
        .ok()
}

fn ask(reach: &mut Connection) -> Result<FullStatus, CtlError> {
    let survey = reach.survey()?;
    // All channels first: while one daemon is asked, the others greet.
    let door = reach.open_now::<CtlDoor>();
    let policyd = reach.open_now::<CtlPolicyd>();
    let sandboxd = reach.open_now::<CtlSandboxd>();
    let mind = reach.open_now::<CtlMind>();
    let memoryd = reach.open_now::<CtlMemoryd>();
    let none = TraceId::NONE;
    let mut away = Vec::new();
    let door = door.and_then(|mut door| Ok(door.door_status(none, DoorStatus {}, [])?.0));
    let door = heard(RoleName::Gatewayd, door, &mut away);
    let mut policyd = heard(RoleName::Policyd, policyd, &mut away);
    let policy = policyd.as_mut().map(|policyd| Ok(policyd.policy_status(none, PolicyStatus {}, [])?.0));
    let policy = policy.and_then(|answer| heard(RoleName::Policyd, answer, &mut away));
    // Beside the rest: without it the rest is shown.
    let levels = policyd.as_mut().and_then(|policyd| policyd.autonomy(none, AutonomyAsk::Show, []).ok());
    let levels = match levels.map(opened) {
        Some(Ok(AutonomyAnswer::Levels(levels))) => levels,
        Some(Ok(AutonomyAnswer::Set(_)) | Err(_)) | None => Vec::new(),
    };
    let executors = policyd.as_mut().map(|policyd| Ok(policyd.executors(none, Executors {}, [])?.0.rows));
    let executors = executors.and_then(|answer| heard(RoleName::Policyd, answer, &mut away));
    let sandbox = sandboxd.and_then(|mut sandboxd| Ok(sandboxd.sandbox_status(none, SandboxStatus {}, [])?.0));
    let sandbox = heard(RoleName::Sandboxd, sandbox, &mut away);
    let mind = mind.and_then(|mut mind| Ok(mind.health(none, MindHealth {}, [])?.0));
    let mind = heard(RoleName::Mind, mind, &mut away);
    let memory = memoryd.and_then(|mut memoryd| Ok(memoryd.memory_status(none, MemoryStatus {}, [])?.0));
    let memory = heard(RoleName::Memoryd, memory, &mut away);
    Ok(FullStatus { survey, door, policy, levels, executors, sandbox, mind, memory, disk: None, unreachable: away })
}

fn count(rows: &[ExecutorRow], state: &ExecutorState) -> usize {
    rows.iter().filter(|row| row.state == *state).count()
}

fn pss_kib(survey: &Surveyed) -> u64 {
    survey.daemons.iter().map(|row| row.pss_kib).fold(survey.pss_kib, u64::saturating_add)
}

/// Everything at a glance. What could not be asked is null, and named in `unreachable`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Status {
    /// The directory of the instance.
    instance: String,
    /// `spawn` or `systemd`.
    mode: String,
    /// The process of the supervisor.
    pid: u32,
    /// Its user.
    uid: u32,
    /// When it started, in milliseconds since the epoch.
    since_ms: u64,
    /// How long it took until all daemons were ready; 0 until then.
    ready_after_ms: u64,
    /// The memory of the supervisor in KiB.
    pss_kib: u64,
    /// The memory of all together in KiB.
    pss_total_kib: u64,
    /// Whether each daemon has a user of its own.
    uids_separate: bool,
    /// Each daemon.
    daemons: Vec<DaemonReport>,
    /// Each channel between two of them.
    edges: Vec<EdgeReport>,
    /// The door.
    door: Option<DoorStanding>,
    /// policyd.
    policy: Option<PolicyStanding>,
    /// The executors.
    executors: Option<ExecutorCounts>,
    /// The sandbox.
    sandbox: Option<SandboxStanding>,
    /// The language models.
    models: Option<ModelStanding>,
    /// The chronicle.
    chronicle: Option<ChronicleStanding>,
    /// The disk of the instance.
    disk: Option<DiskRoom>,
    /// How many mnests there are.
    mnests: Option<u32>,
    /// The clock of use, in thousandths of a use-day.
    use_time_milli: Option<u64>,
    /// What went wrong last.
    alarms: Vec<AlarmReport>,
    /// Daemons that could not be asked.
    unreachable: Vec<Unreachable>,
}

/// The door.
#[derive(Debug, Serialize, JsonSchema)]
pub struct DoorStanding {
    /// Open sessions at the terminal.
    sessions: u32,
    /// Open turns.
    turns: u32,
    /// Turns since it was started.
    turns_total: u64,
    /// What is known of the models.
    models: String,
    /// Where it listens, or why it does not.
    http: String,
    /// How the bot does; empty when there is none.
    telegram: String,
}

/// policyd.
#[derive(Debug, Serialize, JsonSchema)]
pub struct PolicyStanding {
    /// Open turns.
    turns: u32,
    /// Calls that run now.
    running: u32,
    /// Decisions since it was started.
    decisions_total: u64,
    /// Of those, denials.
    denials_total: u64,
    /// Why nothing is decided; empty while it is.
    undecided: String,
    /// The last line of the chronicle that is signed.
    signed_line: u64,
    /// How many lines followed it when the chronicle was opened.
    unsigned_lines: u64,
    /// Executors that are still being tested.
    unborn: u32,
    /// Since when everything is stopped; 0 when it is not.
    stopped_ms: u64,
    /// Who stopped it.
    stopped_by: String,
    /// Executors that are switched off.
    disabled: Vec<String>,
    /// The public key of the instance.
    public_key: String,
    /// How far each principal goes without asking.
    levels: Vec<PrincipalLevel>,
    /// News about executors.
    notices: Vec<NoticeReport>,
}

/// News about an executor.
#[derive(Debug, Serialize, JsonSchema)]
pub struct NoticeReport {
    /// When, in milliseconds since the epoch.
    at_ms: u64,
    /// What kind.
    kind: NoticeName,
    /// Which executor.
    executor: String,
    /// Why.
    why: String,
}

/// What kind of news about an executor it is.
#[derive(Debug, Clone, Copy, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum NoticeName {
    /// It was put into quarantine.
    Quarantine,
    /// Something is wrong with it.
    Alarm,
}

impl NoticeName {
    const fn text(self) -> &'static str {
        match self {
            Self::Quarantine => "quarantine",
            Self::Alarm => "alarm",
        }
    }
}

/// How many executors are in each state.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ExecutorCounts {
    /// Callable.
    active: usize,
    /// Not signed yet.
    staged: usize,
    /// In quarantine.
    quarantined: usize,
    /// Archived.
    archived: usize,
    /// Revoked.
    revoked: usize,
}

/// The sandbox.
#[derive(Debug, Serialize, JsonSchema)]
pub struct SandboxStanding {
    /// Runs going on.
    running: u32,
    /// Runs since it was started.
    runs_total: u64,
    /// The step of the ladder in force.
    mode: String,
    /// The interpreter.
    interpreter: String,
    /// What carries each layer.
    layers: Vec<String>,
}

/// The language models.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ModelStanding {
    /// In a sentence.
    says: String,
    /// Each role that has a model.
    roles: Vec<RoleStanding>,
}

/// A role that has a model.
#[derive(Debug, Serialize, JsonSchema)]
pub struct RoleStanding {
    /// The role.
    role: String,
    /// Its model.
    model: String,
    /// Whether it can be called.
    reachable: bool,
}

/// The chronicle.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ChronicleStanding {
    /// Its last line.
    seq: u64,
    /// The hash of that line.
    hash: String,
    /// Torn lines that were found at the last start.
    torn: u32,
    /// Why nothing is recorded; empty when something can be.
    altered: String,
    /// Whether the clock of use is stopped.
    frozen: bool,
}

/// The disk of the instance.
#[derive(Debug, Serialize, JsonSchema)]
pub struct DiskRoom {
    /// How much is free.
    free_bytes: u64,
    /// How much there is.
    total_bytes: u64,
    /// How much is kept free.
    reserve_bytes: u64,
    /// How much must be freed before anything new is begun.
    missing_bytes: u64,
    /// Whether it takes nothing.
    read_only: bool,
}

/// Something that went wrong.
#[derive(Debug, Serialize, JsonSchema)]
pub struct AlarmReport {
    /// When, in milliseconds since the epoch.
    at_ms: u64,
    /// Which daemon.
    daemon: String,
    /// What.
    what: String,
}

/// A daemon that could not be asked.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Unreachable {
    /// Which.
    daemon: String,
    /// Why.
    why: String,
}

fn document(whole: &FullStatus) -> Status {
    let survey = &whole.survey;
    let alarm = |alarm: &Alarm| AlarmReport {
        at_ms: alarm.at_ms,
        daemon: alarm.role.text().to_owned(),
        what: alarm.what.clone(),
    };
    let unreachable =
        |(role, why): &(RoleName, String)| Unreachable { daemon: role.text().to_owned(), why: why.clone() };
    Status {
        instance: survey.instance.clone(),
        mode: survey.mode.clone(),
        pid: survey.pid,
        uid: survey.uid,
        since_ms: survey.since_ms,
        ready_after_ms: survey.ready_after_ms,
        pss_kib: survey.pss_kib,
        pss_total_kib: pss_kib(survey),
        uids_separate: survey.uids_separate,
        daemons: survey.daemons.iter().map(DaemonReport::from).collect(),
        edges: survey.edges.iter().map(EdgeReport::from).collect(),
        door: whole.door.as_ref().map(door_standing),
        policy: whole.policy.as_ref().map(|policy| policy_standing(policy, &whole.levels)),
        executors: whole.executors.as_deref().map(executor_counts),
        sandbox: whole.sandbox.as_ref().map(sandbox_standing),
        models: whole.mind.as_ref().map(model_standing),
        chronicle: whole.memory.as_ref().map(chronicle_standing),
        disk: whole.disk.as_ref().map(disk_room),
        mnests: whole.memory.as_ref().map(|memory| memory.mnests),
        use_time_milli: whole.memory.as_ref().map(|memory| memory.use_time_milli),
        alarms: survey.alarms.iter().map(alarm).collect(),
        unreachable: whole.unreachable.iter().map(unreachable).collect(),
    }
}

fn door_standing(door: &DoorReport) -> DoorStanding {
    DoorStanding {
        sessions: door.sessions,
        turns: door.turns,
        turns_total: door.turns_total,
        models: door.models.clone(),
        http: door.http.clone(),
        telegram: door.telegram.clone(),
    }
}

fn policy_standing(policy: &PolicyReport, levels: &[PrincipalLevel]) -> PolicyStanding {
    let notice = |notice: &Notice| NoticeReport {
        at_ms: notice.at_ms,
        kind: kind(&notice.kind),
        executor: notice.id.to_string(),
        why: notice.why.clone(),
    };
    PolicyStanding {
        turns: policy.turns,
        running: policy.running,
        decisions_total: policy.decisions_total,
        denials_total: policy.denials_total,
        undecided: policy.undecided.clone(),
        signed_line: policy.signed_line,
        unsigned_lines: policy.unsigned_lines,
        unborn: policy.unborn,
        stopped_ms: policy.stopped_ms,
        stopped_by: policy.stopped_by.clone(),
        disabled: policy.disabled.clone(),
        public_key: policy.public_key.clone(),
        levels: levels.to_vec(),
        notices: policy.notices.iter().map(notice).collect(),
    }
}

fn executor_counts(rows: &[ExecutorRow]) -> ExecutorCounts {
    ExecutorCounts {
        active: count(rows, &ExecutorState::Active),
        staged: count(rows, &ExecutorState::Staged),
        quarantined: count(rows, &ExecutorState::Quarantined),
        archived: count(rows, &ExecutorState::Archived),
        revoked: count(rows, &ExecutorState::Revoked),
    }
}

fn sandbox_standing(sandbox: &SandboxReport) -> SandboxStanding {
    SandboxStanding {
        running: sandbox.running,
        runs_total: sandbox.runs_total,
        mode: sandbox.mode.clone(),
        interpreter: sandbox.interpreter.clone(),
        layers: sandbox.layers.clone(),
    }
}

fn model_standing(mind: &MindReport) -> ModelStanding {
    let role = |role: &RoleModel| RoleStanding {
        role: role.role.clone(),
        model: role.model.clone(),
        reachable: role.reachable,
    };
    ModelStanding { says: mind.says.clone(), roles: mind.roles.iter().map(role).collect() }
}

fn chronicle_standing(memory: &MemoryReport) -> ChronicleStanding {
    ChronicleStanding {
        seq: memory.head.seq,
        hash: memory.head.hash.to_string(),
        torn: memory.torn,
        altered: memory.altered.clone(),
        frozen: memory.frozen,
    }
}

const fn disk_room(room: &Room) -> DiskRoom {
    DiskRoom {
        free_bytes: room.free,
        total_bytes: room.total,
        reserve_bytes: room.reserve(),
        missing_bytes: room.missing(),
        read_only: room.read_only,
    }
}

fn show(screen: &mut Screen, whole: &FullStatus, now_ms: u64) -> Result<(), CtlError> {
    let survey = &whole.survey;
    let colour = screen.colour();
    let instance = escape::line(&survey.instance);
    screen.line(&format!(
        "{} in {instance} · {} mode · supervisor {}, uid {} · up {}, ready after {} ms",
        Ink::Bold.on("Metnos", colour),
        escape::line(&survey.mode),
        survey.pid,
        survey.uid,
        ago(survey.since_ms, now_ms),
        survey.ready_after_ms,
    ))?;
    screen.line("")?;
    survey::daemons(&survey.daemons, now_ms).show(screen, 0)?;
    if let Some(statement) = survey::uid_statement(survey) {
        screen.line(&Ink::Warn.on(&statement, colour))?;
    }
    screen.line("")?;
    for (name, text) in facts(whole) {
        screen.line(&format!("{}{:blanks$}{text}", Ink::Bold.on(name, colour), "", blanks = 12 - name.len()))?;
    }
    for alarm in &survey.alarms {
        let what = format!("{} ago, {}: {}", ago(alarm.at_ms, now_ms), alarm.role, escape::line(&alarm.what));
        screen.line(&Ink::Warn.on(&format!("  {what}"), colour))?;
    }
    // What the owner has listed, and nobody can be shown.
    let layers = whole.sandbox.iter().flat_map(|sandbox| &sandbox.layers);
    for layer in layers.filter(|layer| layer.contains(": not shown to anybody: ")) {
        screen.line(&Ink::Warn.on(&format!("  {}", escape::line(layer)), colour))?;
    }
    for notice in whole.policy.iter().flat_map(|policy| &policy.notices) {
        let (ago, kind, id) = (ago(notice.at_ms, now_ms), kind(&notice.kind).text(), &notice.id);
        let what = format!("{ago} ago, {kind}: {}: {}", escape::line(&id.to_string()), escape::line(&notice.why));
        screen.line(&Ink::Warn.on(&format!("  {what}"), colour))?;
    }
    for (_, why) in &whole.unreachable {
        screen.line(&Ink::Bad.on(&escape::line(why), colour))?;
    }
    Ok(())
}

/// What kind of news about an executor it is.
const fn kind(kind: &NoticeKind) -> NoticeName {
    match kind {
        NoticeKind::SetAside => NoticeName::Quarantine,
        NoticeKind::Alarm => NoticeName::Alarm,
    }
}

/// One line a subject; what could not be asked is missing, and named below.
fn facts(whole: &FullStatus) -> Vec<(&'static str, String)> {
    let survey = &whole.survey;
    let up = survey.edges.iter().filter(|edge| edge.up).count();
    let down: Vec<String> = survey
        .edges
        .iter()
        .filter(|edge| !edge.up)
        .map(|edge| format!("{} → {}", edge.edge.asker(), edge.edge.answerer()))
        .collect();
    let down = if down.is_empty() { String::new() } else { format!("; down: {}", down.join(", ")) };
    let mut facts = vec![
        ("memory", format!("{} in all", mib(pss_kib(survey)))),
        ("edges", format!("{up} of {} up{down}", survey.edges.len())),
    ];
    if let Some(memory) = &whole.memory {
        let torn = if memory.torn == 0 {
            String::new()
        } else {
            format!(", {} torn", counted(memory.torn.into(), "line", "lines"))
        };
        facts.push((
            "chronicle",
            format!("{}, head {}{torn}", counted(memory.head.seq, "line", "lines"), memory.head.hash),
        ));
        if !memory.altered.is_empty() {
            facts.push(("recording", format!("NOTHING is recorded: {}", escape::line(&memory.altered))));
        }
        let days = format!("{}.{:03} use-days", memory.use_time_milli / 1000, memory.use_time_milli % 1000);
        let days = if memory.frozen { format!("{days}, frozen") } else { days };
        facts.push(("mnests", format!("{} after {days}", memory.mnests)));
    }
    if let Some(full) = whole.disk.as_ref().and_then(|room| host::disk_problem(room, &survey.instance)) {
        facts.push(("DISK", escape::line(&full)));
    }
    if let Some(rows) = &whole.executors {
        let states = [
            ExecutorState::Active,
            ExecutorState::Staged,
            ExecutorState::Quarantined,
            ExecutorState::Archived,
            ExecutorState::Revoked,
        ];
        let counts: Vec<String> = states
            .iter()
            .map(|state| (count(rows, state), state))
            .filter(|(count, state)| *count > 0 || **state == ExecutorState::Active)
            .map(|(count, state)| format!("{count} {}", state.name()))
            .collect();
        facts.push(("executors", counts.join(", ")));
    }
    if let Some(mind) = &whole.mind {
        let roles: Vec<String> = mind
            .roles
            .iter()
            .map(|role| {
                format!("{} = {}{}", role.role, role.model, if role.reachable { "" } else { " (not reachable)" })
            })
            .collect();
        let text = if roles.is_empty() { "none configured".to_owned() } else { roles.join(", ") };
        facts.push(("models", escape::line(&text)));
    }
    if let Some(door) = &whole.door {
        let sessions = counted(door.sessions.into(), "session", "sessions");
        facts.push((
            "door",
            format!(
                "{sessions}, {} of {} open, HTTP {}",
                door.turns,
                counted(door.turns_total, "turn", "turns"),
                escape::line(&door.http)
            ),
        ));
        if crate::health::channels::http_trouble(door).is_some() {
            facts.push(("", "the door does not listen on HTTP: `metnosctl doctor` names the remedy".to_owned()));
        }
        if !door.telegram.is_empty() {
            facts.push(("telegram", escape::line(&door.telegram)));
            if crate::health::channels::telegram_trouble(door).is_some() {
                facts.push(("", "the bot does not listen: `metnosctl doctor` names the remedy".to_owned()));
            }
        }
    }
    if let Some(policy) = &whole.policy {
        let decisions = counted(policy.decisions_total, "decision", "decisions");
        let denials = counted(policy.denials_total, "denial", "denials");
        facts.push(("policy", format!("{decisions}, {denials}, {} running", policy.running)));
    }
    if let Some(policy) = &whole.policy {
        if policy.unsigned_lines > 0 {
            let lines = counted(policy.unsigned_lines, "line", "lines");
            let text = format!("signed up to line {}; {lines} were not when it was opened last", policy.signed_line);
            facts.push(("signatures", format!("{text} (Metnos had ended without a stop)")));
        }
        if !policy.undecided.is_empty() {
            facts.push(("deciding", escape::line(&policy.undecided)));
        }
        if policy.unborn != 0 {
            let unborn = counted(policy.unborn.into(), "executor is", "executors are");
            facts.push(("growing", format!("{unborn} still being tested, and cannot be called yet")));
        }
        if !policy.disabled.is_empty() {
            facts.push(("off", escape::line(&format!("{}: `metnosctl executor enable`", policy.disabled.join(", ")))));
        }
        let raised = raised(&whole.levels);
        if !raised.is_empty() {
            facts.push(("autonomy", escape::line(&raised)));
        }
        if policy.stopped_ms != 0 {
            let by = escape::line(&policy.stopped_by);
            let since = ago(policy.stopped_ms, now_ms());
            facts.push(("STOPPED", format!("nothing is allowed since {since}, by {by}, until `metnosctl resume`")));
        }
    }
    if let Some(sandbox) = &whole.sandbox {
        let runs = counted(sandbox.runs_total, "run", "runs");
        let text = format!("{}, {runs}, {}", sandbox.mode, sandbox.interpreter);
        facts.push(("sandbox", escape::line(&text)));
    }
    let alarms = survey.alarms.len() as u64;
    facts.push(("alarms", if alarms == 0 { "none".to_owned() } else { counted(alarms, "alarm", "alarms") }));
    facts
}

/// Who goes another way than his standing gives him: the owner `supervised`, everybody else `readonly`.
fn raised(levels: &[PrincipalLevel]) -> String {
    let usual = |one: &&PrincipalLevel| match one.standing {
        Standing::Owner | Standing::Adult => one.level == Level::Supervised,
        Standing::Guest | Standing::Stranger => one.level == Level::ReadOnly,
    };
    let said = |one: &PrincipalLevel| {
        let until = one.raised_until_ms.map_or(String::new(), |until| {
            format!(" for {} s more", until.saturating_sub(crate::screen::human::now_ms()) / 1_000)
        });
        format!("{} is {}{until}", one.principal, one.level.name())
    };
    levels.iter().filter(|one| !usual(one)).map(said).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use serde_json::{Value, json};

    use super::*;
    use crate::daemons::survey::testing::well;
    use crate::screen::testing::screen;
    use metnos_proto::ids::Sha256;
    use metnos_proto::msg::memoryd::Recorded;

    fn value(whole: &FullStatus) -> Value {
        serde_json::to_value(document(whole)).unwrap()
    }

    fn level(principal: &str, standing: Standing, level: Level, raised_until_ms: Option<u64>) -> PrincipalLevel {
        PrincipalLevel { principal: principal.into(), standing, level, raised_until_ms }
    }

    fn whole() -> FullStatus {
        FullStatus {
            survey: well(),
            door: Some(DoorReport {
                sessions: 1,
                turns: 0,
                turns_total: 5,
                models: "none".into(),
                http: "off".into(),
                telegram: String::new(),
            }),
            policy: Some(PolicyReport {
                turns: 0,
                running: 0,
                decisions_total: 9,
                denials_total: 1,
                public_key: "ab".into(),
                undecided: String::new(),
                signed_line: 0,
                unsigned_lines: 0,
                unborn: 0,
                stopped_ms: 0,
                stopped_by: String::new(),
                disabled: Vec::new(),
                notices: Vec::new(),
            }),
            levels: vec![
                level("cli:uid:0", Standing::Owner, Level::Supervised, None),
                level("cli:uid:1000", Standing::Owner, Level::Full, Some(5)),
                level("telegram:7", Standing::Guest, Level::ReadOnly, None),
            ],
            executors: Some(Vec::new()),
            sandbox: Some(SandboxReport {
                running: 0,
                runs_total: 7,
                mode: "fresh".into(),
                interpreter: "/usr/bin/python3".into(),
                layers: Vec::new(),
            }),
            mind: Some(MindReport { roles: Vec::new(), says: "No model is configured.".into() }),
            memory: Some(MemoryReport {
                head: Recorded { seq: 12, hash: Sha256([1; 32]) },
                mnests: 1,
                use_time_milli: 1040,
                torn: 0,
                altered: String::new(),
                frozen: false,
            }),
            disk: None,
            unreachable: Vec::new(),
        }
    }

    #[test]
    fn status_fits_one_screen() {
        let (mut paper, out, _) = screen(false, [false, false], false);
        show(&mut paper, &whole(), 60_000).unwrap();
        let text = out.text();
        for part in [
            "Metnos in /srv/metnos · spawn mode · supervisor 99, uid 0 · up 59 s, ready after 90 ms",
            "models      none configured",
            "chronicle   12 lines, head sha256:0101",
            "mnests      1 after 1.040 use-days",
            "executors   0 active",
            "alarms      none",
            "memory      15.0 MiB in all",
        ] {
            assert!(text.contains(part), "{part} is missing in\n{text}");
        }
        assert!(text.lines().count() <= 24, "it does not fit one screen:\n{text}");
        assert!(!text.contains("uid separation"));
    }

    #[test]
    fn an_edge_that_is_down_and_a_daemon_that_is_away_are_named() {
        let mut whole = whole();
        whole.survey.edges[0].up = false;
        whole.memory = None;
        whole.unreachable.push((RoleName::Memoryd, "the daemon memoryd cannot be reached".into()));
        let (mut paper, out, _) = screen(false, [false, false], false);
        show(&mut paper, &whole, 60_000).unwrap();
        assert!(out.text().contains("down: gatewayd → planner"), "{}", out.text());
        assert!(out.text().contains("the daemon memoryd cannot be reached"));
        let document = value(&whole);
        assert!(document["chronicle"].is_null() && document["mnests"].is_null());
        assert_eq!(document["unreachable"][0]["daemon"], "memoryd");
    }

    #[test]
    fn status_shows_stopped_disabled_and_missing_parts() {
        let mut whole = whole();
        if let Some(policy) = &mut whole.policy {
            (policy.stopped_ms, policy.stopped_by) = (5, "uid:1000\nowner".to_owned());
            policy.unborn = 2;
            policy.undecided = "line 70 was signed\nand is another one".to_owned();
            policy.disabled = vec!["fs_write".to_owned(), "web_fetch".to_owned()];
        }
        let (mut paper, out, _) = screen(false, [false, false], false);
        show(&mut paper, &whole, 60_000).unwrap();
        assert!(out.text().contains("STOPPED     nothing is allowed since "), "{}", out.text());
        assert!(out.text().contains(", by uid:1000\\nowner, until `metnosctl resume`"), "{}", out.text());
        assert!(out.text().contains("off         fs_write, web_fetch"), "{}", out.text());
        assert!(out.text().contains("growing     2 executors are still being tested"), "{}", out.text());
        assert!(out.text().contains("deciding    line 70 was signed\\nand is"), "{}", out.text());
        let policy = &value(&whole)["policy"];
        assert_eq!(policy["undecided"], "line 70 was signed\nand is another one");
        assert_eq!((&policy["stopped_ms"], &policy["unborn"]), (&json!(5), &json!(2)));
    }

    #[test]
    fn document_has_the_same_keys_when_daemons_are_away() {
        let keys = |whole: &FullStatus| {
            let mut keys: Vec<String> = value(whole).as_object().unwrap().keys().cloned().collect();
            keys.sort();
            keys
        };
        let mut alone = whole();
        alone.door = None;
        alone.policy = None;
        alone.executors = None;
        alone.sandbox = None;
        alone.mind = None;
        alone.memory = None;
        assert_eq!(keys(&whole()), keys(&alone));
    }

    #[test]
    fn status_shows_raised_principals_only() {
        assert_eq!(raised(&whole().levels), "cli:uid:1000 is full for 0 s more");
        assert_eq!(raised(&[]), "");
    }
}
