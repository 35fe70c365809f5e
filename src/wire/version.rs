//! The version of the JSON that the program reads and writes.

#[cfg(feature = "schema")]
use serde::Serialize;

/// The version of requests and answers as JSON. It changes when a field goes away, or changes its type or its meaning; a new
/// field does not change it.
pub const SCHEMA_VERSION: u32 = 1;

/// An answer with the version of its schema.
#[cfg(feature = "schema")]
#[derive(Debug, Serialize, schemars::JsonSchema)]
pub(crate) struct VersionedAnswer<'a, T> {
    /// The version of this schema: another one has other fields.
    #[schemars(extend("const" = SCHEMA_VERSION))]
    schema_version: u32,
    #[serde(flatten)]
    answer: &'a T,
}

#[cfg(feature = "schema")]
impl<'a, T> VersionedAnswer<'a, T> {
    /// The answer with the version that is written now.
    pub(crate) const fn new(answer: &'a T) -> Self {
        Self { schema_version: SCHEMA_VERSION, answer }
    }
}
