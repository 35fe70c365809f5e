//! The state folder of a workspace, and what is kept in it.
//!
//! Architecture invariant: nothing here decides what becomes of a file of the user.

pub(super) mod aside;
pub(super) mod barrier;
pub(super) mod births;
pub(super) mod delete_tree;
pub(super) mod files;
pub(super) mod folder;
pub(super) mod git_folder;
pub(super) mod home;
pub(super) mod id;
pub(super) mod interrupted;
pub(super) mod known;
pub(super) mod lock;
pub(super) mod lookup;
pub(super) mod parts;
pub(super) mod private;
pub(super) mod read_window;
pub(super) mod removed_folders;
pub(super) mod section;
pub(crate) mod snapshot;
pub(super) mod state;
pub(super) mod sweep;
pub(super) mod view_folder;
pub(super) mod workspace;
