//! `SOUL.md`: the four Laws as the owner can read them. What the code checks stands in the guard; this file is pinned
//! by its digest, and a changed one is in force only after the rite (design: policy §1).

use metnos_proto::ids::Blake3;

/// How many Laws there are.
pub const LAWS: usize = 4;
/// The longest file that is read, in bytes.
pub const MAX_BYTES: usize = 64 * 1024;
/// The longest Law, in bytes.
pub const MAX_LAW: usize = 1024;

/// The constitution, as one file has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Soul {
    /// The four Laws, in their order: name and text.
    pub laws: [Law; LAWS],
    /// Digest of the whole file, every byte of it.
    pub digest: Blake3,
}

/// One Law.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Law {
    /// `Perimeter`, …
    pub name: String,
    /// What it says.
    pub text: String,
}

/// Why a file is no constitution.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("SOUL.md: {0}")]
pub struct SoulError(pub String);

/// Reads the Laws: exactly four lines `1. **Name**: text`, numbered in order, each on one line.
///
/// # Errors
/// Whatever is not of that form.
pub fn parse(bytes: &[u8]) -> Result<Soul, SoulError> {
    let wrong = |why: String| Err(SoulError(why));
    if bytes.len() > MAX_BYTES {
        return wrong(format!("it has {} bytes, {MAX_BYTES} is the limit", bytes.len()));
    }
    let Ok(text) = std::str::from_utf8(bytes) else { return wrong("it is not UTF-8".to_owned()) };
    let mut laws: [Law; LAWS] = Default::default();
    let mut found = 0;
    for (number, line) in text.lines().filter_map(numbered) {
        if found == LAWS {
            return wrong(format!("there are more than {LAWS} numbered Laws"));
        }
        if number != found + 1 {
            return wrong(format!("Law {number} stands where Law {} must", found + 1));
        }
        laws[found] = law(line).ok_or_else(|| {
            SoulError(format!(
                "Law {number} is not of the form `{number}. **Name**: text`, or has more than {MAX_LAW} bytes"
            ))
        })?;
        found += 1;
    }
    if found < LAWS {
        return wrong(format!("it has {found} numbered Laws, {LAWS} are wanted"));
    }
    Ok(Soul { laws, digest: Blake3::of(bytes) })
}

/// A line that begins with a number and a point.
fn numbered(line: &str) -> Option<(usize, &str)> {
    let (number, rest) = line.trim().split_once('.')?;
    (number.len() <= 3 && rest.starts_with(' ') && number.bytes().all(|b| b.is_ascii_digit()))
        .then(|| number.parse().ok().map(|number| (number, rest.trim())))
        .flatten()
}

fn law(line: &str) -> Option<Law> {
    let (name, text) = line.strip_prefix("**")?.split_once("**:")?;
    let (name, text) = (name.trim(), text.trim());
    let fits = !name.is_empty() && !text.is_empty() && line.len() <= MAX_LAW && !line.chars().any(char::is_control);
    fits.then(|| Law { name: name.to_owned(), text: text.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SHIPPED: &[u8] = include_bytes!("../../../examples/workspace/SOUL.md");

    #[test]
    fn the_soul_that_is_shipped_has_the_four_laws_in_their_order() {
        let soul = parse(SHIPPED).unwrap();
        let names: Vec<&str> = soul.laws.iter().map(|law| law.name.as_str()).collect();
        assert_eq!(names, ["Perimeter", "Non-harm", "Informed obedience", "Traceability"]);
        assert_eq!(soul.digest, Blake3::of(SHIPPED));
    }

    #[test]
    fn one_changed_byte_changes_the_constitution_digest() {
        let mut other = SHIPPED.to_vec();
        other.push(b' ');
        assert_ne!(parse(&other).unwrap().digest, parse(SHIPPED).unwrap().digest);
    }

    #[test]
    fn fewer_more_disordered_or_unreadable_laws_are_none() {
        let text = String::from_utf8(SHIPPED.to_vec()).unwrap();
        let without = text.lines().filter(|line| !line.starts_with("4.")).collect::<Vec<_>>().join("\n");
        assert!(parse(without.as_bytes()).is_err());
        assert!(parse(format!("{text}\n5. **More**: yes.\n").as_bytes()).is_err());
        assert!(parse(text.replace("1. **", "2. **").as_bytes()).is_err());
        assert!(parse(text.replace("**Perimeter**", "Perimeter").as_bytes()).is_err());
        assert!(parse(&[0xff, 0xfe]).is_err());
        assert!(parse(&vec![b' '; MAX_BYTES + 1]).is_err());
    }

    proptest! {
        #[test]
        fn no_bytes_stop_the_reading(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            if let Ok(soul) = parse(&bytes) {
                prop_assert!(soul.laws.iter().all(|law| !law.name.is_empty() && !law.text.is_empty()));
            }
        }
    }
}
