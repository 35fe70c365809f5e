//! The JSON form of a request: flat, every field optional, every unknown field refused by name.
//!
//! Required fields are checked afterwards, so that one answer can name everything that is missing.

#[cfg(feature = "mcp")]
mod arguments;
#[cfg(feature = "mcp")]
mod field_names;
mod object;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_path_to_error::Segment;

use crate::error::{Error, ErrorKind, Result};
use crate::limits;
use crate::request::validate::{Findings, at_edit, at_file};
use crate::wire::fault_words::in_json_words;

#[cfg(feature = "mcp")]
pub(crate) use arguments::PLAN_ONLY;
#[cfg(feature = "mcp")]
pub(super) use arguments::from_arguments;
#[cfg(feature = "mcp")]
pub(super) use field_names::field_names;
use object::{FromObject, read_object};

/// Many changes of many files. `F` differs from [`FileRequestJson`] only while faults are being listed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
#[serde(rename = "Request", expecting = "an object that holds a request")]
pub struct RequestJson<F = FileRequestJson> {
    /// One entry for each file.
    #[cfg_attr(feature = "schema", schemars(required))]
    pub files: Option<Vec<F>>,
    /// Only show the diff; write nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dry_run: Option<bool>,
    /// Answer with the whole new contents.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub include_content: Option<bool>,
    /// Answer with hashes, each edit and the diffs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verbose: Option<bool>,
    /// Keep the old files as `<file>.bak`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backup: Option<bool>,
    /// A program and its arguments: its failure puts all files back.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub check: Option<Vec<String>>,
    /// A retry with the same key is answered, not done again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idempotency_key: Option<String>,
    /// A text for the log.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
}

/// What is asked of one file. `E` differs from [`EditJson`] only while faults are being listed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
#[serde(rename = "File", expecting = "an object that holds a file")]
pub struct FileRequestJson<E = EditJson> {
    /// The path of the file, absolute or from the root.
    #[cfg_attr(feature = "schema", schemars(required))]
    pub file_path: Option<String>,
    /// The hash of the content to edit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expected_hash: Option<String>,
    /// Replacements, in order.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub edits: Option<Vec<E>>,
    /// The whole content of a new file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content: Option<String>,
    /// `fail` or `replace` a file that is there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub if_exists: Option<String>,
    /// `fail` or `skip`: if it is not there, or a text of its edits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub if_missing: Option<String>,
    /// Delete the file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delete: Option<bool>,
    /// Make a symlink with this target.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub symlink_to: Option<String>,
    /// Make an empty folder.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub make_folder: Option<bool>,
    /// Remove a folder that the rest of the request leaves empty.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remove_folder: Option<bool>,
    /// Where to move the file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rename_to: Option<String>,
    /// The permission bits, octal digits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<String>,
    /// Its encoding, if not UTF-8 or marked UTF-16.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub encoding: Option<String>,
}

/// One replacement.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
#[serde(rename = "Edit", expecting = "an object that holds an edit")]
pub struct EditJson {
    /// The text to look for, to the byte.
    #[cfg_attr(feature = "schema", schemars(required))]
    pub old_string: Option<String>,
    /// Its replacement.
    #[cfg_attr(feature = "schema", schemars(required))]
    pub new_string: Option<String>,
    /// Replace every match.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replace_all: Option<bool>,
    /// How many there must be.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expected_matches: Option<usize>,
    /// Show matches near this line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub near_line: Option<usize>,
    /// `fail` or `skip`: if the text is not there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub if_missing: Option<String>,
    /// `exact` or `tolerant`.
    #[serde(rename = "match", skip_serializing_if = "Option::is_none")]
    pub match_mode: Option<String>,
}

// Derived, these two would require the same of `F` and `E`.
impl<F> Default for RequestJson<F> {
    fn default() -> Self {
        Self {
            files: None,
            dry_run: None,
            include_content: None,
            verbose: None,
            backup: None,
            check: None,
            idempotency_key: None,
            label: None,
        }
    }
}

impl<E> Default for FileRequestJson<E> {
    fn default() -> Self {
        Self {
            file_path: None,
            expected_hash: None,
            edits: None,
            content: None,
            if_exists: None,
            if_missing: None,
            delete: None,
            symlink_to: None,
            make_folder: None,
            remove_folder: None,
            rename_to: None,
            mode: None,
            encoding: None,
        }
    }
}

