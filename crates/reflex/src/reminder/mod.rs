//! Requests for reminders: "remind me tomorrow at 9 to call the dentist", "what is planned", "cancella il promemoria del dentista".
//! It finds of what and when in the words, as they stand there; what is not wholly clear it asks for. Pure.

mod ahead;
mod asked;
pub mod asks;
mod birthdays;
pub mod borne_out;
mod change;
mod find;
pub(crate) mod forms;
pub mod habit;
mod listing;
pub mod others;
mod quiet;
pub mod review;

use std::ops::Range;

use metnos_calendar::Zone;
use metnos_proto::envelope::{Envelope, PersonNamed};
use metnos_proto::msg::common::Lang;
use metnos_proto::msg::schedule::{MAX_PARTS, MAX_WHAT, MAX_WHEN, Order, Remind, ScheduleChange, Which};
use metnos_when::{Context, Kind, Language, Reading, Zoned};

use crate::answer::reminders;
use crate::words::phrase::Phrase;
pub use asked::Asked;
use change::Before;

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
    make sure i|we dont|remember [forget]
    make sure i|we don t forget
    help me|us [to] remember
    give me|us a|another nudge|shout|ping|buzz
    i want you to remind me|us
    let me|us know
    tell|ping|notify|alert|warn me|us
    ricordami|ricordaci
    ricordarmi|ricordarci
    mi|ci ricordi|ricordassi
    tu mi|ci ricordi|ricordassi
    rammentami|rammentaci
    fammi ricordare
    non farmi|farci dimenticare|scordare
    avvisami|avvisaci|avvertimi|avvertici
    avvisarmi|avvisarci|avvertirmi|avvertirci
    mi|ci avvisi|avverti
    fammi|facci sapere
    dimmi|dirmi
    ho|abbiamo bisogno di un promemoria
    mi|ci serve|servirebbe|occorre un promemoria
    che mi|ci ricordi|ricordassi
    che tu mi|ci ricordi|ricordassi
    vorrei|vorremmo che [tu] mi|ci ricordassi|ricordi
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
    fammi|facci sapere
    dimmi|dirmi
    reminder
    promemoria";
/// Those that ask for a sign at a time, and may leave out what it is about.
const SIGNALS: &str = "
    ping|notify|alert|warn|buzz me|us
    avvisami|avvisaci|avvertimi|avvertici
    avvisarmi|avvisarci|avvertirmi|avvertirci
    mi|ci avvisi|avverti";
/// What joins such words and what is to be done.
const ORDERS: &str = "
    to|that|di|che
    when it is time to
    quando e ora di";
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
/// What may stand before a request, and says nothing of it.
const PREFIXES: &str = "
    butler|maggiordomo|hey|hi|hello|ok|okay|so|well|also|and|then|please|ciao|ehi|senti|allora|dai|poi|anche|e|scusa
    when it is|s
    when its
    at|quando sono le
    quando saranno le
    per cortesia
    se puoi
    if you can|could";
/// Words of a request for something with lists, notes and files: what it is about is no reminder where no time stands with it.
const OTHERS: &str = "list|lists|note|notes|notebook|file|files|folder|document|lista|liste|elenco|nota|appunti|quaderno|cartella|documento";
/// How a word begins of which one stands in every request for a reminder.
const KEYS: [&str; 28] = [
    "remind",
    "alarm",
    "timer",
    "countdown",
    "wake",
    "forget",
    "remember",
    "nudge",
    "ping",
    "shout",
    "buzz",
    "notify",
    "alert",
    "warn",
    "tell",
    "know",
    "ricord",
    "ramment",
    "promemoria",
    "svegl",
    "allarme",
    "avvis",
    "avvert",
    "sapere",
    "dimmi",
    "dirmi",
    "diment",
    "scord",
];
/// What rings.
const NOUNS: [&str; 6] = ["alarm", "timer", "countdown", "sveglia", "allarme", "avviso"];
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
/// Words that may stand around an answer to the question when: "at 8, please", "make it tomorrow".
const FILLERS: &str =
    "make it at on in the for ok okay yes e facciamo alle per fai allora va bene si direi mettilo then say";

