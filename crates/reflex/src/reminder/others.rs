//! Other persons in a request, by the names that the household has for them: "tell my mum that dinner is ready", "ricorda a Luca di
//! fare i compiti". What is passed on stands in the words as it is; nobody is meant who is not known by name. Pure.

use metnos_proto::envelope::{Envelope, PersonNamed};
use metnos_proto::msg::schedule::{EVERYBODY, MAX_WHAT, Order, Tell};
use metnos_rank::words::words;

use crate::answer::reminders;
use crate::reminder::asked::Asked;
use crate::reminder::forms::{self, Part, is_word_of};
use crate::words::phrase::Phrase;

/// What stands before a name and is no part of it: "my mum", "la mamma".
const BEFORE: &str = "my|our|the|dear|mio|mia|mie|miei|nostro|nostra|nostri|nostre|il|la|lo|le|gli|i|l|cara";
/// How all others of the household are called.
const EVERYBODY_IS: [&str; 13] = [
    "everybody",
    "everyone",
    "all",
    "all of them",
    "all the others",
    "others",
    "family",
    "whole family",
    "tutti",
    "tutti quanti",
    "tutti gli altri",
    "altri",
    "famiglia",
];
/// Forms of having something passed on. `@` is a person, `:` a mark that begins what is said, `a|b` one of these words, `[a|b]`
/// maybe one of them. What follows is what is said.
const TELLS: &str = "
    tell|inform|notify|alert|warn|message|text|ping @ that|:
    message|text|write @ saying|and_say
    message|text|write @ to say [that]
    tell @ to
    ask @ to
    let @ know that|:
    say|write to @ that|:
    pass on to @ that|:
    send|write|give|leave [a|the|this|another] [quick|short|little|nice] message|note|text to|for @ that|saying|:
    send|write|give|leave [a|the|this|another] [quick|short|little|nice] message|note|text to|for @ to say [that]
    send|write|give|leave @ a|the|this|another [quick|short|little|nice] message|note|text that|saying|:
    send|write|give|leave @ a|the|this|another [quick|short|little|nice] message|note|text to say [that]
    di|dici|dica|dire|comunica|comunicare|riferisci|riferire|scrivi|scrivere a|ad|al|alla|allo|all|ai|agli|alle @ che|di|:
    avvisa|avvisare|avverti|avvertire|informa|informare @ che|di|:
    fai|fa|fare|far sapere a|ad|al|alla|allo|all|ai|agli|alle @ che|:
    chiedi|chiedere a|ad|al|alla|allo|all|ai|agli|alle @ di
    manda|mandare|invia|inviare|scrivi|scrivere|lascia|lasciare [un] [breve] messaggio|messaggino a|ad|al|alla|allo|all|ai|agli|alle|per @ che|dicendo|:
    manda|mandare|invia|inviare|scrivi|scrivere|lascia|lasciare [un] [breve] messaggio|messaggino a|ad|al|alla|allo|all|ai|agli|alle|per @ con scritto [che]
    manda|mandare|invia|inviare|scrivi|scrivere|lascia|lasciare [un] [breve] messaggio|messaggino a|ad|al|alla|allo|all|ai|agli|alle|per @ per dire|dirle|dirgli [che]
    manda|mandare|invia|inviare|scrivi|scrivere|lascia|lasciare a|ad|al|alla|allo|all|ai|agli|alle @ un|il [breve] messaggio|messaggino che|dicendo|:
    manda|mandare|invia|inviare|scrivi|scrivere|lascia|lasciare a|ad|al|alla|allo|all|ai|agli|alle @ un|il [breve] messaggio|messaggino con scritto [che]";
/// Forms in which nothing joins the person and what is said, which must be a whole sentence then.
const TELLS_PLAINLY: &str = "
    tell|message|text @
    let @ know";
/// Italian "to", as it stands before a person.
const TO: &str = "a|ad|al|alla|allo|all|ai|agli|alle";
/// Words of which a sentence has one.
const VERBS: &str = "is|are|am|was|were|will|has|have|had|can|cannot|could|must|should|would|need|needs|s|m|re|ll|ve|wont|dont|isnt|cant";
/// How a sentence begins that has none of them, or hides it.
const SUBJECTS: &str = "i|we|she|he|they|it|you|there|please";
/// What begins a time or a question and no such sentence: "tell Anna tomorrow that …", "tell Anna where the keys are".
const NO_SENTENCE: &str = "tomorrow|today|tonight|at|in|on|next|this|every|when|before|after|by|about|what|who|where|why|how|which|whose|\
    whether|if|to|that|a|an|some|again|later|now";
