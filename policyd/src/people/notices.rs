//! What the owner must know of an executor at once, wherever he is: that it was quarantined, or that it tried what none has a
//! use for. Bounded: one that cries without end is reported once an hour. Kept in `policy.sqlite` before anybody is told, so that
//! neither what no door has heard yet nor what `status` shows is forgotten when policyd ends.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;

use metnos_proto::edges::door_policyd;
use metnos_proto::msg::common::ExecutorId;
use metnos_proto::msg::policyd::{MAX_NOTICES, Notice, NoticeKind, OwnerNotice};
use rusqlite::{Connection, params};

use crate::executors::lifecycle::MAX_WHY;
use crate::people::Principals;
use crate::store::{StoreError, signed, unsigned};
use crate::text::head;

/// The same is told again after so long, in milliseconds.
pub const AGAIN_AFTER_MS: u64 = 3_600_000;

/// The table. Of one executor, nothing of one kind is there twice for one moment.
pub(crate) const TABLES: &str = "
    CREATE TABLE IF NOT EXISTS notices (
        at_ms INTEGER NOT NULL, kind TEXT NOT NULL, name TEXT NOT NULL, version TEXT NOT NULL, why TEXT NOT NULL,
        heard INTEGER NOT NULL, PRIMARY KEY (at_ms, kind, name, version)
    ) STRICT;";

/// What he was told last, oldest first, and what no door has heard yet.
#[derive(Debug, Default)]
pub(crate) struct Notices {
    last: RefCell<VecDeque<Notice>>,
    unheard: RefCell<VecDeque<Notice>>,
}

/// The name of a kind in the store.
const fn name(kind: &NoticeKind) -> &'static str {
    match kind {
        NoticeKind::SetAside => "quarantine",
        NoticeKind::Alarm => "alarm",
    }
}

impl Notices {
    pub(crate) fn load(connection: &Connection) -> Result<Self, StoreError> {
        let mut statement =
            connection.prepare("SELECT at_ms, kind, name, version, why, heard FROM notices ORDER BY at_ms, rowid")?;
        let rows = statement.query_map([], |row| {
            let id = ExecutorId { name: row.get(2)?, version: row.get(3)? };
            let kind = row.get::<_, String>(1)?;
            let kind = [NoticeKind::SetAside, NoticeKind::Alarm].into_iter().find(|one| name(one) == kind);
            let (at_ms, why) = (unsigned(row.get(0)?), row.get(4)?);
            Ok((id.to_string(), kind.map(|kind| Notice { at_ms, kind, id, why }), row.get::<_, bool>(5)?))
        })?;
        let notices = Self::default();
        for row in rows {
            let (id, notice, heard) = row?;
            let notice = notice.ok_or_else(|| StoreError::Damaged(format!("what the owner was told of {id}")))?;
            if !heard {
                notices.unheard(notice.clone());
            }
            push(&mut notices.last.borrow_mut(), notice);
        }
        Ok(notices)
    }

    /// Keeps one, unless the same was told within the hour; whether it is to be told.
    fn keep(&self, notice: &Notice) -> bool {
        let same = |other: &Notice| {
            (&other.kind, &other.id) == (&notice.kind, &notice.id)
                && notice.at_ms.saturating_sub(other.at_ms) < AGAIN_AFTER_MS
        };
        let mut last = self.last.borrow_mut();
        if last.iter().any(same) {
            return false;
        }
        push(&mut last, notice.clone());
        true
    }

    /// For `status`.
    pub(crate) fn list(&self) -> Vec<Notice> {
        self.last.borrow().iter().cloned().collect()
    }

    fn unheard(&self, notice: Notice) {
        push(&mut self.unheard.borrow_mut(), notice);
    }
}

fn push(all: &mut VecDeque<Notice>, notice: Notice) {
    if all.len() >= MAX_NOTICES {
        all.pop_front();
    }
    all.push_back(notice);
}

