//! Cards: acts that wait for the owner's word. A word is bound to the digest of everything
//! that the card shows, good once, for a while, and only from whom the rule names (design:
//! policy §4). This is the pure core; what is durable stands in the store.

pub(crate) mod answers;
pub(crate) mod cards;
pub mod grants;
pub(crate) mod showing;
pub mod totp;

use metnos_proto::ids::{Blake3, TraceId, TurnId};
use metnos_proto::json;
use metnos_proto::msg::common::{ExecutorDigests, ExecutorId, Refusal, RefusalCode};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::clock::DAY_MS;
use crate::guard::shown;

/// How long a card for a call can be answered, in milliseconds (design: policy §4).
pub const CALL_EXPIRES_MS: u64 = 600_000;
/// The most cards that wait at once.
pub const MAX_WAITING: usize = crate::shares::CARDS.all;
/// How long answered and expired cards are kept for people to look at, in milliseconds.
pub const KEPT_MS: u64 = 7 * DAY_MS;
/// The most bytes of the arguments of all acts that a card can hold.
pub const MAX_ARGUMENTS: usize = 256 << 10;
/// The most acts of one card: the questions of one turn.
pub const MAX_ACTS: usize = metnos_policy::evidence::context::MAX_QUESTIONS as usize;

/// The rule by which whatever a guest would change asks the owner.
pub const GUESTS: &str = "guest.write";

/// Where a card stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CardState {
    /// Nobody has answered.
    Waiting,
    /// The owner has said yes; the act was begun. There is no way back from here.
    Approved,
    /// The owner has said no.
    Denied,
}

impl CardState {
    /// The name in the store and on screen.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Approved => "approved",
            Self::Denied => "denied",
        }
    }

    /// The state of this name.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        [Self::Waiting, Self::Approved, Self::Denied].into_iter().find(|state| state.name() == text)
    }
}

/// What would be touched, counted before the act.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Count {
    /// Files.
    pub files: u64,
    /// Folders.
    pub folders: u64,
    /// Bytes in the files.
    pub bytes: u64,
    /// Folders of these whose contents no call sees, and which are not counted therefore.
    #[serde(default)]
    pub covered: u64,
}

impl Count {
    /// As a document.
    fn document(self) -> Value {
        json!({"files": self.files, "folders": self.folders, "bytes": self.bytes, "covered": self.covered})
    }
}

/// One act that waits, or waited.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Asked {
    /// The executor.
    pub executor: ExecutorId,
    /// What was signed of it when the card was made.
    pub digests: ExecutorDigests,
    /// The arguments, exactly as they would be used.
    pub arguments: String,
    /// What kind of effect it has.
    pub class: String,
    /// Whether that can be undone.
    pub reversible: bool,
    /// The rule that asked.
    pub rule: String,
    /// Why it asks, for a person.
    pub why: String,
    /// Where each argument came from: pointer, role, label, source.
    pub fields: Vec<[String; 4]>,
    /// What would be touched.
    pub count: Option<Count>,
    /// What one call of it costs, in millionths of the budget's money.
    #[serde(default)]
    pub cost_micro: u64,
    /// What "always" would mean; none where that cannot be said.
    pub always: Option<grants::Scope>,
    /// Where each path leads, by pointer: below the workspace, or absolute.
    #[serde(default)]
    pub targets: Vec<(String, String)>,
}

impl Asked {
    /// Everything that is shown of it.
    fn document(&self) -> Value {
        let digests = &self.digests;
        let parts = [&digests.manifest, &digests.code, &digests.schema, &digests.profile];
        json!({
            "executor": self.executor.name, "version": self.executor.version,
            "signed": parts.map(ToString::to_string),
            "arguments": serde_json::from_str::<Value>(&self.arguments).unwrap_or(Value::Null),
            "class": self.class, "reversible": self.reversible, "rule": self.rule, "why": self.why,
            "fields": self.fields.iter().map(|[pointer, role, label, source]| {
                json!({"pointer": pointer, "role": role, "label": label, "source": source})
            }).collect::<Vec<_>>(),
            "count": self.count.map(Count::document),
            "cost_micro": self.cost_micro,
            "targets": self.targets.iter().map(|(pointer, path)| json!({"pointer": pointer, "path": path})).collect::<Vec<_>>(),
            "always": self.always.as_ref().map(grants::Scope::document),
        })
    }

    /// Whether only the owner at the machine, or a one-time code, may answer: what he himself could not do
    /// without asking is not made possible by a word over the channel that asks.
    #[must_use]
    pub fn is_hard(&self) -> bool {
        matches!(self.rule.as_str(), GUESTS | "level.readonly")
    }
}

/// Acts that wait together, or waited.
#[derive(Debug, Clone, PartialEq)]
pub struct Card {
    /// Its name: short, and no secret.
    pub id: String,
    /// Who asked.
    pub principal: String,
    /// The turn in which it was asked.
    pub turn: TurnId,
    /// That turn's trace.
    pub trace: TraceId,
    /// What waits, in the order in which it was asked for.
    pub acts: Vec<Asked>,
    /// When it was made, or last added to, in milliseconds since the epoch.
    pub made_ms: u64,
    /// Until when it can be answered.
    pub expires_ms: u64,
    /// Where it stands.
    pub state: CardState,
    /// Who answered; empty as long as nobody has.
    pub answered_by: String,
    /// How many of the acts were begun.
    pub begun: usize,
}

