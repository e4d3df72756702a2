//! What came of an attempt in a sandbox that is not Metnos's. The suite's own rule is the measure: an answer that is a refusal, or
//! an error by which the case says it is stopped, was held. Any other error is distinguished from what was done: the kernel looked into
//! the call and failed it for its arguments.

use metnos_sandboxd::selftest::escape::{Case, REFUSALS};
use serde_json::Value;

/// The variable of the environment that is to stay outside.
pub const TOKEN: &str = "METNOS_STAGE_TOKEN";
/// The attempt that lists the environment: its answers are names, not errors.
const ENVIRONMENT: &str = "find_secrets_in_the_environment";
/// How a shell and `bwrap` tell an end by SIGKILL.
const KILLED: i32 = 128 + 9;

/// What came of one attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// It was refused, or ended.
    Held,
    /// It was not refused: the kernel looked into it and answered with another error. Nothing was done.
    Reached,
    /// It was done.
    Done,
}

/// What was seen of one attempt.
#[derive(Debug, Default)]
pub struct Seen {
    /// The words of the attempt's program, in their order.
    pub words: Vec<Value>,
    /// The exit code; `None` when the program was ended by the runner's clock or by a signal of its own.
    pub code: Option<i32>,
    /// The runner's clock ended it.
    pub timed_out: bool,
    /// The end of what was written to standard error.
    pub said: String,
}

impl Seen {
    /// The words in what a program has written; lines without the mark are the program's own.
    pub fn words_of(output: &str, mark: &str) -> Vec<Value> {
        output
            .lines()
            .filter_map(|line| line.strip_prefix(mark))
            .filter_map(|word| serde_json::from_str(word).ok())
            .collect()
    }

    fn word(&self, name: &str) -> Option<&Value> {
        self.words.iter().find_map(|word| word.get(name))
    }

    /// Whether this bound of the stage was in force, so that what ran into it ran into nothing of the sandbox.
    fn is_bounded_by_the_stage(&self, bound: &str) -> bool {
        self.word("began").and_then(Value::as_array).is_some_and(|bounds| bounds.iter().any(|name| name == bound))
    }
}

/// What came of this attempt.
///
/// # Errors
/// In a sentence, why that cannot be told: a fault of the runner or of what it runs on, which counts for nobody.
pub fn judge(case: &Case, seen: &Seen) -> Result<Verdict, String> {
    if seen.word("began").is_none() {
        return Err(format!("it was not tried, exit code {:?}: {}", seen.code, seen.said.trim()));
    }
    if let Some(answer) = seen.word("answer") {
        return answered(case, seen, answer);
    }
    if let Some(fault) = seen.word("fault").and_then(Value::as_str) {
        return Ok(if seen.is_bounded_by_the_stage(fault) { Verdict::Done } else { Verdict::Held });
    }
    if let Some(error) = seen.word("error") {
        return Err(format!("the attempt itself failed: {error}"));
    }
    match (case.ends.is_empty(), seen.timed_out) {
        // Nobody ended what a sandbox is to end.
        (false, true) => Ok(Verdict::Done),
        (false, false) => Ok(Verdict::Held),
        (true, true) => Err("it did not end".to_owned()),
        // It has become another program, or its signal has reached itself: the attempt's own program never ends so.
        (true, false) if matches!(seen.code, Some(0 | KILLED)) || case.becomes => Ok(Verdict::Done),
        (true, false) => Err(format!("it ended without an answer, exit code {:?}: {}", seen.code, seen.said.trim())),
    }
}

fn answered(case: &Case, seen: &Seen, answer: &Value) -> Result<Verdict, String> {
    let entries = match answer {
        Value::Array(entries) => entries.as_slice(),
        one @ (Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_)) => {
            std::slice::from_ref(one)
        }
    };
    if case.name == ENVIRONMENT {
        let found = entries.iter().any(|name| name == TOKEN);
        return Ok(if found { Verdict::Done } else { Verdict::Held });
    }
    let verdict = |entry: &Value| match entry.as_str() {
        Some("EFBIG") if seen.is_bounded_by_the_stage("file_size") => Verdict::Done,
        Some(text) if case.is_stop(text) || REFUSALS.contains(&text) => Verdict::Held,
        Some(text) if is_errno(text) => Verdict::Reached,
        _ => Verdict::Done,
    };
    let verdicts: Vec<Verdict> = entries.iter().map(verdict).collect();
    let any = |wanted| verdicts.contains(&wanted);
    match () {
        () if any(Verdict::Done) => Ok(Verdict::Done),
        () if any(Verdict::Reached) => Ok(Verdict::Reached),
        () if any(Verdict::Held) => Ok(Verdict::Held),
        () => Err("it answered with nothing".to_owned()),
    }
}

/// Whether this is the name of an error of the kernel.
fn is_errno(text: &str) -> bool {
    text.strip_prefix('E').is_some_and(|rest| {
        !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit())
    })
}

#[cfg(test)]
mod tests {
    use metnos_sandboxd::selftest::escape::families;
    use serde_json::json;

    use super::*;

