//! Where a secret must not stand: in arguments, in what is shown to a planner or a model. Nothing of one gets past this file
//! but sealed, for the one call that was decided.

use metnos_proto::ids::Blake3;
use metnos_proto::json::JsonError;
use metnos_proto::msg::common::{Refusal, RefusalCode};
use metnos_proto::payload::Sealed;
use serde_json::Value;

use crate::arguments::Arguments;
use crate::calls::call::Call;
use crate::executors::registry::Signed;
use crate::refusals::internal;
use crate::vault::{self, Secrets};

impl Secrets {
    /// Arguments that hold a secret go no further than this: neither into a record nor to sandboxd.
    pub(crate) fn without_secret(
        &self,
        call: &mut Call,
        digest: &mut Blake3,
        arguments: Result<Arguments, JsonError>,
    ) -> Result<(Result<Arguments, JsonError>, Option<String>), Refusal> {
        if self.is_empty() {
            return Ok((arguments, None));
        }
        let bytes = call.arguments.read().map_err(|error| internal(&error.to_string()))?;
        // As it was written, and as it is read.
        let written = String::from_utf8_lossy(&bytes);
        let mut all = arguments.as_ref().map(|arguments| texts(arguments.value())).unwrap_or_default();
        all.push(written.as_ref());
        let told = self.secret_in(all.into_iter());
        let told = told.or_else(|| self.secret_in(std::iter::once(call.executor.as_str())));
        let Some(name) = told else {
            drop(written);
            return Ok((arguments, None));
        };
        let nothing = b"{}";
        call.arguments = Sealed::new(nothing).map_err(|error| internal(&error.to_string()))?;
        *digest = Blake3::of(nothing);
        if self.secret_in(std::iter::once(call.executor.as_str())).is_some() {
            "withheld".clone_into(&mut call.executor);
        }
        Ok((Arguments::parse(nothing), Some(name)))
    }

    /// The same for a question about a call that nobody makes.
    pub(crate) fn told_in_question(
        &self,
        arguments: Result<Arguments, JsonError>,
        bytes: &[u8],
    ) -> (Result<Arguments, JsonError>, Option<String>) {
        let written = String::from_utf8_lossy(bytes);
        let mut all = arguments.as_ref().map(|arguments| texts(arguments.value())).unwrap_or_default();
        all.push(written.as_ref());
        match self.secret_in(all.into_iter()) {
            Some(name) => (Arguments::parse(b"{}"), Some(name)),
            None => (arguments, None),
        }
    }

    /// Refuses bytes that hold a secret: they are shown to no planner and to no model. They are searched, and not read.
    ///
    /// # Errors
    /// Which secret, never its value.
    pub(crate) fn holds_no_secret(&self, sealed: &Sealed) -> Result<(), Refusal> {
        if self.is_empty() {
            return Ok(());
        }
        let bytes = sealed.read().map_err(|error| internal(&error.to_string()))?;
        let written = String::from_utf8_lossy(&bytes);
        // As it was before JSON wrote it: good enough to find a text in, and for nothing else.
        let read = written.replace("\\n", "\n").replace("\\t", "\t").replace("\\\"", "\"").replace("\\\\", "\\");
        match self.secret_in([&*written, &*read].into_iter()) {
            None => Ok(()),
            Some(name) => Err(Refusal::new(
                RefusalCode::Denied,
                vault::TOLD,
                format!("it holds the secret `{name}`, which is shown to nobody"),
            )
            .remedy("take it out of where it stands; an executor that needs it is given it by policyd")),
        }
    }

    /// The secret that stands in one of these texts, if one does.
    pub(crate) fn secret_in<'a>(&self, texts: impl Iterator<Item = &'a str> + Clone) -> Option<String> {
        let told = self.vault.borrow().told_in(texts.clone()).map(str::to_owned);
        told.or_else(|| self.password_in(texts))
    }

    /// Whether there is nothing that could be told.
    fn is_empty(&self) -> bool {
        self.vault.borrow().is_empty() && self.accounts.borrow().is_empty()
    }

    /// What one call of this executor is given, now: as the owner's word and the vault are in this moment.
    pub(crate) fn secrets_for(&self, found: &Signed) -> Result<Option<Sealed>, Refusal> {
        let vault = self.vault.borrow();
        if let Some(withheld) = vault.withheld(&found.manifest, &found.digests) {
            return Err(withheld.refusal());
        }
        vault.open_for(&found.manifest)
    }
}

/// To words that hold a secret: nothing of them is kept.
pub(crate) fn told(name: &str) -> Refusal {
    let why = format!("what was said holds the secret `{name}`, so it is neither read nor recorded");
    Refusal::new(RefusalCode::Denied, vault::TOLD, why).remedy("say it without; an executor is given it by policyd")
}

/// Every text of a document: keys and values.
fn texts(value: &Value) -> Vec<&str> {
    match value {
        Value::String(text) => vec![text],
        Value::Array(items) => items.iter().flat_map(texts).collect(),
        Value::Object(map) => map.iter().flat_map(|(key, value)| [vec![key.as_str()], texts(value)].concat()).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) => Vec::new(),
    }
}
