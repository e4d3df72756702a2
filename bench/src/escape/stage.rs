//! Where attempts are given to other sandboxes: a made-up machine around each of them, so that what gets through gets to nothing
//! that matters. It is a `bwrap` of its own with its own processes, names, network and memory between processes, run by an
//! unprivileged user; the system's programs and `/etc` are the real ones, everything else is made for the attempt and gone after it.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use metnos_proto::executor::commands::DEFAULT;
use metnos_sandboxd::machine::interpreter::Interpreter;
use metnos_sandboxd::scratch::Scratch;
use metnos_sandboxd::selftest::escape::Case;
use rustix::process::{Resource, getrlimit};
use serde_json::{Value, json};

use super::judge::{Seen, TOKEN};
use crate::call::BWRAP;
use crate::others::{NONO, NONO_FLAGS, nono_manifest};

/// The program of every attempt.
const ATTEMPT: &str = include_str!("attempt.py");
/// Closes what the runner has inherited, so that a descriptor which an attempt finds was left open by the sandbox, and goes on as
/// the words behind it.
const CLOSED: &str = "import os, sys; os.closerange(3, 1 << 20); os.execvp(sys.argv[1], sys.argv[1:])";
/// What the words of that program begin with.
const MARK: &str = "#metnos-attempt#";
/// The user of the stage when the runner is root.
const UNPRIVILEGED: &str = "64321";
/// The bounds of the stage, so that a flood takes nothing from the machine: the address space of a process, the size of a file.
const MOST_MEMORY: u64 = 2 << 30;
const MOST_OF_A_FILE: u64 = 256 << 20;
/// How long an attempt that a sandbox is to end may go on; in Metnos its plan says one second of processor time and three in all.
const ENDS_WITHIN: Duration = Duration::from_secs(5);
/// How long every other attempt may take.
const ANSWERS_WITHIN: Duration = Duration::from_secs(30);
/// The most that is kept of what an attempt writes; the rest is read and dropped.
const MOST_OUTPUT: u64 = 1 << 20;
/// Where the folders outside the workspace lie in the stage.
const OUTSIDE: &str = "/outside/home/ada";
/// What stays as it is in a workspace that may be written: the executors, and the owner's files that the suite puts there.
const KEPT: [&str; 2] = ["/workspace/executors", "/workspace/SOUL.md"];

/// What an attempt is run in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Contestant {
    /// The stage alone: what an unprivileged user may do anyway.
    Nothing,
    /// `bwrap`, as the section `sandbox` runs it, and the grant.
    Bwrap,
    /// `nono`, as the section `sandbox` runs it, and the grant.
    Nono,
}

impl Contestant {
    /// Each, in the order of the table.
    pub const ALL: [Self; 3] = [Self::Nothing, Self::Bwrap, Self::Nono];

    /// Its name in the table.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Nothing => "no sandbox",
            Self::Bwrap => "`bwrap`",
            Self::Nono => "`nono`",
        }
    }

    /// Its program, as it is found in the `PATH`.
    pub const fn program(self) -> Option<&'static str> {
        match self {
            Self::Nothing => None,
            Self::Bwrap => Some(BWRAP[0]),
            Self::Nono => Some(NONO),
        }
    }

    /// The words before the attempt's own, with the least grant under which the case does its work.
    fn words(self, case: &Case) -> Vec<String> {
        let mut words = Vec::new();
        match self {
            Self::Nothing => {}
            Self::Bwrap => {
                words.extend(BWRAP.map(str::to_owned));
                let mut bind =
                    |flag: &str, path: &str| words.extend([flag.to_owned(), path.to_owned(), path.to_owned()]);
                for (path, writes) in grants(case) {
                    bind(if writes { "--bind" } else { "--ro-bind" }, &path);
                }
                if case.writes {
                    KEPT.iter().for_each(|path| bind("--ro-bind", path));
                }
                words.push("--".to_owned());
            }
            Self::Nono => {
                words.push("/tools/nono".to_owned());
                words.extend(NONO_FLAGS.map(str::to_owned));
                words.extend(["--config", "/tools/nono.json", "--"].map(str::to_owned));
            }
        }
        words
    }
}

/// The folders that a case is granted, each with whether it may be written.
fn grants(case: &Case) -> Vec<(String, bool)> {
    if case.outside {
        return vec![(format!("{OUTSIDE}/Pictures"), false), (format!("{OUTSIDE}/Albums"), true)];
    }
    vec![("/workspace".to_owned(), case.writes)]
}

/// The file of a program in the `PATH`.
pub fn find(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(program)).find(|file| file.is_file())
}

