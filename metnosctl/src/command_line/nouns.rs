//! The commands about proposals, the constitution, people and levels as clap sees them, beside those of
//! [`crate::command_line::cli`].

use std::path::PathBuf;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Subcommand};
use metnos_proto::msg::accounts::AccountKind;
use metnos_proto::msg::common::{Channel, Lang, Level, Role, Standing};
use metnos_proto::msg::quiet::Quiet;

/// List Metnos' own proposals, how each was weighed, and answer them
#[derive(Debug, Subcommand)]
pub enum VaglioCommand {
    /// List the proposals that wait for an answer
    Digest,
    /// List proposals that were not put to you: blocked by a Law, or not worth the interruption
    Unasked,
    /// Show the ends of your telos with their present weights
    Telos,
    /// Explain one proposal: what it is, how it was weighed, what became of it
    Explain {
        /// Its name
        id: String,
    },
    /// Accept a proposal
    Accept {
        /// Its name
        id: String,
    },
    /// Decline a proposal
    Refuse {
        /// Its name
        id: String,
    },
}

/// The language models
#[derive(Debug, Subcommand)]
pub enum ModelsCommand {
    /// List the configured servers, keys, roles and prices
    List,
    /// Ask every server which models it has
    Scan,
    /// Set the model of a role, after it has answered a test; restarts mind
    Set {
        /// Which role
        #[arg(value_parser = model_roles())]
        role: String,
        /// The model, as SUBSTRATE/MODEL; those behind it answer when it cannot
        #[arg(required = true, value_name = "SUBSTRATE/MODEL")]
        models: Vec<String>,
    },
    /// Test whether models can be called
    Test {
        /// A role or a SUBSTRATE/MODEL [default: every role that has a model]
        which: Option<String>,
    },
    /// Set the key of a server, typed or from standard input; an empty key removes it
    Key {
        /// The server's name in metnos.toml
        substrate: String,
    },
}

/// The bot of Telegram
#[derive(Debug, Subcommand)]
pub enum TelegramCommand {
    /// Set the bot's token, typed or from standard input; an empty token removes it. Restarts the door
    Token,
    /// Show the state of the bot
    Status,
}

fn model_roles() -> impl TypedValueParser<Value = String> {
    PossibleValuesParser::new(metnos_proto::models::ROLES)
}

/// Confirm the Laws: only the owner, at this machine
#[derive(Debug, Subcommand)]
pub enum RiteCommand {
    /// Show the Laws in force and those in SOUL.md; with --confirm, put the file in force
    Constitution {
        /// The digest of the file as it was shown
        #[arg(long, value_name = "DIGEST")]
        confirm: Option<String>,
    },
}

/// What others' programs set off
#[derive(Debug, Subcommand)]
pub enum HookCommand {
    /// List them, with what each does
    List,
    /// Add one, with what is to be done when it fires; its secret is shown once
    Add {
        /// Its name: small letters, digits and hyphens
        name: String,
        /// What is to be done, in your words
        #[arg(required = true)]
        words: Vec<String>,
    },
    /// Replace its secret; the new one is shown once, the old one no longer works
    Rotate {
        /// Which
        name: String,
    },
    /// Remove it
    Remove {
        /// Which
        name: String,
    },
}

/// What the clock of the machine sets off
#[derive(Debug, Subcommand)]
pub enum TimerCommand {
    /// List them, with what each does
    List,
    /// Add one, with what is to be done when it fires
    Add {
        /// Its name: small letters, digits and hyphens
        name: String,
        /// What is to be done, in your words
        #[arg(required = true)]
        words: Vec<String>,
    },
    /// Fire it now: do what was set up, and show the result
    Fire {
        /// Which
        name: String,
    },
    /// Remove it
    Remove {
        /// Which
        name: String,
    },
}

