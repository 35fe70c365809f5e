//! Edits that would apply, made of the sources of this repository, and numbers that are the same for the same seed.

use std::ops::Range;

use crate::support::sources::Source;

/// Numbers that are the same for the same seed.
pub(super) struct Dice(u64);

impl Dice {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    pub(super) fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 11).unwrap() % limit.max(1)
    }

    pub(super) fn pick<'l, T>(&mut self, list: &'l [T]) -> Option<&'l T> {
        list.get(self.below(list.len()))
    }
}

/// A file and an edit of it, before or after it was damaged.
#[derive(Debug, Clone)]
pub(super) struct Case {
    pub(super) path: String,
    pub(super) file: String,
    pub(super) at: Range<usize>,
    /// What is changed, in the file.
    pub(super) changed: Range<usize>,
    pub(super) expected: String,
    pub(super) old: String,
    pub(super) new: String,
}

impl Case {
    /// The edit that puts `new` in the place of `at`.
    pub(super) fn new(path: &str, file: &str, at: Range<usize>, new: &str) -> Self {
        let old = &file[at.clone()];
        let head = old.bytes().zip(new.bytes()).take_while(|(a, b)| a == b).count();
        let tail = old.bytes().rev().zip(new.bytes().rev()).take_while(|(a, b)| a == b).count();
        let tail = tail.min(old.len().min(new.len()) - head);
        Self {
            path: path.to_owned(),
            file: file.to_owned(),
            changed: at.start + head..at.end - tail,
            expected: [&file[..at.start], new, &file[at.end..]].concat(),
            old: old.to_owned(),
            new: new.to_owned(),
            at,
        }
    }

    /// A random edit: some lines that are there once, and a name in them that is changed.
    pub(super) fn random(sources: &[Source], dice: &mut Dice) -> Option<Self> {
        let source = dice.pick(sources)?;
        let starts: Vec<usize> = source.text.match_indices('\n').map(|(at, _)| at + 1).collect();
        let count = 1 + dice.below(7);
        let first = dice.below(starts.len().checked_sub(count + 1)?);
        let at = starts[first]..starts[first + count] - 1;
        let old = source.text.get(at.clone())?;
        let blank = |line: &str| line.trim().is_empty();
        let telling = old.lines().filter(|line| line.trim().len() > 8).count();
        if old.lines().next().is_none_or(blank) || old.split('\n').next_back().is_none_or(blank) || telling == 0 {
            return None;
        }
        let names = words(old);
        let name = dice.pick(&names)?;
        let new = [&old[..name.end], "_changed", &old[name.end..]].concat();
        (source.text.matches(old).count() == 1).then(|| Self::new(&source.path, &source.text, at.clone(), &new))
    }

    /// The same edit of a file in which the old text is written in another way.
    pub(super) fn rewritten(&self, write: impl Fn(&str) -> String) -> Option<Self> {
        let (old, new) = (write(&self.old), write(&self.new));
        let file = [&self.file[..self.at.start], &old, &self.file[self.at.end..]].concat();
        let at = self.at.start..self.at.start + old.len();
        (old != self.old && file.matches(&old).count() == 1).then(|| Self::new(&self.path, &file, at, &new))
    }

    pub(super) fn lines(&self) -> Vec<&str> {
        self.old.split('\n').collect()
    }

    /// Damages the old text, and the new one in the same way; `None` if the old one stays as it is.
    pub(super) fn both(&mut self, damage: impl Fn(&str) -> String) -> Option<()> {
        self.new = damage(&self.new);
        self.old(damage)
    }

    /// Damages the old text; `None` if it stays as it is.
    pub(super) fn old(&mut self, damage: impl FnOnce(&str) -> String) -> Option<()> {
        let damaged = damage(&self.old);
        (damaged != self.old).then(|| self.old = damaged)
    }

    /// The line of the old text, from 0, that is changed.
    pub(super) fn changed_line(&self) -> usize {
        self.file[self.at.start..self.changed.start].matches('\n').count()
    }

    /// Whether an `old_string` is there once, and covers what is changed.
    pub(super) fn is_served_by(&self, old: &str) -> bool {
        let mut places = self.file.match_indices(old);
        let Some((start, _)) = places.next() else { return false };
        !old.is_empty()
            && !self.file.as_bytes()[start + 1..].windows(old.len()).any(|there| there == old.as_bytes())
            && start <= self.changed.start
            && self.changed.end <= start + old.len()
    }
}

/// The words of a text that may be names.
pub(super) fn words(text: &str) -> Vec<Range<usize>> {
    let mut list: Vec<Range<usize>> = Vec::new();
    for (at, c) in text.char_indices().filter(|(_, c)| c.is_ascii_alphabetic() || *c == '_') {
        match list.last_mut() {
            Some(word) if word.end == at => word.end = at + c.len_utf8(),
            _ => list.push(at..at + c.len_utf8()),
        }
    }
    list.retain(|word| word.len() > 3);
    list
}
