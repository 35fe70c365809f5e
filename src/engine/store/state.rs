//! The state folder `.txedit` and its sections.

mod swapping;

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use super::births;
use super::files::{read_small, replace};
use super::parts::PARTS;
use super::private::{self, Opening};
use super::view_folder::VIEWS;
use super::workspace::Workspace;
use crate::errno;
use crate::error::{Error, ErrorKind, NextStep, Outcome, Result};
use crate::fs::{FileSystem, Handle, Name, Stat};
use crate::identity::Identity;
use crate::journal::SwapMethod;
use crate::path::{STATE_FOLDER, shown};

/// A folder in the state folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Section {
    /// Transactions that are being committed.
    Transactions,
    /// Transactions that are staged over several calls.
    Open,
    /// Committed transactions, with their originals.
    History,
    /// Contents that a rollback must not delete.
    Kept,
    /// Folders that are about to be deleted.
    Trash,
}

impl Section {
    pub(crate) const ALL: [Self; 5] = [Self::Transactions, Self::Open, Self::History, Self::Kept, Self::Trash];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Transactions => "txn",
            Self::Open => "open",
            Self::History => "history",
            Self::Kept => "kept",
            Self::Trash => "trash",
        }
    }

    /// The error where this section already has a folder `goal` of the transaction's name; it names the way out.
    pub(crate) fn is_taken(self, id: &str, goal: PathBuf) -> Error {
        let id_again = || id.to_owned();
        let (way_out, steps) = match self {
            Self::Kept => (
                "look what is in it, then drop it or move it away",
                vec![NextStep::ListKept, NextStep::DropKept { id: id_again() }],
            ),
            Self::History => (
                "it was finished there, and a restored backup brought it back here; look at the files, then discard this \
                 one",
                vec![NextStep::Discard { id: id_again() }],
            ),
            Self::Trash => (
                "the first commit after it has been there for a minute deletes it; try again then, or move it away",
                Vec::new(),
            ),
            Self::Transactions | Self::Open => ("look what is in it, then move it away", Vec::new()),
        };
        let message = format!("{} is there already: {way_out}", goal.display());
        let error = Error::new(ErrorKind::RecoveryRequired, message).at(goal).of_transaction(id).with_next(steps);
        error.outcome_is(Outcome::Unchanged)
    }
}

/// An open state folder that belongs to this user alone.
#[derive(Debug, Clone)]
pub(crate) struct StateFolder {
    /// The workspace that it belongs to.
    pub workspace: Workspace,
    /// `.txedit`.
    pub folder: Handle,
    /// The metadata of `.txedit` when it was opened.
    pub stat: Stat,
    /// The content of the file `id`: the workspace's random id and the identities that were probed. It is read only
    /// before a commit, or where another user could have put the state folder in its place.
    id: String,
    /// How slots and targets change places here, as it was probed; read together with `id`.
    pub swap: SwapMethod,
    /// True if they do not here, so that files can only be overwritten.
    pub only_overwrites: bool,
    /// The identities of the state folder and of the root, for which exchanging names is probed once.
    probed: [Identity; 2],
    /// True if something in it was made just now, so that its own names are not durable yet.
    pub fresh: bool,
    /// The file system that it is on, once asked for.
    system: OnceLock<FileSystem>,
    /// True if a sync has failed on it.
    sync_failed: Arc<AtomicBool>,
}

/// The result of looking for `.txedit`.
#[derive(Debug, Clone)]
#[expect(clippy::large_enum_variant, reason = "there is one of it in a call, and it is taken apart at once")]
pub(crate) enum StateLookup {
    Nothing,
    State(StateFolder),
    /// Not to be trusted; the reason is what follows its name.
    Ignored(String),
}

