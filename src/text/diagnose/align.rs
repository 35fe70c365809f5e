//! Aligns an anchor with a text, or with the part of it that is most like the anchor: by edit distance, after Sellers.
//!
//! An anchor may be a part of a line. With free ends, what is before and after that part is no difference.

/// The most cells of the table of distances.
const CELLS: usize = 4 << 20;

/// Whether the anchor is compared with the whole text or with any part of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TextEnds {
    Free,
    Fixed,
}

/// A character of the anchor, of the text, or one of each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AlignedStep {
    Equal,
    Changed,
    /// Only the anchor has it.
    OnlyInAnchor,
    /// Only the text has it.
    OnlyInText,
}

/// How an anchor and a part of a text differ.
#[derive(Debug)]
pub(super) struct Alignment {
    /// The start of the part, in characters.
    pub(super) start: usize,
    /// Its end.
    pub(super) end: usize,
    pub(super) steps: Vec<AlignedStep>,
}

/// The alignment with the fewest changed characters; `None` if the texts are too long for it.
pub(super) fn align(anchor: &[&[u8]], text: &[&[u8]], ends: TextEnds) -> Option<Alignment> {
    let width = text.len() + 1;
    if width.checked_mul(anchor.len() + 1)? > CELLS {
        return None;
    }
    let first = match ends {
        TextEnds::Free => vec![0; width],
        TextEnds::Fixed => (0..u16::try_from(width).ok()?).collect(),
    };
    u16::try_from(width.min(anchor.len()) + anchor.len()).ok()?;
    let mut table = DistanceTable { anchor, text, ends, width, cells: first };
    for row in 1..=anchor.len() {
        table.add(row);
    }
    let end = if ends == TextEnds::Free { table.end() } else { text.len() };
    Some(table.back(end))
}

/// The distances of each beginning of the anchor from the best part of the text that ends at each place.
struct DistanceTable<'t> {
    anchor: &'t [&'t [u8]],
    text: &'t [&'t [u8]],
    ends: TextEnds,
    width: usize,
    cells: Vec<u16>,
}

impl DistanceTable<'_> {
    fn add(&mut self, row: usize) {
        let (width, character) = (self.width, self.anchor[row - 1]);
        let above = (row - 1) * width;
        // Lengths that do not fit were refused.
        let mut left = self.cells[above] + 1;
        self.cells.push(left);
        for column in 1..width {
            let diagonal = self.cells[above + column - 1] + u16::from(self.text[column - 1] != character);
            left = diagonal.min(left + 1).min(self.cells[above + column] + 1);
            self.cells.push(left);
        }
    }

    fn at(&self, row: usize, column: usize) -> u16 {
        self.cells[row * self.width + column]
    }

    /// The end of the best part. Of several that are as good, the first that ends as the anchor does, or else the first,
    /// unless a letter there was another one.
    fn end(&self) -> usize {
        let last = self.anchor.len();
        let row = last * self.width;
        let lowest = self.cells[row..].iter().min().copied().unwrap_or(0);
        let is_same = |end: &usize| {
            *end > 0 && last > 0 && self.at(last, *end) == lowest && self.step(last, *end) == AlignedStep::Equal
        };
        if let Some(end) = (0..self.width).find(is_same) {
            return end;
        }
        let end = self.cells[row..].iter().position(|distance| *distance == lowest).unwrap_or(0);
        let is_letter_changed = last > 0
            && end + 1 < self.width
            && self.at(last, end + 1) == lowest
            && self.at(last - 1, end) + 1 == lowest
            && is_word(self.anchor[last - 1])
            && is_word(self.text[end]);
        end + usize::from(is_letter_changed)
    }

    /// The way back from the end of the part to its start.
    fn back(&self, end: usize) -> Alignment {
        let (mut row, mut column) = (self.anchor.len(), end);
        let mut steps = Vec::with_capacity(row + 8);
        while row > 0 || (self.ends == TextEnds::Fixed && column > 0) {
            let step = self.step(row, column);
            steps.push(step);
            row -= usize::from(step != AlignedStep::OnlyInText);
            column -= usize::from(step != AlignedStep::OnlyInAnchor);
        }
        steps.reverse();
        Alignment { start: column, end, steps }
    }

    fn step(&self, row: usize, column: usize) -> AlignedStep {
        let here = self.at(row, column);
        if row == 0 {
            return AlignedStep::OnlyInText;
        }
        let is_only_in_anchor = self.at(row - 1, column) + 1 == here;
        if column == 0 {
            return AlignedStep::OnlyInAnchor;
        }
        let (old, new) = (self.anchor[row - 1], self.text[column - 1]);
        let diagonal = self.at(row - 1, column - 1);
        // A part rather starts as the anchor does.
        let starts_before = row == 1 && self.ends == TextEnds::Free && here == 1 && self.at(row, column - 1) == 0;
        if starts_before {
            AlignedStep::OnlyInText
        } else if old == new && diagonal == here {
            AlignedStep::Equal
        } else if old != new && diagonal + 1 == here {
            // At the free start of a part, something that is not a letter is rather added than another one.
            let is_first = row == 1 && self.ends == TextEnds::Free && !(is_word(old) && is_word(new));
            if is_first && is_only_in_anchor { AlignedStep::OnlyInAnchor } else { AlignedStep::Changed }
        } else if is_only_in_anchor {
            AlignedStep::OnlyInAnchor
        } else {
            AlignedStep::OnlyInText
        }
    }
}

fn is_word(character: &[u8]) -> bool {
    character.iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'_' || *byte >= 0x80)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn aligned(anchor: &str, text: &str, ends: TextEnds) -> (usize, usize, String) {
        let split = |text: &'static str| -> Vec<&[u8]> { text.as_bytes().chunks(1).collect() };
        let leak = |text: &str| -> &'static str { Box::leak(text.to_owned().into_boxed_str()) };
        let found = align(&split(leak(anchor)), &split(leak(text)), ends).unwrap();
        let word = |step: &AlignedStep| match step {
            AlignedStep::Equal => '=',
            AlignedStep::Changed => '~',
            AlignedStep::OnlyInAnchor => '-',
            AlignedStep::OnlyInText => '+',
        };
        (found.start, found.end, found.steps.iter().map(word).collect())
    }

    #[test]
    fn what_is_around_a_part_is_no_difference() {
        assert_eq!(aligned("lista = 1", "  let list = 1;", TextEnds::Free), (6, 14, "====-====".into()));
        assert_eq!(aligned("bb", "x.ab.y", TextEnds::Free), (2, 4, "~=".into()));
        assert_eq!(aligned("abc", "abc", TextEnds::Free), (0, 3, "===".into()));
        assert_eq!(aligned(" heck messag)", "a check message)", TextEnds::Free), (1, 16, "=+===========+=".into()));
        assert_eq!(aligned("limit = 10", "let limit = 12;", TextEnds::Free), (4, 14, "=========~".into()));
    }

    #[test]
    fn a_whole_text_is_compared_to_its_ends() {
        assert_eq!(aligned("b", "abc", TextEnds::Fixed), (0, 3, "+=+".into()));
        assert_eq!(aligned("", "ab", TextEnds::Fixed), (0, 2, "++".into()));
        assert_eq!(aligned("ab", "", TextEnds::Fixed), (0, 0, "--".into()));
    }

    #[test]
    fn texts_that_are_too_long_are_not_aligned() {
        let long = vec![&b"a"[..]; 3000];
        assert!(align(&long, &long, TextEnds::Free).is_none());
    }
}
