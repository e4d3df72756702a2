//! `bench ask`: what a household says, each line in a household of its own, and what came of it.

mod household;
mod moment;
mod question;
mod score;
mod verdict;

pub use household::{Files, Household, Said};
pub use question::Question;
pub use score::{AskFound, Counts, LineFound};
pub use verdict::Verdict;

use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use crate::ask::verdict::{Outcome, judge};
use crate::file::{lines, malformed};
use crate::{Failure, Report};

/// The most lines of a file.
pub const MAX_QUESTIONS: usize = 10_000;

/// Which lines are asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// All of them.
    All,
    /// Those that are marked as held back.
    Held,
    /// The others.
    Open,
}

/// A file of questions, each with the number of its line. All were read and checked.
#[derive(Debug)]
pub struct Questions(Vec<(usize, Question)>);

impl Questions {
    /// Reads all lines, and keeps those of a part.
    ///
    /// # Errors
    /// With the line, the field, its value and what was expected, when one is not of its form; when the file cannot be
    /// read, or holds nothing to ask.
    pub fn read(file: &Path, part: Part) -> Result<Self, Failure> {
        let mut all = Vec::new();
        lines(file, |number, text| {
            if all.len() == MAX_QUESTIONS {
                return Err(malformed(file, number, format!("at most {MAX_QUESTIONS} lines are asked")));
            }
            all.push((number, Question::read(text).map_err(|error| malformed(file, number, error))?));
            Ok(())
        })?;
        all.retain(|(_, question)| match part {
            Part::All => true,
            Part::Held => question.held,
            Part::Open => !question.held,
        });
        if all.is_empty() {
            let why = "there is no line to ask";
            return Err(Failure::new(
                format!("reading {}", file.display()),
                why,
                "`metnosctl bench ask --help` shows the form",
            ));
        }
        Ok(Self(all))
    }

    /// How many there are.
    #[must_use]
    pub const fn count(&self) -> usize {
        self.0.len()
    }
}

/// What is said, by whom it is asked: a household for each line, and what is done between two lines.
pub trait Households {
    /// One of them.
    type One: Household;

    /// Makes one in which these files lie.
    ///
    /// # Errors
    /// When it cannot be started, or the person who waits has had enough.
    fn make(&mut self, question: &Question) -> Result<Self::One, Failure>;
}

/// Asks each question in a household of its own. `zone` is that of their clocks, `model` whether one is asked;
/// `progress` is called with how far it is.
///
/// # Errors
/// When a household cannot be started, or goes away.
pub fn ask<H: Households>(
    questions: &Questions,
    households: &mut H,
    (zone, model): (&str, bool),
    mut progress: impl FnMut(&str),
) -> Result<Report<AskFound>, Failure> {
    let (mut found, mut right, mut wrong) = (Vec::new(), 0, 0);
    for (number, question) in &questions.0 {
        let counted = format!("{}/{}, {right} right, {wrong} wrong", found.len(), questions.count());
        progress(&format!("{counted} · {}", question.say.last().map_or("", String::as_str)));
        let line = one(*number, question, &mut households.make(question)?, zone)?;
        right += usize::from(line.verdict == Verdict::Right);
        wrong += usize::from(line.verdict == Verdict::Wrong);
        found.push(line);
    }
    Ok(score::report(found, model))
}

fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_secs()).unwrap_or(i64::MAX)
}

