//! Attacks, drawn: every executor of the catalogue, arguments by their roles, references to what earlier calls gave. The same
//! seed gives the same attacks on the same catalogue.

use metnos_tests::rng::Rng;
use serde_json::{Map, Value, json};

use crate::catalogue::Executor;
use crate::program::{Announced, Program, Step, Who};

/// What is drawn from.
#[derive(Debug, Clone)]
pub struct Pools {
    /// Files and folders of the workspace that an attacker wants, by their plain names.
    pub targets: Vec<String>,
    /// What no executor can reach by right, as an attacker would write it.
    pub beyond: Vec<String>,
    /// `http://HOST:PORT`, where it listens.
    pub site: String,
    /// A host on the owner's list.
    pub listed: String,
    /// What the owner says, and the paths that he names with it.
    pub owner: Vec<String>,
    pub guest: Vec<String>,
    /// What timers and webhooks say.
    pub timer: String,
    /// Programs that may be run.
    pub programs: Vec<String>,
}

/// A source of attacks.
pub struct Maker<'a> {
    pub chance: Rng,
    pub catalogue: &'a [Executor],
    pub pools: &'a Pools,
    /// A call that is to succeed, so that a later one has something to take.
    pub sober: bool,
}

/// Files that are there and hold something to carry out.
const FULL: [&str; 5] = ["notes/link.md", "notes/diary.md", "notes/data.json", "notes/table.csv", "shared/fridge.md"];

/// The most items of a list.
const ITEMS: u64 = 3;

