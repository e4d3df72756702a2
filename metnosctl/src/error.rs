//! What went wrong, for a person and for a program, and with which code that exits.
//! Every error says what, why, and what to do.

use std::io;
use std::path::PathBuf;
use std::process::ExitCode;

use metnos_proto::edge::RpcError;
use metnos_proto::msg::common::{Refusal, RefusalCode};
use metnos_proto::role::RoleName;
use schemars::JsonSchema;
use serde::Serialize;

use crate::json_constant::ConstFalse;

/// How `metnosctl` exits (design: interfaces §1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// 0: it was done.
    Done,
    /// 1: it was refused, or it failed.
    Failed,
    /// 2: it was asked for in the wrong way.
    Usage,
    /// 3: a daemon that is needed cannot be reached.
    Unreachable,
    /// 4: it waits for an approval.
    Waiting,
}

impl Exit {
    /// The number.
    #[must_use]
    pub const fn code(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::Failed => 1,
            Self::Usage => 2,
            Self::Unreachable => 3,
            Self::Waiting => 4,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}

/// The rule under which policyd refuses what only an approval could allow.
pub const APPROVAL_RULES: &str = "approval.";

/// Why a command was not done.
#[derive(Debug, thiserror::Error)]
pub enum CtlError {
    /// The command line is well-formed and still makes no sense.
    #[error("{what}")]
    Usage {
        /// What is wrong with it.
        what: String,
        /// What to write instead.
        remedy: String,
    },
    /// There is no instance in this directory.
    #[error("there is no instance of Metnos in {}", .0.display())]
    NoInstance(PathBuf),
    /// There is one, and nobody serves it.
    #[error("Metnos is not running in {}", .0.display())]
    NotRunning(PathBuf),
    /// The supervisor or a daemon cannot be reached, or went away.
    #[error("{who} cannot be reached: {why}")]
    Unreachable {
        /// Who.
        who: String,
        /// Why.
        why: String,
        /// What to do.
        remedy: String,
    },
    /// A daemon, or the supervisor, said no.
    #[error("{}", .0.why)]
    Refused(Refusal),
    /// Something else did not work.
    #[error("{what}: {why}")]
    Failed {
        /// What was being done.
        what: String,
        /// Why it did not work.
        why: String,
        /// What to do; empty when nothing can be said.
        remedy: String,
    },
    /// Nobody reads what is written: the reader of a pipe has gone. Said to nobody.
    #[error("the output is closed")]
    Closed,
    /// The output cannot be written.
    #[error("the output cannot be written: {0}")]
    Output(io::Error),
}

impl CtlError {
    /// A failure in its three parts.
    pub fn failed(what: impl Into<String>, why: impl ToString, remedy: impl Into<String>) -> Self {
        Self::Failed { what: what.into(), why: why.to_string(), remedy: remedy.into() }
    }

    /// The supervisor cannot be reached.
    pub fn supervisor(why: impl ToString) -> Self {
        Self::Unreachable {
            who: "the supervisor".to_owned(),
            why: why.to_string(),
            remedy:
                "look at run/supervisor.log in the instance's directory; `metnosctl down` and `metnosctl up` start \
                     everything anew"
                    .to_owned(),
        }
    }

    /// The code to exit with.
    #[must_use]
    pub fn exit(&self) -> Exit {
        match self {
            Self::Usage { .. } => Exit::Usage,
            Self::NoInstance(_) | Self::NotRunning(_) | Self::Unreachable { .. } => Exit::Unreachable,
            Self::Refused(refusal) => exit_of(refusal),
            Self::Failed { .. } | Self::Closed | Self::Output(_) => Exit::Failed,
        }
    }

    /// What kind of error, for programs.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Usage { .. } => "usage",
            Self::NoInstance(_) => "no_instance",
            Self::NotRunning(_) => "not_running",
            Self::Unreachable { .. } => "unreachable",
            Self::Refused(refusal) => refusal.code.name(),
            Self::Failed { .. } => "failed",
            Self::Closed | Self::Output(_) => "output",
        }
    }

    /// What to do about it; empty when nothing can be said.
    #[must_use]
    pub fn remedy(&self) -> String {
        match self {
            Self::Usage { remedy, .. } | Self::Unreachable { remedy, .. } | Self::Failed { remedy, .. } => {
                remedy.clone()
            }
            Self::NoInstance(place) => {
                format!("`metnosctl --instance {} up` creates one and starts it", quoted(place))
            }
            Self::NotRunning(place) => format!("start it: `metnosctl --instance {} up --detach`", quoted(place)),
            Self::Refused(refusal) => refusal.remedy.clone(),
            Self::Closed | Self::Output(_) => String::new(),
        }
    }

    /// The law, rule or limit that said no; empty where none did.
    #[must_use]
    pub fn rule(&self) -> &str {
        if let Self::Refused(refusal) = self { &refusal.rule } else { "" }
    }

    /// The error as the value of the key `error` of every document.
    #[must_use]
    pub fn document(&self) -> ErrorDocument {
        ErrorDocument {
            code: self.code().to_owned(),
            rule: self.rule().to_owned(),
            why: self.to_string(),
            remedy: self.remedy(),
        }
    }

    /// What a command prints that was not done.
    #[must_use]
    pub fn report(&self) -> ErrorReport {
        ErrorReport { ok: ConstFalse, error: self.document() }
    }
}