impl Card {
    /// Everything that the card shows, and therefore everything that an answer is about.
    #[must_use]
    pub fn act(&self) -> Value {
        json!({
            "id": self.id, "principal": self.principal, "turn": self.turn.to_string(),
            "acts": self.acts.iter().map(Asked::document).collect::<Vec<_>>(), "hard": self.is_hard(),
            "made_ms": self.made_ms, "expires_ms": self.expires_ms,
        })
    }

    /// Whether any of its acts is hard.
    #[must_use]
    pub fn is_hard(&self) -> bool {
        self.acts.iter().any(Asked::is_hard)
    }

    /// Whether a guest has asked for it, or something from outside that fired a hook.
    #[must_use]
    pub fn is_a_guests(&self) -> bool {
        self.acts.iter().any(|act| act.rule == GUESTS)
    }

    /// Whether it was approved and some of its acts were never begun: those can still be.
    #[must_use]
    pub fn is_half_done(&self, now_ms: u64) -> bool {
        self.state == CardState::Approved && self.begun < self.acts.len() && now_ms < self.expires_ms
    }

    /// The digest that an answer must name.
    #[must_use]
    pub fn digest(&self) -> Blake3 {
        json::digest(&self.act())
    }

    /// Whether it can still be answered at `now_ms`.
    #[must_use]
    pub fn is_open(&self, now_ms: u64) -> bool {
        self.state == CardState::Waiting && now_ms < self.expires_ms
    }

    /// How it stands, for people: a card that nobody answered in time is expired.
    #[must_use]
    pub fn standing(&self, now_ms: u64) -> &'static str {
        match self.state {
            CardState::Waiting if now_ms >= self.expires_ms => "expired",
            state @ (CardState::Waiting | CardState::Approved | CardState::Denied) => state.name(),
        }
    }

    /// The card as a document: what it is about, its digest, and how it stands.
    #[must_use]
    pub fn document(&self, now_ms: u64) -> Value {
        let mut document = self.act();
        if let Value::Object(map) = &mut document {
            map.insert("digest".into(), json!(self.digest().to_string()));
            map.insert("state".into(), json!(self.standing(now_ms)));
            map.insert("answered_by".into(), json!(self.answered_by));
            map.insert("begun".into(), json!(self.begun));
        }
        document
    }

    /// Whether an answer that names `digest` may be taken now.
    ///
    /// # Errors
    /// The refusal: stale, altered, already answered. Nothing follows from any of them.
    pub fn admits(&self, digest: &str, now_ms: u64) -> Result<(), Refusal> {
        let no = |rule: &str, why: String| Err(Refusal::new(RefusalCode::Denied, rule, why));
        match self.state {
            CardState::Waiting if now_ms >= self.expires_ms => {
                no("approvals.expired", format!("the card {} has expired; nothing was done", self.id))
            }
            CardState::Waiting if digest != self.digest().to_string() => {
                let why = format!("what was answered is not what the card {} is about; nothing was done", self.id);
                no("approvals.altered", why)
            }
            CardState::Waiting => Ok(()),
            // What was approved and never begun is gone on with, on the very same word.
            CardState::Approved if self.is_half_done(now_ms) && digest == self.digest().to_string() => Ok(()),
            CardState::Approved | CardState::Denied => no(
                "approvals.answered",
                format!("the card {} was {} already; nothing was done", self.id, self.state.name()),
            ),
        }
    }
}

/// What is said about a card that there is not.
#[must_use]
pub fn unknown(id: &str) -> Refusal {
    Refusal::new(RefusalCode::Unknown, "approvals.unknown", format!("there is no card {}", shown(id)))
        .remedy("`metnosctl approval list` shows those that wait")
}