/// Forms of having another person reminded: as above. What they become when the words are about oneself stands behind `=`.
const REMINDS: &str = "
    remind @ = remind me
    dont|donot let @ forget = dont let me forget
    don t let @ forget = don t let me forget
    do not let @ forget = do not let me forget
    tell|ping|notify|alert|warn @ = tell me
    let @ know = let me know
    give|send @ a|another reminder = remind me
    set|create|make|add a|another reminder for @ = remind me
    ricorda|ricordare|ricordi|rammenta|rammentare a|ad|al|alla|allo|all|ai|agli|alle @ = ricordami
    di|dici|dire a|ad|al|alla|allo|all|ai|agli|alle @ = dimmi
    avvisa|avvisare|avverti|avvertire @ = avvisami
    metti|imposta|crea|aggiungi un|altro promemoria per|a|ad|al|alla @ = ricordami";
/// What stands before such a request and says nothing of it.
const PREFIXES: &str = "butler|maggiordomo|hey|hi|hello|ok|okay|so|well|and|then|please|ciao|ehi|senti|allora|dai|poi|e|scusa|per|favore|can|could|\
    would|will|you|puoi|potresti|vorrei|che|tu";
const MAX_PREFIXES: usize = 4;
/// Pronouns: they name nobody.
const PRONOUNS: &str = "i|he|she|they|we|me|us|him|her|them|it|you|myself|io|tu|mi|ci|lui|lei|loro|noi|voi|te|se|nobody|nessuno|qualcuno|somebody|someone|anyone";

/// The words of a name as they are compared: in small letters without accents, and without what stands before it.
#[must_use]
pub fn name_words(name: &str) -> Vec<String> {
    let mut all = words(name);
    let skipped = all.iter().take_while(|word| is_word_of(BEFORE, word)).count();
    all.drain(..skipped.min(all.len().saturating_sub(1)));
    all
}

/// Whether these words mean the whole household, the person who speaks, or somebody who is not named: no person may be called so.
#[must_use]
pub fn is_taken(name: &str) -> bool {
    let called = name_words(name);
    let called: Vec<&str> = called.iter().map(String::as_str).collect();
    EVERYBODY_IS.contains(&called.join(" ").as_str())
        || called.is_empty()
        || matches!(called[..], [one] if is_word_of(PRONOUNS, one))
}

/// Somebody who was named: who, and where the words go on.
struct Found {
    name: String,
    end: usize,
}

/// Who may stand for `@`.
#[derive(Clone, Copy)]
enum Who<'a> {
    /// One of these.
    Known(&'a [PersonNamed]),
    /// Anybody else, by a name of one word.
    Anybody,
}

impl Who<'_> {
    fn at(self, said: &[&str], at: usize) -> Option<Found> {
        let Self::Known(people) = self else { return anybody(said, at) };
        let begin = at + said.get(at..)?.iter().take_while(|word| is_word_of(BEFORE, word)).count();
        let rest = said.get(begin..)?;
        let starts = |called: &[String]| {
            !called.is_empty() && rest.len() >= called.len() && called.iter().zip(rest).all(|(one, other)| one == other)
        };
        let named = people.iter().flat_map(|person| {
            std::iter::once(&person.name).chain(&person.also).map(|called| (person.name.as_str(), name_words(called)))
        });
        let all =
            EVERYBODY_IS.iter().map(|called| (EVERYBODY, called.split(' ').map(str::to_owned).collect::<Vec<_>>()));
        let found = named.chain(all).filter(|(_, called)| starts(called)).max_by_key(|(_, called)| called.len())?;
        Some(Found { name: found.0.to_owned(), end: begin + found.1.len() })
    }
}

/// Takes the word at `at` as the name of a person outside the household; `None` for pronouns, articles and stop words.
fn anybody(said: &[&str], at: usize) -> Option<Found> {
    let word = said.get(at).filter(|word| word.len() > 2 && word.chars().all(char::is_alphabetic))?;
    let is_name = !is_word_of(PRONOUNS, word) && !is_word_of(BEFORE, word) && !is_word_of(NO_SENTENCE, word);
    is_name.then(|| Found { name: (*word).to_owned(), end: at + 1 })
}

/// Whether a mark stands before this word that begins what is said.
fn is_marked(phrase: &Phrase<'_>, at: usize) -> bool {
    let between =
        at.checked_sub(1).and_then(|before| Some((phrase.words.get(before)?.end, phrase.words.get(at)?.start)));
    between
        .and_then(|(from, to)| phrase.text.get(from..to))
        .is_some_and(|text| text.contains([':', '"', '“', '«', ',']))
}

