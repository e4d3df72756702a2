//! Words that point back: to the file of the last request, to the request itself, to one of a list.

use metnos_proto::msg::common::CallRef;
use metnos_proto::msg::policyd::Literal;
use serde_json::{Map, Value, json};

use super::{Reply, Talk, Turn, is_folder, is_place, lang_of};
use crate::answer::speech;
use crate::matching::names::{PlaceWant, Resolution, resolve};
use crate::words::phrase::{Phrase, is_pronoun};
use crate::words::places;
use crate::words::said;
use crate::{Plan, PlannedCall, READ};

/// The last request once more, and nothing else.
const AGAIN: &str = "again,once more,one more time,once again,do it again,do that again,do it once more,repeat,repeat it,repeat that,\
    same again,try again,ancora,ancora una volta,di nuovo,un altra volta,fallo di nuovo,fallo ancora,rifallo,ripeti,ripetilo,riprova";
/// What stands behind a request that was made before.
const AGAIN_AFTER: &str = "once more,one more time,once again,again,ancora una volta,un altra volta,di nuovo,ancora";
/// The most words of the name of a town.
const MAX_TOWN: usize = 4;
/// What stands before the one value in which a request differs from the last.
const SAME: &str = "the same for,the same with,the same in,the same on,the same thing for,the same thing in,do the same for,do the \
    same with,do the same in,same for,same with,same in,and the same for,and for,and in,and on,and at,and of,and with,and,what about \
    in,what about for,what about,how about in,how about for,how about,also for,also in,lo stesso per,lo stesso con,lo \
    stesso in,lo stesso a,lo stesso di,la stessa cosa per,la stessa cosa con,la stessa cosa in,fai lo stesso per,fai lo stesso con,\
    fa lo stesso per,stessa cosa per,idem per,e per,e in,e nel,e nella,e nei,e nelle,e a,e ad,e al,e alla,e su,e sul,e sulla,e con,e \
    di,e del,e della,e dei,e delle,e dell,e,ed,anche per,anche in,e invece,invece";
/// Numbers of an order, from the first on.
const ORDINALS: [&str; 10] = [
    "first 1st primo prima 1",
    "second 2nd secondo seconda 2",
    "third 3rd terzo terza 3",
    "fourth 4th quarto quarta 4",
    "fifth 5th quinto quinta 5",
    "sixth 6th sesto sesta 6",
    "seventh 7th settimo settima 7",
    "eighth 8th ottavo ottava 8",
    "ninth 9th nono nona 9",
    "tenth 10th decimo decima 10",
];
const LAST: &str = "last ultimo ultima";
const ARTICLES: &str = "the il lo la l number numero";
/// What an order may count.
const COUNTED: &str = "one file note entry result document match item nota documento risultato voce elemento";
/// What names the file of the last request, longest first.
const POINTERS: &[&str] = &[
    "quello stesso file",
    "lo stesso file",
    "la stessa nota",
    "that same file",
    "the same file",
    "this same file",
    "the same note",
    "the same one",
    "the same folder",
    "la stessa cartella",
    "that one",
    "this one",
    "that file",
    "this file",
    "the file",
    "that note",
    "this note",
    "the note",
    "that list",
    "this list",
    "that folder",
    "this folder",
    "the folder",
    "that document",
    "this document",
    "quel file",
    "questo file",
    "il file",
    "quella nota",
    "questa nota",
    "la nota",
    "quell elenco",
    "quella lista",
    "questa lista",
    "quella cartella",
    "questa cartella",
    "la cartella",
    "quel documento",
    "questo documento",
    "it",
    "that",
    "this",
    "quello",
    "quella",
    "questo",
    "questa",
];
/// Pronouns that hang on an Italian verb, longest first.
const CLITICS: &[&str] = &["melo", "mela", "meli", "mele", "celo", "cela", "lo", "la", "li", "le"];
/// Italian orders to put something into what the last request was about.
const PUTS_INTO_IT: &str = "aggiungici mettici scrivici segnaci inseriscici aggiungerci metterci scriverci";
/// The fewest letters of a verb on which one hangs.
const MIN_VERB: usize = 3;
/// The most words of a value that takes another's place.
const MAX_VALUE: usize = 6;
/// The most words of a text that takes another's place.
const MAX_TEXT: usize = 3;
/// How many turns of mere talk are passed over, such as thanks.
const MAX_SKIPPED: usize = 2;
/// Stands for a path that a result will have. No file is called so: the letter is one of private use.
const STAND_IN: &str = "\u{e000}.md";

