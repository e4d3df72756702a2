//! The pool of warm processes: it serves, it is never depended upon, and it leaves nothing.

use std::os::unix::fs::MetadataExt;

use metnos_proto::executor::Quotas;
use metnos_proto::ids::TurnId;
use metnos_proto::json;
use metnos_proto::msg::common::{Carrier, Outcome};
use metnos_proto::msg::sandboxd::SeenFolder;
use metnos_sandboxd::confine::approved::Approved;
use metnos_sandboxd::plan::Plan;
use metnos_sandboxd::pool::{Entry, Finished, Job, Sandbox, Secrets};
use metnos_sandboxd::process::frames::MAX_ALARMS;
use metnos_sandboxd::process::input::{CallRequest, Taken};
use metnos_sandboxd::process::limits::{AwaitedEnd, supervise};
use metnos_sandboxd::warm::stock::{BUSY_CHILDREN, IDLE_CHILDREN};
use rustix::fs::{CWD, RenameFlags};
use serde_json::json;
use tokio::sync::oneshot;

use super::lab::runner::Verdict;
use super::lab::{Lab, children};
use super::{WRITER, answer, birth, holds};

/// Calls of each of two kinds of which nothing may be left: 2,000 in all, and fewer in a build that was not optimised, where
/// they take minutes. `METNOS_MANY_CALLS` says another number; a full run makes 10,000.
fn many() -> usize {
    let calls = if cfg!(debug_assertions) { 300 } else { 1_000 };
    std::env::var("METNOS_MANY_CALLS").ok().map_or(calls, |calls| calls.parse().expect("METNOS_MANY_CALLS is a number"))
}

fn code(says: &str) -> String {
    format!("def run(args, ctx):\n    return {{'ok': True, 'answer': '{says}'}}\n")
}

async fn call(lab: &Lab, turn: Option<TurnId>, plan: &Plan, code: &str) -> Finished {
    let (_keep, kill) = oneshot::channel();
    let entry = Entry::Call { args: json::canonical(&json!({})), thought: None };
    let (code, secrets) = (code.as_bytes(), &Secrets::none());
    lab.kernel
        .run(Job {
            turn,
            plan,
            code,
            entry,
            secrets,
            progress: &|_, _| {},
            approved: Approved::ANY,
            covers: None,
            opens: &[],
            kill,
            begin: None,
            keeper: None,
        })
        .await
}

fn carried(finished: &Finished, says: &str, carrier: Carrier) -> Verdict {
    let fine =
        finished.outcome == Outcome::Ok && finished.resources.carrier == carrier && answer(finished) == json!(says);
    holds(fine, format!("wanted {says} {}: {finished:?}", carrier.name()))
}

pub async fn served(lab: &Lab) -> Verdict {
    let plan = lab.pure_plan(Quotas::default());
    let pool = lab.kernel.pool();
    pool.fill().await?;
    let who = "import os\ndef run(args, ctx):\n    return {'ok': True, 'answer': [os.getpid(), os.getuid(), os.listdir(ctx.tmp), len(os.environ) < 12]}\n";
    for _ in 0..2 {
        let finished = call(lab, None, &plan, who).await;
        holds(finished.resources.carrier == Carrier::Warm, format!("{finished:?}"))?;
        holds(answer(&finished) == json!([1, 1000, [], true]), format!("{finished:?}"))?;
    }
    holds(pool.counts().zygotes >= 1, format!("{:?}", pool.counts()))
}

pub async fn forked(lab: &Lab) -> Verdict {
    let plan = lab.pure_plan(Quotas::default());
    lab.kernel.pool().fill().await?;
    let mut carriers = Vec::new();
    for _ in 0..BUSY_CHILDREN + 2 {
        carriers.push(call(lab, None, &plan, &code("x")).await.resources.carrier);
    }
    // First those that wait, then those that are forked.
    let waited = carriers.iter().take_while(|carrier| **carrier == Carrier::Warm).count();
    let forked = carriers.iter().skip(waited).all(|carrier| *carrier == Carrier::Forked);
    holds(forked && (IDLE_CHILDREN..=BUSY_CHILDREN).contains(&waited), format!("{carriers:?}"))
}

