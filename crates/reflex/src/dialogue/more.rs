//! Something more for what the last request did with a list: "and also eggs", "anche il pane", "oh, and two lemons too".

use metnos_proto::msg::common::Lang;
use serde_json::Value;

use super::{Talk, Turn, lang_of};
use crate::words::phrase::{Phrase, is_pronoun};
use crate::words::{lists, token};
use crate::{Plan, instance_questions};

/// What may stand before it: a thing that comes to mind.
const AFTERTHOUGHT: &str = "oh,ah,oops,wait,no wait,hold on,sorry,aspetta,no aspetta,scusa,ops";
/// What begins it, the longer ones first.
const MORE: &str = "and then also,and also,and then,and,also,plus,e poi anche,e anche,e pure,e poi,e,ed,anche,pure,piu";
/// What may end it.
const TOO: &str = "too,as well,also,anche,pure";
/// The most words of one thing.
const MAX_THING: usize = 5;
/// Words of which no thing is called: persons, what points back, what agrees or ends a talk.
const NO_THINGS: &str = "io tu lui lei noi voi loro te myself yourself again ancora nuovo one ones undo annulla cancel stop ok okay yes no si \
    sure grazie notte night bye goodbye dopo later domani tomorrow oggi today adesso subito now soon not non never mai nobody everyone";
/// Verbs of other requests of a household, by their first word.
const VERBS: &str = "buy get call ring phone send mail text remind play turn switch tell write read make open close start stop set put take \
    remove delete move rename copy clear show find search check count book order pay go come wait look think try compra prendi chiama \
    telefona manda invia scrivi leggi ricorda ricordami ricordati suona metti accendi spegni fai fa apri chiudi togli cancella sposta \
    rinomina copia svuota mostra trova cerca controlla conta prenota ordina paga vai vieni aspetta guarda pensa prova dimmi fammi";
/// Words with which words say more than a thing: "dinner is ready".
const SENTENCES: &str = "is are be was were will would could can want wanna need do does tell give let it we us you me c è sono voglio \
    vorrei puoi potresti devi dimmi dici dammi mi me ti ci";
/// What a line of a list begins with.
pub(super) const ITEM: &str = "- ";

impl Talk<'_, '_> {
    /// The last request with other things of a list, where it was about things of one and nothing came between.
    pub(super) fn more(&mut self, phrase: &Phrase<'_>, upto: usize, past: &[Turn]) -> Option<Plan> {
        let things = things(phrase)?;
        let plan = past.last()?.plan()?;
        let [call] = plan.calls.as_slice() else { return None };
        let candidate = self.candidate(&call.executor)?;
        let mut payloads = candidate.roles.iter().filter(|(_, role)| role == "payload");
        let (pointer, _) = payloads.next().filter(|_| payloads.next().is_none())?;
        let held = call.arguments.pointer(pointer).and_then(Value::as_str)?;
        if candidate.class == crate::READ || !held.lines().all(|line| line.starts_with(ITEM)) {
            return None;
        }
        let (pointer, plan) = (pointer.clone(), plan.clone());
        // "And what time is it?" is a request of its own, and so is what nobody here can do.
        let own: Vec<&str> = things.split_ascii_whitespace().collect();
        let is_impossible = crate::impossible::kind_of(&own).is_some();
        if is_impossible || self.planned(things, upto).is_some() || instance_questions::about(things).is_some() {
            return None;
        }
        let lines = lists::items(things, &token::tokens(things)?);
        let mut plan = super::back::unsaid(self.changed(plan, 0, &pointer, lines.into()), phrase.text);
        plan.lang = lang_of(phrase, plan.lang);
        Some(plan)
    }
}

/// What has things put on a list, and what may stand behind it.
const ADDS: &str = "add,put,write,include,stick,aggiungi,metti,segna,scrivi,inserisci";

impl Talk<'_, '_> {
    /// Things put on the list that was spoken of just before, and that these words do not name: "add crackers too", "aggiungi anche
    /// il pane".
    pub(super) fn also_added(&mut self, phrase: &Phrase<'_>, upto: usize, past: &[Turn]) -> Option<Plan> {
        let verb = ADDS.split(',').filter_map(|words| phrase.says(0, words)).max()?;
        let also = TOO.split(',').filter_map(|words| phrase.says(verb, words)).max();
        let tail = tail(phrase, verb);
        let (begin, end) = (also.unwrap_or(verb), phrase.len() - tail.unwrap_or(0));
        if also.is_none() && tail.is_none() || begin >= end || lists::called_in(phrase.text).is_some() {
            return None;
        }
        let things = phrase.typed(begin, end);
        let list = lists::called_in(&past.last()?.text)?;
        let lang = lang_of(phrase, past.last()?.plan()?.lang);
        let text = match lang {
            Lang::En => format!("add {things} to the {list}"),
            Lang::It => format!("aggiungi {things} alla {list}"),
        };
        let mut plan = super::back::unsaid(self.planned(&text, upto)?, phrase.text);
        plan.lang = lang;
        (plan.calls.len() == 1).then_some(plan)
    }
}

/// What begins words that take the last things off again, and the words that do.
const AFTER_ALL: &str =
    "actually no,actually,no actually,no,no wait,wait,oh no,oops,anzi no,anzi,no anzi,no aspetta,aspetta,ops";
