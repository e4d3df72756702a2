//! "Remind me of Luca's birthday": asked each morning, by itself, whether it is that day, and told on that day alone. When it is stands
//! in the contacts, and may be changed there. Pure.

use metnos_proto::msg::common::Lang;
use metnos_proto::msg::schedule::Ask;

use super::forms::{begins, is_word_of};
use crate::words::phrase::Phrase;

/// What begins such a request.
const HEADS: &str = "
    remind me|us of|about
    remind me|us
    dont|don t let me|us forget [about]
    do not let me|us forget [about]
    tell|notify|alert me|us of|about
    ricordami|ricordaci
    avvisami|avvisaci|avvertimi|avvertici di|del|dei|per
    mi|ci ricordi
    non farmi|farci dimenticare|scordare";
/// What may follow it: by which day it is to be known. The words that say "on the day before" come first.
const DAY_BEFORE: &str = "
    the|a|one day before
    a|one day ahead|early|earlier
    il giorno prima
    un giorno prima
    [con] un giorno di anticipo";
const ON_THE_DAY: &str = "
    on the [very|same] day
    every|each year
    il giorno stesso
    ogni anno
    tutti gli anni";
/// All birthdays that are known.
const ALL: &str = "
    [all] the|our|my|family birthdays
    birthdays
    [tutti] i|nostri|miei compleanni
    [tutti] i nostri|miei compleanni
    compleanni";
const OF_THE_FAMILY: &str = "
    [of|in] [the|our|my] family|household
    of everybody|everyone
    di tutti
    di|della|in famiglia";
/// When it is asked, in the words of each language.
const WHEN: (&str, &str) = ("every day at 9:00", "ogni giorno alle 9:00");
/// The most words of a name.
const MAX_NAME: usize = 5;

/// The request as a question that is asked each morning, and its language.
pub(super) fn asked(phrase: &Phrase<'_>) -> Option<(Ask, Lang)> {
    let said = phrase.plain();
    if !said.iter().any(|word| is_word_of("birthday|birthdays|compleanno|compleanni", word)) {
        return None;
    }
    let from = begins(HEADS, &said).filter(|taken| *taken > 0)?;
    let lang = if said.iter().any(|word| word.starts_with("complean")) { Lang::It } else { Lang::En };
    let (end, before) = without_day(&said, from);
    let what = if all(&said[from..end]) { of_all(lang, before) } else { of_one(phrase, (from, end), (lang, before))? };
    let when = if lang == Lang::En { WHEN.0 } else { WHEN.1 };
    Some((Ask { what: vec![what], when: vec![when.to_owned()], frozen: Vec::new() }, lang))
}

/// Where the words end that say whose birthday is meant, and whether it is to be known on the day before.
fn without_day(said: &[&str], from: usize) -> (usize, bool) {
    let (mut end, mut before) = (said.len(), false);
    while let Some((at, is_before)) =
        (from + 1..end).find_map(|at| day_at(&said[at..end]).map(|is_before| (at, is_before)))
    {
        (end, before) = (at, before || is_before);
    }
    (end, before)
}

/// Whether these words say a day, and then whether the one before.
fn day_at(said: &[&str]) -> Option<bool> {
    let is_all = |forms: &str| begins(forms, said) == Some(said.len());
    is_all(DAY_BEFORE).then_some(true).or_else(|| is_all(ON_THE_DAY).then_some(false))
}

fn all(said: &[&str]) -> bool {
    let Some(taken) = begins(ALL, said).filter(|taken| *taken > 0) else { return false };
    taken == said.len() || begins(OF_THE_FAMILY, &said[taken..]) == Some(said.len() - taken)
}

fn of_all(lang: Lang, before: bool) -> String {
    match (lang, before) {
        (Lang::En, false) => "whose birthday is it today",
        (Lang::En, true) => "whose birthday is it tomorrow",
        (Lang::It, false) => "chi compie gli anni oggi",
        (Lang::It, true) => "chi compie gli anni domani",
    }
    .to_owned()
}

