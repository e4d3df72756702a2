//! Whether an order that somebody else has read out of a person's words says what they say. A model understands more than the
//! reflex does, and may have been told what to plan by what it has read. So its order holds only where the words are, part by part,
//! what is to be done, when and to whom, and where what is left over asks for just that and says nothing else. Pure.

use metnos_proto::msg::schedule::{Order, ScheduleAct, Which};

use super::forms::{begins, is_word_of};
use crate::words::phrase::Phrase;

/// What may stand before a request. Nobody is asked by "I will …" or "did you …".
const LEADS: &str = "
    please|kindly|maybe|also|and|then|now|so|ok|okay|hey|hi|hello|just
    can|could|would|will you [please|kindly|just|also|maybe]
    i|we need|want you to
    i|we would|d like you to
    i|we would love you to
    if possible
    per favore|cortesia
    puoi|potresti|potete|riesci
    mi|ci puoi|potresti|potete
    vorrei|vorremmo|voglio|vogliamo che [tu]
    anche|poi|ora|adesso|allora|e|ehi|ciao";
/// The same of what the person wants for himself.
const OWN_LEADS: &str = "
    can|could i|we [please]
    i|we want|need to
    i|we would|d like|love to
    vorrei|vorremmo|voglio|vogliamo";
/// What may join a request and what it is about.
const JOINS: &str = "that|to|of|about|me|us|the|for|my|our|a|an|che|di|d|del|della|dei|delle|dell|al|ad|alla|mi|ci|il|la|lo|i|gli|le|l|un|una";
/// What may follow at the end.
const ENDS: &str = "please|thanks|thank|you|ok|okay|grazie|per|favore|cortesia";
/// What a reminder is called.
const REMINDERS: &str = "reminder|reminders|alarm|alarms|timer|timers|promemoria|sveglia|sveglie|allarme|avviso";
/// What may stand for one beside its name.
const THINGS: &str = "one|thing|it|quello|quella|cosa";
const TELLS: &str = "tell|let|know|inform|message|text|write|notify|pass|send|word|drop|line|on|\
    dire|dirgli|dirle|di|dici|digli|dille|avvisa|avvisare|avverti|avvertire|sapere|fai|far|fare|scrivi|scrivere|manda|mandare|messaggio|\
    riferisci|riferire|comunica|comunicare";
const REMINDS: &str = "remind|reminder|remember|remembers|forget|forgets|make|sure|nudge|ping|give|send|\
    ricorda|ricordare|ricordagli|ricordale|promemoria|ricordi|avvisa|avvisare|manda|mandare";
const ANSWERS: &str = "tell|show|give|send|read|know|let|see|hear|have|get|check|list|message|text|\
    dire|dirmi|dimmi|dicci|mostra|mostrami|mostrare|mostrarmi|dammi|darmi|dare|manda|mandami|mandare|mandarmi|leggi|leggimi|leggere|\
    sapere|fammi|farmi|fare|vedere|avere|controlla|controllare|elenca|elencami";
const CANCELS: &str = "cancel|delete|remove|drop|stop|clear|erase|scrap|get|rid|turn|switch|off|\
    annulla|annullare|cancella|cancellare|elimina|eliminare|togli|togliere|rimuovi|rimuovere|ferma|fermare|disdici|disdire";
const PAUSES: &str = "pause|suspend|mute|sospendi|sospendere|metti|mettere|in|pausa";
const RESUMES: &str = "resume|unpause|restart|continue|reactivate|riprendi|riprendere|riattiva|riattivare";
const MOVES: &str = "move|change|shift|postpone|reschedule|delay|push|bring|put|back|forward|by|on|\
    sposta|spostare|cambia|cambiare|rimanda|rimandare|posticipa|posticipare|anticipa|anticipare|rinvia|rinviare";

/// Words of those lists that request nothing when they come first: "Marco forgets to …" only says so.
const NOT_FIRST: &str = "remember|remembers|forget|forgets|know|sapere|word|line|on|off|back|forward|by|in";

