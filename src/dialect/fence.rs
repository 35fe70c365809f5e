//! The code fences of Markdown around a patch: one that is opened and never closed is an answer that was cut off.

use super::malformed;
use crate::error::Result;

/// The shortest fence.
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
    /// The line that opened it, from 1.
    number: usize,
    /// Whether it is said to hold a diff.
    is_diff: bool,
}

impl Fences {
    /// Whether the last one is not closed yet.
    pub(super) fn is_open(&self) -> bool {
        self.open.is_some()
    }

    /// Whether the one that is open is said to hold a diff.
    pub(super) fn is_of_diff(&self) -> bool {
        self.open.as_ref().is_some_and(|open| open.is_diff)
    }

    /// Takes a line in.
    pub(super) fn see(&mut self, line: &[u8], number: usize) {
        let line = line.trim_ascii();
        let Some(&sign) = line.first().filter(|sign| matches!(sign, b'`' | b'~')) else { return };
        let signs = line.iter().take_while(|byte| **byte == sign).count();
        let info = &line[signs..];
        match &self.open {
            Some(_) if self.closes(line) => self.open = None,
            // A code span that stands at the start of a line has its end there as well.
            None if signs >= SIGNS && !info.contains(&b'`') => {
                let language = info.split(|byte| !byte.is_ascii_alphanumeric()).find(|word| !word.is_empty());
                let is_diff = language.is_some_and(|it| [&b"diff"[..], b"patch", b"udiff"].contains(&it));
                self.open = Some(OpenFence { sign, signs, number, is_diff });
            }
            _ => {}
        }
    }

    /// Whether a line closes the fence that is open.
    pub(super) fn closes(&self, line: &[u8]) -> bool {
        let line = line.trim_ascii();
        self.open.as_ref().is_some_and(|open| line.len() >= open.signs && line.iter().all(|byte| *byte == open.sign))
    }

    /// Refuses a patch whose last fence is still open; `lines` is how many the patch has.
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
