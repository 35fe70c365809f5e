//! Reads the section of a diff for one file.

use super::header::{GitHeaders, SectionKind};
use super::prefix::Of;
use super::{Hunks, UnifiedReader, binary, names};
use crate::dialect::files::{self, PatchFiles, rename_to};
use crate::dialect::{excerpt, malformed};
use crate::error::{Error, ErrorKind, Result};
use crate::request::edit::{Edit, Hunk, Side};
use crate::request::{Change, FileRequest, Mode};

impl UnifiedReader<'_> {
    pub(super) fn git_section(&mut self, files: &mut PatchFiles) -> Result<()> {
        let start = self.number();
        let heading = self.peek().unwrap_or_default();
        self.at += 1;
        let mut extended = GitHeaders::default();
        while let Some(line) = self.peek() {
            if !extended.take(line, self.number())? {
                break;
            }
            self.at += 1;
        }
        let same = self.git_name(&heading[b"diff --git ".len()..]);
        let nameless =
            || malformed(start, 1, "the same name twice, as `a/NAME b/NAME`, or `rename from` and `rename to`");
        let (old, new) = match extended.names(self.number())? {
            Some(names) => names,
            None => same.clone().map(|name| (name.clone(), name)).ok_or_else(nameless)?,
        };
        let shown = String::from_utf8_lossy(&new).into_owned();
        if extended.is_irregular {
            let message = format!(
                "line {start} of the patch: {shown} is a symlink or a submodule; only regular files can be changed"
            );
            return Err(Error::new(ErrorKind::NotARegularFile, message));
        }
        let mut has_names = false;
        self.at += usize::from(self.is_blank_before_names(&new));
        match self.peek() {
            Some(line) if line.starts_with(b"GIT binary patch") || line.starts_with(b"Binary files ") => {
                return Err(binary(self.number(), &shown));
            }
            Some(line) if line.starts_with(b"--- ") => {
                if !self.after(1).starts_with(b"+++ ") {
                    return Err(malformed(self.number() + 1, 1, "`+++ NAME` after `--- NAME`"));
                }
                self.check_names(extended.kind, &old, &new)?;
                self.at += 2;
                has_names = true;
            }
            _ => {}
        }
        let hunks = self.hunks()?;
        if hunks.list.is_empty() {
            self.check_no_hunk(&extended, has_names, &shown)?;
        }
        let mode = extended.new_mode.map(Mode::Executable);
        let edits = |hunks: Hunks| hunks.list.into_iter().map(Hunk::into_edit).collect::<Vec<Edit>>();
        let path = files::path(&old);
        if extended.kind == SectionKind::New {
            let mode = mode.filter(|mode| *mode == Mode::Executable(true));
            files.create(files::path(&new), created(&hunks, start)?, mode);
        } else if extended.kind == SectionKind::Deleted {
            files.delete(path, Some(&deleted(&hunks, start)?));
        } else if extended.kind == SectionKind::Copy {
            let change = Change::Copy { from: path.into(), edits: edits(hunks) };
            files.push(FileRequest { mode, ..FileRequest::new(files::path(&new), change) });
        } else if old != new {
            let to = rename_to(files::path(&new));
            let edits = edits(hunks);
            let change = if edits.is_empty() { Change::Rename(to) } else { Change::Edit { edits, rename: Some(to) } };
            files.push(FileRequest { mode, ..FileRequest::new(path, change) });
        } else if !hunks.list.is_empty() {
            files.edit(path, edits(hunks), mode);
        } else if mode.is_some() {
            files.push(FileRequest { mode, ..FileRequest::new(path, Change::Mode) });
        } else {
            return Err(malformed(self.number(), 1, format!("a change of {shown}: a hunk, a new mode or a new name")));
        }
        Ok(())
    }

    pub(super) fn plain_section(&mut self, files: &mut PatchFiles) -> Result<()> {
        let start = self.number();
        let (old, new) = (&self.after(0)[4..], &self.after(1)[4..]);
        let is_epoch = |name: &[u8]| names::has_epoch(name);
        let (nothing_before, nothing_after) = (is_epoch(old), is_epoch(new));
        let (old_name, new_name) = (names::of_line(old), names::of_line(new));
        for name in [&old_name, &new_name] {
            if name.ends_with(b"dev/null") && name != b"/dev/null" {
                let expected = format!("`/dev/null` where there is no file, not {}", excerpt(name));
                return Err(malformed(start, 5, expected));
            }
        }
        let names::NamePair { old, new } = names::pair(&old_name, &new_name)
            .ok_or_else(|| malformed(start, 5, "two names of one file, as `--- a/NAME` and `+++ b/NAME`"))?;
        let bare = |name: &[u8], of: Of| {
            let untold = || {
                let name = excerpt(name);
                malformed(
                    start,
                    5,
                    format!("the same prefix as the other names have, or none as they have, not {name}"),
                )
            };
            self.prefixes.bare(name, of).ok_or_else(untold)
        };
        let (old, new) = match (old, new) {
            (None, Some(_)) => (None, Some(bare(&new_name, Of::New)?)),
            (Some(_), None) => (Some(bare(&old_name, Of::Old)?), None),
            both => both,
        };
        self.at += 2;
        let hunks = self.hunks()?;
        if hunks.list.is_empty() {
            return Err(malformed(self.number(), 1, "a hunk, `@@ -1,3 +1,3 @@`"));
        }
        let creates = nothing_before && hunks.from_nothing;
        let deletes = nothing_after && hunks.list.iter().all(|hunk| hunk.count(Side::New) == 0);
        match (old, new) {
            (None, Some(new)) => files.create(files::path(&new), created(&hunks, start)?, None),
            (Some(_), Some(new)) if creates => files.create(files::path(&new), created(&hunks, start)?, None),
            (Some(old), None) => files.delete(files::path(&old), Some(&deleted(&hunks, start)?)),
            (Some(old), Some(_)) if deletes => files.delete(files::path(&old), Some(&deleted(&hunks, start)?)),
            (_, Some(new)) => {
                let edits = hunks.list.into_iter().map(Hunk::into_edit).collect();
                files.edit(files::path(&new), edits, None)
            }
            (None, None) => return Err(malformed(start, 5, "the name of a file on one side at least")),
        };
        Ok(())
    }

    /// The name in a `diff --git` line. One that occurs once must be confirmed by what follows.
    fn git_name(&self, names: &[u8]) -> Option<Vec<u8>> {
        names::of_git_line(names).or_else(|| names::only_of_git_line(names).filter(|_| self.names_start(0)))
    }

    /// Refuses a section without a hunk if one was meant, or if it may have been cut off.
    fn check_no_hunk(&self, extended: &GitHeaders, has_names: bool, shown: &str) -> Result<()> {
        if has_names || self.has_content_next() {
            return Err(malformed(self.number(), 1, "a hunk, `@@ -1,3 +1,3 @@`"));
        }
        let is_all = extended.kind == SectionKind::Change && extended.new_mode.is_none();
        if extended.has_content && !is_all {
            let expected = format!("the hunk of {shown}, of which its header tells, `@@ -1,3 +1,3 @@`");
            return Err(malformed(self.number(), 1, expected));
        }
        self.check_break()
    }

    /// Returns whether an empty line and then the names of this file follow: then the section does not end.
    fn is_blank_before_names(&self, name: &[u8]) -> bool {
        let are_its_own = || (1..3).any(|count| names::is_of(&self.after(count)[4..], name));
        self.after(0).is_empty() && self.names_start(1) && are_its_own()
    }

    /// Returns whether the two names of a file start `count` lines ahead.
    fn names_start(&self, count: usize) -> bool {
        self.after(count).starts_with(b"--- ") && self.after(count + 1).starts_with(b"+++ ")
    }

    /// Returns whether the next lines seem to be the content of a hunk without its `@@`.
    fn has_content_next(&self) -> bool {
        let line = self.after(0);
        let is_signature = line == b"-- " || line == b"--";
        let is_content = matches!(line.first(), Some(b'+' | b'-' | b' ' | b'@'));
        is_content && !is_signature && !self.names_start(0) && !line.trim_ascii().is_empty()
    }

    /// Refuses names that differ from the `diff --git` line, and a `/dev/null` that contradicts the headers.
    fn check_names(&self, kind: SectionKind, old: &[u8], new: &[u8]) -> Result<()> {
        let sides = [(0, "---", old, SectionKind::New, "new"), (1, "+++", new, SectionKind::Deleted, "deleted")];
        for (count, sign, name, without, word) in sides {
            let told = &self.after(count)[4..];
            let (number, is_nothing) = (self.number() + count, names::of_line(told) == b"/dev/null");
            let expected = match (is_nothing, kind == without) {
                (true, true) => continue,
                (true, false) => format!("`{word} file mode 100644` in front of `{sign} /dev/null`"),
                (false, true) => format!("`{sign} /dev/null` after `{word} file mode`, not {}", excerpt(told)),
                (false, false) if names::is_of(told, name) => continue,
                (false, false) => {
                    format!("{}, as the `diff --git` line has it, not {}", excerpt(name), excerpt(told))
                }
            };
            return Err(malformed(number, 5, expected));
        }
        Ok(())
    }
}

/// The content created by hunks of additions.
fn created(hunks: &Hunks, line: usize) -> Result<Vec<u8>> {
    if hunks.list.len() > 1 || hunks.list.iter().any(|hunk| hunk.count(Side::Old) > 0) {
        return Err(malformed(line, 1, "nothing but added lines, in one hunk, for a new file"));
    }
    Ok(hunks.list.first().map(Hunk::new_text).unwrap_or_default())
}

/// The content deleted by hunks of removals.
fn deleted(hunks: &Hunks, line: usize) -> Result<Vec<u8>> {
    if hunks.list.len() > 1 || hunks.list.iter().any(|hunk| hunk.count(Side::New) > 0) {
        return Err(malformed(line, 1, "nothing but removed lines, in one hunk, for a file that is deleted"));
    }
    Ok(hunks.list.first().map(Hunk::old).unwrap_or_default())
}
