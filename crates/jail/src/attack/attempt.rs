//! The forbidden acts by name, and which layers stop each.

use std::fmt;
use std::str::FromStr;

use crate::layers::Layer;

macro_rules! attempts {
    ($($(#[$doc:meta])* $variant:ident = $name:literal by [$($layer:ident),+];)*) => {
        /// One forbidden act. The documentation of each says which layer must stop
        /// it, the first named being the one that is tried first by the kernel.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Attempt {
            $($(#[$doc])* $variant,)*
        }

        impl Attempt {
            /// Every act.
            pub const ALL: &'static [Attempt] = &[$(Attempt::$variant,)*];

            /// The name on the wire and on the command line.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self { $(Attempt::$variant => $name,)* }
            }

            /// The layers that stop it in a daemon which has no use for it; any one of them is enough.
            #[must_use]
            pub fn layers(self) -> &'static [Layer] {
                match self { $(Attempt::$variant => &[$(Layer::$layer),+],)* }
            }
        }
    };
}

attempts! {
    /// Open a file of another user (aim: a path) for reading. Stopped by seccomp
    /// where the daemon opens nothing, else by Landlock.
    ReadFile = "read-file" by [Seccomp, Landlock];
    /// List a folder of another user (aim: a path). As [`Attempt::ReadFile`].
    ListFolder = "list-folder" by [Seccomp, Landlock];
    /// Create a file in a folder of another user (aim: the folder). As [`Attempt::ReadFile`].
    MakeFile = "make-file" by [Seccomp, Landlock];
    /// Write the own memory through `/proc/self/mem`. Seccomp, Landlock, or that the process is not dumpable.
    WriteProcMem = "write-proc-mem" by [Seccomp, Landlock, Dumpable];
    /// A new process. Seccomp alone.
    Fork = "fork" by [Seccomp];
    /// Become another program (aim: a path). Seccomp; Landlock grants no right to execute.
    Exec = "exec" by [Seccomp, Landlock];
    /// Become a program that lies in a memfd. Seccomp alone: Landlock does not see a memfd.
    MemfdExec = "memfd-exec" by [Seccomp];
    /// A user namespace of one's own. Seccomp alone.
    UnshareUser = "unshare-user" by [Seccomp];
    /// A change of mounts, in a user and mount namespace of one's own. Seccomp; Landlock.
    Mount = "mount" by [Seccomp, Landlock];
    /// Trace a process of the same uid (aim: its pid). Seccomp; Landlock.
    Ptrace = "ptrace" by [Seccomp, Landlock];
    /// Read the memory of a process of the same uid (aim: its pid). Seccomp; Landlock.
    ProcessVmRead = "process-vm-readv" by [Seccomp, Landlock];
    /// Take a descriptor out of a process of the same uid (aim: its pid). Seccomp; Landlock.
    PidfdGetfd = "pidfd-getfd" by [Seccomp, Landlock];
    /// Signal a process of the same uid (aim: its pid, else the parent). Seccomp; Landlock's scope (ABI 6).
    SignalParent = "signal-parent" by [Seccomp, Landlock];
    /// Signal process 1. Seccomp; Landlock's scope; the uid.
    SignalInit = "signal-init" by [Seccomp, Landlock];
    /// A TCP socket. Seccomp alone.
    InetSocket = "inet-socket" by [Seccomp];
    /// A listening TCP port. Seccomp; Landlock (ABI 4).
    InetBind = "inet-bind" by [Seccomp, Landlock];
    /// A TCP connection (aim: a port of 127.0.0.1). Seccomp; Landlock (ABI 4).
    InetConnect = "inet-connect" by [Seccomp, Landlock];
    /// A Unix socket. Seccomp alone.
    UnixSocket = "unix-socket" by [Seccomp];
    /// A connection to a named Unix socket (aim: its path). Seccomp alone: Landlock does not stop it.
    UnixConnect = "unix-connect" by [Seccomp];
    /// A connection to an abstract Unix socket (aim: its name). Seccomp; Landlock's scope (ABI 6).
    AbstractConnect = "abstract-connect" by [Seccomp, Landlock];
    /// A listening abstract Unix socket. Seccomp alone.
    AbstractBind = "abstract-bind" by [Seccomp];
    /// A ring of asynchronous calls that no filter sees. Seccomp alone.
    IoUring = "io-uring" by [Seccomp];
    /// A map or program for the kernel. Seccomp alone, unless the machine is set to ask for a capability.
    Bpf = "bpf" by [Seccomp];
    /// The user's keyring. Seccomp alone.
    Keyctl = "keyctl" by [Seccomp];
    /// A performance counter. Seccomp alone, unless the machine is set to ask for a capability.
    PerfEvent = "perf-event-open" by [Seccomp];
    /// Page faults handled by oneself. Seccomp alone.
    Userfaultfd = "userfaultfd" by [Seccomp];
    /// Become root. Seccomp; missing capabilities.
    Setuid = "setuid" by [Seccomp, Caps];
    /// Another root folder. Seccomp; missing capabilities.
    Chroot = "chroot" by [Seccomp, Caps];
    /// Make memory executable. Seccomp alone.
    MprotectExec = "mprotect-exec" by [Seccomp];
    /// Map memory that is executable. Seccomp alone.
    MmapExec = "mmap-exec" by [Seccomp];
    /// Another personality, in which readable memory is executable. Seccomp alone.
    Personality = "personality" by [Seccomp];
    /// Become dumpable again. Seccomp alone.
    SetDumpable = "set-dumpable" by [Seccomp];
}

impl Attempt {
    /// Whether the lock of a role leaves this act possible, because its job is made
    /// of it. Only sandboxd has any: it starts programs in namespaces, and its files
    /// are kept away by the mount namespace that it builds itself.
    #[must_use]
    pub fn is_left_to(self, role: &str) -> bool {
        // The one that speaks to models' servers; which ports, Landlock knows.
        role == "mind" && self == Attempt::InetSocket
            || role == "sandboxd"
                && matches!(
                    self,
                    Attempt::ReadFile
                        | Attempt::ListFolder
                        | Attempt::MakeFile
                        | Attempt::Fork
                        | Attempt::Exec
                        | Attempt::MemfdExec
                        | Attempt::MprotectExec
                        | Attempt::MmapExec
                        | Attempt::SetDumpable
                )
    }
}

impl fmt::Display for Attempt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A name that is no act.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("'{0}' is no known act")]
pub struct UnknownAttempt(pub String);

impl FromStr for Attempt {
    type Err = UnknownAttempt;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        Attempt::ALL
            .iter()
            .copied()
            .find(|attempt| attempt.name() == name)
            .ok_or_else(|| UnknownAttempt(name.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn every_act_is_found_by_its_own_name() {
        for act in Attempt::ALL {
            assert_eq!(act.to_string().parse::<Attempt>().unwrap(), *act);
        }
        assert!("make-coffee".parse::<Attempt>().is_err());
    }

    #[test]
    fn only_sandboxd_is_left_anything_but_for_minds_sockets() {
        for role in crate::ROLES.iter().filter(|role| **role != "sandboxd") {
            let left = Attempt::ALL.iter().filter(|act| act.is_left_to(role));
            assert!(left.copied().eq((*role == "mind").then_some(Attempt::InetSocket)), "{role}");
        }
    }

    #[test]
    fn seccomp_stands_before_every_act() {
        assert!(Attempt::ALL.iter().all(|act| act.layers().contains(&Layer::Seccomp)));
    }
}
