//! Reminders at a distance from something at a time of day: "remind me half an hour before the meeting at 15:00". Pure.

use metnos_when::{Grain, Kind, Zoned};

use super::forms::{self, is_word_of};
use super::{HEADS, Half, PREFIXES, RINGS, read};
use crate::words::phrase::Phrase;

/// What joins a distance and what it is measured from.
const BEFORE: &str = "before|prima";
/// What stands before the name of that.
const ARTICLES: &str = "the|my|our|his|her|their|a|an|di|del|della|dello|dell|dei|delle|degli|il|lo|la|l|i|le|gli|mio|mia|nostro|nostra|che|inizi|inizia|cominci|comincia";
/// What joins that and its time, and is no part of the time.
const JOINS: &str = "at|alle|all";
/// The most words of the distance.
const MAX_DISTANCE: usize = 5;

/// The reminder that the words ask for; `None` where they ask for anything else.
pub(super) fn half(phrase: &Phrase<'_>, now: &Zoned) -> Option<Half> {
    let all = phrase.len();
    let before = phrase.words.iter().position(|word| is_word_of(BEFORE, &word.plain)).filter(|at| *at > 0)?;
    let is_distance = |begin: &usize| {
        let text = phrase.typed(*begin, before);
        let reading = read(text, phrase.lang, now);
        reading.kind == Kind::Duration && reading.spans.len() == 1 && reading.spans[0] == (0..text.len())
    };
    let begin = (before.saturating_sub(MAX_DISTANCE)..before).find(is_distance)?;
    asks(phrase, begin).then_some(())?;
    let articles = phrase.words[before + 1..].iter().take_while(|word| is_word_of(ARTICLES, &word.plain)).count();
    let what = before + 1 + articles;
    let is_time = |at: &usize| {
        let text = phrase.typed(*at, all);
        let reading = read(text, phrase.lang, now);
        let is_exact = matches!(reading.grain, Some(Grain::Hour | Grain::Minute));
        reading.kind == Kind::Instant && is_exact && reading.spans.len() == 1 && reading.spans[0] == (0..text.len())
    };
    let time = (what + 1..all).find(is_time)?;
    let bare = time + phrase.words[time..all - 1].iter().take_while(|word| is_word_of(JOINS, &word.plain)).count();
    let when = vec![phrase.typed(begin, before + 1).to_owned(), phrase.typed(bare, all).to_owned()];
    let joined = when.join(" ");
    let reading = read(&joined, phrase.lang, now);
    let is_whole = reading.kind == Kind::Instant && reading.spans.len() == 1 && reading.spans[0] == (0..joined.len());
    let what = vec![phrase.typed(what, all).to_owned()];
    is_whole.then(|| Half { lang: phrase.lang, what, when, early: false, to: String::new() })
}

/// Whether the words up to this one ask the person to be reminded, and say nothing else.
fn asks(phrase: &Phrase<'_>, end: usize) -> bool {
    let said = forms::mended(phrase.words[..end].iter().map(|word| word.plain.as_str()));
    let skip = forms::begins(PREFIXES, &said).filter(|skip| *skip < said.len()).unwrap_or(0);
    [HEADS, RINGS].iter().any(|forms| forms::is_whole(forms, &said[skip..]))
}
