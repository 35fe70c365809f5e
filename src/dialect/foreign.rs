//! What is passed over around a patch must be no patch itself: an answer in two formats is applied whole or not at all.

use super::{Format, envelope, excerpt, malformed, search_replace};
use crate::error::Result;

/// Refuses a line among those that are passed over if it starts something in another format, or in the same one where
/// it cannot be read. `next` is the line behind it, `number` its own, from 1.
pub(super) fn check(own: Format, line: &[u8], next: &[u8], number: usize) -> Result<()> {
    let (line, next) = (line.trim_ascii(), next.trim_ascii());
    let is_diff = line.starts_with(b"diff --git ") || (line.starts_with(b"--- ") && next.starts_with(b"+++ "));
    let is_envelope = line == b"*** Begin Patch" || envelope::is_section(line);
    let is_block = own != Format::SearchReplace && search_replace::is_head(line);
    if !(is_diff || is_envelope || is_block) {
        return Ok(());
    }
    let expected = format!(
        "one format, each part of it at the start of a line: this is read as {}, and {} is no part of it; send it by itself",
        own.as_str(),
        excerpt(line)
    );
    Err(malformed(number, 1, expected))
}
