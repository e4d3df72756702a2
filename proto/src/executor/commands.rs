//! Programs that executors may run: the owner lists them, an executor declares which of them it needs, and what it declares
//! must be listed (design: sandbox §1, executor §2). Here is what an entry may be, as a text; who shows a program has looked
//! at the file. A list can only bound: no entry of it opens what [`forbidden`] closes.

use super::forbidden::{self, Places};
use super::{Capability, Manifest};

/// The most programs that can be listed.
pub const MAX_COMMANDS: usize = 48;
/// What a manifest writes for every program that the owner lists, so that he extends his list without touching what is signed.
pub const ALL_LISTED: &str = "*";

/// What is listed where the configuration says nothing: programs that read and print, as Debian has them. Each runs no other
/// one by itself.
pub const DEFAULT: [&str; 31] = [
    "/usr/bin/basename",
    "/usr/bin/cat",
    "/usr/bin/cmp",
    "/usr/bin/comm",
    "/usr/bin/cut",
    "/usr/bin/date",
    "/usr/bin/diff",
    "/usr/bin/dirname",
    "/usr/bin/du",
    "/usr/bin/expand",
    "/usr/bin/fold",
    "/usr/bin/grep",
    "/usr/bin/head",
    "/usr/bin/join",
    "/usr/bin/ls",
    "/usr/bin/md5sum",
    "/usr/bin/nl",
    "/usr/bin/paste",
    "/usr/bin/pdftoppm",
    "/usr/bin/pdftotext",
    "/usr/bin/seq",
    "/usr/bin/sha256sum",
    "/usr/bin/sort",
    "/usr/bin/stat",
    "/usr/bin/tac",
    "/usr/bin/tail",
    "/usr/bin/tesseract",
    "/usr/bin/tr",
    "/usr/bin/tsort",
    "/usr/bin/uniq",
    "/usr/bin/wc",
];

/// The most folders of data that can be listed.
pub const MAX_DATA: usize = 16;

/// Folders of data where the configuration says nothing: each with the program that reads it, as in [`ProgramData::read`].
pub const DEFAULT_DATA: [&str; 1] = ["/usr/bin/tesseract /usr/share/tesseract-ocr"];

/// Where packages put what their programs read and nothing writes: what the owner lists lies below one of these.
const DATA_BELOW: [&str; 2] = ["/usr/share/", "/usr/local/share/"];

/// A folder that a listed program is shown beside its libraries, for reading, where it runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProgramData<'a> {
    /// The program.
    pub program: &'a str,
    /// The folder, absolute.
    pub folder: &'a str,
}

impl<'a> ProgramData<'a> {
    /// Reads `PROGRAM FOLDER`; `None` where it is not that, or the folder is not one of those that packages install.
    #[must_use]
    pub fn read(line: &'a str) -> Option<Self> {
        let (program, folder) = line.split_once(' ')?;
        let is_packages = DATA_BELOW.iter().any(|place| folder.starts_with(place));
        // A path of plain names, as that of a program is.
        let fits = refused(program).is_none() && is_packages && refused(folder).is_none();
        fits.then_some(Self { program, folder })
    }
}

