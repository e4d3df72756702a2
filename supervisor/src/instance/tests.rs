//! The instance's directory: as root when the tests run as root, as an ordinary user otherwise.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

use super::*;
use crate::process::ids::Id;

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Says so where a test needs root and has it not.
fn skipped_without_root() -> bool {
    if !is_root() {
        eprintln!("SKIPPED: this test gives files to other users, which needs root");
    }
    !is_root()
}

fn shared() -> Ids {
    Ids::Shared(Id { uid: rustix::process::geteuid().as_raw(), gid: rustix::process::getegid().as_raw() })
}

fn separate() -> Ids {
    let ids: BTreeMap<RoleName, Id> =
        (64_100..).zip(RoleName::daemons()).map(|(uid, role)| (role, Id { uid, gid: 64_190 })).collect();
    Ids::Separate { daemons: ids, egress: Id { uid: 64_191, gid: 64_191 } }
}

fn uid_of(ids: &Ids, role: RoleName) -> u32 {
    ids.of(role).unwrap().uid
}

fn meta(instance: &Instance, path: &str) -> (u32, u32, u32) {
    let meta = std::fs::symlink_metadata(instance.path().join(path)).unwrap();
    (meta.uid(), meta.gid(), meta.mode() & 0o7777)
}

fn put(instance: &Instance, path: &str, mode: u32) -> std::path::PathBuf {
    let path = instance.path().join(path);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(&path, "x").unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
    path
}

#[test]
fn an_ordinary_user_keeps_everything_to_himself() {
    let dir = tempfile::tempdir().unwrap();
    let instance = Instance::open(&dir.path().join("a/b")).unwrap();
    let note = put(&instance, "workspace/note.md", 0o604);
    assert_eq!(instance.prepare(&shared(), instance.owner_uid()).unwrap(), Vec::<String>::new());
    assert_eq!(meta(&instance, ".").2, 0o700);
    for part in PARTS {
        assert!(instance.path().join(part.path).is_dir(), "{}", part.path);
    }
    assert_eq!(meta(&instance, ".policy").2, 0o700);
    assert_eq!(std::fs::metadata(note).unwrap().mode() & 0o777, 0o604, "his files are his business");
}

#[test]
fn folders_belong_to_their_daemons_and_setup_is_idempotent_as_root() {
    if skipped_without_root() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let instance = Instance::open(dir.path()).unwrap();
    put(&instance, "workspace/notes/welcome.md", 0o644);
    put(&instance, "workspace/tool.sh", 0o755);
    put(&instance, ".policy/instance.key", 0o644);
    put(&instance, "metnos.toml", 0o600);
    let ids = separate();
    let (sandboxd, policyd) = (uid_of(&ids, RoleName::Sandboxd), uid_of(&ids, RoleName::Policyd));
    for _ in 0..2 {
        assert_eq!(instance.prepare(&ids, 1234).unwrap(), Vec::<String>::new());
        assert_eq!(meta(&instance, ".").2, 0o711);
        assert_eq!(meta(&instance, "run"), (1234, 0, 0o711));
        // Of the workspace the bits of the group are the mask of an access list, in which the owner stands.
        assert_eq!(meta(&instance, "workspace"), (sandboxd, 64_190, 0o2770));
        assert_eq!(meta(&instance, "workspace/notes"), (sandboxd, 64_190, 0o2770));
        assert_eq!(meta(&instance, "workspace/notes/welcome.md"), (sandboxd, 64_190, 0o660));
        assert_eq!(meta(&instance, "workspace/tool.sh"), (sandboxd, 64_190, 0o770));
        assert_eq!(meta(&instance, ".policy"), (policyd, 64_190, 0o700));
        assert_eq!(meta(&instance, ".policy/instance.key"), (policyd, 64_190, 0o600));
        assert_eq!(meta(&instance, ".audit"), (uid_of(&ids, RoleName::Memoryd), 64_190, 0o700));
        assert_eq!(meta(&instance, "metnos.toml"), (0, 0, 0o600), "no daemon's business");
    }
    assert_eq!(instance.earlier_uid(), Some(policyd));
}

#[test]
fn as_root_an_instance_of_roots_own_needs_no_access_list() {
    if skipped_without_root() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let instance = Instance::open(dir.path()).unwrap();
    put(&instance, "workspace/notes/welcome.md", 0o644);
    let ids = separate();
    let sandboxd = uid_of(&ids, RoleName::Sandboxd);
    assert_eq!(instance.prepare(&ids, 0).unwrap(), Vec::<String>::new());
    assert_eq!(meta(&instance, "workspace/notes"), (sandboxd, 64_190, 0o2750));
    assert_eq!(meta(&instance, "workspace/notes/welcome.md"), (sandboxd, 64_190, 0o640));
}

