//! What a request wishes for, in a verb and its object: `can you email Bob`, `send a mail to Anna` and `manda una mail a Piero` all
//! wish to `send mail`. Pure, from a small reviewed lexicon in both languages: no word of a person is ever part of the answer.
//!
//! A wish is an order: it begins with a verb of the lexicon, or with what asks for one (`can you …`, `I would like you to …`, `puoi …`),
//! or it asks for something that changes by the hour (`what is the weather`). A greeting, thanks, an opinion, a story, a fragment,
//! and a question of knowledge wish for nothing.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::words::{Language, words};

const VERBS: &str = include_str!("lexicon/wish-verbs.txt");
const OBJECTS: &str = include_str!("lexicon/wish-objects.txt");

/// How many words after the verb are looked at for its object.
const MAX_REACH: usize = 12;
/// How many words of a request are looked at.
const MAX_READ: usize = 64;
/// The verb of what is looked up: what a question may ask for, too.
const LOOK_UP: &str = "look up";
/// Verbs whose object does not matter, and what they wish for: `remind me to call Anna` is about no call.
const WHOLE: [(&str, &str, &str); 8] = [
    ("remind", "remind", ""),
    ("wake", "set", "alarm"),
    ("translate", "translate", ""),
    ("calculate", "calculate", ""),
    ("convert", "convert", ""),
    ("summarise", "summarise", ""),
    ("clean", "clean", ""),
    ("lock", "lock", "door"),
];
/// Verbs that stay what they are with any object; the others become the object's own: `put on some music` plays it.
const STAYING: [&str; 9] = ["cancel", "share", "print", "record", "pay", "buy", "send", "download", "book"];

/// What is wished for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Meaning {
    /// What is to be done.
    pub verb: &'static str,
    /// To what; empty when the verb says enough.
    pub object: &'static str,
    /// Whether the verb alone says what is to be done: `send` does, `make` does not.
    pub sure: bool,
    /// The words of the lexicon by which it was said.
    pub said: [&'static str; 2],
}

impl Meaning {
    /// The wish's name, the same for all that wish for it.
    #[must_use]
    pub fn name(&self) -> String {
        if self.verb == self.object {
            self.verb.to_owned()
        } else {
            format!("{} {}", self.verb, self.object).trim_end().to_owned()
        }
    }

    /// The words of the lexicon by which it was said, such as `email` or `manda mail`.
    #[must_use]
    pub fn example(&self) -> String {
        let [verb, object] = self.said;
        if verb == object { verb.to_owned() } else { format!("{verb} {object}").trim().to_owned() }
    }
}

/// A word of the lexicon, and what it stands for.
#[derive(Debug, Clone, Copy)]
struct Verb {
    /// `None` for one that needs an object to say anything.
    own: Option<&'static str>,
    word: &'static str,
    language: Language,
}

#[derive(Debug, Clone, Copy)]
struct Object {
    name: &'static str,
    verb: &'static str,
    word: &'static str,
}

static VERB: LazyLock<HashMap<&'static str, Verb>> = LazyLock::new(|| {
    let mut found = HashMap::new();
    for (own, of_verb) in VERBS.lines().filter_map(|line| line.split_once(':')) {
        let own = Some(own).filter(|own| *own != "*");
        for (language, word) in both(of_verb) {
            found.entry(word).or_insert(Verb { own, word, language });
        }
    }
    found
});

static OBJECT: LazyLock<HashMap<&'static str, Object>> = LazyLock::new(|| {
    let mut found = HashMap::new();
    for (head, of_object) in OBJECTS.lines().filter_map(|line| line.split_once(':')) {
        let Some((name, verb)) = head.split_once(", ") else { continue };
        for (_, word) in both(of_object) {
            found.entry(word).or_insert(Object { name, verb, word });
        }
    }
    found
});

/// The words before and after `>`: English and Italian.
fn both(line: &'static str) -> impl Iterator<Item = (Language, &'static str)> {
    let (english, italian) = line.split_once('>').unwrap_or((line, ""));
    let of = |language, text: &'static str| text.split_whitespace().map(move |word| (language, word));
    of(Language::English, english).chain(of(Language::Italian, italian))
}