/// How often words that lead to a request are passed over.
const MAX_LEADS: usize = 4;

/// What a word of the request is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    What,
    When,
    To,
    Left,
}

/// Whether the words of a person ask for this order of a model's. Of a reminder for the person alone it is not asked: there it is
/// enough that its parts stand in the words.
#[must_use]
pub fn is_borne_out(order: &Order, said: &str) -> bool {
    let Some(words) = Phrase::whole(said) else { return false };
    let said = words.plain();
    let mut parts = vec![Part::Left; said.len()];
    let mut mark = |texts: &[String], part| label(&said, &mut parts, texts, part);
    match order {
        Order::Tell(tell) => {
            let to = std::slice::from_ref(&tell.to);
            mark(&tell.what, Part::What) && mark(to, Part::To) && asks_for(&said, &parts, TELLS, Some(LEADS))
        }
        Order::Remind(remind) if !remind.to.is_empty() => {
            let to = std::slice::from_ref(&remind.to);
            mark(&remind.when, Part::When)
                && mark(&remind.what, Part::What)
                && mark(to, Part::To)
                && asks_for(&said, &parts, REMINDS, Some(LEADS))
        }
        Order::Ask(ask) => {
            mark(&ask.when, Part::When)
                && mark(&ask.what, Part::What)
                && [LEADS, OWN_LEADS].iter().any(|leads| asks_for(&said, &parts, ANSWERS, Some(leads)))
        }
        Order::Change(change) => {
            let (verbs, when) = match &change.act {
                ScheduleAct::Cancel => (CANCELS, None),
                ScheduleAct::Pause => (PAUSES, None),
                ScheduleAct::Resume => (RESUMES, None),
                ScheduleAct::Move(when) => (MOVES, Some(when)),
                ScheduleAct::RunNow | ScheduleAct::Earlier(_) => return false,
            };
            let is_named = match &change.which {
                Which::Called(name) => mark(std::slice::from_ref(name), Part::What),
                Which::Only => said.iter().any(|word| is_word_of(REMINDERS, word)),
                Which::Number(_)
                | Which::Place(_)
                | Which::Timer
                | Which::Timers
                | Which::Alarms
                | Which::Last
                | Which::All
                | Which::Given => false,
            };
            is_named
                && when.is_none_or(|when| label(&said, &mut parts, when, Part::When))
                && asks_for(&said, &parts, verbs, None)
        }
        Order::Remind(_) | Order::List(_) | Order::Find(_) | Order::Quiet(_) => false,
    }
}

/// Finds these texts in the words, one behind the other, where no other part stands; false when one is empty or not there.
fn label(said: &[&str], parts: &mut [Part], texts: &[String], part: Part) -> bool {
    let mut from = 0;
    !texts.is_empty()
        && texts.iter().all(|text| {
            let Some(wanted) = Phrase::whole(text) else { return false };
            let wanted = wanted.plain();
            let fits = |at: &usize| {
                let end = at + wanted.len();
                said.get(*at..end) == Some(&wanted[..]) && parts[*at..end].iter().all(|part| *part == Part::Left)
            };
            let Some(at) = (from..said.len()).find(fits) else { return false };
            from = at + wanted.len();
            parts[at..from].fill(part);
            true
        })
}

/// Whether what is left of the words asks for it and says nothing else: words that lead to it, a verb, and what joins them. What is
/// passed on must also be whole; `leads` is none for a change, whose name is a part of the words only.
fn asks_for(said: &[&str], parts: &[Part], verbs: &str, leads: Option<&str>) -> bool {
    let left = said.iter().zip(parts).filter(|(_, part)| **part == Part::Left).map(|(word, _)| *word);
    let left: Vec<&str> = left.collect();
    let lead = |at: usize| {
        let known = leads.map_or([LEADS, OWN_LEADS], |leads| [leads, leads]);
        known.iter().filter_map(|known| begins(known, &left[at..])).max().unwrap_or(0)
    };
    let mut at = 0;
    for _ in 0..MAX_LEADS {
        at += lead(at);
    }
    let joins = |word: &&str| {
        let names = || leads.is_none() && [REMINDERS, THINGS].iter().any(|words| is_word_of(words, word));
        [verbs, JOINS, ENDS].iter().any(|words| is_word_of(words, word)) || names()
    };
    left.get(at).is_some_and(|word| is_word_of(verbs, word) && !is_word_of(NOT_FIRST, word))
        && left[at..].iter().all(joins)
        && (leads.is_none() || (0..said.len()).all(|at| is_whole(said, parts, at, verbs)) && !is_split(parts))
}

