//! Refuses skipped text around a patch that is a patch itself: an answer in two formats is applied whole or not at all.

use memchr::memmem;

use super::fence::Fences;
use super::{Format, envelope, excerpt, malformed, search_replace};
use crate::error::Result;

/// Refuses a skipped line that starts something in another format, or in the same format where it cannot be read.
/// `next` is the line after it, `number` its own, from 1; `fences` are those before it.
pub(super) fn check(own: Format, line: &[u8], next: &[u8], number: usize, fences: &Fences) -> Result<()> {
    let (line, next) = (unquoted(line), unquoted(next));
    let is_diff = line.starts_with(b"diff --git ") || (line.starts_with(b"--- ") && next.starts_with(b"+++ "));
    let is_envelope = line == b"*** Begin Patch" || envelope::is_section(line) || is_like_section(own, line);
    let is_block = own != Format::SearchReplace && search_replace::is_head(line);
    if !(is_diff || is_envelope || is_block || is_hunk(line, fences) || is_other(line)) {
        return check_folder(line, next, number);
    }
    let expected = format!(
        "one format, each part of it at the start of a line: this is read as {}, and {} is no part of it; send it by itself",
        own.as_str(),
        excerpt(line)
    );
    Err(malformed(number, 1, expected))
}

/// A line without blanks at its ends, and without quotation marks of mail.
fn unquoted(line: &[u8]) -> &[u8] {
    let mut line = line.trim_ascii();
    while let Some(rest) = line.strip_prefix(b"> ") {
        line = rest.trim_ascii_start();
    }
    line
}

/// Returns whether a line starts a hunk, or is a line of one in a fence labelled as a diff.
fn is_hunk(line: &[u8], fences: &Fences) -> bool {
    let is_rule = line.iter().all(|byte| *byte == b'-');
    let is_changed = matches!(line.first(), Some(b'+' | b'-')) && !is_rule;
    line == b"@@" || line.starts_with(b"@@ ") || (fences.is_of_diff() && is_changed)
}

/// Returns whether a line is one of an envelope except for its stars or its case, or the start of one that was cut off.
/// Two stars are bold type in Markdown.
fn is_like_section(own: Format, line: &[u8]) -> bool {
    let marks = line.iter().take_while(|byte| **byte == b'*').count();
    let text = line[marks..].trim_ascii();
    let starts = |with: &str| text.get(..with.len()).is_some_and(|start| start.eq_ignore_ascii_case(with.as_bytes()));
    let least = if own == Format::SearchReplace { 3 } else { 2 };
    let is_named = ["update file:", "add file:", "delete file:"].into_iter().any(starts);
    let is_cut = |whole: &str| line.len() >= b"*** B".len() && whole.as_bytes().starts_with(line);
    (marks >= least && is_named)
        || (marks >= 3 && text.eq_ignore_ascii_case(b"begin patch"))
        || ["*** Begin Patch", "*** Update File: ", "*** Add File: ", "*** Delete File: "].into_iter().any(is_cut)
}

/// Returns whether a line belongs to a context diff, or to a request of our own.
fn is_other(line: &[u8]) -> bool {
    let is_member = |name: &str| memmem::find(line, name.as_bytes()).is_some();
    line == b"***************" || is_member("\"file_path\":") || is_member("\"documentChanges\":")
}

/// Refuses a shell command around a patch that changes the folder first: its tool would resolve the paths there.
fn check_folder(line: &[u8], next: &[u8], number: usize) -> Result<()> {
    let has = |line: &[u8], word: &str| memmem::find(line, word.as_bytes()).is_some();
    let is_command = has(line, "apply_patch") || has(line, "applypatch") || has(line, "<<");
    let is_in_front = line.starts_with(b"cd ") && has(next, "apply_patch");
    if !is_command && !is_in_front {
        return Ok(());
    }
    let is_sign = |byte: &u8| byte.is_ascii_whitespace() || b"'\"();&|".contains(byte);
    let mut words = line.split(is_sign).filter(|word| !word.is_empty());
    let enters = words.any(|word| word == b"cd" || word == b"pushd");
    if enters && !matches!(words.next(), None | Some(b"." | b"./")) {
        let expected = format!(
            "paths from the root of the workspace, without a command that enters a folder, not {}",
            excerpt(line)
        );
        return Err(malformed(number, 1, expected));
    }
    Ok(())
}
