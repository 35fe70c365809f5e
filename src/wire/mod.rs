//! The JSON that goes over the wire: one request, one answer, for the command line and for MCP alike.

mod convert;
pub mod failure;
pub mod hints;
pub mod history;
pub mod open;
pub mod read;
pub mod replace;
pub mod request;
pub mod response;
#[cfg(feature = "mcp")]
pub(crate) mod tools;

pub use failure::failure;
pub use request::{EditJson, FileRequestJson, RequestJson, parse};
pub use response::{Shape, success_multi, success_single};
