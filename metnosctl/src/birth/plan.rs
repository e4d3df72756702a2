//! What answers make of an instance's files, purely: from the texts as they are to the texts as they are to be, one spot
//! at a time. What the owner has written himself must never be replaced unless he says so.

use std::collections::BTreeMap;

use metnos_policy::vaglio::telos;
use toml_edit::{Array, DocumentMut, Item, Table, value};

use super::answers::{Answers, DIRECTORY, Field, LISTEN, NONE, OFF, rendered};
use crate::instance::CONFIG;
use crate::instance::seeds::WORKSPACE as SHIPPED;

/// The files that answers go into, below the instance.
pub const FILES: [&str; 4] = [CONFIG, "workspace/IDENTITY.md", "workspace/USER.md", "workspace/TELOS.md"];
const I_AM: &str = "I am ";
const THE_BUTLER: &str = ", the butler of this household.";
/// What Metnos is called unless a person says otherwise.
pub const METNOS: &str = "Metnos";

/// The texts of [`FILES`] by name; a file that is not there has none.
pub type FileTexts = BTreeMap<&'static str, String>;

/// A place in a file that an answer goes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EditTarget {
    /// Whose answer.
    pub field: Field,
    /// In which file.
    pub file: &'static str,
    /// Where in it, for a person.
    pub what: &'static str,
}

const fn spot(field: Field, file: usize, what: &'static str) -> EditTarget {
    EditTarget { field, file: FILES[file], what }
}

/// All of them; `telegram` has none, its token is a command's.
pub const EDIT_TARGETS: [EditTarget; 10] = [
    spot(Field::Language, 0, "instance.lang"),
    spot(Field::OwnerUser, 0, "instance.owner_uid"),
    spot(Field::ModelServer, 0, "models.substrates"),
    spot(Field::Model, 0, "models.interface"),
    spot(Field::Http, 0, "http.listen"),
    spot(Field::Name, 1, "I am …"),
    spot(Field::Owner, 2, "Name:"),
    spot(Field::TimeZone, 2, "Time zone:"),
    spot(Field::Place, 2, "Place:"),
    spot(Field::Telos, 3, "## t.…"),
];

/// What becomes of a spot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EditKind {
    /// It says what nobody has written there: it is set.
    Set,
    /// The owner has written something else there: that stays.
    Kept,
    /// The owner has, and wants it replaced.
    Replaced,
}

/// One change, or one that is not made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// Where.
    pub spot: EditTarget,
    /// What stands there; empty where nothing does.
    pub before: String,
    /// What was answered.
    pub after: String,
    /// What becomes of it.
    pub way: EditKind,
}

/// What stands at a spot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CurrentText {
    /// What a new instance has there.
    Shipped(String),
    /// Something else.
    Own(String),
    /// Nothing, and no place for it: the file or its line is gone.
    Gone,
}

/// What the answers would change, in order, and the texts as they would be then. `written` is what earlier answers have
/// written, by the field's key; `replace` says where the owner's own words make room.
///
/// # Errors
/// When the configuration is no TOML.
pub fn plan(
    answers: &Answers,
    house: &FileTexts,
    written: &BTreeMap<String, String>,
    replace: &dyn Fn(Field) -> bool,
) -> Result<(Vec<Step>, FileTexts), String> {
    let (mut steps, mut texts) = (Vec::new(), house.clone());
    for spot in EDIT_TARGETS {
        let Some(answer) = answers.get(spot.field).and_then(|answer| wanted(spot.field, answer)) else { continue };
        let (found, answer) = match found(spot, &texts, &answer)? {
            // A server is put beside those that there are.
            CurrentText::Own(servers) if spot.field == Field::ModelServer && !has_name(&servers, &answer) => {
                (CurrentText::Shipped(String::new()), format!("{servers}\n{answer}"))
            }
            found @ (CurrentText::Shipped(_) | CurrentText::Own(_) | CurrentText::Gone) => (found, answer),
        };
        let (before, way) = match found {
            CurrentText::Shipped(before) | CurrentText::Own(before) if before == answer => continue,
            CurrentText::Shipped(before) => (before, EditKind::Set),
            CurrentText::Own(before) if written.get(spot.field.key()) == Some(&before) => (before, EditKind::Set),
            CurrentText::Own(before) if replace(spot.field) => (before, EditKind::Replaced),
            CurrentText::Own(before) => (before, EditKind::Kept),
            CurrentText::Gone => (String::new(), EditKind::Kept),
        };
        if way != EditKind::Kept
            && let Some(text) = texts.get_mut(spot.file)
        {
            *text = put(spot, text, &answer)?;
        }
        steps.push(Step { spot, before, after: answer, way });
    }
    Ok((steps, texts))
}