/// A name for a card: short enough to be typed.
#[must_use]
pub fn name_of(random: [u8; 5]) -> String {
    const LETTERS: &[u8; 32] = b"abcdefghjkmnpqrstuvwxyz023456789";
    let mut bits = random.iter().fold(0_u64, |bits, byte| bits << 8 | u64::from(*byte));
    let mut name = String::new();
    for at in 0..8 {
        if at == 4 {
            name.push('-');
        }
        let letter = usize::try_from(bits & 31).ok().and_then(|index| LETTERS.get(index)).copied().unwrap_or(b'a');
        name.push(char::from(letter));
        bits >>= 5;
    }
    name
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use proptest::prelude::*;

    pub(crate) fn asked() -> Asked {
        let zero = Blake3([0; 32]);
        Asked {
            executor: ExecutorId { name: "fs_delete".into(), version: "1.0.0".into() },
            digests: ExecutorDigests { manifest: zero, code: zero, schema: zero, profile: zero },
            arguments: r#"{"folder":true,"path":"old"}"#.into(),
            class: "destroy".into(),
            reversible: true,
            rule: "destroy.many".into(),
            why: "it may be many".into(),
            fields: vec![["/path".into(), "path".into(), "trusted".into(), "intent".into()]],
            count: Some(Count { files: 681, folders: 3, bytes: 9, covered: 0 }),
            cost_micro: 0,
            always: None,
            targets: vec![("/path".into(), "old".into())],
        }
    }

    pub(crate) fn card(id: &str) -> Card {
        Card {
            id: id.into(),
            principal: "cli:uid:1000".into(),
            turn: TurnId::NONE,
            trace: TraceId::NONE,
            acts: vec![asked()],
            made_ms: 1_000,
            expires_ms: 1_000 + CALL_EXPIRES_MS,
            state: CardState::Waiting,
            answered_by: String::new(),
            begun: 0,
        }
    }

    fn rule(card: &Card, digest: &str, now_ms: u64) -> String {
        card.admits(digest, now_ms).err().map_or("admitted".into(), |refusal| refusal.rule)
    }

    #[test]
    fn an_answer_counts_once_in_time_and_for_exactly_this() {
        let fine = card("a");
        let digest = fine.digest().to_string();
        assert_eq!(rule(&fine, &digest, 1_000), "admitted");
        assert_eq!(rule(&fine, &digest, fine.expires_ms - 1), "admitted");
        assert_eq!(rule(&fine, &digest, fine.expires_ms), "approvals.expired");
        assert_eq!(rule(&fine, "", 1_000), "approvals.altered");
        for state in [CardState::Approved, CardState::Denied] {
            assert_eq!(rule(&Card { state, begun: 1, ..fine.clone() }, &digest, 1_000), "approvals.answered");
        }
    }

    #[test]
    fn the_digest_covers_everything_that_the_card_shows() {
        let (base, act) = (card("a"), asked());
        let digest = base.digest();
        let other = Blake3([1; 32]);
        let scope = grants::Scope { targets: vec![("/path".into(), grants::Target::Within("/w/old".into()))] };
        let acts = [
            Asked { executor: ExecutorId { name: "fs_delete".into(), version: "2.0.0".into() }, ..act.clone() },
            Asked { digests: ExecutorDigests { code: other, ..act.digests.clone() }, ..act.clone() },
            Asked { digests: ExecutorDigests { profile: other, ..act.digests.clone() }, ..act.clone() },
            Asked { arguments: r#"{"folder":true,"path":"olf"}"#.into(), ..act.clone() },
            Asked { class: "send".into(), ..act.clone() },
            Asked { reversible: false, ..act.clone() },
            Asked { rule: "x".into(), ..act.clone() },
            Asked { why: "x".into(), ..act.clone() },
            Asked { fields: Vec::new(), ..act.clone() },
            Asked { count: Some(Count { files: 1, folders: 3, bytes: 9, covered: 0 }), ..act.clone() },
            Asked { count: Some(Count { files: 681, folders: 3, bytes: 9, covered: 1 }), ..act.clone() },
            Asked { count: None, ..act.clone() },
            Asked { always: Some(scope), ..act.clone() },
            Asked { targets: Vec::new(), ..act.clone() },
        ];
        let mut changed: Vec<Card> = acts.map(|act| Card { acts: vec![act], ..base.clone() }).into();
        changed.extend([
            Card { id: "b".into(), ..base.clone() },
            Card { principal: "cli:uid:1001".into(), ..base.clone() },
            Card { turn: TurnId::from_bytes([1; 16]), ..base.clone() },
            Card { acts: vec![act.clone(), act], ..base.clone() },
            Card { made_ms: 2, ..base.clone() },
            Card { expires_ms: 2, ..base.clone() },
        ]);
        for card in changed {
            assert_ne!(card.digest(), digest, "{card:?}");
        }
        let answered = Card { state: CardState::Denied, answered_by: "x".into(), begun: 1, ..base };
        assert_eq!(answered.digest(), digest, "how it was answered is not what it is about");
    }

    #[test]
    fn only_approved_unbegun_acts_continue_after_restart() {
        let two = Card { acts: vec![asked(), asked()], state: CardState::Approved, begun: 1, ..card("a") };
        let digest = two.digest().to_string();
        assert_eq!(rule(&two, &digest, 1_000), "admitted");
        assert_eq!(rule(&two, "other", 1_000), "approvals.answered");
        assert_eq!(rule(&two, &digest, two.expires_ms), "approvals.answered");
        assert_eq!(rule(&Card { begun: 2, ..two }, &digest, 1_000), "approvals.answered");
    }

    proptest! {
        #[test]
        fn names_are_short_and_plain(random in any::<[u8; 5]>()) {
            let name = name_of(random);
            prop_assert_eq!(name.len(), 9);
            prop_assert!(name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-'));
        }

        #[test]
        fn nothing_but_the_digest_is_taken(digest in "\\PC{0,80}", now in any::<u64>()) {
            prop_assert!(card("a").admits(&digest, now).is_err());
        }
    }
}