/// What every attempt needs to know of this machine.
pub struct Stage {
    arguments: Value,
    libraries: String,
    commands: Value,
    nono: Option<PathBuf>,
}

impl Stage {
    /// Looks at this machine; `arguments` are those of the suite.
    pub fn new(arguments: Value) -> Self {
        let libraries = Interpreter::discover("/usr/bin/python3").unwrap().library_folders().join(":");
        let there = DEFAULT.iter().filter(|path| Path::new(path).is_file());
        let commands = there.map(|path| (path.rsplit('/').next().unwrap_or(path).to_owned(), json!(path))).collect();
        Self { arguments, libraries, commands: Value::Object(commands), nono: find(NONO) }
    }

    /// Tries a case in a contestant, on a stage of its own.
    ///
    /// # Errors
    /// In a sentence, why the stage cannot be made.
    pub fn attempt(&self, contestant: Contestant, case: &Case) -> Result<Seen, String> {
        let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
        let host = folder.path().to_str().ok_or("the temporary folder has no plain name")?;
        let scratch = Scratch::make_below(host, 1, &case.stage())?;
        for path in ["tools", "policy"] {
            std::fs::create_dir(folder.path().join(path)).map_err(|error| error.to_string())?;
        }
        let put =
            |path: &str, text: &str| std::fs::write(folder.path().join(path), text).map_err(|error| error.to_string());
        put("policy/instance.key", "not yours")?;
        put("tools/nono", "")?;
        put("tools/nono.json", &nono_manifest(&granted_to_nono(case)))?;
        if rustix::process::geteuid().is_root() {
            give_away(folder.path()).map_err(|error| error.to_string())?;
        }
        let mut words = self.stage_words(host);
        words.extend(contestant.words(case));
        words.extend(["/usr/bin/python3", "-I", "-S", "-c", ATTEMPT].map(str::to_owned));
        words.push(self.task(case).to_string());
        let seen = watched(&words, if case.ends.is_empty() { ANSWERS_WITHIN } else { ENDS_WITHIN });
        drop(scratch);
        seen
    }

    /// What the attempt's program is told.
    fn task(&self, case: &Case) -> Value {
        json!({
            "mark": MARK, "code": case.whole(), "args": self.arguments,
            "commands": if case.runs { self.commands.clone() } else { json!({}) }, "libraries": self.libraries,
            "bounds": {"memory": MOST_MEMORY, "file_size": MOST_OF_A_FILE},
        })
    }

    /// The words that make the stage, up to where the contestant's begin.
    fn stage_words(&self, host: &str) -> Vec<String> {
        let mut words: Vec<String> = Vec::new();
        let mut add = |some: &[&str]| words.extend(some.iter().map(|word| (*word).to_owned()));
        add(&["/usr/bin/python3", "-I", "-S", "-c", CLOSED]);
        if rustix::process::geteuid().is_root() {
            add(&["setpriv", "--reuid", UNPRIVILEGED, "--regid", UNPRIVILEGED, "--clear-groups", "--"]);
        }
        add(&["bwrap", "--unshare-all", "--die-with-parent", "--new-session", "--hostname", "stage", "--clearenv"]);
        for (name, value) in
            [("PATH", "/usr/bin:/bin"), ("HOME", "/home/ada"), ("LANG", "C.UTF-8"), (TOKEN, "not yours")]
        {
            add(&["--setenv", name, value]);
        }
        add(&["--ro-bind", "/usr", "/usr", "--ro-bind", "/etc", "/etc", "--ro-bind", "/sys", "/sys"]);
        for name in ["bin", "sbin", "lib", "lib64"] {
            let path = format!("/{name}");
            match std::fs::read_link(&path) {
                Ok(target) => add(&["--symlink", &target.to_string_lossy(), &path]),
                Err(_) => add(&["--ro-bind-try", &path, &path]),
            }
        }
        add(&["--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp", "--perms", "0000", "--tmpfs", "/root"]);
        add(&["--bind", &format!("{host}/1"), "/workspace"]);
        let home = format!("{host}/1{}/home", metnos_sandboxd::plan::SCRATCH_OUTSIDE);
        add(&["--bind", &home, "/home", "--bind", &home, "/outside/home"]);
        add(&["--ro-bind", &format!("{host}/policy"), "/.policy", "--ro-bind", &format!("{host}/tools"), "/tools"]);
        if let Some(nono) = &self.nono {
            add(&["--ro-bind", &nono.to_string_lossy(), "/tools/nono"]);
        }
        add(&["--remount-ro", "/", "--chdir", "/", "--"]);
        // As many descriptors as may be, so that it is the sandbox which limits them.
        let most = getrlimit(Resource::Nofile).maximum.unwrap_or(1 << 20);
        add(&["prlimit", &format!("--as={MOST_MEMORY}"), &format!("--fsize={MOST_OF_A_FILE}"), "--core=0"]);
        add(&[&format!("--nofile={most}:{most}")]);
        words
    }
}