impl<F> RequestJson<F> {
    pub(super) fn with_files<G>(self, files: Option<Vec<G>>) -> RequestJson<G> {
        let Self { files: _, dry_run, include_content, verbose, backup, check, idempotency_key, label } = self;
        RequestJson { files, dry_run, include_content, verbose, backup, check, idempotency_key, label }
    }
}

impl<E> FileRequestJson<E> {
    fn with_edits<D>(self, edits: Option<Vec<D>>) -> FileRequestJson<D> {
        let Self {
            file_path,
            expected_hash,
            edits: _,
            content,
            if_exists,
            if_missing,
            delete,
            symlink_to,
            make_folder,
            remove_folder,
            rename_to,
            mode,
            encoding,
        } = self;
        FileRequestJson {
            file_path,
            expected_hash,
            edits,
            content,
            if_exists,
            if_missing,
            delete,
            symlink_to,
            make_folder,
            remove_folder,
            rename_to,
            mode,
            encoding,
        }
    }
}

/// Reads a request. No file is accessed.
///
/// Invalid JSON, wrong types and unknown fields are reported with their place, line and column, together with
/// everything else that is wrong with the shape of the request.
///
/// ```
/// use txedit::{Engine, ErrorKind, PathRule, Run, wire};
///
/// # let folder = tempfile::tempdir()?;
/// # let root = folder.path();
/// # std::fs::write(root.join("a.txt"), "one\n")?;
/// let json = br#"{"files": [{"file_path": "a.txt", "edits": [{"old_string": "one", "new_string": "two"}]}]}"#;
/// let request = wire::parse(json)?.into_request(PathRule::AbsoluteOrRelative)?;
/// let report = Engine::open(root)?.apply(&request, Run::default())?;
/// assert_eq!(std::fs::read_to_string(root.join("a.txt"))?, "two\n");
/// assert!(wire::success_multi(&report, &request).success);
///
/// let error = wire::parse(br#"{"files": [], "dryrun": true}"#).unwrap_err();
/// assert_eq!(error.kind(), ErrorKind::ValidationFailed);
/// assert!(error.to_string().contains("dryrun"), "{error}");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn parse(json: &[u8]) -> Result<RequestJson> {
    if json.len() as u64 > limits::REQUEST_BYTES {
        let message =
            format!("the request has {} bytes; {} are the most that is read", json.len(), limits::REQUEST_BYTES);
        return Err(Error::new(ErrorKind::RequestTooLarge, message));
    }
    // A valid request takes one pass; only for an invalid one is it worth tracking the place while parsing.
    match serde_json::from_slice::<StrictRequest>(json) {
        Ok(request) => Ok(plain(request)),
        Err(_) => read::<StrictRequest>(json).map(plain).map_err(|first| all_faults(json, first)),
    }
}

/// A request in which no list stands for an object.
type StrictRequest = FromObject<RequestJson<FromObject<FileRequestJson<FromObject<EditJson>>>>>;

fn plain(FromObject(mut request): StrictRequest) -> RequestJson {
    let files = request.files.take().map(|files| {
        let files = files.into_iter().map(|FromObject(mut file)| {
            let edits = file.edits.take();
            file.with_edits(edits.map(|edits| edits.into_iter().map(|FromObject(edit)| edit).collect()))
        });
        files.collect()
    });
    request.with_files(files)
}

/// An error of serde, its place, and the offset in the text that it was given.
struct ParseFault {
    place: Vec<String>,
    message: String,
    line: usize,
    column: usize,
}

impl ParseFault {
    fn new(place: Vec<String>, error: &serde_json::Error) -> Self {
        let (line, column) = (error.line(), error.column());
        let text = error.to_string();
        let text = text.strip_suffix(&format!(" at line {line} column {column}")).unwrap_or(&text);
        let message = if error.is_data() { in_json_words(text) } else { format!("not JSON: {text}") };
        Self { place, message, line, column }
    }
}

/// Reads an object.
fn read<'a, T: Deserialize<'a>>(json: &'a [u8]) -> Result<T, ParseFault> {
    let mut deserializer = serde_json::Deserializer::from_slice(json);
    let value = read_object(&mut deserializer).map_err(|error| {
        let place = error.path().iter().filter_map(segment).collect();
        ParseFault::new(place, error.inner())
    })?;
    deserializer.end().map_err(|error| ParseFault::new(Vec::new(), &error))?;
    Ok(value)
}

fn segment(segment: &Segment) -> Option<String> {
    match segment {
        Segment::Seq { index } => Some(index.to_string()),
        Segment::Map { key } => Some(key.clone()),
        Segment::Enum { variant } => Some(variant.clone()),
        Segment::Unknown => None,
    }
}

