//! Settings of an engine, and options of its calls.

use std::path::PathBuf;
use std::time::Duration;

use crate::check::{Check, CheckIn};
use crate::digest::Digest;
use crate::journal::Swap;
use crate::limits;

/// The durability of a commit when it is acknowledged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Durability {
    /// Safe against power loss: two barriers.
    #[default]
    Power,
    /// Safe against `kill -9`, not against power loss: no barriers.
    Process,
}

/// The limits of the history. What exceeds one of the bounds is pruned, oldest first.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Retention {
    /// The number of transactions.
    pub count: usize,
    /// The bytes of their originals.
    pub bytes: u64,
    /// The time since the commit.
    pub age: Duration,
}

impl Default for Retention {
    /// The bounds of the command line: [`limits::HISTORY_COUNT`], [`limits::HISTORY_BYTES`], [`limits::HISTORY_AGE`].
    fn default() -> Self {
        Self { count: limits::HISTORY_COUNT, bytes: limits::HISTORY_BYTES, age: limits::HISTORY_AGE }
    }
}

impl Retention {
    /// Keeps at most this many transactions.
    #[must_use]
    pub const fn count(self, count: usize) -> Self {
        Self { count, ..self }
    }

    /// Keeps at most this many bytes of originals.
    #[must_use]
    pub const fn bytes(self, bytes: u64) -> Self {
        Self { bytes, ..self }
    }

    /// Keeps transactions for at most this long.
    #[must_use]
    pub const fn age(self, age: Duration) -> Self {
        Self { age, ..self }
    }
}

/// Settings of an engine; the default is what the command line has.
///
/// ```
/// use std::time::Duration;
/// use txedit::{Durability, Engine, Retention, Settings};
///
/// # fn main() -> txedit::Result<()> {
/// # let folder = tempfile::tempdir().unwrap();
/// # let root = folder.path();
/// let settings = Settings::default()
///     .durability(Durability::Process)
///     .lock_timeout(Duration::from_secs(1))
///     .retention(Retention::default().count(100))
///     .program("my-codemod 1.0");
/// let engine = Engine::open_with(root, settings)?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Settings {
    /// The durability of a commit when it is acknowledged.
    pub durability: Durability,
    /// The longest wait for locks.
    pub lock_timeout: Duration,
    /// The way in which new contents take the place of old ones.
    pub swap: Swap,
    /// The limits of the history.
    pub retention: Retention,
    /// The program that runs the engine, for messages and the log, such as `txedit 0.1.0`.
    pub program: String,
    /// Where checks run.
    pub check_in: CheckIn,
    /// The folders that are real in a view, such as the cache of a build: what a check writes there stays. Absolute, or
    /// relative to the root. One that is missing is made.
    pub through: Vec<PathBuf>,
    /// The session of the caller, such as one task of an agent: its transactions can be listed and undone together.
    pub session: Option<String>,
    /// The folder of this user's states, absolute: `$XDG_STATE_HOME`, or `~/.local/state`. Only commits that swap aside on a
    /// file system without birth times leave something there, and are refused without it.
    pub user_state: Option<PathBuf>,
    /// The state folder, absolute or relative to the root, on the file system and mount of the root. By default it is
    /// `txedit` in the git folder of a work tree, and `.txedit` in any other root, or where that is there already. It serves
    /// this workspace alone.
    pub state_dir: Option<PathBuf>,
}

impl Default for Settings {
    /// Safe against power loss, with the limits of the command line and this crate as the program.
    fn default() -> Self {
        Self {
            durability: Durability::Power,
            swap: Swap::Auto,
            lock_timeout: limits::LOCK_TIMEOUT,
            retention: Retention::default(),
            program: concat!("txedit ", env!("CARGO_PKG_VERSION"), " as a library").to_owned(),
            check_in: CheckIn::Tree,
            through: Vec::new(),
            session: None,
            user_state: None,
            state_dir: None,
        }
    }
}

impl Settings {
    /// The durability of a commit when it is acknowledged.
    #[must_use]
    pub fn durability(self, durability: Durability) -> Self {
        Self { durability, ..self }
    }

    /// The way in which new contents take the place of old ones.
    #[must_use]
    pub fn swap(self, swap: Swap) -> Self {
        Self { swap, ..self }
    }

    /// The longest wait for locks; with zero a call fails at once if one is held.
    #[must_use]
    pub fn lock_timeout(self, lock_timeout: Duration) -> Self {
        Self { lock_timeout, ..self }
    }

    /// The limits of the history.
    #[must_use]
    pub fn retention(self, retention: Retention) -> Self {
        Self { retention, ..self }
    }

