//! `bench`: hands a file to [`metnos_quality`], and prints what it measured.

use metnos_quality::{Failure, Report};
use schemars::JsonSchema;
use serde::Serialize;

use crate::command_line::cli::BenchCommand;
use crate::error::{CtlError, Exit};
use crate::instance::seeds::EXECUTORS;
use crate::json_constant::ConstTrue;
use crate::screen::table::{Table, cell};
use crate::screen::{Screen, escape};

/// What a measurement prints.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Measured<T> {
    /// It was done.
    ok: ConstTrue,
    /// What was found.
    #[serde(flatten)]
    found: T,
}

/// `bench recall|next|reflex|route`.
///
/// # Errors
/// When the file is not of its form, or memoryd cannot be started.
pub fn bench(screen: &mut Screen, command: &BenchCommand) -> Result<Exit, CtlError> {
    match command {
        BenchCommand::Recall { file } => {
            let report = metnos_quality::recall(file, |text| show_progress(screen, text))?;
            show(screen, report)
        }
        BenchCommand::Next { file } => {
            let report = metnos_quality::next(file, |text| show_progress(screen, text))?;
            show(screen, report)
        }
        BenchCommand::Reflex { file, catalog } => {
            show(screen, metnos_quality::reflex(file, catalog.as_deref(), EXECUTORS)?)
        }
        BenchCommand::Route { file, learn } => show(screen, metnos_quality::route(file, *learn)?),
    }
}

fn show_progress(screen: &mut Screen, text: &str) {
    // Anyone who watched has gone; what was asked for is measured all the same.
    let _gone = screen.progress(text);
}

fn show<T: Serialize>(screen: &mut Screen, report: Report<T>) -> Result<Exit, CtlError> {
    if screen.json() {
        screen.document(&Measured { ok: ConstTrue, found: report.document })?;
        return Ok(Exit::Done);
    }
    let mut table = Table::new(report.heading);
    report.rows.into_iter().for_each(|row| table.row(row.into_iter().map(cell).collect()));
    table.show(screen, 0)?;
    report.notes.iter().try_for_each(|note| screen.line(&escape::line(note)))?;
    Ok(Exit::Done)
}

impl From<Failure> for CtlError {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Failed { what, why, remedy } => Self::Failed { what, why, remedy },
            Failure::Memory(error) => error.into(),
        }
    }
}