/// Plan reminders, and read words about time
#[derive(Debug, Subcommand)]
pub enum ScheduleCommand {
    /// List what is planned for everybody
    List {
        /// Also what has ended
        #[arg(long)]
        all: bool,
    },
    /// Show a reminder, and when it fired
    Show {
        /// Its number in `schedule list`
        number: u64,
    },
    /// Have yourself reminded of something, or a question answered
    Add(ScheduleAdd),
    /// Have a reminder not fire until it is resumed
    Pause {
        /// Its number in `schedule list`
        number: u64,
    },
    /// Have a paused reminder fire again
    Resume {
        /// Its number in `schedule list`
        number: u64,
    },
    /// Show when a reminder fired, and what became of it
    History {
        /// Its number in `schedule list`
        number: u64,
    },
    /// Have one of your own fire now as well
    RunNow {
        /// Its number in `schedule list`
        number: u64,
    },
    /// Have a reminder never fire again
    Cancel {
        /// Its number in `schedule list`
        number: u64,
    },
    /// Have a reminder fire at another time
    Modify {
        /// Its number in `schedule list`
        number: u64,
        /// When, such as "at 10", "Friday" or "an hour" later
        #[arg(required = true)]
        when: Vec<String>,
    },
    /// Say what words about time mean: an instant, an interval, a duration or a recurrence
    Parse(ScheduleParse),
}

/// See [`ScheduleCommand::Add`].
#[derive(Debug, Args)]
pub struct ScheduleAdd {
    /// Of what, such as "call the dentist"
    #[arg(required = true)]
    pub what: Vec<String>,
    /// When, such as "tomorrow at 9", "in 20 minutes" or "every Monday at 7:30"
    #[arg(long, value_name = "WORDS")]
    pub when: String,
    /// Who is reminded, by name [default: you]
    #[arg(long, value_name = "NAME")]
    pub to: Option<String>,
    /// It is a question, which is answered then: such as "what is planned today"
    #[arg(long, conflicts_with = "to")]
    pub ask: bool,
    /// The language of both [default: the one that they show, else English]
    #[arg(long, value_parser = languages())]
    pub lang: Option<Lang>,
}

/// See [`ScheduleCommand::Parse`].
#[derive(Debug, Args)]
pub struct ScheduleParse {
    /// The words, such as "tomorrow at 9" or "ogni lunedì alle 7:30"
    #[arg(required = true)]
    pub words: Vec<String>,
    /// The moment at which they are said, such as 2026-11-24T10:00 [default: now]
    #[arg(long, value_name = "MOMENT")]
    pub at: Option<String>,
    /// Where the clock stands, such as Europe/Rome or +02:00 [default: the time zone in USER.md, else UTC]
    #[arg(long)]
    pub zone: Option<String>,
    /// The language of the words [default: the one that they show, else English]
    #[arg(long, value_parser = languages())]
    pub lang: Option<Lang>,
}

/// Show what Metnos lacks, and have executors drafted that it could have
#[derive(Debug, Subcommand)]
pub enum SyntCommand {
    /// List what was wished for and is not there, and the drafts since syntd has started
    Gaps,
    /// List the proposals to draft something
    Proposals,
    /// Have an executor drafted that computes something; nothing of it may be called before you have signed it
    Run(SyntRun),
    /// Show a draft whole
    Show {
        /// Its name [default: the last one]
        name: Option<String>,
    },
    /// Put an executor away that was drafted and signed here
    Withdraw {
        /// Its name
        name: String,
        /// Why
        #[arg(long)]
        reason: String,
    },
    /// Show or set whether drafts are only shown, and never put into the pool
    DryRun {
        /// on: only shown; off: put into the pool, where they wait for your signature
        #[arg(value_enum)]
        switch: Option<Switch>,
    },
}

/// On or off.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Switch {
    /// On
    On,
    /// Off
    Off,
}

/// See [`SyntCommand::Run`].
#[derive(Debug, Args)]
pub struct SyntRun {
    /// What it shall do, such as "extract the invoice number from the text of an invoice"
    #[arg(required = true)]
    pub wish: Vec<String>,
    /// What must come out of what: '{"text": "Invoice 12"} => {"number": "12"}', or '… => error'. With fewer than three the model
    /// is asked for more
    #[arg(long, value_name = "EXAMPLE")]
    pub example: Vec<String>,
    /// A file of examples, one line of JSON each: {"in": {…}, "out": {…}}
    #[arg(long, value_name = "FILE")]
    pub examples: Option<PathBuf>,
    /// Its name [default: made of the wish]
    #[arg(long)]
    pub name: Option<String>,
    /// The language of the wish [default: en]
    #[arg(long, value_parser = languages())]
    pub lang: Option<Lang>,
}

/// Judge what a model proposes to hold true
#[derive(Debug, Subcommand)]
pub enum SoulCommand {
    /// Judge recorded proposals, one a line; no instance is touched
    Compile(SoulCompile),
}

/// See [`SoulCommand::Compile`].
#[derive(Debug, Args)]
pub struct SoulCompile {
    /// The cases, one line of JSON each, or `-` for standard input
    pub file: PathBuf,
}