/// The most words of a request for another time.
const MAX_MOVE_WORDS: usize = 24;
/// How often words before a request, and those that join it to what it is about, are passed over.
const MAX_PREFIXES: usize = 3;
const MAX_JOINS: usize = 3;

/// A request of which something is known.
struct Half {
    lang: Lang,
    what: Vec<String>,
    when: Vec<String>,
    /// Somebody is to be woken.
    early: bool,
    /// Who is reminded; empty for the person who asks.
    to: String,
}

/// What is asked for about reminders; `None` for anything else.
#[must_use]
pub fn asked(text: &str, envelope: &Envelope) -> Option<Asked> {
    let now = now_of(envelope)?;
    let phrase = Phrase::of(text, envelope.lang)?;
    if let Some(quiet) = quiet::asked(&phrase) {
        return Some(Asked::Order(Order::Quiet(quiet), phrase.lang));
    }
    let said = phrase.plain();
    let mended = forms::mended(said.iter().copied());
    if listing::may_ask(&mended) {
        if let Some((when, lang)) = listed_then(&phrase, &now) {
            return Some(Asked::Order(Order::List(when), lang));
        }
        if listing::is_asked(&mended) {
            return Some(Asked::Order(Order::List(String::new()), phrase.lang));
        }
    }
    let before = before(envelope, &now);
    let changed = change::asked(&phrase, before).map(|change| (change, phrase.lang));
    if let Some((change, lang)) =
        changed.or_else(|| moved(&phrase, &now, (before, !envelope.home.has_account("calendar"))))
    {
        return Some(Asked::Order(Order::Change(change), lang));
    }
    if let Some(half) = half_in_any(&phrase, &now, &envelope.home.people) {
        return Some(whole(half, &now));
    }
    if let Some(called) = find::asked(&phrase, before) {
        return Some(Asked::Order(Order::Find(called), phrase.lang));
    }
    // "When?", it was asked a moment ago.
    let before = envelope.recent.last()?;
    let asked = half(&Phrase::of(&before.text, envelope.lang)?, &now, &envelope.home.people)?;
    completed(asked, &phrase, &now)
}

/// What the last words have left for "it" and "the second one" to mean.
fn before(envelope: &Envelope, now: &Zoned) -> Before {
    let Some(last) = envelope.recent.last() else { return Before::Nothing };
    if is_list(&last.text, envelope.lang, Some(now)) {
        return Before::List;
    }
    let Some(phrase) = Phrase::of(&last.text, envelope.lang) else { return Before::Nothing };
    let made =
        half(&phrase, now, &envelope.home.people).is_some_and(|half| !half.when.is_empty() && !half.what.is_empty());
    let moved =
        || moved(&phrase, now, (Before::Nothing, true)).is_some_and(|(change, _)| matches!(change.which, Which::Last));
    let named = |which: &Which| matches!(which, Which::Timer | Which::Called(_) | Which::Only);
    let choice = || change::asked(&phrase, Before::Nothing).is_some_and(|change| named(&change.which));
    match (made || moved(), choice()) {
        (true, _) => Before::One,
        (false, true) => Before::Choice,
        (false, false) => Before::Nothing,
    }
}

/// The time, in the words as they stand, of a question for what is planned then, and the language of these words: "what do I have to
/// do tomorrow?". Where the words do not show it, the other language is tried as well.
fn listed_then(phrase: &Phrase<'_>, now: &Zoned) -> Option<(String, Lang)> {
    languages(phrase).find_map(|lang| Some((listed_in(phrase, lang, now)?, lang)))
}

/// The language of words, and the other one where they do not show it.
pub(crate) fn languages(phrase: &Phrase<'_>) -> impl Iterator<Item = Lang> {
    let other = if phrase.lang == Lang::En { Lang::It } else { Lang::En };
    std::iter::once(phrase.lang).chain(std::iter::once(other).filter(|_| phrase.spoken.is_none()))
}

