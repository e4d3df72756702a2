//! `executor export`, `import` and `sign`: an executor on its way between instances, and the owner's yes to what nobody has signed.
//! policyd reads, judges and signs; this carries the bytes of a file, and shows what is to be approved, whole and harmless for a
//! terminal.

use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::path::Path;

use metnos_proto::doc::executor::{Candidate, LifecycleAnswer, Origin};
use metnos_proto::edges::CtlPolicyd;
use metnos_proto::ids::TraceId;
use metnos_proto::msg::lifecycle::{ExportExecutor, ImportExecutor, LifecycleAsk, SignRequest};
use metnos_proto::parcel::MAX_PARCEL_BYTES;
use metnos_proto::payload::Sealed;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use crate::daemons::connection::{Connection, document, opened};
use crate::error::{CtlError, Exit};
use crate::executors::archive;
use crate::screen::Screen;
use crate::screen::escape;

/// A text of others, harmless for a terminal.
fn text(value: &Value) -> String {
    escape::line(value.as_str().unwrap_or_default())
}

fn file_error(file: &Path, why: impl std::fmt::Display, remedy: &str) -> CtlError {
    CtlError::failed(format!("the file {}", file.display()), why.to_string(), remedy)
}

/// An executor was written into a file.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ExecutorExported {
    /// It was.
    ok: bool,
    /// Its name.
    name: String,
    /// Its version.
    version: String,
    /// The file.
    file: String,
    /// How large it is.
    bytes: usize,
    /// The key of this instance, which has signed it.
    exporter: String,
}

/// `executor export`.
///
/// # Errors
/// When policyd refuses or cannot be reached, or the file is there already or cannot be written.
pub(crate) fn export(screen: &mut Screen, reach: &mut Connection, name: &str, file: &Path) -> Result<Exit, CtlError> {
    let ask = ExportExecutor { name: name.to_owned() };
    let (_, [parcel]) = reach.open::<CtlPolicyd>()?.export_executor(TraceId::NONE, ask, [])?;
    let told = document(&parcel)?;
    let bytes = parcel.read().map_err(|error| file_error(file, error, "try again"))?;
    let write = || -> std::io::Result<()> {
        let mut out = OpenOptions::new().write(true).create_new(true).open(file)?;
        out.write_all(&bytes)?;
        out.sync_all()
    };
    write().map_err(|error| {
        file_error(file, error, "name a file that is not there yet, in a folder that you may write")
    })?;
    let (version, exporter) = (text(&told["version"]), text(&told["provenance"]["exporter"]));
    if screen.json() {
        let (name, file) = (name.to_owned(), file.display().to_string());
        screen.document(&ExecutorExported { ok: true, name, version, file, bytes: bytes.len(), exporter })?;
    } else {
        screen.line(&format!("{name} {version} is in {}, signed by this instance.", file.display()))?;
        screen.line(&format!("  its key is {exporter}: the one who imports it can compare that with you"))?;
    }
    Ok(Exit::Done)
}

/// `executor import`.
///
/// # Errors
/// When the file cannot be read, or policyd refuses it or cannot be reached.
pub(crate) fn import(screen: &mut Screen, reach: &mut Connection, file: &Path) -> Result<Exit, CtlError> {
    let remedy = "name a file that `metnosctl executor export` has written";
    let mut bytes = Vec::new();
    let limit = MAX_PARCEL_BYTES as u64 + 1;
    let read = File::open(file).and_then(|file| file.take(limit).read_to_end(&mut bytes));
    read.map_err(|error| file_error(file, error, remedy))?;
    if bytes.len() > MAX_PARCEL_BYTES {
        return Err(file_error(file, format!("it has more than {MAX_PARCEL_BYTES} bytes"), remedy));
    }
    let parcel = Sealed::new(&bytes).map_err(|error| file_error(file, error, remedy))?;
    let imported = opened(reach.open::<CtlPolicyd>()?.import_executor(TraceId::NONE, ImportExecutor {}, [parcel])?)?;
    if screen.json() {
        screen.document(&imported)?;
        return Ok(Exit::Done);
    }
    let (name, version) = (escape::line(&imported.name), escape::line(&imported.version));
    screen.line(&format!("{name} {version} is in the pool, and may not be called."))?;
    screen.line(&format!("  it comes from {}", origin(&imported.origin)))?;
    screen.line(&format!("  → metnosctl executor sign {name}: shows it, and asks for your yes"))?;
    Ok(Exit::Done)
}

