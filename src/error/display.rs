//! An error as one line for people: where, what, what a validation found, and which files are not as they were.

use std::fmt;

use super::{Detail, Error, Finding, NotOld, Outcome};
use crate::path::{one_line, shown};

/// Findings that are written out: a program that writes a field wrong does so in every file.
const FINDINGS: usize = 20;

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let message = one_line(self.message());
        place(self, &message, f)?;
        f.write_str(&message)?;
        if let Detail::Findings(found) = self.details() {
            findings(found, f)?;
        }
        match self.outcome() {
            Outcome::Unchanged | Outcome::RolledBack => Ok(()),
            Outcome::PartlyRolledBack => {
                f.write_str("; rolled back, except for ")?;
                separated(self.not_old().iter().filter(|left| left.on_top), ", ", f, |NotOld { path, .. }, f| {
                    f.write_str(&shown(path))
                })
            }
            Outcome::RecoveryRequired => f.write_str("; some files may be old and some new until a recovery has run"),
        }
    }
}

/// `edit 2 in src/a.rs: `, or as much of it as is known and as the message does not say itself.
fn place(error: &Error, message: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let path = error.path().map(shown).filter(|path| !path.is_empty());
    let file = match (path, error.file()) {
        (Some(path), _) => (!message.contains(&path)).then_some(path),
        (None, Some(index)) => Some(format!("file {}", index + 1)),
        (None, None) => None,
    };
    match (error.edit(), file) {
        (Some(edit), Some(file)) => write!(f, "edit {} in {file}: ", edit + 1),
        (Some(edit), None) => write!(f, "edit {}: ", edit + 1),
        (None, Some(file)) => write!(f, "{file}: "),
        (None, None) => Ok(()),
    }
}

/// `: files.0.edits: no edits; …`
fn findings(found: &[Finding], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    f.write_str(": ")?;
    separated(found.iter().take(FINDINGS), "; ", f, |Finding { path, message, .. }, f| {
        if !path.is_empty() {
            write!(f, "{}: ", one_line(&path.join(".")))?;
        }
        f.write_str(&one_line(message))
    })?;
    match found.len().checked_sub(FINDINGS) {
        None | Some(0) => Ok(()),
        Some(more) => write!(f, "; and {more} more"),
    }
}

fn separated<T>(
    items: impl Iterator<Item = T>,
    separator: &str,
    f: &mut fmt::Formatter<'_>,
    write: impl Fn(T, &mut fmt::Formatter<'_>) -> fmt::Result,
) -> fmt::Result {
    for (index, item) in items.enumerate() {
        if index > 0 {
            f.write_str(separator)?;
        }
        write(item, f)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::errno::Errno;
    use crate::error::ErrorKind;
    use crate::index::{EditIndex, FileIndex};

    fn no_match() -> Error {
        Error::new(ErrorKind::MatchNotFound, "the text was not found")
    }

    #[test]
    fn file_and_edit_are_named() {
        assert_eq!(
            no_match().at("src/a.rs").in_file(FileIndex(0)).in_edit(EditIndex(1)).to_string(),
            "edit 2 in src/a.rs: the text was not found"
        );
        assert_eq!(no_match().at("src/a.rs").to_string(), "src/a.rs: the text was not found");
        // A text that somebody else chose says nothing to a terminal.
        assert_eq!(no_match().at("a\u{1b}[2J").to_string(), "a\\u{1b}[2J: the text was not found");
        assert_eq!(
            no_match().in_file(FileIndex(2)).in_edit(EditIndex(0)).to_string(),
            "edit 1 in file 3: the text was not found"
        );
        assert_eq!(no_match().to_string(), "the text was not found");
    }

    #[test]
    fn a_path_that_the_message_names_is_named_once() {
        let error = Error::io("rename", "src/a.rs", Errno::NOSPC.into());
        assert_eq!(error.to_string(), "cannot rename src/a.rs: No space left on device (os error 28)");
        assert_eq!(
            error.in_edit(EditIndex(0)).to_string(),
            "edit 1: cannot rename src/a.rs: No space left on device (os error 28)"
        );
    }

    #[test]
    fn what_the_system_said_is_printed_once_in_a_chain() {
        let error = Error::io("rename", "src/a.rs", Errno::NOSPC.into());
        assert!(error.os_error().is_some());
        assert!(std::error::Error::source(&error).is_none());
    }

    #[test]
    fn the_findings_are_named() {
        let finding = |path: &[&str], message: &str| Finding {
            kind: ErrorKind::EmptyEdits,
            message: message.to_owned(),
            path: path.iter().map(ToString::to_string).collect(),
            did_you_mean: None,
        };
        let error = Error::findings(vec![finding(&["files", "0", "edits"], "no edits"), finding(&[], "no files")]);
        assert_eq!(error.to_string(), "Validation failed: files.0.edits: no edits; no files");
        assert_eq!(error.message(), "Validation failed");
        let many = Error::findings(vec![finding(&["files"], "no edits"); FINDINGS + 3]).to_string();
        assert_eq!(many.matches("no edits").count(), FINDINGS);
        assert!(many.ends_with("; and 3 more"), "{many}");
    }

    #[test]
    fn files_that_are_not_as_they_were_are_named() {
        let left = |path: &str, on_top| NotOld::new(path, on_top, "it was changed");
        let error = no_match().rolled_back_but(vec![left("a", true), left("b", false), left("c", true)]);
        assert_eq!(error.to_string(), "the text was not found; rolled back, except for a, c");
        let error = no_match().outcome_is(Outcome::RecoveryRequired);
        assert!(error.to_string().ends_with("; some files may be old and some new until a recovery has run"));
    }
}
