//! One daemon alone: the test is its supervisor and holds the other end of every channel it has. So a
//! daemon can be lied to in every way that the matrix allows, and never in another.

use std::collections::BTreeMap;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use metnos_proto::control::{
    self, Drain, EdgeEnd, Go, ModelSettings, Order, Ping, Ready, Report, Settings, Start, VaultKeyFile, Violation,
};
use metnos_proto::edge::{AnswererEnd, AskerEnd, Edge, PeerCred, RawEnd, Side};
use metnos_proto::edges::EdgeId;
use metnos_proto::msg::common::Lang;
use metnos_proto::role::RoleName;
use metnos_proto::socket;

/// How long a daemon may take to answer the supervisor.
pub const WITHIN: Duration = Duration::from_secs(20);

/// As many as the configuration allows: a test or a measurement must not meet the limit by chance.
const CALLS_PER_MINUTE: u32 = 100_000;

/// The vault's key of an instance, made where no policyd has made one.
fn vault_key(instance: &Path) -> OwnedFd {
    let file = instance.join(".policy/vault.key");
    if !file.exists() {
        std::fs::create_dir_all(instance.join(".policy")).unwrap();
        std::fs::write(&file, [7; 32]).unwrap();
    }
    std::fs::File::open(file).unwrap().into()
}

/// What a daemon is started with.
#[derive(Debug, Clone)]
pub struct Setup {
    /// The binary.
    pub binary: PathBuf,
    /// Which daemon it is.
    pub role: RoleName,
    /// The instance's directory.
    pub instance: PathBuf,
    /// The uid and gid it gets; `None`: those of this test.
    pub ids: Option<u32>,
    /// Layers to waive.
    pub waive: Vec<String>,
    /// The models that it is said of.
    pub models: ModelSettings,
}

/// A daemon whose only company is the test.
#[derive(Debug)]
pub struct Solo {
    child: Child,
    control: OwnedFd,
    role: RoleName,
    log: PathBuf,
    /// What the daemon said about its lock.
    pub ready: Ready,
    ends: BTreeMap<EdgeId, RawEnd>,
    generation: u32,
    kept: Vec<Report>,
}

/// The edges a daemon has from the start, and which end of each is its own.
pub fn edges_of(role: RoleName) -> impl Iterator<Item = (EdgeId, Side)> {
    EdgeId::ALL.iter().filter(|edge| !edge.is_admin()).filter_map(move |edge| {
        if edge.asker() == role {
            Some((*edge, Side::Asker))
        } else if edge.answerer() == role {
            Some((*edge, Side::Answerer))
        } else {
            None
        }
    })
}

impl Solo {
    /// Starts the daemon as the supervisor would, and waits until it is ready.
    ///
    /// # Panics
    /// When it does not become ready; its log is printed.
    #[must_use]
    pub fn start(setup: &Setup) -> Self {
        let mut solo = Self::spawn(setup);
        solo.wait_ready();
        solo
    }

    /// Waits until it is ready.
    ///
    /// # Panics
    /// When it does not become ready; its log is printed.
    #[expect(clippy::wildcard_enum_match_arm, reason = "a build without attempts has one report fewer")]
    pub fn wait_ready(&mut self) {
        self.ready = self.report(|report| match report {
            Report::Ready(ready) => Ok(ready),
            other => Err(other),
        });
    }

    /// Starts the daemon as the supervisor would; it may not become ready.
    ///
    /// # Panics
    /// When it cannot even be executed.
    #[must_use]
    pub fn spawn(setup: &Setup) -> Self {
        use std::os::unix::process::CommandExt;
        let (ours, theirs) = socket::pair().unwrap();
        let log = setup.instance.join(format!("solo-{}.log", setup.role));
        let stderr = std::fs::File::create(&log).unwrap();
        let mut command = Command::new(&setup.binary);
        command.env_clear().stdin(theirs).stdout(Stdio::null()).stderr(stderr).current_dir("/");
        if let Some(id) = setup.ids {
            command.uid(id).gid(id);
        }
        let child = command.spawn().unwrap_or_else(|error| panic!("{}: {error}", setup.binary.display()));
        let mut solo = Self {
            child,
            control: ours,
            role: setup.role,
            log,
            ready: Ready { lock: Vec::new(), waived: Vec::new() },
            ends: BTreeMap::new(),
            generation: 1,
            kept: Vec::new(),
        };
        solo.tell(&Order::Start(start_word(setup)), None);
        if setup.role == RoleName::Memoryd {
            solo.tell(&Order::Key(VaultKeyFile {}), Some(vault_key(&setup.instance)));
        }
        for (edge, _) in edges_of(setup.role) {
            let end = solo.give(edge, 1, None);
            solo.ends.insert(edge, end);
        }
        solo.tell(&Order::Go(Go {}), None);
        solo
    }

