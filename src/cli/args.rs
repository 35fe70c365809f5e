//! The command line as it was typed: nothing is checked here beyond its shape.

#[cfg(feature = "delegate")]
mod delegate;
mod transactions;

use std::ffi::OsString;
#[cfg(feature = "mcp")]
use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, ColorChoice, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;

use crate::request::edit::Matching;

#[cfg(all(feature = "delegate", feature = "mcp"))]
pub(crate) use delegate::ServerDelegateArgs;
#[cfg(feature = "delegate")]
pub(crate) use delegate::{AskArgs, DelegateCommand};
pub(crate) use transactions::{
    CommitArgs, DecisionArgs, HistoryCommand, JournalArgs, KeptCommand, LogArgs, OpenArgs, RecoverArgs, RedoArgs,
    ShowArgs, ShowFormat, StageArgs, TakeBackArgs, UndoArgs,
};

/// Many edits over many files, as one transaction, or nothing at all.
#[derive(Debug, Parser)]
#[command(name = "txedit", version, max_term_width = 100, after_help = STATUSES)]
pub(crate) struct CommandLine {
    #[command(flatten)]
    pub(crate) common: Common,
    #[command(subcommand)]
    pub(crate) command: Command,
}

const STATUSES: &str = "\
Exit status:
  0    done
  1    an edit did not apply, nothing changed
  2    usage or validation
  3    conflict: hash, concurrent change, undo
  4    lock timeout
  5    input or output failed; rolled back, or nothing swapped
  6    recovery required
  7    the check failed; rolled back
  130  interrupted before the swap, or in the check; nothing changed";

const ROOT: &str = "The workspace [default: $CLAUDE_PROJECT_DIR, else the nearest folder upwards with .txedit or a \
                    VCS folder, else the current folder, but neither / nor the home folder]";

/// What every command takes.
#[derive(Debug, Args)]
#[command(next_help_heading = "Common options")]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
pub(crate) struct Common {
    /// The workspace
    #[arg(long, global = true, value_name = "DIR", env = "TXEDIT_ROOT", hide_env_values = true, help = ROOT)]
    pub(crate) root: Option<PathBuf>,

    /// What a commit is safe against
    #[arg(long, global = true, value_enum, default_value_t, env = "TXEDIT_DURABILITY", hide_env_values = true)]
    pub(crate) durability: Durability,

    /// Seconds to wait for other transactions
    #[arg(
        long,
        global = true,
        value_name = "S",
        default_value = "10",
        env = "TXEDIT_LOCK_TIMEOUT",
        hide_env_values = true
    )]
    pub(crate) lock_timeout: f64,

    /// Run by `sh -c` with the new files in place: if it fails, all files are put back
    #[arg(long, global = true, value_name = "CMD", env = "TXEDIT_CHECK", hide_env_values = true)]
    pub(crate) check: Option<OsString>,

    /// Run the check that a plan names, too: it is a command, and the plan may be somebody else's
    #[arg(
        long,
        global = true,
        env = "TXEDIT_ALLOW_CHECKS",
        hide_env_values = true,
        value_parser = yes_or_no
    )]
    pub(crate) allow_checks: bool,

    /// Seconds that a check may take
    #[arg(
        long,
        global = true,
        value_name = "S",
        default_value = "600",
        env = "TXEDIT_CHECK_TIMEOUT",
        hide_env_values = true
    )]
    pub(crate) check_timeout: f64,

    /// Print one JSON object on stdout, failures too
    #[arg(long, global = true, env = "TXEDIT_JSON", hide_env_values = true, value_parser = yes_or_no)]
    pub(crate) json: bool,

    /// Let .git, .hg and the like be read and written, which run hooks and settings as commands
    #[arg(
        long,
        global = true,
        env = "TXEDIT_ALLOW_VCS",
        hide_env_values = true,
        value_parser = yes_or_no
    )]
    pub(crate) allow_vcs: bool,

    /// Let a plan, or a caller of the server, make a file set-user-id or set-group-id
    #[arg(long, global = true, env = "TXEDIT_ALLOW_SET_ID", hide_env_values = true, value_parser = yes_or_no)]
    pub(crate) allow_set_id: bool,

    /// Neither read nor write what fits this line of a .gitignore, in which braces are alternatives, too, nor what a symlink
    /// leads to that fits in the folder which it names, the root if none; repeatable [env: `TXEDIT_DENY`, with : between]
    #[arg(long, global = true, value_name = "GLOB", allow_hyphen_values = true)]
    pub(crate) deny: Vec<String>,

    /// When to use colours
    #[arg(
        long,
        global = true,
        value_enum,
        value_name = "WHEN",
        default_value_t,
        env = "TXEDIT_COLOR",
        hide_env_values = true
    )]
    pub(crate) color: ColorChoice,

    /// Nothing for people: no notes, no progress bars
    #[arg(
        short,
        long,
        global = true,
        env = "TXEDIT_QUIET",
        hide_env_values = true,
        value_parser = yes_or_no
    )]
    pub(crate) quiet: bool,

    /// More for people: every file and every edit
    #[arg(
        short,
        long,
        global = true,
        env = "TXEDIT_VERBOSE",
        hide_env_values = true,
        value_parser = yes_or_no
    )]
    pub(crate) verbose: bool,
}

