//! Which of the files that a program wrote are committed: not those of version control, and none that are ignored or
//! excluded.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use ignore::gitignore::{Gitignore, GitignoreBuilder};

use super::Program;
use crate::error::{Error, ErrorKind, Result};
use crate::path::STATE_FOLDER;
use crate::path::bounds::VCS_FOLDERS;

/// The decision about one path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Choice {
    Taken,
    Ignored,
    Excluded,
    VersionControl,
}

/// The rules of one run. Ignored is what the `.gitignore` files say that the program sees or has written.
#[derive(Debug)]
pub(super) struct ProgramSelection {
    /// What is chosen, if it is not all, and what is left out: as in a `.gitignore`, and what is in a folder with it.
    only: Gitignore,
    excluded: Gitignore,
    /// The rules of each folder with one; `None` if ignored files are taken as well.
    ignored: Option<IgnoreRules>,
}

#[derive(Debug)]
struct IgnoreRules {
    /// A path by which the root of the view is reached.
    root: PathBuf,
    /// The rules for all of the workspace: of the user, and of the repository alone.
    general: Vec<Gitignore>,
    folders: HashMap<PathBuf, FolderRules>,
}

#[derive(Debug)]
struct FolderRules {
    own: Gitignore,
    is_ignored: bool,
}

impl ProgramSelection {
    pub(super) fn new(program: &Program) -> Result<Self> {
        let (mut only, mut excluded) = (GitignoreBuilder::new("/"), GitignoreBuilder::new("/"));
        for glob in &program.globs {
            // What is to be left out was written without it.
            let written = glob.strip_prefix('!').unwrap_or(glob);
            let refuse =
                |why: String| Error::new(ErrorKind::InvalidPattern, format!("invalid glob {written:?}: {why}"));
            let (builder, pattern) = match glob.strip_prefix('!') {
                Some(pattern) => (&mut excluded, pattern),
                None => (&mut only, glob.as_str()),
            };
            if pattern.is_empty() || pattern.starts_with(['!', '#']) {
                return Err(refuse("it is empty, or begins with `!` or `#`".to_owned()));
            }
            builder.add_line(None, pattern).map_err(|error| refuse(error.to_string()))?;
        }
        let built = |builder: GitignoreBuilder| {
            builder.build().map_err(|error| Error::new(ErrorKind::InvalidPattern, error.to_string()))
        };
        let (only, excluded) = (built(only)?, built(excluded)?);
        let rules = IgnoreRules { root: PathBuf::new(), general: Vec::new(), folders: HashMap::new() };
        Ok(Self { only, excluded, ignored: (!program.ignored).then_some(rules) })
    }

    /// Reads the rules as they are in the view, whose root is reached by this path.
    pub(super) fn in_view(mut self, root: PathBuf) -> Self {
        if let Some(rules) = &mut self.ignored {
            let mut exclude = GitignoreBuilder::new(&root);
            // One that is missing or has a line that is wrong excludes what its other lines say, as with git.
            exclude.add(root.join(".git/info/exclude"));
            let (global, _) = GitignoreBuilder::new(&root).build_global();
            rules.general = exclude.build().into_iter().chain([global]).collect();
            rules.root = root;
        }
        self
    }

    /// The decision about a path, relative to the root.
    pub(super) fn of(&mut self, path: &Path, is_folder: bool) -> Choice {
        let is_owned = |name: &OsStr| name == STATE_FOLDER || VCS_FOLDERS.iter().any(|folder| name == *folder);
        if path.iter().any(is_owned) {
            return Choice::VersionControl;
        }
        let has = |globs: &Gitignore| globs.matched_path_or_any_parents(path, is_folder).is_ignore();
        if has(&self.excluded) || !self.only.is_empty() && !has(&self.only) {
            return Choice::Excluded;
        }
        let is_ignored = self.ignored.as_mut().is_some_and(|rules| rules.has(path, is_folder));
        if is_ignored { Choice::Ignored } else { Choice::Taken }
    }
}

impl IgnoreRules {
    fn has(&mut self, path: &Path, is_folder: bool) -> bool {
        let Some(parent) = path.parent() else { return false };
        self.read(parent);
        if self.folders[parent].is_ignored {
            return true;
        }
        let there = self.root.join(path);
        // The rules of the nearest folder count first.
        let own = parent.ancestors().map(|folder| &self.folders[folder].own);
        let first =
            own.chain(&self.general).map(|rules| rules.matched(&there, is_folder)).find(|found| !found.is_none());
        first.is_some_and(|found| found.is_ignore())
    }

    /// Reads the rules of a folder and of all above it.
    fn read(&mut self, folder: &Path) {
        if self.folders.contains_key(folder) {
            return;
        }
        let is_ignored = match folder.parent() {
            Some(_) => self.has(folder, true),
            None => false,
        };
        let there = self.root.join(folder);
        let mut own = GitignoreBuilder::new(&there);
        own.add(there.join(".gitignore"));
        let own = own.build().unwrap_or_else(|_| Gitignore::empty());
        self.folders.insert(folder.to_owned(), FolderRules { own, is_ignored });
    }
}
