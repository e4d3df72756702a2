//! As whom the daemons run: one uid each when started as root, the starter's own otherwise. Must never choose
//! root, a user who exists for something else, or an id in use.

use std::collections::{BTreeMap, BTreeSet};
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use metnos_proto::role::RoleName;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};

/// How many ids one instance takes of the range: one a daemon, one for the shared group, one for the egress helpers.
pub const BLOCK: u32 = 9;
/// The user that the package makes for the helpers which dial for executors.
pub const EGRESS_USER: &str = "metnos-egress";
/// The group of the three daemons that may read the workspace.
pub const SHARED_GROUP: &str = "metnos";
/// The largest `passwd` or `group` that is read, in bytes.
const MAX_DATABASE_BYTES: u64 = 16 * 1024 * 1024;

/// A user and his primary group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Id {
    /// The user.
    pub uid: u32,
    /// The group.
    pub gid: u32,
}

/// As whom each daemon runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ids {
    /// All as the ordinary user who started the supervisor.
    Shared(Id),
    /// Each as its own user.
    Separate {
        /// Of each daemon.
        daemons: BTreeMap<RoleName, Id>,
        /// Of what dials for executors.
        egress: Id,
    },
}

/// A choice of ids; while it is held, no other instance on this machine chooses the same.
#[derive(Debug)]
pub struct Chosen {
    /// The ids.
    pub ids: Ids,
    _hold: Option<OwnedFd>,
}

/// Why there are no ids.
#[derive(Debug, thiserror::Error)]
pub enum IdError {
    /// The whole range is taken.
    #[error("no {BLOCK} unused ids from {base} to {last}: set supervisor.uid_base in metnos.toml to an unused range")]
    Exhausted {
        /// The range's first.
        base: u32,
        /// The range's last.
        last: u32,
    },
    /// A database of the system cannot be read.
    #[error("{path}: {why}")]
    Database {
        /// Which.
        path: &'static str,
        /// Why.
        why: String,
    },
}

impl Ids {
    /// As whom this daemon runs.
    #[must_use]
    pub fn of(&self, role: RoleName) -> Option<Id> {
        match self {
            Self::Shared(id) => Some(*id),
            Self::Separate { daemons, egress: _ } => daemons.get(&role).copied(),
        }
    }

    /// Whether each daemon has a user of its own.
    #[must_use]
    pub fn separate(&self) -> bool {
        matches!(self, Self::Separate { .. })
    }

    /// As whom the helpers that dial for executors run, where users are separate.
    #[must_use]
    pub const fn of_egress(&self) -> Option<Id> {
        match self {
            Self::Shared(_) => None,
            Self::Separate { daemons: _, egress } => Some(*egress),
        }
    }
}

/// The user that the package makes for a daemon.
#[must_use]
pub const fn packaged_user(role: RoleName) -> Option<&'static str> {
    match role {
        RoleName::Ctl => None,
        RoleName::Gatewayd => Some("metnos-gateway"),
        RoleName::Planner => Some("metnos-planner"),
        RoleName::Syntd => Some("metnos-synt"),
        RoleName::Policyd => Some("metnos-policy"),
        RoleName::Sandboxd => Some("metnos-sandbox"),
        RoleName::Mind => Some("metnos-mind"),
        RoleName::Memoryd => Some("metnos-memory"),
    }
}

/// Whether this daemon's primary group is the shared one, through which the workspace is read.
#[must_use]
pub const fn reads_workspace(role: RoleName) -> bool {
    matches!(role, RoleName::Policyd | RoleName::Sandboxd | RoleName::Memoryd)
}

/// Chooses for this machine. `earlier` is the uid that owned the instance's state last time: the same ids are
/// taken again if they are free. `range` is the first id and how many.
///
/// # Errors
/// Where the system's databases cannot be read, or the range is taken.
pub fn choose(range: (u32, u32), earlier: Option<u32>) -> Result<Chosen, IdError> {
    let (uid, gid) = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
    if uid != 0 {
        return Ok(Chosen { ids: Ids::Shared(Id { uid, gid }), _hold: None });
    }
    let users = database("/etc/passwd")?;
    let groups = database("/etc/group")?;
    if let Some(ids) = packaged(&users, &groups) {
        return Ok(Chosen { ids, _hold: None });
    }
    let taken = taken(&users, &groups);
    for first in blocks(range, earlier) {
        if (first..first.saturating_add(BLOCK)).any(|id| taken.contains(&id) || dynamic(id)) {
            continue;
        }
        if let Some(hold) = hold(first) {
            return Ok(Chosen { ids: block(first), _hold: Some(hold) });
        }
    }
    Err(IdError::Exhausted { base: range.0, last: range.0.saturating_add(range.1 - 1) })
}

