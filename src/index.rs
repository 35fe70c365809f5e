//! Positions that are never taken for each other: of a file in a request, of a path that it resolves to, of an entry, of
//! an edit.
//!
//! Every list of the engine that is indexed by one of them is an [`IndexVec`], which no other kind of index gets into.

use std::iter::Map;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut, Index, IndexMut, Range};
use std::slice;
use std::vec;

/// A position in one kind of list.
pub trait ListIndex: Copy + Eq {
    /// The index of a position.
    fn at(position: usize) -> Self;
    /// The position, from 0.
    fn position(self) -> usize;
}

/// An entry of a plan, and of the journal that carries it out: its slot is named by it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EntryIndex(pub usize);

/// A path that a request resolves to, each once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TargetIndex(pub usize);

/// A file of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FileIndex(pub usize);

/// An edit of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EditIndex(pub usize);

macro_rules! list_index {
    ($($name:ident)*) => {$(
        impl ListIndex for $name {
            fn at(position: usize) -> Self {
                Self(position)
            }

            fn position(self) -> usize {
                self.0
            }
        }
    )*};
}

list_index!(EntryIndex TargetIndex FileIndex EditIndex);

impl EntryIndex {
    /// The entry before.
    #[must_use]
    pub fn before(self) -> Option<Self> {
        self.0.checked_sub(1).map(Self)
    }

    /// The indices of so many entries.
    pub fn first(count: usize) -> Map<Range<usize>, fn(usize) -> Self> {
        (0..count).map(Self)
    }
}

/// A vector that is indexed by one kind of index only.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexVec<I, T> {
    all: Vec<T>,
    index: PhantomData<fn(I)>,
}

impl<I: ListIndex, T> IndexVec<I, T> {
    /// Adds a value behind the last.
    pub fn push(&mut self, value: T) {
        self.all.push(value);
    }

    /// The index that a value gets that is added next.
    #[must_use]
    pub fn next_index(&self) -> I {
        I::at(self.all.len())
    }

    /// The value there, if there are so many.
    #[must_use]
    pub fn get(&self, index: I) -> Option<&T> {
        self.all.get(index.position())
    }

    /// All indices.
    pub fn indices(&self) -> Map<Range<usize>, fn(usize) -> I> {
        (0..self.all.len()).map(I::at)
    }

    /// All values, each with its index.
    #[must_use]
    pub fn numbered(&self) -> impl DoubleEndedIterator<Item = (I, &T)> + ExactSizeIterator {
        self.all.iter().enumerate().map(|(position, value)| (I::at(position), value))
    }

    /// The same, to be changed.
    #[must_use]
    pub fn numbered_mut(&mut self) -> impl DoubleEndedIterator<Item = (I, &mut T)> + ExactSizeIterator {
        self.all.iter_mut().enumerate().map(|(position, value)| (I::at(position), value))
    }

    /// The index of the first value that fits.
    pub fn position(&self, fits: impl FnMut(&T) -> bool) -> Option<I> {
        self.all.iter().position(fits).map(I::at)
    }

    /// The values from an index on.
    #[must_use]
    pub fn starting_at(&self, index: I) -> &[T] {
        &self.all[index.position()..]
    }
}

impl<I, T> Default for IndexVec<I, T> {
    fn default() -> Self {
        Vec::new().into()
    }
}

impl<I, T> From<Vec<T>> for IndexVec<I, T> {
    fn from(all: Vec<T>) -> Self {
        Self { all, index: PhantomData }
    }
}

impl<I, T> FromIterator<T> for IndexVec<I, T> {
    fn from_iter<V: IntoIterator<Item = T>>(values: V) -> Self {
        Vec::from_iter(values).into()
    }
}

impl<I, T> Deref for IndexVec<I, T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.all
    }
}

impl<I, T> DerefMut for IndexVec<I, T> {
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.all
    }
}

impl<I: ListIndex, T> Index<I> for IndexVec<I, T> {
    type Output = T;

    fn index(&self, index: I) -> &T {
        &self.all[index.position()]
    }
}

impl<I: ListIndex, T> IndexMut<I> for IndexVec<I, T> {
    fn index_mut(&mut self, index: I) -> &mut T {
        &mut self.all[index.position()]
    }
}

impl<I, T> IntoIterator for IndexVec<I, T> {
    type Item = T;
    type IntoIter = vec::IntoIter<T>;

    fn into_iter(self) -> vec::IntoIter<T> {
        self.all.into_iter()
    }
}

impl<'a, I, T> IntoIterator for &'a IndexVec<I, T> {
    type Item = &'a T;
    type IntoIter = slice::Iter<'a, T>;

    fn into_iter(self) -> slice::Iter<'a, T> {
        self.all.iter()
    }
}

impl<'a, I, T> IntoIterator for &'a mut IndexVec<I, T> {
    type Item = &'a mut T;
    type IntoIter = slice::IterMut<'a, T>;

    fn into_iter(self) -> slice::IterMut<'a, T> {
        self.all.iter_mut()
    }
}
