//! A line of the chronicle as it stands: read without copying what it says, but for the bytes that its hash covers.
//!
//! There is one spelling of an event, so the text of each field is a piece of the line, and is hashed as it stands
//! there: a verification needs no document, and spells nothing a second time.

use std::borrow::Cow;

use metnos_proto::chain::{DOMAIN, is_mark};
use metnos_proto::ids::{SessionId, Sha256, TraceId, TurnId};
use metnos_proto::msg::common::{Channel, Trust};
use metnos_proto::role::RoleName;

use super::{LineError, MAX_FIELD_BYTES, MAX_LINE_BYTES, MAX_PAYLOAD_BYTES, TAIL};
use crate::chronicle::canonical;
use crate::chronicle::event::{Event, EventType, channel_named, sha256, trust_named};
use crate::chronicle::time::parse_instant;

/// `sha256:` and 64 digits.
const DIGEST: usize = 7 + 64;
/// The digits of a ULID.
const ULID: usize = 26;
/// `YYYY-MM-DDTHH:MM:SS.mmmZ`.
const INSTANT: usize = 24;

/// An event whose texts are pieces of its line.
#[derive(Debug)]
pub struct BorrowedLine<'a> {
    /// Its number.
    pub seq: u64,
    /// The hash that it names as its predecessor's.
    pub prev_hash: Sha256,
    /// The event that caused it.
    pub parent: Option<u64>,
    /// When.
    pub ts_ms: u64,
    /// Which daemon reported it.
    pub emitter: RoleName,
    /// Which run of that daemon.
    pub session: SessionId,
    /// The turn.
    pub turn_id: Option<TurnId>,
    /// The trace.
    pub trace_id: Option<TraceId>,
    /// What happened.
    pub kind: EventType,
    /// Which agent.
    pub agent_id: Cow<'a, str>,
    /// Which model.
    pub model: Cow<'a, str>,
    /// The channel of the turn.
    pub channel: Option<Channel>,
    /// The principal.
    pub peer: Cow<'a, str>,
    /// Where the content comes from.
    pub trust: Trust,
    /// The digest that it claims for its payload.
    pub payload_sha256: Sha256,
    /// The content.
    pub payload: &'a str,
    /// The hash that it claims.
    pub hash: Sha256,
}

impl<'a> BorrowedLine<'a> {
    /// Reads one line, without its newline, and puts the bytes that its hash covers into `covered`, in the place of
    /// what was there. Total: any bytes give an event or an error.
    ///
    /// # Errors
    /// The first field that is not spelled as [`super::to_line`] would.
    pub fn read(line: &'a [u8], covered: &mut Vec<u8>) -> Result<Self, LineError> {
        if line.len() >= MAX_LINE_BYTES {
            return wrong("line", format!("longer than {MAX_LINE_BYTES} bytes"));
        }
        let Some(head) = line.len().checked_sub(TAIL) else {
            return wrong("line", "too short");
        };
        let Ok(text) = std::str::from_utf8(line) else {
            return wrong("line", "the text is not UTF-8");
        };
        let (Some(rest), Some(tail)) = (text.get(..head), text.get(head..)) else {
            return wrong("hash", "`,\"hash\":` was expected");
        };
        // What it notes of this is overwritten: the hash does not cover itself.
        covered.clear();
        let mut tail = Scan { rest: tail, covered };
        tail.literal("hash", ",\"hash\":")?;
        let hash = tail.digest("hash")?;
        tail.literal("hash", "}")?;
        covered.clear();
        // What is covered is never longer than the line: the name of a field takes more than the four bytes of its length.
        covered.reserve(DOMAIN.len() + line.len());
        covered.extend_from_slice(DOMAIN);
        Scan { rest, covered }.event(hash)
    }

