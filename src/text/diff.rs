//! Differences of two contents, in the unified format that `git apply` and `patch` read.

use std::fmt::Write as _;
use std::ops::Range;

use imara_diff::sources::byte_lines;
use imara_diff::{Algorithm, Diff, Hunk, InternedInput};
use memchr::{memchr, memchr_iter, memrchr};

#[cfg(any(test, feature = "cli"))]
use super::select::Runs;
use crate::charset::readable;
use crate::path::is_escaped;

/// The lines of context on either side of a change.
pub(crate) const CONTEXT: usize = 3;

/// The lines kept around the part that differs: the context, and room for changes to slide to a better place.
const KEPT: usize = 64;

/// The most bytes, of both contents together and without common ends, that are compared line by line.
const COMPARED: usize = 1 << 30;

/// The most bytes, of both contents, that are compared by a histogram of their lines. It shows changes of code best, and
/// takes time quadratic in the number of changes.
const BY_HISTOGRAM: usize = 1 << 20;

/// The unified diff of two contents; empty if they are equal.
///
/// The names appear in the header as given, quoted as git quotes them; `/dev/null` is for a missing file. UTF-16 with its
/// mark is decoded, and bytes that are not UTF-8 are replaced by U+FFFD. Beyond `limit` bytes the diff is cut at the end
/// of a line, and a last line says so.
#[must_use]
pub fn unified(old: &[u8], new: &[u8], old_name: &str, new_name: &str, limit: usize) -> String {
    if old == new {
        return String::new();
    }
    let (old, new) = (&*readable(old, None), &*readable(new, None));
    // Equal only as text: malformed bytes differ.
    if old == new || memchr(0, old).is_some() || memchr(0, new).is_some() {
        return format!("Binary files {} and {} differ\n", quoted(old_name), quoted(new_name));
    }
    let mut out = Limited { text: Vec::new(), limit, is_full: false, is_lossy: true };
    out.line(&format!("--- {}", quoted(old_name)));
    out.line(&format!("+++ {}", quoted(new_name)));
    let compared = ComparedContents::new(old, new);
    match compared.changes() {
        Some((input, diff)) => {
            let hunks: Vec<Hunk> = diff.hunks().collect();
            let close = |a: &Hunk, b: &Hunk| (b.before.start - a.before.end) as usize <= 2 * CONTEXT;
            for group in hunks.chunk_by(close) {
                compared.write_group(&input, group, &mut out);
                if out.is_full {
                    break;
                }
            }
        }
        None => out.line("... too large to be compared line by line"),
    }
    if out.is_full {
        out.text.extend_from_slice(b"... the rest of the diff is left out\n");
    }
    String::from_utf8_lossy(&out.text).into_owned()
}

/// The hunks of the same diff, byte for byte; `None` if the contents are too large to compare.
#[must_use]
pub fn hunks(old: &[u8], new: &[u8]) -> Option<Vec<u8>> {
    let mut out = Limited { text: Vec::new(), limit: usize::MAX, is_full: false, is_lossy: false };
    if old != new {
        let compared = ComparedContents::new(old, new);
        let (input, diff) = compared.changes()?;
        let hunks: Vec<Hunk> = diff.hunks().collect();
        let close = |a: &Hunk, b: &Hunk| (b.before.start - a.before.end) as usize <= 2 * CONTEXT;
        hunks.chunk_by(close).for_each(|group| compared.write_group(&input, group, &mut out));
    }
    Some(out.text)
}

/// The lines that differ, as byte ranges of both contents, in order; `None` if the contents are too large to compare.
#[must_use]
pub fn changed(old: &[u8], new: &[u8]) -> Option<Vec<(Range<usize>, Range<usize>)>> {
    if old == new {
        return Some(Vec::new());
    }
    let compared = ComparedContents::new(old, new);
    let (input, diff) = compared.changes()?;
    let starts = |tokens: &[imara_diff::Token]| {
        let mut at = compared.start;
        let mut starts = vec![at];
        for &token in tokens {
            at += input.interner[token].len();
            starts.push(at);
        }
        starts
    };
    let (before, after) = (starts(&input.before), starts(&input.after));
    let bytes = |starts: &[usize], lines: &Range<u32>| starts[lines.start as usize]..starts[lines.end as usize];
    Some(diff.hunks().map(|hunk| (bytes(&before, &hunk.before), bytes(&after, &hunk.after))).collect())
}

