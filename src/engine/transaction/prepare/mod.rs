//! From a request to a draft: paths resolved, targets locked, files read and edited. Nothing is written yet.

pub(crate) mod ahead;
pub(crate) mod asked;
pub(crate) mod contended;
pub(crate) mod draft;
pub(crate) mod elsewhere;
pub(crate) mod ground;
pub(crate) mod large;
pub(crate) mod possible;
pub(crate) mod project;
pub(crate) mod read;
pub(crate) mod reader;
pub(crate) mod resolve;
pub(crate) mod roles;
pub(crate) mod set_id;
pub(crate) mod snapshot;