/// The value of a variable that is yes or no. A word that is neither may be a no that would open a door.
fn yes_or_no(word: &str) -> Result<bool, &'static str> {
    match &*word.to_ascii_lowercase() {
        "1" | "true" | "t" | "yes" | "y" | "on" => Ok(true),
        "" | "0" | "false" | "f" | "no" | "n" | "off" => Ok(false),
        _ => Err("write yes or no, 1 or 0, true or false, on or off; or leave the variable empty"),
    }
}

/// What a commit is safe against.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Durability {
    /// Power loss, and kill -9.
    #[default]
    Power,
    /// kill -9, not power loss; quicker.
    Process,
}

// Only the command that was typed is built: all twenty take longer than an edit of a file.
#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub(crate) enum Command {
    /// Apply a plan: many edits of many files, all or nothing
    Apply(ApplyArgs),
    /// Replace a text in one file
    Edit(EditArgs),
    /// Replace a text, or a pattern, in all files of a tree, as one transaction
    Replace(ReplaceArgs),
    /// Open a transaction over several calls, or add to one; no file is changed before its commit
    Stage(StageArgs),
    /// Show what the commit of an open transaction would do, and the hash of that plan
    Preview(OpenArgs),
    /// Commit an open transaction
    Commit(CommitArgs),
    /// Drop an open transaction
    Rollback(OpenArgs),
    /// List committed transactions, the newest first
    Log(LogArgs),
    /// Show what a transaction changed
    Show(ShowArgs),
    /// Take a committed transaction back, by a transaction of its own
    Undo(UndoArgs),
    /// Take an undo back
    Redo(RedoArgs),
    /// Interrupted and open transactions, kept contents, anything odd
    Status,
    /// Finish or take back interrupted transactions
    Recover(RecoverArgs),
    /// Contents of others that a rollback put aside
    #[command(subcommand)]
    Kept(KeptCommand),
    /// The transactions that can be undone
    #[command(subcommand)]
    History(HistoryCommand),
    /// Verify a journal and print it
    Journal(JournalArgs),
    /// Try out what the file system of a folder guarantees
    Doctor(DoctorArgs),
    /// See it work in a scratch folder: a commit, a failing edit, a kill -9 and its recovery, an undo
    Tour,
    /// The process that the tour kills
    #[command(hide = true)]
    TourChild(TourChildArgs),
    /// The process that `doctor --torture` kills
    #[command(hide = true)]
    TortureChild(TortureChildArgs),
    /// Let a second model read, propose and check, through its own program; only a transaction writes
    #[cfg(feature = "delegate")]
    #[command(subcommand)]
    Delegate(DelegateCommand),
    /// Serve MCP clients, over stdio unless told otherwise
    #[cfg(feature = "mcp")]
    Mcp(McpArgs),
    /// Print the completion script of a shell
    Completions(CompletionsArgs),
}

