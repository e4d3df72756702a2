//! Hostile executors: what each tries, and what it must come to. Those that are *armed* have a
//! module that can make any system call; no real executor has it, so they show what the kernel's
//! layers hold without the help of Python's own.

use metnos_proto::executor::Quotas;
use metnos_proto::msg::common::{Carrier, Outcome};
use metnos_sandboxd::names::{self, Call};
use metnos_sandboxd::plan::Plan;
use serde_json::{Value, json};

use super::lab::Lab;
use super::lab::runner::Verdict;

mod acts;
mod ends;
mod writes;

const PRELUDE: &str = include_str!("prelude.py");

/// One hostile executor.
#[derive(Debug, Clone, Copy)]
pub struct Attack {
    /// What it tries, as a name.
    pub name: &'static str,
    /// Its code, after the prelude.
    pub code: &'static str,
    /// What it must come to.
    pub must: Must,
}

/// What an attack must come to.
#[derive(Debug, Clone, Copy)]
pub enum Must {
    /// Its answer is one of these.
    Say(&'static [&'static str]),
    /// Armed; its answer, or each entry of its answer, is one of these.
    SayArmed(&'static [&'static str]),
    /// Allowed to write the workspace; its answer, or each entry of its answer, is one of these.
    SayWriting(&'static [&'static str]),
    /// Allowed to write the workspace, and armed; its answer, or each entry of its answer, is one of these.
    SayWritingArmed(&'static [&'static str]),
    /// The run ends so, within tight limits.
    End(Outcome),
}

pub fn all() -> Vec<Attack> {
    [acts::ALL, acts::ARMED, writes::ALL, writes::ARMED, ends::ALL].concat()
}

/// The system calls that armed code names, by number.
fn numbers() -> Value {
    const NAMED: &[&str] = &[
        "ptrace",
        "process_vm_readv",
        "io_uring_setup",
        "bpf",
        "keyctl",
        "add_key",
        "perf_event_open",
        "userfaultfd",
        "mount",
        "umount2",
        "pivot_root",
        "chroot",
        "unshare",
        "setns",
        "open_tree",
        "fsopen",
        "move_mount",
        "clone",
        "execve",
        "execveat",
        "memfd_create",
        "memfd_secret",
        "mmap",
        "mprotect",
        "personality",
        "seccomp",
        "prctl",
        "kill",
        "tkill",
        "rt_sigqueueinfo",
        "pidfd_open",
        "pidfd_getfd",
        "pidfd_send_signal",
        "setuid",
        "setresuid",
        "setgroups",
        "capset",
        "socket",
        "socketpair",
        "sendmsg",
        "init_module",
        "finit_module",
        "kexec_load",
        "reboot",
        "swapon",
        "clock_settime",
        "settimeofday",
        "sethostname",
        "shmget",
        "semget",
        "msgget",
        "mq_open",
        "name_to_handle_at",
        "open_by_handle_at",
        "mknodat",
        "linkat",
        "symlinkat",
        "ioctl",
        "fcntl",
        "iopl",
        "modify_ldt",
        "quotactl",
        "acct",
        "syslog",
        "fanotify_init",
        "setpriority",
        "sched_setaffinity",
        "prlimit64",
        "landlock_restrict_self",
        "openat2",
        "setsid",
        "kcmp",
        "lookup_dcookie",
        "vmsplice",
    ];
    let mut numbers: serde_json::Map<String, Value> = NAMED
        .iter()
        .filter_map(|name| match names::number(name) {
            Call::Here(number) => Some(((*name).to_owned(), json!(number))),
            Call::Elsewhere | Call::Unknown => None,
        })
        .collect();
    numbers.insert("clone3".to_owned(), json!(libc_clone3()));
    Value::Object(numbers)
}

/// The same on every architecture: it came after the numbers were made one.
const fn libc_clone3() -> u32 {
    435
}

fn armed_plan(lab: &Lab, must: Must) -> Option<Plan> {
    match must {
        Must::SayWritingArmed(_) => lab.writers_plan("workspace/", true),
        Must::Say(_) | Must::SayArmed(_) | Must::SayWriting(_) | Must::End(_) => lab.hostile_plan(true),
    }
}

/// Tries it on a fresh interpreter, or on a warm process.
pub async fn try_it(lab: &Lab, attack: Attack, warm: bool) -> Verdict {
    let code = format!("{PRELUDE}{}", attack.code);
    let args = json!({"nr": numbers()});
    let plan = match attack.must {
        Must::Say(_) => lab.hostile_plan(false).unwrap(),
        Must::SayWriting(_) => lab.writers_plan("workspace/", false).unwrap(),
        Must::SayArmed(_) | Must::SayWritingArmed(_) => match armed_plan(lab, attack.must) {
            Some(plan) => plan,
            None => {
                println!("hostile::{}: skipped, this machine has no _ctypes or no libffi.so.8", attack.name);
                return Ok(());
            }
        },
        Must::End(_) => lab.pure_plan(Quotas { wall_s: 3, cpu_s: 1, ram_mb: 64, output_mb: 1, ..Quotas::default() }),
    };
    let pool = lab.kernel_of(&plan).pool();
    if warm {
        pool.fill().await?;
    } else {
        pool.clear();
    }
    let finished = lab.run(&plan, &code, &args).await;
    let carrier = if warm { Carrier::Warm } else { Carrier::Execed };
    if finished.resources.carrier != carrier {
        return Err(format!("{} and not {}", finished.resources.carrier.name(), carrier.name()));
    }
    let (holds, wanted) = match attack.must {
        Must::Say(answers) | Must::SayArmed(answers) | Must::SayWriting(answers) | Must::SayWritingArmed(answers) => {
            let came = super::answer(&finished);
            let entries = match &came {
                Value::Array(entries) => entries.clone(),
                Value::Object(entries) => entries.values().cloned().collect(),
                other => vec![other.clone()],
            };
            let good = |entry: &Value| entry.as_str().is_some_and(|text| answers.contains(&text));
            (!entries.is_empty() && entries.iter().all(good), format!("{answers:?}"))
        }
        Must::End(outcome) => (finished.outcome == outcome, outcome.name().to_owned()),
    };
    if holds {
        return Ok(());
    }
    let result = String::from_utf8_lossy(finished.result.as_deref().unwrap_or_default()).into_owned();
    let shown: String = result.chars().take(600).collect();
    Err(format!("wanted {wanted}; came {} ({}): {shown}\n{}", finished.outcome.name(), finished.detail, finished.log))
}
