//! Requests for reminders: "remind me tomorrow at 9 to call the dentist", "what is planned", "cancella il promemoria del dentista".
//! It finds of what and when in the words, as they stand there; what is not wholly clear it asks for. Pure.

mod change;
mod forms;

use std::ops::Range;

use metnos_calendar::Zone;
use metnos_proto::envelope::Envelope;
use metnos_proto::msg::common::Lang;
use metnos_proto::msg::schedule::{MAX_PARTS, MAX_WHAT, Order, Remind};
use metnos_when::{Context, Kind, Language, Reading, Zoned};

use crate::answer::reminders;
use crate::words::phrase::Phrase;

/// What is asked for about reminders.
#[derive(Debug, Clone, PartialEq)]
pub enum Asked {
    /// Something to be done, in this language.
    Order(Order, Lang),
    /// Something is missing or may be one of two: the text asks for it.
    Unclear(String),
}

/// What begins a request for a reminder of something.
const HEADS: &str = "
    remind me|us
    remind me|us again
    give|send me|us a [short|quick] reminder
    i|we need|want a reminder
    i|we would like a reminder
    set|create|make|add|put|schedule [me|us|up] a|an|one|another [new] reminder
    set|create|make|add|schedule reminder
    new reminder
    reminder
    dont let me|us forget
    don t let me|us forget
    do not let me|us forget
    make sure i|we dont forget
    make sure i|we don t forget
    let me|us know
    tell|ping|notify|alert|warn me|us
    ricordami|ricordaci
    ricordarmi|ricordarci
    mi|ci ricordi
    rammentami|rammentaci
    fammi ricordare
    non farmi|farci dimenticare|scordare
    avvisami|avvisaci|avvertimi|avvertici
    avvisarmi|avvisarci|avvertirmi|avvertirci
    mi|ci avvisi|avverti
    dimmi|dirmi
    ho|abbiamo bisogno di un promemoria
    mi|ci serve un promemoria
    vorrei un promemoria
    metti|mettimi|imposta|impostami|crea|creami|aggiungi|fai|fammi|segna|segnami|programma [un] [nuovo] promemoria
    nuovo promemoria
    promemoria";
/// Those of them that ask for many things, and for a reminder only where a time stands with them.
const LOOSE: &str = "
    let me|us know
    tell|ping|notify|alert|warn me|us
    avvisami|avvisaci|avvertimi|avvertici
    avvisarmi|avvisarci|avvertirmi|avvertirci
    mi|ci avvisi|avverti
    dimmi|dirmi
    reminder
    promemoria";
/// Requests for something that rings: what it is about may be left out.
const RINGS: &str = "
    set|create|make|add|put|start|schedule [me|us|up] a|an|the|one|another|my [new] alarm|timer|countdown
    set|create|start alarm|timer
    i|we need|want an|a alarm|timer
    wake me|us [up]
    alarm
    timer
    metti|mettimi|imposta|impostami|crea|avvia|attiva|programma|punta|puntami|aggiungi|fai|fammi [un|una|la|il|lo] [nuova|nuovo] sveglia|timer|allarme|avviso
    fai|fammi partire [un|una|la|il] timer|sveglia
    ho bisogno di un|una sveglia|timer
    mi|ci serve un|una sveglia|timer
    svegliami|svegliaci
    svegliarmi|svegliarci
    mi|ci svegli
    sveglia
    timer";
/// Words by which somebody is to be woken: in the morning, where nothing else is said.
const WAKES: [&str; 9] =
    ["wake", "alarm", "sveglia", "svegliami", "svegliaci", "svegliarmi", "svegliarci", "svegli", "allarme"];
/// What joins a request and what it is about.
const JOINS: &str = "
    to
    to [please] not forget to
    that
    about
    of
    for
    for me to
    that i|we have|need|must|should [to]
    that it is time to
    that its time to
    i|we have|need to
    i|we must|should
    when it is time to
    called|named
    saying|with the text
    di
    che
    per
    a
    del|della|dello|dei|degli|delle|dell|d
    che devo|dobbiamo
    che e ora di
    quando e ora di
    devo|dobbiamo
    con scritto
    chiamato|intitolato";
/// What makes of the words behind a request for a reminder a question: "remind me what I said".
const ASKS: &str = "
    what|who|where|why|how|which|whose|whether|if|when
    of|about|to what|who|where|why|how|which
    cosa|chi|dove|perche|come|quale|quali|quanto|quanta|quanti|quante|se|qual|quando
    che cosa
    di cosa|chi|che";
