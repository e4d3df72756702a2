//! A whole set of daemons in a temporary directory, started by `metnosctl up` as a person would. It
//! must never outlive its test.

mod template;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::time::{Duration, Instant};

use metnos_proto::role::RoleName;
use serde_json::Value;

use crate::bins::{self, Build, Staged, binary_of};
use crate::chronicle::{self, Line};
use crate::procfs;
use crate::watch;

/// The uid (and gid) that plays the ordinary user when the tests run as root. No account has it.
pub const ORDINARY_UID: u32 = 64_990;
/// How long a set may take until it is ready, also on a machine that does much else.
pub const READY_WITHIN: Duration = Duration::from_secs(60);
/// How long the executors of a first start may take until they are born: on a busy machine of two processors some hundred seconds.
pub const BORN_WITHIN: Duration = Duration::from_secs(240);
/// A set that is ready before this is ready with every executor: policyd waits longer for them (`SETTLE_WITHIN` there).
const BORN_BY_THEN: Duration = Duration::from_secs(15);
/// How long it may take to stop (architecture: a clean stop within 5 s) before the test gives up.
pub const STOP_WITHIN: Duration = Duration::from_secs(20);

/// The configuration of a set whose clients ask more often than people: a test of a minute must reach neither the limit of a
/// minute nor the budget of a day, however fast its machine is.
pub const UNHURRIED: &str = "[policy]\ncalls_per_minute = 100000\n[budget]\ncalls_per_day = 4000000000\n";

/// Where files never meet a disk.
const MEMORY: &str = "/dev/shm";

/// Whether this test runs as root.
#[must_use]
pub fn is_root() -> bool {
    rustix::process::getuid().is_root()
}

/// What a set is started with.
#[derive(Debug, Default)]
pub struct Plan {
    build: Option<Build>,
    as_root: bool,
    replaced: Vec<(RoleName, PathBuf)>,
    config: Option<String>,
    in_memory: bool,
    first_start: bool,
}

impl Plan {
    /// The shipped build, as an ordinary user.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The test build.
    #[must_use]
    pub fn attack(mut self) -> Self {
        self.build = Some(Build::Attack);
        self
    }

    /// As root, so that each daemon gets a uid of its own.
    #[must_use]
    pub fn as_root(mut self) -> Self {
        assert!(is_root(), "this test must run as root: ./metnos test leaves it out for others, and says so");
        self.as_root = true;
        self
    }

    /// Another program in the place of a daemon's binary. The supervisor starts it as it starts that
    /// daemon: same uid, same ends.
    #[must_use]
    pub fn replace(mut self, role: RoleName, program: &str) -> Self {
        self.replaced.push((role, program.into()));
        self
    }

    /// In a file system that has no disk below it, where there is one.
    #[must_use]
    pub fn in_memory(mut self) -> Self {
        self.in_memory = Path::new(MEMORY).is_dir();
        self
    }

    /// An instance that does not exist yet, so that its executors are born; others are copies of one that was started before.
    #[must_use]
    pub fn first_start(mut self) -> Self {
        self.first_start = true;
        self
    }

    /// The configuration file.
    #[must_use]
    pub fn config(mut self, text: &str) -> Self {
        self.config = Some(text.to_owned());
        self
    }

    /// Makes the directory and the links to the binaries, starts nothing.
    ///
    /// # Panics
    /// When the temporary directory cannot be used.
    #[must_use]
    pub fn prepare(self) -> Instance {
        let ids = (is_root() && !self.as_root).then_some(ORDINARY_UID);
        let bins = Staged::new(self.build.unwrap_or(Build::Shipped));
        for (role, program) in &self.replaced {
            bins.put(program, binary_of(*role));
        }
        let place = if self.in_memory { MEMORY.into() } else { std::env::temp_dir() };
        let folder = bins::open_folder_in(&place, "metnos-set-");
        let home = folder.path().join("instance");
        if let Some(id) = ids {
            std::os::unix::fs::chown(folder.path(), Some(id), Some(id)).unwrap();
        }
        let instance = Instance { folder, home, bins, ids, up: None, watched: false, given: Vec::new() };
        instance.write_config(self.config.as_deref().unwrap_or_default());
        instance
    }

    /// Starts the set and waits until every daemon is ready.
    ///
    /// # Panics
    /// When it does not become ready; the logs are printed.
    #[must_use]
    pub fn start(self) -> Instance {
        // As root each daemon has a uid that the instance chooses, and what is granted is part of what was signed.
        let changes_grants = self.config.as_ref().is_some_and(|text| text.contains("[sandbox]"));
        let copied = !(self.first_start || self.as_root || changes_grants);
        let (build, replaced) = (self.build.unwrap_or(Build::Shipped), !self.replaced.is_empty());
        let mut instance = self.prepare();
        if copied {
            template::copy_into(&instance.home, build);
        }
        let began = Instant::now();
        instance.up();
        // On a slow machine policyd is ready before the last executor is born; a test counts on all of them.
        let slow = began.elapsed() > BORN_BY_THEN;
        // A set with another program in the place of a daemon may never have them.
        let end = Instant::now() + if replaced { READY_WITHIN / 2 } else { BORN_WITHIN };
        while slow && !instance.has_grown() && Instant::now() < end {
            std::thread::sleep(Duration::from_millis(250));
        }
        instance
    }
}

