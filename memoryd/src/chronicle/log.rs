//! The day files: appends lines, makes them durable, reads them back. Nothing here rewrites a line.
//!
//! The only bytes ever taken away are those that were never acknowledged: what a write
//! that went wrong has left, and a torn end that was copied first.

use std::borrow::Cow;
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::FileExt;
use std::path::Path;

use metnos_proto::disk::Room;
use rustix::fs::{Dir, Mode, OFlags};

use super::event::Event;
use super::line::{MAX_LINE_BYTES, parse_line, to_line_with};
use super::time::Day;
use crate::at_rest::Keys;
use crate::error::{Error, Result};
use crate::faults::{Fault, Faults, Step, step};

/// Where a line lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// In which day's file.
    pub day: Day,
    /// At which byte.
    pub offset: u64,
    /// How many bytes, its newline included.
    pub bytes: u64,
}

impl Place {
    /// The first byte after the line.
    #[must_use]
    pub const fn end(&self) -> u64 {
        self.offset + self.bytes
    }
}

/// An event and where its line lies.
#[derive(Debug, Clone)]
pub struct Placed {
    /// The event.
    pub event: Event,
    /// Its line.
    pub place: Place,
}

/// The day file that is being written.
#[derive(Debug)]
struct Tail {
    day: Day,
    file: File,
    /// Everything before this byte is durable.
    durable: u64,
    /// A write that went wrong has left bytes after that, and they could not be cut off yet.
    uncut: bool,
}

impl Tail {
    /// Cuts off what was never acknowledged. A disk that is mounted for reading only may have nothing to be cut.
    fn cut(&mut self) -> io::Result<()> {
        self.uncut = true;
        if self.file.metadata()?.len() != self.durable {
            self.file.set_len(self.durable)?;
        }
        self.file.sync_data()?;
        self.uncut = false;
        Ok(())
    }
}

/// Lines as they are appended, and of each where it begins and how long it is, in bytes.
pub type FileLines = (Vec<u8>, Vec<(u64, u64)>);

/// The folder of day files.
#[derive(Debug)]
pub struct Log {
    dir: OwnedFd,
    tail: Option<Tail>,
    /// A sync went wrong: what the kernel holds of the files is not known any more.
    unsure: bool,
    keys: Keys,
}

/// The name of a day's file.
#[must_use]
pub fn file_name(day: Day) -> String {
    format!("{day}.jsonl")
}

const FILE_MODE: Mode = Mode::RUSR.union(Mode::WUSR);

