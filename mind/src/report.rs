//! What is said of the models: to the door and the planner in words of the wire, to the owner in documents.

use std::time::{Duration, Instant};

use metnos_outbound::net::takes_key;
use metnos_outbound::secret_file::Origin;
use metnos_proto::doc::models::{
    KeyOrigin, ModelList, ModelPrice, ModelRow, ModelScan, ModelTest, ModelUsage, OfferedModel, RoleModels,
    ScannedSubstrate, SubstrateRow,
};
use metnos_proto::edge::Edge;
use metnos_proto::ids::{Blake3, TurnId};
use metnos_proto::link_async::Notes;
use metnos_proto::models::{ModelName, ROLES};
use metnos_proto::msg::common::{Refusal, RefusalCode};
use metnos_proto::msg::mind::{MindReport, RoleModel, TEST_ROLE, ThoughtUsed};
use metnos_proto::prompt::{Message, Prompt};
use tokio::sync::watch;

use crate::error::quoted;
use crate::mind::Mind;
use crate::servers::fair_queue::Lane;
use crate::servers::registry::ModelTraits;
use crate::servers::substrate::{CompletionRequest, Substrate};
use crate::thinking::{Listener, now_ms, refusal};

/// What a model is asked to see whether it can be called.
const TEST: &str = "Answer with the one word: ready";
/// The most tokens it may answer that with. A model that thinks aloud first may need them all.
const TEST_TOKENS: u32 = 64;
/// How long that may take, in milliseconds.
const TEST_WITHIN_MS: u64 = 110_000;

impl Mind {
    /// Which models can be called, and the same in a sentence.
    #[must_use]
    pub fn report(&self) -> MindReport {
        let roles: Vec<RoleModel> = ROLES.iter().filter_map(|role| self.role(role)).collect();
        let says = if roles.is_empty() {
            "no language model is configured; the reflex answers what it understands, without a model".to_owned()
        } else {
            let named: Vec<String> = roles
                .iter()
                .map(|role| {
                    let state = if role.reachable { "" } else { " (does not answer)" };
                    format!("{}: {}{state}", role.role, role.model)
                })
                .collect();
            named.join(", ")
        };
        MindReport { roles, says }
    }

    /// A role with the model that would answer first.
    fn role(&self, role: &str) -> Option<RoleModel> {
        let models = self.registry.roles.get(role)?;
        let model = models.iter().find(|model| self.callable(model)).or(models.first())?;
        let ModelTraits { context, tools, constrained } = self.takes(model);
        Some(RoleModel {
            role: role.to_owned(),
            model: model.to_string(),
            reachable: self.callable(model),
            tools,
            context,
            constrained,
        })
    }

    fn takes(&self, model: &ModelName) -> ModelTraits {
        let said = self.substrates.get(&model.substrate).and_then(|substrate| substrate.said(&model.model));
        self.registry.takes(model, said)
    }

    fn callable(&self, model: &ModelName) -> bool {
        self.substrates
            .get(&model.substrate)
            .is_some_and(|substrate| substrate.reachable() && !substrate.is_stale(&model.model))
    }

    /// What is configured and what is known of it.
    #[must_use]
    pub fn list(&self) -> ModelList {
        let lines = self.registry.substrates.iter();
        let substrates = lines.filter_map(|line| self.substrates.get(&line.name)).map(substrate_row).collect();
        let roles = ROLES.iter().filter_map(|role| Some((role, self.registry.roles.get(*role)?)));
        let roles = roles.map(|(role, models)| RoleModels {
            role: (*role).to_owned(),
            models: models.iter().map(|model| self.model(model)).collect(),
        });
        ModelList { substrates, roles: roles.collect() }
    }

    fn model(&self, model: &ModelName) -> ModelRow {
        let stale = self.substrates.get(&model.substrate).is_some_and(|substrate| substrate.is_stale(&model.model));
        let ModelTraits { context, tools, constrained } = self.takes(model);
        let price_per_million = self.registry.price(model, now_ms()).map(|line| ModelPrice {
            micro_in: line.micro_in,
            micro_out: line.micro_out,
            micro_cached: line.micro_cached,
        });
        let callable = self.callable(model);
        ModelRow { model: model.to_string(), stale, callable, context, tools, constrained, price_per_million }
    }

    /// What each substrate offers, asked of all at once.
    pub async fn scan(&self) -> ModelScan {
        let mut substrates = Vec::new();
        // One after the other: the bound of each keeps the whole within its time for as many as anybody has.
        let until = Instant::now() + Duration::from_secs(50);
        for line in &self.registry.substrates {
            let Some(substrate) = self.substrates.get(&line.name) else { continue };
            let left = until.saturating_duration_since(Instant::now());
            let asked = tokio::time::timeout(left, self.scan_one(substrate)).await;
            substrates.push(asked.unwrap_or_else(|_| unscanned(&line.name, "the others took too long".to_owned())));
        }
        ModelScan { substrates }
    }

