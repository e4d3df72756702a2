//! Questions that nobody here can answer, looked up in the person's own files: "when does the plumber come?" is answered with
//! the lines that name him, or not at all. Nothing is concluded from them.

use metnos_proto::envelope::{Candidate, Envelope};
use metnos_proto::json::{self, Limits};
use metnos_proto::msg::common::Lang;
use metnos_proto::payload::MAX_PAYLOAD;
use metnos_rank::lexicon::is_stop;
use metnos_rank::words::words as folded;
use serde_json::{Map, Value};

use crate::words::when::number_word;
use crate::{Plan, READ, Repertoire, Reply, language_of, properties};

/// What a question begins with, in English and in Italian.
const ASKS: &str = "what whats when whens where wheres who whos whose which how hows is are was were does do did has have will can could should cosa che quando dove dov chi \
    quale quali qual quanto quanta quanti quante come perche c cos ci e sono era hanno ha ho abbiamo devo dobbiamo";
/// What may stand before it.
const BEFORE: &str = "and e ed so then ok hey scusa please senti dimmi tell me know sai ti ricordi remember do you \
    on in at from with to for a con di da per su until till since about by fino entro";
/// With what a question for a fact begins; others ask whether something may or can be done.
const FACTS: &str = "what whats when whens where wheres who whos whose which how hows cosa che quando dove dov chi quale quali qual quanto \
    quanta quanti quante come c cos";
/// With one of these words, or such a beginning, a question is for advice.
const OF_ADVICE: &str = "should could would might why dovrei dovremmo potrei potremmo conviene consigli perche";
const HOW_TO: &str = "how do,how to,how can,come si,come faccio,come facciamo,come posso,come possiamo";
/// Questions for a fact without such a word: "do we have milk?", "is there a doctor's appointment?".
const HAVE: &str =
    "do we,do i,did we,did i,have we,have i,is there,are there,is our,is my,are our,are my,c e,ci sono,abbiamo,ho";
/// Requests to be told something that is named: "do you know the wifi password", "mi ricordi il codice del cancello".
const TELLS: &str = "do you know,do you remember,do you happen to know,can you tell me,could you tell me,can you remind me of,tell me,\
    remind me of,mi ricordi,ci ricordi,mi dici,ci dici,mi sai dire,mi puoi dire,mi potresti dire,puoi dirmi,potresti dirmi,\
    find,look up,look for,search for,give me,show me,trova,trovami,cerca,cercami,dammi,mostrami,\
    sai,sapete,ti ricordi,dimmi,ricordi,c e scritto da qualche parte,c e scritto,e scritto da qualche parte,\
    abbiamo scritto da qualche parte,ho scritto da qualche parte,did i write down,did we write down,have i written down";
/// What what is named begins with.
const NAMES: &str = "the our my his her their il lo la i gli le l nostro nostra nostri nostre mio mia miei mie";
/// What stands before a question about how much there is of something that is named behind it: "how much flour".
const HOW_MUCH: &str = "quanto quanta quanti quante much many";
/// What is counted or spent, and no line says.
const OF_COUNTS: &str = "times time money more volte soldi tempo euro euros dollars pounds days weeks months years giorni settimane mesi anni";
/// With one of these a question is for a price, which a line may say.
const OF_COST: &str = "cost costs charge charged charges paid pay pays price costa costano costato costata costava pagato pagata paghiamo \
    prezzo";
/// What follows "quanto" where it is about how long something takes.
const HOW_LONG: &str = "deve devono dura durano durata bisogna";
/// With one of these it is for a sum.
const IN_ALL: &str = "all total altogether tutto totale complessivamente average media";
/// Words of the second person: the question is about the butler, and no file answers it.
const OF_THE_BUTLER: &str = "you your yours yourself tu tuo tua tuoi tue";
/// What is asked for with these no line says: sums, counts and comparisons.
const OF_SUMS: &str = "much many total average sum most least biggest largest smallest cheapest longest shortest quanto quanta quanti quante \
    totale media somma piu meno massimo minimo";
/// Verbs and other words that say little of what is looked for: a note says "plumber: Thursday".
const LIGHT: &str = "be ore come comes coming get gets go goes going take takes start starts begin begins end ends happen happens need needs \
    there again still long old often far last next name names called know remember tell time day date number code \
    viene vengono venire va vanno andare arriva arrivano comincia inizia inizio finisce serve servono ricordi sai ora giorno data \
    cost costs pay paid costa costano costato costata pagato pagata done made fatto fatta \
    numero codice chiama chiamano nome si ci era ancora volta prossimo prossima ultimo ultima fa fare deve devono \
    list lists lista liste elenco enough note notes nota appunti appunto file files written write wrote says say said scritto scritta dice dicono secondo according";
