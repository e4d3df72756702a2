//! Where this machine's clock stands, read from the system's database of time zones before any daemon is started: behind
//! their locks they see none of it.

use std::io::Read;
use std::path::Path;

use metnos_calendar::zone::{MAX_TEXT, Zone};

/// The largest table that is read, in bytes.
const MAX_TABLE: u64 = 4 * 1024 * 1024;

/// The zone that `localtime` is, with its rule: its name as the link has it, where it is one into the tables. `UTC` where it
/// cannot be read.
#[must_use]
pub fn of_machine(localtime: &Path, tables: &Path) -> String {
    let linked = std::fs::canonicalize(localtime).ok();
    let name = linked.as_deref().and_then(|path| path.strip_prefix(tables).ok()).and_then(Path::to_str);
    let text = rule(localtime).map(|rule| format!("{} ({rule})", name.unwrap_or("local")));
    text.filter(|text| text.len() <= MAX_TEXT && Zone::read(text).is_some()).unwrap_or_else(|| "UTC".to_owned())
}

/// The rule that a table ends with.
fn rule(table: &Path) -> Option<String> {
    let mut bytes = Vec::new();
    std::fs::File::open(table).ok()?.take(MAX_TABLE).read_to_end(&mut bytes).ok()?;
    let text = bytes.strip_prefix(b"TZif").and_then(|rest| rest.strip_suffix(b"\n"))?;
    let rule = &text[text.iter().rposition(|byte| *byte == b'\n')? + 1..];
    std::str::from_utf8(rule).ok().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn the_clock_of_the_machine_is_known_by_its_name_and_rule() {
        let dir = tempfile::tempdir().unwrap();
        let dir = dir.path().canonicalize().unwrap();
        let tables = dir.join("zoneinfo");
        std::fs::create_dir_all(tables.join("Europe")).unwrap();
        std::fs::write(tables.join("Europe/Rome"), b"TZif2\0data\nCET-1CEST,M3.5.0,M10.5.0/3\n").unwrap();
        let localtime = dir.join("localtime");
        assert_eq!(of_machine(&localtime, &tables), "UTC", "there is none");
        std::os::unix::fs::symlink(tables.join("Europe/Rome"), &localtime).unwrap();
        assert_eq!(of_machine(&localtime, &tables), "Europe/Rome (CET-1CEST,M3.5.0,M10.5.0/3)");
        std::fs::remove_file(&localtime).unwrap();
        std::fs::copy(tables.join("Europe/Rome"), &localtime).unwrap();
        assert_eq!(of_machine(&localtime, &tables), "local (CET-1CEST,M3.5.0,M10.5.0/3)");
        for rubbish in [&b"TZif2\nno rule\n"[..], b"CET-1\n", b"TZif", b""] {
            std::fs::write(&localtime, rubbish).unwrap();
            assert_eq!(of_machine(&localtime, &tables), "UTC");
        }
    }
}
