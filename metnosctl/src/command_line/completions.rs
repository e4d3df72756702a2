//! Completion scripts, printed for the shell to read, and manual pages. Touches no instance and no daemon.

use std::path::Path;

use clap::CommandFactory;
use clap_complete::Shell;
use schemars::JsonSchema;
use serde::Serialize;

use crate::command_line::cli::Cli;
use crate::error::{CtlError, Exit};
use crate::json_constant::ConstTrue;
use crate::screen::Screen;
use crate::screen::escape;

/// What completes commands in a shell.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Completions {
    /// The shell.
    shell: String,
    /// The script.
    script: String,
}

/// Manual pages were written.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ManPages {
    /// It was done.
    ok: ConstTrue,
    /// Where they are.
    folder: String,
    /// The name of each file.
    pages: Vec<String>,
}

/// Prints the script.
///
/// # Errors
/// When the output is gone.
pub fn completions(screen: &mut Screen, shell: Shell) -> Result<Exit, CtlError> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "metnosctl", &mut script);
    if screen.json() {
        let script = String::from_utf8_lossy(&script).into_owned();
        screen.document(&Completions { shell: shell.to_string(), script })?;
    } else {
        screen.raw(&script)?;
    }
    Ok(Exit::Done)
}

/// Writes a page for each command.
///
/// # Errors
/// When the folder cannot be written, or the output is gone.
pub fn man(screen: &mut Screen, folder: &Path) -> Result<Exit, CtlError> {
    let failed = |error| {
        let what = format!("no manual pages can be written into {}", folder.display());
        CtlError::failed(what, error, "name a folder of your own, such as ~/.local/share/man/man1")
    };
    std::fs::create_dir_all(folder).map_err(failed)?;
    let mut command = Cli::command();
    command.build();
    let pages = pages(&command, "metnosctl");
    for (name, page) in &pages {
        std::fs::write(folder.join(name), page).map_err(failed)?;
    }
    if screen.json() {
        let names = pages.iter().map(|(name, _)| name.clone()).collect();
        screen.document(&ManPages { ok: ConstTrue, folder: folder.display().to_string(), pages: names })?;
    } else {
        let (count, place) = (pages.len(), escape::line(&folder.display().to_string()));
        screen.line(&format!("{count} pages are in {place}; to read one: man {place}/metnosctl.1"))?;
    }
    Ok(Exit::Done)
}

/// Each command's page, by the name of its file.
fn pages(command: &clap::Command, name: &str) -> Vec<(String, Vec<u8>)> {
    let mut page = Vec::new();
    // Rendering into memory meets no disk.
    let _rendered = clap_mangen::Man::new(command.clone()).render(&mut page);
    let mut all = vec![(format!("{name}.1"), page)];
    for sub in command.get_subcommands().filter(|sub| !sub.is_hide_set() && sub.get_name() != "help") {
        all.extend(pages(sub, &format!("{name}-{}", sub.get_name())));
    }
    all
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::io::Write;
    use std::process::{Command, Stdio};

    use super::*;
    use crate::screen::testing::screen;

    fn script(shell: Shell) -> String {
        let (mut paper, out, _) = screen(false, [false, false], false);
        completions(&mut paper, shell).unwrap();
        out.text()
    }

    /// Has a shell read the script without doing it; none when there is no such shell here.
    fn read_by(program: &str, arguments: &[&str], script: &str) -> Option<bool> {
        let mut shell = Command::new(program);
        let shell = shell.args(arguments).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn();
        let Ok(mut shell) = shell else {
            eprintln!("{program} is not on this machine: its script is only looked at");
            return None;
        };
        shell.stdin.take().unwrap().write_all(script.as_bytes()).unwrap();
        let output = shell.wait_with_output().unwrap();
        Some(output.status.success() && output.stderr.is_empty())
    }

    #[test]
    fn each_shell_reads_its_script_and_every_command_stands_in_it() {
        for (shell, program, arguments) in
            [(Shell::Bash, "bash", &["-n"][..]), (Shell::Zsh, "zsh", &["-n"]), (Shell::Fish, "fish", &["--no-execute"])]
        {
            let script = script(shell);
            for command in Cli::command().get_subcommands() {
                assert!(script.contains(command.get_name()), "{} for {shell}", command.get_name());
            }
            assert_ne!(read_by(program, arguments, &script), Some(false), "{shell}");
        }
        assert_eq!(read_by("bash", &["-n"], "case x in"), Some(false), "a shell that reads would see what is wrong");
    }

    #[test]
    fn bash_offers_what_can_follow() {
        let asked = "\nCOMP_WORDS=(metnosctl approval ''); COMP_CWORD=2; _metnosctl metnosctl '' approval; echo \"${COMPREPLY[*]}\"";
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("asked.bash");
        std::fs::write(&file, script(Shell::Bash) + asked).unwrap();
        let output = Command::new("bash").arg("--norc").arg(&file).output().unwrap();
        let offered = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(["list", "show", "approve", "deny"].iter().all(|word| offered.contains(word)), "{output:?}");
    }

    #[test]
    fn there_is_a_page_for_every_command_and_each_says_what_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let (mut paper, out, _) = screen(true, [false, false], false);
        man(&mut paper, &folder.path().join("man1")).unwrap();
        let told: serde_json::Value = serde_json::from_str(&out.text()).unwrap();
        let names: Vec<&str> = told["pages"].as_array().unwrap().iter().map(|name| name.as_str().unwrap()).collect();
        for name in ["metnosctl.1", "metnosctl-ask.1", "metnosctl-approval-approve.1", "metnosctl-pairing-language.1"] {
            assert!(names.contains(&name), "{name}: {names:?}");
        }
        for name in names {
            let page = std::fs::read_to_string(folder.path().join("man1").join(name)).unwrap();
            assert!(page.contains(".SH NAME") && page.contains(".SH SYNOPSIS"), "{name}");
        }
        assert!(man(&mut paper, Path::new("/proc/nowhere")).is_err());
    }
}
