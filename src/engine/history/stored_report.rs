//! `report.json` in a transaction's folder: who committed it, what was asked, and the result.
//!
//! The hash chain does not cover it, and one that cannot be read counts as missing. So no recovery depends on it; an undo
//! takes from it what a check made of the files, and keeps that as its own original.

use std::borrow::Cow;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize, Serializer};

use crate::cancel::NEVER;
use crate::check::{CheckPlace, CheckRun, Ended, Verdict};
use crate::digest::Digest;
use crate::engine::report::{Extra, FileReport, Operation, Report};
use crate::engine::store::snapshot;
use crate::engine::store::workspace::Workspace;
use crate::error::Result;
use crate::fs::{FileKind, Handle, Name};
use crate::index::FileIndex;
use crate::limits;
use crate::path::AskedPath;
use crate::path::RelPath;
use crate::plan::{FileState, New, NewContent, Plan, PlannedChange};
use crate::text::splice::{Splice, Splices};
use crate::text::{Applied, MatchKind};

/// The name in a transaction's folder.
pub(crate) const FILE_NAME: &str = "report.json";

/// The report as it is read back.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct StoredReport {
    pub program: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub check: Option<StoredCheck>,
    pub files: Vec<StoredFileReport>,
    /// The files that the check has changed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rewritten: Vec<StoredRewritten>,
    /// The replacements in the edited files, up to a total size.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub splices: Vec<StoredSplices<'static>>,
}

/// A new file that a passing check has rewritten, perhaps a formatter: it stays, and is reported.
#[derive(Debug, Clone)]
pub(crate) struct Rewritten {
    /// Its path in the workspace.
    pub path: RelPath,
    /// The file of the request that asked for it.
    pub asked_by: Option<FileIndex>,
    /// The digest and the mode of the file there now; `None` if there is no file.
    pub now: Option<(Digest, u32)>,
}

impl Rewritten {
    /// Says so in the report of its file, and nothing else.
    pub(crate) fn warn<'f>(&self, files: &'f mut [FileReport]) -> Option<&'f mut FileReport> {
        let path = self.path.as_path();
        let file = match self.asked_by {
            Some(FileIndex(file)) => files.get_mut(file),
            None => files.iter_mut().find(|file| file.path == path.into()),
        }?;
        file.extras.warnings.push(format!("the check changed {}; what it wrote stands", path.display()));
        Some(file)
    }

    /// Adds it to the report of its file.
    pub(crate) fn tell(&self, files: &mut [FileReport]) {
        let path = self.path.as_path();
        let Some(file) = self.warn(files) else { return };
        let is_backup = file.extras.backup.as_deref() == Some(path);
        // A rename has two entries: the report is not about the old name, where nothing was to be left.
        let is_old_name = file.extras.renamed_to.is_some() && file.path.ends_with(path);
        if !is_backup && !is_old_name {
            file.hash_after = self.now.map(|(digest, _)| digest);
        }
    }
}

/// The parts of a report that do not come from the plan: who acts, and what is answered.
#[derive(Debug)]
pub(crate) struct ReportSource<'a> {
    pub program: &'a str,
    pub session: Option<&'a str>,
    pub files: Vec<FileReport>,
    /// The files that the check has changed.
    pub rewritten: Vec<Rewritten>,
}

/// The report as it is written. It can be long, so it borrows everything.
#[derive(Serialize)]
struct WrittenReport<'a> {
    program: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    label: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    check: Option<StoredCheck>,
    files: WrittenFiles<'a>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    rewritten: Vec<StoredRewritten>,
    #[serde(skip_serializing_if = "WrittenSplices::is_empty")]
    splices: WrittenSplices<'a>,
}

/// The reports of files, one after the other.
struct WrittenFiles<'a>(&'a [FileReport]);

impl Serialize for WrittenFiles<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().map(StoredFileReport::of))
    }
}

/// Digests as hex digits; an invalid one is read as none.
mod hex {
    use serde::{Deserialize, Deserializer, Serializer};

    use crate::digest::Digest;

