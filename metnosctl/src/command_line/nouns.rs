//! The commands about proposals, the constitution, people and levels as clap sees them, beside those of
//! [`crate::command_line::cli`].

use clap::Subcommand;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use metnos_proto::msg::common::{Channel, Lang, Level, Standing};

/// What Metnos would do of its own accord, and how that was weighed
#[derive(Debug, Subcommand)]
pub enum VaglioCommand {
    /// The proposals that wait for an answer
    Digest,
    /// What was not asked: blocked by a Law, or too little worth the bother
    Unasked,
    /// The ends as they count now, after what answers have taught
    Telos,
    /// Everything about one proposal: what it is, how it was weighed, what became of it
    Explain {
        /// Its name
        id: String,
    },
    /// Say yes to a proposal
    Accept {
        /// Its name
        id: String,
    },
    /// Say no to a proposal
    Refuse {
        /// Its name
        id: String,
    },
}

/// The language models
#[derive(Debug, Subcommand)]
pub enum ModelsCommand {
    /// What is configured: servers, keys, roles, prices
    List,
    /// Ask every server which models it has
    Scan,
    /// Give a role another model, after it has answered; mind is started anew
    Set {
        /// Which role
        #[arg(value_parser = model_roles())]
        role: String,
        /// The model, as SUBSTRATE/MODEL; those behind it answer when it cannot
        #[arg(required = true, value_name = "SUBSTRATE/MODEL")]
        models: Vec<String>,
    },
    /// Ask models for a word, to see whether they can be called
    Test {
        /// A role or a SUBSTRATE/MODEL [default: every role that has a model]
        which: Option<String>,
    },
    /// Give mind the key of a server, typed or from standard input; an empty one takes it away
    Key {
        /// The server's name in metnos.toml
        substrate: String,
    },
}

/// The bot of Telegram
#[derive(Debug, Subcommand)]
pub enum TelegramCommand {
    /// Give the door the token of a bot, typed or from standard input; an empty one takes it away. The door is started anew
    Token,
    /// How the bot does
    Status,
}

fn model_roles() -> impl TypedValueParser<Value = String> {
    PossibleValuesParser::new(metnos_proto::models::ROLES)
}

/// What only the owner does, at the machine
#[derive(Debug, Subcommand)]
pub enum RiteCommand {
    /// Look at the Laws in force and in SOUL.md; with --confirm, the file is in force from now on
    Constitution {
        /// The digest of the file as it was shown
        #[arg(long, value_name = "DIGEST")]
        confirm: Option<String>,
    },
}

/// What others' programs set off
#[derive(Debug, Subcommand)]
pub enum HookCommand {
    /// Which there are, and what each does
    List,
    /// Set one up, with what is to be done when it fires; its secret is shown once
    Add {
        /// Its name: small letters, digits and hyphens
        name: String,
        /// What is to be done, in your words
        #[arg(required = true)]
        words: Vec<String>,
    },
    /// Give it another secret, which is shown once; the one before opens nothing any more
    Rotate {
        /// Which
        name: String,
    },
    /// It fires no more
    Remove {
        /// Which
        name: String,
    },
}

/// What the clock of the machine sets off
#[derive(Debug, Subcommand)]
pub enum TimerCommand {
    /// Which there are, and what each does
    List,
    /// Set one up, with what is to be done when it fires
    Add {
        /// Its name: small letters, digits and hyphens
        name: String,
        /// What is to be done, in your words
        #[arg(required = true)]
        words: Vec<String>,
    },
    /// It is time: do what was set up, and show what comes of it
    Fire {
        /// Which
        name: String,
    },
    /// It fires no more
    Remove {
        /// Which
        name: String,
    },
}

/// Who may speak to this instance
#[derive(Debug, Subcommand)]
pub enum PairingCommand {
    /// Who is known, who waits, and which invitations are open
    List,
    /// A stranger has shown you his code: he is known from now on
    Approve {
        /// The channel on which he wrote
        #[arg(value_parser = channels())]
        channel: Channel,
        /// His code, such as K7-DELTA-19
        code: String,
        /// What he becomes
        #[arg(long = "as", value_name = "ROLE", default_value = "guest", value_parser = standings())]
        standing: Standing,
    },
    /// Make a code that somebody becomes known by, once, within ten minutes
    Invite {
        /// The channel on which it counts
        #[arg(value_parser = channels())]
        channel: Channel,
        /// What its bearer becomes
        #[arg(long = "as", value_name = "ROLE", default_value = "guest", value_parser = standings())]
        standing: Standing,
    },
    /// Have somebody spoken to in a language, whatever his channel says
    Language {
        /// Who, as `channel:sender`, or `owner` for the owner at the terminal
        principal: String,
        /// Which
        #[arg(value_parser = languages())]
        lang: Lang,
    },
    /// Make somebody a stranger again, at once
    Revoke {
        /// Who, as `channel:sender`
        principal: String,
    },
}

/// What executors are given in confidence
#[derive(Debug, Subcommand)]
pub enum SecretCommand {
    /// Every secret, and which executors are given it; never a value
    List,
    /// Put a new secret into the vault; its value is typed, or read from standard input
    Set {
        /// Its name, as manifests name it
        name: String,
    },
    /// Give a secret another value; who is given it stays as it is
    Rotate {
        /// Its name
        name: String,
    },
    /// Take a secret out of the vault, for good
    Remove {
        /// Its name
        name: String,
    },
    /// Let an executor have a secret, as its files are now and in no other version
    Grant {
        /// The secret
        name: String,
        /// The executor
        executor: String,
    },
    /// Let an executor have a secret no more
    Withdraw {
        /// The secret
        name: String,
        /// The executor
        executor: String,
    },
}

/// What may be used up, and what was
#[derive(Debug, Subcommand)]
pub enum BudgetCommand {
    /// One row a budget
    Show {
        /// Whose, as `channel:sender`, or `owner` [default: everybody's]
        principal: Option<String>,
    },
    /// Another limit for a while; for good it is changed in metnos.toml
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
    /// Back to what metnos.toml says
    Restore {
        /// Whose
        principal: String,
        /// Which
        budget: String,
    },
}

/// How far each principal goes without asking
#[derive(Debug, Subcommand)]
pub enum AutonomyCommand {
    /// One row a principal
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
    named(&[("guest", Standing::Guest), ("owner", Standing::Owner)])
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
