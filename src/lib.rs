//! Many edits over many files, as one transaction, or nothing at all.

pub mod digest;
pub mod errno;
pub mod error;
pub mod fs;
pub mod identity;
pub mod limits;
pub mod path;
pub mod request;
pub mod text;
