//! The rules in their order, over one message of a model. A pure function of lattice, envelope and message.

use std::collections::{HashMap, HashSet};

use crate::graph::Edges;
use crate::model::{Envelope, Lattice, Node, Role, Shown, Witness};
use crate::proposal::{Add, MOST_A_DAY, Proposal, Touch};
use crate::verdict::{Code, Objection, Op, Verdict, hold, refuse};
use crate::{block, ground, json, premise, proposal, text, witness};

/// What became of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Compiled {
    /// One for each operation, in the order of the block: nodes to add, to reinforce, to contradict, edges.
    pub ops: Vec<Op>,
    /// Whether the capsule would change: a node became active, or stopped to be.
    pub capsule_changed: bool,
}

/// Judges what a model proposes.
#[must_use]
pub fn compile(lattice: &dyn Lattice, envelope: &Envelope, reply: &str) -> Compiled {
    match read(envelope, reply) {
        Ok(None) => Compiled { ops: Vec::new(), capsule_changed: false },
        Ok(Some(proposal)) => Turn::new(lattice, envelope, &proposal).judge(&proposal),
        Err(objection) => Compiled { ops: vec![op("*".to_owned(), Err(objection))], capsule_changed: false },
    }
}

fn read(envelope: &Envelope, reply: &str) -> Result<Option<Proposal>, Objection> {
    let Some(body) = block::block(reply, &envelope.nonce)? else { return Ok(None) };
    let proposal = proposal::read(&json::read(body)?)?;
    if envelope.added_today + proposal.add.len() > MOST_A_DAY {
        return refuse(
            Code::R03,
            format!("{MOST_A_DAY} nodes a day are added at most, and {} were", envelope.added_today),
        );
    }
    Ok(Some(proposal))
}

/// Why an operation is accepted.
struct Accepted {
    code: Code,
    why: &'static str,
    /// Whether a node becomes active by it.
    activates: bool,
}

const fn accepted(code: Code, why: &'static str) -> Accepted {
    Accepted { code, why, activates: false }
}

fn op(name: String, judged: Result<&Accepted, Objection>) -> Op {
    match judged {
        Ok(accepted) => Op { op: name, verdict: Verdict::Commit, code: accepted.code, why: accepted.why.to_owned() },
        Err(objection) => Op { op: name, verdict: objection.verdict, code: objection.code, why: objection.why },
    }
}

/// One block while it is judged.
struct Turn<'a> {
    lattice: &'a dyn Lattice,
    envelope: &'a Envelope,
    /// How often a node stands in operations, and a reference in new nodes.
    named: HashMap<&'a str, usize>,
    /// The premises that were accepted before in this block.
    keys: HashSet<String>,
    names: HashMap<String, usize>,
    ops: Vec<Op>,
    capsule_changed: bool,
}

impl<'a> Turn<'a> {
    fn new(lattice: &'a dyn Lattice, envelope: &'a Envelope, proposal: &'a Proposal) -> Self {
        let mut named: HashMap<&str, usize> = HashMap::new();
        let touched = proposal.reinforce.iter().chain(&proposal.contradict).map(|touch| touch.node.as_str());
        for name in proposal.add.iter().map(|add| add.name.as_str()).chain(touched) {
            *named.entry(name).or_default() += 1;
        }
        Self {
            lattice,
            envelope,
            named,
            keys: HashSet::new(),
            names: HashMap::new(),
            ops: Vec::new(),
            capsule_changed: false,
        }
    }

    fn judge(mut self, proposal: &Proposal) -> Compiled {
        let mut edges = Edges::default();
        for add in &proposal.add {
            let judged = self.add(add);
            let verdict = judged.as_ref().map_or_else(|objection| objection.verdict, |_| Verdict::Commit);
            edges.added.insert(add.name.clone(), verdict);
            self.note(format!("add:{}", add.name), judged);
        }
        for touch in &proposal.reinforce {
            let judged = self.reinforce(touch);
            self.note(format!("reinforce:{}", touch.node), judged);
        }
        for touch in &proposal.contradict {
            let judged = self.contradict(touch);
            self.note(format!("contradict:{}", touch.node), judged);
        }
        for edge in &proposal.edges {
            let judged = edges.take(self.lattice, edge).map(|()| accepted(Code::R15, "the edge is sound"));
            self.note(format!("edge:{}>{}:{}", edge.source, edge.target, edge.relation), judged);
        }
        Compiled { ops: self.ops, capsule_changed: self.capsule_changed }
    }

    /// Notes what became of an operation, under a name of its own.
    fn note(&mut self, name: String, judged: Result<Accepted, Objection>) {
        let count = self.names.entry(name.clone()).or_default();
        *count += 1;
        let name = if *count == 1 { name } else { format!("{name}#{count}") };
        self.capsule_changed |= judged.as_ref().is_ok_and(|accepted| accepted.activates);
        self.ops.push(op(name, judged.as_ref().map_err(Clone::clone)));
    }

    fn once(&self, name: &str) -> Result<(), Objection> {
        match self.named.get(name) {
            Some(count) if *count > 1 => refuse(Code::R16, format!("`{name}` is in {count} operations")),
            _ => Ok(()),
        }
    }

