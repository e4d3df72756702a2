//! Webhooks: whoever holds the secret of one has what the owner has set up for it done. The secrets are the door's alone:
//! it makes them, keeps them in a file of its own, shows each once, and forgets it when the hook is gone. What comes with
//! one is data from outside, whatever it says. [`signed`] judges a request, [`kept`] keeps the secrets; both are pure but
//! for the one file.

pub mod kept;
pub mod signed;

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, HashSet};
use std::rc::Rc;

use metnos_proto::ids::{TraceId, TurnId};
use metnos_proto::msg::common::{Channel, Refusal, RefusalCode};
use metnos_proto::msg::memoryd::Marked;
use metnos_proto::msg::people::{MAX_AUTOMATIONS, is_name};
use metnos_proto::payload::Sealed;
use serde_json::{Value, json};

use crate::http::rate::Bucket;
use crate::session::Door;
use crate::session::voice::{Ear, Speaker, Telling, Told, Voice};
use kept::{Kept, Secret};

/// How often one webhook may fire in a minute.
pub const PER_MINUTE: u32 = 60;
/// The most of what comes with a webhook, in bytes: as much as words have.
pub const MAX_DATA: usize = 64 * 1024;

/// Nobody listens to a webhook's turn: its answer is in the journal, and its cards wait at the machine.
struct Nobody;

impl Ear for Nobody {
    fn tell(&self, _: Told) -> Telling<'_> {
        Box::pin(std::future::ready(true))
    }

    fn is_open(&self) -> bool {
        true
    }
}

/// The webhooks of a door.
pub struct Hooks {
    kept: RefCell<Result<Kept, String>>,
    hooks: RefCell<BTreeMap<String, Rc<Hook>>>,
}

/// One webhook that has fired since the door was started.
struct Hook {
    voice: Voice,
    bucket: Bucket,
    /// Names of firings that are being taken.
    taking: RefCell<HashSet<String>>,
    fired: Cell<u64>,
}

/// What became of a firing.
#[derive(Debug, PartialEq, Eq)]
pub enum Firing {
    /// It has opened a turn.
    Opened(TurnId),
    /// It was heard before.
    Known,
    /// Too many of this hook; again in so many seconds.
    TooMany(u64),
}

impl Hooks {
    /// Webhooks whose secrets are kept there, or why they cannot be.
    #[must_use]
    pub fn new(kept: Result<Kept, String>) -> Self {
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
    pub fn make(&self, name: &str) -> Result<Value, Refusal> {
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
        Ok(json!({"name": name, "secret": secret.reveal(), "path": format!("/hooks/{name}")}))
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
    pub fn list(&self) -> Result<Value, Refusal> {
        let fired = |name: &str| self.hooks.borrow().get(name).map_or(0, |hook| hook.fired.get());
        self.change(|kept| Ok(kept.names().map(|name| json!({"name": name, "fired": fired(name)})).collect()))
    }

    fn change<T>(&self, change: impl FnOnce(&mut Kept) -> Result<T, Refusal>) -> Result<T, Refusal> {
        change(self.kept.borrow_mut().as_mut().map_err(|why| unavailable(why))?)
    }

    /// A request with a good signature has come: what was set up is done, once for each name of a firing. The journal
    /// remembers them, so that no restart makes an old one fresh.
    ///
    /// # Errors
    /// When the hook is gone, or a peer that is needed says no. Nothing was done then.
    pub async fn fire(&self, door: &Rc<Door>, name: &str, mark: &str, data: &[u8]) -> Result<Firing, Refusal> {
        let speaker = Speaker { channel: Channel::Hook, sender: name.to_owned(), lang: None };
        let hook = {
            let mut hooks = self.hooks.borrow_mut();
            Rc::clone(hooks.entry(name.to_owned()).or_insert_with(|| {
                let voice = Voice::new(speaker, door.number(), Rc::new(Nobody));
                let (bucket, taking) = (Bucket::new(PER_MINUTE), RefCell::default());
                Rc::new(Hook { voice, bucket, taking, fired: Cell::new(0) })
            }))
        };
        if let Err(again) = hook.bucket.take() {
            return Ok(Firing::TooMany(again));
        }
        if !hook.taking.borrow_mut().insert(mark.to_owned()) {
            return Ok(Firing::Known);
        }
        let fired = hook.take(door, name, mark, data).await;
        hook.taking.borrow_mut().remove(mark);
        fired
    }
}

impl Hook {
    async fn take(&self, door: &Rc<Door>, name: &str, mark: &str, data: &[u8]) -> Result<Firing, Refusal> {
        let marked = Marked { principal: format!("{}:{name}", Channel::Hook.name()), mark: mark.to_owned() };
        let asked = door.peers().memoryd.marked(TraceId::NONE, marked, []).await;
        let (known, [_answer]) = asked.map_err(metnos_proto::edge::AskError::into_refusal)?;
        if known.turn.is_some() {
            return Ok(Firing::Known);
        }
        let data = (!data.is_empty()).then(|| Sealed::new(data).map_err(|error| unavailable(&error.to_string())));
        let turn = door.fire(&self.voice.clone().with_mark(mark.to_owned()), data.transpose()?).await?;
        self.fired.set(self.fired.get() + 1);
        Ok(Firing::Opened(turn))
    }
}

fn unavailable(why: &str) -> Refusal {
    Refusal::new(RefusalCode::Unavailable, "hook.secrets", why)
}
