//! Campaigns: one change in many workspaces, each of them by a transaction of its own.
//!
//! A campaign is a folder: what was planned (`campaign.json`, `workspaces.jsonl`), and what was reported (`reports/`), one
//! line for each attempt. What is to be done is what was planned and not reported. An attempt is a process of this
//! program, and its answer is the report. The campaign's id is the idempotency key of each, so that one that is repeated
//! after a crash, by whatever starts it, changes nothing twice.
//!
//! Architecture invariant: the program is known by its command line and its JSON alone; no workspace is opened here, and
//! nothing of a campaign is in any workspace but its id, in the journals.

mod manifest;
mod page;
mod pool;
mod progress;
mod report;
mod shards;
mod template;
mod work;
mod workspaces;

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use crate::error::{Error, ErrorKind, Result};
use crate::fs::input;
use crate::fs::records::{self, LineFile, LineWriter, ModeLock};
use crate::limits;
pub(crate) use manifest::{CampaignAction, Manifest};
pub(crate) use page::page;
pub(crate) use pool::{Pace, work};
pub(crate) use progress::{CampaignProgress, DueWorkspace, WorkspaceState};
pub(crate) use report::{Attempt, AttemptOutcome};
pub(crate) use shards::{ShardBy, of as shards_of};
pub(crate) use work::{CampaignTask, Worker, plan_of, query_of, variable_in};
pub(crate) use workspaces::{PlannedWorkspace, listed};

/// What was planned.
const MANIFEST: &str = "campaign.json";

/// Its workspaces, one line for each.
const WORKSPACES: &str = "workspaces.jsonl";

/// The plan, or the patch, as it was given.
const PLAN: &str = "plan";

/// The folder of the locks for the kinds of work.
const LOCKS: &str = "locks";

/// The kinds of work, which are the modes of the lock.
const MODES: [&str; 3] = ["change", "again", "undo"];

/// The folder of what was reported.
const REPORTS: &str = "reports";

/// A campaign, as its folder has it.
#[derive(Debug)]
pub(crate) struct Campaign {
    /// Its folder, absolute.
    pub(crate) folder: PathBuf,
    pub(crate) manifest: Manifest,
    workspaces: Mutex<LineFile>,
}

impl Campaign {
    /// Makes a campaign in a new folder.
    pub(crate) fn create(
        folder: &Path,
        manifest: &Manifest,
        workspaces: &[PlannedWorkspace],
        plan: Option<&[u8]>,
    ) -> Result<()> {
        let mut lines = String::new();
        for workspace in workspaces {
            lines.push_str(&json(workspace)?);
            lines.push('\n');
        }
        let manifest = json(manifest)? + "\n";
        let mut files = vec![(MANIFEST, manifest.as_bytes()), (WORKSPACES, lines.as_bytes())];
        files.extend(plan.map(|plan| (PLAN, plan)));
        records::make_folder(folder, &files)
    }

    /// Opens the campaign in a folder, an absolute path.
    pub(crate) fn open(folder: &Path) -> Result<Self> {
        let path = folder.join(MANIFEST);
        let bytes = input::read_file(&path, limits::REQUEST_BYTES)?;
        let manifest: Manifest = serde_json::from_slice(&bytes).map_err(|e| unreadable(&path, &e))?;
        manifest.check().map_err(|why| unreadable(&path, &why))?;
        let path = folder.join(WORKSPACES);
        let workspaces = LineFile::open(&path)?;
        if workspaces.count() != manifest.workspaces {
            let why = format!("{} lines, and {} workspaces were planned", workspaces.count(), manifest.workspaces);
            return Err(unreadable(&path, &why));
        }
        Ok(Self { folder: folder.to_owned(), manifest, workspaces: Mutex::new(workspaces) })
    }

    /// Returns whether there is a campaign in a folder.
    pub(crate) fn is_in(folder: &Path) -> bool {
        records::is_file(&folder.join(MANIFEST))
    }

    /// The number of its workspaces.
    pub(crate) fn count(&self) -> usize {
        self.manifest.workspaces
    }

    /// A workspace, by its number from 0.
    pub(crate) fn workspace(&self, index: usize) -> Result<PlannedWorkspace> {
        if index >= self.count() {
            let message = format!("there is no workspace {index}: the campaign has {}, from 0", self.count());
            return Err(Error::new(ErrorKind::ValidationFailed, message));
        }
        let line = self.workspaces.lock().unwrap_or_else(PoisonError::into_inner).line(index)?;
        let path = self.folder.join(WORKSPACES);
        serde_json::from_slice(&line).map_err(|e| unreadable(&path, &format!("line {}: {e}", index + 1)))
    }

    /// The file of the plan, or the patch.
    fn plan(&self) -> PathBuf {
        self.folder.join(PLAN)
    }

    /// The files of reports, the oldest first.
    fn reports(&self) -> Result<Vec<PathBuf>> {
        records::files_in(&self.folder.join(REPORTS))
    }

    /// Locks the campaign for a kind of work. No two kinds are done at once: which of their reports is the last would not be
    /// known.
    pub(crate) fn lock(&self, task: CampaignTask) -> Result<ModeLock> {
        let mode = match task {
            CampaignTask::Change { again: false } => "change",
            CampaignTask::Change { again: true } => "again",
            CampaignTask::Undo { .. } => "undo",
        };
        let others: Vec<_> = MODES.into_iter().filter(|other| *other != mode).collect();
        ModeLock::take(&self.folder.join(LOCKS), mode, &others)?.ok_or_else(|| {
            let message = "another process is at work on the campaign, and makes the change where this one would undo it, or \
                           the other way round: wait for its end, and for what it left at work";
            Error::new(ErrorKind::LockTimeout, message).at(&self.folder)
        })
    }

    /// A new file of reports, for one process. `name` sorts it behind older ones.
    pub(crate) fn new_reports(&self, name: &str) -> Result<LineWriter> {
        LineWriter::new(&self.folder.join(REPORTS).join(name))
    }
}

fn unreadable(path: &Path, why: &dyn std::fmt::Display) -> Error {
    let message = format!("{} cannot be read as that of a campaign: {why}", path.display());
    Error::new(ErrorKind::ValidationFailed, message).at(path)
}

/// A value as one line of JSON.
fn json(value: &impl serde::Serialize) -> Result<String> {
    serde_json::to_string(value).map_err(|e| Error::new(ErrorKind::UnknownError, format!("cannot be JSON: {e}")))
}
