//! The questions of the first interview, and what may be answered: one table, read by the interview, by a file of
//! answers and by what was kept of both. It must never hold a secret: keys and tokens have commands of their own.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::net::SocketAddr;

use metnos_policy::vaglio::telos::{self, MAX_SECTIONS, MAX_SLUG, MIN_SECTIONS};
use metnos_proto::doc::people as doc;
use metnos_proto::models::{ModelName, SubstrateLine};
use metnos_proto::msg::common::Lang;
use metnos_texts::{Key, tell};
use schemars::JsonSchema;
use serde::Serialize;

use super::machine::{MAX_NAME, Machine, nearest};
use crate::screen::escape;

/// The largest file of answers, in bytes.
pub const MAX_ANSWERS: u64 = 64 * 1024;
/// Where the door listens unless a person says otherwise.
pub const LISTEN: &str = "127.0.0.1:42618";
/// The word for a door that does not listen to programs.
pub const OFF: &str = "off";
/// The word for no server of models.
pub const NONE: &str = "none";
/// The word for: anyone who owns the directory.
pub const DIRECTORY: &str = "directory";

/// One question.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Field {
    /// In which language people are spoken to.
    Language,
    /// What Metnos is called in this instance.
    Name,
    /// What the owner is called.
    Owner,
    /// Which account of the machine speaks as the owner.
    OwnerUser,
    /// Where the owner's clock stands.
    TimeZone,
    /// In which town the household is.
    Place,
    /// What Metnos is for.
    Telos,
    /// A server of language models.
    ModelServer,
    /// Who talks and plans.
    Model,
    /// Where programs and pages speak to the door.
    Http,
    /// Whether a bot of Telegram is wanted.
    Telegram,
}

impl Field {
    /// All of them, in the order in which they are asked.
    pub const ALL: [Self; 11] = [
        Self::Language,
        Self::Name,
        Self::Owner,
        Self::OwnerUser,
        Self::TimeZone,
        Self::Place,
        Self::Telos,
        Self::ModelServer,
        Self::Model,
        Self::Http,
        Self::Telegram,
    ];

    /// Its key in a file of answers.
    #[must_use]
    pub const fn key(self) -> &'static str {
        match self {
            Self::Language => "language",
            Self::Name => "name",
            Self::Owner => "owner",
            Self::OwnerUser => "owner_user",
            Self::TimeZone => "time_zone",
            Self::Place => "place",
            Self::Telos => "telos",
            Self::ModelServer => "model_server",
            Self::Model => "model",
            Self::Http => "http",
            Self::Telegram => "telegram",
        }
    }

    /// The one with this key.
    #[must_use]
    pub fn of(key: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|field| field.key() == key)
    }

    /// Whether it makes sense to ask this, with what was answered before it.
    #[must_use]
    pub fn is_asked(self, answers: &Answers, is_root: bool) -> bool {
        match self {
            Self::OwnerUser => is_root,
            Self::Model => answers.server().is_some(),
            Self::Language
            | Self::Name
            | Self::Owner
            | Self::TimeZone
            | Self::Place
            | Self::Telos
            | Self::ModelServer
            | Self::Http
            | Self::Telegram => true,
        }
    }
}

/// What was answered so far, each in one way of writing it; the ends of a telos one a line.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Answers(pub BTreeMap<Field, String>);

impl Answers {
    /// One answer.
    #[must_use]
    pub fn get(&self, field: Field) -> Option<&str> {
        self.0.get(&field).map(String::as_str)
    }

    /// The language, if it was answered.
    #[must_use]
    pub fn lang(&self) -> Option<Lang> {
        self.get(Field::Language).and_then(metnos_texts::of_tag)
    }

    /// The server of models that was named.
    #[must_use]
    pub fn server(&self) -> Option<SubstrateLine> {
        self.get(Field::ModelServer).and_then(SubstrateLine::parse)
    }

