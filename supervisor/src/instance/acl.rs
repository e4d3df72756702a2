//! POSIX access lists of the workspace, where daemons have users of their own: they let the owner work in his own folder
//! beside sandboxd, whose it is. Each folder's default list carries the same rights to whatever is made in it later, by the
//! owner, by an executor, or by root who copies something in. What an owner has given someone else by a list stays.

use std::collections::BTreeMap;
use std::os::fd::BorrowedFd;

use rustix::fs::XattrFlags;
use rustix::io::Errno;

/// The version of the format that the kernel reads and writes.
const VERSION: u32 = 2;
/// The largest list that is read, in bytes.
const MAX_LIST: usize = 4 + 8 * 512;
const ACCESS: &str = "system.posix_acl_access";
const DEFAULT: &str = "system.posix_acl_default";
const USER_OBJ: u16 = 0x01;
const USER: u16 = 0x02;
const GROUP_OBJ: u16 = 0x04;
const GROUP: u16 = 0x08;
const MASK: u16 = 0x10;
const OTHER: u16 = 0x20;
/// The id of an entry that names nobody.
const NOBODY: u32 = u32::MAX;

/// Who works in the workspace: the user whose it is there, and the owner of the instance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sharing {
    /// sandboxd's.
    pub keeper: u32,
    /// The owner's.
    pub owner: u32,
    /// Whose it was until now: nobody any more, when that is another.
    pub before: u32,
}

/// Entries by tag and id, in the order that the kernel wants; the rights of each.
type List = BTreeMap<(u16, u32), u16>;

fn encoded(list: &List) -> Vec<u8> {
    let mut bytes = VERSION.to_le_bytes().to_vec();
    for ((tag, id), rights) in list {
        bytes.extend_from_slice(&tag.to_le_bytes());
        bytes.extend_from_slice(&rights.to_le_bytes());
        bytes.extend_from_slice(&id.to_le_bytes());
    }
    bytes
}

/// What an attribute holds; nothing where it is no list that we know.
fn decoded(bytes: &[u8]) -> Option<List> {
    let (version, entries) = bytes.split_first_chunk::<4>()?;
    if u32::from_le_bytes(*version) != VERSION || entries.len() % 8 != 0 {
        return None;
    }
    let entry = |one: &[u8]| -> Option<((u16, u32), u16)> {
        let [a, b, c, d, e, f, g, h] = *one.first_chunk::<8>()?;
        Some(((u16::from_le_bytes([a, b]), u32::from_le_bytes([e, f, g, h])), u16::from_le_bytes([c, d])))
    };
    entries.chunks_exact(8).map(entry).collect()
}

impl Sharing {
    /// The list with what is to hold in it, no matter who else was named before: `user` is what the one whose it is and the
    /// named two may, `group` what the daemons that read may. Nobody else may anything.
    fn with(self, mut list: List, user: u16, group: u16, names_keeper: bool) -> List {
        list.remove(&(USER, self.before));
        list.insert((USER_OBJ, NOBODY), user);
        list.insert((USER, self.owner), user);
        if names_keeper {
            list.insert((USER, self.keeper), user);
        }
        list.insert((GROUP_OBJ, NOBODY), group);
        list.insert((OTHER, NOBODY), 0);
        list.remove(&(MASK, NOBODY));
        let masked = |(tag, _): &(u16, u32)| matches!(*tag, USER | GROUP_OBJ | GROUP);
        let mask = list.iter().filter(|(entry, _)| masked(entry)).fold(0, |mask, (_, rights)| mask | rights);
        list.insert((MASK, NOBODY), mask);
        list
    }

    /// Lets the owner work in a folder of the workspace, and in whatever is made in it later. Run again, it changes nothing.
    ///
    /// # Errors
    /// [`Errno::OPNOTSUPP`] where the file system keeps no lists.
    pub fn folder(self, fd: BorrowedFd<'_>) -> Result<(), Errno> {
        self.set(fd, ACCESS, |list| self.with(list, 7, 5, false))?;
        self.set(fd, DEFAULT, |list| self.with(list, 7, 5, true))
    }

    /// The same for a file.
    ///
    /// # Errors
    /// As [`Self::folder`].
    pub fn file(self, fd: BorrowedFd<'_>, is_program: bool) -> Result<(), Errno> {
        let run = u16::from(is_program);
        self.set(fd, ACCESS, |list| self.with(list, 6 | run, 4 | run, false))
    }

    fn set(self, fd: BorrowedFd<'_>, name: &str, change: impl FnOnce(List) -> List) -> Result<(), Errno> {
        let mut bytes = vec![0_u8; MAX_LIST];
        let before = match rustix::fs::fgetxattr(fd, name, &mut bytes[..]) {
            Ok(length) => decoded(&bytes[..length.min(MAX_LIST)]),
            Err(Errno::NODATA) => Some(List::new()),
            Err(errno) => return Err(errno),
        };
        // One that cannot be read is replaced.
        let after = change(before.clone().unwrap_or_default());
        if before.as_ref() == Some(&after) {
            return Ok(());
        }
        rustix::fs::fsetxattr(fd, name, &encoded(&after), XattrFlags::empty())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    const SHARING: Sharing = Sharing { keeper: 60_604, owner: 1_000, before: 60_613 };

    #[test]
    fn a_list_comes_back_as_it_was_written_and_rubbish_is_none() {
        let list = SHARING.with(List::new(), 7, 5, true);
        assert_eq!(decoded(&encoded(&list)), Some(list.clone()));
        assert_eq!(list[&(MASK, NOBODY)], 7);
        for rubbish in [&b""[..], &[1, 0, 0, 0], &[2, 0, 0, 0, 1], b"no list at all"] {
            assert_eq!(decoded(rubbish), None);
        }
        assert_eq!(decoded(&[2, 0, 0, 0]), Some(List::new()));
    }

    #[test]
    fn the_user_whose_it_was_before_is_named_no_more() {
        let before = Sharing { keeper: 60_613, ..SHARING }.with(List::new(), 7, 5, true);
        assert!(before.contains_key(&(USER, 60_613)));
        let after = SHARING.with(before, 7, 5, true);
        assert!(!after.contains_key(&(USER, 60_613)) && after.contains_key(&(USER, 60_604)));
    }

    #[test]
    fn access_list_keeps_named_users_and_denies_others() {
        let mut list = List::from([((USER, 1_001), 4), ((OTHER, NOBODY), 4), ((MASK, NOBODY), 0)]);
        list = SHARING.with(list, 6, 4, false);
        assert_eq!((list[&(USER, 1_001)], list[&(USER, 1_000)], list[&(OTHER, NOBODY)]), (4, 6, 0));
        assert_eq!(list[&(MASK, NOBODY)], 6, "what was masked is in force again");
        assert_eq!(SHARING.with(list.clone(), 6, 4, false), list, "a second time changes nothing");
    }
}
