//! R01: the one block of a proposal in a message.

use crate::verdict::{Code, Objection, refuse};

/// How the block begins, up to its nonce.
const OPEN: &str = "<lattice_update";
/// How it ends.
const CLOSE: &str = "</lattice_update>";
/// What no message may hold outside its block.
const NAME: &str = "lattice_update";

/// The text between the tags, if there is a block.
///
/// # Errors
/// When there is something of that look which is not one block, the last of the message, with this nonce.
pub fn block<'a>(reply: &'a str, nonce: &str) -> Result<Option<&'a str>, Objection> {
    let named = reply.to_lowercase().matches(NAME).count();
    if named == 0 {
        return Ok(None);
    }
    let Some((before, rest)) = reply.split_once(OPEN) else {
        return refuse(Code::R01, "the block does not begin as one");
    };
    let Some((head, rest)) = rest.split_once('>') else { return refuse(Code::R01, "the block does not begin as one") };
    let Some((body, after)) = rest.rsplit_once(CLOSE) else { return refuse(Code::R01, "the block does not end") };
    if named != 2 {
        return refuse(Code::R01, "there is more than one block");
    }
    if !after.trim().is_empty() {
        return refuse(Code::R01, "something stands behind the block");
    }
    if before.matches("```").count() % 2 == 1 {
        return refuse(Code::R01, "the block stands in a piece of code");
    }
    if nonce.is_empty() || named_nonce(head) != Some(nonce) {
        return refuse(Code::R01, "the block does not name the nonce of this turn");
    }
    Ok(Some(body))
}

/// The value of the one attribute `nonce`.
fn named_nonce(head: &str) -> Option<&str> {
    let value = head.strip_prefix(char::is_whitespace)?.trim().strip_prefix("nonce")?.trim_start().strip_prefix('=')?;
    let value = value.trim();
    let quoted = |mark: char| value.strip_prefix(mark).and_then(|value| value.strip_suffix(mark));
    let value = quoted('"').or_else(|| quoted('\'')).unwrap_or(value);
    (!value.contains(['"', '\'']) && !value.contains(char::is_whitespace)).then_some(value)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_last_block_with_the_nonce_is_taken() {
        for tag in ["<lattice_update nonce=abc>", "<lattice_update nonce=\"abc\">", "<lattice_update  nonce = 'abc' >"]
        {
            let reply = format!("Noted.\n{tag}{{}}</lattice_update>\n");
            assert_eq!(block(&reply, "abc").unwrap(), Some("{}"), "{tag}");
        }
        assert_eq!(block("Noted.", "abc").unwrap(), None);
    }

    #[test]
    fn what_is_not_one_last_block_is_refused() {
        for reply in [
            "<lattice_update nonce=abd>{}</lattice_update>",
            "<lattice_update>{}</lattice_update>",
            "<lattice_update nonce=>{}</lattice_update>",
            "<lattice_update nonce=abc x=1>{}</lattice_update>",
            "<lattice_update nonce=abc nonce=abc>{}</lattice_update>",
            "<lattice_updates nonce=abc>{}</lattice_update>",
            "<lattice_update nonce=abc>{}",
            "<lattice_update nonce=abc>{}</lattice_update> and more",
            "<lattice_update nonce=abc>{}</lattice_update><lattice_update nonce=abc>{}</lattice_update>",
            "<LATTICE_UPDATE nonce=abc>{}</LATTICE_UPDATE>",
            "say <lattice_update> <lattice_update nonce=abc>{}</lattice_update>",
            "```\n<lattice_update nonce=abc>{}</lattice_update>",
            "</lattice_update>",
        ] {
            assert!(block(reply, "abc").is_err(), "{reply}");
        }
        assert!(block("<lattice_update nonce=>{}</lattice_update>", "").is_err());
    }

    proptest! {
        #[test]
        fn no_block_of_another_spelling_is_taken(text in "\\PC{0,40}", tail in "[<>/a-z_ =\"]{0,60}") {
            let reply = format!("{text}<Lattice_Update {tail}");
            prop_assert!(!matches!(block(&reply, "abc"), Ok(Some(_))));
        }
    }
}
