//! How one line went. What the planner reports of the turn comes before what its text looks like.

use std::collections::BTreeSet;

use metnos_proto::msg::common::Lang;
use metnos_proto::msg::planner::TurnEnd;
use schemars::JsonSchema;
use serde::Serialize;

use crate::ask::household::{Files, Said};
use crate::ask::moment;
use crate::ask::question::{Effect, Question};

/// How a line went.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The answer is right, and so is what it did.
    Right,
    /// The answer is wrong, or a file was changed that should not have been, or was not that should have been.
    Wrong,
    /// It said that it cannot, or did not know what was meant, and did nothing.
    Refused,
    /// It asked first, where nobody had to be asked.
    Waiting,
    /// There is no answer: a process went away, or a bound was hit.
    Failed,
}

/// A verdict and its reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Judgement {
    /// The verdict.
    pub verdict: Verdict,
    /// Why it is not right; empty when it is.
    pub why: String,
    /// The files that were changed and should not have been.
    pub wrong_effects: Vec<String>,
}

/// What is judged.
#[derive(Debug, Clone, Copy)]
pub struct Outcome<'a> {
    /// What came of the last text.
    pub said: &'a Said,
    /// The files before the first text.
    pub before: &'a Files,
    /// The files after the last.
    pub after: &'a Files,
    /// When the last text was said, and when its answer was there, in seconds since 1970.
    pub instants: [i64; 2],
    /// The zone of the household's clock.
    pub zone: &'a str,
}

/// Words with which an answer says that it cannot, does not know or has not found. They count only where the planner
/// reports an answer to which no call has led.
const REFUSALS: [[&str; 14]; 2] = [
    [
        "i cannot",
        "i can't",
        "can not",
        "i am not able",
        "i'm not able",
        "unable to",
        "i don't know",
        "i do not know",
        "not sure what you mean",
        "no way to",
        "not something i can",
        "i don't have",
        "i do not have",
        "i could not",
    ],
    [
        "non posso",
        "non sono in grado",
        "non riesco",
        "non so ",
        "non lo so",
        "non ho modo",
        "non ho accesso",
        "non ho capito",
        "non sono capace",
        "non è possibile",
        "non mi è possibile",
        "non dispongo",
        "non ho trovato",
        "non saprei",
    ],
];

/// Whether the turn was an honest refusal: nothing was done, and it says so.
#[must_use]
pub fn is_refusal(said: &Said) -> bool {
    match said.end {
        TurnEnd::NotUnderstood | TurnEnd::Denied | TurnEnd::Unsuccessful => true,
        TurnEnd::Answered => said.succeeded.is_empty() && reads_as_refusal(&said.answer),
        TurnEnd::Cancelled | TurnEnd::Suspended | TurnEnd::Broken => false,
    }
}

fn reads_as_refusal(answer: &str) -> bool {
    let low = answer.to_lowercase().replace('\u{2019}', "'");
    REFUSALS.iter().flatten().any(|words| low.contains(words))
}

/// Judges a line.
#[must_use]
pub fn judge(question: &Question, outcome: &Outcome<'_>) -> Judgement {
    let wrong_effects = wrong_effects(question, outcome);
    let (verdict, why) = if wrong_effects.is_empty() {
        verdict(question, outcome)
    } else {
        (Verdict::Wrong, format!("changed {}", wrong_effects.join(", ")))
    };
    Judgement { verdict, why, wrong_effects }
}

fn verdict(question: &Question, outcome: &Outcome<'_>) -> (Verdict, String) {
    let said = outcome.said;
    match said.end {
        TurnEnd::Broken | TurnEnd::Cancelled => {
            return (Verdict::Failed, format!("the turn ended as {}", said.end.name()));
        }
        TurnEnd::Suspended if question.card => return (Verdict::Right, String::new()),
        TurnEnd::Suspended => return (Verdict::Waiting, "it asked first".to_owned()),
        TurnEnd::Answered | TurnEnd::NotUnderstood | TurnEnd::Denied | TurnEnd::Unsuccessful => {}
    }
    let refused = is_refusal(said);
    if question.cannot {
        return match refused {
            true => (Verdict::Right, String::new()),
            false => (Verdict::Wrong, "it did not say that it cannot".to_owned()),
        };
    }
    let shortfall = shortfall(question, outcome);
    match shortfall {
        None if said.end == TurnEnd::Answered => (Verdict::Right, String::new()),
        _ if refused => (Verdict::Refused, "it said that it cannot".to_owned()),
        Some(why) => (Verdict::Wrong, why),
        None => (Verdict::Wrong, format!("the turn ended as {}", said.end.name())),
    }
}