/// How the texts of edits are compared with the files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Match {
    /// Byte for byte, line breaks of either kind alike.
    Exact,
    /// Else without trailing white space, else shifted in indentation, else with look-alike punctuation.
    Tolerant,
}

impl From<Match> for Matching {
    fn from(wanted: Match) -> Self {
        match wanted {
            Match::Exact => Self::Exact,
            Match::Tolerant => Self::Tolerant,
        }
    }
}

/// The languages that changes are written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum PatchFormat {
    /// A request of this program, as JSON
    Plan,
    /// A unified or git diff
    Diff,
    /// *** Begin Patch
    Envelope,
    /// <<<<<<< SEARCH
    SearchReplace,
    /// An LSP `WorkspaceEdit`
    WorkspaceEdit,
    /// What `ast-grep --json` prints
    AstGrep,
}

#[derive(Debug, Args)]
pub(crate) struct ApplyArgs {
    #[command(flatten)]
    pub(crate) input: InputArgs,
    /// Succeed also where this very plan was committed before and every file is still as it left it
    #[arg(long)]
    pub(crate) idempotent: bool,
}

#[derive(Debug, Args)]
pub(crate) struct InputArgs {
    /// The plan or patch, or - for stdin; relative paths inside it start at the root
    pub(crate) plan: PathBuf,
    /// The format [default: told by the content]
    #[arg(long, value_enum, value_name = "F")]
    pub(crate) format: Option<PatchFormat>,
    /// How texts are compared, where the plan does not say [default: that of the format, mostly exact]
    #[arg(long = "match", value_enum, value_name = "HOW")]
    pub(crate) matching: Option<Match>,
    /// Print what would change as a diff; write nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
}

#[derive(Debug, Args)]
pub(crate) struct EditArgs {
    /// The file
    pub(crate) file: PathBuf,
    /// The text to replace; it must be there exactly once
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub(crate) old: OsString,
    /// The text that takes its place
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub(crate) new: OsString,
    /// Replace it wherever it is, once at least
    #[arg(long)]
    pub(crate) all: bool,
    /// How the text is compared
    #[arg(long = "match", value_enum, value_name = "HOW", default_value = "exact")]
    pub(crate) matching: Match,
    /// Print what would change as a diff; write nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
}

#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
pub(crate) struct ReplaceArgs {
    /// The text to replace; with --regex, a regular expression in which ^ and $ are the ends of a line; after a --
    /// where it begins with a hyphen
    pub(crate) pattern: String,
    /// The text that takes its place; with --regex, $1 and ${name} are what the groups matched
    pub(crate) replacement: String,
    /// Files and folders [default: the current folder]; what .gitignore names is left out
    pub(crate) paths: Vec<PathBuf>,
    /// The pattern is a regular expression
    #[arg(short = 'E', long)]
    pub(crate) regex: bool,
    /// Only whole words
    #[arg(short, long)]
    pub(crate) word: bool,
    /// Only files whose path fits, or with a ! in front, does not
    #[arg(short, long = "glob", value_name = "G", allow_hyphen_values = true)]
    pub(crate) globs: Vec<String>,
    /// Hidden files, too
    #[arg(long)]
    pub(crate) hidden: bool,
    /// Only if there are so many matches in all
    #[arg(long, value_name = "N")]
    pub(crate) expected_matches: Option<usize>,
    /// Only if no more files than these would change
    #[arg(long, value_name = "N")]
    pub(crate) max_files: Option<usize>,
    /// Print what would change as a diff; write nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
}

#[derive(Debug, Args)]
pub(crate) struct DoctorArgs {
    /// The folder [default: the root]
    pub(crate) folder: Option<PathBuf>,
    /// Instead, kill N processes in a scratch folder there, at random moments of their commits, and check what is left
    #[arg(long, value_name = "N")]
    pub(crate) torture: Option<u32>,
}

#[derive(Debug, Args)]
pub(crate) struct TortureChildArgs {
    /// Which transactions it commits.
    pub(crate) seed: u64,
}

