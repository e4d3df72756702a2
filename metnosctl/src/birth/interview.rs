//! The interview at a terminal: one question after the other, each answer kept before the next is asked. Ctrl-C and
//! Ctrl-D stop it, and lose nothing.

use std::path::Path;

use metnos_texts::{Key, say, tell};
use rustyline::error::ReadlineError;
use rustyline::{Config, DefaultEditor};

use super::answers::{Answers, DIRECTORY, Field, InvalidAnswer, LISTEN, NONE, check};
use super::machine::{Machine, nearest};
use super::plan::METNOS;
use super::{InterviewState, apply, next, save, show_steps, steps, told};
use crate::error::{CtlError, Exit};
use crate::instance::Instance;
use crate::screen::{Ink, Screen};

/// What was said to a question.
enum Reply {
    /// These words; none takes what is proposed.
    Words(String),
    /// Ctrl-C or Ctrl-D.
    Stop,
}

/// Asks what is not answered, shows what will be done, and does it when that is right. [`Exit::Failed`] when it was stopped.
///
/// # Errors
/// When the terminal is gone, or something cannot be kept or written.
pub(super) fn hold(
    screen: &mut Screen,
    instance: &Instance,
    machine: &Machine,
    mut kept: InterviewState,
) -> Result<Exit, CtlError> {
    let config = Config::builder().max_history_size(0).map_err(gone)?.build();
    let mut editor = DefaultEditor::with_config(config).map_err(gone)?;
    let is_root = rustix::process::geteuid().is_root();
    let known = u64::try_from(kept.known().0.len()).unwrap_or(0);
    screen.aside(Ink::Plain, &say(screen.lang(), Key::BirthHello))?;
    if known > 0 {
        screen.aside(Ink::Dim, &tell(screen.lang(), Key::BirthAgain, &[("count", known.into())]))?;
    }
    for field in Field::ALL {
        if !kept.has(field) && field.is_asked(&kept.known(), is_root) {
            let proposed = proposed(screen, machine, field);
            let Some(()) = ask(screen, &mut editor, instance, machine, &mut kept, (field, &proposed))? else {
                return stopped(screen);
            };
        }
    }
    loop {
        let (plan, _) = steps(instance, &kept)?;
        screen.line(&say(screen.lang(), Key::BirthPlan))?;
        show_answers(screen, &kept.known())?;
        show_steps(screen, &plan)?;
        screen.flush()?;
        screen.aside(Ink::Dim, &say(screen.lang(), Key::BirthConfirm))?;
        match read_answer(&mut editor, "› ")? {
            Reply::Stop => return stopped(screen),
            Reply::Words(words) if words.is_empty() => break,
            Reply::Words(words) if words == "n" || words == "no" => return stopped(screen),
            Reply::Words(words) => match Field::of(&words) {
                Some(field) => {
                    let proposed = kept.known().get(field).unwrap_or_default().replace('\n', "; ");
                    // Anyone who answers anew is shown what that replaces before it is done.
                    kept.replace.insert(field);
                    let Some(()) = ask(screen, &mut editor, instance, machine, &mut kept, (field, &proposed))? else {
                        return stopped(screen);
                    };
                }
                None => screen.aside(Ink::Warn, &unknown(screen, words))?,
            },
        }
    }
    let done = apply(instance, &mut kept)?;
    let next = next(instance, &kept, &done);
    screen.line("")?;
    told(screen, instance, &done, &next)?;
    Ok(Exit::Done)
}

fn gone(error: ReadlineError) -> CtlError {
    CtlError::failed("the line editor does not work here", error, "`metnosctl birth --answers FILE` needs no terminal")
}

fn unknown(screen: &Screen, words: String) -> String {
    let near = nearest(&words, Field::ALL.iter().map(|field| field.key()));
    InvalidAnswer { key: crate::screen::human::shortened(&words, 60), value: String::new(), near }.told(screen.lang())
}

fn read_answer(editor: &mut DefaultEditor, prompt: &str) -> Result<Reply, CtlError> {
    match editor.readline(prompt) {
        Ok(words) => Ok(Reply::Words(words.trim().to_owned())),
        Err(ReadlineError::Interrupted | ReadlineError::Eof) => Ok(Reply::Stop),
        Err(error) => Err(gone(error)),
    }
}

/// Asks until the answer can be taken, and keeps it; `None` when it was stopped.
fn ask(
    screen: &mut Screen,
    editor: &mut DefaultEditor,
    instance: &Instance,
    machine: &Machine,
    kept: &mut InterviewState,
    (field, proposed): (Field, &str),
) -> Result<Option<()>, CtlError> {
    screen.aside(Ink::Plain, &tell(screen.lang(), Key::BirthQuestion, &[("field", field.key().into())]))?;
    let prompt =
        if proposed.is_empty() { format!("{}: ", field.key()) } else { format!("{} [{proposed}]: ", field.key()) };
    loop {
        screen.flush()?;
        let words = match read_answer(editor, &prompt)? {
            Reply::Stop => return Ok(None),
            Reply::Words(words) if words.is_empty() => proposed.to_owned(),
            Reply::Words(words) => words,
        };
        // Ends are typed on one line, and kept one a line.
        let given = if field == Field::Telos { words.replace(';', "\n") } else { words };
        match check(machine, field, &given, &kept.known()) {
            Ok(answer) => {
                kept.answers.0.insert(field, answer);
                forget_what_follows(field, &mut kept.answers);
                save(instance, kept)?;
                screen.speak(kept.known().lang().unwrap_or(screen.lang()));
                return Ok(Some(()));
            }
            Err(wrong) => screen.aside(Ink::Warn, &wrong.told(screen.lang()))?,
        }
    }
}

/// A model belongs to its server: with another one it has to be named anew.
fn forget_what_follows(field: Field, answers: &mut Answers) {
    let server = answers.server().map(|server| server.name);
    let fits = |model: &str| model.split_once('/').is_some_and(|(own, _)| Some(own) == server.as_deref());
    if field == Field::ModelServer && answers.get(Field::Model).is_some_and(|model| !fits(model)) {
        answers.0.remove(&Field::Model);
    }
}

fn proposed(screen: &Screen, machine: &Machine, field: Field) -> String {
    let lang = if screen.lang() == metnos_proto::msg::common::Lang::It { "it" } else { "en" };
    match field {
        Field::Language => lang.to_owned(),
        Field::Name => METNOS.to_owned(),
        Field::Owner | Field::Place | Field::Telos => String::new(),
        Field::OwnerUser => DIRECTORY.to_owned(),
        Field::TimeZone => machine.zone(|name| std::env::var(name).ok(), Path::new("/etc/localtime")),
        Field::ModelServer | Field::Model => NONE.to_owned(),
        Field::Http => LISTEN.to_owned(),
        Field::Telegram => "no".to_owned(),
    }
}

fn show_answers(screen: &mut Screen, answers: &Answers) -> Result<(), CtlError> {
    let width = Field::ALL.iter().map(|field| field.key().len()).max().unwrap_or(0);
    for (field, text) in &answers.0 {
        let text = if text.is_empty() { "–".to_owned() } else { text.replace('\n', "; ") };
        screen.line(&format!("  {:width$}  {}", field.key(), crate::screen::escape::line(&text)))?;
    }
    Ok(())
}

fn stopped(screen: &mut Screen) -> Result<Exit, CtlError> {
    screen.aside(Ink::Plain, &say(screen.lang(), Key::BirthStopped))?;
    Ok(Exit::Failed)
}