/// Where the words go on behind this form, and who it names.
fn taken(
    form: &str,
    said: &[&str],
    begin: usize,
    who: Who<'_>,
    marked: &dyn Fn(usize) -> bool,
) -> Option<(Found, usize)> {
    let (mut at, mut found) = (begin, None);
    for part in form.split_ascii_whitespace() {
        if part == "@" {
            let one = who.at(said, at)?;
            at = one.end;
            found = Some(one);
            continue;
        }
        match forms::part(part) {
            Part::One(words) | Part::Maybe(words) if forms::is_one_of(words, said.get(at)) => at += 1,
            Part::One(words) if is_word_of(words, ":") && marked(at) => {}
            Part::One(_) => return None,
            Part::Maybe(_) => {}
        }
    }
    found.map(|found| (found, at))
}

fn longest(
    forms: &str,
    said: &[&str],
    begin: usize,
    who: Who<'_>,
    marked: &dyn Fn(usize) -> bool,
) -> Option<(Found, usize)> {
    let forms = forms.lines().map(str::trim).filter(|form| !form.is_empty());
    forms.filter_map(|form| taken(form, said, begin, who, marked)).max_by_key(|(_, end)| *end)
}

/// Whether the words from `at` on are a sentence by themselves.
fn is_sentence(said: &[&str], at: usize) -> bool {
    let rest = &said[at..];
    let begins = rest.first().is_some_and(|first| is_word_of(SUBJECTS, first));
    let fits = rest.first().is_some_and(|first| !is_word_of(NO_SENTENCE, first));
    rest.len() > 1 && fits && (begins || rest.iter().any(|word| is_word_of(VERBS, word)))
}

/// Where a request can begin: at its first word, or behind what says nothing.
fn beginnings<'a>(said: &'a [&str]) -> impl Iterator<Item = usize> + 'a {
    let skipped = said.iter().take(MAX_PREFIXES).take_while(|word| is_word_of(PREFIXES, word)).count();
    0..=skipped
}

/// What is asked to be passed on to somebody else at once; `None` for anything else.
#[must_use]
pub fn asked(text: &str, envelope: &Envelope) -> Option<Asked> {
    let people = &envelope.home.people;
    if people.is_empty() {
        return None;
    }
    let phrase = Phrase::of(text, envelope.lang)?;
    let said = phrase.plain();
    let marked = |at: usize| is_marked(&phrase, at);
    let told = beginnings(&said).find_map(|begin| {
        let joined = longest(TELLS, &said, begin, Who::Known(people), &marked);
        joined.or_else(|| {
            longest(TELLS_PLAINLY, &said, begin, Who::Known(people), &marked)
                .filter(|(_, end)| is_sentence(&said, *end))
        })
    });
    if let Some((found, end)) = told {
        let what = phrase.typed(end, phrase.len()).trim_matches(['"', '“', '”', '«', '»', ' ']).to_owned();
        let fits = !what.is_empty() && what.len() <= MAX_WHAT && !what.contains(char::is_control);
        return fits.then(|| Asked::Order(Order::Tell(Tell { to: found.name, what: vec![what] }), phrase.lang));
    }
    let (found, end) = beginnings(&said).find_map(|begin| longest(TELLS, &said, begin, Who::Anybody, &marked))?;
    let named = said.get(..end)?.iter().position(|word| *word == found.name)?;
    let names: Vec<&str> = people.iter().map(|person| person.name.as_str()).collect();
    Some(Asked::Unclear(reminders::nobody(phrase.lang, phrase.typed(named, named + 1), &names)))
}

/// Whether "say to" stands in the Italian words, which have no other word of a reminder: "domani alle 9 di' ad Anna che …".
pub(crate) fn may_say_to(phrase: &Phrase<'_>) -> bool {
    let pairs = phrase.words.iter().zip(phrase.words.iter().skip(1));
    pairs.into_iter().any(|(say, to)| is_word_of("di|dici|dire", &say.plain) && is_word_of(TO, &to.plain))
}

/// A request to remind another person, as one about oneself: the words as they are compared, which words of the phrase they are,
/// and who is meant. `own` are those that may be looked at.
pub(crate) fn of_oneself<'a>(
    phrase: &'a Phrase<'_>,
    own: &[usize],
    people: &[PersonNamed],
) -> Option<(String, Vec<usize>, Vec<&'a str>)> {
    if people.is_empty() {
        return None;
    }
    let said: Vec<&str> = own.iter().map(|at| phrase.words[*at].plain.as_str()).collect();
    let forms = REMINDS.lines().filter_map(|line| line.trim().split_once('='));
    let none = |_: usize| false;
    let found = forms.filter_map(|(form, becomes)| {
        taken(form, &said, 0, Who::Known(people), &none).map(|(found, end)| (found, end, becomes.trim()))
    });
    let (found, end, becomes) = found.max_by_key(|(_, end, _)| *end)?;
    let head: Vec<&str> = becomes.split(' ').collect();
    // As many places as the new words take, all within what the old ones took.
    let places = own[..end].iter().take(head.len()).chain(&own[end..]).copied().collect();
    Some((found.name, places, head.into_iter().chain(said[end..].iter().copied()).collect()))
}

