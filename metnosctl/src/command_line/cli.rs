//! The command line as clap sees it: one type a command, each with the sentence that its
//! `--help` shows. No command may stand here that does nothing.

use std::path::PathBuf;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Parser, Subcommand};
use clap_complete::Shell;
use metnos_proto::msg::memoryd::{MAX_RECALLED, MAX_TAIL};
use metnos_proto::role::RoleName;

use crate::command_line::nouns::{
    AutonomyCommand, BudgetCommand, HookCommand, ModelsCommand, PairingCommand, RiteCommand, SecretCommand,
    TelegramCommand, TimerCommand, VaglioCommand,
};

const CODES: &str = "Exit codes: 0 done, 1 refused or failed, 2 wrong usage, 3 daemon unreachable, \
4 waiting for an approval.";

/// The owner's hand.
#[derive(Debug, Parser)]
#[command(
    name = "metnosctl",
    version,
    about = "Speak with Metnos, and look after it",
    after_help = CODES,
    arg_required_else_help = true,
    infer_subcommands = false
)]
pub struct Cli {
    /// The instance's directory [default: $METNOS_HOME, else ~/.local/share/metnos, else /var/lib/metnos]
    #[arg(long, global = true, value_name = "DIR")]
    pub instance: Option<PathBuf>,

    /// Print JSON for programs instead of text for people
    #[arg(long, global = true)]
    pub json: bool,

    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// The nouns and verbs.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Start Metnos, creating the instance when there is none
    Up(Up),
    /// The first interview: language, names, time zone, telos, models, channels; can be stopped and taken up again
    Birth(crate::birth::Birth),
    /// Stop Metnos
    Down,
    /// Everything at a glance: daemons, locks, edges, chronicle, executors, alarms
    Status,
    /// The daemons, one by one
    #[command(subcommand)]
    Daemon(DaemonCommand),
    /// Check everything, and name the remedy of each problem
    Doctor,
    /// Say something once, and print the answer
    Ask(Ask),
    /// Talk: one line a turn, until Ctrl-D
    Chat,
    /// Call one executor through the whole path, without the planner
    Run(Run),
    /// The pool of executors
    #[command(subcommand)]
    Executor(ExecutorCommand),
    /// The sandbox that executors run in
    #[command(subcommand)]
    Sandbox(SandboxCommand),
    /// Stop every executor that runs, and allow nothing new until `resume`, also after restarts
    Panic,
    /// Let calls happen again after `panic`
    Resume,
    /// The chronicle
    #[command(subcommand)]
    Audit(AuditCommand),
    /// What became of a turn, and what a model was asked in it
    #[command(subcommand)]
    Turn(TurnCommand),
    /// What followed on what, and worked
    #[command(subcommand)]
    Mnest(MnestCommand),
    /// What waits for the owner's word
    #[command(subcommand, alias = "approvals")]
    Approval(ApprovalCommand),
    /// What the owner has said for longer than once
    #[command(subcommand, alias = "grants")]
    Grant(GrantCommand),
    /// One-time codes, with which cards are answered from elsewhere
    #[command(subcommand)]
    Totp(TotpCommand),
    /// Take back what a turn has done, or the last thing that can be
    Undo(UndoTurn),
    /// What may happen, and why
    #[command(subcommand)]
    Policy(PolicyCommand),
    /// What Metnos would do of its own accord, and how that was weighed
    #[command(subcommand)]
    Vaglio(VaglioCommand),
    /// What only the owner does, at the machine
    #[command(subcommand)]
    Rite(RiteCommand),
    /// Who may speak to this instance
    #[command(subcommand)]
    Pairing(PairingCommand),
    /// How far each principal goes without asking
    #[command(subcommand)]
    Autonomy(AutonomyCommand),
    /// What executors are given in confidence
    #[command(subcommand, alias = "vault")]
    Secret(SecretCommand),
    /// Language models: which there are, which serves what, and their keys
    #[command(subcommand)]
    Models(ModelsCommand),
    /// The bot of Telegram: its token, and how it does
    #[command(subcommand)]
    Telegram(TelegramCommand),
    /// What others' programs set off, over HTTP
    #[command(subcommand)]
    Hook(HookCommand),
    /// What the clock of this machine sets off
    #[command(subcommand)]
    Timer(TimerCommand),
    /// What may be used up, and what was
    #[command(subcommand)]
    Budget(BudgetCommand),
    /// What was said, found by a question; and why
    #[command(subcommand)]
    Memory(MemoryCommand),
    /// Executors that work together: the communities of the mnestome
    #[command(subcommand)]
    Trace(TraceCommand),
    /// Measure recall and ranking on a file of dialogues, in a memory of its own
    #[command(subcommand)]
    Bench(BenchCommand),
    /// What was spent, on what, and where it leads
    Spend,
    /// Copy the whole instance into a folder, while it runs
    Backup {
        /// Which, not there yet [default: metnos-backup-SECONDS here]
        folder: Option<PathBuf>,
    },
    /// Make an instance from a backup, where there is none
    Restore {
        /// The backup's folder
        folder: PathBuf,
    },
    /// Stop the clock of use: nothing ages and nothing is proposed; the mnestome is kept as it is
    Freeze {
        /// Why
        #[arg(long)]
        why: String,
    },
    /// Let the clock of use run again, as if no time had passed
    Defrost {
        /// Why
        #[arg(long)]
        why: String,
    },
    /// Print the completion script of a shell
    Completions(Completions),
    /// What a command prints with --json, as JSON Schema
    Schema {
        /// The command, such as `daemon list` [default: all of them]
        command: Vec<String>,
    },
    /// Write a manual page for each command into a folder
    Man {
        /// The folder, such as ~/.local/share/man/man1; made when it is missing
        folder: PathBuf,
    },
}

