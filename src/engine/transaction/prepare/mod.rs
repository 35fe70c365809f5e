//! From a request to what a commit needs: paths resolved, targets locked, files read and edited.
//!
//! Architecture invariant: nothing is written here.

pub(crate) mod file_report;
pub(crate) mod file_systems;
pub(crate) mod folder_modes;
mod held;
pub(crate) mod lock_targets;
pub(crate) mod other_files;
pub(crate) mod permissions;
pub(crate) mod prefetch;
pub(crate) mod preflight;
pub(crate) mod prepared;
pub(crate) mod project;
pub(crate) mod read_files;
pub(crate) mod reader;
pub(crate) mod reapplicable;
pub(crate) mod request;
pub(crate) mod request_paths;
pub(crate) mod resolve;
pub(crate) mod set_id;
mod similar_path;
pub(crate) mod streaming;
