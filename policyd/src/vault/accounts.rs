//! Accounts that persons have elsewhere: a server, a user name, a password. A call is given the one of the person whose turn it is,
//! and no other; where and as whom it logs in is sealed together with the password, so that neither can be changed alone.

use std::collections::{BTreeMap, BTreeSet};

use metnos_proto::doc::vault::{AccountAnswer, AccountKept, AccountRemoved, AccountRow};
use metnos_proto::executor::{is_address_literal, is_host_name, is_mail_address, is_name};
use metnos_proto::msg::accounts::{
    AccountAsk, AccountKind, AccountOf, AccountPut, HOUSEHOLD, MAIN, MAX_ACCOUNTS, MAX_USER, SMTP_PORT, is_devices,
};
use metnos_proto::msg::common::{Refusal, RefusalCode};
use metnos_proto::msg::sandboxd::MIN_REDACTED_SECRET;
use metnos_proto::payload::Sealed;
use rusqlite::{Connection, params};
use serde_json::Value;
use zeroize::Zeroizing;

use super::{Secrets, Vault, value_of};
use crate::decision::Verdict;
use crate::guard::shown;
use crate::refusals::internal;
use crate::store::{StoreError, not_durable, signed, unsigned};

/// The rule that denies a call whose person has no account of this kind. Each kind has its own, since it is also what the person
/// reads.
const fn missing(kind: AccountKind) -> &'static str {
    match kind {
        AccountKind::Mail => "account.missing_mail",
        AccountKind::Calendar => "account.missing_calendar",
        AccountKind::Home => "account.missing_home",
        AccountKind::Search => "account.missing_search",
    }
}

/// The rule of an account whose password cannot be read.
const UNOPENED: &str = "account.unopened";
/// The rule that denies a call about an account that is not there under this name.
pub const UNKNOWN: &str = "account.unknown";
/// The rule that denies a mail to be sent from an account without a server for that.
pub const NO_SENDING: &str = "account.no_sending";
/// The argument that names one of several accounts.
pub const ARGUMENT: &str = "account";
/// Whose the accounts of an owner are who is no person yet. No person can be called so.
pub const OWNER: &str = "owner";

/// The table.
pub(super) const TABLE: &str = "
    CREATE TABLE IF NOT EXISTS accounts (
        person TEXT NOT NULL, kind TEXT NOT NULL, name TEXT NOT NULL, host TEXT NOT NULL, port INTEGER NOT NULL,
        user TEXT NOT NULL, sealed BLOB NOT NULL, since_ms INTEGER NOT NULL, PRIMARY KEY (person, kind, name)
    ) STRICT;";

/// From where mail is sent: what a form of the database adds to [`TABLE`].
pub(crate) const SENDING_COLUMNS: &str = "
    CREATE TABLE IF NOT EXISTS accounts (
        person TEXT NOT NULL, kind TEXT NOT NULL, name TEXT NOT NULL, host TEXT NOT NULL, port INTEGER NOT NULL,
        user TEXT NOT NULL, sealed BLOB NOT NULL, since_ms INTEGER NOT NULL, PRIMARY KEY (person, kind, name)
    ) STRICT;
    ALTER TABLE accounts ADD COLUMN smtp_host TEXT NOT NULL DEFAULT '';
    ALTER TABLE accounts ADD COLUMN smtp_port INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE accounts ADD COLUMN address TEXT NOT NULL DEFAULT '';";

/// Which devices of a house: what a form of the database adds to [`TABLE`].
pub(crate) const DEVICES_COLUMN: &str = "ALTER TABLE accounts ADD COLUMN devices TEXT NOT NULL DEFAULT '';";

/// Which account a call wants.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Wanted<'a> {
    /// What for.
    pub kind: AccountKind,
    /// By its name.
    pub named: Option<&'a str>,
    /// Whether mail is sent from it.
    pub sends: bool,
}

/// What stands in a row.
const COLUMNS: &str = "person, kind, name, host, port, user, sealed, since_ms, smtp_host, smtp_port, address, devices";

/// Whose, what for, and under which name.
type Key = (String, AccountKind, String);

