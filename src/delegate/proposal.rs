//! Finds a delegate's proposal: a patch in its answer, in any supported dialect.

use std::path::Path;

use crate::dialect::{self, Format, Patch};
use crate::error::{Error, ErrorKind, Result};
use crate::path::AskedPath;
use crate::request::validate::PathRule;
use crate::request::{Change, Request};
use crate::wire;

/// The changes that an answer proposes.
#[derive(Debug)]
pub(super) struct Proposal {
    /// The request.
    pub(super) request: Request,
    /// The patch that it came from, so that errors use its terms; `None` for a request of our own.
    pub(super) patch: Option<Patch>,
}

const BEGIN: &str = "*** Begin Patch";
const END: &str = "*** End Patch";

/// The proposal in an answer; `None` if it has none. One that cannot be read is an error.
pub(super) fn in_text(text: &str) -> Result<Option<Proposal>> {
    if let Some(envelope) = envelope(text)? {
        return patch(&envelope, Format::Envelope).map(Some);
    }
    let blocks = fenced(text);
    let is_of = |format| move |block: &&String| dialect::detect(block.as_bytes()) == Some(format);
    let diffs: Vec<String> = blocks.iter().filter(is_of(Format::Unified)).cloned().collect();
    if !diffs.is_empty() {
        return patch(&diffs.concat(), Format::Unified).map(Some);
    }
    // Names come before the fences, so the whole answer is read.
    if dialect::detect(text.as_bytes()) == Some(Format::SearchReplace) {
        return patch(text, Format::SearchReplace).map(Some);
    }
    for format in [Format::WorkspaceEdit, Format::AstGrep] {
        if let Some(block) = blocks.iter().find(is_of(format)) {
            return patch(block, format).map(Some);
        }
    }
    if let Some(block) = blocks.iter().map(String::as_str).chain([text]).find(|block| is_request(block)) {
        let request = wire::parse(block.as_bytes())?.into_request(PathRule::AbsoluteOrRelative)?;
        return Ok(Some(Proposal { request, patch: None }));
    }
    match dialect::detect(text.as_bytes()) {
        Some(format) => patch(text, format).map(Some),
        None => Ok(None),
    }
}

fn patch(text: &str, format: Format) -> Result<Proposal> {
    let mut patch = Patch::read(text.as_bytes(), Some(format), None)?;
    Ok(Proposal { request: std::mem::take(&mut patch.request), patch: Some(patch) })
}

/// A JSON object with `files`.
fn is_request(block: &str) -> bool {
    let value = serde_json::from_str::<serde_json::Value>(block.trim());
    value.is_ok_and(|value| value.get("files").is_some_and(serde_json::Value::is_array))
}

/// All envelopes of an answer as one. One without an end was cut off, and the missing part is unknown.
fn envelope(text: &str) -> Result<Option<String>> {
    let mut inside = false;
    let mut body = String::new();
    for line in text.lines() {
        match line.trim() {
            BEGIN if inside => return Err(unfinished()),
            BEGIN => inside = true,
            END => inside = false,
            _ if inside => {
                body.push_str(line);
                body.push('\n');
            }
            _ => {}
        }
    }
    if inside {
        return Err(unfinished());
    }
    Ok((!body.is_empty()).then(|| format!("{BEGIN}\n{body}{END}\n")))
}

fn unfinished() -> Error {
    let message = format!("the patch in the delegate's answer has no `{END}`: it may have been cut off");
    Error::new(ErrorKind::PatchParseFailed, message)
}

/// The contents of the fenced blocks of an answer. A block without an end does not count.
fn fenced(text: &str) -> Vec<String> {
    let mut blocks = Vec::new();
    let mut open: Option<(&str, String)> = None;
    for line in text.lines() {
        let trimmed = line.trim();
        match &mut open {
            None => open = fence_of(trimmed).map(|fence| (fence, String::new())),
            Some((fence, block)) => {
                let ends = trimmed.starts_with(*fence) && fence_of(trimmed) == Some(trimmed);
                if ends {
                    blocks.push(std::mem::take(block));
                    open = None;
                } else {
                    block.push_str(line);
                    block.push('\n');
                }
            }
        }
    }
    blocks
}

