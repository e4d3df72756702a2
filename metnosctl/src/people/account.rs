//! `account`: the accounts that persons have elsewhere. A password is read from standard input or typed without being shown; it is
//! never taken from the command line, and never printed.

use metnos_proto::doc::vault::{AccountAnswer, AccountKept, AccountRow};
use metnos_proto::edges::CtlPolicyd;
use metnos_proto::executor::is_mail_address;
use metnos_proto::ids::TraceId;
use metnos_proto::msg::accounts::{AccountAsk, AccountKind, AccountOf, AccountPut, MAIN, NO_LOGIN};
use metnos_proto::msg::sandboxd::MAX_SECRET;
use metnos_proto::payload::Sealed;
use zeroize::Zeroizing;

use crate::command_line::cli::Run;
use crate::command_line::nouns::{AccountCommand, AccountNamed};
use crate::daemons::connection::{Connection, opened};
use crate::error::{CtlError, Exit};
use crate::instance::Instance;
use crate::people::secret::typed;
use crate::screen::escape;
use crate::screen::table::{Table, cell};
use crate::screen::{Ink, Screen};
use crate::turns::run;

/// The executor that shows whether an account of this kind can be used.
const fn tried_by(kind: AccountKind) -> &'static str {
    match kind {
        AccountKind::Mail => "imap_status",
        AccountKind::Calendar => "calendar_events",
        AccountKind::Home => "home_list",
        AccountKind::Search => "web_search",
    }
}

/// What somebody asks who wants to see whether it can be used.
const fn asked_by(kind: AccountKind) -> &'static str {
    match kind {
        AccountKind::Mail => "do I have new mail?",
        AccountKind::Calendar => "what is on my calendar?",
        AccountKind::Home => "which lights are on?",
        AccountKind::Search => "search the web for bread recipes",
    }
}

/// The executor that shows whether mail can be sent. It logs in, and sends nothing.
const SENDING_TRIED_BY: &str = "smtp_status";
/// What is searched for to see whether a search server answers.
const TRIED_WITH: &str = "Metnos";
/// What stands for the user name of a house.
const HOME_USER: &str = "token";
/// How `--smtp` says that an account only reads.
const NO_SMTP: &str = "none";
/// The servers of providers whose names do not follow from each other: for mail that is read, for mail that is sent, and the port
/// of the latter, as the providers publish them.
const PROVIDERS: &[(&str, &str, u16)] = &[
    ("outlook.office365.com", "smtp.office365.com", 587),
    ("imap-mail.outlook.com", "smtp-mail.outlook.com", 587),
    ("imap.mail.me.com", "smtp.mail.me.com", 587),
    ("imap.gmx.net", "mail.gmx.net", 465),
    ("imap.gmx.com", "mail.gmx.com", 465),
    ("imapmail.libero.it", "smtp.libero.it", 465),
    ("in.virgilio.it", "out.virgilio.it", 465),
    ("imaps.aruba.it", "smtps.aruba.it", 465),
    ("imaps.pec.aruba.it", "smtps.pec.aruba.it", 465),
];

/// Who logs in: a house knows that by the token.
fn user_of(kind: AccountKind, typed: Option<&str>) -> Result<String, CtlError> {
    match (typed, kind) {
        (Some(user), _) => Ok(user.to_owned()),
        (None, AccountKind::Home) => Ok(HOME_USER.to_owned()),
        (None, AccountKind::Search) => Ok(NO_LOGIN.to_owned()),
        (None, AccountKind::Mail | AccountKind::Calendar) => Err(CtlError::failed(
            "--user",
            "it says who logs in at the server, and is missing",
            "`--user anna@example.org`",
        )),
    }
}

/// The server that usually takes mail to be sent beside this one, and its port; 0 for the usual port.
fn usual_smtp(host: &str) -> Option<(String, u16)> {
    let host = host.to_ascii_lowercase();
    if let Some((_, smtp, port)) = PROVIDERS.iter().find(|(imap, ..)| *imap == host) {
        return Some(((*smtp).to_owned(), *port));
    }
    match host.split_once('.')? {
        ("imap", rest) => Some((format!("smtp.{rest}"), 0)),
        ("mail", _) => Some((host, 0)),
        _ => None,
    }
}

/// The server for mail that is sent, as it was typed, else the usual one where there is an address to send from; empty for none.
fn smtp_of(kind: AccountKind, host: &str, typed: Option<&str>, sender: &str) -> Result<(String, u16), CtlError> {
    match typed {
        Some(NO_SMTP) => Ok((String::new(), 0)),
        Some(typed) => {
            let (host, port) = typed.split_once(':').unwrap_or((typed, "0"));
            let wrong = || {
                let what = format!("the port in {typed:?} is no number from 1 to 65535");
                CtlError::failed("--smtp", what, "`--smtp smtp.example.org:587`")
            };
            let port = port.parse().ok().filter(|port| *port > 0 || !typed.contains(':')).ok_or_else(wrong)?;
            Ok((host.to_owned(), port))
        }
        None if kind == AccountKind::Mail && is_mail_address(sender) => Ok(usual_smtp(host).unwrap_or_default()),
        None => Ok((String::new(), 0)),
    }
}