/// Words before a request that change nothing of it.
const POLITE: [&str; 38] = [
    "please",
    "hey",
    "ok",
    "okay",
    "hi",
    "hello",
    "just",
    "now",
    "then",
    "also",
    "metnos",
    "and",
    "so",
    "quickly",
    "kindly",
    "alexa",
    "per",
    "favore",
    "cortesia",
    "ciao",
    "senti",
    "ehi",
    "adesso",
    "ora",
    "poi",
    "anche",
    "e",
    "allora",
    "subito",
    "gentilmente",
    "dai",
    "buongiorno",
    "buonasera",
    "scusa",
    "sorry",
    "well",
    "again",
    "quick",
];
/// What asks for an act, each with the words that must follow one another.
const ASKS: [&[&str]; 36] = [
    &["can", "you"],
    &["could", "you"],
    &["would", "you"],
    &["will", "you"],
    &["can", "we"],
    &["can", "i"],
    &["may", "i"],
    &["i", "want", "you", "to"],
    &["i", "need", "you", "to"],
    &["i", "d", "like", "you", "to"],
    &["i", "would", "like", "you", "to"],
    &["i", "d", "like", "to"],
    &["i", "would", "like", "to"],
    &["i", "want", "to"],
    &["i", "need", "to"],
    &["i", "want"],
    &["i", "need"],
    &["i", "d", "like"],
    &["i", "would", "like"],
    &["would", "you", "mind"],
    &["are", "you", "able", "to"],
    &["puoi"],
    &["potresti"],
    &["mi", "puoi"],
    &["mi", "potresti"],
    &["puoi", "mi"],
    &["vorrei"],
    &["voglio"],
    &["vorrei", "che", "tu"],
    &["devi"],
    &["dovresti"],
    &["ho", "bisogno", "di"],
    &["mi", "serve"],
    &["mi", "servono"],
    &["sai"],
    &["riesci", "a"],
];
/// Asks of a person's own wish, which may be about something that no program does: they need an object.
const OWN_WISH: [&str; 7] = ["i", "vorrei", "voglio", "devi", "dovresti", "ho", "mi"];
/// Words with which a question begins, whose answer may change by the hour.
const QUESTIONS: [&str; 24] = [
    "piove", "piovera", "what", "whats", "how", "is", "are", "will", "when", "where", "any", "do", "which", "che",
    "cosa", "com", "come", "quanto", "quando", "qual", "quale", "quali", "dove", "ci",
];
/// Small words after which the object is another's: `a story about a train`.
const AWAY: [&str; 12] =
    ["about", "because", "who", "why", "than", "circa", "perche", "chi", "riguardo", "sulla", "sul", "sullo"];

/// What a request wishes for; `None` when it wishes for nothing, or for nothing that is known.
#[must_use]
pub fn meaning(request: &str) -> Option<Meaning> {
    let mut heard = words(request);
    heard.truncate(MAX_READ);
    let mut at = polite(&heard, 0);
    let ask = ASKS.iter().filter(|ask| begins(&heard[at..], ask)).max_by_key(|ask| ask.len()).copied();
    at = polite(&heard, at + ask.map_or(0, <[_]>::len));
    let rest = heard.get(at..).unwrap_or_default();
    let (first, after) = rest.split_first()?;
    // `I want …` may be about something that no program does: it takes an object to be a wish.
    let own_wish =
        ask.is_some_and(|ask| OWN_WISH.contains(&ask[0]) && !ask.iter().any(|word| ["you", "tu"].contains(word)));
    if let Some(verb) = verb_in(first) {
        // `Open the window?` asks for nothing to be done.
        let question = ask.is_none() && verb.language == Language::English && request.trim_end().ends_with('?');
        return if question { None } else { ordered(verb, after, own_wish) };
    }
    if own_wish && ask.is_some_and(|ask| !["to", "che", "tu"].contains(&ask[ask.len() - 1])) {
        return wanted(rest);
    }
    asked(rest)
}

/// `I need a taxi`, `vorrei una pizza`: the thing alone.
fn wanted(rest: &[String]) -> Option<Meaning> {
    const MAX_WORDS: usize = 4;
    let deed = ["are", "ere", "ire"].iter().any(|ending| rest[0].len() > 4 && rest[0].ends_with(ending));
    let object = nearest_object(&rest[..rest.len().min(MAX_WORDS)]).filter(|_| !deed)?;
    Some(Meaning { verb: object.verb, object: object.name, sure: false, said: ["", object.word] })
}

