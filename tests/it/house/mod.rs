//! The house rules: layers, lengths, documents.

mod architecture;
#[cfg(all(feature = "cli", feature = "mcp", feature = "delegate"))]
mod commands;
mod documents;
#[cfg(feature = "cli")]
mod examples;
mod front_door;
#[cfg(feature = "cli")]
mod locks;
#[cfg(feature = "cli")]
pub(crate) mod readme;
#[cfg(all(feature = "cli", feature = "delegate"))]
mod schemas;
mod tidy;
mod words;
