//! Titles of files: the first heading, or the first line where that is like a title, of the first bytes of a file. A title is text
//! that anybody may have written: only its words are kept, to be compared with what was said, and nobody is shown them.

use std::collections::HashMap;
use std::ffi::CStr;
use std::os::fd::AsFd;

use metnos_proto::executor::secret_names::is_secret_content;
use metnos_rank::forms::MAX_NAME_WORDS;
use metnos_rank::lexicon::is_stop;
use metnos_rank::words::words;
use rustix::fs::{AtFlags, FileType, Mode, OFlags};

use super::stamp::FileStamp;

/// How much of a file is read for its title, in bytes.
pub const HEAD_BYTES: usize = 512;
/// How many files are read anew for one request; those after them have no title until the next one.
pub const MAX_READ: usize = 512;
/// How many titles are kept.
pub const MAX_KEPT: usize = 8_192;
/// The longest title, in characters.
const MAX_TITLE: usize = 120;
/// The most words of a first line that is taken for a title.
const MAX_LINE_WORDS: usize = 10;
/// The endings of files that have a title.
const ENDINGS: [&str; 7] = ["md", "markdown", "txt", "text", "org", "rst", "adoc"];

/// The words of titles, each until its file changes.
#[derive(Debug, Default)]
pub struct Titles {
    kept: HashMap<(u64, u64), (FileStamp, Vec<String>)>,
    left: usize,
}

impl Titles {
    /// Begins a request: so many files may be read anew in it.
    pub const fn begin(&mut self) {
        self.left = MAX_READ;
    }

    /// The words of the title of a regular file in this folder, folded, without those that say nothing; none where it has none,
    /// cannot be read, or no more may be read.
    pub fn words_of(&mut self, folder: impl AsFd, name: &CStr) -> &[String] {
        if !name.to_str().is_ok_and(has_title) {
            return &[];
        }
        let Ok(stat) = rustix::fs::statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW) else { return &[] };
        let stamp = FileStamp::of(&stat);
        if self.kept.get(&stamp.file()).is_none_or(|(known, _)| *known != stamp) {
            if self.left == 0 {
                return &[];
            }
            self.left -= 1;
            let Some((stamp, head)) = read_head(folder, name) else { return &[] };
            if self.kept.len() >= MAX_KEPT {
                self.kept.clear();
            }
            let mut title = title_of(&head).map(|title| words(&title)).unwrap_or_default();
            title.retain(|word| !is_stop(word));
            title.truncate(MAX_NAME_WORDS);
            self.kept.insert(stamp.file(), (stamp, title));
        }
        self.kept.get(&stamp.file()).map_or(&[], |(_, title)| title)
    }
}

fn has_title(name: &str) -> bool {
    match name.rsplit_once('.') {
        Some((_, ending)) => ENDINGS.iter().any(|known| ending.eq_ignore_ascii_case(known)),
        None => true,
    }
}

/// The first bytes of a regular file. No link is followed, and nothing is waited for, should it have become something else.
fn read_head(folder: impl AsFd, name: &CStr) -> Option<(FileStamp, Vec<u8>)> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let file = rustix::fs::openat(folder, name, flags, Mode::empty()).ok()?;
    let stat = rustix::fs::fstat(&file).ok()?;
    if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
        return None;
    }
    let mut head = vec![0; HEAD_BYTES];
    let read = rustix::io::read(&file, &mut head).ok()?;
    head.truncate(read);
    Some((FileStamp::of(&stat), head))
}

/// The title in the first bytes of a file.
fn title_of(head: &[u8]) -> Option<String> {
    let text = match std::str::from_utf8(head) {
        Ok(text) => text,
        // A character may have been cut in two at the end, and nowhere else.
        Err(error) if error.error_len().is_none() => std::str::from_utf8(&head[..error.valid_up_to()]).ok()?,
        Err(_) => return None,
    };
    if text.contains('\0') || is_secret_content(head) {
        return None;
    }
    let text = text.trim_start_matches('\u{feff}');
    let fits = |title: &str| !title.is_empty() && title.chars().count() <= MAX_TITLE;
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty()).peekable();
    if lines.peek() == Some(&"---") {
        lines.next();
        let of_front = lines.by_ref().take_while(|line| *line != "---").find_map(|line| line.strip_prefix("title:"));
        if let Some(title) = of_front.map(|title| title.trim().trim_matches(['"', '\''])) {
            return fits(title).then(|| title.to_owned());
        }
    }
    let rest: Vec<&str> = lines.collect();
    let heading = rest.iter().find_map(|line| line.strip_prefix("# ").or_else(|| line.strip_prefix("#+title:")));
    let title = heading.map(str::trim).or_else(|| rest.first().copied().filter(|line| is_like_title(line)))?;
    fits(title).then(|| title.to_owned())
}