fn begins(heard: &[String], with: &[&str]) -> bool {
    heard.len() > with.len() && heard.iter().zip(with).all(|(one, other)| one == other)
}

fn polite(heard: &[String], from: usize) -> usize {
    let small = heard.iter().skip(from).take_while(|word| POLITE.contains(&word.as_str())).count();
    from + small
}

/// The verb in a word: `mandami` and `mandarmi` are `manda`.
fn verb_in(word: &str) -> Option<Verb> {
    const ENDINGS: [&str; 14] =
        ["melo", "mela", "meli", "mele", "gliela", "glielo", "mi", "ci", "lo", "la", "li", "le", "ne", "gli"];
    let known = |word: &str| VERB.get(word).copied();
    let bare = || ENDINGS.iter().filter_map(|ending| word.strip_suffix(ending));
    known(word).or_else(|| bare().find_map(known)).or_else(|| bare().find_map(|bare| known(&format!("{bare}e"))))
}

/// An order with this verb.
fn ordered(verb: Verb, rest: &[String], own_wish: bool) -> Option<Meaning> {
    let near = nearest_object(rest);
    let said = |object: Option<Object>| [verb.word, object.map_or("", |object| object.word)];
    let Some(own) = verb.own else {
        return near.map(|object| Meaning { verb: object.verb, object: object.name, sure: false, said: said(near) });
    };
    if let Some((_, verb, object)) = WHOLE.iter().find(|(whole, ..)| *whole == own).filter(|_| !rest.is_empty()) {
        return Some(Meaning { verb, object, sure: true, said: said(None) });
    }
    if own == "call" && near.is_none_or(|object| object.verb != "book" || object.name == "doctor") {
        // `call me later` and `call it a day` are talk.
        let somebody = rest.first().is_some_and(|who| !["me", "us", "it", "that", "this"].contains(&who.as_str()));
        return (somebody && !own_wish).then(|| Meaning { verb: own, object: "", sure: true, said: said(None) });
    }
    // `email Bob the report` is about the mail.
    let itself = OBJECT.get(verb.word).copied().filter(|_| own != "call" && !own_wish);
    let object = itself.or(near)?;
    let stays = STAYING.contains(&own) && !(own == "buy" && object.verb == "book");
    Some(Meaning {
        verb: if stays { own } else { object.verb },
        object: object.name,
        sure: true,
        said: said(Some(object)),
    })
}

/// The first object among the words, until another thing is spoken of.
fn nearest_object(rest: &[String]) -> Option<Object> {
    let near = rest.iter().take(MAX_REACH).take_while(|word| !AWAY.contains(&word.as_str()));
    near.filter_map(|word| object_in(word)).next()
}

fn object_in(word: &str) -> Option<Object> {
    OBJECT.get(word).copied()
}

