//! The executors that come with a release, as it has them: part of the test program, because who is in a sandbox's view reads no
//! other file.
#![allow(dead_code, reason = "each test file uses its own part")]

/// Manifest, code, schema and birth tests of one.
pub type Files = [&'static [u8]; 4];

macro_rules! seeds {
    ($($name:literal)+) => {
        /// All of them, by name.
        pub const SEEDS: &[(&str, Files)] = &[$((
            $name,
            [
                include_bytes!(concat!("../../../executors/", $name, "/manifest.toml")).as_slice(),
                include_bytes!(concat!("../../../executors/", $name, "/main.py")),
                include_bytes!(concat!("../../../executors/", $name, "/schema.json")),
                include_bytes!(concat!("../../../executors/", $name, "/tests/birth.py")),
            ],
        ),)+];
    };
}

seeds! {
    "archive_pack" "archive_unpack" "attachment_add" "calendar_add" "calendar_cancel" "calendar_events" "calendar_find_free"
    "calendar_move" "calendar_restore" "clock_now" "contact_add" "contact_find" "csv_query" "doc_find" "doc_text"
    "feed_read" "file_get" "fs_append" "fs_count" "fs_delete" "fs_find" "fs_hash" "fs_list" "fs_move" "fs_read" "fs_restore"
    "fs_write" "home_act" "home_list" "home_restore" "home_secure" "home_state" "image_info" "imap_attachment" "imap_fetch"
    "imap_fetch_headers" "imap_flag" "imap_move" "imap_restore" "imap_search" "imap_status" "inbox_add" "json_query"
    "list_read" "list_remove" "llm_classify" "llm_summarise" "note_add" "note_read" "notify" "ocr_text" "pdf_text" "price_watch"
    "shell_run" "smtp_send" "smtp_status" "table_convert" "table_read" "telegram_send" "text_search" "text_stats" "weather_get"
    "web_fetch" "web_search"
}

/// The files of one.
pub fn seed(name: &str) -> Files {
    SEEDS.iter().find(|(known, _)| *known == name).unwrap().1
}