    /// As a document shows them.
    #[must_use]
    pub fn given(&self) -> AnswersGiven {
        let text = |field| self.get(field).map(str::to_owned);
        AnswersGiven {
            language: self.lang().map(Into::into),
            name: text(Field::Name),
            owner: text(Field::Owner),
            owner_user: text(Field::OwnerUser),
            time_zone: text(Field::TimeZone),
            place: text(Field::Place),
            telos: self.get(Field::Telos).map(|text| text.lines().map(str::to_owned).collect()),
            model_server: text(Field::ModelServer),
            model: text(Field::Model),
            http: text(Field::Http),
            telegram: self.get(Field::Telegram).map(|text| text == "yes"),
        }
    }

    /// As they stand in a file of answers.
    #[must_use]
    pub fn table(&self) -> toml::Table {
        let value = |field: Field, text: &str| match field {
            Field::Telos => toml::Value::Array(text.lines().map(|line| line.to_owned().into()).collect()),
            Field::Telegram => toml::Value::Boolean(text == "yes"),
            Field::Language
            | Field::Name
            | Field::Owner
            | Field::OwnerUser
            | Field::TimeZone
            | Field::Place
            | Field::ModelServer
            | Field::Model
            | Field::Http => toml::Value::String(text.to_owned()),
        };
        self.0.iter().map(|(field, text)| (field.key().to_owned(), value(*field, text))).collect()
    }
}

/// What was answered; a question that was not is missing.
#[derive(Debug, Serialize, JsonSchema)]
pub struct AnswersGiven {
    /// The language.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "doc::Lang")]
    language: Option<doc::Lang>,
    /// What Metnos is called.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    name: Option<String>,
    /// What the owner is called.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    owner: Option<String>,
    /// The account that speaks as the owner.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    owner_user: Option<String>,
    /// The time zone.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    time_zone: Option<String>,
    /// In which town the household is.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    place: Option<String>,
    /// What Metnos is for.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Vec<String>")]
    telos: Option<Vec<String>>,
    /// The server of models.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    model_server: Option<String>,
    /// The model.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    model: Option<String>,
    /// Where the door listens.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    http: Option<String>,
    /// Whether a bot is wanted.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "bool")]
    telegram: Option<bool>,
}

/// An answer that cannot be taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InvalidAnswer {
    /// To which question; its key, or what stands in its place.
    pub key: String,
    /// What was answered.
    pub value: String,
    /// What it could have meant, where something is near.
    pub near: Option<String>,
}

impl InvalidAnswer {
    fn new(field: Field, value: &str) -> Self {
        Self { key: field.key().to_owned(), value: crate::screen::human::shortened(value, 120), near: None }
    }

    /// In words, for anyone who answered.
    #[must_use]
    pub fn told(&self, lang: Lang) -> String {
        let (field, value) = (("field", (&self.key).into()), ("value", (&self.value).into()));
        let mut text = if Field::of(&self.key).is_some() {
            let wanted = tell(lang, Key::BirthWanted, &[field]);
            tell(lang, Key::BirthWrong, &[field, value, ("wanted", (&wanted).into())])
        } else {
            let known = Field::ALL.map(Field::key).join(", ");
            tell(lang, Key::BirthUnknown, &[field, ("wanted", (&known).into())])
        };
        if let Some(near) = &self.near {
            let _ = write!(text, " {}", tell(lang, Key::BirthNear, &[("word", near.into())]));
        }
        escape::line(&text)
    }
}

