//! Renders next steps as commands and flags.

use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use crate::error::{Correction, NextStep};
use crate::path::{one_line, shown};

/// The root, if the user named it: without it, a command that an answer names would be about another workspace. Set at
/// most once, since a process runs one command line.
static NAMED_ROOT: OnceLock<PathBuf> = OnceLock::new();

/// Lets every command that is named from now on name this root.
pub(crate) fn name_root(root: &Path) {
    NAMED_ROOT.set(root.to_owned()).ok();
}

/// A step as a clause that names the command.
pub(crate) fn words(step: &NextStep) -> String {
    in_root(NAMED_ROOT.get().map(PathBuf::as_path), step)
}

/// The command that takes these arguments, in backticks.
pub(crate) fn command(arguments: &str) -> String {
    at(NAMED_ROOT.get().map(PathBuf::as_path), format!("`txedit {arguments}`"))
}

fn in_root(root: Option<&Path>, step: &NextStep) -> String {
    match step {
        NextStep::In { root, step } => in_root(Some(root), step),
        step => at(root, plain_words(step)),
    }
}

/// The text, with the root in each of its commands.
fn at(root: Option<&Path>, text: String) -> String {
    match root {
        None => text,
        Some(root) => text.replace("`txedit ", &format!("`txedit --root {} ", shell_word(root))),
    }
}

/// A path as a shell reads it back; what a terminal does not show as it is, as an escape (`$'…'`, POSIX 2024).
pub(super) fn shell_word(path: &Path) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-+@%:,".contains(c);
    match path.to_str() {
        Some(word) if word.chars().all(is_plain) => word.to_owned(),
        Some(word) if one_line(word) == word => format!("'{}'", word.replace('\'', r"'\''")),
        _ => format!("$'{}'", path.as_os_str().as_bytes().iter().map(|byte| escaped(*byte)).collect::<String>()),
    }
}

fn escaped(byte: u8) -> String {
    match byte {
        b'\'' | b'\\' => format!("\\{}", char::from(byte)),
        b' '..=b'~' => char::from(byte).to_string(),
        // Always three digits: a digit that follows is not taken for one of the number.
        _ => format!("\\{byte:03o}"),
    }
}

fn plain_words(step: &NextStep) -> String {
    match step {
        NextStep::Recover { id: None } => "recover it with `txedit recover`".to_owned(),
        NextStep::Recover { id: Some(id) } => format!("recover it with `txedit recover {id}`"),
        NextStep::Decide { id, can_finish } => {
            // Each command by itself: a shell would take `--forward | --back` for a pipeline, and decide.
            let forward = if *can_finish { format!("`txedit recover {id} --forward`, ") } else { String::new() };
            format!("decide: {forward}`txedit recover {id} --back` or `txedit recover {id} --discard`")
        }
        NextStep::Mend { id } => format!(
            "mend that, then `txedit recover {id}`; only where it cannot be mended, `txedit recover {id} --discard`, which \
             leaves some files old and some new"
        ),
        NextStep::Discard { id } => {
            format!("discard it with `txedit recover {id} --discard`, which keeps its contents")
        }
        NextStep::TrustJournal { id } => format!("if you know better, `txedit recover {id} --trust-journal`"),
        NextStep::OtherHost { id } => format!("if that machine is down, `txedit recover {id} --other-host`"),
        NextStep::MoveBack { id, place } => {
            format!("if it was moved, move it back to {}, then recover it with `txedit recover {id}`", shown(place))
        }
        NextStep::Status => "see what is interrupted or open with `txedit status`".to_owned(),
        NextStep::Log => "see what was committed with `txedit log`".to_owned(),
        NextStep::UndoFirst { id } => format!("first undo what changed them since: `txedit undo {id}`"),
        NextStep::Redo { id, .. } => format!("have its changes again with `txedit redo {id}`"),
        NextStep::RollBack { id } => format!("it is still open: drop it with `txedit rollback {id}`"),
        NextStep::ListKept => "see what is kept with `txedit kept list`".to_owned(),
        NextStep::DropKept { id } => format!("delete it with `txedit kept drop {id}`"),
        NextStep::TakeByHand { id, kept } => format!(
            "move or copy what is wanted from {} yourself, then delete the rest with `txedit kept drop {id}`",
            shell_word(kept)
        ),
        NextStep::Doctor => "see what the file system lacks with `txedit doctor`".to_owned(),
        NextStep::ProcessOnly => "ask for no more with --durability process".to_owned(),
        NextStep::SwapAside => "do with less: --swap aside".to_owned(),
        NextStep::UserState => "name a folder that you can write to with XDG_STATE_HOME".to_owned(),
        NextStep::CheckInTree => "let the check run in the tree: --check-in tree".to_owned(),
        NextStep::CheckInView => "let the check run in a view: --check-in view".to_owned(),
        NextStep::Overwrite => {
            "where only its content or its mode changes, have it overwritten: --swap in-place".to_owned()
        }
        NextStep::RunAgain => "run the program again: it then works on what the others have left".to_owned(),
        NextStep::AllowSetId => "allow it with --allow-set-id".to_owned(),
        NextStep::AllowVcs => "allow it with --allow-vcs".to_owned(),
        NextStep::Correct(correction) => corrected(correction),
        NextStep::PreviewAgain => "look at a new preview (`txedit preview ID`), then commit with its hash".to_owned(),
        NextStep::ReviewAgain { id: Some(id) } => {
            format!("all of it is still open: review it again with `txedit review {id}`")
        }
        NextStep::ReviewAgain { id: None } => {
            "give the command again, and look at what it would do now: nothing of it is left open".to_owned()
        }
        NextStep::DryRunAgain => {
            "look at a new dry run (`--dry-run --json`), then apply with its hash: --plan-hash".to_owned()
        }
        NextStep::StageAgain { id } => {
            format!("it is still open: drop it with `txedit rollback {id}`, read the files, and stage the edits again")
        }
        NextStep::CommitAgain { id } => format!(
            "it is still open: mend what the message names, then `txedit commit {id}`; or drop it with `txedit rollback \
             {id}`, and stage other edits"
        ),
        NextStep::HearDecision { id } => format!("decide on it: `txedit review {id}`"),
        NextStep::In { .. } => unreachable!("its root is named around the step in it"),
    }
}

