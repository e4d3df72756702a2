//! Instances for `bench ask` and `bench synt`: each is a copy of one that was started once in a temporary folder, is used for one line, and
//! is stopped and removed. None outlives this program, however it ends: its supervisor is told when that is gone.

use std::collections::BTreeSet;
use std::fs::{self, DirBuilder, File, Metadata, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use metnos_proto::doc::draft::{DraftOrder, DraftReport};
use metnos_proto::edges::ctl_door::Note;
use metnos_proto::edges::{CtlDoor, CtlSyntd};
use metnos_proto::ids::{TraceId, TurnId};
use metnos_proto::link::BlockingClient;
use metnos_proto::msg::door::Say;
use metnos_proto::msg::planner::{CallState, TurnDone, TurnEnd};
use metnos_proto::payload::Sealed;
use metnos_quality::Failure;
use metnos_quality::ask::{Files, Household, Households, Question, Said};
use metnos_quality::growth::Drafters;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use crate::bench::settings::Settings;
use crate::daemons::connection::Connection;
use crate::error::CtlError;
use crate::executors::executor::active;
use crate::instance::seeds::EXECUTORS;
use crate::instance::{CONFIG, Instance, RUN, WORKSPACE, create};
use crate::models::spend::tokens_spent;
use crate::synt::order;
use crate::turns::turn::SILENCE_MS;

/// How long an instance may take until it is ready: the first one has all its executors born.
const READY_WITHIN: Duration = Duration::from_secs(180);
/// How long it may take to stop by itself.
const STOP_WITHIN: Duration = Duration::from_secs(10);
/// How long between two looks at one that starts or stops.
const LOOK_AGAIN: Duration = Duration::from_millis(20);
/// How long between two looks at whether a person has had enough.
const LOOK_UP: Duration = Duration::from_millis(200);
/// The most bytes of files that are compared.
const MAX_COMPARED: u64 = 256 * 1024 * 1024;
/// With which code a second interruption ends this program at once.
const INTERRUPTED: i32 = 130;

/// Whose clock they go by, on every machine alike; a line may bring a `USER.md` with another.
pub const ZONE: &str = "UTC";
/// The line of `USER.md` that names it.
const ZONE_LINE: &str = "- Time zone:";

/// What a supervisor that was started for a measurement logs, beside its instance.
const LOG: &str = "up.log";

fn failed(why: impl ToString) -> Failure {
    failure(why, "look at `metnosctl doctor`; TMPDIR names a folder in which programs may run")
}

fn failure(why: impl ToString, remedy: &str) -> Failure {
    let what = "an instance for the measurement".to_owned();
    Failure::Failed { what, why: why.to_string(), remedy: remedy.to_owned() }
}

fn interrupted() -> Failure {
    Failure::Failed {
        what: "the measurement".to_owned(),
        why: "it was interrupted".to_owned(),
        remedy: "nothing was left running; start it again".to_owned(),
    }
}

fn of_ctl(error: &CtlError) -> Failure {
    failure(error, error.remedy().as_str())
}

/// A folder for all of them, removed when it is dropped.
#[derive(Debug)]
struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        // What cannot be removed lies below the folder for temporary files, where a person sweeps.
        let _swept = fs::remove_dir_all(&self.0);
    }
}

impl Folder {
    fn new() -> io::Result<Self> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis());
        let path = fs::canonicalize(std::env::temp_dir())?.join(format!("metnos-ask-{}-{now}", std::process::id()));
        // As root, the user of each daemon must be able to walk through, and no further.
        let mode = if rustix::process::geteuid().is_root() { 0o711 } else { 0o700 };
        DirBuilder::new().mode(0o700).create(&path)?;
        let folder = Self(path);
        fs::set_permissions(&folder.0, Permissions::from_mode(mode))?;
        Ok(folder)
    }
}

/// The instances of one measurement.
#[derive(Debug)]
pub struct Throwaways {
    folder: Folder,
    template: PathBuf,
    stop: Arc<AtomicBool>,
    made: usize,
}

