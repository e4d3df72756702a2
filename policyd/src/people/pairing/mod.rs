//! Who is known beside the owner: strangers become guests by a code and the owner's word, and strangers again by
//! another word of his (design: policy §3). policyd decides; the door only carries a code and a line.

pub mod automations;
pub mod book;
pub mod code;

use std::collections::BTreeMap;

use metnos_proto::doc::people::{
    Invitation, KnownPrincipal, OpenInvitation, PairingAnswer, PeopleList, PrincipalPaired, Unpaired, WaitingStranger,
};
use metnos_proto::edges::door_policyd;
use metnos_proto::ids::{TraceId, TurnId};
use metnos_proto::msg::common::{Channel, Refusal, RefusalCode, Standing};
use metnos_proto::msg::people::{Pair, Paired, PairingAsk, Revoked, StrangersCode};
use metnos_proto::msg::sandboxd::Kill;
use rusqlite::{Connection, params};

use crate::guard::shown;
use crate::people::Principals;
use crate::people::groups::{fits_a_group, is_group};
use crate::people::pairing::book::{Admission, Fault, PairingReply};
use crate::people::pairing::code::Code;
use crate::people::persons::{standing_of, unknown};
use crate::random::random;
use crate::store::{StoreError, not_durable, signed, unsigned};

/// The most principals that are known beside the owner.
pub const MAX_PEOPLE: usize = 128;
/// How often a code is drawn before one gives up; each draw fails with one chance in a thousand.
const MAX_DRAWS: usize = 16;

/// The tables.
pub(crate) const TABLES: &str = "
    CREATE TABLE IF NOT EXISTS principals (
        name TEXT PRIMARY KEY, standing TEXT NOT NULL, since_ms INTEGER NOT NULL
    ) STRICT;
    CREATE TABLE IF NOT EXISTS pairing_locks (
        channel TEXT NOT NULL, sender TEXT NOT NULL, until_ms INTEGER NOT NULL, PRIMARY KEY (channel, sender)
    ) STRICT;";

/// A person who was paired.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Person {
    /// What he is.
    pub standing: Standing,
    /// Since when, in milliseconds since the epoch.
    pub since_ms: u64,
}

/// Everybody who was paired, by `channel:sender`.
#[derive(Debug, Default)]
pub struct People(BTreeMap<String, Person>);

impl People {
    pub(crate) fn load(connection: &Connection) -> Result<Self, StoreError> {
        let mut statement = connection.prepare("SELECT name, standing, since_ms FROM principals")?;
        let rows = statement
            .query_map([], |row| Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?, row.get::<_, i64>(2)?)))?;
        let mut people = BTreeMap::new();
        for row in rows {
            let (name, standing, since) = row?;
            let standing = standing_named(&standing).ok_or_else(|| StoreError::Damaged(format!("principal {name}")))?;
            people.insert(name, Person { standing, since_ms: unsigned(since) });
        }
        Ok(Self(people))
    }

    /// What this principal was paired as.
    #[must_use]
    pub fn standing(&self, name: &str) -> Option<Standing> {
        self.0.get(name).map(|person| person.standing)
    }

    /// Everybody's name.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }
}

/// Who was locked out when it was last written down.
///
/// # Errors
/// When a row is damaged, or the database refuses.
pub(crate) fn locked(connection: &Connection) -> Result<Vec<(Channel, String, u64)>, StoreError> {
    let mut statement = connection.prepare("SELECT channel, sender, until_ms FROM pairing_locks LIMIT 256")?;
    let rows = statement
        .query_map([], |row| Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?, unsigned(row.get(2)?))))?;
    rows.map(|row| {
        let (channel, sender, until) = row?;
        let known = Channel::named(&channel).filter(|known| can_pair(*known));
        Ok((known.ok_or_else(|| StoreError::Damaged(format!("lock of {sender}")))?, sender, until))
    })
    .collect()
}

/// The name of a standing in documents and in the store.
#[must_use]
pub const fn standing_name(standing: Standing) -> &'static str {
    match standing {
        Standing::Owner => "owner",
        Standing::Adult => "adult",
        Standing::Guest => "guest",
        Standing::Stranger => "stranger",
    }
}

