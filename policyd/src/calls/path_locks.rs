//! Locks by path: calls that change files run one after the other where one path is, or lies below, the other's; all
//! others run beside each other. A call takes all its locks at once, in the order of the decisions, so none waits for one
//! that waits for it, and none is overtaken. A lock lives as long as the future of its call: whatever ends that releases it.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;
use std::time::Duration;

use metnos_policy::call::paths::{Places, resolve};
use metnos_policy::call::spec::Spec;
use metnos_proto::executor::{Capability, Manifest, Role};
use metnos_proto::json::child;
use metnos_proto::msg::common::{Refusal, RefusalCode};
use serde_json::Value;
use tokio::sync::Notify;

use crate::decision::MAX_RUNNING;

/// How long a call waits for its turn: longer than any call of an executor that ships may run for, and so short that the
/// planner still waits for the answer.
const PATIENCE: Duration = Duration::from_secs(12);

/// The names that lead to a place; none for everything.
type Path = Vec<String>;

#[derive(Debug)]
struct Entry {
    number: u64,
    paths: Vec<Path>,
}

#[derive(Debug, Default)]
struct Queue {
    last: u64,
    entries: VecDeque<Entry>,
}

/// All locks, held and waited for.
#[derive(Debug, Default)]
pub(crate) struct PathLocks {
    queue: RefCell<Queue>,
    released: Notify,
}

/// The locks of one call, held or waited for; released when dropped.
#[derive(Debug)]
pub(crate) struct PathLock {
    locks: Rc<PathLocks>,
    number: u64,
}

impl PathLocks {
    /// Takes a place in the queue for what a call changes; nothing for one that changes no file.
    ///
    /// # Errors
    /// When there is no place left.
    pub(crate) fn queue(
        self: &Rc<Self>,
        manifest: &Manifest,
        spec: &Spec,
        arguments: &Value,
        places: &Places,
    ) -> Result<Option<PathLock>, Refusal> {
        let paths = changed(manifest, spec, arguments, places);
        if paths.is_empty() {
            return Ok(None);
        }
        let mut queue = self.queue.borrow_mut();
        if queue.entries.len() >= MAX_RUNNING {
            return Err(busy("too many calls that change files are waiting"));
        }
        queue.last += 1;
        let number = queue.last;
        queue.entries.push_back(Entry { number, paths });
        Ok(Some(PathLock { locks: Rc::clone(self), number }))
    }
}

impl PathLock {
    /// Whether nothing before it is about the same path.
    pub(crate) fn is_held(&self) -> bool {
        let queue = self.locks.queue.borrow();
        let Some(at) = queue.entries.iter().position(|entry| entry.number == self.number) else { return false };
        let own = &queue.entries[at].paths;
        queue.entries.iter().take(at).all(|earlier| !overlap(&earlier.paths, own))
    }

    /// Waits until it is held.
    ///
    /// # Errors
    /// When that takes too long.
    pub(crate) async fn held(&self) -> Result<(), Refusal> {
        let wait = async {
            loop {
                // Asked for before it is looked, so that no release is missed.
                let released = self.locks.released.notified();
                if self.is_held() {
                    return;
                }
                released.await;
            }
        };
        tokio::time::timeout(PATIENCE, wait)
            .await
            .map_err(|_| busy("another call has been changing the same file or folder for too long"))
    }
}

impl Drop for PathLock {
    fn drop(&mut self) {
        self.locks.queue.borrow_mut().entries.retain(|entry| entry.number != self.number);
        self.locks.released.notify_waiters();
    }
}

fn busy(why: &str) -> Refusal {
    Refusal::new(RefusalCode::Busy, "path.busy", format!("{why}, so nothing was run")).remedy("try again in a moment")
}

/// Whether one of these is or lies below one of those.
fn overlap(one: &[Path], other: &[Path]) -> bool {
    let meets = |a: &Path, b: &Path| a.iter().zip(b).all(|(a, b)| a == b);
    one.iter().any(|a| other.iter().any(|b| meets(a, b)))
}

/// The paths that a call may change: those its arguments name, and everything where an executor that writes names none.
fn changed(manifest: &Manifest, spec: &Spec, arguments: &Value, places: &Places) -> Vec<Path> {
    let writes = |capability: &Capability| matches!(capability, Capability::FsWrite(_));
    if !manifest.contract.side_effects || !manifest.sandbox.capabilities.iter().any(writes) {
        return Vec::new();
    }
    let mut paths = Vec::new();
    collect(arguments, String::new(), &mut |pointer, text| {
        if matches!(spec.role(pointer), Role::Path | Role::Selector | Role::Dest) {
            paths.push(resolved(text, places));
        }
    });
    if paths.is_empty() {
        paths.push(Vec::new());
    }
    paths
}

