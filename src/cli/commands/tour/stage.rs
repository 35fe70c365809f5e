//! The scratch folder of the tour, and its output.

use std::path::{Path, PathBuf};

use super::{TourFacts, TourStep, off, off_at};
use crate::cli::failure::Failure;
use crate::cli::options::CommonOptions;
use crate::cli::output::{self, GOOD, HEADING, styled};
use crate::cli::signals;
use crate::digest::Digest;
use crate::engine::report::Report;
use crate::engine::{Engine, Run};
use crate::error::{Error, Result};
use crate::fs::scratch::Scratch;
use crate::request::edit::{Anchor, Count, Edit, Matching};
use crate::request::{Change, FileRequest, Request};

/// The contents of files, by name.
pub(super) type TourContents = &'static [(&'static str, &'static str)];

/// The folder of the tour's workspace, so that a plan can lie beside it.
const WORKSPACE: &str = "workspace";

/// A scratch workspace, and a record of what was done in it.
pub(super) struct Stage<'a> {
    scratch: Option<Scratch>,
    folder: PathBuf,
    pub(super) options: &'a CommonOptions,
    title: &'static str,
    /// The steps that succeeded.
    pub(super) steps: Vec<TourStep>,
}

impl<'a> Stage<'a> {
    /// A new scratch workspace in `parent`.
    pub(super) fn set(parent: &Path, options: &'a CommonOptions) -> Result<Self> {
        let scratch = Scratch::new_in(parent)?;
        scratch.make_folder(Path::new(WORKSPACE))?;
        let folder = scratch.path().to_owned();
        Ok(Self { scratch: Some(scratch), folder, options, title: "", steps: Vec::new() })
    }

    /// The workspace.
    pub(super) fn root(&self) -> PathBuf {
        self.folder.join(WORKSPACE)
    }

    /// A new engine of the workspace, as in each start of the program.
    pub(super) fn engine(&self) -> Result<Engine> {
        Engine::open_with(self.root(), self.options.scratch_settings())
    }

    /// Begins a step.
    pub(super) fn heading(&mut self, title: &'static str) {
        self.title = title;
        self.print(&format!("\n{}\n", styled(HEADING, format!("{}. {title}", self.steps.len() + 1))));
    }

    /// Prints what happens, each line indented.
    pub(super) fn say(&self, text: &str) {
        let lines: Vec<String> = text.lines().map(|line| format!("   {line}\n")).collect();
        self.print(&lines.concat());
    }

    /// Prints why a step failed that was meant to fail.
    pub(super) fn say_failure(&self, failure: &Failure) {
        self.say(&failure.for_people(Some(self.options)));
    }

    /// Records a step that succeeded.
    pub(super) fn done(&mut self, facts: TourFacts) {
        self.steps.push(TourStep { title: self.title, facts });
    }

    fn print(&self, text: &str) {
        if !self.options.json {
            // A user who closes the pipe has seen enough; the tour goes on, for its exit status.
            let _ = output::result(text);
        }
    }

    /// Writes files without the engine.
    pub(super) fn write(&self, contents: TourContents) -> Result<()> {
        contents.iter().try_for_each(|(name, content)| self.scratch()?.write(&in_workspace(name), content.as_bytes()))
    }

    /// Writes the plan beside the workspace; returns its path.
    pub(super) fn write_plan(&self, json: &[u8]) -> Result<PathBuf> {
        let name = Path::new("plan.json");
        self.scratch()?.write(name, json)?;
        Ok(self.folder.join(name))
    }

    /// The digest of a file of the workspace.
    pub(super) fn digest(&self, name: &str) -> Result<Digest> {
        let content = self.scratch()?.read(&in_workspace(name))?;
        content.map(|c| Digest::of(&c)).ok_or_else(|| off_at(name, "it is gone"))
    }

    /// Verifies that the files have these contents, and prints it.
    pub(super) fn expect(&self, contents: TourContents, word: &str) -> Result<()> {
        for (name, content) in contents {
            if self.digest(name)? != Digest::of(content.as_bytes()) {
                return Err(off_at(name, &format!("it should be {word} and is not")));
            }
            self.say(&format!("{name:12} {}", styled(GOOD, word)));
        }
        Ok(())
    }

    /// Applies a request.
    pub(super) fn apply(&self, request: &Request) -> Result<Report> {
        let cancel = signals::cancel_token()?;
        self.engine()?.apply(request, Run::default().cancelled_by(&cancel))
    }

    /// Undoes a transaction.
    pub(super) fn undo(&self, id: &str) -> Result<Report> {
        let cancel = signals::cancel_token()?;
        self.engine()?.undo(Some(id), false, Run::default().cancelled_by(&cancel))
    }

    /// Leaves the folder behind so that a user can find out why the tour failed.
    pub(super) fn failed(&mut self, error: Error) -> Error {
        if let Some(scratch) = self.scratch.take() {
            output::note(format!("the tour failed in {}; that folder is kept for inspection", self.title));
            output::note(scratch.keep().display());
        }
        error
    }

    fn scratch(&self) -> Result<&Scratch> {
        self.scratch.as_ref().ok_or_else(|| off("the tour is over"))
    }
}

fn in_workspace(name: &str) -> PathBuf {
    Path::new(WORKSPACE).join(name)
}

/// A request of one edit for each file.
pub(super) fn request(edits: &[(&str, &str, &str)]) -> Request {
    let entry = |(name, old, new): &(&str, &str, &str)| {
        let anchor = Anchor::Text { text: old.as_bytes().to_vec(), count: Count::Once, matching: Matching::Exact };
        let edits = vec![Edit { anchor, replacement: new.as_bytes().to_vec() }];
        let change = Change::Edit { edits, rename: None };
        FileRequest::new(PathBuf::from(name), change)
    };
    Request { files: edits.iter().map(entry).collect(), label: Some("tour".to_owned()), ..Request::default() }
}
