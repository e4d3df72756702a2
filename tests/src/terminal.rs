//! A person at a terminal: a program with a terminal of its own, what is typed there, and what it has shown so far. It must
//! never wait for time to pass where it can wait for something to be shown.

use std::io::{Read, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use crate::instance::{Instance, is_root};

/// How long a test waits for something to be shown before it gives up.
pub const WITHIN: Duration = Duration::from_secs(60);
/// Ctrl-C, as it is typed.
pub const CTRL_C: &str = "\x03";
/// Ctrl-D, as it is typed.
pub const CTRL_D: &str = "\x04";
/// The key that ends a line, as it is typed.
pub const ENTER: &str = "\r";

type Shown = Arc<(Mutex<(Vec<u8>, bool)>, Condvar)>;

/// See the module.
#[derive(Debug)]
pub struct Terminal {
    child: Child,
    keys: Option<ChildStdin>,
    shown: Shown,
    /// How much of what was shown has been waited for.
    seen: usize,
}

impl Terminal {
    /// `metnosctl` with these words, at a terminal of so many columns; `vars` are set in its environment.
    ///
    /// # Panics
    /// When it cannot be started.
    #[must_use]
    pub fn of(set: &Instance, words: &[&str], columns: u16, vars: &[(&str, &str)]) -> Self {
        Self::begin(set, "-", words, columns, vars)
    }

    /// The same as the owner of the instance, who may be another user than the one who runs the tests.
    ///
    /// # Panics
    /// When it cannot be started.
    #[must_use]
    pub fn of_owner(set: &Instance, words: &[&str], vars: &[(&str, &str)]) -> Self {
        let uid = if is_root() { set.owner().to_string() } else { "-".to_owned() };
        Self::begin(set, &uid, words, 120, vars)
    }

    fn begin(set: &Instance, uid: &str, words: &[&str], columns: u16, vars: &[(&str, &str)]) -> Self {
        let ctl = set.command("metnosctl");
        let mut command = Command::new("python3");
        command.args([
            "-I",
            "-B",
            concat!(env!("CARGO_MANIFEST_DIR"), "/peers/pty.py"),
            &columns.to_string(),
            "40",
            uid,
        ]);
        command.arg(ctl.get_program()).args(ctl.get_args()).args(words);
        command.env_clear().env("TERM", "xterm-256color");
        command.envs(ctl.get_envs().filter_map(|(name, value)| Some((name, value?))));
        command.envs(vars.iter().copied()).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::inherit());
        let mut child = command.spawn().expect("python3 runs");
        let keys = child.stdin.take();
        let mut screen = child.stdout.take().expect("piped");
        let shown = Shown::default();
        let writing = Arc::clone(&shown);
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            loop {
                let read = screen.read(&mut bytes).unwrap_or(0);
                let mut state = writing.0.lock().expect("nobody panics with it");
                state.0.extend_from_slice(&bytes[..read]);
                state.1 = read == 0;
                writing.1.notify_all();
                if read == 0 {
                    return;
                }
            }
        });
        Self { child, keys, shown, seen: 0 }
    }

    /// Types this.
    ///
    /// # Panics
    /// When nobody reads it any more.
    pub fn types(&mut self, keys: &str) {
        let pipe = self.keys.as_mut().expect("the terminal is there");
        pipe.write_all(keys.as_bytes()).expect("somebody reads");
        pipe.flush().expect("somebody reads");
    }

    /// Types this, and the key that ends a line.
    pub fn says(&mut self, line: &str) {
        self.types(&format!("{line}{ENTER}"));
    }

    /// Waits until this is shown behind everything that was waited for before; gives what was shown up to there.
    ///
    /// # Panics
    /// When it is not within [`WITHIN`].
    pub fn until(&mut self, part: &str) -> String {
        let end = Instant::now() + WITHIN;
        let mut state = self.shown.0.lock().expect("nobody panics with it");
        loop {
            let text = String::from_utf8_lossy(&state.0[self.seen..]).into_owned();
            if let Some(at) = text.find(part) {
                let upto = at + part.len();
                self.seen += upto.min(state.0.len() - self.seen);
                return text[..upto].to_owned();
            }
            let left = end.saturating_duration_since(Instant::now());
            assert!(!left.is_zero() && !state.1, "{part:?} was not shown behind:\n{text}");
            state = self.shown.1.wait_timeout(state, left).expect("nobody panics with it").0;
        }
    }

    /// Everything that was shown so far.
    ///
    /// # Panics
    /// When the reading thread has.
    #[must_use]
    pub fn shown(&self) -> String {
        String::from_utf8_lossy(&self.shown.0.lock().expect("nobody panics with it").0).into_owned()
    }

    /// Waits until the program is over: its exit code, and everything that was shown.
    ///
    /// # Panics
    /// When it is not within [`WITHIN`].
    pub fn over(mut self) -> (i32, String) {
        let end = Instant::now() + WITHIN;
        let mut state = self.shown.0.lock().expect("nobody panics with it");
        while !state.1 {
            let left = end.saturating_duration_since(Instant::now());
            assert!(!left.is_zero(), "it goes on:\n{}", String::from_utf8_lossy(&state.0));
            state = self.shown.1.wait_timeout(state, left).expect("nobody panics with it").0;
        }
        let text = String::from_utf8_lossy(&state.0).into_owned();
        drop(state);
        let status = self.child.wait().expect("our child");
        (status.code().unwrap_or(-1), text)
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // Without its reader the program receives a hang-up.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