/// See [`Command::Up`].
#[derive(Debug, Args)]
pub struct Up {
    /// Start in the background, and return when everything is ready
    #[arg(long)]
    pub detach: bool,

    /// Test builds: another program in the place of a daemon, as ROLE=PATH
    #[cfg(feature = "attack")]
    #[arg(long, value_name = "ROLE=PATH", hide = true)]
    pub daemon: Vec<std::ffi::OsString>,
}

/// See [`Command::Daemon`].
#[derive(Debug, Subcommand)]
pub enum DaemonCommand {
    /// One row a daemon
    List,
    /// Stop a daemon, and start it anew
    Restart {
        /// Which
        #[arg(value_parser = daemon_names())]
        name: RoleName,
    },
}

fn daemon_names() -> impl TypedValueParser<Value = RoleName> {
    PossibleValuesParser::new(RoleName::daemons().map(RoleName::text))
        .try_map(|name| RoleName::parse(&name).ok_or_else(|| format!("there is no daemon named {name}")))
}

/// See [`Command::Ask`].
#[derive(Debug, Args)]
pub struct Ask {
    /// The words, joined by blanks; a single `-` reads them from standard input
    #[arg(required = true, value_name = "WORDS")]
    pub words: Vec<String>,
}

/// See [`Command::Run`].
#[derive(Debug, Args)]
#[command(after_help = "A VALUE that is JSON (a number, true, false, null, an array, an object or a quoted string) \
of a type that the executor's schema wants for this key is passed as that; everything else is passed as the text it is.\n\
Examples: `path=notes/welcome.md`, `limit=10`, `path='\"12\"'` (the same as `path=12` where the schema wants a text).")]
pub struct Run {
    /// The executor's name
    pub executor: String,

    /// All arguments as one JSON object; a single `-` reads it from standard input
    #[arg(long, value_name = "JSON", conflicts_with = "pairs")]
    pub args: Option<String>,

    /// Arguments one by one
    #[arg(value_name = "KEY=VALUE")]
    pub pairs: Vec<String>,
}

