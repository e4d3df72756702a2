//! Communities by the Leiden algorithm (Traag, Waltman, van Eck 2019), for modularity. Pure: same seed, same result.
//!
//! Three phases, repeated on ever smaller graphs: nodes move to the neighbouring community
//! that gains most, a queue holding those whose surroundings changed; each community is
//! refined into parts that are well connected; the parts become the nodes of the next graph,
//! which begins with the communities found before the refinement. The whole is repeated from
//! its own result until nothing is gained. Every community is connected.

use super::graph::{Graph, GroupWeights, members};

/// The most times that the whole is repeated from its own result.
pub const MAX_ROUNDS: usize = 10;
/// The same for a graph of more than [`LARGE_EDGES`] edges, on which more gain little.
pub const MAX_ROUNDS_LARGE: usize = 2;
/// See [`MAX_ROUNDS_LARGE`].
pub const LARGE_EDGES: usize = 50_000;
/// How freely the refinement chooses among gains (the paper's θ), in weights of edges.
const RANDOMNESS: f64 = 0.01;
/// Gains below this are rounding.
const NOTHING: f64 = 1e-10;

/// Random numbers that depend on the seed alone (`SplitMix64`).
#[derive(Debug)]
struct Random(u64);

impl Random {
    const fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Below `limit`, which is not 0.
    const fn below(&mut self, limit: usize) -> usize {
        ((self.next() as u128 * limit as u128) >> 64) as usize
    }

    /// In [0, 1).
    #[allow(clippy::cast_precision_loss, reason = "53 bits fit")]
    fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// All numbers below `count` in random order.
    fn order(&mut self, count: usize) -> Vec<u32> {
        let mut all: Vec<u32> = (0..u32::try_from(count).unwrap_or(u32::MAX)).collect();
        for at in (1..all.len()).rev() {
            all.swap(at, self.below(at + 1));
        }
        all
    }
}

/// The communities of a graph and how good they are.
#[derive(Debug, Clone, PartialEq)]
pub struct Communities {
    /// Of each node its community, counted from 0: the largest first, equals by their first node.
    pub of: Vec<u32>,
    /// How many.
    pub count: usize,
    /// In [−½, 1): more is better.
    pub modularity: f64,
}

/// Finds the communities of a graph. `from` is where the search begins, each node alone where it is `None`.
#[must_use]
pub fn communities(graph: &Graph, seed: u64, from: Option<&[u32]>) -> Communities {
    let mut random = Random(seed);
    let alone = || (0..u32::try_from(graph.nodes()).unwrap_or(u32::MAX)).collect::<Vec<u32>>();
    let given = from.filter(|from| from.len() == graph.nodes());
    let (mut best, _) = dense(&given.map_or_else(alone, <[u32]>::to_vec));
    let mut quality = graph.modularity(&best);
    let rounds = if graph.edges() > LARGE_EDGES { MAX_ROUNDS_LARGE } else { MAX_ROUNDS };
    for round in 0..rounds {
        let found = once(graph, &best, &mut random);
        let found_quality = graph.modularity(&found);
        if round > 0 && found_quality <= quality + NOTHING {
            break;
        }
        (best, quality) = (found, found_quality);
    }
    let (of, count) = by_size(&connected(graph, &best));
    Communities { modularity: graph.modularity(&of), of, count }
}

/// The communities as they were, each node that is not known put where it gains most; divided where they are no
/// longer connected.
#[must_use]
pub fn extended(graph: &Graph, from: &[u32], known: impl Fn(u32) -> bool) -> Communities {
    let (mut of, count) = dense(from);
    let mut strengths = vec![0.0; count];
    for (node, own) in (0_u32..).zip(&of) {
        strengths[*own as usize] += graph.strength(node);
    }
    let mut weights_to = GroupWeights::new(count);
    for node in (0_u32..).take(graph.nodes()).filter(|node| !known(*node)) {
        let own = of[node as usize];
        let strength = graph.strength(node);
        for (other, weight) in graph.row(node) {
            weights_to.add(of[other as usize], weight);
        }
        strengths[own as usize] -= strength;
        let mut target = (own, 0.0);
        for group in weights_to.met() {
            let gain = weights_to.weight(*group) - strength * strengths[*group as usize] / graph.total();
            if gain > target.1 + NOTHING {
                target = (*group, gain);
            }
        }
        weights_to.clear();
        strengths[target.0 as usize] += strength;
        of[node as usize] = target.0;
    }
    let (of, count) = by_size(&connected(graph, &of));
    Communities { modularity: graph.modularity(&of), of, count }
}

