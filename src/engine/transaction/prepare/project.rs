//! Projects, to which quotas belong: a folder that hands on its own (`chattr +P`) takes nothing of another.

use std::collections::HashMap;

use super::prepared::Prepared;
use crate::error::{Error, ErrorKind, Result};
use crate::fs::{Attributes, Fs, Handle, Project};

/// Whether what a transaction takes out of its folders could go back there.
pub(crate) fn check(fs: &dyn Fs, prepared: &Prepared) -> Result<()> {
    let mut handed_on = HashMap::new();
    for (path, (_, folder)) in &prepared.parents {
        let project = of(fs, folder)?;
        // What an overlay tells is of a file beneath it, and it takes a name of any project.
        if project.hands_on && fs.file_system(folder).is_ok_and(|known| known.name != "overlay") {
            handed_on.insert(path.as_path(), project.id);
        }
    }
    for (entry, target) in prepared.plan.entries.iter().zip(&prepared.targets) {
        let (Some(target), Some(id)) = (target, handed_on.get(entry.path.parent())) else { continue };
        let own = target.attributes().project.id;
        if own == *id {
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

/// What comes to another place is in the project that the folder there hands on, if it does.
pub(crate) fn join(fs: &dyn Fs, folder: &Handle, attributes: &mut Attributes) -> Result<()> {
    let theirs = of(fs, folder)?;
    if theirs.hands_on {
        attributes.project = Project { hands_on: false, ..theirs };
    }
    Ok(())
}

/// A transaction's folder takes files of every project: those that are swapped out keep theirs.
pub(crate) fn leave(fs: &dyn Fs, folder: &Handle) -> Result<()> {
    let project = of(fs, folder)?;
    if project.hands_on {
        // In a user namespace nobody may: there it takes what is in its own project, which mostly is all there is.
        fs.set_project(folder, Project { hands_on: false, ..project }).ok();
    }
    Ok(())
}

fn of(fs: &dyn Fs, folder: &Handle) -> Result<Project> {
    fs.project(folder).map_err(|e| Error::io("ask for the project of", folder.path(), e))
}
