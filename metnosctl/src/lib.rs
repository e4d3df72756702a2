//! The command line: every command of `metnosctl`, one file a noun. Open [`command_line::cli`] first.
//!
//! It holds nothing of its own: the supervisor hands it an end of one edge after the kernel
//! has said who is asking ([`daemons::connection`]), and what comes over that end is data of others, never
//! trusted with the terminal ([`screen`]). It must never open the chronicle, the keys or the
//! databases itself, and never change a file of an instance that exists; but for the lines of `metnos.toml` that
//! `models set` and `synt dry-run` are for, and those lines of the owner's files that `birth` was ordered to write ([`instance::atomic_file`]).
//!
//! # Map
//! [`command_line::cli`] and [`command_line::nouns`] the commands as clap sees them · [`error`] what went wrong, and the exit codes ·
//! [`screen`], [`screen::escape`], [`screen::table`], [`screen::human`] how things are shown · [`instance`] which
//! directory · [`daemons::connection`] the way to the daemons · `up`, [`birth`], `down`, `status`, `daemon`, `doctor`,
//! `ask`, `chat`, `run`, `executor` (and its [`executors::record`]), [`executors::switches`], `audit` (its [`audit::search`] and
//! [`audit::proof`], and [`audit::witness`], which checks by itself), `mnest` (and [`memory::mnest_list`]),
//! [`approvals::approval`], [`policy::check`], [`policy::replay`], [`policy::vaglio`], [`policy::constitution`], [`people`], [`people::secret`], [`people::account`], [`models`], [`people::telegram`], [`people::automation`], [`policy::budget`], `memory`, `trace`, [`mod@bench`],
//! [`soul`], [`mod@synt`], `spend`, `completions`, [`mod@schema`] the commands; [`backup`] alone reads an instance's files, as the
//! owner who may.

pub mod approvals;
pub mod audit;
pub mod backup;
pub mod bench;
pub mod birth;
pub mod command_line;
pub mod daemons;
pub mod error;
pub mod executors;
pub mod health;
pub mod instance;
pub mod json_constant;
pub mod memory;
pub mod models;
pub mod people;
pub mod policy;
pub mod schedule;
pub mod schema;
pub mod screen;
pub mod soul;
pub mod synt;
pub mod turns;

use clap::Parser;

use crate::command_line::cli::{Cli, Command, PolicyCommand, SandboxCommand};
use crate::error::{CtlError, Exit};
use crate::instance::Instance;
use crate::screen::Screen;

/// Reads the command line of this process, does it, and says with which code to exit.
#[must_use]
pub fn start() -> Exit {
    let cli = Cli::parse();
    let mut screen = Screen::of_this_process(cli.json).verbose(cli.verbose);
    match perform(cli, &mut screen) {
        Ok(exit) => match screen.flush() {
            Ok(()) => exit,
            Err(_) => Exit::Failed,
        },
        Err(error) => {
            // Where the screen itself is gone there is nobody left to tell.
            let _told = screen.error(&error).and_then(|()| screen.flush());
            error.exit()
        }
    }
}

/// Does one command.
///
/// # Errors
/// Whatever keeps it from being done; [`CtlError::exit`] says with which code to exit.
pub fn perform(cli: Cli, screen: &mut Screen) -> Result<Exit, CtlError> {
    let place = || Instance::find(cli.instance.clone(), |name| std::env::var_os(name));
    match cli.command {
        Command::Up(up) => daemons::up::up(screen, &place()?, &up),
        Command::Birth(asked) => birth::birth(screen, &place()?, &asked),
        Command::Down => daemons::down::down(screen, &place()?),
        Command::Status => health::status::status(screen, &place()?),
        Command::Daemon(command) => daemons::daemon::daemon(screen, &place()?, &command),
        Command::Doctor => health::doctor::doctor(screen, &place()?),
        Command::Ask(ask) => turns::ask::ask(screen, &place()?, &ask),
        Command::Chat => turns::chat::chat(screen, &place()?),
        Command::Run(run) => turns::run::run(screen, &place()?, &run),
        Command::Executor(command) => executors::executor::executor(screen, &place()?, &command),
        Command::Sandbox(SandboxCommand::Selftest { family }) => health::selftest::selftest(screen, &place()?, &family),
        Command::Panic => executors::switches::panic(screen, &place()?),
        Command::Resume => executors::switches::resume(screen, &place()?),
        Command::Audit(command) => audit::audit(screen, &place()?, &command),
        Command::Turn(command) => turns::show::turn(screen, &place()?, &command),
        Command::Mnest(command) => memory::mnest::mnest(screen, &place()?, &command),
        Command::Approval(command) => approvals::approval::approval(screen, &place()?, &command),
        Command::Grant(command) => approvals::grant::grant(screen, &place()?, &command),
        Command::Totp(command) => approvals::grant::totp(screen, &place()?, &command),
        Command::Undo(asked) => turns::undo::undo(screen, &place()?, &asked),
        Command::Policy(PolicyCommand::Check(call)) => policy::check::check(screen, &place()?, &call),
        Command::Policy(PolicyCommand::Replay(asked)) => policy::replay::replay(screen, &asked),
        Command::Vaglio(command) => policy::vaglio::vaglio(screen, &place()?, &command),
        Command::Rite(command) => policy::constitution::rite(screen, &place()?, &command),
        Command::Pairing(command) => people::pairing(screen, &place()?, &command),
        Command::Web(asked) => people::web::web(screen, &place()?, &asked),
        Command::People(command) => people::persons::persons(screen, &place()?, &command),
        Command::Seal(command) => people::seal::seal(screen, &place()?, &command),
        Command::Autonomy(command) => people::autonomy(screen, &place()?, &command),
        Command::Secret(command) => people::secret::secret(screen, &place()?, &command),
        Command::Account(command) => people::account::account(screen, &place()?, &command),
        Command::Models(command) => models::models(screen, &place()?, &command),
        Command::Telegram(command) => people::telegram::telegram(screen, &place()?, &command),
        Command::Hook(command) => people::automation::hook(screen, &place()?, &command),
        Command::Timer(command) => people::automation::timer(screen, &place()?, &command),
        Command::Schedule(command) => schedule::schedule(screen, place, &command),
        Command::Budget(command) => policy::budget::budget(screen, &place()?, &command),
        Command::Soul(command) => soul::soul(screen, &command),
        Command::Synt(command) => synt::synt(screen, &place()?, &command),
        Command::Memory(command) => memory::memory(screen, &place()?, &command),
        Command::Trace(command) => memory::trace::trace(screen, &place()?, &command),
        Command::Bench(command) => bench::bench(screen, place, &command),
        Command::Spend => models::spend::spend(screen, &place()?),
        Command::Backup { folder } => backup::backup(screen, &place()?, folder.as_deref()),
        Command::Restore { folder } => backup::restore(screen, &place()?, &folder),
        Command::Freeze { why } => memory::mnest::freeze(screen, &place()?, true, why),
        Command::Defrost { why } => memory::mnest::freeze(screen, &place()?, false, why),
        Command::Schema { command } => schema::schema(screen, &command),
        Command::Man { folder } => command_line::completions::man(screen, &folder),
        Command::Completions(which) => command_line::completions::completions(screen, which.shell),
    }
}
