//! `birth`: the first interview. It asks what was not answered yet, keeps each answer as it is given, shows what it will
//! do, and does it: a line of the configuration here, a line of the owner's files there. It must never replace what the
//! owner has written unless he says so, and never receive a secret.
//!
//! [`answers`] what is asked and what may be answered, held against this [`machine`] · [`plan`] what that makes of the files, purely · [`interview`]
//! the asking · here: what is kept, and the doing.

pub mod answers;
pub mod interview;
pub mod machine;
pub mod plan;

use std::collections::{BTreeMap, BTreeSet};
use std::io::{IsTerminal, Read};
use std::path::{Path, PathBuf};

use clap::Args;
use metnos_proto::msg::common::Lang;
use metnos_texts::{Key, say, tell};
use schemars::JsonSchema;
use serde::Serialize;

use crate::daemons::connection::Connection;
use crate::error::{CtlError, Exit};
use crate::instance::atomic_file;
use crate::instance::create;
use crate::instance::{BIRTH, CONFIG, Content, Instance, MAX_CONFIG};
use crate::json_constant::ConstTrue;
use crate::screen::Screen;
use crate::screen::escape;

use answers::{Answers, AnswersGiven, Field, MAX_ANSWERS};
use machine::Machine;
use plan::{EditKind, FILES, FileTexts, Step};

/// See [`crate::command_line::cli::Command::Birth`].
#[derive(Debug, Default, Args)]
pub struct Birth {
    /// Take the answers from this TOML file, and ask nothing; a single `-` reads standard input
    #[arg(long, value_name = "FILE")]
    pub answers: Option<PathBuf>,

    /// Also replace what the owner has written where an answer goes
    #[arg(long)]
    pub replace: bool,
}

/// What is known before anything is asked, and what is answered.
#[derive(Debug, Default, Clone)]
pub struct InterviewState {
    /// The answers, which are kept.
    pub answers: Answers,
    /// What stands in the files because of them, by the field's key.
    pub written: BTreeMap<String, String>,
    /// What the instance says by itself.
    pub found: Answers,
    /// Where the owner has written what is no answer: not asked, and left alone.
    pub own: BTreeSet<Field>,
    /// Where the owner's own words make room.
    pub replace: BTreeSet<Field>,
}

impl InterviewState {
    /// What is known: the answers, before what the instance says by itself.
    #[must_use]
    pub fn known(&self) -> Answers {
        let mut all = self.found.clone();
        all.0.extend(self.answers.0.clone());
        all
    }

    /// Whether this needs no asking.
    #[must_use]
    pub fn has(&self, field: Field) -> bool {
        self.answers.get(field).is_some() || self.found.get(field).is_some() || self.own.contains(&field)
    }
}

/// What was done.
#[derive(Debug)]
struct Done {
    created: bool,
    steps: Vec<Step>,
}

fn refused(what: &str, why: impl ToString) -> CtlError {
    CtlError::failed(what, why, "nothing was changed; mend it, then `metnosctl birth` again")
}

/// Holds the interview, or takes the answers from a file, and does what follows from them.
///
/// # Errors
/// When an answer cannot be taken, there is nobody to ask, or a file cannot be read or written.
pub fn birth(screen: &mut Screen, instance: &Instance, asked: &Birth) -> Result<Exit, CtlError> {
    let machine = Machine::default();
    screen.speak(environment());
    check_place(instance)?;
    let mut kept = load(instance, &machine)?;
    screen.speak(kept.known().lang().unwrap_or(screen.lang()));
    if asked.replace {
        kept.replace.extend(Field::ALL);
    }
    let Some(file) = &asked.answers else {
        if screen.json() || !is_attended(screen) {
            return Err(CtlError::Usage {
                what: say(screen.lang(), Key::BirthNoTerminal),
                remedy: say(screen.lang(), Key::BirthFromFile),
            });
        }
        return interview::hold(screen, instance, &machine, kept);
    };
    let text = read_answers(file, screen.lang())?;
    // Also what is wrong in it is said in the language that it asks for.
    screen.speak(answers::language(&text).unwrap_or(screen.lang()));
    let given = answers::parse(&machine, &text, screen.lang()).map_err(|what| CtlError::Usage {
        what: format!("{}: {what}", escape::line(&file.display().to_string())),
        remedy: say(screen.lang(), Key::BirthUnchanged),
    })?;
    kept.answers.0.extend(given.0);
    let done = apply(instance, &mut kept)?;
    let (known, next) = (kept.known(), next(instance, &kept, &done));
    if screen.json() {
        screen.document(&document(instance, &known, &done, &next))?;
    } else {
        told(screen, instance, &done, &next)?;
    }
    Ok(Exit::Done)
}

