//! The state folder of a workspace.

mod sections;
mod swapping;

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

use super::births;
use super::files::{make_unsynced, read_small, replace};
use super::home::{self, Home};
use super::lookup;
pub(crate) use super::lookup::StateLookup;
use super::private::{self, Opening};
use super::section;
pub(crate) use super::section::Section;
use super::workspace::Workspace;
use crate::digest::Digest;
use crate::errno::{self, Errno};
use crate::error::{Error, ErrorKind, Result};
use crate::fs::{FileKind, FileSystem, Handle, Name, Stat};
use crate::identity::Identity;
use crate::journal::SwapMethod;
use crate::path::{STATE_FOLDER, shown};

/// An open state folder that belongs to this user alone.
#[derive(Debug, Clone)]
pub(crate) struct StateFolder {
    /// The workspace that it belongs to.
    pub workspace: Workspace,
    /// Its place.
    pub home: Home,
    /// The folder itself.
    pub folder: Handle,
    /// Its metadata when it was opened.
    pub stat: Stat,
    /// The content of the file `id`: the workspace's random id and the identities that were probed. It is read only
    /// before a commit, or where another user could have put the state folder in its place.
    id: String,
    /// The metadata of that file when it was read, where it was asked for.
    id_read: Option<Stat>,
    /// True if it was found by an earlier call of this process.
    is_known: bool,
    /// How slots and targets change places here, as it was probed; read together with `id`.
    pub swap: SwapMethod,
    /// True if they do not here, so that files can only be overwritten.
    pub only_overwrites: bool,
    /// The identities of the state folder and of the root, for which exchanging names is probed once.
    probed: [Identity; 2],
    /// True if something in it was made just now, so that its own names are not durable yet.
    pub fresh: bool,
    /// The sections that were opened to move something into them, or out of them.
    sections: Arc<Mutex<HashMap<Section, (Handle, Identity)>>>,
    /// The file system that it is on, once asked for.
    system: OnceLock<FileSystem>,
    /// True if a sync has failed on it.
    sync_failed: Arc<AtomicBool>,
}

/// The name of the file with the id.
pub(super) const ID: &str = "id";

/// The digits of the random part of an id.
const RANDOM: usize = 32;

/// The word in the file `id` where files can only be overwritten.
const ONLY_OVERWRITES: &str = "none";

/// The mode of everything in a state folder, which holds old contents of files that others may not read.
const PRIVATE: u32 = 0o700;

/// The file that tells backup and archive programs to leave out a folder: <https://bford.info/cachedir/>.
pub(super) const TAG: &str = "CACHEDIR.TAG";

/// The content of the tag. Only the first line counts.
const TAG_TEXT: &str = "Signature: 8a477f597d28d172789f06886806bc55\n\
    # Old contents of the files around this folder, kept by txedit for undo. Leave it out of archives.\n";

impl StateFolder {
    /// Finds the state folder at a place.
    pub(crate) fn find_at(workspace: &Workspace, home: Home) -> Result<StateLookup> {
        let ignored = |why: String| Ok(StateLookup::Ignored(home.path(), why));
        let (folder, stat) = match private::open_by(workspace, home.name(), workspace.protocol)? {
            Opening::Missing => return Ok(StateLookup::Nothing),
            Opening::Refused(refusal) => return ignored(refusal.to_string()),
            Opening::Ours(folder, stat) => (folder, stat),
        };
        home.check_mount(workspace, &stat)?;
        let root_stat = workspace.stat_handle(&workspace.root)?;
        let is_shared = |folder: &Stat| private::is_shared(folder, stat.user);
        let may_be_brought = home.is_named()
            || is_shared(&root_stat)
            || home.is_in_git() && is_shared(&workspace.stat_handle(&home.folder)?);
        let mut state = Self {
            workspace: workspace.clone(),
            probed: [stat.identity, root_stat.identity],
            home,
            folder,
            stat,
            id: String::new(),
            id_read: None,
            is_known: false,
            swap: SwapMethod::Exchange,
            only_overwrites: false,
            fresh: false,
            sections: Arc::default(),
            system: OnceLock::new(),
            sync_failed: Arc::default(),
        };
        if may_be_brought || state.home.needs_id() {
            state.read_id()?;
        }
        if state.home.needs_id() && !state.is_certainly_probed() {
            return Ok(StateLookup::Nothing);
        }
        match may_be_brought.then(|| state.brought_here()).transpose()?.flatten() {
            Some(why) => Ok(StateLookup::Ignored(state.home.path(), why.to_owned())),
            None => Ok(StateLookup::State(state)),
        }
    }

    /// A warning if its name no longer leads to this folder, in which the record of `what` is.
    pub(crate) fn displaced(&self, what: &str) -> Option<String> {
        let why = match self.why_not_found() {
            Ok(None) => return None,
            Ok(Some(why)) => why.to_owned(),
            Err(error) => error.message().to_owned(),
        };
        Some(format!(
            "{} is no longer the folder in which {what} is recorded: {why}; until that is undone, `undo`, `log` and `status` \
             know nothing of it",
            shown(&self.home.path())
        ))
    }

