//! The instructions for a model: only about tools that are listed.

use std::fmt::Write as _;

use super::tools::{self, Definition};

/// The text, with a mark at the start of lines that need more than the tools that they name.
const TEXT: &str = include_str!("instructions.md");

/// The marks, each with the tool without which its lines are left out.
const MARKS: [(&str, &str); 2] = [("[edit] ", "multi_edit"), ("[steps] ", "stage_edits")];

/// The mark of what is said where nothing can be written.
const READ_ONLY: &str = "[read-only] ";

/// The instructions of a server that lists these tools.
pub(super) fn of<'a>(listed: impl Iterator<Item = &'a Definition>, is_read_only: bool) -> String {
    let listed: Vec<&str> = listed.map(|tool| tool.name).collect();
    let is_listed = |name: &str| listed.contains(&name);
    let mut text = String::new();
    let mut step = 0;
    for line in TEXT.lines() {
        let mut line = line;
        if let Some(rest) = line.strip_prefix(READ_ONLY) {
            if !is_read_only {
                continue;
            }
            line = rest;
        }
        if let Some((mark, tool)) = MARKS.iter().find(|(mark, _)| line.starts_with(mark)) {
            if !is_listed(tool) {
                continue;
            }
            line = &line[mark.len()..];
        }
        if tools::all().any(|tool| !is_listed(tool.name) && names(line, tool.name)) {
            continue;
        }
        match line.split_once(". ").filter(|(number, _)| number.parse::<u32>().is_ok()) {
            Some((_, rest)) => {
                step += 1;
                let _ = write!(text, "{step}. {rest}");
            }
            None => text.push_str(line),
        }
        text.push('\n');
    }
    text
}

/// Returns whether a tool is named in a text: not as a part of the name of another one.
fn names(text: &str, tool: &str) -> bool {
    text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').any(|word| word == tool)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mcp::toolsets::Toolsets;

    /// The instructions with these toolsets, which name no other tools.
    fn with(sets: &str, is_read_only: bool) -> String {
        let sets: Toolsets = sets.parse().unwrap();
        let listed = || tools::all().filter(|tool| sets.contains(tool.toolset) && !(is_read_only && tool.writes));
        let text = of(listed(), is_read_only);
        let names_it = |tool: &&Definition| names(&text, tool.name);
        let named: Vec<_> = tools::all().filter(names_it).map(|tool| tool.name).collect();
        let listed: Vec<_> = listed().map(|tool| tool.name).collect();
        assert!(named.iter().all(|name| listed.contains(name)), "{named:?} of {listed:?}:\n{text}");
        assert!(!text.contains("[edit]") && !text.contains("[read-only]") && !text.contains("[steps]"), "{text}");
        text
    }

    #[test]
    fn only_tools_that_are_listed_are_named() {
        let whole = with("edit,transactions,history", false);
        for step in ["\n1. read_files", "\n5. `dry_run", "\n6. For work in steps: stage_edits", "undo_transaction"] {
            assert!(whole.contains(step), "{step}: {whole}");
        }
        let edits = with("edit", false);
        assert!(edits.contains("multi_edit_files") && !edits.contains("stage_edits"), "{edits}");
        assert!(!with("history", false).contains("How to work"));
        assert!(!with("transactions", false).contains("Prefer"));
        for sets in ["edit,transactions,history", "edit", "history"] {
            let text = with(sets, true);
            assert!(text.contains("read-only") && !text.contains("multi_edit"), "{text}");
        }
    }
}