/// What an instance has answered by itself: what its owner has written where an answer would go.
///
/// # Errors
/// When the configuration is no TOML.
pub fn adopted(house: &FileTexts) -> Result<Answers, String> {
    let mut answers = Answers::default();
    for spot in EDIT_TARGETS {
        let answer = match (spot.field, found(spot, house, "")?) {
            // As it stands there: the answer to keep it.
            (Field::Telos, CurrentText::Own(_) | CurrentText::Gone) => String::new(),
            (_, CurrentText::Own(text)) => match spot.field {
                Field::Http if text.is_empty() => OFF.to_owned(),
                Field::ModelServer => text.lines().next().unwrap_or_default().to_owned(),
                Field::Model => text.lines().next().unwrap_or_default().to_owned(),
                Field::Language
                | Field::Name
                | Field::Owner
                | Field::OwnerUser
                | Field::TimeZone
                | Field::Place
                | Field::Telos
                | Field::Http
                | Field::Telegram => text,
            },
            (_, CurrentText::Shipped(_) | CurrentText::Gone) => continue,
        };
        answers.0.insert(spot.field, answer);
    }
    Ok(answers)
}

/// What the answer would write; `None` when it leaves everything as it is.
fn wanted(field: Field, answer: &str) -> Option<String> {
    match (field, answer) {
        (Field::ModelServer | Field::Model, NONE) | (_, "") => None,
        (Field::Http, OFF) => Some(String::new()),
        _ => Some(answer.to_owned()),
    }
}

/// Whether a server of the answer's name stands among them.
fn has_name(servers: &str, answer: &str) -> bool {
    let name = |line: &str| line.split_whitespace().next().map(str::to_owned);
    servers.lines().any(|line| name(line) == name(answer))
}

fn found(spot: EditTarget, house: &FileTexts, answer: &str) -> Result<CurrentText, String> {
    let Some(text) = house.get(spot.file) else { return Ok(CurrentText::Gone) };
    let line = |shipped: &str| match line_of(text, spot) {
        Some((_, text)) if text != shipped => CurrentText::Own(text),
        Some(_) => CurrentText::Shipped(shipped.to_owned()),
        None => CurrentText::Gone,
    };
    // A key that is set is the owner's, whatever it is set to.
    let key = |shipped: &str| -> Result<CurrentText, String> {
        Ok(key_of(text, spot.what)?.map_or_else(|| CurrentText::Shipped(shipped.to_owned()), CurrentText::Own))
    };
    Ok(match spot.field {
        Field::Language => key("en")?,
        Field::OwnerUser => key(DIRECTORY)?,
        Field::Http => key(LISTEN)?,
        Field::Model => key("")?,
        Field::ModelServer => match key("")? {
            CurrentText::Own(servers) => {
                // Of several servers the one of the same name is meant.
                let same = servers.lines().find(|line| !answer.is_empty() && has_name(line, answer)).map(str::to_owned);
                CurrentText::Own(same.unwrap_or(servers))
            }
            found @ (CurrentText::Shipped(_) | CurrentText::Gone) => found,
        },
        Field::Name => line(METNOS),
        Field::Owner | Field::TimeZone | Field::Place => line(""),
        Field::Telos => {
            let ends = telos::parse(text).map(|ends| ends.into_iter().map(|end| end.phrase).collect::<Vec<_>>());
            let phrases = ends.unwrap_or_default().join("\n");
            let ours = rendered(&phrases.lines().collect::<Vec<_>>()) == *text;
            if text == shipped(spot.file) {
                CurrentText::Shipped(phrases)
            } else if ours {
                CurrentText::Own(phrases)
            } else {
                // Anyone who has set weights of his own has a text of his own, whatever its ends are.
                CurrentText::Own(text.clone())
            }
        }
        Field::Telegram => CurrentText::Gone,
    })
}

