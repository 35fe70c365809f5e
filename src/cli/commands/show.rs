//! `txedit show ID`.

use std::fmt::Write as _;

use super::log;
use crate::cli::args::{ShowArgs, ShowFormat};
use crate::cli::failure::Failure;
use crate::cli::options::Options;
use crate::cli::output::{Answer, GOOD, count, diff, styled};
use crate::error::Result;
use crate::path;
use crate::wire::history;

pub(super) fn run(args: &ShowArgs, options: &Options) -> Result<Answer, Failure> {
    if let Some(ShowFormat::Git) = args.format {
        let patch = options.engine()?.git_patch(&args.id)?;
        let mut answer = Answer::new(&history::Patch::new(&args.id, &patch), "")?;
        answer.raw = Some(patch);
        return Ok(answer);
    }
    let mut shown = options.engine()?.show(&args.id)?;
    let mut text = String::new();
    log::push(&mut text, &shown.logged);
    let width = shown.files.iter().map(|file| path::shown(&file.path).len()).max().unwrap_or(0);
    for file in &shown.files {
        let added = styled(GOOD, format!("+{}", file.added));
        let _ = writeln!(text, "  {:8}{:width$}  {added} -{}", file.kind, path::shown(&file.path), file.removed);
    }
    let added = shown.files.iter().map(|file| file.added).sum::<usize>();
    let removed = shown.files.iter().map(|file| file.removed).sum::<usize>();
    let _ = writeln!(text, "  {}, {} added, {removed} removed", count(shown.files.len(), "file"), count(added, "line"));
    if args.stat {
        shown.files.iter_mut().for_each(|file| file.diff.clear());
    }
    for file in shown.files.iter().filter(|file| !file.diff.is_empty()) {
        let _ = write!(text, "\n{}", diff(&file.diff));
        if !text.ends_with('\n') {
            text.push('\n');
        }
    }
    let notes = log::warnings([&shown.logged]);
    Ok(Answer::new(&history::Show::from(&shown), text)?.noting(notes))
}
