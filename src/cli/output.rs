//! Prints results to stdout and messages for people to stderr.

use std::collections::{BTreeSet, HashSet};
use std::fmt::{self, Display};
use std::io::{self, IsTerminal as _, Write};
use std::ops::Bound;
use std::path::Path;
use std::process::Stdio;

use anstyle::{AnsiColor, Style};
use serde::Serialize;

use super::args::ColorArg;
use super::exit;
use crate::error::{Error, ErrorKind, Result};
use crate::wire::VersionedAnswer;

/// Errors.
pub(crate) const BAD: Style = AnsiColor::Red.on_default().bold();
/// Success.
pub(crate) const GOOD: Style = AnsiColor::Green.on_default();
/// Warnings.
pub(crate) const NOTE: Style = AnsiColor::Yellow.on_default();
/// Names that a reader searches for, such as ids.
pub(crate) const NAME: Style = AnsiColor::Cyan.on_default();
/// Headings.
pub(crate) const HEADING: Style = Style::new().bold();

/// The answer of a command. It is printed by the caller, so that each run prints one result in one form.
#[derive(Debug)]
pub(crate) struct Answer {
    /// The answer for scripts: one JSON object.
    pub(crate) json: String,
    /// The answer for people on stdout, with colours; ends in a line break unless it is empty.
    pub(crate) human: String,
    /// The bytes to print instead of `human`, unchanged.
    pub(crate) raw: Option<Vec<u8>>,
    /// Notes for people on stderr.
    pub(crate) notes: Vec<String>,
    /// True if it is shown through a pager on a terminal.
    pub(crate) is_paged: bool,
    /// The exit status.
    pub(crate) status: u8,
    /// The change that was made, to be named if the answer cannot be printed; `None` for a command that only reads.
    pub(crate) done: Option<String>,
}

impl Answer {
    /// The answer of a command that succeeded.
    pub(crate) fn new(json: &impl Serialize, human: impl Into<String>) -> Result<Self> {
        let mut json = serde_json::to_string_pretty(&VersionedAnswer::new(json))
            .map_err(|e| Error::new(ErrorKind::UnknownError, format!("cannot write the answer as JSON: {e}")))?;
        json.push('\n');
        Ok(Self { json, ..Self::for_people(human) })
    }

    /// An answer without JSON, for runs that do not ask for it: with many files it is long.
    pub(crate) fn for_people(human: impl Into<String>) -> Self {
        let human = human.into();
        Self {
            json: String::new(),
            human,
            raw: None,
            notes: Vec::new(),
            is_paged: false,
            status: exit::DONE,
            done: None,
        }
    }

    /// Adds notes for people.
    pub(crate) fn noting(mut self, notes: impl IntoIterator<Item = String>) -> Self {
        self.notes.extend(notes);
        self
    }

    /// Says that it may be long, and is shown through a pager on a terminal.
    pub(crate) fn paged(mut self) -> Self {
        self.is_paged = true;
        self
    }

    /// Sets the change that was made, such as `committed 20…`.
    pub(crate) fn having_done(mut self, done: Option<String>) -> Self {
        self.done = done;
        self
    }

    /// Sets another exit status.
    pub(crate) fn exiting(mut self, status: u8) -> Self {
        self.status = status;
        self
    }
}

/// Uses colours as asked; without an option, on terminals that support them.
pub(crate) fn choose_colors(choice: ColorArg) {
    match choice {
        ColorArg::Auto => anstream::ColorChoice::Auto,
        ColorArg::Always => anstream::ColorChoice::Always,
        ColorArg::Never => anstream::ColorChoice::Never,
    }
    .write_global();
}

/// Prints the result for people, coloured where that is wanted.
pub(crate) fn result(text: &str) -> io::Result<()> {
    let mut stdout = anstream::stdout();
    stdout.write_all(text.as_bytes())?;
    stdout.flush()
}

/// Returns whether a result is seen by a person as it is printed.
pub(crate) fn is_seen() -> bool {
    io::stdout().is_terminal()
}