/// The one time in the words, when it begins and where it stands, with the other words.
fn beside_time<'a>(phrase: &'a Phrase<'_>, lang: Lang, now: &Zoned) -> Option<(Zoned, Range<usize>, Vec<&'a str>)> {
    let reading = read(phrase.text, lang, now);
    let start = reading.start.filter(|_| matches!(reading.kind, Kind::Instant | Kind::Interval))?;
    let [span] = reading.spans.as_slice() else { return None };
    let outside = |word: &&crate::words::phrase::Word| word.end <= span.start || span.end <= word.start;
    let rest = phrase.words.iter().filter(outside).map(|word| word.plain.as_str()).collect();
    Some((start, span.clone(), rest))
}

fn listed_in(phrase: &Phrase<'_>, lang: Lang, now: &Zoned) -> Option<String> {
    let (_, span, mut rest) = beside_time(phrase, lang, now)?;
    // "What's on tomorrow": the word belongs to both.
    let is_on = phrase.words.iter().any(|word| word.start == span.start && word.plain == "on");
    rest.extend(is_on.then_some("on"));
    let when = phrase.text.get(span).filter(|when| when.len() <= MAX_WHEN)?;
    listing::is_asked_then(&forms::mended(rest.into_iter())).then(|| when.to_owned())
}

/// A request for another time, and the language of its words; where they do not show it, the other one is tried as well.
fn moved(phrase: &Phrase<'_>, now: &Zoned, before: (Before, bool)) -> Option<(ScheduleChange, Lang)> {
    if !change::may_move(phrase) {
        return None;
    }
    languages(phrase).find_map(|lang| Some((moved_in(phrase, lang, now, before)?, lang)))
}

/// The same in one language: such a request ends with its time, which is read by itself. In "the second one to 18:00" stands
/// another one, and in "by an hour" none.
fn moved_in(phrase: &Phrase<'_>, lang: Lang, now: &Zoned, before: (Before, bool)) -> Option<ScheduleChange> {
    let last = phrase.words.last().filter(|_| phrase.words.len() <= MAX_MOVE_WORDS)?.end;
    // "Ora" at the end is a word that says nothing, but not in "un'ora".
    let whole = phrase.text.trim_end_matches(|c: char| !c.is_alphanumeric()).len();
    let sooner = change::sooner(phrase).map(|words| phrase.words[phrase.len() - words - 1].end);
    let ends = [whole, last].into_iter().take(if whole == last { 1 } else { 2 }).chain(sooner);
    (1..phrase.words.len()).find_map(|begin| {
        ends.clone().find_map(|end| {
            let tail = phrase.text.get(phrase.words[begin].start..end)?;
            let reading = read(tail, lang, now);
            let is_whole = reading.spans.len() == 1 && reading.spans[0] == (0..tail.len());
            let is_time =
                reading.kind != Kind::Interval && (reading.kind != Kind::None || !reading.readings.is_empty());
            // "To 10", and not "by 10".
            let joint = phrase.words[begin - 1].plain.as_str();
            let is_made = joint == "it" && begin > 1 && phrase.words[begin - 2].plain == "make";
            let is_hour = (is_made || matches!(joint, "to" | "at" | "until" | "till" | "a" | "alle"))
                && metnos_when::bare_hour(tail, language_of(lang)).is_some();
            // "An hour earlier", "bring it forward by an hour", "anticipa … di un'ora".
            let is_sooner = |word: &crate::words::phrase::Word| {
                word.plain.starts_with("anticip") || matches!(word.plain.as_str(), "forward" | "bring")
            };
            let earlier = sooner == Some(end) || phrase.words[..begin].iter().any(is_sooner);
            let earlier = earlier && reading.kind == Kind::Duration;
            let fits = is_whole && is_time && (earlier || sooner != Some(end)) || is_hour;
            change::moved(phrase, begin, (tail, earlier), before).filter(|_| fits)
        })
    })
}