/// A set of daemons and its directory.
#[derive(Debug)]
pub struct Instance {
    folder: tempfile::TempDir,
    home: PathBuf,
    bins: Staged,
    ids: Option<u32>,
    up: Option<Child>,
    watched: bool,
    given: Vec<(String, String)>,
}

impl Instance {
    /// The shipped build as an ordinary user, ready.
    #[must_use]
    pub fn start() -> Self {
        Plan::new().start()
    }

    /// Its directory.
    #[must_use]
    pub fn home(&self) -> &Path {
        &self.home
    }

    /// A path in its workspace.
    #[must_use]
    pub fn workspace(&self, path: &str) -> PathBuf {
        self.home.join("workspace").join(path)
    }

    /// The uid that owns it.
    #[must_use]
    pub fn owner(&self) -> u32 {
        self.ids.unwrap_or_else(|| rustix::process::getuid().as_raw())
    }

    /// Writes `metnos.toml`. Sets run beside each other, so none listens at the usual place: nowhere, where `text` does
    /// not say.
    pub fn write_config(&self, text: &str) {
        let quiet = if text.contains("[http]") { "" } else { "\n[http]\nlisten = \"\"\n" };
        let text = format!("{text}{quiet}");
        std::fs::create_dir_all(&self.home).unwrap();
        let path = self.home.join("metnos.toml");
        std::fs::write(&path, text).unwrap();
        if let Some(id) = self.ids {
            std::os::unix::fs::chown(&self.home, Some(id), Some(id)).unwrap();
            std::os::unix::fs::chown(&path, Some(id), Some(id)).unwrap();
        }
    }

