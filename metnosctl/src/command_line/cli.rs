//! The command line as clap sees it: one type a command, each with the sentence that its
//! `--help` shows. No command may stand here that does nothing.

use std::path::PathBuf;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Parser, Subcommand};
use clap_complete::Shell;
use metnos_proto::msg::memoryd::{MAX_RECALLED, MAX_TAIL};
use metnos_proto::role::RoleName;

use crate::command_line::nouns::{
    AccountCommand, AutonomyCommand, BudgetCommand, HookCommand, ModelsCommand, PairingCommand, PeopleCommand,
    RiteCommand, ScheduleCommand, SealCommand, SecretCommand, SoulCommand, SyntCommand, TelegramCommand, TimerCommand,
    VaglioCommand, WebLinkAsked,
};

const CODES: &str = "Exit codes: 0 done, 1 refused or failed, 2 wrong usage, 3 daemon unreachable, \
4 waiting for an approval.";

/// The command line of the owner.
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

    /// Name the rule or the class of what went wrong as well
    #[arg(long, global = true)]
    pub verbose: bool,

    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// The nouns and verbs.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Start Metnos, creating the instance when there is none
    Up(Up),
    /// Answer the first interview: language, names, time zone, telos, models, channels; stop and continue at any time
    Birth(crate::birth::Birth),
    /// Stop Metnos
    Down,
    /// Show the state of daemons, locks, edges, chronicle, executors and alarms
    Status,
    /// List or restart single daemons
    #[command(subcommand)]
    Daemon(DaemonCommand),
    /// Check everything, and name the remedy of each problem
    Doctor,
    /// Send one message and print the answer
    Ask(Ask),
    /// Hold a conversation: one line a turn, until Ctrl-D
    Chat,
    /// Call one executor through the whole path, without the planner
    Run(Run),
    /// Manage executors
    #[command(subcommand)]
    Executor(ExecutorCommand),
    /// Test the sandbox that executors run in
    #[command(subcommand)]
    Sandbox(SandboxCommand),
    /// Stop every executor that runs, and allow nothing new until `resume`, also after restarts
    Panic,
    /// Allow calls again after `panic`
    Resume,
    /// Read, search, verify and export the chronicle
    #[command(subcommand)]
    Audit(AuditCommand),
    /// Show a turn: its events, and what a model was asked in it
    #[command(subcommand)]
    Turn(TurnCommand),
    /// Show mnests: which executor's output became another's input, and worked
    #[command(subcommand)]
    Mnest(MnestCommand),
    /// List approval cards, and answer them
    #[command(subcommand, alias = "approvals")]
    Approval(ApprovalCommand),
    /// List and revoke stored grants
    #[command(subcommand, alias = "grants")]
    Grant(GrantCommand),
    /// Set up one-time codes, with which cards are answered over a channel
    #[command(subcommand)]
    Totp(TotpCommand),
    /// Undo what a turn has done, or the last act that can be undone
    Undo(UndoTurn),
    /// Explain and replay decisions of policy
    #[command(subcommand)]
    Policy(PolicyCommand),
    /// List Metnos' own proposals, how each was weighed, and answer them
    #[command(subcommand)]
    Vaglio(VaglioCommand),
    /// Confirm the Laws: only the owner, at this machine
    #[command(subcommand)]
    Rite(RiteCommand),
    /// Manage who may speak to this instance
    #[command(subcommand)]
    Pairing(PairingCommand),
    /// Open the page in a browser, or print a link that leads in, good once
    Web(WebLinkAsked),
    /// Manage the persons of the household, and who speaks as whom
    #[command(subcommand)]
    People(PeopleCommand),
    /// Read what is kept of another person, for an hour, which that person is told
    #[command(subcommand)]
    Seal(SealCommand),
    /// Show and set what each principal may do without asking
    #[command(subcommand)]
    Autonomy(AutonomyCommand),
    /// Manage the vault: secrets, and which executors receive them
    #[command(subcommand, alias = "vault")]
    Secret(SecretCommand),
    /// Manage the accounts that persons have elsewhere: mailboxes
    #[command(subcommand)]
    Account(AccountCommand),
    /// Manage language models: servers, roles, prices and keys
    #[command(subcommand)]
    Models(ModelsCommand),
    /// Set the token of the Telegram bot, and show its state
    #[command(subcommand)]
    Telegram(TelegramCommand),
    /// Manage webhooks: what other programs trigger over HTTP
    #[command(subcommand)]
    Hook(HookCommand),
    /// Manage what is planned: reminders, questions and requests at set times
    #[command(subcommand)]
    Schedule(ScheduleCommand),
    /// Manage timers: what the clock of this machine triggers
    #[command(subcommand)]
    Timer(TimerCommand),
    /// Show budgets and what was used, and set other limits
    #[command(subcommand)]
    Budget(BudgetCommand),
    /// Judge what a model proposes to hold true
    #[command(subcommand)]
    Soul(SoulCommand),
    /// Show what Metnos lacks, and have executors drafted that it could have
    #[command(subcommand)]
    Synt(SyntCommand),
    /// Search what was said, and explain why an item was found
    #[command(subcommand)]
    Memory(MemoryCommand),
    /// Show traces: communities of executors that work together
    #[command(subcommand)]
    Trace(TraceCommand),
    /// Measure recall and ranking on a file of dialogues, in a memory of its own
    #[command(subcommand)]
    Bench(BenchCommand),
    /// Show what was spent, on what, and what a month will cost
    Spend,
    /// Copy the whole instance into a folder, while it runs
    Backup {
        /// The folder, which must not exist yet [default: metnos-backup-SECONDS here]
        folder: Option<PathBuf>,
    },
    /// Create an instance from a backup, where none exists
    Restore {
        /// The backup's folder
        folder: PathBuf,
    },
    /// Pause the clock of use: nothing ages, nothing is proposed, and the mnestome stays as it is
    Freeze {
        /// Why
        #[arg(long)]
        why: String,
    },
    /// Resume the clock of use, as if no time had passed
    Defrost {
        /// Why
        #[arg(long)]
        why: String,
    },
    /// Print the completion script of a shell
    Completions(Completions),
    /// Print the JSON Schema of what a command prints with --json
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

    /// Stop when the program that started it ends; used by `bench ask`
    #[arg(long, hide = true, conflicts_with = "detach")]
    pub tied: bool,

    /// Test builds: another program in the place of a daemon, as ROLE=PATH
    #[cfg(feature = "attack")]
    #[arg(long, value_name = "ROLE=PATH", hide = true)]
    pub daemon: Vec<std::ffi::OsString>,
}