/// The packaged users, if all of them and the shared group exist. None of them may be root, and no two the same.
#[must_use]
pub fn packaged(users: &str, groups: &str) -> Option<Ids> {
    let shared = records(groups).find(|record| record.name == SHARED_GROUP)?.id;
    let mut ids = BTreeMap::new();
    for role in RoleName::daemons() {
        let user = packaged_user(role)?;
        let record = records(users).find(|record| record.name == user)?;
        let gid = if reads_workspace(role) { shared } else { record.group? };
        ids.insert(role, Id { uid: record.id, gid });
    }
    let record = records(users).find(|record| record.name == EGRESS_USER)?;
    let egress = Id { uid: record.id, gid: record.group? };
    let all = || ids.values().chain([&egress]);
    let distinct: BTreeSet<u32> = all().map(|id| id.uid).collect();
    let sound = distinct.len() == all().count() && all().all(|id| id.uid != 0 && id.gid != 0);
    // What dials reads nothing of the owner's.
    (sound && egress.gid != shared).then_some(Ids::Separate { daemons: ids, egress })
}

/// The ids of one block: a user and a group of the same number for each daemon, then the shared group, then the egress
/// helpers' user and group.
fn block(first: u32) -> Ids {
    let (shared, egress) = (first + BLOCK - 2, first + BLOCK - 1);
    let daemons = (first..)
        .zip(RoleName::daemons())
        .map(|(uid, role)| (role, Id { uid, gid: if reads_workspace(role) { shared } else { uid } }))
        .collect();
    Ids::Separate { daemons, egress: Id { uid: egress, gid: egress } }
}

/// The first id of every block of the range, the one of last time first.
fn blocks((base, count): (u32, u32), earlier: Option<u32>) -> Vec<u32> {
    let mut firsts: Vec<u32> = (0..count / BLOCK).map(|block| base + block * BLOCK).collect();
    if let Some(earlier) = earlier {
        firsts.sort_by_key(|first| !(*first..first + BLOCK).contains(&earlier));
    }
    firsts
}

/// Where a user is at home, if the system knows him and says so plainly.
#[must_use]
pub fn home_of(uid: u32) -> Option<String> {
    home_in(&database("/etc/passwd").ok()?, uid)
}

fn home_in(users: &str, uid: u32) -> Option<String> {
    let line = users.lines().find(|line| line.split(':').nth(2) == Some(uid.to_string().as_str()))?;
    let home = line.split(':').nth(5)?.trim_end_matches('/');
    let plain = home.strip_prefix('/')?.split('/').all(|part| !matches!(part, "" | "." | ".."));
    plain.then(|| home.to_owned())
}

/// Every id that a user, a group or a running process has.
fn taken(users: &str, groups: &str) -> BTreeSet<u32> {
    let mut taken: BTreeSet<u32> = records(users).chain(records(groups)).map(|record| record.id).collect();
    taken.extend(records(users).filter_map(|record| record.group));
    if let Ok(processes) = std::fs::read_dir("/proc") {
        let numbered =
            |entry: &std::fs::DirEntry| entry.file_name().as_encoded_bytes().first().is_some_and(u8::is_ascii_digit);
        let processes = processes.flatten().filter(numbered).filter_map(|entry| entry.metadata().ok());
        taken.extend(processes.flat_map(|process| [process.uid(), process.gid()]));
    }
    taken
}

/// Whether systemd has given this id to a service with a dynamic user.
fn dynamic(id: u32) -> bool {
    Path::new(&format!("/run/systemd/dynamic-uid/{id}")).exists()
}

/// Reserves a block on this machine. The kernel gives such a name to one process only, and takes it back when that
/// process ends, however it ends.
fn hold(first: u32) -> Option<OwnedFd> {
    let address = SocketAddrUnix::new_abstract_name(format!("metnos-uids-{first}").as_bytes()).ok()?;
    let socket = rustix::net::socket_with(AddressFamily::UNIX, SocketType::DGRAM, SocketFlags::CLOEXEC, None).ok()?;
    rustix::net::bind(&socket, &address).ok().map(|()| socket)
}

/// One line of `passwd` or `group`.
struct Record<'a> {
    name: &'a str,
    id: u32,
    /// The primary group; only in `passwd`.
    group: Option<u32>,
}

fn records(text: &str) -> impl Iterator<Item = Record<'_>> {
    text.lines().filter_map(|line| {
        let mut fields = line.split(':');
        let (name, _password, id) = (fields.next()?, fields.next()?, fields.next()?);
        Some(Record { name, id: id.parse().ok()?, group: fields.next().and_then(|group| group.parse().ok()) })
    })
}

