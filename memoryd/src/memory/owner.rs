//! What the owner decides about the mnestome, and what is kept of it: each is a line of the chronicle first, and the
//! mnestome follows from it. Copies are made when the line is durable, and none is ever deleted.

use std::path::PathBuf;

use metnos_proto::msg::common::RefusalCode;
use metnos_proto::msg::memoryd::{MAX_TAG, MAX_WHY, OwnersAct, Reasoned, Recorded, Tagged, TurnJudged};
use metnos_proto::role::RoleName;

use super::record::refused;
use super::{Memory, Teller, Told};
use crate::chronicle::event::{Event, EventType};
use crate::chronicle::payload::Checkpoint;
use crate::chronicle::time::instant_text;
use crate::error::Result;
use crate::mnestome::fitness::Word;
use crate::mnestome::graph::Mnest;
use crate::mnestome::judged::JUDGE;
use crate::mnestome::snapshot::{COMPRESS_AFTER_MS, FOLDER, compress, digest_of};

/// The longest name of a snapshot, in bytes.
pub const MAX_SNAPSHOT_NAME: usize = 64;

fn invalid(rule: &str, why: impl Into<String>) -> metnos_proto::edge::ServeError {
    refused(RefusalCode::Invalid, rule, why)
}

fn reasoned(act: &Reasoned) -> Told<()> {
    if act.why.trim().is_empty() || act.why.len() > MAX_WHY {
        return Err(invalid("mnest.why", format!("a reason of at most {MAX_WHY} bytes is needed")));
    }
    Ok(())
}

fn act(name: &str, id: &str, why: &str) -> Checkpoint {
    Checkpoint {
        act: name.to_owned(),
        at_seq: 0,
        digest: String::new(),
        id: id.to_owned(),
        tag: String::new(),
        why: why.to_owned(),
    }
}

/// The month of an instant: `2026-04`.
fn month(ts_ms: u64) -> String {
    instant_text(ts_ms).chars().take(7).collect()
}

impl Memory {
    /// The owner decides about what was derived.
    ///
    /// # Errors
    /// When there is no such mnest, proposal or snapshot, the act makes no sense as things are, or nothing can be recorded.
    pub fn owner_decides(&mut self, teller: Teller, word: &OwnersAct) -> Told<Recorded> {
        self.flush()?;
        self.chronicle.fit()?;
        // What an earlier error of the disk has kept from it; whether an act makes sense is asked of it.
        self.catch_up_mnestome()?;
        let event = match word {
            OwnersAct::Tag(tagged) => self.tagging("tag", tagged)?,
            OwnersAct::Untag(tagged) => self.tagging("untag", tagged)?,
            OwnersAct::Archive(one) => self.moving("archive", one, &["active", "decaying", "superseded"])?,
            OwnersAct::Restore(one) => self.moving("restore", one, &["archived", "superseded"])?,
            OwnersAct::Decline(one) => self.declining(one)?,
            OwnersAct::Freeze(one) => self.freezing(true, one)?,
            OwnersAct::Defrost(one) => self.freezing(false, one)?,
            OwnersAct::Snapshot(one) => {
                reasoned(one)?;
                let name =
                    if one.id.is_empty() { format!("kept-{}", self.chronicle.head().seq + 1) } else { one.id.clone() };
                self.keeping("snapshot", &name, &one.why)?
            }
            OwnersAct::Judge(one) => self.judging(one)?,
            OwnersAct::Rollback(one) => return self.rolling_back(teller, one),
        };
        self.checkpoint(teller, &event)
    }

    fn known(&self, id: &str) -> Told<Mnest> {
        let unknown = || refused(RefusalCode::Unknown, "mnest.unknown", format!("there is no mnest `{id}`"));
        self.mnestome.one(id)?.ok_or_else(unknown)
    }

    fn tagging(&self, name: &str, word: &Tagged) -> Told<Checkpoint> {
        let fits =
            (1..=MAX_TAG).contains(&word.tag.len()) && !word.tag.chars().any(|c| c.is_control() || c.is_whitespace());
        if !fits {
            return Err(invalid("mnest.tag", format!("a tag is one word of at most {MAX_TAG} bytes")));
        }
        let known = self.known(&word.id)?;
        if known.tags.contains(&word.tag) == (name == "tag") {
            let why = if name == "tag" { "has that tag already" } else { "does not have that tag" };
            return Err(invalid("mnest.tag", format!("{} {why}", word.id)));
        }
        Ok(Checkpoint { tag: word.tag.clone(), ..act(name, &word.id, "") })
    }

    fn judging(&self, word: &TurnJudged) -> Told<Checkpoint> {
        if !self.mnestome.can_be_judged(word.turn)? {
            let why =
                format!("turn {} is none that has called something and is over, or it is too long ago", word.turn);
            return Err(refused(RefusalCode::Unknown, "feedback.turn", why));
        }
        let said = if word.good { Word::Good } else { Word::Bad };
        Ok(Checkpoint { tag: said.name().to_owned(), ..act(JUDGE, &word.turn.to_string(), "") })
    }

    fn moving(&self, name: &str, word: &Reasoned, from: &[&str]) -> Told<Checkpoint> {
        reasoned(word)?;
        let known = self.known(&word.id)?;
        if !from.contains(&known.state.as_str()) {
            return Err(invalid(
                "mnest.state",
                format!("{} is {}, so there is nothing to {name}", word.id, known.state),
            ));
        }
        Ok(act(name, &word.id, &word.why))
    }

    fn declining(&self, word: &Reasoned) -> Told<Checkpoint> {
        reasoned(word)?;
        if !self.mnestome.proposals()?.iter().any(|one| one.id == word.id && one.state == "open") {
            let why = format!("there is no open proposal `{}`", word.id);
            return Err(refused(RefusalCode::Unknown, "mnest.proposal", why));
        }
        Ok(act("decline", &word.id, &word.why))
    }

