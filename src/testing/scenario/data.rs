//! A scenario as data. Its text form is in `parse`.

use std::collections::BTreeMap;

use crate::check::Check;
use crate::fs::sim::Policy;
use crate::journal::SwapMethod;
use crate::request::edit::{Anchor, Count, Edit, Matching};
use crate::request::{Change, FileRequest, IfExists, Mode, RenameTo, Request};

/// A short script: files, and the steps.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Scenario {
    /// The properties of the machine and its file system.
    pub machine: Profile,
    /// The initial files.
    pub items: Vec<Item>,
    /// The steps, in order.
    pub steps: Vec<ScenarioStep>,
}

/// Unusual properties of the machine and its file system.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[expect(clippy::struct_excessive_bools, reason = "switches that are independent of each other")]
pub struct Profile {
    /// Commits survive kills only.
    pub process: bool,
    /// Syncing few files one by one is quicker than syncing all.
    pub sync_each: bool,
    /// Metadata becomes durable in the order in which it was changed.
    pub orders: bool,
    /// Inodes have no birth time.
    pub no_births: bool,
    /// Inode numbers are reused.
    pub reuse: bool,
    /// There is no state folder yet.
    pub cold: bool,
    /// A sync of the whole file system does nothing, as with most FUSE servers.
    pub fuse: bool,
    /// History holds `SMALL_HISTORY` bytes of originals at most.
    pub small_history: bool,
    /// The first attempt counts as one after several that another program disturbed.
    pub contended: bool,
    /// The file system is an overlay, and all that is there at first is in its lower layer.
    pub lower: bool,
    /// One process carries out act after act, as a server does, as long as it lives.
    pub warm: bool,
    /// The links of a folder do not count the folders in it.
    pub uncounted: bool,
    /// Two files are too many to be synced one by one.
    pub few: bool,
    /// The way in which names change places on the file system, which can do no more.
    pub swap: SwapMethod,
}

impl Profile {
    /// Returns whether a journal from before a power loss looks like a copy, so that a person must vouch for it. What moves
    /// names step by step leaves a proof.
    pub(super) fn needs_trust(&self) -> bool {
        self.no_births && self.swap == SwapMethod::Exchange
    }
}

/// The bytes of a small history: room for two or three of the contents that are generated.
pub(super) const SMALL_HISTORY: u64 = 24;

/// Something that exists at first. Paths are relative to the workspace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Item {
    /// A folder.
    Folder(String),
    /// A file with a content and a mode.
    File(String, String, u32),
    /// A symlink: its path and its target.
    Symlink(String, String),
    /// Another name of a file: the file, and the name.
    Link(String, String),
    /// An attribute of a file or a folder: its path, the name, the value.
    Attribute(String, String, String),
    /// The mode of a folder.
    Mode(String, u32),
}

/// One step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ScenarioStep {
    /// A call of the engine, by a process of its own, and its disturbances.
    Act(ScenarioAct, Vec<Disturbance>),
    /// A foreign program acts while no engine runs.
    Foreign(ScenarioDeed),
    /// The clock moves forward, or back, by this many seconds.
    Clock(i64),
    /// The power is lost and comes back: the number chooses among the possible disks.
    Cut(Policy, u64),
}

/// A call of the engine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ScenarioAct {
    /// A request is applied.
    Apply(Vec<Ask>, ScenarioTerms),
    /// The newest transaction, or the one that many before it, is reverted.
    Undo(Option<usize>),
    /// Everything after the transaction that many before the newest is reverted, as one.
    UndoSince(usize),
    /// The newest undo, or that of the transaction that many before the newest, is reverted.
    Redo(Option<usize>),
    /// A request is staged, in the open transaction of that number.
    Stage(usize, Vec<Ask>),
    /// The open transaction is previewed.
    Preview(usize),
    /// It is committed.
    Commit(usize, Option<ScenarioCheck>),
    /// It is discarded.
    RollBack(usize),
    /// History is pruned to the newest ones, as many as this.
    Prune(usize),
    /// The status is requested.
    Status,
    /// The first kept content is restored.
    Restore,
    /// The first folder of kept contents is deleted.
    Drop,
    /// Interrupted transactions are recovered.
    Recover,
}

