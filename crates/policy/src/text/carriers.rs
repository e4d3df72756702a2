//! What in a text can lead a person somewhere: links, addresses, account numbers, phones. It
//! only finds them; a text in which it finds nothing is not thereby trusted.

use crate::text::words::Words;

/// The fewest digits that count as a phone or account number.
const MIN_DIGITS: usize = 7;

/// Whether `text` carries a link, an address, an account number or a phone that `words` lack.
#[must_use]
pub fn foreign(text: &str, words: &Words) -> bool {
    let text = &as_read(text);
    spaced_number(text, words) || tokens(text).any(|token| leads(token) && !words.mention(token))
}

/// The text with every link and address that `words` lack written so that nothing opens it: `https[:]//evil[.]example`.
#[must_use]
pub fn inert(text: &str, words: &Words) -> String {
    if !foreign(text, words) {
        return text.to_owned();
    }
    let text = as_read(text);
    let opens = |token: &&str| {
        let lower = token.to_lowercase();
        lower.contains("//")
            || lower.starts_with("www.")
            || has_scheme(&lower)
            || token.contains('@')
            || looks_like_host(&lower)
    };
    let mut links: Vec<&str> = tokens(&text).filter(opens).filter(|token| !words.mention(token)).collect();
    // The longer ones first, of which others may be parts.
    links.sort_by_key(|token| std::cmp::Reverse(token.len()));
    links.dedup();
    let closed = |token: &str| token.replace(':', "[:]").replace('.', "[.]").replace('@', "[at]");
    links.iter().fold(text.clone(), |text, link| text.replace(link, &closed(link)))
}

/// The text as eyes and programs read it: without what is not seen, every digit a digit, every full stop a full stop.
fn as_read(text: &str) -> String {
    text.chars().filter(|c| !is_unseen(*c)).map(plain).collect()
}

/// Characters without a width: they break a word for anyone who compares it, and for nobody who reads it.
fn is_unseen(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}'
        | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{e0000}'..='\u{e0fff}')
}

fn plain(c: char) -> char {
    match c {
        // The wide forms of what a keyboard has.
        '\u{ff01}'..='\u{ff5e}' => char::from_u32(u32::from(c) - 0xfee0).unwrap_or(c),
        '\u{3002}' | '\u{ff61}' | '\u{2024}' => '.',
        '\u{2044}' | '\u{2215}' | '\u{29f8}' => '/',
        '\u{2236}' | '\u{a789}' => ':',
        '\\' => '/',
        // Of digits of other scripts only how many there are counts: none of them is what the owner typed in these.
        c if c.is_numeric() && !c.is_ascii_digit() => '0',
        c => c,
    }
}

fn tokens(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| c.is_whitespace() || "<>()[]{}\"'`,;|".contains(c))
        .map(|token| token.trim_matches(['.', '!', '?', ':', '*', '_']))
        .filter(|token| !token.is_empty())
}

/// Whether a token is a link, an address, a handle or a long number.
fn leads(token: &str) -> bool {
    let lower = token.to_lowercase();
    let digits = token.chars().filter(char::is_ascii_digit).count();
    lower.contains("//")
        || lower.starts_with("www.")
        || has_scheme(&lower)
        || token.contains('@')
        || looks_like_host(&lower)
        || digits >= MIN_DIGITS
        || (digits >= 6 && token.starts_with(|c: char| c.is_ascii_alphabetic()))
}

/// `scheme:something`, where that is no number as after `total:`.
fn has_scheme(token: &str) -> bool {
    let Some((scheme, rest)) = token.split_once(':') else { return false };
    let is_scheme = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.');
    scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme.chars().all(is_scheme)
        && rest.chars().any(char::is_alphabetic)
}

