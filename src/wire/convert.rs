//! Converts a request from its JSON form and validates it.

use std::ffi::OsString;

use super::request::{EditJson, FileRequestJson, RequestJson};
use crate::charset::Charset;
use crate::check::Check;
use crate::digest::Digest;
use crate::error::{ErrorKind, Result};
use crate::request::edit::{Anchor, Count, Matching};
use crate::request::validate::{self, Findings, PathRule, at_edit, at_file};
use crate::request::{Change, FileRequest, IfExists, IfMissing, Mode, RenameTo, edit};

impl RequestJson {
    /// Validates the shape, then the paths lexically. No file is accessed.
    pub fn into_request(self, paths: PathRule) -> Result<crate::request::Request> {
        let mut findings = Findings::new();
        let request = self.convert(&mut findings);
        findings.finish()?;
        validate::check_paths(&request, paths)?;
        Ok(request)
    }

    /// Layer 1. The request is complete only if nothing was found.
    pub(super) fn convert(self, findings: &mut Findings) -> crate::request::Request {
        let files = self.files.unwrap_or_default();
        validate::check_size(files.len(), findings);
        validate::check_label(self.label.as_deref(), findings);
        let entries = files.into_iter().enumerate();
        let mut files: Vec<_> = entries.filter_map(|(index, file)| file.convert(index, findings)).collect();
        files.shrink_to_fit();
        crate::request::Request {
            files,
            dry_run: self.dry_run.unwrap_or(false),
            include_content: self.include_content.unwrap_or(false),
            verbose: self.verbose.unwrap_or(false),
            backup: self.backup.unwrap_or(false),
            check: self.check.and_then(|command| check(command, findings)),
            idempotent: false,
            again: false,
            made_by: None,
            idempotency_key: self.idempotency_key.filter(|key| validate::check_key(key, findings)),
            label: self.label,
            campaign: None,
            plan_hash: None,
            takes_read_only: false,
        }
    }
}

/// Converts a check, which must name a program.
fn check(command: Vec<String>, findings: &mut Findings) -> Option<Check> {
    if command.first().is_none_or(String::is_empty) {
        let message = "`check` takes a program and its arguments, like [\"cargo\", \"check\"]";
        return invalid(findings, vec!["check".to_owned()], message);
    }
    Some(Check::new(command.into_iter().map(OsString::from).collect()))
}

/// Adds a finding of the general kind.
fn invalid<T>(findings: &mut Findings, place: Vec<String>, message: impl Into<String>) -> Option<T> {
    findings.push(ErrorKind::ValidationFailed, place, message);
    None
}

impl FileRequestJson {
    /// `None` if a finding leaves no entry.
    fn convert(self, index: usize, findings: &mut Findings) -> Option<FileRequest> {
        let place = |field| at_file(index, Some(field));
        let if_exists = self.if_exists(index, findings);
        let if_missing = if_missing(self.if_missing.as_deref(), || at_file(index, Some("if_missing")), findings);
        self.check_kinds(index, findings);
        let path = match self.file_path {
            Some(path) => Some(path.into()),
            None => invalid(findings, place("file_path"), "`file_path` is missing"),
        };
        let expected_hash = self.expected_hash.and_then(|hash| match hash.parse::<Digest>() {
            Ok(digest) => Some(digest),
            Err(error) => invalid(findings, place("expected_hash"), error.to_string()),
        });
        let mode = self.mode.and_then(|digits| match mode(&digits) {
            Some(bits) => Some(Mode::Bits(bits)),
            None => invalid(findings, place("mode"), "`mode` takes octal digits, \"7777\" at most, like \"755\""),
        });
        let encoding = self.encoding.and_then(|label| match label.parse::<Charset>() {
            Ok(encoding) => Some(encoding),
            Err(error) => invalid(findings, place("encoding"), error.to_string()),
        });
        let rename = self.rename_to.map(|path| RenameTo { path: path.into(), if_exists });
        let change = match (self.edits, self.content) {
            (Some(edits), _) => Change::Edit { edits: convert_edits(index, edits, if_missing, findings), rename },
            (None, Some(content)) => Change::Write { content: content.into_bytes(), if_exists },
            (None, None) if self.delete == Some(true) => Change::Delete,
            (None, None) if self.symlink_to.is_some() => {
                let target = self.symlink_to.unwrap_or_default().into_bytes();
                validate::check_target(index, &target, findings);
                Change::Symlink { target, if_exists }
            }
            (None, None) if self.make_folder == Some(true) => Change::MakeFolder,
            (None, None) if self.remove_folder == Some(true) => Change::RemoveFolder,
            (None, None) => rename.map_or(Change::Mode, Change::Rename),
        };
        Some(FileRequest { path: path?, expected_hash, change, mode, encoding, if_missing })
    }

