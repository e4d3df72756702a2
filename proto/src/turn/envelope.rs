//! What memoryd shows the planner at the start of a turn: one JSON document in a sealed memfd.
//!
//! Only the clean part stands here (design: architecture §3): the owner's own words, trusted
//! memory, and what executors there are. Evidence of lower trust is never put into it.

use metnos_calendar::instant;
use metnos_calendar::zone::{self, Zone};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::executor::answer::Answer;
use crate::executor::guests::SHARED;
use crate::executor::{Example, Manifest, PatternTable, Schema};
use crate::ids::Blake3;
use crate::msg::common::{Channel, Lang};

/// How many executors a model is shown, the best (design: mind §3). An envelope holds more, for the reflex: the patterns of
/// each say for themselves what is meant.
pub const MAX_SHOWN: usize = 16;

/// The clean part of an envelope.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Envelope {
    /// Ties later claims to what was shown.
    pub nonce: u64,
    /// BLAKE3 over the six workspace files in their stable order, hexadecimal.
    pub identity: String,
    /// The six workspace files in that order; what is too long is cut.
    pub files: Vec<File>,
    /// The compiled identity; empty as long as nothing has been lived.
    pub capsule: String,
    /// Who is speaking, as `channel:sender`.
    pub principal: String,
    /// Where the words came in.
    pub channel: Channel,
    /// The language to answer in.
    pub lang: Lang,
    /// What this principal said before, oldest first.
    pub recent: Vec<Recent>,
    /// What this principal said longer ago that bears on the words of this turn, best first.
    pub recalled: Vec<Recalled>,
    /// What is left of the talk before that: summaries of this principal's own words, oldest first.
    pub earlier: Vec<Earlier>,
    /// What was done for this principal last, oldest first.
    pub done: Vec<Done>,
    /// The executors that may fit, best first.
    pub candidates: Vec<Candidate>,
    /// Which executors' outputs have become whose inputs.
    pub mnests: Vec<Known>,
    /// The files and folders that the words of this turn, and of the last ones, may mean, best first; of another principal
    /// than the owner, only those that everybody may read. For the reflex; no model is shown them.
    #[serde(default)]
    pub named: Vec<Named>,
    /// When this principal has said the very same before, in seconds since 1970, ascending; only the last times. No model is shown
    /// them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub same: Vec<i64>,
    /// What the answers go by that the household was asked for in the first interview.
    #[serde(default)]
    pub home: Home,
}

/// Something in the workspace that the words of a turn may mean: by its bare name, by words of its name or of its title.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Named {
    /// Where it lies, below the workspace, without a slash at the end.
    pub path: String,
    /// Of its title (its first heading, or its first line) the words that were said, in small letters without accents, in their
    /// order; empty where none was, and for a folder. What else stands in a title is not handed on: it may come from
    /// anybody. It is only compared, and never shown to a person or a model.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub title: String,
    /// How many words of the title were not said, those aside that say nothing.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub unsaid: u16,
    /// Whether it is a folder.
    #[serde(default, skip_serializing_if = "is_false")]
    pub folder: bool,
}

impl Named {
    /// A file without a title.
    #[must_use]
    pub fn file(path: impl Into<String>) -> Self {
        Self { path: path.into(), ..Self::default() }
    }

    /// A folder.
    #[must_use]
    pub fn folder(path: impl Into<String>) -> Self {
        Self { path: path.into(), folder: true, ..Self::default() }
    }
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "as serde calls it")]
const fn is_false(flag: &bool) -> bool {
    !*flag
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "as serde calls it")]
const fn is_zero(number: &u16) -> bool {
    *number == 0
}

impl Envelope {
    /// The same without the executors, which are the most of it.
    #[must_use]
    pub fn without_candidates(&self) -> Self {
        Self {
            nonce: self.nonce,
            identity: self.identity.clone(),
            files: self.files.clone(),
            capsule: self.capsule.clone(),
            principal: self.principal.clone(),
            channel: self.channel,
            lang: self.lang,
            recent: self.recent.clone(),
            recalled: self.recalled.clone(),
            earlier: self.earlier.clone(),
            done: self.done.clone(),
            candidates: Vec::new(),
            mnests: self.mnests.clone(),
            named: self.named.clone(),
            same: self.same.clone(),
            home: self.home.clone(),
        }
    }

