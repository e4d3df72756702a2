//! Starts memoryd: hear who it is, open everything, lock, serve. It must never serve unlocked.

use std::path::Path;
use std::process::ExitCode;

use metnos_jail::{Places, Profile, Pss, Waivers, die_with_parent, lock};
use metnos_memoryd::chronicle::time::SystemClock;
use metnos_memoryd::daemon::Daemon;
use metnos_memoryd::faults::NoFaults;
use metnos_memoryd::memory::Memory;
use metnos_proto::boot::{Boot, send_fault};
use metnos_proto::control::{self, Ready, Report, Start};
use metnos_proto::ids::SessionId;
use metnos_proto::role::Memoryd;
use std::os::fd::AsFd;

fn main() -> ExitCode {
    tracing_subscriber::fmt().with_writer(metnos_proto::log::stderr).with_ansi(false).with_target(false).init();
    let boot = match die_with_parent().map_err(Into::into).and_then(|()| Ok(Boot::<Memoryd>::receive()?)) {
        Ok(boot) => boot,
        Err(error) => return ended(error),
    };
    let (control, start, ends) = boot.into_parts();
    let (memory, pss, ready) = match prepare(&start) {
        Ok(prepared) => prepared,
        Err(error) => {
            send_fault(control.as_fd(), &error.to_string());
            return ended(error);
        }
    };
    let pss_kib = Box::new(move || pss.kib().unwrap_or(0));
    let told = control::send(control.as_fd(), &Report::Ready(ready), None);
    match told.map_err(AnyError::from).and_then(|()| Ok(Daemon::new(control, memory, ends, pss_kib).run()?)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => ended(error),
    }
}

type AnyError = Box<dyn std::error::Error>;

fn ended(error: AnyError) -> ExitCode {
    tracing::error!(%error, "memoryd ends");
    ExitCode::FAILURE
}

/// Opens everything, then locks.
fn prepare(start: &Start) -> Result<(Memory, Pss, Ready), AnyError> {
    let instance = Path::new(&start.instance);
    let calls = start.settings.calls_per_use_day;
    let memory = Memory::open(instance, SessionId::new(), Box::new(SystemClock), Box::new(NoFaults), calls)?
        .on_a_machine_at(&start.settings.zone);
    let pss = Pss::open()?;
    let places = Places::new()
        .with("audit", instance.join(".audit"))
        .with("mnestome", instance.join(".mnestome"))
        .with("soul", instance.join(".soul"))
        .with("runtime", instance.join(".runtime"))
        .with("workspace", instance.join("workspace"));
    let waivers = Waivers::from_names(&start.settings.waive)?;
    let locked = lock(&Profile::load("memoryd")?, &places, &waivers)?;
    #[cfg(feature = "attack")]
    metnos_proto::boot::ATTACK.get_or_init(|| attack);
    Ok((memory, pss, Ready { lock: locked.report().to_lines(), waived: start.settings.waive.clone() }))
}

/// Test builds only: attempts a forbidden act and says which errno stopped it.
#[cfg(feature = "attack")]
fn attack(name: &str, target: &str) -> (i32, String) {
    match name.parse::<metnos_jail::attack::Attempt>() {
        Ok(act) => match metnos_jail::attack::attempt(act, (!target.is_empty()).then_some(target)) {
            Ok(achieved) => (0, achieved),
            Err(errno) => (errno, String::new()),
        },
        Err(unknown) => (-1, unknown.to_string()),
    }
}
