//! Real sandboxes: the seeds do their work in them, and hostile code does not do its own.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs, reason = "tests")]

mod bounds;
mod escape;
mod groups;
mod lab;
mod outside;
mod pool;
mod programs;
mod seeds;

use std::cell::RefCell;
use std::process::ExitCode;
use std::rc::Rc;

use lab::Lab;
use lab::runner::{Test, Verdict, run};
use metnos_proto::executor::{Manifest, Quotas};
use metnos_proto::msg::common::{ExecutorId, Outcome};
use metnos_sandboxd::pool::{Sandbox, ScratchFolder};
use metnos_sandboxd::selftest::escape::Case;
use seeds::seed;
use serde_json::{Value, json};
use tokio::sync::oneshot;

fn main() -> ExitCode {
    let mut tests = Vec::new();
    let mut add = |name: &str, body: lab::runner::Body| tests.push(Test { name: name.to_owned(), body });
    for (seed, _) in seeds::SEEDS {
        add(&format!("birth::{seed}_keeps_what_it_promises"), Box::new(move |lab| Box::pin(birth(lab, seed))));
    }
    add("canaries_are_all_stopped", Box::new(|lab| Box::pin(canaries(lab))));
    add("progress_is_heard_while_it_runs", Box::new(|lab| Box::pin(progress(lab))));
    add("a_run_that_is_stopped_ends_at_once_and_says_so", Box::new(|lab| Box::pin(stopped(lab))));
    add("nothing_is_left_for_the_next_call", Box::new(|lab| Box::pin(leftovers(lab))));
    add("two_calls_at_once_do_not_see_each_other", Box::new(|lab| Box::pin(neighbours(lab))));
    add("a_dropped_run_leaves_no_process", Box::new(|lab| Box::pin(dropped(lab))));
    add("a_large_argument_and_a_large_result_pass", Box::new(|lab| Box::pin(large(lab))));
    add("the_view_shows_nothing_of_the_instance_but_its_workspace", Box::new(|lab| Box::pin(view(lab))));
    add("a_writer_does_its_work_and_its_trash_is_one_rename_away", Box::new(|lab| Box::pin(writer(lab))));
    add("a_writer_of_one_folder_changes_no_other", Box::new(|lab| Box::pin(narrow_writer(lab))));
    add("a_writer_changes_its_birth_workspace_and_not_the_owners", Box::new(|lab| Box::pin(scratch_writer(lab))));
    add("pool::an_empty_child_serves_a_call_and_dies_with_it", Box::new(|lab| Box::pin(pool::served(lab))));
    add("pool::a_child_is_forked_when_none_waits", Box::new(|lab| Box::pin(pool::forked(lab))));
    add("pool::without_a_zygote_an_interpreter_is_executed", Box::new(|lab| Box::pin(pool::executed(lab))));
    add("pool::what_status_says_of_it_has_happened", Box::new(|lab| Box::pin(pool::described(lab))));
    add("pool::what_often_follows_waits_with_its_code", Box::new(|lab| Box::pin(pool::predicted(lab))));
    add("pool::what_waits_for_one_executor_serves_no_other", Box::new(|lab| Box::pin(pool::not_another(lab))));
    add("pool::a_crash_replaces_the_zygote", Box::new(|lab| Box::pin(pool::crashed(lab))));
    add("pool::every_grant_is_mounted_in_a_warm_process_too", Box::new(|lab| Box::pin(pool::grants(lab))));
    add("pool::without_a_record_of_its_start_nothing_runs", Box::new(|lab| Box::pin(pool::unrecorded(lab))));
    add(
        "pool::a_folder_that_was_swapped_after_the_decision_is_not_mounted",
        Box::new(|lab| Box::pin(pool::swapped(lab))),
    );
    add("pool::what_is_closed_below_a_grant_is_covered", Box::new(|lab| Box::pin(pool::covered(lab))));
    add("pool::what_no_executor_has_a_use_for_is_told", Box::new(|lab| Box::pin(pool::alarms(lab))));
    add("pool::birth_tests_hold_in_warm_processes", Box::new(|lab| Box::pin(pool::births(lab))));
    add("pool::nothing_is_left_after_many_calls", Box::new(|lab| Box::pin(pool::leftovers(lab))));
    add("pool::a_seal_that_is_ordered_something_else_runs_nothing", Box::new(|lab| Box::pin(pool::bad_orders(lab))));
    add("outside::a_listed_folder_is_shown_as_it_was_granted", Box::new(|lab| Box::pin(outside::shown(lab))));
    add(
        "outside::a_folder_that_was_swapped_after_the_decision_is_not_mounted",
        Box::new(|lab| Box::pin(outside::swapped(lab))),
    );
    add("programs::a_listed_program_runs_and_no_other", Box::new(|lab| Box::pin(programs::served(lab))));
    add("programs::what_they_use_counts_for_the_whole", Box::new(|lab| Box::pin(programs::bounded(lab))));
    add("programs::nothing_lives_on_after_the_call", Box::new(|lab| Box::pin(programs::ends(lab))));
    add("groups::memory_is_held_by_its_group_alone", Box::new(|lab| Box::pin(groups::memory(lab))));
    add("groups::threads_are_held_by_its_group_alone", Box::new(|lab| Box::pin(groups::threads(lab))));
    add("groups::one_waits_bounded_and_ends_by_one_word", Box::new(|lab| Box::pin(groups::prepared(lab))));
    add(
        "bounds::the_owners_files_are_changed_only_by_a_call_that_names_them",
        Box::new(|lab| Box::pin(bounds::kept(lab))),
    );
    add("bounds::what_is_made_beyond_the_bounds_does_not_stay", Box::new(|lab| Box::pin(bounds::removed(lab))));
    #[cfg(feature = "attack")]
    add("bounds::below_the_reserve_nothing_is_written", Box::new(|lab| Box::pin(bounds::reserve(lab))));
    add("bounds::what_a_call_keeps_is_durable_before_it_goes_on", Box::new(|lab| Box::pin(bounds::keeping(lab))));
    add("bounds::what_the_machine_refuses_is_no_strike", Box::new(|lab| Box::pin(bounds::refused(lab))));
    add("programs::ls_complains_of_no_attributes", Box::new(|lab| Box::pin(bounds::listed(lab))));
    for case in escape::all() {
        for (step, warm) in [("fresh", false), ("warm", true)] {
            // What waits warm has no place for such folders, and runs no programs.
            if warm && (case.outside || case.runs || case.secrets) {
                continue;
            }
            let case = case.clone();
            let name = format!("{step}::{}", case.name);
            tests.push(Test { name, body: Box::new(move |lab| Box::pin(hold(lab, case.clone(), warm))) });
        }
        if case.can_be_ordered_without() && !case.runs {
            let (name, case) = (format!("opened::{}", case.name), case.clone());
            tests.push(Test { name, body: Box::new(move |lab| Box::pin(open(lab, case.clone()))) });
        }
        #[cfg(feature = "attack")]
        {
            let name = format!("without::{}", case.name);
            tests.push(Test { name, body: Box::new(move |lab| Box::pin(without(lab, case.clone()))) });
        }
    }
    run(tests)
}

