//! Forms of asking: `a|b` is one of these words, `[a|b]` maybe one of them. They are compared with words in small letters without
//! accents. Pure.

/// A part of a form.
#[derive(Debug)]
pub(super) enum Part<'a> {
    /// One of these words.
    One(&'a str),
    /// One of these, or nothing.
    Maybe(&'a str),
}

pub(super) fn part(text: &str) -> Part<'_> {
    match text.strip_prefix('[').and_then(|text| text.strip_suffix(']')) {
        Some(words) => Part::Maybe(words),
        None => Part::One(text),
    }
}

/// Whether a word is one of these, which bars separate.
pub(super) fn is_word_of(words: &str, said: &str) -> bool {
    words.split('|').any(|word| word.trim() == said)
}

pub(super) fn is_one_of(words: &str, said: Option<&&str>) -> bool {
    said.is_some_and(|said| is_word_of(words, said))
}

/// How many of the words a form takes up from the first one on; `None` when they are not of this form.
fn taken(form: &str, said: &[&str]) -> Option<usize> {
    let mut at = 0;
    for text in form.split_ascii_whitespace() {
        match part(text) {
            Part::One(words) if is_one_of(words, said.get(at)) => at += 1,
            Part::One(_) => return None,
            Part::Maybe(words) => at += usize::from(is_one_of(words, said.get(at))),
        }
    }
    Some(at)
}

/// How many words the longest of these forms takes up, of which each stands on a line.
pub(crate) fn begins(forms: &str, said: &[&str]) -> Option<usize> {
    forms.lines().map(str::trim).filter(|form| !form.is_empty()).filter_map(|form| taken(form, said)).max()
}

/// Words of these forms that are long enough to be known with one slip of the finger in them.
const LONG: [&str; 14] = [
    "remind",
    "reminder",
    "reminders",
    "ricordami",
    "ricordaci",
    "ricordarmi",
    "promemoria",
    "sveglia",
    "svegliami",
    "cancel",
    "delete",
    "cancella",
    "annulla",
    "elimina",
];

/// Words that are one letter away from those, and others.
const OTHER: [&str; 12] = [
    "ricordati",
    "ricordate",
    "ricordati",
    "ricordalo",
    "ricordala",
    "rewind",
    "remand",
    "behind",
    "sveglio",
    "svegli",
    "sveglie",
    "cancelli",
];

/// Whether a word is another one with one letter wrong or missing, or two that have changed places. One that only has an ending more
/// is another word.
fn is_slip(said: &str, known: &str) -> bool {
    let (said, known): (Vec<char>, Vec<char>) = (said.chars().collect(), known.chars().collect());
    let same = said.iter().zip(&known).take_while(|(a, b)| a == b).count();
    let (rest, left) = (&said[same..], &known[same..]);
    if said.len() == known.len() {
        let swapped = rest.len() > 1 && rest[0] == left[1] && rest[1] == left[0] && rest[2..] == left[2..];
        // A last letter that is another one makes another form: "reminded".
        return swapped || rest.len() > 1 && rest[1..] == left[1..];
    }
    said.len() + 1 == known.len() && *rest == left[1..]
        || known.len() + 1 == said.len() && !left.is_empty() && rest[1..] == *left
}

/// The words with such slips mended.
pub(super) fn mended<'a>(said: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let known = |word: &'a str| {
        if LONG.contains(&word) || OTHER.contains(&word) {
            None
        } else {
            LONG.iter().find(|known| is_slip(word, known))
        }
    };
    said.map(|word| known(word).copied().unwrap_or(word)).collect()
}

/// Whether all the words are of one of these forms.
pub(crate) fn is_whole(forms: &str, said: &[&str]) -> bool {
    begins(forms, said) == Some(said.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_slip_is_mended_and_another_word_is_not() {
        let said = ["remnd", "ricrodami", "promemora", "cancle", "reminds", "remand", "sveglio", "list"];
        let mended = mended(said.into_iter());
        assert_eq!(mended[..4], ["remind", "ricordami", "promemoria", "cancel"]);
        assert_eq!(mended[4..], ["reminds", "remand", "sveglio", "list"]);
    }

    #[test]
    fn longest_form_counts_and_optional_words_may_be_missing() {
        let forms = "remind me|us [to]\nset [a|an] alarm\n";
        assert_eq!(begins(forms, &["remind", "us", "to", "go"]), Some(3));
        assert_eq!(begins(forms, &["remind", "me", "of"]), Some(2));
        assert_eq!(begins(forms, &["set", "alarm"]), Some(2));
        assert_eq!(begins(forms, &["remind", "him"]), None);
        assert!(is_whole(forms, &["set", "an", "alarm"]) && !is_whole(forms, &["set", "an", "alarm", "now"]));
    }
}
