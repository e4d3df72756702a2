//! Sandboxes that are built without some of their layers, of a fresh interpreter: with everything away that a case names, it
//! must get through. What an owner's machine has is put into such a root as a stand-in of the same name.

use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::time::Duration;

use metnos_proto::json;
use metnos_proto::msg::common::{Outcome, Resources};
use metnos_sandboxd::confine::approved::GrantView;
use metnos_sandboxd::confine::inner::{ProcessRole, SkippedSteps};
use metnos_sandboxd::confine::order::layout;
use metnos_sandboxd::plan::{Egress, Limits, Memory, Mount, MountFlags, MountPurpose, Namespace, Plan, Spec};
use metnos_sandboxd::pool::{Entry, Finished, Sandbox, ScratchFolder};
use metnos_sandboxd::process::frames::{HEAD, Instruction, frame};
use metnos_sandboxd::process::input::{self, CallRequest, Taken};
use metnos_sandboxd::process::launch::{Launched, Launcher};
use metnos_sandboxd::process::limits::{self, AwaitedEnd, Breach, supervise};
use metnos_sandboxd::selftest::escape::{Case, Layer};
use rustix::process::{Resource, getrlimit};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::lab::{Lab, patient, slower};

/// How long anything may take here, on a machine that is not emulated.
const PATIENCE: Duration = Duration::from_secs(20);
/// What a flood may take when no limit stops it.
const ROOM: Memory = Memory { bytes: 256 << 20, files: 100_000 };
/// Open to everything that a mount can be open to.
const OPEN: MountFlags =
    MountFlags { read_only: false, no_suid: true, no_dev: true, no_exec: false, no_symfollow: false };

/// What a machine has, as a stand-in: where, what of [`outside`], and whether it is a folder.
const PLANTED: &[(&str, &str, bool)] = &[
    ("/etc", "etc", true),
    ("/proc", "proc", true),
    ("/sys", "sys", true),
    ("/root", "root", true),
    ("/home", "home", true),
    ("/dev/mem", "device", false),
    ("/dev/kmsg", "device", false),
    ("/dev/tty", "device", false),
    ("/dev/sda", "device", false),
    ("/dev/vda", "device", false),
    ("/dev/ptmx", "device", false),
    ("/dev/random", "device", false),
    ("/dev/shm", "shm", true),
    ("/dev/fd", "shm", true),
    ("/.policy", "policy", true),
    ("/pool", "root", true),
    ("/scratch", "root", true),
    ("/new", "root", true),
    ("/outside/home/ada/Secrets", "root", true),
];

/// The programs of a machine. For one that would execute them the interpreter stands in; it may be read in any case.
const PROGRAMS: [&str; 4] = ["/bin/sh", "/bin/id", "/usr/bin/id", "/usr/bin/env"];

fn outside() -> Value {
    let text = json!({"text": "not yours"});
    json!({
        "etc/passwd": text, "etc/shadow": text, "etc/cron.d/none": text,
        "proc/self/mem": text, "proc/1/root": text, "proc/self/root/etc/passwd": text,
        "sys/kernel": {"folder": true}, "root/letter": text, "home/owner/letter": text, "device": text,
        "shm/x": text, "shm/3": text, "policy/instance.key": text,
    })
}