    /// Changes one of the programs, as an upgrade does: `change` is given its bytes. Call it while the set is down.
    pub fn upgrade(&self, role: RoleName, change: impl FnOnce(&mut Vec<u8>)) {
        let name = binary_of(role);
        let mut bytes = std::fs::read(self.bins.path(name)).unwrap();
        change(&mut bytes);
        let other = self.folder.path().join("other");
        std::fs::write(&other, bytes).unwrap();
        std::fs::set_permissions(&other, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        self.bins.put(&other, name);
        std::fs::remove_file(other).unwrap();
    }

    /// A command of one of the binaries, as the owner of this instance, with nothing in its environment
    /// but what a shell always has.
    #[must_use]
    pub fn command(&self, binary: &str) -> Command {
        self.as_owner(Command::new(self.bins.path(binary)))
    }

    /// A line for the shell of the owner, who finds `metnosctl` in his `PATH`.
    #[must_use]
    pub fn shell(&self, line: &str) -> Command {
        let mut command = self.as_owner(Command::new("/bin/sh"));
        command.env("PATH", format!("{}:/usr/bin:/bin", self.bins.path("").display())).args(["-c", line]);
        command
    }

    fn as_owner(&self, mut command: Command) -> Command {
        use std::os::unix::process::CommandExt;
        command.env_clear().env("PATH", "/usr/bin:/bin").env("HOME", self.folder.path()).env("METNOS_HOME", &self.home);
        command.current_dir(self.folder.path()).stdin(Stdio::null());
        if let Some(id) = self.ids {
            command.uid(id).gid(id);
        }
        command
    }

    /// Waits until every executor of the release is there: a slow machine is ready before the last one is born.
    ///
    /// # Panics
    /// When one is not within [`BORN_WITHIN`].
    pub fn is_grown(&self) {
        crate::until("every executor of the release", BORN_WITHIN, || self.has_grown().then_some(()));
    }

    fn has_grown(&self) -> bool {
        let (_, list) = self.json(&["executor", "list"]);
        let rows = list.as_array().map(Vec::as_slice).unwrap_or_default();
        let is_active = |name: &str| rows.iter().any(|row| row["name"] == name && row["state"] == "active");
        // They are born side by side, and the last by name need not be the last.
        metnos_proto::executor::guests::SHIPPED.iter().all(|name| is_active(name))
    }

    /// From the next start on the set has this in its environment.
    pub fn give(&mut self, name: &str, value: &str) {
        self.given.push((name.to_owned(), value.to_owned()));
    }

    /// Starts `metnosctl up` in the foreground, waits for nothing.
    pub fn begin(&mut self) {
        let log = std::fs::File::options().create(true).append(true).open(self.folder.path().join("up.log")).unwrap();
        let mut words = if self.watched { watch::strace(&self.watch_log()) } else { Vec::new() };
        words.push(self.bins.path("metnosctl").to_str().expect("a temporary path is text").to_owned());
        words.push("up".to_owned());
        let mut command = self.as_owner(Command::new(&words[0]));
        command.envs(self.given.iter().map(|(name, value)| (name, value)));
        command.args(&words[1..]).stdout(log.try_clone().unwrap()).stderr(log);
        self.up = Some(command.spawn().unwrap_or_else(|error| panic!("{} cannot be executed: {error}", words[0])));
    }

    fn watch_log(&self) -> PathBuf {
        self.folder.path().join("watch.log")
    }

    /// What these processes, known by the names of their daemons, asked of the kernel after they were locked;
    /// for a set that was watched and has ended.
    #[must_use]
    pub fn seen(&self, roles: &BTreeMap<u32, String>) -> BTreeMap<String, watch::Seen> {
        watch::seen(&self.watch_log(), roles)
    }

    /// Starts the set and waits until every daemon is ready.
    ///
    /// # Panics
    /// When it does not become ready; the logs are printed.
    pub fn up(&mut self) {
        self.begin();
        let ready = crate::until("a set that is ready", READY_WITHIN, || {
            if let Some(status) = self.up.as_mut().and_then(|up| up.try_wait().unwrap()) {
                return Some(Err(status));
            }
            let states = self.states()?;
            states.values().all(|state| state == "ready").then_some(Ok(()))
        });
        if let Err(status) = ready {
            panic!("`metnosctl up` ended with {status}:\n{}", self.logs());
        }
    }

    /// From the next start on it runs under `strace`; see [`Instance::seen`].
    pub fn watch(&mut self) {
        self.watched = true;
    }

    /// The supervisor: what `up` has become.
    #[must_use]
    pub fn supervisor(&self) -> u32 {
        self.up.as_ref().map_or(0, Child::id)
    }

    /// `metnosctl` with these words.
    #[must_use]
    pub fn ctl(&self, words: &[&str]) -> Output {
        self.command("metnosctl").args(words).output().expect("metnosctl can be executed")
    }

    /// `metnosctl --json` with these words: its exit code and its document.
    ///
    /// # Panics
    /// When it prints something else than one JSON document.
    #[must_use]
    pub fn json(&self, words: &[&str]) -> (i32, Value) {
        let output = self.command("metnosctl").arg("--json").args(words).output().expect("metnosctl can be executed");
        let text = String::from_utf8_lossy(&output.stdout);
        let value = serde_json::from_str(&text).unwrap_or_else(|error| {
            let errors = String::from_utf8_lossy(&output.stderr);
            panic!("{words:?} printed no JSON ({error}): {text}\n{errors}")
        });
        (output.status.code().unwrap_or(-1), value)
    }

    /// One turn; panics unless it succeeds.
    #[must_use]
    pub fn ask(&self, words: &str) -> String {
        let output = self.ctl(&["ask", words]);
        let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(output.status.success(), "ask {words:?}: {}\n{out}\n{err}", output.status);
        out.into_owned()
    }

    /// A request that waits for a card, and the card approved: what `metnosctl approval approve --json` exits with and prints.
    #[must_use]
    pub fn approved(&self, words: &str) -> (i32, Value) {
        let output = self.ctl(&["ask", words]);
        assert_eq!(output.status.code(), Some(4), "{words}: {}", String::from_utf8_lossy(&output.stdout));
        let (_, cards) = self.json(&["approval", "list"]);
        let cards = cards.as_array().expect("a list of cards");
        let waiting = cards.iter().find(|card| card["state"] == "waiting").expect("a card that waits");
        self.json(&["approval", "approve", waiting["id"].as_str().expect("the id of a card")])
    }

    /// One direct call: what `metnosctl run --json` exits with and prints.
    #[must_use]
    pub fn run(&self, executor: &str, pairs: &[&str]) -> (i32, Value) {
        self.json(&[&["run", executor], pairs].concat())
    }

    /// The state of each daemon by name; `None` as long as nobody answers.
    #[must_use]
    pub fn states(&self) -> Option<BTreeMap<String, String>> {
        let text = |row: &Value, key: &str| row[key].as_str().map(str::to_owned);
        self.daemons()?.iter().map(|row| Some((text(row, "name")?, text(row, "state")?))).collect()
    }

    /// The rows of `daemon list --json`; `None` as long as nobody answers.
    #[must_use]
    pub fn daemons(&self) -> Option<Vec<Value>> {
        let output = self.ctl(&["daemon", "list", "--json"]);
        serde_json::from_slice::<Value>(&output.stdout).ok()?.as_array().cloned()
    }

    /// The process of each daemon by name.
    ///
    /// # Panics
    /// When nobody answers.
    #[must_use]
    pub fn pids(&self) -> BTreeMap<String, u32> {
        let number = |row: &Value| u32::try_from(row["pid"].as_u64()?).ok();
        let rows = self.daemons().unwrap_or_else(|| panic!("no answer:\n{}", self.logs()));
        rows.iter().filter_map(|row| Some((row["name"].as_str()?.to_owned(), number(row)?))).collect()
    }

    /// Waits until every daemon is ready.
    ///
    /// # Panics
    /// When they are not within `within`.
    pub fn wait_ready(&self, within: Duration) {
        crate::until("all daemons ready", within, || {
            self.states()?.values().all(|state| state == "ready").then_some(())
        });
    }

    /// Whether this daemon is another process than `old`, and serves.
    #[must_use]
    pub fn is_back(&self, name: &str, old: u32) -> bool {
        let rows = self.daemons().unwrap_or_default();
        rows.iter().any(|row| {
            let pid = row["pid"].as_u64().unwrap_or(0);
            row["name"] == name && pid != 0 && pid != u64::from(old) && row["since_ms"].as_u64() != Some(0)
        })
    }

    /// Waits until this daemon is another process than `old`, and serves.
    ///
    /// # Panics
    /// When it does not come back.
    pub fn wait_back(&self, name: &str, old: u32) {
        crate::until(&format!("{name} is back"), READY_WITHIN, || self.is_back(name, old).then_some(()));
    }

    /// The chronicle as it lies in the files.
    #[must_use]
    pub fn chronicle(&self) -> Vec<Line> {
        chronicle::read(&self.home)
    }

    /// What `f` adds to the chronicle, and what it gives.
    pub fn recording<T>(&self, f: impl FnOnce() -> T) -> (T, Vec<Line>) {
        let before = chronicle::last(&self.home);
        let value = f();
        (value, chronicle::after(&self.home, before))
    }

    /// The turn that was opened first in these lines, and all of its lines: a direct call is answered before its turn is closed,
    /// so this waits for the end.
    ///
    /// # Panics
    /// When none was opened, or it does not end.
    #[must_use]
    pub fn ended_turn(&self, lines: &[Line]) -> (String, Vec<Line>) {
        let open = lines.iter().find(|line| line.kind() == "turn_open").expect("a turn was opened");
        let turn = open.text("turn_id").to_owned();
        let lines = crate::until("the end of the turn", READY_WITHIN, || {
            let mut lines = self.chronicle();
            lines.retain(|line| line.text("turn_id") == turn);
            lines.iter().any(|line| line.kind() == "turn_close").then_some(lines)
        });
        (turn, lines)
    }

    /// `audit verify`; panics with what it found unless it is clean.
    ///
    /// # Panics
    /// When it is not.
    pub fn verify(&self) {
        let (code, report) = self.json(&["audit", "verify"]);
        assert_eq!(code, 0, "audit verify: {report:#}");
    }

    /// Tells the set to stop and waits until it has.
    ///
    /// # Panics
    /// When it does not.
    pub fn down(&mut self) -> ExitStatus {
        let output = self.ctl(&["down"]);
        assert!(output.status.success(), "down: {output:?}");
        self.ended()
    }

    /// Waits for the end of what `up` started.
    ///
    /// # Panics
    /// When it does not end.
    pub fn ended(&mut self) -> ExitStatus {
        let mut up = self.up.take().expect("it was started");
        crate::until("the end of the set", STOP_WITHIN, || up.try_wait().unwrap())
    }

    /// What the set has logged.
    #[must_use]
    pub fn logs(&self) -> String {
        let read = |path: PathBuf| std::fs::read_to_string(path).unwrap_or_default();
        let (up, supervisor) = (read(self.folder.path().join("up.log")), read(self.home.join("run/supervisor.log")));
        format!("--- up\n{up}\n--- supervisor\n{supervisor}")
    }

    /// Every process that still has to do with this instance.
    #[must_use]
    pub fn left_over(&self) -> Vec<u32> {
        let mut pids = procfs::users_of(self.folder.path());
        pids.extend(procfs::users_of(self.bins.path("").as_path()));
        pids
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("{}", self.logs());
        }
        let Some(mut up) = self.up.take() else {
            return;
        };
        let all = procfs::descendants(up.id());
        let _ = self.command("metnosctl").arg("down").stdout(Stdio::null()).stderr(Stdio::null()).status();
        for _ in 0..200 {
            if matches!(up.try_wait(), Ok(Some(_))) {
                break;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        let _ = up.kill();
        let _ = up.wait();
        for pid in all.into_iter().filter(|pid| procfs::alive(*pid)) {
            if let Some(pid) = rustix::process::Pid::from_raw(pid.cast_signed()) {
                let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
            }
        }
    }
}