/// An account, its password sealed.
#[derive(Debug, Clone)]
struct Account {
    host: String,
    port: u16,
    user: String,
    sending: Option<Sending>,
    devices: String,
    sealed: Vec<u8>,
    since_ms: u64,
}

/// The server that takes mail to be sent, and the address that it is sent from.
#[derive(Debug, Clone)]
struct Sending {
    host: String,
    port: u16,
    address: String,
}

/// All accounts.
#[derive(Debug, Default)]
pub(crate) struct Accounts(BTreeMap<Key, Account>);

impl Account {
    /// What its password is sealed with: with another server or user name it does not open.
    fn bound_to(&self, (person, kind, name): &Key) -> String {
        let Self { host, port, user, sending, devices, sealed: _, since_ms: _ } = self;
        let mut own = format!("account {person}\n{}\n{name}\n{host}\n{port}\n{user}", kind.name());
        if !devices.is_empty() {
            own.push_str("\ndevices\n");
            own.push_str(devices);
        }
        match sending {
            None => own,
            Some(Sending { host, port, address }) => format!("{own}\nsending\n{host}\n{port}\n{address}"),
        }
    }
}

fn row((person, kind, name): &Key, account: &Account) -> AccountRow {
    AccountRow {
        person: person.clone(),
        kind: kind.name().to_owned(),
        name: name.clone(),
        host: account.host.clone(),
        port: account.port,
        user: account.user.clone(),
        smtp_host: account.sending.as_ref().map(|sending| sending.host.clone()).unwrap_or_default(),
        smtp_port: account.sending.as_ref().map_or(0, |sending| sending.port),
        address: account.sending.as_ref().map(|sending| sending.address.clone()).unwrap_or_default(),
        devices: account.devices.clone(),
        since_ms: account.since_ms,
    }
}

fn invalid(why: String) -> Refusal {
    Refusal::new(RefusalCode::Invalid, "account.form", why)
}

fn unopened(name: &str) -> Refusal {
    let why = format!(
        "the password of the account {name} cannot be opened: it was sealed under another key, or was changed on the disk"
    );
    Refusal::new(RefusalCode::Unavailable, UNOPENED, why).remedy("add the account again: `metnosctl account add`")
}

impl Accounts {
    pub(super) fn load(connection: &Connection) -> Result<Self, StoreError> {
        let mut statement = connection.prepare(&format!("SELECT {COLUMNS} FROM accounts"))?;
        let rows = statement.query_map([], |row| {
            let key = (row.get::<_, String>(0)?, row.get::<_, String>(1)?, row.get::<_, String>(2)?);
            let (host, port, user) = (row.get(3)?, row.get(4)?, row.get(5)?);
            let sending = Sending { host: row.get(8)?, port: row.get(9)?, address: row.get(10)? };
            let sending = Some(sending).filter(|sending| !sending.host.is_empty());
            let (devices, sealed, since_ms) = (row.get(11)?, row.get(6)?, unsigned(row.get(7)?));
            Ok((key, Account { host, port, user, sending, devices, sealed, since_ms }))
        })?;
        let mut accounts = Self::default();
        for row in rows {
            let ((person, kind, name), account) = row?;
            let kind = AccountKind::named(&kind)
                .ok_or_else(|| StoreError::Damaged(format!("the account {name} of {person}")))?;
            accounts.0.insert((person, kind, name), account);
        }
        Ok(accounts)
    }

    /// Whether there is none.
    #[must_use]
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn kinds_of(&self, person: &str) -> Vec<String> {
        let own = self.0.keys().filter(|(whose, _, _)| whose == person);
        let kinds: BTreeSet<&str> = own.map(|(_, kind, _)| kind.name()).collect();
        kinds.into_iter().map(str::to_owned).collect()
    }

    fn list(&self) -> Vec<AccountRow> {
        self.0.iter().map(|(key, account)| row(key, account)).collect()
    }

    /// The account that a call is about: the one that it names, else the one that this person has had for longest; where mail is
    /// sent, of those that it can be sent from.
    fn chosen(&self, person: &str, wanted: Wanted<'_>) -> Option<(&Key, &Account)> {
        let person = whose(person, wanted.kind);
        let own = self.0.iter().filter(|((whose, what, _), _)| whose == person && *what == wanted.kind);
        let lacks = |account: &Account| wanted.sends && account.sending.is_none();
        match wanted.named {
            Some(named) => own.into_iter().find(|((_, _, name), _)| name.eq_ignore_ascii_case(named)),
            None => own.min_by_key(|((_, _, name), account)| (lacks(account), account.since_ms, name.clone())),
        }
    }