/// A standing that a person can be paired as.
fn standing_named(name: &str) -> Option<Standing> {
    [Standing::Owner, Standing::Adult, Standing::Guest].into_iter().find(|standing| standing_name(*standing) == name)
}

/// On which channels a person can be paired: where people are, and nowhere else.
pub(crate) const fn can_pair(channel: Channel) -> bool {
    match channel {
        Channel::Cli | Channel::Http | Channel::Telegram => true,
        Channel::Scheduler | Channel::Hook | Channel::Timer | Channel::Metnos => false,
    }
}

fn draw() -> Option<Code> {
    (0..MAX_DRAWS).find_map(|_| random::<4>().ok().and_then(Code::of))
}

/// Lets go of what a turn that is over has taken elsewhere.
pub(crate) type Forget<'a> = &'a dyn Fn(TurnId);

impl Principals {
    /// A stranger is at the door. Nothing of what he says comes here but what has the form of a code.
    ///
    /// # Errors
    /// When he has no name, is no stranger, or it could not be recorded.
    pub(crate) async fn pair(&self, ask: Pair) -> Result<Paired, Refusal> {
        let principal = self.who(ask.channel, &ask.sender)?;
        if principal.standing != Standing::Stranger {
            return Ok(Paired::Known);
        }
        if !can_pair(ask.channel) {
            return Ok(Paired::Silence);
        }
        let now = self.base.clock.monotonic_ms();
        // An invitation is for the one who bears it, and not for a group.
        let shown = Code::parse(&ask.code).filter(|_| !is_group(&principal.name));
        let heard = self.book.borrow_mut().knock(ask.channel, &ask.sender, shown, now, draw);
        if shown.is_some() && heard == PairingReply::Silence {
            self.keep_lock(ask.channel, &ask.sender, now).await?;
        }
        match heard {
            PairingReply::Silence => Ok(Paired::Silence),
            PairingReply::Code(code, until) => {
                let seconds = u32::try_from(until.saturating_sub(now) / 1_000).unwrap_or(0);
                Ok(Paired::Code(StrangersCode { code: code.show(), seconds }))
            }
            PairingReply::Known(admission) => {
                let _one = self.change.one.lock().await;
                self.know(&principal.name, &admission, "by invitation").await?;
                Ok(Paired::Known)
            }
        }
    }

    /// Has it written down when this stranger is not heard any more, so that no restart lets him begin anew.
    async fn keep_lock(&self, channel: Channel, sender: &str, now: u64) -> Result<(), Refusal> {
        let locked = self.book.borrow().locked(now);
        let Some((.., until)) = locked.into_iter().find(|(on, who, _)| *on == channel && who == sender) else {
            return Ok(());
        };
        let until = self.base.clock.wall_ms().saturating_add(until.saturating_sub(now));
        let (wall, channel, sender) = (self.base.clock.wall_ms(), channel.name(), sender.to_owned());
        self.base
            .store
            .run(move |connection| {
                connection.execute("DELETE FROM pairing_locks WHERE until_ms <= ?1", [signed(wall)])?;
                // The first word counts: anyone who goes on trying does not make the disk work.
                let row = "INSERT OR IGNORE INTO pairing_locks VALUES (?1, ?2, ?3)";
                connection.execute(row, params![channel, sender, signed(until)]).map(|_| ())
            })
            .await
            .map_err(|error| not_durable(&error))
    }

    async fn know(&self, name: &str, admission: &Admission, how: &str) -> Result<(), Refusal> {
        fits_a_group(name, admission.standing, admission.person.as_deref())?;
        if self.paired.borrow().0.len() >= MAX_PEOPLE {
            let why = format!("{MAX_PEOPLE} principals are known, which is the limit");
            return Err(Refusal::new(RefusalCode::Busy, "pairing.full", why)
                .remedy("revoke one with `metnosctl pairing revoke`"));
        }
        // As nobody whom the principal was before, and as what the person is by now.
        let person = admission.person.as_deref();
        let is_other = self.persons.borrow().spoken_as(name) != person;
        if is_other {
            let joined = self.persons.borrow().joined(name, person);
            let line = format!("{name} is {} from now on, {how}", person.unwrap_or("nobody by name"));
            self.persons_are(joined, &line).await?;
        }
        let standing = self.persons.borrow().of(name).map_or(admission.standing, |(_, one)| standing_of(one.role));
        let line = format!("{name} is known as {} from now on, {how}", standing_name(standing));
        self.base.chronicled("paired", &line).await?;
        let (row, now) = (name.to_owned(), self.base.clock.wall_ms());
        self.base
            .store
            .run(move |connection| {
                let values = params![row, standing_name(standing), signed(now)];
                connection.execute("INSERT OR REPLACE INTO principals VALUES (?1, ?2, ?3)", values).map(|_| ())
            })
            .await
            .map_err(|error| not_durable(&error))?;
        self.paired.borrow_mut().0.insert(name.to_owned(), Person { standing, since_ms: now });
        // Which principals are the owner's has changed.
        self.tell_household().await;
        Ok(())
    }