/// The differences that stand in one hunk, by their numbers: neighbours whose contexts touch.
#[cfg(any(test, feature = "cli"))]
pub(crate) fn grouped(old: &[u8], runs: &Runs) -> Vec<Range<usize>> {
    let mut groups: Vec<Range<usize>> = Vec::new();
    for (number, (before, _)) in runs.iter().enumerate() {
        let is_close = number.checked_sub(1).is_some_and(|last| {
            let between = &old[runs[last].0.end..before.start];
            memchr_iter(b'\n', between).nth(2 * CONTEXT).is_none()
        });
        match groups.last_mut() {
            Some(group) if is_close => group.end = number + 1,
            _ => groups.push(number..number + 1),
        }
    }
    groups
}

/// The number of lines added, and of lines removed.
///
/// A content with a NUL byte has no lines to count, and one that is too large is not counted.
#[must_use]
pub fn count(old: &[u8], new: &[u8]) -> (usize, usize) {
    let (old, new) = (&*readable(old, None), &*readable(new, None));
    if old == new || memchr(0, old).is_some() || memchr(0, new).is_some() {
        return (0, 0);
    }
    let changes = ComparedContents::new(old, new).changes();
    changes.map_or((0, 0), |(_, diff)| (diff.count_additions() as usize, diff.count_removals() as usize))
}

/// Two contents without their common ends, except for some lines around the rest.
struct ComparedContents<'a> {
    old: &'a [u8],
    new: &'a [u8],
    /// The bytes left out at the start.
    start: usize,
    /// The lines left out at the start.
    skipped: usize,
}

impl<'a> ComparedContents<'a> {
    fn new(old: &'a [u8], new: &'a [u8]) -> Self {
        let prefix = shared_prefix(old, new);
        // Back to the start of the line that differs, then over the lines that are kept.
        let start = (0..=KEPT).fold(prefix, |at, step| line_start(old, at.saturating_sub(usize::from(step > 0))));
        let (old_rest, new_rest) = (&old[prefix..], &new[prefix..]);
        let suffix = shared_suffix(old_rest, new_rest);
        // On to the end of the line that differs, then over the lines that are kept.
        let shared = &old[old.len() - suffix..];
        let kept = (0..=KEPT).fold(0, |at, _| memchr(b'\n', &shared[at..]).map_or(shared.len(), |feed| at + feed + 1));
        let dropped = shared.len() - kept;
        Self {
            old: &old[start..old.len() - dropped],
            new: &new[start..new.len() - dropped],
            start,
            skipped: memchr_iter(b'\n', &old[..start]).count(),
        }
    }

    fn changes(&self) -> Option<(InternedInput<&'a [u8]>, Diff)> {
        let size = self.old.len() + self.new.len();
        if size > COMPARED {
            return None;
        }
        let algorithm = if size > BY_HISTOGRAM { Algorithm::Myers } else { Algorithm::Histogram };
        let input = InternedInput::new(byte_lines(self.old), byte_lines(self.new));
        let mut diff = Diff::compute(algorithm, &input);
        diff.postprocess_lines(&input);
        Some((input, diff))
    }

    /// Writes one hunk: changes so close to each other that their contexts touch.
    fn write_group(&self, input: &InternedInput<&[u8]>, group: &[Hunk], out: &mut Limited) {
        let [first, .., last] = &[&group[0], &group[group.len() - 1]];
        let lead = (first.before.start as usize).min(CONTEXT);
        let trail = (input.before.len() - last.before.end as usize).min(CONTEXT);
        let before = first.before.start as usize - lead..last.before.end as usize + trail;
        let after = first.after.start as usize - lead..last.after.end as usize + trail;
        out.line(&format!("@@ -{} +{} @@", self.place(&before), self.place(&after)));
        let mut at = before.start;
        for hunk in group {
            let lines = |tokens: &Range<u32>| tokens.start as usize..tokens.end as usize;
            out.lines(b' ', input, &input.before[at..hunk.before.start as usize]);
            out.lines(b'-', input, &input.before[lines(&hunk.before)]);
            out.lines(b'+', input, &input.after[lines(&hunk.after)]);
            at = hunk.before.end as usize;
        }
        out.lines(b' ', input, &input.before[at..before.end]);
    }

    /// A range of lines as the format counts them: from 1; for an empty range, the line before it.
    fn place(&self, lines: &Range<usize>) -> String {
        let start = self.skipped + lines.start + usize::from(!lines.is_empty());
        if lines.len() == 1 { start.to_string() } else { format!("{start},{}", lines.len()) }
    }
}

