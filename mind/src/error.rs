//! Why a thought has no end, or a server no answer. What it says is for a person; of a server's own words at most a
//! line is repeated, made harmless.

use std::time::Duration;

/// The longest piece of a server's words that is repeated, in characters.
const MAX_QUOTED: usize = 200;

/// What kind of failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    /// No connection came about.
    Unreachable,
    /// The server took too long to begin, or paused too long.
    Late,
    /// The server wants to be asked less often.
    Limited,
    /// The server is at its limits, or has an error of its own.
    Overloaded,
    /// The server does not take the key, or wants one.
    Key,
    /// The server has no such model, or not any more.
    Stale,
    /// The server does not take this request.
    Rejected,
    /// What came is no reply.
    Broken,
    /// What came is more than a reply may be.
    TooMuch,
}

impl Class {
    /// In a word, as it stands in records.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Unreachable => "unreachable",
            Self::Late => "late",
            Self::Limited => "limited",
            Self::Overloaded => "overloaded",
            Self::Key => "key",
            Self::Stale => "stale",
            Self::Rejected => "rejected",
            Self::Broken => "broken",
            Self::TooMuch => "too_much",
        }
    }

    /// Whether asking again may help, when nothing was produced yet.
    #[must_use]
    pub const fn passes(self) -> bool {
        matches!(self, Self::Unreachable | Self::Limited | Self::Overloaded | Self::Broken)
    }
}

/// A failure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CompletionError {
    /// What kind.
    pub class: Class,
    /// In a sentence.
    pub why: String,
    /// How long the server wants to be left alone.
    pub after: Option<Duration>,
}

impl CompletionError {
    /// A failure.
    #[must_use]
    pub fn new(class: Class, why: impl Into<String>) -> Self {
        Self { class, why: why.into(), after: None }
    }

    /// What came is no reply.
    #[must_use]
    pub fn broken(why: impl Into<String>) -> Self {
        Self::new(Class::Broken, why)
    }

    /// What came is more than a reply may be.
    #[must_use]
    pub fn too_much(what: &str, most: usize) -> Self {
        Self::new(Class::TooMuch, format!("{what} of the server is larger than {most}"))
    }
}

impl std::fmt::Display for CompletionError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.why)
    }
}

/// A server's words, short and without anything a terminal would obey.
#[must_use]
pub fn quoted(text: &str) -> String {
    let harmless = |c: char| {
        !c.is_control() && !matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    let mut quoted: String = text.chars().filter(|c| harmless(*c)).take(MAX_QUOTED).collect();
    if text.chars().nth(MAX_QUOTED).is_some() {
        quoted.push('…');
    }
    quoted
}