/// The best of several seeds, the earliest of equals.
#[must_use]
pub fn best_of(graph: &Graph, seeds: std::ops::Range<u64>) -> Option<Communities> {
    seeds
        .map(|seed| communities(graph, seed, None))
        .reduce(|best, other| if other.modularity > best.modularity + NOTHING { other } else { best })
}

/// One whole round from the given communities.
fn once(graph: &Graph, from: &[u32], random: &mut Random) -> Vec<u32> {
    // Of each node of the given graph, the node of the present graph that it is part of.
    let mut part_of: Vec<u32> = (0..u32::try_from(graph.nodes()).unwrap_or(u32::MAX)).collect();
    let mut held: Option<Graph> = None;
    let mut of = from.to_vec();
    loop {
        let present = held.as_ref().unwrap_or(graph);
        move_nodes(present, &mut of, random);
        let (moved, count) = dense(&of);
        of = moved;
        if count == present.nodes() {
            break;
        }
        let (refined, parts) = refine(present, &of, count, random);
        if parts == present.nodes() {
            break;
        }
        let mut next = vec![0; parts];
        for (part, community) in refined.iter().zip(&of) {
            next[*part as usize] = *community;
        }
        for part in &mut part_of {
            *part = refined[*part as usize];
        }
        held = Some(present.grouped(&refined, parts));
        of = next;
    }
    part_of.iter().map(|part| of[*part as usize]).collect()
}

/// Moves nodes, one after the other, to where they gain most, until none wants to.
fn move_nodes(graph: &Graph, of: &mut [u32], random: &mut Random) {
    let nodes = graph.nodes();
    if nodes == 0 || graph.total() <= 0.0 {
        return;
    }
    let mut strengths = vec![0.0; nodes];
    let mut sizes = vec![0_u32; nodes];
    for (node, own) in (0_u32..).zip(of.iter()) {
        strengths[*own as usize] += graph.strength(node);
        sizes[*own as usize] += 1;
    }
    let mut empty: Vec<u32> = (0_u32..).zip(&sizes).filter(|(_, size)| **size == 0).map(|(own, _)| own).collect();
    let mut queue: std::collections::VecDeque<u32> = random.order(nodes).into();
    let mut queued = vec![true; nodes];
    let mut weights_to = GroupWeights::new(nodes);
    while let Some(node) = queue.pop_front() {
        queued[node as usize] = false;
        let own = of[node as usize];
        for (other, weight) in graph.row(node) {
            weights_to.add(of[other as usize], weight);
        }
        let strength = graph.strength(node);
        strengths[own as usize] -= strength;
        let gain = |group: u32| weights_to.weight(group) - strength * strengths[group as usize] / graph.total();
        let (mut target, mut most) = (own, gain(own));
        for group in weights_to.met() {
            let gained = gain(*group);
            if gained > most + NOTHING {
                (target, most) = (*group, gained);
            }
        }
        // Alone is worth nothing, which may be more.
        if most < -NOTHING
            && sizes[own as usize] > 1
            && let Some(free) = empty.last()
        {
            target = *free;
        }
        strengths[target as usize] += strength;
        weights_to.clear();
        if target == own {
            continue;
        }
        if sizes[target as usize] == 0 {
            empty.pop();
        }
        sizes[target as usize] += 1;
        sizes[own as usize] -= 1;
        if sizes[own as usize] == 0 {
            empty.push(own);
        }
        of[node as usize] = target;
        for (other, _) in graph.row(node) {
            if of[other as usize] != target && !queued[other as usize] {
                queued[other as usize] = true;
                queue.push_back(other);
            }
        }
    }
}