/// Whether words ask for what is planned.
fn is_list(text: &str, lang: Lang, now: Option<&Zoned>) -> bool {
    Phrase::of(text, lang).is_some_and(|phrase| {
        let said = phrase.plain();
        listing::may_ask(&said)
            && (listing::is_asked(&said) || now.is_some_and(|now| listed_then(&phrase, now).is_some()))
    })
}

/// The current time in the household's time zone; `None` if the envelope carries no time.
pub(crate) fn now_of(envelope: &Envelope) -> Option<Zoned> {
    let zone = Zone::read(&envelope.home.zone).unwrap_or_default();
    zone.at(envelope.home.now).filter(|_| envelope.home.now > 0)
}

const fn language_of(lang: Lang) -> Language {
    match lang {
        Lang::En => Language::English,
        Lang::It => Language::Italian,
    }
}

pub(crate) fn read(text: &str, lang: Lang, now: &Zoned) -> Reading {
    metnos_when::read(text, &Context::new(now.clone(), language_of(lang)))
}

/// The same in the language of the words; where they do not show it, in the one in which a time is read.
fn half_in_any(phrase: &Phrase<'_>, now: &Zoned, people: &[PersonNamed]) -> Option<Half> {
    let has_time = |half: &Half| !half.when.is_empty();
    let first = half(phrase, now, people);
    if first.as_ref().is_some_and(has_time) || phrase.spoken.is_some() {
        return first;
    }
    let other = languages(phrase).nth(1).and_then(|lang| Phrase::of(phrase.text, lang));
    other.and_then(|other| half(&other, now, people)).filter(has_time).or(first)
}

/// A request for a reminder, as far as it goes.
fn half(phrase: &Phrase<'_>, now: &Zoned, people: &[PersonNamed]) -> Option<Half> {
    // Reading times costs more than all the rest.
    let asks = |word: &str| KEYS.iter().any(|key| word.starts_with(key));
    let may_ask = forms::mended(phrase.words.iter().map(|word| word.plain.as_str())).into_iter().any(asks);
    if !may_ask && (people.is_empty() || !others::may_say_to(phrase)) {
        return None;
    }
    if let Some(half) = ahead::half(phrase, now) {
        return Some(half);
    }
    let spans = spans(phrase.text, read(phrase.text, phrase.lang, now));
    let is_time = |at: usize| {
        let word = &phrase.words[at];
        spans.iter().any(|span| word.start < span.end && span.start < word.end)
    };
    let mut own: Vec<usize> = (0..phrase.words.len()).filter(|at| !is_time(*at)).collect();
    let plain = |own: &[usize]| forms::mended(own.iter().map(|at| phrase.words[*at].plain.as_str()));
    for _ in 0..MAX_PREFIXES {
        let Some(prefix) = forms::begins(PREFIXES, &plain(&own)).filter(|prefix| *prefix < own.len()) else { break };
        own.drain(..prefix);
    }
    let other = others::of_oneself(phrase, &own, people);
    let (to, said) = match other {
        Some((to, places, said)) => {
            own = places;
            (to, said)
        }
        None => (String::new(), plain(&own)),
    };
    let named = named_ring(&said).filter(|_| !spans.is_empty());
    let (rings, head) = match &named {
        Some(named) => (true, named.end),
        None => head(phrase, &own, &said, !spans.is_empty())?,
    };
    let mut begin = head;
    for _ in 0..MAX_JOINS {
        begin += forms::begins(JOINS, &said[begin..]).unwrap_or(0);
    }
    // "A timer for the pizza of 12 minutes": what joins it to its time is no part of what it is about.
    let joins_time = |at: &usize| {
        let joint = matches!(
            phrase.words[*at].plain.as_str(),
            "di" | "da" | "of" | "for" | "in" | "at" | "per" | "fra" | "tra"
        );
        joint && at + 1 < phrase.len() && is_time(at + 1)
    };
    let mut about: Vec<usize> = own[begin..].iter().copied().filter(|at| !joins_time(at)).collect();
    let early = rings && own[..head].iter().any(|at| WAKES.contains(&phrase.words[*at].plain.as_str()));
    let mut when: Vec<String> =
        spans.iter().filter_map(|span| phrase.text.get(span.clone())).map(str::to_owned).collect();
    // "An alarm for 7": what it is about is its hour.
    if let [at] = about[..]
        && early
        && when.is_empty()
        && metnos_when::bare_hour(phrase.typed(at, at + 1), language_of(phrase.lang)).is_some()
    {
        when.push(phrase.typed(at, at + 1).to_owned());
        about.clear();
    }
    if let Some(named) = named.filter(|_| about.is_empty()) {
        about = own[named].to_vec();
    }
    if about.is_empty() && rings {
        let noun = (0..head).find(|at| NOUNS.contains(&said[*at]));
        about = noun.map_or(&own[..head], |at| &own[at..=at]).to_vec();
    }
    let what = parts(phrase, &about);
    let fits = what.iter().map(String::len).sum::<usize>() <= MAX_WHAT && what.len() <= MAX_PARTS;
    fits.then_some(Half { lang: phrase.lang, what, when, early, to })
}

