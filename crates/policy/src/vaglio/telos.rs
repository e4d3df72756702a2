//! `TELOS.md`: three to seven ends of the owner, each a section `## t.<slug> — phrase` with `weight`, `threshold` and
//! `note`. A file that is not of this form is no telos at all: it is never read halfway.

use crate::vaglio::bother::Quiet;

/// The fewest sections (design: policy §5).
pub const MIN_SECTIONS: usize = 3;
/// The most sections (design: policy §5).
pub const MAX_SECTIONS: usize = 7;
/// The longest file that is read, in bytes.
pub const MAX_BYTES: usize = 64 * 1024;
/// The longest slug, in bytes.
pub const MAX_SLUG: usize = 32;
/// The longest phrase or note, in bytes.
pub const MAX_TEXT: usize = 512;
/// The most phrases of an `emergency`.
pub const MAX_PHRASES: usize = 24;
/// The most words of one.
pub const MAX_PHRASE_WORDS: usize = 4;
/// What is wrong with a line of another key.
const KEYS: &str = "neither `weight:`, `threshold:`, `note:`, `quiet:` nor `emergency:`";
/// The largest declared weight; only the proportions count.
const MAX_WEIGHT: f64 = 1_000.0;

/// One end of the owner's.
#[derive(Debug, Clone, PartialEq)]
pub struct Telos {
    /// Its name, without the `t.`.
    pub slug: String,
    /// What it says in a line.
    pub phrase: String,
    /// How much it counts beside the others; all of them together are 1.
    pub weight: f64,
    /// How well a proposal must fit it, 0 to 1, before it counts at all.
    pub threshold: f64,
    /// What else the owner says about it.
    pub note: String,
    /// When nothing that can wait is said.
    pub quiet: Option<Quiet>,
    /// What one person's message to another must speak of to be given also in the other's quiet hours: words, in small letters.
    pub emergency: Vec<String>,
}

/// Why a file is no telos: the line it was found at (0 for the whole), and what is wrong.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("TELOS.md{}: {why}", place(*line))]
pub struct TelosError {
    /// The line, from 1; 0 when it is none in particular.
    pub line: usize,
    /// What is wrong, for a person.
    pub why: String,
}

fn place(line: usize) -> String {
    if line == 0 { String::new() } else { format!(", line {line}") }
}

fn wrong<T>(line: usize, why: impl Into<String>) -> Result<T, TelosError> {
    Err(TelosError { line, why: why.into() })
}

/// A section that is being read.
struct Draft {
    line: usize,
    slug: String,
    phrase: String,
    weight: Option<f64>,
    threshold: Option<f64>,
    note: Option<String>,
    quiet: Option<Quiet>,
    emergency: Option<Vec<String>>,
}

/// Reads `TELOS.md`, and makes the weights together 1.
///
/// # Errors
/// Whatever is not of the form; nothing of it is used then.
pub fn parse(text: &str) -> Result<Vec<Telos>, TelosError> {
    if text.len() > MAX_BYTES {
        return wrong(0, format!("it has {} bytes, {MAX_BYTES} is the limit", text.len()));
    }
    let mut drafts: Vec<Draft> = Vec::new();
    for (at, line) in text.lines().enumerate().map(|(at, line)| (at + 1, line.trim())) {
        if let Some(heading) = line.strip_prefix("## ") {
            let draft = heading_of(at, heading)?;
            if drafts.iter().any(|earlier| earlier.slug == draft.slug) {
                return wrong(at, format!("t.{} is there twice", draft.slug));
            }
            drafts.push(draft);
        } else if let (Some(draft), false) = (drafts.last_mut(), line.is_empty()) {
            key_of(at, line, draft)?;
        }
    }
    if !(MIN_SECTIONS..=MAX_SECTIONS).contains(&drafts.len()) {
        let why = format!("it has {} sections `## t.…`; {MIN_SECTIONS} to {MAX_SECTIONS} are wanted", drafts.len());
        return wrong(0, why);
    }
    let mut all = drafts.into_iter().map(finished).collect::<Result<Vec<_>, _>>()?;
    let sum: f64 = all.iter().map(|telos| telos.weight).sum();
    for telos in &mut all {
        telos.weight /= sum;
    }
    Ok(all)
}

