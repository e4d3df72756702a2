//! The door's process: the only one that channels lead to. It must never choose a call, nor open a file after its lock.

use std::path::Path;
use std::process::ExitCode;
use std::rc::Rc;

use metnos_daemon::{Confinement, Daemon, Fatal, Opened, Served, Service};
use metnos_gatewayd::hooks::Hooks;
use metnos_gatewayd::hooks::secret_store::HookSecrets;
use metnos_gatewayd::http::listener::HttpListener;
use metnos_gatewayd::session::{Door, Peers, TURN_WITHIN_MS, firing};
use metnos_gatewayd::telegram;
use metnos_jail::Places;
use metnos_proto::boot::Boot;
use metnos_proto::edges::CtlDoor;
use metnos_proto::role::Gatewayd;

fn main() -> ExitCode {
    metnos_daemon::run::<Channels>()
}

/// What the channels need from before the lock.
struct Channels {
    hooks: Hooks,
    http: HttpListener,
    telegram: telegram::Opened,
    /// The timer of the alarm.
    timer: firing::Timer,
}

impl Opened for Channels {
    type Role = Gatewayd;

    fn open(boot: &mut Boot<Gatewayd>) -> Result<Self, Fatal> {
        let folder = Path::new(&boot.start.instance).join(telegram::FOLDER);
        let hooks = Hooks::new(HookSecrets::open(&folder).map_err(|error| error.to_string()));
        let http = HttpListener::open(&boot.start.settings.http);
        Ok(Self { hooks, http, telegram: telegram::Opened::open(&boot.start), timer: firing::alarm::open()? })
    }

    fn confinement(&self) -> Confinement {
        let ports = self.telegram.ports();
        let mut unused_calls = Vec::new();
        if ports.is_empty() {
            unused_calls.extend(["socket", "connect"]);
        }
        let listens = self.http.waits_for();
        if listens.is_none() {
            unused_calls.extend(["bind", "listen"]);
        }
        Confinement { places: Places::new().with_ports(ports).with_listen(listens), unused_calls }
    }
}

impl Served for Channels {
    type Service = Serving;

    async fn serve(self, daemon: &mut Daemon<Gatewayd>) -> Result<Serving, Fatal> {
        let peers =
            Peers { policyd: daemon.asks()?, memoryd: daemon.asks()?, planner: daemon.asks()?, mind: daemon.asks()? };
        let door = Door::new(peers, TURN_WITHIN_MS);
        door.belongs_to(daemon.start.settings.owner_uid);
        let sessions = Rc::clone(&door);
        daemon.answers::<CtlDoor, _, _>(move |end| sessions.session(end))?;
        door.set_timer(self.timer)?;
        door.start();
        door.set_hooks(self.hooks);
        self.http.begin(&door);
        self.telegram.begin(&door);
        Ok(Serving(door))
    }
}

struct Serving(Rc<Door>);

impl Service<Gatewayd> for Serving {
    async fn drain(&self) {
        self.0.drain().await;
    }
}
