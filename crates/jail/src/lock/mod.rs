//! The order of locking, in one place. It must never leave a process half locked and
//! running as if it were whole: every error of this module means *do not start*.

pub mod readback;

use rustix::process::DumpableBehavior;
use seccompiler::BpfProgram;

use crate::error::JailError;
use crate::layers::fence::{ABI_NET, ABI_SCOPES, Fence, Places};
use crate::layers::filter;
use crate::layers::limits;
use crate::layers::{Layer, caps_drop};
use crate::profile::{Fs, Profile};
use crate::sys;
use crate::waiver::Waivers;
use readback::{FsFence, Intent, LockReport, NetFence, Seen, StatusFile};

/// One step of the lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// Resource limits.
    Limits,
    /// Capability sets emptied. Before `no_new_privs`, so that nothing is left to gain.
    Capabilities,
    /// `no_new_privs`, which Landlock and seccomp require.
    NoNewPrivs,
    /// No dumps, no attaching, `/proc/self` closed to others of the same uid.
    NotDumpable,
    /// Files, ports, signals. Needs system calls that the filter then forbids.
    Landlock,
    /// The filter on all threads, last, because every other step needs what it forbids.
    Seccomp,
}

impl Step {
    /// The order (design: architecture §5).
    pub const ORDER: [Step; 6] =
        [Step::Limits, Step::Capabilities, Step::NoNewPrivs, Step::NotDumpable, Step::Landlock, Step::Seccomp];
}

/// A process that has everything but its filter; its threads may be started now.
/// Dropping it instead of sealing it leaves the process without a filter: end it then.
#[derive(Debug)]
#[must_use = "without seal() there is no filter"]
pub struct Narrowed {
    plan: Plan,
}

/// A locked process.
#[derive(Debug)]
pub struct Locked {
    plan: Plan,
    report: LockReport,
}

/// Locks a process of one thread and reads the lock back.
///
/// # Errors
/// Any [`JailError`]; the process must then end.
pub fn lock(profile: &Profile, places: &Places, waivers: &Waivers) -> Result<Locked, JailError> {
    narrow(profile, places, waivers)?.seal()
}

/// All steps but the last. Threads started afterwards inherit them; threads that are
/// there before would not, so they are refused.
///
/// # Errors
/// Any [`JailError`]; the process must then end.
pub fn narrow(profile: &Profile, places: &Places, waivers: &Waivers) -> Result<Narrowed, JailError> {
    let mut plan = Plan::make(profile, places, waivers)?;
    for step in Step::ORDER {
        match step {
            Step::Limits => limits::apply(&plan.limits)?,
            Step::Capabilities => plan.capabilities()?,
            Step::NoNewPrivs => plan.no_new_privs()?,
            Step::NotDumpable => plan.not_dumpable()?,
            Step::Landlock => plan.landlock()?,
            Step::Seccomp => break,
        }
    }
    Ok(Narrowed { plan })
}

/// Makes the process not dumpable, for those that are no daemon (the supervisor).
///
/// # Errors
/// [`JailError::Apply`] when the kernel refuses.
pub fn set_not_dumpable() -> Result<(), JailError> {
    rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable)
        .map_err(|errno| JailError::Apply { what: "the ban on dumps", why: errno.to_string() })
}

impl Narrowed {
    /// Puts the filter on all threads, then reads the whole lock back and compares.
    ///
    /// # Errors
    /// [`JailError::Mismatch`] when the kernel shows less than was intended, and others; the process must then end.
    pub fn seal(self) -> Result<Locked, JailError> {
        if self.plan.apply_seccomp {
            filter::install(&self.plan.programs)?;
        }
        let report = self.plan.look()?;
        Ok(Locked { plan: self.plan, report })
    }
}

impl Locked {
    /// The lock as it was seen right after it was put on.
    #[must_use]
    pub fn report(&self) -> &LockReport {
        &self.report
    }

    /// Reads the lock back again and compares again.
    ///
    /// # Errors
    /// [`JailError::Mismatch`] when it no longer holds; the daemon must then end.
    pub fn look(&self) -> Result<LockReport, JailError> {
        self.plan.look()
    }
}

/// Everything decided and opened before anything is given up.
#[derive(Debug)]
struct Plan {
    role: String,
    limits: limits::Limits,
    fs: Fs,
    fence: Option<Fence>,
    connects: Vec<u16>,
    abi: u32,
    programs: Vec<BpfProgram>,
    apply_seccomp: bool,
    waived: Vec<Layer>,
    intent: Intent,
    status: StatusFile,
}

