//! The arguments of the tools other than a request, and their conversion into one.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use serde_path_to_error::Segment;

use super::failure::FailureJson;
use super::fault_words::{in_json_words, unknown_field};
use super::lenient::{Lenient, TextValues};
use super::request::{EditJson, FileRequestJson, field_names, from_arguments};
use crate::error::{Detail, Error, ErrorKind, Finding, Result};
use crate::request::Request;
use crate::request::validate::{PathRule, at_file};

/// The arguments that a caller of a tool sends.
pub(crate) type Arguments = Map<String, Value>;

/// The arguments of `multi_edit`: many edits of one file.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct MultiEdit {
    /// The path of the file, absolute or from the root.
    #[cfg_attr(feature = "mcp", schemars(required))]
    pub file_path: Option<String>,
    /// Replacements, in order.
    #[cfg_attr(feature = "mcp", schemars(required))]
    pub edits: Option<Vec<EditJson>>,
    /// The hash of the content to edit.
    pub expected_hash: Option<String>,
    /// Only show the diff; write nothing.
    pub dry_run: Option<bool>,
    /// Answer with the whole new content.
    pub include_content: Option<bool>,
    /// Answer with hashes, each edit and the diff.
    pub verbose: Option<bool>,
    /// Keep the old file as `<file>.bak`.
    pub backup: Option<bool>,
    /// Its encoding, if not UTF-8 or marked UTF-16.
    pub encoding: Option<String>,
}

/// The arguments of `edit_file`: one replacement in one file.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct EditFile {
    /// The path of the file, absolute or from the root.
    #[cfg_attr(feature = "mcp", schemars(required))]
    pub path: Option<String>,
    /// The text to look for, to the byte.
    #[cfg_attr(feature = "mcp", schemars(required))]
    pub old_string: Option<String>,
    /// Its replacement.
    #[cfg_attr(feature = "mcp", schemars(required))]
    pub new_string: Option<String>,
    /// Replace every match.
    pub replace_all: Option<bool>,
    /// Its encoding, if not UTF-8 or marked UTF-16.
    pub encoding: Option<String>,
}

/// The arguments of `read_files`.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct ReadFiles {
    /// The paths of the files, absolute or from the root.
    #[cfg_attr(feature = "mcp", schemars(required))]
    pub paths: Option<Vec<String>>,
    /// Skip files with more bytes than this.
    pub max_bytes: Option<u64>,
    /// The first line, from 1.
    pub start_line: Option<usize>,
    /// The last line.
    pub end_line: Option<usize>,
    /// Without contents.
    pub hash_only: Option<bool>,
    /// Their encoding, if not UTF-8 or marked UTF-16.
    pub encoding: Option<String>,
}

/// The arguments of `apply_patch`.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct ApplyPatch {
    /// The whole patch. Relative paths in it start at the root.
    #[cfg_attr(feature = "mcp", schemars(required))]
    pub patch: Option<String>,
    /// diff, envelope, search-replace, workspace-edit, ast-grep, rustc, ruff or eslint.
    pub format: Option<String>,
    /// Only show the diff; write nothing.
    pub dry_run: Option<bool>,
    /// Answer with hashes, each edit and the diffs.
    pub verbose: Option<bool>,
}

/// The arguments of `replace_in_files`.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct ReplaceInFiles {
    /// The text to look for, as it stands; with `regex`, a regular expression.
    #[cfg_attr(feature = "mcp", schemars(required))]
    pub pattern: Option<String>,
    /// What takes its place; with `regex`, `$1` and `${name}` are groups.
    #[cfg_attr(feature = "mcp", schemars(required))]
    pub replacement: Option<String>,
    /// Whether `pattern` is a regular expression.
    pub regex: Option<bool>,
    /// Match whole words only.
    pub word: Option<bool>,
    /// Globs of the files to search, like `src/**/*.rs`.
    pub include: Option<Vec<String>>,
    /// Globs of files and folders to leave out.
    pub exclude: Option<Vec<String>>,
    /// Refuse unless there are so many matches.
    pub expected_matches: Option<usize>,
    /// Refuse to change more files.
    pub max_files: Option<usize>,
    /// Only show the diff; write nothing.
    pub dry_run: Option<bool>,
    /// Answer with hashes, each edit and the diffs.
    pub verbose: Option<bool>,
}

