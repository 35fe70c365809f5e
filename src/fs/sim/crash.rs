//! The disks that a power loss may leave: the operations that are not durable survive in part.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use super::disk::{Disk, Id, Node, SimBody, SimOperation, Version};
use super::machine::Machine;
use super::order;
use super::store::Store;
use super::torn::{self, Random};
use super::tree::{self, SimTree};
use crate::digest::Digest;

/// The file system's promise about metadata that was not synced. About contents it promises nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Policy {
    /// Any consistent subset survives; a sync makes durable only the file or folder that it names.
    Unordered,
    /// A prefix in the order of the calls survives, and any sync makes all earlier metadata durable, as on ext4 and
    /// xfs.
    OrderedMetadata,
}

/// One disk as a power loss may leave it. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Image {
    pub(super) disk: Disk,
    pub(super) machine: Machine,
    names: Arc<Vec<String>>,
    kept: Vec<bool>,
    contents: Vec<String>,
}

impl Image {
    /// The digest of everything visible, inode identities included, times (except birth times) left out: of two images
    /// with the same digest, only one needs exploring.
    #[must_use]
    pub fn digest(&self) -> Digest {
        tree::digest(&self.disk, &self.machine, false)
    }

    /// All files and folders by path.
    #[must_use]
    pub fn tree(&self) -> SimTree {
        tree::tree(&self.disk, &self.machine)
    }
}

/// Lists what was lost and torn.
impl fmt::Display for Image {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("lost:")?;
        for (name, _) in self.names.iter().zip(&self.kept).filter(|(_, kept)| !**kept) {
            write!(f, " [{name}]")?;
        }
        f.write_str("; contents:")?;
        self.contents.iter().try_for_each(|content| write!(f, " [{content}]"))
    }
}

/// The disks that a power loss may leave.
#[derive(Debug, Clone)]
pub struct Images {
    /// The images, all with different [`Image::digest`]s.
    pub images: Vec<Image>,
    /// True if these are all possible images, false if they are a sample.
    pub exhaustive: bool,
}

impl IntoIterator for Images {
    type Item = Image;
    type IntoIter = std::vec::IntoIter<Image>;

    fn into_iter(self) -> Self::IntoIter {
        self.images.into_iter()
    }
}

/// A file, and the operation that wrote out the last content of it that is surely left, if there is one.
type SimWritten = (Id, Option<usize>);

/// For each operation, whether it survives.
type SimSurvivors = Vec<bool>;

/// The number of combinations tried for each image asked for, before sampling takes over.
const TRIES: usize = 4;

struct SimImages<'a> {
    store: &'a Store,
    needs: Vec<Vec<usize>>,
    /// The operations that survive in any case.
    given: SimSurvivors,
    policy: Policy,
    /// The contents that may be left of a file, by the operation that wrote one out, if that survives.
    contents: BTreeMap<SimWritten, Vec<Version>>,
    names: Arc<Vec<String>>,
    machine: Machine,
    limit: usize,
    found: Vec<Image>,
    seen: BTreeSet<Digest>,
}

impl Store {
    /// The disks that a power loss now may leave: all, or a sample of `limit`, chosen by `seed`, if there are more.
    pub(super) fn images(&self, policy: Policy, limit: usize, seed: u64) -> Images {
        let mut random = Random::new(seed);
        let (mut explorer, is_complete) = self.explorer(self.policy(policy), limit, &mut random);
        let exhaustive = explorer.exhaust() && is_complete;
        if !exhaustive {
            explorer.sample(&mut random);
        }
        Images { images: explorer.found, exhaustive }
    }

    /// One of these disks.
    pub(super) fn image(&self, policy: Policy, seed: u64) -> Image {
        let mut random = Random::new(seed);
        let (mut explorer, _) = self.explorer(self.policy(policy), 1, &mut random);
        explorer.take_any(&mut random);
        explorer.found.swap_remove(0)
    }

    /// The policy of a machine: a file system that orders has no other.
    fn policy(&self, asked: Policy) -> Policy {
        if self.machine.volumes().any(|volume| volume.orders) { Policy::OrderedMetadata } else { asked }
    }

