//! `metnos.toml`: every key with its default, its meaning and its bounds in one table ([`KEYS`]), and the reading of
//! the file. No secret may ever stand in it, and a word it does not know is an error, not a surprise.

use std::net::SocketAddr;
use std::path::Path;

use metnos_proto::control::{
    BudgetSettings, FolderSettings, HttpSettings, ModelSettings, NetSettings, RoleSetting, Settings,
};
use metnos_proto::executor::{PathGrant, commands, guests, is_host_name, is_name, outside};
use metnos_proto::models;
use metnos_proto::msg::common::Lang;
use toml::Spanned;
use toml::de::{DeArray, DeInteger, DeTable, DeValue};

use crate::zone;

/// The largest configuration that is read.
pub const MAX_CONFIG_BYTES: u64 = 64 * 1024;

/// What a value must be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// One of these words.
    OneOf(&'static [&'static str]),
    /// The absolute path of a file.
    Path,
    /// The absolute path of a folder, or nothing.
    PathOrNone,
    /// A number between these, both included.
    Number(u32, u32),
    /// `true` or `false`.
    Flag,
    /// As [`Kind::Number`], or the word in its place.
    NumberOr(u32, u32, &'static str),
    /// A list of these words.
    SomeOf(&'static [&'static str]),
    /// A list of folders of the workspace.
    GuestFolders,
    /// An address of this machine alone, with its port; or nothing.
    Listen,
    /// A list of at most so many addresses with a port.
    Addresses(usize),
    /// A list of at most so many hosts, each with its scheme.
    Hosts(usize),
    /// A list of at most so many executors, each with what a call of it costs.
    Prices(usize),
    /// The address of a server.
    Server,
    /// A list of servers of models.
    Substrates,
    /// A list of models, each of a substrate.
    Models,
    /// A list of what models cost.
    ModelPrices,
    /// A list of what models take.
    Contexts,
    /// A list of folders, each from the root or from the owner's home.
    Folders,
    /// A list of programs, by absolute path.
    Programs,
    /// A list of folders of data, each with the program that reads it.
    ProgramData,
}

/// A value that fits its kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value {
    /// Of a word or a path.
    Text(String),
    /// Of a number; of a flag 1 or 0.
    Number(u32),
    /// Of a list.
    List(Vec<String>),
}

/// What [`commands::DEFAULT`] is in a file.
const PROGRAMS: &str = "[\
    \"/usr/bin/basename\", \"/usr/bin/cat\", \"/usr/bin/cmp\", \"/usr/bin/comm\", \"/usr/bin/cut\", \
    \"/usr/bin/date\", \"/usr/bin/diff\", \"/usr/bin/dirname\", \"/usr/bin/du\", \"/usr/bin/expand\", \
    \"/usr/bin/fold\", \"/usr/bin/grep\", \"/usr/bin/head\", \"/usr/bin/join\", \"/usr/bin/ls\", \
    \"/usr/bin/md5sum\", \"/usr/bin/nl\", \"/usr/bin/paste\", \"/usr/bin/pdftoppm\", \"/usr/bin/pdftotext\", \"/usr/bin/seq\", \"/usr/bin/sha256sum\", \
    \"/usr/bin/sort\", \"/usr/bin/stat\", \"/usr/bin/tac\", \"/usr/bin/tail\", \"/usr/bin/tesseract\", \"/usr/bin/tr\", \
    \"/usr/bin/tsort\", \"/usr/bin/uniq\", \"/usr/bin/wc\"]";

/// One key.
#[derive(Debug)]
pub struct Key {
    /// The table it stands in.
    pub table: &'static str,
    /// Its name there.
    pub name: &'static str,
    /// What it is for, for a person.
    pub doc: &'static str,
    /// What it may be.
    pub kind: Kind,
    /// Its default, as it would stand in the file.
    pub default: &'static str,
}

/// The highest uid that is one: the next two mean "none" to the kernel's calls.
const MAX_UID: u32 = u32::MAX - 2;