async fn hold(lab: &Lab, case: Case, warm: bool) -> Verdict {
    escape::held(lab, &case, warm).await
}

async fn open(lab: &Lab, case: Case) -> Verdict {
    escape::opened(lab, &case).await
}

#[cfg(feature = "attack")]
async fn without(lab: &Lab, case: Case) -> Verdict {
    escape::each(lab, &case).await
}

fn holds(condition: bool, what: impl std::fmt::Display) -> Verdict {
    if condition { Ok(()) } else { Err(what.to_string()) }
}

async fn birth(lab: &Lab, name: &str) -> Verdict {
    if lab::slower() > 1 {
        println!("skipped: a birth is held to its executor's own time, and this machine is emulated");
        return Ok(());
    }
    let [manifest, code, schema, tests] = seed(name);
    let version = Manifest::parse(manifest).map_err(|error| error.to_string())?.executor.version;
    let id = ExecutorId { name: name.to_owned(), version: version.to_string() };
    let texts =
        metnos_sandboxd::verify::Texts { manifest: manifest.to_vec(), code: code.to_vec(), schema: schema.to_vec() };
    let formed = metnos_sandboxd::verify::ExecutorFiles::of(&id, texts, &lab.plain)?;
    let kept = RefCell::new(Vec::new());
    let kill = || {
        let (keep, kill) = oneshot::channel();
        kept.borrow_mut().push(keep);
        kill
    };
    let born =
        metnos_sandboxd::verify::birth::run(&lab.kernel, &formed, tests, metnos_sandboxd::verify::birth::BIRTH, kill)
            .await?;
    let failed: Vec<_> =
        born.iter().filter(|case| !case.passed).map(|case| format!("{}: {}", case.name, case.detail)).collect();
    holds(failed.is_empty() && born.len() >= 3, failed.join("\n"))
}

