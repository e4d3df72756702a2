//! Numbers and times of day in a text, in digits or words, and whether one was said in another.

use std::collections::BTreeSet;

use super::lists::NUMBERS;
use super::token::Token;

/// One number of a text: the ways in which it may have been said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Number {
    /// As it stands.
    pub said: String,
    /// One of these must be among what the evidence [`says`].
    pub forms: Vec<String>,
}

/// A number and what stands behind it.
struct Mention {
    hour: Option<u32>,
    minutes: String,
    half: Option<bool>,
    plain: String,
}

fn mention(token: &Token, next: Option<&Token>) -> Option<Mention> {
    let plain = digits(&token.word)?;
    let (hours, minutes) = token.word.split_once([':', '.']).unwrap_or((&token.word, ""));
    let is_time = minutes.is_empty() || minutes.len() == 2;
    let hour = hours.parse::<u32>().ok().filter(|hour| *hour < 25 && is_time);
    let half = next.and_then(|next| match next.word.as_str() {
        "pm" => Some(true),
        "am" => Some(false),
        _ => None,
    });
    Some(Mention { hour, minutes: if minutes.is_empty() { "00" } else { minutes }.to_owned(), half, plain })
}

/// A number as it is compared: no zeros in front, no separators of thousands, a point before its decimals.
fn digits(word: &str) -> Option<String> {
    if let Some(line) = NUMBERS.lines().iter().find(|line| line[0] == word) {
        return Some(line[1].to_owned());
    }
    if !word.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let word = word.trim_end_matches(['.', ',', ':']);
    let groups: Vec<&str> = word.split(['.', ',']).collect();
    let (last, before) = groups.split_last()?;
    let thousands = groups.len() > 1 && last.len() == 3 && groups[0].len() <= 3 && !word.contains(':');
    let whole = if thousands { groups.concat() } else { before.concat() };
    let text = match (thousands || before.is_empty(), before.is_empty()) {
        (true, false) => whole,
        (true, true) => (*last).to_owned(),
        (false, _) => format!("{whole}.{}", last.trim_end_matches('0')),
    };
    let bare = text.trim_end_matches('.').trim_start_matches('0');
    Some(if bare.is_empty() || bare.starts_with('.') { format!("0{bare}") } else { bare.to_owned() })
}

/// Whether a word says a number.
#[must_use]
pub fn is_word(word: &str) -> bool {
    NUMBERS.lines().iter().any(|line| line[0] == word)
}

/// The numbers of a text.
#[must_use]
pub fn numbers(tokens: &[Token]) -> Vec<Number> {
    let one = |(at, token): (usize, &Token)| {
        let mention = mention(token, tokens.get(at + 1))?;
        Some(Number { said: token.word.clone(), forms: asked(&mention) })
    };
    tokens.iter().enumerate().filter_map(one).collect()
}

/// How a number of a claim may stand in its evidence: what says morning or evening was said there, too.
fn asked(mention: &Mention) -> Vec<String> {
    match (mention.hour, mention.half) {
        (Some(hour), Some(true)) => vec![format!("{}:{}", hour % 12 + 12, mention.minutes)],
        (Some(hour), Some(false)) => vec![format!("{}:{} am", hour % 12, mention.minutes)],
        (Some(_), None) | (None, _) => vec![mention.plain.clone()],
    }
}

/// Everything that the numbers of a text say.
#[must_use]
pub fn says(tokens: &[Token]) -> BTreeSet<String> {
    let mut all = BTreeSet::new();
    for (at, token) in tokens.iter().enumerate() {
        let Some(mention) = mention(token, tokens.get(at + 1)) else { continue };
        all.insert(mention.plain.clone());
        let Some(hour) = mention.hour else { continue };
        let minutes = &mention.minutes;
        if minutes == "00" {
            all.insert(hour.to_string());
        }
        let written_out = token.word.contains(':');
        match mention.half {
            Some(true) => all.extend([format!("{}:{minutes}", hour % 12 + 12), (hour % 12 + 12).to_string()]),
            Some(false) => all.extend([format!("{}:{minutes} am", hour % 12), format!("{hour}:{minutes}")]),
            None if hour > 12 => all.extend([format!("{hour}:{minutes}")]),
            None if written_out => all.extend([format!("{hour}:{minutes}"), format!("{hour}:{minutes} am")]),
            None => {}
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::super::reader::tokens;
    use super::*;

    fn holds(evidence: &str, claim: &str) -> bool {
        let said = says(&tokens(evidence));
        numbers(&tokens(claim)).iter().all(|number| number.forms.iter().any(|form| said.contains(form)))
    }

    #[test]
    fn number_is_found_in_words_and_digits() {
        for (evidence, claim) in [
            ("three cats", "3 cats"),
            ("tre gatti", "3 gatti"),
            ("it costs 1,200 euros", "costs 1200 euros"),
            ("costa 1.200,50", "costs 1200.5"),
            ("dinner at 8 pm", "dinner is at 8"),
            ("dinner at 8 pm", "dinner is at 20:00"),
            ("cena alle 20", "dinner is at 8 pm"),
            ("at 07:30", "at 7:30"),
            ("at 07:30", "at 7:30 am"),
            ("born on 2019-05-08", "born on 8 May 2019"),
        ] {
            assert!(holds(evidence, claim), "{evidence} / {claim}: {:?}", says(&tokens(evidence)));
        }
    }

    #[test]
    fn another_number_is_not_found() {
        for (evidence, claim) in [
            ("three cats", "4 cats"),
            ("it costs 1,200 euros", "costs 120 euros"),
            ("dinner at 8 am", "dinner is at 8 pm"),
            ("dinner at 8", "dinner is at 8 pm"),
            ("alle 19:30", "at 7:40 pm"),
            ("3.5 litres", "35 litres"),
        ] {
            assert!(!holds(evidence, claim), "{evidence} / {claim}");
        }
    }
}
