//! Reads and edits the files of a request, one after the other.

use std::collections::HashMap;

use super::file_report::{AskedFile, Contents};
use super::other_files::elsewhere;
use super::prepared::SourceFile;
use super::reader::TargetReader;
use super::request_paths::ResolvedRequest;
use super::resolve::ResolvedPath;
use crate::engine::report::FileReport;
use crate::engine::store::lock::check_cancelled;
use crate::engine::{Phase, Run};
use crate::error::{Error, ErrorKind, Result};
use crate::index::{FileIndex, TargetIndex};
use crate::plan::build::{Base, Builder};
use crate::request::{Change, FileRequest, Request};

/// The files of a request, one after the other.
pub(super) struct FileReading<'d, 'a> {
    pub request: &'d Request,
    pub resolved: &'d ResolvedRequest,
    /// The file of the request that leaves each of these targets.
    pub vacated: &'d HashMap<TargetIndex, FileIndex>,
    pub reader: &'d mut TargetReader<'a>,
}

impl FileReading<'_, '_> {
    pub(super) fn all(&mut self, builder: &mut Builder, run: Run<'_>) -> Result<Vec<FileReport>> {
        let total = self.request.files.len();
        let mut reports = Vec::with_capacity(total);
        for file in 0..total {
            run.observer.progress(Phase::Read, file, total);
            check_cancelled(run.cancel)?;
            reports.push(self.one(FileIndex(file), builder, run.diff_bytes)?);
        }
        Ok(reports)
    }

    /// Reads one file and edits it.
    fn one(&mut self, file: FileIndex, builder: &mut Builder, diff_bytes: usize) -> Result<FileReport> {
        let (request, entry, target_ids) = (self.request, &self.request.files[file.0], self.resolved.target_ids[file]);
        let subject = target_ids.subject;
        if self.resolved.leaves_out(request, file) {
            return Ok(FileReport::left_out(entry.path.clone()));
        }
        let named = |e: Error| e.in_file(file);
        let shows = request.dry_run || request.verbose || request.include_content;
        // An entry that leaves a path does not matter to the new file that takes it.
        let is_new = entry.makes() && self.vacated.contains_key(&subject);
        let large = match &entry.change {
            Change::Edit { edits, .. } if !shows => {
                self.reader.read_large(subject, (edits, entry.encoding)).map_err(named)?
            }
            _ => None,
        };
        let bytes = match &entry.change {
            _ if is_new || large.is_some() => Vec::new(),
            // Another file may have become a copy of it.
            Change::Edit { .. } => self.reader.read_again(subject).map_err(named)?,
            // The answer says what a symlink leads to.
            _ if shows || self.resolved.places[subject].is_symlink() => {
                self.reader.read_again(subject).map_err(named)?
            }
            _ => self.reader.look(subject).map(|()| Vec::new()).map_err(named)?,
        };
        let source = self.reader.source(subject).filter(|_| !is_new);
        if let Some(source) = source {
            builder.saw(subject, source.snapshot.state());
        }
        check_expected_hash(entry, source, &self.resolved.places[subject], file)?;
        let copied;
        let content = match target_ids.origin {
            Some(origin) => {
                copied = self.reader.read_again(origin).map_err(named)?;
                if let Some(source) = self.reader.source(origin) {
                    builder.saw(origin, source.snapshot.state());
                }
                &copied
            }
            None => &bytes,
        };
        let base: &dyn Base = large.as_ref().map_or(content as &dyn Base, |large| large);
        let edits = builder.add(file, entry, target_ids, base).map_err(|error| {
            elsewhere(request, &self.resolved.target_ids, self.reader, error.in_file(file)).at(&entry.path)
        })?;
        let mut taken = None;
        if let Change::Take { held, .. } = &entry.change {
            let source = self.reader.take(held, file, shows).map_err(named)?;
            builder.take(file, subject, (source.id, source.state));
            taken = Some(source.shown);
        }
        let new = match entry.change {
            Change::Delete | Change::MakeFolder | Change::RemoveFolder => None,
            _ => builder.becomes(target_ids.destination.unwrap_or(subject)),
        };
        let source = self.reader.source(subject).filter(|_| !is_new);
        let report = AskedFile { request, file, target_ids, diff_bytes }.report(
            &self.resolved.places,
            source,
            taken.as_ref().map_or(Contents::Spliced(content), |shown| Contents::Held(content, shown.as_deref())),
            new,
            edits,
        );
        self.reader.keep(subject, bytes);
        Ok(report)
    }
}

fn check_expected_hash(
    entry: &FileRequest,
    source: Option<&SourceFile>,
    place: &ResolvedPath,
    file: FileIndex,
) -> Result<()> {
    let Some(expected) = entry.expected_hash else { return Ok(()) };
    let found = source.map(|source| source.snapshot.digest);
    if found == Some(expected) {
        return Ok(());
    }
    let found = found.map_or_else(|| "it is not there".to_owned(), |digest| format!("its hash is {digest}"));
    let message = format!("{} is not the file that the edits were made for: {found}, expected {expected}", place.path);
    Err(Error::new(ErrorKind::HashMismatch, message).in_file(file).at(&entry.path))
}
