//! What comes over the channel from inside a sandbox, read as from an enemy: bounded before it
//! is read, nothing before the seal, one result and not a byte behind it, everything else a named fault.

/// The most progress frames of one call; a call that sends more is ended.
pub const MAX_PROGRESS: u32 = 100_000;
/// The longest fault sentence, in bytes.
pub const MAX_FAULT: usize = 1024;
/// The most alarms of one call; the host script sends no more.
pub const MAX_ALARMS: usize = 16;
/// The longest alarm, in bytes.
pub const MAX_ALARM: usize = 200;
/// The most bytes that a call keeps of what it is about to change.
pub const MAX_KEEP: usize = metnos_proto::msg::memoryd::MAX_BEFORE;
/// The most bytes of one piece of a file.
pub const MAX_PIECE: usize = 64 << 10;
/// Letter and length.
pub const HEAD: usize = 5;

/// Something complete that came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Frame {
    /// How far it is.
    Progress {
        /// Steps done.
        done: u64,
        /// Steps in all; 0 when unknown.
        total: u64,
    },
    /// Python saw something that no executor has a use for. Hostile code can say anything here, or nothing.
    Alarm(String),
    /// The next bytes of the file that it gives.
    Piece(Vec<u8>),
    /// What it is about to change, as it is now. It waits until that is durable.
    Keep(Vec<u8>),
    /// The result's bytes, unparsed.
    Result(Vec<u8>),
    /// There is no result.
    Fault(FaultKind, String),
}

/// What the host script says went wrong. A liar may say any of these, and has no result then.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FaultKind {
    /// No more memory.
    Memory,
    /// No more threads.
    Processes,
    /// What the executor returned cannot be written as JSON.
    Output,
    /// The machine refused it something, and it did not see to that itself.
    System,
}

/// Why the bytes are no frames.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FrameFault {
    /// The result is longer than granted.
    #[error("a result of {announced} bytes was announced; at most {granted} are granted")]
    TooLarge {
        /// What the frame's head says.
        announced: u64,
        /// The limit.
        granted: u64,
    },
    /// The file is longer than granted.
    #[error("a file of at least {announced} bytes comes; at most {granted} are granted")]
    FileTooLarge {
        /// What has come, and what the frame's head says.
        announced: u64,
        /// The limit.
        granted: u64,
    },
    /// Something came after the result.
    #[error("something came after the result")]
    AfterResult,
    /// Too many progress frames.
    #[error("more than {MAX_PROGRESS} reports of progress")]
    TooMuchProgress,
    /// More alarms than the host script sends.
    #[error("more than {MAX_ALARMS} alarms")]
    TooManyAlarms,
    /// Not a frame.
    #[error("{0}")]
    Malformed(&'static str),
}

/// Puts frames together from pieces, in any cut.
#[derive(Debug)]
pub struct Frames {
    buffer: Vec<u8>,
    granted: u64,
    /// The most bytes of a file; `None` where none may come.
    file: Option<u64>,
    /// Bytes of it so far.
    given: u64,
    /// Whether it may keep something; once.
    keeps: bool,
    progress: u32,
    alarms: usize,
    sealed: bool,
    finished: bool,
}

impl Frames {
    /// For a call whose result may have `granted` bytes.
    #[must_use]
    pub const fn new(granted: u64) -> Self {
        Self {
            buffer: Vec::new(),
            granted,
            file: None,
            given: 0,
            keeps: false,
            progress: 0,
            alarms: 0,
            sealed: false,
            finished: false,
        }
    }

    /// The same for a call that may give a file of so many bytes, too.
    #[must_use]
    pub const fn with_file(mut self, most: Option<u64>) -> Self {
        self.file = most;
        self
    }

    /// The same for a call that may keep what it is about to change.
    #[must_use]
    pub const fn with_keep(mut self, keeps: bool) -> Self {
        self.keeps = keeps;
        self
    }

    /// Whether a frame is under way that has not come whole.
    #[must_use]
    pub const fn is_torn(&self) -> bool {
        !self.buffer.is_empty()
    }

    /// Whether it has said that it is sealed.
    #[must_use]
    pub const fn is_sealed(&self) -> bool {
        self.sealed
    }

