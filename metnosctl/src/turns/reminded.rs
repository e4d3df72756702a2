//! Reminders at an open chat: shown beside the line that is typed, as soon as they are due.

use std::time::Duration;

use metnos_proto::edges::CtlDoor;
use metnos_proto::ids::TraceId;
use metnos_proto::msg::door::RemindMe;
use rustyline::ExternalPrinter;

use crate::daemons::connection::Connection;
use crate::error::CtlError;
use crate::instance::Instance;
use crate::screen::escape;

/// How long a door that is not there is waited for.
const AGAIN_AFTER: Duration = Duration::from_secs(5);

/// Shows reminders as they come, until the process ends. A person who is not known is shown nothing.
pub(super) fn watch(instance: Instance, mut printer: impl ExternalPrinter + Send + 'static) {
    let watching = std::thread::Builder::new().name("reminders".to_owned());
    let started = watching.spawn(move || {
        let (mut door, mut shown) = (None, false);
        loop {
            let open = match door.take() {
                Some(open) => Ok(open),
                None => Connection::to(&instance).and_then(|mut reach| reach.open::<CtlDoor>()),
            };
            let asked = open.and_then(|mut open| {
                let (reminded, []) = open.remind_me(TraceId::NONE, RemindMe { shown }, [])?;
                Ok((reminded.text, open))
            });
            shown = false;
            match asked {
                Ok((text, open)) => {
                    door = Some(open);
                    if !text.is_empty() {
                        if printer.print(format!("{}\n", escape::line(&text))).is_err() {
                            return;
                        }
                        shown = true;
                    }
                }
                Err(CtlError::Refused(_)) => return,
                // The door is there again in a moment.
                Err(_) => std::thread::sleep(AGAIN_AFTER),
            }
        }
    });
    // Without it a reminder stands before the next answer.
    drop(started);
}