/// Questions for what is planned.
const LISTS: &str = "
    what|whats is|s [currently|already|still|all] planned|scheduled|coming [up]
    what is|are [still|all] planned|scheduled
    whats planned|scheduled
    what do i|we have planned|scheduled
    what have i|we got [planned|scheduled]
    what have i|we planned|scheduled
    what are you going to remind me|us of|about
    what will you remind me|us of|about
    anything planned|scheduled
    [is] anything [is] planned|scheduled
    what|which reminders|alarms|timers
    what|which reminders|alarms|timers do i|we have [set|planned]
    what|which reminders|alarms|timers are [there|set|planned|active|pending]
    what|which reminders|alarms|timers have i|we [got|set]
    what are my|our|the reminders|alarms|timers
    do i|we have [any] [other] reminders|alarms|timers [set|planned]
    have i|we got any reminders|alarms|timers [set|planned]
    are there [any] [other] reminders|alarms|timers [set|planned]
    show|list|read|give|tell [me|us] [all] [of] [my|our|the] [planned|active|pending] reminders|alarms|timers [please]
    [all] my|our|the reminders|alarms|timers
    reminders|alarms|timers
    how many reminders|alarms|timers do i|we have
    cosa|che e|ce|hai in programma
    cosa|che c e in programma
    cosa|che hai [gia] programmato|previsto|pianificato
    cosa|che c e di programmato|previsto|pianificato
    che cosa e|ce in programma
    che cosa c e in programma
    che cosa ho|abbiamo|hai in programma
    cosa|che ho|abbiamo in programma
    che|quali|quanti promemoria|sveglie|timer
    che|quali|quanti promemoria|sveglie|timer ho|abbiamo|ci|sono [sono|impostato|impostati|attivi|attive|in] [programma]
    quali sono i|le [miei|mie|nostri|nostre] promemoria|sveglie|timer
    ho|abbiamo|ci [sono] [dei|delle|altri|altre|qualche] promemoria|sveglie|timer
    mostra|mostrami|elenca|elencami|leggi|leggimi|dimmi|dammi|fammi [vedere] [tutti|tutte] [i|le] [miei|mie|nostri|nostre] promemoria|sveglie|timer
    lista|elenco dei promemoria
    [tutti] i|le [miei|mie|nostri|nostre] promemoria|sveglie|timer
    miei|mie promemoria|sveglie
    di cosa mi devi ricordare
    cosa mi devi ricordare
    che cosa mi devi ricordare";
/// Words that may stand around an answer to the question when: "at 8, please", "make it tomorrow".
const FILLERS: &str =
    "make it at on in the for ok okay yes e facciamo alle per fai allora va bene si direi mettilo then say";

/// A request of which something is known.
struct Half {
    lang: Lang,
    what: Vec<String>,
    when: Vec<String>,
    /// Somebody is to be woken.
    early: bool,
}

/// What is asked for about reminders; `None` for anything else.
#[must_use]
pub fn asked(text: &str, envelope: &Envelope) -> Option<Asked> {
    let now = now_of(envelope)?;
    let phrase = Phrase::of(text, envelope.lang)?;
    let said = phrase.plain();
    if forms::is_whole(LISTS, &said) {
        return Some(Asked::Order(Order::List, phrase.lang));
    }
    let was_listed = envelope.recent.last().is_some_and(|last| is_list(&last.text, envelope.lang));
    if let Some(change) = change::asked(&phrase, was_listed) {
        return Some(Asked::Order(Order::Change(change), phrase.lang));
    }
    if let Some(half) = half(&phrase, &now) {
        return Some(whole(half, &now));
    }
    // "When?", it was asked a moment ago.
    let before = envelope.recent.last()?;
    let asked = half(&Phrase::of(&before.text, envelope.lang)?, &now)?;
    completed(asked, &phrase, &now)
}

/// Whether words ask for what is planned.
fn is_list(text: &str, lang: Lang) -> bool {
    Phrase::of(text, lang).is_some_and(|phrase| forms::is_whole(LISTS, &phrase.plain()))
}

/// The moment that it is in the household; `None` where nobody has said so.
fn now_of(envelope: &Envelope) -> Option<Zoned> {
    let zone = Zone::read(&envelope.home.zone).unwrap_or_default();
    zone.at(envelope.home.now).filter(|_| envelope.home.now > 0)
}

fn read(text: &str, lang: Lang, now: &Zoned) -> Reading {
    let language = match lang {
        Lang::En => Language::English,
        Lang::It => Language::Italian,
    };
    metnos_when::read(text, &Context::new(now.clone(), language))
}

