//! What the tests share: candidates and envelopes.

#![allow(clippy::unwrap_used)]

use std::cell::RefCell;
use std::sync::LazyLock;

use metnos_proto::envelope::{Candidate, Envelope};
use metnos_proto::executor::{Manifest, Schema};
use metnos_proto::msg::common::Lang;

use crate::{Repertoire, Reply};

macro_rules! seed {
    ($name:literal) => {
        candidate(
            include_bytes!(concat!("../../../executors/", $name, "/manifest.toml")),
            include_str!(concat!("../../../executors/", $name, "/schema.json")),
        )
    };
}

/// The executors of the seed set, by their own files, among others that the reflex must not confuse
/// them with.
pub fn candidates() -> Vec<Candidate> {
    static ALL: LazyLock<Vec<Candidate>> = LazyLock::new(|| {
        let mut candidates = vec![seed!("fs_read"), seed!("fs_list"), seed!("text_stats")];
        let others: Vec<Candidate> = serde_json::from_str(include_str!("../tests/data/others.json")).unwrap();
        candidates.extend(others);
        candidates
    });
    ALL.clone()
}

/// As [`crate::plan`], with the contracts that were read before: tests plan many thousand sentences.
pub fn plan(text: &str, envelope: &Envelope) -> Reply {
    thread_local! {
        static READ: RefCell<Repertoire> = RefCell::default();
    }
    READ.with_borrow_mut(|repertoire| repertoire.plan(text, envelope))
}

fn candidate(manifest: &[u8], schema: &str) -> Candidate {
    let manifest = Manifest::parse(manifest).unwrap();
    Candidate::of(&manifest, &Schema::parse(schema.as_bytes()).unwrap())
}

/// An envelope with these candidates and nothing else.
pub fn envelope(candidates: Vec<Candidate>, lang: Lang) -> Envelope {
    Envelope { nonce: 1, principal: "cli:uid:1000".into(), ..Envelope::empty(candidates, lang) }
}

/// Every executor that comes with a release and is offered to planners.
pub fn shipped() -> Vec<Candidate> {
    static ALL: LazyLock<Vec<Candidate>> = LazyLock::new(|| {
        vec![
            seed!("archive_pack"),
            seed!("archive_unpack"),
            seed!("calendar_add"),
            seed!("calendar_cancel"),
            seed!("calendar_events"),
            seed!("calendar_find_free"),
            seed!("calendar_move"),
            seed!("clock_now"),
            seed!("contact_add"),
            seed!("contact_find"),
            seed!("csv_query"),
            seed!("doc_find"),
            seed!("doc_text"),
            seed!("fs_append"),
            seed!("fs_count"),
            seed!("fs_delete"),
            seed!("fs_find"),
            seed!("fs_hash"),
            seed!("fs_list"),
            seed!("fs_move"),
            seed!("fs_read"),
            seed!("fs_write"),
            seed!("home_act"),
            seed!("home_list"),
            seed!("home_secure"),
            seed!("home_state"),
            seed!("image_info"),
            seed!("imap_attachment"),
            seed!("attachment_add"),
            seed!("imap_fetch"),
            seed!("imap_fetch_headers"),
            seed!("imap_flag"),
            seed!("imap_move"),
            seed!("imap_search"),
            seed!("imap_status"),
            seed!("feed_read"),
            seed!("json_query"),
            seed!("list_read"),
            seed!("list_remove"),
            seed!("note_add"),
            seed!("note_read"),
            seed!("notify"),
            seed!("ocr_text"),
            seed!("pdf_text"),
            seed!("price_watch"),
            seed!("smtp_send"),
            seed!("table_convert"),
            seed!("table_read"),
            seed!("text_search"),
            seed!("text_stats"),
            seed!("weather_get"),
            seed!("web_fetch"),
            seed!("web_search"),
        ]
    });
    ALL.clone()
}

/// Every executor that comes with a release, also those that only the door calls or that think.
pub fn every() -> Vec<Candidate> {
    let mut all = shipped();
    let others = [
        seed!("calendar_restore"),
        seed!("file_get"),
        seed!("fs_restore"),
        seed!("home_restore"),
        seed!("imap_restore"),
        seed!("inbox_add"),
        seed!("llm_classify"),
        seed!("llm_summarise"),
        seed!("shell_run"),
        seed!("smtp_status"),
        seed!("telegram_send"),
    ];
    all.extend(others.into_iter().filter(|other| !all.iter().any(|one| one.name == other.name)).collect::<Vec<_>>());
    all
}

/// A thing of the workspace; a folder ends in a slash.
pub fn named(path: &str) -> metnos_proto::envelope::Named {
    let folder = path.ends_with('/');
    metnos_proto::envelope::Named { folder, ..metnos_proto::envelope::Named::file(path.trim_end_matches('/')) }
}
