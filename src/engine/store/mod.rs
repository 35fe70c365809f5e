//! The state folder of a workspace, and what is kept in it: ids, locks, folders of transactions, trash, contents put aside.

pub(super) mod aside;
pub(super) mod barrier;
pub(super) mod delete_tree;
pub(super) mod files;
pub(super) mod folder;
pub(super) mod id;
pub(super) mod id_order;
pub(super) mod kept;
pub(super) mod lock;
pub(super) mod made_folders;
pub(super) mod private;
pub(super) mod removed_folders;
pub(super) mod state;
pub(super) mod sweep;
pub(super) mod trash;