    /// The reason for which a search that begins with the path of the root does not come to this folder, if it does not.
    fn why_not_found(&self) -> Result<Option<&'static str>> {
        if !self.workspace.is_at_its_root()? {
            return Ok(Some("the root was moved, replaced, or something was mounted over it"));
        }
        if let Some(why) = self.home.why_not_reached(&self.workspace)? {
            return Ok(Some(why));
        }
        Ok((!self.is_in_place()?).then_some("another program moved it, or changed its owner or mode"))
    }

    /// Returns whether its name still leads to this folder, which still belongs to this user alone.
    pub(crate) fn is_in_place(&self) -> Result<bool> {
        let there = self.workspace.stat(self.home.name())?;
        Ok(there.is_some_and(|there| there.is_of_same(&self.stat) && self.is_private(&there)))
    }

    fn is_private(&self, there: &Stat) -> bool {
        // Its owner was this user when it was opened.
        (self.workspace.protocol.is_private)(there.user, there.mode, self.stat.user)
    }

    /// This folder for later calls: whatever is fresh or has failed was the matter of this one.
    pub(super) fn as_known(&self) -> Self {
        Self { is_known: true, fresh: false, sync_failed: Arc::default(), ..self.clone() }
    }

    /// Returns whether a search in the root would find this folder again, with the `id` that was read.
    pub(super) fn is_found_again(&self) -> Result<bool> {
        let has_id = || Ok::<_, Error>(self.id_read.is_some() && self.workspace.stat(self.id_name())? == self.id_read);
        Ok(self.home.is_found_again(&self.workspace)? && self.is_in_place()? && has_id()?)
    }

    fn id_name(&self) -> Name<'_> {
        Name::new(&self.folder, ID)
    }

    /// Returns whether this process may write in it, without writing: a sandbox may forbid what the mode allows.
    pub(crate) fn is_writable(&self) -> Result<bool> {
        match self.workspace.fs().open_to_write(Name::new(&self.folder, ID)) {
            Err(e) if is_denied(&e) => Ok(false),
            // It was not completed yet.
            Err(e) if errno::is_missing(&e) => self.workspace.may_write(self.home.name()),
            // Any other failure is told by the command that writes.
            Ok(_) | Err(_) => Ok(true),
        }
    }

    /// The number of committed transactions.
    pub(crate) fn committed(&self) -> Result<usize> {
        Ok(self.ids(Section::History)?.len())
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
            section::names().any(|known| name == known)
                || [".exchange-", ".id-", "..gitignore-", ".CACHEDIR.TAG-", "newest."]
                    .iter()
                    .any(|start| name.starts_with(start))
        };
        Ok((!names.iter().all(ours)).then_some("has no file `id`, and holds what txedit did not put there"))
    }

    fn read_id(&mut self) -> Result<()> {
        if self.is_known {
            return Ok(());
        }
        // Before it is read: one that is replaced meanwhile is read again the next time.
        self.id_read = self.workspace.stat(self.id_name())?;
        let id = self.id_by_now()?;
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

    /// The state folder, made at the best place where none was found. On failure nothing of it is left behind.
    pub(crate) fn ensure(workspace: &Workspace, found: StateLookup) -> Result<Self> {
        match found {
            StateLookup::State(mut state) => {
                state.read_id()?;
                return if state.is_probed() { Ok(state) } else { state.complete() };
            }
            StateLookup::Ignored(path, why) => {
                let message =
                    format!("{} {why}: one user for a workspace; move it away or use another --root", path.display());
                return Err(Error::new(ErrorKind::PermissionDenied, message).at(path));
            }
            StateLookup::Nothing => {}
        }
        let mut homes = home::to_make(workspace)?.into_iter().peekable();
        while let Some(home) = homes.next() {
            let is_last = homes.peek().is_none();
            match workspace.fs().make_folder(home.name(), PRIVATE) {
                // Another process has just made it, and its `id` may not be there yet; or it cannot be written here.
                Err(e) if errno::is_taken(&e) => match Self::find_at(workspace, home)? {
                    StateLookup::State(state) if is_last || lookup::is_usable(workspace, &state)? => {
                        return state.complete();
                    }
                    _ => {}
                },
                Err(e) if is_denied(&e) && !is_last => {}
                Err(e) => return Err(Error::io("make the state folder", home.path(), e)),
                Ok(()) => return Self::complete_new(workspace, &home),
            }
        }
        Err(came_and_went(workspace.path_of(STATE_FOLDER)))
    }

    /// Completes a folder that was just made.
    fn complete_new(workspace: &Workspace, home: &Home) -> Result<Self> {
        // It is looked up like any other: another program may have put something in its place.
        let completed = Self::find_at(workspace, home.clone()).and_then(|found| match found {
            StateLookup::State(state) => Self { fresh: true, ..state }.complete(),
            StateLookup::Nothing | StateLookup::Ignored(..) => Err(came_and_went(home.path())),
        });
        completed.inspect_err(|_| {
            // Only if it is still empty: a failed probe leaves nothing in it, and anything else is not ours.
            drop(workspace.fs().remove_folder(home.name()));
        })
    }

    /// Returns whether exchanging names was probed in this very folder, for this very root. A copy of a workspace has
    /// the id of the original, but other identities.
    fn is_probed(&self) -> bool {
        let is_bound = |keeps_numbers| (self.workspace.protocol.is_bound)(&self.id, &self.spell_probed(keeps_numbers));
        is_bound(true) || is_bound(false)
    }

    /// The content of its file `id`; empty where there is none.
    fn id_by_now(&self) -> Result<String> {
        Ok(read_small(&self.workspace, Name::new(&self.folder, ID))?.unwrap_or_default())
    }

    /// Returns whether its file `id` begins with this word, by which a journal names it.
    pub(crate) fn has_word(&self, word: &str) -> Result<bool> {
        Ok(self.id_by_now()?.split_whitespace().next() == Some(word))
    }

    /// Finds out whose journals it may have: says of the workspace in a header whether it is this one. If somebody moved the
    /// folder here from another root, none is; without an `id` any is. Of the root its number alone counts: an overlay gives
    /// it another birth time when it copies it.
    pub(crate) fn own_journals(&self) -> Result<impl Fn(&str) -> bool + use<>> {
        let id = self.id_by_now()?;
        let words: Vec<&str> = id.split_whitespace().collect();
        let mut own = None;
        if let &[workspace, _, _, number, ..] = &words[..] {
            let [_, root] = &self.probed;
            let has_number =
                number != "0" && words.last() != Some(&ONLY_OVERWRITES) && self.file_system()?.keeps_numbers;
            own = Some((workspace.to_owned(), has_number && number != root.inode.to_string()));
        }
        Ok(move |of: &str| own.as_ref().is_none_or(|(workspace, is_moved)| !is_moved && workspace == of))
    }

    /// The first word of its `id`, by which journals name it, unless it may have been moved here from another root.
    fn known_word(&self) -> Option<&str> {
        let word = self.id.split(' ').next().filter(|word| is_random(word))?;
        // Where files can only be overwritten, numbers change at every mount, and the proofs are found by this word.
        (self.only_overwrites || (self.workspace.protocol.was_copied_up)(&self.id, self.probed)).then_some(word)
    }

    /// [`is_probed`](Self::is_probed) where no other folder can have these identities.
    fn is_certainly_probed(&self) -> bool {
        self.probed.iter().all(|identity| identity.born.is_some()) && self.is_probed()
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
        let random = self.known_word().map_or_else(|| super::id::random_hex(RANDOM), str::to_owned);
        // By what was made in it, an overlay has copied it from a lower layer, with the root, and given both other birth times.
        self.stat = self.workspace.stat_handle(&self.folder)?;
        self.probed = [self.stat.identity, self.workspace.stat_handle(&self.workspace.root)?.identity];
        self.id = format!("{random} {}", self.spell_probed(self.file_system()?.keeps_numbers));
        let word = if self.only_overwrites { Some(ONLY_OVERWRITES) } else { self.swap.word() };
        let method = word.map(|word| format!(" {word}")).unwrap_or_default();
        let text = format!("{}{method}\n", self.id);
        // A process that finds the id takes the folder for durable. So its name must be durable first, since the
        // process that made it may be killed at once.
        self.home.sync(&self.workspace)?;
        replace(&self.workspace, &self.folder, ID, text.as_bytes())?;
        Ok(self)
    }

    /// Tags the folder after its first commit, for programs that leave tagged folders out. Only that commit gets
    /// `true`. A power cut may cost the tag, and then the next commit tags it.
    pub(crate) fn tag(&self) -> Result<bool> {
        let name = Name::new(&self.folder, TAG);
        let is_cut = match self.workspace.stat(name)? {
            Some(stat) if stat.kind == FileKind::File && stat.size == 0 => true,
            Some(_) => return Ok(false),
            None => false,
        };
        if is_cut {
            self.workspace.fs().unlink(name).map_err(|e| Error::io("delete", name.path(), e))?;
        }
        make_unsynced(&self.workspace, &self.folder, TAG, TAG_TEXT.as_bytes()).map(|()| !is_cut)
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

    /// What parts on other file systems name as theirs. The word alone is not enough: two containers of one image have the same.
    pub(crate) fn owner(&self) -> String {
        assert!(!self.id.is_empty(), "the id is read before something is committed");
        Digest::of(self.id.as_bytes()).to_hex()
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

fn came_and_went(path: impl AsRef<Path>) -> Error {
    Error::new(ErrorKind::ConcurrentModification, "the state folder appeared and vanished; try again").at(path.as_ref())
}

/// Returns whether nothing can be written in a folder by this process.
fn is_denied(error: &std::io::Error) -> bool {
    matches!(errno::of(error), Some(Errno::ACCESS | Errno::PERM | Errno::ROFS))
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