/// See [`Command::Executor`].
#[derive(Debug, Subcommand)]
pub enum ExecutorCommand {
    /// One row an executor
    List,
    /// Everything that is known of one executor
    Show {
        /// Its name
        name: String,
    },
    /// The sandbox an executor gets, in words
    Profile {
        /// Its name
        name: String,
    },
    /// What is different in its sandbox since it was locked
    Diff {
        /// Its name
        name: String,
    },
    /// Switch an executor off: its calls are ended, and none is allowed until it is enabled
    Disable {
        /// Its name
        name: String,
    },
    /// Switch an executor on again
    Enable {
        /// Its name
        name: String,
    },
    /// Let an executor back that is in quarantine, when all is again as it was signed
    Lift {
        /// Its name
        name: String,
        /// The digest that was shown without it: yes to exactly that
        #[arg(long, value_name = "DIGEST")]
        confirm: Option<String>,
    },
    /// Let an executor back whose sandbox has changed, as after an upgrade: it is tested in it and signed anew
    #[command(group(clap::ArgGroup::new("whom").required(true).args(["name", "all"])))]
    Relock {
        /// Its name
        name: Option<String>,
        /// All whose sandbox has changed
        #[arg(long)]
        all: bool,
        /// The digest that was shown without it: yes to exactly that
        #[arg(long, value_name = "DIGEST")]
        confirm: Option<String>,
    },
    /// Put an executor away: it is neither offered nor callable until it is restored, and nothing of it is deleted
    Archive {
        /// Its name
        name: String,
        /// Why
        #[arg(long)]
        reason: Option<String>,
    },
    /// Bring an executor back out of the archive, once it was verified
    Restore {
        /// Its name
        name: String,
        /// Why
        #[arg(long)]
        reason: String,
    },
    /// Revoke the signature of an executor, for ever: nothing lets this version be called again
    Revoke {
        /// Its name
        name: String,
        /// Why
        #[arg(long)]
        reason: String,
        /// The digest that was shown without it: yes to exactly that
        #[arg(long, value_name = "DIGEST")]
        confirm: Option<String>,
    },
    /// Write an executor into a file, for another instance: its files, where it comes from, and this instance's signature
    Export {
        /// Its name
        name: String,
        /// Which file, not there yet
        file: PathBuf,
    },
    /// Put an executor of another instance into the pool: nothing of it may be called before it was signed here
    Import {
        /// What `export` has written
        file: PathBuf,
    },
    /// Look at what nobody has signed, tested in the tightest sandbox; and sign exactly that
    Sign {
        /// Its name
        name: String,
        /// The digest that was shown without it: yes to exactly that
        #[arg(long, value_name = "DIGEST")]
        confirm: Option<String>,
    },
    /// Compare files, signature and profile with what was signed
    Verify {
        /// Its name; without it, all
        name: Option<String>,
    },
}

/// See [`Command::Sandbox`].
#[derive(Debug, Subcommand)]
pub enum SandboxCommand {
    /// Have hostile code tried against the sandbox of this machine, and say what was stopped
    Selftest {
        /// Only these families of attacks [default: all]
        #[arg(long, value_name = "NAME")]
        family: Vec<String>,
    },
}

/// See [`Command::Audit`].
#[derive(Debug, Subcommand)]
pub enum AuditCommand {
    /// The last lines
    Tail {
        /// How many
        #[arg(short = 'n', long, default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=i64::from(MAX_TAIL)))]
        lines: u32,
    },
    /// Lines that meet everything that is asked for, newest first
    Search(Search),
    /// One line, whole
    Show {
        /// Its number
        seq: u64,
    },
    /// Check the chain, that policyd's signed heads are met, and that the witnesses agree
    Verify {
        /// Only what follows this line, which is taken for right
        #[arg(long, value_name = "SEQ", default_value_t = 0)]
        since: u64,
    },
    /// Write the lines out as they stand in the files, and check chain and signed heads on the way
    Export {
        /// The first line
        #[arg(long, value_name = "SEQ", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..))]
        from: u64,
        /// The last line [default: the last there is]
        #[arg(long, value_name = "SEQ")]
        to: Option<u64>,
        /// Into which file, which must not be there yet [default: standard output]
        file: Option<PathBuf>,
    },
    /// The heads that policyd has signed, each checked
    Anchors,
    /// A proof that one line belongs to a head that policyd has signed; it can be checked without Metnos' help
    Prove {
        /// The line's number
        #[arg(required_unless_present = "check")]
        seq: Option<u64>,
        /// Check the proof in this file instead; a single `-` reads standard input
        #[arg(long, value_name = "FILE", conflicts_with = "seq")]
        check: Option<PathBuf>,
    },
    /// Look for what has the form of a secret and slipped in
    Scan,
    /// A rite: take what a line holds out of the chronicle for good; that it was done stays on record
    Redact {
        /// The line's number
        seq: u64,
        /// Why
        #[arg(long)]
        why: String,
        /// The same number once more, in place of the question at the terminal
        #[arg(long, value_name = "SEQ")]
        confirm: Option<u64>,
    },
}

