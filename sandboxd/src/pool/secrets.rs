//! The secrets of a call. They come sealed from policyd, go into the one request to the one process, and
//! are wiped. They must never reach a log, a record, a result or another call.

use std::collections::BTreeMap;

use metnos_proto::msg::accounts::AccountKind;
use metnos_proto::msg::common::Outcome;
use metnos_proto::msg::sandboxd::{MAX_SECRET, MIN_REDACTED_SECRET};
use metnos_proto::payload::Sealed;
use zeroize::{Zeroize, Zeroizing};

use super::Finished;
use crate::plan::Plan;

/// Texts by name, wiped when dropped.
#[derive(Default)]
pub struct Secrets {
    texts: BTreeMap<String, String>,
    /// Where they are the parts of an account, the password alone is secret.
    account: AccountParts,
}

/// The one part of an account that is secret.
const PASSWORD: &str = "password";

/// Which parts of an account come with a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum AccountParts {
    /// No account comes with it.
    #[default]
    None,
    /// The server where it lies, and who logs in.
    Own,
    /// Also the server that takes mail to be sent, and from which address.
    Sending,
    /// Also the devices of the house that it is about.
    Home,
}

/// The servers of an account that came with a call: name and port.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Servers<'a> {
    /// The one where it lies.
    pub own: Option<(&'a str, u16)>,
    /// The one that takes mail to be sent.
    pub sending: Option<(&'a str, u16)>,
}

impl AccountParts {
    /// What a call of this plan is given.
    #[must_use]
    pub fn of(plan: &Plan) -> Self {
        match plan.account() {
            None => Self::None,
            Some(AccountKind::Mail) if plan.sends_mail() => Self::Sending,
            Some(AccountKind::Mail | AccountKind::Calendar | AccountKind::Search) => Self::Own,
            Some(AccountKind::Home) => Self::Home,
        }
    }

    /// Their names, in order, each with what a birth test is given in its place.
    const fn names(self) -> &'static [(&'static str, &'static str)] {
        const OWN: &[(&str, &str)] = &[
            ("host", "mail.example"),
            ("name", "birth"),
            (PASSWORD, "birth of a password"),
            ("port", "993"),
            ("user", "birth"),
        ];
        const SENDING: &[(&str, &str)] = &[
            ("address", "birth@mail.example"),
            ("host", "mail.example"),
            ("name", "birth"),
            (PASSWORD, "birth of a password"),
            ("port", "993"),
            ("smtp_host", "mail.example"),
            ("smtp_port", "465"),
            ("user", "birth"),
        ];
        const HOME: &[(&str, &str)] = &[
            ("devices", "light.*"),
            ("host", "home.example"),
            ("name", "birth"),
            (PASSWORD, "birth of a password"),
            ("port", "8123"),
            ("user", "birth"),
        ];
        match self {
            Self::None => &[],
            Self::Own => OWN,
            Self::Sending => SENDING,
            Self::Home => HOME,
        }
    }
}

impl std::fmt::Debug for Secrets {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_set().entries(self.texts.keys()).finish()
    }
}

impl Drop for Secrets {
    fn drop(&mut self) {
        self.texts.values_mut().for_each(Zeroize::zeroize);
    }
}

impl Secrets {
    /// None.
    #[must_use]
    pub const fn none() -> Self {
        Self { texts: BTreeMap::new(), account: AccountParts::None }
    }

    /// What a birth test is given in their place: no test ever holds a real one.
    #[must_use]
    pub fn of_birth(plan: &Plan) -> Self {
        let account = AccountParts::of(plan);
        if account != AccountParts::None {
            let texts = account.names().iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
            return Self { texts: texts.collect(), account };
        }
        let names = plan.spec().secrets.iter();
        Self { texts: names.map(|name| (name.clone(), format!("birth of {name}"))).collect(), account }
    }

