//! `bench`: hands a file to [`metnos_quality`], and prints what it measured. `throwaway` has the instances that `bench ask` and
//! `bench synt` use, `settings` what they begin with.

mod settings;
mod throwaway;

use std::path::Path;

use metnos_quality::ask::{AskFound, Part, Questions};
use metnos_quality::growth::{GrowthFound, Tasks};
use metnos_quality::{Failure, Report};
use schemars::JsonSchema;
use serde::Serialize;

use crate::bench::settings::Settings;
use crate::bench::throwaway::Throwaways;
use crate::command_line::cli::{AskedModel, AskedPart, BenchAsk, BenchCommand};
use crate::error::{CtlError, Exit};
use crate::instance::Instance;
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

/// `bench recall|next|reflex|route|ask|synt`. Only the last two look at the caller's instance, which `place` finds.
///
/// # Errors
/// When the file is not of its form, or memoryd cannot be started.
pub fn bench(
    screen: &mut Screen,
    place: impl FnOnce() -> Result<Instance, CtlError>,
    command: &BenchCommand,
) -> Result<Exit, CtlError> {
    match command {
        BenchCommand::Recall { file } => {
            let report = metnos_quality::recall(file.as_deref(), |text| show_progress(screen, text))?;
            show(screen, report)
        }
        BenchCommand::Next { file } => {
            let report = metnos_quality::next(file, |text| show_progress(screen, text))?;
            show(screen, report)
        }
        BenchCommand::Reflex { file, catalog } => {
            show(screen, metnos_quality::reflex(file, catalog.as_deref(), EXECUTORS)?)
        }
        BenchCommand::Ask(asked) => {
            let report = ask(screen, place, asked)?;
            show(screen, report)
        }
        BenchCommand::Synt { file } => {
            let report = synt(screen, place, file)?;
            show(screen, report)
        }
        BenchCommand::Route { file, learn } => show(screen, metnos_quality::route(file, *learn)?),
    }
}

fn ask(
    screen: &mut Screen,
    place: impl FnOnce() -> Result<Instance, CtlError>,
    asked: &BenchAsk,
) -> Result<Report<AskFound>, CtlError> {
    let part = match asked.part {
        AskedPart::All => Part::All,
        AskedPart::Held => Part::Held,
        AskedPart::Open => Part::Open,
    };
    let questions = Questions::read(&asked.file, part)?;
    let settings = Settings::of(&place()?, asked.model, "interface")?;
    show_progress(screen, "starting the first instance");
    let mut instances = Throwaways::new(&settings)?;
    let with = (throwaway::ZONE, asked.model == AskedModel::Configured);
    Ok(metnos_quality::ask::ask(&questions, &mut instances, with, |text| show_progress(screen, text))?)
}

fn synt(
    screen: &mut Screen,
    place: impl FnOnce() -> Result<Instance, CtlError>,
    file: &Path,
) -> Result<Report<GrowthFound>, CtlError> {
    let tasks = Tasks::read(file)?;
    let settings = Settings::of(&place()?, AskedModel::Configured, "synth")?;
    show_progress(screen, "starting the first instance");
    let mut instances = Throwaways::new(&settings)?;
    Ok(metnos_quality::growth::growth(&tasks, &mut instances, |text| show_progress(screen, text))?)
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
