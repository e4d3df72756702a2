//! What is done with the chronicle at start: follow it from where the index stands, set a torn end aside. It mends nothing else.

use super::Head;
use crate::chronicle::event::Event;
use crate::chronicle::index::Index;
use crate::chronicle::line::{LineError, parse_line};
use crate::chronicle::log::{Found, Lines, Log, Place, Placed, file_name};
use crate::chronicle::time::Day;
use crate::chronicle::view::View;
use crate::error::{Error, Result};
use crate::faults::Faults;

/// How many events are added to the index in one transaction.
const CHUNK: usize = 2048;

/// What catching up has come to.
#[derive(Debug)]
pub struct CaughtUp {
    /// The last event.
    pub head: Head,
    /// How many events the index did not know.
    pub added: u64,
    /// The torn end that was copied and cut off, if there was one: what of which file, and where it is now.
    pub torn: Option<String>,
}

/// Follows the chain from the last event that the index knows to the end of the log, adds
/// what the index lacks, and sets a torn end aside.
///
/// # Errors
/// [`Error::Altered`] when the log does not contain what the index knows, or does not chain.
pub fn catch_up(log: &mut Log, index: &Index, view: &mut View, faults: &mut dyn Faults) -> Result<CaughtUp> {
    let (head, from) = known_head(log, index)?;
    let mut cursor = Cursor { head, added: 0, chunk: Vec::new() };
    let days: Vec<Day> = log.days()?.into_iter().filter(|day| from.is_none_or(|from| *day >= from.day)).collect();
    let mut torn = None;
    for (at, day) in days.iter().enumerate() {
        let offset = from.filter(|from| from.day == *day).map_or(0, |from| from.end());
        let Some(file) = log.open_day(*day)? else { continue };
        let mut lines = Lines::new(file, *day, offset)?;
        if let Some(bad) = cursor.follow(&mut lines, log, index, view)? {
            let last = !days[at + 1..].iter().any(|later| has_bytes(log, *later));
            torn = Some(cut_torn(log, &bad, last, faults)?);
            break;
        }
    }
    cursor.add(log, index, view)?;
    Ok(CaughtUp { head: cursor.head, added: cursor.added, torn })
}

/// The last event that the index knows, checked against the log.
fn known_head(log: &Log, index: &Index) -> Result<(Head, Option<Place>)> {
    let Some(row) = index.head()? else { return Ok((Head::EMPTY, None)) };
    let event = log.read(row.place).map_err(|error| {
        // A lost key is no forgery: the start says which file is missing.
        let locked = matches!(error, Error::Locked(_));
        if locked {
            error
        } else {
            Error::Altered(format!("event {} is in the index and not in the log: {error}", row.seq))
        }
    })?;
    if event.seq != row.seq || event.hash != row.hash || event.computed_hash() != row.hash {
        let name = file_name(row.place.day);
        return Err(Error::Altered(format!(
            "{name} byte {} holds event {} with hash {}, the index knows event {} with hash {} there",
            row.place.offset, event.seq, event.hash, row.seq, row.hash
        )));
    }
    Ok((Head::of(&event), Some(row.place)))
}

fn has_bytes(log: &Log, day: Day) -> bool {
    log.open_day(day).ok().flatten().and_then(|file| file.metadata().ok()).is_some_and(|meta| meta.len() > 0)
}

/// A line that does not continue the chain.
struct BrokenLine {
    place: Place,
    why: String,
    /// Whether something that is an event of the chronicle stands there or after it.
    event_there: bool,
}

struct Cursor {
    head: Head,
    added: u64,
    chunk: Vec<Placed>,
}