/// The request with only its file entries separated.
#[derive(Deserialize)]
struct Entries<'a> {
    #[serde(borrow)]
    files: Option<Vec<&'a RawValue>>,
}

/// Reads the request again, entry by entry, since serde stops at the first fault.
///
/// One fault is reported for each edit, one for each file entry around its edits, one for the rest of the request;
/// entries that could be read are validated for their shape as well.
fn all_faults(json: &[u8], first: ParseFault) -> Error {
    let mut faults = Faults { json, at: 0, line: 0, line_start: 0, findings: Findings::new() };
    let request = match read::<RequestJson<&RawValue>>(json) {
        Ok(request) => request,
        Err(fault) => {
            faults.push(json, Vec::new(), fault);
            match read::<Entries<'_>>(json) {
                Ok(Entries { files }) => RequestJson { files, ..RequestJson::default() },
                Err(_) => return faults.findings.into_error(),
            }
        }
    };
    let files = request.files.as_ref().map(|files| {
        let entries = files.iter().enumerate();
        entries.map(|(index, file)| read_file(index, file, &mut faults)).collect::<Vec<FileRequestJson>>()
    });
    let mut findings = faults.findings;
    let mut shape = Findings::new();
    request.with_files(files).convert(&mut shape);
    add_shape(&mut findings, &shape);
    if findings.is_empty() {
        // Separating entries checks less than reading them, so the fault of the first pass may not appear again.
        findings.push(ErrorKind::ValidationFailed, first.place, first.message);
    }
    findings.into_error()
}

/// Adds the shape's findings to the `faults` of its JSON, except for entries that could not be read: those were
/// replaced by empty ones, whose shape is not the caller's.
fn add_shape(faults: &mut Findings, shape: &Findings) {
    let unreadable: Vec<Vec<String>> = faults.as_slice().iter().map(|fault| fault.path.clone()).collect();
    let is_unreadable = |place: &[String]| {
        unreadable.iter().any(|fault| {
            let entry = entry_of(fault);
            place == fault.as_slice() || !entry.is_empty() && place.starts_with(entry)
        })
    };
    for finding in shape.as_slice().iter().filter(|finding| !is_unreadable(&finding.path)) {
        faults.push(finding.kind, finding.path.clone(), finding.message.clone());
    }
}

/// Reads one file entry. One that cannot be read becomes an empty one, so that the others keep their index.
fn read_file(index: usize, json: &RawValue, faults: &mut Faults<'_>) -> FileRequestJson {
    let json = json.get().as_bytes();
    let file = match read::<FileRequestJson<&RawValue>>(json) {
        Ok(file) => file,
        Err(fault) => {
            faults.push(json, at_file(index, None), fault);
            return FileRequestJson::default();
        }
    };
    let edits = file.edits.as_ref().map(|edits| {
        let edits = edits.iter().enumerate().map(|(edit, json)| {
            let json = json.get().as_bytes();
            read(json).unwrap_or_else(|fault| {
                faults.push(json, at_edit(index, edit, None), fault);
                EditJson::default()
            })
        });
        edits.collect()
    });
    file.with_edits(edits)
}

/// The place of the edit, or else the file entry, that contains `place`; empty if none does.
fn entry_of(place: &[String]) -> &[String] {
    match place {
        [files, _, edits, _, ..] if files == "files" && edits == "edits" => &place[..4],
        [files, _, ..] if files == "files" => &place[..2],
        _ => &[],
    }
}

/// The faults of one text, found from its start to its end.
struct Faults<'a> {
    json: &'a [u8],
    /// The offset up to which lines are counted, so that no byte is counted twice.
    at: usize,
    /// The number of line breaks before `at`.
    line: usize,
    /// The start of the line of `at`.
    line_start: usize,
    findings: Findings,
}

impl Faults<'_> {
    /// Adds `fault`, found in `piece` of the text, which is at `place` in the request.
    fn push(&mut self, piece: &[u8], mut place: Vec<String>, fault: ParseFault) {
        let start = piece.as_ptr().addr() - self.json.as_ptr().addr();
        for newline in memchr::memchr_iter(b'\n', &self.json[self.at..start]) {
            self.line += 1;
            self.line_start = self.at + newline + 1;
        }
        self.at = start;
        let line = self.line + fault.line;
        let column = if fault.line == 1 { start - self.line_start + fault.column } else { fault.column };
        place.extend(fault.place);
        let message = format!("{} at line {line}, column {column}", fault.message);
        self.findings.push(ErrorKind::ValidationFailed, place, message);
    }
}

#[cfg(test)]
mod tests;
