//! Listed programs in real sandboxes: they run, on what was granted and within what was granted to the whole, and end with it.

use metnos_proto::executor::Manifest;
use metnos_proto::msg::common::{Carrier, Outcome};
use metnos_sandboxd::plan::Plan;
use serde_json::{Value, json};

use crate::lab::Lab;
use crate::lab::runner::Verdict;
use crate::{answer, holds};

const SHELL: [&str; 2] =
    [include_str!("../../../executors/shell_run/manifest.toml"), include_str!("../../../executors/shell_run/main.py")];

fn plan(lab: &Lab, quotas: &str) -> Plan {
    let old = "wall_s = 10, cpu_s = 5";
    assert!(SHELL[0].contains(old));
    lab.plain.plan(&Manifest::parse(SHELL[0].replace(old, quotas).as_bytes()).unwrap()).unwrap()
}

async fn shell(lab: &Lab, args: Value) -> (Outcome, Value, Carrier) {
    let finished = lab.run(&plan(lab, "wall_s = 3, cpu_s = 1"), SHELL[1], &args).await;
    let value = serde_json::from_slice(finished.result.as_deref().unwrap_or_default()).unwrap_or_default();
    (finished.outcome, value, finished.resources.carrier)
}

/// A program reads what is granted, prints, and is told what it reads; nothing else is run.
pub async fn served(lab: &Lab) -> Verdict {
    let (outcome, value, carrier) = shell(lab, json!({"argv": ["wc", "-l", "notes/welcome.md"]})).await;
    let good = outcome == Outcome::Ok && value["stdout"] == "2 notes/welcome.md\n" && carrier == Carrier::Execed;
    holds(good, format!("{outcome:?} {value}"))?;
    for (args, exit, out) in [
        (json!({"argv": ["/usr/bin/sort"], "stdin": "b\na\n"}), 0, "a\nb\n"),
        (json!({"argv": ["ls", "welcome.md"], "cwd": "notes"}), 0, "welcome.md\n"),
        (json!({"argv": ["grep", "-c", "nobody", "notes/welcome.md"]}), 1, "0\n"),
        (json!({"argv": ["cat", "/etc/passwd"]}), 1, ""),
        (json!({"argv": ["cat", "/proc/self/status"]}), 1, ""),
        (json!({"argv": ["sort", "-o", "notes/welcome.md", "notes/welcome.md"]}), 2, ""),
    ] {
        let (outcome, value, _) = shell(lab, args.clone()).await;
        let good = outcome == Outcome::Ok && value["exit_code"] == exit && value["stdout"] == out;
        holds(good, format!("{args}: {outcome:?} {value}"))?;
    }
    let (_, value, _) = shell(lab, json!({"argv": ["seq", "100000000"]})).await;
    let cut =
        value["truncated"] == true && value["exit_code"] == 141 && value["stdout"].as_str().unwrap().len() == 500_000;
    holds(cut, format!("{}", value["exit_code"]))?;
    for (argv, class) in [
        (json!(["python3", "-c", "0"]), "NotListed"),
        (json!(["/bin/sh", "-c", "id"]), "NotListed"),
        (json!(["notes/../wc"]), "NotListed"),
        (json!(["/usr/bin/../bin/wc"]), "NotListed"),
        (json!(["tail", "-f", "notes/welcome.md"]), "Timeout"),
    ] {
        let (_, value, _) = shell(lab, json!({"argv": argv})).await;
        holds(value["error"]["class"] == class, format!("{argv}: {value}"))?;
    }
    Ok(())
}

/// What programs use and want counts for the whole, and has its own name.
pub async fn bounded(lab: &Lab) -> Verdict {
    let spin = "import os\ndef run(args, ctx):\n    null = os.open('/dev/null', os.O_WRONLY)\n    pid = os.posix_spawn(ctx.commands['seq'], ['seq', '99999999999'], os.environ, file_actions=[(os.POSIX_SPAWN_DUP2, null, 1), (os.POSIX_SPAWN_DUP2, null, 2)])\n    return {'ok': True, 'answer': os.waitpid(pid, 0)[1]}\n";
    let many = "import os, time\ndef run(args, ctx):\n    for _ in range(1000):\n        if os.fork() == 0:\n            time.sleep(60)\n    return {'ok': True}\n";
    let long = "import os\ndef run(args, ctx):\n    pid = os.posix_spawn(ctx.commands['tail'], ['tail', '-f', '/dev/null'], os.environ)\n    return {'ok': True, 'answer': os.waitpid(pid, 0)[1]}\n";
    let loud = "import os\ndef run(args, ctx):\n    pid = os.posix_spawn(ctx.commands['seq'], ['seq', '3000000'], os.environ, file_actions=[(os.POSIX_SPAWN_DUP2, 3, 1)])\n    return {'ok': True, 'answer': os.waitpid(pid, 0)[1]}\n";
    let bomb = "import os, time\ndef run(args, ctx):\n    itself = os.getpid()\n    try:\n        while True:\n            os.fork()\n    except OSError:\n        if os.getpid() != itself:\n            time.sleep(60)\n        raise\n";
    for (name, code, wanted) in [
        ("spin", spin, &[Outcome::CpuExceeded][..]),
        ("many", many, &[Outcome::ProcessesExceeded]),
        ("bomb", bomb, &[Outcome::ProcessesExceeded]),
        ("long", long, &[Outcome::Timeout]),
        // It writes where sandboxd reads.
        ("loud", loud, &[Outcome::Crashed, Outcome::OutputTooLarge]),
    ] {
        let finished = lab.run(&plan(lab, "wall_s = 4, cpu_s = 1"), code, &json!({})).await;
        holds(wanted.contains(&finished.outcome), format!("{name}: {finished:?}"))?;
    }
    Ok(())
}

/// What a call leaves running is not there when its end is told.
pub async fn ends(lab: &Lab) -> Verdict {
    let code = "import os\ndef run(args, ctx):\n    for _ in range(3):\n        if os.fork() == 0:\n            os.posix_spawn(ctx.commands['tail'], ['metnos-left-behind', '-f', '/dev/null'], os.environ)\n            os._exit(0)\n    return {'ok': True, 'answer': 'left'}\n";
    let finished = lab.run(&plan(lab, "wall_s = 4, cpu_s = 1"), code, &json!({})).await;
    holds(finished.outcome == Outcome::Ok && answer(&finished) == "left", format!("{finished:?}"))?;
    let running = std::fs::read_dir("/proc").unwrap().flatten().filter(|entry| {
        let line = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
        line.starts_with(b"metnos-left-behind")
    });
    holds(running.count() == 0, "a program lives on")
}
