//! Finds the edits of a request that can be applied to another content during the commit.

use std::collections::HashMap;

use super::prepared::{ContendedEdits, Prepared};
use crate::commit::Protocol;
use crate::engine::store::snapshot::Snapshot;
use crate::engine::transaction::retry::is_by_text;
use crate::index::EntryIndex;
use crate::limits;
use crate::plan::{self, Entry, New, NewContent, SourceId};
use crate::request::{Change, FileRequest, Request};

/// The edits of such entries; `None` if there are none, or if another file of the request is made from one of them.
pub(crate) fn edits(
    protocol: &Protocol,
    request: &Request,
    prepared: &Prepared,
) -> Option<HashMap<EntryIndex, ContendedEdits>> {
    let is_copied = |file: &FileRequest| matches!(file.change, Change::Copy { .. });
    let asked_by: Vec<_> = prepared.plan.entries.iter().map(|entry| entry.asked_by).collect();
    if prepared.gate.is_some()
        || request.backup
        || prepared.plan.entries.len() > limits::CONTENDED_FILES
        || request.files.iter().any(is_copied)
        || !(protocol.have_entries)(request.files.len(), &asked_by)
    {
        return None;
    }
    let entries = prepared.plan.entries.numbered();
    let edits = entries.filter_map(|(index, entry)| Some((index, edits_of(request, prepared, (index, entry))?)));
    Some(edits.collect::<HashMap<_, _>>()).filter(|edits| !edits.is_empty())
}

fn edits_of(request: &Request, prepared: &Prepared, (index, entry): (EntryIndex, &Entry)) -> Option<ContendedEdits> {
    let plan::PlannedChange::Edit(_, New { content: NewContent::Spliced(source, _), metadata_of, .. }) = &entry.change
    else {
        return None;
    };
    let file = &request.files[entry.asked_by?.0];
    let Change::Edit { edits, rename: None } = &file.change else { return None };
    let is_asked = file.expected_hash.is_none() && file.mode.is_none() && is_by_text(edits);
    let is_its_own = |source: SourceId| prepared.sources[source].path == entry.path;
    let is_fit = *metadata_of == Some(*source)
        && is_its_own(*source)
        && prepared.targets[index].as_deref().is_some_and(is_plain);
    (is_asked && is_fit).then(|| ContendedEdits { edits: edits.clone(), encoding: file.encoding })
}

/// Returns whether a file can be rewritten without loss: writing removes set-id bits and capabilities.
fn is_plain(file: &Snapshot) -> bool {
    let has_capability = || file.attributes().extended.iter().any(|(name, _)| name == "security.capability");
    file.stat.size <= limits::CONTENDED_BYTES
        && file.stat.links <= 1
        && file.stat.mode & 0o6000 == 0
        && !has_capability()
}