pub async fn executed(lab: &Lab) -> Verdict {
    let plan = lab.pure_plan(Quotas::default());
    lab.kernel.pool().clear();
    carried(&call(lab, None, &plan, &code("x")).await, "x", Carrier::Execed)
}

/// What `status` says of the pool is what has happened in it.
pub async fn described(lab: &Lab) -> Verdict {
    let plan = lab.pure_plan(Quotas::default());
    let pool = lab.kernel.pool();
    pool.clear();
    let before = pool.counts();
    call(lab, None, &plan, &code("x")).await;
    let missed = pool.describe();
    holds(missed.contains(&format!("{} executed", before.execed + 1)) && missed.contains("none now"), &missed)?;
    pool.fill().await?;
    call(lab, None, &plan, &code("x")).await;
    let served = pool.describe();
    let wanted = [
        format!("{} warm, ", before.warm + 1),
        format!("{} executed", before.execed + 1),
        format!("{} zygotes, the last ", before.zygotes + 1),
    ];
    holds(wanted.iter().all(|part| served.contains(part)), &served)?;
    // What waits has some memory of its own; what is gone has none.
    pool.fill().await?;
    let memory = |told: &str| -> Option<[u64; 2]> {
        let (_, told) = told.split_once("; memory: ")?;
        let (waits, zygote) = told.strip_suffix(" KiB in the zygote")?.split_once(" KiB in what waits, ")?;
        Some([waits.parse().ok()?, zygote.parse().ok()?])
    };
    let full = pool.describe();
    holds(memory(&full).is_some_and(|[waits, zygote]| waits > 300 && zygote > 300), &full)?;
    pool.clear();
    let empty = pool.describe();
    holds(memory(&empty) == Some([0, 0]), &empty)
}

pub async fn predicted(lab: &Lab) -> Verdict {
    let plan = lab.hostile_plan(false).unwrap();
    let pool = lab.kernel.pool();
    for _ in 0..2 {
        let turn = Some(TurnId::new());
        call(lab, turn, &plan, &code("first")).await;
        call(lab, turn, &plan, &code("second")).await;
    }
    pool.fill().await?;
    let turn = Some(TurnId::new());
    call(lab, turn, &plan, &code("first")).await;
    pool.fill().await?;
    carried(&call(lab, turn, &plan, &code("second")).await, "second", Carrier::Predicted)?;
    // It served once and is gone.
    let again = call(lab, turn, &plan, &code("second")).await;
    carried(&again, "second", Carrier::Warm)
}

pub async fn not_another(lab: &Lab) -> Verdict {
    let plan = lab.hostile_plan(false).unwrap();
    let pool = lab.kernel.pool();
    pool.fill().await?;
    call(lab, Some(TurnId::new()), &plan, &code("first")).await;
    pool.fill().await?;
    carried(&call(lab, Some(TurnId::new()), &plan, &code("other")).await, "other", Carrier::Warm)?;
    // The same code in another sandbox is another executor.
    let wider = lab.writers_plan("workspace/", false).unwrap();
    carried(&call(lab, Some(TurnId::new()), &wider, &code("first")).await, "first", Carrier::Warm)
}

pub async fn crashed(lab: &Lab) -> Verdict {
    let plan = lab.pure_plan(Quotas::default());
    let pool = lab.kernel.pool();
    pool.fill().await?;
    let before = pool.counts().zygotes;
    let finished = call(lab, None, &plan, "import os\ndef run(args, ctx):\n    os.abort()\n").await;
    holds(finished.outcome == Outcome::Crashed, format!("{finished:?}"))?;
    pool.fill().await?;
    holds(pool.counts().zygotes == before + 1, format!("{:?}", pool.counts()))?;
    carried(&call(lab, None, &plan, &code("x")).await, "x", Carrier::Warm)
}