/// The options of a request.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ScenarioTerms {
    /// The idempotency key.
    pub key: Option<String>,
    /// The same request succeeds again.
    pub idempotent: bool,
    /// Decides whether it is committed.
    pub check: Option<ScenarioCheck>,
}

/// A check: its acts and its result.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ScenarioCheck {
    /// True if it passes.
    pub passes: bool,
    /// Its acts, in order.
    pub deeds: Vec<ScenarioDeed>,
}

/// The change of one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ask {
    /// A text is replaced by another, once.
    Edit(String, String, String),
    /// A new file.
    Create(String, String),
    /// A whole new content, whether the file exists or not.
    Write(String, String),
    /// The file is deleted.
    Delete(String),
    /// The file moves.
    Rename(String, String),
    /// The mode.
    Mode(String, u32),
    /// An empty folder is made.
    MakeFolder(String),
    /// A folder is removed, which the other asks leave empty.
    RemoveFolder(String),
    /// A symlink is made, or takes the place of what is there: its path and its target.
    Symlink(String, String),
}

/// The act of a foreign program. Paths are relative to the workspace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ScenarioDeed {
    /// Truncates a file and writes it again.
    Write(String, String),
    /// Appends to a file.
    Append(String, String),
    /// Overwrites its last bytes, keeping the size, and restores the time.
    Forge(String, String),
    /// Writes a new file and renames it over the path.
    Replace(String, String),
    /// Writes what is in a file to a new one and renames it over the path, as an editor saves. Not through a symlink.
    Save(String),
    /// Makes a file at a free path.
    Create(String, String),
    /// Deletes a file.
    Delete(String),
    /// Sets a mode.
    Chmod(String, u32),
    /// Sets an owner and a group.
    Chown(String, u32, u32),
    /// Sets an attribute.
    SetAttribute(String, String, String),
    /// Removes an attribute.
    RemoveAttribute(String, String),
    /// Makes a folder.
    Mkdir(String),
    /// Renames a file or a folder to a free path.
    Move(String, String),
    /// Exchanges two names.
    Exchange(String, String),
    /// Deletes an empty folder.
    Rmdir(String),
    /// Makes a symlink: its target and its path.
    Symlink(String, String),
    /// Gives a file another name.
    Link(String, String),
    /// Makes a pipe, which cannot be read like a file.
    Pipe(String),
    /// Opens a file and keeps it open, by a number.
    Hold(usize, String),
    /// Appends to the file that is held.
    Late(usize, String),
}

/// A disturbance of a call of the engine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Disturbance {
    /// The call of the file system before which, or instead of which, it happens.
    pub point: ScenarioPoint,
    /// The disturbance.
    pub what: ScenarioFault,
}

/// A call of the file system in an act.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ScenarioPoint {
    /// By its number, from 0.
    Call(u64),
    /// By its position among all calls of the undisturbed act, in thousandths.
    Share(u16),
    /// By its function, the end of one of its paths, and its number among the matching ones, from 1.
    Verb(String, Option<String>, u64),
}

/// A kind of disturbance.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ScenarioFault {
    /// A foreign program acts before it.
    Deed(ScenarioDeed),
    /// It fails; if true, also all later calls of its kind.
    Fail(i32, bool),
    /// It is done, and fails nevertheless.
    FailAfter(i32),
    /// It moves at most one byte.
    Short,
    /// The caller cancels.
    Cancel,
    /// The process is killed.
    Kill,
    /// The power is lost: the number chooses among the possible disks.
    Cut(Policy, u64),
}

/// The handles that foreign programs keep open.
pub(super) type ScenarioHandles<T> = BTreeMap<usize, T>;

