//! The line numbers that some tools put on top of a block.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// The number on top of a text, and what is beneath it.
pub(super) fn on_top<'l, 'p>(text: &'l [&'p [u8]]) -> (Option<usize>, &'l [&'p [u8]]) {
    let mut rest = text;
    let mut line = None;
    while let [first, tail @ ..] = rest
        && let Some(number) = first.strip_prefix(b":start_line:").or(first.strip_prefix(b":end_line:"))
    {
        let number = std::str::from_utf8(number).ok().and_then(|number| number.trim().parse().ok());
        line = line.or(number);
        rest = tail;
    }
    match rest {
        [b"-------", tail @ ..] if rest.len() < text.len() => (line, tail),
        _ => (line, rest),
    }
}

/// The blocks so far. All numbers count in the file as it was; a block is looked for in what those before it made.
#[derive(Default)]
pub(super) struct Numbering {
    blocks: HashMap<PathBuf, Vec<Block>>,
}

struct Block {
    line: Option<usize>,
    /// Lines that it adds, less those that it takes away.
    added: isize,
}

impl Numbering {
    /// The line where the next block stands by now, which adds so many; `None` where nothing tells.
    pub(super) fn by_now(&mut self, file: &Path, line: Option<usize>, added: isize) -> Option<usize> {
        let blocks = self.blocks.entry(file.to_owned()).or_default();
        let now = line.and_then(|line| {
            blocks.iter().filter(|block| block.added != 0).try_fold(line, |now, block| match block.line? {
                earlier if earlier < line => now.checked_add_signed(block.added),
                _ => Some(now),
            })
        });
        blocks.push(Block { line, added });
        now
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_count_in_the_file_as_it_was() {
        let mut numbering = Numbering::default();
        let mut by_now = |file: &str, line, added| numbering.by_now(Path::new(file), line, added);
        assert_eq!(by_now("x", Some(10), 2), Some(10));
        assert_eq!(by_now("x", Some(20), -3), Some(22));
        assert_eq!(by_now("x", Some(5), 1), Some(5), "behind it nothing has moved");
        assert_eq!(by_now("x", Some(30), 0), Some(30));
        assert_eq!(by_now("x", None, 0), None);
        assert_eq!(by_now("x", Some(15), 0), Some(18), "what adds nothing moves nothing");
        assert_eq!(by_now("y", Some(15), 0), Some(15), "another file");
        assert_eq!(by_now("x", None, 1), None);
        assert_eq!(by_now("x", Some(15), 0), None, "nothing tells whether that one is in front of it");
    }
}
