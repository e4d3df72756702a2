//! Questions for what is planned: "what is planned?", "which reminders do I have", "cosa mi devi ricordare?". Pure.

use super::forms::{self, is_word_of};

/// Questions that name no reminder.
const LISTS: &str = "
    what|whats is|s [currently|already|still|all] planned|scheduled|coming [up]
    what is|are [still|all] planned|scheduled
    whats planned|scheduled
    what do i|we have planned|scheduled
    what have i|we got [planned|scheduled]
    what have i|we planned|scheduled
    anything planned|scheduled
    [is] anything [is] planned|scheduled
    cosa|che e|ce|hai in programma
    cosa|che c e in programma
    cosa|che hai [gia] programmato|previsto|pianificato
    cosa|che c e di programmato|previsto|pianificato
    che cosa e|ce in programma
    che cosa c e in programma
    che cosa ho|abbiamo|hai in programma
    cosa|che ho|abbiamo in programma
    [i] [miei|nostri] impegni
    che|quali impegni ho|abbiamo|ci [sono]
    ho|abbiamo impegni";
/// Questions for what is to be done at a time that stands with them.
const AGENDA: &str = "
    what|whats do|must|should|have i|we have|got|need [to] do
    what do i|we have|need [to] do
    what do i|we have [on|planned|scheduled|coming] [up]
    what have i|we got [on|planned|scheduled|to] [do]
    what must|should i|we do
    what am i supposed to do
    what are we supposed to do
    what|whats is|s [there] [to] do|on|up|due|happening|planned|scheduled [for|with] [me|us]
    whats [there] on|due|planned|scheduled [for|with] [me|us]
    what is|s [on] my|our agenda|plan|schedule|program|programme
    whats [on] my|our agenda|plan|schedule|program|programme
    do|have i|we have|got anything|something [on|due|planned|scheduled|to] [do]
    have i|we got anything|something [on|due|planned|scheduled|to] [do]
    [is] [there] anything|something [on|due|planned|scheduled|to] [do] [for] [me|us]
    [what is|s] my|our agenda|plan|schedule
    cosa|che devo|dobbiamo fare
    cosa|che si fa
    che cosa si fa
    cosa|che facciamo
    che cosa facciamo
    che cosa devo|dobbiamo fare
    cosa|che ho|abbiamo [da|in] [fare|programma|agenda]
    che cosa ho|abbiamo [da|in] [fare|programma|agenda]
    cosa|che c e|ce [da|in] [fare|programma|agenda]
    che cosa c e [da|in] [fare|programma|agenda]
    cosa|che ce|mi|ci aspetta
    che|quali impegni ho|abbiamo|ci [sono]
    che|quali impegni
    ho|abbiamo [qualche] impegni|impegno
    ho|abbiamo qualcosa [da|in] [fare|programma|agenda]
    [i] [miei|nostri] impegni
    [la] [mia] agenda|programma
    [il] [mio] programma";
/// What may stand between such a question and its time.
const BETWEEN: &str = "on|for|at|in|by|until|during|over|of|the|di|del|della|per|il|la|a|al|alla|nel|nella|entro|durante|there|please|me|us|s";
/// What is asked for.
const THINGS: &str = "reminders|alarms|timers|reminder|alarm|timer|promemoria|sveglie|sveglia|allarmi";
/// What asks for it, before it or with it.
const ASKS: &str = "what|which|show|list|read|tell|give|see|any|do|does|are|is|have|how|can|could|check|all|my|our|quali|che|cosa|quanti|\
    quante|mostra|mostrami|mostrare|elenca|elencami|elenco|lista|leggi|leggimi|dimmi|dirmi|dici|dammi|vedere|fammi|ho|abbiamo|hai|ci|c|\
    qualche|tutti|tutte|i|le|miei|mie|nostri|quale|controlla";
/// What may stand beside both, and says nothing of one reminder.
const FILLERS: &str = "i|we|you|me|us|the|a|my|our|of|on|at|for|to|in|there|got|set|up|active|pending|planned|scheduled|coming|still|left|now|\
    currently|today|tomorrow|tonight|this|next|week|month|please|many|much|out|running|going|that|be|been|am|supposed|all|any|other|yet|\
    already|open|waiting|right|moment|mine|di|da|per|oggi|domani|stasera|questa|questo|settimana|mese|sono|e|ancora|gia|adesso|ora|attivo|\
    attiva|attivi|attive|in|programma|impostato|impostata|impostati|impostate|sospeso|un|una|dei|delle|gli|ti|mi|ho|hai|abbiamo|dato|detto|\
    chiesto|messo|fatto|programmato|programmati|quel|quei|altri|altre|alcun|se|vedere|favore|momento|moment|tra|fra|il|la|del|della";