    /// The explorer of these disks, and whether it covers all contents that may be left.
    fn explorer(&self, policy: Policy, limit: usize, random: &mut Random) -> (SimImages<'_>, bool) {
        let mut is_complete = true;
        let mut contents = BTreeMap::new();
        for (id, pending) in &self.pending {
            if let Some(node) = self.durable.get(*id) {
                let (variants, is_all) = torn::variants(node, &pending.versions, limit, random);
                contents.insert((*id, None), variants);
                is_complete &= is_all;
                for (index, logged) in self.log.iter().enumerate() {
                    let SimOperation::WriteOut { id: of, content, after } = &logged.meta.what else { continue };
                    if of == id {
                        let node = Node { body: SimBody::File(Arc::clone(&content.bytes)), ..node.clone() };
                        let node = Node { modified: content.modified, changed: content.changed, ..node };
                        let (variants, is_all) = torn::variants(&node, pending.since(*after), limit, random);
                        contents.insert((*id, Some(index)), variants);
                        is_complete &= is_all;
                    }
                }
            }
        }
        let mut machine = self.machine.clone();
        machine.boot += 1;
        let explorer = SimImages {
            store: self,
            needs: order::dependencies(&self.log, &self.durable),
            given: self.log.iter().map(|l| policy == Policy::OrderedMetadata && l.flushed).collect(),
            policy,
            contents,
            names: Arc::new(self.log.iter().map(|l| describe(&l.meta)).collect()),
            machine,
            limit: limit.max(1),
            found: Vec::new(),
            seen: BTreeSet::new(),
        };
        (explorer, is_complete)
    }
}

fn describe(meta: &super::disk::Meta) -> String {
    match &meta.what {
        SimOperation::Names { changes, .. } => {
            let names: Vec<_> = changes.iter().map(|c| c.name.to_string_lossy()).collect();
            format!("{} {}", meta.verb, names.join(" "))
        }
        SimOperation::SetMetadata { id, .. } | SimOperation::WriteOut { id, .. } => format!("{} #{id}", meta.verb),
    }
}

