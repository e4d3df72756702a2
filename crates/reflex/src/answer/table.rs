//! A result of columns and rows as people read it: names above, cells below each other. What is long is cut within its
//! cell, and no cell can draw on a terminal.

use metnos_proto::msg::common::Lang;
use serde_json::{Map, Value};

use crate::answer::sentence::decimal;
use crate::answer::visible;

/// The widest that a cell is shown, in characters.
const MAX_CELL: usize = 48;
/// The most columns that are shown.
const MAX_COLUMNS: usize = 32;

/// A table as people read it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Table {
    /// Its lines.
    pub text: String,
    /// Whether it has no row.
    pub is_empty: bool,
}

/// The table, when the result is one: a list of names, and rows of as many cells.
#[must_use]
pub fn of(object: &Map<String, Value>, most_rows: usize, lang: Lang) -> Option<Table> {
    let names = object.get("columns")?.as_array()?;
    let rows = object.get("rows")?.as_array()?;
    let told = |row: &Vec<Value>| row.iter().take(MAX_COLUMNS).map(|one| cell(one, lang)).collect::<Vec<_>>();
    let cells = |row: &Value| row.as_array().map(told);
    let mut lines = vec![told(names)];
    for row in rows.iter().take(most_rows) {
        lines.push(cells(row)?);
    }
    let wide = |at: usize| lines.iter().filter_map(|line| line.get(at)).map(|cell| cell.chars().count()).max();
    let widths: Vec<usize> = (0..lines[0].len()).map(|at| wide(at).unwrap_or(0)).collect();
    // A column of numbers is read from its end.
    let is_number = |at: usize| {
        let mut column = rows.iter().take(most_rows).filter_map(|row| row.get(at)).peekable();
        column.peek().is_some() && column.all(is_numeric)
    };
    let right: Vec<bool> = (0..lines[0].len()).map(is_number).collect();
    let mut text = String::new();
    for line in &lines {
        let padded = line.iter().enumerate().map(|(at, cell)| {
            let blanks = " ".repeat(widths.get(at).copied().unwrap_or(0).saturating_sub(cell.chars().count()));
            if right.get(at) == Some(&true) { format!("{blanks}{cell}") } else { format!("{cell}{blanks}") }
        });
        text.push_str(padded.collect::<Vec<_>>().join("  ").trim_end());
        text.push('\n');
    }
    Some(Table { text, is_empty: rows.is_empty() })
}

fn is_numeric(value: &Value) -> bool {
    match value {
        Value::Number(_) | Value::Null => true,
        Value::String(text) => {
            text.is_empty() || text.trim().replace(',', ".").parse::<f64>().is_ok_and(f64::is_finite)
        }
        Value::Bool(_) | Value::Array(_) | Value::Object(_) => false,
    }
}

fn cell(value: &Value, lang: Lang) -> String {
    let text = match value {
        Value::Null => return "–".to_owned(),
        Value::Number(number) => decimal(&number.to_string(), lang),
        Value::String(text) => visible(text),
        other @ (Value::Bool(_) | Value::Array(_) | Value::Object(_)) => visible(&other.to_string()),
    };
    match text.char_indices().nth(MAX_CELL) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn told(result: &Value) -> Option<String> {
        of(result.as_object().unwrap(), 10, Lang::En).map(|table| table.text)
    }

    #[test]
    fn a_table_is_shown_with_its_rows_and_numbers_below_each_other() {
        let result = json!({"columns": ["what", "euro"], "rows": [["bread", "3,20"], ["school books", "38,00"]]});
        assert_eq!(told(&result).unwrap(), "what           euro\nbread          3,20\nschool books  38,00\n");
        let hostile = json!({"columns": ["a"], "rows": [["\u{1b}[2J\nx"], [null], [7]]});
        assert_eq!(told(&hostile).unwrap(), "a\n\u{fffd}[2J\u{fffd}x\n–\n7\n");
        assert_eq!(told(&json!({"columns": ["a"], "rows": []})).unwrap(), "a\n");
        for none in [json!({"rows": []}), json!({"columns": 3, "rows": []}), json!({"columns": [], "rows": [3]})] {
            assert_eq!(told(&none), None, "{none}");
        }
    }

    proptest! {
        #[test]
        fn any_rows_are_told(rows in proptest::collection::vec(proptest::collection::vec("\\PC{0,60}", 0..5), 0..5)) {
            let text = told(&json!({"columns": ["a", "b"], "rows": rows.clone()})).unwrap();
            prop_assert_eq!(text.lines().count(), rows.len() + 1);
        }
    }
}