fn database(path: &'static str) -> Result<String, IdError> {
    let error = |why: String| IdError::Database { path, why };
    let size = std::fs::metadata(path).map_err(|why| error(why.to_string()))?.len();
    if size > MAX_DATABASE_BYTES {
        return Err(error(format!("it is larger than {MAX_DATABASE_BYTES} bytes")));
    }
    let bytes = std::fs::read(path).map_err(|why| error(why.to_string()))?;
    // A name in another encoding must not keep Metnos from starting.
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn users(skip: Option<&str>) -> String {
        let mut text = String::from("root:x:0:0:root:/root:/bin/bash\nodd line\nbad:x:no:1::/:\n");
        let names = RoleName::daemons().map(|role| packaged_user(role).unwrap()).chain([EGRESS_USER]);
        for (uid, name) in (970..).zip(names) {
            if Some(name) != skip {
                text.push_str(&format!("{name}:x:{uid}:{uid}:Metnos:/:/usr/sbin/nologin\n"));
            }
        }
        text
    }

    const GROUPS: &str = "root:x:0:\nmetnos:x:990:\n";

    #[test]
    fn the_packaged_users_are_taken_when_all_exist() {
        let ids = packaged(&users(None), GROUPS).unwrap();
        assert_eq!(ids.of(RoleName::Gatewayd), Some(Id { uid: 970, gid: 970 }));
        for role in [RoleName::Policyd, RoleName::Sandboxd, RoleName::Memoryd] {
            assert_eq!(ids.of(role).unwrap().gid, 990);
        }
        assert!(ids.of_egress().is_some_and(|egress| egress.gid != 990));
        assert_eq!(packaged(&users(Some(EGRESS_USER)), GROUPS), None, "the helpers' is missing");
        assert_eq!(packaged(&users(Some("metnos-synt")), GROUPS), None, "one is missing");
        assert_eq!(packaged(&users(None), "root:x:0:\n"), None, "the group is missing");
    }

    #[test]
    fn a_packaged_user_that_is_root_or_shared_is_not_used() {
        assert_eq!(packaged(&users(None).replace(":970:970:", ":0:0:"), GROUPS), None);
        assert_eq!(packaged(&users(None).replace(":970:970:", ":971:971:"), GROUPS), None);
    }

    #[test]
    fn id_block_has_one_uid_per_daemon_and_a_shared_workspace_group() {
        let Ids::Separate { daemons, egress } = block(64_200) else { panic!("they are separate") };
        let uids: BTreeSet<u32> = daemons.values().map(|id| id.uid).collect();
        assert_eq!(uids, (64_200..64_207).collect());
        for (role, id) in daemons {
            assert_eq!(id.gid, if reads_workspace(role) { 64_207 } else { id.uid });
        }
        assert_eq!(egress, Id { uid: 64_208, gid: 64_208 });
    }

    #[test]
    fn a_home_is_taken_only_where_it_is_written_plainly() {
        let users = "ada:x:1000:1000:Ada:/home/ada/:/bin/sh\nodd:x:1001:1001::/home/../etc:/bin/sh\nnone:x:1002:1002::/:/x\nrel:x:1003:1:::\n";
        assert_eq!(home_in(users, 1000).as_deref(), Some("/home/ada"));
        for uid in [1001, 1002, 1003, 1004] {
            assert_eq!(home_in(users, uid), None, "{uid}");
        }
    }

    #[test]
    fn the_block_of_last_time_is_tried_first() {
        assert_eq!(blocks((64_200, 36), None), [64_200, 64_209, 64_218, 64_227]);
        assert_eq!(blocks((64_200, 36), Some(64_221)), [64_218, 64_200, 64_209, 64_227]);
        assert_eq!(blocks((64_200, 36), Some(0)), [64_200, 64_209, 64_218, 64_227]);
        assert_eq!(blocks((64_200, 17), None), [64_200], "only whole blocks count");
    }

    #[test]
    fn ids_of_users_groups_and_processes_are_taken() {
        let taken = taken("a:x:64200:64300::/:\n", "g:x:64210:\n");
        for id in [64_200, 64_300, 64_210, rustix::process::geteuid().as_raw()] {
            assert!(taken.contains(&id), "{id}");
        }
    }

    #[test]
    fn a_block_is_held_by_one_at_a_time() {
        let first = 3_000_000_000 + std::process::id();
        let held = hold(first).unwrap();
        assert!(hold(first).is_none());
        drop(held);
        assert!(hold(first).is_some());
    }

    #[test]
    fn an_exhausted_range_says_what_to_do() {
        let error = IdError::Exhausted { base: 64_200, last: 64_207 };
        assert!(error.to_string().contains("supervisor.uid_base"));
    }
}