const OFF: &str = "take them off,take it off,take that off,take those off,remove them,remove it,remove that,cross them off,cross it off,\
    delete them from the list,delete it from the list,take them off the list,take it off the list,toglilo,toglila,toglili,toglile,\
    levalo,levala,levali,levale,toglilo dalla lista,toglila dalla lista,toglili dalla lista,toglile dalla lista";

impl Talk<'_, '_> {
    /// The things off the list again on which the very last request has put them: "actually no, take them off again".
    pub(super) fn taken_off(&mut self, phrase: &Phrase<'_>, upto: usize, past: &[Turn]) -> Option<Plan> {
        let begin = AFTER_ALL.split(',').filter_map(|words| phrase.says(0, words)).max().unwrap_or(0);
        let end = OFF.split(',').filter_map(|words| phrase.says(begin, words)).max()?;
        let is_again = ["again", "di nuovo"].iter().any(|words| phrase.says(end, words) == Some(phrase.len()));
        if end != phrase.len() && !is_again {
            return None;
        }
        let last = past.last()?;
        // "And tea too" calls no list itself: the one is meant that was called last before it.
        let (plan, list) = (last.plan()?, past.iter().rev().find_map(|turn| lists::called_in(&turn.text))?);
        let [call] = plan.calls.as_slice() else { return None };
        let roles = &self.candidate(&call.executor).filter(|one| one.class != crate::READ)?.roles;
        let of_role = |wanted: &str| roles.iter().find(|(_, role)| role == wanted);
        let value =
            |wanted: &str| call.arguments.pointer(&of_role(wanted)?.0).and_then(Value::as_str).map(str::to_owned);
        let (path, held) = (value("path")?, value("payload")?);
        let things: Vec<&str> = held.lines().map(|line| line.strip_prefix(ITEM)).collect::<Option<_>>()?;
        let text = match lang_of(phrase, plan.lang) {
            Lang::En => format!("take {} off the {list}", things.join(" and ")),
            Lang::It => format!("togli {} dalla {list}", things.join(" e ")),
        };
        let executor = call.executor.clone();
        let plan = self.planned(&text, upto)?;
        let [call] = plan.calls.as_slice() else { return None };
        let holds = |wanted: &str| call.arguments.as_object().is_some_and(|all| all.values().any(|one| one == wanted));
        let is_same = call.executor != executor && holds(&path) && holds(&held);
        is_same.then(|| super::back::unsaid(plan, phrase.text))
    }
}

/// How many words at the end only say "too", where something stands between `begin` and them.
fn tail(phrase: &Phrase<'_>, begin: usize) -> Option<usize> {
    let tails = TOO.split(',').map(|words| (words.split(' ').count(), words));
    let ends = |count: usize, words: &str| {
        let at = phrase.len().checked_sub(count).filter(|at| *at > begin);
        at.is_some_and(|at| phrase.says(at, words) == Some(phrase.len()))
    };
    tails.into_iter().find(|(count, words)| ends(*count, words)).map(|(count, _)| count)
}

/// The things that words add to those said before; `None` where they say anything else.
fn things<'a>(phrase: &Phrase<'a>) -> Option<&'a str> {
    let longest = |at: usize, all: &str| all.split(',').filter_map(|words| phrase.says(at, words)).max();
    let thought = longest(0, AFTERTHOUGHT).unwrap_or(0);
    let begin = longest(thought, MORE).filter(|_| !phrase.is_verb_to_be(thought)).unwrap_or(thought);
    let tail = tail(phrase, begin);
    let end = phrase.len() - tail.unwrap_or(0);
    if begin == thought && tail.is_none() || begin >= end {
        return None;
    }
    let said = phrase.typed(begin, end);
    let is_thing = |words: &[token::Token<'_>]| {
        let words: Vec<_> =
            words.iter().filter(|word| !matches!(word.mark, crate::words::lexicon::Mark::Free)).collect();
        (1..=MAX_THING).contains(&words.len()) && words.iter().all(|word| could_be_of_a_thing(word))
    };
    let tokens = token::tokens(said)?;
    let is_joint = |word: &token::Token<'_>| word.mark == crate::words::lexicon::Mark::And;
    let parts = tokens.split_inclusive(|word| word.ends_clause).flat_map(|part| part.split(is_joint));
    let mut parts = parts.filter(|part| !part.is_empty());
    let is_verb = tokens.first().is_some_and(|word| is_one_of(word, VERBS))
        || tokens.iter().any(|word| is_one_of(word, SENTENCES) || word.text == "I");
    (!said.is_empty() && !is_verb && phrase.ordinal().is_none() && parts.all(is_thing)).then_some(said)
}

/// Whether a word may be one of a thing: neither a pronoun nor a question, nor one of greeting and thanks, nor a place.
fn could_be_of_a_thing(word: &token::Token<'_>) -> bool {
    use crate::words::lexicon::Mark;
    use crate::words::token::Kind;
    let is_word = match word.mark {
        Mark::Stem(_) | Mark::Free => true,
        Mark::And | Mark::Concept(_) => false,
    };
    let of_things = is_word && word.kind == Kind::Word || word.kind == Kind::Number;
    of_things && !is_pronoun(&word.text.to_lowercase()) && !is_one_of(word, NO_THINGS)
}

fn is_one_of(word: &token::Token<'_>, all: &str) -> bool {
    all.split_ascii_whitespace().any(|known| known.eq_ignore_ascii_case(word.text))
}
