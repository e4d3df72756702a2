//! Rows in columns, for people. Every cell is made harmless before it is measured.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use crate::error::CtlError;
use crate::screen::escape;
use crate::screen::{Ink, Screen};

/// What stands between two columns.
const GAP: usize = 2;
/// The narrowest that a column becomes on a narrow terminal.
const LEAST: usize = 8;

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

    /// Shows it, indented by so many blanks. On a terminal it is as wide as that at most: what a cell has no room for goes
    /// on below, and nothing is left out.
    ///
    /// # Errors
    /// When the output is gone.
    pub fn show(&self, screen: &mut Screen, indent: usize) -> Result<(), CtlError> {
        let colour = screen.colour();
        let room = screen.width().map_or(usize::MAX, |width| width.saturating_sub(indent));
        for line in self.lines(colour, room) {
            screen.line(&format!("{:indent$}{line}", ""))?;
        }
        Ok(())
    }

    /// How wide each column is, so that all of them have room: the widest gives way first.
    fn widths(&self, room: usize) -> Vec<usize> {
        let all = || std::iter::once(&self.heading).chain(&self.rows);
        let width =
            |column: usize| all().filter_map(|row| row.get(column)).map(|cell| cell.text.width()).max().unwrap_or(0);
        let mut widths: Vec<usize> = (0..self.heading.len()).map(width).collect();
        let gaps = GAP * widths.len().saturating_sub(1);
        loop {
            let over = (widths.iter().sum::<usize>() + gaps).saturating_sub(room);
            let Some(widest) = widths.iter_mut().max() else { return widths };
            if over == 0 || *widest <= LEAST {
                return widths;
            }
            *widest -= 1;
        }
    }

    fn lines(&self, colour: bool, room: usize) -> Vec<String> {
        let widths = self.widths(room);
        let mut lines = Vec::new();
        for row in std::iter::once(&self.heading).chain(&self.rows) {
            let cells: Vec<Vec<String>> =
                row.iter().zip(&widths).map(|(cell, width)| wrapped(&cell.text, *width)).collect();
            for at in 0..cells.iter().map(Vec::len).max().unwrap_or(0) {
                let mut line = String::new();
                for ((pieces, cell), width) in cells.iter().zip(row).zip(&widths) {
                    let piece = pieces.get(at).map_or("", String::as_str);
                    line.push_str(&cell.ink.on(piece, colour));
                    line.extend(std::iter::repeat_n(' ', width.saturating_sub(piece.width()) + GAP));
                }
                lines.push(line.trim_end().to_owned());
            }
        }
        lines
    }
}

/// A line in pieces of at most so many columns, broken where a word ends if one does in the second half; at least one.
#[must_use]
pub fn wrapped(text: &str, most: usize) -> Vec<String> {
    let most = most.max(LEAST);
    let mut pieces = Vec::new();
    let mut rest = text;
    while rest.width() > most {
        let (mut end, mut wide, mut word) = (0, 0, None);
        for (at, c) in rest.char_indices() {
            wide += c.width().unwrap_or(0);
            if wide > most {
                break;
            }
            end = at + c.len_utf8();
            if c == ' ' && wide > most / 2 {
                word = Some(end);
            }
        }
        let cut = if rest[end..].starts_with(' ') { end } else { word.unwrap_or(end) };
        // One character is wider than everything there is: it is shown all the same.
        let cut = if cut == 0 { rest.chars().next().map_or(rest.len(), char::len_utf8) } else { cut };
        pieces.push(rest[..cut].trim_end().to_owned());
        rest = rest[cut..].trim_start();
    }
    if !rest.is_empty() || pieces.is_empty() {
        pieces.push(rest.to_owned());
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let mut table = Table::new(&["NAME", "N"]);
        table.row(vec![cell("perché"), cell("1")]);
        table.row(vec![cell("a\nb"), cell("22")]);
        assert_eq!(table.lines(false, usize::MAX), ["NAME    N", "perché  1", "a\\nb    22"]);
    }

    #[test]
    fn ink_does_not_change_the_width() {
        let mut table = Table::new(&["A", "B"]);
        table.row(vec![inked("x", Ink::Good), cell("y")]);
        assert_eq!(table.lines(true, usize::MAX)[1], "\x1b[32mx\x1b[0m  y");
    }

    #[test]
    fn narrow_terminal_wraps_widest_column_without_loss() {
        let mut table = Table::new(&["NAME", "WHY"]);
        table.row(vec![cell("one"), cell("because of a long reason that goes on and on")]);
        let lines = table.lines(false, 30);
        assert!(lines.iter().all(|line| line.width() <= 30), "{lines:#?}");
        let words: Vec<&str> = lines[1..].iter().flat_map(|line| line.split_whitespace()).collect();
        assert_eq!(words.join(" "), "one because of a long reason that goes on and on");
        assert!(lines[2].starts_with("      that goes"), "{lines:#?}");
        // Two columns each: also a wide script fits.
        let mut wide = Table::new(&["N"]);
        wide.row(vec![cell("買い物リスト買い物リスト")]);
        assert!(wide.lines(false, 11).iter().all(|line| line.width() <= 11));
    }

    proptest::proptest! {
        #[test]
        fn wrapped_text_fits_and_loses_no_letter(text in "\\PC{0,200}", most in 8_usize..100) {
            let pieces = wrapped(&text, most);
            let letters = |text: &str| text.chars().filter(|c| !c.is_whitespace()).collect::<String>();
            proptest::prop_assert_eq!(letters(&pieces.concat()), letters(&text));
            proptest::prop_assert!(pieces.iter().all(|piece| piece.width() <= most));
        }
    }
}
