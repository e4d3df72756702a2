//! Landlock: which files, ports, signals and abstract sockets stay within reach. It
//! must never grant a folder that the profile does not name, and never be believed:
//! three canaries are tried once it is up.

use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access as _, AccessFs, AccessNet, BitFlags, LandlockStatus, NetPort, PathBeneath, PathFd, Ruleset,
    RulesetAttr, RulesetCreatedAttr, RulesetStatus, Scope,
};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

use crate::error::JailError;
use crate::profile::{Access, Fs, Profile};

/// First ABI with TCP ports.
pub(crate) const ABI_NET: u32 = 4;
/// First ABI with scopes for signals and abstract sockets.
pub(crate) const ABI_SCOPES: u32 = 6;
/// The newest ABI whose rights are asked for; an older kernel gets what it knows.
const NEWEST: ABI = ABI::V9;

/// Where a daemon's places are: the names of its profile and the folders behind them, and the ports it connects to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Places {
    folders: Vec<(String, PathBuf)>,
    ports: Vec<u16>,
    listens: Option<u16>,
}

impl Places {
    /// No place at all, which is right for most daemons.
    #[must_use]
    pub fn new() -> Self {
        Places::default()
    }

    /// Adds the folder behind a name of the profile.
    #[must_use]
    pub fn with(mut self, name: impl Into<String>, path: impl Into<PathBuf>) -> Self {
        self.folders.push((name.into(), path.into()));
        self
    }

    /// Adds TCP ports to connect to, for a profile that lets its daemon name them.
    #[must_use]
    pub fn with_ports(mut self, ports: &[u16]) -> Self {
        self.ports.extend_from_slice(ports);
        self
    }

    /// Adds the TCP port at which the daemon takes a place after its lock, for a profile that lets it name one.
    #[must_use]
    pub fn with_listen(mut self, port: Option<u16>) -> Self {
        self.listens = port;
        self
    }

    fn find(&self, name: &str) -> Option<&Path> {
        self.folders.iter().find(|(given, _)| given == name).map(|(_, path)| path.as_path())
    }
}

impl<N: Into<String>, P: Into<PathBuf>> FromIterator<(N, P)> for Places {
    fn from_iter<I: IntoIterator<Item = (N, P)>>(pairs: I) -> Self {
        let folders = pairs.into_iter().map(|(name, path)| (name.into(), path.into())).collect();
        Places { folders, ports: Vec::new(), listens: None }
    }
}

/// The fence, with its places already open; made before anything is given up.
#[derive(Debug)]
pub(crate) struct Fence {
    fs: Fs,
    places: Vec<(PathFd, BitFlags<AccessFs>)>,
    ports: Vec<u16>,
    listens: Option<u16>,
}

impl Fence {
    /// Opens the places of the profile.
    ///
    /// # Errors
    /// A place missing, unknown, or not to be opened.
    pub(crate) fn prepare(profile: &Profile, places: &Places) -> Result<Self, JailError> {
        let role = || profile.role.clone();
        if let Some((name, _)) =
            places.folders.iter().find(|(name, _)| !profile.landlock.places.iter().any(|place| place.name == *name))
        {
            return Err(JailError::ForeignPlace { role: role(), name: name.clone() });
        }
        if let (false, Some(port)) = (profile.landlock.connect, places.ports.first()) {
            return Err(JailError::ForeignPlace { role: role(), name: format!("port {port}") });
        }
        if let (false, Some(port)) = (profile.landlock.listen, places.listens) {
            return Err(JailError::ForeignPlace { role: role(), name: format!("listening at port {port}") });
        }
        let mut open = Vec::with_capacity(profile.landlock.places.len());
        for place in &profile.landlock.places {
            let path = places
                .find(&place.name)
                .ok_or_else(|| JailError::MissingPlace { role: role(), name: place.name.clone() })?;
            let fd = PathFd::new(path).map_err(|error| JailError::Place {
                role: role(),
                name: place.name.clone(),
                path: path.to_owned(),
                why: error.to_string(),
            })?;
            open.push((fd, rights(place.access)));
        }
        Ok(Fence { fs: profile.landlock.fs, places: open, ports: places.ports.clone(), listens: places.listens })
    }