    /// Validates that the entry asks for only one kind of change.
    fn check_kinds(&self, index: usize, findings: &mut Findings) {
        let delete = self.delete == Some(true);
        let (makes, removes) = (self.make_folder == Some(true), self.remove_folder == Some(true));
        let given = [
            ("edits", self.edits.is_some()),
            ("content", self.content.is_some()),
            ("delete", delete),
            ("symlink_to", self.symlink_to.is_some()),
            ("make_folder", makes),
            ("remove_folder", removes),
            ("rename_to", self.rename_to.is_some()),
            ("mode", self.mode.is_some()),
        ];
        let names = || {
            let names: Vec<_> = given.iter().filter(|(_, given)| *given).map(|(name, _)| format!("`{name}`")).collect();
            names.join(" and ")
        };
        let others = |but: &str| given.iter().any(|(name, given)| *given && *name != but);
        let place = || at_file(index, None);
        if !others("") {
            let message = "nothing is asked of the file: give `edits`, `content`, `delete`, `rename_to` or `mode`; or in a plan \
                           `symlink_to`, `make_folder` or `remove_folder`";
            findings.push(ErrorKind::ValidationFailed, place(), message);
        } else if delete && others("delete") {
            let message = format!("{} exclude each other: `delete` goes alone", names());
            findings.push(ErrorKind::ValidationFailed, place(), message);
        } else if self.symlink_to.is_some() && others("symlink_to") {
            let message = format!("{} exclude each other: `symlink_to` goes alone", names());
            findings.push(ErrorKind::ValidationFailed, place(), message);
        } else if removes && others("remove_folder") {
            let message = format!("{} exclude each other: `remove_folder` goes alone", names());
            findings.push(ErrorKind::ValidationFailed, place(), message);
        } else if makes && given.iter().any(|(name, given)| *given && !["make_folder", "mode"].contains(name)) {
            let message = format!("{} exclude each other: `make_folder` goes alone or with `mode`", names());
            findings.push(ErrorKind::ValidationFailed, place(), message);
        } else if self.content.is_some() && (self.edits.is_some() || self.rename_to.is_some()) {
            let message = format!("{} exclude each other: `content` goes alone or with `mode`", names());
            findings.push(ErrorKind::ValidationFailed, place(), message);
        }
        if self.expected_hash.is_some() && (makes || removes) {
            let message = "`expected_hash` goes with files only";
            findings.push(ErrorKind::ValidationFailed, at_file(index, Some("expected_hash")), message);
        }
        if self.encoding.is_some() && self.edits.is_none() && self.content.is_none() {
            let message = "`encoding` goes with `edits` or `content` only";
            findings.push(ErrorKind::ValidationFailed, at_file(index, Some("encoding")), message);
        }
        if self.if_missing.is_some() && (self.content.is_some() || self.symlink_to.is_some() || makes || removes) {
            let message = "`if_missing` goes with `edits`, `delete`, `rename_to` or `mode` only";
            findings.push(ErrorKind::ValidationFailed, at_file(index, Some("if_missing")), message);
        }
        if self.if_exists.is_some() && self.content.is_none() && self.rename_to.is_none() && self.symlink_to.is_none() {
            let message = "`if_exists` goes with `content`, `rename_to` or `symlink_to` only";
            findings.push(ErrorKind::ValidationFailed, at_file(index, Some("if_exists")), message);
        }
    }