    fn freezing(&self, frozen: bool, word: &Reasoned) -> Told<Checkpoint> {
        reasoned(word)?;
        if self.mnestome.is_frozen() == frozen {
            let why = if frozen { "the clock of use stands still already" } else { "the clock of use is running" };
            return Err(invalid("mnest.frozen", why));
        }
        if frozen {
            let name = format!("frozen-{}", self.chronicle.head().seq + 1);
            return self.keeping("freeze", &name, &word.why);
        }
        Ok(act("defrost", "", &word.why))
    }

    /// What is kept now, and under which name.
    fn keeping(&self, what: &str, name: &str, why: &str) -> Told<Checkpoint> {
        let fits = (1..=MAX_SNAPSHOT_NAME).contains(&name.len())
            && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-');
        if !fits {
            let why = format!("a snapshot's name is at most {MAX_SNAPSHOT_NAME} small letters, digits and hyphens");
            return Err(invalid("mnest.snapshot", why));
        }
        if self.mnestome.snapshots()?.iter().any(|one| one.name == name) {
            return Err(invalid(
                "mnest.snapshot",
                format!("there is a snapshot `{name}` already, and none is replaced"),
            ));
        }
        let (at_seq, digest) = (self.mnestome.applied(), self.mnestome.digest()?);
        Ok(Checkpoint { at_seq, digest, ..act(what, name, why) })
    }

    /// What is now is kept first, so that this can be taken back.
    fn rolling_back(&mut self, teller: Teller, word: &Reasoned) -> Told<Recorded> {
        reasoned(word)?;
        let unknown = || refused(RefusalCode::Unknown, "mnest.snapshot", format!("there is no snapshot `{}`", word.id));
        let to = self.mnestome.snapshots()?.into_iter().find(|one| one.name == word.id).ok_or_else(unknown)?;
        let name = format!("before-{}", self.chronicle.head().seq + 1);
        let kept = self.keeping("snapshot", &name, &format!("kept before the return to {}", to.name))?;
        self.checkpoint(teller, &kept)?;
        let back = Checkpoint { at_seq: to.at_seq, digest: to.digest.clone(), ..act("rollback", &to.name, &word.why) };
        let recorded = self.checkpoint(teller, &back)?;
        let now = self.mnestome.digest()?;
        if now != to.digest {
            // What was kept was derived from lines of which a payload was taken out since.
            self.chronicle.tell("rollback_differs", format!("{} had {}, and is {now} now", to.name, to.digest));
        }
        Ok(recorded)
    }

    /// Records an act, and lets it take effect.
    fn checkpoint(&mut self, teller: Teller, act: &Checkpoint) -> Told<Recorded> {
        let recorded = self.stage_alone(teller, EventType::Checkpoint, act.encode())?;
        self.flush()?;
        Ok(recorded)
    }

    /// Where copies lie.
    fn snapshots_folder(&self) -> PathBuf {
        self.instance.join(".mnestome").join(FOLDER)
    }

    /// Makes the copies that the events just recorded speak of. One that cannot be made is told of: the rows it would
    /// hold can still be derived.
    pub(super) fn keep_copies<'a>(&mut self, events: impl Iterator<Item = &'a Event>) {
        let folder = self.snapshots_folder();
        for event in events.filter(|event| event.kind == EventType::Checkpoint) {
            let Ok(act) = Checkpoint::decode(&event.payload) else { continue };
            if act.digest.is_empty() || act.act == "rollback" {
                continue;
            }
            let kept = self
                .mnestome
                .copy_to(&folder, &act.id)
                .and_then(|()| digest_of(&folder.join(format!("{}.sqlite", act.id))));
            match kept {
                Ok(digest) if digest == act.digest => {}
                Ok(digest) => {
                    self.chronicle.tell("snapshot_differs", format!("{}: {digest} instead of {}", act.id, act.digest))
                }
                Err(error) => self.chronicle.tell("snapshot_failed", format!("{}: {error}", act.id)),
            }
        }
    }

    /// Once a month the mnestome is kept, and copies older than a year are compressed. Called when nothing else is to do.
    ///
    /// # Errors
    /// When it cannot be recorded.
    pub fn monthly(&mut self, teller: Teller) -> Result<()> {
        let now = self.chronicle.now_ms();
        let month = month(now);
        if self.month_looked_at == month {
            return Ok(());
        }
        let oldest = self.mnestome.oldest_ms()?;
        self.month_looked_at.clone_from(&month);
        // In the month in which it began there is nothing yet that could be lost.
        if oldest.is_none_or(|oldest| self::month(oldest) == month) {
            return Ok(());
        }
        let kept = self.mnestome.snapshots()?;
        let folder = self.snapshots_folder();
        for old in kept.iter().filter(|one| one.ts_ms.saturating_add(COMPRESS_AFTER_MS) < now) {
            if let Err(error) = compress(&folder, &old.name) {
                self.chronicle.tell("snapshot_failed", error.to_string());
            }
        }
        if kept.iter().any(|one| one.name == month) {
            return Ok(());
        }
        match self.keeping("snapshot", &month, "kept once a month").and_then(|event| self.checkpoint(teller, &event)) {
            Ok(_) => Ok(()),
            Err(no) => {
                tracing::error!(%no, "the mnestome could not be kept this month");
                Ok(())
            }
        }
    }
}

/// memoryd itself, as the teller of what it does once a month.
#[must_use]
pub const fn itself(session: metnos_proto::ids::SessionId) -> Teller {
    Teller { role: RoleName::Memoryd, session }
}
