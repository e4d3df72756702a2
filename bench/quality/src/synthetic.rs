//! Conversations that are made here, the same every time: `bench recall` without a file. They say nothing about any person.
//!
//! Three sets: short turns; the same with an answer of 300 words after each, which takes up the words of what was said and of
//! other turns; and 1,000 turns a conversation. A question asks for one turn, in words of its own where the turn has others. Many
//! turns share its words: of other people, or of the same one about another thing.

use serde_json::{Value, json};

/// How many words an answer has at least in the sets with long answers.
const ANSWER_WORDS: usize = 300;
/// How many conversations a set has.
const CONVERSATIONS: u64 = 4;
/// How many things are told in one conversation of the sets, and how many turns the largest has.
const TOLD: usize = 120;
const LARGE: usize = 500;

/// A set, by its name: conversations as lines of a file of `bench recall`.
#[must_use]
pub fn sets() -> Vec<(&'static str, Vec<String>)> {
    let of = |told: usize, words: usize, name: &'static str| -> Vec<String> {
        (0..CONVERSATIONS).map(|seed| conversation(seed, told, words, name).to_string()).collect()
    };
    vec![
        ("short", of(TOLD, 12, "short")),
        ("long answers", of(TOLD, ANSWER_WORDS, "long answers")),
        ("1,000 turns", of(LARGE, ANSWER_WORDS, "1,000 turns")),
    ]
}

const PEOPLE: [&str; 20] = [
    "Anna", "Bruno", "Carla", "Dario", "Elena", "Fabio", "Greta", "Hugo", "Irene", "Jonas", "Karin", "Luca", "Marta",
    "Nino", "Olga", "Paolo", "Rosa", "Silvia", "Tomas", "Vera",
];
const THINGS: [&str; 20] = [
    "boiler",
    "bicycle",
    "piano",
    "garden shed",
    "camera",
    "kayak",
    "sewing machine",
    "oven",
    "telescope",
    "tent",
    "violin",
    "washing machine",
    "laptop",
    "scooter",
    "bookcase",
    "lawn mower",
    "fridge",
    "sofa",
    "drill",
    "lamp",
];
const PLACES: [&str; 20] = [
    "Lyon", "Trieste", "Porto", "Graz", "Bergen", "Turin", "Ghent", "Seville", "Riga", "Cork", "Basel", "Nantes",
    "Bari", "Malmo", "Krakow", "Leeds", "Parma", "Utrecht", "Split", "Tartu",
];
/// What is told, and how it is asked for: `{p}` a person, `{t}` a thing, `{c}` a place.
const TOLD_AND_ASKED: [(&str, &str); 12] = [
    ("{p} has moved to {c} and likes the new flat.", "where does {p} live now?"),
    ("The {t} that {p} bought in {c} broke down after two weeks.", "what happened to the {t} of {p}?"),
    ("I lent my {t} to {p}, who wants it for a trip to {c}.", "who borrowed the {t}, was it {p}?"),
    ("{p} learned to repair a {t} from an old man in {c}.", "who taught {p} to fix a {t}?"),
    ("We visited {p} in {c} and saw the {t} that was in the attic.", "when were we at {p}'s in {c}?"),
    ("{p} sold the {t} for ninety to somebody from {c}.", "how much did {p} get for the {t}?"),
    ("{p} is afraid of the stairs since the fall in {c}.", "why does {p} fear stairs?"),
    ("The wedding of {p} will be in {c}, in a garden by the river.", "where does {p} get married?"),
    ("{p} gave us a {t} as a present from {c}.", "which gift did we receive from {p}?"),
    ("The doctor in {c} told {p} to walk an hour a day.", "what did the physician advise {p}?"),
    ("{p} painted the {t} green, as they do in {c}.", "which colour has the {t} of {p}?"),
    ("{p} found a job at the museum of {c}.", "what work does {p} do in {c}?"),
];
/// What an answer says of anything: `{w}` is a word that was said.
const ADVICE: [&str; 10] = [
    "There are several things that you could consider about {w} before you decide.",
    "Many people find that {w} is easier with a plan for the whole week.",
    "If {w} is a worry, it may help to write down what matters most to you.",
    "You could ask somebody nearby who knows {w} well, and compare two offers.",
    "In general {w} needs more time than one would think at first.",
    "A good start is to look at {w} together and to agree on the next step.",
    "Remember to take a break when {w} takes up the whole afternoon.",
    "Let me know if you would like more details about {w} or anything else.",
    "Some prefer to keep {w} simple, others enjoy every detail of it.",
    "It is quite normal that {w} comes up again after a few days.",
];