/// One of [`FILES`] as a new instance has it.
#[must_use]
pub fn shipped(file: &str) -> &'static str {
    let name = file.rsplit('/').next().unwrap_or(file);
    let found = SHIPPED.iter().find(|(path, _)| *path == name).map(|(_, bytes)| *bytes);
    let bytes = found.unwrap_or(if file == CONFIG { crate::instance::seeds::CONFIG } else { b"" });
    std::str::from_utf8(bytes).unwrap_or_default()
}

/// The line of a spot in a text file: which, counted from 0, and what stands in it.
fn line_of(text: &str, spot: EditTarget) -> Option<(usize, String)> {
    text.lines().enumerate().find_map(|(at, line)| {
        let line = line.trim();
        let value = if spot.field == Field::Name {
            line.strip_prefix(I_AM)?.strip_suffix(THE_BUTLER)?
        } else {
            let line = line.trim_start_matches(['-', '*']).trim_start();
            let head = line.get(..spot.what.len())?;
            if !head.eq_ignore_ascii_case(spot.what) {
                return None;
            }
            line[spot.what.len()..].trim()
        };
        Some((at, value.to_owned()))
    })
}

fn put(spot: EditTarget, text: &str, answer: &str) -> Result<String, String> {
    Ok(match spot.field {
        Field::Telos => rendered(&answer.lines().collect::<Vec<_>>()),
        Field::Name => with_line(text, spot, &format!("{I_AM}{answer}{THE_BUTLER}")),
        Field::Owner | Field::TimeZone | Field::Place => with_line(text, spot, &format!("- {} {answer}", spot.what)),
        Field::Language | Field::Http => with_key(text, spot.what, value(answer))?,
        Field::OwnerUser => with_key(text, spot.what, answer.parse::<i64>().map_or_else(|_| value(answer), value))?,
        Field::ModelServer | Field::Model => {
            let lines: Vec<&str> = match spot.field {
                // Of the servers that there are only the one of this name makes room.
                Field::ModelServer if !answer.contains('\n') => {
                    let servers = key_of(text, spot.what)?.unwrap_or_default();
                    let mut lines: Vec<String> = servers.lines().map(str::to_owned).collect();
                    lines.retain(|line| !has_name(line, answer));
                    lines.push(answer.to_owned());
                    return with_key(text, spot.what, value(lines.iter().map(String::as_str).collect::<Array>()));
                }
                Field::Language
                | Field::Name
                | Field::Owner
                | Field::OwnerUser
                | Field::TimeZone
                | Field::Place
                | Field::Telos
                | Field::ModelServer
                | Field::Model
                | Field::Http
                | Field::Telegram => answer.lines().collect(),
            };
            with_key(text, spot.what, value(lines.into_iter().collect::<Array>()))?
        }
        Field::Telegram => text.to_owned(),
    })
}

/// The text with this line in the place of the spot's, or at its end.
fn with_line(text: &str, spot: EditTarget, line: &str) -> String {
    let at = line_of(text, spot).map(|(at, _)| at);
    let mut lines: Vec<&str> = text.lines().collect();
    match at {
        Some(at) => lines[at] = line,
        None => lines.push(line),
    }
    format!("{}\n", lines.join("\n"))
}

fn document(text: &str) -> Result<DocumentMut, String> {
    text.parse().map_err(|error: toml_edit::TomlError| error.message().to_owned())
}

/// What a key of the configuration holds, the items of a list one a line; `None` when it is not set.
fn key_of(text: &str, path: &str) -> Result<Option<String>, String> {
    let document = document(text)?;
    let (table, key) = path.split_once('.').unwrap_or((path, ""));
    let Some(item) = document.get(table).and_then(|table| table.get(key)) else { return Ok(None) };
    if let Some(items) = item.as_array() {
        let items: Vec<&str> = items.iter().filter_map(toml_edit::Value::as_str).collect();
        return Ok((!items.is_empty()).then(|| items.join("\n")));
    }
    let number = item.as_integer().map(|number| number.to_string());
    Ok(item.as_str().map(str::to_owned).or(number))
}