    #[expect(clippy::ref_option, reason = "serde calls it so")]
    pub(crate) fn serialize<S: Serializer>(digest: &Option<Digest>, serializer: S) -> Result<S::Ok, S::Error> {
        match digest {
            Some(digest) => serializer.collect_str(digest),
            None => serializer.serialize_none(),
        }
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Digest>, D::Error> {
        let text = Option::<String>::deserialize(deserializer)?;
        Ok(text.and_then(|text| text.parse().ok()))
    }
}

/// The ranges that were replaced in a file.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct StoredSplices<'a> {
    pub path: Cow<'a, str>,
    /// True if they are not all UTF-8: then each character of a replacement is the byte of its number.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub are_bytes: bool,
    /// Start, end, and the replacement.
    pub splices: Vec<(usize, usize, Cow<'a, str>)>,
}

/// A check that passed.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct StoredCheck {
    pub command: String,
    pub milliseconds: u64,
    pub output: String,
    /// Where it ran, unless that was the tree.
    #[serde(default, rename = "in", skip_serializing_if = "Option::is_none")]
    pub place: Option<String>,
}

/// A file that the check has changed, as it left it; without a hash there was none.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct StoredRewritten {
    pub path: String,
    #[serde(default, skip_serializing_if = "Option::is_none", with = "hex")]
    pub hash: Option<Digest>,
    #[serde(default)]
    pub mode: u32,
}

impl StoredRewritten {
    fn of(rewritten: &Rewritten) -> Self {
        let (hash, mode) = rewritten.now.unzip();
        Self { path: rewritten.path.to_string(), hash, mode: mode.unwrap_or_default() }
    }
}

/// One file.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct StoredFileReport {
    pub path: String,
    pub operation: Cow<'static, str>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub renamed_to: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none", with = "hex")]
    pub hash_before: Option<Digest>,
    #[serde(default, skip_serializing_if = "Option::is_none", with = "hex")]
    pub hash_after: Option<Digest>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub symlink_to: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backup: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub edits: Vec<StoredEditReport>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

/// One edit.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct StoredEditReport {
    pub replaced: usize,
    pub lines: Vec<usize>,
    pub match_kind: Cow<'static, str>,
}

impl StoredFileReport {
    fn of(file: &FileReport) -> Self {
        let text = |path: &Path| path.to_string_lossy().into_owned();
        let edits = file.edits.iter().map(|edit| StoredEditReport {
            replaced: edit.replaced,
            lines: edit.lines.clone(),
            match_kind: edit.match_kind.as_str().into(),
        });
        Self {
            path: text(&file.path),
            operation: file.operation.as_str().into(),
            renamed_to: file.extras.renamed_to.as_deref().map(text),
            hash_before: file.hash_before,
            hash_after: file.hash_after,
            symlink_to: file.extras.symlink_to.as_deref().map(text),
            backup: file.extras.backup.as_deref().map(text),
            edits: edits.collect(),
            warnings: file.extras.warnings.clone(),
        }
    }

    fn into_report(self) -> FileReport {
        let edits = self.edits.into_iter().map(|edit| Applied {
            replaced: edit.replaced,
            lines: edit.lines,
            match_kind: MatchKind::ALL.into_iter().find(|kind| kind.as_str() == edit.match_kind).unwrap_or_default(),
        });
        FileReport {
            path: self.path.into(),
            operation: Operation::ALL.into_iter().find(|it| it.as_str() == self.operation).unwrap_or(Operation::None),
            edits: edits.collect(),
            hash_before: self.hash_before,
            hash_after: self.hash_after,
            extras: Extra {
                renamed_to: self.renamed_to.map(AskedPath::from),
                symlink_to: self.symlink_to.map(PathBuf::from),
                backup: self.backup.map(PathBuf::from),
                warnings: self.warnings,
                ..Extra::NONE
            }
            .into(),
        }
    }
}

impl StoredReport {
    /// The report in a transaction's folder; `None` where there is none that can be read.
    pub(crate) fn read(workspace: &Workspace, folder: &Handle) -> Result<Option<Self>> {
        let name = Name::new(folder, FILE_NAME);
        let Ok(file) = workspace.fs().open_file(name) else { return Ok(None) };
        let stat = workspace.stat_handle(&file)?;
        if stat.kind != FileKind::File || stat.size > limits::REPORT_BYTES {
            return Ok(None);
        }
        let bytes = snapshot::read_whole(workspace, &file, stat.size, &NEVER)?;
        Ok(serde_json::from_slice(&bytes).ok())
    }