pub async fn grants(lab: &Lab) -> Verdict {
    let pool = lab.kernel.pool();
    for (folder, writes) in [("workspace/", "drafts"), ("workspace/desk/", "desk")] {
        pool.fill().await?;
        let plan = lab.writers_plan(folder, false).unwrap();
        let finished = lab.run(&plan, WRITER, &json!({"folder": writes})).await;
        holds(
            answer(&finished) == json!("one t") && finished.resources.carrier == Carrier::Warm,
            format!("{finished:?}"),
        )?;
    }
    pool.fill().await?;
    let narrow = lab.writers_plan("workspace/desk/", false).unwrap();
    let look = "import os\ndef run(args, ctx):\n    return {'ok': True, 'answer': os.listdir(ctx.workspace + '/desk') != [] and not os.path.exists(ctx.workspace + '/notes')}\n";
    let finished = lab.run(&narrow, look, &json!({})).await;
    holds(answer(&finished) == json!(true), format!("{finished:?}"))
}

pub async fn unrecorded(lab: &Lab) -> Verdict {
    let plan = lab.writers_plan("workspace/desk/", false).unwrap();
    // Warm, and with an interpreter of its own.
    for warm in [true, false] {
        lab.kernel.pool().fill().await?;
        if !warm {
            lab.kernel.pool().clear();
        }
        let mark = if warm { "/workspace/desk/ran-warm" } else { "/workspace/desk/ran-cold" };
        // In its first line, before it is called.
        let code = format!("import os\nos.mkdir('{mark}')\n{}", code("ran"));
        let ran = || std::fs::metadata(mark).is_ok();
        for record in [false, true] {
            let (_keep, kill) = oneshot::channel();
            let (recorded, begin) = oneshot::channel();
            let entry = Entry::Call { args: json::canonical(&json!({})), thought: None };
            let (code, progress) = (code.as_bytes(), &|_, _| {});
            let job = Job {
                turn: None,
                plan: &plan,
                code,
                entry,
                secrets: &Secrets::none(),
                progress,
                approved: Approved::ANY,
                covers: None,
                opens: &[],
                kill,
                begin: Some(begin),
                keeper: None,
            };
            if record {
                recorded.send(()).unwrap();
            } else {
                drop(recorded);
            }
            let finished = lab.kernel.run(job).await;
            holds(finished.outcome == if record { Outcome::Ok } else { Outcome::Killed }, format!("{finished:?}"))?;
            holds(ran() == record, format!("warm {warm}, recorded {record}, and ran {}", ran()))?;
        }
    }
    Ok(())
}

pub async fn births(lab: &Lab) -> Verdict {
    lab.kernel.pool().fill().await?;
    let before = lab.kernel.pool().counts().execed;
    for seed in ["fs_read", "fs_list", "text_stats"] {
        birth(lab, seed).await?;
    }
    // Two cases of fs_list have a file of secrets in their workspace, which only a fresh interpreter covers.
    holds(lab.kernel.pool().counts().execed == before + 2, format!("{:?}", lab.kernel.pool().counts()))
}

/// What this process holds: descriptors, mounts, control groups below its own where its view shows them.
fn held() -> (usize, usize, usize) {
    let descriptors = std::fs::read_dir("/proc/self/fd").unwrap().count();
    let mounts = std::fs::read_to_string("/proc/self/mountinfo").unwrap().lines().count();
    let own = std::fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let own = own.lines().find_map(|line| line.strip_prefix("0::/")).unwrap_or_default();
    let below = std::fs::read_dir(std::path::Path::new("/sys/fs/cgroup").join(own)).into_iter().flatten().flatten();
    (descriptors, mounts, below.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir())).count())
}