/// For whom a link to the page is, and what is done with it
#[derive(Debug, Args)]
pub struct WebLinkAsked {
    /// Only print the link, and start no browser
    #[arg(long)]
    pub print: bool,
    /// What its bearer becomes
    #[arg(long = "as", value_name = "ROLE", default_value = "owner", value_parser = standings())]
    pub standing: Standing,
    /// The person who its bearer is; the role of that person counts then
    #[arg(long, value_name = "NAME", conflicts_with = "standing")]
    pub person: Option<String>,
}

/// Manage who may speak to this instance
#[derive(Debug, Subcommand)]
pub enum PairingCommand {
    /// List known principals, waiting strangers and open invitations
    List,
    /// Approve a stranger by the code that he has shown you
    Approve {
        /// The channel on which he wrote
        #[arg(value_parser = channels())]
        channel: Channel,
        /// His code, such as K7-DELTA-19
        code: String,
        /// What he becomes
        #[arg(long = "as", value_name = "ROLE", default_value = "guest", value_parser = standings())]
        standing: Standing,
        /// The person who he is; the role of that person counts then
        #[arg(long, value_name = "NAME", conflicts_with = "standing")]
        person: Option<String>,
    },
    /// Create an invitation code, good once and for ten minutes
    Invite {
        /// The channel on which it counts
        #[arg(value_parser = channels())]
        channel: Channel,
        /// What its bearer becomes
        #[arg(long = "as", value_name = "ROLE", default_value = "guest", value_parser = standings())]
        standing: Standing,
        /// The person who its bearer is; the role of that person counts then
        #[arg(long, value_name = "NAME", conflicts_with = "standing")]
        person: Option<String>,
    },
    /// Set the language in which a principal is answered
    Language {
        /// Who, as `channel:sender`, or `owner` for the owner at the terminal
        principal: String,
        /// Which
        #[arg(value_parser = languages())]
        lang: Lang,
    },
    /// Revoke a principal: he is a stranger again at once
    Revoke {
        /// Who, as `channel:sender`
        principal: String,
    },
}

/// Manage the persons of the household
#[derive(Debug, Subcommand)]
pub enum PeopleCommand {
    /// List everybody
    List,
    /// Show one
    Show {
        /// The name
        name: String,
    },
    /// Add a person
    Add(PersonToAdd),
    /// Change what a person is, and what else the others call this person
    Change(PersonToChange),
    /// Say who speaks as a principal that is paired
    Join {
        /// The name
        name: String,
        /// The principal, as `channel:sender`; `metnosctl pairing list` shows them
        principal: String,
    },
    /// Merge two persons: every principal of the first joins the second, and the first is removed
    Merge {
        /// The name that goes
        name: String,
        /// The name that stays
        into: String,
    },
    /// Remove a person: nobody is heard any more who has spoken as this person
    Remove {
        /// The name
        name: String,
    },
}

/// See [`PeopleCommand::Add`].
#[derive(Debug, Args)]
pub struct PersonToAdd {
    /// What everybody calls this person
    pub name: String,
    /// What this person is in the household
    #[arg(long, default_value = "guest", value_parser = roles())]
    pub role: Role,
    /// What else the others say, such as `mum`; may be given several times
    #[arg(long, value_name = "NAME")]
    pub also: Vec<String>,
}

/// See [`PeopleCommand::Change`].
#[derive(Debug, Args)]
pub struct PersonToChange {
    /// Who
    pub name: String,
    /// What this person is from now on [default: as before]
    #[arg(long, value_parser = roles())]
    pub role: Option<Role>,
    /// What else the others say, in place of what they said before; may be given several times
    #[arg(long, value_name = "NAME")]
    pub also: Vec<String>,
    /// When this person is not disturbed by what others send, such as 22:00-7:00; `none` for never
    #[arg(long, value_name = "HOURS", value_parser = quiet_hours)]
    pub quiet: Option<QuietHours>,
    /// The preferred channel for reminders and messages: `telegram` delivers to the chat at once, `cli` and `http` never to the
    /// chat; `any` delivers where the reminder was made, and falls back to the chat
    #[arg(long, value_parser = told_on())]
    pub channel: Option<ToldOn>,
    /// An executor that this child calls without asking, in the folders that the child reads; may be given several times, in place
    /// of those before. `none` for none
    #[arg(long, value_name = "EXECUTOR")]
    pub may_call: Vec<String>,
}