/// All keys, in the order of the file.
pub const KEYS: &[Key] = &[
    Key {
        table: "instance",
        name: "lang",
        doc: "The language you are spoken to in, unless you use the other: \"en\" or \"it\".",
        kind: Kind::OneOf(&["en", "it"]),
        default: "\"en\"",
    },
    Key {
        table: "instance",
        name: "owner_uid",
        doc: "The user who speaks as the owner at the terminal. \"directory\": the owner of this directory.",
        kind: Kind::NumberOr(0, MAX_UID, "directory"),
        default: "\"directory\"",
    },
    Key {
        table: "budget",
        name: "concurrent",
        doc: "The most calls of one sender that run at once.",
        kind: Kind::Number(1, 56),
        default: "16",
    },
    Key {
        table: "budget",
        name: "calls_per_day",
        doc: "The most calls of one sender a day.",
        kind: Kind::Number(1, 4_000_000_000),
        default: "10000",
    },
    Key {
        table: "budget",
        name: "writes_per_day",
        doc: "The most calls of one sender a day that change something.",
        kind: Kind::Number(0, 4_000_000_000),
        default: "1000",
    },
    Key {
        table: "budget",
        name: "turn_micro",
        doc: "What one turn may spend, in millionths of your currency; so are the next four.",
        kind: Kind::Number(0, 4_000_000_000),
        default: "500000",
    },
    Key {
        table: "budget",
        name: "day_micro",
        doc: "What one sender may spend a day.",
        kind: Kind::Number(0, 4_000_000_000),
        default: "2000000",
    },
    Key {
        table: "budget",
        name: "month_micro",
        doc: "What one sender may spend a month.",
        kind: Kind::Number(0, 4_000_000_000),
        default: "20000000",
    },
    Key {
        table: "budget",
        name: "house_day_micro",
        doc: "What all together may spend a day.",
        kind: Kind::Number(0, 4_000_000_000),
        default: "5000000",
    },
    Key {
        table: "budget",
        name: "house_month_micro",
        doc: "What all together may spend a month.",
        kind: Kind::Number(0, 4_000_000_000),
        default: "50000000",
    },
    Key {
        table: "budget",
        name: "tokens_per_turn",
        doc: "The most tokens that models may read and write in one turn.",
        kind: Kind::Number(0, 4_000_000_000),
        default: "500000",
    },
    Key {
        table: "budget",
        name: "tokens_per_month",
        doc: "The most tokens that models may read and write for one sender a month.",
        kind: Kind::Number(0, 4_000_000_000),
        default: "20000000",
    },
    Key {
        table: "budget",
        name: "tokens_per_day",
        doc: "The most tokens that models may read and write for one sender a day.",
        kind: Kind::Number(0, 4_000_000_000),
        default: "2000000",
    },
    Key {
        table: "budget",
        name: "ask_above_micro",
        doc: "A call that costs more than this is asked for, in millionths.",
        kind: Kind::Number(0, 4_000_000_000),
        default: "100000",
    },
    Key {
        table: "budget",
        name: "warn_percent",
        doc: "From that part of a budget on you are warned, once; in percent.",
        kind: Kind::Number(1, 100),
        default: "80",
    },
    Key {
        table: "budget",
        name: "prices",
        doc: "What one call of an executor costs you, in millionths: \"web_search 5000\". All others cost nothing.",
        kind: Kind::Prices(64),
        default: "[]",
    },
    Key {
        table: "executors",
        name: "interpreter",
        doc: "The Python interpreter that executors run in, as an absolute path.",
        kind: Kind::Path,
        default: "\"/usr/bin/python3\"",
    },
    Key {
        table: "http",
        name: "listen",
        doc: "Where programs and pages of this machine speak to the door, over HTTP; \"\": nowhere. Port 0: any that is\n\
              # free, which `metnosctl status` names. For other machines put a proxy with TLS before it.",
        kind: Kind::Listen,
        default: "\"127.0.0.1:42618\"",
    },
    Key {
        table: "http",
        name: "per_minute",
        doc: "How many requests one client may make in a minute, and how many at once. It may have 1024 streams open.",
        kind: Kind::Number(1, 1_000_000),
        default: "300",
    },
    Key {
        table: "jail",
        name: "waive",
        doc: "Layers of the lock that may be missing where the kernel lacks them: landlock, seccomp, no_new_privs,\n\
              # caps, dumpable. `metnosctl status` shows what is waived.",
        kind: Kind::SomeOf(&["landlock", "seccomp", "no_new_privs", "caps", "dumpable"]),
        default: "[]",
    },
    Key {
        table: "memory",
        name: "calls_per_use_day",
        doc: "That many calls make a day of use: memory ages by use, not by the calendar.",
        kind: Kind::Number(1, 1_000_000),
        default: "50",
    },
    Key {
        table: "models",
        name: "substrates",
        doc: "Servers of language models, each a name, a kind (anthropic, openai, xai, ollama) and an address:\n\
              # \"claude anthropic https://api.anthropic.com\", \"local openai http://127.0.0.1:8080/v1\". Without any, Metnos\n\
              # answers by its reflex. Keys: `metnosctl models key NAME`.",
        kind: Kind::Substrates,
        default: "[]",
    },
    Key {
        table: "models",
        name: "interface",
        doc: "Who talks and plans: \"claude/claude-sonnet-4-5\". Who stands behind the first answers only when that cannot.",
        kind: Kind::Models,
        default: "[]",
    },
    Key {
        table: "models",
        name: "judge",
        doc: "Who weighs what Metnos would do of its own accord. Without one nothing of that kind is proposed by judgement.",
        kind: Kind::Models,
        default: "[]",
    },
    Key { table: "models", name: "synth", doc: "Who drafts new executors.", kind: Kind::Models, default: "[]" },
    Key { table: "models", name: "fast", doc: "Who classifies and summarises.", kind: Kind::Models, default: "[]" },
    Key { table: "models", name: "compiler", doc: "Who compiles memories.", kind: Kind::Models, default: "[]" },
    Key { table: "models", name: "orchestrator", doc: "Who divides long work.", kind: Kind::Models, default: "[]" },
    Key { table: "models", name: "scraper", doc: "Who reads pages.", kind: Kind::Models, default: "[]" },
    Key {
        table: "models",
        name: "reflection",
        doc: "Who looks back at what was done.",
        kind: Kind::Models,
        default: "[]",
    },
    Key {
        table: "models",
        name: "prices",
        doc: "What models cost from a day on, per million tokens read, written, and read again from a cache:\n\
              # \"claude/claude-sonnet-4-5 2026-10-01 3.00 15.00 0.30\". The newest that has begun counts; none: it costs nothing.",
        kind: Kind::ModelPrices,
        default: "[]",
    },
    Key {
        table: "models",
        name: "contexts",
        doc: "The most tokens that a model takes where its server does not say, whether it cannot call tools, and whether\n\
              # it is asked in short steps: \"local/qwen3 32768\", \"local/tiny 4096 no-tools\", \"local/small 8192 steps\".",
        kind: Kind::Contexts,
        default: "[]",
    },
    Key {
        table: "models",
        name: "parallel",
        doc: "The most thoughts of all conversations that one server is asked for at once.",
        kind: Kind::Number(1, 120),
        default: "16",
    },
    Key {
        table: "models",
        name: "first_seconds",
        doc: "How long a server may take until its reply begins.",
        kind: Kind::Number(1, 280),
        default: "120",
    },
    Key {
        table: "models",
        name: "between_seconds",
        doc: "How long a server may pause within a reply.",
        kind: Kind::Number(1, 280),
        default: "60",
    },
    Key {
        table: "net",
        name: "hosts",
        doc: "Hosts that may be read without asking, also after something untrusted was read: \"https://example.org\".",
        kind: Kind::Hosts(64),
        default: "[]",
    },
    Key {
        table: "net",
        name: "private",
        doc: "Addresses of your own network that a granted name may lead to, each with its port: \"192.168.1.10:443\".\n\
              # All other private addresses are refused, whatever a name says.",
        kind: Kind::Addresses(32),
        default: "[]",
    },
    Key {
        table: "net",
        name: "resolvers",
        doc: "Servers of names, as \"address:port\". Empty: those of the system.",
        kind: Kind::Addresses(3),
        default: "[]",
    },
    Key {
        table: "net",
        name: "ca_bundle",
        doc: "The certificate authorities that executors trust, as the absolute path of a file.",
        kind: Kind::Path,
        default: "\"/etc/ssl/certs/ca-certificates.crt\"",
    },
    Key {
        table: "policy",
        name: "calls_per_minute",
        doc: "The most calls that one sender may have decided in a minute.",
        kind: Kind::Number(1, 100_000),
        default: "120",
    },
    Key {
        table: "guests",
        name: "folders",
        doc: "Folders of the workspace that guests may read besides shared/, such as \"recipes\". Nothing else exists for them.",
        kind: Kind::GuestFolders,
        default: "[]",
    },
    Key {
        table: "sandbox",
        name: "home",
        doc: "What ~ stands for here and in what executors declare; \"\": the home of the owner's account.",
        kind: Kind::PathOrNone,
        default: "\"\"",
    },
    Key {
        table: "sandbox",
        name: "folders",
        doc: "Folders outside the workspace of which an executor may be granted something, to read: \"~/Pictures\",\n\
              # \"/srv/photos\". It must declare what it needs below one, and you approve it. Nothing closed can be listed.",
        kind: Kind::Folders,
        default: "[]",
    },
    Key {
        table: "sandbox",
        name: "writable",
        doc: "The same, to read and to write.",
        kind: Kind::Folders,
        default: "[]",
    },
    Key {
        table: "sandbox",
        name: "commands",
        doc: "Programs that an executor may be granted to run, by absolute path: the files themselves, no links. Each sees what its\n\
              # executor sees, and no network. This is the whole list: to add one, repeat these. [] for none. What changes here is\n\
              # shown by `metnosctl executor diff shell_run`, and approved by `metnosctl executor relock`.",
        kind: Kind::Programs,
        default: PROGRAMS,
    },
    Key {
        table: "sandbox",
        name: "program_data",
        doc: "Folders that such a program needs beside its libraries, each as \"PROGRAM FOLDER\": shown to be read where it runs.\n\
              # They lie below /usr/share/ or /usr/local/share/.",
        kind: Kind::ProgramData,
        default: "[\"/usr/bin/tesseract /usr/share/tesseract-ocr\"]",
    },
    Key {
        table: "supervisor",
        name: "uid_base",
        doc: "Started as root where the packaged users do not exist: the daemons get unused uids from here on.",
        kind: Kind::Number(1_000, MAX_UID - 4_096),
        default: "60600",
    },
    Key {
        table: "supervisor",
        name: "uid_count",
        doc: "How many uids belong to that range; one instance needs nine.",
        kind: Kind::Number(9, 4_096),
        default: "256",
    },
    Key {
        table: "synt",
        name: "dry_run",
        doc: "Whether executors that are drafted (`metnosctl synt run`) are only shown. false: one that passes its tests is put into\n\
              # the pool, where you look at it and sign it, or not: `metnosctl executor sign`.",
        kind: Kind::Flag,
        default: "true",
    },
    Key {
        table: "telegram",
        name: "api",
        doc: "Where the bot speaks to Telegram: its own servers, or one of yours. The bot is on when it has a token:\n# `metnosctl telegram token`.",
        kind: Kind::Server,
        default: "\"https://api.telegram.org\"",
    },
];

