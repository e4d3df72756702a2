//! The life of a hostile daemon: it starts, locks itself and obeys the supervisor as the real one does,
//! because anyone who takes over a daemon takes it over inside its lock.

use metnos_jail::{Places, Profile, Pss, Waivers, die_with_parent, lock};
use metnos_proto::boot::{Boot, BootError, Daemon};
use metnos_proto::edge::RpcError;
use metnos_proto::payload::Sealed;
use metnos_proto::role::Role;
use tokio::task::LocalSet;

/// Whatever kept it from living.
pub type Failure = Box<dyn std::error::Error>;

/// Lives as role `R`; `open` takes the ends and starts to serve.
pub fn live<R: Role>(open: impl FnOnce(&mut Daemon<R>) -> Result<(), BootError>) -> Result<(), Failure> {
    die_with_parent()?;
    let pss = Pss::open()?;
    let boot = Boot::<R>::receive()?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().enable_time().build()?;
    LocalSet::new().block_on(&runtime, async {
        let mut daemon = boot.into_daemon()?;
        open(&mut daemon)?;
        let waivers = Waivers::from_names(&daemon.start.settings.waive)?;
        let locked = lock(&Profile::load(R::NAME.text())?, &Places::new(), &waivers)?;
        daemon.ready(locked.report().to_lines(), locked.report().waived.clone())?;
        daemon.control(|| pss.kib().unwrap_or(0)).await?;
        daemon.drained();
        Ok(())
    })
}

/// Sealed memory with this text.
pub fn sealed(text: &str) -> Result<Sealed, RpcError> {
    Sealed::new(text.as_bytes()).map_err(|error| RpcError::Unsendable(error.to_string()))
}

/// How an ask went, as a line that a test can look for: `refused RULE`, `gone`, `violation`, ….
pub fn outcome<T>(result: Result<T, RpcError>, said: impl FnOnce(T) -> String) -> String {
    match result {
        Ok(value) => said(value),
        Err(RpcError::Refused(refusal)) => format!("refused {}: {}", refusal.rule, refusal.why),
        Err(RpcError::Gone(_)) => "gone".to_owned(),
        Err(RpcError::Late { .. }) => "late".to_owned(),
        Err(RpcError::Violation(_, what)) => format!("violation {what}"),
        Err(RpcError::Unsendable(why)) => format!("unsendable {why}"),
    }
}
