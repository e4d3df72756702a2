//! A weighted undirected graph in rows, as the search for communities walks it. It knows nothing of executors.

/// A graph: for each node its neighbours and the weights of the edges to them.
#[derive(Debug, Clone, Default)]
pub struct Graph {
    /// Where each node's row begins; one more than there are nodes.
    starts: Vec<u32>,
    neighbours: Vec<u32>,
    weights: Vec<f64>,
    /// Of each node: the weights of its edges, a loop counting twice.
    strengths: Vec<f64>,
    /// The weights of all edges, twice.
    total: f64,
}

impl Graph {
    /// A graph of `nodes` nodes. Edges between the same two nodes add up; an edge whose weight
    /// is not a positive number, or whose end is no node, is none.
    #[must_use]
    pub fn new(nodes: u32, edges: &[(u32, u32, f64)]) -> Self {
        let sound =
            |(from, to, weight): &&(u32, u32, f64)| *from < nodes && *to < nodes && *weight > 0.0 && weight.is_finite();
        let mut strengths = vec![0.0; nodes as usize];
        let mut starts = vec![0_u32; nodes as usize + 1];
        for (from, to, weight) in edges.iter().filter(sound) {
            strengths[*from as usize] += weight;
            strengths[*to as usize] += weight;
            if from != to {
                starts[*from as usize + 1] += 1;
                starts[*to as usize + 1] += 1;
            }
        }
        for node in 0..nodes as usize {
            starts[node + 1] += starts[node];
        }
        let ends = starts.last().map_or(0, |end| *end as usize);
        let (mut neighbours, mut weights) = (vec![0; ends], vec![0.0; ends]);
        let mut free = starts.clone();
        for (from, to, weight) in edges.iter().filter(sound).filter(|(from, to, _)| from != to) {
            for (one, other) in [(*from, *to), (*to, *from)] {
                let at = free[one as usize] as usize;
                neighbours[at] = other;
                weights[at] = *weight;
                free[one as usize] += 1;
            }
        }
        let total = strengths.iter().sum();
        Self { starts, neighbours, weights, strengths, total }
    }

    /// How many nodes.
    #[must_use]
    pub const fn nodes(&self) -> usize {
        self.strengths.len()
    }

    /// How many edges, loops left out; several between the same two nodes are several.
    #[must_use]
    pub const fn edges(&self) -> usize {
        self.neighbours.len() / 2
    }

    /// The weights of all edges, twice.
    #[must_use]
    pub const fn total(&self) -> f64 {
        self.total
    }

    /// The weights of a node's edges, a loop counting twice.
    #[must_use]
    pub fn strength(&self, node: u32) -> f64 {
        self.strengths[node as usize]
    }

    /// A node's neighbours and the weights of the edges to them; itself is none.
    pub fn row(&self, node: u32) -> impl Iterator<Item = (u32, f64)> {
        let range = self.starts[node as usize] as usize..self.starts[node as usize + 1] as usize;
        self.neighbours[range.clone()].iter().copied().zip(self.weights[range].iter().copied())
    }

    /// The graph whose nodes are the groups of this one's: `group` gives each node's, below `groups`.
    #[must_use]
    pub fn grouped(&self, group: &[u32], groups: usize) -> Self {
        let members = members(group, groups);
        let mut starts = Vec::with_capacity(groups + 1);
        let (mut neighbours, mut weights) = (Vec::new(), Vec::new());
        let mut strengths = vec![0.0; groups];
        let mut weights_to = GroupWeights::new(groups);
        starts.push(0);
        for (own, strength) in (0_u32..).zip(&mut strengths) {
            for node in members.of(own) {
                *strength += self.strength(*node);
                for (other, weight) in self.row(*node) {
                    if group[other as usize] != own {
                        weights_to.add(group[other as usize], weight);
                    }
                }
            }
            for other in weights_to.met() {
                neighbours.push(*other);
                weights.push(weights_to.weight(*other));
            }
            weights_to.clear();
            starts.push(u32::try_from(neighbours.len()).unwrap_or(u32::MAX));
        }
        Self { starts, neighbours, weights, strengths, total: self.total }
    }

    /// How much more of the edges lies inside the groups than chance would put there (Newman and Girvan).
    #[must_use]
    pub fn modularity(&self, group: &[u32]) -> f64 {
        if self.total <= 0.0 {
            return 0.0;
        }
        let groups = group.iter().max().map_or(0, |most| *most as usize + 1);
        let (mut crossing, mut strengths) = (0.0, vec![0.0; groups]);
        for node in 0..u32::try_from(self.nodes()).unwrap_or(u32::MAX) {
            let own = group[node as usize];
            strengths[own as usize] += self.strength(node);
            crossing += self.row(node).filter(|(other, _)| group[*other as usize] != own).map(|(_, w)| w).sum::<f64>();
        }
        let expected: f64 = strengths.iter().map(|strength| (strength / self.total).powi(2)).sum();
        1.0 - crossing / self.total - expected
    }
}

/// The nodes of each group.
#[derive(Debug)]
pub struct Members {
    starts: Vec<u32>,
    nodes: Vec<u32>,
}

impl Members {
    /// The nodes of one group, ascending.
    #[must_use]
    pub fn of(&self, group: u32) -> &[u32] {
        &self.nodes[self.starts[group as usize] as usize..self.starts[group as usize + 1] as usize]
    }
}

/// Sorts the nodes by their groups.
#[must_use]
pub fn members(group: &[u32], groups: usize) -> Members {
    let mut starts = vec![0_u32; groups + 1];
    for own in group {
        starts[*own as usize + 1] += 1;
    }
    for at in 0..groups {
        starts[at + 1] += starts[at];
    }
    let mut free = starts.clone();
    let mut nodes = vec![0; group.len()];
    for (node, own) in (0_u32..).zip(group) {
        nodes[free[*own as usize] as usize] = node;
        free[*own as usize] += 1;
    }
    Members { starts, nodes }
}

/// The weights of edges towards groups, gathered without clearing what was not touched.
#[derive(Debug)]
pub struct GroupWeights {
    weights: Vec<f64>,
    met: Vec<u32>,
}

impl GroupWeights {
    /// For groups below `groups`.
    #[must_use]
    pub fn new(groups: usize) -> Self {
        Self { weights: vec![0.0; groups], met: Vec::new() }
    }

    /// Adds an edge; its weight is positive.
    pub fn add(&mut self, group: u32, weight: f64) {
        let slot = &mut self.weights[group as usize];
        if *slot == 0.0 {
            self.met.push(group);
        }
        *slot += weight;
    }

    /// The groups met, in the order in which they were.
    #[must_use]
    pub fn met(&self) -> &[u32] {
        &self.met
    }

    /// What leads towards a group.
    #[must_use]
    pub fn weight(&self, group: u32) -> f64 {
        self.weights[group as usize]
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        for group in self.met.drain(..) {
            self.weights[group as usize] = 0.0;
        }
    }
}
