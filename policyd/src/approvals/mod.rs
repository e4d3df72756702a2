//! Cards: acts that wait for the owner's word. A word is bound to the digest of everything
//! that the card shows, good once, for a while, and only from whom the rule names (design:
//! policy §4). The decision itself is pure; what is durable stands in the store.

pub(crate) mod asker;
pub(crate) mod cards;
pub(crate) mod codes;
pub mod grants;
pub(crate) mod matter;
pub(crate) mod showing;
pub mod totp;

use metnos_proto::doc::card::{ActView, CardState as ShownState, CardView, HabitOffer, PathTarget, TouchCount};
use metnos_proto::doc::policy::ArgumentSource;
use metnos_proto::ids::{Blake3, TraceId, TurnId};
use metnos_proto::json;
use metnos_proto::msg::common::{ExecutorDigests, ExecutorId, Lang, Refusal, RefusalCode};
use serde::{Deserialize, Serialize};

use crate::approvals::cards::Cards;
use crate::approvals::codes::Codes;
use crate::approvals::grants::Grants;
use crate::clock::DAY_MS;
use crate::guard::shown;

/// Everything that the owner is asked, has said, and answers with.
#[derive(Debug)]
pub(crate) struct Approvals {
    pub(crate) cards: Cards,
    pub(crate) grants: Grants,
    pub(crate) codes: Codes,
}

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

/// The rule by which what a grown-up of the household would write into the owner's own files asks the owner.
pub const OWNERS_FILES: &str = "adult.core";
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

impl From<Count> for TouchCount {
    fn from(count: Count) -> Self {
        let Count { files, folders, bytes, covered } = count;
        Self { files, folders, bytes, covered }
    }
}

/// One act that waits, or waited.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PendingAct {
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

impl PendingAct {
    /// Everything that is shown of it.
    fn document(&self) -> ActView {
        let digests = &self.digests;
        let parts = [&digests.manifest, &digests.code, &digests.schema, &digests.profile];
        let source = |[pointer, role, label, source]: &[String; 4]| ArgumentSource {
            pointer: pointer.clone(),
            role: role.clone(),
            label: label.clone(),
            source: source.clone(),
        };
        let target = |(pointer, path): &(String, String)| PathTarget { pointer: pointer.clone(), path: path.clone() };
        ActView {
            executor: self.executor.name.clone(),
            version: self.executor.version.clone(),
            signed: parts.iter().map(ToString::to_string).collect(),
            arguments: serde_json::from_str(&self.arguments).unwrap_or_default(),
            class: self.class.clone(),
            reversible: self.reversible,
            rule: self.rule.clone(),
            why: self.why.clone(),
            fields: self.fields.iter().map(source).collect(),
            count: self.count.map(TouchCount::from),
            cost_micro: self.cost_micro,
            targets: self.targets.iter().map(target).collect(),
            always: self.always.as_ref().map(grants::Scope::document),
        }
    }

    /// Whether only the owner at the machine, or a one-time code, may answer: what he himself could not do
    /// without asking is not made possible by a word over the channel that asks.
    #[must_use]
    pub fn is_hard(&self) -> bool {
        matches!(self.rule.as_str(), GUESTS | OWNERS_FILES | "level.readonly")
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
    pub acts: Vec<PendingAct>,
    /// What is offered, where it is an offer: it has no acts then.
    pub offer: Option<HabitOffer>,
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

/// Everything that a card shows, and therefore everything that an answer is about: its digest is that of these.
#[derive(Debug, Serialize)]
struct CardMatter<'a> {
    id: &'a str,
    principal: &'a str,
    turn: String,
    acts: Vec<ActView>,
    hard: bool,
    made_ms: u64,
    expires_ms: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    offer: Option<&'a HabitOffer>,
}

impl Card {
    /// Whether any of its acts is hard.
    #[must_use]
    pub fn is_hard(&self) -> bool {
        self.acts.iter().any(PendingAct::is_hard)
    }

    /// Whether a guest has asked for it, or something from outside that fired a hook.
    #[must_use]
    pub fn is_a_guests(&self) -> bool {
        self.acts.iter().any(|act| act.rule == GUESTS)
    }

    /// Whether it was approved and some of its acts were never begun: those can still be.
    #[must_use]
    pub fn is_half_done(&self, now_ms: u64) -> bool {
        let all = if self.offer.is_some() { 1 } else { self.acts.len() };
        self.state == CardState::Approved && self.begun < all && now_ms < self.expires_ms
    }

    /// The digest that an answer must name.
    #[must_use]
    pub fn digest(&self) -> Blake3 {
        json::digest_of(&CardMatter {
            id: &self.id,
            principal: &self.principal,
            turn: self.turn.to_string(),
            acts: self.acts.iter().map(PendingAct::document).collect(),
            hard: self.is_hard(),
            made_ms: self.made_ms,
            expires_ms: self.expires_ms,
            offer: self.offer.as_ref(),
        })
    }

    /// Whether it can still be answered at `now_ms`.
    #[must_use]
    pub fn is_open(&self, now_ms: u64) -> bool {
        self.state == CardState::Waiting && now_ms < self.expires_ms
    }

    /// How it stands, for people: a card that nobody answered in time is expired.
    #[must_use]
    pub fn standing(&self, now_ms: u64) -> ShownState {
        match self.state {
            CardState::Waiting if now_ms >= self.expires_ms => ShownState::Expired,
            CardState::Waiting => ShownState::Waiting,
            CardState::Approved => ShownState::Approved,
            CardState::Denied => ShownState::Denied,
        }
    }

