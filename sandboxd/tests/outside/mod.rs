//! Folders outside the workspace in real sandboxes: shown by the descriptor that came, under the home's bolt, and only as they were
//! when that was decided.

use std::os::unix::fs::MetadataExt;

use metnos_proto::executor::Manifest;
use metnos_proto::json;
use metnos_proto::msg::common::{Carrier, Outcome};
use metnos_proto::msg::sandboxd::SeenFolder;
use metnos_sandboxd::confine::approved::Approved;
use metnos_sandboxd::plan::Plan;
use metnos_sandboxd::pool::{Entry, Finished, Job, Sandbox, Secrets};
use rustix::fs::{CWD, RenameFlags};
use serde_json::json;
use tokio::sync::oneshot;

use crate::lab::Lab;
use crate::lab::runner::Verdict;
use crate::{answer, holds};

/// The plan of one that is granted this.
fn plan(lab: &Lab, capabilities: &str) -> Plan {
    let text = include_str!("../../../executors/fs_read/manifest.toml")
        .replace("fs-read-workspace", "fs-pictures")
        .replace("{ fs_read = [\"workspace/\"] }", capabilities);
    lab.plain.plan(&Manifest::parse(text.as_bytes()).unwrap()).unwrap()
}

async fn call(lab: &Lab, plan: &Plan, code: &str, approved: Approved<'_>) -> Finished {
    let (_keep, kill) = oneshot::channel();
    let entry = Entry::Call { args: json::canonical(&json!({})), thought: None };
    let (code, secrets) = (code.as_bytes(), &Secrets::none());
    let job = Job {
        turn: None,
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
    };
    lab.kernel.run(job).await
}

/// What is granted to be read is read and not written; what is granted to be written is; what is closed in it is covered; and
/// nobody who waits warm carries it.
pub async fn shown(lab: &Lab) -> Verdict {
    let (read, write) = (format!("{}/pictures", lab.outside), format!("{}/albums", lab.outside));
    let plan = plan(lab, &format!("{{ fs_read = [\"{read}/\"] }}, {{ fs_write = [\"{write}/\"] }}"));
    let code = format!(
        "import os\ndef run(args, ctx):\n    seen = {{}}\n    read, write = ctx.inside('{read}'), ctx.inside('{write}')\n    seen['text'] = open(read + '/a.txt').read()\n    for name, path, mode in (('read', read, 'w'), ('write', write, 'w'), ('ssh', read + '/.ssh', 'r'), ('net', read + '/.netrc', 'r')):\n        try:\n            open(path if name == 'net' else path + '/new', mode).close()\n            seen[name] = 'done'\n        except OSError as error:\n            seen[name] = type(error).__name__\n    seen['folders'] = [os.path.basename(folder) for folder in ctx.folders]\n    for path in ('{read}/../x', '/etc/passwd', '~/x'):\n        try:\n            seen['got'] = ctx.inside(path)\n        except PermissionError:\n            pass\n    seen['names'] = [ctx.inside('notes/../a'), ctx.inside('')]\n    return {{'ok': True, 'answer': seen}}\n"
    );
    lab.kernel.pool().fill().await?;
    let finished = call(lab, &plan, &code, Approved::ANY).await;
    let wanted = json!({
        "text": "a picture", "read": "OSError", "write": "done", "ssh": "FileNotFoundError", "net": "PermissionError",
        "folders": ["albums", "pictures"], "names": ["/workspace/a", "/workspace"], "got": "/workspace/~/x",
    });
    // Where nobody has a home, `~` is a name.
    let came = answer(&finished);
    holds(came == wanted && finished.resources.carrier == Carrier::Execed, format!("{came} {finished:?}"))
}

/// In sandboxd's own view, too, a folder that is listed to be read cannot be written, and of the way to it nothing else is there.
pub fn view(lab: &Lab) -> Verdict {
    let names = |root: &str, below: &str| -> Vec<String> {
        let folder = std::fs::read_dir(format!("{root}{}{below}", lab.outside)).unwrap();
        let mut names: Vec<String> =
            folder.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    };
    let (read, write) = (names("/outside", ""), names("/outside-writable", ""));
    holds(read == ["albums", "pictures"] && write == ["albums"], format!("{read:?} {write:?}"))?;
    let written = |root: &str, name: &str| std::fs::write(format!("{root}{}/{name}", lab.outside), "x").is_ok();
    for name in ["pictures/new", "pictures/a.txt", "albums/new"] {
        holds(!written("/outside", name), format!("{name} can be written"))?;
    }
    holds(written("/outside-writable", "albums/own"), "what is listed to be written cannot be")?;
    holds(names("/outside", "/albums").contains(&"own".to_owned()), "it is another folder")
}

/// What was swapped between the decision and the mounting is not mounted.
pub async fn swapped(lab: &Lab) -> Verdict {
    let folder = format!("{}/albums/swap", lab.outside);
    let inside = |name: &str| format!("/outside-writable{}/albums/{name}", lab.outside);
    for name in ["swap/first", "other/second"] {
        std::fs::create_dir_all(inside(name)).unwrap();
    }
    let seen = || {
        let stat = std::fs::metadata(inside("swap")).unwrap();
        [SeenFolder { below: folder.clone(), device: stat.dev(), inode: stat.ino() }]
    };
    let before = seen();
    let lists =
        "import os\ndef run(args, ctx):\n    return {'ok': True, 'answer': os.listdir('/outside' + ctx.folders[0])}\n";
    for grant in ["fs_read", "fs_write"] {
        let plan = plan(lab, &format!("{{ {grant} = [\"{folder}/\"] }}"));
        let finished = call(lab, &plan, lists, Approved(Some(&before))).await;
        holds(answer(&finished) == json!(["first"]), format!("{grant}: {finished:?}"))?;
        let exchange = || {
            rustix::fs::renameat_with(CWD, inside("swap"), CWD, inside("other"), RenameFlags::EXCHANGE).unwrap();
        };
        exchange();
        let finished = call(lab, &plan, lists, Approved(Some(&before))).await;
        let told = finished.outcome == Outcome::SandboxFailed && finished.detail.contains("not the folder");
        holds(told && finished.result.is_none(), format!("{grant}, swapped: {finished:?}"))?;
        // Without the comparison it would have seen the other one.
        let finished = call(lab, &plan, lists, Approved::ANY).await;
        holds(answer(&finished) == json!(["second"]), format!("{grant}: {finished:?}"))?;
        exchange();
    }
    // A link in its place leads nowhere.
    std::fs::rename(inside("swap"), inside("away")).unwrap();
    std::os::unix::fs::symlink("/etc", inside("swap")).unwrap();
    let plan = plan(lab, &format!("{{ fs_read = [\"{folder}/\"] }}"));
    let finished = call(lab, &plan, lists, Approved::ANY).await;
    holds(finished.outcome == Outcome::SandboxFailed, format!("a link: {finished:?}"))
}
