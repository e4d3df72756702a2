//! Values and names as Python writes them.

use std::fmt::Write as _;

use serde_json::Value;

use crate::text::is_unseen;

/// Words that no argument of a Python function can have for a name.
const KEYWORDS: [&str; 35] = [
    "False", "None", "True", "and", "as", "assert", "async", "await", "break", "class", "continue", "def", "del",
    "elif", "else", "except", "finally", "for", "from", "global", "if", "import", "in", "is", "lambda", "nonlocal",
    "not", "or", "pass", "raise", "return", "try", "while", "with", "yield",
];

/// Whether a field can be a parameter.
#[must_use]
pub fn is_python_name(name: &str) -> bool {
    !KEYWORDS.contains(&name) && !name.starts_with("__")
}

/// A text as TOML, JSON and Python alike write it.
#[must_use]
pub fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if c.is_control() || is_unseen(c) => {
                let _ = write!(out, "\\u{:04x}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// A value as Python writes it, on one line.
#[must_use]
pub fn literal(value: &Value) -> String {
    match value {
        Value::Null => "None".to_owned(),
        Value::Bool(true) => "True".to_owned(),
        Value::Bool(false) => "False".to_owned(),
        Value::Number(number) => number.to_string(),
        Value::String(text) => quoted(text),
        Value::Array(items) => format!("[{}]", items.iter().map(literal).collect::<Vec<_>>().join(", ")),
        Value::Object(map) => {
            let entry = |(name, value): (&String, &Value)| format!("{}: {}", quoted(name), literal(value));
            format!("{{{}}}", map.iter().map(entry).collect::<Vec<_>>().join(", "))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn values_are_written_as_python_reads_them() {
        let value = json!({"a \"b\"": [null, true, false, 1, -2.5, "x\\\n\u{202e}"]});
        assert_eq!(literal(&value), "{\"a \\\"b\\\"\": [None, True, False, 1, -2.5, \"x\\\\\\n\\u202e\"]}");
        assert!(is_python_name("text") && !is_python_name("class") && !is_python_name("__x"));
    }
}
