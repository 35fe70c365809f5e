//! What stands in front of the lines of a diff: git's extended headers, and the ranges of a hunk.

use super::names;
use crate::dialect::malformed;
use crate::error::Result;

/// What happens to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Kind {
    #[default]
    Change,
    New,
    Deleted,
    Copy,
    Rename,
}

/// What git's headers say of a file.
#[derive(Debug, Default)]
pub(super) struct Extended {
    pub(super) kind: Kind,
    /// Whether it is a symlink or a submodule, before or after.
    pub(super) is_irregular: bool,
    /// Whether it is executable afterwards, where that changes or is new.
    pub(super) new_mode: Option<bool>,
    pub(super) from: Option<Vec<u8>>,
    pub(super) to: Option<Vec<u8>>,
}

impl Extended {
    /// Takes a line in, if it is one of these.
    pub(super) fn take(&mut self, line: &[u8], number: usize) -> Result<bool> {
        let value = |key: &str| line.strip_prefix(key.as_bytes());
        if let Some(mode) = value("old mode ") {
            self.mode(mode, number)?;
        } else if let Some(mode) = value("new mode ") {
            self.new_mode = Some(self.mode(mode, number)?);
        } else if let Some(mode) = value("deleted file mode ") {
            self.set(Kind::Deleted, number)?;
            self.mode(mode, number)?;
        } else if let Some(mode) = value("new file mode ") {
            self.set(Kind::New, number)?;
            self.new_mode = Some(self.mode(mode, number)?);
        } else if let Some(name) = value("copy from ").or(value("rename from ")) {
            self.set(if line.starts_with(b"copy") { Kind::Copy } else { Kind::Rename }, number)?;
            self.from = Some(names::unquoted(name));
        } else if let Some(name) = value("copy to ").or(value("rename to ")) {
            self.to = Some(names::unquoted(name));
        } else if let Some(index) = value("index ") {
            if let Some(mode) = index.split(|byte| *byte == b' ').nth(1) {
                self.mode(mode, number)?;
            }
        } else {
            return Ok(value("similarity index ").or(value("dissimilarity index ")).is_some());
        }
        Ok(true)
    }

    /// Sets what happens to the file, which is one thing.
    fn set(&mut self, kind: Kind, number: usize) -> Result<()> {
        if self.kind != Kind::Change && self.kind != kind {
            return Err(malformed(number, 1, "one of a new file, a deletion, a copy and a rename, not two of them"));
        }
        self.kind = kind;
        Ok(())
    }

    /// Whether a mode is that of an executable file.
    fn mode(&mut self, mode: &[u8], number: usize) -> Result<bool> {
        let digits = std::str::from_utf8(mode.trim_ascii_end()).ok();
        let mode = digits.and_then(|digits| u32::from_str_radix(digits, 8).ok());
        let mode = mode.ok_or_else(|| malformed(number, 1, "a mode in octal digits, like 100644"))?;
        self.is_irregular |= mode & 0o170_000 != 0o100_000;
        Ok(mode & 0o100 != 0)
    }
}

/// The ranges of a hunk: `@@ -1,3 +1,4 @@`.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Ranges {
    pub(super) old_start: usize,
    pub(super) old_lines: usize,
    pub(super) new_lines: usize,
}

impl Ranges {
    pub(super) fn parse(line: &[u8]) -> Option<Self> {
        let rest = std::str::from_utf8(line.split(|byte| *byte == b'@').nth(2)?).ok()?;
        let (old, new) = rest.strip_prefix(" -")?.strip_suffix(' ')?.split_once(" +")?;
        let range = |text: &str| -> Option<(usize, usize)> {
            let (start, count) = text.split_once(',').unwrap_or((text, "1"));
            let number = |digits: &str| digits.bytes().all(|b| b.is_ascii_digit()).then(|| digits.parse().ok())?;
            Some((number(start)?, number(count)?))
        };
        let ((old_start, old_lines), (_, new_lines)) = (range(old)?, range(new)?);
        line.starts_with(b"@@ ").then_some(Self { old_start, old_lines, new_lines })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_numbers() {
        let ranges = |old_start, old_lines, new_lines| Some(Ranges { old_start, old_lines, new_lines });
        assert_eq!(Ranges::parse(b"@@ -1,3 +1,4 @@ fn a() @@"), ranges(1, 3, 4));
        assert_eq!(Ranges::parse(b"@@ -1 +0,0 @@"), ranges(1, 1, 0));
        for wrong in ["@@ -1,3 +1,4", "@@ -1,+3 +1,4 @@", "@@ -a +1 @@", "@@", "@@ @@", "@@ ... @@", "@@@ -1 -1 +1 @@@"]
        {
            assert_eq!(Ranges::parse(wrong.as_bytes()), None, "{wrong}");
        }
    }
}
