//! The text in the file instead of what an edit searched for.

use serde::Serialize;

use crate::error::MatchPlaces;
use crate::error::{Changer, Conflict, Detail, ForeignChange};
use crate::error::{Diagnosis, Difference, MismatchCause};
use crate::wire::program::ProgramResult;
use crate::wire::response::{CheckResult, text};

/// The text in the file: the nearest region for no match, the places for several.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[expect(missing_docs, reason = "the names are the wire's, explained in docs/answers.md")]
pub struct FailureContext {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub snippet: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub similarity: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub diff: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub differences: Vec<CharDifference>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cause: Option<&'static str>,
    /// The edit of `consumed_by_edit`, the file of `in_other_file`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cause_index: Option<usize>,
    /// The `old_string` that would have matched.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub suggestion: Option<String>,
    /// The text of the nearest place, if no other comes near: a guess.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nearest_old_string: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub match_locations: Vec<MatchLocation>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total_matches: Option<usize>,
    /// The changes of the files since the transaction that was to be reverted, or beside a program.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub conflicts: Vec<ChangedSince>,
    /// The staged change, as a diff from the content it was staged on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ours: Option<String>,
    /// Another program's change of that content.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub theirs: Option<String>,
    /// The transactions that changed the file since it had the content that was expected.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub changed_by: Vec<ChangerJson>,
    /// True if a change comes from no transaction in history.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by_another_program: Option<bool>,
    /// The check that failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub check: Option<CheckResult>,
    /// The program that failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub program: Option<ProgramResult>,
}

/// A transaction that changed a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[expect(missing_docs, reason = "the names are the wire's, explained in docs/answers.md")]
pub struct ChangerJson {
    pub transaction_id: String,
    pub owner: String,
    pub time: String,
}

/// Who changed a file, and whether it was another program.
fn changers(change: &ForeignChange) -> (Vec<ChangerJson>, Option<bool>) {
    let json = |changer: &Changer| {
        let Changer { id, owner, time } = changer.clone();
        ChangerJson { transaction_id: id, owner, time }
    };
    (change.by.iter().map(json).collect(), change.by_another_program.then_some(true))
}

/// Characters of the nearest region that differ from those of `old_string`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[expect(missing_docs, reason = "the names are the wire's, explained in docs/answers.md")]
pub struct CharDifference {
    pub line: usize,
    pub old_string: String,
    pub file: String,
}

/// A file that changed since the transaction that was to be reverted, or that a program and others changed at once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[expect(missing_docs, reason = "the names are the wire's, explained in docs/answers.md")]
pub struct ChangedSince {
    pub path: String,
    /// The later transactions with an effect on it; those that cancel out are left out.
    pub changed_by: Vec<String>,
    /// True if a change comes from no transaction in history.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by_another_program: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub diff: Option<String>,
    /// What others did to a file that a program changed, too.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub theirs: Option<String>,
    /// What the program did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ours: Option<String>,
}

impl From<&Conflict> for ChangedSince {
    fn from(conflict: &Conflict) -> Self {
        let Conflict { path, changed_by, by_another_program, diff, theirs, ours } = conflict;
        Self {
            path: text(path),
            changed_by: changed_by.clone(),
            by_another_program: by_another_program.then_some(true),
            diff: diff.clone(),
            theirs: theirs.clone(),
            ours: ours.clone(),
        }
    }
}

/// One place of several.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[expect(missing_docs, reason = "the names are the wire's, explained in docs/answers.md")]
pub struct MatchLocation {
    pub line: usize,
    pub snippet: String,
    /// An `old_string` that matches only here.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unique_old_string: Option<String>,
}