/// See [`Command::Daemon`].
#[derive(Debug, Subcommand)]
pub enum DaemonCommand {
    /// List the daemons
    List,
    /// Restart a daemon
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
    /// List the executors
    List,
    /// Show one executor
    Show {
        /// Its name
        name: String,
    },
    /// Explain the sandbox of an executor
    Profile {
        /// Its name
        name: String,
    },
    /// Show what has changed in an executor's sandbox since it was locked
    Diff {
        /// Its name
        name: String,
    },
    /// Disable an executor: its calls are ended, and none is allowed until it is enabled
    Disable {
        /// Its name
        name: String,
    },
    /// Enable an executor again
    Enable {
        /// Its name
        name: String,
    },
    /// Lift the quarantine of an executor whose files are again as they were signed
    Lift {
        /// Its name
        name: String,
        /// The digest that the command shows without this option: confirms exactly that
        #[arg(long, value_name = "DIGEST")]
        confirm: Option<String>,
    },
    /// Sign an executor anew whose sandbox has changed, as after an upgrade, once its tests pass in it
    #[command(group(clap::ArgGroup::new("whom").required(true).args(["name", "all"])))]
    Relock {
        /// Its name
        name: Option<String>,
        /// All executors whose sandbox has changed
        #[arg(long)]
        all: bool,
        /// The digest that the command shows without this option: confirms exactly that
        #[arg(long, value_name = "DIGEST")]
        confirm: Option<String>,
    },
    /// Archive an executor: it is neither offered nor callable until it is restored, and nothing is deleted
    Archive {
        /// Its name
        name: String,
        /// Why
        #[arg(long)]
        reason: Option<String>,
    },
    /// Restore an executor from the archive, once it is verified
    Restore {
        /// Its name
        name: String,
        /// Why
        #[arg(long)]
        reason: String,
    },
    /// Revoke the signature of an executor for ever: this version can never be called again
    Revoke {
        /// Its name
        name: String,
        /// Why
        #[arg(long)]
        reason: String,
        /// The digest that the command shows without this option: confirms exactly that
        #[arg(long, value_name = "DIGEST")]
        confirm: Option<String>,
    },
    /// Write the files of a new executor that works, into the pool, for you to change; nothing signs it
    New {
        /// Its name: small letters, digits and `_`
        name: String,
    },
    /// Export an executor for another instance: its files, its origin and this instance's signature
    Export {
        /// Its name
        name: String,
        /// The file, which must not exist yet
        file: PathBuf,
    },
    /// Import an executor of another instance: it cannot be called before it is signed here
    Import {
        /// The file that `export` has written
        file: PathBuf,
    },
    /// Test an unsigned executor in the tightest sandbox, show it, and sign it with --confirm
    Sign {
        /// Its name
        name: String,
        /// The digest that the command shows without this option: confirms exactly that
        #[arg(long, value_name = "DIGEST")]
        confirm: Option<String>,
    },
    /// Verify files, signature and profile of executors
    Verify {
        /// Its name; without it, all
        name: Option<String>,
    },
}

