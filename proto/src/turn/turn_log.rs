//! The log of a turn: the notes that the planner has sent in it, in their order and without the turn's id. The planner
//! keeps it for a door that is restarted, which reads it bounded and trusts nothing in it.

use serde::{Deserialize, Serialize};

use crate::edges::door_planner::Note;
use crate::ids::TurnId;
use crate::msg::common::CallRef;
use crate::msg::planner::{Call, CallState, Progress, Text, TurnDone, TurnEnd};
use crate::payload::Sealed;

/// The largest log of one turn, in bytes.
pub const MAX_LOG: usize = 2 * 1024 * 1024;
/// What an entry takes beside its text, in bytes, roughly.
pub const NOTE_BYTES: usize = 64;
/// The largest document of a log that is read: JSON writes a byte with up to six.
pub const MAX_DOCUMENT: usize = 6 * MAX_LOG;

/// One note.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Entry {
    /// A entry of the answer.
    Text(String),
    /// A call, its executor, where it stands and the detail.
    Call(u16, String, CallState, String),
    /// A call, steps done and steps in all.
    Progress(u16, u64, u64),
    /// The end, and why. The turn goes on behind one that says that it waits.
    Done(TurnEnd, String),
}

impl Entry {
    /// The entry of this note.
    #[must_use]
    pub fn of(note: &Note) -> Self {
        match note {
            Note::Text(text) => Self::Text(text.text.clone()),
            Note::Call(call) => Self::Call(call.call.0, call.executor.clone(), call.state.clone(), call.detail.clone()),
            Note::Progress(progress) => Self::Progress(progress.call.0, progress.done, progress.total),
            Note::TurnDone(done) => Self::Done(done.end.clone(), done.why.clone()),
        }
    }

    /// The note again, about this turn.
    #[must_use]
    pub fn note(self, turn: TurnId) -> Note {
        match self {
            Self::Text(text) => Note::Text(Text { turn, text }),
            Self::Call(call, executor, state, detail) => {
                Note::Call(Call { turn, call: CallRef(call), executor, state, detail })
            }
            Self::Progress(call, done, total) => Note::Progress(Progress { turn, call: CallRef(call), done, total }),
            Self::Done(end, why) => Note::TurnDone(TurnDone { turn, end, why }),
        }
    }

    /// What it takes, in bytes.
    #[must_use]
    pub const fn weight(&self) -> usize {
        NOTE_BYTES
            + match self {
                Self::Text(text) => text.len(),
                Self::Call(_, executor, _, detail) => executor.len() + detail.len(),
                Self::Progress(..) => 0,
                Self::Done(_, why) => why.len(),
            }
    }
}

/// The document of this log.
///
/// # Errors
/// When it cannot be made, as a sentence.
pub fn write(entries: &[Entry]) -> Result<Sealed, String> {
    let bytes = serde_json::to_vec(entries).map_err(|error| error.to_string())?;
    Sealed::new(&bytes).map_err(|error| error.to_string())
}

/// Reads what [`write()`] makes.
///
/// # Errors
/// When it is something else or more than may be kept, as a sentence.
pub fn read(document: &Sealed) -> Result<Vec<Entry>, String> {
    if document.len() > MAX_DOCUMENT {
        return Err(format!("{} bytes were kept of a turn; at most {MAX_DOCUMENT} are read", document.len()));
    }
    let bytes = document.read().map_err(|error| error.to_string())?;
    let entries: Vec<Entry> = serde_json::from_slice(&bytes).map_err(|error| error.to_string())?;
    match entries.iter().map(Entry::weight).sum::<usize>() {
        weight if weight > MAX_LOG => Err(format!("{weight} bytes are the log of a turn; at most {MAX_LOG} are read")),
        _ => Ok(entries),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use proptest::prelude::*;

    use super::*;

    fn entry() -> impl Strategy<Value = Entry> {
        prop_oneof![
            any::<String>().prop_map(Entry::Text),
            (any::<u16>(), any::<String>(), any::<String>()).prop_map(|(call, executor, detail)| Entry::Call(
                call,
                executor,
                CallState::Started,
                detail
            )),
            (any::<u16>(), any::<u64>(), any::<u64>()).prop_map(|(call, done, all)| Entry::Progress(call, done, all)),
            any::<String>().prop_map(|why| Entry::Done(TurnEnd::Suspended, why)),
        ]
    }

    proptest! {
        #[test]
        fn log_is_read_as_written(entries in proptest::collection::vec(entry(), 0..20)) {
            prop_assert_eq!(&read(&write(&entries).unwrap()).unwrap(), &entries);
            for entry in entries {
                prop_assert_eq!(Entry::of(&entry.clone().note(TurnId::NONE)), entry);
            }
        }

        #[test]
        fn log_reader_accepts_any_bytes_without_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = read(&Sealed::new(&bytes).unwrap());
        }
    }

    #[test]
    fn log_is_read_up_to_its_limit_and_refused_beyond() {
        let text = |bytes: usize| write(&[Entry::Text("x".repeat(bytes))]).unwrap();
        assert!(read(&text(MAX_LOG - NOTE_BYTES)).is_ok());
        assert!(read(&text(MAX_LOG - NOTE_BYTES + 1)).is_err());
        assert!(read(&Sealed::new(&vec![b' '; MAX_DOCUMENT + 1]).unwrap()).unwrap_err().contains("at most"));
    }
}
