//! A file of JSON lines, read a line at a time.

use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use serde_json::Value;

use crate::Failure;

/// The longest line of a file, in bytes.
const MAX_LINE_BYTES: usize = 256 * 1024 * 1024;

/// Does something with each line of a file that is not empty.
pub fn lines(file: &Path, mut each: impl FnMut(usize, &str) -> Result<(), Failure>) -> Result<(), Failure> {
    let unreadable =
        |why: String| Failure::new(format!("reading {}", file.display()), why, "name a file of JSON lines");
    let opened = std::fs::File::open(file).map_err(|error| unreadable(error.to_string()))?;
    let mut reader = BufReader::new(opened);
    let mut number = 0;
    let mut line = Vec::new();
    loop {
        line.clear();
        let limit = u64::try_from(MAX_LINE_BYTES).unwrap_or(u64::MAX);
        let read = reader.by_ref().take(limit).read_until(b'\n', &mut line);
        if read.map_err(|error| unreadable(error.to_string()))? == 0 {
            return Ok(());
        }
        number += 1;
        if line.len() >= MAX_LINE_BYTES {
            return Err(unreadable(format!("line {number} is longer than {MAX_LINE_BYTES} bytes")));
        }
        let text = std::str::from_utf8(&line).map_err(|_| unreadable(format!("line {number} is not UTF-8")))?;
        if !text.trim().is_empty() {
            each(number, text)?;
        }
    }
}

/// A line that is not of its form.
pub fn malformed(file: &Path, number: usize, why: impl ToString) -> Failure {
    let what = format!("line {number} of {}", file.display());
    Failure::new(what, why, "`metnosctl bench --help` shows the form")
}

/// A text or a number as it is written.
pub fn spelled(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other @ (Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_)) => other.to_string(),
    }
}
