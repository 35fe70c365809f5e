//! A scenario as data. Its text form is in `parse`.

use std::collections::BTreeMap;

use crate::check::Check;
use crate::fs::sim::Policy;
use crate::request::edit::{Anchor, Count, Edit, Matching};
use crate::request::{Change, FileRequest, IfExists, Mode, RenameTo, Request};

/// A short script: files, and what happens to them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Scenario {
    /// What the machine and its file system are like.
    pub machine: Profile,
    /// What is there at first.
    pub items: Vec<Item>,
    /// What happens, in order.
    pub steps: Vec<ScenarioStep>,
}

/// What the machine and its file system are like, where they are not as usual.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[expect(clippy::struct_excessive_bools, reason = "switches that are independent of each other")]
pub struct Profile {
    /// Commits are safe against kills only.
    pub process: bool,
    /// Syncing few files one by one is quicker than syncing all.
    pub sync_each: bool,
    /// Inodes have no birth time.
    pub no_births: bool,
    /// Inode numbers are given again.
    pub reuse: bool,
    /// There is no state folder yet.
    pub cold: bool,
    /// A sync of the whole file system does nothing, as with most FUSE servers.
    pub fuse: bool,
    /// History holds `SMALL_HISTORY` bytes of originals at most.
    pub small_history: bool,
    /// The first attempt is as one after others in which another program was quicker.
    pub contended: bool,
}

/// How many bytes a small history holds: two or three of the contents that are made up.
pub(super) const SMALL_HISTORY: u64 = 24;

/// Something that is there at first. Paths are relative to the workspace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Item {
    /// A folder.
    Folder(String),
    /// A file with a content and a mode.
    File(String, String, u32),
    /// A symlink: its path, and what it leads to.
    Symlink(String, String),
    /// One more name of a file: the file, and the name.
    Link(String, String),
    /// An attribute of a file: its path, the name, the value.
    Attribute(String, String, String),
}

/// Something that happens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ScenarioStep {
    /// A call of the engine, by a process of its own, and what disturbs it.
    Act(ScenarioAct, Vec<Disturbance>),
    /// A foreign program acts while no engine runs.
    Foreign(ScenarioDeed),
    /// The clock moves on, or back, by so many seconds.
    Clock(i64),
    /// The power is lost, and comes back: which of what may be left is, the number chooses.
    Cut(Policy, u64),
}

/// A call of the engine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ScenarioAct {
    /// A request is applied.
    Apply(Vec<Ask>, ScenarioTerms),
    /// The newest transaction, or the one that many before it, is undone.
    Undo(Option<usize>),
    /// The newest undo, or that of the transaction that many before the newest, is taken back.
    Redo(Option<usize>),
    /// A request is staged, in the open transaction of that number.
    Stage(usize, Vec<Ask>),
    /// What is staged there is looked at.
    Preview(usize),
    /// It is committed.
    Commit(usize, Option<ScenarioCheck>),
    /// It is dropped.
    RollBack(usize),
    /// History forgets all but the newest so many.
    Prune(usize),
    /// What is going on.
    Status,
    /// The first content that is kept is written back.
    Restore,
    /// The first folder of kept contents is deleted.
    Drop,
    /// What is interrupted is recovered.
    Recover,
}

/// How a request is applied.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ScenarioTerms {
    /// By which a retry is known.
    pub key: Option<String>,
    /// The same request succeeds again.
    pub idempotent: bool,
    /// Decides whether it stays.
    pub check: Option<ScenarioCheck>,
}

/// A check: what it does, and whether it passes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ScenarioCheck {
    /// Whether it passes.
    pub passes: bool,
    /// What it does, in order.
    pub deeds: Vec<ScenarioDeed>,
}

/// What is asked of one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ask {
    /// A text is replaced by another, once.
    Edit(String, String, String),
    /// A new file.
    Create(String, String),
    /// A whole new content, whatever is there.
    Write(String, String),
    /// The file goes.
    Delete(String),
    /// The file moves.
    Rename(String, String),
    /// The mode.
    Mode(String, u32),
}

/// What a foreign program does. Paths are relative to the workspace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ScenarioDeed {
    /// Cuts a file to nothing and writes it anew.
    Write(String, String),
    /// Writes at the end.
    Append(String, String),
    /// Writes over its last bytes, so that the size stays, and sets the time back.
    Forge(String, String),
    /// Writes a new file and renames it over the path.
    Replace(String, String),
    /// Makes a file at a free path.
    Create(String, String),
    /// Deletes a file.
    Delete(String),
    /// Gives a mode.
    Chmod(String, u32),
    /// Gives an owner and a group.
    Chown(String, u32, u32),
    /// Gives an attribute.
    SetAttribute(String, String, String),
    /// Takes an attribute away.
    RemoveAttribute(String, String),
    /// Makes a folder.
    Mkdir(String),
    /// Renames a file or a folder to a path where nothing is.
    Move(String, String),
    /// Exchanges two names.
    Exchange(String, String),
    /// Deletes an empty folder.
    Rmdir(String),
    /// Makes a symlink: what it leads to, and its path.
    Symlink(String, String),
    /// Gives a file one more name.
    Link(String, String),
    /// Makes a pipe, which nobody can read like a file.
    Pipe(String),
    /// Opens a file and keeps it open, by a number.
    Hold(usize, String),
    /// Writes at the end of the file that is held.
    Late(usize, String),
}

/// Something that goes wrong in a call of the engine, and when.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Disturbance {
    /// Before which call of the file system, or instead of it.
    pub point: ScenarioPoint,
    /// What.
    pub what: ScenarioFault,
}

/// A call of the file system that an act makes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ScenarioPoint {
    /// By its number, from 0.
    Call(u64),
    /// By its share of all calls that the act makes undisturbed, in thousandths.
    Share(u16),
    /// By its function, the end of one of its paths, and its number among those that fit, from 1.
    Verb(String, Option<String>, u64),
}

/// What goes wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ScenarioFault {
    /// A foreign program acts before it.
    Deed(ScenarioDeed),
    /// It fails; perhaps also all calls of its kind that follow.
    Fail(i32, bool),
    /// It is done, and fails all the same.
    FailAfter(i32),
    /// It moves one byte at most.
    Short,
    /// Whoever called wants it to stop.
    Cancel,
    /// The process is killed.
    Kill,
    /// The power is lost: which of what may be left is, the number chooses.
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
        };
        FileRequest { path: path.into(), expected_hash: None, change, mode }
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

    /// Whether it recovers what is interrupted before it does its own work.
    pub(super) fn recovers(&self) -> bool {
        !matches!(self, Self::Preview(_) | Self::Status | Self::Prune(_) | Self::Drop)
    }

    /// Whether it changes nothing of the files, whatever happens.
    #[must_use]
    pub fn only_looks(&self) -> bool {
        matches!(self, Self::Preview(_) | Self::Status)
    }
}

impl ScenarioDeed {
    /// Whether it changes what a file wears, and not its content.
    pub(super) const fn dresses(&self) -> bool {
        matches!(self, Self::Chmod(..) | Self::Chown(..) | Self::SetAttribute(..) | Self::RemoveAttribute(..))
    }

    /// What it writes.
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

    /// The paths that are another's after it.
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
            Self::Replace(path, _) => return vec![path.clone(), format!("{path}.foreign")],
            Self::Late(..) => Vec::new(),
        };
        paths.into_iter().map(str::to_owned).collect()
    }
}