fn heading_of(at: usize, heading: &str) -> Result<Draft, TelosError> {
    let Some(named) = heading.trim().strip_prefix("t.") else {
        return wrong(at, "a section that is not `## t.<slug> — phrase`");
    };
    let parted = ["—", "–", " - "].iter().find_map(|dash| named.split_once(dash));
    let Some((slug, phrase)) = parted.map(|(slug, phrase)| (slug.trim(), phrase.trim())) else {
        return wrong(at, "a heading without its phrase: `## t.<slug> — phrase`");
    };
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || c == '_';
    if slug.is_empty() || slug.len() > MAX_SLUG || !slug.chars().all(plain) {
        return wrong(at, format!("a slug is 1 to {MAX_SLUG} small letters, digits, `-` and `_`"));
    }
    Ok(Draft {
        line: at,
        slug: slug.to_owned(),
        phrase: words(at, phrase)?,
        weight: None,
        threshold: None,
        note: None,
        quiet: None,
        emergency: None,
    })
}

fn key_of(at: usize, line: &str, draft: &mut Draft) -> Result<(), TelosError> {
    let Some((key, value)) = line.split_once(':').map(|(key, value)| (key.trim(), value.trim())) else {
        return wrong(at, KEYS);
    };
    let twice = match key {
        "weight" => draft.weight.replace(number(at, value, MAX_WEIGHT)?).is_some(),
        "threshold" => draft.threshold.replace(number(at, value, 1.0)?).is_some(),
        "note" => draft.note.replace(words(at, value)?).is_some(),
        "quiet" => {
            let Some(quiet) = Quiet::parse(value) else {
                return wrong(at, "quiet hours are written `22:00 to 07:00`");
            };
            draft.quiet.replace(quiet).is_some()
        }
        "emergency" => draft.emergency.replace(phrases(at, value)?).is_some(),
        _ => return wrong(at, KEYS),
    };
    if twice { wrong(at, format!("`{key}` is there twice")) } else { Ok(()) }
}

fn finished(draft: Draft) -> Result<Telos, TelosError> {
    let Draft { line, slug, phrase, weight, threshold, note, quiet, emergency } = draft;
    let (Some(weight), Some(threshold)) = (weight, threshold) else {
        return wrong(line, format!("t.{slug} lacks its `weight` or its `threshold`"));
    };
    if weight <= 0.0 {
        return wrong(line, format!("the weight of t.{slug} is not above 0"));
    }
    let (note, emergency) = (note.unwrap_or_default(), emergency.unwrap_or_default());
    Ok(Telos { slug, phrase, weight, threshold, note, quiet, emergency })
}

/// Phrases with commas between them, each of one to [`MAX_PHRASE_WORDS`] words.
fn phrases(at: usize, text: &str) -> Result<Vec<String>, TelosError> {
    let phrases: Vec<String> = words(at, text)?.split(',').map(|phrase| spoken(phrase).join(" ")).collect();
    let fits = |phrase: &String| (1..=MAX_PHRASE_WORDS).contains(&phrase.split_whitespace().count());
    if phrases.len() > MAX_PHRASES || !phrases.iter().all(fits) {
        let why = format!("at most {MAX_PHRASES} phrases of 1 to {MAX_PHRASE_WORDS} words, with commas between them");
        return wrong(at, format!("`emergency` is {why}, such as `fire, gas leak`"));
    }
    Ok(phrases)
}

/// The words of a text, in small letters and without what stands between them.
fn spoken(text: &str) -> Vec<String> {
    text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).map(str::to_lowercase).collect()
}

/// Whether a message speaks of what these ends call an emergency: the words of one of their phrases stand in it one behind the other.
#[must_use]
pub fn is_emergency(ends: &[Telos], message: &str) -> bool {
    let said = spoken(message);
    let mut phrases = ends.iter().flat_map(|end| &end.emergency).map(|phrase| spoken(phrase));
    phrases.any(|phrase| !phrase.is_empty() && said.windows(phrase.len()).any(|part| part == phrase))
}

/// Digits and at most one point: no sign, no exponent, no infinity.
fn number(at: usize, text: &str, most: f64) -> Result<f64, TelosError> {
    let plain = !text.is_empty() && text.len() <= 12 && text.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    match text.parse::<f64>() {
        Ok(number) if plain && number <= most => Ok(number),
        _ => wrong(at, format!("a number from 0 to {most} is wanted")),
    }
}