/// The configuration with this key, and everything else as it is.
///
/// # Errors
/// When it is no TOML, or its table is none.
pub fn with_key(text: &str, path: &str, item: Item) -> Result<String, String> {
    let mut document = document(text)?;
    let (table, key) = path.split_once('.').unwrap_or((path, ""));
    let entry = document.entry(table).or_insert_with(|| Item::Table(Table::new()));
    let entry = entry.as_table_mut().ok_or_else(|| format!("[{table}] is no table in it"))?;
    entry[key] = item;
    Ok(document.to_string())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn fresh() -> FileTexts {
        FILES.into_iter().map(|file| (file, shipped(file).to_owned())).collect()
    }

    fn answers(pairs: &[(Field, &str)]) -> Answers {
        Answers(pairs.iter().map(|(field, text)| (*field, (*text).to_owned())).collect())
    }

    fn ways(steps: &[Step]) -> Vec<(Field, EditKind)> {
        steps.iter().map(|step| (step.spot.field, step.way)).collect()
    }

    const ALL: [(Field, &str); 10] = [
        (Field::Language, "it"),
        (Field::Name, "Alfredo"),
        (Field::Owner, "Roberta"),
        (Field::OwnerUser, "1004"),
        (Field::TimeZone, "Europe/Rome"),
        (Field::Place, "Trieste"),
        (Field::Telos, "tenere in ordine\nla calma\nla fiducia"),
        (Field::ModelServer, "local ollama http://127.0.0.1:11434"),
        (Field::Model, "local/qwen3"),
        (Field::Http, OFF),
    ];

    #[test]
    fn every_answer_goes_to_its_place_and_a_second_time_nothing_is_left_to_do() {
        let (steps, texts) = plan(&answers(&ALL), &fresh(), &BTreeMap::new(), &|_| false).unwrap();
        assert!(steps.len() == 10 && steps.iter().all(|step| step.way == EditKind::Set), "{steps:?}");
        let config: toml::Table = texts[CONFIG].parse().unwrap();
        assert_eq!(config["instance"]["lang"].as_str(), Some("it"));
        assert_eq!(config["instance"]["owner_uid"].as_integer(), Some(1004));
        assert_eq!(config["models"]["substrates"][0].as_str(), Some("local ollama http://127.0.0.1:11434"));
        assert_eq!(config["models"]["interface"][0].as_str(), Some("local/qwen3"));
        assert_eq!(config["http"]["listen"].as_str(), Some(""));
        assert!(texts[FILES[1]].contains("I am Alfredo, the butler of this household."));
        assert!(texts[FILES[2]].contains("\n- Name: Roberta\n- How to be addressed:"), "{}", texts[FILES[2]]);
        assert!(texts[FILES[2]].contains("\n- Time zone: Europe/Rome\n- Place: Trieste\n"));
        assert_eq!(telos::parse(&texts[FILES[3]]).unwrap().len(), 3);
        let left = plan(&answers(&ALL), &texts, &BTreeMap::new(), &|_| false).unwrap();
        assert_eq!(left, (vec![], texts));
    }

    #[test]
    fn answers_that_say_what_is_so_change_nothing() {
        let same = [
            (Field::Language, "en"),
            (Field::Name, METNOS),
            (Field::Owner, ""),
            (Field::OwnerUser, DIRECTORY),
            (Field::Telos, ""),
            (Field::ModelServer, NONE),
            (Field::Model, NONE),
            (Field::Http, LISTEN),
        ];
        let (steps, texts) = plan(&answers(&same), &fresh(), &BTreeMap::new(), &|_| false).unwrap();
        assert_eq!((steps, texts), (vec![], fresh()));
        assert_eq!(adopted(&fresh()).unwrap(), Answers::default(), "a new instance has answered nothing");
    }

    #[test]
    fn owners_changes_are_kept_unless_replacement_is_chosen() {
        let (_, mut texts) = plan(&answers(&ALL), &fresh(), &BTreeMap::new(), &|_| false).unwrap();
        let config = texts.get_mut(CONFIG).unwrap();
        *config = config.replace("lang = \"it\"", "lang = \"en\" # mine").replace("local/qwen3", "local/mine");
        let user = texts.get_mut(FILES[2]).unwrap();
        *user = user.replace("Name: Roberta", "name: Bobby");
        let ends = texts.get_mut(FILES[3]).unwrap();
        *ends = ends.replacen("weight: 1", "weight: 3", 1);
        texts.remove(FILES[1]);
        let (steps, same) = plan(&answers(&ALL), &texts, &BTreeMap::new(), &|_| false).unwrap();
        let fields = [Field::Language, Field::Model, Field::Name, Field::Owner, Field::Telos];
        assert_eq!(ways(&steps), fields.map(|field| (field, EditKind::Kept)));
        assert!(same[FILES[2]].contains("name: Bobby") && same[FILES[3]].contains("weight: 3"));
        let (steps, new) = plan(&answers(&ALL), &texts, &BTreeMap::new(), &|_| true).unwrap();
        assert_eq!(steps.iter().filter(|step| step.way == EditKind::Replaced).count(), 4, "{steps:?}");
        assert!(new[FILES[2]].contains("- Name: Roberta\n") && !new[FILES[3]].contains("weight: 3"));
        assert!(new[CONFIG].contains("lang = \"it\""));
        assert!(!new.contains_key(FILES[1]), "what the owner removed stays removed");
    }

    #[test]
    fn an_answer_that_was_changed_replaces_what_the_one_before_it_wrote() {
        let (_, texts) = plan(&answers(&ALL), &fresh(), &BTreeMap::new(), &|_| false).unwrap();
        let written: BTreeMap<String, String> =
            ALL.iter().map(|(field, text)| (field.key().to_owned(), (*text).to_owned())).collect();
        let other = answers(&[
            (Field::Name, "Gina"),
            (Field::Telos, "uno due\ndue tre\ntre quattro"),
            (Field::Model, "local/b"),
        ]);
        let (steps, new) = plan(&other, &texts, &written, &|_| false).unwrap();
        assert!(steps.len() == 3 && steps.iter().all(|step| step.way == EditKind::Set), "{steps:?}");
        assert!(new[FILES[1]].contains("I am Gina,"));
    }

    #[test]
    fn a_server_is_put_beside_those_that_there_are() {
        let mut house = fresh();
        let config =
            with_key(&house[CONFIG], "models.substrates", value(Array::from_iter(["a openai http://127.0.0.1:1"])));
        house.insert(CONFIG, config.unwrap());
        let new = |line: &str, replace| {
            let (steps, texts) =
                plan(&answers(&[(Field::ModelServer, line)]), &house, &BTreeMap::new(), &|_| replace).unwrap();
            (ways(&steps), key_of(&texts[CONFIG], "models.substrates").unwrap().unwrap())
        };
        let beside = "a openai http://127.0.0.1:1\nb ollama http://127.0.0.1:2";
        assert_eq!(
            new("b ollama http://127.0.0.1:2", false),
            (vec![(Field::ModelServer, EditKind::Set)], beside.to_owned())
        );
        let kept = (vec![(Field::ModelServer, EditKind::Kept)], "a openai http://127.0.0.1:1".to_owned());
        assert_eq!(new("a ollama http://127.0.0.1:2", false), kept);
        let replaced = (vec![(Field::ModelServer, EditKind::Replaced)], "a ollama http://127.0.0.1:2".to_owned());
        assert_eq!(new("a ollama http://127.0.0.1:2", true), replaced);
    }

    #[test]
    fn interview_skips_questions_already_answered() {
        let (_, mut texts) = plan(&answers(&ALL), &fresh(), &BTreeMap::new(), &|_| false).unwrap();
        let found = adopted(&texts).unwrap();
        for (field, text) in ALL.into_iter().filter(|(field, _)| *field != Field::Telos) {
            assert_eq!(found.get(field), Some(text), "{field:?}");
        }
        assert_eq!(found.get(Field::Telos), Some(""), "an own telos is kept as it is");
        texts.insert(CONFIG, "[".to_owned());
        assert!(adopted(&texts).is_err() && plan(&answers(&ALL), &texts, &BTreeMap::new(), &|_| false).is_err());
    }
}