/// What `nono` is ordered to allow: the grant, and what the flags of `bwrap` show besides.
fn granted_to_nono(case: &Case) -> Vec<(String, bool)> {
    let mut granted = grants(case);
    granted.push(("/tmp".to_owned(), true));
    granted
}

/// Gives everything below a folder, and the folder, to the user of the stage.
fn give_away(path: &Path) -> std::io::Result<()> {
    let user = UNPRIVILEGED.parse().ok();
    std::os::unix::fs::lchown(path, user, user)?;
    if path.symlink_metadata()?.is_dir() {
        for entry in std::fs::read_dir(path)? {
            give_away(&entry?.path())?;
        }
    }
    Ok(())
}

/// Runs the words and reads what came, for so long at most.
fn watched(words: &[String], within: Duration) -> Result<Seen, String> {
    let (program, arguments) = words.split_first().ok_or("there is nothing to run")?;
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(|error| format!("{program}: {error}"))?;
    let (output, said) = (child.stdout.take().map(read), child.stderr.take().map(read));
    let began = Instant::now();
    let mut seen = Seen::default();
    seen.code = loop {
        if let Some(status) = child.try_wait().map_err(|error| error.to_string())? {
            break status.code();
        }
        if began.elapsed() > within {
            seen.timed_out = true;
            // All of the stage ends with it (`--die-with-parent`, a namespace of processes).
            child.kill().map_err(|error| error.to_string())?;
            child.wait().map_err(|error| error.to_string())?;
            break None;
        }
        std::thread::sleep(Duration::from_millis(2));
    };
    let text = |reader: Option<JoinHandle<Vec<u8>>>| {
        let bytes = reader.and_then(|reader| reader.join().ok()).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    };
    seen.words = Seen::words_of(&text(output), MARK);
    let said = text(said);
    seen.said = said.lines().rev().take(3).collect::<Vec<_>>().join(" / ");
    Ok(seen)
}

/// Reads all of it and keeps a bounded part.
fn read(mut from: impl Read + Send + 'static) -> JoinHandle<Vec<u8>> {
    std::thread::spawn(move || {
        let mut kept = Vec::new();
        let _ = from.by_ref().take(MOST_OUTPUT).read_to_end(&mut kept);
        let _ = std::io::copy(&mut from, &mut std::io::sink());
        kept
    })
}

#[cfg(test)]
mod tests {
    use metnos_sandboxd::selftest::escape::families;

    use super::*;

    fn cases() -> impl Iterator<Item = Case> {
        families().unwrap().into_iter().flat_map(|family| family.cases)
    }

    #[test]
    fn contestants_are_granted_no_more_than_the_case() {
        for case in cases() {
            let granted = grants(&case);
            let writes = granted.iter().any(|(path, writes)| *writes && path == "/workspace");
            assert_eq!(writes, case.writes && !case.outside, "{}", case.name);
            let bwrap = Contestant::Bwrap.words(&case);
            assert_eq!(bwrap.iter().any(|word| word == "--bind"), case.writes || case.outside, "{}", case.name);
            assert_eq!(bwrap.iter().any(|word| word == KEPT[0]), case.writes, "{}", case.name);
            assert!(granted_to_nono(&case).iter().all(|one| granted.contains(one) || one.0 == "/tmp"), "{}", case.name);
        }
    }

    #[test]
    fn attempt_output_is_read_to_the_end_and_kept_up_to_a_bound() {
        let words = ["sh", "-c", "head -c 3000000 /dev/zero; echo end >&2"].map(str::to_owned);
        let seen = watched(&words, ANSWERS_WITHIN).unwrap();
        assert_eq!((seen.code, seen.timed_out, seen.said.as_str()), (Some(0), false, "end"));
        assert_eq!(read(std::io::repeat(b'x').take(MOST_OUTPUT * 2)).join().unwrap().len() as u64, MOST_OUTPUT);
    }

    #[test]
    fn endless_attempt_is_killed_at_the_timeout() {
        let seen = watched(&["sleep", "1000"].map(str::to_owned), Duration::from_millis(50)).unwrap();
        assert_eq!((seen.code, seen.timed_out), (None, true));
    }
}
