//! Open transactions of two clients, beside everything else that happens.

use std::collections::BTreeSet;

use txedit::{ErrorKind, Outcome};

use super::reference::{self, Ask, Files, difference};
use super::world::{Committed, Step, World, request, with_run};

/// What one client has staged.
#[derive(Debug)]
pub(super) struct Open {
    id: String,
    staged: Vec<Vec<Ask>>,
    /// What the touched files were when they were staged first.
    base: Files,
    touched: BTreeSet<&'static str>,
}

impl Open {
    /// Whether a touched file is no longer what it was.
    fn is_behind(&self, files: &Files) -> bool {
        self.touched.iter().any(|path| self.base.get(path) != files.get(path))
    }

    /// What all of it makes of these files.
    fn applied(&self, files: &Files) -> Option<Files> {
        self.staged.iter().try_fold(files.clone(), |files, asks| reference::apply(&files, asks))
    }
}

fn touched(asks: &[Ask]) -> BTreeSet<&'static str> {
    asks.iter().flat_map(|ask| [ask.source(), ask.result()]).flatten().collect()
}

impl World {
    pub(super) fn stage(&mut self, client: usize, asks: &[Ask]) -> Step {
        let engine = self.engine();
        let id = self.open[client].as_ref().map(|open| open.id.clone());
        let done = with_run(|run| engine.stage(&request(asks), id.as_deref(), run));
        let paths = touched(asks);
        let open = self.open[client].as_ref();
        let is_behind = open.is_some_and(|open| open.is_behind(&self.files));
        let is_apart = open.is_none_or(|open| open.touched.is_disjoint(&paths));
        let before = open.map_or(Some(self.files.clone()), |open| open.applied(&self.files));
        let expected = before.and_then(|before| reference::apply(&before, asks));
        match done {
            Ok(_) if expected.is_none() && !is_behind => Err(format!("{asks:?} cannot be staged, and was")),
            Ok(staged) => {
                let id = staged.id.ok_or("what is staged has an id")?;
                let files = &self.files;
                let open = self.open[client].get_or_insert_with(|| Open {
                    id,
                    staged: Vec::new(),
                    base: Files::new(),
                    touched: BTreeSet::new(),
                });
                for path in paths {
                    if open.touched.insert(path)
                        && let Some(file) = files.get(path)
                    {
                        open.base.insert(path, file.clone());
                    }
                }
                open.staged.push(asks.to_vec());
                Ok(())
            }
            Err(error) if error.outcome() != Outcome::Unchanged => Err(format!("staging changed something: {error:?}")),
            // What cannot be put on top of what is staged may be refused; what has nothing to do with it may not.
            Err(error) if expected.is_some() && is_apart && !is_behind => {
                Err(format!("{asks:?} can be staged, and was refused: {error:?}"))
            }
            Err(_) => Ok(()),
        }
    }

    pub(super) fn commit_open(&mut self, client: usize) -> Step {
        let Some(open) = self.open[client].take() else { return Ok(()) };
        let engine = self.engine();
        let done = with_run(|run| engine.commit_staged(&open.id, None, None, run));
        let is_behind = open.is_behind(&self.files);
        match (open.applied(&self.files), done) {
            (Some(after), Ok(report)) if !is_behind => {
                self.adopt(&report, after);
                Ok(())
            }
            // Carried over: every file that nobody touched since is as it was staged.
            (_, Ok(report)) if is_behind => {
                let seen = self.seen();
                let changed = difference(&self.files, &seen);
                if let Some(path) = changed.keys().find(|path| !open.touched.contains(*path)) {
                    return Err(format!("{path} was not staged, and is another"));
                }
                if let Some(id) = &report.transaction {
                    self.history.push(Committed { id: id.clone(), changed, undoes: None });
                }
                self.files = seen;
                Ok(())
            }
            (_, Err(error)) if is_behind && error.outcome() == Outcome::Unchanged => {
                self.open[client] = Some(open);
                Ok(())
            }
            (expected, done) => Err(format!("the model says {expected:?}, the engine {done:?}")),
        }
    }

    pub(super) fn roll_back(&mut self, client: usize) -> Step {
        let Some(open) = self.open[client].take() else { return Ok(()) };
        let engine = self.engine();
        with_run(|run| engine.roll_back(&open.id, run)).map_err(|e| format!("it cannot be dropped: {e:?}"))?;
        match with_run(|run| engine.preview(&open.id, run)) {
            Err(error) if error.kind() == ErrorKind::UnknownTransaction => Ok(()),
            other => Err(format!("it is dropped, and its preview is {other:?}")),
        }
    }
}