/// The bare name of a program: what a person calls it by.
#[must_use]
pub fn bare(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// Whether a text names a program as a list and a manifest may: absolute, plain, one spelling.
#[must_use]
pub fn is_program(text: &str) -> bool {
    let Some(rest) = text.strip_prefix('/') else { return false };
    // What stands in one colon-separated variable, and what a shell would read as something else, is no name of a program.
    let plain = |part: &str| {
        !matches!(part, "" | "." | "..")
            && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._+-[".contains(&byte))
            && !part.starts_with('-')
    };
    text.len() <= 256 && rest.contains('/') && rest.split('/').all(plain)
}

/// Why a program cannot be listed, if it cannot.
#[must_use]
pub fn refused(path: &str) -> Option<String> {
    if !is_program(path) {
        return Some("expected an absolute path of plain names, such as \"/usr/bin/wc\"".to_owned());
    }
    forbidden::check(path, &Places::default()).map(|closed| format!("it lies in {}: {}", closed.place, closed.why))
}

/// Why a list cannot hold, if it cannot.
#[must_use]
pub fn refused_list(list: &[String]) -> Option<String> {
    if list.len() > MAX_COMMANDS {
        return Some(format!("{} programs; at most {MAX_COMMANDS} can be listed", list.len()));
    }
    list.iter().enumerate().find_map(|(at, path)| {
        if let Some(why) = refused(path) {
            return Some(format!("{path}: {why}"));
        }
        // A person calls it by its bare name, which must mean one program.
        let twin = list[..at].iter().find(|earlier| bare(earlier) == bare(path))?;
        Some(format!("{path} has the name of {twin}; list one of them"))
    })
}

/// What a manifest declares; empty when it runs nothing.
#[must_use]
pub fn declared(manifest: &Manifest) -> &[String] {
    let exec = |capability: &&Capability| matches!(capability, Capability::Exec(_));
    manifest.sandbox.capabilities.iter().find(exec).map(Capability::entries).unwrap_or_default()
}

/// The listed programs that a manifest is granted, in the order of the list.
///
/// # Errors
/// What it declares and the owner has not listed.
pub fn granted<'a>(manifest: &Manifest, listed: &'a [String]) -> Result<Vec<&'a str>, String> {
    let declared = declared(manifest);
    if let Some(unlisted) = declared.iter().find(|entry| *entry != ALL_LISTED && !listed.contains(entry)) {
        return Err(unlisted.clone());
    }
    let all = declared.iter().any(|entry| entry == ALL_LISTED);
    Ok(listed.iter().filter(|path| all || declared.contains(path)).map(String::as_str).collect())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn list(paths: &[&str]) -> Vec<String> {
        paths.iter().map(|path| (*path).to_owned()).collect()
    }

    fn manifest(exec: &str) -> Manifest {
        let text = include_str!("../../../executors/fs_read/manifest.toml")
            .replace("fs-read-workspace", "shell-listed")
            .replace(r#"{ fs_read = ["workspace/"] }"#, exec);
        Manifest::parse(text.as_bytes()).unwrap()
    }

    #[test]
    fn default_program_list_is_valid_and_sorted() {
        assert_eq!(refused_list(&list(&DEFAULT)), None);
        assert!(DEFAULT.is_sorted());
    }

    #[test]
    fn a_program_has_one_spelling_and_lies_in_no_closed_place() {
        for path in ["/usr/bin/wc", "/usr/bin/g++", "/usr/local/bin/x-1.2", "/usr/bin/["] {
            assert_eq!(refused(path), None, "{path}");
        }
        for path in [
            "",
            "wc",
            "*",
            "/wc",
            "/usr/bin/",
            "/usr//bin/wc",
            "/usr/bin/../bin/wc",
            "/usr/bin/w c",
            "/usr/bin/a:b",
            "/usr/bin/-rf",
            "/usr/bin/\u{e8}",
            "~/bin/x",
            "/etc/x/y",
            "/proc/self/exe",
            "/root/x",
            "/dev/shm/x",
        ] {
            assert!(refused(path).is_some(), "{path}");
        }
    }

    #[test]
    fn data_of_a_program_lies_where_packages_put_it() {
        for line in
            DEFAULT_DATA.iter().chain(&["/usr/bin/git /usr/share/git-core", "/usr/local/bin/y /usr/local/share/y/data"])
        {
            assert!(ProgramData::read(line).is_some(), "{line}");
        }
        let read = ProgramData::read(DEFAULT_DATA[0]).unwrap();
        assert_eq!((read.program, read.folder), ("/usr/bin/tesseract", "/usr/share/tesseract-ocr"));
        for line in [
            "/usr/bin/tesseract",
            "/usr/bin/tesseract ",
            "/usr/bin/tesseract /usr/share",
            "/usr/bin/tesseract /usr/share/",
            "/usr/bin/tesseract /usr/share/../../etc",
            "/usr/bin/tesseract /usr/share/a b",
            "/usr/bin/tesseract /etc/ssl",
            "/usr/bin/tesseract /home/ada",
            "/usr/bin/tesseract /var/lib/metnos",
            "tesseract /usr/share/tesseract-ocr",
        ] {
            assert_eq!(ProgramData::read(line), None, "{line}");
        }
    }

    #[test]
    fn a_list_is_bounded_and_each_of_its_names_means_one_program() {
        let many: Vec<String> = (0..=MAX_COMMANDS).map(|n| format!("/usr/bin/p{n}")).collect();
        assert!(refused_list(&many[1..]).is_none() && refused_list(&many).is_some());
        let why = refused_list(&list(&["/usr/bin/wc", "/usr/local/bin/wc"])).unwrap();
        assert!(why.contains("/usr/bin/wc"), "{why}");
    }

    #[test]
    fn declared_program_is_granted_only_when_listed() {
        let listed = list(&["/usr/bin/wc", "/usr/bin/git"]);
        let granted = |exec: &str| granted(&manifest(exec), &listed);
        assert_eq!(granted(r#"{ exec = ["*"] }"#), Ok(vec!["/usr/bin/wc", "/usr/bin/git"]));
        assert_eq!(granted(r#"{ exec = ["/usr/bin/git"] }"#), Ok(vec!["/usr/bin/git"]));
        assert_eq!(granted(r#"{ exec = ["/usr/bin/id", "*"] }"#), Err("/usr/bin/id".to_owned()));
        assert_eq!(granted(r#"{ fs_read = ["workspace/"] }"#), Ok(vec![]));
        assert_eq!(super::granted(&manifest(r#"{ exec = ["*"] }"#), &[]), Ok(vec![]));
    }
}