#[derive(Debug, Args)]
pub(crate) struct TourChildArgs {
    /// The plan that it applies.
    pub(crate) plan: PathBuf,
    /// Where it stops to be killed.
    #[arg(value_enum)]
    pub(crate) stop: StopAt,
}

/// Where the tour's child stops.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum StopAt {
    /// With some contents staged and none swapped.
    Stage,
    /// With some files swapped and some not.
    Swap,
}

#[cfg(feature = "mcp")]
#[derive(Debug, Args)]
pub(crate) struct McpArgs {
    /// Serve streamable HTTP there, at /mcp, like 127.0.0.1:8137; the address is printed
    #[arg(long, value_name = "ADDR")]
    pub(crate) http: Option<SocketAddr>,
    /// A file with the token that HTTP clients must send [default: the variable `TXEDIT_MCP_TOKEN`]
    #[arg(long, value_name = "FILE", requires = "http")]
    pub(crate) token_file: Option<PathBuf>,
    /// A name by which HTTP clients may reach this server, besides those of this machine
    #[arg(long = "allow-host", value_name = "NAME", requires = "http")]
    pub(crate) hosts: Vec<String>,
    /// A web page that may call this server, like `https://app.example.com:443`
    #[arg(long = "allow-origin", value_name = "ORIGIN", requires = "http")]
    pub(crate) origins: Vec<String>,
    /// Toolsets: edit,history names them; +delegate,-history changes the default, edit,transactions,history
    #[arg(long, value_name = "LIST", allow_hyphen_values = true)]
    pub(crate) toolsets: Option<String>,
    /// Hide and refuse whatever changes files
    #[arg(long)]
    pub(crate) read_only: bool,
    /// Cut answers beyond so many bytes
    #[arg(long, value_name = "BYTES", default_value_t = crate::limits::ANSWER_BYTES)]
    pub(crate) max_answer_bytes: usize,
    #[cfg(feature = "delegate")]
    #[command(flatten)]
    pub(crate) delegate: ServerDelegateArgs,
}

#[derive(Debug, Args)]
pub(crate) struct CompletionsArgs {
    /// The shell
    #[arg(value_enum)]
    pub(crate) shell: Shell,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;
    use clap::error::ErrorKind::{ArgumentConflict, MissingRequiredArgument, UnknownArgument};

    use super::*;

    #[test]
    fn the_definition_is_sound() {
        CommandLine::command().debug_assert();
    }

    #[test]
    fn texts_may_begin_with_a_hyphen() {
        let line = ["txedit", "edit", "a", "--old", "--x", "--new", "-y"];
        let Command::Edit(edit) = CommandLine::try_parse_from(line).unwrap().command else {
            panic!("another command");
        };
        assert_eq!((edit.old, edit.new), ("--x".into(), "-y".into()));
    }

    #[test]
    fn an_unknown_option_is_no_pattern() {
        let refused = CommandLine::try_parse_from(["txedit", "replace", "-i", "src", "lib"]).unwrap_err();
        assert_eq!(refused.kind(), UnknownArgument);
        assert!(refused.to_string().contains("'-- -i'"), "{refused}");
        let line = ["txedit", "replace", "--word", "--", "-i", "--in-place", "lib"];
        let Command::Replace(replace) = CommandLine::try_parse_from(line).unwrap().command else {
            panic!("another command");
        };
        assert_eq!((&*replace.pattern, &*replace.replacement, replace.paths.len()), ("-i", "--in-place", 1));
    }

    #[test]
    fn a_decision_needs_its_transaction_and_excludes_others() {
        let refused = |line: &[&str]| CommandLine::try_parse_from(line).unwrap_err().kind();
        assert_eq!(refused(&["txedit", "recover", "--forward"]), MissingRequiredArgument);
        assert_eq!(refused(&["txedit", "recover", "x", "--forward", "--back"]), ArgumentConflict);
    }

    #[test]
    fn common_options_go_before_and_after_the_command() {
        for line in [["txedit", "--json", "status"], ["txedit", "status", "--json"]] {
            assert!(CommandLine::try_parse_from(line).unwrap().common.json);
        }
    }
}
