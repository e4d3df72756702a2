//! What Metnos says to people, in English and Italian (design: interfaces §8). The texts stand in `texts/*.ftl`, which are
//! [Fluent](https://projectfluent.org) files, so that who translates needs no compiler; the program names them by [`Key`],
//! so that who programs cannot name one that there is not.
//!
//! A test compares both files with the keys: a message that is missing, left over, or has other variables fails it.

pub mod card;
mod keys;
pub mod plain;

use std::cell::OnceCell;

use fluent_bundle::{FluentArgs, FluentBundle, FluentResource, FluentValue};
use metnos_proto::msg::common::{Lang, Refusal};

pub use keys::Key;

/// Something that stands in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Value<'a> {
    /// As it is.
    Text(&'a str),
    /// A number, which may choose between singular and plural.
    Number(u64),
}

impl<'a> From<&'a str> for Value<'a> {
    fn from(text: &'a str) -> Self {
        Self::Text(text)
    }
}

impl<'a> From<&'a String> for Value<'a> {
    fn from(text: &'a String) -> Self {
        Self::Text(text)
    }
}

impl From<u64> for Value<'_> {
    fn from(number: u64) -> Self {
        Self::Number(number)
    }
}

/// The language that a tag such as `it-IT`, or the first one of a list such as a browser sends, names: if it is one of ours.
#[must_use]
pub fn of_tag(tags: &str) -> Option<Lang> {
    let first = tags.split([',', ';']).next()?.trim();
    let name = first.split(['-', '_']).next()?;
    [("en", Lang::En), ("it", Lang::It)]
        .into_iter()
        .find(|(ours, _)| name.eq_ignore_ascii_case(ours))
        .map(|(_, lang)| lang)
}

/// Why a person was refused, and what to do, in plain sentences: as the language has it for that rule, else in the words of
/// the daemon that said it. The rule itself is for programs and not in it.
#[must_use]
pub fn refusal(lang: Lang, refusal: &Refusal) -> String {
    match known(lang, refusal) {
        Some(known) => plain::sentence(&known),
        None => [plain::sentence(&refusal.why), plain::sentence(&refusal.remedy)].join(" ").trim().to_owned(),
    }
}

/// The same for the inside of a sentence, behind a colon: it ends without a full stop.
#[must_use]
pub fn because(lang: Lang, refusal: &Refusal) -> String {
    let own = || [refusal.why.as_str(), &refusal.remedy].map(|text| text.trim_end_matches('.')).join("; ");
    known(lang, refusal).unwrap_or_else(own).trim_end_matches([' ', ';', '.']).to_owned()
}

/// What the language has for the rule.
fn known(lang: Lang, refusal: &Refusal) -> Option<String> {
    let rule = refusal.rule.replace('.', "-");
    let known = tell(lang, Key::Refusal, &[("rule", (&rule).into())]);
    (known != rule).then_some(known)
}

/// The texts of a language, as they stand in its file.
const fn source(lang: Lang) -> &'static str {
    match lang {
        Lang::En => include_str!("../texts/en.ftl"),
        Lang::It => include_str!("../texts/it.ftl"),
    }
}

type Texts = OnceCell<FluentBundle<FluentResource>>;

thread_local! {
    // Read when something is first said in that language: a daemon that says nothing holds no texts.
    static ENGLISH: Texts = const { OnceCell::new() };
    static ITALIAN: Texts = const { OnceCell::new() };
}

fn load(lang: Lang) -> FluentBundle<FluentResource> {
    let (name, source) = (if lang == Lang::En { "en" } else { "it" }, source(lang));
    // A test sees to it that nothing of a file is left out; here what can be read is.
    let resource = FluentResource::try_new(source.to_owned()).unwrap_or_else(|(resource, _)| resource);
    let mut texts = FluentBundle::new(name.parse().into_iter().collect());
    // Invisible marks around what is put in would be copied along with a path or a command.
    texts.set_use_isolating(false);
    // Numbers are counts, shown as they are: a thousand has no dot.
    texts.set_formatter(Some(|value, _| match value {
        FluentValue::Number(number) => Some(number.value.to_string()),
        FluentValue::String(_) | FluentValue::Custom(_) | FluentValue::None | FluentValue::Error => None,
    }));
    texts.add_resource_overriding(resource);
    texts
}

fn with<T>(lang: Lang, then: impl FnOnce(&FluentBundle<FluentResource>) -> T) -> T {
    match lang {
        Lang::En => ENGLISH.with(|texts| then(texts.get_or_init(|| load(lang)))),
        Lang::It => ITALIAN.with(|texts| then(texts.get_or_init(|| load(lang)))),
    }
}

/// The text of a key that holds nothing else.
#[must_use]
pub fn say(lang: Lang, key: Key) -> String {
    tell(lang, key, &[])
}

/// The text of a key with what stands in it, by name.
#[must_use]
pub fn tell(lang: Lang, key: Key, with_values: &[(&str, Value<'_>)]) -> String {
    debug_assert!(
        key.variables().len() == with_values.len()
            && key.variables().iter().all(|name| with_values.iter().any(|(given, _)| given == name)),
        "{key:?} takes {:?}",
        key.variables()
    );
    let mut values = FluentArgs::with_capacity(with_values.len());
    for (name, value) in with_values {
        match value {
            Value::Text(text) => values.set(*name, *text),
            Value::Number(number) => values.set(*name, *number),
        }
    }
    with(lang, |texts| {
        let Some(pattern) = texts.get_message(key.name()).and_then(|message| message.value()) else {
            return key.name().to_owned();
        };
        texts.format_pattern(pattern, Some(&values), &mut Vec::new()).into_owned()
    })
}

#[cfg(test)]
mod tests;