    fn case(name: &str) -> Case {
        let cases = families().unwrap().into_iter().flat_map(|family| family.cases);
        cases.into_iter().find(|case| case.name == name).unwrap()
    }

    fn seen(words: Value) -> Seen {
        Seen { words: words.as_array().unwrap().clone(), code: Some(0), ..Seen::default() }
    }

    fn of(name: &str, answer: Value) -> Result<Verdict, String> {
        judge(&case(name), &seen(json!([{"began": ["memory", "file_size"]}, {"answer": answer}])))
    }

    #[test]
    fn an_answer_is_held_reached_or_done_by_the_rule_of_the_suite() {
        for (answer, wanted) in [
            (json!("EPERM"), Verdict::Held),
            (json!("ENOENT"), Verdict::Held),
            (json!("EINVAL"), Verdict::Reached),
            (json!("ESRCH"), Verdict::Reached),
            (json!("done"), Verdict::Done),
            (json!(7), Verdict::Done),
            (json!(["EPERM", "EACCES"]), Verdict::Held),
            (json!(["EPERM", "EFAULT"]), Verdict::Reached),
            (json!(["EFAULT", "EPERM", "done"]), Verdict::Done),
        ] {
            assert_eq!(of("become_somebody_else_1", answer.clone()), Ok(wanted), "{answer}");
        }
        assert!(of("become_somebody_else_1", json!([])).is_err());
    }

    #[test]
    fn an_error_that_the_case_names_is_held_in_that_case_alone() {
        assert_eq!(of("fill_tmp", json!("ENOSPC")), Ok(Verdict::Held));
        assert_eq!(of("open_passwd", json!("ENOSPC")), Ok(Verdict::Reached));
        assert_eq!(of("load_a_library_of_its_own", json!("ImportError")), Ok(Verdict::Held));
    }

    #[test]
    fn a_file_that_grew_to_the_bound_of_the_stage_was_not_held_by_the_sandbox() {
        assert_eq!(of("write_a_file_without_end", json!("EFBIG")), Ok(Verdict::Done));
        let own = seen(json!([{"began": ["memory"]}, {"answer": "EFBIG"}]));
        assert_eq!(judge(&case("write_a_file_without_end"), &own), Ok(Verdict::Held));
    }

    #[test]
    fn memory_counts_as_held_only_below_the_bound_of_the_stage() {
        let case = case("want_all_memory");
        assert_eq!(judge(&case, &seen(json!([{"began": ["memory"]}, {"fault": "memory"}]))), Ok(Verdict::Done));
        assert_eq!(judge(&case, &seen(json!([{"began": []}, {"fault": "memory"}]))), Ok(Verdict::Held));
    }

    #[test]
    fn case_that_runs_until_the_timeout_was_not_held() {
        let began = seen(json!([{"began": []}]));
        assert_eq!(judge(&case("sleep_for_ever"), &Seen { timed_out: true, ..began }), Ok(Verdict::Done));
        let began = seen(json!([{"began": []}]));
        assert_eq!(judge(&case("sleep_for_ever"), &began), Ok(Verdict::Held));
        let began = seen(json!([{"began": []}]));
        assert!(judge(&case("open_passwd"), &Seen { timed_out: true, ..began }).is_err());
    }

    #[test]
    fn a_silent_end_is_done_for_what_becomes_a_program_or_was_killed() {
        let silent = |code| Seen { code: Some(code), ..seen(json!([{"began": []}])) };
        assert_eq!(judge(&case("execute_the_loader"), &silent(1)), Ok(Verdict::Done));
        assert_eq!(judge(&case("execute_what_it_wrote"), &silent(0)), Ok(Verdict::Done));
        assert_eq!(judge(&case("signal_everybody_2"), &silent(KILLED)), Ok(Verdict::Done));
        assert!(judge(&case("signal_everybody_2"), &silent(1)).is_err());
    }

    #[test]
    fn case_that_did_not_begin_or_failed_alone_is_not_judged() {
        let nothing = Seen { code: Some(1), said: "nono: no".to_owned(), ..Seen::default() };
        assert!(judge(&case("execute_the_loader"), &nothing).unwrap_err().contains("nono: no"));
        assert!(judge(&case("sleep_for_ever"), &nothing).is_err());
        assert!(judge(&case("open_passwd"), &seen(json!([{"began": []}, {"error": "KeyError"}]))).is_err());
    }

    #[test]
    fn the_environment_is_held_unless_the_planted_name_is_seen() {
        assert_eq!(of(ENVIRONMENT, json!(["PATH", "PWD"])), Ok(Verdict::Held));
        assert_eq!(of(ENVIRONMENT, json!(["PATH", TOKEN])), Ok(Verdict::Done));
    }

    #[test]
    fn words_are_read_from_lines_with_the_mark_and_from_no_others() {
        let output = "xxxx\n#1#{\"began\":[]}\n{\"answer\":\"EPERM\"}\n#1#no json\n#1#{\"answer\":\"done\"}\nxx";
        assert_eq!(Seen::words_of(output, "#1#"), [json!({"began": []}), json!({"answer": "done"})]);
    }
}
