//! Where a command's words go: standard output for what was asked for, standard error for
//! what happens on the way. Whatever comes from others passes through here before a terminal
//! sees it.

pub mod escape;
pub mod human;
pub mod table;

use std::io::{self, BufWriter, IsTerminal, Write};

use metnos_proto::masks::mask;
use metnos_proto::msg::common::Lang;
use metnos_texts::{Key, say, tell};
use serde::Serialize;

use crate::error::CtlError;

/// A colour, or the weight of a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ink {
    /// As it is.
    Plain,
    /// Headings.
    Bold,
    /// What matters less.
    Dim,
    /// As it should be.
    Good,
    /// A person should look.
    Warn,
    /// Not as it should be.
    Bad,
}

impl Ink {
    const fn code(self) -> &'static str {
        match self {
            Self::Plain => "0",
            Self::Bold => "1",
            Self::Dim => "2",
            Self::Good => "32",
            Self::Warn => "33",
            Self::Bad => "31",
        }
    }

    /// The text in this ink.
    #[must_use]
    pub fn on(self, text: &str, colour: bool) -> String {
        if colour && self != Self::Plain && !text.is_empty() {
            format!("\x1b[{}m{text}\x1b[0m", self.code())
        } else {
            text.to_owned()
        }
    }
}

/// What [`Ink::on`] writes.
const INKS: [&str; 6] = ["\x1b[0m", "\x1b[1m", "\x1b[2m", "\x1b[31m", "\x1b[32m", "\x1b[33m"];

/// The two streams, and what is known of who reads them.
pub struct Screen {
    json: bool,
    out: Box<dyn Write>,
    err: Box<dyn Write>,
    out_is_terminal: bool,
    err_is_terminal: bool,
    colour: bool,
    progress: bool,
    flow: escape::Flow,
    /// Whether rules and classes are named as well.
    verbose: bool,
    /// How many columns standard output has, where a person reads it.
    width: Option<usize>,
    /// In which language the person who sits there is spoken to.
    lang: Lang,
}

/// How wide a terminal is: as `COLUMNS` says, else as the kernel does.
fn columns(var: impl Fn(&str) -> Option<std::ffi::OsString>, kernel: impl Fn() -> Option<u16>) -> Option<usize> {
    let said = var("COLUMNS").and_then(|text| text.to_str()?.parse::<usize>().ok());
    said.or_else(|| kernel().map(usize::from)).filter(|columns| *columns > 0)
}

/// Whether colours are wanted at all (<https://no-color.org>).
fn colours_wanted(var: impl Fn(&str) -> Option<std::ffi::OsString>) -> bool {
    var("NO_COLOR").is_none_or(|value| value.is_empty()) && var("TERM").is_none_or(|term| term != "dumb")
}

/// A document that cannot be written as JSON.
fn unwritten(error: serde_json::Error) -> CtlError {
    CtlError::failed("the document", error, "")
}

impl Screen {
    /// The streams of this process.
    #[must_use]
    pub fn of_this_process(json: bool) -> Self {
        let (out, err) = (io::stdout(), io::stderr());
        let (out_is_terminal, err_is_terminal) = (out.is_terminal(), err.is_terminal());
        let colour = colours_wanted(|name| std::env::var_os(name));
        let kernel = || rustix::termios::tcgetwinsize(io::stdout()).ok().map(|size| size.ws_col);
        let width = if out_is_terminal { columns(|name| std::env::var_os(name), kernel) } else { None };
        let out = Box::new(BufWriter::new(out));
        Self { width, ..Self::new(json, out, Box::new(err), [out_is_terminal, err_is_terminal], colour) }
    }

    /// Any two streams; `terminals` says of each whether a terminal reads it.
    #[must_use]
    pub fn new(json: bool, out: Box<dyn Write>, err: Box<dyn Write>, terminals: [bool; 2], colour: bool) -> Self {
        let [out_is_terminal, err_is_terminal] = terminals;
        Self {
            json,
            out,
            err,
            out_is_terminal,
            err_is_terminal,
            colour,
            progress: false,
            flow: escape::Flow::default(),
            verbose: false,
            width: None,
            lang: Lang::En,
        }
    }

