//! Where an executor that is no seed comes from: from another instance, by whose key and through which others, from a run of
//! drafts, or from the owner's own hand; and who has said yes to it. What a parcel says about its way is its exporter's word, and shown as that.

use std::collections::BTreeMap;

use metnos_proto::doc::executor::{Approval, Drafting, Import, Origin};
use metnos_proto::ids::Blake3;
use metnos_proto::msg::common::{ExecutorDigests, ExecutorId};
use metnos_proto::parcel::Parcel;
use rusqlite::{Connection, params};

use crate::store::{Store, StoreError};

/// The table; made wherever it is missing.
pub(crate) const TABLES: &str = "
    CREATE TABLE IF NOT EXISTS origins (
        name TEXT NOT NULL, version TEXT NOT NULL, document TEXT NOT NULL, PRIMARY KEY (name, version)
    ) STRICT;";
/// The most that are remembered of what was imported and never signed: beyond it nothing is imported.
pub const MAX_ORIGINS: usize = 256;

/// Where each comes from.
pub type Origins = BTreeMap<(String, String), Origin>;

/// The key of one.
pub(crate) fn key(id: &ExecutorId) -> (String, String) {
    (id.name.clone(), id.version.clone())
}

/// What there is to say of one that came in a parcel whose signature was its exporter's.
pub(crate) fn imported(parcel: &Parcel, by: &str, now_ms: u64) -> Origin {
    let of = |text: &str| Blake3::of(text.as_bytes()).to_string();
    Origin::Imported(Box::new(Import {
        exporter: parcel.exporter.hex(),
        exported_ms: parcel.exported_ms,
        born_ms: parcel.born_ms,
        came_through: parcel.came_through.iter().map(Blake3::hex).collect(),
        by: by.to_owned(),
        at_ms: now_ms,
        manifest: of(&parcel.texts.manifest),
        code: of(&parcel.texts.code),
        schema: of(&parcel.texts.schema),
        approved_by: None,
        approved_ms: None,
    }))
}

/// What there is to say of one that lies in the pool and came by no parcel.
pub(crate) fn own() -> Origin {
    Origin::Own(Approval::default())
}

/// The same, once someone has approved it.
pub(crate) fn approved(origin: Origin, by: &str, now_ms: u64) -> Origin {
    let (approved_by, approved_ms) = (Some(by.to_owned()), Some(now_ms));
    match origin {
        Origin::Seed {} => origin,
        Origin::Own(_) => Origin::Own(Approval { approved_by, approved_ms }),
        Origin::Imported(import) => Origin::Imported(Box::new(Import { approved_by, approved_ms, ..*import })),
        Origin::Drafted(drafting) => Origin::Drafted(Box::new(Drafting { approved_by, approved_ms, ..*drafting })),
    }
}

/// Whether what was imported or drafted is what lies there now: else nothing is known of its origin.
pub(crate) fn fits(origin: &Origin, digests: &ExecutorDigests) -> bool {
    let (manifest, code, schema) = match origin {
        Origin::Imported(import) => (&import.manifest, &import.code, &import.schema),
        Origin::Drafted(drafting) => (&drafting.manifest, &drafting.code, &drafting.schema),
        Origin::Seed {} | Origin::Own(_) => return false,
    };
    let is = |came: &str, digest: &Blake3| came == digest.to_string();
    is(manifest, &digests.manifest) && is(code, &digests.code) && is(schema, &digests.schema)
}

/// Reads them.
///
/// # Errors
/// When one is damaged, or the database refuses.
pub(crate) fn load(connection: &Connection) -> Result<Origins, StoreError> {
    let mut statement = connection.prepare("SELECT name, version, document FROM origins")?;
    let rows = statement.query_map([], |row| Ok(((row.get(0)?, row.get(1)?), row.get::<_, String>(2)?)))?;
    let mut origins = Origins::new();
    for row in rows {
        let (key, document): ((String, String), String) = row?;
        let damaged = || StoreError::Damaged(format!("the origin of {} {}", key.0, key.1));
        let document = serde_json::from_str(&document).map_err(|_| damaged())?;
        origins.insert(key, document);
    }
    Ok(origins)
}

impl Store {
    /// Records where an executor comes from.
    ///
    /// # Errors
    /// When it could not be made durable.
    pub async fn originates(&self, id: ExecutorId, origin: &Origin) -> Result<(), StoreError> {
        let unwritten = |error| StoreError::Damaged(format!("the origin of {id}: {error}"));
        let document = serde_json::to_string(origin).map_err(unwritten)?;
        self.run(move |connection| {
            connection
                .execute("INSERT OR REPLACE INTO origins VALUES (?1, ?2, ?3)", params![id.name, id.version, document])
                .map(|_| ())
        })
        .await
    }
}
