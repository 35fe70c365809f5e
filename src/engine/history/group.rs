//! Transactions that are listed and undone together.

use std::fmt;

use crate::journal::Header;

/// What several transactions have in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Group<'a> {
    /// The session of their caller.
    Session(&'a str),
    /// The campaign over many workspaces that they are a part of.
    Campaign(&'a str),
}

impl Group<'_> {
    /// Returns whether a transaction is one of them.
    pub(crate) fn has(self, header: &Header) -> bool {
        match self {
            Self::Session(name) => header.session.as_deref() == Some(name),
            Self::Campaign(name) => header.campaign.as_deref() == Some(name),
        }
    }
}

impl fmt::Display for Group<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Session(name) => write!(f, "the session {name}"),
            Self::Campaign(name) => write!(f, "the campaign {name}"),
        }
    }
}