    /// The event, with texts of its own.
    #[must_use]
    pub fn to_event(&self) -> Event {
        Event {
            seq: self.seq,
            prev_hash: self.prev_hash,
            parent: self.parent,
            ts_ms: self.ts_ms,
            emitter: self.emitter,
            session: self.session,
            turn_id: self.turn_id,
            trace_id: self.trace_id,
            kind: self.kind,
            agent_id: self.agent_id.as_ref().to_owned(),
            model: self.model.as_ref().to_owned(),
            channel: self.channel,
            peer: self.peer.as_ref().to_owned(),
            trust: self.trust,
            payload_sha256: self.payload_sha256,
            payload: self.payload.to_owned(),
            hash: self.hash,
        }
    }

    /// Whether the payload has the digest that the line claims for it.
    #[must_use]
    pub fn payload_holds(&self) -> bool {
        sha256(self.payload.as_bytes()) == self.payload_sha256
    }

    /// Whether the mark of a payload that was taken out stands in its place; see [`Event::is_redacted`].
    #[must_use]
    pub fn is_redacted(&self) -> bool {
        is_mark(self.payload.as_bytes()) && !self.payload_holds()
    }
}

fn wrong<T>(field: &'static str, why: impl Into<String>) -> Result<T, LineError> {
    Err(LineError { field, why: why.into() })
}

#[cold]
fn expected<T>(field: &'static str, literal: &'static str) -> Result<T, LineError> {
    wrong(field, format!("`{literal}` was expected"))
}

fn shortened(text: &str) -> String {
    text.chars().take(80).collect()
}

/// The bytes of a ULID whose text is exactly what printing it gives: capitals of Crockford's alphabet.
fn ulid(text: &str) -> Option<[u8; 16]> {
    let text = text.as_bytes();
    // 26 digits of five bits are two more than there are.
    if text.len() != ULID || text[0] > b'7' {
        return None;
    }
    let mut number = 0_u128;
    let mut all = 0;
    // Twelve digits are sixty bits, which fit one word.
    for twelve in text.chunks(12) {
        let mut part = 0_u64;
        for digit in twelve {
            let value = CROCKFORD[usize::from(*digit)];
            all |= value;
            part = part << 5 | u64::from(value & 31);
        }
        number = number << (5 * twelve.len()) | u128::from(part);
    }
    (all < 32).then(|| number.to_be_bytes())
}

/// The value of each digit, 255 for what is none.
const CROCKFORD: [u8; 256] = {
    let digits = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";
    let mut values = [255; 256];
    let mut at = 0;
    while at < digits.len() {
        values[digits[at] as usize] = at as u8;
        at += 1;
    }
    values
};

fn session_of(key: &str, emitter: RoleName) -> Option<SessionId> {
    ulid(key.strip_prefix("metnos:")?.strip_prefix(emitter.text())?.strip_prefix(':')?).map(SessionId::from_bytes)
}

/// What is left of the line, and what of it was read that the hash covers.
struct Scan<'a, 'b> {
    rest: &'a str,
    covered: &'b mut Vec<u8>,
}