fn is_word_of(word: &str, all: &str) -> bool {
    all.split_ascii_whitespace().any(|known| known == word)
}

/// One of a list, as it was said.
pub(super) struct Ordinal {
    /// Where it stands among the words.
    begin: usize,
    end: usize,
    /// Which one, from 0; `None` for the last.
    at: Option<usize>,
}

impl Ordinal {
    /// Whether nothing else was said.
    pub(super) fn is_all(&self, phrase: &Phrase<'_>) -> bool {
        self.begin == 0 && self.end == phrase.len()
    }

    /// That one of these.
    pub(super) fn of<'a>(&self, all: &'a [String]) -> Option<&'a String> {
        self.at.map_or_else(|| all.last(), |at| all.get(at))
    }
}

impl Phrase<'_> {
    /// One of a list that the words name: "the second one", "la terza", "number 2", and "second" where that is all.
    pub(super) fn ordinal(&self) -> Option<Ordinal> {
        for at in 0..self.len() {
            let word = self.words[at].plain.as_str();
            let place = ORDINALS.iter().position(|forms| is_word_of(word, forms));
            if place.is_none() && !is_word_of(word, LAST) {
                continue;
            }
            let before = at.checked_sub(1).filter(|before| is_word_of(&self.words[*before].plain, ARTICLES));
            let is_digit = word.chars().all(|c| c.is_ascii_digit());
            if is_digit && before.is_none_or(|before| !is_word_of(&self.words[before].plain, "number numero")) {
                continue;
            }
            let begin = before.unwrap_or(at);
            let counted = self.words.get(at + 1).is_some_and(|next| is_word_of(&next.plain, COUNTED));
            let found = Ordinal { begin, end: at + 1 + usize::from(counted), at: place };
            if before.is_some() || counted || found.is_all(self) {
                return Some(found);
            }
        }
        None
    }
}

impl Talk<'_, '_> {
    /// What words become that point back to the requests before them.
    pub(super) fn back(&mut self, phrase: &Phrase<'_>, upto: usize, past: &[Turn]) -> Option<Reply> {
        let last = past.last()?;
        if let Some(chosen) = self.chosen(phrase, upto, last) {
            return Some(chosen);
        }
        if phrase.is_one_of(AGAIN) {
            return self.again(phrase, past);
        }
        if let Some(plan) = self.taken_off(phrase, upto, past) {
            return Some(Reply::Plan(plan));
        }
        if let Some(plan) = self.more(phrase, upto, past).or_else(|| self.also_added(phrase, upto, past)) {
            return Some(Reply::Plan(plan));
        }
        if let Some(reply) = self.same(phrase, upto, past) {
            return Some(reply);
        }
        if let Some(plan) = self.one_of_a_list(phrase, upto, past) {
            return Some(Reply::Plan(plan));
        }
        if let Some(plan) = self.pointed(phrase, upto, past) {
            return Some(Reply::Plan(plan));
        }
        // "And the second one": what follows points back by itself.
        if is_word_of(&phrase.words[0].plain, "and then e ed poi")
            && let Some(rest) = Phrase::of(phrase.typed(1, phrase.len()), phrase.lang)
            && let Some(plan) = self.one_of_a_list(&rest, upto, past).or_else(|| self.pointed(&rest, upto, past))
        {
            return Some(Reply::Plan(plan));
        }
        // "What time is it again?", "read it once more".
        let ends = |tail: &&str| {
            let words = tail.split(' ').count();
            phrase.len() > words && phrase.says(phrase.len() - words, tail).is_some()
        };
        let tail = AGAIN_AFTER.split(',').find(ends)?;
        let shorter = phrase.typed(0, phrase.len() - tail.split(' ').count()).to_owned();
        let plan = match self.planned(&shorter, upto) {
            Some(plan) => Some(plan),
            None => Phrase::of(&shorter, phrase.lang).and_then(|phrase| self.pointed(&phrase, upto, past)),
        };
        plan.filter(|plan| self.reads(plan)).map(Reply::Plan)
    }

