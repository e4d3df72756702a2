//! Every bound of the HTTP channel, each with its reason. Nothing here grows with what a client does.

use std::time::Duration;

/// The most connections at once: a thousand pages that listen, and room for what they ask.
pub const MAX_CONNECTIONS: usize = 1_200;
/// The most connections that have not shown yet who they are. When one more comes, the oldest of them is closed: whoever
/// stalls keeps nobody else out.
pub const MAX_UNHEARD: usize = 64;
/// The most streams of one client at once: fewer than there are connections, so that he can still ask for something.
pub const MAX_STREAMS_OF_ONE: usize = 1_024;
/// The most streams of one guest at once: a household's guests together leave the owner his connections.
pub const MAX_STREAMS_OF_GUEST: usize = 8;
/// The longest head of a request, in bytes: a token, a cookie and what browsers add fit several times.
pub const MAX_HEAD: usize = 16 * 1024;
/// The most lines in the head of a request; browsers send about twenty.
pub const MAX_HEADERS: usize = 64;
/// The longest body, in bytes: the longest words that are taken (64 KiB), with room for how JSON writes them.
pub const MAX_BODY: usize = 256 * 1024;
/// How deep a body may be nested; a conversation of a chat client is four deep.
pub const MAX_DEPTH: u8 = 16;
/// How much of a body that is refused is still read, in bytes, so that the client learns why.
pub const MAX_DISCARDED: usize = 1024 * 1024;
/// How long the head of a request may take: it is one packet on a loopback.
pub const HEAD_WITHIN: Duration = Duration::from_secs(10);
/// How long the body of a request may take.
pub const BODY_WITHIN: Duration = Duration::from_secs(15);
/// How long a client may read nothing of what is written to it.
pub const WRITE_WITHIN: Duration = Duration::from_secs(30);
/// How often a stream on which nothing happens says that it is there. Shorter than proxies wait (60 s), so that a client
/// that went away is noticed.
pub const ALIVE_EVERY: Duration = Duration::from_secs(45);
/// Pieces of a stream that wait for the client; further ones wait in the turn's record.
pub const MAX_PIECES: usize = 4;
/// After how long a client whose turn is still open elsewhere asks again, in milliseconds.
pub const AGAIN_MS: u64 = 3_000;
/// After how long a socket asks again what is due, when nobody could say.
pub const DUE_AGAIN: Duration = Duration::from_secs(30);
/// Frames of one WebSocket in a minute, of every kind; also how many may come at once.
pub const FRAMES_PER_MINUTE: u32 = 600;
/// Messages of one WebSocket that are not answered yet.
pub const MAX_ASKS: usize = 8;
/// The longest name that a client gives to what it says over a WebSocket, in bytes.
pub const MAX_REF: usize = 64;
/// How long a client may take to part.
pub const CLOSE_WITHIN: Duration = Duration::from_secs(2);
/// Requests with a token that nobody knew before, of all clients together in a minute: policyd is asked about each.
pub const UNKNOWN_PER_MINUTE: u32 = 60;
/// Webhooks with a wrong signature that are notified, of all together in a minute; those with a good one are heard beside
/// them.
pub const WRONG_PER_MINUTE: u32 = 60;
/// Codes shown from one address in a minute.
pub const PAIRINGS_PER_MINUTE: u32 = 4;
/// Codes shown from all addresses together in a minute. Of a million codes none is guessed at that pace within the ten
/// minutes that one is good; `metnosctl pairing` at the machine does not go this way.
pub const PAIRINGS_IN_ALL: u32 = 32;
/// The most addresses from which codes are counted.
pub const MAX_SOURCES: usize = 256;
/// The most clients that are remembered between requests; policyd knows no more than 128 people.
pub const MAX_CALLERS: usize = 256;
/// The most turns whose events are kept for clients that come back; older ones are in the journal.
pub const MAX_RECORDS: usize = 256;
/// The most bytes of events that are kept for all turns together: of what a turn says beyond that, the journal's copy
/// is given when it is over.
pub const MAX_KEPT: usize = 32 * 1024 * 1024;
/// What an event takes beside its text, in bytes, roughly.
pub const EVENT_BYTES: usize = 256;
