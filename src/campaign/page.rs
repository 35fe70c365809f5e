//! The report of a campaign as one page, without anything from elsewhere.

use std::fmt::Write as _;

use super::{Attempt, Campaign, CampaignProgress, WorkspaceState};
use crate::error::Result;
use crate::html::{self, text};

/// The page: numbers, the ways in which workspaces failed, and each workspace.
pub(crate) fn page(campaign: &Campaign, progress: &CampaignProgress) -> Result<String> {
    let last = progress.last_attempts(campaign)?;
    let mut page = String::from("<dl>\n");
    let counted = |state: fn(WorkspaceState) -> bool| progress.count(state);
    let numbers = [
        ("planned", campaign.count()),
        ("done", counted(|state| state == WorkspaceState::Done)),
        ("nothing to do", counted(|state| state == WorkspaceState::NothingToDo)),
        ("undone", counted(|state| state == WorkspaceState::Undone)),
        ("failed", counted(|state| matches!(state, WorkspaceState::Failed { .. } | WorkspaceState::UndoFailed))),
        ("unreported", counted(|state| state == WorkspaceState::Unreported)),
    ];
    for (name, number) in numbers {
        let _ = writeln!(page, "<div><dt>{name}</dt><dd>{number}</dd></div>");
    }
    page.push_str("</dl>\n");
    if !progress.failures().is_empty() {
        page.push_str("<h2>Failures</h2>\n<table><thead><tr><th>Code<th>Workspaces<th>May succeed later<th>Example</tr></thead>\n<tbody>\n");
        for failure in progress.failures() {
            let (name, error) = &failure.example;
            let retryable = if failure.retryable { "yes" } else { "no" };
            let (code, count) = (text(&failure.code), failure.count);
            let (name, error) = (text(name), text(error));
            let _ = writeln!(page, "<tr><td><code>{code}</code><td>{count}<td>{retryable}<td>{name}: {error}</tr>");
        }
        page.push_str("</tbody></table>\n");
    }
    page.push_str("<h2>Workspaces</h2>\n<table><thead><tr><th>Workspace<th>State<th>Files<th>Transaction<th>Error</tr></thead>\n<tbody>\n");
    for (index, last) in last.iter().enumerate() {
        row(&mut page, &campaign.workspace(index)?.name, progress.state(index), last.as_ref());
    }
    page.push_str("</tbody></table>\n");
    Ok(html::page(&campaign.manifest.id, &page))
}

fn row(page: &mut String, name: &str, state: WorkspaceState, last: Option<&Attempt>) {
    let words = state.words();
    let class = if words.ends_with("failed") { " class=\"failed\"" } else { "" };
    let of = |field: fn(&Attempt) -> Option<&String>| last.and_then(field).map(|value| text(value)).unwrap_or_default();
    let id = of(|last| last.transaction_id.as_ref());
    let (code, error) = (of(|last| last.error_code.as_ref()), of(|last| last.error.as_ref()));
    let files = last.map(|last| last.files_edited.to_string()).unwrap_or_default();
    let error = if code.is_empty() { error } else { format!("<code>{code}</code> {error}") };
    let name = text(name);
    let _ = writeln!(page, "<tr{class}><td>{name}<td>{words}<td>{files}<td><code>{id}</code><td>{error}</tr>");
}
