//! What else a piece of Python could be run with: nothing around it, and other sandboxes. Each is used where it is installed and
//! runs; where not, the table says so and why, because a line that is missing would look like one that nobody thought of.

use std::io::ErrorKind;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::stats::{Table, Times};

/// Python and what it is to do: nothing.
const PYTHON: [&str; 5] = ["/usr/bin/python3", "-I", "-S", "-c", "pass"];
/// What `srt` is ordered to allow: nothing is written and no host is reached, as for an executor without a grant.
const SRT_SETTINGS: &str = r#"{
  "filesystem": { "denyRead": [], "allowWrite": [], "denyWrite": [] },
  "network": { "allowedDomains": [], "deniedDomains": [] }
}"#;
/// The program of the crate `nono-cli`.
pub const NONO: &str = "nono";
/// Its flags, before its manifest: besides what the manifest leaves out (every file that it does not grant, the network, signals to
/// other processes) namespaces of its own for shared memory and the machine's name, and no audit of the run. It takes a namespace
/// without a network (`net`) with flags alone, not with a manifest that blocks the network already.
pub const NONO_FLAGS: [&str; 7] =
    ["--silent", "run", "--isolate", "ipc,uts", "--no-audit", "--no-rollback", "--no-diagnostics"];
/// Anyone who takes longer than half a second is tried in every so manieth round only; the others take part in each.
const SLOW_EVERY: usize = 5;
/// The longest reason of another program that is repeated.
const MAX_WHY: usize = 120;

/// One other way.
struct Way {
    name: &'static str,
    /// Whether it keeps anything away from what it runs: ours is compared with it then.
    sandbox: bool,
    every: usize,
    words: Vec<String>,
    times: Times,
}

/// All other ways that run here, and why the others do not.
pub struct Others {
    ways: Vec<Way>,
    missing: Vec<(&'static str, String)>,
    /// Where the settings lie that some of them read, and what one of them writes of its sessions.
    settings: tempfile::TempDir,
}

impl Others {
    /// Tries each once.
    pub fn find() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let settings = dir.path().join("srt.json");
        std::fs::write(&settings, SRT_SETTINGS).unwrap();
        let manifest = dir.path().join("nono.json");
        std::fs::write(&manifest, nono_manifest(&[])).unwrap();
        let (mut ways, mut missing) = (Vec::new(), Vec::new());
        for way in all(&settings, &manifest) {
            match once(&way.words, dir.path()) {
                Ok(()) => ways.push(way),
                Err(why) => missing.push((way.name, why)),
            }
        }
        Self { ways, missing, settings: dir }
    }

    /// Does each once more, if it takes part in this round.
    pub fn time(&mut self, round: usize) {
        for way in self.ways.iter_mut().filter(|way| round.is_multiple_of(way.every)) {
            let Way { words, times, name, .. } = way;
            times.time(|| once(words, self.settings.path())).unwrap_or_else(|why| panic!("{name}: {why}"));
        }
    }

    /// Tells their times, and who was not measured.
    pub fn tell(&self, table: &mut Table, bwrap: &Times) {
        for way in &self.ways {
            table.times(way.name, &way.times, format!("{:.3} × bwrap", way.times.ratio_to(bwrap)), "");
        }
        for (name, why) in &self.missing {
            table.row(name, "not measured".to_owned(), why.clone(), "");
        }
    }

    /// How long ours takes beside each other sandbox that was measured: `, 0.03 × firejail …`.
    pub fn beside(&self, ours: &Times) -> String {
        let sandboxes = self.ways.iter().filter(|way| way.sandbox);
        sandboxes.map(|way| format!(", {:.3} × {}", ours.ratio_to(&way.times), way.name)).collect()
    }
}

/// Every way that is known.
fn all(srt_settings: &Path, nono_manifest: &Path) -> Vec<Way> {
    let way = |name, sandbox, every, before: &[&str], program: &[&str]| {
        let words = before.iter().chain(program).map(|word| (*word).to_owned()).collect();
        Way { name, sandbox, every, words, times: Times::default() }
    };
    // One word, for it gives that to a shell.
    let program = PYTHON.join(" ");
    let srt = ["srt", "--settings", srt_settings.to_str().unwrap_or_default(), "-c", &program];
    let nono: Vec<&str> = [NONO]
        .into_iter()
        .chain(NONO_FLAGS)
        .chain(["--config", nono_manifest.to_str().unwrap_or_default(), "--"])
        .collect();
    vec![
        way("`posix_spawn` of `/bin/true`", false, 1, &[], &["/bin/true"]),
        way("`python3 -I -S -c pass`, bare", false, 1, &[], &PYTHON),
        way("nsjail with Python", true, 1, &["nsjail", "-Mo", "-q", "-R/usr", "-R/lib", "-R/lib64", "--"], &PYTHON),
        way("firejail with Python", true, 1, &["firejail", "--quiet", "--net=none", "--private"], &PYTHON),
        way("`nono-cli` with Python", true, 1, &nono, &PYTHON),
        way("`@anthropic-ai/sandbox-runtime` (`srt`) with Python", true, SLOW_EVERY, &srt, &[]),
    ]
}

/// What `nono` is ordered to allow (`--config`): the system's programs and libraries and the harmless devices, as the flags of `bwrap`
/// show them, and the folders that are `granted`, each with whether it may be written. It allows nothing else.
pub fn nono_manifest(granted: &[(String, bool)]) -> String {
    let grant = |path: &str, access: &str, kind: &str| json!({"path": path, "access": access, "type": kind});
    let mut grants: Vec<Value> = ["/usr", "/lib", "/lib64"].map(|path| grant(path, "read", "directory")).into();
    grants.push(grant("/dev/null", "readwrite", "file"));
    grants.extend(["/dev/zero", "/dev/urandom"].map(|path| grant(path, "read", "file")));
    grants.extend(
        granted.iter().map(|(path, writes)| grant(path, if *writes { "readwrite" } else { "read" }, "directory")),
    );
    json!({
        "version": "0.1.0", "filesystem": {"grants": grants}, "network": {"mode": "blocked"},
        "process": {"signal_mode": "isolated", "process_info_mode": "isolated", "exec_strategy": "supervised"},
    })
    .to_string()
}

/// Does it once, with its state in a folder of the bench and not in the user's, or says why it did not.
#[expect(clippy::wildcard_enum_match_arm, reason = "io::ErrorKind grows with the standard library")]
fn once(words: &[String], state: &Path) -> Result<(), String> {
    let Some((program, arguments)) = words.split_first() else { return Err("it has no name".to_owned()) };
    let mut command = Command::new(program);
    command
        .args(arguments)
        .env("XDG_STATE_HOME", state)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    let output = command.output().map_err(|error| match error.kind() {
        ErrorKind::NotFound => "not installed".to_owned(),
        _ => format!("it cannot be started: {error}"),
    })?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let line = said.lines().find(|line| !line.trim().is_empty()).unwrap_or("without a word");
    // A table has bars of its own.
    let line: String = line.replace('|', "/").chars().take(MAX_WHY).collect();
    Err(format!("installed, but it does not run here ({}): {line}", output.status))
}