/// Divides each community into parts that are well connected inside it.
fn refine(graph: &Graph, of: &[u32], count: usize, random: &mut Random) -> (Vec<u32>, usize) {
    let nodes = graph.nodes();
    let mut refined: Vec<u32> = (0..u32::try_from(nodes).unwrap_or(u32::MAX)).collect();
    let mut parts = Refinement {
        strengths: (0_u32..).take(nodes).map(|node| graph.strength(node)).collect(),
        outward: vec![0.0; nodes],
        alone: vec![true; nodes],
    };
    let mut whole = vec![0.0; count];
    for (node, own) in (0_u32..).zip(of) {
        whole[*own as usize] += graph.strength(node);
        let inside = graph.row(node).filter(|(other, _)| of[*other as usize] == *own);
        parts.outward[node as usize] = inside.map(|(_, weight)| weight).sum();
    }
    let mut weights_to = GroupWeights::new(nodes);
    let mut choices = Vec::new();
    for node in random.order(nodes) {
        let own = of[node as usize];
        let whole = whole[own as usize];
        if !parts.alone[node as usize] || !parts.well_connected(refined[node as usize], whole, graph.total()) {
            continue;
        }
        for (other, weight) in graph.row(node).filter(|(other, _)| of[*other as usize] == own) {
            weights_to.add(refined[other as usize], weight);
        }
        choices.clear();
        let strength = graph.strength(node);
        for part in weights_to.met() {
            let gain = weights_to.weight(*part) - strength * parts.strengths[*part as usize] / graph.total();
            if gain >= 0.0 && parts.well_connected(*part, whole, graph.total()) {
                choices.push((*part, gain));
            }
        }
        if let Some(target) = choose(&choices, random) {
            parts.join(node, target, strength, weights_to.weight(target));
            refined[node as usize] = target;
        }
        weights_to.clear();
    }
    dense(&refined)
}

/// The parts of communities while they are being refined; a node's first part has its number.
struct Refinement {
    strengths: Vec<f64>,
    /// The weights that lead from a part to the rest of its community.
    outward: Vec<f64>,
    /// Of each node, whether it is still alone in its part and no other has joined it.
    alone: Vec<bool>,
}

impl Refinement {
    fn well_connected(&self, part: u32, whole: f64, total: f64) -> bool {
        let strength = self.strengths[part as usize];
        self.outward[part as usize] + NOTHING >= strength * (whole - strength) / total
    }

    /// Node `node`, alone so far, joins part `target`, to which edges of weight `between` lead.
    fn join(&mut self, node: u32, target: u32, strength: f64, between: f64) {
        let outward = std::mem::take(&mut self.outward[node as usize]);
        self.strengths[node as usize] = 0.0;
        self.strengths[target as usize] += strength;
        self.outward[target as usize] += outward - 2.0 * between;
        self.alone[node as usize] = false;
        self.alone[target as usize] = false;
    }
}

/// One of the choices, the likelier the more it gains.
fn choose(choices: &[(u32, f64)], random: &mut Random) -> Option<u32> {
    let most = choices.iter().map(|(_, gain)| *gain).fold(f64::NEG_INFINITY, f64::max);
    let likely = |gain: f64| ((gain - most) / RANDOMNESS).exp();
    let mut left = random.unit() * choices.iter().map(|(_, gain)| likely(*gain)).sum::<f64>();
    for (part, gain) in choices {
        left -= likely(*gain);
        if left <= 0.0 {
            return Some(*part);
        }
    }
    choices.last().map(|(part, _)| *part)
}

/// The same groups counted from 0 without gaps, in the order of their first nodes.
fn dense(of: &[u32]) -> (Vec<u32>, usize) {
    let mut names = vec![u32::MAX; of.iter().max().map_or(0, |most| *most as usize + 1)];
    let mut count = 0;
    let named = of.iter().map(|own| {
        let name = &mut names[*own as usize];
        if *name == u32::MAX {
            *name = count;
            count += 1;
        }
        *name
    });
    (named.collect(), count as usize)
}

/// The same groups, each divided where it is not connected: which only ever gains.
fn connected(graph: &Graph, of: &[u32]) -> Vec<u32> {
    let mut found = vec![u32::MAX; of.len()];
    let mut next = 0;
    let mut waiting = Vec::new();
    for node in 0..u32::try_from(of.len()).unwrap_or(u32::MAX) {
        if found[node as usize] != u32::MAX {
            continue;
        }
        found[node as usize] = next;
        waiting.push(node);
        while let Some(reached) = waiting.pop() {
            for (other, _) in graph.row(reached) {
                if found[other as usize] == u32::MAX && of[other as usize] == of[reached as usize] {
                    found[other as usize] = next;
                    waiting.push(other);
                }
            }
        }
        next += 1;
    }
    found
}

/// The same groups counted from the largest; equals in the order of their first nodes.
fn by_size(of: &[u32]) -> (Vec<u32>, usize) {
    let (of, count) = dense(of);
    let all = members(&of, count);
    let mut order: Vec<u32> = (0_u32..).take(count).collect();
    order.sort_by_key(|group| std::cmp::Reverse(all.of(*group).len()));
    let mut place = vec![0; count];
    for (at, group) in (0_u32..).zip(order) {
        place[group as usize] = at;
    }
    (of.iter().map(|own| place[*own as usize]).collect(), count)
}