impl Throwaways {
    /// Takes over the signals that end a program, and makes the instance of which all others are copies.
    ///
    /// # Errors
    /// When it cannot be started, or a person has had enough.
    pub fn new(settings: &Settings) -> Result<Self, Failure> {
        let stop = Arc::new(AtomicBool::new(false));
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            // The second one does not wait for anybody.
            let second = signal_hook::flag::register_conditional_shutdown(signal, INTERRUPTED, Arc::clone(&stop));
            second.and_then(|_| signal_hook::flag::register(signal, Arc::clone(&stop))).map_err(failed)?;
        }
        let folder = Folder::new().map_err(failed)?;
        let template = folder.0.join("first");
        let instance = at(&template)?;
        create::create(&instance).map_err(|error| of_ctl(&error))?;
        fs::write(template.join(CONFIG), settings.config()).map_err(failed)?;
        set_zone(&template.join(WORKSPACE).join("USER.md")).map_err(failed)?;
        for (from, name) in settings.folders() {
            copied(from, &template.join(name)).map_err(failed)?;
        }
        let running = Running::start(instance, &stop)?;
        running.is_grown(&stop)?;
        drop(running);
        Ok(Self { folder, template, stop, made: 0 })
    }
}

fn set_zone(user: &Path) -> io::Result<()> {
    let text = fs::read_to_string(user)?;
    let named =
        |line: &str| if line.trim_end() == ZONE_LINE { format!("{ZONE_LINE} {ZONE}\n") } else { format!("{line}\n") };
    fs::write(user, text.lines().map(named).collect::<String>())
}

fn at(directory: &Path) -> Result<Instance, Failure> {
    Instance::at(directory).map_err(|error| of_ctl(&error))
}

impl Throwaways {
    /// The folder of one more.
    fn copy(&mut self) -> Result<PathBuf, Failure> {
        self.made += 1;
        let place = self.folder.0.join(self.made.to_string());
        copied(&self.template, &place).map_err(failed)?;
        Ok(place)
    }
}

impl Drafters for Throwaways {
    fn draft(&mut self, order: &DraftOrder) -> Result<Result<DraftReport, String>, Failure> {
        let place = self.copy()?;
        let running = Running::start(at(&place)?, &self.stop)?;
        let syntd = Connection::to(&running.instance).and_then(|mut reach| reach.open::<CtlSyntd>());
        let mut syntd = syntd.map_err(|error| of_ctl(&error))?;
        let stopped = || self.stop.load(Ordering::SeqCst);
        let report = order::follow(&mut syntd, order, stopped, |_| Ok(()));
        drop(running);
        let _swept = fs::remove_dir_all(place);
        if stopped() {
            return Err(interrupted());
        }
        Ok(report.map_err(|error| error.to_string()))
    }
}

impl Households for Throwaways {
    type One = Throwaway;

    fn make(&mut self, question: &Question) -> Result<Throwaway, Failure> {
        let place = self.copy()?;
        let workspace = place.join(WORKSPACE);
        for (path, text) in &question.files {
            put(&workspace, path, text).map_err(failed)?;
        }
        let running = Running::start(at(&place)?, &self.stop)?;
        let connection = Connection::to(&running.instance).and_then(|mut reach| reach.open::<CtlDoor>());
        let door = connection.map_err(|error| of_ctl(&error))?;
        Ok(Throwaway { door, workspace, running, stop: Arc::clone(&self.stop) })
    }
}

/// Writes a file with the owner and the modes of the workspace that it is put into.
fn put(workspace: &Path, path: &str, text: &str) -> io::Result<()> {
    let (file, owner) = (workspace.join(path), fs::metadata(workspace)?);
    let mut folders: Vec<&Path> = file.ancestors().skip(1).take_while(|above| *above != workspace).collect();
    folders.reverse();
    for folder in folders {
        if !folder.is_dir() {
            DirBuilder::new().mode(0o750).create(folder)?;
            owned(folder, &owner)?;
        }
    }
    fs::write(&file, text)?;
    fs::set_permissions(&file, Permissions::from_mode(0o640))?;
    owned(&file, &owner)
}