/// Where the name of something that rings stands: "set a pizza timer", "pizza timer".
fn named_ring(said: &[&str]) -> Option<Range<usize>> {
    const BEGINS: &str = "
        set|start|make|create|put|add [me|us|up] a|an|the|one|another|my [new]
        i|we need|want a|an|the";
    let begin = forms::begins(BEGINS, said).unwrap_or(0);
    let noun = said.iter().position(|word| matches!(*word, "timer" | "alarm" | "countdown"))?;
    let named = noun.checked_sub(begin).is_some_and(|words| (1..=2).contains(&words));
    let whole = begin > 0 || noun + 1 == said.len();
    (named && whole && forms::begins(RINGS, said).is_none()).then_some(begin..noun + 1)
}

/// Whether "che" behind "dimmi" is "that", and not "which": "dimmi che devo chiamare", and not "dimmi che ore sono".
fn says_that(said: &[&str], head: usize) -> bool {
    if said.get(head) != Some(&"che") {
        return true;
    }
    match (said.get(head + 1), said.get(head + 2)) {
        (Some(&"devo" | &"dobbiamo"), Some(&"fare")) => false,
        (Some(next), _) => matches!(
            *next,
            "devo"
                | "dobbiamo"
                | "bisogna"
                | "occorre"
                | "e"
                | "il"
                | "lo"
                | "la"
                | "l"
                | "i"
                | "gli"
                | "le"
                | "un"
                | "una"
                | "c"
        ),
        (None, _) => false,
    }
}

/// Whether words ask for something that rings, and how many of them ask; `None` when they ask for no reminder.
fn head(phrase: &Phrase<'_>, own: &[usize], said: &[&str], has_time: bool) -> Option<(bool, usize)> {
    let (rings, head) = match (forms::begins(RINGS, said), forms::begins(HEADS, said)) {
        (Some(rings), other) if other.is_none_or(|other| other < rings) => (true, rings),
        (_, other) => (false, other?),
    };
    // "Ping me in 15 minutes".
    if has_time && forms::is_whole(SIGNALS, said) {
        return Some((false, said.len()));
    }
    // "Tell me tomorrow to call", and not "tell me today's date".
    let is_loose = forms::begins(LOOSE, said) == Some(head) && !matches!(said[0], "reminder" | "promemoria");
    let orders = !is_loose || forms::begins(ORDERS, &said[head..]).is_some() && says_that(said, head);
    let fits = if has_time { orders } else { may_lack_a_time(phrase, own, said, (rings, head)) };
    (fits && forms::begins(ASKS, &said[head..]).is_none()).then_some((rings, head))
}

