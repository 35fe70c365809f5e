//! The denied globs, from the option, the environment and the settings together.

use std::env;
use std::ffi::OsStr;
use std::fmt::Display;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::args::Common;
use super::config::{self, DeniedGlob};
use super::options::usage;
use crate::error::{Error, Result};
use crate::path::bounds::{Bounds, without_braces};

/// The variable with globs.
const VARIABLE: &str = "TXEDIT_DENY";

/// A glob that is denied.
#[derive(Debug, Clone)]
pub(super) struct Denied {
    glob: String,
    /// What denies it: the option, its variable or the settings file.
    by: String,
}

impl Denied {
    /// An invalid glob is refused at the start, wherever the root will be.
    fn new(glob: String, by: &str) -> Result<Self> {
        match Bounds::default().denying([glob.as_str()]) {
            Ok(_) => Ok(Self { glob, by: by.to_owned() }),
            Err(bad) => Err(usage(by, format!("{by}: {bad}"))),
        }
    }

    /// An error about it.
    fn refused(&self, why: impl Display) -> Error {
        usage(&self.by, format!("{}: {:?} {why}", self.by, self.glob))
    }
}

/// The globs of the settings file, the environment and the command line. An option cannot allow what the file denies.
pub(super) fn globs(of_file: Vec<DeniedGlob>, common: &Common) -> Result<Vec<Denied>> {
    let file = if of_file.is_empty() { String::new() } else { config::user_file()?.display().to_string() };
    let mut all: Vec<_> = of_file.into_iter().map(|DeniedGlob(glob)| Denied { glob, by: file.clone() }).collect();
    if let Some(globs) = env::var_os(VARIABLE) {
        let globs = globs.into_string().map_err(|_| usage(VARIABLE, format!("{VARIABLE} is not UTF-8")))?;
        if !globs.is_empty() && globs.trim_matches(':').is_empty() {
            let message = format!("{VARIABLE} has no glob: give some with : between them, or unset it");
            return Err(usage(VARIABLE, message));
        }
        for glob in between_colons(&globs) {
            all.push(Denied::new(glob, VARIABLE)?);
        }
    }
    for glob in &common.deny {
        all.push(Denied::new(glob.clone(), "--deny")?);
    }
    Ok(all)
}

/// The globs of the environment, as they stand there.
pub(super) fn of_environment() -> Vec<String> {
    env::var_os(VARIABLE).map(|globs| between_colons(&globs.to_string_lossy())).unwrap_or_default()
}

/// The globs between colons; a colon after a backslash is part of a glob.
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

/// The bounds of a workspace at `root`. If a glob begins with the root, the rest of it is denied as well: it was meant
/// as a path of this machine. A symlink and what it leads to are both denied. Only the folders that a glob names are
/// searched for symlinks; the whole tree would take each command too long.
pub(super) fn at(root: &Path, denied: &[Denied]) -> Result<Bounds> {
    let mut all: Vec<String> = denied.iter().map(|denied| denied.glob.clone()).collect();
    for denied in denied {
        let glob = &denied.glob;
        let ways =
            |glob: &str| without_braces(glob).map_err(|why| denied.refused(format_args!("denies nothing: {why}")));
        // The root's own characters may have a meaning in a glob.
        let mut inner = lexicals(glob, root).map_or(Ok(Vec::new()), |rest| ways(&rest))?;
        for one in ways(glob)? {
            let reached = |glob: &str, from| Reached::of(glob, from, root).map_err(|error| denied.refused(error));
            all.extend(reached(&one, root)?.beneath);
            let Some(first) = one.strip_prefix('/') else { continue };
            let reached = reached(&one, Path::new("/"))?;
            // A glob with a wildcard at its start means any folder of that name, and hardly this one.
            let is_whole = reached.root || one.contains("**") && bars(&one, root);
            if is_whole && !first.starts_with(WILDCARDS) {
                let root = root.display();
                return Err(denied.refused(format_args!(
                    "denies the whole root {root}: name what is in it; if that is the {glob} in it, write {root}{glob}"
                )));
            }
            inner.extend(reached.beneath);
            inner.extend(beneath(&one, root));
        }
        for glob in &inner {
            all.extend(Reached::of(glob, root, root).map_err(|error| denied.refused(error))?.beneath);
        }
        all.extend(inner);
    }
    Bounds::default().denying(all.iter().map(String::as_str)).map_err(|bad| usage("--deny", bad.to_string()))
}

/// The error that a glob matches more than can be looked at.
#[derive(Debug, Clone, Copy, thiserror::Error)]
#[error("fits more than {MOST} folders and symlinks: name fewer")]
struct TooMany;

/// The targets of a glob on the disk, from a folder on.
#[derive(Default)]
struct Reached {
    /// True if it matches the root, or a folder above it.
    root: bool,
    /// The part of the glob beneath the root, and the targets of symlinks there, as globs from the root.
    beneath: Vec<String>,
}

