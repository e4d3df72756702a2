//! What the reflex itself says, in English and Italian. Plain sentences; what an executor or a
//! refusal says is passed on as it stands.

use metnos_proto::edge::RpcError;
use metnos_proto::envelope::Home;
use metnos_proto::msg::common::{Lang, Outcome};
use metnos_texts::{Key, say, tell};

use crate::answer::visible;
use crate::impossible::Kind;

/// What Metnos is called in this instance.
fn butler(home: &Home) -> &str {
    if home.butler.is_empty() { "Metnos" } else { &home.butler }
}

/// How the caller is called here; `none` where that is not known.
fn person(home: &Home) -> &str {
    if home.person.is_empty() { "none" } else { &home.person }
}

/// A greeting, by name where the caller has one here.
#[must_use]
pub fn greeting(lang: Lang, home: &Home, example: Option<&str>) -> String {
    let mut text = tell(lang, Key::Greeting, &[("person", person(home).into()), ("butler", butler(home).into())]);
    if let Some(example) = example {
        text.push(' ');
        text.push_str(&tell(lang, Key::GreetingExample, &[("example", example.into())]));
    }
    text.push('\n');
    text
}

/// That it is there, and where more is explained.
#[must_use]
pub fn how_it_is(lang: Lang, abilities: usize) -> String {
    tell(lang, Key::HowItIs, &[("abilities", abilities.to_string().as_str().into())]) + "\n"
}

/// Where what waits for a person's word is shown.
#[must_use]
pub fn what_waits(lang: Lang) -> String {
    say(lang, Key::WhatWaits) + "\n"
}

/// That no card is answered by words that are planned for.
#[must_use]
pub fn words_approve_nothing(lang: Lang) -> String {
    say(lang, Key::WordsApproveNothing) + "\n"
}

/// The answer to thanks.
#[must_use]
pub fn welcome(lang: Lang, home: &Home) -> String {
    tell(lang, Key::Welcome, &[("person", person(home).into())]) + "\n"
}

/// Who speaks here.
#[must_use]
pub fn who_it_is(lang: Lang, home: &Home) -> String {
    tell(lang, Key::WhoItIs, &[("butler", butler(home).into())]) + "\n"
}

/// What is known of the name of the caller.
#[must_use]
pub fn who_you_are(lang: Lang, home: &Home) -> String {
    tell(lang, Key::WhoYouAre, &[("person", person(home).into())]) + "\n"
}

/// Whom of the household it knows by name.
#[must_use]
pub fn household(lang: Lang, home: &Home) -> String {
    let others: Vec<String> = home.people.iter().map(|one| visible(&one.name)).collect();
    let and = if lang == Lang::It { " e " } else { " and " };
    let names = match others.split_last() {
        None => "none".to_owned(),
        Some((last, [])) => last.clone(),
        Some((last, rest)) => format!("{}{and}{last}", rest.join(", ")),
    };
    tell(lang, Key::Household, &[("person", person(home).into()), ("names", (&names).into())]) + "\n"
}

/// When the caller is not disturbed by what others send.
#[must_use]
pub fn quiet(lang: Lang, home: &Home) -> String {
    let text = match home.quiet.split_once('-') {
        Some((from, upto)) => tell(lang, Key::QuietAre, &[("from", from.into()), ("upto", upto.into())]),
        None => say(lang, Key::QuietAreNone),
    };
    text + "\n"
}

/// To somebody who is not well.
#[must_use]
pub fn mood(lang: Lang, home: &Home) -> String {
    tell(lang, Key::Mood, &[("person", person(home).into())]) + "\n"
}

/// What can be done, by example.
#[must_use]
pub fn help(lang: Lang, examples: &[&str]) -> String {
    let mut text = say(lang, if examples.is_empty() { Key::HelpNothing } else { Key::Help });
    text.push('\n');
    list(&mut text, examples);
    text
}

/// That the words were not understood, and what comes nearest.
#[must_use]
pub fn not_understood(lang: Lang, why: Doubt, examples: &[&str]) -> String {
    let mut text = say(
        lang,
        match why {
            Doubt::Unknown => Key::DoubtUnknown,
            Doubt::Ambiguous => Key::DoubtAmbiguous,
            Doubt::HasEffects => Key::DoubtEffects,
            Doubt::Later => Key::DoubtLater,
            Doubt::Empty => Key::DoubtEmpty,
            Doubt::TooLong => Key::DoubtTooLong,
        },
    );
    if !examples.is_empty() {
        text.push(' ');
        text.push_str(&say(lang, Key::Nearest));
    }
    text.push('\n');
    list(&mut text, examples);
    text
}

/// Why words were not understood.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Doubt {
    /// Nothing fits, or something in the words is left over.
    Unknown,
    /// More than one thing fits.
    Ambiguous,
    /// It would be more than reading.
    HasEffects,
    /// It is asked for at another time, or again and again.
    Later,
    /// There were no words.
    Empty,
    /// There were too many.
    TooLong,
}