/// The deed of a butler who reminds.
const REMINDS: &str = "remind|reminded|reminding|ricordare|ricordarmi|ricordarci|ricordi|ricorderai";
/// What is asked about it.
const ABOUT: &str = "what|which|cosa|che|quali|anything";
/// What may stand with that.
const WILL: &str = "what|which|quali|anything|have|you|got|to|me|us|of|about|are|going|will|do|need|am|i|we|supposed|be|should|is|there|hai|devi|mi|ci|di|vuoi|cosa|che|da|\
    puoi|this|week|today|tomorrow|tonight|next|month|oggi|domani|stasera|questa|settimana|later|dopo|d|altro";

/// Whether words may ask for what is planned, by how they begin or what they name: reading times costs more than all the rest.
pub(super) fn may_ask(said: &[&str]) -> bool {
    const BEGINS: &str = "what|whats|which|do|have|is|any|anything|something|my|our|show|list|read|tell|give|see|check|how|are|does|can|could|\
        cosa|che|quali|quale|quanti|quante|ho|abbiamo|hai|c|ci|mostra|mostrami|elenca|elencami|elenco|lista|leggi|leggimi|dimmi|dammi|\
        fammi|la|il|mia|mio|i|le|tutti|tutte|qualche|agenda|programma|controlla|all|reminders|reminder|alarms|alarm|timers|timer|\
        promemoria|sveglie|sveglia|allarmi|impegni";
    said.iter().take(3).any(|word| is_word_of(BEGINS, word))
}

/// Whether the words ask for what is planned, and for nothing else: each of them is known.
pub(super) fn is_asked(said: &[&str]) -> bool {
    if forms::is_whole(LISTS, said) {
        return true;
    }
    let things = said.iter().filter(|word| is_word_of(THINGS, word)).count();
    let covers = |more: &str| {
        said.iter().all(|word| is_word_of(more, word) || is_word_of(THINGS, word) || is_word_of(FILLERS, word))
    };
    let lists = things == 1
        && (said.iter().take(2).any(|word| is_word_of(ASKS, word)) || said.len() == 1)
        && covers(ASKS)
        && !one_alone(said);
    let reminds = said.iter().filter(|word| is_word_of(REMINDS, word)).count() == 1;
    let foretells = reminds && said.len() > 2 && said.iter().take(2).any(|word| is_word_of(ABOUT, word));
    lists || foretells && said.iter().all(|word| is_word_of(WILL, word) || is_word_of(REMINDS, word))
}

/// Whether the words, of which those of a time were taken away, ask for what is planned then: for reminders, or for what is to be done.
pub(super) fn is_asked_then(said: &[&str]) -> bool {
    let begin = said.iter().take_while(|word| is_word_of(BETWEEN, word)).count();
    let end = said.iter().rev().take_while(|word| is_word_of(BETWEEN, word)).count();
    let bare = said.get(begin..said.len().saturating_sub(end)).unwrap_or_default();
    // "What is on tomorrow": the word may belong to the question as well.
    let ends = (0..=end).map(|more| &said[begin.min(said.len())..(said.len() - end + more).max(begin)]);
    is_asked(bare) || ends.into_iter().any(|words| !words.is_empty() && forms::is_whole(AGENDA, words))
}

/// Whether the words are one reminder or alarm by itself, which is no question: "the alarm", "a timer", "sveglia".
fn one_alone(said: &[&str]) -> bool {
    let many = ["reminders", "alarms", "timers", "promemoria", "sveglie", "allarmi"];
    let asks = [
        "any", "which", "what", "is", "are", "do", "have", "how", "show", "list", "ho", "abbiamo", "ci", "c",
        "qualche", "quali", "quale", "che", "cosa", "mostra", "mostrami", "elenca", "dimmi",
    ];
    let names_many = said.iter().any(|word| many.contains(word));
    !names_many && !said.iter().any(|word| asks.contains(word))
}
