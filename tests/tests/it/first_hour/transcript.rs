//! A document that is a transcript: blocks of what is typed and what is answered, and what in it is different each time.
//!
//! A block `console` is the owner's terminal: `$` comes before a command, `›` before what is said. A block `telegram NAME`
//! is a chat: `›` comes before what that person writes, `› [LABEL]` is a press of that button, and `‹` before what comes by itself. A line `…` stands for any
//! number of lines, within a line it stands for anything. A comment that begins with `<!-- varies` has a line for each text that is different each time, with
//! its kind: `K7-DELTA-19: code`.

use std::collections::{BTreeMap, BTreeSet};

/// The sign of a line that stands for any number of lines.
const LEFT_OUT: &str = "…";
/// What begins the list of what varies.
const VARIES: &str = "<!-- varies";

/// Where a block happens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Where {
    /// At the owner's terminal.
    Terminal,
    /// At the owner's terminal, where questions are asked.
    Interview,
    /// In the chat of this person.
    Telegram(String),
}

/// What is typed, and what is answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// The line of the document.
    pub line: usize,
    /// What is typed, with the sign of a conversation before it; empty where something comes by itself.
    pub typed: String,
    /// The answer, without empty lines around it.
    pub answer: Vec<String>,
}

/// A block of the document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Block {
    /// Where it happens.
    pub place: Where,
    /// What happens.
    pub steps: Vec<Step>,
}

/// See the module.
#[derive(Debug)]
pub struct Transcript {
    /// What happens, in order.
    pub blocks: Vec<Block>,
    /// What is different each time.
    pub varying: Varying,
}

impl Transcript {
    /// Reads a document.
    pub fn read(document: &str) -> Self {
        let mut blocks = Vec::new();
        let mut lines = document.lines().enumerate();
        while let Some((_, line)) = lines.next() {
            let Some(info) = line.strip_prefix("```") else { continue };
            let inside: Vec<(usize, &str)> = lines.by_ref().take_while(|(_, line)| *line != "```").collect();
            let mut words = info.split_whitespace();
            let place = match (words.next(), words.next()) {
                (Some("console"), None) => Where::Terminal,
                (Some("console"), Some("interview")) => Where::Interview,
                (Some("telegram"), Some(name)) => Where::Telegram(name.to_owned()),
                other => panic!("a block {other:?} is none of a transcript"),
            };
            let steps = steps(&place, &inside);
            assert!(!steps.is_empty(), "nothing is typed in the block at line {}", inside[0].0);
            blocks.push(Block { place, steps });
        }
        let list = document.split_once(VARIES).map_or("", |(_, rest)| rest.split("-->").next().unwrap());
        Self { blocks, varying: Varying::read(list) }
    }
}

fn steps(place: &Where, inside: &[(usize, &str)]) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    for (at, line) in inside {
        // The questions of the interview end with the same sign.
        let is_said = *place != Where::Interview && line.starts_with("› ");
        let typed = if is_said { Some(*line) } else { line.strip_prefix("$ ") };
        if let Some(comes) = line.strip_prefix("‹ ").filter(|_| *place != Where::Interview) {
            steps.push(Step { line: at + 1, typed: String::new(), answer: vec![comes.trim_end().to_owned()] });
            continue;
        }
        match (typed, steps.last_mut()) {
            (Some(typed), _) => steps.push(Step { line: at + 1, typed: typed.to_owned(), answer: Vec::new() }),
            (None, Some(step)) => step.answer.push(line.trim_end().to_owned()),
            (None, None) => panic!("line {}: nothing was typed before it", at + 1),
        }
    }
    for step in &mut steps {
        while step.answer.last().is_some_and(String::is_empty) {
            step.answer.pop();
        }
    }
    steps
}

/// What a text that is different each time looks like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Letters, digits and hyphens; the same wherever it stands.
    Code,
    /// `9:05`, `14:31`.
    Time,
    /// Digits, and what stands between them.
    Number,
    /// Anything.
    Text,
}