    /// The ports that stay within reach.
    pub(crate) fn ports(&self) -> &[u16] {
        &self.ports
    }

    /// Puts the fence up for the calling thread and tries it.
    ///
    /// # Errors
    /// [`JailError::Apply`] when the kernel refuses, [`JailError::Mismatch`] when a canary lives.
    pub(crate) fn raise(self, abi: u32) -> Result<(), JailError> {
        let (fs, ports) = (self.fs, self.ports.clone());
        if !carries(fs, abi) {
            return canaries(fs, abi, &ports);
        }
        let status = self
            .ruleset()
            .and_then(landlock::RulesetCreated::restrict_self)
            .map_err(|error| apply_error(error.to_string()))?;
        let known = matches!(status.landlock, LandlockStatus::Available { .. });
        if !known || status.ruleset == RulesetStatus::NotEnforced {
            return Err(apply_error(format!("the kernel answers {status:?}")));
        }
        canaries(fs, abi, &ports)
    }

    fn ruleset(self) -> Result<landlock::RulesetCreated, landlock::RulesetError> {
        let mut ruleset =
            Ruleset::default().handle_access(AccessNet::from_all(NEWEST))?.scope(Scope::from_all(NEWEST))?;
        if self.fs == Fs::Handled {
            ruleset = ruleset.handle_access(AccessFs::from_all(NEWEST))?;
        }
        let mut created = ruleset.create()?;
        for (fd, access) in self.places {
            created = created.add_rule(PathBeneath::new(fd, access))?;
        }
        for port in self.ports {
            created = created.add_rule(NetPort::new(port, AccessNet::ConnectTcp))?;
        }
        if let Some(port) = self.listens {
            created = created.add_rule(NetPort::new(port, AccessNet::BindTcp))?;
        }
        Ok(created)
    }
}

/// The rights behind the two words of a profile. Neither holds the right to execute,
/// to make devices, sockets, FIFOs or symbolic links, to move between folders, or `ioctl` on devices.
fn rights(access: Access) -> BitFlags<AccessFs> {
    let read = AccessFs::ReadFile | AccessFs::ReadDir;
    match access {
        Access::Read => read,
        Access::Write => {
            read | AccessFs::WriteFile
                | AccessFs::Truncate
                | AccessFs::MakeReg
                | AccessFs::MakeDir
                | AccessFs::RemoveFile
                | AccessFs::RemoveDir
        }
    }
}

/// Whether Landlock has anything to carry: below ABI 4 it knows files alone, and where a namespace keeps those there would be
/// nothing to put up. The report says of ports, signals and abstract sockets that others carry them.
const fn carries(fs: Fs, abi: u32) -> bool {
    matches!(fs, Fs::Handled) || abi >= ABI_NET
}

/// What must fail now. Each is tried before seccomp, which would forbid the trying.
fn canaries(fs: Fs, abi: u32, ports: &[u16]) -> Result<(), JailError> {
    if fs == Fs::Handled {
        let opened = rustix::fs::open("/", OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty());
        dead("opening '/'", opened.map(drop), Errno::ACCESS)?;
    }
    if abi >= ABI_NET {
        bind_canary()?;
        connect_canary(ports)?;
    }
    if abi >= ABI_SCOPES
        && let Some(parent) = rustix::process::getppid()
    {
        let signalled = rustix::process::test_kill_process(parent);
        if signalled != Err(Errno::SRCH) {
            dead("a signal to the parent", signalled, Errno::PERM)?;
        }
    }
    Ok(())
}

fn bind_canary() -> Result<(), JailError> {
    use rustix::net::{AddressFamily, SocketType, bind, socket};
    // Where there is no IPv4 at all there is nothing to try.
    let Ok(socket) = socket(AddressFamily::INET, SocketType::STREAM, None) else {
        return Ok(());
    };
    let any_port = std::net::SocketAddrV4::new(std::net::Ipv4Addr::LOCALHOST, 0);
    dead("binding a TCP port", bind(&socket, &any_port), Errno::ACCESS)
}

