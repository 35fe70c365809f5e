//! The report of one file of a request.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt as _;
use std::path::PathBuf;

use super::prepared::SourceFile;
use super::resolve::ResolvedPath;
use crate::charset::readable;
use crate::engine::history::export::under_link_header;
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

/// The contents of a file, for its report.
#[derive(Clone, Copy)]
pub(crate) enum Contents<'a> {
    /// The old one; the new one is made from it, or is in the plan.
    Spliced(&'a [u8]),
    /// The old one, and that of the file which is given away, unless it is too large to be shown.
    Held(&'a [u8], Option<&'a [u8]>),
}

/// What becomes of the other names of a file that is overwritten, and of one that is not.
pub(crate) const GET_IT: &str = "get the new content as well";
pub(crate) const KEEP_THEIRS: &str = "keep the old content";

impl AskedFile<'_> {
    pub(crate) fn report(
        &self,
        places: &IndexVec<TargetIndex, ResolvedPath>,
        source: Option<&SourceFile>,
        contents: Contents<'_>,
        new: Option<&New>,
        edits: Vec<Applied>,
    ) -> FileReport {
        let entry = &self.request.files[self.file.0];
        let (Contents::Spliced(old) | Contents::Held(old, _)) = contents;
        let before = source.map(|source| source.snapshot.state());
        let subject = &places[self.target_ids.subject];
        let unchanged = before.is_some() && new.is_some_and(|new| Some(new.state) == before);
        let operation = operation(&entry.change, before.is_some(), unchanged);
        let is_too_large = matches!(contents, Contents::Held(_, None));
        let shows_diff = (self.request.dry_run || self.request.verbose) && !is_too_large && self.diff_bytes > 0;
        let shows = shows_diff || self.request.include_content && !is_too_large;
        let content = new.filter(|_| shows).map(|new| {
            let bytes = rendered(new, contents);
            readable(&bytes, entry.encoding).into_owned()
        });
        let mut warnings = Vec::new();
        let links = source.map_or(1, |source| source.snapshot.stat.links);
        if links > 1 && operation != Operation::None {
            // A mount point is overwritten, or this is refused.
            let is_overwritten = source.is_some_and(|source| source.snapshot.stat.mount_root);
            let others = if is_overwritten { GET_IT } else { KEEP_THEIRS };
            warnings.push(format!("{} had {links} hard links; the other names {others}", subject.path));
        }
        let renamed_to = entry.destination().map(|to| to.path.clone());
        let destination = renamed_to.as_ref().map_or(&entry.path, |path| path);
        let diff = shows_diff.then(|| {
            let old_name = if before.is_some() { entry.path.display().to_string() } else { "/dev/null".to_owned() };
            let new_name = if new.is_some() { destination.display().to_string() } else { "/dev/null".to_owned() };
            let old = if before.is_some() { old } else { &[] };
            let old = readable(old, entry.encoding);
            let text =
                diff::unified(&old, content.as_deref().unwrap_or_default(), &old_name, &new_name, self.diff_bytes);
            under_link_header(before.as_ref(), new.map(|new| &new.state), text)
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
                symlink_to: new.filter(|new| new.state.is_link()).map(|new| as_path(rendered(new, contents))),
                skipped: false,
                in_place: None,
                guarantee: None,
                warnings,
            }
            .into(),
        }
    }
}

/// The operation that a change of a file is, if there is a file or not, and if it stays as it is.
const fn operation(change: &Change, is_there: bool, unchanged: bool) -> Operation {
    match change {
        Change::Delete => Operation::Delete,
        Change::Rename(_) | Change::Edit { rename: Some(_), .. } => Operation::Rename,
        _ if unchanged => Operation::None,
        Change::Edit { .. } => Operation::Edit,
        Change::Write { .. } | Change::Symlink { .. } | Change::Take { .. } if is_there => Operation::Replace,
        Change::Write { .. } | Change::Copy { .. } | Change::Symlink { .. } | Change::Take { .. } => Operation::Create,
        Change::Mode => Operation::Mode,
        Change::MakeFolder => Operation::Folder,
        Change::RemoveFolder => Operation::RemoveFolder,
    }
}

fn as_path(target: Vec<u8>) -> PathBuf {
    OsString::from_vec(target).into()
}

/// The bytes of a new content.
fn rendered(new: &New, contents: Contents<'_>) -> Vec<u8> {
    match (&new.content, contents) {
        (NewContent::Bytes(bytes), _) => bytes.clone(),
        (NewContent::Spliced(_, splices), Contents::Spliced(old) | Contents::Held(old, _)) => splices.apply(old),
        (NewContent::Held(_), Contents::Held(_, held)) => held.unwrap_or_default().to_vec(),
        (NewContent::Held(_), Contents::Spliced(_)) => unreachable!("what is given away was read"),
    }
}