    /// The process.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Makes a new channel of this edge, gives the daemon its end, and returns the other one.
    fn give(&mut self, edge: EdgeId, generation: u32, peer: Option<PeerCred>) -> RawEnd {
        let (ours, theirs) = socket::pair().unwrap();
        let daemons = if edge.asker() == self.role { Side::Asker } else { Side::Answerer };
        let mine = if edge.asker() == self.role { Side::Answerer } else { Side::Asker };
        self.tell(&Order::Edge(EdgeEnd { edge, side: daemons, generation, peer }), Some(theirs));
        RawEnd { edge, side: mine, generation, peer, fd: ours }
    }

    /// Our end of a channel that was there from the start.
    ///
    /// # Panics
    /// When the daemon has no such channel, or it was taken already.
    pub fn raw(&mut self, edge: EdgeId) -> RawEnd {
        self.ends.remove(&edge).unwrap_or_else(|| panic!("{} has no (further) end of {edge:?}", self.role))
    }

    /// Our end of a fresh channel of this edge, as after a restart of the peer.
    pub fn fresh(&mut self, edge: EdgeId) -> RawEnd {
        self.generation += 1;
        let generation = self.generation;
        let peer = edge.is_admin().then(|| PeerCred { pid: std::process::id(), uid: self.owner() });
        self.give(edge, generation, peer)
    }

    fn owner(&self) -> u32 {
        rustix::process::getuid().as_raw()
    }

    /// Our asking end of a fresh channel.
    pub fn asker<E: Edge>(&mut self) -> AskerEnd<E> {
        AskerEnd::new(self.fresh(E::ID)).unwrap()
    }

    /// Our answering end of a channel that was there from the start.
    pub fn answerer<E: Edge>(&mut self) -> AnswererEnd<E> {
        AnswererEnd::new(self.raw(E::ID)).unwrap()
    }

    /// Tells the daemon something.
    ///
    /// # Panics
    /// When it does not listen any more.
    pub fn tell(&mut self, order: &Order, fd: Option<OwnedFd>) {
        if let Err(error) = control::send_owned(&self.control, order, fd) {
            panic!("{} does not listen: {error}\n{}", self.role, self.log());
        }
    }

    /// The next report that `wanted` takes; others are kept for later.
    ///
    /// # Panics
    /// When none comes in time, or the daemon is gone.
    pub fn report<T>(&mut self, wanted: impl FnMut(Report) -> Result<T, Report>) -> T {
        match self.report_within(WITHIN, wanted) {
            Some(value) => value,
            None => panic!("{} does not report within {WITHIN:?}; kept: {:?}\n{}", self.role, self.kept, self.log()),
        }
    }

    /// The same, or `None` when none comes in time.
    ///
    /// # Panics
    /// When the daemon is gone.
    pub fn report_within<T>(
        &mut self,
        within: Duration,
        mut wanted: impl FnMut(Report) -> Result<T, Report>,
    ) -> Option<T> {
        let mut found = None;
        for report in std::mem::take(&mut self.kept) {
            match (found.is_none(), report) {
                (true, report) => match wanted(report) {
                    Ok(value) => found = Some(value),
                    Err(other) => self.kept.push(other),
                },
                (false, report) => self.kept.push(report),
            }
        }
        let end = Instant::now() + within;
        let mut buffer = socket::buffer();
        while found.is_none() {
            let left = end.saturating_duration_since(Instant::now());
            match control::receive_within::<Report>(self.control.as_fd(), &mut buffer, left) {
                Ok(Some((report, _))) => match wanted(report) {
                    Ok(value) => found = Some(value),
                    Err(other) => self.kept.push(other),
                },
                Ok(None) => return None,
                Err(error) => panic!("{}: {error}; kept: {:?}\n{}", self.role, self.kept, self.log()),
            }
        }
        found
    }

