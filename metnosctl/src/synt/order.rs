//! The order of a draft: the wish and its examples as a person types them, and the run followed to its end.

use std::path::Path;
use std::time::{Duration, Instant};

use metnos_proto::doc::draft::{DraftExample, DraftOrder, DraftReport};
use metnos_proto::edges::CtlSyntd;
use metnos_proto::edges::ctl_syntd::Note;
use metnos_proto::ids::TraceId;
use metnos_proto::link::BlockingClient;
use metnos_proto::msg::drafting::{DraftExecutor, MAX_DRAFT_ORDER, ShowDraft};
use metnos_proto::payload::Sealed;
use serde_json::{Map, Value};

use crate::daemons::connection::opened;
use crate::error::CtlError;

/// How often it is looked whether something was said.
const LOOK_UP: Duration = Duration::from_millis(200);

/// The longest time to wait for the end of a run: policyd ends one after half an hour.
const ENDED_WITHIN: Duration = Duration::from_secs(1_860);

/// How an example is written.
const FORM: &str = "write it as '{\"text\": \"Invoice 12\"} => {\"number\": \"12\"}', or with `=> error` behind it";

/// Reads an example of the command line: arguments, `=>`, and the result or `error`.
///
/// # Errors
/// Wrong usage: what is wrong with it.
pub fn example(text: &str) -> Result<DraftExample, CtlError> {
    let wrong = |why: String| CtlError::Usage { what: format!("--example `{text}`: {why}"), remedy: FORM.to_owned() };
    let (input, output) = text.split_once("=>").ok_or_else(|| wrong("there is no `=>` in it".to_owned()))?;
    let object = |part: &str| -> Result<Map<String, Value>, CtlError> {
        serde_json::from_str(part.trim())
            .map_err(|error| wrong(format!("`{}` is no JSON object: {error}", part.trim())))
    };
    let output = if output.trim() == "error" { None } else { Some(object(output)?) };
    Ok(DraftExample { input: object(input)?, output })
}

/// Reads a file of examples, one line of JSON each: `{"in": {…}, "out": {…}}`, `"out": null` for an error.
///
/// # Errors
/// Wrong usage, with the number of the line.
pub fn examples(file: &Path) -> Result<Vec<DraftExample>, CtlError> {
    let wrong = |why: String| CtlError::Usage {
        what: format!("--examples {}: {why}", file.display()),
        remedy: "each line is {\"in\": {…}, \"out\": {…}}".to_owned(),
    };
    let text = std::fs::read_to_string(file).map_err(|error| wrong(error.to_string()))?;
    if text.len() > MAX_DRAFT_ORDER {
        return Err(wrong(format!("it has {} bytes; at most {MAX_DRAFT_ORDER} are taken", text.len())));
    }
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    lines
        .map(|(at, line)| serde_json::from_str(line).map_err(|error| wrong(format!("line {}: {error}", at + 1))))
        .collect()
}

/// Gives the order, shows what is done, and has the report.
///
/// # Errors
/// When syntd refuses the order or cannot be reached; when `stopped` says that the person has had enough, or `show` fails.
pub fn follow(
    syntd: &mut BlockingClient<CtlSyntd>,
    order: &DraftOrder,
    stopped: impl Fn() -> bool,
    mut show: impl FnMut(&str) -> Result<(), CtlError>,
) -> Result<DraftReport, CtlError> {
    let unsendable = |why: String| CtlError::failed("the order", why, "");
    let bytes = serde_json::to_vec(order).map_err(|error| unsendable(error.to_string()))?;
    let sealed = Sealed::new(&bytes).map_err(|error| unsendable(error.to_string()))?;
    let (started, []) = syntd.draft(TraceId::NONE, DraftExecutor {}, [sealed])?;
    let until = Instant::now() + ENDED_WITHIN;
    loop {
        if stopped() {
            // Closing the channel ends the run.
            let what = "the draft was stopped, and nothing of it is kept".to_owned();
            return Err(CtlError::failed("synt run", what, "order it again"));
        }
        if Instant::now() >= until {
            let why = format!("it has not ended within {} minutes", ENDED_WITHIN.as_secs() / 60);
            return Err(CtlError::failed("synt run", why, "look at `metnosctl status` and at the log of syntd"));
        }
        match syntd.next_note(LOOK_UP)? {
            Some(Note::DraftStep(step)) => show(&step.text)?,
            Some(Note::DraftEnded(ended)) if ended.run == started.run => {
                let ask = ShowDraft { name: ended.run.to_string() };
                return opened(syntd.show_draft(TraceId::NONE, ask, [])?);
            }
            Some(Note::DraftEnded(_)) | None => {}
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use serde_json::json;

    #[test]
    fn example_of_the_command_line_is_read() {
        let read = example("{\"text\": \"a => b\"} => {\"n\": 1}").unwrap_err();
        assert!(read.to_string().contains("no JSON object"), "the first arrow counts: {read}");
        let read = example("{\"text\": \"a\"} => {\"n\": 1}").unwrap();
        assert_eq!((Value::Object(read.input), read.output.unwrap()["n"].clone()), (json!({"text": "a"}), json!(1)));
        assert_eq!(example("{\"text\": \"\"}=>error").unwrap().output, None);
        for bad in ["{}", "{} => ", "x => {}", "[] => {}"] {
            assert!(matches!(example(bad), Err(CtlError::Usage { .. })), "{bad}");
        }
    }

    #[test]
    fn file_of_examples_names_the_line_that_is_none() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("examples.jsonl");
        std::fs::write(&file, "{\"in\": {\"a\": 1}, \"out\": {\"b\": 2}}\n\n{\"in\": {\"a\": 0}, \"out\": null}\n")
            .unwrap();
        assert_eq!(examples(&file).unwrap().len(), 2);
        std::fs::write(&file, "{\"in\": {\"a\": 1}, \"out\": {\"b\": 2}}\n{\"in\": 1}\n").unwrap();
        assert!(examples(&file).unwrap_err().to_string().contains("line 2"));
        assert!(examples(&folder.path().join("none")).is_err());
    }
}
