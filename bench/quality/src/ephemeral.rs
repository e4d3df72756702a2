//! A memoryd of its own for a measurement: the real program, locked, in a folder that is removed afterwards.
//! It never comes near an instance, and knows nothing but what it is told.

use std::fs::DirBuilder;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::{DirBuilderExt, PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use metnos_proto::control::{self, Drain, EdgeEnd, Go, Order, Report, Settings, Start, VaultKeyFile};
use metnos_proto::edge::{AskerEnd, Edge, PeerCred, RawEnd, Side};
use metnos_proto::edges::CtlMemoryd;
use metnos_proto::ids::TraceId;
use metnos_proto::link::BlockingClient;
use metnos_proto::msg::common::Lang;
use metnos_proto::msg::memoryd::Rehearse;
use metnos_proto::payload::Sealed;
use metnos_proto::role::RoleName;
use metnos_proto::socket;

use crate::Failure;

/// The daemon's program, beside this one.
const PROGRAM: &str = "metnos-memoryd";
/// Who it is when root measures: no daemon may be root.
const UID: u32 = 60_606;
/// How long it may take to be ready, or to end, in milliseconds.
const WITHIN_MS: u64 = 10_000;
/// As many calls as make a use-day unless configured otherwise.
const CALLS_PER_USE_DAY: u32 = 50;

/// memoryd's end for the time of a measurement.
pub struct Memory {
    client: BlockingClient<CtlMemoryd>,
    _process: Ephemeral,
}

impl Memory {
    /// Starts one.
    ///
    /// # Errors
    /// When it does not become ready.
    pub fn start() -> Result<Self, Failure> {
        let process = Ephemeral::start()?;
        Ok(Self { client: process.connect()?, _process: process })
    }

    /// Asks it, with what goes beside the word.
    ///
    /// # Errors
    /// When it refuses, or its answer is no `T`.
    pub fn ask<T: serde::de::DeserializeOwned>(&mut self, ask: Rehearse, beside: &[u8]) -> Result<T, Failure> {
        let unreadable =
            |why: String| Failure::new("the measurement", why, "a line may be too large: 16 MiB go at once");
        let beside = Sealed::new(beside).map_err(|error| unreadable(error.to_string()))?;
        let (_, [found]) = self.client.rehearse(TraceId::NONE, ask, [beside])?;
        let bytes = found.read().map_err(|error| unreadable(error.to_string()))?;
        serde_json::from_slice(&bytes).map_err(|error| unreadable(error.to_string()))
    }
}

/// The process and its folder.
#[derive(Debug)]
struct Ephemeral {
    control: OwnedFd,
    child: Child,
    folder: Folder,
}

/// A folder that is removed when it is dropped.
#[derive(Debug)]
struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        // What cannot be removed lies below the folder for temporary files, where a person sweeps.
        let _swept = std::fs::remove_dir_all(&self.0);
    }
}

fn failed(why: impl ToString) -> Failure {
    let remedy = "metnosctl and the daemons belong into one directory; TMPDIR names a folder in which programs may run";
    Failure::new("memoryd cannot be started for a measurement", why, remedy)
}

impl Folder {
    fn new(id: Option<u32>) -> io::Result<Self> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis());
        let name = format!("metnos-bench-{}-{now}", std::process::id());
        let path = std::fs::canonicalize(std::env::temp_dir())?.join(name);
        // Fails where something lies there already, whatever it is.
        DirBuilder::new().mode(0o700).create(&path)?;
        let folder = Self(path);
        for name in [".audit", ".mnestome", ".soul", ".runtime", "workspace"] {
            let inner = folder.0.join(name);
            DirBuilder::new().mode(0o700).create(&inner)?;
            chown(&inner, id, id)?;
        }
        if id.is_some() {
            // Its user must be able to walk through, and no further.
            std::fs::set_permissions(&folder.0, std::fs::Permissions::from_mode(0o711))?;
        }
        Ok(folder)
    }
}

/// The program, where its user may execute it: the folder that it lies in may be closed to others.
fn program(own: &Path, folder: &Path, copied: bool) -> io::Result<PathBuf> {
    let program = own.with_file_name(PROGRAM);
    if !copied {
        return Ok(program);
    }
    let copy = folder.join(PROGRAM);
    std::fs::copy(program, &copy)?;
    std::fs::set_permissions(&copy, std::fs::Permissions::from_mode(0o755))?;
    Ok(copy)
}