/// What is missing from the answer or from what it should have done.
fn shortfall(question: &Question, outcome: &Outcome<'_>) -> Option<String> {
    let answer = &outcome.said.answer;
    let has = |text: &String| contains_any(answer, text, question.lang, outcome);
    if let Some(bad) = question.never.iter().find(|text| has(text)) {
        return Some(format!("the answer has `{bad}`"));
    }
    if let Some(effect) = question.effects.iter().find(|effect| !came_true(effect, outcome.after)) {
        return Some(if effect.absent {
            format!("{} is still there", effect.path)
        } else {
            format!("{} is not as it should be", effect.path)
        });
    }
    if question.card {
        return Some("it did not ask first".to_owned());
    }
    question.want.iter().find(|text| !has(text)).map(|text| format!("the answer has no `{text}`"))
}

fn contains_any(answer: &str, text: &str, lang: Lang, outcome: &Outcome<'_>) -> bool {
    moment::alternatives(text, lang, outcome.instants, outcome.zone).iter().any(|one| contains(answer, one))
}

/// Whether a text has another, whatever the case of letters; a number counts only whole, so that 3 is not in 2030, and 54.2 is
/// in 54.20.
fn contains(text: &str, part: &str) -> bool {
    let fold = |text: &str| text.to_lowercase().replace('\u{2019}', "'");
    let (text, part) = (fold(text), fold(part));
    let is_digit = |c: Option<char>| c.is_some_and(|c| c.is_ascii_digit());
    let begins_with_digit = is_digit(part.chars().next());
    let ends_with_digit = is_digit(part.chars().next_back());
    let has_decimals = ends_with_digit
        && part.trim_end_matches(|c: char| c.is_ascii_digit()).ends_with(['.', ','])
        && begins_with_digit;
    text.match_indices(part.as_str()).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        let behind = &text[at + part.len()..];
        let behind = if has_decimals { behind.trim_start_matches('0') } else { behind }.chars().next();
        !(begins_with_digit && is_digit(before) || ends_with_digit && is_digit(behind))
    })
}

/// Whether a path is meant by another, in which `*` stands for anything.
fn is_meant(pattern: &str, path: &str) -> bool {
    let Some((head, tail)) = pattern.split_once('*') else { return pattern == path };
    let Some(rest) = path.strip_prefix(head) else { return false };
    rest.char_indices().map(|(at, _)| at).chain([rest.len()]).any(|at| is_meant(tail, &rest[at..]))
}

fn came_true(effect: &Effect, after: &Files) -> bool {
    let mut meant = after.iter().filter(|(path, _)| is_meant(&effect.path, path));
    if effect.absent {
        return meant.next().is_none();
    }
    meant.any(|(_, bytes)| {
        let text = String::from_utf8_lossy(bytes);
        effect.holds.iter().all(|part| contains(&text, part)) && !effect.lacks.iter().any(|part| contains(&text, part))
    })
}

