//! memoryd's process: it opens everything, then locks, then serves with a loop of its own. It must never serve unlocked.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use metnos_daemon::{Blocking, Confinement, Fatal, Opened};
use metnos_jail::Places;
use metnos_memoryd::at_rest::{self, Keys};
use metnos_memoryd::chronicle::time::SystemClock;
use metnos_memoryd::daemon::Daemon;
use metnos_memoryd::faults::NoFaults;
use metnos_memoryd::memory::Memory;
use metnos_proto::boot::Boot;
use metnos_proto::ids::SessionId;
use metnos_proto::role::Memoryd;

fn main() -> ExitCode {
    metnos_daemon::run_blocking(|Blocking { opened, control, ends, pss }: Blocking<Stores>| {
        Ok(Daemon::new(control, opened.memory, ends, Box::new(move || pss.kib().unwrap_or(0))).run()?)
    })
}

/// The chronicle and what is derived from it.
struct Stores {
    memory: Memory,
    instance: PathBuf,
}

impl Opened for Stores {
    type Role = Memoryd;

    fn open(boot: &mut Boot<Memoryd>) -> Result<Self, Fatal> {
        let (instance, settings) = (Path::new(&boot.start.instance), &boot.start.settings);
        let (clock, calls) = (Box::new(SystemClock), settings.calls_per_use_day);
        let keys = boot
            .key
            .take()
            .ok_or_else(|| Fatal::from("the supervisor passed no vault key: does `.policy/vault.key` exist?"))?;
        // The vault key itself is dropped before any other file is read.
        let keys = Keys::open(&instance.join(".audit"), &at_rest::read_key(keys)?)?;
        let memory = Memory::open(instance, SessionId::new(), clock, Box::new(NoFaults), calls, &keys)?;
        Ok(Self { memory: memory.with_machine_zone(&settings.zone), instance: instance.to_owned() })
    }

    fn confinement(&self) -> Confinement {
        let folders = ["audit", "mnestome", "soul", "runtime"];
        let places: Places = folders.iter().map(|name| (*name, self.instance.join(format!(".{name}")))).collect();
        Confinement { places: places.with("workspace", self.instance.join("workspace")), unused_calls: Vec::new() }
    }
}
