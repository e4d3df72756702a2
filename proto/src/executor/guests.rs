//! Which part of the workspace a person is shown. A guest reads `shared/` and the folders that the owner lists for guests, and
//! nothing else exists for him (design: people §1, policy §2). A private folder, `people/NAME/`, is shown to that person alone,
//! which holds for the owner as well (design: people §2). policyd decides by these names, and sandboxd shows nothing else to a call.

use super::secret_names::is_secret_path;

/// The folder of the workspace that every guest reads.
pub const SHARED: &str = "shared";
/// The most folders that are listed for guests.
pub const MAX_FOLDERS: usize = 32;
/// The longest name of one, in bytes.
pub const MAX_NAME: usize = 256;
/// The folder of the workspace in which the private folders lie.
pub const PEOPLE: &str = "people";
/// What no guest is shown, whatever is listed.
const CLOSED: [&str; 2] = ["executors", PEOPLE];

/// The executors that come with Metnos. What was made for a house may say by its name, its line or its examples what the
/// house is about, so guests are shown none but these.
pub const SHIPPED: [&str; 64] = [
    "archive_pack",
    "archive_unpack",
    "attachment_add",
    "calendar_add",
    "calendar_cancel",
    "calendar_events",
    "calendar_find_free",
    "calendar_move",
    "calendar_restore",
    "clock_now",
    "contact_add",
    "contact_find",
    "csv_query",
    "doc_find",
    "doc_text",
    "feed_read",
    "file_get",
    "fs_append",
    "fs_count",
    "fs_delete",
    "fs_find",
    "fs_hash",
    "fs_list",
    "fs_move",
    "fs_read",
    "fs_restore",
    "fs_write",
    "home_act",
    "home_list",
    "home_restore",
    "home_secure",
    "home_state",
    "image_info",
    "imap_attachment",
    "imap_fetch",
    "imap_fetch_headers",
    "imap_flag",
    "imap_move",
    "imap_restore",
    "imap_search",
    "imap_status",
    "inbox_add",
    "json_query",
    "list_read",
    "list_remove",
    "llm_classify",
    "llm_summarise",
    "note_add",
    "note_read",
    "notify",
    "ocr_text",
    "pdf_text",
    "price_watch",
    "shell_run",
    "smtp_send",
    "smtp_status",
    "table_convert",
    "table_read",
    "telegram_send",
    "text_search",
    "text_stats",
    "weather_get",
    "web_fetch",
    "web_search",
];

/// Whether guests are shown an executor of this name.
#[must_use]
pub fn is_shown(executor: &str) -> bool {
    SHIPPED.contains(&executor)
}

/// Why this is no folder that can be listed for guests; `None` when it is one: a path below the workspace, without
/// hidden names, and no secret's.
#[must_use]
pub fn refused(folder: &str) -> Option<&'static str> {
    if folder.is_empty() || folder.len() > MAX_NAME {
        return Some("a folder is named by 1 to 256 bytes");
    }
    let plain = |name: &str| !name.is_empty() && !name.starts_with('.') && name.trim() == name;
    if folder.contains(['\\', '~', '\0']) || folder.chars().any(char::is_control) || !folder.split('/').all(plain) {
        return Some(
            "a folder is named from the workspace on, such as `recipes` or `house/rules`, without hidden names",
        );
    }
    if folder.split('/').next().is_some_and(|first| CLOSED.iter().any(|closed| first.eq_ignore_ascii_case(closed))) {
        return Some("the executors and the private folders of the household are not for guests");
    }
    is_secret_path(folder).then_some("its name is one of a secret")
}

/// The name of a person's private folder in [`PEOPLE`]: `nonna-rosa` for Nonna Rosa. It is its own name, too.
#[must_use]
pub fn folder_name(person: &str) -> String {
    let lower = person.to_lowercase();
    let words = lower.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    words.collect::<Vec<_>>().join("-")
}

/// The private folder of this name, from the workspace on.
#[must_use]
pub fn private(name: &str) -> String {
    format!("{PEOPLE}/{name}")
}

/// Whose a place below the workspace is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Privacy<'a> {
    /// No private folder's.
    Open,
    /// It is the folder of the private folders.
    People,
    /// It is the private folder of this name, or lies in it.
    Of(&'a str),
}

/// Whose this place below the workspace is, by its name alone.
#[must_use]
pub fn privacy(below: &str) -> Privacy<'_> {
    let mut names = below.split('/');
    match (names.next(), names.next()) {
        (Some(first), None) if first == PEOPLE => Privacy::People,
        (Some(first), Some(name)) if first == PEOPLE => Privacy::Of(name),
        _ => Privacy::Open,
    }
}