/// What `up` does where there is no instance: asks, when a person sits there, else takes what was answered before and the
/// defaults. Whether there is an instance now, and whether it is new.
///
/// # Errors
/// As [`birth`].
pub fn at_up(screen: &mut Screen, instance: &Instance) -> Result<Option<bool>, CtlError> {
    if instance.content().ok() != Some(Content::Nothing) {
        return create::create(instance).map(Some);
    }
    let is_attended = !screen.json() && is_attended(screen);
    if !is_attended && !instance.directory().join(BIRTH).exists() {
        return create::create(instance).map(Some);
    }
    let machine = Machine::default();
    let mut kept = load(instance, &machine)?;
    if is_attended {
        screen.speak(kept.known().lang().unwrap_or_else(environment));
        let exit = interview::hold(screen, instance, &machine, kept)?;
        return Ok((exit == Exit::Done).then_some(true));
    }
    Ok(Some(apply(instance, &mut kept)?.created))
}

/// Whether a person sits there who can be asked.
fn is_attended(screen: &Screen) -> bool {
    std::io::stdin().is_terminal() && screen.watched() && screen.out_is_terminal()
}

/// The language of anyone who calls, as his shell has it.
fn environment() -> Lang {
    let var = |name| std::env::var(name).ok().filter(|value: &String| !value.is_empty());
    let said = ["LC_ALL", "LC_MESSAGES", "LANG"].into_iter().find_map(var);
    said.and_then(|tag| metnos_texts::of_tag(&tag)).unwrap_or(Lang::En)
}

/// A folder with other things in it is no place, and nobody is asked in vain.
fn check_place(instance: &Instance) -> Result<(), CtlError> {
    match instance.content() {
        Ok(Content::Other(_)) => create::create(instance).map(|_| ()),
        _ => Ok(()),
    }
}

fn read_answers(file: &Path, lang: Lang) -> Result<String, CtlError> {
    let unread = |error: std::io::Error| CtlError::Usage {
        what: format!("{}: {error}", escape::line(&file.display().to_string())),
        remedy: say(lang, Key::BirthFromFile),
    };
    let mut text = String::new();
    let input: Box<dyn Read> = match file.to_str() {
        Some("-") => Box::new(std::io::stdin()),
        _ => Box::new(std::fs::File::open(file).map_err(unread)?),
    };
    input.take(MAX_ANSWERS + 1).read_to_string(&mut text).map_err(unread)?;
    if text.len() as u64 > MAX_ANSWERS {
        return Err(unread(std::io::Error::other(format!("more than {MAX_ANSWERS} bytes"))));
    }
    Ok(text)
}

/// What was kept of an earlier interview, and what the instance says of itself.
fn load(instance: &Instance, machine: &Machine) -> Result<InterviewState, CtlError> {
    let mut kept = InterviewState::default();
    for (field, text) in plan::adopted(&read_files(instance)?).map_err(|why| refused(CONFIG, why))?.0 {
        match answers::check(machine, field, &text, &kept.found) {
            Ok(answer) => drop(kept.found.0.insert(field, answer)),
            Err(_) => drop(kept.own.insert(field)),
        }
    }
    let path = instance.directory().join(BIRTH);
    let text = atomic_file::read(&path, MAX_ANSWERS).map_err(|error| refused(BIRTH, error))?.unwrap_or_default();
    let table: toml::Table = text.parse().map_err(|error: toml::de::Error| refused(BIRTH, error.message()))?;
    let part = |name: &str| table.get(name).and_then(toml::Value::as_table).cloned().unwrap_or_default();
    let answered = answers::parse(machine, &part("answers").to_string(), Lang::En);
    kept.answers = answered.map_err(|why| refused(BIRTH, why))?;
    let text = |(key, value): (String, toml::Value)| Some((key, value.as_str()?.to_owned()));
    kept.written = part("written").into_iter().filter_map(text).collect();
    Ok(kept)
}