/// The password of an account, as it is typed or comes by standard input.
fn password_of(
    screen: &mut Screen,
    kind: AccountKind,
    (user, host): (&str, &str),
) -> Result<Zeroizing<Vec<u8>>, CtlError> {
    let what = match kind {
        AccountKind::Search if user == NO_LOGIN => return Ok(Zeroizing::new(NO_LOGIN.as_bytes().to_vec())),
        AccountKind::Mail | AccountKind::Calendar | AccountKind::Search => format!("the password of {user} at {host}"),
        AccountKind::Home => format!("the access token for {host}"),
    };
    typed(screen, &what, MAX_SECRET)
}

/// Does what `account` says.
///
/// # Errors
/// When policyd refuses or cannot be reached, or no password can be read.
pub fn account(screen: &mut Screen, instance: &Instance, command: &AccountCommand) -> Result<Exit, CtlError> {
    match command {
        AccountCommand::List => answered(screen, instance, AccountAsk::List),
        AccountCommand::Remove { of, person } => {
            answered(screen, instance, AccountAsk::Remove(of_person(of, person.as_ref())))
        }
        AccountCommand::Test { of, sending } => {
            let by = if *sending { SENDING_TRIED_BY } else { tried_by(of.kind) };
            if *sending && of.kind != AccountKind::Mail {
                let what = format!("a {} account sends no mail", of.kind.name());
                return Err(CtlError::failed("--sending", what, "`metnosctl account test mail --sending`"));
            }
            tried(screen, instance, (of, by))
        }
        AccountCommand::Add { of, person, host, port, user, smtp, address, devices } => {
            let user = &user_of(of.kind, user.as_deref())?;
            let sender = address.as_deref().unwrap_or(user);
            let (smtp_host, smtp_port) = smtp_of(of.kind, host, smtp.as_deref(), sender)?;
            let password = password_of(screen, of.kind, (user, host))?;
            if password.is_empty() || password.len() > MAX_SECRET {
                let what = format!("it has {} bytes; a password has 1 to {MAX_SECRET}", password.len());
                return Err(CtlError::failed("the password", what, "`pass mail | metnosctl account add mail …`"));
            }
            let sealed = Sealed::new(&password).map_err(|error| CtlError::failed("the password", error, ""))?;
            let put = AccountPut {
                of: of_person(of, person.as_ref()),
                host: host.clone(),
                port: port.unwrap_or(0),
                user: user.clone(),
                address: address.clone().filter(|_| !smtp_host.is_empty()).unwrap_or_default(),
                smtp_host,
                smtp_port,
                devices: devices.clone().unwrap_or_default(),
            };
            let mut policyd = Connection::to(instance)?.open::<CtlPolicyd>()?;
            let kept = opened(policyd.account_put(TraceId::NONE, put, [sealed])?)?;
            drop(policyd);
            if screen.json() {
                screen.document(&kept)?;
                return Ok(Exit::Done);
            }
            show_kept(screen, &kept)?;
            if person.is_some() {
                let who = escape::line(&kept.account.person);
                screen.line(&format!("Whether it works, {who} sees by asking “{}”.", asked_by(of.kind)))?;
                return Ok(Exit::Done);
            }
            let reads = tried(screen, instance, (of, tried_by(of.kind)))?;
            if reads != Exit::Done || kept.account.smtp_host.is_empty() {
                return Ok(reads);
            }
            tried(screen, instance, (of, SENDING_TRIED_BY))
        }
    }
}

fn answered(screen: &mut Screen, instance: &Instance, ask: AccountAsk) -> Result<Exit, CtlError> {
    let mut policyd = Connection::to(instance)?.open::<CtlPolicyd>()?;
    let answer = opened(policyd.accounts(TraceId::NONE, ask, [])?)?;
    if screen.json() {
        screen.document(&answer)?;
        return Ok(Exit::Done);
    }
    match &answer {
        AccountAnswer::Accounts(rows) => list(screen, rows)?,
        AccountAnswer::Removed(gone) => {
            let (person, kind, name) = (escape::line(&gone.person), escape::line(&gone.kind), escape::line(&gone.name));
            screen.line(&format!("The {kind} account {name} of {person} is gone, with its password."))?;
        }
    }
    Ok(Exit::Done)
}