/// Whether a name stands within what is passed on: then it is another sentence.
fn is_split(parts: &[Part]) -> bool {
    let first = parts.iter().position(|part| *part == Part::What).unwrap_or(0);
    let last = parts.iter().rposition(|part| *part == Part::What).unwrap_or(0);
    parts[first..=last].contains(&Part::To)
}

/// Whether nothing was cut off at this word, where what is passed on begins or ends there.
fn is_whole(said: &[&str], parts: &[Part], at: usize, verbs: &str) -> bool {
    if parts[at] != Part::What {
        return true;
    }
    let before = || {
        let joined = (0..at).rev().take_while(|one| parts[*one] == Part::Left && is_word_of(JOINS, said[*one])).count();
        let Some(one) = (at - joined).checked_sub(1) else { return joined == 0 };
        parts[one] != Part::Left || is_word_of(verbs, said[one])
    };
    let after = || {
        let rest = at + 1..said.len();
        let ends = rest.clone().take_while(|one| parts[*one] == Part::Left && is_word_of(ENDS, said[*one])).count();
        rest.clone().nth(ends).is_none_or(|one| parts[one] != Part::Left || is_word_of(verbs, said[one]))
    };
    let (is_first, is_last) = (at == 0 || parts[at - 1] != Part::What, parts.get(at + 1) != Some(&Part::What));
    (!is_first || before()) && (!is_last || after())
}

#[cfg(test)]
mod tests {
    use metnos_proto::msg::schedule::{Ask, Remind, ScheduleChange, Tell};

    use super::*;

    fn texts(parts: &[&str]) -> Vec<String> {
        parts.iter().map(|part| (*part).to_owned()).collect()
    }

    fn tell(to: &str, what: &[&str]) -> Order {
        Order::Tell(Tell { to: to.to_owned(), what: texts(what) })
    }

    fn remind(to: &str, what: &[&str], when: &[&str]) -> Order {
        Order::Remind(Remind { what: texts(what), when: texts(when), early: false, to: to.to_owned() })
    }

    fn ask(what: &[&str], when: &[&str]) -> Order {
        Order::Ask(Ask { what: texts(what), when: texts(when), frozen: Vec::new() })
    }

    fn change(which: &str, act: ScheduleAct) -> Order {
        let which = if which.is_empty() { Which::Only } else { Which::Called(which.to_owned()) };
        Order::Change(ScheduleChange { which, act })
    }

    #[test]
    fn words_that_ask_for_an_order_bear_it_out() {
        let cases = [
            ("Could you let Anna know dinner's ready?", tell("Anna", &["dinner's ready"])),
            ("dinner is ready, let Anna know please", tell("Anna", &["dinner is ready"])),
            ("potresti far sapere ad Anna che la cena è pronta", tell("Anna", &["la cena è pronta"])),
            ("Puoi avvisare Marco che arrivo tardi?", tell("Marco", &["arrivo tardi"])),
            (
                "Could you make sure Marco remembers to bring the bins out tomorrow at 7?",
                remind("Marco", &["bring the bins out"], &["tomorrow at 7"]),
            ),
            (
                "Could you give me a rundown of the day's plans each morning at 8?",
                ask(&["a rundown of the day's plans"], &["each morning at 8"]),
            ),
            (
                "each Friday at 18 I would like to see what is in the fridge list",
                ask(&["what is in the fridge list"], &["each Friday at 18"]),
            ),
            ("could you get rid of the dentist reminder", change("dentist", ScheduleAct::Cancel)),
            ("please get rid of the dentist thing", change("dentist", ScheduleAct::Cancel)),
            ("get rid of my reminder", change("", ScheduleAct::Cancel)),
            ("could you move the dentist one to 10:30", change("dentist", ScheduleAct::Move(texts(&["10:30"])))),
            (
                "puoi spostare quello del dentista alle 10:30",
                change("dentista", ScheduleAct::Move(texts(&["alle 10:30"]))),
            ),
        ];
        for (said, order) in cases {
            assert!(is_borne_out(&order, said), "{said}: {order:?}");
        }
    }

