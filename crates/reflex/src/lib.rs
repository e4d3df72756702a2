//! The reflex: a deterministic planner that needs no model (design: mind §2). It matches words
//! against the candidates' examples, fills their arguments by type, and makes a call or a chain of
//! two. It decides nothing: values are passed on as typed, and what may happen is policyd's matter.
//! It never guesses a call that does more than read.

pub mod answer;
mod chance;
pub mod dialogue;
pub mod examples;
pub mod impossible;
mod instance_questions;
pub mod look_up;
pub mod matching;
pub mod reminder;
pub mod sums;
pub mod undo;
pub mod words;

use std::collections::{BTreeSet, HashMap};
use std::rc::Rc;

use metnos_proto::envelope::{Candidate, Envelope};
use metnos_proto::msg::common::{CallRef, Lang};
use metnos_proto::msg::policyd::Literal;
use metnos_proto::msg::schedule::Order;
use serde_json::{Map, Value, json};

use answer::speech::Doubt;
use matching::ability::Ability;
use matching::contract::{Slot, Want};
use matching::pattern::{Request, Vocabulary};
use matching::slots::{Filled, Words};
use matching::{Covered, MARGIN, Match, Producer};
use reminder::habit::Habit;
use words::lexicon::Mark;
use words::token::Token;

/// The most words that are looked at, in bytes.
pub const MAX_WORDS: usize = metnos_proto::request::MAX_REQUEST;
/// The argument by which a call names an account of its person.
const ACCOUNT: &str = "/account";

/// The most candidates that are looked at.
pub const MAX_CANDIDATES: usize = 512;
/// The most different words with a meaning in one request.
pub const MAX_MEANINGS: usize = 32;
/// The most clauses of one request.
pub const MAX_CLAUSES: usize = 4;
/// How many near abilities are shown when the words were not understood.
pub const NEAREST: usize = 3;
/// The most examples that help shows.
pub const MAX_HELP: usize = 24;
/// How many examples are tried before none is shown, in all and of one executor.
const TRIED: usize = 8;
const TRIED_OF_ONE: usize = 3;
/// The longest example that is shown, in characters.
const MAX_EXAMPLE: usize = 120;
/// The class of the only calls that the reflex makes.
pub const READ: &str = "read";
/// The class of what only reads from the net.
const NET_READ: &str = "net_read";

/// Whether what has this class changes nothing, here or elsewhere.
pub(crate) fn only_reads(class: &str) -> bool {
    class == READ || class == NET_READ
}

/// What the reflex makes of the words.
#[derive(Debug, Clone, PartialEq)]
pub enum Reply {
    /// Calls to make.
    Plan(Plan),
    /// An answer that needs no call.
    Say(String),
    /// Something about reminders, to be answered in this language.
    Schedule(Order, Lang),
    /// A question for what a day was like, or the time that these words name; to be answered in this language.
    Review(String, Lang),
    /// What is known that nobody here can do, or what says nothing by itself. A model may make more of it.
    Cannot(Unable),
    /// It is not sure; the text says so and shows what it can do.
    NotUnderstood(String),
}

/// What is said where nothing can be done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unable {
    /// The sentence.
    pub text: String,
    /// Whether something was wished for.
    pub is_wish: bool,
}

/// Calls to make, and how to answer from their results.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// In an order in which every reference points back.
    pub calls: Vec<PlannedCall>,
    /// The calls whose results make the answer, in the order in which they are rendered.
    pub answers: Vec<CallRef>,
    /// The language to answer in.
    pub lang: Lang,
}

/// One call.
#[derive(Debug, Clone, PartialEq)]
pub struct PlannedCall {
    /// Its number in the turn.
    pub place: CallRef,
    /// The executor's name.
    pub executor: String,
    /// The arguments, with `{"$ref": "c1#/pointer"}` for what comes from an earlier call.
    pub arguments: Value,
    /// The arguments that stand in the words.
    pub literals: Vec<Literal>,
    /// The earlier calls whose results it uses.
    pub needs: Vec<CallRef>,
    /// How its result is rendered, when it is part of the answer or when it is an error.
    pub template: answer::Template,
}

/// Makes a plan from the words. Pure: the same words and envelope give the same reply.
#[must_use]
pub fn plan(text: &str, envelope: &Envelope) -> Reply {
    Repertoire::default().plan(text, envelope)
}