/// Where a value comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// Nobody set it.
    Default,
    /// That line of `metnos.toml`.
    Line(usize),
}

/// One line of `metnosctl config show`.
#[derive(Debug)]
pub struct Entry {
    /// The key.
    pub key: &'static Key,
    /// What is in force.
    pub value: Value,
    /// Where it was set.
    pub origin: Origin,
}

/// What is wrong with a configuration.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("metnos.toml, line {line}: {what}")]
pub struct ConfigError {
    /// Where, counted from 1.
    pub line: usize,
    /// What, for a person.
    pub what: String,
}

/// A configuration that is in order.
#[derive(Debug)]
pub struct Config {
    entries: Vec<Entry>,
}

impl Config {
    /// Reads a configuration; what it does not say has its default.
    ///
    /// # Errors
    /// At the first thing that is not in order: no TOML, an unknown key (with a suggestion), a value out of bounds.
    pub fn parse(text: &str) -> Result<Self, ConfigError> {
        let table = DeTable::parse(text).map_err(|error| ConfigError {
            line: line_of(text, error.span().map_or(0, |span| span.start)),
            what: error.message().to_owned(),
        })?;
        let mut set: Vec<(&'static Key, Value, usize)> = Vec::new();
        for (name, value) in table.get_ref() {
            let line = line_of(text, name.span().start);
            let DeValue::Table(inner) = value.get_ref() else {
                return Err(ConfigError { line, what: unknown_table(name.get_ref()) });
            };
            if !KEYS.iter().any(|key| key.table == name.get_ref()) {
                return Err(ConfigError { line, what: unknown_table(name.get_ref()) });
            }
            for (inner_name, value) in inner {
                set.push(read_key(text, name.get_ref(), inner_name, value)?);
            }
        }
        let entry = |key: &'static Key| match set.iter().position(|(other, ..)| std::ptr::eq(*other, key)) {
            Some(at) => {
                let (_, value, line) = set.swap_remove(at);
                Entry { key, value, origin: Origin::Line(line) }
            }
            None => Entry { key, value: default_of(key), origin: Origin::Default },
        };
        let config = Self { entries: KEYS.iter().map(entry).collect() };
        config.check_models()?;
        Ok(config)
    }

