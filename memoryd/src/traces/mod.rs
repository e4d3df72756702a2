//! Traces: the communities of the mnestome, under names that last. It proposes nothing and changes no mnest.
//!
//! [`leiden`] finds the communities of a [`graph`]; here they get their names: a trace keeps its
//! id while most of its members stay together (design: memory §2). Communities stay
//! as they were until others are clearly better, so that a name does not change because of a
//! few mnests.

pub mod graph;
pub mod leiden;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use metnos_proto::msg::common::ExecutorId;
use serde::{Deserialize, Serialize};
use sha2::Digest;

use crate::error::{Error, Result};
use crate::mnestome::graph::Mnest;
use crate::mnestome::weight::{USE_DAY, UseTime};
use graph::Graph;

/// How often traces are looked for, on the clock of use (design: memory §2: weekly).
pub const EVERY: UseTime = 7 * USE_DAY;
/// By how much a wholly new division must be better to be taken, in modularity.
pub const CLEARLY_BETTER: f64 = 0.02;
/// Seeds that are tried on a graph of at most [`SMALL_EDGES`] edges.
const SEEDS: u64 = 8;
/// See [`SEEDS`]; a larger graph is tried with one.
const SMALL_EDGES: usize = 20_000;
/// The file that holds them, in the mnestome's folder.
pub const FILE: &str = "traces.json";

pub use metnos_proto::doc::mnestome::Trace;

/// All traces as they were last found.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Traces {
    /// When, on the clock of use, in millionths of a use-day.
    pub use_time: UseTime,
    /// How much more of the weight lies inside the traces than chance would put there.
    pub modularity: f64,
    /// The largest first.
    pub traces: Vec<Trace>,
}

/// A mnest as far as traces need it.
#[derive(Debug, Clone, PartialEq)]
pub struct Link {
    /// Whose output.
    pub from: ExecutorId,
    /// Whose input.
    pub to: ExecutorId,
    /// Its weight now.
    pub weight: f64,
}

impl Link {
    /// The link of a mnest that can be followed; a wish or what was archived is none.
    #[must_use]
    pub fn of(mnest: &Mnest) -> Option<Self> {
        let version = mnest.dst_version.clone().filter(|_| ["active", "decaying"].contains(&mnest.state.as_str()))?;
        Some(Self {
            from: ExecutorId { name: mnest.src_executor.clone(), version: mnest.src_version.clone() },
            to: ExecutorId { name: mnest.dst_executor.clone(), version },
            weight: mnest.weight,
        })
    }
}

impl Traces {
    /// Finds the traces of these mnests at use-time `now`, with the names that `before` gave.
    #[must_use]
    pub fn find(links: &[Link], before: &Self, now: UseTime) -> Self {
        let key = |id: &ExecutorId| (id.name.clone(), id.version.clone());
        let members: BTreeSet<(String, String)> =
            links.iter().flat_map(|link| [key(&link.from), key(&link.to)]).collect();
        let members: Vec<(String, String)> = members.into_iter().collect();
        let place = |id: &ExecutorId| {
            members.binary_search(&key(id)).ok().and_then(|at| u32::try_from(at).ok()).unwrap_or(u32::MAX)
        };
        let edges: Vec<(u32, u32, f64)> =
            links.iter().map(|link| (place(&link.from), place(&link.to), link.weight)).collect();
        let graph = Graph::new(u32::try_from(members.len()).unwrap_or(u32::MAX), &edges);
        let found = search(&graph, edges.len(), &before.places(&members), before.traces.len());
        let mut traces: Vec<Trace> = (0..found.count)
            .map(|_| Trace { id: String::new(), members: Vec::new(), inside: 0.0, outside: 0.0 })
            .collect();
        for (member, own) in members.into_iter().zip(&found.of) {
            traces[*own as usize].members.push(member);
        }
        for (from, to, weight) in edges {
            let (from, to) = (found.of[from as usize] as usize, found.of[to as usize] as usize);
            if from == to {
                traces[from].inside += weight;
            } else {
                traces[from].outside += weight;
                traces[to].outside += weight;
            }
        }
        name(&mut traces, &before.traces, now);
        Self { use_time: now, modularity: found.modularity, traces }
    }

    /// Where the search begins: each known executor in its trace, each other alone.
    fn places(&self, members: &[(String, String)]) -> Vec<u32> {
        let known: BTreeMap<&(String, String), usize> = self
            .traces
            .iter()
            .enumerate()
            .flat_map(|(at, trace)| trace.members.iter().map(move |member| (member, at)))
            .collect();
        let alone = self.traces.len()..;
        let places = members.iter().zip(alone).map(|(member, alone)| known.get(member).copied().unwrap_or(alone));
        places.map(|place| u32::try_from(place).unwrap_or(u32::MAX)).collect()
    }