/// See [`AuditCommand::Search`].
#[derive(Debug, Args)]
pub struct Search {
    /// Words that the payload contains, joined by blanks; capitals make no difference
    pub words: Vec<String>,
    /// Only this type of event
    #[arg(long = "type", value_name = "TYPE", default_value = "", hide_default_value = true)]
    pub event_type: String,
    /// Only what this daemon told
    #[arg(long, value_name = "DAEMON", default_value = "", hide_default_value = true)]
    pub by: String,
    /// Only of this principal
    #[arg(long, default_value = "", hide_default_value = true)]
    pub peer: String,
    /// Only of the turn whose name ends so
    #[arg(long, default_value = "", hide_default_value = true)]
    pub turn: String,
    /// Not before this instant: 2026-04-25, or 2026-04-25T08:12:00Z
    #[arg(long, value_name = "TIME", value_parser = crate::screen::human::instant)]
    pub since: Option<u64>,
    /// Before this instant
    #[arg(long, value_name = "TIME", value_parser = crate::screen::human::instant)]
    pub until: Option<u64>,
    /// How many lines at most
    #[arg(short = 'n', long, default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=i64::from(MAX_TAIL)))]
    pub lines: u32,
}

/// See [`Command::Mnest`].
#[derive(Debug, Subcommand)]
pub enum MnestCommand {
    /// One row a mnest
    List,
    /// The heaviest
    Top {
        /// How many
        #[arg(short = 'n', long, default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=i64::from(MAX_TAIL)))]
        lines: u32,
        /// Only those that lead from this executor
        #[arg(long, value_name = "EXECUTOR", default_value = "", hide_default_value = true)]
        from: String,
    },
    /// Everything that is known of one mnest
    Show {
        /// Its id, or the end of it
        id: String,
    },
    /// Give a mnest a word of your own
    Tag {
        /// Its id, or the end of it
        id: String,
        /// The word
        word: String,
        /// Take the word back instead
        #[arg(long)]
        remove: bool,
    },
    /// A picture of what followed on what
    Graph {
        /// As SVG
        #[arg(long, conflicts_with = "dot")]
        svg: bool,
        /// In Graphviz' language, which is also the default
        #[arg(long)]
        dot: bool,
    },
    /// What the ager proposes
    Proposals,
    /// Decline a proposal: it does not come again
    Decline {
        /// Its id, as `mnest proposals` shows it
        id: String,
        /// Why
        #[arg(long)]
        why: String,
    },
    /// Take a mnest out of use, and keep it
    Archive {
        /// Its id, or the end of it
        id: String,
        /// Why
        #[arg(long)]
        why: String,
    },
    /// Take a mnest back into use
    Restore {
        /// Its id, or the end of it
        id: String,
        /// Why
        #[arg(long)]
        why: String,
    },
    /// What was kept of the mnestome
    Snapshots,
    /// Keep the mnestome as it is now
    Snapshot {
        /// Under which name: small letters, digits, hyphens
        #[arg(default_value = "", hide_default_value = true)]
        name: String,
        /// Why
        #[arg(long)]
        why: String,
    },
    /// Return to a snapshot; what is now is kept first, so that this can be taken back
    Rollback {
        /// The snapshot's name
        name: String,
        /// Why
        #[arg(long)]
        why: String,
    },
}

/// See [`Command::Approval`].
#[derive(Debug, Subcommand)]
pub enum ApprovalCommand {
    /// The cards that wait, and those that were answered lately
    List,
    /// Everything that a card is about
    Show {
        /// Its name
        id: String,
    },
    /// Say yes: exactly what is on the card is done, once
    Approve {
        /// The card's name
        id: String,

        /// Only if the card still has this digest
        #[arg(long)]
        digest: Option<String>,

        /// And the like of it as long as that turn lasts
        #[arg(long, conflicts_with = "always")]
        turn: bool,

        /// And the like of it for so many days [default when given without a number: 30]
        #[arg(long, value_name = "DAYS", num_args = 0..=1, default_missing_value = "30",
              value_parser = clap::value_parser!(u16).range(1..=365))]
        always: Option<u16>,
    },
    /// Say no
    Deny {
        /// The card's name
        id: String,

        /// And do not ask for the like of it again
        #[arg(long)]
        never: bool,
    },
}

/// See [`Command::Grant`].
#[derive(Debug, Subcommand)]
pub enum GrantCommand {
    /// Every stored yes and never
    List,
    /// Take one back
    Revoke {
        /// Its name, as `grant list` has it
        id: String,
    },
}

