//! Delays the panic of an observer until it can no longer interrupt a rollback.

use std::any::Any;
use std::panic::{self, AssertUnwindSafe};
use std::sync::{Mutex, PoisonError};

use crate::engine::{Observer, Phase};

/// Passes progress on until the observer panics.
pub(crate) struct Sheltered<'a> {
    observer: &'a dyn Observer,
    panic: Mutex<Option<Box<dyn Any + Send>>>,
}

impl<'a> Sheltered<'a> {
    pub(crate) const fn new(observer: &'a dyn Observer) -> Self {
        Self { observer, panic: Mutex::new(None) }
    }

    /// Resumes the panic, if there was one.
    pub(crate) fn let_out(self) {
        if let Some(panic) = self.panic.into_inner().unwrap_or_else(PoisonError::into_inner) {
            panic::resume_unwind(panic);
        }
    }
}

impl Observer for Sheltered<'_> {
    fn progress(&self, phase: Phase, done: usize, total: usize) {
        let mut panic = self.panic.lock().unwrap_or_else(PoisonError::into_inner);
        if panic.is_none() {
            let told = AssertUnwindSafe(|| self.observer.progress(phase, done, total));
            *panic = panic::catch_unwind(told).err();
        }
    }
}