impl Cursor {
    /// Follows one file to its end, or to the first line that does not continue the chain.
    fn follow(&mut self, lines: &mut Lines, log: &Log, index: &Index, view: &mut View) -> Result<Option<BrokenLine>> {
        let mut line = Vec::new();
        loop {
            // A write that was cut short by one byte leaves a whole event without its newline: torn all the same.
            let (place, whole, parsed) = match lines.next(&mut line)? {
                Found::End => return Ok(None),
                Found::Line(place) => (place, true, parse_line(&line)),
                Found::Torn(place) => {
                    let error = LineError { field: "line", why: "it has no end".to_owned() };
                    (place, false, Err(error))
                }
            };
            let parsed = match parsed {
                // A payload that cannot be decrypted is no torn end: the line was forged, or its key is lost.
                Ok(event) if event.computed_hash() == event.hash => Ok(log.opened(event).map_err(as_altered)?),
                other => other.map_err(|error| error.to_string()),
            };
            match parsed.and_then(|event| self.continues(event, lines.day())) {
                Ok(event) => {
                    self.head = Head::of(&event);
                    self.chunk.push(Placed { event, place });
                    if self.chunk.len() >= CHUNK {
                        self.add(log, index, view)?;
                    }
                }
                Err(why) => {
                    let event_there = (whole && is_event(&line)) || rest_holds_an_event(lines)?;
                    return Ok(Some(BrokenLine { place, why, event_there }));
                }
            }
        }
    }

    fn continues(&self, event: Event, day: Day) -> Result<Event, String> {
        let expected = self.head.seq + 1;
        if event.seq != expected {
            Err(format!("event {} stands where {expected} belongs", event.seq))
        } else if event.prev_hash != self.head.hash {
            Err(format!("event {expected} does not follow from the one before it"))
        } else if event.computed_hash() != event.hash {
            Err(format!("event {expected} does not have the hash that it claims"))
        } else if !event.is_redacted()
            && crate::chronicle::event::sha256(event.payload.as_bytes()) != event.payload_sha256
        {
            Err(format!("the payload of event {expected} does not have the digest that it claims"))
        } else if event.ts_ms < self.head.ts_ms || Day::of(event.ts_ms) != day {
            Err(format!("event {expected} lies at the wrong time"))
        } else {
            Ok(event)
        }
    }

    /// Adds what was read to the index, in one transaction.
    fn add(&mut self, log: &Log, index: &Index, view: &mut View) -> Result<()> {
        if self.chunk.is_empty() {
            return Ok(());
        }
        apply(log, index, view, &self.chunk)?;
        self.added += self.chunk.len() as u64;
        self.chunk.clear();
        Ok(())
    }
}

/// Adds events to the index and the executors' view, in one transaction.
///
/// # Errors
/// What went wrong; nothing of it stays in the index.
pub fn apply(log: &Log, index: &Index, view: &mut View, events: &[Placed]) -> Result<()> {
    index.begin()?;
    let applied = events.iter().try_for_each(|placed| {
        index.apply(placed)?;
        view.apply(index, log, placed)
    });
    match applied {
        Ok(()) => index.commit(),
        Err(error) => {
            index.abandon();
            // The transaction's lines of the view go with it.
            index.view_end().and_then(|end| view.cut(end))?;
            Err(error)
        }
    }
}

/// A line that the index does not know may be forged, so a payload that cannot be decrypted counts as altered.
fn as_altered(error: Error) -> Error {
    if matches!(error, Error::Locked(_)) { Error::Altered(error.to_string()) } else { error }
}

fn is_event(line: &[u8]) -> bool {
    parse_line(line).is_ok_and(|event| event.computed_hash() == event.hash)
}

fn rest_holds_an_event(lines: &mut Lines) -> Result<bool> {
    let mut line = Vec::new();
    loop {
        match lines.next(&mut line)? {
            Found::End => return Ok(false),
            Found::Line(_) if is_event(&line) => return Ok(true),
            Found::Line(_) | Found::Torn(_) => {}
        }
    }
}

/// A torn end is what a write that was cut short leaves: bytes at the end of the last file
/// that are no event and have none after them. Anything else is no accident.
fn cut_torn(log: &mut Log, bad: &BrokenLine, last: bool, faults: &mut dyn Faults) -> Result<String> {
    let name = file_name(bad.place.day);
    if !last || bad.event_there {
        return Err(Error::Altered(format!("{name} byte {}: {}", bad.place.offset, bad.why)));
    }
    let (aside, bytes) = log.copy_torn(bad.place.day, bad.place.offset, faults)?;
    Ok(format!(
        "{bytes} bytes at the end of {name}, from byte {}, were no event ({}): now in {aside}",
        bad.place.offset, bad.why
    ))
}
