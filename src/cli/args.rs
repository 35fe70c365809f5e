//! The command line as typed; only its form is checked here.
//!
//! The help of each command begins with an example; its own options follow, then the common ones. No argument has a
//! long help: clap would then print each argument over several lines.

mod campaign;
mod changes;
mod common;
#[cfg(feature = "delegate")]
mod delegate;
mod examples;
mod files;
mod program;
mod review;
#[cfg(feature = "mcp")]
mod server;
mod tools;
mod transactions;

use std::ffi::OsString;

use clap::error::ErrorKind::DisplayVersion;
use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand};

pub(crate) use campaign::{
    CampaignCommand, CampaignFolderArgs, CampaignNewArgs, CampaignPendingArgs, CampaignReportArgs, CampaignRetryArgs,
    CampaignRunArgs, CampaignShardArgs, CampaignUndoArgs, CampaignWorkArgs, PaceArgs,
};
pub(crate) use changes::{ApplyArgs, EditArgs, InputArgs, KeyArgs, PatchFormat, ReplaceArgs};
pub(crate) use common::{CheckInArg, ColorArg, Common, DurabilityArg, SwapArg};
#[cfg(all(feature = "delegate", feature = "mcp"))]
pub(crate) use delegate::ServerDelegateArgs;
#[cfg(feature = "delegate")]
pub(crate) use delegate::{AskArgs, DelegateCommand};
pub(crate) use files::{CreateArgs, MvArgs, RmArgs, TransactionArgs};
pub(crate) use program::RunArgs;
pub(crate) use review::{PickArgs, RestArg, ReviewArgs};
#[cfg(feature = "mcp")]
pub(crate) use server::McpArgs;
pub(crate) use tools::{
    CompletionsArgs, DoctorArgs, HelpArgs, ManArgs, SchemaArgs, StopAt, TortureChildArgs, TourChildArgs,
};
pub(crate) use transactions::{
    CommitArgs, DecisionArgs, HistoryCommand, JournalArgs, KeptCommand, LogArgs, OpenArgs, RecoverArgs, RedoArgs,
    RevertArgs, ShowArgs, ShowFormat, StageArgs, UndoArgs,
};

use super::topics::TOPICS;

const NAME: &str = "txedit";