    /// Whether the words only name another place on earth for what was asked before: "and in Tokyo?". By themselves they ask for
    /// nothing.
    pub(super) fn names_only_a_zone(phrase: &Phrase<'_>) -> bool {
        let begin = SAME.split(',').filter_map(|same| phrase.says(0, same)).max();
        begin.is_some_and(|begin| begin < phrase.len() && places::zone(&phrase.plain()[begin..]).is_some())
    }

    /// The last calls that a request became.
    fn last_plan<'a>(&self, past: &'a [Turn]) -> Option<(&'a Turn, &'a Plan)> {
        // What a model made of words, or what was asked back, is not known here: nothing before it is meant.
        let mut turns = past.iter().rev().take(1 + MAX_SKIPPED);
        let turn = turns.find(|turn| !matches!(turn.reply, Reply::Say(_)) || !turn.which.is_empty())?;
        Some((turn, turn.plan()?))
    }

    /// The last request once more, when it only reads.
    fn again(&self, phrase: &Phrase<'_>, past: &[Turn]) -> Option<Reply> {
        let (_, plan) = self.last_plan(past)?;
        Some(if self.reads(plan) {
            Reply::Plan(unsaid(plan.clone(), phrase.text))
        } else {
            Reply::Say(speech::not_again(lang_of(phrase, plan.lang)))
        })
    }

    /// The last request with another value.
    fn same(&mut self, phrase: &Phrase<'_>, upto: usize, past: &[Turn]) -> Option<Reply> {
        // "È finito il tè" is no "e il tè".
        let begin =
            SAME.split(',').filter_map(|same| phrase.says(0, same)).max().filter(|_| !phrase.is_verb_to_be(0))?;
        let first = phrase.words[0].plain.as_str();
        if begin >= phrase.len() {
            return None;
        }
        let rest = phrase.typed(begin, phrase.len());
        // "And what time is it?" is a request of its own.
        if is_word_of(first, "and e ed")
            && !Talk::names_only_a_zone(phrase)
            && let Some(plan) = self.planned(phrase.typed(1, phrase.len()), upto)
        {
            return Some(Reply::Plan(plan));
        }
        let (turn, plan) = self.last_plan(past)?;
        if phrase.len() - begin > MAX_VALUE {
            return None;
        }
        if !self.reads(plan) {
            return Some(Reply::Say(speech::not_again(lang_of(phrase, plan.lang))));
        }
        let (turn, plan) = (turn.text.clone(), plan.clone());
        let words = &phrase.plain()[begin..];
        let changed = self
            .with_zone(&plan, words)
            .or_else(|| self.with_place(&plan, phrase, begin))
            .or_else(|| self.with_day_or_town(&plan, phrase, begin))
            .or_else(|| self.with_text(&plan, &turn, phrase, begin));
        changed.map(|plan| unsaid(plan, rest)).map(Reply::Plan)
    }

    /// The plan with the zone of another place.
    fn with_zone(&self, plan: &Plan, words: &[&str]) -> Option<Plan> {
        let zone = places::zone(words)?;
        let takes =
            |call: &PlannedCall| self.candidate(&call.executor).is_some_and(|one| crate::takes_zone(&one.input));
        let at = plan.calls.iter().position(takes)?;
        Some(self.changed(plan.clone(), at, "/zone", zone.into()))
    }

    /// The plan with another place in the workspace, where it has one only.
    fn with_place(&self, plan: &Plan, phrase: &Phrase<'_>, begin: usize) -> Option<Plan> {
        let subjects = self.subjects(plan);
        let [old] = subjects.as_slice() else { return None };
        let words = &phrase.plain()[begin..];
        let place = match (&phrase.words[begin..], resolve(&self.envelope.named, words, PlaceWant::Any)) {
            (_, Resolution::One(path)) => path,
            ([one], Resolution::None) if one.is_value && !one.plain.contains("://") => one.plain.clone(),
            (_, Resolution::Several(_) | Resolution::None) => return None,
        };
        // What reads a file reads no folder.
        if is_folder(&place, &self.envelope.named) != is_folder(old, &self.envelope.named) && !self.searches(plan) {
            return None;
        }
        let mut changed = plan.clone();
        for at in 0..changed.calls.len() {
            let roles = self.candidate(&changed.calls[at].executor).map(|one| one.roles.clone()).unwrap_or_default();
            for (pointer, _) in roles.iter().filter(|(_, role)| is_place(role)) {
                if changed.calls[at].arguments.pointer(pointer).and_then(Value::as_str) == Some(old) {
                    changed = self.changed(changed, at, pointer, place.as_str().into());
                }
            }
        }
        Some(changed)
    }

    /// The plan of one call about another day or another town. What was said of either before does not stand in these words, and a
    /// request to the net is made of nothing else: where the call has such a value, the person says the whole again.
    fn with_day_or_town(&self, plan: &Plan, phrase: &Phrase<'_>, begin: usize) -> Option<Plan> {
        let [call] = plan.calls.as_slice() else { return None };
        let input = &self.candidate(&call.executor).filter(|one| one.class != READ)?.input;
        let properties = input.pointer("/properties").or_else(|| input.pointer("/definitions/Input/properties"))?;
        let words = phrase.plain()[begin..].join(" ");
        let days = properties["day"]["enum"].as_array().into_iter().flatten().filter_map(Value::as_str);
        let day = days.into_iter().find(|day| said::plain(day) == words);
        let is_town = phrase.len() - begin <= MAX_TOWN && properties["place"]["type"] == "string";
        let (name, value) = match day {
            Some(day) => ("day", day),
            None if is_town => ("place", phrase.typed(begin, phrase.len())),
            None => return None,
        };
        let others = |(known, value): (&String, &Value)| known == name || value.is_boolean();
        let is_all = call.arguments.as_object().is_some_and(|all| all.iter().all(others));
        is_all
            .then(|| self.changed(plan.clone(), 0, &format!("/{name}"), value.trim_end_matches(['?', '!', '.']).into()))
    }

    /// Whether a plan takes files as well as folders for its place: it has a text to look for there.
    fn searches(&self, plan: &Plan) -> bool {
        plan.calls.len() == 1 && self.texts(plan).len() == 1
    }

    /// The texts among the arguments of a plan, and where they stand.
    fn texts(&self, plan: &Plan) -> Vec<(usize, String, String)> {
        let mut found = Vec::new();
        for (at, call) in plan.calls.iter().enumerate() {
            let roles = self.candidate(&call.executor).map(|one| one.roles.as_slice()).unwrap_or_default();
            for (name, value) in call.arguments.as_object().into_iter().flatten() {
                let pointer = format!("/{name}");
                let place = roles.iter().any(|(known, role)| *known == pointer && is_place(role));
                if let Some(text) = value.as_str().filter(|_| !place && !matches!(name.as_str(), "zone" | "offset")) {
                    found.push((at, pointer, text.to_owned()));
                }
            }
        }
        found
    }

    /// The plan with another text to look for: one that stood in the words, where there is no other.
    fn with_text(&self, plan: &Plan, said: &str, phrase: &Phrase<'_>, begin: usize) -> Option<Plan> {
        let words = &phrase.plain()[begin..];
        let spoken: Vec<_> = self.texts(plan).into_iter().filter(|(.., text)| said.contains(text.as_str())).collect();
        let [(at, pointer, _)] = spoken.as_slice() else { return None };
        let fits = words.len() <= MAX_TEXT
            && !words.iter().any(|word| is_pronoun(word))
            && crate::impossible::kind_of(words).is_none();
        if !fits {
            return None;
        }
        let text = phrase.typed(begin, phrase.len());
        Some(self.changed(plan.clone(), *at, pointer, text.into()))
    }

    /// A plan with another argument in one call.
    pub(super) fn changed(&self, mut plan: Plan, at: usize, pointer: &str, value: Value) -> Plan {
        let old = plan.calls[at].arguments.pointer(pointer).and_then(Value::as_str).map(str::to_owned);
        let Some(arguments) = plan.calls[at].arguments.as_object_mut() else { return plan };
        let place = value.as_str().map(str::to_owned);
        // Arguments of dialogue stand at the top: deeper ones are of queries, which are said whole.
        arguments.insert(pointer.trim_start_matches('/').to_owned(), value);
        for call in &mut plan.calls {
            let arguments = call.arguments.as_object().cloned().unwrap_or_default();
            let is_subject = call.template.subject().is_some() && call.template.subject() == old.as_deref();
            let template = call.template.clone().called(&arguments, &self.envelope.home.zone);
            call.template = if is_subject { template.about(place.as_deref()) } else { template };
        }
        plan
    }

    /// Something done with one of the list that the last request had listed: the list is made again, and its path handed on by
    /// reference, so that it is as trusted as the list and no more. Only what reads is done so.
    fn one_of_a_list(&mut self, phrase: &Phrase<'_>, upto: usize, past: &[Turn]) -> Option<Plan> {
        let said = phrase.ordinal()?;
        let place = said.at?;
        let (_, listed) = self.last_plan(past)?;
        let (at, list) = listed.calls.iter().enumerate().find_map(|(at, call)| Some((at, self.lists_paths(call)?)))?;
        let first: Vec<PlannedCall> = listed.calls[..=at].to_vec();
        let text = if said.is_all(phrase) {
            let read = match lang_of(phrase, listed.lang) {
                metnos_proto::msg::common::Lang::En => "read",
                metnos_proto::msg::common::Lang::It => "leggi",
            };
            format!("{read} {STAND_IN}")
        } else {
            phrase.replaced(said.begin, said.end, STAND_IN)
        };
        let plan = self.planned(&text, upto)?;
        let reference = format!("{}#/{list}/{place}/path", first.last()?.place);
        let mut plan = behind(first, plan, &reference)?;
        plan.lang = lang_of(phrase, plan.lang);
        self.reads(&plan).then(|| unsaid(plan, phrase.text))
    }

    /// The list of a call's result whose entries have paths.
    fn lists_paths(&self, call: &PlannedCall) -> Option<String> {
        let candidate = self.candidate(&call.executor)?;
        let output = deref(&candidate.output, &candidate.output);
        let has_path = |name: &str| {
            let items =
                output.pointer(&format!("/properties/{name}/items")).map(|items| deref(&candidate.output, items));
            items.is_some_and(|items| items.pointer("/properties/path/type") == Some(&json!("string")))
        };
        let own = candidate.answer.list.as_str();
        if !own.is_empty() {
            return has_path(own).then(|| own.to_owned());
        }
        let all = output.get("properties")?.as_object()?;
        let first = all.iter().find(|(_, schema)| schema.get("type") == Some(&json!("array")))?.0;
        has_path(first).then(|| first.clone())
    }

    /// A request in which a pronoun stands for the file of the last one.
    fn pointed(&mut self, phrase: &Phrase<'_>, upto: usize, past: &[Turn]) -> Option<Plan> {
        let (turn, plan) = self.last_plan(past)?;
        let is_last = past.last().is_some_and(|last| std::ptr::eq(last, turn));
        let subjects = self.subjects(plan);
        let [subject] = subjects.as_slice() else { return None };
        if subject == STAND_IN || subject.chars().any(char::is_control) || subject.contains('"') {
            return None;
        }
        let named = if subject.contains(char::is_whitespace) { format!("\"{subject}\"") } else { subject.clone() };
        let is_file = !is_folder(subject, &self.envelope.named);
        // What is put on a list is put there as a thing of it: the list is called as it was.
        let article = if phrase.lang == metnos_proto::msg::common::Lang::It { "la" } else { "the" };
        let list = crate::words::lists::called_in(&turn.text).map(|list| format!("{article} {list}"));
        let texts: Vec<String> = list.iter().chain([&named]).flat_map(|name| rewritten(phrase, name)).collect();
        for text in texts {
            let Some(plan) = self.planned(&text, upto) else { continue };
            // What changes something points back only to the one file of the very last request.
            if self.reads(&plan) || is_last && is_file && self.names(&plan, subject) {
                return Some(unsaid(plan, phrase.text));
            }
        }
        None
    }
}