#[cfg(test)]
mod tests {
    use metnos_proto::msg::common::Lang;

    use super::*;

    fn household() -> Envelope {
        let mut envelope = Envelope::empty(Vec::new(), Lang::En);
        let person = |name: &str, also: &[&str]| PersonNamed {
            name: name.to_owned(),
            also: also.iter().map(|one| (*one).to_owned()).collect(),
        };
        envelope.home.people = vec![
            person("Anna", &["mum", "mamma", "moglie", "wife"]),
            person("Luca", &[]),
            person("Rosa Bianchi", &["nanny"]),
        ];
        envelope
    }

    fn told(text: &str) -> Option<(String, String)> {
        match asked(text, &household())? {
            Asked::Order(Order::Tell(Tell { to, what }), _) => Some((to, what.concat())),
            Asked::Order(..) | Asked::Unclear(_) => None,
        }
    }

    #[test]
    fn messages_are_passed_on_in_the_persons_own_words() {
        for (text, to, what) in [
            ("tell Anna that dinner is ready", "Anna", "dinner is ready"),
            ("Please tell my wife that I'm late!", "Anna", "I'm late"),
            ("can you tell Luca to tidy his room?", "Luca", "tidy his room"),
            ("tell anna dinner is ready", "Anna", "dinner is ready"),
            ("tell Luca I love him", "Luca", "I love him"),
            ("let mum know that the parcel has come", "Anna", "the parcel has come"),
            ("let Anna know I will be home at 8", "Anna", "I will be home at 8"),
            ("message Luca: the bus leaves at 7:30", "Luca", "the bus leaves at 7:30"),
            ("send a message to Rosa Bianchi saying we are back at 11", "Rosa Bianchi", "we are back at 11"),
            ("send the nanny a message: we are late", "Rosa Bianchi", "we are late"),
            ("ask Luca to set the table", "Luca", "set the table"),
            ("tell everybody that dinner is ready", EVERYBODY, "dinner is ready"),
            ("tell the family: dinner!", EVERYBODY, "dinner"),
            ("di' ad Anna che la cena è pronta", "Anna", "la cena è pronta"),
            ("puoi dire alla mamma che arrivo tardi?", "Anna", "arrivo tardi"),
            ("dì a Luca di mettere in ordine", "Luca", "mettere in ordine"),
            ("avvisa Anna che sono in ritardo", "Anna", "sono in ritardo"),
            ("fai sapere a mia moglie che il pacco è arrivato", "Anna", "il pacco è arrivato"),
            ("manda un messaggio a Luca: torna a casa", "Luca", "torna a casa"),
            ("scrivi a Luca che ceniamo alle 8", "Luca", "ceniamo alle 8"),
            ("di' a tutti che si mangia", EVERYBODY, "si mangia"),
        ] {
            assert_eq!(told(text), Some((to.to_owned(), what.to_owned())), "{text}");
        }
    }

    #[test]
    fn nothing_is_passed_on_that_was_not_asked_for() {
        for text in [
            "don't tell Anna that I bought a ring",
            "non dire ad Anna che ho comprato un anello",
            "note: I must tell Anna that dinner is ready",
            "tell me that again",
            "tell Anna about the trip",
            "tell Anna where the keys are",
            "tell Anna a joke",
            "tell Anna tomorrow at 9 that dinner is ready",
            "what did you tell Anna that day",
            "remind Anna to call the dentist tomorrow at 9",
            "add tell Anna that I am late to the list",
            "Anna",
            "tell Anna",
            "di che colore è la macchina di Anna",
            "did you tell Anna that dinner is ready?",
            "hai detto ad Anna che la cena è pronta?",
        ] {
            assert_eq!(told(text), None, "{text}");
        }
        let alone = Envelope::empty(Vec::new(), Lang::En);
        assert_eq!(asked("tell Anna that dinner is ready", &alone), None, "nobody is known there");
    }

    #[test]
    fn message_for_somebody_who_is_not_known_names_those_who_are() {
        let Some(Asked::Unclear(said)) = asked("tell Giulio that dinner is ready", &household()) else { panic!() };
        assert!(said.contains("Giulio") && said.contains("Anna") && said.contains("Rosa Bianchi"), "{said}");
        assert_eq!(asked("tell them that dinner is ready", &household()), None);
    }
}
