//! The file systems of a transaction: a rename does not leave one, so each has the slots of its own targets.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::Path;

use super::preflight::check_durable;
use super::prepared::Prepared;
use crate::engine::Engine;
use crate::engine::store::lookup;
use crate::engine::store::parts::{PartPlace, sweep_orphans};
use crate::engine::store::state::{StateFolder, StateLookup};
use crate::engine::store::workspace::Workspace;
use crate::error::{Error, ErrorKind, Result};
use crate::fs::Stat;
use crate::journal::{Swap, nearest};
use crate::limits;
use crate::path::{RelPath, shown};

/// A file system, and how it is mounted.
type Mount = (u64, u64);

fn mount_of(stat: &Stat) -> Mount {
    (stat.device, stat.mount)
}

impl Engine {
    /// The uppermost folders of the file systems that a transaction changes besides that of the state folder, by their paths.
    pub(crate) fn other_file_systems(&self, prepared: &Prepared, found: &StateLookup) -> Result<Vec<RelPath>> {
        let root = || Ok::<_, Error>(mount_of(&self.workspace.stat_handle(&self.workspace.root)?));
        let own = if let StateLookup::State(state) = found { mount_of(&state.stat) } else { root()? };
        if prepared.parents.values().all(|(stat, _)| mount_of(stat) == own) {
            return Ok(Vec::new());
        }
        if own != root()? {
            let message = format!(
                "the state folder of {} is on another file system or mount than the files around it: unmount it, or use \
                 --root there",
                self.root().display()
            );
            return Err(Error::new(ErrorKind::CrossDevice, message).at(self.root()));
        }
        let mut tops = BTreeMap::new();
        for (path, (stat, _)) in prepared.parents.iter().filter(|(_, (stat, _))| mount_of(stat) != own) {
            tops.insert(top_of(&self.workspace, path, mount_of(stat))?.as_os_str(), mount_of(stat));
        }
        let mut parents = prepared.parents.iter().map(|(path, (stat, _))| (path.as_path(), mount_of(stat)));
        if let Some((path, _)) = parents.find(|(path, mount)| told_mount(&tops, path).unwrap_or(own) != *mount) {
            let message = format!(
                "{} is on a file system that is mounted inside another one of the transaction, and cannot be told from it by \
                 its path: change it in a transaction of its own",
                self.root().join(path).display()
            );
            return Err(Error::new(ErrorKind::CrossDevice, message).at(self.root().join(path)));
        }
        // In the order in which a journal names them.
        let top =
            |top: &OsStr| RelPath::new(top).unwrap_or_else(|_| unreachable!("a mount in the workspace has a path"));
        let tops: Vec<_> = tops.into_keys().map(top).collect();
        check_count(&tops)?;
        self.check_apart(&tops)?;
        Ok(tops)
    }

    /// Refuses one folder that is mounted at two paths: they would have one state folder.
    fn check_apart(&self, tops: &[RelPath]) -> Result<()> {
        let mut seen: BTreeMap<(u64, u64), &RelPath> = BTreeMap::new();
        for top in tops {
            let stat =
                self.workspace.stat_handle(&self.workspace.open_beneath(&self.workspace.root, top.as_path())?)?;
            if let Some(other) = seen.insert((stat.device, stat.identity.inode), top) {
                let message = format!(
                    "{other} and {top} are one folder that is mounted twice: name its files by one of the two paths, or change \
                     them in two transactions"
                );
                return Err(Error::new(ErrorKind::CrossDevice, message).at(top.as_path()));
            }
        }
        Ok(())
    }

