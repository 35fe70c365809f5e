//! Rules: which fault happens at which calls.

use std::ffi::OsStr;
use std::sync::Arc;

use super::{FaultCall, FaultOperation};

type Condition = Arc<dyn Fn(&FaultCall) -> bool + Send + Sync>;
type FaultHook = Arc<dyn Fn(&FaultCall) + Send + Sync>;
type Hidden = Arc<dyn Fn(&OsStr) -> bool + Send + Sync>;

/// The fault at a call.
#[derive(Clone)]
pub(super) enum FaultEffect {
    Fail(i32),
    FailAfter(i32),
    Pretend,
    Short(usize),
    Before(FaultHook),
    After(FaultHook),
    Hide(Hidden),
    Miss,
}

/// A fault, and the calls at which it happens. Calls are counted from the moment the rule is added.
#[derive(Clone)]
pub struct Rule {
    pub(super) matches: Option<Condition>,
    pub(super) nth: u64,
    pub(super) from_then_on: bool,
    pub(super) fault: FaultEffect,
}

impl Rule {
    const fn new(nth: u64, fault: FaultEffect) -> Self {
        Self { matches: None, nth, from_then_on: false, fault }
    }

    /// The `nth` call, counted from 1, is not made and fails with this `errno`.
    #[must_use]
    pub const fn fail(nth: u64, errno: i32) -> Self {
        Self::new(nth, FaultEffect::Fail(errno))
    }

    /// The `nth` call is made, and fails nevertheless.
    #[must_use]
    pub const fn fail_after(nth: u64, errno: i32) -> Self {
        Self::new(nth, FaultEffect::FailAfter(errno))
    }

    /// The `nth` call, if it syncs, renames, removes a name, changes times or permissions, or asks for a lease, does nothing and
    /// reports success: a disk that lies, or a step left out.
    #[must_use]
    pub const fn pretend(nth: u64) -> Self {
        Self::new(nth, FaultEffect::Pretend)
    }

    /// The `nth` call, if it reads, writes or copies, moves at most this many bytes.
    #[must_use]
    pub const fn short(nth: u64, bytes: usize) -> Self {
        Self::new(nth, FaultEffect::Short(bytes))
    }

    /// Runs this before the `nth` call. It may use the same file system, and it may end the process.
    #[must_use]
    pub fn before(nth: u64, run: impl Fn(&FaultCall) + Send + Sync + 'static) -> Self {
        Self::new(nth, FaultEffect::Before(Arc::new(run)))
    }

    /// Runs this after the `nth` call was made, whether it succeeded or not.
    #[must_use]
    pub fn after(nth: u64, run: impl Fn(&FaultCall) + Send + Sync + 'static) -> Self {
        Self::new(nth, FaultEffect::After(Arc::new(run)))
    }

    /// The `nth` call, if it lists a folder, leaves out these names, as if they were never examined.
    #[must_use]
    pub fn hide(nth: u64, is_hidden: impl Fn(&OsStr) -> bool + Send + Sync + 'static) -> Self {
        Self::new(nth, FaultEffect::Hide(Arc::new(is_hidden)))
    }

    /// The `nth` call, if it reads the metadata of a name, finds nothing there.
    #[must_use]
    pub const fn miss(nth: u64) -> Self {
        Self::new(nth, FaultEffect::Miss)
    }

    /// Counts only calls of this operation.
    #[must_use]
    pub fn of(self, operation: FaultOperation) -> Self {
        self.matching(move |call| call.operation == operation)
    }

    /// Counts only calls that match.
    #[must_use]
    pub fn matching(mut self, matches: impl Fn(&FaultCall) -> bool + Send + Sync + 'static) -> Self {
        self.matches = Some(Arc::new(matches));
        self
    }

    /// Applies to all later calls as well.
    #[must_use]
    pub const fn from_then_on(mut self) -> Self {
        self.from_then_on = true;
        self
    }
}