    /// How many columns a table may have; as many as it likes where no terminal reads it.
    #[must_use]
    pub const fn width(&self) -> Option<usize> {
        self.width
    }

    /// The language of the person who sits there.
    #[must_use]
    pub const fn lang(&self) -> Lang {
        self.lang
    }

    /// From now on the person who sits there is spoken to in this language.
    pub const fn speak(&mut self, lang: Lang) {
        self.lang = lang;
    }

    /// From now on the rule or the class of what went wrong is named as well.
    #[must_use]
    pub fn verbose(self, verbose: bool) -> Self {
        Self { verbose, ..self }
    }

    /// Whether a program reads, and JSON is wanted.
    #[must_use]
    pub const fn json(&self) -> bool {
        self.json
    }

    /// Whether standard error is read by a person.
    #[must_use]
    pub const fn watched(&self) -> bool {
        self.err_is_terminal && !self.json
    }

    /// Whether standard output is a terminal.
    #[must_use]
    pub const fn out_is_terminal(&self) -> bool {
        self.out_is_terminal
    }

    /// Whether to colour what goes to standard output.
    #[must_use]
    pub const fn colour(&self) -> bool {
        self.colour && self.out_is_terminal
    }

    /// One line of our own making. Parts that others wrote have been escaped by the caller; what he forgot is made
    /// harmless here: but for our inks, no line of a command's can move a cursor or turn the reading direction.
    ///
    /// # Errors
    /// When the output is gone.
    pub fn line(&mut self, line: &str) -> Result<(), CtlError> {
        self.clear_progress()?;
        writeln!(self.out, "{}", escape::ours(line, &INKS))?;
        Ok(())
    }

    /// Bytes of our own making.
    ///
    /// # Errors
    /// When the output is gone.
    pub fn raw(&mut self, bytes: &[u8]) -> Result<(), CtlError> {
        self.out.write_all(bytes)?;
        Ok(())
    }

    /// A piece of others' text: byte for byte into a pipe, harmless on a terminal. Leaves at once.
    ///
    /// # Errors
    /// When the output is gone.
    pub fn text(&mut self, text: &str) -> Result<(), CtlError> {
        self.clear_progress()?;
        if self.out_is_terminal {
            let safe = self.flow.next(text);
            self.out.write_all(safe.as_bytes())?;
        } else {
            self.out.write_all(text.as_bytes())?;
        }
        self.out.flush()?;
        Ok(())
    }

    /// The end of a stream of [`Screen::text`]; `complete` ends an unfinished line.
    ///
    /// # Errors
    /// When the output is gone.
    pub fn end_text(&mut self, complete: bool) -> Result<(), CtlError> {
        if self.out_is_terminal {
            self.out.write_all(self.flow.end().as_bytes())?;
        }
        if complete {
            self.out.write_all(b"\n")?;
        }
        self.out.flush()?;
        Ok(())
    }

    /// The one JSON document of a command.
    ///
    /// # Errors
    /// When the output is gone.
    pub fn document(&mut self, document: &impl Serialize) -> Result<(), CtlError> {
        let text = serde_json::to_string_pretty(document).map_err(unwritten)?;
        writeln!(self.out, "{}", escape::json(&text))?;
        Ok(())
    }

    /// One JSON document, without what in an address of it lets somebody in.
    ///
    /// # Errors
    /// When the output is gone.
    pub fn masked(&mut self, document: &impl Serialize) -> Result<(), CtlError> {
        let mut value = serde_json::to_value(document).map_err(unwritten)?;
        mask(&mut value);
        self.document(&value)
    }

    /// One line of a stream of JSON. Leaves at once.
    ///
    /// # Errors
    /// When the output is gone.
    pub fn json_line(&mut self, document: &impl Serialize) -> Result<(), CtlError> {
        let text = serde_json::to_string(document).map_err(unwritten)?;
        writeln!(self.out, "{}", escape::json(&text))?;
        self.out.flush()?;
        Ok(())
    }

