//! The words of a request, as they travel beside an ask. The door and the planner read them by the same rule.

use crate::msg::common::{Refusal, RefusalCode};
use crate::payload::Sealed;

/// The longest request, in bytes.
pub const MAX_REQUEST: usize = 64 * 1024;

/// Reads the words.
///
/// # Errors
/// The refusal, when there are too many or they are not UTF-8.
pub fn read(words: &Sealed) -> Result<String, Refusal> {
    if words.len() > MAX_REQUEST {
        let why = format!("the words have {} bytes; at most {MAX_REQUEST} are taken", words.len());
        return Err(Refusal::new(RefusalCode::Invalid, "words.size", why).remedy("say it in fewer words"));
    }
    let bytes = words.read().map_err(|error| {
        Refusal::new(RefusalCode::Internal, "words.read", format!("the words cannot be read: {error}"))
    })?;
    String::from_utf8(bytes).map_err(|error| {
        let why = format!("the words are not UTF-8 from byte {} on", error.utf8_error().valid_up_to());
        Refusal::new(RefusalCode::Invalid, "words.utf8", why)
    })
}
