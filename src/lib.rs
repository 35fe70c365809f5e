//! Many edits over many files, as one transaction, or nothing at all.

pub mod commit;
pub mod digest;
pub mod engine;
pub mod errno;
pub mod error;
pub mod fs;
pub mod identity;
pub mod journal;
pub mod limits;
pub mod path;
pub mod plan;
pub mod request;
pub mod text;
pub mod wire;