/// See [`Command::Totp`].
#[derive(Debug, Subcommand)]
pub enum TotpCommand {
    /// Make a new secret, and show it once; it counts after `totp confirm`
    Enrol,
    /// Show that you have it: reads a code from standard input
    Confirm,
    /// No code counts any more
    Remove,
}

/// See [`Command::Turn`].
#[derive(Debug, Subcommand)]
pub enum TurnCommand {
    /// Its lines of the chronicle
    Show {
        /// The turn, or the end of its name
        turn: String,
        /// Instead of them the very bytes that were sent to a model, thought by thought
        #[arg(long)]
        prompt: bool,
    },
    /// Say whether it was of use: what was called in it is judged by that
    Feedback {
        /// The turn, or the end of its name
        turn: String,
        /// What you say; said again, the last word counts
        word: Feedback,
    },
}

/// See [`TurnCommand::Feedback`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Feedback {
    /// It was of use
    Good,
    /// It was not; that counts double
    Bad,
}

/// See [`Command::Undo`].
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct UndoTurn {
    /// The turn, as `undo list` names it; without it, the last one of yours that can be taken back
    pub turn: Option<String>,

    /// Look instead of doing.
    #[command(subcommand)]
    pub command: Option<UndoCommand>,
}

/// See [`UndoTurn::command`].
#[derive(Debug, Subcommand)]
pub enum UndoCommand {
    /// What can be taken back, and what was
    List,
}

/// See [`Command::Policy`].
#[derive(Debug, Subcommand)]
pub enum PolicyCommand {
    /// Say what would become of a call, and explain every step; nothing runs
    Check(CheckCall),
    /// Replay recorded traces from standard input, one verdict a line; no instance is touched
    Replay(ReplayTrace),
}

/// See [`PolicyCommand::Check`].
#[derive(Debug, Args)]
pub struct CheckCall {
    /// Who would ask, as `channel:sender` (such as `cli:uid:1000`), or `owner`
    pub principal: String,

    /// The executor's name
    pub executor: String,

    /// Arguments one by one, as for `run`; or all of them as one JSON object
    #[arg(value_name = "KEY=VALUE")]
    pub arguments: Vec<String>,
}

/// See [`PolicyCommand::Replay`].
#[derive(Debug, Args)]
pub struct ReplayTrace {
    /// The folder of the catalogues that the traces name
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub catalog: PathBuf,

    /// The level of autonomy, instead of the one that a trace names
    #[arg(long)]
    pub level: Option<ReplayLevel>,

    /// Whether the owner's own words are confirmation enough for what reaches others
    #[arg(long, default_value = "literal")]
    pub confirm: ReplayConfirm,

    /// Where the trace comes from: standard input, the only place there is
    #[arg(value_name = "-", value_parser = ["-"])]
    pub input: Option<String>,
}

/// See [`ReplayTrace::level`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum ReplayLevel {
    /// Reads only
    Readonly,
    /// Daily use
    Supervised,
    /// The owner's own sessions
    Full,
}

/// See [`ReplayTrace::confirm`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum ReplayConfirm {
    /// They are
    Literal,
    /// A card of its own is wanted
    Card,
}

/// See [`Command::Memory`].
#[derive(Debug, Subcommand)]
pub enum MemoryCommand {
    /// Turns that answer a question, best first
    Search {
        /// The question, joined by blanks
        #[arg(required = true, value_name = "WORDS")]
        words: Vec<String>,
        /// Whose memory, as CHANNEL:SENDER [default: that of this user at this terminal]
        #[arg(long, value_name = "PEER")]
        peer: Option<String>,
        /// How many at most
        #[arg(short = 'n', long, default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=i64::from(MAX_RECALLED)))]
        limit: u32,
    },
    /// What was said of late, what was done, and what is left of older talk
    Late {
        /// Whose, as CHANNEL:SENDER [default: that of this user at this terminal]
        #[arg(long, value_name = "PEER")]
        peer: Option<String>,
        /// How many of each at most
        #[arg(short = 'n', long, default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=i64::from(MAX_RECALLED)))]
        limit: u32,
    },
    /// Why an item is there: its words, what caused it, and where it stands in the chain
    Explain {
        /// The number of its line, as `memory search` shows it
        line: u64,
    },
}

