//! The owner's hand: every command of `metnosctl`, one file a noun. Open [`cli`] first.
//!
//! It holds nothing of its own: the supervisor hands it an end of one edge after the kernel
//! has said who is asking ([`reach`]), and what comes over that end is data of others, never
//! trusted with the terminal ([`screen`]). It must never open the chronicle, the keys or the
//! databases itself, and never change a file of an instance that exists; but for the one line of `metnos.toml` that
//! `models set` is for, and those lines of the owner's files that `birth` was told to write ([`keep`]).
//!
//! # Map
//! [`cli`] and [`nouns`] the commands as clap sees them · [`error`] what went wrong, and the exit codes ·
//! [`screen`], [`escape`], [`table`], [`human`] how things are shown · [`instance`] which
//! directory · [`reach`] the way to the daemons · `up`, [`birth`], `down`, `status`, `daemon`, `doctor`,
//! `ask`, `chat`, `run`, `executor` (and its [`record`]), [`switches`], `audit` (its [`audit_look`] and
//! [`audit_proof`], and [`witness`], which checks by itself), `mnest` (and [`mnest_look`]),
//! [`approval`], [`mod@check`], [`replay`], [`mod@vaglio`], [`mod@rite`], [`people`], [`mod@secret`], [`mod@models`], [`mod@telegram`], [`automation`], [`mod@budget`], `memory`, `trace`, `bench` (and its [`measure`]
//! and [`ephemeral`]), `spend`, `completions`, [`mod@schema`] the commands; [`backup`] alone reads an instance's files, as the
//! owner who may.

pub mod approval;
pub mod ask;
pub mod audit;
pub mod audit_look;
pub mod audit_proof;
pub mod automation;
pub mod backup;
pub mod bench;
mod bench_words;
pub mod birth;
pub mod budget;
pub mod cards;
pub mod channels;
mod chat;
pub mod check;
pub mod cli;
pub mod completions;
pub mod create;
pub mod daemon;
pub mod doctor;
pub mod down;
pub mod ephemeral;
pub mod error;
pub mod escape;
pub mod executor;
mod fitness;
pub mod grant;
pub mod host;
pub mod human;
pub mod instance;
pub mod keep;
mod life;
pub mod lines;
pub mod measure;
pub mod memory;
pub mod mnest;
pub mod mnest_look;
pub mod models;
pub mod nouns;
mod parcel;
pub mod people;
pub mod profile;
pub mod reach;
mod readmit;
pub mod record;
pub mod replay;
pub mod rite;
pub mod run;
pub mod schema;
pub mod screen;
pub mod secret;
pub mod seeds;
pub mod selftest;
pub mod spend;
pub mod status;
pub mod survey;
pub mod switches;
pub mod table;
pub mod telegram;
pub mod trace;
pub mod turn;
mod turn_show;
pub mod undo;
pub mod up;
pub mod vaglio;
pub mod values;
mod waiting;
pub mod witness;

use clap::Parser;

use crate::cli::{Cli, Command, PolicyCommand, SandboxCommand};
use crate::error::{CtlError, Exit};
use crate::instance::Instance;
use crate::screen::Screen;

/// Reads the command line of this process, does it, and says with which code to exit.
#[must_use]
pub fn start() -> Exit {
    let cli = Cli::parse();
    let mut screen = Screen::of_this_process(cli.json);
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
        Command::Up(up) => up::up(screen, &place()?, &up),
        Command::Birth(asked) => birth::birth(screen, &place()?, &asked),
        Command::Down => down::down(screen, &place()?),
        Command::Status => status::status(screen, &place()?),
        Command::Daemon(command) => daemon::daemon(screen, &place()?, &command),
        Command::Doctor => doctor::doctor(screen, &place()?),
        Command::Ask(ask) => ask::ask(screen, &place()?, &ask),
        Command::Chat => chat::chat(screen, &place()?),
        Command::Run(run) => run::run(screen, &place()?, &run),
        Command::Executor(command) => executor::executor(screen, &place()?, &command),
        Command::Sandbox(SandboxCommand::Selftest { family }) => selftest::selftest(screen, &place()?, &family),
        Command::Panic => switches::panic(screen, &place()?),
        Command::Resume => switches::resume(screen, &place()?),
        Command::Audit(command) => audit::audit(screen, &place()?, &command),
        Command::Turn(command) => turn_show::turn(screen, &place()?, &command),
        Command::Mnest(command) => mnest::mnest(screen, &place()?, &command),
        Command::Approval(command) => approval::approval(screen, &place()?, &command),
        Command::Grant(command) => grant::grant(screen, &place()?, &command),
        Command::Totp(command) => grant::totp(screen, &place()?, &command),
        Command::Undo(asked) => undo::undo(screen, &place()?, &asked),
        Command::Policy(PolicyCommand::Check(call)) => check::check(screen, &place()?, &call),
        Command::Policy(PolicyCommand::Replay(asked)) => replay::replay(screen, &asked),
        Command::Vaglio(command) => vaglio::vaglio(screen, &place()?, &command),
        Command::Rite(command) => rite::rite(screen, &place()?, &command),
        Command::Pairing(command) => people::pairing(screen, &place()?, &command),
        Command::Autonomy(command) => people::autonomy(screen, &place()?, &command),
        Command::Secret(command) => secret::secret(screen, &place()?, &command),
        Command::Models(command) => models::models(screen, &place()?, &command),
        Command::Telegram(command) => telegram::telegram(screen, &place()?, &command),
        Command::Hook(command) => automation::hook(screen, &place()?, &command),
        Command::Timer(command) => automation::timer(screen, &place()?, &command),
        Command::Budget(command) => budget::budget(screen, &place()?, &command),
        Command::Memory(command) => memory::memory(screen, &place()?, &command),
        Command::Trace(command) => trace::trace(screen, &place()?, &command),
        Command::Bench(command) => bench::bench(screen, &command),
        Command::Spend => spend::spend(screen, &place()?),
        Command::Backup { folder } => backup::backup(screen, &place()?, folder.as_deref()),
        Command::Restore { folder } => backup::restore(screen, &place()?, &folder),
        Command::Freeze { why } => mnest::freeze(screen, &place()?, true, why),
        Command::Defrost { why } => mnest::freeze(screen, &place()?, false, why),
        Command::Schema { command } => schema::schema(screen, &command),
        Command::Man { folder } => completions::man(screen, &folder),
        Command::Completions(which) => completions::completions(screen, which.shell),
    }
}
