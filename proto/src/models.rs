//! How language models stand in `metnos.toml`: one line a substrate, a model, a price, a context. Read by the supervisor,
//! which refuses what it does not understand, and by mind, which works with it; no secret stands in any of them.

use std::fmt;
use std::net::IpAddr;

use metnos_calendar::Day;

use crate::executor::is_host_name;

/// The roles that a model may have (design: mind §1).
pub const ROLES: [&str; 8] =
    ["interface", "judge", "synth", "fast", "compiler", "orchestrator", "scraper", "reflection"];
/// The most substrates of an instance.
pub const MAX_SUBSTRATES: usize = 16;
/// The most models of one role: the first, and those in its place.
pub const MAX_FALLBACKS: usize = 8;
/// The most lines of prices, and of contexts.
pub const MAX_LINES: usize = 256;
/// The longest name of a substrate, in bytes.
pub const MAX_SUBSTRATE_NAME: usize = 32;
/// The longest name of a model at its server, in bytes.
pub const MAX_MODEL_NAME: usize = 128;
/// The longest path of a server's address, in bytes.
const MAX_PATH: usize = 200;
/// The largest context, in tokens.
const MAX_CONTEXT: u32 = 100_000_000;

/// The language a model's server speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    /// Anthropic's messages.
    Anthropic,
    /// OpenAI's chat completions, which many others speak.
    OpenAi,
    /// The same as xAI has them.
    Xai,
    /// Ollama's own.
    Ollama,
}

impl Dialect {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Anthropic, Self::OpenAi, Self::Xai, Self::Ollama];

    /// As it stands in the configuration.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Anthropic => "anthropic",
            Self::OpenAi => "openai",
            Self::Xai => "xai",
            Self::Ollama => "ollama",
        }
    }
}

/// The host of a server's address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Host {
    /// A name, which is looked up.
    Name(String),
    /// An address, as it is.
    Address(IpAddr),
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => f.write_str(name),
            Self::Address(IpAddr::V4(address)) => write!(f, "{address}"),
            Self::Address(IpAddr::V6(address)) => write!(f, "[{address}]"),
        }
    }
}

/// A server of models: `NAME KIND URL`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SubstrateLine {
    /// Its name here.
    pub name: String,
    /// What it speaks.
    pub tongue: Dialect,
    /// Where it is.
    pub server: ServerAddress,
}

/// Where a server is, as the owner writes it down: `https://NAME[:PORT][/PATH]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerAddress {
    /// Whether the way there is encrypted.
    pub tls: bool,
    /// Where it is.
    pub host: Host,
    /// On which port.
    pub port: u16,
    /// What stands before every path, without a slash at its end.
    pub path: String,
}

impl ServerAddress {
    /// Reads an address.
    #[must_use]
    pub fn parse(url: &str) -> Option<Self> {
        let (tls, rest) = match url.split_once("://")? {
            ("https", rest) => (true, rest),
            ("http", rest) => (false, rest),
            _ => return None,
        };
        let (place, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
        let (host, port) = host_and_port(place)?;
        let path = path.trim_end_matches('/');
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'/' | b'-' | b'_' | b'.');
        let sound = path.len() <= MAX_PATH && path.bytes().all(plain) && !path.contains("..");
        let port = port.unwrap_or(if tls { 443 } else { 80 });
        (sound && port != 0).then(|| Self { tls, host, port, path: path.to_owned() })
    }

    /// The address, as it is written back.
    #[must_use]
    pub fn url(&self) -> String {
        let scheme = if self.tls { "https" } else { "http" };
        format!("{scheme}://{}:{}{}", self.host, self.port, self.path)
    }
}

/// Whether this can be a substrate's name.
#[must_use]
pub fn is_substrate_name(name: &str) -> bool {
    (1..=MAX_SUBSTRATE_NAME).contains(&name.len())
        && name.starts_with(|first: char| first.is_ascii_lowercase())
        && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'-' | b'_'))
}

impl SubstrateLine {
    /// Reads `NAME KIND URL`.
    #[must_use]
    pub fn parse(line: &str) -> Option<Self> {
        let [name, kind, url] = words(line)?;
        let tongue = Dialect::ALL.into_iter().find(|tongue| tongue.name() == kind)?;
        let server = ServerAddress::parse(url)?;
        is_substrate_name(name).then(|| Self { name: name.to_owned(), tongue, server })
    }
}