impl Reached {
    fn of(glob: &str, from: &Path, root: &Path) -> Result<Self, TooMany> {
        let (mut reached, mut folders) = (Self::default(), vec![from.to_owned()]);
        let names: Vec<&str> = glob.split('/').filter(|name| !name.is_empty()).collect();
        for (at, name) in names.iter().enumerate() {
            let is_last = at + 1 == names.len();
            let name = match *name {
                // It stands for any number of folders: here for none, or for what is in this one.
                "**" if !is_last => continue,
                "**" => "*",
                name => name,
            };
            let in_any_case = from == root;
            // A folder that the last name matches is covered by the glob itself, except the root and those above it.
            let leads_on = |path: &Path| !is_last || path.is_symlink() || root.starts_with(path);
            let found = folders.iter().flat_map(|folder| fitting(folder, name, in_any_case, &leads_on));
            folders = found.take(MOST + 1).collect();
            if folders.len() > MOST {
                return Err(TooMany);
            }
            let rest: String = names[at + 1..].iter().flat_map(|name| ["/", name]).collect();
            for folder in &folders {
                let Ok(real) = folder.canonicalize() else { continue };
                match real.strip_prefix(root).map(|inner| inner.to_str()) {
                    _ if is_same(&real, root) && !rest.is_empty() => reached.beneath.push(rest.clone()),
                    Ok(Some("")) => reached.root = true,
                    Ok(Some(inner)) if real != *folder => reached.beneath.push(format!("/{}{rest}", escaped(inner))),
                    Err(_) if rest.is_empty() => reached.root |= root.starts_with(&real),
                    _ => {}
                }
            }
        }
        Ok(reached)
    }
}

/// The folders and symlinks in a folder that match one name of a glob and lead on. Case is ignored beneath the root and
/// counts above it.
fn fitting(folder: &Path, name: &str, in_any_case: bool, leads_on: &dyn Fn(&Path) -> bool) -> Vec<PathBuf> {
    let written = literal(name).map(|name| folder.join(name));
    if written.is_some() && !in_any_case {
        return Vec::from_iter(written);
    }
    let bounds = Bounds::default().allowing_vcs().denying([format!("/{name}").as_str()]);
    let fits = |name: &OsStr| bounds.as_ref().is_ok_and(|bounds| bounds.bars(name.as_ref()).is_some());
    let entries = folder.read_dir().into_iter().flatten().filter_map(std::result::Result::ok);
    let no_files = entries.filter(|entry| entry.file_type().is_ok_and(|kind| !kind.is_file()));
    let found = no_files.filter(|entry| fits(&entry.file_name())).map(|entry| entry.path());
    let found = found.filter(|path| Some(path) != written.as_ref() && leads_on(path)).take(MOST + 1);
    written.iter().cloned().chain(found).collect()
}

fn is_same(one: &Path, other: &Path) -> bool {
    let identity = |path: &Path| path.metadata().map(|it| (it.dev(), it.ino())).ok();
    one == other || identity(one).is_some_and(|one| identity(other) == Some(one))
}

/// The part of an absolute glob after what matches the root, as a glob from the root. It is compared lexically,
/// ignoring case as every glob does.
fn beneath(glob: &str, root: &Path) -> Vec<String> {
    let cuts = glob.match_indices('/').skip(1).map(|(at, _)| glob.split_at(at));
    let fitting = cuts.filter_map(|(start, rest)| match start.strip_suffix("/**") {
        // It stands for any number of folders, also beneath the root.
        Some(above) if bars(start, root) || bars(above, root) => Some(format!("/**{rest}")),
        _ => (bars(start, root) && root.parent().is_none_or(|above| !bars(start, above))).then(|| rest.to_owned()),
    });
    lexicals(glob, root).into_iter().chain(fitting).filter(|rest| rest.len() > 1).collect()
}

/// The rest of a glob that begins literally with the root.
fn lexicals(glob: &str, root: &Path) -> Option<String> {
    let rest = Path::new(glob).strip_prefix(root).ok()?.to_str()?;
    (!rest.is_empty()).then(|| format!("/{rest}"))
}

/// Returns whether an absolute glob matches a path or a folder above it.
fn bars(glob: &str, path: &Path) -> bool {
    let bounds = Bounds::default().allowing_vcs().denying([glob]);
    let from_top = path.strip_prefix("/").ok().filter(|path| !path.as_os_str().is_empty());
    bounds.is_ok_and(|bounds| from_top.is_some_and(|path| bounds.bars(path).is_some()))
}

/// The characters of a glob that match more than themselves.
const WILDCARDS: [char; 4] = ['*', '?', '[', '{'];

/// The most folders and symlinks that one name of a glob may match.
const MOST: usize = 10_000;

/// The name that a part of a glob stands for, if it is only one.
fn literal(part: &str) -> Option<String> {
    let (mut name, mut chars) = (String::new(), part.chars());
    while let Some(c) = chars.next() {
        match c {
            '\\' => name.extend(chars.next()),
            _ if WILDCARDS.contains(&c) => return None,
            _ => name.push(c),
        }
    }
    Some(name)
}

/// A path as a glob that matches only it.
fn escaped(path: &str) -> String {
    let is_plain = |c: char| !c.is_ascii() || c.is_ascii_alphanumeric() || "/._-".contains(c);
    path.chars().flat_map(|c| (!is_plain(c)).then_some('\\').into_iter().chain([c])).collect()
}
