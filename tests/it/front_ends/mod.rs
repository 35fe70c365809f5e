//! The programs in front of the engine, as their users and clients meet them.

#[cfg(feature = "cli")]
mod cli;
#[cfg(all(feature = "cli", feature = "delegate"))]
mod delegate;
mod hooks;
#[cfg(all(feature = "cli", feature = "mcp"))]
mod mcp;
#[cfg(all(feature = "cli", feature = "mcp", feature = "web"))]
mod web;