    /// A word on the way, for anyone who watches. Others' text in it is made harmless.
    ///
    /// # Errors
    /// When the output is gone.
    pub fn aside(&mut self, ink: Ink, text: &str) -> Result<(), CtlError> {
        self.clear_progress()?;
        self.out.flush()?;
        let text = escape::block(text);
        writeln!(self.err, "{}", ink.on(&text, self.colour && self.err_is_terminal))?;
        Ok(())
    }

    /// How far something is: one line that is overwritten by the next, on a terminal only.
    ///
    /// # Errors
    /// When the output is gone.
    pub fn progress(&mut self, text: &str) -> Result<(), CtlError> {
        if self.watched() {
            self.out.flush()?;
            write!(self.err, "\r\x1b[K{}", escape::line(text))?;
            self.err.flush()?;
            self.progress = true;
        }
        Ok(())
    }

    fn clear_progress(&mut self) -> io::Result<()> {
        if std::mem::take(&mut self.progress) {
            write!(self.err, "\r\x1b[K")?;
            self.err.flush()?;
        }
        Ok(())
    }

    /// Says what went wrong: to a person on standard error, to a program as the document.
    ///
    /// # Errors
    /// When the output is gone.
    pub fn error(&mut self, error: &CtlError) -> Result<(), CtlError> {
        if matches!(error, CtlError::Closed) {
            return Ok(());
        }
        if self.json {
            return self.document(&error.report());
        }
        if self.lang == Lang::It {
            let told = match error {
                CtlError::Refused(refusal) => Some(metnos_texts::refusal(self.lang, refusal)),
                CtlError::NotRunning(place) => {
                    let place = place.display().to_string();
                    Some(tell(self.lang, Key::TermNotRunning, &[("place", (&place).into())]))
                }
                CtlError::Unreachable { .. } => Some(say(self.lang, Key::TermUnreachable)),
                CtlError::Usage { .. }
                | CtlError::NoInstance(_)
                | CtlError::Failed { .. }
                | CtlError::Closed
                | CtlError::Output(_) => None,
            };
            if let Some(told) = told {
                return self.complaint(&told, error.rule(), "");
            }
        }
        self.complaint(&error.to_string(), error.rule(), &error.remedy())
    }

    /// What, and what to do, on standard error; under which rule only where that is wanted.
    ///
    /// # Errors
    /// When the output is gone.
    pub fn complaint(&mut self, why: &str, rule: &str, remedy: &str) -> Result<(), CtlError> {
        let rule = if rule.is_empty() || !self.verbose { String::new() } else { format!(" [{rule}]") };
        self.aside(Ink::Bad, &format!("{why}{rule}"))?;
        if !remedy.is_empty() {
            self.aside(Ink::Plain, &format!("  → {remedy}"))?;
        }
        Ok(())
    }

    /// Lets everything leave.
    ///
    /// # Errors
    /// When the output is gone.
    pub fn flush(&mut self) -> Result<(), CtlError> {
        self.clear_progress()?;
        self.out.flush()?;
        self.err.flush()?;
        Ok(())
    }
}

#[cfg(test)]
pub mod testing {
    //! A screen that remembers.
    use super::*;
    use std::cell::RefCell;
    use std::rc::Rc;

    /// What was written to one stream.
    #[derive(Debug, Clone, Default)]
    pub struct Paper(Rc<RefCell<Vec<u8>>>);

    impl Paper {
        /// As text.
        pub fn text(&self) -> String {
            String::from_utf8_lossy(&self.0.borrow()).into_owned()
        }
    }