    /// Every key with what is in force and where it was set.
    #[must_use]
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// What the daemons receive, with folders still as they are written there. `directory_uid` owns the instance's directory.
    #[must_use]
    pub fn settings(&self, directory_uid: u32) -> Settings {
        Settings {
            owner_uid: self.owner_uid().unwrap_or(directory_uid),
            lang: if self.text("instance", "lang") == "it" { Lang::It } else { Lang::En },
            zone: zone::of_machine(Path::new("/etc/localtime"), Path::new("/usr/share/zoneinfo")),
            interpreter: self.text("executors", "interpreter").to_owned(),
            waive: self.list("jail", "waive"),
            calls_per_use_day: self.number("memory", "calls_per_use_day"),
            calls_per_minute: self.number("policy", "calls_per_minute"),
            net: NetSettings {
                hosts: self.list("net", "hosts"),
                private: self.list("net", "private"),
                resolvers: self.list("net", "resolvers"),
                ca_bundle: self.text("net", "ca_bundle").to_owned(),
            },
            budget: self.budget(),
            models: self.models(),
            http: HttpSettings {
                listen: self.text("http", "listen").to_owned(),
                per_minute: self.number("http", "per_minute"),
            },
            telegram_api: self.text("telegram", "api").to_owned(),
            folders: FolderSettings {
                home: self.text("sandbox", "home").to_owned(),
                read: self.list("sandbox", "folders"),
                write: self.list("sandbox", "writable"),
            },
            commands: self.list("sandbox", "commands"),
            program_data: self.list("sandbox", "program_data"),
            guest_folders: self.list("guests", "folders"),
            dry_run: self.number("synt", "dry_run") != 0,
        }
    }

    fn models(&self) -> ModelSettings {
        let of = |role: &str| RoleSetting { role: role.to_owned(), models: self.list("models", role) };
        ModelSettings {
            substrates: self.list("models", "substrates"),
            roles: models::ROLES.into_iter().map(of).filter(|role| !role.models.is_empty()).collect(),
            prices: self.list("models", "prices"),
            contexts: self.list("models", "contexts"),
            parallel: self.number("models", "parallel"),
            first_seconds: self.number("models", "first_seconds"),
            between_seconds: self.number("models", "between_seconds"),
        }
    }

    /// A role may only name substrates that there are, each of which has a name of its own.
    fn check_models(&self) -> Result<(), ConfigError> {
        let line = |name: &str| {
            let entry = self.entries.iter().find(|entry| entry.key.table == "models" && entry.key.name == name);
            match entry.map(|entry| entry.origin) {
                Some(Origin::Line(line)) => line,
                Some(Origin::Default) | None => 1,
            }
        };
        let known: Vec<String> = self
            .list("models", "substrates")
            .iter()
            .filter_map(|line| line.split_ascii_whitespace().next().map(str::to_owned))
            .collect();
        if let Some(twice) = known.iter().enumerate().find(|(at, name)| known[..*at].contains(name)) {
            let what = format!("models.substrates has two servers named {}", twice.1);
            return Err(ConfigError { line: line("substrates"), what });
        }
        for role in models::ROLES {
            let named = self.list("models", role);
            let foreign = named.iter().filter_map(|text| models::ModelName::parse(text));
            if let Some(model) = foreign.into_iter().find(|model| !known.contains(&model.substrate)) {
                let hint = suggestion(&model.substrate, known.iter().map(String::as_str));
                let what = format!(
                    "models.{role} names the substrate {}, which models.substrates has not{hint}",
                    model.substrate
                );
                return Err(ConfigError { line: line(role), what });
            }
        }
        Ok(())
    }

