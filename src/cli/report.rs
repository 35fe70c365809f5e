//! A report as text for people.

use std::fmt::Write as _;
use std::path::Path;

use super::options::CommonOptions;
use super::output::{self, HEADING, NAME, NOTE, count, diff, kind_column, styled};
use crate::check::{CheckRun, Dropped};
use crate::engine::report::{FileReport, Operation, PlanPatch, Report, Reverted};
use crate::path::{one_line, shown};

/// The number of dropped files that a note names.
const NAMED: usize = 5;

/// The result for stdout: one line, or the diff of a dry run.
pub(crate) fn for_people(report: &Report, verb: &str, options: &CommonOptions) -> String {
    let mut text = String::new();
    if report.dry_run && !report.already_applied {
        push_plan(&mut text, report, options);
        return text;
    }
    let what = extent(report);
    let _ = match &report.transaction {
        Some(id) if report.already_applied => {
            let undone = report.undone_by.as_ref().map(|by| format!(", undone since by {}", styled(NAME, by)));
            writeln!(text, "committed before, as {}{}: {what}", styled(NAME, id), undone.unwrap_or_default())
        }
        Some(id) => writeln!(text, "{verb} {}: {what}", styled(NAME, id)),
        None if report.nothing_to_do => writeln!(text, "nothing to do: nothing that it is about is there"),
        None => writeln!(text, "nothing to change: {what}"),
    };
    if options.verbose {
        report.files.iter().for_each(|file| push_file(&mut text, file, options));
    }
    text
}

/// Adds what a dry run would change.
fn push_plan(text: &mut String, report: &Report, options: &CommonOptions) {
    if let Some(patch) = &report.patch {
        untold(text, patch, report, options);
        text.push_str(&diff(&String::from_utf8_lossy(&patch.text)));
        return;
    }
    for file in &report.files {
        let shown = file.extras.diff.as_deref().unwrap_or_default();
        if file.operation != Operation::None && !shown.contains("+++ ") {
            // A folder, and a file that only moves, or is empty, has no lines to name it.
            push_file(text, file, options);
        }
        text.push_str(&diff(shown));
    }
}

/// Adds the files of which a patch says nothing.
fn untold(text: &mut String, patch: &PlanPatch, report: &Report, options: &CommonOptions) {
    patch.untold.iter().filter_map(|file| report.files.get(*file)).for_each(|file| push_file(text, file, options));
}

/// The bytes to print instead of the text for people, where that cannot have all of them.
pub(crate) fn raw(report: &Report, options: &CommonOptions) -> Option<Vec<u8>> {
    let patch = report.patch.as_ref().filter(|patch| str::from_utf8(&patch.text).is_err())?;
    let mut text = String::new();
    untold(&mut text, patch, report, options);
    let mut raw = anstream::adapter::strip_str(&text).to_string().into_bytes();
    raw.extend_from_slice(&patch.text);
    Some(raw)
}

/// The note about what a check wrote in a view besides the new files.
fn dropped(check: &CheckRun) -> Option<String> {
    let Dropped { count: files @ 1.., paths, .. } = &check.dropped else { return None };
    let mut names: Vec<String> = paths.iter().take(NAMED).map(|path| shown(path)).collect();
    names.extend((*files > names.len()).then(|| "…".to_owned()));
    Some(format!(
        "{} the check also wrote {}, which ended with its view: {}",
        styled(NOTE, "note:"),
        count(*files, "other file"),
        names.join(", ")
    ))
}

/// The notes for stderr.
pub(crate) fn notes(report: &Report, options: &CommonOptions) -> Vec<String> {
    let mut notes = Vec::new();
    if report.dry_run {
        let what = if report.already_applied { "nothing to change".to_owned() } else { extent(report) };
        // The view of a program makes the state folder, and lets some folders through.
        let end = if report.program.is_some() { "nothing was committed" } else { "nothing was written" };
        notes.push(format!("dry run: {what}; {end}"));
        notes.extend(report.plan_hash.filter(|_| options.verbose).map(|hash| format!("plan hash {hash}")));
    }
    for Reverted { id, owner, label } in &report.reverts {
        let label = label.as_ref().map_or_else(String::new, |label| format!(": {}", one_line(label)));
        notes.push(format!("{} reverts {id}, by {}{label}", styled(NOTE, "note:"), one_line(owner)));
    }
    if report.attempts > 1 {
        notes.push(format!(
            "{} another program was writing the same files; it took {} attempts",
            styled(NOTE, "note:"),
            report.attempts
        ));
    }
    notes.extend(report.check.as_deref().and_then(dropped));
    for file in report.files.iter().filter(|file| file.extras.rebased.is_some()) {
        let path = shown(options.shown(&file.path));
        notes.push(format!("{} {path} has changed in other lines; the edits were rebased", styled(NOTE, "note:")));
    }
    let own = report.warnings.iter().map(|warning| warning_of(warning));
    let of_files = report.files.iter().flat_map(|file| {
        let path = shown(options.shown(&file.path));
        file.extras.warnings.iter().map(move |w| warning_of(&format!("{path}: {w}")))
    });
    notes.extend(own.chain(of_files));
    notes
}

/// A warning for stderr.
pub(crate) fn warning_of(warning: &str) -> String {
    format!("{} {}", styled(NOTE, "warning:"), one_line(warning))
}

/// `3 files, 5 edits`.
fn extent(report: &Report) -> String {
    let edits = report.files.iter().map(FileReport::edits_that_changed).sum();
    let is_folder = |file: &&FileReport| matches!(file.operation, Operation::Folder | Operation::RemoveFolder);
    let (folders, files): (Vec<_>, Vec<_>) = report.files.iter().partition(is_folder);
    let folders: Vec<&Path> = folders.into_iter().map(|file| &*file.path).collect();
    let moved = files.iter().filter_map(|file| file.extras.renamed_to.as_deref());
    let paths: Vec<&Path> = files.iter().map(|file| &*file.path).chain(moved).collect();
    let files = output::extent(files.len(), &paths, &folders);
    if edits == 0 { files } else { format!("{files}, {}", count(edits, "edit")) }
}

fn push_file(text: &mut String, file: &FileReport, options: &CommonOptions) {
    let path = styled(HEADING, shown(options.shown(&file.path)));
    let _ = write!(text, "  {}{path}", kind_column(file.operation.as_str()));
    if let Some(to) = &file.extras.renamed_to {
        let _ = write!(text, " -> {}", shown(options.shown(to)));
    }
    if let Some(target) = &file.extras.symlink_to {
        let _ = write!(text, ", a symlink to {}", shown(target));
    }
    if file.operation != Operation::Edit && file.edits.is_empty() {
        text.push('\n');
        return;
    }
    for (index, edit) in file.edits.iter().enumerate() {
        let lines: Vec<String> = edit.lines.iter().map(usize::to_string).collect();
        let noun = if edit.lines.len() == 1 { "line" } else { "lines" };
        let _ = write!(text, "\n          edit {}: {noun} {}", index + 1, lines.join(", "));
        if edit.replaced > edit.lines.len() {
            let _ = write!(text, " and {}", count(edit.replaced - edit.lines.len(), "more place"));
        }
    }
    text.push('\n');
}