    /// The accounts of an owner who was no person yet, as those of this person. One of a name that this person has already stays.
    fn moved(&self, vault: &Vault, person: &str) -> Vec<(Key, Account)> {
        let owners = self.0.iter().filter(|((whose, _, _), _)| whose == OWNER);
        let moved = owners.filter_map(|(old, account)| {
            let key = (person.to_owned(), old.1, old.2.clone());
            if self.0.contains_key(&key) {
                return None;
            }
            let password = vault.password(old, account)?;
            let sealed = vault.seal_own(&account.bound_to(&key), &password)?;
            Some((key, Account { sealed, ..account.clone() }))
        });
        moved.collect()
    }

    fn names(&self, person: &str, kind: AccountKind) -> Vec<&str> {
        let person = whose(person, kind);
        let own = self.0.keys().filter(|(whose, what, _)| whose == person && *what == kind);
        own.map(|(_, _, name)| name.as_str()).collect()
    }

    /// Why a call that is given an account cannot have one; `None` when it can.
    #[must_use]
    pub(crate) fn withheld(&self, person: Option<&str>, wanted: Wanted<'_>) -> Option<Verdict> {
        let Wanted { kind, named, sends } = wanted;
        let add = format!("`metnosctl account add {}`", kind.name());
        let Some(person) = person else {
            let why = format!("who asks is no person who could have a {} account here", kind.name());
            return Some(Verdict::deny(missing(kind), why).with_remedy("`metnosctl people add` says who is who"));
        };
        if let Some(((_, _, name), account)) = self.chosen(person, wanted) {
            return (sends && account.sending.is_none()).then(|| {
                let why = format!("the mail account {name} of {person} has no server that takes mail to be sent");
                let add = "the owner names one at the machine: `metnosctl account add mail --smtp HOST …`";
                Verdict::deny(NO_SENDING, why).with_remedy(add)
            });
        }
        let there = self.names(person, kind);
        Some(match named {
            Some(named) if !there.is_empty() => {
                let why = format!("there is no {} account called {} of {person}", kind.name(), shown(named));
                Verdict::deny(UNKNOWN, why).with_remedy(&format!("name one of these: {}", there.join(", ")))
            }
            Some(_) | None => {
                let person = whose(person, kind);
                let whose = if [OWNER, HOUSEHOLD].contains(&person) { String::new() } else { format!(" of {person}") };
                let why = format!("no {} account{whose} is connected yet", kind.name());
                Verdict::deny(missing(kind), why).with_remedy(&format!("the owner connects one at the machine: {add}"))
            }
        })
    }
}

impl Vault {
    fn password(&self, key: &Key, account: &Account) -> Option<Zeroizing<Vec<u8>>> {
        self.open_own(&account.bound_to(key), &account.sealed)
    }
}