/// Gives a file to the owner of another; only root can, and only there it is needed.
fn owned(path: &Path, of: &Metadata) -> io::Result<()> {
    if rustix::process::geteuid().is_root() { chown(path, Some(of.uid()), Some(of.gid())) } else { Ok(()) }
}

/// Copies a folder with owners and modes. What belongs to a run, and what is no plain file, is left out.
fn copied(from: &Path, to: &Path) -> io::Result<()> {
    let meta = fs::symlink_metadata(from)?;
    if meta.is_file() {
        fs::copy(from, to)?;
        return owned(to, &meta);
    }
    if !meta.is_dir() {
        return Ok(());
    }
    DirBuilder::new().mode(0o700).create(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let name = entry.file_name();
        if name != RUN && name != LOG {
            copied(&entry.path(), &to.join(&name))?;
        }
    }
    owned(to, &meta)?;
    fs::set_permissions(to, Permissions::from_mode(meta.mode() & 0o7777))
}

/// The processes of an instance.
#[derive(Debug)]
struct Running {
    instance: Instance,
    child: Child,
}

impl Running {
    /// Starts them, and waits until they are ready.
    fn start(instance: Instance, stop: &AtomicBool) -> Result<Self, Failure> {
        let own = std::env::current_exe().map_err(failed)?;
        let log = File::create(instance.directory().join(LOG)).map_err(failed)?;
        let mut command = Command::new(own);
        command.arg("--instance").arg(instance.directory()).args(["up", "--tied"]).current_dir("/");
        // Ctrl-C reaches this program alone, which then ends them in order.
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log).process_group(0);
        let mut running = Self { child: command.spawn().map_err(failed)?, instance };
        let until = Instant::now() + READY_WITHIN;
        loop {
            if stop.load(Ordering::SeqCst) {
                return Err(interrupted());
            }
            if let Some(status) = running.child.try_wait().map_err(failed)? {
                return Err(failed(format!("it ended with {status}: {}", running.last_words())));
            }
            let survey = Connection::to(&running.instance).and_then(|mut reach| reach.survey());
            if survey.is_ok_and(|survey| survey.ready_after_ms != 0) {
                return Ok(running);
            }
            if Instant::now() >= until {
                return Err(failed(format!("it was not ready within {} s", READY_WITHIN.as_secs())));
            }
            std::thread::sleep(LOOK_AGAIN);
        }
    }

    fn last_words(&self) -> String {
        let log = fs::read_to_string(self.instance.directory().join(LOG)).unwrap_or_default();
        log.lines().last().unwrap_or("it said nothing").to_owned()
    }

    /// Waits for the executors of the release. One that cannot be born on this machine is missing in every copy alike.
    fn is_grown(&self, stop: &AtomicBool) -> Result<(), Failure> {
        let until = Instant::now() + READY_WITHIN;
        loop {
            let rows = Connection::to(&self.instance).and_then(|mut reach| active(&mut reach));
            let born: BTreeSet<String> = rows.map_err(|error| of_ctl(&error))?.into_iter().collect();
            if EXECUTORS.iter().all(|(name, _)| born.contains(*name)) || Instant::now() >= until {
                return Ok(());
            }
            if stop.load(Ordering::SeqCst) {
                return Err(interrupted());
            }
            std::thread::sleep(LOOK_UP);
        }
    }

    fn has_ended(&mut self, within: Duration) -> bool {
        let until = Instant::now() + within;
        while Instant::now() < until {
            if !matches!(self.child.try_wait(), Ok(None)) {
                return true;
            }
            std::thread::sleep(LOOK_AGAIN);
        }
        false
    }
}

