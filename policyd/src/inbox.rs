//! Files that go over a channel: the call that keeps one that somebody has sent, and the call that fetches one that somebody
//! asks for. Each is decided, run and recorded like any other; here their arguments are made, from what a channel gave and
//! nobody has looked at.

use metnos_proto::msg::common::{Channel, Refusal, RefusalCode};
use metnos_proto::msg::policyd::MAX_FILE;
use metnos_proto::payload::Sealed;
use serde_json::json;

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

/// The arguments of that call.
///
/// # Errors
/// When the name is none, or the file is too large.
pub(crate) fn arguments(name: &str, content: &Sealed) -> Result<Sealed, Refusal> {
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
    let bytes = content.read().map_err(|error| no("inbox.read", error.to_string()))?;
    let arguments = json!({"path": format!("{INBOX}/{name}"), "content": base64(&bytes)}).to_string();
    Sealed::new(arguments.as_bytes()).map_err(|error| no("inbox.read", error.to_string()))
}

/// The arguments of the call that fetches a file for whoever asks for it by this channel.
///
/// # Errors
/// When the path is none.
pub(crate) fn wanted(path: &str, channel: Channel) -> Result<Sealed, Refusal> {
    let no = |rule: &str, why: String| Refusal::new(RefusalCode::Invalid, rule, why);
    if path.is_empty() || path.len() > MAX_PATH {
        return Err(no("file.path", format!("a path has 1 to {MAX_PATH} bytes, and this one has {}", path.len())));
    }
    let arguments = json!({"path": path, "channel": channel.name()}).to_string();
    Sealed::new(arguments.as_bytes()).map_err(|error| no("file.path", error.to_string()))
}

/// Whether this is one part of a path, and nothing that hides.
fn is_name(name: &str) -> bool {
    (1..=MAX_NAME).contains(&name.len())
        && !name.starts_with('.')
        && !name.chars().any(|c| matches!(c, '/' | '\\') || c.is_control())
}

/// RFC 4648, section 4.
fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for group in bytes.chunks(3) {
        let bits = group.iter().zip([16, 8, 0]).fold(0_usize, |bits, (byte, shift)| bits | usize::from(*byte) << shift);
        for at in 0..4 {
            let letter = LETTERS[bits >> (18 - 6 * at) & 63];
            text.push(if at <= group.len() { char::from(letter) } else { '=' });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn bytes_are_written_as_the_standard_writes_them() {
        let vectors =
            [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg=="), ("fooba", "Zm9vYmE=")];
        for (plain, text) in vectors {
            assert_eq!(base64(plain.as_bytes()), text);
        }
        assert_eq!(base64(&[0xfb, 0xff, 0xfe]), "+//+");
    }

    #[test]
    fn a_name_leads_nowhere_and_hides_nothing_and_a_file_has_a_bound() {
        let some = |bytes: usize| Sealed::new(&vec![0xff; bytes]).unwrap();
        for name in ["a.pdf", "perché no (2).txt", &"x".repeat(MAX_NAME)] {
            assert!(arguments(name, &some(1)).is_ok(), "{name}");
        }
        for name in ["", ".", "..", ".ssh", "a/b", "a\\b", "a\nb", &"x".repeat(MAX_NAME + 1)] {
            assert_eq!(arguments(name, &some(1)).unwrap_err().rule, "inbox.name", "{name}");
        }
        let most = arguments(&"x".repeat(MAX_NAME), &some(MAX_FILE)).unwrap();
        assert!(most.len() <= metnos_proto::json::Limits::ARGUMENTS.max_bytes, "it fits into a call");
        assert_eq!(arguments("a", &some(MAX_FILE + 1)).unwrap_err().rule, "inbox.size");
    }
}
