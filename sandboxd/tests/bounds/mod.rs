//! What a call may do to the disk and to the owner's own files, on whatever step it is carried.

use std::cell::RefCell;

use metnos_proto::executor::Quotas;
use metnos_proto::ids::TurnId;
use metnos_proto::json;
use metnos_proto::msg::common::{Carrier, Outcome};
use metnos_sandboxd::confine::approved::Approved;
use metnos_sandboxd::plan::{KEPT, Plan};
use metnos_sandboxd::pool::{Entry, Finished, Job, Sandbox, ScratchFolder, Secrets};
use metnos_sandboxd::pool::{Keeper, Keeping};
use serde_json::json;
use tokio::sync::oneshot;

use super::lab::Lab;
use super::lab::runner::Verdict;
use super::{answer, holds};

async fn call(lab: &Lab, turn: Option<TurnId>, plan: &Plan, code: &str, opens: &[String]) -> Finished {
    called(lab, turn, plan, code, (opens, None)).await
}

async fn call_keeping(lab: &Lab, plan: &Plan, code: &str, keeper: Option<&dyn Keeper>) -> Finished {
    called(lab, None, plan, code, (&[], keeper)).await
}

async fn called(
    lab: &Lab,
    turn: Option<TurnId>,
    plan: &Plan,
    code: &str,
    (opens, keeper): (&[String], Option<&dyn Keeper>),
) -> Finished {
    let (_keep, kill) = oneshot::channel();
    let entry = Entry::Call { args: json::canonical(&json!({})), thought: None };
    let job = Job {
        turn,
        plan,
        code: code.as_bytes(),
        entry,
        secrets: &Secrets::none(),
        progress: &|_, _| {},
        approved: Approved::ANY,
        covers: None,
        opens,
        kill,
        begin: None,
        keeper,
    };
    lab.kernel.run(job).await
}

/// Keeps what it is about to change, once, and says what it was told of a second time.
const KEEPS: &str = r"
def run(args, ctx):
    try:
        ctx.keep({'uids': [1, 2]})
        seen = 'kept'
    except PermissionError:
        return {'ok': True, 'answer': 'not asked for'}
    try:
        ctx.keep({})
        seen = 'twice'
    except PermissionError:
        pass
    return {'ok': True, 'answer': seen}
";

/// Writes what is sent without the host's word for it.
const SENDS: &str = r"
import os
def run(args, ctx):
    os.write(3, b'K' + (2).to_bytes(4, 'little') + b'{}')
    return {'ok': True, 'answer': 'sent'}
";

/// Takes what is kept, or refuses it.
#[derive(Debug, Default)]
struct Keeps {
    kept: RefCell<Vec<Vec<u8>>>,
    refuses: bool,
}

impl Keeper for Keeps {
    fn keep(&self, before: Vec<u8>) -> Keeping<'_> {
        self.kept.borrow_mut().push(before);
        Box::pin(std::future::ready(if self.refuses { Err("the disk is full".to_owned()) } else { Ok(()) }))
    }
}

