//! What an open transaction would change: its files, and the changes of one in pieces.
//!
//! Contents are looked at one after the other. Those that are short are kept for the pieces that are asked for next, and of
//! the long ones only the last.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::http::Uri;
use serde::Serialize;

use super::ReviewPage;
use super::rows::{ChangedLines, DiffRow, DiffView};
use crate::engine::report::review::ReviewedFile;
use crate::engine::report::{FileReport, Operation, Preview};
use crate::engine::{Engine, Run};
use crate::error::{Error, ErrorKind, NextStep, Result};
use crate::path::shown;
use crate::text::diff;

/// Bytes up to which a file is short.
const SHORT: usize = 256 << 10;

/// The bytes of short files that are kept.
const KEPT_BYTES: usize = 32 << 20;

/// The most rows of a piece.
const PIECE_ROWS: usize = 500;

/// All that would be changed.
#[derive(Debug, Serialize)]
pub(super) struct ReviewJson {
    success: bool,
    id: String,
    expires: String,
    plan_hash: String,
    files: Vec<FileJson>,
    warnings: Vec<String>,
}

/// A file that would be changed.
#[derive(Debug, Serialize)]
struct FileJson {
    path: String,
    operation: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    renamed_to: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    symlink_to: Option<String>,
    /// What it is now and would be: a selection counts for that alone.
    hash: String,
    added: usize,
    removed: usize,
    /// The changes that can be selected; 0 for a file that is taken as a whole.
    runs: usize,
    /// The rows that show them in each view.
    rows: [usize; 2],
    /// True if it is no text, and its content is not shown.
    binary: bool,
    bytes: [usize; 2],
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<String>,
    /// True if another program changed it since, in other lines.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    rebased: bool,
}

/// A piece of the rows of a file.
#[derive(Debug, Serialize)]
pub(super) struct PieceJson {
    success: bool,
    rows: Vec<DiffRow>,
    /// The first row of the change that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    row: Option<usize>,
}

/// A file whose rows are made.
#[derive(Debug)]
struct ShownChanges {
    lines: Option<ChangedLines>,
    runs: usize,
    bytes: [usize; 2],
}

impl ShownChanges {
    fn new(file: ReviewedFile) -> Self {
        let ReviewedFile { before, after, runs, .. } = file;
        let bytes = [&before, &after].map(|content| content.as_ref().map_or(0, Vec::len));
        let (selectable, is_new) = (runs.as_ref().map_or(0, Vec::len), before.is_none() || after.is_none());
        let (before, after) = (before.unwrap_or_default(), after.unwrap_or_default());
        let is_text = memchr::memchr(0, &before).is_none() && memchr::memchr(0, &after).is_none();
        let runs = match runs {
            Some(runs) => Some(runs),
            None if !is_text => None,
            // Nothing is to be compared.
            None if is_new => {
                Some(vec![(0..before.len(), 0..after.len())].into_iter().filter(|_| bytes != [0, 0]).collect())
            }
            None => diff::changed(&before, &after),
        };
        let lines = runs.map(|runs| ChangedLines::new(before, after, &runs));
        Self { lines, runs: selectable, bytes }
    }

    fn size(&self) -> usize {
        self.bytes.iter().sum()
    }

    fn json(&self) -> FileJson {
        let (added, removed) = self.lines.as_ref().map_or((0, 0), |lines| lines.counts);
        let rows = |view| self.lines.as_ref().map_or(0, |lines| lines.rows(view));
        FileJson {
            path: String::new(),
            operation: Operation::None.as_str(),
            renamed_to: None,
            symlink_to: None,
            hash: String::new(),
            added,
            removed,
            runs: self.runs,
            rows: [rows(DiffView::Unified), rows(DiffView::Split)],
            binary: self.lines.is_none(),
            bytes: self.bytes,
            warnings: Vec::new(),
            rebased: false,
        }
    }
}

/// The files of the review that was made last.
#[derive(Debug, Default)]
pub(super) struct LastReview(Mutex<LastFiles>);

#[derive(Debug, Default)]
struct LastFiles {
    /// The transaction, and its plan.
    of: (String, String),
    short: HashMap<usize, Arc<ShownChanges>>,
    short_bytes: usize,
    long: Option<(usize, Arc<ShownChanges>)>,
}

impl LastFiles {
    fn keep(&mut self, index: usize, file: Arc<ShownChanges>) {
        if file.size() > SHORT {
            self.long = Some((index, file));
        } else if self.short_bytes + file.size() <= KEPT_BYTES {
            self.short_bytes += file.size();
            self.short.insert(index, file);
        }
    }

    fn get(&self, of: (&str, &str), index: usize) -> Option<Arc<ShownChanges>> {
        let long = self.long.as_ref().filter(|(long, _)| *long == index).map(|(_, file)| file);
        let kept = self.short.get(&index).or(long);
        kept.filter(|_| (&*self.of.0, &*self.of.1) == of).cloned()
    }
}

