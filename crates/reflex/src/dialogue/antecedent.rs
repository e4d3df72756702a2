//! What is said first and pointed at by an order in the same words: "we are out of milk, put it on the list", "il codice è
//! 4471, segnalo". The order is made whole with what it points at, and planned by itself.

use metnos_proto::msg::common::Lang;
use serde_json::Value;

use super::{Talk, back};
use crate::Plan;
use crate::words::phrase::{Phrase, is_pronoun};

/// The most words that only name something.
const MAX_NAMED: usize = 5;
/// The same where it is no list: to plan once more what is not understood costs as much as to plan it.
const MAX_NAMED_BRIEFLY: usize = 2;
/// Words of a statement: a phrase with one of them is more than a name.
const TELLS: &str = "is s are was were be been has have had got too very so not no never e era sono erano ha hanno ho abbiamo troppo molto \
    non mai";
/// What begins a remark on something that is needed or was got, and what ends one.
const BEFORE: &str = "we need,we need to buy,we need to get,we need more,i need,i need to buy,i need to get,we are out of,\
    we re out of,i am out of,im out of,were out of,we ran out of,we have run out of,we ve run out of,\
    i have run out of,we have no,we have no more,we don t have,we don t have any,there is no,there is no more,\
    there are no,there are no more,we are low on,we re low on,we are running low on,we re running low on,\
    running low on,we are running out of,out of,no more,we are missing,we got,i got,i ve got,we ve got,i have got,\
    we have got,we bought,i bought,i have bought,i ve bought,we have bought,we ve bought,i just bought,i just got,\
    i already bought,i already got,we already have,we already got,i have,we have,i already have,i found,manca,\
    mancano,ci manca,ci mancano,serve,servono,ci serve,ci servono,mi serve,mi servono,ci vuole,ci vogliono,\
    e finito,e finita,sono finiti,sono finite,abbiamo finito,ho finito,non c e piu,non ci sono piu,\
    non abbiamo piu,non abbiamo,siamo senza,siamo rimasti senza,sta finendo,sta per finire,stanno finendo,\
    stanno per finire,ho preso,ho gia preso,ho comprato,ho gia comprato,ho trovato,abbiamo preso,\
    abbiamo gia preso,abbiamo comprato,abbiamo gia,ho gia,abbiamo trovato";
const AFTER: &str = "is finished,are finished,is gone,are gone,is all gone,is out,is missing,are missing,ran out,has run out,\
    have run out,is running low,is running out,are running out,e finito,e finita,sono finiti,sono finite,\
    sta finendo,stanno finendo,sta per finire,manca,mancano,l ho preso,l ho presa,li ho presi,le ho prese,\
    l ho comprato,l ho comprata,li ho comprati,le ho comprate";
/// What may join a remark with its order.
const JOINS: &str = "so,so please,and,then,please,can you,could you,can you please,could you please,quindi,e,allora,percio,\
    per favore,puoi,potresti,mi";
/// English orders by their verb, and what it does with a list.
const ORDERS: &str = "add put write stick pop include";
const ORDERS_OFF: &str = "take cross strike remove tick delete";
const POINTERS: &str = "it them that those";
/// Italian orders without what they point with.
const ITALIAN: &str = "metti mettere aggiungi aggiungere segna segnare scrivi scrivere inserisci inserire";
const ITALIAN_OFF: &str = "togli togliere leva levare cancella cancellare depenna depennare elimina eliminare rimuovi rimuovere spunta spuntare";
const CLITICS: [&str; 8] = ["melo", "telo", "cela", "celo", "lo", "la", "li", "le"];
/// Orders to make a list.
const MAKES: &str = "make create start begin write prepare set crea fai prepara scrivi inizia comincia";
/// Orders to keep what was said.
const NOTES: &str = "write it down,write that down,write this down,note it down,note that down,note that,note it,jot it down,\
    jot that down,make a note of it,make a note of that,make a note,take a note,remember that,remember it,\
    please remember,don t forget it,don t forget that,don t forget,keep it in mind,keep that in mind,save it,\
    save that,segnatelo,annotalo,annotatelo,appuntalo,scrivilo,segnalo,scrivitelo,ricordatelo,ricordalo,ricordati,\
    prendine nota,prendi nota,tienilo a mente,tienilo presente,non dimenticarlo,non te lo dimenticare,\
    non scordarlo,memorizzalo,salvalo";
/// What turns an order into its opposite.
const NEGATIONS: &str = "not never t don dont non mai";
/// The most words of a thing, and of a remark that is kept; the fewest of one.
const MAX_THING: usize = 6;
const MAX_REMARK: usize = 40;
const MIN_REMARK: usize = 3;

/// An order and the words that it is said with.
struct Order {
    /// Whether it takes off a list.
    off: bool,
    /// The words up to it, and those from which on it says more.
    upto: usize,
    rest: usize,
}

