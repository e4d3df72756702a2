//! Documents about people: who is known, who waits, and how far each goes without asking.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::nullable;
use crate::msg::common;
use crate::{document, names};

names! {
    /// What a principal is to the instance.
    pub enum Standing {
        /// The owner.
        Owner = "owner",
        /// A grown-up member of the household.
        Adult = "adult",
        /// Paired by the owner.
        Guest = "guest",
        /// Not known.
        Stranger = "stranger",
    }
}

impl From<common::Standing> for Standing {
    fn from(standing: common::Standing) -> Self {
        match standing {
            common::Standing::Owner => Self::Owner,
            common::Standing::Adult => Self::Adult,
            common::Standing::Guest => Self::Guest,
            common::Standing::Stranger => Self::Stranger,
        }
    }
}

names! {
    /// What a person is in the household.
    pub enum Role {
        /// The owner of the instance.
        Owner = "owner",
        /// A grown-up member of the household.
        Adult = "adult",
        /// A child of the household.
        Child = "child",
        /// Somebody from outside.
        Guest = "guest",
    }
}

impl From<common::Role> for Role {
    fn from(role: common::Role) -> Self {
        match role {
            common::Role::Owner => Self::Owner,
            common::Role::Adult => Self::Adult,
            common::Role::Child => Self::Child,
            common::Role::Guest => Self::Guest,
        }
    }
}

names! {
    /// How far a principal goes without asking.
    pub enum Level {
        /// It reads only.
        ReadOnly = "readonly",
        /// It asks before what cannot be undone.
        Supervised = "supervised",
        /// It asks only where a rule always asks.
        Full = "full",
    }
}

impl From<common::Level> for Level {
    fn from(level: common::Level) -> Self {
        match level {
            common::Level::ReadOnly => Self::ReadOnly,
            common::Level::Supervised => Self::Supervised,
            common::Level::Full => Self::Full,
        }
    }
}

names! {
    /// A language that Metnos speaks.
    pub enum Lang {
        /// English.
        En = "en",
        /// Italian.
        It = "it",
    }
}

impl From<common::Lang> for Lang {
    fn from(lang: common::Lang) -> Self {
        match lang {
            common::Lang::En => Self::En,
            common::Lang::It => Self::It,
        }
    }
}

impl From<Lang> for common::Lang {
    fn from(lang: Lang) -> Self {
        match lang {
            Lang::En => Self::En,
            Lang::It => Self::It,
        }
    }
}

/// What an ask about pairing brings: one form an ask.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum PairingAnswer {
    /// Who is known, who waits, which invitations are open.
    People(PeopleList),
    /// The code of a new invitation.
    Invited(Invitation),
    /// A principal is a stranger again.
    Revoked(Unpaired),
    /// A stranger is known from now on.
    Known(PrincipalPaired),
    /// The language of a principal was set.
    Speaks(LanguageSet),
}

/// Who is known beside the owner, who waits, and which invitations are open.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PeopleList {
    /// Who was paired.
    pub known: Vec<KnownPrincipal>,
    /// Strangers whose code can be approved.
    pub waiting: Vec<WaitingStranger>,
    /// Codes that were given away and not used yet.
    pub invitations: Vec<OpenInvitation>,
}

/// A principal who was paired.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct KnownPrincipal {
    /// `channel:sender`.
    pub principal: String,
    /// What it was paired as.
    pub standing: Standing,
    /// Since when, in milliseconds since the epoch.
    pub since_ms: u64,
    /// The language it is spoken to in.
    pub lang: Lang,
    /// The name of the person who speaks there; null where nobody has said so.
    #[serde(deserialize_with = "nullable")]
    pub person: Option<String>,
}

/// A stranger whose code can be approved.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WaitingStranger {
    /// The channel.
    pub channel: String,
    /// As the channel names the sender.
    pub sender: String,
    /// How long the code is still good.
    pub seconds: u64,
}

/// A code that was given away and not used yet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OpenInvitation {
    /// The channel on which it counts.
    pub channel: String,
    /// What its bearer becomes.
    pub standing: Standing,
    /// How long it is still good.
    pub seconds: u64,
}

/// A stranger is known from now on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PrincipalPaired {
    /// `channel:sender`.
    pub principal: String,
    /// What it was paired as.
    pub standing: Standing,
}

/// The code of a new invitation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Invitation {
    /// As `K7-DELTA-19`.
    pub code: String,
    /// The channel on which it counts.
    pub channel: String,
    /// What its bearer becomes.
    pub standing: Standing,
    /// How long it is good.
    pub seconds: u64,
}

/// The language in which a principal is spoken to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LanguageSet {
    /// `channel:sender`.
    pub principal: String,
    /// The language.
    pub lang: Lang,
}

/// A principal is known no more: a person who was paired, or a hook or timer that was removed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Unpaired {
    /// `channel:sender`.
    pub principal: String,
    /// What it is now.
    pub standing: Standing,
    /// How many of its turns were ended.
    pub turns_ended: u64,
}