/// The words with a path in the place of each pronoun that may stand for it, one at a time.
fn rewritten(phrase: &Phrase<'_>, path: &str) -> Vec<String> {
    let mut texts = Vec::new();
    for pointer in POINTERS {
        for at in 0..phrase.len() {
            if let Some(end) = phrase.says(at, pointer) {
                texts.push(phrase.replaced(at, end, path));
            }
        }
    }
    texts.extend(phrase.words.first().into_iter().flat_map(|first| without_clitic(&first.plain)).map(|verb| {
        let rest = phrase.typed(1, phrase.len());
        format!("{verb} {path} {rest}").trim_end().to_owned()
    }));
    // "Me lo leggi", "lo leggi": before the verb.
    let begin = usize::from(phrase.says(0, "me").is_some());
    if phrase.words.get(begin).is_some_and(|word| is_word_of(&word.plain, "lo la li le")) && phrase.len() > begin + 1 {
        let rest = phrase.typed(begin + 2, phrase.len());
        texts.push(format!("{} {path} {rest}", phrase.words[begin + 1].plain).trim_end().to_owned());
    }
    // "Aggiungici anche le candeline": the pronoun is the place.
    if phrase.words.first().is_some_and(|word| is_word_of(&word.plain, PUTS_INTO_IT)) {
        let begin = 1 + usize::from(phrase.words.get(1).is_some_and(|word| is_word_of(&word.plain, "anche pure")));
        texts.push(format!("aggiungi {} a {path}", phrase.typed(begin, phrase.len())));
    }
    // "And how many words?": about the same file.
    if phrase.says(0, "and").is_some() || phrase.says(0, "e").is_some() && !phrase.is_verb_to_be(0) {
        texts.push(format!("{} in {path}", phrase.typed(1, phrase.len())));
    }
    texts
}

