//! What the tests share: workspaces, file systems that are made for a test, the sources of the repository.

pub(crate) mod mounts;
pub(crate) mod sources;
pub(crate) mod workspace;

/// The name of a test for `--exact`, in a module that gives its `module_path!()`: the path without the crate.
pub(crate) fn name_of(module: &str, test: &str) -> String {
    let (_, path) = module.split_once("::").unwrap();
    format!("{path}::{test}")
}

/// True if `TXEDIT_TEST_FULL` is set: all that is tried within the time of a continuous integration, and not the share of it
/// that `cargo test` tries by default.
pub(crate) fn is_full() -> bool {
    std::env::var_os("TXEDIT_TEST_FULL").is_some()
}