/// `executor sign`.
///
/// # Errors
/// When policyd refuses or cannot be reached.
pub(crate) fn sign(
    screen: &mut Screen,
    reach: &mut Connection,
    name: &str,
    confirm: Option<&str>,
) -> Result<Exit, CtlError> {
    let ask =
        LifecycleAsk::Sign(SignRequest { name: name.to_owned(), confirm: confirm.unwrap_or_default().to_owned() });
    let report = match opened(reach.open::<CtlPolicyd>()?.life(TraceId::NONE, ask, [])?)? {
        LifecycleAnswer::Signed(report) => report,
        LifecycleAnswer::Changed(_) => return Err(archive::unasked()),
    };
    let exit = if report.changed { Exit::Done } else { Exit::Waiting };
    if screen.json() {
        screen.document(&report)?;
        return Ok(exit);
    }
    let who = escape::line(&format!("{} {}", report.name, report.version));
    if report.changed {
        screen.line(&format!("{who} is signed, and may be called."))?;
        return Ok(exit);
    }
    screen.line(&format!("{who} was signed by nobody here."))?;
    report.card.iter().flat_map(lines).try_for_each(|line| screen.line(&line))?;
    let digest = escape::line(&report.digest);
    screen.line(&format!("  → if you want exactly this: metnosctl executor sign {name} --confirm {digest}"))?;
    Ok(exit)
}

/// What is to be approved, a line each.
fn lines(card: &Candidate) -> Vec<String> {
    let mut lines = vec![
        format!("  does: {}", escape::line(&card.summary)),
        format!("  effects: {}{}", escape::line(&card.class), if card.reversible { ", reversible" } else { "" }),
        format!("  may use: {}", granted(&card.capabilities)),
        format!("  comes from: {}", origin(&card.origin)),
        "  its own tests, in a sandbox that grants nothing (in its own one only after your yes):".to_owned(),
    ];
    for case in &card.cases {
        let mark = if case.passed { "holds" } else { "does not hold there" };
        let detail = escape::line(&case.detail);
        let detail = if detail.is_empty() { detail } else { format!(" ({detail})") };
        lines.push(format!("    {}: {mark}{detail}", escape::line(&case.name)));
    }
    for (what, whole) in [("manifest.toml", &card.manifest), ("schema.json", &card.schema), ("main.py", &card.code)] {
        lines.push(format!("  {what}:"));
        lines.extend(whole.lines().enumerate().map(|(at, line)| format!("  {:>5} {}", at + 1, escape::line(line))));
    }
    lines
}

fn granted(capabilities: &Value) -> String {
    match capabilities.as_array().map(Vec::as_slice) {
        None | Some([]) => "nothing".to_owned(),
        Some(all) => all.iter().map(|one| escape::line(&one.to_string())).collect::<Vec<_>>().join(", "),
    }
}

fn origin(origin: &Origin) -> String {
    match origin {
        Origin::Seed {} => "the release".to_owned(),
        Origin::Own(_) => "the pool of this instance, where it was put by hand".to_owned(),
        Origin::Drafted(drafting) => format!(
            "a run of drafts of this instance, by {}, for the wish \u{201c}{}\u{201d}",
            escape::line(&drafting.model),
            escape::line(&drafting.wish)
        ),
        Origin::Imported(import) => {
            let before = match import.came_through.len() {
                0 => String::new(),
                count => format!(", which names {count} before it"),
            };
            format!("the instance {}{before}", escape::line(&import.exporter))
        }
    }
}