/// The length of the common prefix of two texts. Whole chunks come first: they are compared many bytes at a time.
fn shared_prefix(a: &[u8], b: &[u8]) -> usize {
    let chunks = a.chunks(4096).zip(b.chunks(4096)).take_while(|(a, b)| a == b);
    let same: usize = chunks.map(|(chunk, _)| chunk.len()).sum();
    same + a[same..].iter().zip(&b[same..]).take_while(|(a, b)| a == b).count()
}

/// The length of the common suffix of two texts.
fn shared_suffix(a: &[u8], b: &[u8]) -> usize {
    let chunks = a.rchunks(4096).zip(b.rchunks(4096)).take_while(|(a, b)| a == b);
    let same: usize = chunks.map(|(chunk, _)| chunk.len()).sum();
    let (a, b) = (&a[..a.len() - same], &b[..b.len() - same]);
    same + a.iter().rev().zip(b.iter().rev()).take_while(|(a, b)| a == b).count()
}

fn line_start(text: &[u8], at: usize) -> usize {
    memrchr(b'\n', &text[..at]).map_or(0, |feed| feed + 1)
}

/// A text that grows by whole lines up to a limit.
struct Limited {
    text: Vec<u8>,
    limit: usize,
    is_full: bool,
    /// True if bytes that are not UTF-8 are replaced.
    is_lossy: bool,
}

impl Limited {
    fn line(&mut self, line: &str) {
        self.bytes(line.as_bytes());
    }

    fn bytes(&mut self, line: &[u8]) {
        self.is_full = self.is_full || self.text.len().saturating_add(line.len() + 1) > self.limit;
        if !self.is_full {
            self.text.extend_from_slice(line);
            self.text.push(b'\n');
        }
    }

    fn lines(&mut self, sign: u8, input: &InternedInput<&[u8]>, tokens: &[imara_diff::Token]) {
        for &token in tokens {
            let line = input.interner[token];
            if self.is_full || self.text.len().saturating_add(line.len()) > self.limit {
                self.is_full = true;
                return;
            }
            let body = line.strip_suffix(b"\n");
            let text = body.unwrap_or(line);
            if self.is_lossy {
                self.line(&format!("{}{}", char::from(sign), String::from_utf8_lossy(text)));
            } else {
                self.bytes(&[&[sign], text].concat());
            }
            if body.is_none() {
                self.line("\\ No newline at end of file");
            }
        }
    }
}

/// A name as git writes it in a `diff --git` line: quoted if it would break the line, or is not UTF-8.
#[must_use]
pub fn quoted_name(name: &[u8]) -> Vec<u8> {
    if std::str::from_utf8(name).is_ok_and(|text| !text.contains(needs_quotes)) {
        return name.to_vec();
    }
    let mut quoted = String::from("\"");
    for byte in name {
        match byte {
            b'"' | b'\\' => quoted.extend(['\\', char::from(*byte)]),
            b'\n' => quoted.push_str("\\n"),
            b'\t' => quoted.push_str("\\t"),
            // Writing to a string does not fail.
            byte if byte.is_ascii_graphic() || *byte == b' ' => quoted.push(char::from(*byte)),
            byte => drop(write!(quoted, "\\{byte:03o}")),
        }
    }
    (quoted + "\"").into_bytes()
}

/// Quotes, beyond git's, characters that change the direction of writing: the header would show another name.
fn needs_quotes(c: char) -> bool {
    is_escaped(c) || c == '"' || c == '\\'
}