impl SimImages<'_> {
    /// Tries every combination; returns `false`, with nothing found, if there are too many.
    fn exhaust(&mut self) -> bool {
        let budget = self.limit.saturating_mul(TRIES);
        let Some(sets) = self.all_sets(budget) else { return false };
        let mut bases: Vec<(Disk, SimSurvivors, Vec<SimWritten>)> = Vec::new();
        let mut seen = BTreeSet::new();
        let mut total = 0_usize;
        for kept in sets {
            let disk = self.names_of(&kept);
            if !seen.insert(tree::digest(&disk, &self.machine, false)) {
                continue;
            }
            let torn = self.torn(&disk, &kept);
            total = total.saturating_add(torn.iter().map(|it| self.contents[it].len()).fold(1, usize::saturating_mul));
            if total > budget {
                return false;
            }
            bases.push((disk, kept, torn));
        }
        for (disk, kept, torn) in bases {
            let mut choice = vec![0; torn.len()];
            loop {
                self.take(&disk, &kept, &torn, &choice);
                // Counts up in a number system with one digit for each content.
                let Some(digit) = (0..torn.len()).find(|d| choice[*d] + 1 < self.contents[&torn[*d]].len()) else {
                    break;
                };
                choice[..digit].fill(0);
                choice[digit] += 1;
            }
        }
        if self.found.len() > self.limit {
            self.found.clear();
            self.seen.clear();
            return false;
        }
        true
    }

    /// All sets of operations that may survive, unless there are more than `most`.
    fn all_sets(&self, most: usize) -> Option<Vec<SimSurvivors>> {
        if self.policy == Policy::OrderedMetadata {
            let sets: Vec<SimSurvivors> = (0..=self.given.len()).map(|n| self.prefix(n)).collect();
            return (sets.len() <= most).then_some(sets);
        }
        let mut sets = vec![Vec::with_capacity(self.given.len())];
        for index in 0..self.given.len() {
            let with: Vec<SimSurvivors> =
                sets.iter().filter(|set| self.needs[index].iter().all(|n| set[*n])).cloned().collect();
            for set in &mut sets {
                set.push(false);
            }
            sets.extend(with.into_iter().map(|mut set| {
                set.push(true);
                set
            }));
            if sets.len() > most {
                return None;
            }
        }
        Some(sets)
    }

    fn prefix(&self, length: usize) -> SimSurvivors {
        self.given.iter().enumerate().map(|(i, given)| *given || i < length).collect()
    }

    /// The disk with those operations applied and every content lost that can be.
    fn names_of(&self, kept: &[bool]) -> Disk {
        let mut disk = self.store.durable.clone();
        for (logged, _) in self.store.log.iter().zip(kept).filter(|(_, kept)| **kept) {
            disk.apply(&logged.meta);
        }
        disk.prune();
        disk
    }

    /// The files of a disk whose contents may be torn, each with what of it was written out there.
    fn torn(&self, disk: &Disk, kept: &[bool]) -> Vec<SimWritten> {
        let mut torn: Vec<SimWritten> = Vec::new();
        for (id, written) in self.contents.keys().filter(|(id, _)| disk.get(*id).is_some()) {
            let survives = written.is_none_or(|index| kept[index]);
            // The last one of a file counts; they are in order.
            match torn.last_mut() {
                Some(last) if last.0 == *id && survives => last.1 = *written,
                Some(last) if last.0 == *id => {}
                _ => torn.push((*id, *written)),
            }
        }
        torn
    }

    fn take(&mut self, base: &Disk, kept: &[bool], torn: &[SimWritten], choice: &[usize]) {
        let mut disk = base.clone();
        let mut contents = Vec::new();
        for (written, chosen) in torn.iter().zip(choice) {
            let (id, variant) = (&written.0, &self.contents[written][*chosen]);
            if *chosen == torn::LOST {
                contents.push(format!("#{id} lost"));
            } else if let Some(node) = disk.get_mut(*id) {
                node.body = SimBody::File(Arc::clone(&variant.bytes));
                node.modified = variant.modified;
                node.changed = node.changed.max(variant.changed);
                let word = if *chosen == torn::KEPT { "kept" } else { "torn" };
                contents.push(format!("#{id} {word}, {} bytes", variant.bytes.len()));
            }
        }
        let image = Image {
            disk,
            machine: self.machine.clone(),
            names: Arc::clone(&self.names),
            kept: kept.to_vec(),
            contents,
        };
        if self.seen.insert(image.digest()) {
            self.found.push(image);
        }
    }

    fn take_chosen(&mut self, kept: &[bool], mut choose: impl FnMut(usize) -> usize) {
        let disk = self.names_of(kept);
        let torn = self.torn(&disk, kept);
        let choice: Vec<usize> = torn.iter().map(|it| choose(self.contents[it].len())).collect();
        self.take(&disk, kept, &torn, &choice);
    }

    /// Takes the extreme cases first, where the errors are, then random ones.
    fn sample(&mut self, random: &mut Random) {
        let length = self.given.len();
        for kept in [self.prefix(length), self.prefix(0)] {
            for corner in [torn::LOST, torn::KEPT, torn::KEPT + 1] {
                self.take_chosen(&kept, |variants| corner.min(variants - 1));
            }
        }
        let mut corners: Vec<SimSurvivors> = (1..length).map(|n| self.prefix(n)).collect();
        if self.policy == Policy::Unordered {
            corners.extend((0..length).flat_map(|i| [self.only(i), self.all_but(i)]));
        }
        for index in (1..corners.len()).rev() {
            corners.swap(index, random.below(index + 1));
        }
        for kept in corners {
            if self.found.len() >= self.limit / 2 {
                break;
            }
            let corner = [torn::LOST, torn::KEPT, torn::KEPT, torn::KEPT + 1][random.below(4)];
            self.take_chosen(&kept, |variants| corner.min(variants - 1));
        }
        for _ in 0..self.limit.saturating_mul(TRIES) {
            if self.found.len() >= self.limit {
                break;
            }
            self.take_any(random);
        }
        self.found.truncate(self.limit);
    }

    fn take_any(&mut self, random: &mut Random) {
        let kept = self.any(random);
        let mood = random.below(4);
        self.take_chosen(&kept, |variants| match mood {
            0 => torn::KEPT.min(variants - 1),
            1 if random.below(4) > 0 => torn::KEPT.min(variants - 1),
            2 if random.below(4) > 0 => torn::LOST,
            _ => random.below(variants),
        });
    }

    fn only(&self, index: usize) -> SimSurvivors {
        let mut kept = self.given.clone();
        order::with_dependencies(&self.needs, index, &mut kept);
        kept
    }

    fn all_but(&self, lost: usize) -> SimSurvivors {
        self.consistent(|index| index != lost)
    }

    fn any(&self, random: &mut Random) -> SimSurvivors {
        if self.policy == Policy::OrderedMetadata {
            return self.prefix(random.below(self.given.len() + 1));
        }
        let of_ten = [1, 5, 9][random.below(3)];
        self.consistent(|_| random.below(10) < of_ten)
    }

    /// The wanted operations, without those that need one that is not wanted.
    fn consistent(&self, mut is_wanted: impl FnMut(usize) -> bool) -> SimSurvivors {
        let mut kept: SimSurvivors = Vec::with_capacity(self.given.len());
        for index in 0..self.given.len() {
            let survives = is_wanted(index) && self.needs[index].iter().all(|n| kept[*n]);
            kept.push(survives);
        }
        kept
    }
}
