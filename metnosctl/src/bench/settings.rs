//! The configuration of instances for `bench ask`: what this machine needs of the caller's own, and the models when they
//! shall be asked.

use std::path::{Path, PathBuf};

use toml::Table;

use crate::command_line::cli::AskedModel;
use crate::error::CtlError;
use crate::instance::{CONFIG, Instance};

/// What a machine needs to run any instance: an interpreter, users, layers of the lock that its kernel lacks.
const OF_THE_MACHINE: [&str; 3] = ["executors", "jail", "supervisor"];
/// What asking a model needs besides: the servers, and how they are reached.
const OF_MODELS: [&str; 2] = ["models", "net"];
/// Where mind keeps the keys of models' servers.
const KEYS: &str = ".mind";

/// What an instance for a measurement begins with.
#[derive(Debug)]
pub struct Settings {
    config: String,
    /// The folder of keys, if there is one and a model is asked.
    keys: Option<PathBuf>,
}

impl Settings {
    /// Reads the configuration of the caller's instance. Without one everything is as it ships. A model that is asked must have
    /// `role`.
    ///
    /// # Errors
    /// When it cannot be read, or no model is configured that should be asked.
    pub fn of(instance: &Instance, model: AskedModel, role: &str) -> Result<Self, CtlError> {
        let file = instance.directory().join(CONFIG);
        let text = match std::fs::read_to_string(&file) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
            Err(error) => return Err(unreadable(&file, error)),
        };
        let keys = instance.directory().join(KEYS);
        match model {
            AskedModel::None => Ok(Self { config: taken(&text, &file, &[])?, keys: None }),
            AskedModel::Configured => {
                let config = taken(&text, &file, &OF_MODELS)?;
                if !has_model(&text, role) {
                    return Err(CtlError::Usage {
                        what: format!("no model is configured in {} for the role `{role}`", file.display()),
                        remedy: format!(
                            "name one (`metnosctl models set {role} SERVER/MODEL`) or another instance (`--instance DIR`); \
                             `bench ask` also asks without a model (`--model none`)"
                        ),
                    });
                }
                Ok(Self { config, keys: keys.is_dir().then_some(keys) })
            }
        }
    }

    /// The text of the configuration.
    #[must_use]
    pub fn config(&self) -> &str {
        &self.config
    }

    /// Folders that are copied into the instance, each with its name there.
    pub fn folders(&self) -> impl Iterator<Item = (&Path, &'static str)> {
        self.keys.iter().map(|keys| (keys.as_path(), KEYS))
    }
}

fn unreadable(file: &Path, error: impl ToString) -> CtlError {
    CtlError::failed(
        format!("reading {}", file.display()),
        error,
        "mend it, or name another instance: `--instance DIR`",
    )
}

fn has_model(text: &str, role: &str) -> bool {
    let table: Table = text.parse().unwrap_or_default();
    let models = table.get("models").and_then(|models| models.get(role));
    models.and_then(toml::Value::as_array).is_some_and(|models| !models.is_empty())
}

/// The tables of the machine and these, and a door that listens to nobody else.
fn taken(text: &str, file: &Path, more: &[&str]) -> Result<String, CtlError> {
    let mut table: Table = text.parse().map_err(|error| unreadable(file, error))?;
    table.retain(|name, _| OF_THE_MACHINE.contains(&name) || more.contains(&name));
    let quiet = Table::from_iter([("listen".to_owned(), toml::Value::from(""))]);
    table.insert("http".to_owned(), quiet.into());
    toml::to_string(&table).map_err(|error| unreadable(file, error))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn of(text: Option<&str>, model: AskedModel) -> Result<Settings, CtlError> {
        let dir = tempfile::tempdir().unwrap();
        if let Some(text) = text {
            std::fs::write(dir.path().join(CONFIG), text).unwrap();
        }
        Settings::of(&Instance::at(dir.path()).unwrap(), model, "interface")
    }

    const FULL: &str = "[instance]\nlang = \"it\"\n[jail]\nwaive = [\"landlock\"]\n[models]\ninterface = [\"a/b\"]\n\
                        [http]\nlisten = \"127.0.0.1:1\"\n[telegram]\napi = \"x\"\n";

    #[test]
    fn only_what_the_machine_needs_is_taken_and_models_only_when_asked() {
        for (model, tables) in
            [(AskedModel::None, &["http", "jail"][..]), (AskedModel::Configured, &["http", "jail", "models"])]
        {
            let table: Table = of(Some(FULL), model).unwrap().config().parse().unwrap();
            assert_eq!(table.keys().map(String::as_str).collect::<Vec<_>>(), tables);
            assert_eq!(table["http"]["listen"].as_str(), Some(""), "it must not take the port of the real one");
        }
    }

    #[test]
    fn a_model_that_is_not_configured_is_said_to_be_missing() {
        for text in [None, Some(""), Some("[models]\ninterface = []\n")] {
            let error = of(text, AskedModel::Configured).unwrap_err();
            assert!(error.to_string().contains("no model is configured"), "{error}");
            assert!(of(text, AskedModel::None).is_ok());
        }
        assert!(of(Some("[models"), AskedModel::None).is_err());
    }
}
