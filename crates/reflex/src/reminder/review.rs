//! Questions for what a day was like: "what happened today?", "what did you do this week?", "riassumi la giornata". Pure.

use metnos_proto::envelope::Envelope;
use metnos_proto::msg::common::Lang;
use metnos_proto::msg::schedule::MAX_WHEN;
use metnos_when::Zoned;

use super::forms::{self, is_word_of};
use super::{beside_time, languages, now_of};
use crate::words::phrase::Phrase;

/// Words of which one stands in every such question.
const KEYS: &str = "new|novita|chiesto|happened|happen|did|done|summary|summarise|summarize|review|recap|report|day|daily|evening|successo|accaduto|fatto|\
    combinato|riassunto|riassumi|riassumimi|riepilogo|riepiloga|riepilogami|resoconto|rendiconto|giornata|andata|bilancio";
/// Questions beside which a time stands.
const TIMED: &str = "
    what happened [here] [around]
    what has happened [here]
    what did you do [for] [me|us]
    what have you done [for] [me|us]
    what did we|i do [together]
    what did we|i ask [you|for] [for]
    what was done
    how was my|our|the day
    [give|show|tell|send] [me|us] [a|the|my|our] [short|quick] summary|review|recap|report [of] [the] [day]
    summarise|summarize|review|recap [the] [day]
    cosa|che e successo [qui|in] [casa]
    che cosa e successo [qui|in] [casa]
    cosa|che e accaduto
    che cosa e accaduto
    cosa|che|cos hai fatto [per] [me|noi]
    che cos hai fatto [per] [me|noi]
    che cosa hai fatto [per] [me|noi]
    cosa|che abbiamo fatto
    che cosa abbiamo fatto
    cosa ti ho|abbiamo chiesto
    che cosa ti ho|abbiamo chiesto
    com e andata
    come e andata
    come andata
    [fammi|dammi|mandami|mostrami] [un|il] riassunto|riepilogo|resoconto|rendiconto|bilancio [di|della] [giornata]
    riassumi|riassumimi|riepiloga|riepilogami [la] [giornata]";
/// Questions that mean today where no time stands.
const TODAY: &str = "
    what is|s new [today|here]
    anything new [today|here]
    [ci sono|qualche] novita [oggi]
    how was my|our|the day
    how did my|our|the day go
    [give|show|tell|send] [me|us] [a|the|my|our] [short|quick] summary|review|recap|report of the|my|our day
    [give|show|tell|send] [me|us] [a|the|my|our] daily|evening summary|review|recap|report
    [the] day in review
    summarise|summarize|review|recap the|my|our day
    com e andata la|questa giornata
    come e andata la|questa giornata
    [fammi|dammi|mandami|mostrami] [un|il] riassunto|riepilogo|resoconto|rendiconto|bilancio della [mia|nostra] giornata
    [fammi|dammi|mandami|mostrami] [un|il] riassunto|riepilogo|resoconto|rendiconto|bilancio quotidiano|giornaliero|serale
    riassumi|riassumimi|riepiloga|riepilogami la [mia|nostra] giornata";
/// What may stand between such a question and its time.
const BETWEEN: &str = "on|for|in|during|over|of|the|di|del|della|per|il|la|nel|nella|durante|a|al";

/// What time words ask about, as they name it; empty for today. With the language of these words.
#[must_use]
pub fn reviewed(text: &str, envelope: &Envelope) -> Option<(String, Lang)> {
    let phrase = Phrase::of(text, envelope.lang)?;
    let said = phrase.plain();
    if !said.iter().any(|word| is_word_of(KEYS, word)) {
        return None;
    }
    if forms::is_whole(TODAY, &forms::mended(said.iter().copied())) {
        return Some((String::new(), phrase.lang));
    }
    let now = now_of(envelope)?;
    languages(&phrase).find_map(|lang| Some((timed(&phrase, lang, &now)?, lang)))
}

/// The time of a question for what was, in the words as they stand: one that has begun.
fn timed(phrase: &Phrase<'_>, lang: Lang, now: &Zoned) -> Option<String> {
    let (start, span, rest) = beside_time(phrase, lang, now)?;
    let has_begun = start <= *now;
    let rest = forms::mended(rest.into_iter());
    let begin = rest.iter().take_while(|word| is_word_of(BETWEEN, word)).count();
    let end = rest.len() - rest.iter().rev().take_while(|word| is_word_of(BETWEEN, word)).count();
    let bare = rest.get(begin..end.max(begin))?;
    let when = phrase.text.get(span).filter(|when| when.len() <= MAX_WHEN)?;
    // "Of this week": what joins it to the question is no part of the time as it is said back.
    let joined = |word: &&str| is_word_of(BETWEEN, &word.to_lowercase());
    let when = when.split_once(' ').filter(|(first, _)| joined(first)).map_or(when, |(_, rest)| rest);
    (has_begun && !bare.is_empty() && forms::is_whole(TIMED, bare)).then(|| when.to_owned())
}
