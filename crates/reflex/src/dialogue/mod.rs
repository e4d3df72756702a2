//! What words mean beside those before them: "read it", "again", "and in Tokyo?", "the second one". What points back is made a
//! whole request by planning the person's last requests anew; nothing is taken from a result or from what another principal
//! said. Pure and bounded: the same words after the same words give the same reply.

mod antecedent;
mod back;
mod hints;
mod more;
mod recollection;
mod which;

use std::collections::BTreeSet;

use metnos_proto::envelope::{Candidate, Envelope, Named};
use metnos_proto::ids::Blake3;
use metnos_proto::msg::common::Lang;
use metnos_proto::msg::schedule::{Ask, MAX_FROZEN, Order, ScheduleAct, frozen_call};

use crate::answer::speech::{self, Doubt};
use crate::reminder::{self, Asked, asks, others, review};
use crate::words::phrase::Phrase;
use crate::{Plan, PlannedCall, Reply, Unable, impossible};
pub use recollection::introduction;

/// How many of the last requests are looked at.
pub const MAX_BACK: usize = 4;
/// How many requests are planned anew for one.
pub const MAX_PLANNED: usize = 48;
/// From how many words on a request points back by what it says alone, and not by being short.
const SHORT: usize = 6;

/// What makes a reply of words by themselves.
pub type Plain<'a> = dyn FnMut(&str, &Envelope) -> Reply + 'a;

/// Makes a reply of words after those before them; `plain` makes one of words by themselves. `possible` are the kinds of things
/// that an executor does after all.
pub fn reply(text: &str, envelope: &Envelope, possible: &BTreeSet<impossible::Kind>, plain: &mut Plain<'_>) -> Reply {
    let text = &addressed(text, &envelope.home.butler);
    match others::asked(text.bare, envelope) {
        Some(Asked::Order(order, lang)) => return Reply::Schedule(order, lang),
        Some(Asked::Unclear(said)) => return Reply::Say(said),
        None => {}
    }
    if let Some((when, lang)) = review::reviewed(text.bare, envelope) {
        return Reply::Review(when, lang);
    }
    if let Some((ask, lang)) = at_another_time(text.bare, envelope, plain) {
        return Reply::Schedule(Order::Ask(ask), lang);
    }
    let mut alone = text.understood(envelope, plain);
    let text = text.bare;
    // "Move the dentist to 10:30" is about the reminder that is called so, where no calendar is connected.
    if matches!(alone, Reply::Plan(_))
        && !envelope.home.has_account("calendar")
        && let Some(Asked::Order(order, lang)) = reminder::asked(text, envelope)
        && is_moved(&order)
    {
        return Reply::Schedule(order, lang);
    }
    let phrase = Phrase::of(text, envelope.lang);
    if phrase.as_ref().is_some_and(Talk::names_only_a_zone) {
        alone = Reply::NotUnderstood(speech::not_understood(envelope.lang, Doubt::Unknown, &[]));
    }
    let several = matches!(&alone, Reply::Plan(plan) if plan.answers.len() > 1);
    let Some(phrase) = phrase.filter(|_| several || matches!(alone, Reply::NotUnderstood(_))) else { return alone };
    if !several {
        match reminder::asked(text, envelope) {
            Some(Asked::Order(order, lang)) => return Reply::Schedule(order, lang),
            Some(Asked::Unclear(said)) => return Reply::Say(said),
            None => {}
        }
    }
    let mut talk = Talk { envelope, plain, scratch: None, left: MAX_PLANNED };
    let upto = envelope.recent.len();
    if several {
        // "How much did we spend? Look at expenses.csv" is one question, and not also a wish to see the file.
        return talk.aside(&phrase, upto).map_or(alone, Reply::Plan);
    }
    if let Some(said) = talk.recollection(&phrase) {
        return Reply::Say(said);
    }
    if let Some(asked) = talk.which(&phrase, upto) {
        return Reply::Say(speech::which(phrase.lang, &asked));
    }
    let whole = talk.antecedent(&phrase, upto).or_else(|| talk.listed(&phrase, upto));
    if let Some(plan) = whole.or_else(|| talk.aside(&phrase, upto)) {
        return Reply::Plan(plan);
    }
    if upto > 0 && (phrase.len() <= SHORT || phrase.points_back()) {
        let past = talk.past(upto);
        if let Some(reply) = talk.back(&phrase, upto, &past) {
            return reply;
        }
    }
    if let Some(plan) = talk.agreed(&phrase, upto).or_else(|| talk.only_named(&phrase, upto)) {
        return Reply::Plan(plan);
    }
    if let Some(said) = talk.hint(&phrase) {
        return Reply::Cannot(Unable { text: said, is_wish: false });
    }
    // "Every morning at 7 tell me the weather" lacks the weather, and not the morning.
    let at_a_time = || {
        let asks = asks::asks(text, envelope);
        asks.iter().find_map(|(ask, _)| impossible::kind_of(&Phrase::of(ask.what.first()?, envelope.lang)?.plain()))
    };
    let kind = impossible::kind_of(&phrase.plain()).or_else(at_a_time);
    if let Some(kind) = kind.filter(|kind| !possible.contains(kind) && !kind.is_for_models()) {
        return Reply::Cannot(Unable { text: speech::cannot(phrase.lang, kind), is_wish: true });
    }
    if let Some(kind) = kind {
        // Such things are done here, and these words for it are not understood: what is, is said. Or a model does them.
        return Reply::NotUnderstood(speech::cannot(phrase.lang, kind));
    }
    if phrase.only_refuses() {
        return Reply::Cannot(Unable { text: speech::nothing_to_stop(phrase.lang), is_wish: false });
    }
    if phrase.only_agrees() {
        return Reply::Cannot(Unable { text: speech::nothing_asks(phrase.lang), is_wish: false });
    }
    alone
}