impl StateLookup {
    /// The state folder; `None` where there is none, an error where it is not to be trusted.
    pub(crate) fn trusted(&self, workspace: &Workspace) -> Result<Option<&StateFolder>> {
        match self {
            Self::State(state) => Ok(Some(state)),
            Self::Nothing => Ok(None),
            Self::Ignored(why) => {
                let path = workspace.path_of(STATE_FOLDER);
                let message = format!("{} {why}", path.display());
                Err(Error::new(ErrorKind::PermissionDenied, message).at(path))
            }
        }
    }

    /// Verifies that this folder is still the one at `.txedit`, and looks for it again if not. What was found before
    /// locks were taken, or before a caller reviewed a plan, may be gone or be another user's by now.
    pub(crate) fn verify(&mut self, workspace: &Workspace) -> Result<()> {
        match self {
            Self::State(state) if state.is_in_place()? => {}
            _ => *self = StateFolder::find(workspace)?,
        }
        Ok(())
    }
}

/// The digits of the random part of an id.
const RANDOM: usize = 32;

/// The word in the file `id` where files can only be overwritten.
const ONLY_OVERWRITES: &str = "none";

/// The mode of everything in a state folder, which holds old contents of files that others may not read.
const PRIVATE: u32 = 0o700;

/// The file that tells backup and archive programs to leave out a folder: <https://bford.info/cachedir/>.
const TAG: &str = "CACHEDIR.TAG";

/// The content of the tag. Only the first line counts.
const TAG_TEXT: &str = "Signature: 8a477f597d28d172789f06886806bc55\n\
    # Old contents of the files around this folder, kept by txedit for undo. Leave it out of archives.\n";

impl StateFolder {
    /// Finds the state folder of the workspace's root.
    pub(crate) fn find(workspace: &Workspace) -> Result<StateLookup> {
        let root = &workspace.root;
        let (folder, stat) = match private::open_by(workspace, Name::new(root, STATE_FOLDER), workspace.protocol)? {
            Opening::Missing => return Ok(StateLookup::Nothing),
            Opening::Refused(refusal) => return Ok(StateLookup::Ignored(refusal.to_string())),
            Opening::Ours(folder, stat) => (folder, stat),
        };
        let root_stat = workspace.stat_handle(root)?;
        let probed = [stat.identity, root_stat.identity];
        let mut state = Self {
            workspace: workspace.clone(),
            folder,
            stat,
            id: String::new(),
            swap: SwapMethod::Exchange,
            only_overwrites: false,
            probed,
            fresh: false,
            system: OnceLock::new(),
            sync_failed: Arc::default(),
        };
        if private::is_shared(&root_stat, state.stat.user) {
            state.read_id()?;
            if let Some(why) = state.brought_here()? {
                return Ok(StateLookup::Ignored(why.to_owned()));
            }
        }
        Ok(StateLookup::State(state))
    }

    /// A warning if `.txedit` no longer leads to this folder, in which the record of `what` is.
    pub(crate) fn displaced(&self, what: &str) -> Option<String> {
        let state = self.workspace.root.path().join(STATE_FOLDER);
        let why = match self.is_in_place() {
            Ok(true) => return None,
            Ok(false) => "another program moved it, or changed its owner or mode".to_owned(),
            Err(error) => error.message().to_owned(),
        };
        Some(format!(
            "{} is no longer the folder in which {what} is recorded: {why}; until that is back, `undo`, `log` and `status` \
             know nothing of it",
            shown(&state)
        ))
    }

    /// Returns whether the name `.txedit` still leads to this folder, which still belongs to this user alone.
    fn is_in_place(&self) -> Result<bool> {
        let there = self.workspace.stat(Name::new(&self.workspace.root, STATE_FOLDER))?;
        // Its owner was this user when it was opened.
        let user = self.stat.user;
        let is_private = |there: &Stat| (self.workspace.protocol.is_private)(there.user, there.mode, user);
        Ok(there.is_some_and(|there| there.identity == self.stat.identity && is_private(&there)))
    }

