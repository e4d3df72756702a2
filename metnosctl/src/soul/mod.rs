//! `soul compile`: what the compiler of the lattice says of proposals that anybody brings, one a line. It asks no daemon and
//! needs no instance.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};

use metnos_soul::case::{Case, Outcome};

use crate::command_line::nouns::{SoulCommand, SoulCompile};
use crate::error::{CtlError, Exit};
use crate::screen::Screen;
use crate::screen::escape;

/// The longest line, in bytes: a turn with all that was shown in it.
const MAX_LINE: u64 = 4 << 20;

/// Does one of them.
///
/// # Errors
/// Wrong usage, with the number of the line, for what is no case; or when the output is gone.
pub fn soul(screen: &mut Screen, command: &SoulCommand) -> Result<Exit, CtlError> {
    match command {
        SoulCommand::Compile(asked) => compile(screen, asked),
    }
}

fn compile(screen: &mut Screen, asked: &SoulCompile) -> Result<Exit, CtlError> {
    if asked.file.as_os_str() == "-" {
        return run(screen, std::io::stdin().lock());
    }
    let file = File::open(&asked.file).map_err(|error| CtlError::Usage {
        what: format!("FILE is {}: {error}", asked.file.display()),
        remedy: "name a file of cases, or `-` for standard input".to_owned(),
    })?;
    run(screen, file)
}

fn run(screen: &mut Screen, input: impl Read) -> Result<Exit, CtlError> {
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
        if line.iter().all(u8::is_ascii_whitespace) {
            continue;
        }
        let case: Case = serde_json::from_slice(&line).map_err(|error| wrong(&error.to_string()))?;
        show(screen, &case.compile())?;
    }
    Ok(Exit::Done)
}

fn show(screen: &mut Screen, outcome: &Outcome) -> Result<(), CtlError> {
    if screen.json() {
        let line = serde_json::to_string(outcome).map_err(|error| usage(0, &error.to_string()))?;
        screen.raw(format!("{line}\n").as_bytes())?;
        return screen.flush();
    }
    screen.line(&escape::line(&outcome.id))?;
    for op in &outcome.ops {
        let verdict = format!("{:?}", op.verdict).to_lowercase();
        screen.line(&escape::line(&format!("  {verdict:<7} {:?}  {}: {}", op.code, op.op, op.why)))?;
    }
    if outcome.ops.is_empty() {
        screen.line("  the message proposes nothing")?;
    }
    Ok(())
}

fn usage(line: u64, what: &str) -> CtlError {
    CtlError::Usage {
        what: format!("line {line} of the cases: {what}"),
        remedy: "docs/formats.md has the form of a case".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::screen::testing::screen;
    use serde_json::{Value, json};

    fn case(id: &str, premise: &str) -> String {
        let block = json!({"add": [{"ref": "a", "premise": premise, "node_type": "preference", "evidence": [7]}]});
        let shown = json!({"seq": 7, "type": "owner_message", "trust": "owner", "speaker": "Anna", "peer": "Anna",
            "text": "I like tea with milk"});
        let reply = format!("Noted.\n<lattice_update nonce=\"n1\">{block}</lattice_update>");
        json!({"id": id, "nonce": "n1", "scope": "Anna", "role": "interface", "shown": [shown], "nodes": [], "reply": reply})
            .to_string()
    }

    #[test]
    fn each_case_gets_one_line_with_its_verdicts() {
        let cases =
            format!("{}\n\n{}\n", case("true", "Anna likes tea with milk"), case("false", "Anna likes rum with milk"));
        let (mut screen, out, _) = screen(true, [false; 2], false);
        assert_eq!(run(&mut screen, cases.as_bytes()).unwrap(), Exit::Done);
        let lines: Vec<Value> = out.text().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!((&lines[0]["ops"][0]["op"], &lines[0]["ops"][0]["verdict"]), (&json!("add:a"), &json!("commit")));
        assert_eq!((&lines[1]["id"], &lines[1]["ops"][0]["verdict"]), (&json!("false"), &json!("hold")));
        assert_eq!((&lines[1]["ops"][0]["code"], &lines[1]["capsule_changed"]), (&json!("R10"), &json!(false)));
    }

    #[test]
    fn line_that_is_no_case_is_named() {
        for text in ["{}", "{\"id\": 7}", "[]", "no json"] {
            let (mut screen, _, _) = screen(true, [false; 2], false);
            let cases = format!("{}\n{text}\n", case("x", "Anna likes tea with milk"));
            let error = run(&mut screen, cases.as_bytes()).unwrap_err();
            assert!(error.to_string().contains("line 2"), "{error}");
            assert_eq!(error.exit(), Exit::Usage);
        }
    }
}