    /// Reads what came with a call: exactly the secrets of these names, no more and no fewer; or an account.
    ///
    /// # Errors
    /// In a sentence without any value, what does not fit.
    pub fn read(sealed: Option<Sealed>, names: &[String], account: AccountParts) -> Result<Self, String> {
        let is_account = account != AccountParts::None;
        let Some(sealed) = sealed else {
            return if names.is_empty() && !is_account {
                Ok(Self::none())
            } else {
                Err("its secrets did not come with it".to_owned())
            };
        };
        let bytes = Zeroizing::new(sealed.read().map_err(|error| error.to_string())?);
        // What serde_json has to say of a text could quote it.
        let read: Result<BTreeMap<String, String>, _> = serde_json::from_slice(&bytes);
        let texts = read.map_err(|_| "what came with it is no object of texts".to_owned())?;
        let read = Self { texts, account };
        let is_whole = || {
            let Servers { own, sending } = read.servers();
            let names = account.names().iter().map(|(name, _)| *name);
            read.texts.keys().map(String::as_str).eq(names)
                && own.is_some()
                && sending.is_some() == (account == AccountParts::Sending)
        };
        if is_account && (!names.is_empty() || !is_whole()) {
            return Err("what came with it is no account".to_owned());
        }
        if !is_account && !read.texts.keys().eq(names) {
            return Err("the secrets that came with it are not those that its manifest names".to_owned());
        }
        if read.texts.values().any(|value| value.is_empty() || value.len() > MAX_SECRET) {
            return Err(format!("a secret has 1 to {MAX_SECRET} bytes"));
        }
        Ok(read)
    }

    /// The servers of the account.
    #[must_use]
    pub fn servers(&self) -> Servers<'_> {
        match self.account {
            AccountParts::None => Servers::default(),
            AccountParts::Own | AccountParts::Home => Servers { own: self.server("host", "port"), sending: None },
            AccountParts::Sending => {
                Servers { own: self.server("host", "port"), sending: self.server("smtp_host", "smtp_port") }
            }
        }
    }

    fn server(&self, host: &str, port: &str) -> Option<(&str, u16)> {
        let port = self.texts.get(port)?.parse().ok().filter(|port| *port > 0)?;
        Some((self.texts.get(host)?.as_str(), port))
    }

    /// Those that must stand in nothing that comes out, by name.
    fn secret(&self) -> impl Iterator<Item = (&String, &String)> {
        self.texts.iter().filter(|(name, _)| self.account == AccountParts::None || name.as_str() == PASSWORD)
    }

    /// The request with the secrets in it: a JSON object that ends with its last brace.
    #[must_use]
    pub fn put_into(&self, mut request: Vec<u8>) -> Vec<u8> {
        if self.texts.is_empty() {
            return request;
        }
        // Texts by texts: nothing that could not be written.
        let mut written = serde_json::to_vec(&self.texts).unwrap_or_default();
        request.pop();
        let field: &[u8] = if self.account == AccountParts::None { b",\"secrets\":" } else { b",\"account\":" };
        request.extend_from_slice(field);
        request.extend_from_slice(&written);
        request.push(b'}');
        written.zeroize();
        request
    }

    /// The file that a call gives, if no secret stands in it.
    ///
    /// # Errors
    /// In a sentence, which one does, or that it cannot be read.
    pub(crate) fn not_in(&self, file: Option<Sealed>) -> Result<Option<Sealed>, String> {
        let Some(given) = file.as_ref().filter(|_| !self.texts.is_empty()) else { return Ok(file) };
        let bytes = given.read().map_err(|error| error.to_string())?;
        match self.secret().find(|(_, value)| holds(&bytes, value)) {
            Some((name, _)) => Err(format!("it holds the secret `{name}`")),
            None => Ok(file),
        }
    }

    /// A result that holds a secret is none, and neither is anything else that it has said.
    #[must_use]
    pub fn withhold(&self, mut finished: Finished) -> Finished {
        if self.texts.is_empty() {
            return finished;
        }
        finished.log.zeroize();
        // Only what was tried, not on what: that is its own word.
        finished.alarms.iter_mut().for_each(|alarm| alarm.truncate(alarm.find(' ').unwrap_or(alarm.len())));
        let told = |bytes: &[u8]| self.secret().find(|(_, value)| holds(bytes, value)).map(|(name, _)| name.clone());
        if told(finished.detail.as_bytes()).is_some() {
            finished.detail = "what it says of itself holds a secret".to_owned();
        }
        if let Some(name) = finished.result.as_deref().and_then(told) {
            finished.result.zeroize();
            finished.outcome = Outcome::BadOutput;
            finished.detail = format!("its result holds the secret `{name}`, so it is withheld");
        }
        finished
    }
}