    /// The reason not to use a state folder that is ours, but that another user may have put here: its transactions
    /// would change files that they are not about, and any folder could be turned into a state folder.
    fn brought_here(&self) -> Result<Option<&'static str>> {
        if self.is_probed() {
            return Ok(None);
        }
        if !self.id.is_empty() {
            let why =
                "was made for another folder; if you moved or copied it here yourself, remove the file `id` in it";
            return Ok(Some(why));
        }
        let names = self.workspace.list(&self.folder)?;
        let ours = |name: &OsString| {
            let name = name.to_string_lossy();
            name == ".gitignore"
                || name == TAG
                || name == VIEWS
                || name == PARTS
                || [".exchange-", ".id-", "..gitignore-", ".CACHEDIR.TAG-", "newest."]
                    .iter()
                    .any(|start| name.starts_with(start))
                || Section::ALL.iter().any(|section| name == section.name())
        };
        Ok((!names.iter().all(ours)).then_some("has no file `id`, and holds what txedit did not put there"))
    }

    fn read_id(&mut self) -> Result<()> {
        let id = read_small(&self.workspace, Name::new(&self.folder, "id"))?.unwrap_or_default();
        let method = match id.trim_end().rsplit_once(' ') {
            Some((id, ONLY_OVERWRITES)) => Some((id, None)),
            Some((id, word)) => SwapMethod::of_word(word).map(|method| (id, Some(method))),
            None => None,
        };
        let (id, method) = method.unwrap_or((id.trim_end(), Some(SwapMethod::Exchange)));
        id.clone_into(&mut self.id);
        self.take_method(method);
        Ok(())
    }

    /// The state folder of the root, made where none was found. On failure nothing of it is left behind.
    pub(crate) fn ensure(workspace: &Workspace, found: StateLookup) -> Result<Self> {
        let root = &workspace.root;
        match found {
            StateLookup::State(mut state) => {
                state.read_id()?;
                return if state.is_probed() { Ok(state) } else { state.complete() };
            }
            StateLookup::Ignored(why) => {
                let path = root.path().join(STATE_FOLDER);
                let message =
                    format!("{} {why}: one user for a workspace; move it away or use another --root", path.display());
                return Err(Error::new(ErrorKind::PermissionDenied, message).at(path));
            }
            StateLookup::Nothing => {}
        }
        let name = Name::new(root, STATE_FOLDER);
        match workspace.fs().make_folder(name, PRIVATE) {
            Err(e) if errno::is_taken(&e) => return Self::ensure_again(workspace),
            other => other.map_err(|e| Error::io("make the state folder", name.path(), e))?,
        }
        // It is looked up like any other: another program may have put something in its place.
        let StateLookup::State(state) = Self::find(workspace)? else { return Err(came_and_went(root)) };
        let state = Self { fresh: true, ..state };
        state.complete().inspect_err(|_| {
            // Only if it is still empty: a failed probe leaves nothing in it, and anything else is not ours.
            drop(workspace.fs().remove_folder(name));
        })
    }

    /// Another process has just made the state folder; its `id` may not be there yet.
    fn ensure_again(workspace: &Workspace) -> Result<Self> {
        match Self::find(workspace)? {
            StateLookup::State(state) => state.complete(),
            _ => Err(came_and_went(&workspace.root)),
        }
    }

    /// Returns whether exchanging names was probed in this very folder, for this very root. A copy of a workspace has
    /// the id of the original, but other identities.
    fn is_probed(&self) -> bool {
        let is_bound = |keeps_numbers| (self.workspace.protocol.is_bound)(&self.id, &self.spell_probed(keeps_numbers));
        is_bound(true) || is_bound(false)
    }

    fn spell_probed(&self, keeps_numbers: bool) -> String {
        self.probed.map(|identity| spell(&identity.to_record(keeps_numbers))).join(" ")
    }

    /// Probes what a commit needs, then writes what belongs into a state folder.
    fn complete(mut self) -> Result<Self> {
        self.probe_swap()?;
        if self.leaves_proof()? {
            births::make_folder(&self.workspace)?;
        }
        self.fresh = true;
        // Before the id, which says that everything is there. An empty file was left by a process that was killed; any
        // other is as its owner wants it.
        let ignored = read_small(&self.workspace, Name::new(&self.folder, ".gitignore"));
        let is_whole = |text: &String| !text.trim_matches('\0').is_empty();
        if matches!(&ignored, Ok(found) if !found.as_ref().is_some_and(is_whole)) {
            replace(&self.workspace, &self.folder, ".gitignore", b"*\n")?;
        }
        for section in Section::ALL {
            make_folder_once(&self.workspace, Name::new(&self.folder, section.name()))?;
        }
        let random = match self.id.split(' ').next().unwrap_or_default() {
            // It is tried out again when its number has changed, and the proofs are found by this.
            known if self.only_overwrites && is_random(known) => known.to_owned(),
            _ => super::id::random_hex(RANDOM),
        };
        self.id = format!("{random} {}", self.spell_probed(self.file_system()?.keeps_numbers));
        let word = if self.only_overwrites { Some(ONLY_OVERWRITES) } else { self.swap.word() };
        let method = word.map(|word| format!(" {word}")).unwrap_or_default();
        let text = format!("{}{method}\n", self.id);
        // A process that finds the id takes the folder for durable. So its name must be durable first, since the
        // process that made it may be killed at once.
        self.workspace.sync(&self.workspace.root)?;
        replace(&self.workspace, &self.folder, "id", text.as_bytes())?;
        Ok(self)
    }

    /// Tags the folder after its first commit, for programs that leave tagged folders out. Only that commit gets
    /// `true`.
    pub(crate) fn tag(&self) -> Result<bool> {
        let name = Name::new(&self.folder, TAG);
        if self.workspace.stat(name)?.is_some() {
            return Ok(false);
        }
        replace(&self.workspace, &self.folder, TAG, TAG_TEXT.as_bytes()).map(|()| true)
    }

    /// The file system of the state folder.
    pub(crate) fn file_system(&self) -> Result<&FileSystem> {
        if let Some(system) = self.system.get() {
            return Ok(system);
        }
        let system = self.workspace.file_system(&self.folder)?;
        Ok(self.system.get_or_init(|| system))
    }

    /// Remembers a failed sync: what it was about must not be synced again, or be taken for durable.
    pub(crate) fn noting<T, E>(&self, synced: std::result::Result<T, E>) -> std::result::Result<T, E> {
        synced.inspect_err(|_| self.sync_failed.store(true, Ordering::Relaxed))
    }

    /// Returns whether no sync has failed so far.
    pub(crate) fn may_sync(&self) -> bool {
        !self.sync_failed.load(Ordering::Relaxed)
    }

    /// The first word of the id, without the identities that were probed.
    pub(crate) fn workspace_id(&self) -> &str {
        assert!(!self.id.is_empty(), "the id is read before something is committed");
        self.id.split(' ').next().unwrap_or_default()
    }

    /// Opens a section; `None` where it is missing or not ours.
    pub(crate) fn section(&self, section: Section) -> Result<Option<Handle>> {
        match private::open(&self.workspace, Name::new(&self.folder, section.name()))? {
            Opening::Ours(folder, _) => Ok(Some(folder)),
            Opening::Missing | Opening::Refused(_) => Ok(None),
        }
    }

    /// Opens a section that must not be passed over: one that is not ours, or cannot be opened, is an error.
    pub(crate) fn whole_section(&self, section: Section) -> Result<Option<Handle>> {
        match private::open(&self.workspace, Name::new(&self.folder, section.name()))? {
            Opening::Ours(folder, _) => Ok(Some(folder)),
            Opening::Missing => Ok(None),
            Opening::Refused(refusal) => Err(private::to_be_mended(&self.folder.path().join(section.name()), refusal)),
        }
    }

    /// Moves a transaction's folder from one section to another.
    pub(crate) fn move_transaction(&self, id: &str, from: Section, to: Section) -> Result<()> {
        assert_ne!(from, to, "a transaction is moved to another section");
        let (from, into) = (self.need_section(from)?, self.need_section(to)?);
        let (name, goal) = (Name::new(&from, id), Name::new(&into, id));
        self.workspace.move_own(name, goal).map_err(|e| {
            if errno::is_taken(&e) { to.is_taken(id, goal.path()) } else { Error::io("rename", name.path(), e) }
        })
    }

    /// Opens a section, and makes it if it was removed.
    pub(crate) fn need_section(&self, section: Section) -> Result<Handle> {
        if let Some(handle) = self.section(section)? {
            return Ok(handle);
        }
        make_folder_once(&self.workspace, Name::new(&self.folder, section.name()))?;
        // Durable before anything is moved into it: a power loss that takes its name would take the originals with it.
        self.workspace.sync(&self.folder)?;
        self.whole_section(section)?.ok_or_else(|| came_and_went(&self.workspace.root))
    }

    /// Describes each section, and each folder with the name of a transaction, that is not ours and is left alone. For
    /// a section it also says what to do, since nothing can be moved into it.
    pub(crate) fn strangers(&self) -> Result<Vec<String>> {
        let mut strangers = Vec::new();
        for section in Section::ALL {
            let name = Name::new(&self.folder, section.name());
            let folder = match private::open(&self.workspace, name)? {
                Opening::Ours(folder, _) => folder,
                Opening::Missing => continue,
                Opening::Refused(refusal) => {
                    strangers
                        .push(format!("it is left alone: {}", private::to_be_mended(&name.path(), refusal).message()));
                    continue;
                }
            };
            // Each interrupted transaction is listed by itself.
            let ids = if section == Section::Transactions { Vec::new() } else { list_ids(&self.workspace, &folder)? };
            for id in ids {
                let name = Name::new(&folder, &id);
                if let Opening::Refused(refusal) = private::open(&self.workspace, name)? {
                    strangers.push(format!("{} {refusal}; it is left alone", name.path().display()));
                }
            }
        }
        Ok(strangers)
    }
}