fn corrected(correction: &Correction) -> String {
    match correction {
        Correction::SendSuggestion => "search for the text that would have matched (`suggestion` with --json)".to_owned(),
        Correction::SendCorrected => {
            "search for the text that would have matched (`suggestion` with --json), and correct the new text likewise"
                .to_owned()
        }
        Correction::SendNearest => {
            "if it is the place that is meant, search for the nearest text (`nearest_old_string` with --json), and fit the \
             new text to it"
                .to_owned()
        }
        Correction::SendUnique => {
            "search for more of the text, so that it is unique (`unique_old_string` with --json), and put what is added \
             into the new text as well; or replace every match: --all, in a plan replace_all"
                .to_owned()
        }
        Correction::SearchOther => {
            "name other files, or correct --glob, which is relative to the current folder; ignored and hidden files are \
             searched if they are named, hidden ones also with --hidden"
                .to_owned()
        }
        Correction::NarrowSearch => "search fewer files with --glob, or allow more with --max-files".to_owned(),
        Correction::WriteFewer => "let folders that need not be committed be real with --through DIR".to_owned(),
        Correction::LeaveOut => "the new text is there already: leave the edit out, if that is all".to_owned(),
        Correction::AfterEdit { edit } => {
            format!("search for the text that edit {} leaves, or put this edit in front of it", edit + 1)
        }
        Correction::AfterStaged => "search for the text that is staged: see it with `txedit preview ID`".to_owned(),
        Correction::InFile { file } => format!("move the edit to file {} of the plan, which has the text", file + 1),
        Correction::NameEncoding => "if it is text, name its encoding: --encoding, in a plan `encoding`".to_owned(),
        Correction::EncodingOfMark => "leave the encoding out: the mark of the file says it".to_owned(),
        Correction::WithoutCharacter { character } => {
            format!("write it without U+{:04X}, or convert the file to UTF-8 first", u32::from(*character))
        }
        Correction::WithoutNul => "write the new text without U+0000".to_owned(),
        Correction::WholeContent => {
            "leave the file out, or write it whole: in a plan `content` with if_exists: \"replace\"".to_owned()
        }
        Correction::AwayFromBytes => {
            "leave those bytes and what is next to them out of the edit, or write the whole `content` in a plan".to_owned()
        }
        Correction::WithoutMark => "begin the content with other characters, or name the encoding of its mark".to_owned(),
        Correction::InUtf8 => "write the new text in UTF-8".to_owned(),
        Correction::NoEncodingHere => {
            "leave the file out, or edit it with `txedit edit FILE` and its --encoding, or a plan with `encoding`".to_owned()
        }
        Correction::ByHand => "change by hand what is to be undone in these files".to_owned(),
        Correction::Rebase => "keep what changed in other lines with --rebase".to_owned(),
        Correction::OneCallEach => "run one command for each workspace".to_owned(),
        Correction::RestoreRoot => "put the root folder back, or name it where it is now with --root".to_owned(),
        Correction::Force => "replace what is there with --force, or choose another path".to_owned(),
        // The command line undoes those of everybody.
        Correction::AllCallers => "`txedit undo --since ID` undoes those of all".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::cli::args::CommandLine;

    fn every_step() -> Vec<NextStep> {
        let id = || "20260101T120000Z-0123456789ab".to_owned();
        vec![
            NextStep::Recover { id: None },
            NextStep::Recover { id: Some(id()) },
            NextStep::Decide { id: id(), can_finish: true },
            NextStep::Decide { id: id(), can_finish: false },
            NextStep::Mend { id: id() },
            NextStep::Discard { id: id() },
            NextStep::TrustJournal { id: id() },
            NextStep::OtherHost { id: id() },
            NextStep::MoveBack { id: id(), place: "/w/.txedit/txn/x".into() },
            NextStep::Status,
            NextStep::Log,
            NextStep::UndoFirst { id: id() },
            NextStep::Redo { id: id(), undo: id() },
            NextStep::RollBack { id: id() },
            NextStep::ListKept,
            NextStep::DropKept { id: id() },
            NextStep::TakeByHand { id: id(), kept: "/w/.txedit/kept/x/000000".into() },
            NextStep::Doctor,
            NextStep::StageAgain { id: id() },
            NextStep::CommitAgain { id: id() },
            NextStep::HearDecision { id: id() },
            NextStep::ReviewAgain { id: Some(id()) },
        ]
    }

    #[test]
    fn each_command_that_is_named_can_be_typed() {
        for step in every_step() {
            let words = in_root(Some(Path::new("/w")), &step);
            let elsewhere = NextStep::In { root: "/v".into(), step: Box::new(step) };
            assert_eq!(in_root(None, &elsewhere), words.replace("--root /w ", "--root /v "));
            assert_eq!(in_root(Some(Path::new("/w")), &elsewhere), in_root(None, &elsewhere));
            let commands: Vec<&str> = words.split('`').skip(1).step_by(2).collect();
            assert!(!commands.is_empty(), "{words}");
            for command in commands {
                assert!(
                    !command.contains(['|', ';', '&', '$', '<', '>']),
                    "a shell would make something else of {command}"
                );
                let parsed = CommandLine::try_parse_from(command.split(' '));
                assert!(parsed.is_ok(), "{command}: {parsed:?}");
            }
        }
    }

    #[test]
    fn a_shell_reads_every_path_back() {
        use std::ffi::OsStr;
        use std::process::Command;

        let paths: [&[u8]; 7] = [
            b"/w/a b",
            b"/w/it's",
            b"/w/a\nb1",
            b"/w/\x1b[31m'\\x",
            b"/w/\xff8",
            "/w/\u{202e}é".as_bytes(),
            b"/w/$(x)`",
        ];
        for path in paths {
            let word = shell_word(Path::new(OsStr::from_bytes(path)));
            assert!(!word.contains(crate::path::is_escaped), "{word:?}");
            let said = Command::new("bash").args(["-c", &format!("printf %s {word}")]).output().unwrap();
            assert_eq!(said.stdout, path, "{word}");
        }
    }

    #[test]
    fn a_root_is_one_word_of_a_shell() {
        let named = |root: &str| at(Some(Path::new(root)), "see `txedit status`".to_owned());
        assert_eq!(named("/w/a-b.c"), "see `txedit --root /w/a-b.c status`");
        assert_eq!(named("/w/it's here"), r"see `txedit --root '/w/it'\''s here' status`");
        assert_eq!(named("/w/$HOME"), "see `txedit --root '/w/$HOME' status`");
    }
}