    /// What the owner says about who is known.
    ///
    /// # Errors
    /// When a code is wrong, a name unknown, or it could not be recorded.
    pub(crate) async fn pairing(
        &self,
        by: &str,
        ask: PairingAsk,
        forget: Forget<'_>,
    ) -> Result<PairingAnswer, Refusal> {
        let now = self.base.clock.monotonic_ms();
        match ask {
            PairingAsk::List => Ok(PairingAnswer::People(self.list_people(now))),
            PairingAsk::Approve(ask) => {
                let admission = self.admission(ask.channel, ask.standing, &ask.person)?;
                let _one = self.change.one.lock().await;
                let code = Code::parse(&ask.code);
                let sender = self.book.borrow_mut().approve(ask.channel, code, now).map_err(fault)?;
                let name = format!("{}:{sender}", ask.channel.name());
                self.know(&name, &admission, &format!("on the word of {by}")).await?;
                Ok(PairingAnswer::Known(PrincipalPaired { principal: name, standing: admission.standing.into() }))
            }
            PairingAsk::Invite(ask) => {
                let admission = self.admission(ask.channel, ask.standing, &ask.person)?;
                let standing = admission.standing;
                let who = admission.person.as_deref().unwrap_or("somebody");
                let line = format!("{by} invites {who} on {} as {}", ask.channel.name(), standing_name(standing));
                self.base.chronicled("invited", &line).await?;
                let drawn = self.book.borrow_mut().invite(ask.channel, admission, now, draw);
                let (code, until) = drawn.map_err(fault)?;
                Ok(PairingAnswer::Invited(Invitation {
                    code: code.show(),
                    channel: ask.channel.name().to_owned(),
                    standing: standing.into(),
                    seconds: until.saturating_sub(now) / 1_000,
                }))
            }
            PairingAsk::Revoke(name) => {
                let _one = self.change.one.lock().await;
                self.unpair(by, &name, forget).await.map(PairingAnswer::Revoked)
            }
            PairingAsk::Speaks(ask) => self.set_lang(by, ask).await.map(PairingAnswer::Speaks),
        }
    }

    fn list_people(&self, now: u64) -> PeopleList {
        let (people, book) = (self.paired.borrow(), self.book.borrow());
        let persons = self.persons.borrow();
        let known = people.0.iter().map(|(name, person)| KnownPrincipal {
            principal: name.clone(),
            standing: persons.of(name).map_or(person.standing, |(_, one)| standing_of(one.role)).into(),
            person: persons.of(name).map(|(person, _)| person.to_owned()),
            since_ms: person.since_ms,
            lang: self.lang_of(name).into(),
        });
        let waiting = book.waiting(now).into_iter().map(|(channel, sender, until)| {
            let seconds = until.saturating_sub(now) / 1_000;
            WaitingStranger { channel: channel.name().to_owned(), sender, seconds }
        });
        let invitations = book.invitations(now).into_iter().map(|(channel, standing, until)| {
            let seconds = until.saturating_sub(now) / 1_000;
            OpenInvitation { channel: channel.name().to_owned(), standing: standing.into(), seconds }
        });
        PeopleList { known: known.collect(), waiting: waiting.collect(), invitations: invitations.collect() }
    }

