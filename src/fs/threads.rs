//! Whether threads are to be had: the system may refuse them, by a limit of the user, the container or the machine.

use std::sync::Mutex;
use std::thread::Builder;

/// Whether this process may start so many more threads now: starts them, and ends them again. For what starts its
/// threads by itself and panics where it cannot.
#[must_use]
pub fn may_start(count: usize) -> bool {
    let end = Mutex::new(());
    let waits = || drop(end.lock());
    std::thread::scope(|scope| {
        // As long as this is there none of them ends.
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
    fn a_few_are_to_be_had() {
        assert!(may_start(0) && may_start(3));
    }
}