impl<'a> Scan<'a, '_> {
    fn event(mut self, hash: Sha256) -> Result<BorrowedLine<'a>, LineError> {
        self.literal("seq", "{\"seq\":")?;
        let seq = self.integer("seq")?;
        self.literal("prev_hash", ",\"prev_hash\":")?;
        let prev_hash = self.digest("prev_hash")?;
        self.literal("parent", ",\"parent\":")?;
        let parent = if self.null() { None } else { Some(self.integer("parent")?) };
        self.literal("ts", ",\"ts\":")?;
        let ts_ms = self.sized("ts", INSTANT, parse_instant)?;
        self.literal("emitter", ",\"emitter\":")?;
        let emitter = self.named("emitter", RoleName::parse)?;
        self.literal("session_key", ",\"session_key\":")?;
        let session = self.named("session_key", |text| session_of(text, emitter))?;
        self.literal("turn_id", ",\"turn_id\":")?;
        let turn_id = self.id("turn_id")?.map(TurnId::from_bytes);
        self.literal("trace_id", ",\"trace_id\":")?;
        let trace_id = self.id("trace_id")?.map(TraceId::from_bytes);
        self.literal("event_type", ",\"event_type\":")?;
        let kind = self.named("event_type", EventType::parse)?;
        self.literal("agent_id", ",\"agent_id\":")?;
        let agent_id = self.text("agent_id")?;
        self.literal("model", ",\"model\":")?;
        let model = self.text("model")?;
        self.literal("channel", ",\"channel\":")?;
        let channel = if self.null() { None } else { Some(self.named("channel", channel_named)?) };
        self.literal("peer", ",\"peer\":")?;
        let peer = self.text("peer")?;
        self.literal("trust", ",\"trust\":")?;
        let trust = self.named("trust", trust_named)?;
        self.literal("payload_sha256", ",\"payload_sha256\":")?;
        let payload_sha256 = self.digest("payload_sha256")?;
        self.literal("payload", ",\"payload\":")?;
        let payload = self.payload()?;
        Ok(BorrowedLine {
            seq,
            prev_hash,
            parent,
            ts_ms,
            emitter,
            session,
            turn_id,
            trace_id,
            kind,
            agent_id,
            model,
            channel,
            peer,
            trust,
            payload_sha256,
            payload,
            hash,
        })
    }

    // Inlined, so that each literal is compared as the few words that it is.
    #[inline(always)]
    fn literal(&mut self, field: &'static str, literal: &'static str) -> Result<(), LineError> {
        match self.rest.strip_prefix(literal) {
            Some(rest) => {
                self.rest = rest;
                Ok(())
            }
            None => expected(field, literal),
        }
    }

    /// Notes the text of the next field that the hash covers.
    fn cover(&mut self, text: &str) {
        // No field is anywhere near four gigabytes long, so the length always fits.
        let length = u32::try_from(text.len()).unwrap_or(u32::MAX);
        self.covered.extend_from_slice(&length.to_be_bytes());
        self.covered.extend_from_slice(text.as_bytes());
    }

    /// Whether nothing stands here; what is absent is hashed as an empty text.
    fn null(&mut self) -> bool {
        let null = self.rest.strip_prefix("null");
        if let Some(rest) = null {
            self.rest = rest;
            self.cover("");
        }
        null.is_some()
    }

    /// A number from 1 upwards, without sign or leading zero.
    fn integer(&mut self, field: &'static str) -> Result<u64, LineError> {
        let length = self.rest.bytes().take_while(u8::is_ascii_digit).count();
        let (digits, rest) = self.rest.split_at(length);
        self.rest = rest;
        match digits.parse::<u64>() {
            Ok(number) if !digits.starts_with('0') => {
                self.cover(digits);
                Ok(number)
            }
            Ok(_) | Err(_) => wrong(field, "a number from 1 upwards was expected"),
        }
    }

    fn text(&mut self, field: &'static str) -> Result<Cow<'a, str>, LineError> {
        let (text, length) =
            canonical::string(self.rest).map_err(|error| LineError { field, why: error.to_string() })?;
        if text.len() > MAX_FIELD_BYTES {
            return wrong(field, format!("longer than {MAX_FIELD_BYTES} bytes"));
        }
        self.rest = &self.rest[length..];
        self.cover(&text);
        Ok(text)
    }

    fn named<T>(&mut self, field: &'static str, read: impl FnOnce(&str) -> Option<T>) -> Result<T, LineError> {
        let text = self.text(field)?;
        read(&text).map_or_else(|| wrong(field, format!("`{}` means nothing here", shortened(&text))), Ok)
    }

    /// As [`Scan::named`], of a text that has exactly `length` bytes and none that must be escaped, as `read` makes sure.
    fn sized<T>(
        &mut self,
        field: &'static str,
        length: usize,
        read: impl Fn(&str) -> Option<T>,
    ) -> Result<T, LineError> {
        let quoted = self.rest.strip_prefix('"').and_then(|rest| Some((rest.get(..length)?, rest.get(length..)?)));
        if let Some((text, rest)) = quoted
            && let Some(rest) = rest.strip_prefix('"')
            && let Some(found) = read(text)
        {
            self.rest = rest;
            self.cover(text);
            return Ok(found);
        }
        // Something is wrong: the slower way says what.
        self.named(field, read)
    }

    fn id(&mut self, field: &'static str) -> Result<Option<[u8; 16]>, LineError> {
        if self.null() { Ok(None) } else { self.sized(field, ULID, ulid).map(Some) }
    }

    fn digest(&mut self, field: &'static str) -> Result<Sha256, LineError> {
        self.sized(field, DIGEST, Sha256::parse)
    }

    /// All that is left, which must be a canonical object.
    fn payload(&mut self) -> Result<&'a str, LineError> {
        canonical::check_object(self.rest).map_err(|error| LineError { field: "payload", why: error.to_string() })?;
        if self.rest.len() > MAX_PAYLOAD_BYTES {
            return wrong("payload", format!("longer than {MAX_PAYLOAD_BYTES} bytes"));
        }
        Ok(self.rest)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::chronicle::event::preimage;
    use crate::chronicle::line::to_line;
    use crate::chronicle::testing::any_event;
    use metnos_proto::chain::Link;
    use proptest::prelude::*;

    #[test]
    fn an_id_is_read_exactly_as_it_is_printed() {
        for bytes in [[0; 16], [255; 16], *b"0123456789abcdef"] {
            let text = TurnId::from_bytes(bytes).to_string();
            assert_eq!(ulid(&text), Some(bytes));
            assert_eq!(ulid(&text.to_lowercase()).is_some(), text.to_lowercase() == text);
            assert_eq!(ulid(&text[1..]), None);
        }
        for wrong in ["80000000000000000000000000", "0000000000000000000000000I", "0000000000000000000000000è"] {
            assert_eq!(ulid(wrong), None, "{wrong}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_an_id_exactly_when_printing_it_gives_the_same(text in "[0-9A-Za-z]{25,27}") {
            let printed = text.parse::<TurnId>().ok().filter(|id| id.to_string() == text);
            prop_assert_eq!(ulid(&text), printed.map(TurnId::to_bytes));
        }

        #[test]
        fn line_reader_covers_every_hashed_field(event in any_event()) {
            let line = to_line(&event);
            let mut covered = b"what was there before".to_vec();
            let borrowed = BorrowedLine::read(&line[..line.len() - 1], &mut covered).unwrap();
            let fields = event.fields();
            prop_assert_eq!(&covered, &preimage(&fields.each_ref().map(AsRef::as_ref)));
            prop_assert_eq!(sha256(&covered), event.computed_hash());
            prop_assert_eq!(borrowed.to_event(), event);
        }

        #[test]
        fn mutated_line_parses_the_same_with_both_readers(
            event in any_event(),
            changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>(), 0_u8..4), 0..4),
        ) {
            let mut line = to_line(&event);
            line.pop();
            for (at, byte, how) in changes {
                let at = at.index(line.len());
                match how {
                    0 => line[at] = byte,
                    1 => line.insert(at, byte),
                    2 => drop(line.remove(at)),
                    // A digit or letter of the same kind: the change that a parser does not notice.
                    _ => line[at] = line[at].wrapping_add(u8::from(line[at].is_ascii_alphanumeric())),
                }
            }
            let mut covered = Vec::new();
            let read = BorrowedLine::read(&line, &mut covered);
            let other = Link::read(&line);
            let Ok(read) = read else {
                // What is not spelled canonically may still be JSON with a hash that holds; never the other way round.
                return Ok(());
            };
            // Whatever is read is the only spelling of what was read.
            let mut again = to_line(&read.to_event());
            again.pop();
            prop_assert_eq!(&again, &line);
            let holds = sha256(&covered) == read.hash && (read.payload_holds() || is_mark(read.payload.as_bytes()));
            prop_assert_eq!(holds, other.is_ok(), "{:?}", other);
            if let Ok(other) = other {
                prop_assert_eq!((other.seq, other.prev_hash, other.hash), (read.seq, read.prev_hash, read.hash));
                prop_assert_eq!(other.event_type, read.kind.name());
            }
        }
    }
}
