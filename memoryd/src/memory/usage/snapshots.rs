//! Copies of the mnestome: made when the line that speaks of them is durable, one a month, and never deleted.

use std::path::PathBuf;

use super::Usage;
use crate::chronicle::Chronicle;
use crate::chronicle::event::{Event, EventType};
use crate::chronicle::payload::Checkpoint;
use crate::chronicle::time::instant_text;
use crate::error::Result;
use crate::mnestome::snapshot::{COMPRESS_AFTER_MS, FOLDER, compress, digest_of};

/// The month of an instant: `2026-04`.
fn month(ts_ms: u64) -> String {
    instant_text(ts_ms).chars().take(7).collect()
}

impl Usage {
    fn snapshots_folder(&self) -> PathBuf {
        self.folder.join(FOLDER)
    }

    /// Makes the copies that the events just recorded speak of. One that cannot be made is recorded: the rows it would
    /// hold can still be derived.
    pub(in crate::memory) fn keep_copies<'a>(
        &mut self,
        chronicle: &mut Chronicle,
        events: impl Iterator<Item = &'a Event>,
    ) {
        let folder = self.snapshots_folder();
        for event in events.filter(|event| event.kind == EventType::Checkpoint) {
            let Ok(act) = Checkpoint::decode(&event.payload) else { continue };
            if act.digest.is_empty() || act.act == "rollback" {
                continue;
            }
            let kept = self
                .mnestome
                .copy_to(&folder, &act.id)
                .and_then(|()| digest_of(&folder.join(format!("{}.sqlite", act.id))));
            match kept {
                Ok(digest) if digest == act.digest => {}
                Ok(digest) => {
                    chronicle.note("snapshot_differs", format!("{}: {digest} instead of {}", act.id, act.digest))
                }
                Err(error) => chronicle.note("snapshot_failed", format!("{}: {error}", act.id)),
            }
        }
    }

    /// The month that has no snapshot yet and needs one, once a month; compresses copies older than a year.
    ///
    /// # Errors
    /// When the mnestome cannot be read.
    pub(in crate::memory) fn month_to_keep(&mut self, chronicle: &mut Chronicle) -> Result<Option<String>> {
        let now = chronicle.now_ms();
        let month = month(now);
        if self.month_checked == month {
            return Ok(None);
        }
        let oldest = self.mnestome.oldest_ms()?;
        self.month_checked.clone_from(&month);
        // In the month in which it began there is nothing yet that could be lost.
        if oldest.is_none_or(|oldest| self::month(oldest) == month) {
            return Ok(None);
        }
        let kept = self.mnestome.snapshots()?;
        let folder = self.snapshots_folder();
        for old in kept.iter().filter(|one| one.ts_ms.saturating_add(COMPRESS_AFTER_MS) < now) {
            if let Err(error) = compress(&folder, &old.name) {
                chronicle.note("snapshot_failed", error.to_string());
            }
        }
        Ok(Some(month).filter(|month| kept.iter().all(|one| one.name != *month)))
    }
}