/// The arguments of `stage_edits`: those of a request, and the transaction.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct StageEdits {
    /// The open transaction to add to.
    pub transaction_id: Option<String>,
    /// As in `multi_edit_files`: each has a `file_path`, and `edits`, `content`, `delete`, `rename_to` or `mode`.
    #[cfg_attr(feature = "mcp", schemars(required, with = "Vec<Map<String, Value>>"))]
    pub files: Option<Vec<FileRequestJson>>,
    /// Only try; stage nothing.
    pub dry_run: Option<bool>,
    /// A text for the log.
    pub label: Option<String>,
}

/// The arguments of `preview_transaction` and `rollback_transaction`.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct OneTransaction {
    /// The id of the open transaction.
    #[cfg_attr(feature = "mcp", schemars(required))]
    pub transaction_id: Option<String>,
}

/// The arguments of `commit_transaction`.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct CommitTransaction {
    /// The id of the open transaction.
    #[cfg_attr(feature = "mcp", schemars(required))]
    pub transaction_id: Option<String>,
    /// Commit only the plan with this hash, as previewed.
    pub plan_hash: Option<String>,
    /// A program and its arguments: its failure puts all files back.
    pub check: Option<Vec<String>>,
    /// A person decides first.
    pub needs_approval: Option<bool>,
    /// The longest wait.
    pub wait_seconds: Option<u64>,
}

/// The arguments of `run_command`.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct RunCommand {
    /// The program and its arguments; no shell is used.
    #[cfg_attr(feature = "mcp", schemars(required))]
    pub command: Option<Vec<String>>,
    /// The folder that it starts in, absolute or from the root.
    pub folder: Option<String>,
    /// Only show the diff of what it changes; write nothing.
    pub dry_run: Option<bool>,
    /// Open a transaction with the changes, to be previewed and committed later.
    pub stage: Option<bool>,
    /// A text for the log; else the command.
    pub label: Option<String>,
    /// Globs of the files to commit.
    pub only: Option<Vec<String>>,
    /// Globs of files to leave out.
    pub exclude: Option<Vec<String>>,
    /// Commit what .gitignore names, too.
    pub ignored: Option<bool>,
    /// Commit what it did even if it fails.
    pub keep_on_failure: Option<bool>,
    /// Seconds that it may take.
    pub timeout: Option<f64>,
}

/// The arguments of `list_transactions`.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct ListTransactions {
    /// How many to list, the newest first; 20 unless told otherwise.
    pub limit: Option<usize>,
    /// Only those that touched this file or folder.
    pub path: Option<String>,
}

/// The arguments of `undo_transaction`.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct UndoTransaction {
    /// Else the newest of your own that is not undone.
    pub transaction_id: Option<String>,
    /// Instead: undo all of your own after this one, as one.
    pub since: Option<String>,
    /// With since: those of other callers, too.
    pub all_callers: Option<bool>,
    /// Also where other lines changed since.
    pub rebase: Option<bool>,
    /// Only show the diff; write nothing.
    pub dry_run: Option<bool>,
}

/// Reads arguments of one level. The tool checks for missing ones.
pub(crate) fn parse_flat<T: DeserializeOwned>(arguments: Arguments) -> Result<T> {
    let known = field_names::<T>();
    let others = arguments.keys().filter(|name| !known.contains(&name.as_str()));
    let others: Vec<_> =
        others.map(|name| finding(vec![name.clone()], unknown_field(name, known.iter().copied()))).collect();
    if !others.is_empty() {
        return Err(Error::findings(others));
    }
    serde_path_to_error::deserialize(Lenient(Value::Object(arguments), &TextValues::default())).map_err(|error| {
        let segment = |segment: &Segment| match segment {
            Segment::Seq { index } => Some(index.to_string()),
            Segment::Map { key } => Some(key.clone()),
            Segment::Enum { variant } => Some(variant.clone()),
            Segment::Unknown => None,
        };
        let path = error.path().iter().filter_map(segment).collect();
        Error::findings(vec![finding(path, in_json_words(&error.inner().to_string()))])
    })
}

/// The required arguments, or one finding for each that is missing.
pub(crate) fn required<const N: usize>(fields: [(&str, Option<String>); N]) -> Result<[String; N]> {
    let missing = fields.iter().filter(|(_, value)| value.is_none());
    let missing: Vec<_> =
        missing.map(|(name, _)| finding(vec![(*name).to_owned()], format!("`{name}` is missing"))).collect();
    if missing.is_empty() {
        Ok(fields.map(|(_, value)| value.unwrap_or_default()))
    } else {
        Err(Error::findings(missing))
    }
}