/// A request for a reminder, as far as it goes.
fn half(phrase: &Phrase<'_>, now: &Zoned) -> Option<Half> {
    let reading = read(phrase.text, phrase.lang, now);
    let is_time = |at: usize| {
        let word = &phrase.words[at];
        reading.spans.iter().any(|span| word.start < span.end && span.start < word.end)
    };
    let own: Vec<usize> = (0..phrase.words.len()).filter(|at| !is_time(*at)).collect();
    let said: Vec<&str> = own.iter().map(|at| phrase.words[*at].plain.as_str()).collect();
    let (rings, head) = match (forms::begins(RINGS, &said), forms::begins(HEADS, &said)) {
        (Some(rings), other) if other.is_none_or(|other| other < rings) => (true, rings),
        (_, other) => (false, other?),
    };
    let has_time = !reading.spans.is_empty();
    let is_loose = forms::begins(LOOSE, &said) == Some(head);
    let rest = &said[head..];
    let asks = forms::begins(ASKS, rest).is_some();
    // "Remind me what I said" asks; "tell me a story" and "reminder" alone ask for no time.
    if asks || is_loose && !has_time {
        return None;
    }
    let joined = forms::begins(JOINS, rest).unwrap_or(0);
    let mut about = &own[head + joined..];
    if about.is_empty() && rings {
        about = &own[..head];
    }
    let what = parts(phrase, about);
    let when = reading.spans.iter().filter_map(|span| phrase.text.get(span.clone())).map(str::to_owned).collect();
    let fits = what.iter().map(String::len).sum::<usize>() <= MAX_WHAT && what.len() <= MAX_PARTS;
    let early = rings && own[..head].iter().any(|at| WAKES.contains(&phrase.words[*at].plain.as_str()));
    fits.then_some(Half { lang: phrase.lang, what, when, early })
}

/// The text of these words, in as few pieces as they stand in.
fn parts(phrase: &Phrase<'_>, about: &[usize]) -> Vec<String> {
    let mut runs: Vec<Range<usize>> = Vec::new();
    for at in about {
        match runs.last_mut() {
            Some(run) if run.end == *at => run.end = at + 1,
            Some(_) | None => runs.push(*at..at + 1),
        }
    }
    runs.into_iter().map(|run| phrase.typed(run.start, run.end).to_owned()).filter(|text| !text.is_empty()).collect()
}

/// What becomes of a request: an order, or a question for what is missing.
fn whole(half: Half, now: &Zoned) -> Asked {
    let Half { lang, what, when, early } = half;
    if what.is_empty() {
        return Asked::Unclear(reminders::of_what(lang));
    }
    if when.is_empty() {
        return Asked::Unclear(reminders::when(lang, &what.join(" ")));
    }
    let reading = read(&when.join(" "), lang, now);
    let is_morning = |one: &Reading| one.start.as_ref().is_some_and(|start| start.hour() < 12);
    let settled = early && reading.readings.iter().any(is_morning);
    if reading.kind == Kind::None && !settled {
        let times = reading.readings.iter().filter_map(|one| one.start.as_ref());
        let times: Vec<String> = times.map(|at| format!("{}:{:02}", at.hour(), at.minute())).collect();
        return Asked::Unclear(match times.as_slice() {
            [one, other, ..] => reminders::which(lang, one, other),
            [] | [_] => reminders::when(lang, &what.join(" ")),
        });
    }
    Asked::Order(Order::Remind(Remind { what, when, early: settled }), lang)
}

/// A request that lacked its time, with words that are nothing but a time.
fn completed(asked: Half, phrase: &Phrase<'_>, now: &Zoned) -> Option<Asked> {
    let lang = phrase.spoken.unwrap_or(asked.lang);
    let was_clear = !asked.when.is_empty() && read(&asked.when.join(" "), asked.lang, now).kind != Kind::None;
    let reading = read(phrase.text, lang, now);
    let is_time = |word: &crate::words::phrase::Word| {
        reading.spans.iter().any(|span| word.start < span.end && span.start < word.end)
            || FILLERS.split_ascii_whitespace().any(|filler| filler == word.plain)
    };
    if was_clear || asked.what.is_empty() || reading.spans.is_empty() || !phrase.words.iter().all(is_time) {
        return None;
    }
    let said: Vec<String> =
        reading.spans.iter().filter_map(|span| phrase.text.get(span.clone())).map(str::to_owned).collect();
    // "At 8?" "In the evening."
    let together: Vec<String> = asked.when.iter().cloned().chain(said.iter().cloned()).collect();
    let joined = read(&together.join(" "), lang, now).kind != Kind::None && together.len() <= MAX_PARTS;
    let when = if joined { together } else { said };
    Some(whole(Half { lang, what: asked.what, when, early: asked.early }, now))
}

#[cfg(test)]
mod tests;
