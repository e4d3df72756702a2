//! A Merkle tree over the hashes of the chronicle's lines, in the manner of RFC 6962: pure, and
//! never more than a few dozen hashes in memory, however long the chronicle is.
//!
//! A leaf is `SHA-256(0 ‖ hash of the line)`, an inner node `SHA-256(1 ‖ left ‖ right)`; the left half
//! of a tree is the largest power of two that is smaller than the whole.

use sha2::Digest;

use crate::ids::Sha256;

/// The root of a tree without leaves: the digest of nothing.
#[must_use]
pub fn empty_root() -> Sha256 {
    Sha256(sha2::Sha256::digest([]).into())
}

/// The leaf of a line with this hash.
#[must_use]
pub fn leaf(hash: &Sha256) -> Sha256 {
    let mut digest = sha2::Sha256::new();
    digest.update([0]);
    digest.update(hash.0);
    Sha256(digest.finalize().into())
}

fn node(left: &Sha256, right: &Sha256) -> Sha256 {
    let mut digest = sha2::Sha256::new();
    digest.update([1]);
    digest.update(left.0);
    digest.update(right.0);
    Sha256(digest.finalize().into())
}

/// The roots of the full subtrees of a growing tree, largest first: all that is needed to go on.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Frontier {
    size: u64,
    roots: Vec<Sha256>,
}

impl Frontier {
    /// Adds the line with this hash.
    pub fn push(&mut self, hash: &Sha256) {
        let mut root = leaf(hash);
        let mut full = self.size;
        while full & 1 == 1 {
            if let Some(left) = self.roots.pop() {
                root = node(&left, &root);
            }
            full >>= 1;
        }
        self.roots.push(root);
        self.size += 1;
    }

    /// How many lines there are.
    #[must_use]
    pub const fn size(&self) -> u64 {
        self.size
    }

    /// The root over all of them.
    #[must_use]
    pub fn root(&self) -> Sha256 {
        let mut all = self.roots.iter().rev();
        let Some(last) = all.next() else { return empty_root() };
        all.fold(*last, |right, left| node(left, &right))
    }

    /// The frontier as bytes: the size as u64 big-endian, then the roots.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = self.size.to_be_bytes().to_vec();
        bytes.extend(self.roots.iter().flat_map(|root| root.0));
        bytes
    }

    /// Reads what [`Frontier::to_bytes`] writes; `None` for anything else.
    #[must_use]
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (size, roots) = bytes.split_first_chunk::<8>()?;
        let (roots, rest) = roots.as_chunks::<32>();
        let size = u64::from_be_bytes(*size);
        let fits = rest.is_empty() && roots.len() as u32 == size.count_ones();
        fits.then(|| Self { size, roots: roots.iter().map(|root| Sha256(*root)).collect() })
    }
}

/// The ranges of leaves whose roots make the path of leaf `index` in a tree of `size`, nearest first; each from its
/// first leaf to before its last. Leaves count from 0.
#[must_use]
pub fn siblings(index: u64, size: u64) -> Vec<(u64, u64)> {
    let mut ranges = Vec::new();
    let (mut from, mut to) = (0, size);
    if index >= size {
        return ranges;
    }
    while to - from > 1 {
        let middle = from + split(to - from);
        if index < middle {
            ranges.push((middle, to));
            to = middle;
        } else {
            ranges.push((from, middle));
            from = middle;
        }
    }
    ranges.reverse();
    ranges
}

/// The largest power of two that is smaller than `size`, which is at least 2.
const fn split(size: u64) -> u64 {
    1 << (63 - (size - 1).leading_zeros())
}

/// The root that a line's hash, its place (from 0) in a tree of `size` and the path lead to; `None` when the path
/// does not have the length that it must have.
#[must_use]
pub fn root_of(hash: &Sha256, index: u64, size: u64, path: &[Sha256]) -> Option<Sha256> {
    let ranges = siblings(index, size);
    if index >= size || ranges.len() != path.len() {
        return None;
    }
    let climbed = ranges.iter().zip(path).fold(leaf(hash), |root, ((from, _), sibling)| {
        if *from > index { node(&root, sibling) } else { node(sibling, &root) }
    });
    Some(climbed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn hash(n: u64) -> Sha256 {
        crate::chain::sha256(&n.to_be_bytes())
    }

    /// The tree as RFC 6962 §2.1 defines it, by recursion over all leaves.
    fn defined(leaves: &[Sha256]) -> Sha256 {
        match leaves {
            [] => empty_root(),
            [one] => leaf(one),
            more => {
                let mut k = 1;
                while k * 2 < more.len() {
                    k *= 2;
                }
                node(&defined(&more[..k]), &defined(&more[k..]))
            }
        }
    }

    fn frontier(leaves: &[Sha256]) -> Frontier {
        let mut frontier = Frontier::default();
        leaves.iter().for_each(|hash| frontier.push(hash));
        frontier
    }

    #[test]
    fn the_empty_tree_and_the_first_leaf_are_those_of_the_rfc() {
        assert_eq!(empty_root().to_string(), "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
        assert_eq!(frontier(&[]).root(), empty_root());
        assert_eq!(frontier(&[hash(1)]).root(), leaf(&hash(1)));
    }

    #[test]
    fn bytes_that_are_no_frontier_are_refused() {
        let whole = frontier(&[hash(1), hash(2), hash(3)]).to_bytes();
        assert!(Frontier::from_bytes(&whole).is_some());
        assert!(Frontier::from_bytes(&whole[..whole.len() - 1]).is_none());
        assert!(Frontier::from_bytes(&whole[..8]).is_none());
        assert!(Frontier::from_bytes(&[]).is_none());
    }

    proptest! {
        #[test]
        fn a_frontier_has_the_root_that_the_definition_says_and_survives_writing(size in 0_u64..200) {
            let leaves: Vec<_> = (0..size).map(hash).collect();
            let frontier = frontier(&leaves);
            prop_assert_eq!(frontier.root(), defined(&leaves));
            prop_assert_eq!(Frontier::from_bytes(&frontier.to_bytes()), Some(frontier));
        }

        #[test]
        fn a_path_leads_from_its_leaf_to_the_root_and_no_other_does(size in 1_u64..120, at in any::<prop::sample::Index>(), other in any::<prop::sample::Index>()) {
            let leaves: Vec<_> = (0..size).map(hash).collect();
            let (index, other) = (at.index(leaves.len()), other.index(leaves.len()));
            let path: Vec<_> = siblings(index as u64, size).iter()
                .map(|(from, to)| defined(&leaves[*from as usize..*to as usize])).collect();
            let root = defined(&leaves);
            prop_assert_eq!(root_of(&leaves[index], index as u64, size, &path), Some(root));
            prop_assert_eq!(root_of(&leaves[other], index as u64, size, &path) == Some(root), other == index);
            prop_assert_eq!(root_of(&leaves[index], other as u64, size, &path) == Some(root), other == index);
            let longer: Vec<_> = path.iter().copied().chain([root]).collect();
            prop_assert_eq!(root_of(&leaves[index], index as u64, size, &longer), None);
            prop_assert_eq!(root_of(&leaves[index], size, size, &path), None);
        }
    }
}