/// Whether an order puts something that is planned to another time.
const fn is_moved(order: &Order) -> bool {
    match order {
        Order::Change(change) => matches!(change.act, ScheduleAct::Move(_) | ScheduleAct::Earlier(_)),
        Order::Remind(_) | Order::Tell(_) | Order::Ask(_) | Order::List(_) | Order::Find(_) | Order::Quiet(_) => false,
    }
}

/// What words ask for about reminders and messages. It depends on nothing but the words, the ones before them, the time, and who is
/// known; who judges an order can find out by it whether the words bear it out.
#[must_use]
pub fn order(text: &str, envelope: &Envelope) -> Option<Order> {
    let text = addressed(text, &envelope.home.butler).bare;
    match others::asked(text, envelope).or_else(|| reminder::asked(text, envelope))? {
        Asked::Order(order, _) => Some(order),
        Asked::Unclear(_) => None,
    }
}

/// The words that a person agrees to with `text`, who said `before` last: "add milk to the shopping list", where that is what was
/// offered for "we are out of milk". It depends on nothing but these words, so that who judges a call can find it out as well.
#[must_use]
pub fn agreed_to(text: &str, before: &str, lang: Lang) -> Option<String> {
    hints::agreed_to(text, before, lang)
}

/// The ways to split words into a time and a question. Which question is understood depends on the executors; policyd checks with it
/// that the time and the question of an order stand in the person's words.
#[must_use]
pub fn asked_at_another_time(text: &str, envelope: &Envelope) -> Vec<Ask> {
    let text = addressed(text, &envelope.home.butler).bare;
    asks::asks(text, envelope).into_iter().map(|(ask, _)| ask).collect()
}

/// A request at another time that is understood: a question whose answer changes nothing, or what makes and changes things at home
/// again and again, with its calls as they are now.
fn at_another_time(text: &str, envelope: &Envelope, plain: &mut Plain<'_>) -> Option<(Ask, Lang)> {
    let mut understood = |ask: &Ask| {
        let what = ask.what.join(" ");
        match plain(&what, envelope) {
            Reply::Plan(plan) => {
                frozen(&plan, envelope).filter(|calls| calls.is_empty() || asks::may_do(text, ask, envelope))
            }
            Reply::NotUnderstood(_) | Reply::Cannot(_) => {
                let is_list = matches!(reminder::asked(&what, envelope), Some(Asked::Order(Order::List(_), _)));
                (is_list || review::reviewed(&what, envelope).is_some()).then(Vec::new)
            }
            Reply::Say(_) | Reply::Review(..) | Reply::Schedule(..) => None,
        }
    };
    let found = asks::asks(text, envelope).into_iter().find_map(|(ask, lang)| Some((understood(&ask)?, ask, lang)))?;
    // "Will it rain tomorrow?" asks now, about tomorrow.
    let only_reads = |plan: &Plan| {
        let class = |call: &PlannedCall| envelope.candidates.iter().find(|one| one.name == call.executor);
        plan.calls.iter().all(|call| class(call).is_some_and(|one| crate::only_reads(&one.class)))
    };
    let is_whole = !asks::is_of_birthdays(text, envelope.lang)
        && matches!(plain(text, envelope), Reply::Plan(plan) if only_reads(&plan));
    (!is_whole).then_some(found).map(|(frozen, ask, lang)| (Ask { frozen, ..ask }, lang))
}

