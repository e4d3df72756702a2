//! The configured servers with their keys, opened before the lock.

pub mod fair_queue;
pub mod keys;
pub mod registry;
pub mod substrate;

use std::path::{Path, PathBuf};
use std::time::Duration;

use metnos_outbound::net::Net;
use metnos_outbound::secret_file::{CREDENTIALS, SecretFile};
use metnos_proto::control::Start;

use crate::mind::Mind;
use crate::servers::fair_queue::Lane;
use crate::servers::keys::{FOLDER, name_of};
use crate::servers::registry::Registry;
use crate::servers::substrate::{Substrate, Timeouts};

/// What mind holds open when it locks itself.
pub struct Servers {
    /// What answers.
    pub mind: Mind,
    /// The ports that are connected to.
    pub ports: Vec<u16>,
}

impl Servers {
    /// Opens the key of each server, and reads what a connection to it needs.
    ///
    /// # Errors
    /// In a sentence, when the configuration of models cannot be read. A server whose key or way is missing is kept, and
    /// says why it cannot be asked.
    pub fn open(start: &Start) -> Result<Self, String> {
        let settings = &start.settings.models;
        let registry = Registry::read(settings)?;
        let servers: Vec<_> = registry.substrates.iter().map(|line| line.server.clone()).collect();
        let net = Net::open(&start.settings.net, &servers);
        let folder = Path::new(&start.instance).join(FOLDER);
        let credentials = std::env::var_os(CREDENTIALS).map(PathBuf::from);
        let seconds = |seconds: u32| Duration::from_secs(seconds.into());
        let patience = Timeouts { first: seconds(settings.first_seconds), between: seconds(settings.between_seconds) };
        let substrates = registry.substrates.iter().map(|line| {
            let key = SecretFile::open(&folder, credentials.as_deref(), &name_of(&line.name));
            let key = key.map_err(|error| error.to_string()).inspect_err(|why| tracing::error!("{why}"));
            let client = net.client(&line.server, Lane::Planner.places());
            let client = client.inspect_err(|why| tracing::error!(substrate = line.name, "{why}"));
            Substrate::new(line.clone(), settings.parallel, patience, client, key)
        });
        let substrates = substrates.collect();
        Ok(Self { mind: Mind::new(registry, substrates), ports: net.ports(&servers) })
    }
}
