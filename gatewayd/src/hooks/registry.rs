//! The webhooks of a door and their secrets.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, HashSet};
use std::rc::Rc;

use metnos_proto::doc::automation::{HookMade, HookRow};
use metnos_proto::msg::common::{Refusal, RefusalCode};
use metnos_proto::msg::people::{MAX_AUTOMATIONS, is_name};

use super::secret_store::{HookSecrets, Secret};
use crate::http::limits::rate::Bucket;
use crate::session::speaker::SpeakerSession;

/// The webhooks of a door.
pub struct Hooks {
    kept: RefCell<Result<HookSecrets, String>>,
    pub(super) hooks: RefCell<BTreeMap<String, Rc<Hook>>>,
}

/// One webhook that has fired since the door was started.
pub(super) struct Hook {
    pub(super) voice: SpeakerSession,
    pub(super) bucket: Bucket,
    /// Names of firings that are being taken.
    pub(super) taking: RefCell<HashSet<String>>,
    pub(super) fired: Cell<u64>,
}

impl Hooks {
    /// Webhooks whose secrets are kept there, or why they cannot be.
    #[must_use]
    pub fn new(kept: Result<HookSecrets, String>) -> Self {
        Self { kept: RefCell::new(kept), hooks: RefCell::default() }
    }

    /// The secret of this webhook.
    #[must_use]
    pub fn secret(&self, name: &str) -> Option<Secret> {
        self.kept.borrow().as_ref().ok()?.get(name).cloned()
    }

    /// A fresh secret for this webhook, in the place of any that it had: shown here and never again.
    ///
    /// # Errors
    /// When it has no name, there are too many, or it cannot be kept.
    pub fn make(&self, name: &str) -> Result<HookMade, Refusal> {
        if !is_name(name) {
            let why = "a hook is named by at most 32 small letters, digits and hyphens";
            return Err(Refusal::new(RefusalCode::Invalid, "hook.name", why));
        }
        let secret = Secret::fresh().map_err(|error| unavailable(&error))?;
        self.change(|kept| {
            if kept.get(name).is_none() && kept.names().count() >= MAX_AUTOMATIONS {
                return Err(Refusal::new(RefusalCode::Busy, "hook.full", "no more secrets are kept"));
            }
            kept.put(name, Some(&secret)).map_err(|error| unavailable(&error.to_string()))
        })?;
        let path = format!("/hooks/{name}");
        Ok(HookMade { name: name.to_owned(), secret: secret.reveal(), path })
    }

    /// Forgets the secret of this webhook; whether there was one.
    ///
    /// # Errors
    /// When that cannot be kept.
    pub fn remove(&self, name: &str) -> Result<bool, Refusal> {
        self.hooks.borrow_mut().remove(name);
        self.change(|kept| {
            let had = kept.get(name).is_some();
            if had {
                kept.put(name, None).map_err(|error| unavailable(&error.to_string()))?;
            }
            Ok(had)
        })
    }

    /// The webhooks that have a secret, and how often each has fired since the door was started.
    ///
    /// # Errors
    /// When no secrets can be kept.
    pub fn list(&self) -> Result<Vec<HookRow>, Refusal> {
        let fired = |name: &str| self.hooks.borrow().get(name).map_or(0, |hook| hook.fired.get());
        self.change(|kept| Ok(kept.names().map(|name| HookRow { name: name.to_owned(), fired: fired(name) }).collect()))
    }

    fn change<T>(&self, change: impl FnOnce(&mut HookSecrets) -> Result<T, Refusal>) -> Result<T, Refusal> {
        change(self.kept.borrow_mut().as_mut().map_err(|why| unavailable(why))?)
    }
}

pub(super) fn unavailable(why: &str) -> Refusal {
    Refusal::new(RefusalCode::Unavailable, "hook.secrets", why)
}