    /// Where checks run.
    #[must_use]
    pub fn check_in(self, check_in: CheckIn) -> Self {
        Self { check_in, ..self }
    }

    /// The folders that are real in a view.
    #[must_use]
    pub fn through(self, through: Vec<PathBuf>) -> Self {
        Self { through, ..self }
    }

    /// The session of the caller.
    #[must_use]
    pub fn session(self, session: impl Into<Option<String>>) -> Self {
        Self { session: session.into(), ..self }
    }

    /// The folder of this user's states.
    #[must_use]
    pub fn user_state(self, folder: impl Into<Option<PathBuf>>) -> Self {
        Self { user_state: folder.into(), ..self }
    }

    /// The state folder; by default it is in the git folder, else `.txedit`.
    #[must_use]
    pub fn state_dir(self, folder: impl Into<Option<PathBuf>>) -> Self {
        Self { state_dir: folder.into(), ..self }
    }

    /// The program that runs the engine, with its version, for messages and the log.
    #[must_use]
    pub fn program(self, program: impl Into<String>) -> Self {
        Self { program: program.into(), ..self }
    }
}

/// Options of an undo or redo.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct UndoOptions {
    /// Reports what would be done; writes nothing.
    pub dry_run: bool,
    /// Reverts also in files that changed since, if they changed in other lines only.
    pub rebase: bool,
    /// A check that decides, with the old contents in place, whether they stay.
    pub check: Option<Check>,
    /// Reverts only if that does exactly what a dry run showed: the [`plan_hash`](crate::Report::plan_hash) of its report.
    pub plan_hash: Option<Digest>,
}

impl UndoOptions {
    /// Reports what would be done, and writes nothing.
    #[must_use]
    pub fn dry_run(self, dry_run: bool) -> Self {
        Self { dry_run, ..self }
    }

    /// Reverts also in files that changed since, if they changed in other lines only.
    #[must_use]
    pub fn rebase(self, rebase: bool) -> Self {
        Self { rebase, ..self }
    }

    /// Reverts only by the plan that a dry run showed.
    #[must_use]
    pub fn plan_hash(self, plan_hash: impl Into<Option<Digest>>) -> Self {
        Self { plan_hash: plan_hash.into(), ..self }
    }

    /// Lets a check decide, with the old contents in place, whether they stay.
    #[must_use]
    pub fn check(self, check: impl Into<Option<Check>>) -> Self {
        Self { check: check.into(), ..self }
    }
}

/// A decision on an interrupted transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Decision {
    /// The decision of the recovery table.
    #[default]
    Table,
    /// Commit it.
    Forward,
    /// Roll it back.
    Back,
    /// Move its folder to `kept/`, and leave the files as they are.
    Discard,
}

/// Options of a recovery.
///
/// ```
/// use txedit::{Decision, Engine, RecoverOptions};
///
/// # fn main() -> txedit::Result<()> {
/// # let folder = tempfile::tempdir().unwrap();
/// # let root = folder.path();
/// let engine = Engine::open(root)?;
/// // Nothing is done yet: the plan says what would be.
/// for plan in engine.recover(None, RecoverOptions::new().plan_only(true))? {
///     println!("{}: {}, since {}", plan.id, plan.action, plan.reason());
///     if plan.required {
///         engine.recover(Some(&plan.id), RecoverOptions::new().decision(Decision::Back))?;
///     }
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Copy, Default)]
#[non_exhaustive]
pub struct RecoverOptions {
    /// The decision.
    pub decision: Decision,
    /// Reports what would be done; does nothing.
    pub plan_only: bool,
    /// Acts on a journal that was not born where it is.
    pub trust_journal: bool,
    /// Acts on a journal of another machine.
    pub other_host: bool,
}

impl RecoverOptions {
    /// Recovers by the recovery table, and only what was interrupted on this machine and in this place.
    #[must_use]
    pub const fn new() -> Self {
        Self { decision: Decision::Table, plan_only: false, trust_journal: false, other_host: false }
    }

    /// Decides on the transaction; only one that is named.
    #[must_use]
    pub const fn decision(self, decision: Decision) -> Self {
        Self { decision, ..self }
    }

    /// Reports what would be done, and does nothing.
    #[must_use]
    pub const fn plan_only(self, plan_only: bool) -> Self {
        Self { plan_only, ..self }
    }

    /// Acts on a journal that was not born where it is.
    #[must_use]
    pub const fn trust_journal(self, trust_journal: bool) -> Self {
        Self { trust_journal, ..self }
    }

    /// Acts on a journal of another machine.
    #[must_use]
    pub const fn other_host(self, other_host: bool) -> Self {
        Self { other_host, ..self }
    }
}
