//! What is done without a person: webhooks and timers. Each is a principal of its own, set up by the owner with what is
//! to be done in his words; it reads only until he says otherwise, and is gone at his word. What comes with a webhook is
//! never his word: a turn that carries any is a guest's.

use std::collections::BTreeMap;
use std::rc::Rc;

use metnos_policy::evidence::context::{Context, Who};
use metnos_proto::doc::automation::{Automatic, AutomationAdded, AutomationAnswer};
use metnos_proto::ids::{TraceId, TurnId};
use metnos_proto::msg::common::{Channel, Level, Refusal, RefusalCode, Standing};
use metnos_proto::msg::people::{Automation, AutomationAsk, Fire, Fired, MAX_AUTOMATIONS, MAX_SAYS, is_name};
use rusqlite::{Connection, params};

use crate::calls::turns::Turn;
use crate::guard::shown;
use crate::people::Principals;
use crate::people::pairing::Forget;
use crate::people::principal::{Principal, stranger};
use crate::store::{StoreError, not_durable, signed, unsigned};
use crate::vault::guard::told;

/// The table.
pub const TABLES: &str = "
    CREATE TABLE IF NOT EXISTS automations (
        principal TEXT PRIMARY KEY, says TEXT NOT NULL, since_ms INTEGER NOT NULL
    ) STRICT;";

/// What was set up, by `channel:name`.
#[derive(Debug, Default)]
pub struct Automations(BTreeMap<String, (String, u64)>);

impl Automations {
    pub(crate) fn load(connection: &Connection) -> Result<Self, StoreError> {
        let mut statement = connection.prepare("SELECT principal, says, since_ms FROM automations")?;
        let rows = statement
            .query_map([], |row| Ok((row.get::<_, String>(0)?, (row.get::<_, String>(1)?, unsigned(row.get(2)?)))))?;
        Ok(Self(rows.collect::<Result<_, _>>()?))
    }

    /// What this principal is to do.
    #[must_use]
    pub fn says(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(|(says, _)| says.as_str())
    }

    /// Everybody's name.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    pub(super) fn forget(&mut self, name: &str) -> bool {
        self.0.remove(name).is_some()
    }
}

/// Whether what speaks on this channel was set up rather than paired.
pub(crate) const fn is_automatic(channel: Channel) -> bool {
    match channel {
        Channel::Hook | Channel::Timer => true,
        Channel::Cli | Channel::Http | Channel::Telegram | Channel::Scheduler | Channel::Metnos => false,
    }
}

impl Principals {
    /// A hook or a timer that was set up is a guest that reads only.
    pub(crate) fn automatic(&self, principal: &mut Principal) {
        if is_automatic(principal.channel) && self.automations.borrow().says(&principal.name).is_some() {
            (principal.standing, principal.level) = (Standing::Guest, Level::ReadOnly);
        }
    }

    /// What the owner says about hooks and timers.
    ///
    /// # Errors
    /// When a name or an instruction does not fit, one is unknown, or it could not be recorded.
    pub(crate) async fn automation(
        &self,
        by: &str,
        ask: AutomationAsk,
        forget: Forget<'_>,
    ) -> Result<AutomationAnswer, Refusal> {
        match ask {
            AutomationAsk::List => Ok(AutomationAnswer::All(self.list_automations())),
            AutomationAsk::Add(ask) => self.automate(by, ask).await.map(AutomationAnswer::Added),
            AutomationAsk::Remove(name) => {
                if self.automations.borrow().says(&name).is_none() {
                    let why = format!("there is no {}", shown(&name));
                    return Err(Refusal::new(RefusalCode::Unknown, "automation.unknown", why)
                        .remedy("`metnosctl hook list` and `metnosctl timer list` show those that there are"));
                }
                self.unpair(by, &name, forget).await.map(AutomationAnswer::Removed)
            }
        }
    }

    fn list_automations(&self) -> Vec<Automatic> {
        let all = self.automations.borrow();
        let one = |(name, (says, since)): (&String, &(String, u64))| {
            let level = self.named_principal(name).map_or("", |it| crate::people::autonomy::level_name(it.level));
            Automatic { principal: name.clone(), level: level.to_owned(), says: says.clone(), since_ms: *since }
        };
        all.0.iter().map(one).collect()
    }

    async fn automate(&self, by: &str, ask: Automation) -> Result<AutomationAdded, Refusal> {
        let invalid = |why: String| Refusal::new(RefusalCode::Invalid, "automation.form", why);
        if !is_automatic(ask.channel) || !is_name(&ask.name) {
            let why = format!("{} is no name: small letters, digits and hyphens, at most 32", shown(&ask.name));
            return Err(invalid(why));
        }
        if ask.says.trim().is_empty() || ask.says.len() > MAX_SAYS {
            return Err(invalid(format!("what is to be done takes 1 to {MAX_SAYS} bytes")));
        }
        if let Some(secret) = self.secrets.secret_in(std::iter::once(ask.says.as_str())) {
            return Err(told(&secret));
        }
        let name = format!("{}:{}", ask.channel.name(), ask.name);
        {
            let all = &self.automations.borrow().0;
            if all.contains_key(&name) {
                return Err(invalid(format!("{name} is there already")).remedy("remove it first"));
            }
            if all.len() >= MAX_AUTOMATIONS {
                let why = format!("{MAX_AUTOMATIONS} hooks and timers are set up, which is the limit");
                return Err(Refusal::new(RefusalCode::Busy, "automation.full", why).remedy("remove one"));
            }
        }
        let line = format!("{by} has set up {name}, which reads only: {}", ask.says);
        self.base.chronicled("automated", &line).await?;
        let (row, says, now) = (name.clone(), ask.says.clone(), self.base.clock.wall_ms());
        self.base
            .store
            .run(move |connection| {
                let values = params![row, says, signed(now)];
                connection.execute("INSERT OR REPLACE INTO automations VALUES (?1, ?2, ?3)", values).map(|_| ())
            })
            .await
            .map_err(|error| not_durable(&error))?;
        self.automations.borrow_mut().0.insert(name.clone(), (ask.says.clone(), now));
        let level = crate::people::autonomy::level_name(Level::ReadOnly).to_owned();
        Ok(AutomationAdded { principal: name, says: ask.says, level })
    }

    /// One of them fires: a turn on the owner's words, which are given back. With something from outside the turn is a
    /// guest's: nothing in it endorses anything, and every effect asks the owner.
    ///
    /// # Errors
    /// When it was not set up, or there is no room.
    pub(crate) fn fire(&self, ask: &Fire, forget: Forget<'_>) -> Result<(Fired, String), Refusal> {
        let principal = self.who(ask.channel, &ask.sender)?;
        let says = self.automations.borrow().says(&principal.name).map(str::to_owned);
        let says = says.filter(|_| is_automatic(ask.channel)).ok_or_else(|| stranger(&principal))?;
        let (turn, trace, name) = (TurnId::new(), TraceId::new(), principal.name.clone());
        let (now, world, lang) = (self.base.clock.monotonic_ms(), self.world(&principal), self.base.setting.lang);
        let mut opened = Turn::new(trace, principal, Rc::clone(&world), &says, now);
        if !ask.has_data {
            opened.flow = Context::new(Who::Owner);
            opened.flow.said(&says, true, world.lang);
        }
        opened.flow.attended = false;
        if let Some(evicted) = self.turns.borrow_mut().open(turn, opened, now)? {
            forget(evicted);
        }
        Ok((Fired { turn, trace, principal: name, lang }, says))
    }
}
