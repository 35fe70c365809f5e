//! A failure as people read it: the place, what is there instead, what to do, and the state of the files.

use std::fmt::Write as _;

use schemars::JsonSchema;
use serde::Serialize;

use super::next_step;
use super::options::CommonOptions;
use super::output::{BAD, HEADING, NAME, NOTE, count, diff, styled};
use super::report::warning_of;
use crate::error::{
    Conflict, Detail, Diagnosis, Difference, Error, Finding, MatchPlaces, MismatchCause, NotOld, Outcome,
};
use crate::path::{one_line, shown};
use crate::request::Request;
use crate::wire::{self, Shape, hints};

/// The number of findings that are shown: a program that misspells a word does so in every file.
const SHOWN: usize = 20;

/// A failed command: the error, and the request that it is about, where there was one.
#[derive(Debug)]
pub(crate) struct Failure {
    /// The error.
    pub(crate) error: Error,
    /// The request, if there was one.
    pub(crate) request: Option<Box<Request>>,
    /// The form of the answer: about one file, or about several.
    pub(crate) shape: Shape,
    /// The delegate's text, if its proposal failed.
    pub(crate) answer: Option<String>,
}

/// The answer for scripts.
#[derive(Serialize, JsonSchema)]
pub(super) struct ForScripts<'a> {
    #[serde(flatten)]
    failure: wire::failure::FailureJson,
    /// The delegate's text, if its proposal failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    answer: Option<&'a str>,
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self { error, request: None, shape: Shape::Multi, answer: None }
    }
}

fn push_conflict(text: &mut String, conflict: &Conflict) {
    let mut by = conflict.changed_by.clone();
    if conflict.by_another_program || by.is_empty() {
        by.push("another program".to_owned());
    }
    let by = by.join(", ");
    let _ = write!(text, "\n  changed since: {}, by {by}", shown(&conflict.path));
    match (&conflict.theirs, &conflict.ours, &conflict.diff) {
        (Some(theirs), Some(ours), _) => {
            let (theirs, ours) = (theirs.trim_end(), ours.trim_end());
            let _ = write!(text, "\n  what the others did:\n{theirs}\n  what the program did:\n{ours}");
        }
        (_, _, Some(diff)) => {
            let _ = write!(text, "\n{}", diff.trim_end());
        }
        _ => {}
    }
}

impl Failure {
    /// A failure of `request`.
    pub(crate) fn of(request: Request, shape: Shape) -> impl FnOnce(Error) -> Self {
        move |error| Self { error, request: Some(Box::new(request)), shape, answer: None }
    }

    /// The answer for scripts.
    pub(crate) fn for_scripts(&self) -> impl Serialize {
        let failure = wire::failure(&self.error, self.request.as_deref(), self.shape, next_step::words);
        ForScripts { failure, answer: self.answer.as_deref() }
    }

