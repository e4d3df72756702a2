//! Keeping the mnestome: its canonical dump and digest, and copies by SQLite's own backup, never by copying files. What
//! was kept is never deleted; what is older than a year is compressed.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use rusqlite::types::ValueRef;
use rusqlite::{Connection, OpenFlags, Row};

use super::graph::{Mnestome, number};
use crate::chronicle::event::sha256;
use crate::error::{During, Error, Result};

/// The folder of the copies, inside `.mnestome`.
pub const FOLDER: &str = "snapshots";
/// Copies older than this are compressed, in milliseconds: twelve months (design: memory §2).
pub const COMPRESS_AFTER_MS: u64 = 365 * 86_400_000;
/// How hard: zstd's own default.
const LEVEL: i32 = 3;
/// How many pages SQLite copies in one step.
const PAGES: std::ffi::c_int = 1024;

pub use metnos_proto::doc::mnestome::MnestomeSnapshot as Snapshot;

impl Mnestome {
    /// Every mnest as one line of text, in the order of their ids: the same rows give the same bytes.
    ///
    /// # Errors
    /// When the database says no.
    pub fn dump(&self) -> Result<String> {
        dump(&self.db)
    }

    /// The digest of [`Mnestome::dump`].
    ///
    /// # Errors
    /// When the database says no.
    pub fn digest(&self) -> Result<String> {
        Ok(sha256(self.dump()?.as_bytes()).to_string())
    }

    /// What was kept, oldest first.
    ///
    /// # Errors
    /// When the database says no.
    pub fn snapshots(&self) -> Result<Vec<Snapshot>> {
        let read = |row: &Row<'_>| {
            Ok(Snapshot {
                name: row.get(0)?,
                at_seq: number(row, 1)?,
                digest: row.get(2)?,
                seq: number(row, 3)?,
                ts_ms: number(row, 4)?,
                why: row.get(5)?,
            })
        };
        self.db
            .prepare_cached("SELECT name, at_seq, digest, seq, ts, why FROM snapshots ORDER BY seq, name")
            .and_then(|mut all| all.query_map([], read)?.collect())
            .during("reading the snapshots")
    }

    /// Copies the database to a file of that name, which appears whole or not at all.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn copy_to(&self, folder: &Path, name: &str) -> Result<()> {
        let what = "keeping the mnestome";
        let told = |source: std::io::Error| Error::io(what, source);
        match rustix::fs::mkdir(folder, rustix::fs::Mode::RWXU) {
            Ok(()) | Err(rustix::io::Errno::EXIST) => {}
            Err(errno) => return Err(Error::io(what, errno)),
        }
        let fresh = folder.join(format!("{name}.new"));
        match std::fs::remove_file(&fresh) {
            Ok(()) => {}
            Err(source) if source.kind() == std::io::ErrorKind::NotFound => {}
            Err(source) => return Err(told(source)),
        }
        let mut copy = Connection::open(&fresh).during(what)?;
        // One file, complete when it is closed.
        copy.execute_batch(
            "PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = MEMORY; PRAGMA temp_store = MEMORY;",
        )
        .during(what)?;
        rusqlite::backup::Backup::new(&self.db, &mut copy)
            .and_then(|backup| backup.run_to_completion(PAGES, std::time::Duration::ZERO, None))
            .during(what)?;
        copy.close().map_err(|(_, source)| source).during(what)?;
        std::fs::File::open(&fresh).and_then(|file| file.sync_all()).map_err(told)?;
        std::fs::rename(&fresh, folder.join(format!("{name}.sqlite"))).map_err(told)
    }
}

fn dump(db: &Connection) -> Result<String> {
    let what = "dumping the mnestome";
    let mut text = String::new();
    let mut all = db.prepare("SELECT * FROM mnests ORDER BY id").during(what)?;
    let columns = all.column_count();
    let mut rows = all.query([]).during(what)?;
    while let Some(row) = rows.next().during(what)? {
        for column in 0..columns {
            // Writing into memory has no way to go wrong. Numbers as their bits, so that equal means equal.
            let _ = match row.get_ref(column).during(what)? {
                ValueRef::Null => write!(text, "-"),
                ValueRef::Integer(number) => write!(text, "{number}"),
                ValueRef::Real(number) => write!(text, "{:016x}", number.to_bits()),
                ValueRef::Text(bytes) => write!(text, "{}", serde_json::Value::from(String::from_utf8_lossy(bytes))),
                ValueRef::Blob(bytes) => write!(text, "{bytes:02x?}"),
            };
            text.push(if column + 1 == columns { '\n' } else { ' ' });
        }
    }
    Ok(text)
}

/// The digest of the canonical dump of a copy.
///
/// # Errors
/// When it is no such database.
pub fn digest_of(path: &Path) -> Result<String> {
    // A file that is not written any more: read as it lies there, with no lock and no log beside it, which the filter of
    // the daemon would not allow to be made.
    let name = path.to_string_lossy().replace('%', "%25").replace('?', "%3f").replace('#', "%23");
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let db = Connection::open_with_flags(format!("file:{name}?immutable=1"), flags).during("reading a snapshot")?;
    Ok(sha256(dump(&db)?.as_bytes()).to_string())
}

/// Compresses the copy of that name, if it is there; gives the compressed file.
///
/// # Errors
/// When it cannot be read or written; the copy stays then.
pub fn compress(folder: &Path, name: &str) -> Result<Option<PathBuf>> {
    let told = |source: std::io::Error| Error::io(format!("compressing the snapshot {name}"), source);
    let plain = folder.join(format!("{name}.sqlite"));
    let from = match std::fs::File::open(&plain) {
        Ok(file) => file,
        Err(source) if source.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(source) => return Err(told(source)),
    };
    let (fresh, path) = (folder.join(format!("{name}.new")), folder.join(format!("{name}.sqlite.zst")));
    let to = std::fs::File::create(&fresh).map_err(told)?;
    zstd::stream::copy_encode(std::io::BufReader::new(from), &to, LEVEL).map_err(told)?;
    to.sync_all().map_err(told)?;
    std::fs::rename(&fresh, &path).map_err(told)?;
    // Only when the other is durable: what was kept is never lost.
    std::fs::remove_file(&plain).map_err(told)?;
    Ok(Some(path))
}