/// Keeps what was answered so far; the folder of an instance is made for it where there is none.
pub(crate) fn save(instance: &Instance, kept: &InterviewState) -> Result<(), CtlError> {
    let directory = instance.directory();
    let failed = |error: std::io::Error| {
        let what = format!("what was answered cannot be kept in {}", directory.display());
        CtlError::failed(what, error, "choose a directory of your own: `metnosctl --instance DIR birth`")
    };
    create::folder(directory).map_err(failed)?;
    let mut table = toml::Table::new();
    table.insert("answers".to_owned(), toml::Value::Table(kept.answers.table()));
    let written = kept.written.iter().map(|(key, text)| (key.clone(), toml::Value::String(text.clone())));
    table.insert("written".to_owned(), toml::Value::Table(written.collect()));
    let text = format!("# What was answered to `metnosctl birth`, and what that has written. No secrets.\n{table}");
    atomic_file::replace(&directory.join(BIRTH), &text, 0o600).map_err(failed)
}

/// The files as they are, or as a new instance has them.
fn read_files(instance: &Instance) -> Result<FileTexts, CtlError> {
    let mut house = FileTexts::new();
    let is_new = instance.content().ok() == Some(Content::Nothing);
    for file in FILES {
        let read =
            atomic_file::read(&instance.directory().join(file), MAX_CONFIG).map_err(|error| refused(file, error))?;
        let shipped = || is_new.then(|| plan::shipped(file).to_owned());
        if let Some(text) = read.or_else(shipped) {
            house.insert(file, text);
        }
    }
    // A configuration that is not there sets nothing, and can be written.
    house.entry(CONFIG).or_default();
    Ok(house)
}

/// What the answers would change.
pub(crate) fn steps(instance: &Instance, kept: &InterviewState) -> Result<(Vec<Step>, FileTexts), CtlError> {
    let replace = |field: Field| kept.replace.contains(&field);
    plan::plan(&kept.answers, &read_files(instance)?, &kept.written, &replace).map_err(|why| refused(CONFIG, why))
}

/// Does it. Killed in between, it is taken up where it was by doing it again.
fn apply(instance: &Instance, kept: &mut InterviewState) -> Result<Done, CtlError> {
    let created = create::create(instance)?;
    let (steps, texts) = steps(instance, kept)?;
    if !kept.answers.0.is_empty() {
        save(instance, kept)?;
    }
    for file in FILES {
        if steps.iter().any(|step| step.spot.file == file && step.way != EditKind::Kept) {
            let text = texts.get(file).map(String::as_str).unwrap_or_default();
            atomic_file::replace(&instance.directory().join(file), text, 0o640)
                .map_err(|error| refused(file, error))?;
        }
    }
    for step in steps.iter().filter(|step| step.way != EditKind::Kept) {
        kept.written.insert(step.spot.field.key().to_owned(), step.after.clone());
    }
    if !kept.answers.0.is_empty() {
        save(instance, kept)?;
    }
    Ok(Done { created, steps })
}

/// What is still to be done by hand: the command, and what it is for.
fn next(instance: &Instance, kept: &InterviewState, done: &Done) -> Vec<(&'static str, String)> {
    let (mut next, answers) = (Vec::new(), &kept.answers);
    let configured = done.steps.iter().any(|step| step.spot.file == CONFIG && step.way != EditKind::Kept);
    match Connection::to(instance) {
        Err(_) => next.push(("start", "metnosctl up --detach".to_owned())),
        Ok(_) if configured => next.push(("restart", "metnosctl down && metnosctl up --detach".to_owned())),
        Ok(_) => {}
    }
    if let Some(name) = answers.get(Field::Owner).filter(|_| done.created) {
        next.push(("name", format!("metnosctl people add {} --role owner", quoted(name))));
    }
    if let Some(server) = answers.server() {
        next.push(("key", format!("metnosctl models key {}", server.name)));
        if answers.get(Field::Model).is_some_and(|model| model != answers::NONE) {
            next.push(("test", "metnosctl models test interface".to_owned()));
        } else {
            next.push(("scan", "metnosctl models scan".to_owned()));
        }
    }
    if answers.get(Field::Telegram) == Some("yes") {
        next.push(("token", "metnosctl telegram token".to_owned()));
        next.push(("pair", "metnosctl pairing invite telegram --as owner".to_owned()));
    }
    next
}

