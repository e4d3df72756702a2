//! `telegram`: the bot. Its token goes from the terminal or standard input to the door and nowhere else.

use metnos_proto::edges::CtlDoor;
use metnos_proto::ids::TraceId;
use metnos_proto::msg::door::{DoorStatus, MAX_TOKEN, PutToken};
use metnos_proto::payload::Sealed;
use metnos_proto::role::RoleName;
use schemars::JsonSchema;
use serde::Serialize;

use crate::command_line::nouns::TelegramCommand;
use crate::daemons::connection::Connection;
use crate::error::{CtlError, Exit};
use crate::instance::Instance;
use crate::people::secret::{Given, typed};
use crate::screen::Screen;
use crate::screen::escape;

/// The token of the bot was given, or taken away.
#[derive(Debug, Serialize, JsonSchema)]
pub struct TokenPut {
    /// Where the token comes from.
    token: Given,
}

/// How the bot does.
#[derive(Debug, Serialize, JsonSchema)]
pub struct BotStatus {
    /// Whether there is one.
    configured: bool,
    /// How it does; empty when there is none.
    state: String,
}

/// Does what `telegram` says.
///
/// # Errors
/// When the door refuses or cannot be reached, or no token can be read.
pub fn telegram(screen: &mut Screen, instance: &Instance, command: &TelegramCommand) -> Result<Exit, CtlError> {
    match command {
        TelegramCommand::Token => token(screen, instance),
        TelegramCommand::Status => status(screen, instance),
    }
}

fn token(screen: &mut Screen, instance: &Instance) -> Result<Exit, CtlError> {
    // Before anything is typed: is there a person to give it to?
    let mut door = Connection::to(instance)?.open::<CtlDoor>()?;
    let value = typed(screen, "the token of the bot; nothing takes it away", MAX_TOKEN)?;
    let given = !value.trim_ascii().is_empty();
    let sealed = Sealed::new(&value).map_err(|error| CtlError::failed("the token", error, ""))?;
    door.put_token(TraceId::NONE, PutToken {}, [sealed])?;
    drop(door);
    Connection::to(instance)?.restart(RoleName::Gatewayd)?;
    if screen.json() {
        screen.document(&TokenPut { token: Given::is(given) })?;
    } else if given {
        screen.line(
            "The door keeps the token and is started anew. `metnosctl telegram status` shows how the bot does;",
        )?;
        screen.line("`metnosctl pairing invite telegram --as owner` makes a code to say to it.")?;
    } else {
        screen.line("The door has no token any more; no bot is served.")?;
    }
    Ok(Exit::Done)
}

fn status(screen: &mut Screen, instance: &Instance) -> Result<Exit, CtlError> {
    let mut door = Connection::to(instance)?.open::<CtlDoor>()?;
    let (report, []) = door.door_status(TraceId::NONE, DoorStatus {}, [])?;
    if screen.json() {
        screen.document(&BotStatus { configured: !report.telegram.is_empty(), state: report.telegram })?;
    } else if report.telegram.is_empty() {
        screen.line("No bot is configured: @BotFather makes one, then `metnosctl telegram token`.")?;
    } else {
        screen.line(&escape::line(&report.telegram))?;
    }
    Ok(Exit::Done)
}
