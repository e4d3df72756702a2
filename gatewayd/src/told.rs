//! What was told in a turn, as the planner keeps it for a door that comes later: the notes in their order, without
//! whose they are. The door reads it as everything that the planner says: bounded, and believed in nothing.

use metnos_proto::edges::door_planner::Note;
use metnos_proto::ids::TurnId;
use metnos_proto::msg::common::CallRef;
use metnos_proto::msg::planner::{Call, CallState, Progress, Text, TurnDone, TurnEnd};
use metnos_proto::payload::Sealed;
use serde::{Deserialize, Serialize};

/// The most that is kept of one turn, in bytes.
pub const MAX_TOLD: usize = 2 * 1024 * 1024;
/// What a note takes beside its text, in bytes, roughly.
pub const NOTE_BYTES: usize = 64;
/// The largest document of it that is read: JSON writes a byte with up to six.
pub const MAX_DOCUMENT: usize = 6 * MAX_TOLD;

/// One note.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Piece {
    /// A piece of the answer.
    Text(String),
    /// A call, its executor, where it stands and the detail.
    Call(u16, String, CallState, String),
    /// A call, steps done and steps in all.
    Progress(u16, u64, u64),
    /// The end, and why. The turn goes on behind one that says that it waits.
    Done(TurnEnd, String),
}

impl Piece {
    /// What this note says.
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

/// The document of these notes.
///
/// # Errors
/// When it cannot be made, as a sentence.
pub fn write(pieces: &[Piece]) -> Result<Sealed, String> {
    let bytes = serde_json::to_vec(pieces).map_err(|error| error.to_string())?;
    Sealed::new(&bytes).map_err(|error| error.to_string())
}

/// Reads what [`write()`] makes.
///
/// # Errors
/// When it is something else or more than may be kept, as a sentence.
pub fn read(document: &Sealed) -> Result<Vec<Piece>, String> {
    if document.len() > MAX_DOCUMENT {
        return Err(format!("{} bytes were kept of a turn; at most {MAX_DOCUMENT} are read", document.len()));
    }
    let bytes = document.read().map_err(|error| error.to_string())?;
    let pieces: Vec<Piece> = serde_json::from_slice(&bytes).map_err(|error| error.to_string())?;
    match pieces.iter().map(Piece::weight).sum::<usize>() {
        weight if weight > MAX_TOLD => Err(format!("{weight} bytes were told in a turn; at most {MAX_TOLD} are read")),
        _ => Ok(pieces),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use proptest::prelude::*;

    use super::*;

    fn piece() -> impl Strategy<Value = Piece> {
        prop_oneof![
            any::<String>().prop_map(Piece::Text),
            (any::<u16>(), any::<String>(), any::<String>()).prop_map(|(call, executor, detail)| Piece::Call(
                call,
                executor,
                CallState::Started,
                detail
            )),
            (any::<u16>(), any::<u64>(), any::<u64>()).prop_map(|(call, done, all)| Piece::Progress(call, done, all)),
            any::<String>().prop_map(|why| Piece::Done(TurnEnd::Suspended, why)),
        ]
    }

    proptest! {
        #[test]
        fn what_was_told_is_read_as_it_was_written(pieces in proptest::collection::vec(piece(), 0..20)) {
            prop_assert_eq!(&read(&write(&pieces).unwrap()).unwrap(), &pieces);
            for piece in pieces {
                prop_assert_eq!(Piece::of(&piece.clone().note(TurnId::NONE)), piece);
            }
        }

        #[test]
        fn no_document_makes_the_door_stumble(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = read(&Sealed::new(&bytes).unwrap());
        }
    }

    #[test]
    fn as_much_as_the_limit_is_read_and_one_byte_more_is_not() {
        let text = |bytes: usize| write(&[Piece::Text("x".repeat(bytes))]).unwrap();
        assert!(read(&text(MAX_TOLD - NOTE_BYTES)).is_ok());
        assert!(read(&text(MAX_TOLD - NOTE_BYTES + 1)).is_err());
        assert!(read(&Sealed::new(&vec![b' '; MAX_DOCUMENT + 1]).unwrap()).unwrap_err().contains("at most"));
    }
}
