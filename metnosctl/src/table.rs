//! Rows in columns, for people. Every cell is made harmless before it is measured.

use crate::error::CtlError;
use crate::escape;
use crate::screen::{Ink, Screen};

/// One cell: its text and its ink.
#[derive(Debug, Clone)]
pub struct Cell {
    text: String,
    ink: Ink,
}

/// A plain cell.
pub fn cell(text: impl AsRef<str>) -> Cell {
    inked(text, Ink::Plain)
}

/// A cell in an ink.
pub fn inked(text: impl AsRef<str>, ink: Ink) -> Cell {
    Cell { text: escape::line(text.as_ref()), ink }
}

/// A heading and rows of as many cells.
#[derive(Debug)]
pub struct Table {
    heading: Vec<Cell>,
    rows: Vec<Vec<Cell>>,
}

impl Table {
    /// An empty table with these columns.
    #[must_use]
    pub fn new(heading: &[&str]) -> Self {
        Self { heading: heading.iter().map(|name| inked(name, Ink::Bold)).collect(), rows: Vec::new() }
    }

    /// One more row.
    pub fn row(&mut self, cells: Vec<Cell>) {
        self.rows.push(cells);
    }

    /// How many rows it has.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether it has no rows.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Shows it, indented by so many blanks.
    ///
    /// # Errors
    /// When the output is gone.
    pub fn show(&self, screen: &mut Screen, indent: usize) -> Result<(), CtlError> {
        let colour = screen.colour();
        for line in self.lines(colour) {
            screen.line(&format!("{:indent$}{line}", ""))?;
        }
        Ok(())
    }

    fn lines(&self, colour: bool) -> Vec<String> {
        let all = || std::iter::once(&self.heading).chain(&self.rows);
        let width = |column: usize| {
            all().filter_map(|row| row.get(column)).map(|cell| cell.text.chars().count()).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..self.heading.len()).map(width).collect();
        all()
            .map(|row| {
                let mut line = String::new();
                for (cell, width) in row.iter().zip(&widths) {
                    line.push_str(&cell.ink.on(&cell.text, colour));
                    line.extend(std::iter::repeat_n(' ', width.saturating_sub(cell.text.chars().count()) + 2));
                }
                line.trim_end().to_owned()
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let mut table = Table::new(&["NAME", "N"]);
        table.row(vec![cell("perché"), cell("1")]);
        table.row(vec![cell("a\nb"), cell("22")]);
        assert_eq!(table.lines(false), ["NAME    N", "perché  1", "a\\nb    22"]);
    }

    #[test]
    fn ink_does_not_change_the_width() {
        let mut table = Table::new(&["A", "B"]);
        table.row(vec![inked("x", Ink::Good), cell("y")]);
        assert_eq!(table.lines(true)[1], "\x1b[32mx\x1b[0m  y");
    }
}