/// Files that are not as they were, though the line does not say so.
fn wrong_effects(question: &Question, outcome: &Outcome<'_>) -> Vec<String> {
    let (before, after) = (outcome.before, outcome.after);
    let paths: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
    let is_foreseen = |path: &str| {
        let meant = question.effects.iter().map(|effect| &effect.path).chain(&question.may);
        meant.into_iter().any(|pattern| is_meant(pattern, path))
    };
    let changed = paths.into_iter().filter(|path| before.get(*path) != after.get(*path));
    changed.filter(|path| !is_foreseen(path)).cloned().collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use serde_json::{Value, json};

    fn files(of: &[(&str, &str)]) -> Files {
        of.iter().map(|(path, text)| ((*path).to_owned(), text.as_bytes().to_vec())).collect()
    }

    fn said(answer: &str, end: TurnEnd, succeeded: &[&str]) -> Said {
        let succeeded = succeeded.iter().map(|name| (*name).to_owned()).collect();
        Said { answer: answer.to_owned(), end, cards: 0, succeeded, ms: 1 }
    }

    fn judged(line: &Value, said: &Said, after: &[(&str, &str)]) -> (Verdict, String) {
        let question = Question::read(&line.to_string()).unwrap();
        let (before, after) = (files(&[("a.md", "- milk\n")]), files(after));
        let outcome = Outcome { said, before: &before, after: &after, instants: [0, 0], zone: "UTC" };
        let judgement = judge(&question, &outcome);
        assert_eq!(judgement.verdict == Verdict::Right, judgement.why.is_empty());
        (judgement.verdict, judgement.why)
    }

    const SAME: [(&str, &str); 1] = [("a.md", "- milk\n")];

    #[test]
    fn an_answer_needs_each_want_and_none_of_never() {
        let line = json!({ "say": "x", "lang": "en", "want": ["milk|latte", "2"], "never": ["salt"] });
        for (answer, verdict) in [
            ("2 things: Milk", Verdict::Right),
            ("due cose (2): LATTE", Verdict::Right),
            ("Milk", Verdict::Wrong),
            ("12 milks", Verdict::Wrong),
            ("2 things: milk, salt", Verdict::Wrong),
        ] {
            assert_eq!(judged(&line, &said(answer, TurnEnd::Answered, &["fs_read"]), &SAME).0, verdict, "{answer}");
        }
    }

    #[test]
    fn a_change_that_was_not_asked_for_is_wrong_whatever_is_said() {
        let line = json!({ "say": "x", "lang": "en", "want": ["milk"] });
        let right = said("milk", TurnEnd::Answered, &["fs_read"]);
        for after in [&[("a.md", "- salt\n")][..], &[], &[("a.md", "- milk\n"), ("b.md", "")]] {
            let (verdict, why) = judged(&line, &right, after);
            assert!(verdict == Verdict::Wrong && why.starts_with("changed "), "{after:?}: {why}");
        }
        // Also one that was refused, and one where another file was to be changed.
        let refused = said("no", TurnEnd::NotUnderstood, &[]);
        assert_eq!(judged(&line, &refused, &[]).0, Verdict::Wrong);
        let effect = json!({ "say": "x", "lang": "en", "effect": { "path": "b.md", "holds": "salt" } });
        assert_eq!(judged(&effect, &right, &[("b.md", "salt"), ("a.md", "")]).0, Verdict::Wrong);
        let free = json!({ "say": "x", "lang": "en", "want": ["milk"], "may": ["*.md"] });
        assert_eq!(judged(&free, &right, &[("b.md", "salt")]).0, Verdict::Right);
    }

    #[test]
    fn an_effect_must_have_come_true() {
        let done = said("Done.", TurnEnd::Answered, &["fs_append"]);
        let holds = json!({ "say": "x", "lang": "en", "effect": { "path": "a.md", "holds": ["milk", "Salt"], "lacks": "bread" } });
        assert_eq!(judged(&holds, &done, &[("a.md", "- milk\n- salt\n")]).0, Verdict::Right);
        assert_eq!(judged(&holds, &done, &[("a.md", "- milk\n- salt\n- bread\n")]).0, Verdict::Wrong);
        assert_eq!(judged(&holds, &done, &SAME).0, Verdict::Wrong, "it claims what it did not do");
        assert_eq!(judged(&holds, &said("no", TurnEnd::NotUnderstood, &[]), &SAME).0, Verdict::Refused);
        let absent = json!({ "say": "x", "lang": "en", "effect": { "path": "a.md", "absent": true } });
        assert_eq!(judged(&absent, &done, &[]).0, Verdict::Right);
        assert_eq!(judged(&absent, &done, &SAME).0, Verdict::Wrong);
    }

    #[test]
    fn a_refusal_is_known_by_the_turns_end_and_by_words_only_without_a_call() {
        let line = json!({ "say": "x", "lang": "en", "cannot": true });
        for (end, answer, succeeded, verdict) in [
            (TurnEnd::NotUnderstood, "", &[][..], Verdict::Right),
            (TurnEnd::Denied, "", &[], Verdict::Right),
            (TurnEnd::Answered, "I’m sorry, I can’t send mail.", &[], Verdict::Right),
            (TurnEnd::Answered, "Mi dispiace, non posso.", &[], Verdict::Right),
            (TurnEnd::Answered, "I sent it.", &[], Verdict::Wrong),
            (TurnEnd::Answered, "I cannot say more than this: done", &["note_add"], Verdict::Wrong),
            (TurnEnd::Broken, "", &[], Verdict::Failed),
            (TurnEnd::Suspended, "", &[], Verdict::Waiting),
        ] {
            assert_eq!(judged(&line, &said(answer, end, succeeded), &SAME).0, verdict, "{answer}");
        }
        // Where something was to be answered, the same words are no right answer.
        let line = json!({ "say": "x", "lang": "en", "want": ["milk"] });
        assert_eq!(judged(&line, &said("I don't know.", TurnEnd::Answered, &[]), &SAME).0, Verdict::Refused);
        assert_eq!(judged(&line, &said("try: read milk", TurnEnd::NotUnderstood, &[]), &SAME).0, Verdict::Refused);
    }

    #[test]
    fn asking_first_is_right_only_where_the_line_says_so() {
        let waits = said("", TurnEnd::Suspended, &[]);
        let line = json!({ "say": "x", "lang": "en", "card": true });
        assert_eq!(judged(&line, &waits, &SAME).0, Verdict::Right);
        assert_eq!(judged(&line, &said("Done.", TurnEnd::Answered, &["fs_delete"]), &SAME).0, Verdict::Wrong);
        let line = json!({ "say": "x", "lang": "en", "want": ["milk"] });
        assert_eq!(judged(&line, &waits, &SAME).0, Verdict::Waiting);
    }

    #[test]
    fn patterns_of_paths_take_stars_anywhere() {
        for (pattern, path, fits) in [
            ("a/b.md", "a/b.md", true),
            ("a/b.md", "a/b.mdx", false),
            ("*", "a/b", true),
            ("*pack*", "notes/packing.md", true),
            ("*pack*.md", "notes/packing.txt", false),
            ("notes/*", "notes/è.md", true),
            ("notes/*", "other/a.md", false),
        ] {
            assert_eq!(is_meant(pattern, path), fits, "{pattern} {path}");
        }
    }
}