pub async fn leftovers(lab: &Lab) -> Verdict {
    let plan = lab.writers_plan("workspace/", false).unwrap();
    let pool = lab.kernel.pool();
    pool.fill().await?;
    pool.clear();
    lab.kernel.reaper().settle().await;
    let before = held();
    for number in 0..many() {
        if number % 8 == 0 {
            pool.fill().await?;
        }
        let finished = call(lab, (number % 3 == 0).then(TurnId::new), &plan, &code("x")).await;
        holds(finished.outcome == Outcome::Ok, format!("{number}: {finished:?}"))?;
    }
    // One that only reads is over with its result, and is collected later.
    let reads = lab.hostile_plan(false).ok_or("no plan")?;
    for number in 0..many() {
        if number % 8 == 0 {
            pool.fill().await?;
        }
        let finished = call(lab, None, &reads, &code("x")).await;
        holds(finished.outcome == Outcome::Ok, format!("{number}: {finished:?}"))?;
    }
    lab.kernel.reaper().settle().await;
    pool.clear();
    holds(held() == before, format!("{before:?} before, {:?} after", held()))?;
    let left = children();
    holds(left == ["metnos-egress"], format!("a process is left: {left:?}"))?;
    let Some(groups) = lab.kernel.launcher().groups() else { return Ok(()) };
    let left = groups.names().map_err(|errno| errno.to_string())?;
    holds(left.is_empty(), format!("a control group is left: {left:?}"))
}

/// An order with anything wrong in it ends the process before a byte of code is read.
pub async fn bad_orders(lab: &Lab) -> Verdict {
    use metnos_sandboxd::confine::inner::ProcessRole;
    use metnos_sandboxd::process::frames::{Instruction, frame};
    let plan = lab.pure_plan(Quotas { wall_s: 10, ..Quotas::default() });
    let launcher = lab.kernel.launcher();
    let pool = lab.kernel.pool();
    pool.fill().await?;
    let good = launcher.order(&plan, &[]);
    let body = &good[metnos_sandboxd::process::frames::HEAD..];
    let changed = |change: fn(&mut Vec<u8>)| {
        let mut body = body.to_vec();
        change(&mut body);
        frame(Instruction::Seal, &body)
    };
    let bad = [
        changed(|body| body.truncate(body.len() - 1)),
        changed(|body| body.push(0)),
        changed(|body| body[0] += 1),
        changed(|body| body[1] |= 0x80),
        // A filter that the kernel does not take.
        changed(|body| body.iter_mut().rev().take(8).for_each(|byte| *byte = 0xff)),
        // A filter that lets everything through: the canaries live, so nothing else may.
        changed(open_filter),
        frame(Instruction::Request, body),
        frame(Instruction::Seal, &[]),
    ];
    for (number, order) in bad.into_iter().enumerate() {
        for warm in [false, true] {
            // What a fresh interpreter starts under still stands when the order opens the filter.
            if number == OPEN && !warm {
                continue;
            }
            let launched = if warm {
                pool.fork(false).await?.take().ok_or("the child has ended")?
            } else {
                launcher.launch(&plan, ProcessRole::Executor).map_err(|error| error.to_string())?
            };
            let mut words = order.clone();
            words.extend(frame(Instruction::Source, code("ran").as_bytes()));
            words.extend(frame(Instruction::Request, REQUEST));
            let finished = supervise(
                launched,
                &plan.spec().limits,
                CallRequest::words(&words),
                Taken::default(),
                AwaitedEnd::AtDeath,
                std::future::pending(),
                |_, _| {},
            )
            .await;
            let nothing = finished.outcome == Outcome::SandboxFailed && finished.result.is_empty();
            let why = number != OPEN || finished.why.contains("canary: ");
            holds(nothing && why, format!("{number} warm {warm}: {finished:?}"))?;
        }
    }
    Ok(())
}

/// The place of the order that opens the filter, among the bad ones.
const OPEN: usize = 5;
const REQUEST: &[u8] = br#"{"entry":"run","args":{},"workspace":"/workspace","tmp":"/tmp","wall_s":1}"#;