/// A path as names, from the root.
pub(crate) fn resolved(text: &str, places: &Places) -> Path {
    resolve(text, places).path.split('/').filter(|name| !name.is_empty()).map(str::to_owned).collect()
}

fn collect(value: &Value, pointer: String, found: &mut impl FnMut(&str, &str)) {
    match value {
        Value::String(text) => found(&pointer, text),
        Value::Array(items) => {
            for (number, item) in items.iter().enumerate() {
                collect(item, format!("{pointer}/{number}"), found);
            }
        }
        Value::Object(map) => {
            for (name, item) in map {
                collect(item, child(&pointer, name), found);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::testing::manifest_text;

    struct Writer {
        locks: Rc<PathLocks>,
        manifest: Manifest,
        spec: Spec,
    }

    impl Writer {
        fn new() -> Self {
            let text = manifest_text("mover", &[("/path", "path"), ("/to", "path"), ("/content", "payload")])
                .replace("side_effects = false", "side_effects = true")
                .replace("fs_read = ", "fs_write = ")
                .replace("fs-read-workspace", "fs-write-workspace")
                .replace("class = \"read\"", "class = \"self_modify\"");
            let manifest = Manifest::parse(text.as_bytes()).unwrap();
            Self { locks: Rc::default(), spec: Spec::of(&manifest), manifest }
        }

        fn queue(&self, arguments: &Value) -> PathLock {
            let places = Places { home: "/home/o".into(), ..Places::of_instance("/i") };
            self.locks.queue(&self.manifest, &self.spec, arguments, &places).unwrap().unwrap()
        }
    }

    #[test]
    fn calls_on_one_path_or_below_it_run_one_after_the_other() {
        let writer = Writer::new();
        let first = writer.queue(&json!({"path": "notes/a.md"}));
        assert!(first.is_held());
        for same in ["notes/a.md", "./notes//b/../a.md", "notes", "/i/workspace/notes/a.md", "notes/a.md/below", "."] {
            let second = writer.queue(&json!({"path": same}));
            assert!(!second.is_held(), "{same}");
        }
        for other in ["notes/b.md", "note", "notes/a.md2", "/srv/notes/a.md", "~/notes/a.md"] {
            assert!(writer.queue(&json!({"path": other})).is_held(), "{other}");
        }
        assert!(!writer.queue(&json!({"path": "x", "to": "notes/a.md"})).is_held());
        assert!(writer.queue(&json!({"path": "x", "content": "notes/a.md"})).is_held(), "a payload is no path");
        assert!(!writer.queue(&json!({})).is_held(), "what names no place may change every one");
    }

    #[test]
    fn a_waiting_call_is_not_overtaken_and_each_end_releases_its_lock() {
        let writer = Writer::new();
        let first = writer.queue(&json!({"path": "a"}));
        let both = writer.queue(&json!({"path": "a", "to": "b"}));
        let last = writer.queue(&json!({"path": "b"}));
        assert!(first.is_held() && !both.is_held() && !last.is_held(), "the last does not run before what waits");
        drop(first);
        assert!(both.is_held() && !last.is_held());
        drop(both);
        assert!(last.is_held());
        drop(last);
        assert!(writer.locks.queue.borrow().entries.is_empty());
    }

    #[test]
    fn the_queue_of_path_locks_is_bounded_and_readers_take_none() {
        let writer = Writer::new();
        let held: Vec<PathLock> = (0..MAX_RUNNING).map(|n| writer.queue(&json!({"path": n.to_string()}))).collect();
        let places = Places::of_instance("/i");
        let refused = writer.locks.queue(&writer.manifest, &writer.spec, &json!({"path": "x"}), &places).unwrap_err();
        assert_eq!((refused.rule.as_str(), refused.code), ("path.busy", RefusalCode::Busy));
        let reader = Manifest::parse(manifest_text("fs_read", &[("/path", "path")]).as_bytes()).unwrap();
        let none = writer.locks.queue(&reader, &Spec::of(&reader), &json!({"path": "0"}), &places).unwrap();
        assert!(none.is_none());
        drop(held);
    }

    #[tokio::test(flavor = "current_thread")]
    async fn a_waiting_call_runs_when_the_lock_before_it_is_dropped() {
        let writer = Writer::new();
        let first = writer.queue(&json!({"path": "a"}));
        let second = writer.queue(&json!({"path": "a"}));
        let released = async {
            tokio::task::yield_now().await;
            drop(first);
        };
        let (held, ()) = tokio::join!(second.held(), released);
        held.unwrap();
    }
}