    /// Whether it still answers the supervisor.
    ///
    /// # Panics
    /// When it does not.
    #[expect(clippy::wildcard_enum_match_arm, reason = "a build without attempts has one report fewer")]
    pub fn ping(&mut self) {
        let number = 0xfeed;
        self.tell(&Order::Ping(Ping { number }), None);
        let pong = self.report(|report| match report {
            Report::Pong(pong) => Ok(pong),
            other => Err(other),
        });
        assert_eq!(pong.number, number);
    }

    /// The next breach of protocol it reports.
    ///
    /// # Panics
    /// When it reports none in time.
    #[expect(clippy::wildcard_enum_match_arm, reason = "a build without attempts has one report fewer")]
    pub fn violation(&mut self) -> Violation {
        self.report(|report| match report {
            Report::Violation(violation) => Ok(violation),
            other => Err(other),
        })
    }

    /// Has it attempt a forbidden act: the errno that stopped it and what it says, or how it died.
    #[cfg(feature = "attack")]
    pub fn attempt(&mut self, name: &str, target: &str) -> Result<(i32, String), ExitStatus> {
        use metnos_proto::control::Attempt;
        self.tell(&Order::Attempt(Attempt { name: name.to_owned(), target: target.to_owned() }), None);
        let mut buffer = socket::buffer();
        let end = Instant::now() + WITHIN;
        loop {
            let left = end.saturating_duration_since(Instant::now());
            match control::receive_within::<Report>(self.control.as_fd(), &mut buffer, left) {
                Ok(Some((Report::Attempted(report), _))) => {
                    assert_eq!(report.name, name);
                    return Ok((report.errno, report.detail));
                }
                Ok(Some((other, _))) => self.kept.push(other),
                Ok(None) => panic!("{} does not say how `{name}` went\n{}", self.role, self.log()),
                Err(_) => return Err(self.exit()),
            }
        }
    }

    /// Waits for its end.
    ///
    /// # Panics
    /// When it does not end.
    pub fn exit(&mut self) -> ExitStatus {
        let what = format!("the end of {}", self.role);
        crate::until(&what, WITHIN, || self.child.try_wait().unwrap())
    }

    /// Tells it to finish, and waits until it has.
    ///
    /// # Panics
    /// When it does not, or not well.
    #[expect(clippy::wildcard_enum_match_arm, reason = "a build without attempts has one report fewer")]
    pub fn drain(mut self) {
        self.tell(&Order::Drain(Drain {}), None);
        self.report(|report| match report {
            Report::Drained(_) => Ok(()),
            other => Err(other),
        });
        let status = self.exit();
        assert!(status.success(), "{status}\n{}", self.log());
    }

    /// What it has logged.
    #[must_use]
    pub fn log(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap_or_default()
    }
}

impl Drop for Solo {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("log of {}:\n{}", self.role, self.log());
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn start_word(setup: &Setup) -> Start {
    Start {
        role: setup.role,
        instance: path_text(&setup.instance),
        settings: Settings {
            owner_uid: setup.ids.unwrap_or_else(|| rustix::process::getuid().as_raw()),
            lang: Lang::En,
            interpreter: "/usr/bin/python3".to_owned(),
            waive: setup.waive.clone(),
            calls_per_use_day: 50,
            calls_per_minute: CALLS_PER_MINUTE,
            net: metnos_proto::control::NetSettings::default(),
            budget: metnos_proto::control::BudgetSettings::default(),
            models: setup.models.clone(),
            http: metnos_proto::control::HttpSettings::default(),
            telegram_api: String::new(),
            zone: String::new(),
            folders: metnos_proto::control::FolderSettings::default(),
            commands: Vec::new(),
            program_data: Vec::new(),
            guest_folders: Vec::new(),
            dry_run: true,
        },
    }
}

fn path_text(path: &Path) -> String {
    path.to_str().expect("temporary directories have plain names").to_owned()
}
