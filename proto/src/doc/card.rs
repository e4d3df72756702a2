//! Documents about cards: what waits for a person's word, as policyd shows it on every channel.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::grant::Target;
use super::nullable;
use super::people::Lang;
use super::policy::ArgumentSource;
use crate::ids::TurnId;
use crate::msg::policyd::CardWaits;
use crate::{document, names};

names! {
    /// How a card stands.
    pub enum CardState {
        /// Nobody has answered.
        Waiting = "waiting",
        /// The owner has said yes.
        Approved = "approved",
        /// The owner has said no.
        Denied = "denied",
        /// Nobody has answered in time.
        Expired = "expired",
    }
}

/// How the answer to an offer is called where it was taken: it is planned.
pub const PLANNED: &str = "planned";
/// The same where it was not.
pub const DECLINED: &str = "declined";

/// Cards.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct CardList(pub Vec<CardView>);

/// A card as it is shown.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Card")]
pub struct CardView {
    /// Its name.
    pub id: String,
    /// Who asked: `channel:sender`.
    pub principal: String,
    /// The turn in which it was asked.
    pub turn: String,
    /// What waits, in the order in which it was asked for.
    pub acts: Vec<ActView>,
    /// Whether an answer counts only at the machine, or with a one-time code.
    pub hard: bool,
    /// When it was made, or last added to, in milliseconds since the epoch.
    pub made_ms: u64,
    /// Until when it can be answered, in milliseconds since the epoch.
    pub expires_ms: u64,
    /// What an answer must name.
    pub digest: String,
    /// How it stands.
    pub state: CardState,
    /// Who answered; empty as long as nobody has.
    pub answered_by: String,
    /// How many of the acts were begun.
    pub begun: u64,
    /// The language in which it is to be shown.
    pub lang: Lang,
    /// Whether somebody else than the owner asked; where that is told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub others: Option<bool>,
    /// The name of the person who asked, if the principal belongs to a person other than the owner.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub person: Option<String>,
    /// Whether an answer counts on the channel where it is shown; where that is told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub here: Option<bool>,
    /// What Metnos offers to do unasked, where the card is an offer: it has no acts then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offer: Option<HabitOffer>,
}

/// What a person has asked day after day at about the same hour, and is offered to be answered unasked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HabitOffer {
    /// What would be asked then, in the person's own words.
    pub what: String,
    /// When, in words: "every day at 7:30".
    pub when: String,
    /// At about which time of day it was asked, as a clock shows it.
    pub time: String,
    /// On how many days.
    pub days: u32,
    /// The language of these words.
    pub lang: Lang,
}

/// One act that waits.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "CardAct")]
pub struct ActView {
    /// The executor.
    pub executor: String,
    /// Its version.
    pub version: String,
    /// The digests of what was signed of it: manifest, code, schema, profile.
    pub signed: Vec<String>,
    /// The arguments, exactly as they would be used.
    pub arguments: Value,
    /// What kind of effect it has.
    pub class: String,
    /// Whether that can be undone.
    pub reversible: bool,
    /// The rule that asks.
    pub rule: String,
    /// Why it asks.
    pub why: String,
    /// Where each argument comes from.
    pub fields: Vec<ArgumentSource>,
    /// What would be touched, as counted before.
    #[serde(deserialize_with = "nullable")]
    pub count: Option<TouchCount>,
    /// What one call of it costs, in millionths.
    pub cost_micro: u64,
    /// Where each path leads.
    pub targets: Vec<PathTarget>,
    /// What "always" would mean; null where that cannot be said.
    #[serde(deserialize_with = "nullable")]
    pub always: Option<Vec<Target>>,
}

/// What an act would touch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TouchCount {
    /// Files.
    pub files: u64,
    /// Folders.
    pub folders: u64,
    /// Bytes in the files.
    pub bytes: u64,
    /// Folders of these whose contents no call sees, and which are not counted therefore.
    pub covered: u64,
}

/// Where one path leads.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PathTarget {
    /// The argument.
    pub pointer: String,
    /// Below the workspace, or absolute.
    pub path: String,
}

document!(CardList, CardView);

impl CardView {
    /// The note that shows this card to whoever is in this turn.
    #[must_use]
    pub fn note(&self, turn: TurnId) -> CardWaits {
        let shown = serde_json::to_string(self).unwrap_or_default();
        CardWaits { turn, id: self.id.clone(), digest: self.digest.clone(), shown }
    }
}

impl CardWaits {
    /// The card that the note brings; none when it was too long for it.
    #[must_use]
    pub fn card(&self) -> Option<CardView> {
        serde_json::from_str(&self.shown).ok()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::doc::testing::round_trip;

    fn card() -> String {
        let act = r#"{"executor": "e", "version": "1.0.0", "signed": ["a"], "arguments": {"path": "p"}, "class": "write",
            "reversible": true, "rule": "r", "why": "w",
            "fields": [{"pointer": "/path", "role": "path", "label": "trusted", "source": "intent"}],
            "count": {"files": 1, "folders": 2, "bytes": 3, "covered": 4}, "cost_micro": 5,
            "targets": [{"pointer": "/path", "path": "p"}], "always": [{"pointer": "/path", "within": "/w"}]}"#;
        let bare = act
            .replace(r#"{"files": 1, "folders": 2, "bytes": 3, "covered": 4}"#, "null")
            .replace(r#"[{"pointer": "/path", "within": "/w"}]"#, "null");
        round_trip::<ActView>(&[act, &bare]);
        format!(
            r#"{{"id": "a", "principal": "p", "turn": "t", "acts": [{act}, {bare}], "hard": false, "made_ms": 1,
                "expires_ms": 2, "digest": "d", "state": "expired", "answered_by": "", "begun": 3, "lang": "it",
                "others": true, "person": "Giulia", "here": false, "offer": {OFFER}}}"#
        )
    }

    const OFFER: &str =
        r#"{"what": "what is planned", "when": "every day at 7:30", "time": "7:30", "days": 5, "lang": "en"}"#;

    #[test]
    fn card_documents_keep_every_key_and_miss_none() {
        round_trip::<CardView>(&[&card()]);
        round_trip::<CardList>(&["[]", &format!("[{}]", card())]);
        round_trip::<HabitOffer>(&[OFFER]);
        round_trip::<TouchCount>(&[r#"{"files": 1, "folders": 2, "bytes": 3, "covered": 4}"#]);
        round_trip::<PathTarget>(&[r#"{"pointer": "/path", "path": "p"}"#]);
    }

    #[test]
    fn card_of_a_note_that_was_cut_is_none() {
        let waits = |shown: String| CardWaits { turn: TurnId::NONE, id: "a".into(), digest: "d".into(), shown };
        let whole = waits(card());
        let read = whole.card().unwrap();
        assert_eq!(read.note(TurnId::NONE).card(), Some(read));
        assert_eq!(waits(whole.shown[..40].to_owned()).card(), None);
    }
}