/// "Luca's birthday", "the birthday of aunt Ada", "il compleanno della zia Ada".
fn of_one(phrase: &Phrase<'_>, (from, end): (usize, usize), (lang, before): (Lang, bool)) -> Option<String> {
    let said = phrase.plain();
    let name = |begin: usize, end: usize| {
        let fits = (1..=MAX_NAME).contains(&end.checked_sub(begin)?);
        let text = phrase.typed(begin, end);
        // What joins two requests is no name.
        let joined = said[begin..end]
            .iter()
            .any(|word| is_word_of("and|or|e|o|when|quando|at|on|alle|birthday|compleanno", word));
        (fits && !joined && !text.contains([',', ';', ':', '"'])).then(|| text.to_owned())
    };
    let of = |forms: &str| begins(forms, &said[from..end]).filter(|taken| *taken > 0).map(|taken| from + taken);
    match lang {
        Lang::En => {
            let day = if before { "tomorrow" } else { "today" };
            if let Some(begin) = of("[the] birthday of") {
                return name(begin, end).map(|name| format!("is it {name}'s birthday {day}"));
            }
            // "Luca's" are two words; "my mums birthday" is written as well.
            let last = end.checked_sub(1).filter(|last| said[*last] == "birthday")?;
            let owner = last.checked_sub(1).filter(|at| said[*at] == "s")?;
            name(from, owner).map(|name| format!("is it {name}'s birthday {day}"))
        }
        Lang::It => {
            let day = if before { "domani" } else { "oggi" };
            let begin = of("[il] compleanno")?;
            let joint = said.get(begin).filter(|word| is_word_of("di|del|della|dello|dell|dei", word))?;
            let place = phrase.words.get(begin)?;
            let text = phrase.text.get(place.start..phrase.words.get(end.checked_sub(1)?)?.end)?;
            name(begin + 1, end).filter(|_| !joint.is_empty()).map(|_| format!("{day} è il compleanno {text}"))
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn what(text: &str) -> Option<String> {
        let (ask, lang) = asked(&Phrase::of(text, Lang::En)?)?;
        let when = if lang == Lang::En { "every day at 9:00" } else { "ogni giorno alle 9:00" };
        assert_eq!((ask.when, ask.frozen), (vec![when.to_owned()], Vec::new()));
        Some(ask.what.concat())
    }

    #[test]
    fn birthdays_are_asked_for_each_morning() {
        for (text, wanted) in [
            ("remind me of Luca's birthday", "is it Luca's birthday today"),
            ("Don't let me forget Anna Bianchi's birthday!", "is it Anna Bianchi's birthday today"),
            ("remind me about the birthday of aunt Ada the day before", "is it aunt Ada's birthday tomorrow"),
            ("remind us of Luca's birthday every year", "is it Luca's birthday today"),
            ("remind me of birthdays", "whose birthday is it today"),
            ("remind me of all the birthdays in the family a day before", "whose birthday is it tomorrow"),
            ("remind me about family birthdays", "whose birthday is it today"),
            ("ricordami il compleanno di Luca", "oggi è il compleanno di Luca"),
            ("ricordami il compleanno della zia Ada il giorno prima", "domani è il compleanno della zia Ada"),
            ("non farmi dimenticare il compleanno di Luca", "oggi è il compleanno di Luca"),
            ("ricordaci i compleanni di famiglia", "chi compie gli anni oggi"),
            ("ricordami tutti i compleanni un giorno prima", "chi compie gli anni domani"),
        ] {
            assert_eq!(what(text).as_deref(), Some(wanted), "{text}");
        }
    }

    #[test]
    fn what_is_no_birthday_alone_is_left_to_others() {
        for text in [
            "remind me tomorrow of Luca's birthday party",
            "remind me to buy a birthday present",
            "remind me of Luca's birthday and call him",
            "remind me on 3 May of Luca's birthday",
            "remind me of the party",
            "when is Luca's birthday",
            "ricordami di comprare il regalo di compleanno",
            "ricordami il compleanno di Luca alle 9",
            "remember Luca's birthday",
        ] {
            assert_eq!(what(text), None, "{text}");
        }
    }
}
