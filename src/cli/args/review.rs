//! The arguments of `review`, and of commands whose changes are reviewed before they are made.

use clap::{Args, ValueEnum};

#[derive(Debug, Args)]
pub(crate) struct ReviewArgs {
    /// The open transaction, as `stage` printed it [default: the only one that is open]
    pub(crate) id: Option<String>,
    /// Do not ask in the end what becomes of the rest: keep it open, or discard it
    #[arg(long, value_enum, value_name = "HOW")]
    pub(crate) rest: Option<RestArg>,
    /// Serve a page for a browser of this machine instead, and print its address
    #[cfg(feature = "web")]
    #[arg(long, conflicts_with_all = ["id", "rest"])]
    pub(crate) web: bool,
    /// The port of the page [default: a free one]
    #[cfg(feature = "web")]
    #[arg(long, value_name = "N", requires = "web")]
    pub(crate) port: Option<u16>,
}

/// What becomes of what is not taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum RestArg {
    Keep,
    Discard,
}

// How the changes of a command are picked. A doc comment would be taken for the command's.
#[derive(Debug, Args)]
pub(crate) struct PickArgs {
    /// Ask about each change first, and commit what is taken, as `review` does
    #[arg(short, long)]
    pub(crate) pick: bool,
    /// Do not ask in the end, and keep the rest as an open transaction, or discard it
    #[arg(long, value_enum, value_name = "HOW", requires = "pick")]
    pub(crate) rest: Option<RestArg>,
}