/// The calls of a plan that make or change something at home; `None` where one does anything else but read, or there are too many.
fn frozen(plan: &Plan, envelope: &Envelope) -> Option<Vec<Blake3>> {
    let mut frozen = Vec::new();
    for call in &plan.calls {
        match envelope.candidates.iter().find(|one| one.name == call.executor)?.class.as_str() {
            class if crate::only_reads(class) => {}
            "self_create" | "self_modify" => frozen.push(frozen_call(&call.executor, &call.arguments)),
            _ => return None,
        }
    }
    (frozen.len() <= MAX_FROZEN).then_some(frozen)
}

/// What the person said that has all these words of a question, quoted with its day; `None` for nothing.
pub fn told(text: &str, topic: &[String], envelope: &Envelope, plain: &mut Plain<'_>) -> Option<String> {
    let lang = crate::language_of(text, envelope.lang);
    let mut talk = Talk { envelope, plain, scratch: None, left: MAX_PLANNED };
    Some(talk.quotes((topic, &recollection::names_in(text)), lang, 1)).filter(|lines| !lines.is_empty())
}

/// What is left of words when the butler's name is taken away with which they begin or end: "Alfredo, who are you?".
struct Addressed<'a> {
    text: &'a str,
    bare: &'a str,
}

/// The most words of a request at the end of which a name without a comma before it calls somebody: "good morning Alfredo".
const MAX_CALL: usize = 3;

fn addressed<'a>(text: &'a str, butler: &str) -> Addressed<'a> {
    let is_edge = |c: char| c.is_whitespace() || matches!(c, ',' | '.' | '!' | '?' | ':' | ';');
    let trimmed = text.trim_matches(is_edge);
    let mut bare = text;
    for name in [butler, "Metnos"].into_iter().filter(|name| !name.is_empty()) {
        let head = trimmed.get(..name.len()).filter(|head| head.to_lowercase() == name.to_lowercase());
        if let Some(rest) = head.and_then(|head| trimmed.get(head.len()..)).filter(|rest| rest.starts_with(is_edge)) {
            bare = rest.trim_start_matches(is_edge);
        }
        let at = trimmed.len().saturating_sub(name.len());
        let tail = trimmed.get(at..).filter(|tail| tail.to_lowercase() == name.to_lowercase());
        if let Some(rest) = tail.and_then(|_| trimmed.get(..at)).filter(|rest| rest.ends_with(is_edge)) {
            let calls = rest.trim_end().ends_with(',') || rest.split_whitespace().count() <= MAX_CALL;
            bare = if calls { rest.trim_end_matches(is_edge) } else { bare };
        }
    }
    Addressed { text, bare: if bare.is_empty() { text } else { bare } }
}

impl Addressed<'_> {
    /// What the words become, else what they become without the name.
    fn understood(&self, envelope: &Envelope, plain: &mut Plain<'_>) -> Reply {
        let whole = plain(self.text, envelope);
        if self.bare == self.text || !matches!(whole, Reply::NotUnderstood(_)) {
            return whole;
        }
        match plain(self.bare, envelope) {
            Reply::NotUnderstood(_) => whole,
            meant @ (Reply::Plan(_) | Reply::Say(_) | Reply::Review(..) | Reply::Schedule(..) | Reply::Cannot(_)) => {
                meant
            }
        }
    }
}

/// A request of the last turns, and what becomes of it now.
struct Turn {
    text: String,
    reply: Reply,
    /// The paths between which it leaves the choice.
    which: Vec<String>,
}

impl Turn {
    /// The calls that it becomes.
    const fn plan(&self) -> Option<&Plan> {
        match &self.reply {
            Reply::Plan(plan) => Some(plan),
            Reply::Say(_) | Reply::Review(..) | Reply::Schedule(..) | Reply::Cannot(_) | Reply::NotUnderstood(_) => {
                None
            }
        }
    }
}

/// Plans words after others.
struct Talk<'a, 'b> {
    envelope: &'a Envelope,
    plain: &'a mut Plain<'b>,
    /// The envelope of an earlier turn, without the executors, which are the same: made once, for it is large.
    scratch: Option<Envelope>,
    /// How many requests may still be planned.
    left: usize,
}

impl Talk<'_, '_> {
    /// What these words become by themselves after the first `upto` requests, where only `named` may be meant.
    fn plain(&mut self, text: &str, upto: usize, named: Option<Vec<Named>>) -> Option<Reply> {
        self.left = self.left.checked_sub(1)?;
        let scratch = self.scratch.get_or_insert_with(|| self.envelope.without_candidates());
        scratch.recent = self.envelope.recent.get(..upto).unwrap_or_default().to_vec();
        scratch.named = named.unwrap_or_else(|| self.envelope.named.clone());
        Some(addressed(text, &scratch.home.butler).understood(scratch, self.plain))
    }

