//! The scratch folder in which a delegate works: outside of the workspace, removed afterwards.

use std::env;
use std::path::{Path, PathBuf};

use super::context::ContextFile;
use super::roles;
use crate::error::Result;
use crate::fs::scratch::Scratch;
use crate::fs::tree;
use crate::limits;
use crate::request::{Change, FileRequest, IfExists, Request};

/// The delegate's current folder.
const WORK: &str = "work";
/// The file that defines its tools.
const AGENT: &str = "agent.md";
/// The file with a prompt that is too long.
const PROMPT: &str = "prompt.md";

/// A scratch folder.
#[derive(Debug)]
pub(super) struct Desk {
    scratch: Scratch,
}

impl Desk {
    /// A new scratch folder with an empty working folder.
    pub(super) fn new() -> Result<Self> {
        let scratch = Scratch::new_in(&env::temp_dir())?;
        scratch.make_folder(Path::new(WORK))?;
        scratch.write(Path::new(AGENT), roles::READER.as_bytes())?;
        Ok(Self { scratch })
    }

    /// The delegate's working folder.
    pub(super) fn folder(&self) -> PathBuf {
        self.scratch.path().join(WORK)
    }

    /// The file that defines its tools.
    pub(super) fn agent(&self) -> PathBuf {
        self.scratch.path().join(AGENT)
    }

    /// Writes the prompt to a file.
    pub(super) fn write_prompt(&self, prompt: &str) -> Result<PathBuf> {
        self.scratch.write(Path::new(PROMPT), prompt.as_bytes())?;
        Ok(self.scratch.path().join(PROMPT))
    }

    /// Copies the files to their paths in the project.
    pub(super) fn copy(&self, files: &[ContextFile]) -> Result<()> {
        for file in files {
            let path = Path::new(WORK).join(&file.path);
            self.scratch.make_folders_of(&path)?;
            self.scratch.write(&path, file.text.as_bytes())?;
        }
        Ok(())
    }

    /// The delegate's changes: a request with whole contents, only for files that it was shown, and a description of
    /// those left out.
    pub(super) fn changes(&self, shown: &[ContextFile]) -> Result<(Request, Vec<String>)> {
        let left = tree::contents(&self.folder(), limits::DELEGATE_FILES, limits::DELEGATE_CONTEXT_BYTES * 2)?;
        let mut warnings = Vec::new();
        let mut request = Request::default();
        for tree::TreeEntry { path, content } in &left {
            let copy = shown.iter().find(|file| file.path == *path);
            match (content, copy) {
                (None, _) => warnings.push(format!("{} is no regular file and was left out", path.display())),
                (Some(content), Some(copy)) if content == copy.text.as_bytes() => {}
                (Some(content), copy) => request.files.push(FileRequest {
                    expected_hash: copy.map(|copy| copy.digest),
                    encoding: copy.and_then(|copy| copy.encoding),
                    ..FileRequest::new(
                        path.clone(),
                        Change::Write {
                            content: content.clone(),
                            if_exists: if copy.is_some() { IfExists::Replace } else { IfExists::Fail },
                        },
                    )
                }),
            }
        }
        let is_gone = |file: &&ContextFile| !left.iter().any(|entry| entry.path == file.path);
        request.files.extend(
            shown
                .iter()
                .filter(is_gone)
                .map(|file| FileRequest::new(file.path.clone(), Change::Delete).expect(file.digest)),
        );
        Ok((request, warnings))
    }
}
