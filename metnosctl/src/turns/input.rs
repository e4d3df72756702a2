//! What is read from standard input.

use std::io::Read;

use metnos_proto::payload::MAX_PAYLOAD;

use crate::error::CtlError;

/// Standard input as text, bounded by what a payload may hold.
///
/// # Errors
/// When it cannot be read, is too long or is not UTF-8.
pub fn stdin_text(what: &str) -> Result<String, CtlError> {
    let mut bytes = Vec::new();
    let most = u64::try_from(MAX_PAYLOAD).unwrap_or(u64::MAX);
    let read = std::io::stdin().lock().take(most.saturating_add(1)).read_to_end(&mut bytes);
    read.map_err(|error| CtlError::failed(format!("{what} cannot be read from standard input"), error, ""))?;
    if bytes.len() > MAX_PAYLOAD {
        return Err(CtlError::Usage {
            what: format!("{what} on standard input are longer than {MAX_PAYLOAD} bytes"),
            remedy: "shorten them".to_owned(),
        });
    }
    String::from_utf8(bytes).map_err(|error| CtlError::Usage {
        what: format!("{what} on standard input are not UTF-8: {error}"),
        remedy: "convert them, for example with iconv".to_owned(),
    })
}
