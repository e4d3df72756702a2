//! "What did I tell you about the boiler?": the person's own words, quoted with the day on which they were said, or honestly nothing.

use metnos_calendar::Zone;
use metnos_proto::msg::common::Lang;
use metnos_rank::forms::Said;
use metnos_rank::lexicon::is_stop;

use super::phrase::Phrase;
use super::{Reply, Talk};
use crate::answer::{shorten, speech, visible};
use crate::words::when;

/// What begins a question for what was said.
const ASKS: &str = "what did i say to you about,what did i say about,what did i say of,what did i tell you about,what did i tell you \
    of,what did i mention about,what have i said about,what have i told you about,what had i told you about,what i said about,\
    what i told you about,did i tell you anything about,did i tell you something about,did i tell you about,did i say anything \
    about,did i say something about,did i mention anything about,did i mention,have i told you anything about,have i told you \
    about,when did i tell you about,do you remember what i said about,do you remember what i told you about,do you remember \
    anything about,do you remember something about,do you remember about,do you remember,do you recall what i said about,do you \
    recall,cosa ti ho detto,che cosa ti ho detto,che ti ho detto,cosa ti avevo detto,che cosa ti avevo detto,cosa ho detto,che \
    cosa ho detto,ti ho detto qualcosa,ti avevo detto qualcosa,ti ho parlato,ti avevo parlato,ti ricordi cosa ti ho detto,ti \
    ricordi che cosa ti ho detto,ti ricordi quello che ti ho detto,ti ricordi qualcosa,ti ricordi,ricordi cosa ti ho detto,ricordi \
    qualcosa,quando ti ho detto,quando ti ho parlato";
/// The most quotations of one answer.
const MAX_QUOTES: usize = 3;
/// The longest quotation, in bytes.
const MAX_QUOTE: usize = 300;
/// The most words that are looked for.
const MAX_TOPIC: usize = 8;

/// Something that was said.
struct Quote<'a> {
    seq: u64,
    /// When, where that is known.
    ts: &'a str,
    text: &'a str,
    hits: usize,
}

impl Talk<'_, '_> {
    /// The answer to a question for what the person said; `None` when the words are no such question.
    pub(super) fn recollection(&mut self, phrase: &Phrase<'_>) -> Option<String> {
        let lines = self.quotes(&topic(phrase)?, phrase.lang, 2);
        Some(if lines.is_empty() { speech::you_said_nothing(phrase.lang) } else { lines })
    }

    /// What was said that has at least one in `share` of these words, quoted; empty for nothing.
    pub(super) fn quotes(&mut self, topic: &[String], lang: Lang, share: usize) -> String {
        let envelope = self.envelope;
        let recalled = envelope.recalled.iter().map(|one| (one.seq, one.ts.as_str(), one.text.as_str()));
        let recent = envelope.recent.iter().map(|one| (one.seq, "", one.text.as_str()));
        let mut quotes: Vec<Quote<'_>> = recalled
            .chain(recent)
            .map(|(seq, ts, text)| Quote { seq, ts, text, hits: hits(topic, text) })
            .filter(|quote| share * quote.hits >= topic.len())
            .collect();
        quotes.sort_by_key(|quote| (std::cmp::Reverse(quote.hits), std::cmp::Reverse(quote.seq)));
        quotes.dedup_by_key(|quote| quote.seq);
        quotes.truncate(4 * MAX_QUOTES);
        quotes.retain(|quote| !self.only_asks(quote.text));
        let zone = Zone::read(&envelope.home.zone).unwrap_or_default();
        let lines = quotes.iter().take(MAX_QUOTES).map(|quote| {
            let said = visible(shorten(quote.text.trim(), MAX_QUOTE));
            speech::you_said(lang, when::moment(quote.ts, &zone, lang).as_deref(), &said)
        });
        lines.collect()
    }

    /// Whether words tell nothing: they ask, or only have something read.
    fn only_asks(&mut self, text: &str) -> bool {
        if text.trim_end().ends_with('?')
            || Phrase::of(text, self.envelope.lang).is_some_and(|said| topic(&said).is_some())
        {
            return true;
        }
        match self.plain(text, 0, None) {
            Some(Reply::Plan(plan)) => self.reads(&plan),
            Some(Reply::Say(_)) => true,
            Some(Reply::Later(_) | Reply::Cannot(_) | Reply::NotUnderstood(_)) | None => false,
        }
    }
}

/// The words of what is asked about, those aside that say nothing; `None` when the words ask for something else.
fn topic(phrase: &Phrase<'_>) -> Option<Vec<String>> {
    let begins = ASKS.split(',').filter_map(|asks| phrase.says(0, asks)).max()?;
    let mut topic: Vec<String> =
        phrase.plain()[begins..].iter().filter(|word| !is_stop(word)).map(|word| (*word).to_owned()).collect();
    topic.truncate(MAX_TOPIC);
    (!topic.is_empty()).then_some(topic)
}

fn hits(topic: &[String], text: &str) -> usize {
    let said = Said::of(text, 256);
    topic.iter().filter(|word| said.has(word)).count()
}
