//! Quota projects: a folder that passes on its own project (`chattr +P`) takes no file of another.

use std::collections::HashMap;

use super::prepared::Prepared;
use crate::engine::store::workspace::Workspace;
use crate::error::{Error, ErrorKind, Result};
use crate::fs::{Attributes, Handle, Project};

/// Verifies that what a transaction takes out of its folders could go back there.
pub(crate) fn check(workspace: &Workspace, prepared: &Prepared) -> Result<()> {
    let mut handed_on = HashMap::new();
    for (path, (_, folder)) in &prepared.parents {
        let project = workspace.project(folder)?;
        // An overlay reports the project of a file beneath it, and accepts a name of any project.
        if project.hands_on && workspace.fs().file_system(folder).is_ok_and(|known| known.name != "overlay") {
            handed_on.insert(path.as_path(), project.id);
        }
    }
    for (entry, target) in prepared.plan.entries.iter().zip(&prepared.targets) {
        let (Some(target), Some(id)) = (target, handed_on.get(entry.path.parent())) else { continue };
        let own = target.attributes().project.id;
        // A symlink cannot be opened to be asked; one that was made in its folder is in the project of that.
        if own == *id || target.is_link() {
            continue;
        }
        let message = format!(
            "{} is in project {own}, and its folder hands on {id} to what comes into it (chattr +P): it could not be put \
             back there; give it that project first (chattr -p {id} FILE)",
            entry.path
        );
        let error = Error::new(ErrorKind::CrossDevice, message).at(entry.path.as_path());
        return Err(error.asked_by(entry.asked_by));
    }
    Ok(())
}

/// Gives a file that comes to another folder the project that this folder passes on, if it does.
pub(crate) fn join(workspace: &Workspace, folder: &Handle, attributes: &mut Attributes) -> Result<()> {
    let theirs = workspace.project(folder)?;
    if theirs.hands_on {
        attributes.project = Project { hands_on: false, ..theirs };
    }
    Ok(())
}

/// Makes a transaction's folder accept files of every project: originals keep theirs.
pub(crate) fn leave(workspace: &Workspace, folder: &Handle) -> Result<()> {
    let project = workspace.project(folder)?;
    if project.hands_on {
        // Not allowed in a user namespace: there the folder accepts files of its own project, which mostly is the only
        // one.
        workspace.fs().set_project(folder, Project { hands_on: false, ..project }).ok();
    }
    Ok(())
}
