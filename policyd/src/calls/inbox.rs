//! Files that go over a channel: the call that keeps one that a person has sent, and the call that fetches one that a person
//! asks for. Each is decided, run and recorded like any other; here their arguments are made, from what a channel gave and
//! nobody has looked at.

use metnos_proto::executor::guests;
use metnos_proto::msg::common::{Channel, Refusal, RefusalCode};
use metnos_proto::msg::policyd::MAX_FILE;
use metnos_proto::payload::Sealed;
use serde_json::Value;

/// The executor that does it.
pub(crate) const KEEPER: &str = "inbox_add";
/// The executor that fetches one.
pub(crate) const FETCHER: &str = "file_get";
/// The longest path that is asked for, in bytes; what is no path the executor refuses.
const MAX_PATH: usize = 4_096;
/// The folder of the workspace.
const INBOX: &str = "inbox";
/// The longest name, in bytes.
pub const MAX_NAME: usize = 120;

/// The arguments of that call: the file goes to the inbox in the private folder of this name, else to that of the household.
///
/// # Errors
/// When the name is none, or the file is too large.
pub(crate) fn arguments(name: &str, content: &Sealed, own: Option<&str>) -> Result<Sealed, Refusal> {
    let no = |rule: &str, why: String| Refusal::new(RefusalCode::Invalid, rule, why);
    if !is_name(name) {
        return Err(no(
            "inbox.name",
            format!("a file is kept under one name of 1 to {MAX_NAME} bytes that begins with no dot"),
        ));
    }
    if content.len() > MAX_FILE {
        return Err(no("inbox.size", format!("a file that is sent has at most {MAX_FILE} bytes")));
    }
    // Its bytes go beside the call; what is decided on and recorded is their number and their digest.
    let digest = content.digest().map_err(|error| no("inbox.read", error.to_string()))?;
    let path = match own {
        Some(own) => format!("{}/{INBOX}/{name}", guests::private(own)),
        None => format!("{INBOX}/{name}"),
    };
    let arguments =
        [("path", Value::from(path)), ("bytes", content.len().into()), ("blake3", digest.to_string().into())];
    Sealed::new(Value::from_iter(arguments).to_string().as_bytes()).map_err(|error| no("inbox.read", error.to_string()))
}

/// The arguments of the call that fetches a file for the one who asks for it over this channel.
///
/// # Errors
/// When the path is none.
pub(crate) fn wanted(path: &str, channel: Channel) -> Result<Sealed, Refusal> {
    let no = |rule: &str, why: String| Refusal::new(RefusalCode::Invalid, rule, why);
    if path.is_empty() || path.len() > MAX_PATH {
        return Err(no("file.path", format!("a path has 1 to {MAX_PATH} bytes, and this one has {}", path.len())));
    }
    let arguments = Value::from_iter([("path", path), ("channel", channel.name())]);
    Sealed::new(arguments.to_string().as_bytes()).map_err(|error| no("file.path", error.to_string()))
}

/// Whether this is one part of a path, and nothing that hides.
fn is_name(name: &str) -> bool {
    (1..=MAX_NAME).contains(&name.len())
        && !name.starts_with('.')
        && !name.chars().any(|c| matches!(c, '/' | '\\') || c.is_control())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use metnos_proto::ids::Blake3;
    use metnos_proto::payload::Filling;

    use super::*;

    #[test]
    fn a_name_leads_nowhere_and_only_the_digest_of_a_file_is_an_argument() {
        let some = |bytes: usize| Sealed::new(&vec![0xff; bytes]).unwrap();
        for name in ["a.pdf", "perché no (2).txt", &"x".repeat(MAX_NAME)] {
            assert!(arguments(name, &some(1), None).is_ok(), "{name}");
        }
        for name in ["", ".", "..", ".ssh", "a/b", "a\\b", "a\nb", &"x".repeat(MAX_NAME + 1)] {
            assert_eq!(arguments(name, &some(1), None).unwrap_err().rule, "inbox.name", "{name}");
        }
        let mut most = Filling::new(MAX_FILE).unwrap();
        most.push(&vec![7; MAX_FILE]).unwrap();
        let most = arguments("a", &most.seal().unwrap(), Some("anna")).unwrap();
        let value: Value = serde_json::from_slice(&most.read().unwrap()).unwrap();
        assert_eq!((&value["bytes"], &value["path"]), (&Value::from(MAX_FILE), &Value::from("people/anna/inbox/a")));
        assert_eq!(value["blake3"], Blake3::of(&vec![7; MAX_FILE]).to_string());
        assert_eq!(value.as_object().unwrap().len(), 3, "nothing of the content stands in it");
    }
}
