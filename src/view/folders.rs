//! Walks all folders of a tree, by several threads.

use std::io;
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread::{self, Builder};

/// The most threads that walk.
const THREADS: usize = 8;

/// Looks into the root, which has an empty path, and into each folder that `look` returns: those of one depth in any order,
/// before all that are deeper. It ends with the first error.
pub(super) fn each_folder(look: &(dyn Fn(&Path) -> io::Result<Vec<PathBuf>> + Sync)) -> io::Result<()> {
    let threads = thread::available_parallelism().map_or(1, NonZero::get).min(THREADS);
    let mut level = vec![PathBuf::new()];
    while !level.is_empty() {
        let (next, deeper) = (AtomicUsize::new(0), Mutex::new(Ok(Vec::new())));
        let work = || {
            while let Some(folder) = level.get(next.fetch_add(1, Ordering::Relaxed)) {
                let found = look(folder);
                let mut deeper = deeper.lock().unwrap_or_else(PoisonError::into_inner);
                match (&mut *deeper, found) {
                    (Ok(deeper), Ok(found)) => deeper.extend(found),
                    (Ok(_), Err(error)) => *deeper = Err(error),
                    (Err(_), _) => return,
                }
            }
        };
        thread::scope(|scope| {
            // Where none can be started, this one does it alone.
            let _ = (1..threads.min(level.len())).try_for_each(|_| Builder::new().spawn_scoped(scope, work).map(drop));
            work();
        });
        level = deeper.into_inner().unwrap_or_else(PoisonError::into_inner)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_folder_is_looked_into_once() {
        let seen = Mutex::new(Vec::new());
        each_folder(&|folder| {
            seen.lock().unwrap().push(folder.to_owned());
            let depth = folder.iter().count();
            Ok((0..4).filter(|_| depth < 4).map(|number| folder.join(number.to_string())).collect())
        })
        .unwrap();
        let mut seen = seen.into_inner().unwrap();
        seen.sort();
        seen.dedup();
        assert_eq!(seen.len(), 1 + 4 + 16 + 64 + 256);
    }

    #[test]
    fn an_error_ends_it() {
        let failed = each_folder(&|folder| match folder.iter().count() {
            3 => Err(io::ErrorKind::Interrupted.into()),
            _ => Ok(vec![folder.join("a"), folder.join("b")]),
        });
        assert_eq!(failed.unwrap_err().kind(), io::ErrorKind::Interrupted);
    }
}