async fn canaries(lab: &Lab) -> Verdict {
    let canaries = lab.kernel.canaries().await;
    let alive: Vec<_> = canaries.iter().filter(|canary| !canary.stopped).collect();
    holds(alive.is_empty() && canaries.len() > 10, format!("{alive:?}"))
}

fn answer(finished: &metnos_sandboxd::pool::Finished) -> Value {
    let result = finished.result.as_deref().unwrap_or_default();
    let value: Value = serde_json::from_slice(result).unwrap_or_default();
    value.get("answer").cloned().unwrap_or_default()
}

async fn progress(lab: &Lab) -> Verdict {
    let heard = Rc::new(RefCell::new(Vec::new()));
    let telling = Rc::clone(&heard);
    let (_keep, kill) = oneshot::channel();
    let code = "def run(args, ctx):\n    ctx.progress(3, 7)\n    return {'ok': True}\n";
    let hears = move |done, total| telling.borrow_mut().push((done, total));
    let finished = lab.run_until(&lab.pure_plan(Quotas::default()), code, &json!({}), kill, &hears).await;
    holds(finished.outcome == Outcome::Ok && *heard.borrow() == [(3, 7)], format!("{finished:?} {heard:?}"))
}

async fn stopped(lab: &Lab) -> Verdict {
    let (stop, kill) = oneshot::channel();
    let code = "import time\ndef run(args, ctx):\n    ctx.progress(1)\n    time.sleep(60)\n";
    let stop = RefCell::new(Some(stop));
    // Stopped once it is known to run.
    let hears = |_, _| {
        if let Some(stop) = stop.borrow_mut().take() {
            stop.send(()).unwrap();
        }
    };
    let finished =
        lab.run_until(&lab.pure_plan(Quotas { wall_s: 60, ..Quotas::default() }), code, &json!({}), kill, &hears).await;
    holds(finished.outcome == Outcome::Killed, format!("{finished:?}"))
}

async fn leftovers(lab: &Lab) -> Verdict {
    let code = "import os\ndef run(args, ctx):\n    before = os.listdir(ctx.tmp)\n    open(ctx.tmp + '/left', 'w').close()\n    return {'ok': True, 'answer': before}\n";
    let plan = lab.pure_plan(Quotas::default());
    for _ in 0..2 {
        let finished = lab.run(&plan, code, &json!({})).await;
        holds(answer(&finished) == json!([]), format!("{finished:?}"))?;
    }
    Ok(())
}

async fn neighbours(lab: &Lab) -> Verdict {
    let code = "import os, time\ndef run(args, ctx):\n    open(ctx.tmp + '/' + args['me'], 'w').close()\n    time.sleep(0.3)\n    return {'ok': True, 'answer': [os.getpid(), os.listdir(ctx.tmp)]}\n";
    let plan = lab.pure_plan(Quotas::default());
    let (a, b) = (json!({"me": "a"}), json!({"me": "b"}));
    let (a, b) = tokio::join!(lab.run(&plan, code, &a), lab.run(&plan, code, &b));
    holds(answer(&a) == json!([1, ["a"]]) && answer(&b) == json!([1, ["b"]]), format!("{a:?} {b:?}"))
}

async fn dropped(lab: &Lab) -> Verdict {
    let code = "import time\ndef run(args, ctx):\n    time.sleep(60)\n";
    let plan = lab.pure_plan(Quotas { wall_s: 60, ..Quotas::default() });
    let no_arguments = json!({});
    tokio::select! {
        finished = lab.run(&plan, code, &no_arguments) => return Err(format!("{finished:?}")),
        () = tokio::time::sleep(std::time::Duration::from_millis(50)) => {}
    }
    // Every child was killed and collected, but for the one that was there before.
    let left = lab::children();
    holds(left == ["metnos-egress"], format!("{left:?}"))
}

async fn large(lab: &Lab) -> Verdict {
    let text = "wörter ".repeat(500_000);
    let code = "def run(args, ctx):\n    return {'ok': True, 'answer': args['text']}\n";
    let plan = lab.pure_plan(Quotas { output_mb: 8, ..Quotas::default() });
    let finished = lab.run(&plan, code, &json!({"text": text})).await;
    let came = answer(&finished);
    holds(came.as_str() == Some(&text), format!("{:?} {}", finished.outcome, finished.detail))
}

/// Writes, appends, moves, changes, and deletes into the trash; then says what it has seen.
const WRITER: &str = r"
import os

