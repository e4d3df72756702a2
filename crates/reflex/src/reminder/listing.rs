//! Questions for what is planned: "what is planned?", "which reminders do I have", "cosa mi devi ricordare?". Pure.

use super::forms;

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
    cosa|che ho|abbiamo in programma";
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

fn is_one_of(words: &str, said: &str) -> bool {
    words.split('|').any(|word| word.trim() == said)
}

/// Whether the words ask for what is planned, and for nothing else: each of them is known.
pub(super) fn is_asked(said: &[&str]) -> bool {
    if forms::is_whole(LISTS, said) {
        return true;
    }
    let things = said.iter().filter(|word| is_one_of(THINGS, word)).count();
    let covers = |more: &str| {
        said.iter().all(|word| is_one_of(more, word) || is_one_of(THINGS, word) || is_one_of(FILLERS, word))
    };
    let lists = things == 1
        && (said.iter().take(2).any(|word| is_one_of(ASKS, word)) || said.len() == 1)
        && covers(ASKS)
        && !one_alone(said);
    let reminds = said.iter().filter(|word| is_one_of(REMINDS, word)).count() == 1;
    let foretells = reminds && said.len() > 2 && said.iter().take(2).any(|word| is_one_of(ABOUT, word));
    lists || foretells && said.iter().all(|word| is_one_of(WILL, word) || is_one_of(REMINDS, word))
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