/// A name as a shell takes it as one word.
fn quoted(name: &str) -> String {
    if name.chars().all(char::is_alphanumeric) {
        return name.to_owned();
    }
    format!("'{}'", name.replace('\'', r"'\''"))
}

/// What the interview has written.
#[derive(Debug, Serialize, JsonSchema)]
pub struct BirthDone {
    /// It was done.
    ok: ConstTrue,
    /// The directory of the instance.
    instance: String,
    /// Whether it was created.
    created: bool,
    /// What was answered.
    answers: AnswersGiven,
    /// Lines that were written.
    set: Vec<Written>,
    /// Lines that were left as they are.
    kept: Vec<Written>,
    /// What to do next.
    next: Vec<NextStep>,
}

/// A line of a file of the owner.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Written {
    /// To which question it belongs.
    key: String,
    /// The file.
    file: String,
    /// The place in the file.
    place: String,
    /// What stood there.
    before: String,
    /// What stands there now, or would.
    after: String,
}

/// What to do next.
#[derive(Debug, Serialize, JsonSchema)]
pub struct NextStep {
    /// What for.
    why: String,
    /// The command.
    command: String,
}

fn document(instance: &Instance, answers: &Answers, done: &Done, next: &[(&str, String)]) -> BirthDone {
    let of = |kept: bool| {
        let steps = done.steps.iter().filter(|step| (step.way == EditKind::Kept) == kept);
        let one = |step: &Step| Written {
            key: step.spot.field.key().to_owned(),
            file: step.spot.file.to_owned(),
            place: step.spot.what.to_owned(),
            before: step.before.clone(),
            after: step.after.clone(),
        };
        steps.map(one).collect()
    };
    let next = next.iter().map(|(why, command)| NextStep { why: (*why).to_owned(), command: command.clone() });
    BirthDone {
        ok: ConstTrue,
        instance: instance.directory().display().to_string(),
        created: done.created,
        answers: answers.given(),
        set: of(false),
        kept: of(true),
        next: next.collect(),
    }
}

fn told(screen: &mut Screen, instance: &Instance, done: &Done, next: &[(&str, String)]) -> Result<(), CtlError> {
    let lang = screen.lang();
    if done.created {
        let place = escape::line(&instance.directory().display().to_string());
        screen.line(&tell(lang, Key::BirthCreated, &[("place", (&place).into())]))?;
    }
    show_steps(screen, &done.steps)?;
    if done.steps.is_empty() && !done.created {
        screen.line(&say(lang, Key::BirthNothing))?;
    }
    if !next.is_empty() {
        screen.line(&say(lang, Key::BirthNext))?;
    }
    for (why, command) in next {
        screen.line(&format!("  {command}\n    {}", tell(lang, Key::BirthNextWhy, &[("step", (*why).into())])))?;
    }
    Ok(())
}

/// One line a change, and one for each that is not made.
pub(crate) fn show_steps(screen: &mut Screen, steps: &[Step]) -> Result<(), CtlError> {
    for step in steps {
        let shown = |text: &str| {
            let text = if text.is_empty() { "–".to_owned() } else { text.replace('\n', "; ") };
            crate::screen::human::shortened(&escape::line(&text), 160)
        };
        let place = format!("{}, {}", step.spot.file, step.spot.what);
        let (before, after) = (shown(&step.before), shown(&step.after));
        let (place, after) = (("place", (&place).into()), ("after", (&after).into()));
        let text = match step.way {
            EditKind::Set => tell(screen.lang(), Key::BirthSet, &[place, after]),
            EditKind::Kept => tell(screen.lang(), Key::BirthKept, &[place, ("before", (&before).into()), after]),
            EditKind::Replaced => {
                tell(screen.lang(), Key::BirthReplaced, &[place, ("before", (&before).into()), after])
            }
        };
        screen.line(&format!("  {text}"))?;
    }
    Ok(())
}