/// A name as git writes it: quoted if it would break the line, and followed by a tab if it has a space.
fn quoted(name: &str) -> String {
    if !name.contains(needs_quotes) {
        return if name.contains(' ') { format!("{name}\t") } else { name.into() };
    }
    let mut quoted = String::from("\"");
    for c in name.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            '\n' => quoted.push_str("\\n"),
            '\t' => quoted.push_str("\\t"),
            // Writing to a string does not fail.
            c if is_escaped(c) => {
                for byte in c.encode_utf8(&mut [0; 4]).bytes() {
                    let _ = write!(quoted, "\\{byte:03o}");
                }
            }
            c => quoted.push(c),
        }
    }
    quoted + "\""
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::process::Command;

    use proptest::collection::vec;
    use proptest::prelude::*;
    use proptest::sample::select;

    use super::*;

    fn lines(count: usize) -> String {
        (1..=count).flat_map(|n| [n.to_string(), "\n".into()]).collect()
    }

    #[test]
    fn the_format_is_gits() {
        let old = lines(20);
        let new = old.replace("\n5\n", "\nfive\n").replace("20\n", "20");
        let expected = "--- a/x\n+++ b/x\n@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+five\n 6\n 7\n 8\n\
                        @@ -17,4 +17,4 @@\n 17\n 18\n 19\n-20\n+20\n\\ No newline at end of file\n";
        assert_eq!(unified(old.as_bytes(), new.as_bytes(), "a/x", "b/x", 1 << 20), expected);
        assert_eq!(count(old.as_bytes(), new.as_bytes()), (2, 2));
        assert_eq!(unified(b"", b"a\n", "/dev/null", "b/x", 100), "--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+a\n");
        assert_eq!(unified(b"a", b"a", "a", "b", 100), "");
        let far = unified(lines(300).as_bytes(), lines(300).replace("150\n", "x\n").as_bytes(), "a", "b", 100);
        assert!(far.contains("@@ -147,7 +147,7 @@"), "{far}");
        assert_eq!(unified(b"a\0", b"b", "a/x", "b/x", 100), "Binary files a/x and b/x differ\n");
    }

    #[test]
    fn a_long_diff_is_cut_at_a_line() {
        let new = lines(100);
        let cut = unified(b"", new.as_bytes(), "a/x", "b/x", 50);
        assert_eq!(
            cut,
            "--- a/x\n+++ b/x\n@@ -0,0 +1,100 @@\n+1\n+2\n+3\n+4\n+5\n... the rest of the diff is left out\n"
        );
    }

    #[test]
    fn names_are_quoted_as_git_does() {
        assert_eq!(quoted("a/b c"), "a/b c\t");
        assert_eq!(quoted("a/\"b\"\n\u{1}"), "\"a/\\\"b\\\"\\n\\001\"");
    }

    fn has(program: &str) -> bool {
        Command::new(program).arg("--version").output().is_ok_and(|out| out.status.success())
    }

    /// The result of a program that applies the patch from `old` to `new`.
    fn patched(folder: &Path, old: &[u8], new: &[u8], program: &str) -> Vec<u8> {
        let (file, patch) = (folder.join("x"), folder.join("x.patch"));
        std::fs::write(&file, old).unwrap();
        std::fs::write(&patch, unified(old, new, "a/x", "b/x", usize::MAX)).unwrap();
        let args: &[&str] = match program {
            "git" => &["apply", "--whitespace=nowarn", "x.patch"],
            _ => &["-p1", "--binary", "-s", "-f", "-i", "x.patch"],
        };
        let out = Command::new(program).args(args).current_dir(folder).output().unwrap();
        assert!(out.status.success(), "{program}: {}", String::from_utf8_lossy(&out.stderr));
        std::fs::read(&file).unwrap()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(60))]

        #[test]
        fn git_and_patch_accept_it(
            old in vec(select(vec!["a\n", "b\n", "c\n", "é\r\n", "\n", "d"]), 1..40),
            new in vec(select(vec!["a\n", "b\n", "c\n", "é\r\n", "\n", "d"]), 1..40),
            around in select(vec![("", 0), ("a\n", 200), ("a\nb\nz\n", 100)]),
        ) {
            // Common ends are left out of the comparison, but not out of the line numbers.
            let around = around.0.repeat(around.1);
            let (old, new) = ([&around, &*old.concat(), &around].concat(), [&around, &*new.concat(), &around].concat());
            prop_assume!(old != new);
            let folder = tempfile::tempdir().unwrap();
            for program in ["git", "patch"].into_iter().filter(|program| has(program)) {
                let result = patched(folder.path(), old.as_bytes(), new.as_bytes(), program);
                prop_assert_eq!(String::from_utf8_lossy(&result), &new[..], "{}", program);
            }
        }

        #[test]
        fn groups_are_the_hunks_of_the_diff(old in "[ab\n]{0,60}", new in "[ab\n]{0,60}") {
            let runs = changed(old.as_bytes(), new.as_bytes()).unwrap();
            let groups = grouped(old.as_bytes(), &runs);
            let diff = unified(old.as_bytes(), new.as_bytes(), "a", "b", usize::MAX);
            prop_assert_eq!(groups.len(), diff.lines().filter(|line| line.starts_with("@@")).count());
            prop_assert_eq!(groups.iter().map(ExactSizeIterator::len).sum::<usize>(), runs.len());
        }

        #[test]
        fn counts_are_those_of_the_diff(old in "[ab\n]{0,30}", new in "[ab\n]{0,30}") {
            let diff = unified(old.as_bytes(), new.as_bytes(), "a", "b", usize::MAX);
            let lines = |sign: char| diff.lines().skip(2).filter(|line| line.starts_with(sign)).count();
            prop_assert_eq!(count(old.as_bytes(), new.as_bytes()), (lines('+'), lines('-')));
        }
    }
}