    /// An envelope with these candidates and nothing else.
    #[must_use]
    pub fn empty(candidates: Vec<Candidate>, lang: Lang) -> Self {
        Self {
            nonce: 0,
            identity: String::new(),
            files: Vec::new(),
            capsule: String::new(),
            principal: String::new(),
            channel: Channel::Cli,
            lang,
            recent: Vec::new(),
            recalled: Vec::new(),
            earlier: Vec::new(),
            done: Vec::new(),
            candidates,
            mnests: Vec::new(),
            named: Vec::new(),
            same: Vec::new(),
            home: Home::default(),
        }
    }
}

/// What a household has answered of itself, as it stands in `USER.md` and `IDENTITY.md`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Home {
    /// Where its clock stands, as [`metnos_calendar::zone`] has it; empty where nobody knows.
    pub zone: String,
    /// How the caller is addressed; empty where that is not known.
    pub person: String,
    /// What Metnos is called there; empty where it has no other name.
    pub butler: String,
    /// The folder of the workspace where new lists of this person go; empty where nobody has said so.
    #[serde(default)]
    pub lists: String,
    /// How far the clock of the instance is ahead of UTC at this moment, such as `+01:00`; empty where nobody has said so.
    #[serde(default)]
    pub offset: String,
    /// The day that it is there at this moment, such as `Wednesday 25 November 2026`; empty where nobody has said so.
    #[serde(default)]
    pub day: String,
    /// The current time in seconds since 1970; 0 if unknown.
    #[serde(default)]
    pub now: i64,
    /// Whether the caller is nobody of the household.
    #[serde(default)]
    pub guest: bool,
    /// The others whom the caller may have told something; none for a guest.
    #[serde(default)]
    pub people: Vec<PersonNamed>,
    /// Which kinds of accounts the caller has: `mail`, `calendar`.
    #[serde(default)]
    pub accounts: Vec<String>,
    /// The caller's private folder in the workspace, such as `people/anna`; empty for who has none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub folder: String,
    /// When the caller is not disturbed by what others send, such as `22:00-7:00`; empty where nothing is held.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub quiet: String,
}

/// A person, as others call this one.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PersonNamed {
    /// What everybody says.
    pub name: String,
    /// What some say: `mum`.
    pub also: Vec<String>,
}

/// Where new lists of the owner go.
const OWNERS_LISTS: &str = "notes";

/// The longest name, in characters.
const MAX_NAME: usize = 64;

/// Where the household lives, as the line `Place:` of `USER.md` has it: a town, for the weather.
#[must_use]
pub fn place_of(user: &str) -> Option<&str> {
    line_of(user, "place:")
}

/// What stands in the first line of this key that holds a name.
fn line_of<'a>(user: &'a str, key: &str) -> Option<&'a str> {
    let mut lines = user.lines().take(4_096).map(|line| line.trim().trim_start_matches(['-', '*']).trim());
    lines.find_map(|line| zone::value_of(line, key)).filter(|name| is_plain(name))
}

fn is_plain(name: &str) -> bool {
    !name.is_empty() && name.chars().count() <= MAX_NAME && !name.chars().any(char::is_control)
}

impl Home {
    /// Whether the caller has an account of this kind.
    #[must_use]
    pub fn has_account(&self, kind: &str) -> bool {
        self.accounts.iter().any(|own| own == kind)
    }

    /// Reads the answers for a caller. A line of `user` that begins with the caller's principal names the caller; the owner
    /// without such a line has the owner's name. The zone is the same for everybody in the household.
    #[must_use]
    pub fn read(user: &str, identity: &str, machine: &str, (principal, is_owner): (&str, bool)) -> Self {
        let line = |key: &str| line_of(user, key);
        let own = || line(&format!("{principal}:")).filter(|_| !principal.is_empty());
        let owners = || line("how to be addressed:").or_else(|| line("name:")).filter(|_| is_owner);
        let person = own().or_else(owners).unwrap_or_default();
        let of_butler = |line: &str| {
            line.trim().strip_prefix("I am ")?.strip_suffix(", the butler of this household.").map(str::to_owned)
        };
        let butler = identity.lines().take(4_096).find_map(of_butler).filter(|name| is_plain(name)).unwrap_or_default();
        let lists = if is_owner { OWNERS_LISTS } else { SHARED }.to_owned();
        let zone = zone::of_user(user, machine);
        Self { zone, person: person.to_owned(), butler, lists, guest: !is_owner, ..Self::default() }
    }

    /// The same with what the clock of the instance says at this moment, in seconds since 1970.
    #[must_use]
    pub fn at(mut self, now: i64) -> Self {
        let ahead = Zone::read(&self.zone).map(|zone| zone.ahead(now));
        self.offset = ahead.map_or_else(String::new, zone::offset_text);
        self.day = day_text(now, ahead.unwrap_or(0));
        self.now = now;
        self
    }
}

