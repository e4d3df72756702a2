//! The program that the tests lock and let attempt things (test builds only). It
//! must never be shipped.
//!
//! `metnos-jail-attempt ROLE [place=PATH]… [waive=LAYER]… [missing=landlock|seccomp]
//! [between=dumpable|thread] [threads=N] [limits=off] [bond=yes] [hold=yes] [act=NAME[:AIM]]…`: locks itself as ROLE,
//! prints the report, then each act's outcome. `missing` makes the kernel look as if
//! it lacked the layer; `between` does something between the two halves of the lock.

use std::process::ExitCode;

use metnos_jail::attack::{Attempt, attempt};
use metnos_jail::{JailError, Places, Profile, Pss, Waivers, narrow};

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            println!("error {error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), Box<dyn std::error::Error>> {
    let mut words = std::env::args().skip(1);
    let role = words.next().ok_or("no role")?;
    let mut profile = Profile::load(&role)?;
    let mut places = Places::new();
    let (mut waived, mut acts, mut between) = (Vec::new(), Vec::new(), String::new());
    let mut hold = false;
    for word in words {
        let (key, value) = word.split_once('=').ok_or("not of the form key=value")?;
        match key {
            "waive" => waived.push(value.to_owned()),
            "between" => value.clone_into(&mut between),
            "missing" => pretend_missing(value)?,
            "threads" => {
                for _ in 1..value.parse::<u32>()? {
                    std::thread::spawn(std::thread::park);
                }
            }
            "act" => acts.push(value.to_owned()),
            "bond" => bond()?,
            "hold" => hold = true,
            "limits" => profile.limits.locked_memory_bytes = None,
            name => places = places.with(name, value),
        }
    }
    let pss = Pss::open()?;
    let narrowed = narrow(&profile, &places, &Waivers::from_names(&waived)?)?;
    let (go, wait) = std::sync::mpsc::channel::<String>();
    let mut other = None;
    match between.as_str() {
        "" => {}
        "dumpable" => {
            let why = attempt(Attempt::SetDumpable, None);
            println!("between {why:?}");
        }
        "thread" => {
            other = Some(std::thread::spawn(move || {
                while let Ok(act) = wait.recv() {
                    report(&act);
                }
            }));
        }
        what => return Err(format!("nothing called {what}").into()),
    }
    let locked = narrowed.seal()?;
    for line in locked.report().to_lines() {
        println!("{line}");
    }
    if locked.look()? != *locked.report() {
        return Err("the second look differs from the first".into());
    }
    println!("pss_kib {}", pss.kib()?);
    if let Some(thread) = other {
        for act in acts {
            go.send(act)?;
        }
        drop(go);
        thread.join().map_err(|_| "the thread died")?;
        return Ok(());
    }
    for act in acts {
        report(&act);
    }
    if hold {
        println!("holding");
        std::io::stdin().read_line(&mut String::new())?;
    }
    Ok(())
}

/// Stays until the starter is gone.
fn bond() -> Result<(), JailError> {
    metnos_jail::die_with_parent()?;
    println!("bonded");
    loop {
        std::thread::park();
    }
}

fn report(word: &str) {
    let (name, aim) = match word.split_once(':') {
        Some((name, aim)) => (name, Some(aim)),
        None => (word, None),
    };
    match name.parse::<Attempt>() {
        Ok(act) => match attempt(act, aim) {
            Ok(what) => println!("{name} succeeded {what}"),
            Err(errno) => println!("{name} stopped {errno}"),
        },
        Err(error) => println!("{name} {error}"),
    }
}

/// A filter that answers the layer's own calls as a kernel without it does.
fn pretend_missing(layer: &str) -> Result<(), Box<dyn std::error::Error>> {
    use seccompiler::{SeccompAction, SeccompFilter, TargetArch};
    let number = match layer {
        "landlock" => libc::SYS_landlock_create_ruleset,
        "seccomp" => libc::SYS_seccomp,
        other => return Err(JailError::UnknownWaiver(other.to_owned()).into()),
    };
    let filter = SeccompFilter::new(
        [(number, Vec::new())].into_iter().collect(),
        SeccompAction::Allow,
        SeccompAction::Errno(libc::ENOSYS.unsigned_abs()),
        TargetArch::try_from(std::env::consts::ARCH)?,
    )?;
    let program: seccompiler::BpfProgram = filter.try_into()?;
    seccompiler::apply_filter(&program)?;
    Ok(())
}
