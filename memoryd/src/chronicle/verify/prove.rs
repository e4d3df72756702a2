//! The proof that one line belongs to a chronicle whose head was signed: its path in the Merkle tree. It reads
//! the index and proves nothing unless it is recalculated (`metnosctl audit prove` does).

use metnos_proto::ids::Sha256;
use metnos_proto::merkle::{Frontier, root_of, siblings};

use crate::chronicle::store::Chronicle;
use crate::error::{Error, Result};

/// A path, nearest sibling first, and the root that it leads to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proof {
    /// The line, from 1.
    pub seq: u64,
    /// How many lines the tree is over.
    pub size: u64,
    /// The siblings' roots.
    pub path: Vec<Sha256>,
    /// Where they lead.
    pub root: Sha256,
}

/// Proves that line `seq` is among the first `size`.
///
/// # Errors
/// When there are not so many, or the index cannot be read.
pub fn prove(chronicle: &Chronicle, seq: u64, size: u64) -> Result<Proof> {
    let index = chronicle.index();
    let known = index.row(seq)?.filter(|_| seq <= size && size <= chronicle.head().seq);
    let Some(row) = known else {
        return Err(Error::Altered(format!("there is no line {seq} among the first {size}")));
    };
    let path = siblings(seq - 1, size)
        .into_iter()
        .map(|(from, to)| {
            let mut subtree = Frontier::default();
            // Leaves count from 0, lines from 1.
            index.hashes(from + 1, to + 1, |hash| subtree.push(&hash))?;
            Ok(subtree.root())
        })
        .collect::<Result<Vec<_>>>()?;
    let root = root_of(&row.hash, seq - 1, size, &path)
        .ok_or_else(|| Error::Altered(format!("the index lacks lines before {size}")))?;
    Ok(Proof { seq, size, path, root })
}