impl Log {
    /// Opens the folder, whose payloads lie encrypted under these keys.
    ///
    /// # Errors
    /// When it is not there, or not a folder.
    pub fn open(path: &Path, keys: Keys) -> Result<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let dir = rustix::fs::open(path, flags, Mode::empty())
            .map_err(|errno| Error::io(format!("opening {}", path.display()), errno))?;
        Ok(Self { dir, tail: None, unsure: false, keys })
    }

    /// The days of which there is a file, ascending.
    ///
    /// # Errors
    /// When the folder cannot be read.
    pub fn days(&self) -> Result<Vec<Day>> {
        let what = "reading the folder of the chronicle";
        let mut days = Vec::new();
        for entry in Dir::read_from(&self.dir).map_err(|errno| Error::io(what, errno))? {
            let entry = entry.map_err(|errno| Error::io(what, errno))?;
            let name = entry.file_name().to_string_lossy();
            if let Some(day) = name.strip_suffix(".jsonl").and_then(Day::parse) {
                days.push(day);
            }
        }
        days.sort_unstable();
        Ok(days)
    }

    /// What is left of the disk.
    ///
    /// # Errors
    /// When the kernel cannot say.
    pub fn room(&self) -> Result<Room> {
        Room::of(&self.dir).map_err(|source| Error::io("asking how full the disk is", source))
    }

    /// How many bytes all days' files have.
    ///
    /// # Errors
    /// When one cannot be looked at.
    pub fn bytes(&self) -> Result<u64> {
        self.days()?.into_iter().try_fold(0_u64, |sum, day| {
            let Some(file) = self.open_day(day)? else { return Ok(sum) };
            let length =
                file.metadata().map_err(|source| Error::io(format!("looking at {}", file_name(day)), source))?.len();
            Ok(sum.saturating_add(length))
        })
    }

    /// Opens a day's file for reading; `None` when there is none.
    ///
    /// # Errors
    /// When it cannot be opened, or is no regular file.
    pub fn open_day(&self, day: Day) -> Result<Option<File>> {
        let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::NONBLOCK;
        let file = match rustix::fs::openat(&self.dir, file_name(day), flags, Mode::empty()) {
            Ok(fd) => File::from(fd),
            Err(rustix::io::Errno::NOENT) => return Ok(None),
            Err(errno) => return Err(Error::io(format!("opening {}", file_name(day)), errno)),
        };
        let what = || format!("looking at {}", file_name(day));
        if !file.metadata().map_err(|source| Error::io(what(), source))?.is_file() {
            return Err(Error::Altered(format!("{} is no regular file", file_name(day))));
        }
        Ok(Some(file))
    }

    /// Takes `day` as the file to append to, whose first `durable` bytes are good. Creates it if need be.
    fn turn_to(&mut self, day: Day, faults: &mut dyn Faults) -> Result<()> {
        if self.tail.as_ref().is_none_or(|tail| tail.day != day) {
            let name = file_name(day);
            let what = format!("creating {name}");
            let dir = self.dir.as_fd();
            let file = step(faults, Step::Create, what.clone(), || {
                let flags = OFlags::RDWR | OFlags::APPEND | OFlags::CREATE | OFlags::CLOEXEC | OFlags::NOFOLLOW;
                let fd = rustix::fs::openat(dir, &name, flags | OFlags::NONBLOCK, FILE_MODE)
                    .map_err(|errno| Error::io(what.clone(), errno))?;
                // The name must be as durable as the lines will be.
                rustix::fs::fsync(dir).map_err(|errno| Error::io("syncing the folder of the chronicle", errno))?;
                Ok(File::from(fd))
            })?;
            let meta = file.metadata().map_err(|source| Error::io(what, source))?;
            if !meta.is_file() {
                return Err(Error::Altered(format!("{name} is no regular file")));
            }
            self.tail = Some(Tail { day, file, durable: meta.len(), uncut: false });
        }
        Ok(())
    }

    /// Appends lines to a day's file and makes them durable; gives the byte at which the first lies.
    ///
    /// When anything goes wrong, nothing of it stays in the file; what cannot be cut off at once is cut off before the next
    /// line. When the disk is full, it goes on by itself as soon as there is room.
    ///
    /// # Errors
    /// What went wrong. `Error::Altered` when the file is not as long as it was left.
    pub fn append(&mut self, day: Day, lines: &[u8], faults: &mut dyn Faults) -> Result<u64> {
        let name = file_name(day);
        if self.unsure {
            return Err(Error::io(format!("syncing {name} went wrong before"), io::ErrorKind::Other));
        }
        self.turn_to(day, faults)?;
        let Some(tail) = &mut self.tail else { return Err(Error::io("appending", io::ErrorKind::NotFound)) };
        if tail.uncut {
            tail.cut().map_err(|source| Error::io(format!("cutting off what was left in {name}"), source))?;
        }
        let length = tail.file.metadata().map_err(|source| Error::io(format!("looking at {name}"), source))?.len();
        if length != tail.durable {
            let left = tail.durable;
            return Err(Error::Altered(format!("{name} has {length} bytes where memoryd left {left}")));
        }
        let mut synced = Ok(());
        let written = write(&mut tail.file, lines, &name, faults).and_then(|()| {
            let file = &tail.file;
            let what = format!("syncing {name}");
            step(faults, Step::Sync, what.clone(), || file.sync_data().map_err(|source| Error::io(what, source)))
                .inspect_err(|_| synced = Err(()))
        });
        // A sync that says nothing after one that went wrong proves nothing: the pages may be gone. One for which there was no
        // room has lost no page that was promised to anybody, and what it was for is cut off.
        self.unsure = synced.is_err() && !written.as_ref().is_err_and(Error::is_full);
        match written {
            Ok(()) => {
                let offset = tail.durable;
                tail.durable += lines.len() as u64;
                Ok(offset)
            }
            Err(killed @ Error::Killed(_)) => Err(killed),
            Err(error) => {
                if let Err(cut) = tail.cut() {
                    tracing::warn!(%cut, "{name} holds bytes that were promised to nobody, and they are cut off later");
                }
                Err(error)
            }
        }
    }

    /// Reads the event whose line lies at `place`.
    ///
    /// # Errors
    /// When it is not there, or there is something else.
    pub fn read(&self, place: Place) -> Result<Event> {
        let line = self.read_line(place)?;
        let event = parse_line(&line)
            .map_err(|error| Error::Altered(format!("{} byte {}: {error}", file_name(place.day), place.offset)))?;
        self.opened(event)
    }

    /// The keys under which payloads lie encrypted.
    #[must_use]
    pub const fn keys(&self) -> &Keys {
        &self.keys
    }

    /// The event of a line with its payload as it was before it was encrypted.
    ///
    /// # Errors
    /// When it cannot be opened.
    pub fn opened(&self, mut event: Event) -> Result<Event> {
        if let Cow::Owned(payload) = self.keys.from_file(event.seq, &event.peer, &event.payload)? {
            event.payload = payload;
        }
        Ok(event)
    }

    /// The lines of events as they lie in the file, one behind the other, and of each where it begins and how long it is.
    ///
    /// # Errors
    /// When a principal has no key, and none can be made.
    pub fn to_file(&self, events: &[Event]) -> Result<FileLines> {
        let (mut bytes, mut spans) = (Vec::new(), Vec::with_capacity(events.len()));
        for event in events {
            let line = to_line_with(event, &self.keys.to_file(event.seq, &event.peer, &event.payload)?);
            spans.push((bytes.len() as u64, line.len() as u64));
            bytes.extend(line);
        }
        Ok((bytes, spans))
    }

    /// Reads the bytes of a line, without its newline.
    ///
    /// # Errors
    /// When they are not there.
    pub fn read_line(&self, place: Place) -> Result<Vec<u8>> {
        let altered = |why: &str| Error::Altered(format!("{} byte {}: {why}", file_name(place.day), place.offset));
        let bytes = usize::try_from(place.bytes).ok().filter(|bytes| (1..=MAX_LINE_BYTES).contains(bytes));
        let mut line = vec![0; bytes.ok_or_else(|| altered("a line of impossible length"))?];
        let read = match &self.tail {
            Some(tail) if tail.day == place.day => tail.file.read_exact_at(&mut line, place.offset),
            _ => match self.open_day(place.day)? {
                Some(file) => file.read_exact_at(&mut line, place.offset),
                None => return Err(altered("the file is missing")),
            },
        };
        match read {
            Ok(()) => {}
            Err(source) if source.kind() == io::ErrorKind::UnexpectedEof => {
                return Err(altered("the file ends before the line"));
            }
            Err(source) => return Err(Error::io(format!("reading {}", file_name(place.day)), source)),
        }
        if line.pop() == Some(b'\n') { Ok(line) } else { Err(altered("a line without an end")) }
    }

    /// Puts bytes in the place of as many others inside a line, and makes that durable. The only change that is ever
    /// made to what was appended: see [`super::store::redact`], which says when it is due.
    ///
    /// # Errors
    /// When the file cannot be opened or written; then it is due again at the next start.
    pub fn put(&self, place: Place, at: u64, bytes: &[u8], faults: &mut dyn Faults) -> Result<()> {
        let name = file_name(place.day);
        let what = format!("taking a payload out of {name}");
        if at + bytes.len() as u64 > place.bytes {
            return Err(Error::Altered(format!("{name} byte {}: the line is too short", place.offset)));
        }
        step(faults, Step::Redact, what.clone(), || {
            let flags = OFlags::RDWR | OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::NONBLOCK;
            let fd = rustix::fs::openat(&self.dir, &name, flags, Mode::empty())
                .map_err(|errno| Error::io(what.clone(), errno))?;
            let file = File::from(fd);
            file.write_all_at(bytes, place.offset + at)
                .and_then(|()| file.sync_data())
                .map_err(|source| Error::io(what.clone(), source))
        })
    }

    /// Sets everything from `offset` aside in a file of its own, then cuts it off; gives that file's name.
    ///
    /// # Errors
    /// What went wrong; nothing is cut off that is not durable elsewhere.
    pub fn copy_torn(&mut self, day: Day, offset: u64, faults: &mut dyn Faults) -> Result<(String, u64)> {
        self.tail = None;
        let name = file_name(day);
        let what = format!("setting the torn end of {name} aside");
        let told = |source: io::Error| Error::io(what.clone(), source);
        let flags = OFlags::RDWR | OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::NONBLOCK;
        let file = rustix::fs::openat(&self.dir, &name, flags, Mode::empty()).map_err(|errno| told(errno.into()))?;
        let mut file = File::from(file);
        let bytes = file.metadata().map_err(told)?.len().saturating_sub(offset);
        let (mut aside, aside_name) =
            self.fresh(&format!("torn-{day}-{offset}")).map_err(|errno| told(errno.into()))?;
        io::Seek::seek(&mut file, io::SeekFrom::Start(offset)).map_err(told)?;
        copy(&mut file, &mut aside).map_err(told)?;
        aside.sync_all().map_err(told)?;
        rustix::fs::fsync(&self.dir).map_err(|errno| told(errno.into()))?;
        step(faults, Step::CutTorn, what.clone(), || {
            file.set_len(offset).and_then(|()| file.sync_data()).map_err(|source| Error::io(what.clone(), source))
        })?;
        Ok((aside_name, bytes))
    }

    /// Creates a file that was not there, adding a number to its name until there is none.
    fn fresh(&self, stem: &str) -> rustix::io::Result<(File, String)> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let mut n = 0_u32;
        loop {
            let name = if n == 0 { format!("{stem}.jsonl") } else { format!("{stem}.{n}.jsonl") };
            match rustix::fs::openat(&self.dir, &name, flags, FILE_MODE) {
                Ok(fd) => return Ok((File::from(fd), name)),
                Err(rustix::io::Errno::EXIST) if n < MAX_ASIDE => n += 1,
                Err(errno) => return Err(errno),
            }
        }
    }
}

