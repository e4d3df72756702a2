//! What is asked of a butler and nobody here does yet: reminders, mail, the weather and their like. The forms of asking for each kind
//! stand in `impossible.txt`. Whether an executor does such a thing after all is asked elsewhere, by its examples. Pure.

use std::sync::LazyLock;

const TABLE: &str = include_str!("impossible.txt");
/// The most words that `..` passes over.
const MAX_GAP: usize = 6;
/// The most words of a request that is compared.
const MAX_WORDS: usize = 40;
/// Words of what this instance does have: what speaks of them asks for something with them.
const OWN: &str = "file files note notes folder folders list lists document documents csv json workspace nota cartella cartelle lista liste \
    elenco elenchi documento documenti appunti appunto";
/// What sends things away, whatever they are.
const SENDS: &str = "send forward email mail manda invia spedisci inoltra";

/// A kind of thing that is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// Reminders, alarms and timers.
    Reminder,
    /// Mail.
    Mail,
    /// A calendar and what stands in it.
    Calendar,
    /// The weather.
    Weather,
    /// Music, videos, the radio.
    Music,
    /// Lights, heating and machines of the house.
    Home,
    /// Calls and messages.
    Phone,
    /// News and results of games.
    News,
    /// What costs money.
    Shopping,
    /// Ways, traffic, places nearby and when they open.
    Maps,
    /// What stands somewhere on the web.
    Search,
    /// Texts in another language.
    Translation,
    /// Jokes, stories, poems, games.
    Fun,
    /// What stands in an encyclopedia.
    Knowledge,
}

impl Kind {
    const ALL: [Self; 14] = [
        Self::Reminder,
        Self::Mail,
        Self::Calendar,
        Self::Weather,
        Self::Music,
        Self::Home,
        Self::Phone,
        Self::News,
        Self::Shopping,
        Self::Maps,
        Self::Search,
        Self::Translation,
        Self::Fun,
        Self::Knowledge,
    ];

    /// Its name in the table and in the texts.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Reminder => "reminder",
            Self::Mail => "mail",
            Self::Calendar => "calendar",
            Self::Weather => "weather",
            Self::Music => "music",
            Self::Home => "home",
            Self::Phone => "phone",
            Self::News => "news",
            Self::Shopping => "shopping",
            Self::Maps => "maps",
            Self::Search => "search",
            Self::Translation => "translation",
            Self::Fun => "fun",
            Self::Knowledge => "knowledge",
        }
    }

    /// Whether a language model can do it, also a small one.
    #[must_use]
    pub const fn is_for_models(self) -> bool {
        matches!(self, Self::Translation | Self::Fun | Self::Knowledge)
    }
}

/// A part of a form.
#[derive(Debug)]
enum Part {
    /// One of these words.
    Words(Vec<&'static str>),
    /// One of these, or nothing.
    Maybe(Vec<&'static str>),
    /// Any words, at most [`MAX_GAP`].
    Gap,
    /// No word.
    End,
}

#[derive(Debug)]
struct Forms {
    kind: Kind,
    forms: Vec<Vec<Part>>,
}

static FORMS: LazyLock<Vec<Forms>> = LazyLock::new(|| {
    let mut all: Vec<Forms> = Vec::new();
    for line in TABLE.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        if let Some(name) = line.strip_prefix('[').and_then(|line| line.strip_suffix(']'))
            && let Some(kind) = Kind::ALL.into_iter().find(|kind| kind.name() == name)
        {
            all.push(Forms { kind, forms: Vec::new() });
        } else if let Some(last) = all.last_mut() {
            last.forms.push(line.split_ascii_whitespace().flat_map(parts).collect());
        }
    }
    all
});

fn parts(text: &'static str) -> Vec<Part> {
    let one = match text {
        ".." => Part::Gap,
        "$" => Part::End,
        _ => match text.strip_prefix('[').and_then(|text| text.strip_suffix(']')) {
            Some(words) => Part::Maybe(words.split('|').collect()),
            None => match text.strip_suffix('$').filter(|words| !words.is_empty()) {
                Some(words) => return vec![Part::Words(words.split('|').collect()), Part::End],
                None => Part::Words(text.split('|').collect()),
            },
        },
    };
    vec![one]
}

fn fits(words: &[&'static str], said: Option<&&str>) -> bool {
    said.is_some_and(|said| words.iter().any(|word| *word == "*" || word == said))
}

/// Whether words begin with a form.
fn begins(form: &[Part], said: &[&str]) -> bool {
    let Some((part, rest)) = form.split_first() else { return true };
    match part {
        Part::Words(words) => fits(words, said.first()) && begins(rest, &said[1..]),
        Part::Maybe(words) => {
            words.contains(&"$") && said.is_empty()
                || fits(words, said.first()) && begins(rest, &said[1..])
                || begins(rest, said)
        }
        Part::Gap => (0..=MAX_GAP.min(said.len())).any(|gap| begins(rest, &said[gap..])),
        Part::End => said.is_empty(),
    }
}

/// The kind of thing that words ask for, whether or not anybody here does it. `said` are the words of a request in small letters
/// without accents, without the politeness around them.
#[must_use]
pub fn kind_of(said: &[&str]) -> Option<Kind> {
    if said.is_empty() || said.len() > MAX_WORDS {
        return None;
    }
    let is_one_of = |word: &str, all: &str| all.split_ascii_whitespace().any(|known| known == word);
    let sends = is_one_of(said[0], SENDS);
    if !sends && said.iter().any(|word| is_one_of(word, OWN) || word.contains(['/', '.'])) {
        return None;
    }
    FORMS.iter().find(|forms| forms.forms.iter().any(|form| begins(form, said))).map(|forms| forms.kind)
}

#[cfg(test)]
#[path = "impossible_tests.rs"]
mod tests;