/// Puts *allow everything* in the place of the filter.
pub fn open_filter(order: &mut Vec<u8>) {
    // The filter stands last: its count, then eight bytes an instruction. Its first is the load of the architecture.
    let first = [0x20, 0, 0, 0, 4, 0, 0, 0];
    let at = order.windows(8).rposition(|window| window == first).unwrap();
    order.truncate(at - 2);
    order.extend_from_slice(&1_u16.to_le_bytes());
    order.extend_from_slice(&[0x06, 0, 0, 0, 0, 0, 0xff, 0x7f]);
}

/// A call that was decided on these folders, in `turn` where it has one.
async fn decided(lab: &Lab, turn: Option<TurnId>, plan: &Plan, code: &str, approved: Approved<'_>) -> Finished {
    let (_keep, kill) = oneshot::channel();
    let entry = Entry::Call { args: json::canonical(&json!({})), thought: None };
    let (code, secrets) = (code.as_bytes(), &Secrets::none());
    lab.kernel
        .run(Job {
            turn,
            plan,
            code,
            entry,
            secrets,
            progress: &|_, _| {},
            approved,
            covers: None,
            opens: &[],
            kill,
            begin: None,
            keeper: None,
        })
        .await
}

/// A folder is swapped after the decision and before it is mounted: on each step of the ladder nothing runs then. What had
/// mounted it before sees the folder that was decided on, and serves no decision about another.
pub async fn swapped(lab: &Lab) -> Verdict {
    let seen = || {
        let stat = std::fs::metadata("/workspace/swap").unwrap();
        [SeenFolder { below: "swap".to_owned(), device: stat.dev(), inode: stat.ino() }]
    };
    let make = |name: &str| std::fs::create_dir(format!("/writable/{name}")).unwrap();
    let lists =
        "import os\ndef run(args, ctx):\n    return {'ok': True, 'answer': os.listdir(ctx.workspace + '/swap')}\n";
    let pool = lab.kernel.pool();
    make("swap");
    make("swap/first");
    make("other");
    make("other/second");
    let plan = lab.writers_plan("workspace/swap/", false).unwrap();
    for carrier in [Carrier::Execed, Carrier::Warm, Carrier::Predicted] {
        let turn = (carrier == Carrier::Predicted).then(TurnId::new);
        pool.clear();
        if carrier != Carrier::Execed {
            pool.fill().await?;
        }
        let before = seen();
        if turn.is_some() {
            decided(lab, turn, &plan, lists, Approved(Some(&before))).await;
            pool.fill().await?;
        }
        let finished = decided(lab, turn, &plan, lists, Approved(Some(&before))).await;
        holds(answer(&finished) == json!(["first"]) && finished.resources.carrier == carrier, format!("{finished:?}"))?;
        if carrier != Carrier::Execed {
            pool.fill().await?;
        }
        rustix::fs::renameat_with(CWD, "/writable/swap", CWD, "/writable/other", RenameFlags::EXCHANGE).unwrap();
        if carrier == Carrier::Predicted {
            let now = seen();
            let finished = decided(lab, turn, &plan, lists, Approved(Some(&now))).await;
            let other = answer(&finished) == json!(["second"]) && finished.resources.carrier != Carrier::Predicted;
            holds(other, format!("decided on the other: {finished:?}"))?;
        } else {
            let finished = decided(lab, turn, &plan, lists, Approved(Some(&before))).await;
            let why = "not the folder that was decided on";
            let told = finished.outcome == Outcome::SandboxFailed && finished.detail.contains(why);
            holds(told && finished.result.is_none(), format!("{} swapped: {finished:?}", carrier.name()))?;
        }
        // Without the comparison it would have seen the other one.
        let finished = decided(lab, None, &plan, lists, Approved::ANY).await;
        holds(answer(&finished) == json!(["second"]), format!("{finished:?}"))?;
        rustix::fs::renameat_with(CWD, "/writable/swap", CWD, "/writable/other", RenameFlags::EXCHANGE).unwrap();
    }
    Ok(())
}

