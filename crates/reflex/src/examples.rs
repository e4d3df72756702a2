//! The promise of an example: that exactly these arguments are made of these words, among the executors that there are.

use std::fmt;

use metnos_proto::envelope::{Candidate, Envelope, Named};
use metnos_proto::executor::Example;
use metnos_proto::msg::common::Lang;
use serde_json::{Map, Value};

use crate::{Repertoire, Reply};

/// Where the lists of an example lie.
const LISTS: &str = "notes";

/// An example whose words become something else.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Broken {
    /// The executor whose example it is.
    pub executor: String,
    /// Its words.
    pub example: String,
    /// What it promises.
    pub promised: String,
    /// What its words become.
    pub found: String,
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { executor, example, promised, found } = self;
        write!(f, "the example \"{example}\" of {executor} promises {promised}, but becomes {found}")
    }
}

impl std::error::Error for Broken {}

/// Whether every example of `candidate` that promises arguments gives exactly these among `candidates` (of which one with its
/// name is left out). One that takes a text from an executor which is not there is not judged.
///
/// # Errors
/// The first example that becomes something else.
pub fn check(candidates: &[Candidate], candidate: &Candidate) -> Result<(), Broken> {
    match broken(candidates, candidate).next() {
        Some(broken) => Err(broken),
        None => Ok(()),
    }
}

/// All the examples of which [`check`] tells the first.
pub fn broken(candidates: &[Candidate], candidate: &Candidate) -> impl Iterator<Item = Broken> {
    let all = candidates.iter().filter(|one| one.name != candidate.name).chain([candidate]).cloned().collect();
    let mut among = Among::of(all);
    candidate.examples.iter().filter_map(move |example| among.judge(candidate, example))
}

/// The first example of `candidates` that holds among them, and no longer beside `newcomer`: words that it would take from them.
#[must_use]
pub fn taken(candidates: &[Candidate], newcomer: &Candidate) -> Option<Broken> {
    let others: Vec<Candidate> = candidates.iter().filter(|one| one.name != newcomer.name).cloned().collect();
    let mut without = Among::of(candidates.to_vec());
    let mut beside = Among::of(others.iter().chain([newcomer]).cloned().collect());
    let all = others.iter().flat_map(|one| one.examples.iter().map(move |example| (one, example)));
    let mut lost = all.filter_map(|(one, example)| {
        let broken = beside.judge(one, example)?;
        without.judge(one, example).is_none().then_some(broken)
    });
    lost.next()
}

/// Some executors, and what the reflex has read of their contracts: they are read once for all examples.
struct Among {
    envelope: Envelope,
    repertoire: Repertoire,
}

impl Among {
    fn of(candidates: Vec<Candidate>) -> Self {
        let mut envelope = Envelope::empty(candidates, Lang::En);
        LISTS.clone_into(&mut envelope.home.lists);
        Self { envelope, repertoire: Repertoire::default() }
    }

    /// What an example becomes, where it is not what it promises.
    fn judge(&mut self, candidate: &Candidate, example: &Example) -> Option<Broken> {
        let args = example.args()?;
        let is_there = |name: &str| self.envelope.candidates.iter().any(|one| one.name == name);
        if example.from().is_some_and(|from| !is_there(&from.executor)) {
            return None;
        }
        self.envelope.named = named(example);
        let promised = promised(candidate, example, args);
        let found = made(self.repertoire.plan(example.say(), &self.envelope)).map_err(|why| {
            let rivals = self.repertoire.rivals(example.say(), &self.envelope);
            if rivals.is_empty() { why.to_owned() } else { format!("as much one as another of {}", rivals.join(", ")) }
        });
        (found.as_ref() != Ok(&promised)).then(|| Broken {
            executor: candidate.name.clone(),
            example: example.say().to_owned(),
            promised: told(&promised),
            found: found.map_or_else(|why| why, |calls| told(&calls)),
        })
    }
}

/// What lies in the workspace of an example.
fn named(example: &Example) -> Vec<Named> {
    let mut all: Vec<Named> = Vec::new();
    for path in example.files() {
        let (path, folder) = path.strip_suffix('/').map_or((path.as_str(), false), |path| (path, true));
        let above = path.match_indices('/').map(|(at, _)| (&path[..at], true));
        for (path, folder) in above.chain([(path, folder)]) {
            if !all.iter().any(|known| known.path == path) {
                all.push(Named { folder, ..Named::file(path) });
            }
        }
    }
    all
}

type Calls = Vec<(String, Value)>;

fn promised(candidate: &Candidate, example: &Example, args: &Map<String, Value>) -> Calls {
    let first = example.from().map(|from| (from.executor.clone(), Value::Object(from.args.clone())));
    first.into_iter().chain([(candidate.name.clone(), Value::Object(args.clone()))]).collect()
}

fn made(reply: Reply) -> Result<Calls, &'static str> {
    match reply {
        Reply::Plan(plan) => Ok(plan.calls.into_iter().map(|call| (call.executor, call.arguments)).collect()),
        Reply::Say(_) => Err("an answer without a call"),
        Reply::Review(..) | Reply::Schedule(..) => Err("a request for later"),
        Reply::Cannot(_) => Err("what nobody here can do"),
        Reply::NotUnderstood(_) => Err("nothing"),
    }
}

fn told(calls: &Calls) -> String {
    let each = calls.iter().map(|(executor, arguments)| format!("{executor} {arguments}"));
    each.collect::<Vec<_>>().join(", then ")
}
