//! `sandbox selftest`: the escape suite, tried by sandboxd on this machine, reported in words. It judges nothing itself: what must
//! be stopped, and how that shows, sandboxd knows.

use metnos_proto::doc::sandbox::{EscapeFamily, EscapeTry};
use metnos_proto::edges::CtlSandboxd;
use metnos_proto::ids::TraceId;
use metnos_proto::link::BlockingClient;
use metnos_proto::msg::sandboxd::{SandboxStatus, Selftest, Selftested};
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::daemons::connection::Connection;
use crate::error::{CtlError, Exit};
use crate::instance::Instance;
use crate::screen::escape;
use crate::screen::human::counted;
use crate::screen::{Ink, Screen};

/// What came of the suite.
#[derive(Debug, Serialize, JsonSchema)]
pub struct SelftestReport {
    /// Whether everything was stopped.
    ok: bool,
    /// How often something was tried.
    tried: u32,
    /// How often it was stopped.
    held: u32,
    /// How many cases this machine cannot try.
    skipped: usize,
    /// What carries each layer.
    layers: Vec<String>,
    /// The families.
    families: Vec<FamilyReport>,
}

/// What came of one family.
#[derive(Debug, Serialize, JsonSchema)]
pub struct FamilyReport {
    name: String,
    about: String,
    tried: u32,
    held: u32,
    cases: Vec<EscapeTry>,
}

impl FamilyReport {
    fn skipped(&self) -> usize {
        self.cases.iter().filter(|case| case.skipped).count()
    }

    fn escaped(&self) -> impl Iterator<Item = &EscapeTry> {
        self.cases.iter().filter(|case| case.held == Some(false))
    }
}

/// `sandbox selftest`: exit 1 when anything was not stopped as it must be.
///
/// # Errors
/// When sandboxd refuses or cannot be reached, or there is no such family.
pub fn selftest(screen: &mut Screen, instance: &Instance, only: &[String]) -> Result<Exit, CtlError> {
    let mut sandboxd = Connection::to(instance)?.open::<CtlSandboxd>()?;
    let (status, []) = sandboxd.sandbox_status(TraceId::NONE, SandboxStatus {}, [])?;
    let (_, known): (_, Vec<EscapeFamily>) = ask(&mut sandboxd, "")?;
    if let Some(unknown) = only.iter().find(|name| known.iter().all(|one| one.name != **name)) {
        let names: Vec<&str> = known.iter().map(|one| one.name.as_str()).collect();
        let why = format!("there is no family `{unknown}`; there are {}", names.join(", "));
        return Err(CtlError::failed("the selftest", why, "name one of them, or none for all"));
    }
    let mut families = Vec::new();
    for EscapeFamily { name, about, cases: _ } in known {
        if !only.is_empty() && !only.contains(&name) {
            continue;
        }
        let (Selftested { tried, held }, cases) = ask(&mut sandboxd, &name)?;
        let family = FamilyReport { name, about, tried, held, cases };
        if !screen.json() {
            show(screen, &family)?;
        }
        families.push(family);
    }
    let (tried, held): (u32, u32) =
        families.iter().fold((0, 0), |(tried, held), family| (tried + family.tried, held + family.held));
    let skipped: usize = families.iter().map(FamilyReport::skipped).sum();
    let ok = tried > 0 && tried == held;
    if screen.json() {
        screen.document(&SelftestReport { ok, tried, held, skipped, layers: status.layers, families })?;
    } else {
        for layer in &status.layers {
            screen.line(&format!("  {layer}"))?;
        }
        let tries = counted(tried.into(), "try", "tries");
        let verdict = if ok {
            format!("All of {tries} were stopped.")
        } else {
            format!(
                "{held} of {tries} were stopped. Stop Metnos (`metnosctl down`): executors could do the rest on this machine."
            )
        };
        screen.line(&verdict)?;
        if skipped > 0 {
            screen.aside(Ink::Warn, &format!("{skipped} were left out: they need Python's _ctypes and libffi.so.8"))?;
        }
    }
    Ok(if ok { Exit::Done } else { Exit::Failed })
}

/// The families of the suite, or what came of the one of this name.
fn ask<T: DeserializeOwned>(
    sandboxd: &mut BlockingClient<CtlSandboxd>,
    family: &str,
) -> Result<(Selftested, T), CtlError> {
    let unreadable = |why: String| CtlError::failed("the selftest", why, "look at `metnosctl doctor`");
    let (tested, [cases]) = sandboxd.selftest(TraceId::NONE, Selftest { family: family.to_owned() }, [])?;
    let bytes = cases.read().map_err(|error| unreadable(error.to_string()))?;
    Ok((tested, serde_json::from_slice(&bytes).map_err(|error| unreadable(error.to_string()))?))
}

fn show(screen: &mut Screen, family: &FamilyReport) -> Result<(), CtlError> {
    screen.line(&format!("{:<10} {} of {} stopped   {}", family.name, family.held, family.tried, family.about))?;
    for case in family.escaped() {
        let text = |text: &Option<String>| escape::line(text.as_deref().unwrap_or_default());
        let (name, layer) = (escape::line(&case.name), escape::line(&case.layer));
        let (carrier, wanted, came) = (text(&case.carrier), text(&case.wanted), text(&case.came));
        screen.aside(Ink::Bad, &format!("  {name} ({layer}, {carrier}): wanted {wanted}, came {came}"))?;
    }
    Ok(())
}