/// Many edits over many files, as one transaction, or nothing at all.
#[derive(Debug, Parser)]
#[command(
    name = NAME,
    version,
    max_term_width = 100,
    disable_help_subcommand = true,
    help_template = TEMPLATE,
    before_help = examples::TXEDIT,
    after_help = after_help()
)]
pub(crate) struct CommandLine {
    #[command(flatten)]
    pub(crate) common: Common,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// The help with the examples after the first line; clap would put them before it.
const TEMPLATE: &str = "{about-with-newline}\n{before-help}{usage-heading} {usage}\n\n{all-args}{after-help}";

pub(crate) const STATUSES: &str = "\
Exit status:
  0    done
  1    an edit did not apply, nothing changed
  2    usage or validation
  3    conflict: hash, concurrent change, undo
  4    lock timeout
  5    input or output failed; rolled back, or nothing swapped
  6    recovery required
  7    the check, or the program of `run`, failed; rolled back
  8    done, but the answer could not be written
  9    nothing to do: nothing of what may be missing is there
  130  interrupted before the swap, or in the check; nothing changed";

fn after_help() -> String {
    let topics = TOPICS.iter().map(|topic| format!("  {:10}{}\n", topic.name, topic.about));
    format!(
        "Topics, shown by `txedit help TOPIC`:\n{}\n\
         Each common option has a variable of the environment, like TXEDIT_LOCK_TIMEOUT.\n\n{STATUSES}",
        topics.collect::<String>()
    )
}

/// Reads the words of a command line.
///
/// Clap gives each command a copy of every common option, whether it is typed or not, which takes as long as an edit of a file:
/// only those whose names are among the words take part. What is no plain success is read once more, with all commands, which
/// its message may name.
pub(crate) fn parse(words: &[OsString]) -> Result<CommandLine, clap::Error> {
    let commands = Command::augment_subcommands(clap::Command::new(NAME));
    let named = commands.get_subcommands().filter(|command| words.iter().any(|word| word == command.get_name()));
    let line = clap::Command::new(NAME).version(env!("CARGO_PKG_VERSION")).disable_help_subcommand(true);
    let few = Common::augment_args(line).subcommands(named.cloned());
    match few.try_get_matches_from(words) {
        Err(told) if told.kind() == DisplayVersion => Err(told),
        matches => {
            let line = matches.and_then(|matches| CommandLine::from_arg_matches(&matches));
            line.or_else(|_| CommandLine::try_parse_from(words))
        }
    }
}

/// The options, as they are typed, whose value may be any text, also one like an option.
pub(crate) fn options_with_texts() -> Vec<String> {
    let mut whole = CommandLine::command();
    whole.build();
    let (mut texts, mut todo) = (Vec::new(), vec![&whole]);
    while let Some(command) = todo.pop() {
        let any = command.get_arguments().filter(|option| option.is_allow_hyphen_values_set());
        texts.extend(any.filter_map(clap::Arg::get_long).map(|name| format!("--{name}")));
        todo.extend(command.get_subcommands());
    }
    texts
}

// What a command takes is only built where it was typed.
#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub(crate) enum Command {
    /// Apply a plan or a patch to many files, all or nothing
    #[command(help_template = TEMPLATE, before_help = examples::APPLY)]
    Apply(ApplyArgs),
    /// Replace a text in one file
    #[command(help_template = TEMPLATE, before_help = examples::EDIT)]
    Edit(EditArgs),
    /// Replace a text or a pattern in all files of a tree, in one transaction
    #[command(help_template = TEMPLATE, before_help = examples::REPLACE)]
    Replace(ReplaceArgs),
    /// Make a file
    #[command(help_template = TEMPLATE, before_help = examples::CREATE)]
    Create(CreateArgs),
    /// Move or rename files and folders
    #[command(help_template = TEMPLATE, before_help = examples::MV)]
    Mv(MvArgs),
    /// Delete files and folders
    #[command(help_template = TEMPLATE, before_help = examples::RM)]
    Rm(RmArgs),
    /// Run a program in a private view of the workspace; what it changes becomes one transaction
    #[command(help_template = TEMPLATE, before_help = examples::RUN)]
    Run(RunArgs),
    /// Open a transaction over several calls, or add to one; no file changes before its commit
    #[command(help_template = TEMPLATE, before_help = examples::STAGE)]
    Stage(StageArgs),
    /// Show what the commit of an open transaction would change, and the hash of that plan
    #[command(help_template = TEMPLATE, before_help = examples::PREVIEW)]
    Preview(OpenArgs),
    /// Ask about each change of an open transaction, and commit what is taken
    #[command(help_template = TEMPLATE, before_help = examples::REVIEW)]
    Review(ReviewArgs),
    /// Commit an open transaction
    #[command(help_template = TEMPLATE, before_help = examples::COMMIT)]
    Commit(CommitArgs),
    /// Discard an open transaction
    #[command(help_template = TEMPLATE, before_help = examples::ROLLBACK)]
    Rollback(OpenArgs),
    /// List committed transactions, newest first
    #[command(help_template = TEMPLATE, before_help = examples::LOG)]
    Log(LogArgs),
    /// Show what a transaction changed
    #[command(help_template = TEMPLATE, before_help = examples::SHOW)]
    Show(ShowArgs),
    /// Revert a committed transaction, by a transaction of its own
    #[command(help_template = TEMPLATE, before_help = examples::UNDO)]
    Undo(UndoArgs),
    /// Revert an undo
    #[command(help_template = TEMPLATE, before_help = examples::REDO)]
    Redo(RedoArgs),
    /// List interrupted and open transactions, kept contents, and anything unusual
    #[command(help_template = TEMPLATE, before_help = examples::STATUS)]
    Status,
    /// Finish or roll back interrupted transactions
    #[command(help_template = TEMPLATE, before_help = examples::RECOVER)]
    Recover(RecoverArgs),
    /// List, restore or delete what other programs wrote and a rollback kept
    #[command(subcommand, help_template = TEMPLATE, before_help = examples::KEPT)]
    Kept(KeptCommand),
    /// Prune or move the history of transactions that can be undone
    #[command(subcommand, help_template = TEMPLATE, before_help = examples::HISTORY)]
    History(HistoryCommand),
    /// One change in many workspaces, each of them by a transaction of its own
    #[command(subcommand, help_template = TEMPLATE, before_help = examples::CAMPAIGN)]
    Campaign(CampaignCommand),
    /// Verify a journal and print it
    #[command(help_template = TEMPLATE, before_help = examples::JOURNAL)]
    Journal(JournalArgs),
    /// Test what the file system of a folder guarantees
    #[command(help_template = TEMPLATE, before_help = examples::DOCTOR)]
    Doctor(DoctorArgs),
    /// Show a commit, a failing edit, a kill -9 with its recovery, and an undo, in a scratch folder
    #[command(help_template = TEMPLATE, before_help = examples::TOUR)]
    Tour,
    /// The process that the tour kills
    #[command(hide = true)]
    TourChild(TourChildArgs),
    /// The process that `doctor --torture` kills
    #[command(hide = true)]
    TortureChild(TortureChildArgs),
    /// Let a second model read, propose or check, through its own program; only a transaction writes
    #[cfg(feature = "delegate")]
    #[command(subcommand, help_template = TEMPLATE, before_help = examples::DELEGATE)]
    Delegate(DelegateCommand),
    /// Serve MCP clients over stdio or HTTP
    #[cfg(feature = "mcp")]
    #[command(help_template = TEMPLATE, before_help = examples::MCP)]
    Mcp(McpArgs),
    /// Print the completion script of a shell
    #[command(help_template = TEMPLATE, before_help = examples::COMPLETIONS)]
    Completions(CompletionsArgs),
    /// Write the manual pages into a folder
    #[command(help_template = TEMPLATE, before_help = examples::MAN)]
    Man(ManArgs),
    /// Print the JSON Schema of what a command reads or writes as JSON, or list the schemas
    #[command(help_template = TEMPLATE, before_help = examples::SCHEMA)]
    Schema(SchemaArgs),
    /// Explain a topic or a command
    #[command(help_template = TEMPLATE, before_help = examples::HELP)]
    Help(HelpArgs),
}

