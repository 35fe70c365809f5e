//! Judges undos where nobody but txedit was at work, and nothing failed: all of the tree is as it was.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::data::ScenarioAct;
use super::judge::{Doing, Judged};
use super::look::differences;
use super::run::{ScenarioCommit, ScenarioWorld};
use crate::engine::report::Report;
use crate::fs::FileKind;
use crate::testing::check::told;
use crate::testing::run::lock;
use crate::testing::script::ROOT;
use crate::testing::world::UserFiles;

impl ScenarioWorld {
    /// Returns whether nothing but acts of txedit happened, all of which are in history.
    pub(super) fn is_quiet(&self) -> bool {
        let unusual = self.is_pruned || self.profile.small_history || self.profile.lower;
        !unusual && !self.had_failures && self.pending.is_none() && !lock(&self.foreigners).were_here
    }

    /// Judges what an undo or a redo leaves: exactly what was before the transactions that it reverts, if they are the
    /// newest.
    pub(super) fn is_exact(&self, act: &ScenarioAct, report: &Report, files: &UserFiles) -> Judged {
        if !self.is_quiet() {
            return Ok(());
        }
        let newest = self.committed.last();
        let since = match act {
            ScenarioAct::UndoSince(back) => {
                self.committed.len().checked_sub(*back).and_then(|at| self.committed.get(at))
            }
            ScenarioAct::Undo(_) | ScenarioAct::Redo(_) => {
                let is_reverted = |newest: &&ScenarioCommit| report.reverts.iter().any(|it| it.id == newest.id);
                newest.filter(is_reverted)
            }
            _ => None,
        };
        let Some(ScenarioCommit { before, .. }) = since else { return Ok(()) };
        // An undo of several gives a folder that stays its old metadata, of which a redo knows nothing, nor does another undo.
        let is_since_several = matches!(act, ScenarioAct::UndoSince(back)
            if self.committed.iter().rev().take(*back).any(|committed| committed.several));
        let is_redo_of_several = is_since_several || report.reverts.iter().any(|it| self.is_of_several(&it.id));
        let is_folder = |path: &PathBuf| {
            [before, files].iter().all(|files| files.get(path).is_some_and(|entry| entry.kind == FileKind::Folder))
        };
        let differ = differences(before, files);
        match differ.into_iter().find(|path| !(is_redo_of_several && is_folder(path))) {
            Some(path) => {
                let (is, was) = (told(files, path), told(before, path));
                Err(format!("reverted, and {} is {is}; it was {was}", path.display()))
            }
            None if !report.warnings.is_empty() => {
                Err(format!("reverted exactly, with warnings: {:?}", report.warnings))
            }
            None => Ok(()),
        }
    }

    /// Judges what an undo says of folders that it leaves: another transaction has made them, which is not undone.
    pub(super) fn are_of_others(&self, undone: usize, base: &UserFiles, report: &Report) -> Judged {
        if !self.is_quiet() {
            return Ok(());
        }
        // Its undos and redos, and what they have undone with it.
        let mut own = BTreeSet::from([&self.committed[undone].id]);
        for ScenarioCommit { id, reverted, .. } in &self.committed {
            if reverted.iter().any(|it| own.contains(it)) {
                own.insert(id);
                own.extend(reverted);
            }
        }
        let after = self.committed.iter().skip(1).map(|next| &*next.before).chain([base]);
        let others: Vec<_> = self.committed.iter().zip(after).filter(|(it, _)| !own.contains(&it.id)).collect();
        let is_made =
            |path: &Path| others.iter().any(|(it, after)| !it.before.contains_key(path) && after.contains_key(path));
        let wrong = report.warnings.iter().find(|told| {
            let path = told.split_once(" stays, which is not the folder").map(|(path, _)| path);
            let path = path.and_then(|path| path.strip_prefix(ROOT)).map(|path| path.trim_start_matches('/'));
            path.is_some_and(|path| !is_made(Path::new(path)))
        });
        wrong.map_or(Ok(()), |wrong| Err(format!("nobody else has made it, and the warning says {wrong:?}")))
    }

    /// Returns whether an undo of everything after a transaction has no reason to be refused.
    pub(super) fn must_be_undone_since(&self, doing: &Doing<'_>) -> bool {
        matches!(doing.act, ScenarioAct::UndoSince(back) if *back > 0) && !doing.failed && self.is_quiet()
    }
}