/// See [`Command::Trace`].
#[derive(Debug, Subcommand)]
pub enum TraceCommand {
    /// One row a trace, the largest first
    List,
    /// One trace and its executors
    Show {
        /// Its id, or the end of it
        id: String,
    },
}

/// See [`Command::Bench`].
#[derive(Debug, Subcommand)]
pub enum BenchCommand {
    /// How often a question finds its evidence
    #[command(after_help = "Each line of FILE is a conversation: {\"conversation\",\"turns\":[{\"id\",\"session\",\
\"time\",\"speaker\",\"text\"}],\"questions\":[{\"q\",\"category\",\"evidence\":[\"id\"]}]}")]
    Recall {
        /// The conversations and questions, JSON lines
        file: PathBuf,
    },
    /// How often the executor that comes next stands among the first, without and with the mnestome
    #[command(after_help = "Each line of FILE is a message of a dialogue, in order: {\"dialogue\",\"message\",\
\"calls\":[\"name\"],\"tools\":[{\"name\",\"description\"}]}")]
    Next {
        /// The dialogues, JSON lines
        file: PathBuf,
    },
    /// How well the reflex understands a file of utterances, without a model and without a daemon
    #[command(
        after_help = "Each line of FILE is an utterance: {\"text\",\"lang\":\"en\",\"executor\":\"name\",\"args\":{}}; \
executor is null or absent where nothing is to be called. A call that another call feeds is named in args: \
{\"$chain\":{\"fs_read\":{\"path\":\"a.md\"}}}"
    )]
    Reflex {
        /// The utterances, JSON lines
        file: PathBuf,
        /// A folder of executors to take in the place of those of this release
        #[arg(long, value_name = "DIR")]
        catalog: Option<PathBuf>,
    },
    /// How often the executors that a request needs stand among the first that a planner is shown
    #[command(
        after_help = "Each line of FILE is a request: {\"query\",\"tools\":[{\"name\",\"description\",\"examples\",\
\"schema\"}],\"relevant\":[\"name\"]}. In the place of tools may stand \"catalog\":\"id\", when an earlier line has given \
both id and tools, with a query or without."
    )]
    Route {
        /// The requests, JSON lines
        file: PathBuf,
        /// Learn from each request what was right, before the next
        #[arg(long)]
        learn: bool,
    },
}

/// See [`Command::Completions`].
#[derive(Debug, Args)]
pub struct Completions {
    /// For which shell
    pub shell: Shell,
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use clap::CommandFactory;

    fn parse(words: &[&str]) -> Result<Cli, clap::Error> {
        Cli::try_parse_from(std::iter::once("metnosctl").chain(words.iter().copied()))
    }

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn json_and_instance_are_understood_before_and_after_the_command() {
        for words in [["--json", "--instance", "/x", "status"], ["status", "--json", "--instance", "/x"]] {
            let cli = parse(&words).unwrap();
            assert!(cli.json);
            assert_eq!(cli.instance, Some(PathBuf::from("/x")));
        }
    }

    #[test]
    fn only_daemons_can_be_restarted() {
        for role in RoleName::daemons() {
            let cli = parse(&["daemon", "restart", role.text()]).unwrap();
            assert!(matches!(cli.command, Command::Daemon(DaemonCommand::Restart { name }) if name == role));
        }
        for other in ["metnosctl", "init", ""] {
            assert_eq!(parse(&["daemon", "restart", other]).unwrap_err().exit_code(), 2, "{other}");
        }
    }

    #[test]
    fn wrong_usage_exits_with_two_and_help_with_nought() {
        for words in
            [&["asks"][..], &["ask"], &["run"], &["audit", "tail", "-n", "0"], &["run", "x", "--args", "{}", "a=b"]]
        {
            assert_eq!(parse(words).unwrap_err().exit_code(), 2, "{words:?}");
        }
        assert_eq!(parse(&["--help"]).unwrap_err().exit_code(), 0);
    }

    #[test]
    fn a_tail_may_be_as_long_as_memoryd_allows_and_no_longer() {
        let most = MAX_TAIL.to_string();
        assert!(parse(&["audit", "tail", "-n", &most]).is_ok());
        assert!(parse(&["audit", "tail", "-n", &(MAX_TAIL + 1).to_string()]).is_err());
    }
}
