//! The canaries: what must fail in every sandbox is tried in a real one, before anything else
//! may run and whenever the owner asks. One that lives stops sandboxd from starting.

use metnos_proto::json::{self, Limits};
use metnos_proto::msg::common::Outcome;
use metnos_proto::msg::sandboxd::Canary;
use serde_json::Value;

use crate::process::limits::Finished;

/// The code that tries.
pub const CODE: &[u8] = include_bytes!("canary.py");

/// One attempt: its name in the code, what it is for a person, and the errors that mean it was stopped.
type Attempt = (&'static str, &'static str, &'static [&'static str]);

/// All attempts. Paths that do not exist are `ENOENT`, unless Landlock says no first.
const ATTEMPTS: &[Attempt] = &[
    ("open_passwd", "open /etc/passwd", &["ENOENT", "EACCES"]),
    ("open_proc", "open /proc/self/status", &["ENOENT", "EACCES"]),
    ("write_library", "write into the standard library", &["EROFS", "EACCES"]),
    ("write_root", "write into the root folder", &["EROFS", "EACCES"]),
    ("write_code", "change the script that runs it", &["EROFS", "EACCES"]),
    ("inet_socket", "make an internet socket", &["EPERM"]),
    ("unix_socket", "make a local socket", &["EPERM"]),
    ("fork", "start a process", &["EPERM"]),
    ("exec", "execute the interpreter again", &["EPERM"]),
    ("exec_shell", "execute a shell", &["EPERM"]),
    ("signal_all", "signal every process", &["EPERM"]),
    ("memory_file", "make a file in memory", &["EPERM"]),
    ("become_root", "become root", &["EPERM"]),
];

/// What a run of [`CODE`] shows. Whatever is not known to have been stopped counts as alive.
#[must_use]
pub fn read(finished: &Finished) -> Vec<Canary> {
    if finished.outcome != Outcome::Ok {
        let attempt = "start a sandbox and try what must fail in it".to_owned();
        let detail = format!("{}: {}", finished.outcome.name(), finished.why);
        return vec![Canary { attempt, stopped: false, detail }];
    }
    let result = json::parse_strict(&finished.result, Limits::result(64 << 10)).unwrap_or_default();
    ATTEMPTS
        .iter()
        .map(|(name, attempt, errors)| {
            let came = result.pointer(&format!("/canaries/{name}")).and_then(Value::as_str).unwrap_or("nothing");
            Canary { attempt: (*attempt).to_owned(), stopped: errors.contains(&came), detail: came.to_owned() }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use metnos_proto::msg::common::Resources;
    use serde_json::json;

    use super::*;

    fn finished(outcome: Outcome, result: &Value) -> Finished {
        let resources = Resources { wall_us: 1, cpu_us: 1, peak_kib: 1, output_bytes: 1, ..Resources::NONE };
        let result = result.to_string().into_bytes();
        Finished {
            outcome,
            why: "why".to_owned(),
            result,
            resources,
            log: String::new(),
            alarms: Vec::new(),
            nothing_ran: false,
        }
    }

    #[test]
    fn each_attempt_counts_as_alive_unless_it_was_stopped_as_expected() {
        let mut came: serde_json::Map<String, Value> =
            ATTEMPTS.iter().map(|(name, _, errors)| ((*name).to_owned(), json!(errors[0]))).collect();
        let all = read(&finished(Outcome::Ok, &json!({"ok": true, "canaries": came})));
        assert!(all.iter().all(|canary| canary.stopped) && all.len() == ATTEMPTS.len(), "{all:?}");
        for wrong in [json!("done"), json!("EIO"), Value::Null] {
            came.insert("fork".to_owned(), wrong);
            let all = read(&finished(Outcome::Ok, &json!({"ok": true, "canaries": came})));
            let alive: Vec<_> =
                all.iter().filter(|canary| !canary.stopped).map(|canary| canary.attempt.as_str()).collect();
            assert_eq!(alive, ["start a process"]);
        }
    }

    #[test]
    fn a_sandbox_that_does_not_start_or_says_nothing_does_not_hold() {
        assert!(read(&finished(Outcome::SandboxFailed, &json!({}))).iter().all(|canary| !canary.stopped));
        assert!(read(&finished(Outcome::Ok, &json!({"ok": true}))).iter().all(|canary| !canary.stopped));
    }

    #[test]
    fn the_code_tries_exactly_what_is_listed() {
        let code = String::from_utf8_lossy(CODE);
        for (name, _, _) in ATTEMPTS {
            assert_eq!(code.matches(&format!("\"{name}\":")).count(), 1, "{name}");
        }
        assert_eq!(code.matches(": lambda:").count() + code.matches("\"fork\": fork").count(), ATTEMPTS.len());
    }
}