    async fn scan_one(&self, substrate: &Substrate) -> ScannedSubstrate {
        let name = &substrate.line.name;
        let listed = match substrate.discover_models().await {
            Ok(listed) => listed,
            Err(bad) => return unscanned(name, bad.why),
        };
        let used: Vec<&ModelName> =
            self.registry.roles.values().flatten().filter(|model| model.substrate == *name).collect();
        for model in &used {
            substrate.compare(&listed, &model.model);
            if !substrate.is_stale(&model.model) {
                substrate.describe(&model.model).await;
            }
        }
        let models =
            listed.iter().map(|one| self.offered(ModelName { substrate: name.clone(), model: one.name.clone() }));
        let stale = used.iter().filter(|model| substrate.is_stale(&model.model)).map(ToString::to_string).collect();
        ScannedSubstrate { name: name.clone(), ok: true, why: String::new(), models: models.collect(), stale }
    }

    fn offered(&self, name: ModelName) -> OfferedModel {
        let serves = self.registry.roles.iter().filter(|(_, models)| models.contains(&name));
        let roles = serves.map(|(role, _)| role.clone()).collect();
        let ModelRow { model, stale, callable, context, tools, constrained, price_per_million } = self.model(&name);
        OfferedModel { model, stale, callable, context, tools, constrained, price_per_million, roles }
    }

    /// Asks a model for a word.
    ///
    /// # Errors
    /// When there is no such model to ask.
    pub async fn test<E: Edge>(&self, which: &str, notes: Notes<E>) -> Result<ModelTest, Refusal> {
        let role = ROLES.contains(&which);
        let model = if role { self.models_of(which)?.first().cloned() } else { ModelName::parse(which) };
        let named = model.and_then(|model| Some((self.substrates.get(&model.substrate)?, model)));
        let Some((substrate, model)) = named else {
            let why = format!("`{}` is neither a role nor a model of a configured substrate", quoted(which));
            return Err(Refusal::new(RefusalCode::Unknown, "mind.unknown", why).remedy("`metnosctl models scan`"));
        };
        let _place = (self.places.take(Lane::Owner).await?, substrate.places.take(Lane::Owner).await?);
        let prompt = Prompt { messages: vec![Message::User { text: TEST.to_owned() }], ..Prompt::default() };
        let (_stop, stopped) = watch::channel(false);
        let listener = Listener { notes, note: |_| None, stop: stopped };
        let began = Instant::now();
        let context = self.registry.context(&model).map(|line| line.tokens);
        let until = began + Duration::from_millis(TEST_WITHIN_MS);
        let wanted =
            CompletionRequest { model: &model.model, prompt: &prompt, max_tokens: TEST_TOKENS, context, until };
        let came = substrate.invoke(wanted, &listener).await;
        let took_ms = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
        let usage =
            came.counted.map(|counted| self.registry.usage(&model, now_ms(), counted, came.sent.len(), came.written));
        if let Some(usage) = &usage {
            self.report_usage(ThoughtUsed {
                turn: TurnId::NONE,
                thought: 0,
                role: TEST_ROLE.to_owned(),
                model: model.to_string(),
                usage: usage.clone(),
                sent: Blake3::of(&came.sent),
                failed: came.reply.as_ref().err().map_or("", |bad| bad.class.name()).to_owned(),
            })
            .await;
        }
        let usage = usage.map(|usage| ModelUsage {
            counted: usage.counted,
            micro: usage.micro,
            tokens_in: usage.tokens_in,
            tokens_out: usage.tokens_out,
        });
        let (ok, why, remedy, said) = match came.reply {
            Ok(reply) => (true, String::new(), String::new(), quoted(reply.text.trim())),
            Err(bad) => {
                let refused = refusal(&bad, if role { which } else { "ROLE" }, &model.to_string());
                (false, refused.why, refused.remedy, String::new())
            }
        };
        if ok {
            substrate.describe(&model.model).await;
        }
        let price_known = self.registry.price(&model, now_ms()).is_some();
        Ok(ModelTest { model: model.to_string(), ok, why, remedy, said, took_ms, price_known, usage })
    }
}

fn substrate_row(substrate: &Substrate) -> SubstrateRow {
    let line = &substrate.line;
    let (origin, key_problem) = match substrate.key_origin() {
        Ok(origin) => (origin, String::new()),
        Err(why) => (Origin::None, why),
    };
    let key = match origin {
        Origin::None => KeyOrigin::None,
        Origin::Owner => KeyOrigin::Owner,
        Origin::Credential => KeyOrigin::Credential,
    };
    SubstrateRow {
        name: line.name.clone(),
        kind: line.tongue.name().to_owned(),
        url: line.server.url(),
        key,
        key_problem,
        takes_key: takes_key(&line.server),
        reachable: substrate.reachable(),
    }
}

/// A server that did not say what it has.
fn unscanned(name: &str, why: String) -> ScannedSubstrate {
    ScannedSubstrate { name: name.to_owned(), ok: false, why, models: Vec::new(), stale: Vec::new() }
}
