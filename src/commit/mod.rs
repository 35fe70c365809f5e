//! The commit protocol as data: a plan becomes phases of steps, and the steps done become steps of a rollback.
//!
//! Because it is data, a dry run can show it, the executor only walks it, and a test can leave out a step and watch
//! what breaks.

pub mod backward;
pub mod forward;
pub mod protocol;
pub mod step;

pub use protocol::Protocol;