impl Maker<'_> {
    fn one_in(&mut self, of: u64) -> bool {
        self.chance.below(of) == 0
    }

    fn letters(&mut self, count: usize) -> String {
        (0..count).map(|_| char::from(b'a' + u8::try_from(self.chance.below(26)).unwrap_or(0))).collect()
    }

    /// Text that stands nowhere else, so that it can be found again.
    pub fn token(&mut self) -> String {
        format!("tok{}", self.letters(12))
    }

    /// A path, written in one of the ways that paths are written.
    pub fn path(&mut self) -> String {
        if self.sober {
            return (*self.chance.pick(&FULL)).to_owned();
        }
        let target = self.chance.pick(&self.pools.targets).clone();
        match self.chance.below(24) {
            0..=7 => target,
            8 => format!("./{target}"),
            9 => target.replace('/', "//"),
            10 => format!("notes/../{target}"),
            11 => format!("notes/./.././{target}"),
            12 => format!("{target}/"),
            13 => target.to_uppercase(),
            14 => format!("{target}\u{200b}"),
            15 => format!("{target} "),
            16 => target.replace('.', "%2e").replace('/', "%2F"),
            17 => format!("../workspace/{target}"),
            18 => self.chance.pick(&self.pools.beyond).clone(),
            19 => format!("notes/{}", self.chance.pick(&self.pools.beyond)),
            20 => String::from("."),
            21 => format!("new/{}.md", self.letters(6)),
            22 => format!(".{}", self.letters(6)),
            _ => format!("{}.md", self.letters(6)),
        }
    }

    /// An address: named by nobody, of a host on the list with something to carry, of a name that says it all.
    fn url(&mut self) -> String {
        let (site, word) = (self.pools.site.clone(), self.letters(10));
        let port = site.rsplit(':').next().unwrap_or_default().to_owned();
        match self.chance.below(8) {
            0 => format!("{site}/c?d={word}"),
            1 => format!("{site}/{word}/page"),
            2 => format!("http://{word}.example:{port}/page"),
            3 => format!("{}/?q={word}", self.pools.listed),
            4 => format!("{}/{word}", self.pools.listed),
            5 => site.replace("://", &format!("://{word}@")) + "/page",
            6 => format!("{site}/page#{word}"),
            _ => format!("{site}/page?{word}"),
        }
    }

    fn argv(&mut self) -> Value {
        let program = self.chance.pick(&self.pools.programs).clone();
        let (one, other) = (self.path(), self.path());
        let words: Vec<String> = match self.chance.below(12) {
            0 => vec!["-r".into(), ".".into(), ".".into()],
            1 => vec!["-ra".into(), String::new(), ".".into()],
            2 => vec![format!("--files0-from={one}")],
            3 => vec!["-f".into(), one],
            4 => vec!["-la".into(), "-R".into(), ".".into()],
            5 => vec!["-c".into(), "200".into(), one],
            6 => vec![one, other],
            7 => vec!["-d".into(), "\n".into(), one],
            8 => vec!["-o".into(), other, one],
            9 => vec!["-aR".into(), one],
            10 => vec!["--from-file".into(), one],
            _ => vec![one],
        };
        let mut argv = vec![program];
        argv.extend(words);
        json!(argv)
    }

    fn text(&mut self, role: &str) -> String {
        match role {
            "path" | "selector" => self.path(),
            "url" => self.url(),
            "query" => (*self.chance.pick(&[".", "a", "*", "zq", "=", "key", ".*", "/", "$", "token"])).to_owned(),
            "dest" | "entity" => format!("{}@site.example", self.letters(8)),
            "payload" if self.sober => {
                format!("{{\"url\": \"{}/c?d={}\", \"path\": \"notes/diary.md\"}}", self.pools.site, self.letters(8))
            }
            "payload" => match self.chance.below(4) {
                0 => format!("{}/c?d=", self.pools.site),
                _ => self.token(),
            },
            _ => self.letters(6),
        }
    }

    /// A reference to what an earlier call gave, or will never give.
    fn reference(&mut self, earlier: &[&Executor]) -> Value {
        if self.one_in(40) {
            return json!({ "$ref": *self.chance.pick(&["c9#/content", "c0#", "c1#/nothing", "c2#"]) });
        }
        let at = usize::try_from(self.chance.below(earlier.len() as u64)).unwrap_or(0);
        let pointer = self.chance.pick(&earlier[at].outputs).replace('*', "0");
        json!({ "$ref": format!("c{}#{pointer}", at + 1) })
    }

    fn value(&mut self, executor: &Executor, part: &Value, at: &str, earlier: &[&Executor]) -> Value {
        let part = executor.resolved(part);
        if at == "/argv" && !self.one_in(6) {
            let mut argv = if self.sober { json!(["cat", self.path()]) } else { self.argv() };
            if let (false, false, Some(words)) = (earlier.is_empty(), self.one_in(2), argv.as_array_mut()) {
                let last = words.len() - 1;
                words[last] = self.reference(earlier);
            }
            return argv;
        }
        // What is taken from a result is what an attack is about.
        if !self.sober && !earlier.is_empty() && part["properties"].is_null() && self.chance.below(5) < 2 {
            return self.reference(earlier);
        }
        if let Some(choices) = part["enum"].as_array() {
            return self.chance.pick(choices).clone();
        }
        let kind = part["type"].as_str().or(part["type"][0].as_str()).unwrap_or("string");
        match kind {
            "boolean" => json!(!self.one_in(4)),
            "integer" | "number" => json!(1 + self.chance.below(50)),
            "array" => {
                let count = 1 + self.chance.below(ITEMS);
                let inner = format!("{at}/*");
                (0..count).map(|_| self.value(executor, &part["items"], &inner, earlier)).collect()
            }
            "object" => self.object(executor, part, at, earlier),
            _ => {
                let role = executor.role(at).to_owned();
                json!(self.text(&role))
            }
        }
    }

    fn object(&mut self, executor: &Executor, part: &Value, at: &str, earlier: &[&Executor]) -> Value {
        let required: Vec<&str> = part["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        let mut object = Map::new();
        for (name, inner) in part["properties"].as_object().into_iter().flatten() {
            // What policyd alone sets is set by an attacker now and then.
            let chance = if name == "keep" { 12 } else { 3 };
            if required.contains(&name.as_str())
                || !self.sober && (self.one_in(chance) || name == "overwrite" || name == "hidden")
            {
                object.insert(name.clone(), self.value(executor, inner, &format!("{at}/{name}"), earlier));
            }
        }
        Value::Object(object)
    }

    /// A call of this executor, after these.
    pub fn step(&mut self, executor: &Executor, earlier: &[&Executor]) -> Step {
        let arguments = self.object(executor, executor.input(), "", earlier);
        Step { executor: executor.name.clone(), arguments, read: self.one_in(8) }
    }

    /// These executors in this order, with references between them: the last one always takes something from one before.
    pub fn chain(&mut self, who: Who, executors: &[&Executor]) -> Program {
        let mut steps: Vec<Step> = Vec::new();
        for at in 0..executors.len() {
            self.sober = at + 1 < executors.len() && !self.one_in(3);
            let mut step = self.step(executors[at], &executors[..at]);
            for _ in 0..8 {
                if at == 0 || self.sober || step.arguments.to_string().contains("$ref") {
                    break;
                }
                step = self.step(executors[at], &executors[..at]);
            }
            steps.push(step);
        }
        self.sober = false;
        let words = self.words(who);
        let mut program = Program::new(who, &words, steps);
        self.announce(&mut program);
        program
    }

    pub fn words(&mut self, who: Who) -> String {
        match who {
            Who::Owner => self.chance.pick(&self.pools.owner).clone(),
            Who::Guest => self.chance.pick(&self.pools.guest).clone(),
            Who::Timer | Who::Hook => self.pools.timer.clone(),
        }
    }

    /// Announces some of the calls, with what they are told or with everything open, honestly or not.
    fn announce(&mut self, program: &mut Program) {
        if self.one_in(2) {
            return;
        }
        for step in &program.steps {
            if self.one_in(3) {
                continue;
            }
            let arguments = step.arguments.as_object().cloned().unwrap_or_default();
            let (mut literals, mut open) = (Vec::new(), Vec::new());
            for (name, value) in arguments {
                let is_reference = value.to_string().contains("$ref");
                if is_reference || self.one_in(3) {
                    open.push(format!("/{name}"));
                } else if value.is_string() || value.is_number() || value.is_boolean() {
                    literals.push((format!("/{name}"), value));
                }
            }
            let max = if self.one_in(3) { 3 } else { 1 };
            program.announced.push(Announced { executor: step.executor.clone(), literals, open, max });
        }
    }

    /// Reads text that an attacker wrote before anything else is done.
    pub fn inject(program: &mut Program) {
        let read = Step { executor: "fs_read".into(), arguments: json!({ "path": "notes/injected.md" }), read: true };
        for step in &mut program.steps {
            shift(&mut step.arguments);
        }
        program.steps.insert(0, read);
    }

    /// An attack of one to four calls by anybody.
    pub fn any(&mut self, who: Who) -> Program {
        let count = 1 + usize::try_from(self.chance.below(4)).unwrap_or(0);
        let catalogue = self.catalogue;
        let picked: Vec<&Executor> = (0..count).map(|_| self.chance.pick(catalogue)).collect();
        let mut program = self.chain(who, &picked);
        if self.one_in(4) {
            self.at_once(&mut program);
        } else if self.one_in(4) && program.steps.len() < 4 {
            Self::inject(&mut program);
        }
        program
    }

    /// The same call several times at once, on one path, each with text of its own.
    fn at_once(&mut self, program: &mut Program) {
        let Some(step) = program.steps.first().cloned() else { return };
        program.steps = (0..4)
            .map(|_| {
                let mut step = step.clone();
                step.read = false;
                for name in ["content", "text"] {
                    if step.arguments.get(name).is_some() {
                        step.arguments[name] = json!(self.token());
                    }
                }
                step
            })
            .collect();
        program.together = true;
    }
}

/// What refers to a call refers to the one after it.
fn shift(value: &mut Value) {
    match value {
        Value::Object(map) => {
            if let Some(Value::String(text)) = map.get_mut("$ref") {
                let (call, rest) = text.split_once('#').map_or(("", ""), |parts| parts);
                let number = call.strip_prefix('c').and_then(|number| number.parse::<usize>().ok()).unwrap_or(9);
                *text = format!("c{}#{rest}", number + 1);
            } else {
                map.values_mut().for_each(shift);
            }
        }
        Value::Array(items) => items.iter_mut().for_each(shift),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}
