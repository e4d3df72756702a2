//! Questions to be answered by themselves at another time, and what is to be done then: "every morning at 8 tell me what is on the
//! shopping list", "domani alle 9 aggiungi il latte alla spesa". It finds when and what in the words; whether that is understood, and
//! may be done by itself, is for who calls. Pure.

use metnos_proto::envelope::Envelope;
use metnos_proto::msg::common::Lang;
use metnos_proto::msg::schedule::{Ask, MAX_WHAT, MAX_WHEN};
use metnos_when::{Grain, Kind, Zoned};

use super::{birthdays, languages, now_of, read};
use crate::reminder::forms::{self, is_word_of};
use crate::words::phrase::Phrase;
use crate::words::when::number_word;

/// Words of which one stands in every time that comes again and again. Reading times costs more than all the rest.
const AGAIN: &str = "every|each|daily|hourly|weekly|monthly|weekdays|weekends|ogni|tutti|tutte|giornalmente|quotidianamente|settimanalmente|\
    mensilmente";
/// What asks to be told.
const TELLS: &str = "
    tell|show|send|give|read|message|text|write me|us
    let me|us know
    i|we want|need|would|like to know|see|hear|have
    i|we would like to know|see|hear|have
    dimmi|dicci|mandami|mandaci|mostrami|mostraci|leggimi|leggici|scrivimi|scrivici|dammi|dacci|elencami|elencaci|inviami|inviaci
    fammi|facci sapere|vedere|avere
    voglio|vogliamo|vorrei|vorremmo sapere|vedere|avere
    mi|ci dici|mandi|mostri|leggi|scrivi|dai|elenchi|invii
    mi|ci fai sapere|vedere|avere";
/// The same of what reminds: of something to do, unless a question follows.
const REMINDS: &str = "
    remind|notify|alert me|us
    ricordami|ricordaci|avvisami|avvisaci|avvertimi|avvertici
    mi|ci ricordi|avvisi|avverti";
/// How a question begins.
const QUESTIONS: &str = "what|whats|which|who|whose|whats|how|is|are|do|does|did|was|were|have|has|will|anything|cosa|che|chi|quale|quali|quanto|\
    quanta|quanti|quante|come|dove|quando|c|ho|hai|ha|abbiamo|ci|e|sono|qual";
/// What has something made or changed.
const CHANGES: &str = "add|put|append|insert|take|remove|clear|empty|cross|strike|tick|check|make|create|rename|move|\
    aggiungi|aggiungimi|metti|mettimi|inserisci|togli|toglimi|leva|rimuovi|svuota|depenna|spunta|cancella|elimina|crea|rinomina|sposta";
/// What has something written down as it stands.
const WRITES: &str = "note|notes|remember|write|jot|save|record|memorise|memorize|annota|annotami|nota|segna|segnati|segnami|scrivi|scriviti|\
    ricorda|ricordati|memorizza|salva|appunta|appunto|appunti";
/// How words go on that say what somebody is to do.
const ORDERS: &str = "to|that|about|of|di|che|a|per";
/// What a time once to come begins with, but for numbers and days: "in 20 minutes", "domani alle 9".
const TIME_HEADS: &str = "at|in|on|today|tomorrow|tonight|this|next|alle|all|a|tra|fra|oggi|domani|dopodomani|stamattina|stasera|stanotte|\
    monday|tuesday|wednesday|thursday|friday|saturday|sunday|lunedì|martedì|mercoledì|giovedì|venerdì|sabato|domenica|\
    lunedi|martedi|mercoledi|giovedi|venerdi";
/// What stands before the list at the end of an order, and how lists are called there.
const INTO: &str = "to|onto|on|from|off|into|in|alla|alle|sulla|sulle|dalla|dalle|nella|nelle|ai|agli|al";
const LISTS: &str = "list|lists|lista|liste|spesa";
/// What joins a list and its name behind it: "la lista della spesa".
const OF_LISTS: &str = "di|del|della|dello|dell|dei|degli|delle|of|for|per";
/// The most words of the name of a list, with what joins it.
const MAX_LIST_WORDS: usize = 4;
/// The most words of a time.
const MAX_TIME_WORDS: usize = 10;

