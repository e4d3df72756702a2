//! What is left to chance: a coin, dice, a number between two, one of two things. Answered only where every word belongs to
//! it. Chance comes from outside, so that the same words with the same chance give the same answer. Pure.

use metnos_proto::msg::common::Lang;
use metnos_rank::words::words as folded;
use metnos_texts::{Key, say, tell};

use crate::words::when::number_word;

/// What may stand before and behind such a request.
const LEAD: &str = "please can could would you lets let us ok now per favore puoi potresti allora dai";
const TAIL: &str = "please for me us now again thanks per favore noi grazie";
const COIN: &str = "flip a coin,toss a coin,flip the coin,toss the coin,throw a coin,flip coin,heads or tails,lancia una moneta,tira una moneta,\
    lancia la moneta,lanciami una moneta,testa o croce,fai testa o croce,facciamo testa o croce,lanciare una moneta";
const DIE: &str = "roll a die,roll a dice,roll the die,roll the dice,roll dice,throw a die,throw a dice,throw the dice,tira un dado,\
    lancia un dado,tira il dado,lancia il dado,tirare un dado,lanciare un dado";
const ROLLS: &str = "roll throw tira lancia tirare lanciare";
const DICE: &str = "dice dadi";
/// The most dice at once, and the sides of one.
const MAX_DICE: u64 = 10;
const SIDES: u64 = 6;
const PICKS: &str = "pick choose think give tell draw say decide scegli pensa dimmi dammi estrai decidi";
const BEFORE_NUMBER: &str = "me us of a an any random another un ad altro";
const AT_RANDOM: &str = "at random a caso casuale";
const BETWEEN: &str = "between from tra fra da";
const AND: &str = "and to or e a o";
/// The most words of one of two things.
const MAX_THING: usize = 4;

fn is_one_of(word: &str, all: &str) -> bool {
    all.split_ascii_whitespace().any(|known| known == word)
}

/// Pseudo-random numbers from a seed: the generator `SplitMix64` (Steele, Lea and Flood 2014).
struct Chance(u64);

impl Chance {
    /// One of the numbers from 0 below `end`, which is not 0.
    const fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % end
    }
}

/// The answer to a request that leaves something to chance; `None` for everything else.
#[must_use]
pub fn answer(text: &str, seed: u64, lang: Lang) -> Option<String> {
    let all = folded(text);
    let mut words: Vec<&str> = all.iter().map(String::as_str).collect();
    while words.last().is_some_and(|word| is_one_of(word, TAIL)) {
        words.pop();
    }
    let begin = words.iter().position(|word| !is_one_of(word, LEAD))?;
    let words = words.split_off(begin);
    let (said, mut chance) = (words.join(" "), Chance(seed));
    let is = |all: &str| all.split(',').any(|one| one.trim() == said);
    if is(COIN) {
        return Some(say(lang, if chance.below(2) == 0 { Key::ChanceHeads } else { Key::ChanceTails }));
    }
    if let Some(count) = if is(DIE) { Some(1) } else { dice(&words) } {
        let rolled: Vec<String> = (0..count).map(|_| (chance.below(SIDES) + 1).to_string()).collect();
        return Some(tell(lang, Key::ChanceDice, &[("rolled", rolled.join(", ").as_str().into())]));
    }
    if let Some((least, most)) = range(&words) {
        let number = least + chance.below(most - least + 1);
        return Some(tell(lang, Key::ChanceNumber, &[("number", number.to_string().as_str().into())]));
    }
    let (one, other) = two(&words)?;
    let chosen = if chance.below(2) == 0 { one } else { other };
    Some(tell(lang, Key::ChanceChoice, &[("choice", chosen.as_str().into())]))
}

fn number(word: &str) -> Option<u64> {
    word.parse().ok().or_else(|| number_word(word).map(u64::from))
}

/// How many dice are rolled: "roll two dice".
fn dice(words: &[&str]) -> Option<u64> {
    let [verb, count, dice] = words else { return None };
    let is_asked = is_one_of(verb, ROLLS) && is_one_of(dice, DICE);
    number(count).filter(|count| is_asked && (1..=MAX_DICE).contains(count))
}