/// What an ask about persons brings: one form an ask.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum PersonsAnswer {
    /// Everybody.
    Persons(PersonList),
    /// The one that was added or changed.
    Person(PersonView),
    /// The one that is gone.
    Removed(PersonRemoved),
}

/// A broken seal: the owner may read what is kept of this person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BrokenSeal {
    /// Whose: the name, or `channel:sender` of somebody without one.
    pub who: String,
    /// The principals of this person, each of which was told.
    pub principals: Vec<String>,
    /// Why, as the person was told.
    pub why: String,
    /// Until when, in milliseconds since the epoch.
    pub until_ms: u64,
}

/// Every broken seal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct BrokenSeals(pub Vec<BrokenSeal>);

/// The persons of the household, and others who are known by name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct PersonList(pub Vec<PersonView>);

/// A person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PersonView {
    /// What everybody calls this person.
    pub name: String,
    /// What this person is in the household.
    pub role: Role,
    /// What else the others say: `mum`, `mamma`.
    pub also: Vec<String>,
    /// Where this person speaks, each as `channel:sender`.
    pub principals: Vec<String>,
    /// Which of them gets what others send; null where this person speaks nowhere.
    #[serde(deserialize_with = "nullable")]
    pub reached_at: Option<String>,
    /// When this person is not disturbed by what others send: `22:00-7:00`; null for never.
    #[serde(deserialize_with = "nullable")]
    pub quiet: Option<String>,
    /// Where this person wants to be told things: `telegram`, `cli`, `http`; null without a choice.
    #[serde(deserialize_with = "nullable")]
    pub channel: Option<String>,
    /// The executors that a child calls without asking, in the folders that the child reads.
    pub may_call: Vec<String>,
    /// The private folder, from the workspace on: `people/anna`; null for a guest, who has none.
    #[serde(deserialize_with = "nullable")]
    pub folder: Option<String>,
    /// Since when, in milliseconds since the epoch.
    pub since_ms: u64,
}

/// A person who is known no more.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PersonRemoved {
    /// The name.
    pub name: String,
    /// Where this person spoke: nobody is heard there any more.
    pub revoked: Vec<String>,
    /// How many turns were ended.
    pub turns_ended: u64,
}

/// What an ask about levels brings: one form an ask.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum AutonomyAnswer {
    /// Every principal with a level of its own.
    Levels(Vec<PrincipalLevel>),
    /// The level that was set.
    Set(LevelSet),
}

/// The level of a principal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PrincipalLevel {
    /// `channel:sender`.
    pub principal: String,
    /// What it is to the instance.
    pub standing: Standing,
    /// How far it goes without asking.
    pub level: Level,
    /// Until when that holds, in milliseconds since the epoch; null for good.
    #[serde(deserialize_with = "nullable")]
    pub raised_until_ms: Option<u64>,
}

/// A level that was set.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LevelSet {
    /// `channel:sender`.
    pub principal: String,
    /// How far it goes without asking.
    pub level: Level,
    /// Until when that holds, in milliseconds since the epoch; null for good.
    #[serde(deserialize_with = "nullable")]
    pub raised_until_ms: Option<u64>,
}

document!(PairingAnswer, AutonomyAnswer, PersonsAnswer, BrokenSeals);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doc::testing::round_trip;

    #[test]
    fn people_documents_keep_every_key_and_miss_none() {
        round_trip::<PairingAnswer>(&[
            r#"{"known": [], "waiting": [], "invitations": []}"#,
            r#"{"known": [{"principal": "telegram:7", "standing": "guest", "since_ms": 1, "lang": "it", "person": null}],
                "waiting": [{"channel": "telegram", "sender": "8", "seconds": 600}],
                "invitations": [{"channel": "http", "standing": "owner", "seconds": 1}]}"#,
            r#"{"principal": "telegram:7", "standing": "stranger", "turns_ended": 0}"#,
            r#"{"code": "K7-DELTA-19", "channel": "http", "standing": "guest", "seconds": 600}"#,
            r#"{"principal": "telegram:7", "lang": "en"}"#,
        ]);
        round_trip::<PrincipalPaired>(&[r#"{"principal": "telegram:7", "standing": "guest"}"#]);
        round_trip::<PersonsAnswer>(&[
            "[]",
            r#"{"name": "Anna", "role": "owner", "also": ["mum"], "principals": ["cli:uid:1"], "reached_at": "cli:uid:1",
                "quiet": "22:00-7:00", "channel": "telegram", "may_call": [], "folder": "people/anna", "since_ms": 1}"#,
            r#"{"name": "Luca", "revoked": ["telegram:7"], "turns_ended": 0}"#,
        ]);
        round_trip::<AutonomyAnswer>(&[
            "[]",
            r#"[{"principal": "cli:uid:1", "standing": "owner", "level": "full", "raised_until_ms": 5}]"#,
            r#"{"principal": "cli:uid:1", "level": "readonly", "raised_until_ms": null}"#,
        ]);
    }
}
