//! Runs tests one after the other in this one thread: a view can only be entered by a process
//! of one thread, and lasts to its end. Understands what `cargo test` and `cargo nextest` ask.

use std::path::Path;
use std::pin::Pin;
use std::process::{Command, ExitCode};

use super::Lab;

pub type Verdict = Result<(), String>;
pub type Body = Box<dyn for<'a> Fn(&'a Lab) -> Pin<Box<dyn Future<Output = Verdict> + 'a>>>;

pub struct Test {
    pub name: String,
    pub body: Body,
}

/// Says to a copy of this program that it is the one inside, and where its instance lies.
const INSTANCE: &str = "METNOS_LAB";

/// Who is in a view cannot remove what the view was made of, so a second process does the tests.
fn supervise(arguments: &[String]) -> ExitCode {
    let instance = tempfile::tempdir().unwrap();
    super::build(instance.path());
    let program = std::env::current_exe().unwrap();
    let status = Command::new(program).args(arguments).env(INSTANCE, instance.path()).status().unwrap();
    if status.success() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

pub fn run(tests: Vec<Test>) -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let has = |flag: &str| arguments.iter().any(|argument| argument == flag);
    // None is ever ignored.
    if has("--ignored") {
        return ExitCode::SUCCESS;
    }
    if has("--list") {
        tests.iter().for_each(|test| println!("{}: test", test.name));
        return ExitCode::SUCCESS;
    }
    let Some(instance) = std::env::var_os(INSTANCE) else {
        return supervise(&arguments);
    };
    let mut wanted = Vec::new();
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        match argument.as_str() {
            "--format" | "--test-threads" | "--skip" | "--color" => drop(rest.next()),
            flag if flag.starts_with('-') => {}
            name => wanted.push(name.to_owned()),
        }
    }
    let chosen = |name: &str| {
        wanted.is_empty() || wanted.iter().any(|one| if has("--exact") { one == name } else { name.contains(one) })
    };
    let lab = Lab::enter(Path::new(&instance));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let mut failed = 0;
    for test in tests.iter().filter(|test| chosen(&test.name)) {
        match runtime.block_on((test.body)(&lab)) {
            Ok(()) => println!("test {} ... ok", test.name),
            Err(why) => {
                failed += 1;
                println!("test {} ... FAILED\n{why}", test.name);
            }
        }
    }
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
