//! The parts of a transaction on other file systems than that of its journal.
//!
//! A rename does not leave its file system. So each has a state folder of its own, in its uppermost folder in the workspace, and
//! there, in `parts/<id>/`, the slots of the entries whose targets are on it. Everything else of the transaction, its journal
//! above all, is in the state folder of the workspace: one rename there decides for all of them. A part stays where it is
//! until what is in it is deleted.
//!
//! Architecture invariant: nothing here decides what is deleted; that is verified by the journal.

use super::barrier::sync_all;
use super::delete_tree;
use super::files::{read_file, write_new};
use super::lookup::{self, StateLookup};
use super::private::{self, Opening};
use super::state::{Section, StateFolder, list_ids, make_folder_once, open_transaction};
use super::sweep;
use super::workspace::Workspace;
use crate::error::{Error, ErrorKind, Result};
use crate::fs::{Handle, Name, Stat};
use crate::journal::{Header, RecordedPart, nearest};
use crate::limits;
use crate::path::RelPath;

/// The folder in a state folder for the parts of transactions of workspaces above it.
pub(crate) const PARTS: &str = "parts";

/// The file in a part that names the state folder of its transaction.
pub(crate) const OWNER: &str = "workspace";

/// The file in a part that was written when everything was staged: its time is by the clock of that file system.
pub(crate) const SEALED: &str = "sealed";

/// What is in a part besides slots.
pub(crate) const OWN_NAMES: [&str; 2] = [OWNER, SEALED];

/// A file system of a transaction besides that of its journal: where it is in the workspace, and the state folder there.
#[derive(Debug, Clone)]
pub(crate) struct PartPlace {
    pub path: RelPath,
    pub state: StateFolder,
}

/// The folder with the slots of a transaction on another file system.
#[derive(Debug, Clone)]
pub(crate) struct PartFolder {
    pub place: PartPlace,
    section: Handle,
    pub folder: Handle,
    stat: Stat,
}

impl PartFolder {
    /// Makes the folder for a transaction of this owner.
    pub(crate) fn make(place: &PartPlace, id: &str, owner: &str) -> Result<Self> {
        let (state, workspace) = (&place.state, &place.state.workspace);
        let section = section(state)?;
        let name = Name::new(&section, id);
        workspace.make_folder(name, 0o700)?;
        let folder = open_transaction(workspace, &section, id)?.ok_or_else(|| missing(&place.path, id, "vanished"))?;
        let stat = workspace.stat_handle(&folder)?;
        write_new(workspace, Name::new(&folder, OWNER), owner.as_bytes())?;
        Ok(Self { place: place.clone(), section, folder, stat })
    }

    /// How the journal records it.
    pub(crate) fn to_record(&self) -> Result<RecordedPart> {
        let PartPlace { path, state } = &self.place;
        let folder = state.recorded(self.stat.identity)?;
        Ok(RecordedPart { path: path.clone(), folder, state: state.workspace_id().to_owned() })
    }

    /// Says that everything is staged.
    pub(crate) fn seal(&self) -> Result<()> {
        write_new(&self.place.state.workspace, Name::new(&self.folder, SEALED), b"").map(drop)
    }

    /// Makes the name of the folder durable, and the way to it. It must be before a journal names it: one that is missing then
    /// is on a file system that is not mounted.
    pub(crate) fn sync_names(&self) -> Result<()> {
        let state = &self.place.state;
        let sealed = state.workspace.open_file(Name::new(&self.folder, SEALED))?;
        sync_all(&state.workspace, [&sealed, &self.folder, &self.section, &state.folder].into_iter())?;
        state.home.sync(&state.workspace)
    }

    /// Removes the folder, which must be empty but for what it has of its own, durably: what had pointed to it is deleted
    /// next. What cannot be removed stays for the next time.
    pub(crate) fn remove(&self, id: &str) -> Result<()> {
        let workspace = &self.place.state.workspace;
        for own in OWN_NAMES {
            workspace.fs().unlink(Name::new(&self.folder, own)).ok();
        }
        workspace.remove_folder(Name::new(&self.section, id))?;
        workspace.sync(&self.section)
    }
}

/// The folders with the slots of a transaction: its own, and one for each other file system.
#[derive(Debug, Clone)]
pub(crate) struct SlotFolders {
    own: Handle,
    pub parts: Vec<PartFolder>,
}

impl SlotFolders {
    /// Those of a transaction whose parts are open.
    pub(crate) const fn new(own: Handle, parts: Vec<PartFolder>) -> Self {
        Self { own, parts }
    }

    /// Opens those that a journal names. Fails if one of them is not there (`CROSS_DEVICE`), as where its file system is not
    /// mounted.
    pub(crate) fn open(workspace: &Workspace, own: &Handle, header: &Header) -> Result<Self> {
        let removed = |part: &RecordedPart| {
            let message = format!(
                "the contents of {} on the file system at {} were removed there: it can be neither finished nor undone",
                header.id, part.path
            );
            Error::new(ErrorKind::CrossDevice, message).at(part.path.as_path())
        };
        let open = |part: &RecordedPart| open_part(workspace, part, &header.id)?.ok_or_else(|| removed(part));
        Ok(Self { own: own.clone(), parts: header.parts.iter().map(open).collect::<Result<_>>()? })
    }

