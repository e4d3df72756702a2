//! What answers are held against on this machine: its tables of time zones, and its accounts. Only looks.

use std::io::Read;
use std::path::{Path, PathBuf};

use metnos_calendar::Zone;

/// The longest name of a person, of Metnos or of a time zone, in characters.
pub const MAX_NAME: usize = 64;
/// The largest table that is looked through, in bytes.
const MAX_TABLE: u64 = 4 * 1024 * 1024;

/// What is looked up on this machine.
#[derive(Debug, Clone)]
pub struct Machine {
    /// The tables of time zones.
    pub zones: PathBuf,
    /// The accounts.
    pub accounts: PathBuf,
}

impl Default for Machine {
    fn default() -> Self {
        Self { zones: "/usr/share/zoneinfo".into(), accounts: "/etc/passwd".into() }
    }
}

impl Machine {
    /// Whether there is a time zone of that name; where the machine has no tables, whether it looks like one.
    pub(super) fn has_zone(&self, name: &str) -> bool {
        let plain = |part: &str| {
            !part.is_empty() && part.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'+'))
        };
        if name.len() > MAX_NAME || !name.split('/').all(plain) {
            return false;
        }
        if !self.zones.is_dir() {
            return name.contains('/');
        }
        let mut head = [0; 4];
        let read = std::fs::File::open(self.zones.join(name)).and_then(|mut file| file.read_exact(&mut head));
        read.is_ok() && &head == b"TZif"
    }

    /// The rule that a place's clock goes by now, as its table has it at the end: quiet hours are reckoned by it, and
    /// policyd carries no tables.
    pub(super) fn rule(&self, place: &str) -> Option<String> {
        let mut table = Vec::new();
        std::fs::File::open(self.zones.join(place)).ok()?.take(MAX_TABLE).read_to_end(&mut table).ok()?;
        let end = table.strip_suffix(b"\n")?;
        let rule = &end[end.iter().rposition(|byte| *byte == b'\n')? + 1..];
        let rule = std::str::from_utf8(rule).ok().filter(|rule| Zone::rule(rule).is_some())?;
        Some(rule.to_owned())
    }

    /// The zone whose name is near to this one, or ends with it.
    pub(super) fn near_zone(&self, name: &str) -> Option<String> {
        let mut all: Vec<String> = Vec::new();
        for area in ["Africa", "America", "Antarctica", "Asia", "Atlantic", "Australia", "Europe", "Indian", "Pacific"]
        {
            let places = std::fs::read_dir(self.zones.join(area)).ok().into_iter().flatten().flatten();
            all.extend(places.map(|place| format!("{area}/{}", place.file_name().to_string_lossy())));
        }
        all.sort();
        let place = name.rsplit('/').next().unwrap_or(name).replace(' ', "_");
        let last = |zone: &&String| zone.rsplit('/').next().is_some_and(|own| own.eq_ignore_ascii_case(&place));
        all.iter().find(last).cloned().or_else(|| nearest(name, all.iter().map(String::as_str)))
    }

    /// The number of an account, by its name.
    pub(super) fn uid(&self, name: &str) -> Option<u32> {
        let mut text = String::new();
        std::fs::File::open(&self.accounts).ok()?.take(MAX_TABLE).read_to_string(&mut text).ok()?;
        let line = text.lines().find(|line| line.split(':').next() == Some(name))?;
        line.split(':').nth(2)?.parse().ok()
    }

    /// The time zone of this machine's own clock, where it has one.
    #[must_use]
    pub fn zone(&self, var: impl Fn(&str) -> Option<String>, localtime: &Path) -> String {
        let linked = std::fs::read_link(localtime).ok().and_then(|path| {
            let path = path.to_string_lossy().into_owned();
            path.split_once("zoneinfo/").map(|(_, name)| name.to_owned())
        });
        let said = var("TZ").map(|name| name.trim_start_matches(':').to_owned());
        said.into_iter().chain(linked).find(|name| self.has_zone(name)).unwrap_or_else(|| "UTC".to_owned())
    }
}

/// The candidate that is few letters away from a word.
#[must_use]
pub fn nearest<'a>(word: &str, known: impl Iterator<Item = &'a str>) -> Option<String> {
    let near = known.map(|candidate| (distance(word, candidate), candidate));
    let near =
        near.filter(|(distance, candidate)| *distance <= candidate.len().div_ceil(3) || candidate.contains(word));
    near.min().map(|(_, candidate)| candidate.to_owned())
}

/// How many letters have to be added, removed or changed.
fn distance(one: &str, two: &str) -> usize {
    let two: Vec<char> = two.chars().collect();
    let mut row: Vec<usize> = (0..=two.len()).collect();
    for (i, a) in one.chars().take(100).enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, b) in two.iter().enumerate() {
            let changed = diagonal + usize::from(a != *b);
            diagonal = row[j + 1];
            row[j + 1] = changed.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[two.len()]
}

#[cfg(test)]
pub(crate) mod testing {
    #![allow(clippy::unwrap_used)]
    use super::*;

    pub(crate) fn machine() -> (tempfile::TempDir, Machine) {
        let dir = tempfile::tempdir().unwrap();
        let machine = Machine { zones: dir.path().join("zones"), accounts: dir.path().join("passwd") };
        for zone in ["Europe/Rome", "Europe/London", "America/New_York"] {
            let file = machine.zones.join(zone);
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(file, "TZif2 and its table\nCET-1CEST,M3.5.0,M10.5.0/3\n").unwrap();
        }
        std::fs::write(machine.zones.join("tzdata.zi"), "# no zone").unwrap();
        std::fs::write(&machine.accounts, "root:x:0:0::/root:/bin/sh\nroberta:x:1004:1004::/home/r:/bin/sh\n").unwrap();
        (dir, machine)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::testing::machine;

    #[test]
    fn the_clock_of_the_machine_is_the_default() {
        let (dir, machine) = machine();
        let link = dir.path().join("localtime");
        assert_eq!(machine.zone(|_| None, &link), "UTC");
        std::os::unix::fs::symlink("/usr/share/zoneinfo/Europe/Rome", &link).unwrap();
        assert_eq!(machine.zone(|_| None, &link), "Europe/Rome");
        assert_eq!(machine.zone(|_| Some(":Europe/London".to_owned()), &link), "Europe/London");
        assert_eq!(machine.zone(|_| Some("No/Such".to_owned()), &link), "Europe/Rome");
    }
}
