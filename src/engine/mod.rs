//! The engine: reads, decides and carries out the transactions of one workspace.

mod options;
mod patch;
pub(crate) mod read;
pub mod report;
mod revert;
pub(super) mod rollback;
mod run;
#[cfg(feature = "web")]
mod state_mark;
mod state_move;

pub(crate) mod history;
#[cfg(feature = "cli")]
pub(crate) mod ids;
mod open;
pub(crate) mod program;
mod recovery;
mod status;
mod store;
mod transaction;
#[cfg(feature = "cli")]
pub(crate) mod tree;
mod view;

use std::path::Path;
use std::sync::Arc;

use crate::check::process::Processes;
use crate::check::{Check, Checker};
use crate::commit::protocol::PROTOCOL;
#[cfg(feature = "testing")]
use crate::commit::protocol::Protocol;
use crate::error::{Error, ErrorKind, NextStep, Result};
use crate::fs::Fs;
use crate::fs::os::OsFs;
use crate::journal::Swap;
use crate::limits;
use crate::path::RelPath;
use crate::path::bounds::Bounds;
pub use options::{Decision, Durability, RecoverOptions, Retention, Settings, UndoOptions};
use report::{Recovered, Status};
pub(crate) use run::Unobserved;
pub use run::{Observer, Phase, Run};
use store::known::KnownState;
use store::lock::Patience;
use store::lookup;
#[cfg(feature = "cli")]
pub(crate) use store::parts::is_of_parts_alone;
use store::state::{Section, StateFolder, StateLookup};
use store::workspace::Workspace;
pub use transaction::Transaction;
use transaction::prepare::resolve::Resolver;

/// The transactions of one workspace.
///
/// ```
/// use txedit::{Edit, Engine, Request, Run};
///
/// # let folder = tempfile::tempdir()?;
/// # let root = folder.path();
/// # std::fs::write(root.join("a.txt"), "one\n")?;
/// let engine = Engine::open(root)?;
/// let request = Request::new().label("count").edit("a.txt", Edit::replace("one", "two"));
/// let committed = engine.apply(&request, Run::default())?.transaction;
///
/// let log = engine.log(10, None)?;
/// assert_eq!((Some(&log[0].id), log[0].label.as_deref()), (committed.as_ref(), Some("count")));
/// engine.undo(committed.as_deref(), false, Run::default())?;
/// assert_eq!(std::fs::read_to_string(root.join("a.txt"))?, "one\n");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Engine {
    workspace: Workspace,
    known: KnownState,
    settings: Settings,
    checker: Arc<dyn Checker>,
    /// Runs on every commit, before the check that a call names.
    check: Option<Check>,
    allows_checks: bool,
    allows_set_id: bool,
    /// True if the root is inside a git repository.
    is_in_repository: bool,
    bounds: Bounds,
    inside: Option<String>,
    /// The number of files that this process may have open.
    open_files: u64,
    attempts: usize,
    contended_after: usize,
}

impl Engine {
    /// An engine for the files beneath `root`, on the real file system. Nothing is written, whether it fails or not.
    pub fn open(root: impl AsRef<Path>) -> Result<Self> {
        Self::open_with(root, Settings::default())
    }

    /// Like [`open`](Self::open), with settings.
    pub fn open_with(root: impl AsRef<Path>, settings: Settings) -> Result<Self> {
        Self::with_fs(Arc::new(OsFs::new()), root.as_ref(), settings)
    }

    /// Like [`open_with`](Self::open_with), on any file system.
    pub fn with_fs(fs: Arc<dyn Fs>, root: &Path, settings: Settings) -> Result<Self> {
        let real = fs.canonical(root).map_err(|e| Error::io("resolve the root", root, e))?;
        let root = fs.open_folder(&real).map_err(|e| Error::io("open the root", &real, e))?;
        let open_files = fs.raise_open_files();
        let workspace = Workspace::new(fs, root, &PROTOCOL)
            .with_user_state(settings.user_state.as_deref())
            .with_named_state(settings.state_dir.as_deref())
            .overwriting(settings.swap == Swap::InPlace);
        let is_in_repository = transaction::prepare::resolve::is_in_repository(&workspace)?;
        let checker = Arc::new(Processes);
        Ok(Self {
            workspace,
            known: KnownState::default(),
            settings,
            checker,
            check: None,
            allows_checks: false,
            allows_set_id: true,
            is_in_repository,
            bounds: Bounds::default().within(&real, is_in_repository),
            inside: None,
            open_files,
            attempts: limits::ATTEMPTS,
            contended_after: limits::CONTENDED_AFTER,
        })
    }

