//! The paths that no profile may grant, in code and not in configuration (design: executor §2).
//!
//! This is the first, lexical line: it reads a path as a person wrote it and says early, and
//! with a reason, what can never be. It must never be the only line: the kernel decides on
//! resolved descriptors, and a path that passes here is not thereby allowed.

/// Where a path leads that is never granted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Forbidden {
    /// The place, as it stands in the list.
    pub place: &'static str,
    /// Why it is closed.
    pub why: &'static str,
}

/// What the lexical check may know of this installation. All of it may be empty.
#[derive(Debug, Clone, Default)]
pub struct Places {
    /// The workspace, absolute. Relative paths are read as below it.
    pub workspace: String,
    /// The owner's home, absolute; what `~` stands for.
    pub home: String,
}

const SYSTEM: &str = "it belongs to the system, not to the owner's work";
const SECRETS: &str = "it holds the owner's keys and credentials";
const STATE: &str = "it is Metnos's own state";

/// Closed with everything below them, from the root of the file system.
pub const CLOSED_TREES: &[(&str, &str)] = &[
    ("/etc", SYSTEM),
    ("/root", SYSTEM),
    ("/proc", SYSTEM),
    ("/sys", SYSTEM),
    ("/boot", SYSTEM),
    ("/dev", SYSTEM),
    ("/run", SYSTEM),
    ("/var/run", SYSTEM),
    ("/var/backups", SYSTEM),
    ("/var/lib/private", SYSTEM),
    ("/var/spool/cron", SYSTEM),
    ("/lost+found", SYSTEM),
    ("/opt", "other projects live there"),
];

/// Closed wherever they stand: one or more consecutive parts of a path.
pub const CLOSED_NAMES: &[(&str, &str)] = &[
    (".ssh", SECRETS),
    (".gnupg", SECRETS),
    (".aws", SECRETS),
    (".azure", SECRETS),
    (".kube", SECRETS),
    (".docker", SECRETS),
    (".netrc", SECRETS),
    (".pgpass", SECRETS),
    (".my.cnf", SECRETS),
    (".git-credentials", SECRETS),
    (".password-store", SECRETS),
    (".mozilla", SECRETS),
    (".thunderbird", SECRETS),
    (".config/metnos", SECRETS),
    (".config/claude", SECRETS),
    (".config/gcloud", SECRETS),
    (".config/gh", SECRETS),
    (".config/chromium", SECRETS),
    (".config/google-chrome", SECRETS),
    (".claude", SECRETS),
    (".claude.json", SECRETS),
    (".local/share/keyrings", SECRETS),
    (".audit", STATE),
    (".mnestome", STATE),
    (".soul", STATE),
    (".runtime", STATE),
    (".policy", STATE),
    (".mind", STATE),
    (".gateway", STATE),
    (".vault", STATE),
];

/// Says whether `path`, as written, leads to a closed place, and to which.
///
/// It is read in every way a careless reader might: as below the workspace, as below the
/// root once its `..` have left the workspace, with repeated slashes, `.` and letter case
/// ignored. One closed reading closes it. Only what stays below the workspace is exempt from
/// the trees (the instance may itself live below one), never from the names.
#[must_use]
pub fn check(path: &str, places: &Places) -> Option<Forbidden> {
    let Reading { parts, inside } = read(path, places);
    let lower: Vec<String> = parts.iter().map(|part| fold(part)).collect();
    for (place, why) in CLOSED_NAMES {
        let wanted: Vec<&str> = place.split('/').collect();
        if lower.windows(wanted.len()).any(|window| window == wanted.as_slice()) {
            return Some(Forbidden { place, why });
        }
    }
    if inside {
        return None;
    }
    let tree = CLOSED_TREES.iter().find(|(place, _)| {
        let wanted: Vec<&str> = place.split('/').skip(1).collect();
        lower.len() >= wanted.len() && lower.iter().zip(&wanted).all(|(a, b)| a == b)
    });
    tree.map(|(place, why)| Forbidden { place, why })
}

/// What `path` is below the workspace, without `.`, `..` and repeated slashes; empty for the
/// workspace itself, `None` when it leads out of it or can be no path. A file that is called `~` comes out as
/// `~`: what is returned is a name below the workspace, not a path to be read again.
#[must_use]
pub fn within_workspace(path: &str, places: &Places) -> Option<String> {
    let reading = read(path, places);
    // No file has a NUL in its name.
    (reading.inside && !path.contains('\0')).then(|| reading.parts.join("/"))
}

/// Whether granting the whole folder `path` (absolute, or `~/…`) would open a closed place that
/// lies below it.
#[must_use]
pub fn covers(path: &str, places: &Places) -> Option<Forbidden> {
    let Reading { parts, inside } = read(path, places);
    let lower: Vec<String> = parts.iter().map(|part| fold(part)).collect();
    let below_it = |place: &str| {
        let wanted: Vec<&str> = place.split('/').skip(1).collect();
        wanted.len() > lower.len() && lower.iter().zip(&wanted).all(|(a, b)| a == b)
    };
    // `~/.config` covers `.config/metnos`: the end of the folder is the beginning of the name.
    let begins = |place: &str| {
        let wanted: Vec<&str> = place.split('/').collect();
        (1..wanted.len()).any(|count| count <= lower.len() && lower[lower.len() - count..] == wanted[..count])
    };
    let tree = CLOSED_TREES.iter().find(|(place, _)| !inside && below_it(place));
    let name = || CLOSED_NAMES.iter().find(|(place, _)| begins(place));
    tree.or_else(name).map(|(place, why)| Forbidden { place, why })
}

struct Reading {
    /// From the workspace when inside it, else from the root.
    parts: Vec<String>,
    inside: bool,
}

fn read(path: &str, places: &Places) -> Reading {
    let home;
    let path = if path == "~" || path.starts_with("~/") {
        home = format!("{}/{}", if places.home.is_empty() { "/~" } else { &places.home }, &path[1..]);
        home.as_str()
    } else {
        path
    };
    let workspace = split(&places.workspace);
    if !path.starts_with('/') {
        let mut parts = Vec::new();
        let mut escaped = false;
        for part in path.split('/') {
            match part {
                "" | "." => {}
                ".." => escaped |= parts.pop().is_none(),
                name => parts.push(name.to_owned()),
            }
        }
        // Once out, the rest is read from the root: the strictest of the possible readings.
        return Reading { parts, inside: !escaped };
    }
    let parts = split(path);
    let below =
        !workspace.is_empty() && parts.len() >= workspace.len() && parts.iter().zip(&workspace).all(|(a, b)| a == b);
    if below {
        return Reading { parts: parts[workspace.len()..].to_vec(), inside: true };
    }
    Reading { parts, inside: false }
}

/// The parts of an absolute path, `..` taken back and stopped at the root.
fn split(path: &str) -> Vec<String> {
    let mut parts = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            name => parts.push(name.to_owned()),
        }
    }
    parts
}

/// Letter case, full-width letters and invisible characters taken away, as some file systems do.
pub(super) fn fold(part: &str) -> String {
    let visible = part.chars().filter(|character| {
        !matches!(character, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2064}' | '\u{feff}' | '\u{ad}')
    });
    let narrow = visible.map(|character| match character {
        '\u{ff01}'..='\u{ff5e}' => char::from_u32(u32::from(character) - 0xfee0).unwrap_or(character),
        other => other,
    });
    narrow.flat_map(char::to_lowercase).collect()
}