impl Secrets {
    /// The account whose password stands in one of these texts.
    pub(super) fn password_in<'a>(&self, texts: impl Iterator<Item = &'a str> + Clone) -> Option<String> {
        let (accounts, vault) = (self.accounts.borrow(), self.vault.borrow());
        let told = accounts.0.iter().find(|(key, account)| {
            let Some(password) = vault.password(key, account) else { return false };
            let Ok(password) = std::str::from_utf8(&password) else { return false };
            password.len() >= MIN_REDACTED_SECRET && texts.clone().any(|text| text.contains(password))
        });
        told.map(|((person, kind, name), _)| format!("{} account {name} of {person}", kind.name()))
    }

    /// What goes to sandboxd with one call that is given an account: an object of texts.
    ///
    /// # Errors
    /// When the person has none, or it cannot be opened.
    pub(crate) fn account_for(&self, person: Option<&str>, wanted: Wanted<'_>) -> Result<Sealed, Refusal> {
        let accounts = self.accounts.borrow();
        if let Some(withheld) = accounts.withheld(person, wanted) {
            return Err(withheld.refusal());
        }
        let chosen = person.and_then(|person| accounts.chosen(person, wanted));
        let (key, account) = chosen.ok_or_else(|| internal("an account was allowed that is not there"))?;
        let password = self.vault.borrow().password(key, account).ok_or_else(|| unopened(&key.2))?;
        let password = std::str::from_utf8(&password).map_err(|_| unopened(&key.2))?;
        let port = account.port.to_string();
        let mut fields = vec![
            ("host", account.host.as_str()),
            ("name", key.2.as_str()),
            ("password", password),
            ("port", port.as_str()),
            ("user", account.user.as_str()),
        ];
        if wanted.kind == AccountKind::Home {
            fields.push(("devices", account.devices.as_str()));
        }
        let sending = account.sending.as_ref().filter(|_| wanted.sends);
        let smtp_port = sending.map(|sending| sending.port.to_string()).unwrap_or_default();
        if let Some(Sending { host, port: _, address }) = sending {
            fields.extend([
                ("smtp_host", host.as_str()),
                ("smtp_port", smtp_port.as_str()),
                ("address", address.as_str()),
            ]);
        }
        let mut document = Zeroizing::new(vec![b'{']);
        for (at, (field, value)) in fields.into_iter().enumerate() {
            let text = Zeroizing::new(serde_json::to_vec(value).map_err(|_| unopened(&key.2))?);
            document.extend_from_slice(if at > 0 { b",\"" } else { b"\"" });
            document.extend_from_slice(field.as_bytes());
            document.extend_from_slice(b"\":");
            document.extend_from_slice(&text);
        }
        document.push(b'}');
        Sealed::new(&document).map_err(|error| internal(&error.to_string()))
    }

    /// Which kinds of accounts this person has.
    pub(crate) fn kinds_of(&self, person: &str) -> Vec<String> {
        self.accounts.borrow().kinds_of(person)
    }

    /// The owner lists accounts, or removes one. `named` gives the name of the person who is called so.
    ///
    /// # Errors
    /// When there is no such person or account, or it could not be recorded.
    pub(crate) async fn accounts(
        &self,
        by: &str,
        ask: AccountAsk,
        named: impl Fn(&str) -> Result<String, Refusal>,
    ) -> Result<AccountAnswer, Refusal> {
        match ask {
            AccountAsk::List => Ok(AccountAnswer::Accounts(self.accounts.borrow().list())),
            AccountAsk::Remove(of) => {
                let key = key_of(of, &named)?;
                self.remove_account(by, key).await.map(AccountAnswer::Removed)
            }
        }
    }

    /// The owner adds an account, or gives one another server, user name and password.
    ///
    /// # Errors
    /// When something of it does not fit, or it could not be made durable: nothing has changed then.
    pub(crate) async fn put_account(
        &self,
        by: &str,
        put: AccountPut,
        sealed: &Sealed,
        named: impl Fn(&str) -> Result<String, Refusal>,
    ) -> Result<AccountKept, Refusal> {
        let AccountPut { of, host, port, user, smtp_host, smtp_port, address, devices } = put;
        let key = key_of(of, &named)?;
        let host = host.to_ascii_lowercase();
        let of_house = matches!(key.1, AccountKind::Home | AccountKind::Search);
        if !(is_host_name(&host) || of_house && is_address_literal(&host)) {
            let why =
                format!("the host is {}; expected is the name of a server such as imap.example.org", shown(&host));
            return Err(invalid(why).remedy("a server of the house is reached by a name that the resolver knows"));
        }
        let fits = !user.is_empty() && user.len() <= MAX_USER && !user.chars().any(char::is_control);
        if !fits {
            let why =
                format!("the user is {}; expected are 1 to {MAX_USER} bytes without control characters", shown(&user));
            return Err(invalid(why));
        }
        let sending = sending_of(key.1, &user, (smtp_host, smtp_port, address))?;
        let devices = devices_of(key.1, &devices)?;
        let password = value_of(sealed)?;
        // IMAP has no way to say these (RFC 3501 §9).
        if password.iter().any(|byte| matches!(byte, b'\r' | b'\n')) {
            return Err(invalid("a password is one line".to_owned()));
        }
        let _one = self.keeping.lock().await;
        let own = self.accounts.borrow().0.keys().filter(|(person, _, _)| *person == key.0).count();
        let before = self.accounts.borrow().0.get(&key).map(|account| account.since_ms);
        let replaced = before.is_some();
        if !replaced && own >= MAX_ACCOUNTS {
            let why = format!("{} has {MAX_ACCOUNTS} accounts, which is the limit", key.0);
            return Err(Refusal::new(RefusalCode::Busy, "account.full", why));
        }
        let port = if port == 0 { key.1.port() } else { port };
        let no_random = || Refusal::new(RefusalCode::Unavailable, "policyd.random", "nothing can be sealed now");
        // A new password makes it no younger: which account is meant where none is named stays the same.
        let since_ms = before.unwrap_or_else(|| self.base.clock.wall_ms());
        let mut account = Account { host, port, user, sending, devices, sealed: Vec::new(), since_ms };
        account.sealed = self.vault.borrow().seal_own(&account.bound_to(&key), &password).ok_or_else(no_random)?;
        let (person, kind, name) = &key;
        let line = format!(
            "{by} has {} the {} account {name} of {person}: {} at {}:{}{}",
            if replaced { "changed" } else { "added" },
            kind.name(),
            account.user,
            account.host,
            account.port,
            account.sending.as_ref().map_or_else(String::new, |Sending { host, port, address }| {
                format!(", which sends as {address} by {host}:{port}")
            })
        );
        self.base.chronicled("account_set", &line).await?;
        self.store_account(key.clone(), account.clone()).await?;
        let document = AccountKept { account: row(&key, &account), replaced };
        self.accounts.borrow_mut().0.insert(key, account);
        Ok(document)
    }

    async fn store_account(&self, at: Key, kept: Account) -> Result<(), Refusal> {
        self.base
            .store
            .run(move |connection| {
                let Account { host, port, user, sending, devices, sealed, since_ms } = kept;
                let (smtp_host, smtp_port, address) =
                    sending.map(|to| (to.host, to.port, to.address)).unwrap_or_default();
                let values = params![
                    at.0,
                    at.1.name(),
                    at.2,
                    host,
                    port,
                    user,
                    sealed,
                    signed(since_ms),
                    smtp_host,
                    smtp_port,
                    address,
                    devices
                ];
                let all = format!(
                    "INSERT OR REPLACE INTO accounts ({COLUMNS}) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)"
                );
                connection.execute(&all, values).map(|_| ())
            })
            .await
            .map_err(|error| not_durable(&error))
    }

    async fn remove_account(&self, by: &str, key: Key) -> Result<AccountRemoved, Refusal> {
        let _one = self.keeping.lock().await;
        let (person, kind, name) = (key.0.clone(), key.1.name(), key.2.clone());
        // Gone for every call from now on, whatever becomes of the record.
        if self.accounts.borrow_mut().0.remove(&key).is_none() {
            let why = format!("{person} has no {kind} account called {}", shown(&name));
            return Err(Refusal::new(RefusalCode::Unknown, UNKNOWN, why)
                .remedy("`metnosctl account list` shows those that there are"));
        }
        self.base
            .store
            .run(move |connection| {
                let gone = "DELETE FROM accounts WHERE person = ?1 AND kind = ?2 AND name = ?3";
                connection.execute(gone, params![key.0, key.1.name(), key.2]).map(|_| ())
            })
            .await
            .map_err(|error| not_durable(&error))?;
        let line = format!("{by} has removed the {kind} account {name} of {person}");
        self.base.chronicled("account_removed", &line).await?;
        Ok(AccountRemoved { person, kind: kind.to_owned(), name })
    }

    /// The owner is this person from now on: what the owner had before being one is that person's.
    ///
    /// # Errors
    /// When that could not be made durable: nothing has changed then.
    pub(crate) async fn adopt_accounts(&self, person: &str) -> Result<(), Refusal> {
        let _one = self.keeping.lock().await;
        let moved = self.accounts.borrow().moved(&self.vault.borrow(), person);
        if moved.is_empty() {
            return Ok(());
        }
        let rows: Vec<_> = moved.iter().map(|(key, account)| (key.clone(), account.sealed.clone())).collect();
        self.base
            .store
            .run(move |connection| {
                let all = connection.unchecked_transaction()?;
                for ((person, kind, name), sealed) in rows {
                    let change =
                        "UPDATE accounts SET person = ?1, sealed = ?2 WHERE person = ?3 AND kind = ?4 AND name = ?5";
                    all.execute(change, params![person, sealed, OWNER, kind.name(), name])?;
                }
                all.commit()
            })
            .await
            .map_err(|error| not_durable(&error))?;
        let mut accounts = self.accounts.borrow_mut();
        for (key, account) in moved {
            accounts.0.remove(&(OWNER.to_owned(), key.1, key.2.clone()));
            accounts.0.insert(key, account);
        }
        Ok(())
    }

    /// A person is gone, and the accounts with it: somebody who is called so later has none of them.
    ///
    /// # Errors
    /// When that could not be made durable.
    pub(crate) async fn forget_accounts(&self, person: &str) -> Result<(), Refusal> {
        let _one = self.keeping.lock().await;
        self.accounts.borrow_mut().0.retain(|(whose, _, _), _| whose != person);
        let gone = person.to_owned();
        self.base
            .store
            .run(move |connection| connection.execute("DELETE FROM accounts WHERE person = ?1", [&gone]).map(|_| ()))
            .await
            .map_err(|error| not_durable(&error))
    }
}