/// Words as a question at another time, in the order in which they should be tried: a time in front, at the end, or behind what asks
/// to be told.
#[must_use]
pub fn asks(text: &str, envelope: &Envelope) -> Vec<(Ask, Lang)> {
    let (Some(now), Some(phrase)) = (now_of(envelope), Phrase::of(text, envelope.lang)) else { return Vec::new() };
    if let Some(asked) = birthdays::asked(&phrase) {
        return vec![asked];
    }
    let again = phrase.words.iter().any(|word| is_word_of(AGAIN, &word.plain));
    let told = |from: usize| head(TELLS, &phrase, from).or_else(|| head(REMINDS, &phrase, from));
    let once = phrase.words.iter().any(|word| names_an_hour(&word.plain));
    let is_wanted = || {
        (0..phrase.len()).any(|from| told(from).is_some())
            || begins_with_time(&phrase)
            || behind_list(&phrase).is_some()
    };
    if !again && (!once || !is_wanted()) {
        return Vec::new();
    }
    let found = languages(&phrase).find_map(|lang| parts(&phrase, lang, &now, again).map(|parts| (parts, lang)));
    let Some((parts, lang)) = found else { return Vec::new() };
    let is_sound = |ask: &Ask| {
        let (what, when) = (ask.what.concat(), ask.when.concat());
        !what.is_empty() && what.len() <= MAX_WHAT && when.len() <= MAX_WHEN && !text.contains(char::is_control)
    };
    parts.into_iter().filter(is_sound).map(|ask| (ask, lang)).collect()
}

/// Whether words ask to be reminded of birthdays: no other reading of them is meant.
#[must_use]
pub fn is_of_birthdays(text: &str, lang: Lang) -> bool {
    Phrase::of(text, lang).is_some_and(|phrase| birthdays::asked(&phrase).is_some())
}

/// Whether a word may stand in a time that names an hour: without one, no time is looked for.
pub(super) fn names_an_hour(word: &str) -> bool {
    const HOURS: &str = "noon|midday|midnight|mezzogiorno|mezzanotte|hour|hours|ora|ore|minute|minutes|minuto|minuti|second|seconds|\
        secondo|secondi|half|mezz|quarter|quarto";
    word.bytes().any(|byte| byte.is_ascii_digit()) || number_word(word).is_some() || is_word_of(HOURS, word)
}

/// How many words from `from` on are of one of these forms.
fn head(forms: &str, phrase: &Phrase<'_>, from: usize) -> Option<usize> {
    let said: Vec<&str> = phrase.words.get(from..)?.iter().map(|word| word.plain.as_str()).collect();
    forms::begins(forms, &said).filter(|taken| *taken > 0)
}

/// A time that fills the words from `begin` to `end`: one that comes again and again; else, where `once` is admitted, one to come
/// that names an hour.
fn is_time(phrase: &Phrase<'_>, (begin, end): (usize, usize), lang: Lang, now: &Zoned, once: bool) -> bool {
    let text = phrase.typed(begin, end);
    let reading = read(text, lang, now);
    let fills = |reading: &metnos_when::Reading| reading.spans.len() == 1 && reading.spans[0] == (0..text.len());
    let fits = |reading: &metnos_when::Reading| match reading.kind {
        Kind::Recurrence => true,
        Kind::Instant => {
            let is_exact = matches!(reading.grain, Some(Grain::Hour | Grain::Minute | Grain::Second));
            once && is_exact && reading.start.as_ref().is_some_and(|start| start > now)
        }
        Kind::Interval | Kind::Duration | Kind::None => false,
    };
    match reading.readings.as_slice() {
        [] => fills(&reading) && fits(&reading),
        readings => readings.iter().all(|reading| fills(reading) && fits(reading)),
    }
}

/// When, and what is asked then: with what asks to be told, and without it.
fn parts(phrase: &Phrase<'_>, lang: Lang, now: &Zoned, again: bool) -> Option<Vec<Ask>> {
    let all = phrase.len();
    let time = |begin: usize, once: bool| {
        let last = (begin + MAX_TIME_WORDS).min(all.saturating_sub(1));
        (begin + 1..=last).rev().find(|end| is_time(phrase, (begin, *end), lang, now, once))
    };
    let lead = head(TELLS, phrase, 0).map(|told| (told, false));
    let lead = lead.or_else(|| head(REMINDS, phrase, 0).map(|told| (told, true)));
    // "Every morning at 8 …", "tomorrow at 9 tell me …".
    if let Some(end) = time(0, true) {
        let comes_again = is_time(phrase, (0, end), lang, now, false);
        return Some(asked(phrase, (0, end), (end, all), comes_again));
    }
    // "Tell me every morning at 8 …".
    if let Some((told, reminds)) = lead
        && let Some(end) = time(told, true)
    {
        let is_question = phrase.words.get(end).is_some_and(|word| is_word_of(QUESTIONS, &word.plain));
        let is_order = phrase.words.get(end).is_some_and(|word| is_word_of(ORDERS, &word.plain));
        return (is_question || !reminds && !is_order).then(|| vec![ask(phrase, (told, end), (end, all))]);
    }
    // "Add milk to the shopping list tomorrow at 9".
    if let Some((first, last)) = behind_list(phrase).filter(|_| !again) {
        let begin = (first..=last).find(|begin| is_time(phrase, (*begin, all), lang, now, true))?;
        return Some(vec![ask(phrase, (begin, all), (0, begin))]);
    }
    // "… every morning at 8". Of what is planned on every Monday a question is answered now.
    let first = all.saturating_sub(MAX_TIME_WORDS).max(1);
    let begin = (first..all).filter(|_| again).find(|begin| is_time(phrase, (*begin, all), lang, now, false))?;
    let is_question = phrase.words.first().is_some_and(|word| is_word_of(QUESTIONS, &word.plain));
    let reminds = lead.is_some_and(|(_, reminds)| reminds);
    (!is_question && !reminds).then(|| asked(phrase, (begin, all), (0, begin), true))
}

