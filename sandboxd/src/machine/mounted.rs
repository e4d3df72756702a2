//! What is mounted below the workspace when sandboxd starts. It belongs to another disk and is no part of the workspace, and
//! the kernel does not let it be left out of a copy that is made in a user namespace: so nothing of the workspace is granted
//! until it is gone, and the caller is told which mount it is (design: sandbox §1).

use std::path::Path;

use metnos_proto::msg::common::{Refusal, RefusalCode};

use crate::plan::{MountPurpose, Plan};

/// The most mounts that are named.
const MAX_NAMED: usize = 8;

/// The mounts below `folder`, which has no link in it, as this process sees them.
///
/// # Errors
/// In a sentence, when the kernel does not say.
pub fn below(folder: &Path) -> Result<Vec<String>, String> {
    let table =
        std::fs::read("/proc/self/mountinfo").map_err(|error| format!("reading the table of mounts: {error}"))?;
    let folder = folder.as_os_str().as_encoded_bytes();
    Ok(below_in(&table, folder).take(MAX_NAMED).collect())
}

/// See [`below`]; the mount point is the fifth word of a line (proc_pid_mountinfo(5)).
fn below_in<'a>(table: &'a [u8], folder: &'a [u8]) -> impl Iterator<Item = String> + 'a {
    let points = table.split(|byte| *byte == b'\n').filter_map(|line| line.split(|byte| *byte == b' ').nth(4));
    let below =
        points.map(plain).filter(|point| point.strip_prefix(folder).is_some_and(|rest| rest.first() == Some(&b'/')));
    below.map(|point| String::from_utf8_lossy(&point).into_owned())
}

/// Blanks, tabs, line ends and backslashes are written as a backslash and three octal digits.
fn plain(word: &[u8]) -> Vec<u8> {
    let mut plain = Vec::with_capacity(word.len());
    let mut rest = word;
    while let Some((first, more)) = rest.split_first() {
        let code = if *first == b'\\' { more.get(..3).and_then(octal) } else { None };
        plain.push(code.unwrap_or(*first));
        rest = if code.is_some() { more.get(3..).unwrap_or_default() } else { more };
    }
    plain
}

fn octal(digits: &[u8]) -> Option<u8> {
    u8::from_str_radix(std::str::from_utf8(digits).ok()?, 8).ok()
}

/// Whether `plan` can be built in spite of these mounts.
///
/// # Errors
/// What is in the way, and what to do.
pub fn not_in_the_way(mounted: &[String], plan: &Plan) -> Result<(), Refusal> {
    let Some(first) = mounted.first() else { return Ok(()) };
    if !plan.spec().mounts.iter().any(|mount| matches!(mount.purpose, MountPurpose::Grant | MountPurpose::WriteGrant)) {
        return Ok(());
    }
    let why = format!(
        "{} is mounted below the workspace. What is mounted there is no part of it, and the kernel does not let it be left out, so \
         nothing of the workspace can be granted to an executor",
        mounted.join(", ")
    );
    let remedy = format!(
        "`umount {first}`, then `metnosctl daemon restart sandboxd`; mount it elsewhere and copy what is wanted"
    );
    Err(Refusal::new(RefusalCode::Unavailable, "sandbox.mount_below", why).remedy(remedy))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use proptest::prelude::*;

    use super::*;

    const TABLE: &[u8] = b"22 1 0:20 / / rw - ext4 /dev/a rw\n\
        23 22 0:21 / /x/workspace rw - ext4 /dev/b rw\n\
        24 22 0:22 / /x/workspace/a\\040b rw,nosuid shared:1 - ext4 /dev/c rw\n\
        25 22 0:22 / /x/workspace2/c rw - ext4 /dev/c rw\n\
        26 22 0:22 / /x rw - ext4 /dev/c rw\nnonsense\n";

    #[test]
    fn only_what_lies_below_is_named_in_its_own_letters() {
        let found: Vec<String> = below_in(TABLE, b"/x/workspace").collect();
        assert_eq!(found, ["/x/workspace/a b"]);
        assert_eq!(below_in(TABLE, b"/y").count(), 0);
        // A mount of this very machine, which every test has.
        assert!(below(Path::new("/")).is_ok());
    }

    #[test]
    fn a_plan_without_grants_is_built_all_the_same() {
        let installation = crate::plan::testing::installation();
        let pure = installation.pure_plan("pure", &metnos_proto::executor::Quotas::default()).unwrap();
        let reader = installation.plan(&crate::selftest::escape::manifest(None).unwrap()).unwrap();
        let mounted = ["/x/workspace/a".to_owned()];
        assert!(not_in_the_way(&mounted, &pure).is_ok() && not_in_the_way(&[], &reader).is_ok());
        let refusal = not_in_the_way(&mounted, &reader).unwrap_err();
        assert!(refusal.why.contains("/x/workspace/a"), "{refusal:?}");
    }

    proptest! {
        #[test]
        fn mount_table_parser_reads_any_table_to_the_end(table in prop::collection::vec(any::<u8>(), 0..400)) {
            let _ = below_in(&table, b"/x").count();
        }
    }
}