/// The fence that a line starts with: three or more of one sign.
fn fence_of(line: &str) -> Option<&str> {
    let sign = line.chars().next().filter(|sign| ['`', '~'].contains(sign))?;
    let length = line.chars().take_while(|c| *c == sign).count();
    (length >= 3).then(|| &line[..length])
}

/// Moves paths of the scratch folder to the project: relative to its root.
pub(super) fn into_project(request: &mut Request, folder: &Path) {
    let place = |path: &mut AskedPath| {
        if let Ok(rest) = path.strip_prefix(folder) {
            *path = rest.into();
        }
    };
    for file in &mut request.files {
        place(&mut file.path);
        match &mut file.change {
            Change::Rename(to) | Change::Edit { rename: Some(to), .. } => place(&mut to.path),
            Change::Copy { from, .. } => place(from),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn paths(text: &str) -> Vec<String> {
        let Some(proposal) = in_text(text).unwrap() else { return Vec::new() };
        proposal.request.files.iter().map(|file| file.path.display().to_string()).collect()
    }

    #[test]
    fn a_patch_is_found_within_other_text() {
        let envelope = "I did:\n```\n*** Begin Patch\n*** Add File: a\n+x\n*** End Patch\n```\nand\n\n  *** Begin \
                        Patch\n*** Delete File: b\n*** End Patch\nDone.";
        assert_eq!(paths(envelope), ["a", "b"]);
        let diffs = "First\n```diff\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-1\n+2\n```\nthen\n~~~\n--- a/y\n+++ b/y\n@@ -1 +1 \
                     @@\n-1\n+2\n~~~\nend";
        assert_eq!(paths(diffs), ["x", "y"]);
        assert_eq!(paths("Sure.\n\na/b.rs\n```\n<<<<<<< SEARCH\n1\n=======\n2\n>>>>>>> REPLACE\n```\n"), ["a/b.rs"]);
        assert_eq!(paths("```json\n{\"files\": [{\"file_path\": \"n\", \"content\": \"\"}]}\n```"), ["n"]);
        assert_eq!(paths("{\"files\": [{\"file_path\": \"n\", \"content\": \"\"}]}"), ["n"]);
        assert_eq!(paths("--- a/x\n+++ b/x\n@@ -1 +1 @@\n-1\n+2\n"), ["x"]);
    }

    #[test]
    fn an_answer_without_a_patch_is_an_answer() {
        assert!(in_text("Nothing is to be changed.\n```rust\nfn a() {}\n```\n").unwrap().is_none());
        assert!(in_text("```\n*** no patch").unwrap().is_none());
    }

    #[test]
    fn a_patch_that_is_cut_off_is_refused() {
        let cut = "*** Begin Patch\n*** Add File: a\n+x\n";
        assert_eq!(in_text(cut).unwrap_err().kind(), ErrorKind::PatchParseFailed);
        assert_eq!(in_text(&format!("{cut}{BEGIN}\n{END}\n")).unwrap_err().kind(), ErrorKind::PatchParseFailed);
        let malformed = "*** Begin Patch\n*** Update File: a\nno hunk\n*** End Patch\n";
        assert_eq!(in_text(malformed).unwrap_err().kind(), ErrorKind::PatchParseFailed);
    }

    #[test]
    fn paths_of_the_scratch_folder_are_those_of_the_project() {
        let text = "*** Begin Patch\n*** Update File: /t/desk/a/b\n*** Move to: /t/desk/c\n@@\n-x\n+y\n\
                    *** Delete File: /t/desktop\n*** End Patch\n";
        let mut request = in_text(text).unwrap().unwrap().request;
        into_project(&mut request, Path::new("/t/desk"));
        assert_eq!(request.files[0].path, Path::new("a/b").into());
        let Change::Edit { rename: Some(to), .. } = &request.files[0].change else { panic!("{request:?}") };
        assert_eq!(to.path, Path::new("c").into());
        assert_eq!(request.files[1].path, Path::new("/t/desktop").into());
    }
}