impl LastReview {
    fn lock(&self) -> MutexGuard<'_, LastFiles> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The files of an open transaction.
pub(super) fn list(page: &ReviewPage, engine: &Engine, id: &str) -> Result<ReviewJson> {
    let (mut files, mut kept) = (Vec::new(), LastFiles::default());
    let run = Run::default().diffs_up_to(0).cancelled_by(&page.calls);
    let preview = engine.review_each(id, None, run, &mut |index, file| {
        // Only one of the long ones is held at a time.
        kept.long = None;
        let file = Arc::new(ShownChanges::new(file));
        files.push(file.json());
        kept.keep(index, file);
    })?;
    let Preview { id, expires, plan_hash, report } = preview;
    for (json, file) in files.iter_mut().zip(&report.files) {
        describe(json, file);
    }
    let plan_hash = plan_hash.to_hex();
    kept.of = (id.clone(), plan_hash.clone());
    *page.last.lock() = kept;
    Ok(ReviewJson { success: true, id, expires, plan_hash, files, warnings: report.warnings })
}

fn describe(json: &mut FileJson, file: &FileReport) {
    json.path = shown(&file.path);
    json.operation = file.operation.as_str();
    json.renamed_to = file.extras.renamed_to.as_deref().map(shown);
    json.symlink_to = file.extras.symlink_to.as_deref().map(shown);
    let hex = |digest: Option<crate::digest::Digest>| digest.map(|digest| digest.to_hex()).unwrap_or_default();
    json.hash = format!("{}-{}", hex(file.hash_before), hex(file.hash_after));
    json.warnings.clone_from(&file.extras.warnings);
    json.rebased = file.extras.rebased.is_some();
}

/// What is asked for of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct AskedPiece {
    plan_hash: String,
    index: usize,
    view: DiffView,
    from: usize,
    count: usize,
    is_whole: bool,
    /// The change whose row is asked for.
    run: Option<usize>,
}

impl AskedPiece {
    /// Reads `index`, `plan_hash`, `view`, `from`, `count`, `whole` and `run` from an address; `None` if one is missing or invalid.
    pub(super) fn parse(uri: &Uri) -> Option<Self> {
        let query = uri.query()?;
        let value = |name: &str| query.split('&').find_map(|pair| pair.split_once('=').filter(|(key, _)| *key == name));
        let number = |name: &str| value(name).and_then(|(_, value)| value.parse::<usize>().ok());
        Some(Self {
            plan_hash: value("plan_hash")?.1.to_owned(),
            index: number("index")?,
            view: match value("view")?.1 {
                "unified" => DiffView::Unified,
                "split" => DiffView::Split,
                _ => return None,
            },
            from: number("from")?,
            count: number("count")?.min(PIECE_ROWS),
            is_whole: value("whole").is_some(),
            run: number("run"),
        })
    }
}

/// A piece of a file's rows. It is refused if the plan is another one by now.
pub(super) fn piece(page: &ReviewPage, engine: &Engine, id: &str, asked: &AskedPiece) -> Result<PieceJson> {
    let of = (id, &*asked.plan_hash);
    let kept = page.last.lock().get(of, asked.index);
    let file = match kept {
        Some(file) => file,
        None => read_again(page, engine, of, asked.index)?,
    };
    let rows = file.lines.as_ref().map(|lines| lines.piece(asked.view, asked.from, asked.count, asked.is_whole));
    let row = asked.run.zip(file.lines.as_ref()).and_then(|(run, lines)| lines.row_of(run, asked.view));
    Ok(PieceJson { success: true, rows: rows.unwrap_or_default(), row })
}

/// The changes of a file that were not kept.
fn read_again(
    page: &ReviewPage,
    engine: &Engine,
    (id, plan_hash): (&str, &str),
    index: usize,
) -> Result<Arc<ShownChanges>> {
    let mut found = None;
    let run = Run::default().diffs_up_to(0).cancelled_by(&page.calls);
    page.last.lock().long = None;
    let preview =
        engine.review_each(id, Some(&[index]), run, &mut |_, file| found = Some(Arc::new(ShownChanges::new(file))))?;
    if preview.plan_hash.to_hex() != plan_hash {
        let message = "the transaction, or a file of it, has changed since it was shown";
        return Err(Error::new(ErrorKind::ConcurrentModification, message).with_next([NextStep::PreviewAgain]));
    }
    let Some(found) = found else {
        let message = format!("the transaction has no file {index}");
        return Err(Error::new(ErrorKind::ValidationFailed, message).of_transaction(id));
    };
    let mut last = page.last.lock();
    if (&*last.of.0, &*last.of.1) == (id, plan_hash) {
        last.keep(index, Arc::clone(&found));
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_piece_is_asked_for_by_numbers() {
        let asked = |text: &'static str| AskedPiece::parse(&Uri::from_static(text));
        let piece = asked("/x?index=3&plan_hash=ab&view=split&from=10&count=9999").unwrap();
        assert_eq!(
            (piece.index, piece.view, piece.from, piece.count, piece.is_whole),
            (3, DiffView::Split, 10, PIECE_ROWS, false)
        );
        for wrong in [
            "/x",
            "/x?index=-1&plan_hash=ab&view=split&from=0&count=1",
            "/x?index=1&plan_hash=ab&view=x&from=0&count=1",
        ] {
            assert_eq!(asked(wrong), None, "{wrong}");
        }
    }
}
