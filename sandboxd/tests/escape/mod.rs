//! The escape suite (`metnos_sandboxd::selftest::escape`) on this machine. Each case is tried on a fresh interpreter and on a warm process;
//! and once more with the layer it names taken away, where it must get through: that shows that it tests something.

use std::os::fd::AsFd;
use std::time::Duration;

use metnos_proto::msg::common::{Carrier, Outcome};
use metnos_sandboxd::confine::approved::GrantView;
use metnos_sandboxd::confine::order::layout;
use metnos_sandboxd::plan::{Limits, Plan};
use metnos_sandboxd::pool::{Entry, Finished, Sandbox, ScratchFolder};
use metnos_sandboxd::process::frames::{HEAD, Instruction, frame};
use metnos_sandboxd::process::input::{self, CallRequest, Taken};
use metnos_sandboxd::process::limits::{self, AwaitedEnd, Breach, supervise};
use metnos_sandboxd::selftest::escape::{self, Case, Layer, families};
use rustix::process::Resource;
use serde_json::Value;

#[cfg(feature = "attack")]
mod careless;

use super::lab::runner::Verdict;
use super::lab::{Lab, patient, slower};

/// Every case.
pub fn all() -> Vec<Case> {
    families().unwrap().into_iter().flat_map(|family| family.cases).collect()
}

fn plan_of(case: &Case, lab: &Lab) -> Option<Plan> {
    case.plan(&lab.plain, lab.armed.as_ref()).unwrap()
}

/// What stops it on this kernel, the first layer first.
fn layers(case: &Case) -> impl Iterator<Item = Layer> + '_ {
    let abi = metnos_sandboxd::sys::landlock_abi().unwrap_or(0);
    case.layers().filter(move |layer| *layer != Layer::Landlock || abi >= case.landlock_from)
}

fn arguments() -> Value {
    escape::arguments(&families().unwrap())
}

/// Tries it as it is, on a fresh interpreter or on a warm process.
pub async fn held(lab: &Lab, case: &Case, warm: bool) -> Verdict {
    let Some(plan) = plan_of(case, lab) else {
        println!("{}: skipped, this machine has no _ctypes or no libffi.so.8", case.name);
        return Ok(());
    };
    let pool = lab.kernel_of(&plan).pool();
    if warm {
        pool.fill().await?;
    } else {
        pool.clear();
    }
    // The others are tried in the owner's own workspace.
    let scratch = (case.outside || case.secrets).then(|| lab.kernel.scratch(&case.stage())).transpose()?;
    let plan = scratch.as_ref().map_or(Ok(plan.clone()), |scratch| plan.with_stage(scratch.folder()));
    let plan = plan.map_err(|error| error.to_string())?;
    let finished = lab.run(&plan, &case.whole(), &arguments()).await;
    let carrier = if warm { Carrier::Warm } else { Carrier::Execed };
    if finished.resources.carrier != carrier {
        return Err(format!("{} and not {}", finished.resources.carrier.name(), carrier.name()));
    }
    let (held, came) = case.judge(&finished);
    if held { Ok(()) } else { Err(format!("wanted {:?}{}; came {came}", case.stopped, case.ends)) }
}

/// Tries it in a warm process whose order is without the first layer that stops it, and without the canaries, which would find
/// that: there it gets through, unless it says that something else stops it too.
pub async fn opened(lab: &Lab, case: &Case) -> Verdict {
    let Some(plan) = plan_of(case, lab) else { return Ok(()) };
    let scratch = lab.kernel.scratch(&case.stage())?;
    let plan = patient(&plan.with_stage(scratch.folder()).map_err(|error| error.to_string())?);
    let kernel = lab.kernel_of(&plan);
    kernel.pool().fill().await?;
    let idle = kernel.pool().fork(false).await?;
    let grants = kernel.pool().grants(&plan.spec().mounts, GrantView::ANY).await?;
    let fds: Vec<_> = grants.iter().map(|given| given.grant.as_fd()).collect();
    let places: Vec<&str> = grants.iter().map(|given| given.mount.target.as_str()).collect();
    let mut order = kernel.launcher().order(&plan, &places);
    without(&mut order, case.layer);
    if case.layer == Layer::Limits {
        // Its control group stands for limits, too.
        idle.limit(&Limits { processes: 1 << 20, ..plan.spec().limits })?;
    }
    metnos_proto::socket::send(idle.channel()?, &order, &fds).map_err(|error| error.to_string())?;
    let launched = idle.take().ok_or("the child has ended")?;
    let arguments = metnos_proto::json::canonical(&arguments());
    let mut words = frame(Instruction::Source, case.whole().as_bytes());
    words.extend(frame(Instruction::Request, &input::request(&plan, &Entry::Call { args: arguments, thought: None })));
    let mut granted_limits = plan.spec().limits;
    let granted = Duration::from_secs(granted_limits.wall_s.into());
    let mut patience = Duration::from_secs(60) * slower();
    if case.layer == Layer::Clock {
        (granted_limits.wall_s, patience) = (60 * slower(), granted + Duration::from_millis(500));
    }
    let stop = async {
        tokio::time::sleep(patience).await;
        Breach::Stopped
    };
    let ended = supervise(
        launched,
        &granted_limits,
        CallRequest::words(&words),
        Taken::default(),
        AwaitedEnd::AtDeath,
        stop,
        |_, _| {},
    )
    .await;
    if ended.outcome == Outcome::SandboxFailed {
        return Err(format!("it was not tried: {}", ended.why));
    }
    let result = (ended.outcome == Outcome::Ok).then_some(ended.result);
    let limits::Finished { outcome, why: detail, log, alarms, resources, .. } = ended;
    let finished = Finished { outcome, result, detail, log, alarms, resources };
    let (through, came) = case.got_through(&finished);
    let behind = layers(case).any(|layer| layer != case.layer);
    let alone = (!behind && case.kept.is_empty()) || case.alone_when_warm;
    match (through, alone) {
        (true, true) | (false, false) => Ok(()),
        // This kernel may be one of those.
        (false, true) if !case.refused_by.is_empty() => Ok(()),
        (false, true) => Err(format!("it is stopped without the layer it names: {came}")),
        (true, false) => Err(format!("it says that something else stops it too, and nothing does: {came}")),
    }
}

