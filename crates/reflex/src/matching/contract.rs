//! What a contract says of arguments and results: slots by type, and the texts that can be handed on.

use std::collections::BTreeMap;

use metnos_proto::envelope::Candidate;
use serde_json::{Map, Value};

use crate::words::lexicon::{self, Mark};

/// The most arguments of one executor that are looked at.
pub const MAX_SLOTS: usize = 32;

/// What an argument wants to be filled with.
#[derive(Debug, Clone, PartialEq)]
pub enum Want {
    /// The path of a file or folder.
    Path,
    /// An address with a scheme.
    Url,
    /// A mail address or a host.
    Address,
    /// Text; with its media type when it may come from another executor.
    Text(Option<String>),
    /// A number; whether it must be whole.
    Number(bool),
    /// One of these words.
    Choice(Vec<String>),
    /// A day.
    Date,
    /// A time of day.
    Time,
    /// A duration.
    Duration,
    /// Yes or no.
    Flag,
    /// Something that the reflex does not fill.
    Other,
}

/// An argument of an executor.
#[derive(Debug, Clone)]
pub struct Slot {
    /// Its name in the object of arguments.
    pub name: String,
    /// Whether a call without it is invalid.
    pub required: bool,
    /// What it wants.
    pub want: Want,
    /// The media type of the files that it takes, where it is a path and takes one kind alone.
    pub of_kind: Option<String>,
    /// The words of its name.
    pub marks: Vec<Mark>,
    /// Whether it only switches something: words of a request never become one.
    pub is_switch: bool,
}

impl Slot {
    /// The JSON pointer of the argument.
    #[must_use]
    pub fn pointer(&self) -> String {
        pointer(&self.name)
    }
}

/// A text that the executor returns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextOutput {
    /// Its name in the result.
    pub name: String,
    /// Its JSON pointer in the result.
    pub pointer: String,
    /// Its media type.
    pub media: String,
}

/// The part of a schema that describes the value itself: a schema may be a document that only points at
/// one of its definitions.
fn described(schema: &Value) -> &Value {
    let target = schema.get("$ref").and_then(Value::as_str).and_then(|reference| reference.strip_prefix('#'));
    target.and_then(|pointer| schema.pointer(pointer)).unwrap_or(schema)
}

fn properties(schema: &Value) -> impl Iterator<Item = (&String, &Value)> {
    described(schema).get("properties").and_then(Value::as_object).into_iter().flatten().take(MAX_SLOTS)
}

/// The schema of the part that a JSON pointer names, through references within the document.
#[must_use]
pub fn part<'a>(schema: &'a Value, at: &str) -> Option<&'a Value> {
    // A chain longer than this is a circle.
    const LONGEST: usize = 8;
    let follow = |mut part: &'a Value| {
        for _ in 0..LONGEST {
            match part.get("$ref").and_then(Value::as_str) {
                Some(target) => part = schema.pointer(target.strip_prefix('#')?)?,
                None => return Some(part),
            }
        }
        None
    };
    let mut part = follow(schema)?;
    for token in at.split('/').skip(1) {
        let name = token.replace("~1", "/").replace("~0", "~");
        let next = match part.get("properties").and_then(|properties| properties.get(&name)) {
            Some(property) => property,
            None if token.bytes().all(|byte| byte.is_ascii_digit()) => part.get("items")?,
            None => return None,
        };
        part = follow(next)?;
    }
    Some(part)
}

/// The arguments of an executor, by its schema.
#[must_use]
pub fn slots(candidate: &Candidate) -> Vec<Slot> {
    let required = |name: &str| {
        let list = described(&candidate.input).get("required").and_then(Value::as_array);
        list.is_some_and(|list| list.iter().any(|item| item.as_str() == Some(name)))
    };
    properties(&candidate.input)
        .map(|(name, schema)| {
            let pointer = pointer(name);
            let role = candidate.roles.iter().find(|(at, _)| *at == pointer).map(|(_, role)| role.as_str());
            Slot {
                name: name.clone(),
                required: required(name),
                want: want(schema, role),
                of_kind: file_kind(schema, role).map(str::to_owned),
                marks: name_marks(name),
                is_switch: role == Some("flag"),
            }
        })
        .collect()
}

/// What an argument of this schema and role wants.
#[must_use]
pub fn want(schema: &Value, role: Option<&str>) -> Want {
    let text = |key: &str| schema.get(key).and_then(Value::as_str);
    let choices = schema.get("enum").and_then(Value::as_array);
    match (text("type"), role) {
        (Some("integer"), _) => Want::Number(true),
        (Some("number"), _) => Want::Number(false),
        (Some("boolean"), _) => Want::Flag,
        (Some("string"), Some("path")) => Want::Path,
        (Some("string"), Some("url")) => Want::Url,
        (Some("string"), Some("dest")) => Want::Address,
        (Some("string"), Some("secret" | "argv")) => Want::Other,
        (Some("string"), _) => match (choices, text("format")) {
            (Some(choices), _) => Want::Choice(choices.iter().filter_map(Value::as_str).map(str::to_owned).collect()),
            (None, Some("date")) => Want::Date,
            (None, Some("time")) => Want::Time,
            (None, Some("duration")) => Want::Duration,
            (None, Some("uri")) => Want::Url,
            (None, Some("email" | "hostname")) => Want::Address,
            (None, Some("date-time")) => Want::Other,
            (None, _) => Want::Text(text("contentMediaType").map(str::to_owned)),
        },
        (_, _) => Want::Other,
    }
}