    fn add(&mut self, add: &Add) -> Result<Accepted, Objection> {
        let Envelope { role, .. } = self.envelope;
        if !role.may_add(&add.node_type) {
            return refuse(Code::R04, format!("a node of type `{}` is not proposed in this role", add.node_type));
        }
        premise::check(&add.premise, *role)?;
        let cited = self.witnesses(&add.premise, &add.node_type, &witness::cited(self.envelope, &add.evidence)?)?;
        ground::check(self.envelope, &add.premise, &cited)?;
        weights(add)?;
        self.once(&add.name)?;
        if self.lattice.node(&add.name).is_some() {
            return refuse(Code::R16, format!("`{}` is the number of a node that exists", add.name));
        }
        let key = premise::key(&add.premise);
        if !self.keys.insert(key.clone()) {
            return refuse(Code::R16, "the same is added twice");
        }
        if let Some(node) = self.lattice.same(&key) {
            return self.again(&node);
        }
        self.protected(&add.premise)?;
        let by_owner = cited.iter().any(|shown| is_edit_of(shown, &add.premise));
        let why = if by_owner { "the owner wrote it" } else { "it is provisional until more speaks for it" };
        Ok(Accepted { code: Code::R19, why, activates: by_owner || *role == Role::Rite })
    }

    /// Those of the cited events that may say such a thing, each by itself: what one may say, another one beside it does not. Only
    /// their words count.
    fn witnesses(&self, premise: &str, kind: &str, cited: &[&'a Shown]) -> Result<Vec<&'a Shown>, Objection> {
        let words = text::tokens(premise);
        let may_say = |shown: &'a Shown| {
            witness::authority(&words, &[shown])?;
            witness::attribution(self.envelope, premise, kind, &[shown]).map(|()| shown)
        };
        let (good, objections): (Vec<_>, Vec<_>) = cited.iter().map(|shown| may_say(shown)).partition(Result::is_ok);
        let first = objections.into_iter().find_map(Result::err);
        match first.filter(|_| good.is_empty()) {
            Some(objection) => Err(objection),
            None => Ok(good.into_iter().filter_map(Result::ok).collect()),
        }
    }

    /// A premise that is held true already is reinforced, once.
    fn again(&self, node: &Node) -> Result<Accepted, Objection> {
        if node.is_protected() {
            return hold(Code::R14, format!("`{}` says it already, and is protected", node.node_id));
        }
        if self.named.contains_key(node.node_id.as_str()) {
            return refuse(Code::R16, format!("`{}` says it already, and is in another operation", node.node_id));
        }
        Ok(accepted(Code::R12, "it is held true already, and reinforced"))
    }

    /// A new node does not say the contrary of a protected one.
    fn protected(&self, premise: &str) -> Result<(), Objection> {
        let against = self.lattice.protected().iter().find(|node| premise::denies(premise, &node.premise));
        match against {
            Some(node) => hold(Code::R14, format!("it contradicts `{}`, which is protected", node.node_id)),
            None => Ok(()),
        }
    }

    /// The node that an operation is about, and what it cites.
    fn touched(&self, touch: &Touch) -> Result<(Node, Vec<&'a Shown>), Objection> {
        let Some(node) = self.lattice.node(&touch.node) else {
            return refuse(Code::R15, format!("there is no node `{}`", touch.node));
        };
        self.once(&touch.node)?;
        if self.envelope.role == Role::Reader && node.node_type != "premise" {
            return refuse(Code::R04, format!("a node of type `{}` is not touched in this role", node.node_type));
        }
        let cited = witness::cited(self.envelope, &touch.evidence)?;
        Ok((node, cited))
    }

    fn reinforce(&self, touch: &Touch) -> Result<Accepted, Objection> {
        let (node, cited) = self.touched(touch)?;
        if node.is_protected() {
            return hold(Code::R14, "it is protected: its weights do not move");
        }
        let cited = self.witnesses(&node.premise, &node.node_type, &cited)?;
        ground::check(self.envelope, &node.premise, &cited)?;
        Ok(accepted(Code::R13, "it is reinforced, once in this session"))
    }

    fn contradict(&self, touch: &Touch) -> Result<Accepted, Objection> {
        let (node, cited) = self.touched(touch)?;
        if node.is_protected() {
            return hold(Code::R14, "it is protected: a tension is opened, and the owner is asked");
        }
        let cited = self.witnesses(&node.premise, &node.node_type, &cited)?;
        ground::against(&node.premise, &cited)?;
        Ok(accepted(Code::R20, "it loses commitment, and its uncertainty grows"))
    }
}

/// R11: refuses a weight out of range. Weights in range are hints; nothing stores them yet.
fn weights(add: &Add) -> Result<(), Objection> {
    let least = |name: &str| if name == "valence" { -1.0 } else { 0.0 };
    match add.weights.iter().find(|(name, value)| !(least(name)..=1.0).contains(value)) {
        Some((name, value)) => refuse(Code::R11, format!("`{name}` is {value}, which no weight is")),
        None => Ok(()),
    }
}

/// Whether the owner wrote these very words.
fn is_edit_of(shown: &Shown, premise: &str) -> bool {
    shown.witness() == Witness::Edit && shown.text.contains(premise.trim_end_matches('.'))
}