/// The account that these arguments name.
#[must_use]
pub(crate) fn named_in(arguments: &Value) -> Option<&str> {
    arguments.get(ARGUMENT).and_then(Value::as_str)
}

/// The devices of a house, as they were put.
fn devices_of(kind: AccountKind, devices: &str) -> Result<String, Refusal> {
    let list = devices.split(',').map(|one| one.trim_matches(' ')).collect::<Vec<_>>().join(",");
    match (kind, devices.is_empty()) {
        (AccountKind::Home, _) if is_devices(&list) => Ok(list),
        (AccountKind::Home, _) => {
            let why = format!("the devices are {}; expected are such as light.*,cover.blinds", shown(devices));
            Err(invalid(why).remedy("`--devices` lists what may be looked at and switched"))
        }
        (AccountKind::Mail | AccountKind::Calendar | AccountKind::Search, true) => Ok(String::new()),
        (AccountKind::Mail | AccountKind::Calendar | AccountKind::Search, false) => {
            Err(invalid(format!("a {} account has no devices", kind.name())))
        }
    }
}

/// From where mail is sent, as it was put: server, port and address.
fn sending_of(
    kind: AccountKind,
    user: &str,
    (host, port, address): (String, u16, String),
) -> Result<Option<Sending>, Refusal> {
    let host = host.to_ascii_lowercase();
    if host.is_empty() {
        let alone = port == 0 && address.is_empty();
        return alone.then_some(None).ok_or_else(|| {
            invalid("a port or an address to send from is named, and no server that takes mail to be sent".to_owned())
        });
    }
    if kind != AccountKind::Mail {
        return Err(invalid(format!("a {} account sends no mail, so it has no server for that", kind.name())));
    }
    if !is_host_name(&host) {
        let why = format!(
            "the server that takes mail to be sent is {}; expected is a name such as smtp.example.org",
            shown(&host)
        );
        return Err(invalid(why));
    }
    let address = if address.is_empty() { user.to_owned() } else { address };
    if !is_mail_address(&address) {
        let why = format!(
            "the address that mail is sent from is {}; expected is one such as anna@example.org",
            shown(&address)
        );
        return Err(invalid(why).remedy("where the user name is no address, `--address` says it"));
    }
    Ok(Some(Sending { host, port: if port == 0 { SMTP_PORT } else { port }, address }))
}