/// A port that nobody named. Nobody listens there on any machine, so that without a fence the answer is another.
fn connect_canary(ports: &[u16]) -> Result<(), JailError> {
    use rustix::net::{AddressFamily, SocketType, connect, socket};
    let Some(port) = (1..=u16::MAX).find(|port| !ports.contains(port)) else { return Ok(()) };
    let Ok(socket) = socket(AddressFamily::INET, SocketType::STREAM, None) else { return Ok(()) };
    let there = std::net::SocketAddrV4::new(std::net::Ipv4Addr::LOCALHOST, port);
    dead("connecting to a TCP port", connect(&socket, &there), Errno::ACCESS)
}

fn dead(what: &'static str, result: Result<(), Errno>, expected: Errno) -> Result<(), JailError> {
    match result {
        Err(errno) if errno == expected => Ok(()),
        other => Err(JailError::Mismatch {
            what,
            intended: expected.to_string(),
            seen: other.map_or_else(|errno| errno.to_string(), |()| "possible".to_owned()),
        }),
    }
}

fn apply_error(why: String) -> JailError {
    JailError::Apply { what: "Landlock", why }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn no_access_word_holds_the_right_to_execute_or_to_make_special_files() {
        let never = AccessFs::Execute
            | AccessFs::MakeChar
            | AccessFs::MakeBlock
            | AccessFs::MakeFifo
            | AccessFs::MakeSock
            | AccessFs::MakeSym
            | AccessFs::Refer
            | AccessFs::IoctlDev;
        for access in [Access::Read, Access::Write] {
            assert!((rights(access) & never).is_empty());
        }
    }

    #[test]
    fn fence_without_places_is_accepted_on_old_landlock_in_a_namespace() {
        for abi in 1..=9 {
            assert!(carries(Fs::Handled, abi), "{abi}");
            assert_eq!(carries(Fs::Namespace, abi), abi >= ABI_NET, "{abi}");
        }
        // On whatever kernel this is, such a one does not end the daemon.
        let fence = Fence { fs: Fs::Namespace, places: Vec::new(), ports: Vec::new(), listens: None };
        assert!(fence.raise(ABI_NET - 1).is_ok());
    }

    #[test]
    fn a_place_that_was_not_given_is_an_error() {
        let profile = Profile::load("memoryd").unwrap();
        assert!(matches!(Fence::prepare(&profile, &Places::new()), Err(JailError::MissingPlace { .. })));
    }

    #[test]
    fn a_place_that_the_profile_does_not_grant_is_an_error() {
        let profile = Profile::load("planner").unwrap();
        let places = Places::new().with("workspace", "/");
        assert!(matches!(
            Fence::prepare(&profile, &places),
            Err(JailError::ForeignPlace { name, .. }) if name == "workspace"
        ));
    }

    #[test]
    fn a_port_for_a_daemon_that_connects_nowhere_is_an_error() {
        let places = Places::new().with_ports(&[443]);
        let refused = Fence::prepare(&Profile::load("planner").unwrap(), &places);
        assert!(matches!(refused, Err(JailError::ForeignPlace { name, .. }) if name == "port 443"));
        let later = Places::new().with_listen(Some(42_618));
        let refused = Fence::prepare(&Profile::load("mind").unwrap(), &later);
        assert!(matches!(refused, Err(JailError::ForeignPlace { name, .. }) if name == "listening at port 42618"));
        assert!(Fence::prepare(&Profile::load("gatewayd").unwrap(), &later).is_ok());
        assert_eq!(Fence::prepare(&Profile::load("mind").unwrap(), &places).unwrap().ports(), [443]);
    }

    #[test]
    fn a_place_that_does_not_exist_is_an_error_with_its_path() {
        let profile = Profile::load("policyd").unwrap();
        let places = Places::new().with("policy", "/nowhere/at/all");
        assert!(matches!(
            Fence::prepare(&profile, &places),
            Err(JailError::Place { path, .. }) if path == Path::new("/nowhere/at/all")
        ));
    }

    #[test]
    fn a_canary_that_lives_or_dies_of_something_else_is_a_mismatch() {
        assert!(dead("it", Err(Errno::ACCESS), Errno::ACCESS).is_ok());
        assert!(dead("it", Ok(()), Errno::ACCESS).is_err());
        assert!(dead("it", Err(Errno::NOENT), Errno::ACCESS).is_err());
    }
}