    /// He is a stranger again at once: before it is even written, his turns are over and what runs for them is killed.
    pub(crate) async fn unpair(&self, by: &str, name: &str, forget: Forget<'_>) -> Result<Unpaired, Refusal> {
        let was_paired = self.paired.borrow_mut().0.remove(name).is_some();
        self.change.groups.borrow_mut().forget();
        if !was_paired && !self.automations.borrow_mut().forget(name) {
            let why = format!("{} was not paired", shown(name));
            return Err(Refusal::new(RefusalCode::Unknown, "pairing.unknown", why)
                .remedy("`metnosctl pairing list` shows who is known"));
        }
        self.tell_door_revoked(name);
        let ended = self.end_turns(name, forget).await;
        let row = name.to_owned();
        self.base
            .store
            .run(move |connection| {
                connection.execute("DELETE FROM levels WHERE principal = ?1", [&row])?;
                connection.execute("DELETE FROM automations WHERE principal = ?1", [&row])?;
                connection.execute("DELETE FROM languages WHERE principal = ?1", [&row])?;
                connection.execute("DELETE FROM principals WHERE name = ?1", [&row]).map(|_| ())
            })
            .await
            .map_err(|error| not_durable(&error))?;
        self.levels.borrow_mut().forget(name);
        self.languages.borrow_mut().forget(name);
        self.base.chronicled("revoked", &format!("{by} has made {name} a stranger again")).await?;
        if self.persons.borrow().spoken_as(name).is_some() {
            let rest = self.persons.borrow().joined(name, None);
            self.persons_are(rest, &format!("{by}: nobody speaks as {name} any more")).await?;
        } else {
            self.tell_household().await;
        }
        Ok(Unpaired { principal: name.to_owned(), standing: Standing::Stranger.into(), turns_ended: ended as u64 })
    }

    /// Ends the turns of a principal, and kills what runs for them; how many.
    pub(crate) async fn end_turns(&self, name: &str, forget: Forget<'_>) -> usize {
        let turns = self.turns.borrow_mut().end_of_principal(name);
        let ended = turns.len();
        for turn in turns {
            let kill = self.base.sandbox.kill(TraceId::NONE, Kill { turn: Some(turn) }, []);
            if let Err(error) = self.base.ask_sandbox(kill).await {
                tracing::warn!(%error, %turn, "what ran in a turn that is over could not be killed");
            }
            forget(turn);
        }
        ended
    }

    /// What somebody becomes who is paired on this channel: as the person of this name, else of this standing.
    fn admission(&self, channel: Channel, standing: Standing, person: &str) -> Result<Admission, Refusal> {
        fitting(channel, standing)?;
        if person.is_empty() {
            return Ok(Admission { standing, person: None });
        }
        let persons = self.persons.borrow();
        let (name, one) = persons.called(person).ok_or_else(|| unknown(person))?;
        Ok(Admission { standing: standing_of(one.role), person: Some(name.to_owned()) })
    }

    /// Has the door tell him nothing more, without waiting for it: one that does not listen loses its link.
    fn tell_door_revoked(&self, name: &str) {
        let Some(door) = self.door.open() else { return };
        let note = door_policyd::Note::Revoked(Revoked { principal: name.to_owned() });
        tokio::task::spawn_local(async move {
            if let Err(error) = door.send(note).await {
                tracing::debug!(%error, "no door hears that somebody was revoked");
            }
        });
    }
}

fn fitting(channel: Channel, standing: Standing) -> Result<(), Refusal> {
    let no = |why: &str| Err(Refusal::new(RefusalCode::Invalid, "pairing.form", why));
    if !can_pair(channel) {
        return no("nobody is paired on this channel: it has no senders");
    }
    match standing {
        Standing::Owner | Standing::Adult | Standing::Guest => Ok(()),
        Standing::Stranger => no("somebody is paired as owner, as adult or as guest"),
    }
}

fn fault(fault: Fault) -> Refusal {
    match fault {
        Fault::Wrong => {
            Refusal::new(RefusalCode::Denied, "pairing.code", "nobody who waits on this channel has that code")
                .remedy("a code is good for ten minutes and once; have him write again for another")
        }
        Fault::Locked => Refusal::new(
            RefusalCode::Denied,
            "pairing.locked",
            "five wrong codes: every code of this channel is void now",
        )
        .remedy("have him write again for another code"),
        Fault::Full => Refusal::new(RefusalCode::Busy, "pairing.full", "too many invitations are open")
            .remedy("wait ten minutes, or use one of them"),
    }
}
