//! What memory is asked: envelopes, gaps, and the owner's looks. Reading changes nothing but the line that says it was read.

use metnos_calendar::zone::{self, Zone};
use metnos_proto::envelope::{Candidate, Envelope, File, Home, Known, Recent};
use metnos_proto::executor::guests;
use metnos_proto::ids::{Blake3, SessionId, TurnId};
use metnos_proto::msg::common::{Channel, Lang, RefusalCode, Trust};
use metnos_proto::msg::memoryd::{
    AgerProposal, AgerProposalList, AgerProposals, BeginTurn, Gap, GapList, MAX_AGER_PROPOSALS, MAX_AGER_TEXT,
    MAX_GAPS, MAX_TAIL, MAX_WHY, MemoryReport, MnestCount, Tail, Tailed, TurnBegun,
};
use metnos_rank::order::RankedContracts;

use super::late::{shown_done, shown_earlier};
use super::record::{clean, refused};
use super::{Memory, Teller, Told};
use crate::chronicle::event::EventType;
use crate::chronicle::index::TurnFacts;
use crate::chronicle::payload;
use crate::mnestome::weight::USE_DAY;
use crate::recall::Today;
use crate::tiers::envelope::{MAX_CANDIDATES, MAX_FILE_SHOWN, MAX_RECENT, Parts, build};
use crate::tiers::workspace::FILES;

/// The most bytes of lines that [`Memory::tail`] gives; the newest that fit.
pub const MAX_TAIL_BYTES: usize = 8 * 1024 * 1024;

/// The one of the six files that is for everybody: what Metnos may not do. The others tell of the owner and his house, and
/// nobody else's turn is shown them.
const FOR_EVERYBODY: &str = "SOUL.md";
/// Those that tell of the owner himself: what fires by itself has no need of them.
const OF_THE_OWNER: [&str; 3] = ["USER.md", "MEMORY.md", "TELOS.md"];

/// Whether what speaks on this channel was set up by the owner rather than said by somebody.
const fn is_automatic(channel: Channel) -> bool {
    match channel {
        Channel::Hook | Channel::Timer => true,
        Channel::Cli | Channel::Http | Channel::Telegram | Channel::Scheduler | Channel::Metnos => false,
    }
}

/// At most so many bytes of a text, whole characters only.
fn cut(mut text: String, bytes: usize) -> String {
    text.truncate(text.floor_char_boundary(bytes));
    text
}

impl Memory {
    /// The planner: what may be read for this turn. Recorded.
    ///
    /// # Errors
    /// When the turn is unknown or the six files cannot be read.
    pub fn begin_turn(&mut self, teller: Teller, word: &BeginTurn) -> Told<(TurnBegun, Vec<u8>)> {
        let facts = self.turn(word.turn)?;
        let envelope = self.envelope(word.turn, &facts)?;
        let open = payload::TurnOpen {
            candidates: envelope.candidates.iter().map(|one| one.name.clone()).collect(),
            direct: false,
            executor: String::new(),
            identity: envelope.identity.clone(),
            nonce: format!("{:016x}", envelope.nonce),
            shown: shown(&envelope),
        };
        let bytes = serde_json::to_vec(&envelope)
            .map_err(|error| refused(RefusalCode::Internal, "envelope.format", error.to_string()))?;
        self.stage_open(teller, word.turn, &facts, &open)?;
        Ok((TurnBegun { nonce: envelope.nonce }, bytes))
    }

    fn envelope(&mut self, turn: TurnId, facts: &TurnFacts) -> Told<Envelope> {
        let identity = self.workspace.identity()?.hex();
        let said = facts.said.unwrap_or(0);
        let words = match self.chronicle.index().row(said)? {
            Some(row) => self.words_of(&row)?,
            None => String::new(),
        };
        let rows = self.chronicle.index().said_by(&facts.peer, said, MAX_RECENT)?;
        let mut recent =
            rows.iter().map(|row| Ok(Recent { seq: row.seq, text: self.words_of(row)? })).collect::<Told<Vec<_>>>()?;
        // Words that were taken out are shown to nobody.
        recent.retain(|words| !words.text.is_empty());
        let said: Vec<u64> = rows.iter().map(|row| row.seq).collect();
        let hits = self.hits(facts, &words);
        let recalled = self.recalled(&hits, &said);
        let (earlier, done) = self.earlier(&facts.peer);
        let context = self.context(facts, &hits)?;
        self.shelve()?;
        let nonce = nonce();
        // The same all day: what is drawn anew in each turn would make every prompt another one to a provider's cache.
        let draw = drawn(&facts.peer, self.mnestome.now() / USE_DAY);
        // Nothing is in sight because of this that may not be called: it only takes sight away.
        let hidden = self.mnestome.out_of_sight(turn)?;
        // What was made for this house may say what the house is about.
        let owners = facts.trust == Trust::Owner || is_automatic(facts.channel);
        let in_sight = |one: &Candidate| {
            (owners || guests::is_shown(&one.name))
                && !hidden.iter().any(|id| id.name == one.name && id.version == one.version)
        };
        let candidates = self.shelf.1.ranked_of(&words, &context, MAX_CANDIDATES, draw, in_sight);
        let mnests = self.between(&candidates)?;
        // Only its owner is told what there is in the workspace; others hear of the lists that they may read.
        let named = if facts.trust == Trust::Owner {
            self.workspace.named(&words)
        } else {
            self.workspace.shared_lists(&words)
        };
        Ok(build(Parts {
            nonce,
            identity,
            files: self.files_for(facts),
            principal: &facts.peer,
            channel: facts.channel,
            lang: if facts.lang == "it" { Lang::It } else { Lang::En },
            recent,
            recalled,
            earlier: shown_earlier(earlier),
            done: shown_done(done),
            candidates,
            mnests,
            named,
            home: self.home_for(facts.trust),
        }))
    }

