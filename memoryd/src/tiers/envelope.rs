//! The clean part of a turn's envelope: what a planner may read before anything else. Nothing of lower trust ever goes in.

use metnos_proto::envelope::{Candidate, Done, Earlier, Envelope, File, Home, Known, Named, Recalled, Recent};
use metnos_proto::msg::common::{Channel, Lang};

/// How many executors an envelope holds: all that a household has, so that the pattern of each is asked.
pub const MAX_CANDIDATES: usize = 64;
/// How many of the principal's own earlier words are shown.
pub const MAX_RECENT: u32 = 10;
/// How much of one of them is shown, in characters.
pub const MAX_RECENT_CHARS: usize = 1_200;
/// Of how many of the last ones it is shown what came of them.
pub const MAX_EXCHANGES: usize = 6;
/// How much of one answer is shown, in characters.
pub const MAX_ANSWER_CHARS: usize = 600;
/// How many runs of one of those turns are named.
pub const MAX_RAN: usize = 8;
/// How many turns of longer ago are recalled for one.
pub const MAX_EVIDENCE: usize = 6;
/// How much of one of them is shown, in characters.
pub const MAX_EVIDENCE_CHARS: usize = 400;

/// How much of one of the six files is shown, in bytes.
pub const MAX_FILE_SHOWN: usize = 16 * 1024;

/// What an envelope is made of.
#[derive(Debug)]
pub struct Parts<'a> {
    /// Ties later claims to what was shown.
    pub nonce: u64,
    /// The digest of the six files.
    pub identity: String,
    /// The six files, as far as this principal may see them.
    pub files: Vec<File>,
    /// The principal.
    pub principal: &'a str,
    /// Where the words came in.
    pub channel: Channel,
    /// The language to answer in.
    pub lang: Lang,
    /// The principal's earlier words, newest first.
    pub recent: Vec<Recent>,
    /// The principal's own words of longer ago that bear on the turn, best first.
    pub recalled: Vec<Recalled>,
    /// Summaries of the principal's own words before that, oldest first.
    pub earlier: Vec<Earlier>,
    /// What was done last, oldest first.
    pub done: Vec<Done>,
    /// The executors shown, best first.
    pub candidates: Vec<Candidate>,
    /// The mnests between them.
    pub mnests: Vec<Known>,
    /// The files and folders that the words may mean.
    pub named: Vec<Named>,
    /// When the principal has said the same before, in seconds since 1970.
    pub same: Vec<i64>,
    /// What the household has answered of itself.
    pub home: Home,
}

/// Puts an envelope together.
#[must_use]
pub fn build(parts: Parts<'_>) -> Envelope {
    let mut recent = parts.recent;
    recent.reverse();
    for words in &mut recent {
        if let Some((end, _)) = words.text.char_indices().nth(MAX_RECENT_CHARS) {
            words.text.truncate(end);
        }
        if let Some(answer) = &mut words.answer {
            if let Some((end, _)) = answer.text.char_indices().nth(MAX_ANSWER_CHARS) {
                answer.text.truncate(end);
                answer.text.push('…');
            }
            answer.ran.truncate(MAX_RAN);
        }
    }
    Envelope {
        nonce: parts.nonce,
        identity: parts.identity,
        files: parts.files,
        capsule: String::new(),
        principal: parts.principal.to_owned(),
        channel: parts.channel,
        lang: parts.lang,
        recent,
        recalled: parts.recalled,
        earlier: parts.earlier,
        done: parts.done,
        candidates: parts.candidates,
        mnests: parts.mnests,
        named: parts.named,
        same: parts.same,
        home: parts.home,
    }
}