/// What a question for a time begins with, and what a line that answers it names, apart from numbers: days and months.
const TIMES: &str = "when whens quando";
const TIMED: &str = "what time,what day,which day,what date,which date,at what,che ora,che ore,che giorno,quale giorno,che data,quale data";
const DAYS: &str = "mon tue wed thu fri sat sun jan feb mar apr may jun jul aug sep oct nov dec lun gio ven sab dom gen mag giu lug ago set \
    ott dic mer today tomorrow oggi domani";
/// The most and the fewest words that are looked for, and the shortest one that may stand alone.
const MAX_TOPIC: usize = 8;
const MIN_ALONE: usize = 3;
/// The most words of a question that what was said about it must all have.
const MAX_RECALLED: usize = 5;
/// How much of a question's words a passage has at least, in percent, if it is about one of them.
const HALF: u64 = 50;
/// The switch of an executor that has the best passages found, and how many.
const BEST: &str = "best";
const MAX_BEST: u64 = 3;
/// The longest question that is looked up, in words.
const MAX_QUESTION: usize = 14;

fn is_one_of(word: &str, all: &str) -> bool {
    all.split_ascii_whitespace().any(|known| known == word)
}

/// The search words of a question, without grammar and light verbs; `None` for a text that is no question or has too few or too
/// many of them. Of several sentences only the one with a question mark is read.
#[must_use]
pub fn topic(text: &str) -> Option<Vec<String>> {
    let sentences = text.split_inclusive(['?', '!', '\n']).flat_map(|part| part.split_inclusive(". "));
    let asked: Vec<&str> = sentences.filter(|one| one.trim_end().ends_with('?')).collect();
    match asked.as_slice() {
        [] => topic_of(text),
        [one] => topic_of(one),
        [_, _, ..] => None,
    }
}

fn topic_of(text: &str) -> Option<Vec<String>> {
    let words = folded(text);
    let body = &words[named(&words)..];
    let first = body.iter().find(|word| !is_one_of(word, BEFORE))?;
    // "Delete notes/list.md?" is no question about anything.
    let asks = body.len() < words.len() || is_one_of(first, ASKS) || has(body);
    let amount = amount(body);
    let no_line =
        |(at, word): (usize, &String)| is_one_of(word, OF_THE_BUTLER) || is_one_of(word, OF_SUMS) && amount != Some(at);
    if !asks || words.len() > MAX_QUESTION || body.iter().enumerate().any(no_line) {
        return None;
    }
    let says = |word: &&String| {
        word.chars().count() > 1 && !is_stop(word) && !is_one_of(word, ASKS) && !is_one_of(word, BEFORE)
    };
    let all: Vec<&String> = body.iter().filter(|word| !is_one_of(word, HOW_MUCH)).filter(says).collect();
    let heavy: Vec<&String> = all.iter().copied().filter(|word| !is_one_of(word, LIGHT)).collect();
    let is_enough = match heavy.as_slice() {
        [] => false,
        [one] => one.chars().count() >= MIN_ALONE,
        [_, ..] => heavy.len() <= MAX_TOPIC,
    };
    is_enough.then(|| heavy.into_iter().cloned().collect())
}

/// Where the name of something begins that is asked for by its name; 0 where none is.
fn named(words: &[String]) -> usize {
    let heads = TELLS.split(',').map(|head| head.trim().split(' ').collect::<Vec<_>>());
    let begun = heads.filter(|head| words.len() > head.len() && head.iter().zip(words).all(|(one, word)| one == word));
    let end = begun.map(|head| head.len()).max().unwrap_or(0);
    if words.get(end).is_some_and(|word| is_one_of(word, NAMES)) { end } else { 0 }
}

/// Whether words may ask to be reminded of something as well as to be told it: "mi ricordi la password del wifi".
#[must_use]
pub fn may_be_told(text: &str) -> bool {
    let words = folded(text);
    named(&words) > 0 && words.first().is_some_and(|first| matches!(first.as_str(), "mi" | "ci" | "remind"))
}