    /// This engine for a program that runs as the check of a transaction, or was started by one: a call that would wait
    /// for that transaction's locks is refused at once, since it would wait for itself.
    #[must_use]
    pub fn inside_of(self, transaction: Option<String>) -> Self {
        Self { inside: transaction, ..self }
    }

    /// This engine with another limit of attempts at a request while other programs keep writing its files.
    #[must_use]
    pub fn with_attempts(self, attempts: usize) -> Self {
        Self { attempts, ..self }
    }

    /// Returns whether a file that no rename can replace is overwritten.
    pub(crate) fn may_overwrite(&self) -> bool {
        self.workspace.overwrites
    }

    /// This engine with another number of attempts after which it swaps new contents before they are durable, the only
    /// way to commit while another program writes faster than a sync. See `journal.contended` in journal-format.md.
    #[must_use]
    pub fn contended_after(self, attempts: usize) -> Self {
        Self { contended_after: attempts, ..self }
    }

    /// This engine with a check that decides on every commit, before the one that a call names.
    #[must_use]
    pub fn with_check(self, check: Option<Check>) -> Self {
        Self { check, ..self }
    }

    /// This engine running the checks that calls and requests name, which it refuses otherwise: each is a command with
    /// all rights of this process, and a request may come from someone else.
    #[must_use]
    pub fn allowing_checks(self) -> Self {
        Self { allows_checks: true, ..self }
    }

    /// This engine refusing to make a file set-user-id or set-group-id unless it is already.
    #[must_use]
    pub fn refusing_set_id(self) -> Self {
        Self { allows_set_id: false, ..self }
    }

    /// This engine with other bounds: paths of the workspace that no call may read or write.
    #[must_use]
    pub fn with_bounds(self, bounds: Bounds) -> Self {
        let bounds = bounds.within(self.workspace.root.path(), self.is_in_repository);
        Self { bounds, ..self }
    }

    /// Returns whether a call may name a check.
    #[cfg(feature = "web")]
    pub(crate) const fn may_check(&self) -> bool {
        self.allows_checks
    }

    /// The paths of the workspace that no call may read or write.
    #[must_use]
    pub fn bounds(&self) -> &Bounds {
        &self.bounds
    }

