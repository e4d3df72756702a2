//! Whether there is room for something new on the disk. Below the reserve nothing is begun: what is under way, what is refused
//! and what the owner stops can still be recorded.

use metnos_proto::disk::shown;
use metnos_proto::msg::common::{Refusal, RefusalCode};
use metnos_proto::msg::memoryd::Verdict;

use super::{Answer, Journal};
use crate::error::FREE_SPACE;

impl Journal {
    /// Before something new is begun.
    ///
    /// # Errors
    /// When nothing can be recorded, or the disk is full but for its reserve.
    pub(in crate::memory) fn room_for_more(&mut self) -> Answer<()> {
        self.chronicle.ensure_writable()?;
        let room = self.chronicle.log().room()?;
        match room.missing() {
            0 => Ok(()),
            missing => {
                let why = format!(
                    "the disk is full: {} are free, {} must be, so nothing new is begun; {} more are needed",
                    shown(room.free),
                    shown(room.reserve()),
                    shown(missing)
                );
                Err(Refusal::new(RefusalCode::Unavailable, "chronicle.disk_full", why).remedy(FREE_SPACE).into())
            }
        }
    }

    /// Before a decision is recorded: one that allows begins something, any other can always be said.
    ///
    /// # Errors
    /// As [`Journal::room_for_more`].
    pub(in crate::memory) fn room_for(&mut self, verdict: &Verdict) -> Answer<()> {
        match verdict {
            Verdict::Allow => self.room_for_more(),
            Verdict::Deny | Verdict::Ask => Ok(()),
        }
    }
}