    /// The new content of a file, computed from the old one. The caller must verify its digest: this is only a hint.
    pub(crate) fn result(&self, path: &RelPath, original: &[u8]) -> Option<Vec<u8>> {
        let stored = self.splices.iter().find(|stored| path.as_path().to_str() == Some(&*stored.path))?;
        let bytes = |with: &str| {
            if stored.are_bytes {
                with.chars().map(|c| u8::try_from(c).ok()).collect()
            } else {
                Some(with.as_bytes().to_vec())
            }
        };
        let splice = |(start, end, with): &(usize, usize, Cow<'_, str>)| {
            Some(Splice { range: *start..*end, with: bytes(with)? })
        };
        let splices = stored.splices.iter().map(splice).collect::<Option<_>>()?;
        Some(Splices::new(original, splices).ok()?.apply(original))
    }

    /// What the check made of the file at a path, if it changed that.
    pub(crate) fn rewritten(&self, path: &RelPath) -> Option<&StoredRewritten> {
        self.rewritten.iter().find(|one| path.as_path().to_str() == Some(&*one.path))
    }

    /// The file at a path as the transaction left it, where its check changed what was recorded. Whoever takes it for
    /// that must lose nothing by it: the hash chain does not cover this.
    pub(crate) fn left(&self, path: &RelPath, recorded: &FileState, now: &FileState) -> Option<FileState> {
        let rewritten = self.rewritten(path)?;
        let left = FileState { digest: rewritten.hash?, mode: rewritten.mode, size: now.size, ..*recorded };
        now.is(&left).then_some(left)
    }

    /// The report, as the engine answered it.
    pub(crate) fn into_report(self) -> Report {
        Report {
            files: self.files.into_iter().map(StoredFileReport::into_report).collect(),
            check: self.check.map(|check| Box::new(check.into_run())),
            ..Report::default()
        }
    }
}

impl ReportSource<'_> {
    /// Writes the report, with the check that passed.
    pub(crate) fn write(
        &self,
        plan: &Plan,
        label: Option<&str>,
        check: Option<&CheckRun>,
        to: impl io::Write,
    ) -> io::Result<()> {
        let (files, splices) = (WrittenFiles(&self.files), WrittenSplices(plan));
        let rewritten = self.rewritten.iter().map(StoredRewritten::of).collect();
        let check = check.map(StoredCheck::of);
        let written = WrittenReport { program: self.program, label, check, files, rewritten, splices };
        Ok(serde_json::to_writer(to, &written)?)
    }
}

/// The replacements of a plan, so that a later undo can tell them from those of others.
struct WrittenSplices<'a>(&'a Plan);

impl<'a> WrittenSplices<'a> {
    fn is_empty(&self) -> bool {
        self.of_files().next().is_none()
    }

    /// The replacements of each file, as long as there is room.
    fn of_files(&self) -> impl Iterator<Item = StoredSplices<'a>> + use<'a> {
        let mut room = limits::SPLICES_BYTES;
        self.0.entries.iter().filter_map(move |entry| {
            let PlannedChange::Edit(_, New { content: NewContent::Spliced(_, splices), .. }) = &entry.change else {
                return None;
            };
            let are_bytes = splices.iter().any(|splice| std::str::from_utf8(&splice.with).is_err());
            let with = |splice: &'a Splice| match std::str::from_utf8(&splice.with) {
                Ok(text) if !are_bytes => Cow::from(text),
                _ => splice.with.iter().map(|byte| char::from(*byte)).collect(),
            };
            let stored = |splice: &'a Splice| (splice.range.start, splice.range.end, with(splice));
            let list: Vec<_> = splices.iter().map(stored).collect();
            let size: usize = list.iter().map(|(.., with)| with.len() + 16).sum();
            if list.is_empty() || size > room {
                return None;
            }
            room -= size;
            Some(StoredSplices { path: entry.path.as_path().to_str()?.into(), are_bytes, splices: list })
        })
    }
}

impl Serialize for WrittenSplices<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        serializer.collect_seq(self.of_files())
    }
}

impl StoredCheck {
    fn of(run: &CheckRun) -> Self {
        let milliseconds = u64::try_from(run.ended.took.as_millis()).unwrap_or(u64::MAX);
        let place = (run.place != CheckPlace::Tree).then(|| run.place.word().to_owned());
        Self { command: run.command.clone(), milliseconds, output: run.ended.tail.clone(), place }
    }

    /// The check, as a run.
    pub(crate) fn into_run(self) -> CheckRun {
        let took = std::time::Duration::from_millis(self.milliseconds);
        let place = self.place.and_then(|word| CheckPlace::of_word(&word)).unwrap_or_default();
        let ended = Ended { verdict: Verdict::Passed, tail: self.output, took };
        CheckRun { place, ..CheckRun::new(self.command, ended) }
    }
}
