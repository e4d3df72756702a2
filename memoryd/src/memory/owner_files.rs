//! The six files of the owner, as memory watches them: when they are looked at, and what a turn is shown of them. It never
//! writes one.

use std::os::fd::BorrowedFd;
use std::path::Path;

use metnos_calendar::zone::{self, Zone};
use metnos_proto::envelope::{File, Home, Named};
use metnos_proto::msg::common::{Channel, Trust};

use super::journal::clean;
use super::medium_tier::MediumTier;
use crate::chronicle::Chronicle;
use crate::chronicle::index::TurnFacts;
use crate::chronicle::payload::{FileDigest, IdentityCheck};
use crate::error::Result;
use crate::recall::Today;
use crate::tiers::envelope::MAX_FILE_SHOWN;
use crate::tiers::named::Reach;
use crate::tiers::workspace::{FILES, Workspace};

/// How long after a first sign the files are looked at, in milliseconds: an editor saves in several steps.
pub const SETTLE_MS: u64 = 200;
/// The files are recorded no more often, in milliseconds: a program that may write the workspace cannot fill the chronicle.
pub const FILES_EVERY_MS: u64 = 5_000;

/// The one of the six files that is for everybody: what Metnos may not do. The others are about the owner and the household, and
/// no other person's turn is shown them.
const FOR_EVERYBODY: &str = "SOUL.md";
/// Those about the owner himself: what fires by itself has no need of them.
const OF_THE_OWNER: [&str; 3] = ["USER.md", "MEMORY.md", "TELOS.md"];

/// Whether turns of this channel were set up by the owner rather than said by a person.
pub(super) const fn is_automatic(channel: Channel) -> bool {
    match channel {
        Channel::Hook | Channel::Timer => true,
        Channel::Cli | Channel::Http | Channel::Telegram | Channel::Scheduler | Channel::Metnos => false,
    }
}

/// The six files, and when they are looked at next.
#[derive(Debug)]
pub(super) struct OwnerFiles {
    workspace: Workspace,
    /// When they are looked at, in milliseconds; `None` while nothing has moved.
    due_ms: Option<u64>,
    /// When a change of them was last recorded.
    recorded_ms: u64,
    /// The time zone of this machine.
    machine_zone: String,
}

impl OwnerFiles {
    /// Opens the workspace.
    ///
    /// # Errors
    /// When there is none.
    pub(super) fn open(path: &Path) -> Result<Self> {
        let workspace = Workspace::open(path)?;
        Ok(Self { workspace, due_ms: None, recorded_ms: 0, machine_zone: String::new() })
    }

    /// Sets the time zone of this machine.
    pub(super) fn set_machine_zone(&mut self, zone: &str) {
        zone.clone_into(&mut self.machine_zone);
    }

    /// What the words of a turn may mean in the workspace, then what the words before it may: any of it for its owner, for
    /// everybody else what everybody may read. Private folders are out of reach, but for the one called `own`.
    pub(super) fn named(&mut self, trust: Trust, own: &str, now: &str, before: &str) -> Vec<Named> {
        let reach = if trust == Trust::Owner { Reach::Workspace } else { Reach::Shared };
        self.workspace.named(reach, own, now, before)
    }

    /// The digest over the six files, as they are now.
    ///
    /// # Errors
    /// When one cannot be read.
    pub(super) fn identity(&mut self) -> Result<String> {
        Ok(self.workspace.identity()?.hex())
    }

    /// Becomes readable when a file of the workspace has changed; `None` where the kernel cannot watch.
    #[must_use]
    pub(super) fn watch(&self) -> Option<BorrowedFd<'_>> {
        self.workspace.watch()
    }

    /// Something moved in the workspace: the files are looked at in a moment.
    pub(super) fn moved(&mut self, now_ms: u64) {
        self.workspace.drain_watch();
        let earliest = self.recorded_ms.saturating_add(FILES_EVERY_MS);
        self.due_ms.get_or_insert((now_ms + SETTLE_MS).max(earliest));
    }

    /// In how many milliseconds they must be looked at; `None` while nothing has moved.
    pub(super) fn wait_ms(&self, now_ms: u64) -> Option<u64> {
        // A clock that was set back must not make the wait longer than it can ever be.
        self.due_ms.map(|at| at.saturating_sub(now_ms).min(FILES_EVERY_MS))
    }

    /// Looks at them: which are others than when they were last recorded; `None` when none is, or one cannot be read.
    ///
    /// # Errors
    /// When what was recorded cannot be read.
    pub(super) fn changes(
        &mut self,
        chronicle: &Chronicle,
        recorded: &mut MediumTier,
    ) -> Result<Option<IdentityCheck>> {
        self.due_ms = None;
        recorded.catch_up(chronicle)?;
        let identity = match self.identity() {
            Ok(identity) => identity,
            Err(error) => {
                tracing::error!(%error, "the six files could not be read");
                return Ok(None);
            }
        };
        let mut changed = Vec::new();
        for (name, digest) in self.workspace.digests() {
            let was = recorded.file(name)?.unwrap_or_default();
            if was != digest {
                changed.push(FileDigest { digest, name: name.to_owned(), was });
            }
        }
        if changed.is_empty() {
            return Ok(None);
        }
        self.recorded_ms = chronicle.now_ms();
        Ok(Some(IdentityCheck { changed, identity }))
    }

    /// The six files as a planner is shown them: the person's own ones only in the owner's turns.
    pub(super) fn shown_in(&self, facts: &TurnFacts) -> Vec<File> {
        let private = |name: &str| match facts.trust {
            Trust::Owner => false,
            // The owner has set it up, and receives what comes of it.
            _ if is_automatic(facts.channel) => OF_THE_OWNER.contains(&name),
            Trust::Paired | Trust::Guest | Trust::Tool | Trust::Web | Trust::System => name != FOR_EVERYBODY,
        };
        let shown = |name: &&str| {
            let text = cut(String::from_utf8_lossy(self.workspace.text(name)).into_owned(), MAX_FILE_SHOWN);
            File { name: (*name).to_owned(), text: clean(text) }
        };
        FILES.iter().filter(|name| !private(name)).map(shown).collect()
    }

    /// What the household has said of itself, and the name of the caller. Only its owner is called by the owner's name.
    pub(super) fn home_for(&self, facts: &TurnFacts, now_ms: u64) -> Home {
        let text = |name: &str| clean(String::from_utf8_lossy(self.workspace.text(name)).into_owned());
        let caller = (facts.peer.as_str(), facts.trust == Trust::Owner);
        let home = Home::read(&text("USER.md"), &text("IDENTITY.md"), &self.machine_zone, caller);
        home.at(i64::try_from(now_ms / 1_000).unwrap_or(0))
    }

    /// The day that it is in the household's time zone: what "yesterday" is reckoned from, and where days begin.
    pub(super) fn today(&self, now_ms: u64) -> Today {
        Today::at(now_ms, self.zone().1)
    }

    /// The household's time zone, and its text.
    pub(super) fn zone(&self) -> (String, Zone) {
        let user = String::from_utf8_lossy(self.workspace.text("USER.md"));
        let named = zone::of_user(&user, &self.machine_zone);
        if let Some(zone) = Zone::read(&named) {
            return (named, zone);
        }
        match Zone::read(&self.machine_zone) {
            Some(zone) => (self.machine_zone.clone(), zone),
            None => ("UTC".to_owned(), Zone::default()),
        }
    }
}

/// At most so many bytes of a text, whole characters only.
pub(super) fn cut(mut text: String, bytes: usize) -> String {
    text.truncate(text.floor_char_boundary(bytes));
    text
}
