//! The envelope: what a planner may read for one turn.

mod catalogue;
mod exchange;

pub(super) use catalogue::Catalogue;

use metnos_proto::envelope::{Candidate, Envelope, Home, MAX_SHOWN, Recent};
use metnos_proto::executor::guests;
use metnos_proto::ids::{Blake3, SessionId, TurnId};
use metnos_proto::msg::common::{Lang, Trust};
use metnos_rank::forms::Said;

use super::clean_turns::CleanTurns;
use super::household::WhoIsWho;
use super::journal::Answer;
use super::medium_tier::MediumTier;
use super::owner_files::{OwnerFiles, is_automatic};
use super::recollection::{Recollection, context, recalled, words_of};
use super::usage::Usage;
use crate::chronicle::Chronicle;
use crate::chronicle::index::TurnFacts;
use crate::chronicle::payload;
use crate::mnestome::weight::USE_DAY;
use crate::tiers::envelope::{MAX_CANDIDATES, MAX_EXCHANGES, MAX_RECENT, Parts, build};

use exchange::answered;

/// With fewer words that say something, a request may point back to the one before it.
const FEW_WORDS: usize = 4;
/// How many earlier turns may name files for this one.
const MAX_NAMING: usize = 4;

/// What an envelope is made from.
pub(super) struct Sources<'a> {
    pub(super) chronicle: &'a Chronicle,
    pub(super) usage: &'a Usage,
    pub(super) files: &'a mut OwnerFiles,
    pub(super) recollection: &'a mut Recollection,
    pub(super) medium: &'a mut MediumTier,
    pub(super) catalogue: &'a mut Catalogue,
    pub(super) clean: &'a CleanTurns,
    pub(super) who_is_who: &'a WhoIsWho,
}

impl Sources<'_> {
    /// Puts the envelope of a turn together.
    ///
    /// # Errors
    /// When the six files, the chronicle or the mnestome cannot be read.
    pub(super) fn envelope(self, turn: TurnId, facts: &TurnFacts) -> Answer<Envelope> {
        let identity = self.files.identity()?;
        let now = self.chronicle.now_ms();
        let today = self.files.today(now);
        let said = facts.said.unwrap_or(0);
        let words = match self.chronicle.index().row(said)? {
            Some(row) => words_of(self.chronicle, &row)?,
            None => String::new(),
        };
        let rows = self.chronicle.index().said_by(&facts.peer, said, MAX_RECENT)?;
        let mut recent = rows
            .iter()
            .enumerate()
            .map(|(at, row)| {
                let is_shown = at < MAX_EXCHANGES;
                let answer = if is_shown { answered(self.chronicle, self.clean, row, said)? } else { None };
                Ok(Recent { seq: row.seq, text: words_of(self.chronicle, row)?, answer })
            })
            .collect::<Answer<Vec<_>>>()?;
        // Words that were redacted are not shown.
        recent.retain(|words| !words.text.is_empty());
        let same = match is_automatic(facts.channel) {
            true => Vec::new(),
            false => self.recollection.again.times(self.chronicle, (&facts.peer, said), &words, &rows)?,
        };
        let said: Vec<u64> = rows.iter().map(|row| row.seq).collect();
        let person = self.who_is_who.principals_with(&facts.peer);
        let hits = self.recollection.hits(self.chronicle, (facts, &person), &words, today);
        let recalled = recalled(self.chronicle, &hits, &said);
        let (earlier, done) = self.medium.earlier(self.chronicle, &facts.peer);
        let context = context(self.chronicle, self.usage, facts, &hits)?;
        let nonce = nonce();
        // The same all day: what is drawn anew in each turn would make every prompt another one to a provider's cache.
        let draw = drawn(&facts.peer, self.usage.mnestome.now() / USE_DAY);
        // This only hides executors: nothing becomes callable because of it.
        let hidden = self.usage.mnestome.hidden_executors(turn)?;
        // An executor made for this instance may reveal what the household is about.
        let owners = facts.trust == Trust::Owner || is_automatic(facts.channel);
        let in_sight = |one: &Candidate| {
            (owners || guests::is_shown(&one.name))
                && !hidden.iter().any(|id| id.name == one.name && id.version == one.version)
        };
        // What the last turns named may be meant by what points back to it.
        let before: Vec<&str> = recent.iter().take(MAX_NAMING).map(|words| words.text.as_str()).collect();
        let asked = asked(&words, &before);
        let most = (MAX_SHOWN, MAX_CANDIDATES);
        let candidates = self.catalogue.contracts(self.chronicle)?.ranked_of(&asked, &context, most, draw, in_sight);
        let mnests = self.usage.between(&candidates[..MAX_SHOWN.min(candidates.len())])?;
        let own = self.who_is_who.folder_of(&facts.peer);
        let named = self.files.named(facts.trust, &own, &words, &before.join("\n"));
        Ok(build(Parts {
            nonce,
            identity,
            files: self.files.shown_in(facts),
            principal: &facts.peer,
            channel: facts.channel,
            lang: if facts.lang == "it" { Lang::It } else { Lang::En },
            recent,
            recalled,
            earlier,
            done,
            candidates,
            mnests,
            named,
            same,
            home: self.home(facts, now),
        }))
    }
}