impl Kind {
    fn named(name: &str) -> Self {
        match name {
            "code" => Self::Code,
            "time" => Self::Time,
            "number" => Self::Number,
            "text" => Self::Text,
            other => panic!("`{other}` is no kind of what varies"),
        }
    }

    fn fits(self, text: &str) -> bool {
        let all = |fits: fn(u8) -> bool| !text.is_empty() && text.bytes().all(fits);
        match self {
            Self::Code => all(|byte| byte.is_ascii_alphanumeric() || byte == b'-'),
            Self::Time => {
                let two = |part: &str| part.len() == 2 && part.bytes().all(|byte| byte.is_ascii_digit());
                text.split_once(':').is_some_and(|(hour, minute)| two(hour) && two(minute))
            }
            Self::Number => all(|byte| byte.is_ascii_digit() || matches!(byte, b'.' | b',')),
            Self::Text => !text.is_empty(),
        }
    }
}

/// A piece of an expected line.
enum Piece<'a> {
    Same(&'a str),
    Varies(&'a str, Kind),
}

/// What is different each time, and what it was this time.
#[derive(Debug, Clone, Default)]
pub struct Varying {
    kinds: BTreeMap<String, Kind>,
    found: BTreeMap<String, String>,
    seen: BTreeSet<String>,
}

impl Varying {
    fn read(list: &str) -> Self {
        let pairs = list.lines().filter_map(|line| line.trim().rsplit_once(": "));
        let kinds = pairs.map(|(text, kind)| (text.to_owned(), Kind::named(kind.trim()))).collect();
        Self { kinds, ..Self::default() }
    }

    /// What is typed, with what it was this time in the place of what stands in the document.
    pub fn filled(&self, typed: &str) -> String {
        self.found.iter().fold(typed.to_owned(), |typed, (text, found)| typed.replace(text, found))
    }

    /// What is in the list, and no answer had it.
    pub fn unused(&self) -> Vec<&String> {
        self.kinds.keys().filter(|text| !self.seen.contains(*text)).collect()
    }

    /// Holds an answer against the document, and keeps what varies; else the first line that is not as it stands there.
    pub fn compare(&mut self, expected: &[String], actual: &[&str]) -> Result<(), String> {
        let actual: Vec<&str> = actual.to_vec();
        self.lines(expected, &actual)
    }

    fn lines(&mut self, expected: &[String], actual: &[&str]) -> Result<(), String> {
        let Some((first, rest)) = expected.split_first() else {
            return actual.first().map_or(Ok(()), |line| Err(format!("it goes on: {line}")));
        };
        if first == LEFT_OUT {
            let mut last = Ok(());
            for from in 0..=actual.len() {
                let mut attempt = self.clone();
                last = attempt.lines(rest, &actual[from..]);
                if last.is_ok() {
                    *self = attempt;
                    return last;
                }
            }
            return last;
        }
        let Some((line, others)) = actual.split_first() else { return Err(format!("it ends before: {first}")) };
        let mut attempt = self.clone();
        if !attempt.line(first, line) {
            return Err(format!("not as it stands: {line}"));
        }
        attempt.lines(rest, others)?;
        *self = attempt;
        Ok(())
    }

    fn line(&mut self, expected: &str, actual: &str) -> bool {
        let kinds = self.kinds.clone();
        self.pieces(&pieces(expected, &kinds), actual)
    }

    fn pieces(&mut self, expected: &[Piece<'_>], actual: &str) -> bool {
        let Some((first, rest)) = expected.split_first() else { return actual.is_empty() };
        match first {
            Piece::Same(text) => actual.strip_prefix(text).is_some_and(|left| self.pieces(rest, left)),
            Piece::Varies(text, kind) => {
                let ends: Vec<usize> = actual.char_indices().map(|(at, _)| at).chain([actual.len()]).collect();
                ends.into_iter().rev().any(|end| {
                    let (found, left) = actual.split_at(end);
                    let known = self.found.get(*text).filter(|_| *kind == Kind::Code);
                    let fits = known.map_or_else(|| kind.fits(found), |known| known == found);
                    let fits = fits && self.pieces(rest, left);
                    if fits && *text != LEFT_OUT {
                        self.found.insert((*text).to_owned(), found.to_owned());
                        self.seen.insert((*text).to_owned());
                    }
                    fits
                })
            }
        }
    }
}

/// Takes an expected line apart; of two texts that begin at one place the longer counts.
fn pieces<'a>(line: &'a str, kinds: &'a BTreeMap<String, Kind>) -> Vec<Piece<'a>> {
    let left_out = line.find(LEFT_OUT).map(|at| (at, LEFT_OUT, Kind::Text));
    let next =
        kinds.iter().filter_map(|(text, kind)| Some((line.find(text.as_str())?, text.as_str(), *kind))).chain(left_out);
    match next.min_by_key(|(at, text, _)| (*at, usize::MAX - text.len())) {
        None => vec![Piece::Same(line)],
        Some((at, text, kind)) => {
            let mut all = vec![Piece::Same(&line[..at]), Piece::Varies(text, kind)];
            all.extend(pieces(&line[at + text.len()..], kinds));
            all
        }
    }
}

const SAMPLE: &str = "# A\n\n```console\n$ metnosctl up\nready after 120 ms\n…\nend\n\n$ metnosctl chat\n› hello\nHello!\n\nIt is 14:05.\n```\n\
    text\n```telegram Marco\n› /start K7-X\ngood\n› [Yes]\n```\n<!-- varies\n120: number\n14:05: time\nK7-X: code\n-->\n";

#[test]
fn a_transcript_is_read_into_blocks_and_steps() {
    let transcript = Transcript::read(SAMPLE);
    let typed: Vec<Vec<&str>> =
        transcript.blocks.iter().map(|block| block.steps.iter().map(|step| step.typed.as_str()).collect()).collect();
    assert_eq!(typed, [vec!["metnosctl up", "metnosctl chat", "› hello"], vec!["› /start K7-X", "› [Yes]"]]);
    assert_eq!(transcript.blocks[1].place, Where::Telegram("Marco".to_owned()));
    assert_eq!(transcript.blocks[0].steps[2].answer, ["Hello!", "", "It is 14:05."]);
    assert_eq!(transcript.varying.unused().len(), 3);
}

#[test]
fn an_answer_is_held_against_the_transcript_line_by_line() {
    let transcript = Transcript::read(SAMPLE);
    let answer = |block: usize, step: usize| transcript.blocks[block].steps[step].answer.clone();
    let mut varying = transcript.varying.clone();
    let mut told = |expected: &[String], actual: &str| {
        varying.compare(expected, &actual.lines().collect::<Vec<_>>()).err().unwrap_or_default()
    };
    let (up, hello) = (answer(0, 0), answer(0, 2));
    assert_eq!(told(&up, "ready after 7 ms\nx\ny\nend"), "");
    assert_eq!(told(&up, "ready after 7 ms\nend"), "");
    assert_ne!(told(&up, "ready after x ms\nend"), "");
    assert_ne!(told(&up, "ready after 7 ms\nx"), "");
    assert_eq!(told(&hello, "Hello!\n\nIt is 23:59."), "");
    for wrong in [
        "Hello!\n\nIt is 2359.",
        "Hello!\n\nIt is 23:59",
        "Hello!",
        "Hello!\n\nIt is 23:59.\nmore",
        "hello!\n\nIt is 23:59.",
    ] {
        assert_ne!(told(&hello, wrong), "", "{wrong}");
    }
}

#[test]
fn a_code_is_typed_as_it_was_shown_and_stays_the_same() {
    let mut varying = Varying::read("K7-X: code\n");
    let expected = |text: &str| vec![text.to_owned()];
    assert_eq!(varying.filled("/start K7-X"), "/start K7-X");
    varying.compare(&expected("the code K7-X, once"), &["the code A-9, once"]).unwrap();
    assert_eq!(varying.filled("/start K7-X"), "/start A-9");
    assert!(varying.compare(&expected("K7-X"), &["A-9"]).is_ok());
    assert!(varying.compare(&expected("K7-X"), &["B-9"]).is_err());
    assert!(varying.unused().is_empty());
}