fn list(text: &mut String, examples: &[&str]) {
    for example in examples {
        text.push_str("  ");
        text.push_str(example);
        text.push('\n');
    }
}

/// Names in a row: "a, b or c".
fn alternatives(lang: Lang, names: &[String]) -> String {
    match names.split_last() {
        Some((last, [])) => last.clone(),
        Some((last, some)) => tell(lang, Key::Or, &[("some", (&some.join(", ")).into()), ("last", last.into())]),
        None => String::new(),
    }
}

/// What files are called between which somebody chooses: by their names, with their folders where two have one name.
fn choices(paths: &[String]) -> Vec<String> {
    let stem = |path: &String| metnos_rank::forms::name_stem(path).to_owned();
    let stems: Vec<String> = paths.iter().map(stem).collect();
    let is_shared = |name: &String| stems.iter().filter(|other| *other == name).count() > 1;
    paths.iter().zip(&stems).map(|(path, stem)| visible(if is_shared(stem) { path } else { stem })).collect()
}

/// Which of several files is meant.
#[must_use]
pub fn which(lang: Lang, paths: &[String]) -> String {
    tell(lang, Key::Which, &[("names", (&alternatives(lang, &choices(paths))).into())]) + "\n"
}

/// That one of several files must be called by its name.
#[must_use]
pub fn which_by_name(lang: Lang, paths: &[String]) -> String {
    tell(lang, Key::WhichByName, &[("names", (&alternatives(lang, &choices(paths))).into())]) + "\n"
}

/// That a question was answered by nothing, and nothing is done.
#[must_use]
pub fn left_alone(lang: Lang) -> String {
    say(lang, Key::LeftAlone) + "\n"
}

/// That what changes something is not done again without its words.
#[must_use]
pub fn not_again(lang: Lang) -> String {
    say(lang, Key::NotAgain) + "\n"
}

/// That nothing waits for a yes or a no in words.
#[must_use]
pub fn nothing_asks(lang: Lang) -> String {
    say(lang, Key::NothingAsks) + "\n"
}

/// What would have it done that somebody may want who asked for nothing.
#[must_use]
pub fn hint(lang: Lang, example: &str) -> String {
    tell(lang, Key::Hint, &[("example", (&visible(example)).into())]) + "\n"
}

/// That a private list needs a person who is known by name.
#[must_use]
pub fn no_private_list(lang: Lang) -> String {
    say(lang, Key::NoPrivateList) + "\n"
}

/// What the person said, and when where that is known.
#[must_use]
pub fn you_said(lang: Lang, when: Option<&str>, text: &str) -> String {
    let when = when.unwrap_or("none");
    tell(lang, Key::YouSaid, &[("when", when.into()), ("text", text.into())]) + "\n"
}

/// What the person said last, and what was answered.
#[must_use]
pub fn last_exchange(lang: Lang, said: &str, answer: &str) -> String {
    tell(lang, Key::LastExchange, &[("said", said.into()), ("answer", answer.into())]) + "\n"
}

/// What the person said last, and that it was done.
#[must_use]
pub fn last_done(lang: Lang, said: &str) -> String {
    tell(lang, Key::LastDone, &[("said", said.into())]) + "\n"
}

/// That the person said nothing of the kind, as far as anybody remembers.
#[must_use]
pub fn you_said_nothing(lang: Lang) -> String {
    say(lang, Key::YouSaidNothing) + "\n"
}

/// That nobody here does what was asked for.
#[must_use]
pub fn cannot(lang: Lang, kind: Kind) -> String {
    tell(lang, Key::CannotYet, &[("kind", kind.name().into())]) + "\n"
}

/// The answer to a goodbye.
#[must_use]
pub fn goodbye(lang: Lang, home: &Home) -> String {
    tell(lang, Key::Goodbye, &[("person", person(home).into())]) + "\n"
}

/// The answer to a wish for the night.
#[must_use]
pub fn good_night(lang: Lang, home: &Home) -> String {
    tell(lang, Key::GoodNight, &[("person", person(home).into())]) + "\n"
}

/// The answer to a complaint, with the way to undo what was done.
#[must_use]
pub fn sorry(lang: Lang) -> String {
    say(lang, Key::Sorry) + "\n"
}

/// The answer to words that stop something, where nothing is under way.
#[must_use]
pub fn nothing_to_stop(lang: Lang) -> String {
    say(lang, Key::NothingToStop) + "\n"
}

/// Which languages are understood.
#[must_use]
pub fn languages(lang: Lang) -> String {
    say(lang, Key::Languages) + "\n"
}

/// What is remembered of the person, and how it is looked at and forgotten.
#[must_use]
pub fn memory(lang: Lang) -> String {
    say(lang, Key::MemoryOfYou) + "\n"
}