/// Between which numbers one is picked: "pick a number between 1 and 10".
fn range(words: &[&str]) -> Option<(u64, u64)> {
    let at = words.iter().position(|word| matches!(*word, "number" | "numero"))?;
    let (before, behind) = (&words[..at], &words[at + 1..]);
    let begins = before.is_empty()
        || is_one_of(before[0], PICKS) && before[1..].iter().all(|word| is_one_of(word, BEFORE_NUMBER))
        || before.iter().all(|word| is_one_of(word, BEFORE_NUMBER));
    let from = behind.iter().position(|word| is_one_of(word, BETWEEN)).filter(|from| {
        let spoken = &behind[..*from];
        spoken.iter().all(|word| is_one_of(word, AT_RANDOM))
    })?;
    let [first, and, last] = &behind[from + 1..] else { return None };
    let (first, last) = (number(first)?, number(last)?);
    let (least, most) = (first.min(last), first.max(last));
    (begins && is_one_of(and, AND) && most < u64::from(u32::MAX)).then_some((least, most))
}

/// The two things of which one is chosen: "choose between pizza and pasta".
fn two(words: &[&str]) -> Option<(String, String)> {
    let [verb, between, things @ ..] = words else { return None };
    let is_asked = is_one_of(verb, "pick choose decide scegli decidi") && is_one_of(between, "between tra fra");
    let mut joints = things.iter().enumerate().filter(|(_, word)| is_one_of(word, "and or e o"));
    let (at, _) = joints.next().filter(|_| is_asked)?;
    let (one, other) = (&things[..at], &things[at + 1..]);
    let fits = |thing: &[&str]| (1..=MAX_THING).contains(&thing.len());
    (joints.next().is_none() && fits(one) && fits(other)).then(|| (one.join(" "), other.join(" ")))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn everything_that_chance_may_give_is_given_and_nothing_else() {
        for (text, lang, wanted) in [
            ("flip a coin", Lang::En, vec!["Heads.", "Tails."]),
            ("can you toss a coin please?", Lang::En, vec!["Heads.", "Tails."]),
            ("testa o croce?", Lang::It, vec!["Testa.", "Croce."]),
            ("roll a die", Lang::En, vec!["1", "2", "3", "4", "5", "6"]),
            ("tira un dado per favore", Lang::It, vec!["1", "2", "3", "4", "5", "6"]),
            ("pick a number between 3 and 5", Lang::En, vec!["3", "4", "5"]),
            ("scegli un numero a caso da cinque a 3", Lang::It, vec!["3", "4", "5"]),
            ("choose between pizza and fish soup", Lang::En, vec!["pizza", "fish soup"]),
            ("scegli tra mare e montagna", Lang::It, vec!["mare", "montagna"]),
        ] {
            let given: BTreeSet<String> = (0..200).map(|seed| answer(text, seed, lang).unwrap()).collect();
            assert_eq!(given.len(), wanted.len(), "{text}: {given:?}");
            assert!(wanted.iter().all(|one| given.iter().any(|said| said.contains(one))), "{text}: {given:?}");
        }
        assert_eq!(answer("roll three dice", 1, Lang::En).unwrap().matches(", ").count(), 2);
    }

    #[test]
    fn other_requests_are_left_alone() {
        for text in [
            "",
            "please",
            "roll 11 dice",
            "roll 0 dice",
            "pick a number",
            "what is the number of Anna",
            "pick a number between 1 and 5 and send it to Anna",
            "delete the number between 1 and 5",
            "choose between the blue one and the red one and the green one",
            "choose a or b",
            "add dice to the shopping list",
            "flip the pancakes",
            "pick a number between 1 and 99999999999999999999",
        ] {
            assert_eq!(answer(text, 1, Lang::En), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_text_and_seed_end(text in "\\PC{0,60}", seed in any::<u64>(), a in any::<u64>(), b in any::<u64>()) {
            let _ = answer(&text, seed, Lang::En);
            let _ = answer(&format!("pick a number between {a} and {b}"), seed, Lang::En);
        }
    }
}