impl Plan {
    fn make(profile: &Profile, places: &Places, waivers: &Waivers) -> Result<Self, JailError> {
        let status = StatusFile::open()?;
        let before = status.look()?;
        admissible(profile, &before)?;
        let abi = sys::landlock_abi();
        let landlock_lacking = abi.as_ref().err().map(ToString::to_string);
        let seccomp_lacking = sys::seccomp_can_kill_process().err().map(|error| error.to_string());
        let landlock = waivers.applies(Layer::Landlock, landlock_lacking)?;
        let seccomp = waivers.applies(Layer::Seccomp, seccomp_lacking)?;
        let caps = waivers.applies(Layer::Caps, None)?;
        let no_new_privs = waivers.applies(Layer::NoNewPrivs, None)?;
        let not_dumpable = waivers.applies(Layer::Dumpable, None)?;
        if !no_new_privs && (landlock || seccomp) {
            return Err(JailError::WaiverAlone);
        }
        let fence = Fence::prepare(profile, places)?;
        let programs = filter::programs(profile, std::process::id())?;
        let applied = [caps, no_new_privs, not_dumpable, landlock, seccomp];
        let waived =
            Layer::ALL.into_iter().zip(applied).filter_map(|(layer, applied)| (!applied).then_some(layer)).collect();
        let ours = u32::try_from(programs.len()).unwrap_or(u32::MAX);
        let theirs = before.seccomp_filters.unwrap_or(0);
        Ok(Plan {
            role: profile.role.clone(),
            limits: profile.limits,
            fs: profile.landlock.fs,
            connects: fence.ports().to_vec(),
            fence: landlock.then_some(fence),
            abi: abi.unwrap_or(0),
            programs,
            apply_seccomp: seccomp,
            waived,
            intent: Intent {
                no_new_privs: no_new_privs.then_some(()),
                not_dumpable: not_dumpable.then_some(()),
                caps_empty: caps.then_some(()),
                bounding_empty: caps && (before.bounding == 0 || caps_drop::may_drop_bounding()),
                seccomp_filters: seccomp.then_some(theirs.saturating_add(ours)),
                uids: before.uids,
            },
            status,
        })
    }

    fn capabilities(&self) -> Result<(), JailError> {
        match self.intent.caps_empty {
            Some(()) => caps_drop::drop_all(),
            None => Ok(()),
        }
    }

    fn no_new_privs(&self) -> Result<(), JailError> {
        match self.intent.no_new_privs {
            Some(()) => rustix::thread::set_no_new_privs(true)
                .map_err(|errno| JailError::Apply { what: "no_new_privs", why: errno.to_string() }),
            None => Ok(()),
        }
    }

    fn not_dumpable(&self) -> Result<(), JailError> {
        match self.intent.not_dumpable {
            Some(()) => set_not_dumpable(),
            None => Ok(()),
        }
    }

    fn landlock(&mut self) -> Result<(), JailError> {
        match self.fence.take() {
            Some(fence) => fence.raise(self.abi),
            None => Ok(()),
        }
    }

    fn look(&self) -> Result<LockReport, JailError> {
        let seen = self.status.look()?;
        self.intent.check(&seen)?;
        let fenced = !self.waived.contains(&Layer::Landlock);
        Ok(LockReport {
            role: self.role.clone(),
            uid: effective(&seen.uids),
            gid: effective(&seen.gids),
            no_new_privs: seen.no_new_privs,
            dumpable: seen.dumpable,
            seccomp_mode: seen.seccomp_mode,
            seccomp_filters: seen.seccomp_filters,
            landlock_abi: self.abi,
            fs: match (fenced, self.fs) {
                (true, Fs::Handled) => FsFence::Handled,
                (_, Fs::Namespace) => FsFence::Namespace,
                (false, Fs::Handled) => FsFence::Waived,
            },
            net: match (fenced, self.abi >= ABI_NET) {
                (true, true) => NetFence::Landlock,
                (true, false) => NetFence::SeccompOnly,
                (false, _) => NetFence::Waived,
            },
            connects: self.connects.clone(),
            scopes: fenced && self.abi >= ABI_SCOPES,
            caps_empty: seen.caps == [0; 4],
            bounding_empty: seen.bounding == 0,
            waived: self.waived.iter().map(ToString::to_string).collect(),
        })
    }
}

/// Whether this process may be locked at all.
fn admissible(profile: &Profile, before: &Seen) -> Result<(), JailError> {
    let role = profile.role.clone();
    if before.uids.is_empty() || before.uids.contains(&0) {
        return Err(JailError::Root { role });
    }
    if before.threads != 1 {
        return Err(JailError::Threads { role, threads: before.threads });
    }
    Ok(())
}

/// The second of real, effective, saved, file-system.
fn effective(ids: &[u32]) -> u32 {
    ids.get(1).copied().unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn before(uids: [u32; 4], threads: u32) -> Seen {
        Seen { uids: uids.to_vec(), threads, ..Seen::default() }
    }

    #[test]
    fn the_filter_comes_last_and_no_new_privs_before_what_requires_it() {
        let at = |step| Step::ORDER.iter().position(|s| *s == step).unwrap();
        assert_eq!(at(Step::Seccomp), Step::ORDER.len() - 1);
        assert!(at(Step::NoNewPrivs) < at(Step::Landlock));
        assert!(at(Step::Capabilities) < at(Step::NoNewPrivs));
        assert!(at(Step::NotDumpable) < at(Step::Landlock));
        assert_eq!(at(Step::Limits), 0);
    }

    #[test]
    fn any_user_id_of_zero_is_refused() {
        let profile = Profile::load("planner").unwrap();
        for place in 0..4 {
            let mut uids = [1000; 4];
            uids[place] = 0;
            assert!(matches!(admissible(&profile, &before(uids, 1)), Err(JailError::Root { .. })));
        }
        assert!(admissible(&profile, &before([1000; 4], 1)).is_ok());
    }

    #[test]
    fn a_second_thread_before_the_lock_is_refused() {
        let profile = Profile::load("policyd").unwrap();
        assert!(matches!(admissible(&profile, &before([1000; 4], 2)), Err(JailError::Threads { threads: 2, .. })));
    }
}