/// Where the time stands. What somebody has is no time: of "the parents' evening on Thursday at 18:00", "on Thursday at 18:00".
fn spans(text: &str, reading: Reading) -> Vec<Range<usize>> {
    let owned = |span: &Range<usize>| {
        let before = text[..span.start].trim_end();
        before.ends_with(['\'', '’']) || before.ends_with("'s") || before.ends_with("’s")
    };
    let later = |span: Range<usize>| match text[span.clone()].find(' ').filter(|_| owned(&span)) {
        Some(first) => span.start + first + 1..span.end,
        None => span,
    };
    reading.spans.into_iter().map(later).collect()
}

/// Whether words without a time may be a request for a reminder all the same, so that the time is asked for. "Tell me a story" and
/// "put an alarm clock on the shopping list" are none.
fn may_lack_a_time(phrase: &Phrase<'_>, own: &[usize], said: &[&str], (rings, head): (bool, usize)) -> bool {
    let rest = &said[head..];
    let of_others = rest.iter().any(|word| OTHERS.split('|').any(|other| other == *word));
    let is_loose = forms::begins(LOOSE, said) == Some(head);
    // "Reminder: change the filter".
    let colon = own.get(head - 1).is_some_and(|at| phrase.text[phrase.words[*at].end..].trim_start().starts_with(':'));
    let named = head > 1 || !rest.is_empty();
    !of_others && (!is_loose || colon && !rest.is_empty()) && (!rings || named)
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
    let Half { lang, what, when, early, to } = half;
    if what.is_empty() {
        return Asked::Unclear(reminders::of_what(lang));
    }
    if when.is_empty() {
        return Asked::Unclear(reminders::when(lang, &what.join(" "), &to));
    }
    let words = when.join(" ");
    let hour = early.then(|| metnos_when::bare_hour(&words, language_of(lang))).flatten();
    let reading = read(hour.as_deref().unwrap_or(&words), lang, now);
    let is_morning = |one: &Reading| one.start.as_ref().is_some_and(|start| start.hour() < 12);
    let settled = early && reading.readings.iter().any(is_morning);
    if reading.kind == Kind::None && !settled {
        let times = reading.readings.iter().filter_map(|one| one.start.as_ref());
        let times: Vec<String> = times.map(|at| format!("{}:{:02}", at.hour(), at.minute())).collect();
        return Asked::Unclear(match times.as_slice() {
            [one, other, ..] => reminders::which(lang, one, other),
            [] | [_] => reminders::when(lang, &what.join(" "), &to),
        });
    }
    Asked::Order(Order::Remind(Remind { what, when, early: settled, to }), lang)
}

/// A request that lacked its time, with words that are nothing but a time.
fn completed(asked: Half, phrase: &Phrase<'_>, now: &Zoned) -> Option<Asked> {
    let lang = phrase.spoken.unwrap_or(asked.lang);
    let was_clear = !asked.when.is_empty() && read(&asked.when.join(" "), asked.lang, now).kind != Kind::None;
    if was_clear || asked.what.is_empty() {
        return None;
    }
    // "At 8?" "In the evening."
    let answer = phrase.typed(0, phrase.len());
    let together = [&asked.when[..], &[answer.to_owned()]].concat();
    let joined = read(&together.join(" "), lang, now);
    let is_whole = joined.spans.iter().map(Range::len).sum::<usize>() == together.join(" ").len();
    if !asked.when.is_empty() && joined.kind != Kind::None && is_whole && together.len() <= MAX_PARTS {
        return Some(whole(Half { lang, when: together, ..asked }, now));
    }
    let reading = read(phrase.text, lang, now);
    let is_time = |word: &crate::words::phrase::Word| {
        reading.spans.iter().any(|span| word.start < span.end && span.start < word.end)
            || FILLERS.split_ascii_whitespace().any(|filler| filler == word.plain)
    };
    if reading.spans.is_empty() || !phrase.words.iter().all(is_time) {
        return None;
    }
    let said: Vec<String> =
        reading.spans.iter().filter_map(|span| phrase.text.get(span.clone())).map(str::to_owned).collect();
    Some(whole(Half { lang, when: said, ..asked }, now))
}

#[cfg(test)]
mod tests;