/// Whether it asks whether there is something.
fn has(words: &[String]) -> bool {
    HAVE.split(',').any(|head| head.trim().split(' ').zip(words).all(|(one, word)| one == word))
}

/// Whether words ask for a fact: what, when, who, or whether something is there. Not whether something can be done.
#[must_use]
pub fn asks_for_a_fact(text: &str) -> bool {
    let words = folded(text);
    let first = words.iter().find(|word| !is_one_of(word, BEFORE));
    topic(text).is_some() && (named(&words) > 0 || has(&words) || first.is_some_and(|first| is_one_of(first, FACTS)))
}

/// Whether words ask for advice or for how something is done, which stands in no note: "what should we cook?".
#[must_use]
pub fn asks_for_advice(text: &str) -> bool {
    let words = folded(text);
    let starts = |head: &str| head.split(' ').zip(&words).all(|(one, word)| one == word);
    words.iter().any(|word| is_one_of(word, OF_ADVICE)) || HOW_TO.split(',').any(|head| starts(head.trim()))
}

/// Whether what a search has found says something about a question: all of its words, or half of them where the passage is about
/// one of them and has what is asked for, a time or a number. A result that does not say so was found by all of its words.
#[must_use]
pub fn answers(question: &str, result: &[u8]) -> bool {
    let Some(best) = first(result) else { return false };
    let Some(covered) = best.get("covered").and_then(Value::as_u64) else { return true };
    let is_about = best.get("named") == Some(&Value::Bool(true));
    covered >= 100 || covered >= HALF && is_about && asks_for_a_fact(question) && has_wanted(question, &best)
}

/// Whether what a search has found first has all words of the question.
#[must_use]
pub fn has_all(result: &[u8]) -> bool {
    first(result).is_some_and(|best| best.get("covered").and_then(Value::as_u64) == Some(100))
}

fn first(result: &[u8]) -> Option<Map<String, Value>> {
    let object = json::parse_object(result, Limits::result(MAX_PAYLOAD)).ok()?;
    object.get("matches")?.get(0)?.as_object().cloned()
}

/// Whether a passage has a time or a number, where a question asks for one.
fn has_wanted(question: &str, passage: &Map<String, Value>) -> bool {
    let said = folded(passage.get("text").and_then(Value::as_str).unwrap_or_default());
    let words = folded(question);
    let numbers = || said.iter().any(|word| word.bytes().any(|b| b.is_ascii_digit()) || number_word(word).is_some());
    let days = || {
        said.iter().any(|word| word.chars().count() >= 3 && is_one_of(&word.chars().take(3).collect::<String>(), DAYS))
    };
    let timed = || {
        TIMED.split(',').any(|head| {
            let head: Vec<&str> = head.trim().split(' ').collect();
            words.windows(head.len()).any(|some| some.iter().zip(&head).all(|(word, one)| word == one))
        })
    };
    if words.iter().any(|word| is_one_of(word, TIMES)) || timed() {
        return numbers() || days();
    }
    amount(&words).is_none() || numbers()
}

/// Where it says "much" of something that a line may name with its amount: "how much flour goes into the pancakes".
fn amount(words: &[String]) -> Option<usize> {
    let at = words.iter().position(|word| is_one_of(word, HOW_MUCH)).filter(|at| *at <= 1)?;
    let of = words.get(at + 1)?;
    let costs = words.iter().any(|word| is_one_of(word, OF_COST)) && !words.iter().any(|word| is_one_of(word, IN_ALL));
    if costs || is_one_of(of, HOW_LONG) && words.get(at).is_some_and(|word| word == "quanto") {
        return Some(at);
    }
    (!is_one_of(of, ASKS) && !is_one_of(of, OF_COUNTS) && !is_one_of(of, LIGHT) && !is_stop(of)).then_some(at)
}

impl Repertoire {
    /// What the person has said about what a question is about, quoted with its day; `None` where the words are no question, or
    /// nothing was said of it.
    #[must_use]
    pub fn recall(&mut self, text: &str, envelope: &Envelope) -> Option<String> {
        let topic = topic(text).filter(|topic| topic.len() <= MAX_RECALLED)?;
        let candidates = &envelope.candidates;
        crate::dialogue::told(text, &topic, envelope, &mut |text, envelope| self.plan_alone(text, envelope, candidates))
    }