    fn budget(&self) -> BudgetSettings {
        let number = |name| self.number("budget", name);
        BudgetSettings {
            concurrent: number("concurrent"),
            calls_per_day: number("calls_per_day"),
            writes_per_day: number("writes_per_day"),
            turn_micro: number("turn_micro"),
            day_micro: number("day_micro"),
            month_micro: number("month_micro"),
            house_day_micro: number("house_day_micro"),
            house_month_micro: number("house_month_micro"),
            tokens_per_turn: number("tokens_per_turn"),
            tokens_per_month: number("tokens_per_month"),
            tokens_per_day: number("tokens_per_day"),
            ask_above_micro: number("ask_above_micro"),
            warn_percent: number("warn_percent"),
            prices: self.list("budget", "prices"),
        }
    }

    /// The owner, where the configuration names one.
    #[must_use]
    pub fn owner_uid(&self) -> Option<u32> {
        match self.value("instance", "owner_uid") {
            Value::Number(uid) => Some(*uid),
            Value::Text(_) | Value::List(_) => None,
        }
    }

    /// The range of uids for daemons: its first, and how many.
    #[must_use]
    pub fn uid_range(&self) -> (u32, u32) {
        (self.number("supervisor", "uid_base"), self.number("supervisor", "uid_count"))
    }

    fn value(&self, table: &str, name: &str) -> &Value {
        const NONE: &Value = &Value::List(Vec::new());
        self.entries
            .iter()
            .find(|entry| entry.key.table == table && entry.key.name == name)
            .map_or(NONE, |entry| &entry.value)
    }

    fn text(&self, table: &str, name: &str) -> &str {
        match self.value(table, name) {
            Value::Text(text) => text,
            Value::Number(_) | Value::List(_) => "",
        }
    }

    fn list(&self, table: &str, name: &str) -> Vec<String> {
        match self.value(table, name) {
            Value::List(list) => list.clone(),
            Value::Text(_) | Value::Number(_) => Vec::new(),
        }
    }

    fn number(&self, table: &str, name: &str) -> u32 {
        match self.value(table, name) {
            Value::Number(number) => *number,
            Value::Text(_) | Value::List(_) => 0,
        }
    }
}

fn read_key(
    text: &str,
    table: &str,
    name: &Spanned<std::borrow::Cow<'_, str>>,
    value: &Spanned<DeValue<'_>>,
) -> Result<(&'static Key, Value, usize), ConfigError> {
    let line = line_of(text, name.span().start);
    let key = KEYS
        .iter()
        .find(|key| key.table == table && key.name == name.get_ref())
        .ok_or_else(|| ConfigError { line, what: unknown_key(table, name.get_ref()) })?;
    let fits = fit(key.kind, value.get_ref())
        .ok_or_else(|| ConfigError { line, what: format!("{table}.{} must be {}", key.name, wanted(key.kind)) })?;
    Ok((key, fits, line))
}

/// The value, if it is what the kind asks for.
fn fit(kind: Kind, value: &DeValue<'_>) -> Option<Value> {
    match (kind, value) {
        (Kind::OneOf(words), DeValue::String(text)) => {
            words.contains(&text.as_ref()).then(|| Value::Text(text.clone().into_owned()))
        }
        (Kind::Path, DeValue::String(text)) => (text.starts_with('/') && !text.chars().any(char::is_control))
            .then(|| Value::Text(text.clone().into_owned())),
        (Kind::PathOrNone, DeValue::String(text)) => {
            let plain = matches!(PathGrant::parse(&format!("{text}/")), Some(PathGrant::Absolute(_)));
            (text.is_empty() || plain).then(|| Value::Text(text.clone().into_owned()))
        }
        (Kind::Number(least, most) | Kind::NumberOr(least, most, _), DeValue::Integer(number)) => {
            number_of(number).filter(|number| (least..=most).contains(number)).map(Value::Number)
        }
        (Kind::Flag, DeValue::Boolean(flag)) => Some(Value::Number(u32::from(*flag))),
        (Kind::NumberOr(_, _, word), DeValue::String(text)) => (text == word).then(|| Value::Text(word.to_owned())),
        (Kind::SomeOf(words), DeValue::Array(items)) => {
            list(items, usize::MAX, |text| words.contains(&text).then(|| text.to_owned()))
        }
        (Kind::Listen, DeValue::String(text)) => {
            let here = text.parse::<SocketAddr>().is_ok_and(|address| address.ip().is_loopback());
            (text.is_empty() || here).then(|| Value::Text(text.clone().into_owned()))
        }
        (Kind::Addresses(most), DeValue::Array(items)) => {
            list(items, most, |text| Some(text.parse::<SocketAddr>().ok()?.to_string()))
        }
        (Kind::Hosts(most), DeValue::Array(items)) => list(items, most, |text| {
            let (scheme, host) = text.split_once("://")?;
            let host = host.strip_suffix('/').unwrap_or(host);
            (matches!(scheme, "http" | "https") && is_host_name(host)).then(|| format!("{scheme}://{host}"))
        }),
        (Kind::Prices(most), DeValue::Array(items)) => list(items, most, |text| {
            let (name, micro) = text.split_once(' ')?;
            let micro: u32 = micro.parse().ok()?;
            is_name(name).then(|| format!("{name} {micro}"))
        }),
        (Kind::Server, DeValue::String(text)) => {
            let address = models::ServerAddress::parse(text);
            address.is_some().then(|| Value::Text(text.clone().into_owned()))
        }
        (Kind::Substrates, DeValue::Array(items)) => {
            list(items, models::MAX_SUBSTRATES, |text| valid_text(text, models::SubstrateLine::parse(text).is_some()))
        }
        (Kind::Models, DeValue::Array(items)) => {
            list(items, models::MAX_FALLBACKS, |text| valid_text(text, models::ModelName::parse(text).is_some()))
        }
        (Kind::ModelPrices, DeValue::Array(items)) => {
            list(items, models::MAX_LINES, |text| valid_text(text, models::PriceLine::parse(text).is_some()))
        }
        (Kind::Contexts, DeValue::Array(items)) => {
            list(items, models::MAX_LINES, |text| valid_text(text, models::ContextLine::parse(text).is_some()))
        }
        (Kind::Folders, DeValue::Array(items)) => list(items, outside::MAX_FOLDERS, |text| {
            let folder = format!("{}/", text.strip_suffix('/').unwrap_or(text));
            let outside = matches!(PathGrant::parse(&folder), Some(PathGrant::Home(_) | PathGrant::Absolute(_)));
            valid_text(folder.trim_end_matches('/'), outside)
        }),
        (Kind::GuestFolders, DeValue::Array(items)) => list(items, guests::MAX_FOLDERS, |text| {
            let folder = text.strip_suffix('/').unwrap_or(text);
            valid_text(folder, guests::refused(folder).is_none())
        }),
        (Kind::Programs, DeValue::Array(items)) => {
            list(items, commands::MAX_COMMANDS, |text| valid_text(text, commands::refused(text).is_none()))
        }
        (Kind::ProgramData, DeValue::Array(items)) => {
            list(items, commands::MAX_DATA, |text| valid_text(text, commands::ProgramData::read(text).is_some()))
        }
        _ => None,
    }
}

