//! `txedit show [ID]`.

use std::fmt::Write as _;

use super::log::{self, files, push};
use crate::cli::args::{ShowArgs, ShowFormat};
use crate::cli::failure::Failure;
use crate::cli::ids;
use crate::cli::options::{CommonOptions, usage};
use crate::cli::output::{Answer, GOOD, count, diff, styled};
use crate::engine::ids::IdScope;
use crate::engine::report::{Logged, Shown, ShownFile};
use crate::error::Result;
use crate::html;
use crate::path;
use crate::wire::history;

pub(super) fn run(args: &ShowArgs, options: &CommonOptions) -> Result<Answer, Failure> {
    let engine = options.engine()?;
    let id = match &args.id {
        Some(id) => ids::meant(id, IdScope::Committed, &engine)?,
        None => ids::newest(&engine)?,
    };
    if let Some(ShowFormat::Git) = args.format {
        let patch = engine.git_patch(&id)?;
        let mut answer = Answer::new(&history::PatchJson::new(&id, &patch), "")?;
        answer.raw = Some(patch);
        return Ok(answer.paged());
    }
    let mut shown = engine.show(&id)?;
    if args.html {
        if options.json {
            return Err(usage("--html", "a page is no JSON: leave out one of --html and --json").into());
        }
        return Ok(Answer { raw: Some(page(&shown).into_bytes()), ..Answer::for_people("") });
    }
    let mut text = String::new();
    push(&mut text, &shown.logged, None, |id| id);
    let kinds = shown.files.iter().map(|file| file.kind.len()).max().unwrap_or(0).max(7);
    let width = shown.files.iter().map(|file| path::shown(&file.path).len()).max().unwrap_or(0);
    for file in &shown.files {
        let lines = match file.lines {
            Some((added, removed)) => format!("{} -{removed}", styled(GOOD, format!("+{added}"))),
            None => "?".to_owned(),
        };
        let _ = writeln!(text, "  {:kinds$} {:width$}  {lines}", file.kind, path::shown(&file.path));
    }
    let lines = || shown.files.iter().filter_map(|file| file.lines);
    let (added, removed) = lines().fold((0, 0), |sum, (added, removed)| (sum.0 + added, sum.1 + removed));
    let _ = write!(
        text,
        "  {}, {} added, {removed} removed",
        files(shown.files.iter().map(|file| (file.kind.as_str(), &*file.path))),
        count(added, "line")
    );
    let untold = shown.files.iter().filter(|file| file.lines.is_none()).count();
    if untold > 0 {
        let _ = write!(text, ", and an unknown number in {}", count(untold, "file"));
    }
    text.push('\n');
    if args.stat {
        shown.files.iter_mut().for_each(|file| file.diff.clear());
    }
    // What no patch can tell, or not wholly, is told file by file.
    let patch = if args.stat || options.json { None } else { engine.git_patch(&id).ok() };
    match patch {
        Some(patch) if patch.is_empty() => {}
        Some(patch) => drop(write!(text, "\n{}", diff(&String::from_utf8_lossy(&patch)))),
        None => push_diffs(&mut text, &shown.files),
    }
    let notes = log::warnings([&shown.logged]);
    Ok(Answer::new(&history::Show::from(&shown), text)?.noting(notes).paged())
}

/// The transaction as a page.
fn page(shown: &Shown) -> String {
    let Logged { id, time, owner, label, session, campaign, reverts, reverted_by, check, warnings, .. } = &shown.logged;
    let facts = [
        ("committed", Some(time.clone())),
        ("by", Some(owner.clone())),
        ("label", label.clone()),
        ("session", session.clone()),
        ("campaign", campaign.clone()),
        ("reverts", Some(reverts.join(", ")).filter(|ids| !ids.is_empty())),
        ("reverted by", reverted_by.clone()),
        ("check", check.as_ref().map(|check| check.command.clone())),
    ];
    let mut body = String::from("<table><tbody>\n");
    for (name, fact) in facts {
        if let Some(fact) = fact {
            let _ = writeln!(body, "<tr><th scope=\"row\">{name}<td>{}</tr>", html::text(&fact));
        }
    }
    body.push_str("</tbody></table>\n");
    for warning in warnings {
        let _ = writeln!(body, "<p class=\"note warn\">{}</p>", html::text(warning));
    }
    for file in &shown.files {
        let counts = |(added, removed)| format!(" <span class=\"counts\">+{added} −{removed}</span>");
        let lines = file.lines.map(counts).unwrap_or_default();
        let (kind, path) = (html::text(&file.kind), html::text(&path::shown(&file.path)));
        let _ = writeln!(
            body,
            "<figure class=\"difftext\"><figcaption><span class=\"badge {kind}\">{kind}</span> {path}{lines}</figcaption>"
        );
        if !file.diff.is_empty() {
            body.push_str(&html::diff(&file.diff));
        }
        body.push_str("</figure>\n");
    }
    html::page(id, &body)
}

fn push_diffs(text: &mut String, files: &[ShownFile]) {
    for file in files.iter().filter(|file| !file.diff.is_empty()) {
        let _ = write!(text, "\n{}", diff(&file.diff));
        if !text.ends_with('\n') {
            text.push('\n');
        }
    }
}