/// What says aside where the answer of a question stands: "…, it's in the car file", "… guarda spese.csv".
const ASIDES: &str = "see,look at,look in,check,its in,it is in,it s in,they are in,that is in,thats in,is in,guarda,guarda in,\
    guarda nel,guarda nella,vedi,controlla,controlla in,sta in,sta nel,sta nella,e in,e nel,e nella,sono in,\
    sono nel,sono nella,lo trovi in,li trovi in,trovi tutto in";

impl Talk<'_, '_> {
    /// The plan of a question beside which stands where its answer is.
    pub(super) fn aside(&mut self, phrase: &Phrase<'_>, upto: usize) -> Option<Plan> {
        let longest = |at: usize| ASIDES.split(',').filter_map(|words| phrase.says(at, words)).max();
        let place = |from: usize, to: usize| phrase.typed(from, to).trim_matches(is_mark).to_owned();
        let behind = (2..phrase.len()).find_map(|at| Some((at, longest(at).filter(|end| *end < phrase.len())?)));
        let split = match (behind, longest(0)) {
            (Some((at, end)), _) => (place(0, at), place(end, phrase.len())),
            (None, Some(end)) if phrase.words.get(end).is_some_and(|word| word.is_value) && end + 2 < phrase.len() => {
                (place(end + 1, phrase.len()), place(end, end + 1))
            }
            (None, _) => return None,
        };
        let plan = self.planned(&format!("{} in {}", split.0, split.1), upto)?;
        self.reads(&plan).then(|| back::unsaid(plan, phrase.text))
    }

    /// The plan of words that only name something here, as "the shopping list": it is shown. What only reads is looked at, for it may
    /// have been named in passing.
    pub(super) fn only_named(&mut self, phrase: &Phrase<'_>, upto: usize) -> Option<Plan> {
        let tells = |word: &&str| TELLS.split(' ').any(|told| told == *word);
        // Of files only lists are meant by their name alone: words for others are words of any sentence.
        let is_list = phrase.plain().iter().any(|word| matches!(*word, "list" | "lista"));
        let most = if is_list { MAX_NAMED } else { MAX_NAMED_BRIEFLY };
        if phrase.len() > most || phrase.plain().iter().any(tells) {
            return None;
        }
        let verb = match phrase.lang {
            Lang::En => "show me",
            Lang::It => "mostrami",
        };
        let plan = self.planned(&format!("{verb} {}", phrase.typed(0, phrase.len())), upto)?;
        let is_file = |call: &crate::PlannedCall| call.arguments.get("path").is_some();
        let is_meant = is_list || !plan.calls.iter().any(is_file);
        (plan.calls.len() == 1 && is_meant && self.reads(&plan)).then(|| back::unsaid(plan, phrase.text))
    }

    /// The plan of an order that points at what the same words have said before it.
    pub(super) fn antecedent(&mut self, phrase: &Phrase<'_>, upto: usize) -> Option<Plan> {
        if let Some(plan) = self.kept(phrase, upto) {
            return Some(plan);
        }
        let order = order(phrase)?;
        let thing = thing(phrase, order.upto)?;
        let rest = phrase.typed(order.rest, phrase.len());
        let text = match (phrase.lang, order.off, rest) {
            (Lang::En, true, "" | "off") => format!("take {thing} off the list"),
            (Lang::En, false, "") => format!("add {thing} to the list"),
            (Lang::En, true, rest) => format!("take {thing} {rest}"),
            (Lang::En, false, rest) => format!("add {thing} {rest}"),
            (Lang::It, true, "") => format!("togli {thing} dalla lista"),
            (Lang::It, false, "") => format!("aggiungi {thing} alla lista"),
            (Lang::It, true, rest) => format!("togli {thing} {rest}"),
            (Lang::It, false, rest) => format!("aggiungi {thing} {rest}"),
        };
        let plan = self.planned(&text, upto)?;
        self.puts_on_a_list(&plan).then(|| back::unsaid(plan, phrase.text))
    }

    /// The plan of a new list whose things stand behind a colon: "start a list called camping: tent, torches".
    pub(super) fn listed(&mut self, phrase: &Phrase<'_>, upto: usize) -> Option<Plan> {
        let (head, things) = phrase.text.split_once(": ")?;
        let begins =
            |words: &str| words.split(' ').any(|word| phrase.words.first().is_some_and(|one| one.plain == word));
        let is_list =
            head.split(|c: char| !c.is_alphanumeric()).any(|word| matches!(word, "list" | "lista" | "elenco"));
        if !is_list || !begins(MAKES) {
            return None;
        }
        let head = head.trim_end();
        let head =
            [" please", " per favore", ","].iter().fold(head, |head, tail| head.strip_suffix(tail).unwrap_or(head));
        let with = if phrase.lang == Lang::It { "con" } else { "with" };
        let plan = self.planned(&format!("{head} {with} {things}"), upto)?;
        self.puts_on_a_list(&plan).then(|| back::unsaid(plan, phrase.text))
    }

