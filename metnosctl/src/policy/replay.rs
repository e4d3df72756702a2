//! `policy replay`: a recorded trace through the very rules that policyd uses, without an
//! instance and without a daemon. It prints one line for each call before it reads further.

use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use metnos_policy::evidence::context::Confirm;
use metnos_policy::replay::{Options, Replay};
use metnos_proto::msg::common::{Lang, Level};
use serde_json::Value;

use crate::command_line::cli::{ReplayConfirm, ReplayLevel, ReplayTrace};
use crate::error::{CtlError, Exit};
use crate::screen::Screen;

/// The longest line of a trace, in bytes: a result stands in one.
const MAX_LINE: u64 = 16 << 20;
/// The largest catalogue, in bytes.
const MAX_CATALOGUE: u64 = 16 << 20;

/// Replays what comes over standard input.
///
/// # Errors
/// Wrong usage, with the number of the line, for what is no trace; or when the output is gone.
pub fn replay(screen: &mut Screen, asked: &ReplayTrace) -> Result<Exit, CtlError> {
    run(screen, asked, std::io::stdin().lock())
}

fn run(screen: &mut Screen, asked: &ReplayTrace, input: impl Read) -> Result<Exit, CtlError> {
    let options = Options {
        level: asked.level.map(|level| match level {
            ReplayLevel::Readonly => Level::ReadOnly,
            ReplayLevel::Supervised => Level::Supervised,
            ReplayLevel::Full => Level::Full,
        }),
        confirm: match asked.confirm {
            ReplayConfirm::Literal => Confirm::Literal,
            ReplayConfirm::Card => Confirm::Card,
        },
        lang: Lang::En,
    };
    let mut engine = Replay::new(options, |name: &str| catalogue(&asked.catalog, name));
    let mut input = BufReader::new(input);
    let mut line = Vec::new();
    for number in 1_u64.. {
        line.clear();
        let wrong = |what: &str| usage(number, what);
        let read = (&mut input).take(MAX_LINE).read_until(b'\n', &mut line);
        match read.map_err(|error| wrong(&error.to_string()))? {
            0 => break,
            bytes if bytes as u64 == MAX_LINE && !line.ends_with(b"\n") => return Err(wrong("the line is too long")),
            _ => {}
        }
        let text = std::str::from_utf8(&line).map_err(|_| wrong("the line is not UTF-8"))?;
        if let Some(verdict) = engine.line(text).map_err(|what| wrong(&what.to_string()))? {
            let line = serde_json::to_string(&verdict).map_err(|error| wrong(&error.to_string()))?;
            screen.raw(format!("{line}\n").as_bytes())?;
            screen.flush()?;
        }
    }
    Ok(Exit::Done)
}

fn usage(line: u64, what: &str) -> CtlError {
    CtlError::Usage {
        what: format!("line {line} of the trace: {what}"),
        remedy: "docs/formats.md has the form of a trace".to_owned(),
    }
}

/// Reads a catalogue that a trace names: a plain file of the folder, and nothing else.
fn catalogue(folder: &Path, name: &str) -> Result<Value, String> {
    if name.is_empty() || name.contains(['/', '\\', '\0']) || name.starts_with('.') {
        return Err(format!("{name:?} is no name of a catalogue"));
    }
    let path = folder.join(name);
    let said = |why: String| format!("the catalogue {}: {why}", path.display());
    let mut text = Vec::new();
    let file = std::fs::File::open(&path).map_err(|error| said(error.to_string()))?;
    file.take(MAX_CATALOGUE).read_to_end(&mut text).map_err(|error| said(error.to_string()))?;
    serde_json::from_slice(&text).map_err(|error| said(error.to_string()))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::screen::testing::screen;

    fn asked(folder: &Path) -> ReplayTrace {
        ReplayTrace { catalog: folder.to_owned(), level: None, confirm: ReplayConfirm::Literal, input: None }
    }

    #[test]
    fn each_call_gets_one_line_and_what_is_unknown_is_passed_over() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("c.json"), r#"{"look": {"effect": "read"}}"#).unwrap();
        let trace = concat!(
            r#"{"type":"header","catalog":"c.json","strange":1}"#,
            "\n",
            r#"{"type":"weather"}"#,
            "\n\n",
            r#"{"type":"turn","principal":{"paired":true,"role":"owner"},"prompt":"look"}"#,
            "\n",
            r#"{"type":"call","seq":4,"executor":"look","args":{}}"#,
            "\n",
            r#"{"type":"end"}"#
        );
        let (mut screen, out, _) = screen(false, [false; 2], false);
        assert_eq!(run(&mut screen, &asked(folder.path()), trace.as_bytes()).unwrap(), Exit::Done);
        let line: Value = serde_json::from_str(out.text().trim()).unwrap();
        assert_eq!((line["seq"].as_u64(), line["verdict"].as_str()), (Some(4), Some("allow")));
    }

    #[test]
    fn malformed_replay_trace_is_a_usage_error_naming_the_line() {
        let folder = tempfile::tempdir().unwrap();
        for (trace, part) in [
            ("{}\n", "line 1"),
            ("\n{\"type\":\"call\",\"seq\":0}\n", "line 2"),
            ("no json", "line 1"),
            ("{\"type\":\"header\",\"catalog\":\"../x\"}", "no name"),
            ("{\"type\":\"header\",\"autonomy\":\"boss\"}", "autonomy"),
        ] {
            let (mut screen, _, _) = screen(false, [false; 2], false);
            let error = run(&mut screen, &asked(folder.path()), trace.as_bytes()).unwrap_err();
            assert_eq!(error.exit(), Exit::Usage, "{trace}");
            assert!(error.to_string().contains(part), "{error}");
        }
    }
}
