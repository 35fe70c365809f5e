//! The file systems of a transaction: a rename does not leave one, so each has the slots of its own targets.

use std::collections::BTreeSet;
use std::path::Path;

use super::preflight::check_durable;
use super::prepared::Prepared;
use crate::engine::Engine;
use crate::engine::store::lookup;
use crate::engine::store::parts::{PartPlace, sweep_orphans};
use crate::engine::store::state::{StateFolder, StateLookup};
use crate::engine::store::workspace::Workspace;
use crate::error::{Error, ErrorKind, Result};
use crate::fs::{Handle, Stat};
use crate::journal::{Swap, SwapMethod, nearest};
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
        let root = mount_of(&self.workspace.stat_handle(&self.workspace.root)?);
        if let StateLookup::State(state) = found
            && mount_of(&state.stat) != root
        {
            let message = format!(
                "the state folder of {} is on another file system or mount than the files around it: unmount it, or use \
                 --root there",
                self.root().display()
            );
            return Err(Error::new(ErrorKind::CrossDevice, message).at(self.root()));
        }
        let mut tops = BTreeSet::new();
        for (path, (stat, _)) in prepared.parents.iter().filter(|(_, (stat, _))| mount_of(stat) != root) {
            tops.insert(top_of(&self.workspace, path, mount_of(stat))?);
        }
        let mut tops = tops.into_iter().map(in_workspace).collect::<Result<Vec<_>>>()?;
        tops.sort_by(|one, next| one.as_path().as_os_str().cmp(next.as_path().as_os_str()));
        self.check_nearest(prepared, root, &tops)?;
        check_count(&tops)?;
        Ok(tops)
    }

    /// Verifies that the path of each folder tells on which file system it is, as a recovery will read it.
    fn check_nearest(&self, prepared: &Prepared, root: Mount, tops: &[RelPath]) -> Result<()> {
        let mut mounts = Vec::with_capacity(tops.len());
        for top in tops {
            let stat = |folder: &Handle| self.workspace.stat_handle(folder).map(|stat| mount_of(&stat));
            let folder = self.workspace.open_beneath(&self.workspace.root, top.as_path())?;
            mounts.push(stat(&folder)?);
        }
        for (path, (stat, folder)) in &prepared.parents {
            let at = nearest(tops.iter().map(RelPath::as_path), &path.join("name"));
            if at.map_or(root, |at| mounts[at]) != mount_of(stat) {
                let message = format!(
                    "{} is on a file system that is mounted inside another one of the transaction, and cannot be told from \
                     it by its path: change it in a transaction of its own",
                    folder.path().display()
                );
                return Err(Error::new(ErrorKind::CrossDevice, message).at(folder.path()));
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
        if places.iter().any(|place| place.state.swap != state.swap) {
            state = state.swapping(Swap::Aside)?;
            for place in &mut places {
                place.state = place.state.clone().swapping(Swap::Aside)?;
            }
        }
        if let Some(link) = places.iter().find(|place| place.state.swap != state.swap) {
            let links = |state: StateFolder| state.linking();
            let link = link.path.clone();
            state = links(state).map_err(|error| error.reworded(|message| format!("{message}, as {link} needs it")))?;
            for place in &mut places {
                place.state = place.state.clone().linking()?;
            }
        }
        for place in &places {
            if is_durable {
                check_durable(&place.state)?;
            }
            sweep_orphans(&state, place)?;
        }
        debug_assert!(places.iter().all(|place| place.state.swap == state.swap), "names change places in one way");
        debug_assert!(
            places.is_empty() || state.swap != SwapMethod::Exchange || swap != Swap::Aside,
            "as it was asked"
        );
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

fn in_workspace(top: &Path) -> Result<RelPath> {
    RelPath::new(top).map_err(|_| {
        let message = "the files of the workspace are on another file system than its root: use --root there";
        Error::new(ErrorKind::CrossDevice, message).at(top)
    })
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