/// See [`Command::Sandbox`].
#[derive(Debug, Subcommand)]
pub enum SandboxCommand {
    /// Try hostile code against the sandbox of this machine, and report what was stopped
    Selftest {
        /// Only these families of attacks [default: all]
        #[arg(long, value_name = "NAME")]
        family: Vec<String>,
    },
}

/// See [`Command::Audit`].
#[derive(Debug, Subcommand)]
pub enum AuditCommand {
    /// Show the last events
    Tail {
        /// How many
        #[arg(short = 'n', long, default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=i64::from(MAX_TAIL)))]
        lines: u32,
    },
    /// Search events by all given conditions, newest first
    Search(Search),
    /// Show one event, whole
    Show {
        /// Its number
        seq: u64,
    },
    /// Verify the hash chain, policyd's signed heads and the agreement of the daemons
    Verify {
        /// Only what follows this line, which is trusted
        #[arg(long, value_name = "SEQ", default_value_t = 0)]
        since: u64,
    },
    /// Export the lines byte for byte, and verify chain and signed heads on the way
    Export {
        /// The first line
        #[arg(long, value_name = "SEQ", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..))]
        from: u64,
        /// The last line [default: the last there is]
        #[arg(long, value_name = "SEQ")]
        to: Option<u64>,
        /// The file, which must not exist yet [default: standard output]
        file: Option<PathBuf>,
    },
    /// List the heads that policyd has signed, each verified
    Anchors,
    /// Prove that a line belongs to a head that policyd has signed; anyone can check the proof without Metnos
    Prove {
        /// The line's number
        #[arg(required_unless_present = "check")]
        seq: Option<u64>,
        /// Check the proof in this file instead; a single `-` reads standard input
        #[arg(long, value_name = "FILE", conflicts_with = "seq")]
        check: Option<PathBuf>,
    },
    /// Scan the chronicle for anything that looks like a secret
    Scan,
    /// Redact the payload of a line for good; the redaction itself stays on record
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
    /// Only events of this daemon
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
    /// List the mnests
    List,
    /// List the heaviest mnests
    Top {
        /// How many
        #[arg(short = 'n', long, default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=i64::from(MAX_TAIL)))]
        lines: u32,
        /// Only those that lead from this executor
        #[arg(long, value_name = "EXECUTOR", default_value = "", hide_default_value = true)]
        from: String,
    },
    /// Show one mnest
    Show {
        /// Its id, or the end of it
        id: String,
    },
    /// Tag a mnest with a word of your own
    Tag {
        /// Its id, or the end of it
        id: String,
        /// The word
        word: String,
        /// Take the word back instead
        #[arg(long)]
        remove: bool,
    },
    /// Draw the graph of mnests
    Graph {
        /// As SVG
        #[arg(long, conflicts_with = "dot")]
        svg: bool,
        /// In Graphviz' language, which is also the default
        #[arg(long)]
        dot: bool,
    },
    /// List what the ager proposes
    Proposals,
    /// Decline a proposal: it does not come again
    Decline {
        /// Its id, as `mnest proposals` shows it
        id: String,
        /// Why
        #[arg(long)]
        why: String,
    },
    /// Archive a mnest: it is kept, but not used
    Archive {
        /// Its id, or the end of it
        id: String,
        /// Why
        #[arg(long)]
        why: String,
    },
    /// Restore an archived mnest
    Restore {
        /// Its id, or the end of it
        id: String,
        /// Why
        #[arg(long)]
        why: String,
    },
    /// List the snapshots of the mnestome
    Snapshots,
    /// Take a snapshot of the mnestome
    Snapshot {
        /// Under which name: small letters, digits, hyphens
        #[arg(default_value = "", hide_default_value = true)]
        name: String,
        /// Why
        #[arg(long)]
        why: String,
    },
    /// Roll back to a snapshot; a snapshot of the present state is taken first
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
    /// List the cards that wait, and those answered lately
    List,
    /// Show one card, whole
    Show {
        /// Its name
        id: String,
    },
    /// Approve a card: exactly what is on it is done, once
    Approve {
        /// The card's name
        id: String,

        /// Only if the card still has this digest
        #[arg(long)]
        digest: Option<String>,

        /// Also approve similar calls until the turn ends
        #[arg(long, conflicts_with = "always")]
        turn: bool,

        /// Also approve similar calls for so many days [default when given without a number: 30]
        #[arg(long, value_name = "DAYS", num_args = 0..=1, default_missing_value = "30",
              value_parser = clap::value_parser!(u16).range(1..=365))]
        always: Option<u16>,
    },
    /// Deny a card
    Deny {
        /// The card's name
        id: String,

        /// Never ask for similar calls again
        #[arg(long)]
        never: bool,
    },
}

