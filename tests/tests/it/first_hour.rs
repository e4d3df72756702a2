//! `docs/first-hour.md`, executed: what is typed there is typed, in its order and on one instance, and what is answered there
//! must be what is answered. [`transcript`] reads the document and holds answers against it.

mod transcript;

use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;
use std::process::Stdio;

use metnos_tests::instance::{Instance, Plan};
use metnos_tests::telegram::{Emulator, Message, TOKEN};
use metnos_tests::terminal::Terminal;
use transcript::{Block, Step, Transcript, Varying, Where};

/// The prompt of a conversation, and of the interview at its end.
const PROMPT: &str = "› ";
/// What comes before a line that names a step, which a person at a terminal sees in grey.
const STEP: &str = "· ";

fn document() -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/first-hour.md")).unwrap()
}

/// A household, and whoever writes to it.
struct Household {
    set: Instance,
    server: Emulator,
    /// Everybody on Telegram, by name.
    people: BTreeMap<String, i64>,
    /// How many messages of each chat were read.
    read: BTreeMap<i64, Vec<Message>>,
    /// What stands in the transcript for what is different each time, and what it was this time.
    varying: Varying,
    wrong: Vec<String>,
}

impl Household {
    fn new(varying: Varying) -> Self {
        let server = Emulator::start();
        let set = Plan::new().first_start().config(&server.config()).prepare();
        Self { set, server, people: BTreeMap::new(), read: BTreeMap::new(), varying, wrong: Vec::new() }
    }

    fn perform(&mut self, block: &Block) {
        match &block.place {
            Where::Interview => self.interview(block),
            Where::Terminal => block.steps.iter().for_each(|step| self.at_terminal(block, step)),
            Where::Telegram(name) => {
                let next = 5_100 + i64::try_from(self.people.len()).unwrap();
                let who = *self.people.entry(name.clone()).or_insert(next);
                block.steps.iter().for_each(|step| self.on_telegram(block, step, who));
            }
        }
    }

    fn compare(&mut self, block: &Block, step: &Step, answered: &str) {
        // What a page has left out is seen where the output of a test is shown.
        println!("{:?}: {}\n{answered}\n", block.place, step.typed);
        let actual: Vec<&str> = answered.trim_end().lines().map(str::trim_end).collect();
        if let Err(why) = self.varying.compare(&step.answer, &actual) {
            let number = step.line;
            let typed = &step.typed;
            self.wrong.push(format!(
                "line {number} ({:?}): {typed}\n{why}\n--- expected\n{}\n--- answered\n{}",
                block.place,
                step.answer.join("\n"),
                actual.join("\n")
            ));
        }
    }

    /// A command, or a line of a conversation.
    fn at_terminal(&mut self, block: &Block, step: &Step) {
        let typed = self.varying.filled(&step.typed);
        let (line, input) = match typed.strip_prefix(PROMPT) {
            Some(words) => ("metnosctl chat".to_owned(), format!("{words}\n")),
            None if typed == "metnosctl chat" => {
                assert!(step.answer.is_empty(), "line {}: what is said comes after {PROMPT}", step.line);
                return;
            }
            None => (typed, String::new()),
        };
        let mut command = self.set.shell(&format!("{{ {line}; }} 2>&1"));
        command.env("TOKEN", TOKEN).env("LANG", "en_GB.UTF-8");
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
        let output = child.wait_with_output().unwrap();
        let shown = String::from_utf8(output.stdout).unwrap();
        if line.starts_with("metnosctl up") {
            // On a slow machine the last executors are born a little later.
            self.set.is_grown();
        }
        self.compare(block, step, &shown);
    }