    /// Plans a search of the person's files for the words of a question; `None` for a text that is no question, or where no
    /// executor searches. [`crate::answer::Template::found`] renders the result.
    #[must_use]
    pub fn look_up(&mut self, text: &str, envelope: &Envelope) -> Option<Plan> {
        let topic = topic(text)?.join(" ");
        let lang = language_of(text, envelope.lang);
        let words = match lang {
            Lang::En => format!("search my notes for {topic}"),
            Lang::It => format!("cerca {topic} nelle note"),
        };
        let mut plan = self.reading(&words, lang, envelope)?;
        for call in &mut plan.calls {
            let one = envelope.candidates.iter().find(|one| one.name == call.executor)?;
            if let Some(arguments) = call.arguments.as_object_mut() {
                best(one, arguments);
            }
        }
        Some(plan)
    }
}

/// Whether an executor can find the passages that say most about a question.
#[must_use]
pub fn finds_best(executor: &Candidate) -> bool {
    executor.class == READ && properties(&executor.input).is_some_and(|all| all.get(BEST).is_some())
}

/// Has a search find the best passages, where its executor can.
pub fn best(executor: &Candidate, arguments: &mut Map<String, Value>) {
    if finds_best(executor) {
        arguments.remove("words");
        arguments.insert(BEST.to_owned(), Value::Bool(true));
        arguments.insert("limit".to_owned(), Value::from(MAX_BEST));
    }
}

/// Words of a question that is about reminders and not about all that is planned.
const OF_REMINDERS: &str = "remind alarm timer promemoria sveglia sveglie ricord";

impl Repertoire {
    /// The call that tells what stands in the person's calendar at this time, for a question about all that is planned then: "what
    /// do I have tomorrow?". `None` where no calendar is connected, or the question is about reminders alone.
    pub fn calendar_then(&mut self, text: &str, (when, lang): (&str, Lang), envelope: &Envelope) -> Option<Plan> {
        let is_of_reminders =
            |word: &String| OF_REMINDERS.split_ascii_whitespace().any(|known| word.starts_with(known));
        if when.is_empty() || !envelope.home.has_account("calendar") || folded(text).iter().any(is_of_reminders) {
            return None;
        }
        let words = match lang {
            Lang::En => format!("what is on my calendar {when}"),
            Lang::It => format!("cosa c'è sul calendario {when}"),
        };
        self.reading(&words, lang, envelope)
    }

    /// Whether this question, asked at set times, is answered only when there is something to report.
    pub fn may_be_silent(&mut self, question: &str, envelope: &Envelope) -> bool {
        match self.plan_alone(question, envelope, &envelope.candidates) {
            Reply::Plan(plan) => plan.calls.iter().all(|call| call.template.may_be_silent()),
            Reply::Say(_) | Reply::Schedule(..) | Reply::Review(..) | Reply::Cannot(_) | Reply::NotUnderstood(_) => {
                false
            }
        }
    }