/// A channel as a person chooses it: none where there is to be no choice.
#[derive(Debug, Clone, Copy)]
pub struct ToldOn(pub Option<Channel>);

fn told_on() -> impl TypedValueParser<Value = ToldOn> {
    named(&[
        ("telegram", ToldOn(Some(Channel::Telegram))),
        ("cli", ToldOn(Some(Channel::Cli))),
        ("http", ToldOn(Some(Channel::Http))),
        ("any", ToldOn(None)),
    ])
}

/// Quiet hours as they are given: none where there are to be none.
#[derive(Debug, Clone, Copy)]
pub struct QuietHours(pub Option<Quiet>);

fn quiet_hours(text: &str) -> Result<QuietHours, String> {
    if text == "none" {
        return Ok(QuietHours(None));
    }
    let quiet = Quiet::read(text).map(|quiet| QuietHours(Some(quiet)));
    quiet.ok_or_else(|| "quiet hours are two times of day, such as 22:00-7:00, or `none`".to_owned())
}

/// What is kept of other persons is sealed: who, when and which executor are shown, and not a word
#[derive(Debug, Subcommand)]
pub enum SealCommand {
    /// List the broken seals
    List,
    /// Break a seal for an hour; the person is told on each channel, with the reason, and it stays on record
    Break {
        /// Whose: a person's name, or `channel:sender` of somebody without one
        who: String,
        /// Why; the person reads it
        #[arg(long)]
        reason: String,
    },
    /// Close a broken seal before its time
    Close {
        /// Whose
        who: String,
    },
}

/// Manage the vault: secrets, and which executors receive them
#[derive(Debug, Subcommand)]
pub enum SecretCommand {
    /// List the secrets and the executors that receive them; never a value
    List,
    /// Store a new secret; its value is typed, or read from standard input
    Set {
        /// Its name, as manifests name it
        name: String,
    },
    /// Replace the value of a secret; its grants stay
    Rotate {
        /// Its name
        name: String,
    },
    /// Delete a secret for good
    Remove {
        /// Its name
        name: String,
    },
    /// Grant a secret to an executor, for its present files only
    Grant {
        /// The secret
        name: String,
        /// The executor
        executor: String,
    },
    /// Withdraw a secret from an executor
    Withdraw {
        /// The secret
        name: String,
        /// The executor
        executor: String,
    },
}

fn account_kind() -> impl TypedValueParser<Value = AccountKind> {
    let kinds = PossibleValuesParser::new(AccountKind::ALL.map(AccountKind::name));
    kinds.try_map(|name| AccountKind::named(&name).ok_or("no kind of account"))
}

/// Which account is meant.
#[derive(Debug, Args)]
pub struct AccountNamed {
    /// What it is for
    #[arg(value_parser = account_kind())]
    pub kind: AccountKind,
    /// What it is called among those of this person; `main` where nothing is said
    #[arg(long)]
    pub name: Option<String>,
}

/// Manage the accounts that persons have elsewhere: mailboxes, calendars, a house, a search server
#[derive(Debug, Subcommand)]
pub enum AccountCommand {
    /// List them; never a password
    List,
    /// Add one, or give one another server, user name and password; your own is tried at once
    Add {
        /// Which
        #[command(flatten)]
        of: AccountNamed,
        /// Whose; yours where nothing is said
        #[arg(long)]
        person: Option<String>,
        /// The name of its server, such as imap.example.org or cloud.example.org; only TLS is spoken. For `home` and `search` also an
        /// address such as 192.168.1.10 that is listed under net.private: there, and only there, HTTP without TLS
        #[arg(long)]
        host: String,
        /// The port; without it 993 for mail, 443 for a calendar and for `search`, 8123 for `home`
        #[arg(long)]
        port: Option<u16>,
        /// The user name there; the password is typed, or read from standard input. For `home` that is a long-lived access token,
        /// which needs no user name; a server for `search` may want neither
        #[arg(long)]
        user: Option<String>,
        /// The server that takes mail to be sent, such as smtp.example.org or smtp.example.org:587; `none` for an account that
        /// only reads [default: the usual one beside HOST]
        #[arg(long, value_name = "HOST[:PORT]")]
        smtp: Option<String>,
        /// The address that mail is sent from [default: USER]
        #[arg(long)]
        address: Option<String>,
        /// The devices of the house that may be looked at and switched, such as 'light.*,cover.blinds'; for `home` alone
        #[arg(long, value_name = "LIST")]
        devices: Option<String>,
    },
    /// Try one of your own: logs in, and says exactly what is wrong
    Test {
        /// Which
        #[command(flatten)]
        of: AccountNamed,
        /// Try the server that takes mail to be sent; nothing is sent
        #[arg(long)]
        sending: bool,
    },
    /// Remove one, with its password
    Remove {
        /// Which
        #[command(flatten)]
        of: AccountNamed,
        /// Whose; yours where nothing is said
        #[arg(long)]
        person: Option<String>,
    },
}