impl Running {
    /// Ends them; at once where they do not end in order. Does nothing a second time.
    fn stop(&mut self) {
        if !matches!(self.child.try_wait(), Ok(None)) {
            return;
        }
        let told = Connection::to(&self.instance).and_then(|mut reach| reach.shutdown());
        if told.is_err()
            && let Some(pid) = rustix::process::Pid::from_raw(self.child.id().cast_signed())
        {
            // One that does not listen yet.
            let _sent = rustix::process::kill_process(pid, rustix::process::Signal::TERM);
        }
        if !self.has_ended(STOP_WITHIN) {
            // Its daemons end with it.
            let _gone = self.child.kill();
            let _ended = self.child.wait();
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stop();
    }
}

/// One instance, for one line.
pub struct Throwaway {
    door: BlockingClient<CtlDoor>,
    workspace: PathBuf,
    running: Running,
    stop: Arc<AtomicBool>,
}

impl Drop for Throwaway {
    fn drop(&mut self) {
        self.running.stop();
        // The folder of all of them is removed at the end, with whatever is left here.
        let _swept = fs::remove_dir_all(self.running.instance.directory());
    }
}

impl Household for Throwaway {
    fn say(&mut self, words: &str) -> Result<Said, Failure> {
        let began = Instant::now();
        let sealed = Sealed::new(words.as_bytes()).map_err(failed)?;
        let mut heard = Heard::default();
        let opened = match self.door.say(TraceId::NONE, Say {}, [sealed]) {
            Ok((opened, [])) => opened,
            Err(error) => return Ok(heard.broken(&error, began.elapsed())),
        };
        let mut bound = began + Duration::from_millis(SILENCE_MS);
        loop {
            if self.stop.load(Ordering::SeqCst) {
                return Err(interrupted());
            }
            match self.door.next_note(LOOK_UP) {
                Ok(Some(Note::TurnDone(done))) if done.turn == opened.turn => {
                    return Ok(heard.said(&done, began.elapsed()));
                }
                Ok(Some(note)) => {
                    heard.note(note, opened.turn);
                    bound = Instant::now() + Duration::from_millis(SILENCE_MS);
                }
                Ok(None) if Instant::now() >= bound => {
                    let silent = format!("nothing was heard of it for {} s", SILENCE_MS / 1000);
                    return Ok(heard.broken(&silent, began.elapsed()));
                }
                Ok(None) => {}
                Err(error) => return Ok(heard.broken(&error, began.elapsed())),
            }
        }
    }

    fn files(&mut self) -> Result<Files, Failure> {
        let mut files = Files::new();
        let mut left = MAX_COMPARED;
        gather(&self.workspace, "", &mut files, &mut left).map_err(failed)?;
        Ok(files)
    }

    fn tokens(&mut self) -> Result<u64, Failure> {
        tokens_spent(&self.running.instance).map_err(|error| of_ctl(&error))
    }
}

/// What was heard of a turn until now.
#[derive(Debug, Default)]
struct Heard {
    answer: String,
    cards: BTreeSet<String>,
    succeeded: Vec<String>,
}

impl Heard {
    fn note(&mut self, note: Note, of: TurnId) {
        match note {
            Note::Text(text) if text.turn == of => self.answer.push_str(&text.text),
            Note::Call(call) if call.turn == of && call.state == CallState::Succeeded => {
                self.succeeded.push(call.executor);
            }
            Note::CardWaits(card) if card.turn == of => {
                self.cards.insert(card.id);
            }
            Note::Text(_)
            | Note::Call(_)
            | Note::Progress(_)
            | Note::CardWaits(_)
            | Note::CardSettled(_)
            | Note::TurnDone(_) => {}
        }
    }

    /// The turn has no end: a daemon went away, or refused it.
    fn broken(self, why: &impl ToString, took: Duration) -> Said {
        let ended = (TurnEnd::Broken, why.to_string());
        self.ended(ended, took)
    }

    fn said(self, done: &TurnDone, took: Duration) -> Said {
        self.ended((done.end.clone(), done.why.clone()), took)
    }

