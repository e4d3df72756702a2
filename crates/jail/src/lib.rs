//! The lock that every daemon puts on itself before it reads a word from anybody
//! (design: architecture §5). It must never report a layer that it has not read
//! back, and never let a daemon start with less than its profile says.
//!
//! # Order
//! The daemon opens everything it will need, then:
//! resource limits → capabilities → `no_new_privs` → not dumpable → Landlock →
//! seccomp, then the lock is read back from the kernel and compared with what was
//! intended. The order stands in one place, [`Step::ORDER`]. User ids are dropped
//! earlier, by the process that starts the daemon; a daemon that runs as uid 0 is refused.
//!
//! # Use
//! A daemon with one thread:
//! ```no_run
//! # fn main() -> Result<(), metnos_jail::JailError> {
//! use metnos_jail::{Places, Profile, Pss, Waivers, die_with_parent, lock};
//! die_with_parent()?;
//! let pss = Pss::open()?;
//! let places = Places::new().with("audit", "/srv/metnos/.audit");
//! let locked = lock(&Profile::load("memoryd")?, &places, &Waivers::none())?;
//! for line in locked.report().to_lines() {
//!     eprintln!("{line}");
//! }
//! # let _ = pss;
//! # Ok(())
//! # }
//! ```
//! Landlock and the dropping of capabilities reach **only the thread that asks for
//! them**, and what it starts afterwards. So a process with more than one thread
//! is refused, and a daemon that wants a second thread starts it in the middle:
//! ```no_run
//! # fn main() -> Result<(), metnos_jail::JailError> {
//! # use metnos_jail::{Places, Profile, Waivers, narrow};
//! # let (profile, places, waivers) = (Profile::load("policyd")?, Places::new(), Waivers::none());
//! let narrowed = narrow(&profile, &places, &waivers)?; // everything but seccomp
//! let store = std::thread::spawn(|| { /* the connection was moved in here */ });
//! let locked = narrowed.seal()?; // seccomp on all threads, then the look back
//! # let _ = (store, locked);
//! # Ok(())
//! # }
//! ```
//!
//! # When a daemon dies of `SIGSYS`
//! It made a call that its profile does not list. `strace -f` (or the kernel's audit
//! line `type=1326 … syscall=N`) names the call; either the daemon does it before its
//! lock instead, or one line with the reason goes into its file under `profiles/`.
//! Measure release builds: debug builds call more.
//!
//! # Map
//! `profiles/*.toml` what each daemon may do, as reviewed data · [`profile`] its
//! types, with [`profile::condition`] the small language of argument checks and
//! [`profile::names`] the numbers · `layers` what is applied: `filter` profile →
//! seccomp, `fence` Landlock, `caps_drop` capabilities, `limits` · [`waiver`] ·
//! [`mod@lock`] the order, and [`lock::readback`] the reading back · [`delegated`] control
//! groups for calls · [`parent`], [`pss`] · `sys` the only unsafe code ·
//! `attack` (test builds) the forbidden acts.

pub mod delegated;
pub mod lock;
pub mod parent;
pub mod profile;
pub mod pss;
pub mod waiver;

mod error;
mod layers;
mod sys;

#[cfg(feature = "attack")]
pub mod attack;

pub use delegated::Delegated;
pub use error::JailError;
pub use layers::Layer;
pub use layers::caps_drop::drop_bounding_set;
pub use layers::fence::Places;
pub use lock::readback::{FsFence, LockReport, NetFence};
pub use lock::{Locked, Narrowed, Step, lock, narrow, set_not_dumpable};
pub use parent::die_with_parent;
pub use profile::{Profile, ROLES};
pub use pss::Pss;
pub use waiver::Waivers;