/// Reads the arguments of `stage_edits`: the transaction, and the request.
pub(crate) fn parse_stage(mut arguments: Arguments, paths: PathRule) -> Result<(Option<String>, Request)> {
    let id = match arguments.remove("transaction_id") {
        None | Some(Value::Null) => None,
        Some(Value::String(id)) => Some(id),
        Some(_) => {
            let message = "`transaction_id` takes a string, as an earlier stage_edits answered it".to_owned();
            return Err(Error::findings(vec![finding(vec!["transaction_id".to_owned()], message)]));
        }
    };
    Ok((id, parse_request(arguments, paths)?))
}

/// Reads the arguments of `multi_edit_files`. Each text in them is moved into the request.
pub(crate) fn parse_request(arguments: Arguments, paths: PathRule) -> Result<Request> {
    from_arguments(arguments, paths)
}

/// The level in a request of an argument of a tool with one file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Level {
    Request,
    File,
    Edit,
}

/// An argument of a tool with one file: its name there, its level in a request, its name there.
type Field = (&'static str, Level, &'static str);

const MULTI_EDIT: &[Field] = &[
    ("file_path", Level::File, "file_path"),
    ("edits", Level::File, "edits"),
    ("expected_hash", Level::File, "expected_hash"),
    ("dry_run", Level::Request, "dry_run"),
    ("include_content", Level::Request, "include_content"),
    ("verbose", Level::Request, "verbose"),
    ("backup", Level::Request, "backup"),
    ("encoding", Level::File, "encoding"),
];

const EDIT_FILE: &[Field] = &[
    ("path", Level::File, "file_path"),
    ("old_string", Level::Edit, "old_string"),
    ("new_string", Level::Edit, "new_string"),
    ("replace_all", Level::Edit, "replace_all"),
    ("encoding", Level::File, "encoding"),
];

/// Reads the arguments of `multi_edit`.
pub(crate) fn parse_multi_edit(arguments: Arguments, paths: PathRule) -> Result<Request> {
    one_file(arguments, paths, MULTI_EDIT, &["file_path", "edits"])
}

/// Reads the arguments of `edit_file`.
pub(crate) fn parse_edit_file(arguments: Arguments, paths: PathRule) -> Result<Request> {
    one_file(arguments, paths, EDIT_FILE, &["path", "old_string", "new_string"])
}

/// Moves the places of an answer to where the caller of `edit_file` has them: it knows neither `file_path` nor `edits`.
pub(crate) fn place_in_edit_file(failure: &mut FailureJson) {
    for finding in &mut failure.errors {
        finding.path = match finding.path.as_slice() {
            [field] if field == "file_path" => vec!["path".to_owned()],
            [edits, _, rest @ ..] if edits == "edits" => rest.to_vec(),
            path => path.to_vec(),
        };
    }
    failure.failed_edit_index = None;
    failure.edit_status.clear();
}

/// A request for one file, with everything that is wrong with it found at once.
fn one_file(arguments: Arguments, paths: PathRule, fields: &[Field], required: &[&str]) -> Result<Request> {
    let mut found = Vec::new();
    for name in required.iter().filter(|name| !arguments.contains_key(**name)) {
        found.push(finding(vec![(*name).to_owned()], format!("`{name}` is missing")));
    }
    let (mut request, mut file, mut edit) = (Map::new(), Map::new(), Map::new());
    for (name, value) in arguments {
        match fields.iter().find(|(known, ..)| *known == name) {
            Some((_, Level::Request, inner)) => drop(request.insert((*inner).to_owned(), value)),
            Some((_, Level::File, inner)) => drop(file.insert((*inner).to_owned(), value)),
            Some((_, Level::Edit, inner)) => drop(edit.insert((*inner).to_owned(), value)),
            None => {
                let message = unknown_field(&name, fields.iter().map(|(known, ..)| *known));
                found.push(finding(vec![name], message));
            }
        }
    }
    if fields.iter().any(|(_, level, _)| *level == Level::Edit) {
        file.insert("edits".to_owned(), vec![Value::Object(edit)].into());
    }
    request.insert("files".to_owned(), vec![Value::Object(file)].into());
    match parse_request(request, paths) {
        Ok(request) if found.is_empty() => Ok(request),
        Ok(_) => Err(Error::findings(found)),
        Err(error) => Err(joined(found, &error, fields)),
    }
}

/// The findings here, then those of the request that are different.
fn joined(mut found: Vec<Finding>, error: &Error, fields: &[Field]) -> Error {
    let Detail::Findings(inner) = error.details() else {
        return Error::new(error.kind(), error.message().to_owned());
    };
    for finding in inner {
        let named = finding.path.last().map(String::as_str);
        let is_said = fields.iter().any(|(name, _, inner)| {
            Some(*inner) == named && found.iter().any(|said| said.path.len() == 1 && said.path[0] == *name)
        });
        // The caller was already told what is missing in the one file, by the tool's own names.
        let is_of_the_file = !found.is_empty() && finding.path == at_file(0, None);
        if !is_said && !is_of_the_file {
            found.push(finding.clone());
        }
    }
    Error::findings(found)
}

