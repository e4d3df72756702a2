//! Whether the door receives on the channels that it was given: HTTP's place may be another principal's, Telegram may refuse the
//! token. `doctor` finds it, `status` marks it, and anyone who begins a conversation at a terminal is notified.

use std::net::SocketAddr;

use metnos_proto::edges::CtlDoor;
use metnos_proto::ids::TraceId;
use metnos_proto::link::BlockingClient;
use metnos_proto::msg::door::{DoorReport, DoorStatus};
use metnos_texts::{Key, tell};

use crate::daemons::connection::Connection;
use crate::error::CtlError;
use crate::health::host::Finding;
use crate::screen::escape;
use crate::screen::{Ink, Screen};

/// Why there is no HTTP, where there should be.
#[must_use]
pub fn http_trouble(report: &DoorReport) -> Option<&str> {
    let well = report.http == "off" || report.http.parse::<SocketAddr>().is_ok();
    (!well).then_some(report.http.as_str())
}

/// Why the bot does not receive, where there is one.
#[must_use]
pub fn telegram_trouble(report: &DoorReport) -> Option<&str> {
    let well = report.telegram.is_empty() || report.telegram == "listens" || report.telegram.ends_with(" listens");
    (!well).then_some(report.telegram.as_str())
}

/// What `doctor` finds of them.
pub(crate) fn findings(reach: &mut Connection) -> Vec<Finding> {
    let asked = reach.open::<CtlDoor>().and_then(|mut door| Ok(door.door_status(TraceId::NONE, DoorStatus {}, [])?.0));
    match asked {
        Ok(report) => of_report(&report),
        Err(error) => vec![Finding::bad("http", error.to_string(), error.remedy())],
    }
}

fn of_report(report: &DoorReport) -> Vec<Finding> {
    let http = match http_trouble(report) {
        None => Finding::good("http", report.http.clone()),
        Some(why) => Finding::bad(
            "http",
            why.to_owned(),
            "`ss -ltnp` shows who has the place: end that program, or write another one as `http.listen` in metnos.toml and \
             start Metnos anew; the door takes its place as soon as it is free",
        ),
    };
    let telegram = match telegram_trouble(report) {
        None if report.telegram.is_empty() => Finding::good("telegram", "no bot is configured"),
        None => Finding::good("telegram", report.telegram.clone()),
        Some(why) => Finding::bad(
            "telegram",
            why.to_owned(),
            "give the bot's token again (`metnosctl telegram token`), or a new one from @BotFather; if Telegram cannot be \
             reached, look at this machine's way to the net: it is tried again by itself",
        ),
    };
    vec![http, telegram]
}

/// Notifies the owner who begins a conversation which channel does not receive. No one else is notified, and a door that does not say
/// learns of elsewhere.
///
/// # Errors
/// Only when the output is gone.
pub fn say_trouble(screen: &mut Screen, door: &mut BlockingClient<CtlDoor>) -> Result<(), CtlError> {
    let Ok((report, [])) = door.door_status(TraceId::NONE, DoorStatus {}, []) else { return Ok(()) };
    for (key, why) in [(Key::TermHttpAway, http_trouble(&report)), (Key::TermTelegramAway, telegram_trouble(&report))] {
        if let Some(why) = why {
            let why = escape::line(why);
            screen.aside(Ink::Warn, &tell(screen.lang(), key, &[("why", (&why).into())]))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(http: &str, telegram: &str) -> DoorReport {
        DoorReport {
            sessions: 0,
            turns: 0,
            turns_total: 0,
            models: String::new(),
            http: http.into(),
            telegram: telegram.into(),
        }
    }

    #[test]
    fn channel_that_does_not_listen_is_a_problem_with_remedy() {
        for (http, telegram) in [("off", ""), ("127.0.0.1:42618", "@bot listens"), ("[::1]:1", "listens")] {
            assert!(of_report(&report(http, telegram)).iter().all(|one| one.ok && one.remedy.is_empty()), "{http}");
        }
        let bad = of_report(&report(
            "not on 127.0.0.1:42618: Address already in use; it is tried again",
            "is not served: Telegram refuses (401): Unauthorized; it is tried again",
        ));
        assert!(bad.iter().all(|one| !one.ok && !one.remedy.is_empty()), "{bad:?}");
        assert!(!of_report(&report("off", "has not reached Telegram yet"))[1].ok);
    }
}
