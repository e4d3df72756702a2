// The planner cannot take the end at which policyd asks sandboxd.
use metnos_proto::boot::Daemon;
use metnos_proto::edges::PolicydSandboxd;
use metnos_proto::role::Planner;

fn wire(daemon: &mut Daemon<Planner>) {
    let _ = daemon.asks::<PolicydSandboxd>();
}

fn main() {}
