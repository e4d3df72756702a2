//! What the owner has said for longer than once: always, or never, for one executor as it was signed and
//! one target. A word that is stored answers a question; it never goes above a denial, and it is silent
//! on whatever must be asked each time (design: policy §2, §4).

use metnos_policy::call::paths::{self, Places};
use metnos_policy::call::spec::{Effect, Spec, is_critical};
use metnos_proto::doc::grant::{GrantRow, Says, Target as ShownTarget, TargetIs, TargetWithin};
use metnos_proto::executor::{Class, Role};
use metnos_proto::ids::TurnId;
use metnos_proto::json::child;
use metnos_proto::msg::common::{ExecutorDigests, ExecutorId};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// How long "always" lasts when nothing else is said, in days.
pub const DAYS: u16 = 30;
/// The longest that it can be made to last, in days.
pub const MAX_DAYS: u16 = 365;
/// The most stored words.
pub const MAX_GRANTS: usize = 256;
/// The most uses of a word for one turn.
pub const MAX_PER_TURN: u32 = 16;
/// What one argument must be.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Target {
    /// Exactly this.
    Is(Value),
    /// A path in this folder, absolute.
    Within(String),
}

/// For which arguments a stored word speaks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Scope {
    /// By pointer: every critical argument and every flag; payloads are not in it.
    pub targets: Vec<(String, Target)>,
}

impl Scope {
    /// The scope that the arguments of an act suggest: paths as the folder they lie in, everything else
    /// exactly as it is.
    #[must_use]
    pub fn of(spec: &Spec, value: &Value, places: &Places) -> Self {
        let target = |pointer: &str, value: &Value| match (spec.role(pointer), value.as_str()) {
            (Role::Path, Some(text)) => Target::Within(parent(&paths::resolve(text, places).path).to_owned()),
            _ => Target::Is(value.clone()),
        };
        let targets =
            pointed(spec, value).into_iter().map(|(pointer, value)| (pointer.clone(), target(&pointer, value)));
        Self { targets: targets.collect() }
    }

    /// Whether these arguments are within it: the same places, and in each what it says.
    #[must_use]
    pub fn covers(&self, spec: &Spec, value: &Value, places: &Places) -> bool {
        let found = pointed(spec, value);
        found.len() == self.targets.len()
            && found.iter().all(|(pointer, value)| {
                self.targets.iter().any(|(name, target)| name == pointer && target.admits(value, places))
            })
    }

    /// For people.
    #[must_use]
    pub fn document(&self) -> Vec<ShownTarget> {
        let one = |(pointer, target): &(String, Target)| match target {
            Target::Is(is) => ShownTarget::Is(TargetIs { pointer: pointer.clone(), is: is.clone() }),
            Target::Within(within) => {
                ShownTarget::Within(TargetWithin { pointer: pointer.clone(), within: within.clone() })
            }
        };
        self.targets.iter().map(one).collect()
    }
}

impl Target {
    fn admits(&self, value: &Value, places: &Places) -> bool {
        match self {
            Self::Is(wanted) => wanted == value,
            Self::Within(folder) => value.as_str().is_some_and(|text| {
                let resolved = paths::resolve(text, places);
                !resolved.climbs && paths::within(&resolved.path, folder) && resolved.path != *folder
            }),
        }
    }
}

fn parent(path: &str) -> &str {
    path.rsplit_once('/').map_or("/", |(folder, _)| if folder.is_empty() { "/" } else { folder })
}

/// The atoms of a document that say what an act is about, with their pointers.
fn pointed<'a>(spec: &Spec, value: &'a Value) -> Vec<(String, &'a Value)> {
    let leaves = spec.effect == Effect::Of(Class::NetRead);
    let mut found = Vec::new();
    let mut waiting = vec![(String::new(), value)];
    while let Some((pointer, value)) = waiting.pop() {
        match value {
            Value::Object(map) => waiting.extend(map.iter().map(|(name, item)| (child(&pointer, name), item))),
            Value::Array(items) => {
                let items = items.iter().enumerate();
                waiting.extend(items.map(|(at, item)| (child(&pointer, &at.to_string()), item)));
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
                let role = spec.role(&pointer);
                // A request sends everything that is in it.
                if leaves || is_critical(role) || matches!(role, Role::Flag | Role::Argv) {
                    found.push((pointer, value));
                }
            }
        }
    }
    found.sort_by(|one, other| one.0.cmp(&other.0));
    found
}

/// A stored word.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Grant {
    /// Its name: that of the card on which it was given.
    pub id: String,
    /// To whom it was given.
    pub principal: String,
    /// For which executor.
    pub executor: ExecutorId,
    /// What was signed of that: another version asks anew.
    pub digests: ExecutorDigests,
    /// For which arguments.
    pub scope: Scope,
    /// Whether it says yes, or never.
    pub allows: bool,
    /// Only in this turn.
    pub turn: Option<TurnId>,
    /// When it was given, in milliseconds since the epoch.
    pub made_ms: u64,
    /// When it ends.
    pub expires_ms: u64,
    /// How often it has answered since policyd was started.
    #[serde(skip)]
    pub uses: u32,
}