    /// The one call that these words of Metnos's own ask for, if it only reads.
    fn reading(&mut self, words: &str, lang: Lang, envelope: &Envelope) -> Option<Plan> {
        let Reply::Plan(mut plan) = self.plan_alone(words, envelope, &envelope.candidates) else { return None };
        plan.lang = lang;
        for call in &mut plan.calls {
            // The person has said none of it in this way.
            call.literals.clear();
            let one = envelope.candidates.iter().find(|one| one.name == call.executor)?;
            if one.class != READ {
                return None;
            }
            call.template.speak(lang);
        }
        (plan.calls.len() == 1).then_some(plan)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use serde_json::json;

    use super::*;
    use crate::testing::{envelope, shipped};

    #[test]
    fn questions_are_looked_up_by_what_they_are_about() {
        for (text, wanted) in [
            ("when does the plumber come?", "plumber"),
            ("What is the wifi password", "wifi password"),
            ("where did we park the caravan?", "park caravan"),
            ("and who repairs our boiler?", "repairs boiler"),
            ("quando viene l'idraulico?", "idraulico"),
            ("qual è la password del wifi", "password wifi"),
            ("whats our wifi called again? its written down somewhere", "wifi"),
            ("what's the cat's name?", "cat"),
            ("on which days is the rubbish collected?", "days rubbish collected"),
            ("do you know the wifi password", "wifi password"),
            ("mi ricordi la password del wifi?", "password wifi"),
            ("dimmi il codice del cancello", "cancello"),
            ("c'è scritto da qualche parte il codice del cancello?", "cancello"),
            ("did I write down the code of the gate?", "gate"),
            ("how much flour goes into the pancakes", "flour pancakes"),
            ("quanta farina ci va nei pancake?", "farina pancake"),
            ("a che ora viene l'idraulico?", "idraulico"),
            ("sai dove abbiamo messo le decorazioni di Natale?", "messo decorazioni natale"),
            ("do we still have enough milk in the house?", "milk house"),
            ("until when is the boiler under warranty?", "boiler warranty"),
            ("che cosa dice la nota sull'orto?", "orto"),
            ("how much did the plumber cost?", "plumber"),
            ("quanto abbiamo pagato l'idraulico?", "idraulico"),
            ("quanto deve bollire l'uovo?", "bollire uovo"),
            ("dov'è la chiave dell'orto?", "chiave orto"),
            ("find the code of the gate", "gate"),
            ("dammi il codice del cancello", "cancello"),
            ("is there a dentist's appointment in my notes?", "dentist appointment"),
        ] {
            let found = topic(text).map(|words| words.join(" "));
            assert_eq!(found.as_deref(), Some(wanted), "{text}");
        }
    }

    #[test]
    fn passage_answers_with_all_words_or_about_one_with_what_is_asked_for() {
        let found = |covered: u64, named: bool, text: &str| {
            let passage = json!({ "path": "a.md", "line": 1, "text": text, "covered": covered, "named": named });
            serde_json::to_vec(&json!({ "ok": true, "matches": [passage] })).unwrap()
        };
        for (question, result, wanted) in [
            ("when does the plumber come?", found(100, false, "call the plumber"), true),
            ("when did the plumber charge us?", found(50, true, "plumber: on Tuesday"), true),
            ("when did the plumber charge us?", found(50, true, "plumber 85 euro"), true),
            ("when did the plumber charge us?", found(50, true, "plumber: too much"), false),
            ("when did the plumber charge us?", found(50, false, "on Tuesday the plumber"), false),
            ("when did the plumber charge us?", found(49, true, "plumber: on Tuesday"), false),
            ("how much rent do we owe?", found(50, true, "Rent: ask Anna"), false),
            ("how much rent do we owe?", found(50, true, "Rent: 950 euro"), true),
            ("quanto zucchero va nella torta?", found(50, true, "zucchero due cucchiai"), true),
            ("a che ora chiude la farmacia?", found(50, true, "Farmacia: in piazza"), false),
            ("can the plumber fix taps?", found(50, true, "plumber: Rossi"), false),
            ("who repairs the boiler?", br#"{"ok":true,"matches":[{"text":"boiler"}]}"#.to_vec(), true),
            ("who repairs the boiler?", br#"{"ok":true,"matches":[]}"#.to_vec(), false),
            ("who repairs the boiler?", b"[]".to_vec(), false),
        ] {
            assert_eq!(answers(question, &result), wanted, "{question}: {}", String::from_utf8_lossy(&result));
        }
    }

    #[test]
    fn what_is_no_question_or_about_nothing_is_not_looked_up() {
        for text in [
            "the plumber comes on Thursday",
            "call the plumber",
            "who are you?",
            "what do you think of the plumber?",
            "what?",
            "how come?",
            "cosa?",
            "tu cosa ne pensi?",
            "che ore sono?",
            "quanto abbiamo speso in tutto?",
            "how many times did the plumber come?",
            "how much money is left for the plumber?",
            "quante volte è venuto l'idraulico?",
            "tell me about yourself",
            "do you know you are late",
            "mi ricordi di chiamare l'idraulico?",
            "how much did the plumber cost in total?",
            "l'idraulico viene giovedì",
            "buongiorno",
            "delete notes/list.md?",
        ] {
            assert_eq!(topic(text), None, "{text}");
        }
    }

    #[test]
    fn a_search_is_planned_that_only_reads_and_has_no_words_of_the_person() {
        let envelope = envelope(shipped(), Lang::En);
        let plan = Repertoire::default().look_up("quando viene l'idraulico?", &envelope).unwrap();
        assert_eq!(plan.lang, Lang::It);
        assert_eq!(plan.calls[0].arguments, json!({ "pattern": "idraulico", "best": true, "limit": 3 }));
        assert!(plan.calls[0].literals.is_empty());
        // Nobody who searches: nothing is looked up.
        let none = metnos_proto::envelope::Envelope { candidates: Vec::new(), ..envelope };
        assert_eq!(Repertoire::default().look_up("when does the plumber come?", &none), None);
    }
}