/// Whether the text stands in these bytes, as it is or as JSON writes it.
fn holds(bytes: &[u8], value: &str) -> bool {
    if value.len() < MIN_REDACTED_SECRET {
        return false;
    }
    let stands = |text: &[u8]| bytes.windows(text.len()).any(|window| window == text);
    let written = Zeroizing::new(serde_json::to_string(value).unwrap_or_default());
    let inner = written.get(1..written.len().saturating_sub(1)).unwrap_or_default();
    stands(value.as_bytes()) || inner != value && stands(inner.as_bytes())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use metnos_proto::msg::common::Resources;
    use serde_json::{Value, json};

    fn sealed(value: &Value) -> Option<Sealed> {
        Some(Sealed::new(value.to_string().as_bytes()).unwrap())
    }

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn exactly_the_named_ones_come_and_what_is_said_of_others_quotes_none() {
        let both = json!({"a": "hunter22", "b": "x"});
        assert!(Secrets::read(sealed(&both), &names(&["a", "b"]), AccountParts::None).is_ok());
        assert!(Secrets::read(None, &[], AccountParts::None).is_ok());
        for (came, wanted) in [
            (None, names(&["a"])),
            (sealed(&both), names(&["a"])),
            (sealed(&both), names(&["a", "b", "c"])),
            (sealed(&both), Vec::new()),
            (sealed(&json!({"a": ""})), names(&["a"])),
            (sealed(&json!({"a": "x".repeat(MAX_SECRET + 1)})), names(&["a"])),
            (sealed(&json!({"a": ["hunter22"]})), names(&["a"])),
            (sealed(&json!("hunter22")), names(&["a"])),
            (Some(Sealed::new(b"hunter22").unwrap()), names(&["a"])),
        ] {
            let why = Secrets::read(came, &wanted, AccountParts::None).unwrap_err();
            assert!(!why.contains("hunter22"), "{why}");
        }
        assert!(
            !format!("{:?}", Secrets::read(sealed(&both), &names(&["a", "b"]), AccountParts::None))
                .contains("hunter22")
        );
    }

    #[test]
    fn secrets_are_added_to_the_request_only_when_present() {
        let secrets = Secrets::read(sealed(&json!({"a": "q\"uote"})), &names(&["a"]), AccountParts::None).unwrap();
        let request: Value = serde_json::from_slice(&secrets.put_into(b"{\"args\":{}}".to_vec())).unwrap();
        assert_eq!(request, json!({"args": {}, "secrets": {"a": "q\"uote"}}));
        assert_eq!(Secrets::none().put_into(b"{\"args\":{}}".to_vec()), b"{\"args\":{}}");
    }

    #[test]
    fn result_containing_a_secret_is_withheld_with_all_output() {
        let secrets =
            Secrets::read(sealed(&json!({"a": "line one\nline \"two\""})), &names(&["a"]), AccountParts::None).unwrap();
        let finished = |result: &str, detail: &str| Finished {
            outcome: Outcome::Ok,
            result: Some(result.as_bytes().to_vec()),
            detail: detail.to_owned(),
            log: "line one\nline \"two\"".to_owned(),
            alarms: vec!["open /etc/passwd-line one".to_owned()],
            resources: Resources::NONE,
        };
        let told = secrets.withhold(finished(&json!({"x": "-line one\nline \"two\"-"}).to_string(), ""));
        assert_eq!((told.outcome, told.result, told.log.as_str()), (Outcome::BadOutput, None, ""));
        assert_eq!(told.alarms, ["open"]);
        assert!(!told.detail.contains("line"), "{}", told.detail);
        let told = secrets.withhold(finished("{}", "KeyError: line one\nline \"two\""));
        assert!(told.outcome == Outcome::Ok && !told.detail.contains("line"));
        let kept = secrets.withhold(finished("{\"ok\":true}", "line one"));
        assert!(kept.result.is_some() && kept.detail == "line one");
        let log = Secrets::none().withhold(finished("{}", "")).log;
        assert!(!log.is_empty(), "without secrets nothing is taken away");
    }

    #[test]
    fn a_file_that_holds_the_password_is_not_handed_on() {
        let account = json!({
            "host": "imap.example.org", "name": "main", "password": "hunter22", "port": "993", "user": "anna@example.org"
        });
        let secrets = Secrets::read(sealed(&account), &[], AccountParts::Own).unwrap();
        let file = |bytes: &[u8]| Some(Sealed::new(bytes).unwrap());
        assert!(secrets.not_in(file(b"%PDF-1.4 anna@example.org")).unwrap().is_some());
        assert!(secrets.not_in(None).unwrap().is_none());
        let why = secrets.not_in(file(b"PK\x03\x04 hunter22 \0")).unwrap_err();
        assert!(why.contains("password") && !why.contains("hunter22"), "{why}");
        assert!(Secrets::none().not_in(file(b"hunter22")).unwrap().is_some());
    }

    #[test]
    fn the_server_that_sends_comes_where_the_manifest_has_it_and_nowhere_else() {
        let account = json!({
            "address": "anna@example.org", "host": "imap.example.org", "name": "main", "password": "hunter22",
            "port": "993", "smtp_host": "smtp.example.org", "smtp_port": "465", "user": "anna@example.org"
        });
        let secrets = Secrets::read(sealed(&account), &[], AccountParts::Sending).unwrap();
        let both = Servers { own: Some(("imap.example.org", 993)), sending: Some(("smtp.example.org", 465)) };
        assert_eq!(secrets.servers(), both);
        assert!(Secrets::read(sealed(&account), &[], AccountParts::Own).is_err());
        let mut without = account;
        without["smtp_port"] = json!("0");
        assert!(Secrets::read(sealed(&without), &[], AccountParts::Sending).is_err());
    }

    #[test]
    fn an_account_is_whole_and_its_password_alone_is_withheld() {
        let account = json!({
            "host": "imap.example.org", "name": "main", "password": "hunter22", "port": "993", "user": "anna@example.org"
        });
        let secrets = Secrets::read(sealed(&account), &[], AccountParts::Own).unwrap();
        assert_eq!(secrets.servers(), Servers { own: Some(("imap.example.org", 993)), sending: None });
        let request: Value = serde_json::from_slice(&secrets.put_into(b"{\"args\":{}}".to_vec())).unwrap();
        assert_eq!(request, json!({"args": {}, "account": account}));
        for (field, value) in [("port", json!("0")), ("port", json!("x")), ("port", json!(993)), ("more", json!("x"))] {
            let mut other = account.clone();
            other[field] = value;
            assert!(Secrets::read(sealed(&other), &[], AccountParts::Own).is_err(), "{field}");
        }
        assert!(
            Secrets::read(sealed(&account), &[], AccountParts::None).is_err()
                && Secrets::read(None, &[], AccountParts::Own).is_err()
        );
        assert!(Secrets::read(sealed(&json!({"a": "x"})), &[], AccountParts::Own).is_err());
        let finished = |result: &str| Finished {
            outcome: Outcome::Ok,
            result: Some(result.as_bytes().to_vec()),
            detail: String::new(),
            log: String::new(),
            alarms: Vec::new(),
            resources: Resources::NONE,
        };
        assert!(secrets.withhold(finished("{\"to\":\"anna@example.org\"}")).result.is_some());
        assert!(secrets.withhold(finished("{\"text\":\"it is hunter22\"}")).result.is_none());
    }
}
