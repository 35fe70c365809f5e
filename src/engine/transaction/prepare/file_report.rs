//! The report of one file of a request.

use super::prepared::SourceFile;
use super::resolve::ResolvedPath;
use crate::charset::readable;
use crate::engine::report::{Extra, FileReport, Operation};
use crate::index::{FileIndex, IndexVec, TargetIndex};
use crate::plan::build::TargetIds;
use crate::plan::{New, NewContent};
use crate::request::{Change, Request};
use crate::text::{Applied, diff};

/// One file of a request, to be reported.
pub(crate) struct AskedFile<'a> {
    pub request: &'a Request,
    pub file: FileIndex,
    pub target_ids: TargetIds,
    /// The most bytes of its diff.
    pub diff_bytes: usize,
}

impl AskedFile<'_> {
    pub(crate) fn report(
        &self,
        places: &IndexVec<TargetIndex, ResolvedPath>,
        source: Option<&SourceFile>,
        old: &[u8],
        new: Option<&New>,
        edits: Vec<Applied>,
    ) -> FileReport {
        let entry = &self.request.files[self.file.0];
        let before = source.map(|source| source.snapshot.state());
        let subject = &places[self.target_ids.subject];
        let unchanged = before.is_some() && new.is_some_and(|new| Some(new.state) == before);
        let operation = match &entry.change {
            Change::Delete => Operation::Delete,
            Change::Rename(_) | Change::Edit { rename: Some(_), .. } => Operation::Rename,
            _ if unchanged => Operation::None,
            Change::Edit { .. } => Operation::Edit,
            Change::Write { .. } if before.is_some() => Operation::Replace,
            Change::Write { .. } | Change::Copy { .. } => Operation::Create,
            Change::Mode => Operation::Mode,
            Change::MakeFolder => Operation::Folder,
            Change::RemoveFolder => Operation::RemoveFolder,
        };
        let shows_diff = self.request.dry_run || self.request.verbose;
        let content = new.filter(|_| shows_diff || self.request.include_content).map(|new| {
            let bytes = rendered(new, old);
            readable(&bytes, entry.encoding).into_owned()
        });
        let mut warnings = Vec::new();
        let links = source.map_or(1, |source| source.snapshot.stat.links);
        if links > 1 && operation != Operation::None {
            warnings.push(format!("{} had {links} hard links; the other names keep the old content", subject.path));
        }
        let renamed_to = entry.destination().map(|to| to.path.clone());
        let destination = renamed_to.as_ref().map_or(&entry.path, |path| path);
        let diff = shows_diff.then(|| {
            let old_name = if before.is_some() { entry.path.display().to_string() } else { "/dev/null".to_owned() };
            let new_name = if new.is_some() { destination.display().to_string() } else { "/dev/null".to_owned() };
            let old = if before.is_some() { old } else { &[] };
            let old = readable(old, entry.encoding);
            diff::unified(&old, content.as_deref().unwrap_or_default(), &old_name, &new_name, self.diff_bytes)
        });
        FileReport {
            path: entry.path.clone(),
            operation,
            edits,
            hash_before: before.map(|state| state.digest),
            hash_after: new.map(|new| new.state.digest),
            extras: Extra {
                renamed_to,
                backup: self.target_ids.backup.map(|target| places[target].path.as_path().to_owned()),
                content: content.filter(|_| self.request.include_content),
                diff,
                rebased: None,
                in_place: None,
                warnings,
            }
            .into(),
        }
    }
}

/// The bytes of a new content, from the old one.
fn rendered(new: &New, old: &[u8]) -> Vec<u8> {
    match &new.content {
        NewContent::Bytes(bytes) => bytes.clone(),
        NewContent::Spliced(_, splices) => splices.apply(old),
    }
}