    /// Takes a piece; returns what is complete with it. Never holds more than one frame and one piece.
    ///
    /// # Errors
    /// A [`FrameFault`], after which nothing more may be fed.
    pub fn feed(&mut self, piece: &[u8]) -> Result<Vec<Frame>, FrameFault> {
        let mut buffer = std::mem::take(&mut self.buffer);
        buffer.extend_from_slice(piece);
        let mut complete = Vec::new();
        let mut at = 0;
        loop {
            let rest = buffer.get(at..).unwrap_or_default();
            if rest.is_empty() {
                break;
            }
            if self.finished {
                return Err(FrameFault::AfterResult);
            }
            let Some((&[letter, a, b, c, d], body)) = rest.split_first_chunk::<HEAD>() else {
                check_letter(rest[0])?;
                break;
            };
            let announced = u32::from_le_bytes([a, b, c, d]);
            let length = self.check_length(letter, announced)?;
            let Some(body) = body.get(..length) else {
                break;
            };
            complete.extend(self.frame(letter, body)?);
            at += HEAD + length;
        }
        buffer.drain(..at);
        self.buffer = buffer;
        Ok(complete)
    }

    fn check_length(&mut self, letter: u8, announced: u32) -> Result<usize, FrameFault> {
        check_letter(letter)?;
        let malformed = FrameFault::Malformed("a frame of the wrong length");
        let length = usize::try_from(announced).map_err(|_| malformed.clone())?;
        match letter {
            // The seal's own word: it is on, and what must fail has failed. The code has not come by then.
            b'S' if length != 0 || self.sealed => Err(FrameFault::Malformed("a second seal")),
            b'P' | b'A' | b'B' | b'K' | b'R' | b'F' if !self.sealed => {
                Err(FrameFault::Malformed("a word before the seal"))
            }
            b'P' if length != 16 => Err(malformed),
            b'F' if length > MAX_FAULT => Err(malformed),
            b'A' if length > MAX_ALARM => Err(malformed),
            b'K' if !self.keeps => Err(FrameFault::Malformed("something to keep that nobody has asked for")),
            b'K' if length == 0 || length > MAX_KEEP => Err(malformed),
            b'B' => {
                let granted = self.file.ok_or(FrameFault::Malformed("a file that nobody has asked for"))?;
                let announced = self.given.saturating_add(announced.into());
                if announced > granted {
                    return Err(FrameFault::FileTooLarge { announced, granted });
                }
                if length == 0 || length > MAX_PIECE { Err(malformed) } else { Ok(length) }
            }
            b'R' if u64::from(announced) > self.granted => {
                Err(FrameFault::TooLarge { announced: announced.into(), granted: self.granted })
            }
            _ => Ok(length),
        }
    }

    fn frame(&mut self, letter: u8, body: &[u8]) -> Result<Option<Frame>, FrameFault> {
        self.finished = matches!(letter, b'R' | b'F');
        match letter {
            b'S' => {
                self.sealed = true;
                Ok(None)
            }
            b'P' => {
                self.progress += 1;
                if self.progress > MAX_PROGRESS {
                    return Err(FrameFault::TooMuchProgress);
                }
                let number = |bytes: &[u8]| bytes.iter().rev().fold(0, |sum, byte| sum << 8 | u64::from(*byte));
                let (done, total) = body.split_at(8);
                Ok(Some(Frame::Progress { done: number(done), total: number(total) }))
            }
            b'A' => {
                self.alarms += 1;
                if self.alarms > MAX_ALARMS {
                    return Err(FrameFault::TooManyAlarms);
                }
                let shown = |byte: &u8| if (b' '..=b'~').contains(byte) { char::from(*byte) } else { '?' };
                Ok(Some(Frame::Alarm(body.iter().map(shown).collect())))
            }
            b'B' => {
                self.given = self.given.saturating_add(body.len() as u64);
                Ok(Some(Frame::Piece(body.to_vec())))
            }
            b'K' => {
                self.keeps = false;
                Ok(Some(Frame::Keep(body.to_vec())))
            }
            b'R' => Ok(Some(Frame::Result(body.to_vec()))),
            _ => read_fault(body).map(Some),
        }
    }
}

fn check_letter(letter: u8) -> Result<(), FrameFault> {
    if matches!(letter, b'S' | b'P' | b'A' | b'B' | b'K' | b'R' | b'F') {
        Ok(())
    } else {
        Err(FrameFault::Malformed("an unknown frame"))
    }
}

fn read_fault(body: &[u8]) -> Result<Frame, FrameFault> {
    let text = String::from_utf8_lossy(body);
    let (kind, sentence) = text.split_once(':').ok_or(FrameFault::Malformed("a fault without a kind"))?;
    let kind = match kind {
        "memory" => FaultKind::Memory,
        "processes" => FaultKind::Processes,
        "output" => FaultKind::Output,
        "system" => FaultKind::System,
        _ => return Err(FrameFault::Malformed("a fault of an unknown kind")),
    };
    Ok(Frame::Fault(kind, sentence.to_owned()))
}

/// What is said to a process inside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Instruction {
    /// The order to seal itself.
    Seal,
    /// The code, as text.
    Source,
    /// The code, compiled by a sealed process that did not run it.
    Compiled,
    /// The request.
    Request,
    /// A file, after the request.
    File,
    /// What it wanted to keep is durable.
    Kept,
}