impl Sources<'_> {
    /// What the household has said of itself, and of those who live in it.
    fn home(&self, facts: &TurnFacts, now_ms: u64) -> Home {
        let mut home = self.files.home_for(facts, now_ms);
        if let Some(name) = self.who_is_who.name_of(&facts.peer) {
            name.clone_into(&mut home.person);
        }
        home.people = self.who_is_who.others_of(&facts.peer);
        home.accounts = self.who_is_who.accounts_of(&facts.peer);
        let own = self.who_is_who.folder_of(&facts.peer);
        home.quiet = self.who_is_who.quiet_of(&facts.peer);
        home.folder = if own.is_empty() { own } else { guests::private(&own) };
        home
    }
}

/// The words that executors are ordered by. Few words may point back ("the second one"): with them goes what was asked before.
fn asked(words: &str, before: &[&str]) -> String {
    match before.first() {
        Some(last) if Said::of(words, FEW_WORDS).len() < FEW_WORDS => format!("{words}\n{last}"),
        Some(_) | None => words.to_owned(),
    }
}

/// The line that opens a planner's turn.
pub(super) fn opening(envelope: &Envelope) -> payload::TurnOpen {
    payload::TurnOpen {
        candidates: envelope.candidates.iter().map(|one| one.name.clone()).collect(),
        direct: false,
        executor: String::new(),
        identity: envelope.identity.clone(),
        nonce: format!("{:016x}", envelope.nonce),
        shown: shown(envelope),
    }
}

/// The events whose words are in an envelope, ascending: later claims may cite only these.
fn shown(envelope: &Envelope) -> Vec<u64> {
    let recalled = envelope.recalled.iter().map(|words| words.seq);
    let earlier = envelope.earlier.iter().flat_map(|summary| summary.cited.iter().copied());
    let mut shown: Vec<u64> = envelope.recent.iter().map(|words| words.seq).chain(recalled).chain(earlier).collect();
    shown.sort_unstable();
    shown.dedup();
    shown
}

/// Which of those that were beaten is offered in a conversation on a day of use.
fn drawn(peer: &str, day: u64) -> u64 {
    let Blake3([a, b, c, d, e, f, g, h, ..]) = Blake3::of(format!("{day} {peer}").as_bytes());
    u64::from_be_bytes([a, b, c, d, e, f, g, h])
}

/// Random bits out of a fresh id.
fn nonce() -> u64 {
    let [.., a, b, c, d, e, f, g, h] = SessionId::new().to_bytes();
    u64::from_be_bytes([a, b, c, d, e, f, g, h])
}