    /// Whether a plan is one call that changes a list by things.
    fn puts_on_a_list(&self, plan: &Plan) -> bool {
        let [call] = plan.calls.as_slice() else { return false };
        let is_thing = |line: &str| line.starts_with(super::more::ITEM);
        let holds = |value: &Value| value.as_str().is_some_and(|text| text.lines().all(is_thing) && !text.is_empty());
        self.candidate(&call.executor).is_some_and(|one| !crate::only_reads(&one.class))
            && call.arguments.as_object().is_some_and(|all| all.values().any(holds))
    }

    /// A remark that is to be kept: "the code is 4471, write it down".
    fn kept(&mut self, phrase: &Phrase<'_>, upto: usize) -> Option<Plan> {
        let end = (MIN_REMARK..phrase.len())
            .find(|at| NOTES.split(',').any(|words| phrase.says(*at, words) == Some(phrase.len())))?;
        let end = unjoined(phrase, end);
        let remark = phrase.typed(0, end).trim_end_matches(is_mark);
        let asks = phrase.words.first().is_some_and(|word| is_pronoun(&word.plain) && !is_subject(&word.plain));
        let negated = end.checked_sub(1).is_some_and(|last| is_negation(&phrase.words[last].plain));
        if !(MIN_REMARK..=MAX_REMARK).contains(&end) || asks || negated || remark.contains('?') {
            return None;
        }
        let text = match phrase.lang {
            Lang::En => format!("note that {remark}"),
            Lang::It => format!("annota che {remark}"),
        };
        let plan = self.planned(&text, upto)?;
        let changes = |call: &crate::PlannedCall| {
            self.candidate(&call.executor).is_some_and(|one| !crate::only_reads(&one.class))
        };
        (plan.calls.len() == 1 && plan.calls.iter().all(changes)).then(|| back::unsaid(plan, phrase.text))
    }
}

fn is_negation(word: &str) -> bool {
    NEGATIONS.split(' ').any(|known| known == word)
}

/// Whether it only separates words.
fn is_mark(c: char) -> bool {
    c.is_whitespace() || matches!(c, ',' | '.' | ';' | ':' | '!' | '?' | '-' | '–' | '(' | ')')
}

/// Pronouns with which a statement begins.
fn is_subject(word: &str) -> bool {
    matches!(
        word,
        "he" | "she" | "they" | "it" | "this" | "that" | "everything" | "tutto" | "questo" | "ho" | "sono" | "e"
    )
}

/// Where a remark ends that something joins with what follows at `at`.
fn unjoined(phrase: &Phrase<'_>, at: usize) -> usize {
    let joins = |words: &&str| {
        let begin = at.checked_sub(words.split(' ').count());
        begin.is_some_and(|begin| phrase.says(begin, words) == Some(at))
    };
    JOINS.split(',').filter(joins).map(|words| at - words.split(' ').count()).min().unwrap_or(at)
}

/// The first order of the words that points at something.
fn order(phrase: &Phrase<'_>) -> Option<Order> {
    let is_one_of = |word: &str, words: &str| words.split_ascii_whitespace().any(|known| known == word);
    (1..phrase.len()).find_map(|at| {
        let word = phrase.words[at].plain.as_str();
        let (off, rest) = match phrase.lang {
            Lang::En => {
                phrase.words.get(at + 1).filter(|next| is_one_of(&next.plain, POINTERS))?;
                let off = is_one_of(word, ORDERS_OFF);
                (off || is_one_of(word, ORDERS)).then_some((off, at + 2))?
            }
            Lang::It => CLITICS.iter().find_map(|clitic| {
                let bare = word.strip_suffix(clitic)?;
                // "Metterlo" has lost its last letter.
                let verb = if bare.ends_with('r') { format!("{bare}e") } else { bare.to_owned() };
                let off = is_one_of(&verb, ITALIAN_OFF);
                (off || is_one_of(&verb, ITALIAN)).then_some((off, at + 1))
            })?,
        };
        Some(Order { off, upto: unjoined(phrase, at), rest })
    })
}

/// The thing on which the words up to `end` remark that it is needed, or was got.
fn thing<'a>(phrase: &Phrase<'a>, end: usize) -> Option<&'a str> {
    let longest = BEFORE.split(',').filter_map(|words| phrase.says(0, words)).max();
    let shortened = AFTER.split(',').find_map(|words| {
        let begin = end.checked_sub(words.split(' ').count()).filter(|begin| *begin > 0)?;
        (phrase.says(begin, words) == Some(end)).then_some(begin)
    });
    let (begin, end) = match (longest, shortened) {
        (Some(begin), _) => (begin, end),
        (None, Some(end)) => (0, end),
        (None, None) => return None,
    };
    let plain = |at: usize| phrase.words.get(at).is_some_and(|word| !word.is_value && !is_pronoun(&word.plain));
    let own = begin..end;
    let negated = phrase.words.get(own.clone()).is_some_and(|words| words.iter().any(|word| is_negation(&word.plain)));
    let fits = begin < end && own.len() <= MAX_THING && !negated && own.clone().any(plain);
    let typed = phrase.typed(begin, end).trim_end_matches(is_mark);
    (fits && !typed.contains(['.', '?', '!', ';'])).then_some(typed)
}