/// How many copies of torn ends there may be of one place of one file.
const MAX_ASIDE: u32 = 1000;

/// Copies by reading and writing: the calls that copy inside the kernel are not in memoryd's lock.
fn copy(from: &mut File, to: &mut File) -> io::Result<()> {
    let mut block = vec![0; READ_BYTES];
    loop {
        match io::Read::read(from, &mut block)? {
            0 => return Ok(()),
            read => to.write_all(&block[..read])?,
        }
    }
}

fn write(file: &mut File, lines: &[u8], name: &str, faults: &mut dyn Faults) -> Result<()> {
    let what = format!("writing {name}");
    let told = |source: io::Error| Error::io(what.clone(), source);
    match faults.at(Step::Write) {
        None => file.write_all(lines).map_err(told),
        Some(Fault::KilledBefore) => Err(Error::Killed(Step::Write)),
        Some(Fault::KilledAfter) => file.write_all(lines).map_err(told).and(Err(Error::Killed(Step::Write))),
        Some(Fault::KilledAfterBytes(bytes)) => {
            file.write_all(&lines[..bytes.min(lines.len())]).map_err(told).and(Err(Error::Killed(Step::Write)))
        }
        Some(Fault::Short(bytes)) => {
            file.write_all(&lines[..bytes.min(lines.len())]).map_err(told)?;
            Err(told(rustix::io::Errno::NOSPC.into()))
        }
        Some(Fault::Errno(errno)) => Err(told(io::Error::from_raw_os_error(errno))),
    }
}

