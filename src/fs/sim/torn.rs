//! The contents that a power loss may leave of a file that was written and not synced.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::disk::{Node, SimBytes, Version};
use super::store::{BLOCK, block};

/// The variant in which nothing unsynced survives: always the first.
pub(super) const LOST: usize = 0;

/// The variant in which everything survives: always the second, if it differs from the first.
pub(super) const KEPT: usize = 1;

/// The number of ways to tear one size that are listed before they are drawn at random.
const WAYS: usize = 256;

/// The number of block boundaries at which a file is cut.
const CUTS: usize = 8;

/// A small random generator (`SplitMix64`): the same seed gives the same sample on every machine.
#[derive(Debug, Clone)]
pub struct Random(u64);

impl Random {
    /// The generator of this seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// A number below `bound`, which is not 0.
    pub fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut x = self.0;
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^= x >> 31;
        usize::try_from(x % bound.max(1) as u64).unwrap_or(0)
    }
}

/// The contents that may be left, and whether that is all of them: any size that the file had or grew through, and each
/// block as it was, as it was written, or zeros where nothing was before.
pub(super) fn variants(node: &Node, versions: &[Version], limit: usize, random: &mut Random) -> (Vec<Version>, bool) {
    let empty = SimBytes::default();
    let durable = node.bytes().unwrap_or(&empty);
    let mut list = List {
        versions,
        durable: Version { bytes: Arc::clone(durable), modified: node.modified, changed: node.changed },
        found: Vec::new(),
        seen: BTreeSet::new(),
    };
    list.add(durable.to_vec());
    let Some(newest) = versions.last() else { return (list.found, true) };
    list.add(newest.bytes.to_vec());
    let mut zeros = newest.bytes.to_vec();
    let old = durable.len().min(zeros.len());
    zeros[..old].copy_from_slice(&durable[..old]);
    zeros[old..].fill(0);
    list.add(zeros);
    let mut is_complete = true;
    for size in sizes(durable, versions) {
        let choices: Vec<Vec<Vec<u8>>> =
            (0..size.div_ceil(BLOCK)).map(|index| ways(durable, versions, index, size)).collect();
        let product = choices.iter().fold(1_usize, |product, c| product.saturating_mul(c.len()));
        let most = WAYS.min(limit.max(4));
        is_complete &= product <= most;
        for way in 0..product.min(most) {
            let mut rest = way;
            let blocks = choices.iter().map(|choice| {
                let pick = if product <= most { rest % choice.len() } else { random.below(choice.len()) };
                rest /= choice.len();
                &choice[pick][..]
            });
            list.add(blocks.collect::<Vec<_>>().concat());
        }
    }
    (list.found, is_complete)
}

struct List<'a> {
    versions: &'a [Version],
    durable: Version,
    found: Vec<Version>,
    seen: BTreeSet<SimBytes>,
}

impl List<'_> {
    fn add(&mut self, bytes: Vec<u8>) {
        let bytes = Arc::new(bytes);
        if self.seen.insert(Arc::clone(&bytes)) {
            let known = std::iter::once(&self.durable).chain(self.versions).find(|v| v.bytes == bytes);
            let Version { modified, changed, .. } = *known.or(self.versions.last()).unwrap_or(&self.durable);
            self.found.push(Version { bytes, modified, changed });
        }
    }
}

/// The sizes that the file may have: each that it had, and cuts between the smallest and the greatest.
fn sizes(durable: &SimBytes, versions: &[Version]) -> BTreeSet<usize> {
    let mut sizes: BTreeSet<usize> = versions.iter().map(|v| v.bytes.len()).chain([durable.len()]).collect();
    let (Some(least), Some(most)) = (sizes.first().copied(), sizes.last().copied()) else { return sizes };
    if least < most {
        let boundaries = (least / BLOCK + 1)..most.div_ceil(BLOCK);
        let step = boundaries.len().div_ceil(CUTS).max(1);
        sizes.extend(boundaries.step_by(step).map(|b| b * BLOCK));
        // In the middle of a block, as a file system with smaller blocks may cut.
        sizes.insert(least + (most - least) / 2);
    }
    sizes
}

/// The possible contents of block `index` in a file of `size` bytes.
fn ways(durable: &SimBytes, versions: &[Version], index: usize, size: usize) -> Vec<Vec<u8>> {
    let length = BLOCK.min(size - index * BLOCK);
    let mut ways: Vec<Vec<u8>> = Vec::new();
    for bytes in std::iter::once(durable).chain(versions.iter().map(|v| &v.bytes)) {
        let part = block(bytes, index);
        let mut way = part[..part.len().min(length)].to_vec();
        way.resize(length, 0);
        if !ways.contains(&way) {
            ways.push(way);
        }
    }
    ways
}
