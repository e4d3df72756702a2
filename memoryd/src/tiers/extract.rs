//! What of many texts tells the most, in sentences that were really written: pure, and no model. It never adds a word.
//!
//! A sentence is worth the rarity of the stems in it, by the square root of its length, so that a long one does not win by
//! being long; what a chosen sentence has told already counts no more. The chosen ones keep their order, and each names
//! the line it stands in.

use std::cmp::Ordering;
use std::collections::{BTreeSet, BinaryHeap, HashMap};
use std::rc::Rc;

use metnos_rank::lexicon;
use metnos_rank::words::{language, stemmed, words};

/// The longest sentence that is taken, in characters; a longer one is cut.
pub const MAX_SENTENCE_CHARS: usize = 240;
/// The most sentences of one text that are looked at.
pub const MAX_SENTENCES: usize = 64;

/// A sentence and where it stands.
struct Sentence<'a> {
    seq: u64,
    text: &'a str,
    /// Its stems by number, in the order of the alphabet.
    stems: Rc<[usize]>,
}

/// The stems of all sentences, by number.
#[derive(Default)]
struct Stems {
    numbers: HashMap<String, usize>,
    /// In how many sentences each stands.
    with: Vec<usize>,
    /// What was looked at before: people and programs repeat themselves.
    known: HashMap<String, Rc<[usize]>>,
}

impl Stems {
    fn of(&mut self, sentence: &str) -> Rc<[usize]> {
        let stems = match self.known.get(sentence) {
            Some(stems) => Rc::clone(stems),
            None => {
                let heard = words(sentence);
                let language = language(&heard);
                let told = heard.iter().filter(|word| !lexicon::is_stop(word)).map(|word| stemmed(word, language));
                let stems: Rc<[usize]> =
                    told.collect::<BTreeSet<String>>().into_iter().map(|s| self.number(s)).collect();
                self.known.insert(sentence.to_owned(), Rc::clone(&stems));
                stems
            }
        };
        stems.iter().for_each(|stem| self.with[*stem] += 1);
        stems
    }

    fn number(&mut self, stem: String) -> usize {
        let next = self.with.len();
        let number = *self.numbers.entry(stem).or_insert(next);
        if number == next {
            self.with.push(0);
        }
        number
    }
}

/// What a sentence was worth when it was looked at last; the greatest is worth most, and of equals stands first.
struct SentenceScore {
    worth: f64,
    at: usize,
}

impl Ord for SentenceScore {
    fn cmp(&self, other: &Self) -> Ordering {
        self.worth.total_cmp(&other.worth).then(other.at.cmp(&self.at))
    }
}

impl PartialOrd for SentenceScore {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for SentenceScore {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for SentenceScore {}

/// The sentences that tell the most, each behind its line in brackets, at most `chars` characters; also the lines that
/// they stand in, ascending. Of what a question only asks, little is told, so questions count half.
#[must_use]
pub fn extract(texts: &[(u64, &str)], chars: usize) -> (String, Vec<u64>) {
    let mut stems = Stems::default();
    let sentences: Vec<Sentence<'_>> = texts.iter().flat_map(|(seq, text)| split(*seq, text, &mut stems)).collect();
    let rarity: Vec<f64> = stems.with.iter().map(|with| rarity(*with, sentences.len())).collect();
    let mut told = vec![false; rarity.len()];
    let mut chosen: Vec<usize> = Vec::new();
    let mut left = chars;
    // No sentence is ever worth more than it was, nor is there ever more room: what is the best as it stands now is the
    // best of all, and what does not fit is never looked at again.
    let mut best: BinaryHeap<SentenceScore> =
        (0..sentences.len()).map(|at| SentenceScore { worth: worth(&sentences[at], &rarity, &told), at }).collect();
    while let Some(SentenceScore { worth: before, at }) = best.pop() {
        let long = shown(&sentences[at]).chars().count();
        if long >= left {
            continue;
        }
        let worth = worth(&sentences[at], &rarity, &told);
        if worth <= 0.0 {
            continue;
        }
        if worth < before {
            best.push(SentenceScore { worth, at });
            continue;
        }
        left -= long + 1;
        sentences[at].stems.iter().for_each(|stem| told[*stem] = true);
        chosen.push(at);
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

/// Added in the order of the alphabet, so that the same texts give the same sum to the last bit.
#[allow(clippy::cast_precision_loss, reason = "numbers of stems")]
fn worth(sentence: &Sentence<'_>, rarity: &[f64], told: &[bool]) -> f64 {
    let mass: f64 = sentence.stems.iter().filter(|stem| !told[**stem]).map(|stem| rarity[*stem]).sum();
    let asks = if sentence.text.ends_with('?') { 0.5 } else { 1.0 };
    asks * mass / (sentence.stems.len().max(1) as f64).sqrt()
}

fn split<'a>(seq: u64, text: &'a str, stems: &mut Stems) -> Vec<Sentence<'a>> {
    let sentences = text.split_inclusive(['.', '!', '?', '\n']).map(str::trim).filter(|sentence| !sentence.is_empty());
    let sentence = |sentence: &'a str| {
        let end = sentence.char_indices().nth(MAX_SENTENCE_CHARS).map_or(sentence.len(), |(end, _)| end);
        Sentence { seq, text: &sentence[..end], stems: stems.of(sentence) }
    };
    sentences.take(MAX_SENTENCES).map(sentence).collect()
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
    fn extract_keeps_best_sentences_in_order_with_line_numbers() {
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

    /// The same the long way: every sentence is looked at for every one that is chosen.
    fn the_long_way(texts: &[(u64, &str)], chars: usize) -> (String, Vec<u64>) {
        let mut stems = Stems::default();
        let sentences: Vec<Sentence<'_>> = texts.iter().flat_map(|(seq, text)| split(*seq, text, &mut stems)).collect();
        let rarity: Vec<f64> = stems.with.iter().map(|with| rarity(*with, sentences.len())).collect();
        let (mut told, mut chosen, mut left) = (vec![false; rarity.len()], Vec::new(), chars);
        loop {
            let fits = |at: &usize| !chosen.contains(at) && shown(&sentences[*at]).chars().count() < left;
            let worth = |at: usize| worth(&sentences[at], &rarity, &told);
            let best = (0..sentences.len())
                .filter(fits)
                .max_by(|one, two| worth(*one).total_cmp(&worth(*two)).then(two.cmp(one)))
                .filter(|best| worth(*best) > 0.0);
            let Some(best) = best else { break };
            left -= shown(&sentences[best]).chars().count() + 1;
            sentences[best].stems.iter().for_each(|stem| told[*stem] = true);
            chosen.push(best);
        }
        chosen.sort_unstable();
        let text = chosen.iter().map(|at| shown(&sentences[*at])).collect::<Vec<_>>().join(" ");
        let mut lines: Vec<u64> = chosen.iter().map(|at| sentences[*at].seq).collect();
        lines.dedup();
        (text, lines)
    }

    proptest! {
        #[test]
        fn the_short_way_chooses_what_the_long_way_does(
            texts in prop::collection::vec("((the |a |key |blue |pot |dentist |friday |rain |moved |of ){0,8}[.!?]){0,5}", 0..10),
            chars in 0_usize..300,
        ) {
            let texts: Vec<(u64, &str)> = (1..).zip(texts.iter().map(String::as_str)).collect();
            prop_assert_eq!(extract(&texts, chars), the_long_way(&texts, chars));
        }

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