/// The answer as it is kept, if it can be taken.
///
/// # Errors
/// [`InvalidAnswer`], with what could have been meant.
pub fn check(machine: &Machine, field: Field, given: &str, answers: &Answers) -> Result<String, InvalidAnswer> {
    let text = given.trim();
    let wrong = || InvalidAnswer::new(field, given);
    let plain = |text: &str| !text.chars().any(|c| c.is_control() || escape::line(&c.to_string()) != c.to_string());
    let taken = match field {
        Field::Language => ["en", "it"].contains(&text).then(|| text.to_owned()),
        Field::Name => (!text.is_empty() && text.chars().count() <= MAX_NAME && plain(text)).then(|| text.to_owned()),
        Field::Owner | Field::Place => (text.chars().count() <= MAX_NAME && plain(text)).then(|| text.to_owned()),
        Field::OwnerUser if text == DIRECTORY => Some(text.to_owned()),
        Field::OwnerUser => {
            let number = text.parse::<u32>().ok().filter(|uid| *uid < u32::MAX - 1);
            number.or_else(|| machine.uid(text)).map(|uid| uid.to_string())
        }
        Field::TimeZone if is_offset(text) => Some(text.to_owned()),
        Field::TimeZone => {
            // What was taken before comes back with its rule.
            let place = text.split_once(" (").map_or(text, |(place, _)| place);
            if !machine.has_zone(place) {
                return Err(InvalidAnswer { near: machine.near_zone(place), ..wrong() });
            }
            Some(machine.rule(place).map_or_else(|| place.to_owned(), |rule| format!("{place} ({rule})")))
        }
        Field::Telos => ends(text),
        Field::ModelServer if text == NONE => Some(text.to_owned()),
        Field::ModelServer => SubstrateLine::parse(text).map(|_| text.split_whitespace().collect::<Vec<_>>().join(" ")),
        Field::Model if text.is_empty() || text == NONE => Some(NONE.to_owned()),
        Field::Model => {
            let server = answers.server().map(|server| server.name);
            ModelName::parse(text).filter(|model| Some(&model.substrate) == server.as_ref()).map(|_| text.to_owned())
        }
        Field::Http if text == OFF => Some(text.to_owned()),
        Field::Http => {
            text.parse::<SocketAddr>().ok().filter(|address| address.ip().is_loopback()).map(|it| it.to_string())
        }
        Field::Telegram => match text.to_lowercase().as_str() {
            "y" | "yes" | "s" | "sì" | "si" | "true" => Some("yes".to_owned()),
            "n" | "no" | "false" => Some("no".to_owned()),
            _ => None,
        },
    };
    taken.ok_or_else(|| {
        let near = (field == Field::Language).then(|| metnos_texts::of_tag(&text.to_lowercase())).flatten();
        InvalidAnswer { near: near.map(|lang| if lang == Lang::It { "it" } else { "en" }.to_owned()), ..wrong() }
    })
}

/// `UTC`, `UTC+1`, `-03:30`: what quiet hours are reckoned by.
fn is_offset(text: &str) -> bool {
    let rest = text.strip_prefix("UTC").unwrap_or(text);
    if rest.is_empty() {
        return text == "UTC";
    }
    let Some(rest) = rest.strip_prefix(['+', '-']) else { return false };
    let (hours, minutes) = rest.split_once(':').unwrap_or((rest, "00"));
    let number = |text: &str, most: u32| {
        text.len() <= 2 && text.bytes().all(|b| b.is_ascii_digit()) && text.parse::<u32>().is_ok_and(|it| it <= most)
    };
    number(hours, 14) && minutes.len() == 2 && number(minutes, 59)
}

/// Ends, one a line; none keeps those that there are.
fn ends(text: &str) -> Option<String> {
    let ends: Vec<&str> = text.lines().map(str::trim).filter(|end| !end.is_empty()).collect();
    if ends.is_empty() {
        return Some(String::new());
    }
    let sound = (MIN_SECTIONS..=MAX_SECTIONS).contains(&ends.len()) && telos::parse(&rendered(&ends)).is_ok();
    sound.then(|| ends.join("\n"))
}

/// A telos of these ends, each of the same weight.
#[must_use]
pub fn rendered(ends: &[&str]) -> String {
    let mut text = String::from(
        "# Telos\n\nWhat Metnos is for in this house. Three to seven ends; each weighs what Metnos proposes on its own,\n\
         never what its owner asks for. `weight` says how much an end counts beside the others, `threshold`\n\
         how well a proposal must fit it (0 to 1) before it counts at all.\n",
    );
    let mut slugs: Vec<String> = Vec::new();
    for (at, end) in ends.iter().enumerate() {
        let word = |word: &&str| word.chars().filter(char::is_ascii_alphanumeric).count() > 3;
        let own = end.split_whitespace().find(word).unwrap_or_default().to_lowercase();
        let own: String = own.chars().filter(char::is_ascii_alphanumeric).take(MAX_SLUG).collect();
        let slug = if own.is_empty() || slugs.contains(&own) { format!("end-{}", at + 1) } else { own };
        let _ = write!(text, "\n## t.{slug} — {end}\nweight: 1\nthreshold: 0.5\n");
        slugs.push(slug);
    }
    text
}