    /// The card as a document: what it is about, its digest, and how it stands.
    #[must_use]
    pub fn document(&self, now_ms: u64, lang: Lang) -> CardView {
        CardView {
            id: self.id.clone(),
            principal: self.principal.clone(),
            turn: self.turn.to_string(),
            acts: self.acts.iter().map(PendingAct::document).collect(),
            hard: self.is_hard(),
            made_ms: self.made_ms,
            expires_ms: self.expires_ms,
            digest: self.digest().to_string(),
            state: self.standing(now_ms),
            answered_by: self.answered_by.clone(),
            begun: self.begun as u64,
            lang: lang.into(),
            others: None,
            person: None,
            here: None,
            offer: self.offer.clone(),
        }
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

/// How an answer reached policyd.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AnswerPath {
    /// At the machine, on the admin channel.
    Hard,
    /// Over the channel of a principal.
    Soft,
}

/// An answer that does not count.
pub(crate) fn no(rule: &str, why: String) -> Refusal {
    Refusal::new(RefusalCode::Denied, rule, why)
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

    pub(crate) fn asked() -> PendingAct {
        let zero = Blake3([0; 32]);
        PendingAct {
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

    pub(crate) fn offered() -> HabitOffer {
        let (what, when, time) = ("what is planned".into(), "every day at 7:30".into(), "7:30".into());
        HabitOffer { what, when, time, days: 5, lang: Lang::En.into() }
    }

    pub(crate) fn card(id: &str) -> Card {
        Card {
            id: id.into(),
            principal: "cli:uid:1000".into(),
            turn: TurnId::NONE,
            trace: TraceId::NONE,
            acts: vec![asked()],
            offer: None,
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
            PendingAct { executor: ExecutorId { name: "fs_delete".into(), version: "2.0.0".into() }, ..act.clone() },
            PendingAct { digests: ExecutorDigests { code: other, ..act.digests.clone() }, ..act.clone() },
            PendingAct { digests: ExecutorDigests { profile: other, ..act.digests.clone() }, ..act.clone() },
            PendingAct { arguments: r#"{"folder":true,"path":"olf"}"#.into(), ..act.clone() },
            PendingAct { class: "send".into(), ..act.clone() },
            PendingAct { reversible: false, ..act.clone() },
            PendingAct { rule: "x".into(), ..act.clone() },
            PendingAct { why: "x".into(), ..act.clone() },
            PendingAct { fields: Vec::new(), ..act.clone() },
            PendingAct { count: Some(Count { files: 1, folders: 3, bytes: 9, covered: 0 }), ..act.clone() },
            PendingAct { count: Some(Count { files: 681, folders: 3, bytes: 9, covered: 1 }), ..act.clone() },
            PendingAct { count: None, ..act.clone() },
            PendingAct { always: Some(scope), ..act.clone() },
            PendingAct { targets: Vec::new(), ..act.clone() },
        ];
        let mut changed: Vec<Card> = acts.map(|act| Card { acts: vec![act], ..base.clone() }).into();
        changed.extend([
            Card { id: "b".into(), ..base.clone() },
            Card { principal: "cli:uid:1001".into(), ..base.clone() },
            Card { turn: TurnId::from_bytes([1; 16]), ..base.clone() },
            Card { acts: vec![act.clone(), act], ..base.clone() },
            Card { made_ms: 2, ..base.clone() },
            Card { offer: Some(offered()), ..base.clone() },
            Card { offer: Some(HabitOffer { what: "x".into(), ..offered() }), ..base.clone() },
            Card { expires_ms: 2, ..base.clone() },
        ]);
        for card in changed {
            assert_ne!(card.digest(), digest, "{card:?}");
        }
        let answered = Card { state: CardState::Denied, answered_by: "x".into(), begun: 1, ..base };
        assert_eq!(answered.digest(), digest, "how it was answered is not what it is about");
    }

    #[test]
    fn digest_of_a_stored_card_never_changes() {
        let scope = grants::Scope { targets: vec![("/path".into(), grants::Target::Within("/w".into()))] };
        let acts = vec![PendingAct { always: Some(scope), ..asked() }, PendingAct { count: None, ..asked() }];
        let digest = Card { acts, ..card("ab2c-d3ef") }.digest();
        let zero = Blake3([0; 32]);
        let act = |always: &str, count: &str| {
            let fields = r#"[{"label":"trusted","pointer":"/path","role":"path","source":"intent"}]"#;
            format!(
                r#"{{"always":{always},"arguments":{{"folder":true,"path":"old"}},"class":"destroy","cost_micro":0,"count":{count},"executor":"fs_delete","fields":{fields},"reversible":true,"rule":"destroy.many","signed":["{zero}","{zero}","{zero}","{zero}"],"targets":[{{"path":"old","pointer":"/path"}}],"version":"1.0.0","why":"it may be many"}}"#
            )
        };
        let counted = r#"{"bytes":9,"covered":0,"files":681,"folders":3}"#;
        let acts = [act(r#"[{"pointer":"/path","within":"/w"}]"#, counted), act("null", "null")].join(",");
        let matter = format!(
            r#"{{"acts":[{acts}],"expires_ms":601000,"hard":false,"id":"ab2c-d3ef","made_ms":1000,"principal":"cli:uid:1000","turn":"{}"}}"#,
            TurnId::NONE
        );
        assert_eq!(digest, Blake3::of(matter.as_bytes()));
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