/// Numbers that are the same every time.
struct Draw(u64);

impl Draw {
    fn next(&mut self, below: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap_or(0) % below.max(1)
    }

    fn of<'a>(&mut self, all: &[&'a str]) -> &'a str {
        all.get(self.next(all.len())).copied().unwrap_or_default()
    }
}

fn conversation(seed: u64, told: usize, answer_words: usize, name: &str) -> Value {
    let mut draw = Draw(seed * 977 + u64::try_from(told + answer_words).unwrap_or(0));
    let mut said: Vec<(String, String)> = Vec::with_capacity(told);
    let mut known = std::collections::HashSet::new();
    while said.len() < told {
        let (tell, ask) = TOLD_AND_ASKED[draw.next(TOLD_AND_ASKED.len())];
        let (p, t, c) = (draw.of(&PEOPLE), draw.of(&THINGS), draw.of(&PLACES));
        let fill = |text: &str| text.replace("{p}", p).replace("{t}", t).replace("{c}", c);
        // Each question has one answer.
        if known.insert(fill(ask)) {
            said.push((fill(tell), fill(ask)));
        }
    }
    let mut turns = Vec::with_capacity(2 * told);
    let mut questions = Vec::new();
    for (at, (text, ask)) in said.iter().enumerate() {
        let (session, minute) = (at / 10, at % 10);
        let time = format!("2024-{:02}-{:02}T18:{minute:02}:00Z", 1 + session / 28 % 12, 1 + session % 28);
        let turn = |id: String, speaker: &str, text: &str| json!({"id": id, "session": session, "time": time, "speaker": speaker, "text": text});
        turns.push(turn(format!("u{at}"), "user", text));
        turns.push(turn(format!("a{at}"), "assistant", &answer(&mut draw, &said, at, answer_words)));
        if at % 3 == 0 {
            questions.push(json!({"q": ask, "category": name, "evidence": [format!("u{at}")]}));
        }
    }
    json!({"conversation": format!("{name} {seed}"), "turns": turns, "questions": questions})
}

/// An answer of so many words to what was said, which takes up its words and those of other turns.
fn answer(draw: &mut Draw, said: &[(String, String)], at: usize, words: usize) -> String {
    let mut text = String::new();
    while text.split_whitespace().count() < words {
        let about = if draw.next(3) == 0 { &said[at].0 } else { &said[draw.next(said.len())].0 };
        let told: Vec<&str> = about.split([' ', '.', ',']).filter(|word| word.len() > 2).collect();
        let from = draw.next(told.len().saturating_sub(2));
        let taken = told.iter().skip(from).take(2).copied().collect::<Vec<_>>().join(" ");
        text.push_str(&draw.of(&ADVICE).replace("{w}", &taken));
        text.push(' ');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn synthetic_sets_are_the_same_every_time_and_as_large_as_they_say() {
        let sets = sets();
        assert_eq!(sets, super::sets());
        let read = |line: &String| serde_json::from_str::<Value>(line).unwrap_or_default();
        let turns = |set: usize| read(&sets[set].1[0])["turns"].as_array().cloned().unwrap_or_default();
        assert_eq!([turns(0).len(), turns(1).len(), turns(2).len()], [2 * TOLD, 2 * TOLD, 1_000]);
        let words = turns(1)[1]["text"].as_str().unwrap_or_default().split_whitespace().count();
        assert!((ANSWER_WORDS..ANSWER_WORDS + 20).contains(&words), "{words}");
        let questions = read(&sets[2].1[0])["questions"].as_array().map_or(0, Vec::len);
        assert!(questions > 150, "{questions}");
    }
}