    /// Words, or the press of a button: what the chat shows afterwards that it did not show before.
    fn on_telegram(&mut self, block: &Block, step: &Step, who: i64) {
        let typed = self.varying.filled(&step.typed);
        let words = typed.strip_prefix(PROMPT).unwrap_or(&typed);
        let chat = self.server.chat(who);
        match words.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            Some(label) => {
                let Some((message, data)) = self.button_within(who, label) else {
                    self.wrong.push(format!("line {}: nobody can press [{label}]: {chat:#?}", step.line));
                    return;
                };
                self.server.press(who, who, message, &data);
            }
            None if words.is_empty() => {}
            None => drop(self.server.say(who, words)),
        }
        let before = self.read.get(&who).cloned().unwrap_or_default();
        let fresh = |chat: &[Message]| -> String {
            let is_new = |message: &&Message| !before.contains(message);
            chat.iter().filter(is_new).map(shown).collect::<Vec<_>>().join("\n")
        };
        let end = std::time::Instant::now() + metnos_tests::telegram::WITHIN / 6;
        // An answer may come in several messages, and a message may be edited until it is whole.
        loop {
            self.server.settled();
            let text = fresh(&self.server.chat(who));
            let lines: Vec<&str> = text.trim_end().lines().map(str::trim_end).collect();
            if self.varying.clone().compare(&step.answer, &lines).is_ok() || std::time::Instant::now() > end {
                break;
            }
            std::thread::sleep(std::time::Duration::from_millis(50));
        }
        let now = self.server.chat(who);
        let answered = fresh(&now);
        self.read.insert(who, now);
        self.compare(block, step, &answered);
    }

    /// The newest button of this label. The card of somebody else comes a moment after that person's answer.
    fn button_within(&self, who: i64, label: &str) -> Option<(i64, String)> {
        let end = std::time::Instant::now() + metnos_tests::telegram::WITHIN;
        loop {
            let chat = self.server.chat(who);
            let found = chat.iter().rev().find_map(|message| Some((message.id, button(message, label)?)));
            if found.is_some() || std::time::Instant::now() > end {
                return found;
            }
            std::thread::sleep(std::time::Duration::from_millis(50));
        }
    }

    /// The interview at a terminal: each of its questions is waited for, and answered as it stands there.
    fn interview(&mut self, block: &Block) {
        let command = &block.steps[0];
        let words: Vec<&str> = command.typed.split(' ').skip(1).collect();
        let mut terminal = Terminal::of_owner(&self.set, &words, &[("LANG", "en_GB.UTF-8"), ("TZ", "UTC")]);
        for line in &command.answer {
            if let Some((prompt, answer)) = question(line) {
                terminal.until(&prompt);
                terminal.says(answer);
            } else if !line.is_empty() && line != "…" {
                terminal.until(line);
            }
        }
        let (code, shown) = terminal.over();
        assert_eq!(code, 0, "{shown}");
    }
}

/// A question of the interview and its answer: `name [Metnos]: Alfred`, or the empty prompt at its end.
fn question(line: &str) -> Option<(String, &str)> {
    if line == PROMPT.trim_end() {
        return Some((PROMPT.to_owned(), ""));
    }
    let (prompt, answer) = line.split_once(": ").or_else(|| Some((line.strip_suffix(':')?, "")))?;
    let key = prompt.split(" [").next()?;
    let is_key = !key.is_empty() && key.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_');
    is_key.then(|| (format!("{prompt}: "), answer))
}

/// A message as it is shown: its text, and its buttons below.
fn shown(message: &Message) -> String {
    let labels: Vec<String> = buttons(message).into_iter().map(|(label, _)| format!("[{label}]")).collect();
    if labels.is_empty() { message.text.clone() } else { format!("{}\n{}", message.text, labels.join(" ")) }
}

fn buttons(message: &Message) -> Vec<(String, String)> {
    let rows = message.markup["inline_keyboard"].as_array().cloned().unwrap_or_default();
    let all = rows.iter().filter_map(|row| row.as_array()).flatten();
    let text = |button: &serde_json::Value, key: &str| button[key].as_str().map(str::to_owned);
    all.filter_map(|button| Some((text(button, "text")?, text(button, "callback_data")?))).collect()
}

fn button(message: &Message, label: &str) -> Option<String> {
    buttons(message).into_iter().find(|(text, _)| text == label).map(|(_, data)| data)
}

#[test]
fn first_hour_of_the_documents_is_what_happens() {
    let transcript = Transcript::read(&document());
    assert!(transcript.blocks.len() > 8, "only {} blocks were found", transcript.blocks.len());
    let mut household = Household::new(transcript.varying);
    for block in &transcript.blocks {
        household.perform(block);
    }
    let unused = household.varying.unused();
    let wrong = std::mem::take(&mut household.wrong);
    assert!(wrong.is_empty(), "{} lines are not what happens:\n\n{}\n", wrong.len(), wrong.join("\n\n"));
    assert!(unused.is_empty(), "nothing that was answered has these: {unused:?}");
    household.set.verify();
    assert!(household.set.ctl(&["down"]).status.success());
}

#[test]
fn questions_of_the_interview_are_told_from_what_is_only_shown() {
    assert_eq!(question("name [Metnos]: Alfred"), Some(("name [Metnos]: ".to_owned(), "Alfred")));
    assert_eq!(question("owner: Anna"), Some(("owner: ".to_owned(), "Anna")));
    assert_eq!(question("telegram [no]:"), Some(("telegram [no]: ".to_owned(), "")));
    assert_eq!(question("›"), Some(("› ".to_owned(), "")));
    for line in ["What will be done:", "  name: Alfred", "Next: metnosctl up", "", "Two words: x"] {
        assert_eq!(question(line), None, "{line}");
    }
    assert!(STEP.starts_with('·'));
}