    fn resolver(&self) -> Resolver<'_> {
        Resolver::new(&self.workspace, &self.bounds)
    }

    /// This engine with another implementation that runs its checks, which are thereby allowed.
    #[must_use]
    pub fn with_checker(self, checker: Arc<dyn Checker>) -> Self {
        Self { checker, ..self }.allowing_checks()
    }

    /// This engine with another protocol: one that a test has broken, to see that the tests notice.
    #[cfg(feature = "testing")]
    #[must_use]
    pub fn with_protocol(mut self, protocol: &'static Protocol) -> Self {
        self.workspace.protocol = protocol;
        self
    }

    /// The root, without symlinks.
    #[must_use]
    pub fn root(&self) -> &Path {
        self.workspace.root.path()
    }

    /// True if the path of the root still leads to the folder that this engine has open. If it was moved, or deleted and
    /// made anew, this engine would go on with the old folder under a path that is not its own any more: open another.
    ///
    /// ```
    /// use txedit::Engine;
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # let root = folder.path().join("root");
    /// # std::fs::create_dir(&root)?;
    /// let engine = Engine::open(&root)?;
    /// assert!(engine.is_at_its_root());
    /// std::fs::rename(&root, root.with_file_name("moved"))?;
    /// std::fs::create_dir(&root)?;
    /// assert!(!engine.is_at_its_root());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn is_at_its_root(&self) -> bool {
        self.workspace.is_at_its_root().unwrap_or(false)
    }

    /// An error if [it is not](Self::is_at_its_root).
    #[cfg(feature = "web")]
    pub(crate) fn check_root(&self) -> Result<()> {
        self.workspace.check_root()
    }

    /// The state of the workspace: interrupted transactions, kept contents. Nothing is changed, whether it fails or
    /// not.
    pub fn status(&self) -> Result<Status> {
        let mut status = status::of_all(&self.workspace, self.settings.lock_timeout)?;
        let closed = self.half_closed(&self.found()?, status.open.iter().map(|open| open.id.clone()))?;
        status.open.retain(|open| !closed.contains(&open.id));
        status.warnings.extend(closed.iter().map(|id| {
            format!(
                "{id}, which was open, is committed and not closed: a recovery, or another commit of it, closes it, and opens what is left of it"
            )
        }));
        Ok(status)
    }

    /// Recovers one interrupted transaction, or all. One that cannot be recovered is left as it is, and its report says
    /// why. On failure some files may be old and some new, and a later recovery finds everything that it needs.
    pub fn recover(&self, id: Option<&str>, options: RecoverOptions) -> Result<Vec<Recovered>> {
        self.recover_with(id, options, &mut |_| {})
    }

    /// Like [`recover`](Self::recover), and passes what was decided about each transaction to `planned` before it is
    /// carried out, while its locks are held: exactly this is done. If another program keeps writing, the decision is
    /// made and passed on again. A plan alone is not passed on.
    pub fn recover_with(
        &self,
        id: Option<&str>,
        options: RecoverOptions,
        planned: &mut dyn FnMut(&Recovered),
    ) -> Result<Vec<Recovered>> {
        let states = lookup::trusted(&self.workspace)?;
        if let Some(id) = id {
            return recovery::recover_in(&states, id, options, self.patience(Run::default()), planned);
        }
        let mut recovered = Vec::new();
        for state in &states {
            recovered.extend(self.recover_state(state, options, planned)?);
        }
        Ok(recovered)
    }

    /// Recovers all of one state folder.
    fn recover_state(
        &self,
        state: &StateFolder,
        options: RecoverOptions,
        planned: &mut dyn FnMut(&Recovered),
    ) -> Result<Vec<Recovered>> {
        let run = Run::default();
        let patience = self.patience(run);
        let mut recovered = match options {
            RecoverOptions { decision: Decision::Table, plan_only: true, .. } => {
                recovery::plan_all(state, options, patience, run)?
            }
            RecoverOptions { decision: Decision::Table, .. } => {
                recovery::check_writable(state)?;
                recovery::recover_all(state, options, patience, run, planned)?.whole()?
            }
            _ => {
                let message = "a decision is for one transaction: name it";
                return Err(Error::new(ErrorKind::ValidationFailed, message).with_next([NextStep::Status]));
            }
        };
        // What was recovered is told, even if history cannot be read.
        let damaged = match status::damaged(state) {
            Ok(damaged) => damaged,
            Err(error) if options.plan_only => return Err(error),
            Err(error) => return recovery::Recoveries { recovered, failed: Some(error) }.whole(),
        };
        for untrusted in damaged {
            let left = recovery::left_in_history(&untrusted);
            planned(&left);
            recovered.push(left);
        }
        Ok(recovered)
    }

    /// Recovers everything that is interrupted in this workspace before something else is written. What cannot be
    /// recovered blocks only calls that touch its files.
    fn recover_own(&self, found: &StateLookup, warnings: &mut Vec<String>, run: Run<'_>) -> Result<recovery::InFront> {
        let failure = self.try_to_recover(found, warnings, run)?;
        let in_front = recovery::InFront::of(failure.as_ref());
        if let Some(error) = failure {
            recovery::tell_once(warnings, recovery::not_recovered(&error));
        }
        Ok(in_front)
    }

    /// Recovers everything that is interrupted; returns the failure, if there was one.
    fn try_to_recover(&self, found: &StateLookup, warnings: &mut Vec<String>, run: Run<'_>) -> Result<Option<Error>> {
        let StateLookup::State(state) = found else { return Ok(None) };
        // What is left of a view stops no command: the next one tries again.
        store::view_folder::sweep(state).ok();
        if state.has_certainly_no_folder(Section::Transactions)? {
            return Ok(None);
        }
        let Some(section) = state.section(Section::Transactions)? else { return Ok(None) };
        let names = self.workspace.list(&section)?;
        if names.is_empty() {
            return Ok(None);
        }
        let patience = Patience::new(self.settings.lock_timeout, run.cancel);
        match recovery::recover_all(state, RecoverOptions::default(), patience, run, &mut |_| {}) {
            Ok(recovery::Recoveries { recovered, failed }) => {
                for one in &recovered {
                    recovery::tell(warnings, one);
                }
                Ok(failed)
            }
            Err(error) => Ok(Some(error)),
        }
    }

    /// The name of the program that acts, for the log and for messages.
    #[must_use]
    pub fn program(&self, run: Run<'_>) -> String {
        match run.observer.client() {
            Some(client) => format!("{client} by {}", self.settings.program),
            None => self.settings.program.clone(),
        }
    }

    /// A path in the workspace, resolved lexically.
    fn rel_path(&self, path: &Path) -> Result<RelPath> {
        let rel = path.strip_prefix(self.root()).unwrap_or(path);
        if rel.is_absolute() {
            let message = format!("{} is outside the root {}", path.display(), self.root().display());
            return Err(Error::new(ErrorKind::OutsideRoot, message).at(path));
        }
        RelPath::normalised(rel)
            .map_err(|problem| Error::new(ErrorKind::OutsideRoot, format!("{}: {problem}", path.display())).at(path))
    }
}