    /// The text for stderr; ends without a line break.
    pub(crate) fn for_people(&self, options: Option<&CommonOptions>) -> String {
        let error = &self.error;
        let mut text = String::new();
        let _ = write!(text, "{}{}{}", styled(BAD, "error: "), self.place(options), one_line(error.message()));
        match error.details() {
            // What a program printed was shown as it came.
            Detail::None | Detail::SameKey | Detail::PartlyDone | Detail::Encoding(_) | Detail::Program(_) => {}
            Detail::Findings(findings) => {
                for finding in findings.iter().take(SHOWN) {
                    push_finding(&mut text, finding, self.shape);
                }
                if findings.len() > SHOWN {
                    let _ = write!(text, "\n  and {} more; --json names them all", findings.len() - SHOWN);
                }
            }
            Detail::NoMatch(diagnosis) => push_diagnosis(&mut text, diagnosis),
            Detail::Matches(places) => push_places(&mut text, places),
            // Its output was shown as it came, except in a quiet run.
            Detail::Check(run) => {
                if options.is_some_and(|options| options.quiet) {
                    let _ = write!(text, "\n{}", run.ended.tail.trim_end());
                }
            }
            Detail::Diverged(sides) => {
                if !(sides.ours.is_empty() && sides.theirs.is_empty()) {
                    let _ = write!(text, "\nstaged:\n{}in the file:\n{}", sides.ours, sides.theirs.trim_end());
                }
            }
            Detail::Changed(change) => {
                if let Some(changes) = &change.diff {
                    let _ = write!(text, "\n  the changes since:\n{}", diff(changes).trim_end());
                }
            }
            Detail::Conflicts(conflicts) => {
                for conflict in conflicts {
                    push_conflict(&mut text, conflict);
                }
            }
        }
        for warning in error.warnings() {
            let _ = write!(text, "\n{}", warning_of(warning));
        }
        for left in on_top(error) {
            let _ = write!(text, "\n  not restored: {} ({})", shown(&left.path), one_line(&left.reason));
        }
        for kept in error.kept() {
            let _ = write!(
                text,
                "\n  kept: {} as {} ({})",
                shown(&kept.path),
                shown(&kept.kept_path),
                one_line(&kept.reason)
            );
        }
        let hint = hints::recovery_hint(error, self.request.as_deref(), next_step::words);
        if !hint.is_empty() {
            let _ = write!(text, "\n{} {}", styled(NOTE, "hint:"), one_line(&hint));
        }
        let _ = write!(text, "\n{}", outcome(error));
        text
    }

    /// The place in the request, such as `edit 2 of 3 in src/a.rs: `, as far as it is known.
    fn place(&self, options: Option<&CommonOptions>) -> String {
        let entry = self.error.file().and_then(|index| self.request.as_ref()?.files.get(index));
        let file = entry.map(|entry| {
            let path = options.map_or(entry.path.as_path(), |o| o.shown(&entry.path));
            styled(HEADING, shown(path)).to_string()
        });
        let edits = entry.map_or(0, |entry| entry.edits().len());
        match (self.error.edit(), file) {
            (Some(edit), Some(file)) => format!("edit {} of {edits} in {file}: ", edit + 1),
            (None, Some(file)) => format!("{file}: "),
            (_, None) => String::new(),
        }
    }
}

/// The files that could not be restored.
fn on_top(error: &Error) -> impl Iterator<Item = &NotOld> {
    error.not_old().iter().filter(|left| left.on_top)
}

/// The state of the files, as a sentence.
fn outcome(error: &Error) -> String {
    match error.outcome() {
        Outcome::Unchanged if error.is_after_recovery() => "nothing else was changed".to_owned(),
        Outcome::Unchanged if matches!(error.details(), Detail::PartlyDone) => {
            "done as far as the message says; nothing else was changed".to_owned()
        }
        Outcome::Unchanged => "nothing was changed".to_owned(),
        // A check may do anything.
        Outcome::RolledBack if matches!(error.details(), Detail::Check(_)) => {
            "rolled back: every file of the request is as it was".to_owned()
        }
        Outcome::RolledBack => "rolled back: every file is as it was".to_owned(),
        Outcome::PartlyRolledBack => {
            let paths: Vec<_> = on_top(error).map(|left| shown(&left.path)).collect();
            format!("rolled back, except for {}: see what is there now", paths.join(", "))
        }
        // The hint names them.
        Outcome::RecoveryRequired if !error.next_steps().is_empty() => "some files may be old and some new".to_owned(),
        Outcome::RecoveryRequired => {
            let recover = error.transaction().map_or_else(|| "recover".to_owned(), |id| format!("recover {id}"));
            let [status, recover] = ["status", recover.as_str()].map(next_step::command);
            format!("some files may be old and some new: see {status}, then run {recover}")
        }
    }
}

