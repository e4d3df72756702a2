//! What the owner has configured: substrates, which model serves which role, what each costs and takes. Never guessed:
//! a role without a model has none.

use std::collections::BTreeMap;

use metnos_proto::control::ModelSettings;
use metnos_proto::models::{ContextLine, Dialect, ModelName, PriceLine, ROLES, SubstrateLine};
use metnos_proto::msg::mind::Usage;

use crate::format::accumulator::Counted;

/// Prices are for so many tokens.
const PER: u128 = 1_000_000;
/// Milliseconds of a day.
const DAY_MS: u64 = 86_400_000;
/// Tokens that a model takes where nobody has said, by what its server speaks: those of each provider's smallest
/// current model; a server of one's own is presumed small, and one that makes room for as much as it is asked for, smaller.
const fn usual_context(tongue: Dialect, original: bool) -> u32 {
    match tongue {
        Dialect::Anthropic => 200_000,
        Dialect::Xai => 128_000,
        Dialect::OpenAi if original => 128_000,
        Dialect::OpenAi => 32_768,
        Dialect::Ollama => 8_192,
    }
}

/// What a server says of one of its models, as far as it does.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ModelFeatures {
    /// The most tokens of prompt and reply together.
    pub context: Option<u32>,
    /// Whether it calls tools.
    pub tools: Option<bool>,
    /// Whether the server holds a reply to a schema.
    pub constrained: Option<bool>,
    /// How many parameters it has.
    pub parameters: Option<u64>,
}

/// What a model takes, as far as anybody knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ModelTraits {
    /// The most tokens of prompt and reply together.
    pub context: u32,
    /// Whether it calls tools in its server's own way.
    pub tools: bool,
    /// Whether it is asked in short steps, each held to a schema.
    pub constrained: bool,
}

/// A model of more parameters is none to be asked in steps, unless the owner says so.
pub const MAX_SMALL: u64 = 16_000_000_000;

/// The configuration of models.
#[derive(Debug, Clone, Default)]
pub struct Registry {
    /// The substrates, in the owner's order.
    pub substrates: Vec<SubstrateLine>,
    /// The models of each role that has one: the first, and those in its place.
    pub roles: BTreeMap<String, Vec<ModelName>>,
    prices: Vec<PriceLine>,
    contexts: Vec<ContextLine>,
}

impl Registry {
    /// Reads the settings, which the supervisor has looked through.
    ///
    /// # Errors
    /// In a sentence, when they do not hold together all the same.
    pub fn read(settings: &ModelSettings) -> Result<Self, String> {
        let refused = |what: &str, line: &String| format!("models: {what} `{line}` is none");
        let lines = settings.substrates.iter();
        let substrates: Vec<SubstrateLine> = lines
            .map(|line| SubstrateLine::parse(line).ok_or_else(|| refused("the substrate", line)))
            .collect::<Result<_, _>>()?;
        let known = |name: &ModelName| substrates.iter().any(|line| line.name == name.substrate);
        let mut roles = BTreeMap::new();
        for setting in &settings.roles {
            let model = |text: &String| ModelName::parse(text).filter(known).ok_or_else(|| refused("the model", text));
            let models: Vec<ModelName> = setting.models.iter().map(model).collect::<Result<_, _>>()?;
            if !ROLES.contains(&setting.role.as_str()) {
                return Err(refused("the role", &setting.role));
            }
            if !models.is_empty() {
                roles.insert(setting.role.clone(), models);
            }
        }
        let price = |line: &String| PriceLine::parse(line).ok_or_else(|| refused("the price", line));
        let context = |line: &String| ContextLine::parse(line).ok_or_else(|| refused("the context", line));
        Ok(Self {
            roles,
            prices: settings.prices.iter().map(price).collect::<Result<_, _>>()?,
            contexts: settings.contexts.iter().map(context).collect::<Result<_, _>>()?,
            substrates,
        })
    }

    /// The substrate of a model.
    #[must_use]
    pub fn substrate(&self, name: &str) -> Option<&SubstrateLine> {
        self.substrates.iter().find(|line| line.name == name)
    }

    /// What the owner says that a model takes.
    #[must_use]
    pub fn context(&self, model: &ModelName) -> Option<&ContextLine> {
        self.contexts.iter().find(|line| line.model == *model)
    }