    #[test]
    fn words_that_say_something_else_bear_nothing_out() {
        for (said, order) in [
            ("Anna said dinner at 8 is nice", tell("Anna", &["dinner at 8 is nice"])),
            ("don't let Anna know dinner's ready", tell("Anna", &["dinner's ready"])),
            ("did you let Anna know dinner's ready", tell("Anna", &["dinner's ready"])),
            ("Could you let Anna know Marco is here", tell("Marco", &["Anna know", "is here"])),
            ("Could you let Anna know Marco is here", tell("Marco", &["is here"])),
            ("Could you let Anna know I can come", tell("Anna", &["come"])),
            ("Could you let Anna know that you would like my dinner", tell("Anna", &["dinner"])),
            ("Let Anna know dinner is ready if you can", tell("Anna", &["dinner is ready"])),
            ("Let Anna know the code is 4471", tell("Anna", &["the code"])),
            ("Let Anna know the code is 4471", tell("*", &["the code is 4471"])),
            ("Let Anna know", tell("Anna", &[])),
            ("I will tell Anna that dinner is ready", tell("Anna", &["dinner is ready"])),
            ("I will let you know Anna is ill", tell("Anna", &["is ill"])),
            ("Marco forgets to bring the bins out at 7", remind("Marco", &["bring the bins out"], &["at 7"])),
            ("Marco remembers to bring the bins out at 7", remind("Marco", &["bring the bins out"], &["at 7"])),
            ("I need to tell Anna that I am ill", tell("Anna", &["I am ill"])),
            ("can I tell Anna that I am ill", tell("Anna", &["I am ill"])),
            ("who told Anna that I am ill", tell("Anna", &["I am ill"])),
            ("I will get rid of the dentist thing", change("dentist", ScheduleAct::Cancel)),
            (
                "what is on the shopping list every morning at 8",
                ask(&["what is on the shopping list"], &["every morning at 8"]),
            ),
            (
                "tell me every morning at 8 what is on the shopping list",
                ask(&["what is on the shopping list"], &["every morning"]),
            ),
            (
                "tell me every morning at 8 what is on the shopping list",
                ask(&["the shopping list"], &["every morning at 8"]),
            ),
            ("tell me every morning at 8 what is on the shopping list", ask(&["what is"], &["every morning at 8"])),
            ("don't cancel the dentist reminder", change("dentist", ScheduleAct::Cancel)),
            ("don't forget the dentist reminder", change("dentist", ScheduleAct::Cancel)),
            ("did you cancel the dentist reminder?", change("dentist", ScheduleAct::Cancel)),
            ("what did the dentist say about all my teeth", change("dentist", ScheduleAct::Cancel)),
            ("cancel the dentist reminder", change("plumber", ScheduleAct::Cancel)),
            ("cancel the dentist reminder", change("dentist", ScheduleAct::Pause)),
            ("cancel the dentist reminder", change("", ScheduleAct::Pause)),
            ("please get rid of it", change("", ScheduleAct::Cancel)),
            ("move the dentist reminder from 9 to 10", change("dentist", ScheduleAct::Move(texts(&["10"])))),
            ("move the dentist reminder to 10:30", change("dentist", ScheduleAct::Move(texts(&["in 1 minute"])))),
        ] {
            assert!(!is_borne_out(&order, said), "{said}: {order:?}");
        }
    }
}