fn push_finding(text: &mut String, finding: &Finding, shape: Shape) {
    // A user who names one file on the command line has written no list of files.
    let place = match finding.path.as_slice() {
        [files, _, rest @ ..] if shape == Shape::Single && files == "files" => rest,
        place => place,
    };
    let place = styled(NAME, place.join("."));
    let _ = write!(text, "\n  {place}: {} ({})", one_line(&finding.message), finding.kind.code());
    if let Some(path) = &finding.did_you_mean {
        let _ = write!(text, "; did you mean {}?", shown(path));
    }
}

fn push_diagnosis(text: &mut String, diagnosis: &Diagnosis) {
    if let Some(cause) = diagnosis.cause {
        let _ = write!(text, "\n  {} {}", styled(NOTE, "cause:"), explain(cause));
    }
    if diagnosis.snippet.is_empty() {
        return;
    }
    let percent = (diagnosis.similarity * 100.0).round();
    let _ = write!(text, "\n  nearest text, line {}, {percent} % alike:\n", diagnosis.line);
    push_indented(text, &diagnosis.snippet);
    if !diagnosis.diff.is_empty() {
        text.push_str("\n  from the text searched for to the text in the file:\n");
        push_indented(text, &diff(&diagnosis.diff));
    }
    for Difference { line, anchor, file } in &diagnosis.differences {
        let _ = write!(text, "\n  line {line}: searched for `{anchor}`, the file has `{file}`");
    }
    if let Some(suggestion) = &diagnosis.suggestion {
        text.push_str("\n  what would have matched:\n");
        push_indented(text, suggestion);
    }
    if let Some(nearest) = diagnosis.nearest.as_ref().filter(|nearest| **nearest != diagnosis.snippet) {
        text.push_str("\n  what is there, to search for if it is meant:\n");
        push_indented(text, nearest);
    }
}

/// The most places of a text that is there several times. All that were found are told with `--json`.
const PLACES: usize = 8;

fn push_places(text: &mut String, places: &MatchPlaces) {
    let shown = &places.shown[..places.shown.len().min(PLACES)];
    for place in shown {
        let _ = write!(text, "\n  line {}:\n", place.line);
        push_indented(text, &place.snippet);
        if let Some(unique) = &place.unique {
            text.push_str("\n  to search for, since it is there only:\n");
            push_indented(text, unique);
        }
    }
    if let Some(more) = places.total.checked_sub(shown.len()).filter(|more| *more > 0) {
        let _ = write!(text, "\n  and {}", count(more, "more place"));
    }
}

fn push_indented(text: &mut String, block: &str) {
    let lines: Vec<String> = block.lines().map(|line| format!("    {line}")).collect();
    text.push_str(&lines.join("\n"));
}

