//! `sandbox selftest`: the escape suite, tried by sandboxd on this machine, told in words. It judges nothing itself: what must
//! be stopped, and how that shows, sandboxd knows.

use metnos_proto::edges::CtlSandboxd;
use metnos_proto::ids::TraceId;
use metnos_proto::link::BlockingClient;
use metnos_proto::msg::sandboxd::{SandboxStatus, Selftest};
use serde_json::{Value, json};

use crate::daemons::connection::{Connection, document};
use crate::error::{CtlError, Exit};
use crate::instance::Instance;
use crate::screen::escape;
use crate::screen::human::counted;
use crate::screen::{Ink, Screen};

/// What came of one family.
#[derive(Debug)]
struct Family {
    name: String,
    about: String,
    tried: u32,
    held: u32,
    cases: Vec<Value>,
}

impl Family {
    fn skipped(&self) -> usize {
        self.cases.iter().filter(|case| case["skipped"] == true).count()
    }

    fn escaped(&self) -> impl Iterator<Item = &Value> {
        self.cases.iter().filter(|case| case["held"] == false)
    }

    fn document(&self) -> Value {
        json!({
            "name": self.name, "about": self.about, "tried": self.tried, "held": self.held, "cases": self.cases,
        })
    }
}

/// `sandbox selftest`: exit 1 when anything was not stopped as it must be.
///
/// # Errors
/// When sandboxd refuses or cannot be reached, or there is no such family.
pub fn selftest(screen: &mut Screen, instance: &Instance, only: &[String]) -> Result<Exit, CtlError> {
    let mut sandboxd = Connection::to(instance)?.open::<CtlSandboxd>()?;
    let (status, []) = sandboxd.sandbox_status(TraceId::NONE, SandboxStatus {}, [])?;
    let known = ask(&mut sandboxd, "")?.1;
    let known: Vec<&Value> = known.as_array().into_iter().flatten().collect();
    if let Some(unknown) = only.iter().find(|name| known.iter().all(|one| one["name"] != name.as_str())) {
        let names: Vec<&str> = known.iter().filter_map(|one| one["name"].as_str()).collect();
        let why = format!("there is no family `{unknown}`; there are {}", names.join(", "));
        return Err(CtlError::failed("the selftest", why, "name one of them, or none for all"));
    }
    let mut families = Vec::new();
    for one in known {
        let text = |key: &str| one[key].as_str().unwrap_or_default().to_owned();
        if !only.is_empty() && !only.contains(&text("name")) {
            continue;
        }
        let (tried, held, cases) = {
            let ((tried, held), cases) = ask(&mut sandboxd, &text("name"))?;
            (tried, held, cases.as_array().cloned().unwrap_or_default())
        };
        let family = Family { name: text("name"), about: text("about"), tried, held, cases };
        if !screen.json() {
            show(screen, &family)?;
        }
        families.push(family);
    }
    let (tried, held): (u32, u32) =
        families.iter().fold((0, 0), |(tried, held), family| (tried + family.tried, held + family.held));
    let skipped: usize = families.iter().map(Family::skipped).sum();
    let ok = tried > 0 && tried == held;
    if screen.json() {
        screen.document(&json!({
            "ok": ok, "tried": tried, "held": held, "skipped": skipped, "layers": status.layers,
            "families": families.iter().map(Family::document).collect::<Vec<_>>(),
        }))?;
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

fn ask(sandboxd: &mut BlockingClient<CtlSandboxd>, family: &str) -> Result<((u32, u32), Value), CtlError> {
    let (tested, [cases]) = sandboxd.selftest(TraceId::NONE, Selftest { family: family.to_owned() }, [])?;
    Ok(((tested.tried, tested.held), document(&cases)?))
}

fn show(screen: &mut Screen, family: &Family) -> Result<(), CtlError> {
    screen.line(&format!("{:<10} {} of {} stopped   {}", family.name, family.held, family.tried, family.about))?;
    for case in family.escaped() {
        let text = |key: &str| escape::line(case[key].as_str().unwrap_or_default());
        screen.aside(
            Ink::Bad,
            &format!(
                "  {} ({}, {}): wanted {}, came {}",
                text("name"),
                text("layer"),
                text("carrier"),
                text("wanted"),
                text("came")
            ),
        )?;
    }
    Ok(())
}