    fn ended(self, (end, why): (TurnEnd, String), took: Duration) -> Said {
        let mut answer = self.answer;
        if !why.is_empty() && !answer.is_empty() && !answer.ends_with('\n') {
            answer.push('\n');
        }
        answer.push_str(&why);
        let ms = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
        Said { answer, end, cards: self.cards.len(), succeeded: self.succeeded, ms }
    }
}

/// The plain files of a folder that are not hidden.
fn gather(folder: &Path, below: &str, files: &mut Files, left: &mut u64) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if name.starts_with('.') {
            continue;
        }
        let path = if below.is_empty() { name } else { format!("{below}/{name}") };
        let meta = entry.metadata()?;
        if meta.is_dir() {
            gather(&entry.path(), &path, files, left)?;
        } else if meta.is_file() {
            *left = left
                .checked_sub(meta.len())
                .ok_or_else(|| io::Error::other(format!("the workspace holds more than {MAX_COMPARED} bytes")))?;
            files.insert(path, fs::read(entry.path())?);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use metnos_proto::ids::TurnId;
    use metnos_proto::msg::common::CallRef;
    use metnos_proto::msg::planner::{Call, Text, TurnEnd};

    #[test]
    fn a_copy_has_files_and_modes_and_nothing_of_a_run() {
        let dir = tempfile::tempdir().unwrap();
        let from = dir.path().join("a");
        for folder in ["workspace/notes", "run", ".mind"] {
            fs::create_dir_all(from.join(folder)).unwrap();
        }
        fs::write(from.join("workspace/notes/a.md"), "x").unwrap();
        fs::write(from.join(".mind/key"), "k").unwrap();
        fs::set_permissions(from.join(".mind/key"), Permissions::from_mode(0o600)).unwrap();
        fs::write(from.join("run/lock"), "").unwrap();
        std::os::unix::fs::symlink("/etc/passwd", from.join("workspace/link")).unwrap();
        let to = dir.path().join("b");
        copied(&from, &to).unwrap();
        assert_eq!(fs::read_to_string(to.join("workspace/notes/a.md")).unwrap(), "x");
        assert_eq!(fs::metadata(to.join(".mind/key")).unwrap().mode() & 0o777, 0o600);
        assert!(!to.join("run").exists() && fs::symlink_metadata(to.join("workspace/link")).is_err());
    }

    #[test]
    fn files_are_put_and_gathered_without_hidden_ones() {
        let dir = tempfile::tempdir().unwrap();
        put(dir.path(), "a/b/c.md", "x").unwrap();
        put(dir.path(), "a/d.md", "y").unwrap();
        fs::create_dir(dir.path().join("a/.trash")).unwrap();
        fs::write(dir.path().join("a/.trash/e.md"), "z").unwrap();
        fs::write(dir.path().join(".hidden"), "z").unwrap();
        let (mut files, mut left) = (Files::new(), 2);
        gather(dir.path(), "", &mut files, &mut left).unwrap();
        assert_eq!(files.keys().collect::<Vec<_>>(), ["a/b/c.md", "a/d.md"]);
        assert_eq!(left, 0);
        // One byte more than may be compared is an error, not a part.
        assert!(gather(dir.path(), "", &mut Files::new(), &mut 1).is_err());
    }

    #[test]
    fn only_notes_of_the_turn_count_and_the_reason_is_part_of_the_answer() {
        let (turn, other) = (TurnId::from_bytes([1; 16]), TurnId::from_bytes([2; 16]));
        let mut heard = Heard::default();
        let call = |turn, state| {
            Note::Call(Call { turn, call: CallRef(1), executor: "fs_read".into(), state, detail: String::new() })
        };
        heard.note(Note::Text(Text { turn, text: "one".into() }), turn);
        heard.note(Note::Text(Text { turn: other, text: "two".into() }), turn);
        heard.note(call(turn, CallState::Started), turn);
        heard.note(call(turn, CallState::Succeeded), turn);
        heard.note(call(other, CallState::Succeeded), turn);
        let done = TurnDone { turn, end: TurnEnd::NotUnderstood, why: "because".into() };
        let said = heard.said(&done, Duration::from_millis(7));
        assert_eq!(
            (said.answer.as_str(), said.ms, said.succeeded.as_slice()),
            ("one\nbecause", 7, &["fs_read".to_owned()][..])
        );
    }
}