    /// What is known of a model: the owner's word, else the server's, else the usual.
    #[must_use]
    pub fn takes(&self, model: &ModelName, said: Option<ModelFeatures>) -> ModelTraits {
        let said = said.unwrap_or_default();
        let line = self.context(model);
        let usual =
            self.substrate(&model.substrate).map_or(8_192, |line| usual_context(line.tongue, is_original(line)));
        let small = said.parameters.is_none_or(|count| count <= MAX_SMALL);
        let found = said.constrained.unwrap_or(false) && small;
        ModelTraits {
            context: line.map_or_else(|| said.context.unwrap_or(usual), |line| line.tokens),
            tools: line.map_or_else(|| said.tools.unwrap_or(true), |line| line.tools),
            constrained: line.and_then(|line| line.steps).unwrap_or(found),
        }
    }

    /// The price of a model at a time, in milliseconds since the epoch: the newest whose day has begun.
    #[must_use]
    pub fn price(&self, model: &ModelName, now_ms: u64) -> Option<&PriceLine> {
        let day = now_ms / DAY_MS;
        let begun = self.prices.iter().filter(|line| line.model == *model && u64::from(line.from_day) <= day);
        // Of two lines for one day the later one counts.
        begun.max_by_key(|line| line.from_day)
    }

    /// What so many tokens of a model cost, in millionths, rounded up; 0 where the owner names no price.
    #[must_use]
    pub fn cost(&self, model: &ModelName, now_ms: u64, tokens_in: u64, cached: u64, tokens_out: u64) -> u64 {
        let Some(price) = self.price(model, now_ms) else { return 0 };
        let fresh = u128::from(tokens_in.saturating_sub(cached)).checked_mul(price.micro_in.into());
        let cached = u128::from(cached.min(tokens_in)).checked_mul(price.micro_cached.into());
        let written = u128::from(tokens_out).checked_mul(price.micro_out.into());
        let sum =
            fresh.zip(cached).and_then(|(a, b)| a.checked_add(b)).zip(written).and_then(|(a, b)| a.checked_add(b));
        // What cannot be reckoned is more than anybody has.
        sum.and_then(|sum| u64::try_from(sum.div_ceil(PER)).ok()).unwrap_or(u64::MAX)
    }

    /// What a thought took: by the server's word, and where it gave none by the bytes.
    #[must_use]
    pub fn usage(&self, model: &ModelName, now_ms: u64, counted: Counted, sent: usize, written: usize) -> Usage {
        // A server that counts nothing where there was something gives no count.
        let of = |said: Option<u64>, bytes: usize| said.filter(|tokens| *tokens > 0 || bytes == 0);
        let (read, told) = (of(counted.tokens_in, sent), of(counted.tokens_out, written));
        let tokens_in = read.unwrap_or_else(|| tokens_of(sent));
        let cached = counted.cached.min(tokens_in);
        let tokens_out = told.unwrap_or_else(|| tokens_of(written));
        Usage {
            tokens_in,
            tokens_cached: cached,
            tokens_out,
            micro: self.cost(model, now_ms, tokens_in, cached, tokens_out),
            counted: read.is_some() && told.is_some(),
        }
    }
}

/// Whether this is OpenAI's own server.
#[must_use]
pub fn is_original(line: &SubstrateLine) -> bool {
    line.tongue == Dialect::OpenAi && line.server.host.to_string() == "api.openai.com"
}

/// How many tokens so many bytes are likely to be: hardly any text has more than one in three bytes.
#[must_use]
pub fn tokens_of(bytes: usize) -> u64 {
    u64::try_from(bytes.div_ceil(3)).unwrap_or(u64::MAX)
}

/// Two usages of one thought together.
#[must_use]
pub fn together(one: &Usage, two: &Usage) -> Usage {
    Usage {
        tokens_in: one.tokens_in.saturating_add(two.tokens_in),
        tokens_cached: one.tokens_cached.saturating_add(two.tokens_cached),
        tokens_out: one.tokens_out.saturating_add(two.tokens_out),
        micro: one.micro.saturating_add(two.micro),
        counted: one.counted && two.counted,
    }
}