/// Who reads what the person says, and who does not.
#[must_use]
pub fn privacy(lang: Lang) -> String {
    say(lang, Key::Privacy) + "\n"
}

/// What stands above the lines that were found for a question which is not understood.
#[must_use]
pub fn found(lang: Lang) -> String {
    say(lang, Key::LookedUp)
}

/// What is added when nothing but the reflex is there to understand words.
#[must_use]
pub fn no_model(lang: Lang) -> String {
    say(lang, Key::NoModel) + "\n"
}

/// The class of an error in two or three words, as the person's language names it.
#[must_use]
pub fn error_class(class: &str, lang: Lang) -> String {
    tell(lang, Key::ErrorClass, &[("class", class.into())])
}

/// That a call about `what` failed, for an error that its class says all about.
#[must_use]
pub fn error_about(class: &str, what: &str, lang: Lang) -> String {
    tell(lang, Key::ErrorAbout, &[("class", class.into()), ("what", what.into())])
}

/// That a call failed, with what its executor says of it.
#[must_use]
pub fn error(message: &str, lang: Lang) -> String {
    let message = message.trim_end_matches(['.', ' ']);
    metnos_texts::plain::sentence(&tell(lang, Key::ErrorOther, &[("message", message.into())]))
}

/// With a capital letter in front.
#[must_use]
pub fn as_sentence(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map(|first| first.to_uppercase().chain(chars).collect()).unwrap_or_default()
}

/// A sentence for a run that gave no result of its own; `None` when it did.
#[must_use]
pub fn outcome(outcome: Outcome, lang: Lang) -> Option<String> {
    let key = match outcome {
        Outcome::Ok | Outcome::Error => return None,
        Outcome::Crashed => Key::OutcomeCrashed,
        Outcome::BadOutput => Key::OutcomeBadOutput,
        Outcome::CpuExceeded | Outcome::Timeout => Key::OutcomeTimeout,
        Outcome::MemoryExceeded => Key::OutcomeMemory,
        Outcome::OutputTooLarge => Key::OutcomeOutput,
        Outcome::ProcessesExceeded => Key::OutcomeProcesses,
        Outcome::Killed => Key::OutcomeKilled,
        Outcome::Interrupted => Key::OutcomeInterrupted,
        Outcome::SandboxFailed => Key::OutcomeSandbox,
        Outcome::DiskExceeded => Key::OutcomeDisk,
        Outcome::DiskFull => Key::OutcomeDiskFull,
        Outcome::Failed => Key::OutcomeFailed,
    };
    Some(say(lang, key))
}

/// That a result cannot be read.
#[must_use]
pub fn unreadable(lang: Lang) -> String {
    say(lang, Key::Unreadable)
}

/// What the workspace is called.
#[must_use]
pub fn workspace(lang: Lang) -> String {
    say(lang, Key::Workspace)
}

/// An empty list.
#[must_use]
pub fn empty(lang: Lang) -> String {
    say(lang, Key::Empty)
}

/// That something was done which has nothing to show.
#[must_use]
pub fn done(lang: Lang) -> String {
    say(lang, Key::Done)
}

/// That only a part is shown.
#[must_use]
pub fn truncated(shown: Option<u64>, total: Option<u64>, lang: Lang) -> String {
    match (shown, total) {
        (Some(shown), Some(total)) => tell(lang, Key::Truncated, &[("shown", shown.into()), ("total", total.into())]),
        (None, _) | (_, None) => say(lang, Key::TruncatedSomehow),
    }
}

/// Yes or no.
#[must_use]
pub fn yes_no(value: bool, lang: Lang) -> String {
    say(lang, if value { Key::Yes } else { Key::No })
}

/// Why a turn broke off, when a daemon that it needs did not answer as it should.
#[must_use]
pub fn broken(error: &RpcError, lang: Lang) -> String {
    match error {
        RpcError::Refused(refusal) => metnos_texts::refusal(lang, refusal),
        RpcError::Gone(role) => tell(lang, Key::Gone, &[("role", role.text().into())]),
        RpcError::Late { role, .. } => tell(lang, Key::Late, &[("role", role.text().into())]),
        RpcError::Violation(..) | RpcError::Unsendable(_) => {
            tell(lang, Key::Ended, &[("why", (&error.to_string()).into())])
        }
    }
}

/// That executors are still being tested, and what was said may be for one of them.
#[must_use]
pub fn still_starting(lang: Lang, unborn: u32) -> String {
    tell(lang, Key::StillStarting, &[("count", u64::from(unborn).into())])
}

/// That a turn took too long.
#[must_use]
pub fn too_long(lang: Lang) -> String {
    say(lang, Key::TooLong)
}

/// That a person cancelled.
#[must_use]
pub fn cancelled(lang: Lang) -> String {
    say(lang, Key::Cancelled)
}
