//! Forms of asking: `a|b` is one of these words, `[a|b]` maybe one of them. They are compared with words in small letters without
//! accents. Pure.

/// A part of a form.
#[derive(Debug)]
enum Part<'a> {
    /// One of these words.
    One(&'a str),
    /// One of these, or nothing.
    Maybe(&'a str),
}

fn part(text: &str) -> Part<'_> {
    match text.strip_prefix('[').and_then(|text| text.strip_suffix(']')) {
        Some(words) => Part::Maybe(words),
        None => Part::One(text),
    }
}

fn is_one_of(words: &str, said: Option<&&str>) -> bool {
    said.is_some_and(|said| words.split('|').any(|word| word == *said))
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
pub(super) fn begins(forms: &str, said: &[&str]) -> Option<usize> {
    forms.lines().map(str::trim).filter(|form| !form.is_empty()).filter_map(|form| taken(form, said)).max()
}

/// Whether all the words are of one of these forms.
pub(super) fn is_whole(forms: &str, said: &[&str]) -> bool {
    begins(forms, said) == Some(said.len())
}

#[cfg(test)]
mod tests {
    use super::*;

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
