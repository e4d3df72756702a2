//! Texts of others as a card shows them: on one line, both ends of a long one, and with every character marked that is not
//! seen or is taken for another. Two texts that differ are never shown alike.

use metnos_proto::ids::Blake3;
use metnos_proto::masks::masked;
use metnos_proto::msg::common::Lang;
use serde_json::Value;

use crate::{Key, tell};

/// The most of one value that is shown, in characters of it.
pub const MAX_VALUE: usize = 300;
/// The same of an address: it is shown whole, because all of it is sent.
pub const MAX_ADDRESS: usize = 2_000;
/// The same of what leaves the house: nobody can agree to words that are not shown. More than a card can hold at all.
pub const MAX_WHOLE: usize = 16_384;
/// How many digits distinguish two texts whose shown parts are the same.
const DIGITS: usize = 12;

/// A value as it is shown. A text that could be taken for another kind of value stands in quotes.
#[must_use]
pub fn value(value: &Value, lang: Lang) -> String {
    line(&written(value), lang)
}

/// The same without leaving anything out, for what leaves the house.
#[must_use]
pub fn whole(value: &Value, lang: Lang) -> String {
    bounded(&written(value), MAX_WHOLE, lang)
}

fn written(value: &Value) -> String {
    match value.as_str() {
        Some(text) if !text.is_empty() && serde_json::from_str::<Value>(text).is_err() => text.to_owned(),
        Some(_) | None => value.to_string(),
    }
}

/// A text as a sentence: with a capital letter in front, where a word and no name stands there, and a full stop behind.
#[must_use]
pub fn sentence(text: &str) -> String {
    let text = text.trim();
    let first = text.split(' ').next().unwrap_or_default();
    let is_word = first.trim_end_matches('.').chars().all(|c| c.is_alphabetic() || matches!(c, '\'' | '’' | ',' | ':'));
    let mut chars = text.chars();
    let capital = match chars.next() {
        None => return String::new(),
        Some(c) if is_word => c.to_uppercase().chain(chars).collect(),
        Some(_) => text.to_owned(),
    };
    if capital.ends_with(['.', '!', '?', '…']) { capital } else { capital + "." }
}

/// A text on one line, with what is invisible marked, what grants access hidden, and the middle of a long one left out.
#[must_use]
pub fn line(text: &str, lang: Lang) -> String {
    let most = if text.starts_with("https://") || text.starts_with("http://") { MAX_ADDRESS } else { MAX_VALUE };
    bounded(text, most, lang)
}

fn bounded(text: &str, most: usize, lang: Lang) -> String {
    let safe = masked(text);
    let all: Vec<char> = safe.chars().collect();
    let finger = || Blake3::of(text.as_bytes()).hex().chars().take(DIGITS).collect::<String>();
    if all.len() <= most {
        let shown = marked(&all);
        return if safe == text { shown } else { format!("{shown} ⟨{}⟩", finger()) };
    }
    let half = most / 2;
    let left_out = (all.len() - 2 * half) as u64;
    let told = tell(lang, Key::CardLeftOut, &[("count", left_out.into()), ("mark", (&finger()).into())]);
    format!("{} ⟨{told}⟩ {}", marked(&all[..half]), marked(&all[all.len() - half..]))
}

/// Characters with a mark in the place of, or behind, each that is not what it seems.
fn marked(text: &[char]) -> String {
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    while let Some(&c) = text.get(at) {
        if !c.is_alphabetic() || hides(c) {
            let blank = c == ' ' && (at == 0 || at + 1 == text.len() || text[at - 1] == ' ');
            if blank || hides(c) {
                mark(&mut out, c)
            } else {
                out.push(c)
            }
            at += 1;
            continue;
        }
        let end = text[at..].iter().position(|c| !c.is_alphabetic() || hides(*c)).map_or(text.len(), |end| at + end);
        word(&mut out, &text[at..end]);
        at = end;
    }
    out
}

/// A word: letters that are taken for Latin ones are marked where they stand among Latin ones, or are all that there is.
fn word(out: &mut String, letters: &[char]) {
    let latin = letters.iter().any(|c| is_latin(*c));
    let all = letters.iter().all(|c| looks_latin(*c));
    for &c in letters {
        out.push(c);
        if (latin && !is_latin(c)) || (all && looks_latin(c)) {
            mark(out, c);
        }
    }
}

fn mark(out: &mut String, c: char) {
    out.push_str(&format!("⟨U+{:04X}⟩", u32::from(c)));
}

const fn is_latin(c: char) -> bool {
    matches!(c, 'a'..='z' | 'A'..='Z' | '\u{aa}' | '\u{ba}' | '\u{c0}'..='\u{17e}' | '\u{180}'..='\u{24f}' | '\u{1e00}'..='\u{1eff}')
}

