//! The house rules: layers, lengths, documents.

mod architecture;
mod documents;
#[cfg(feature = "cli")]
mod readme;
mod tidy;
