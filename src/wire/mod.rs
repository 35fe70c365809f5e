//! The JSON of requests and answers, the same for the command line and for MCP.

mod convert;
pub mod failure;
mod fault_words;
pub mod file_result;
pub mod hints;
pub mod history;
#[cfg(feature = "mcp")]
mod lenient;
pub mod open;
pub mod program;
pub mod read;
pub mod replace;
pub mod request;
pub mod response;
#[cfg(feature = "cli")]
pub(crate) mod review;
#[cfg(feature = "mcp")]
pub(crate) mod tools;
mod version;

pub use failure::failure;
pub use request::{EditJson, FileRequestJson, RequestJson, parse};
pub use response::{Shape, success_multi, success_single};
pub use version::SCHEMA_VERSION;
#[cfg(feature = "schema")]
pub(crate) use version::VersionedAnswer;
