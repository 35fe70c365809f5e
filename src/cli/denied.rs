//! What nobody reads or writes, by all who have a say.

use std::env;
use std::path::{Path, PathBuf};

use super::args::Common;
use super::config;
use super::options::usage;
use crate::error::Result;
use crate::path::bounds::Bounds;

/// The globs of the user's file, of the environment and of the command line. A flag takes nothing back that the file
/// denies.
pub(super) fn globs(common: &Common) -> Result<Vec<String>> {
    let mut all = config::denied()?;
    if let Some(globs) = env::var_os("TXEDIT_DENY") {
        let globs = globs.into_string().map_err(|_| usage("TXEDIT_DENY", "TXEDIT_DENY is not UTF-8"))?;
        if !globs.is_empty() && globs.trim_matches(':').is_empty() {
            return Err(usage("TXEDIT_DENY", "TXEDIT_DENY has no glob: give some with : between them, or unset it"));
        }
        all.extend(globs.split(':').filter(|glob| !glob.is_empty()).map(str::to_owned));
    }
    all.extend(common.deny.iter().cloned());
    // What is wrong with them is told at the start, wherever the root will be.
    bounds(&all)?;
    Ok(all)
}

/// The bounds of a workspace at `root`. A glob that begins with the root is the rest of it as well: whoever wrote it meant
/// a path of this machine.
pub(super) fn at(root: &Path, globs: &[String]) -> Result<Bounds> {
    let mut all = globs.to_vec();
    for glob in globs.iter().filter(|glob| glob.starts_with('/')) {
        for spelled in [PathBuf::from(glob), real(glob)] {
            if root.starts_with(&spelled) {
                let message = format!(
                    "--deny {glob} denies the whole root {}: name what is in it, from the root, like /folder",
                    root.display()
                );
                return Err(usage("--deny", message));
            }
            let rest = spelled.strip_prefix(root).ok().and_then(Path::to_str);
            if rest.is_none() && is_beneath_in_another_case(&spelled, root) {
                let message = format!("--deny {glob} has the root in another case: write {}", root.display());
                return Err(usage("--deny", message));
            }
            all.extend(rest.map(|rest| format!("/{rest}")));
        }
    }
    // A symlink has two names: what it leads to is denied by both.
    for glob in globs {
        let there = root.join(glob.trim_start_matches('/')).canonicalize().unwrap_or_default();
        let rest = there.strip_prefix(root).ok().and_then(Path::to_str).filter(|rest| !rest.is_empty());
        all.extend(rest.filter(|rest| *rest != glob.trim_start_matches('/')).map(|rest| format!("/{rest}")));
    }
    bounds(&all)
}

/// Whether a path begins with the root but for the case of its letters.
fn is_beneath_in_another_case(path: &Path, root: &Path) -> bool {
    let mut names = path.components();
    root.components()
        .all(|name| names.next().is_some_and(|other| other.as_os_str().eq_ignore_ascii_case(name.as_os_str())))
}

fn bounds(globs: &[String]) -> Result<Bounds> {
    let bounds = Bounds::default().denying(globs.iter().map(String::as_str));
    bounds.map_err(|bad| usage("--deny", bad.to_string()))
}

/// An absolute glob with the folders at its start as they really are.
fn real(glob: &str) -> PathBuf {
    let glob = Path::new(glob);
    let resolved =
        glob.ancestors().find_map(|start| Some(start.canonicalize().ok()?.join(glob.strip_prefix(start).ok()?)));
    resolved.unwrap_or_else(|| glob.to_owned())
}
