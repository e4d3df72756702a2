//! Completion scripts, printed for the shell to read. Touches no instance and no daemon.

use clap::CommandFactory;
use clap_complete::Shell;
use serde_json::json;

use crate::cli::Cli;
use crate::error::{CtlError, Exit};
use crate::screen::Screen;

/// Prints the script.
///
/// # Errors
/// When the output is gone.
pub fn completions(screen: &mut Screen, shell: Shell) -> Result<Exit, CtlError> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "metnosctl", &mut script);
    if screen.json() {
        screen.document(&json!({ "shell": shell.to_string(), "script": String::from_utf8_lossy(&script) }))?;
    } else {
        screen.raw(&script)?;
    }
    Ok(Exit::Done)
}