/// The day on a clock that is so many seconds ahead of UTC, in English.
fn day_text(now: i64, ahead: i64) -> String {
    const DAYS: [&str; 7] = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];
    const MONTHS: [&str; 12] = [
        "January",
        "February",
        "March",
        "April",
        "May",
        "June",
        "July",
        "August",
        "September",
        "October",
        "November",
        "December",
    ];
    let shown = instant::shown(now, ahead);
    let named = |names: &[&'static str], at: i64| usize::try_from(at).ok().and_then(|at| names.get(at).copied());
    match (named(&DAYS, shown.weekday), named(&MONTHS, shown.month - 1)) {
        (Some(day), Some(month)) => format!("{day} {} {month} {}", shown.day, shown.year),
        (None, _) | (_, None) => String::new(),
    }
}

/// A file of the workspace: the owner's own words.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct File {
    /// Its name.
    pub name: String,
    /// Its text.
    pub text: String,
}

/// Words of an earlier turn of the same principal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Recent {
    /// The line of the chronicle.
    pub seq: u64,
    /// The words.
    pub text: String,
    /// What came of them; absent of a turn that is not over, and of those before the last few.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<Answered>,
}

impl Recent {
    /// Words of which it is not known what came of them.
    #[must_use]
    pub fn said(seq: u64, text: impl Into<String>) -> Self {
        Self { seq, text: text.into(), answer: None }
    }
}

/// What came of earlier words. Its text is that of a turn in which nothing of lower trust was read; of every other turn only
/// what sandboxd has recorded stands here, and no word that anybody else has chosen.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Answered {
    /// How the turn ended: `answered`, `denied`, …
    pub ended: String,
    /// What the person was told; empty when that was nothing, and when it may not be shown.
    pub text: String,
    /// Whether it may not be shown: something of lower trust was read in that turn.
    pub withheld: bool,
    /// The executors that ran, in the order in which they ended.
    pub ran: Vec<RanBefore>,
}

/// A run of an earlier turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RanBefore {
    /// The executor.
    pub executor: String,
    /// How it ended: `ok`, `error`, …
    pub outcome: String,
}

/// Words of a turn longer ago that were recalled for this one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Recalled {
    /// The line of the chronicle.
    pub seq: u64,
    /// When they were said, as in the chronicle.
    pub ts: String,
    /// How well they fit, in [0, 1] beside the best.
    pub relevance: f64,
    /// The words.
    pub text: String,
}

/// A summary of the principal's own words, made of sentences that were said.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Earlier {
    /// The first line of the chronicle that it covers.
    pub from_seq: u64,
    /// The last.
    pub upto_seq: u64,
    /// The lines whose sentences stand in it.
    pub cited: Vec<u64>,
    /// The sentences, each behind its line in brackets.
    pub text: String,
}

/// A task of an earlier turn of the same principal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Done {
    /// The line of the chronicle that closed its turn.
    pub seq: u64,
    /// How it ended.
    pub ended: String,
    /// The executors that succeeded in it, in their order.
    pub executors: Vec<String>,
}

/// An executor as the planner may know it: its public contract.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Candidate {
    /// The name.
    pub name: String,
    /// The version that would be called.
    pub version: String,
    /// What it does, in a line.
    pub summary: String,
    /// Requests it serves, in English and Italian.
    pub examples: Vec<Example>,
    /// The forms of these requests.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub patterns: Vec<PatternTable>,
    /// The effect class: `read`, `send`, …
    pub class: String,
    /// JSON Schema of the arguments.
    pub input: Value,
    /// JSON Schema of the result.
    pub output: Value,
    /// The role of each argument by JSON pointer: `path`, `payload`, ….
    pub roles: Vec<(String, String)>,
    /// Pointers of paths that it only reads, although it makes something.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reads: Vec<String>,
    /// Whether a planner is shown it at all; what is not stands in no envelope. Missing means that it is.
    #[serde(default = "offered", skip_serializing_if = "is_offered")]
    pub offered: bool,
    /// The digest of all this, as policyd has it from what was signed; empty where nobody has said so. Anyone who has read a
    /// contract once need not read, nor compare, it again.
    #[serde(default)]
    pub contract: String,
    /// How its results are shown to people, by language.
    #[serde(default, skip_serializing_if = "Answer::is_empty")]
    pub answer: Answer,
}

const fn offered() -> bool {
    true
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "as serde calls it")]
const fn is_offered(offered: &bool) -> bool {
    *offered
}

