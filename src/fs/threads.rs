//! Tests whether threads can be started: a limit of the user, the container or the machine may prevent it.

use std::sync::Mutex;
use std::thread::Builder;

/// Returns whether this process can start `count` more threads now: it starts them and ends them again. It is for
/// libraries that start their own threads and panic where they cannot.
#[must_use]
pub fn may_start(count: usize) -> bool {
    let end = Mutex::new(());
    let waits = || drop(end.lock());
    std::thread::scope(|scope| {
        // While this lock is held, none of them ends.
        let all = end.lock();
        let started = (0..count).all(|_| Builder::new().spawn_scoped(scope, waits).is_ok());
        drop(all);
        started
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_few_threads_can_be_started() {
        assert!(may_start(0) && may_start(3));
    }
}