/// One frame to the host script or the seal.
#[must_use]
pub fn frame(word: Instruction, body: &[u8]) -> Vec<u8> {
    let mut frame = Vec::with_capacity(HEAD + body.len());
    frame.extend_from_slice(&head(word, body.len()));
    frame.extend_from_slice(body);
    frame
}

/// The head of a frame whose body follows.
#[must_use]
pub fn head(word: Instruction, length: usize) -> [u8; HEAD] {
    let letter = match word {
        Instruction::Seal => b'S',
        Instruction::Source => b'C',
        Instruction::Compiled => b'M',
        Instruction::Request => b'Q',
        Instruction::File => b'B',
        Instruction::Kept => b'K',
    };
    // At most a payload's size, which fits.
    let [a, b, c, d] = u32::try_from(length).unwrap_or(u32::MAX).to_le_bytes();
    [letter, a, b, c, d]
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use proptest::prelude::*;

    use super::*;

    fn bytes(letter: u8, body: &[u8]) -> Vec<u8> {
        let mut frame = frame(Instruction::Request, body);
        frame[0] = letter;
        frame
    }

    /// For a process that has said that it is sealed.
    fn sealed(granted: u64) -> Frames {
        let mut frames = Frames::new(granted);
        assert_eq!(frames.feed(&bytes(b'S', b"")), Ok(Vec::new()));
        frames
    }

    #[test]
    fn nothing_is_taken_before_the_seal_and_the_seal_once() {
        for early in [bytes(b'R', b"{}"), bytes(b'P', &[0; 16]), bytes(b'F', b"memory:x")] {
            assert!(matches!(Frames::new(64).feed(&early), Err(FrameFault::Malformed(_))));
        }
        assert!(matches!(sealed(64).feed(&bytes(b'S', b"")), Err(FrameFault::Malformed(_))));
        assert!(matches!(Frames::new(64).feed(&bytes(b'S', b"x")), Err(FrameFault::Malformed(_))));
    }

    #[test]
    fn a_result_is_taken_once_and_nothing_behind_it() {
        let mut frames = sealed(64);
        assert_eq!(frames.feed(&bytes(b'R', b"{}")), Ok(vec![Frame::Result(b"{}".to_vec())]));
        assert_eq!(frames.feed(b"x"), Err(FrameFault::AfterResult));
        let mut twice = bytes(b'R', b"{}");
        twice.extend(bytes(b'R', b"{}"));
        assert_eq!(sealed(64).feed(&twice), Err(FrameFault::AfterResult));
    }

    #[test]
    fn a_result_may_be_exactly_as_long_as_granted() {
        assert!(sealed(4).feed(&bytes(b'R', b"1234")).is_ok());
        let too_large = FrameFault::TooLarge { announced: 5, granted: 4 };
        assert_eq!(sealed(4).feed(&bytes(b'R', b"12345")), Err(too_large.clone()));
        // Refused by its head alone, before a byte of it is kept.
        assert_eq!(sealed(4).feed(&bytes(b'R', b"12345")[..5]), Err(too_large));
    }

    #[test]
    fn a_file_comes_in_pieces_where_one_is_granted_and_no_longer_than_that() {
        assert!(matches!(sealed(64).feed(&bytes(b'B', b"x")), Err(FrameFault::Malformed(_))), "none is granted");
        let giving = || sealed(64).with_file(Some(5));
        assert!(matches!(giving().feed(&bytes(b'B', b"")), Err(FrameFault::Malformed(_))));
        let mut frames = giving();
        assert_eq!(frames.feed(&bytes(b'B', b"abc")), Ok(vec![Frame::Piece(b"abc".to_vec())]));
        let too_large = FrameFault::FileTooLarge { announced: 6, granted: 5 };
        // Refused by its head alone, before a byte of it is kept.
        assert_eq!(frames.feed(&bytes(b'B', b"def")[..5]), Err(too_large));
        let mut frames = giving();
        assert_eq!(frames.feed(&bytes(b'B', b"abcde")), Ok(vec![Frame::Piece(b"abcde".to_vec())]));
        assert_eq!(frames.feed(&bytes(b'R', b"{}")), Ok(vec![Frame::Result(b"{}".to_vec())]));
        assert_eq!(frames.feed(&bytes(b'B', b"x")), Err(FrameFault::AfterResult));
        let long = Frames::new(64).with_file(Some(1 << 20));
        assert!(matches!({ long }.feed(&bytes(b'B', b"x")), Err(FrameFault::Malformed(_))), "before the seal");
        let mut long = sealed(64).with_file(Some(1 << 20));
        assert!(matches!(long.feed(&bytes(b'B', &[0; MAX_PIECE + 1])), Err(FrameFault::Malformed(_))));
    }

    #[test]
    fn what_is_kept_comes_once_where_it_may_and_is_bounded() {
        assert!(
            matches!(sealed(64).feed(&bytes(b'K', b"{}")), Err(FrameFault::Malformed(_))),
            "nobody has asked for it"
        );
        let keeping = || sealed(64).with_keep(true);
        for bad in [Vec::new(), vec![b'x'; MAX_KEEP + 1]] {
            assert!(matches!(keeping().feed(&bytes(b'K', &bad)), Err(FrameFault::Malformed(_))), "{}", bad.len());
        }
        let mut frames = keeping();
        assert_eq!(frames.feed(&bytes(b'K', b"{}")), Ok(vec![Frame::Keep(b"{}".to_vec())]));
        assert!(matches!(frames.feed(&bytes(b'K', b"{}")), Err(FrameFault::Malformed(_))), "a second time");
        let mut early = Frames::new(64).with_keep(true);
        assert!(matches!(early.feed(&bytes(b'K', b"{}")), Err(FrameFault::Malformed(_))), "before the seal");
    }

    #[test]
    fn progress_is_bounded_and_of_fixed_length() {
        let mut frames = sealed(4);
        let one = bytes(b'P', &[1; 16]);
        for _ in 0..MAX_PROGRESS {
            assert_eq!(frames.feed(&one).map(|all| all.len()), Ok(1));
        }
        assert_eq!(frames.feed(&one), Err(FrameFault::TooMuchProgress));
        assert!(matches!(sealed(4).feed(&bytes(b'P', &[1; 15])), Err(FrameFault::Malformed(_))));
    }

    #[test]
    fn alarms_are_few_short_and_plain() {
        let mut frames = sealed(4);
        for _ in 0..MAX_ALARMS {
            assert_eq!(frames.feed(&bytes(b'A', b"os.fork\x1b\xff")), Ok(vec![Frame::Alarm("os.fork??".to_owned())]));
        }
        assert_eq!(frames.feed(&bytes(b'A', b"")), Err(FrameFault::TooManyAlarms));
        assert!(matches!(sealed(4).feed(&bytes(b'A', &[b'x'; MAX_ALARM + 1])), Err(FrameFault::Malformed(_))));
        assert!(matches!(Frames::new(4).feed(&bytes(b'A', b"x")), Err(FrameFault::Malformed(_))), "before the seal");
    }

    #[test]
    fn faults_are_of_known_kinds_and_short() {
        let fault = sealed(4).feed(&bytes(b'F', b"memory:MemoryError: ")).unwrap();
        assert_eq!(fault, [Frame::Fault(FaultKind::Memory, "MemoryError: ".to_owned())]);
        for bad in [b"memory".as_slice(), b"other:x"] {
            assert!(matches!(sealed(4).feed(&bytes(b'F', bad)), Err(FrameFault::Malformed(_))));
        }
        let long = [b"output:".as_slice(), &[b'x'; MAX_FAULT]].concat();
        assert!(sealed(4).feed(&bytes(b'F', &long[..MAX_FAULT])).is_ok());
        assert!(matches!(sealed(4).feed(&bytes(b'F', &long[..=MAX_FAULT])), Err(FrameFault::Malformed(_))));
    }

    #[test]
    fn an_unknown_letter_is_refused_at_once() {
        assert!(matches!(sealed(4).feed(b"Q"), Err(FrameFault::Malformed(_))));
    }

    proptest! {
        #[test]
        fn frames_do_not_depend_on_how_they_are_cut(cuts in prop::collection::vec(1_usize..7, 1..40), count in 0_usize..4) {
            let mut stream: Vec<u8> = (0..count).flat_map(|_| bytes(b'P', &[2; 16])).collect();
            stream.extend(bytes(b'R', b"{\"ok\":true}"));
            let whole = sealed(64).feed(&stream).unwrap();
            let (mut frames, mut pieced, mut rest) = (sealed(64), Vec::new(), stream.as_slice());
            for cut in cuts.iter().cycle() {
                if rest.is_empty() { break; }
                let (piece, left) = rest.split_at((*cut).min(rest.len()));
                pieced.extend(frames.feed(piece).unwrap());
                rest = left;
            }
            prop_assert_eq!(pieced, whole);
            prop_assert!(!frames.is_torn());
        }

        #[test]
        fn any_bytes_are_frames_or_a_fault_and_never_a_panic(pieces in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..64), 0..16), first in any::<bool>()) {
            let mut frames = if first { sealed(32) } else { Frames::new(32) };
            for piece in &pieces {
                if frames.feed(piece).is_err() { break; }
            }
        }
    }
}