/// What is closed is covered on whatever step a call is served, and next to it everything is as it was.
pub async fn covered(lab: &Lab) -> Verdict {
    let put = |path: &str| {
        let path = format!("/writable/covered/{path}");
        std::fs::create_dir_all(std::path::Path::new(&path).parent().unwrap()).unwrap();
        std::fs::write(path, "the owner's key").unwrap();
    };
    [".ssh/id", ".netrc", ".config/metnos/x", ".config/other/x", "deep/.ssh/id", "open.txt"].into_iter().for_each(put);
    let reads = "import os\ndef run(args, ctx):\n    seen = {}\n    base = ctx.workspace + '/covered/'\n    for path in ['.ssh/id', '.netrc', '.config/metnos/x', '.config/other/x', 'deep/.ssh/id', 'open.txt']:\n        try:\n            seen[path] = open(base + path).read()\n        except OSError as error:\n            seen[path] = type(error).__name__\n    seen['list'] = os.listdir(base + '.ssh')\n    try:\n        os.rename(base + '.ssh', base + 'ssh')\n    except OSError as error:\n        seen['rename'] = type(error).__name__\n    return {'ok': True, 'answer': seen}\n";
    let open = "the owner's key";
    let wanted = json!({
        ".ssh/id": "FileNotFoundError", ".netrc": "PermissionError", ".config/metnos/x": "FileNotFoundError",
        ".config/other/x": open, "deep/.ssh/id": "FileNotFoundError", "open.txt": open, "list": [], "rename": "OSError",
    });
    let plan = lab.writers_plan("workspace/covered/", false).unwrap();
    lab.kernel.pool().fill().await?;
    for turn in [None, Some(TurnId::new()), None] {
        let finished = call(lab, turn, &plan, reads).await;
        let came = answer(&finished);
        holds(came == wanted && finished.resources.carrier == Carrier::Execed, format!("{came} {finished:?}"))?;
    }
    // Once there is nothing to cover, whatever waits serves again.
    std::fs::rename("/writable/covered/deep/.ssh", "/writable/covered/deep/ssh").unwrap();
    for path in [".ssh", ".netrc", ".config"] {
        std::fs::rename(format!("/writable/covered/{path}"), format!("/writable/covered/was{path}")).unwrap();
    }
    lab.kernel.pool().fill().await?;
    carried(&call(lab, None, &plan, &code("ran")).await, "ran", Carrier::Warm)
}

/// What no executor has a use for is told by Python as it happens, whether it lives or not; what executors do is not.
pub async fn alarms(lab: &Lab) -> Verdict {
    let tries = "import os\ndef run(args, ctx):\n    for act in (os.fork, lambda: os.system('id'), lambda: open('/etc/shadow'), lambda: os.kill(1, 9)):\n        try:\n            act()\n        except OSError:\n            pass\n    os._exit(0)\n";
    let many = "import os\ndef run(args, ctx):\n    for _ in range(100):\n        try:\n            os.fork()\n        except OSError:\n            pass\n    return {'ok': True, 'answer': 'ran'}\n";
    let plan = lab.pure_plan(Quotas::default());
    for warm in [false, true] {
        lab.kernel.pool().clear();
        if warm {
            lab.kernel.pool().fill().await?;
        }
        let finished = call(lab, None, &plan, tries).await;
        let wanted = ["os.fork", "os.system id", "open /etc/shadow", "os.kill 1"];
        holds(finished.alarms == wanted && finished.outcome == Outcome::Crashed, format!("{finished:?}"))?;
        let finished = call(lab, None, &plan, many).await;
        holds(finished.alarms.len() == MAX_ALARMS && answer(&finished) == json!("ran"), format!("{finished:?}"))?;
        let writer = lab.writers_plan("workspace/desk/", false).unwrap();
        let finished = lab.run(&writer, WRITER, &json!({"folder": "desk"})).await;
        holds(finished.alarms.is_empty() && finished.outcome == Outcome::Ok, format!("{finished:?}"))?;
    }
    Ok(())
}
