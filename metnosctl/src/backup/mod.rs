//! `backup` and `restore`: an instance as plain files in one folder, checked by digests and by its own chain. It is the
//! one command that reads an instance's files itself, as the owner who may; it changes none of them, and it never
//! writes over anything.
//!
//! What can be derived from the chronicle (index, mnestome, medium memory) is left out: the first start makes it anew.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, BufRead, BufReader, Read, Seek, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};

use metnos_proto::doc::chronicle::SignedHead;
use metnos_proto::edges::CtlPolicyd;
use metnos_proto::ids::TraceId;
use metnos_proto::msg::policyd::CopyRegistry;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sha2::Digest;

use crate::audit::proof::signed_heads;
use crate::audit::witness::{Follower, Signed};
use crate::daemons::connection::Connection;
use crate::error::{CtlError, Exit};
use crate::instance::Instance;
use crate::json_constant::ConstTrue;
use crate::screen::human::{counted, now_ms};
use crate::screen::{Ink, Screen};

/// What a backup's list says that it is.
const FORMAT: &str = "metnos-backup-v1";
/// The list, beside the files.
const LIST: &str = "MANIFEST.json";
/// The folder of the files.
const FILES: &str = "files";
/// The most files of one instance.
const MAX_FILES: usize = 1_000_000;
/// The longest list that is read, in bytes.
const MAX_LIST_BYTES: u64 = 1024 * 1024 * 1024;
/// Why a link, a pipe or a socket is left out.
const NO_FILE: &str = "it is no plain file";
/// The longest path below an instance that is copied, in bytes: with the folder of a backup or of an instance before it, it is
/// still one that the system takes, here and where it is restored.
const LONGEST_PATH: usize = 3_000;
/// How much is copied at once, in bytes.
const BLOCK: usize = 256 * 1024;
/// What stands in for the database that policyd holds while it runs.
const REGISTRY: &str = ".policy/policy.sqlite";

/// What is derived, belongs to a run, or is written by nobody.
fn is_left_out(path: &str) -> bool {
    let derived = [".audit/index.sqlite", ".mnestome/mnest.sqlite", REGISTRY];
    path == "run"
        || path == ".audit/executors"
        || path == ".runtime"
        || derived
            .iter()
            .any(|name| path.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with(['-', '.'])))
}

/// One file of a backup.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Entry {
    path: String,
    bytes: u64,
    mode: u32,
    uid: u32,
    gid: u32,
    sha256: String,
    #[serde(default)]
    folder: bool,
}

/// A backup was made.
#[derive(Debug, Serialize, JsonSchema)]
pub struct BackedUp {
    /// It was done.
    ok: ConstTrue,
    /// Where it is.
    folder: String,
    /// How many files it holds.
    files: u64,
    /// How many bytes.
    bytes: u64,
    /// The last line of the chronicle in it.
    head_seq: u64,
    /// How many signed heads it holds.
    anchors: usize,
    /// Files that were left out.
    skipped: Vec<String>,
}

/// An instance was restored from a backup.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Restored {
    /// It was done.
    ok: ConstTrue,
    /// The directory of the instance.
    instance: String,
    /// How many files were restored.
    files: u64,
    /// The last line of the chronicle.
    head_seq: u64,
    /// Its hash.
    head_hash: String,
}

/// What a backup holds.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct List {
    format: String,
    created_ms: u64,
    head_seq: u64,
    head_hash: String,
    files: Vec<Entry>,
    /// The heads that policyd has signed, as it writes them.
    anchors: Vec<SignedHead>,
}

fn io_error(path: &Path) -> impl Fn(io::Error) -> CtlError + '_ {
    |error| CtlError::failed(path.display().to_string(), error, "look at its permissions and at the disk")
}