    /// The six files as a planner is shown them: the person's own ones only in the owner's turns.
    fn files_for(&self, facts: &TurnFacts) -> Vec<File> {
        let private = |name: &str| match facts.trust {
            Trust::Owner => false,
            // The owner has set it up, and hears what comes of it.
            _ if is_automatic(facts.channel) => OF_THE_OWNER.contains(&name),
            Trust::Paired | Trust::Guest | Trust::Tool | Trust::Web | Trust::System => name != FOR_EVERYBODY,
        };
        let shown = |name: &&str| {
            let text = cut(String::from_utf8_lossy(self.workspace.text(name)).into_owned(), MAX_FILE_SHOWN);
            File { name: (*name).to_owned(), text: clean(text) }
        };
        FILES.iter().filter(|name| !private(name)).map(shown).collect()
    }

    /// What the household has answered of itself. Only its owner is called by the owner's name.
    fn home_for(&self, trust: Trust) -> Home {
        let text = |name: &str| clean(String::from_utf8_lossy(self.workspace.text(name)).into_owned());
        let home = Home::read(&text("USER.md"), &text("IDENTITY.md"), &self.machine_zone, trust == Trust::Owner);
        home.at(i64::try_from(self.chronicle.now_ms() / 1_000).unwrap_or(0))
    }

    /// The day that it is on the clock of the house: what "yesterday" is reckoned from, and by which days are told apart.
    pub(super) fn today(&self) -> Today {
        let user = String::from_utf8_lossy(self.workspace.text("USER.md"));
        let zone = Zone::read(&zone::of_user(&user, &self.machine_zone)).or_else(|| Zone::read(&self.machine_zone));
        Today::at(self.chronicle.now_ms(), zone.unwrap_or_default())
    }

    fn words_of(&self, row: &crate::chronicle::index::IndexRow) -> Told<String> {
        let event = self.chronicle.read(row)?;
        debug_assert_eq!(event.kind, EventType::OwnerMessage);
        if event.is_redacted() {
            return Ok(String::new());
        }
        payload::OwnerMessage::decode(&event.payload)
            .map(|words| words.text)
            .map_err(|error| refused(RefusalCode::Internal, "envelope.words", error.to_string()))
    }

    /// Reads the contracts of the executors that may be called and that planners are offered, unless nothing has changed since they were read.
    fn shelve(&mut self) -> Told<()> {
        let pool = self.chronicle.index().pool();
        if self.shelf.0 != pool {
            let contracts = self.chronicle.index().callable()?;
            let candidates: Vec<Candidate> = contracts
                .iter()
                .map(|text| serde_json::from_str(text))
                .collect::<Result<_, _>>()
                .map_err(|error| refused(RefusalCode::Internal, "envelope.contract", error.to_string()))?;
            let candidates = candidates.into_iter().filter(|candidate| candidate.offered).collect();
            self.shelf = (pool, RankedContracts::of(candidates));
        }
        Ok(())
    }

    /// The mnests between executors that are shown.
    fn between(&self, candidates: &[Candidate]) -> Told<Vec<Known>> {
        let mut known = Vec::new();
        for from in candidates {
            for one in self.mnestome.neighbours(&from.name, &from.version, MAX_CANDIDATES)? {
                if candidates.iter().any(|to| to.name == one.name && to.version == one.version) {
                    known.push(Known { from: from.name.clone(), to: one.name, weight: one.weight });
                }
            }
        }
        Ok(known)
    }