/// Tries the case without these layers.
pub async fn without(lab: &Lab, case: &Case, plan: &Plan, off: &[Layer]) -> Result<Finished, String> {
    let has = |layer| off.contains(&layer);
    let (stage, outside) = (lab.kernel.scratch(&case.stage())?, lab.kernel.scratch(&outside())?);
    let skipped = SkippedSteps {
        landlock: has(Layer::Landlock),
        capabilities: has(Layer::Capabilities),
        root: has(Layer::Mounts),
    };
    let landlock = if has(Layer::Landlock) { None } else { metnos_sandboxd::sys::landlock_abi() };
    let launcher = Launcher::skipping(landlock, has(Layer::Seccomp), skipped).map_err(|error| error.to_string())?;
    let plan = plan.with_stage(stage.folder()).map_err(|error| error.to_string())?;
    let plan = patient(&plan);
    let granted = plan.spec().limits;
    let plan = plan.careless(|spec| {
        [spec.seccomp, spec.start_seccomp] = launcher.filter_digests(plan.runs());
        off.iter().for_each(|layer| take(spec, *layer, outside.folder()));
        if has(Layer::Root) {
            let file = format!("{}/device", outside.folder());
            let source =
                spec.argv.first().filter(|_| case.layer == Layer::Seccomp || case.runs).cloned().unwrap_or(file);
            spec.mounts.extend(PROGRAMS.map(|program| stand_in(&source, program, false, MountFlags::CODE)));
        }
    });
    let connection = || {
        std::fs::File::options()
            .read(true)
            .write(true)
            .open("/dev/null")
            .map(OwnedFd::from)
            .map_err(|error| error.to_string())
    };
    let connections = if has(Layer::Descriptors) { vec![connection()?] } else { Vec::new() };
    let launched = launcher.launch_with(&plan, ProcessRole::Executor, &connections, GrantView::ANY);
    let launched = launched.map_err(|error| error.to_string())?;
    let mut words = launcher.order(&plan, &[]);
    words[HEAD + 1] &= !layout::CANARIES;
    words[HEAD + 1] |= if has(Layer::Capabilities) { layout::KEEP } else { 0 };
    let arguments = json::canonical(&super::arguments());
    words.extend(frame(Instruction::Source, case.whole().as_bytes()));
    // The descriptor that was left open is no connection that anybody knows of.
    let told = plan.careless(|spec| spec.egress = None);
    words.extend(frame(Instruction::Request, &input::request(&told, &Entry::Call { args: arguments, thought: None })));
    if has(Layer::Channel) {
        // Where a limit is what ends it, there must be time for that.
        let limited = case.behind.contains(&Layer::Limits) && !has(Layer::Limits);
        return believe(launched, &words, if limited { PATIENCE } else { Duration::from_secs(3) } * slower()).await;
    }
    let wall_s = if has(Layer::Clock) { 60 * slower() } else { granted.wall_s };
    let output_bytes = granted.output_bytes;
    let watched = Limits { wall_s, output_bytes, ..plan.spec().limits };
    let patience = if has(Layer::Clock) { Duration::from_secs(granted.wall_s.into()) } else { PATIENCE * slower() };
    let stop = async {
        tokio::time::sleep(patience + Duration::from_millis(500)).await;
        Breach::Stopped
    };
    let ended = supervise(
        launched,
        &watched,
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
    Ok(Finished { outcome, result, detail, log, alarms, resources })
}

fn stand_in(source: &str, target: &str, folder: bool, flags: MountFlags) -> Mount {
    Mount { source: source.to_owned(), target: target.to_owned(), folder, purpose: MountPurpose::Stdlib, flags }
}

/// Takes a layer out of a plan, where it stands there.
fn take(spec: &mut Spec, layer: Layer, outside: &str) {
    let most = |resource| getrlimit(resource).maximum.unwrap_or(1 << 20);
    match layer {
        Layer::Root => {
            let planted = PLANTED
                .iter()
                .map(|(target, source, folder)| stand_in(&format!("{outside}/{source}"), target, *folder, OPEN));
            spec.mounts.extend(planted);
        }
        Layer::Mounts => {
            spec.mounts.retain(|mount| !matches!(mount.purpose, MountPurpose::Guard | MountPurpose::Kept));
            spec.mounts
                .iter_mut()
                .filter(|mount| mount.purpose != MountPurpose::Device)
                .for_each(|mount| mount.flags = OPEN);
        }
        Layer::Namespaces => {
            spec.namespaces.retain(|namespace| *namespace != Namespace::Pid);
            spec.env.push(("API_KEY".to_owned(), "not yours".to_owned()));
        }
        Layer::Umask => spec.umask = 0,
        Layer::Descriptors => {
            let host = Launcher::net_digest();
            spec.egress = Some(Egress { rules: Vec::new(), connections: 1, bytes: 1, host });
        }
        Layer::Limits => {
            spec.limits = Limits {
                cpu_s: 60 * slower(),
                processes: u32::try_from(most(Resource::Nproc)).unwrap_or(1 << 20),
                open_files: u32::try_from(most(Resource::Nofile)).unwrap_or(1 << 20),
                file_bytes: most(Resource::Fsize).max(1 << 41),
                ..spec.limits
            };
        }
        Layer::Sizes => spec.tmp = ROOM,
        // These are left out elsewhere: by the launcher, the order, or whoever watches.
        Layer::Landlock | Layer::Seccomp | Layer::Capabilities | Layer::Clock | Layer::Disk | Layer::Channel => {}
    }
}

/// Whoever believes what comes: the first result, as far as it came, however much follows and however it ends.
async fn believe(launched: Launched, words: &[u8], patience: Duration) -> Result<Finished, String> {
    let Launched { pid: _, pidfd, channel, log, fault: _fault, group: _group } = launched;
    // Nobody listens to its output.
    drop(log);
    let channel = UnixStream::from(channel);
    let channel = tokio::net::UnixStream::from_std(channel).map_err(|error| error.to_string())?;
    let (mut from, mut to) = channel.into_split();
    let mut heard = Vec::new();
    let talk = async {
        let hear = async {
            let mut piece = vec![0; 64 << 10];
            while let Ok(length @ 1..) = from.read(&mut piece).await {
                // A result is among the first bytes, or never comes.
                if heard.len() < 1 << 20 {
                    heard.extend_from_slice(&piece[..length]);
                }
            }
        };
        tokio::join!(to.write_all(words), hear)
    };
    let in_time = tokio::time::timeout(patience, talk).await.is_ok();
    let _ = rustix::process::pidfd_send_signal(&pidfd, rustix::process::Signal::KILL);
    let ended = rustix::process::WaitId::PidFd(std::os::fd::AsFd::as_fd(&pidfd));
    rustix::process::waitid(ended, rustix::process::WaitIdOptions::EXITED).map_err(|errno| errno.to_string())?;
    let mut rest = heard.as_slice();
    let mut result = None;
    while let Some((head, body)) = rest.split_first_chunk::<HEAD>() {
        let length = u32::from_le_bytes([head[1], head[2], head[3], head[4]]) as usize;
        if head[0] == b'R' {
            result = Some(body[..length.min(body.len())].to_vec());
            break;
        }
        rest = body.get(length..).unwrap_or_default();
    }
    let outcome = match (&result, in_time) {
        (Some(_), _) => Outcome::Ok,
        (None, true) => Outcome::Crashed,
        (None, false) => Outcome::Timeout,
    };
    let (detail, log, alarms, resources) = (String::new(), String::new(), Vec::new(), Resources::NONE);
    Ok(Finished { outcome, result, detail, log, alarms, resources })
}