/// See [`Command::Grant`].
#[derive(Debug, Subcommand)]
pub enum GrantCommand {
    /// List every stored grant
    List,
    /// Revoke a stored grant
    Revoke {
        /// Its name, as `grant list` has it
        id: String,
    },
}

/// See [`Command::Totp`].
#[derive(Debug, Subcommand)]
pub enum TotpCommand {
    /// Create a new secret and show it once; it takes effect after `totp confirm`
    Enrol,
    /// Confirm the secret with a code from standard input
    Confirm,
    /// Remove the secret: no code is accepted any more
    Remove,
}

/// See [`Command::Turn`].
#[derive(Debug, Subcommand)]
pub enum TurnCommand {
    /// Show the events of a turn
    Show {
        /// The turn, or the end of its name
        turn: String,
        /// Show instead the exact bytes that were sent to a model, thought by thought
        #[arg(long)]
        prompt: bool,
    },
    /// Rate a turn: the executors that were called in it are judged by that
    Feedback {
        /// The turn, or the end of its name
        turn: String,
        /// Your rating; the last one counts
        word: Feedback,
    },
}

/// See [`TurnCommand::Feedback`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Feedback {
    /// It was useful
    Good,
    /// It was not useful; that counts double
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
    /// List the acts that can be undone, and those that were
    List,
}