/// Reads the lines of one day's file, one after the other, each bounded.
#[derive(Debug)]
pub struct Lines {
    reader: io::BufReader<File>,
    day: Day,
    offset: u64,
}

/// What stands at a place of a file.
#[derive(Debug, PartialEq, Eq)]
pub enum Found {
    /// A line with its newline; its bytes are in the caller's buffer, without it.
    Line(Place),
    /// Bytes without a newline up to the end of the file, or more than a line may have.
    Torn(Place),
    /// Nothing more.
    End,
}

/// How much of a file is read at once.
const READ_BYTES: usize = 256 * 1024;

impl Lines {
    /// Begins to read at `offset`.
    ///
    /// # Errors
    /// When the file cannot be read there.
    pub fn new(mut file: File, day: Day, offset: u64) -> Result<Self> {
        io::Seek::seek(&mut file, io::SeekFrom::Start(offset))
            .map_err(|source| Error::io(format!("reading {}", file_name(day)), source))?;
        Ok(Self { reader: io::BufReader::with_capacity(READ_BYTES, file), day, offset })
    }

    /// Reads the next line into `line`, replacing what was in it.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn next(&mut self, line: &mut Vec<u8>) -> Result<Found> {
        let told = |source| Error::io(format!("reading {}", file_name(self.day)), source);
        line.clear();
        loop {
            let held = match io::BufRead::fill_buf(&mut self.reader) {
                Ok(held) => held,
                Err(source) if source.kind() == io::ErrorKind::Interrupted => continue,
                Err(source) => return Err(told(source)),
            };
            let held = &held[..held.len().min(MAX_LINE_BYTES - line.len())];
            let end = memchr::memchr(b'\n', held).map_or(held.len(), |at| at + 1);
            line.extend_from_slice(&held[..end]);
            io::BufRead::consume(&mut self.reader, end);
            if end == 0 || line.last() == Some(&b'\n') {
                break;
            }
        }
        let read = line.len();
        let place = Place { day: self.day, offset: self.offset, bytes: read as u64 };
        self.offset += place.bytes;
        Ok(if read == 0 {
            Found::End
        } else if line.last() == Some(&b'\n') {
            line.pop();
            Found::Line(place)
        } else {
            Found::Torn(place)
        })
    }

    /// The day whose file it is.
    #[must_use]
    pub const fn day(&self) -> Day {
        self.day
    }
}