/// The owner's own account, tried as a call that is decided on and recorded like any other.
fn tried(screen: &mut Screen, instance: &Instance, (of, by): (&AccountNamed, &str)) -> Result<Exit, CtlError> {
    let mut pairs = vec![format!("account={}", of.name.as_deref().unwrap_or(MAIN))];
    if of.kind == AccountKind::Search {
        pairs.push(format!("query={TRIED_WITH}"));
    }
    let call = Run { executor: by.to_owned(), pairs, args: None };
    let end = run::run(screen, instance, &call)?;
    if end == Exit::Done && !screen.json() {
        screen.line(works(by))?;
    }
    Ok(end)
}

/// What is said of an account once this executor has logged in.
fn works(by: &str) -> &'static str {
    match by {
        SENDING_TRIED_BY => "Mail can be sent from it. Nothing was sent now.",
        "imap_status" => "Mail can be read there.",
        "home_list" => "The house answers.",
        "web_search" => "Searches are answered.",
        _ => "Its calendars can be read.",
    }
}

fn of_person(of: &AccountNamed, person: Option<&String>) -> AccountOf {
    let (person, name) = (person.cloned().unwrap_or_default(), of.name.clone().unwrap_or_default());
    AccountOf { person, kind: of.kind, name }
}

fn show_kept(screen: &mut Screen, kept: &AccountKept) -> Result<(), CtlError> {
    let AccountRow { person, kind, name, host, port, user, smtp_host, smtp_port, address, devices, since_ms: _ } =
        &kept.account;
    let did = if kept.replaced { "is changed" } else { "is added" };
    let (person, user, host) = (escape::line(person), escape::line(user), escape::line(host));
    screen.line(&format!("The {kind} account {name} of {person} {did}: {user} at {host}, port {port}."))?;
    if !devices.is_empty() {
        screen.line(&format!("It may look at and switch {}.", escape::line(devices)))?;
    }
    if !smtp_host.is_empty() {
        let (address, smtp_host) = (escape::line(address), escape::line(smtp_host));
        screen.line(&format!("Mail is sent from it as {address}, by {smtp_host}, port {smtp_port}."))?;
    } else if kept.account.kind == AccountKind::Mail.name() {
        screen.line("Mail is read there, and not sent: `--smtp HOST` names a server that takes mail to be sent.")?;
    }
    screen
        .aside(Ink::Dim, "Its password is sealed in the vault; it is given to calls of that person's own turns alone.")
}

fn list(screen: &mut Screen, rows: &[AccountRow]) -> Result<(), CtlError> {
    if rows.is_empty() {
        return screen.line("There are no accounts. `metnosctl account add mail` adds a mailbox, `metnosctl account add calendar` a calendar, `metnosctl account add home` a house, `metnosctl account add search` a search server.");
    }
    let mut table = Table::new(&["PERSON", "KIND", "NAME", "SERVER", "USER", "SENDS BY"]);
    for one in rows {
        let server = format!("{}:{}", one.host, one.port);
        let by = if one.smtp_host.is_empty() { String::new() } else { format!("{}:{}", one.smtp_host, one.smtp_port) };
        table.row(vec![cell(&one.person), cell(&one.kind), cell(&one.name), cell(server), cell(&one.user), cell(by)]);
    }
    table.show(screen, 0)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn server_that_sends_is_the_typed_one_or_the_usual_one_beside_the_other() {
        let of = |host, typed, sender| smtp_of(AccountKind::Mail, host, typed, sender).unwrap();
        let anna = "anna@example.org";
        assert_eq!(of("imap.example.org", None, anna), ("smtp.example.org".to_owned(), 0));
        assert_eq!(of("mail.example.org", None, anna), ("mail.example.org".to_owned(), 0));
        assert_eq!(of("outlook.office365.com", None, anna), ("smtp.office365.com".to_owned(), 587));
        assert_eq!(of("post.example.org", None, anna), (String::new(), 0));
        assert_eq!(of("imap.example.org", None, "anna"), (String::new(), 0), "there is no address to send from");
        assert_eq!(of("imap.example.org", Some("none"), anna), (String::new(), 0));
        assert_eq!(of("imap.example.org", Some("out.example.org:587"), anna), ("out.example.org".to_owned(), 587));
        assert_eq!(of("imap.example.org", Some("out.example.org"), "anna"), ("out.example.org".to_owned(), 0));
        for wrong in ["out.example.org:", "out.example.org:0", "out.example.org:x", "out.example.org:70000"] {
            assert!(smtp_of(AccountKind::Mail, "imap.example.org", Some(wrong), anna).is_err(), "{wrong}");
        }
        let calendar = smtp_of(AccountKind::Calendar, "mail.example.org", None, anna).unwrap();
        assert_eq!(calendar, (String::new(), 0));
    }
}
