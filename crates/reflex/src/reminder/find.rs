//! Questions for one thing that is planned: "how much time is left on the timer?", "when do I have to call the dentist?", "quanto manca
//! alla pasta?". Pure.

use super::change::Before;
use super::forms::{self, is_word_of};
use crate::words::phrase::Phrase;

/// Questions for a reminder, alarm or timer, which stands behind them.
const OF_THING: &str = "
    how much [more] time is|s|do|have [i|we|there] [still] [have|got] [left|remaining]
    how much time left|remaining
    how much longer
    how much is|s left
    how long is|s|do|have [i|we] [still] [have|got] [left|remaining]
    how long until|till|before|for|left|remaining
    how many minutes|seconds [are|do|s] [i|we] [have|there] [left|remaining]
    when is|does|will|do|s
    what time is|does|will|s
    at what time is|does|will
    is|are there [still] [a|any]
    is
    quanto [tempo] manca|resta|rimane [ancora]
    quanti minuti mancano|restano|rimangono [ancora]
    quando suona|suonera|scade|scadra|finisce|e
    a che ora suona|suonera|scade|finisce|e|ho|hai [messo]
    fra|tra quanto [tempo] suona|scade|finisce
    a che punto e
    c e [ancora] [un]";
/// Questions for what is to be done, which stands behind them.
const OF_DEED: &str = "
    when do i|we have|need to
    when must i|we
    when have i|we got to
    when am|are i|we supposed to
    [at] what time do i|we have|need to
    [at] what time must i|we
    when is|s my reminder to
    quando devo|dobbiamo
    a che ora devo|dobbiamo
    per quando devo|dobbiamo
    quando e che devo|dobbiamo";
/// Questions for how long it is until something, which stands behind them.
const OF_LEFT: &str = "
    quanto [tempo] manca [ancora] a|al|alla|all|alle|ai|per [il|la|lo|l|le|i]
    fra|tra quanto [tempo] devo|dobbiamo";
/// The same of what was just planned, or shown.
const OF_IT: &str = "
    how much [more] time is|s|do|have [i|we|there] [still] [have|got] left|remaining
    how much time left|remaining
    how much longer [is] [it|that] [now]
    how much is|s left
    how long is|s|do|have [i|we] [still] [have|got] left|remaining
    how long left
    quanto [tempo] [ci] manca|resta|rimane [ancora|adesso|ora]
    fra|tra quanto [suona|scade|finisce]
    quanto ancora";
/// Things that fire.
const THINGS: &str = "timer|timers|alarm|alarms|reminder|reminders|countdown|sveglia|promemoria|allarme";
/// What may stand beside such a thing and says nothing of which.
const FILLERS: &str = "is|are|s|the|a|an|my|our|on|for|of|to|until|till|goes|go|going|off|ring|rings|ringing|end|ends|over|up|finish|finished|\
    finishes|done|left|remaining|set|i|we|have|still|running|active|there|any|now|al|alla|allo|all|per|il|la|lo|le|l|del|della|dello|di|\
    sul|sulla|mio|mia|nel|nella|ancora|suona|scade|finisce|suonare|messo|e|d|un|una|ora|adesso|attivo|attiva|in|corso|go";
/// The most words of what is looked for.
const MAX_CALLED: usize = 8;

/// What is looked for among what is planned, by its words; empty for what is due next within a day. `None` where nothing is.
pub(super) fn asked(phrase: &Phrase<'_>, before: Before) -> Option<String> {
    let all = phrase.plain();
    let said = forms::mended(all.iter().copied());
    if matches!(before, Before::List | Before::One) && forms::is_whole(OF_IT, &said) {
        return Some(String::new());
    }
    if let Some(begin) = forms::begins(OF_DEED, &said).or_else(|| forms::begins(OF_LEFT, &said))
        && begin < said.len()
        && said.len() - begin <= MAX_CALLED
        && !said[begin..].iter().any(|word| is_word_of(THINGS, word))
    {
        return Some(phrase.typed(begin, said.len()).to_owned());
    }
    let begin = forms::begins(OF_THING, &said)?;
    let rest = &said[begin..];
    if !rest.iter().any(|word| is_word_of(THINGS, word)) {
        return None;
    }
    let names = |word: &&str| !is_word_of(THINGS, word) && !is_word_of(FILLERS, word);
    let first = rest.iter().position(&names);
    let Some(first) = first else { return Some(String::new()) };
    let last = rest.iter().rposition(names).unwrap_or(first);
    let called = &rest[first..=last];
    let is_one = called.len() <= MAX_CALLED && !called.iter().any(|word| is_word_of(THINGS, word));
    is_one.then(|| phrase.typed(begin + first, begin + last + 1).to_owned())
}