    impl Write for Paper {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.borrow_mut().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    /// A screen with its two papers.
    pub fn screen(json: bool, terminals: [bool; 2], colour: bool) -> (Screen, Paper, Paper) {
        let (out, err) = (Paper::default(), Paper::default());
        (Screen::new(json, Box::new(out.clone()), Box::new(err.clone()), terminals, colour), out, err)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::testing::screen;
    use super::*;

    const NASTY: &str = "a\u{1b}[2Jb";

    #[test]
    fn text_goes_into_a_pipe_byte_for_byte_and_harmless_to_a_terminal() {
        let (mut piped, out, _) = screen(false, [false, false], true);
        piped.text(NASTY).unwrap();
        assert_eq!(out.text(), NASTY);
        let (mut shown, out, _) = screen(false, [true, true], true);
        shown.text(NASTY).unwrap();
        assert_eq!(out.text(), "a\\x1b[2Jb");
    }

    #[test]
    fn a_line_keeps_its_inks_and_nothing_else_that_a_terminal_acts_on() {
        for ink in [Ink::Bold, Ink::Dim, Ink::Good, Ink::Warn, Ink::Bad] {
            let (mut shown, out, _) = screen(false, [true, true], true);
            shown.line(&ink.on("word", true)).unwrap();
            assert_eq!(out.text(), format!("\x1b[{}mword\x1b[0m\n", ink.code()));
        }
        let (mut shown, out, _) = screen(false, [true, true], true);
        shown.line(&format!("a {NASTY}\u{9b}2J\u{202e} {} \u{1b}]0;x\u{7}\rb", Ink::Bad.on("no", true))).unwrap();
        assert_eq!(out.text(), "a a\\x1b[2Jb\\x9b2J\\u{202e} \x1b[31mno\x1b[0m \\x1b]0;x\\x07\\rb\n");
    }

    #[test]
    fn colours_are_used_on_a_terminal_only_and_never_against_no_color() {
        let (mut shown, _, err) = screen(false, [true, true], true);
        shown.aside(Ink::Bad, "no").unwrap();
        assert_eq!(err.text(), "\x1b[31mno\x1b[0m\n");
        for (terminal, colour) in [(false, true), (true, false)] {
            let (mut plain, _, err) = screen(false, [terminal, terminal], colour);
            plain.aside(Ink::Bad, "no").unwrap();
            assert_eq!(err.text(), "no\n");
            assert!(!plain.colour());
        }
        let with = |name: &'static str, value: &'static str| move |asked: &str| (asked == name).then(|| value.into());
        assert!(!colours_wanted(with("NO_COLOR", "1")));
        assert!(colours_wanted(with("NO_COLOR", "")));
        assert!(!colours_wanted(with("TERM", "dumb")));
    }

    #[test]
    fn a_terminal_is_as_wide_as_columns_says_and_else_as_the_kernel_does() {
        let said = |value: &'static str| move |asked: &str| (asked == "COLUMNS").then(|| value.into());
        assert_eq!(columns(said("40"), || Some(80)), Some(40));
        assert_eq!(columns(said("wide"), || Some(80)), Some(80));
        assert_eq!(columns(|_| None, || Some(80)), Some(80));
        assert_eq!((columns(said("0"), || None), columns(|_| None, || Some(0))), (None, None));
    }

    #[test]
    fn an_error_for_a_program_is_a_document_on_standard_output() {
        let (mut json, out, err) = screen(true, [false, false], false);
        json.error(&CtlError::failed("what", "why\u{9b}", "remedy")).unwrap();
        let document: serde_json::Value = serde_json::from_str(&out.text()).unwrap();
        assert_eq!(document["ok"], false);
        assert_eq!(document["error"]["why"], "what: why\u{9b}");
        assert!(!out.text().contains('\u{9b}'));
        assert_eq!(err.text(), "");
    }

    #[test]
    fn progress_is_wiped_before_anything_else_is_written() {
        let (mut shown, out, err) = screen(false, [true, true], false);
        shown.progress("1/2").unwrap();
        shown.text("done").unwrap();
        assert_eq!((out.text().as_str(), err.text().as_str()), ("done", "\r\x1b[K1/2\r\x1b[K"));
        let (mut piped, _, err) = screen(false, [false, false], false);
        piped.progress("1/2").unwrap();
        assert_eq!(err.text(), "");
    }

    #[test]
    fn error_text_from_others_is_escaped_on_the_terminal() {
        let (mut shown, _, err) = screen(false, [true, true], false);
        shown.complaint(NASTY, "rule", NASTY).unwrap();
        assert_eq!(err.text(), "a\\x1b[2Jb\n  → a\\x1b[2Jb\n");
    }

    #[test]
    fn rule_is_named_only_when_it_is_wanted() {
        let (shown, _, err) = screen(false, [true, true], false);
        shown.verbose(true).complaint("no", "guard.path", "").unwrap();
        assert_eq!(err.text(), "no [guard.path]\n");
    }
}
