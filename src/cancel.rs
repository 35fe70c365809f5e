//! Cancels a call from another thread or from a signal.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock};

/// Asks a running call to stop. Clones are the same token; cancelling cannot be undone.
///
/// A call stops only while every file is unchanged: until the first file is swapped. After that it finishes, and
/// returns its usual result; while a check runs, it stops the check and rolls back.
///
/// ```
/// use txedit::{CancelToken, Edit, Engine, ErrorKind, Outcome, Request, Run};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = tempfile::tempdir()?;
/// # std::fs::write(folder.path().join("a.rs"), "old")?;
/// let engine = Engine::open(folder.path())?;
/// let request = Request::new().edit("a.rs", Edit::replace("old", "new"));
/// let token = CancelToken::new();
/// token.clone().cancel(); // Usually in another thread.
/// let error = engine.apply(&request, Run::default().cancelled_by(&token)).unwrap_err();
/// assert_eq!((error.kind(), error.outcome()), (ErrorKind::Cancelled, Outcome::Unchanged));
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Default)]
pub struct CancelToken(Arc<AtomicBool>);

/// A token that is never cancelled: from the first swap on, a call finishes.
pub(crate) static NEVER: LazyLock<CancelToken> = LazyLock::new(CancelToken::new);

impl CancelToken {
    /// A token that is not cancelled.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Asks the calls that have this token to stop. Safe in a signal handler: it stores one flag.
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// True once [`cancel`](Self::cancel) was called on this token or one of its clones.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// The flag behind the token, for a signal handler that sets one, such as `signal_hook::flag::register`.
    #[must_use]
    pub fn flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.0)
    }
}

/// A token that is cancelled once the flag is set.
impl From<Arc<AtomicBool>> for CancelToken {
    fn from(flag: Arc<AtomicBool>) -> Self {
        Self(flag)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clones_and_the_flag_are_one_token() {
        let token = CancelToken::new();
        let clone = token.clone();
        assert!(!token.is_cancelled());
        token.flag().store(true, Ordering::Relaxed);
        assert!(token.is_cancelled() && clone.is_cancelled() && !CancelToken::new().is_cancelled());
        let flag = Arc::new(AtomicBool::new(false));
        CancelToken::from(Arc::clone(&flag)).cancel();
        assert!(flag.load(Ordering::Relaxed));
    }
}
