//! Refusals of an edit whose anchor is not found.

use super::{Editor, refused};
use crate::error::{Detail, ErrorKind, MismatchCause};
use crate::index::EditIndex;
use crate::request::edit::Edit;
use crate::text::RefusedEdit;
use crate::text::diagnose;
use crate::text::locate::Needle;

impl Editor<'_, '_> {
    /// The anchor matches in another indentation or spelling, but how to write the replacement cannot be determined.
    pub(super) fn untold(&self, index: EditIndex, text: &[u8], replacement: &[u8]) -> RefusedEdit {
        let diagnosis = diagnose::diagnose(&self.content.bytes(0..self.content.len()), text, replacement);
        let message = format!(
            "the old text is at line {} in another indentation or spelling, and it is not clear whether the new text has \
             the file's: write both as in the file",
            diagnosis.line
        );
        refused(index, ErrorKind::MatchNotFound, message, Detail::NoMatch(Box::new(diagnosis)))
    }

    pub(super) fn not_found(&self, index: EditIndex, edit: &Edit, text: &[u8]) -> RefusedEdit {
        let state = self.content.bytes(0..self.content.len());
        let mut diagnosis = diagnose::diagnose(&state, text, &edit.replacement);
        if let Some(taker) = self.taker(text) {
            diagnosis.cause = Some(MismatchCause::ConsumedByEdit(taker.0));
            diagnosis.suggestion = None;
            diagnosis.nearest = None;
        }
        let message = format!("old_string not found in the file{}", diagnosis.advice());
        refused(index, ErrorKind::MatchNotFound, message, Detail::NoMatch(Box::new(diagnosis)))
    }

    /// The edit that removed `text`, if one did: edits are reverted, the newest first, until the text is there again.
    ///
    /// If a text appears only after such a step, it overlaps or touches something that the step changed.
    pub(super) fn taker(&self, text: &[u8]) -> Option<EditIndex> {
        if text.is_empty() {
            return None;
        }
        let needle = Needle::new(text);
        let mut content = self.content.clone();
        for (index, back) in self.back.numbered().rev() {
            let restored = content.replace(back.as_ref()?);
            if restored.ranges().any(|range| needle.is_around(&content, range)) {
                return Some(index);
            }
        }
        None
    }
}