/// The media type of the files that a path takes, where its schema says so.
#[must_use]
pub fn file_kind<'a>(schema: &'a Value, role: Option<&str>) -> Option<&'a str> {
    schema.get("contentMediaType").and_then(Value::as_str).filter(|_| role == Some("path"))
}

/// The texts of a result that say what media type they have, by its schema.
#[must_use]
pub fn text_outputs(schema: &Value) -> Vec<TextOutput> {
    properties(schema)
        .filter_map(|(name, schema)| {
            let media = schema.get("contentMediaType").and_then(Value::as_str)?;
            let is_text = schema.get("type").and_then(Value::as_str) == Some("string");
            is_text.then(|| TextOutput { name: name.clone(), pointer: pointer(name), media: media.to_owned() })
        })
        .collect()
}

/// Media types that not every text has: the endings of files of each, and what people call such a file.
const KINDS_OF_TEXT: &[(&str, &[&str], &str)] =
    &[("text/csv", &["csv", "tsv", "tab", "xlsx", "ods"], "table tables spreadsheet tabella tabelle foglio")];
/// Kinds of files that are no text, by the media type that an executor's path declares: how their names end. What is read in the
/// same way goes by the media type of the most common.
const KINDS_OF_FILE: &[(&str, &[&str])] = &[
    ("application/pdf", &["pdf"]),
    ("application/vnd.openxmlformats-officedocument.wordprocessingml.document", &["docx", "odt", "pptx", "odp"]),
    ("application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", &["xlsx", "ods"]),
    ("application/zip", &["zip", "tar", "tgz", "gz"]),
    ("image/*", &["jpg", "jpeg", "png", "gif", "webp", "heic", "avif", "bmp", "tif", "tiff"]),
];
/// What every text is.
const ANY_TEXT: &str = "text/plain";

/// Whether a text of one media type may become an argument of another: a plain text may be any kind of text.
#[must_use]
pub fn serves(made: &str, wanted: &str) -> bool {
    made == wanted || made == ANY_TEXT && wanted.starts_with("text/")
}

/// The kind of a file that is no text, by how its name ends.
#[must_use]
pub fn kind_of_file(path: &str) -> Option<&'static str> {
    let (_, ending) = path.rsplit('/').next()?.rsplit_once('.')?;
    let is_one = |endings: &[&str]| endings.iter().any(|known| known.eq_ignore_ascii_case(ending));
    KINDS_OF_FILE.iter().find(|(_, endings)| is_one(endings)).map(|(media, _)| *media)
}

/// Whether what is in a file may be of a media type, by the ending of its name, or because it is called so.
#[must_use]
pub fn may_hold(path: &str, media: &str, is_called: impl Fn(&str) -> bool) -> bool {
    let Some((_, endings, nouns)) = KINDS_OF_TEXT.iter().find(|(of, ..)| *of == media) else { return true };
    let ending = path.rsplit('/').next().and_then(|name| name.rsplit_once('.')).map(|(_, ending)| ending);
    let has_ending = |ending: &str| endings.iter().any(|known| known.eq_ignore_ascii_case(ending));
    ending.is_some_and(has_ending) || nouns.split_ascii_whitespace().any(is_called)
}

/// The longest description that is shown as what a value is called, in characters.
const MAX_LABEL: usize = 48;

/// What the values of a result, and those of the entries of its lists, are called by its schema: by their title, else by a
/// short description.
#[must_use]
pub fn labels(schema: &Value) -> BTreeMap<String, String> {
    let of_entries = properties(schema).filter_map(|(_, one)| one.get("items")).map(|items| resolved(schema, items));
    let entries = of_entries.flat_map(properties);
    let label = |schema: &Value| {
        let said = ["title", "description"].into_iter().find_map(|key| schema.get(key).and_then(Value::as_str))?;
        let said = said.trim_end_matches('.');
        let is_short = (1..=MAX_LABEL).contains(&said.chars().count()) && !said.contains(char::is_control);
        is_short.then(|| said.to_owned())
    };
    let own = properties(schema).chain(entries);
    own.take(MAX_SLOTS).filter_map(|(name, one)| Some((name.clone(), label(one)?))).collect()
}

/// What arguments are where they are not given, by the schema.
#[must_use]
pub fn defaults(schema: &Value) -> Map<String, Value> {
    properties(schema).filter_map(|(name, one)| Some((name.clone(), one.get("default")?.clone()))).collect()
}

/// The definition that a part of a document points at, else the part itself.
fn resolved<'a>(document: &'a Value, part: &'a Value) -> &'a Value {
    let target = part.get("$ref").and_then(Value::as_str).and_then(|reference| reference.strip_prefix('#'));
    target.and_then(|pointer| document.pointer(pointer)).unwrap_or(part)
}

/// The words of the numbers that a result has, by its schema.
#[must_use]
pub fn number_names(schema: &Value) -> Vec<Mark> {
    properties(schema)
        .filter(|(_, schema)| matches!(schema.get("type").and_then(Value::as_str), Some("integer" | "number")))
        .flat_map(|(name, _)| name_marks(name))
        .collect()
}

fn name_marks(name: &str) -> Vec<Mark> {
    name.split(['_', '-']).filter(|part| !part.is_empty()).map(lexicon::mark).collect()
}

/// The JSON pointer of a property of the top object (RFC 6901).
#[must_use]
pub fn pointer(name: &str) -> String {
    format!("/{}", name.replace('~', "~0").replace('/', "~1"))
}