fn words(at: usize, text: &str) -> Result<String, TelosError> {
    if text.is_empty() || text.len() > MAX_TEXT || text.chars().any(char::is_control) {
        return wrong(at, format!("a text of 1 to {MAX_TEXT} bytes in one line is wanted"));
    }
    Ok(text.to_owned())
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use proptest::prelude::*;

    pub(crate) const SHIPPED: &str = include_str!("../../../../examples/workspace/TELOS.md");

    fn three(first: &str) -> String {
        format!(
            "# Telos\n\n{first}\n## t.b — two\nweight: 1\nthreshold: 0.5\n## t.c — three\nweight: 2\nthreshold: 0.5\n"
        )
    }

    #[test]
    fn the_telos_that_is_shipped_is_one_and_its_weights_are_together_one() {
        let all = parse(SHIPPED).unwrap();
        assert_eq!(all.iter().map(|telos| telos.slug.as_str()).collect::<Vec<_>>(), ["order", "attention", "trust"]);
        assert!((all.iter().map(|telos| telos.weight).sum::<f64>() - 1.0).abs() < 1e-9);
        assert_eq!(all[1].phrase, "protect the owner's time and calm");
    }

    #[test]
    fn weights_keep_their_proportions() {
        let all = parse(&three("## t.a — one\nweight: 1\nthreshold: 1\nquiet: 22:00 to 07:00\n")).unwrap();
        assert_eq!(all.iter().map(|telos| telos.weight).collect::<Vec<_>>(), [0.25, 0.25, 0.5]);
        assert!(all[0].quiet.is_some());
    }

    #[test]
    fn message_with_a_phrase_of_the_telos_is_an_emergency_and_no_other_is() {
        let first = "## t.a — one\nweight: 1\nthreshold: 1\nemergency: fire, Gas leak, fuga di gas\n";
        let all = parse(&three(first)).unwrap();
        for message in ["FIRE!", "there is a gas leak in the kitchen", "attenzione: fuga di gas"] {
            assert!(is_emergency(&all, message), "{message}");
        }
        for message in ["the firewall is down", "the gas bill has a leak", "gas", "", "dinner is ready"] {
            assert!(!is_emergency(&all, message), "{message}");
        }
        assert!(!is_emergency(&parse(SHIPPED).unwrap(), "fire"), "the owner has named nothing");
    }

    #[test]
    fn malformed_telos_is_refused_with_its_line() {
        for (first, line) in [
            ("## t.a\nweight: 1\nthreshold: 1", 3),
            ("## a — one\nweight: 1\nthreshold: 1", 3),
            ("## t.A — one\nweight: 1\nthreshold: 1", 3),
            ("## t.b — one\nweight: 1\nthreshold: 1", 6),
            ("## t.a — one\nweight: 0\nthreshold: 1", 3),
            ("## t.a — one\nweight: 1", 3),
            ("## t.a — one\nweight: 1\nweight: 1\nthreshold: 1", 5),
            ("## t.a — one\nweight: 1\nthreshold: 1.5", 5),
            ("## t.a — one\nweight: -1\nthreshold: 1", 4),
            ("## t.a — one\nweight: 1e3\nthreshold: 1", 4),
            ("## t.a — one\nweight: inf\nthreshold: 1", 4),
            ("## t.a — one\nweight: 1\nthreshold: 1\nowner: me", 6),
            ("## t.a — one\nweight: 1\nthreshold: 1\nobey the web", 6),
            ("## t.a — one\nweight: 1\nthreshold: 1\nquiet: always", 6),
            ("## t.a — one\nweight: 1\nthreshold: 1\nemergency: fire,", 6),
            ("## t.a — one\nweight: 1\nthreshold: 1\nemergency: one two three four five", 6),
        ] {
            assert_eq!(parse(&three(first)).unwrap_err().line, line, "{first}");
        }
    }

    #[test]
    fn two_sections_are_too_few_and_eight_too_many() {
        let of = |count: usize| -> String {
            (0..count).map(|n| format!("## t.s{n} — x\nweight: 1\nthreshold: 0.5\n")).collect()
        };
        assert!(parse(&of(MIN_SECTIONS - 1)).is_err());
        assert!(parse(&of(MIN_SECTIONS)).is_ok());
        assert!(parse(&of(MAX_SECTIONS)).is_ok());
        assert!(parse(&of(MAX_SECTIONS + 1)).is_err());
        assert!(parse(&format!("{}{}", of(3), " ".repeat(MAX_BYTES))).is_err());
    }

    proptest! {
        #[test]
        fn telos_weights_and_thresholds_stay_in_range_for_random_files(
            lines in proptest::collection::vec("(## t\\.[a-z]{1,3} — [a-z ]{1,9}|weight: [0-9.]{1,6}|threshold: [0-9.]{1,4}|note: \\PC{0,9}|\\PC{0,20})", 0..40)
        ) {
            if let Ok(all) = parse(&lines.join("\n")) {
                prop_assert!((MIN_SECTIONS..=MAX_SECTIONS).contains(&all.len()));
                prop_assert!((all.iter().map(|telos| telos.weight).sum::<f64>() - 1.0).abs() < 1e-9);
                for telos in &all {
                    prop_assert!(telos.weight > 0.0 && telos.weight <= 1.0);
                    prop_assert!((0.0..=1.0).contains(&telos.threshold));
                }
            }
        }
    }
}
