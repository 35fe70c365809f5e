//! What is shown of a part before it is decided on.

use std::ops::Range;
use std::path::Path;

use super::decisions::ReviewPart;
use super::painted::{PaintedKind, PaintedLines};
use crate::charset::readable;
use crate::cli::output::{HEADING, NAME, NOTE, count, styled};
use crate::engine::report::review::ReviewedFile;
use crate::engine::report::{FileReport, Operation};
use crate::path::shown;
use crate::text::diff::{self, CONTEXT};
use crate::text::select::Runs;
use crate::text::words;

/// A file of a review, to be shown.
#[derive(Debug, Clone, Copy)]
pub(super) struct ShownChange<'r> {
    pub(super) report: &'r FileReport,
    pub(super) reviewed: &'r ReviewedFile,
    /// Its path as the user writes it.
    pub(super) path: &'r Path,
    /// Its number, from 0, and that of all.
    pub(super) place: (usize, usize),
}

impl ShownChange<'_> {
    /// One of its parts.
    pub(super) fn part(&self, parts: &[ReviewPart], part: usize) -> String {
        let mut painted = PaintedLines::default();
        painted.heading(self.heading(part, parts.len()));
        if part == 0 {
            self.facts().into_iter().for_each(|fact| painted.heading(format!("  {fact}")));
        }
        match (&parts[part], &self.reviewed.runs) {
            (ReviewPart::Runs(numbers), Some(runs)) => {
                let [before, after] =
                    [&self.reviewed.before, &self.reviewed.after].map(|it| it.as_deref().unwrap_or_default());
                painted.is_crlf = is_crlf(before) && is_crlf(after);
                push_hunk(&mut painted, before, after, runs, numbers);
            }
            _ => self.push_whole(&mut painted),
        }
        painted.end()
    }

    fn heading(&self, part: usize, parts: usize) -> String {
        let (file, files) = self.place;
        let file = if files > 1 { format!("file {} of {files}: ", file + 1) } else { String::new() };
        let operation = self.report.operation.as_str().replace('_', " ");
        let part = if parts > 1 { format!(", change {} of {parts}", part + 1) } else { String::new() };
        format!("\n{}", styled(HEADING, format!("{file}{} ({operation}){part}", shown(self.path))))
    }

    /// What is to be said besides the lines.
    fn facts(&self) -> Vec<String> {
        let mut facts = Vec::new();
        let extras = &self.report.extras;
        facts.extend(extras.renamed_to.as_ref().map(|to| format!("becomes {}", shown(to))));
        let (before, after) = (self.reviewed.mode_before, self.reviewed.mode_after);
        match (before, after) {
            (Some(before), Some(after)) if before != after => facts.push(format!("mode {before:o} becomes {after:o}")),
            (None, Some(after)) if after & 0o111 != 0 => facts.push(format!("mode {after:o}")),
            _ => {}
        }
        if self.reviewed.before.is_some() && before.is_none() {
            let target = self.reviewed.before.as_deref().unwrap_or_default();
            facts.push(format!("was a symlink to {}", shown(Path::new(&*String::from_utf8_lossy(target)))));
        }
        facts.extend(extras.symlink_to.as_ref().map(|target| format!("becomes a symlink to {}", shown(target))));
        if extras.rebased.is_some() {
            facts.push(format!("{} it has changed in other lines since it was staged", styled(NOTE, "note:")));
        }
        facts.extend(extras.warnings.iter().map(|warning| crate::cli::report::warning_of(warning)));
        facts
    }

    /// All of a file that is decided on as a whole.
    fn push_whole(&self, painted: &mut PaintedLines) {
        if matches!(self.report.operation, Operation::Folder | Operation::RemoveFolder) {
            return;
        }
        let content = |content: &Option<Vec<u8>>, mode: Option<u32>| match content {
            // The target of a symlink is told already.
            Some(content) if mode.is_some() => content.clone(),
            _ => Vec::new(),
        };
        let before = content(&self.reviewed.before, self.reviewed.mode_before);
        let after = content(&self.reviewed.after, self.reviewed.mode_after);
        if before == after {
            return;
        }
        let (old, new) = (readable(&before, None), readable(&after, None));
        if old.contains(&0) || new.contains(&0) {
            let sizes = [&self.reviewed.before, &self.reviewed.after].into_iter().flatten();
            let sizes: Vec<String> = sizes.map(|content| count(content.len(), "byte")).collect();
            painted.heading(format!("  no text: {}", sizes.join(" become ")));
            return;
        }
        let Some(runs) = diff::changed(&old, &new).filter(|runs| !runs.is_empty()) else {
            painted.heading("  it cannot be compared line by line");
            return;
        };
        painted.is_crlf = is_crlf(&old) && is_crlf(&new);
        for group in diff::grouped(&old, &runs) {
            push_hunk(painted, &old, &new, &runs, &group);
        }
    }
}