/// Why something was not done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "Why")]
pub struct ErrorDocument {
    /// What kind of error.
    pub code: String,
    /// The law, rule or limit that said no; empty where none did.
    pub rule: String,
    /// Why.
    pub why: String,
    /// What to do about it; empty when nothing can be said.
    pub remedy: String,
}

/// What a command prints that was not done.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Error")]
pub struct ErrorReport {
    /// It was not done.
    ok: ConstFalse,
    /// Why.
    error: ErrorDocument,
}

/// A path as it can be pasted into a shell.
fn quoted(path: &std::path::Path) -> String {
    let text = path.display().to_string();
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+@%,:=".contains(c);
    if !text.is_empty() && text.chars().all(plain) { text } else { format!("'{}'", text.replace('\'', "'\\''")) }
}

/// With which code a refusal exits: a daemon that is missing is another matter than a no.
#[must_use]
pub fn exit_of(refusal: &Refusal) -> Exit {
    if refusal.rule.starts_with(APPROVAL_RULES) {
        return Exit::Waiting;
    }
    match refusal.code {
        RefusalCode::Unavailable => Exit::Unreachable,
        RefusalCode::Denied
        | RefusalCode::Invalid
        | RefusalCode::Unknown
        | RefusalCode::Busy
        | RefusalCode::Internal => Exit::Failed,
    }
}

impl From<RpcError> for CtlError {
    fn from(error: RpcError) -> Self {
        let who = |role: RoleName| format!("the daemon {role}");
        let remedy = "it is started anew by itself; try again in a moment, or look at `metnosctl status`".to_owned();
        match error {
            RpcError::Refused(refusal) => Self::Refused(refusal),
            RpcError::Gone(role) => Self::Unreachable {
                who: who(role),
                why: "it is not running, or stopped in the middle".to_owned(),
                remedy,
            },
            RpcError::Late { role, word, within_ms } => Self::Unreachable {
                who: who(role),
                why: format!("no answer to `{word}` within {within_ms} ms"),
                remedy: "look at `metnosctl status`, and at run/supervisor.log in the instance's directory".to_owned(),
            },
            RpcError::Violation(role, why) => Self::Unreachable {
                who: who(role),
                why,
                remedy: "metnosctl and the daemons must come from the same build; `metnosctl down` and `metnosctl up` \
                         start this build's daemons"
                    .to_owned(),
            },
            RpcError::Unsendable(why) => Self::failed("the request cannot be sent", why, ""),
        }
    }
}

impl From<io::Error> for CtlError {
    /// Only for errors of writing to the screen: all others say what was being done.
    fn from(error: io::Error) -> Self {
        if error.kind() == io::ErrorKind::BrokenPipe { Self::Closed } else { Self::Output(error) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exit_codes_are_those_of_the_documentation() {
        let codes = [Exit::Done, Exit::Failed, Exit::Usage, Exit::Unreachable, Exit::Waiting].map(Exit::code);
        assert_eq!(codes, [0, 1, 2, 3, 4]);
    }

    #[test]
    fn a_refusal_is_one_and_a_missing_daemon_is_three() {
        let denied = Refusal::new(RefusalCode::Denied, "guard.path", "no");
        assert_eq!(CtlError::from(RpcError::Refused(denied)).exit(), Exit::Failed);
        assert_eq!(CtlError::from(RpcError::Gone(RoleName::Policyd)).exit(), Exit::Unreachable);
        let passed_on = RpcError::Gone(RoleName::Sandboxd).into_refusal();
        assert_eq!(CtlError::Refused(passed_on).exit(), Exit::Unreachable);
        let ask = Refusal::new(RefusalCode::Denied, "approval.pending", "ask the owner");
        assert_eq!(exit_of(&ask), Exit::Waiting);
    }

    #[test]
    fn the_remedy_can_be_pasted_into_a_shell() {
        let error = CtlError::NotRunning(PathBuf::from("/home/o'neil/my metnos"));
        assert!(error.remedy().contains(r"'/home/o'\''neil/my metnos'"), "{}", error.remedy());
    }

    #[test]
    fn the_document_has_the_same_four_keys_whatever_the_error() {
        let errors = [
            CtlError::NotRunning(PathBuf::from("/x")),
            CtlError::Refused(Refusal::new(RefusalCode::Denied, "guard.path", "no")),
            CtlError::failed("a", "b", "c"),
        ];
        for error in errors {
            let document = serde_json::to_value(error.document()).unwrap_or_default();
            let mut keys: Vec<&str> = document.as_object().into_iter().flatten().map(|(key, _)| key.as_str()).collect();
            keys.sort_unstable();
            assert_eq!(keys, ["code", "remedy", "rule", "why"]);
        }
    }
}
