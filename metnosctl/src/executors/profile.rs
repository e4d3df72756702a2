//! `executor profile` and `executor diff`: the sandbox of an executor in words, and what has changed in it since it was
//! locked. It explains what sandboxd says, and decides nothing.

use metnos_proto::doc::sandbox::ExecutorProfile;
use metnos_proto::edges::CtlSandboxd;
use metnos_proto::ids::TraceId;
use metnos_proto::msg::sandboxd::ProfilesOf;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::daemons::connection::Connection;
use crate::error::{CtlError, Exit};
use crate::screen::human;
use crate::screen::{Ink, Screen};

fn profiles(reach: &mut Connection, name: &str) -> Result<Vec<ExecutorProfile>, CtlError> {
    let ask = ProfilesOf { name: name.to_owned() };
    let (_, [document]) = reach.open::<CtlSandboxd>()?.profiles(TraceId::NONE, ask, [])?;
    let unreadable =
        |why: String| CtlError::failed(format!("the profile of {name}"), why, "look at `metnosctl doctor`");
    let bytes = document.read().map_err(|error| unreadable(error.to_string()))?;
    serde_json::from_slice(&bytes).map_err(|error| unreadable(error.to_string()))
}

/// What is said of a sandbox.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct PlanShown {
    profile: String,
    argv: Vec<String>,
    commands: Vec<String>,
    egress: Option<EgressShown>,
    limits: LimitsShown,
    masks: Vec<String>,
    modes: Vec<String>,
    mounts: Vec<MountShown>,
    seccomp: String,
    tmp: MemoryShown,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct EgressShown {
    bytes: u64,
    connections: u64,
    rules: Vec<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct LimitsShown {
    address_bytes: u64,
    cpu_s: u64,
    open_files: u64,
    output_bytes: u64,
    processes: u64,
    wall_s: u64,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct MountShown {
    purpose: String,
    target: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct MemoryShown {
    bytes: u64,
}

impl PlanShown {
    fn of(plan: &Value) -> Self {
        Self::deserialize(plan).unwrap_or_default()
    }
}

/// `executor profile NAME`.
///
/// # Errors
/// When sandboxd refuses or cannot be reached.
pub fn profile(screen: &mut Screen, reach: &mut Connection, name: &str) -> Result<Exit, CtlError> {
    let profiles = profiles(reach, name)?;
    if screen.json() {
        screen.document(&profiles)?;
        return Ok(Exit::Done);
    }
    for one in &profiles {
        let plan = PlanShown::of(&one.plan);
        screen.line(&format!("{name} {}: {}", one.version, plan.profile))?;
        for line in words(&plan) {
            screen.line(&format!("  {line}"))?;
        }
        screen.line(&format!("  lock:        {}", one.lock))?;
        if one.locked.as_ref() != Some(&one.lock) {
            let locked = one.locked.as_deref().unwrap_or("nothing");
            screen.aside(
                Ink::Warn,
                &format!("  locked is {locked}; `metnosctl executor diff {name}` shows what differs"),
            )?;
        }
    }
    Ok(Exit::Done)
}

/// A plan, as sentences.
fn words(plan: &PlanShown) -> Vec<String> {
    let of = |purpose: &str| {
        let targets = plan.mounts.iter().filter(|mount| mount.purpose == purpose).map(|mount| mount.target.as_str());
        targets.collect::<Vec<_>>()
    };
    let list = |paths: &[&str]| if paths.is_empty() { "nothing of the owner's".to_owned() } else { paths.join(", ") };
    let (reads, writes) = ([of("grant"), of("outside")].concat(), [of("write_grant"), of("outside_write")].concat());
    let guards = of("guard");
    let mut lines = vec![
        format!("may read:    {}", list(&[writes.clone(), reads].concat())),
        format!("may write:   {}, and /tmp of its own ({})", list(&writes), mib(plan.tmp.bytes)),
    ];
    if !guards.is_empty() {
        lines.push(format!("but only read: {}", guards.join(", ")));
    }
    if !plan.masks.is_empty() {
        lines.push(format!(
            "but nothing of: {} closed places directly below that (.ssh, .netrc, …), where they are",
            plan.masks.len()
        ));
    }
    let limits = &plan.limits;
    lines.extend([
        match &plan.egress {
            Some(egress) if egress.connections > 0 => format!(
                "network:     none of its own; a helper makes up to {} connections for it, of {} together, to {}",
                egress.connections,
                mib(egress.bytes),
                egress.rules.join(", ").replace("argument /", "what was decided on in /"),
            ),
            Some(_) | None => "network:     none: an empty one, and no call to make a socket".to_owned(),
        },
        match plan.commands.as_slice() {
            [] => "processes:   itself alone; it executes nothing and starts none".to_owned(),
            programs => {
                let programs = programs.join(", ");
                format!("processes:   its own, which end with the call; it executes nothing but {programs}")
            }
        },
        format!(
            "sees:        {}, {} files of the interpreter, {}",
            plan.argv.first().map_or("", String::as_str),
            of("library").len(),
            of("stdlib").join(", ")
        ),
        format!(
            "limits:      {} s, {} s of processor, {} of memory, {} of result, {} processes and threads, {} descriptors",
            limits.wall_s,
            limits.cpu_s,
            mib(limits.address_bytes),
            mib(limits.output_bytes),
            limits.processes,
            limits.open_files,
        ),
        format!("runs:        {}", plan.modes.join(", then ")),
        format!("filter:      {}", plan.seccomp),
    ]);
    lines
}

fn mib(bytes: u64) -> String {
    human::mib(bytes >> 10)
}

/// `executor diff NAME`: exit 1 when something differs.
///
/// # Errors
/// When sandboxd refuses or cannot be reached.
pub fn diff(screen: &mut Screen, reach: &mut Connection, name: &str) -> Result<Exit, CtlError> {
    let mut same = true;
    let mut documents = Vec::new();
    for one in profiles(reach, name)? {
        let changes = changes_of(&one);
        let locked = one.locked.as_ref() == Some(&one.lock);
        same &= locked;
        if screen.json() {
            let ExecutorProfile { version, lock, locked: before, .. } = one;
            documents.push(ProfileDiff { version, same: locked, lock, locked: before, changes });
            continue;
        }
        let version = &one.version;
        match (&one.locked, locked) {
            (None, _) => screen.line(&format!("{name} {version} is not locked yet."))?,
            (Some(_), true) => screen.line(&format!("{name} {version}: the sandbox is the one that was locked."))?,
            (Some(_), false) if one.locked_plan.is_null() => screen.line(&format!(
                "{name} {version}: the sandbox is another than the locked one, of which only the digest was kept."
            ))?,
            (Some(_), false) => screen.line(&format!("{name} {version}: the sandbox would change:"))?,
        }
        for change in &changes {
            screen.line(&format!("  {}", change.line()))?;
        }
    }
    if screen.json() {
        screen.document(&documents)?;
    }
    Ok(if same { Exit::Done } else { Exit::Failed })
}

/// What has changed in the sandbox of one version since it was locked.
///
/// # Errors
/// When sandboxd refuses or cannot be reached.
pub(crate) fn changes(reach: &mut Connection, name: &str, version: &str) -> Result<Vec<Change>, CtlError> {
    let profiles = profiles(reach, name)?;
    Ok(profiles.iter().find(|one| one.version == version).map(changes_of).unwrap_or_default())
}

/// What has changed in the sandbox of one version since it was locked.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ProfileDiff {
    /// The version.
    version: String,
    /// Whether nothing has.
    same: bool,
    /// The digest of the sandbox now.
    lock: String,
    /// That of the locked one; null when none is.
    locked: Option<String>,
    /// The differences.
    changes: Vec<Change>,
}

/// One difference.
#[derive(Debug, PartialEq, Serialize, JsonSchema)]
pub struct Change {
    /// Where in the plan.
    place: String,
    /// Whether it came or went.
    change: ChangeKind,
    /// What.
    value: Value,
}

/// Whether a part of a plan came or went.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum ChangeKind {
    /// It came.
    Added,
    /// It went.
    Removed,
}

impl Change {
    const fn sign(&self) -> char {
        match self.change {
            ChangeKind::Added => '+',
            ChangeKind::Removed => '-',
        }
    }

    /// For a person.
    pub(crate) fn line(&self) -> String {
        format!("{} {}: {}", self.sign(), self.place, human::scalar(&self.value))
    }
}

fn changes_of(one: &ExecutorProfile) -> Vec<Change> {
    let mut changes = Vec::new();
    if !one.locked_plan.is_null() {
        compare("", &one.locked_plan, &one.plan, &mut changes);
    }
    changes
}

/// What is in one and not in the other. Lists are compared by what they hold, because an entry that moved is the same.
fn compare(place: &str, before: &Value, now: &Value, changes: &mut Vec<Change>) {
    let change = |change, value: &Value| Change { place: place.to_owned(), change, value: value.clone() };
    match (before, now) {
        _ if before == now => {}
        (Value::Object(before), Value::Object(now)) => compare_objects(place, before, now, changes),
        (Value::Array(before), Value::Array(now)) => {
            let start = changes.len();
            changes.extend(
                before.iter().filter(|entry| !now.contains(entry)).map(|entry| change(ChangeKind::Removed, entry)),
            );
            changes.extend(
                now.iter().filter(|entry| !before.contains(entry)).map(|entry| change(ChangeKind::Added, entry)),
            );
            if changes.len() == start {
                // The same entries in another order, or another number of times.
                changes.push(change(ChangeKind::Added, &Value::String("the order of the entries".to_owned())));
            }
        }
        _ => {
            changes.push(change(ChangeKind::Removed, before));
            changes.push(change(ChangeKind::Added, now));
        }
    }
}

fn compare_objects(place: &str, before: &Map<String, Value>, now: &Map<String, Value>, changes: &mut Vec<Change>) {
    let keys = before.keys().chain(now.keys().filter(|key| !before.contains_key(*key)));
    for key in keys {
        let below = if place.is_empty() { key.clone() } else { format!("{place}.{key}") };
        match (before.get(key), now.get(key)) {
            (Some(before), Some(now)) => compare(&below, before, now, changes),
            (Some(value), None) => {
                changes.push(Change { place: below, change: ChangeKind::Removed, value: value.clone() })
            }
            (None, Some(value)) => {
                changes.push(Change { place: below, change: ChangeKind::Added, value: value.clone() })
            }
            (None, None) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn compared(before: &Value, now: &Value) -> Vec<(String, char, Value)> {
        let mut changes = Vec::new();
        compare("", before, now, &mut changes);
        changes.into_iter().map(|change| (change.place.clone(), change.sign(), change.value)).collect()
    }

    #[test]
    fn each_difference_is_reported_at_its_place_only() {
        let before = json!({"limits": {"wall_s": 2, "cpu_s": 2}, "mounts": ["a", "b"], "old": 1});
        let now = json!({"limits": {"wall_s": 3, "cpu_s": 2}, "mounts": ["b", "c"], "new": 2});
        let expected = vec![
            ("limits.wall_s".to_owned(), '-', json!(2)),
            ("limits.wall_s".to_owned(), '+', json!(3)),
            ("mounts".to_owned(), '-', json!("a")),
            ("mounts".to_owned(), '+', json!("c")),
            ("old".to_owned(), '-', json!(1)),
            ("new".to_owned(), '+', json!(2)),
        ];
        assert_eq!(compared(&before, &now), expected);
        assert!(compared(&now, &now).is_empty());
    }

    #[test]
    fn another_order_is_a_difference_too() {
        assert_eq!(compared(&json!(["a", "b"]), &json!(["b", "a"])).len(), 1);
    }

    #[test]
    fn plan_is_described_in_plain_words() {
        let plan = json!({
            "argv": ["/usr/bin/python3.11"], "tmp": {"bytes": 16 << 20}, "modes": ["warm", "execed"],
            "limits": {"wall_s": 2, "cpu_s": 1, "address_bytes": 64 << 20, "output_bytes": 4 << 20, "processes": 16, "open_files": 64},
            "mounts": [
                {"purpose": "write_grant", "target": "/workspace"}, {"purpose": "guard", "target": "/workspace/executors"},
                {"purpose": "stdlib", "target": "/usr/lib/python3.11"},
            ],
            "masks": ["/workspace/.ssh", "/workspace/.netrc"],
        });
        let words = words(&PlanShown::of(&plan)).join("\n");
        for part in [
            "may write:   /workspace, and /tmp",
            "but only read: /workspace/executors",
            "but nothing of: 2 closed places",
            "2 s, 1 s of processor",
            "warm, then execed",
        ] {
            assert!(words.contains(part), "{part}: {words}");
        }
        assert!(words.contains("it executes nothing and starts none"), "{words}");
        assert!(super::words(&PlanShown::default()).join("\n").contains("nothing of the owner's"));
        let runs = super::words(&PlanShown::of(&json!({"commands": ["/usr/bin/sort", "/usr/bin/wc"]}))).join("\n");
        assert!(runs.contains("executes nothing but /usr/bin/sort, /usr/bin/wc"), "{runs}");
    }
}