    /// Makes what a transaction needs on its other file systems: a state folder on each. All names change places in one way,
    /// which all of them can.
    pub(crate) fn place_parts(
        &self,
        state: StateFolder,
        tops: Vec<RelPath>,
        is_durable: bool,
    ) -> Result<(StateFolder, Vec<PartPlace>)> {
        let swap = self.settings.swap;
        let mut state = state.swapping(swap)?;
        let mut places = Vec::with_capacity(tops.len());
        for path in tops {
            let folder = self.workspace.open_beneath(&self.workspace.root, path.as_path())?;
            let there = self.workspace.at(folder);
            let found = lookup::find(&there)?;
            places.push(PartPlace { path, state: StateFolder::ensure(&there, found)?.swapping(swap)? });
        }
        check_moves(&state, &places)?;
        let differ =
            |state: &StateFolder, places: &[PartPlace]| places.iter().any(|place| place.state.swap != state.swap);
        if differ(&state, &places) {
            state = state.swapping(Swap::Aside)?;
            for place in &mut places {
                place.state = place.state.clone().swapping(Swap::Aside)?;
            }
        }
        if differ(&state, &places) {
            state = state.linking()?;
            for place in &mut places {
                place.state = place.state.clone().linking()?;
            }
        }
        assert!(!differ(&state, &places), "the journal says one way in which names change places");
        for place in &places {
            if is_durable {
                check_durable(&place.state)?;
            }
            sweep_orphans(&state, place)?;
        }
        Ok((state, places))
    }
}

/// The uppermost folder that is on the same mount as the one at a path.
fn top_of<'p>(workspace: &Workspace, path: &'p Path, mount: Mount) -> Result<&'p Path> {
    let mut top = path;
    for above in path.ancestors().skip(1) {
        let folder = workspace.open_beneath(&workspace.root, above)?;
        if mount_of(&workspace.stat_handle(&folder)?) != mount {
            break;
        }
        top = above;
    }
    Ok(top)
}

/// The mount on which the files in a folder are, as a path tells it to whoever reads the journal.
fn told_mount(tops: &BTreeMap<&OsStr, Mount>, folder: &Path) -> Option<Mount> {
    nearest(tops.keys().map(|top| Path::new(*top)), &folder.join("name")).and_then(|at| tops.values().nth(at).copied())
}

/// Refuses a file system on which files can only be overwritten beside any other.
fn check_moves(state: &StateFolder, places: &[PartPlace]) -> Result<()> {
    let all = || places.iter().map(|place| &place.state).chain([state]);
    let Some(one) = all().find(|state| state.only_overwrites).filter(|_| !places.is_empty()) else { return Ok(()) };
    let root = one.workspace.root.path();
    let message = format!(
        "files in {} can only be overwritten, and this request is about other file systems, too: change them in a transaction \
         of their own, with --root there",
        root.display()
    );
    Err(Error::new(ErrorKind::CrossDevice, message).at(root))
}

/// Refuses more file systems than one line of a journal names.
fn check_count(tops: &[RelPath]) -> Result<()> {
    // In hexadecimal digits, or escaped, a byte takes up to six.
    let bytes: usize = tops.iter().map(|top| 6 * top.as_path().as_os_str().len() + limits::PART_BYTES).sum();
    if tops.len() <= limits::PARTS && bytes <= limits::JOURNAL_LINE_BYTES / 2 {
        return Ok(());
    }
    let names = tops.iter().map(|top| shown(top.as_path())).collect::<Vec<_>>().join(", ");
    let message = format!(
        "{} other file systems are touched ({names}), more than one transaction may: split the request",
        tops.len()
    );
    Err(Error::new(ErrorKind::RequestTooLarge, message))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mount_is_told_by_the_nearest_top() {
        let (outer, inner) = ((1, 7), (2, 8));
        let tops = BTreeMap::from([(OsStr::new("m"), outer), (OsStr::new("m/inner"), inner)]);
        let told = |folder: &str| told_mount(&tops, Path::new(folder));
        assert_eq!((told(""), told("mother"), told("m/deep")), (None, None, Some(outer)));
        assert_eq!((told("m/inner"), told("m/inner/deep")), (Some(inner), Some(inner)));
    }

    #[test]
    fn no_more_file_systems_are_taken_than_a_journal_names() {
        let tops = |count: usize, length: usize| -> Vec<RelPath> {
            (0..count).map(|at| RelPath::new(format!("{at}/{}", "x/".repeat(length) + "m")).unwrap()).collect()
        };
        check_count(&tops(limits::PARTS, 1)).unwrap();
        for too_much in [tops(limits::PARTS + 1, 1), tops(4, 1_500)] {
            assert_eq!(check_count(&too_much).unwrap_err().kind(), ErrorKind::RequestTooLarge);
        }
    }
}
