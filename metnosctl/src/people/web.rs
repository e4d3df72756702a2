//! `web`: a link that leads into the page, good once.

use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use metnos_proto::doc::people::{PairingAnswer, PersonsAnswer, Role};
use metnos_proto::edges::{CtlDoor, CtlPolicyd};
use metnos_proto::ids::TraceId;
use metnos_proto::msg::common::{Channel, Standing};
use metnos_proto::msg::door::DoorStatus;
use metnos_proto::msg::people::{Invite, PairingAsk, PersonsAsk};
use schemars::JsonSchema;
use serde::Serialize;

use crate::command_line::nouns::WebLinkAsked;
use crate::daemons::connection::{Connection, opened};
use crate::error::{CtlError, Exit};
use crate::instance::Instance;
use crate::screen::Screen;

/// A link that leads into the page.
#[derive(Debug, Serialize, JsonSchema)]
pub struct WebLink {
    /// The address, with a code that is good once.
    pub link: String,
    /// How long it is good.
    pub seconds: u64,
    /// What its bearer becomes: `owner`, `adult` or `guest`.
    pub standing: String,
    /// Whether a browser was started with it.
    pub opened: bool,
}

/// Makes the link, and opens it where there is a browser.
///
/// # Errors
/// When the door listens nowhere, or policyd refuses or cannot be reached.
pub fn web(screen: &mut Screen, instance: &Instance, asked: &WebLinkAsked) -> Result<Exit, CtlError> {
    let mut reach = Connection::to(instance)?;
    let mut door = reach.open::<CtlDoor>()?;
    let (report, []) = door.door_status(TraceId::NONE, DoorStatus {}, [])?;
    let Ok(address) = report.http.parse::<std::net::SocketAddr>() else {
        return Err(CtlError::failed(
            "the page cannot be opened",
            nowhere(&report.http),
            "set `listen = \"127.0.0.1:42618\"` below `[http]` in metnos.toml, then `metnosctl daemon restart gatewayd`",
        ));
    };
    let mut policyd = reach.open::<CtlPolicyd>()?;
    let person = match (&asked.person, asked.standing) {
        (Some(person), _) => person.clone(),
        // The owner is greeted by name, once there is one.
        (None, Standing::Owner) => match opened(policyd.persons(TraceId::NONE, PersonsAsk::List, [])?)? {
            PersonsAnswer::Persons(all) => {
                all.0.iter().find(|one| one.role == Role::Owner).map(|one| one.name.clone()).unwrap_or_default()
            }
            PersonsAnswer::Person(_) | PersonsAnswer::Removed(_) => String::new(),
        },
        (None, Standing::Adult | Standing::Guest | Standing::Stranger) => String::new(),
    };
    let ask = PairingAsk::Invite(Invite { channel: Channel::Http, standing: asked.standing, person });
    let PairingAnswer::Invited(made) = opened(policyd.pairing(TraceId::NONE, ask, [])?)? else {
        let why = "policyd has answered with something else than an invitation";
        return Err(CtlError::failed("no link was made", why, "`metnosctl doctor` says what is wrong"));
    };
    // By its name: what a browser keeps for this place, it keeps for the name.
    let link = format!("http://localhost:{}/#{}", address.port(), made.code);
    let is_opened = !asked.print && !screen.json() && browser_opens(&link);
    let made = WebLink { link, seconds: made.seconds, standing: made.standing.name().to_owned(), opened: is_opened };
    if screen.json() {
        screen.document(&made)?;
        return Ok(Exit::Done);
    }
    let minutes = made.seconds.div_ceil(60);
    screen.line(&format!(
        "{}\nOpen it in a browser of this machine within {minutes} minutes. It lets one in, once.",
        made.link
    ))?;
    if is_opened {
        screen.line("A browser was started with it.")?;
    }
    Ok(Exit::Done)
}

fn nowhere(http: &str) -> &str {
    if http.is_empty() { "the door listens on no port" } else { http }
}

/// Whether a browser was started. The link leads in, so it stands in no command line: the browser is given a file that only this
/// user can read.
fn browser_opens(link: &str) -> bool {
    let has_screen =
        ["DISPLAY", "WAYLAND_DISPLAY"].iter().any(|name| std::env::var_os(name).is_some_and(|v| !v.is_empty()));
    let Some(folder) = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from).filter(|_| has_screen) else {
        return false;
    };
    let Some(file) = leading_to(&folder, link) else { return false };
    let started =
        Command::new("xdg-open").arg(file).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
    started.is_ok()
}

fn leading_to(folder: &Path, link: &str) -> Option<PathBuf> {
    let path = folder.join("metnos-web.html");
    let _ = std::fs::remove_file(&path);
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path).ok()?;
    let page = format!(
        "<!doctype html><meta charset=\"utf-8\"><title>Metnos</title><meta http-equiv=\"refresh\" content=\"0;url={link}\">"
    );
    file.write_all(page.as_bytes()).ok()?;
    Some(path)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn the_file_that_leads_in_is_read_by_nobody_else() {
        let folder = tempfile::tempdir().unwrap();
        for link in ["http://localhost:1/#K7-DELTA-19", "http://localhost:1/#K8-DELTA-20"] {
            let path = leading_to(folder.path(), link).unwrap();
            assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
            assert!(std::fs::read_to_string(&path).unwrap().contains(link));
        }
        assert!(leading_to(Path::new("/nonexistent"), "x").is_none());
    }
}