    /// Whether it is time to look for traces again.
    #[must_use]
    pub const fn due(&self, now: UseTime) -> bool {
        now >= self.use_time + EVERY || (self.traces.is_empty() && now > self.use_time)
    }

    /// The trace that an executor belongs to.
    #[must_use]
    pub fn of(&self, name: &str, version: &str) -> Option<&Trace> {
        self.traces
            .iter()
            .find(|trace| trace.members.iter().any(|(known, of)| (known.as_str(), of.as_str()) == (name, version)))
    }

    /// Whether two executors, each as its name, a blank and its version, belong to one trace.
    #[must_use]
    pub fn share(&self, one: &str, other: &str) -> bool {
        let trace =
            |id: &str| id.split_once(' ').and_then(|(name, version)| self.of(name, version)).map(|trace| &trace.id);
        trace(one).is_some_and(|id| trace(other) == Some(id))
    }

    /// Reads them from their file; none when there is no file, or it holds something else: they are found anew.
    #[must_use]
    pub fn load(folder: &Path) -> Self {
        std::fs::read(folder.join(FILE)).ok().and_then(|text| serde_json::from_slice(&text).ok()).unwrap_or_default()
    }

    /// Writes them to their file, which is whole at any moment.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn store(&self, folder: &Path) -> Result<()> {
        let told = |source| Error::io(format!("writing {FILE}"), source);
        let text = serde_json::to_vec(self).map_err(|error| told(error.into()))?;
        let fresh = folder.join("traces.json.new");
        std::fs::write(&fresh, text).map_err(told)?;
        std::fs::rename(&fresh, folder.join(FILE)).map_err(told)
    }
}

/// The communities as they were, unless others are clearly better: those that the search finds from there, or
/// those that it finds wholly anew.
fn search(graph: &Graph, edges: usize, from: &[u32], traces: usize) -> leiden::Communities {
    let seeds = if edges <= SMALL_EDGES { SEEDS } else { 1 };
    let anew = leiden::best_of(graph, 0..seeds);
    let least = anew.as_ref().map_or(0.0, |anew| anew.modularity - CLEARLY_BETTER);
    if traces > 0 {
        let known = |node: u32| from.get(node as usize).is_some_and(|place| (*place as usize) < traces);
        let kept = leiden::extended(graph, from, known);
        if kept.modularity >= least {
            return kept;
        }
        let moved = leiden::communities(graph, 0, Some(from));
        if moved.modularity >= least {
            return moved;
        }
    }
    anew.unwrap_or_else(|| leiden::communities(graph, 0, None))
}

/// Gives each trace the id of the earlier one most of whose members it holds, and a new id otherwise.
fn name(traces: &mut [Trace], before: &[Trace], now: UseTime) {
    let home: BTreeMap<&(String, String), usize> = before
        .iter()
        .enumerate()
        .flat_map(|(at, trace)| trace.members.iter().map(move |member| (member, at)))
        .collect();
    let mut shared: BTreeMap<(usize, usize), usize> = BTreeMap::new();
    for (at, trace) in traces.iter().enumerate() {
        for member in &trace.members {
            if let Some(old) = home.get(member) {
                *shared.entry((*old, at)).or_default() += 1;
            }
        }
    }
    // Largest share first; of equals the trace that was named first.
    let mut shared: Vec<((usize, usize), usize)> = shared.into_iter().collect();
    shared.sort_by_key(|((old, new), count)| (std::cmp::Reverse(*count), *old, *new));
    let mut given = BTreeSet::new();
    for ((old, new), count) in shared {
        if 2 * count > before[old].members.len() && traces[new].id.is_empty() && given.insert(old) {
            traces[new].id.clone_from(&before[old].id);
        }
    }
    for trace in traces {
        if trace.id.is_empty() {
            trace.id = new_id(&trace.members, now);
        }
    }
}

/// A ULID whose time is that of use, in thousandths of a use-day, and whose rest is a digest of the
/// first members: found anew from the same, it is the same.
fn new_id(members: &[(String, String)], now: UseTime) -> String {
    let mut digest = sha2::Sha256::new();
    for part in members.iter().flat_map(|(name, version)| [name, version]) {
        digest.update(part.as_bytes());
        digest.update([0]);
    }
    let digest: [u8; 32] = digest.finalize().into();
    let mut bytes = [0; 16];
    bytes[..6].copy_from_slice(&(now / 1000).to_be_bytes()[2..]);
    bytes[6..].copy_from_slice(&digest[..10]);
    format!("trace_{}", ulid::Ulid::from_bytes(bytes))
}