/// Returns whether all lines end in a carriage return and a line feed.
fn is_crlf(content: &[u8]) -> bool {
    content.split_inclusive(|byte| *byte == b'\n').all(|line| line.ends_with(b"\r\n") || !line.ends_with(b"\n"))
}

/// Adds some differences with the lines around them, up to the next difference.
fn push_hunk(painted: &mut PaintedLines, old: &[u8], new: &[u8], runs: &Runs, numbers: &Range<usize>) {
    let (first, last) = (&runs[numbers.start], &runs[numbers.end - 1]);
    let from = numbers.start.checked_sub(1).map_or(0, |before| runs[before].0.end);
    let to = runs.get(numbers.end).map_or(old.len(), |next| next.0.start);
    let start = first.0.start - last_lines(&old[from..first.0.start]);
    let end = last.0.end + first_lines(&old[last.0.end..to]);
    // In front of the first difference both are the same, line by line.
    let new_start = first.1.start - (first.0.start - start);
    let new_end = last.1.end + (end - last.0.end);
    let place = |content: &[u8], range: Range<usize>| {
        let (lines, above) = (lines(&content[range.clone()]), lines(&content[..range.start]));
        // An empty range is after a line.
        let start = above + usize::from(lines > 0);
        if lines == 1 { start.to_string() } else { format!("{start},{lines}") }
    };
    let place = format!("@@ -{} +{} @@", place(old, start..end), place(new, new_start..new_end));
    painted.heading(styled(NAME, place));
    let mut at = start;
    for (before, after) in &runs[numbers.clone()] {
        painted.lines(PaintedKind::Same, &old[at..before.start], &[]);
        let (gone, added) = (&old[before.clone()], &new[after.clone()]);
        let (of_gone, of_added) = words::differing(gone, added);
        painted.lines(PaintedKind::Gone, gone, &of_gone);
        painted.lines(PaintedKind::New, added, &of_added);
        at = before.end;
    }
    painted.lines(PaintedKind::Same, &old[at..end], &[]);
}

fn lines(content: &[u8]) -> usize {
    content.split_inclusive(|byte| *byte == b'\n').count()
}

/// The length of the last lines that are shown around a difference.
fn last_lines(content: &[u8]) -> usize {
    content.len() - memchr::memrchr_iter(b'\n', content).nth(CONTEXT).map_or(0, |feed| feed + 1)
}

/// The length of the first lines that are.
fn first_lines(content: &[u8]) -> usize {
    memchr::memchr_iter(b'\n', content).nth(CONTEXT - 1).map_or(content.len(), |feed| feed + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hunk(old: &str, new: &str, numbers: Range<usize>) -> String {
        let runs = diff::changed(old.as_bytes(), new.as_bytes()).unwrap();
        let mut painted = PaintedLines::default();
        push_hunk(&mut painted, old.as_bytes(), new.as_bytes(), &runs, &numbers);
        anstream::adapter::strip_str(&painted.end()).to_string()
    }

    #[test]
    fn a_hunk_is_that_of_the_diff() {
        let old = (1..=30).flat_map(|n: usize| [n.to_string(), "\n".to_owned()]).collect::<String>();
        let new =
            old.replace("\n5\n", "\nfive\n").replace("\n9\n", "\n").replace("29\n", "29\nmore\n").replace("30\n", "30");
        let runs = diff::changed(old.as_bytes(), new.as_bytes()).unwrap();
        let groups = diff::grouped(old.as_bytes(), &runs);
        let shown: String = groups.iter().map(|group| hunk(&old, &new, group.clone())).collect();
        let whole = diff::unified(old.as_bytes(), new.as_bytes(), "a", "b", usize::MAX);
        let body = |text: &str| {
            text.lines()
                .filter(|line| !line.starts_with("---") && !line.starts_with("+++"))
                .map(str::to_owned)
                .collect::<Vec<_>>()
        };
        assert_eq!(body(&shown), body(&whole), "{shown}");
    }

    #[test]
    fn a_part_of_a_hunk_ends_where_the_next_difference_begins() {
        let (old, new) = ("a\nb\nc\nd\ne\n", "A\nb\nc\nD\ne\n");
        assert_eq!(hunk(old, new, 0..1), "@@ -1,3 +1,3 @@\n-a\n+A\n b\n c\n");
        assert_eq!(hunk(old, new, 1..2), "@@ -2,4 +2,4 @@\n b\n c\n-d\n+D\n e\n");
        assert_eq!(hunk("", "new\n", 0..1), "@@ -0,0 +1 @@\n+new\n");
    }
}