fn one(number: usize, question: &Question, household: &mut impl Household, zone: &str) -> Result<LineFound, Failure> {
    let before = household.files()?;
    let mut cards = 0;
    let mut last = None;
    for words in &question.say {
        let began = now();
        let said = household.say(words)?;
        cards += said.cards;
        last = Some((said, [began, now()]));
    }
    let Some((said, instants)) = last else {
        return Err(Failure::new(format!("line {number}"), "nothing is said in it", "name what is said"));
    };
    let after = household.files()?;
    let judgement = judge(question, &Outcome { said: &said, before: &before, after: &after, instants, zone });
    Ok(LineFound {
        line: number,
        say: question.say.clone(),
        lang: question.lang_tag().to_owned(),
        kind: question.kind.clone(),
        held: question.held,
        verdict: judgement.verdict,
        why: judgement.why,
        answer: said.answer,
        end: said.end.name().to_owned(),
        succeeded: said.succeeded,
        wrong_effects: judgement.wrong_effects,
        cards,
        tokens: household.tokens()?,
        ms: said.ms,
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use metnos_proto::msg::planner::TurnEnd;
    use serde_json::json;

    /// Households that say back what is said to them, and write a file when they are told to.
    struct Echoes(Vec<String>);

    struct Echo(Files);

    impl Household for Echo {
        fn say(&mut self, words: &str) -> Result<Said, Failure> {
            if let Some(path) = words.strip_prefix("write ") {
                self.0.insert(path.to_owned(), b"x".to_vec());
            }
            let succeeded = vec!["echo".to_owned()];
            Ok(Said { answer: words.to_owned(), end: TurnEnd::Answered, cards: 1, succeeded, ms: 5 })
        }

        fn files(&mut self) -> Result<Files, Failure> {
            Ok(self.0.clone())
        }

        fn tokens(&mut self) -> Result<u64, Failure> {
            Ok(7)
        }
    }

    impl Households for Echoes {
        type One = Echo;

        fn make(&mut self, question: &Question) -> Result<Echo, Failure> {
            self.0.push(question.say.join("; "));
            let files = question.files.iter();
            Ok(Echo(files.map(|(path, text)| (path.clone(), text.clone().into_bytes())).collect()))
        }
    }

    fn file(lines: &[serde_json::Value]) -> tempfile::NamedTempFile {
        use std::io::Write;
        let mut file = tempfile::NamedTempFile::new().unwrap();
        lines.iter().for_each(|line| writeln!(file, "{line}").unwrap());
        file
    }

    #[test]
    fn each_line_is_asked_in_a_household_of_its_own_and_its_last_text_judged() {
        let file = file(&[
            json!({ "say": ["write b.md", "again"], "lang": "en", "want": ["again"], "effect": { "path": "b.md", "holds": "x" } }),
            json!({ "say": "write b.md", "lang": "en", "want": ["write"], "held": true }),
            json!({ "say": "again", "lang": "it", "want": ["never said"], "kind": "k" }),
        ]);
        let questions = Questions::read(file.path(), Part::All).unwrap();
        let (mut echoes, mut shown) = (Echoes(Vec::new()), Vec::new());
        let report = ask(&questions, &mut echoes, ("UTC", false), |text| shown.push(text.to_owned())).unwrap();
        assert_eq!(echoes.0, ["write b.md; again", "write b.md", "again"]);
        let found = serde_json::to_value(&report.document).unwrap();
        let verdicts: Vec<&str> =
            found["lines"].as_array().unwrap().iter().map(|line| line["verdict"].as_str().unwrap()).collect();
        assert_eq!(verdicts, ["right", "wrong", "wrong"], "{found:#}");
        assert_eq!(found["lines"][0]["cards"], 2);
        assert_eq!(
            (&found["lines"][1]["wrong_effects"][0], &found["overall"]["wrong_effects"]),
            (&json!("b.md"), &json!(1))
        );
        assert_eq!((&found["kinds"]["k"]["questions"], &found["overall"]["tokens"]), (&json!(1), &json!(21)));
        assert_eq!(shown.len(), 3);
        assert!(shown[2].starts_with("2/3, 1 right, 1 wrong · again"), "{shown:?}");
        // The halves.
        assert_eq!(Questions::read(file.path(), Part::Held).unwrap().count(), 1);
        assert_eq!(Questions::read(file.path(), Part::Open).unwrap().count(), 2);
    }

    #[test]
    fn a_bad_line_is_named_before_anything_is_asked() {
        let file = file(&[
            json!({ "say": "a", "lang": "en", "want": ["a"] }),
            json!({ "say": "a", "lang": "fr", "want": ["a"] }),
        ]);
        let told = Questions::read(file.path(), Part::All).unwrap_err().to_string();
        assert!(told.contains("line 2 of ") && told.contains("`lang` is \"fr\", expected \"en\" or \"it\""), "{told}");
        let none = self::file(&[]);
        assert!(Questions::read(none.path(), Part::All).unwrap_err().to_string().contains("no line to ask"));
    }

    #[test]
    fn published_questions_are_of_their_form_half_held_and_half_italian() {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../data/ask.jsonl");
        let questions = Questions::read(&file, Part::All).unwrap();
        let count = |of: &dyn Fn(&Question) -> bool| questions.0.iter().filter(|(_, one)| of(one)).count();
        assert_eq!(questions.count(), 100);
        assert_eq!(count(&|one| one.held), 50);
        assert_eq!(count(&|one| one.lang == metnos_proto::msg::common::Lang::It), 50);
        for kind in ["files", "lists", "tables", "time", "memory", "small talk", "impossible"] {
            let of_kind = count(&|one| one.kind == kind);
            assert!(of_kind >= 10, "{kind}");
            assert_eq!(count(&|one| one.kind == kind && one.held) * 2, of_kind, "{kind}");
        }
    }
}
