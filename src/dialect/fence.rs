//! Markdown code fences around a patch: an unclosed one means that the answer was cut off.

use super::malformed;
use crate::error::Result;

/// The length of the shortest fence.
const SIGNS: usize = 3;

/// The fences among the lines that are not part of a patch.
#[derive(Debug, Default)]
pub(super) struct Fences {
    open: Option<OpenFence>,
}

#[derive(Debug)]
struct OpenFence {
    sign: u8,
    signs: usize,
    /// The number of its opening line, from 1.
    number: usize,
    /// True if it is labelled as a diff.
    is_diff: bool,
}

impl Fences {
    /// Returns whether the last one is still open.
    pub(super) fn is_open(&self) -> bool {
        self.open.is_some()
    }

    /// Returns whether the open one is labelled as a diff.
    pub(super) fn is_of_diff(&self) -> bool {
        self.open.as_ref().is_some_and(|open| open.is_diff)
    }

    /// Reads a line.
    pub(super) fn see(&mut self, line: &[u8], number: usize) {
        let line = line.trim_ascii();
        let Some(&sign) = line.first().filter(|sign| matches!(sign, b'`' | b'~')) else { return };
        let signs = line.iter().take_while(|byte| **byte == sign).count();
        let info = &line[signs..];
        match &self.open {
            Some(_) if self.closes(line) => self.open = None,
            // A code span at the start of a line also ends on that line.
            None if signs >= SIGNS && !info.contains(&b'`') => {
                let language = info.split(|byte| !byte.is_ascii_alphanumeric()).find(|word| !word.is_empty());
                let is_diff = language.is_some_and(|it| [&b"diff"[..], b"patch", b"udiff"].contains(&it));
                self.open = Some(OpenFence { sign, signs, number, is_diff });
            }
            _ => {}
        }
    }

    /// Returns whether a line closes the open fence.
    pub(super) fn closes(&self, line: &[u8]) -> bool {
        let line = line.trim_ascii();
        self.open.as_ref().is_some_and(|open| line.len() >= open.signs && line.iter().all(|byte| *byte == open.sign))
    }

    /// Refuses a patch whose last fence is still open; `lines` is the number of lines of the patch.
    pub(super) fn check_closed(&self, lines: usize) -> Result<()> {
        match &self.open {
            Some(open) => {
                let expected = format!("the fence that closes the one of line {}: send the whole patch", open.number);
                Err(malformed(lines, 1, expected))
            }
            None => Ok(()),
        }
    }
}