impl Ask {
    fn into_file(self) -> FileRequest {
        let (path, change, mode) = match self {
            Self::Edit(path, old, new) => {
                let anchor = Anchor::Text { text: old.into(), count: Count::Once, matching: Matching::Exact };
                let edits = vec![Edit { anchor, replacement: new.into() }];
                (path, Change::Edit { edits, rename: None }, None)
            }
            Self::Create(path, content) => {
                (path, Change::Write { content: content.into(), if_exists: IfExists::Fail }, None)
            }
            Self::Write(path, content) => {
                (path, Change::Write { content: content.into(), if_exists: IfExists::Replace }, None)
            }
            Self::Delete(path) => (path, Change::Delete, None),
            Self::Rename(path, to) => {
                (path, Change::Rename(RenameTo { path: to.into(), if_exists: IfExists::Fail }), None)
            }
            Self::Mode(path, mode) => (path, Change::Mode, Some(Mode::Bits(mode))),
            Self::MakeFolder(path) => (path, Change::MakeFolder, None),
            Self::RemoveFolder(path) => (path, Change::RemoveFolder, None),
            Self::Symlink(path, target) => {
                (path, Change::Symlink { target: target.into(), if_exists: IfExists::Replace }, None)
            }
        };
        FileRequest { mode, ..FileRequest::new(path, change) }
    }
}

/// The request of these asks.
#[must_use]
pub fn request(asks: &[Ask], terms: &ScenarioTerms) -> Request {
    Request {
        files: asks.iter().cloned().map(Ask::into_file).collect(),
        check: terms.check.as_ref().map(|_| Check::new(vec!["check".into()])),
        idempotency_key: terms.key.clone(),
        idempotent: terms.idempotent,
        ..Request::default()
    }
}

impl Ask {
    /// The paths that it names.
    #[must_use]
    pub fn paths(&self) -> Vec<&str> {
        match self {
            Self::Edit(path, ..)
            | Self::Create(path, _)
            | Self::Write(path, _)
            | Self::Delete(path)
            | Self::MakeFolder(path)
            | Self::RemoveFolder(path)
            | Self::Symlink(path, _)
            | Self::Mode(path, _) => vec![path],
            Self::Rename(from, to) => vec![from, to],
        }
    }
}

impl ScenarioAct {
    /// The check that decides in it.
    #[must_use]
    pub fn gate(&self) -> Option<&ScenarioCheck> {
        match self {
            Self::Apply(_, terms) => terms.check.as_ref(),
            Self::Commit(_, gate) => gate.as_ref(),
            _ => None,
        }
    }

    /// Returns whether it recovers interrupted transactions before its own work.
    pub(super) fn recovers(&self) -> bool {
        !matches!(self, Self::Preview(_) | Self::Status | Self::Prune(_) | Self::Drop)
    }

    /// Returns whether it never changes files.
    #[must_use]
    pub fn only_looks(&self) -> bool {
        matches!(self, Self::Preview(_) | Self::Status)
    }
}

impl ScenarioDeed {
    /// Returns whether it changes only metadata of a file.
    pub(super) const fn changes_metadata(&self) -> bool {
        matches!(self, Self::Chmod(..) | Self::Chown(..) | Self::SetAttribute(..) | Self::RemoveAttribute(..))
    }

    /// The text that it writes.
    #[must_use]
    pub fn text(&self) -> Option<&str> {
        match self {
            Self::Write(_, text)
            | Self::Append(_, text)
            | Self::Forge(_, text)
            | Self::Replace(_, text)
            | Self::Create(_, text)
            | Self::Late(_, text) => Some(text),
            _ => None,
        }
    }

    /// The paths that belong to another program after it.
    #[must_use]
    pub fn paths(&self) -> Vec<String> {
        let paths: Vec<&str> = match self {
            Self::Write(path, _)
            | Self::Append(path, _)
            | Self::Forge(path, _)
            | Self::Create(path, _)
            | Self::Delete(path)
            | Self::Chmod(path, _)
            | Self::Chown(path, ..)
            | Self::SetAttribute(path, ..)
            | Self::RemoveAttribute(path, _)
            | Self::Mkdir(path)
            | Self::Rmdir(path)
            | Self::Symlink(_, path)
            | Self::Pipe(path)
            | Self::Hold(_, path) => vec![path],
            Self::Move(from, to) | Self::Exchange(from, to) | Self::Link(from, to) => vec![from, to],
            Self::Replace(path, _) | Self::Save(path) => return vec![path.clone(), format!("{path}.foreign")],
            Self::Late(..) => Vec::new(),
        };
        paths.into_iter().map(str::to_owned).collect()
    }
}
