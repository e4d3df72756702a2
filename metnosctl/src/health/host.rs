//! What this machine must offer: facts of the kernel and the interpreter, each with the remedy
//! when it is missing. Only looks, never changes anything.

use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use landlock::{ABI, Access, AccessFs, CompatLevel, Compatible, Ruleset, RulesetAttr};
use metnos_proto::disk::{Room, shown};

use crate::instance::{CONFIG, Instance};

/// The interpreter where the configuration names none.
pub const INTERPRETER: &str = "/usr/bin/python3";
/// The largest `metnos.toml` that is looked into, in bytes.
const MAX_CONFIG_BYTES: u64 = 64 * 1024;

/// One thing that was looked at.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, schemars::JsonSchema)]
pub struct Finding {
    /// What, in a word or two.
    pub name: &'static str,
    /// Whether it is as it must be.
    pub ok: bool,
    /// What was found.
    pub detail: String,
    /// What to do; empty when it is as it must be.
    pub remedy: String,
}

impl Finding {
    /// As it must be.
    pub fn good(name: &'static str, detail: impl Into<String>) -> Self {
        Self { name, ok: true, detail: detail.into(), remedy: String::new() }
    }

    /// Not as it must be.
    pub fn bad(name: &'static str, detail: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { name, ok: false, detail: detail.into(), remedy: remedy.into() }
    }
}

/// Everything about the machine, for `doctor` and before a start.
#[must_use]
pub fn facts(instance: &Instance) -> Vec<Finding> {
    vec![landlock(highest_abi()), seccomp(&read(SECCOMP_ACTIONS)), namespaces(read), interpreter(&configured(instance))]
}

/// How full the disk of the instance is.
#[must_use]
pub fn disk(instance: &Instance) -> Finding {
    const NAME: &str = "disk";
    let place = instance.directory().display().to_string();
    match Room::at(instance.directory()) {
        Err(error) => Finding::bad(NAME, format!("{place}: {error}"), "become its owner, or name another directory"),
        Ok(room) => match disk_problem(&room, &place) {
            None => Finding::good(NAME, format!("{} are free where {place} lies", shown(room.free))),
            Some(what) if room.read_only => Finding::bad(
                NAME,
                what,
                "find out why (`dmesg`), and have it mounted for writing again: Metnos goes on by itself",
            ),
            Some(what) => Finding::bad(NAME, what, "free some space there: Metnos goes on by itself"),
        },
    }
}

/// What is wrong with the disk of the instance, in words; `None` when there is room.
#[must_use]
pub fn disk_problem(room: &Room, place: &str) -> Option<String> {
    if room.read_only {
        return Some(format!(
            "the disk on which {place} lies can only be read: nothing is recorded, and nothing is done"
        ));
    }
    let missing = room.missing();
    (missing > 0).then(|| {
        format!(
            "the disk on which {place} lies is full: {} are free, {} are kept as a reserve; free {} more. Until then nothing new \
             is begun",
            shown(room.free),
            shown(room.reserve()),
            shown(missing)
        )
    })
}

const SECCOMP_ACTIONS: &str = "/proc/sys/kernel/seccomp/actions_avail";
const MAX_USER_NAMESPACES: &str = "/proc/sys/user/max_user_namespaces";
const UNPRIVILEGED_CLONE: &str = "/proc/sys/kernel/unprivileged_userns_clone";
const APPARMOR_RESTRICTS: &str = "/proc/sys/kernel/apparmor_restrict_unprivileged_userns";

/// Where the profile belongs that gives sandboxd user namespaces, and the program it is written for.
const PROFILE: &str = "/etc/apparmor.d/metnos-sandboxd";
const PACKAGED: &str = "/usr/lib/metnos/metnos-sandboxd";

fn read(path: &str) -> Option<String> {
    std::fs::read_to_string(path).ok().map(|text| text.trim().to_owned())
}