    fn if_exists(&self, index: usize, findings: &mut Findings) -> IfExists {
        match self.if_exists.as_deref() {
            None | Some("fail") => IfExists::Fail,
            Some("replace") => IfExists::Replace,
            Some(_) => {
                let message = "`if_exists` takes \"fail\" or \"replace\"";
                findings.push(ErrorKind::ValidationFailed, at_file(index, Some("if_exists")), message);
                IfExists::Fail
            }
        }
    }
}

fn if_missing(given: Option<&str>, place: impl Fn() -> Vec<String>, findings: &mut Findings) -> IfMissing {
    match given {
        None | Some("fail") => IfMissing::Fail,
        Some("skip") => IfMissing::Skip,
        Some(_) => {
            findings.push(ErrorKind::ValidationFailed, place(), "`if_missing` takes \"fail\" or \"skip\"");
            IfMissing::Fail
        }
    }
}

/// One to five octal digits, so that `755`, `0755` and `00755` are the same.
fn mode(digits: &str) -> Option<u32> {
    // The parser of the standard library accepts a sign as well.
    let octal = (1..=5).contains(&digits.len()) && digits.bytes().all(|digit| matches!(digit, b'0'..=b'7'));
    let mode = u32::from_str_radix(digits, 8).ok().filter(|_| octal)?;
    (mode <= validate::MODE_MAX).then_some(mode)
}

fn convert_edits(
    file: usize,
    mut edits: Vec<EditJson>,
    if_missing: IfMissing,
    findings: &mut Findings,
) -> Vec<edit::Edit> {
    let total = edits.len();
    if if_missing == IfMissing::Skip {
        // An edit may say otherwise.
        for edit in &mut edits {
            edit.if_missing = edit.if_missing.take().or(Some("skip".to_owned()));
        }
    }
    validate::check_anchors(file, edits.iter().map(|edit| edit.old_string.as_deref().map(str::as_bytes)), findings);
    // `collect` would reuse the vector that grew during parsing, with room for several, or leave a hole in the memory.
    let mut converted = Vec::with_capacity(total);
    let edits = edits.into_iter().enumerate();
    converted.extend(edits.filter_map(|(index, edit)| edit.convert(file, index, total, findings)));
    converted
}

impl EditJson {
    /// `None` if a finding leaves no edit. Anchors are validated for all edits of a file together.
    fn convert(self, file: usize, index: usize, total: usize, findings: &mut Findings) -> Option<edit::Edit> {
        let place = |field| at_edit(file, index, Some(field));
        let number = index + 1;
        let matching = match self.match_mode.as_deref() {
            None | Some("exact") => Matching::Exact,
            Some("tolerant") => Matching::Tolerant,
            Some(_) => {
                invalid::<()>(findings, place("match"), "`match` takes \"exact\" or \"tolerant\"");
                Matching::Exact
            }
        };
        if let Some(expected) = self.expected_matches {
            validate::check_expected_matches(place("expected_matches"), expected, findings);
            if self.replace_all == Some(true) {
                let message = "`expected_matches` and `replace_all` exclude each other";
                invalid::<()>(findings, place("expected_matches"), message);
            }
        }
        let skips = if_missing(self.if_missing.as_deref(), || place("if_missing"), findings) == IfMissing::Skip;
        if skips && self.expected_matches.is_some() {
            let message = "`expected_matches` and `if_missing` exclude each other";
            invalid::<()>(findings, place("expected_matches"), message);
        }
        let count = match (self.replace_all, self.expected_matches) {
            (Some(true), _) if skips => Count::Any,
            (Some(true), _) => Count::All,
            (_, Some(expected)) => Count::Exactly(expected),
            (_, None) if skips => Count::AtMostOnce,
            (_, None) => self.near_line.map_or(Count::Once, Count::OnceNear),
        };
        let old = self
            .old_string
            .or_else(|| invalid(findings, place("old_string"), format!("Edit {number} of {total} has no old_string")));
        let new = self
            .new_string
            .or_else(|| invalid(findings, place("new_string"), format!("Edit {number} of {total} has no new_string")));
        let anchor = Anchor::Text { text: old?.into_bytes(), count, matching };
        Some(edit::Edit { anchor, replacement: new?.into_bytes() })
    }
}