/// Writes one down that nobody has heard, and releases what is too old.
fn write(connection: &Connection, notice: &Notice) -> rusqlite::Result<()> {
    connection.execute(
        "INSERT OR IGNORE INTO notices VALUES (?1, ?2, ?3, ?4, ?5, 0)",
        params![signed(notice.at_ms), name(&notice.kind), notice.id.name, notice.id.version, notice.why],
    )?;
    let most = i64::try_from(MAX_NOTICES).unwrap_or(i64::MAX);
    let newest = "SELECT rowid FROM notices ORDER BY at_ms DESC, rowid DESC LIMIT ?1";
    connection.execute(&format!("DELETE FROM notices WHERE rowid NOT IN ({newest})"), [most])?;
    Ok(())
}

fn write_heard(connection: &Connection, notice: &Notice) -> rusqlite::Result<()> {
    connection.execute(
        "UPDATE notices SET heard = 1 WHERE at_ms = ?1 AND kind = ?2 AND name = ?3 AND version = ?4",
        params![signed(notice.at_ms), name(&notice.kind), notice.id.name, notice.id.version],
    )?;
    Ok(())
}

impl Principals {
    /// Has the owner told, once that is kept. What cannot be kept is told all the same.
    pub(crate) async fn tell_owner(self: &Rc<Self>, kind: NoticeKind, id: &ExecutorId, why: &str) {
        let notice = Notice { at_ms: self.base.clock.wall_ms(), kind, id: id.clone(), why: head(why, MAX_WHY) };
        if !self.notices.keep(&notice) {
            return;
        }
        let row = notice.clone();
        if let Err(error) = self.base.store.run(move |connection| write(connection, &row)).await {
            tracing::error!(%error, %id, "what the owner must know is not kept");
        }
        self.pass_on(notice);
    }

    /// A door has come: it learns what none has heard.
    pub(crate) fn tell_unheard(self: &Rc<Self>) {
        let unheard: Vec<Notice> = self.notices.unheard.borrow_mut().drain(..).collect();
        unheard.into_iter().for_each(|notice| self.pass_on(notice));
    }

    fn pass_on(self: &Rc<Self>, notice: Notice) {
        let Some(door) = self.door.open() else { return self.notices.unheard(notice) };
        let to = self.owner_chats().into_iter().take(MAX_NOTICES).collect();
        let people = Rc::clone(self);
        tokio::task::spawn_local(async move {
            let note = door_policyd::Note::OwnerNotice(OwnerNotice { to, notice: notice.clone() });
            if let Err(error) = door.send(note).await {
                tracing::info!(%error, "no door hears what the owner must know");
                return people.notices.unheard(notice);
            }
            // Where this is not kept, he is told once more.
            if let Err(error) = people.base.store.run(move |connection| write_heard(connection, &notice)).await {
                tracing::warn!(%error, "that a door has heard what the owner must know is not kept");
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn notice(name: &str, kind: NoticeKind, at_ms: u64) -> Notice {
        let id = ExecutorId { name: name.to_owned(), version: "1.0.0".to_owned() };
        Notice { at_ms, kind, id, why: "x".to_owned() }
    }

    #[test]
    fn repeated_notice_is_kept_once_an_hour_and_oldest_is_evicted() {
        let notices = Notices::default();
        assert!(notices.keep(&notice("a", NoticeKind::Alarm, 1)));
        assert!(!notices.keep(&notice("a", NoticeKind::Alarm, AGAIN_AFTER_MS)));
        assert!(notices.keep(&notice("a", NoticeKind::SetAside, 2)), "another kind is told");
        assert!(notices.keep(&notice("b", NoticeKind::Alarm, 2)), "another executor is told");
        assert!(notices.keep(&notice("a", NoticeKind::Alarm, 1 + AGAIN_AFTER_MS)));
        (0..MAX_NOTICES).for_each(|n| assert!(notices.keep(&notice(&format!("c{n}"), NoticeKind::Alarm, 9))));
        let list = notices.list();
        assert_eq!((list.len(), list[0].id.name.as_str()), (MAX_NOTICES, "c0"));
    }
}
