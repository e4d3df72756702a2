//! What the door knows of the models, and how it says so to whoever may hear it.

use metnos_proto::msg::common::{Lang, Refusal};
use metnos_proto::msg::mind::MindReport;
use metnos_texts::{Key, say, tell};

use super::Door;

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

impl Door {
    /// How the models do, in that language.
    #[must_use]
    pub fn models_in(&self, lang: Lang) -> String {
        self.models.borrow().told(lang)
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