/// A question for something that changes by the hour.
fn asked(rest: &[String]) -> Option<Meaning> {
    const MAX_QUESTION: usize = 9;
    const LIVE: [&str; 4] = ["weather", "news", "traffic", "stock"];
    const RUNS: [&str; 3] = ["train", "bus", "flight"];
    if rest.len() > MAX_QUESTION || !QUESTIONS.contains(&rest[0].as_str()) {
        return None;
    }
    let has = |words: &[&str]| rest.iter().any(|word| words.contains(&word.as_str()));
    let when = has(&["when", "quando", "next", "prossimo", "orari"]);
    let live = |object: &Object| LIVE.contains(&object.name) || (when && RUNS.contains(&object.name));
    if let Some(object) = rest.iter().filter_map(|word| object_in(word)).find(live) {
        return Some(Meaning { verb: LOOK_UP, object: object.name, sure: false, said: ["", object.word] });
    }
    // `How do dogs react to snow?` is a question of knowledge.
    let now = ["will", "is", "any", "piove", "piovera"].contains(&rest[0].as_str());
    let weather = (now && has(&["piove", "piovera", "nevica", "nevichera", "rain", "raining", "snow", "snowing"]))
        || rest
            .windows(2)
            .any(|two| two[0] == "tempo" && ["fa", "fara", "c", "domani", "oggi"].contains(&two[1].as_str()));
    weather.then_some(Meaning { verb: LOOK_UP, object: "weather", sure: false, said: ["", ""] })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn name(request: &str) -> Option<String> {
        meaning(request).map(|meaning| meaning.name())
    }

    #[test]
    fn every_word_of_the_lexicon_is_folded_and_stands_for_one_thing() {
        for line in VERBS.lines().chain(OBJECTS.lines()) {
            let (_, entries) = line.split_once(':').unwrap_or_default();
            for word in entries.split_whitespace().filter(|word| *word != ">") {
                assert_eq!(words(word), [word], "`{line}`");
            }
        }
        for line in OBJECTS.lines() {
            assert!(line.split(':').next().is_some_and(|head| head.contains(", ")), "`{line}`");
        }
        for (own, ..) in WHOLE {
            assert!(VERB.values().any(|verb| verb.own == Some(own)), "{own}");
        }
    }

    #[test]
    fn one_wish_has_one_name_in_both_languages() {
        for (wish, requests) in [
            ("send mail", ["send a mail to Anna", "can you email Bob?", "manda una mail a Piero"]),
            ("play music", ["put on some jazz", "I'd like you to play a song", "metti un po' di musica"]),
            ("book taxi", ["call me a cab", "I need a taxi", "mi prenoti un taxi? prenotami un taxi"]),
            ("remind", ["remind me to call Anna", "please remind me of the milk", "ricordami di telefonare a Luca"]),
            ("look up weather", ["what's the weather like?", "will it rain tomorrow?", "che tempo fa domani?"]),
        ] {
            let found = requests.map(name);
            let known = found.iter().filter(|found| found.as_deref() == Some(wish)).count();
            assert!(known >= 2, "{wish}: {found:?}");
        }
        assert_eq!(name("cancel the taxi").as_deref(), Some("cancel taxi"), "another wish");
        assert_eq!(name("call Bob").as_deref(), Some("call"));
    }

    #[test]
    fn talk_and_questions_of_knowledge_wish_for_nothing() {
        for talk in [
            "hello",
            "thanks a lot",
            "I love jazz music",
            "do you like music?",
            "who invented the telephone?",
            "how does a thermostat work?",
            "the train was late again",
            "tell me about the history of trains",
            "call me later",
            "in the kitchen",
            "I want to go home",
            "vorrei andare al cinema",
            "la musica è la mia vita",
            "cos'è un treno?",
            "",
            "?",
            "42",
        ] {
            assert_eq!(name(talk), None, "{talk}");
        }
    }

    #[test]
    fn a_request_is_read_up_to_its_limit() {
        let far = |small: usize| format!("please send {} mail", "very ".repeat(small));
        assert_eq!(name(&far(MAX_REACH - 1)).as_deref(), Some("send mail"));
        assert_eq!(name(&far(MAX_REACH)), None);
    }

    /// Of utterances of both languages, requests and talk in equal parts, which were written with the lexicon: a floor.
    #[test]
    fn wishes_of_written_utterances_are_few_and_right() {
        let utterances = include_str!("../../../bench/data/wishes.jsonl");
        let (mut right, mut asked, mut talk, mut names) = (0, 0, 0, std::collections::BTreeSet::new());
        for line in utterances.lines() {
            let line: serde_json::Value = serde_json::from_str(line).unwrap_or_default();
            let (say, wish) = (line["say"].as_str().unwrap_or_default(), line["wish"].as_str().unwrap_or_default());
            let found = name(say).unwrap_or_default();
            asked += usize::from(!wish.is_empty());
            right += usize::from(!wish.is_empty() && wish == found);
            talk += usize::from(wish.is_empty() && !found.is_empty());
            names.insert(found);
        }
        assert!(asked > 300 && right * 100 >= asked * 97, "{right} of {asked}");
        assert_eq!(talk, 0, "talk that became a wish");
        assert!(names.len() < 40, "{} names", names.len());
    }

    proptest! {
        #[test]
        fn a_wish_holds_no_word_but_those_of_the_lexicon(request in "(\\PC{0,30}|send|mail|puoi| |can you|secret|[a-z]{1,9}){0,8}") {
            if let Some(found) = meaning(&request) {
                for word in found.example().split(' ').filter(|word| !word.is_empty()) {
                    prop_assert!(VERB.contains_key(word) || OBJECT.contains_key(word), "{word}");
                }
            }
        }
    }
}