def run(args, ctx):
    folder = ctx.workspace + '/' + args['folder'].strip('/')
    os.makedirs(folder + '/new/deep', exist_ok=True)
    with open(folder + '/new/a.txt', 'w') as file:
        file.write('one')
    with open(folder + '/new/a.txt', 'a') as file:
        file.write(' two')
        file.flush()
        os.fsync(file.fileno())
    os.rename(folder + '/new/a.txt', folder + '/new/deep/b.txt')
    os.truncate(folder + '/new/deep/b.txt', 5)
    os.utime(folder + '/new/deep/b.txt', (1, 1))
    os.makedirs(folder + '/.trash', exist_ok=True)
    os.rename(folder + '/new/deep/b.txt', folder + '/.trash/b.txt')
    with open(folder + '/.trash/b.txt') as file:
        content = file.read()
    os.unlink(folder + '/.trash/b.txt')
    os.rmdir(folder + '/.trash')
    os.rmdir(folder + '/new/deep')
    with open(folder + '/new/left.txt', 'w') as file:
        file.write('left')
    return {'ok': True, 'answer': content}
";

async fn writer(lab: &Lab) -> Verdict {
    let plan = lab.writers_plan("workspace/", false).unwrap();
    let finished = lab.run(&plan, WRITER, &json!({"folder": "drafts"})).await;
    holds(answer(&finished) == json!("one t"), format!("{finished:?}"))?;
    let left = std::fs::read("/workspace/drafts/new/left.txt");
    holds(left.is_ok_and(|left| left == b"left"), "what was written is not there")
}

async fn narrow_writer(lab: &Lab) -> Verdict {
    let plan = lab.writers_plan("workspace/desk/", false).unwrap();
    let finished = lab.run(&plan, WRITER, &json!({"folder": "desk"})).await;
    holds(answer(&finished) == json!("one t"), format!("{finished:?}"))?;
    let finished = lab.run(&plan, WRITER, &json!({"folder": "notes"})).await;
    holds(finished.outcome == Outcome::Crashed, format!("{finished:?}"))?;
    holds(std::fs::metadata("/workspace/notes/new").is_err(), "it was written")
}

async fn scratch_writer(lab: &Lab) -> Verdict {
    let files = json!({"mine/old.txt": {"text": "old"}});
    let scratch = lab.kernel.scratch(&files).map_err(|why| why.to_string())?;
    let plan = lab.writers_plan("workspace/", false).unwrap().with_scratch(scratch.folder()).unwrap();
    let code = WRITER.replace(
        "    os.makedirs(folder + '/new",
        "    open(folder + '/old.txt', 'a').write('er')\n    os.makedirs(folder + '/new",
    );
    let finished = lab.run(&plan, &code, &json!({"folder": "mine"})).await;
    holds(answer(&finished) == json!("one t"), format!("{finished:?}"))?;
    let old = std::fs::read(format!("{}/mine/old.txt", scratch.folder()));
    holds(old.is_ok_and(|old| old == b"older"), "the file of the case was not changed")?;
    holds(std::fs::metadata("/workspace/mine").is_err(), "the owner's workspace was written")
}

/// What sandboxd itself can reach, with the same user as the other daemons of a quick start.
async fn view(lab: &Lab) -> Verdict {
    let mut found: Vec<String> = std::fs::read_dir("/")
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    found.sort();
    let known = [
        "certificates",
        "dev",
        "lib",
        "lib64",
        "new",
        "outside",
        "outside-writable",
        "pool",
        "proc",
        "scratch",
        "seal",
        "usr",
        "workspace",
        "writable",
    ];
    // And the way to the interpreter, wherever it lies.
    let own = lab.plain.interpreter.program.split('/').nth(1).unwrap_or_default();
    holds(found.iter().all(|name| known.contains(&name.as_str()) || name == own), format!("{found:?}"))?;
    for path in
        ["/workspace/../.policy", "/.policy/instance.key", "/pool/../../.policy", "/workspace/.policy", "/etc/passwd"]
    {
        holds(std::fs::metadata(path).is_err(), format!("{path} is there"))?;
    }
    holds(std::fs::write("/workspace/notes/new", "x").is_err(), "the workspace can be written")?;
    outside::view(lab)?;
    std::fs::write("/pool/new", "x").map_err(|error| format!("the pool cannot be written: {error}"))?;
    let manifest = Manifest::parse(seed("fs_read")[0]).unwrap();
    holds(manifest.executor.name == "fs_read", "the manifest")
}