    /// The same for a transaction that is being deleted, or was set aside: a part that was removed counts as empty.
    pub(crate) fn left(workspace: &Workspace, own: &Handle, header: &Header) -> Result<Self> {
        let open = |part: &RecordedPart| open_part(workspace, part, &header.id).transpose();
        Ok(Self { own: own.clone(), parts: header.parts.iter().filter_map(open).collect::<Result<_>>()? })
    }

    /// The transaction's own folder.
    pub(crate) const fn own(&self) -> &Handle {
        &self.own
    }

    /// The folder with the slot of an entry of this path.
    pub(crate) fn of(&self, path: &RelPath) -> &Handle {
        self.part_of(path).map_or(&self.own, |part| &self.parts[part].folder)
    }

    /// The part with the slot of an entry of this path.
    pub(crate) fn part_of(&self, path: &RelPath) -> Option<usize> {
        nearest(self.parts.iter().map(|part| part.place.path.as_path()), path.as_path())
    }

    /// All of them, the transaction's own first.
    pub(crate) fn all(&self) -> impl Iterator<Item = &Handle> {
        std::iter::once(&self.own).chain(self.parts.iter().map(|part| &part.folder))
    }
}

/// Returns whether a state folder is there only for the parts of workspaces above its folder: nothing else is in it. `counts`
/// says how many names are in a folder of it, if that is there.
#[cfg(feature = "cli")]
pub(crate) fn is_of_parts_alone(counts: impl Fn(&str) -> Option<usize>) -> bool {
    counts(PARTS).is_some() && Section::ALL.iter().all(|section| counts(section.name()).unwrap_or(0) == 0)
}

/// Opens, and makes where it is missing, the folder for parts in a state folder. It is durable once the names of a part are.
fn section(state: &StateFolder) -> Result<Handle> {
    let name = Name::new(&state.folder, PARTS);
    make_folder_once(&state.workspace, name)?;
    match private::open(&state.workspace, name)? {
        Opening::Ours(folder, _) => Ok(folder),
        Opening::Missing => Err(Error::io("open", name.path(), crate::errno::Errno::NOENT.into())),
        Opening::Refused(refusal) => Err(private::to_be_mended(&name.path(), refusal)),
    }
}

/// The part of a transaction; `None` if its file system is there, and it was removed.
fn open_part(workspace: &Workspace, part: &RecordedPart, id: &str) -> Result<Option<PartFolder>> {
    let gone = |why: &str| missing(&part.path, id, why);
    let root = workspace.find_folder(&workspace.root, part.path.as_path())?.ok_or_else(|| gone("is not there"))?;
    let mut was_removed = false;
    // Each of them: another one may be in use by now.
    for state in lookup::all(&workspace.at(root))?.into_iter().filter_map(StateLookup::found) {
        let Opening::Ours(section, _) = private::open(&state.workspace, Name::new(&state.folder, PARTS))? else {
            continue;
        };
        let Some(folder) = open_transaction(&state.workspace, &section, id)? else {
            // Another file system that is mounted there says nothing about this one.
            was_removed |= state.has_word(&part.state)?;
            continue;
        };
        let stat = state.workspace.stat_handle(&folder)?;
        if !part.folder.is_record_of(&stat.identity) {
            return Err(gone("has a copy of it"));
        }
        let place = PartPlace { path: part.path.clone(), state };
        return Ok(Some(PartFolder { place, section, folder, stat }));
    }
    if was_removed { Ok(None) } else { Err(gone("has none of it, or not for this user alone")) }
}

/// Returns whether an error is that of a part which is not there.
pub(crate) fn is_away(error: &Error) -> bool {
    error.kind() == ErrorKind::CrossDevice
}

/// The error where the part of a transaction is not there.
fn missing(path: &RelPath, id: &str, why: &str) -> Error {
    let message = format!(
        "{id} has contents on another file system, which was mounted at {path}, and what is there now {why}: mount it \
         again, then try again"
    );
    Error::new(ErrorKind::CrossDevice, message).at(path.as_path())
}

/// Removes the parts of transactions of a workspace that it knows nothing of any more: they were being staged when their
/// process, or the machine, stopped. What may hold an original stays.
pub(crate) fn sweep_orphans(root: &StateFolder, place: &PartPlace) -> Result<()> {
    let workspace = &place.state.workspace;
    let section = section(&place.state)?;
    let ids = list_ids(workspace, &section)?;
    if ids.is_empty() {
        return Ok(());
    }
    let mut known = Vec::new();
    // In the order in which a folder goes from one to the other: none is missed while another process moves it.
    for section in [Section::Transactions, Section::History, Section::Trash, Section::Kept] {
        if let Some(folder) = root.whole_section(section)? {
            known.extend(list_ids(&root.workspace, &folder)?);
        }
    }
    for id in ids.iter().filter(|id| !known.contains(id)) {
        let Some(folder) = open_transaction(workspace, &section, id)? else { continue };
        let owner = read_file(workspace, Name::new(&folder, OWNER), b"", limits::OWNER_BYTES)?;
        let stat = workspace.stat_handle(&folder)?;
        let is_staged = stat.identity.born.is_some() && !sweep::holds_originals(workspace, &folder, &stat)?;
        if owner.as_deref() == Some(root.owner().as_bytes()) && is_staged {
            delete_tree::names_in(workspace, &folder);
            workspace.fs().remove_folder(Name::new(&section, id)).ok();
        }
    }
    Ok(())
}
