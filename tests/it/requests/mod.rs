//! Requests: which are refused, and what of a file changes and what does not.

mod bad_request;
mod bad_target;
mod beneath_symlinks;
mod encodings;
mod folders;
mod globs;
mod held;
mod large;
mod many;
mod real_tree;
mod renames;
mod replace;
mod symlinks;
mod text_rules;

use txedit::UndoOptions;

use crate::support::workspace::{Tree, Workspace, running};

/// Undoes and redoes; both ways everything is as it was.
fn there_and_back(workspace: &Workspace, before: &Tree) {
    let after = workspace.tree();
    for _ in 0..2 {
        workspace.undo(None).unwrap();
        workspace.tree().restorable().assert_same(&before.clone().restorable());
        workspace.engine.redo(None, &UndoOptions::default(), running()).unwrap();
        workspace.tree().restorable().assert_same(&after.clone().restorable());
    }
}