/// The folders that guests read: `shared`, and those listed.
#[must_use]
pub fn folders(listed: &[String]) -> Vec<String> {
    let mut all: Vec<String> = std::iter::once(SHARED.to_owned())
        .chain(listed.iter().filter(|folder| refused(folder).is_none()).cloned())
        .take(MAX_FOLDERS + 1)
        .collect();
    all.sort();
    all.dedup();
    // What lies in another one is shown with it.
    let outer = all.clone();
    all.retain(|folder| !outer.iter().any(|other| other != folder && is_within(folder, other)));
    all
}

/// Whether `path` is `folder` or lies in it; both are names below the workspace, which is the empty name.
#[must_use]
pub fn is_within(path: &str, folder: &str) -> bool {
    folder.is_empty() || path.strip_prefix(folder).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Whether a guest may name this place below the workspace: it lies in one of the folders, or on the way to one.
#[must_use]
pub fn may_name(below: &str, folders: &[String]) -> bool {
    folders.iter().any(|folder| is_within(below, folder) || is_within(folder, below))
}

/// What is left of a grant of `granted` where only `folders` are shown; both are names below the workspace.
#[must_use]
pub fn narrowed(granted: &str, folders: &[String]) -> Vec<String> {
    if let Some(whole) = folders.iter().find(|folder| is_within(granted, folder)) {
        debug_assert!(is_within(granted, whole));
        return vec![granted.to_owned()];
    }
    folders.iter().filter(|folder| is_within(folder, granted)).cloned().collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use proptest::prelude::*;

    fn names(all: &[&str]) -> Vec<String> {
        all.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn a_folder_for_guests_is_a_plain_name_below_the_workspace() {
        for fine in ["recipes", "house/rules", "Foto 2024"] {
            assert_eq!(refused(fine), None, "{fine}");
        }
        for no in [
            "",
            ".",
            "..",
            "a/../b",
            "/etc",
            "a//b",
            "a/",
            ".ssh",
            "a/.env",
            "~",
            "executors",
            "Executors/x",
            "people/anna",
            "secrets",
            "a\nb",
        ] {
            assert!(refused(no).is_some(), "{no:?}");
        }
    }

    #[test]
    fn a_private_folder_is_named_after_its_person() {
        for (person, folder) in
            [("Anna", "anna"), ("Nonna Rosa", "nonna-rosa"), ("O'Neil  Jr.", "o-neil-jr"), ("Zoë", "zoë")]
        {
            assert_eq!(folder_name(person), folder);
            assert_eq!(folder_name(folder), folder);
        }
        assert_eq!(privacy("people/anna/diary.md"), Privacy::Of("anna"));
        assert_eq!(privacy("people"), Privacy::People);
        for open in ["", "peoples/anna", "notes/people/anna", "shared"] {
            assert_eq!(privacy(open), Privacy::Open, "{open}");
        }
    }

    #[test]
    fn the_executors_for_guests_are_those_that_come_with_metnos() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../executors");
        let mut names: Vec<String> = std::fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .filter(|name| name != "host")
            .collect();
        names.sort();
        assert_eq!(names, SHIPPED);
    }

    #[test]
    fn shared_is_always_among_the_folders_and_no_folder_twice() {
        assert_eq!(folders(&[]), ["shared"]);
        assert_eq!(folders(&names(&["recipes", "shared/a", "recipes/it", ".ssh"])), ["recipes", "shared"]);
    }

    #[test]
    fn a_guest_names_what_he_is_shown_and_the_way_there() {
        let shown = names(&["house/rules", "shared"]);
        for fine in ["", "shared", "shared/a/b.md", "house", "house/rules", "house/rules/1.md"] {
            assert!(may_name(fine, &shown), "{fine}");
        }
        for no in ["MEMORY.md", "notes", "sharedx", "shared.md", "house/money.md", "house/rulesx"] {
            assert!(!may_name(no, &shown), "{no}");
        }
    }

    #[test]
    fn a_grant_becomes_what_is_shown_of_it() {
        let shown = names(&["house/rules", "shared"]);
        assert_eq!(narrowed("", &shown), ["house/rules", "shared"]);
        assert_eq!(narrowed("house", &shown), ["house/rules"]);
        assert_eq!(narrowed("shared/drafts", &shown), ["shared/drafts"]);
        assert!(narrowed("notes", &shown).is_empty() && narrowed("", &[]).is_empty());
    }

    proptest! {
        #[test]
        fn nothing_outside_of_what_is_shown_is_left_of_a_grant(granted in "[ab](/[ab]){0,3}|", shown in prop::collection::vec("[ab](/[ab]){0,3}", 0..3)) {
            for left in narrowed(&granted, &shown) {
                prop_assert!(is_within(&left, &granted));
                prop_assert!(shown.iter().any(|folder| is_within(&left, folder)));
            }
        }
    }
}