fn valid_text(text: &str, sound: bool) -> Option<String> {
    sound.then(|| text.to_owned())
}

/// The list, if it has at most so many entries and each is what is asked for.
fn list(items: &DeArray<'_>, most: usize, read: impl Fn(&str) -> Option<String>) -> Option<Value> {
    let entry = |item: &Spanned<DeValue<'_>>| match item.get_ref() {
        DeValue::String(text) => read(text),
        DeValue::Integer(_)
        | DeValue::Float(_)
        | DeValue::Boolean(_)
        | DeValue::Datetime(_)
        | DeValue::Array(_)
        | DeValue::Table(_) => None,
    };
    let list: Option<Vec<String>> = items.iter().map(entry).collect();
    list.filter(|list| list.len() <= most).map(Value::List)
}

fn number_of(number: &DeInteger<'_>) -> Option<u32> {
    u32::from_str_radix(number.as_str(), number.radix()).ok()
}

fn wanted(kind: Kind) -> String {
    match kind {
        Kind::OneOf(words) => format!("one of {}", words.join(", ")),
        Kind::Path => "an absolute path".to_owned(),
        Kind::PathOrNone => "an absolute path without `.`, `..` and a slash at its end, or \"\"".to_owned(),
        Kind::Number(least, most) => format!("a number from {least} to {most}"),
        Kind::Flag => "true or false".to_owned(),
        Kind::NumberOr(least, most, word) => format!("a number from {least} to {most}, or \"{word}\""),
        Kind::SomeOf(words) => format!("a list of some of {}", words.join(", ")),
        Kind::Listen => "an address of this machine such as \"127.0.0.1:42618\", or \"\"".to_owned(),
        Kind::Addresses(most) => format!("a list of at most {most} addresses such as \"192.168.1.10:443\""),
        Kind::Prices(most) => format!("a list of at most {most} prices such as \"web_search 5000\""),
        Kind::Hosts(most) => format!("a list of at most {most} hosts such as \"https://example.org\", without a path"),
        Kind::Server => "an address such as \"https://api.telegram.org\" or \"http://127.0.0.1:8081\"".to_owned(),
        Kind::Substrates => format!(
            "a list of at most {} servers such as \"local openai http://127.0.0.1:8080/v1\": a name, a kind ({}), an \
             address (this machine's is 127.0.0.1)",
            models::MAX_SUBSTRATES,
            models::Dialect::ALL.map(models::Dialect::name).join(", ")
        ),
        Kind::Models => {
            format!("a list of at most {} models such as \"local/qwen3\": SUBSTRATE/MODEL", models::MAX_FALLBACKS)
        }
        Kind::ModelPrices => format!(
            "a list of at most {} prices such as \"claude/claude-sonnet-4-5 2026-10-01 3.00 15.00 0.30\"",
            models::MAX_LINES
        ),
        Kind::Folders => format!(
            "a list of at most {} folders such as \"~/Pictures\" or \"/srv/photos\", without `.` and `..`",
            outside::MAX_FOLDERS
        ),
        Kind::GuestFolders => format!(
            "a list of at most {} folders of the workspace such as \"recipes\" or \"house/rules\", without hidden names",
            guests::MAX_FOLDERS
        ),
        Kind::Programs => format!(
            "a list of at most {} programs such as \"/usr/bin/wc\": absolute paths of plain names, in no closed place",
            commands::MAX_COMMANDS
        ),
        Kind::ProgramData => format!(
            "a list of at most {} folders such as \"/usr/bin/tesseract /usr/share/tesseract-ocr\": PROGRAM FOLDER, the folder \
             below /usr/share/ or /usr/local/share/",
            commands::MAX_DATA
        ),
        Kind::Contexts => format!("a list of at most {} lines such as \"local/qwen3 32768\"", models::MAX_LINES),
    }
}