fn host_and_port(place: &str) -> Option<(Host, Option<u16>)> {
    let port = |text: &str| match text.strip_prefix(':') {
        None => text.is_empty().then_some(None),
        Some(digits) => digits.bytes().all(|byte| byte.is_ascii_digit()).then_some(Some(digits.parse().ok()?)),
    };
    if let Some(rest) = place.strip_prefix('[') {
        let (address, rest) = rest.split_once(']')?;
        return Some((Host::Address(IpAddr::V6(address.parse().ok()?)), port(rest)?));
    }
    let (host, rest) = place.split_at(place.find(':').unwrap_or(place.len()));
    let port = port(rest)?;
    match host.parse() {
        Ok(address) => Some((Host::Address(IpAddr::V4(address)), port)),
        Err(_) => is_host_name(host).then(|| (Host::Name(host.to_owned()), port)),
    }
}

/// A model: `SUBSTRATE/MODEL`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ModelName {
    /// The substrate.
    pub substrate: String,
    /// What its server calls the model.
    pub model: String,
}

impl ModelName {
    /// Reads `SUBSTRATE/MODEL`. A model's own name may have slashes in it.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (substrate, model) = text.split_once('/')?;
        (is_substrate_name(substrate) && is_model_name(model))
            .then(|| Self { substrate: substrate.to_owned(), model: model.to_owned() })
    }
}

/// Whether a server may call a model that.
#[must_use]
pub fn is_model_name(model: &str) -> bool {
    (1..=MAX_MODEL_NAME).contains(&model.len()) && model.bytes().all(|byte| byte.is_ascii_graphic())
}

impl fmt::Display for ModelName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.substrate, self.model)
    }
}

/// What a model costs from a day on: `SUBSTRATE/MODEL YYYY-MM-DD IN OUT [CACHED]`, each per million tokens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PriceLine {
    /// Which model.
    pub model: ModelName,
    /// From this day on, as days since 1970-01-01.
    pub from_day: u32,
    /// Tokens read, in millionths of the currency per million tokens; so are the others.
    pub micro_in: u64,
    /// Tokens written.
    pub micro_out: u64,
    /// Tokens that the server had read before.
    pub micro_cached: u64,
}

impl PriceLine {
    /// Reads a line. Without its last number, what was read before costs what is read again.
    #[must_use]
    pub fn parse(line: &str) -> Option<Self> {
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        let [model, day, prices @ ..] = words.as_slice() else { return None };
        let (into, out, cached) = match prices {
            [into, out] => (into, out, into),
            [into, out, cached] => (into, out, cached),
            _ => return None,
        };
        Some(Self {
            model: ModelName::parse(model)?,
            from_day: Day::parse(day)?.0,
            micro_in: micro(into)?,
            micro_out: micro(out)?,
            micro_cached: micro(cached)?,
        })
    }
}

/// A sum of money as a person writes it, in millionths: `0.25` is 250,000.
fn micro(text: &str) -> Option<u64> {
    let (whole, part) = text.split_once('.').unwrap_or((text, "0"));
    let digits = |text: &str, most: usize| {
        (!text.is_empty() && text.len() <= most && text.bytes().all(|byte| byte.is_ascii_digit())).then_some(())
    };
    digits(whole, 9)?;
    digits(part, 6)?;
    let part: u64 = format!("{part:0<6}").parse().ok()?;
    whole.parse::<u64>().ok()?.checked_mul(1_000_000)?.checked_add(part)
}

/// What a model takes: `SUBSTRATE/MODEL TOKENS [no-tools] [steps|no-steps]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContextLine {
    /// Which model.
    pub model: ModelName,
    /// The most tokens of a prompt and its reply together.
    pub tokens: u32,
    /// Whether it calls tools in its server's own way.
    pub tools: bool,
    /// Whether it is asked in short steps, each held to a schema; `None` where mind is to find out.
    pub steps: Option<bool>,
}

impl ContextLine {
    /// Reads a line.
    #[must_use]
    pub fn parse(line: &str) -> Option<Self> {
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        let [model, tokens, options @ ..] = words.as_slice() else { return None };
        let (tools, options) = match options {
            ["no-tools", rest @ ..] => (false, rest),
            all => (true, all),
        };
        let steps = match options {
            [] => None,
            ["steps"] => Some(true),
            ["no-steps"] => Some(false),
            _ => return None,
        };
        let tokens = tokens.parse().ok().filter(|tokens| (1..=MAX_CONTEXT).contains(tokens))?;
        Some(Self { model: ModelName::parse(model)?, tokens, tools, steps })
    }
}

