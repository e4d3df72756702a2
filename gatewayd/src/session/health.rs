//! How what is beside the door does: the models, the HTTP channel and the bot, and how the door says so.

use std::cell::RefCell;

use metnos_proto::msg::common::{Lang, Refusal};
use metnos_proto::msg::mind::MindReport;
use metnos_texts::{Key, say, tell};

/// What mind said of the models, as last heard.
#[derive(Debug, Default)]
pub(crate) enum Models {
    /// Nothing yet.
    #[default]
    Unheard,
    /// It is not running.
    Gone,
    /// It did not say.
    Unsaid(Refusal),
    /// This.
    Heard(MindReport),
}

impl Models {
    fn told(&self, lang: Lang) -> String {
        match (self, lang) {
            (Self::Unheard, _) => say(lang, Key::ModelsUnheard),
            (Self::Gone, _) => say(lang, Key::ModelsGone),
            (Self::Unsaid(no), _) => metnos_texts::refusal(lang, no),
            (Self::Heard(report), Lang::En) => report.says.clone(),
            (Self::Heard(report), Lang::It) if report.roles.is_empty() => say(lang, Key::ModelsNone),
            (Self::Heard(report), Lang::It) => {
                let one = |role: &metnos_proto::msg::mind::RoleModel| {
                    let values = [("role", (&role.role).into()), ("model", (&role.model).into())];
                    if role.reachable {
                        format!("{}: {}", role.role, role.model)
                    } else {
                        tell(lang, Key::ModelsSilent, &values)
                    }
                };
                report.roles.iter().map(one).collect::<Vec<_>>().join(", ")
            }
        }
    }
}

/// How the rest does, as last heard.
pub(super) struct Health {
    models: RefCell<Models>,
    /// Where the door listens, or why it does not.
    http: RefCell<String>,
    /// The state of the bot in one line; empty without a bot.
    telegram: RefCell<String>,
}

impl Default for Health {
    fn default() -> Self {
        Self { models: RefCell::default(), http: RefCell::new("off".to_owned()), telegram: RefCell::default() }
    }
}

impl Health {
    pub fn models_are(&self, models: Models) {
        *self.models.borrow_mut() = models;
    }

    pub fn models_in(&self, lang: Lang) -> String {
        self.models.borrow().told(lang)
    }

    pub fn http_is(&self, where_or_why: String) {
        *self.http.borrow_mut() = where_or_why;
    }

    pub fn http(&self) -> String {
        self.http.borrow().clone()
    }

    pub fn telegram_is(&self, line: &str) {
        line.clone_into(&mut self.telegram.borrow_mut());
    }

    pub fn telegram(&self) -> String {
        self.telegram.borrow().clone()
    }
}

#[cfg(test)]
mod tests {
    use metnos_proto::msg::mind::RoleModel;

    use super::*;

    #[test]
    fn model_status_is_described_in_both_languages() {
        let role = |reachable| RoleModel {
            role: "interface".into(),
            model: "there/m".into(),
            reachable,
            tools: true,
            context: 1,
            constrained: false,
        };
        let heard = |roles: Vec<RoleModel>| Models::Heard(MindReport { roles, says: "as mind says".into() });
        for models in [Models::Unheard, Models::Gone, heard(vec![])] {
            assert_ne!(models.told(Lang::En), models.told(Lang::It), "{models:?}");
        }
        assert_eq!(heard(vec![role(true)]).told(Lang::It), "interface: there/m");
        assert_eq!(heard(vec![role(false)]).told(Lang::It), "interface: there/m (non risponde)");
        assert_eq!(heard(vec![role(false)]).told(Lang::En), "as mind says");
    }
}
