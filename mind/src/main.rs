//! Mind's process: it must never ask another daemon anything, open a file after its lock, or connect to a port that
//! the configuration does not name.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::rc::Rc;
use std::time::Duration;

use metnos_mind::daemon::{self, Opened};
use metnos_mind::keys::{FOLDER, name_of};
use metnos_mind::lanes::Lane;
use metnos_mind::registry::Registry;
use metnos_mind::serve::Mind as Service;
use metnos_mind::substrate::{Patience, Substrate};
use metnos_outbound::hold::{CREDENTIALS, Holder};
use metnos_outbound::net::Net;
use metnos_proto::boot::{BootError, Daemon};
use metnos_proto::control::Start;
use metnos_proto::edges::{
    CtlMind, DoorMind, PlannerMind, PolicydMind, SyntdMind, ctl_mind, door_mind, planner_mind, policyd_mind, syntd_mind,
};
use metnos_proto::role::Mind;

fn main() -> ExitCode {
    daemon::live::<Mind, _, _>(open, |mind: Rc<Service>| async move { mind.drain().await })
}

fn open(daemon: &mut Daemon<Mind>) -> Result<Opened<Rc<Service>>, BootError> {
    let (mind, ports) = prepare(&daemon.start).map_err(BootError::Protocol)?;
    let mind = Rc::new(mind);
    let [owner, door, planner, policyd, syntd] = [0; 5].map(|_| Rc::clone(&mind));
    daemon.answers::<CtlMind, _, _>(move |end| ctl_mind::serve(end, Rc::clone(&owner)))?;
    daemon.answers::<DoorMind, _, _>(move |end| door_mind::serve(end, Rc::clone(&door)))?;
    daemon.answers::<PlannerMind, _, _>(move |end| planner_mind::serve(end, Rc::clone(&planner)))?;
    daemon.answers::<PolicydMind, _, _>(move |end| policyd_mind::serve(end, Rc::clone(&policyd)))?;
    daemon.answers::<SyntdMind, _, _>(move |end| syntd_mind::serve(end, Rc::clone(&syntd)))?;
    tracing::info!("{}", mind.report().says);
    Ok(Opened { service: mind, ports })
}

/// Everything that is opened, and the ports that are connected to.
fn prepare(start: &Start) -> Result<(Service, Vec<u16>), String> {
    let settings = &start.settings.models;
    let registry = Registry::read(settings)?;
    let servers: Vec<_> = registry.substrates.iter().map(|line| line.server.clone()).collect();
    let net = Net::open(&start.settings.net, &servers);
    let folder = Path::new(&start.instance).join(FOLDER);
    let credentials = std::env::var_os(CREDENTIALS).map(PathBuf::from);
    let seconds = |seconds: u32| Duration::from_secs(seconds.into());
    let patience = Patience { first: seconds(settings.first_seconds), between: seconds(settings.between_seconds) };
    let substrates = registry.substrates.iter().map(|line| {
        let key =
            Holder::open(&folder, credentials.as_deref(), &name_of(&line.name)).map_err(|error| error.to_string());
        if let Err(why) = &key {
            tracing::error!("{why}");
        }
        let client = net.client(&line.server, Lane::Planner.places());
        if let Err(why) = &client {
            tracing::error!(substrate = line.name, "{why}");
        }
        Substrate::new(line.clone(), settings.parallel, patience, client, key)
    });
    let substrates = substrates.collect();
    let ports = net.ports(&servers);
    Ok((Service::new(registry, substrates), ports))
}