fn words<const N: usize>(line: &str) -> Option<[&str; N]> {
    line.split_ascii_whitespace().collect::<Vec<_>>().try_into().ok()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_substrate_is_a_name_a_kind_and_an_address_and_nothing_more() {
        let line = SubstrateLine::parse("local openai http://127.0.0.1:8080/v1/").unwrap();
        assert_eq!(
            (line.name.as_str(), line.tongue, line.server.tls, line.server.port),
            ("local", Dialect::OpenAi, false, 8080)
        );
        assert_eq!(line.server.url(), "http://127.0.0.1:8080/v1");
        let line = SubstrateLine::parse("claude anthropic https://api.anthropic.com").unwrap();
        assert_eq!((line.server.port, line.server.path.as_str()), (443, ""));
        assert_eq!(SubstrateLine::parse("six ollama http://[::1]:11434").unwrap().server.url(), "http://[::1]:11434");
        for bad in [
            "",
            "local openai",
            "local openai http://127.0.0.1:8080 more",
            "Local openai http://127.0.0.1",
            "local other http://127.0.0.1",
            "local openai ftp://127.0.0.1",
            "local openai http://user:word@example.org",
            "local openai http://localhost:11434",
            "local openai http://example.org?key=1",
            "local openai http://example.org/a/../b",
            "local openai http://example.org:0",
            "local openai http://example.org:70000",
            "local openai http://example.org:+80",
            "local openai http://[::1",
        ] {
            assert_eq!(SubstrateLine::parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn a_price_has_a_day_of_the_calendar_and_money_to_the_millionth() {
        let line = PriceLine::parse("claude/c-4 2026-10-01 3 15.00 0.300001").unwrap();
        assert_eq!((line.micro_in, line.micro_out, line.micro_cached), (3_000_000, 15_000_000, 300_001));
        assert_eq!(line.from_day, 20_727);
        assert_eq!(PriceLine::parse("a/b 1970-01-01 1 2").unwrap().micro_cached, 1_000_000);
        assert_eq!(PriceLine::parse("a/b 2024-02-29 1 2").unwrap().from_day, 19_782);
        for bad in [
            "a/b 2026-02-29 1 2",
            "a/b 2026-13-01 1 2",
            "a/b 2026-1-01 1 2",
            "a/b 1969-12-31 1 2",
            "a/b 2026-01-01 1",
            "a/b 2026-01-01 1 -2",
            "a/b 2026-01-01 1 0.1234567",
            "a/b 2026-01-01 1 2 3 4",
            "ab 2026-01-01 1 2",
        ] {
            assert_eq!(PriceLine::parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn a_models_own_name_may_have_slashes() {
        let name = ModelName::parse("router/meta/llama-3:free").unwrap();
        assert_eq!((name.substrate.as_str(), name.model.as_str()), ("router", "meta/llama-3:free"));
        assert_eq!(ModelName::parse("router/"), None);
        assert_eq!(ModelName::parse("router/two words"), None);
        let line = ContextLine::parse("local/tiny 4096 no-tools").unwrap();
        assert_eq!((line.tokens, line.tools, line.steps), (4096, false, None));
        let steps = |text: &str| ContextLine::parse(text).map(|line| (line.tools, line.steps));
        assert_eq!(steps("local/tiny 4096 steps"), Some((true, Some(true))));
        assert_eq!(steps("local/tiny 4096 no-tools no-steps"), Some((false, Some(false))));
        for bad in ["local/tiny 0", "local/tiny 9 steps no-steps", "local/tiny 9 steps no-tools", "local/tiny 9 more"] {
            assert_eq!(ContextLine::parse(bad), None, "{bad}");
        }
    }

    proptest! {
        #[test]
        fn any_line_is_read_without_a_panic(line in "\\PC{0,60}") {
            let _ = (SubstrateLine::parse(&line), PriceLine::parse(&line), ContextLine::parse(&line), ModelName::parse(&line));
        }

        #[test]
        fn substrate_line_round_trips(name in "[a-z][a-z0-9_-]{0,8}", host in "[a-z]{1,8}\\.[a-z]{2,4}", port in 1_u16.., tls: bool) {
            let scheme = if tls { "https" } else { "http" };
            let line = SubstrateLine::parse(&format!("{name} xai {scheme}://{host}:{port}/v1")).unwrap();
            prop_assert_eq!(SubstrateLine::parse(&format!("{name} xai {}", line.server.url())).unwrap(), line);
        }
    }
}
