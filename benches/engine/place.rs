//! Where benchmarks touch the disk.

#![expect(clippy::print_stderr, reason = "which file system was measured belongs to the figures")]

use std::path::PathBuf;

use tempfile::TempDir;
use txedit::fs::{Fs as _, OsFs};

/// The folder that the caller names, else one in the target folder: never the system's own for temporary files, which
/// often is in memory.
fn folder() -> PathBuf {
    std::env::var_os("TXEDIT_BENCH_DIR").map_or_else(|| env!("CARGO_TARGET_TMPDIR").into(), PathBuf::from)
}

/// Says which file system is measured.
pub(crate) fn announce() {
    let fs = OsFs::new();
    let folder = folder();
    let real = fs.canonical(&folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    let system = fs.file_system(&fs.open_folder(&real).unwrap()).unwrap();
    eprintln!("on {} at {}; TXEDIT_BENCH_DIR names another folder", system.name, real.display());
}

/// A new folder there, gone when it is dropped.
pub(crate) fn scratch() -> TempDir {
    tempfile::Builder::new().prefix("bench-").tempdir_in(folder()).unwrap()
}