/// A call goes on only when what it keeps is durable, keeps one thing, and keeps nothing where its manifest does not say so.
pub async fn keeping(lab: &Lab) -> Verdict {
    let plan = lab.pure_plan(Quotas::default());
    for warm in [false, true] {
        if warm {
            lab.kernel.pool().fill().await?;
        }
        let (takes, refuses) = (Keeps::default(), Keeps { refuses: true, ..Keeps::default() });
        let finished = call_keeping(lab, &plan, KEEPS, Some(&takes)).await;
        let told = answer(&finished) == json!("kept") && *takes.kept.borrow() == [br#"{"uids":[1,2]}"#.to_vec()];
        holds(told, format!("{finished:?} {takes:?}"))?;
        let finished = call_keeping(lab, &plan, KEEPS, Some(&refuses)).await;
        let stopped = finished.outcome == Outcome::Failed && finished.detail.contains("the disk is full");
        holds(stopped, format!("{finished:?}"))?;
        let finished = call_keeping(lab, &plan, KEEPS, None).await;
        holds(answer(&finished) == json!("not asked for"), format!("{finished:?}"))?;
        let finished = call_keeping(lab, &plan, SENDS, None).await;
        holds(finished.outcome == Outcome::Crashed, format!("{finished:?}"))?;
    }
    Ok(())
}

/// Tries what would change one of the owner's files.
const CHANGES: &str = r"
import os
def run(args, ctx):
    path, new = ctx.workspace + '/SOUL.md', ctx.workspace + '/notes/new_laws'
    os.close(os.open(new, os.O_CREAT | os.O_WRONLY))
    seen = []
    for act in (lambda: os.close(os.open(path, os.O_WRONLY)), lambda: os.rename(new, path)):
        try:
            act()
            seen.append('done')
        except OSError as error:
            seen.append(error.strerror)
    return {'ok': True, 'answer': seen}
";

/// The owner's files are changed by a call that names them and by no other, also where a process had them mounted before
/// another file was put in their place.
pub async fn kept(lab: &Lab) -> Verdict {
    let plan = lab.writers_plan("workspace/", false).unwrap();
    let pool = lab.kernel.pool();
    let soul = "/writable/SOUL.md";
    let stays = |finished: &Finished, carrier: Carrier| {
        let told = answer(finished) == json!(["Read-only file system", "Device or resource busy"]);
        let laws = std::fs::read(soul).unwrap_or_default();
        holds(told && laws == b"laws" && finished.resources.carrier == carrier, format!("{finished:?} {laws:?}"))
    };
    stays(&call(lab, None, &plan, CHANGES, &[]).await, Carrier::Execed)?;
    pool.fill().await?;
    stays(&call(lab, None, &plan, CHANGES, &[]).await, Carrier::Warm)?;
    // One waits for it with its mounts; then the file is another one, as an editor leaves it.
    for _ in 0..2 {
        let turn = Some(TurnId::new());
        call(lab, turn, &plan, "def run(args, ctx):\n    return {'ok': True, 'answer': 1}\n", &[]).await;
        call(lab, turn, &plan, CHANGES, &[]).await;
    }
    pool.fill().await?;
    for another in [false, true] {
        let turn = Some(TurnId::new());
        call(lab, turn, &plan, "def run(args, ctx):\n    return {'ok': True, 'answer': 1}\n", &[]).await;
        pool.fill().await?;
        if another {
            std::fs::write("/writable/edited", "laws").unwrap();
            std::fs::rename("/writable/edited", soul).unwrap();
        }
        let carrier = if another { Carrier::Warm } else { Carrier::Predicted };
        stays(&call(lab, turn, &plan, CHANGES, &[]).await, carrier)?;
    }
    // It is named.
    let opens = KEPT.map(|name| format!("/workspace/{name}"));
    let finished = call(lab, None, &plan, CHANGES, &opens).await;
    holds(answer(&finished) == json!(["done", "done"]), format!("{finished:?}"))
}

/// Makes files without end in a folder of its own.
const FLOOD: &str = r"
import os
def run(args, ctx):
    os.makedirs(ctx.workspace + '/new/deep')
    os.rename(ctx.workspace + '/notes/old.md', ctx.workspace + '/new/deep/old.md')
    for number in range(3000):
        os.close(os.open(ctx.workspace + '/new/' + str(number), os.O_CREAT | os.O_WRONLY))
    return {'ok': True, 'answer': 'done'}
";

/// What a call had no right to make does not stay, and what was there before does.
pub async fn removed(lab: &Lab) -> Verdict {
    std::fs::write("/writable/notes/old.md", "old").unwrap();
    // The clock of the file system moves in steps.
    std::thread::sleep(std::time::Duration::from_millis(20));
    let plan = lab.writers_plan("workspace/", false).unwrap();
    for warm in [false, true] {
        if warm {
            lab.kernel.pool().fill().await?;
        }
        let finished = call(lab, None, &plan, FLOOD, &[]).await;
        holds(finished.outcome == Outcome::DiskExceeded && finished.result.is_none(), format!("{finished:?}"))?;
        let left: Vec<_> =
            std::fs::read_dir("/workspace/new").unwrap().map(|entry| entry.unwrap().file_name()).collect();
        holds(left == ["deep"], format!("{left:?} {finished:?}"))?;
        holds(std::fs::read("/workspace/new/deep/old.md").is_ok_and(|old| old == b"old"), "what was moved is gone")?;
        std::fs::rename("/writable/new/deep/old.md", "/writable/notes/old.md").unwrap();
        std::fs::remove_dir_all("/writable/new").unwrap();
    }
    Ok(())
}

#[cfg(feature = "attack")]
/// Below the reserve nothing that writes begins, and what reads does.
pub async fn reserve(lab: &Lab) -> Verdict {
    let scratch = lab.kernel.scratch(&json!({"a.txt": {"text": "a"}}))?;
    let folder = scratch.folder().to_owned();
    let writer = lab.writers_plan("workspace/", false).unwrap().with_scratch(&folder).unwrap();
    let reader = lab.hostile_plan(false).unwrap().with_scratch(&folder).unwrap();
    let code = "import os\ndef run(args, ctx):\n    return {'ok': True, 'answer': os.listdir(ctx.workspace)}\n";
    // One that fills it while it runs is ended. The memory of all scratch workspaces is 64 MiB.
    std::fs::write(format!("{folder}/full"), vec![0; 40 << 20]).unwrap();
    let fills = "import time\ndef run(args, ctx):\n    for number in range(2):\n        with open(ctx.workspace + '/' + str(number), 'wb', buffering=0) as file:\n            for _ in range(15 - 4 * number):\n                try:\n                    file.write(bytes(1 << 20))\n                except OSError:\n                    pass\n    time.sleep(1)\n    return {'ok': True, 'answer': 'done'}\n";
    let plan = writer.careless(|spec| spec.limits.disk_bytes = 64 << 20);
    let finished = call(lab, None, &plan, fills, &[]).await;
    holds(finished.outcome == Outcome::DiskFull, format!("{finished:?}"))?;
    holds(std::fs::metadata(format!("{folder}/0")).is_err(), format!("what it had begun is there: {finished:?}"))?;
    holds(lab.kernel.room(&writer).is_ok(), "it is full after that")?;
    std::fs::write(format!("{folder}/fuller"), vec![0; 23 << 20]).unwrap();
    let why = lab.kernel.room(&writer).unwrap_err();
    holds(why.contains("kept free") && lab.kernel.room(&reader).is_ok(), &why)?;
    let finished = call(lab, None, &writer, code, &[]).await;
    holds(finished.outcome == Outcome::DiskFull, format!("{finished:?}"))?;
    let finished = call(lab, None, &reader, code, &[]).await;
    holds(finished.outcome == Outcome::Ok, format!("{finished:?}"))
}

/// What the machine refuses is a failure of that call, and no fault of the executor's own.
pub async fn refused(lab: &Lab) -> Verdict {
    let plan = lab.hostile_plan(false).unwrap();
    for (code, word) in [
        (
            "def run(args, ctx):\n    import os\n    while True:\n        os.open('/dev/null', 0)\n",
            "Too many open files",
        ),
        ("def run(args, ctx):\n    return run(args, ctx)\n", "RecursionError"),
        ("def run(args, ctx):\n    open('/' + 'a/' * 3000)\n", "File name too long"),
    ] {
        let finished = call(lab, None, &plan, code, &[]).await;
        let fine = finished.outcome == Outcome::Failed && finished.detail.contains(word);
        holds(fine && !finished.outcome.is_its_own_failure(), format!("{word}: {finished:?}"))?;
        holds(finished.log.contains("Traceback"), format!("{word}: {}", finished.log))?;
    }
    let finished = call(lab, None, &plan, "def run(args, ctx):\n    open('/none')\n", &[]).await;
    holds(finished.outcome == Outcome::Crashed, format!("{finished:?}"))
}

/// `ls -l` says what is there and complains of nothing.
pub async fn listed(lab: &Lab) -> Verdict {
    let manifest =
        metnos_proto::executor::Manifest::parse(include_bytes!("../../../executors/shell_run/manifest.toml"));
    let plan = lab.plain.plan(&manifest.unwrap()).unwrap();
    let code = "import os\ndef run(args, ctx):\n    out, into = os.pipe()\n    actions = [(os.POSIX_SPAWN_DUP2, into, 1), (os.POSIX_SPAWN_DUP2, into, 2)]\n    pid = os.posix_spawn(ctx.commands['ls'], ['ls', '-l', ctx.workspace + '/desk'], os.environ, file_actions=actions)\n    os.close(into)\n    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])\n    return {'ok': True, 'answer': [code, os.read(out, 4096).decode()]}\n";
    let finished = call(lab, None, &plan, code, &[]).await;
    let came = answer(&finished);
    let said = came[1].as_str().unwrap_or_default();
    holds(came[0] == 0 && said.contains("paper.txt") && !said.contains("ls:"), format!("{finished:?} {came}"))
}
