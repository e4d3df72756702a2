//! What is written to a group, tried on a folder that looks like one; on real groups `sandbox` tries it.
#![allow(clippy::unwrap_used)]

use std::path::Path;

use super::*;

const FILES: [&str; 8] = [
    "memory.oom.group",
    "memory.swap.max",
    "cpu.max",
    "memory.max",
    "pids.max",
    "cgroup.kill",
    "memory.events",
    "pids.events",
];

fn subtree(root: &Path) -> Rc<Groups> {
    let subtree = rustix::fs::open(root, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()).unwrap();
    Rc::new(Groups { subtree, next: Cell::new(0), left: RefCell::default() })
}

/// A group whose files are there, as the kernel would have made them.
fn group(root: &Path, groups: &Rc<Groups>) -> Group {
    let name = "call-x".to_owned();
    std::fs::create_dir(root.join(&name)).unwrap();
    for file in FILES {
        std::fs::write(root.join(&name).join(file), "").unwrap();
    }
    let folder = groups.folder(&name).unwrap();
    Group { groups: Rc::clone(groups), name, folder }
}

#[test]
fn a_group_is_bounded_as_the_plan_says_and_swaps_nothing() {
    let root = tempfile::tempdir().unwrap();
    let groups = subtree(root.path());
    let group = group(root.path(), &groups);
    let text = |file: &str| std::fs::read_to_string(root.path().join("call-x").join(file)).unwrap();
    group.prepare().unwrap();
    assert_eq!(
        (text("memory.oom.group"), text("memory.swap.max"), text("cpu.max")),
        ("1".into(), "0".into(), CPU_MAX.into())
    );
    std::fs::write(root.path().join("call-x/memory.max"), "").unwrap();
    std::fs::write(root.path().join("call-x/pids.max"), "").unwrap();
    group.limit(&Limits { address_bytes: 64 << 20, processes: 3, ..WAITING }).unwrap();
    assert_eq!((text("memory.max"), text("pids.max")), ("67108864".into(), "3".into()));
    assert_eq!(text("cgroup.kill"), "");
    group.kill();
    assert_eq!(text("cgroup.kill"), "1");
}

#[test]
fn cgroup_without_swap_limit_is_accepted_but_not_without_memory_limit() {
    let root = tempfile::tempdir().unwrap();
    let groups = subtree(root.path());
    let group = group(root.path(), &groups);
    std::fs::remove_file(root.path().join("call-x/memory.swap.max")).unwrap();
    group.prepare().unwrap();
    std::fs::remove_file(root.path().join("call-x/memory.max")).unwrap();
    assert_eq!(group.prepare(), Err(Errno::NOENT));
}

#[test]
fn only_cgroup_events_count_as_stopped_by_the_group() {
    let root = tempfile::tempdir().unwrap();
    let groups = subtree(root.path());
    let group = group(root.path(), &groups);
    let put = |file: &str, text: &str| std::fs::write(root.path().join("call-x").join(file), text).unwrap();
    put("memory.events", "low 0\nhigh 3\nmax 17\noom 2\noom_kill 0\noom_group_kill 0\n");
    put("pids.events", "max 0\n");
    assert_eq!(group.stopped(), Stopped::default());
    put("memory.events", "low 0\nhigh 3\nmax 17\noom 2\noom_kill 1\noom_group_kill 1\n");
    put("pids.events", "max 4\n");
    assert_eq!(group.stopped(), Stopped { memory: true, processes: true });
}

#[test]
fn unremovable_cgroups_are_retried_and_bounded() {
    let root = tempfile::tempdir().unwrap();
    let groups = subtree(root.path());
    // Files keep a folder from being removed, as a living process keeps a group.
    drop(group(root.path(), &groups));
    assert_eq!(*groups.left.borrow(), ["call-x"]);
    std::fs::remove_dir_all(root.path().join("call-x")).unwrap();
    // The next one is not a group, so it comes to nothing, and leaves nothing.
    assert_eq!(groups.make().unwrap_err(), Errno::NOENT);
    assert!(groups.left.borrow().is_empty() && std::fs::read_dir(root.path()).unwrap().next().is_none());
    std::fs::create_dir_all(root.path().join("full/of")).unwrap();
    *groups.left.borrow_mut() = vec!["full".to_owned(); MAX_LEFT];
    assert_eq!(groups.make().unwrap_err(), Errno::AGAIN);
}

#[test]
fn leftover_cgroups_are_removed_except_the_own() {
    let root = tempfile::tempdir().unwrap();
    std::fs::create_dir(root.path().join(SANDBOXD)).unwrap();
    std::fs::create_dir(root.path().join("call-7")).unwrap();
    subtree(root.path()).sweep().unwrap();
    assert!(root.path().join(SANDBOXD).exists() && !root.path().join("call-7").exists());
}