/// Whether the words may begin with a time, behind which something is to be made or changed.
fn begins_with_time(phrase: &Phrase<'_>) -> bool {
    let mut words = phrase.words.iter();
    let may_begin = words.next().is_some_and(|word| is_word_of(TIME_HEADS, &word.plain) || names_an_hour(&word.plain));
    may_begin && words.any(|word| is_word_of(CHANGES, &word.plain))
}

/// Where a time may begin behind an order that names its list last, at the earliest and at the latest: "add milk to the shopping list
/// …", "aggiungi il latte alla lista della spesa …". What stands behind a list that was named first may be a part of the thing.
fn behind_list(phrase: &Phrase<'_>) -> Option<(usize, usize)> {
    let is = |at: usize, words: &str| phrase.words.get(at).is_some_and(|word| is_word_of(words, &word.plain));
    let all = phrase.len();
    is(0, CHANGES).then_some(())?;
    let into = (2..all).find(|at| is(*at, INTO) && (at + 1..=at + MAX_LIST_WORDS).any(|list| is(list, LISTS)))?;
    let list = (into + 1..=into + MAX_LIST_WORDS).find(|at| is(*at, LISTS))?;
    let named = if is(list + 1, OF_LISTS) { MAX_LIST_WORDS } else { 0 };
    let first = if named == 0 { list + 1 } else { list + 3 };
    (first < all && all - first <= MAX_TIME_WORDS + MAX_LIST_WORDS).then(|| (first, (list + 1 + named).min(all - 1)))
}

/// The question or the order that stands in these words; a question that is not asked again and again only where the words ask to be
/// told.
fn asked(phrase: &Phrase<'_>, when: (usize, usize), (begin, end): (usize, usize), again: bool) -> Vec<Ask> {
    let whole = ask(phrase, when, (begin, end));
    if let Some(told) = head(TELLS, phrase, begin) {
        let bare = ask(phrase, when, (begin + told, end));
        let is_question = phrase.words.get(begin + told).is_some_and(|word| is_word_of(QUESTIONS, &word.plain));
        return if is_question { vec![bare, whole] } else { vec![whole, bare] };
    }
    if let Some(told) = head(REMINDS, phrase, begin) {
        let is_question = phrase.words.get(begin + told).is_some_and(|word| is_word_of(QUESTIONS, &word.plain));
        return if is_question { vec![ask(phrase, when, (begin + told, end))] } else { Vec::new() };
    }
    if again || is_order(&whole.what.concat()) { vec![whole] } else { Vec::new() }
}

fn ask(phrase: &Phrase<'_>, when: (usize, usize), (begin, end): (usize, usize)) -> Ask {
    let edge = |c: char| c.is_whitespace() || matches!(c, ',' | ';' | ':');
    let what = phrase.typed(begin, end).trim_matches(edge).to_owned();
    Ask { what: vec![what], when: vec![phrase.typed(when.0, when.1).to_owned()], frozen: Vec::new() }
}

/// Whether words mean that something is done then, and not that something which happens then is written down: "note that the bins go
/// out every Monday".
#[must_use]
pub fn may_do(text: &str, ask: &Ask, envelope: &Envelope) -> bool {
    let Some(phrase) = Phrase::of(text, envelope.lang) else { return false };
    let writes = phrase.words.iter().any(|word| is_word_of(WRITES, &word.plain));
    !writes && is_order(&ask.what.join(" "))
}

/// Whether a request begins with a word that has something made or changed: a question is never done.
#[must_use]
pub fn is_order(what: &str) -> bool {
    let begins = |phrase: Phrase<'_>| phrase.words.first().is_some_and(|word| is_word_of(CHANGES, &word.plain));
    Phrase::of(what, Lang::En).is_some_and(begins)
}
