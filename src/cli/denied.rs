//! What nobody reads or writes, by all who have a say.

use std::env;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

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
        all.extend(between_colons(&globs));
    }
    all.extend(common.deny.iter().cloned());
    // What is wrong with them is told at the start, wherever the root will be.
    bounds(&all)?;
    Ok(all)
}

/// What stands between colons; one behind a backslash is part of a glob.
fn between_colons(globs: &str) -> Vec<String> {
    let (mut all, mut chars) = (vec![String::new()], globs.chars());
    while let Some(c) = chars.next() {
        let last = all.len() - 1;
        match c {
            ':' => all.push(String::new()),
            '\\' => all[last].extend(['\\'].into_iter().chain(chars.next())),
            _ => all[last].push(c),
        }
    }
    all.retain(|glob| !glob.is_empty());
    all
}

/// The bounds of a workspace at `root`. A glob that begins with the root is the rest of it as well: whoever wrote it meant
/// a path of this machine.
pub(super) fn at(root: &Path, globs: &[String]) -> Result<Bounds> {
    let mut all = globs.to_vec();
    for glob in globs.iter().filter(|glob| glob.starts_with('/')) {
        for spelled in [glob.clone(), real(glob)] {
            if is_whole(&spelled, root) {
                let message = format!(
                    "--deny {glob} denies the whole root {}: name what is in it, from the root, like /folder",
                    root.display()
                );
                return Err(usage("--deny", message));
            }
            all.extend(beneath(&spelled, root));
        }
    }
    // A symlink has two names: what it leads to is denied by both.
    for glob in globs {
        let there = root.join(glob.trim_start_matches('/')).canonicalize().unwrap_or_default();
        let rest = there.strip_prefix(root).ok().and_then(Path::to_str).filter(|rest| !rest.is_empty());
        all.extend(rest.map(|rest| format!("/{}", escaped(rest))).filter(|rest| !globs.contains(rest)));
    }
    bounds(&all)
}

/// Whether a glob of this machine fits a root or a folder above it. Without wildcards it must be there: on a disk that
/// tells upper case from lower, one in another case is about another folder.
fn is_whole(glob: &str, root: &Path) -> bool {
    let is_there = root.ancestors().any(|folder| is_same(folder, Path::new(glob)));
    is_there || (glob.contains(WILDCARDS) && bars(glob, root))
}

fn is_same(one: &Path, other: &Path) -> bool {
    let identity = |path: &Path| path.metadata().map(|it| (it.dev(), it.ino())).ok();
    one == other || identity(one).is_some_and(|one| identity(other) == Some(one))
}

/// The rest of a glob of this machine behind what fits the root, as a glob from the root. By its letters in any case, as
/// every glob.
fn beneath(glob: &str, root: &Path) -> Vec<String> {
    let literal = Path::new(glob).strip_prefix(root).ok().and_then(Path::to_str).map(|rest| format!("/{rest}"));
    let cuts = glob.match_indices('/').skip(1).map(|(at, _)| glob.split_at(at));
    let fitting = cuts.filter_map(|(start, rest)| match start.strip_suffix("/**") {
        // It stands for any number of folders, also beneath the root.
        Some(above) if bars(start, root) || bars(above, root) => Some(format!("/**{rest}")),
        _ => (bars(start, root) && root.parent().is_none_or(|above| !bars(start, above))).then(|| rest.to_owned()),
    });
    literal.into_iter().chain(fitting).filter(|rest| rest.len() > 1).collect()
}

/// Whether a glob of this machine fits a path or a folder above it.
fn bars(glob: &str, path: &Path) -> bool {
    let bounds = Bounds::default().allowing_vcs().denying([glob]);
    let from_top = path.strip_prefix("/").ok().filter(|path| !path.as_os_str().is_empty());
    bounds.is_ok_and(|bounds| from_top.is_some_and(|path| bounds.bars(path).is_some()))
}

/// What is more than itself in a glob.
const WILDCARDS: [char; 4] = ['*', '?', '[', '{'];

/// A path as a glob that fits it alone.
fn escaped(path: &str) -> String {
    let is_plain = |c: char| !c.is_ascii() || c.is_ascii_alphanumeric() || "/._-".contains(c);
    path.chars().flat_map(|c| (!is_plain(c)).then_some('\\').into_iter().chain([c])).collect()
}

fn bounds(globs: &[String]) -> Result<Bounds> {
    let bounds = Bounds::default().denying(globs.iter().map(String::as_str));
    bounds.map_err(|bad| usage("--deny", bad.to_string()))
}

/// An absolute glob with the folders at its start as they really are.
fn real(glob: &str) -> String {
    let resolved = Path::new(glob).ancestors().find_map(|start| {
        let (there, rest) = (start.canonicalize().ok()?, Path::new(glob).strip_prefix(start).ok()?);
        let there = escaped(there.to_str()?);
        Some(if rest.as_os_str().is_empty() {
            there
        } else {
            format!("{}/{}", there.trim_end_matches('/'), rest.to_str()?)
        })
    });
    resolved.unwrap_or_else(|| glob.to_owned())
}
