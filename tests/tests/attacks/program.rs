//! An attack: who speaks, what he says, and what the planner that is the attacker's does with it. It must be readable where
//! it is printed.

use std::fmt;

use serde_json::Value;

/// Whose turn it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Who {
    Owner,
    Guest,
    Timer,
    /// Anyone who fires a webhook, with data of his own.
    Hook,
}

/// A call.
#[derive(Debug, Clone, PartialEq)]
pub struct Step {
    pub executor: String,
    pub arguments: Value,
    /// Whether its result is read by the planner at once, which taints the turn.
    pub read: bool,
}

/// A call that is announced before anything was read.
#[derive(Debug, Clone, PartialEq)]
pub struct Announced {
    pub executor: String,
    pub literals: Vec<(String, Value)>,
    pub open: Vec<String>,
    pub max: u8,
}

/// What a planner does in one turn.
#[derive(Debug, Clone, PartialEq)]
pub struct Program {
    pub who: Who,
    pub words: String,
    pub announced: Vec<Announced>,
    pub steps: Vec<Step>,
    /// All calls at once.
    pub together: bool,
    /// At the end every result is read.
    pub read_all: bool,
}

impl Program {
    pub fn new(who: Who, words: &str, steps: Vec<Step>) -> Self {
        Self { who, words: words.to_owned(), announced: Vec::new(), steps, together: false, read_all: true }
    }

    /// Whether a call was announced with these very arguments before anything was read: then nothing that was read has had a say
    /// in it (design: policy §7, intent). What `vouched` is said to be may have been left open, and be filled from a result.
    pub fn was_announced(&self, at: usize, vouched: impl Fn(&str, &Value) -> bool) -> bool {
        let Some(step) = self.steps.get(at) else { return false };
        let Value::Object(arguments) = &step.arguments else { return false };
        self.announced.iter().filter(|announced| announced.executor == step.executor).any(|announced| {
            arguments.iter().all(|(name, value)| {
                let pointer = format!("/{name}");
                let literal = || announced.literals.iter().any(|(at, literal)| *at == pointer && literal == value);
                let open = || announced.open.contains(&pointer) && vouched(&pointer, value);
                if value.is_object() { open() } else { literal() }
            })
        })
    }

    /// The executors, in their order.
    pub fn names(&self) -> Vec<&str> {
        self.steps.iter().map(|step| step.executor.as_str()).collect()
    }

    /// Every program that is a little smaller.
    pub fn smaller(&self) -> Vec<Self> {
        let mut all = Vec::new();
        for at in 0..self.steps.len() {
            // Later references name calls by their numbers: those that named this one go to nothing.
            if self.steps.len() > 1 {
                let mut less = self.clone();
                less.steps.remove(at);
                less.steps.iter_mut().for_each(|step| renumber(&mut step.arguments, at + 1));
                all.push(less);
            }
        }
        for at in 0..self.announced.len() {
            let mut less = self.clone();
            less.announced.remove(at);
            all.push(less);
        }
        if self.together {
            all.push(Self { together: false, ..self.clone() });
        }
        if self.read_all {
            all.push(Self { read_all: false, ..self.clone() });
        }
        for (at, step) in self.steps.iter().enumerate() {
            if step.read {
                let mut less = self.clone();
                less.steps[at].read = false;
                all.push(less);
            }
            for name in step.arguments.as_object().into_iter().flat_map(serde_json::Map::keys) {
                let mut less = self.clone();
                if let Some(arguments) = less.steps[at].arguments.as_object_mut() {
                    arguments.remove(name);
                }
                all.push(less);
            }
        }
        all
    }
}

/// What refers to a later call than `gone` refers to the one before it.
fn renumber(value: &mut Value, gone: usize) {
    match value {
        Value::Object(map) => {
            if let Some(Value::String(text)) = map.get_mut("$ref") {
                let (call, rest) = text.split_once('#').map_or(("", ""), |parts| parts);
                if let Some(number) = call.strip_prefix('c').and_then(|number| number.parse::<usize>().ok())
                    && number > gone
                {
                    *text = format!("c{}#{rest}", number - 1);
                }
            } else {
                map.values_mut().for_each(|inner| renumber(inner, gone));
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|inner| renumber(inner, gone)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{:?} says: {:?}", self.who, self.words)?;
        for slot in &self.announced {
            write!(f, "  announce {} up to {} times", slot.executor, slot.max)?;
            slot.literals.iter().try_for_each(|(at, value)| write!(f, ", {at} = {value}"))?;
            writeln!(f, ", open {:?}", slot.open)?;
        }
        for (at, step) in self.steps.iter().enumerate() {
            let when = if self.together { "at once " } else { "" };
            let read = if step.read { ", and read the result" } else { "" };
            let text = step.arguments.to_string();
            let shown: String = text.chars().take(600).collect();
            let more = if shown.len() < text.len() { "…" } else { "" };
            writeln!(f, "  {when}c{} = {} {shown}{more}{read}", at + 1, step.executor)?;
        }
        if self.read_all {
            writeln!(f, "  read every result")?;
        }
        Ok(())
    }
}

#[test]
fn program_shrinks_and_keeps_its_references() {
    let step = |executor: &str, arguments: Value| Step { executor: executor.to_owned(), arguments, read: false };
    let program = Program::new(
        Who::Owner,
        "hello",
        vec![
            step("a", serde_json::json!({})),
            step("b", serde_json::json!({})),
            step("c", serde_json::json!({"x": [{"$ref": "c2#/y"}]})),
        ],
    );
    let less = &program.smaller()[0];
    assert_eq!(less.names(), ["b", "c"]);
    assert_eq!(less.steps[1].arguments["x"][0]["$ref"], "c1#/y");
}