/// The highest version of Landlock that both the kernel and this program know; 0 for none.
#[expect(clippy::wildcard_enum_match_arm, reason = "landlock's ABI grows with the kernel")]
fn highest_abi() -> u8 {
    // Version 7 has no right that version 6 has not, so that it cannot be distinguished by asking for rights.
    let versions = [(6, ABI::V6), (5, ABI::V5), (4, ABI::V4), (3, ABI::V3), (2, ABI::V2), (1, ABI::V1)];
    let known = |abi: ABI| {
        let ruleset = Ruleset::default().set_compatibility(CompatLevel::HardRequirement);
        let ruleset = ruleset.handle_access(AccessFs::from_all(abi));
        let ruleset = match abi {
            ABI::V4 | ABI::V5 => ruleset.and_then(|rules| rules.handle_access(landlock::AccessNet::from_all(abi))),
            ABI::V6 => ruleset
                .and_then(|rules| rules.handle_access(landlock::AccessNet::from_all(abi)))
                .and_then(|rules| rules.scope(landlock::Scope::from_all(abi))),
            _ => ruleset,
        };
        ruleset.and_then(Ruleset::create).is_ok()
    };
    versions.into_iter().find(|(_, abi)| known(*abi)).map_or(0, |(number, _)| number)
}

fn landlock(abi: u8) -> Finding {
    if abi == 0 {
        Finding::bad(
            "landlock",
            "the kernel has no Landlock",
            "boot a kernel of 5.13 or later with `lsm=landlock,…` (see /sys/kernel/security/lsm), or waive the layer in \
             metnos.toml: `[jail]` `waive = [\"landlock\"]`",
        )
    } else {
        Finding::good("landlock", format!("ABI {abi} or later"))
    }
}

fn seccomp(actions: &Option<String>) -> Finding {
    match actions {
        Some(actions) if actions.split_whitespace().any(|action| action == "kill_process") => {
            Finding::good("seccomp", "filters can kill a process")
        }
        Some(_) | None => Finding::bad(
            "seccomp",
            "the kernel has no seccomp filters that kill a process",
            "boot a kernel of 4.14 or later with CONFIG_SECCOMP_FILTER",
        ),
    }
}

fn namespaces(read: impl Fn(&str) -> Option<String>) -> Finding {
    const NAME: &str = "user namespaces";
    let is = |path: &str, value: &str| read(path).is_some_and(|text| text == value);
    if read(MAX_USER_NAMESPACES).is_none_or(|most| most == "0") {
        Finding::bad(NAME, "they are switched off", "as root: `sysctl -w user.max_user_namespaces=15000`")
    } else if is(UNPRIVILEGED_CLONE, "0") {
        Finding::bad(
            NAME,
            "ordinary users may not make them",
            "as root: `sysctl -w kernel.unprivileged_userns_clone=1`",
        )
    } else if is(APPARMOR_RESTRICTS, "1") {
        Finding::bad(NAME, "AppArmor restricts them to programs with a profile", profile_wanted(&beside()))
    } else {
        Finding::good(NAME, "ordinary users may make them")
    }
}

/// The sandboxd that belongs to this program: all of them lie side by side.
fn beside() -> PathBuf {
    let own = std::env::current_exe().unwrap_or_default();
    own.parent().map_or_else(|| PathBuf::from(PACKAGED), |folder| folder.join("metnos-sandboxd"))
}

/// How that one gets its profile.
fn profile_wanted(sandboxd: &Path) -> String {
    let path = if sandboxd == Path::new(PACKAGED) {
        String::new()
    } else {
        format!(", write {} into it in the place of {PACKAGED}", sandboxd.display())
    };
    format!(
        "as root: copy systemd/apparmor.d/metnos-sandboxd of Metnos to {PROFILE}{path}, and load it with \
         `apparmor_parser -r {PROFILE}`"
    )
}

/// Whether a finding can only be known by trying: then `up` tries, and `doctor` asks the sandbox.
#[must_use]
pub fn is_a_guess(finding: &Finding) -> bool {
    !finding.ok && finding.name == "user namespaces" && finding.detail.starts_with("AppArmor")
}

/// What a guess has become, once it is known whether the sandbox `holds`: a kernel that restricts others does not restrict us then.
#[must_use]
pub fn settled(guess: Finding, holds: bool) -> Finding {
    if holds {
        Finding::good(guess.name, "AppArmor restricts them, and sandboxd has a profile that gives it some")
    } else {
        guess
    }
}

/// The interpreter that the instance's configuration names. What else is in it is the supervisor's to judge.
fn configured(instance: &Instance) -> PathBuf {
    let path = instance.directory().join(CONFIG);
    let small = std::fs::metadata(&path).is_ok_and(|meta| meta.is_file() && meta.len() <= MAX_CONFIG_BYTES);
    let text = if small { std::fs::read_to_string(&path).unwrap_or_default() } else { String::new() };
    let table: toml::Table = text.parse().unwrap_or_default();
    let named = table.get("executors").and_then(|table| table.get("interpreter")).and_then(toml::Value::as_str);
    PathBuf::from(named.unwrap_or(INTERPRETER))
}