    /// syntd: what was wished for and does not exist.
    ///
    /// # Errors
    /// When the mnestome cannot be read.
    pub fn gaps(&self) -> Told<GapList> {
        let wishes = self.mnestome.wishes(MAX_GAPS)?;
        let gap = |wish: crate::mnestome::graph::Wish| Gap {
            wish: wish.text,
            times: u32::try_from(wish.times).unwrap_or(u32::MAX),
        };
        Ok(GapList { gaps: wishes.into_iter().map(gap).collect() })
    }

    /// syntd: what the ager proposes and nobody has settled, a page at a time. Two executors are proposed to become one
    /// only as long as they belong to one trace (design: memory §2).
    ///
    /// # Errors
    /// When the mnestome cannot be read.
    pub fn ager_proposals(&self, word: &AgerProposals) -> Told<AgerProposalList> {
        let mut after = (word.after_seq, word.after_id.clone());
        let mut proposals = Vec::new();
        loop {
            let open = self.mnestome.open_proposals((after.0, &after.1), MAX_AGER_PROPOSALS)?;
            let Some((last, _)) = open.last() else { return Ok(AgerProposalList { proposals, more: false }) };
            after = (last.seq, last.id.clone());
            for (one, [src, dst]) in open {
                if one.kind == "fusion" && !self.traces.share(&src, &dst) {
                    continue;
                }
                if proposals.len() == MAX_AGER_PROPOSALS {
                    return Ok(AgerProposalList { proposals, more: true });
                }
                proposals.push(AgerProposal {
                    seq: one.seq,
                    id: one.id,
                    kind: one.kind,
                    mnest: one.mnest,
                    src: cut(src, MAX_AGER_TEXT),
                    dst: cut(dst, MAX_AGER_TEXT),
                    why: cut(one.why, MAX_AGER_TEXT),
                });
            }
        }
    }

    /// Whether the ager has proposed something since this was asked last: syntd is told then.
    pub fn ager_has_proposed(&self) -> bool {
        self.mnestome.has_proposed()
    }

    /// The owner: the last lines, as they stand in the files.
    ///
    /// # Errors
    /// When they cannot be read.
    pub fn tail(&self, word: &Tail) -> Told<(Tailed, Vec<u8>)> {
        let rows = self.chronicle.index().last_rows(word.after, word.lines.min(MAX_TAIL))?;
        let mut kept = Vec::new();
        let mut bytes = 0;
        for row in rows.iter().rev() {
            let line = self.chronicle.log().read_line(row.place)?;
            bytes += line.len() + 1;
            if bytes > MAX_TAIL_BYTES && !kept.is_empty() {
                break;
            }
            kept.push(line);
        }
        let lines = u32::try_from(kept.len()).unwrap_or(u32::MAX);
        let text = kept.into_iter().rev().flat_map(|line| line.into_iter().chain([b'\n'])).collect();
        Ok((Tailed { lines, last_seq: self.chronicle.head().seq }, text))
    }

    /// The owner: every mnest, as a JSON array.
    ///
    /// # Errors
    /// When the mnestome cannot be read.
    pub fn mnests(&self) -> Told<(MnestCount, Vec<u8>)> {
        let mnests = self.mnestome.list()?;
        let bytes = serde_json::to_vec(&mnests)
            .map_err(|error| refused(RefusalCode::Internal, "mnests.format", error.to_string()))?;
        Ok((MnestCount { mnests: u32::try_from(mnests.len()).unwrap_or(u32::MAX) }, bytes))
    }

    /// The owner: how memory is.
    ///
    /// # Errors
    /// When the mnestome cannot be read.
    pub fn status(&self) -> Told<MemoryReport> {
        Ok(MemoryReport {
            head: self.chronicle.head().recorded(),
            mnests: u32::try_from(self.mnestome.count()?).unwrap_or(u32::MAX),
            use_time_milli: self.mnestome.now() / 1000,
            torn: self.chronicle.torn(),
            frozen: self.mnestome.is_frozen(),
            altered: self.chronicle.altered().unwrap_or_default().chars().take(MAX_WHY / 4).collect(),
        })
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

/// Random bits out of a fresh id.
/// Which of those that were beaten is offered in a conversation on a day of use.
fn drawn(peer: &str, day: u64) -> u64 {
    let Blake3([a, b, c, d, e, f, g, h, ..]) = Blake3::of(format!("{day} {peer}").as_bytes());
    u64::from_be_bytes([a, b, c, d, e, f, g, h])
}

fn nonce() -> u64 {
    let [.., a, b, c, d, e, f, g, h] = SessionId::new().to_bytes();
    u64::from_be_bytes([a, b, c, d, e, f, g, h])
}
