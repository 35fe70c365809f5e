//! What the tests share: workspaces, file systems that are made for a test, the sources of the repository.

pub(crate) mod mounts;
#[cfg(feature = "cli")]
pub(crate) mod schema;
pub(crate) mod selected;
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

/// The variable by which the tests, and every program that was built with them, run by portable calls alone.
const PORTABLE: &str = "TXEDIT_TEST_PORTABLE";

/// Returns whether a variable is a setting of the program, which no test inherits.
#[cfg(feature = "cli")]
pub(crate) fn is_setting(name: impl AsRef<std::ffi::OsStr>) -> bool {
    let name = name.as_ref().to_string_lossy();
    name.starts_with("TXEDIT_") && name != PORTABLE
}

/// Returns whether programs can be traced here.
#[cfg(feature = "cli")]
pub(crate) fn has_strace() -> bool {
    let traced = std::process::Command::new("strace").args(["-qq", "true"]).output();
    traced.is_ok_and(|output| output.status.success())
}

/// True if the tests run by portable calls alone (`TXEDIT_TEST_PORTABLE`). A test of what those do not have says so, and
/// leaves that out.
pub(crate) fn is_without(what: &str) -> bool {
    let is_portable = std::env::var_os(PORTABLE).is_some();
    if is_portable {
        eprintln!("left out: portable calls have no {what}");
    }
    is_portable
}