/// Contracts that were read before, so that they need not be read again for each request. What it makes of
/// words never depends on what it has read before.
#[derive(Debug, Default)]
pub struct Repertoire {
    contracts: HashMap<String, Rc<Ability>>,
    /// The words of the patterns of the executors that were asked last.
    vocabulary: (Vec<Rc<Ability>>, Rc<Vocabulary>),
}

impl Repertoire {
    /// As [`plan`].
    #[must_use]
    pub fn plan(&mut self, text: &str, envelope: &Envelope) -> Reply {
        if let Some(said) = sums::answer(text, language_of(text, envelope.lang)) {
            return Reply::Say(said);
        }
        if let Some(said) = sums::clock::answer(text, envelope) {
            return Reply::Say(said + "\n");
        }
        if let Some(said) = chance::answer(text, envelope.nonce, language_of(text, envelope.lang)) {
            return Reply::Say(said);
        }
        let candidates = &envelope.candidates;
        let abilities = self.abilities(&candidates[..candidates.len().min(MAX_CANDIDATES)]);
        let possible: BTreeSet<_> = abilities.iter().flat_map(|one| one.asks_for.iter().copied()).collect();
        dialogue::reply(text, envelope, &possible, &mut |text, envelope| self.plan_alone(text, envelope, candidates))
    }

    /// What a person has asked day after day at about this hour. Only on the day on which it becomes a habit, and only where it can
    /// be answered unasked and changes nothing.
    #[must_use]
    pub fn habit(&mut self, text: &str, envelope: &Envelope) -> Option<Habit> {
        let habit = reminder::habit::of(text, language_of(text, envelope.lang), envelope)?;
        let planned = self.plan(&habit.words(), envelope);
        let only_reads = matches!(planned, Reply::Schedule(Order::Ask(ref ask), _) if ask.frozen.is_empty());
        only_reads.then_some(habit)
    }

    /// What words become by themselves, whatever was said before. The executors come beside the envelope: they are the most of it,
    /// and one that is changed for an earlier turn has none of its own.
    fn plan_alone(&mut self, text: &str, envelope: &Envelope, candidates: &[Candidate]) -> Reply {
        let too_long = || Reply::NotUnderstood(answer::speech::not_understood(envelope.lang, Doubt::TooLong, &[]));
        self.read(text, envelope, candidates, |reflex, tokens| reflex.reply(tokens)).unwrap_or_else(too_long)
    }

    /// The names of the executors that these words may mean as much as each other; none where one is meant, or nothing.
    #[must_use]
    pub fn rivals(&mut self, text: &str, envelope: &Envelope) -> Vec<String> {
        let names = |reflex: &Reflex<'_>, tokens: &[Token<'_>]| {
            let all = reflex.rivals(tokens).into_iter().filter_map(|at| reflex.abilities.get(at));
            all.map(|ability| ability.candidate.name.clone()).collect()
        };
        self.read(text, envelope, &envelope.candidates, names).unwrap_or_default()
    }

    /// Reads a request for what is made of it; `None` when it is too long.
    fn read<T>(
        &mut self,
        text: &str,
        envelope: &Envelope,
        candidates: &[Candidate],
        make: impl FnOnce(&Reflex<'_>, &[Token<'_>]) -> T,
    ) -> Option<T> {
        if text.len() > MAX_WORDS {
            return None;
        }
        let mut tokens = words::token::tokens(text)?;
        tokens.retain(|token| !words::said::is_emoji(token));
        if matching::ability::weighty_marks(&tokens, |_| false).len() > MAX_MEANINGS {
            return None;
        }
        let spoken = words::token::language(&tokens);
        let abilities = self.abilities(&candidates[..candidates.len().min(MAX_CANDIDATES)]);
        let mut known: BTreeSet<String> =
            abilities.iter().flat_map(|ability| ability.folders.iter().cloned()).collect();
        for recent in &envelope.recent {
            if let Some(tokens) = words::token::tokens(&recent.text) {
                matching::paths::add_folders(&tokens, &mut known);
            }
        }
        forgive_spelling(&mut tokens, &abilities, &known);
        let vocabulary = self.vocabulary(&abilities);
        let lang = spoken.unwrap_or(envelope.lang);
        let reflex =
            Reflex { envelope, text, abilities: &abilities, known: &known, vocabulary: &vocabulary, lang, spoken };
        Some(make(&reflex, &tokens))
    }

    fn vocabulary(&mut self, abilities: &[Rc<Ability>]) -> Rc<Vocabulary> {
        let (read, known) = &self.vocabulary;
        let same = read.len() == abilities.len() && read.iter().zip(abilities).all(|(a, b)| Rc::ptr_eq(a, b));
        if !same || read.is_empty() {
            let made = Vocabulary::of(abilities.iter().map(|ability| &ability.patterns));
            self.vocabulary = (abilities.to_vec(), Rc::new(made));
            return Rc::clone(&self.vocabulary.1);
        }
        Rc::clone(known)
    }

    fn abilities(&mut self, candidates: &[Candidate]) -> Vec<Rc<Ability>> {
        let abilities: Vec<Rc<Ability>> = candidates
            .iter()
            .map(|candidate| match self.contracts.get(&candidate.name) {
                Some(ability) if is_same(&ability.candidate, candidate) => Rc::clone(ability),
                Some(_) | None => Rc::new(Ability::of(candidate)),
            })
            .collect();
        if self.contracts.len() > MAX_CANDIDATES {
            self.contracts.clear();
        }
        for ability in &abilities {
            match self.contracts.get_mut(&ability.candidate.name) {
                Some(known) if Rc::ptr_eq(known, ability) => {}
                Some(known) => *known = Rc::clone(ability),
                None => drop(self.contracts.insert(ability.candidate.name.clone(), Rc::clone(ability))),
            }
        }
        abilities
    }
}