/// Whether a first line names what follows, and is neither a sentence of it nor one of its items.
fn is_like_title(line: &str) -> bool {
    let is_item = line.starts_with(['-', '*', '+', '•', '|', '>', '<', '`', '!', '[', '{', '(', '"']);
    let is_numbered = line.split_once(['.', ')']).is_some_and(|(number, _)| number.bytes().all(|b| b.is_ascii_digit()));
    let is_sentence = line.ends_with(['.', '!', ';', ',']);
    let line = line.trim_start_matches('#');
    !is_item && !is_numbered && !is_sentence && line.split_whitespace().count() <= MAX_LINE_WORDS
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_title_is_the_first_heading_or_a_first_line_like_one() {
        for (text, title) in [
            ("# Trip to Rome\n\ntext", Some("Trip to Rome")),
            ("\u{feff}\n\n", None),
            ("\u{feff}# Città\n", Some("Città")),
            ("intro line of the note.\n# Later heading\n", Some("Later heading")),
            ("Boiler manual\n=============\n", Some("Boiler manual")),
            ("---\ntitle: \"Garden plan\"\ntags: x\n---\n# Other\n", Some("Garden plan")),
            ("---\ntags: x\n---\n# Other\n", Some("Other")),
            ("- milk\n- eggs\n", None),
            ("1. first\n", None),
            ("We went to the sea today.\n", None),
            ("one two three four five six seven eight nine ten eleven\n", None),
            ("## Monday\n", Some("## Monday")),
            ("", None),
        ] {
            assert_eq!(title_of(text.as_bytes()).as_deref(), title, "{text:?}");
        }
        assert_eq!(title_of(&[b'a', 0, b'b']), None);
        assert_eq!(title_of(&[b'a', 0xff, b'b']), None);
        assert_eq!(title_of("# Caffè".as_bytes().split_last().unwrap().1).as_deref(), Some("Caff"));
        assert_eq!(title_of(b"-----BEGIN OPENSSH PRIVATE KEY-----\n# Trip\n"), None);
        assert_eq!(title_of(format!("# {}", "x".repeat(MAX_TITLE)).as_bytes()).unwrap().len(), MAX_TITLE);
        assert_eq!(title_of(format!("# {}", "x".repeat(MAX_TITLE + 1)).as_bytes()), None);
    }

    #[test]
    fn titles_are_read_once_until_the_file_changes() {
        let dir = tempfile::tempdir().unwrap();
        let folder: std::os::fd::OwnedFd = std::fs::File::open(dir.path()).unwrap().into();
        let put = |text: &str| std::fs::write(dir.path().join("a.md"), text).unwrap();
        let mut titles = Titles::default();
        put("# Trip to Rome");
        assert_eq!(titles.words_of(&folder, c"a.md"), [""; 0], "nothing may be read before a request begins");
        titles.begin();
        assert_eq!(titles.words_of(&folder, c"a.md"), ["trip", "rome"]);
        titles.left = 0;
        assert_eq!(titles.words_of(&folder, c"a.md"), ["trip", "rome"]);
        put("# Garden, another one");
        assert_eq!(titles.words_of(&folder, c"a.md"), [""; 0]);
        titles.begin();
        assert_eq!(titles.words_of(&folder, c"a.md")[0], "garden");
        assert_eq!(titles.left, MAX_READ - 1);
    }

    #[test]
    fn no_link_or_pipe_is_opened_and_only_the_head_is_read() {
        let dir = tempfile::tempdir().unwrap();
        let folder: std::os::fd::OwnedFd = std::fs::File::open(dir.path()).unwrap().into();
        std::fs::write(dir.path().join("a.bin"), "# Trip").unwrap();
        std::os::unix::fs::symlink("a.bin", dir.path().join("link.md")).unwrap();
        let mode = Mode::RUSR | Mode::WUSR;
        rustix::fs::mknodat(rustix::fs::CWD, dir.path().join("pipe.md"), FileType::Fifo, mode, 0).unwrap();
        std::fs::write(dir.path().join("late.md"), format!("{}\n# Trip", "x ".repeat(HEAD_BYTES / 2))).unwrap();
        let mut titles = Titles::default();
        titles.begin();
        for name in [c"a.bin", c"link.md", c"pipe.md", c"late.md", c"none.md"] {
            assert_eq!(titles.words_of(&folder, name), [""; 0], "{name:?}");
        }
    }
}