/// A finding of the general kind.
fn finding(path: Vec<String>, message: String) -> Finding {
    Finding { kind: ErrorKind::ValidationFailed, message, path, did_you_mean: None }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::error::NextStep;
    use crate::request::Change;
    use crate::request::edit::Edit;
    use crate::wire::{Shape, failure};

    const ANY: PathRule = PathRule::AbsoluteOrRelative;

    fn arguments(json: Value) -> Arguments {
        let Value::Object(arguments) = json else { panic!("arguments are an object") };
        arguments
    }

    fn findings(error: &Error) -> Vec<(String, String)> {
        let failure = failure(error, None, Shape::Single, NextStep::to_string);
        failure.errors.iter().map(|finding| (finding.path.join("/"), finding.message.clone())).collect()
    }

    #[test]
    fn one_file_becomes_a_request() {
        let request = parse_multi_edit(
            arguments(json!({"file_path": "/a", "dry_run": true, "expected_hash": "0".repeat(64),
            "edits": [{"old_string": "a", "new_string": "b"}]})),
            PathRule::Absolute,
        )
        .unwrap();
        assert_eq!((request.files[0].path.to_str(), request.dry_run), (Some("/a"), true));
        assert!(request.files[0].expected_hash.is_some());
        assert_eq!(edits_of(&request), [Edit::replace("a", "b")]);

        let request = parse_edit_file(
            arguments(json!({"path": "a", "old_string": "a", "new_string": "", "replace_all": true})),
            ANY,
        )
        .unwrap();
        assert_eq!(edits_of(&request), [Edit::replace_all("a", "")]);
    }

    fn edits_of(request: &Request) -> &[Edit] {
        match &request.files[0].change {
            Change::Edit { edits, .. } => edits,
            other => panic!("edits are expected: {other:?}"),
        }
    }

    #[test]
    fn the_texts_of_an_edit_are_moved_not_copied() {
        let json = json!({"file_path": "/a", "edits": [{"old_string": "a", "new_string": "b".repeat(1 << 20)}]});
        let address = json["edits"][0]["new_string"].as_str().unwrap().as_ptr();
        let request = parse_multi_edit(arguments(json), PathRule::Absolute).unwrap();
        assert_eq!(edits_of(&request)[0].replacement.as_ptr(), address);
    }

    #[test]
    fn all_that_is_wrong_is_found_at_once_and_once() {
        let error = parse_multi_edit(
            arguments(json!({"path": "/a", "dry_run": "yes",
            "edits": [{"old_string": "a"}, {"old_string": 5, "new_string": "b"}]})),
            ANY,
        )
        .unwrap_err();
        let found = findings(&error);
        let places: Vec<_> = found.iter().map(|(place, _)| place.as_str()).collect();
        assert_eq!(places, ["file_path", "path", "dry_run", "edits/1/old_string", "edits/0/new_string"], "{found:?}");
        assert!(found.iter().all(|(_, message)| !message.contains("column")), "{found:?}");
        assert!(found[1].1.starts_with("unknown field `path`: here it is called `file_path`"), "{found:?}");
    }

    #[test]
    fn errors_of_edit_file_name_its_own_fields() {
        let error = parse_edit_file(arguments(json!({"file": "a", "old_string": ""})), ANY).unwrap_err();
        let mut failure = failure(&error, None, Shape::Single, NextStep::to_string);
        place_in_edit_file(&mut failure);
        let places: Vec<_> = failure.errors.iter().map(|finding| finding.path.join("/")).collect();
        assert_eq!(places, ["path", "new_string", "file", "old_string"]);
        assert!(!failure.errors.iter().any(|finding| finding.message.contains("file_path")));
    }

    #[test]
    fn flat_arguments_name_the_place_of_their_fault() {
        let error = parse_flat::<ReadFiles>(arguments(json!({"paths": ["/a", 5]}))).unwrap_err();
        assert_eq!(findings(&error)[0].0, "paths/1");
        let error = parse_flat::<UndoTransaction>(arguments(json!({"id": "x"}))).unwrap_err();
        assert!(
            findings(&error)[0]
                .1
                .contains("expected one of `transaction_id`, `since`, `all_callers`, `rebase`, `dry_run`")
        );
    }
}