impl Ephemeral {
    /// Starts one.
    ///
    /// # Errors
    /// When the program is missing, cannot be executed, or does not become ready.
    #[expect(clippy::wildcard_enum_match_arm, reason = "a build without attempts has one report fewer")]
    fn start() -> Result<Self, Failure> {
        let id = rustix::process::geteuid().is_root().then_some(UID);
        let folder = Folder::new(id).map_err(failed)?;
        let own = std::env::current_exe().map_err(failed)?;
        let (ours, theirs) = socket::pair().map_err(failed)?;
        let mut command = Command::new(program(&own, &folder.0, id.is_some()).map_err(failed)?);
        command.env_clear().current_dir("/").stdin(theirs).stdout(Stdio::null()).stderr(Stdio::null());
        if let Some(id) = id {
            command.uid(id).gid(id);
        }
        let child = command.spawn().map_err(failed)?;
        let started = Self { control: ours, child, folder };
        started.tell(&Order::Start(started.start_word()?), None)?;
        let key = started.folder.0.join("vault.key");
        // Nothing that it keeps outlives the measurement.
        std::fs::write(&key, [0; 32]).map_err(failed)?;
        let key = std::fs::File::open(key).map_err(failed)?;
        started.tell(&Order::Key(VaultKeyFile {}), Some(key.into()))?;
        started.tell(&Order::Go(Go {}), None)?;
        match started.hear()? {
            Report::Ready(_) => Ok(started),
            Report::Fault(fault) => Err(failed(fault.why)),
            other => Err(failed(format!("it said {other:?}"))),
        }
    }

    fn start_word(&self) -> Result<Start, Failure> {
        let instance =
            self.folder.0.to_str().ok_or_else(|| failed("the folder for temporary files has an odd name"))?;
        Ok(Start {
            role: RoleName::Memoryd,
            instance: instance.to_owned(),
            settings: Settings {
                owner_uid: rustix::process::getuid().as_raw(),
                lang: Lang::En,
                interpreter: "/usr/bin/python3".to_owned(),
                waive: Vec::new(),
                calls_per_use_day: CALLS_PER_USE_DAY,
                calls_per_minute: 60,
                net: metnos_proto::control::NetSettings::default(),
                budget: metnos_proto::control::BudgetSettings::default(),
                models: metnos_proto::control::ModelSettings::default(),
                http: metnos_proto::control::HttpSettings::default(),
                telegram_api: String::new(),
                zone: String::new(),
                folders: metnos_proto::control::FolderSettings::default(),
                commands: Vec::new(),
                program_data: Vec::new(),
                guest_folders: Vec::new(),
                dry_run: true,
            },
        })
    }

    fn tell(&self, order: &Order, fd: Option<OwnedFd>) -> Result<(), Failure> {
        control::send_owned(&self.control, order, fd).map_err(failed)
    }

    fn hear(&self) -> Result<Report, Failure> {
        let mut buffer = socket::buffer();
        let within = Duration::from_millis(WITHIN_MS);
        match control::receive_within::<Report>(self.control.as_fd(), &mut buffer, within).map_err(failed)? {
            Some((report, _)) => Ok(report),
            None => Err(failed(format!("no word within {WITHIN_MS} ms"))),
        }
    }

    /// The channel on which the owner asks it.
    ///
    /// # Errors
    /// When it is gone.
    fn connect(&self) -> Result<BlockingClient<CtlMemoryd>, Failure> {
        let (ours, theirs) = socket::pair().map_err(failed)?;
        let peer = Some(PeerCred { pid: std::process::id(), uid: rustix::process::getuid().as_raw() });
        let edge = CtlMemoryd::ID;
        self.tell(&Order::Edge(EdgeEnd { edge, side: Side::Answerer, generation: 1, peer }), Some(theirs))?;
        let raw = RawEnd { edge, side: Side::Asker, generation: 1, peer, fd: ours };
        BlockingClient::new(AskerEnd::new(raw).map_err(failed)?).map_err(failed)
    }
}

impl Drop for Ephemeral {
    fn drop(&mut self) {
        let told = self.tell(&Order::Drain(Drain {}), None).is_ok();
        if !told || !matches!(self.hear(), Ok(Report::Drained(_))) {
            let _gone = self.child.kill();
        }
        let _ended = self.child.wait();
    }
}
