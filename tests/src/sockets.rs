//! Who holds which end of which channel, as `ss -xp` shows it: the kernel's own list of sockets and
//! of the processes that have them open. It must never ask the daemons.

use std::collections::BTreeSet;
use std::process::Command;

/// One Unix socket of the machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnixSocket {
    /// `u_seq`, `u_str` or `u_dgr`.
    pub kind: String,
    /// `ESTAB`, `LISTEN`, …
    pub state: String,
    /// Its path or abstract name; `*` for none.
    pub name: String,
    /// Its inode.
    pub inode: u64,
    /// The inode of the other end; 0 for none.
    pub peer: u64,
    /// Every (process, descriptor) that has it open.
    pub holders: BTreeSet<(u32, u32)>,
}

/// All Unix sockets now.
///
/// # Panics
/// When `ss` (Debian: iproute2) is missing or speaks another dialect.
#[must_use]
pub fn unix() -> Vec<UnixSocket> {
    let output = Command::new("ss").args(["--no-header", "-xap"]).output().expect("`ss`, of Debian's iproute2");
    assert!(output.status.success(), "ss: {}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).expect("ss prints text");
    text.lines().map(|line| parse(line).unwrap_or_else(|| panic!("ss printed: {line}"))).collect()
}

/// One line: `u_seq ESTAB 0 0 * 1234 * 1235 users:(("name",pid=1,fd=3),("name",pid=2,fd=4))`.
#[must_use]
pub fn parse(line: &str) -> Option<UnixSocket> {
    let (columns, users) = line.split_once("users:").unwrap_or((line, ""));
    let columns: Vec<&str> = columns.split_whitespace().collect();
    // A name may itself contain blanks, so the last three columns are counted from the end.
    let [kind, state, _received, _sent, name @ .., inode, _peer_name, peer] = columns.as_slice() else {
        return None;
    };
    Some(UnixSocket {
        kind: (*kind).to_owned(),
        state: (*state).to_owned(),
        name: name.join(" "),
        inode: inode.parse().ok()?,
        peer: peer.parse().ok()?,
        holders: holders(users),
    })
}

fn holders(text: &str) -> BTreeSet<(u32, u32)> {
    let number = |part: &str, key: &str| -> Option<u32> {
        let digits = part.split_once(key)?.1;
        digits.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
    };
    text.split("),(").filter_map(|part| Some((number(part, "pid=")?, number(part, "fd=")?))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_ss_is_understood() {
        let line = "u_seq ESTAB 0      0                    * 207931               * 207932 users:((\"a\",pid=12,fd=3),(\"b (x)\",pid=7,fd=44))";
        let socket = parse(line).unwrap();
        assert_eq!((socket.inode, socket.peer, socket.kind.as_str()), (207_931, 207_932, "u_seq"));
        assert_eq!(socket.holders, BTreeSet::from([(12, 3), (7, 44)]));
        let line = "u_seq LISTEN 0      16     /tmp/x/run/control.sock 5 * 0 users:((\"s\",pid=1,fd=9))";
        assert_eq!(parse(line).unwrap().name, "/tmp/x/run/control.sock");
        assert!(parse("nothing of the kind").is_none());
    }

    #[test]
    fn a_pair_made_here_is_listed_with_one_holder_an_end() {
        use std::os::fd::AsRawFd;
        let (left, right) = metnos_proto::socket::pair().unwrap();
        let all = unix();
        let me = std::process::id();
        let holding = |fd: i32| {
            let fd = fd.unsigned_abs();
            all.iter().find(|socket| socket.holders == BTreeSet::from([(me, fd)])).unwrap()
        };
        let (left, right) = (holding(left.as_raw_fd()), holding(right.as_raw_fd()));
        assert_eq!((left.peer, right.peer), (right.inode, left.inode));
        assert_eq!(left.kind, "u_seq");
    }
}