fn default_of(key: &Key) -> Value {
    let parsed = DeValue::parse(key.default).ok();
    // The tests show that every default fits; a list is the one kind with a harmless stand-in.
    parsed.and_then(|value| fit(key.kind, value.get_ref())).unwrap_or(Value::List(Vec::new()))
}

fn unknown_table(name: &str) -> String {
    if let Some(key) = KEYS.iter().find(|key| key.name == name) {
        return format!("the key {name} belongs into [{}]", key.table);
    }
    let tables = KEYS.iter().map(|key| key.table);
    format!("there is no table [{}]{}", shown(name), suggestion(name, tables))
}

fn unknown_key(table: &str, name: &str) -> String {
    let here = KEYS.iter().filter(|key| key.table == table).map(|key| key.name);
    let mut hint = suggestion(name, here);
    if hint.is_empty() {
        hint = KEYS
            .iter()
            .find(|key| key.name == name)
            .map_or_else(String::new, |key| format!("; it belongs into [{}]", key.table));
    }
    format!("there is no key {} in [{table}]{hint}", shown(name))
}

/// A name as it may be shown on a terminal.
fn shown(name: &str) -> String {
    name.chars().filter(|c| !c.is_control()).take(60).collect()
}

fn suggestion<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> String {
    known
        .map(|candidate| (distance(name, candidate), candidate))
        .filter(|(distance, candidate)| *distance <= candidate.len().div_ceil(3) || name.starts_with(candidate))
        .min()
        .map_or_else(String::new, |(_, candidate)| format!("; did you mean {candidate}?"))
}

/// How many letters have to be added, removed or changed.
fn distance(one: &str, two: &str) -> usize {
    let two: Vec<char> = two.chars().collect();
    let mut row: Vec<usize> = (0..=two.len()).collect();
    for (i, a) in one.chars().take(100).enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, b) in two.iter().enumerate() {
            let changed = diagonal + usize::from(a != *b);
            diagonal = row[j + 1];
            row[j + 1] = changed.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[two.len()]
}