/// Opens what lies at `path` below the instance, without following any link on the way and without waiting for a
/// pipe's other end: executors write in the workspace, also while it is copied.
fn open_below(base: &Path, path: &str) -> io::Result<File> {
    use rustix::fs::{Mode, OFlags, ResolveFlags};
    let start = rustix::fs::open(base, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOCTTY;
    let beneath = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    let path = if path.is_empty() { "." } else { path };
    Ok(File::from(rustix::fs::openat2(start, path, flags, Mode::empty(), beneath)?))
}

/// A path that is left out, with the reason; of a long one both ends.
fn left_out(path: &str, why: &str) -> String {
    let short = |text: &str| -> String { text.chars().take(60).collect() };
    if path.chars().count() <= 200 {
        return format!("{path} ({why})");
    }
    let end: String = path.chars().rev().take(60).collect();
    format!("{}…{} ({why})", short(path), end.chars().rev().collect::<String>())
}

/// Every file and folder below `base` that belongs into a backup, by name.
fn gather(base: &Path, skipped: &mut Vec<String>) -> Result<Vec<(String, fs::Metadata)>, CtlError> {
    let mut found = Vec::new();
    let mut waiting = vec![String::new()];
    while let Some(folder) = waiting.pop() {
        let here = base.join(&folder);
        let open = match open_below(base, &folder) {
            Ok(open) => open,
            // It was moved or deleted meanwhile; what it was is in its new place or in the trash.
            Err(error) if error.kind() == io::ErrorKind::NotFound && !folder.is_empty() => continue,
            Err(error) => return Err(io_error(&here)(error)),
        };
        let listed = PathBuf::from(format!("/proc/self/fd/{}", open.as_raw_fd()));
        for entry in fs::read_dir(&listed).map_err(io_error(&here))? {
            let entry = entry.map_err(io_error(&here))?;
            let Some(name) = entry.file_name().to_str().map(str::to_owned) else {
                skipped.push(format!("{folder}/… (a name that is no UTF-8)"));
                continue;
            };
            let path = if folder.is_empty() { name } else { format!("{folder}/{name}") };
            if is_left_out(&path) {
                continue;
            }
            if path.len() > LONGEST_PATH {
                skipped.push(left_out(&path, "its path is too long; everything below it is left out, too"));
                continue;
            }
            let meta = match entry.metadata() {
                Ok(meta) => meta,
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(error) => return Err(io_error(&entry.path())(error)),
            };
            if meta.is_dir() {
                waiting.push(path.clone());
            } else if !meta.is_file() {
                skipped.push(left_out(&path, NO_FILE));
                continue;
            }
            found.push((path, meta));
            if found.len() > MAX_FILES {
                return Err(CtlError::failed(
                    "the instance",
                    format!("more than {MAX_FILES} files"),
                    "move some elsewhere",
                ));
            }
        }
    }
    found.sort_by(|one, two| one.0.cmp(&two.0));
    Ok(found)
}

/// Whether a file of the chronicle may be growing: of it only whole lines are copied.
fn is_day(path: &str) -> bool {
    path.strip_prefix(".audit/").is_some_and(|name| name.len() == 16 && name.ends_with(".jsonl"))
}

/// Copies at most `limit` bytes to a file that must not be there; gives size and digest.
fn copy(from: &mut dyn Read, to: &Path, limit: u64) -> io::Result<(u64, String)> {
    let mut out = OpenOptions::new().write(true).create_new(true).mode(0o600).open(to)?;
    let (mut digest, mut bytes, mut block) = (sha2::Sha256::new(), 0_u64, vec![0; BLOCK]);
    while bytes < limit {
        let most = usize::try_from(limit - bytes).unwrap_or(BLOCK).min(BLOCK);
        let read = from.read(&mut block[..most])?;
        if read == 0 {
            break;
        }
        digest.update(&block[..read]);
        out.write_all(&block[..read])?;
        bytes += read as u64;
    }
    out.sync_all()?;
    Ok((bytes, metnos_proto::ids::Sha256(digest.finalize().into()).to_string()))
}

/// The length of a file up to the end of its last whole line; the file is at its beginning again afterwards.
fn whole_lines(file: &mut File) -> io::Result<u64> {
    let (mut whole, mut read, mut block) = (0, 0, vec![0; BLOCK]);
    loop {
        let length = file.read(&mut block)?;
        if length == 0 {
            file.seek(io::SeekFrom::Start(0))?;
            return Ok(whole);
        }
        if let Some(last) = block[..length].iter().rposition(|byte| *byte == b'\n') {
            whole = read + last as u64 + 1;
        }
        read += length as u64;
    }
}

/// The size and the digest of a file, read a block at a time.
fn digest_of(path: &Path) -> io::Result<(u64, String)> {
    let (mut file, mut digest, mut bytes, mut block) = (File::open(path)?, sha2::Sha256::new(), 0, vec![0; BLOCK]);
    loop {
        let read = file.read(&mut block)?;
        if read == 0 {
            return Ok((bytes, metnos_proto::ids::Sha256(digest.finalize().into()).to_string()));
        }
        digest.update(&block[..read]);
        bytes += read as u64;
    }
}

/// `backup [FOLDER]`.
///
/// # Errors
/// When a file cannot be read or written, or the chronicle's chain does not hold.
pub fn backup(screen: &mut Screen, instance: &Instance, to: Option<&Path>) -> Result<Exit, CtlError> {
    let base = instance.directory();
    if !base.is_dir() {
        return Err(CtlError::NoInstance(base.to_owned()));
    }
    let named = to.map_or_else(|| PathBuf::from(format!("metnos-backup-{}", now_ms() / 1000)), Path::to_owned);
    let exists = || CtlError::failed(named.display().to_string(), "it is there already", "name another folder");
    if named.symlink_metadata().is_ok() {
        return Err(exists());
    }
    let partial = named.with_extension("partial");
    // Nobody else's from the first moment on.
    fs::DirBuilder::new().mode(0o700).create(&partial).map_err(io_error(&partial))?;
    let written = write(instance, &partial);
    let (list, skipped) = match written {
        Ok(written) => written,
        Err(error) => {
            let _gone = fs::remove_dir_all(&partial);
            return Err(error);
        }
    };
    fs::rename(&partial, &named).map_err(io_error(&named))?;
    let files = list.files.iter().filter(|entry| !entry.folder).count() as u64;
    let bytes: u64 = list.files.iter().map(|entry| entry.bytes).sum();
    if screen.json() {
        let (folder, anchors) = (named.display().to_string(), list.anchors.len());
        let head_seq = list.head_seq;
        screen.document(&BackedUp { ok: ConstTrue, folder, files, bytes, head_seq, anchors, skipped })?;
    } else {
        let count = counted(files, "file", "files");
        screen.line(&format!(
            "{}: {count}, {bytes} bytes, the chronicle up to line {}.",
            named.display(),
            list.head_seq
        ))?;
        for path in &skipped {
            screen.aside(Ink::Plain, &format!("left out: {path}"))?;
        }
        screen.aside(Ink::Plain, "  → it holds the instance's key: keep it as you would keep the key")?;
    }
    Ok(Exit::Done)
}

fn write(instance: &Instance, partial: &Path) -> Result<(List, Vec<String>), CtlError> {
    let base = instance.directory();
    let files = partial.join(FILES);
    fs::create_dir(&files).map_err(io_error(&files))?;
    let mut skipped = Vec::new();
    let mut entries = Vec::new();
    // The anchors first: whatever was signed until now is in the lines that are copied afterwards.
    let (anchors, registry) = from_policyd(instance)?;
    for (path, meta) in gather(base, &mut skipped)? {
        let (from, to) = (base.join(&path), files.join(&path));
        let mut entry = entry_of(&path, &meta);
        if meta.is_dir() {
            fs::DirBuilder::new().mode(0o700).create(&to).map_err(io_error(&to))?;
        } else {
            let mut file = match open_below(base, &path) {
                Ok(file) => file,
                // An editor's temporary file, for one, may have gone meanwhile.
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(error) => return Err(io_error(&from)(error)),
            };
            let meta = file.metadata().map_err(io_error(&from))?;
            if !meta.is_file() {
                skipped.push(left_out(&path, NO_FILE));
                continue;
            }
            // As much as there is now: of a file that grows all the time, a backup would find no end.
            let limit = if is_day(&path) { whole_lines(&mut file).map_err(io_error(&from))? } else { meta.len() };
            (entry.bytes, entry.sha256) = copy(&mut file, &to, limit).map_err(io_error(&to))?;
        }
        entries.push(entry);
    }
    let to = files.join(REGISTRY);
    let meta = fs::metadata(base.join(REGISTRY)).map_err(io_error(&base.join(REGISTRY)))?;
    let mut entry = entry_of(REGISTRY, &meta);
    (entry.bytes, entry.sha256) = copy(&mut registry.as_slice(), &to, u64::MAX).map_err(io_error(&to))?;
    entries.push(entry);
    let (head_seq, head_hash) = follow(&files, &anchors)?;
    let anchors = anchors.iter().map(Signed::document).collect();
    let list = List { format: FORMAT.to_owned(), created_ms: now_ms(), head_seq, head_hash, files: entries, anchors };
    let path = partial.join(LIST);
    let text = serde_json::to_vec_pretty(&list).map_err(|error| CtlError::failed("the list", error, ""))?;
    copy(&mut text.as_slice(), &path, u64::MAX).map_err(io_error(&path))?;
    Ok((list, skipped))
}

fn entry_of(path: &str, meta: &fs::Metadata) -> Entry {
    Entry {
        path: path.to_owned(),
        bytes: 0,
        mode: meta.mode() & 0o7777,
        uid: meta.uid(),
        gid: meta.gid(),
        sha256: String::new(),
        folder: meta.is_dir(),
    }
}

/// The signed heads and a copy of the registry: from policyd, which holds them.
fn from_policyd(instance: &Instance) -> Result<(Vec<Signed>, Vec<u8>), CtlError> {
    let mut reach = Connection::to(instance)?;
    let heads = signed_heads(&mut reach)?;
    if let Some(finding) = heads.findings().first() {
        let remedy = "nothing was copied; `metnosctl audit verify` says more";
        return Err(CtlError::failed("the signed heads", &finding.detail, remedy));
    }
    let (_, [copy]) = reach.open::<CtlPolicyd>()?.copy_registry(TraceId::NONE, CopyRegistry {}, [])?;
    let bytes = copy.read().map_err(|error| CtlError::failed("the registry", error, "look at `metnosctl doctor`"))?;
    Ok((heads.signed, bytes))
}

/// Follows the chain through the copied days; gives its head.
fn follow(files: &Path, anchors: &[Signed]) -> Result<(u64, String), CtlError> {
    let audit = files.join(".audit");
    let broken = |why: String| {
        let remedy = "`metnosctl audit verify` on the instance says more";
        CtlError::failed("the chronicle does not hold", why, remedy)
    };
    let mut days: Vec<PathBuf> = match fs::read_dir(&audit) {
        Ok(entries) => entries.filter_map(|entry| Some(entry.ok()?.path())).collect(),
        Err(error) => return Err(io_error(&audit)(error)),
    };
    days.retain(|path| {
        path.file_name().and_then(|name| name.to_str()).is_some_and(|name| is_day(&format!(".audit/{name}")))
    });
    days.sort();
    let mut follower = Follower::new(1, anchors);
    let mut line = Vec::new();
    for day in &days {
        let mut reader = BufReader::with_capacity(BLOCK, File::open(day).map_err(io_error(day))?);
        loop {
            line.clear();
            if reader.read_until(b'\n', &mut line).map_err(io_error(day))? == 0 {
                break;
            }
            let text =
                line.strip_suffix(b"\n").ok_or_else(|| broken(format!("{} ends in a torn line", day.display())))?;
            follower.take(text).map_err(&broken)?;
        }
    }
    match follower.left() {
        Some(seq) => Err(broken(format!("line {seq} was signed, and the last one is {}", follower.last()))),
        None => Ok((follower.last(), follower.head().to_string())),
    }
}

/// Reads a backup's list, and compares every file with it.
fn check(from: &Path) -> Result<List, CtlError> {
    let path = from.join(LIST);
    let unfit = |why: String| CtlError::failed(from.display().to_string(), why, "take another backup");
    let mut text = Vec::new();
    File::open(&path).and_then(|file| file.take(MAX_LIST_BYTES).read_to_end(&mut text)).map_err(io_error(&path))?;
    let list: List = serde_json::from_slice(&text).map_err(|error| unfit(format!("{LIST} cannot be read: {error}")))?;
    if list.format != FORMAT {
        return Err(unfit(format!("{LIST} is no `{FORMAT}`")));
    }
    if list.files.len() > MAX_FILES {
        return Err(unfit(format!("{LIST} names more than {MAX_FILES} files")));
    }
    for entry in &list.files {
        let parts_fit = entry.path.split('/').all(|part| !part.is_empty() && part != "." && part != "..");
        if !parts_fit || entry.path.contains('\0') {
            return Err(unfit(format!("{LIST} names `{}`, which leads elsewhere", entry.path)));
        }
        let path = from.join(FILES).join(&entry.path);
        let meta = path.symlink_metadata().map_err(io_error(&path))?;
        if meta.is_dir() != entry.folder || meta.file_type().is_symlink() {
            return Err(unfit(format!("{} is something else than it was", entry.path)));
        }
        if !entry.folder && digest_of(&path).map_err(io_error(&path))? != (entry.bytes, entry.sha256.clone()) {
            return Err(unfit(format!("{} is not what was copied", entry.path)));
        }
    }
    let anchors: Option<Vec<Signed>> = list.anchors.iter().map(Signed::read).collect();
    let anchors = anchors.ok_or_else(|| unfit("its signed heads cannot be read".to_owned()))?;
    let head = follow(&from.join(FILES), &anchors)?;
    if head != (list.head_seq, list.head_hash.clone()) {
        return Err(unfit("its chronicle ends elsewhere than its list says".to_owned()));
    }
    Ok(list)
}

/// `restore FOLDER`: into an instance that is not there yet.
///
/// # Errors
/// When the backup does not hold, or the instance's directory is there already.
pub fn restore(screen: &mut Screen, instance: &Instance, from: &Path) -> Result<Exit, CtlError> {
    let list = check(from)?;
    let base = instance.directory();
    let occupied = fs::read_dir(base).is_ok_and(|mut entries| entries.next().is_some());
    if occupied || base.is_file() {
        let remedy = "name an empty one: `metnosctl --instance DIR restore …`";
        return Err(CtlError::failed(base.display().to_string(), "something is there already", remedy));
    }
    let partial = base.with_extension("restoring");
    fs::create_dir_all(base.parent().unwrap_or(Path::new("/"))).map_err(io_error(base))?;
    // As the supervisor has it: only daemons with uids of their own must pass.
    let mode = if rustix::process::geteuid().is_root() { 0o711 } else { 0o700 };
    fs::DirBuilder::new().mode(mode).create(&partial).map_err(io_error(&partial))?;
    if let Err(error) = put_back(&list, &from.join(FILES), &partial) {
        let _gone = fs::remove_dir_all(&partial);
        return Err(error);
    }
    let _empty = fs::remove_dir(base);
    fs::rename(&partial, base).map_err(io_error(base))?;
    let files = list.files.iter().filter(|entry| !entry.folder).count() as u64;
    if screen.json() {
        let instance = base.display().to_string();
        let (head_seq, head_hash) = (list.head_seq, list.head_hash.clone());
        screen.document(&Restored { ok: ConstTrue, instance, files, head_seq, head_hash })?;
    } else {
        let count = counted(files, "file", "files");
        screen.line(&format!("{}: {count}, the chronicle up to line {}.", base.display(), list.head_seq))?;
        screen.aside(
            Ink::Plain,
            "  → `metnosctl up` makes what is derived anew, and policyd compares the chronicle with what it signed",
        )?;
    }
    Ok(Exit::Done)
}

/// The mode that an entry may come back with: a list is a plain file, and nothing in an instance runs as someone else.
const fn allowed_mode(entry: &Entry) -> u32 {
    entry.mode & if entry.folder { 0o3777 } else { 0o777 }
}

fn put_back(list: &List, files: &Path, to: &Path) -> Result<(), CtlError> {
    let root = rustix::process::geteuid().is_root();
    let mut modes = Vec::new();
    for entry in &list.files {
        let (source, path) = (files.join(&entry.path), to.join(&entry.path));
        if entry.folder {
            fs::create_dir(&path).map_err(io_error(&path))?;
        } else {
            let mut file = File::open(&source).map_err(io_error(&source))?;
            let (_, digest) = copy(&mut file, &path, u64::MAX).map_err(io_error(&path))?;
            if digest != entry.sha256 {
                return Err(CtlError::failed(entry.path.clone(), "it changed while it was put back", "try again"));
            }
        }
        if root {
            chown(&path, Some(entry.uid), Some(entry.gid)).map_err(io_error(&path))?;
        }
        modes.push((path, allowed_mode(entry)));
    }
    // Folders last: one that may only be read could not be filled.
    for (path, mode) in modes.into_iter().rev() {
        fs::set_permissions(&path, Permissions::from_mode(mode)).map_err(io_error(&path))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
