//! The edit distance of an anchor from every part of a content, in one pass: Myers' bit vectors, in blocks of 64.

/// A text to search approximately.
pub(super) struct ApproximatePattern {
    len: usize,
    blocks: usize,
    /// For each byte and block, the places of the byte in the block.
    places: Vec<u64>,
}

impl ApproximatePattern {
    /// Prepares a text, which must not be empty.
    pub(super) fn new<'t>(text: impl ExactSizeIterator<Item = &'t u8>) -> Self {
        let len = text.len();
        let blocks = len.div_ceil(64);
        let mut places = vec![0; 256 * blocks];
        for (at, byte) in text.enumerate() {
            places[usize::from(*byte) * blocks + at / 64] |= 1 << (at % 64);
        }
        Self { len, blocks, places }
    }

    /// Passes to `each` for every byte of `text` the least distance of a part that ends with it: of any part, or, if it
    /// `is_from_start`, of the one that starts with the text.
    pub(super) fn distances(
        &self,
        text: impl Iterator<Item = (usize, u8)>,
        is_from_start: bool,
        mut each: impl FnMut(usize, usize),
    ) {
        let mut columns = vec![(u64::MAX, 0_u64); self.blocks];
        let last = 1 << ((self.len - 1) % 64);
        let mut distance = self.len;
        for (at, byte) in text {
            let equal = &self.places[usize::from(byte) * self.blocks..][..self.blocks];
            let mut carry = Carry { is_more: is_from_start, is_less: false };
            for (index, (column, equal)) in columns.iter_mut().zip(equal).enumerate() {
                carry = advance(column, *equal, carry, if index + 1 == self.blocks { last } else { 1 << 63 });
            }
            distance = distance + usize::from(carry.is_more) - usize::from(carry.is_less);
            each(at, distance);
        }
    }
}

/// How the distance changes from one byte of the content to the next, at the lower edge of a block.
#[derive(Clone, Copy)]
struct Carry {
    is_more: bool,
    is_less: bool,
}

/// Moves a block of a column on by one byte of the content; `lowest` is the bit of its last row.
fn advance(column: &mut (u64, u64), equal: u64, above: Carry, lowest: u64) -> Carry {
    let (more, less) = *column;
    let vertical = equal | less;
    let equal = equal | u64::from(above.is_less);
    let horizontal = ((equal & more).wrapping_add(more) ^ more) | equal;
    let (grows, shrinks) = (less | !(horizontal | more), more & horizontal);
    let below = Carry { is_more: grows & lowest != 0, is_less: shrinks & lowest != 0 };
    let grows = grows << 1 | u64::from(above.is_more);
    let shrinks = shrinks << 1 | u64::from(above.is_less);
    *column = (shrinks | !(vertical | grows), grows & vertical);
    below
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    fn found(anchor: &[u8], text: &[u8], is_from_start: bool) -> Vec<usize> {
        let mut found = Vec::new();
        let text = text.iter().copied().enumerate();
        ApproximatePattern::new(anchor.iter()).distances(text, is_from_start, |_, distance| found.push(distance));
        found
    }

    /// The same by a table.
    fn expected(anchor: &[u8], text: &[u8], is_from_start: bool) -> Vec<usize> {
        let mut column: Vec<usize> = (0..=anchor.len()).collect();
        let mut list = Vec::new();
        for (at, byte) in text.iter().enumerate() {
            let before = column.clone();
            column[0] = if is_from_start { at + 1 } else { 0 };
            for row in 1..=anchor.len() {
                let changed = before[row - 1] + usize::from(anchor[row - 1] != *byte);
                column[row] = changed.min(before[row] + 1).min(column[row - 1] + 1);
            }
            list.push(column[anchor.len()]);
        }
        list
    }

    proptest! {
        #[test]
        fn the_distances_are_those_of_a_table(
            anchor in vec(0_u8..4, 1..200),
            text in vec(0_u8..4, 0..300),
            is_from_start in any::<bool>(),
        ) {
            prop_assert_eq!(found(&anchor, &text, is_from_start), expected(&anchor, &text, is_from_start));
        }
    }
}