/// See [`Command::Policy`].
#[derive(Debug, Subcommand)]
pub enum PolicyCommand {
    /// Explain step by step what would become of a call; nothing runs
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
    /// Find the turns that answer a question, best first
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
    /// Show recent words, recent tasks and summaries of older talk
    Late {
        /// Whose, as CHANNEL:SENDER [default: that of this user at this terminal]
        #[arg(long, value_name = "PEER")]
        peer: Option<String>,
        /// How many of each at most
        #[arg(short = 'n', long, default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=i64::from(MAX_RECALLED)))]
        limit: u32,
    },
    /// Explain an item: its words, its cause, and its place in the chain
    Explain {
        /// The number of its line, as `memory search` shows it
        line: u64,
    },
}

/// See [`Command::Trace`].
#[derive(Debug, Subcommand)]
pub enum TraceCommand {
    /// List the traces, the largest first
    List,
    /// Show one trace and its executors
    Show {
        /// Its id, or the end of it
        id: String,
    },
}

/// See [`Command::Bench`].
#[derive(Debug, Subcommand)]
pub enum BenchCommand {
    /// Measure how often a question finds its evidence, beside SQLite's FTS5 alone
    #[command(after_help = "Each line of FILE is a conversation: {\"conversation\",\"turns\":[{\"id\",\"session\",\
\"time\",\"speaker\",\"text\"}],\"questions\":[{\"q\",\"category\",\"evidence\":[\"id\"]}]}")]
    Recall {
        /// The conversations and questions, JSON lines [default: the synthetic sets]
        file: Option<PathBuf>,
    },
    /// Measure how often the next executor is ranked among the first, without and with the mnestome
    #[command(after_help = "Each line of FILE is a message of a dialogue, in order: {\"dialogue\",\"message\",\
\"calls\":[\"name\"],\"tools\":[{\"name\",\"description\"}]}")]
    Next {
        /// The dialogues, JSON lines
        file: PathBuf,
    },
    /// Measure how well the reflex understands a file of utterances, without a model or a daemon
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
    /// Measure what is answered to a file of household questions, each on an instance of its own that is thrown away
    Ask(BenchAsk),
    /// Measure what is drafted for a file of wishes, each on an instance of its own that is thrown away, with the model that has the
    /// role `synth`
    #[command(
        after_help = "Each line of FILE is a wish: {\"name\",\"wish\",\"lang\":\"en\",\"examples\":[{\"in\":{},\"out\":{}}],\
\"hidden\":[{\"in\":{},\"out\":{}}],\"pool\":[\"executor\"]}. out is null where the input must be refused. Neither the model nor its \
tests are given what is hidden."
    )]
    Synt {
        /// The wishes, JSON lines
        file: PathBuf,
    },
    /// Measure how often the needed executors are among the first that a planner is shown
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

/// See [`BenchCommand::Ask`].
#[derive(Debug, Args)]
#[command(
    after_help = "Each line of FILE is a question: {\"say\",\"lang\",\"files\":{path:text},\"want\":[\"text|alternative\"],\
\"never\":[…],\"effect\":{\"path\",\"holds\"}}. say is a text, or a list of which the last is judged. Without effect every file must stay \
as it was; \"absent\":true for one that must be gone, \"may\":[path] for what may change. \"cannot\":true where an honest refusal is \
right, \"card\":true where asking first is. \"kind\" groups the summary, \"held\":true marks what is kept back."
)]
pub struct BenchAsk {
    /// The questions, JSON lines
    pub file: PathBuf,
    /// Whether the model is asked that the instance has
    #[arg(long, value_enum, default_value_t = AskedModel::None)]
    pub model: AskedModel,
    /// Which lines are asked
    #[arg(long, value_enum, default_value_t = AskedPart::All)]
    pub part: AskedPart,
}

/// Which model `bench ask` asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum AskedModel {
    /// None: the reflex alone answers
    None,
    /// That of the instance, as its configuration and its keys have it
    Configured,
}

/// Which lines `bench ask` asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum AskedPart {
    /// All of them
    All,
    /// Those that are marked as held back
    Held,
    /// The others
    Open,
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