fn without(order: &mut Vec<u8>, layer: Layer) {
    order[HEAD + 1] &= !layout::CANARIES;
    match layer {
        Layer::Landlock => order[HEAD + 1] &= !layout::LANDLOCK,
        Layer::Seccomp => super::pool::open_filter(order),
        Layer::Limits => without_limits(order),
        Layer::Root
        | Layer::Mounts
        | Layer::Capabilities
        | Layer::Namespaces
        | Layer::Umask
        | Layer::Descriptors
        | Layer::Sizes
        | Layer::Clock
        | Layer::Disk
        | Layer::Channel => {}
    }
    let length = u32::try_from(order.len() - HEAD).unwrap();
    order[1..HEAD].copy_from_slice(&length.to_le_bytes());
}

/// Tries it on a fresh interpreter with every layer away that it names, where it must get through, or must not for the reason
/// that it gives; and with every one but one away, where each alone must hold.
#[cfg(feature = "attack")]
pub async fn each(lab: &Lab, case: &Case) -> Verdict {
    let Some(plan) = plan_of(case, lab) else { return Ok(()) };
    let named: Vec<Layer> = layers(case).collect();
    let (through, came) = case.got_through(&careless::without(lab, case, &plan, &named).await?);
    match (through, case.kept.is_empty()) {
        (true, true) | (false, false) => {}
        // This kernel may be one of those.
        (false, true) if !case.refused_by.is_empty() => {}
        (false, true) => return Err(format!("it is stopped without all of {named:?}: {came}")),
        (true, false) => return Err(format!("it gets through, against what it says ({}): {came}", case.kept)),
    }
    let several = case.kept.is_empty() && named.len() > 1;
    for left in layers(case).filter(|_| several) {
        let off: Vec<Layer> = layers(case).filter(|layer| *layer != left).collect();
        let (through, came) = case.got_through(&careless::without(lab, case, &plan, &off).await?);
        if through {
            return Err(format!("{left:?} does not stop it alone: {came}"));
        }
    }
    Ok(())
}

/// The order without limits, but for that of memory: a machine needs its own.
fn without_limits(order: &mut Vec<u8>) {
    let memory = (Resource::As as u32).to_le_bytes();
    assert_eq!(keep_limits(order, |limit| limit[..4] == memory), 1, "the order limits memory");
}

/// The order without any limit, for one that is held by its control group.
pub fn without_all_limits(order: &mut Vec<u8>) {
    keep_limits(order, |_| false);
    let length = u32::try_from(order.len() - HEAD).unwrap();
    order[1..HEAD].copy_from_slice(&length.to_le_bytes());
}

/// Leaves of an order's limits those that are wanted; how many those are.
fn keep_limits(order: &mut Vec<u8>, wanted: impl Fn(&[u8]) -> bool) -> usize {
    const ONE: usize = 12;
    let count = |order: &[u8], at: usize| usize::from(u16::from_le_bytes([order[at], order[at + 1]]));
    // Behind version and steps stand the places of mounts.
    let mut at = HEAD + 2;
    let mounts = count(order, at);
    at += 2;
    for _ in 0..mounts {
        at += 2 + count(order, at);
    }
    let (limits, first) = (count(order, at), at + 2);
    let all = order[first..first + limits * ONE].chunks_exact(ONE);
    let kept: Vec<u8> = all.filter(|limit| wanted(limit)).flatten().copied().collect();
    let left = kept.len() / ONE;
    let head = u16::try_from(left).unwrap().to_le_bytes();
    order.splice(at..first + limits * ONE, head.into_iter().chain(kept));
    left
}