impl Candidate {
    /// The public contract of an executor, without the arguments that nobody but policyd sets, and without its digest.
    #[must_use]
    pub fn of(manifest: &Manifest, schema: &Schema) -> Self {
        // Nobody but policyd sets them, so nobody else learns of them.
        let own = |name: &str| manifest.contract.is_reserved(name);
        let mut input = schema.shown(schema.input());
        if let Some(properties) = input.get_mut("properties").and_then(Value::as_object_mut) {
            properties.retain(|name, _| !own(name));
        }
        let roles = manifest.args.iter().filter(|(pointer, _)| !pointer.strip_prefix('/').is_some_and(own));
        Self {
            name: manifest.executor.name.clone(),
            version: manifest.executor.version.clone(),
            summary: manifest.executor.summary.clone(),
            examples: manifest.executor.examples.clone(),
            patterns: manifest.patterns.clone(),
            class: manifest.effects.class.name().to_owned(),
            input,
            output: schema.shown(schema.output()),
            roles: roles.map(|(pointer, role)| (pointer.clone(), role.name().to_owned())).collect(),
            reads: manifest.contract.reads.clone(),
            offered: manifest.contract.offered,
            contract: String::new(),
            answer: manifest.answer.clone(),
        }
    }

    /// The words of its examples.
    pub fn requests(&self) -> impl Iterator<Item = &str> {
        self.examples.iter().map(Example::say)
    }

    /// The same with the digest of what it says.
    #[must_use]
    pub fn with_digest(mut self) -> Self {
        self.contract.clear();
        // It is made of texts and JSON, which can always be written.
        self.contract = serde_json::to_vec(&self).map(|bytes| Blake3::of(&bytes).hex()).unwrap_or_default();
        self
    }
}

/// A mnest, as far as routing needs it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Known {
    /// Whose output.
    pub from: String,
    /// Whose input.
    pub to: String,
    /// How strong, in [0, 1].
    pub weight: f64,
}

#[cfg(test)]
mod tests {
    use super::*;

    const OWNER: (&str, bool) = ("cli:uid:1000", true);
    const GUEST: (&str, bool) = ("telegram:7", false);

    #[test]
    fn callers_are_named_by_the_line_of_their_principal() {
        let user = "- Name: Anna\n- How to be addressed: Nina\n- telegram:5100: Marco\n* Telegram:51:  Giulia \n- telegram:9:\n";
        let named = |principal: &str, is_owner: bool| Home::read(user, "", "UTC", (principal, is_owner)).person;
        assert_eq!(named("cli:uid:1000", true), "Nina");
        assert_eq!(named("telegram:5100", true), "Marco");
        assert_eq!(named("telegram:51", false), "Giulia");
        assert_eq!(named("telegram:510", false), "");
        assert_eq!(named("telegram:9", true), "Nina", "a line without a name names nobody");
        assert_eq!(Home::read("- : Nobody\n", "", "UTC", ("", false)).person, "");
        let control = "- telegram:7: A\u{1b}[2J\n";
        assert_eq!(Home::read(control, "", "UTC", GUEST).person, "");
        assert_eq!(Home::read(&format!("- telegram:7: {}\n", "x".repeat(65)), "", "UTC", GUEST).person, "");
    }

    #[test]
    fn the_answers_of_the_interview_are_read_out_of_the_files() {
        let user = "# User\n\n- Name: Roberta Bianchi\n- How to be addressed:\n- Time zone: UTC+1\n";
        let identity = "# Identity\n\nI am Alfredo, the butler of this household.\n";
        let home = Home::read(user, identity, "UTC", OWNER);
        let told = |zone: &str, person: &str, butler: &str, lists: &str| Home {
            zone: zone.into(),
            person: person.into(),
            butler: butler.into(),
            lists: lists.into(),
            ..Home::default()
        };
        assert_eq!(home, told("UTC+1", "Roberta Bianchi", "Alfredo", "notes"));
        let familiar = user.replace("addressed:", "addressed: Roby");
        assert_eq!(Home::read(&familiar, identity, "UTC", OWNER).person, "Roby");
        assert_eq!(
            Home::read(user, identity, "UTC", GUEST),
            Home { guest: true, ..told("UTC+1", "", "Alfredo", "shared") },
            "the owner's name is the owner's"
        );
        assert_eq!(Home::read("", "", "UTC", OWNER), told("UTC", "", "", "notes"));
        let late = home.at(23 * 3_600 + 1_800);
        assert_eq!((late.offset.as_str(), late.day.as_str()), ("+01:00", "Friday 2 January 1970"));
        let nowhere = Home::default().at(0);
        assert_eq!((nowhere.offset.as_str(), nowhere.day.as_str()), ("", "Thursday 1 January 1970"));
    }
}
