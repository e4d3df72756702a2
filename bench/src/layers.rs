//! What each layer of a sandbox costs when it is put on: the order to seal is given to waiting processes whole, and with one
//! layer taken out of it, in alternation; the difference is the layer's. Only in a process of its own, for sandboxd's view of
//! an instance can be entered once, by a process of one thread.

use std::collections::BTreeMap;
use std::os::fd::AsFd;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use metnos_proto::control::NetSettings;
use metnos_proto::executor::Manifest;
use metnos_sandboxd::confine::approved::GrantView;
use metnos_sandboxd::confine::order::layout;
use metnos_sandboxd::machine::interpreter::Interpreter;
use metnos_sandboxd::plan::Plan;
use metnos_sandboxd::pool::Sandbox;
use metnos_sandboxd::process::frames::HEAD;
use metnos_sandboxd::process::kernel::Kernel;
use rustix::event::{PollFd, PollFlags};

use crate::stats::{Table, Times, text};

/// The argument by which this program learns that it is the process of its own.
pub const INSIDE: &str = "layers-inside";
/// Rounds of each kind.
const ROUNDS: usize = 60;
/// How long a child has to be ready for its order.
const READY: Duration = Duration::from_millis(8);
/// Nobody's user and group, as the supervisor would choose them.
const UNPRIVILEGED: u32 = 64_322;

/// The order as it is, and what may be missing from it.
const KINDS: [&str; 5] = ["whole", "canaries", "landlock", "seccomp", "mounts"];

/// Measures the layers, in a process of its own.
pub fn measure(table: &mut Table) {
    let instance = tempfile::tempdir().unwrap();
    let workspace = instance.path().join("workspace/executors");
    std::fs::create_dir_all(workspace).unwrap();
    if rustix::process::geteuid().is_root() {
        let all = ["", "workspace", "workspace/executors"].map(|path| instance.path().join(path));
        all.iter().for_each(|path| std::os::unix::fs::chown(path, Some(UNPRIVILEGED), Some(UNPRIVILEGED)).unwrap());
    }
    let own = std::env::current_exe().unwrap();
    let output = Command::new(own).arg(INSIDE).arg(instance.path()).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    let medians: BTreeMap<&str, Duration> = said
        .lines()
        .filter_map(|line| line.split_once(' '))
        .filter_map(|(name, us)| Some((name, Duration::from_secs_f64(us.parse::<f64>().ok()? / 1e6))))
        .collect();
    let Some(whole) = medians.get("whole") else {
        table.row(
            "cost of each layer",
            "not measured".to_owned(),
            String::from_utf8_lossy(&output.stderr).replace('\n', " "),
            "",
        );
        return;
    };
    if let Some(fork) = medians.get("fork") {
        table.row(
            "a child in namespaces of its own",
            text(*fork),
            "the hop to the zygote and back included".to_owned(),
            "",
        );
    }
    table.row("sealing a warm process, all layers", text(*whole), "from its order to its word, median".to_owned(), "");
    for kind in &KINDS[1..] {
        let Some(without) = medians.get(kind) else { continue };
        // What is tried at the end is left out where the filter is, for it would find that.
        let beside = if *kind == "seccomp" { medians.get("canaries") } else { None };
        let cost = beside.unwrap_or(whole).saturating_sub(*without);
        table.row(&format!("of it: {kind}"), text(cost), String::new(), "");
    }
}

/// The process of its own: prints a name and a median in microseconds a line.
pub fn inside(instance: &Path) {
    drop_root();
    let interpreter = Interpreter::discover("/usr/bin/python3").unwrap();
    let kernel =
        Kernel::enter(instance, interpreter, false, &NetSettings::default(), Err("not measured".to_owned())).unwrap();
    // Built in: the view that was entered does not show it.
    let manifest = Manifest::parse(include_bytes!("../../executors/fs_read/manifest.toml")).unwrap();
    let plan = kernel.installation().plan(&manifest).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        kernel.pool().fill().await.unwrap();
        let (mut fork, mut by_kind) = (Times::default(), BTreeMap::<&str, Times>::new());
        for _ in 0..ROUNDS {
            for kind in KINDS {
                let began = Instant::now();
                let child = kernel.pool().fork(true).await.unwrap();
                fork.push(began.elapsed());
                std::thread::sleep(READY);
                let took = seal(&kernel, &plan, &child, kind).await;
                by_kind.entry(kind).or_default().push(took);
            }
        }
        println!("fork {:.1}", fork.median().as_secs_f64() * 1e6);
        for (kind, times) in by_kind {
            println!("{kind} {:.1}", times.median().as_secs_f64() * 1e6);
        }
    });
}

/// Gives the order without a layer, and waits for the word that it is on.
async fn seal(kernel: &Kernel, plan: &Plan, child: &metnos_sandboxd::warm::Idle, without: &str) -> Duration {
    let began = Instant::now();
    let mounts = without != "mounts";
    let granted = if mounts { plan.spec().mounts.as_slice() } else { &[] };
    let grants = kernel.pool().grants(granted, GrantView::ANY).await.unwrap();
    let places: Vec<&str> = grants.iter().map(|given| given.mount.target.as_str()).collect();
    let mut order = kernel.launcher().order(plan, &places);
    match without {
        "canaries" => order[HEAD + 1] &= !layout::CANARIES,
        "landlock" => order[HEAD + 1] &= !layout::LANDLOCK,
        "seccomp" => {
            order[HEAD + 1] &= !layout::CANARIES;
            open_filter(&mut order);
        }
        _ => {}
    }
    let fds: Vec<_> = grants.iter().map(|given| given.grant.as_fd()).collect();
    metnos_proto::socket::send(child.channel().unwrap(), &order, &fds).unwrap();
    let channel = child.channel().unwrap();
    let mut word = [0; HEAD];
    rustix::event::poll(&mut [PollFd::from_borrowed_fd(channel, PollFlags::IN)], None).unwrap();
    assert_eq!(rustix::io::read(channel, &mut word), Ok(HEAD), "{}", child.last_words());
    began.elapsed()
}

/// Puts *allow everything* in the place of the filter, which stands last: its count, then eight bytes an instruction.
fn open_filter(order: &mut Vec<u8>) {
    let first = [0x20, 0, 0, 0, 4, 0, 0, 0];
    let at = order.windows(8).rposition(|window| window == first).unwrap();
    order.truncate(at - 2);
    order.extend_from_slice(&1_u16.to_le_bytes());
    order.extend_from_slice(&[0x06, 0, 0, 0, 0, 0, 0xff, 0x7f]);
    let length = u32::try_from(order.len() - HEAD).unwrap();
    order[1..HEAD].copy_from_slice(&length.to_le_bytes());
}

/// As the supervisor does for each daemon.
fn drop_root() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let (uid, gid) = (rustix::process::Uid::from_raw(UNPRIVILEGED), rustix::process::Gid::from_raw(UNPRIVILEGED));
    rustix::thread::set_thread_groups(&[]).unwrap();
    rustix::thread::set_thread_res_gid(gid, gid, gid).unwrap();
    rustix::thread::set_thread_res_uid(uid, uid, uid).unwrap();
}
