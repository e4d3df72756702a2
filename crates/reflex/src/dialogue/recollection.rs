//! "What did I tell you about the boiler?": the person's own words, quoted with the day on which they were said, or honestly nothing.

use metnos_calendar::Zone;
use metnos_proto::envelope::Envelope;
use metnos_proto::msg::common::Lang;
use metnos_rank::forms::Said;
use metnos_rank::lexicon::is_stop;
use metnos_rank::words::words as folded;

use super::{Reply, Talk};
use crate::answer::{shorten, speech, visible};
use crate::words::phrase::Phrase;
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
/// Questions for the very last thing that was said.
const ASKS_LAST: &str = "what did i just ask,what did i just ask you,what did i just say,what did i just tell you,what did i ask you,\
    what did i ask you before,what did i say before,what was my last question,what was my last message,what did i last say,cosa ti ho \
    appena chiesto,cosa ti ho chiesto,che cosa ti ho chiesto,che cosa ti ho appena chiesto,che ti ho appena chiesto,cosa ti ho chiesto \
    prima,cosa ho appena detto,cosa ti ho appena detto,cosa ti ho detto prima,cosa ho detto prima,cosa ho chiesto,qual era la mia ultima \
    domanda,qual e stata la mia ultima domanda";
/// Questions for what was done just now.
const ASKS_DONE: &str = "what did you just do,what have you just done,what did you do just now,what did you do now,what was the last thing you \
    did,what was that,cosa hai appena fatto,che cosa hai appena fatto,che hai appena fatto,cosa hai fatto adesso,cosa hai fatto ora,che hai \
    fatto,che cosa hai fatto,cosa hai fatto,qual e l ultima cosa che hai fatto";
/// What begins a sentence by which somebody says how he is called.
const INTRODUCES: &str = "my name is,my name s,i am called,im called,i m called,call me,you can call me,mi chiamo,io mi chiamo,il mio nome e,\
    chiamami,puoi chiamarmi";
/// The most words of such a sentence.
const MAX_INTRODUCTION: usize = 8;
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
        if phrase.is_one_of(ASKS_LAST) {
            let said = self.envelope.recent.last().map(|last| visible(shorten(last.text.trim(), MAX_QUOTE)));
            let quoted = said.map(|said| speech::you_said(phrase.lang, None, &said));
            return Some(quoted.unwrap_or_else(|| speech::you_said_nothing(phrase.lang)));
        }
        if phrase.is_one_of(ASKS_DONE) {
            return self.last_exchange(phrase.lang);
        }
        let lines = self.quotes((&topic(phrase)?, &names_in(phrase.text)), phrase.lang, 2);
        Some(if lines.is_empty() { speech::you_said_nothing(phrase.lang) } else { lines })
    }

    /// What was said last and what was answered; `None` where nothing was, or the answer may not be shown.
    fn last_exchange(&self, lang: Lang) -> Option<String> {
        let last = self.envelope.recent.last()?;
        let answer = last.answer.as_ref()?;
        let line = |text: &str| visible(shorten(&text.split_whitespace().collect::<Vec<_>>().join(" "), MAX_QUOTE));
        let said = line(&last.text);
        if !answer.withheld && !answer.text.trim().is_empty() {
            return Some(speech::last_exchange(lang, &said, &line(&answer.text)));
        }
        // What was answered may have come from a file: what is certain is how it ended.
        let is_done =
            answer.ended == "answered" && !answer.ran.is_empty() && answer.ran.iter().all(|one| one.outcome == "ok");
        Some(if is_done { speech::last_done(lang, &said) } else { speech::you_said(lang, None, &said) })
    }

    /// What was said that has at least one in `share` of these words, of which those that are names stand there as they are, quoted;
    /// empty for nothing.
    pub(super) fn quotes(&mut self, (topic, names): (&[String], &[String]), lang: Lang, share: usize) -> String {
        let envelope = self.envelope;
        let recalled = envelope.recalled.iter().map(|one| (one.seq, one.ts.as_str(), one.text.as_str()));
        let recent = envelope.recent.iter().map(|one| (one.seq, "", one.text.as_str()));
        let mut quotes: Vec<Quote<'_>> = recalled
            .chain(recent)
            .map(|(seq, ts, text)| Quote { seq, ts, text, hits: hits(topic, names, text) })
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
            Some(Reply::Review(..) | Reply::Schedule(..) | Reply::Cannot(_) | Reply::NotUnderstood(_)) | None => false,
        }
    }
}

/// What the person has said last of how he is called, quoted; `None` where he has not.
pub fn introduction(envelope: &Envelope, lang: Lang) -> Option<String> {
    let recent = envelope.recent.iter().rev().map(|one| one.text.as_str());
    let mut all = recent.chain(envelope.recalled.iter().map(|one| one.text.as_str()));
    let said = all.find(|text| {
        let phrase = Phrase::of(text, envelope.lang).filter(|phrase| phrase.len() <= MAX_INTRODUCTION);
        let begins = |phrase: Phrase<'_>| INTRODUCES.split(',').any(|words| phrase.says(0, words.trim()).is_some());
        !text.trim_end().ends_with('?') && phrase.is_some_and(begins)
    })?;
    Some(speech::you_said(lang, None, &visible(shorten(said.trim(), MAX_QUOTE))))
}

/// The words of what is asked about, those aside that say nothing; `None` when the words ask for something else.
fn topic(phrase: &Phrase<'_>) -> Option<Vec<String>> {
    let begins = ASKS.split(',').filter_map(|asks| phrase.says(0, asks)).max()?;
    let mut topic: Vec<String> =
        phrase.plain()[begins..].iter().filter(|word| !is_stop(word)).map(|word| (*word).to_owned()).collect();
    topic.truncate(MAX_TOPIC);
    (!topic.is_empty()).then_some(topic)
}

/// The words of a text that are names, as they are compared: those behind the first that begin with a capital. "Luca" is not "luce".
pub(super) fn names_in(text: &str) -> Vec<String> {
    let inner = text.split_whitespace().skip(1).map(|word| word.trim_start_matches(|c: char| !c.is_alphanumeric()));
    inner.filter(|word| word.starts_with(char::is_uppercase)).flat_map(folded).collect()
}

fn hits(topic: &[String], names: &[String], text: &str) -> usize {
    let (said, typed) = (Said::of(text, 256), folded(text));
    topic.iter().filter(|word| if names.contains(word) { typed.contains(word) } else { said.has(word) }).count()
}
