//! What the owner decides about the mnestome: each act is checked against what it is now, and becomes a line of the
//! chronicle. The mnestome follows from that line.

use metnos_proto::msg::common::RefusalCode;
use metnos_proto::msg::memoryd::{MAX_TAG, MAX_WHY, OwnersAct, Reasoned, Tagged, TurnJudged};

use super::super::journal::{Answer, refused};
use super::Usage;
use crate::chronicle::payload::Checkpoint;
use crate::mnestome::fitness::Word;
use crate::mnestome::graph::Mnest;
use crate::mnestome::judged::JUDGE;

/// The longest name of a snapshot, in bytes.
pub const MAX_SNAPSHOT_NAME: usize = 64;

fn invalid(rule: &str, why: impl Into<String>) -> metnos_proto::edge::ServeError {
    refused(RefusalCode::Invalid, rule, why)
}

fn reasoned(act: &Reasoned) -> Answer<()> {
    if act.why.trim().is_empty() || act.why.len() > MAX_WHY {
        return Err(invalid("mnest.why", format!("a reason of at most {MAX_WHY} bytes is needed")));
    }
    Ok(())
}

fn act_of(name: &str, id: &str, why: &str) -> Checkpoint {
    Checkpoint {
        act: name.to_owned(),
        at_seq: 0,
        digest: String::new(),
        id: id.to_owned(),
        tag: String::new(),
        why: why.to_owned(),
    }
}

impl Usage {
    /// The line that an act of the owner becomes. `next` is the number of the next line of the chronicle.
    ///
    /// # Errors
    /// When there is no such mnest, proposal or snapshot, or the act makes no sense as things are.
    pub(in crate::memory) fn decided(&self, act: &OwnersAct, next: u64) -> Answer<Checkpoint> {
        match act {
            OwnersAct::Tag(tagged) => self.tagging("tag", tagged),
            OwnersAct::Untag(tagged) => self.tagging("untag", tagged),
            OwnersAct::Archive(one) => self.moving("archive", one, &["active", "decaying", "superseded"]),
            OwnersAct::Restore(one) => self.moving("restore", one, &["archived", "superseded"]),
            OwnersAct::Decline(one) => self.declining(one),
            OwnersAct::Freeze(one) => self.freezing(true, one, next),
            OwnersAct::Defrost(one) => self.freezing(false, one, next),
            OwnersAct::Snapshot(one) => {
                reasoned(one)?;
                let name = if one.id.is_empty() { format!("kept-{}", next) } else { one.id.clone() };
                self.keeping("snapshot", &name, &one.why)
            }
            OwnersAct::Judge(one) => self.judging(one),
            OwnersAct::Rollback(one) => self.returning(one),
        }
    }

    fn returning(&self, word: &Reasoned) -> Answer<Checkpoint> {
        reasoned(word)?;
        let unknown = || refused(RefusalCode::Unknown, "mnest.snapshot", format!("there is no snapshot `{}`", word.id));
        let to = self.mnestome.snapshots()?.into_iter().find(|one| one.name == word.id).ok_or_else(unknown)?;
        Ok(Checkpoint { at_seq: to.at_seq, digest: to.digest, ..act_of("rollback", &to.name, &word.why) })
    }

    fn known(&self, id: &str) -> Answer<Mnest> {
        let unknown = || refused(RefusalCode::Unknown, "mnest.unknown", format!("there is no mnest `{id}`"));
        self.mnestome.one(id)?.ok_or_else(unknown)
    }

    fn tagging(&self, name: &str, word: &Tagged) -> Answer<Checkpoint> {
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
        Ok(Checkpoint { tag: word.tag.clone(), ..act_of(name, &word.id, "") })
    }

    fn judging(&self, word: &TurnJudged) -> Answer<Checkpoint> {
        if !self.mnestome.can_be_judged(word.turn)? {
            let why =
                format!("turn {} is none that has called something and is over, or it is too long ago", word.turn);
            return Err(refused(RefusalCode::Unknown, "feedback.turn", why));
        }
        let said = if word.good { Word::Good } else { Word::Bad };
        Ok(Checkpoint { tag: said.name().to_owned(), ..act_of(JUDGE, &word.turn.to_string(), "") })
    }

    fn moving(&self, name: &str, word: &Reasoned, from: &[&str]) -> Answer<Checkpoint> {
        reasoned(word)?;
        let known = self.known(&word.id)?;
        if !from.contains(&known.state.as_str()) {
            return Err(invalid(
                "mnest.state",
                format!("{} is {}, so there is nothing to {name}", word.id, known.state),
            ));
        }
        Ok(act_of(name, &word.id, &word.why))
    }

    fn declining(&self, word: &Reasoned) -> Answer<Checkpoint> {
        reasoned(word)?;
        if !self.mnestome.proposals()?.iter().any(|one| one.id == word.id && one.state == "open") {
            let why = format!("there is no open proposal `{}`", word.id);
            return Err(refused(RefusalCode::Unknown, "mnest.proposal", why));
        }
        Ok(act_of("decline", &word.id, &word.why))
    }

    fn freezing(&self, frozen: bool, word: &Reasoned, next: u64) -> Answer<Checkpoint> {
        reasoned(word)?;
        if self.mnestome.is_frozen() == frozen {
            let why = if frozen { "the clock of use stands still already" } else { "the clock of use is running" };
            return Err(invalid("mnest.frozen", why));
        }
        if frozen {
            return self.keeping("freeze", &format!("frozen-{next}"), &word.why);
        }
        Ok(act_of("defrost", "", &word.why))
    }

    /// What is kept now, and under which name.
    pub(in crate::memory) fn keeping(&self, what: &str, name: &str, why: &str) -> Answer<Checkpoint> {
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
        Ok(Checkpoint { at_seq, digest, ..act_of(what, name, why) })
    }
}