fn explain(cause: MismatchCause) -> String {
    match cause {
        MismatchCause::WhiteSpace => "white space differs".to_owned(),
        MismatchCause::TabsAgainstSpaces => "tabs in one, spaces in the other".to_owned(),
        MismatchCause::LookAlike => "a character only looks the same, but is another".to_owned(),
        MismatchCause::EscapedText => "escapes were not resolved: a backslash and a letter".to_owned(),
        MismatchCause::LineNumbers => "line numbers were copied from a listing".to_owned(),
        MismatchCause::DiffMarkers => "markers of a diff are in front of the lines".to_owned(),
        MismatchCause::Quoted => "the > of a quotation is in front of the lines".to_owned(),
        MismatchCause::Wrapped => "a code fence, quotes or tags are around the text".to_owned(),
        MismatchCause::HtmlEntities => "entities of HTML were not resolved".to_owned(),
        MismatchCause::QuoteStyle => "the quotes are others".to_owned(),
        MismatchCause::Elided => "an ellipsis stands for lines of the file".to_owned(),
        MismatchCause::LinesLeftOut => "lines of the file are left out".to_owned(),
        MismatchCause::AlreadyApplied => "the replacement occurs already".to_owned(),
        MismatchCause::ConsumedByEdit(index) => format!("edit {} replaced the text", index + 1),
        MismatchCause::ConsumedByStaged => "an edit that was staged before replaced the text".to_owned(),
        MismatchCause::InOtherFile(index) => format!("it occurs in file {} of the request", index + 1),
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use crate::error::ErrorKind;
    use crate::error::MatchPlace;
    use crate::index::{EditIndex, FileIndex};
    use crate::request::edit::{Anchor, Count, Edit, Matching};
    use crate::request::{Change, FileRequest};

    fn plain(text: &str) -> String {
        anstream::adapter::strip_str(text).to_string()
    }

    fn edit() -> Edit {
        Edit {
            anchor: Anchor::Text { text: b"a".to_vec(), count: Count::Once, matching: Matching::Exact },
            replacement: Vec::new(),
        }
    }

    #[test]
    fn the_place_the_matches_and_the_state_of_the_files_are_told() {
        let file = FileRequest::new(
            PathBuf::from("src/a.rs"),
            Change::Edit { edits: vec![edit(), edit(), edit()], rename: None },
        );
        let places =
            MatchPlaces { total: 7, shown: vec![MatchPlace { line: 4, snippet: "4 | a".to_owned(), unique: None }] };
        let error = Error::new(ErrorKind::AmbiguousMatch, "old_string was found 7 times")
            .in_file(FileIndex(0))
            .in_edit(EditIndex(1))
            .detail(Detail::Matches(places));
        let failure = Failure::of(Request { files: vec![file], ..Request::default() }, Shape::Multi)(error);
        let text = plain(&failure.for_people(None));
        let mut lines = text.lines();
        assert_eq!(lines.next(), Some("error: edit 2 of 3 in src/a.rs: old_string was found 7 times"));
        assert_eq!(lines.next(), Some("  line 4:"));
        assert_eq!(lines.next(), Some("    4 | a"));
        assert_eq!(lines.next(), Some("  and 6 more places"));
        assert!(text.ends_with("\nnothing was changed"), "{text}");
    }

    #[test]
    fn every_finding_is_told_with_its_place_in_the_request() {
        let finding = |path: &str| Finding {
            kind: ErrorKind::EmptyEdits,
            message: "no edits".to_owned(),
            path: vec!["files".to_owned(), path.to_owned()],
            did_you_mean: None,
        };
        let failure = Failure::from(Error::findings(vec![finding("0"), finding("3")]));
        let text = plain(&failure.for_people(None));
        assert!(text.contains("\n  files.0: no edits (EMPTY_EDITS)\n  files.3: no edits (EMPTY_EDITS)\n"), "{text}");
    }

    #[test]
    fn of_many_findings_the_first_are_shown_and_the_others_counted() {
        let finding = |file: usize| Finding {
            kind: ErrorKind::EmptyEdits,
            message: "no edits".to_owned(),
            path: vec!["files".to_owned(), file.to_string()],
            did_you_mean: None,
        };
        let failure = Failure::from(Error::findings((0..1000).map(finding).collect()));
        let text = plain(&failure.for_people(None));
        assert!(text.contains("files.19: ") && !text.contains("files.20: "), "{text}");
        assert!(text.contains("\n  and 980 more; --json names them all\n"), "{text}");
    }

    #[test]
    fn a_half_done_transaction_names_the_command_that_ends_it() {
        let error = Error::new(ErrorKind::WriteFailed, "x").outcome_is(Outcome::RecoveryRequired).of_transaction("T1");
        assert!(plain(&Failure::from(error).for_people(None)).contains("`txedit recover T1`"));
        // A command that is shown can be typed as it is.
        let error = Error::new(ErrorKind::WriteFailed, "x").outcome_is(Outcome::RecoveryRequired);
        let text = plain(&Failure::from(error).for_people(None));
        assert!(text.contains("`txedit recover`") && !text.contains("ID"), "{text}");
    }
}