#[cfg(test)]
mod tests {
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
        assert_eq!((edit.old, edit.new), (Some("--x".into()), Some("-y".into())));
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

    /// The words of a line for `txedit` as a shell splits them, up to what is meant for the shell itself.
    fn words(line: &str) -> Vec<String> {
        let (mut words, mut quote, mut is_new) = (Vec::new(), None, true);
        for c in line[line.find("txedit").unwrap()..].chars() {
            match c {
                '\'' | '"' if quote.is_none() || quote == Some(c) => {
                    quote = if quote.is_none() { Some(c) } else { None }
                }
                ' ' if quote.is_none() => is_new = true,
                '>' | '|' | ')' if quote.is_none() => break,
                _ if is_new => {
                    words.push(c.to_string());
                    is_new = false;
                }
                _ => words.last_mut().unwrap().push(c),
            }
        }
        words
    }

    fn check_examples(command: &clap::Command, found: &mut usize) {
        let name = command.get_display_name().unwrap_or_else(|| command.get_name());
        let examples = command.get_before_help().unwrap_or_else(|| panic!("{name} has no example")).to_string();
        let mut lines = examples.lines();
        assert!(lines.next().is_some_and(|title| title.starts_with("Example")), "{name}");
        for line in lines {
            let words = words(line);
            assert!(
                line.starts_with("  ") && (line.contains("claude ") || CommandLine::try_parse_from(&words).is_ok()),
                "{line}"
            );
            check_parsed(&words);
            let own: Vec<&str> = name.split('-').collect();
            let is_own = own.iter().all(|own| words.iter().any(|word| word == own));
            assert!(is_own, "an example of another command than {name}: {line}");
            *found += 1;
        }
        let all = command.get_subcommands().filter(|sub| !sub.is_hide_set() && sub.get_name() != "help");
        all.for_each(|sub| check_examples(sub, found));
    }

    /// Few commands read a line as all of them do.
    fn check_parsed(words: &[impl AsRef<str>]) {
        let words: Vec<OsString> = words.iter().map(|word| word.as_ref().into()).collect();
        let [few, all] = [parse(&words), CommandLine::try_parse_from(&words)].map(|read| match read {
            Ok(line) => format!("{line:?}"),
            Err(told) => format!("{:?}: {told}", told.kind()),
        });
        assert_eq!(few, all);
    }

    #[test]
    fn a_line_is_read_as_if_all_commands_were_built() {
        let lines = [
            "txedit",
            "txedit --version",
            "txedit -V edit",
            "txedit --help",
            "txedit edit --help",
            "txedit edit -V",
            "txedit kept",
            "txedit history prune --keep 1 --json",
            "txedit history prun",
            "txedit histroy prune",
            "txedit help edit",
            "txedit --root status log --limit 2",
            "txedit --root status",
            "txedit -q --deny edit status",
            "txedit log --limit two",
            "txedit edit edit --old log --new undo --root status",
            "txedit status log",
            "txedit --jsn status",
        ];
        for line in lines {
            check_parsed(&line.split(' ').collect::<Vec<_>>());
        }
    }

    #[test]
    fn every_command_has_examples_that_parse() {
        let mut whole = CommandLine::command();
        whole.build();
        let mut found = 0;
        check_examples(&whole, &mut found);
        assert!(found > 25, "{found}");
    }

    #[test]
    fn common_options_go_before_and_after_the_command() {
        for line in [["txedit", "--json", "status"], ["txedit", "status", "--json"]] {
            assert!(CommandLine::try_parse_from(line).unwrap().common.json);
        }
    }
}