#[test]
fn the_owner_sandboxd_and_root_work_on_each_others_files_at_once() {
    use std::os::unix::process::CommandExt;
    if skipped_without_root() {
        return;
    }
    const OWNER: u32 = 64_300;
    const STRANGER: u32 = 64_301;
    let dir = tempfile::tempdir().unwrap();
    std::fs::set_permissions(dir.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
    let instance = Instance::open(&dir.path().join("i")).unwrap();
    put(&instance, "workspace/notes/welcome.md", 0o644);
    let ids = separate();
    assert_eq!(instance.prepare(&ids, OWNER).unwrap(), Vec::<String>::new());
    let does = |(uid, gid): (u32, u32), what: &str| {
        let mut command = std::process::Command::new("sh");
        let there = instance.path().join("workspace/notes");
        command.args(["-c", &format!("umask 022; cd {} && {what}", there.display())]).uid(uid).gid(gid);
        command.output().unwrap().status.success()
    };
    let (owner, stranger) = ((OWNER, OWNER), (STRANGER, STRANGER));
    let (sandboxd, policyd) = ((uid_of(&ids, RoleName::Sandboxd), 64_190), (uid_of(&ids, RoleName::Policyd), 64_190));
    assert!(does(owner, "echo b >> welcome.md && echo a > mine.md && mkdir new && echo c > new/deep.md"));
    assert!(does(sandboxd, "cat welcome.md mine.md && echo d >> mine.md && echo e >> new/deep.md && rm new/deep.md"));
    assert!(does(sandboxd, "echo f > theirs.md && mkdir made && echo g > made/deep.md"));
    assert!(does(owner, "echo h >> theirs.md && mv theirs.md moved.md && rm made/deep.md && ls made"));
    // What root copies in is read at once, by all who read here.
    std::fs::copy("/etc/passwd", instance.path().join("workspace/notes/copied.txt")).unwrap();
    for who in [owner, sandboxd, policyd] {
        assert!(does(who, "cat copied.txt mine.md moved.md"), "{who:?}");
    }
    assert!(!does(policyd, "echo x >> mine.md") && !does(policyd, "touch new.md"), "who reads changes nothing");
    for what in ["ls .", "cat copied.txt", "cat welcome.md", "touch x"] {
        assert!(!does(stranger, what), "{what}");
    }
    // Also what was given to sandboxd again at the next start.
    assert_eq!(instance.prepare(&ids, OWNER).unwrap(), Vec::<String>::new());
    assert!(does(owner, "echo i >> copied.txt && echo j >> mine.md") && !does(stranger, "cat mine.md"));
}

#[test]
fn a_file_system_without_access_lists_is_said_to_be_one() {
    let proc = std::fs::File::open("/proc").unwrap();
    let sharing = Sharing { keeper: 1, owner: 2, before: 3 };
    assert_eq!(sharing.folder(proc.as_fd()), Err(Errno::OPNOTSUPP));
}

#[test]
fn as_root_links_and_odd_files_in_the_workspace_give_nothing_away() {
    if skipped_without_root() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let outside = tempfile::tempdir().unwrap();
    let instance = Instance::open(dir.path()).unwrap();
    let secret = outside.path().join("secret");
    std::fs::write(&secret, "x").unwrap();
    std::fs::set_permissions(&secret, std::fs::Permissions::from_mode(0o600)).unwrap();
    std::fs::create_dir(outside.path().join("inner")).unwrap();
    std::fs::write(outside.path().join("inner/file"), "x").unwrap();
    std::fs::create_dir(instance.path().join("workspace")).unwrap();
    symlink(&secret, instance.path().join("workspace/link")).unwrap();
    symlink(outside.path().join("inner"), instance.path().join("workspace/linked-dir")).unwrap();
    std::fs::hard_link(&secret, instance.path().join("workspace/second-name")).unwrap();
    rustix::fs::mknodat(rustix::fs::CWD, instance.path().join("workspace/pipe"), FileType::Fifo, Mode::from(0o600), 0)
        .unwrap();
    let left = instance.prepare(&separate(), 0).unwrap();
    assert_eq!(left.len(), 2, "{left:?}");
    assert!(left[0].contains("workspace/second-name keeps its owner"), "{left:?}");
    for path in ["secret", "inner", "inner/file"] {
        let meta = std::fs::metadata(outside.path().join(path)).unwrap();
        assert_eq!((meta.uid(), meta.gid()), (0, 0), "{path}");
    }
    assert_eq!(std::fs::metadata(&secret).unwrap().mode() & 0o777, 0o600);
    assert_eq!(meta(&instance, "workspace/pipe").0, 0);
}

#[test]
fn a_link_in_the_place_of_a_part_is_refused() {
    for part in ["run", "workspace", ".policy"] {
        let (dir, elsewhere) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        symlink(elsewhere.path(), dir.path().join(part)).unwrap();
        let instance = Instance::open(dir.path()).unwrap();
        let error = instance.prepare(&shared(), instance.owner_uid()).unwrap_err().to_string();
        assert!(error.contains(part) && error.contains("a symbolic link"), "{error}");
    }
}

#[test]
fn directories_may_be_nested_to_the_limit_and_no_deeper() {
    if skipped_without_root() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let instance = Instance::open(dir.path()).unwrap();
    let mut deep = instance.path().join("workspace");
    (0..MAX_DEPTH).for_each(|_| deep.push("d"));
    std::fs::create_dir_all(&deep).unwrap();
    assert!(instance.prepare(&separate(), 0).is_ok());
    std::fs::create_dir(deep.join("d")).unwrap();
    assert!(instance.prepare(&separate(), 0).unwrap_err().to_string().contains("nested deeper than 64"));
}

#[test]
fn only_one_supervisor_has_an_instance_and_the_other_learns_which() {
    let dir = tempfile::tempdir().unwrap();
    let instance = Instance::open(dir.path()).unwrap();
    let lock = instance.lock().unwrap();
    let error = Instance::open(dir.path()).unwrap().lock().unwrap_err().to_string();
    assert!(error.contains(&format!("already run by process {}", std::process::id())), "{error}");
    drop(lock);
    assert!(instance.lock().is_ok());
}

#[test]
fn the_configuration_is_read_to_its_limit_and_never_through_a_link() {
    let dir = tempfile::tempdir().unwrap();
    let instance = Instance::open(dir.path()).unwrap();
    assert_eq!(instance.configuration().unwrap(), "");
    let path = dir.path().join("metnos.toml");
    let limit = usize::try_from(crate::config::MAX_CONFIG_BYTES).unwrap();
    std::fs::write(&path, "#".repeat(limit)).unwrap();
    assert_eq!(instance.configuration().unwrap().len(), limit);
    std::fs::write(&path, "#".repeat(limit + 1)).unwrap();
    assert!(instance.configuration().unwrap_err().to_string().contains("not a file of at most 65536 bytes"));
    std::fs::remove_file(&path).unwrap();
    symlink("/etc/passwd", &path).unwrap();
    assert!(instance.configuration().is_err());
}

#[test]
fn large_log_is_rotated_and_link_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let log = dir.path().join("supervisor.log");
    std::fs::write(&log, "old\n").unwrap();
    drop(open_log(&log).unwrap());
    assert_eq!(std::fs::read_to_string(&log).unwrap(), "old\n");
    std::fs::File::options().write(true).open(&log).unwrap().set_len(MAX_LOG_BYTES).unwrap();
    drop(open_log(&log).unwrap());
    assert!(!dir.path().join("supervisor.log.1").exists());
    std::fs::File::options().write(true).open(&log).unwrap().set_len(MAX_LOG_BYTES + 1).unwrap();
    drop(open_log(&log).unwrap());
    assert_eq!(std::fs::metadata(&log).unwrap().len(), 0);
    assert!(dir.path().join("supervisor.log.1").exists());
    let link = dir.path().join("link");
    symlink(&log, &link).unwrap();
    assert!(open_log(&link).is_err());
    std::fs::hard_link(&log, dir.path().join("second")).unwrap();
    assert!(open_log(&log).is_err());
}

#[test]
fn a_directory_that_others_cannot_enter_on_the_way_is_found() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::set_permissions(dir.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
    let instance = Instance::open(&dir.path().join("closed/inner")).unwrap();
    std::fs::set_permissions(dir.path().join("closed"), std::fs::Permissions::from_mode(0o700)).unwrap();
    assert_eq!(instance.closed_ancestor(), Some(dir.path().canonicalize().unwrap().join("closed")));
    std::fs::set_permissions(dir.path().join("closed"), std::fs::Permissions::from_mode(0o711)).unwrap();
    assert_eq!(instance.closed_ancestor(), None);
}