/// The bytes of a result for people, coloured if they would be as printed.
pub(crate) fn as_printed(text: &str) -> Vec<u8> {
    match anstream::AutoStream::choice(&io::stdout()) {
        anstream::ColorChoice::Never => anstream::adapter::strip_str(text).to_string().into_bytes(),
        _ => text.as_bytes().to_vec(),
    }
}

/// Prints the result for scripts, unchanged.
pub(crate) fn plain_result(text: impl AsRef<[u8]>) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(text.as_ref())?;
    stdout.flush()
}

/// Prints a message for people. A failure is ignored: it could not be printed either.
pub(crate) fn note(text: impl Display) {
    let _ = writeln!(anstream::stderr(), "{text}");
}

/// Shows a text to a person who is asked something. A failure is ignored, as that of a message.
pub(crate) fn say(text: impl Display) {
    let mut stderr = anstream::stderr();
    let _ = write!(stderr, "{text}").and_then(|()| stderr.flush());
}

/// Where messages go, as the output of another program.
pub(crate) fn as_messages() -> Stdio {
    io::stderr().into()
}

/// A text in a style.
pub(crate) fn styled(style: Style, text: impl Display) -> impl Display {
    struct Styled<T>(Style, T);
    impl<T: Display> Display for Styled<T> {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            write!(f, "{}{}{}", self.0.render(), self.1, self.0.render_reset())
        }
    }
    Styled(style, text)
}

/// A unified diff in colours.
pub(crate) fn diff(text: &str) -> String {
    let mut colored = String::with_capacity(text.len() + text.len() / 8);
    for line in text.split_inclusive('\n') {
        let (line, end) = line.strip_suffix('\n').map_or((line, ""), |l| (l, "\n"));
        let is_header = ["+++", "---", "diff --git ", "rename ", "similarity ", "new ", "deleted ", "old "];
        let style = if is_header.iter().any(|start| line.starts_with(start)) {
            HEADING
        } else if line.starts_with("@@") {
            NAME
        } else if line.starts_with('+') {
            GOOD
        } else if line.starts_with('-') {
            AnsiColor::Red.on_default()
        } else {
            Style::new()
        };
        colored.push_str(&styled(style, line).to_string());
        colored.push_str(end);
    }
    colored
}

/// `1 file`, `2 files`.
pub(crate) fn count(number: usize, noun: &str) -> String {
    let s = if number == 1 { "" } else { "s" };
    format!("{number} {noun}{s}")
}

/// The number of files, and of folders among `folders` that would not be told by a file: those in which nothing else
/// changes, and in whose place, or above which, there is no file of `paths`. So an answer and the log, which also has the
/// folders that files needed, count the same.
pub(crate) fn extent(files: usize, paths: &[&Path], folders: &[&Path]) -> String {
    let all: BTreeSet<&Path> = paths.iter().chain(folders).copied().collect();
    let paths: HashSet<&Path> = paths.iter().copied().collect();
    let by_itself = |folder: &&&Path| {
        let next = all.range::<Path, _>((Bound::Excluded(**folder), Bound::Unbounded)).next();
        let is_within = next.is_some_and(|next| next.starts_with(folder));
        !is_within && !folder.ancestors().any(|above| paths.contains(above))
    };
    let folders = folders.iter().filter(by_itself).count();
    match (files, folders) {
        (_, 0) => count(files, "file"),
        (0, _) => count(folders, "folder"),
        _ => format!("{}, {}", count(files, "file"), count(folders, "folder")),
    }
}

/// The word for a change, in a column that a longer one widens.
pub(crate) fn kind_column(kind: &str) -> String {
    format!("{kind:7} ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_diff_keeps_its_text_and_gets_colours() {
        let text = "--- a\n+++ b\n@@ -1 +1 @@\n-old\n+new\n same\n\\ No newline at end of file";
        let colored = diff(text);
        assert_eq!(anstream::adapter::strip_str(&colored).to_string(), text);
        assert!(colored.contains(&styled(GOOD, "+new").to_string()));
    }

    #[test]
    fn nouns_are_counted() {
        assert_eq!(count(1, "file"), "1 file");
        assert_eq!(count(0, "edit"), "0 edits");
    }
}