/// Nothing used.
#[must_use]
pub const fn nothing() -> Usage {
    Usage { tokens_in: 0, tokens_cached: 0, tokens_out: 0, micro: 0, counted: true }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use metnos_proto::control::RoleSetting;
    use proptest::prelude::*;

    use super::*;

    fn registry() -> Registry {
        Registry::read(&ModelSettings {
            substrates: vec![
                "claude anthropic https://api.anthropic.com".into(),
                "local openai http://127.0.0.1:1/v1".into(),
            ],
            roles: vec![RoleSetting { role: "interface".into(), models: vec!["claude/c".into(), "local/l".into()] }],
            prices: vec!["claude/c 1970-01-02 3 15 0.3".into(), "claude/c 1970-01-11 1 5 0.1".into()],
            contexts: vec!["local/l 4096 no-tools".into()],
            ..ModelSettings::default()
        })
        .unwrap()
    }

    fn name(text: &str) -> ModelName {
        ModelName::parse(text).unwrap()
    }

    #[test]
    fn the_newest_price_that_has_begun_counts_and_an_unknown_one_is_nothing() {
        let registry = registry();
        let cost = |day: u64| registry.cost(&name("claude/c"), day * DAY_MS, 1_000_100, 100, 1);
        assert_eq!(cost(0), 0);
        assert_eq!(cost(1), 3_000_000 + 30 + 15);
        assert_eq!(cost(9), cost(1));
        assert_eq!(cost(10), 1_000_000 + 10 + 5);
        assert_eq!(registry.cost(&name("local/l"), DAY_MS * 50, 1, 0, 1), 0);
        // The smallest part counts whole.
        assert_eq!(registry.cost(&name("claude/c"), DAY_MS, 1, 1, 0), 1);
    }

    #[test]
    fn a_model_of_no_substrate_and_a_role_that_is_none_are_refused() {
        let role = |role: &str, model: &str| {
            let roles = vec![RoleSetting { role: role.into(), models: vec![model.into()] }];
            let substrates = vec!["a ollama http://127.0.0.1:1".into()];
            Registry::read(&ModelSettings { substrates, roles, ..ModelSettings::default() })
        };
        assert!(role("interface", "a/x").is_ok());
        assert!(role("interface", "b/x").is_err());
        assert!(role("king", "a/x").is_err());
    }

    #[test]
    fn context_size_comes_from_owner_then_server_then_default() {
        let registry = registry();
        let said = |context, tools| Some(ModelFeatures { context, tools, ..ModelFeatures::default() });
        let takes = |model: &str, said| {
            let ModelTraits { context, tools, .. } = registry.takes(&name(model), said);
            (context, tools)
        };
        assert_eq!(takes("local/l", said(Some(9), Some(true))), (4_096, false));
        assert_eq!(takes("local/m", said(Some(9), None)), (9, true));
        assert_eq!(takes("claude/c", None), (200_000, true));
        assert_eq!(takes("local/m", None), (32_768, true));
    }

    #[test]
    fn steps_are_the_owners_word_else_a_small_model_of_a_constraining_server() {
        let settings = |contexts: &[&str]| ModelSettings {
            substrates: vec!["local openai http://127.0.0.1:1/v1".into()],
            contexts: contexts.iter().map(|line| (*line).to_owned()).collect(),
            ..ModelSettings::default()
        };
        let plain = Registry::read(&settings(&["local/yes 4096 steps", "local/no 4096 no-steps"])).unwrap();
        let steps = |model: &str, constrained: Option<bool>, parameters: Option<u64>| {
            let said = ModelFeatures { constrained, parameters, ..ModelFeatures::default() };
            plain.takes(&name(model), Some(said)).constrained
        };
        assert!(steps("local/m", Some(true), Some(MAX_SMALL)) && steps("local/m", Some(true), None));
        assert!(!steps("local/m", Some(true), Some(MAX_SMALL + 1)) && !steps("local/m", None, Some(1)));
        assert!(!steps("local/m", Some(false), None));
        assert!(steps("local/yes", Some(false), Some(u64::MAX)) && !steps("local/no", Some(true), Some(1)));
        assert!(plain.takes(&name("local/yes"), None).constrained && !plain.takes(&name("local/m"), None).constrained);
    }

    proptest! {
        #[test]
        fn a_cost_is_never_less_for_more(read: u64, cached: u64, written: u64) {
            let registry = registry();
            let cost = |a, b, c| registry.cost(&name("claude/c"), DAY_MS, a, b, c);
            prop_assert!(cost(read, cached, written) <= cost(read.saturating_add(1), cached, written));
            prop_assert!(cost(read, cached, written) <= cost(read, cached, written.saturating_add(1)));
            prop_assert!(cost(read, cached, written) <= cost(read, 0, written));
        }
    }
}