/// Returns whether a word is the random part of an id.
fn is_random(word: &str) -> bool {
    word.len() == RANDOM && word.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

fn spell(identity: &Identity) -> String {
    let born = identity.born.map_or_else(|| "-".to_owned(), |t| t.to_string());
    format!("{} {born}", identity.inode)
}

/// Makes a folder unless it is there.
pub(super) fn make_folder_once(workspace: &Workspace, name: Name<'_>) -> Result<()> {
    match workspace.fs().make_folder(name, PRIVATE) {
        Err(e) if errno::is_taken(&e) => Ok(()),
        other => other.map_err(|e| Error::io("make", name.path(), e)),
    }
}

/// The names in a folder that have the form of an id, oldest first.
pub(crate) fn list_ids(workspace: &Workspace, folder: &Handle) -> Result<Vec<String>> {
    let names = workspace.list(folder)?;
    let mut ids: Vec<String> = names
        .into_iter()
        .filter(|name| crate::journal::is_id(Path::new(name)))
        .filter_map(|name| name.into_string().ok())
        .collect();
    ids.sort_unstable();
    Ok(ids)
}

fn came_and_went(root: &Handle) -> Error {
    let path = root.path().join(STATE_FOLDER);
    Error::new(ErrorKind::ConcurrentModification, "the state folder appeared and vanished; try again").at(path)
}

/// Opens the folder of a transaction in a section; `None` where it is missing or not ours.
pub(crate) fn open_transaction(
    workspace: &Workspace,
    section: &Handle,
    id: &(impl AsRef<OsStr> + ?Sized),
) -> Result<Option<Handle>> {
    match private::open(workspace, Name::new(section, id))? {
        Opening::Ours(folder, _) => Ok(Some(folder)),
        Opening::Missing | Opening::Refused(_) => Ok(None),
    }
}