/// The language that a file of answers asks for, whatever else is wrong with it.
#[must_use]
pub fn language(text: &str) -> Option<Lang> {
    spoken(&text.parse().ok()?)
}

fn spoken(table: &toml::Table) -> Option<Lang> {
    table.get("language").and_then(toml::Value::as_str).and_then(metnos_texts::of_tag)
}

/// Reads a file of answers: TOML, each key of [`Field`] at most once.
///
/// # Errors
/// In words, what is wrong and where.
pub fn parse(machine: &Machine, text: &str, lang: Lang) -> Result<Answers, String> {
    let table: toml::Table = text.parse().map_err(|error: toml::de::Error| {
        let line = error.span().map_or(1, |span| text.bytes().take(span.start).filter(|b| *b == b'\n').count() + 1);
        format!("{line}: {}", error.message())
    })?;
    let lang = spoken(&table).unwrap_or(lang);
    if let Some(unknown) = table.keys().find(|key| Field::of(key).is_none()) {
        let near = nearest(unknown, Field::ALL.iter().map(|field| field.key()));
        return Err(
            InvalidAnswer { key: crate::screen::human::shortened(unknown, 60), value: String::new(), near }.told(lang)
        );
    }
    let mut answers = Answers::default();
    for field in Field::ALL {
        let Some(value) = table.get(field.key()) else { continue };
        let shown = value.to_string();
        let given = match (field, value) {
            (Field::Telos, toml::Value::Array(ends)) => {
                // An end is one line, with whatever stands in it: nothing is split here.
                let ends: Option<Vec<&str>> =
                    ends.iter().map(|end| end.as_str().filter(|end| !end.contains('\n'))).collect();
                ends.map(|ends| ends.join("\n"))
            }
            (Field::Telegram, toml::Value::Boolean(yes)) => Some(if *yes { "yes" } else { "no" }.to_owned()),
            (Field::OwnerUser, toml::Value::Integer(uid)) => Some(uid.to_string()),
            (Field::Telos | Field::Telegram, _) => None,
            (_, toml::Value::String(text)) => Some(text.clone()),
            _ => None,
        };
        let given = given.ok_or_else(|| InvalidAnswer::new(field, &shown).told(lang))?;
        let taken = check(machine, field, &given, &answers).map_err(|wrong| wrong.told(lang))?;
        answers.0.insert(field, taken);
    }
    Ok(answers)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::super::machine::testing::machine;
    use super::*;
    use proptest::prelude::*;

    fn taken(field: Field, text: &str) -> Result<String, InvalidAnswer> {
        let (_dir, machine) = machine();
        let mut answers = Answers::default();
        answers.0.insert(Field::ModelServer, "local ollama http://127.0.0.1:11434".to_owned());
        check(&machine, field, text, &answers)
    }

    #[test]
    fn each_question_takes_what_it_asks_for_and_nothing_else() {
        use Field::*;
        for (field, good, bad) in [
            (Language, &["en", " it "][..], &["de", "", "italiano"][..]),
            (Name, &["Metnos", "il maggiordomo"], &["", "a\nb", "\u{202e}x", "\u{1b}[2J"]),
            (Owner, &["", "Roberta D'Àngelo"], &["a\tb", "\u{202e}"]),
            (OwnerUser, &["directory", "1001", "roberta"], &["nobody-such", "-1", "4294967295", ""]),
            (
                TimeZone,
                &["UTC", "UTC+2", "-03:30", "Europe/Rome"],
                &["Europe/Rom", "+15", "UTC+1:5", "tzdata.zi", "../x"],
            ),
            (Telos, &["", "a b\nc; d\ne f"], &["a\nb", "a; b; c", "a\nb\nc\nd\ne\nf\ng\nh"]),
            (ModelServer, &["none", "claude anthropic https://api.anthropic.com"], &["claude", "a b http://x", ""]),
            (Model, &["", "local/qwen3"], &["qwen3", "other/qwen3"]),
            (Http, &["off", "127.0.0.1:42618", "[::1]:1"], &["", "0.0.0.0:42618", "42618"]),
            (Telegram, &["y", "No", "sì", "true"], &["", "maybe"]),
        ] {
            for text in good {
                assert!(taken(field, text).is_ok(), "{field:?} {text:?}");
            }
            for text in bad {
                let wrong = taken(field, text).unwrap_err();
                assert_eq!(wrong.key, field.key(), "{text:?}");
                for lang in [Lang::En, Lang::It] {
                    let told = wrong.told(lang);
                    assert!(told.contains(field.key()) && told.len() > 20, "{told}");
                }
            }
        }
    }

    #[test]
    fn invalid_answer_names_the_nearest_valid_one() {
        assert_eq!(taken(Field::TimeZone, "Europe/Rom").unwrap_err().near.unwrap(), "Europe/Rome");
        assert_eq!(taken(Field::TimeZone, "new york").unwrap_err().near.unwrap(), "America/New_York");
        assert_eq!(taken(Field::Language, "it_IT").unwrap_err().near.unwrap(), "it");
        assert_eq!(taken(Field::OwnerUser, "roberta").unwrap(), "1004");
        let rome = "Europe/Rome (CET-1CEST,M3.5.0,M10.5.0/3)";
        assert_eq!(taken(Field::TimeZone, "Europe/Rome").unwrap(), rome);
        assert_eq!(taken(Field::TimeZone, rome).unwrap(), rome);
        assert_eq!(taken(Field::TimeZone, "UTC+1").unwrap(), "UTC+1");
    }

    #[test]
    fn a_file_of_answers_is_read_whole_or_named_where_it_is_wrong() {
        let (_dir, machine) = machine();
        let text = "language = \"it\"\nname = \"Alfredo\"\ntelos = [\"tenere in ordine; sempre\", \"la calma\", \"la fiducia\"]\n\
                    model_server = \"local ollama http://127.0.0.1:11434\"\nmodel = \"local/qwen3\"\ntelegram = true\nowner_user = 1004\n";
        let answers = parse(&machine, text, Lang::En).unwrap();
        assert_eq!(answers.get(Field::Model), Some("local/qwen3"));
        assert_eq!((answers.get(Field::Telegram), answers.lang()), (Some("yes"), Some(Lang::It)));
        let again = parse(&machine, &answers.table().to_string(), Lang::En).unwrap();
        assert_eq!(again, answers, "what is kept is a file of answers");
        let error = |text: &str| parse(&machine, text, Lang::En).unwrap_err();
        assert!(error("nmae = \"x\"").contains("`nmae`") && error("nmae = \"x\"").contains("did you mean `name`"));
        assert!(error("http = true").contains("http") && error("telegram = \"yes\"").contains("telegram"));
        assert!(error("\nname = \n").starts_with("2: "));
        assert!(parse(&machine, "language = \"it\"\nnome = \"x\"", Lang::En).unwrap_err().contains("intendevi"));
        // The model's server is named first, whatever stands first in the file.
        assert!(error("model = \"local/x\"").contains("model"));
    }

    proptest! {
        #[test]
        fn interview_answer_is_normalised_or_refused(text in "\\PC{0,80}") {
            let (_dir, machine) = machine();
            for field in Field::ALL {
                if let Ok(kept) = check(&machine, field, &text, &Answers::default()) {
                    prop_assert_eq!(check(&machine, field, &kept, &Answers::default()), Ok(kept.clone()), "{:?}", field);
                }
            }
            let _ = parse(&machine, &text, Lang::En);
        }

        #[test]
        fn ends_that_are_taken_make_a_telos(ends in proptest::collection::vec("[a-zA-Zàè ,.'-]{1,60}", 0..9)) {
            if let Some(kept) = super::ends(&ends.join("\n")).filter(|kept| !kept.is_empty()) {
                let kept: Vec<&str> = kept.lines().collect();
                let read = telos::parse(&rendered(&kept)).unwrap();
                prop_assert_eq!(read.iter().map(|end| end.phrase.as_str()).collect::<Vec<_>>(), kept);
            }
        }
    }
}