fn interpreter(path: &Path) -> Finding {
    const NAME: &str = "interpreter";
    let remedy =
        "install it (Debian: `apt install python3`), or name another one in metnos.toml: `[executors]` `interpreter`";
    let shown = path.display();
    match std::fs::metadata(path) {
        Ok(meta) if meta.is_file() && meta.permissions().mode() & 0o111 != 0 => Finding::good(NAME, shown.to_string()),
        Ok(_) => Finding::bad(NAME, format!("{shown} is no program"), remedy),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            Finding::bad(NAME, format!("{shown} does not exist"), remedy)
        }
        Err(error) => Finding::bad(NAME, format!("{shown}: {error}"), remedy),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn each_way_in_which_user_namespaces_are_missing_has_its_own_remedy() {
        let with = |pairs: &'static [(&str, &str)]| {
            move |path: &str| pairs.iter().find(|(key, _)| *key == path).map(|(_, value)| (*value).to_owned())
        };
        let bad: [&[(&str, &str)]; 4] = [
            &[],
            &[(MAX_USER_NAMESPACES, "0")],
            &[(MAX_USER_NAMESPACES, "9"), (UNPRIVILEGED_CLONE, "0")],
            &[(MAX_USER_NAMESPACES, "9"), (APPARMOR_RESTRICTS, "1")],
        ];
        for pairs in bad {
            let finding = namespaces(with(pairs));
            assert!(!finding.ok && !finding.remedy.is_empty(), "{pairs:?}");
        }
        assert!(
            namespaces(with(&[(MAX_USER_NAMESPACES, "9"), (UNPRIVILEGED_CLONE, "1"), (APPARMOR_RESTRICTS, "0")])).ok
        );
    }

    #[test]
    fn a_restriction_of_apparmor_is_a_guess_until_the_sandbox_was_tried() {
        let restricted =
            |path: &str| (path == APPARMOR_RESTRICTS || path == MAX_USER_NAMESPACES).then(|| "1".to_owned());
        let guess = namespaces(restricted);
        assert!(is_a_guess(&guess) && guess.remedy.contains("`apparmor_parser -r /etc/apparmor.d/metnos-sandboxd`"));
        assert!(!is_a_guess(&namespaces(|_| None)));
        assert_eq!(settled(guess.clone(), false), guess);
        let held = settled(guess, true);
        assert!(held.ok && held.remedy.is_empty() && !is_a_guess(&held));
        assert!(!profile_wanted(Path::new(PACKAGED)).contains("in the place of"));
        assert!(profile_wanted(Path::new("/opt/metnos-sandboxd")).contains("write /opt/metnos-sandboxd into it"));
    }

    #[test]
    fn a_kernel_without_a_layer_is_found_out() {
        assert!(!landlock(0).ok && landlock(1).ok);
        assert!(!seccomp(&None).ok && !seccomp(&Some("kill_thread trap".into())).ok);
        assert!(seccomp(&Some("kill_process kill_thread".into())).ok);
    }

    #[test]
    fn an_interpreter_that_is_missing_or_no_program_is_found_out() {
        let dir = tempfile::tempdir().unwrap();
        assert!(!interpreter(&dir.path().join("python3")).ok);
        assert!(!interpreter(dir.path()).ok);
        let file = dir.path().join("text");
        std::fs::write(&file, "").unwrap();
        assert!(!interpreter(&file).ok);
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).unwrap();
        assert!(interpreter(&file).ok);
    }

    #[test]
    fn the_interpreter_is_the_configured_one_and_else_the_usual_one() {
        let dir = tempfile::tempdir().unwrap();
        let instance = Instance::at(dir.path()).unwrap();
        assert_eq!(configured(&instance), Path::new(INTERPRETER));
        std::fs::write(dir.path().join(CONFIG), "[executors]\ninterpreter = \"/opt/py/bin/python3\"\n").unwrap();
        assert_eq!(configured(&instance), Path::new("/opt/py/bin/python3"));
        std::fs::write(dir.path().join(CONFIG), "not toml [").unwrap();
        assert_eq!(configured(&instance), Path::new(INTERPRETER));
    }
}
