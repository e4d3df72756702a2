//! What of many texts tells the most, in sentences that were really written: pure, and no model. It never adds a word.
//!
//! A sentence is worth the rarity of the stems in it, by the square root of its length, so that a long one does not win by
//! being long; what a chosen sentence has told already counts no more. The chosen ones keep their order, and each names
//! the line it stands in.

use std::collections::{HashMap, HashSet};

use metnos_rank::lexicon;
use metnos_rank::words::{stemmed, tongue, words};

/// The longest sentence that is taken, in characters; a longer one is cut.
pub const MAX_SENTENCE_CHARS: usize = 240;
/// The most sentences of one text that are looked at.
pub const MAX_SENTENCES: usize = 64;

/// A sentence and where it stands.
struct Sentence<'a> {
    seq: u64,
    text: &'a str,
    stems: HashSet<String>,
}

/// The sentences that tell the most, each behind its line in brackets, at most `chars` characters; also the lines that
/// they stand in, ascending. Of what a question only asks, little is told, so questions count half.
#[must_use]
pub fn extract(texts: &[(u64, &str)], chars: usize) -> (String, Vec<u64>) {
    let sentences: Vec<Sentence<'_>> = texts.iter().flat_map(|(seq, text)| split(*seq, text)).collect();
    let mut with: HashMap<&str, usize> = HashMap::new();
    for stem in sentences.iter().flat_map(|sentence| &sentence.stems) {
        *with.entry(stem).or_default() += 1;
    }
    let rarity: HashMap<&str, f64> =
        with.into_iter().map(|(stem, with)| (stem, rarity(with, sentences.len()))).collect();
    let mut told: HashSet<&str> = HashSet::new();
    let mut chosen: Vec<usize> = Vec::new();
    let mut left = chars;
    loop {
        let worth = |at: usize| worth(&sentences[at], &rarity, &told);
        let fits = |at: &usize| !chosen.contains(at) && shown(&sentences[*at]).chars().count() < left;
        let best = (0..sentences.len()).filter(fits).max_by(|one, two| {
            // Of equals the first.
            worth(*one).total_cmp(&worth(*two)).then(two.cmp(one))
        });
        let Some(best) = best.filter(|best| worth(*best) > 0.0) else { break };
        left -= shown(&sentences[best]).chars().count() + 1;
        told.extend(sentences[best].stems.iter().map(String::as_str));
        chosen.push(best);
    }
    chosen.sort_unstable();
    let text = chosen.iter().map(|at| shown(&sentences[*at])).collect::<Vec<_>>().join(" ");
    let mut lines: Vec<u64> = chosen.iter().map(|at| sentences[*at].seq).collect();
    lines.dedup();
    (text, lines)
}

fn shown(sentence: &Sentence<'_>) -> String {
    format!("[{}] {}", sentence.seq, sentence.text)
}

#[allow(clippy::cast_precision_loss, reason = "numbers of sentences")]
fn rarity(with: usize, all: usize) -> f64 {
    (1.0 + all as f64 / with as f64).ln()
}

#[allow(clippy::cast_precision_loss, reason = "numbers of stems")]
fn worth(sentence: &Sentence<'_>, rarity: &HashMap<&str, f64>, told: &HashSet<&str>) -> f64 {
    // Added in one order, so that the same texts give the same sum to the last bit.
    let mut fresh: Vec<&str> = sentence.stems.iter().map(String::as_str).filter(|stem| !told.contains(stem)).collect();
    fresh.sort_unstable();
    let mass: f64 = fresh.iter().map(|stem| rarity.get(stem).copied().unwrap_or(0.0)).sum();
    let asks = if sentence.text.ends_with('?') { 0.5 } else { 1.0 };
    asks * mass / (sentence.stems.len().max(1) as f64).sqrt()
}

fn split(seq: u64, text: &str) -> impl Iterator<Item = Sentence<'_>> {
    text.split_inclusive(['.', '!', '?', '\n'])
        .map(str::trim)
        .filter(|sentence| !sentence.is_empty())
        .take(MAX_SENTENCES)
        .map(move |sentence| {
            let end = sentence.char_indices().nth(MAX_SENTENCE_CHARS).map_or(sentence.len(), |(end, _)| end);
            let heard = words(sentence);
            let tongue = tongue(&heard);
            let stems = heard.iter().filter(|word| !lexicon::is_stop(word)).map(|word| stemmed(word, tongue)).collect();
            Sentence { seq, text: &sentence[..end], stems }
        })
}

/// What [`extract`] has made, as the sentences and the lines that they cite.
#[must_use]
pub fn cited_parts(text: &str) -> Vec<(u64, &str)> {
    let starts: Vec<usize> =
        text.match_indices('[').map(|(at, _)| at).filter(|at| cited(&text[*at..]).is_some()).collect();
    starts
        .iter()
        .enumerate()
        .filter_map(|(n, start)| {
            let end = starts.get(n + 1).copied().unwrap_or(text.len());
            cited(&text[*start..end])
        })
        .collect()
}

/// `[12] words` as 12 and the words.
fn cited(text: &str) -> Option<(u64, &str)> {
    let (number, words) = text.strip_prefix('[')?.split_once("] ")?;
    Some((number.parse().ok()?, words.trim_end()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const TALK: [(u64, &str); 5] = [
        (3, "Good morning. I moved the dentist to Friday at nine."),
        (9, "And is it raining?"),
        (12, "The key of the cellar is under the blue pot!"),
        (15, "I moved the dentist to Friday at nine."),
        (20, "And so on and so on."),
    ];

    #[test]
    fn what_tells_most_is_kept_in_its_order_and_names_its_lines() {
        let (text, lines) = extract(&TALK, 110);
        assert_eq!(
            text,
            "[3] I moved the dentist to Friday at nine. [12] The key of the cellar is under the blue pot!"
        );
        assert_eq!(lines, [3, 12]);
    }

    #[test]
    fn nothing_is_said_twice_and_nothing_comes_of_nothing() {
        let (text, _) = extract(&TALK, 10_000);
        assert_eq!(text.matches("dentist").count(), 1, "{text}");
        assert_eq!(extract(&[], 100), (String::new(), vec![]));
        assert_eq!(extract(&TALK, 0), (String::new(), vec![]));
    }

    #[test]
    fn the_parts_of_a_summary_are_read_back_as_they_were_cited() {
        assert_eq!(cited_parts("[2] One [sic] thing. [13] Another."), [(2, "One [sic] thing."), (13, "Another.")]);
        assert_eq!(cited_parts("no line"), []);
    }

    proptest! {
        #[test]
        fn every_sentence_stands_in_its_line_and_all_of_them_fit(
            texts in prop::collection::vec(".{0,120}", 0..12), chars in 0_usize..400,
        ) {
            let texts: Vec<(u64, &str)> = (1..).zip(texts.iter().map(String::as_str)).collect();
            let (text, lines) = extract(&texts, chars);
            prop_assert!(text.chars().count() <= chars);
            prop_assert!(lines.is_sorted());
            prop_assert_eq!(extract(&texts, chars).0, text);
        }
    }
}
