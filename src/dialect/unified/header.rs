//! The headers in a diff: git's extended headers, and the ranges of a hunk.

use memchr::memmem;

use super::names;
use crate::dialect::malformed;
use crate::error::Result;

/// The change of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum SectionKind {
    #[default]
    Change,
    New,
    Deleted,
    Copy,
    Rename,
}

/// The information of git's headers about a file.
#[derive(Debug, Default)]
pub(super) struct GitHeaders {
    pub(super) kind: SectionKind,
    /// True if it is a symlink or a submodule, before or after.
    pub(super) is_irregular: bool,
    /// Whether it is executable afterwards, if that changes or is new.
    pub(super) new_mode: Option<bool>,
    /// True if it says that the content changes.
    pub(super) has_content: bool,
    pub(super) from: Option<Vec<u8>>,
    pub(super) to: Option<Vec<u8>>,
}

impl GitHeaders {
    /// Reads a line, if it is one of these.
    pub(super) fn take(&mut self, line: &[u8], number: usize) -> Result<bool> {
        let value = |key: &str| line.strip_prefix(key.as_bytes());
        if let Some(mode) = value("old mode ") {
            self.mode(mode, number)?;
        } else if let Some(mode) = value("new mode ") {
            self.new_mode = Some(self.mode(mode, number)?);
        } else if let Some(mode) = value("deleted file mode ") {
            self.set(SectionKind::Deleted, number)?;
            self.mode(mode, number)?;
        } else if let Some(mode) = value("new file mode ") {
            self.set(SectionKind::New, number)?;
            self.new_mode = Some(self.mode(mode, number)?);
        } else if let Some(name) = value("copy from ").or(value("rename from ")) {
            self.set(if line.starts_with(b"copy") { SectionKind::Copy } else { SectionKind::Rename }, number)?;
            self.from = Some(names::unquoted(name));
        } else if let Some(name) = value("copy to ").or(value("rename to ")) {
            self.set(if line.starts_with(b"copy") { SectionKind::Copy } else { SectionKind::Rename }, number)?;
            self.to = Some(names::unquoted(name));
        } else if let Some(index) = value("index ") {
            self.has_content |= tells_of_content(index);
            if let Some(mode) = index.split(|byte| *byte == b' ').nth(1) {
                self.mode(mode, number)?;
            }
        } else {
            let similarity = value("similarity index ");
            self.has_content |= similarity.is_some_and(|percent| percent.trim_ascii() != b"100%");
            return Ok(similarity.or(value("dissimilarity index ")).is_some());
        }
        Ok(true)
    }

    /// Both names of a rename or a copy; a single one is an error: the patch was damaged.
    pub(super) fn names(&self, number: usize) -> Result<Option<(Vec<u8>, Vec<u8>)>> {
        match (&self.from, &self.to) {
            (Some(from), Some(to)) => Ok(Some((from.clone(), to.clone()))),
            (None, None) => Ok(None),
            _ => Err(malformed(
                number,
                1,
                "both names: `rename from NAME` and `rename to NAME`, or `copy from` and `copy to`",
            )),
        }
    }

    /// Sets the change of the file; there must be only one.
    fn set(&mut self, kind: SectionKind, number: usize) -> Result<()> {
        if self.kind != SectionKind::Change && self.kind != kind {
            return Err(malformed(number, 1, "one of a new file, a deletion, a copy and a rename, not two of them"));
        }
        self.kind = kind;
        Ok(())
    }

    /// Returns whether a mode is that of an executable file.
    fn mode(&mut self, mode: &[u8], number: usize) -> Result<bool> {
        let digits = std::str::from_utf8(mode.trim_ascii_end()).ok();
        let mode = digits.and_then(|digits| u32::from_str_radix(digits, 8).ok());
        // One with further bits would be given without them.
        let mode = mode.filter(|mode| mode & 0o7000 == 0);
        let mode = mode.ok_or_else(|| malformed(number, 1, "a mode of git in octal digits, 100644 or 100755"))?;
        self.is_irregular |= mode & 0o170_000 != 0o100_000;
        Ok(mode & 0o100 != 0)
    }
}

/// Returns whether the `index` line of a section has two contents, the new one not empty.
fn tells_of_content(index: &[u8]) -> bool {
    // The names of the empty content, in both of git's hashes.
    const EMPTY: [&[u8]; 2] = [
        b"e69de29bb2d1d6434b8b29ae775ad8c2e48c5391",
        b"473a0f4c3be8a93681a267e3b1e9a7dcda1185436fe141f7749120a303721813",
    ];
    let hashes = index.split(|byte| *byte == b' ').next().unwrap_or_default();
    let Some(at) = memmem::find(hashes, b"..") else { return false };
    let (old, new) = (&hashes[..at], &hashes[at + 2..]);
    let is_nothing = |hash: &[u8]| hash.iter().all(|byte| *byte == b'0');
    let is_empty = |hash: &[u8]| hash.len() >= 4 && EMPTY.iter().any(|empty| empty.starts_with(hash));
    let is_same = old.starts_with(new) || new.starts_with(old);
    let is_without_lines = is_nothing(new) || (is_nothing(old) && is_empty(new));
    !is_same && !is_without_lines
}

/// Returns whether a line is a header that occurs only in a section of git; `next` is the line after it.
pub(super) fn is_stray(line: &[u8], next: &[u8]) -> bool {
    let is_mode = |key: &str| {
        let mode = line.strip_prefix(key.as_bytes()).map(<[u8]>::trim_ascii_end);
        mode.is_some_and(|mode| mode.len() == 6 && mode.iter().all(u8::is_ascii_digit))
    };
    let is_similarity = line.starts_with(b"similarity index ") && line.trim_ascii_end().ends_with(b"%");
    let is_pair = |from: &str, to: &str| line.starts_with(from.as_bytes()) && next.starts_with(to.as_bytes());
    ["old mode ", "new mode ", "deleted file mode ", "new file mode "].into_iter().any(is_mode)
        || is_similarity
        || is_pair("rename from ", "rename to ")
        || is_pair("copy from ", "copy to ")
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