    /// As [`Self::plain`], where they become calls.
    fn planned(&mut self, text: &str, upto: usize) -> Option<Plan> {
        match self.plain(text, upto, None)? {
            Reply::Plan(plan) => Some(plan),
            Reply::Say(_) | Reply::Review(..) | Reply::Schedule(..) | Reply::Cannot(_) | Reply::NotUnderstood(_) => {
                None
            }
        }
    }

    /// The last requests before the one that follows `upto` others, oldest first.
    fn past(&mut self, upto: usize) -> Vec<Turn> {
        let mut past: Vec<Turn> = Vec::new();
        for at in upto.saturating_sub(MAX_BACK)..upto {
            let text = self.envelope.recent[at].text.clone();
            let Some(turn) = self.turn(text, at, &past) else { return Vec::new() };
            past.push(turn);
        }
        past
    }

    fn turn(&mut self, text: String, upto: usize, past: &[Turn]) -> Option<Turn> {
        let reply = self.plain(&text, upto, None)?;
        let phrase = Phrase::of(&text, self.envelope.lang)
            .filter(|phrase| matches!(reply, Reply::NotUnderstood(_)) || Self::names_only_a_zone(phrase));
        let Some(phrase) = phrase else { return Some(Turn { text, reply, which: Vec::new() }) };
        let which = self.which(&phrase, upto).unwrap_or_default();
        let meant = if which.is_empty() { self.back(&phrase, upto, past) } else { None };
        Some(Turn { reply: meant.unwrap_or(reply), text, which })
    }

    fn candidate(&self, name: &str) -> Option<&Candidate> {
        self.envelope.candidates.iter().find(|one| one.name == name)
    }

    /// Whether every call of a plan only reads.
    fn reads(&self, plan: &Plan) -> bool {
        plan.calls.iter().all(|call| self.candidate(&call.executor).is_some_and(|one| crate::only_reads(&one.class)))
    }

    /// The paths that a plan is about: the one that something is moved to, else all that its calls name.
    fn subjects(&self, plan: &Plan) -> Vec<String> {
        let mut paths: Vec<String> = plan.calls.iter().flat_map(|call| self.places(call)).collect();
        paths.sort();
        paths.dedup();
        paths
    }

    /// Whether a call of a plan names this place.
    fn names(&self, plan: &Plan, path: &str) -> bool {
        plan.calls.iter().any(|call| {
            let roles = self.candidate(&call.executor).map(|one| one.roles.as_slice()).unwrap_or_default();
            let mut places = roles.iter().filter(|(_, role)| is_place(role));
            places.any(|(pointer, _)| call.arguments.pointer(pointer).and_then(serde_json::Value::as_str) == Some(path))
        })
    }

    /// The places that a call is about.
    fn places(&self, call: &PlannedCall) -> Vec<String> {
        let Some(candidate) = self.candidate(&call.executor) else { return Vec::new() };
        let named = candidate.roles.iter().filter(|(_, role)| is_place(role));
        let named =
            named.filter_map(|(pointer, _)| Some((pointer.as_str(), call.arguments.pointer(pointer)?.as_str()?)));
        let all: Vec<(&str, &str)> = named.collect();
        let at = |name: &str| all.iter().find(|(pointer, _)| *pointer == name).map(|(_, path)| *path);
        match (at(MOVED_TO), all.iter().find(|(pointer, _)| *pointer != MOVED_TO)) {
            // A new name in the same folder may be said without it.
            (Some(to), Some((_, from))) if !crate::only_reads(&candidate.class) => match from.rsplit_once('/') {
                Some((folder, _)) if !to.contains('/') => vec![format!("{folder}/{to}")],
                Some(_) | None => vec![to.to_owned()],
            },
            (_, _) => all.into_iter().map(|(_, path)| path.to_owned()).collect(),
        }
    }
}

/// The argument that says where something is moved to.
const MOVED_TO: &str = "/to";

/// Whether an argument of this role names a place of the workspace.
fn is_place(role: &str) -> bool {
    matches!(role, "path" | "selector" | "dest")
}

/// Whether a place is one of those that are named as folders, or ends like none of a file.
fn is_folder(path: &str, named: &[Named]) -> bool {
    let known = named.iter().find(|one| one.path == path.trim_end_matches('/'));
    known.map_or_else(
        || metnos_rank::forms::name_stem(path) == path.rsplit('/').next().unwrap_or(path),
        |one| one.folder,
    )
}

/// The language of the answer to words after others: their own, else that of the plan.
fn lang_of(phrase: &Phrase<'_>, other: Lang) -> Lang {
    phrase.spoken.unwrap_or(other)
}

#[cfg(test)]
mod asks_tests;
#[cfg(test)]
mod tests;
