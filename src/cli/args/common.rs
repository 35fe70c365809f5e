//! The options of every command.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use serde::Deserialize;

/// The options that every command takes. Each has one short line of help, without its environment variable: the manual
/// pages name those, and docs/cli.md says the rest.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Common options")]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
pub(crate) struct Common {
    /// Change to this folder first; repeatable
    #[arg(short = 'C', global = true, value_name = "DIR")]
    pub(crate) folders: Vec<PathBuf>,

    /// The workspace [default: the project around the current folder]
    #[arg(long, global = true, value_name = "DIR", env = "TXEDIT_ROOT", hide_env = true)]
    pub(crate) root: Option<PathBuf>,

    /// The state folder [default: in the git folder, else .txedit]
    #[arg(long, global = true, value_name = "DIR", env = "TXEDIT_STATE_DIR", hide_env = true)]
    pub(crate) state_dir: Option<PathBuf>,

    /// Survive a power loss, or only a killed process (quicker): power or process [default: power]
    #[arg(
        long,
        global = true,
        value_enum,
        value_name = "LEVEL",
        hide_possible_values = true,
        env = "TXEDIT_DURABILITY",
        hide_env = true
    )]
    pub(crate) durability: Option<DurabilityArg>,

    /// Replace files by: auto, exchange, aside or in-place [default: auto]
    #[arg(
        long,
        global = true,
        value_enum,
        value_name = "HOW",
        hide_possible_values = true,
        env = "TXEDIT_SWAP",
        hide_env = true
    )]
    pub(crate) swap: Option<SwapArg>,

    /// Seconds to wait for other transactions [default: 10]
    #[arg(
        long,
        global = true,
        value_name = "S",
        env = "TXEDIT_LOCK_TIMEOUT",
        hide_env = true,
        allow_negative_numbers = true
    )]
    pub(crate) lock_timeout: Option<f64>,

    /// Run CMD with the new files in place; change nothing if it fails
    #[arg(long, global = true, value_name = "CMD", env = "TXEDIT_CHECK", hide_env = true)]
    pub(crate) check: Option<OsString>,

    /// Also run the check that a plan names
    #[arg(
        long,
        global = true,
        env = "TXEDIT_ALLOW_CHECKS",
        hide_env = true,
        value_parser = yes_or_no
    )]
    pub(crate) allow_checks: bool,

    /// Seconds that a check may take [default: 600]
    #[arg(
        long,
        global = true,
        value_name = "S",
        env = "TXEDIT_CHECK_TIMEOUT",
        hide_env = true,
        allow_negative_numbers = true
    )]
    pub(crate) check_timeout: Option<f64>,

    /// Where checks run: auto, view or tree [default: auto]
    #[arg(
        long,
        global = true,
        value_enum,
        value_name = "WHERE",
        hide_possible_values = true,
        env = "TXEDIT_CHECK_IN",
        hide_env = true
    )]
    pub(crate) check_in: Option<CheckInArg>,

    /// A folder that is real in a view: a build cache; repeatable
    #[arg(long, global = true, value_name = "DIR")]
    pub(crate) through: Vec<PathBuf>,

    /// Print one JSON object on stdout, also for a failure
    #[arg(long, global = true, env = "TXEDIT_JSON", hide_env = true, value_parser = yes_or_no)]
    pub(crate) json: bool,

    /// Allow edits in .git, .hg and the like
    #[arg(
        long,
        global = true,
        env = "TXEDIT_ALLOW_VCS",
        hide_env = true,
        value_parser = yes_or_no
    )]
    pub(crate) allow_vcs: bool,

    /// Allow a plan to set the set-user-id or set-group-id bit
    // In the manual pages; the list of the help is long enough.
    #[arg(long, global = true, hide = true, env = "TXEDIT_ALLOW_SET_ID", hide_env = true, value_parser = yes_or_no)]
    pub(crate) allow_set_id: bool,

    /// Neither read nor write files matching this .gitignore line; repeatable
    #[arg(long, global = true, value_name = "GLOB", allow_hyphen_values = true)]
    pub(crate) deny: Vec<String>,

    /// Use colours: auto, always or never [default: auto]
    #[arg(
        long,
        global = true,
        value_enum,
        value_name = "WHEN",
        hide_possible_values = true,
        env = "TXEDIT_COLOR",
        hide_env = true
    )]
    pub(crate) color: Option<ColorArg>,

    /// No notes and no progress bars
    #[arg(
        short,
        long,
        global = true,
        env = "TXEDIT_QUIET",
        hide_env = true,
        value_parser = yes_or_no
    )]
    pub(crate) quiet: bool,

    /// Also list every file and every edit
    #[arg(
        short,
        long,
        global = true,
        env = "TXEDIT_VERBOSE",
        hide_env = true,
        value_parser = yes_or_no
    )]
    pub(crate) verbose: bool,
}

/// The value of a yes-or-no variable. Any other word is an error: it may be a misspelled no.
fn yes_or_no(word: &str) -> Result<bool, &'static str> {
    match &*word.to_ascii_lowercase() {
        "1" | "true" | "t" | "yes" | "y" | "on" => Ok(true),
        "" | "0" | "false" | "f" | "no" | "n" | "off" => Ok(false),
        _ => Err("write yes or no, 1 or 0, true or false, on or off; or leave the variable empty"),
    }
}

/// Where checks run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum CheckInArg {
    // In a view where there can be one, otherwise in the tree.
    #[default]
    Auto,
    View,
    Tree,
}

/// How new contents take the place of old ones.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum SwapArg {
    // The best that the file system can do.
    #[default]
    Auto,
    Exchange,
    // The old file moves out of its name first.
    Aside,
    // What is a mount point is overwritten.
    InPlace,
}

/// The failures that a commit survives. The variants have no doc comments, which would become paragraphs of `--help`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum DurabilityArg {
    // Power loss and `kill -9`.
    #[default]
    Power,
    // `kill -9` alone.
    Process,
}

/// When colours are used.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum ColorArg {
    // On terminals that support them.
    #[default]
    Auto,
    Always,
    Never,
}