/// Show budgets and what was used, and set other limits
#[derive(Debug, Subcommand)]
pub enum BudgetCommand {
    /// List the budgets
    Show {
        /// Whose, as `channel:sender`, or `owner` [default: everybody's]
        principal: Option<String>,
    },
    /// Set another limit for a while; permanent limits are in metnos.toml
    Raise {
        /// Whose, as `channel:sender`, `owner`, or `house` for everybody together
        principal: String,
        /// Which, as `budget show` names it
        budget: String,
        /// The new limit; money in millionths
        limit: u64,
        /// For how long, such as 2h or 1d
        #[arg(long = "for", value_name = "TIME", value_parser = seconds, default_value = "1d")]
        time: u32,
    },
    /// Return to the limit in metnos.toml
    Restore {
        /// Whose
        principal: String,
        /// Which
        budget: String,
    },
}

/// Show and set what each principal may do without asking
#[derive(Debug, Subcommand)]
pub enum AutonomyCommand {
    /// List the level of each principal
    Show,
    /// Set a level
    Set {
        /// Who, as `channel:sender`, or `owner` for the owner at the terminal
        principal: String,
        /// The level
        #[arg(value_parser = levels())]
        level: Level,
        /// For how long, such as 30m or 2h; without it, for good
        #[arg(long = "for", value_name = "TIME", value_parser = seconds)]
        time: Option<u32>,
    },
}

fn named<T: Copy + Send + Sync + 'static>(all: &'static [(&'static str, T)]) -> impl TypedValueParser<Value = T> {
    PossibleValuesParser::new(all.iter().map(|(name, _)| *name)).try_map(move |given| {
        all.iter().find(|(name, _)| *name == given).map(|(_, value)| *value).ok_or_else(|| format!("{given} is none"))
    })
}

fn channels() -> impl TypedValueParser<Value = Channel> {
    named(&[("cli", Channel::Cli), ("http", Channel::Http), ("telegram", Channel::Telegram)])
}

fn standings() -> impl TypedValueParser<Value = Standing> {
    named(&[("guest", Standing::Guest), ("adult", Standing::Adult), ("owner", Standing::Owner)])
}

fn roles() -> impl TypedValueParser<Value = Role> {
    named(&[("owner", Role::Owner), ("adult", Role::Adult), ("child", Role::Child), ("guest", Role::Guest)])
}

fn languages() -> impl TypedValueParser<Value = Lang> {
    named(&[("en", Lang::En), ("it", Lang::It)])
}

fn levels() -> impl TypedValueParser<Value = Level> {
    named(&[("readonly", Level::ReadOnly), ("supervised", Level::Supervised), ("full", Level::Full)])
}

/// Reads `90s`, `30m`, `2h` or `1d`.
///
/// # Errors
/// In a sentence, for everything else.
pub fn seconds(text: &str) -> Result<u32, String> {
    let unit = match text.chars().last() {
        Some('s') => 1,
        Some('m') => 60,
        Some('h') => 3_600,
        Some('d') => 86_400,
        _ => return Err("a time is a number and its unit: 90s, 30m, 2h or 1d".to_owned()),
    };
    let number = &text[..text.len() - 1];
    let digits = !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit());
    let seconds = number.parse::<u32>().ok().filter(|_| digits).and_then(|number| number.checked_mul(unit));
    seconds.filter(|seconds| *seconds > 0).ok_or_else(|| "a time is a number above 0 and its unit".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_has_a_number_and_a_unit() {
        assert_eq!(
            [seconds("90s"), seconds("30m"), seconds("2h"), seconds("1d")],
            [Ok(90), Ok(1_800), Ok(7_200), Ok(86_400)]
        );
        for text in ["", "h", "2", "-2h", "+2h", "0s", "2 h", "2w", "99999999d", "é"] {
            assert!(seconds(text).is_err(), "{text}");
        }
    }
}
