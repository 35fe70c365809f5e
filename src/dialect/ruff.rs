//! The output of `ruff check --output-format json` or `json-lines`.
//!
//! It has no text of the files, so a place can only be refused if it is not in its file.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::FixChoice;
use super::files::PatchFiles;
use super::fixes::{FixPart, ToolFix, compatible};
use super::json::JsonSource;
use crate::error::Result;
use crate::request::edit::{Anchor, Edit, Encoding, Position};

/// The expectation named in errors.
const FINDING: &str = "a finding of ruff check --output-format json";

#[derive(Debug, Deserialize)]
struct RuffFinding {
    filename: String,
    /// The cell of a notebook.
    cell: Option<usize>,
    code: Option<String>,
    fix: Option<RuffFix>,
    location: RuffPosition,
    end_location: RuffPosition,
}

#[derive(Debug, Deserialize)]
struct RuffFix {
    applicability: String,
    message: Option<String>,
    edits: Vec<RuffEdit>,
}

#[derive(Debug, Deserialize)]
struct RuffEdit {
    content: String,
    location: RuffPosition,
    end_location: RuffPosition,
}

/// A line and a character, both from 1; the byte-order mark is no character.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
struct RuffPosition {
    row: usize,
    column: usize,
}

impl RuffPosition {
    fn position(self) -> Option<Position> {
        Some(Position { line: self.row.checked_sub(1)?, character: self.column.checked_sub(1)? })
    }
}

/// Reads the findings.
pub(super) fn read(json: &[u8], choice: FixChoice) -> Result<PatchFiles> {
    let source = JsonSource(json);
    let mut proposed = Vec::new();
    for part in source.parse_list(FINDING)? {
        let finding: RuffFinding = source.parse_part(part, FINDING)?;
        let Some(fix) = finding.fix.as_ref().filter(|fix| fix.is_chosen(choice)) else { continue };
        if finding.cell.is_some() {
            let expected = format!("fixes of text files, not of the notebook {}: let ruff apply it", finding.filename);
            return Err(source.refuse(part, expected));
        }
        let is_valid = |edit: &RuffEdit| {
            edit.location <= edit.end_location && edit.location.position().is_some() && edit.end_location.column > 0
        };
        if !fix.edits.iter().all(is_valid) {
            return Err(source.refuse(part, "edits with rows and columns from 1, none of which ends before it starts"));
        }
        let alone = finding.removes_a_statement_of_a_block(fix);
        let part = |edit: &RuffEdit| FixPart {
            file: finding.filename.clone(),
            at: edit.location..edit.end_location,
            replacement: edit.content.clone(),
        };
        proposed.push(ToolFix { parts: fix.edits.iter().map(part).collect(), alone });
    }
    let mut by_file: BTreeMap<String, Vec<Edit>> = BTreeMap::new();
    // From the end of each file to its start, so that none moves the place of a later one.
    for part in compatible(proposed).into_iter().rev() {
        let (Some(start), Some(end)) = (part.at.start.position(), part.at.end.position()) else { continue };
        let anchor = Anchor::Span { start, end, encoding: Encoding::Utf32, strict: true };
        by_file.entry(part.file).or_default().push(Edit { anchor, replacement: part.replacement.into_bytes() });
    }
    let mut files = PatchFiles::default();
    for (file, edits) in by_file {
        files.edit(file.into(), edits, None);
    }
    Ok(files)
}

impl RuffFix {
    /// Returns whether it may be applied without being read. One that is for display only never is.
    fn is_chosen(&self, choice: FixChoice) -> bool {
        match self.applicability.as_str() {
            "safe" => true,
            "unsafe" => choice == FixChoice::Unsafe,
            _ => false,
        }
    }
}

impl RuffFinding {
    /// Returns whether its fix may remove one of the last statements of a block. Two such fixes could leave a block
    /// without a statement, so ruff applies them one by one; which ones are in one block is not in its report.
    fn removes_a_statement_of_a_block(&self, fix: &RuffFix) -> bool {
        let removes_lines = |edit: &RuffEdit| edit.content.is_empty() && edit.location.column == 1;
        fix.edits.iter().any(removes_lines) && !self.is_at_the_margin(fix)
    }

    /// Returns whether the statement is certainly not indented, and so in no block.
    fn is_at_the_margin(&self, fix: &RuffFix) -> bool {
        if self.location.column == 1 {
            return true;
        }
        let (Some("F401"), Some(message)) = (self.code.as_deref(), &fix.message) else { return false };
        // The finding is at the name after `import `, or after `from module import `; the message has the module.
        let Some(whole) = message.strip_prefix("Remove unused import: `").and_then(|rest| rest.strip_suffix('`'))
        else {
            return false;
        };
        let name = self.end_location.column.saturating_sub(self.location.column);
        let module = whole.chars().count().saturating_sub(name + 1);
        let margin = if module == 0 { "import ".len() } else { "from  import ".len() + module };
        self.location.column == margin + 1
    }
}