fn line_of(text: &str, offset: usize) -> usize {
    text.bytes().take(offset).filter(|byte| *byte == b'\n').count() + 1
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use proptest::prelude::*;

    fn error(text: &str) -> String {
        Config::parse(text).unwrap_err().to_string()
    }

    #[test]
    fn an_empty_file_gives_the_defaults() {
        let settings = Config::parse("").unwrap().settings(1000);
        assert_eq!(
            settings,
            Settings {
                owner_uid: 1000,
                lang: Lang::En,
                zone: zone::of_machine(Path::new("/etc/localtime"), Path::new("/usr/share/zoneinfo")),
                interpreter: "/usr/bin/python3".into(),
                waive: vec![],
                calls_per_use_day: 50,
                calls_per_minute: 120,
                net: NetSettings::default(),
                budget: BudgetSettings::default(),
                models: ModelSettings::default(),
                http: HttpSettings { listen: "127.0.0.1:42618".into(), per_minute: 300 },
                telegram_api: "https://api.telegram.org".into(),
                folders: FolderSettings::default(),
                commands: commands::DEFAULT.map(str::to_owned).to_vec(),
                program_data: commands::DEFAULT_DATA.map(str::to_owned).to_vec(),
                guest_folders: vec![],
                dry_run: true,
            }
        );
        assert_eq!(Config::parse("").unwrap().uid_range(), (60_600, 256));
    }

    #[test]
    fn every_default_fits_its_own_kind() {
        for key in KEYS {
            let value = DeValue::parse(key.default).unwrap();
            assert!(fit(key.kind, value.get_ref()).is_some(), "{}", key.name);
        }
    }

    /// The `metnos.toml` of a new instance: every key, its default and its meaning.
    fn template() -> String {
        let mut text = String::from(
            "# The configuration of this instance of Metnos. Every key is shown with its default;\n\
             # remove the # to change one. A change counts from the next start.\n",
        );
        let mut table = "";
        for key in KEYS {
            if key.table != table {
                table = key.table;
                text.push_str(&format!("\n[{table}]\n"));
            }
            text.push_str(&format!("# {}\n# {} = {}\n", key.doc, key.name, key.default));
        }
        text
    }

    #[test]
    fn the_example_names_every_key_with_its_default_and_its_meaning() {
        assert_eq!(include_str!("../../examples/metnos.toml"), template(), "examples/metnos.toml lags behind KEYS");
    }

    #[test]
    fn the_example_changes_nothing_and_is_valid_when_every_key_is_switched_on() {
        assert!(Config::parse(&template()).unwrap().entries().iter().all(|entry| entry.origin == Origin::Default));
        let on: String = template()
            .lines()
            .map(|line| match line.strip_prefix("# ") {
                Some(rest) if KEYS.iter().any(|key| rest.starts_with(&format!("{} = ", key.name))) => {
                    format!("{rest}\n")
                }
                _ => format!("{line}\n"),
            })
            .collect();
        let config = Config::parse(&on).unwrap();
        assert!(config.entries().iter().all(|entry| entry.origin != Origin::Default));
        assert_eq!(config.settings(5), Config::parse("").unwrap().settings(5));
    }

    #[test]
    fn setting_overrides_default_and_names_its_source() {
        let config = Config::parse(
            "[instance]\nlang = \"it\"\nowner_uid = 1001\n[jail]\nwaive = [\"landlock\"]\n[memory]\ncalls_per_use_day = 0x10\n",
        )
        .unwrap();
        let settings = config.settings(0);
        assert_eq!((settings.owner_uid, settings.lang, settings.calls_per_use_day), (1001, Lang::It, 16));
        assert_eq!(settings.waive, ["landlock"]);
        assert_eq!(config.entries()[1].origin, Origin::Line(3));
    }

    #[test]
    fn an_unknown_word_is_an_error_with_a_suggestion() {
        assert_eq!(
            error("[instance]\nlanguage = \"it\"\n"),
            "metnos.toml, line 2: there is no key language in [instance]; did you mean lang?"
        );
        assert_eq!(error("[memory]\nhalf_life = 1\n"), "metnos.toml, line 2: there is no key half_life in [memory]");
        assert_eq!(
            error("\n[jail]\nwaiv = []\n"),
            "metnos.toml, line 3: there is no key waiv in [jail]; did you mean waive?"
        );
        assert_eq!(error("[jial]\n"), "metnos.toml, line 1: there is no table [jial]; did you mean jail?");
        assert_eq!(
            error("[jail]\nuid_base = 70000\n"),
            "metnos.toml, line 2: there is no key uid_base in [jail]; it belongs into [supervisor]"
        );
        assert_eq!(error("lang = \"it\""), "metnos.toml, line 1: the key lang belongs into [instance]");
    }

    #[test]
    fn a_value_out_of_its_bounds_is_an_error_that_says_what_was_expected() {
        for (text, wanted) in [
            ("[instance]\nlang = \"de\"", "instance.lang must be one of en, it"),
            ("[executors]\ninterpreter = \"python3\"", "executors.interpreter must be an absolute path"),
            ("[memory]\ncalls_per_use_day = 0", "memory.calls_per_use_day must be a number from 1 to 1000000"),
            ("[memory]\ncalls_per_use_day = -1", "memory.calls_per_use_day must be a number from 1 to 1000000"),
            ("[memory]\ncalls_per_use_day = \"50\"", "memory.calls_per_use_day must be a number from 1 to 1000000"),
            ("[supervisor]\nuid_count = 8", "supervisor.uid_count must be a number from 9 to 4096"),
            ("[supervisor]\nuid_base = 0", "supervisor.uid_base must be a number from 1000 to 4294963197"),
            (
                "[jail]\nwaive = [\"seccmp\"]",
                "jail.waive must be a list of some of landlock, seccomp, no_new_privs, caps, dumpable",
            ),
        ] {
            assert_eq!(error(text), format!("metnos.toml, line 2: {wanted}"));
        }
        assert!(Config::parse("[supervisor]\nuid_base = 4294963197\nuid_count = 4096").is_ok());
    }

    #[test]
    fn role_with_unknown_substrate_is_refused_and_model_order_is_kept() {
        let one = "[models]\nsubstrates = [\"local openai http://127.0.0.1:8080/v1\"]\n";
        let config = Config::parse(&format!("{one}interface = [\"local/a\", \"local/b\"]\n")).unwrap();
        let models = config.settings(0).models;
        assert_eq!(
            models.roles,
            [RoleSetting { role: "interface".into(), models: vec!["local/a".into(), "local/b".into()] }]
        );
        assert_eq!(
            error(&format!("{one}judge = [\"locl/a\"]\n")),
            "metnos.toml, line 3: models.judge names the substrate locl, which models.substrates has not; did you mean local?"
        );
        let twice = "[models]\nsubstrates = [\"a openai http://127.0.0.1:1\", \"a ollama http://127.0.0.1:2\"]\n";
        assert_eq!(error(twice), "metnos.toml, line 2: models.substrates has two servers named a");
        assert!(error("[models]\nsubstrates = [\"a openai http://localhost:1\"]\n").contains("127.0.0.1"));
        assert!(error("[models]\nprices = [\"a/b yesterday 1 2\"]\n").contains("2026-10-01"));
    }

    #[test]
    fn invalid_toml_names_the_line() {
        assert!(error("[instance]\nlang = \n").starts_with("metnos.toml, line 2: "));
        assert!(error("[instance]\nlang = \"en\"\nlang = \"it\"\n").starts_with("metnos.toml, line 3: "));
    }

    #[test]
    fn the_names_of_layers_are_those_of_the_jail() {
        let key = KEYS.iter().find(|key| key.name == "waive").unwrap();
        let Kind::SomeOf(names) = key.kind else { panic!() };
        let mut ours = names.to_vec();
        let mut theirs = metnos_jail::Layer::names();
        ours.sort_unstable();
        theirs.sort_unstable();
        assert_eq!(ours, theirs);
    }

    proptest! {
        #[test]
        fn no_text_makes_reading_panic(text in "[a-z_=\\[\\]\"0-9\n. ]{0,200}") {
            let _ = Config::parse(&text);
        }
    }
}
