//! Settings of an engine, and options of its calls.

use std::time::Duration;

use crate::check::Check;
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

/// The limits of the history. What exceeds one of them is pruned, oldest first.
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
    /// The limits of the command line: [`limits::HISTORY_COUNT`], [`limits::HISTORY_BYTES`],
    /// [`limits::HISTORY_AGE`].
    fn default() -> Self {
        Self { count: limits::HISTORY_COUNT, bytes: limits::HISTORY_BYTES, age: limits::HISTORY_AGE }
    }
}

impl Retention {
    /// Keeps at most so many transactions.
    #[must_use]
    pub const fn count(self, count: usize) -> Self {
        Self { count, ..self }
    }

    /// Keeps at most so many bytes of originals.
    #[must_use]
    pub const fn bytes(self, bytes: u64) -> Self {
        Self { bytes, ..self }
    }

    /// Keeps a transaction at most for so long.
    #[must_use]
    pub const fn age(self, age: Duration) -> Self {
        Self { age, ..self }
    }
}

/// Settings of an engine; the default is that of the command line.
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
    /// The limits of the history.
    pub retention: Retention,
    /// The program that runs the engine, for messages and the log: `txedit 0.1.0`.
    pub program: String,
}

impl Default for Settings {
    /// Safe against power loss, the limits of the command line, and this crate as the program.
    fn default() -> Self {
        Self {
            durability: Durability::Power,
            lock_timeout: limits::LOCK_TIMEOUT,
            retention: Retention::default(),
            program: concat!("txedit ", env!("CARGO_PKG_VERSION"), " as a library").to_owned(),
        }
    }
}

impl Settings {
    /// Sets the durability of a commit when it is acknowledged.
    #[must_use]
    pub fn durability(self, durability: Durability) -> Self {
        Self { durability, ..self }
    }

    /// Sets the longest wait for locks; with zero, a call fails at once if one is held.
    #[must_use]
    pub fn lock_timeout(self, lock_timeout: Duration) -> Self {
        Self { lock_timeout, ..self }
    }

    /// Sets the limits of the history.
    #[must_use]
    pub fn retention(self, retention: Retention) -> Self {
        Self { retention, ..self }
    }

    /// Sets the program that runs the engine, with its version, for messages and the log.
    #[must_use]
    pub fn program(self, program: impl Into<String>) -> Self {
        Self { program: program.into(), ..self }
    }
}

/// Options of undo and redo.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct UndoOptions {
    /// Reports what would be done, and writes nothing.
    pub dry_run: bool,
    /// Also reverts in files that changed since, if only other lines changed.
    pub rebase: bool,
    /// Decides, with the old contents in place, whether they stay.
    pub check: Option<Check>,
}

impl UndoOptions {
    /// Reports what would be done, and writes nothing.
    #[must_use]
    pub fn dry_run(self, dry_run: bool) -> Self {
        Self { dry_run, ..self }
    }

    /// Also reverts in files that changed since, if only other lines changed.
    #[must_use]
    pub fn rebase(self, rebase: bool) -> Self {
        Self { rebase, ..self }
    }

    /// Sets a program that decides, with the old contents in place, whether they stay.
    #[must_use]
    pub fn check(self, check: impl Into<Option<Check>>) -> Self {
        Self { check: check.into(), ..self }
    }
}

/// A decision on an interrupted transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Decision {
    /// As the recovery table says.
    #[default]
    Table,
    /// Commit it.
    Forward,
    /// Roll it back.
    Back,
    /// Put its folder aside; the files stay as they are.
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
    /// Reports what would be done, and does nothing.
    pub plan_only: bool,
    /// Uses a journal that was not written in its folder.
    pub trust_journal: bool,
    /// Uses a journal of another machine.
    pub other_host: bool,
}

impl RecoverOptions {
    /// Recovers as the recovery table says, and only what was interrupted on this machine and in this folder.
    #[must_use]
    pub const fn new() -> Self {
        Self { decision: Decision::Table, plan_only: false, trust_journal: false, other_host: false }
    }

    /// Sets the decision about the transaction; only for one that is named.
    #[must_use]
    pub const fn decision(self, decision: Decision) -> Self {
        Self { decision, ..self }
    }

    /// Reports what would be done, and does nothing.
    #[must_use]
    pub const fn plan_only(self, plan_only: bool) -> Self {
        Self { plan_only, ..self }
    }

    /// Uses a journal that was not written in its folder.
    #[must_use]
    pub const fn trust_journal(self, trust_journal: bool) -> Self {
        Self { trust_journal, ..self }
    }

    /// Uses a journal of another machine.
    #[must_use]
    pub const fn other_host(self, other_host: bool) -> Self {
        Self { other_host, ..self }
    }
}
