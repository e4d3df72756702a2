//! `executor export`, `import` and `sign`: an executor on its way between instances, and the owner's yes to what nobody has signed.
//! policyd reads, judges and signs; this carries the bytes of a file, and shows what is to be approved, whole and harmless for a
//! terminal.

use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::path::Path;

use metnos_proto::edges::CtlPolicyd;
use metnos_proto::ids::TraceId;
use metnos_proto::msg::lifecycle::{ImportExecutor, LifecycleAsk, SignRequest};
use metnos_proto::parcel::MAX_PARCEL_BYTES;
use metnos_proto::payload::Sealed;
use serde_json::{Value, json};

use crate::daemons::connection::{Connection, document};
use crate::error::{CtlError, Exit};
use crate::screen::Screen;
use crate::screen::escape;

/// A text of others, harmless for a terminal.
fn text(value: &Value) -> String {
    escape::line(value.as_str().unwrap_or_default())
}

fn file_error(file: &Path, why: impl std::fmt::Display, remedy: &str) -> CtlError {
    CtlError::failed(format!("the file {}", file.display()), why.to_string(), remedy)
}

/// `executor export`.
///
/// # Errors
/// When policyd refuses or cannot be reached, or the file is there already or cannot be written.
pub(crate) fn export(screen: &mut Screen, reach: &mut Connection, name: &str, file: &Path) -> Result<Exit, CtlError> {
    let (_, [parcel]) = reach.open::<CtlPolicyd>()?.life(TraceId::NONE, LifecycleAsk::Export(name.to_owned()), [])?;
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
        screen.document(&json!({
            "ok": true, "name": name, "version": version, "file": file, "bytes": bytes.len(), "exporter": exporter,
        }))?;
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
    let opened = File::open(file).and_then(|opened| opened.take(limit).read_to_end(&mut bytes));
    opened.map_err(|error| file_error(file, error, remedy))?;
    if bytes.len() > MAX_PARCEL_BYTES {
        return Err(file_error(file, format!("it has more than {MAX_PARCEL_BYTES} bytes"), remedy));
    }
    let parcel = Sealed::new(&bytes).map_err(|error| file_error(file, error, remedy))?;
    let (_, [answer]) = reach.open::<CtlPolicyd>()?.import_executor(TraceId::NONE, ImportExecutor {}, [parcel])?;
    let answer = document(&answer)?;
    if screen.json() {
        screen.document(&answer)?;
        return Ok(Exit::Done);
    }
    let name = text(&answer["name"]);
    screen.line(&format!("{name} {} is in the pool, and may not be called.", text(&answer["version"])))?;
    screen.line(&format!("  it comes from the instance {}", text(&answer["origin"]["exporter"])))?;
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
    let (_, [answer]) = reach.open::<CtlPolicyd>()?.life(TraceId::NONE, ask, [])?;
    let answer = document(&answer)?;
    let waits = answer["changed"] != true;
    let exit = if waits { Exit::Waiting } else { Exit::Done };
    if screen.json() {
        screen.document(&answer)?;
        return Ok(exit);
    }
    let who = format!("{} {}", text(&answer["name"]), text(&answer["version"]));
    if !waits {
        screen.line(&format!("{who} is signed, and may be called."))?;
        return Ok(exit);
    }
    screen.line(&format!("{who} was signed by nobody here."))?;
    lines(&answer["card"]).iter().try_for_each(|line| screen.line(line))?;
    let digest = text(&answer["digest"]);
    screen.line(&format!("  → if you want exactly this: metnosctl executor sign {name} --confirm {digest}"))?;
    Ok(exit)
}

/// What is to be approved, a line each.
fn lines(card: &Value) -> Vec<String> {
    let mut lines = vec![
        format!("  does: {}", text(&card["summary"])),
        format!("  effects: {}{}", text(&card["class"]), if card["reversible"] == true { ", reversible" } else { "" }),
        format!("  may use: {}", granted(&card["capabilities"])),
        format!("  comes from: {}", origin(&card["origin"])),
        "  its own tests, in a sandbox that grants nothing (in its own one only after your yes):".to_owned(),
    ];
    for case in card["cases"].as_array().into_iter().flatten() {
        let mark = if case["passed"] == true { "holds" } else { "does not hold there" };
        let detail = text(&case["detail"]);
        let detail = if detail.is_empty() { detail } else { format!(" ({detail})") };
        lines.push(format!("    {}: {mark}{detail}", text(&case["name"])));
    }
    for (what, part) in [("manifest.toml", "manifest"), ("schema.json", "schema"), ("main.py", "code")] {
        lines.push(format!("  {what}:"));
        let whole = card[part].as_str().unwrap_or_default();
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

fn origin(origin: &Value) -> String {
    if origin["kind"] != "imported" {
        return "the pool of this instance, where it was put by hand".to_owned();
    }
    let before = origin["came_through"].as_array().map_or(0, Vec::len);
    let before = if before == 0 { String::new() } else { format!(", which names {before} before it") };
    format!("the instance {}{before}", text(&origin["exporter"]))
}