/// Whether two contracts are the same: by what policyd says of them, word by word where it has said nothing.
fn is_same(known: &Candidate, other: &Candidate) -> bool {
    if known.contract.is_empty() || other.contract.is_empty() {
        return known == other;
    }
    known.contract == other.contract
}

/// Gives long unknown words the meaning of the known word that they resemble, unless some contract
/// knows them as they are.
fn forgive_spelling(tokens: &mut [Token<'_>], abilities: &[Rc<Ability>], known: &BTreeSet<String>) {
    for token in tokens.iter_mut().filter(|token| matches!(token.mark, Mark::Stem(_))) {
        let is_meant = known.contains(&token.text.to_lowercase())
            || abilities.iter().any(|ability| ability.explains(&token.mark) >= 1.0);
        if let (false, Some(mark)) = (is_meant, words::lexicon::forgiving_mark(token.text)) {
            token.mark = mark;
        }
    }
}

struct Reflex<'a> {
    envelope: &'a Envelope,
    text: &'a str,
    abilities: &'a [Rc<Ability>],
    known: &'a BTreeSet<String>,
    /// The words of all patterns.
    vocabulary: &'a Vocabulary,
    lang: Lang,
    /// The language that the words give away.
    spoken: Option<Lang>,
}

impl Reflex<'_> {
    fn reply(&self, tokens: &[Token<'_>]) -> Reply {
        if let Some(said) = self.small_talk(tokens) {
            return Reply::Say(said);
        }
        let doubt = match self.whole(tokens) {
            Ok(found) => return Reply::Plan(self.calls(&[found])),
            Err(doubt) => doubt,
        };
        match self.clauses(tokens) {
            Some(found) => Reply::Plan(self.calls(&found)),
            None if self.calls_no_list_of_its_own() => Reply::Say(answer::speech::no_private_list(self.lang)),
            None => Reply::NotUnderstood(self.not_understood(doubt, tokens)),
        }
    }

    /// Whether the words are about a private list, of somebody who has no private folder.
    fn calls_no_list_of_its_own(&self) -> bool {
        let private = metnos_proto::lists::called(self.text).iter().any(metnos_proto::lists::Kind::is_private);
        self.envelope.home.folder.is_empty() && private
    }

    /// Greetings, thanks, help, and what is about the instance itself, when there is nothing else in the words.
    fn small_talk(&self, tokens: &[Token<'_>]) -> Option<String> {
        if let Some((about, lang)) = instance_questions::about(self.text) {
            return Some(match about {
                instance_questions::InstanceQuestion::Itself => answer::speech::how_it_is(lang, self.abilities.len()),
                instance_questions::InstanceQuestion::Waiting => answer::speech::what_waits(lang),
                instance_questions::InstanceQuestion::Approving => answer::speech::words_approve_nothing(lang),
                instance_questions::InstanceQuestion::Butler => answer::speech::who_it_is(lang, &self.envelope.home),
                instance_questions::InstanceQuestion::Goodbye => answer::speech::goodbye(lang, &self.envelope.home),
                instance_questions::InstanceQuestion::GoodNight => {
                    answer::speech::good_night(lang, &self.envelope.home)
                }
                instance_questions::InstanceQuestion::Quiet => answer::speech::quiet(lang, &self.envelope.home),
                instance_questions::InstanceQuestion::Mood => answer::speech::mood(lang, &self.envelope.home),
                instance_questions::InstanceQuestion::Wrong => answer::speech::sorry(lang),
                instance_questions::InstanceQuestion::Languages => answer::speech::languages(lang),
                instance_questions::InstanceQuestion::Memory => answer::speech::memory(lang),
                instance_questions::InstanceQuestion::Privacy => answer::speech::privacy(lang),
                instance_questions::InstanceQuestion::Person if self.envelope.home.person.is_empty() => {
                    let said = dialogue::introduction(self.envelope, lang);
                    said.unwrap_or_else(|| answer::speech::who_you_are(lang, &self.envelope.home))
                }
                instance_questions::InstanceQuestion::Household => answer::speech::household(lang, &self.envelope.home),
                instance_questions::InstanceQuestion::Person => answer::speech::who_you_are(lang, &self.envelope.home),
            });
        }
        let says = |concept: &'static str| tokens.iter().any(|token| token.mark == Mark::Concept(concept));
        let nothing_else = tokens.iter().all(|token| {
            !token.is_value() && (token.mark.weight() == 0.0 || matches!(token.mark, Mark::Concept("help" | "what")))
        });
        if !nothing_else {
            return None;
        }
        if says("help") {
            return Some(answer::speech::help(self.lang, &self.help_examples()));
        }
        if says("thanks") {
            return Some(answer::speech::welcome(self.lang, &self.envelope.home));
        }
        if says("greeting") {
            return Some(answer::speech::greeting(
                self.lang,
                &self.envelope.home,
                self.first_example().or_else(|| self.help_examples().first().copied()),
            ));
        }
        None
    }

    /// The executors whose patterns cover the words as much as each other.
    fn rivals(&self, tokens: &[Token<'_>]) -> Vec<usize> {
        let words = self.words(tokens);
        let request = Request::of(&words, self.vocabulary, &self.envelope.home.butler);
        match matching::covered(self.abilities, &self.envelope.mnests, &request) {
            Covered::Several(all) => all,
            Covered::One(_) | Covered::None => Vec::new(),
        }
    }

    fn words<'a>(&'a self, tokens: &'a [Token<'a>]) -> Words<'a> {
        let lists = words::lists::Places {
            there: &self.envelope.named,
            folder: &self.envelope.home.lists,
            private: &self.envelope.home.folder,
            italian: words::lists::is_italian(tokens, self.envelope.lang),
        };
        Words {
            text: self.text,
            tokens,
            known: self.known,
            lang: self.lang,
            lists,
            now: (self.envelope.home.now, &self.envelope.home.zone),
        }
    }

    /// What the words ask for, taken as one request.
    fn whole(&self, tokens: &[Token<'_>]) -> Result<Match, Doubt> {
        let words = self.words(tokens);
        if let Some(found) = self.by_form(&words)? {
            return Ok(found);
        }
        let mut found = matching::matches(self.abilities, &self.envelope.mnests, &words).into_iter();
        let best = found.next().ok_or(Doubt::Unknown)?;
        if found.next().is_some_and(|second| second.score > best.score - MARGIN) {
            return Err(Doubt::Ambiguous);
        }
        if self.abilities[best.ability].candidate.class != READ {
            return Err(Doubt::HasEffects);
        }
        Ok(best)
    }

    /// What the words ask for by a pattern or by the form of an example; `None` where only likeness may tell.
    fn by_form(&self, words: &Words<'_>) -> Result<Option<Match>, Doubt> {
        let tokens = words.tokens;
        if tokens.is_empty() {
            return Err(Doubt::Empty);
        }
        let request = Request::of(words, self.vocabulary, &self.envelope.home.butler);
        match matching::covered(self.abilities, &self.envelope.mnests, &request) {
            // "Note call mum tomorrow" may ask for a note, or for something to be done tomorrow.
            Covered::One(found) if found.open_text.is_some_and(|(begin, end)| is_later(&tokens[begin..end])) => {
                return Err(Doubt::Later);
            }
            Covered::One(found) => return Ok(Some(*found)),
            Covered::Several(_) => return Err(Doubt::Ambiguous),
            Covered::None => {}
        }
        if greets_in_the_middle(tokens) {
            // "Write hello into …" is an example of ours; "say hello to …" is none.
            return self.exactly(words)?.ok_or(Doubt::Unknown).map(Some);
        }
        // "What should I cook tonight?" asks now.
        if !words::grammar::asks_now(tokens)
            && words::grammar::is_for_later(tokens, words::grammar::quoted_from(tokens))
        {
            return Err(Doubt::Later);
        }
        self.exactly(words)
    }

    /// The one ability of which an example has the very form of the request; the only way to a call that does more than read.
    fn exactly(&self, words: &Words<'_>) -> Result<Option<Match>, Doubt> {
        let mut found = matching::same_form(self.abilities, words).into_iter();
        let Some((ability, filled)) = found.next() else { return Ok(None) };
        let reads = |at: usize| self.abilities[at].candidate.class == READ;
        match found.next() {
            Some((other, _)) if reads(ability) && reads(other) => Ok(None),
            Some(_) => Err(Doubt::Ambiguous),
            None => {
                let asked = matching::ability::weighty_marks(words.tokens, |_| false);
                Ok(Some(Match { ability, filled, producer: None, asked, score: 1.0, lang: None, open_text: None }))
            }
        }
    }

    /// What the words ask for, taken as several requests: all of them are understood, or none.
    fn clauses(&self, tokens: &[Token<'_>]) -> Option<Vec<Match>> {
        let mut clauses: Vec<Vec<Token<'_>>> = vec![Vec::new()];
        for token in tokens {
            if token.mark == Mark::And {
                clauses.push(Vec::new());
                continue;
            }
            if let Some(clause) = clauses.last_mut() {
                clause.push(token.clone());
            }
            if token.ends_clause {
                clauses.push(Vec::new());
            }
        }
        clauses.retain(|clause| !clause.is_empty());
        if !(2..=MAX_CLAUSES).contains(&clauses.len()) {
            return None;
        }
        let mut found = Vec::new();
        let mut pattern: Option<Vec<Token<'_>>> = None;
        for clause in &clauses {
            // "… and in notes/b.md" repeats the request before it with other values.
            let only_values = clause.iter().any(Token::is_value)
                && clause.iter().all(|token| token.mark.is_path_noun() || token.mark.weight() <= 0.3);
            let clause = match (&pattern, only_values) {
                (Some(pattern), true) => with_values_of(pattern, clause)?,
                (_, _) => clause.clone(),
            };
            let one = self.whole(&clause).ok()?;
            // What changes something is asked for by itself, or not understood.
            if self.abilities[one.ability].candidate.class != READ {
                return None;
            }
            found.push(one);
            pattern = Some(clause);
        }
        Some(found)
    }

    /// Numbers the calls and links the chains: first everything that waits for nothing, so that the
    /// calls can be started in the order of their numbers.
    fn calls(&self, found: &[Match]) -> Plan {
        let mut calls: Vec<PlannedCall> = Vec::new();
        // Words that give no language away are in that of the pattern.
        let lang = self.spoken.or(found.first().and_then(|one| one.lang)).unwrap_or(self.lang);
        let mut links: Vec<Option<(CallRef, &Producer)>> = vec![None; found.len()];
        for (one, link) in found.iter().zip(&mut links) {
            if let Some(producer) = &one.producer {
                let place = next_place(&calls);
                *link = Some((place, producer));
                calls.push(self.call(place, producer.ability, &producer.filled, lang));
            }
        }
        let mut answers = Vec::new();
        for (one, link) in found.iter().zip(&links) {
            let place = next_place(&calls);
            let mut call = self.call(place, one.ability, &one.filled, lang);
            let mut path = &one.filled.path;
            if let Some((from, producer)) = link {
                if let Some(arguments) = call.arguments.as_object_mut() {
                    for (argument, pointer) in &producer.gives {
                        arguments.insert(argument.clone(), json!({ "$ref": format!("{from}#{pointer}") }));
                    }
                }
                call.needs.push(*from);
                path = &producer.filled.path;
            }
            let subject = path.as_ref().map(|(path, _)| path.as_str());
            call.template.tell_of(subject, one.asked.clone());
            if let Some(path) = subject {
                self.call_as_spoken(&mut call.template, path, lang);
            }
            answers.push(place);
            calls.push(call);
        }
        Plan { calls, answers, lang }
    }

    fn call(&self, place: CallRef, ability: usize, filled: &Filled, lang: Lang) -> PlannedCall {
        let (mut arguments, mut literals) = (filled.arguments.clone(), filled.literals.clone());
        let ability_of = &self.abilities[ability];
        // Whatever changes something has its places named in full.
        let of = &ability_of.candidate;
        let only_read = |slot: &&Slot| of.class == READ || of.reads.contains(&slot.pointer());
        let paths = ability_of.slots.iter().filter(|slot| slot.want == Want::Path).filter(only_read);
        for slot in paths {
            let found = arguments.get(&slot.name).and_then(Value::as_str).and_then(|typed| self.place_of(typed));
            if let Some(found) = found {
                arguments.insert(slot.name.clone(), Value::from(found));
                // It stands in nobody's words any more.
                literals.retain(|literal| literal.pointer != slot.pointer());
            }
        }
        made_beside(ability_of, &mut arguments, &mut literals);
        at_home(&mut arguments, &ability_of.candidate.input, &self.envelope.home.zone, &self.envelope.home.offset);
        let mut template = answer::Template::of(&ability_of.candidate, lang);
        template = template.called(&arguments, &self.envelope.home.zone);
        for value in arguments.values().filter_map(Value::as_str) {
            self.call_as_spoken(&mut template, value, lang);
        }
        PlannedCall {
            place,
            executor: ability_of.candidate.name.clone(),
            arguments: Value::Object(arguments),
            literals,
            needs: Vec::new(),
            template,
        }
    }

    /// Has a path or a zone called by the words that the request has for it.
    fn call_as_spoken(&self, template: &mut answer::Template, value: &str, lang: Lang) {
        let tokens = words::token::tokens(self.text).unwrap_or_default();
        if let Some(words) = matching::spoken::called(&tokens, &self.envelope.named, value, lang) {
            template.call_it(value, &words);
        }
    }

    /// Where the one file lies that is called by this bare name; none where the name itself is a place, or several have it.
    fn place_of(&self, typed: &str) -> Option<&str> {
        let named = &self.envelope.named;
        if typed.contains('/') || named.iter().any(|one| one.path == typed) {
            return None;
        }
        let paths = named.iter().filter(|one| !one.folder).map(|one| one.path.as_str());
        let mut fitting = paths.filter(|path| path.rsplit('/').next() == Some(typed));
        fitting.next().filter(|_| fitting.next().is_none())
    }

    fn not_understood(&self, doubt: Doubt, tokens: &[Token<'_>]) -> String {
        answer::speech::not_understood(self.lang, doubt, &self.suggestions(tokens))
    }

    /// At most [`NEAREST`] requests that share a verb or a thing with the words, one of each executor, each of which works
    /// when it is typed.
    fn suggestions(&self, tokens: &[Token<'_>]) -> Vec<&str> {
        let asked = matching::ability::meanings(tokens);
        let shared = |known: &[Mark]| asked.iter().filter(|mark| known.contains(mark)).count();
        let mut near: Vec<(usize, usize, &str)> = Vec::new();
        for (at, ability) in self.abilities.iter().enumerate() {
            let examples = ability.examples(self.lang);
            // The first of those that share most.
            let best = examples.iter().map(|(_, known)| shared(known)).max().unwrap_or(0);
            let shares = |(_, known): &&(&str, &[Mark])| best > 0 && shared(known) == best;
            near.extend(examples.iter().filter(shares).take(TRIED_OF_ONE).map(|(text, _)| (best, at, *text)));
        }
        // What shares most first; those of one executor stay together, whatever it is called and wherever it stands.
        let summary = |at: usize| self.abilities.get(at).map_or("", |ability| ability.candidate.summary.as_str());
        near.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| summary(a.1).cmp(summary(b.1))));
        let mut shown: Vec<(usize, &str)> = Vec::new();
        for (_, at, text) in near.into_iter().take(TRIED) {
            if shown.len() < NEAREST && shown.iter().all(|(known, _)| *known != at) && self.works(at, text) {
                shown.push((at, text));
            }
        }
        shown.into_iter().map(|(_, text)| text).collect()
    }

    /// Whether these words become a call of this executor as they stand.
    fn works(&self, ability: usize, text: &str) -> bool {
        self.call_of(text).is_some_and(|found| found.ability == ability)
    }

    /// The call that becomes of an example. Likeness is not asked: it costs most, and an example has its own form.
    fn call_of(&self, text: &str) -> Option<Match> {
        let mut tokens = words::token::tokens(text).filter(|_| is_one_line(text))?;
        forgive_spelling(&mut tokens, self.abilities, self.known);
        let reflex = Reflex { text, ..*self };
        reflex.by_form(&reflex.words(&tokens)).ok().flatten()
    }

    /// The example that a greeting shows: one that only reads, and has something to read here; the shortest of them, whatever
    /// the order of the executors.
    fn first_example(&self) -> Option<&str> {
        let mut found: Vec<(bool, usize, &str)> = Vec::new();
        // What needs an account may have none here.
        let is_ready = |one: &Ability| !one.candidate.roles.iter().any(|(pointer, _)| pointer == ACCOUNT);
        let reads = |one: &Ability| one.candidate.class == READ && is_ready(one);
        for (at, ability) in self.abilities.iter().enumerate().filter(|(_, one)| reads(one)) {
            for (text, _) in ability.examples(self.lang).into_iter().take(TRIED_OF_ONE) {
                let Some(one) = self.call_of(text).filter(|one| one.ability == at && one.producer.is_none()) else {
                    continue;
                };
                let is_there = |path: &str| self.envelope.named.iter().any(|one| one.path == path);
                let named = one.filled.path.as_ref().is_some_and(|(path, _)| is_there(path));
                if named || one.filled.arguments.is_empty() {
                    found.push((!named, text.chars().count(), text));
                }
            }
        }
        found.into_iter().min().map(|(.., text)| text)
    }

    fn help_examples(&self) -> Vec<&str> {
        (0..self.abilities.len()).flat_map(|at| self.showable(at, 2)).take(MAX_HELP).collect()
    }

    /// Examples of one ability that fit on a line and work.
    fn showable(&self, ability: usize, most: usize) -> Vec<&str> {
        let examples = self.abilities.get(ability).map(|ability| ability.examples(self.lang)).unwrap_or_default();
        let mut texts = examples.into_iter().map(|(text, _)| text).take(TRIED_OF_ONE + most);
        texts.by_ref().filter(|text| self.works(ability, text)).take(most).collect()
    }
}

/// Whether these tokens of a text may speak of another time.
fn is_later(tokens: &[Token<'_>]) -> bool {
    words::grammar::is_for_later(tokens, words::grammar::quoted_from(tokens))
}

/// "Hello, read …" is politeness, "say hello to …" is not.
fn greets_in_the_middle(tokens: &[Token<'_>]) -> bool {
    let greeting = tokens.iter().rposition(|token| token.mark == Mark::Concept("greeting"));
    greeting.is_some_and(|at| tokens[..at].iter().any(|token| token.is_value() || token.mark.weight() > 0.0))
}

/// Names what an executor makes of a file that it only reads, beside that file, which by now is where it really lies. A pattern says how:
/// `{path}` stands for the path, `{path:stem}` for the path without its ending, `{format}` for another argument.
fn made_beside(ability: &Ability, arguments: &mut Map<String, Value>, literals: &mut Vec<Literal>) {
    let of = &ability.candidate;
    let made = ability.slots.iter().filter(|slot| slot.want == Want::Path && !of.reads.contains(&slot.pointer()));
    for slot in made.filter(|_| !of.reads.is_empty()) {
        let Some(form) = arguments.get(&slot.name).and_then(Value::as_str) else { continue };
        let mut name = form.to_owned();
        for (other, value) in arguments.iter().filter(|(other, _)| **other != slot.name) {
            let text = value.as_str().unwrap_or_default().trim_end_matches('/');
            let stem = without_ending(text);
            name = name.replace(&format!("{{{other}:stem}}"), stem).replace(&format!("{{{other}}}"), text);
        }
        let read = of.reads.first().and_then(|pointer| arguments.get(pointer.trim_start_matches('/')));
        if let Some((folder, _)) =
            read.and_then(Value::as_str).and_then(|path| path.trim_end_matches('/').rsplit_once('/'))
            && !name.contains('/')
        {
            name = format!("{folder}/{name}");
        }
        if name != form {
            literals.retain(|literal| literal.pointer != slot.pointer());
            arguments.insert(slot.name.clone(), Value::from(name));
        }
    }
}

/// A path without the ending of its name, or both of an archive's: `trip` of `trip.tar.gz`.
fn without_ending(path: &str) -> &str {
    let path = path.strip_suffix(".gz").filter(|path| path.ends_with(".tar")).unwrap_or(path);
    let name = path.rsplit('/').next().unwrap_or(path);
    name.rfind('.').filter(|at| *at > 0).map_or(path, |at| &path[..path.len() - name.len() + at])
}

/// How the argument `offset` is described that says how far the clock of the instance is ahead of UTC.
const OFFSET: &str = "^[+-][0-9]{2}:[0-9]{2}$";

/// Gives a call that takes a time zone, or how far a clock is ahead of UTC, those of the instance, where nothing else was
/// said. They stand in nobody's words.
pub fn at_home(arguments: &mut Map<String, Value>, input: &Value, zone: &str, offset: &str) {
    for (name, takes, value) in [("zone", takes_zone(input), zone), ("offset", takes_offset(input), offset)] {
        if takes && !value.is_empty() && !arguments.contains_key(name) {
            arguments.insert(name.to_owned(), Value::from(value));
        }
    }
    for (_, value) in arguments.iter_mut().filter(|(name, _)| takes_series(input, name)) {
        if let Some(text) = value.as_str().filter(|text| text.contains(";FREQ=")) {
            *value = Value::from(words::when::in_zone(text.to_owned(), zone));
        }
    }
}

/// Whether this argument says how often something takes place, and by the clock of which zone.
fn takes_series(input: &Value, name: &str) -> bool {
    properties(input).and_then(|all| all[name]["pattern"].as_str()).is_some_and(|pattern| pattern.contains(";TZ="))
}

/// Whether a call has an argument for a time zone.
#[must_use]
pub fn takes_zone(input: &Value) -> bool {
    properties(input).is_some_and(|all| all["zone"]["type"] == "string")
}

/// Whether a call has an argument for how far the clock of the instance is ahead of UTC: nobody else gives it.
#[must_use]
pub fn takes_offset(input: &Value) -> bool {
    properties(input).is_some_and(|all| all["offset"]["type"] == "string" && all["offset"]["pattern"] == OFFSET)
}

fn properties(input: &Value) -> Option<&Value> {
    input.pointer("/properties").or_else(|| input.pointer("/definitions/Input/properties"))
}

fn next_place(calls: &[PlannedCall]) -> CallRef {
    CallRef(u16::try_from(calls.len() + 1).unwrap_or(u16::MAX))
}

fn is_one_line(text: &str) -> bool {
    !text.is_empty() && !text.contains(char::is_control) && text.chars().count() <= MAX_EXAMPLE
}

/// The earlier clause with the values of this one: "read a.md and b.md".
fn with_values_of<'a>(pattern: &[Token<'a>], clause: &[Token<'a>]) -> Option<Vec<Token<'a>>> {
    let mut values = clause.iter().filter(|token| token.is_value());
    let mut made = Vec::with_capacity(pattern.len());
    for token in pattern {
        made.push(if token.is_value() { values.next()?.clone() } else { token.clone() });
    }
    values.next().is_none().then_some(made)
}

/// The language that words are in, as far as they show it.
#[must_use]
pub fn spoken_in(words: &str) -> Option<Lang> {
    let words = words.get(..MAX_WORDS).unwrap_or(words);
    words::token::tokens(words).and_then(|tokens| words::token::language(&tokens))
}

/// The language that words are in, as far as they show it; else `usual`.
#[must_use]
pub fn language_of(words: &str, usual: Lang) -> Lang {
    spoken_in(words).unwrap_or(usual)
}

#[cfg(test)]
mod answers_tests;
#[cfg(test)]
mod household_tests;
#[cfg(test)]
mod lists_tests;
#[cfg(test)]
mod pattern_tests;
#[cfg(test)]
mod shipped_tests;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;

#[cfg(test)]
mod nothing_asked_tests;