/// A question that a stored word may answer.
#[derive(Debug, Clone, Copy)]
pub struct Question<'a> {
    /// Who asks.
    pub principal: &'a str,
    /// In which turn.
    pub turn: TurnId,
    /// The executor.
    pub executor: &'a ExecutorId,
    /// What was signed of it.
    pub digests: &'a ExecutorDigests,
    /// As the rules read it.
    pub spec: &'a Spec,
    /// The arguments.
    pub value: &'a Value,
    /// Where the instance lives.
    pub places: &'a Places,
    /// When, in milliseconds since the epoch.
    pub now_ms: u64,
}

impl Grant {
    /// Whether it is about such a call. Whether an "always" may answer the question that stands, the decision says.
    #[must_use]
    pub fn answers(&self, question: &Question<'_>) -> bool {
        let holds = question.now_ms < self.expires_ms
            && self.principal == question.principal
            && self.executor == *question.executor
            && self.digests == *question.digests;
        let here = self.turn.is_none_or(|turn| turn == question.turn && self.uses < MAX_PER_TURN);
        holds && here && self.scope.covers(question.spec, question.value, question.places)
    }

    /// For people and programs.
    #[must_use]
    pub fn document(&self) -> GrantRow {
        GrantRow {
            id: self.id.clone(),
            principal: self.principal.clone(),
            executor: self.executor.name.clone(),
            version: self.executor.version.clone(),
            scope: self.scope.document(),
            says: if self.allows { Says::Always } else { Says::Never },
            turn: self.turn.map(|turn| turn.to_string()),
            made_ms: self.made_ms,
            expires_ms: self.expires_ms,
            uses: self.uses,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::approvals::tests::asked;

    fn spec() -> Spec {
        Spec::from_catalogue(
            "fs_move",
            &json!({"effect": "self_modify", "reversible": true,
                    "args": {"path": "path", "to": "path", "force": "flag", "text": "payload"}}),
        )
    }

    fn places() -> Places {
        Places::of_instance("/srv/metnos")
    }

    fn grant(value: &Value) -> Grant {
        Grant {
            id: "a".into(),
            principal: "cli:uid:1000".into(),
            executor: asked().executor,
            digests: asked().digests,
            scope: Scope::of(&spec(), value, &places()),
            allows: true,
            turn: None,
            made_ms: 0,
            expires_ms: 100,
            uses: 0,
        }
    }

    fn answers(grant: &Grant, change: impl Fn(&mut Question<'_>), value: &Value) -> bool {
        let (spec, places, asked) = (spec(), places(), asked());
        let mut question = Question {
            principal: "cli:uid:1000",
            turn: TurnId::NONE,
            executor: &asked.executor,
            digests: &asked.digests,
            spec: &spec,
            value,
            places: &places,
            now_ms: 99,
        };
        change(&mut question);
        grant.answers(&question)
    }

    #[test]
    fn grant_covers_one_folder_executor_and_principal_until_expiry() {
        let given = grant(&json!({"path": "pictures/a.jpg", "to": "pictures/b.jpg", "text": "x"}));
        let same = json!({"path": "pictures/c.jpg", "to": "pictures/sub/d.jpg", "text": "anything"});
        assert!(answers(&given, |_| {}, &same));
        for other in [
            json!({"path": "notes/c.jpg", "to": "pictures/d.jpg"}),
            json!({"path": "pictures/c.jpg", "to": "pictures/../notes/d.jpg"}),
            json!({"path": "pictures/c.jpg", "to": "picturesque/d.jpg"}),
            json!({"path": "pictures/c.jpg", "to": "pictures"}),
            json!({"path": "pictures/c.jpg"}),
            json!({"path": "pictures/c.jpg", "to": "pictures/d.jpg", "force": true}),
        ] {
            assert!(!answers(&given, |_| {}, &other), "{other}");
        }
        assert!(!answers(&given, |question| question.now_ms = 100, &same));
        assert!(!answers(&given, |question| question.principal = "cli:uid:1001", &same));
        let other = ExecutorId { name: "fs_delete".into(), version: "2.0.0".into() };
        assert!(!answers(&Grant { executor: other, ..given.clone() }, |_| {}, &same));
        let mut digests = given.digests.clone();
        digests.code.0[0] ^= 1;
        assert!(!answers(&Grant { digests, ..given }, |_| {}, &same));
    }

    #[test]
    fn a_yes_to_a_request_speaks_for_the_very_same_request() {
        let spec = Spec::from_catalogue("web", &json!({"effect": "net_read", "args": {"url": "url", "q": "query"}}));
        let value = json!({"url": "https://a.example/x", "q": "rome"});
        let given = Grant { scope: Scope::of(&spec, &value, &places()), ..grant(&value) };
        let answers = |value: &Value| given.scope.covers(&spec, value, &places());
        assert!(answers(&value));
        for other in [
            json!({"url": "https://a.example/y", "q": "rome"}),
            json!({"url": "https://a.example/x", "q": "milan"}),
            json!({"url": "https://a.example/x"}),
        ] {
            assert!(!answers(&other), "{other}");
        }
    }

    #[test]
    fn a_word_for_a_turn_ends_with_it_and_after_so_many_uses() {
        let value = json!({"path": "a/b", "to": "a/c"});
        let turn = TurnId::from_bytes([1; 16]);
        let given = Grant { turn: Some(turn), ..grant(&value) };
        assert!(answers(&given, |question| question.turn = turn, &value));
        assert!(!answers(&given, |_| {}, &value), "another turn");
        assert!(!answers(&Grant { uses: MAX_PER_TURN, ..given }, |question| question.turn = turn, &value));
    }
}
