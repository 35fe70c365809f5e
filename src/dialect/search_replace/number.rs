//! Line numbers that some tools put above a block.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// The number above a text, and the text beneath it.
pub(super) fn on_top<'l, 'p>(text: &'l [&'p [u8]]) -> (Option<usize>, &'l [&'p [u8]]) {
    let mut rest = text;
    let mut line = None;
    while let [first, tail @ ..] = rest
        && let Some(number) = first.strip_prefix(b":start_line:").or(first.strip_prefix(b":end_line:"))
    {
        // Its end says nothing about its start.
        if first.starts_with(b":start_line:") {
            line = line.or(std::str::from_utf8(number).ok().and_then(|number| number.trim().parse().ok()));
        }
        rest = tail;
    }
    match rest {
        [b"-------", tail @ ..] if rest.len() < text.len() => (line, tail),
        _ => (line, rest),
    }
}

/// The blocks of each file so far. All numbers refer to the original file, but a block is searched in the result of the
/// previous ones.
#[derive(Default)]
pub(super) struct Numbering {
    files: HashMap<PathBuf, Vec<Block>>,
}

struct Block {
    line: Option<usize>,
    /// The lines that it adds, minus those that it removes.
    added: isize,
}

/// The use of a block's number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct NumberUse {
    pub(super) line: Option<usize>,
    /// True if the line must still be shifted by what the previous blocks added.
    pub(super) continues: bool,
}

impl Numbering {
    /// The place of the next block, which adds `added` lines.
    pub(super) fn next(&mut self, file: &Path, line: Option<usize>, added: isize) -> NumberUse {
        let blocks = self.files.entry(file.to_owned()).or_default();
        let number = |block: &Block| block.line;
        let ascends = blocks.iter().map(number).chain([line]).is_sorted_by(|a, b| a.is_some() && a < b);
        let continues = ascends && line.is_some() && !blocks.is_empty();
        // If the numbers are not in order, one is usable only if nothing before it can have moved it.
        let is_in_front = |block: &Block| block.line.is_none_or(|earlier| line.is_some_and(|line| earlier <= line));
        let is_moved = blocks.iter().any(|block| block.added != 0 && is_in_front(block));
        blocks.push(Block { line, added });
        NumberUse { line: line.filter(|_| continues || !is_moved), continues }
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;
    use proptest::sample::select;

    use super::*;
    use crate::dialect::Patch;
    use crate::dialect::tests::applied;

    #[test]
    fn a_number_is_good_where_what_is_in_front_is_known() {
        let mut numbering = Numbering::default();
        let mut next = |file: &str, line, added| {
            let NumberUse { line, continues } = numbering.next(Path::new(file), line, added);
            (line, continues)
        };
        assert_eq!(next("x", Some(10), 2), (Some(10), false));
        assert_eq!(next("x", Some(20), -3), (Some(20), true));
        assert_eq!(next("y", Some(15), 0), (Some(15), false), "another file");
        assert_eq!(next("x", Some(5), 0), (Some(5), false), "in front of all");
        assert_eq!(next("x", Some(30), 0), (None, false), "behind some");
        assert_eq!(next("y", None, 0), (None, false));
        assert_eq!(next("y", Some(20), 1), (Some(20), false), "nothing has moved");
        assert_eq!(next("y", None, 1), (None, false));
        assert_eq!(next("y", Some(3), 0), (None, false), "nothing tells where that one is");
    }

    /// A block: whether it has its number, and the lines that replace its single line.
    type Wanted = (bool, Vec<&'static str>);

    fn wanted() -> impl Strategy<Value = Wanted> {
        (prop::bool::weighted(0.8), vec(select(vec!["a", "b", "c"]), 0..3))
    }

    proptest! {
        #[test]
        fn blocks_with_right_numbers_go_where_they_say_or_nowhere(
            lines in vec((select(vec!["a", "b"]), prop::option::weighted(0.7, wanted())), 1..10),
            keys in vec(any::<u8>(), 10),
            is_sorted in any::<bool>(),
        ) {
            let mut blocks = Vec::new();
            let mut expected = String::new();
            for (at, (line, wanted)) in lines.iter().enumerate() {
                let new = wanted.as_ref().map_or_else(|| vec![*line], |(_, new)| new.clone());
                let new: String = new.iter().flat_map(|line| [line, "\n"]).collect();
                expected += &new;
                if let Some((is_numbered, _)) = wanted {
                    let number = if *is_numbered { format!(":start_line:{}\n-------\n", at + 1) } else { String::new() };
                    blocks.push(format!("x\n<<<<<<< SEARCH\n{number}{line}\n=======\n{new}>>>>>>> REPLACE\n"));
                }
            }
            if blocks.is_empty() {
                return Ok(());
            }
            let mut blocks: Vec<(u8, String)> = keys.into_iter().zip(blocks).collect();
            if !is_sorted {
                blocks.sort_by_key(|(key, _)| *key);
            }
            let blocks: String = blocks.into_iter().map(|(_, block)| block).collect();
            let content: String = lines.iter().flat_map(|(line, _)| [line, "\n"]).collect();
            let patch = Patch::read(blocks.as_bytes(), None, None).unwrap();
            let (before, after) = ([("x".to_owned(), content)].into(), [("x".to_owned(), expected)].into());
            let are_all_numbered = lines.iter().all(|(_, wanted)| wanted.as_ref().is_none_or(|(is_numbered, _)| *is_numbered));
            match applied(&before, &patch) {
                Ok(made) => prop_assert_eq!(made, after, "{}", blocks),
                Err(kind) => prop_assert!(!(is_sorted && are_all_numbered), "{:?}\n{}", kind, blocks),
            }
        }
    }
}
