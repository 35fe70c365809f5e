//! What an edit would put into a content that is not fit for it.

use memchr::memchr;

use crate::request::edit::{Anchor, Edit, Side};

/// Returns whether an edit inserts non-ASCII text as UTF-8, which would be other text in a file of another encoding. A
/// patch that is not UTF-8 itself has the bytes of its file.
pub(super) fn needs_utf8(edit: &Edit) -> bool {
    let Anchor::Hunk(hunk) = &edit.anchor else { return !edit.replacement.is_ascii() };
    hunk.lines.iter().any(|line| line.side == Side::New && !line.text.is_ascii())
        && hunk.lines.iter().all(|line| std::str::from_utf8(&line.text).is_ok())
}

/// Returns whether an edit inserts U+0000, after which the content would not be edited as text any more.
pub(super) fn has_nul(edit: &Edit) -> bool {
    let has = |text: &[u8]| memchr(0, text).is_some();
    match &edit.anchor {
        Anchor::Hunk(hunk) => hunk.lines.iter().any(|line| line.side == Side::New && has(&line.text)),
        _ => has(&edit.replacement),
    }
}

/// Returns whether an edit inserts lines that are not UTF-8.
pub(super) fn breaks_utf8(edit: &Edit) -> bool {
    let Anchor::Hunk(hunk) = &edit.anchor else { return false };
    hunk.lines.iter().any(|line| line.side == Side::New && std::str::from_utf8(&line.text).is_err())
}