/// The Italian verbs that a word may be without the pronoun that hangs on it: `leggi` of `leggilo`, `leggere` of `leggerlo`.
fn without_clitic(word: &str) -> Vec<String> {
    let bare = CLITICS.iter().filter_map(|clitic| word.strip_suffix(clitic)).filter(|verb| verb.len() >= MIN_VERB);
    let whole = |verb: &str| if verb.ends_with('r') { format!("{verb}e") } else { verb.to_owned() };
    bare.flat_map(|verb| [Some(whole(verb)), verb.strip_prefix("ri").map(whole)]).flatten().collect()
}

/// The calls of a plan behind others, with this reference in the place of the path that stood in for it.
fn behind(first: Vec<PlannedCall>, plan: Plan, reference: &str) -> Option<Plan> {
    let offset = u16::try_from(first.len()).ok()?;
    let source = first.last()?.place;
    let moved = |place: CallRef| CallRef(place.0.saturating_add(offset));
    let mut found = false;
    let mut calls = first;
    for mut call in plan.calls {
        call.place = moved(call.place);
        call.needs = call.needs.iter().map(|need| moved(*need)).collect();
        let mut arguments = Map::new();
        for (name, value) in call.arguments.as_object()? {
            let value = if value.as_str() == Some(STAND_IN) {
                found = true;
                if !call.needs.contains(&source) {
                    call.needs.push(source);
                }
                json!({ "$ref": reference })
            } else if value.get("$ref").is_some() {
                json!({ "$ref": shifted(value, offset)? })
            } else {
                value.clone()
            };
            arguments.insert(name.clone(), value);
        }
        call.arguments = Value::Object(arguments);
        call.template = call.template.about(None);
        calls.push(call);
    }
    let answers = plan.answers.iter().map(|place| moved(*place)).collect();
    found.then_some(Plan { calls, answers, lang: plan.lang })
}

/// A reference to a call that has moved: `c1#/content` to `c2#/content`.
fn shifted(reference: &Value, offset: u16) -> Option<String> {
    let (place, pointer) = reference.get("$ref")?.as_str()?.split_once('#')?;
    let number: u16 = place.strip_prefix('c')?.parse().ok()?;
    Some(format!("{}#{pointer}", CallRef(number.checked_add(offset)?)))
}

/// The plan with those literals only that stand in these words, the rest of them having been said before.
pub(super) fn unsaid(mut plan: Plan, text: &str) -> Plan {
    for call in &mut plan.calls {
        let arguments = &call.arguments;
        let is_said = |literal: &Literal| {
            let value = arguments.pointer(&literal.pointer);
            value.is_some_and(|value| {
                value.as_str().map_or_else(|| text.contains(&value.to_string()), |own| text.contains(own))
            })
        };
        call.literals.retain(is_said);
    }
    plan
}

/// What a schema points at.
fn deref<'a>(whole: &'a Value, schema: &'a Value) -> &'a Value {
    let target = schema.get("$ref").and_then(Value::as_str).map(|at| at.trim_start_matches('#'));
    target.and_then(|at| whole.pointer(at)).unwrap_or(schema)
}