/// `name.tld`, perhaps with a path.
fn looks_like_host(token: &str) -> bool {
    let host = token.split(['/', ':', '?', '#']).next().unwrap_or_default();
    let mut labels = host.rsplit('.');
    let (Some(top), Some(name)) = (labels.next(), labels.next()) else { return false };
    let is_label = |label: &str| !label.is_empty() && label.chars().all(|c| c.is_alphanumeric() || c == '-');
    top.len() >= 2 && top.chars().all(char::is_alphabetic) && is_label(name) && name.chars().any(char::is_alphabetic)
}

/// A long number written in groups: `+39 06 1234 5678`, `GB29 NWBK 6016`.
fn spaced_number(text: &str, words: &Words) -> bool {
    // What else stands between two digits groups them; a comma or a colon makes two numbers, an amount or a time.
    let groups = |c: &char| c.is_alphanumeric() || matches!(c, ',' | ';' | ':' | '\n');
    let grouped: String = text.chars().filter(groups).collect();
    let mut run = String::new();
    let mut runs = Vec::new();
    for c in grouped.chars().chain([' ']) {
        if c.is_ascii_digit() {
            run.push(c);
        } else if !run.is_empty() {
            runs.push(std::mem::take(&mut run));
        }
    }
    let written = |run: &str| text.contains(run);
    runs.iter().any(|run| run.len() >= MIN_DIGITS && !(written(run) && words.mention(run)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use metnos_proto::msg::common::Lang;
    use proptest::prelude::*;

    fn words(text: &str) -> Words {
        let mut words = Words::default();
        words.add(text, Lang::En);
        words
    }

    #[test]
    fn foreign_links_are_made_inert_and_the_persons_own_stay() {
        let typed = words("look at https://good.example/a");
        assert_eq!(inert("see https://good.example/a at 10:30", &typed), "see https://good.example/a at 10:30");
        assert_eq!(inert("see https://evil.example/x.", &typed), "see https[:]//evil[.]example/x.");
        assert_eq!(inert("www.evil.example, eve@evil.example", &typed), "www[.]evil[.]example, eve[at]evil[.]example");
        assert_eq!(inert("see h\u{200b}ttps://evil.example", &typed), "see https[:]//evil[.]example");
        assert_eq!(inert("dinner at 19:30. Bring bread.", &typed), "dinner at 19:30. Bring bread.");
    }

    proptest! {
        #[test]
        fn inert_text_leads_to_no_host(text in "([a-z.:/@ ]|https://|www\\.|\u{200b}){0,12}") {
            let made = inert(&text, &words("nothing"));
            prop_assert!(tokens(&made).all(|token| !looks_like_host(&token.to_lowercase()) && !token.contains("://")), "{made}");
        }
    }

    #[test]
    fn addresses_are_found_unless_the_owner_typed_them() {
        for text in [
            "see https://evil.example/x",
            "go to www.evil.example",
            "evil-site.com has it",
            "mail eve@evil.example",
            "ask @mallory",
            "pay US133000000121212121212",
            "call +39 06 1234 5678",
            "call 3331234567",
            "call \u{ff13}\u{ff13}\u{ff13} \u{661}\u{662}\u{663}\u{664}",
            "call 333\u{b7}123\u{b7}4567",
            "see http:\\\\evil.zz",
            "see //evil/x",
            "javascript:fetch",
            "ev\u{200b}il\u{3002}ex\u{ad}ample",
            "mail eve\u{ff20}evil",
        ] {
            assert!(foreign(text, &words("tell giulia the forecast")), "{text}");
            assert!(!foreign("see https://a.example/x", &words("send https://a.example/x to giulia")));
        }
        for text in [
            "Tomorrow sun, 24 degrees.",
            "e.g. 12.50 euros at 10:30",
            "Totale 98,70 EUR",
            "Total:98 and so on: well",
            "and/or",
        ] {
            assert!(!foreign(text, &words("")), "{text}");
        }
    }

    proptest! {
        #[test]
        fn garbage_never_panics(text in "\\PC{0,200}") {
            let _ = foreign(&text, &words(&text));
        }
    }
}
