//! sandboxd's process: it must never serve a word before its view, its lock and its canaries hold.

use std::process::ExitCode;

use metnos_sandboxd::daemon::View;

fn main() -> ExitCode {
    // As a user of its own, see [`metnos_egress::nursery`].
    if std::env::args_os().nth(1).is_some_and(|word| word == "egress") {
        return metnos_egress::nursery::main();
    }
    metnos_daemon::run::<View>()
}