/// Cyrillic and Greek letters that have the shape of a Latin one.
fn looks_latin(c: char) -> bool {
    "авеікморстухѕјһԁԛԝАВЕЅІЈКМНОРСТУХΑΒΕΖΗΙΚΜΝΟΡΤΥΧαοινρυϲ".contains(c)
}

/// Characters that are not seen, move others about, or are other forms of plain ones.
fn hides(c: char) -> bool {
    c.is_control()
        || c.is_whitespace() && c != ' '
        || matches!(c,
            '\u{27e8}' | '\u{27e9}' | '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
            | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
            | '\u{2800}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffd}'
            | '\u{e0000}'..='\u{e0fff}' | '\u{e000}'..='\u{f8ff}' | '\u{f0000}'..='\u{10ffff}')
        // What is put on the letter before it, and may be part of it in another text.
        || matches!(c, '\u{300}'..='\u{36f}' | '\u{483}'..='\u{489}' | '\u{1ab0}'..='\u{1aff}' | '\u{1dc0}'..='\u{1dff}' | '\u{20d0}'..='\u{20ff}' | '\u{fe20}'..='\u{fe2f}')
        // Other forms of what a keyboard has.
        || matches!(c, '\u{131}' | '\u{17f}' | '\u{212a}' | '\u{212b}' | '\u{2024}'..='\u{2026}' | '\u{2044}' | '\u{2215}' | '\u{29f8}' | '\u{29f5}'
            | '\u{2216}' | '\u{fe52}' | '\u{fe68}' | '\u{2571}' | '\u{223c}' | '\u{2dc}' | '\u{2010}'..='\u{2012}' | '\u{2212}' | '\u{fb00}'..='\u{fb06}'
            | '\u{ff00}'..='\u{ffef}' | '\u{1d400}'..='\u{1d7ff}' | '\u{2100}'..='\u{214f}')
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn en(text: &str) -> String {
        value(&json!(text), Lang::En)
    }

    #[test]
    fn invisible_and_lookalike_characters_are_marked() {
        for (text, shown) in [
            ("a\u{200b}b", "a⟨U+200B⟩b"),
            ("a\u{ad}b.md", "a⟨U+00AD⟩b.md"),
            ("a.md ", "a.md⟨U+0020⟩"),
            (" a", "⟨U+0020⟩a"),
            ("a  b", "a ⟨U+0020⟩b"),
            ("a\tb\nc", "a⟨U+0009⟩b⟨U+000A⟩c"),
            ("\u{202e}dm.a", "⟨U+202E⟩dm.a"),
            ("p\u{430}y", "p\u{430}⟨U+0430⟩y"),
            ("\u{441}\u{43e}\u{440}", "\u{441}⟨U+0441⟩\u{43e}⟨U+043E⟩\u{440}⟨U+0440⟩"),
            ("e\u{301}", "e⟨U+0301⟩"),
            ("\u{27e8}U+200B\u{27e9}", "⟨U+27E8⟩U+200B⟨U+27E9⟩"),
            ("perché «città» 漢字 ñ", "perché «città» 漢字 ñ"),
            ("привет", "привет"),
            ("true", "\"true\""),
            ("", "\"\""),
        ] {
            assert_eq!(en(text), shown, "{text:?}");
        }
    }

    #[test]
    fn a_sentence_has_a_capital_letter_and_a_full_stop_but_names_stay() {
        for (text, told) in [
            ("wait a moment", "Wait a moment."),
            ("èra", "Èra."),
            ("Done.", "Done."),
            ("notes/a.md is busy", "notes/a.md is busy."),
            ("`metnosctl doctor` says more", "`metnosctl doctor` says more."),
            ("what now?", "What now?"),
            ("  ", ""),
        ] {
            assert_eq!(sentence(text), told);
        }
    }

    #[test]
    fn a_long_text_shows_both_its_ends_and_how_much_is_left_out() {
        let long = format!("notes/{}precious.md", "./".repeat(500));
        let shown = en(&long);
        assert!(shown.starts_with("notes/") && shown.ends_with("precious.md"), "{shown}");
        assert!(shown.contains("717 characters left out"), "{shown}");
        let other = long.replacen("./././", "././x", 1);
        assert_ne!(en(&other), shown);
        let address = format!("https://a.example/{}", "x".repeat(1_000));
        assert_eq!(en(&address), address, "an address is shown whole");
    }

    #[test]
    fn token_in_address_is_hidden_and_two_are_distinguished() {
        let (one, other) = (en("https://h.example/?token=abcdef"), en("https://h.example/?token=abcdeg"));
        assert!(one.contains("token=***") && !one.contains("abcdef"), "{one}");
        assert_ne!(one, other);
        assert_ne!(one, en("https://h.example/?token=***"));
    }
}