/// Which account is meant.
fn key_of(of: AccountOf, named: &impl Fn(&str) -> Result<String, Refusal>) -> Result<Key, Refusal> {
    let name = if of.name.is_empty() { MAIN.to_owned() } else { of.name };
    if !is_name(&name) {
        let why = format!("the name is {}; expected are small letters, digits and `_`, a letter first", shown(&name));
        return Err(invalid(why));
    }
    match (of.kind, of.person.is_empty()) {
        (AccountKind::Search, true) => Ok((HOUSEHOLD.to_owned(), of.kind, name)),
        (AccountKind::Search, false) => {
            let why = "a search server is the household's, and is connected for no single person";
            Err(invalid(why.to_owned()).remedy("leave `--person` out"))
        }
        (AccountKind::Mail | AccountKind::Calendar | AccountKind::Home, _) => Ok((named(&of.person)?, of.kind, name)),
    }
}

/// Whose an account of this kind is that this person uses.
const fn whose(person: &str, kind: AccountKind) -> &str {
    match kind {
        AccountKind::Search => HOUSEHOLD,
        AccountKind::Mail | AccountKind::Calendar | AccountKind::Home => person,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic)]
    use super::*;

    fn accounts(vault: &Vault, all: &[(&str, &str, u64)]) -> Accounts {
        let one = |(person, name, since_ms): &(&str, &str, u64)| {
            let key = ((*person).to_owned(), AccountKind::Mail, (*name).to_owned());
            let (host, user) = ("imap.example.org".to_owned(), format!("{person}@example.org"));
            let sending = (*name == "work").then(|| Sending {
                host: "smtp.example.org".to_owned(),
                port: 465,
                address: format!("{person}.work@example.org"),
            });
            let devices = String::new();
            let mut account =
                Account { host, port: 993, user, sending, devices, sealed: Vec::new(), since_ms: *since_ms };
            account.sealed = vault.seal_own(&account.bound_to(&key), b"app password").unwrap();
            (key, account)
        };
        Accounts(all.iter().map(one).collect())
    }

    #[test]
    fn a_call_is_given_an_account_of_its_own_person_and_of_nobody_else() {
        let vault = Vault::default();
        let all = accounts(&vault, &[("Anna", "work", 2), ("Anna", "main", 1), ("Bruno", "home", 3)]);
        let wanted = |named, sends| Wanted { kind: AccountKind::Mail, named, sends };
        let chosen = |person, named| all.chosen(person, wanted(named, false)).map(|(key, _)| key.2.as_str());
        assert_eq!(chosen("Anna", None), Some("main"), "the one that was there first");
        assert_eq!(chosen("Anna", Some("Work")), Some("work"));
        assert_eq!(chosen("Anna", Some("home")), None, "it is Bruno's");
        assert_eq!(chosen("Carla", None), None);
        let rule = |person, named| all.withheld(person, wanted(named, false)).map(|verdict| verdict.rule);
        assert_eq!(rule(Some("Anna"), None), None);
        assert_eq!(rule(Some("Anna"), Some("home")).as_deref(), Some(UNKNOWN));
        assert_eq!(rule(Some("Carla"), Some("home")).as_deref(), Some("account.missing_mail"));
        assert_eq!(rule(None, None).as_deref(), Some("account.missing_mail"));
        let sends = |person, named| all.withheld(Some(person), wanted(named, true)).map(|verdict| verdict.rule);
        assert_eq!(sends("Anna", None), None, "the one that it can be sent from");
        assert_eq!(sends("Anna", Some("main")).as_deref(), Some(NO_SENDING));
        assert_eq!(sends("Bruno", None).as_deref(), Some(NO_SENDING));
    }

    #[test]
    fn a_search_server_serves_each_person_and_nobody_else() {
        let vault = Vault::default();
        let mut all = accounts(&vault, &[("Anna", "main", 1)]);
        let wanted = Wanted { kind: AccountKind::Search, named: None, sends: false };
        let rule = |all: &Accounts, person| all.withheld(person, wanted).map(|verdict| verdict.rule);
        assert_eq!(rule(&all, Some("Anna")).as_deref(), Some("account.missing_search"));
        let named = |person: &str| -> Result<String, Refusal> { panic!("no person is looked up: {person}") };
        let of = |person: &str| AccountOf { person: person.to_owned(), kind: AccountKind::Search, name: String::new() };
        let key = key_of(of(""), &named).unwrap();
        assert_eq!((key.0.as_str(), key.2.as_str()), (HOUSEHOLD, MAIN));
        assert!(key_of(of("Anna"), &named).unwrap_err().why.contains("no single person"));
        let (_, account) = all.0.first_key_value().unwrap();
        all.0.insert(key, account.clone());
        for person in ["Anna", "Bruno", OWNER] {
            assert_eq!(rule(&all, Some(person)), None, "{person}");
        }
        assert_eq!(
            rule(&all, None).as_deref(),
            Some("account.missing_search"),
            "a guest is no person of the household"
        );
    }

    #[test]
    fn devices_are_listed_for_a_house_and_for_nothing_else() {
        let (mail, home) = (AccountKind::Mail, AccountKind::Home);
        assert_eq!(devices_of(home, "light.*, cover.blinds").unwrap(), "light.*,cover.blinds");
        assert_eq!(devices_of(mail, "").unwrap(), "");
        for (kind, devices) in [(home, ""), (home, "*"), (home, "light.*\n"), (mail, "light.*")] {
            assert!(devices_of(kind, devices).is_err(), "{devices:?}");
        }
    }

    #[test]
    fn server_that_sends_is_named_with_an_address_and_for_mail_alone() {
        let of = |kind, user, host: &str, port, address: &str| {
            sending_of(kind, user, (host.to_owned(), port, address.to_owned()))
        };
        let (mail, calendar) = (AccountKind::Mail, AccountKind::Calendar);
        let sending = of(mail, "anna@example.org", "SMTP.example.org", 0, "").unwrap().unwrap();
        assert_eq!(
            (sending.host.as_str(), sending.port, sending.address.as_str()),
            ("smtp.example.org", 465, "anna@example.org")
        );
        assert!(of(mail, "anna", "", 0, "").unwrap().is_none());
        assert!(of(mail, "anna", "smtp.example.org", 587, "anna@example.org").unwrap().is_some());
        for (kind, user, host, port, address, named) in [
            (mail, "anna", "smtp.example.org", 0, "", "anna@example.org"),
            (mail, "anna", "localhost", 0, "anna@example.org", "smtp.example.org"),
            (mail, "anna", "", 587, "", "no server"),
            (mail, "anna", "smtp.example.org", 0, "anna@example.org\r\nx", "anna@example.org"),
            (calendar, "anna@example.org", "smtp.example.org", 0, "", "calendar"),
        ] {
            let why = of(kind, user, host, port, address).unwrap_err().why;
            assert!(why.contains(named), "{why}");
        }
    }

    #[test]
    fn what_an_owner_had_before_being_a_person_is_that_persons() {
        let vault = Vault::default();
        let all = accounts(&vault, &[(OWNER, "main", 1), (OWNER, "work", 2), ("Anna", "work", 3)]);
        let moved = all.moved(&vault, "Anna");
        let [(key, account)] = moved.as_slice() else { panic!("one is moved: {moved:?}") };
        assert_eq!((key.0.as_str(), key.2.as_str()), ("Anna", "main"), "what Anna has already stays");
        assert_eq!(vault.password(key, account).unwrap().as_slice(), b"app password");
        assert!(all.moved(&vault, "Bruno").iter().all(|(key, _)| key.0 == "Bruno"));
    }

    #[test]
    fn a_password_does_not_open_for_another_server_or_user() {
        let vault = Vault::default();
        let all = accounts(&vault, &[("Anna", "main", 1)]);
        let (key, account) = all.chosen("Anna", Wanted { kind: AccountKind::Mail, named: None, sends: false }).unwrap();
        assert_eq!(vault.password(key, account).unwrap().as_slice(), b"app password");
        let moved = [
            Account { host: "evil.example.org".to_owned(), ..account.clone() },
            Account { port: 994, ..account.clone() },
            Account { user: "bruno@example.org".to_owned(), ..account.clone() },
            Account { devices: "lock.*".to_owned(), ..account.clone() },
            Account {
                sending: Some(Sending {
                    host: "evil.example.org".to_owned(),
                    port: 465,
                    address: "anna@example.org".to_owned(),
                }),
                ..account.clone()
            },
        ];
        assert!(moved.iter().all(|moved| vault.password(key, moved).is_none()));
        let others = ("Bruno".to_owned(), key.1, key.2.clone());
        assert!(vault.password(&others, account).is_none());
        assert!(!format!("{all:?}").contains("app password"));
    }
}