pub(super) fn context(detail: &Detail) -> Option<FailureContext> {
    match detail {
        Detail::NoMatch(diagnosis) => Some(FailureContext::from(&**diagnosis)),
        Detail::Matches(places) => Some(FailureContext::from(places)),
        Detail::Diverged(sides) => {
            let (changed_by, by_another_program) = sides.by.as_ref().map(changers).unwrap_or_default();
            let (ours, theirs) =
                [&sides.ours, &sides.theirs].map(|side| Some(side.clone()).filter(|side| !side.is_empty())).into();
            Some(FailureContext { ours, theirs, changed_by, by_another_program, ..FailureContext::default() })
        }
        Detail::Changed(change) => {
            let (changed_by, by_another_program) = changers(change);
            let theirs = change.diff.clone();
            Some(FailureContext { theirs, changed_by, by_another_program, ..FailureContext::default() })
        }
        Detail::Check(run) => {
            Some(FailureContext { check: Some(CheckResult::from(&**run)), ..FailureContext::default() })
        }
        Detail::Program(run) => {
            Some(FailureContext { program: Some(ProgramResult::from(&**run)), ..FailureContext::default() })
        }
        Detail::Conflicts(conflicts) => Some(FailureContext {
            conflicts: conflicts.iter().map(ChangedSince::from).collect(),
            ..FailureContext::default()
        }),
        Detail::None | Detail::SameKey | Detail::PartlyDone | Detail::Encoding(_) | Detail::Findings(_) => None,
    }
}

impl From<&Diagnosis> for FailureContext {
    fn from(diagnosis: &Diagnosis) -> Self {
        let (cause, cause_index) = diagnosis.cause.map(cause).unzip();
        Self {
            snippet: Some(diagnosis.snippet.clone()),
            line: Some(diagnosis.line),
            similarity: Some(diagnosis.similarity),
            diff: Some(diagnosis.diff.clone()),
            differences: diagnosis.differences.iter().map(CharDifference::from).collect(),
            cause,
            cause_index: cause_index.flatten(),
            suggestion: diagnosis.suggestion.clone(),
            nearest_old_string: diagnosis.nearest.clone(),
            ..Self::default()
        }
    }
}

impl From<&Difference> for CharDifference {
    fn from(difference: &Difference) -> Self {
        let Difference { line, anchor, file } = difference.clone();
        Self { line, old_string: anchor, file }
    }
}

impl From<&MatchPlaces> for FailureContext {
    fn from(places: &MatchPlaces) -> Self {
        let shown = places.shown.iter();
        Self {
            match_locations: shown
                .map(|place| MatchLocation {
                    line: place.line,
                    snippet: place.snippet.clone(),
                    unique_old_string: place.unique.clone(),
                })
                .collect(),
            total_matches: Some(places.total),
            ..Self::default()
        }
    }
}

/// The word for a cause, and its index.
fn cause(cause: MismatchCause) -> (&'static str, Option<usize>) {
    match cause {
        MismatchCause::WhiteSpace => ("white_space", None),
        MismatchCause::TabsAgainstSpaces => ("tabs_against_spaces", None),
        MismatchCause::LookAlike => ("look_alike", None),
        MismatchCause::EscapedText => ("escaped_text", None),
        MismatchCause::LineNumbers => ("line_numbers", None),
        MismatchCause::DiffMarkers => ("diff_markers", None),
        MismatchCause::Quoted => ("quoted", None),
        MismatchCause::Wrapped => ("wrapped", None),
        MismatchCause::HtmlEntities => ("html_entities", None),
        MismatchCause::QuoteStyle => ("quote_style", None),
        MismatchCause::Elided => ("elided", None),
        MismatchCause::LinesLeftOut => ("lines_left_out", None),
        MismatchCause::AlreadyApplied => ("already_applied", None),
        MismatchCause::ConsumedByEdit(edit) => ("consumed_by_edit", Some(edit)),
        MismatchCause::ConsumedByStaged => ("consumed_by_staged", None),
        MismatchCause::InOtherFile(file) => ("in_other_file", Some(file)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_cause_has_a_word_of_its_own() {
        let causes = [
            MismatchCause::WhiteSpace,
            MismatchCause::TabsAgainstSpaces,
            MismatchCause::LookAlike,
            MismatchCause::EscapedText,
            MismatchCause::LineNumbers,
            MismatchCause::DiffMarkers,
            MismatchCause::Quoted,
            MismatchCause::Wrapped,
            MismatchCause::HtmlEntities,
            MismatchCause::QuoteStyle,
            MismatchCause::Elided,
            MismatchCause::LinesLeftOut,
            MismatchCause::AlreadyApplied,
            MismatchCause::ConsumedByEdit(3),
            MismatchCause::ConsumedByStaged,
            MismatchCause::InOtherFile(3),
        ];
        let words: std::collections::HashSet<_> = causes.map(|it| cause(it).0).into();
        assert_eq!(words.len(), causes.len());
        assert_eq!(cause(MismatchCause::InOtherFile(3)), ("in_other_file", Some(3)));
    }
}
